"""Iterators that raise an error if they are used again after they have failed.

A generator ends when it raises an error. An asynchronous generator also ends when the wait for its
next item is cancelled, for example by ``asyncio.wait_for(anext(items), 5)``. If the caller then
asks for another item, the generator reports its end, and the caller believes that there are no more
items. The iterators of this module raise RuntimeError instead.
"""

from __future__ import annotations

import weakref
from collections.abc import AsyncGenerator, Callable, Iterator
from typing import Any, NoReturn, TypeVar

T = TypeVar("T")


class Failure:
    """Records whether an iteration has failed; shared by a generator and the iterator around it.

    ``with failure:`` records an error that leaves the block, and lets the error propagate.
    """

    __slots__ = ("error_name", "generator")

    def __init__(self) -> None:
        self.error_name: str | None = None  # the class of the error; None without an error
        # A weak reference to the `LoudGenerator` that must raise once the iteration has failed. It
        # is weak, because the generator refers to this object.
        self.generator: Callable[[], LoudGenerator[Any] | None] = _no_generator

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if error is not None:
            self.note(error)

    def note(self, error: BaseException) -> None:
        """Record that the iteration has failed with `error`."""
        # If the caller closes the generator, nothing has failed.
        if not isinstance(error, GeneratorExit):
            self.error_name = type(error).__name__
            generator = self.generator()
            if generator is not None:
                generator.__anext__ = self.raise_error  # type: ignore[method-assign]

    def raise_error(self) -> NoReturn:
        """Raise the error for a further call after a failure.

        :raises RuntimeError: always.
        """
        # Use `from None`: the caller may be handling the StopIteration of the generator, which
        # would only confuse as a context of the error.
        raise RuntimeError(
            f"this iteration has failed before ({self.error_name}) and cannot go on: the remaining "
            "items are missing"
        ) from None


def _no_generator() -> None:
    return None


class LoudIterator(Iterator[T]):
    """Returns the items of a generator; after an error of the generator, further calls raise.

    :param items: the generator.
    """

    __slots__ = ("_failure", "_items")

    def __init__(self, items: Iterator[T]) -> None:
        self._items = items
        self._failure = Failure()

    def __next__(self) -> T:
        try:
            return next(self._items)
        except StopIteration:
            if self._failure.error_name is not None:
                self._failure.raise_error()
            raise
        except BaseException as error:
            # If the generator is running, another thread is waiting for an item. In that case
            # `next` has failed only for this call, and the other thread continues the iteration.
            if not getattr(self._items, "gi_running", False):
                self._failure.note(error)
            raise

    def close(self) -> None:
        """Close the generator."""
        close = getattr(self._items, "close", None)
        if close is not None:
            close()


class LoudGenerator(AsyncGenerator[T, None]):
    """Returns the items of an asynchronous generator; after an error, further calls raise.

    ``__anext__`` is an attribute of each object. At first it is the generator's own method, because
    a method of this class would slow down each item. When the generator fails, it records this in
    `failure`, which replaces the attribute by a function that raises.

    :param items: the generator.
    :param failure: the object in which the generator records its failure.
    """

    __slots__ = ("__anext__", "__weakref__", "_items")

    def __init__(self, items: AsyncGenerator[T, None], failure: Failure) -> None:
        self._items = items
        self.__anext__ = items.__anext__  # type: ignore[method-assign]
        failure.generator = weakref.ref(self)

    def asend(self, value: None) -> Any:
        return self._items.asend(value)

    def athrow(self, *error: Any) -> Any:
        return self._items.athrow(*error)

    def aclose(self) -> Any:
        """Close the generator."""
        return self._items.aclose()
