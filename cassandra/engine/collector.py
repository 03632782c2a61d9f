"""Bounded concurrent executions: make the requests of many statements, and collect the outcomes.

Part of the twin module `cassandra.engine.happy_path`, which exports `Collector`. The readers are
`cassandra.concurrent` (blocking, in a user thread) and `cassandra.aio.concurrent` (on the session's
loop).

How the parts cooperate:

1. The reader calls `requests`, which takes statements and appends their requests to `burst`. The
   reader starts these. `requests` stops early at a statement off the happy path and puts it into
   `off_path`; the reader executes that statement itself and passes the outcome to `put`.
2. When a request is over, `_complete` makes its result and appends the outcome to `_completed`.
   Outcomes come from any thread: the engine's, or the one that calls `put`.
3. The reader calls `take` for finished outcomes. With `in_order`, an outcome that overtakes an
   earlier statement waits in `_early`.
4. When nothing is ready, the reader sets `is_awaited` and sleeps. The next completion that makes
   `is_ready` true clears the flag and calls `notify_reader` once. The blocking reader sets the flag
   first and then checks `is_ready` again; a completion stores its outcome first and then reads the
   flag. So no wake-up is lost. (The asyncio reader and the completions share one thread.)

Nothing here retries or restarts anything: retries belong to each request, and an error is the
outcome of its statement. Only an error raised by the iterator of statements propagates to the
reader.

Two limits hold statements back: `concurrency` requests in flight, and twice as many statements
taken but not delivered. The second bounds the memory of outcomes that wait for an earlier one.
Outcomes and statements are counted: `sent` (taken from the iterator), `_seen` (outcomes removed
from `_completed`), `delivered` (outcomes returned by `take`). The compiled twin has the same
interface, but keeps outcomes in a ring.

None means: `path` - no statement is on the happy path, so each goes through `off_path`; `off_path`
- the last `requests` met no such statement; `notify_reader` - no reader wants to be woken.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from operator import index
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cassandra.engine.awaited import HappyPath
    from cassandra.engine.happy_path import RequestBase

__all__ = ["Collector"]

# More requests are never in flight; the compiled twin counts in C integers.
_MOST = 1 << 24

_new_tuple: Callable[..., Any] = tuple.__new__


class Collector:
    """Makes the requests of many statements, and passes their outcomes to one reader.

    Any thread may deliver outcomes. Everything else is for the reader, who starts the requests and
    executes statements off the happy path. Outcomes that wait for an earlier one count as well, so
    that the concurrency bounds memory.

    :param concurrency: the greatest number of requests in flight.
    :param outcome_class: a named tuple of success and the result or error; if `in_order` is False,
        also of the position of the statement.
    :param path: the happy path of the session; None if no statement is on the happy path.
    :param in_order: False returns outcomes as they come.
    """

    __slots__ = (
        "_completed",
        "_concurrency",
        "_early",
        "_in_order",
        "_outcome_class",
        "_path",
        "_pending",
        "_reads_rows",
        "_seen",
        "batches_wakeups",
        "delivered",
        "has_failed",
        "is_awaited",
        "is_exhausted",
        "is_paused",
        "notify_reader",
        "off_path",
        "sent",
    )

    def __init__(
        self,
        concurrency: int,
        outcome_class: type[tuple[Any, ...]],
        path: HappyPath | None = None,
        in_order: bool = True,
    ) -> None:
        if concurrency < 1:
            raise ValueError(f"concurrency must be at least 1, but is {concurrency}")
        self._concurrency = min(index(concurrency), _MOST)
        self._outcome_class = outcome_class
        self._path = path
        self._reads_rows: bool = path is not None and path.reads_rows_answers
        self._in_order = in_order
        # The number of statements taken, and of outcomes returned to the reader.
        self.sent = 0
        self.delivered = 0
        # True at the end of the statements.
        self.is_exhausted = False
        # True while the reader takes no further statements.
        self.is_paused = False
        # True if the reader wants many outcomes at a time, not a wake-up for each.
        self.batches_wakeups = False
        # True once an outcome is an error.
        self.has_failed = False
        # True while the reader waits: `notify_reader` is then called once, as soon as it can go on.
        self.is_awaited = False
        self.notify_reader: Callable[[], object] | None = None
        # The statement off the happy path, and its parameters, at which `requests` has stopped.
        self.off_path: tuple[Any, Any] | None = None
        # Completions append (atomically); the reader pops.
        self._completed: deque[tuple[int, tuple[Any, ...]]] = deque()
        self._seen = 0
        # Outcomes that overtook an earlier statement, by position.
        self._early: dict[int, tuple[Any, ...]] = {}
        self._pending: dict[int, RequestBase] = {}

    @property
    def under_way(self) -> int:
        """The number of statements that were taken and have no outcome yet."""
        return self.sent - self._seen - len(self._completed)

    @property
    def is_over(self) -> bool:
        """True if no statement is left and the reader has received all outcomes."""
        return self.is_exhausted and self.delivered == self.sent

    @property
    def is_ready(self) -> bool:
        """True if the reader need not wait: there are outcomes, or many statements can be taken."""
        if self.batches_wakeups and not self.has_failed:
            is_full = self.sent - self.delivered >= 2 * self._concurrency
            return self.wants_more or not self.under_way or (is_full and bool(self._completed))
        return bool(self._completed) or self.wants_more

    @property
    def wants_more(self) -> bool:
        """True if statements should be taken: not for each outcome, but many at a time."""
        return (
            not self.is_exhausted
            and not self.is_paused
            and self.under_way <= self._concurrency // 2
            and self.sent - self.delivered < 2 * self._concurrency
        )

    def requests(self, statements: Iterator[tuple[Any, Any]], burst: list[Any], limit: int) -> None:
        """Append the requests of the next statements to `burst`, for the reader to start.

        Stops at the first statement off the happy path and leaves it in `off_path`. The reader
        executes that statement, whose position is ``sent - 1``, and passes its outcome to `put`. An
        error of `statements` is raised; a mistake in a statement is its outcome.

        :param limit: the greatest number of statements to take; free capacity may allow fewer.
        """
        self.off_path = None
        room = min(
            limit,
            self._concurrency - self.under_way,
            2 * self._concurrency - (self.sent - self.delivered),
        )
        path = self._path
        complete = self._complete
        request = None
        while room > 0 and not self.is_exhausted:
            room -= 1
            try:
                query, parameters = next(statements)
            except StopIteration:
                self.is_exhausted = True
                return
            position = self.sent
            # Count before sending: the completion may come before the call returns.
            self.sent = position + 1
            if path is not None:
                over = partial(complete, path._options.profile.row_factory, position)
                try:
                    request = path.request(query, parameters, over)
                except Exception as error:
                    self._put(position, False, error)
                    continue
            if request is None:
                self.off_path = (query, parameters)
                return
            request._reads_rows = self._reads_rows
            self._pending[position] = request
            burst.append(request)

    def _complete(
        self, row_factory: Callable[..., Any], position: int, request: RequestBase
    ) -> None:
        path: Any = self._path
        del self._pending[position]
        if request.error is not None:
            self._put(position, False, request.error)
            return
        try:
            result = path._result_class(path.session, request, row_factory)
        except BaseException as error:  # otherwise the reader would wait for ever
            self._put(position, False, error)
        else:
            self._put(position, True, result)

    def put(self, position: int, success: bool, value: object) -> None:
        """Store the outcome of the statement at `position`; any thread.

        :raises ValueError: if no such statement was taken.
        """
        if not 0 <= position < self.sent:
            raise ValueError(f"no statement at {position}: {self.sent} were taken")
        self._put(position, success, value)

    def _put(self, position: int, success: bool, value: object) -> None:
        parts = (success, value) if self._in_order else (success, value, position)
        if not success:
            self.has_failed = True
        # We skip the constructor of the named tuple, which is Python code.
        self._completed.append((position, _new_tuple(self._outcome_class, parts)))
        # `is_awaited` is read after the append; the reader sets it before it looks for outcomes.
        if self.is_awaited and self.is_ready:
            self.is_awaited = False
            if self.notify_reader is not None:
                self.notify_reader()

    def take(self) -> list[Any]:
        """Return the finished outcomes that may be delivered now; [] if there are none."""
        completed = self._completed
        early = self._early
        outcomes = []
        while completed:
            position, outcome = completed.popleft()
            self._seen += 1
            if self._in_order and position != self.delivered:
                early[position] = outcome
                continue
            outcomes.append(outcome)
            self.delivered += 1
            while early and self.delivered in early:
                outcomes.append(early.pop(self.delivered))
                self.delivered += 1
        return outcomes

    def pending(self) -> list[RequestBase]:
        """Return the requests that are not over."""
        return list(self._pending.values())
