"""Direct requests, which the calling thread writes to the socket without waking the event loop.

The tests cover when requests are direct, their timeouts and errors, and races with the loop.
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

WAIT = 5.0
WRITE = "INSERT INTO t (k, v) VALUES (1, 2)"
READ = "SELECT v FROM t"

pytestmark = [
    pytest.mark.usefixtures("loops"),
    pytest.mark.skipif(not hasattr(socket, "MSG_DONTWAIT"), reason="not on Windows"),
]


@pytest.fixture(autouse=True)
def treat_the_loop_as_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let requests in quick succession be direct, too.

    Without this, the engine would let the loop send requests that follow each other quickly.
    """
    monkeypatch.setattr(engine_loop, "IDLE_AFTER", -1.0)
    # The Python implementation does not write directly from the main thread, where a signal may
    # interrupt it. The tests run in this thread, so pretend that it cannot be interrupted.
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
    """Return True if the next request of the session would be direct, because the loop has nothing
    to do.
    """
    return session._inbox.is_quiet and all(
        connection.streams.settled and connection.in_flight == 0
        for connection in connections(session)
    )


@contextmanager
def busy_loop(session: Session) -> Iterator[None]:
    """Block the session's event loop inside the `with` block, so that only the callers' threads can
    send requests.
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
    """If nothing is in flight, the calling thread itself writes queries, bound statements and
    batches.
    """
    prepared = session.prepare(WRITE)
    for statement in (WRITE, SimpleStatement(WRITE), prepared, prepared.bind(())):
        node.forget_requests()
        with busy_loop(session):
            future = session.execute_async(statement)
            wait_until_arrived(node, WRITE)
            # The loop is blocked, so it cannot have processed the answer.
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
    """A direct request is framed and compressed as the connection has negotiated; the node can read
    it.
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
    """Only the first request is direct. While it is in flight, the loop sends the others together
    when it is free.
    """
    pause = hold()
    node.prime(WRITE, pause)
    with busy_loop(session):
        future_in_flight = session.execute_async(WRITE)
        wait_until_arrived(node, WRITE)
        joined_futures = [session.execute_async(READ) for _ in range(20)]
    # Each of these requests waited until the loop was free, and was then sent by the loop.
    wait_until_arrived(node, READ, count=20)
    queries = [request.query for request in node.requests if request.query in (WRITE, READ)]
    assert queries == [WRITE, *[READ] * 20]
    pause.release()
    for future in (future_in_flight, *joined_futures):
        assert future.result().all() == []


