"""The order in which host listeners are notified, and that an error of one does not
affect others.
"""

from __future__ import annotations

from typing import Any

import pytest

from cassandra.engine.listeners import Listeners
from tests.unit.engine.partners import host

UP, DOWN, UNKNOWN = host("10.0.0.1"), host("10.0.0.2", False), host("10.0.0.3", None)


class RecordingListener:
    """A listener, or a policy, that records events; the first event may fail."""

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


def test_policies_hear_first_and_errors_keep_nobody_from_hearing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    log: list[Any] = []
    notified = listeners(log)
    notified.policies.append(RecordingListener("policy", log, fails=True))
    notified.user_listeners = [RecordingListener("program", log)]
    notified.notify("on_up", UP)
    assert log == [
        ("policy", "on_up", "10.0.0.1"),
        ("program", "on_up", "10.0.0.1"),
        "after",
    ]
    assert "RecordingListener.on_up" in caplog.text


def test_policies_alone() -> None:
    log: list[Any] = []
    notified = listeners(log)
    notified.policies.append(RecordingListener("policy", log))
    notified.user_listeners = [RecordingListener("program", log)]
    notified.notify_policies("on_down", DOWN)
    assert log == [("policy", "on_down", "10.0.0.2"), "after"]


def test_a_new_policy_hears_of_the_hosts_that_are_down() -> None:
    log: list[Any] = []
    notified = listeners(log)
    policy: Any = RecordingListener("policy", log)
    notified.populate(policy, None, [UP, DOWN, UNKNOWN])  # type: ignore[arg-type]
    assert log == [("policy", "populate", 3), ("policy", "on_down", "10.0.0.2"), "after"]
    assert notified.policies == [policy]


def test_a_listener_may_remove_itself() -> None:
    log: list[Any] = []
    notified = listeners(log)

    class Once(RecordingListener):
        def on_up(self, host: Any) -> None:
            super().on_up(host)
            notified.policies.remove(self)

    notified.policies += [Once("once", log), RecordingListener("other", log)]
    notified.notify("on_up", UP)
    notified.notify("on_up", UP)
    assert [entry[0] for entry in log if entry != "after"] == ["once", "other", "other"]
