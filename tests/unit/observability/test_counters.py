"""Test counters by host, and gauges of the state of a cluster."""

from __future__ import annotations

import ssl
import sys
import threading
from collections.abc import Iterator
from itertools import repeat
from types import SimpleNamespace
from typing import Any

import pytest

from cassandra import aio
from cassandra.auth import PlainTextAuthProvider
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile, NoHostAvailable
from cassandra.errors import OperationTimedOut, ReadTimeout
from cassandra.observability.counters import BUCKETS, ClusterGauges, Histogram, RequestCounters
from cassandra.observers import RequestObserver
from cassandra.policies import HostDistance, ReconnectionPolicy
from cassandra.query import SimpleStatement
from cassandra.testing.fake import (
    ErrorCode,
    FakeCluster,
    FakeNode,
    Opcode,
    error,
    hold,
    rows,
    silence,
)
from tests.unit.engine.faults import WAIT, AddressOrderPolicy
from tests.unit.observing import RetryOnce, observed_cluster
from tests.unit.security.certificates import DAY, Authority
from tests.unit.security.conftest import authority as authority
from tests.waiting import until

QUERY = "SELECT k FROM t"
COLUMNS = [("k", "int")]


def test_a_histogram_counts_durations_up_to_each_bound() -> None:
    histogram = Histogram((0.1, 1.0))
    for seconds in (0.05, 0.1, 0.5, 3.0):
        histogram.record(seconds)
    # A value that equals a bucket's upper bound is counted in that bucket.
    assert histogram.cumulated() == [(0.1, 2), (1.0, 3), (float("inf"), 4)]
    assert histogram.count == 4
    assert histogram.sum == pytest.approx(3.65)
    assert Histogram().bounds == BUCKETS


@pytest.mark.parametrize("buckets", [(), (0.0, 1.0), (1.0, 1.0), (2.0, 1.0)])
def test_buckets_must_rise(buckets: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="must be positive and rise"):
        RequestCounters(buckets)


def test_requests_and_responses_are_counted() -> None:
    """Three successful requests are counted with their attempts, durations (seconds) and bytes."""
    counters = RequestCounters()
    with FakeNode() as node, observed_cluster(node, counters) as cluster:
        node.prime(QUERY, rows(COLUMNS, [(1,)]))
        session = cluster.connect()
        for _ in range(3):
            session.execute(QUERY)
        ((host, counts),) = counters.hosts.items()
        assert host.address == node.address
        assert counts.attempts == 3
        assert counts.retries == 0
        assert counts.speculations == 0
        assert counts.errors == {}
        assert counts.latencies.count == 3
        assert counters.requests == {"success": 3}
        assert counters.durations.count == 3
        assert counters.durations.sum >= counts.latencies.sum > 0
        # Three requests contained the query string.
        assert counts.bytes_out > 3 * len(QUERY)
        assert counts.bytes_in > 0


def test_several_loops_may_count_at_the_same_time() -> None:
    """No count is lost when the threads of several event loops call the same observer."""
    counters = RequestCounters()
    host: Any = object()
    attempt: Any = SimpleNamespace(host=host)
    request: Any = SimpleNamespace(
        error=None, latency=0.001, request_size=1, response_size=1, host=host, attempts=[attempt]
    )
    requests_per_thread = 20_000

    def count_requests() -> None:
        for _ in range(requests_per_thread):
            counters.on_attempt(request, attempt)
            counters.on_end(request)

    original_interval = sys.getswitchinterval()
    # Python switches between the threads as often as possible.
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=count_requests) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(original_interval)
    counts = counters.hosts[host]
    assert counters.requests == {"success": 2 * requests_per_thread}
    assert counters.durations.count == 2 * requests_per_thread
    assert counts.attempts == 2 * requests_per_thread
    assert counts.bytes_out == 2 * requests_per_thread
    assert counts.bytes_in == 2 * requests_per_thread


