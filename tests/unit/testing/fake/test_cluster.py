"""The nodes of a `FakeCluster` know each other, and send events when nodes join or leave."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile
from cassandra.policies import RoundRobinPolicy
from cassandra.testing import FakeCluster as PublicCluster, FakeNode as PublicNode, wire
from cassandra.testing.fake import Answer, FakeCluster, FakeNode, Opcode, rows, set_keyspace
from cassandra.testing.fake.requests import Request

from .client import RawClient, ask, envelope, query

# the body of a REGISTER for two types of events
REGISTER = (
    bytes.fromhex("0002 000d") + b"STATUS_CHANGE" + bytes.fromhex("000f") + b"TOPOLOGY_CHANGE"
)


@pytest.fixture
def nodes() -> Iterator[FakeCluster]:
    """Yield a running cluster of three nodes."""
    with FakeCluster(3) as running_cluster:
        yield running_cluster


def peers(node: FakeNode, table: str = "system.peers_v2") -> list[dict[str, bytes | None]]:
    """Return the rows of a node's table of peers: encoded values by column name."""
    with RawClient(node) as client:
        client.start(4)
        return wire.decode_rows(client.ask(query(f"SELECT * FROM {table}", 4)).body)


def test_the_public_names() -> None:
    """`FakeCluster` and `FakeNode` can be imported from `cassandra.testing`."""
    assert PublicCluster == FakeCluster
    assert PublicNode == FakeNode


def test_addresses_and_one_port(nodes: FakeCluster) -> None:
    """The nodes of a cluster have addresses in one subnet, and share one port."""
    prefixes = {address.rpartition(".")[0] for address in nodes.contact_points}
    assert len(prefixes) == 1
    assert [address.rpartition(".")[2] for address in nodes.contact_points] == ["1", "2", "3"]
    assert {node.port for node in nodes.nodes} == {nodes.port}
    assert nodes.node_at(nodes.contact_points[1]) is nodes[1]
    with pytest.raises(KeyError):
        nodes.node_at("127.0.0.250")


def test_each_node_knows_the_others(nodes: FakeCluster) -> None:
    """Each node's tables of peers list the other nodes, and each node has its own tokens."""
    for node in nodes.nodes:
        others = [other for other in nodes.nodes if other is not node]
        rows = peers(node, "system.peers_v2")
        assert [row["host_id"] for row in rows] == [other.host_id.bytes for other in others]
        assert {row["native_port"] for row in rows} == {nodes.port.to_bytes(4, "big")}
        # The older table system.peers has the same addresses in another column.
        older_rows = peers(node, "system.peers")
        addresses = [row["native_address"] for row in rows]
        assert [row["rpc_address"] for row in older_rows] == addresses
    assert len({node.tokens for node in nodes.nodes}) == 3


def test_datacenters_and_racks() -> None:
    """`FakeCluster` distributes the nodes over the data centres and racks."""
    with FakeCluster({"east": 2, "west": 1}, racks=2) as nodes:
        assert [(node.datacenter, node.rack) for node in nodes.nodes] == [
            ("east", "rack1"),
            ("east", "rack2"),
            ("west", "rack1"),
        ]


def test_two_clusters_side_by_side(nodes: FakeCluster) -> None:
    """Two clusters that run at the same time have no address in common."""
    addresses = {(node.address, node.port) for node in nodes.nodes}
    with FakeCluster(3) as other_cluster:
        other_addresses = {(node.address, node.port) for node in other_cluster.nodes}
    assert addresses.isdisjoint(other_addresses)


def test_statements_and_answers_are_primed_on_all_nodes_also_later_ones(
    nodes: FakeCluster,
) -> None:
    """Statements primed on a cluster are also known to a node that joins later."""
    query = "SELECT v FROM t WHERE k = ?"
    nodes.prime_prepare(query, [("k", "int")], [("v", "int")], pk_indexes=[0])
    nodes.prime(query, rows([("v", "int")], [(7,)]))
    nodes.add_node()
    # RoundRobinPolicy does not use tokens, so the argument ``host`` decides which node gets the
    # request.
    profile = ExecutionProfile(RoundRobinPolicy())
    with Cluster(
        nodes.contact_points, port=nodes.port, execution_profiles={EXEC_PROFILE_DEFAULT: profile}
    ) as cluster:
        session = cluster.connect(wait_for_all_pools=True)
        statement = session.prepare(query)
        for host in cluster.metadata.all_hosts():
            assert session.execute(statement, (1,), host=host).one().v == 7


def test_primes_that_were_removed_do_not_apply_to_later_nodes(nodes: FakeCluster) -> None:
    """A new node gets the primes that the other nodes still have."""
    kept, removed = (nodes.prime(query, rows([("v", "int")], [(7,)])) for query in ("a", "b"))
    for prime in removed:
        prime.remove()
    kept[0].remove()
    new_node = nodes.add_node()
    assert [prime.text for prime in new_node._script._primes] == ["a"]
    for node in nodes.nodes:
        node.clear_primes()
    assert nodes.add_node()._script._primes == ()


def test_a_cluster_that_starts_again_has_new_nodes() -> None:
    """After `stop` and `start`, the cluster has as many nodes as before, and all of them run."""
    cluster = FakeCluster(2)
    for _ in range(2):
        with cluster:
            cluster.add_node()
            assert [node.is_running for node in cluster.nodes] == [True, True, True]
            assert len(cluster.contact_points) == 3
        # After the end, a test may still look at the requests.
        assert len(cluster.nodes) == 3


