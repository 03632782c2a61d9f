"""Tests of iterators that have failed, which raise an error if they are used again.

If they only ended, the failure would look like success.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import weakref
from collections.abc import AsyncGenerator, Iterator
from typing import Any

import pytest

from cassandra._failed_iterations import Failure, LoudGenerator, LoudIterator


def two_items(error: BaseException | None = None) -> Iterator[int]:
    """Yield 1 and 2, and then raise `error` if there is one."""
    yield 1
    yield 2
    if error is not None:
        raise error


async def awaited_items(
    failure: Failure, error: BaseException | None = None
) -> AsyncGenerator[int, None]:
    """Yield 1 and 2, and then raise `error`, or wait until the task is cancelled."""
    with failure:
        yield 1
        yield 2
        if error is not None:
            raise error
        await asyncio.sleep(3600)


def loud_generator(error: BaseException | None = None) -> LoudGenerator[int]:
    """Return a `LoudGenerator` of the items of `awaited_items`."""
    failure = Failure()
    return LoudGenerator(awaited_items(failure, error), failure)


def test_an_iterator_that_has_not_failed_ends() -> None:
    items = LoudIterator(two_items())
    assert list(items) == [1, 2]
    assert list(items) == []


@pytest.mark.parametrize("error", [ValueError("x"), KeyboardInterrupt()])
def test_an_iterator_that_has_failed_raises_each_time(error: BaseException) -> None:
    items = LoudIterator(two_items(error))
    with pytest.raises(type(error)):
        list(items)
    for _ in range(2):
        with pytest.raises(RuntimeError, match=rf"has failed before \({type(error).__name__}\)"):
            next(items)


def test_the_error_of_a_further_call_is_alone() -> None:
    """The error of a further call must be shown without its context, which would only confuse.

    The context is the StopIteration of the generator, which has ended with its error.
    """
    items = LoudIterator(two_items(ValueError("x")))
    with pytest.raises(ValueError, match="x"):
        list(items)
    with pytest.raises(RuntimeError) as caught:
        next(items)
    assert caught.value.__suppress_context__


def test_a_call_while_another_thread_waits_does_not_fail_its_iteration() -> None:
    def items_with_a_wait() -> Iterator[int]:
        yield 1
        # This call comes while the generator is running, like one from another thread.
        with pytest.raises(ValueError, match="already executing"):
            next(items)
        yield 2

    items = LoudIterator(items_with_a_wait())
    assert list(items) == [1, 2]


def test_a_closed_iterator_has_ended() -> None:
    """`close` must close a generator, and do nothing for an iterator without `close`."""
    items = LoudIterator(two_items())
    assert next(items) == 1
    items.close()
    assert list(items) == []
    LoudIterator(iter([1])).close()


async def test_a_generator_that_has_failed_raises_each_time() -> None:
    items = loud_generator(ValueError("x"))
    with pytest.raises(ValueError, match="x"):
        [item async for item in items]
    for _ in range(2):
        with pytest.raises(RuntimeError, match=r"has failed before \(ValueError\)"):
            await anext(items)


async def test_a_generator_whose_caller_was_cancelled_raises() -> None:
    """If the task that waits for an item was cancelled, the next call must raise an error."""
    items = loud_generator()
    assert [await anext(items), await anext(items)] == [1, 2]
    waiting = asyncio.ensure_future(anext(items))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    with pytest.raises(RuntimeError, match=r"has failed before \(CancelledError\)"):
        await anext(items)


async def test_a_closed_generator_has_ended() -> None:
    async with contextlib.aclosing(loud_generator()) as items:
        assert await anext(items) == 1
        assert await items.asend(None) == 2
    assert [item async for item in items] == []


async def test_an_error_can_be_thrown_into_a_generator() -> None:
    """An error from `athrow` must end the generator like one of its own."""
    items = loud_generator()
    await anext(items)
    with pytest.raises(ValueError, match="x"):
        await items.athrow(ValueError("x"))
    with pytest.raises(RuntimeError, match="has failed before"):
        await anext(items)


async def test_a_dropped_generator_is_freed_without_the_garbage_collector() -> None:
    """A generator with an item left must be part of no reference cycle."""
    gc.disable()
    try:
        items: Any = loud_generator()
        await anext(items)
        reference = weakref.ref(items)
        del items
        assert reference() is None
    finally:
        gc.enable()
