"""How the control connection connects and reconnects, with fakes instead of sockets."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from cassandra.engine.control.connection import MOST_REASONS, ControlConnection, _OutageLog
from cassandra.engine.control.contacts import Contacts
from cassandra.engine.control.doubts import NodeDoubts
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

ENDPOINT_A, ENDPOINT_B = DefaultEndPoint("10.0.0.1"), DefaultEndPoint("10.0.0.2")
NEW_NODE = {"change_type": "NEW_NODE", "address": ("10.0.0.1", 9042)}  # an event


class ImmediateReconnectionPolicy:
    """A reconnection policy without any delay."""

    def new_schedule(self) -> Iterator[float]:
        while True:
            yield 0.0


class ControlHarness:
    """Fakes of everything that a `ControlConnection` uses.

    The `ControlConnection` calls the methods of this class, which record each step in `steps`, in
    order. `opened` lists the connections.

    :param endpoints: the contact points. If none is given, ENDPOINT_A is the only one.
    :param changed: settings of the engine that replace the defaults of this class.
    """

    def __init__(self, *endpoints: EndPoint, **changed: Any) -> None:
        self.steps: list[Any] = []
        self.enabled = True  # schema metadata is enabled
        self.errors: dict[str, list[Exception]] = {}
        self.opened: list[Any] = []
        self.metadata = Metadata()
        defaults = {
            "endpoints": list(endpoints) or [ENDPOINT_A],
            "reconnection_policy": ImmediateReconnectionPolicy(),
            "topology_event_refresh_window": 0.0,
        }
        self.settings = engine_settings(**defaults | changed)
        self.control = ControlConnection(
            self.settings,
            self.open,
            self.ask,
            Contacts(self.settings, self.metadata, self.in_thread, lambda host: False),
            self,  # reads the node list
            self,  # adopts the node list and checks hosts
            self,  # reads the schema
            NodeDoubts(self.metadata, lambda host: False, lambda host: False),
            spawn,
        )
        self.control.handlers = {
            "TOPOLOGY_CHANGE": self.control.on_topology_change,
            "STATUS_CHANGE": self.steps.append,
        }
        self.control.on_adopted = lambda connection: self.steps.append("adopted")

    def fail(self, step: str, *errors: Exception) -> None:
        """Make the next calls of a step fail: each call raises the next error of `errors`."""
        self.errors[step] = list(errors)

    def step(self, name: str) -> None:
        """Record a step, and raise the next error that `fail` has set for this step, if any."""
        self.steps.append(name)
        if self.errors.get(name):
            raise self.errors[name].pop(0)

    async def in_thread(self, function: Any) -> Any:
        return function()

    async def open(self, endpoint: EndPoint) -> Any:
        self.step(f"open {endpoint.address}")
        self.opened.append(fake_connection(str(endpoint.address)))
        return self.opened[-1]

    async def ask(self, connection: Any, opcode: int, body: bytes, purpose: str) -> Any:
        self.step(purpose)
        assert connection.on_event is not None

    async def prepare(self, connection: Any) -> None:
        self.step("prepare")

    async def read(self, connection: Any, endpoint: EndPoint) -> Any:
        self.step("read")
        local = new_host(str(endpoint.address))
        return SimpleNamespace(
            local=local,
            hosts=[local],
            added=[],
            removed=[],
            several_addresses=[],
            is_strange=False,
        )

    def take_node_list(self, node_list: Any, rebuild: bool = False) -> None:
        self.steps.append("take, rebuild" if rebuild else "take")

    def recheck(self) -> None:
        self.steps.append("look again")

    def on_connection_failure(self, host: Host, error: Exception) -> None:
        self.steps.append(("failure", host.address))

    async def on_connected(self, connection: Any, local: Host) -> None:
        self.step("schema")

    def on_moved(self, local: Host) -> None:
        self.steps.append("schema moved")

    async def until(self, step: Any) -> None:
        """Let the event loop run until this step is recorded."""
        while step not in self.steps:
            await run_loop_turns(1)


async def test_the_first_connect_makes_all_steps_in_order() -> None:
    """The first `connect` makes all steps in order.

    The driver registers for events before it reads nodes and schema, so that it misses no change.
    """
    harness = ControlHarness()
    await harness.control.connect()
    expected_steps = ["open 10.0.0.1", "prepare", "REGISTER", "read", "schema", "adopted", "take"]
    assert harness.steps == expected_steps
    assert harness.control.connection is harness.opened[0]
    assert harness.control.current_host is harness.control.host
    assert harness.control.required() is harness.opened[0]


@pytest.mark.parametrize("step", ["prepare", "REGISTER", "read", "schema"])
async def test_a_step_that_fails_leads_to_the_next_contact_point(step: str) -> None:
    """If any step at the first contact point fails, the next contact point is tried.

    The first connection is closed. At the next contact point, the driver starts again with the
    first step.
    """
    harness = ControlHarness(ENDPOINT_A, ENDPOINT_B)
    harness.fail(step, ConnectionException("lost"))
    await harness.control.connect()
    assert [connection.closed for connection in harness.opened] == [True, False]
    assert harness.control.connection is harness.opened[1]


async def test_no_host_available_has_the_errors_of_all_contact_points() -> None:
    """If every contact point fails, `connect` raises NoHostAvailable with the error of each.

    Afterwards, there is no control connection, so `required` raises ConnectionException.
    """
    harness = ControlHarness(ENDPOINT_A, ENDPOINT_B)
    harness.fail("open 10.0.0.1", OSError("no route"))
    harness.fail("open 10.0.0.2", ValueError("mistake in a resolver"))
    with pytest.raises(NoHostAvailable) as failure:
        await harness.control.connect()
    assert set(failure.value.errors) == {str(ENDPOINT_A), str(ENDPOINT_B)}
    with pytest.raises(ConnectionException, match="no control connection"):
        harness.control.required()


async def test_refused_credentials_are_not_tried_at_the_next_contact_point() -> None:
    """Wrong credentials are sent to one contact point only.

    Some servers count failed logins and lock the role.
    """
    harness = ControlHarness(ENDPOINT_A, ENDPOINT_B)
    for endpoint in (ENDPOINT_A, ENDPOINT_B):
        harness.fail(f"open {endpoint.address}", AuthenticationFailed("bad password"))
    with pytest.raises(LoginRefused):
        await harness.control.connect()
    # After the refused login, no other contact point was tried.
    assert len(harness.steps) == 1


async def test_after_a_loss_another_connection_is_opened_and_all_is_read_again() -> None:
    """When the control connection is lost, the driver reports the failure and connects again.

    Events may have been missed, so the driver also reads the schema again and checks the states of
    hosts.
    """
    harness = ControlHarness(ENDPOINT_A)
    await harness.control.connect()
    harness.steps.clear()
    harness.opened[0].close(ConnectionException("lost"))
    assert harness.control.current_host is None
    await harness.until("look again")
    expected_steps = ["open 10.0.0.1", "prepare", "REGISTER", "read", "adopted", "take"]
    assert harness.steps == [
        ("failure", "10.0.0.1"),
        *expected_steps,
        "schema moved",
        "look again",
    ]


async def test_a_replaced_connection_that_closes_again_is_ignored() -> None:
    """If a connection that was already replaced reports again that it is closed, nothing happens.

    The new connection must not be disturbed.
    """
    harness = ControlHarness()
    await harness.control.connect()
    lost_connection = harness.opened[0]
    lost_connection.close(ConnectionException("lost"))
    await harness.until("look again")
    harness.steps.clear()
    harness.control._on_closed(lost_connection, ConnectionException("once more"))
    await run_loop_turns()
    assert harness.steps == []


async def test_attempts_continue_until_a_host_answers() -> None:
    """Whatever error a reconnection attempt raises, another attempt follows until one succeeds."""
    harness = ControlHarness()
    await harness.control.connect()
    errors: list[Exception] = [OSError("down"), ValueError("a fault"), DriverException("refused")]
    harness.fail("open 10.0.0.1", *errors)
    harness.opened[0].close()
    while harness.control.connection is None:
        # This starts the next attempt at once.
        harness.control.on_host_up()
        await run_loop_turns(1)
    # `connect` opens one connection, and each reconnection attempt opens one more.
    assert harness.steps.count("open 10.0.0.1") == 1 + len(errors) + 1


async def test_a_host_that_comes_up_ends_the_reconnection_delay() -> None:
    """`on_host_up` starts a reconnection attempt at once.

    Here, the next attempt would be due in an hour.
    """

    class HourlyDelay(ImmediateReconnectionPolicy):
        def new_schedule(self) -> Iterator[float]:
            return iter([3600.0])

    harness = ControlHarness(reconnection_policy=HourlyDelay())
    await harness.control.connect()
    harness.fail("open 10.0.0.1", OSError("down"))
    harness.opened[0].close()
    await run_loop_turns()
    assert harness.control.connection is None
    harness.control.on_host_up()
    await run_loop_turns()
    assert harness.control.connection is not None


# -- the log of an outage --------------------------------------------------------------------------


async def test_an_outage_is_logged_once_for_each_reason_and_its_end_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """During an outage, each new reason is logged as a warning.

    A repeated reason is logged at level INFO. The end of the outage is a warning, too.
    """
    caplog.set_level(logging.INFO, "cassandra.cluster")
    harness = ControlHarness()
    await harness.control.connect()
    refused, denied = DriverException("refused"), DriverException("denied")
    harness.fail("open 10.0.0.1", refused, refused, denied, refused, denied)
    harness.opened[0].close()
    while harness.control.connection is None:
        await run_loop_turns(1)
    records = [
        record
        for record in caplog.records
        if "found no host, next" in record.msg or "control connection is at" in record.msg
    ]
    levels = [record.levelname for record in records]
    # refused, refused, denied, refused, denied, and the end of the outage.
    assert levels == ["WARNING", "INFO", "WARNING", "INFO", "INFO", "WARNING"]
    message = records[-1].getMessage()
    assert message.startswith("the control connection is at 10.0.0.1:9042 now; it found no host")


async def test_a_repeated_reason_is_logged_again_after_a_while(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While attempts fail for the same reasons, warnings are rare.

    One warning per REMINDER_INTERVAL seconds is logged.
    """
    refused, unreachable = OSError("refused"), OSError("no route")
    delay = 1.0  # seconds until the next attempt
    outage = _OutageLog()
    outage.report(NoHostAvailable("none", {"a": refused, "b": unreachable}), delay)
    # The reasons are the same although the hosts are listed in reverse order, so no second warning
    # is logged.
    outage.report(NoHostAvailable("none", {"b": unreachable, "a": refused}), delay)
    assert len(caplog.records) == 1
    # With an interval of 0 seconds, the next warning is allowed at once.
    monkeypatch.setattr("cassandra.engine.control.connection.REMINDER_INTERVAL", 0.0)
    outage.report(NoHostAvailable("none", {"a": refused, "b": unreachable}), delay)
    assert len(caplog.records) == 2


