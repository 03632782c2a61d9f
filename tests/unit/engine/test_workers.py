"""The further event loops of a cluster: how they follow the sessions of the first one."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest

from cassandra import aio
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile
from cassandra.engine.workers import FirstLoop, WorkerCore
from cassandra.errors import ConnectionShutdown, NoHostAvailable, ProtocolError, SessionShutdown
from cassandra.metadata.endpoint import EndPoint
from cassandra.metadata.host import Host
from cassandra.observers import RequestObserver
from cassandra.policies import ConstantReconnectionPolicy, HostDistance, RoundRobinPolicy
from cassandra.testing import FakeCluster, FakeNode
from cassandra.testing.fake import (
    Opcode,
    Request,
    schema_change,
    set_keyspace,
    silence,
)
from cassandra.throttling import ConcurrencyLimitingThrottler
from tests.unit.metadata.schema.rows import schema
from tests.unit.several_loops import (
    INSERT,
    NUMBERS,
    connected,
    connections_of,
    loop_of_worker_thread,
    on_worker,
    running_shop,
    workers_of,
)
from tests.waiting import WAIT, until


@pytest.fixture
def shop() -> Iterator[FakeNode]:
    with running_shop() as node:
        yield node


# -- keyspaces and schema --------------------------------------------------------------------------


def test_a_forgotten_statement_is_prepared_in_its_keyspace() -> None:
    """A worker's connection is in no keyspace. Before it prepares a statement with an unqualified
    name again, it must be in the keyspace of the statement.
    """
    unqualified = "INSERT INTO t0 (k) VALUES (?)"
    with FakeNode(max_version=4) as node:
        node.schema = schema("ks", tables=1)
        node.prime_prepare(unqualified, NUMBERS)
        with connected(node) as session:
            session.set_keyspace("ks")
            insert = session.prepare(unqualified)
            node.forget_prepared()
            node.forget_requests()
            on_worker(session, lambda: session.execute(insert, (1,)))
            sent = [(request.opcode, request.query) for request in node.requests]
            assert (Opcode.PREPARE, unqualified) in sent
            place = sent.index((Opcode.PREPARE, unqualified))
            assert sent[place - 1][0] == Opcode.QUERY
            assert sent[place - 1][1] in ("USE ks", 'USE "ks"')
            assert len({request.connection for request in node.requests}) == 1


def test_the_metadata_have_a_change_of_a_prepared_statement_when_it_returns(
    shop: FakeNode,
) -> None:
    create = "CREATE TABLE ks.new (k int PRIMARY KEY)"

    def create_table(_: Request) -> Any:
        shop.schema = schema("ks", tables=2)
        return schema_change("CREATED", "TABLE", "ks", "t1")

    shop.prime_prepare(create, [])
    shop.prime(create, create_table)
    with connected(shop) as session:
        prepared = session.prepare(create)
        tables = session.cluster.metadata.keyspaces["ks"].tables
        assert "t1" not in tables
        result = on_worker(session, lambda: session.execute(prepared, ()))
        assert "t1" in session.cluster.metadata.keyspaces["ks"].tables
        assert result.response_future.is_schema_agreed


def test_a_change_of_a_prepared_statement_needs_no_control_connection(shop: FakeNode) -> None:
    """The statement was executed, so that its request must not fail. The change is read later."""
    create = "CREATE TABLE ks.new (k int PRIMARY KEY)"
    shop.prime_prepare(create, [])
    shop.prime(create, schema_change("CREATED", "TABLE", "ks", "t1"))
    with connected(shop) as session:
        prepared = session.prepare(create)
        core = session._engine.core
        shop.refuse_connections()
        control = core.control.connection
        assert control is not None
        core.loop.call_soon_threadsafe(control.close)
        until(lambda: core.control.connection is None)
        shop.schema = schema("ks", tables=2)
        on_worker(session, lambda: session.execute(prepared, ()))
        shop.accept_connections()
        until(lambda: "t1" in session.cluster.metadata.keyspaces["ks"].tables)


def test_a_change_of_the_keyspace_that_nobody_asked_for_is_refused(shop: FakeNode) -> None:
    with connected(shop) as session:
        insert = session.prepare(INSERT)
        shop.prime(INSERT, set_keyspace("other"))
        with pytest.raises(ProtocolError, match="does not allow"):
            on_worker(session, lambda: session.execute(insert, (1,)))
        assert session.keyspace is None


# -- pools -----------------------------------------------------------------------------------------


def test_a_worker_opens_a_lost_connection_again(shop: FakeNode) -> None:
    with connected(shop) as session:
        insert = session.prepare(INSERT)
        on_worker(session, lambda: session.execute(insert, (1,)))
        (lost,) = connections_of(shop, INSERT)
        (worker,) = workers_of(session)
        (own_end,) = worker.all_pools()[0].connections
        shop.post(lost.abort)
        # A request that is sent before the worker notices the loss would fail.
        until(lambda: own_end.closed)
        shop.forget_requests()
        on_worker(session, lambda: session.execute(insert, (2,)))
        until(lambda: worker.is_ready and worker.all_pools()[0].connections)
        on_worker(session, lambda: session.execute(insert, (3,)))
        assert lost not in connections_of(shop, INSERT)


def test_without_a_pool_the_first_loop_executes(shop: FakeNode) -> None:
    """While a worker cannot open its pool, the first loop executes the requests of its threads. The
    worker tries again until it succeeds.
    """
    with connected(shop) as session:
        insert = session.prepare(INSERT)
        (worker,) = workers_of(session)
        on_worker(session, lambda: session.execute(insert, (1,)))
        (lost,) = connections_of(shop, INSERT)
        shop.refuse_connections()
        shop.post(lost.abort)
        until(lambda: not worker.is_ready)
        loop = loop_of_worker_thread(session, shop, lambda: session.execute_async(insert, (2,)))
        assert loop == session.loop_ident
        shop.accept_connections()
        until(lambda: worker.is_ready)
        loop = loop_of_worker_thread(session, shop, lambda: session.execute_async(insert, (3,)))
        assert loop == worker.core.thread.ident


def test_workers_follow_hosts_that_go_and_come(shop: FakeNode) -> None:
    with FakeCluster(2) as nodes, connected(nodes[0]) as session:
        (worker,) = workers_of(session)
        assert len(worker.pools) == 2
        nodes[1].stop()
        until(lambda: len(session._engine.pools) == 1 and len(worker.pools) == 1)
        assert worker.is_ready
        nodes[1].start()
        until(lambda: len(worker.pools) == 2 and worker.is_ready)


def test_a_host_that_stops_soon_gets_no_requests_of_workers() -> None:
    # The node still accepts connections: do not try it again.
    never = ConstantReconnectionPolicy(3600)
    with (
        FakeCluster(2, graceful_disconnect=True) as nodes,
        connected(nodes[0], reconnection_policy=never) as session,
    ):
        for node in (nodes[0], nodes[1]):
            node.prime_prepare(INSERT, NUMBERS)
        insert = session.prepare(INSERT)
        (worker,) = workers_of(session)
        nodes[1].drain()
        # Until the worker is ready again, the first loop executes its requests.
        until(lambda: len(session._engine.pools) == 1 and len(worker.pools) == 1)
        nodes[1].forget_requests()
        for key in range(4):
            on_worker(session, partial(session.execute, insert, (key,)))
        assert not nodes[1].queries(INSERT)


def test_pools_of_workers_have_the_size_of_the_setting(shop: FakeNode) -> None:
    with connected(shop) as session:
        (worker,) = workers_of(session)
        cluster = session.cluster
        assert session.get_pool_state()[cluster.metadata.all_hosts()[0]]["open_count"] == 2
        cluster.set_core_connections_per_host(HostDistance.LOCAL, 3)
        cluster.set_core_connections_per_host(HostDistance.LOCAL_RACK, 3)
        until(lambda: len(worker.all_pools()[0].connections) == 3)
        until(lambda: len(session.get_pools()[0].connections) == 3)
        (state,) = session.get_pool_state().values()
        assert state["open_count"] == len(state["in_flights"]) == 6
        assert [len(pool.connections) for pool in session.get_pools()] == [3, 3]
        capacities = [
            connection.stream_limit
            for pool in session.get_pools()
            for connection in pool.connections
        ]
        assert len(capacities) == 6
        assert session.request_capacity == sum(capacities)


class Distant(RoundRobinPolicy):
    """A policy whose hosts become remote. It records the threads that call it."""

    def __init__(self) -> None:
        super().__init__()
        self.is_far = False
        self.threads: set[int] = set()

    def distance(self, host: Host) -> int:
        self.threads.add(threading.get_ident())
        return HostDistance.REMOTE if self.is_far else HostDistance.LOCAL


def test_workers_follow_distances_without_calling_the_policy(shop: FakeNode) -> None:
    """The documentation promises to call policies of applications on the first loop only."""
    policy = Distant()
    profiles = {EXEC_PROFILE_DEFAULT: ExecutionProfile(policy)}
    with connected(shop, execution_profiles=profiles) as session:
        (worker,) = workers_of(session)
        session.cluster.set_core_connections_per_host(HostDistance.REMOTE, 3)
        core = session._engine.core
        policy.is_far = True
        core.loop.call_soon_threadsafe(core.sessions.follow_distances_soon)
        until(lambda: [len(pool.connections) for pool in session.get_pools()] == [3, 3])
        (pool,) = worker.pools.values()
        assert pool.distance == HostDistance.REMOTE
        assert worker.core.thread.ident not in policy.threads


def test_requests_in_flight_on_all_loops_are_counted(shop: FakeNode) -> None:
    with connected(shop, metrics_enabled=True) as session:
        insert = session.prepare(INSERT)
        (host,) = session.cluster.metadata.all_hosts()
        core = session._engine.core
        shop.prime(INSERT, silence())
        session.execute_async(insert, (1,))
        on_worker(session, lambda: session.execute_async(insert, (2,)))
        until(lambda: core.in_flight(host) == 2)
        assert session.cluster.metrics is not None
        assert session.cluster.metrics.stats.open_connections == 2


# -- what concerns the whole cluster ---------------------------------------------------------------


def test_latencies_are_reported_on_the_first_loop(shop: FakeNode) -> None:
    with connected(shop) as session:
        insert = session.prepare(INSERT)
        core = session._engine.core
        threads: list[int] = []
        core.observe_latencies(lambda host, seconds: threads.append(threading.get_ident()))
        on_worker(session, lambda: session.execute(insert, (1,)))
        until(lambda: threads)
        assert threads == [session.loop_ident]


def test_latencies_of_one_turn_are_reported_together(
    shop: FakeNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker does not wake the first loop for each answer. An error of an observer does not
    affect the other answers.
    """
    wakeups: list[object] = []
    call = FirstLoop.call

    def count_wakeups(self: FirstLoop, function: Any, *arguments: object) -> None:
        wakeups.append(function)
        call(self, function, *arguments)

    monkeypatch.setattr(FirstLoop, "call", count_wakeups)
    with connected(shop) as session:
        (worker,) = workers_of(session)
        core = session._engine.core
        latencies: list[float] = []

        def observe(host: Host, seconds: float) -> None:
            latencies.append(seconds)
            if len(latencies) == 1:
                raise ValueError("of an observer")

        def report(host: Host) -> None:
            assert worker.core.on_latency is not None
            for number in range(50):
                worker.core.on_latency(host, number)

        core.observe_latencies(observe)
        errors: list[Any] = []
        core.loop.call_soon_threadsafe(
            core.loop.set_exception_handler, lambda _, context: errors.append(context["exception"])
        )
        (host,) = session.cluster.metadata.all_hosts()
        wakeups.clear()
        worker.core.loop.call_soon_threadsafe(report, host)
        until(lambda: len(latencies) == 50)
        assert latencies == list(range(50))
        assert [str(error) for error in errors] == ["of an observer"]
        assert len(wakeups) == 1


