"""Names that programs import from `cassandra.cluster` because other drivers use them there."""

from __future__ import annotations

import functools
from collections.abc import Callable
from random import random
from typing import Any, NoReturn

from cassandra.engine.control.query_fallback import ControlConnectionQueryFallback
from cassandra.marshal import int64_pack
from cassandra.query.settings import NOT_SET as _NOT_SET

__all__ = [
    "_NOT_SET",
    "ControlConnectionQueryFallback",
    "conn_fns",
    "excs",
    "int64_pack",
    "random",
    "refresh_schema_and_set_result",
    "run_in_executor",
]

# The event loops to choose from, and why some cannot be used: there is one, and it can.
conn_fns: tuple[Callable[[], Any], ...] = ()
excs: list[BaseException] = []


def run_in_executor(f: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method that hands the call of `f` to ``self.executor`` and returns its future."""

    @functools.wraps(f)
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
        return self.executor.submit(f, self, *args, **kwargs)

    return wrapper


def refresh_schema_and_set_result(
    control_conn: object, response_future: object, connection: object, **kwargs: object
) -> NoReturn:
    """Raise NotImplementedError: the engine reads the schema after a change."""
    raise NotImplementedError(
        "refresh_schema_and_set_result() is not supported: the engine reads the schema after a "
        "change, and Cluster.refresh_schema_metadata() reads it at once"
    )
