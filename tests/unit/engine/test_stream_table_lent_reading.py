"""Responses that calling threads read from the socket themselves.

If a thread executes requests one after another, the loop lends it the reading of the connection. So
the responses need not wake the loop's thread. The module `cassandra.engine.stream_table` describes
the details.

Only the compiled version lends the reading. The pure Python version runs the same tests, and must
have the same results.
"""

from __future__ import annotations

import logging
import os
import random
import select
import signal
import socket
import sysconfig
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest

from cassandra import _impl
from cassandra.client.requests import USUAL_OPTIONS
from cassandra.cluster import Session
from cassandra.cluster.response_future import ResponseFuture
from cassandra.engine import connection as engine_connection, loop as engine_loop
from cassandra.engine.connection import Connection
from cassandra.engine.session import EngineSession
from cassandra.errors import (
    ConnectionException,
    ConnectionShutdown,
    InvalidRequest,
    NoHostAvailable,
    OperationTimedOut,
    ProtocolError,
    SessionShutdown,
)
from cassandra.observers import RequestObserver
from cassandra.policies import RoundRobinPolicy
from cassandra.query import SimpleStatement
from cassandra.testing.fake import (
    ErrorCode,
    FakeCluster,
    FakeNode,
    Opcode,
    close,
    corrupted,
    dribble,
    duplicate,
    error,
    garbage,
    half_frame,
    hold,
    message,
    on_stream,
    paged,
    reset,
    rows,
    sequence,
    set_keyspace,
    silence,
)
from tests.processes import WITH_TESTS, run_python
from tests.unit.engine import direct
from tests.unit.loops import Loops
from tests.waiting import WAIT, until

WRITE = "INSERT INTO t (k, v) VALUES (1, 2)"
READ = "SELECT v FROM t"
ODD = "SELECT odd FROM t"
# The loop lets a thread read its responses itself after at most so many requests in a row.
MANY = 60

# True if the loop lends the reading: in the compiled version, with the GIL. Without the GIL,
# compiled code can be interrupted like Python code, so the loop reads all responses itself.
LENDS = _impl.implementation == "c" and not sysconfig.get_config_var("Py_GIL_DISABLED")

pytestmark = [
    pytest.mark.usefixtures("loops"),
    pytest.mark.skipif(not hasattr(socket, "MSG_DONTWAIT"), reason="not on Windows"),
]


@pytest.fixture(autouse=True)
def treat_the_loop_as_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let all requests count as rare, so that even requests in quick succession are direct."""
    monkeypatch.setattr(engine_loop, "IDLE_AFTER", -1.0)


@pytest.fixture
def never_taken_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a thread keep the reading of a connection, even if it does not read.

    Normally, the loop soon reads such a connection itself again.
    """
    monkeypatch.setattr(engine_connection, "LENT_CHECK", 3600.0)


@pytest.fixture
def node() -> Iterator[FakeNode]:
    with FakeNode() as node:
        node.prime(READ, rows([("v", "int")], [(7,)]))
        yield node


connected = partial(direct.connected, compression=False)


@pytest.fixture
def session(node: FakeNode) -> Iterator[Session]:
    with connected(node) as session:
        yield session


@pytest.fixture(params=[False, "lz4"], ids=["plain", "lz4"])
def session_of_either_kind(node: FakeNode, request: pytest.FixtureRequest) -> Iterator[Session]:
    """Yield a session without compression in a test's first run, and with lz4 in its second run."""
    with connected(node, compression=request.param) as session:
        yield session


def streams_of(session: Session) -> Any:
    """Return the stream table of the only connection of the session."""
    ((connection,),) = (pool.connections for pool in session._engine.pools.values())
    return connection.streams


def is_readable(connection: Any) -> bool:
    """Return True if the connection's socket has bytes, an error or its end to read."""
    own_socket = connection._transport.get_extra_info("socket")
    return bool(select.select([own_socket.fileno()], [], [], 0)[0])


def borrow(session: Session) -> None:
    """Execute requests until the loop lets this thread read its responses itself."""
    for _ in range(MANY):
        assert session.execute(WRITE).all() == []
        if streams_of(session).is_lent:
            return
    assert not LENDS, "the loop has not lent the reading"


