"""Requests reach the right shards of fake ScyllaDB nodes, in the blocking and asyncio APIs.

The tests cover the shard-aware port, NAT and changed nodes.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from cassandra import aio
from cassandra.cluster import Cluster, ShardAwareOptions
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.engine.pools import shard_ports
from cassandra.policies import AdaptivePolicy, HostDistance, RoundRobinPolicy, TokenAwarePolicy
from cassandra.protocol.features import ShardingInfo
from cassandra.testing.fake import FakeCluster, Scylla
from cassandra.testing.tls import TlsMaterial
from tests.processes import run_python
from tests.waiting import until

SELECT = "SELECT v FROM {}.t WHERE k = ?"
# Two keyspaces of the fake nodes. Each has a table `t`: distributed with vnodes in the first, with
# tablets in the second.
VNODES, TABLETS = "vn", "tb"


SHARD_COUNTS = [7, 5, 8]  # the numbers of shards of the three nodes


def scylla_cluster(**settings: Any) -> FakeCluster:
    """Return three fake ScyllaDB nodes that are not started.

    :param settings: arguments of `Scylla`. By default the nodes have 7, 5 and 8 shards.
    """
    settings.setdefault("shards", SHARD_COUNTS)
    return FakeCluster(3, scylla=Scylla(**settings))


def with_tables(nodes: FakeCluster, tablets: int = 32) -> FakeCluster:
    """Create a table with vnodes and one with tablets, and return the nodes.

    :param tablets: the number of tablets.
    """
    nodes.scylla.keyspace(VNODES, replication_factor=2)
    nodes.scylla.table(VNODES, "t")
    nodes.scylla.keyspace(TABLETS, replication_factor=2, tablets=True)
    nodes.scylla.table(TABLETS, "t", tablets=tablets)
    return nodes


@pytest.fixture
def nodes() -> Iterator[FakeCluster]:
    with scylla_cluster() as running:
        yield with_tables(running)


def settings_of(nodes: FakeCluster, **settings: Any) -> dict[str, Any]:
    """Return settings of a `Cluster` that connects to these nodes."""
    return {"contact_points": nodes.contact_points, "port": nodes.port, **settings}


def all_connected(cluster: Any) -> bool:
    """Return whether the cluster has a connection to each shard of each host."""
    stats = cluster.shard_aware_stats()
    return bool(stats) and all(
        host_stats["shards_count"] == host_stats["connected"] for host_stats in stats.values()
    )


def check_arrivals(nodes: FakeCluster, count: int) -> None:
    """Check that `count` executions of prepared statements arrived, each at the right shard.

    A shard is right if it has a replica of the partition.
    """
    arrivals = nodes.scylla.arrivals
    assert arrivals.counted == count
    assert arrivals.right == count


@pytest.fixture
def cluster(nodes: FakeCluster) -> Iterator[Cluster]:
    with Cluster(**settings_of(nodes)) as new_cluster:
        new_cluster.connect(wait_for_all_pools=True)
        until(lambda: all_connected(new_cluster))
        yield new_cluster


def warm_up(nodes: FakeCluster, execute: Callable[[int], Any], count: int = 1000) -> None:
    """Call `execute` with each of `count` keys, so that the driver knows the tablets.

    Then reset the nodes' records of where requests arrived.
    """
    for key in range(count):
        execute(key)
    nodes.scylla.forget_arrivals()


def has_connections_to_each_shard(node: Any, count: int) -> bool:
    """Return whether `count` pool connections lead to each shard of the node."""
    connections_by_shard = Counter(
        connection.shard for connection in node.connections if not connection.event_types
    )
    return connections_by_shard == dict.fromkeys(range(node.shards), count)


# -- connections -----------------------------------------------------------------------------------


def test_each_shard_has_a_connection_through_the_shard_aware_port(
    nodes: FakeCluster, cluster: Cluster
) -> None:
    """Each shard gets one connection, and all but the first connection use the shard-aware port.

    The driver learns the shard-aware port from its first connection to a node.
    """
    assert cluster.is_shard_aware()
    assert cluster.shard_aware_stats() == {
        node.endpoint: {"shards_count": node.shards, "connected": node.shards}
        for node in nodes.scylla.nodes
    }
    for node in nodes.scylla.nodes:
        connections = [connection for connection in node.connections if not connection.event_types]
        assert sorted(connection.shard for connection in connections) == list(range(node.shards))
        # The first connection uses the normal port, and all other connections use the shard-aware
        # port.
        client_ports = [
            connection.peer[1]
            for connection in connections
            if connection.local_port == node.shard_aware_port and connection.peer
        ]
        assert len(client_ports) == node.shards - 1
        # The client's ports are in the default range of `local_ports`.
        assert all(49152 <= port <= 65535 for port in client_ports)


def test_hosts_have_sharding_info(nodes: FakeCluster, cluster: Cluster) -> None:
    """`Host.sharding_info` has what the node has announced, and computes the shard of a token."""
    info_by_host = {host.host_id: host.sharding_info for host in cluster.metadata.all_hosts()}
    for node in nodes.scylla.nodes:
        info = info_by_host[node.host_id]
        assert isinstance(info, ShardingInfo)
        assert info.shards_count == node.shards
        assert info.sharding_ignore_msb == 12
        assert info.shard_aware_port == node.shard_aware_port
        # A token is shifted to 0 and above first, which makes this token 1 << 51. Then the first 12
        # of its 64 bits are ignored. In the remaining 52 bits, 1 << 51 is half of the range, so the
        # token belongs to the middle shard.
        assert info.shard_id_from_token(-(1 << 63) + (1 << 51)) == node.shards // 2


def test_nodes_of_cassandra_have_no_shards() -> None:
    """A node that announces no shards gets one connection, and the cluster is not shard-aware."""
    with FakeCluster(1) as plain, Cluster(**settings_of(plain)) as cluster:
        assert not cluster.is_shard_aware()
        cluster.connect()
        assert not cluster.is_shard_aware()
        assert cluster.shard_aware_stats() == {}
        # The node has accepted the control connection and one pool connection.
        assert plain[0].opened == 2


def test_shard_awareness_can_be_disabled(nodes: FakeCluster) -> None:
    """With `disable` in `shard_aware_options`, each node gets one connection."""
    options = {"disable": True}
    with Cluster(**settings_of(nodes, shard_aware_options=options)) as cluster:
        session = cluster.connect(wait_for_all_pools=True)
        assert not cluster.is_shard_aware()
        prepared = session.prepare(SELECT.format(VNODES))
        session.execute(prepared, (1,))
        # There is one connection to each of the 3 nodes, and the control connection.
        assert sum(len(node.connections) for node in nodes.nodes) == 4


def test_the_shard_aware_port_can_be_disabled(nodes: FakeCluster) -> None:
    """Without the shard-aware port, the driver connects to the normal port.

    It does so until each shard has a connection.
    """
    options = ShardAwareOptions(disable_shardaware_port=True)
    with Cluster(**settings_of(nodes, shard_aware_options=options)) as cluster:
        cluster.connect(wait_for_all_pools=True)
        until(lambda: all_connected(cluster))
        for node in nodes.scylla.nodes:
            assert all(connection.local_port == node.port for connection in node.connections)


def test_options_are_checked() -> None:
    """Unknown shard-aware options and ports beyond 65535 raise ValueError.

    `ShardAwareOptions` also accepts other options to copy.
    """
    with pytest.raises(ValueError, match="disabled"):
        Cluster(shard_aware_options={"disabled": True})
    with pytest.raises(ValueError, match="70000"):
        Cluster(shard_aware_options={"local_ports": (1, 70000)})
    options = ShardAwareOptions({"local_ports": (50000, 50100)}, disable=True)
    copied = ShardAwareOptions(options)
    assert copied.disable
    assert copied.local_ports == (50000, 50100)


def test_connections_use_only_free_ports_of_the_configured_range(
    nodes: FakeCluster,
) -> None:
    """Connections to shards use ports of the range `local_ports` that no other socket uses."""
    low, high = 61_000, 61_200
    taken: dict[int, socket.socket] = {}
    for port in range(low, low + 30):
        listener = socket.socket()
        try:
            # Without SO_REUSEADDR, the port is exclusive.
            listener.bind(("0.0.0.0", port))
            listener.listen()
        except OSError:
            # A connection that was just closed may still occupy this port, so skip the port.
            listener.close()
        else:
            taken[port] = listener
    try:
        options = {"local_ports": (low, high)}
        with Cluster(**settings_of(nodes, shard_aware_options=options)) as cluster:
            cluster.connect(wait_for_all_pools=True)
            until(lambda: all_connected(cluster))
            ports = [
                connection.peer[1]
                for node in nodes.scylla.nodes
                for connection in node.connections
                if connection.local_port == node.shard_aware_port and connection.peer
            ]
        # One connection for each shard, except for the first connection to each node, which uses
        # the normal port.
        assert len(ports) == sum(SHARD_COUNTS) - len(SHARD_COUNTS)
        assert taken
        for port in ports:
            assert low <= port <= high
            assert port not in taken
    finally:
        for listener in taken.values():
            listener.close()


async def test_without_a_free_port_the_error_says_so() -> None:
    """If every local port that leads to the shard is in use, connecting raises OSError."""
    loop = asyncio.get_running_loop()
    with socket.socket() as listener, socket.socket() as taken:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        taken.bind(("0.0.0.0", 0))
        taken.listen()
        server_port = listener.getsockname()[1]
        taken_port = taken.getsockname()[1]
        with pytest.raises(OSError, match="no local port"):
            await shard_ports.connected_to_shard(loop, "127.0.0.1", server_port, [taken_port])


@pytest.mark.skipif(not socket.has_ipv6, reason="there is no IPv6 here")
async def test_the_local_port_over_ipv6_leads_to_the_shard() -> None:
    """Over IPv6, too, the client's port modulo the number of shards is the shard."""
    loop = asyncio.get_running_loop()
    with socket.socket(socket.AF_INET6) as listener:
        try:
            listener.bind(("::1", 0))
        except OSError:
            pytest.skip("there is no IPv6 on the loopback")
        # Connect to the listener from a local port that leads to shard 3 of 7.
        listener.listen()
        generator = shard_ports.ShardAwarePortGenerator(50_000, 60_000)
        shard, shard_count = 3, 7
        server_port = listener.getsockname()[1]
        sock = await shard_ports.connected_to_shard(
            loop, "::1", server_port, generator.generate(shard, shard_count)
        )
        with sock:
            client_port = sock.getsockname()[1]
            assert client_port % shard_count == shard


