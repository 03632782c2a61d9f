"""Test `Pace`, which limits how many requests of a load are in flight.

A load sends its requests in slices. After each slice, it calls `note` with the number of requests
in the slice and the seconds that these requests took together.
"""

from __future__ import annotations

from cassandra.bulk.pacing import Pace


def test_the_limit_rises_while_answers_are_quick() -> None:
    """While responses are quick, the limit rises up to the application's limit (100).

    A slice has eight times as many requests as the limit.
    """
    pace = Pace(100, first=10)
    for _ in range(20):
        pace.note(pace.slice, 0.008, is_overloaded=False)
    assert pace.limit == 100
    assert pace.slice == 800


def test_the_limit_falls_if_servers_cannot_keep_up() -> None:
    """The limit halves after an overload, falls if requests take longer, and is at least 1."""
    pace = Pace(100, first=64)
    pace.note(pace.slice, 0.1, is_overloaded=True)
    assert pace.limit == 32
    # A slice has 8 requests for each of the 32 that may be in flight at a time, so each request
    # takes 10 ms.
    pace.note(pace.slice, 0.08, is_overloaded=False)
    limit_before = pace.limit
    # Each request takes ten times as long as before.
    pace.note(pace.slice, 0.8, is_overloaded=False)
    assert pace.limit < limit_before
    for _ in range(20):
        pace.note(pace.slice, 0.1, is_overloaded=True)
    assert pace.limit == 1


def test_the_limit_rises_slowly_after_the_throttler_was_full() -> None:
    """Each time the throttler is full, the limit is halved, and then rises slowly.

    The limit of requests in flight is never less than 1.
    """
    pace = Pace(1000, first=64)
    # A load calls `give_way` if the throttler was full.
    pace.give_way()
    assert pace.limit == 32
    # After `give_way`, the limit rises by 1 after each slice, and not by a quarter.
    for number in range(1, 6):
        pace.note(pace.slice, 0.001, is_overloaded=False)
        assert pace.limit == 32 + number
    for _ in range(10):
        pace.give_way()
    assert pace.limit == 1


def test_a_few_requests_do_not_change_the_limit() -> None:
    """A slice with few requests does not change the limit: it says little about the servers."""
    pace = Pace(100, first=64)
    pace.note(3, 10.0, is_overloaded=False)
    assert pace.limit == 64
    assert Pace(5).limit == 5
