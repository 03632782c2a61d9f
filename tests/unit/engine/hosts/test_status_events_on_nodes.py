"""Servers report hosts by events and by rows of the node list."""

from __future__ import annotations

import logging
import uuid
from typing import Any

import pytest

from cassandra.engine.endpoint import DefaultEndPoint
from cassandra.policies import (
    ConstantReconnectionPolicy,
    DCAwareRoundRobinPolicy,
    HostDistance,
)
from cassandra.testing.fake import (
    FakeCluster,
    FakeNode,
    Opcode,
    void,
)
from tests.unit.engine.faults import (
    READ,
    SAFE,
    HostEvents,
    connected,
    control_node,
    number,
    pooled,
    thread,
)
from tests.waiting import until_on_loop

pytestmark = pytest.mark.simulated


@pytest.mark.parametrize("tells_of_new_nodes", [True, False])
async def test_a_node_that_was_replaced_is_another_host(tells_of_new_nodes: bool) -> None:
    """A node with another host id is another host, whatever its address. Some servers send only
    DOWN and UP.
    """
    with FakeCluster(2) as nodes:
        windows: Any = {
            "topology_event_refresh_window": 0,
            "status_event_refresh_window": 0,
            "reconnection_policy": ConstantReconnectionPolicy(0.05, None),
        }
        async with connected(nodes, **windows) as (cluster, session):
            control_address = cluster.get_control_connection_host().address
            replaced = next(node for node in nodes.nodes if node.address != control_address)
            before = cluster.metadata.get_host(replaced.address)
            events = HostEvents()
            cluster.register_listener(events)
            await thread(nodes.stop_node, replaced)
            await events.expect("down", replaced.address)
            replaced.host_id = uuid.UUID(int=99)
            await thread(nodes.start_node, replaced)
            if tells_of_new_nodes:
                await thread(nodes.tell, "TOPOLOGY_CHANGE", "NEW_NODE", replaced)
            await until_on_loop(
                lambda: cluster.metadata.get_host_by_host_id(replaced.host_id) is not None
            )
            after = cluster.metadata.get_host_by_host_id(replaced.host_id)
            assert after is not None
            assert after is cluster.metadata.get_host(replaced.address, replaced.port)
            assert after is not before
            await until_on_loop(lambda: bool(after.is_up))
            await until_on_loop(lambda: any(host is after for host in session.get_pool_state()))
            assert not any(host is before for host in cluster.metadata.all_hosts())
            assert len(cluster.metadata.all_hosts()) == 2


async def test_rows_of_half_a_node_are_ignored(nodes: FakeCluster) -> None:
    """Rows without tokens are ignored: a node that joins or has left leaves such rows behind."""
    for node in nodes.nodes:
        node.peers = [*node.peers, FakeNode("127.0.0.99", nodes.port, tokens=())]
    async with connected(nodes) as (cluster, session):
        assert {host.address for host in cluster.metadata.all_hosts()} == set(nodes.contact_points)
        assert (await session.execute(SAFE)).one().k == 0


@pytest.mark.slow
async def test_nodes_that_join_and_leave(nodes: FakeCluster) -> None:
    async with connected(nodes) as (cluster, session):
        events = HostEvents()
        cluster.register_listener(events)
        added = await thread(nodes.add_node)
        await events.expect("add", added.address)
        await events.expect("up", added.address)
        victim = next(node for node in nodes.nodes if node is not control_node(nodes))
        await thread(nodes.remove_node, victim)
        await events.expect("remove", victim.address)
        assert {host.address for host in cluster.metadata.all_hosts()} == set(nodes.contact_points)
        assert (await session.execute(SAFE)) is not None


async def test_a_storm_of_events_is_one_reading(nodes: FakeCluster) -> None:
    async with connected(nodes) as (cluster, _):
        node = control_node(nodes)
        assert node is not None
        events = HostEvents()
        cluster.register_listener(events)
        node.forget_requests()
        added = await thread(nodes.add_node)
        for _ in range(500):
            node.send_event("TOPOLOGY_CHANGE", "NEW_NODE", added.address, added.port)
            node.send_event("STATUS_CHANGE", "UP", "127.0.9.9", added.port)
        await events.expect("add", added.address)
        readings = [request for request in node.requests if "peers" in (request.query or "")]
        assert 1 <= len(readings) <= 3


async def test_an_event_that_a_host_is_down_is_not_believed_while_it_answers(
    nodes: FakeCluster,
) -> None:
    async with connected(nodes) as (_, session):
        node = control_node(nodes)
        assert node is not None
        assert (
            await thread(node.send_event, "STATUS_CHANGE", "DOWN", nodes[0].address, nodes.port)
            == 1
        )
        node.prime("after the event", void())
        for _ in range(5):
            assert (await session.execute(SAFE)).one().k == 0


async def test_schema_events_and_events_of_unknown_types(
    nodes: FakeCluster, caplog: pytest.LogCaptureFixture
) -> None:
    async with connected(nodes) as (_, session):
        node = control_node(nodes)
        assert node is not None
        node.send_event("SCHEMA_CHANGE", "CREATED", "KEYSPACE", "ks")
        node.send_event("SCHEMA_CHANGE", "UPDATED", "TABLE", "ks", "t")
        node.send_event("SCHEMA_CHANGE", "DROPPED", "FUNCTION", "ks", "f", ["int"])
        node.send_event("STATUS_CHANGE", "SIDEWAYS", nodes[0].address, nodes.port)
        added = await thread(nodes.add_node)
        assert added.is_running
        assert (await session.execute(SAFE)).one().k == 0
        await until_on_loop(lambda: added.connections)
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []


