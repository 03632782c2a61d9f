"""Work as a generator of steps, which blocking code and asyncio drive alike.

The generator yields calls that wait, and gets their outcomes; it never knows which of the two
waits.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator
from typing import Any, TypeVar

__all__ = ["adrive", "drive"]

S = TypeVar("S")
T = TypeVar("T")


def drive(steps: Generator[S, Any, T], perform: Callable[[S], Any]) -> T:
    """Take all steps, and return the generator's result.

    An error of a step is thrown into the generator, which may go on.

    :param steps: the generator.
    :param perform: takes a step and returns its outcome.
    """
    try:
        step = next(steps)
        while True:
            try:
                outcome = perform(step)
            # KeyboardInterrupt too has to reach the generator, which has things to undo.
            except BaseException as error:
                step = steps.throw(error)
            else:
                # Outside the `try`: the generator's own errors must not be thrown into it again.
                step = steps.send(outcome)
    except StopIteration as end:
        found: T = end.value
        return found


async def adrive(steps: Generator[S, Any, T], perform: Callable[[S], Awaitable[Any]]) -> T:
    """Take all steps on asyncio, and return the generator's result.

    :param steps: the generator.
    :param perform: takes a step and returns an awaitable of its outcome.
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
        found: T = end.value
        return found
