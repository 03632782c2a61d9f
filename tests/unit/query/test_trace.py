"""Test `QueryTrace`, which reads a trace until it is complete or the time limit has passed.

The tests use both the blocking and the asyncio API.
"""

from __future__ import annotations

import datetime
import uuid
from types import SimpleNamespace
from typing import Any

import pytest

from cassandra import ConsistencyLevel
from cassandra.errors import OperationTimedOut
from cassandra.query.trace import QueryTrace, TraceUnavailable
from cassandra.util import uuid_from_time

ID = uuid.UUID(int=5)
MOMENT = datetime.datetime(2026, 1, 2)
# The request took 1500 microseconds. EVENTS has an event near the request's end, so these events
# are complete. EARLY has only an event near the request's beginning.
SESSION = (1500, "Execute CQL3 query", MOMENT, "10.0.0.1", {"query": "SELECT 1"}, "10.0.0.9")
# The session row of a trace whose duration is not known yet.
UNFINISHED = (None, *SESSION[1:])
EVENTS = [("Parsing", uuid_from_time(MOMENT), "10.0.0.1", 1400, "thread-1")]
EARLY = [("Parsing", uuid_from_time(MOMENT), "10.0.0.1", 30, "thread-1")]


class Session:
    """A fake session that responds to reads of traces.

    :param sessions: the rows of the table of sessions for each read, or an exception to raise. The
        last item is repeated.
    :param events: the rows of the table of events for each read, with the same rules.
    """

    def __init__(self, *sessions: Any, events: Any = (EVENTS,)) -> None:
        self.session_rows = list(sessions)
        self.events = list(events)
        self.reads: list[tuple[Any, dict[str, Any]]] = []

    def _answer(self, statement: Any, parameters: Any, options: dict[str, Any]) -> Any:
        """Record the read, and return the next rows of the table of sessions or events."""
        assert parameters == (ID,)
        self.reads.append((statement, options))
        if "system_traces.events" in statement.query_string:
            rows: Any = self.events.pop(0) if len(self.events) > 1 else self.events[0]
        else:
            rows = self.session_rows.pop(0) if len(self.session_rows) > 1 else self.session_rows[0]
        if isinstance(rows, Exception):
            raise rows
        return SimpleNamespace(all_tuples=lambda: rows)

    def execute_async(self, statement: Any, parameters: Any, **options: Any) -> Any:
        return SimpleNamespace(result=lambda: self._answer(statement, parameters, options))

    async def execute(self, statement: Any, parameters: Any, **options: Any) -> Any:
        return self._answer(statement, parameters, options)


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Record the sleeps in seconds, and let the clock advance by them."""
    slept: list[float] = []
    monkeypatch.setattr("time.sleep", slept.append)
    monkeypatch.setattr("time.monotonic", lambda: 1000.0 + sum(slept))
    return slept


def test_a_complete_trace(waits: list[float]) -> None:
    """A complete trace must have the values of its session row, and its events."""
    session = Session([], [UNFINISHED], [SESSION])
    trace = QueryTrace(ID, session)
    trace.populate()
    assert trace.duration == datetime.timedelta(microseconds=1500)
    assert trace.request_type == "Execute CQL3 query"
    assert trace.started_at == MOMENT
    assert trace.coordinator == "10.0.0.1"
    assert trace.client == "10.0.0.9"
    assert trace.parameters == {"query": "SELECT 1"}
    assert trace.events is not None
    (event,) = trace.events
    assert event.description == "Parsing"
    assert event.source == "10.0.0.1"
    assert event.thread_name == "thread-1"
    # Only the times of events have a time zone, as in cassandra-driver.
    assert event.datetime == MOMENT.replace(tzinfo=datetime.timezone.utc)
    assert event.source_elapsed == datetime.timedelta(microseconds=1400)
    assert str(event) == "Parsing on 10.0.0.1[thread-1] at 2026-01-02 00:00:00+00:00"
    assert "coordinator: 10.0.0.1" in str(trace)
    # The waits between the reads of the session row double. The last wait is before the second read
    # of the events.
    assert waits == [0.003, 0.006, 0.003]
    # The requests that read the trace must not be traced.
    assert all(options["trace"] is False for _, options in session.reads)
    # The events come in one page, whatever the session's fetch size is.
    assert all(statement.fetch_size is None for statement, _ in session.reads)
    assert {statement.consistency_level for statement, _ in session.reads} == {
        ConsistencyLevel.LOCAL_ONE
    }


def test_events_that_arrive_after_the_duration_are_read_again(waits: list[float]) -> None:
    """If events arrive later than the duration, they are read again until they are complete."""
    complete = [*EARLY, *EVENTS]
    session = Session([SESSION], events=([], [], EARLY, EARLY, EARLY, complete))
    trace = QueryTrace(ID, session)
    trace.populate()
    assert trace.events is not None
    assert len(trace.events) == 2
    assert session.events == [complete]


def test_incomplete_events_are_read_again_for_a_limited_time(waits: list[float]) -> None:
    """Incomplete events are read again until their number has been the same for 0.1 seconds."""
    from_another_node = [("Parsing", uuid_from_time(MOMENT), "10.0.0.2", 1490, "thread-1")]
    # None of these lists has an event near the end of the request on the coordinator.
    for events in (EARLY, from_another_node, [(*EARLY[0][:3], None, "thread-1")]):
        waits.clear()
        trace = QueryTrace(ID, Session([SESSION], events=(events,)))
        trace.populate()
        assert trace.events is not None
        assert len(trace.events) == 1
        # The waits double, so the last wait ends later than 0.1 seconds.
        assert 0.1 < sum(waits) < 0.3


def test_reading_a_trace_without_events_ends(waits: list[float]) -> None:
    """If a trace has no events, the reads end, with or without `max_wait`."""
    trace = QueryTrace(ID, Session([SESSION], events=([],)))
    trace.populate(max_wait=None)
    assert trace.events == ()
    waits.clear()
    trace.populate(max_wait=0.5)
    assert trace.events == ()
    # The waits double, and the next wait would end after the limit of 0.5 seconds.
    assert 0.2 < sum(waits) <= 0.5


async def test_a_trace_is_read_with_asyncio() -> None:
    """With asyncio, a trace is read with the given consistency level."""
    trace = QueryTrace(ID, Session([SESSION]))
    await trace.apopulate(query_cl=ConsistencyLevel.QUORUM)
    assert trace.request_type == "Execute CQL3 query"
    assert trace._session.reads[0][0].consistency_level == ConsistencyLevel.QUORUM


# The session row already has the duration, but not the values from the beginning of the request.
DURATION_ONLY = (1500, None, None, None, None, None)


def test_a_duration_that_arrives_before_the_rest(waits: list[float]) -> None:
    """If the duration arrives before the other values, the session row is read again.

    The reads end when the row is complete.
    """
    trace = QueryTrace(ID, Session([DURATION_ONLY], [DURATION_ONLY], [SESSION]))
    trace.populate()
    assert trace.coordinator == "10.0.0.1"
    assert trace.started_at == MOMENT
    assert len(waits) == 3


def test_an_incomplete_row_with_a_duration_is_used_after_the_limit(waits: list[float]) -> None:
    """After `max_wait`, a session row that has only the duration is used."""
    trace = QueryTrace(ID, Session([DURATION_ONLY]))
    trace.populate(max_wait=1.0)
    assert trace.duration == datetime.timedelta(microseconds=1500)
    assert trace.coordinator is None
    assert waits


def test_an_incomplete_trace_can_be_read(waits: list[float]) -> None:
    """With `wait_for_complete=False`, the trace is read once, even if it is incomplete."""
    trace = QueryTrace(ID, Session([UNFINISHED]))
    trace.populate(wait_for_complete=False)
    assert trace.duration is None
    assert trace.coordinator == "10.0.0.1"
    assert waits == []


def test_a_trace_that_is_not_complete_in_time_is_unavailable(waits: list[float]) -> None:
    """If a trace is not complete within `max_wait` seconds, `populate` raises an error."""
    session = Session([UNFINISHED])
    with pytest.raises(TraceUnavailable, match=r"was not complete within 0\.1 seconds"):
        QueryTrace(ID, session).populate(max_wait=0.1)
    assert 0 < sum(waits) <= 0.1
    # The last read begins just before the limit, but still has a timeout of at least 0.09 seconds.
    assert min(options["timeout"] for _, options in session.reads) >= 0.09


def test_without_a_limit_a_read_that_times_out_raises_its_error(waits: list[float]) -> None:
    """If a read times out, `populate` without `max_wait` raises OperationTimedOut.

    The reads then have the session's default timeout. With `max_wait`, the error is
    TraceUnavailable.
    """
    with pytest.raises(TraceUnavailable, match=r"could not be read within 0\.1 seconds"):
        QueryTrace(ID, Session(OperationTimedOut("late"))).populate(max_wait=0.1)
    session = Session(OperationTimedOut("late"))
    with pytest.raises(OperationTimedOut):
        QueryTrace(ID, session).populate(max_wait=None)
    _, options = session.reads[0]
    assert "timeout" not in options
