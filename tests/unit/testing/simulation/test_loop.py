"""`SimulatedLoop` is an event loop in virtual time.

The tests check the order of its calls, its time, and the errors with which it ends.
"""

from __future__ import annotations

import asyncio
import time

import pytest

from cassandra.testing.simulation import Livelocked, Network, SimulatedLoop, Stalled


def test_an_hour_takes_no_time_and_ends_when_it_should() -> None:
    """`SimulatedLoop` does not wait for its timers, but sets its clock forward."""
    loop = SimulatedLoop(1)
    virtual_start, real_start = loop.time(), time.monotonic()
    loop.run(asyncio.sleep(3600))
    assert 3600 <= loop.time() - virtual_start < 3601
    # A minute is much longer than the simulation takes, even on a busy machine.
    assert time.monotonic() - real_start < 60


def test_call_soon_keeps_its_order_and_equal_timers_run_in_any_order() -> None:
    """`call_soon` keeps its order; the loop's seed decides the order of timers of the same time."""
    orders = set()
    for seed in range(20):
        loop = SimulatedLoop(seed)
        soon_calls: list[int] = []
        timer_calls: list[int] = []

        async def main(loop: SimulatedLoop, soon_calls: list[int], timer_calls: list[int]) -> None:
            timer_time = loop.time() + 1
            for number in range(4):
                loop.call_soon(soon_calls.append, number)
                loop.call_at(timer_time, timer_calls.append, number)
            await asyncio.sleep(2)

        loop.run(main(loop, soon_calls, timer_calls))
        assert soon_calls == [0, 1, 2, 3]
        orders.add(tuple(timer_calls))
    # Four timers can fire in 24 orders, and 20 seeds must show several of them.
    assert len(orders) > 5


def test_waiting_for_a_future_that_never_ends_is_an_error() -> None:
    """If nothing is left that could run, the loop raises Stalled."""

    async def main() -> None:
        await asyncio.get_running_loop().create_future()

    with pytest.raises(Stalled):
        SimulatedLoop().run(main())


def test_a_coroutine_that_never_lets_time_pass_is_an_error() -> None:
    """If the loop runs many iterations without any progress of time, it raises Livelocked."""

    async def main() -> None:
        while True:  # noqa: ASYNC110
            await asyncio.sleep(0)

    with pytest.raises(Livelocked):
        SimulatedLoop().run(main())


def test_stall_moves_the_clock_forward() -> None:
    """`stall` simulates code that blocks the loop for some seconds."""
    loop = SimulatedLoop()

    async def main() -> float:
        start = loop.time()
        loop.stall(7.0)
        await asyncio.sleep(0)
        return loop.time() - start

    assert 7.0 <= loop.run(main()) < 7.1


def test_to_thread_returns_the_result_of_the_function() -> None:
    """`asyncio.to_thread` works on a simulated loop."""

    async def main() -> int:
        return await asyncio.to_thread(lambda: 7)

    assert SimulatedLoop().run(main()) == 7


def test_unhandled_errors_are_recorded_as_faults() -> None:
    """If a callback raises, the loop continues, and records the error in `faults`."""
    loop = SimulatedLoop()

    async def main() -> None:
        asyncio.get_running_loop().call_soon(lambda: 1 // 0)
        await asyncio.sleep(1)

    loop.run(main())
    assert [type(fault["exception"]) for fault in loop.faults] == [ZeroDivisionError]


def test_names_are_resolved_by_the_network() -> None:
    """`getaddrinfo` returns the addresses that the simulated network has for a name."""
    loop = SimulatedLoop()
    # A network attaches itself to its loop when it is created.
    Network(loop).names["db.example"] = ["10.0.0.1", "10.0.0.2"]

    async def main() -> list[str]:
        return [entry[4][0] for entry in await loop.getaddrinfo("db.example", 9042)]

    assert loop.run(main()) == ["10.0.0.1", "10.0.0.2"]
