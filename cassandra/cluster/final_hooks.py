"""Supports tracing libraries that replace methods of a `ResponseFuture`.

cassandra-driver calls ``future._set_final_result`` when a request is complete. To be notified, a
tracing library replaces that attribute of the future by a function that calls the original method.
`ResponseFuture` calls such a method only if a library has replaced it, which is rare.
"""

from __future__ import annotations

from collections.abc import Callable
from types import MethodType
from typing import TYPE_CHECKING, Any

from cassandra._imports import Deferred

if TYPE_CHECKING:
    from cassandra._compat import tracers
    from cassandra.cluster.response_future import ResponseFuture
else:
    tracers = Deferred("cassandra._compat.tracers")


class FinalMethod:
    """A descriptor for a future's method that a tracing library may replace on one instance.

    :param function: the name of the method's function in `cassandra._compat.tracers`.
    """

    def __init__(self, function: str) -> None:
        self._function = function
        self._name = f"_{function}"

    def __get__(self, future: ResponseFuture | None, owner: type | None = None) -> Any:
        """Return the function by which a tracing library has replaced this method of `future`.

        If the method was not replaced, return the original method.
        """
        replacement = (future._hooks or {}).get(self._name) if future is not None else None
        if replacement is not None:
            return replacement
        # The original methods are functions of another module, because they are only needed if a
        # tracing library is in use.
        function = getattr(tracers, self._function)
        return function if future is None else MethodType(function, future)

    def __set__(self, future: ResponseFuture, function: Callable[..., Any]) -> None:
        """Store a tracing library's replacement of the method."""
        future._hooks = {**(future._hooks or {}), self._name: function}

    def __delete__(self, future: ResponseFuture) -> None:
        """Remove the replacement.

        If none is left, set `_hooks` to None, which `_complete` checks.
        """
        hooks = {name: hook for name, hook in (future._hooks or {}).items() if name != self._name}
        future._hooks = hooks or None


def finish_wrapped(future: ResponseFuture) -> None:
    """Complete `future` by calling those of its methods that a tracing library has replaced."""
    tracers.finish_wrapped(future)