def test_with_tls_the_shard_aware_tls_port_is_used(tmp_path: Any) -> None:
    """With TLS, connections to chosen shards go to the node's shard-aware TLS port."""
    material = TlsMaterial.make(str(tmp_path), "required")
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    # The client verifies nothing, so the node can use any certificate, here the client's.
    server.load_cert_chain(material.client_certificate, material.client_key)
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname = False
    client.verify_mode = ssl.CERT_NONE
    with (
        FakeCluster(1, scylla=Scylla(shards=4), ssl_context=server) as nodes,
        Cluster(**settings_of(nodes, ssl_context=client)) as cluster,
    ):
        cluster.connect()
        until(lambda: all_connected(cluster))
        node = nodes.scylla.nodes[0]
        ports = [connection.local_port for connection in node.connections]
        # There is one connection for each of 4 shards. The first connection was opened before the
        # driver knew the port, so three connections use it.
        assert ports.count(node.shard_aware_port) == 3


def test_several_connections_to_each_shard(nodes: FakeCluster) -> None:
    """`set_core_connections_per_host` sets the number of connections to each shard.

    With 2, each shard gets two connections. When the number is set to 1, each shard loses one
    connection.
    """
    with Cluster(**settings_of(nodes, protocol_version=4)) as cluster:
        for distance in (HostDistance.LOCAL_RACK, HostDistance.LOCAL):
            cluster.set_core_connections_per_host(distance, 2)
        cluster.connect(wait_for_all_pools=True)
        for node in nodes.scylla.nodes:
            node.wait_for(lambda node: has_connections_to_each_shard(node, count=2))
        for distance in (HostDistance.LOCAL_RACK, HostDistance.LOCAL):
            cluster.set_core_connections_per_host(distance, 1)
        for node in nodes.scylla.nodes:
            node.wait_for(lambda node: has_connections_to_each_shard(node, count=1))