def check_that_it_works(session: Session) -> None:
    """Execute requests until one succeeds, and then check that many more succeed."""

    def works() -> bool:
        try:
            return session.execute(READ).all() == [(7,)]
        except (ConnectionException, NoHostAvailable):
            return False

    until(works)
    for _ in range(MANY):
        assert session.execute(READ).all() == [(7,)]


def in_thread(call: Callable[[], Any]) -> Any:
    """Start `call` in a new thread, and return its future."""
    pool = ThreadPoolExecutor(1)
    try:
        return pool.submit(call)
    finally:
        pool.shutdown(wait=False)


# -- the common case -------------------------------------------------------------------------------


@pytest.mark.usefixtures("never_taken_back")
def test_a_caller_that_executes_one_by_one_reads_its_answers(
    session_of_either_kind: Session,
) -> None:
    """A thread that executes requests one after another reads its responses itself."""
    borrow(session_of_either_kind)
    if LENDS:
        # `answers_read` counts the responses that calling threads have read themselves.
        read_before = streams_of(session_of_either_kind).answers_read
        for count in range(1, 11):
            assert session_of_either_kind.execute(READ).all() == [(7,)]
            assert streams_of(session_of_either_kind).answers_read == read_before + count
    assert session_of_either_kind.execute(WRITE).all() == []


def test_prepared_statements_and_batches(node: FakeNode, session: Session) -> None:
    node.prime_prepare("SELECT v FROM t WHERE k = ?", [("k", "int")], [("v", "int")])
    node.prime("SELECT v FROM t WHERE k = ?", rows([("v", "int")], [(9,)]))
    select = session.prepare("SELECT v FROM t WHERE k = ?")
    for key in range(MANY):
        assert session.execute(select, (key,)).one().v == 9
    assert node.malformed == []


def test_with_observers_the_loop_reads(node: FakeNode) -> None:
    """With request observers, the loop reads all responses, because it must call the observers."""
    ends: list[int] = []

    class Watching(RequestObserver):
        def on_end(self, request: object) -> None:
            ends.append(threading.get_ident())

    with connected(node, observers=[Watching()]) as session:
        for _ in range(MANY):
            session.execute(WRITE)
        until(lambda: len(ends) >= MANY)
        assert threading.get_ident() not in ends
        assert streams_of(session).answers_read == 0


@pytest.mark.skipif(not LENDS, reason="the Python implementation does not lend")
def test_an_idle_connection_is_read_by_the_loop_again(session: Session) -> None:
    """If the thread that reads a connection executes no more requests, the loop reads again."""
    borrow(session)
    until(lambda: not streams_of(session).is_lent)
    assert session.execute(READ).all() == [(7,)]


# -- other requests on a connection whose reading is lent ------------------------------------------


@pytest.mark.usefixtures("never_taken_back")
def test_asynchronous_requests_are_answered(session: Session) -> None:
    """Responses to `execute_async` arrive, although the connection is read by a calling thread."""
    borrow(session)
    assert session.execute_async(READ).result().all() == [(7,)]
    borrow(session)
    arrived = threading.Event()
    session.execute_async(READ).add_callback(lambda found: arrived.set())
    assert arrived.wait(WAIT)


@pytest.mark.usefixtures("never_taken_back")
def test_other_threads_are_answered_while_a_caller_waits(node: FakeNode, session: Session) -> None:
    """While one thread waits at the socket for its response, another thread gets its response."""
    held = hold(rows([("v", "int")], [(1,)]))
    node.prime(ODD, held)
    borrow(session)
    waiting = in_thread(lambda: session.execute(ODD).all())
    held.wait()
    assert session.execute(READ).all() == [(7,)]
    held.release()
    assert waiting.result(WAIT) == [(1,)]


@pytest.mark.usefixtures("never_taken_back")
def test_answers_to_two_threads_come_together(node: FakeNode, session: Session) -> None:
    """If a thread also reads another thread's response, both threads get their rows."""
    held = hold(rows([("v", "int")], [(1,)]))
    node.prime(ODD, held)
    borrow(session)
    first = in_thread(lambda: session.execute(ODD).all())
    held.wait()
    second = in_thread(lambda: session.execute(ODD).all())
    held.wait(2)
    held.release_all()
    assert first.result(WAIT) == second.result(WAIT) == [(1,)]


