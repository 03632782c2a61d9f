"""The order in which a scan asks for pages, and its checkpoint."""

from __future__ import annotations

from pathlib import Path

import pytest

from cassandra.bulk.ranges import TokenRange
from cassandra.bulk.scan_plan import PageQueue

RANGES = [TokenRange(number, number + 1) for number in range(4)]


def test_a_range_that_is_begun_goes_on_before_others_begin() -> None:
    queue = PageQueue(RANGES, 2, 1000, False)
    first, second = queue.to_send()
    assert (first.number, second.number) == (0, 1)
    assert list(queue.to_send()) == []
    assert queue.oldest() is first
    queue.arrived(first, b"next", 10)
    (again,) = queue.to_send()
    assert (again.number, again.state) == (0, b"next")
    assert queue.oldest() is second


def test_in_order_the_first_range_is_taken_to_its_end() -> None:
    queue = PageQueue(RANGES, 2, 1000, True)
    first, _ = queue.to_send()
    queue.arrived(first, b"next", 10)
    (again,) = queue.to_send()
    assert queue.oldest() is again


def test_bytes_bound_what_is_in_flight_but_one_page_always_is() -> None:
    queue = PageQueue(RANGES, 2, 100, False)
    first, second = queue.to_send()
    queue.arrived(first, None, 90)
    assert list(queue.to_send()) == []
    queue.arrived(second, None, 500)
    (third,) = queue.to_send()
    queue.arrived(third, None, 500)
    (fourth,) = queue.to_send()
    queue.arrived(fourth, None, 1)
    assert queue.oldest() is None


def test_a_checkpoint_has_what_was_used(tmp_path: Path) -> None:
    path = tmp_path / "at.json"
    queue = PageQueue(RANGES, 4, 1000, False)
    queue.resume(path, "it")  # there is none: from the beginning
    pages = list(queue.to_send())
    queue.used(pages[0], None)
    queue.used(pages[1], b"\x01\xff")
    queue.save(path, "it")
    resumed = PageQueue(RANGES[:1], 4, 1000, False)
    resumed.resume(path, "it")
    assert resumed.ranges == RANGES
    found = [(fetch.number, fetch.state) for fetch in resumed.to_send()]
    assert found == [(1, b"\x01\xff"), (2, None), (3, None)]
    with pytest.raises(ValueError, match="of another scan: it"):
        resumed.resume(path, "that")
    path.write_text("{")
    with pytest.raises(ValueError, match=r"at.json' cannot be used"):
        resumed.resume(path, "it")