def test_a_host_that_only_a_worker_loses_stays_up(shop: FakeNode) -> None:
    """The connections that the worker cannot open are counted."""
    with connected(shop, metrics_enabled=True) as session:
        insert = session.prepare(INSERT)
        (worker,) = workers_of(session)
        on_worker(session, lambda: session.execute(insert, (1,)))
        (lost,) = connections_of(shop, INSERT)
        shop.refuse_connections()
        shop.post(lost.abort)
        until(lambda: not worker.is_ready)
        (host,) = session.cluster.metadata.all_hosts()
        assert host.is_up
        metrics = session.cluster.metrics
        assert metrics is not None
        until(lambda: metrics.connection_failures > 0)


class ConnectionFailures(RequestObserver):
    """Records connections that could not be opened, and the threads that report them."""

    def __init__(self) -> None:
        self.kinds: set[str] = set()
        self.threads: set[int] = set()

    def on_connection_failure(self, endpoint: EndPoint, kind: str, error: Exception) -> None:
        self.kinds.add(kind)
        self.threads.add(threading.get_ident())


def test_connections_that_a_worker_cannot_open_are_reported(shop: FakeNode) -> None:
    """The failed connections of a worker (a further event loop) are counted in the metrics of the
    cluster, and its observers are called on the first loop.
    """
    observer = ConnectionFailures()
    with connected(shop, request_observers=[observer], metrics_enabled=True) as session:
        insert = session.prepare(INSERT)
        on_worker(session, lambda: session.execute(insert, (1,)))
        (lost,) = connections_of(shop, INSERT)
        shop.refuse_connections()
        shop.post(lost.abort)
        metrics = session.cluster.metrics
        assert metrics is not None
        until(lambda: observer.kinds and metrics.connection_failures)
        assert observer.kinds == {"network"}
        assert observer.threads == {session.loop_ident}


