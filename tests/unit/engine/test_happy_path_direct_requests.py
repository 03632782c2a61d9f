"""Tests of direct requests, which the calling thread writes without waking the event loop.

They cover when requests are direct, their timeouts and errors, and races with the loop.
"""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest

from cassandra import _impl
from cassandra.cluster import Session
from cassandra.engine import loop as engine_loop
from cassandra.engine.request_bodies import BodyMethods
from cassandra.errors import (
    ConnectionException,
    ConnectionShutdown,
    OperationTimedOut,
    SessionShutdown,
)
from cassandra.policies import (
    ConstantSpeculativeExecutionPolicy,
    DCAwareRoundRobinPolicy,
    HostFilterPolicy,
    RackAwareRoundRobinPolicy,
    RoundRobinPolicy,
    TokenAwarePolicy,
    WhiteListRoundRobinPolicy,
)
from cassandra.policies.adaptive import AdaptivePolicy
from cassandra.policies.token_aware import plans_in_any_thread
from cassandra.query import BatchStatement, SimpleStatement
from cassandra.testing.fake import ErrorCode, FakeNode, Opcode, close, error, hold, silence
from tests.processes import WITH_TESTS, run_python
from tests.unit.engine.direct import connected
from tests.unit.loops import Loops
from tests.waiting import until

WAIT = 5.0  # seconds
WRITE = "INSERT INTO t (k, v) VALUES (1, 2)"
READ = "SELECT v FROM t"

pytestmark = [
    pytest.mark.usefixtures("loops"),
    pytest.mark.skipif(not hasattr(socket, "MSG_DONTWAIT"), reason="not on Windows"),
]


