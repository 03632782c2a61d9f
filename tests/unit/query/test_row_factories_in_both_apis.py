"""Rows of both APIs, of all sessions, statements and pages, have the same class of named tuples, or
are dicts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from cassandra import aio
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile
from cassandra.protocol.rowclass import row_class
from cassandra.query import SimpleStatement, dict_factory
from cassandra.testing.fake import FakeNode, paged

READ = "SELECT only_here, and_now FROM t"
ROWS = [(number, f"text {number}") for number in range(5)]
NAMES = ("only_here", "and_now")


@pytest.fixture
def node() -> Iterator[FakeNode]:
    """Yield a fake node that answers READ with ROWS, in pages."""
    with FakeNode() as fake_node:
        fake_node.prime(READ, paged([("only_here", "int"), ("and_now", "text")], ROWS))
        yield fake_node


def in_pages() -> SimpleStatement:
    """Return a statement that reads the rows in pages of two."""
    return SimpleStatement(READ, fetch_size=2)


async def read_with_asyncio(node: FakeNode, **settings: Any) -> list[Any]:
    """Return all rows of a query string and of a prepared statement."""
    async with aio.Cluster([node.address], port=node.port, **settings) as cluster:
        session = await cluster.connect()
        read_rows = [row async for row in await session.execute(in_pages())]
        prepared = await session.prepare(READ)
        return read_rows + [row async for row in await session.execute(prepared)]


def read_with_blocking_api(node: FakeNode, **settings: Any) -> list[Any]:
    """Return all rows of three executions on each of two sessions."""
    read_rows: list[Any] = []
    with Cluster([node.address], port=node.port, **settings) as cluster:
        # The second session uses what the first one has cached.
        for _ in range(2):
            session = cluster.connect()
            read_rows += session.execute(in_pages())
            read_rows += session.execute(session.prepare(READ))
            read_rows += session.execute_async(in_pages()).result()
    return read_rows


async def test_named_tuples_have_one_class(node: FakeNode) -> None:
    read_rows = read_with_blocking_api(node) + await read_with_asyncio(node)
    assert read_rows == ROWS * 8
    assert {type(row) for row in read_rows} == {row_class(NAMES)}


async def test_dicts_in_both_apis(node: FakeNode) -> None:
    """With `dict_factory`, both APIs return plain dicts."""
    profile = ExecutionProfile(row_factory=dict_factory)
    settings = {"execution_profiles": {EXEC_PROFILE_DEFAULT: profile}}
    read_rows = read_with_blocking_api(node, **settings) + await read_with_asyncio(node, **settings)
    assert read_rows == [dict(zip(NAMES, row, strict=True)) for row in ROWS] * 8
    assert {type(row) for row in read_rows} == {dict}
