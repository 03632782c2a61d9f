"""Many executions at a time: how either face starts them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cassandra.engine.collector import Collector
    from cassandra.engine.request import Request

__all__ = ["fill"]


def fill(
    collector: Collector,
    statements: Iterator[tuple[Any, Any]],
    most: int,
    start_all: Callable[[list[Request]], object],
    start_other: Callable[[Any, Any, int], object],
) -> None:
    """Start as many executions as there is room for.

    :param most: how many requests are made before the first of them is started.
    :param start_all: starts requests together.
    :param start_other: starts the execution of a statement that is not on the happy path: called
        with it, its parameters and its position.
    """
    taken = -1
    while taken != collector.sent:
        taken = collector.sent
        burst: list[Request] = []
        try:
            collector.requests(statements, burst, most)
        finally:
            if burst:
                start_all(burst)
        if collector.unusual is not None:
            start_other(*collector.unusual, collector.sent - 1)
