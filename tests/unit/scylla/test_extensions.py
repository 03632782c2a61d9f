"""Test ScyllaDB's protocol extensions, and the maintenance socket.

The extensions are for lightweight transactions, tablets, rate limits and metadata ids.
"""

from __future__ import annotations

import datetime
import os
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from cassandra import ConfigurationException, ConsistencyLevel, OperationType, RateLimitReached
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile, Session
from cassandra.connection import UnixSocketEndPoint
from cassandra.policies import AdaptivePolicy, RoundRobinPolicy, TokenAwarePolicy
from cassandra.query import BatchStatement
from cassandra.testing.fake import FakeCluster, Opcode, Scylla, rate_limited, rows, schema_change
from cassandra.testing.fake.tokens import token_of
from tests.proxies import Proxy
from tests.unit.engine.pools.test_shards_on_nodes import (
    TABLETS,
    VNODES,
    all_connected,
    check_arrivals,
)
from tests.waiting import until

SELECT = "SELECT v FROM {}.t WHERE k = ?"
INSERT = "INSERT INTO {}.t (k, v) VALUES (?, 'x')"


@pytest.fixture
def nodes() -> Iterator[FakeCluster]:
    """Yield three fake ScyllaDB nodes, with 7, 5 and 8 shards, and two keyspaces.

    Each keyspace has the table t; one of them uses tablets.
    """
    with FakeCluster(3, scylla=Scylla([7, 5, 8])) as running:
        scylla = running.scylla
        scylla.keyspace(VNODES, replication_factor=3)
        scylla.table(VNODES, "t")
        scylla.keyspace(TABLETS, replication_factor=3, tablets=True)
        scylla.table(TABLETS, "t", tablets=8)
        yield running


def connected(nodes: FakeCluster, **settings: Any) -> Cluster:
    """Return an unconnected cluster object for the nodes."""
    return Cluster(nodes.contact_points, port=nodes.port, **settings)


@pytest.fixture
def session(nodes: FakeCluster) -> Iterator[Session]:
    """Yield a session that is connected to all nodes."""
    with connected(nodes) as cluster:
        yield cluster.connect(wait_for_all_pools=True)


def statements_by_node(nodes: FakeCluster, query: str) -> Counter[int]:
    """Return how often each node received this statement, by the node's index."""
    return Counter(index for index, node in enumerate(nodes.nodes) for _ in node.queries(query))


# -- lightweight transactions ----------------------------------------------------------------------


@pytest.mark.parametrize("keyspace", [VNODES, TABLETS])
@pytest.mark.parametrize("policy", [TokenAwarePolicy, AdaptivePolicy])
def test_lightweight_transactions_go_to_one_replica(
    nodes: FakeCluster, keyspace: str, policy: Any
) -> None:
    """All transactions on a key go to the same replica, while plain writes go to all replicas."""
    conditional_insert = INSERT.format(keyspace) + " IF NOT EXISTS"
    with connected(nodes, load_balancing_policy=policy(RoundRobinPolicy())) as cluster:
        session = cluster.connect(wait_for_all_pools=True)
        prepared = session.prepare(conditional_insert)
        plain = session.prepare(INSERT.format(keyspace))
        assert prepared.is_lwt()
        assert prepared.bind((1,)).is_lwt()
        assert not plain.is_lwt()
        # If the table has tablets, the driver now learns the replicas.
        session.execute(plain, (1,))
        for node in nodes.nodes:
            node.forget_requests()
        for _ in range(60):
            session.execute(prepared, (1,))
            session.execute(plain, (1,))
        # All 60 transactions reached one node, while the plain writes were spread over all three
        # nodes.
        assert list(statements_by_node(nodes, conditional_insert).values()) == [60]
        assert len(statements_by_node(nodes, INSERT.format(keyspace))) == 3


