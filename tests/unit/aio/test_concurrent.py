"""`Session.execute_concurrent` of the asyncio API."""

from __future__ import annotations

import asyncio
import gc
import itertools
import warnings
import weakref
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from cassandra import aio
from cassandra._truth_tests import UseCheck
from cassandra.aio.concurrent import outcomes as concurrent_outcomes
from cassandra.errors import InvalidRequest
from cassandra.query import tuple_factory
from cassandra.testing.fake import ErrorCode, FakeNode, Opcode, error, hold, rows
from tests.unit.engine.faults import connected
from tests.unit.engine.partners import run_loop_turns
from tests.waiting import until_on_loop

# The type of `outcomes_in_order` and `as_completed`, which are defined below.
RunConcurrently = Any

QUERY = "SELECT k FROM t WHERE k = ?"
COLUMNS = [("k", "int")]


@pytest.fixture
def node() -> Iterator[FakeNode]:
    """Yield a fake node that responds to QUERY with the value that the request binds."""
    with FakeNode() as running:
        running.prime_prepare(QUERY, COLUMNS, COLUMNS)
        running.prime(QUERY, lambda request: rows(COLUMNS, [(value_of(request),)]))
        yield running


def value_of(request: Any) -> int:
    """Return the first bound value of the request, which is an int."""
    return int.from_bytes(request.values[0], "big")


def executed_values(node: FakeNode) -> list[int]:
    """Return the bound values of all EXECUTE requests, in order of arrival."""
    return [value_of(request) for request in node.requests if request.opcode == Opcode.EXECUTE]


def in_flight(session: aio.Session) -> int:
    """Return how many requests of the session have no response yet."""
    return sum(
        connection.in_flight for pool in session.get_pools() for connection in pool.connections
    )


Select = Callable[..., AsyncIterator[Any]]


@pytest.fixture
async def select(node: FakeNode) -> AsyncIterator[Select]:
    """Yield a function that executes a prepared QUERY concurrently, once for each given value.

    The function's attribute `session` is the session.
    """
    async with connected(node) as (_, session):
        prepared = await session.prepare(QUERY)

        def select(values: Any, **options: Any) -> AsyncIterator[Any]:
            return session.execute_concurrent(((prepared, (key,)) for key in values), **options)

        select.session = session  # type: ignore[attr-defined]
        yield select


async def test_outcomes_are_in_order(select: Select) -> None:
    """By default, the outcomes have the order of their statements.

    The 500 statements bind the values 0 to 499, and the node returns the bound value.
    """
    outcomes = [outcome async for outcome in select(range(500), concurrency=7)]
    assert {type(outcome).__name__ for outcome in outcomes} == {"ExecutionResult"}
    assert [outcome.result_or_exc.one().k for outcome in outcomes] == list(range(500))
    assert all(outcome.success for outcome in outcomes)


async def test_outcomes_are_in_order_although_answers_are_reversed(
    node: FakeNode, select: Select
) -> None:
    """If responses arrive in reverse order, outcomes still have the order of the statements."""
    held = hold()
    node.prime(QUERY, held)
    results = asyncio.ensure_future(collect(select(range(6), concurrency=3)))
    # The driver sends further requests when half of the running requests have ended. So the driver
    # sends three requests, then two, and finally one.
    for count in (3, 2, 1):
        # Respond to the held requests in reverse order.
        for held_request in reversed(await asyncio.to_thread(held.take, count)):
            held_request.release(rows(COLUMNS, [(value_of(held_request.request),)]))
    assert [outcome.result_or_exc.one().k for outcome in await results] == list(range(6))


async def collect(outcomes: AsyncIterator[Any]) -> list[Any]:
    """Return all outcomes as a list."""
    return [outcome async for outcome in outcomes]


async def test_without_order_outcomes_have_their_position(node: FakeNode, select: Select) -> None:
    """With `in_order=False`, an outcome is returned as soon as it is known, with its position."""
    held = hold()
    node.prime(QUERY, held)
    outcomes = select(range(3), in_order=False)
    # Respond to the requests in another order than that of the statements.
    for expected in (2, 0, 1):
        next_outcome = asyncio.ensure_future(anext(outcomes))
        (held_request,) = [
            candidate
            for candidate in await asyncio.to_thread(held.wait, 1)
            if value_of(candidate.request) == expected and not candidate.released
        ]
        held_request.release(rows(COLUMNS, [(expected,)]))
        outcome = await next_outcome
        assert outcome.success
        assert outcome.position == expected
        assert outcome.result_or_exc.one().k == expected
    with pytest.raises(StopAsyncIteration):
        await anext(outcomes)


