"""The steps of the control connection and their order, with fakes in place of sockets."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from cassandra.engine.control.connection import MOST_REASONS, ControlConnection, _OutageLog
from cassandra.engine.control.contacts import Contacts
from cassandra.engine.endpoint import DefaultEndPoint, EndPoint
from cassandra.errors import (
    AuthenticationFailed,
    ConnectionException,
    ConnectionShutdown,
    DriverException,
    LoginRefused,
    NoHostAvailable,
)
from cassandra.metadata.cluster_metadata import Metadata
from cassandra.metadata.host import Host
from cassandra.protocol.opcodes import EVENT
from cassandra.testing.fake.primitives import inet, string
from tests.unit.engine.partners import (
    engine_settings,
    fake_connection,
    new_host,
    run_loop_turns,
    spawn,
)

A, B = DefaultEndPoint("10.0.0.1"), DefaultEndPoint("10.0.0.2")


class NoDelay:
    """A reconnection policy without any delay."""

    def new_schedule(self) -> Iterator[float]:
        while True:
            yield 0.0


class ControlParts:
    """Fakes of everything that a control connection uses.

    The `ControlConnection` calls their methods, which record each step in `happened`, in order.

    :param endpoints: the contact points.
    :param changed: settings of the engine that have other values.
    """

    def __init__(self, *endpoints: EndPoint, **changed: Any) -> None:
        self.happened: list[Any] = []
        self.enabled = True  # schema metadata is enabled
        self.errors: dict[str, list[Exception]] = {}
        self.opened: list[Any] = []
        self.metadata = Metadata()
        defaults = {
            "endpoints": list(endpoints) or [A],
            "reconnection_policy": NoDelay(),
            "topology_event_refresh_window": 0.0,
        }
        self.settings = engine_settings(**defaults | changed)
        self.control = ControlConnection(
            self.settings,
            self.open,
            self.ask,
            Contacts(self.settings, self.metadata, self.in_thread, lambda host: False),
            self,
            self,
            self,
            spawn,
        )
        self.control.handlers = {
            "TOPOLOGY_CHANGE": self.control.on_topology_change,
            "STATUS_CHANGE": self.happened.append,
        }
        self.control.on_adopted = lambda connection: self.happened.append("adopted")

    def fail(self, step: str, *errors: Exception) -> None:
        """Make the next calls of a step fail: each raises the next of these errors."""
        self.errors[step] = list(errors)

    def step(self, name: str) -> None:
        self.happened.append(name)
        if self.errors.get(name):
            raise self.errors[name].pop(0)

    async def in_thread(self, function: Any) -> Any:
        return function()

    async def open(self, endpoint: EndPoint) -> Any:
        self.step(f"open {endpoint.address}")
        self.opened.append(fake_connection(str(endpoint.address)))
        return self.opened[-1]

    async def ask(self, connection: Any, opcode: int, body: bytes, what: str) -> Any:
        self.step(what)
        assert connection.on_event is not None

    async def prepare(self, connection: Any) -> None:
        self.step("prepare")

    async def read(self, connection: Any, endpoint: EndPoint) -> Any:
        self.step("read")
        return SimpleNamespace(local=new_host(str(endpoint.address)))

    def take_node_list(self, node_list: Any, rebuild: bool = False) -> None:
        self.happened.append("take, rebuild" if rebuild else "take")

    def recheck(self) -> None:
        self.happened.append("look again")

    def on_connection_failure(self, host: Host, error: Exception) -> None:
        self.happened.append(("failure", host.address))

    async def on_connected(self, connection: Any, local: Host) -> None:
        self.step("schema")

    def on_moved(self, local: Host) -> None:
        self.happened.append("schema moved")

    async def until(self, event: Any) -> None:
        while event not in self.happened:
            await run_loop_turns(1)


async def test_the_first_connect_makes_all_steps_in_order() -> None:
    parts = ControlParts()
    await parts.control.connect()
    steps = ["open 10.0.0.1", "prepare", "REGISTER", "read", "schema", "adopted", "take"]
    assert parts.happened == steps
    assert parts.control.connection is parts.opened[0]
    assert parts.control.current_host is parts.control.host
    assert parts.control.required() is parts.opened[0]


@pytest.mark.parametrize("step", ["prepare", "REGISTER", "read", "schema"])
async def test_a_step_that_fails_leads_to_the_next_contact_point(step: str) -> None:
    parts = ControlParts(A, B)
    parts.fail(step, ConnectionException("lost"))
    await parts.control.connect()
    assert [connection.closed for connection in parts.opened] == [True, False]
    assert parts.control.connection is parts.opened[1]


async def test_no_host_available_has_the_errors_of_all_contact_points() -> None:
    parts = ControlParts(A, B)
    parts.fail("open 10.0.0.1", OSError("no route"))
    parts.fail("open 10.0.0.2", ValueError("of a resolver"))
    with pytest.raises(NoHostAvailable) as failure:
        await parts.control.connect()
    assert set(failure.value.errors) == {str(A), str(B)}
    with pytest.raises(ConnectionException, match="no control connection"):
        parts.control.required()


async def test_refused_credentials_are_not_tried_at_the_next_contact_point() -> None:
    parts = ControlParts(A, B)
    for endpoint in (A, B):
        parts.fail(f"open {endpoint.address}", AuthenticationFailed("bad password"))
    with pytest.raises(LoginRefused):
        await parts.control.connect()
    # After the refused login, no other contact point was tried.
    assert len(parts.happened) == 1


async def test_after_a_loss_another_connection_is_opened_and_all_is_read_again() -> None:
    """When the control connection is lost, the failure is reported, and the steps of connecting are
    repeated. Then the schema may have changed, and hosts may be up, without our notice.
    """
    parts = ControlParts(A)
    await parts.control.connect()
    parts.happened.clear()
    parts.opened[0].close(ConnectionException("lost"))
    assert parts.control.current_host is None
    await parts.until("look again")
    steps = ["open 10.0.0.1", "prepare", "REGISTER", "read", "adopted", "take"]
    assert parts.happened == [("failure", "10.0.0.1"), *steps, "schema moved", "look again"]


async def test_a_replaced_connection_that_closes_again_is_ignored() -> None:
    parts = ControlParts()
    await parts.control.connect()
    first = parts.opened[0]
    first.close(ConnectionException("lost"))
    await parts.until("look again")
    parts.happened.clear()
    parts.control._on_closed(first, ConnectionException("once more"))
    await run_loop_turns()
    assert parts.happened == []


async def test_attempts_continue_until_a_host_answers() -> None:
    parts = ControlParts()
    await parts.control.connect()
    errors: list[Exception] = [OSError("down"), ValueError("a fault"), DriverException("refused")]
    parts.fail("open 10.0.0.1", *errors)
    parts.opened[0].close()
    while parts.control.connection is None:
        parts.control.on_host_up()
        await run_loop_turns(1)
    # It was opened at the first connect, in three attempts that failed, and in a successful one.
    assert parts.happened.count("open 10.0.0.1") == 5


async def test_a_host_that_comes_up_ends_the_reconnection_delay() -> None:
    class HourlyDelay(NoDelay):
        def new_schedule(self) -> Iterator[float]:
            return iter([3600.0])

    parts = ControlParts(reconnection_policy=HourlyDelay())
    await parts.control.connect()
    parts.fail("open 10.0.0.1", OSError("down"))
    parts.opened[0].close()
    await run_loop_turns()
    assert parts.control.connection is None
    parts.control.on_host_up()
    await run_loop_turns()
    assert parts.control.connection is not None


# -- the log of an outage --------------------------------------------------------------------------


async def test_an_outage_is_logged_once_for_each_reason_and_its_end_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "cassandra.cluster")
    parts = ControlParts()
    await parts.control.connect()
    refused, denied = DriverException("refused"), DriverException("denied")
    parts.fail("open 10.0.0.1", refused, refused, denied, refused, denied)
    parts.opened[0].close()
    while parts.control.connection is None:
        await run_loop_turns(1)
    records = [
        record
        for record in caplog.records
        if "found no host, next" in record.msg or "control connection is at" in record.msg
    ]
    levels = [record.levelname for record in records]
    assert levels == ["WARNING", "INFO", "WARNING", "INFO", "INFO", "WARNING"]
    message = records[-1].getMessage()
    assert message.startswith("the control connection is at 10.0.0.1:9042 now; it found no host")


async def test_a_repeated_reason_is_logged_again_after_a_while(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = OSError("refused"), OSError("no route")
    outage = _OutageLog()
    outage.report(NoHostAvailable("none", {"a": first, "b": second}), 1.0)
    outage.report(NoHostAvailable("none", {"b": second, "a": first}), 1.0)  # another order
    assert len(caplog.records) == 1
    monkeypatch.setattr("cassandra.engine.control.connection.REMINDER_INTERVAL", 0.0)
    outage.report(NoHostAvailable("none", {"a": first, "b": second}), 1.0)
    assert len(caplog.records) == 2


async def test_different_reasons_of_an_outage_do_not_flood_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    outage = _OutageLog()
    for number in range(50):
        outage.report(NoHostAvailable("none", {"a": OSError(f"attempt {number}")}), 1.0)
    assert len(caplog.records) == MOST_REASONS


async def test_a_move_without_an_outage_is_no_warning(caplog: pytest.LogCaptureFixture) -> None:
    parts = ControlParts()
    await parts.control.connect()
    parts.opened[0].close()
    await run_loop_turns()
    assert parts.control.connection is not None
    assert caplog.records == []


# -- events ----------------------------------------------------------------------------------------


async def test_events_go_to_their_handlers() -> None:
    parts = ControlParts()
    await parts.control.connect()
    body = string("STATUS_CHANGE") + string("UP") + inet("10.0.0.9", 9042)
    parts.opened[0].on_event(EVENT, 0, body)
    assert parts.happened[-1] == {"change_type": "UP", "address": ("10.0.0.9", 9042)}


async def test_a_burst_of_topology_events_causes_one_reading() -> None:
    parts = ControlParts()
    await parts.control.connect()
    parts.happened.clear()
    for _ in range(10):
        parts.control.on_topology_change({})
    await parts.until("take")
    await run_loop_turns()
    assert parts.happened == ["read", "take"]


async def test_topology_events_cause_no_reading_if_it_is_switched_off() -> None:
    parts = ControlParts(topology_event_refresh_window=-1)
    parts.control.on_topology_change({})
    assert parts.control._debouncer.due is None
    parts = ControlParts()
    parts.enabled = False
    parts.control.on_topology_change({})
    assert parts.control._debouncer.due is None


async def test_a_failed_reading_replaces_the_connection() -> None:
    parts = ControlParts()
    await parts.control.connect()
    parts.fail("read", DriverException("overloaded"))
    parts.control.on_topology_change({})
    await parts.until("look again")
    assert [connection.closed for connection in parts.opened] == [True, False]


async def test_refresh_nodes_reads_and_rebuilds() -> None:
    parts = ControlParts()
    await parts.control.connect()
    await parts.control.refresh_nodes(rebuild=True)
    assert parts.happened[-2:] == ["read", "take, rebuild"]


# -- end -------------------------------------------------------------------------------------------


async def test_after_close_no_connection_is_opened() -> None:
    parts = ControlParts()
    await parts.control.connect()
    parts.control.on_topology_change({})
    parts.control.close()
    await run_loop_turns()
    assert parts.opened[0].closed
    assert parts.happened[-1] == "take"
    with pytest.raises(ConnectionShutdown):
        parts.control.required()


async def test_a_connection_that_opens_during_close_is_closed() -> None:
    parts = ControlParts()

    async def shut_down(connection: Any, local: Host) -> None:
        parts.control.close()

    # `on_connected` is called as the last step before the connection is adopted.
    parts.on_connected = shut_down  # type: ignore[method-assign]
    await parts.control.connect()
    assert parts.opened[0].closed
    assert parts.control.connection is None
