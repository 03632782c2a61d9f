"""Fake nodes send events and change their node list, and the driver's hosts must follow."""

from __future__ import annotations

import asyncio
import logging
import uuid
from typing import Any

import pytest

from cassandra.engine.control.doubts import DELAYS
from cassandra.engine.endpoint import DefaultEndPoint
from cassandra.policies import ConstantReconnectionPolicy, DCAwareRoundRobinPolicy, HostDistance
from cassandra.testing.fake import FakeCluster, FakeNode, Opcode
from tests.unit.engine.faults import (
    IDEMPOTENT_READ,
    READ,
    HostEvents,
    call_in_thread,
    connected,
    control_node,
    int_row,
    pooled_addresses,
)
from tests.waiting import until_on_loop

pytestmark = pytest.mark.simulated


@pytest.mark.parametrize("sends_new_node", [True, False])
async def test_a_node_that_was_replaced_is_another_host(sends_new_node: bool) -> None:
    """If a new node takes over the address of a lost node, the driver replaces the host object.

    The new node has another host id. Some servers send only DOWN and UP in this case, and no
    NEW_NODE.
    """
    with FakeCluster(2) as nodes:
        settings: Any = {
            "topology_event_refresh_window": 0,
            "status_event_refresh_window": 0,
            "reconnection_policy": ConstantReconnectionPolicy(delay=0.05, max_attempts=None),
        }
        async with connected(nodes, **settings) as (cluster, session):
            control_address = cluster.get_control_connection_host().address
            replaced = next(node for node in nodes.nodes if node.address != control_address)
            host_before = cluster.metadata.get_host(replaced.address)
            events = HostEvents()
            cluster.register_listener(events)
            # Replace the node that does not have the control connection by a node with another host
            # id.
            await call_in_thread(nodes.stop_node, replaced)
            await events.expect("down", replaced.address)
            replaced.host_id = uuid.UUID(int=99)
            await call_in_thread(nodes.start_node, replaced)
            if sends_new_node:
                await call_in_thread(nodes.tell, "TOPOLOGY_CHANGE", "NEW_NODE", replaced)
            await until_on_loop(
                lambda: cluster.metadata.get_host_by_host_id(replaced.host_id) is not None
            )
            # The new host has its own host object and a pool, and the old host object is gone.
            new_host = cluster.metadata.get_host_by_host_id(replaced.host_id)
            assert new_host is not None
            assert new_host is cluster.metadata.get_host(replaced.address, replaced.port)
            assert new_host is not host_before
            await until_on_loop(lambda: bool(new_host.is_up))
            await until_on_loop(lambda: any(host is new_host for host in session.get_pool_state()))
            assert not any(host is host_before for host in cluster.metadata.all_hosts())
            assert len(cluster.metadata.all_hosts()) == 2


async def test_a_node_with_a_stale_row_is_found_again_after_a_restart() -> None:
    """A node that has a row of another address, too, may restart. The driver finds its address.

    If the node list is read while the node is down, the other address is tried. No event tells that
    it is the wrong one.
    """
    with FakeCluster(2) as nodes:
        settings: Any = {
            "topology_event_refresh_window": 0,
            "reconnection_policy": ConstantReconnectionPolicy(delay=1.0, max_attempts=None),
        }
        async with connected(nodes, **settings) as (cluster, session):
            control = control_node(nodes)
            assert control is not None
            restarted = next(node for node in nodes.nodes if node is not control)
            stale = FakeNode(
                "127.0.0.99", nodes.port, host_id=restarted.host_id, tokens=restarted.tokens
            )
            control.peers = [restarted, stale]
            events = HostEvents()
            cluster.register_listener(events)
            await call_in_thread(nodes.stop_node, restarted)
            await events.expect("down", restarted.address)
            await cluster.refresh_nodes()
            assert cluster.metadata.get_host(stale.address) is not None
            # The node starts, but its event UP is lost.
            await call_in_thread(restarted.start)
            await asyncio.sleep(3 * DELAYS[-1])
            host = cluster.metadata.get_host(restarted.address)
            assert host is not None
            assert host.is_up
            assert cluster.metadata.get_host(stale.address) is None
            assert restarted.address in pooled_addresses(session)


async def test_rows_without_tokens_are_ignored(nodes: FakeCluster) -> None:
    """Rows of system.peers without tokens make no hosts.

    Nodes that are joining or have left leave such rows behind.
    """
    for node in nodes.nodes:
        node.peers = [*node.peers, FakeNode("127.0.0.99", nodes.port, tokens=())]
    async with connected(nodes) as (cluster, session):
        assert {host.address for host in cluster.metadata.all_hosts()} == set(nodes.contact_points)
        assert (await session.execute(IDEMPOTENT_READ)).one().k == 0


