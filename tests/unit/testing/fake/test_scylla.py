"""The state of a fake ScyllaDB cluster: its tables, tablets, tokens and client routes."""

from __future__ import annotations

import uuid

import pytest

from cassandra.testing import wire
from cassandra.testing.fake import FakeCluster, FakeNode, Opcode
from cassandra.testing.fake.placement import Member, Placement, Replica, Tablet, routing_payload
from cassandra.testing.fake.primitives import BodyReader
from cassandra.testing.fake.tokens import shard_of, token_of

from .client import RawClient, envelope, query
from .scylla_client import encoded_string, first_node, nodes as nodes, startup


@pytest.mark.parametrize(
    ("key", "token"),
    # Known tokens of Cassandra's variant of the Murmur3 hash.
    [(b"", 0), (b"123", -7468325962851647638), (b"\x00\xff\x10\xfa\x99" * 10, 5837342703291459765)],
)
def test_tokens(key: bytes, token: int) -> None:
    """`token_of` computes the known token of each key."""
    assert token_of(key) == token


def test_shards_of_tokens() -> None:
    """`shard_of` divides the ring evenly among the shards, here four.

    Its last argument is how many of the highest bits of a token are ignored.
    """
    first_token, last_token = -(1 << 63), (1 << 63) - 1
    tokens = (first_token, -1, 0, last_token)
    assert [shard_of(token, 4, 0) for token in tokens] == [0, 1, 2, 3]
    # If 12 bits are ignored, the shards repeat many times around the ring.
    assert shard_of(first_token + (1 << 51), 4, 12) == 2
    assert shard_of(first_token + (1 << 52), 4, 12) == 0


def test_the_payloads_bytes() -> None:
    """A routing payload is a tuple of a tablet's tokens and replicas, each after its length.

    Version 2 of the extension adds the version of the tablet.
    """
    host_id = uuid.UUID(bytes=b"\x11" * 16)
    replica = Replica(host_id, 3)
    tablet = Tablet(-2, 5, (replica,), 258)
    length_8 = "00000008"  # the length of a value of 8 bytes
    tokens = f"{length_8} fffffffffffffffe {length_8} 0000000000000005"
    # A list of 36 (0x24) bytes with one replica, a tuple of 28 (0x1c) bytes: the host id of 16
    # bytes, and the shard 3.
    replicas = f"00000024 00000001 0000001c 00000010 {host_id.hex} 00000004 00000003"
    expected = bytes.fromhex(tokens + replicas)
    assert routing_payload(tablet, 1) == {"tablets-routing-v1": expected}
    version = bytes.fromhex(f"{length_8} 0000000000000102")
    assert routing_payload(tablet, 2) == {"tablets-routing-v2": expected + version}


def test_tables_are_in_the_schema(nodes: FakeCluster) -> None:
    """ScyllaDB's options are in the schema only for the keyspace "tb", which has tablets."""
    with RawClient(first_node(nodes)) as client:
        client.ask(startup())
        select = "SELECT * FROM system_schema.scylla_keyspaces USING TIMEOUT 2000ms"
        rows = wire.decode_rows(client.ask(query(select, 4)).body)
    assert [row["keyspace_name"] for row in rows] == [b"tb"]


def test_client_routes_are_selected_by_values_and_reported_by_events(nodes: FakeCluster) -> None:
    """Clients can select client routes by values, and get events about changed routes.

    A client route says through which address and ports a client reaches a host.
    """
    host_id, other_id = uuid.UUID(int=1), uuid.UUID(int=2)
    nodes.scylla.route("a", host_id, "proxy", 9001, 9101)
    nodes.scylla.route("a", other_id, "proxy", 9002)
    nodes.scylla.route("b", host_id, "proxy", 9003)
    select = (
        "SELECT host_id, port FROM system.client_routes WHERE connection_id IN (?) AND host_id = ?"
    )
    values = b"".join(len(value).to_bytes(4, "big") + value for value in (b"a", host_id.bytes))
    consistency, flags, value_count = b"\0\1", b"\1", b"\0\2"
    body = len(select).to_bytes(4, "big") + select.encode()
    body += consistency + flags + value_count + values
    with RawClient(first_node(nodes)) as client:
        client.start(4)
        answer = client.ask(envelope(4, Opcode.QUERY, body)).body
        (row,) = wire.decode_rows(answer)
        assert row == {"host_id": host_id.bytes, "port": (9001).to_bytes(4, "big")}
        register = (1).to_bytes(2, "big") + encoded_string("CLIENT_ROUTES_CHANGE")
        assert client.ask(envelope(4, Opcode.REGISTER, register)).opcode == Opcode.READY
        # A route without ports is a removal of the route.
        nodes.scylla.route("a", other_id)
        reader = BodyReader(client.envelope().body)
        assert reader.string() == "CLIENT_ROUTES_CHANGE"
        assert reader.string() == "UPDATE_NODES"
        assert reader.string_list() == ["a"]  # ids of connections
        assert reader.string_list() == [str(other_id)]  # ids of hosts
        answer = client.ask(query("SELECT host_id FROM system.client_routes", 4)).body
        assert len(wire.decode_rows(answer)) == 2


def test_events_that_a_node_does_not_know_are_refused() -> None:
    """A fake Cassandra node refuses to REGISTER for client routes, which only ScyllaDB has."""
    register = (1).to_bytes(2, "big") + encoded_string("CLIENT_ROUTES_CHANGE")
    with FakeNode(max_version=4) as node, RawClient(node) as client:
        client.start(4)
        assert client.ask(envelope(4, Opcode.REGISTER, register)).opcode == Opcode.ERROR


def test_replicas_wrap_around_the_ring() -> None:
    """The replicas of tokens near the end of the ring are its first hosts.

    The hosts 0, 1 and 2 have the tokens 0, 100 and 200. Each token has two replicas. After the last
    token of the ring comes its first token.
    """
    members = [Member(uuid.UUID(int=number), 2, 0, [number * 100]) for number in range(3)]
    placement = Placement(lambda: members)
    placement.add_keyspace("ks", replication_factor=2)

    def hosts_of(token: int) -> list[int]:
        replicas = placement.replicas_of("ks", "t", token) or ()
        return [replica.host_id.int for replica in replicas]

    assert hosts_of(-5) == [0, 1]
    assert hosts_of(0) == [0, 1]
    assert hosts_of(1) == [1, 2]
    assert hosts_of(100) == [1, 2]
    assert hosts_of(199) == [2, 0]
    assert hosts_of(201) == [0, 1]
    assert placement.replicas_of("unknown", "t", 0) is None


def test_a_cluster_of_cassandra_nodes_has_no_attribute_scylla() -> None:
    """The attribute `scylla` of a cluster of Cassandra nodes raises TypeError."""
    with FakeCluster(1) as cluster:
        assert type(cluster[0]) is FakeNode
        with pytest.raises(TypeError):
            cluster.scylla  # noqa: B018
