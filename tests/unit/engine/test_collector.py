"""The `Collector` of many executions, without a session, in both implementations."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from tests.conftest import Twins


class Outcome(NamedTuple):
    success: bool
    value: Any


class Placed(NamedTuple):
    success: bool
    value: Any
    place: int


def collector_of(twins: Twins, concurrency: int, in_order: bool = True) -> Any:
    return twins.happy_path.Collector(concurrency, Outcome if in_order else Placed, None, in_order)


def take_positions(collector: Any, statements: Iterator[Any], limit: int = 1000) -> list[int]:
    """Take statements as a reader does; return their positions."""
    positions: list[int] = []
    while True:
        burst: list[Any] = []
        collector.requests(statements, burst, limit)
        assert burst == []  # without a session no statement is on the happy path
        if collector.off_path is None:
            return positions
        positions.append(collector.sent - 1)


def statements(count: int) -> Iterator[tuple[str, int]]:
    return (("q", number) for number in range(count))


def test_outcomes_are_given_in_order(twins: Twins) -> None:
    collector = collector_of(twins, 4)
    source = statements(6)
    assert take_positions(collector, source) == [0, 1, 2, 3]
    assert collector.under_way == 4
    assert collector.take() == []
    for position in (2, 1, 3):
        collector.put(position, True, position)
        assert collector.take() == []
    collector.put(0, True, 0)
    outcomes = collector.take()
    assert outcomes == [(True, 0), (True, 1), (True, 2), (True, 3)]
    assert {type(outcome) for outcome in outcomes} == {Outcome}
    assert take_positions(collector, source) == [4, 5]
    assert collector.is_exhausted
    assert not collector.is_over
    collector.put(5, True, 5)
    collector.put(4, True, 4)
    assert [outcome.value for outcome in collector.take()] == [4, 5]
    assert collector.is_over
    assert collector.take() == []


def test_outcomes_are_given_as_they_come(twins: Twins) -> None:
    collector = collector_of(twins, 4, in_order=False)
    take_positions(collector, statements(3))
    collector.put(2, True, "c")
    collector.put(0, False, "a")
    outcomes = collector.take()
    assert outcomes == [(True, "c", 2), (False, "a", 0)]
    assert {type(outcome) for outcome in outcomes} == {Placed}
    assert not collector.is_over
    collector.put(1, True, "b")
    assert collector.take() == [(True, "b", 1)]
    assert collector.is_over


@pytest.mark.parametrize("in_order", [True, False])
def test_unread_outcomes_bound_what_is_taken(twins: Twins, in_order: bool) -> None:
    collector = collector_of(twins, 4, in_order)
    source = statements(100)
    first = take_positions(collector, source)
    for position in first:
        collector.put(position, True, position)
    assert take_positions(collector, source) == [4, 5, 6, 7]
    for position in (4, 5, 6, 7):
        collector.put(position, True, position)
    assert take_positions(collector, source) == []
    assert not collector.wants_more
    assert len(collector.take()) == 8
    assert collector.wants_more
    assert take_positions(collector, source, limit=2) == [8, 9, 10, 11]


def test_a_late_outcome_holds_back_the_ring(twins: Twins) -> None:
    """The position of a statement is not reused before its outcome was returned."""
    collector = collector_of(twins, 3)
    source = statements(50)
    waiting = take_positions(collector, source)
    read = []
    while not collector.is_over:
        # The oldest outcome comes last, so each position of the ring is full once.
        late, *others = waiting
        for position in reversed(others):
            collector.put(position, True, position)
        more = take_positions(collector, source)
        if not more:
            collector.put(late, True, late)
            waiting = take_positions(collector, source)
        else:
            waiting = [late, *more]
        read += [outcome.value for outcome in collector.take()]
        waiting += take_positions(collector, source)
    assert read == list(range(50))


def test_a_collector_wants_more_when_half_are_over(twins: Twins) -> None:
    collector = collector_of(twins, 10)
    source = statements(100)
    assert collector.wants_more
    take_positions(collector, source)
    for position in range(9, 5, -1):
        collector.put(position, True, position)
        assert not collector.wants_more
    collector.put(5, True, 5)
    assert collector.wants_more
    assert collector.is_ready
    assert take_positions(collector, source) == [10, 11, 12, 13, 14]


def test_an_exhausted_collector_wants_no_more(twins: Twins) -> None:
    collector = collector_of(twins, 10)
    take_positions(collector, statements(2))
    assert collector.is_exhausted
    assert not collector.wants_more
    assert not collector.is_ready
    collector.put(0, True, 0)
    assert collector.is_ready


def test_a_paused_collector_wants_no_more(twins: Twins) -> None:
    collector = collector_of(twins, 2)
    source = statements(4)
    take_positions(collector, source)
    collector.put(1, True, 1)
    assert collector.wants_more
    collector.is_paused = True
    assert not collector.wants_more
    # the Python twin has not put it in its position
    assert not collector.is_ready or twins.impl == "python"
    assert collector.take() == []
    assert not collector.is_ready
    collector.is_paused = False
    assert take_positions(collector, source) == [2]


def test_the_reader_is_told_once(twins: Twins) -> None:
    calls: list[int] = []
    collector = collector_of(twins, 4)
    collector.notify_reader = lambda: calls.append(len(calls))
    take_positions(collector, statements(2))
    collector.put(0, True, 0)
    assert calls == []
    collector.take()
    collector.is_awaited = True
    collector.put(1, True, 1)
    assert calls == [0]
    assert not collector.is_awaited


def test_a_reader_that_waits_may_be_told_by_nobody(twins: Twins) -> None:
    collector = collector_of(twins, 4)
    take_positions(collector, statements(1))
    collector.is_awaited = True
    collector.put(0, True, 0)
    assert not collector.is_awaited


def test_failures_are_known_before_they_are_read(twins: Twins) -> None:
    collector = collector_of(twins, 4)
    take_positions(collector, statements(2))
    collector.put(0, True, 0)
    assert not collector.has_failed
    collector.put(1, False, ValueError("no"))
    assert collector.has_failed
    assert [outcome.success for outcome in collector.take()] == [True, False]


def test_errors_of_the_statements_iterable_are_raised(twins: Twins) -> None:
    def failing() -> Iterator[Any]:
        yield "q", 1
        raise LookupError("no more")

    collector = collector_of(twins, 4)
    source = failing()
    collector.requests(source, [], 10)
    assert collector.off_path == ("q", 1)
    with pytest.raises(LookupError, match="no more"):
        collector.requests(source, [], 10)
    assert collector.sent == 1


def test_a_pair_must_be_one(twins: Twins) -> None:
    collector = collector_of(twins, 4)
    with pytest.raises(ValueError, match="unpack"):
        collector.requests(iter([("q", 1, 2)]), [], 10)
    assert collector.sent == 0


@pytest.mark.parametrize("concurrency", [0, -1])
def test_a_concurrency_that_is_none(twins: Twins, concurrency: int) -> None:
    with pytest.raises(ValueError, match=f"at least 1, but is {concurrency}"):
        collector_of(twins, concurrency)


def test_a_concurrency_is_a_whole_number(twins: Twins) -> None:
    with pytest.raises(TypeError, match="'float' object cannot be interpreted as an integer"):
        collector_of(twins, 2.5)  # type: ignore[arg-type]


def test_a_concurrency_without_end(twins: Twins) -> None:
    collector = collector_of(twins, 10**30)
    assert len(take_positions(collector, statements(1000), limit=10**30)) == 1000


@pytest.mark.parametrize("position", [-1, 1, 100])
def test_a_place_that_was_not_taken(twins: Twins, position: int) -> None:
    collector = collector_of(twins, 4)
    take_positions(collector, statements(1))
    with pytest.raises(ValueError, match=f"no statement at {position}: 1 were taken"):
        collector.put(position, True, None)
    assert collector.under_way == 1


@pytest.mark.parametrize("in_order", [True, False])
def test_outcomes_from_many_threads(twins: Twins, in_order: bool) -> None:
    """A waiting reader is always notified, and no outcome is lost."""
    count, concurrency = 5000, 20
    collector = collector_of(twins, concurrency, in_order)
    notified = threading.Event()
    collector.notify_reader = notified.set
    source = statements(count)
    work: list[int] = []
    more = threading.Condition()
    chance = random.Random(7)

    def complete() -> None:
        while True:
            with more:
                while not work:
                    more.wait()
                position = work.pop(chance.randrange(len(work)))
            if position < 0:
                return
            collector.put(position, True, position)

    threads = [threading.Thread(target=complete) for _ in range(4)]
    for thread in threads:
        thread.start()
    read = []
    while not collector.is_over:
        positions = take_positions(collector, source) if collector.wants_more else []
        with more:
            work.extend(positions)
            more.notify_all()
        outcomes = collector.take()
        read += [outcome.value for outcome in outcomes]
        assert collector.sent - collector.delivered <= 2 * concurrency
        if not outcomes and not collector.is_over:
            notified.clear()
            collector.is_awaited = True
            if not collector.is_ready:
                assert notified.wait(20)
    with more:
        work.extend([-1] * len(threads))
        more.notify_all()
    for thread in threads:
        thread.join(20)
    assert (read if in_order else sorted(read)) == list(range(count))
    assert collector.under_way == 0


def test_a_patient_reader_is_told_of_many_at_a_time(twins: Twins) -> None:
    collector = collector_of(twins, 4)
    collector.batches_wakeups = True
    calls: list[int] = []
    collector.notify_reader = lambda: calls.append(collector.under_way)
    source = statements(9)
    take_positions(collector, source)
    assert not collector.is_ready
    collector.is_awaited = True
    collector.put(0, True, 0)
    assert (calls, collector.is_ready) == ([], False)
    collector.put(1, True, 1)  # half of them have capacity now
    assert (calls, collector.is_ready) == ([2], True)
    assert [outcome.value for outcome in collector.take()] == [0, 1]
    take_positions(collector, source)
    collector.put(3, True, 3)
    assert not collector.is_ready
    for position in (4, 5):
        collector.put(position, True, position)
    take_positions(collector, source)
    for position in (6, 7, 8):
        collector.put(position, True, position)
    take_positions(collector, source)
    assert collector.is_exhausted
    # The reader waits for the last outcome: it is notified when all are over.
    collector.is_awaited = True
    assert not collector.is_ready
    collector.put(2, True, 2)
    assert calls == [2, 0]
    assert [outcome.value for outcome in collector.take()] == [2, 3, 4, 5, 6, 7, 8]
    assert collector.is_over


def test_a_patient_reader_is_told_of_an_error_at_once(twins: Twins) -> None:
    collector = collector_of(twins, 100)
    collector.batches_wakeups = True
    calls: list[bool] = []
    collector.notify_reader = lambda: calls.append(True)
    take_positions(collector, statements(100))
    collector.is_awaited = True
    collector.put(0, False, "wrong")
    assert calls == [True]
    assert [outcome.value for outcome in collector.take()] == ["wrong"]


def test_a_patient_reader_goes_on_if_outcomes_fill_all_places(twins: Twins) -> None:
    collector = collector_of(twins, 2)
    collector.batches_wakeups = True
    source = statements(20)
    take_positions(collector, source)
    collector.put(1, True, 1)
    assert collector.is_ready  # half of them have capacity
    take_positions(collector, source)
    collector.put(2, True, 2)
    take_positions(collector, source)
    collector.put(3, True, 3)
    assert collector.sent == 4
    assert not collector.wants_more
    collector.put(0, True, 0)
    assert collector.is_ready
    assert [outcome.value for outcome in collector.take()] == [0, 1, 2, 3]
