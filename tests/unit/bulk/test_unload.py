"""Test unloads of a table into CSV, JSON lines and Parquet files, with both APIs."""

from __future__ import annotations

import asyncio
import csv
import datetime
import decimal
import gzip
import io
import json
import os
import threading
import uuid
import warnings
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest

import cassandra.bulk.signs as signs_module
import cassandra.bulk.unload as unload_module
from cassandra import aio
from cassandra.bulk.ranges import FIRST, LAST, TokenRange
from cassandra.bulk.sources import files_of
from cassandra.bulk.texts import json_of, text_of
from cassandra.cluster import Cluster
from cassandra.errors import DecodeError, InvalidRequest
from cassandra.metadata import ColumnMetadata, TableMetadata
from cassandra.testing.fake import (
    Answer,
    Encoded,
    ErrorCode,
    FakeCluster,
    FakeNode,
    Request,
    error,
    rows,
)
from cassandra.util import Date, SortedSet, Time
from tests.unit.bulk.test_scan import COLUMNS, EXPECTED, QUERY, Table, no_fault, nodes, settings
from tests.unit.metadata.schema.rows import OPTIONS, column, keyspace
from tests.waiting import WAIT

__all__ = ["nodes"]


@pytest.fixture
def session(nodes: FakeCluster) -> Iterator[Any]:
    """Yield a blocking session of nodes that respond to scans of the table `a.t0`."""
    nodes.prime(QUERY, Table(no_fault))
    with Cluster(**settings(nodes)) as cluster, cluster.connect() as session:
        yield session


def test_csv_in_several_files(session: Any, tmp_path: Path) -> None:
    """`file_bytes` limits the size of each file; the report and the manifest list all files."""
    report = session.unload("a.t0", tmp_path / "out", format="csv", file_bytes=2000, page_size=50)
    assert report.rows == len(EXPECTED)
    assert len(report.files) > 2
    assert report.bytes == sum(path.stat().st_size for path in report.files)
    rows = []
    for path in report.files:
        with open(path, newline="", encoding="utf-8") as file:
            lines = csv.reader(file)
            assert next(lines) == ["id", "c0"]
            rows += [tuple(map(int, line)) for line in lines]
    assert sorted(rows) == EXPECTED
    manifest = json.loads((tmp_path / "out" / "_manifest.json").read_text())
    assert manifest["rows"] == len(EXPECTED)
    assert [file["name"] for file in manifest["files"]] == [path.name for path in report.files]
    assert sum(entry["rows"] for entry in manifest["files"]) == len(EXPECTED)
    # No temporary files may be left.
    assert not list((tmp_path / "out").glob(".*"))


def test_json_lines_compressed(session: Any, tmp_path: Path) -> None:
    """With `compression="gzip"`, the rows are written to a compressed file of JSON lines."""
    (path,) = session.unload("a.t0", tmp_path, format="jsonl", compression="gzip").files
    with gzip.open(path, "rt") as file:
        rows = [json.loads(line) for line in file]
    assert sorted((row["id"], row["c0"]) for row in rows) == EXPECTED


def test_parquet(session: Any, tmp_path: Path) -> None:
    """An unload without `format` writes Parquet files that contain all rows of the table."""
    parquet = pytest.importorskip("pyarrow.parquet")
    session.unload("a.t0", tmp_path, compression="zstd", file_bytes=3000, page_size=50)
    rows = [
        row for path in tmp_path.glob("*.parquet") for row in parquet.read_table(path).to_pylist()
    ]
    assert sorted((row["id"], row["c0"]) for row in rows) == EXPECTED


def sizes_of_row_groups(path: Path) -> list[int]:
    """Return the number of rows in each row group of a Parquet file."""
    parquet = pytest.importorskip("pyarrow.parquet")
    metadata = parquet.ParquetFile(path).metadata
    return [metadata.row_group(index).num_rows for index in range(metadata.num_row_groups)]


def rows_of_parquet(path: Path) -> list[tuple[Any, ...]]:
    """Return the rows of a Parquet file, sorted."""
    parquet = pytest.importorskip("pyarrow.parquet")
    return sorted(tuple(row.values()) for row in parquet.read_table(path).to_pylist())


def test_the_pages_of_a_small_table_are_one_row_group(session: Any, tmp_path: Path) -> None:
    """A row group has the rows of many pages, because each row group has costs of its own."""
    pytest.importorskip("pyarrow")
    (path,) = session.unload("a.t0", tmp_path, page_size=20, splits=64).files
    assert sizes_of_row_groups(path) == [len(EXPECTED)]
    assert rows_of_parquet(path) == EXPECTED


@pytest.mark.parametrize(
    ("limit", "value", "rows_of_a_group"),
    [("ROWS", 100, 100), ("BYTES", 500, 60), ("BYTES", 1, 20)],
)
def test_row_groups_are_limited_in_rows_and_bytes(
    session: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    limit: str,
    value: int,
    rows_of_a_group: int,
) -> None:
    """A row group ends before the page that would make it too large. A page is never divided."""
    pytest.importorskip("pyarrow")
    monkeypatch.setattr(unload_module, f"{limit}_OF_A_GROUP", value)
    # Each page has 20 rows, which have 160 bytes in memory.
    (path,) = session.unload("a.t0", tmp_path, page_size=20, splits=1).files
    groups = sizes_of_row_groups(path)
    assert set(groups[:-1]) == {rows_of_a_group}
    assert rows_of_parquet(path) == EXPECTED


