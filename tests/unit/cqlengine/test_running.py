"""The mapper's requests are executed on a blocking session or on a session of `cassandra.aio`."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from cassandra import ConsistencyLevel
from cassandra.cqlengine import CQLEngineException, columns, connection, running
from cassandra.cqlengine.models import Model
from cassandra.cqlengine.options import NOT_SET
from cassandra.cqlengine.running import Call, ManyRequests, Operation, Request, simple_request
from cassandra.cqltypes import EncodeTypeError, EncodeValueError
from cassandra.query.row_factories import dict_factory, tuple_factory
from tests.unit.cqlengine.conftest import FakePrepared, FakeSession


class AwaitedResult:
    """A fake result of `cassandra.aio`, which creates its rows with the row factory if awaited."""

    def __init__(self, session: AioSession) -> None:
        self._session = session
        self.row_factory: Any = None

    def __await__(self) -> Iterator[Any]:
        return self._rows().__await__()

    async def _rows(self) -> Any:
        session = self._session
        rows = self.row_factory(list(session.names), [tuple(row) for row in session.rows])
        return SimpleNamespace(
            rows=rows, current_rows=rows, has_more_pages=False, fetch_all=lambda: _awaitable(rows)
        )


async def _awaitable(value: Any) -> Any:
    """Return the value from a coroutine, so that it can be awaited."""
    return value


class AioSession(FakeSession):
    """A fake session with the methods of a session of `cassandra.aio`."""

    def __init__(self) -> None:
        super().__init__()
        self.concurrency: int | None = None

    async def prepare_all(self, texts: list[str]) -> list[FakePrepared]:
        return [self.prepare(text) for text in texts]

    def execute(self, statement: Any, parameters: Any = None, timeout: Any = None) -> Any:
        super().execute(statement, parameters, timeout)
        return AwaitedResult(self)

    async def execute_concurrent(self, pairs: Any, concurrency: int, raises: bool) -> Any:
        assert raises is False
        self.concurrency = concurrency
        for statement, values in pairs:
            super().execute(statement, values)
            yield (True, values)


class Api:
    """A connection with a fake session of the blocking or asyncio API, and methods for requests."""

    def __init__(self, is_async: bool) -> None:
        session: Any = AioSession() if is_async else FakeSession()
        self.session = session
        self.connection = connection.Connection.from_session("here", session)
        self.connection.is_async = is_async
        connection._connections["here"] = self.connection
        self.is_async = is_async

    async def perform(self, request: Request) -> Any:
        """Execute the request, and return its result."""
        if self.is_async:
            return await running.awaited(request)
        return running.blocking(request)

    async def rows(self, request: Request) -> Any:
        """Execute the request, and return the rows of its result."""
        result = await self.perform(request)
        return result.rows if self.is_async else result.current_rows


@pytest.fixture(params=["blocking", "aio"])
def api(request: pytest.FixtureRequest) -> Iterator[Api]:
    """Yield the blocking and then the asyncio API; at the end, forget the connection `here`."""
    yield Api(request.param == "aio")
    connection._connections.pop("here", None)


READ = "SELECT a FROM t WHERE k = ?"
WRITE = "INSERT INTO t (k) VALUES (?)"


# -- one statement ---------------------------------------------------------------------------------


async def test_a_request_is_prepared_once_and_executed_with_its_values(api: Api) -> None:
    """A statement is prepared once, and executed with the values of each request."""
    api.session.return_row(a=5)
    for number in range(3):
        rows = await api.rows(Request(READ, [number], "here"))
        assert rows == [{"a": 5}]
    assert api.session.prepared == [READ]
    assert [execution.values for execution in api.session.executions] == [[0], [1], [2]]
    statement = api.session.executions[0].statement
    assert isinstance(statement, FakePrepared)
    # The request has no timeout, so the session's default timeout applies.
    assert api.session.executions[0].timeout is NOT_SET


async def test_collections_that_change_while_a_statement_is_prepared(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A request sends its values as they were when the request was created.

    On `cassandra.aio`, other tasks run while the statement is prepared, and may change a
    collection.
    """
    if not api.is_async:
        pytest.skip("a blocking request is prepared without other code of its thread")
    numbers = [1]

    async def prepare_all(texts: list[str]) -> list[FakePrepared]:
        numbers.append(2)
        return [FakePrepared(text) for text in texts]

    monkeypatch.setattr(api.session, "prepare_all", prepare_all)
    await api.perform(Request(WRITE, [numbers], "here"))
    await api.perform(ManyRequests([(WRITE + " IF NOT EXISTS", [numbers])], "here", None, 1))
    # The list is changed while the first statement is prepared. So the first request must send the
    # list without the change, and the second request, which was created later, with the change.
    assert [execution.values for execution in api.session.executions] == [[[1]], [[1, 2]]]


