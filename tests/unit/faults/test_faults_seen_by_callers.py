"""Tests of faults as callers of each API see them.

Callers of the blocking API, and of its futures, run in other threads than the engine.
"""

from __future__ import annotations

import asyncio
import math
import sys
import threading
import traceback
from collections.abc import Iterator
from typing import Any

import pytest

from cassandra import aio
from cassandra.cluster import Cluster, ExecutionProfile, ResponseFuture
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.errors import (
    ConnectionException,
    ConnectionShutdown,
    DriverException,
    NoHostAvailable,
    OperationTimedOut,
    SessionShutdown,
)
from cassandra.policies.balancing import HostStateListener
from cassandra.policies.reconnection import ConstantReconnectionPolicy
from cassandra.policies.retry import FallthroughRetryPolicy
from cassandra.query import SimpleStatement
from cassandra.testing.fake import (
    ErrorCode,
    FakeCluster,
    FakeNode,
    Opcode,
    close,
    error,
    half_frame,
    hold,
    message,
    paged,
    reset,
    rows,
    sequence,
    silence,
)
from tests.unit.engine.faults import READ, WAIT, connected, int_row, profile
from tests.waiting import until

OTHER = "SELECT k FROM other"


@pytest.fixture
def node() -> Iterator[FakeNode]:
    with FakeNode() as running:
        running.prime(OTHER, int_row(1))
        yield running
        assert running.malformed == []


@pytest.fixture(autouse=True)
def check_threads() -> Iterator[None]:
    """Check that each test leaves no threads behind."""
    threads_before = set(threading.enumerate())
    yield
    new_threads = set(threading.enumerate()) - threads_before
    assert [thread.name for thread in new_threads] == []


def cluster_with_defaults(nodes: FakeNode | FakeCluster, **settings: Any) -> Cluster:
    """Return a cluster that tries to reconnect to a host that is down every 10 ms, without end."""
    contact_points = [nodes.address] if isinstance(nodes, FakeNode) else nodes.contact_points
    defaults = {
        "execution_profiles": profile(),
        "reconnection_policy": ConstantReconnectionPolicy(delay=0.01, max_attempts=None),
        "connect_timeout": 2.0,
    }
    return Cluster(contact_points, port=nodes.port, **{**defaults, **settings})


def result_or_error(future: ResponseFuture) -> Any:
    """Return the result or the error of a future, which must come within `WAIT` seconds."""
    has_ended = threading.Event()
    outcomes: list[Any] = []

    def keep_outcome(value: Any) -> None:
        outcomes.append(value)
        has_ended.set()

    future.add_callbacks(keep_outcome, keep_outcome)
    assert has_ended.wait(WAIT), f"no outcome within {WAIT} s"
    return outcomes[0]


@pytest.mark.parametrize(
    "ending", [close(), reset(), half_frame(int_row(7), 11)], ids=["close", "reset", "half"]
)
def test_if_the_connection_ends_all_its_futures_fail(node: FakeNode, ending: Any) -> None:
    """If a connection ends, all its futures raise ConnectionException.

    A later request succeeds.
    """
    held = hold()
    node.prime(READ, held)
    node.prime("end", ending, times=1)
    with cluster_with_defaults(node) as cluster, cluster.connect() as session:
        futures = [session.execute_async(READ) for _ in range(50)]
        held.wait(50)
        futures.append(session.execute_async("end"))
        for future in futures:
            assert isinstance(result_or_error(future), ConnectionException)
            with pytest.raises(ConnectionException, match=node.endpoint):
                future.result()
        assert session.execute(OTHER).one().k == 1


def test_shutdown_fails_the_calls_of_other_threads(node: FakeNode) -> None:
    """When the cluster is shut down, calls in other threads raise SessionShutdown.

    Later calls are refused.
    """
    held = hold()
    node.prime(READ, held)
    cluster = cluster_with_defaults(node)
    session = cluster.connect()
    errors: list[Exception] = []

    def execute() -> None:
        try:
            session.execute(READ)
        except Exception as failure:
            errors.append(failure)

    # Shut the cluster down while five threads wait for responses.
    threads = [threading.Thread(target=execute) for _ in range(5)]
    for thread in threads:
        thread.start()
    held.wait(5)
    cluster.shutdown()
    for thread in threads:
        thread.join(WAIT)
        assert not thread.is_alive()
    assert [type(failure) for failure in errors] == [SessionShutdown] * 5
    with pytest.raises(ConnectionShutdown):
        session.execute(OTHER)
    with pytest.raises(ConnectionException):
        cluster.connect()


