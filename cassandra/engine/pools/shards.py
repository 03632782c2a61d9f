"""The pool of a ScyllaDB node, with connections to each of its shards.

The first connection shows how many shards the node has. This connection serves requests while the
other connections are opened. The other connections go to the node's shard-aware port, where the
client's local port selects the shard.

If that port cannot be reached, or if a NAT or a proxy changes the local port, the pool opens
connections to the ordinary port. There the node itself chooses the shard with the fewest
connections. A connection to a shard that has enough connections is of no use. But it stays open
until the filling ends, so that the node chooses other shards for the next connections. Then it is
closed. The pool opens at most twice as many connections as it needs, so the filling always ends. If
a shard still has no connection, requests for it are sent on the other connections, and the pool
tries again after RETRY_INTERVAL seconds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from cassandra._logs import Log
from cassandra.engine.endpoint import DefaultEndPoint
from cassandra.engine.pools.pool import HostPool, PoolOwner
from cassandra.errors import ConnectionShutdown

if TYPE_CHECKING:
    from cassandra.engine import happy_path
    from cassandra.engine.connection import Connection
    from cassandra.engine.endpoint import EndPoint
    from cassandra.engine.settings import Settings
    from cassandra.metadata.host import Host
    from cassandra.metadata.placement.tablets import TabletMap
    from cassandra.protocol.features import ShardingInfo
else:
    from cassandra._impl import happy_path

log = Log("cassandra.pool")

ALGORITHM = "biased-token-round-robin"
# If shards have no connection, the pool tries again to connect to them after this time.
RETRY_INTERVAL = 60.0  # seconds


class ShardTarget(NamedTuple):
    """The shard that a connection should reach.

    :param shard: the number of the shard.
    :param shards: the number of shards of the node.
    :param port: the node's shard-aware port.
    """

    shard: int
    shards: int
    port: int


def usable_sharding(connection: Connection) -> ShardingInfo | None:
    """Return how the node of `connection` assigns tokens to shards.

    None if the node has no shards, or uses an algorithm that we do not know.
    """
    features = connection.features
    info: ShardingInfo | None = features.sharding_info if features is not None else None
    if (
        info is None
        or info.sharding_algorithm != ALGORITHM
        or not info.partitioner.endswith("Murmur3Partitioner")
        or not 0 <= info.sharding_ignore_msb < 64
        or not 0 < info.shards_count <= 0xFFFF
    ):
        return None
    return info


def shard_aware_port(settings: Settings, endpoint: EndPoint, info: ShardingInfo) -> int | None:
    """Return the shard-aware port of a node; None if it has none, or the port must not be used."""
    if not settings.shard_aware_port:
        return None
    advertised = info.shard_aware_port if settings.tls is None else info.shard_aware_port_ssl
    if type(endpoint) is DefaultEndPoint:
        return advertised
    # Other end points, such as Unix sockets and proxies that route by name, usually have no
    # shard-aware port. End points that have one implement `shard_aware_port`.
    port_of: Callable[[int | None], int | None] | None
    port_of = getattr(endpoint, "shard_aware_port", None)
    return port_of(advertised) if port_of is not None else None


class ShardPool(HostPool):
    """A pool that has `size` connections to each shard, if the host has shards.

    :param size: the number of connections to a host without shards, or to each shard.
    :param port_of: called with the sharding information of the node; returns its shard-aware port,
        or None if the port must not be used.
    """

    __slots__ = (
        "_excess_connections", "_filling_shards", "_opened_count", "_per_shard", "_port_of",
        "_port_works", "_retry_timer", "_tablets",
    )  # fmt: skip

    def __init__(
        self,
        host: Host,
        distance: int,
        size: int,
        owner: PoolOwner,
        *,
        tablets: TabletMap,
        port_of: Callable[[ShardingInfo], int | None],
    ) -> None:
        super().__init__(host, distance, size, owner)
        self._per_shard = size
        self._tablets = tablets
        self._port_of = port_of
        # True if a connection to the shard-aware port has reached the selected shard; False if it
        # has reached another shard; None before the first attempt.
        self._port_works: bool | None = None
        # Connections to shards that have enough connections. They are closed when `_fill_shards`
        # ends.
        self._excess_connections: list[Connection] = []
        # The task of `_fill_shards`; None before the first such task. The task may have ended.
        self._filling_shards: asyncio.Task[None] | None = None
        # The number of connections that the pool had when `_fill_shards` began, plus the number of
        # connections that `_fill_shards` has opened.
        self._opened_count = 0
        # The timer of the next attempt to reach shards without a connection; None if no attempt is
        # scheduled.
        self._retry_timer: asyncio.TimerHandle | None = None

    # -- filling -----------------------------------------------------------------------------------

    async def _fill(self) -> None:
        """Open the missing connections; those to further shards are opened in the background."""
        if not self.connections and not self.closed:
            # Open one connection first, which shows whether the node has shards.
            await self._open_one()
        if self.shards is None:
            await super()._fill()
        elif not self.closed and self._missing_shards():
            self._spawn_filling()

    def _spawn_filling(self) -> None:
        """Open connections to the other shards while the open connections serve requests."""
        if self._filling_shards is None or self._filling_shards.done():
            self._filling_shards = self._spawn(self._fill_shards())
            self._filling_shards.add_done_callback(lambda _: self._serve_waiters())

    @property
    def is_opening(self) -> bool:
        """True if connections to any shard are being opened, or will be opened at once."""
        is_filling = self._filling_shards is not None and not self._filling_shards.done()
        return is_filling or super().is_opening

    def _serve_waiters(self) -> None:
        # A request may wait for a new connection, because the existing connections may be stale.
        # `_adopt` gives new connections to such requests. This method is called again when all
        # shards are filled.
        if not self.is_opening:
            super()._serve_waiters()

    async def _fill_shards(self) -> None:
        """Open missing connections, first on the shard-aware port, then on the ordinary port."""
        self._opened_count = len(self.connections)
        try:
            await self._open_by_port()
            while self._missing_shards() and self._opens_left() and not self.closed:
                # On the ordinary port the node chooses the shard. So open as many connections as
                # are missing, and then check which shards they have reached.
                count = min(len(self._missing_shards()), self._opens_left())
                if not await self._open_all([None] * count):
                    # The host rejects connections: try again after the reconnection policy's delay.
                    self._fill_later()
                    return
        finally:
            self._close_excess()
        if not self._missing_shards():
            self._delays = None
        elif not self.closed and self._retry_timer is None:
            log.debug(
                "%r has no connection to the shards %s", self, sorted(set(self._missing_shards()))
            )
            self._retry_timer = asyncio.get_running_loop().call_later(
                RETRY_INTERVAL, self._retry_fill
            )

    def _opens_left(self) -> int:
        """Return how many connections `_fill_shards` may still open."""
        # At most twice `size` connections may be opened; `size` may have grown since `_fill_shards`
        # began. Subtract 1 for the control connection, because the node also counts the control
        # connection when it chooses a shard.
        return max(2 * self.size - self._opened_count - 1, 0)

    def _retry_fill(self) -> None:
        """Try again to connect to the missing shards. The timer calls this after RETRY_INTERVAL."""
        self._retry_timer = None
        if not self.closed and self.connections and self.shards is not None:
            self._spawn_filling()

    async def _open_by_port(self) -> None:
        """Open missing connections on the shard-aware port, if there is one that works."""
        info = self.host.sharding_info
        port = self._port_of(info) if info is not None else None
        if port is None or self._port_works is False:
            return
        # Try a single connection first. If a NAT changes the local port, connections to this port
        # reach arbitrary shards, so it would be useless to open more connections to it.
        if self._port_works is None:
            await self._open_all(self._missing_targets(port)[:1])
        if self._port_works:
            await self._open_all(self._missing_targets(port)[: self._opens_left()])

    def _missing_targets(self, port: int) -> list[ShardTarget]:
        """Return a target for each missing connection."""
        count = self.shards.count if self.shards is not None else 0
        return [ShardTarget(shard, count, port) for shard in self._missing_shards()]

    async def _open_all(self, targets: Iterable[ShardTarget | None]) -> int:
        """Open a connection for each of `targets`, concurrently; return how many were opened."""
        target_list = list(targets)
        self._opened_count += len(target_list)
        results = await asyncio.gather(
            *(self._open_one(target) for target in target_list), return_exceptions=True
        )
        errors = [result for result in results if isinstance(result, BaseException)]
        if errors:
            # Only connections that were opened count towards the limit.
            self._opened_count -= len(errors)
            log.debug("%r: %d connections were not opened: %s", self, len(errors), errors[0])
        return len(target_list) - len(errors)

    async def _open_one(self, target: ShardTarget | None = None) -> None:
        """Open a connection, and add it to the pool.

        :param target: the shard to connect to; None lets the node choose the shard.
        """
        if target is None:
            self._adopt(await self._open(self.host))
            return
        connection = await self._open(self.host, target)
        features = connection.features
        # If a NAT changes the local port, the connection has reached another shard. `_adopt`
        # nevertheless keeps the connection if that shard has too few connections.
        self._port_works = features is not None and features.shard_id == target.shard
        self._adopt(connection)

    def _missing_shards(self) -> list[int]:
        """Return the shards that have too few connections.

        A shard is in the list once for each missing connection.
        """
        if self.shards is None:
            return []
        return [
            shard
            for shard, count in enumerate(self.shards.counts())
            for _ in range(self._per_shard - count)
        ]

    def _adopt(self, connection: Connection) -> None:
        """Add a new connection to the pool and to its shard.

        :raises ConnectionException: if the connection cannot be used.
        """
        info = None if connection.closed or self.closed else usable_sharding(connection)
        if info is None:
            if self.shards is not None and not self.connections:
                self._forget_shards()
            super()._adopt(connection)
            return
        self._adopt_sharding(info)
        assert self.shards is not None
        assert connection.features is not None
        shard = connection.features.shard_id
        # Reject a shard number that is not smaller than the number of shards that the node has
        # sent.
        if shard >= self.shards.count:
            connection.close()
            raise ConnectionShutdown(f"{self.host} has no shard {shard}", self.host.endpoint)
        if self.shards.counts()[shard] < self._per_shard:
            super()._adopt(connection)
            if not connection.closed:  # `_adopt` has closed it if the pool is full
                self.shards.add(shard, connection)
        else:
            # The shard has enough connections. Keep this connection open until `_fill_shards` ends.
            # If we closed it now, the node would choose the same shard for the next connection.
            self._excess_connections.append(connection)
            if self._filling_shards is None or self._filling_shards.done():
                self._close_excess()

    def _adopt_sharding(self, info: ShardingInfo) -> None:
        """Store how the node assigns tokens to shards; if that changed, replace connections."""
        self.host.sharding_info = info
        current = self.shards
        if (
            current is not None
            and current.count == info.shards_count
            and current.ignore_msb == info.sharding_ignore_msb
        ):
            return
        # If there was different sharding information before, the node was restarted with another
        # number of shards. Close the old connections when they are idle.
        for connection in list(self.connections) if current is not None else ():
            self._retire(connection)
        self._port_works = None
        self.shards = happy_path.ShardTable(
            info.shards_count, info.sharding_ignore_msb, self._tablets
        )
        self.size = info.shards_count * self._per_shard

    def _forget_shards(self) -> None:
        """Use the pool without shards, because the host has no shards any more."""
        self.shards = None
        self.size = self._per_shard
        self.host.sharding_info = None

    def _close_excess(self) -> None:
        excess, self._excess_connections = self._excess_connections, []
        for connection in excess:
            connection.close()

    # -- overrides of HostPool ---------------------------------------------------------------------

    def resize(self, size: int) -> None:
        """Change the number of connections to each shard (or to a host without shards)."""
        shards = self.shards
        if shards is None:
            self._per_shard = size
            super().resize(size)
            return
        if self.closed or size == self._per_shard:
            return
        self._per_shard = size
        self.size = shards.count * size
        # Close the surplus connections of each shard, even if all of them are busy. Begin with the
        # connections with the fewest requests, because they will be idle soonest.
        surplus = [count - size for count in shards.counts()]
        for connection in sorted(self.connections, key=lambda connection: connection.in_flight):
            shard = connection.features.shard_id if connection.features is not None else 0
            if surplus[shard] > 0:
                surplus[shard] -= 1
                self._retire(connection)
        self.refill()

    def _retire(self, connection: Connection) -> None:
        self._remove_from_shards(connection)
        super()._retire(connection)

    def _remove_from_shards(self, connection: Connection) -> None:
        if self.shards is not None:
            self.shards.remove(connection)

    def _on_connection_closed(self, connection: Connection, error: Exception | None) -> None:
        self._remove_from_shards(connection)
        super()._on_connection_closed(connection, error)

    def _stop_filling(self) -> None:
        if self._filling_shards is not None:
            self._filling_shards.cancel()
        if self._retry_timer is not None:
            self._retry_timer.cancel()
        super()._stop_filling()
        self._close_excess()

    def state(self) -> dict[str, Any]:
        entry = super().state()
        if self.shards is not None:
            entry["shards_count"] = self.shards.count
            entry["connected_shards"] = self.connected_shards
        return entry

    @property
    def connected_shards(self) -> int:
        """The number of shards that have a connection."""
        return sum(map(bool, self.shards.counts())) if self.shards is not None else 0
