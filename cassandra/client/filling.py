"""Starts the requests of concurrent executions, for both APIs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cassandra.engine.collector import Collector
    from cassandra.engine.request import Request


def fill(
    collector: Collector,
    statements: Iterator[tuple[Any, Any]],
    burst_size: int,
    start_all: Callable[[list[Request]], object],
    start_other: Callable[[Any, Any, int], object],
) -> None:
    """Take statements from the iterator, and start as many executions as `collector` allows.

    The collector counts the executions in flight, and stores their outcomes.

    :param burst_size: the maximum number of requests that are created before they are started
        together.
    :param start_all: called with a list of requests; starts them.
    :param start_other: starts a statement for which the collector cannot create a request; called
        with the statement, its parameters and its position.
    """
    # The loop ends when the collector has taken no statement in an iteration, because a limit is
    # reached or no statement is left.
    sent_before = -1
    while sent_before != collector.sent:
        sent_before = collector.sent
        burst: list[Request] = []
        try:
            collector.requests(statements, burst, burst_size)
        finally:
            if burst:
                start_all(burst)
        # `off_path` is set if the collector has stopped at a statement for which it cannot create a
        # request. The collector has already counted this statement, so its position is `sent - 1`.
        if collector.off_path is not None:
            start_other(*collector.off_path, collector.sent - 1)