def test_a_late_answer_is_dropped(node: FakeNode) -> None:
    """The late response of a request that timed out is given to no other request."""
    late = hold(int_row(13))
    node.prime(READ, late)
    with cluster_with_defaults(node) as cluster, cluster.connect() as session:
        with pytest.raises(OperationTimedOut):
            session.execute(READ, timeout=0.03)
        futures = [session.execute_async(OTHER) for _ in range(20)]
        # The late response to the first request arrives among the responses to the other requests.
        late.release()
        futures += [session.execute_async(OTHER) for _ in range(20)]
        assert [future.result().one().k for future in futures] == [1] * 40


def test_a_callback_that_raises_does_not_affect_others(
    node: FakeNode, caplog: pytest.LogCaptureFixture
) -> None:
    """If callbacks raise errors, the results are still available, and the errors are logged."""
    held = hold(int_row(7))
    node.prime(READ, held)
    with cluster_with_defaults(node) as cluster, cluster.connect() as session:
        futures = [session.execute_async(READ) for _ in range(3)]
        for future in futures:
            future.add_callback(lambda page: 1 / 0)
        held.wait(3)
        held.release_all()
        assert [future.result().one().k for future in futures] == [7, 7, 7]
        assert session.execute(OTHER).one().k == 1
    assert "ZeroDivisionError" in caplog.text


def test_blocking_calls_in_a_callback_are_refused(node: FakeNode) -> None:
    """Blocking calls in a callback on the event loop raise RuntimeError.

    Such a call would wait for the event loop, while the loop's thread runs the callback.
    """
    held = hold(int_row(7))
    node.prime(READ, held)
    with cluster_with_defaults(node) as cluster, cluster.connect() as session:
        refusals: list[Exception] = []
        has_ended = threading.Event()

        def make_blocking_calls(_: Any) -> None:
            calls: list[Any] = [
                lambda: session.execute(OTHER),
                lambda: session.prepare(OTHER),
                cluster.shutdown,
                lambda: session.execute_async(OTHER).result(),
            ]
            for call in calls:
                try:
                    call()
                except RuntimeError as failure:
                    refusals.append(failure)
            has_ended.set()

        # The node holds its response until the callback is added, so that the callback runs on the
        # event loop.
        future = session.execute_async(READ)
        future.add_callback(make_blocking_calls)
        held.release()
        assert has_ended.wait(WAIT)
        # Each of the four calls was refused.
        assert len(refusals) == 4
        assert session.execute(OTHER).one().k == 1


def test_an_error_of_a_row_factory_is_raised(node: FakeNode) -> None:
    """An error in the application's row factory is raised to the caller.

    Later requests work.
    """
    node.prime(READ, int_row(7))

    def broken_factory(names: Any, values: Any) -> Any:
        raise ZeroDivisionError("a mistake in the factory")

    profiles = {**profile(), "broken": ExecutionProfile(row_factory=broken_factory)}
    with (
        cluster_with_defaults(node, execution_profiles=profiles) as cluster,
        cluster.connect() as session,
    ):
        for _ in range(2):
            with pytest.raises(ZeroDivisionError):
                session.execute(READ, execution_profile="broken").all()
        assert session.execute(OTHER).one().k == 1


def test_after_a_failed_page_the_statement_can_be_repeated(node: FakeNode) -> None:
    """If a page fails during an iteration, executing the statement again returns all rows."""
    pages = paged([("k", "int")], [(value,) for value in range(9)])
    # The first request for a second page fails.
    further_pages = sequence(error(ErrorCode.OVERLOADED, "busy"), pages)
    node.prime(READ, lambda request: further_pages if request.paging_state else pages)
    with cluster_with_defaults(node) as cluster, cluster.connect() as session:
        result = session.execute(SimpleStatement(READ, fetch_size=3))
        keys = []
        with pytest.raises(DriverException, match="busy"):
            keys += [row.k for row in result]
        result = session.execute(SimpleStatement(READ, fetch_size=3))
        assert [row.k for row in result] == list(range(9))


