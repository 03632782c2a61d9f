"""TLS sessions that later connections may resume."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Hashable
from typing import TYPE_CHECKING

from cassandra._forks import renewed
from cassandra._threads import Lock

if TYPE_CHECKING:
    import ssl

    _Held = tuple[ssl.SSLContext, ssl.SSLSession]

__all__ = ["SSLSessionCache"]


class SSLSessionCache:
    """Holds the TLS sessions of a cluster's end points, the least recently used ones go first.

    A connection that resumes a session leaves out the costly half of the handshake. A server that
    does not know the session any more makes a full handshake. Each `Cluster` has a cache of its
    own; ``Cluster(ssl_session_cache=...)`` takes another one, which several may share, or None.

    It may be used from any thread.

    :param max_size: sessions that are held at most.
    :raises ValueError: if `max_size` is below 1.
    """

    def __init__(self, max_size: int = 1024) -> None:
        if isinstance(max_size, bool) or not isinstance(max_size, int):
            raise TypeError(f"max_size must be a number of sessions, but is {max_size!r}")
        if max_size < 1:
            raise ValueError(f"max_size must be at least 1, but is {max_size}")
        self.max_size = max_size
        self._sessions: OrderedDict[Hashable, _Held] = OrderedDict()
        self._lock = Lock()
        renewed(self)

    def _renew_locks(self) -> None:
        self._lock = Lock()

    def get(self, key: Hashable, context: ssl.SSLContext) -> ssl.SSLSession | None:
        """Return the session of a peer; None if there is none, or it has expired.

        :param key: identifies the peer.
        :param context: the one that the session is to be used with. A session of another context
            cannot be, and is left out.
        """
        with self._lock:
            known = self._sessions.get(key)
            if known is None:
                return None
            owner, session = known
            # OpenSSL refuses a session of another context, and the server one that has expired:
            # neither is of any use to anybody else.
            if owner is not context or session.time + session.timeout <= time.time():
                del self._sessions[key]
                return None
            self._sessions.move_to_end(key)
            return session

    def is_fresh(self, key: Hashable) -> bool:
        """Return True if a peer's session is there and in the first half of its life.

        :param key: identifies the peer.
        """
        with self._lock:
            known = self._sessions.get(key)
        return known is not None and known[1].time + known[1].timeout / 2 > time.time()

    def put(self, key: Hashable, context: ssl.SSLContext, session: ssl.SSLSession) -> None:
        """Keep the session of a peer, in place of an earlier one.

        :param key: identifies the peer.
        :param context: the `ssl.SSLContext` that it was made with.
        :param session: the `ssl.SSLSession`.
        """
        with self._lock:
            self._sessions[key] = (context, session)
            # The end is the side of those used last: an entry that is replaced keeps its place.
            self._sessions.move_to_end(key)
            while len(self._sessions) > self.max_size:
                self._sessions.popitem(last=False)

    def clear(self) -> None:
        """Forget all sessions."""
        with self._lock:
            self._sessions.clear()

    def __len__(self) -> int:
        return len(self._sessions)

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"<SSLSessionCache: {len(self)} of at most {self.max_size} sessions>"
