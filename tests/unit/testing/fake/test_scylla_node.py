"""The bytes that a fake ScyllaDB node reads and writes: shards, ports, tablets and bind markers."""

from __future__ import annotations

from cassandra.testing.fake import ErrorCode, FakeCluster, Opcode, Scylla, ScyllaNode, rate_limited
from cassandra.testing.fake.placement import Replica, routing_payload
from cassandra.testing.fake.primitives import BodyReader
from cassandra.testing.fake.tokens import token_of

from .client import RawClient, query
from .scylla_client import (
    V2,
    FromPort,
    execute,
    first_node,
    nodes as nodes,
    prepare,
    startup,
    supported,
)


def test_supported_contains_the_shards(nodes: FakeCluster) -> None:
    """The response to OPTIONS has the sharding parameters of the connection.

    They are the number of shards, the shard of the connection, and the shard-aware port.
    """
    for node, shards in zip(nodes.nodes, (7, 5, 8), strict=True):
        assert isinstance(node, ScyllaNode)
        with RawClient(node) as client, RawClient(node) as second_client:
            options = supported(client)
            assert options["SCYLLA_NR_SHARDS"] == [str(shards)]
            assert options["SCYLLA_SHARD_AWARE_PORT"] == [str(node.shard_aware_port)]
            # On the ordinary port, the node assigns new connections to its shards in turn.
            assert options["SCYLLA_SHARD"] != supported(second_client)["SCYLLA_SHARD"]


def test_the_source_port_chooses_the_shard(nodes: FakeCluster) -> None:
    """On the shard-aware port, the client's port decides which shard serves the connection.

    Behind a NAT gateway, which changes the client's port, the shard is not the expected one.
    """
    for shard in (0, 3, 6):
        with FromPort(first_node(nodes), shard) as client:
            assert supported(client)["SCYLLA_SHARD"] == [str(shard)]
    nodes.scylla.rewrites_ports = True
    seen_shards = set()
    for _ in range(12):
        with FromPort(first_node(nodes), 3) as client:
            seen_shards.update(supported(client)["SCYLLA_SHARD"])
    assert len(seen_shards) > 1


def test_a_node_comes_back_with_other_shards(nodes: FakeCluster) -> None:
    """A stopped node may start again with another number of shards.

    Its shard-aware port stays the same.
    """
    node = first_node(nodes)
    port = node.shard_aware_port
    node.stop()
    node.shards = 3
    node.start()
    assert node.shard_aware_port == port
    with FromPort(node, 2) as client:
        assert supported(client)["SCYLLA_NR_SHARDS"] == ["3"]


def test_arrivals_are_judged(nodes: FakeCluster) -> None:
    """A fake cluster counts requests that reach the right shard, a wrong shard or a wrong node.

    With these counts, tests check how a client routes its requests.
    """
    key = b"\0\0\0\1"
    (owner,) = nodes.scylla.placement.replicas_of("vn", "t", token_of(key)) or ()
    for node in nodes.nodes:
        assert isinstance(node, ScyllaNode)
        # Send the request twice to each node: to the shard number of the owner, and to the next
        # shard.
        for shard in (owner.shard, (owner.shard + 1) % node.shards):
            if shard < node.shards:
                with FromPort(node, shard) as client:
                    client.ask(startup())
                    query_id, _ = prepare(client, "SELECT v FROM vn.t WHERE k = ?")
                    assert client.ask(execute(query_id, key)).opcode == Opcode.RESULT
    arrivals = nodes.scylla.arrivals
    assert arrivals.right == 1
    assert arrivals.wrong_shard == 1
    # All other requests reached nodes that are not replicas.
    assert arrivals.wrong_node == arrivals.counted - 2
    assert arrivals.wrong_node > 0
    nodes.scylla.forget_arrivals()
    assert nodes.scylla.arrivals.counted == 0


def payload_of(client: RawClient, request: bytes) -> dict[str, bytes | None]:
    """Send a request, and return the custom payload of its response, which may be empty."""
    _, flags, _, _, body = client.ask(request)
    custom_payload_flag = 0x04
    return BodyReader(body).bytes_map() if flags & custom_payload_flag else {}