def test_failures_are_counted_by_host_and_kind() -> None:
    """Each failed attempt is counted for its host, and each failed request once for the cluster.

    The first request fails on both nodes. The second request times out on node 0.
    """
    counters = RequestCounters()
    with FakeCluster(2) as nodes:
        nodes[0].prime(QUERY, error(ErrorCode.READ_TIMEOUT))
        nodes[1].prime(QUERY, error(ErrorCode.READ_TIMEOUT))
        profile = ExecutionProfile(
            load_balancing_policy=AddressOrderPolicy(), retry_policy=RetryOnce()
        )
        profiles = {EXEC_PROFILE_DEFAULT: profile}
        with observed_cluster(nodes, counters, execution_profiles=profiles) as cluster:
            session = cluster.connect()
            with pytest.raises(ReadTimeout):
                session.execute(QUERY)
            nodes[0].prime(QUERY, silence())
            with pytest.raises(OperationTimedOut):
                session.execute(QUERY, timeout=0.05)
            counters_by_host = {
                host.address: host_counters for host, host_counters in counters.hosts.items()
            }
            first, second = counters_by_host[nodes[0].address], counters_by_host[nodes[1].address]
            assert first.errors == {"ReadTimeout": 1, "OperationTimedOut": 1}
            assert second.errors == {"ReadTimeout": 1}
            # Both requests went to node 0. Only the first request was retried, on node 1.
            assert (first.retries, second.retries) == (1, 0)
            assert (first.attempts, second.attempts) == (2, 1)
            assert counters.requests == {"success": 0, "ReadTimeout": 1, "OperationTimedOut": 1}


@pytest.mark.parametrize("ending", ["success", "error", "timeout"])
def test_responses_to_retried_attempts_are_counted(ending: str) -> None:
    """The bytes of an error response count for its host, also if the request is sent again."""
    counters = RequestCounters()
    size_of_error = 0
    with FakeCluster(2) as nodes:
        profile = ExecutionProfile(
            load_balancing_policy=AddressOrderPolicy(), retry_policy=RetryOnce()
        )
        profiles = {EXEC_PROFILE_DEFAULT: profile}
        nodes[0].prime(QUERY, error(ErrorCode.READ_TIMEOUT))
        nodes[1].prime(QUERY, error(ErrorCode.READ_TIMEOUT))
        with observed_cluster(nodes, counters, execution_profiles=profiles) as cluster:
            session = cluster.connect()

            def received() -> list[int]:
                counts = {host.address: host_counts for host, host_counts in counters.hosts.items()}
                return [counts[node.address].bytes_in for node in nodes.nodes]

            with pytest.raises(ReadTimeout):
                session.execute(QUERY)
            size_of_error = received()[0]
            assert size_of_error > 9  # the size of a header
            assert received() == [size_of_error] * 2
            if ending == "success":
                nodes[1].prime(QUERY, rows(COLUMNS, []))
                session.execute(QUERY)
                assert received()[1] > size_of_error
            elif ending == "timeout":
                nodes[1].prime(QUERY, silence())
                with pytest.raises(OperationTimedOut):
                    session.execute(QUERY, timeout=0.1)
                assert received()[1] == size_of_error
            else:
                with pytest.raises(ReadTimeout):
                    session.execute(QUERY)
                assert received()[1] == 2 * size_of_error
            assert received()[0] == 2 * size_of_error


def test_requests_on_replaced_connections_are_in_the_gauges() -> None:
    """A connection that the application has replaced is draining while it has requests."""
    with FakeNode() as node, Cluster([node.address], port=node.port) as cluster:
        held_answer = hold(rows(COLUMNS, []))
        node.prime(QUERY, held_answer)
        cluster.set_core_connections_per_host(HostDistance.LOCAL, 2)
        session = cluster.connect(wait_for_all_pools=True)
        futures = [session.execute_async(QUERY) for _ in range(4)]
        until(lambda: ClusterGauges.of(cluster).hosts[0].in_flight == 4)
        cluster.set_core_connections_per_host(HostDistance.LOCAL, 1)
        until(lambda: ClusterGauges.of(cluster).hosts[0].draining == 1)
        (gauges,) = ClusterGauges.of(cluster).hosts
        assert (gauges.connections, gauges.in_flight) == (1, 4)
        held_answer.open()
        for future in futures:
            future.result()
        until(lambda: ClusterGauges.of(cluster).hosts[0].draining == 0)
        assert ClusterGauges.of(cluster).hosts[0].in_flight == 0


