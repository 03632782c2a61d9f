"""The fake ScyllaDB node on the wire: shards, ports, tablets, bind markers and metadata ids."""

from __future__ import annotations

from cassandra.testing.fake import ErrorCode, FakeCluster, Opcode, ScyllaNode, rate_limited
from cassandra.testing.fake.placement import Replica, routing_payload
from cassandra.testing.fake.primitives import BodyReader
from cassandra.testing.fake.tokens import token_of

from .client import RawClient, query
from .scylla_client import (
    V2,
    FromPort,
    execute,
    first,
    nodes as nodes,
    prepare,
    startup,
    supported,
)


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
    # The first code is that of a configuration error, since nothing was negotiated. The second one
    # is the code that the node announced.
    assert codes == [ErrorCode.CONFIG_ERROR, ErrorCode.RATE_LIMITED]
    # These bytes are op_type and rejected_by_coordinator.
    assert body.endswith(b"\x01\x01")
