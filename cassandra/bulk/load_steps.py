"""The steps of a load: requests, waits and pauses, which the code that drives a load carries out.

`load` (blocking) and `aload` (asyncio) in `cassandra.bulk.load` drive a load.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any, NamedTuple


class Requests(NamedTuple):
    """A step of `Load.steps`: execute these requests, several at a time.

    The generator `steps` gets None back.

    :param statements: an iterator that makes each statement just before it is sent: thousands of
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
    """A step of `Load.steps`: wait until the reader thread has finished a call.

    The generator `steps` gets the result of the call back.
    """

    future: Future[Any]


class Prepare(NamedTuple):
    """A step of `Load.steps`: prepare this CQL. The generator gets the prepared statement back."""

    text: str


# A step of `Load.steps`: call this function with the session. The generator gets the result back
# (on asyncio, the awaited result). `cassandra.bulk.scan_plan` makes such functions.
Call = Callable[[Any], Any]

# Any step of a load.
Step = Requests | Pause | Work | Prepare | Call