@pytest.fixture(autouse=True)
def treat_the_loop_as_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let all requests count as rare, so that they may be direct.

    Otherwise, the loop would send requests that follow each other quickly.
    """
    monkeypatch.setattr(engine_loop, "IDLE_AFTER", -1.0)
    # The pure Python version never writes directly from the main thread, where a signal may
    # interrupt it. The tests run in the main thread, so pretend that it cannot be interrupted.
    monkeypatch.setattr("cassandra.engine.happy_path._may_be_interrupted", lambda: False)


@pytest.fixture
def session(node: FakeNode) -> Iterator[Session]:
    with connected(node) as session:
        yield session


def connections(session: Session) -> list[Any]:
    """Return the connections of all pools of the session."""
    return [
        connection for pool in session._engine.pools.values() for connection in pool.connections
    ]


def connections_in_use(session: Session) -> list[Any]:
    """Return the connections that have a request in flight."""
    return [connection for connection in connections(session) if connection.in_flight]


def is_ready(session: Session) -> bool:
    """Return True if the session's next request would be written by the calling thread.

    This is so if the loop has nothing to do.
    """
    return session._inbox.is_quiet and all(
        connection.streams.settled and connection.in_flight == 0
        for connection in connections(session)
    )


@contextmanager
def busy_loop(session: Session) -> Iterator[None]:
    """Block the session's event loop inside the `with` block.

    Only the callers' threads can send requests then.
    """
    until(lambda: is_ready(session))
    is_blocked, may_go_on = threading.Event(), threading.Event()

    def block_loop() -> None:
        is_blocked.set()
        may_go_on.wait(WAIT)

    session._loop_thread.loop.call_soon_threadsafe(block_loop)
    assert is_blocked.wait(WAIT)
    try:
        yield
    finally:
        may_go_on.set()


def wait_until_arrived(node: FakeNode, query: str, count: int = 1) -> None:
    """Wait until the node has received the query `count` times."""
    node.wait_for(lambda node: len(node.queries(query)) >= count)


# -- when ------------------------------------------------------------------------------------------


def test_a_direct_request_is_sent_while_the_loop_is_busy(node: FakeNode, session: Session) -> None:
    """If nothing is in flight, the calling thread writes its request itself.

    This holds for queries, bound statements and batches.
    """
    prepared = session.prepare(WRITE)
    for statement in (WRITE, SimpleStatement(WRITE), prepared, prepared.bind(())):
        node.forget_requests()
        with busy_loop(session):
            future = session.execute_async(statement)
            wait_until_arrived(node, WRITE)
            # The loop is blocked, so it cannot have processed the response.
            assert not future.is_over
        assert future.result().all() == []
    node.forget_requests()
    with busy_loop(session):
        future = session.execute_async(BatchStatement().add(WRITE))
        node.wait_for(lambda node: node.count(Opcode.BATCH))
    future.result()


@pytest.mark.parametrize("version", [3, 4, 5])
@pytest.mark.parametrize("compression", [False, True])
def test_direct_requests_use_the_negotiated_format(version: int, compression: bool) -> None:
    """A request that the calling thread writes to the socket itself has the negotiated format.

    The node can decode its frame and its compression.
    """
    query = f"INSERT INTO t (v) VALUES ('{'x' * 2000}')"
    with (
        FakeNode(max_version=version) as node,
        connected(node, protocol_version=version, compression=compression) as session,
    ):
        for _ in range(3):
            with busy_loop(session):
                future = session.execute_async(query)
                wait_until_arrived(node, query)
            assert future.result().all() == []
            node.forget_requests()
        assert node.malformed == []


def test_while_a_request_is_in_flight_others_are_joined(node: FakeNode, session: Session) -> None:
    """While a direct request is in flight, the loop sends all later requests together.

    A direct request is written to the socket by the calling thread.
    """
    pause = hold()
    node.prime(WRITE, pause)
    with busy_loop(session):
        future_in_flight = session.execute_async(WRITE)
        wait_until_arrived(node, WRITE)
        joined_futures = [session.execute_async(READ) for _ in range(20)]
    # These requests waited until the loop was free, and were then sent by the loop.
    wait_until_arrived(node, READ, count=20)
    queries = [request.query for request in node.requests if request.query in (WRITE, READ)]
    assert queries == [WRITE, *[READ] * 20]
    pause.release()
    for future in (future_in_flight, *joined_futures):
        assert future.result().all() == []


def test_requests_in_quick_succession_are_joined(
    node: FakeNode, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Requests in quick succession are not direct: the loop sends them together.

    This holds even if the server has already answered the earlier requests.
    """
    monkeypatch.setattr(engine_loop, "IDLE_AFTER", 3600.0)
    until(lambda: is_ready(session))
    # Pretend that there was no request for a long time. The work below starts a new series of
    # requests in quick succession.
    session._inbox._quiet_since = float("-inf")
    assert session._inbox.is_idle()
    for _ in range(2):
        session._inbox.put(NoOpWork())
        until(lambda: is_ready(session))
        with busy_loop(session):
            future = session.execute_async(WRITE)
            # No request is in flight, but this request has no attempt yet, because it waits for the
            # loop.
            assert not future.attempts
        assert future.result().all() == []


class NoOpWork:
    """A work item for the loop's inbox that does nothing."""

    def start(self) -> None:
        pass

    def fail(self, error: BaseException) -> None:
        raise error


def test_requests_stay_behind_work_that_is_queued_on_the_loop(
    node: FakeNode, session: Session
) -> None:
    """While work is queued for the loop, no calling thread writes its request itself.

    So the requests keep their order.
    """
    with busy_loop(session):
        session._inbox.put(NoOpWork())
        queries = [f"{WRITE} -- {number}" for number in range(3)]
        futures = [session.execute_async(query) for query in queries]
        assert not any(future.attempts for future in futures)
    for future in futures:
        future.result()
    assert [request.query for request in node.requests[-3:]] == queries


def test_requests_of_a_callback_are_written_by_the_loop(node: FakeNode, session: Session) -> None:
    """A request that a callback executes is written by the loop.

    The callback runs in the loop's thread.
    """
    attempts_at_return: list[Any] = []
    is_finished = threading.Event()

    def execute_another(result: Any) -> None:
        next_future = session.execute_async(READ)
        attempts_at_return.append(list(next_future.attempts))
        next_future.add_callback(lambda result: is_finished.set())

    pause = hold()
    node.prime(WRITE, pause)
    until(lambda: is_ready(session))
    session.execute_async(WRITE).add_callback(execute_another)
    pause.release()
    assert is_finished.wait(WAIT)
    # An empty list means that the loop sent the request. If the calling thread writes a request
    # itself, the request has an attempt when `execute_async` returns.
    assert attempts_at_return == [[]]