def test_events_and_rows_when_nodes_come_and_go(nodes: FakeCluster) -> None:
    """A client gets events about the other nodes, and the table of peers follows the changes."""
    with RawClient(nodes[0]) as client:
        client.start(4)
        client.ask(envelope(4, Opcode.REGISTER, REGISTER))

        def next_event() -> tuple[str, str, bytes]:
            """Return the type of the next event, the change, and the address of the node."""
            reader = wire.Reader(client.envelope().body)
            event_type, change = reader.string(), reader.string()
            (address_size,) = reader.take(1)
            return event_type, change, reader.take(address_size)

        added = nodes.add_node()
        address = bytes(map(int, added.address.split(".")))
        assert [next_event(), next_event()] == [
            ("TOPOLOGY_CHANGE", "NEW_NODE", address),
            ("STATUS_CHANGE", "UP", address),
        ]
        assert len(peers(nodes[0])) == 3
        nodes.stop_node(added)
        assert next_event() == ("STATUS_CHANGE", "DOWN", address)
        # A stopped node is still a member of the cluster.
        assert len(peers(nodes[0])) == 3
        with pytest.raises(ConnectionRefusedError):
            RawClient(added)
        nodes.start_node(added)
        assert next_event() == ("STATUS_CHANGE", "UP", address)
        nodes.remove_node(added)
        assert next_event() == ("TOPOLOGY_CHANGE", "REMOVED_NODE", address)
        assert len(peers(nodes[0])) == 2


def ask_node(node: FakeNode, text: str) -> None:
    """Send a statement to a node, and wait for the response."""
    with RawClient(node) as client:
        client.start(4)
        ask(client, text)


def test_failures_of_answers_end_the_test_after_all_nodes_are_stopped() -> None:
    """A failed answer is raised, and nevertheless all nodes and the thread have ended."""

    def fail(request: Request) -> Answer:
        raise AssertionError(request.query)

    with pytest.raises(AssertionError, match=r"^a$") as raised, FakeCluster(3) as nodes:  # noqa: PT012
        nodes.prime("a", fail)
        ask_node(nodes[1], "a")
        assert [str(failure) for failure in nodes.failures] == ["a"]
        with pytest.raises(AssertionError, match=r"^b$"):  # noqa: PT012
            nodes.prime("b", fail)
            ask_node(nodes[2], "b")
            nodes.remove_node(nodes[2])
        assert len(nodes) == 2
    assert raised.value is nodes.failures[0]
    assert not any(node.is_running for node in nodes.nodes)


def test_primes_of_a_cluster_apply_to_all_nodes(nodes: FakeCluster) -> None:
    """Primes of a cluster apply to all its nodes, and to nodes that are added later."""
    nodes.prime("Q", set_keyspace("primed"))
    queried_nodes = [nodes[2], nodes.add_node(), nodes[0]]
    for node in queried_nodes:
        with RawClient(node) as client:
            client.start(4)
            assert client.ask(query("Q", 4)).body.endswith(b"primed")
    # `queries` of a cluster returns the requests to all nodes in the order of their arrival.
    assert [request.connection.node for request in nodes.queries("Q")] == queried_nodes
    # Three clients have each sent one STARTUP and one QUERY.
    assert len(nodes.requests) == 6


async def test_clusters_and_nodes_on_a_loop_leave_no_thread() -> None:
    """With `async with`, too, a cluster uses one thread, which ends with the block."""
    threads_before = set(threading.enumerate())
    async with FakeCluster(5) as nodes:
        assert len(nodes) == 5
        # One thread runs all five nodes.
        assert len(set(threading.enumerate()) - threads_before) == 1
    async with FakeNode() as node:
        assert node.is_running
    assert set(threading.enumerate()) == threads_before


def test_a_cluster_that_is_not_started() -> None:
    """If the cluster is not started, `port` and `contact_points` raise an error that says how."""
    cluster = FakeCluster()
    for read in (lambda: cluster.port, lambda: cluster.contact_points):
        with pytest.raises(RuntimeError, match=r"not running: write `with FakeCluster\(\.\.\.\)"):
            read()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"nodes": "3"}, "nodes is a number, or a mapping .* not '3' \\(str\\)"),
        ({"nodes": [2, 1]}, "nodes is a number, or a mapping .* not \\[2, 1\\] \\(list\\)"),
        ({"nodes": {"dc1": "2"}}, "nodes in data centre 'dc1' is an int, not '2' \\(str\\)"),
        ({"scylla": "7"}, r"scylla is a number of shards or Scylla\(\.\.\.\), not '7' \(str\)"),
    ],
)
def test_arguments_of_another_type(arguments: dict[str, Any], message: str) -> None:
    """If an argument has the wrong type, the error says which types are allowed."""
    with pytest.raises(TypeError, match=message):
        FakeCluster(**arguments)


@pytest.mark.parametrize("method", ["stop_node", "start_node", "remove_node"])
def test_a_number_instead_of_a_node(method: str) -> None:
    """If a method gets a number instead of a node, the error says what the method takes."""
    with pytest.raises(TypeError) as raised:
        getattr(FakeCluster(), method)(7)
    assert str(raised.value) == f"{method} takes a node, such as cluster[0], not 7 (int)"
