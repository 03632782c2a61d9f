"""Query traces, which the coordinator writes to the keyspace system_traces."""

from __future__ import annotations

import datetime
import uuid
import warnings
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from cassandra import _threads
from cassandra._clocks import monotonic
from cassandra._habits import stack_level
from cassandra._imports import at_first_cluster
from cassandra.consistency import ConsistencyLevel
from cassandra.errors import DriverException, OperationTimedOut
from cassandra.query.statement import SimpleStatement
from cassandra.util.timeuuid import datetime_from_uuid1

if TYPE_CHECKING:
    import asyncio
else:
    at_first_cluster(__name__, asyncio="asyncio")

# The shortest and the longest interval between two reads, in seconds.
_FIRST_WAIT = 0.003
_LONGEST_WAIT = 0.25
# The events count as complete if no event was added for more than one of these times, in seconds:
_SETTLED = 0.0  # if the coordinator's events reach to the end of the request
_UNSETTLED = 0.1  # if the coordinator's events do not reach to the end of the request
_NO_EVENTS = 0.5  # if there are no events
# The coordinator's events reach to the end of the request if the last event is later than this
# share of the request's duration.
_END_SHARE = 0.8
_MIN_TIMEOUT = 0.1  # minimum timeout of each read in seconds, even close to the deadline
_SESSION_COLUMNS = "duration, request, started_at, coordinator, parameters, client"
_EVENT_COLUMNS = "activity, event_id, source, source_elapsed, thread"


class TraceUnavailable(DriverException):
    """The trace was not complete within `max_wait`."""


def warn_of_missing_trace() -> None:
    """Warn that a trace was requested from an execution that has none."""
    warnings.warn(
        "this execution has no trace: write session.execute(query, trace=True)",
        RuntimeWarning,
        stacklevel=stack_level(),
    )


_MICROSECOND = datetime.timedelta(microseconds=1)

Rows = Sequence[tuple[Any, ...]]
_Execute = Callable[..., Awaitable[Any]]
_Sleep = Callable[[float], Awaitable[None]]
# `TraceEvent` has an attribute `datetime`, which hides the module in its body.
_Moment = datetime.datetime
_Elapsed = datetime.timedelta


