"""Results of the asyncio API: plain methods for the current page, and facts about the execution."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from cassandra import aio
from cassandra.errors import MultipleRowsFound
from cassandra.query import SimpleStatement, dict_factory
from cassandra.testing.fake import FakeNode, paged, rows, void
from tests.unit.aio.conftest import READ

PAGED = "SELECT k FROM pages"
CHANGE = "UPDATE t SET v = 'a' WHERE k = 1 IF v = 'b'"


@pytest.fixture
async def result(session: aio.Session) -> Any:
    return await session.execute(READ)


async def test_plain_methods_return_the_rows_of_the_page(result: Any) -> None:
    assert [tuple(row) for row in result.current_rows] == [(1, "a"), (2, "b")]
    assert result.current_rows is result.current_rows
    assert result.all() == list(result.current_rows)
    assert result.all_tuples() == [(1, "a"), (2, "b")]
    assert (result.one().v, bool(result)) == ("a", True)
    with pytest.raises(MultipleRowsFound):
        result.one(strict=True)
    assert result.column_names == ["k", "v"]
    assert [kind.typename for kind in result.column_types] == ["int", "varchar"]


async def test_a_void_result_has_no_rows_or_columns(node: FakeNode, session: aio.Session) -> None:
    node.prime("INSERT", void())
    result = await session.execute("INSERT")
    assert (result.current_rows, result.all(), result.one()) == ([], [], None)
    assert (result.column_names, result.column_types, bool(result)) == (None, None, False)
    with pytest.raises(RuntimeError, match="was_applied is for lightweight transactions"):
        _ = result.was_applied


async def test_plain_methods_refuse_results_with_further_pages(
    node: FakeNode, session: aio.Session
) -> None:
    node.prime(PAGED, paged([("k", "int")], [(k,) for k in range(5)]))
    statement = SimpleStatement(PAGED, fetch_size=1)
    result: Any = await session.execute(statement)
    assert result.has_more_pages
    with pytest.raises(RuntimeError, match="fetch_all"):
        result.all()
    with pytest.raises(RuntimeError, match="whether there are more rows is not known"):
        result.one(strict=True)
    assert [row.k for row in await result.fetch_all()] == [0, 1, 2, 3, 4]
    assert len(result.attempts) == 5  # one for each page
    later: Any = await session.execute(statement)
    resumed = await session.execute(statement, paging_state=later.paging_state)
    assert [row.k async for row in resumed] == [1, 2, 3, 4]


@pytest.mark.parametrize("applied", [True, False])
async def test_was_applied_works_with_any_row_factory(
    node: FakeNode, session: aio.Session, applied: bool
) -> None:
    node.prime(CHANGE, rows([("[applied]", "boolean")], [(applied,)]))
    for factory in (dict_factory, lambda names, values: "odd"):
        session.row_factory = factory
        assert (await session.execute(CHANGE)).was_applied is applied


async def test_results_have_information_about_the_execution(
    node: FakeNode, session: aio.Session
) -> None:
    trace = uuid.UUID(int=5)
    answer = rows([("k", "int")], [(1,)])
    node.prime(PAGED, answer.having(["slow"], trace, {"a": b"1"}))
    result: Any = await session.execute(PAGED)
    assert (result.warnings, result.custom_payload) == (["slow"], {"a": b"1"})
    assert result.trace_id == trace
    (attempt,) = result.attempts
    assert attempt.host == result.coordinator_host
    assert result.coordinator_host.address == node.address
    assert result.is_schema_agreed is True
    plain: Any = await session.execute(READ)
    assert (plain.warnings, plain.custom_payload, plain.trace_id) == (None, None, None)
    assert await plain.get_query_trace() is None
