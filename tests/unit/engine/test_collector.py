"""Tests of `Collector`, which limits how many statements are executed at once.

Each test runs with the pure Python and the compiled version, and needs no session.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from tests.conftest import Implementation
from tests.waiting import WAIT


class Outcome(NamedTuple):
    """What `Collector.take` returns for each statement if outcomes are returned in order."""

    success: bool
    value: Any


class OutcomeWithPosition(NamedTuple):
    """What `Collector.take` returns for each statement if outcomes are returned as they come."""

    success: bool
    value: Any
    position: int


def new_collector(implementation: Implementation, concurrency: int, in_order: bool = True) -> Any:
    """Return a collector without a session, whose outcomes the test provides.

    The collector executes nothing.

    :param concurrency: how many statements may be in flight.
    :param in_order: True if `take` returns outcomes in the order of the statements, False if it
        returns them as they come.
    """
    return implementation.happy_path.Collector(
        concurrency, Outcome if in_order else OutcomeWithPosition, None, in_order
    )


def take_positions(collector: Any, statements: Iterator[Any], limit: int = 1000) -> list[int]:
    """Let the collector take statements until it needs no more, and return their positions.

    :param limit: how many statements one call of the collector may take.
    """
    positions: list[int] = []
    while True:
        happy_path_requests: list[Any] = []
        collector.requests(statements, happy_path_requests, limit)
        # Without a session, no statement can take the happy path, the short code for simple
        # prepared statements. The collector leaves each statement in `off_path`, so that the caller
        # executes it.
        assert happy_path_requests == []
        if collector.off_path is None:
            return positions
        positions.append(collector.sent - 1)


def statements(count: int) -> Iterator[tuple[str, int]]:
    """Yield `count` statements as pairs of a query and its values."""
    return (("q", number) for number in range(count))


def test_outcomes_are_returned_in_order(implementation: Implementation) -> None:
    """With `in_order`, `take` returns the outcomes in the order of the statements.

    An outcome waits until the outcomes of all earlier statements were returned.
    """
    collector = new_collector(implementation, concurrency=4)
    source = statements(6)
    assert take_positions(collector, source) == [0, 1, 2, 3]
    assert collector.under_way == 4
    assert collector.take() == []
    # Outcomes are returned in order, so `take` returns nothing until position 0 has an outcome.
    for position in (2, 1, 3):
        collector.put(position, success=True, value=position)
        assert collector.take() == []
    collector.put(position=0, success=True, value=0)
    outcomes = collector.take()
    assert outcomes == [(True, 0), (True, 1), (True, 2), (True, 3)]
    assert {type(outcome) for outcome in outcomes} == {Outcome}
    assert take_positions(collector, source) == [4, 5]
    assert collector.is_exhausted
    assert not collector.is_over
    collector.put(position=5, success=True, value=5)
    collector.put(position=4, success=True, value=4)
    assert [outcome.value for outcome in collector.take()] == [4, 5]
    assert collector.is_over
    assert collector.take() == []


def test_without_order_outcomes_are_returned_as_they_come(implementation: Implementation) -> None:
    """Without `in_order`, outcomes are returned as they come, with their statements' positions."""
    collector = new_collector(implementation, 4, in_order=False)
    take_positions(collector, statements(3))
    collector.put(position=2, success=True, value="c")
    collector.put(position=0, success=False, value="a")
    outcomes = collector.take()
    assert outcomes == [(True, "c", 2), (False, "a", 0)]
    assert {type(outcome) for outcome in outcomes} == {OutcomeWithPosition}
    assert not collector.is_over
    collector.put(position=1, success=True, value="b")
    assert collector.take() == [(True, "b", 1)]
    assert collector.is_over


@pytest.mark.parametrize("in_order", [True, False])
def test_no_statements_are_taken_while_many_outcomes_are_unread(
    implementation: Implementation, in_order: bool
) -> None:
    """While many outcomes are unread, no further statements are taken.

    At most ``2 * concurrency`` outcomes are stored, so that a slow reader does not fill the memory.
    """
    collector = new_collector(implementation, 4, in_order)
    source = statements(100)
    first_positions = take_positions(collector, source)
    for position in first_positions:
        collector.put(position, success=True, value=position)
    # Nobody has read the four outcomes, so at most four more statements are taken.
    assert take_positions(collector, source) == [4, 5, 6, 7]
    for position in (4, 5, 6, 7):
        collector.put(position, success=True, value=position)
    # Eight outcomes are unread now. This is the limit: twice the concurrency.
    assert take_positions(collector, source) == []
    assert not collector.wants_more
    assert len(collector.take()) == 8
    assert collector.wants_more
    assert take_positions(collector, source, limit=2) == [8, 9, 10, 11]