@pytest.mark.parametrize("error_class", [EncodeValueError, EncodeTypeError])
@pytest.mark.parametrize("refusals", [1, 2])
async def test_values_that_do_not_fit_a_statement_are_bound_to_it_as_prepared_now(
    api: Api,
    monkeypatch: pytest.MonkeyPatch,
    refusals: int,
    error_class: type[Exception],
) -> None:
    """If values do not fit a prepared statement, the statement is prepared again.

    Another process may have added a field to a user-defined type since the statement was prepared,
    or made the table anew with other types. If the values do not fit the new types either, their
    error is raised.
    """
    await api.perform(Request(WRITE, [1], "here"))
    execute = api.session.execute
    errors = [error_class(f"refusal {number}") for number in range(refusals)]
    remaining = list(errors)

    # The session refuses the values as often as `refusals` says.
    def refuse(*arguments: Any, **options: Any) -> Any:
        if remaining:
            raise remaining.pop(0)
        return execute(*arguments, **options)

    monkeypatch.setattr(api.session, "execute", refuse)
    if refusals == 1:
        await api.perform(Request(WRITE, [2], "here"))
    else:
        with pytest.raises(error_class, match="refusal 1") as caught:
            await api.perform(Request(WRITE, [2], "here"))
        assert caught.value.__context__ is None
    # The statement was prepared a second time, but not a third time.
    assert api.session.prepared == [WRITE, WRITE]
    values = [execution.values for execution in api.session.executions]
    assert values == ([[1], [2]] if refusals == 1 else [[1]])


