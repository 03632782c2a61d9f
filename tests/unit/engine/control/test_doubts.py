"""`NodeDoubts`, and fake nodes whose tables are wrong for a while.

No event comes when the tables are right again, so the driver has to read them again by itself.
"""

from __future__ import annotations

import asyncio
import uuid
from types import SimpleNamespace
from typing import Any

import pytest

from cassandra.connection import DefaultEndPoint, UnixSocketEndPoint
from cassandra.engine.control.doubts import DELAYS, MOST_LACKS, NodeDoubts
from cassandra.metadata.cluster_metadata import Metadata
from cassandra.metadata.host import Host
from cassandra.policies import ConstantReconnectionPolicy
from cassandra.testing.fake import FakeCluster, FakeNode
from tests.unit.engine.faults import (
    HostEvents,
    call_in_thread,
    connected,
    control_node,
    pooled_addresses,
)
from tests.unit.engine.partners import new_host
from tests.waiting import until_on_loop

pytestmark = pytest.mark.simulated

SETTINGS: Any = {
    "topology_event_refresh_window": 0,
    "status_event_refresh_window": 0,
    "reconnection_policy": ConstantReconnectionPolicy(delay=0.5, max_attempts=None),
}
ID_1, ID_2, ID_3 = (uuid.UUID(int=number) for number in (1, 2, 3))


def event(change: str, address: str = "10.0.0.2", port: int = 9042) -> dict[str, Any]:
    """Return the event of a server about a node."""
    return {"change_type": change, "address": (address, port)}


class Readings:
    """Readings of a node list, which take effect as in the driver.

    :param connected: the addresses of the nodes to which sessions have connections.
    """

    def __init__(self, *connected: str) -> None:
        self.connected = set(connected)
        self.metadata = Metadata()
        self.ignored: set[str] = set()  # the addresses of the nodes that no session wants
        self.doubts = NodeDoubts(
            self.metadata,
            lambda host: host.address in self.connected,
            lambda host: host.address in self.ignored,
        )
        self._hosts: dict[tuple[str, uuid.UUID], Host] = {}

    def read(self, *nodes: tuple[str, uuid.UUID], several: tuple[str, ...] = ()) -> list[str]:
        """Read a list with these nodes, (address, host id), and return the known addresses.

        :param several: the addresses that were chosen from several addresses of a node.
        """
        for address, host_id in nodes:
            if (address, host_id) not in self._hosts:
                self._hosts[address, host_id] = new_host(address, is_up=None)
                self._hosts[address, host_id].host_id = host_id
        hosts = [self._hosts[node] for node in nodes]
        known = self.metadata.all_hosts()
        node_list: Any = SimpleNamespace(
            local=hosts[0],
            hosts=hosts,
            added=[host for host in hosts if not any(host is other for other in known)],
            removed=[host for host in known if not any(host is other for other in hosts)],
            several_addresses=[host for host in hosts if host.address in several],
            keep=hosts.append,
        )
        self.doubts.take(node_list)
        self.metadata._replace_hosts(hosts)
        return sorted(host.address for host in self.metadata.all_hosts())

    def remaining_delays(self, *nodes: tuple[str, uuid.UUID], **options: Any) -> list[float]:
        """Read the list again and again, and return the delays until there are no more doubts."""
        delays: list[float] = []
        while (delay := self.doubts.next_delay()) is not None and len(delays) < 20:
            delays.append(delay)
            self.read(*nodes, **options)
        return delays


NODE_1, NODE_2 = ("10.0.0.1", ID_1), ("10.0.0.2", ID_2)


def test_an_event_about_a_node_that_is_not_in_the_list() -> None:
    """The list is read again until the node is there, or until the delays have ended."""
    for change in ("NEW_NODE", "UP", "MOVED_NODE"):
        readings = Readings()
        readings.read(NODE_1)
        assert not readings.doubts.are_left()
        readings.doubts.note_event(event(change))
        assert readings.remaining_delays(NODE_1) == list(DELAYS)
        readings.doubts.note_event(event(change))
        assert readings.doubts.next_delay() == DELAYS[0]
        readings.read(NODE_1, NODE_2)
        assert not readings.doubts.are_left()