@pytest.mark.parametrize("reason", ["use", "speculation", "host", "handler", "large", "first"])
def test_special_requests_are_sent_by_the_loop(node: FakeNode, reason: str) -> None:
    """Requests that need more than one write to one connection are sent by the loop.

    These are USE, requests with speculative executions, a named host or a request listener, large
    requests, and values that need a PREPARE first.
    """
    with connected(node) as session:
        profile = session._default_profile
        if reason == "speculation":
            profile.speculative_execution_policy = ConstantSpeculativeExecutionPolicy(
                delay=9, max_attempts=1
            )
        if reason == "handler":
            session.add_request_init_listener(lambda future: None)
        host = session.hosts[0] if reason == "host" else None
        queries = {"use": "USE ks", "large": f"INSERT INTO t (v) VALUES ('{'x' * 70_000}')"}
        query: Any = queries.get(reason, WRITE)
        if reason == "speculation":
            query = SimpleStatement(query, is_idempotent=True)
        values = (1,) if reason == "first" else None
        if reason == "first":
            query = "INSERT INTO t (k) VALUES (?)"
            node.prime_prepare(query, [("k", "int")], [])
        with busy_loop(session):
            future = session.execute_async(query, values, host=host)
            # The loop is blocked, so a request that only the loop may send has no attempt yet.
            assert not future.attempts
        future.result()
        assert len(future.attempts) == 1


def test_tls_connections_are_written_by_the_loop(node: FakeNode, session: Session) -> None:
    """A thread does not write to a TLS connection, because only the loop can encrypt."""
    connection = connections(session)[0]
    # Pretend that the connection uses TLS.
    connection.tls = object()
    try:
        in_flight = connection.streams.in_flight
        connection.write_directly()
        assert connection.streams.in_flight == in_flight
    finally:
        connection.tls = None


# -- plans -----------------------------------------------------------------------------------------


class ThreadRecordingPolicy(RoundRobinPolicy):
    """A policy that records the threads in which it makes query plans."""

    def __init__(self) -> None:
        super().__init__()
        self.threads: set[int] = set()

    def make_query_plan(self, working_keyspace: Any = None, query: Any = None) -> Iterator[Any]:
        self.threads.add(threading.get_ident())
        return super().make_query_plan(working_keyspace, query)


def test_a_custom_policy_makes_its_plans_on_the_loop(node: FakeNode) -> None:
    """An application's policy is called only in the loop's thread.

    The policy may not be thread-safe.
    """
    policy = ThreadRecordingPolicy()
    with connected(node, policy=TokenAwarePolicy(policy)) as session:
        for _ in range(5):
            session.execute(WRITE)
        assert policy.threads == {session._loop_thread.ident}


def test_only_stock_policies_make_plans_in_any_thread() -> None:
    """Only the driver's own policies may be called in any thread.

    A policy of the driver that calls a function of the application may not.
    """
    custom_policy = ThreadRecordingPolicy()
    for policy in (
        RoundRobinPolicy(),
        DCAwareRoundRobinPolicy("dc"),
        RackAwareRoundRobinPolicy("dc", "rack"),
        WhiteListRoundRobinPolicy(["127.0.0.1"]),
        TokenAwarePolicy(DCAwareRoundRobinPolicy("dc")),
    ):
        assert plans_in_any_thread(policy)
    # These policies call code of the application, or may be called only on the loop for other
    # reasons.
    for loop_only_policy in (
        custom_policy,
        TokenAwarePolicy(custom_policy),
        HostFilterPolicy(RoundRobinPolicy(), bool),
        AdaptivePolicy(),
        object(),
    ):
        assert not plans_in_any_thread(loop_only_policy)


