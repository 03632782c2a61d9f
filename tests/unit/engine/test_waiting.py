"""`outcome_of`, `pools_opened`, `together` and `within`, which wait for shared or limited work."""

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
    """`outcome_of` returns the result of a task or raises its error."""
    task = new_future()
    task.set_result(5)
    assert await outcome_of(task) == 5
    task = new_future()
    task.set_exception(ValueError("failed"))
    with pytest.raises(ValueError, match="failed"):
        await outcome_of(task)


async def test_outcome_of_cancelled_work_is_connection_shutdown() -> None:
    """If the shared work is cancelled, `outcome_of` raises ConnectionShutdown.

    Shared work is cancelled only when the cluster is shut down.
    """
    work = new_future()
    waiting = spawn(outcome_of(work))
    await run_loop_turns()
    work.cancel()
    with pytest.raises(ConnectionShutdown):
        await waiting


async def test_a_cancelled_caller_does_not_cancel_the_work() -> None:
    """If a caller of `outcome_of` is cancelled, the work continues.

    Other callers may wait for the work.
    """
    work = new_future()
    waiting = spawn(outcome_of(work))
    await run_loop_turns()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert not work.cancelled()


async def test_pools_opened_raises_if_pools_are_not_open_in_time() -> None:
    """`pools_opened` raises OperationTimedOut if the pools are not open in time.

    It does not cancel the tasks that open the pools, because they may succeed later.
    """
    await pools_opened(opening=[], timeout=0.0, profile="p")
    opened, unopened = new_future(), new_future()
    opened.set_result(True)
    await pools_opened([opened], timeout=5.0, profile="p")
    with pytest.raises(OperationTimedOut, match=r"profile 'p' were open within 0\.0 seconds"):
        await pools_opened([opened, unopened], timeout=0.0, profile="p")
    assert not unopened.cancelled()


# -- several awaitables ----------------------------------------------------------------------------


async def wait_and_raise(may_raise: asyncio.Event, message: str) -> None:
    """Wait for an event, and then raise an error, even if the wait is cancelled."""
    try:
        await may_raise.wait()
    finally:
        raise ValueError(message)


async def test_together_returns_the_results_in_order() -> None:
    """`together` returns the results in the order of its arguments.

    The order in which the work ends does not matter.
    """
    may_end = asyncio.Event()

    async def end_last() -> str:
        await may_end.wait()
        return "b"

    waiting = spawn(together(asyncio.sleep(0, "a"), end_last(), asyncio.sleep(0, "c")))
    await run_loop_turns()
    may_end.set()
    assert await waiting == ["a", "b", "c"]


async def test_together_cancels_the_others_after_an_error() -> None:
    """`together` raises the first error, and cancels the awaitables that have not ended yet."""
    may_raise, cancelled = asyncio.Event(), []

    async def wait_forever() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(True)
            raise

    waiting = spawn(together(wait_forever(), wait_and_raise(may_raise, "first")))
    await run_loop_turns()
    may_raise.set()
    with pytest.raises(ValueError, match="first"):
        await waiting
    assert cancelled == [True]


@pytest.mark.parametrize("ending", ["timeout", "cancelled"])
async def test_no_error_is_reported_as_never_retrieved(ending: str) -> None:
    """If a caller of `together` is cancelled, the errors of its awaitables are dropped silently.

    `asyncio.gather` would report them with "exception was never retrieved".
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
    """`within` returns the result if the work ends in time. With None, there is no time limit."""

    async def work() -> int:
        await run_loop_turns()
        return 7

    assert await within(seconds=60, work=work()) == 7
    assert await within(seconds=None, work=work()) == 7
    assert await within(seconds=60, work=asyncio.sleep(0, "at once")) == "at once"


async def test_within_raises_the_error() -> None:
    """If the work raises an error, `within` raises this error."""

    async def work() -> None:
        raise KeyError("failed")

    with pytest.raises(KeyError, match="failed"):
        await within(seconds=60, work=work())


@pytest.mark.parametrize("seconds", [0, -1, 0.001])
async def test_within_cancels_work_after_the_timeout(seconds: float) -> None:
    """After the timeout, `within` cancels the work and raises TimeoutError.

    With a timeout of 0 or less, the work is cancelled after its first step.
    """
    cancelled_work = []

    async def work() -> None:
        try:
            await new_future()
        finally:
            cancelled_work.append("work")

    with pytest.raises(asyncio.TimeoutError):
        await within(seconds, work=work())
    assert cancelled_work == ["work"]


@pytest.mark.parametrize("pause_count", [1, 3, 1000])
@pytest.mark.parametrize("skips_pauses", [True, False])
async def test_within_may_skip_pauses_of_the_loop(
    monkeypatch: pytest.MonkeyPatch, skips_pauses: bool, pause_count: int
) -> None:
    """A limit that ends late, because the loop was blocked, is extended up to three times."""
    loop = asyncio.get_running_loop()
    real_time = loop.time
    pauses: list[float] = []
    monkeypatch.setattr(loop, "time", lambda: real_time() + sum(pauses))

    async def work() -> str:
        for _ in range(pause_count):
            pauses.append(1000)
            await run_loop_turns()
        return "done"

    working = within(60, work(), skips_pauses=skips_pauses)
    if skips_pauses and pause_count <= 3:
        assert await working == "done"
    else:
        with pytest.raises(asyncio.TimeoutError):
            await working
        assert len(pauses) <= 5


async def test_within_returns_a_result_that_comes_at_the_cancellation() -> None:
    """If work that is cancelled at the timeout still returns a result, `within` returns it."""

    async def work() -> str:
        try:
            await new_future()
        except asyncio.CancelledError:
            return "result of the cancelled work"
        return "never"

    assert await within(seconds=0.001, work=work()) == "result of the cancelled work"


async def test_a_cancelled_caller_of_within_is_always_cancelled() -> None:
    """If a caller of `within` is cancelled just when the work ends, it raises CancelledError.

    Any other `await` also raises CancelledError in this case.
    """
    # In each round, cancel the caller one iteration of the loop later after the result, until the
    # caller ends before its cancellation.
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
        # A cancelled caller must not continue with the result.
        assert results == []
    else:
        raise AssertionError("the caller never ended before it was cancelled")
