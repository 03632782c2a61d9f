"""`ReloadingContext`, which creates a new TLS context when certificate files have changed."""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable

from cassandra._forks import renewed
from cassandra._logs import Log
from cassandra._threads import Lock

__all__ = ["ReloadingContext"]

log = Log("cassandra.connection")


class ReloadingContext:
    """Creates a new TLS context when certificate files have changed.

    Pass it as ``Cluster(ssl_context=...)``. Each new connection then uses the current certificates,
    without a restart of your application. If the new files cannot be loaded, for example because
    only some of them have been written, the previous context stays in use, and a warning is logged.
    The next connection tries to load them again.

    :param make: a function that creates an `ssl.SSLContext`. It must create a new context each
        time. Do not change the contexts later: connections resume the TLS sessions of a context,
        and a session keeps the client's certificate.
    :param paths: the files that `make` reads.
    :raises ValueError: if no path is given.

    The constructor creates the first context. It raises the errors of `make` and of missing files.
    """

    def __init__(self, make: Callable[[], ssl.SSLContext], *paths: str | os.PathLike[str]) -> None:
        if not paths:
            raise ValueError("ReloadingContext needs the paths of the files that `make` reads")
        if not callable(make):
            raise TypeError(
                f"make must be a function that creates a context, but is {make!r}: "
                "write ReloadingContext(lambda: ..., path)"
            )
        for path in paths:
            if not isinstance(path, (str, os.PathLike)):
                raise TypeError(
                    f"the paths of the files are arguments of their own, but one is {path!r}: "
                    "write ReloadingContext(make, 'ca.pem', 'client.pem')"
                )
        self._make = make
        self._paths = paths
        self._lock = Lock()
        # Record the state of the files before `make` reads them. If a file changes while `make`
        # reads, the next call sees another state, and calls `make` again.
        self._loaded_state = self._files_state()
        self._context = make()
        # False if `make` has returned the same context again, although it must create a new context
        # each time. In that case, the TLS sessions of the context may contain an older client
        # certificate, so the driver must not resume them.
        self._creates_new_contexts = True
        renewed(self)

    def _renew_locks(self) -> None:
        self._lock = Lock()

    def _files_state(self) -> list[tuple[int, int, int]]:
        """Return values that differ if a file was changed or replaced."""
        statuses = map(os.stat, self._paths)
        return [(status.st_mtime_ns, status.st_size, status.st_ino) for status in statuses]

    def __call__(self) -> ssl.SSLContext:
        """Return the context for the current files."""
        with self._lock:
            try:
                current_state = self._files_state()
                if current_state != self._loaded_state:
                    context = self._make()
                    self._creates_new_contexts &= context is not self._context
                    self._context = context
                    self._loaded_state = current_state
            # While a file is being replaced, it may be missing or half-written: keep the previous
            # context. `make` may raise any error then, for example a KeyError.
            except Exception as error:
                log.warning(
                    "the earlier TLS context stays in use: %s: %s", type(error).__name__, error
                )
            return self._context

    def __repr__(self) -> str:
        return f"<ReloadingContext of {', '.join(map(str, self._paths))}>"