def test_execute_concurrent_returns_the_errors_of_some_statements(node: FakeNode) -> None:
    """With `raise_on_first_error=False`, an error is the result of its statement.

    The results are in the order of the statements.
    """
    query = "INSERT INTO t (k) VALUES (?)"
    refusal = error(ErrorCode.INVALID, "a multiple of 10")

    def refuse_multiples_of_10(request: Any) -> Any:
        value = int.from_bytes(request.values[0], "big")
        return refusal if value % 10 == 0 else rows([("k", "int")])

    node.prime(Opcode.EXECUTE, refuse_multiples_of_10)
    with cluster_with_defaults(node) as cluster, cluster.connect() as session:
        statement = session.prepare(query)
        results = execute_concurrent_with_args(
            session,
            statement,
            [(value,) for value in range(1000)],
            concurrency=64,
            raise_on_first_error=False,
        )
        # The results are in the order of the statements, so the errors are at the multiples of 10.
        failed_positions = [index for index, (success, _) in enumerate(results) if not success]
        assert failed_positions == list(range(0, 1000, 10))


class HostStates(HostStateListener):
    """A listener that records which hosts are up, so that another thread can wait for a change."""

    def __init__(self) -> None:
        self._up: dict[str, bool] = {}
        self._changed = threading.Condition()

    def _record(self, host: Any, is_up: bool) -> None:
        with self._changed:
            self._up[host.address] = is_up
            self._changed.notify_all()

    def on_up(self, host: Any) -> None:
        self._record(host, is_up=True)

    def on_down(self, host: Any) -> None:
        self._record(host, is_up=False)

    def on_add(self, host: Any) -> None:
        """Do nothing, because the driver calls `on_up` as well."""

    def on_remove(self, host: Any) -> None:
        """Do nothing, because no host is removed in these tests."""

    def expect(self, address: str, is_up: bool) -> None:
        """Wait until the host with this address is up (`is_up` is True) or down."""
        with self._changed:
            assert self._changed.wait_for(lambda: self._up.get(address) is is_up, WAIT)


def test_threads_get_answers_while_nodes_are_restarted() -> None:
    """While three nodes are restarted one after another, no idempotent statement fails.

    Statements are sent to the other nodes.
    """
    with FakeCluster(3) as nodes:
        nodes.prime(OTHER, int_row(1))
        with (
            cluster_with_defaults(nodes) as cluster,
            cluster.connect(wait_for_all_pools=True) as session,
        ):
            may_stop = threading.Event()
            answers: list[int] = []
            errors: list[Exception] = []

            def execute_until_stopped() -> None:
                statement = SimpleStatement(OTHER, is_idempotent=True)
                while not may_stop.is_set():
                    try:
                        answers.append(session.execute(statement, timeout=WAIT).one().k)
                    except Exception as failure:
                        errors.append(failure)

            def wait_for_more_answers() -> None:
                """Wait until about 20 further statements have succeeded."""
                count_before = len(answers)
                until(lambda: len(answers) > count_before + 20)

            threads = [threading.Thread(target=execute_until_stopped) for _ in range(2)]
            for thread in threads:
                thread.start()
            states = HostStates()
            cluster.register_listener(states)
            try:
                # Restart each node twice, and wait for some successes while the node is down.
                for _ in range(2):
                    for node in nodes.nodes:
                        nodes.stop_node(node)
                        states.expect(node.address, is_up=False)
                        wait_for_more_answers()
                        nodes.start_node(node)
                        states.expect(node.address, is_up=True)
            finally:
                may_stop.set()
            for thread in threads:
                thread.join(WAIT)
                assert not thread.is_alive()
            assert set(answers) == {1}
            assert errors == []


def test_shutdown_during_connect(node: FakeNode) -> None:
    """If the cluster is shut down during a `connect` in another thread, both calls end in time."""
    node.prime(Opcode.STARTUP, silence())
    cluster = cluster_with_defaults(node, connect_timeout=WAIT)
    errors: list[Exception] = []

    def connect() -> None:
        try:
            cluster.connect()
        except Exception as failure:
            errors.append(failure)

    thread = threading.Thread(target=connect)
    thread.start()
    # Wait until `connect` has sent STARTUP, to which the node does not respond.
    node.wait_for(lambda node: node.count(Opcode.STARTUP))
    cluster.shutdown()
    thread.join(WAIT)
    assert not thread.is_alive()
    assert isinstance(errors[0], (NoHostAvailable, ConnectionException))


def test_a_cancelled_connect_does_not_affect_another(node: FakeNode) -> None:
    """If one of two concurrent calls of `connect` is cancelled, the other call succeeds."""
    held = hold(message(Opcode.READY, b""))
    node.prime(Opcode.REGISTER, held, times=1)

    async def connect_twice() -> None:
        async with aio.Cluster([node.address], port=node.port) as cluster:
            first, second = (asyncio.ensure_future(cluster.connect()) for _ in range(2))
            await asyncio.to_thread(held.wait)
            first.cancel()
            with pytest.raises(asyncio.CancelledError):
                await first
            held.release()
            session = await second
            assert (await session.execute(OTHER)).one().k == 1

    asyncio.run(connect_twice())