def test_a_removed_node_is_remembered_until_a_list_has_it_again() -> None:
    """Only an event tells that a node was removed; its row may be missing for other reasons."""
    readings = Readings()
    node_3 = ("10.0.0.3", ID_3)
    readings.read(NODE_1, NODE_2, node_3)
    _, host_2, host_3 = sorted(readings.metadata.all_hosts(), key=lambda host: host.address)
    readings.doubts.note_event(event("REMOVED_NODE"))
    readings.read(NODE_1)
    assert readings.doubts.is_removed(host_2)
    assert not readings.doubts.is_removed(host_3)
    readings.read(NODE_1, NODE_2)
    assert not readings.doubts.is_removed(host_2)


def test_a_contact_point_that_is_not_in_the_first_list() -> None:
    """The node that has told the first list may have started a moment ago."""
    readings = Readings()
    readings.read(NODE_1)
    names = DefaultEndPoint("10.0.0.1"), DefaultEndPoint("db.example"), UnixSocketEndPoint("/tmp/x")
    readings.doubts.note_contact_points(names)
    assert not readings.doubts.are_left()
    readings.doubts.note_contact_points([*names, DefaultEndPoint("10.0.0.2")])
    assert readings.doubts.next_delay() == DELAYS[0]
    readings.read(NODE_1, NODE_2)
    assert not readings.doubts.are_left()
    # A contact point that is no node of the cluster is not looked for for ever.
    readings.doubts.note_contact_points([DefaultEndPoint("10.0.0.9")])
    assert readings.remaining_delays(NODE_1, NODE_2) == list(DELAYS)


def test_the_port_of_an_event_may_be_another_one() -> None:
    readings = Readings()
    readings.read(NODE_1, NODE_2)
    readings.doubts.note_event(event("UP", port=9999))
    assert readings.doubts.next_delay() is None


def test_an_event_about_a_removed_node_that_is_still_in_the_list() -> None:
    readings = Readings()
    readings.read(NODE_1, NODE_2)
    readings.doubts.note_event(event("DOWN"))
    assert not readings.doubts.are_left()
    readings.doubts.note_event(event("REMOVED_NODE"))
    assert readings.doubts.next_delay() == DELAYS[0]
    assert readings.read(NODE_1, NODE_2) == ["10.0.0.1", "10.0.0.2"]
    assert readings.doubts.next_delay() == DELAYS[1]
    readings.read(NODE_1)
    assert not readings.doubts.are_left()
    # A node that is removed and added again is there.
    readings.doubts.note_event(event("REMOVED_NODE"))
    readings.doubts.note_event(event("NEW_NODE"))
    readings.read(NODE_1, NODE_2)
    assert not readings.doubts.are_left()


def test_connected_hosts_are_kept_if_only_their_row_is_missing() -> None:
    """A single list without a node that still works does not close its connections."""
    readings = Readings("10.0.0.2")
    readings.read(NODE_1, NODE_2, ("10.0.0.3", ID_3))
    # The node 10.0.0.3 is not connected.
    for _ in range(MOST_LACKS - 1):
        assert readings.read(NODE_1) == ["10.0.0.1", "10.0.0.2"]
        assert readings.doubts.are_left()
    assert readings.read(NODE_1) == ["10.0.0.1"]
    # Both rows come back.
    assert readings.doubts.are_left()
    readings.read(NODE_1, NODE_2, ("10.0.0.3", ID_3))
    assert not readings.doubts.are_left()
    # The count begins anew.
    assert readings.read(NODE_1, ("10.0.0.3", ID_3)) == ["10.0.0.1", "10.0.0.2", "10.0.0.3"]
    # The connections break.
    readings.connected.clear()
    assert readings.read(NODE_1, ("10.0.0.3", ID_3)) == ["10.0.0.1", "10.0.0.3"]


def test_lists_with_other_nodes_each_time_are_not_read_for_ever() -> None:
    """A managed service may name other peers in each reading."""
    readings = Readings()
    readings.read(NODE_1, NODE_2)
    number = 3
    readings.read(NODE_1, (f"10.0.0.{number}", uuid.UUID(int=number)))
    delays: list[float] = []
    while (delay := readings.doubts.next_delay()) is not None and len(delays) < 20:
        delays.append(delay)
        number += 1
        readings.read(NODE_1, (f"10.0.0.{number}", uuid.UUID(int=number)))
    assert delays == list(DELAYS)


