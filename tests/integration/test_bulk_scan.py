"""Scans of whole tables on a real node: each row once, on both faces and by columns."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cassandra import aio
from cassandra.cluster import Session
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.testing import LocalCluster

from .conftest import connect, create_keyspace, new_keyspace_name

pytestmark = pytest.mark.integration

COUNT = 5000
ROWS = [(number // 5, number % 5, f"text {number}") for number in range(COUNT)]


@pytest.fixture(scope="module")
def session(node: LocalCluster) -> Iterator[Session]:
    name = new_keyspace_name()
    with connect(node) as cluster, cluster.connect() as session:
        create_keyspace(session, name)
        session.set_keyspace(name)
        session.execute('CREATE TABLE t ("P" int, c int, t text, PRIMARY KEY ("P", c))')
        insert = session.prepare('INSERT INTO t ("P", c, t) VALUES (?, ?, ?)')
        execute_concurrent_with_args(session, insert, ROWS)
        yield session
        session.execute(f"DROP KEYSPACE {name}")


@pytest.mark.parametrize(
    "options",
    [{}, {"splits": 1}, {"splits": 100, "page_size": 7}, {"page_size": 100, "concurrency": 1}],
)
def test_each_row_comes_once(session: Session, options: dict[str, Any]) -> None:
    assert sorted(tuple(row) for row in session.scan("t", **options)) == ROWS  # type: ignore[misc]


def test_rows_in_order_have_the_order_of_their_tokens(session: Session) -> None:
    scan = session.scan("t", 'token("P"), c', in_order=True, page_size=10, splits=20)
    tokens = [tuple(row) for row in scan]
    assert len(tokens) == COUNT
    assert tokens == sorted(tokens)


def test_a_condition_and_its_parameters(session: Session) -> None:
    rows = session.scan("t", ["t"], "c = ?", parameters=[3])
    assert sorted(row.t for row in rows) == sorted(t for _, c, t in ROWS if c == 3)


def test_count(session: Session) -> None:
    assert session.count("t") == COUNT
    assert session.count("t", "c = ?", parameters=[1]) == COUNT / 5


def test_columns(session: Session) -> None:
    pytest.importorskip("pyarrow")
    table = session.scan("t", page_size=500).to_arrow()
    assert sorted(zip(*(table[name].to_pylist() for name in ("P", "c", "t")), strict=True)) == ROWS
    assert session.scan("t").reader().read_all().num_rows == COUNT
    assert session.scan("t", where="c = 77").to_arrow().num_rows == 0
    assert sum(batch.num_rows for batch in session.scan("t").arrow_batches()) == COUNT


def test_a_scan_goes_on_where_it_was_left(session: Session, tmp_path: Path) -> None:
    path = tmp_path / "scan.json"
    got: list[Any] = []
    scan = session.scan("t", page_size=300, splits=8, checkpoint=path)
    for number, page in enumerate(scan.pages()):
        if number == 8:
            break  # this page was not used
        got += page.current_rows
    assert 0 < len(got) < COUNT
    got += session.scan("t", page_size=300, splits=8, checkpoint=path)
    assert sorted(tuple(row) for row in got) == ROWS
    assert list(session.scan("t", checkpoint=path)) == []
    with pytest.raises(ValueError, match="it is of another scan"):
        list(session.scan("t", ["c"], checkpoint=path))


async def test_asyncio(session: Session, node: LocalCluster) -> None:
    async with (
        aio.Cluster(node.contact_points, port=node.port) as cluster,
        await cluster.connect(session.keyspace) as other,
    ):
        assert sorted([tuple(row) async for row in other.scan("t", page_size=90)]) == ROWS
        assert await other.count("t") == COUNT
        async for _ in other.scan("t", page_size=10):
            break
        pytest.importorskip("pyarrow")
        assert (await other.scan("t").to_arrow()).num_rows == COUNT


def test_a_table_that_is_not_there(session: Session) -> None:
    with pytest.raises(ValueError, match="has no table 'nowhere'"):
        list(session.scan("nowhere"))
