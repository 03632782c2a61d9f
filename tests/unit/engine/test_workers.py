"""Workers, the additional event loops of a cluster: how they follow the first loop's sessions.

By default, `connected` makes a cluster with two loops: the first loop and one worker.
"""

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
from cassandra.query import BatchStatement
from cassandra.testing import FakeCluster, FakeNode
from cassandra.testing.fake import Opcode, Request, schema_change, set_keyspace, silence
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
def node() -> Iterator[FakeNode]:
    """Yield a node with a table in the keyspace `ks`, which can prepare `INSERT`."""
    with running_shop() as node:
        yield node


# -- keyspaces and schema --------------------------------------------------------------------------


def test_a_forgotten_statement_is_prepared_in_its_keyspace() -> None:
    """If a node has forgotten a statement, a worker prepares it in the statement's keyspace.

    The worker's connection is in no keyspace, so it first switches to this keyspace, because the
    query does not name one.
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
            messages = [(request.opcode, request.query) for request in node.requests]
            assert (Opcode.PREPARE, unqualified) in messages
            # Just before the PREPARE, the worker's connection must have switched to the keyspace.
            position = messages.index((Opcode.PREPARE, unqualified))
            opcode, query = messages[position - 1]
            assert opcode == Opcode.QUERY
            assert query in ("USE ks", 'USE "ks"')
            assert len({request.connection for request in node.requests}) == 1


@pytest.mark.parametrize("is_outdated", [False, True])
def test_the_strings_of_a_batch_are_prepared_on_the_first_loop(
    node: FakeNode, is_outdated: bool
) -> None:
    """A batch whose strings are not prepared yet begins on the first loop, in any thread.

    So does a batch whose values do not fit the statements that were prepared earlier.
    """
    with connected(node) as session:
        if is_outdated:
            session.execute(INSERT, (1,))
            node.forget_prepared()
            node.prime_prepare(INSERT, [("k", "text")])
        batch = BatchStatement()
        batch.add(INSERT, ("a",) if is_outdated else (1,))

        def execute_batch() -> Any:
            return session.execute_async(batch)

        on_worker(session, lambda: session.execute(batch, timeout=WAIT))
        assert node.count(Opcode.BATCH) == 1
        # The statements are known now, and a worker executes the next batch.
        executing_loop = loop_of_worker_thread(node=node, session=session, send=execute_batch)
        assert executing_loop != session.loop_ident


def test_a_prepared_ddl_statement_returns_when_the_metadata_has_its_change(
    node: FakeNode,
) -> None:
    """When a prepared DDL statement returns on a worker, the metadata has its change."""
    create = "CREATE TABLE ks.new (k int PRIMARY KEY)"

    def create_table(_: Request) -> Any:
        node.schema = schema("ks", tables=2)
        return schema_change("CREATED", "TABLE", "ks", "t1")

    node.prime_prepare(create, [])
    node.prime(create, create_table)
    with connected(node) as session:
        prepared = session.prepare(create)
        tables = session.cluster.metadata.keyspaces["ks"].tables
        assert "t1" not in tables
        result = on_worker(session, lambda: session.execute(prepared, ()))
        assert "t1" in session.cluster.metadata.keyspaces["ks"].tables
        assert result.response_future.is_schema_agreed


def test_a_prepared_ddl_statement_needs_no_control_connection(node: FakeNode) -> None:
    """A prepared DDL statement on a worker succeeds without a control connection.

    The server has executed the statement, so its request must not fail. The driver reads the
    change of the schema later.
    """
    create = "CREATE TABLE ks.new (k int PRIMARY KEY)"
    node.prime_prepare(create, [])
    node.prime(create, schema_change("CREATED", "TABLE", "ks", "t1"))
    with connected(node) as session:
        prepared = session.prepare(create)
        core = session._engine.core
        node.refuse_connections()
        control = core.control.connection
        assert control is not None
        core.loop.call_soon_threadsafe(control.close)
        until(lambda: core.control.connection is None)
        node.schema = schema("ks", tables=2)
        on_worker(session, lambda: session.execute(prepared, ()))
        node.accept_connections()
        until(lambda: "t1" in session.cluster.metadata.keyspaces["ks"].tables)


def test_a_change_of_the_keyspace_that_nobody_asked_for_is_refused(node: FakeNode) -> None:
    """If a request that is no USE gets a SET_KEYSPACE result, it fails with a ProtocolError."""
    with connected(node) as session:
        insert = session.prepare(INSERT)
        node.prime(INSERT, set_keyspace("other"))
        with pytest.raises(ProtocolError, match="does not allow"):
            on_worker(session, lambda: session.execute(insert, (1,)))
        assert session.keyspace is None


# -- pools -----------------------------------------------------------------------------------------


def test_a_worker_opens_a_lost_connection_again(node: FakeNode) -> None:
    """If a connection of a worker's pool is lost, the worker opens and uses another connection."""
    with connected(node) as session:
        insert = session.prepare(INSERT)
        on_worker(session, lambda: session.execute(insert, (1,)))
        (lost_connection,) = connections_of(node, INSERT)
        (worker,) = workers_of(session)
        (client_end,) = worker.all_pools()[0].connections
        node.post(lost_connection.abort)
        # A request that is sent before the worker notices the loss would fail, so wait.
        until(lambda: client_end.closed)
        node.forget_requests()
        on_worker(session, lambda: session.execute(insert, (2,)))
        until(lambda: worker.is_ready and worker.all_pools()[0].connections)
        on_worker(session, lambda: session.execute(insert, (3,)))
        assert lost_connection not in connections_of(node, INSERT)