@pytest.mark.parametrize("in_order", [True, False])
async def test_without_raise_on_first_error_errors_are_outcomes(
    node: FakeNode, select: Select, in_order: bool
) -> None:
    """With `raise_on_first_error=False`, each error is the outcome at its statement's position.

    The server refuses some values, and one value cannot be encoded.
    """

    def refuse_odd_values(request: Any) -> Any:
        if value_of(request) % 2:
            return error(ErrorCode.INVALID, "odd")
        return rows(COLUMNS, [(value_of(request),)])

    node.prime(QUERY, refuse_odd_values)
    options = {"raise_on_first_error": False, "in_order": in_order}
    outcomes = await collect(select([0, 1, "two", 3, 4], **options))
    if not in_order:
        outcomes.sort(key=lambda outcome: outcome.position)
    assert [outcome.success for outcome in outcomes] == [True, False, False, False, True]
    assert isinstance(outcomes[1].result_or_exc, InvalidRequest)
    assert isinstance(outcomes[2].result_or_exc, TypeError)
    assert isinstance(outcomes[3].result_or_exc, InvalidRequest)


async def test_the_first_error_in_order_is_raised(node: FakeNode, select: Select) -> None:
    """If all 50 statements fail, the error of the first one is raised.

    When it is raised, no request of the session is in flight any more.
    """
    node.prime(QUERY, lambda request: error(ErrorCode.INVALID, f"no {value_of(request)}"))
    with pytest.raises(InvalidRequest, match="no 0"):
        await collect(select(range(50)))
    await asyncio.sleep(0)
    assert in_flight(select.session) == 0  # type: ignore[attr-defined]


async def test_after_a_failure_the_end_is_not_reported(node: FakeNode, select: Select) -> None:
    """After an error or a cancelled wait, the next `anext` raises RuntimeError.

    Some statements were not executed, so `anext` must not report the end of the outcomes.
    """
    # The node refuses only the first statement.
    node.prime(QUERY, error(ErrorCode.INVALID, "no"), times=1)
    failed = select(range(5), concurrency=1)
    with pytest.raises(InvalidRequest):
        await anext(failed)
    with pytest.raises(RuntimeError, match="has failed before"):
        await anext(failed)
    # Now cancel a task that waits for the first outcome.
    held = hold()
    node.prime(QUERY, held)
    cancelled = select(range(5), concurrency=1)
    waiting = asyncio.ensure_future(anext(cancelled))
    await until_on_loop(lambda: held.held)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    with pytest.raises(RuntimeError, match="has failed before"):
        await anext(cancelled)


@pytest.mark.parametrize("in_order", [True, False])
async def test_unread_executions_are_cancelled(
    node: FakeNode, select: Select, in_order: bool
) -> None:
    """Closing the iterator cancels the executions in flight, and no further statement is sent."""
    held = hold()
    node.prime(QUERY, held)
    session: aio.Session = select.session  # type: ignore[attr-defined]
    outcomes: Any = select(range(50), concurrency=10, in_order=in_order)
    next_outcome = asyncio.ensure_future(anext(outcomes))
    await asyncio.to_thread(held.wait, 10)
    next_outcome.cancel()
    with pytest.raises(asyncio.CancelledError):
        await next_outcome
    await outcomes.aclose()
    (connection,) = session.get_pools()[0].connections
    # The server has not responded to these 10 requests. So their streams stay reserved for late
    # responses, as orphans.
    assert connection.streams.orphans == 10
    held.open()
    await node.wait_until(lambda node: len(executed_values(node)) == 10)
    assert (await session.execute("SELECT 1")).all() == []


