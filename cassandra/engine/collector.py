"""Many executions at a time: their requests are made, and their outcomes taken, here.

A part of the twin module `cassandra.engine.happy_path`, which hands the name on. Both faces read
from a `Collector`: `cassandra.concurrent` in a thread of the program, `cassandra.aio.concurrent` on
the loop.
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

# Nobody has more in flight, and the compiled twin counts in integers of C.
_MOST = 1 << 24

_new_tuple: Callable[..., Any] = tuple.__new__


class Collector:
    """Makes the requests of many statements, and gives their outcomes to one reader.

    Outcomes come in from any thread. All else is for the reader, who starts the requests, and
    executes the others by itself. Outcomes that wait for an earlier one hold statements back
    as well, so that the concurrency bounds memory.

    :param concurrency: how many are in flight at most.
    :param outcome_class: a named tuple of success and of the result or the error; of the place of
        the statement, too, if `in_order` is False.
    :param path: of the session; None if no statement is on the happy path.
    :param in_order: False gives outcomes as they come.
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
        "given",
        "has_failed",
        "is_awaited",
        "is_exhausted",
        "is_patient",
        "is_paused",
        "sent",
        "tell",
        "unusual",
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
        # The number of statements that were taken, and of outcomes that were given to the reader.
        self.sent = 0
        self.given = 0
        # Nothing more is taken from the statements.
        self.is_exhausted = False
        # Nothing more is wanted of the statements for now.
        self.is_paused = False
        # The reader wants outcomes many at a time: it is not told of each one.
        self.is_patient = False
        # An outcome was an error.
        self.has_failed = False
        # True while the reader waits: `tell` is called, once, as soon as it may go on.
        self.is_awaited = False
        self.tell: Callable[[], object] | None = None
        # The statement and the parameters that `requests` has stopped at.
        self.unusual: tuple[Any, Any] | None = None
        # Filled by completions (append is atomic), emptied by the reader.
        self._completed: deque[tuple[int, tuple[Any, ...]]] = deque()
        self._seen = 0
        # Outcomes that came before an earlier one.
        self._early: dict[int, tuple[Any, ...]] = {}
        self._pending: dict[int, RequestBase] = {}

    @property
    def under_way(self) -> int:
        """The number of statements that were taken and are not over."""
        return self.sent - self._seen - len(self._completed)

    @property
    def is_over(self) -> bool:
        """True if the reader has been given all outcomes, and no statement is left."""
        return self.is_exhausted and self.given == self.sent

    @property
    def is_ready(self) -> bool:
        """True if the reader need not wait: there are outcomes, or room for many statements."""
        if self.is_patient and not self.has_failed:
            is_full = self.sent - self.given >= 2 * self._concurrency
            return self.wants_more or not self.under_way or (is_full and bool(self._completed))
        return bool(self._completed) or self.wants_more

    @property
    def wants_more(self) -> bool:
        """True if it is time to take statements: not for each outcome, but for many at a time."""
        return (
            not self.is_exhausted
            and not self.is_paused
            and self.under_way <= self._concurrency // 2
            and self.sent - self.given < 2 * self._concurrency
        )

    def requests(self, statements: Iterator[tuple[Any, Any]], burst: list[Any], most: int) -> None:
        """Append the requests of the next statements to `burst`, for the reader to start.

        It stops at the first statement off the happy path, leaves it in `unusual`, and the reader
        executes it, as the statement at ``sent - 1``, and hands its outcome to `put`. An error of
        `statements` is raised. A mistake in a statement is its outcome.

        :param most: the statements that are taken at most. Also taken are no more than there is
            room for.
        """
        self.unusual = None
        room = min(
            most,
            self._concurrency - self.under_way,
            2 * self._concurrency - (self.sent - self.given),
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
            place = self.sent
            # Counted before it is sent: its completion may come before the call returns.
            self.sent = place + 1
            if path is not None:
                over = partial(complete, path._options.profile.row_factory, place)
                try:
                    request = path.request(query, parameters, over)
                except Exception as error:
                    self._put(place, False, error)
                    continue
            if request is None:
                self.unusual = (query, parameters)
                return
            request._reads_rows = self._reads_rows
            self._pending[place] = request
            burst.append(request)

    def _complete(self, row_factory: Callable[..., Any], place: int, request: RequestBase) -> None:
        path: Any = self._path
        del self._pending[place]
        if request.error is not None:
            self._put(place, False, request.error)
            return
        try:
            result = path._result_class(path.session, request, row_factory)
        except BaseException as error:  # or the reader would wait for ever
            self._put(place, False, error)
        else:
            self._put(place, True, result)

    def put(self, place: int, success: bool, value: object) -> None:
        """Take the outcome of the statement at `place`; any thread.

        :raises ValueError: if no such statement was taken.
        """
        if not 0 <= place < self.sent:
            raise ValueError(f"no statement at {place}: {self.sent} were taken")
        self._put(place, success, value)

    def _put(self, place: int, success: bool, value: object) -> None:
        parts = (success, value) if self._in_order else (success, value, place)
        if not success:
            self.has_failed = True
        # Past the constructor of the named tuple, which is Python code.
        self._completed.append((place, _new_tuple(self._outcome_class, parts)))
        # Looked at in this order, and the reader looks the other way round.
        if self.is_awaited and self.is_ready:
            self.is_awaited = False
            if self.tell is not None:
                self.tell()

    def take(self) -> list[Any]:
        """Return the outcomes that are next; [] if there is none yet."""
        completed = self._completed
        early = self._early
        found = []
        while completed:
            place, outcome = completed.popleft()
            self._seen += 1
            if self._in_order and place != self.given:
                early[place] = outcome
                continue
            found.append(outcome)
            self.given += 1
            while early and self.given in early:
                found.append(early.pop(self.given))
                self.given += 1
        return found

    def pending(self) -> list[RequestBase]:
        """Return the requests that are not over."""
        return list(self._pending.values())