def test_a_lost_connection_to_a_shard_is_opened_again(nodes: FakeCluster, cluster: Cluster) -> None:
    """If the connection to one shard is lost, one connection to the same shard is opened."""
    node = nodes.scylla.nodes[0]
    opened_before = node.opened
    shard = 3
    # Skip the control connection, which has event types and may go to the same shard.
    victim = next(
        connection
        for connection in node.connections
        if connection.shard == shard and not connection.event_types
    )
    node.loop.call_soon_threadsafe(victim.end)
    until(lambda: node.opened == opened_before + 1 and all_connected(cluster))
    assert node.connections[-1].shard == shard


@pytest.mark.parametrize("shards", [3, 12])
def test_a_node_comes_back_with_another_number_of_shards(
    nodes: FakeCluster, cluster: Cluster, shards: int
) -> None:
    """If a node restarts with another number of shards, requests still reach the right shards."""
    node = nodes.scylla.nodes[0]
    nodes.stop_node(node)
    node.shards = shards
    nodes.start_node(node)
    expected = {"shards_count": shards, "connected": shards}
    until(lambda: cluster.shard_aware_stats().get(node.endpoint) == expected)
    session = cluster.connect()
    prepared = session.prepare(SELECT.format(VNODES))
    until(lambda: all_connected(cluster))
    nodes.scylla.forget_arrivals()
    for key in range(300):
        session.execute(prepared, (key,))
    check_arrivals(nodes, count=300)


