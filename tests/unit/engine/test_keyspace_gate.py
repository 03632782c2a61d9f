"""Tests of the keyspace gate, which lets a request run in the keyspace that it was made for.

Like real nodes, the fake nodes execute the requests of a connection concurrently and in any order.
Their responses name the keyspace in which they executed the request.
"""

from __future__ import annotations

import asyncio
import functools
import hashlib
import random
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from threading import Thread
from types import SimpleNamespace
from typing import Any

import pytest

from cassandra import aio
from cassandra.cluster import Cluster
from cassandra.engine import keyspace_gate
from cassandra.errors import ConnectionShutdown, DriverException, InvalidRequest, OperationTimedOut
from cassandra.policies import HostDistance, RetryPolicy
from cassandra.policies.reconnection import ConstantReconnectionPolicy
from cassandra.protocol.messages.results import VOID_BODY
from cassandra.query import BatchStatement, SimpleStatement
from cassandra.testing import FakeCluster
from cassandra.testing.fake import (
    Answer,
    ErrorCode,
    Message,
    Opcode,
    Prepared,
    Request,
    delay,
    error,
    rows,
    set_keyspace,
)
from tests.waiting import until_on_loop

pytestmark = pytest.mark.simulated

WAIT = 20.0  # seconds; an event that takes longer counts as missing
_USE = re.compile(r'USE "?(\w+)"?', re.IGNORECASE)


class Servers:
    """Executes the requests that all fake nodes get, each after a random delay, so in any order.

    :param seed: the seed of the random delays.
    :param longest_delay: the longest delay in seconds until a request is executed, and the longest
        delay from then until the response is sent.
    """

    def __init__(self, seed: int, longest_delay: float = 0.004) -> None:
        self.random = random.Random(seed)
        self.longest_delay = longest_delay
        self.prepared: dict[bytes, tuple[str, str | None]] = {}  # maps an id to (query, keyspace)
        self.forgotten: set[tuple[Any, bytes]] = set()
        self.batches: list[tuple[str | None, str]] = []  # (keyspace, query)

    def answer(self, request: Request) -> Answer:
        """Return an `Answer` that executes the request after a delay.

        Only the application's requests (see `_is_of_the_application`) are executed in this way.
        """
        return _DelayedAnswer(self)

    def execute(self, request: Request) -> Message:
        """Execute a request now, and return its response.

        The request runs in the keyspace that it names, or else in the current keyspace of its
        connection.
        """
        keyspace = request.keyspace or request.connection.keyspace
        if request.opcode == Opcode.PREPARE:
            return self._prepare(request, keyspace)
        if request.opcode == Opcode.EXECUTE:
            assert request.query_id is not None
            query, keyspace = self.prepared.get(request.query_id, ("", None))
            if not query or (request.connection.node, request.query_id) in self.forgotten:
                return error(ErrorCode.UNPREPARED, "who?", query_id=request.query_id)
            return self._rows_with_keyspace(query, keyspace)
        if request.opcode == Opcode.BATCH:
            for statement in request.statements:
                if statement.query is not None:
                    self.batches.append((keyspace, statement.query))
            return Message(Opcode.RESULT, lambda _: VOID_BODY)
        query = request.query or ""
        use_statement = _USE.search(query)
        if use_statement is not None:
            if use_statement[1] == "missing":
                return error(ErrorCode.INVALID, "Keyspace 'missing' does not exist")
            # As in Cassandra, a USE has no effect if its request names a keyspace.
            if request.keyspace is None:
                request.connection.keyspace = use_statement[1]
            return set_keyspace(use_statement[1])
        return self._rows_with_keyspace(query, keyspace)

    def _rows_with_keyspace(self, query: str, keyspace: str | None) -> Message:
        """Return one row with the keyspace (for None, an empty string) and the query."""
        return rows(
            [("ks", "text"), ("query", "text")],
            [(keyspace or "", query)],
            keyspace=keyspace or "none",
        )

    def _prepare(self, request: Request, keyspace: str | None) -> Message:
        """Register the query in this keyspace, and return a response with its id.

        All nodes have the same id for the same query and keyspace.
        """
        query = request.query or ""
        query_id = hashlib.md5(f"{keyspace} {query}".encode()).digest()
        self.prepared[query_id] = query, keyspace
        self.forgotten.discard((request.connection.node, query_id))
        prepared = Prepared(
            query,
            [("k", "int")] if "?" in query else [],
            [("ks", "text"), ("query", "text")],
            query_id=query_id,
            keyspace=keyspace or "none",
        )
        return Message(Opcode.RESULT, prepared.body)

    def forget(self, node: Any) -> None:
        """Let the node forget all statements that are prepared now.

        The node answers their executions with UNPREPARED.
        """
        self.forgotten |= {(node, query_id) for query_id in self.prepared}


class _DelayedAnswer(Answer):
    """Executes the request after a random delay, and sends the response after a second delay."""

    def __init__(self, servers: Servers) -> None:
        self._servers = servers

    def perform(self, request: Request) -> None:
        """Execute the request after a random delay, and send the response after a second delay."""
        servers, loop = self._servers, request.connection.loop

        def execute() -> None:
            answer = servers.execute(request)
            loop.call_later(
                servers.random.uniform(0, servers.longest_delay), answer.perform, request
            )

        loop.call_later(servers.random.uniform(0, servers.longest_delay), execute)