async def test_different_reasons_of_an_outage_do_not_flood_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """At most MOST_REASONS different reasons are logged as warnings in one outage."""
    outage = _OutageLog()
    for number in range(50):
        outage.report(NoHostAvailable("none", {"a": OSError(f"attempt {number}")}), 1.0)
    assert len(caplog.records) == MOST_REASONS


async def test_a_move_without_an_outage_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    """If the first attempt after a lost connection succeeds, nothing is logged."""
    harness = ControlHarness()
    await harness.control.connect()
    harness.opened[0].close()
    await run_loop_turns()
    assert harness.control.connection is not None
    assert caplog.records == []


# -- events ----------------------------------------------------------------------------------------


async def test_events_go_to_their_handlers() -> None:
    """An event of the control connection is decoded and passed to the handler of its type."""
    harness = ControlHarness()
    await harness.control.connect()
    body = string("STATUS_CHANGE") + string("UP") + inet("10.0.0.9", 9042)
    harness.opened[0].on_event(EVENT, 0, body)
    # The handler of STATUS_CHANGE has recorded the event as a step.
    assert harness.steps[-1] == {"change_type": "UP", "address": ("10.0.0.9", 9042)}


async def test_many_topology_events_in_one_window_cause_one_reading() -> None:
    """Ten topology events in quick succession make the driver read the node list only once.

    The step "take" records that the node list was passed on.
    """
    harness = ControlHarness()
    await harness.control.connect()
    harness.steps.clear()
    for _ in range(10):
        harness.control.on_topology_change(NEW_NODE)
    await harness.until("take")
    await run_loop_turns()
    assert harness.steps == ["read", "take"]


