"""The watch of hosts collects facts and performs actions, without a connection."""

from __future__ import annotations

import uuid
from typing import Any

from cassandra.engine.background import Background
from cassandra.engine.hosts.topology import NodeList
from cassandra.engine.hosts.watch import HostWatch
from cassandra.engine.listeners import Listeners
from cassandra.engine.sessions import Sessions
from cassandra.errors import AuthenticationFailed, ConnectionException
from cassandra.metadata.cluster_metadata import Metadata
from cassandra.metadata.host import Host
from cassandra.policies.balancing import HostDistance
from cassandra.policies.reconnection import ConstantReconnectionPolicy
from tests.unit.engine.partners import host, settings, turns

LOST = ConnectionException("lost")


class WatchedHosts:
    """A watch over two hosts, with one session whose pools the test sets."""

    def __init__(self, **changed: Any) -> None:
        self.first, self.second = host("10.0.0.1"), host("10.0.0.2")
        self.metadata = Metadata()
        self.metadata._replace_hosts([self.first, self.second])
        self.events: list[tuple[str, str]] = []
        self.listeners = Listeners(lambda: None)
        self.listeners.user_listeners = [self]
        self.probed: list[str] = []
        self.probe_error: Exception | None = None
        self.pools: dict[Host, object] = {}
        self.sessions = Sessions()
        session: Any = self
        self.sessions.add(session)
        self.background = Background()
        usual = {"reconnection_policy": ConstantReconnectionPolicy(0.0, 3)}
        self.watch = HostWatch(
            self.metadata,
            settings(**usual | changed),
            self.sessions,
            self.listeners,
            self.background,
            self.probe,
        )

    # The interface of a session.

    def distance(self, host: Host) -> int:
        return HostDistance.LOCAL

    async def add_pool(self, host: Host) -> None:
        if self.probe_error is None:
            self.pools[host] = object()
            self.watch.on_answer(host)

    def forget_host(self, host: Host, error: Exception) -> None:
        self.pools.pop(host, None)

    async def probe(self, host: Host) -> None:
        self.probed.append(str(host.address))
        if self.probe_error is not None:
            raise self.probe_error

    # The interface of a listener.

    def on_up(self, host: Host) -> None:
        self.events.append(("up", host.address))

    def on_down(self, host: Host) -> None:
        self.events.append(("down", host.address))

    def on_add(self, host: Host) -> None:
        self.events.append(("add", host.address))

    def on_remove(self, host: Host) -> None:
        self.events.append(("remove", host.address))

    async def settle(self) -> None:
        while self.watch._tries:
            await turns()
        await turns()


async def test_a_host_that_is_lost_is_tried_until_it_answers() -> None:
    world = WatchedHosts()
    world.probe_error = LOST
    world.watch.on_connection_failure(world.first, LOST)
    assert world.events == [("down", "10.0.0.1")]
    while not world.probed:
        await turns(1)
    world.probe_error = None
    await world.settle()
    assert world.events == [("down", "10.0.0.1"), ("up", "10.0.0.1")]
    assert world.first in world.pools


async def test_a_host_with_a_pool_is_not_down() -> None:
    world = WatchedHosts()
    world.pools[world.first] = object()
    world.watch.on_connection_failure(world.first, LOST)
    world.watch.on_reported_down(world.first)
    assert world.events == []


async def test_tries_end_with_the_schedule_and_the_host_is_given_up() -> None:
    world = WatchedHosts()
    world.probe_error = LOST
    world.watch.on_connection_failure(world.first, LOST)
    await world.settle()
    assert world.probed == ["10.0.0.1"] * 3
    assert world.first.state == "forced down"
    world.probe_error = None
    world.watch.on_reported_up(world.first)
    await world.settle()
    assert world.first.is_up


async def test_refused_credentials_end_the_tries() -> None:
    world = WatchedHosts()
    world.probe_error = AuthenticationFailed("no")
    world.watch.on_connection_failure(world.first, LOST)
    await world.settle()
    assert world.probed == ["10.0.0.1"]
    assert world.first.state == "forced down"


async def test_statements_are_prepared_on_a_host_before_it_counts_as_served() -> None:
    prepared: list[str] = []

    async def prepare(host: Host) -> None:
        prepared.append(host.address)

    for reprepare in (True, False):
        world = WatchedHosts(reprepare_on_up=reprepare)
        world.watch.prepare_on = prepare
        assert await world.watch.bring_up(world.first)
    assert prepared == ["10.0.0.1"]


def read(*hosts: Host, existing: list[Host]) -> NodeList:
    """Return a node list with these hosts."""
    ids = {each: each.host_id or uuid.uuid4() for each in hosts}
    rows: Any = [(each.endpoint, {"host_id": ids[each], "tokens": each.tokens}) for each in hosts]
    return NodeList(rows, existing, {each.endpoint: each for each in hosts}.__getitem__)


async def test_the_node_list_brings_and_takes_hosts() -> None:
    world = WatchedHosts()
    new = host("10.0.0.3", is_up=None)
    world.watch.take_node_list(read(world.first, new, existing=world.metadata.all_hosts()))
    assert world.events == [("remove", "10.0.0.2"), ("add", "10.0.0.3")]
    await world.settle()
    assert new in world.pools
    assert world.events[-1] == ("up", "10.0.0.3")
    assert not world.watch.knows(world.second)


async def test_the_placement_is_computed_again_if_tokens_change_or_that_is_asked_for() -> None:
    world = WatchedHosts()
    world.metadata.partitioner = "org.apache.cassandra.dht.Murmur3Partitioner"
    world.first.tokens, world.second.tokens = ("0",), ("100",)

    def take(rebuild: bool) -> int:
        hosts = world.metadata.all_hosts()
        world.watch.take_node_list(read(*hosts, existing=hosts), rebuild)
        return world.metadata.placement_version

    first = take(False)
    assert take(False) == first
    assert take(True) == first + 1


async def test_no_event_counts_after_close() -> None:
    world = WatchedHosts()
    world.probe_error = LOST
    world.watch.on_connection_failure(world.first, LOST)
    world.watch.close()
    await turns()
    world.watch.on_connection_failure(world.second, LOST)
    assert world.events == [("down", "10.0.0.1")]
    assert world.probed == []
