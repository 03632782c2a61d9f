"""The driver computes the same replicas as real servers, and sends requests to replicas.

The cluster has two data centres, east and west. While a node joins and leaves, no row is lost.
"""

from __future__ import annotations

import random
import re
import threading
from typing import Any

import pytest

from cassandra import ConsistencyLevel
from cassandra.auth import PlainTextAuthProvider
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile, Session
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.policies import (
    AdaptivePolicy,
    DCAwareRoundRobinPolicy,
    LoadBalancingPolicy,
    RoundRobinPolicy,
    TokenAwarePolicy,
)
from cassandra.testing import LocalCluster
from cassandra.testing.versions import parse_version
from tests.waiting import until

from . import conftest

pytestmark = [pytest.mark.integration, pytest.mark.long]

KEYSPACES = {
    "simple_one": "{'class': 'SimpleStrategy', 'replication_factor': 1}",
    "simple_two": "{'class': 'SimpleStrategy', 'replication_factor': 2}",
    "east_two": "{'class': 'NetworkTopologyStrategy', 'east': 2}",
    "both": "{'class': 'NetworkTopologyStrategy', 'east': 2, 'west': 1}",
    "more_than_nodes": "{'class': 'NetworkTopologyStrategy', 'east': 3, 'west': 3}",
}
# A line that ``nodetool describering`` prints: the first and the last token of a range, and the
# addresses of its replicas.
_RANGE = re.compile(r"TokenRange\(start_token:(-?\d+), end_token:(-?\d+), endpoints:\[([^\]]*)\]")


@pytest.fixture(scope="module", autouse=True)
def keyspaces(spread: LocalCluster) -> None:
    """Create the keyspaces, each with a table `t`."""
    with connect(spread) as cluster, cluster.connect() as session:
        for name, replication in KEYSPACES.items():
            session.execute(f"CREATE KEYSPACE {name} WITH replication = {replication}")
            session.execute(f"CREATE TABLE {name}.t (id text PRIMARY KEY, v int)")


def connect(local: LocalCluster, **settings: Any) -> Cluster:
    """Return a cluster with the login that the nodes require."""
    login = PlainTextAuthProvider(str(local.username), str(local.password))
    return conftest.connect(local, auth_provider=login, **settings)


def with_policy(local: LocalCluster, policy: LoadBalancingPolicy) -> Cluster:
    """Return a cluster whose default profile has this load balancing policy."""
    profile = ExecutionProfile(load_balancing_policy=policy, request_timeout=30.0)
    return connect(local, execution_profiles={EXEC_PROFILE_DEFAULT: profile})


def replica_addresses(cluster: Cluster, keyspace: str, key: bytes) -> list[str]:
    """Return the addresses of the replicas of a partition key, as the driver computes them."""
    return [host.address for host in cluster.metadata.get_replicas(keyspace, key)]


def assert_same_replicas_as_the_servers(
    local: LocalCluster, cluster: Cluster, key_count: int = 2
) -> None:
    """Compare the driver's replicas with the replicas that nodetool prints.

    The function compares all token ranges of all keyspaces, and some random keys.

    :param key_count: the number of random keys per keyspace.
    """
    token_map = cluster.metadata.token_map
    assert token_map is not None
    for keyspace in KEYSPACES:
        ranges = _RANGE.findall(local.nodetool(1, "describering", keyspace))
        assert len(ranges) == len(token_map.ring)
        for _, end, endpoints in ranges:
            owners = token_map.get_replicas(keyspace, token_map.token_class(int(end)))
            assert {host.address for host in owners} == set(endpoints.split(", ")), (keyspace, end)
    for keyspace in ("simple_two", "both"):
        for _ in range(key_count):
            key = f"key{random.randrange(1 << 40)}"
            server_replicas = local.nodetool(1, "getendpoints", keyspace, "t", key).split()
            driver_replicas = replica_addresses(cluster, keyspace, key.encode())
            if parse_version(local.version).line >= (6, 0):
                # Cassandra 6 lists the same replicas in another order.
                driver_replicas, server_replicas = sorted(driver_replicas), sorted(server_replicas)
            assert driver_replicas == server_replicas, (keyspace, key)


def assert_requests_reach_replicas(session: Session, keyspace: str, count: int = 100) -> None:
    """Insert `count` rows, and check that each request's coordinator is a replica of its row."""
    insert = session.prepare(f"INSERT INTO {keyspace}.t (id, v) VALUES (?, ?)")
    insert.consistency_level = ConsistencyLevel.ONE
    for number in range(count):
        bound = insert.bind((f"{keyspace}{number}", number))
        future = session.execute_async(bound)
        future.result()
        key = bound.routing_key
        assert key is not None
        replicas = session.cluster.metadata.get_replicas(keyspace, key)
        assert future.coordinator_host in replicas


def test_replicas_equal_those_that_nodetool_prints(spread: LocalCluster) -> None:
    with connect(spread) as cluster, cluster.connect():
        assert_same_replicas_as_the_servers(spread, cluster)


@pytest.mark.parametrize("keyspace", list(KEYSPACES))
def test_prepared_requests_reach_a_replica(spread: LocalCluster, keyspace: str) -> None:
    """The token-aware and the adaptive policy send a request to a replica of its partition."""
    for policy in (TokenAwarePolicy(RoundRobinPolicy()), AdaptivePolicy(RoundRobinPolicy())):
        with (
            with_policy(spread, policy) as cluster,
            cluster.connect(wait_for_all_pools=True) as session,
        ):
            assert_requests_reach_replicas(session, keyspace)


