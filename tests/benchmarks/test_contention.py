"""Test what `benchmarks.contention` reads from perf, and how it simulates cores that wait."""

from __future__ import annotations

import pytest

from benchmarks.contention import Event, parse_events, shared_decrements, simulated_rate

# What `perf script` prints: thread, time, probe and arguments. Only the first two probes are ours.
PERF_SCRIPT = """\
 9150 36142.037219: turbocql:decrement: (56437c571030) object=0xa1 type="Prepared Statement"
 9151 36142.037251:      turbocql:wait: (56437c571030) object=0xb2
 9150 36142.037300: sched:sched_switch: prev_comm=python
"""


def test_events_of_other_probes_are_ignored() -> None:
    """Only lines of our own probes become events; the types of objects may contain spaces."""
    assert list(parse_events(PERF_SCRIPT)) == [
        Event("9150", 36142.037219, "decrement", "0xa1", "Prepared Statement"),
        Event("9151", 36142.037251, "wait", "0xb2", None),
    ]


def test_objects_of_two_threads_do_not_count_as_shared() -> None:
    """An object counts as shared only if at least three threads use it.

    Each request is used by two threads: the thread that makes it, and the event loop's thread.
    """
    # For each address of an object: the threads that use it, one character for each use.
    used_by = {"0xa1": "123", "0xa2": "12", "0xa3": "1233"}
    events = [
        Event(thread, 1.0, "decrement", address, "Session")
        for address, threads in used_by.items()
        for thread in threads
    ]
    assert shared_decrements(events) == {"Session": {"0xa1": 3, "0xa3": 4}}


def test_cores_that_share_nothing_do_not_wait() -> None:
    """Without shared objects, eight cores insert eight times as much as one core.

    An insert takes 4 microseconds.
    """
    assert simulated_rate(8, 4.0, []) == pytest.approx(8 / 4.0)


def test_an_object_is_used_by_one_core_at_a_time() -> None:
    """The shared object that an insert uses longest limits the rate, however many cores there are.

    An insert takes 4 microseconds on its core, and uses two shared objects for 0.5 and 0.1
    microseconds. So one core makes an insert in 4.6 microseconds. Two cores seldom wait for each
    other, so they are almost twice as fast.
    """
    assert simulated_rate(1000, 4.0, [0.5, 0.1]) == pytest.approx(1 / 0.5, rel=0.01)
    assert simulated_rate(1, 4.0, [0.5, 0.1]) == pytest.approx(1 / 4.6)
    assert 1.8 / 4.6 < simulated_rate(2, 4.0, [0.5, 0.1]) < 2 / 4.6
