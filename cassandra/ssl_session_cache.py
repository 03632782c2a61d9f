"""`SSLSessionCache`, a cache of TLS sessions that later connections may resume."""

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
    """A cache of TLS sessions by end point. The least recently used sessions are dropped first.

    A connection that resumes a session skips the expensive half of the TLS handshake. If the server
    has forgotten the session, the connection does a full handshake. By default each `Cluster` has
    its own cache. Pass ``Cluster(ssl_session_cache=...)`` to share a cache between clusters, or
    None to use no cache.

    You may use a cache from any thread.

    :param max_size: the maximum number of sessions.
    :raises ValueError: if `max_size` is below 1.
    """

    def __init__(self, max_size: int = 1024) -> None:
        if isinstance(max_size, bool) or not isinstance(max_size, int):
            raise TypeError(f"max_size must be a number of sessions, but is {max_size!r}")
        if max_size < 1:
            raise ValueError(f"max_size must be at least 1, but is {max_size}")
        self.max_size = max_size
        # The sessions by peer. The most recently used sessions are at the end.
        self._sessions: OrderedDict[Hashable, _Held] = OrderedDict()
        self._lock = Lock()
        renewed(self)

    def _renew_locks(self) -> None:
        self._lock = Lock()

    def get(self, key: Hashable, context: ssl.SSLContext) -> ssl.SSLSession | None:
        """Return the session of a peer, or None if the cache has no session that can be used.

        :param key: identifies the peer.
        :param context: the TLS context to use the session with. A session of another context cannot
            be used, so it is dropped.
        """
        with self._lock:
            entry = self._sessions.get(key)
            if entry is None:
                return None
            owner_context, session = entry
            # Drop the session if it cannot be used: OpenSSL rejects a session of another context,
            # and the server rejects an expired session.
            if owner_context is not context or session.time + session.timeout <= time.time():
                del self._sessions[key]
                return None
            self._sessions.move_to_end(key)
            return session

    def is_fresh(self, key: Hashable) -> bool:
        """Return True if the cache has a session of a peer in the first half of its lifetime.

        :param key: identifies the peer.
        """
        with self._lock:
            entry = self._sessions.get(key)
        return entry is not None and entry[1].time + entry[1].timeout / 2 > time.time()

    def put(self, key: Hashable, context: ssl.SSLContext, session: ssl.SSLSession) -> None:
        """Store the session of a peer, replacing an earlier one.

        :param key: identifies the peer.
        :param context: the `ssl.SSLContext` that the session was created with.
        :param session: the `ssl.SSLSession`.
        """
        with self._lock:
            self._sessions[key] = (context, session)
            # The most recently used entries are at the end of the dict. Move the entry there,
            # because an entry that is replaced keeps its position.
            self._sessions.move_to_end(key)
            while len(self._sessions) > self.max_size:
                self._sessions.popitem(last=False)

    def clear(self) -> None:
        """Drop all sessions."""
        with self._lock:
            self._sessions.clear()

    def __len__(self) -> int:
        return len(self._sessions)

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"<SSLSessionCache: {len(self)} of at most {self.max_size} sessions>"
