"""Helpers of cassandra-driver's module `cassandra.cluster` that some applications import."""

from __future__ import annotations

import functools
from collections.abc import Callable
from random import random
from typing import TYPE_CHECKING, Any, NoReturn

from cassandra.engine.control.query_fallback import ControlConnectionQueryFallback
from cassandra.marshal import int64_pack
from cassandra.query.settings import NOT_SET as _NOT_SET

if TYPE_CHECKING:
    from concurrent.futures import Future

__all__ = [
    "_NOT_SET", "ControlConnectionQueryFallback", "conn_fns", "excs", "int64_pack", "random",
    "refresh_schema_and_set_result", "run_in_executor",
]  # fmt: skip

# In cassandra-driver, `conn_fns` has functions that each try to import an event loop, and `excs`
# has the errors of the failed imports. Both are empty here, because this driver's only event loop
# is always available.
conn_fns: tuple[Callable[[], Any], ...] = ()
excs: list[BaseException] = []


def run_in_executor(f: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method that submits a call of `f` to ``self.executor`` and returns a future."""

    @functools.wraps(f)
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = self.executor.submit(f, self, *args, **kwargs)
        return future

    return wrapper


def refresh_schema_and_set_result(
    control_conn: object, response_future: object, connection: object, **kwargs: object
) -> NoReturn:
    """Raise NotImplementedError: the engine reads the schema after a change."""
    raise NotImplementedError(
        "refresh_schema_and_set_result() is not supported: the engine reads the schema after a "
        "change, and Cluster.refresh_schema_metadata() reads it at once"
    )
