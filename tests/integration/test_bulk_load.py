"""`Session.load` on a real node writes each row of a source, and reports the rows that fail."""

from __future__ import annotations

import datetime
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cassandra import aio
from cassandra.bulk import LoadError, chunks, cli
from cassandra.bulk.copy import copy
from cassandra.cluster import Cluster, Session
from cassandra.testing import LocalCluster

pytestmark = pytest.mark.integration

ORDERS = """CREATE TABLE IF NOT EXISTS orders (
    customer text, placed timestamp, id bigint, total decimal, items list<text>,
    PRIMARY KEY (customer, placed, id)
)"""

COLUMNS = ["customer", "placed", "id", "total", "items"]


@pytest.fixture
def session(node: LocalCluster) -> Iterator[Session]:
    """Yield a session in a keyspace with an empty table `orders`."""
    with Cluster(node.contact_points, port=node.port) as cluster:
        session = cluster.connect()
        session.execute(
            "CREATE KEYSPACE IF NOT EXISTS bulk_load WITH replication = "
            "{'class': 'SimpleStrategy', 'replication_factor': 1}"
        )
        session.set_keyspace("bulk_load")
        session.execute(ORDERS)
        session.execute("TRUNCATE orders", timeout=60)
        yield session


def line(number: int) -> str:
    """Return the line of order `number` in a CSV file."""
    return f'{number},customer {number % 97},2026-11-23 12:{number % 60:02},{number}.50,"[""a""]"'


def csv_file(path: Path, count: int) -> Path:
    """Write the orders 0 to `count` - 1 into a CSV file, and return its path."""
    lines = ["id,customer,placed,total,items", *map(line, range(count))]
    path.write_text("\n".join(lines) + "\n")
    return path


def stored_orders(session: Session) -> set[tuple[Any, ...]]:
    """Return the rows of the table `orders`, in the form of `expected_orders`."""
    rows = session.execute("SELECT id, customer, placed, total, items FROM orders", timeout=60)
    return {(row.id, row.customer, row.placed, str(row.total), tuple(row.items)) for row in rows}


def expected_orders(count: int) -> set[tuple[Any, ...]]:
    """Return (id, customer, placed, total, items) of each order that `csv_file` writes."""
    return {
        (n, f"customer {n % 97}", datetime.datetime(2026, 11, 23, 12, n % 60), f"{n}.50", ("a",))
        for n in range(count)
    }


@pytest.mark.parametrize("batch", ["replica", "partition", None])
def test_all_rows_of_a_csv_file_are_stored(
    session: Session, tmp_path: Path, batch: str | None
) -> None:
    """A load writes all rows; if it groups rows into batches, it sends fewer requests than rows."""
    report = session.load("orders", csv_file(tmp_path / "a.csv", count=3000), batch=batch)
    assert (report.written, report.failed) == (3000, 0)
    if batch is None:
        assert report.requests >= 3000
    else:
        assert report.requests < 3000
    assert stored_orders(session) == expected_orders(3000)


async def test_load_with_asyncio(session: Session, node: LocalCluster, tmp_path: Path) -> None:
    """The asyncio API loads all rows of a CSV file."""
    async with aio.Cluster(node.contact_points, port=node.port) as cluster:
        aio_session = await cluster.connect()
        report = await aio_session.load("bulk_load.orders", csv_file(tmp_path / "a.csv", count=500))
    assert report.written == 500
    assert stored_orders(session) == expected_orders(500)


def test_of_rows_with_the_same_key_the_last_one_is_stored(session: Session) -> None:
    """If several rows have the same key, the last row is stored.

    The load groups rows into batches, but must keep the order of rows with the same key.
    """
    moment = datetime.datetime(2026, 11, 23)
    rows = [("one", moment, 1, number, [str(number)]) for number in range(500)]
    assert session.load("orders", rows, columns=COLUMNS).written == 500
    (row,) = session.execute("SELECT * FROM orders")
    assert (row.total, row.items) == (499, ["499"])