def test_without_a_pool_the_first_loop_executes(node: FakeNode) -> None:
    """While a worker has no pool, the first loop executes the requests of the worker's threads.

    The worker tries to open its pool until it succeeds.
    """
    with connected(node) as session:
        insert = session.prepare(INSERT)
        (worker,) = workers_of(session)
        on_worker(session, lambda: session.execute(insert, (1,)))
        # Find the worker's connection and break it, while the node refuses new connections.
        (lost_connection,) = connections_of(node, INSERT)
        node.refuse_connections()
        node.post(lost_connection.abort)
        until(lambda: not worker.is_ready)
        executing_loop = loop_of_worker_thread(
            session, node, lambda: session.execute_async(insert, (2,))
        )
        assert executing_loop == session.loop_ident
        # The node accepts connections again, so the worker opens its pool and executes requests.
        node.accept_connections()
        until(lambda: worker.is_ready)
        executing_loop = loop_of_worker_thread(
            session, node, lambda: session.execute_async(insert, (3,))
        )
        assert executing_loop == worker.core.thread.ident


def test_workers_follow_hosts_that_go_and_come() -> None:
    """When a host stops, the workers close their pools to it.

    When the host is back, the workers open the pools again.
    """
    with FakeCluster(2) as nodes, connected(nodes[0]) as session:
        (worker,) = workers_of(session)
        assert len(worker.pools) == 2
        nodes[1].stop()
        # The worker may lose its pool before the first loop does. Then it is not ready for a
        # moment.
        until(lambda: len(session._engine.pools) == len(worker.pools) == 1 and worker.is_ready)
        nodes[1].start()
        until(lambda: len(worker.pools) == 2 and worker.is_ready)


def test_workers_follow_a_host_that_replaces_another_at_its_address(node: FakeNode) -> None:
    """If a host is replaced by another host with its address, the worker opens a new pool.

    The two hosts are equal, because they have the same address.
    """
    with connected(node) as session:
        (worker,) = workers_of(session)
        leader = session._engine
        (replaced,) = leader.pools
        new = Host(replaced.endpoint, replaced.conviction_policy.__class__)

        async def replace() -> None:
            leader.forget_host(replaced, ConnectionShutdown("replaced"))
            await leader.add_pool(new)

        # Block the worker until the replacement is complete, so that it does not see a state in
        # between.
        is_replaced = threading.Event()
        worker.loop.call_soon_threadsafe(is_replaced.wait, WAIT)
        try:
            session.cluster._run(replace())
        finally:
            is_replaced.set()
        until(lambda: worker.is_ready and [id(host) for host in worker.pools] == [id(new)])
        assert all(pool.host is new for pool in worker.pools.values())


def test_workers_leave_it_to_the_leader_to_follow_the_policies(node: FakeNode) -> None:
    """If a worker has no pool to a host of a query plan, it does not ask for new distances.

    Only the first loop follows the policies. The worker may be just about to open the pool.
    """
    with connected(node) as session:
        (worker,) = workers_of(session)
        (host,) = session.hosts
        is_called = threading.Event()

        def call() -> None:
            worker.on_missing_pool(host)
            is_called.set()

        worker.loop.call_soon_threadsafe(call)
        assert is_called.wait(WAIT)
        assert worker.core.sessions._following is None