def test_gauges_before_during_and_after_a_session() -> None:
    """The gauges count hosts, sessions, connections and statements.

    All gauges are 0 before and after a session.
    """
    with FakeNode() as node:
        held_answer = hold(rows(COLUMNS, []))
        node.prime(QUERY, held_answer)
        cluster = Cluster([node.address], port=node.port)
        gauges_before = ClusterGauges.of(cluster)
        assert gauges_before.hosts == ()
        assert gauges_before.sessions == 0
        assert not gauges_before.is_connected
        session = cluster.connect()
        node.prime_prepare("SELECT 2", [])
        prepared = session.prepare("SELECT 2")
        waiting = session.execute_async(QUERY)
        held_answer.wait()
        (host,) = ClusterGauges.of(cluster).hosts
        assert host.is_up is True
        assert host.connections == 1
        assert host.in_flight == 1
        assert host.orphans == 0
        # A connection has 32768 streams. One stream is in use, and another may be reserved for
        # threads that write directly to the connection.
        assert host.streams_free in (32767, 32766)
        assert host.waiting == 0
        timed_out = session.execute_async(SimpleStatement(QUERY), timeout=0.01)
        with pytest.raises(OperationTimedOut):
            timed_out.result()
        (host,) = ClusterGauges.of(cluster).hosts
        assert (host.in_flight, host.orphans) == (1, 1)
        gauges = ClusterGauges.of(cluster)
        assert gauges.sessions == 1
        assert gauges.prepared_statements == 1
        assert gauges.is_connected is True
        held_answer.open()
        waiting.result()
        # The gauge counts statements that are alive, so keep a reference until this point.
        assert prepared is not None
        cluster.shutdown()
        gauges_after = ClusterGauges.of(cluster)
        assert (gauges_after.sessions, gauges_after.is_connected) == (0, False)
        assert all(gauge.connections == 0 for gauge in gauges_after.hosts)


def test_forget_removes_the_counts_of_a_host() -> None:
    counters = RequestCounters()
    with FakeNode() as node, observed_cluster(node, counters) as cluster:
        cluster.connect().execute("SELECT 1")
        (host,) = counters.hosts
        counters.forget(host)
        assert counters.hosts == {}
        counters.forget(host)


def test_reconnections_and_reads_of_the_schema_are_counted() -> None:
    """The gauges count reads of the schema, and attempts to reconnect to a host."""
    tried = threading.Event()

    class SignallingPolicy(ReconnectionPolicy):
        def new_schedule(self) -> Iterator[float]:
            for delay in repeat(0.005):
                # The event is set when the host, its pool or the control connection schedules a
                # reconnection.
                tried.set()
                yield delay

    policy = SignallingPolicy()
    with (
        FakeNode() as node,
        observed_cluster(node, RequestCounters(), reconnection_policy=policy) as cluster,
    ):
        cluster.connect()
        gauges = ClusterGauges.of(cluster)
        assert (gauges.schema_reads, gauges.failed_schema_reads) == (0, 0)
        assert [gauge.reconnections for gauge in gauges.hosts] == [0]
        cluster.refresh_keyspace_metadata("ks")
        assert ClusterGauges.of(cluster).schema_reads == 1
        node.refuse_connections()
        node.drop_connections()
        while ClusterGauges.of(cluster).hosts[0].reconnections < 2:
            assert tried.wait(WAIT)
            tried.clear()
        node.accept_connections()


# -- connections that cannot be opened -------------------------------------------------------------


def connect_and_fail(node: FakeNode, **settings: Any) -> dict[str, int]:
    """Fail to connect to a node; return the number of connection failures by their kind."""
    counters = RequestCounters()
    with observed_cluster(node, counters, **settings) as cluster, pytest.raises(NoHostAvailable):
        cluster.connect()
    ((endpoint, counts),) = counters.connection_failures.items()
    assert str(endpoint) == node.endpoint
    return dict(counts)


