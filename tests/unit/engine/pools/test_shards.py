"""`ShardPool`, which has connections to each shard; a stub replaces the ScyllaDB node."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from itertools import repeat
from types import SimpleNamespace
from typing import Any

import pytest

from cassandra._impl import tablets
from cassandra.engine.connection import Connection
from cassandra.engine.endpoint import DefaultEndPoint, UnixSocketEndPoint
from cassandra.engine.pools.pool import PoolOwner
from cassandra.engine.pools.shards import (
    ALGORITHM,
    ShardPool,
    ShardTarget,
    shard_aware_port,
    usable_sharding,
)
from cassandra.errors import ConnectionException, ConnectionShutdown
from cassandra.metadata.host import Host
from cassandra.policies import HostDistance
from cassandra.protocol.features import ShardingInfo
from cassandra.protocol.opcodes import OPTIONS
from tests.waiting import until_on_loop

HOST = Host(DefaultEndPoint("127.0.0.1"))
PORT = 19042  # the node's shard-aware port
TLS_PORT = 19142  # the node's shard-aware port for TLS
INFO = ShardingInfo(
    shards_count=4,
    partitioner="org.apache.cassandra.dht.Murmur3Partitioner",
    sharding_algorithm=ALGORITHM,
    sharding_ignore_msb=12,
    shard_aware_port=PORT,
    shard_aware_port_ssl=TLS_PORT,
)


class StubNode:
    """Opens connections to a node with `info.shards_count` shards, and records their targets.

    Without a target, the stub chooses the shard with the fewest connections. `change` maps the
    target and this shard to the shard that the connection really gets. While `errors` is not empty,
    opening a connection raises its last item.
    """

    def __init__(self, info: ShardingInfo | None = INFO) -> None:
        self.info = info
        self.change: Callable[[ShardTarget | None, int], int] = lambda target, shard: shard
        self.errors: list[Exception] = []
        self.targets: list[ShardTarget | None] = []
        self.opened: list[Connection] = []
        self.failures: list[Exception] = []

    async def open(self, host: Any, target: ShardTarget | None = None) -> Connection:
        """Open a connection to the shard of `target`, or to the shard with the fewest connections.

        Servers choose the shard in the same way if there is no target. `change` may replace the
        shard.
        """
        self.targets.append(target)
        if self.errors:
            raise self.errors.pop()
        connection = Connection(HOST.endpoint, 4, asyncio.get_running_loop())
        if target is not None:
            shard = target.shard
        else:
            used_shards = self.shards_of(self.opened)
            shard_count = self.info.shards_count if self.info is not None else 1
            # If several shards have the fewest connections, `min` returns the first one.
            shard = min(range(shard_count), key=used_shards.count)
        connection.features = SimpleNamespace(  # type: ignore[assignment]
            sharding_info=self.info, shard_id=self.change(target, shard)
        )
        self.opened.append(connection)
        return connection

    def shards_of(self, connections: list[Connection]) -> list[int]:
        """Return the shards of the open connections, in ascending order."""
        features: list[Any] = [
            connection.features for connection in connections if not connection.closed
        ]
        return sorted(feature.shard_id for feature in features)

    def pool(self, size: int = 1, port: int | None = PORT) -> ShardPool:
        """Return a pool that is not filled.

        If opening a connection fails, the pool tries again after 1 s.

        :param size: the number of connections to each shard.
        :param port: the shard-aware port, or None.
        """
        most_waiting = 1000  # The number of requests that may wait for a free stream.
        owner = PoolOwner(
            self.open,
            lambda _, error: self.failures.append(error),
            asyncio.ensure_future,
            lambda: repeat(1.0),
            most_waiting,
        )
        return ShardPool(
            HOST,
            HostDistance.LOCAL,
            size,
            owner,
            tablets=tablets.TabletMap(),
            port_of=lambda info: port,
        )


@pytest.fixture
async def stub() -> AsyncIterator[StubNode]:
    """Yield a stub of a node with four shards.

    Connections that a test leaves open are closed.
    """
    node = StubNode()
    yield node
    for connection in node.opened:
        connection.close()
    HOST.sharding_info = None


def targets(*shards: int) -> list[ShardTarget]:
    """Return the targets of connections to these shards of a node with four shards."""
    return [ShardTarget(shard, INFO.shards_count, PORT) for shard in shards]


@pytest.mark.simulated
async def test_the_first_connection_shows_the_shards(stub: StubNode) -> None:
    """The pool learns the number of shards from its first connection.

    Then it connects to each other shard.
    """
    pool = stub.pool()
    await pool.fill()
    # The node has chosen shard 0 for the first connection. Connections to the other shards are
    # opened in the background.
    assert pool.size == 4
    assert HOST.sharding_info is INFO
    await until_on_loop(lambda: pool.connected_shards == 4)
    assert stub.targets == [None, *targets(1, 2, 3)]
    state = pool.state()
    assert state["shards_count"] == 4
    assert state["connected_shards"] == 4
    pool.close()
    assert stub.shards_of(stub.opened) == []


@pytest.mark.simulated
async def test_each_shard_has_as_many_connections_as_requested(stub: StubNode) -> None:
    """`resize` sets the number of connections to each shard.

    The pool then opens or closes connections.
    """
    pool = stub.pool(size=2)
    await pool.fill()
    await until_on_loop(lambda: len(pool.connections) == 8)
    assert stub.shards_of(pool.connections) == [0, 0, 1, 1, 2, 2, 3, 3]
    pool.resize(1)
    assert pool.size == 4
    assert stub.shards_of(pool.connections) == [0, 1, 2, 3]
    assert stub.shards_of(stub.opened) == [0, 1, 2, 3]
    pool.resize(1)  # the size is already 1, so nothing changes
    pool.resize(3)
    assert pool.size == 12
    await until_on_loop(lambda: len(pool.connections) == 12)
    assert stub.shards_of(pool.connections) == sorted([0, 1, 2, 3] * 3)
    opened_before = len(stub.opened)
    pool.close()
    pool.resize(1)
    assert len(stub.opened) == opened_before


@pytest.mark.simulated
async def test_surplus_connections_of_a_busy_shard_are_closed_too(stub: StubNode) -> None:
    """If a pool shrinks, surplus connections are removed even if all their streams are in use.

    They get no further requests, and are closed when they are idle.
    """
    pool = stub.pool(size=2)
    await pool.fill()
    await until_on_loop(lambda: len(pool.connections) == 8)
    for connection in pool.connections:
        connection.set_stream_limit(1)
        request: Any = SimpleNamespace(on_connection_lost=lambda *loss: None)
        connection.send(request, OPTIONS, 0, b"")
    pool.resize(1)
    assert stub.shards_of(pool.connections) == [0, 1, 2, 3]
    assert len(pool._closing) == 4
    pool.close()


@pytest.mark.simulated
async def test_behind_a_nat_the_node_chooses_all_shards(stub: StubNode) -> None:
    """If connections do not reach their target shards, the pool connects to the normal port.

    A NAT changes the client's ports, so the shard-aware port leads to another shard. On the normal
    port, the node chooses the shards in turn. The pool opens connections until each shard has one.
    """
    # All connections to the shard-aware port lead to shard 0.
    stub.change = lambda target, shard: shard if target is None else 0
    pool = stub.pool()
    await pool.fill()
    await until_on_loop(lambda: pool.connected_shards == 4)
    # After one attempt, the pool knows that the client's port does not choose the shard.
    assert stub.targets[:2] == [None, *targets(1)]
    assert set(stub.targets[2:]) == {None}
    # Surplus connections to a shard are closed when each shard has a connection.
    assert stub.shards_of(stub.opened) == [0, 1, 2, 3]
    pool.close()


@pytest.mark.simulated
@pytest.mark.parametrize("port", [None, PORT])
async def test_a_shard_that_cannot_be_reached_is_tried_again_later(
    stub: StubNode, port: int | None
) -> None:
    """If some attempts reach no connection to a shard, the pool tries again after a minute."""
    stub.change = lambda target, shard: min(shard, 2)  # no connection ever reaches the last shard
    pool = stub.pool(port=port)
    await pool.fill()
    await until_on_loop(lambda: pool._retry_timer is not None)
    # The cluster opens at most twice as many connections to a node as it has shards. One of these
    # is the control connection, which is not opened here.
    assert len(stub.opened) == 2 * INFO.shards_count - 1
    assert stub.shards_of(stub.opened) == [0, 1, 2]
    assert stub.failures == []
    clock = asyncio.get_running_loop().time
    started = clock()
    stub.change = lambda target, shard: shard
    await until_on_loop(lambda: pool.connected_shards == 4)
    assert 59 <= clock() - started <= 61
    assert pool._retry_timer is None
    pool.close()


@pytest.mark.simulated
@pytest.mark.parametrize("port", [PORT, None])
async def test_a_pool_that_grows_while_it_is_filled_gets_all_connections(
    stub: StubNode, port: int | None
) -> None:
    """If a pool grows while it is filled, it opens all connections at once.

    The limit of attempts must grow with the size. Otherwise, the rest would wait for the next
    retry.
    """
    pool = stub.pool(port=port)
    open_at_once = pool._open

    async def open_slowly(*args: Any) -> Connection:
        await asyncio.sleep(0.1)
        return await open_at_once(*args)

    pool._open = open_slowly
    await pool.fill()
    pool.resize(4)
    await until_on_loop(lambda: len(pool.connections) == 4 * INFO.shards_count)
    assert pool._retry_timer is None
    pool.close()


@pytest.mark.simulated
async def test_refused_connections_are_opened_after_the_policys_delay(stub: StubNode) -> None:
    """Refused connections to shards are tried again after the reconnection policy's delay.

    Here, the delay is one second.
    """
    pool = stub.pool()
    # Begin with a pool that has one connection, to shard 0, and that knows the node's shards.
    pool.connections.append(await stub.open(HOST))
    pool._adopt_sharding(INFO)
    assert pool.shards is not None
    pool.shards.add(0, pool.connections[0])
    # One error for the shard-aware port, and one for each of the three missing shards on the normal
    # port.
    stub.errors = [OSError("refused")] * 4
    clock = asyncio.get_running_loop().time
    started = clock()
    await pool.fill()
    await until_on_loop(lambda: not stub.errors)
    assert len(pool.connections) == 1
    await until_on_loop(lambda: pool.connected_shards == 4)
    assert clock() - started >= 1.0
    assert stub.failures == []
    pool.close()


@pytest.mark.simulated
async def test_a_node_without_shards_has_a_plain_pool(stub: StubNode) -> None:
    """A Cassandra node has no shards, so `size` is the number of connections of the whole pool."""
    # Without sharding info, the stub acts as a Cassandra node.
    stub.info = None
    pool = stub.pool(size=2)
    await pool.fill()
    assert pool.size == 2
    assert len(pool.connections) == 2
    assert pool.shards is None
    assert pool.connected_shards == 0
    assert "shards_count" not in pool.state()
    pool.resize(3)
    await until_on_loop(lambda: len(pool.connections) == 3)
    assert stub.targets == [None] * 3
    pool.close()


@pytest.mark.simulated
async def test_another_number_of_shards_replaces_all_connections(stub: StubNode) -> None:
    """If a node restarts with another number of shards, the pool replaces all its connections."""
    pool = stub.pool()
    await pool.fill()
    await until_on_loop(lambda: pool.connected_shards == 4)
    old_connections = list(pool.connections)
    stub.info = INFO._replace(shards_count=2)
    old_connections[0].close(ConnectionException("restarted"))
    await until_on_loop(lambda: pool.connected_shards == pool.size == 2)
    assert all(connection.closed for connection in old_connections)
    # A Cassandra node at the same address has no shards.
    stub.info = None
    for connection in list(pool.connections):
        connection.close(ConnectionException("restarted"))
    await until_on_loop(lambda: pool.size == len(pool.connections) == 1)
    assert pool.shards is None
    assert HOST.sharding_info is None
    pool.close()


@pytest.mark.simulated
async def test_a_shard_that_the_node_does_not_have_is_refused(stub: StubNode) -> None:
    """A connection is closed if its shard number is not below the number of shards."""
    pool = stub.pool()
    connection = await stub.open(HOST)
    features: Any = connection.features
    # The node has the shards 0 to 3.
    features.shard_id = 4
    with pytest.raises(ConnectionShutdown, match="has no shard 4"):
        pool._adopt(connection)
    assert connection.closed
    pool.close()


@pytest.mark.parametrize(
    ("changes", "is_usable"),
    [
        ({}, True),
        ({"shards_count": 1}, True),
        ({"shards_count": 0xFFFF}, True),
        ({"shards_count": 0}, False),
        ({"shards_count": 0x10000}, False),
        ({"sharding_ignore_msb": 0}, True),
        ({"sharding_ignore_msb": 63}, True),
        ({"sharding_ignore_msb": 64}, False),
        ({"sharding_ignore_msb": -1}, False),
        ({"sharding_algorithm": "other"}, False),
        ({"partitioner": "org.apache.cassandra.dht.RandomPartitioner"}, False),
    ],
)
def test_only_known_ways_of_sharding_are_used(changes: dict[str, Any], is_usable: bool) -> None:
    """Sharding is used only with the known algorithm and partitioner, and with plausible numbers.

    Otherwise, the driver would compute wrong shards.
    """
    info = INFO._replace(**changes)
    connection: Any = SimpleNamespace(features=SimpleNamespace(sharding_info=info))
    assert usable_sharding(connection) is (info if is_usable else None)


def test_a_node_without_features_has_no_shards() -> None:
    for features in (None, SimpleNamespace(sharding_info=None)):
        connection: Any = SimpleNamespace(features=features)
        assert usable_sharding(connection) is None


class RoutedEndPoint(DefaultEndPoint):
    """An end point behind a proxy, whose shard-aware port is the node's port plus one."""

    def shard_aware_port(self, advertised: int | None) -> int | None:
        return None if advertised is None else advertised + 1


@pytest.mark.parametrize(
    ("endpoint", "is_enabled", "has_tls", "port"),
    [
        pytest.param(HOST.endpoint, True, False, PORT, id="plain"),
        pytest.param(HOST.endpoint, True, True, TLS_PORT, id="TLS"),
        pytest.param(HOST.endpoint, False, False, None, id="disabled"),
        pytest.param(UnixSocketEndPoint("/run/node"), True, False, None, id="socket file"),
        pytest.param(RoutedEndPoint("127.0.0.1"), True, False, PORT + 1, id="routed"),
        pytest.param(RoutedEndPoint("127.0.0.1"), True, True, TLS_PORT + 1, id="routed, TLS"),
    ],
)
def test_the_port_that_selects_a_shard(
    endpoint: Any, is_enabled: bool, has_tls: bool, port: int | None
) -> None:
    """The shard-aware port depends on TLS, on the setting, and on the class of the end point.

    A Unix socket has no port.
    """
    settings: Any = SimpleNamespace(shard_aware_port=is_enabled, tls=object() if has_tls else None)
    assert shard_aware_port(settings, endpoint, INFO) == port