async def test_hosts_that_are_not_used_follow_events_without_a_connection(
    far: FakeCluster,
) -> None:
    policy = DCAwareRoundRobinPolicy("east")
    async with connected(far, {"load_balancing_policy": policy}) as (cluster, session):
        core = cluster._core
        assert core is not None
        events = HostEvents()
        cluster.register_listener(events)
        # Any of the contact points may have been used first.
        victim = next(
            node
            for node in far.nodes[1:]
            if node.address != cluster.get_control_connection_host().address
        )
        opened = victim.count(Opcode.STARTUP)
        await thread(far.tell, "STATUS_CHANGE", "DOWN", victim)
        await events.expect("down", victim.address)
        assert core.hosts._tries == {}
        await thread(far.tell, "STATUS_CHANGE", "UP", victim)
        await events.expect("up", victim.address)
        assert victim.count(Opcode.STARTUP) == opened
        assert pooled(session) == {far[0].address}


# -- one address, another node; one node, another address ------------------------------------------


async def test_another_node_under_the_same_address_is_another_host() -> None:
    with FakeCluster(2) as nodes:
        async with connected(nodes) as (cluster, session):
            control_address = cluster.get_control_connection_host().address
            replaced = next(node for node in nodes.nodes if node.address != control_address)
            before = cluster.metadata.get_host(replaced.address)
            events = HostEvents()
            cluster.register_listener(events)
            replaced.host_id = uuid.UUID(int=99)
            await cluster.refresh_nodes()
            after = cluster.metadata.get_host(replaced.address)
            assert after is not None
            assert after is not before
            await until_on_loop(lambda: after.is_up is True)
            # Listeners get each event once, and in order.
            assert events.seen == [(kind, replaced.address) for kind in ("remove", "add", "up")]
            assert any(host is after for host in session.get_pool_state())
            assert before is not None
            assert before.is_up is False


async def test_a_node_that_the_control_connection_finds_under_another_address_has_moved(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """If only the contact point leads to a node with a new address, as when all pods of a
    Kubernetes cluster get new addresses, the host is moved.
    """
    with FakeCluster(2) as nodes:
        old, new = nodes.nodes
        old.peers = new.peers = []
        new.host_id = old.host_id
        new.prime(READ, number(7))
        async with connected(old) as (cluster, session):
            core = cluster._core
            assert core is not None
            events = HostEvents()
            cluster.register_listener(events)
            contacts = core.control._contacts
            contacts.named_endpoints = contacts.endpoints = [
                DefaultEndPoint(new.address, nodes.port)
            ]
            await thread(old.stop)
            await events.expect("add", new.address)
            await events.expect("up", new.address)
            assert [host.address for host in cluster.metadata.all_hosts()] == [new.address]
            assert (await session.execute(SAFE)).one().k == 7


async def test_a_node_that_is_reached_by_another_of_its_names_stays_the_same_host() -> None:
    """If a node is reached by another of its names, its own row has the known address, so it is the
    same host.
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
            core.hosts.take_node_list(
                await core.control._node_lists.read(
                    connection, DefaultEndPoint("127.0.0.77", node.port)
                )
            )
            assert cluster.metadata.all_hosts() == [host]
            assert events.seen == []


# -- a node in another place -----------------------------------------------------------------------


async def test_policies_place_a_node_anew_that_has_changed_its_rack_or_data_centre(
    far: FakeCluster,
) -> None:
    policy = DCAwareRoundRobinPolicy("east")
    async with connected(far, {"load_balancing_policy": policy}) as (cluster, session):
        events = HostEvents()
        cluster.register_listener(events)
        assert pooled(session) == {far.nodes[0].address}
        far.nodes[2].datacenter = "east"
        await cluster.refresh_nodes()
        host = cluster.metadata.get_host(far.nodes[2].address)
        assert host is not None
        assert (host.datacenter, policy.distance(host)) == ("east", HostDistance.LOCAL)
        assert host in set(policy.make_query_plan())
        await until_on_loop(lambda: len(pooled(session)) == 2)
        far.nodes[2].datacenter = "west"
        await cluster.refresh_nodes()
        assert host not in set(policy.make_query_plan())
        await until_on_loop(lambda: len(pooled(session)) == 1)
        # For the application no host was added or removed: the host was there at connect.
        assert events.seen == []


async def test_a_node_that_moves_to_the_own_data_centre_while_it_is_down_is_tried(
    far: FakeCluster,
) -> None:
    async with connected(far, {"load_balancing_policy": DCAwareRoundRobinPolicy("east")}) as (
        cluster,
        session,
    ):
        events = HostEvents()
        cluster.register_listener(events)
        victim = next(
            node
            for node in far.nodes[1:]
            if node.address != cluster.get_control_connection_host().address
        )
        await thread(far.tell, "STATUS_CHANGE", "DOWN", victim)
        await events.expect("down", victim.address)
        victim.datacenter = "east"
        await cluster.refresh_nodes()
        await events.expect("up", victim.address)
        assert pooled(session) == {far[0].address, victim.address}