def test_requests_in_quick_succession_are_joined(
    node: FakeNode, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Requests in quick succession wait for the loop, which sends them together.

    They wait even if the server has answered the earlier ones.
    """
    monkeypatch.setattr(engine_loop, "IDLE_AFTER", 3600.0)
    until(lambda: is_ready(session))
    # Pretend that no request came for a long time. The work below then begins a new series of
    # requests in quick succession.
    session._inbox._quiet_since = float("-inf")
    assert session._inbox.is_idle()
    for _ in range(2):
        session._inbox.put(NoOpWork())
        until(lambda: is_ready(session))
        with busy_loop(session):
            future = session.execute_async(WRITE)
            # Although no request is in flight, the request has no attempt yet: it waits for the
            # loop.
            assert not future.attempts
        assert future.result().all() == []


class NoOpWork:
    """An entry for the loop's inbox that does nothing."""

    def start(self) -> None:
        pass

    def fail(self, error: BaseException) -> None:
        raise error


def test_requests_stay_behind_work_that_is_queued_on_the_loop(
    node: FakeNode, session: Session
) -> None:
    """If work is queued for the loop, no request is direct, so that requests keep their order."""
    with busy_loop(session):
        session._inbox.put(NoOpWork())
        queries = [f"{WRITE} -- {number}" for number in range(3)]
        futures = [session.execute_async(query) for query in queries]
        assert not any(future.attempts for future in futures)
    for future in futures:
        future.result()
    assert [request.query for request in node.requests[-3:]] == queries


def test_requests_of_a_callback_are_written_by_the_loop(node: FakeNode, session: Session) -> None:
    """A callback runs on the loop's thread, so the requests that it executes are not direct."""
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
    # An empty list means that the request was not direct: a direct one has an attempt when
    # `execute_async` returns.
    assert attempts_at_return == [[]]


@pytest.mark.parametrize("reason", ["use", "speculation", "host", "handler", "large", "first"])
def test_special_requests_are_sent_by_the_loop(node: FakeNode, reason: str) -> None:
    """Requests that need more than one write to one connection wait for the loop.

    These are USE, speculative executions, a named host, request listeners, large requests, and
    values that need a PREPARE first.
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
    """A thread must not write to a TLS connection, because the loop encrypts."""
    connection = connections(session)[0]
    # Pretend that the connection has TLS.
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
    """The policies of an application need not be thread-safe, so only the loop's thread calls
    them.
    """
    policy = ThreadRecordingPolicy()
    with connected(node, policy=TokenAwarePolicy(policy)) as session:
        for _ in range(5):
            session.execute(WRITE)
        assert policy.threads == {session._loop_thread.ident}


def test_only_stock_policies_make_plans_in_any_thread() -> None:
    """Policies of the driver may be called in any thread, unless they call functions of the
    application.
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
    for loop_only_policy in (
        custom_policy,
        TokenAwarePolicy(custom_policy),
        HostFilterPolicy(RoundRobinPolicy(), bool),
        AdaptivePolicy(),
        object(),
    ):
        assert not plans_in_any_thread(loop_only_policy)


def test_a_begun_plan_is_continued_on_the_loop() -> None:
    """If a direct request has begun a query plan, the loop continues that plan.

    If the loop made a second plan, the policy's rotation would skip hosts.
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
            # The first two requests are direct, and stay in flight on both hosts. So the others
            # must be sent by the loop.
            futures = [session.execute_async(WRITE) for _ in range(2)]
            for pause in pauses:
                pause.wait()
            for _ in range(10):
                until(lambda: session._inbox.is_quiet)
                futures.append(session.execute_async(READ))
                futures[-1].result()
            hosts = [future.attempted_hosts[-1].address for future in futures[2:]]
            # The hosts alternate, which shows that each request has made only one plan.
            assert hosts == [hosts[0], hosts[1]] * 5
            assert hosts[0] != hosts[1]
            for pause in pauses:
                pause.release()


# -- time limits -----------------------------------------------------------------------------------


def test_direct_requests_time_out_while_the_loop_sleeps(node: FakeNode, session: Session) -> None:
    """The calling thread writes a direct request to the socket itself. It wakes the loop, which
    sleeps until its next timer, if the request's time-out ends before that.
    """
    node.prime(READ, silence())
    for timeout in (0.05, 0.2, 0.05):
        until(lambda: session._inbox.is_quiet)
        started = time.monotonic()
        with pytest.raises(OperationTimedOut):
            session.execute(READ, timeout=timeout)
        # uvloop rounds timeouts to milliseconds, so allow a small difference
        assert time.monotonic() - started >= timeout - 0.001


def test_the_deadline_is_removed_after_the_answer(session: Session) -> None:
    """Requests that were answered leave no timers behind."""
    for _ in range(50):
        session.execute(WRITE, timeout=3600)
    until(lambda: len(session._engine.timers) == 0)


def test_an_answer_after_the_timeout_is_dropped(node: FakeNode, session: Session) -> None:
    """A direct request that times out keeps its stream, so later requests go through the loop until
    its answer comes.
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
    # When the late answer has come, a caller may again send its request without the loop.
    with busy_loop(session):
        future = session.execute_async(WRITE)
        assert future.attempts
    assert future.result().all() == []


# -- ends ------------------------------------------------------------------------------------------


def test_an_error_of_the_server_reaches_the_retry_policy(node: FakeNode) -> None:
    """The error of a direct request reaches the retry policy, which here raises it."""
    with connected(node) as session:
        node.prime(WRITE, error(ErrorCode.OVERLOADED, "busy"), times=1)
        with busy_loop(session):
            future = session.execute_async(WRITE)
            wait_until_arrived(node, WRITE)
        with pytest.raises(Exception, match="busy"):
            future.result()


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
    """A handler, such as that of a time limit, may raise its error in the thread that is about to
    send. The request then ends with this error, and nothing is sent.
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
    """If the server closes the connection instead of answering a direct request, the request fails.
    The session opens a new connection for the next one.
    """
    node.prime(WRITE, close(), times=1)
    with busy_loop(session):
        future = session.execute_async(WRITE)
        wait_until_arrived(node, WRITE)
    with pytest.raises(ConnectionException):
        future.result()
    assert session.execute(READ).all() == []


def test_a_request_on_a_reset_connection_fails(node: FakeNode, session: Session) -> None:
    """The loop is busy, so the thread writes to a connection whose loss the loop has not
    noticed.
    """
    with busy_loop(session):
        node.drop_connections(reset=True)
        future = session.execute_async(WRITE)
    with pytest.raises(ConnectionException):
        future.result()
    until(lambda: session._engine.pools)
    assert session.execute(READ).all() == []


def test_shutdown_fails_a_direct_request(node: FakeNode) -> None:
    """`shutdown` ends a direct request for which another thread waits without a timeout."""
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
        wait_until_arrived(node, WRITE)
        session.shutdown()
        thread.join(WAIT)
        assert isinstance(errors[0], ConnectionShutdown)
        with pytest.raises(ConnectionShutdown):
            session.execute(READ)


def test_after_shutdown_the_server_sees_closed_connections(
    node: FakeNode, session: Session
) -> None:
    """`shutdown` ends the connection for the server, too: no duplicate of the descriptor keeps the
    socket open.
    """
    session.execute(WRITE)
    stream_tables = [connection.streams for connection in connections(session)]
    session.shutdown()
    node.wait_for(lambda node: len(node.connections) == 1)  # only the control connection is left
    session.cluster.shutdown()
    node.wait_for(lambda node: not node.connections)
    # A closed connection is never idle again, so no thread can send a request on it directly.
    assert not any(streams.is_idle for streams in stream_tables)


def execute_until_error(session: Session, has_begun: threading.Semaphore) -> BaseException:
    """Execute requests until one fails, and return its error.

    :param has_begun: released before the first request.
    """
    has_begun.release()
    while True:
        try:
            session.execute(WRITE, timeout=None)
        except Exception as error:
            return error


def test_shutdown_while_threads_write_directly(node: FakeNode) -> None:
    """Threads that write when the cluster shuts down get SessionShutdown, and send no broken
    frames.
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
    """If the socket accepts only a part of a request, later requests must not be written before the
    rest.
    """
    # The send buffer is small, so the socket accepts only a part of the request.
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
        # When the rest has been written, a caller may again send its request without the loop.
        with busy_loop(session):
            future = session.execute_async(WRITE)
            wait_until_arrived(node, WRITE)
        future.result()


def test_a_partial_write_that_cannot_go_on_times_out(node: FakeNode) -> None:
    """If the peer never reads the rest of a request, that request and all behind it time out."""
    # The send buffer is small, so the socket accepts only a part of the first request.
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
    """If a thread begins a direct write and never finishes it, only its connection is lost.

    This happens if, for example, a signal interrupts the thread.
    """
    monkeypatch.setattr("cassandra.engine.connection.LONGEST_HOLD", 0.05)
    until(lambda: is_ready(session))
    # Take the right to write, as a thread does before it writes, and never release it.
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
    """While a thread holds the right to write, the loop queues its own requests and sends them
    afterwards.
    """
    until(lambda: is_ready(session))
    # Take the right to write, as a thread does before it writes.
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
    """Run a program with one implementation, on uvloop or on asyncio's own loop; return its
    output.
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
    """In a child process `execute` and `execute_async` raise SessionShutdown, and the node gets
    nothing.
    """
    output_lines = run_program(FORK_PROGRAM, implementation, loops).splitlines()
    assert output_lines[:2] == ["SessionShutdown"] * 2
    # In the parent process the session still works, and the node has received only the parent's
    # request.
    assert output_lines[2:] == ["[]", "[\"SELECT 'the parent'\"]"]


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="this system has no such signals")
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
@pytest.mark.parametrize("count", [60, pytest.param(300, marks=pytest.mark.long)])
@pytest.mark.slow
def test_interrupts_leave_nothing_broken(loops: Loops, implementation: str, count: int) -> None:
    """If a signal handler raises while the main thread writes, the session can still be used, and
    no broken frame is sent.
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
    """A signal handler may execute a request, even if it interrupts a request of the same
    session.
    """
    # The program prints the set of all results that the signal handler got: only the empty row.
    program = f"COUNT = {count}\n{HANDLER_PROGRAM}"
    assert run_program(program, implementation, loops) == "{()}\n"
