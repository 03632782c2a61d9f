"""Tests of `Event`, for which a thread waits, and `WakeQueue`.

With a `WakeQueue`, the loop sets several events at once.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections import deque
from typing import Any

import pytest

from cassandra.engine.events import Event as PythonEvent
from tests.conftest import Implementation
from tests.interrupted_locks import Interrupt, InterruptedLock

WAIT = 5.0  # seconds


@pytest.mark.parametrize("method", ["set", "set_soon"])
def test_a_wait_for_a_set_event_returns_at_once(
    implementation: Implementation, method: str
) -> None:
    """`Event.wait` returns True at once if the event is set, with or without a timeout."""
    event = implementation.happy_path.Event()
    getattr(event, method)()
    assert event.wait()
    assert event.wait(seconds=0)
    # Setting the event a second time has no effect.
    getattr(event, method)()
    assert event.wait(seconds=60)


def test_a_set_event_wakes_all_threads(implementation: Implementation) -> None:
    """One `set` wakes all threads that wait for the event, with any timeout or without one."""
    event = implementation.happy_path.Event()
    results: list[bool] = []
    threads = [
        threading.Thread(
            target=lambda timeout_args=timeout_args: results.append(event.wait(*timeout_args)),
            daemon=True,
        )
        for timeout_args in ((), (), (60,), (1e9,), (None,))
    ]
    for thread in threads:
        thread.start()
    event.set()
    for thread in threads:
        thread.join(WAIT)
    assert results == [True] * 5


@pytest.mark.parametrize("seconds", [0, 0.0, 0.02])
def test_a_wait_ends_after_its_timeout(implementation: Implementation, seconds: float) -> None:
    """`Event.wait` returns False if the timeout ends before the event is set.

    When the event is set, `wait` returns True.
    """
    event = implementation.happy_path.Event()
    started = time.monotonic()
    assert not event.wait(seconds)
    assert time.monotonic() - started >= seconds
    event.set()
    assert event.wait(seconds)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no such signals")
@pytest.mark.parametrize("timeout", [None, 60])
def test_signal_handlers_run_during_a_wait(
    implementation: Implementation, timeout: float | None
) -> None:
    """Signal handlers run while the main thread waits for an event, for example after Ctrl-C.

    If the handler returns, the wait continues. If the handler raises, `wait` raises its error.
    """
    event = implementation.happy_path.Event()
    calls: list[int] = []

    def interrupt_at_third_call(*_: Any) -> None:
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt

    previous_handler = signal.signal(signal.SIGALRM, interrupt_at_third_call)
    signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
    try:
        with pytest.raises(KeyboardInterrupt):
            event.wait(timeout)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous_handler)
    # The wait continued after the first two signals.
    assert len(calls) >= 3
    event.set()
    assert event.wait()


def test_while_the_queue_gathers_events_are_set_only_by_wake(
    implementation: Implementation,
) -> None:
    """While `WakeQueue.is_gathering` is True, events are set only by `wake`.

    The loop sets the flag while it handles many responses, so that callers wake up together.
    """
    wake_queue = implementation.happy_path.WakeQueue()
    first, second, third = (implementation.happy_path.Event() for _ in range(3))
    # The queue does not gather yet, so the event is set at once.
    wake_queue.set(first)
    assert first.wait(seconds=0)
    wake_queue.is_gathering = True
    # Adding the same event a second time must have no effect.
    wake_queue.set(second)
    wake_queue.set(second)
    assert not second.wait(seconds=0)
    wake_queue.wake()
    assert second.wait(seconds=0)
    assert not wake_queue.is_gathering
    wake_queue.set(third)
    assert third.wait(seconds=0)
    wake_queue.wake()  # with an empty queue, this call does nothing


def test_other_threads_may_add_events_during_wake(implementation: Implementation) -> None:
    """If another thread adds events during `wake`, no event is lost.

    Each event is set by `wake`, or at once.
    """
    wake_queue = implementation.happy_path.WakeQueue()
    events: deque[Any] = deque()
    is_finished = threading.Event()

    def add_events() -> None:
        for _ in range(2000):
            events.append(implementation.happy_path.Event())
            wake_queue.set(events[-1])
        is_finished.set()

    thread = threading.Thread(target=add_events)
    previous_interval = sys.getswitchinterval()
    # Let Python switch threads as often as possible, so that they interrupt `wake` at each step.
    sys.setswitchinterval(1e-6)
    try:
        thread.start()
        while not is_finished.is_set():
            wake_queue.is_gathering = True
            wake_queue.wake()
        thread.join()
    finally:
        sys.setswitchinterval(previous_interval)
    assert all(event.wait(seconds=0) for event in events)


def test_an_event_added_during_wake_is_set_at_once(implementation: Implementation) -> None:
    """In the pure Python version, an event that is added during `wake` is set at once."""
    if implementation.name == "c":
        pytest.skip("the compiled queue cannot be interrupted there")

    class InterruptedQueue(implementation.happy_path.WakeQueue):  # type: ignore[name-defined,misc]
        # `set` reads the flag twice. The second value is False, as if `wake` in another thread had
        # cleared the flag in between.
        flag_values = iter((True, False))
        is_gathering = property(lambda self: next(self.flag_values), lambda self, value: None)

    event = implementation.happy_path.Event()
    InterruptedQueue().set(event)
    assert event.wait(seconds=0)


def test_wake_sets_many_events(implementation: Implementation) -> None:
    """`wake` sets any number of events, and an event may be in the queue twice."""
    wake_queue = implementation.happy_path.WakeQueue()
    events = [implementation.happy_path.Event() for _ in range(200)]
    wake_queue.is_gathering = True
    for event in (*events, *events[:10]):
        wake_queue.set(event)
    wake_queue.wake()
    assert all(event.wait(seconds=0) for event in events)


def test_an_event_that_is_never_set_can_be_dropped(implementation: Implementation) -> None:
    """An event that was never set can be freed without an error.

    Its lock is still held then.
    """
    for _ in range(1000):
        implementation.happy_path.Event()


def test_an_event_can_be_set_by_two_threads() -> None:
    """In the pure Python version, two threads may set an event at the same time.

    This happens without the GIL. The second thread finds that the lock was already released.
    """
    event: Any = PythonEvent()
    event.set()
    # Pretend that the second thread has not seen yet that the first thread set the event.
    event._is_set = False
    event.set()
    assert event.wait(seconds=0)
    assert event.wait(seconds=0)


def test_a_signal_handler_takes_no_event_from_other_threads() -> None:
    """If a handler raises in `wait` just after the event was set, later waits return True.

    The compiled version runs no handlers there.
    """
    event = PythonEvent()
    event.set()
    event._lock = InterruptedLock(event._lock)  # type: ignore[assignment]
    with pytest.raises(Interrupt):
        event.wait()
    assert event.wait(seconds=0)
