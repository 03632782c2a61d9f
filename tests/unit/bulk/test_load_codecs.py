"""In bulk work, converters apply only to rows of the application.

Files and tables contain CQL values, which no converter changes.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cassandra import aio
from cassandra.cluster import Cluster
from cassandra.codecs import Converter
from cassandra.protocol.columnar.named_arrays import NamedArrays
from cassandra.query import tuple_factory
from cassandra.testing.fake import FakeCluster, FakeNode, Request, void
from cassandra.testing.fake.answers import Answer
from tests.unit.bulk.test_load import INSERT, node
from tests.unit.bulk.test_scan import COLUMNS, EXPECTED, QUERY, Table, no_fault, nodes, settings

__all__ = ["node", "nodes"]

# A converter that writes strings in lower case, and reads them in upper case.
LOUD: Converter[str, str] = Converter(to_cql=str.lower, from_cql=str.upper)


@pytest.fixture
def inserted_names(node: FakeNode) -> list[Any]:
    """Return a list to which the value of the column "name" of each inserted row is appended."""
    names: list[Any] = []

    def record_name(request: Request) -> Answer:
        names.append(request.values[1])
        return void()

    node.prime(INSERT, record_name)
    return names


def load(node: FakeNode, source: Any) -> None:
    """Load `source` in a session that has converters for the column `name` and for bytes."""
    with Cluster([node.address], port=node.port) as cluster:
        session = cluster.connect()
        session.codecs.register_column("ks.t.name", LOUD)
        session.codecs.register_class(bytes, bytes.decode)
        prepared = session.prepare(INSERT)
        prepared.is_idempotent = True
        session.load(prepared, source)


def test_rows_of_the_application(node: FakeNode, inserted_names: list[Any]) -> None:
    """A load applies converters to rows that the application passes."""
    load(node, [(1, "ADA"), {"id": 2, "name": "BOB"}])
    assert sorted(inserted_names) == [b"ada", b"bob"]


@pytest.mark.parametrize(
    ("name", "content"),
    [("rows.csv", "id,name\n1,ADA\n"), ("rows.jsonl", '{"id": 1, "name": "ADA"}\n')],
)
def test_files(
    node: FakeNode, inserted_names: list[Any], tmp_path: Path, name: str, content: str
) -> None:
    """A load applies no converter to files, because their strings represent CQL values."""
    (tmp_path / name).write_text(content)
    load(node, tmp_path / name)
    assert inserted_names == [b"ADA"]


def test_tables(node: FakeNode, inserted_names: list[Any]) -> None:
    """A load applies no converter to Arrow tables, because their columns contain CQL values."""
    pyarrow = pytest.importorskip("pyarrow")
    load(node, pyarrow.table({"id": [1], "name": ["ADA"]}))
    assert inserted_names == [b"ADA"]


def test_mappings_of_columns(node: FakeNode, inserted_names: list[Any]) -> None:
    """A mapping may have the application's objects, but what `to_numpy` returns has none."""
    numpy = pytest.importorskip("numpy")
    columns = {"id": numpy.array([1]), "name": numpy.array(["ADA"], object)}
    load(node, columns)
    load(node, NamedArrays(columns))
    assert inserted_names == [b"ada", b"ADA"]


def prime(nodes: FakeCluster) -> None:
    """Prime the nodes to prepare and execute the statement of a scan of `a.t0`."""
    token_bound = ("partition key token", "bigint")
    for each in nodes.nodes:
        prepared = each.prime_prepare(QUERY, [token_bound, token_bound], COLUMNS)
        prepared.keyspace, prepared.table = "a", "t0"
    nodes.prime(QUERY, Table(no_fault))


def register_converters(cluster: Any) -> None:
    """Register converters: ints are read as strings, and the bigint converter fails if used."""
    # A scan binds the bounds of token ranges as bigints, to which no converter may be applied.
    cluster.codecs.register_type("bigint", Converter(lambda value: 1 // 0))
    cluster.codecs.register_type("int", Converter(to_cql=None, from_cql=str))


def test_scans_return_converted_values_and_unloads_write_cql_values(
    nodes: FakeCluster, tmp_path: Path
) -> None:
    """A scan applies converters to its rows; an unload writes plain CQL values to its files."""
    prime(nodes)
    with Cluster(**settings(nodes)) as cluster:
        register_converters(cluster)
        session = cluster.connect()
        session.row_factory = tuple_factory
        scanned_rows = list(session.scan("a.t0"))
        assert all(isinstance(item, str) for row in scanned_rows for item in row)
        # Sort the rows as numbers, because the string "10" comes before "9".
        assert sorted((int(k), int(c)) for k, c in scanned_rows) == EXPECTED
        (path,) = session.unload("a.t0", tmp_path, format="jsonl").files
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert sorted((row["id"], row["c0"]) for row in rows) == EXPECTED


async def test_scans_by_asyncio(nodes: FakeCluster) -> None:
    """A scan of `cassandra.aio` applies converters to its rows."""
    prime(nodes)
    async with aio.Cluster(**settings(nodes)) as cluster:
        register_converters(cluster)
        session = await cluster.connect()
        session.row_factory = tuple_factory
        pairs = [(int(k), int(c)) async for k, c in session.scan("a.t0")]
    assert sorted(pairs) == EXPECTED