@pytest.mark.usefixtures("never_taken_back")
def test_further_pages(node: FakeNode, session: Session) -> None:
    """Rows of further pages arrive on a connection that the calling thread reads itself."""
    node.prime(ODD, paged([("v", "int")], [(number,) for number in range(50)]))
    borrow(session)
    statement = SimpleStatement(ODD, fetch_size=5)
    assert [row.v for row in session.execute(statement)] == list(range(50))


@pytest.mark.usefixtures("never_taken_back")
def test_a_change_of_the_keyspace_waits_for_the_caller(node: FakeNode, session: Session) -> None:
    """If a USE is executed while a caller reads its own response, both calls succeed."""
    held = hold(rows([("v", "int")], [(1,)]))
    node.prime(ODD, held)
    node.prime("USE other", set_keyspace("other"))
    borrow(session)
    waiting = in_thread(lambda: session.execute(ODD).all())
    held.wait()
    changing = in_thread(lambda: session.set_keyspace("other"))
    held.release()
    assert waiting.result(WAIT) == [(1,)]
    changing.result(WAIT)
    assert session.execute(READ).all() == [(7,)]
    assert session.keyspace == "other"


# -- responses that are not plain ------------------------------------------------------------------


@pytest.mark.usefixtures("never_taken_back")
@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (error(ErrorCode.INVALID, "wrong"), InvalidRequest),
        (close(), ConnectionException),
        (reset(), ConnectionException),
        (half_frame(rows([("v", "int")], [(7,)]), 12), ConnectionException),
        (garbage(), (ConnectionException, ProtocolError)),
        (corrupted(rows([("v", "int")], [(7,)]), -5), (ConnectionException, ProtocolError)),
        (on_stream(rows([("v", "int")], [(7,)]), 99), (ConnectionException, ProtocolError)),
    ],
    ids=["error", "close", "reset", "half a frame", "garbage", "corrupted", "another stream"],
)
def test_other_answers_have_the_same_effect_as_on_the_loop(
    node: FakeNode, session: Session, answer: Any, expected: Any
) -> None:
    """A caller that reads its own response raises the same error as a caller that the loop serves.

    Later requests work.
    """
    node.prime(ODD, sequence(answer, rows([("v", "int")], [(1,)])))
    borrow(session)
    with pytest.raises(expected):
        session.execute(ODD, timeout=WAIT)
    check_that_it_works(session)


@pytest.mark.usefixtures("never_taken_back")
def test_rows_of_the_wrong_form_close_the_connection(node: FakeNode, session: Session) -> None:
    """If the rows in a response are damaged, `execute` raises, and later requests work."""
    node.prime(ODD, message(Opcode.RESULT, b"\0\0\0\2\0\0\0\1\0\0\0\1"))
    borrow(session)
    with pytest.raises(ProtocolError, match="a malformed RESULT message"):
        session.execute(ODD, timeout=WAIT)
    check_that_it_works(session)


@pytest.mark.usefixtures("never_taken_back")
def test_an_answer_that_comes_twice_breaks_the_connection(node: FakeNode, session: Session) -> None:
    """A second response to the same request closes the connection, and later requests work."""
    node.prime(ODD, duplicate(rows([("v", "int")], [(1,)])))
    borrow(session)
    try:
        assert session.execute(ODD).all() == [(1,)]
    except (ConnectionException, ProtocolError):
        pass  # the loop has received both responses at once
    check_that_it_works(session)


@pytest.mark.usefixtures("never_taken_back")
def test_an_answer_that_comes_byte_by_byte(node: FakeNode, session_of_either_kind: Session) -> None:
    """A caller that reads its own response waits until all bytes of the response have come."""
    node.prime(ODD, dribble(rows([("v", "int"), ("w", "text")], [(1, "x" * 200)])))
    borrow(session_of_either_kind)
    for _ in range(3):
        assert session_of_either_kind.execute(ODD).one().w == "x" * 200


@pytest.mark.usefixtures("never_taken_back")
def test_an_answer_larger_than_the_buffer(node: FakeNode, session_of_either_kind: Session) -> None:
    """A caller can read a response of 5 MB, which does not fit into the connection's buffer."""
    node.prime(ODD, rows([("v", "blob")], [(b"y" * 5_000_000,)]))
    borrow(session_of_either_kind)
    for _ in range(3):
        assert len(session_of_either_kind.execute(ODD).one().v) == 5_000_000