def test_refused_logins_are_not_counted_as_nodes_that_are_down(authority: Authority) -> None:
    """Failed connections are counted by kind: a refused login is not counted as a network error."""
    wrong_login = PlainTextAuthProvider("ada", "wrong")
    with FakeNode(username="ada", password="right") as node:
        assert connect_and_fail(node) == {"authentication": 1}
        assert connect_and_fail(node, auth_provider=wrong_login) == {"authentication": 1}
    assert connect_and_fail(node) == {"network": 1}  # the node has stopped
    with FakeNode() as node:
        node.accept_but_hang()
        assert connect_and_fail(node, connect_timeout=0.1) == {"timeout": 1}
    expired = authority.server("127.0.0.1", ends=-DAY, begins=-3 * DAY)
    with FakeNode(ssl_context=expired) as node:
        assert connect_and_fail(node, ssl_context=authority.client()) == {"tls": 1}
    with FakeNode(max_version=4) as node:
        assert connect_and_fail(node, protocol_version=5) == {"protocol": 1}
    with FakeNode() as node:
        node.prime(
            lambda request: request.opcode == Opcode.STARTUP, error(ErrorCode.IS_BOOTSTRAPPING)
        )
        assert connect_and_fail(node) == {"other": 1}


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_missing_client_certificate_is_counted_as_a_failure_of_tls(
    authority: Authority, version: ssl.TLSVersion
) -> None:
    server = authority.server("127.0.0.1", clients=authority.path)
    server.minimum_version = server.maximum_version = version
    with FakeNode(ssl_context=server) as node:
        assert connect_and_fail(node, ssl_context=authority.client()) == {"tls": 1}


async def test_refused_logins_are_counted_with_asyncio() -> None:
    """On asyncio, too, each `connect` with a refused login is counted once."""
    counters = RequestCounters()
    with FakeNode(username="ada", password="right") as node:
        async with aio.Cluster(
            [node.address], port=node.port, request_observers=[counters]
        ) as cluster:
            for count in (1, 2):
                with pytest.raises(NoHostAvailable):
                    await cluster.connect()
                assert list(counters.connection_failures.values()) == [{"authentication": count}]


def test_a_host_that_refuses_the_login_is_given_up() -> None:
    """The driver never retries a host that refuses the login, unlike a host that is down."""
    counters = RequestCounters()
    with FakeCluster(2) as nodes, observed_cluster(nodes, counters) as cluster:
        nodes[1].require_password("ada", "right")
        cluster.connect(wait_for_all_pools=True)
        refusing_host = cluster.metadata.get_host(nodes[1].address)
        assert refusing_host is not None
        until(lambda: refusing_host.state == "forced down")
        gauges = {gauge.host: gauge for gauge in ClusterGauges.of(cluster).hosts}
        assert [(gauge.is_up, gauge.is_given_up) for gauge in gauges.values()] == [
            (True, False),
            (False, True),
        ]
        (counts,) = counters.connection_failures.values()
        assert set(counts) == {"authentication"}
        counters.forget_endpoint(refusing_host.endpoint)
        assert counters.connection_failures == {}


def test_observers_are_not_shut_down_if_the_first_connection_fails() -> None:
    """If the first `connect` fails, `on_shutdown` is not called, because `connect` may be retried.

    `on_shutdown` is called only at the end of the cluster.
    """
    calls: list[str] = []

    class RecordingObserver(RequestObserver):
        def on_connection_failure(self, endpoint: Any, kind: str, error: Exception) -> None:
            calls.append(kind)

        def on_shutdown(self) -> None:
            calls.append("shutdown")

    with FakeNode(username="ada", password="right") as node:
        cluster = Cluster([node.address], port=node.port, request_observers=[RecordingObserver()])
        with pytest.raises(NoHostAvailable):
            cluster.connect()
        assert calls == ["authentication"]
        cluster.auth_provider = PlainTextAuthProvider("ada", "right")
        cluster.connect()
        cluster.shutdown()
    assert calls == ["authentication", "shutdown"]
