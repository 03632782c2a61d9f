"""A cluster with several event loops: which loop executes a request.

The first loop can execute any request. The other loops, called workers, execute only prepared
statements and batches of them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from cassandra.cluster import EXEC_PROFILE_DEFAULT, ExecutionProfile, Session
from cassandra.concurrent import execute_concurrent, execute_concurrent_with_args
from cassandra.observers import ObservedRequest, RequestObserver
from cassandra.policies import ConstantReconnectionPolicy, RoundRobinPolicy
from cassandra.protocol import ProtocolHandler
from cassandra.query import BatchStatement, SimpleStatement
from cassandra.testing import FakeNode
from cassandra.testing.fake import Opcode, Request, paged, rows, set_keyspace
from tests.unit.several_loops import (
    INSERT,
    NUMBERS,
    SELECT,
    connected,
    connections_of,
    in_thread,
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


def test_each_thread_has_its_loop(shop: FakeNode) -> None:
    """Each thread sends its requests on one loop. The next thread uses the next loop."""
    with connected(shop, loops=3) as session:
        insert = session.prepare(INSERT)

        def connections_used() -> set[Any]:
            """Execute some requests, and return the connections on which they were sent."""
            shop.forget_requests()
            for key in range(5):
                session.execute(insert, (key,))
            return set(connections_of(shop, INSERT))

        connections_by_thread = [
            connections_used(),
            in_thread(connections_used),
            in_thread(connections_used),
        ]
        assert [len(connections) for connections in connections_by_thread] == [1, 1, 1]
        assert len(set.union(*connections_by_thread)) == 3
        # A fourth thread shares the loop of the first thread.
        assert in_thread(connections_used) == connections_by_thread[0]


def test_prepared_statements_and_their_batches_run_on_workers(shop: FakeNode) -> None:
    """Threads other than the first send prepared statements, and batches of them, on a worker."""
    with connected(shop) as session:
        insert = session.prepare(INSERT)
        batch = BatchStatement()
        batch.add(insert, (1,))
        batch.add(insert.bind((2,)))
        (worker,) = workers_of(session)
        calls: list[Callable[[], Any]] = [
            lambda: session.execute_async(insert, (1,)),
            lambda: session.execute_async(insert.bind((1,)), timeout=20),
            lambda: session.execute_async(batch),
        ]
        for send in calls:
            assert loop_of_worker_thread(session, shop, send) == worker.core.thread.ident


class OwnPolicy(RoundRobinPolicy):
    """An application's policy, which must be called on the first loop only."""


class OwnHandler(ProtocolHandler):
    """A protocol handler of an application."""


def test_all_other_requests_run_on_the_first_loop(shop: FakeNode) -> None:
    """Requests that workers cannot execute are sent on the first loop, whatever thread sends them.

    These are query strings, USE, batches with query strings, requests for a host, and requests with
    an application's policy or protocol handler.
    """
    shop.prime("USE ks", set_keyspace("ks"))
    own_policy = ExecutionProfile(OwnPolicy())
    profiles = {EXEC_PROFILE_DEFAULT: ExecutionProfile(), "own": own_policy}
    with connected(shop, execution_profiles=profiles) as session:
        insert = session.prepare(INSERT)
        batch = BatchStatement()
        batch.add(insert, (1,))
        batch.add("INSERT INTO t0 (k) VALUES (1)")
        (host,) = session.cluster.metadata.all_hosts()
        use = session.prepare("USE ks")
        # Each call sends a request that workers do not handle.
        calls: list[Callable[[], Any]] = [
            lambda: session.execute_async("SELECT k FROM t0"),
            lambda: session.execute_async(SimpleStatement("SELECT k FROM ks.t0")),
            lambda: session.execute_async("USE ks"),
            lambda: session.execute_async(use),
            lambda: session.execute_async(batch),
            lambda: session.execute_async(insert, (1,), host=host),
            lambda: session.execute_async(insert, (1,), execution_profile="own"),
        ]
        for send in calls:
            loop = loop_of_worker_thread(session, shop, send)
            assert loop == session.loop_ident
        # A protocol handler of the application also keeps requests on the first loop.
        session.client_protocol_handler = OwnHandler
        loop = loop_of_worker_thread(session, shop, lambda: session.execute_async(insert, (1,)))
        assert loop == session.loop_ident


