"""Locks between processes, by `flock` on a file.

A `flock` lock belongs to the open file, not to the process that acquired it. So a child process can
inherit the lock with the file descriptor. The kernel releases the lock when the last process with
the descriptor ends. `LocalCluster` passes the lock of its addresses to its supervisor: the
addresses stay locked until the supervisor ends, even if the cluster's process has ended before.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable
from types import TracebackType

try:
    import fcntl
except ImportError:  # on Windows, where LocalCluster raises its own error
    fcntl = None  # type: ignore[assignment]

_POLL_S = 0.1  # seconds between two attempts to acquire a lock


class FileLock:
    """An exclusive lock on the file `path`. The file is created if necessary, and never removed.

    If the file could be removed, a process could hold a lock on the removed file while another
    process holds a lock on a new file with the same name.
    """

    __slots__ = ("_descriptor", "path")

    def __init__(self, path: str) -> None:
        self.path = path
        self._descriptor: int | None = None  # of the open file; None if the lock is not held

    def try_acquire(self) -> bool:
        """Acquire the lock if it is free. Return False if another process holds it.

        :raises OSError: if the file cannot be opened.
        """
        if fcntl is None:
            raise OSError("this platform has no flock")
        # Do not follow links (O_NOFOLLOW): another user may have put a link into the shared
        # directory of the lock files.
        flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            # Try without O_CREAT first: in a sticky directory, Linux may refuse O_CREAT for a file
            # of another user (fs.protected_regular).
            descriptor = os.open(self.path, flags)
        except FileNotFoundError:
            descriptor = os.open(self.path, flags | os.O_CREAT, 0o666)
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
                raise OSError(
                    f"{self.path} cannot be a lock: it is not a file, or has another name as well"
                )
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return False
        except BaseException:
            os.close(descriptor)
            raise
        self._descriptor = descriptor
        return True

    def acquire(self, waiting: Callable[[], None] | None = None) -> None:
        """Acquire the lock. Wait while another process holds it.

        :param waiting: called at each attempt. It may raise an error to give up.
        """
        while not self.try_acquire():
            if waiting is not None:
                waiting()
            time.sleep(_POLL_S)

    def fileno(self) -> int:
        """Return the file descriptor. A child process that inherits it also holds the lock."""
        if self._descriptor is None:
            raise ValueError(f"the lock {self.path} is not held")
        return self._descriptor

    def release(self) -> None:
        """Close the descriptor. If a child has inherited it, the child still holds the lock."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def __enter__(self) -> FileLock:
        self.acquire()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()