def test_a_late_outcome_blocks_its_position_in_the_ring(implementation: Implementation) -> None:
    """A position of the collector's ring is reused only after its outcome was returned.

    The ring is the buffer for outcomes. It has ``2 * concurrency`` positions, here six.
    """
    collector = new_collector(implementation, 3)
    source = statements(50)
    pending = take_positions(collector, source)
    values = []
    while not collector.is_over:
        # Delay the oldest outcome while the other positions of the ring fill up.
        oldest, *others = pending
        for position in reversed(others):
            collector.put(position, success=True, value=position)
        new_positions = take_positions(collector, source)
        # If no statement was taken, the ring is full, so now provide the oldest outcome.
        if not new_positions:
            collector.put(oldest, success=True, value=oldest)
            pending = take_positions(collector, source)
        else:
            pending = [oldest, *new_positions]
        values += [outcome.value for outcome in collector.take()]
        pending += take_positions(collector, source)
    assert values == list(range(50))


def test_a_collector_wants_more_when_half_are_over(implementation: Implementation) -> None:
    """The collector takes more statements when half of the statements in flight have ended."""
    collector = new_collector(implementation, concurrency=10)
    source = statements(100)
    assert collector.wants_more
    take_positions(collector, source)
    # Four ended statements of ten are too few. The fifth ended statement is half of them.
    for position in range(9, 5, -1):
        collector.put(position, success=True, value=position)
        assert not collector.wants_more
    collector.put(position=5, success=True, value=5)
    assert collector.wants_more
    assert collector.is_ready
    assert take_positions(collector, source) == [10, 11, 12, 13, 14]


def test_an_exhausted_collector_wants_no_more(implementation: Implementation) -> None:
    """When the iterator of statements has ended, the collector takes no more statements.

    It only waits for the outcomes of the statements in flight.
    """
    collector = new_collector(implementation, concurrency=10)
    take_positions(collector, statements(2))
    assert collector.is_exhausted
    assert not collector.wants_more
    assert not collector.is_ready
    collector.put(position=0, success=True, value=0)
    assert collector.is_ready


def test_a_paused_collector_wants_no_more(implementation: Implementation) -> None:
    """While `is_paused` is True, no statements are taken, but outcomes are still returned."""
    collector = new_collector(implementation, 2)
    source = statements(4)
    take_positions(collector, source)
    collector.put(position=1, success=True, value=1)
    assert collector.wants_more
    collector.is_paused = True
    assert not collector.wants_more
    # The pure Python version sorts new outcomes only when a method is called, so its `is_ready` may
    # still be True.
    assert not collector.is_ready or implementation.name == "python"
    # Position 0 has no outcome yet, so `take` returns nothing.
    assert collector.take() == []
    assert not collector.is_ready
    collector.is_paused = False
    assert take_positions(collector, source) == [2]


def test_a_waiting_reader_is_notified_once(implementation: Implementation) -> None:
    """A reader that has set `is_awaited` is notified of the next outcome only.

    The notification resets `is_awaited`.
    """
    calls: list[str] = []
    collector = new_collector(implementation, concurrency=4)
    collector.notify_reader = lambda: calls.append("notified")
    take_positions(collector, statements(2))
    collector.put(position=0, success=True, value=0)
    # The reader does not wait yet, so it is not notified.
    assert calls == []
    collector.take()
    collector.is_awaited = True
    collector.put(position=1, success=True, value=1)
    assert calls == ["notified"]
    assert not collector.is_awaited


def test_without_a_notify_function_a_waiting_reader_is_not_notified(
    implementation: Implementation,
) -> None:
    """If `notify_reader` is not set, an outcome only resets `is_awaited`."""
    collector = new_collector(implementation, concurrency=4)
    take_positions(collector, statements(1))
    collector.is_awaited = True
    collector.put(position=0, success=True, value=0)
    assert not collector.is_awaited


