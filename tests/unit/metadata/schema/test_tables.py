"""Test `plain_table`, and how tables are written as CQL.

`plain_table` builds an ordinary table in one step. The result must equal a table that is built step
by step. Compiled code builds a table in one step only if the table has nothing unusual.
"""

from __future__ import annotations

from typing import Any

import pytest

from cassandra.metadata import (
    ColumnMetadata,
    IndexMetadata,
    MaterializedViewMetadata,
    TableMetadata,
    TriggerMetadata,
)
from cassandra.metadata.schema import build
from cassandra.metadata.schema.pages import ColumnPages
from cassandra.metadata.schema.snapshot import RowNames, TableSource
from cassandra.metadata.schema.tables import TableMetadataV3
from tests.conftest import Implementation
from tests.unit.metadata.schema.test_column_rows import page, row

NAMES = RowNames(("keyspace_name", "table_name", "comment", "extensions", "flags"))
ROWS = [
    row(b"a"),
    row(b"id", b"partition_key", 0),
    row(b"c", b"clustering", 0, b"desc"),
    row(b"s", b"static"),
]


def source(
    implementation: Any, rows: Any = ROWS, names: RowNames = NAMES, **changes: Any
) -> TableSource:
    """Return a table source for ks.t, whose columns are `rows`.

    :param names: the names of the columns in the table's row.
    :param changes: extensions and flags of the table's row, and other attributes of the source.
    """
    columns = ColumnPages()
    columns.texts = implementation.column_rows.Texts()
    implementation.column_rows.note_runs(columns.rows_of, page(*rows), 0, len(rows))
    values = {"extensions": {}, "flags": frozenset({"compound"}), **changes}
    table_source = TableSource(
        "ks",
        "t",
        names,
        ("ks", "t", "a comment", values["extensions"], values["flags"]),
        False,
        columns,
    )
    for name, value in changes.items():
        if hasattr(table_source, name):
            setattr(table_source, name, value)
    return table_source


def described(table_metadata: TableMetadataV3) -> dict[str, Any]:
    """Return all attributes of a table for comparison, with strings in place of columns."""
    slots = {
        name for base in type(table_metadata).__mro__ for name in base.__dict__.get("__slots__", ())
    }
    values = {name: getattr(table_metadata, name) for name in slots}
    for name in ("partition_key", "clustering_key"):
        values[name] = [column.name for column in values[name]]
    values["columns"] = [str(column) for column in values["columns"].values()]
    return values