class QueryTrace:
    """The steps that the servers took for one request.

    A new object has only the id; `populate` or `apopulate` reads the rest from the servers.
    `duration` is a timedelta, `started_at` a datetime in UTC without a time zone, as all timestamps
    of rows are, and `coordinator` and `client` are addresses. `parameters` are the request's
    parameters, and `events` is a tuple of `TraceEvent`.

    :param trace_id: the trace's id, from the response of the request.
    :param session: the session that reads the trace's tables.
    """

    # The constructor sets the id. Mocks with ``spec=`` have only attributes of the class.
    trace_id: uuid.UUID = None  # type: ignore[assignment]
    request_type: str | None = None
    duration: datetime.timedelta | None = None
    client: str | None = None
    coordinator: str | None = None
    started_at: datetime.datetime | None = None
    parameters: Mapping[str, str] | None = None
    events: tuple[TraceEvent, ...] | None = None

    def __init__(self, trace_id: uuid.UUID, session: Any) -> None:
        self.trace_id = trace_id
        self._session = session

    def populate(
        self,
        max_wait: float | None = 2.0,
        wait_for_complete: bool = True,
        query_cl: int | None = None,
    ) -> None:
        """Read the trace.

        The servers write the trace in the background, so this method polls until it is complete.

        :param max_wait: seconds for all reads together. With None, only the session's timeout for
            each read applies.
        :param wait_for_complete: True to wait until the servers have written the duration and no
            more events arrive. False to read only what the servers have written so far.
        :param query_cl: consistency level of the reads; None for LOCAL_ONE.
        :raises TraceUnavailable: if the trace is not complete within `max_wait`, or cannot be read.
        """
        coroutine = self._populate(
            self._execute, _sleep, monotonic, max_wait, wait_for_complete, query_cl
        )
        # One call of `send` runs the whole coroutine: `_execute` and `_sleep` block the thread, and
        # so the coroutine is never suspended.
        with suppress(StopIteration):
            coroutine.send(None)

    async def apopulate(
        self,
        max_wait: float | None = 2.0,
        wait_for_complete: bool = True,
        query_cl: int | None = None,
    ) -> None:
        """Read the trace, as `populate` does, on a session of `cassandra.aio`.

        :param max_wait: seconds for all reads together. With None, only the session's timeout for
            each read applies.
        :param wait_for_complete: True to wait until the servers have written the duration and no
            more events arrive. False to read only what the servers have written so far.
        :param query_cl: consistency level of the reads; None for LOCAL_ONE.
        :raises TraceUnavailable: if the trace is not complete within `max_wait`, or cannot be read.
        """
        clock = asyncio.get_running_loop().time
        await self._populate(
            self._session.execute, asyncio.sleep, clock, max_wait, wait_for_complete, query_cl
        )

    async def _execute(self, *arguments: Any, **options: Any) -> Any:
        return self._session.execute_async(*arguments, **options).result()

    async def _populate(
        self,
        execute: _Execute,
        sleep: _Sleep,
        clock: Callable[[], float],
        max_wait: float | None,
        wait_for_complete: bool,
        query_cl: int | None,
    ) -> None:
        """Read the trace, for `populate` and `apopulate`.

        :param execute: executes a statement and returns its result.
        :param sleep: waits for a number of seconds.
        :param clock: returns the time in seconds.
        """
        deadline = None if max_wait is None else clock() + max_wait
        # A read from one replica is enough, because we read the trace again until it is complete.
        level = ConsistencyLevel.LOCAL_ONE if query_cl is None else query_cl

        async def read(table: str, columns: str) -> Rows:
            rows: Rows = (
                await self._read_table(execute, table, columns, level, deadline, clock)
            ).all_tuples()
            return rows

        interval = _FIRST_WAIT
        try:
            # Read the row of `sessions` until it is complete.
            while True:
                rows = await read("sessions", _SESSION_COLUMNS)
                is_last = deadline is not None and clock() + interval > deadline
                # At the last attempt, accept a row that has a duration but none of the other
                # columns.
                if self._set_session_if_complete(rows, wait_for_complete, is_last):
                    break
                if is_last:
                    raise TraceUnavailable(
                        f"trace {self.trace_id} was not complete within {max_wait} seconds"
                    )
                # Double the interval, so that we do not read too often while a slow coordinator
                # writes.
                await sleep(interval)
                interval *= 2
            # When the row of `sessions` is complete, read the events.
            rows = await read("events", _EVENT_COLUMNS)
            if wait_for_complete:
                rows = await self._read_all_events(
                    rows, lambda: read("events", _EVENT_COLUMNS), sleep, clock, deadline
                )
            self.events = tuple(TraceEvent(*row) for row in rows)
        except OperationTimedOut as error:
            if deadline is None:
                raise
            raise TraceUnavailable(
                f"trace {self.trace_id} could not be read within {max_wait} seconds"
            ) from error

    async def _read_all_events(
        self,
        rows: Rows,
        read: Callable[[], Awaitable[Rows]],
        sleep: _Sleep,
        clock: Callable[[], float],
        deadline: float | None,
    ) -> Rows:
        """Read the events until no more arrive, and return them.

        The servers write each event separately, and nowhere write how many events there are. So the
        events count as complete if no events were added for some time (`_time_to_settle`).
        """
        # Read again after growing intervals. `unchanged_for` is the number of seconds without new
        # events.
        interval = _FIRST_WAIT
        unchanged_for = 0.0
        while deadline is None or clock() + interval <= deadline:
            await sleep(interval)
            latest = await read()
            has_new_events = len(latest) != len(rows)
            rows = latest
            unchanged_for = 0.0 if has_new_events else unchanged_for + interval
            if not has_new_events and unchanged_for > self._time_to_settle(rows):
                break
            interval = min(interval * 2, _LONGEST_WAIT)
        return rows

    def _time_to_settle(self, rows: Rows) -> float:
        """Return how many seconds without new events we wait until the events count as complete."""
        if not rows:
            return _NO_EVENTS
        # The times of the coordinator's events, in microseconds since the start of the request.
        # Columns 2 and 3 of `_EVENT_COLUMNS` are source and source_elapsed.
        coordinator_times = [
            row[3] for row in rows if row[2] == self.coordinator and row[3] is not None
        ]
        duration = self.duration / _MICROSECOND if self.duration is not None else 0.0
        if coordinator_times and max(coordinator_times) >= _END_SHARE * duration:
            return _SETTLED
        return _UNSETTLED

    async def _read_table(
        self,
        execute: _Execute,
        table: str,
        columns: str,
        level: int,
        deadline: float | None,
        clock: Callable[[], float],
    ) -> Any:
        """Read the rows of this trace from a table of system_traces."""
        # Paging would return a part of the events: a trace has no more than fit into one page.
        statement = SimpleStatement(
            f"SELECT {columns} FROM system_traces.{table} WHERE session_id = %s",
            consistency_level=level,
            fetch_size=None,
        )
        # An execution profile may trace all requests, but reading a trace must not create another
        # trace.
        options: dict[str, Any] = {"trace": False}
        if deadline is not None:
            options["timeout"] = max(deadline - clock(), _MIN_TIMEOUT)
        return await execute(statement, (self.trace_id,), **options)

    def _set_session_if_complete(self, rows: Rows, wait_for_complete: bool, is_last: bool) -> bool:
        """Set the attributes from the row of system_traces.sessions, and return True.

        Return False if the row is missing, or if it is incomplete and `wait_for_complete` is true.

        :param is_last: True if there is no time to read the row again. A row that has only a
            duration is then accepted.
        """
        # Without a duration (the first column), events may still be missing, because the
        # coordinator writes the duration last.
        if not rows or (wait_for_complete and rows[0][0] is None):
            return False
        # Without started_at (the third column), the rest of the row is missing. The coordinator
        # writes these columns separately, and the replica may receive them later than the duration.
        if wait_for_complete and rows[0][2] is None and not is_last:
            return False
        (
            duration,
            self.request_type,
            self.started_at,
            self.coordinator,
            self.parameters,
            self.client,
        ) = rows[0]
        self.duration = datetime.timedelta(microseconds=duration) if duration is not None else None
        return True

    def __str__(self) -> str:
        return (
            f"{self.request_type} [{self.trace_id}] coordinator: {self.coordinator}, "
            f"started at: {self.started_at}, duration: {self.duration}, "
            f"parameters: {self.parameters}"
        )