def test_a_begun_plan_is_continued_on_the_loop() -> None:
    """The loop continues a query plan whose first host the calling thread could not use.

    If the loop made a second plan, the rotation of the policy would skip hosts.
    """
    with (
        FakeNode("127.0.0.1") as first,
        FakeNode("127.0.0.2", first.port) as second,
    ):
        first.peers.append(second)
        second.peers.append(first)
        with connected(first) as session:
            until(lambda: len(session._engine.pools) == 2)
            pauses = [hold(), hold()]
            for node, pause in zip((first, second), pauses, strict=True):
                node.prime(WRITE, pause)
            # The first two requests are direct, and stay in flight on both hosts, so the loop must
            # send all later requests.
            futures = [session.execute_async(WRITE) for _ in range(2)]
            for pause in pauses:
                pause.wait()
            for _ in range(10):
                until(lambda: session._inbox.is_quiet)
                futures.append(session.execute_async(READ))
                futures[-1].result()
            hosts = [future.attempted_hosts[-1].address for future in futures[2:]]
            # The hosts alternate, so each request has made only one plan.
            assert hosts == [hosts[0], hosts[1]] * 5
            assert hosts[0] != hosts[1]
            for pause in pauses:
                pause.release()


# -- time limits -----------------------------------------------------------------------------------


def test_direct_requests_time_out_while_the_loop_sleeps(node: FakeNode, session: Session) -> None:
    """A direct request times out at the right time, although the event loop sleeps.

    A direct request is written to the socket by the calling thread, without waking the loop.
    The calling thread wakes the loop if the request's timeout ends before the next timer of the
    loop.
    """
    node.prime(READ, silence())
    for timeout in (0.05, 0.2, 0.05):
        until(lambda: session._inbox.is_quiet)
        started = time.monotonic()
        with pytest.raises(OperationTimedOut):
            session.execute(READ, timeout=timeout)
        # uvloop rounds timeouts to milliseconds, so allow for one.
        assert time.monotonic() - started >= timeout - 0.001


def test_the_deadline_is_removed_after_the_answer(session: Session) -> None:
    """A direct request must leave no timer behind when its response has come."""
    for _ in range(50):
        session.execute(WRITE, timeout=3600)
    until(lambda: len(session._engine.timers) == 0)


def test_an_answer_after_the_timeout_is_dropped(node: FakeNode, session: Session) -> None:
    """After the timeout of a direct request, the loop sends all requests until the late response.

    A direct request is written to the socket by the calling thread. Until the late response
    arrives, the stream of the direct request stays in use.
    """
    pause = hold()
    node.prime(READ, pause)
    until(lambda: is_ready(session))
    with pytest.raises(OperationTimedOut):
        session.execute(READ, timeout=0.05)
    (connection,) = connections_in_use(session)
    assert connection.orphans == 1
    assert session.execute(WRITE).all() == []
    pause.release()
    until(lambda: is_ready(session))
    # After the late response, a calling thread may again send its request directly.
    with busy_loop(session):
        future = session.execute_async(WRITE)
        assert future.attempts
    assert future.result().all() == []


# -- ends ------------------------------------------------------------------------------------------


def test_an_error_of_the_server_reaches_the_retry_policy(node: FakeNode) -> None:
    """An error response to a direct request goes to the retry policy, which raises the error here.

    A direct request is written to the socket by the calling thread.
    """
    with connected(node) as session:
        node.prime(WRITE, error(ErrorCode.OVERLOADED, "busy"), times=1)
        with busy_loop(session):
            future = session.execute_async(WRITE)
            wait_until_arrived(node, WRITE)
        with pytest.raises(Exception, match="busy"):
            future.result()


# The calling thread calls each of these methods before it writes a direct request.
@pytest.mark.parametrize(
    ("interrupted_class", "method"),
    [(RoundRobinPolicy, "make_query_plan"), (BodyMethods, "cached_metadata")],
)
def test_the_error_of_a_signal_handler_is_not_lost(
    node: FakeNode,
    session: Session,
    monkeypatch: pytest.MonkeyPatch,
    interrupted_class: type,
    method: str,
) -> None:
    """If a signal handler raises in the thread that is about to send, the request fails.

    It fails with the error of the handler, and nothing is sent. Time limits, for example, use such
    handlers.
    """

    class TimeLimitExceeded(Exception):
        pass

    original = getattr(interrupted_class, method)

    def be_interrupted_once(*args: Any) -> Any:
        monkeypatch.setattr(interrupted_class, method, original)
        raise TimeLimitExceeded

    until(lambda: is_ready(session))
    monkeypatch.setattr(interrupted_class, method, be_interrupted_once)
    with pytest.raises(TimeLimitExceeded):
        session.execute(WRITE)
    assert [request for request in node.requests if request.query == WRITE] == []
    assert session.execute(READ).all() == []


