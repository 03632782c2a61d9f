"""Unloads: files of each format, from both faces."""

from __future__ import annotations

import csv
import datetime
import decimal
import gzip
import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cassandra import aio
from cassandra.bulk.texts import json_of, text_of
from cassandra.cluster import Cluster
from cassandra.errors import InvalidRequest
from cassandra.testing.fake import ErrorCode, FakeCluster, error
from cassandra.util import Date, SortedSet, Time
from tests.unit.bulk.test_scan import EXPECTED, QUERY, Table, no_fault, nodes, settings

__all__ = ["nodes"]


@pytest.fixture
def session(nodes: FakeCluster) -> Iterator[Any]:
    nodes.prime(QUERY, Table(no_fault))
    with Cluster(**settings(nodes)) as cluster, cluster.connect() as session:
        yield session


def test_csv_in_several_files(session: Any, tmp_path: Path) -> None:
    report = session.unload("a.t0", tmp_path / "out", format="csv", file_bytes=2000, page_size=50)
    assert report.rows == len(EXPECTED)
    assert len(report.files) > 2
    assert report.bytes == sum(path.stat().st_size for path in report.files)
    found = []
    for path in report.files:
        with open(path, newline="", encoding="utf-8") as file:
            lines = csv.reader(file)
            assert next(lines) == ["id", "c0"]
            found += [tuple(map(int, line)) for line in lines]
    assert sorted(found) == EXPECTED
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["rows"] == len(EXPECTED)
    assert [one["name"] for one in manifest["files"]] == [path.name for path in report.files]
    assert sum(one["rows"] for one in manifest["files"]) == len(EXPECTED)
    assert not list((tmp_path / "out").glob("*.tmp"))


def test_json_lines_compressed(session: Any, tmp_path: Path) -> None:
    (path,) = session.unload("a.t0", tmp_path, format="jsonl", compression="gzip").files
    with gzip.open(path, "rt") as file:
        found = [json.loads(line) for line in file]
    assert sorted((row["id"], row["c0"]) for row in found) == EXPECTED


def test_parquet(session: Any, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    session.unload("a.t0", tmp_path, compression="zstd", file_bytes=3000, page_size=50)
    rows = [
        row for path in tmp_path.glob("*.parquet") for row in parquet.read_table(path).to_pylist()
    ]
    assert sorted((row["id"], row["c0"]) for row in rows) == EXPECTED


async def test_asyncio(nodes: FakeCluster, tmp_path: Path) -> None:
    nodes.prime(QUERY, Table(no_fault))
    async with aio.Cluster(**settings(nodes)) as cluster, await cluster.connect() as session:
        report = await session.unload("a.t0", tmp_path, format="csv")
    assert report.rows == len(EXPECTED)


def test_what_fails_has_no_manifest(session: Any, nodes: FakeCluster, tmp_path: Path) -> None:
    for node in nodes.nodes:
        node.clear_primes()
    nodes.prime(QUERY, error(ErrorCode.INVALID, "no"))
    with pytest.raises(InvalidRequest):
        session.unload("a.t0", tmp_path / "out", format="csv")
    assert not (tmp_path / "out" / "manifest.json").exists()


def test_mistakes(session: Any, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="format is one of parquet, csv, jsonl, not 'xls'"):
        session.unload("a.t0", tmp_path, format="xls")
    with pytest.raises(ValueError, match="compression of csv is None or 'gzip', not 'rar'"):
        session.unload("a.t0", tmp_path, format="csv", compression="rar")
    (tmp_path / "there").write_text("")
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
def test_texts(value: Any, text: str) -> None:
    assert text_of(value) == text


def test_maps_and_null_in_json() -> None:
    assert json_of({uuid.UUID(int=1): {"a": b"\1"}}) == {str(uuid.UUID(int=1)): {"a": "0x01"}}
    assert json_of(None) is None
