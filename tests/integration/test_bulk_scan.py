"""Scans and copies of whole tables read each row once, with the blocking and the asyncio API."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cassandra import aio
from cassandra.bulk import cli
from cassandra.bulk.copy import acopy, copy
from cassandra.cluster import Session
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.testing import LocalCluster

from .conftest import connect, create_keyspace, new_keyspace_name

pytestmark = pytest.mark.integration

COUNT = 5000
ROWS = [(number // 5, number % 5, f"text {number}") for number in range(COUNT)]


@pytest.fixture(scope="module")
def session(node: LocalCluster) -> Iterator[Session]:
    """Yield a session in a keyspace with the table `t`, which holds ROWS."""
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
def test_a_scan_returns_each_row_once(session: Session, options: dict[str, Any]) -> None:
    assert sorted(tuple(row) for row in session.scan("t", **options)) == ROWS


def test_a_scan_in_order_returns_rows_by_token(session: Session) -> None:
    """With in_order=True, rows come in the order of their partition's token and clustering key."""
    scan = session.scan("t", 'token("P"), c', in_order=True, page_size=10, splits=20)
    positions = [tuple(row) for row in scan]  # (token, clustering key)
    assert len(positions) == COUNT
    assert positions == sorted(positions)


def test_a_scan_with_a_condition_and_parameters(session: Session) -> None:
    rows = session.scan("t", ["t"], "c = ?", parameters=[3])
    assert sorted(row.t for row in rows) == sorted(t for _, c, t in ROWS if c == 3)


def test_count(session: Session) -> None:
    """`count` counts all rows, or the rows that meet a condition (here one row in five)."""
    assert session.count("t") == COUNT
    assert session.count("t", "c = ?", parameters=[1]) == COUNT / 5


def test_a_scan_as_arrow_tables_and_batches(session: Session) -> None:
    """`to_arrow`, `reader` and `arrow_batches` contain all rows of the scan."""
    pytest.importorskip("pyarrow")
    table = session.scan("t", page_size=500).to_arrow()
    columns = [table[name].to_pylist() for name in ("P", "c", "t")]
    assert sorted(zip(*columns, strict=True)) == ROWS
    assert session.scan("t").reader().read_all().num_rows == COUNT
    assert session.scan("t", where="c = 77").to_arrow().num_rows == 0
    assert sum(batch.num_rows for batch in session.scan("t").arrow_batches()) == COUNT


def test_a_scan_continues_from_its_checkpoint(session: Session, tmp_path: Path) -> None:
    """A second scan with the same checkpoint returns the rows that the first scan left out."""
    path = tmp_path / "scan.json"
    rows: list[Any] = []
    scan = session.scan("t", page_size=300, splits=8, checkpoint=path)
    for number, page in enumerate(scan.pages()):
        if number == 8:
            # The loop ends before it processes this page, so the second scan must read the page
            # again.
            break
        rows += page.current_rows
    assert 0 < len(rows) < COUNT
    rows += session.scan("t", page_size=300, splits=8, checkpoint=path)
    assert sorted(tuple(row) for row in rows) == ROWS
    # The checkpoint says that the scan is complete, so a further scan reads nothing.
    assert list(session.scan("t", checkpoint=path)) == []
    with pytest.raises(
        ValueError, match="the checkpoint of something else: its columns is None, and not"
    ):
        list(session.scan("t", ["c"], checkpoint=path))


async def test_asyncio(session: Session, node: LocalCluster) -> None:
    """`scan` and `count` of an asyncio session return all rows and their number."""
    async with (
        aio.Cluster(node.contact_points, port=node.port) as cluster,
        await cluster.connect(session.keyspace) as aio_session,
    ):
        assert sorted([tuple(row) async for row in aio_session.scan("t", page_size=90)]) == ROWS
        assert await aio_session.count("t") == COUNT
        # the application may leave the loop early
        async for _ in aio_session.scan("t", page_size=10):
            break
        pytest.importorskip("pyarrow")
        assert (await aio_session.scan("t").to_arrow()).num_rows == COUNT


def test_a_scan_of_a_missing_table_raises(session: Session) -> None:
    with pytest.raises(ValueError, match="has no table 'nowhere'"):
        list(session.scan("nowhere"))


def test_copy(session: Session) -> None:
    """`copy` writes all rows into another table, which must have the same columns."""
    session.execute("CREATE TABLE t2 (x int PRIMARY KEY)")
    session.execute('CREATE TABLE t3 ("P" int, c int, t text, PRIMARY KEY ("P", c))')
    report = copy(session, "t", session, "t3")
    assert (report.read, report.written) == (COUNT, COUNT)
    assert sorted(tuple(row) for row in session.scan("t3")) == ROWS
    with pytest.raises(ValueError, match="t2 has no column 'P'"):
        copy(session, "t", session, "t2")


def test_a_dry_run_of_a_copy_writes_nothing(session: Session) -> None:
    session.execute('CREATE TABLE dry ("P" int, c int, t text, PRIMARY KEY ("P", c))')
    report = copy(session, "t", session, "dry", dry_run=True)
    assert (report.read, report.written, report.requests) == (COUNT, 0, 0)
    assert session.count("dry") == 0


async def test_copy_on_asyncio(session: Session, node: LocalCluster) -> None:
    """`acopy` writes the rows that meet the condition, in fewer requests than rows."""
    session.execute('CREATE TABLE t4 ("P" int, c int, t text, PRIMARY KEY ("P", c))')
    async with aio.Cluster(node.contact_points, port=node.port) as cluster:
        aio_session = await cluster.connect(session.keyspace)
        report = await acopy(aio_session, "t", aio_session, "t4", where="c < ?", parameters=(3,))
    expected = [(p, c, t) for p, c, t in ROWS if c < 3]
    assert (report.read, report.written) == (len(expected), len(expected))
    # There are fewer requests than rows, because rows of one partition are written together.
    assert report.requests < len(expected)
    assert sorted(tuple(row) for row in session.scan("t4")) == expected


