"""Test that the blocking and the asyncio API return the same kinds of rows.

All named tuples with the same columns have one class, whatever the session, statement or page.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from cassandra import aio
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile, ResultSet
from cassandra.protocol.rowclass import row_class
from cassandra.query import SimpleStatement, dict_factory
from cassandra.testing.fake import FakeNode, paged

READ = "SELECT only_here, and_now FROM t"
ROWS = [(number, f"text {number}") for number in range(5)]
NAMES = ("only_here", "and_now")


@pytest.fixture
def node() -> Iterator[FakeNode]:
    """Yield a fake node that responds to READ with ROWS, in pages."""
    with FakeNode() as fake_node:
        fake_node.prime(READ, paged([("only_here", "int"), ("and_now", "text")], ROWS))
        yield fake_node


def in_pages() -> SimpleStatement:
    """Return a statement that reads the rows in pages of two rows."""
    return SimpleStatement(READ, fetch_size=2)


async def read_with_asyncio(node: FakeNode, **settings: Any) -> list[Any]:
    """Return all rows of a query string and of a prepared statement, read with asyncio."""
    async with aio.Cluster([node.address], port=node.port, **settings) as cluster:
        session = await cluster.connect()
        read_rows = [row async for row in await session.execute(in_pages())]
        prepared = await session.prepare(READ)
        return read_rows + [row async for row in await session.execute(prepared)]


def read_with_blocking_api(node: FakeNode, **settings: Any) -> list[Any]:
    """Return all rows of three executions on each of two sessions of the blocking API."""
    read_rows: list[Any] = []
    with Cluster([node.address], port=node.port, **settings) as cluster:
        # The second session uses the row classes that the first session has cached.
        for _ in range(2):
            session = cluster.connect()
            read_rows += session.execute(in_pages())
            read_rows += session.execute(session.prepare(READ))
            read_rows += session.execute_async(in_pages()).result()
    return read_rows


async def test_named_tuples_have_one_class(node: FakeNode) -> None:
    """All named tuples of both APIs have one class, which `row_class` returns."""
    read_rows = read_with_blocking_api(node) + await read_with_asyncio(node)
    # The blocking API has read the rows six times (three times in two sessions), and asyncio twice.
    assert read_rows == ROWS * 8
    assert {type(row) for row in read_rows} == {row_class(NAMES)}


async def test_dicts_in_both_apis(node: FakeNode) -> None:
    """With `dict_factory`, both APIs must return plain dicts."""
    profile = ExecutionProfile(row_factory=dict_factory)
    settings = {"execution_profiles": {EXEC_PROFILE_DEFAULT: profile}}
    read_rows = read_with_blocking_api(node, **settings) + await read_with_asyncio(node, **settings)
    assert read_rows == [dict(zip(NAMES, row, strict=True)) for row in ROWS] * 8
    assert {type(row) for row in read_rows} == {dict}


async def test_a_mapping_is_a_row_in_both_apis(node: FakeNode) -> None:
    """If a row factory returns a mapping, the mapping is the only row of its page.

    An empty mapping is no row. cassandra-driver behaves in the same way.
    """

    def by_number(names: list[str], page: list[tuple[int, str]]) -> dict[int, str]:
        # The last page has only the row with the number 4, so its mapping is empty.
        return {number: text for number, text in page if number != 4}

    profile = ExecutionProfile(row_factory=by_number)
    settings: dict[str, Any] = {"execution_profiles": {EXEC_PROFILE_DEFAULT: profile}}
    read_rows = read_with_blocking_api(node, **settings) + await read_with_asyncio(node, **settings)
    in_pages_of_two = [{0: "text 0", 1: "text 1"}, {2: "text 2", 3: "text 3"}]
    whole = [{number: f"text {number}" for number in range(4)}]
    blocking = [*in_pages_of_two, *whole, *in_pages_of_two]
    assert read_rows == [*blocking, *blocking, *in_pages_of_two, *whole]
    with Cluster([node.address], port=node.port, **settings) as cluster:
        result = cluster.connect().execute(READ)
        assert result.one() == result[0] == whole[0]
        assert result.all() == result.current_rows == whole
        # A result that the application creates from a mapping, or whose page it replaces with a
        # mapping, has the mapping as its only row, too.
        assert ResultSet(result.response_future, whole[0]).all() == whole
        result._current_rows = whole[0]
        assert result.current_rows == whole
    async with aio.Cluster([node.address], port=node.port, **settings) as aio_cluster:
        page = await (await aio_cluster.connect()).execute(READ)
        assert page.one() == whole[0]
        assert page.all() == page.current_rows == whole
