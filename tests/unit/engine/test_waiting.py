"""Functions that wait for shared work, for several awaitables, or with a time limit."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

import pytest

from cassandra.engine.waiting import outcome_of, pools_opened, together, within
from cassandra.errors import ConnectionShutdown, OperationTimedOut
from tests.unit.engine.partners import run_loop_turns, spawn


def new_future() -> asyncio.Future[Any]:
    """Return a future that is not done."""
    return asyncio.get_running_loop().create_future()


async def test_outcome_of_returns_the_result_or_raises_the_error() -> None:
    """`outcome_of` has the outcome of the task that it waits for."""
    task = new_future()
    task.set_result(5)
    assert await outcome_of(task) == 5
    task = new_future()
    task.set_exception(ValueError("failed"))
    with pytest.raises(ValueError, match="failed"):
        await outcome_of(task)


async def test_outcome_of_cancelled_work_is_connection_shutdown() -> None:
    """Shared work is cancelled when the cluster shuts down, so the callers that wait for it get
    ConnectionShutdown.
    """
    work = new_future()
    waiting = spawn(outcome_of(work))
    await run_loop_turns()
    work.cancel()
    with pytest.raises(ConnectionShutdown):
        await waiting


async def test_a_cancelled_caller_does_not_cancel_the_work() -> None:
    """Other callers may wait for the same work."""
    work = new_future()
    waiting = spawn(outcome_of(work))
    await run_loop_turns()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert not work.cancelled()


async def test_pools_opened_raises_if_pools_are_not_open_in_time() -> None:
    """The tasks that open the pools are not cancelled: they may succeed later."""
    await pools_opened(opening=[], timeout=0.0, profile="p")
    opened, unopened = new_future(), new_future()
    opened.set_result(True)
    await pools_opened([opened], timeout=5.0, profile="p")
    with pytest.raises(OperationTimedOut, match=r"profile 'p' were open within 0\.0 seconds"):
        await pools_opened([opened, unopened], timeout=0.0, profile="p")
    assert not unopened.cancelled()


# -- several awaitables ----------------------------------------------------------------------------


async def wait_and_raise(may_raise: asyncio.Event, message: str) -> None:
    """Wait for an event, and then raise an error, even if the wait was cancelled."""
    try:
        await may_raise.wait()
    finally:
        raise ValueError(message)


async def test_together_returns_the_results_in_order() -> None:
    """The results are in the order of the arguments, not in the order in which the coroutines
    ended.
    """
    work = new_future()
    waiting = spawn(together(asyncio.sleep(0, "a"), work, asyncio.sleep(0, "c")))
    await run_loop_turns()
    work.set_result("b")
    assert await waiting == ["a", "b", "c"]


async def test_together_cancels_the_others_after_an_error() -> None:
    """`together` raises the first error, and cancels the awaitables that have not ended."""
    may_raise, other = asyncio.Event(), new_future()
    waiting = spawn(together(other, wait_and_raise(may_raise, "first")))
    await run_loop_turns()
    may_raise.set()
    with pytest.raises(ValueError, match="first"):
        await waiting
    assert other.cancelled()


@pytest.mark.parametrize("ending", ["timeout", "cancelled"])
async def test_no_error_is_reported_as_never_retrieved(ending: str) -> None:
    """If the caller of `together` is cancelled, errors of the awaitables are dropped silently.

    asyncio's `gather` would report them as "exception was never retrieved".
    """
    reported: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))
    never = asyncio.Event()
    waiting_for_both = together(wait_and_raise(never, "a"), wait_and_raise(never, "b"))
    timeout = 0.01 if ending == "timeout" else 60
    waiting = spawn(asyncio.wait_for(waiting_for_both, timeout))
    if ending == "cancelled":
        await run_loop_turns()
        waiting.cancel()
    with pytest.raises((asyncio.TimeoutError, asyncio.CancelledError)):
        await waiting
    del waiting, waiting_for_both
    gc.collect()
    await run_loop_turns()
    assert reported == []


async def test_within_returns_the_result() -> None:
    """`within` returns the result if the work ends in time; None as `seconds` means no limit."""

    async def work() -> int:
        await run_loop_turns()
        return 7

    assert await within(seconds=60, work=work()) == 7
    assert await within(seconds=None, work=work()) == 7
    assert await within(seconds=60, work=asyncio.sleep(0, "at once")) == "at once"


async def test_within_raises_the_error() -> None:
    """An error of the work is raised as it is."""

    async def work() -> None:
        raise KeyError("failed")

    with pytest.raises(KeyError, match="failed"):
        await within(seconds=60, work=work())


@pytest.mark.parametrize("seconds", [0, -1, 0.001])
async def test_within_cancels_work_after_the_timeout(seconds: float) -> None:
    """`within` raises TimeoutError. With no time at all, the work is cancelled before it begins, or
    at its first step.
    """
    cancelled_work = []

    async def work() -> None:
        try:
            await new_future()
        finally:
            cancelled_work.append("work")

    with pytest.raises(asyncio.TimeoutError):
        await within(seconds, work=work())
    # Without time, the work need not even begin.
    assert cancelled_work in (["work"], [])


async def test_within_returns_a_result_that_comes_at_the_cancellation() -> None:
    """If the work ends with a result when it is cancelled at the time-out, the result is not
    lost.
    """

    async def work() -> str:
        try:
            await new_future()
        except asyncio.CancelledError:
            return "result of the cancelled work"
        return "never"

    assert await within(seconds=0.001, work=work()) == "result of the cancelled work"


async def test_a_cancelled_caller_of_within_is_always_cancelled() -> None:
    """A caller that is cancelled just when its work has ended raises CancelledError, as with any
    await.
    """
    # Cancel the caller 0, 1, 2, ... turns of the loop after the answer, until the caller has ended
    # before it is cancelled.
    for turns in range(8):
        answer = new_future()
        results: list[Any] = []

        async def caller(
            answer: asyncio.Future[Any] = answer, collected: list[Any] = results
        ) -> None:
            async def work() -> Any:
                return await answer

            collected.append(await within(seconds=60, work=work()))

        waiting = spawn(caller())
        await run_loop_turns(3)
        answer.set_result("come")
        await run_loop_turns(turns)
        if waiting.done():
            break
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        # A cancelled caller must not go on with the answer.
        assert results == []
    else:
        raise AssertionError("the caller never ended before it was cancelled")