def test_copy_on_the_command_line(
    session: Session, node: LocalCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command ``copy`` prints how many rows it copied, or exits with 1 for a missing table."""
    session.execute('CREATE TABLE t5 ("P" int, c int, t text, PRIMARY KEY ("P", c))')
    tables = [f"{session.keyspace}.t", f"{session.keyspace}.t5"]
    source = ["--hosts", *node.contact_points, "--port", str(node.port)]
    target = ["--to-hosts", *node.contact_points, "--to-port", str(node.port)]
    assert cli.main(["copy", *tables, *source, *target]) == 0
    assert f"{COUNT:,} rows read, {COUNT:,} written" in capsys.readouterr().out
    assert sorted(tuple(row) for row in session.scan("t5")) == ROWS
    assert cli.main(["copy", tables[0], f"{session.keyspace}.none", *source]) == 1
    assert "has no table 'none'" in capsys.readouterr().err


def test_copy_keeps_ttl_and_write_time_of_each_column(session: Session) -> None:
    """`copy` keeps the TTL and the write time of each column, although they differ within a row."""
    for name in ("k1", "k2"):
        session.execute(
            f"CREATE TABLE {name} (p int, c int, s int static, a int, b text, PRIMARY KEY (p, c)) "
            "WITH default_time_to_live = 50"
        )
    # USING TTL 0 means that the row never expires, although the table's default is 50 seconds.
    session.execute("INSERT INTO k1 (p, c, a) VALUES (1, 1, 5) USING TTL 5000 AND TIMESTAMP 77")
    session.execute("INSERT INTO k1 (p, c, b) VALUES (1, 1, 'x') USING TTL 0 AND TIMESTAMP 99")
    session.execute("INSERT INTO k1 (p, c) VALUES (1, 2) USING TTL 0")
    session.execute("INSERT INTO k1 (p, s) VALUES (2, 3) USING TTL 0 AND TIMESTAMP 11")
    copy(session, "k1", session, "k2", keep_ttl=True, keep_write_time=True)
    query = "SELECT p, c, s, a, b, writetime(a), writetime(b), writetime(s), ttl(b) FROM {}"
    source_rows = session.execute(query.format("k1")).all()
    assert session.execute(query.format("k2")).all() == source_rows
    # The TTL of "a" was 5000 seconds when the row was written. It decreases every second, so the
    # test allows a range.
    (remaining_ttl,) = session.execute("SELECT ttl(a) FROM k2 WHERE p = 1 AND c = 1").one()
    assert 4000 < remaining_ttl <= 5000


def test_copy_refuses_to_keep_the_ttl_of_a_collection(session: Session) -> None:
    """`copy` cannot keep the TTLs of the items in a collection or in a user-defined type."""
    session.execute("CREATE TABLE l (p int PRIMARY KEY, tags set<text>)")
    with pytest.raises(ValueError, match="'tags' is set<text>"):
        copy(session, "l", session, "l", keep_ttl=True)
    # Each field of a user-defined type that is not frozen has a separate TTL and write time, like
    # the items of a collection. `copy` cannot keep these TTLs and write times.
    session.execute('CREATE TYPE "Pair" (x int, y int)')
    session.execute('CREATE TABLE pairs (p int PRIMARY KEY, pair "Pair", f frozen<"Pair">)')
    for keeps_ttl in (True, False):
        with pytest.raises(ValueError, match="'pair' is \"Pair\", whose parts each have a TTL"):
            copy(
                session,
                "pairs",
                session,
                "pairs",
                keep_ttl=keeps_ttl,
                keep_write_time=not keeps_ttl,
            )


def test_copy_keeps_empty_values(session: Session) -> None:
    """`copy` keeps empty values, which types other than text and blob may have, too.

    A SELECT shows empty values as null. A row with an empty clustering column must not be taken for
    a partition that has only static values.
    """
    types = ("int", "timestamp", "double", "uuid", "inet", "varint", "boolean", "decimal")
    columns = ", ".join(f"v_{name} {name}" for name in types)
    for table in ("empties", "empties2"):
        session.execute(
            f"CREATE TABLE {table} (p int, c int, s int static, t tuple<int, text>, {columns}, "
            "PRIMARY KEY (p, c))"
        )
    session.execute("INSERT INTO empties (p, c, s) VALUES (1, blobAsInt(0x), 5)")
    session.execute("INSERT INTO empties (p, s) VALUES (2, 6)")
    names = ", ".join(f"v_{name}" for name in types)
    values = ", ".join(f"blobAs{name.capitalize()}(0x)" for name in types)
    session.execute(
        f"INSERT INTO empties (p, c, t, {names}) VALUES (3, 3, (blobAsInt(0x), ''), {values})"
    )
    # Read the values as blobs, which show the difference between null and empty.
    blobs = ", ".join(f"{name}AsBlob(v_{name})" for name in types)
    select = f"SELECT p, s, intAsBlob(c), t, {blobs} FROM"
    expected = sorted(map(tuple, session.execute(f"{select} empties")))
    assert [row[2] for row in expected] == [b"", None, b"\0\0\0\3"]
    assert expected[2][4:] == (b"",) * len(types)
    report = copy(session, "empties", session, "empties2")
    assert (report.read, report.written) == (3, 3)
    assert sorted(map(tuple, session.execute(f"{select} empties2"))) == expected