@pytest.mark.slow
async def test_nodes_that_join_and_leave_are_added_and_removed(nodes: FakeCluster) -> None:
    """When nodes join or leave, hosts are added or removed, and listeners are notified."""
    async with connected(nodes) as (cluster, session):
        events = HostEvents()
        cluster.register_listener(events)
        added = await call_in_thread(nodes.add_node)
        await events.expect("add", added.address)
        await events.expect("up", added.address)
        victim = next(node for node in nodes.nodes if node is not control_node(nodes))
        await call_in_thread(nodes.remove_node, victim)
        await events.expect("remove", victim.address)
        assert {host.address for host in cluster.metadata.all_hosts()} == set(nodes.contact_points)
        assert (await session.execute(IDEMPOTENT_READ)) is not None


async def test_many_events_cause_few_readings(nodes: FakeCluster) -> None:
    """One thousand events in quick succession cause at most three readings of the node list."""
    async with connected(nodes) as (cluster, _):
        node = control_node(nodes)
        assert node is not None
        events = HostEvents()
        cluster.register_listener(events)
        node.forget_requests()
        added = await call_in_thread(nodes.add_node)
        for _ in range(500):
            node.send_event("TOPOLOGY_CHANGE", "NEW_NODE", added.address, added.port)
            node.send_event("STATUS_CHANGE", "UP", "127.0.9.9", added.port)
        await events.expect("add", added.address)
        readings = [request for request in node.requests if "peers" in (request.query or "")]
        # There were 1000 events, so without the shared readings there would be many more.
        assert 1 <= len(readings) <= 3


async def test_a_down_event_of_a_host_that_answers_is_ignored(
    nodes: FakeCluster,
) -> None:
    """A DOWN event about a host to which the driver has open connections is ignored.

    The driver's own connections prove more than the report of another node.
    """
    async with connected(nodes) as (_, session):
        node = control_node(nodes)
        assert node is not None
        receiver_count = await call_in_thread(
            node.send_event, "STATUS_CHANGE", "DOWN", nodes[0].address, nodes.port
        )
        assert receiver_count == 1
        for _ in range(5):
            assert (await session.execute(IDEMPOTENT_READ)).one().k == 0


async def test_schema_events_and_unknown_events_disturb_nothing(
    nodes: FakeCluster, caplog: pytest.LogCaptureFixture
) -> None:
    """Schema events and an event with an unknown change do not stop later events.

    They cause no errors in the log.
    """
    async with connected(nodes) as (_, session):
        node = control_node(nodes)
        assert node is not None
        node.send_event("SCHEMA_CHANGE", "CREATED", "KEYSPACE", "ks")
        node.send_event("SCHEMA_CHANGE", "UPDATED", "TABLE", "ks", "t")
        node.send_event("SCHEMA_CHANGE", "DROPPED", "FUNCTION", "ks", "f", ["int"])
        node.send_event("STATUS_CHANGE", "SIDEWAYS", nodes[0].address, nodes.port)
        added = await call_in_thread(nodes.add_node)
        assert added.is_running
        assert (await session.execute(IDEMPOTENT_READ)).one().k == 0
        await until_on_loop(lambda: added.connections)
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []


async def test_unused_hosts_follow_events_without_a_connection(
    two_datacenters: FakeCluster,
) -> None:
    """A host that no policy uses is marked as up or down by the cluster's events alone.

    The driver does not connect to the host to check.
    """
    policy = DCAwareRoundRobinPolicy("east")
    async with connected(two_datacenters, {"load_balancing_policy": policy}) as (cluster, session):
        core = cluster._core
        assert core is not None
        events = HostEvents()
        cluster.register_listener(events)
        # Choose a node that does not have the control connection, because that connection may use
        # any host.
        victim = next(
            node
            for node in two_datacenters.nodes[1:]
            if node.address != cluster.get_control_connection_host().address
        )
        startups_before = victim.count(Opcode.STARTUP)
        await call_in_thread(two_datacenters.tell, "STATUS_CHANGE", "DOWN", victim)
        await events.expect("down", victim.address)
        # No policy uses the host, so the driver does not try to connect to the host.
        assert core.hosts._tries == {}
        await call_in_thread(two_datacenters.tell, "STATUS_CHANGE", "UP", victim)
        await events.expect("up", victim.address)
        assert victim.count(Opcode.STARTUP) == startups_before
        assert pooled_addresses(session) == {two_datacenters[0].address}


# -- another node at the same address, and a node at another address -------------------------------


