"""`Observers`, which calls the observers of latencies and requests, and handles their errors."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable
from typing import Any

import pytest

import cassandra.engine.observers as observers_module
from cassandra.engine.observers import Observers
from cassandra.observers import RequestObserver
from cassandra.policies import RetryPolicy
from tests.unit.engine.faults import WAIT
from tests.unit.engine.partners import new_host
from tests.waiting import until

HOST = new_host("10.0.0.1")


@pytest.fixture
def short_idle_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the threads of slow observers end soon after their last event."""
    monkeypatch.setattr(observers_module, "_IDLE", 0.01)


def test_without_observers_all_hooks_are_none() -> None:
    observers = Observers()
    assert observers.on_latency is None
    assert observers.on_refusal is None
    assert observers.on_failure is None


def test_several_observers_are_called_in_order() -> None:
    """`on_latency` calls all observers in order. Without observers, it is None."""
    observers = Observers()
    calls: list[Any] = []

    def first(host: Any, seconds: float) -> None:
        calls.append(("first", host, seconds))

    def second(host: Any, seconds: float) -> None:
        calls.append(("second", host, seconds))

    def call_observers() -> list[Any]:
        assert observers.on_latency is not None
        observers.on_latency(HOST, 0.5)
        seen = calls.copy()
        calls.clear()
        return seen

    observers.observe_latencies(first)
    assert call_observers() == [("first", HOST, 0.5)]
    observers.observe_latencies(second)
    assert call_observers() == [("first", HOST, 0.5), ("second", HOST, 0.5)]
    # Removing an observer a second time has no effect.
    for _ in range(2):
        observers.forget_latencies(first)
    assert call_observers() == [("second", HOST, 0.5)]
    observers.forget_latencies(second)
    on_latency: Any = observers.on_latency
    assert on_latency is None


def test_errors_of_a_policys_observer_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    """An observer that raises affects neither the engine nor the other observers."""
    observers = Observers()
    calls: list[Any] = []

    def fail(*arguments: Any) -> None:
        raise LookupError(arguments[0])

    observers.observe_latencies(fail)
    observers.observe_latencies(lambda *arguments: calls.append(arguments))
    observers.observe_failures(fail)
    for _ in range(2):
        assert observers.on_latency is not None
        observers.on_latency(HOST, 0.5)
    assert observers.on_failure is not None
    observers.on_failure(HOST, ValueError(), None)
    assert calls == [(HOST, 0.5)] * 2
    # One line for each of the two observers.
    assert [record.levelname for record in caplog.records] == ["ERROR"] * 2
    assert "of a policy raised LookupError" in caplog.text


class RecordingObserver(RequestObserver):
    """An observer that records refusals and failures, and overrides no other method."""

    def __init__(self, reports: list[Any]) -> None:
        self.reports = reports

    def on_refusal(self, host: Any, seconds: float) -> None:
        self.reports.append(("refusal", seconds))

    def on_failure(self, host: Any, error: BaseException, decision: int | None) -> None:
        self.reports.append(("failure", decision))


@pytest.mark.parametrize("is_trusted", [True, False])
def test_an_observer_gets_refusals_and_failures(is_trusted: bool) -> None:
    """Only the methods that an observer overrides are called; all other hooks are None.

    :param is_trusted: True for the driver's own observers, which are called without protection
        against errors.
    """
    observers = Observers()
    reports: list[Any] = []
    observers.observe_requests(RecordingObserver(reports), is_trusted)
    # The observer does not override this method.
    assert observers.on_latency is None
    assert observers.on_refusal is not None
    assert observers.on_failure is not None
    observers.on_refusal(HOST, 1.0)
    observers.on_failure(HOST, OSError(), RetryPolicy.RETHROW)
    assert reports == [("refusal", 1.0), ("failure", RetryPolicy.RETHROW)]
    # No observer overrides a method for single requests, so requests get no hooks.
    assert observers.hooks_of(()) is None


@pytest.mark.parametrize("is_trusted", [True, False])
def test_a_forgotten_observer_is_not_called(is_trusted: bool) -> None:
    """After `forget_observer`, an observer is no longer called.

    Without any observer, the hooks are None, so that requests need not call anything.

    :param is_trusted: see `test_an_observer_gets_refusals_and_failures`.
    """
    observers = Observers()
    forgotten, remaining = RecordingObserver([]), RecordingObserver([])
    observers.observe_requests(forgotten, is_trusted)
    observers.observe_requests(remaining)
    observers.forget_observer(forgotten)
    assert observers.on_refusal is not None
    observers.on_refusal(HOST, 1.0)
    assert forgotten.reports == []
    assert remaining.reports == [("refusal", 1.0)]
    observers.forget_observer(remaining)
    hooks: list[object] = [observers.on_refusal, observers.on_failure]
    assert hooks == [None, None]