async def test_statements_of_different_kinds_keep_their_positions(
    node: FakeNode, select: Select
) -> None:
    """Prepared statements and query strings keep their positions.

    The driver sends the two kinds in different ways.
    """
    session: aio.Session = select.session  # type: ignore[attr-defined]
    prepared = await session.prepare(QUERY)
    query = "SELECT k FROM t WHERE k = 7"
    node.prime(query, rows(COLUMNS, [(7,)]))
    # The statements alternate between both kinds.
    pairs: list[Any] = [
        (prepared, (1,)),
        (query, None),
        (prepared, {"k": 2}),
        (prepared, (3,)),
        (query, None),
    ]
    for in_order in (True, False):
        outcomes = await collect(
            session.execute_concurrent(pairs * 20, concurrency=4, in_order=in_order)
        )
        if not in_order:
            outcomes.sort(key=lambda outcome: outcome.position)
        values = [outcome.result_or_exc.one().k for outcome in outcomes]
        assert values == [1, 7, 2, 3, 7] * 20


async def test_unread_executions_of_query_strings_are_cancelled(
    node: FakeNode, select: Select
) -> None:
    """If the reader stops early, executions of query strings are cancelled.

    The event loop must not report an error that was never retrieved.
    """
    session: aio.Session = select.session  # type: ignore[attr-defined]
    held = hold()
    node.prime("SELECT slow", held)
    # Record the errors that the event loop reports.
    loop_errors: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: loop_errors.append(context))
    # Stop while three executions are in flight.
    outcomes: Any = session.execute_concurrent([("SELECT slow", None)] * 3)
    next_outcome = asyncio.ensure_future(anext(outcomes))
    await asyncio.to_thread(held.wait, 3)
    next_outcome.cancel()
    with pytest.raises(asyncio.CancelledError):
        await next_outcome
    await outcomes.aclose()
    held.open()
    assert (await session.execute("SELECT 1")).all() == []
    gc.collect()
    assert loop_errors == []


async def test_a_wrapper_around_execute_is_called_for_each_request(
    monkeypatch: pytest.MonkeyPatch, select: Select
) -> None:
    """If a tracer has replaced `Session.execute`, the replacement is called for each statement.

    Otherwise, the driver would send prepared statements without calling `Session.execute`.
    """
    queries = []
    execute = aio.Session.execute

    def wrapper(session: Any, query: Any, *args: Any, **kwargs: Any) -> Any:
        queries.append(query)
        return execute(session, query, *args, **kwargs)

    monkeypatch.setattr(aio.Session, "execute", wrapper)
    assert len(await collect(select(range(5)))) == 5
    assert len(queries) == 5


@pytest.mark.parametrize("in_order", [True, False])
async def test_a_wrapper_around_execute_may_be_a_coroutine_function(
    monkeypatch: pytest.MonkeyPatch, select: Select, in_order: bool
) -> None:
    """If `Session.execute` is replaced by a coroutine function, the outcomes are the same.

    The concurrency stays limited, and executions are cancelled if the reader stops early.
    """
    in_flight_count = peak_count = 0
    execute = aio.Session.execute

    async def wrapper(session: Any, query: Any, *args: Any, **kwargs: Any) -> Any:
        nonlocal in_flight_count, peak_count
        in_flight_count += 1
        peak_count = max(peak_count, in_flight_count)
        try:
            return await execute(session, query, *args, **kwargs)
        finally:
            in_flight_count -= 1

    monkeypatch.setattr(aio.Session, "execute", wrapper)
    results = await collect(select(range(20), concurrency=5, in_order=in_order))
    assert sorted(outcome.result_or_exc.one().k for outcome in results) == list(range(20))
    assert peak_count == 5
    # If the reader stops early, executions that have not ended are cancelled.
    outcomes: Any = select(range(20), concurrency=5, in_order=in_order)
    await anext(outcomes)
    await outcomes.aclose()
    # Let the wrappers handle their cancellation.
    await asyncio.sleep(0)
    assert in_flight_count == 0


async def test_errors_of_the_statements_iterable_are_raised(node: FakeNode, select: Select) -> None:
    """An error of the iterable of statements is raised.

    The statements before the error are executed.
    """

    def values() -> Iterator[int]:
        yield 1
        yield 2
        raise LookupError("no more")

    with pytest.raises(LookupError, match="no more"):
        await collect(select(values()))
    await node.wait_until(lambda node: len(executed_values(node)) == 2)


async def test_endless_statements_are_read_only_as_needed(node: FakeNode, select: Select) -> None:
    """An endless iterable of statements is read only a limited number of statements ahead."""
    generated = 0

    def values() -> Iterator[int]:
        nonlocal generated
        while True:
            yield generated
            generated += 1

    outcomes_read = 0
    concurrency = 8
    async for outcome in select(values(), concurrency=concurrency):
        assert outcome.result_or_exc.one().k == outcomes_read
        outcomes_read += 1
        # The driver may take more statements than outcomes were read, but at most four times the
        # concurrency.
        assert generated <= outcomes_read + 4 * concurrency
        if outcomes_read == 100:
            break


