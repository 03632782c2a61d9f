"""A correct program that uses the asyncio API, for test_type_checkers.py.

Type checkers must accept this file; nothing runs it.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncGenerator, Awaitable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cassandra.aio import Cluster, ExecutionResult, PlacedResult, ResultSet, Session
from cassandra.auth import PlainTextAuthProvider
from cassandra.cluster import ExecutionProfile
from cassandra.metadata.host import Host
from cassandra.policies import ConstantReconnectionPolicy
from cassandra.query.trace import QueryTrace

if TYPE_CHECKING:
    from typing_extensions import assert_type


@dataclass
class Order:
    """The class of the rows (`row_type`)."""

    id: int
    total: float


def cluster() -> Cluster:
    return Cluster(
        ["10.0.0.1", ("10.0.0.2", 9043)],
        port=9042,
        auth_provider=PlainTextAuthProvider("ada", "secret"),
        reconnection_policy=ConstantReconnectionPolicy(1.0),
        execution_profiles={"slow": ExecutionProfile(request_timeout=60)},
        schema_read_timeout=None,
        connections_per_host=2,
    )


async def read(session: Session) -> list[Order]:
    orders = await session.execute("SELECT id, total FROM orders", row_type=Order)
    assert_type(orders, ResultSet[Order])
    async for order in orders:
        assert_type(order.total, float)
    sent = session.execute("SELECT 1", timeout=2.0, execution_profile="slow")
    assert_type(sent, Awaitable[ResultSet[Any]])
    await sent
    prepared = await session.prepare("INSERT INTO orders (id, total) VALUES (?, ?)")
    await asyncio.gather(*(session.execute(prepared, (n, 1.0)) for n in range(3)))
    async for outcome in session.execute_concurrent([(prepared, (1, 2.0))], concurrency=10):
        print(outcome)
    return await (await session.execute("SELECT id, total FROM orders", row_type=Order)).fetch_all()


async def many(session: Session, as_they_come: bool) -> None:
    pairs = [("SELECT 1", None), ("SELECT 2", None)]
    async for outcome in session.execute_concurrent(pairs, 10, False, Order):
        assert_type(outcome, ExecutionResult)
    async for placed in session.execute_concurrent(pairs, in_order=False, execution_profile="slow"):
        assert_type(placed, PlacedResult)
        assert_type(placed.position, int)
    either = session.execute_concurrent(pairs, in_order=not as_they_come)
    assert_type(either, AsyncGenerator[ExecutionResult | PlacedResult, None])


async def traces(session: Session) -> None:
    result = await session.execute("SELECT 1", trace=True)
    assert_type(result.trace_id, uuid.UUID | None)
    assert_type(await result.get_query_trace(), QueryTrace | None)
    assert_type(result.coordinator_host, Host | None)


async def main() -> None:
    async with cluster() as connected, await connected.connect("shop") as session:
        assert_type(session, Session)
        assert_type(await read(session), list[Order])