@pytest.mark.parametrize(
    "text",
    [
        "INSERT INTO orders (customer, placed, id, total) VALUES (:who, :moment, :number, :total)",
        "INSERT INTO orders (customer, placed, id, total) VALUES (:who, :placed, :number, :total)",
        "INSERT INTO orders (customer, placed, id, total) VALUES ('one', :placed, :id, :total)",
        "UPDATE orders SET total = :total WHERE customer = 'one' AND placed = :moment AND id = :id",
    ],
)
def test_rows_with_the_same_key_stay_in_order_if_only_a_part_of_it_is_known(
    session: Session, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows with the same key stay in order, even if the load cannot compute the key of a row.

    The load cannot know a key column if the bind marker has another name than the column, or if the
    statement has a constant in place of the marker.
    """
    # Let the server choose the timestamps: they show in which order the rows arrived. Timestamps of
    # the client are in the order of the rows, and would hide a wrong order of the requests.
    monkeypatch.setattr(session, "use_client_timestamp", False)
    moment = datetime.datetime(2026, 11, 23)
    rows = [
        {
            "who": "one", "moment": moment, "placed": moment, "number": 1, "id": 1,
            "total": total,
        }
        for total in range(300)
    ]  # fmt: skip
    assert session.load(session.prepare(text), rows).written == 300
    (row,) = session.execute("SELECT total FROM orders")
    assert row.total == 299


def test_rows_that_the_server_refuses_are_reported_and_the_rest_of_their_batch_is_stored(
    session: Session,
) -> None:
    """Two of 50 rows have an invalid partition key: the load reports them, and writes 48 rows."""
    placed_at = datetime.datetime(2026, 11, 23)
    rows: list[Any] = [("one", placed_at, number, 1, ["x"]) for number in range(50)]
    rows[17] = ("", placed_at, 17, 1, ["x"])  # an empty partition key
    rows[18] = (None, placed_at, 18, 1, ["x"])  # a null partition key
    report = session.load("orders", rows, columns=COLUMNS, max_errors=None)
    assert (report.written, report.failed) == (48, 2)
    assert sorted(failure.place for failure in report.failures) == ["row 17", "row 18"]
    with pytest.raises(LoadError, match=r"row 1[78]: "):
        session.load("orders", rows, columns=COLUMNS)


def test_ttl_and_timestamp_from_columns_and_ttl_for_all_rows(session: Session) -> None:
    """TTL (seconds) and timestamp (microseconds) come from columns, or all rows have one TTL."""
    placed_at = datetime.datetime(2026, 11, 23)
    row = {"customer": "a", "placed": placed_at, "id": 1, "total": 1, "life": 1000, "at": 5_000_000}
    columns = ["customer", "placed", "id", "total"]
    session.load("orders", [row], columns=columns, ttl_column="life", timestamp_column="at")
    (stored,) = session.execute("SELECT ttl(total) AS life, writetime(total) AS at FROM orders")
    assert 900 < stored.life <= 1000
    assert stored.at == 5_000_000
    session.load("orders", [row], columns=columns, ttl=500)
    (stored,) = session.execute("SELECT ttl(total) AS life FROM orders")
    assert 400 < stored.life <= 500


def test_static_lists_have_each_element_once(session: Session, tmp_path: Path) -> None:
    """A load does not double the elements of a static list that is in many rows.

    Each row of a partition contains the static list, and a batch often has several rows of a
    partition. All rows of a batch have the same timestamp. If two of them set the list, Cassandra
    would keep the elements of both.
    """
    columns = "p int, c int, s list<int> static, l list<int>, PRIMARY KEY (p, c)"
    for name in ("lists", "copies"):
        session.execute(f"DROP TABLE IF EXISTS {name}", timeout=60)
        session.execute(f"CREATE TABLE {name} ({columns})", timeout=60)
    rows = [{"p": c % 3, "c": c, "s": [7, 8], "l": [c]} for c in range(30)]
    expected = [(row["p"], row["c"], row["s"], row["l"]) for row in rows]

    def stored(table: str) -> list[Any]:
        """Return the rows of a table, sorted by the column `c` like `expected`."""
        found = session.execute(f"SELECT p, c, s, l FROM {table}", timeout=60)
        return sorted(map(tuple, found), key=lambda row: row[1])

    assert session.load("lists", rows).written == 30
    assert stored("lists") == expected
    copy(session, "lists", session, "copies")
    assert stored("copies") == expected
    # Load the unloaded file twice, with the table's name and with a prepared statement.
    session.unload("lists", tmp_path / "lists", format="csv")
    session.execute("TRUNCATE copies", timeout=60)
    insert = session.prepare("INSERT INTO copies (p, c, s, l) VALUES (?, ?, ?, ?)")
    for target in ("copies", insert):
        assert session.load(target, tmp_path / "lists").written == 30
        assert stored("copies") == expected


def test_counters(session: Session) -> None:
    """With counters=True, a load adds each row's number to its counter."""
    session.execute("CREATE TABLE IF NOT EXISTS hits (page text PRIMARY KEY, n counter)")
    session.execute("TRUNCATE hits", timeout=60)
    # A counter update that is retried may count twice. So a load of a counter table requires
    # counters=True.
    with pytest.raises(ValueError, match="counts twice"):
        session.load("hits", [("a", 2)])
    rows = [{"page": "a", "n": 2}, {"page": "a", "n": 3}, {"page": "b", "n": 1}]
    assert session.load("hits", rows, counters=True).written == 3
    assert session.load("hits", [("c", 4)], counters=True, columns=["page", "n"]).written == 1
    # The load has added 2 and then 3 to the counter of "a".
    expected = {"a": 5, "b": 1, "c": 4}
    assert {row.page: row.n for row in session.execute("SELECT * FROM hits")} == expected


def test_a_dict_with_an_unknown_field_is_refused_unless_columns_are_given(session: Session) -> None:
    """A misspelt field raises an error, so that it is not lost silently.

    With ``columns=``, the load ignores fields that are not listed.
    """
    placed_at = datetime.datetime(2026, 11, 23)
    row = {"customer": "a", "placed": placed_at, "id": 1, "totl": 5}  # "totl" is misspelt
    with pytest.raises(LoadError, match="row 0: it has a field 'totl', which is not a column"):
        session.load("orders", [row])
    columns = ["customer", "placed", "id"]
    assert session.load("orders", [row], columns=columns).written == 1
    (stored,) = session.execute("SELECT * FROM orders")
    assert (stored.id, stored.total) == (1, None)


def test_embeddings_from_parquet(session: Session, tmp_path: Path) -> None:
    """Lists of 384 floats in a Parquet file become vectors with the same elements."""
    numpy = pytest.importorskip("numpy")
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    session.execute(
        "CREATE TABLE IF NOT EXISTS texts (id int PRIMARY KEY, embedding vector<float, 384>)"
    )
    vectors = numpy.random.default_rng(1).random((300, 384), dtype=numpy.float32)
    table = pyarrow.table(
        {
            "id": list(range(300)),
            "embedding": pyarrow.FixedSizeListArray.from_arrays(
                pyarrow.array(vectors.ravel()), 384
            ),
        }
    )
    parquet.write_table(table, tmp_path / "texts.parquet")
    assert session.load("texts", tmp_path / "texts.parquet").written == 300
    rows = {row.id: row.embedding for row in session.execute("SELECT * FROM texts")}
    for index in range(300):
        assert numpy.array_equal(numpy.float32(rows[index]), vectors[index])


def test_a_file_with_an_unknown_column_is_refused_unless_it_is_mapped(
    session: Session, tmp_path: Path
) -> None:
    """With ``columns=``, a column of the file may have another name than in the table."""
    path = tmp_path / "a.csv"
    path.write_text("id,customer,placed,amount\n1,a,2026-11-23,5\n")
    with pytest.raises(ValueError, match="the source has a column 'amount', and table bulk_load"):
        session.load("orders", path)
    columns = {"id": "id", "customer": "customer", "placed": "placed", "amount": "total"}
    assert session.load("orders", path, columns=columns).written == 1


def test_load_count_and_unload_on_the_command_line(
    session: Session, node: LocalCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The commands ``load``, ``count`` and ``unload`` handle the same rows as the functions."""
    csv_file(tmp_path / "a.csv", count=100)
    command = [sys.executable, "-m", "cassandra.bulk", "load", "bulk_load.orders"]
    process = subprocess.run(
        [*command, str(tmp_path), "--hosts", node.contact_points[0], "--port", str(node.port)],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
        cwd=tmp_path,  # in the source checkout, `-m` would import the driver from there
    )
    assert process.returncode == 0, process.stderr
    assert "100 rows written to bulk_load.orders" in process.stdout
    assert process.stderr == ""
    assert stored_orders(session) == expected_orders(100)
    server = ["--hosts", node.contact_points[0], "--port", str(node.port)]
    assert cli.main(["count", "bulk_load.orders", *server]) == 0
    assert capsys.readouterr().out == "100\n"
    # The files of `unload` can be loaded again.
    for file_format in ("csv", "jsonl"):
        folder = str(tmp_path / file_format)
        assert (
            cli.main(["unload", "bulk_load.orders", folder, "--format", file_format, *server]) == 0
        )
        session.execute("TRUNCATE orders", timeout=60)
        assert cli.main(["load", "bulk_load.orders", folder, *server]) == 0
        assert stored_orders(session) == expected_orders(100)


# A script that loads orders with a checkpoint, in chunks of 500 rows, and kills itself after the
# third chunk.
KILLED = """
import os, signal, sys
from cassandra.bulk import chunks
from cassandra.bulk.load_checkpoint import LoadCheckpoint
from cassandra.cluster import Cluster
chunks.CHUNK_ROWS = 500
ended = 0
end_chunk = LoadCheckpoint.end_chunk
def end(self, chunk):
    global ended
    end_chunk(self, chunk)
    ended += 1
    print(self.report.written, flush=True)
    if ended == 3:
        os.kill(os.getpid(), signal.SIGKILL)
LoadCheckpoint.end_chunk = end
host, port, path, checkpoint = sys.argv[1:]
with Cluster([host], port=int(port)) as cluster:
    cluster.connect("bulk_load").load("orders", path, checkpoint=checkpoint)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="Windows has no SIGKILL")
def test_a_load_that_was_killed_continues_from_its_checkpoint(
    session: Session, node: LocalCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second load skips the rows that a killed load has written and checkpointed."""
    path, checkpoint = csv_file(tmp_path / "a.csv", count=4000), tmp_path / "point"
    arguments = [node.contact_points[0], str(node.port), str(path), str(checkpoint)]
    process = subprocess.run(
        [sys.executable, "-c", KILLED, *arguments],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
        cwd=tmp_path,  # in the source checkout, `-c` would import the driver from there
    )
    assert process.returncode == -signal.SIGKILL, process.stderr
    # The killed process has printed how many rows were written and checkpointed.
    written = int(process.stdout.split()[-1])
    assert stored_orders(session) >= expected_orders(written)
    # The checkpoint counts chunks of 500 rows, so read chunks of the same size as the killed
    # process.
    monkeypatch.setattr(chunks, "CHUNK_ROWS", 500)
    report = session.load("orders", str(path), checkpoint=checkpoint)
    assert (report.skipped, report.written) == (written, 4000 - written)
    assert stored_orders(session) == expected_orders(4000)
    assert not checkpoint.exists()