def test_the_coordinator_in_the_trace_is_a_replica(spread: LocalCluster) -> None:
    """The server's trace shows that the coordinator is the only replica, and wrote the row."""
    with (
        with_policy(spread, TokenAwarePolicy(RoundRobinPolicy())) as cluster,
        cluster.connect(wait_for_all_pools=True) as session,
    ):
        insert = session.prepare("INSERT INTO simple_one.t (id, v) VALUES (?, ?)")
        for number in range(10):
            bound = insert.bind((f"traced{number}", number))
            trace = session.execute(bound, trace=True).response_future.get_query_trace(max_wait=20)
            key = f"traced{number}".encode()
            assert str(trace.coordinator) in replica_addresses(cluster, "simple_one", key)
            # The row has only one replica, so the coordinator itself wrote the row. Other nodes can
            # have events too: the coordinator may read the role of the login from them.
            writers = {
                str(event.source)
                for event in trace.events
                if event.description == "Adding to t memtable"
            }
            assert writers == {str(trace.coordinator)}


def test_only_replicas_in_the_local_data_centre_are_used(spread: LocalCluster) -> None:
    """All coordinators are local, and the driver connects to no other data centre."""
    policy = TokenAwarePolicy(DCAwareRoundRobinPolicy("east"))
    with (
        with_policy(spread, policy) as cluster,
        cluster.connect(wait_for_all_pools=True) as session,
    ):
        select = session.prepare("SELECT v FROM both.t WHERE id = ?")
        coordinators = set()
        for number in range(60):
            future = session.execute_async(select, (f"k{number}",))
            future.result()
            coordinators.add(future.coordinator_host)
        assert {host.datacenter for host in coordinators if host is not None} == {"east"}
        assert len(coordinators) == 2
        assert {host.datacenter for host in session.get_pool_state()} == {"east"}


def test_replicas_follow_a_keyspace_that_is_created_altered_and_dropped(
    spread: LocalCluster,
) -> None:
    """After CREATE, ALTER and DROP KEYSPACE, the driver knows the new replicas.

    After a change by one of its own sessions, the driver knows them at once; after a change by
    another cluster's session, it knows them when the event has arrived.
    """
    with (
        with_policy(spread, TokenAwarePolicy(RoundRobinPolicy())) as cluster,
        cluster.connect(wait_for_all_pools=True) as session,
    ):
        session.execute(f"CREATE KEYSPACE fresh WITH replication = {KEYSPACES['simple_one']}")
        session.execute("CREATE TABLE fresh.t (id text PRIMARY KEY, v int)")
        assert_requests_reach_replicas(session, "fresh", count=30)
        assert len(cluster.metadata.get_replicas("fresh", b"key")) == 1
        with connect(spread) as other_cluster, other_cluster.connect() as other_session:
            other_session.execute(f"ALTER KEYSPACE fresh WITH replication = {KEYSPACES['both']}")
        until(lambda: len(cluster.metadata.get_replicas("fresh", b"key")) == 3)
        session.execute("DROP KEYSPACE fresh")
        assert cluster.metadata.get_replicas("fresh", b"key") == []


class Loader(threading.Thread):
    """A thread that writes rows until `stop` is called, and records which rows are acknowledged."""

    def __init__(self, session: Session) -> None:
        super().__init__(daemon=True)
        self.session = session
        self.acknowledged: list[str] = []
        self.failed: list[BaseException] = []
        self.ending = threading.Event()
        self.insert = session.prepare("INSERT INTO east_two.t (id, v) VALUES (?, ?)")
        # A joining node may refuse writes until it has the schema. Each row has two replicas, so a
        # quorum would need both; with ONE, writes succeed without the joining node.
        self.insert.consistency_level = ConsistencyLevel.ONE
        self.insert.is_idempotent = True

    def run(self) -> None:
        """Write rows until the loader is stopped, eight rows at a time."""
        number = 0
        while not self.ending.is_set():
            number += 8
            keys = [f"row{number + offset}" for offset in range(8)]
            futures = [(key, self.session.execute_async(self.insert, (key, 1))) for key in keys]
            for key, future in futures:
                try:
                    future.result()
                    self.acknowledged.append(key)
                except Exception as error:
                    self.failed.append(error)
            # Pause to limit the number of rows, because the test reads all rows back.
            self.ending.wait(0.1)

    def stop(self) -> None:
        """Stop the thread, and wait until it has ended."""
        self.ending.set()
        self.join(timeout=60)


@pytest.mark.longest
def test_no_row_is_lost_while_a_node_joins_and_leaves(spread: LocalCluster) -> None:
    """While a node joins and leaves, no write fails, and all written rows can be read.

    At each step, the driver knows the right replicas.
    """
    policy = TokenAwarePolicy(DCAwareRoundRobinPolicy("east"))
    with (
        with_policy(spread, policy) as cluster,
        cluster.connect(wait_for_all_pools=True) as session,
    ):
        loader = Loader(session)
        loader.start()
        try:
            added = spread.add_node("east", "rack1")
            until(lambda: cluster.metadata.get_host(added.address) is not None, seconds=60)
            until(lambda: len(session.get_pool_state()) == 3, seconds=60)
            assert_same_replicas_as_the_servers(spread, cluster)
            assert_requests_reach_replicas(session, "east_two")
            spread.decommission(added.number)
            until(lambda: cluster.metadata.get_host(added.address) is None, seconds=60)
            assert_same_replicas_as_the_servers(spread, cluster)
        finally:
            loader.stop()
        # Read every acknowledged row from all of its replicas.
        assert loader.failed == []
        assert len(loader.acknowledged) > 100
        select = session.prepare("SELECT v FROM east_two.t WHERE id = ?")
        select.consistency_level = ConsistencyLevel.ALL
        outcomes = execute_concurrent_with_args(
            session, select, [(key,) for key in loader.acknowledged]
        )
        for success, result in outcomes:
            assert success
            assert result.one() is not None
