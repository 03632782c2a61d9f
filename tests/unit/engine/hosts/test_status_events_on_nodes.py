"""Servers that tell of hosts by DOWN and UP alone."""

from __future__ import annotations

import uuid
from typing import Any

from cassandra.policies import ConstantReconnectionPolicy
from cassandra.testing.fake import FakeCluster
from tests.unit.engine.faults import HostEvents, connected, thread
from tests.waiting import until_on_loop


async def test_a_node_that_was_replaced_is_known_when_it_is_said_to_be_up() -> None:
    """Of servers that send only DOWN and UP, without REMOVED_NODE and NEW_NODE."""
    with FakeCluster(2) as nodes:
        windows: Any = {
            "topology_event_refresh_window": 0,
            "status_event_refresh_window": 0,
            "reconnection_policy": ConstantReconnectionPolicy(0.05, None),
        }
        async with connected(nodes, **windows) as (cluster, session):
            at = cluster.get_control_connection_host().address
            replaced = next(node for node in nodes.nodes if node.address != at)
            before = cluster.metadata.get_host(replaced.address)
            events = HostEvents()
            cluster.register_listener(events)
            await thread(nodes.stop_node, replaced)
            await events.expect("down", replaced.address)
            replaced.host_id = uuid.UUID(int=99)
            await thread(nodes.start_node, replaced)
            await until_on_loop(
                lambda: cluster.metadata.get_host_by_host_id(replaced.host_id) is not None
            )
            after = cluster.metadata.get_host_by_host_id(replaced.host_id)
            assert after is cluster.metadata.get_host(replaced.address)
            assert after is not before
            await until_on_loop(lambda: any(host is after for host in session.get_pool_state()))
            assert not any(host is before for host in cluster.metadata.all_hosts())