def test_behind_a_nat_few_connections_are_opened() -> None:
    """Behind a NAT, the driver stops trying the shard-aware port after a few attempts.

    A NAT rewrites the client's ports, so connections reach arbitrary shards. Requests still reach
    the right node.
    """
    shard_count, request_count = 7, 2000
    with scylla_cluster(shards=shard_count, rewrites_ports=True) as nodes:
        with_tables(nodes)
        with Cluster(**settings_of(nodes)) as cluster:
            session = cluster.connect(wait_for_all_pools=True)
            prepared = session.prepare(SELECT.format(VNODES))
            for key in range(request_count):
                session.execute(prepared, (key,))
            arrivals = nodes.scylla.arrivals
            assert arrivals.counted == request_count
            assert arrivals.wrong_node == 0
            stats = cluster.shard_aware_stats()
            assert len(stats) == 3
        # The driver opens at most twice as many connections to a node as the node has shards.
        assert all(node.opened <= 2 * shard_count for node in nodes.nodes)


def test_behind_a_nat_the_normal_port_reaches_all_shards() -> None:
    """Behind a NAT, each shard gets a connection through the normal port of its node.

    On this port, the node assigns shards in turn. The driver opens at most twice as many
    connections to a node as it has shards (4).
    """
    with scylla_cluster(shards=4, rewrites_ports=True) as nodes:
        with Cluster(**settings_of(nodes)) as cluster:
            cluster.connect(wait_for_all_pools=True)
            until(lambda: all_connected(cluster))
        assert all(node.opened <= 2 * 4 for node in nodes.nodes)


