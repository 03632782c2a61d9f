"""Test `PageQueue`, which decides in which order a scan requests pages.

A checkpoint records which pages were used.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from cassandra.bulk.checkpoint import Checkpoint
from cassandra.bulk.page_queue import PageQueue
from cassandra.bulk.ranges import TokenRange

RANGES = [TokenRange(number, number + 1) for number in range(4)]


def test_a_started_range_continues_before_others_begin() -> None:
    """The next page of a started range is requested before the first page of another range.

    Two pages may be requested at once.
    """
    queue = PageQueue(RANGES, concurrency=2, max_bytes=1000, in_order=False)
    first, second = queue.to_send()
    assert first.number == 0
    assert second.number == 1
    assert list(queue.to_send()) == []
    assert queue.oldest() is first
    queue.arrived(first, state=b"next", size=10)
    (next_page,) = queue.to_send()
    assert next_page.number == 0
    assert next_page.state == b"next"
    assert queue.oldest() is second


def test_a_range_is_pinned_to_the_host_of_a_page(tmp_path: Path) -> None:
    """If a range is pinned, it has one replica, in the checkpoint too. Other ranges keep theirs."""
    queue = PageQueue(RANGES, concurrency=2, max_bytes=1000, in_order=False)
    first, second = queue.to_send()
    queue.pin(second, "10.0.0.1:9042")
    assert queue.ranges == [RANGES[0], TokenRange(1, 2, ("10.0.0.1:9042",)), *RANGES[2:]]
    queue.used(first, b"state")
    path = tmp_path / "point"
    queue.save(Checkpoint(path, {}))
    other = PageQueue(RANGES, concurrency=2, max_bytes=1000, in_order=False)
    other.resume(Checkpoint(path, {}))
    assert other.ranges == queue.ranges


def test_in_order_the_first_range_is_read_to_its_end() -> None:
    """With `in_order`, `oldest` returns a page of the first range, even one requested last."""
    queue = PageQueue(RANGES, concurrency=2, max_bytes=1000, in_order=True)
    first, _ = queue.to_send()
    queue.arrived(first, state=b"next", size=10)
    (next_page,) = queue.to_send()
    assert queue.oldest() is next_page


def test_in_order_the_next_page_is_requested_even_above_the_limits() -> None:
    """With `in_order`, the next page of the first range is requested even if the buffer is full.

    This page is needed before the pages of the second range, so the buffer would never empty.
    """
    queue = PageQueue(RANGES, concurrency=2, max_bytes=100, in_order=True)
    first, second = queue.to_send()
    queue.arrived(first, state=b"1", size=90)
    (next_page,) = queue.to_send()
    assert next_page.number == 0
    assert next_page.state == b"1"
    assert queue.oldest() is next_page
    queue.arrived(next_page, state=b"2", size=90)
    (last_page,) = queue.to_send()
    # The state None means that the range has no further page.
    queue.arrived(last_page, state=None, size=90)
    assert list(queue.to_send()) == []
    assert queue.oldest() is second


def test_in_order_pages_are_returned_in_the_order_of_their_ranges() -> None:
    """With `in_order`, all pages of a range precede the pages of the next range, for any limits."""
    generator = random.Random(3)
    for _ in range(300):
        range_count = generator.randrange(1, 9)
        # the number of pages that each range has after its first page
        pages_left = [generator.randrange(5) for _ in range(range_count)]
        queue = PageQueue(
            [TokenRange(number, number + 1) for number in range(range_count)],
            concurrency=generator.randrange(1, 5),
            max_bytes=generator.choice((1, 100, 1000)),
            in_order=True,
        )
        range_numbers = []
        page_count = sum(pages_left) + range_count
        for _ in range(page_count):
            # `to_send` is a generator, so it must run to request the pages.
            list(queue.to_send())
            fetch = queue.oldest()
            assert fetch is not None
            pages_left[fetch.number] -= 1
            is_last = pages_left[fetch.number] < 0
            state = None if is_last else b"x"
            queue.arrived(fetch, state, size=generator.choice((1, 50, 500)))
            range_numbers.append(fetch.number)
        assert queue.oldest() is None
        assert range_numbers == sorted(range_numbers)
        assert set(range_numbers) == set(range(range_count))


def test_a_large_page_reduces_the_number_of_requests_at_once() -> None:
    """After large pages, fewer pages are requested at once, to keep within the limit of bytes."""
    ranges = [TokenRange(number, number + 1) for number in range(200)]
    queue = PageQueue(ranges, concurrency=8, max_bytes=1000, in_order=False)
    for _ in range(100):
        list(queue.to_send())
        fetch = queue.oldest()
        assert fetch is not None
        queue.arrived(fetch, state=None, size=10)
    # Eight requests were allowed at once, and one of them has just been completed.
    assert len(queue.rest()) == 7
    # Two pages of 600 bytes would exceed the limit of 1000 bytes. So no page is requested while
    # another page is in flight.
    while len(queue.rest()) > 1:
        fetch = queue.oldest()
        assert fetch is not None
        queue.arrived(fetch, state=None, size=600)
        assert list(queue.to_send()) == []


def test_the_byte_limit_always_allows_one_page() -> None:
    """A page larger than the limit of bytes is requested if no other page is in flight."""
    queue = PageQueue(RANGES, concurrency=2, max_bytes=100, in_order=False)
    first, second = queue.to_send()
    queue.arrived(first, state=None, size=90)
    # Another page of about 90 bytes would exceed the limit of 100 bytes, so nothing is requested.
    assert list(queue.to_send()) == []
    queue.arrived(second, state=None, size=500)
    (third,) = queue.to_send()
    queue.arrived(third, state=None, size=500)
    (fourth,) = queue.to_send()
    queue.arrived(fourth, state=None, size=1)
    assert queue.oldest() is None


def test_a_checkpoint_records_the_pages_that_were_used(tmp_path: Path) -> None:
    """A resumed scan requests only pages that were not used before the checkpoint.

    The resumed scan uses the token ranges that the checkpoint has recorded.
    """
    path = tmp_path / "at.json"

    def checkpoint_of(table: str) -> Checkpoint:
        return Checkpoint(path, {"work": "scan", "table": table})

    queue = PageQueue(RANGES, concurrency=4, max_bytes=1000, in_order=False)
    # There is no checkpoint yet, so the scan starts at the beginning.
    queue.resume(checkpoint_of("it"))
    pages = list(queue.to_send())
    # The first range is finished, and the second range has a further page.
    queue.used(pages[0], state=None)
    queue.used(pages[1], state=b"\x01\xff")
    queue.save(checkpoint_of("it"))
    # The resumed scan uses the ranges of the checkpoint, not the ranges passed to the constructor.
    resumed = PageQueue(RANGES[:1], concurrency=4, max_bytes=1000, in_order=False)
    resumed.resume(checkpoint_of("it"))
    assert resumed.ranges == RANGES
    fetches = [(fetch.number, fetch.state) for fetch in resumed.to_send()]
    assert fetches == [(1, b"\x01\xff"), (2, None), (3, None)]
    with pytest.raises(ValueError, match="its table is 'it', and not 'that'"):
        resumed.resume(checkpoint_of("that"))
    # Replace each part of the state with a value of a wrong type.
    damaged = checkpoint_of("it")
    for name, value in (("finished", 5), ("places", {"x": "01"}), ("ranges", [[1]])):
        damaged.state = {**checkpoint_of("it").state, name: value}
        with pytest.raises(ValueError, match="the checkpoint of the scan is damaged"):
            resumed.resume(damaged)
    # If an appended change has a wrong type, the checkpoint is refused, too.
    for entry in ([9, None], [-1, None], [1, 5], ["1", None], [[1], None], 5):
        damaged = checkpoint_of("it")
        damaged.entries = [entry]
        with pytest.raises(ValueError, match="the checkpoint of the scan is damaged"):
            resumed.resume(damaged)


def use_pages(queue: PageQueue, checkpoint: Checkpoint, page_count: int) -> list[Any]:
    """Use all ranges of the queue, each with about this number of pages.

    :returns: the state after each page.
    """
    states: list[Any] = []
    generator = random.Random(page_count)
    while True:
        list(queue.to_send())
        fetch = queue.oldest()
        if fetch is None:
            return states
        is_last = generator.randrange(page_count) == 0
        state = None if is_last else generator.randbytes(20)
        queue.arrived(fetch, state, size=10)
        queue.used(fetch, state)
        queue.save_used(checkpoint, fetch, state)
        states.append((queue.finished.copy(), queue.paging_states.copy()))


def test_the_cost_of_a_checkpoint_does_not_grow_with_the_ranges(tmp_path: Path) -> None:
    """After each page, only its change is written, and all ranges are written rarely.

    Otherwise, a scan of thousands of ranges would take longer for its checkpoint than for its rows.
    """
    written: dict[int, float] = {}
    for count in (200, 1600):
        path = tmp_path / f"{count}"
        ranges = [TokenRange(number, number + 1, ("127.0.0.1:9042",)) for number in range(count)]
        queue = PageQueue(ranges, concurrency=8, max_bytes=1000, in_order=False)
        checkpoint = Checkpoint(path, {})
        total = size_before = 0
        save = checkpoint.save

        def counted_save(save: Any = save, path: Path = path, **state: Any) -> None:
            nonlocal total
            save(**state)
            total += path.stat().st_size

        checkpoint.save = counted_save  # type: ignore[method-assign]
        page_count = len(use_pages(queue, checkpoint, page_count=3))
        size_before = path.stat().st_size
        written[count] = (total + size_before) / page_count
    assert written[1600] < 1.5 * written[200]


def test_a_scan_that_was_killed_resumes_after_any_byte_of_its_checkpoint(tmp_path: Path) -> None:
    """Wherever the file is cut off, a scan resumes at the state after one of the pages.

    No page is skipped, whatever a killed process or a power cut has left of the last lines.
    """
    path = tmp_path / "point"
    queue = PageQueue(RANGES, concurrency=2, max_bytes=1000, in_order=False)
    states = use_pages(queue, Checkpoint(path, {}), page_count=5)
    content = path.read_bytes()
    lines = content.splitlines(keepends=True)
    assert len(lines) == len(states) > 8
    for end in range(len(lines[0]), len(content) + 1):
        for rest in (b"", b"\0" * 50 + b"\n[0, null]\n"):
            path.write_bytes(content[:end] + rest)
            resumed = PageQueue(RANGES, concurrency=2, max_bytes=1000, in_order=False)
            resumed.resume(Checkpoint(path, {}))
            state = (resumed.finished, resumed.paging_states)
            assert state == states[content[:end].count(b"\n") - 1]
    # A resumed scan writes its ranges again, so the damaged line is gone.
    path.write_bytes(content[: len(content) // 2])
    resumed = PageQueue(RANGES, concurrency=2, max_bytes=1000, in_order=False)
    checkpoint = Checkpoint(path, {})
    resumed.resume(checkpoint)
    (*_, last) = use_pages(resumed, checkpoint, page_count=2)
    again = PageQueue(RANGES, concurrency=2, max_bytes=1000, in_order=False)
    again.resume(Checkpoint(path, {}))
    assert (again.finished, again.paging_states) == last == ({0, 1, 2, 3}, {})


def test_a_range_that_is_pinned_later_is_saved(tmp_path: Path) -> None:
    """The only replica of a range is in the checkpoint, even if the range begins later."""
    path = tmp_path / "point"
    queue = PageQueue(RANGES, concurrency=2, max_bytes=1000, in_order=False)
    checkpoint = Checkpoint(path, {})
    first, second = queue.to_send()
    queue.used(first, b"1")
    queue.save_used(checkpoint, first, b"1")
    queue.pin(second, "10.0.0.1:9042")
    queue.used(second, b"2")
    queue.save_used(checkpoint, second, b"2")
    other = PageQueue(RANGES, concurrency=2, max_bytes=1000, in_order=False)
    other.resume(Checkpoint(path, {}))
    assert other.ranges == queue.ranges
    assert other.paging_states == {0: b"1", 1: b"2"}
