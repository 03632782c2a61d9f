"""The open sessions of a cluster, and operations on all their pools."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING

from cassandra._logs import Log
from cassandra.engine.failures import reraise_on_loop
from cassandra.policies.balancing import HostDistance

if TYPE_CHECKING:
    from cassandra.engine import happy_path
    from cassandra.engine.connection import Connection
    from cassandra.engine.session import EngineSession
    from cassandra.metadata.host import Host
else:
    from cassandra._impl import happy_path

log = Log("cassandra.cluster")

# An event may change the distances of hosts (as the load balancing policies return them). After
# this delay, pools are opened and closed accordingly.
FOLLOW_DELAY = 0.1  # seconds
# A warning is logged when this many sessions of one cluster are open, because that is probably a
# mistake.
MANY_SESSIONS = 32


class Sessions:
    """The open sessions of a cluster.

    Only the engine's loop may change this set; other threads may only copy it with `list`.

    :param warns: True to log a warning when MANY_SESSIONS sessions are open.
    """

    __slots__ = ("_closed", "_following", "_is_warned", "_open")

    def __init__(self, warns: bool = True) -> None:
        self._open: list[EngineSession] = []
        # The timer of `_follow_distances`; None if it is not scheduled.
        self._following: asyncio.TimerHandle | None = None
        self._closed = False
        # True if the warning about MANY_SESSIONS was logged, or will not be logged.
        self._is_warned = not warns

    def __iter__(self) -> Iterator[EngineSession]:
        return iter(self._open)

    def __len__(self) -> int:
        return len(self._open)

    def add(self, session: EngineSession) -> None:
        """Add a session that is being opened."""
        self._open.append(session)
        # Compare with `==`, because sessions are added one by one: a service that by mistake opens
        # a session for each request reaches exactly this number.
        if len(self._open) == MANY_SESSIONS and not self._is_warned:
            self._is_warned = True
            log.warning(
                "%d sessions of a cluster are open, each with its own connections: one session "
                "serves all threads, tasks and requests; session.shutdown() closes one",
                MANY_SESSIONS,
            )

    def remove(self, session: EngineSession) -> None:
        """Remove `session`, because it is closed."""
        if session in self._open:
            self._open.remove(session)

    def stop_following(self) -> None:
        """Ignore changed distances from now on, because the cluster is being shut down."""
        # Set `_closed`, because an event of a host may still come while the cluster closes, and
        # then calls `follow_distances_soon`.
        self._closed = True
        if self._following is not None:
            self._following.cancel()

    def close(self) -> None:
        """Close all sessions."""
        for session in list(self._open):
            session.close()

    # -- the pools of the sessions -----------------------------------------------------------------

    def connections(self) -> dict[Host, list[Connection]]:
        """Return the open connections of all pools by host, for heartbeats.

        The result includes connections that will be closed when they are idle. If the peer of such
        a connection is dead, only a heartbeat detects that; otherwise its requests would wait for
        ever.
        """
        connections: dict[Host, list[Connection]] = {}
        for session in self._open:
            for pool in (*session.pools.values(), *session.draining):
                connections.setdefault(pool.host, []).extend(pool.open_connections())
        return connections

    def have_pool(self, host: Host) -> bool:
        """Return True if any session has a pool to `host`."""
        return any(host in session.pools for session in self._open)

    def drain(self, host: Host, error: Exception) -> None:
        """Send no more requests to `host`, which will stop soon, but complete those in flight."""
        # Iterate over a copy: the callback of a request that fails here may close a session.
        for session in list(self._open):
            session.drain_host(host, error)

    def are_draining(self, host: Host) -> bool:
        """Return True if requests are still in flight to `host`, which will stop soon."""
        return any(pool.host == host for session in self._open for pool in session.draining)

    def are_served(self, host: Host) -> bool:
        """Return True if each session that wants a pool to `host` has such a pool."""
        return all(host in session.pools or not _wants(session, host) for session in self._open)

    def ignore(self, host: Host) -> bool:
        """Return True if there are sessions, but no session wants a pool to `host`."""
        return bool(self._open) and not any(_wants(session, host) for session in self._open)

    def in_flight(self, host: Host) -> int:
        """Return the number of requests to `host` that wait for a response."""
        pools = (pool for session in self._open for pool in session.pools_to(host))
        return sum(happy_path.in_flight_of(pool.connections) for pool in pools)

    def resize_pools(self) -> None:
        """Open and close connections until each pool has the number that the settings demand."""
        for session in list(self._open):
            session.resize_pools()

    def refill_pools(self, host: Host | None = None) -> None:
        """Open missing connections now, even if a pool has scheduled the next attempt for later.

        :param host: only in the pools to this host; None for all pools.
        """
        for session in list(self._open):
            for pool_host, pool in list(session.pools.items()):
                if host is None or pool_host == host:
                    pool.hurry()

    def follow_distances_soon(self) -> None:
        """Open and close pools after FOLLOW_DELAY, because distances of hosts may have changed.

        Further calls during the delay have no effect.
        """
        if self._following is None and not self._closed:
            loop = asyncio.get_running_loop()
            self._following = loop.call_later(FOLLOW_DELAY, self._follow_distances)

    def _follow_distances(self) -> None:
        """Let all sessions open and close pools according to the distances of the hosts."""
        self._following = None
        for session in list(self._open):
            try:
                session.follow_distances()
            except BaseException as error:  # a policy raised an error
                log.exception("the distances of the hosts could not be followed")
                reraise_on_loop(error)


def _wants(session: EngineSession, host: Host) -> bool:
    """Return True if `session` wants connections to `host`.

    If a load balancing policy raises an error, this returns True, so that the host is not
    forgotten.
    """
    try:
        return session.distance(host) != HostDistance.IGNORED
    except BaseException as error:
        log.exception("no load balancing policy has returned the distance of %s", host)
        reraise_on_loop(error)
        return True