def test_if_the_shard_aware_port_is_closed_the_normal_port_is_used(nodes: FakeCluster) -> None:
    """If the shard-aware port is closed, the driver uses the normal port.

    A firewall may block the shard-aware port.
    """
    for node in nodes.scylla.nodes:
        node.close_shard_aware_port()
    with Cluster(**settings_of(nodes)) as cluster:
        cluster.connect(wait_for_all_pools=True)
        until(lambda: all_connected(cluster))


# -- requests --------------------------------------------------------------------------------------


@pytest.mark.parametrize("keyspace", [VNODES, TABLETS])
@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize(
    "policy", [TokenAwarePolicy(RoundRobinPolicy()), AdaptivePolicy(RoundRobinPolicy())],
    ids=["token aware", "adaptive"],
)  # fmt: skip
@pytest.mark.slow
def test_every_read_reaches_its_shard(
    nodes: FakeCluster, keyspace: str, version: int, policy: Any
) -> None:
    """Token-aware policies send each request to a shard of a replica.

    This holds for vnodes, and for tablets with both versions of the tablet protocol.
    """
    nodes.scylla.tablets_version = version
    with Cluster(**settings_of(nodes, load_balancing_policy=policy)) as cluster:
        session = cluster.connect(wait_for_all_pools=True)
        until(lambda: all_connected(cluster))
        prepared = session.prepare(SELECT.format(keyspace))
        # After 1000 reads, the driver knows all tablets.
        warm_up(nodes, lambda key: session.execute(prepared, (key,)))
        for key in range(1000):
            session.execute(prepared, (key,))
        arrivals = nodes.scylla.arrivals
        assert arrivals.counted == 1000
        assert arrivals.right == 1000
        # The nodes send a tablet in a payload only to a client that does not know it.
        assert arrivals.payloads == 0
        # Each shard number got requests.
        assert len(arrivals.by_shard) == max(SHARD_COUNTS)
        assert not any(node.malformed for node in nodes.nodes)


APIS = ["blocking", "futures", "asyncio"]


@pytest.fixture
def nodes_of_seven() -> Iterator[FakeCluster]:
    with scylla_cluster(shards=7) as running:
        yield with_tables(running)


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize(("keyspace", "version"), [(VNODES, 1), (TABLETS, 1), (TABLETS, 2)])
@pytest.mark.parametrize("count", [1_000, pytest.param(20_000, marks=pytest.mark.long)])
@pytest.mark.slow
def test_when_all_tablets_are_known_every_read_reaches_its_shard(
    nodes_of_seven: FakeCluster, keyspace: str, version: int, api: str, count: int
) -> None:
    """If the driver knows all tablets, every read reaches the right shard of a replica.

    This holds for each API.
    """
    nodes = nodes_of_seven
    nodes.scylla.tablets_version = version
    query = SELECT.format(keyspace)
    if api == "asyncio":
        asyncio.run(_read_in_asyncio(nodes, query, count))
    else:
        with Cluster(**settings_of(nodes)) as cluster:
            session = cluster.connect(wait_for_all_pools=True)
            until(lambda: all_connected(cluster))
            prepared = session.prepare(query)
            # Let the driver learn all tablets. Then read each key once.
            warm_up(nodes, lambda key: session.execute(prepared, (key,)))
            keys = [(key,) for key in range(count)]
            if api == "futures":
                execute_concurrent_with_args(session, prepared, keys, concurrency=200)
            else:
                for key in keys:
                    session.execute(prepared, key)
    check_arrivals(nodes, count)


