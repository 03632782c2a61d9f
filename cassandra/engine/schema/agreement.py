"""Waits for schema agreement: until all live nodes report the same schema version."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Coroutine, Iterable
from typing import TYPE_CHECKING, Any

from cassandra._logs import Log
from cassandra.engine.schema.scope import SchemaAgreementScope
from cassandra.engine.waiting import together, within
from cassandra.errors import ConnectionException, DriverException
from cassandra.policies.balancing import HostDistance

if TYPE_CHECKING:
    from cassandra.engine.connection import Connection
    from cassandra.engine.control.internal_queries import Rows
    from cassandra.engine.pools.pool import HostPool
    from cassandra.engine.settings import Settings
    from cassandra.metadata.cluster_metadata import Metadata

log = Log("cassandra.cluster")

# Select only the columns that we need, because the whole rows of a large cluster have tens of
# kilobytes.
LOCAL_VERSION_QUERY = "SELECT schema_version FROM system.local WHERE key = 'local'"
PEER_VERSIONS_QUERY = "SELECT peer, host_id, schema_version FROM system.peers"

# The interval between two queries for the versions begins with FIRST_INTERVAL, grows by the factor
# INTERVAL_GROWTH after each query, and is at most LONGEST_INTERVAL.
FIRST_INTERVAL = 0.01  # seconds
LONGEST_INTERVAL = 0.4  # seconds
INTERVAL_GROWTH = 1.7  # the factor from one interval to the next


class Agreement:
    """Waits until all live nodes of a cluster report the same schema version.

    :param read_rows: returns the rows of a query on a connection, as dicts.
    :param get_control_connection: returns the control connection, or raises an error if there is
        none.
    :param is_shut_down: returns True if the cluster is shut down, so that waiting is useless.
    """

    __slots__ = ("_get_control_connection", "_is_shut_down", "_metadata", "_read_rows", "_settings")

    def __init__(
        self,
        settings: Settings,
        metadata: Metadata,
        read_rows: Rows,
        get_control_connection: Callable[[], Connection],
        is_shut_down: Callable[[], bool],
    ) -> None:
        self._settings = settings
        self._metadata = metadata
        self._read_rows = read_rows
        self._get_control_connection = get_control_connection
        self._is_shut_down = is_shut_down

    @property
    def longest_wait(self) -> float:
        """The default of `max_wait` in seconds: the cluster's setting."""
        return self._settings.max_schema_agreement_wait

    async def wait(self, connection: Connection, max_wait: float | None = None) -> bool:
        """Query the schema versions repeatedly until all live nodes report the same version.

        A failed query is repeated until the time is up.

        :param connection: the connection for the queries; if it closes, the control connection is
            used. It should lead to the coordinator of the schema change, which certainly has the
            new version.
        :param max_wait: seconds to wait; None for `longest_wait`.
        :returns: False if the versions still differ after `max_wait`.
        """
        seconds = self.longest_wait if max_wait is None else max_wait
        # Applications set 0 or less to disable the wait. Return True, as cassandra-driver does,
        # because applications may repeat their own wait until `is_schema_agreed` is True.
        if seconds <= 0:
            return True
        clock = asyncio.get_running_loop().time
        return await wait_for_one_version(
            lambda: self._reported_versions(connection), seconds, clock
        )

    async def _reported_versions(self, connection: Connection) -> set[Any]:
        """Return the schema versions of the live nodes, as one node reports them."""
        try:
            local, peers = await together(
                self._ask(connection, LOCAL_VERSION_QUERY),
                self._ask(connection, PEER_VERSIONS_QUERY),
            )
        except (DriverException, OSError) as error:
            if self._is_shut_down():
                raise
            return {error, None}  # two different values count as disagreement: query again
        return {row["schema_version"] for row in local} | {
            row["schema_version"]
            for row in peers
            if row["schema_version"] and self._is_live(row["host_id"])
        }

    async def _ask(self, connection: Connection, query: str) -> list[dict[str, Any]]:
        """Return the rows of `query`. If `connection` is closed, use the control connection."""
        if connection.closed:
            connection = self._get_control_connection()
        return await self._read_rows(connection, query)

    def _is_live(self, host_id: uuid.UUID) -> bool:
        host = self._metadata.get_host_by_host_id(host_id)
        # Ignore nodes that are down, because their version cannot change while we wait.
        return host is not None and host.is_up is not False


async def wait_for_one_version(
    ask: Callable[[], Coroutine[Any, Any, set[Any]]], max_wait: float, clock: Callable[[], float]
) -> bool:
    """Call `ask` repeatedly until it returns at most one version.

    :param ask: returns the set of versions that nodes report.
    :returns: False if there are still several versions after `max_wait` seconds.
    """
    deadline = clock() + max_wait
    interval = FIRST_INTERVAL
    while True:
        try:
            # Wait at least FIRST_INTERVAL seconds for the last response, even if the time is almost
            # up.
            versions = await within(max(deadline - clock(), FIRST_INTERVAL), ask())
        except asyncio.TimeoutError:
            log.warning(
                "nodes were asked for their schema versions, but did not answer within %s seconds",
                max_wait,
            )
            return False
        if len(versions) <= 1:
            return True
        if clock() + interval > deadline:
            log.warning(
                "nodes still disagree on the schema after %s seconds: %s", max_wait, versions
            )
            return False
        await asyncio.sleep(interval)
        interval = min(interval * INTERVAL_GROWTH, LONGEST_INTERVAL)


async def versions_in(
    scope: SchemaAgreementScope, pools: Iterable[HostPool], rows: Rows
) -> set[Any]:
    """Ask each connected host in `scope` for its schema version.

    :returns: the distinct versions. If a host did not respond, its error counts as a version.
    :raises ConnectionException: if no host in the scope is connected.
    """
    pools = list(pools)
    nearest = min((pool.distance for pool in pools), default=HostDistance.LOCAL)
    # A pool is in the scope if the distance of its host is at most this.
    farthest = {
        SchemaAgreementScope.RACK: nearest,
        SchemaAgreementScope.DC: max(nearest, HostDistance.LOCAL),
        SchemaAgreementScope.CLUSTER: HostDistance.REMOTE,
    }[scope]
    connections = [
        pool.connections[0] for pool in pools if pool.connections and pool.distance <= farthest
    ]
    if not connections:
        raise ConnectionException(f"no host in the scope {scope.value!r} is connected")
    answers = await asyncio.gather(
        *(rows(connection, LOCAL_VERSION_QUERY) for connection in connections),
        return_exceptions=True,
    )
    versions: set[Any] = set()
    for answer in answers:
        if isinstance(answer, BaseException):
            if not isinstance(answer, (DriverException, OSError)):
                raise answer
            versions.update((answer, None))  # two different values count as disagreement
        else:
            versions.update(row["schema_version"] for row in answer)
    return versions
