"""The fake ScyllaDB node on the wire: shards, ports, tablets, bind markers and metadata ids."""

from __future__ import annotations

import socket
import uuid
from collections.abc import Iterator

import pytest

from cassandra.testing import wire
from cassandra.testing.fake import FakeCluster, FakeNode, Opcode, Scylla, ScyllaNode, rate_limited
from cassandra.testing.fake.placement import Member, Placement, Replica, Tablet, routing_payload
from cassandra.testing.fake.primitives import BodyReader
from cassandra.testing.fake.tokens import shard_of, token_of

from .client import RawClient, envelope, query

V2 = "TABLETS_ROUTING_V2_EXPERIMENTAL_V2"


def short(text: str) -> bytes:
    return len(text).to_bytes(2, "big") + text.encode()


def startup(*options: str) -> bytes:
    pairs = [("CQL_VERSION", "3.0.0"), *((option, "") for option in options)]
    body = len(pairs).to_bytes(2, "big") + b"".join(short(k) + short(v) for k, v in pairs)
    return envelope(4, Opcode.STARTUP, body)


def supported(client: RawClient) -> dict[str, list[str]]:
    reader = BodyReader(client.ask(envelope(4, Opcode.OPTIONS, b"")).body)
    return {reader.string(): reader.string_list() for _ in range(reader.short())}


def prepare(client: RawClient, text: str) -> tuple[bytes, bytes]:
    """Prepare a statement without metadata ids, and return its id and the rest of the response."""
    body = client.ask(
        envelope(4, Opcode.PREPARE, len(text).to_bytes(4, "big") + text.encode())
    ).body
    reader = BodyReader(body[4:])
    return reader.short_bytes(), reader.rest()


def execute(query_id: bytes, key: bytes, block: int | None = None) -> bytes:
    body = len(query_id).to_bytes(2, "big") + query_id + b"\0\1\1\0\1"
    body += len(key).to_bytes(4, "big") + key
    return envelope(4, Opcode.EXECUTE, body + (b"" if block is None else bytes([block])))


class FromPort(RawClient):
    """A client that connects from a local port by which the node assigns the connection to
    `shard`.
    """

    def __init__(self, node: ScyllaNode, shard: int) -> None:
        # ScyllaDB assigns a connection to shard `port % shards`, where `port` is the client's.
        for port in range(50_000 + (shard - 50_000) % node.shards, 65_536, node.shards):
            try:
                self._socket = socket.create_connection(
                    (node.address, node.shard_aware_port), 5, source_address=("", port)
                )
            except OSError:
                continue
            return
        raise AssertionError("no port is free")


def first(cluster: FakeCluster) -> ScyllaNode:
    node = cluster[0]
    assert isinstance(node, ScyllaNode)
    return node


@pytest.fixture
def nodes() -> Iterator[FakeCluster]:
    with FakeCluster(3, scylla=Scylla(shards=[7, 5, 8])) as running:
        running.scylla.keyspace("vn")
        running.scylla.table("vn", "t")
        running.scylla.keyspace("tb", replication_factor=2, tablets=True)
        running.scylla.table("tb", "t", tablets=4)
        yield running


@pytest.mark.parametrize(
    ("key", "token"),
    # Tokens that are known from Cassandra's variant of the Murmur3 hash.
    [(b"", 0), (b"123", -7468325962851647638), (b"\x00\xff\x10\xfa\x99" * 10, 5837342703291459765)],
)
def test_tokens(key: bytes, token: int) -> None:
    """The token of each key is the known one."""
    assert token_of(key) == token


def test_shards_of_tokens() -> None:
    """The ring is divided evenly among the shards."""
    assert [shard_of(token, 4, 0) for token in (-(1 << 63), -1, 0, (1 << 63) - 1)] == [0, 1, 2, 3]
    # With the 12 highest bits ignored, the shards repeat many times around the ring.
    assert shard_of(-(1 << 63) + (1 << 51), 4, 12) == 2
    assert shard_of(-(1 << 63) + (1 << 52), 4, 12) == 0