@pytest.mark.parametrize("file_format", ["csv", "jsonl", "parquet"])
def test_pages_without_rows_make_no_row_groups_or_files(
    nodes: FakeCluster, tmp_path: Path, file_format: str
) -> None:
    """Ranges without rows leave no empty row group and no empty file."""
    pytest.importorskip("pyarrow")
    pages = iter([[], [(1, 2)], [], [(3, 4)]])
    for node in nodes.nodes:
        node.prime(QUERY, lambda request: rows(COLUMNS, next(pages, []), keyspace="a", table="t0"))
    with Cluster(**settings(nodes)) as cluster, cluster.connect() as session:
        report = session.unload(
            "a.t0", tmp_path, format=file_format, splits=20, concurrency=1, file_bytes=1
        )
    assert report.rows == 2
    assert len(report.files) == 2
    if file_format == "parquet":
        assert [sizes_of_row_groups(path) for path in report.files] == [[1], [1]]


def test_an_unload_of_an_empty_table_has_its_columns(nodes: FakeCluster, tmp_path: Path) -> None:
    """The Parquet file of a table without rows has the columns, and no row group."""
    parquet = pytest.importorskip("pyarrow.parquet")
    nodes.prime(QUERY, rows(COLUMNS, [], keyspace="a", table="t0"))
    with Cluster(**settings(nodes)) as cluster, cluster.connect() as session:
        (path,) = session.unload("a.t0", tmp_path, splits=20).files
    assert sizes_of_row_groups(path) == []
    assert parquet.read_table(path).column_names == ["id", "c0"]


async def test_asyncio(nodes: FakeCluster, tmp_path: Path) -> None:
    """In the asyncio API, `await session.unload(...)` writes all rows of the table."""
    nodes.prime(QUERY, Table(no_fault))
    async with aio.Cluster(**settings(nodes)) as cluster, await cluster.connect() as session:
        report = await session.unload("a.t0", tmp_path, format="csv")
    assert report.rows == len(EXPECTED)


@pytest.mark.parametrize("file_format", ["csv", "jsonl", "parquet"])
def test_a_limit(session: Any, tmp_path: Path, file_format: str) -> None:
    """With `limit`, exactly this number of rows is written."""
    pytest.importorskip("pyarrow")
    report = session.unload("a.t0", tmp_path / "out", format=file_format, limit=33, page_size=20)
    assert report.rows == 33


def test_a_failed_unload_has_no_manifest(session: Any, nodes: FakeCluster, tmp_path: Path) -> None:
    """An unload that fails does not leave a manifest behind."""
    for node in nodes.nodes:
        node.clear_primes()
    nodes.prime(QUERY, error(ErrorCode.INVALID, "no"))
    with pytest.raises(InvalidRequest):
        session.unload("a.t0", tmp_path / "out", format="csv")
    assert not (tmp_path / "out" / "_manifest.json").exists()


def test_wrong_arguments_are_refused(session: Any, tmp_path: Path) -> None:
    """Unknown formats and compressions, files, and folders that are not empty are refused."""
    with pytest.raises(ValueError, match="not 'json': JSON is written as lines, 'jsonl'"):
        session.unload("a.t0", tmp_path / "x", format="json")
    with pytest.raises(ValueError, match="format is one of parquet, csv, jsonl, not 'xls'"):
        session.unload("a.t0", tmp_path, format="xls")
    with pytest.raises(ValueError, match="compression of csv is None or 'gzip', not 'rar'"):
        session.unload("a.t0", tmp_path, format="csv", compression="rar")
    (tmp_path / "there").write_text("")
    with pytest.raises(FileExistsError, match=r"there' is a file, but unload writes into a folder"):
        session.unload("a.t0", tmp_path / "there", format="csv")
    with pytest.raises(FileExistsError, match="is not empty"):
        session.unload("a.t0", tmp_path, format="csv")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        (True, "true"),
        (-5, "-5"),
        (0.1, "0.1"),
        (float("nan"), "nan"),
        ("a,b", "a,b"),
        (b"\x00\xff", "0x00ff"),
        (decimal.Decimal("1.50"), "1.50"),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (datetime.datetime(2024, 1, 2, 3, 4, 5, 6000), "2024-01-02 03:04:05.006000+00:00"),
        (Date("2024-01-02"), "2024-01-02"),
        (Time("03:04:05"), "03:04:05.000000000"),
        ([1, None], "[1, null]"),
        (SortedSet([b"a"]), '["0x61"]'),
        ({1: "x"}, '{"1": "x"}'),
    ],
)
def test_values_are_written_to_csv_in_these_forms(value: Any, text: str) -> None:
    """`text_of` returns the string that an unload writes for a value."""
    assert text_of(value) == text


