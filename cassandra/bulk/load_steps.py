"""The steps of a load: requests, waits and pauses, which either API carries out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any, NamedTuple


class Requests(NamedTuple):
    """A step of `Load.steps`: execute these requests, several at a time. `steps` gets back None.

    :param statements: an iterator that makes each statement when it is sent: thousands of
        statements at once would burden the garbage collector.
    :param concurrency: the maximum number of requests in flight.
    :param on_outcome: called once per statement, in the order of `statements`: with True and the
        result, or with False and the exception. It must not raise.
    """

    statements: Iterator[Any]
    concurrency: int
    on_outcome: Callable[[bool, Any], None]


class Pause(NamedTuple):
    """A step of `Load.steps`: wait for this number of seconds."""

    seconds: float


class Work(NamedTuple):
    """A step of `Load.steps`: wait until the reader thread has made a call. `steps` gets back the
    result of the call.
    """

    future: Future[Any]


class Prepare(NamedTuple):
    """A step of `Load.steps`: prepare this CQL. `steps` gets back the prepared statement."""

    text: str


Step = Requests | Pause | Work | Prepare