def test_after_a_cancelled_connect_the_cluster_can_connect(node: FakeNode) -> None:
    """A cancelled `connect` closes its connections, and the next `connect` succeeds."""
    node.prime(Opcode.STARTUP, silence(), times=1)

    async def cancel_and_connect() -> None:
        async with aio.Cluster([node.address], port=node.port) as cluster:
            task = asyncio.ensure_future(cluster.connect())
            await node.wait_until(lambda node: node.count(Opcode.STARTUP))
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await node.wait_until(lambda node: not node.connections)
            # After the cancelled `connect`, the cluster can connect.
            session = await cluster.connect()
            assert (await session.execute(OTHER)).one().k == 1

    asyncio.run(cancel_and_connect())


def test_several_loops_at_once(node: FakeNode) -> None:
    """Event loops in several threads, each with its own cluster, do not affect each other."""
    results: list[Any] = []

    async def connect_and_execute() -> None:
        async with aio.Cluster([node.address], port=node.port) as cluster:
            session = await cluster.connect()
            answers = await asyncio.gather(*(session.execute(OTHER) for _ in range(100)))
            results.append([result.one().k for result in answers])

    threads = [
        threading.Thread(target=asyncio.run, args=(connect_and_execute(),)) for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT)
    assert results == [[1] * 100] * 3


def test_session_shutdown_fails_requests_but_not_the_cluster(node: FakeNode) -> None:
    """After `Session.shutdown`, the session's requests fail.

    The cluster can open another session.
    """
    held = hold()
    node.prime(READ, held)
    with cluster_with_defaults(node) as cluster:
        session = cluster.connect()
        future = session.execute_async(READ)
        held.wait()
        session.shutdown()
        assert isinstance(result_or_error(future), ConnectionShutdown)
        with cluster.connect() as another:
            assert another.execute(OTHER).one().k == 1


# -- mistakes in a call ----------------------------------------------------------------------------


# Each entry has wrong arguments of `execute`, and the class and the message of their error.
MISTAKES: list[tuple[dict[str, Any], type[Exception], str]] = [
    (
        {"parameters": 5},
        TypeError,
        r"sequence or a mapping, but are int; a single one is written \(value,\)",
    ),
    ({"parameters": "text"}, TypeError, "sequence or a mapping, but are str; a single"),
    ({"timeout": "x"}, TypeError, "timeout must be seconds or None, but is 'x'"),
    ({"timeout": math.nan}, ValueError, "timeout must be a number of seconds, but is nan"),
    ({"host": "10.0.0.1"}, TypeError, r"host must be a Host, .* but is '10\.0\.0\.1'"),
]


@pytest.mark.parametrize(("arguments", "error_class", "message"), MISTAKES)
async def test_a_wrong_argument_is_named(
    arguments: Any, error_class: type[Exception], message: str
) -> None:
    """A wrong argument of `execute` raises an error that names it, and no request is sent."""
    with FakeNode() as node:
        async with connected(node) as (_, session):
            with pytest.raises(error_class, match=message):
                await session.execute("SELECT 1", **arguments)
            assert node.queries() == []


@pytest.mark.parametrize("keyspace", [42, b"ks"])
async def test_a_keyspace_that_is_not_a_string_is_refused(keyspace: Any) -> None:
    with FakeNode() as node, pytest.raises(TypeError, match="keyspace"):
        async with aio.Cluster([node.address], port=node.port) as cluster:
            await cluster.connect(keyspace)


async def test_a_note_names_the_node_and_the_statement_of_an_error() -> None:
    """An error of the server has a note with the node's address and the statement."""
    query = "SELECT * FROM nothing"
    with FakeNode() as node:
        for code in (ErrorCode.INVALID, ErrorCode.SYNTAX_ERROR, ErrorCode.UNAVAILABLE):
            node.prime(query, error(code), times=1)
        async with connected(node, {"retry_policy": FallthroughRetryPolicy()}) as (_, session):
            for _ in range(3):
                with pytest.raises(DriverException) as caught:
                    await session.execute(query)
                note = f"(from {node.endpoint}, executing '{query}')"
                assert caught.value.__notes__ == [note]  # type: ignore[attr-defined]
                # Applications print and parse the message, so it must be the same as in
                # cassandra-driver.
                assert "(from" not in str(caught.value)
                if sys.version_info >= (3, 11):
                    assert note in "".join(traceback.format_exception(caught.value))