def test_has_failed_is_set_before_the_outcome_is_read(implementation: Implementation) -> None:
    """`has_failed` is True as soon as any outcome is an error, even if it was not read yet.

    A caller can thus stop sending early.
    """
    collector = new_collector(implementation, concurrency=4)
    take_positions(collector, statements(2))
    collector.put(position=0, success=True, value=0)
    assert not collector.has_failed
    collector.put(position=1, success=False, value=ValueError("no"))
    assert collector.has_failed
    assert [outcome.success for outcome in collector.take()] == [True, False]


def test_errors_of_the_statements_iterable_are_raised(implementation: Implementation) -> None:
    """If the application's iterable raises an error, the caller gets this error.

    The statements before the error are still executed.
    """

    def failing_statements() -> Iterator[Any]:
        yield "q", 1
        raise LookupError("no more")

    collector = new_collector(implementation, concurrency=4)
    source = failing_statements()
    collector.requests(source, [], limit=10)
    assert collector.off_path == ("q", 1)
    with pytest.raises(LookupError, match="no more"):
        collector.requests(source, [], limit=10)
    # Only the statement before the error counts as taken.
    assert collector.sent == 1


def test_a_statement_must_be_a_pair(implementation: Implementation) -> None:
    """A statement that is not a pair of a query and its values raises ValueError."""
    collector = new_collector(implementation, concurrency=4)
    with pytest.raises(ValueError, match="unpack"):
        collector.requests(iter([("q", 1, 2)]), [], limit=10)
    assert collector.sent == 0


@pytest.mark.parametrize("concurrency", [0, -1])
def test_a_concurrency_below_one_is_refused(
    implementation: Implementation, concurrency: int
) -> None:
    """A collector that may have no statement in flight could never end, so it is refused."""
    with pytest.raises(ValueError, match=f"at least 1, but is {concurrency}"):
        new_collector(implementation, concurrency)


def test_a_concurrency_must_be_an_integer(implementation: Implementation) -> None:
    """A float is refused with the message that Python's own functions have."""
    with pytest.raises(TypeError, match="'float' object cannot be interpreted as an integer"):
        new_collector(implementation, 2.5)  # type: ignore[arg-type]


def test_a_huge_concurrency_is_accepted(implementation: Implementation) -> None:
    """A concurrency that does not fit into a C integer only means that there is no limit."""
    collector = new_collector(implementation, 10**30)
    assert len(take_positions(collector, statements(1000), limit=10**30)) == 1000


@pytest.mark.parametrize("position", [-1, 1, 100])
def test_an_outcome_for_an_unknown_position_is_refused(
    implementation: Implementation, position: int
) -> None:
    """`put` raises ValueError for a position of no statement.

    The collector stays as it was.
    """
    collector = new_collector(implementation, concurrency=4)
    take_positions(collector, statements(1))
    with pytest.raises(ValueError, match=f"no statement at {position}: 1 were taken"):
        collector.put(position, success=True, value=None)
    assert collector.under_way == 1


END_OF_THREAD = -1  # not the position of a statement; ends a thread


@pytest.mark.parametrize("in_order", [True, False])
def test_outcomes_from_many_threads(implementation: Implementation, in_order: bool) -> None:
    """If many threads provide outcomes, no outcome is lost.

    A waiting reader is always notified.
    """
    statement_count, concurrency = 5000, 20
    collector = new_collector(implementation, concurrency, in_order)
    is_notified = threading.Event()
    collector.notify_reader = is_notified.set
    source = statements(statement_count)
    pending: list[int] = []
    has_pending = threading.Condition()
    shuffler = random.Random(7)

    def complete_in_random_order() -> None:
        """Provide outcomes for random pending positions, until END_OF_THREAD is drawn."""
        while True:
            with has_pending:
                while not pending:
                    has_pending.wait()
                position = pending.pop(shuffler.randrange(len(pending)))
            if position == END_OF_THREAD:
                return
            collector.put(position, success=True, value=position)

    threads = [threading.Thread(target=complete_in_random_order) for _ in range(4)]
    for thread in threads:
        thread.start()
    values = []
    while not collector.is_over:
        positions = take_positions(collector, source) if collector.wants_more else []
        with has_pending:
            pending.extend(positions)
            has_pending.notify_all()
        outcomes = collector.take()
        values += [outcome.value for outcome in outcomes]
        # The ring has twice as many positions as statements that may be in flight.
        assert collector.sent - collector.delivered <= 2 * concurrency
        if not outcomes and not collector.is_over:
            # Check again after setting `is_awaited`, because an outcome that came before this
            # notifies nobody.
            is_notified.clear()
            collector.is_awaited = True
            if not collector.is_ready:
                assert is_notified.wait(WAIT)
    with has_pending:
        pending.extend([END_OF_THREAD] * len(threads))
        has_pending.notify_all()
    for thread in threads:
        thread.join(WAIT)
    assert (values if in_order else sorted(values)) == list(range(statement_count))
    assert collector.under_way == 0


