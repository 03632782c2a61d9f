"""Many executions at a time on asyncio, with a session that the test answers for."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from cassandra.aio.concurrent import as_completed, in_turn
from tests.unit.engine.partners import turns

Run = Any


class Executor:
    """As a session: the test ends executions, by their statements."""

    def __init__(self) -> None:
        self.futures: dict[int, asyncio.Future[Any]] = {}
        self.options: dict[str, Any] = {}
        self.answers = False  # by itself, in the next turn of the loop
        self.most = 0

    def execute(self, statement: int, parameters: Any, **options: Any) -> asyncio.Future[Any]:
        if statement < 0:
            raise TypeError("a mistake in the call")
        self.options = options
        future = asyncio.get_running_loop().create_future()
        self.futures[statement] = future
        under_way = sum(not one.done() for one in self.futures.values())
        self.most = max(self.most, under_way)
        if self.answers:
            asyncio.get_running_loop().call_soon(self.end, statement)
        return future

    def end(self, *statements: int) -> None:
        for statement in statements:
            self.futures[statement].set_result(f"result {statement}")


def pairs(*numbers: int) -> Iterator[tuple[Any, Any]]:
    return ((number, None) for number in numbers)


@pytest.mark.parametrize("run", [in_turn, as_completed])
async def test_no_more_than_the_concurrency_and_none_is_lost(run: Run) -> None:
    session = Executor()

    session.answers = True
    found = [one async for one in run(session, pairs(*range(9)), 3, True, {"a": 1})]
    assert sorted(one.result_or_exc for one in found) == [f"result {n}" for n in range(9)]
    assert (session.most, session.options) == (3, {"a": 1})


async def test_in_turn_is_in_the_order_of_the_statements() -> None:
    session = Executor()
    outcomes = in_turn(session, pairs(0, 1, 2), 3, True, {})
    first = asyncio.ensure_future(anext(outcomes))
    await turns()
    session.end(2, 1)
    await turns()
    assert not first.done()
    session.end(0)
    assert (await first).result_or_exc == "result 0"
    assert [one.result_or_exc async for one in outcomes] == ["result 1", "result 2"]


async def test_as_completed_says_which_statement_each_is_of() -> None:
    session = Executor()
    outcomes = as_completed(session, pairs(5, 6, 7), 3, True, {})
    first = asyncio.ensure_future(anext(outcomes))
    await turns()
    session.end(7)
    assert await first == (True, "result 7", 2)
    session.end(5, 6)
    assert sorted([one.position async for one in outcomes]) == [0, 1]


@pytest.mark.parametrize("run", [in_turn, as_completed])
async def test_the_first_error_ends_it_and_gives_up_the_rest(run: Run) -> None:
    session = Executor()
    outcomes = run(session, pairs(0, 1, 2), 2, True, {})
    first = asyncio.ensure_future(anext(outcomes))
    await turns()
    session.futures[0].set_exception(ValueError("refused"))
    with pytest.raises(ValueError, match="refused"):
        await first
    assert session.futures[1].cancelled()
    assert 2 not in session.futures


@pytest.mark.parametrize("run", [in_turn, as_completed])
async def test_errors_as_outcomes_and_mistakes_in_a_call(run: Run) -> None:
    session = Executor()
    outcomes = run(session, pairs(0, -1), 2, False, {})
    following = asyncio.ensure_future(anext(outcomes))
    await turns()
    session.futures[0].set_exception(ValueError("refused"))
    found = [await following] + [one async for one in outcomes]
    assert {type(one.result_or_exc) for one in found} == {ValueError, TypeError}
    assert not any(one.success for one in found)


@pytest.mark.parametrize("run", [in_turn, as_completed])
async def test_a_reader_that_stops_gives_up_the_rest(run: Run) -> None:
    session = Executor()
    outcomes = run(session, pairs(*range(4)), 3, True, {})
    first = asyncio.ensure_future(anext(outcomes))
    await turns()
    session.end(0)
    await first
    await outcomes.aclose()
    assert [session.futures[number].cancelled() for number in (1, 2)] == [True, True]
    assert 3 not in session.futures


@pytest.mark.parametrize("run", [in_turn, as_completed])
async def test_a_concurrency_of_nothing(run: Run) -> None:
    with pytest.raises(ValueError, match="concurrency must be at least 1, but is 0"):
        await anext(run(Executor(), pairs(1), 0, True, {}))