class NeverAnswer(Answer):
    """An `Answer` that never sends a response."""

    def perform(self, request: Request) -> None:
        pass


def _is_of_the_application(request: Request) -> bool:
    """Return True unless the request belongs to the handshake or queries a system table."""
    opcodes = (Opcode.QUERY, Opcode.PREPARE, Opcode.EXECUTE, Opcode.BATCH)
    return request.opcode in opcodes and "system" not in (request.query or "")


@contextmanager
def nodes(servers: Servers, count: int = 2) -> Iterator[FakeCluster]:
    """Yield fake nodes whose responses to the application's requests come from `servers`.

    :param servers: executes the requests.
    :param count: the number of nodes.
    """
    with FakeCluster(count) as fake:
        for node in fake.nodes:
            node.prime(_is_of_the_application, servers.answer)
        yield fake


@asynccontextmanager
async def connected(fake: FakeCluster, version: int, **settings: Any) -> AsyncIterator[Any]:
    """Yield an asyncio cluster that is not connected.

    :param fake: the nodes.
    :param version: the protocol version.
    :param settings: settings of the cluster. By default, a pool has two connections.
    """
    async with aio.Cluster(
        [fake[0].address],
        port=fake.port,
        protocol_version=version,
        reconnection_policy=ConstantReconnectionPolicy(delay=0.01, max_attempts=None),
        **{"connections_per_host": 2, **settings},
    ) as cluster:
        yield cluster


def ran_in(result: Any) -> str:
    """Return the keyspace in which a request was executed, from its result."""
    keyspace: str = result.one().ks
    return keyspace


versions = pytest.mark.parametrize("version", [3, 4, 5])


# -- random steps ----------------------------------------------------------------------------------

Step = Callable[["RandomSteps"], Awaitable[None]]


class RandomSteps:
    """A session that makes random steps while many requests are in flight.

    `mistakes` lists the results that came from a wrong keyspace. The seed decides the steps.
    """

    def __init__(self, seed: int, fake: FakeCluster, servers: Servers, session: aio.Session):
        self.random = random.Random(seed)
        self.fake = fake
        self.servers = servers
        self.session = session
        self.prepared: list[Any] = []
        self.mistakes: list[str] = []
        self.keyspace_by_batch_query: dict[str, str | None] = {}
        self.count = 0
        self.checked_results = 0

    def _check(self, description: str, expected: str | None, result: Any) -> None:
        """Record a mistake if a request was not executed in the expected keyspace.

        :param description: names the request in the mistake.
        :param expected: a keyspace; None if the session had no keyspace at the time of the call.
        :param result: the result of the request.
        """
        self.checked_results += 1
        if ran_in(result) != (expected or ""):
            self.mistakes.append(f"{description}: expected {expected}, ran in {ran_in(result)}")

    async def _result_or_none(self, awaitable: Any) -> Any:
        """Return the result of a request, or None if it failed or was cancelled."""
        try:
            # Give up 15 % of the requests after at most 6 ms.
            if self.random.random() < 0.15:
                return await asyncio.wait_for(awaitable, self.random.uniform(0, 0.006))
            return await awaitable
        except (asyncio.TimeoutError, DriverException):
            return None

    async def read(self) -> None:
        expected = self.session.keyspace
        result = await self._result_or_none(self.session.execute("SELECT ks()"))
        if result is not None:
            self._check("a query", expected, result)

    async def read_with_keyspace(self) -> None:
        """Execute a query with a random `keyspace`, which the server must use."""
        keyspace = self.random.choice("abc")
        statement = SimpleStatement("SELECT ks()", keyspace=keyspace, is_idempotent=True)
        result = await self._result_or_none(self.session.execute(statement))
        if result is not None:
            self._check("a query with a keyspace", keyspace, result)

    async def first_execution(self) -> None:
        """Execute a new query with a value, which the session must prepare first."""
        self.count += 1
        expected = self.session.keyspace
        query = f"SELECT ks() WHERE k = ? AND n = {self.count}"
        result = await self._result_or_none(self.session.execute(query, (1,)))
        if result is not None:
            self._check("a query that was prepared first", expected, result)

    async def prepare(self) -> None:
        """Prepare a query with or without a `keyspace`.

        Without one, the statement must belong to the session's keyspace at the time of the call.
        """
        self.count += 1
        expected = self.session.keyspace
        query = f"SELECT ks() WHERE k = ? AND p = {self.count}"
        keyspace = self.random.choice([None, None, "b", "c"])
        statement = await self._result_or_none(self.session.prepare(query, keyspace=keyspace))
        if statement is not None:
            assert statement.keyspace == (keyspace or expected)
            self.prepared.append(statement)

    async def execute_prepared(self) -> None:
        """Execute a random prepared statement, which must run in its own keyspace.

        The statement's keyspace is the keyspace in which it was prepared.
        """
        if self.prepared:
            statement = self.random.choice(self.prepared)
            result = await self._result_or_none(self.session.execute(statement, (1,)))
            if result is not None:
                self._check("a prepared statement", statement.keyspace, result)

    async def batch(self) -> None:
        """Execute a batch, and record the keyspace of the session, in which the batch must run."""
        self.count += 1
        batch = BatchStatement()
        query = f"INSERT INTO t (k) VALUES ({self.count})"
        batch.add(SimpleStatement(query))
        self.keyspace_by_batch_query[query] = self.session.keyspace
        await self._result_or_none(self.session.execute(batch))

    async def use(self) -> None:
        keyspace = self.random.choice("abc")
        query_format = self.random.choice(["USE {}", "use {}", "/* to */ USE {}", "-- to\n USE {}"])
        await self._result_or_none(self.session.execute(query_format.format(keyspace)))

    async def set_keyspace(self) -> None:
        await self._result_or_none(self.session.set_keyspace(self.random.choice("abc")))

    async def impatient_use(self) -> None:
        """Send a USE with a timeout that may be too short."""
        timeout = self.random.uniform(0.0005, 0.006)
        await self._result_or_none(self.session.execute("USE b", timeout=timeout))

    async def forget(self) -> None:
        """Let a random node forget all prepared statements."""
        self.servers.forget(self.random.choice(self.fake.nodes))

    async def reset(self) -> None:
        """Let a random node reset one of its connections."""
        node = self.random.choice(self.fake.nodes)
        # Leave out the control connection, which alone is registered for events.
        connections = [connection for connection in node.connections if not connection.event_types]
        if connections:
            victim = self.random.choice(connections)
            victim.loop.call_soon_threadsafe(functools.partial(victim.end, reset=True))

    async def resize(self) -> None:
        self.session.cluster.set_core_connections_per_host(
            HostDistance.LOCAL, self.random.randint(1, 3)
        )

    async def live(self, steps: int) -> None:
        """Make random steps, and wait until all have ended.

        Another step begins only if at most 12 steps are running.

        :param steps: the number of steps.
        """
        # The more often a step is in the list, the more often it is chosen.
        weighted_steps = [
            *[self.read] * 8, *[self.read_with_keyspace] * 3, *[self.first_execution] * 2,
            *[self.prepare] * 3, *[self.execute_prepared] * 6, *[self.batch] * 3,
            *[self.use] * 2, *[self.set_keyspace] * 2, self.impatient_use, self.forget,
            self.reset, self.resize,
        ]  # fmt: skip
        running: set[asyncio.Future[None]] = set()
        for _ in range(steps):
            running.add(asyncio.ensure_future(self.random.choice(weighted_steps)()))
            if self.random.random() < 0.5:
                await asyncio.sleep(self.random.uniform(0, 0.003))
            # Wait until at least one step has ended. Wrong keyspaces are recorded in `mistakes`.
            if len(running) == 12:
                done, running = await asyncio.wait(
                    running, return_when=asyncio.FIRST_COMPLETED, timeout=WAIT
                )
                assert done
                for finished_step in done:
                    finished_step.result()
        # Wait for the last steps, and raise their errors.
        done, unfinished = await asyncio.wait(running, timeout=WAIT)
        assert not unfinished
        for finished_step in done:
            finished_step.result()


