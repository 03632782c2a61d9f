"""Sessions on fake nodes: their shutdown, and their keyspace on each connection."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from cassandra.errors import ConnectionShutdown
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
    node as node,
    three_nodes,
)
from tests.waiting import until_on_loop

pytestmark = pytest.mark.simulated

UNSAFE = SimpleStatement(READ, is_idempotent=False)


async def test_cluster_shutdown_fails_the_requests_in_flight(node: FakeNode) -> None:
    held = hold()
    node.prime(READ, held)
    async with connected(node) as (cluster, session):
        waiting = [session.execute(READ) for _ in range(50)]
        await call_in_thread(held.wait, 50)
        await cluster.shutdown()
        for request in waiting:
            assert isinstance(await exception_of(request), ConnectionShutdown)
        assert isinstance(await exception_of(session.execute(READ_OTHER)), ConnectionShutdown)
    await call_in_thread(node.wait_for, lambda node: not node.connections)


async def test_session_shutdown_does_not_affect_other_sessions(node: FakeNode) -> None:
    held = hold()
    node.prime(READ, held)
    async with connected(node) as (cluster, session):
        other = await cluster.connect()
        waiting = session.execute(READ)
        await call_in_thread(held.wait)
        await session.shutdown()
        assert isinstance(await exception_of(waiting), ConnectionShutdown)
        assert (await other.execute(READ_OTHER)).one().k == 1


@pytest.fixture
def nodes() -> Iterator[FakeCluster]:
    with three_nodes() as cluster:
        yield cluster


async def test_a_keyspace_is_used_on_every_connection(nodes: FakeCluster) -> None:
    async with connected(nodes) as (_, session):
        await session.set_keyspace("ks")
        keyspaces = [
            connection.keyspace
            for node in nodes.nodes
            for connection in node.connections
            if not connection.event_types
        ]
        # There is one connection to each of the three nodes.
        assert keyspaces == ["ks"] * 3
        # A connection that is opened later switches to the keyspace, too.
        await call_in_thread(nodes[0].drop_connections)
        await until_on_loop(
            lambda: any(not connection.event_types for connection in nodes[0].connections)
        )
        assert (await session.execute(IDEMPOTENT_READ)) is not None
        await until_on_loop(
            lambda: (
                [
                    connection.keyspace
                    for connection in nodes[0].connections
                    if not connection.event_types
                ]
                == ["ks"]
            )
        )


async def test_a_connection_that_cannot_use_the_keyspace_is_not_used(nodes: FakeCluster) -> None:
    nodes[0].prime('USE "ks"', error(ErrorCode.INVALID, "Keyspace 'ks' does not exist"))
    async with connected(
        nodes, {"retry_policy": FallthroughRetryPolicy(), "load_balancing_policy": ReversedOrder()}
    ) as (
        _,
        session,
    ):
        await session.set_keyspace("ks")
        for _ in range(5):
            assert (await session.execute(UNSAFE)).one().k != 0


class ReversedOrder(AddressOrderPolicy):
    """A policy whose plans begin with the last host."""

    def make_query_plan(self, working_keyspace: str | None = None, query: Any = None) -> Any:
        return iter(list(super().make_query_plan(working_keyspace, query))[::-1])