def test_concurrent_statements_are_distributed_over_the_loops(shop: FakeNode) -> None:
    """One call of `execute_concurrent` uses all loops, and its results are in order."""

    def echo(request: Request) -> Any:
        """Return a row with the bound value of the request."""
        (key,) = request.values
        assert isinstance(key, bytes)
        return rows(NUMBERS, [(int.from_bytes(key, "big"),)])

    shop.prime(SELECT, echo)
    with connected(shop, loops=3) as session:
        select = session.prepare(SELECT)
        results = execute_concurrent_with_args(session, select, [(n,) for n in range(200)], 20)
        assert [result.result_or_exc.one().k for result in results] == list(range(200))
        assert len(set(connections_of(shop, SELECT))) == 3


def test_concurrent_statements_of_several_threads_stay_on_one_loop_each(shop: FakeNode) -> None:
    """If several threads call `execute_concurrent`, each thread uses one loop only.

    Threads that share loops would wait for each other more often.
    """
    with connected(shop, loops=2) as session:
        insert = session.prepare(INSERT)

        def connections_used() -> set[Any]:
            """Insert rows, and return the connections on which they were sent."""
            shop.forget_requests()
            execute_concurrent_with_args(session, insert, [(n,) for n in range(200)], 20)
            return set(connections_of(shop, INSERT))

        # So far, only one thread has used the session, so its call uses both loops.
        assert len(connections_used()) == 2
        (connection,) = in_thread(connections_used)
        (other_connection,) = connections_used()
        assert connection != other_connection


def test_mixed_concurrent_statements_keep_their_order(shop: FakeNode) -> None:
    """In one call of `execute_concurrent`, statements run on the loops that they need.

    Prepared statements run on workers, and all others on the first loop. The results stay in order.
    """
    shop.prime("SELECT k FROM t0", rows(NUMBERS, [(7,)]))
    with connected(shop) as session:
        select = session.prepare(SELECT)
        batch = BatchStatement()
        batch.add("INSERT INTO t0 (k) VALUES (1)")
        statements = [(select, (1,)), ("SELECT k FROM t0", None), (batch, None)] * 30
        results = execute_concurrent(session, statements, 10)
        values = [result.result_or_exc.all() for result in results]
        assert values == [[(1,), (2,)], [(7,)], []] * 30
        (first_connection,) = set(connections_of(shop, "SELECT k FROM t0"))
        batch_connections = {
            request.connection for request in shop.requests if request.opcode == Opcode.BATCH
        }
        assert batch_connections == {first_connection}


def test_further_pages_come_from_the_same_loop(shop: FakeNode) -> None:
    """All pages of a result are read on the same loop."""
    shop.prime(SELECT, paged(NUMBERS, [(n,) for n in range(10)]))
    with connected(shop) as session:
        select = session.prepare(SELECT)
        select.fetch_size = 2
        keys = on_worker(session, lambda: [row.k for row in session.execute(select, (0,))])
        assert keys == list(range(10))
        pages = connections_of(shop, SELECT)
        assert len(pages) == 5
        assert len(set(pages)) == 1


def test_further_pages_do_not_need_the_pool_of_the_loop_of_the_first(shop: FakeNode) -> None:
    """If a worker loses its pool between two pages, the first loop reads the further pages."""
    shop.prime(SELECT, paged(NUMBERS, [(n,) for n in range(10)]))
    with connected(shop, reconnection_policy=ConstantReconnectionPolicy(3600)) as session:
        (worker,) = workers_of(session)
        select = session.prepare(SELECT)
        select.fetch_size = 2
        result = on_worker(session, lambda: session.execute(select, (0,)))
        (lost,) = connections_of(shop, SELECT)
        shop.refuse_connections()
        shop.post(lost.abort)
        until(lambda: not worker.is_ready)
        assert [row.k for row in result] == list(range(10))