@versions
@pytest.mark.parametrize("seed", range(6))
async def test_random_steps_of_a_session(version: int, seed: int) -> None:
    """Whatever a session does, each request runs in the session's keyspace at the time of the call.

    The steps are random, and each seed leads to different steps.
    """
    servers = Servers(seed)
    with nodes(servers) as fake:
        async with connected(fake, version) as cluster:
            session = await cluster.connect("a")
            steps = RandomSteps(seed, fake, servers, session)
            await steps.live(steps=120)
            assert steps.mistakes == []
            # Failed requests say nothing about keyspaces, so check that enough requests succeeded.
            assert steps.checked_results > 20
            for keyspace, query in servers.batches:
                assert keyspace == steps.keyspace_by_batch_query[query], query
            # After all steps, new requests run in the session's current keyspace.
            for _ in range(8):
                assert ran_in(await session.execute("SELECT ks()")) == session.keyspace


@versions
async def test_two_sessions_have_separate_keyspaces(version: int) -> None:
    """Two sessions share neither connections nor keyspaces: a session in "b" reads from "b".

    A prepared statement keeps the keyspace that it was prepared in, even if another session must
    prepare it again.
    """
    servers = Servers(1)
    with nodes(servers) as fake:
        async with connected(fake, version) as cluster:
            session_a, session_b = await asyncio.gather(cluster.connect("a"), cluster.connect("b"))
            statement = await session_a.prepare("SELECT ks() WHERE k = ?")
            for node in fake.nodes:
                servers.forget(node)
            results = await asyncio.gather(
                *(session_b.execute(statement, (1,)) for _ in range(20)),
                *(session_b.execute("SELECT ks()") for _ in range(20)),
            )
            assert [ran_in(result) for result in results] == ["a"] * 20 + ["b"] * 20
            results = [await session_a.execute(statement, (1,)) for _ in range(4)]
            assert [ran_in(result) for result in results] == ["a"] * 4


@versions
async def test_a_session_without_a_keyspace_uses_the_statements_keyspace(version: int) -> None:
    """A session without a keyspace executes a prepared statement in the statement's keyspace.

    It prepares the statement again there, and stays without a keyspace itself.
    """
    servers = Servers(2)
    with nodes(servers, count=1) as fake:
        async with connected(fake, version) as cluster:
            session_a = await cluster.connect("a")
            session_without_keyspace = await cluster.connect()
            statement = await session_a.prepare("SELECT ks() WHERE k = ?")
            servers.forget(fake[0])
            assert ran_in(await session_without_keyspace.execute(statement, (1,))) == "a"
            # Before version 5, one connection had to switch to "a" to prepare the statement again.
            # This connection must not be used for statements that name no keyspace.
            for _ in range(6):
                assert ran_in(await session_without_keyspace.execute("SELECT ks()")) == ""
            assert session_without_keyspace.keyspace is None