@pytest.mark.usefixtures("never_taken_back")
def test_warnings_of_the_server_are_logged(
    node: FakeNode, session: Session, caplog: pytest.LogCaptureFixture
) -> None:
    """A server's warnings are available if the caller reads the response itself."""
    node.prime(ODD, rows([("v", "int")], [(1,)]).having(warnings=["be careful"]))
    borrow(session)
    with caplog.at_level(logging.WARNING):
        assert session.execute(ODD).response_future.warnings == ["be careful"]


# -- the end of a wait -----------------------------------------------------------------------------


@pytest.mark.usefixtures("never_taken_back")
def test_a_request_times_out_while_its_caller_reads(node: FakeNode, session: Session) -> None:
    """A caller that reads its own response stops waiting after its timeout."""
    node.prime(ODD, silence())
    borrow(session)
    with pytest.raises(OperationTimedOut):
        session.execute(ODD, timeout=0.05)
    check_that_it_works(session)


@pytest.mark.usefixtures("never_taken_back")
def test_a_late_answer_is_dropped(node: FakeNode, session: Session) -> None:
    """The late response of a request that timed out is dropped, and its stream is free again."""
    held = hold(rows([("v", "int")], [(1,)]))
    node.prime(ODD, held)
    borrow(session)
    with pytest.raises(OperationTimedOut):
        session.execute(ODD, timeout=0.05)
    held.release()
    check_that_it_works(session)
    until(lambda: streams_of(session).orphans == 0)


@pytest.mark.usefixtures("never_taken_back")
@pytest.mark.parametrize("with_reset", [False, True])
def test_the_node_closes_an_idle_connection(
    node: FakeNode, session: Session, with_reset: bool
) -> None:
    """If the node closes the connection while no request is in flight, later requests work."""
    borrow(session)
    node.drop_connections(reset=with_reset)
    check_that_it_works(session)


def test_the_end_of_an_idle_connection_is_noticed(node: FakeNode, session: Session) -> None:
    """The loop notices the end of a connection that is left to a calling thread to read.

    The thread does not read, because it executes no request.
    """
    borrow(session)
    ((connection,),) = (pool.connections for pool in session._engine.pools.values())
    node.drop_connections()
    until(lambda: connection.closed)


@pytest.mark.usefixtures("never_taken_back")
@pytest.mark.parametrize("with_reset", [False, True])
def test_a_request_is_not_sent_into_a_connection_that_has_ended(with_reset: bool) -> None:
    """If a node closes a connection that a thread reads, the next requests go to another node.

    The loop has not noticed that the connection has ended. The requests may not be retried, so they
    must not be sent on this connection.
    """
    with FakeCluster(2) as nodes:
        for node in nodes.nodes:
            node.prime(READ, rows([("v", "int")], [(7,)]))
        with connected(nodes[0]) as session:
            until(lambda: len(session._engine.pools) == 2)
            # After so many requests, the calling thread reads both connections itself.
            for _ in range(2 * MANY):
                session.execute(READ)
            pools = session._engine.pools
            ((ended,),) = (
                pools[host].connections for host in pools if host.address == node.address
            )
            assert ended.streams.is_lent or not LENDS
            # End the connections of the second node, and wait until the end is readable or was
            # noticed.
            node.drop_connections(reset=with_reset)
            until(lambda: ended.closed or (LENDS and is_readable(ended)))
            for _ in range(MANY):
                assert session.execute(READ).all() == [(7,)]
            assert ended.closed


@pytest.mark.usefixtures("never_taken_back")
def test_shutdown_ends_the_wait(node: FakeNode) -> None:
    """`Cluster.shutdown` ends a request without a timeout whose caller reads the connection."""
    with connected(node) as session:
        node.prime(ODD, held := hold())
        borrow(session)
        waiting = in_thread(lambda: session.execute(ODD, timeout=None))
        held.wait()
        session.cluster.shutdown()
        with pytest.raises((ConnectionShutdown, SessionShutdown, ConnectionException)):
            waiting.result(WAIT)