def test_if_the_server_closes_the_request_fails(node: FakeNode, session: Session) -> None:
    """If the server closes the connection instead of responding, the request fails.

    The calling thread has written the request itself. For the next request, the session opens a new
    connection.
    """
    node.prime(WRITE, close(), times=1)
    with busy_loop(session):
        future = session.execute_async(WRITE)
        wait_until_arrived(node, WRITE)
    with pytest.raises(ConnectionException):
        future.result()
    assert session.execute(READ).all() == []


def test_a_request_on_a_reset_connection_fails(node: FakeNode, session: Session) -> None:
    """If a thread writes to a connection that was already reset, the request fails.

    The loop is busy, so it has not noticed the reset.
    """
    with busy_loop(session):
        node.drop_connections(reset=True)
        future = session.execute_async(WRITE)
    with pytest.raises(ConnectionException):
        future.result()
    until(lambda: session._engine.pools)
    assert session.execute(READ).all() == []


def test_shutdown_fails_a_direct_request(node: FakeNode) -> None:
    """`shutdown` ends a request without a timeout that another thread has written itself."""
    node.prime(WRITE, silence())
    with connected(node) as session:
        until(lambda: is_ready(session))
        errors: list[BaseException] = []

        def execute() -> None:
            try:
                session.execute(WRITE, timeout=None)
            except ConnectionException as error:
                errors.append(error)

        thread = threading.Thread(target=execute, daemon=True)
        thread.start()
        # Shut the session down while the other thread waits for its response.
        wait_until_arrived(node, WRITE)
        session.shutdown()
        thread.join(WAIT)
        assert isinstance(errors[0], ConnectionShutdown)
        with pytest.raises(ConnectionShutdown):
            session.execute(READ)


def test_after_shutdown_the_server_sees_closed_connections(
    node: FakeNode, session: Session
) -> None:
    """After `shutdown`, the server sees that the connection is closed.

    No duplicate of the file descriptor may keep the socket open.
    """
    session.execute(WRITE)
    stream_tables = [connection.streams for connection in connections(session)]
    session.shutdown()
    # Only the control connection is left.
    node.wait_for(lambda node: len(node.connections) == 1)
    session.cluster.shutdown()
    node.wait_for(lambda node: not node.connections)
    # A closed connection is never idle, so no thread writes a request to it.
    assert not any(streams.is_idle for streams in stream_tables)


def execute_until_error(session: Session, has_begun: threading.Semaphore) -> BaseException:
    """Execute requests until one fails, and return its error.

    :param has_begun: released once, before the first request.
    """
    has_begun.release()
    while True:
        try:
            session.execute(WRITE, timeout=None)
        except Exception as error:
            return error


def test_shutdown_while_threads_write_directly(node: FakeNode) -> None:
    """If threads write while the cluster shuts down, they get SessionShutdown.

    The node must not receive a broken frame.
    """
    for _ in range(10):
        with connected(node) as session, ThreadPoolExecutor(3) as threads:
            has_begun = threading.Semaphore(0)
            errors = [threads.submit(execute_until_error, session, has_begun) for _ in range(3)]
            for _ in errors:
                has_begun.acquire()
            session.cluster.shutdown()
            assert [type(error.result(WAIT)) for error in errors] == [SessionShutdown] * 3
    assert node.malformed == []


# -- a peer that does not read ---------------------------------------------------------------------


def test_after_a_partial_write_the_loop_sends_the_rest_in_order(node: FakeNode) -> None:
    """If the socket accepts only a part of a thread's request, the loop writes the rest.

    Later requests must not be written before this rest.
    """
    # With a small send buffer, the socket accepts only a part of the request.
    options = [(socket.SOL_SOCKET, socket.SO_SNDBUF, 2048)]
    query = f"INSERT INTO t (v) VALUES ('{'x' * 60_000}')"
    with connected(node, sockopts=options, compression=False) as session:
        until(lambda: is_ready(session))
        node.stop_reading()
        with busy_loop(session):
            partial_write = session.execute_async(query)
            (connection,) = connections_in_use(session)
            assert 0 < len(connection.streams.rest) < len(query)
            later_requests = [session.execute_async(READ) for _ in range(5)]
        node.start_reading()
        for future in (partial_write, *later_requests):
            assert future.result().all() == []
        assert [request.query for request in node.requests[-6:]] == [query, *[READ] * 5]
        assert node.malformed == []
        # When the rest has been written, a calling thread may again send its request directly.
        with busy_loop(session):
            future = session.execute_async(WRITE)
            wait_until_arrived(node, WRITE)
        future.result()


