"""Waits that park greenlets, faked with threads; ``engine/test_green.py`` uses real greenlets, if
gevent or eventlet is installed.
"""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from cassandra import _threads
from cassandra._threads import (
    GreenEvent,
    RealThread,
    green_library,
    in_own_greenlet,
    new_thread,
    new_waiter,
)
from tests.waiting import WAIT, until


class Place:
    """A waiting place for one thread; `parked` is set when the thread begins to wait."""

    instances: list[Place]

    def __init__(self) -> None:
        self.parked, self.woken, self.closed = threading.Event(), threading.Event(), False
        self.on_wait: Callable[[], None] = lambda: None
        Place.instances.append(self)

    def wait(self, seconds: float | None) -> bool:
        self.parked.set()
        self.on_wait()
        return self.woken.wait(WAIT if seconds is None else seconds)

    def wake(self) -> None:
        self.woken.set()

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def waiter() -> Any:
    Place.instances = []
    return _threads._GreenWaiter(Place)


def started(target: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=target)
    thread.start()
    return thread


def parked(count: int) -> None:
    """Wait until `count` threads are parked."""
    until(lambda: len(Place.instances) == count)
    assert all(waiter.parked.wait(WAIT) for waiter in Place.instances[:count])


def test_a_release_before_is_kept_for_one(waiter: Any) -> None:
    waiter.release()
    waiter.release()
    assert waiter.acquire(timeout=0) is True
    assert waiter.acquire(timeout=0) is False
    assert waiter.acquire(blocking=False) is False
    assert Place.instances == []


def test_each_release_lets_one_go_on_in_the_order_of_waiting(waiter: Any) -> None:
    over: list[int] = []
    threads = []

    def wait(number: int) -> None:
        waiter.acquire()
        over.append(number)

    for number in range(2):
        threads.append(started(partial(wait, number)))
        parked(number + 1)
    for number in range(2):
        waiter.release()
        threads[number].join(WAIT)
        assert over == list(range(number + 1))
    assert all(waiting_place.closed for waiting_place in Place.instances)


def test_a_caller_that_is_late_leaves_its_place(waiter: Any) -> None:
    assert waiter.acquire(timeout=0.001) is False
    waiter.release()
    assert waiter.acquire(timeout=0) is True
    assert Place.instances[0].closed


def test_a_release_as_the_time_ends_is_not_lost(waiter: Any) -> None:
    class Late(Place):
        def wait(self, seconds: float | None) -> bool:
            if seconds is not None:  # the time is over, but meanwhile another thread releases it
                waiter.release()
                return False
            return self.woken.wait(WAIT)

    waiter._new_wait_point = Late
    assert waiter.acquire(timeout=0.001) is True


def test_a_caller_that_is_killed_leaves_its_turn_to_the_next(waiter: Any) -> None:
    class Killed(Place):
        kills = True

        def wait(self, seconds: float | None) -> bool:
            if self.kills:
                self.kills = False
                waiter.release()
                raise SystemExit
            return self.woken.wait(WAIT)

    waiter._new_wait_point = Killed
    with pytest.raises(SystemExit):
        waiter.acquire()
    assert waiter.acquire(timeout=0) is True


def test_a_latch_opens_once_for_all() -> None:
    event = GreenEvent()
    assert event.wait(0.001) is False
    results: list[bool] = []
    threads = [started(lambda: results.append(event.wait(WAIT))) for _ in range(3)]
    event.set()
    event.set_soon()
    for thread in threads:
        thread.join(WAIT)
    assert results == [True] * 3
    assert event.wait(0) is True


def test_without_a_library_waiters_are_locks_and_threads_are_threads() -> None:
    assert green_library() is None
    lock = new_waiter()
    assert lock.acquire(blocking=False) is False
    lock.release()
    assert lock.acquire(timeout=1) is True
    assert isinstance(new_thread(print, "name"), threading.Thread)
    assert in_own_greenlet(print) is print


@pytest.mark.parametrize(
    ("module", "patched", "expected"),
    [
        (
            "gevent.monkey",
            SimpleNamespace(is_module_patched=lambda name: name == "_thread"),
            "gevent",
        ),
        ("gevent.monkey", SimpleNamespace(is_module_patched=lambda name: False), None),
        ("eventlet.patcher", SimpleNamespace(is_monkey_patched=lambda name: True), "eventlet"),
        ("eventlet.patcher", SimpleNamespace(is_monkey_patched=lambda name: False), None),
    ],
)
def test_which_library_has_replaced_threads(
    module: str, patched: Any, expected: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, patched)
    assert green_library() == expected


def test_a_real_thread() -> None:
    running, go_on = threading.Event(), threading.Event()
    seen: list[Any] = []

    def target() -> None:
        running.set()
        seen.append(thread.ident in _threads._real_threads)
        go_on.wait(WAIT)

    thread = RealThread(target)
    alive = [thread.is_alive()]
    thread.start()
    assert running.wait(WAIT)
    alive.append(thread.is_alive())
    thread.join(0.001)
    go_on.set()
    thread.join(WAIT)
    thread.join()  # any number of callers
    alive.append(thread.is_alive())
    assert (alive, seen) == ([False, True, False], [True])
    assert thread.ident not in _threads._real_threads


def test_a_thread_that_fails_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    reported: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", reported.append)

    def target() -> None:
        raise ZeroDivisionError

    thread = RealThread(target)
    thread.start()
    thread.join(WAIT)
    assert not thread.is_alive()


def test_records_of_real_threads_are_written_at_home() -> None:
    written: list[str] = []
    handed: list[Any] = []
    log = _threads._LogInGreenlet(lambda record: written.append(record.getMessage()))
    record = logging.LogRecord("cassandra", logging.INFO, "", 1, "hello", None, None)
    assert log.filter(record) is True
    ident = _threads.get_ident()
    _threads._real_threads[ident] = lambda function, *args: handed.append((function, args))
    try:
        assert log.filter(record) is False
    finally:
        del _threads._real_threads[ident]
    ((write, arguments),) = handed
    assert written == []
    write(*arguments)
    assert written == ["hello"]