# -- ends ------------------------------------------------------------------------------------------


def loop_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("cassandra-loop")]


def test_requests_on_workers_fail_when_the_session_is_shut_down(shop: FakeNode) -> None:
    with connected(shop) as session:
        insert = session.prepare(INSERT)
        shop.prime(INSERT, silence())
        future = on_worker(session, lambda: session.execute_async(insert, (1,)))
        shop.wait_for(lambda node: node.queries(INSERT))
        session.shutdown()
        with pytest.raises(SessionShutdown):
            future.result()
        # Only the control connection is left.
        shop.wait_for(lambda node: len(node.connections) == 1)


def test_a_shutdown_of_the_cluster_ends_all_threads(shop: FakeNode) -> None:
    with connected(shop, loops=3) as session:
        insert = session.prepare(INSERT)
        shop.prime(INSERT, silence())
        future = on_worker(session, lambda: session.execute_async(insert, (1,)))
        assert len(loop_threads()) == 3
    assert not loop_threads()
    with pytest.raises(SessionShutdown):
        future.result()
    with pytest.raises(SessionShutdown):
        on_worker(session, lambda: session.execute(insert, (1,)))
    shop.wait_for(lambda node: not node.connections)


def test_a_session_may_be_shut_down_in_a_callback_of_a_worker(shop: FakeNode) -> None:
    with connected(shop) as session:
        insert = session.prepare(INSERT)
        is_over = threading.Event()

        def end(_: Any) -> None:
            session.shutdown()
            is_over.set()

        shop.pause()
        future = on_worker(session, lambda: session.execute_async(insert, (1,)))
        future.add_callback(end)
        shop.resume()
        assert is_over.wait(WAIT)
        shop.wait_for(lambda node: len(node.connections) == 1)