@pytest.mark.parametrize("version", [3, 4])
async def test_a_statement_with_a_missing_keyspace_is_an_error(version: int) -> None:
    """Before protocol version 5, a statement whose `keyspace` does not exist raises InvalidRequest.

    The connection would have to switch to this keyspace.
    """
    servers = Servers(4)
    with nodes(servers) as fake:
        async with connected(fake, version) as cluster:
            session = await cluster.connect("a")
            with pytest.raises(InvalidRequest):
                await session.execute(SimpleStatement("SELECT ks()", keyspace="missing"))
            # A query that names the keyspace of its table may run on any connection.
            query = "SELECT v FROM missing.t"
            result = await session.execute(SimpleStatement(query, keyspace="missing"))
            assert result.one().query == query


async def test_a_connection_whose_requests_do_not_end_is_replaced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """If requests in flight keep a connection from switching, the connection is replaced.

    The requests depend on the old keyspace of the connection.
    """
    monkeypatch.setattr("cassandra.engine.keyspace_gate.LONGEST_UNREST", 0.05)
    servers = Servers(5)
    with nodes(servers, count=1) as fake:
        unanswered = fake[0].prime("SELECT never()", lambda request: NeverAnswer())
        async with connected(fake, version=4, connections_per_host=1) as cluster:
            session = await cluster.connect("a")
            pending_request = session.execute("SELECT never()", timeout=None)
            await until_on_loop(lambda: unanswered.used)
            await asyncio.wait_for(session.set_keyspace("b"), WAIT)
            assert ran_in(await session.execute("SELECT ks()")) == "b"
            # The replaced connection still waits for this request.
            assert not pending_request.done()
            pending_request.cancel()


async def test_a_statement_prepared_again_for_another_table_is_not_executed() -> None:
    """If preparing again returns a table of another keyspace, the execution fails."""
    servers = Servers(9)
    with nodes(servers, count=1) as fake:
        async with connected(fake, version=5) as cluster:
            session = await cluster.connect("a")
            statement = await session.prepare("SELECT ks() WHERE k = ?")
            servers.forget(fake[0])
            other_table = Prepared("", [("k", "int")], query_id=b"another", keyspace="b")
            fake[0].prime(Opcode.PREPARE, Message(Opcode.RESULT, other_table.body))
            with pytest.raises(DriverException, match=r"for the table a\.t.*for b\.t"):
                await session.execute(statement, (1,))
            assert statement.query_id != b"another"