def test_serial_reads_go_to_one_replica(nodes: FakeCluster) -> None:
    """Reads of a key with a serial consistency level all go to the same replica."""
    query = SELECT.format(VNODES)
    profiles = {
        EXEC_PROFILE_DEFAULT: ExecutionProfile(TokenAwarePolicy(RoundRobinPolicy())),
        "serial": ExecutionProfile(
            TokenAwarePolicy(RoundRobinPolicy()),
            consistency_level=ConsistencyLevel.LOCAL_SERIAL,
        ),
    }
    with connected(nodes, execution_profiles=profiles) as cluster:
        session = cluster.connect(wait_for_all_pools=True)
        prepared = session.prepare(query)
        # The serial level may come from the execution profile, or from the statement. Both kinds of
        # reads go to the same replica.
        for _ in range(60):
            session.execute(prepared, (1,), execution_profile="serial")
        (only_node,) = statements_by_node(nodes, query)
        statement = prepared.bind((1,))
        statement.consistency_level = ConsistencyLevel.SERIAL
        for _ in range(60):
            session.execute(statement)
        assert statements_by_node(nodes, query) == {only_node: 120}
        # Other reads are spread over all replicas.
        for _ in range(60):
            session.execute(prepared, (1,))
        assert len(statements_by_node(nodes, query)) == 3


@pytest.mark.parametrize("version", [3, 4])
def test_on_cassandra_is_lwt_looks_at_the_query(version: int) -> None:
    """Cassandra does not mark transactions, so `is_lwt` finds the IF in the query string."""
    query = "UPDATE ks.t SET v = ? WHERE k = ? IF v = 'if'"
    with (
        FakeCluster(1) as cassandra,
        Cluster(cassandra.contact_points, port=cassandra.port, protocol_version=version) as cluster,
    ):
        session = cluster.connect()
        assert session.prepare(query).is_lwt()
        assert not session.prepare("SELECT v FROM ks.t WHERE k = ?").is_lwt()


def test_a_batch_of_a_prepared_transaction_is_a_transaction(session: Session) -> None:
    prepared = session.prepare(INSERT.format(VNODES) + " IF NOT EXISTS")
    batch = BatchStatement()
    batch.add_many(prepared, [(1,), (2,)])
    assert batch.is_lwt()


# -- version 3 -------------------------------------------------------------------------------------


def test_with_version_3_routing_keys_come_from_the_schema(nodes: FakeCluster) -> None:
    """With protocol version 3, routing keys come from the schema, and requests reach their shard.

    Before version 4, the response to PREPARE does not name the columns of the partition key. The
    driver finds them among the bind markers by the schema.
    """
    with connected(nodes, protocol_version=3) as cluster:
        session = cluster.connect(wait_for_all_pools=True)
        until(lambda: all_connected(cluster))
        prepared = session.prepare(SELECT.format(VNODES))
        assert prepared.routing_key_indexes == [0]
        for key in range(200):
            session.execute(prepared, (key,))
        check_arrivals(nodes, 200)


# -- tablets ---------------------------------------------------------------------------------------


def test_ranges_of_a_scan_do_not_cross_tablets(nodes: FakeCluster, session: Session) -> None:
    ranges = session.scan(f"{TABLETS}.t", splits=11).token_ranges()
    # There are 8 tablets. Each tablet is read in two ranges, because 11 splits were requested.
    assert len(ranges) == 16
    # Together, the ranges contain all tokens. No range contains its own start.
    assert (ranges[0].start, ranges[-1].end) == (-(2**63), 2**63 - 1)
    for token_range in ranges:
        first = nodes.scylla.placement.tablet_of(TABLETS, "t", token_range.start + 1)
        assert first is not None
        assert first == nodes.scylla.placement.tablet_of(TABLETS, "t", token_range.end)


def learn_tablets(session: Session, keyspace: str = TABLETS, keys: int = 200) -> Any:
    """Read so many keys that the driver learns all tablets; return the driver's tablet map."""
    prepared = session.prepare(SELECT.format(keyspace))
    for key in range(keys):
        session.execute(prepared, (key,))
    return session.cluster.metadata.tablets


def test_only_the_newest_version_of_tablets_is_negotiated(nodes: FakeCluster) -> None:
    """If a node offers two versions of the tablets extension, the driver requests the newer."""
    for version in (1, 2):
        nodes.scylla.tablets_version = version
        with connected(nodes) as cluster:
            cluster.connect()
            # With `tablets_version` 2, the node offers both versions.
            options = next(
                connection.options for connection in nodes[0].connections if connection.started
            )
            assert ("TABLETS_ROUTING_V1" in options) is (version == 1)
            assert ("TABLETS_ROUTING_V2_EXPERIMENTAL_V2" in options) is (version == 2)