@pytest.mark.usefixtures("never_taken_back")
def test_a_connection_that_drains_is_replaced(node: FakeNode, session: Session) -> None:
    """If a connection drains while a thread reads from it, the thread still gets the response.

    Later requests use a new connection.
    """
    held = hold(rows([("v", "int")], [(1,)]))
    node.prime(ODD, held)
    borrow(session)
    waiting = in_thread(lambda: session.execute(ODD).all())
    held.wait()
    ((connection,),) = (pool.connections for pool in session._engine.pools.values())
    connection._loop.call_soon_threadsafe(connection.start_draining)
    until(lambda: connection.is_draining)
    held.release()
    assert waiting.result(WAIT) == [(1,)]
    check_that_it_works(session)


@contextmanager
def interrupted(held: Any, handle: Callable[[], None]) -> Iterator[None]:
    """Inside the `with` block, call `handle` once from a signal handler in the main thread.

    It is called when the request of `held` has arrived.
    """
    main_thread = threading.main_thread().ident
    assert main_thread is not None
    has_begun = threading.Event()

    def begin(*_: object) -> None:
        if not has_begun.is_set():
            has_begun.set()
            handle()

    def is_handled() -> bool:
        # A signal that arrives just before the thread starts to wait does not end the wait, so send
        # signals until the handler has run.
        signal.pthread_kill(main_thread, signal.SIGUSR1)
        return has_begun.is_set()

    def interrupt() -> None:
        held.wait()
        until(is_handled)

    earlier_handler = signal.signal(signal.SIGUSR1, begin)
    try:
        interrupting = in_thread(interrupt)
        yield
        interrupting.result(WAIT)
    finally:
        signal.signal(signal.SIGUSR1, earlier_handler)


@pytest.mark.usefixtures("never_taken_back")
@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="this system has no such signals")
@pytest.mark.skipif(
    threading.current_thread() is not threading.main_thread(), reason="not in the main thread"
)
def test_an_interrupted_caller_leaves_the_rest_to_the_loop(
    node: FakeNode, session: Session
) -> None:
    """If a signal handler raises in a caller that reads, the loop reads the late response.

    Later requests work, and no stream stays in use.
    """
    held = hold(rows([("v", "int")], [(1,)]))
    node.prime(ODD, held)
    borrow(session)

    class Interrupt(Exception):
        pass

    def handle() -> None:
        raise Interrupt

    with interrupted(held, handle), pytest.raises(Interrupt):
        session.execute(ODD, timeout=WAIT)
    held.release()
    check_that_it_works(session)
    until(lambda: streams_of(session).in_flight == 0)


@pytest.mark.usefixtures("never_taken_back")
@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="this system has no such signals")
@pytest.mark.parametrize("compression", [False, "lz4"])
def test_a_signal_handler_may_execute_while_its_thread_waits(
    node: FakeNode, compression: Any
) -> None:
    """A signal handler may execute a request while its thread reads another response."""
    held = hold(rows([("v", "int")], [(1,)]))
    node.prime(ODD, held)
    answers: list[Any] = []
    with connected(node, compression=compression) as session:
        borrow(session)

        def handle() -> None:
            answers.append(session.execute(READ, timeout=WAIT).all())
            held.release()

        with interrupted(held, handle):
            assert session.execute(ODD, timeout=WAIT).all() == [(1,)]
        assert answers == [[(7,)]]
        check_that_it_works(session)


@contextmanager
def signals(handler: Callable[[], None]) -> Iterator[Callable[[], None]]:
    """Yield a function that sends a signal to the main thread.

    For each call of the function, the main thread calls `handler`.
    """
    main_thread = threading.main_thread().ident
    assert main_thread is not None
    earlier_handler = signal.signal(signal.SIGUSR1, lambda *_: handler())
    try:
        yield lambda: signal.pthread_kill(main_thread, signal.SIGUSR1)
    finally:
        signal.signal(signal.SIGUSR1, earlier_handler)


