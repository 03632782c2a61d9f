"""Tests of `Listeners`, which notifies policies first, and then the application's listeners."""

from __future__ import annotations

from typing import Any

import pytest

from cassandra.engine.listeners import Listeners
from tests.unit.engine.partners import new_host

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
    return Listeners(lambda: log.append("after"))


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