def test_metrics_count_tablet_hits_and_misses(nodes: FakeCluster) -> None:
    """The metrics count requests for known and unknown tablets, only in tables with tablets."""
    with connected(nodes, metrics_enabled=True) as cluster:
        session = cluster.connect(wait_for_all_pools=True)
        learn_tablets(session, VNODES)
        assert cluster.metrics is not None
        stats = cluster.metrics.get_stats()
        assert (stats["tablet_hits"], stats["tablet_misses"]) == (0, 0)
        learn_tablets(session)
        stats = cluster.metrics.get_stats()
        assert stats["tablet_hits"] + stats["tablet_misses"] == 200
        # The driver misses each of the 8 tablets before it learns the tablet. It may miss a tablet
        # several times, because it learns a tablet only from a request that reaches a wrong node or
        # shard.
        assert 8 <= stats["tablet_misses"] < 20


@pytest.mark.parametrize(
    "event",
    [
        ("UPDATED", "TABLE", TABLETS, "t"),
        ("DROPPED", "TABLE", TABLETS, "t"),
        ("DROPPED", "KEYSPACE", TABLETS),
    ],
)
def test_tablets_are_forgotten_when_their_table_changes(
    nodes: FakeCluster, session: Session, event: tuple[str, ...]
) -> None:
    tablets = learn_tablets(session)
    assert tablets.count == 8
    for node in nodes.nodes:
        node.send_event("SCHEMA_CHANGE", *event)
    until(lambda: tablets.count == 0)


def test_tablets_are_forgotten_when_a_host_leaves(nodes: FakeCluster, session: Session) -> None:
    tablets = learn_tablets(session)
    removed_node = nodes[2]
    nodes.remove_node(removed_node)
    # The removed node had a replica of each tablet, so the driver forgets all tablets.
    until(lambda: tablets.count == 0)


def test_tablets_are_forgotten_after_a_ddl_statement(nodes: FakeCluster, session: Session) -> None:
    nodes.prime(f"ALTER TABLE {TABLETS}.t", schema_change("UPDATED", "TABLE", TABLETS, "t"))
    tablets = learn_tablets(session)
    session.execute(f"ALTER TABLE {TABLETS}.t")
    assert tablets.count == 0


def test_requests_go_to_the_leader_of_a_tablet(nodes: FakeCluster) -> None:
    nodes.scylla.tablets_version = 2
    nodes.scylla.keyspace("sc", replication_factor=3, tablets=True, with_leaders=True)
    nodes.scylla.table("sc", "t", tablets=4)
    with connected(nodes) as cluster:
        session = cluster.connect(wait_for_all_pools=True)
        prepared = session.prepare(SELECT.format("sc"))
        for key in range(100):
            session.execute(prepared, (key,))
        last_of_first_round = nodes.requests[-1].number
        for key in range(100):
            session.execute(prepared, (key,))
        # Check only the requests of the second round, when the driver knows all tablets.
        for request in nodes.queries(SELECT.format("sc")):
            if request.number > last_of_first_round:
                bound = request.values[0]
                assert isinstance(bound, bytes)
                tablet = nodes.scylla.placement.tablet_of("sc", "t", token_of(bound))
                assert tablet is not None
                # The first replica of each tablet is its leader.
                assert request.connection.node.host_id == tablet.replicas[0].host_id


def test_tablets_are_read_from_answers_with_warnings_and_payloads(
    nodes: FakeCluster, session: Session
) -> None:
    """A tablet is also read from a response that has warnings or another payload.

    Such a response is decoded by the general code, not by the short code for plain results.
    """
    query = SELECT.format(TABLETS)
    answer = rows([("v", "text")], [["x"]]).having(["careful"], custom_payload={"own": b"1"})
    nodes.prime(query, answer)
    prepared = session.prepare(query)
    tablets = session.cluster.metadata.tablets
    results = [session.execute(prepared, (key,)) for key in range(100)]
    assert tablets.count == 8
    for result in results:
        future = result.response_future
        assert future.warnings == ["careful"]
        assert future.custom_payload is not None
        assert future.custom_payload["own"] == b"1"


def test_sessions_of_a_cluster_share_the_tablets(nodes: FakeCluster, session: Session) -> None:
    """A second session of a cluster uses the tablets that the first session has learned."""
    learn_tablets(session)
    nodes.scylla.forget_arrivals()
    other = session.cluster.connect(wait_for_all_pools=True)
    until(lambda: all_connected(session.cluster))
    learn_tablets(other)
    # No response described a tablet, so the new session knew all tablets from its first request on.
    assert nodes.scylla.arrivals.payloads == 0