def test_supported_contains_the_shards(nodes: FakeCluster) -> None:
    for node, shards in zip(nodes.nodes, (7, 5, 8), strict=True):
        assert isinstance(node, ScyllaNode)
        with RawClient(node) as client, RawClient(node) as second_client:
            options = supported(client)
            assert options["SCYLLA_NR_SHARDS"] == [str(shards)]
            assert options["SCYLLA_SHARD_AWARE_PORT"] == [str(node.shard_aware_port)]
            # On the ordinary port, the node assigns new connections to its shards in turn.
            assert options["SCYLLA_SHARD"] != supported(second_client)["SCYLLA_SHARD"]


def test_the_source_port_chooses_the_shard(nodes: FakeCluster) -> None:
    for shard in (0, 3, 6):
        with FromPort(first(nodes), shard) as client:
            assert supported(client)["SCYLLA_SHARD"] == [str(shard)]
    # Imitate a NAT gateway, which changes the client's port.
    nodes.scylla.rewrites_ports = True
    seen_shards = set()
    for _ in range(12):
        with FromPort(first(nodes), 3) as client:
            seen_shards.update(supported(client)["SCYLLA_SHARD"])
    assert len(seen_shards) > 1


def test_a_node_comes_back_with_other_shards(nodes: FakeCluster) -> None:
    node = first(nodes)
    port = node.shard_aware_port
    node.stop()
    node.shards = 3
    node.start()
    assert node.shard_aware_port == port
    with FromPort(node, 2) as client:
        assert supported(client)["SCYLLA_NR_SHARDS"] == ["3"]


def test_arrivals_are_judged(nodes: FakeCluster) -> None:
    key = b"\0\0\0\1"
    (owner,) = nodes.scylla.placement.replicas_of("vn", "t", token_of(key)) or ()
    for node in nodes.nodes:
        assert isinstance(node, ScyllaNode)
        # Send the request twice to each node: to the shard that the owner has, and to another one.
        for shard in (owner.shard, (owner.shard + 1) % node.shards):
            if shard < node.shards:
                with FromPort(node, shard) as client:
                    client.ask(startup())
                    query_id, _ = prepare(client, "SELECT v FROM vn.t WHERE k = ?")
                    assert client.ask(execute(query_id, key)).opcode == Opcode.RESULT
    arrivals = nodes.scylla.arrivals
    assert (arrivals.right, arrivals.wrong_shard) == (1, 1)
    # All other requests came to nodes that are not replicas.
    assert arrivals.wrong_node == arrivals.counted - 2 > 0
    nodes.scylla.forget_arrivals()
    assert nodes.scylla.arrivals.counted == 0


def payload_of(client: RawClient, request: bytes) -> dict[str, bytes | None]:
    _, flags, _, _, body = client.ask(request)
    return BodyReader(body).bytes_map() if flags & 4 else {}


def test_v1_sends_the_tablet_only_for_requests_at_a_wrong_shard(nodes: FakeCluster) -> None:
    key = b"\0\0\0\1"
    tablet = nodes.scylla.placement.tablet_of("tb", "t", token_of(key))
    assert tablet is not None
    replica = tablet.replicas[0]
    node = next(member for member in nodes.scylla.nodes if member.host_id == replica.host_id)
    wrong_shard = next(
        shard_number
        for shard_number in range(node.shards)
        if Replica(node.host_id, shard_number) not in tablet.replicas
    )
    for options, shard, expected in [
        (["TABLETS_ROUTING_V1"], replica.shard, {}),
        (["TABLETS_ROUTING_V1"], wrong_shard, routing_payload(tablet, 1)),
        ([], wrong_shard, {}),
    ]:
        with FromPort(node, shard) as client:
            client.ask(startup(*options))
            query_id, _ = prepare(client, "SELECT v FROM tb.t WHERE k = ?")
            assert payload_of(client, execute(query_id, key)) == expected


