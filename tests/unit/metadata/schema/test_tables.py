"""Tables that are like most: made at once, and equal to tables made step by step."""

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
from tests.conftest import Twins
from tests.unit.metadata.schema.test_column_rows import page, row

NAMES = RowNames(("keyspace_name", "table_name", "comment", "extensions", "flags"))
ROWS = [
    row(b"a"),
    row(b"id", b"partition_key", 0),
    row(b"c", b"clustering", 0, b"desc"),
    row(b"s", b"static"),
]


def source(twins: Any, rows: Any = ROWS, names: RowNames = NAMES, **changes: Any) -> TableSource:
    columns = ColumnPages()
    columns.texts = twins.column_rows.Texts()
    twins.column_rows.note_runs(columns.rows_of, page(*rows), 0, len(rows))
    values = {"extensions": {}, "flags": frozenset({"compound"}), **changes}
    made = TableSource(
        "ks",
        "t",
        names,
        ("ks", "t", "a comment", values["extensions"], values["flags"]),
        False,
        columns,
    )
    for name, value in changes.items():
        if hasattr(made, name):
            setattr(made, name, value)
    return made


def described(made: TableMetadataV3) -> dict[str, Any]:
    slots = {name for base in type(made).__mro__ for name in base.__dict__.get("__slots__", ())}
    found = {name: getattr(made, name) for name in slots}
    for name in ("partition_key", "clustering_key"):
        found[name] = [column.name for column in found[name]]
    found["columns"] = [str(column) for column in found["columns"].values()]
    return found


def test_it_is_what_is_made_step_by_step(twins: Twins, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "column_rows", twins.column_rows)
    made = twins.column_rows.usual_table(source(twins))
    assert type(made) is TableMetadataV3
    assert all(column.table is made for column in made.columns.values())
    other = build._unusual_table(source(twins))
    assert described(made) == described(other)
    assert made.export_as_string() == other.export_as_string()
    made.is_compact_storage, made.options["comment"], made.triggers = True, "changed", {}
    assert "COMPACT STORAGE" in made.as_cql_query()
    assert made.options["comment"] == "changed"


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
    ids=" ".join,  # the names of what changes: some values have addresses in their texts
)
def test_all_else_is_left_to_who_looks_closer(changes: dict[str, Any], twins: Twins) -> None:
    made = source(twins, **changes)
    before = dict(made.columns.rows_of) if made.columns is not None else None
    assert twins.column_rows.usual_table(made) is None
    # The rows are still there.
    assert (dict(made.columns.rows_of) if made.columns is not None else None) == before


def test_extensions_may_be_unknown_to_the_server(twins: Twins) -> None:
    names = RowNames(("keyspace_name", "table_name", "comment", "more", "flags"))
    assert twins.column_rows.usual_table(source(twins, names=names)) is not None


def test_damage_is_told_by_the_table(twins: Twins, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "column_rows", twins.column_rows)
    made = build.table(source(twins, rows=[row(b"id", b"partition_key", 0), row(b"a", b"strange")]))
    assert "unknown kind 'strange'" in made.export_as_string()


def table(**settings: Any) -> TableMetadata:
    made = TableMetadata("ks", "t", options={"comment": "it's"}, **settings)
    for name, kind in (("id", "int"), ("C", "text"), ("select", "frozen<list<int>>")):
        made.columns[name] = ColumnMetadata(made, name, kind)
    made.partition_key = [made.columns["id"]]
    made.clustering_key = [made.columns["C"]]
    made.columns["C"].is_reversed = True
    return made


def test_a_table_as_cql() -> None:
    made = table()
    assert made.as_cql_query() == (
        'CREATE TABLE ks.t (id int, "C" text, "select" frozen<list<int>>, PRIMARY KEY (id, "C")) '
        "WITH CLUSTERING ORDER BY (\"C\" DESC) AND comment = 'it''s'"
    )
    assert made.as_cql_query(formatted=True).replace("\n    ", " ").replace("\n", " ").replace(
        "( ", "("
    ).replace(" )", ")") == (made.as_cql_query())
    assert made.primary_key == [made.columns["id"], made.columns["C"]]
    made.partition_key.append(made.columns["select"])
    assert 'PRIMARY KEY ((id, "select"), "C")' in made.as_cql_query()
    made.clustering_key.clear()
    made.partition_key.pop()
    assert "id int PRIMARY KEY" in made.as_cql_query()


def test_what_belongs_to_a_table_follows_it() -> None:
    made = table()
    made.indexes["i"] = IndexMetadata("ks", "t", "i", "COMPOSITES", {"target": '"C"'})
    made.indexes["J"] = IndexMetadata(
        "ks", "t", "J", "CUSTOM", {"target": "id", "class_name": "sai", "b": "2", "a": "1"}
    )
    made.triggers["tr"] = TriggerMetadata(made, "tr", {"class": "org.T"})
    view = MaterializedViewMetadata(
        "ks", "V", "t", True, "id IS NOT NULL", {"default_time_to_live": 0, "comment": ""}
    )
    view.partition_key = [made.columns["id"]]
    made.views = {"V": view}
    statements = made.export_as_string().split("\n\n")
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
