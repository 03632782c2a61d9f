"""Runs operations that are written once for both blocking code and asyncio.

Such an operation is a generator. Wherever it has to wait, it yields a step, an object that
describes the call to make, and is sent the result of the call. `drive` makes blocking calls, and
`adrive` awaits the calls.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator
from typing import Any, TypeVar

S = TypeVar("S")
T = TypeVar("T")


def drive(steps: Generator[S, Any, T], perform: Callable[[S], Any]) -> T:
    """Run a generator's steps with blocking calls, and return the generator's result.

    If a step raises an error, the error is thrown into the generator, which may handle it.

    :param steps: the generator.
    :param perform: runs a step and returns its result.
    """
    try:
        step = next(steps)
        while True:
            try:
                outcome = perform(step)
            # Also pass a KeyboardInterrupt to the generator, which may have to clean up.
            except BaseException as error:
                step = steps.throw(error)
            else:
                # This is outside of the `try` block, so that an error which the generator itself
                # raises is not thrown into it again.
                step = steps.send(outcome)
    except StopIteration as end:
        result: T = end.value
        return result


async def adrive(steps: Generator[S, Any, T], perform: Callable[[S], Awaitable[Any]]) -> T:
    """Run a generator's steps on asyncio, and return the generator's result.

    If a step raises an error, the error is thrown into the generator, which may handle it.

    :param steps: the generator.
    :param perform: runs a step and returns an awaitable of its result.
    """
    try:
        step = next(steps)
        while True:
            try:
                outcome = await perform(step)
            # Also pass a cancellation to the generator, which may have to clean up.
            except (Exception, asyncio.CancelledError) as error:
                step = steps.throw(error)
            else:
                # This is outside of the `try` block, so that an error which the generator itself
                # raises is not thrown into it again.
                step = steps.send(outcome)
    except StopIteration as end:
        result: T = end.value
        return result