def test_a_host_that_stops_soon_gets_no_requests_of_workers() -> None:
    """When a node announces that it will stop, workers send it no requests.

    The announcement is the event GRACEFUL_DISCONNECT.
    """
    # The node still accepts connections, so the driver must not try it again during this test.
    never = ConstantReconnectionPolicy(delay=3600)
    with (
        FakeCluster(2, graceful_disconnect=True) as nodes,
        connected(nodes[0], reconnection_policy=never) as session,
    ):
        for node in (nodes[0], nodes[1]):
            node.prime_prepare(INSERT, NUMBERS)
        insert = session.prepare(INSERT)
        (worker,) = workers_of(session)
        nodes[1].drain()
        # Until the worker is ready again, the first loop executes the requests of its threads.
        until(lambda: len(session._engine.pools) == 1 and len(worker.pools) == 1)
        nodes[1].forget_requests()
        for key in range(4):
            on_worker(session, partial(session.execute, insert, (key,)))
        assert not nodes[1].queries(INSERT)


def test_pools_of_workers_have_the_size_of_the_setting(node: FakeNode) -> None:
    """Each of two loops has a pool of the configured size, and `get_pool_state` adds them up."""
    with connected(node) as session:
        (worker,) = workers_of(session)
        cluster = session.cluster
        # At first, each of the two loops has one connection.
        assert session.get_pool_state()[cluster.metadata.all_hosts()[0]]["open_count"] == 2
        # Each of the two loops must open two more connections.
        cluster.set_core_connections_per_host(HostDistance.LOCAL, 3)
        cluster.set_core_connections_per_host(HostDistance.LOCAL_RACK, 3)
        until(lambda: len(worker.all_pools()[0].connections) == 3)
        until(lambda: len(session.get_pools()[0].connections) == 3)
        (state,) = session.get_pool_state().values()
        assert state["open_count"] == 6
        assert len(state["in_flights"]) == 6
        assert [len(pool.connections) for pool in session.get_pools()] == [3, 3]
        stream_limits = [
            connection.stream_limit
            for pool in session.get_pools()
            for connection in pool.connections
        ]
        assert session.request_capacity == sum(stream_limits)


class RemoteOnRequestPolicy(RoundRobinPolicy):
    """A policy whose hosts are remote while `is_far` is True.

    It records the calling threads.
    """

    def __init__(self) -> None:
        super().__init__()
        self.is_far = False
        self.threads: set[int] = set()

    def distance(self, host: Host) -> int:
        self.threads.add(threading.get_ident())
        return HostDistance.REMOTE if self.is_far else HostDistance.LOCAL


def test_workers_follow_distances_without_calling_the_policy(node: FakeNode) -> None:
    """Workers follow the distances of hosts, but only the first loop calls the policy.

    The documentation promises this for policies of applications.
    """
    policy = RemoteOnRequestPolicy()
    profiles = {EXEC_PROFILE_DEFAULT: ExecutionProfile(policy)}
    with connected(node, execution_profiles=profiles) as session:
        (worker,) = workers_of(session)
        session.cluster.set_core_connections_per_host(HostDistance.REMOTE, 3)
        core = session._engine.core
        policy.is_far = True
        core.loop.call_soon_threadsafe(core.sessions.follow_distances_soon)
        until(lambda: [len(pool.connections) for pool in session.get_pools()] == [3, 3])
        (pool,) = worker.pools.values()
        assert pool.distance == HostDistance.REMOTE
        assert worker.core.thread.ident not in policy.threads


def test_requests_in_flight_on_all_loops_are_counted(node: FakeNode) -> None:
    """`Core.in_flight` of a host includes the requests of workers.

    Policies choose hosts by this load.
    """
    with connected(node, metrics_enabled=True) as session:
        insert = session.prepare(INSERT)
        (host,) = session.cluster.metadata.all_hosts()
        core = session._engine.core
        node.prime(INSERT, silence())
        session.execute_async(insert, (1,))
        on_worker(session, lambda: session.execute_async(insert, (2,)))
        until(lambda: core.in_flight(host) == 2)
        assert session.cluster.metrics is not None
        # Each of the two loops has one connection.
        assert session.cluster.metrics.stats.open_connections == 2


# -- observers and metrics of the whole cluster ---------------------------------------------------


def test_latencies_are_reported_on_the_first_loop(node: FakeNode) -> None:
    """Observers of latencies are called on the first loop, even for requests of workers."""
    with connected(node) as session:
        insert = session.prepare(INSERT)
        core = session._engine.core
        threads: list[int] = []
        core.observe_latencies(lambda host, seconds: threads.append(threading.get_ident()))
        on_worker(session, lambda: session.execute(insert, (1,)))
        until(lambda: threads)
        assert threads == [session.loop_ident]