async def test_topology_events_cause_no_reading_if_it_is_switched_off() -> None:
    """No topology event starts a reading of the node list while such readings are disabled.

    A negative `topology_event_refresh_window` disables them, and so does disabled metadata.
    """
    # `due` is None if no reading of the node list is scheduled.
    harness = ControlHarness(topology_event_refresh_window=-1)
    harness.control.on_topology_change(NEW_NODE)
    assert harness.control._debouncer.due is None
    harness = ControlHarness()
    harness.enabled = False
    harness.control.on_topology_change(NEW_NODE)
    assert harness.control._debouncer.due is None


async def test_a_failed_reading_replaces_the_connection() -> None:
    """If the node list cannot be read after an event, the control connection is replaced."""
    harness = ControlHarness()
    await harness.control.connect()
    harness.fail("read", DriverException("overloaded"))
    harness.control.on_topology_change(NEW_NODE)
    await harness.until("look again")
    assert [connection.closed for connection in harness.opened] == [True, False]


async def test_refresh_nodes_reads_and_rebuilds() -> None:
    """`refresh_nodes` reads the node list, and passes it on together with `rebuild`."""
    harness = ControlHarness()
    await harness.control.connect()
    await harness.control.refresh_nodes(rebuild=True)
    assert harness.steps[-2:] == ["read", "take, rebuild"]


# -- end -------------------------------------------------------------------------------------------


async def test_after_close_no_connection_is_opened() -> None:
    """`close` closes the control connection and drops topology events that still wait.

    These events would have caused a reading of the node list.
    """
    harness = ControlHarness()
    await harness.control.connect()
    harness.control.on_topology_change(NEW_NODE)
    harness.control.close()
    await run_loop_turns()
    assert harness.opened[0].closed
    # "take" is the last step of `connect`. A reading of the node list would have added "read".
    assert harness.steps[-1] == "take"
    with pytest.raises(ConnectionShutdown):
        harness.control.required()


async def test_a_connection_that_opens_during_close_is_closed() -> None:
    """If `close` is called while `connect` still runs, `connect` leaves nothing open.

    The connection that `connect` has just opened must be closed, too.
    """
    harness = ControlHarness()

    async def shut_down(connection: Any, local: Host) -> None:
        harness.control.close()

    # `on_connected` is the last step before `connect` adopts the connection.
    harness.on_connected = shut_down  # type: ignore[method-assign]
    await harness.control.connect()
    assert harness.opened[0].closed
    assert harness.control.connection is None
