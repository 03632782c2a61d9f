"""Blocking iteration asks for the next page while a page is read: one page ahead, never more."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cassandra.cluster import Cluster, Session
from cassandra.errors import InvalidRequest
from cassandra.query import SimpleStatement
from cassandra.testing.fake import ErrorCode, FakeNode, Request, error, paged

READ = "SELECT k FROM t"
PAGE = 10
ROWS = 45


@pytest.fixture
def node() -> Iterator[FakeNode]:
    with FakeNode() as one:
        one.prime(READ, paged([("k", "int")], [(k,) for k in range(ROWS)]))
        yield one


@pytest.fixture
def session(node: FakeNode) -> Iterator[Session]:
    with Cluster([node.address], port=node.port) as cluster:
        yield cluster.connect()


def asked(node: FakeNode) -> int:
    return len(node.queries(READ))


def test_the_next_page_is_asked_for_while_one_is_read(node: FakeNode, session: Session) -> None:
    result = session.execute(SimpleStatement(READ, fetch_size=PAGE))
    rows = iter(result)
    assert asked(node) == 1
    state = result.paging_state
    assert next(rows).k == 0
    node.wait_for(lambda one: asked(one) == 2)
    # The page at hand is still the first one.
    assert result.paging_state == state
    assert [next(rows).k for _ in range(PAGE - 1)] == list(range(1, PAGE))
    assert asked(node) == 2
    assert [row.k for row in rows] == list(range(PAGE, ROWS))
    assert asked(node) == 5
    assert not result.has_more_pages


def test_pages_that_are_fetched_by_hand_are_asked_for_once(
    node: FakeNode, session: Session
) -> None:
    result = session.execute(SimpleStatement(READ, fetch_size=PAGE))
    next(iter(result))
    node.wait_for(lambda one: asked(one) == 2)
    result.fetch_next_page()
    assert [row.k for row in result.current_rows] == list(range(PAGE, 2 * PAGE))
    assert asked(node) == 2


def test_a_page_ahead_that_failed_is_an_error_when_it_is_wanted(
    node: FakeNode, session: Session
) -> None:
    def later_page(request: Request) -> bool:
        return request.query == READ and bool(request.paging_state)

    node.prime(later_page, error(ErrorCode.INVALID, "no such page"), times=1)
    result = session.execute(SimpleStatement(READ, fetch_size=PAGE))
    rows = iter(result)
    assert [next(rows).k for _ in range(PAGE)] == list(range(PAGE))
    with pytest.raises(InvalidRequest, match="no such page"):
        next(rows)
    # Asked for again, it goes on where it failed.
    assert [row.k for row in result] == list(range(PAGE, ROWS))


def test_callbacks_ask_for_pages_by_themselves(node: FakeNode, session: Session) -> None:
    future = session.execute_async(SimpleStatement(READ, fetch_size=PAGE))
    future.add_callback(lambda rows: None)
    rows = iter(future.result())
    assert [next(rows).k for _ in range(PAGE)] == list(range(PAGE))
    assert asked(node) == 1