def test_v2_sends_the_tablet_to_clients_with_another_version(nodes: FakeCluster) -> None:
    nodes.scylla.tablets_version = 2
    key = b"\0\0\0\1"
    tablet = nodes.scylla.placement.tablet_of("tb", "t", token_of(key))
    assert tablet is not None
    with RawClient(first(nodes)) as client:
        assert V2 in supported(client)
        client.ask(startup(V2))
        query_id, _ = prepare(client, "SELECT v FROM tb.t WHERE k = ?")
        # The client knows a version of the tablet. With each request it sends one of the version's
        # 16 blocks of four bits, and the index of that block.
        for index in range(16):
            version_block = tablet.version >> 4 * index & 0xF
            assert payload_of(client, execute(query_id, key, index << 4 | version_block)) == {}
            payload = payload_of(client, execute(query_id, key, index << 4 | version_block ^ 1))
            assert payload == routing_payload(tablet, 2)
        nodes.scylla.placement.move("tb", "t", 4)
        moved_tablet = nodes.scylla.placement.tablet_of("tb", "t", token_of(key))
        assert moved_tablet is not None
        assert moved_tablet != tablet
    # If the negotiated version byte is missing, the body is malformed.
    with RawClient(first(nodes)) as client:
        client.ask(startup(V2))
        query_id, _ = prepare(client, "SELECT v FROM tb.t WHERE k = ?")
        assert client.ask(execute(query_id, key)).opcode == Opcode.ERROR


def test_the_payloads_bytes() -> None:
    """The payload contains the bytes of the tablet; from version 2 on, also the tablet's
    version.
    """
    first_id = b"\x11" * 16
    tablet = Tablet(-2, 5, (Replica(uuid.UUID(bytes=first_id), 3),), 258)
    # This is the length of a value of 8 bytes.
    length_8 = "00000008"
    expected = bytes.fromhex(
        f"{length_8} fffffffffffffffe {length_8} 0000000000000005"
        f"00000024 00000001 0000001c 00000010 {first_id.hex()} 00000004 00000003"
    )
    assert routing_payload(tablet, 1) == {"tablets-routing-v1": expected}
    version = bytes.fromhex(f"{length_8} 0000000000000102")
    assert routing_payload(tablet, 2) == {"tablets-routing-v2": expected + version}


def test_prepared_marks_transactions_if_negotiated(nodes: FakeCluster) -> None:
    insert = "INSERT INTO vn.t (k, v) VALUES (?, ?)"
    are_marked = []
    for options in ([], ["SCYLLA_LWT_ADD_METADATA_MARK"]):
        with RawClient(first(nodes)) as client:
            client.ask(startup(*options))
            are_marked += [
                # In the flags of the result, the highest bit marks a lightweight transaction.
                bool(prepare(client, text)[1][0] & 0x80)
                for text in (insert, f"{insert} IF NOT EXISTS")
            ]
    assert are_marked == [False, False, False, True]


def test_statements_are_described_by_the_tables(nodes: FakeCluster) -> None:
    with RawClient(first(nodes)) as client:
        client.ask(startup())
        _, rest = prepare(client, "INSERT INTO vn.t (v, k) VALUES (?, ?)")
    reader = BodyReader(rest)
    assert (reader.int32(), reader.int32(), reader.int32(), reader.short()) == (1, 2, 1, 1)
    assert [reader.string() for _ in range(3)] == ["vn", "t", "v"]


