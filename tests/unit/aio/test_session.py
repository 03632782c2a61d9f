"""A session of the asyncio API: its methods, and its shutdown."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from cassandra import aio
from cassandra.aio import PlacedResult
from cassandra.errors import ConnectionShutdown, InvalidRequest
from cassandra.testing.fake import ErrorCode, FakeNode, Opcode, error, set_keyspace
from tests.unit.aio.conftest import READ

PREPARED = "SELECT v FROM t WHERE k = ?"


class Row(NamedTuple):
    k: int
    v: str


async def test_row_type_returns_instances_of_a_class(session: aio.Session) -> None:
    result = await session.execute(READ, row_type=Row)
    assert result.all() == [Row(1, "a"), Row(2, "b")]
    with pytest.raises(TypeError):
        session.execute(READ, row_type=5)  # type: ignore[call-overload]


async def test_set_keyspace_sets_or_keeps_the_keyspace(
    node: FakeNode, session: aio.Session
) -> None:
    node.prime('USE "Shop"', set_keyspace("Shop"))
    node.prime('USE "none"', error(ErrorCode.INVALID, "no such keyspace"))
    await session.set_keyspace("Shop")
    assert session.keyspace == "Shop"
    with pytest.raises(InvalidRequest, match="no such keyspace"):
        await session.set_keyspace("none")
    assert session.keyspace == "Shop"
    with pytest.raises(TypeError, match="a keyspace is a str"):
        await session.set_keyspace(5)  # type: ignore[arg-type]


async def test_prepare_and_prepare_all_prepare_each_query(
    node: FakeNode, session: aio.Session
) -> None:
    prepared = await session.prepare(PREPARED)
    others = await session.prepare_all([READ, PREPARED])
    assert [statement.query_string for statement in (prepared, *others)] == [
        PREPARED,
        READ,
        PREPARED,
    ]
    assert [request.query for request in node.requests if request.opcode == Opcode.PREPARE] == [
        PREPARED,
        READ,
        PREPARED,
    ]
    with pytest.raises(TypeError, match="not a single text"):
        await session.prepare_all(READ)


@pytest.mark.parametrize("in_order", [True, False])
async def test_execute_concurrent_returns_all_outcomes(
    session: aio.Session, in_order: bool
) -> None:
    outcomes = session.execute_concurrent(
        [(READ, None)] * 5, concurrency=2, row_type=Row, in_order=in_order
    )
    results = [outcome async for outcome in outcomes]
    assert [outcome.result_or_exc.one() for outcome in results] == [Row(1, "a")] * 5
    if not in_order:
        assert all(isinstance(outcome, PlacedResult) for outcome in results)
        assert sorted(outcome[-1] for outcome in results) == list(range(5))
    wrong: Any = 5
    with pytest.raises(TypeError):
        session.execute_concurrent([], row_type=wrong)


async def test_iterating_over_an_execution_says_to_await_it(session: aio.Session) -> None:
    execution: Any = session.execute("SELECT 1")
    with pytest.raises(TypeError, match=r"`async for row in await session.execute\(...\)`"):
        async for _ in execution:
            pass
    await execution


async def test_after_shutdown_execute_raises(node: FakeNode, cluster: aio.Cluster) -> None:
    async with await cluster.connect() as session:
        assert repr(session) == "<aio.Session: keyspace=None, 1 hosts>"
    await session.shutdown()
    assert session.is_shutdown
    assert repr(session) == "<aio.Session: keyspace=None, shut down>"
    with pytest.raises(ConnectionShutdown):
        await session.execute(READ)
    # The other sessions of the cluster still work.
    assert (await (await cluster.connect()).execute(READ)).one().k == 1