@pytest.mark.parametrize(
    ("concurrency", "error"),
    [(0, ValueError), (-0.5, ValueError), ("8", TypeError), (None, TypeError)],
)
async def test_concurrency_is_checked(select: Select, concurrency: Any, error: Any) -> None:
    """Anything but a number greater than 0 must be refused by the call."""
    with pytest.raises(error, match=r"concurrency must be (greater than 0|a number of requests)"):
        select([1], concurrency=concurrency)


@pytest.mark.parametrize("concurrency", [0.5, 2.5, float("inf")])
async def test_concurrency_may_be_a_fraction(select: Select, concurrency: Any) -> None:
    """As in `cassandra.concurrent`, a concurrency is rounded down, but is at least 1."""
    assert len([outcome async for outcome in select(range(9), concurrency=concurrency)]) == 9


async def test_without_statements_there_are_no_outcomes(select: Select) -> None:
    """For an empty list of statements, the iteration ends at once."""
    assert await collect(select([])) == []


async def test_the_row_factory_at_the_call_is_used_for_all_outcomes(select: Select) -> None:
    """A new row factory does not apply to calls of `execute_concurrent` that have begun before."""
    async with aio.Cluster(
        [select.session.cluster.contact_points[0]],  # type: ignore[attr-defined]
        port=select.session.cluster.port,  # type: ignore[attr-defined]
    ) as cluster:
        session = await cluster.connect()
        session.row_factory = tuple_factory
        prepared = await session.prepare(QUERY)
        outcomes = session.execute_concurrent([(prepared, (4,))] * 2)
        first = await anext(outcomes)
        session.row_factory = lambda names, rows: ["other"]
        assert first.result_or_exc.one() == (4,)
        assert (await anext(outcomes)).result_or_exc.one() == (4,)
        later_outcomes = await collect(session.execute_concurrent([(prepared, (4,))]))
        assert later_outcomes[0].result_or_exc.one() == "other"


async def test_outcomes_without_an_answer_let_other_tasks_run(select: Select) -> None:
    """Outcomes that need no response, such as errors, do not keep other tasks from running.

    Otherwise, a time limit could not end a loop over endless statements.
    """
    session: aio.Session = select.session  # type: ignore[attr-defined]
    await session.shutdown()
    calls_of_others: list[None] = []
    outcomes_read = 0
    asyncio.get_running_loop().call_soon(calls_of_others.append, None)
    async for outcome in select(itertools.repeat(1), raise_on_first_error=False):
        assert not outcome.success
        outcomes_read += 1
        if calls_of_others or outcomes_read > 50_000:
            break
    assert calls_of_others


@pytest.mark.parametrize("in_order", [True, False])
async def test_an_error_is_not_held_by_its_own_traceback(
    node: FakeNode, select: Select, in_order: bool
) -> None:
    """A raised error must not be in a reference cycle.

    A cycle would keep the frames of the traceback and their rows in memory until the garbage
    collector runs.
    """
    node.prime(QUERY, lambda request: error(ErrorCode.INVALID, f"no {value_of(request)}"))
    # The garbage collector is off, so only a reference count of 0 can free the error.
    gc.collect()
    gc.disable()
    try:
        try:
            await collect(select(range(10), in_order=in_order))
        except InvalidRequest as raised:
            reference = weakref.ref(raised)
        assert reference() is None
    finally:
        gc.enable()


async def test_after_shutdown_all_outcomes_are_errors(select: Select) -> None:
    """After the session's shutdown, each statement has an error as its outcome."""
    session: aio.Session = select.session  # type: ignore[attr-defined]
    await session.shutdown()
    outcomes = await collect(select(range(3), raise_on_first_error=False))
    assert [outcome.success for outcome in outcomes] == [False] * 3
    assert "shut down" in str(outcomes[0].result_or_exc)


# -- with a fake session that the test controls ----------------------------------------------------


def outcomes_in_order(session: Any, pairs: Any, concurrency: int, **settings: Any) -> Any:
    """Execute the statements, and return their outcomes in the order of the statements."""
    return outcomes_of(session, pairs, concurrency, in_order=True, **settings)


