"""Waiting for work that others share, or that the end of the cluster may cancel."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

import pytest

from cassandra.engine.waiting import outcome_of, pools_opened, together
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


# -- several at the same time ----------------------------------------------------------------------


class Worker:
    """Waits until it is cancelled; `error` is what it then raises instead."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.ended = False

    async def work(self) -> None:
        try:
            await future()
        finally:
            self.ended = True
            if self.error is not None:
                raise self.error


async def at_once(value: Any) -> Any:
    if isinstance(value, Exception):
        raise value
    return value


async def test_results_come_in_order() -> None:
    assert await together(at_once(1), at_once(2)) == [1, 2]
    assert await together() == []


async def test_after_an_error_nothing_goes_on() -> None:
    calm, loud = Worker(), Worker(KeyError("later"))
    with pytest.raises(ValueError, match="first"):
        await together(at_once(ValueError("first")), calm.work(), loud.work())
    assert calm.ended
    assert loud.ended


async def test_a_cancellation_leaves_nothing_that_is_complained_of() -> None:
    """`asyncio.wait_for` on a future of `gather` does: "exception was never retrieved"."""
    complaints: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(
        lambda loop, context: complaints.append(context)
    )
    workers = [Worker(), Worker(KeyError("late")), Worker(ValueError("late"))]
    waiting = spawn(asyncio.wait_for(together(*(one.work() for one in workers)), 60))
    await turns()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert all(one.ended for one in workers)
    del waiting, workers
    gc.collect()
    assert complaints == []
