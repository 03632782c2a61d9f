"""`SSLSessionCache`, a cache of TLS sessions that later connections may resume."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Hashable
from typing import TYPE_CHECKING

from cassandra._clocks import monotonic
from cassandra._forks import renewed
from cassandra._threads import Lock

if TYPE_CHECKING:
    import ssl

    _Held = tuple[ssl.SSLContext, ssl.SSLSession, Hashable]

__all__ = ["SSLSessionCache"]

# The attributes of a context that may change. Ciphers are left out, because reading them takes a
# noticeable part of the time of a handshake. That is safe: a server rejects a session whose cipher
# the client no longer offers.
_ATTRIBUTES = (
    "check_hostname", "verify_mode", "verify_flags", "hostname_checks_common_name", "options",
    "minimum_version", "maximum_version", "security_level", "post_handshake_auth",
)  # fmt: skip

# After so many sessions of a peer in a row have failed, no further sessions of the peer are stored
# for a time.
_MOST_FAILURES = 2
_FAILURES_COUNT_FOR = 600.0  # seconds


class SSLSessionCache:
    """A cache of TLS sessions by end point. The least recently used sessions are dropped first.

    A connection that resumes a session skips the expensive half of the TLS handshake. If the server
    has forgotten the session, the connection does a full handshake. If connections that resume a
    session fail repeatedly, no more sessions of that server are resumed.

    By default each `Cluster` has its own cache. Pass ``Cluster(ssl_session_cache=...)`` to share a
    cache between clusters, or None to use no cache.

    A session keeps what both sides verified in the full handshake. So a session is dropped if its
    context has changed, and `Cluster` drops all sessions if ``ssl_context`` or ``ssl_options`` is
    set.

    You may use a cache from any thread.

    :param max_size: the maximum number of sessions.
    :param with_client_certificates: True to also resume sessions in which the server asked for a
        certificate of the client, for contexts that your application has created. By default these
        sessions are not resumed, because the server would still see the old certificate after you
        have loaded a new one into the same context. If your application sets this to True, it must
        create a new context for a new certificate, or set ``cluster.ssl_context`` again.
    :raises ValueError: if `max_size` is below 1.
    """

    def __init__(self, max_size: int = 1024, *, with_client_certificates: bool = False) -> None:
        if isinstance(max_size, bool) or not isinstance(max_size, int):
            raise TypeError(f"max_size must be a number of sessions, but is {max_size!r}")
        if max_size < 1:
            raise ValueError(f"max_size must be at least 1, but is {max_size}")
        if not isinstance(with_client_certificates, bool):
            raise TypeError(
                f"with_client_certificates must be True or False, but is "
                f"{with_client_certificates!r}"
            )
        self.max_size = max_size
        self.with_client_certificates = with_client_certificates
        # How often all sessions were dropped. A session whose handshake began before that is not
        # stored.
        self._clearings = 0
        # The sessions by peer. The most recently used sessions are at the end.
        self._sessions: OrderedDict[Hashable, _Held] = OrderedDict()
        # How many sessions in a row have failed, and when the last one did, by peer.
        self._failures: OrderedDict[Hashable, tuple[int, float]] = OrderedDict()
        self._lock = Lock()
        renewed(self)

    def _renew_locks(self) -> None:
        self._lock = Lock()

    def get(self, key: Hashable, context: ssl.SSLContext) -> ssl.SSLSession | None:
        """Return the session of a peer, or None if the cache has no session that can be used.

        :param key: identifies the peer.
        :param context: the TLS context to use the session with. If the stored session is of another
            context, or of this context before it was changed, the session cannot be used and is
            dropped.
        """
        state = self.state_of(context)
        with self._lock:
            entry = self._sessions.get(key)
            if entry is None:
                return None
            owner_context, session, state_before = entry
            # Drop the session if it cannot be used: OpenSSL rejects a session of another context,
            # and the server rejects an expired session. The context may be stricter than it was in
            # the full handshake, and a resumed session would skip the stricter checks.
            if (
                owner_context is not context
                or state_before != state
                or session.time + session.timeout <= time.time()
            ):
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

    def state_of(self, context: ssl.SSLContext) -> Hashable:
        """Return a value that changes if the context changes, or if the sessions are dropped.

        Python cannot read some parts of a context, such as the client's certificate. If only these
        change, the value stays the same.

        :param context: the `ssl.SSLContext`.
        """
        # Certificates can be added to a context, but not removed, so their numbers show each
        # change.
        certificates = tuple(context.cert_store_stats().values())
        # Some implementations of Python do not have all attributes.
        settings = [getattr(context, name, None) for name in _ATTRIBUTES]
        return self._clearings, certificates, *settings

    def put(
        self,
        key: Hashable,
        context: ssl.SSLContext,
        session: ssl.SSLSession,
        state: Hashable = None,
    ) -> None:
        """Store the session of a peer, and replace the peer's earlier session.

        :param key: identifies the peer.
        :param context: the `ssl.SSLContext` that the session was created with.
        :param session: the `ssl.SSLSession`.
        :param state: the result of `state_of` before the handshake. If the state has changed since,
            the session is not stored. None stores the session in any case.
        """
        with self._lock:
            state_now = self.state_of(context)
            if state is not None and state != state_now:
                return
            if self._recent_failures(key) >= _MOST_FAILURES:
                return
            self._sessions[key] = (context, session, state_now)
            # The most recently used entries are at the end of the dict. Move the entry there,
            # because an entry that is replaced keeps its position.
            self._sessions.move_to_end(key)
            while len(self._sessions) > self.max_size:
                self._sessions.popitem(last=False)

    def drop(self, key: Hashable) -> None:
        """Drop the session of a peer.

        :param key: identifies the peer.
        """
        with self._lock:
            self._sessions.pop(key, None)

    def note_failure(self, key: Hashable, session: ssl.SSLSession) -> None:
        """Drop a session because a connection that has offered it failed.

        The server may be unable to use any session, although it creates them: if the next session
        fails, too, the peer's sessions are not stored for ten minutes.

        :param key: identifies the peer.
        :param session: the `ssl.SSLSession`. If the cache no longer has it, nothing is done:
            several connections may have offered it.
        """
        with self._lock:
            entry = self._sessions.get(key)
            if entry is None or entry[1] is not session:
                return
            del self._sessions[key]
            count = self._recent_failures(key) + 1
            self._failures.pop(key, None)  # so that the new entry is at the end
            self._failures[key] = count, monotonic()
            while len(self._failures) > self.max_size:
                self._failures.popitem(last=False)

    def _recent_failures(self, key: Hashable) -> int:
        """Return how many sessions of a peer in a row have failed, if that was not long ago."""
        count, latest = self._failures.get(key, (0, 0.0))
        return count if count and monotonic() - latest < _FAILURES_COUNT_FOR else 0

    def note_success(self, key: Hashable) -> None:
        """Forget the failures of a peer, because a connection that has offered a session is ready.

        :param key: identifies the peer.
        """
        with self._lock:
            self._failures.pop(key, None)

    def clear(self) -> None:
        """Drop all sessions."""
        with self._lock:
            self._clearings += 1
            self._sessions.clear()
            self._failures.clear()

    def __len__(self) -> int:
        return len(self._sessions)

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"<SSLSessionCache: {len(self)} of at most {self.max_size} sessions>"