def test_requests_of_a_callback_stay_on_its_loop(shop: FakeNode) -> None:
    """Requests that a callback sends are executed on the loop that runs the callback.

    Blocking calls are refused on a worker's loop, too.
    """
    with connected(shop) as session:
        insert = session.prepare(INSERT)
        (worker,) = workers_of(session)
        outcomes: list[Any] = []
        is_over = threading.Event()

        # The callback makes a blocking call, which is refused, and sends a request.
        def send_more(_: Any) -> None:
            try:
                session.execute(insert, (2,))
            except RuntimeError as refusal:
                outcomes.append(str(refusal))
            session.execute_async(insert, (3,)).add_callback(record_thread)

        def record_thread(_: Any) -> None:
            outcomes.append(threading.get_ident())
            is_over.set()

        def send() -> None:
            session.execute_async(insert, (1,)).add_callback(send_more)

        # The node is paused until the callback is added, so that the callback runs on the loop.
        shop.pause()
        on_worker(session, send)
        shop.resume()
        assert is_over.wait(WAIT)
        assert "event loop thread" in outcomes[0]
        assert outcomes[1] == worker.core.thread.ident


Call = Callable[[Session], Any]


@pytest.mark.parametrize(
    "call",
    [
        lambda session: session.cluster.connect(),
        lambda session: session.cluster.shutdown(),
        lambda session: session.cluster.refresh_nodes(),
        lambda session: session.cluster.register_user_type("ks", "t", dict),
    ],
    ids=["connect", "shutdown", "refresh_nodes", "register_user_type"],
)
def test_a_callback_of_a_worker_may_not_block(shop: FakeNode, call: Call) -> None:
    """A blocking call in a callback on a worker's loop is refused, and has no effect."""
    with connected(shop) as session:
        insert = session.prepare(INSERT)
        refusals: list[Any] = []
        is_over = threading.Event()

        def make_blocking_call(_: Any) -> None:
            try:
                call(session)
            except RuntimeError as refusal:
                refusals.append(str(refusal))
            is_over.set()

        # The node is paused until the callback is added, so that the callback runs on the loop.
        shop.pause()

        def send() -> None:
            session.execute_async(insert, (1,)).add_callback(make_blocking_call)

        on_worker(session, send)
        shop.resume()
        assert is_over.wait(WAIT)
        assert "own event loop" in refusals[0]
        # The refused call has neither opened nor closed a session, and both loops still work.
        assert len(session._engine.core.sessions) == 1
        assert not session.cluster.is_shutdown
        on_worker(session, lambda: session.execute(insert, (2,)))
        session.execute(insert, (3,))


def test_a_callback_of_a_worker_may_use_a_new_policy(shop: FakeNode) -> None:
    """A callback on a worker's loop may use a profile with a new policy.

    The session adopts the policy, but does not wait for the pools that the policy needs.
    """
    with connected(shop) as session:
        insert = session.prepare(INSERT)
        profile = ExecutionProfile(OwnPolicy())
        is_over = threading.Event()

        def send_more(_: Any) -> None:
            future = session.execute_async(insert, (2,), execution_profile=profile)
            future.add_callback(lambda _: is_over.set())

        # The node is paused until the callback is added, so that the callback runs on the loop.
        shop.pause()

        def send() -> None:
            session.execute_async(insert, (1,)).add_callback(send_more)

        on_worker(session, send)
        shop.resume()
        assert is_over.wait(WAIT)
        core = session._engine.core
        assert profile.load_balancing_policy in core.listeners.policies


class KeyspaceRecorder(RequestObserver):
    """An observer that records the keyspace of each request that has ended."""

    def __init__(self) -> None:
        self.keyspaces: list[str | None] = []

    def on_end(self, request: ObservedRequest) -> None:
        self.keyspaces.append(request.keyspace)


def test_observers_see_the_keyspace_of_the_session(shop: FakeNode) -> None:
    """Observers see the session's keyspace, although a worker's connections are in no keyspace."""
    plain = "INSERT INTO t0 (k) VALUES (1)"
    shop.prime_prepare(plain, [])
    observer = KeyspaceRecorder()
    with connected(shop, request_observers=[observer]) as session:
        session.set_keyspace("ks")
        batch = BatchStatement()
        batch.add(session.prepare(plain))
        session.execute(batch)
        on_worker(session, lambda: session.execute(batch))
        until(lambda: len(observer.keyspaces) == 3)
        # Leave out the first request, which is the USE that `set_keyspace` has sent.
        assert observer.keyspaces[1:] == ["ks", "ks"]
