"""Test `Grouping`, which groups the rows of the schema tables by keyspace and table.

The rows may come in any order.
"""

from __future__ import annotations

from typing import Any

import pytest

from cassandra import cqltypes as t
from cassandra.metadata.schema import pages
from cassandra.metadata.schema.grouping import Grouping
from tests.conftest import Implementation
from tests.unit.cqltypes.samples import list_of
from tests.unit.protocol.pages import message_of

TEXT = t.UTF8Type


@pytest.fixture(autouse=True)
def _implementation(implementation: Implementation, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each test run with the compiled and with the pure Python version."""
    monkeypatch.setattr(pages, "row_plans", implementation.rows)


def rows(columns: dict[str, Any], *values: Any) -> Any:
    """Return a page of rows of these columns.

    Values that are not bytes are encoded.
    """

    def encoded(cqltype: Any, cell: Any) -> bytes | None:
        if cell is None or isinstance(cell, bytes):
            return cell
        encoded_cell: bytes = cqltype.to_binary(cell, 4)
        return encoded_cell

    cells = [
        [encoded(cqltype, cell) for cqltype, cell in zip(columns.values(), row, strict=True)]
        for row in values
    ]
    return message_of(columns, cells)


def texts(*names: str) -> dict[str, Any]:
    """Return text columns with these names."""
    return dict.fromkeys(names, TEXT)


KEYSPACES = texts("keyspace_name")
TABLES = texts("keyspace_name", "table_name", "comment")


def grouped(**parts: Any) -> Grouping:
    """Return a grouping to which one page of each of these schema tables was added."""
    grouping = Grouping()
    for part, message in parts.items():
        grouping.add(part, message, 4)
    return grouping


def test_keyspaces_are_sorted_by_name_and_have_their_tables() -> None:
    """Keyspaces are sorted by name, and have the tables whose rows name them.

    A table of an unknown keyspace is left out.
    """
    grouping = grouped(
        tables=rows(TABLES, ("b", "t", "x"), ("a", "u", "y"), ("gone", "t", "z")),
        keyspaces=rows(KEYSPACES, ("b",), ("a",)),
        virtual_keyspaces=rows(KEYSPACES, ("v",)),
        virtual_tables=rows(TABLES, ("v", "w", "z")),
    )
    sources = grouping.sources()
    assert list(sources) == ["a", "b", "v"]
    assert {name: list(source.tables) for name, source in sources.items()} == {
        "a": ["u"],
        "b": ["t"],
        "v": ["w"],
    }
    # Rows of the virtual tables make virtual keyspaces and tables.
    assert [source.virtual for source in sources.values()] == [False, False, True]
    table = sources["b"].tables["t"]
    assert table.names.value(table.row, "comment") == "x"
    assert not table.virtual
    assert sources["v"].tables["w"].virtual
    assert sources["a"].row == {"keyspace_name": "a"}
    assert {table.name for table in grouping.table_sources()} == {"t", "u", "w"}


def test_empty_pages_add_nothing() -> None:
    """An empty page adds nothing."""
    assert grouped(keyspaces=rows(KEYSPACES)).sources() == {}


def test_views_belong_to_their_table() -> None:
    """A view belongs to the keyspace and, if its base table exists, to this table."""
    columns = texts("keyspace_name", "view_name", "base_table_name")
    grouping = grouped(
        keyspaces=rows(KEYSPACES, ("a",)),
        tables=rows(TABLES, ("a", "t", "x")),
        views=rows(columns, ("a", "v", "t"), ("a", "w", "t"), ("a", "o", "gone"), ("a", "n", None)),
    )
    source = grouping.sources()["a"]
    assert set(source.views) == {"v", "w", "o", "n"}
    # The base table of view `o` does not exist, and view `n` has no base table in its row.
    assert set(source.tables["t"].views) == {"v", "w"}
    assert source.views["v"].base == "t"
    assert source.views["o"].base == "gone"
    assert source.views["n"].base == ""
    assert source.views["v"].builder == "view"
    assert source.tables["t"].builder == "table"


def test_each_table_gets_its_own_rows() -> None:
    """Each table gets the rows of its indexes, triggers and so on.

    Rows of tables that do not exist are ignored.
    """
    table_key = ("keyspace_name", "table_name")
    grouping = grouped(
        keyspaces=rows(KEYSPACES, ("a",)),
        tables=rows(TABLES, ("a", "t", "x"), ("a", "u", "y")),
        indexes=rows(
            texts(*table_key, "index_name", "kind", "options"),
            ("a", "t", "i", "KEYS", "{}"),
            ("a", "t", "j", "KEYS", "{}"),
            ("a", "gone", "k", "KEYS", "{}"),
        ),
        triggers=rows(texts(*table_key, "trigger_name"), ("a", "t", "x"), ("a", "gone", "y")),
        dropped_columns=rows(texts(*table_key, "column_name"), ("a", "t", "d")),
        column_masks=rows(texts(*table_key, "column_name"), ("a", "t", "m")),
        scylla_tables=rows(texts(*table_key, "version"), ("a", "t", "s")),
    )
    tables = grouping.sources()["a"].tables
    # The table "t" has all rows of existing tables.
    table = tables["t"]
    assert [row[0] for row in table.indexes] == ["i", "j"]
    assert [row["trigger_name"] for row in table.triggers] == ["x"]
    assert [row["column_name"] for row in table.dropped] == ["d"]
    assert [row["column_name"] for row in table.masks] == ["m"]
    assert [row["version"] for row in table.scylla] == ["s"]
    # The table "u" has no such rows.
    table_without_rows = tables["u"]
    for part in (
        table_without_rows.indexes,
        table_without_rows.triggers,
        table_without_rows.dropped,
        table_without_rows.masks,
        table_without_rows.scylla,
    ):
        assert list(part) == []


def test_pages_of_columns_are_kept_for_all_tables() -> None:
    """Pages of system_schema.columns are kept as they are, and shared by all tables."""
    column_rows = rows(texts("keyspace_name", "table_name"), ("a", "t"))
    grouping = grouped(
        columns=column_rows,
        tables=rows(TABLES, ("a", "t", "x"), ("a", "u", "y")),
        virtual_columns=column_rows,
    )
    first, second = grouping.table_sources()
    assert first.columns is second.columns
    assert first.columns is not None
    assert first.columns.pages == [column_rows.rows_body] * 2


def test_a_damaged_value_is_the_error_of_its_table() -> None:
    """A damaged value in a table's row is the error of this table, but not of other tables."""
    grouping = grouped(tables=rows(TABLES, ("a", "t", b"\xff"), ("a", "u", "y")))
    errors = {table.name: table.error for table in grouping.table_sources()}
    assert "cannot be decoded" in str(errors["t"])
    assert errors["u"] is None


def test_each_keyspace_gets_its_types_functions_and_aggregates() -> None:
    """Each keyspace must get its types, functions and aggregates.

    The cells of ScyllaDB's own table are added to the aggregate with the same signature.
    """
    signature_columns: dict[str, Any] = {
        "keyspace_name": TEXT,
        "aggregate_name": TEXT,
        "argument_types": list_of(TEXT),
    }
    grouping = grouped(
        keyspaces=rows(KEYSPACES, ("a",)),
        types=rows(texts("keyspace_name", "type_name"), ("a", "x"), ("b", "y")),
        functions=rows(texts("keyspace_name", "function_name"), ("a", "f")),
        aggregates=rows(
            signature_columns, ("a", "g", ["int"]), ("a", "g", ["text"]), ("a", "h", None)
        ),
        scylla_aggregates=rows(
            {**signature_columns, "reduce_func": TEXT},
            ("a", "g", ["text"], "r"),
            ("a", "h", None, "s"),
        ),
    )
    source = grouping.sources()["a"]
    assert [row["type_name"] for row in source.types] == ["x"]
    assert [row["function_name"] for row in source.functions] == ["f"]
    # The aggregate g(int) has no row in ScyllaDB's table.
    assert [row["reduce_func"] for row in source.aggregates] == [None, "r", "s"]
    assert grouping.of_keyspace("types", "none") == ()


SCYLLA = {"keyspace_name": TEXT, "initial_tablets": t.Int32Type, "consistency": TEXT}


def test_keyspaces_with_tablets_and_consistency() -> None:
    """The table `scylla_keyspaces` of ScyllaDB says which keyspaces have tablets.

    It also has their consistency. `tablet_keyspaces` returns the keyspaces with tablets, and those
    whose consistency is not eventual.
    """
    grouping = grouped(
        keyspaces=rows(KEYSPACES, ("a",), ("b",), ("c",), ("d",)),
        scylla_keyspaces=rows(
            SCYLLA,
            ("a", 8, "eventual"),
            ("b", 0, "global"),
            ("c", None, "local"),
            ("x", 1, "local"),
        ),
    )
    with_tablets, not_eventual = grouping.tablet_keyspaces()
    assert with_tablets == {"a", "b", "x"}
    assert not_eventual == {"b", "x"}
    scylla_rows = {name: source.scylla for name, source in grouping.sources().items()}
    assert scylla_rows["a"] is not None
    assert scylla_rows["a"]["initial_tablets"] == 8
    assert scylla_rows["d"] == {"initial_tablets": None}


def test_servers_without_tablets() -> None:
    """Without ScyllaDB's own table, as with Cassandra, no keyspace has tablets."""
    grouping = grouped(keyspaces=rows(KEYSPACES, ("a",)))
    assert grouping.sources()["a"].scylla is None
    assert grouping.tablet_keyspaces() == (set(), set())
    scylla = grouped(keyspaces=rows(KEYSPACES, ("a",)), scylla_keyspaces=rows(SCYLLA))
    assert scylla.sources()["a"].scylla == {"initial_tablets": None}
