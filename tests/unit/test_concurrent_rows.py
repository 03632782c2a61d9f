"""Tests of errors of `execute_concurrent`, which name the row that failed by its index."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from typing import Any

import pytest

from cassandra import InvalidRequest, aio
from cassandra.cluster import Cluster
from cassandra.concurrent import (
    execute_concurrent,
    execute_concurrent_async,
    execute_concurrent_with_args,
)
from cassandra.cqltypes import EncodeTypeError
from cassandra.testing.fake import ErrorCode, FakeNode, error, void
from tests.waiting import WAIT

SELECT = "SELECT v FROM t WHERE k = ?"
ROWS: list[Any] = [(1,), (2,), ("three",), (4,), ("five",)]
# This is the beginning of the error for the third of ROWS.
ERROR_OF_ROW_2 = r'^row 2: column "k" \(int, Int32Type\): \'three\''


@pytest.mark.parametrize("results_generator", [False, True])
@pytest.mark.parametrize("concurrency", [1, 100])
def test_a_value_of_the_wrong_type_names_its_row_and_column(
    results_generator: bool, concurrency: int
) -> None:
    """In each function, the error for a value of the wrong type must name its row and column."""
    with FakeNode() as node, Cluster([node.address], port=node.port) as cluster:
        session = cluster.connect()
        node.prime(SELECT, void())
        select = session.prepare(SELECT)
        options: dict[str, Any] = {
            "results_generator": results_generator,
            "concurrency": concurrency,
        }
        with pytest.raises(EncodeTypeError, match=ERROR_OF_ROW_2):
            list(execute_concurrent_with_args(session, select, ROWS, **options))
        with pytest.raises(EncodeTypeError, match=ERROR_OF_ROW_2):
            list(execute_concurrent(session, [(select, row) for row in ROWS], **options))
        with pytest.raises(EncodeTypeError, match=ERROR_OF_ROW_2):
            execute_concurrent_async(
                session, [(select, row) for row in ROWS], raise_on_first_error=True
            ).result(WAIT)


def test_a_servers_error_has_a_note_with_the_row() -> None:
    """An error of the server must have a note with the index of the row (Python 3.11 and newer)."""
    with FakeNode() as node, Cluster([node.address], port=node.port) as cluster:
        session = cluster.connect()
        node.prime("INSERT 1", error(ErrorCode.INVALID, "no"))
        node.prime("INSERT 0", void())
        with pytest.raises(InvalidRequest, match="no") as caught:
            execute_concurrent(session, [("INSERT 0", ()), ("INSERT 1", ())])
        if sys.version_info >= (3, 11):
            assert "in row 1" in caught.value.__notes__


async def outcomes_of(session: aio.Session, statements: Any, in_order: bool) -> AsyncIterator[Any]:
    """Yield the outcomes of the statements, two of which run at the same time."""
    async for outcome in session.execute_concurrent(statements, in_order=in_order, concurrency=2):
        yield outcome


@pytest.mark.parametrize("in_order", [False, True])
async def test_a_value_of_the_wrong_type_names_its_row_with_asyncio(in_order: bool) -> None:
    """On asyncio, the error for a value of the wrong type must name its row and column, too."""
    with FakeNode() as node:
        async with aio.Cluster([node.address], port=node.port) as cluster:
            session = await cluster.connect()
            node.prime(SELECT, void())
            select = await session.prepare(SELECT)
            with pytest.raises(EncodeTypeError, match=ERROR_OF_ROW_2):
                async for _ in outcomes_of(session, [(select, row) for row in ROWS[:4]], in_order):
                    pass
