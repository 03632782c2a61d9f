"""The `Collector` of many executions, without a session: on both implementations."""

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


def take(collector: Any, statements: Iterator[Any], most: int = 1000) -> list[int]:
    """Take statements as a reader does; return their places."""
    places: list[int] = []
    while True:
        burst: list[Any] = []
        collector.requests(statements, burst, most)
        assert burst == []  # without a session none is on the happy path
        if collector.unusual is None:
            return places
        places.append(collector.sent - 1)


def statements(count: int) -> Iterator[tuple[str, int]]:
    return (("q", number) for number in range(count))


def test_outcomes_are_given_in_order(twins: Twins) -> None:
    collector = collector_of(twins, 4)
    given = statements(6)
    assert take(collector, given) == [0, 1, 2, 3]
    assert collector.under_way == 4
    assert collector.take() == []
    for place in (2, 1, 3):
        collector.put(place, True, place)
        assert collector.take() == []
    collector.put(0, True, 0)
    found = collector.take()
    assert found == [(True, 0), (True, 1), (True, 2), (True, 3)]
    assert {type(outcome) for outcome in found} == {Outcome}
    assert take(collector, given) == [4, 5]
    assert collector.is_exhausted
    assert not collector.is_over
    collector.put(5, True, 5)
    collector.put(4, True, 4)
    assert [outcome.value for outcome in collector.take()] == [4, 5]
    assert collector.is_over
    assert collector.take() == []


def test_outcomes_are_given_as_they_come(twins: Twins) -> None:
    collector = collector_of(twins, 4, in_order=False)
    take(collector, statements(3))
    collector.put(2, True, "c")
    collector.put(0, False, "a")
    found = collector.take()
    assert found == [(True, "c", 2), (False, "a", 0)]
    assert {type(outcome) for outcome in found} == {Placed}
    assert not collector.is_over
    collector.put(1, True, "b")
    assert collector.take() == [(True, "b", 1)]
    assert collector.is_over


@pytest.mark.parametrize("in_order", [True, False])
def test_unread_outcomes_bound_what_is_taken(twins: Twins, in_order: bool) -> None:
    collector = collector_of(twins, 4, in_order)
    given = statements(100)
    first = take(collector, given)
    for place in first:
        collector.put(place, True, place)
    assert take(collector, given) == [4, 5, 6, 7]
    for place in (4, 5, 6, 7):
        collector.put(place, True, place)
    assert take(collector, given) == []
    assert not collector.wants_more
    assert len(collector.take()) == 8
    assert collector.wants_more
    assert take(collector, given, most=2) == [8, 9, 10, 11]


def test_a_late_outcome_holds_back_the_ring(twins: Twins) -> None:
    """The place of a statement is not used again before its outcome was given."""
    collector = collector_of(twins, 3)
    given = statements(50)
    waiting = take(collector, given)
    read = []
    while not collector.is_over:
        # The oldest last, so that each place of the ring is full once.
        late, *others = waiting
        for place in reversed(others):
            collector.put(place, True, place)
        more = take(collector, given)
        if not more:
            collector.put(late, True, late)
            waiting = take(collector, given)
        else:
            waiting = [late, *more]
        read += [outcome.value for outcome in collector.take()]
        waiting += take(collector, given)
    assert read == list(range(50))


def test_it_wants_more_when_half_is_over(twins: Twins) -> None:
    collector = collector_of(twins, 10)
    given = statements(100)
    assert collector.wants_more
    take(collector, given)
    for place in range(9, 5, -1):
        collector.put(place, True, place)
        assert not collector.wants_more
    collector.put(5, True, 5)
    assert collector.wants_more
    assert collector.is_ready
    assert take(collector, given) == [10, 11, 12, 13, 14]


def test_nothing_more_is_wanted_of_an_exhausted_one(twins: Twins) -> None:
    collector = collector_of(twins, 10)
    take(collector, statements(2))
    assert collector.is_exhausted
    assert not collector.wants_more
    assert not collector.is_ready
    collector.put(0, True, 0)
    assert collector.is_ready


def test_nothing_more_is_wanted_of_a_paused_one(twins: Twins) -> None:
    collector = collector_of(twins, 2)
    given = statements(4)
    take(collector, given)
    collector.put(1, True, 1)
    assert collector.wants_more
    collector.is_paused = True
    assert not collector.wants_more
    assert not collector.is_ready or twins.impl == "python"  # which has not put it in its place
    assert collector.take() == []
    assert not collector.is_ready
    collector.is_paused = False
    assert take(collector, given) == [2]


def test_the_reader_is_told_once(twins: Twins) -> None:
    told: list[int] = []
    collector = collector_of(twins, 4)
    collector.tell = lambda: told.append(len(told))
    take(collector, statements(2))
    collector.put(0, True, 0)
    assert told == []
    collector.take()
    collector.is_awaited = True
    collector.put(1, True, 1)
    assert told == [0]
    assert not collector.is_awaited


