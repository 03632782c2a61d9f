"""`Listeners`, which notifies policies first, and then the application's listeners."""

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
    """A fake policy or listener that records its events. With `fails`, it also raises an error."""

    def __init__(self, name: str, log: list[Any], fails: bool = False) -> None:
        self.name, self.log, self.fails = name, log, fails

    def populate(self, cluster: Any, hosts: Any) -> None:
        self.log.append((self.name, "populate", len(hosts)))

    def _note(self, event: str, host: Any) -> None:
        self.log.append((self.name, event, host.address))
        if self.fails:
            raise RuntimeError("its own fault")

    def on_up(self, host: Any) -> None:
        self._note("on_up", host)

    def on_down(self, host: Any) -> None:
        self._note("on_down", host)


def listeners(log: list[Any]) -> Listeners:
    return Listeners(lambda: log.append("after"))


def test_policies_are_notified_first_and_errors_are_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    log: list[Any] = []
    listener_list = listeners(log)
    listener_list.policies.append(RecordingListener("policy", log, fails=True))
    listener_list.user_listeners = [RecordingListener("program", log)]
    listener_list.notify("on_up", UP)
    assert log == [
        ("policy", "on_up", "10.0.0.1"),
        ("program", "on_up", "10.0.0.1"),
        "after",
    ]
    assert "RecordingListener.on_up" in caplog.text


def test_notify_policies_does_not_notify_listeners() -> None:
    log: list[Any] = []
    listener_list = listeners(log)
    listener_list.policies.append(RecordingListener("policy", log))
    listener_list.user_listeners = [RecordingListener("program", log)]
    listener_list.notify_policies("on_down", DOWN)
    assert log == [("policy", "on_down", "10.0.0.2"), "after"]


def test_a_new_policy_is_notified_of_hosts_that_are_down() -> None:
    log: list[Any] = []
    listener_list = listeners(log)
    policy: Any = RecordingListener("policy", log)
    listener_list.populate(policy, None, [UP, DOWN, UNKNOWN])  # type: ignore[arg-type]
    assert log == [("policy", "populate", 3), ("policy", "on_down", "10.0.0.2"), "after"]
    assert listener_list.policies == [policy]


def test_a_listener_may_remove_itself() -> None:
    log: list[Any] = []
    listener_list = listeners(log)

    class Once(RecordingListener):
        def on_up(self, host: Any) -> None:
            super().on_up(host)
            listener_list.policies.remove(self)

    listener_list.policies += [Once("once", log), RecordingListener("other", log)]
    listener_list.notify("on_up", UP)
    listener_list.notify("on_up", UP)
    assert [entry[0] for entry in log if entry != "after"] == ["once", "other", "other"]
