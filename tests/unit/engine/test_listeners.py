"""Tests of `Listeners`, which notifies policies first, and then the application's listeners."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import pytest

from cassandra.engine import listeners as listeners_module
from cassandra.engine.listeners import Listeners
from cassandra.util.intervals import OncePerInterval
from tests.unit.engine.partners import new_host
from tests.waiting import WAIT, until, until_on_loop

UP, DOWN, UNKNOWN = (
    new_host("10.0.0.1"),
    new_host("10.0.0.2", is_up=False),
    new_host("10.0.0.3", is_up=None),
)


class RecordingListener:
    """A fake policy or listener that records its events in `log`.

    :param fails: True to raise an error for each event as well.
    """

    def __init__(self, name: str, log: list[Any], fails: bool = False) -> None:
        self.name = name
        self.log = log
        self.fails = fails

    def populate(self, cluster: Any, hosts: Any) -> None:
        self.log.append((self.name, "populate", len(hosts)))

    def _record(self, event: str, host: Any) -> None:
        """Record an event of a host, and raise an error if `fails` is True."""
        self.log.append((self.name, event, host.address))
        if self.fails:
            raise RuntimeError("mistake in a listener")

    def on_up(self, host: Any) -> None:
        self._record("on_up", host)

    def on_down(self, host: Any) -> None:
        self._record("on_down", host)


def new_listeners(log: list[Any]) -> Listeners:
    """Return listeners that append "after" to the log when all have been notified."""
    return Listeners(lambda: log.append("after"), time.monotonic)


def test_policies_are_notified_first_and_errors_are_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Policies are notified before the application's listeners.

    An error in a policy or listener is logged, and does not stop further notifications. Listeners
    may look at query plans, so policies must be up to date.
    """
    log: list[Any] = []
    listeners = new_listeners(log)
    listeners.policies.append(RecordingListener("policy", log, fails=True))
    listeners.user_listeners = [RecordingListener("application", log)]
    listeners.notify("on_up", UP)
    assert log == [
        ("policy", "on_up", "10.0.0.1"),
        ("application", "on_up", "10.0.0.1"),
        "after",
    ]
    assert "RecordingListener.on_up" in caplog.text


def test_notify_policies_does_not_notify_listeners() -> None:
    """`notify_policies` calls the load-balancing policies, but not the application's listeners."""
    log: list[Any] = []
    listeners = new_listeners(log)
    listeners.policies.append(RecordingListener("policy", log))
    listeners.user_listeners = [RecordingListener("application", log)]
    listeners.notify_policies("on_down", DOWN)
    assert log == [("policy", "on_down", "10.0.0.2"), "after"]


def test_a_new_policy_is_notified_of_hosts_that_are_down() -> None:
    """`populate` passes all hosts to a policy, and calls `on_down` for hosts that are down."""
    log: list[Any] = []
    listeners = new_listeners(log)
    policy: Any = RecordingListener("policy", log)
    listeners.populate(policy, None, [UP, DOWN, UNKNOWN])  # type: ignore[arg-type]
    assert log == [("policy", "populate", 3), ("policy", "on_down", "10.0.0.2"), "after"]
    assert listeners.policies == [policy]


def test_a_listener_may_remove_itself() -> None:
    """If a listener removes itself during a notification, the next listeners are still called."""
    log: list[Any] = []
    listeners = new_listeners(log)

    class OneTimeListener(RecordingListener):
        def on_up(self, host: Any) -> None:
            super().on_up(host)
            listeners.policies.remove(self)

    listeners.policies += [OneTimeListener("once", log), RecordingListener("other", log)]
    # The first listener is called only once, and the second listener is called twice.
    listeners.notify("on_up", UP)
    listeners.notify("on_up", UP)
    assert log == [
        ("once", "on_up", "10.0.0.1"),
        ("other", "on_up", "10.0.0.1"),
        "after",
        ("other", "on_up", "10.0.0.1"),
        "after",
    ]


# -- on the loop -----------------------------------------------------------------------------------


def test_a_slow_call_on_the_loop_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """A listener that blocks the loop is named in a warning, once in a while."""
    times = iter([0.0, 0.05, 1.0, 1.3, 2.0, 2.4, 20.0, 20.5])
    log: list[Any] = []
    listeners = Listeners(lambda: None, clock=lambda: next(times))
    listeners._slow_calls = OncePerInterval(10.0, iter([1.3, 2.4, 20.5]).__next__)
    listeners.user_listeners = [RecordingListener("application", log)]
    for _ in range(4):
        listeners.notify("on_up", UP)
    messages = [record.getMessage() for record in caplog.records]
    assert [message.split(", ")[0] for message in messages] == [
        f"RecordingListener.on_up({UP}) took 0.300 s",
        f"RecordingListener.on_up({UP}) took 0.500 s",
    ]