def test_a_slow_observer_is_called_in_a_thread_in_order(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An observer whose calls are slow is called in a thread for observers.

    So requests do not wait for the observer. Its events are handled in order.
    """
    # With 0 seconds, every call counts as slow.
    monkeypatch.setattr(observers_module, "SLOW", 0.0)
    monkeypatch.setattr(observers_module, "MOST_SLOW_CALLS", 1)
    # Let the observer's thread end soon after its last event.
    monkeypatch.setattr(observers_module, "_IDLE", 0.05)
    observers = Observers()
    threads: list[int] = []
    may_continue = threading.Event()
    reported_seconds: list[float] = []
    is_finished = threading.Event()

    class WaitingObserver(RequestObserver):
        def on_refusal(self, host: Any, seconds: float) -> None:
            """Record the thread, and block from the second call on until the test ends it."""
            threads.append(threading.get_ident())
            if len(threads) > 1:
                may_continue.wait(WAIT)
            reported_seconds.append(seconds)
            if seconds == 5.0:
                is_finished.set()

    observers.observe_requests(WaitingObserver())
    assert observers.on_refusal is not None
    for seconds in (1.0, 2.0, 3.0, 4.0, 5.0):
        observers.on_refusal(HOST, seconds)  # must not wait for the observer
    # The first call was made in this thread. All later calls are queued for the observer's thread.
    assert reported_seconds == [1.0]
    may_continue.set()
    assert is_finished.wait(WAIT)
    assert reported_seconds == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert threads[0] == threading.get_ident()
    assert len(set(threads[1:])) == 1
    assert threads[1] != threads[0]
    assert "on_refusal of the request observer" in caplog.text
    assert "in a thread of its own" in caplog.text


def test_a_slow_observer_loses_events_beyond_the_limit_which_is_logged(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At most MOST_WAITING events wait for a slow observer.

    Further events are dropped, which is logged.
    """
    monkeypatch.setattr(observers_module, "SLOW", 0.0)
    monkeypatch.setattr(observers_module, "MOST_SLOW_CALLS", 1)
    monkeypatch.setattr(observers_module, "_IDLE", 0.05)
    monkeypatch.setattr(observers_module, "MOST_WAITING", 3)
    observers = Observers()
    may_continue = threading.Event()
    is_called = threading.Event()
    is_finished = threading.Event()
    reported_seconds: list[float] = []

    class WaitingObserver(RequestObserver):
        def on_refusal(self, host: Any, seconds: float) -> None:
            """Record the event. The event 1.0 blocks until the test allows it to continue."""
            if seconds == 1.0:
                is_called.set()
                may_continue.wait(WAIT)
            reported_seconds.append(seconds)
            if seconds == 4.0:
                is_finished.set()

    observers.observe_requests(WaitingObserver())
    assert observers.on_refusal is not None
    observers.on_refusal(HOST, 0.0)
    observers.on_refusal(HOST, 1.0)
    # The thread is busy with the event 1.0, and its queue has space for three events.
    assert is_called.wait(WAIT)
    for seconds in (2.0, 3.0, 4.0, 5.0, 6.0):
        observers.on_refusal(HOST, seconds)
    may_continue.set()
    assert is_finished.wait(WAIT)
    assert reported_seconds == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert "3 events late" in caplog.text


def test_the_thread_of_a_slow_observer_ends_and_is_started_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The thread of a slow observer ends when it is idle.

    A later event starts another thread.
    """
    monkeypatch.setattr(observers_module, "SLOW", 0.0)
    monkeypatch.setattr(observers_module, "MOST_SLOW_CALLS", 1)
    # With 0 seconds, the thread ends as soon as no event is waiting.
    monkeypatch.setattr(observers_module, "_IDLE", 0.0)
    observers = Observers()
    threads: list[threading.Thread] = []
    events = {number: threading.Event() for number in range(50)}

    class SlowObserver(RequestObserver):
        def on_refusal(self, host: Any, seconds: float) -> None:
            threads.append(threading.current_thread())
            events[int(seconds)].set()

    observers.observe_requests(SlowObserver())
    assert observers.on_refusal is not None
    for number, event in events.items():
        observers.on_refusal(HOST, float(number))
        assert event.wait(WAIT)
    assert len(threads) == len(events)


class TimedObserver(RequestObserver):
    """An observer each of whose calls takes as many seconds as its event says.

    The observer has its own clock, which its calls advance.
    """

    def __init__(self) -> None:
        self.time = 0.0
        self.threads: list[threading.Thread] = []

    def clock(self) -> float:
        return self.time

    def on_refusal(self, host: Any, seconds: float) -> None:
        self.time += seconds
        self.threads.append(threading.current_thread())


def timed_calls(observer: TimedObserver, durations: Iterable[float]) -> None:
    """Let an observer handle events that take these numbers of seconds."""
    observers = Observers(observer.clock)
    observers.observe_requests(observer)
    assert observers.on_refusal is not None
    for seconds in durations:
        observers.on_refusal(HOST, seconds)


@pytest.mark.parametrize(
    "durations",
    [
        [0.001, 5.0],
        [0.2, 0.2],
        # There are never three slow calls among 1000 calls.
        [0.2, *[0.001] * 500, 0.2, *[0.001] * 500, 0.2, 0.2],
    ],
    ids=["one slow call", "two slow calls", "slow calls among many quick ones"],
)
def test_an_observer_with_few_slow_calls_stays_in_the_callers_thread(
    durations: list[float], caplog: pytest.LogCaptureFixture
) -> None:
    """An observer with one or two slow calls stays in the caller's thread, and nothing is logged.

    The machine may be the reason for a single slow call.
    """
    observer = TimedObserver()
    timed_calls(observer, durations)
    assert observer.threads == [threading.current_thread()] * len(durations)
    assert caplog.records == []


@pytest.mark.usefixtures("short_idle_time")
@pytest.mark.parametrize(
    "durations",
    [[0.2] * 3, [0.9, 0.2], [0.2, *[0.001] * 400, 0.2, *[0.001] * 400, 0.2]],
    ids=["three slow calls", "more than a second together", "three slow calls among 1000"],
)
def test_an_observer_that_is_slow_again_and_again_is_called_in_a_thread(
    durations: list[float], caplog: pytest.LogCaptureFixture
) -> None:
    """After repeated slow calls, the next call is made in a thread, and one warning is logged.

    The warning has the duration of the slow call.
    """
    observer = TimedObserver()
    timed_calls(observer, [*durations, 7.0])
    until(lambda: len(observer.threads) > len(durations))
    assert set(observer.threads[:-1]) == {threading.current_thread()}
    assert observer.threads[-1] is not threading.current_thread()
    (record,) = caplog.records
    assert "took 0.200 s (CPU time: 0.0" in record.getMessage()
    assert f"of its last {len(durations)} calls took more than 0.1 s" in record.getMessage()


def test_repeated_errors_of_an_observer_are_logged_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """If an observer raises an error at each call, the error is logged once."""
    observers = Observers()

    class BrokenObserver(RequestObserver):
        def on_failure(self, host: Any, error: BaseException, decision: int | None) -> None:
            raise ValueError("broken")

    observers.observe_requests(BrokenObserver())
    assert observers.on_failure is not None
    for _ in range(3):
        # Nothing was sent, so both the host and the retry policy's decision are None.
        observers.on_failure(None, OSError(), None)
    assert caplog.text.count("on_failure of the request observer") == 1
    assert "ValueError('broken')" in caplog.text


class BlockingObserver(RequestObserver):
    """An observer whose `on_start` blocks until `gate` is set."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.calls: list[str] = []

    def on_start(self, request: Any) -> None:
        assert self.gate.wait(WAIT)
        self.calls.append("start")

    def on_shutdown(self) -> None:
        self.calls.append("shutdown")


def blocked_wrapper(observer: RequestObserver) -> Any:
    """Return the wrapper of an observer whose thread blocks in `on_start`."""
    wrapper: Any = Observers().watched(observer)
    hook = wrapper.hook("on_start")
    # Report so many slow calls that the next call is made in a thread.
    for _ in range(observers_module.MOST_SLOW_CALLS):
        wrapper.on_slow("on_start", 2 * observers_module.SLOW)
    hook.call(None)
    return wrapper


@pytest.mark.usefixtures("short_idle_time")
async def test_the_shutdown_waits_for_observers_in_their_threads() -> None:
    """A shutdown waits for observers that are called in threads.

    `on_shutdown` must be called after all earlier events.
    """
    observer = BlockingObserver()
    shutdown = asyncio.ensure_future(Observers().notify_shutdown([blocked_wrapper(observer)]))
    # Let the loop run some iterations, in which the task must not end.
    for _ in range(5):
        await asyncio.sleep(0)
    assert not shutdown.done()
    observer.gate.set()
    await asyncio.wait_for(shutdown, WAIT)
    assert observer.calls == ["start", "shutdown"]


@pytest.mark.usefixtures("short_idle_time")
async def test_the_shutdown_waits_for_an_observer_only_for_a_while(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A shutdown waits for an observer for at most LAST_WAIT seconds.

    The observer's thread then ends by itself.
    """
    monkeypatch.setattr(observers_module, "LAST_WAIT", 0.0)
    observer = BlockingObserver()
    await Observers().notify_shutdown([blocked_wrapper(observer)])
    assert observer.calls == []
    observer.gate.set()
    until(lambda: observer.calls == ["start", "shutdown"])