async def _sleep(seconds: float) -> None:
    """Block the thread for `seconds`: `populate` uses this function instead of `asyncio.sleep`."""
    _threads.sleep(seconds)


class TraceEvent:
    """One step of a traced request on one node.

    :param description: the node's action.
    :param timeuuid: the step's id, which contains its time. The attribute `datetime` has this time,
        with the time zone UTC.
    :param source: the address of the node.
    :param source_elapsed: microseconds from the time when the node began with the request to this
        step; None if they are not known. The attribute `source_elapsed` is a timedelta.
    :param thread_name: the name of the node's thread.
    """

    # The constructor sets these. Mocks with ``spec=`` have only attributes of the class.
    description: str = None  # type: ignore[assignment]
    source: str = None  # type: ignore[assignment]
    source_elapsed: _Elapsed | None = None
    thread_name: str = None  # type: ignore[assignment]
    datetime: _Moment = None  # type: ignore[assignment]

    def __init__(
        self,
        description: str,
        timeuuid: uuid.UUID,
        source: str,
        source_elapsed: int | None,
        thread_name: str,
    ) -> None:
        self.description = description
        # As in cassandra-driver, this one time of a trace has a time zone.
        self.datetime = datetime_from_uuid1(timeuuid).replace(tzinfo=datetime.timezone.utc)
        self.source = source
        self.source_elapsed = (
            datetime.timedelta(microseconds=source_elapsed) if source_elapsed is not None else None
        )
        self.thread_name = thread_name

    def __str__(self) -> str:
        return f"{self.description} on {self.source}[{self.thread_name}] at {self.datetime}"


for _class in (QueryTrace, TraceEvent, TraceUnavailable):
    _class.__module__ = "cassandra.query"
del _class