def test_a_shutdown_ends_a_connect_that_waits_for_a_worker(
    shop: FakeNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_waiting = threading.Event()

    async def wait_for_ever(*_: object) -> None:
        is_waiting.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(WorkerCore, "follow", wait_for_ever)
    cluster = Cluster([shop.address], port=shop.port, loops=2)

    def shut_down() -> None:
        assert is_waiting.wait(WAIT)
        cluster.shutdown()

    with ThreadPoolExecutor(1) as threads:
        end = threads.submit(shut_down)
        with pytest.raises(ConnectionShutdown):
            cluster.connect()
        end.result(WAIT)
    assert not loop_threads()
    shop.wait_for(lambda node: not node.connections)


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_dropped_cluster_ends_all_threads(shop: FakeNode) -> None:
    cluster = Cluster([shop.address], port=shop.port, loops=3)
    cluster.connect(wait_for_all_pools=True)
    del cluster
    gc.collect()
    until(lambda: not loop_threads())
    shop.wait_for(lambda node: not node.connections)


def test_a_cluster_that_cannot_connect_leaves_no_thread(shop: FakeNode) -> None:
    shop.refuse_connections()
    with pytest.raises(NoHostAvailable):
        Cluster([shop.address], port=shop.port, loops=3).connect()
    assert not loop_threads()


# -- the setting -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("loops", "kind"), [(0, ValueError), (-1, ValueError), ("2", TypeError), (True, TypeError)]
)
def test_a_wrong_number_of_loops_is_refused(loops: Any, kind: type[Exception]) -> None:
    with pytest.raises(kind, match="loops must be"):
        Cluster(loops=loops)


def test_loops_and_a_throttler_exclude_each_other() -> None:
    """Also if one of them is set after the constructor."""
    throttler = ConcurrencyLimitingThrottler(5, 5)
    with pytest.raises(ValueError, match="request_throttler"):
        Cluster(loops=2, request_throttler=throttler)
    cluster = Cluster(request_throttler=throttler)
    cluster.loops = 2
    with pytest.raises(ValueError, match="request_throttler"):
        cluster.connect()


def test_a_cluster_of_asyncio_has_one_loop() -> None:
    with pytest.raises(ValueError, match="on each of your loops"):
        aio.Cluster(loops=2)