def test_with_batched_wakeups_the_reader_is_notified_of_many_outcomes(
    implementation: Implementation,
) -> None:
    """With `batches_wakeups`, the reader is notified after half of the statements in flight.

    When the iterator of statements has ended, the reader is notified when all of them have ended.
    """
    collector = new_collector(implementation, concurrency=4)
    collector.batches_wakeups = True
    under_way_at_calls: list[int] = []
    collector.notify_reader = lambda: under_way_at_calls.append(collector.under_way)
    source = statements(9)
    take_positions(collector, source)
    assert not collector.is_ready
    collector.is_awaited = True
    # One of four outcomes does not notify the reader, but the second outcome does.
    collector.put(position=0, success=True, value=0)
    assert under_way_at_calls == []
    assert not collector.is_ready
    collector.put(position=1, success=True, value=1)
    assert under_way_at_calls == [2]
    assert collector.is_ready
    assert [outcome.value for outcome in collector.take()] == [0, 1]
    take_positions(collector, source)
    # Statements 2 to 5 are in flight. One of these four has ended, which is less than half.
    collector.put(position=3, success=True, value=3)
    assert not collector.is_ready
    # Now only statement 2 is in flight, so the collector takes the last three statements.
    for position in (4, 5):
        collector.put(position, success=True, value=position)
    take_positions(collector, source)
    for position in (6, 7, 8):
        collector.put(position, success=True, value=position)
    take_positions(collector, source)
    assert collector.is_exhausted
    # No further statements follow, so the reader is notified only when the last outcome comes.
    collector.is_awaited = True
    assert not collector.is_ready
    collector.put(position=2, success=True, value=2)
    assert under_way_at_calls == [2, 0]
    assert [outcome.value for outcome in collector.take()] == [2, 3, 4, 5, 6, 7, 8]
    assert collector.is_over


def test_with_batched_wakeups_the_reader_is_notified_of_an_error_at_once(
    implementation: Implementation,
) -> None:
    """With `batches_wakeups`, the reader is notified of an error at once.

    For other outcomes, it would be notified only when half of the statements have ended.
    """
    collector = new_collector(implementation, concurrency=100)
    collector.batches_wakeups = True
    notifications: list[bool] = []
    collector.notify_reader = lambda: notifications.append(True)
    take_positions(collector, statements(100))
    collector.is_awaited = True
    collector.put(position=0, success=False, value="wrong")
    assert notifications == [True]
    assert [outcome.value for outcome in collector.take()] == ["wrong"]


def test_with_batched_wakeups_the_reader_goes_on_when_all_positions_are_full(
    implementation: Implementation,
) -> None:
    """With `batches_wakeups`, the reader is also notified when no further statement may be sent.

    Normally, the reader is notified when half of the statements in flight have ended. The collector
    stores at most ``2 * concurrency`` outcomes that were not delivered, and here they all wait for
    the first outcome.
    """
    collector = new_collector(implementation, concurrency=2)
    collector.batches_wakeups = True
    source = statements(20)
    assert take_positions(collector, source) == [0, 1]
    collector.put(position=1, success=True, value=1)
    assert collector.is_ready  # One of two statements has ended.
    assert take_positions(collector, source) == [2]
    collector.put(position=2, success=True, value=2)
    assert take_positions(collector, source) == [3]
    collector.put(position=3, success=True, value=3)
    # Position 0 has no outcome yet, so the outcomes of positions 1 to 3 cannot be delivered, and
    # the ring has no space for a fifth statement.
    assert not collector.wants_more
    collector.put(position=0, success=True, value=0)
    assert collector.is_ready
    assert [outcome.value for outcome in collector.take()] == [0, 1, 2, 3]
