"""Tests of the argument `row_type` of the functions that execute many statements, in both APIs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple
from unittest.mock import Mock

import pytest

from cassandra import aio
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile
from cassandra.concurrent import (
    execute_concurrent,
    execute_concurrent_async,
    execute_concurrent_with_args,
)
from cassandra.policies import RetryPolicy
from cassandra.testing.fake import ErrorCode, FakeNode, error, rows

READ = "SELECT n, s FROM t"
WRITE = "INSERT INTO t (n) VALUES (?)"
STATEMENTS: list[tuple[Any, Any]] = [(READ, None)] * 5


class Item(NamedTuple):
    n: int
    s: str


EXPECTED = [Item(1, "a"), Item(2, "b")]


@pytest.fixture(scope="module")
def node() -> Iterator[FakeNode]:
    """Yield a fake node that responds to READ with two rows."""
    with FakeNode() as running:
        running.prime(READ, rows([("n", "int"), ("s", "text")], [(1, "a"), (2, "b")]))
        yield running


def check(results: Any) -> None:
    """Check that each statement has returned EXPECTED, in rows of the class Item."""
    pages = [list(result) for success, result in results]
    assert pages == [EXPECTED] * len(STATEMENTS)
    assert {type(row) for page in pages for row in page} == {Item}


def test_blocking(node: FakeNode) -> None:
    """Each blocking function must return rows that are instances of the given class."""
    with Cluster([node.address], port=node.port) as cluster, cluster.connect() as session:
        check(execute_concurrent(session, STATEMENTS, row_type=Item))
        check(
            execute_concurrent(
                session, STATEMENTS, row_type=Item, results_generator=True, concurrency=2
            )
        )
        check(execute_concurrent_with_args(session, READ, [None] * 5, row_type=Item))
        check(execute_concurrent_async(session, STATEMENTS, row_type=Item).result(timeout=30))
        check(session.execute_concurrent(STATEMENTS, row_type=Item))
        check(session.execute_concurrent_with_args(READ, [None] * 5, row_type=Item))
        check(session.execute_concurrent_async(STATEMENTS, row_type=Item).result(timeout=30))
        outcomes_without_row_type = execute_concurrent(session, STATEMENTS)
        assert all(
            type(row) is not Item for _, result in outcomes_without_row_type for row in result
        )
        # `row_type` must also work if an application has replaced `execute_async` of the session.
        session.execute_async = session.execute_async  # type: ignore[method-assign]
        check(execute_concurrent(session, STATEMENTS, row_type=Item))


async def test_awaited(node: FakeNode) -> None:
    """The asyncio forms of `execute_concurrent` must return rows of the class in `row_type`."""
    async with aio.Cluster([node.address], port=node.port) as cluster:
        session = await cluster.connect()
        outcomes = [
            outcome async for outcome in session.execute_concurrent(STATEMENTS, row_type=Item)
        ]
        check([(success, result.current_rows) for success, result in outcomes])
        with pytest.raises(TypeError, match="row_type must be a dataclass"):
            session.execute_concurrent(STATEMENTS, row_type=int)


@pytest.mark.parametrize("run", [execute_concurrent, execute_concurrent_async])
def test_an_unsuitable_row_type_is_refused_before_anything_is_sent(run: Any) -> None:
    with pytest.raises(TypeError, match="row_type must be a dataclass"):
        run(Mock(), STATEMENTS, row_type=int, raise_on_first_error=False)


class IgnoringPolicy(RetryPolicy):
    """Ignores each error, so that the result is empty."""

    def on_request_error(self, *args: Any, **details: Any) -> Any:
        return self.IGNORE, None


def test_an_error_that_the_retry_policy_ignores_is_an_empty_result() -> None:
    profiles = {EXEC_PROFILE_DEFAULT: ExecutionProfile(retry_policy=IgnoringPolicy())}
    with FakeNode() as node:
        node.prime(WRITE, error(ErrorCode.OVERLOADED, "busy"))
        with Cluster([node.address], port=node.port, execution_profiles=profiles) as cluster:
            session = cluster.connect()
            prepared = session.prepare(WRITE)
            outcomes = list(execute_concurrent_with_args(session, prepared, [(1,), (2,)]))
            # The first result comes from `execute`, and two results come from the outcomes.
            results = [session.execute(prepared, (0,)), *(result for _, result in outcomes)]
    assert [success for success, _ in outcomes] == [True, True]
    for result in results:
        assert result.current_rows == []
        assert result.all_tuples() == []
        assert result.one() is None
        assert not result
        assert not result.has_more_pages
        assert result.column_names is None
        assert list(result) == []
