"""Awaitables that explain the mistake if user code forgets to await a call.

Reading an attribute of such an awaitable raises an error that says to await the call.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Awaitable, Callable, Coroutine, Generator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, NoReturn, ParamSpec, Protocol, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class _Closable(Protocol):
    async def __aexit__(self, *exception_info: object) -> None: ...


C = TypeVar("C", bound=_Closable)


class Call(Coroutine[Any, Any, T], Generic[T]):
    """A coroutine that explains the mistake if user code forgets to await the call.

    Reading any unknown attribute raises an AttributeError that says to await the call.

    :param coroutine: the coroutine that does the work.
    :param name: the qualified name of the called method, for the error.
    """

    __slots__ = ("__qualname__", "__weakref__", "_coroutine")

    def __init__(self, coroutine: Coroutine[Any, Any, T], name: str) -> None:
        self._coroutine = coroutine
        self.__qualname__ = name  # asyncio shows this name in the repr of a task

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.__qualname__}>"

    def __await__(self) -> Generator[Any, Any, T]:
        return self._coroutine.__await__()

    def send(self, value: Any) -> Any:
        """Resume the coroutine. A task calls this.

        :param value: passed into the coroutine.
        """
        return self._coroutine.send(value)

    def throw(self, *error: Any) -> Any:
        """Raise an error in the coroutine. A task calls this method to cancel the coroutine.

        :param error: the exception, or its class, instance and traceback.
        """
        return self._coroutine.throw(*error)

    def close(self) -> None:
        """End the coroutine without running it further."""
        self._coroutine.close()

    def __getattr__(self, name: str) -> Any:
        call_name = self.__qualname__.rpartition(".")[2]
        raise AttributeError(
            f"{call_name}() has not been awaited, so there is no {name!r} yet: "
            f"write result = await {call_name}(...), then result.{name}"
        )

    if not TYPE_CHECKING:  # type checkers would otherwise allow these uses of the awaitable

        def _refuse(self, *operands: object) -> NoReturn:
            self.close()  # otherwise Python would also warn that the coroutine was never awaited
            call_name = self.__qualname__.rpartition(".")[2]
            raise TypeError(f"{call_name}() has not been awaited: write await {call_name}(...)")

        __lt__ = __le__ = __gt__ = __ge__ = _refuse
        __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = _refuse
        __int__ = __float__ = __index__ = __getitem__ = _refuse


class Connecting(Call[C]):
    """The awaitable that `Cluster.connect` returns. You may also use it in `async with`.

    An example is ``async with cluster.connect() as session``.

    At the end of the `async with` block, the session is shut down, but not the cluster.
    """

    __slots__ = ("_session",)

    if not TYPE_CHECKING:

        def __enter__(self) -> NoReturn:
            self.close()
            raise TypeError(
                "a session of cassandra.aio is awaited: write `async with cluster.connect(...) as "
                "session`, or session = await cluster.connect(...)"
            )

        # Python 3.14 looks up `__exit__` before `__enter__`, so the method must exist.
        def __exit__(self, *exception_info: object) -> None:
            pass

    async def __aenter__(self) -> C:
        self._session = await self
        return self._session

    async def __aexit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._session.__aexit__(error_type, error, traceback)


def returns_call(function: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, Call[T]]:
    """Decorate a coroutine function so that it returns a `Call`.

    `inspect` and `asyncio` still treat the decorated function as a coroutine function.

    :param function: the coroutine function.
    """
    return _return_awaitable(function, Call)


def returns_connecting(
    function: Callable[P, Coroutine[Any, Any, C]],
) -> Callable[P, Connecting[C]]:
    """Decorate a coroutine function so that it returns a `Connecting`.

    `inspect` and `asyncio` still treat the decorated function as a coroutine function.

    :param function: the coroutine function.
    """
    return _return_awaitable(function, Connecting)


def _return_awaitable(
    function: Callable[P, Coroutine[Any, Any, Any]], call_class: type[Call[Any]]
) -> Callable[P, Any]:
    """Return a function that calls `function`, and wraps the coroutine into `call_class`."""

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> Call[Any]:
        return call_class(function(*args, **kwargs), function.__qualname__)

    # `call` is a plain function. Mark it, because otherwise `inspect.iscoroutinefunction` would
    # return False for it.
    mark_coroutine_function(call)
    return call


def mark_coroutine_function(function: Callable[..., Awaitable[Any]]) -> None:
    """Mark a plain function so that `inspect` and `asyncio` treat it as a coroutine function.

    ``unittest.mock`` then replaces it by an asynchronous mock.

    :param function: the function.
    """
    mark_function = getattr(inspect, "markcoroutinefunction", None)
    if mark_function is not None:  # Python 3.12 and later
        mark_function(function)
    else:  # older versions look for this attribute
        function._is_coroutine = asyncio.coroutines._is_coroutine  # type: ignore[attr-defined]