# -- in a thread -----------------------------------------------------------------------------------


class BlockingListener(RecordingListener):
    """A listener that blocks until `may_go_on` is set. It also records its thread."""

    def __init__(self, name: str, log: list[Any], fails: bool = False) -> None:
        super().__init__(name, log, fails)
        self.may_go_on = threading.Event()
        self.has_begun = threading.Event()
        self.threads: list[threading.Thread] = []

    def _record(self, event: str, host: Any) -> None:
        self.threads.append(threading.current_thread())
        self.has_begun.set()
        assert self.may_go_on.wait(WAIT)
        super()._record(event, host)

    def on_add(self, host: Any) -> None:
        self._record("on_add", host)


def listeners_in_thread(log: list[Any], *user_listeners: Any) -> Listeners:
    """Return listeners that are called in a thread; must be called on a loop."""
    listeners = new_listeners(log)
    listeners.use_thread(asyncio.get_running_loop())
    listeners.user_listeners = list(user_listeners)
    return listeners


async def test_listeners_in_a_thread_get_the_events_in_order() -> None:
    """A listener that blocks delays only later notifications of listeners, not of policies."""
    log: list[Any] = []
    slow = BlockingListener("slow", log)
    listeners = listeners_in_thread(log, slow, RecordingListener("other", log))
    listeners.policies.append(RecordingListener("policy", log))
    listeners.notify("on_down", UP)
    listeners.notify("on_up", UP)
    policy_events = [("policy", "on_down", "10.0.0.1"), "after", ("policy", "on_up", "10.0.0.1")]
    assert log == [*policy_events, "after"]
    slow.may_go_on.set()
    await until_on_loop(lambda: len(log) == 10)
    assert [entry for entry in log[4:] if entry != "after"] == [
        ("slow", "on_down", "10.0.0.1"),
        ("other", "on_down", "10.0.0.1"),
        ("slow", "on_up", "10.0.0.1"),
        ("other", "on_up", "10.0.0.1"),
    ]
    # A listener may have changed a policy, so the driver asks for the distances after each event.
    assert log.count("after") == 4
    assert all(thread.daemon for thread in slow.threads)
    assert threading.current_thread() not in slow.threads
    # The thread ends if no event waits. The next event starts another thread.
    await asyncio.to_thread(slow.threads[-1].join, WAIT)
    listeners.notify("on_down", UP)
    await until_on_loop(lambda: log[-2:] == [("other", "on_down", "10.0.0.1"), "after"])
    await listeners.close()