def test_without_the_schema_tablets_are_used(nodes: FakeCluster) -> None:
    """Requests reach their shard by tablets although the driver reads neither schema nor tokens."""
    with connected(nodes, schema_metadata_enabled=False, token_metadata_enabled=False) as cluster:
        session = cluster.connect(wait_for_all_pools=True)
        until(lambda: all_connected(cluster))
        learn_tablets(session)
        nodes.scylla.forget_arrivals()
        learn_tablets(session)
        check_arrivals(nodes, 200)


# -- other extensions ------------------------------------------------------------------------------


def test_a_rate_limit_error_is_raised_without_a_retry(nodes: FakeCluster, session: Session) -> None:
    query = INSERT.format(VNODES)
    nodes.prime(query, rate_limited(op_type=1, rejected_by_coordinator=True))
    prepared = session.prepare(query)
    with pytest.raises(RateLimitReached) as caught:
        session.execute(prepared, (1,))
    assert isinstance(caught.value, ConfigurationException)
    assert caught.value.op_type == OperationType.Write
    assert caught.value.rejected_by_coordinator is True
    # The retry policy is not called, so there is only one request.
    assert len(nodes.queries(query)) == 1


def test_metadata_ids_are_used_with_version_4(nodes: FakeCluster, session: Session) -> None:
    """With the extension for metadata ids, version 4 skips known metadata, as version 5 does."""
    query = SELECT.format(VNODES)
    prepared = session.prepare(query)
    assert prepared.result_metadata_id
    session.execute(prepared, (1,))
    assert nodes.queries(query)[-1].skip_metadata
    old_id = prepared.result_metadata_id
    nodes.prime(query, rows([("v", "text"), ("w", "int")], [["a", 1]]))
    assert session.execute(prepared, (1,)).one() == ("a", 1)
    assert prepared.result_metadata_id != old_id
    session.execute(prepared, (1,))
    assert nodes.queries(query)[-1].result_metadata_id == prepared.result_metadata_id


@pytest.mark.parametrize(
    ("settings", "timeout_clause"),
    [
        ({"metadata_request_timeout": datetime.timedelta(milliseconds=1500)}, "1500ms"),
        ({"metadata_request_timeout": 1.5}, "1500ms"),
        ({"control_connection_timeout": 3}, "3000ms"),
        ({"control_connection_timeout": None}, None),
        ({"metadata_request_timeout": 0}, None),
    ],
)
def test_schema_queries_have_using_timeout(
    nodes: FakeCluster, settings: dict[str, Any], timeout_clause: str | None
) -> None:
    """Schema queries to ScyllaDB have USING TIMEOUT with the configured time in milliseconds.

    Without `metadata_request_timeout`, the time is `control_connection_timeout`. If the time is 0
    or None, the queries have no such clause.
    """
    with connected(nodes, **settings) as cluster:
        cluster.connect()
        queries = [
            request.query or "" for request in nodes.requests if request.opcode == Opcode.QUERY
        ]
        schema_queries = [query for query in queries if "system_schema" in query]
        assert schema_queries
        for query in schema_queries:
            assert query.partition(" USING TIMEOUT ")[2] == (timeout_clause or "")


def test_startup_has_the_drivers_name_and_version(nodes: FakeCluster, session: Session) -> None:
    options = next(connection.options for connection in nodes[0].connections if connection.started)
    assert options["DRIVER_NAME"]
    assert options["DRIVER_VERSION"]


def test_a_cluster_can_connect_to_the_maintenance_socket(nodes: FakeCluster, tmp_path: Any) -> None:
    """A cluster can connect to a node's Unix socket for maintenance, and execute statements."""
    path = os.path.join(tmp_path, "cql.m")
    node = nodes[0]
    with Proxy(node, path=path):
        policy = TokenAwarePolicy(RoundRobinPolicy())
        with Cluster([UnixSocketEndPoint(path)], load_balancing_policy=policy) as cluster:
            session = cluster.connect(wait_for_all_pools=True)
            hosts = {host.address for host in cluster.metadata.all_hosts()}
            assert path in hosts
            host = next(host for host in cluster.metadata.all_hosts() if host.address == path)
            prepared = session.prepare(SELECT.format(VNODES))
            session.execute(prepared, (1,), host=host)
            assert node.queries(SELECT.format(VNODES))
            # A maintenance socket has no shard-aware port, so the node chooses the shard of each
            # connection. The driver still knows the shards.
            assert host.sharding_info is not None
