"""Dry runs report the nulls inside collections that servers would refuse.

The expected results are what a node of Cassandra 5.0.9 accepts and refuses.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cassandra import cqltypes as t
from cassandra.bulk.inner_nulls import CollectionColumn, collection_columns, inner_null
from cassandra.cluster import Cluster
from cassandra.testing.fake import FakeNode, Opcode
from tests.unit.cqltypes.samples import list_of, map_of, tuple_of
from tests.unit.metadata.schema.rows import column, schema

COLUMNS = {"id": "int", "tags": "list<text>", "kept": "frozen<list<text>>", "m": "map<text, int>"}
INSERT = f"INSERT INTO a.t0 ({', '.join(COLUMNS)}) VALUES (?, ?, ?, ?)"
ROWS: list[tuple[Any, ...]] = [
    (1, ["x"], ["x"], {"x": 1}),
    (2, ["x", None], None, None),
    (3, None, ["x", None], None),  # Servers accept a null in a frozen list.
    (4, None, None, {"x": None}),
    (5, [], None, {}),
]


@pytest.fixture
def session() -> Iterator[Any]:
    """Yield a session of a fake node that has the table `a.t0`; fail if the test wrote to it."""
    with FakeNode() as node:
        node.schema = schema("a", tables=1)
        node.schema["system_schema.columns"] += [
            column("a", "t0", name, "regular", type=cql_type)
            for name, cql_type in COLUMNS.items()
            if name != "id"
        ]
        # A PREPARED response does not say whether a list is frozen.
        types = {**COLUMNS, "kept": "list<text>"}
        prepared = node.prime_prepare(INSERT, list(types.items()), pk_indexes=[0])
        prepared.keyspace, prepared.table = "a", "t0"
        with Cluster([node.address], port=node.port) as cluster:
            yield cluster.connect("a")
        # A dry run sends no row.
        assert not node.count(Opcode.EXECUTE) + node.count(Opcode.BATCH)


def test_dry_runs_report_nulls_inside_collections(session: Any) -> None:
    """A dry run fails each row with a null inside a collection, and names the null's position."""
    report = session.load("t0", ROWS, columns=list(COLUMNS), dry_run=True, max_errors=None)
    assert [str(failure).partition(": servers")[0] for failure in report.failures] == [
        "row 1: column 'tags' has a null inside the collection, at element 1",
        "row 3: column 'm' has a null inside the collection, at value 0, of the key 'x' (str)",
    ]


def test_dry_runs_of_files_report_nulls_inside_collections(session: Any, tmp_path: Path) -> None:
    """A dry run of a file reports a null within a collection, with the line and the column."""
    path = tmp_path / "rows.jsonl"
    path.write_text('{"id": 1, "tags": ["x", null]}\n{"id": 2, "kept": [null], "m": {}}\n')
    report = session.load(
        "t0", path, columns=list(COLUMNS), dry_run=True, max_errors=None, progress=False
    )
    (failure,) = report.failures
    assert "rows.jsonl, line 1: column 'tags' has a null inside" in str(failure)


@pytest.mark.parametrize(
    ("cql_type", "value", "takes_null_elements", "position"),
    [
        (list_of(t.Int32Type), [1, None], False, "element 1"),
        (list_of(t.Int32Type), [1, None], True, None),
        (list_of(list_of(t.Int32Type)), [[1, None]], True, "element 0: element 1"),
        (map_of(t.Int32Type, t.Int32Type), {1: None}, True, "value 0, of the key 1 (int)"),
        (tuple_of(t.Int32Type, t.Int32Type), (1, None), False, None),
    ],
)
def test_nulls_that_servers_refuse(
    cql_type: Any, value: Any, takes_null_elements: bool, position: str | None
) -> None:
    """`inner_null` returns an error with the position of the null, or None if servers accept it.

    Tuples may contain nulls, and so may lists whose `takes_null_elements` is true.
    """
    data = cql_type.codec().encode(value)
    collection = CollectionColumn(0, "c", cql_type, takes_null_elements)
    # In a row, a value follows its 4-byte length. `inner_null` gets the offset of the length and
    # the size of the value, so it does not read the length (four zero bytes here).
    error = inner_null([collection], bytes(4) + data, [(0, len(data))])
    if position is None:
        assert error is None
    else:
        assert f"at {position}: servers" in str(error)
    # A null or unset value has a negative size.
    assert inner_null([collection], b"", [(0, -1)]) is None


def test_lists_count_as_frozen_if_the_table_is_unknown(session: Any) -> None:
    """If the table is unknown, lists count as frozen, so their null elements are accepted.

    Servers accept nulls in frozen lists, and only the table's types say whether a list is frozen.
    """
    prepared = session.prepare(INSERT)

    def takes_null_elements(cql_types: dict[str, str] | None) -> dict[str, bool]:
        """Return for each collection, by name, whether its elements may be null."""
        collections = collection_columns(prepared, cql_types)
        return {collection.name: collection.takes_null_elements for collection in collections}

    assert takes_null_elements(cql_types=None) == {"tags": True, "kept": True, "m": False}
    assert takes_null_elements(COLUMNS) == {"tags": False, "kept": True, "m": False}
