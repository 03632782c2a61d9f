"""The order of the control connection's steps, without a socket."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from cassandra.engine.control.connection import ControlConnection
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
from tests.unit.engine.partners import connection, host, settings, spawn, turns

A, B = DefaultEndPoint("10.0.0.1"), DefaultEndPoint("10.0.0.2")


class AtOnce:
    """A reconnection policy whose next attempt is always due."""

    def new_schedule(self) -> Iterator[float]:
        while True:
            yield 0.0


class ControlParts:
    """Fakes of everything that a control connection uses; `happened` lists its steps in order."""

    def __init__(self, *endpoints: EndPoint, **changed: Any) -> None:
        self.happened: list[Any] = []
        self.enabled = True  # schema metadata
        self.errors: dict[str, list[Exception]] = {}
        self.opened: list[Any] = []
        self.metadata = Metadata()
        usual = {
            "endpoints": list(endpoints) or [A],
            "reconnection_policy": AtOnce(),
            "topology_event_refresh_window": 0.0,
        }
        self.settings = settings(**usual | changed)
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
        """Make a step fail, once for each error."""
        self.errors[step] = list(errors)

    def step(self, name: str) -> None:
        self.happened.append(name)
        if self.errors.get(name):
            raise self.errors[name].pop(0)

    async def in_thread(self, function: Any) -> Any:
        return function()

    async def open(self, endpoint: EndPoint) -> Any:
        self.step(f"open {endpoint.address}")
        self.opened.append(connection(str(endpoint.address)))
        return self.opened[-1]

    async def ask(self, connection: Any, opcode: int, body: bytes, what: str) -> Any:
        self.step(what)
        assert connection.on_event is not None

    async def prepare(self, connection: Any) -> None:
        self.step("prepare")

    async def read(self, connection: Any, endpoint: EndPoint) -> Any:
        self.step("read")
        return SimpleNamespace(local=host(str(endpoint.address)))

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

    async def until(self, thing: Any) -> None:
        while thing not in self.happened:
            await turns(1)


async def test_the_first_connection_step_by_step() -> None:
    world = ControlParts()
    await world.control.connect()
    steps = ["open 10.0.0.1", "prepare", "REGISTER", "read", "schema", "adopted", "take"]
    assert world.happened == steps
    assert world.control.connection is world.opened[0]
    assert world.control.current_host is world.control.host
    assert world.control.required() is world.opened[0]


@pytest.mark.parametrize("step", ["prepare", "REGISTER", "read", "schema"])
async def test_a_step_that_fails_leads_to_the_next_contact_point(step: str) -> None:
    world = ControlParts(A, B)
    world.fail(step, ConnectionException("lost"))
    await world.control.connect()
    assert [connection.closed for connection in world.opened] == [True, False]
    assert world.control.connection is world.opened[1]


async def test_errors_of_all_contact_points_are_told() -> None:
    world = ControlParts(A, B)
    world.fail("open 10.0.0.1", OSError("no route"))
    world.fail("open 10.0.0.2", ValueError("of a resolver"))
    with pytest.raises(NoHostAvailable) as failure:
        await world.control.connect()
    assert set(failure.value.errors) == {str(A), str(B)}
    with pytest.raises(ConnectionException, match="no control connection"):
        world.control.required()


async def test_refused_credentials_are_not_tried_at_the_next_one() -> None:
    world = ControlParts(A, B)
    for endpoint in (A, B):
        world.fail(f"open {endpoint.address}", AuthenticationFailed("bad password"))
    with pytest.raises(LoginRefused):
        await world.control.connect()
    assert len(world.happened) == 1


async def test_a_lost_connection_moves_and_catches_up() -> None:
    world = ControlParts(A)
    await world.control.connect()
    world.happened.clear()
    world.opened[0].close(ConnectionException("lost"))
    assert world.control.current_host is None
    await world.until("look again")
    steps = ["open 10.0.0.1", "prepare", "REGISTER", "read", "adopted", "take"]
    assert world.happened == [("failure", "10.0.0.1"), *steps, "schema moved", "look again"]


async def test_the_end_of_a_connection_that_was_replaced_is_no_loss() -> None:
    world = ControlParts()
    await world.control.connect()
    first = world.opened[0]
    first.close(ConnectionException("lost"))
    await world.until("look again")
    world.happened.clear()
    world.control._on_closed(first, ConnectionException("once more"))
    await turns()
    assert world.happened == []


async def test_tries_go_on_until_a_host_answers() -> None:
    world = ControlParts()
    await world.control.connect()
    errors: list[Exception] = [OSError("down"), ValueError("a fault"), DriverException("refused")]
    world.fail("open 10.0.0.1", *errors)
    world.opened[0].close()
    while world.control.connection is None:
        world.control.on_host_up()
        await turns(1)
    assert world.happened.count("open 10.0.0.1") == 5


async def test_a_host_that_comes_up_ends_the_wait() -> None:
    class Never(AtOnce):
        def new_schedule(self) -> Iterator[float]:
            return iter([3600.0])

    world = ControlParts(reconnection_policy=Never())
    await world.control.connect()
    world.fail("open 10.0.0.1", OSError("down"))
    world.opened[0].close()
    await turns()
    assert world.control.connection is None
    world.control.on_host_up()
    await turns()
    assert world.control.connection is not None


# -- events ----------------------------------------------------------------------------------------


async def test_events_go_to_their_handlers() -> None:
    world = ControlParts()
    await world.control.connect()
    body = string("STATUS_CHANGE") + string("UP") + inet("10.0.0.9", 9042)
    world.opened[0].on_event(EVENT, 0, body)
    assert world.happened[-1] == {"change_type": "UP", "address": ("10.0.0.9", 9042)}


async def test_a_burst_of_changes_is_one_reading() -> None:
    world = ControlParts()
    await world.control.connect()
    world.happened.clear()
    for _ in range(10):
        world.control.on_topology_change({})
    await world.until("take")
    await turns()
    assert world.happened == ["read", "take"]


async def test_changes_are_not_followed_if_reading_is_switched_off() -> None:
    world = ControlParts(topology_event_refresh_window=-1)
    world.control.on_topology_change({})
    assert world.control._debouncer.due is None
    world = ControlParts()
    world.enabled = False
    world.control.on_topology_change({})
    assert world.control._debouncer.due is None


async def test_a_reading_that_fails_gives_the_connection_up() -> None:
    world = ControlParts()
    await world.control.connect()
    world.fail("read", DriverException("overloaded"))
    world.control.on_topology_change({})
    await world.until("look again")
    assert [connection.closed for connection in world.opened] == [True, False]


async def test_a_reading_that_is_asked_for() -> None:
    world = ControlParts()
    await world.control.connect()
    await world.control.refresh_nodes(rebuild=True)
    assert world.happened[-2:] == ["read", "take, rebuild"]


# -- end -------------------------------------------------------------------------------------------


async def test_a_closed_one_does_not_come_back() -> None:
    world = ControlParts()
    await world.control.connect()
    world.control.on_topology_change({})
    world.control.close()
    await turns()
    assert world.opened[0].closed
    assert world.happened[-1] == "take"
    with pytest.raises(ConnectionShutdown):
        world.control.required()


async def test_a_connection_that_comes_after_the_end_is_closed() -> None:
    world = ControlParts()

    async def shut_down(connection: Any, local: Host) -> None:
        world.control.close()

    world.on_connected = shut_down  # type: ignore[method-assign]
    await world.control.connect()
    assert world.opened[0].closed
    assert world.control.connection is None