def test_hosts_that_leave_or_move_are_not_kept() -> None:
    for change in ("REMOVED_NODE", "another address", "another node"):
        readings = Readings("10.0.0.2")
        readings.read(NODE_1, NODE_2)
        if change == "REMOVED_NODE":
            readings.doubts.note_event(event(change))
            assert readings.read(NODE_1) == ["10.0.0.1"]
        elif change == "another address":
            assert readings.read(NODE_1, ("10.0.0.9", ID_2)) == ["10.0.0.1", "10.0.0.9"]
        else:
            assert readings.read(NODE_1, ("10.0.0.2", ID_3)) == ["10.0.0.1", "10.0.0.2"]
            host = readings.metadata.get_host("10.0.0.2")
            assert host is not None
            assert host.host_id == ID_3
        assert readings.doubts.are_left() == (change == "another node")


def test_a_node_whose_address_another_node_has_taken_may_have_a_new_address() -> None:
    """When nodes swap their addresses, the row of one of them may come later."""
    readings = Readings("10.0.0.1", "10.0.0.2")
    readings.read(NODE_1, NODE_2)
    readings.read(("10.0.0.2", ID_1))
    assert readings.doubts.next_delay() == DELAYS[0]
    readings.read(("10.0.0.2", ID_1), ("10.0.0.1", ID_2))
    assert not readings.doubts.are_left()


def test_a_node_that_says_it_is_another_one() -> None:
    readings = Readings()
    readings.read(NODE_1, NODE_2)
    host = readings.metadata.get_host("10.0.0.2")
    assert host is not None
    readings.doubts.note_identity(host.endpoint, ID_3)
    assert readings.doubts.next_delay() == DELAYS[0]
    nodes = NODE_1, ("10.0.0.2", ID_3), ("10.0.0.4", ID_2)
    readings.read(*nodes)
    assert not readings.doubts.are_left()
    # The tables may be right: then they are believed at the end of the delays.
    readings.doubts.note_identity(host.endpoint, ID_2)
    assert readings.remaining_delays(*nodes) == list(DELAYS)


def test_a_node_with_several_addresses_is_in_doubt_until_one_has_answered() -> None:
    readings = Readings()
    readings.read(NODE_1, NODE_2, several=("10.0.0.2",))
    delays = readings.remaining_delays(NODE_1, NODE_2, several=("10.0.0.2",))
    assert delays == [*DELAYS, *[DELAYS[-1]] * (20 - len(DELAYS))]
    host = readings.metadata.get_host("10.0.0.2")
    assert host is not None
    host.set_up()
    assert not readings.doubts.are_left()


def test_the_addresses_of_a_node_that_is_down_take_turns() -> None:
    """A reading that chooses the other address is no new doubt: the delays grow."""
    readings = Readings()
    readings.read(NODE_1, NODE_2, several=("10.0.0.2",))
    delays = []
    for number in range(10):
        delays.append(readings.doubts.next_delay())
        address = ("10.0.0.9", "10.0.0.2")[number % 2]
        readings.read(NODE_1, (address, ID_2), several=(address,))
    assert delays == [*DELAYS, *[DELAYS[-1]] * (10 - len(DELAYS))]


def test_each_reading_may_name_other_nodes() -> None:
    """Some services do so. The list is then read once a minute, and not all the time."""
    readings = Readings("10.0.0.2", "10.0.0.3")
    node_3 = ("10.0.0.3", ID_3)
    readings.read(NODE_1, NODE_2, node_3)
    delays = []
    for number in range(20):
        readings.read(NODE_1, (NODE_2, node_3)[number % 2])
        delays.append(readings.doubts.next_delay())
    assert delays[: len(DELAYS)] == list(DELAYS)
    assert set(delays[len(DELAYS) :]) == {DELAYS[-1]}
    # A host that was kept does not stay if it has left.
    for _ in range(MOST_LACKS):
        assert readings.doubts.next_delay() is not None
        readings.read(NODE_1)
    assert readings.metadata.get_host("10.0.0.3") is None
    assert readings.metadata.get_host("10.0.0.2") is None


def test_a_node_that_nobody_wants_to_reach_is_not_in_doubt() -> None:
    """For example, a node of another data centre, one of whose addresses is out of date."""
    readings = Readings()
    readings.ignored.add("10.0.0.2")
    readings.read(NODE_1, NODE_2, several=("10.0.0.2",))
    assert not readings.doubts.are_left()


# -- on fake nodes -------------------------------------------------------------------------------


