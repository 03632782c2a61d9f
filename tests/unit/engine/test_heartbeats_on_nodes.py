"""How soon the driver notices that a node hangs, depending on the first sign of this.

The fake nodes run in virtual time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from cassandra import OperationTimedOut, aio
from cassandra.errors import ConnectionException
from cassandra.testing.fake import FakeCluster, FakeNode, Opcode, silence
from tests.unit.engine.faults import HostEvents, call_in_thread, connected, exception_of
from tests.waiting import until_on_loop

pytestmark = pytest.mark.simulated

# Idle connections get no heartbeats during these tests, so each check must have another cause.
HEARTBEATS: dict[str, Any] = {"idle_heartbeat_interval": 900.0, "idle_heartbeat_timeout": 5.0}
# The longest time in seconds from the first sign that a node hangs until the node is marked as
# down. It is the sum of a request's timeout, the heartbeat's timeout, the delay after which a
# heartbeat counts as late, and the attempt to connect again.
SOON = 2.0 + 5.0 + 1.0 + 2.0


# Each of the next functions causes a sign that the node `hung` hangs.


async def a_request_times_out(cluster: aio.Cluster, session: aio.Session, hung: FakeNode) -> None:
    failure = await exception_of(session.execute("anything", timeout=2.0))
    assert isinstance(failure, OperationTimedOut)


async def the_cluster_reports_it_down(
    cluster: aio.Cluster, session: aio.Session, hung: FakeNode
) -> None:
    """Pass a STATUS_CHANGE event to the control connection that says that `hung` is down."""
    core: Any = cluster._core
    event = {"change_type": "DOWN", "address": (hung.address, hung.port)}
    core.control.handlers["STATUS_CHANGE"](event)


async def a_query_of_the_control_connection_times_out(
    cluster: aio.Cluster, session: aio.Session, hung: FakeNode
) -> None:
    assert isinstance(await exception_of(cluster.refresh_nodes()), OperationTimedOut)


async def the_control_connection_breaks(
    cluster: aio.Cluster, session: aio.Session, hung: FakeNode
) -> None:
    core: Any = cluster._core
    core.control.connection.close(ConnectionException("reset by the network"))


async def a_connection_of_a_pool_breaks(
    cluster: aio.Cluster, session: aio.Session, hung: FakeNode
) -> None:
    """Break the first connection in the pool of the node `hung`."""
    for host, pool in session._engine.pools.items():
        if host.address == hung.address:
            pool.connections[0].close(ConnectionException("reset by the network"))


Sign = Callable[[aio.Cluster, aio.Session, FakeNode], Awaitable[None]]


@pytest.mark.parametrize(
    "sign",
    [
        a_request_times_out,
        the_cluster_reports_it_down,
        a_query_of_the_control_connection_times_out,
        the_control_connection_breaks,
        a_connection_of_a_pool_breaks,
    ],
    ids=lambda sign: sign.__name__,
)
async def test_a_hung_node_is_down_soon_after_the_first_sign(
    nodes: FakeCluster, sign: Sign, caplog: pytest.LogCaptureFixture
) -> None:
    """After any sign that a node may hang, the driver checks all connections to the node at once.

    The node is down within SOON seconds, although idle connections get no heartbeats for a long
    time.
    """
    async with connected(
        nodes, **HEARTBEATS, connections_per_host=2, control_connection_timeout=2.0
    ) as (cluster, session):
        events = HostEvents()
        cluster.register_listener(events)
        control_node = nodes.node_at(cluster.get_control_connection_host().address)
        hung = nodes[0] if sign is a_request_times_out else control_node
        await call_in_thread(hung.pause)
        # Afterwards, all connections have been silent long enough to be checked.
        await asyncio.sleep(3.0)
        clock = asyncio.get_running_loop().time
        started = clock()
        await sign(cluster, session, hung)
        await asyncio.wait_for(events.expect("down", hung.address), 100)
        assert clock() - started <= SOON
        # One log message names the host and the connections that did not respond.
        messages = [record.getMessage() for record in caplog.records]
        (message,) = (text for text in messages if "does not answer: no response" in text)
        assert message.startswith(f"host {hung.address}:{hung.port} ")
        assert "of sessions; closed" in message
        await until_on_loop(lambda: cluster.get_control_connection_host() is not None)
        assert cluster.get_control_connection_host().address != hung.address


async def test_a_slow_request_harms_no_connection(nodes: FakeCluster) -> None:
    """If a node responds to heartbeats, it stays up, although requests to it time out."""
    nodes.prime("SELECT slow", silence())
    async with connected(nodes, **HEARTBEATS) as (cluster, session):
        connections = [
            connection for pool in session._engine.pools.values() for connection in pool.connections
        ]
        count_before = nodes[0].count(Opcode.OPTIONS)
        for _ in range(3):
            failure = await exception_of(session.execute("SELECT slow", timeout=2.0))
            assert isinstance(failure, OperationTimedOut)
        await asyncio.sleep(20.0)
        assert nodes[0].count(Opcode.OPTIONS) > count_before
        assert not any(connection.closed for connection in connections)
        assert all(host.is_up for host in cluster.metadata.all_hosts())
