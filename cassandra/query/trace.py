"""Query traces, which the coordinator writes into the keyspace system_traces."""

from __future__ import annotations

import datetime
import time
import uuid
from collections.abc import Mapping
from typing import Any, Protocol

from cassandra.consistency import ConsistencyLevel
from cassandra.errors import DriverException, OperationTimedOut
from cassandra.query.statement import SimpleStatement
from cassandra.util.timeuuid import datetime_from_uuid1

__all__ = ["QueryTrace", "TraceEvent", "TraceUnavailable"]

_FIRST_WAIT = 0.003
_LEAST_TIMEOUT = 0.1  # seconds that each read gets, even close to the deadline
_SESSION_COLUMNS = "duration, request, started_at, coordinator, parameters, client"
_EVENT_COLUMNS = "activity, event_id, source, source_elapsed, thread"


class TraceUnavailable(DriverException):
    """The trace was not complete within the given time."""


class _Session(Protocol):
    """A session, as far as reading a trace needs it."""

    def execute_async(
        self,
        query: SimpleStatement,
        parameters: tuple[uuid.UUID],
        *,
        trace: bool,
        timeout: Any = ...,
    ) -> Any:
        """Start the read and return its future."""


class QueryTrace:
    """The steps that the servers took for one request; `populate` reads them.

    `duration` is a timedelta, `started_at` a datetime, `coordinator` and `client` are addresses,
    `parameters` are those of the request, and `events` is a list of `TraceEvent`.
    """

    trace_id: uuid.UUID
    request_type: str | None = None
    duration: datetime.timedelta | None = None
    client: str | None = None
    coordinator: str | None = None
    started_at: datetime.datetime | None = None
    parameters: Mapping[str, str] | None = None
    events: list[TraceEvent] | None = None

    def __init__(self, trace_id: uuid.UUID, session: _Session) -> None:
        self.trace_id = trace_id
        self._session = session

    def populate(
        self,
        max_wait: float | None = 2.0,
        wait_for_complete: bool = True,
        query_cl: int | None = None,
    ) -> None:
        """Read the trace.

        The servers write it in the background, so this asks until it is complete.

        :param max_wait: seconds for the whole. None sets no limit but the session's timeout for
            each read.
        :param wait_for_complete: wait until the duration is there, which servers write last.
        :param query_cl: consistency level to read with. None takes LOCAL_ONE.
        :raises TraceUnavailable: if the trace is not complete in time.
        """
        deadline = None if max_wait is None else time.monotonic() + max_wait
        # One replica is enough: the trace is read again until it is complete.
        level = ConsistencyLevel.LOCAL_ONE if query_cl is None else query_cl
        wait = _FIRST_WAIT
        try:
            while not self._read_session(level, wait_for_complete, deadline):
                if deadline is not None and time.monotonic() + wait > deadline:
                    raise TraceUnavailable(
                        f"trace {self.trace_id} was not complete within {max_wait} seconds"
                    )
                # Growing intervals, so that a slow coordinator is not asked all the time.
                time.sleep(wait)
                wait *= 2
            self._read_events(level, deadline)
        except OperationTimedOut as error:
            if deadline is None:
                raise
            raise TraceUnavailable(
                f"trace {self.trace_id} could not be read within {max_wait} seconds"
            ) from error

    def _select(
        self, table: str, columns: str, level: int, deadline: float | None
    ) -> list[tuple[Any, ...]]:
        limit: dict[str, Any] = (
            {}
            if deadline is None
            else {"timeout": max(deadline - time.monotonic(), _LEAST_TIMEOUT)}
        )
        statement = SimpleStatement(
            f"SELECT {columns} FROM system_traces.{table} WHERE session_id = %s",
            consistency_level=level,
        )
        # A profile may trace all requests: the read of a trace must not make another one.
        result = self._session.execute_async(
            statement, (self.trace_id,), trace=False, **limit
        ).result()
        rows: list[tuple[Any, ...]] = result.all_tuples()
        return rows

    def _read_session(self, level: int, wait_for_complete: bool, deadline: float | None) -> bool:
        rows = self._select("sessions", _SESSION_COLUMNS, level, deadline)
        # The duration is written last, so its absence means that events may still be missing.
        if not rows or (wait_for_complete and rows[0][0] is None):
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

    def _read_events(self, level: int, deadline: float | None) -> None:
        self.events = [
            TraceEvent(*row) for row in self._select("events", _EVENT_COLUMNS, level, deadline)
        ]

    def __str__(self) -> str:
        return (
            f"{self.request_type} [{self.trace_id}] coordinator: {self.coordinator}, "
            f"started at: {self.started_at}, duration: {self.duration}, "
            f"parameters: {self.parameters}"
        )


class TraceEvent:
    """One step of a traced request on one node."""

    def __init__(
        self,
        description: str,
        timeuuid: uuid.UUID,
        source: str,
        source_elapsed: int | None,
        thread_name: str,
    ) -> None:
        self.description = description
        self.datetime = datetime_from_uuid1(timeuuid)
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
