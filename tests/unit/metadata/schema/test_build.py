"""Objects of the schema from the rows of its tables; nodes are not needed."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

import pytest

from cassandra.metadata.placement.replication import LocalStrategy, SimpleStrategy
from cassandra.metadata.schema import build
from cassandra.metadata.schema.pages import ColumnPages
from cassandra.metadata.schema.snapshot import (
    NOTHING,
    KeyspaceSource,
    LazyMapping,
    RowNames,
    TableSource,
)
from tests.conftest import Twins
from tests.unit.metadata.schema.rows import keyspace as keyspace_row
from tests.unit.metadata.schema.test_column_rows import page, row

TABLE = RowNames(("keyspace_name", "table_name", "comment", "extensions", "flags"))
VIEW = RowNames(("keyspace_name", "view_name", "comment", "where_clause", "include_all_columns"))
KEY = row(b"id", b"partition_key", 0)
COMPOUND = frozenset({"compound"})


@pytest.fixture(autouse=True)
def _implementation(twins: Twins, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "column_rows", twins.column_rows)


def pages(*rows: Any) -> ColumnPages:
    columns = ColumnPages()
    columns.pages = [(page(*rows), 0, len(rows))]
    return columns


def source(*rows: Any, flags: Any = COMPOUND, extensions: Any = None, **parts: Any) -> TableSource:
    """Rows of the table ks.t with the key ``id`` and these columns."""
    values = ("ks", "t", "a comment", {} if extensions is None else extensions, flags)
    made = TableSource("ks", "t", TABLE, values, parts.pop("virtual", False), pages(KEY, *rows))
    for name, value in parts.items():
        setattr(made, name, value)
    return made


def view_source(*rows: Any, where: Any = "id IS NOT NULL", everything: Any = True) -> TableSource:
    values = ("ks", "t", "a comment", where, everything)
    made = TableSource("ks", "t", VIEW, values, False, pages(*rows))
    made.base = "base"
    return made


def names(columns: Any) -> list[str]:
    return [column.name for column in columns]


# -- tables ----------------------------------------------------------------------------------------


def test_a_usual_table() -> None:
    rows = source(row(b"a"), row(b"c", b"clustering", 0, b"desc"), row(b"s", b"static"))
    made = build.table(rows)
    assert (made.keyspace_name, made.name, made.virtual) == ("ks", "t", False)
    assert names(made.columns.values()) == ["id", "c", "a", "s"]
    assert (names(made.partition_key), names(made.clustering_key)) == (["id"], ["c"])
    assert made.options["comment"] == "a comment"
    assert (made.is_compact_storage, made.is_cql_compatible) == (False, True)
    assert made._exc_info is None
    assert rows.columns is not None
    assert rows.columns.pages == []
    # Its rows were taken out: the page goes after its last table.
    assert rows.columns.rows_of == {"ks": {}}


INDEX = ("by_a", "COMPOSITES", {"target": "a"})


@pytest.mark.parametrize("is_usual", [True, False])
def test_parts_of_a_table(is_usual: bool) -> None:
    day = datetime.datetime(2020, 1, 1)
    parts: dict[str, Any] = {"indexes": [INDEX]}
    if not is_usual:
        parts["triggers"] = [{"trigger_name": "x", "options": {"class": "y"}}]
        parts["triggers"] += [{"trigger_name": "z", "options": None}]
        parts["dropped"] = [
            {"column_name": "d", "type": "int", "dropped_time": day, "kind": "static"},
            {"column_name": "e", "type": "text", "dropped_time": day},
        ]
    made = build.table(source(row(b"a"), **parts))
    assert made.indexes["by_a"].as_cql_query() == "CREATE INDEX by_a ON ks.t (a)"
    if is_usual:
        assert made.triggers is made.dropped_columns is made.views is NOTHING
        return
    assert {name: one.options for name, one in made.triggers.items()} == {
        "x": {"class": "y"},
        "z": {},
    }
    assert {
        name: (one.name, one.cql_type, one.dropped_time, one.is_static)
        for name, one in made.dropped_columns.items()
    } == {"d": ("d", "int", day, True), "e": ("e", "text", day, False)}


def test_options_of_extensions_and_of_scylladb() -> None:
    made = build.table(source(scylla=[{"cdc": {"enabled": "true"}, "version": None}]))
    assert made._exc_info is None
    assert made.options["comment"] == "a comment"
    assert any("cdc" in name for name in made.options)


@pytest.mark.parametrize(
    "parts",
    [
        {"error": ValueError("damaged")},
        {"triggers": [{"trigger_name": "x", "options": ValueError("damaged")}]},
        {"dropped": [{"column_name": "x", "type": ValueError("damaged")}]},
        {"masks": [{"column_name": "a", "function_name": ValueError("damaged")}]},
        {"flags": ValueError("damaged")},
        {"flags": "no set"},
    ],
)
def test_one_damaged_part_leaves_the_others(parts: dict[str, Any]) -> None:
    made = build.table(source(row(b"a"), **parts))
    assert made._exc_info is not None
    assert names(made.columns.values()) == ["id", "a"]
    text = made.export_as_string()
    assert ("damaged" in text) or ("flags is 'no set'" in text)


def test_damaged_pages_are_noted_where_a_table_lacks_its_columns(
    caplog: pytest.LogCaptureFixture,
) -> None:
    rows = source(row(b"a"))
    assert rows.columns is not None
    (body, begin, count) = rows.columns.pages[0]
    rows.columns.pages = [(body, begin, count + 1), (b"", 0, 0)]
    made = build.table(rows)
    assert "a page of the schema tables is damaged" in caplog.text
    assert made.name == "t"
    lacking = build.table(source())
    lacking_source = source()
    lacking_source.columns = pages(row(b"a"))
    lacking = build.table(lacking_source)
    assert "no column is of the partition key" in lacking.export_as_string()


def test_views_of_a_table() -> None:
    view = view_source(KEY)
    made = build.table(source(views={"t": view}))
    assert names(made.views.values()) == ["t"]
    shown = made.views
    other = view_source(KEY)
    assert build.with_views(made, {"o": other}) is made
    assert made.views is shown
    assert list(shown) == ["o"]
    plain = build.table(source())
    assert plain.views is NOTHING
    build.with_views(plain, {"o": other})
    assert list(plain.views) == ["o"]
    assert list(NOTHING) == []


def test_a_view() -> None:
    made = build.view(view_source(KEY, row(b"c", b"clustering", 0)))
    assert (made.keyspace_name, made.name, made.base_table_name) == ("ks", "t", "base")
    assert (made.where_clause, made.include_all_columns) == ("id IS NOT NULL", True)
    assert (names(made.partition_key), names(made.clustering_key)) == (["id"], ["c"])
    assert made.options["comment"] == "a comment"
    assert not build.view(view_source(KEY, everything=None)).include_all_columns
    damaged = build.view(view_source(row(b"a")))
    assert "no column is of the partition key" in damaged.export_as_string()


# -- compact storage -------------------------------------------------------------------------------

EMPTY = row(b"value", cql_type=b"empty")
STATIC = [row(b"s", b"static"), row(b"column1", b"clustering", 0), row(b"value")]


@pytest.mark.parametrize(
    ("rows", "flags", "columns", "is_compact", "is_compatible"),
    [
        ([row(b"a")], {"compound"}, ["id", "a"], False, True),
        ([row(b"a")], {"compound", "counter"}, ["id", "a"], False, True),
        ([row(b"c", b"clustering", 0), EMPTY], {"dense"}, ["id", "c"], True, True),
        ([row(b"c", b"clustering", 0), row(b"v")], {"dense"}, ["id", "c", "v"], True, True),
        ([row(b"c", b"clustering", 0), EMPTY], {"dense", "compound"}, ["id", "c"], True, True),
        ([row(b"a")], {"super"}, ["id", "a"], True, False),
        ([row(b"a")], {"compound", "super"}, ["id", "a"], True, False),
        (STATIC, {"counter"}, ["id", "s"], True, True),
        (STATIC, set(), ["id", "s"], True, True),
        (STATIC, None, ["id", "s"], True, True),
        ([row(b"a")], set(), ["id", "a"], False, True),
        ([row(b"c", b"clustering", 0), row(b"v")], set(), ["id", "c", "v"], False, True),
    ],
)
def test_flags(
    rows: Any, flags: Any, columns: list[str], is_compact: bool, is_compatible: bool
) -> None:
    made = build.table(source(*rows, flags=None if flags is None else frozenset(flags)))
    assert names(made.columns.values()) == columns
    assert (made.is_compact_storage, made.is_cql_compatible) == (is_compact, is_compatible)
    if rows is STATIC:
        assert not any(column.is_static for column in made.columns.values())
        assert made.clustering_key == []


def test_virtual_tables_have_no_flags() -> None:
    made = build.table(source(row(b"a"), flags=frozenset(), virtual=True))
    assert (made.virtual, made.is_compact_storage) == (True, False)


# -- indexes ---------------------------------------------------------------------------------------

TARGETS = [
    ("c0", "int", "c0", "c0"),
    ("Big", "int", "Big", '"Big"'),
    ("Big", "int", '"Big"', '"Big"'),
    ('q"q', "int", 'q"q', '"q""q"'),
    ('q"q', "int", '"q""q"', '"q""q"'),
    ("f", "frozen<map<int, text>>", "f", "full(f)"),
    ("f", "frozen<list<int>>", "full(f)", "full(f)"),
    ("s", "set<int>", "keys(s)", "values(s)"),
    ("m", "map<text, int>", "keys(m)", "keys(m)"),
    ("M", "map<text, int>", 'entries("M")', 'entries("M")'),
    ("v", "list<int>", "values(v)", "values(v)"),
    ("values(v)", "list<int>", "values(v)", '"values(v)"'),
    ("a", "int", "nowhere", "nowhere"),
    ("a", "int", "values(nowhere)", "values(nowhere)"),
]


@pytest.mark.parametrize(("column", "cql_type", "target", "expected"), TARGETS)
def test_targets(column: str, cql_type: str, target: str, expected: str) -> None:
    options = {"target": target, "other": "x"}
    cells = row(column.encode(), cql_type=cql_type.encode())
    made = build.table(source(cells, indexes=[("i", "COMPOSITES", options)])).indexes["i"]
    assert made.index_options == {"target": expected, "other": "x"}
    assert options["target"] == target  # the rows' own dict is not changed
    assert (made.index_options is options) == (target == expected)
    assert (made.keyspace_name, made.table_name, made.kind) == ("ks", "t", "COMPOSITES")


@pytest.mark.parametrize(
    ("index", "message"),
    [
        ((ValueError("damaged"), "KEYS", {}), "damaged"),
        (("i", 5, {}), "the kind of index 'i' is 5"),
        (("i", "KEYS", None), "the options of index 'i' is None"),
        ((5, "KEYS", {}), "an index's name is 5"),
    ],
)
def test_damaged_indexes(index: Any, message: str) -> None:
    made = build.table(source(indexes=[index]))
    assert message in made.export_as_string()
    (kept,) = made.indexes.values()
    assert (kept.name, kept.kind, kept.index_options) == (str(index[0]), str(index[1]), {})


# -- masks -----------------------------------------------------------------------------------------

MASKS = {
    "text": ("it's", "'it''s'"),
    "int": ("7", "7"),
    "blob": ("cafe", "0xcafe"),
    "timestamp": ("2020-01-01", "'2020-01-01'"),
    "list<int>": ("00000001" + "00000004" + "00000007", "[7]"),
    "map<int, text>": ("00000001" + "0000000400000007" + "0000000178", "{7: 'x'}"),
    "vector<float, 2>": ("3f80000040000000", "[1.0, 2.0]"),
    "frozen<tuple<int, text>>": ("1:@", "(1, null)"),
    "frozen<tuple<text, text>>": (r"a\:\@b:c", "('a:@b', 'c')"),
    "frozen<tuple<int, frozen<tuple<text, int>>>>": (r"1:c\:5", "(1, ('c', 5))"),
}


def mask(kind: str, value: Any, **changes: Any) -> dict[str, Any]:
    return {
        "column_name": "a",
        "function_keyspace": "system",
        "function_name": "mask_replace",
        "function_argument_nulls": [value is None],
        "function_argument_types": [kind],
        "function_argument_values": [value or ""],
        **changes,
    }


@pytest.mark.parametrize("kind", MASKS)
def test_arguments_of_masks(kind: str) -> None:
    value, literal = MASKS[kind]
    made = build.table(source(row(b"a"), masks=[mask(kind, value)])).columns["a"].mask
    assert made is not None
    assert (made.keyspace, made.name, made.arguments) == ("system", "mask_replace", (literal,))


def test_masks_without_arguments_and_with_null() -> None:
    nothing = dict.fromkeys(
        ("function_argument_nulls", "function_argument_types", "function_argument_values")
    )
    made = build.table(source(row(b"a"), masks=[mask("int", None, **nothing)])).columns["a"].mask
    assert made is not None
    assert made.arguments == ()
    made = build.table(source(row(b"a"), masks=[mask("int", None)])).columns["a"].mask
    assert made is not None
    assert made.arguments == ("null",)


def test_a_mask_of_an_unknown_type() -> None:
    made = build.table(source(row(b"a"), masks=[mask("frozen<some_udt>", "x")]))
    assert "a literal of type some_udt cannot be made" in made.export_as_string()


# -- keyspaces -------------------------------------------------------------------------------------


def keyspace_source(name: str = "ks", **parts: Any) -> KeyspaceSource:
    made = KeyspaceSource(name, parts.pop("row", keyspace_row(name)), parts.pop("virtual", False))
    for part, value in parts.items():
        setattr(made, part, value)
    return made


def test_a_keyspace() -> None:
    made = build.keyspace(keyspace_source())
    assert (made.name, made.durable_writes, made.virtual) == ("ks", True, False)
    assert isinstance(made.replication_strategy, SimpleStrategy)
    assert made.replication_strategy.replication_factor == 1
    assert (made.tablets, made._exc_info) == (None, None)
    durable = build.keyspace(keyspace_source(row={**keyspace_row("ks"), "durable_writes": False}))
    assert not durable.durable_writes


def test_replication_that_is_not_there() -> None:
    row: Mapping[str, Any] = {"keyspace_name": "ks", "replication": None}
    made = build.keyspace(keyspace_source(row=row))
    assert "the replication of the keyspace is None" in made.export_as_string()
    assert made.durable_writes
    assert build.keyspace(keyspace_source(row={}, virtual=True))._exc_info is None
    damaged = {**keyspace_row("ks"), "durable_writes": ValueError("damaged")}
    assert "damaged" in build.keyspace(keyspace_source(row=damaged)).export_as_string()


def a_type(name: str, **changes: Any) -> dict[str, Any]:
    row = {"keyspace_name": "ks", "type_name": name, "field_names": ["a"], "field_types": ["int"]}
    return {**row, **changes}


def function(name: str, kind: str = "function", **changes: Any) -> dict[str, Any]:
    row = {
        "keyspace_name": "ks", f"{kind}_name": name, "argument_types": ["int"],
        "argument_names": ["x"], "return_type": "text", "language": "java", "body": "return x;",
        "called_on_null_input": True, "state_func": "s", "state_type": "int", "final_func": "f",
        "initcond": "0",
    }  # fmt: skip
    return {**row, **changes}


def test_types_functions_and_aggregates() -> None:
    made = build.keyspace(
        keyspace_source(
            types=[a_type("u"), a_type("empty", field_names=None, field_types=None)],
            functions=[
                function("g"),
                function("f", deterministic=True, monotonic=True, monotonic_on=["x"]),
                function("none", argument_types=None, argument_names=None),
            ],
            aggregates=[
                function("b", "aggregate"),
                function("a", "aggregate", deterministic=True, reduce_func="r"),
            ],
        )
    )
    fields = {name: list(one.field_names) for name, one in made.user_types.items()}
    assert fields == {"u": ["a"], "empty": []}
    assert list(made.functions) == ["f(int)", "g(int)", "none()"]
    first, second = made.functions["f(int)"], made.functions["g(int)"]
    assert (first.deterministic, first.monotonic, list(first.monotonic_on)) == (True, True, ["x"])
    assert (second.deterministic, second.monotonic, list(second.monotonic_on)) == (False, False, [])
    assert (second.return_type, second.language, second.body) == ("text", "java", "return x;")
    assert second.called_on_null_input
    assert list(second.argument_names) == ["x"]
    assert list(made.aggregates) == ["a(int)", "b(int)"]
    one, other = made.aggregates["a(int)"], made.aggregates["b(int)"]
    assert (one.deterministic, other.deterministic) == (True, False)
    assert (one.reduce_func, other.reduce_func) == ("r", None)
    assert (other.state_func, other.state_type, other.final_func) == ("s", "int", "f")
    assert (other.initial_condition, other.return_type) == ("0", "text")


@pytest.mark.parametrize("what", ["types", "functions", "aggregates"])
def test_a_damaged_part_leaves_the_others(what: str, caplog: pytest.LogCaptureFixture) -> None:
    rows: dict[str, Any] = {
        "types": [a_type("x", field_names=ValueError("damaged")), a_type("y")],
        "functions": [function("x", body=ValueError("damaged")), function("y")],
        "aggregates": [
            function("x", "aggregate", initcond=ValueError("damaged")),
            function("y", "aggregate"),
        ],
    }
    made = build.keyspace(keyspace_source(**{what: rows[what]}))
    found = {"types": "user_types"}.get(what, what)
    assert [one.name for one in getattr(made, found).values()] == ["y"]
    assert f"the metadata of a {what.removesuffix('s')} in keyspace ks is damaged" in caplog.text
    assert "damaged" in made.export_as_string()


def test_tables_are_made_at_their_first_access() -> None:
    table = source(row(b"a"), indexes=[INDEX])
    made = build.keyspace(keyspace_source(tables={"t": table}, views={"v": view_source(KEY)}))
    assert list(made.tables) == ["t"]
    assert table._object is None
    assert made.indexes["by_a"].table_name == "t"
    assert made.tables["t"] is table.object()
    assert made.views["v"].base_table_name == "base"


@pytest.mark.parametrize(
    ("scylla", "tablets"),
    [
        (None, None),
        ({}, None),
        ({"initial_tablets": None}, {"enabled": False}),
        ({"initial_tablets": 0}, {"enabled": True}),
        ({"initial_tablets": 8}, {"enabled": True, "initial": 8}),
    ],
)
def test_tablets(scylla: Any, tablets: Any) -> None:
    assert build.keyspace(keyspace_source(scylla=scylla)).tablets == tablets
    local = {"keyspace_name": "ks", "replication": {"class": "LocalStrategy"}}
    made = build.keyspace(keyspace_source(row=local, scylla=scylla))
    assert isinstance(made.replication_strategy, LocalStrategy)
    assert made.tablets is None


# -- a keyspace that was read again ----------------------------------------------------------------


def test_an_object_shows_what_was_read_later() -> None:
    made: Any = build.keyspace(keyspace_source(tables={"t": source()}))
    tables = made.tables
    again = keyspace_source(tables={"t": source(), "u": source()}, types=[a_type("x")])
    assert build.renewed_keyspace(made, again) is made
    assert made.tables is tables
    assert list(tables) == ["t", "u"]
    assert list(made.user_types) == ["x"]


def test_a_keyspace_that_was_altered_is_another_object() -> None:
    made: Any = build.keyspace(keyspace_source(tables={"t": source()}))
    made.noted = 5
    altered: Any = build.renewed_keyspace(
        made, keyspace_source(row=keyspace_row("ks", 3), tables={"u": source()})
    )
    assert altered is not made
    assert (made.replication_strategy.replication_factor, altered.noted) == (1, 5)
    assert altered.replication_strategy.replication_factor == 3
    assert made.tables is altered.tables
    assert list(made.tables) == ["u"]
    assert type(made.tables) is LazyMapping
    other = {**keyspace_row("ks", 3), "durable_writes": False}
    assert build.renewed_keyspace(altered, keyspace_source(row=other)) is not altered
    tablets = keyspace_source(row=keyspace_row("ks", 3), scylla={"initial_tablets": 8})
    assert build.renewed_keyspace(altered, tablets) is not altered