def test_a_partial_write_that_cannot_go_on_times_out(node: FakeNode) -> None:
    """If the peer never reads the rest of a request, this and all later requests time out."""
    # With a small send buffer, the socket accepts only a part of the first request.
    options = [(socket.SOL_SOCKET, socket.SO_SNDBUF, 2048)]
    with connected(node, sockopts=options, compression=False) as session:
        until(lambda: is_ready(session))
        node.stop_reading()
        futures = [
            session.execute_async(f"INSERT INTO t (v) VALUES ('{'x' * 60_000}')", timeout=0.2)
            for _ in range(20)
        ]
        for future in futures:
            with pytest.raises(OperationTimedOut):
                future.result()


def test_a_thread_that_never_finishes_its_write_loses_its_connection(
    node: FakeNode, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a thread starts a direct write and never finishes it, only its connection is lost.

    For example, a signal may interrupt the thread.
    """
    monkeypatch.setattr("cassandra.engine.connection.LONGEST_HOLD", 0.05)
    until(lambda: is_ready(session))
    # Take the write lock, as a thread does before it writes.
    claimed = connections(session)
    for connection in claimed:
        assert connection.streams.acquire_write()
    with pytest.raises(ConnectionException, match="interrupted"):
        session.execute(WRITE)
    until(lambda: session._engine.pools)
    assert session.execute(READ).all() == []
    for connection in claimed:
        connection.streams.release_write()


def test_the_loop_waits_for_a_thread_that_is_writing(node: FakeNode, session: Session) -> None:
    """While a thread holds the write lock, the loop queues its requests, and sends them later."""
    until(lambda: is_ready(session))
    # Take the write lock, as a thread does before it writes.
    claimed = connections(session)
    for connection in claimed:
        assert connection.streams.acquire_write()
    futures = [session.execute_async(WRITE) for _ in range(3)]
    until(lambda: any(connection._held_up_since is not None for connection in claimed))
    for connection in claimed:
        connection.streams.release_write()
    for future in futures:
        assert future.result().all() == []
    assert session.execute(READ).all() == []


# -- processes and signals -------------------------------------------------------------------------

FORK_PROGRAM = """
import os, sys
from cassandra.cluster import Cluster
from cassandra.testing import FakeNode

with FakeNode() as node:
    session = Cluster([node.address], port=node.port).connect()
    for _ in range(3):
        session.execute("SELECT 1")
    node.forget_requests()
    child = os.fork()
    if child == 0:
        for call in (session.execute, session.execute_async):
            try:
                print(call("SELECT 'the child'").result())
            except Exception as error:
                print(type(error).__name__)
        sys.stdout.flush()
        os._exit(0)
    os.waitpid(child, 0)
    print(session.execute("SELECT 'the parent'").all())
    print([request.query for request in node.requests if request.query])
    session.cluster.shutdown()
"""

INTERRUPT_PROGRAM = """
import os, random, signal, sys, threading
from cassandra.cluster import Cluster, EXEC_PROFILE_DEFAULT, ExecutionProfile
from cassandra.errors import ConnectionException
from cassandra.policies import FallthroughRetryPolicy, RoundRobinPolicy
from cassandra.testing import FakeNode

class Interrupt(Exception):
    pass

# Signals raise only within the block that counts them. A slow machine gets the next signal while it
# handles one.
is_armed = False

def handle(*_):
    global is_armed
    if is_armed:
        is_armed = False
        raise Interrupt

signal.signal(signal.SIGUSR1, handle)
with FakeNode() as node:
    profile = ExecutionProfile(RoundRobinPolicy(), retry_policy=FallthroughRetryPolicy())
    profiles = {EXEC_PROFILE_DEFAULT: profile}
    cluster = Cluster([node.address], port=node.port, execution_profiles=profiles)
    session = cluster.connect()
    is_over = threading.Event()
    main = threading.main_thread().ident
    pauses = random.Random(7)

    def send():
        while not is_over.wait(pauses.uniform(0.0005, 0.004)):
            signal.pthread_kill(main, signal.SIGUSR1)

    thread = threading.Thread(target=send)
    interrupts = broken = successful = 0
    thread.start()
    while interrupts < COUNT:
        try:
            is_armed = True
            try:
                session.execute("SELECT 1", timeout=20)
                successful += 1
            except ConnectionException:
                broken += 1
            is_armed = False
        except Interrupt:
            interrupts += 1
    is_over.set()
    thread.join()
    for attempt in range(100):
        try:
            session.execute("SELECT 2", timeout=20)
            break
        except ConnectionException:
            pass
    for _ in range(20):
        assert session.execute("SELECT 3", timeout=20).all() == []
    assert node.malformed == [], node.malformed
    print(interrupts, successful > 0, attempt < 100)
    cluster.shutdown()
"""

HANDLER_PROGRAM = """
import signal, threading
from cassandra.cluster import Cluster
from cassandra.testing import FakeNode

with FakeNode() as node:
    session = Cluster([node.address], port=node.port).connect()
    is_over = threading.Event()
    handler_results = []

    def handle(*_):
        handler_results.append(session.execute("SELECT 'handler'", timeout=20).all())

    signal.signal(signal.SIGUSR1, handle)
    main = threading.main_thread().ident

    def send():
        sent = 0
        while not is_over.wait(0.003):
            # A handler may interrupt another one, but on a busy machine, not more and more of them.
            if sent - len(handler_results) < 3:
                signal.pthread_kill(main, signal.SIGUSR1)
                sent += 1

    thread = threading.Thread(target=send)
    thread.start()
    while len(handler_results) < COUNT:
        session.execute("SELECT 'main'", timeout=20)
    is_over.set()
    thread.join()
    print(set(map(tuple, handler_results)))
    session.cluster.shutdown()
"""

IMPLEMENTATIONS = ["python", "c"] if _impl.implementation == "c" else ["python"]


def run_program(code: str, implementation: str, loops: Loops) -> str:
    """Run a program with one implementation and one kind of loop, and return its output.

    :param code: the program.
    :param implementation: "python" or "c".
    :param loops: the kind of loop: uvloop's or asyncio's own.
    """
    if loops.name == "asyncio":
        code = f"import sys; sys.modules['uvloop'] = None\n{code}"
    process = run_python(code, {**WITH_TESTS, "CASS_DRIVER_IMPL": implementation}, timeout=60)
    assert process.returncode == 0, process.stderr
    assert "Traceback" not in process.stderr, process.stderr
    return process.stdout


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_a_forked_child_sends_nothing(loops: Loops, implementation: str) -> None:
    """After a fork, executions in the child raise SessionShutdown and send nothing."""
    output_lines = run_program(FORK_PROGRAM, implementation, loops).splitlines()
    assert output_lines[:2] == ["SessionShutdown"] * 2
    # In the parent, the session still works, and the node has received only the parent's request.
    assert output_lines[2:] == ["[]", "[\"SELECT 'the parent'\"]"]


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="this system has no such signals")
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
@pytest.mark.parametrize("count", [60, pytest.param(300, marks=pytest.mark.long)])
@pytest.mark.slow
def test_interrupts_leave_nothing_broken(loops: Loops, implementation: str, count: int) -> None:
    """If a signal handler raises while the main thread writes, the session can still be used.

    The node must not receive a broken frame.
    """
    # The program prints the number of interrupts, whether some requests succeeded, and whether a
    # later request succeeded within 100 attempts.
    program = f"COUNT = {count}\n{INTERRUPT_PROGRAM}"
    assert run_program(program, implementation, loops) == f"{count} True True\n"


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="this system has no such signals")
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
@pytest.mark.parametrize("count", [10, pytest.param(50, marks=pytest.mark.long)])
def test_signal_handlers_may_execute(loops: Loops, implementation: str, count: int) -> None:
    """A signal handler may execute a request.

    It may even interrupt a request of the same session.
    """
    # The program prints the set of all results that the signal handler got. It must contain only
    # the empty row.
    program = f"COUNT = {count}\n{HANDLER_PROGRAM}"
    assert run_program(program, implementation, loops) == "{()}\n"