@pytest.mark.parametrize("error_class", [RuntimeError, SystemExit, KeyboardInterrupt])
async def test_errors_in_the_thread_are_logged(
    error_class: type[BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    """After an error, further listeners get the event, and all get later events."""

    class Failing(RecordingListener):
        def on_up(self, host: Any) -> None:
            raise error_class

    log: list[Any] = []
    listeners = listeners_in_thread(log, Failing("failing", log), RecordingListener("other", log))
    listeners.notify("on_up", UP)
    listeners.notify("on_remove", UP)  # the listeners have no such method
    listeners.notify("on_down", UP)
    await until_on_loop(lambda: ("other", "on_down", "10.0.0.1") in log)
    assert ("other", "on_up", "10.0.0.1") in log
    assert f"Failing.on_up({UP}) failed" in caplog.text
    assert f"Failing.on_remove({UP}) failed" in caplog.text
    await listeners.close()


async def test_a_listener_that_was_removed_gets_no_waiting_events() -> None:
    log: list[Any] = []
    slow, removed = BlockingListener("slow", log), RecordingListener("removed", log)
    added = RecordingListener("added", log)
    listeners = listeners_in_thread(log, slow, removed)
    listeners.notify("on_down", UP)
    assert slow.has_begun.wait(WAIT)
    listeners.user_listeners = [slow, added]
    slow.may_go_on.set()
    listeners.notify("on_up", UP)
    await until_on_loop(lambda: ("added", "on_up", "10.0.0.1") in log)
    # A listener gets no events from before it was added.
    assert [entry for entry in log if entry != "after"] == [
        ("slow", "on_down", "10.0.0.1"),
        ("slow", "on_up", "10.0.0.1"),
        ("added", "on_up", "10.0.0.1"),
    ]
    await listeners.close()


async def test_connect_waits_for_listeners_but_not_for_ever(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """`introduced` waits until the listeners know the hosts. A listener that hangs is logged."""
    log: list[Any] = []
    slow = BlockingListener("slow", log)
    listeners = listeners_in_thread(log, slow)
    listeners.introduce([UP, DOWN])
    asyncio.get_running_loop().call_later(0.01, slow.may_go_on.set)
    await listeners.introduced()
    assert [entry[2] for entry in log if entry != "after"] == ["10.0.0.1", "10.0.0.2"]
    assert caplog.records == []
    # There is nothing to wait for.
    await listeners.introduced()
    slow.may_go_on.clear()
    monkeypatch.setattr(listeners_module, "INTRODUCTION_WAIT", 0.01)
    listeners.introduce([UP, DOWN])
    await listeners.introduced()
    assert f"BlockingListener.on_add({UP}) has been running for 0 s" in caplog.text
    slow.may_go_on.set()
    await listeners.introduced()
    await listeners.close()


async def test_closing_does_not_wait_for_a_listener_that_hangs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`close` reports the last events if the listeners are fast, and forgets them otherwise."""
    log: list[Any] = []
    listeners = listeners_in_thread(log, RecordingListener("fast", log))
    listeners.notify("on_down", UP)
    listeners.notify("on_up", UP)
    await listeners.close()
    assert ("fast", "on_up", "10.0.0.1") in log
    monkeypatch.setattr(listeners_module, "LAST_WAIT", 0.01)
    log.clear()
    slow = BlockingListener("slow", log)
    listeners = listeners_in_thread(log, slow)
    listeners.notify("on_down", UP)
    listeners.notify("on_up", UP)
    assert slow.has_begun.wait(WAIT)
    await listeners.close()
    slow.may_go_on.set()
    await asyncio.to_thread(slow.threads[0].join, WAIT)
    assert [entry for entry in log if entry != "after"] == [("slow", "on_down", "10.0.0.1")]


async def test_late_events_are_logged_and_the_oldest_dropped(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """While a listener hangs, a warning names it, and the events do not fill the memory."""
    monkeypatch.setattr(listeners_module, "MOST_WAITING", 2)
    monkeypatch.setattr(listeners_module, "LATE", 0.0)
    log: list[Any] = []
    slow = BlockingListener("slow", log)
    listeners = listeners_in_thread(log, slow)
    listeners.notify("on_down", UP)
    assert slow.has_begun.wait(WAIT)
    for event in ("on_up", "on_down", "on_up", "on_down"):
        listeners.notify(event, UP)
    (record,) = caplog.records
    assert f"BlockingListener.on_down({UP}) has been running for 0 s, 1 events" in (
        record.getMessage()
    )
    slow.may_go_on.set()
    await until_on_loop(lambda: sum(entry != "after" for entry in log) == 3)
    assert [entry[1] for entry in log if entry != "after"] == ["on_down", "on_up", "on_down"]
    await listeners.close()


async def test_without_a_new_thread_events_wait(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """If no thread can be started, this is logged, and the next event tries again."""
    log: list[Any] = []
    listeners = listeners_in_thread(log, RecordingListener("application", log))

    def refuse(target: object, name: str) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(listeners_module, "start_user_thread", refuse)
        listeners.notify("on_down", UP)
    assert "can't start new thread" in caplog.text
    listeners.notify("on_up", UP)
    await until_on_loop(lambda: ("application", "on_up", "10.0.0.1") in log)
    assert log[1:2] == [("application", "on_down", "10.0.0.1")]
    await listeners.close()


def test_a_thread_of_a_closed_loop_still_notifies() -> None:
    """If the loop is closed while a listener runs, no error is raised in its thread."""
    log: list[Any] = []
    slow = BlockingListener("slow", log)
    loop = asyncio.new_event_loop()
    listeners = Listeners(lambda: None, time.monotonic)
    listeners.use_thread(loop)
    listeners.user_listeners = [slow]
    listeners.notify("on_down", UP)
    loop.close()
    slow.may_go_on.set()
    until(lambda: log == [("slow", "on_down", "10.0.0.1")])
    slow.threads[0].join(WAIT)
