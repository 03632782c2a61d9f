"""Tests of work that is written as a generator of steps.

`drive` performs the steps in blocking code, and `adrive` awaits them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from typing import Any

import pytest

from cassandra._steps import adrive, drive

Drive = Callable[..., Any]


def on_asyncio(steps: Generator[Any, Any, Any], perform: Callable[[Any], Any]) -> Any:
    """Run the generator with `adrive` on a new loop, with each step in a later iteration."""

    async def perform_later(step: Any) -> Any:
        await asyncio.sleep(0)
        return perform(step)

    return asyncio.run(adrive(steps, perform_later))


@pytest.fixture(params=[drive, on_asyncio], ids=["blocking", "asyncio"])
def driven(request: pytest.FixtureRequest) -> Drive:
    """Return `drive`, or a function that does the same with `adrive`."""
    param: Drive = request.param
    return param


def test_results_of_steps_are_sent_into_the_generator(driven: Drive) -> None:
    """Each step is a number, and its result is 100 more: 1 gives 101, and 102 gives 202."""

    def steps() -> Generator[int, int, int]:
        first = yield 1
        second = yield first + 1
        return second * 10

    assert driven(steps(), lambda step: step + 100) == 2020


def test_a_generator_without_steps_returns_its_result(driven: Drive) -> None:
    def steps() -> Generator[int, int, str]:
        yield from ()
        return "done"

    assert driven(steps(), lambda step: step) == "done"


def test_errors_of_steps_are_thrown_into_the_generator(driven: Drive) -> None:
    def steps() -> Generator[str, Any, str]:
        try:
            yield "bad"
        except ValueError as error:
            # The result of the generator contains the result of its second step.
            return f"{error}, {(yield 'good')}"
        return "not reached"

    def perform(step: str) -> str:
        if step == "bad":
            raise ValueError(step)
        return step

    assert driven(steps(), perform) == "bad, good"


def test_errors_of_the_generator_itself_are_raised(driven: Drive) -> None:
    thrown_errors: list[BaseException] = []

    def steps() -> Generator[int, Any, None]:
        try:
            yield 1
        except BaseException as error:
            thrown_errors.append(error)
            raise
        raise KeyError("own")

    with pytest.raises(KeyError, match="own"):
        driven(steps(), lambda step: step)
    # An error that the generator raises must not be thrown back into it.
    assert thrown_errors == []


def test_keyboard_interrupts_and_cancellations_run_the_generator_s_cleanup() -> None:
    """If a step is interrupted or cancelled, the generator must run its `finally` block."""
    cleanups: list[str] = []

    def steps() -> Generator[int, Any, None]:
        try:
            yield 1
        finally:
            cleanups.append("cleanup")

    def raise_interrupt(step: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        drive(steps(), raise_interrupt)

    async def raise_cancellation(step: int) -> None:
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(adrive(steps(), raise_cancellation))
    assert cleanups == ["cleanup", "cleanup"]