def test_latencies_of_one_turn_are_reported_together(
    node: FakeNode, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A worker wakes the first loop once for all responses in one iteration of its own loop.

    If an observer raises an error, it is logged, and the other latencies are still reported.
    """
    wakeups: list[object] = []
    call = FirstLoop.call

    # Record each call by which a worker wakes the first loop.
    def count_wakeups(self: FirstLoop, function: Any, *arguments: object) -> None:
        wakeups.append(function)
        call(self, function, *arguments)

    monkeypatch.setattr(FirstLoop, "call", count_wakeups)
    with connected(node) as session:
        (worker,) = workers_of(session)
        core = session._engine.core
        latencies: list[float] = []

        def observe(host: Host, seconds: float) -> None:
            latencies.append(seconds)
            if len(latencies) == 1:
                raise ValueError("mistake in an observer")

        def report_latencies(host: Host) -> None:
            """Report 50 latencies in one iteration of the worker's loop."""
            assert worker.core.on_latency is not None
            for number in range(50):
                worker.core.on_latency(host, number)

        core.observe_latencies(observe)
        errors: list[Any] = []
        # Record the errors that the first loop reports.
        core.loop.call_soon_threadsafe(
            core.loop.set_exception_handler, lambda _, context: errors.append(context["exception"])
        )
        (host,) = session.cluster.metadata.all_hosts()
        wakeups.clear()
        # Report all latencies in one iteration. The observer's first call raises an error.
        worker.core.loop.call_soon_threadsafe(report_latencies, host)
        until(lambda: len(latencies) == 50)
        assert latencies == list(range(50))
        assert errors == []
        assert "mistake in an observer" in caplog.text
        assert len(wakeups) == 1


def test_a_host_that_only_a_worker_loses_stays_up(node: FakeNode) -> None:
    """If only a worker cannot connect to a host, the host stays up.

    The metrics count the worker's failed connections.
    """
    with connected(node, metrics_enabled=True) as session:
        insert = session.prepare(INSERT)
        (worker,) = workers_of(session)
        on_worker(session, lambda: session.execute(insert, (1,)))
        (lost_connection,) = connections_of(node, INSERT)
        node.refuse_connections()
        node.post(lost_connection.abort)
        until(lambda: not worker.is_ready)
        (host,) = session.cluster.metadata.all_hosts()
        assert host.is_up
        metrics = session.cluster.metrics
        assert metrics is not None
        until(lambda: metrics.connection_failures > 0)


class ConnectionFailures(RequestObserver):
    """An observer that records failed connections, and the threads that report them."""

    def __init__(self) -> None:
        self.kinds: set[str] = set()
        self.threads: set[int] = set()

    def on_connection_failure(self, endpoint: EndPoint, kind: str, error: Exception) -> None:
        # Add the thread first, because the test reads both sets as soon as `kinds` has an entry.
        self.threads.add(threading.get_ident())
        self.kinds.add(kind)


def test_connections_that_a_worker_cannot_open_are_reported(node: FakeNode) -> None:
    """If a worker cannot open a connection, metrics count it, and observers are called.

    They are called on the first loop.
    """
    observer = ConnectionFailures()
    with connected(node, request_observers=[observer], metrics_enabled=True) as session:
        insert = session.prepare(INSERT)
        on_worker(session, lambda: session.execute(insert, (1,)))
        (lost_connection,) = connections_of(node, INSERT)
        node.refuse_connections()
        node.post(lost_connection.abort)
        metrics = session.cluster.metrics
        assert metrics is not None
        until(lambda: observer.kinds and metrics.connection_failures)
        assert observer.kinds == {"network"}
        assert observer.threads == {session.loop_ident}


# -- ends ------------------------------------------------------------------------------------------


def loop_threads() -> list[threading.Thread]:
    """Return the running threads of event loops."""
    return [
        thread
        for thread in threading.enumerate()
        # A thread has no identifier if its `start` was interrupted by another test.
        if thread.name.startswith("cassandra-loop") and thread.ident is not None
    ]


def test_requests_on_workers_fail_when_the_session_is_shut_down(node: FakeNode) -> None:
    """`Session.shutdown` ends requests on workers, and closes the workers' connections."""
    with connected(node) as session:
        insert = session.prepare(INSERT)
        node.prime(INSERT, silence())
        future = on_worker(session, lambda: session.execute_async(insert, (1,)))
        node.wait_for(lambda node: node.queries(INSERT))
        session.shutdown()
        with pytest.raises(SessionShutdown):
            future.result()
        # Only the control connection must be left.
        node.wait_for(lambda node: len(node.connections) == 1)


def test_a_shutdown_of_the_cluster_ends_all_threads(node: FakeNode) -> None:
    """`Cluster.shutdown` ends the threads of all three loops.

    A request in flight fails, and the thread of a worker can send no further request.
    """
    with connected(node, loops=3) as session:
        insert = session.prepare(INSERT)
        node.prime(INSERT, silence())
        future = on_worker(session, lambda: session.execute_async(insert, (1,)))
        assert len(loop_threads()) == 3
    assert not loop_threads()
    with pytest.raises(SessionShutdown):
        future.result()
    with pytest.raises(SessionShutdown):
        on_worker(session, lambda: session.execute(insert, (1,)))
    node.wait_for(lambda node: not node.connections)


def test_a_session_may_be_shut_down_in_a_callback_of_a_worker(node: FakeNode) -> None:
    """If a session is shut down in a callback on a worker, `shutdown` does not deadlock.

    It does not wait for the thread that calls it.
    """
    with connected(node) as session:
        insert = session.prepare(INSERT)
        is_shut_down = threading.Event()

        def shut_down(result: Any) -> None:
            session.shutdown()
            is_shut_down.set()

        node.pause()
        future = on_worker(session, lambda: session.execute_async(insert, (1,)))
        future.add_callback(shut_down)
        node.resume()
        assert is_shut_down.wait(WAIT)
        node.wait_for(lambda node: len(node.connections) == 1)


def test_a_shutdown_ends_a_connect_that_waits_for_a_worker(
    node: FakeNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`Cluster.shutdown` in another thread ends a `connect` that waits for workers."""
    is_waiting = threading.Event()

    # `connect` waits for this function of the worker, which never returns.
    async def wait_for_ever(*_: object) -> None:
        is_waiting.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(WorkerCore, "follow", wait_for_ever)
    cluster = Cluster([node.address], port=node.port, loops=2)

    def shut_down() -> None:
        assert is_waiting.wait(WAIT)
        cluster.shutdown()

    with ThreadPoolExecutor(1) as threads:
        shutdown = threads.submit(shut_down)
        with pytest.raises(ConnectionShutdown):
            cluster.connect()
        shutdown.result(WAIT)
    assert not loop_threads()
    node.wait_for(lambda node: not node.connections)


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_dropped_cluster_ends_all_threads(node: FakeNode) -> None:
    """If an application drops a cluster without `shutdown`, its threads still end.

    They end after garbage collection.
    """
    cluster = Cluster([node.address], port=node.port, loops=3)
    cluster.connect(wait_for_all_pools=True)
    del cluster
    gc.collect()
    until(lambda: not loop_threads())
    node.wait_for(lambda node: not node.connections)


def test_a_cluster_that_cannot_connect_leaves_no_thread(node: FakeNode) -> None:
    node.refuse_connections()
    with pytest.raises(NoHostAvailable):
        Cluster([node.address], port=node.port, loops=3).connect()
    assert not loop_threads()


# -- the setting -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("loops", "error_class"),
    [(0, ValueError), (-1, ValueError), ("2", TypeError), (True, TypeError)],
)
def test_a_wrong_number_of_loops_is_refused(loops: Any, error_class: type[Exception]) -> None:
    with pytest.raises(error_class, match="loops must be"):
        Cluster(loops=loops)


def test_loops_and_a_throttler_exclude_each_other() -> None:
    """A cluster with several loops and a throttler raises ValueError.

    The error comes from the constructor, or from `connect` if one of the two was set later.
    """
    throttler = ConcurrencyLimitingThrottler(max_concurrent_requests=5, max_queue_size=5)
    with pytest.raises(ValueError, match="request_throttler"):
        Cluster(loops=2, request_throttler=throttler)
    cluster = Cluster(request_throttler=throttler)
    cluster.loops = 2
    with pytest.raises(ValueError, match="request_throttler"):
        cluster.connect()


def test_a_cluster_of_asyncio_has_one_loop() -> None:
    """`aio.Cluster` must refuse the setting `loops`, since it runs on the application's loop."""
    with pytest.raises(ValueError, match="on each of your loops"):
        aio.Cluster(loops=2)