def as_completed(session: Any, pairs: Any, concurrency: int, **settings: Any) -> Any:
    """Execute the statements, and return their outcomes as the executions end."""
    return outcomes_of(session, pairs, concurrency, in_order=False, **settings)


def outcomes_of(
    session: Any,
    pairs: Any,
    concurrency: int,
    *,
    in_order: bool,
    raises: bool = True,
    options: dict[str, Any] | None = None,
) -> Any:
    """Execute statements by `session.execute`, and return an iterator of their outcomes.

    :param pairs: pairs of a statement and its parameters.
    :param concurrency: the most executions at the same time.
    :param in_order: return the outcomes in the order of the statements.
    :param raises: raise the first error, instead of returning it as an outcome.
    :param options: arguments for each call of `execute`; None for no arguments.
    """
    return concurrent_outcomes(
        session,
        pairs,
        concurrency,
        raises,
        options or {},
        path=None,
        in_order=in_order,
        iteration_check=UseCheck(""),
    )


class FakeSession:
    """A fake session whose executions are ended by the test.

    The attribute `futures` maps the number of a statement to the future of its execution.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.futures: dict[int, asyncio.Future[Any]] = {}
        self.options: dict[str, Any] = {}
        self.answers_at_once = False  # end each execution in the loop's next iteration
        self.highest_concurrency = 0

    def execute(self, statement: int, parameters: Any, **options: Any) -> asyncio.Future[Any]:
        """Return a future for the statement, which is a number.

        A negative number raises TypeError.
        """
        if statement < 0:
            raise TypeError("a mistake in the call")
        self.options = options
        future = asyncio.get_running_loop().create_future()
        self.futures[statement] = future
        under_way = sum(not pending.done() for pending in self.futures.values())
        self.highest_concurrency = max(self.highest_concurrency, under_way)
        if self.answers_at_once:
            asyncio.get_running_loop().call_soon(self.end, statement)
        return future

    def end(self, *statements: int) -> None:
        """Let the executions of these statements succeed."""
        for statement in statements:
            self.futures[statement].set_result(f"result {statement}")


def pairs(*numbers: int) -> Iterator[tuple[Any, Any]]:
    """Return each number as a statement, paired with None for its parameters."""
    return ((number, None) for number in numbers)


@pytest.mark.parametrize("run", [outcomes_in_order, as_completed])
async def test_the_concurrency_is_not_exceeded_and_all_outcomes_arrive(
    run: RunConcurrently,
) -> None:
    """Nine statements with a concurrency of 3 return nine outcomes, and at most 3 run at once."""
    session = FakeSession()

    session.answers_at_once = True
    execution = run(session, pairs(*range(9)), concurrency=3, options={"a": 1})
    outcomes = [outcome async for outcome in execution]
    assert sorted(outcome.result_or_exc for outcome in outcomes) == [
        f"result {n}" for n in range(9)
    ]
    assert session.highest_concurrency == 3
    assert session.options == {"a": 1}


async def test_in_order_outcomes_follow_the_statements() -> None:
    """With `in_order`, an outcome waits for the outcomes of all earlier statements."""
    session = FakeSession()
    outcomes = outcomes_in_order(session, pairs(0, 1, 2), concurrency=3)
    first = asyncio.ensure_future(anext(outcomes))
    await run_loop_turns()
    session.end(2, 1)
    await run_loop_turns()
    assert not first.done()
    session.end(0)
    assert (await first).result_or_exc == "result 0"
    assert [outcome.result_or_exc async for outcome in outcomes] == ["result 1", "result 2"]


async def test_as_completed_returns_the_position_of_the_statement() -> None:
    """Without `in_order`, the first outcome is the first execution to end, with its position."""
    session = FakeSession()
    outcomes = as_completed(session, pairs(5, 6, 7), concurrency=3)
    first = asyncio.ensure_future(anext(outcomes))
    await run_loop_turns()
    session.end(7)
    success, result, position = await first
    assert success is True
    assert result == "result 7"
    assert position == 2
    session.end(5, 6)
    assert sorted([outcome.position async for outcome in outcomes]) == [0, 1]


@pytest.mark.parametrize("run", [outcomes_in_order, as_completed])
async def test_after_the_first_error_the_rest_is_cancelled(run: RunConcurrently) -> None:
    """After an error is raised, running executions are cancelled.

    No further statement is executed.
    """
    session = FakeSession()
    outcomes = run(session, pairs(0, 1, 2), concurrency=2)
    first = asyncio.ensure_future(anext(outcomes))
    await run_loop_turns()
    session.futures[0].set_exception(ValueError("refused"))
    with pytest.raises(ValueError, match="refused"):
        await first
    assert session.futures[1].cancelled()
    # After the error, the third statement was not executed.
    assert 2 not in session.futures


@pytest.mark.parametrize("run", [outcomes_in_order, as_completed])
async def test_errors_of_calls_and_executions_are_outcomes(run: RunConcurrently) -> None:
    """Errors of `execute` itself and errors of executions are both returned as outcomes."""
    session = FakeSession()
    # The statement -1 fails when `execute` is called, and statement 0 fails later.
    outcomes = run(session, pairs(0, -1), concurrency=2, raises=False)
    next_outcome = asyncio.ensure_future(anext(outcomes))
    await run_loop_turns()
    session.futures[0].set_exception(ValueError("refused"))
    all_outcomes = [await next_outcome]
    all_outcomes += [outcome async for outcome in outcomes]
    assert {type(outcome.result_or_exc) for outcome in all_outcomes} == {ValueError, TypeError}
    assert not any(outcome.success for outcome in all_outcomes)


@pytest.mark.parametrize("run", [outcomes_in_order, as_completed])
async def test_when_the_reader_stops_the_rest_is_cancelled(run: RunConcurrently) -> None:
    """After `aclose`, running executions are cancelled, and no further statement is executed."""
    session = FakeSession()
    outcomes = run(session, pairs(*range(4)), concurrency=3)
    first = asyncio.ensure_future(anext(outcomes))
    await run_loop_turns()
    session.end(0)
    await first
    await outcomes.aclose()
    assert [session.futures[number].cancelled() for number in (1, 2)] == [True, True]
    # After the reader has stopped, the last statement was not executed.
    assert 3 not in session.futures


@pytest.mark.parametrize("run", [outcomes_in_order, as_completed])
async def test_a_concurrency_of_zero_is_refused(run: RunConcurrently) -> None:
    """A concurrency of 0 raises ValueError, whether or not the outcomes are in order."""
    with pytest.raises(ValueError, match="concurrency must be at least 1, but is 0"):
        await anext(run(FakeSession(), pairs(1), concurrency=0))


# Call `execute_concurrent`, and discard the iterator that it returns. The call must be in the first
# line of the body, because the test expects the line number of the call in the warning.
def drop_outcomes(session: aio.Session, statement: Any) -> None:
    session.execute_concurrent([(statement, (1,))])
    gc.collect()


async def test_outcomes_that_nobody_reads_cause_a_warning(node: FakeNode, select: Select) -> None:
    """If the outcomes of `execute_concurrent` are never read, a RuntimeWarning is shown.

    No statement is executed before the first outcome is requested, so a forgotten loop loses
    writes. The warning names the line of the call.
    """
    session: aio.Session = select.session  # type: ignore[attr-defined]
    prepared = await session.prepare(QUERY)
    with pytest.warns(RuntimeWarning, match="so none of its statements was executed") as record:
        drop_outcomes(session, prepared)
    line = drop_outcomes.__code__.co_firstlineno + 1
    assert [(warning.filename, warning.lineno) for warning in record] == [(__file__, line)]
    assert executed_values(node) == []


async def test_outcomes_that_are_read_cause_no_warning(node: FakeNode, select: Select) -> None:
    """There is no warning if at least one outcome is read, or if there is no statement."""
    session: aio.Session = select.session  # type: ignore[attr-defined]
    prepared = await session.prepare(QUERY)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        async for _ in session.execute_concurrent([(prepared, (1,)), (prepared, (2,))]):
            break
        session.execute_concurrent([])  # there is no statement, so no warning
        gc.collect()


async def test_one_statement_and_its_rows_get_advice(select: Select) -> None:
    """A statement and a list of rows, instead of pairs, raise TypeError.

    The error says how to write the pairs.
    """
    session: Any = select.session  # type: ignore[attr-defined]
    prepared = await session.prepare(QUERY)
    with pytest.raises(TypeError, match=r"pairs, but got .* PreparedStatement.*row in rows\)"):
        session.execute_concurrent(prepared, [(1,)])