@pytest.mark.usefixtures("never_taken_back")
@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="this system has no such signals")
@pytest.mark.parametrize("error_class", [KeyboardInterrupt, ArithmeticError])
def test_an_interrupt_while_the_answer_is_decoded(
    session: Session, monkeypatch: pytest.MonkeyPatch, error_class: type[BaseException]
) -> None:
    """If a signal handler raises while the response is decoded, the caller gets its error.

    The stream must be free afterwards.
    """

    def raise_error() -> None:
        raise error_class("from the handler")

    def execute_and_sleep() -> None:
        session.execute(READ, timeout=WAIT)
        time.sleep(WAIT)

    decode = EngineSession.decode

    def decode_and_interrupt(*args: Any) -> Any:
        monkeypatch.setattr(EngineSession, "decode", decode)
        send_signal()
        return decode(*args)

    borrow(session)
    with signals(raise_error) as send_signal:
        monkeypatch.setattr(EngineSession, "decode", decode_and_interrupt)
        with pytest.raises(error_class, match="from the handler"):
            # If the loop reads the responses itself, the handler may interrupt the main thread only
            # after the call.
            execute_and_sleep()
    until(lambda: streams_of(session).in_flight == 0)
    check_that_it_works(session)


def note_futures(session: Session) -> list[ResponseFuture]:
    """Return a list to which each later request of the session adds its future."""
    futures: list[ResponseFuture] = []
    session.add_request_init_listener(futures.append)
    return futures


