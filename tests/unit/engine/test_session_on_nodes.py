"""Tests of sessions on fake nodes: their shutdown, and their keyspace on each connection."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from cassandra.errors import ConnectionShutdown, InvalidRequest, NoHostAvailable
from cassandra.policies.balancing import HostFilterPolicy, RoundRobinPolicy
from cassandra.policies.retry import FallthroughRetryPolicy
from cassandra.query import SimpleStatement
from cassandra.testing.fake import ErrorCode, FakeCluster, FakeNode, error, hold
from tests.unit.engine.faults import (
    IDEMPOTENT_READ,
    READ,
    READ_OTHER,
    AddressOrderPolicy,
    call_in_thread,
    connected,
    exception_of,
    int_row,
    node as node,
)
from tests.waiting import until_on_loop

pytestmark = pytest.mark.simulated

NON_IDEMPOTENT_READ = SimpleStatement(READ, is_idempotent=False)


async def test_cluster_shutdown_fails_the_requests_in_flight(node: FakeNode) -> None:
    """`Cluster.shutdown` ends 50 requests in flight with ConnectionShutdown.

    Later requests are refused, and all connections are closed.
    """
    held_answers = hold()
    node.prime(READ, held_answers)
    async with connected(node) as (cluster, session):
        requests = [session.execute(READ) for _ in range(50)]
        await call_in_thread(held_answers.wait, len(requests))
        await cluster.shutdown()
        for request in requests:
            assert isinstance(await exception_of(request), ConnectionShutdown)
        assert isinstance(await exception_of(session.execute(READ_OTHER)), ConnectionShutdown)
    await call_in_thread(node.wait_for, lambda node: not node.connections)


async def test_session_shutdown_does_not_affect_other_sessions(node: FakeNode) -> None:
    """`Session.shutdown` ends the requests of this session, and no requests of other sessions."""
    held_answer = hold()
    node.prime(READ, held_answer)
    async with connected(node) as (cluster, session):
        other_session = await cluster.connect()
        request = session.execute(READ)
        await call_in_thread(held_answer.wait)
        await session.shutdown()
        assert isinstance(await exception_of(request), ConnectionShutdown)
        assert (await other_session.execute(READ_OTHER)).one().k == 1


def keyspaces_of_pool(node: FakeNode) -> list[str | None]:
    """Return the keyspaces of the connections that the node has for pools.

    The control connection is left out: only this connection is registered for events.
    """
    return [connection.keyspace for connection in node.connections if not connection.event_types]


async def test_a_keyspace_is_used_on_every_connection(nodes: FakeCluster) -> None:
    """After `set_keyspace`, all connections of the session are in the keyspace.

    This includes connections that are opened later.
    """
    async with connected(nodes) as (_, session):
        await session.set_keyspace("ks")
        for node in nodes.nodes:
            assert keyspaces_of_pool(node) == ["ks"]
        # A connection that is opened later must switch to the keyspace, too.
        await call_in_thread(nodes[0].drop_connections)
        await until_on_loop(lambda: len(keyspaces_of_pool(nodes[0])) > 0)
        assert (await session.execute(IDEMPOTENT_READ)) is not None
        await until_on_loop(lambda: keyspaces_of_pool(nodes[0]) == ["ks"])


class ReversedOrderPolicy(AddressOrderPolicy):
    """A policy whose query plans start with the last host."""

    def make_query_plan(self, working_keyspace: str | None = None, query: Any = None) -> Any:
        hosts = list(super().make_query_plan(working_keyspace, query))
        return reversed(hosts)


async def test_a_connection_that_cannot_use_the_keyspace_is_not_used(nodes: FakeCluster) -> None:
    """If a node does not know the session's keyspace, it gets no requests of the session."""
    nodes[0].prime('USE "ks"', error(ErrorCode.INVALID, "Keyspace 'ks' does not exist"))
    # The USE is sent to the last node, which accepts it.
    profile_settings = {
        "retry_policy": FallthroughRetryPolicy(),
        "load_balancing_policy": ReversedOrderPolicy(),
    }
    async with connected(nodes, profile_settings) as (_, session):
        await session.set_keyspace("ks")
        for _ in range(5):
            assert (await session.execute(NON_IDEMPOTENT_READ)).one().k != 0