async def _read_in_asyncio(nodes: FakeCluster, query: str, count: int) -> None:
    """Read 1000 keys to learn the tablets. Then read `count` keys, 200 at a time."""
    async with aio.Cluster(**settings_of(nodes)) as cluster:
        session = await cluster.connect(wait_for_all_pools=True)
        await asyncio.to_thread(until, lambda: all_connected(cluster))
        prepared = await session.prepare(query)
        for key in range(1000):
            await session.execute(prepared, (key,))
        nodes.scylla.forget_arrivals()
        for first_key in range(0, count, 200):
            keys = range(first_key, first_key + 200)
            await asyncio.gather(*(session.execute(prepared, (key,)) for key in keys))


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("count", [2_000, pytest.param(10_000, marks=pytest.mark.long)])
@pytest.mark.slow
def test_most_reads_reach_their_shard_while_tablets_move(
    nodes: FakeCluster, version: int, count: int
) -> None:
    """While tablets move, at least 99 % of the reads reach the right shard.

    After a move, the old replica still responds, and sends the tablet's new location.
    """
    nodes.scylla.tablets_version = version
    placement = nodes.scylla.placement
    with Cluster(**settings_of(nodes)) as cluster:
        session = cluster.connect(wait_for_all_pools=True)
        until(lambda: all_connected(cluster))
        prepared = session.prepare(SELECT.format(TABLETS))
        warm_up(nodes, lambda key: session.execute(prepared, (key,)))
        for key in range(count):
            if key % 500 == 0:
                placement.move(TABLETS, "t")
            session.execute(prepared, (key,))
        arrivals = nodes.scylla.arrivals
        assert arrivals.counted == count
        # Only the first requests after each move may reach a wrong shard.
        assert arrivals.right >= 0.99 * count


def test_requests_succeed_while_connections_have_few_streams(
    nodes: FakeCluster, cluster: Cluster
) -> None:
    """All of 3000 requests succeed, although each connection has only two streams."""
    session = cluster.connect()
    for pool in session._engine.pools.values():
        for connection in pool.connections:
            connection.set_stream_limit(2)
    prepared = session.prepare(SELECT.format(VNODES))
    results = execute_concurrent_with_args(
        session, prepared, [(key % 3,) for key in range(3000)], concurrency=100
    )
    assert all(result.success for result in results)


@pytest.mark.parametrize("implementation", ["python", "c"])
@pytest.mark.slow
def test_both_implementations_reach_the_shards(implementation: str) -> None:
    """In a process with each implementation, all requests reach the right shard.

    This holds with and without tablets. The implementation is chosen when the package is imported,
    so each run needs a new process.
    """
    # For both versions of the tablets extension, the program executes 200 reads, from which the
    # driver learns the tablets. Then it checks where the next 200 reads arrive.
    program = """
from cassandra.cluster import Cluster
from cassandra.testing.fake import FakeCluster, Scylla
from cassandra import _impl
assert _impl.implementation == WANTED
for version in (1, 2):
    with FakeCluster(3, scylla=Scylla([7, 5, 8], tablets_version=version)) as nodes:
        for keyspace, tablets in (("vn", None), ("tb", 16)):
            nodes.scylla.keyspace(keyspace, replication_factor=2, tablets=tablets is not None)
            nodes.scylla.table(keyspace, "t", tablets=tablets)
        with Cluster(nodes.contact_points, port=nodes.port) as cluster:
            session = cluster.connect(wait_for_all_pools=True)
            while any(stats["connected"] < stats["shards_count"]
                      for stats in cluster.shard_aware_stats().values()):
                pass
            for keyspace in ("vn", "tb"):
                prepared = session.prepare(f"SELECT v FROM {keyspace}.t WHERE k = ?")
                for key in range(200):
                    session.execute(prepared, (key,))
                nodes.scylla.forget_arrivals()
                for key in range(200):
                    session.execute(prepared, (key,))
                arrivals = nodes.scylla.arrivals
                assert (arrivals.right, arrivals.counted) == (200, 200), (keyspace, arrivals)
"""
    from cassandra import _impl

    if implementation == "c" and _impl.implementation != "c":
        pytest.skip("no compiled modules in the pure Python lane")
    process = run_python(
        program.replace("WANTED", repr(implementation)),
        env={"CASS_DRIVER_IMPL": implementation},
    )
    assert process.returncode == 0, process.stderr