def test_requests_of_threads_run_in_the_sessions_keyspace() -> None:
    """A thread's request runs in the keyspace that the session had at the call, or has later."""
    servers = Servers(10, longest_delay=0.001)
    with (
        nodes(servers) as fake,
        Cluster(
            [fake[0].address], port=fake.port, protocol_version=4, connections_per_host=2
        ) as cluster,
    ):
        session = cluster.connect("a")
        # The keyspaces of the session, in order. They differ, so that the results show their order.
        keyspaces = ["a", *(f"k{number}" for number in range(36))]
        mistakes: list[Any] = []

        def read_repeatedly() -> None:
            """Read 60 times, and record each result from a keyspace before the session's."""
            for _ in range(60):
                keyspace_before = session.keyspace
                assert keyspace_before is not None
                statement = SimpleStatement("SELECT ks()", keyspace=None)
                actual_keyspace = ran_in(session.execute(statement))
                if keyspaces.index(actual_keyspace) < keyspaces.index(keyspace_before):
                    mistakes.append((keyspace_before, actual_keyspace))

        def switch_keyspaces() -> None:
            for keyspace in keyspaces[1:]:
                session.set_keyspace(keyspace)

        threads = [
            Thread(target=target)
            for target in (read_repeatedly, read_repeatedly, read_repeatedly, switch_keyspaces)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(WAIT)
            assert not thread.is_alive()
        assert mistakes == []
        assert {ran_in(session.execute("SELECT ks()")) for _ in range(8)} == {keyspaces[-1]}


async def test_a_session_without_a_keyspace_keeps_its_connections() -> None:
    """A session without a keyspace must never switch its connections.

    The statements of such a session name their keyspaces in the CQL. `SimpleStatement.keyspace` is
    used only for routing.
    """
    servers = Servers(11)
    with nodes(servers) as fake:
        async with connected(fake, version=4) as cluster:
            session = await cluster.connect()
            await asyncio.gather(
                *(session.execute("TRUNCATE a.t") for _ in range(10)),
                *(
                    session.execute(SimpleStatement("SELECT v FROM a.t", keyspace="b"))
                    for _ in range(20)
                ),
            )
            assert ran_in(await session.execute(SimpleStatement("SELECT ks()", keyspace="b"))) == ""
            assert all(node.connections for node in fake.nodes)


async def test_a_connection_that_is_switching_is_not_used() -> None:
    """While a connection waits for the response to a USE, requests use other connections."""
    servers = Servers(12)
    with nodes(servers, count=1) as fake:
        unanswered_use = fake[0].prime("USE b", lambda request: NeverAnswer())
        async with connected(fake, version=4, connections_per_host=3) as cluster:
            session = await cluster.connect("a", wait_for_all_pools=True)
            (pool,) = session._engine.pools.values()
            await until_on_loop(lambda: len(pool.connections) == 3)
            pending_use = session.execute("USE b", timeout=None)
            await until_on_loop(lambda: unanswered_use.used)
            results = await asyncio.wait_for(
                asyncio.gather(*(session.execute("SELECT ks()") for _ in range(30))), timeout=5
            )
            assert {ran_in(result) for result in results} == {"a"}
            pending_use.cancel()


@pytest.mark.parametrize("version", [4, 5])
async def test_a_request_made_without_a_keyspace_runs_in_no_later_keyspace(version: int) -> None:
    """If a request was made without a keyspace and the session then gets one, its retry fails.

    The retry would run in the new keyspace, for which the request was not meant.
    """

    class DelayedRetryPolicy(RetryPolicy):
        def on_request_error(self, *args: Any, **kwargs: Any) -> Any:
            return self.RETRY, None, 0.05  # retry on the same host after 50 ms

    servers = Servers(13)
    with nodes(servers, count=1) as fake:
        fake[0].prime("SELECT x()", error(ErrorCode.OVERLOADED, "later"), times=1)
        async with connected(fake, version) as cluster:
            session = await cluster.connect()
            pending_request = session.execute(
                SimpleStatement("SELECT x()", retry_policy=DelayedRetryPolicy())
            )
            await session.set_keyspace("b")
            with pytest.raises(InvalidRequest, match="made when the session had no keyspace"):
                await pending_request


async def test_the_prepare_of_an_abandoned_request_is_an_orphan() -> None:
    """If a request times out while its statement is prepared again, the PREPARE becomes an orphan.

    Its stream stays in use until the response comes.
    """
    servers = Servers(14)
    with nodes(servers, count=1) as fake:
        async with connected(fake, version=4, connections_per_host=1) as cluster:
            session = await cluster.connect("a")
            statement = await session.prepare("SELECT ks() WHERE k = ?")
            servers.forget(fake[0])
            fake[0].prime(Opcode.PREPARE, lambda request: NeverAnswer())
            with pytest.raises(OperationTimedOut):
                await session.execute(statement, (1,), timeout=0.05)
            (pool,) = session._engine.pools.values()
            (connection,) = pool.connections
            assert connection.in_flight == 1
            assert connection.orphans == 1


@versions
@pytest.mark.parametrize("answer_delay", [0.1, 1.0])
async def test_a_connection_without_a_free_stream_keeps_its_requests(
    version: int, answer_delay: float
) -> None:
    """If a connection has no free stream for a USE, its requests must still get responses.

    In both cases, the requests in flight get their responses.

    :param answer_delay: seconds after which the node responds to these requests.
    """
    servers = Servers(31)
    with nodes(servers, count=1) as fake:
        async with connected(fake, version) as cluster:
            session = await cluster.connect("a", wait_for_all_pools=True)
            statement = await session.prepare("SELECT ks() FROM t WHERE k = ?")
            (pool,) = session._engine.pools.values()
            for connection in pool.connections:
                connection.set_stream_limit(2)
            servers.longest_delay = 0.0
            fake.prime(
                Opcode.EXECUTE, lambda request: delay(answer_delay, servers.execute(request))
            )
            # Each connection has two streams. Use all of them but one.
            count = 2 * len(pool.connections) - 1
            pending_requests = [session.execute(statement, (number,)) for number in range(count)]
            await session.set_keyspace("b")
            assert {ran_in(await pending_request) for pending_request in pending_requests} == {"a"}
            assert ran_in(await session.execute("SELECT ks()")) == "b"


# -- a gate alone ----------------------------------------------------------------------------------


class Streams:
    """The streams of a stub connection.

    While `is_claimed` is True, another thread holds the write lock.
    """

    def __init__(self) -> None:
        self.responders: list[Any] = []
        self.keyspace_epoch = 0
        self.is_claimed = False

    def waiting(self) -> list[Any]:
        return self.responders

    def acquire_write(self) -> bool:
        return not self.is_claimed

    def release_write(self) -> None:
        """Do nothing: `acquire_write` does not lock anything."""


class StubConnection:
    """A stub connection in the keyspace "a" that records why it was given up or closed."""

    endpoint = "stub"

    def __init__(self) -> None:
        self.keyspace: str | None = "a"
        self.gate: Any = None
        self.version = 4
        self.streams = Streams()
        self.orphans = 0
        # True if a caller has abandoned a request whose table names depend on the keyspace.
        self.left_text_behind = False
        self.has_room = True
        self.closed = False
        self.given_up: str | None = None
        self.error: Exception | None = None

    @property
    def is_open_to_requests(self) -> bool:
        return not self.closed and self.given_up is None

    def give_up(self, reason: str) -> None:
        self.given_up = reason

    def close(self, error: Exception) -> None:
        self.closed, self.error = True, error


class StubSession:
    """A fake session for which a keyspace exists if its name contains "a".

    The session switches connections to such keyspaces at once, and refuses all other keyspaces.
    `used` lists all keyspaces that were requested.
    """

    def __init__(self, keyspace: str | None = None) -> None:
        self.keyspace = keyspace
        self.used: list[str] = []
        self.fault: Exception | None = None

    async def use(self, connection: Any, keyspace: str) -> None:
        """Switch the connection to the keyspace if it exists, or raise `fault` if it is set."""
        self.used.append(keyspace)
        if self.fault is not None:
            raise self.fault
        if "a" not in keyspace:
            raise InvalidRequest(f"no keyspace {keyspace}")
        connection.keyspace = keyspace

    def run_in_background(self, coroutine: Any) -> asyncio.Task[Any]:
        return asyncio.ensure_future(coroutine)


class StubRequest:
    """A request that records in `log` what the gate did with it: "send NAME" or "not send NAME".

    :param log: the list to append to.
    :param name: the name in `log`.
    :param expected: the keyspace that the request must run in.
    :param is_use: True for a USE.
    """

    def __init__(
        self, log: list[str], name: str, expected: object = None, is_use: bool = False
    ) -> None:
        self.request_body = SimpleNamespace(is_use=is_use, expected=expected)
        self.is_answered = False
        self.log = log
        self.name = name

    def resend(self, attempt: Any) -> None:
        self.log.append(f"{attempt} {self.name}")

    def on_not_sent(self, attempt: Any, error: Exception) -> None:
        self.log.append(f"not {attempt} {self.name}")

    def fail(self, error: BaseException) -> None:
        self.is_answered = True
        self.log.append(f"{self.name}: {error}")


class Gate:
    """A stub connection and a session whose requests wait at the connection's keyspace gate."""

    def __init__(self) -> None:
        self.connection = StubConnection()
        self.session = StubSession()
        self.log: list[str] = []

    def hold(self, name: str, expected: object = None, is_use: bool = False) -> StubRequest:
        """Let a request wait at the gate.

        :param name: the name of the request in `log`.
        :param expected: the keyspace in which the request must run; None for no keyspace.
        :param is_use: True for a USE.
        """
        request = StubRequest(self.log, name, expected, is_use)
        held = keyspace_gate.HeldRequest(request, "send")  # type: ignore[arg-type]
        keyspace_gate.hold(self.session, self.connection, held)  # type: ignore[arg-type]
        return request

    async def until_closed(self) -> None:
        """Wait until the gate has sent or refused all requests."""
        await until_on_loop(lambda: self.connection.gate is None)


def responder(**body: Any) -> Any:
    """Return the responder of a request in flight that depends on the connection's keyspace.

    :param body: attributes of the request body that replace the defaults below.
    """
    settings = {"depends": True, "is_use": False, "names_keyspace": False, **body}
    return SimpleNamespace(request=SimpleNamespace(request_body=SimpleNamespace(**settings)))


@pytest.fixture
def gate() -> Gate:
    return Gate()


async def test_requests_of_the_same_keyspace_are_sent_together(gate: Gate) -> None:
    """The gate must switch the connection once for each keyspace, not once for each request."""
    gate.hold("1", expected="ba")
    gate.hold("2", expected="ca")
    gate.hold("3", expected="ba")
    gate.hold("4", expected="a")
    await gate.until_closed()
    # The connection is in the keyspace "a" at first, so request 4 is sent at once.
    assert gate.log == ["send 4", "send 1", "send 3", "send 2"]
    assert gate.session.used == ["ba", "ca"]
    assert gate.connection.streams.keyspace_epoch == 2


async def test_a_refused_keyspace_fails_its_requests_only(gate: Gate) -> None:
    """If the server refuses one keyspace, requests for other keyspaces are still sent."""
    gate.hold("1", expected="x")
    gate.hold("2", expected="ba")
    await gate.until_closed()
    assert gate.log == ["1: no keyspace x", "send 2"]
    assert gate.session.used == ["x", "ba"]


async def test_a_use_without_an_answer_fails_no_request(gate: Gate) -> None:
    """A connection that is given up may still be open, because other requests are in flight.

    The requests that wait at its gate were not sent, so they use another connection.
    """

    async def give_up(connection: Any, keyspace: str) -> None:
        connection.give_up("a USE was not answered")
        raise OperationTimedOut("no answer")

    gate.session.use = give_up  # type: ignore[method-assign]
    gate.hold("1", expected="ba")
    gate.hold("2", expected="ca")
    await gate.until_closed()
    assert gate.log == ["not send 1", "not send 2"]


async def test_requests_that_are_over_are_not_sent(gate: Gate) -> None:
    """A request that ends while the gate holds it is not sent, and needs no USE."""
    gate.hold("1", expected="ba").is_answered = True
    gate.hold("2", expected="a").is_answered = True
    await gate.until_closed()
    assert gate.log == gate.session.used == []


async def test_a_request_for_no_keyspace_needs_another_connection(gate: Gate) -> None:
    """A connection that is in a keyspace is given up if a request needs to run in no keyspace.

    CQL has no statement that leaves a keyspace, so the request needs another connection.
    """
    gate.hold("1")
    await gate.until_closed()
    assert gate.connection.given_up == "it is in a keyspace, and the session is in none"
    assert gate.log == ["not send 1"]
    assert gate.session.used == []


async def test_a_use_is_sent_alone(gate: Gate) -> None:
    """A USE is held until no request that depends on the keyspace is in flight."""
    gate.hold("USE", is_use=True)
    gate.hold("1", expected="a")
    gate.connection.streams.responders = [responder()]
    await until_on_loop(lambda: gate.log == ["send 1"])
    gate.connection.streams.responders = []
    gate.connection.gate.notify()
    await gate.until_closed()
    assert gate.log == ["send 1", "send USE"]
    assert gate.session.used == []


@pytest.mark.parametrize(
    ("version", "in_flight", "is_waited_for"),
    [
        (4, responder(), True),
        (4, responder(names_keyspace=True), True),
        (4, responder(depends=False), False),
        (5, responder(), True),
        (5, responder(names_keyspace=True), False),
        (5, responder(names_keyspace=True, is_use=True), True),
        # A responder with `needs_keyspace` is a PREPARE of `reprepare`.
        (5, SimpleNamespace(needs_keyspace=True), True),
        (4, SimpleNamespace(needs_keyspace=False), False),
        # A responder that does not belong to a request.
        (4, object(), False),
    ],
)
async def test_requests_in_flight_that_depend_on_the_keyspace_are_waited_for(
    gate: Gate, version: int, in_flight: Any, is_waited_for: bool
) -> None:
    """A switch must wait for requests in flight that depend on the connection's keyspace.

    From protocol version 5 on, a request that names its keyspace does not depend on the
    connection's keyspace, unless it is a USE.
    """
    gate.connection.version = version
    gate.connection.streams.responders = [in_flight]
    gate.hold("1", expected="ba")
    await gate.until_closed()
    if is_waited_for:
        # The gate has waited until its time limit.
        assert gate.connection.given_up == "requests in flight depend on the keyspace that it is in"
        assert gate.log == ["not send 1"]
    else:
        assert gate.log == ["send 1"]


async def test_a_switch_needs_a_free_stream(gate: Gate) -> None:
    """If no stream is free for a USE, the connection is given up."""
    gate.connection.has_room = False
    gate.hold("1", expected="ba")
    await gate.until_closed()
    assert gate.connection.given_up == "no stream is free to switch its keyspace on"


@pytest.mark.parametrize("orphans", [0, 1])
async def test_abandoned_requests_that_may_still_run_need_another_connection(
    gate: Gate, orphans: int
) -> None:
    """A connection with abandoned requests that depend on its keyspace is not switched.

    The server may still execute such requests, so the held request needs another connection.
    """
    gate.connection.left_text_behind = True
    gate.connection.orphans = orphans
    gate.hold("1", expected="ba")
    await gate.until_closed()
    if orphans:
        assert gate.connection.given_up == "requests on it that were abandoned may still run"
        assert gate.log == ["not send 1"]
    else:
        assert gate.log == ["send 1"]
        assert not gate.connection.left_text_behind


async def test_a_thread_that_writes_is_waited_for(gate: Gate) -> None:
    """While another thread writes a request to the connection, the gate waits."""
    gate.connection.streams.is_claimed = True
    gate.hold("1", expected="ba")
    await asyncio.sleep(keyspace_gate.LONGEST_UNREST / 2)
    assert gate.log == []
    gate.connection.streams.is_claimed = False
    await gate.until_closed()
    assert gate.log == ["send 1"]


async def test_a_thread_that_does_not_end_its_write_needs_another_connection(gate: Gate) -> None:
    """If a thread does not finish its write to a connection in time, the connection is given up.

    No held request can be sent during the write, so the held request goes to another connection.
    """
    gate.connection.streams.is_claimed = True
    gate.hold("1", expected="ba")
    await gate.until_closed()
    assert gate.connection.given_up == "a thread that writes was interrupted, and does not go on"
    assert gate.log == ["not send 1"]


async def test_a_mistake_of_the_driver_closes_the_connection(gate: Gate) -> None:
    """If switching raises an unexpected error, the connection is closed.

    It is not known which keyspace the connection is in.
    """
    gate.session.fault = RuntimeError("a mistake")
    gate.hold("1", expected="ba")
    await gate.until_closed()
    assert str(gate.connection.error) == "stub: a mistake"
    assert gate.log == ["not send 1"]


async def test_requests_of_a_closed_connection_use_another_one(gate: Gate) -> None:
    """The gate of a closed connection sends nothing: its requests must use another connection."""
    gate.connection.closed = True
    gate.hold("1", expected="a")
    await gate.until_closed()
    assert gate.log == ["not send 1"]


async def test_a_gate_that_has_sent_everything_holds_nothing_more(gate: Gate) -> None:
    """A request that arrives when a gate has just ended gets a new gate.

    The old gate would refuse the request and say that the connection was replaced.
    """
    await keyspace_gate.switch(gate.session, gate.connection, "ba")  # type: ignore[arg-type]
    # The task of the first gate has just ended.
    gate.hold("1", expected="ca")
    await gate.until_closed()
    assert gate.log == ["send 1"]
    assert gate.session.used == ["ba", "ca"]


async def test_switch_waits_for_the_requests_before_it(gate: Gate) -> None:
    """`switch` returns after all requests that were held before.

    It raises an error if its USE is refused.
    """
    gate.hold("1", expected="ba")
    await keyspace_gate.switch(gate.session, gate.connection, "ca")  # type: ignore[arg-type]
    assert gate.log == ["send 1"]
    assert gate.session.used == ["ba", "ca"]
    with pytest.raises(InvalidRequest, match="no keyspace x"):
        await keyspace_gate.switch(gate.session, gate.connection, "x")  # type: ignore[arg-type]
    gate.connection.closed = True
    # A connection that takes no requests is not switched.
    await keyspace_gate.switch(gate.session, gate.connection, "da")  # type: ignore[arg-type]
    assert gate.session.used == ["ba", "ca", "x"]


def can_pass(gate: Gate, **body: Any) -> bool:
    """Return True if a request need not wait at the gate.

    :param body: attributes of the request body. By default, it is a SELECT of a table without a
        keyspace, for a session without a keyspace.
    """
    settings = {
        "is_use": False,
        "expected": None,
        "carry_keyspace": lambda: False,
        "texts": lambda: ["SELECT * FROM t"],
        **body,
    }
    request: Any = SimpleNamespace(request_body=SimpleNamespace(**settings))
    session: Any = gate.session
    return keyspace_gate.can_pass(session, request, gate.connection)  # type: ignore[arg-type]


def test_requests_that_need_not_wait(gate: Gate) -> None:
    """A request may be sent in another keyspace if all its tables have keyspaces.

    From protocol version 5 on, it may also be sent if the request itself names its keyspace.
    """
    connection = gate.connection
    assert not can_pass(gate, is_use=True, expected=None)
    qualified, unqualified = "SELECT * FROM ks.t", "SELECT * FROM t"
    assert can_pass(gate, texts=lambda: [qualified], expected="b")
    assert not can_pass(gate, texts=lambda: [qualified, unqualified], expected="b")
    # Only from version 5 on can a request name its keyspace.
    assert not can_pass(gate, carry_keyspace=lambda: True, expected="b")
    connection.version = 5
    assert can_pass(gate, carry_keyspace=lambda: True, expected="b")
    assert not can_pass(gate, expected="b")


def test_requests_that_were_made_for_no_keyspace(gate: Gate) -> None:
    """A request that was made for no keyspace is sent only on a connection without a keyspace.

    If the session has a keyspace by now, such a request raises InvalidRequest, unless no USE could
    affect it.
    """
    assert not can_pass(gate)
    assert not can_pass(gate, expected="b")
    gate.connection.keyspace = None
    assert can_pass(gate)
    # In a session without a keyspace, a statement's keyspace is used only for routing.
    assert can_pass(gate, expected="b")
    gate.session.keyspace = "a"
    assert not can_pass(gate, expected="b")
    assert can_pass(gate)
    gate.connection.keyspace = "a"
    with pytest.raises(InvalidRequest, match="by now it has 'a'"):
        can_pass(gate)
    # A gate may be about to switch the connection to a keyspace.
    gate.connection.keyspace, gate.connection.gate = None, SimpleNamespace(passing=None)
    with pytest.raises(InvalidRequest, match="by now it has 'a'"):
        can_pass(gate)


# -- the order of USE statements -------------------------------------------------------------------


class PendingUse:
    """A fake USE statement that records in `log` when it may be executed, or its error."""

    def __init__(self, log: list[Any]) -> None:
        self.done = False
        self.log = log

    def take_turn(self) -> None:
        self.log.append(self)

    def fail(self, error: BaseException) -> None:
        self.log.append((self, str(error)))


def test_uses_are_executed_one_after_the_other() -> None:
    """USE statements run one after another.

    `enter` returns True for the USE that may run now. When this USE leaves, the next USE that has
    not ended may run.
    """
    log: list[Any] = []
    turns = keyspace_gate.UseTurns()
    first, second, third, fourth = (PendingUse(log) for _ in range(4))
    assert turns.enter(first)
    assert turns.enter(first)  # this USE may still run
    assert not turns.enter(second)
    assert not turns.enter(third)
    assert not turns.enter(fourth)
    assert [turns.is_waiting(use) for use in (first, second)] == [False, True]
    third.done = True  # nobody waits for this USE any more
    turns.leave(first)
    assert log == [second]
    turns.leave(second)
    assert log == [second, fourth]
    turns.leave(fourth)
    assert turns.enter(first)


def test_a_use_waits_until_all_connections_are_switched() -> None:
    """After a USE has succeeded, the next USE waits until all connections are switched."""
    log: list[Any] = []
    turns = keyspace_gate.UseTurns()
    first, second, third = (PendingUse(log) for _ in range(3))
    assert turns.enter(first)
    # Two connections must be switched before the second USE may run.
    turns.begin_switch()
    turns.begin_switch()
    turns.leave(first)
    assert not turns.enter(second)
    assert not turns.enter(third)
    # A USE that leaves before its own run does not change this.
    turns.leave(third)
    turns.end_switch()
    assert log == []
    # The last connection is switched, so the second USE may run.
    turns.end_switch()
    assert log == [second]
    turns.leave(second)
    assert log == [second]


def test_waiting_uses_fail_when_the_session_is_closed() -> None:
    """`fail_all` ends the waiting USE statements with the given error."""
    log: list[Any] = []
    turns = keyspace_gate.UseTurns()
    running, waiting = PendingUse(log), PendingUse(log)
    assert turns.enter(running)
    assert not turns.enter(waiting)
    turns.fail_all(ConnectionShutdown("over"))
    assert log == [(waiting, "over")]
    assert not turns.is_waiting(waiting)
