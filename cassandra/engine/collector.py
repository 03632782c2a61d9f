"""Executes many statements with a limited number of requests in flight.

The collector creates the requests, and collects their outcomes for one reader.

`cassandra.engine.happy_path` exports `Collector`: the compiled Cython version if it is in use, else
the Python version in this module. The code that uses a collector is called its reader:
`cassandra.concurrent` (in a user thread that waits) or `cassandra.aio.concurrent` (on the session's
loop).

How the parts cooperate:

1. The reader calls `requests`, which takes statements from the iterator and appends their requests
   to the list `burst`. The reader starts these requests. Only the session's `HappyPath` creates
   requests here: the shortcut for common statements that are executed without options such as
   tracing. If it does not handle a statement, `requests` stops there and puts the statement into
   `off_path`; the reader executes that statement itself and passes the outcome to `put`.
2. When a request is over, `_complete` creates its result and appends the outcome to `_completed`.
   This may happen in any thread: the engine's, or a thread that calls `put`.
3. The reader calls `take` for finished outcomes. With `in_order`, an outcome waits in `_early`
   until all earlier statements have their outcomes.
4. When nothing is ready, the reader sets `is_awaited` and sleeps. The next completion that makes
   `is_ready` true clears the flag and calls `notify_reader` once. The blocking reader sets the flag
   first and then checks `is_ready` again; a completion stores its outcome first and then reads the
   flag. So no wake-up is lost. (The asyncio reader and the completions share one thread.)

The collector retries nothing: each request has its own retries, and an error is the outcome of its
statement. Only an error that the iterator of statements raises is raised to the reader.

Two limits apply. At most `concurrency` requests are in flight. At most ``2 * concurrency``
statements may be taken whose outcomes were not delivered yet; that limits the memory for outcomes
that wait for an earlier statement. Three counters are used: `sent` counts statements that were
taken from the iterator, `_seen` counts outcomes that were removed from `_completed`, and
`delivered` counts outcomes that `take` has returned. The compiled version has the same interface,
but stores outcomes in a ring buffer.

The meanings of None: `path` is None if there is no `HappyPath` that may be used, so that each
statement goes into `off_path`. `off_path` is None if the last call of `requests` could create a
request for every statement. `notify_reader` is None if no reader wants to be woken.
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

# The upper limit of the concurrency: the compiled version counts in C integers, which must not
# overflow.
_MOST = 1 << 24

# Creates a named tuple. This is faster than a call of the tuple's class.
_new_tuple: Callable[..., Any] = tuple.__new__


class Collector:
    """Creates the requests of many statements, and passes their outcomes to one reader.

    Any thread may call `put`. Only the reader calls the other methods; it starts the requests, and
    executes the statements that `path` does not handle.

    :param concurrency: the maximum number of requests in flight.
    :param outcome_class: a named tuple class for outcomes, with the fields success and result or
        error; if `in_order` is False, also the position of the statement.
    :param path: the session's `cassandra.engine.awaited.HappyPath`, which creates and completes the
        requests of the most common statements; None if it may not be used.
    :param in_order: True delivers outcomes in the order of the statements, False in the order in
        which they come.
    """

    __slots__ = (
        "_completed", "_concurrency", "_early", "_in_order", "_outcome_class", "_path", "_pending",
        "_reads_rows", "_seen", "batches_wakeups", "delivered", "has_failed", "is_awaited",
        "is_exhausted", "is_paused", "notify_reader", "off_path", "sent",
    )  # fmt: skip

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
        # True if a request may end with a `RowsAnswer` instead of a full message.
        self._reads_rows: bool = path is not None and path.reads_rows_answers
        self._in_order = in_order
        # `sent` counts the statements that were taken from the iterator; `delivered` counts the
        # outcomes that were returned to the reader.
        self.sent = 0
        self.delivered = 0
        # True if the iterator of statements has ended.
        self.is_exhausted = False
        # True while the reader does not want to send more statements.
        self.is_paused = False
        # True if the reader wants to be woken only when there are many outcomes.
        self.batches_wakeups = False
        # True once an outcome is an error.
        self.has_failed = False
        # True while the reader waits. `notify_reader` is then called once, when `is_ready` is True.
        self.is_awaited = False
        self.notify_reader: Callable[[], object] | None = None
        # The (statement, parameters) at which `requests` stopped because `_path` does not handle
        # them.
        self.off_path: tuple[Any, Any] | None = None
        # Pairs (position, outcome) in the order of completion. Any thread appends; only the reader
        # removes.
        self._completed: deque[tuple[int, tuple[Any, ...]]] = deque()
        # The number of outcomes that were removed from `_completed`.
        self._seen = 0
        # Outcomes that wait until an earlier statement has its outcome, by position.
        self._early: dict[int, tuple[Any, ...]] = {}
        # The requests that are still in flight, by the position of their statement.
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
        """True if the reader need not wait: there are outcomes to read, or statements to send.

        With `batches_wakeups`, outcomes count only when many have come.
        """
        if self.batches_wakeups and not self.has_failed:
            # True if the limit of undelivered outcomes is reached. The reader must then take
            # outcomes before it can send more statements.
            is_limit_reached = self.sent - self.delivered >= 2 * self._concurrency
            # If nothing is under way, no further outcome will come for which the reader could wait.
            return (
                self.wants_more
                or not self.under_way
                or (is_limit_reached and bool(self._completed))
            )
        return bool(self._completed) or self.wants_more

    @property
    def wants_more(self) -> bool:
        """True if the reader should send more statements.

        The reader should wait until at most half of `concurrency` is in flight, so that many
        statements are sent together.
        """
        return (
            not self.is_exhausted
            and not self.is_paused
            and self.under_way <= self._concurrency // 2
            and self.sent - self.delivered < 2 * self._concurrency
        )

    def requests(self, statements: Iterator[tuple[Any, Any]], burst: list[Any], limit: int) -> None:
        """Create the requests of the next statements, and append them to `burst`.

        The reader must start these requests. If `path` does not handle a statement, stop there and
        store the statement in `off_path`. The reader executes that statement, whose position is
        ``sent - 1``, and passes its outcome to `put`. An error that `statements` raises is raised
        here. An error in a statement is its outcome.

        :param limit: the maximum number of statements to take. The two limits of the collector may
            allow fewer.
        """
        self.off_path = None
        # Take as many statements as both limits allow; the head of this module explains the limits.
        remaining = min(
            limit,
            self._concurrency - self.under_way,
            2 * self._concurrency - (self.sent - self.delivered),
        )
        path = self._path
        complete = self._complete
        request = None
        while remaining > 0 and not self.is_exhausted:
            remaining -= 1
            try:
                query, parameters = next(statements)
            except StopIteration:
                self.is_exhausted = True
                return
            position = self.sent
            # Count the statement before it is sent, because it may complete at once.
            self.sent = position + 1
            if path is not None:
                # Pass the current row factory, because the application may replace it before the
                # request ends.
                on_done = partial(complete, path._options.profile.row_factory, position)
                try:
                    request = path.request(query, parameters, on_done)
                except Exception as error:
                    self._put(position, False, error)
                    continue
            # If there is no `path`, or it does not handle this statement, the reader executes the
            # statement.
            if request is None:
                self.off_path = (query, parameters)
                return
            # If the result class accepts a `RowsAnswer`, the request ends with that instead of a
            # full message.
            request._reads_rows = self._reads_rows
            self._pending[position] = request
            burst.append(request)

    def _complete(
        self, row_factory: Callable[..., Any], position: int, request: RequestBase
    ) -> None:
        """Create the result of `request`, which is over, and store the outcome.

        :param row_factory: the row factory at the time when the request was created.
        """
        # `_path` is not None, because only `_path` creates requests that call this method.
        happy_path: Any = self._path
        del self._pending[position]
        if request.error is not None:
            self._put(position, False, request.error)
            return
        try:
            result = happy_path._result_class(happy_path.session, request, row_factory)
        except BaseException as error:  # without an outcome, the reader would wait for ever
            self._put(position, False, error)
        else:
            self._put(position, True, result)

    def put(self, position: int, success: bool, value: object) -> None:
        """Store the outcome of the statement at `position`. Any thread may call this.

        :raises ValueError: if no statement with this position was taken.
        """
        if not 0 <= position < self.sent:
            raise ValueError(f"no statement at {position}: {self.sent} were taken")
        self._put(position, success, value)

    def _put(self, position: int, success: bool, value: object) -> None:
        """Store an outcome, and wake the reader if it waits and has something to do now."""
        fields = (success, value) if self._in_order else (success, value, position)
        if not success:
            self.has_failed = True
        # Create the outcome with `tuple.__new__`, because a named tuple's constructor is Python
        # code and thus slower.
        self._completed.append((position, _new_tuple(self._outcome_class, fields)))
        # Read `is_awaited` after the append. The reader sets it before it looks for outcomes. So
        # either the reader sees this outcome, or we see the flag and wake the reader.
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
                # An earlier statement has no outcome yet: keep this outcome until then.
                early[position] = outcome
                continue
            outcomes.append(outcome)
            self.delivered += 1
            # Outcomes in `early` may have waited for this outcome: deliver those that follow it
            # directly.
            while early and self.delivered in early:
                outcomes.append(early.pop(self.delivered))
                self.delivered += 1
        return outcomes

    def pending(self) -> list[RequestBase]:
        """Return the requests that are still in flight."""
        return list(self._pending.values())