async def test_a_statement_that_another_thread_drops_meanwhile_is_still_executed(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If another thread removes a statement from the cache, a running request still executes it.

    The other thread, or task, prepares the statement again for its own values.
    """
    await api.perform(Request(WRITE, [1], "here"))
    statement_of, pairs_of = Request.statement, ManyRequests.pairs

    def statement(request: Request, *arguments: Any) -> Any:
        running.prepare_again(api.connection, Request(WRITE, [3], "here"))
        return statement_of(request, *arguments)

    def pairs(request: ManyRequests, *arguments: Any) -> Iterator[Any]:
        running.prepare_again(api.connection, Request(WRITE, [3], "here"))
        return pairs_of(request, *arguments)

    def execute_concurrent(session: Any, pairs: Any, *_: Any) -> Any:
        return [(True, session.execute(*pair)) for pair in pairs]

    # Drop the statement from the cache just before each of the two replaced functions uses it.
    monkeypatch.setattr(Request, "statement", statement)
    monkeypatch.setattr(ManyRequests, "pairs", pairs)
    monkeypatch.setattr(running, "execute_concurrent", execute_concurrent)
    await api.perform(Request(WRITE, [2], "here"))
    assert WRITE not in api.connection.prepared
    await api.perform(Request(WRITE, [3], "here"))
    await api.perform(many_requests([(WRITE, [4])]))
    assert [execution.values for execution in api.session.executions] == [[1], [2], [3], [4]]


async def test_rows_are_created_by_the_request_s_row_factory(api: Api) -> None:
    """Rows are created by the row factory of the request."""
    api.session.return_row(a=5)
    rows = await api.rows(Request(READ, [1], "here", tuple_factory))
    assert rows[0] == (5,)


async def test_all_pages_returns_the_rows_of_all_pages(api: Api) -> None:
    """With `all_pages`, a request returns the rows of all pages."""
    api.session.names, api.session.rows = ["a"], [[1], [2]]
    request = Request(READ, [1], "here")
    request.all_pages = True
    assert await api.perform(request) == [{"a": 1}, {"a": 2}]


async def test_a_request_s_settings_are_those_of_the_sent_statement(api: Api) -> None:
    """The settings of a request, such as its consistency level, are set on the sent statement."""
    await api.perform(
        Request(READ, [1], "here", consistency=ConsistencyLevel.QUORUM, timeout=2.5, fetch_size=10)
    )
    execution = api.session.executions[-1]
    assert execution.consistency == ConsistencyLevel.QUORUM
    assert execution.timeout == 2.5
    assert execution.fetch_size == 10
    assert execution.values == [1]
    await api.perform(Request(READ, [2], "here", fetch_size=None))
    execution = api.session.executions[-1]
    assert execution.consistency is None
    assert execution.fetch_size is None
    assert execution.values == [2]


async def test_the_connection_s_consistency_level_is_the_default_of_requests(api: Api) -> None:
    """A request without a consistency level uses the connection's level."""
    api.connection.consistency = ConsistencyLevel.LOCAL_QUORUM
    await api.perform(Request(READ, [1], "here"))
    assert api.session.executions[-1].consistency == ConsistencyLevel.LOCAL_QUORUM
    assert api.session.executions[-1].values == [1]
    await api.perform(Request(READ, [1], "here", consistency=ConsistencyLevel.QUORUM))
    assert api.session.executions[-1].consistency == ConsistencyLevel.QUORUM
    await api.perform(simple_request("TRUNCATE t", "here"))
    assert api.session.executions[-1].consistency == ConsistencyLevel.LOCAL_QUORUM


async def test_statements_are_logged_with_their_values(
    api: Api, caplog: pytest.LogCaptureFixture
) -> None:
    """Each statement is logged with its connection and values."""
    with caplog.at_level(logging.DEBUG, "cassandra.cqlengine.connection"):
        await api.perform(Request(READ, [7], "here"))
    assert [record.getMessage() for record in caplog.records] == [
        f"[Connection: 'here'] {READ} with [7]"
    ]


async def test_a_statement_is_used_although_the_cache_was_cleared(api: Api) -> None:
    """If the cache is cleared while a statement is being prepared, the statement is still executed.

    Another thread may clear the cache.
    """
    prepare = api.session.prepare

    def prepare_and_clear_cache(text: str) -> Any:
        statement = prepare(text)
        api.connection.prepared = {}
        return statement

    api.session.prepare = prepare_and_clear_cache
    await api.perform(Request(READ, [1], "here"))
    assert api.session.executions[-1].text == READ


# -- schema changes and calls ----------------------------------------------------------------------


async def test_a_schema_change_clears_the_statement_caches_of_all_connections(api: Api) -> None:
    """A schema change clears the statement caches of all connections, and is not prepared."""
    other_connection = connection.Connection.from_session("other", api.session)
    connection._connections["other"] = other_connection
    try:
        other_connection.prepared["x"] = FakePrepared("x")
        await api.perform(Request(READ, [1], "here"))
        assert READ in api.connection.prepared
        assert "x" in other_connection.prepared
        await api.perform(simple_request("DROP TABLE t", "here", timeout=60.0))
        assert api.connection.prepared == {}
        assert other_connection.prepared == {}
    finally:
        connection._connections.pop("other")
    execution = api.session.executions[-1]
    assert execution.text == "DROP TABLE t"
    assert execution.timeout == 60.0
    # Only READ is prepared. The statement that changes the schema is not prepared.
    assert api.session.prepared == [READ]


async def test_a_call_gets_the_connection(api: Api) -> None:
    """The function of a `Call` gets the connection; in asyncio, its result is awaited."""

    def label_of(mapper_connection: Any) -> Any:
        label = mapper_connection.label
        return _awaitable(label) if api.is_async else label

    assert await api.perform(Call(label_of, "here")) == "'here'"
    assert api.session.executions == []


# -- many writes -----------------------------------------------------------------------------------

# Requests that are executed concurrently: the CQL and the values of each.
WRITES = [(WRITE, [1]), (READ, [2]), (WRITE, [3])]
CONCURRENCY = 5


def many_requests(
    writes: list[tuple[str, list[int]]], consistency: int | None = None
) -> ManyRequests:
    """Return a request for writes on the connection "here".

    :param consistency: the consistency level of the request; None to use the connection's level.
    """
    return ManyRequests(writes, "here", consistency, CONCURRENCY)


@pytest.fixture
def last_concurrency(api: Api, monkeypatch: pytest.MonkeyPatch) -> Callable[[], int | None]:
    """Return a function that returns the concurrency of the latest writes, for both APIs."""
    concurrencies: list[int] = []

    def execute_concurrent(session: Any, pairs: Any, concurrency: int, raises: bool) -> Any:
        # A failed write must not hide the outcomes of other writes, so it is returned and not
        # raised.
        assert raises is False
        concurrencies.append(concurrency)
        return [(True, session.execute(*pair)) for pair in pairs]

    monkeypatch.setattr(running, "execute_concurrent", execute_concurrent)
    return lambda: api.session.concurrency if api.is_async else concurrencies[-1]


async def test_many_writes_are_prepared_once_per_text(
    api: Api, last_concurrency: Callable[[], int | None]
) -> None:
    """`ManyRequests` prepares each statement once, and executes the writes with its concurrency."""
    outcomes = await api.perform(many_requests(WRITES))
    assert len(outcomes) == 3
    assert all(outcome[0] for outcome in outcomes)
    assert last_concurrency() == CONCURRENCY
    assert sorted(api.session.prepared) == sorted([WRITE, READ])
    assert [(execution.text, execution.values) for execution in api.session.executions] == WRITES
    assert [execution.consistency for execution in api.session.executions] == [None] * 3


async def test_the_level_of_many_writes_is_that_of_the_request_or_connection(
    api: Api, last_concurrency: Callable[[], int | None]
) -> None:
    """Many writes use the consistency level of the request, or else of the connection."""
    of_request, of_connection = ConsistencyLevel.QUORUM, ConsistencyLevel.LOCAL_QUORUM
    await api.perform(many_requests(WRITES, of_request))
    api.connection.consistency = of_connection
    await api.perform(many_requests(WRITES))
    await api.perform(many_requests(WRITES, of_request))
    levels = [execution.consistency for execution in api.session.executions]
    assert levels == [of_request] * 3 + [of_connection] * 3 + [of_request] * 3
    assert [execution.values for execution in api.session.executions] == [[1], [2], [3]] * 3


async def test_many_writes_are_logged_in_one_line(
    api: Api, last_concurrency: Callable[[], int | None], caplog: pytest.LogCaptureFixture
) -> None:
    """Many writes are logged in one line."""
    with caplog.at_level(logging.DEBUG, "cassandra.cqlengine.connection"):
        await api.perform(many_requests(WRITES))
    assert [record.getMessage() for record in caplog.records] == [
        f"[Connection: 'here'] 3 times {WRITE}; {READ} with [[1], [2], [3]]"
    ]


@pytest.mark.parametrize("refusals", [1, 2])
async def test_only_the_writes_that_do_not_fit_a_statement_are_bound_again(
    api: Api, monkeypatch: pytest.MonkeyPatch, refusals: int
) -> None:
    """If the values of one write do not fit a statement, only this write is bound and sent again.

    The values fit the current types. The outcomes stay in the order of the writes.
    """
    await api.perform(Request(WRITE, [0], "here"))

    # The values of the write [3] do not fit until WRITE was prepared more than `refusals` times.
    def outcome_of(statement: Any, values: list[int]) -> tuple[bool, Any]:
        if values == [3] and api.session.prepared.count(WRITE) <= refusals:
            return False, EncodeValueError("refusal")
        api.session.execute(statement, values)
        return True, values

    def execute_concurrent(session: Any, pairs: Any, *_: Any) -> Any:
        return [outcome_of(*pair) for pair in pairs]

    async def execute_concurrent_async(pairs: Any, *_: Any) -> Any:
        for pair in pairs:
            yield outcome_of(*pair)

    monkeypatch.setattr(running, "execute_concurrent", execute_concurrent)
    if api.is_async:
        monkeypatch.setattr(api.session, "execute_concurrent", execute_concurrent_async)
    monkeypatch.setattr(running, "set_row_factory", lambda *_: None)
    outcomes = await api.perform(many_requests([*WRITES, (WRITE, [4])]))
    assert [succeeded for succeeded, _ in outcomes] == [True, True, refusals == 1, True]
    assert [outcome for _, outcome in outcomes if isinstance(outcome, list)] == (
        [[1], [2], [3], [4]] if refusals == 1 else [[1], [2], [4]]
    )
    assert api.session.prepared == [WRITE, READ, WRITE]


def test_rows_of_blocking_writes_are_dicts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Writes of the blocking API return rows as dicts.

    The existing row of a conditional write is read by column name.
    """
    api = Api(is_async=False)
    try:
        api.session.return_row(**{"[applied]": False})
        # The second result has no row factory that could be set. This must not be an error.
        results = [api.session.execute(WRITE), SimpleNamespace()]
        monkeypatch.setattr(
            running, "execute_concurrent", lambda *_: [(True, result) for result in results]
        )
        outcomes = running.blocking(many_requests(WRITES[:2]))
        assert outcomes[0][1].current_rows == [{"[applied]": False}]
        assert results[0].response_future.row_factory is dict_factory
    finally:
        connection._connections.pop("here")


# -- operations ------------------------------------------------------------------------------------


def operation() -> Operation[Any]:
    """Send a read and a write; return the result of the read and the error of the write."""
    result = yield Request(READ, [1], "here")
    try:
        yield Request(WRITE, [2], "here")
    except ValueError as error:
        return result, error
    return result, None


async def test_an_operation_gets_results_and_errors(api: Api) -> None:
    """An operation, a generator of requests, gets each request's result, or its error."""
    api.session.return_row(a=5)

    async def run_operation() -> Any:
        if api.is_async:
            return await running.arun(operation())
        return running.run(operation())

    result, error = await run_operation()
    assert result is not None
    assert error is None
    execute = api.session.execute

    # Let the session refuse the operation's write.
    def execute_or_refuse_write(statement: Any, *args: Any, **kwargs: Any) -> Any:
        if statement.text == WRITE:
            raise ValueError("refused")
        return execute(statement, *args, **kwargs)

    api.session.execute = execute_or_refuse_write
    _, error = await run_operation()
    assert str(error) == "refused"


async def test_the_wrong_kind_of_session_is_named(api: Api) -> None:
    """A blocking call on an asyncio session, and the reverse, is refused by name."""
    request = Request(READ, [1], "here")
    if api.is_async:
        with pytest.raises(CQLEngineException, match=r"'here' has a session of cassandra\.aio"):
            running.blocking(request)
    else:
        with pytest.raises(CQLEngineException, match="'here' has a blocking session, which cannot"):
            await running.awaited(request)
    assert api.session.executions == []


# -- models ----------------------------------------------------------------------------------------


class Saved(Model):
    """A model whose `asave` the application has overridden."""

    __keyspace__ = "ks"
    __connection__ = "here"
    id = columns.Integer(primary_key=True)
    saves = columns.Integer()

    async def asave(self) -> Any:
        self.saves = (self.saves or 0) + 1
        return await super().asave()


async def test_acreate_calls_the_model_s_own_asave() -> None:
    """`acreate` calls the `asave` that the model defines."""
    api = Api(is_async=True)
    try:
        api.session.return_row(**{"[applied]": True})
        for create in (Saved.acreate, Saved.objects.acreate, Saved.if_not_exists().acreate):
            saved = await create(id=1)
            assert saved.saves == 1
            assert api.session.last_statement[1] == [1, 1]
        assert len(api.session.executions) == 3
        # The second write is an UPDATE, which does not use the condition `if_not_exists`.
        await saved.asave()
        assert "IF NOT EXISTS" not in api.session.last_statement[0]
    finally:
        connection._connections.pop("here", None)
