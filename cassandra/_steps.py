"""Operations as generators of steps, which both blocking code and asyncio can run.

The generator yields the calls that wait, and gets their results. It does not know who runs it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator
from typing import Any, TypeVar

__all__ = ["adrive", "drive"]

S = TypeVar("S")
T = TypeVar("T")


def drive(steps: Generator[S, Any, T], perform: Callable[[S], Any]) -> T:
    """Run all steps, and return the generator's result.

    An error in a step is thrown into the generator, which may handle it.

    :param steps: the generator.
    :param perform: runs a step and returns its result.
    """
    try:
        step = next(steps)
        while True:
            try:
                outcome = perform(step)
            # KeyboardInterrupt must reach the generator, too, because it may have to clean up.
            except BaseException as error:
                step = steps.throw(error)
            else:
                # Outside the `try`, so that the generator's own errors are not thrown into it
                # again.
                step = steps.send(outcome)
    except StopIteration as end:
        result: T = end.value
        return result


async def adrive(steps: Generator[S, Any, T], perform: Callable[[S], Awaitable[Any]]) -> T:
    """Run all steps with asyncio, and return the generator's result.

    :param steps: the generator.
    :param perform: runs a step and returns an awaitable of its result.
    """
    try:
        step = next(steps)
        while True:
            try:
                outcome = await perform(step)
            except (Exception, asyncio.CancelledError) as error:
                step = steps.throw(error)
            else:
                step = steps.send(outcome)
    except StopIteration as end:
        result: T = end.value
        return result