@pytest.mark.usefixtures("never_taken_back")
@pytest.mark.parametrize("method", ["_copy_details", "_complete"])
def test_an_interrupt_while_the_future_is_completed(
    session: Session, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    """If a handler raises while a future is completed, another thread gets the result.

    The handler is the handler of a signal.
    """
    original = getattr(ResponseFuture, method)

    # The first call restores the method, and raises in the main thread, like a signal handler.
    def interrupted(self: ResponseFuture, *args: Any) -> Any:
        monkeypatch.setattr(ResponseFuture, method, original)
        if threading.current_thread() is threading.main_thread():
            raise KeyboardInterrupt
        return original(self, *args)

    borrow(session)
    futures = note_futures(session)
    monkeypatch.setattr(ResponseFuture, method, interrupted)
    try:
        session.execute(READ, timeout=WAIT)
    except KeyboardInterrupt:
        pass
    assert in_thread(lambda: futures[-1].result().all()).result(WAIT) == [(7,)]
    check_that_it_works(session)


@pytest.mark.usefixtures("never_taken_back")
def test_an_interrupt_of_the_caller_is_not_the_outcome_for_others(
    node: FakeNode, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a signal handler raises in the reading thread, other threads still get the rows.

    Here, the handler raises while the caller decodes the response. Callbacks must be called as
    well.
    """
    held = hold(rows([("v", "int")], [(1,)]))
    node.prime(ODD, held)
    borrow(session)
    futures = note_futures(session)
    decode = EngineSession.decode
    found_by_callback: list[Any] = []

    def decode_or_be_interrupted(*args: Any) -> Any:
        if threading.current_thread() is threading.main_thread():
            raise KeyboardInterrupt
        return decode(*args)

    # This thread waits for the same future, and adds a callback before the response arrives.
    def wait_too() -> Any:
        held.wait()
        futures[-1].add_callback(found_by_callback.append)
        held.release()
        return futures[-1].result().all()

    monkeypatch.setattr(EngineSession, "decode", decode_or_be_interrupted)
    waiting = in_thread(wait_too)
    try:
        session.execute(ODD, timeout=WAIT)
    except KeyboardInterrupt:
        pass
    assert waiting.result(WAIT) == [(1,)]
    until(lambda: found_by_callback == [[(1,)]])
    check_that_it_works(session)


@pytest.mark.usefixtures("never_taken_back")
@pytest.mark.parametrize("while_reading", [False, True])
def test_callbacks_run_on_the_loop(node: FakeNode, session: Session, while_reading: bool) -> None:
    """Callbacks run on the loop, even if the caller reads the response itself.

    They may be added before the caller starts to read, or while it reads.
    """
    held = hold(rows([("v", "int")], [(1,)]))
    node.prime(ODD, held)
    idents: list[int] = []
    is_added = threading.Event()

    # The callback records the thread in which it runs.
    def add_callback(future: ResponseFuture) -> None:
        future.add_callback(lambda found: idents.append(threading.get_ident()))
        is_added.set()

    borrow(session)
    futures = note_futures(session)
    if not while_reading:
        session.add_request_init_listener(add_callback)
    waiting = in_thread(lambda: session.execute(ODD).all())
    held.wait()
    if while_reading:
        add_callback(futures[-1])
    assert is_added.wait(WAIT)
    held.release()
    assert waiting.result(WAIT) == [(1,)]
    until(lambda: idents)
    assert set(idents) <= session._loops.idents


@pytest.mark.usefixtures("never_taken_back")
def test_methods_of_tracing_libraries_run_on_the_loop(node: FakeNode, session: Session) -> None:
    """If a tracing library replaces `_set_final_result`, its method runs on the loop."""
    held = hold(rows([("v", "int")], [(1,)]))
    node.prime(ODD, held)
    execute_async = session.execute_async
    idents: list[int] = []
    is_traced = threading.Event()

    # Replace a method of each future, as some tracing libraries do.
    def execute_traced(*args: Any) -> Any:
        future = execute_async(*args)
        own = future._set_final_result

        def set_final_result(response: object) -> None:
            idents.append(threading.get_ident())
            own(response)

        future._set_final_result = set_final_result
        is_traced.set()
        return future

    borrow(session)
    session.execute_async = execute_traced  # type: ignore[assignment,method-assign]
    waiting = in_thread(lambda: session.execute(ODD).all())
    assert is_traced.wait(WAIT)
    held.release()
    assert waiting.result(WAIT) == [(1,)]
    assert set(idents) <= session._loops.idents


def test_a_caller_that_disappears_between_sending_and_reading(
    node: FakeNode, session: Session
) -> None:
    """If a thread sends a request but never reads its response, the loop reads the response.

    If this happens repeatedly, the loop reads all later responses itself.
    """
    for _ in range(MANY):
        # Send a request as `execute` does, but do not wait for its response.
        future = session._begin(READ, None, USUAL_OPTIONS, None, None, None, None, is_awaited=True)
        until(partial(getattr, future, "is_over"))
        assert future.result().all() == [(7,)]
    assert streams_of(session).answers_read == 0


@pytest.mark.parametrize("replaces", ["method", "attribute", "result"])
def test_nothing_is_lent_to_code_that_replaces_execute_async_or_result(
    session: Session, monkeypatch: pytest.MonkeyPatch, replaces: str
) -> None:
    """If code replaces `execute_async` or `result`, the loop reads all responses itself.

    Such code may wait for the future in its own way, for example with a callback.
    """
    original = Session.execute_async

    # Wait for the future by a callback, which runs on the loop.
    def execute_async(self: Session, *args: Any) -> ResponseFuture:
        future = original(self, *args)
        is_over = threading.Event()
        future.add_callback(lambda rows: is_over.set())
        assert is_over.wait(WAIT)
        return future

    if replaces == "result":
        original_result = ResponseFuture.result

        def result(self: ResponseFuture) -> Any:
            is_over = threading.Event()
            self.add_callback(lambda rows: is_over.set())
            assert is_over.wait(WAIT)
            return original_result(self)

        monkeypatch.setattr(ResponseFuture, "result", result)
    elif replaces == "method":
        session.__class__ = type("OwnSession", (Session,), {"execute_async": execute_async})
    else:
        session.execute_async = partial(execute_async, session)  # type: ignore[method-assign]
    for _ in range(MANY):
        assert session.execute(READ).all() == [(7,)]
        assert not streams_of(session).is_lent


@pytest.mark.usefixtures("never_taken_back")
def test_a_nested_call_that_waits_by_a_callback_is_answered_by_the_loop(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A nested request that waits for a callback is answered by the loop.

    A signal handler may execute such a request while its thread is about to send another request.
    """
    make_query_plan = RoundRobinPolicy.make_query_plan
    answers: list[Any] = []

    def execute_first(self: RoundRobinPolicy, *args: Any) -> Any:
        monkeypatch.setattr(RoundRobinPolicy, "make_query_plan", make_query_plan)
        session.execute_async(READ).add_callback(answers.append)
        until(lambda: answers)
        return make_query_plan(self, *args)

    borrow(session)
    if LENDS:
        monkeypatch.setattr(RoundRobinPolicy, "make_query_plan", execute_first)
        assert session.execute(READ).all() == [(7,)]
        assert answers == [[(7,)]]


@pytest.mark.parametrize("with_pages", [False, True])
def test_prepared_queries_are_read_by_their_callers(
    node: FakeNode, session: Session, monkeypatch: pytest.MonkeyPatch, with_pages: bool
) -> None:
    """Rows of a prepared statement are read by the caller, not handed over to the loop.

    This holds even if the server sends no columns with the rows, and if more pages follow.
    """
    query = "SELECT v FROM t WHERE k = ?"
    node.prime_prepare(query, [("k", "int")], [("v", "int")])
    node.prime(query, paged([("v", "int")], [(1,), (2,)] if with_pages else [(1,)]))
    prepared = session.prepare(query)
    prepared.fetch_size = 1
    handed_over: list[Any] = []
    monkeypatch.setattr(Connection, "take_over_answer", handed_over.append)
    borrow(session)
    for _ in range(MANY):
        assert session.execute(prepared, (1,)).current_rows == [(1,)]
    assert handed_over == []


FORK_PROGRAM = """
import functools, os, signal, sys, threading, time
from cassandra.cluster import Cluster, Session
from cassandra.testing.fake import FakeNode, hold, rows

with FakeNode() as node:
    held = hold(rows([("v", "int")], [(1,)]))
    node.prime("SELECT odd FROM t", held)
    session = Cluster([node.address], port=node.port, compression=False).connect()
    if not IS_LENT:
        session.execute_async = functools.partial(Session.execute_async, session)
    for _ in range(30):
        session.execute("SELECT 1")
    children = []
    parent = os.getpid()

    def fork(*_):
        if not children:
            children.append(os.fork())

    signal.signal(signal.SIGUSR1, fork)

    def send():
        held.wait()
        # A signal that comes just before the thread begins to wait does not end the wait.
        while not children:
            os.kill(parent, signal.SIGUSR1)
            time.sleep(0.05)
        held.release()

    threading.Thread(target=send, daemon=True).start()
    try:
        result = session.execute("SELECT odd FROM t", timeout=20).all()
    except Exception as error:
        result = type(error).__name__
    if os.getpid() != parent:
        os._exit(0 if result == "ConnectionShutdown" else 1)
    print(result, os.waitpid(children[0], 0)[1])
    session.cluster.shutdown()
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork") or not LENDS, reason="no fork, or nothing is lent")
@pytest.mark.parametrize("is_lent", [True, False])
def test_the_answer_belongs_to_the_parent_if_a_handler_forks(loops: Loops, is_lent: bool) -> None:
    """If a signal handler forks during a call, only the parent gets the response.

    The child gets an error. The call may be waiting for bytes or for the loop.
    """
    process = run_python(
        ("import sys; sys.modules['uvloop'] = None\n" if loops.name == "asyncio" else "")
        + f"IS_LENT = {is_lent}\n"
        + FORK_PROGRAM,
        WITH_TESTS,
        timeout=60,
    )
    assert process.stdout == "[Row(v=1)] 0\n", process.stderr


# -- many at once ----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_threads_of_all_kinds_get_their_own_answers(seed: int) -> None:
    """Whatever other threads do on the same connection, each response belongs to its request.

    Threads execute requests one by one or asynchronously; there are timeouts and lost connections.
    """
    random_numbers = random.Random(seed)
    with FakeNode() as node:
        for number in range(10):
            node.prime(f"SELECT {number}", rows([("v", "int")], [(number,)]))
        node.prime("SELECT slow", silence())
        with connected(node, compression="lz4" if seed else False) as session:

            def work(seed: int) -> int:
                """Execute random requests, and return how many of them were answered."""
                choices = random.Random(seed)
                answered = 0
                for _ in range(150):
                    number = choices.randrange(10)
                    kind = choices.random()
                    # 2 % of the requests get no response, and another 8 % are asynchronous.
                    try:
                        if kind < 0.02:
                            session.execute("SELECT slow", timeout=0.01)
                        elif kind < 0.1:
                            found = session.execute_async(f"SELECT {number}").result()
                        else:
                            found = session.execute(f"SELECT {number}", timeout=WAIT)
                        if kind >= 0.02:
                            assert found.all() == [(number,)]
                            answered += 1
                    except OperationTimedOut:
                        assert kind < 0.02
                    except (ConnectionException, NoHostAvailable):
                        # The node has dropped its connections.
                        pass
                return answered

            with ThreadPoolExecutor(3) as pool:
                alone = work(seed)
                together = [pool.submit(work, seed + number) for number in range(3)]
                node.drop_connections(reset=random_numbers.random() < 0.5)
                counts = [future.result(WAIT) for future in together]
            assert alone > 100
            assert sum(counts) > 100
            assert node.malformed == []