def test_maps_and_nulls_become_json() -> None:
    """In JSON, keys of maps are strings, and blobs are strings of hexadecimal digits."""
    assert json_of({uuid.UUID(int=1): {"a": b"\1"}}) == {str(uuid.UUID(int=1)): {"a": "0x01"}}
    assert json_of(None) is None


NUMBERS = [("id", "int"), ("c0", "decimal"), ("t", "duration"), ("v", "varint")]


def prime_numbers(nodes: FakeCluster) -> None:
    """Prime the nodes to return one row with a decimal, a duration and a large varint."""
    row = (1, decimal.Decimal("1.10"), (1, 2, 3), 10**30)

    def answer_first_range(request: Request) -> Answer:
        # Only the first token range of the ring contains the row; the other ranges are empty.
        start = int.from_bytes(request.values[0], "big", signed=True)  # type: ignore[arg-type]
        return rows(NUMBERS, [row] if start == -(1 << 63) else [], keyspace="a", table="t0")

    for node in nodes.nodes:
        node.prime_prepare(QUERY, [("a", "bigint"), ("b", "bigint")], NUMBERS)
        node.prime(QUERY, answer_first_range)


@pytest.mark.parametrize("options", [{}, {"decimals": (10, 2)}])
def test_durations_and_decimals_in_parquet(
    session: Any, nodes: FakeCluster, tmp_path: Path, options: dict[str, Any]
) -> None:
    """In Parquet, durations are structs; decimals are strings, or numbers with `decimals=`."""
    parquet = pytest.importorskip("pyarrow.parquet")
    prime_numbers(nodes)
    (path,) = session.unload("a.t0", tmp_path / "out", **options).files
    table = parquet.read_table(path)
    assert table.to_pylist() == [
        {
            "id": 1,
            "c0": decimal.Decimal("1.10") if options else "1.10",
            "t": {"months": 1, "days": 2, "nanoseconds": 3},
            "v": str(10**30),
        }
    ]


def test_decimals_in_a_data_frame_are_numbers(session: Any, nodes: FakeCluster) -> None:
    """In a pandas frame, decimals are `Decimal` objects, with the digits that `decimals=` requests.

    `decimals=` is a pair: the number of digits, and the number of digits after the point.
    """
    pytest.importorskip("pyarrow")
    pytest.importorskip("pandas")
    prime_numbers(nodes)
    frame = session.scan("a.t0").to_pandas()
    assert frame["c0"].sum() == decimal.Decimal("1.10")
    assert frame["v"].tolist() == [10**30]
    frame = session.scan("a.t0").to_pandas(decimals=(20, 3))
    assert [str(number) for number in frame["c0"]] == ["1.100"]
    with pytest.raises(ValueError, match="decimals has a precision"):
        session.scan("a.t0").to_pandas(decimals=(0, 3))