def test_a_plain_table_equals_a_table_built_step_by_step(
    implementation: Implementation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A table that is built in one step equals a table that is built step by step."""
    monkeypatch.setattr(build, "column_rows", implementation.column_rows)
    plain_table = implementation.column_rows.plain_table(source(implementation))
    assert type(plain_table) is TableMetadataV3
    assert all(column.table is plain_table for column in plain_table.columns.values())
    step_by_step_table = build._special_table(source(implementation))
    assert described(plain_table) == described(step_by_step_table)
    assert plain_table.export_as_string() == step_by_step_table.export_as_string()
    # A table that was built in one step can be changed like any other table.
    plain_table.is_compact_storage = True
    plain_table.options["comment"] = "changed"
    plain_table.triggers = {}
    assert "COMPACT STORAGE" in plain_table.as_cql_query()
    assert plain_table.options["comment"] == "changed"


@pytest.mark.parametrize(
    "changes",
    [
        {"virtual": True},
        {"error": ValueError("damaged")},
        {"triggers": ({"trigger_name": "x", "options": {}},)},
        {"dropped": ({"column_name": "x", "type": "int", "dropped_time": None},)},
        {
            "masks": (
                {"column_name": "a", "function_keyspace": "system", "function_name": "mask_null"},
            )
        },
        {"scylla": ({"cdc": None},)},
        {"columns": None},
        {"flags": frozenset({"dense"})},
        {"flags": None},
        {"extensions": {"a": b"b"}},
        {"rows": [row(b"a")]},
        {"rows": [row(b"id", b"partition_key", 0), row(b"a", b"strange")]},
        {"rows": []},
        {"names": RowNames(("keyspace_name", "table_name"))},
    ],
    # Use only the names of the changes as test ids, because some values have a memory address in
    # their repr.
    ids=" ".join,
)
def test_unusual_tables_are_left_to_the_step_by_step_code(
    changes: dict[str, Any], implementation: Implementation
) -> None:
    """`plain_table` returns None for a table with anything unusual.

    The table's source stays unchanged.
    """
    table_source = source(implementation, **changes)

    def rows_of_source() -> Any:
        return None if table_source.columns is None else dict(table_source.columns.rows_of)

    rows_before = rows_of_source()
    assert implementation.column_rows.plain_table(table_source) is None
    # The source must still have its rows, which the step-by-step code will read.
    assert rows_of_source() == rows_before


def test_a_server_may_have_no_column_for_extensions(implementation: Implementation) -> None:
    """`plain_table` also builds a table whose row has no cell for extensions."""
    names = RowNames(("keyspace_name", "table_name", "comment", "more", "flags"))
    assert implementation.column_rows.plain_table(source(implementation, names=names)) is not None


def test_damaged_columns_are_named_in_the_export(
    implementation: Implementation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The export of a table with a damaged column contains the error."""
    monkeypatch.setattr(build, "column_rows", implementation.column_rows)
    damaged = build.table(
        source(implementation, rows=[row(b"id", b"partition_key", 0), row(b"a", b"strange")])
    )
    assert "unknown kind 'strange'" in damaged.export_as_string()


def table(**settings: Any) -> TableMetadata:
    """Return the metadata of table ks.t with the columns id, "C" and "select"."""
    metadata = TableMetadata("ks", "t", options={"comment": "it's"}, **settings)
    for name, cql_type in (("id", "int"), ("C", "text"), ("select", "frozen<list<int>>")):
        metadata.columns[name] = ColumnMetadata(metadata, name, cql_type)
    metadata.partition_key = [metadata.columns["id"]]
    metadata.clustering_key = [metadata.columns["C"]]
    metadata.columns["C"].is_reversed = True
    return metadata


def test_a_table_is_written_as_cql() -> None:
    """A table can be written as CQL, in one line or formatted.

    The CQL follows changes of the table's keys.
    """
    metadata = table()
    assert metadata.as_cql_query() == (
        'CREATE TABLE ks.t (id int, "C" text, "select" frozen<list<int>>, PRIMARY KEY (id, "C")) '
        "WITH CLUSTERING ORDER BY (\"C\" DESC) AND comment = 'it''s'"
    )
    # Without its line breaks, the formatted CQL equals the CQL in one line.
    formatted = metadata.as_cql_query(formatted=True)
    one_line = formatted.replace("\n    ", " ").replace("\n", " ")
    assert one_line.replace("( ", "(").replace(" )", ")") == metadata.as_cql_query()
    assert metadata.primary_key == [metadata.columns["id"], metadata.columns["C"]]
    metadata.partition_key.append(metadata.columns["select"])
    assert 'PRIMARY KEY ((id, "select"), "C")' in metadata.as_cql_query()
    metadata.clustering_key.clear()
    metadata.partition_key.pop()
    assert "id int PRIMARY KEY" in metadata.as_cql_query()


def test_indexes_and_triggers_are_exported_after_their_table() -> None:
    """The export of a table has its indexes, triggers and views after CREATE TABLE."""
    metadata = table()
    metadata.indexes["i"] = IndexMetadata("ks", "t", "i", "COMPOSITES", {"target": '"C"'})
    metadata.indexes["J"] = IndexMetadata(
        "ks", "t", "J", "CUSTOM", {"target": "id", "class_name": "sai", "b": "2", "a": "1"}
    )
    metadata.triggers["tr"] = TriggerMetadata(metadata, "tr", {"class": "org.T"})
    view = MaterializedViewMetadata(
        "ks", "V", "t", True, "id IS NOT NULL", {"default_time_to_live": 0, "comment": ""}
    )
    view.partition_key = [metadata.columns["id"]]
    metadata.views = {"V": view}
    # The first statement is CREATE TABLE.
    statements = metadata.export_as_string().split("\n\n")
    assert statements[1:4] == [
        'CREATE INDEX i ON ks.t ("C");',
        "CREATE CUSTOM INDEX \"J\" ON ks.t (id) USING 'sai' WITH OPTIONS = {'a': '1', 'b': '2'};",
        "CREATE TRIGGER tr ON ks.t USING 'org.T';",
    ]
    assert view.as_cql_query() == (
        'CREATE MATERIALIZED VIEW ks."V" AS SELECT * FROM ks.t WHERE id IS NOT NULL PRIMARY KEY '
        "(id) WITH comment = ''"
    )
    assert statements[4] == view.export_as_string()
    assert statements[4].endswith("\n    PRIMARY KEY (id)\n    WITH comment = '';")


@pytest.mark.parametrize(
    ("options", "beginning"),
    [
        # These are the columns of system_schema.tables in Cassandra 6.0-alpha2, in a release that
        # has all columns, and in Cassandra 5.
        ({"fast_path": {"kind": "SIMPLE"}}, "-- CHECK constraints and transactional_mode"),
        ({"fast_path": {"kind": "SIMPLE"}, "transactional_mode": "full"}, "CREATE TABLE"),
        ({}, "CREATE TABLE"),
    ],
)
def test_an_export_mentions_what_the_server_s_schema_does_not_contain(
    options: Any, beginning: str
) -> None:
    """If the server's schema lacks some properties of tables, the export begins with a comment."""
    table = TableMetadata("ks", "t", options=options)
    key = ColumnMetadata(table, "id", "int")
    table.columns["id"] = key
    table.partition_key.append(key)
    assert table.export_as_string().startswith(beginning)
    assert table.as_cql_query().startswith("CREATE TABLE ks.t (id int PRIMARY KEY)")


@pytest.mark.parametrize(
    ("names", "beginning"),
    [
        (("fast_path",), "-- CHECK constraints and transactional_mode"),
        (("fast_path", "transactional_mode"), "CREATE TABLE"),
    ],
)
def test_options_that_are_null_show_what_the_server_s_schema_does_not_contain(
    names: tuple[str, ...], beginning: str
) -> None:
    """The comment depends on which columns system_schema.tables has, and not on their values.

    Cassandra can disable transactions. The values of these columns are null then, but tables may
    still have CHECK constraints.
    """
    table = TableMetadata("ks", "t")
    key = ColumnMetadata(table, "id", "int")
    table.columns["id"] = key
    table.partition_key.append(key)
    table.set_row(RowNames(names), [None] * len(names))
    assert table.options == {}
    assert table.export_as_string().startswith(beginning)