@pytest.mark.parametrize("version", [3, 4, 5])
async def test_nodes_are_used_after_the_keyspace_of_the_session_was_dropped(version: int) -> None:
    """After the session's keyspace was dropped, statements that name another keyspace still work.

    New connections cannot use the dropped keyspace. When the keyspace is back, all statements work
    again.
    """
    qualified = "SELECT k FROM other.t"
    with FakeNode(max_version=version) as node:
        node.prime(qualified, int_row(1))
        node.prime(READ, int_row(2))
        node.keyspaces = {"ks"}
        async with connected(node) as (cluster, session):
            await session.set_keyspace("ks")
            # Drop the keyspace on the node, and let the driver open a new connection.
            node.keyspaces = set()
            node.prime(READ, error(ErrorCode.INVALID, "Keyspace 'ks' does not exist"))
            await call_in_thread(node.drop_connections)
            await until_on_loop(lambda: keyspaces_of_pool(node) == [None])
            assert (await session.execute(qualified)).one().k == 1
            assert all(host.is_up for host in cluster.metadata.all_hosts())
            assert isinstance(await exception_of(session.execute(READ)), InvalidRequest)
            # The keyspace is back, so the unqualified statement works again.
            node.keyspaces = {"ks"}
            node.prime(READ, int_row(2))
            assert (await session.execute(READ)).one().k == 2


async def test_a_missing_keyspace_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    """If a keyspace is missing, only the first of several new connections logs a warning.

    If the keyspace was back and is missing again, there is another warning.
    """

    async def reopen(node: FakeNode, expected: str | None) -> None:
        """Let the pool open a new connection, and wait until it is in the expected keyspace."""
        await call_in_thread(node.drop_connections)
        await until_on_loop(lambda: keyspaces_of_pool(node) == [expected])
        await asyncio.sleep(1)  # the loss of a younger connection would count as a failure

    def warnings() -> int:
        return caplog.text.count("cannot use the keyspace 'ks'")

    with FakeNode() as node:
        node.keyspaces = {"ks"}
        async with connected(node) as (_, session):
            await session.set_keyspace("ks")
            await asyncio.sleep(1)
            node.keyspaces = set()
            for _ in range(3):
                await reopen(node, None)
            assert warnings() == 1
            node.keyspaces = {"ks"}
            await reopen(node, "ks")
            node.keyspaces = set()
            await reopen(node, None)
            assert warnings() == 2


async def test_a_policy_may_change_its_mind_without_an_event(nodes: FakeCluster) -> None:
    """If a policy starts to use other hosts without any event, the session soon opens their pools.

    For example, an application's filter may depend on a flag for a failover. The first request
    finds no pool, and makes the session open the pools.
    """
    allowed = {nodes[0].address}
    policy = HostFilterPolicy(RoundRobinPolicy(), lambda host: host.address in allowed)
    async with connected(nodes, {"load_balancing_policy": policy}) as (_, session):
        assert (await session.execute(IDEMPOTENT_READ)).one().k == 0
        # Wait until the policies have been asked for the distances, which happens after the events
        # of `connect`.
        await asyncio.sleep(1)
        allowed.clear()
        allowed.add(nodes[2].address)
        assert isinstance(await exception_of(session.execute(IDEMPOTENT_READ)), NoHostAvailable)
        host = next(host for host in session.hosts if host.address == nodes[2].address)
        await until_on_loop(lambda: host in session._engine.pools)
        assert (await session.execute(IDEMPOTENT_READ)).one().k == 2
        assert len(session._engine.pools) == 1