async def test_decimals_of_a_frame_are_numbers_on_asyncio(nodes: FakeCluster) -> None:
    """On asyncio, `to_pandas` returns decimals as `Decimal` objects."""
    pytest.importorskip("pyarrow")
    pytest.importorskip("pandas")
    prime_numbers(nodes)
    async with aio.Cluster(**settings(nodes)) as cluster, await cluster.connect() as session:
        frame = await session.scan("a.t0").to_pandas()
        assert frame["c0"].tolist() == [decimal.Decimal("1.10")]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"compression": "rar"}, "pyarrow has no compression 'rar'"),
        ({"compression": "gz"}, "pyarrow has no compression 'gz' here: write 'gzip'"),
        ({"format": "tsv"}, "not 'tsv': write format='csv', delimiter="),
        ({"file_bytes": None}, "file_bytes is a number from 1 on, not None"),
        ({"quote": None}, "quote must be one character, but is None"),
        ({"decimals": (99, 1)}, "precision of 1 to 76"),
        ({"varints": "int8"}, "varints is 'text' or 'int64'"),
        ({"decimals": (9, 1), "format": "csv"}, "decimals is an option of Parquet: csv has"),
    ],
)
def test_options_that_parquet_lacks_are_refused_before_any_request(
    session: Any, tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    """Options that the format does not have, and wrong values, are refused before any request."""
    pytest.importorskip("pyarrow")
    with pytest.raises(ValueError, match=message):
        session.unload("a.t0", tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("file_format", ["csv", "jsonl", "parquet"])
def test_a_failed_unload_can_be_repeated(
    session: Any, nodes: FakeCluster, tmp_path: Path, file_format: str
) -> None:
    """A failed unload removes its folder, so the same call can be repeated.

    A successful unload keeps its folder, and another unload into this folder is refused.
    """
    pytest.importorskip("pyarrow")

    def fail_request_30(request_number: int) -> Answer | None:
        return error(ErrorCode.INVALID, "no") if request_number == 30 else None

    nodes.prime(QUERY, Table(fail_request_30))
    with pytest.raises(InvalidRequest):
        session.unload("a.t0", tmp_path / "out", format=file_format, page_size=20)
    assert not (tmp_path / "out").exists()
    assert session.unload("a.t0", tmp_path / "out", format=file_format).rows == len(EXPECTED)
    with pytest.raises(FileExistsError, match=r"is not empty: an unload needs a new or em"):
        session.unload("a.t0", tmp_path / "out", format=file_format)
    # Without a manifest, the folder may have been left by an unload that was killed.
    (tmp_path / "out" / "_manifest.json").unlink()
    with pytest.raises(FileExistsError, match=r"is not empty, and has no _manifest\.json"):
        session.unload("a.t0", tmp_path / "out", format=file_format)


def test_two_columns_with_the_same_name_are_refused(
    session: Any, nodes: FakeCluster, tmp_path: Path
) -> None:
    """An unload of two columns with the same name is refused before it writes anything.

    The names in the files would be ambiguous.
    """
    columns = [("id", "int"), ("id", "int")]
    for node in nodes.nodes:
        node.prime_prepare(QUERY, [("a", "bigint"), ("b", "bigint")], columns)
        node.prime(QUERY, rows(columns, [(1, 2)], keyspace="a", table="t0"))
    with pytest.raises(ValueError, match="more than one column is called 'id'"):
        session.unload("a.t0", tmp_path / "out", format="jsonl")
    assert not (tmp_path / "out").exists()


TEXTS = [("id", "int"), ("c0", "text")]


def warnings_of_unload(
    nodes: FakeCluster, session: Any, target: Path, text: str | None, **options: Any
) -> list[tuple[str, str]]:
    """Unload a table with one row; return the message and the file of each RuntimeWarning.

    :param text: the value of the row's column "c0".
    """
    for node in nodes.nodes:
        node.prime_prepare(QUERY, [("a", "bigint"), ("b", "bigint")], TEXTS)
        node.prime(QUERY, rows(TEXTS, [(1, text)], keyspace="a", table="t0"))
    with warnings.catch_warnings(record=True) as records:
        warnings.simplefilter("always")
        session.unload("a.t0", target, **options)
    return [
        (str(record.message), record.filename)
        for record in records
        if record.category is RuntimeWarning
    ]


def test_empty_texts_that_csv_writes_like_nulls_are_warned_of(
    session: Any, nodes: FakeCluster, tmp_path: Path
) -> None:
    """An unload to CSV warns about empty strings, because CSV cannot tell them from nulls."""
    for name, delimiter in (("commas", ","), ("semicolons", ";")):
        ((message, filename),) = warnings_of_unload(
            nodes, session, tmp_path / name, "", format="csv", delimiter=delimiter
        )
        assert message.startswith("column 'c0' has empty texts, which CSV has written like nulls")
        assert "write null='NULL', also for the load" in message
        assert filename == __file__


@pytest.mark.parametrize("delimiter", [",", ";"])
def test_empty_texts_of_later_pages_are_warned_of(
    session: Any, nodes: FakeCluster, tmp_path: Path, delimiter: str
) -> None:
    """Empty strings on later pages are noticed, too: small tables have few rows per page."""
    pages = iter(["x", "y", ""])

    def answer_page(request: Request) -> Answer:
        text = next(pages, None)
        return rows(TEXTS, [] if text is None else [(1, text)], keyspace="a", table="t0")

    for node in nodes.nodes:
        node.prime_prepare(QUERY, [("a", "bigint"), ("b", "bigint")], TEXTS)
    nodes.prime(QUERY, answer_page)
    with pytest.warns(RuntimeWarning, match="column 'c0' has empty texts"):
        session.unload("a.t0", tmp_path / "out", format="csv", delimiter=delimiter, concurrency=1)


def test_empty_texts_that_no_load_takes_for_nulls_are_not_warned_of(
    session: Any, nodes: FakeCluster, tmp_path: Path
) -> None:
    """There is no warning about empty strings if a load with these options reads them correctly."""
    for name, text, options in (
        ("null", None, {"format": "csv"}),
        ("text", "x", {"format": "csv"}),
        ("option", "", {"format": "csv", "null": "NULL"}),
        ("jsonl", "", {"format": "jsonl"}),
    ):
        assert warnings_of_unload(nodes, session, tmp_path / name, text, **options) == []


@pytest.mark.parametrize("file_format", ["csv", "jsonl", "parquet"])
def test_keys_without_their_last_fields_are_warned_of(
    session: Any, nodes: FakeCluster, tmp_path: Path, file_format: str
) -> None:
    """If a tuple in the key lacks its last fields, an unload warns, because files have nulls there.

    Servers distinguish a tuple without these fields from a tuple with nulls.
    """
    pytest.importorskip("pyarrow")
    one, null = b"\0\0\0\4\0\0\0\1", b"\xff\xff\xff\xff"
    columns = [("id", "tuple<int, list<tuple<int, int>>>"), ("c0", "tuple<int, int>")]
    # The key has both fields, and other columns are not compared.
    whole = [Encoded(one + null), Encoded(one)]
    lists = [
        b"\0\0\0\x14" + b"\0\0\0\1\0\0\0\x0c" + one + null,
        b"\0\0\0\x10" + b"\0\0\0\1" + b"\0\0\0\x08" + one,
    ]
    cases: list[tuple[list[Any], int]] = [
        ([whole], 0),
        ([[Encoded(one + lists[0]), None]], 0),
        ([whole, [Encoded(one), None]], 1),
        ([whole, [Encoded(one + lists[1]), None]], 1),
    ]
    for number, (page, count) in enumerate(cases):
        for node in nodes.nodes:
            node.prime_prepare(QUERY, [("a", "bigint"), ("b", "bigint")], columns)
            node.prime(QUERY, rows(columns, page, keyspace="a", table="t0"))
        with warnings.catch_warnings(record=True) as records:
            warnings.simplefilter("always")
            session.unload("a.t0", tmp_path / str(number), format=file_format)
        messages = [str(record.message) for record in records]
        assert len(messages) == count
        for message in messages:
            assert message.startswith("column 'id' of the key has values that lack their last")


@pytest.mark.parametrize("is_static", [True, False])
def test_empty_clustering_columns_are_warned_of_if_a_row_may_lack_them(is_static: bool) -> None:
    """An unload warns of empty strings in a clustering column only if the table has static columns.

    Only such a table can have rows without clustering columns (with static values only), which a
    load could not tell from rows whose clustering column is an empty string.
    """
    table = TableMetadata("a", "t0")
    for name in ("p", "c", "s"):
        table.columns[name] = ColumnMetadata(
            table, name, "text", is_static=is_static and name == "s"
        )
    table.partition_key, table.clustering_key = [table.columns["p"]], [table.columns["c"]]
    scan: Any = SimpleNamespace(_table_metadata=lambda: table, _key_names=lambda: ["p", "c"])
    with warnings.catch_warnings(record=True) as records:
        warnings.simplefilter("always")
        unload_module._warn_of_empty_texts(scan, ["p", "c"])
    assert [str(record.message)[:31] for record in records] == (
        ["column 'c' has empty texts, whi"] if is_static else []
    )


def test_empty_values_of_compact_storage_are_warned_of() -> None:
    """If a table with COMPACT STORAGE has empty texts as values, an unload warns.

    A load reads an empty text as null, and refuses rows without values.
    """
    table = TableMetadata("a", "t0")
    for name in ("p", "v"):
        table.columns[name] = ColumnMetadata(table, name, "text")
    table.partition_key = [table.columns["p"]]
    scan: Any = SimpleNamespace(_table_metadata=lambda: table, _key_names=lambda: ["p"])
    for is_compact in (False, True):
        table.is_compact_storage = is_compact
        with pytest.warns(RuntimeWarning) as records:
            unload_module._warn_of_empty_texts(scan, ["p", "v"])
        (message,) = [str(record.message) for record in records]
        assert ("refuses rows without any value" in message) is is_compact


@pytest.mark.parametrize("cql_type", ["text", "int"])
async def test_rows_of_compact_storage_without_their_last_clustering_columns(
    tmp_path: Path, cql_type: str
) -> None:
    """If a row lacks its last clustering column, a text, an unload to CSV raises an error.

    Tables with COMPACT STORAGE have such rows. CSV cannot distinguish a missing text from an empty
    one, so a load of the file would write a row with another key. The load reads an empty field of
    another type as null, and so it reads the text of the option `null`.
    """
    columns = [("id", "int"), ("c", "int"), ("d", cql_type)]
    full = (1, 2, "" if cql_type == "text" else 3)
    query = QUERY.replace('"id", "c0"', '"id", "c", "d"').replace("t0", "t")
    message = (
        r"table a\.t, the row with id = 1 and c = 2 and d = None: row 1, column \"d\" of the key: "
        r"it is null, and a load of CSV would read an empty value, .* write null='NULL'"
    )
    options: Any = [{"format": "csv", "null": "NULL"}, {"format": "jsonl"}]
    refused: Any = {"format": "csv"}
    if cql_type == "int":
        options.append(refused)
    with FakeNode() as node:
        node.schema = {"system_schema.keyspaces": [keyspace("a")]}
        node.schema["system_schema.columns"] = [
            column("a", "t", name, kind, max(position, 0), type=cql_type)
            for position, ((name, cql_type), kind) in enumerate(
                zip(columns, ("partition_key", "clustering", "clustering"), strict=True), -1
            )
        ]
        node.schema["system_schema.tables"] = [
            {
                "keyspace_name": "a", "table_name": "t", **OPTIONS, "id": uuid4(),
                "flags": ["dense", "compound"],
            }
        ]  # fmt: skip
        select = node.prime_prepare(query, [("a", "bigint"), ("b", "bigint")], columns)
        select.keyspace, select.table = "a", "t"
        node.prime(query, rows(columns, [full, (1, 2, None)], keyspace="a", table="t"))
        everything = [TokenRange(FIRST, LAST)]
        settings: Any = {"contact_points": [node.address], "port": node.port}
        with Cluster(**settings) as cluster, cluster.connect() as session:
            for number, each in enumerate(options):
                target = tmp_path / str(number)
                assert session.unload("a.t", target, ranges=everything, **each).rows == 2
            if cql_type == "text":
                with pytest.raises(ValueError, match=message):
                    session.unload("a.t", tmp_path / "csv", ranges=everything, **refused)
            else:
                # A number may have zero bytes, which files cannot distinguish from null.
                node.prime(query, rows(columns, [(1, 2, Encoded(b""))], keyspace="a", table="t"))
                for each in options:
                    with pytest.raises(ValueError, match='"d" of the key: it is empty, and'):
                        session.unload("a.t", tmp_path / "new", ranges=everything, **each)
        async with aio.Cluster(**settings) as async_cluster:
            async_session = await async_cluster.connect()
            if cql_type == "text":
                with pytest.raises(ValueError, match=message):
                    await async_session.unload(
                        "a.t", tmp_path / "aio", ranges=everything, **refused
                    )
    assert {*os.listdir(tmp_path)} == {str(number) for number in range(len(options))}


@pytest.mark.parametrize("file_format", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("file_bytes", [1, 1 << 20])
@pytest.mark.parametrize("later_names", [["id", "b"], ["id", "c0", "b"], ["id"], ["c0", "id"]])
def test_columns_that_change_between_pages_are_refused(
    session: Any,
    nodes: FakeCluster,
    tmp_path: Path,
    file_format: str,
    file_bytes: int,
    later_names: list[str],
) -> None:
    """An unload fails if the columns change between two pages.

    A file's header or schema is written once, so later pages must have the same columns. Here the
    table is altered during a scan of "*": only the first page has the columns id and c0.
    """
    pytest.importorskip("pyarrow")
    query = QUERY.replace('"id", "c0"', "*")
    first_names = ["id", "c0"]
    request_count = 0

    # Only the first response has the columns id and c0.
    def answer_page(request: Request) -> Answer:
        """Respond with one row, which has other columns from the second request on."""
        nonlocal request_count
        request_count += 1
        names = first_names if request_count == 1 else later_names
        columns = [(name, "int") for name in names]
        return rows(columns, [tuple(range(len(names)))], keyspace="a", table="t0")

    columns = [(name, "int") for name in first_names]
    for node in nodes.nodes:
        prepared = node.prime_prepare(query, [("a", "bigint"), ("b", "bigint")], columns)
        prepared.keyspace, prepared.table = "a", "t0"
    nodes.prime(query, answer_page)
    options: Any = {"columns": "*", "concurrency": 1, "file_bytes": file_bytes}
    with pytest.raises(DecodeError, match=r"the columns changed between pages, from \(id"):
        session.unload("a.t0", tmp_path / "out", format=file_format, splits=4, **options)
    # Without a manifest, the output does not count as complete.
    assert not (tmp_path / "out" / "_manifest.json").exists()


def die(writer: Any) -> None:
    """End an unload like a killed process: the system closes its files, and nothing is removed."""
    writer._stack.close()
    writer._sign.release()


@pytest.mark.parametrize("file_format", ["csv", "jsonl", "parquet"])
def test_a_load_skips_the_unfinished_file_of_a_killed_unload(
    session: Any, tmp_path: Path, file_format: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A killed unload's unfinished file is ignored by loads, and its folder by other unloads."""
    pytest.importorskip("pyarrow")
    out = tmp_path / "out"
    # Imitate a killed process, which neither completes nor removes its file.
    monkeypatch.setattr(unload_module._Writer, "_end_file", lambda self: None)
    monkeypatch.setattr(unload_module._Writer, "_check_own_files", lambda self: None)
    monkeypatch.setattr(unload_module._Writer, "abandon", die)
    session.unload("a.t0", out, format=file_format)
    (unfinished_file,) = [path for path in out.iterdir() if path.name != "_manifest.json"]
    assert unfinished_file.stat().st_size
    with pytest.raises(FileNotFoundError, match="has no file"):
        files_of(str(out))
    with pytest.raises(FileNotFoundError, match="no file is named"):
        files_of(str(out / "*"), [str(out / "_manifest.json")])
    with pytest.raises(FileExistsError, match="is not empty"):
        session.unload("a.t0", out, format=file_format)


@pytest.mark.parametrize("how", ["killed", "failed"])
def test_the_whole_files_of_an_unfinished_unload_are_not_loaded(
    session: Any, tmp_path: Path, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If an unload has written some files but no manifest, a load refuses its folder.

    Otherwise, the load would seem to be complete without the rows of the other files.
    """
    out = tmp_path / "out"
    options: Any = {"format": "csv", "splits": 4, "file_bytes": 1}
    end_file = unload_module._Writer._end_file

    def end_two_files(self: Any) -> None:
        if len(self.report.files) == 2:
            raise OSError("the disk is full")
        end_file(self)

    with monkeypatch.context() as patch:
        patch.setattr(unload_module._Writer, "_end_file", end_two_files)
        if how == "killed":  # a killed process does not remove its file
            patch.setattr(unload_module._Writer, "abandon", die)
        with pytest.raises(OSError, match="the disk is full"):
            session.unload("a.t0", out, **options)
    assert len(list(out.glob("part-*"))) == 2
    with pytest.raises(FileNotFoundError, match="its unload was stopped or is running"):
        files_of(str(out))
    # The application has chosen these files itself, so they are loaded, but with a warning.
    with pytest.warns(RuntimeWarning, match=r"lacks rows, .* only the files that '.*\*\.csv' has"):
        assert len(files_of(str(out / "*.csv")) or ()) == 2
    (out / ".unfinished-unload").unlink()
    assert len(files_of(str(out)) or ()) == 2


def test_files_are_on_disk_before_they_get_their_names(
    session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The content of each file is written to disk before the file is renamed.

    Otherwise, a complete folder could have empty files after a loss of power.
    """
    events: list[tuple[str, int]] = []  # the call, and the file's size
    fsync, replace = os.fsync, os.replace

    def recorded_fsync(file: int) -> None:
        events.append(("fsync", os.fstat(file).st_size))
        fsync(file)

    def recorded_replace(source: str, target: str) -> None:
        events.append(("replace", os.stat(source).st_size))
        replace(source, target)

    monkeypatch.setattr(os, "fsync", recorded_fsync)
    monkeypatch.setattr(os, "replace", recorded_replace)
    session.unload("a.t0", tmp_path, format="csv", splits=4, file_bytes=1)
    sizes = [size for call, size in events if call == "replace"]
    assert len(sizes) > 2
    assert events == [(call, size) for size in sizes for call in ("fsync", "replace")]


def test_an_unload_into_an_empty_folder_can_be_repeated(
    session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An unload that was killed before its first file was complete does not block its folder."""
    with monkeypatch.context() as patch:
        patch.setattr(unload_module._Writer, "abandon", die)
        with pytest.raises(ValueError, match="write columns='id, no AS c' for selectors"):
            session.unload("a.t0", tmp_path, columns=["id", "no AS c"], format="csv")
    assert [path.name for path in tmp_path.iterdir()] == [".unfinished-unload"]
    # If an unload fails, it leaves the sign of the earlier unload.
    with pytest.raises(ValueError, match="for selectors"):
        session.unload("a.t0", tmp_path, columns=["id", "no AS c"], format="csv")
    assert [path.name for path in tmp_path.iterdir()] == [".unfinished-unload"]
    assert session.unload("a.t0", tmp_path, format="csv").rows == len(EXPECTED)
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize("moment", ["planning", "writing"])
def test_two_unloads_do_not_write_into_one_folder(
    session: Any, tmp_path: Path, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While an unload runs, another one into its folder is refused, and changes nothing there.

    Otherwise, both would write into the same temporary file, and the manifest of one could list a
    file with rows of the other table.
    """
    out = tmp_path / "out"
    errors: list[str] = []

    def unload_too(writer: Any, *arguments: Any) -> Any:
        with pytest.raises(FileExistsError) as caught:
            session.unload("a.t0", out, format="csv")
        errors.append(str(caught.value))
        return original(writer, *arguments)

    name = "_check_columns" if moment == "planning" else "_end_file"
    original = getattr(unload_module._Writer, name)
    with monkeypatch.context() as patch:
        patch.setattr(unload_module._Writer, name, unload_too)
        report = session.unload("a.t0", out, format="csv", splits=4, page_size=50)
    assert report.rows == len(EXPECTED)
    assert all("another unload" in message or "is not empty" in message for message in errors)
    assert f"another unload (process {os.getpid()} on " in errors[0] or moment == "writing"
    assert sorted(path.name for path in out.iterdir()) == ["_manifest.json", "part-00000.csv"]
    (path,) = report.files
    assert len(path.read_text().splitlines()) == len(EXPECTED) + 1


def test_an_unload_notices_another_one_in_a_folder_that_cannot_be_locked(
    session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If files cannot be locked, an unload finds the files that another one has written.

    Some network file systems have no locks.
    """
    monkeypatch.setattr(signs_module, "_is_locked", lambda descriptor: False)
    original = unload_module._Writer.end

    def end_later(writer: Any, *arguments: Any) -> Any:
        with monkeypatch.context() as patch:
            patch.setattr(unload_module._Writer, "end", original)
            patch.setattr(unload_module._Writer, "_has_files", lambda self: False)
            other_unload()
        return original(writer, *arguments)

    monkeypatch.setattr(unload_module._Writer, "end", end_later)
    for other_format in ("csv", "jsonl"):
        other_unload = partial(session.unload, "a.t0", tmp_path, format=other_format)
        with pytest.raises(FileExistsError, match=r"another program has written .*part-0000"):
            session.unload("a.t0", tmp_path, format="csv")
        for path in tmp_path.iterdir():
            path.unlink()


def test_complete_files_may_be_moved_while_an_unload_runs(
    session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An application may move files elsewhere as soon as they have their names."""
    replace = os.replace
    out, moved = tmp_path / "out", tmp_path / "moved"
    moved.mkdir()

    def replace_and_move(source: Any, target: Any) -> None:
        replace(source, target)
        if Path(target).name.startswith("part-"):
            replace(target, moved / Path(target).name)

    monkeypatch.setattr(os, "replace", replace_and_move)
    report = session.unload("a.t0", out, format="csv", splits=4, file_bytes=1)
    assert [path.name for path in out.iterdir()] == ["_manifest.json"]
    assert sorted(path.name for path in moved.iterdir()) == [path.name for path in report.files]
    assert report.bytes == sum(path.stat().st_size for path in moved.iterdir())


async def test_a_file_is_not_closed_while_it_is_written_to(
    nodes: FakeCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If an unload is cancelled, its file is closed only after its thread has written the page."""
    nodes.prime(QUERY, Table(no_fault))
    writing_begun, may_continue = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()
    events: list[str] = []
    add, abandon = unload_module._Writer.add, unload_module._Writer.abandon

    # Before the unload writes a page, wait until the test allows the thread to continue.
    def slow_add(self: Any, result: Any) -> None:
        loop.call_soon_threadsafe(writing_begun.set)
        assert may_continue.wait(30)
        add(self, result)
        events.append("written")

    def recorded_abandon(self: Any) -> None:
        events.append("closed")
        abandon(self)

    monkeypatch.setattr(unload_module._Writer, "add", slow_add)
    monkeypatch.setattr(unload_module._Writer, "abandon", recorded_abandon)
    async with aio.Cluster(**settings(nodes)) as cluster, await cluster.connect() as session:
        unloading = asyncio.ensure_future(session.unload("a.t0", tmp_path / "out", format="csv"))
        await writing_begun.wait()
        # Cancel the unload while its thread writes a page.
        unloading.cancel()
        await asyncio.sleep(0)
        may_continue.set()
        with pytest.raises(asyncio.CancelledError):
            await unloading
    assert events == ["written", "closed"]
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["out.xlsx", "OUT.ORC", "out.db"])
def test_files_in_formats_that_unload_does_not_write_are_refused(
    session: Any, tmp_path: Path, name: str
) -> None:
    """A target with the ending of another format is refused, and nothing is created."""
    with pytest.raises(ValueError, match=r"in the format parquet, csv or jsonl, and not .*: name"):
        session.unload("a.t0", tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_a_folder_with_the_name_of_a_file_of_another_format(session: Any, tmp_path: Path) -> None:
    """A folder "out.csv" is refused for Parquet files, and created with a warning for CSV files."""
    with pytest.raises(ValueError, match=r"out\.csv' names a file of csv.*write format='csv'"):
        session.unload("a.t0", tmp_path / "out.csv")
    assert not list(tmp_path.iterdir())
    with pytest.warns(
        RuntimeWarning, match=r"out\.csv' becomes a folder.* a folder, as .*/out', or"
    ):
        report = session.unload("a.t0", tmp_path / "out.csv", format="csv")
    assert report.rows == len(EXPECTED)
    with pytest.warns(RuntimeWarning, match=r"out\.parquet\.zst' becomes a folder of files"):
        session.unload("a.t0", tmp_path / "out.parquet.zst", format="csv")


@pytest.mark.parametrize(
    ("target", "advice"),
    [
        ("s3://bucket/rows", r"copy it to s3://, or .* frame\.to_parquet\('s3://bucket/rows'\)"),
        ("gs://bucket", "copy it to gs://"),
        ("~/rows", r"write os\.path\.expanduser\('~/rows'\)"),
        (io.BytesIO(), "not to a BytesIO: write the path of the folder"),
    ],
)
def test_targets_that_are_no_folders_of_this_machine(
    session: Any, tmp_path: Path, target: Any, advice: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Targets that are not local folders are refused, so no folder "s3:" or "~" is created."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises((TypeError, ValueError), match=advice):
        session.unload("a.t0", target, format="csv")
    assert os.listdir() == []


@pytest.mark.parametrize("folder", ["-", "/dev/stdout", "/dev/null", "pipe"])
def test_pipes_and_devices_are_refused_as_folders(
    session: Any, tmp_path: Path, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pipes and devices are refused as targets, and nothing is written to them."""
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    with pytest.raises(ValueError, match="unload writes a folder of files, and not to"):
        session.unload("a.t0", folder, format="csv")
    assert os.listdir() == ["pipe"]


@pytest.mark.parametrize(
    ("option", "advice"),
    [
        ("sep", "write delimiter=';'"),
        ("overwrite", "an unload never replaces files"),
        ("partition_by", "write a folder for each part"),
        ("delimitr", "did you mean 'delimiter'"),
        ("xyz", "there are columns, compression, concurrency, .*file_bytes.*null"),
    ],
)
def test_unknown_options_of_an_unload_get_its_own_names(
    session: Any, tmp_path: Path, option: str, advice: str
) -> None:
    """The error for an unknown option of an unload says what to write, or lists all options."""
    with pytest.raises(TypeError, match=f"an unload does not have the option '{option}'; {advice}"):
        session.unload("a.t0", tmp_path / "out", **{option: "x"})


async def test_a_thread_that_writes_is_waited_for_although_the_task_is_cancelled_twice() -> None:
    """Otherwise the thread would go on writing into the folder after the unload has ended."""
    begun, go_on = threading.Event(), threading.Event()

    def write() -> None:
        begun.set()
        go_on.wait(WAIT)

    task = asyncio.ensure_future(unload_module._in_thread(write))
    await asyncio.to_thread(begun.wait, WAIT)
    for _ in range(3):
        task.cancel()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert not task.done()
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await task