def test_v1_sends_the_tablet_only_for_requests_at_a_wrong_shard(nodes: FakeCluster) -> None:
    """With version 1 of the extension, only requests at a wrong shard get the tablet.

    Clients that have not negotiated the extension get no tablet.
    """
    key = b"\0\0\0\1"
    tablet = nodes.scylla.placement.tablet_of("tb", "t", token_of(key))
    assert tablet is not None
    replica = tablet.replicas[0]
    (node,) = (member for member in nodes.scylla.nodes if member.host_id == replica.host_id)
    # A node has at most one replica of a tablet, so any other shard is wrong.
    wrong_shard = (replica.shard + 1) % node.shards
    assert Replica(node.host_id, wrong_shard) not in tablet.replicas
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
    """With version 2, clients that know an outdated version of the tablet get the tablet.

    A client sends a part of the version that it knows with each request. The version has 16 blocks
    of four bits; the client sends one block, and its index.
    """
    nodes.scylla.tablets_version = 2
    key = b"\0\0\0\1"
    tablet = nodes.scylla.placement.tablet_of("tb", "t", token_of(key))
    assert tablet is not None
    with RawClient(first_node(nodes)) as client:
        assert V2 in supported(client)
        client.ask(startup(V2))
        query_id, _ = prepare(client, "SELECT v FROM tb.t WHERE k = ?")
        for index in range(16):
            right_block = tablet.version >> 4 * index & 0xF
            right_byte, wrong_byte = index << 4 | right_block, index << 4 | (right_block ^ 1)
            assert payload_of(client, execute(query_id, key, right_byte)) == {}
            payload = payload_of(client, execute(query_id, key, wrong_byte))
            assert payload == routing_payload(tablet, 2)
        nodes.scylla.placement.move("tb", "t", 4)
        moved_tablet = nodes.scylla.placement.tablet_of("tb", "t", token_of(key))
        assert moved_tablet is not None
        assert moved_tablet != tablet
    # If the negotiated version byte is missing, the body is malformed.
    with RawClient(first_node(nodes)) as client:
        client.ask(startup(V2))
        query_id, _ = prepare(client, "SELECT v FROM tb.t WHERE k = ?")
        assert client.ask(execute(query_id, key)).opcode == Opcode.ERROR


def test_prepared_marks_transactions_if_negotiated(nodes: FakeCluster) -> None:
    """If negotiated, the highest bit of the flags in PREPARED marks a lightweight transaction."""
    insert = "INSERT INTO vn.t (k, v) VALUES (?, ?)"

    def is_marked(client: RawClient, query: str) -> bool:
        _, rest = prepare(client, query)
        return bool(rest[0] & 0x80)

    with RawClient(first_node(nodes)) as client:
        client.ask(startup())
        assert not is_marked(client, insert)
        assert not is_marked(client, f"{insert} IF NOT EXISTS")
    with RawClient(first_node(nodes)) as client:
        client.ask(startup("SCYLLA_LWT_ADD_METADATA_MARK"))
        assert not is_marked(client, insert)
        assert is_marked(client, f"{insert} IF NOT EXISTS")


def test_statements_are_described_by_the_tables(nodes: FakeCluster) -> None:
    """The response to PREPARE has the bind markers and partition key that the table defines."""
    with RawClient(first_node(nodes)) as client:
        client.ask(startup())
        _, rest = prepare(client, "INSERT INTO vn.t (v, k) VALUES (?, ?)")
    reader = BodyReader(rest)
    assert reader.int32() == 1  # flags: one table for all bind markers
    assert reader.int32() == 2  # the number of bind markers
    assert reader.int32() == 1  # the number of partition key columns
    assert reader.short() == 1  # the bind marker of the partition key
    assert [reader.string() for _ in range(3)] == ["vn", "t", "v"]


def test_rate_limits(nodes: FakeCluster) -> None:
    """The rate limit error has its own error code only if the client has negotiated it."""
    nodes.prime("SELECT 1", rate_limited(op_type=1, rejected_by_coordinator=True))
    codes = []
    for options in ([], ["SCYLLA_RATE_LIMIT_ERROR"]):
        with RawClient(first_node(nodes)) as client:
            client.ask(startup(*options))
            body = client.ask(query("SELECT 1", 4)).body
            codes.append(int.from_bytes(body[:4], "big"))
    assert codes == [ErrorCode.CONFIG_ERROR, ErrorCode.RATE_LIMITED]
    op_type, rejected_by_coordinator = b"\x01", b"\x01"
    assert body.endswith(op_type + rejected_by_coordinator)


def test_the_rate_limit_error_has_the_announced_code() -> None:
    """The error has the code that SUPPORTED announces, also if a test chooses another code."""
    scylla = Scylla(2, rate_limit_code=0x5000)
    with FakeCluster(1, scylla=scylla) as nodes:
        nodes.prime("SELECT 1", rate_limited())
        with RawClient(first_node(nodes)) as client:
            assert supported(client)["SCYLLA_RATE_LIMIT_ERROR"] == [f"ERROR_CODE={0x5000}"]
            client.ask(startup("SCYLLA_RATE_LIMIT_ERROR"))
            assert client.ask(query("SELECT 1", 4)).body[:4] == (0x5000).to_bytes(4, "big")