def test_a_reader_that_waits_may_be_told_by_nobody(twins: Twins) -> None:
    collector = collector_of(twins, 4)
    take(collector, statements(1))
    collector.is_awaited = True
    collector.put(0, True, 0)
    assert not collector.is_awaited


def test_failures_are_known_before_they_are_read(twins: Twins) -> None:
    collector = collector_of(twins, 4)
    take(collector, statements(2))
    collector.put(0, True, 0)
    assert not collector.has_failed
    collector.put(1, False, ValueError("no"))
    assert collector.has_failed
    assert [outcome.success for outcome in collector.take()] == [True, False]


def test_what_the_statements_raise_is_raised(twins: Twins) -> None:
    def failing() -> Iterator[Any]:
        yield "q", 1
        raise LookupError("no more")

    collector = collector_of(twins, 4)
    given = failing()
    collector.requests(given, [], 10)
    assert collector.unusual == ("q", 1)
    with pytest.raises(LookupError, match="no more"):
        collector.requests(given, [], 10)
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
    assert len(take(collector, statements(1000), most=10**30)) == 1000


@pytest.mark.parametrize("place", [-1, 1, 100])
def test_a_place_that_was_not_taken(twins: Twins, place: int) -> None:
    collector = collector_of(twins, 4)
    take(collector, statements(1))
    with pytest.raises(ValueError, match=f"no statement at {place}: 1 were taken"):
        collector.put(place, True, None)
    assert collector.under_way == 1


@pytest.mark.parametrize("in_order", [True, False])
def test_outcomes_from_many_threads(twins: Twins, in_order: bool) -> None:
    """A reader that waits is always told, and nothing is lost."""
    count, concurrency = 5000, 20
    collector = collector_of(twins, concurrency, in_order)
    told = threading.Event()
    collector.tell = told.set
    given = statements(count)
    work: list[int] = []
    more = threading.Condition()
    chance = random.Random(7)

    def complete() -> None:
        while True:
            with more:
                while not work:
                    more.wait()
                place = work.pop(chance.randrange(len(work)))
            if place < 0:
                return
            collector.put(place, True, place)

    threads = [threading.Thread(target=complete) for _ in range(4)]
    for thread in threads:
        thread.start()
    read = []
    while not collector.is_over:
        places = take(collector, given) if collector.wants_more else []
        with more:
            work.extend(places)
            more.notify_all()
        found = collector.take()
        read += [outcome.value for outcome in found]
        assert collector.sent - collector.given <= 2 * concurrency
        if not found and not collector.is_over:
            told.clear()
            collector.is_awaited = True
            if not collector.is_ready:
                assert told.wait(20)
    with more:
        work.extend([-1] * len(threads))
        more.notify_all()
    for thread in threads:
        thread.join(20)
    assert (read if in_order else sorted(read)) == list(range(count))
    assert collector.under_way == 0


def test_a_patient_reader_is_told_of_many_at_a_time(twins: Twins) -> None:
    collector = collector_of(twins, 4)
    collector.is_patient = True
    told: list[int] = []
    collector.tell = lambda: told.append(collector.under_way)
    given = statements(9)
    take(collector, given)
    assert not collector.is_ready
    collector.is_awaited = True
    collector.put(0, True, 0)
    assert (told, collector.is_ready) == ([], False)
    collector.put(1, True, 1)  # room for half of them
    assert (told, collector.is_ready) == ([2], True)
    assert [one.value for one in collector.take()] == [0, 1]
    take(collector, given)
    collector.put(3, True, 3)
    assert not collector.is_ready
    for place in (4, 5):
        collector.put(place, True, place)
    take(collector, given)
    for place in (6, 7, 8):
        collector.put(place, True, place)
    take(collector, given)
    assert collector.is_exhausted
    # The last one: it is told when all are over.
    collector.is_awaited = True
    assert not collector.is_ready
    collector.put(2, True, 2)
    assert told == [2, 0]
    assert [one.value for one in collector.take()] == [2, 3, 4, 5, 6, 7, 8]
    assert collector.is_over


def test_a_patient_reader_is_told_of_an_error_at_once(twins: Twins) -> None:
    collector = collector_of(twins, 100)
    collector.is_patient = True
    told: list[bool] = []
    collector.tell = lambda: told.append(True)
    take(collector, statements(100))
    collector.is_awaited = True
    collector.put(0, False, "wrong")
    assert told == [True]
    assert [one.value for one in collector.take()] == ["wrong"]


def test_a_patient_reader_goes_on_if_outcomes_fill_all_places(twins: Twins) -> None:
    collector = collector_of(twins, 2)
    collector.is_patient = True
    given = statements(20)
    take(collector, given)
    collector.put(1, True, 1)
    assert collector.is_ready  # for half of them there is room
    take(collector, given)
    collector.put(2, True, 2)
    take(collector, given)
    collector.put(3, True, 3)
    assert collector.sent == 4
    assert not collector.wants_more
    collector.put(0, True, 0)
    assert collector.is_ready
    assert [one.value for one in collector.take()] == [0, 1, 2, 3]