def test_rate_limits(nodes: FakeCluster) -> None:
    """The rate limit error has a code of its own only if the client has negotiated it."""
    nodes.prime("SELECT 1", rate_limited(op_type=1, rejected_by_coordinator=True))
    codes = []
    for options in ([], ["SCYLLA_RATE_LIMIT_ERROR"]):
        with RawClient(first(nodes)) as client:
            client.ask(startup(*options))
            body = client.ask(query("SELECT 1", 4)).body
            codes.append(int.from_bytes(body[:4], "big"))
    # The first code is OVERLOADED, since nothing was negotiated. The second one is the code that
    # the node announced.
    assert codes == [0x2300, 0x4321]
    # These bytes are op_type and rejected_by_coordinator.
    assert body.endswith(b"\x01\x01")


def test_tables_are_in_the_schema(nodes: FakeCluster) -> None:
    with RawClient(first(nodes)) as client:
        client.ask(startup())
        text = "SELECT * FROM system_schema.scylla_keyspaces USING TIMEOUT 2000ms"
        rows = wire.decode_rows(client.ask(query(text, 4)).body)
    assert [row["keyspace_name"] for row in rows] == [b"tb"]


def test_client_routes_are_selected_by_values_and_reported_by_events(nodes: FakeCluster) -> None:
    host_id, other_id = uuid.UUID(int=1), uuid.UUID(int=2)
    nodes.scylla.route("a", host_id, "proxy", 9001, 9101)
    nodes.scylla.route("a", other_id, "proxy", 9002)
    nodes.scylla.route("b", host_id, "proxy", 9003)
    text = (
        "SELECT host_id, port FROM system.client_routes WHERE connection_id IN (?) AND host_id = ?"
    )
    values = b"".join(len(value).to_bytes(4, "big") + value for value in (b"a", host_id.bytes))
    body = len(text).to_bytes(4, "big") + text.encode() + b"\0\1\1\0\2" + values
    with RawClient(first(nodes)) as client:
        client.start(4)
        answer = client.ask(envelope(4, Opcode.QUERY, body)).body
        (row,) = wire.decode_rows(answer)
        assert row == {"host_id": host_id.bytes, "port": (9001).to_bytes(4, "big")}
        register = (1).to_bytes(2, "big") + short("CLIENT_ROUTES_CHANGE")
        assert client.ask(envelope(4, Opcode.REGISTER, register)).opcode == Opcode.READY
        # Without ports, the route is removed.
        nodes.scylla.route("a", other_id)
        reader = BodyReader(client.envelope().body)
        assert (reader.string(), reader.string()) == ("CLIENT_ROUTES_CHANGE", "UPDATE_NODES")
        assert (reader.string_list(), reader.string_list()) == (["a"], [str(other_id)])
        answer = client.ask(query("SELECT host_id FROM system.client_routes", 4)).body
        assert len(wire.decode_rows(answer)) == 2


def test_events_that_a_node_does_not_know_are_refused() -> None:
    register = (1).to_bytes(2, "big") + short("CLIENT_ROUTES_CHANGE")
    with FakeNode(max_version=4) as node, RawClient(node) as client:
        client.start(4)
        assert client.ask(envelope(4, Opcode.REGISTER, register)).opcode == Opcode.ERROR


def test_replicas_wrap_around_the_ring() -> None:
    members = [Member(uuid.UUID(int=number), 2, 0, [number * 100]) for number in range(3)]
    placement = Placement(lambda: members)
    placement.add_keyspace("ks", 2)
    # The three members have the tokens 0, 100 and 200. Each token has two replicas.
    hosts = [
        [replica.host_id.int for replica in placement.replicas_of("ks", "t", token) or ()]
        for token in (-5, 0, 1, 100, 199, 201)
    ]
    assert hosts == [[0, 1], [0, 1], [1, 2], [1, 2], [2, 0], [0, 1]]
    assert placement.replicas_of("unknown", "t", 0) is None


def test_a_cluster_of_cassandra_nodes_has_no_attribute_scylla() -> None:
    with FakeCluster(1) as plain:
        assert type(plain[0]) is FakeNode
        with pytest.raises(TypeError):
            plain.scylla  # noqa: B018
