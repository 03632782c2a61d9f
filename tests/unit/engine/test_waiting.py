"""Waiting for work that others share, or that the end of the cluster may cancel."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

import pytest

from cassandra.engine.waiting import outcome_of, pools_opened, together, within
from cassandra.errors import ConnectionShutdown, OperationTimedOut
from tests.unit.engine.partners import spawn, turns


def future() -> asyncio.Future[Any]:
    return asyncio.get_running_loop().create_future()


async def test_a_result_and_an_error_are_passed_on() -> None:
    work = future()
    work.set_result(5)
    assert await outcome_of(work) == 5
    work = future()
    work.set_exception(ValueError("its own"))
    with pytest.raises(ValueError, match="its own"):
        await outcome_of(work)


async def test_work_that_was_cancelled_is_the_end_of_the_cluster() -> None:
    work = future()
    waiting = spawn(outcome_of(work))
    await turns()
    work.cancel()
    with pytest.raises(ConnectionShutdown):
        await waiting


async def test_a_caller_that_gives_up_leaves_the_work_alone() -> None:
    work = future()
    waiting = spawn(outcome_of(work))
    await turns()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert not work.cancelled()


async def test_pools_of_a_profile() -> None:
    await pools_opened([], 0.0, "p")
    done, pending = future(), future()
    done.set_result(True)
    await pools_opened([done], 5.0, "p")
    with pytest.raises(OperationTimedOut, match=r"profile 'p' were open within 0\.0 seconds"):
        await pools_opened([done, pending], 0.0, "p")
    assert not pending.cancelled()


# -- concurrent parts ------------------------------------------------------------------------------


async def fails(begins: asyncio.Event, text: str) -> None:
    """Wait, and fail, even if the wait is cancelled."""
    try:
        await begins.wait()
    finally:
        raise ValueError(text)


async def test_all_parts_give_their_results_in_order() -> None:
    work = future()
    waiting = spawn(together(asyncio.sleep(0, "a"), work, asyncio.sleep(0, "c")))
    await turns()
    work.set_result("b")
    assert await waiting == ["a", "b", "c"]


async def test_the_first_failure_ends_the_other_parts() -> None:
    begins, other = asyncio.Event(), future()
    waiting = spawn(together(other, fails(begins, "first")))
    await turns()
    begins.set()
    with pytest.raises(ValueError, match="first"):
        await waiting
    assert other.cancelled()


@pytest.mark.parametrize("ends", ["timeout", "cancelled"])
async def test_no_error_is_left_that_nobody_has_looked_at(ends: str) -> None:
    """No error stays unretrieved if an awaitable fails while waiting for all of them is cancelled.
    asyncio's gather would log "exception was never retrieved".
    """
    reported: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))
    never = asyncio.Event()
    both = together(fails(never, "a"), fails(never, "b"))
    waiting = spawn(asyncio.wait_for(both, 0.01 if ends == "timeout" else 60))
    if ends == "cancelled":
        await turns()
        waiting.cancel()
    with pytest.raises((asyncio.TimeoutError, asyncio.CancelledError)):
        await waiting
    del waiting, both
    gc.collect()
    await turns()
    assert reported == []


async def test_work_within_its_time() -> None:
    async def work() -> int:
        await turns()
        return 7

    assert await within(60, work()) == 7
    assert await within(None, work()) == 7
    assert await within(60, asyncio.sleep(0, "at once")) == "at once"


async def test_an_error_within_its_time() -> None:
    async def work() -> None:
        raise KeyError("its own")

    with pytest.raises(KeyError, match="its own"):
        await within(60, work())


@pytest.mark.parametrize("seconds", [0, -1, 0.001])
async def test_work_whose_time_is_over_is_cancelled(seconds: float) -> None:
    ended = []

    async def work() -> None:
        try:
            await future()
        finally:
            ended.append("work")

    with pytest.raises(asyncio.TimeoutError):
        await within(seconds, work())
    assert ended in (["work"], [])  # it may not even have begun


async def test_a_result_that_comes_while_time_runs_out_counts() -> None:
    async def work() -> str:
        try:
            await future()
        except asyncio.CancelledError:
            return "in the end"
        return "never"

    assert await within(0.001, work()) == "in the end"


async def test_a_cancelled_caller_is_cancelled_whatever_the_outcome() -> None:
    for turn in range(8):
        answer = future()
        gone_on: list[Any] = []

        async def caller(answer: asyncio.Future[Any] = answer, seen: list[Any] = gone_on) -> None:
            async def work() -> Any:
                return await answer

            seen.append(await within(60, work()))

        waiting = spawn(caller())
        await turns(3)
        answer.set_result("come")  # in the same turn as the cancellation, or a little before
        for _ in range(turn):
            await asyncio.sleep(0)
        if waiting.done():
            break
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert gone_on == []
    else:
        raise AssertionError("the answer never arrived")