async def test_a_row_that_comes_after_its_event_is_found() -> None:
    """A new node is used although its row comes seconds after its events."""
    with FakeCluster(2) as nodes:
        async with connected(nodes, **SETTINGS) as (cluster, session):
            old_nodes = list(nodes.nodes)
            new_node = await call_in_thread(nodes.add_node)
            for node in old_nodes:
                node.peers = [other for other in node.peers if other is not new_node]
            await asyncio.sleep(1.0)
            assert cluster.metadata.get_host(new_node.address) is None
            await asyncio.sleep(4.0)
            for node in old_nodes:
                node.peers = [*node.peers, new_node]
            await until_on_loop(lambda: new_node.address in pooled_addresses(session))


async def test_a_row_that_goes_after_its_event_is_forgotten() -> None:
    with FakeCluster(3) as nodes:
        async with connected(nodes, **SETTINGS) as (cluster, _):
            control = control_node(nodes)
            removed = next(node for node in nodes.nodes if node is not control)
            await call_in_thread(nodes.remove_node, removed)
            for node in nodes.nodes:
                node.peers = [*node.peers, removed]
            await asyncio.sleep(5.0)
            assert cluster.metadata.get_host(removed.address) is not None
            for node in nodes.nodes:
                node.peers = [other for other in node.peers if other is not removed]
            await until_on_loop(lambda: cluster.metadata.get_host(removed.address) is None)


async def test_a_node_that_knows_no_others_yet_does_not_close_their_pools() -> None:
    """If the peers of the queried node are empty for a moment, no healthy host is removed."""
    with FakeCluster(3) as nodes:
        async with connected(nodes, **SETTINGS) as (cluster, session):
            events = HostEvents()
            cluster.register_listener(events)
            control = control_node(nodes)
            assert control is not None
            peers, control.peers = control.peers, []
            await cluster.refresh_nodes()
            assert len(cluster.metadata.all_hosts()) == 3
            assert len(pooled_addresses(session)) == 3
            control.peers = peers
            await asyncio.sleep(sum(DELAYS))
            assert len(cluster.metadata.all_hosts()) == 3
            assert events.seen == []


async def test_nodes_come_back_that_the_first_restarted_node_did_not_know() -> None:
    """After a restart of the whole cluster, the node that answers first may know no others yet."""
    with FakeCluster(3) as nodes:
        async with connected(nodes, **SETTINGS) as (cluster, session):
            peers = {node: node.peers for node in nodes.nodes}
            for node in nodes.nodes:
                await call_in_thread(node.stop)
                node.peers = []
            await until_on_loop(lambda: not any(h.is_up for h in cluster.metadata.all_hosts()))
            for node in nodes.nodes:
                await call_in_thread(node.start)
            await until_on_loop(lambda: len(cluster.metadata.all_hosts()) == 1)
            await asyncio.sleep(2.0)
            for node in nodes.nodes:
                node.peers = peers[node]
            await until_on_loop(lambda: len(pooled_addresses(session)) == 3)


async def test_the_other_address_of_a_node_is_tried_soon() -> None:
    """If a node has a row with its old address, too, the live address is found within seconds."""
    with FakeCluster(2) as nodes:
        other = nodes.nodes[1]
        stale = FakeNode("127.0.0.99", nodes.port, host_id=other.host_id, tokens=other.tokens)
        nodes.nodes[0].peers = [stale, other]
        async with connected(nodes.nodes[0], **SETTINGS) as (_, session):
            started = asyncio.get_running_loop().time()
            await until_on_loop(lambda: other.address in pooled_addresses(session))
            assert asyncio.get_running_loop().time() - started < 10.0


async def test_a_node_with_another_id_is_noticed_when_it_is_reached_again() -> None:
    """Two nodes swap their addresses while events are lost. Their tokens swap, too."""
    with FakeCluster(3) as nodes:
        async with connected(nodes, **SETTINGS) as (cluster, _):
            control = control_node(nodes)
            first, second = (node for node in nodes.nodes if node is not control)
            for node in (first, second):
                await call_in_thread(node.stop)
            first.host_id, second.host_id = second.host_id, first.host_id
            first.tokens, second.tokens = second.tokens, first.tokens
            for node in (first, second):
                await call_in_thread(node.start)

            def are_right() -> bool:
                hosts = [cluster.metadata.get_host(node.address) for node in (first, second)]
                return [host and host.host_id for host in hosts] == [first.host_id, second.host_id]

            await until_on_loop(are_right)
