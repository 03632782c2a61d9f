"""Concurrent executions: starts them for both APIs."""

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
    burst_size: int,
    start_all: Callable[[list[Request]], object],
    start_other: Callable[[Any, Any, int], object],
) -> None:
    """Start as many executions as the limits of the collector allow.

    :param burst_size: how many requests are made before they are started together.
    :param start_all: starts several requests.
    :param start_other: starts the execution of a statement that is off the happy path; called with
        the statement, its parameters and its position.
    """
    taken = -1
    while taken != collector.sent:
        taken = collector.sent
        burst: list[Request] = []
        try:
            collector.requests(statements, burst, burst_size)
        finally:
            if burst:
                start_all(burst)
        if collector.off_path is not None:
            start_other(*collector.off_path, collector.sent - 1)