async def test_another_node_under_the_same_address_is_another_host() -> None:
    """If a node gets another host id, listeners are notified of the old host's end first.

    The old host is removed, then a host with the same address is added and comes up.
    """
    with FakeCluster(2) as nodes:
        async with connected(nodes) as (cluster, session):
            control_address = cluster.get_control_connection_host().address
            replaced = next(node for node in nodes.nodes if node.address != control_address)
            host_before = cluster.metadata.get_host(replaced.address)
            events = HostEvents()
            cluster.register_listener(events)
            replaced.host_id = uuid.UUID(int=99)
            await cluster.refresh_nodes()
            new_host = cluster.metadata.get_host(replaced.address)
            assert new_host is not None
            assert new_host is not host_before
            await until_on_loop(lambda: new_host.is_up is True)
            # Listeners get each event exactly once.
            assert events.seen == [(event, replaced.address) for event in ("remove", "add", "up")]
            assert any(host is new_host for host in session.get_pool_state())
            assert host_before is not None
            assert host_before.is_up is False


async def test_a_node_found_under_a_new_address_has_moved(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """If a contact point leads to a known node under a new address, the host moves to this address.

    This happens, for example, when all pods of a Kubernetes cluster get new addresses.
    """
    with FakeCluster(2) as nodes:
        old_node, new_node = nodes.nodes
        # The new node has the host id of the old node, so both are the same node under two
        # addresses.
        old_node.peers = new_node.peers = []
        new_node.host_id = old_node.host_id
        new_node.prime(READ, int_row(7))
        async with connected(old_node) as (cluster, session):
            core = cluster._core
            assert core is not None
            events = HostEvents()
            cluster.register_listener(events)
            # From now on, the contact point leads to the new address.
            contacts = core.control._contacts
            contacts.named_endpoints = contacts.endpoints = [
                DefaultEndPoint(new_node.address, nodes.port)
            ]
            await call_in_thread(old_node.stop)
            await events.expect("add", new_node.address)
            await events.expect("up", new_node.address)
            assert [host.address for host in cluster.metadata.all_hosts()] == [new_node.address]
            assert (await session.execute(IDEMPOTENT_READ)).one().k == 7


async def test_a_node_reached_by_another_address_stays_the_same_host() -> None:
    """If the driver reaches a known node by another of its addresses, the host does not change.

    The node's own row still has the address that the driver knows.
    """
    with FakeNode() as node:
        async with connected(node) as (cluster, _):
            core = cluster._core
            assert core is not None
            events = HostEvents()
            cluster.register_listener(events)
            (host,) = cluster.metadata.all_hosts()
            connection = core.control.connection
            assert connection is not None
            # Read the node list as if this other address had been used for the control connection.
            other_endpoint = DefaultEndPoint("127.0.0.77", node.port)
            node_list = await core.control._node_lists.read(connection, other_endpoint)
            core.hosts.take_node_list(node_list)
            assert cluster.metadata.all_hosts() == [host]
            assert events.seen == []


# -- a node in another data centre -----------------------------------------------------------------


async def test_policies_follow_a_node_to_another_data_centre(
    two_datacenters: FakeCluster,
) -> None:
    """If a node's rows name another data centre, policies compute the host's distance again.

    Sessions then open or close their pools to the host.
    """
    policy = DCAwareRoundRobinPolicy("east")
    async with connected(two_datacenters, {"load_balancing_policy": policy}) as (cluster, session):
        events = HostEvents()
        cluster.register_listener(events)
        assert pooled_addresses(session) == {two_datacenters.nodes[0].address}
        # Move a node from "west" to the local data centre, and later back.
        two_datacenters.nodes[2].datacenter = "east"
        await cluster.refresh_nodes()
        host = cluster.metadata.get_host(two_datacenters.nodes[2].address)
        assert host is not None
        assert host.datacenter == "east"
        assert policy.distance(host) == HostDistance.LOCAL
        assert host in set(policy.make_query_plan())
        await until_on_loop(lambda: len(pooled_addresses(session)) == 2)
        two_datacenters.nodes[2].datacenter = "west"
        await cluster.refresh_nodes()
        assert host not in set(policy.make_query_plan())
        await until_on_loop(lambda: len(pooled_addresses(session)) == 1)
        # No host was added or removed, so listeners received no event.
        assert events.seen == []


async def test_a_node_that_moves_to_the_local_data_centre_while_down_is_tried(
    two_datacenters: FakeCluster,
) -> None:
    """If a host that is down moves to the local data centre, the driver tries to connect to it.

    While the host was in another data centre, no policy used it, so the driver did not try.
    """
    policy = DCAwareRoundRobinPolicy("east")
    async with connected(two_datacenters, {"load_balancing_policy": policy}) as (cluster, session):
        events = HostEvents()
        cluster.register_listener(events)
        victim = next(
            node
            for node in two_datacenters.nodes[1:]
            if node.address != cluster.get_control_connection_host().address
        )
        await call_in_thread(two_datacenters.tell, "STATUS_CHANGE", "DOWN", victim)
        await events.expect("down", victim.address)
        victim.datacenter = "east"
        await cluster.refresh_nodes()
        await events.expect("up", victim.address)
        assert pooled_addresses(session) == {two_datacenters[0].address, victim.address}
