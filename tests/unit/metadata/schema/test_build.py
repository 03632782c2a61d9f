"""Test that schema objects are built from rows of the server's schema tables.

The tests need no node.
"""

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
from tests.conftest import Implementation
from tests.unit.metadata.schema.rows import keyspace as keyspace_row
from tests.unit.metadata.schema.test_column_rows import page, row

# The names of the columns in rows of system_schema.tables and system_schema.views.
TABLE = RowNames(("keyspace_name", "table_name", "comment", "extensions", "flags"))
VIEW = RowNames(("keyspace_name", "view_name", "comment", "where_clause", "include_all_columns"))
KEY = row(b"id", b"partition_key", 0)
COMPOUND = frozenset({"compound"})


@pytest.fixture(autouse=True)
def _implementation(implementation: Implementation, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the compiled or the pure Python version of `column_rows` build the tables."""
    monkeypatch.setattr(build, "column_rows", implementation.column_rows)


def pages(*rows: Any) -> ColumnPages:
    """Return pages of system_schema.columns that have these rows."""
    columns = ColumnPages()
    columns.pages = [(page(*rows), 0, len(rows))]
    return columns


def source(*rows: Any, flags: Any = COMPOUND, extensions: Any = None, **parts: Any) -> TableSource:
    """Return a source with the rows of table ks.t: the key column ``id``, then `rows`.

    :param flags: the table's flags in system_schema.tables.
    :param extensions: the table's extensions; None for no extensions.
    :param parts: attributes of the source, such as its indexes.
    """
    values = ("ks", "t", "a comment", {} if extensions is None else extensions, flags)
    table = TableSource("ks", "t", TABLE, values, parts.pop("virtual", False), pages(KEY, *rows))
    for name, value in parts.items():
        setattr(table, name, value)
    return table


def view_source(*rows: Any, where: Any = "id IS NOT NULL", everything: Any = True) -> TableSource:
    """Return a source with the row of view ks.t, whose base table is `base`.

    :param rows: the rows of the view's columns.
    :param where: the condition in the view's definition.
    :param everything: whether the view selects all columns.
    """
    values = ("ks", "t", "a comment", where, everything)
    view = TableSource("ks", "t", VIEW, values, False, pages(*rows))
    view.base = "base"
    return view


def names(columns: Any) -> list[str]:
    """Return the names of columns."""
    return [column.name for column in columns]


# -- tables ----------------------------------------------------------------------------------------


def test_a_table_is_built_from_its_rows() -> None:
    """A table must have columns, keys and flags from its rows, which are freed afterwards.

    `source` adds the table's own row, and the row of the partition key, which is the column ``id``.
    """
    rows = source(
        row(b"a"),
        row(b"c", kind=b"clustering", position=0, order=b"desc"),
        row(b"s", kind=b"static"),
    )
    table = build.table(rows)
    assert (table.keyspace_name, table.name) == ("ks", "t")
    assert not table.virtual
    # Key columns come first, followed by the other columns in the order of their names.
    assert names(table.columns.values()) == ["id", "c", "a", "s"]
    assert names(table.partition_key) == ["id"]
    assert names(table.clustering_key) == ["c"]
    assert table.options["comment"] == "a comment"
    assert not table.is_compact_storage
    assert table.is_cql_compatible
    assert table._exc_info is None
    assert rows.columns is not None
    assert rows.columns.pages == []
    # When a table is built, its rows are removed from the rows that are left. A page is freed when
    # all tables in the page are built.
    assert rows.columns.rows_of == {"ks": {}}


# The name, the kind and the options of an index.
INDEX = ("by_a", "COMPOSITES", {"target": "a"})


@pytest.mark.parametrize("is_ordinary", [True, False])
def test_a_table_has_its_indexes_triggers_and_dropped_columns(is_ordinary: bool) -> None:
    """A table has the indexes, the triggers and the dropped columns of its rows.

    :param is_ordinary: True for a table that has indexes, but neither triggers nor dropped columns.
    """
    dropped_time = datetime.datetime(2020, 1, 1)
    parts: dict[str, Any] = {"indexes": [INDEX]}
    if not is_ordinary:
        parts["triggers"] = [{"trigger_name": "x", "options": {"class": "y"}}]
        parts["triggers"] += [{"trigger_name": "z", "options": None}]
        parts["dropped"] = [
            {"column_name": "d", "type": "int", "dropped_time": dropped_time, "kind": "static"},
            # On older servers, this row has no "kind".
            {"column_name": "e", "type": "text", "dropped_time": dropped_time},
        ]
    table = build.table(source(row(b"a"), **parts))
    assert table.indexes["by_a"].as_cql_query() == "CREATE INDEX by_a ON ks.t (a)"
    if is_ordinary:
        # All tables without triggers, dropped columns and views must share one empty mapping.
        assert table.triggers is NOTHING
        assert table.dropped_columns is NOTHING
        assert table.views is NOTHING
        return
    assert {name: trigger.options for name, trigger in table.triggers.items()} == {
        "x": {"class": "y"},
        "z": {},
    }
    dropped, dropped_on_old_server = table.dropped_columns["d"], table.dropped_columns["e"]
    assert (dropped.name, dropped.cql_type) == ("d", "int")
    assert dropped.is_static
    assert (dropped_on_old_server.name, dropped_on_old_server.cql_type) == ("e", "text")
    assert not dropped_on_old_server.is_static
    assert dropped.dropped_time == dropped_time
    assert dropped_on_old_server.dropped_time == dropped_time


def test_options_of_extensions_and_of_scylladb() -> None:
    """A table's options include the options of its extensions, and options of ScyllaDB only."""
    table = build.table(source(scylla=[{"cdc": {"enabled": "true"}, "version": None}]))
    assert table._exc_info is None
    assert table.options["comment"] == "a comment"
    assert any("cdc" in name for name in table.options)


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
    """If a part of a table cannot be decoded, the table still has its columns.

    The export of the table contains the error.
    """
    table = build.table(source(row(b"a"), **parts))
    assert table._exc_info is not None
    assert names(table.columns.values()) == ["id", "a"]
    expected = "flags is 'no set'" if parts.get("flags") == "no set" else "damaged"
    assert expected in table.export_as_string()


def test_damaged_pages_are_logged_and_a_table_without_key_is_incomplete(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A damaged page of columns is logged, and a table without a partition key is incomplete."""
    rows = source(row(b"a"))
    assert rows.columns is not None
    (body, begin, count) = rows.columns.pages[0]
    # Let the first page claim one row more than it has.
    rows.columns.pages = [(body, begin, count + 1), (b"", 0, 0)]
    table = build.table(rows)
    assert "a page of the schema tables is damaged" in caplog.text
    assert table.name == "t"
    source_without_key = source()
    source_without_key.columns = pages(row(b"a"))
    without_key = build.table(source_without_key)
    assert "no column is of the partition key" in without_key.export_as_string()


def test_a_table_s_mapping_of_views_is_kept_and_changed_in_place() -> None:
    """`with_views` changes a table's mapping of views, so that earlier references see the change.

    A table that had no views gets a new mapping.
    """
    view = view_source(KEY)
    table = build.table(source(views={"t": view}))
    assert names(table.views.values()) == ["t"]
    views = table.views
    other_view = view_source(KEY)
    assert build.with_views(table, {"o": other_view}) is table
    assert table.views is views
    assert list(views) == ["o"]
    without_views = build.table(source())
    assert without_views.views is NOTHING
    build.with_views(without_views, {"o": other_view})
    assert list(without_views.views) == ["o"]
    # The empty mapping that tables share must not have changed.
    assert list(NOTHING) == []


def test_a_view_is_built_from_its_rows() -> None:
    """A view has its columns and options, and its definition's base table and condition."""
    view = build.view(view_source(KEY, row(b"c", b"clustering", 0)))
    assert (view.keyspace_name, view.name) == ("ks", "t")
    assert view.base_table_name == "base"
    assert view.where_clause == "id IS NOT NULL"
    assert view.include_all_columns
    assert names(view.partition_key) == ["id"]
    assert names(view.clustering_key) == ["c"]
    assert view.options["comment"] == "a comment"
    assert not build.view(view_source(KEY, everything=None)).include_all_columns
    damaged = build.view(view_source(row(b"a")))
    assert "no column is of the partition key" in damaged.export_as_string()


# -- compact storage -------------------------------------------------------------------------------

# Rows of system_schema.columns for tables with compact storage.
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
def test_flags_decide_which_columns_a_table_shows(
    rows: Any, flags: Any, columns: list[str], is_compact: bool, is_compatible: bool
) -> None:
    """The flags of a table with compact storage hide columns that only the storage needs."""
    table = build.table(source(*rows, flags=None if flags is None else frozenset(flags)))
    assert names(table.columns.values()) == columns
    assert table.is_compact_storage is is_compact
    assert table.is_cql_compatible is is_compatible
    # A compact static table stores its columns as static, but CQL shows them as ordinary columns.
    if rows is STATIC:
        assert not any(column.is_static for column in table.columns.values())
        assert table.clustering_key == []


def test_virtual_tables_have_no_flags() -> None:
    """A virtual table without flags does not have compact storage.

    For any other table, an empty set of flags would mean compact storage.
    """
    table = build.table(source(row(b"a"), flags=frozenset(), virtual=True))
    assert table.virtual
    assert not table.is_compact_storage


# -- indexes ---------------------------------------------------------------------------------------

# Each tuple has a column, its type, the target of an index on the server, and the target in CQL.
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
def test_targets_of_indexes_are_quoted_as_needed(
    column: str, cql_type: str, target: str, expected: str
) -> None:
    """The target of an index is quoted in CQL if necessary, and has full() for frozen types."""
    options = {"target": target, "other": "x"}
    cells = row(column.encode(), cql_type=cql_type.encode())
    index = build.table(source(cells, indexes=[("i", "COMPOSITES", options)])).indexes["i"]
    assert index.index_options == {"target": expected, "other": "x"}
    # The options of the row are not changed. If their target is already right, the index uses the
    # same dict.
    assert options["target"] == target
    assert (index.index_options is options) == (target == expected)
    assert index.keyspace_name == "ks"
    assert index.table_name == "t"
    assert index.kind == "COMPOSITES"


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
    """An index whose row is damaged is still listed.

    The exported CQL of the table contains the error.
    """
    table = build.table(source(indexes=[index]))
    assert message in table.export_as_string()
    (damaged,) = table.indexes.values()
    name, kind, _ = index
    assert damaged.name == str(name)
    assert damaged.kind == str(kind)
    assert damaged.index_options == {}


# -- masks -----------------------------------------------------------------------------------------

# For each type of a mask's argument: the value in the schema table, and the literal in CQL.
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


def mask(argument_type: str, value: Any, **changes: Any) -> dict[str, Any]:
    """Return a row of the schema table for column masks."""
    return {
        "column_name": "a",
        "function_keyspace": "system",
        "function_name": "mask_replace",
        "function_argument_nulls": [value is None],
        "function_argument_types": [argument_type],
        "function_argument_values": [value or ""],
        **changes,
    }


@pytest.mark.parametrize("argument_type", MASKS)
def test_the_argument_of_a_mask_is_a_literal(argument_type: str) -> None:
    """In the exported CQL, the argument of a mask is a CQL literal."""
    value, literal = MASKS[argument_type]
    table = build.table(source(row(b"a"), masks=[mask(argument_type, value)]))
    column_mask = table.columns["a"].mask
    assert column_mask is not None
    assert (column_mask.keyspace, column_mask.name) == ("system", "mask_replace")
    assert column_mask.arguments == (literal,)


def test_the_mask_of_a_dropped_column_is_ignored() -> None:
    """Cassandra 5.0 keeps the row of a mask if its column is dropped; the other masks are read."""
    masks = [mask("int", "7", column_name="dropped"), mask("int", "5")]
    table = build.table(source(row(b"a"), masks=masks))
    assert table._exc_info is None
    assert table.columns["a"].mask is not None
    assert "MASKED WITH" in table.export_as_string()


def test_masks_without_arguments_and_with_null() -> None:
    """The arguments of a mask may be missing or null."""
    mask_without_arguments = mask(
        "int",
        None,
        function_argument_nulls=None,
        function_argument_types=None,
        function_argument_values=None,
    )
    table = build.table(source(row(b"a"), masks=[mask_without_arguments]))
    column_mask = table.columns["a"].mask
    assert column_mask is not None
    assert column_mask.arguments == ()
    table = build.table(source(row(b"a"), masks=[mask("int", None)]))
    column_mask = table.columns["a"].mask
    assert column_mask is not None
    assert column_mask.arguments == ("null",)


def test_a_mask_of_an_unknown_type() -> None:
    """If the type of a mask's argument is unknown, the table's export contains the error."""
    table = build.table(source(row(b"a"), masks=[mask("frozen<some_udt>", "x")]))
    assert "a literal of type some_udt cannot be made" in table.export_as_string()


# -- keyspaces -------------------------------------------------------------------------------------


def keyspace_source(name: str = "ks", **parts: Any) -> KeyspaceSource:
    """Return the source of a keyspace.

    :param parts: the keyspace's row, and attributes of the source, such as its tables.
    """
    keyspace = KeyspaceSource(
        name, parts.pop("row", keyspace_row(name)), parts.pop("virtual", False)
    )
    for part, value in parts.items():
        setattr(keyspace, part, value)
    return keyspace


def test_a_keyspace_has_its_replication_and_durability() -> None:
    """A keyspace has the replication and the durability of its row."""
    keyspace = build.keyspace(keyspace_source())
    assert keyspace.name == "ks"
    assert keyspace.durable_writes
    assert not keyspace.virtual
    assert isinstance(keyspace.replication_strategy, SimpleStrategy)
    assert keyspace.replication_strategy.replication_factor == 1
    assert keyspace.tablets is None
    assert keyspace._exc_info is None
    not_durable = build.keyspace(
        keyspace_source(row={**keyspace_row("ks"), "durable_writes": False})
    )
    assert not not_durable.durable_writes


def test_a_keyspace_without_replication_is_incomplete() -> None:
    """A keyspace without replication has an error in its export, unless it is virtual."""
    row: Mapping[str, Any] = {"keyspace_name": "ks", "replication": None}
    keyspace = build.keyspace(keyspace_source(row=row))
    assert "the replication of the keyspace is None" in keyspace.export_as_string()
    assert keyspace.durable_writes
    # A virtual keyspace has no replication.
    assert build.keyspace(keyspace_source(row={}, virtual=True))._exc_info is None
    damaged = {**keyspace_row("ks"), "durable_writes": ValueError("damaged")}
    assert "damaged" in build.keyspace(keyspace_source(row=damaged)).export_as_string()


def a_type(name: str, **changes: Any) -> dict[str, Any]:
    """Return a row of the schema table for user-defined types."""
    row = {"keyspace_name": "ks", "type_name": name, "field_names": ["a"], "field_types": ["int"]}
    return {**row, **changes}


def function(name: str, kind: str = "function", **changes: Any) -> dict[str, Any]:
    """Return a row of the schema table for functions or, depending on `kind`, for aggregates."""
    row = {
        "keyspace_name": "ks", f"{kind}_name": name, "argument_types": ["int"],
        "argument_names": ["x"], "return_type": "text", "language": "java", "body": "return x;",
        "called_on_null_input": True, "state_func": "s", "state_type": "int", "final_func": "f",
        "initcond": "0",
    }  # fmt: skip
    return {**row, **changes}


def test_a_keyspace_has_its_user_types() -> None:
    """A keyspace has its user-defined types, also if a type has no fields.

    For a type without fields, the schema table has a null, not an empty list.
    """
    keyspace = build.keyspace(
        keyspace_source(types=[a_type("u"), a_type("empty", field_names=None, field_types=None)])
    )
    fields = {name: list(user_type.field_names) for name, user_type in keyspace.user_types.items()}
    assert fields == {"u": ["a"], "empty": []}


def test_a_keyspace_has_its_functions() -> None:
    """A keyspace has its functions, sorted by their signatures."""
    keyspace = build.keyspace(
        keyspace_source(
            functions=[
                function("g"),
                function("f", deterministic=True, monotonic=True, monotonic_on=["x"]),
                function("none", argument_types=None, argument_names=None),
            ]
        )
    )
    assert list(keyspace.functions) == ["f(int)", "g(int)", "none()"]
    # Only the function f has properties that are not the default.
    function_f, function_g = keyspace.functions["f(int)"], keyspace.functions["g(int)"]
    assert function_f.deterministic
    assert function_f.monotonic
    assert list(function_f.monotonic_on) == ["x"]
    assert not function_g.deterministic
    assert not function_g.monotonic
    assert list(function_g.monotonic_on) == []
    assert function_g.return_type == "text"
    assert function_g.language == "java"
    assert function_g.body == "return x;"
    assert function_g.called_on_null_input
    assert list(function_g.argument_names) == ["x"]


def test_a_keyspace_has_its_aggregates() -> None:
    """A keyspace has its aggregates, sorted by their signatures."""
    keyspace = build.keyspace(
        keyspace_source(
            aggregates=[
                function("b", "aggregate"),
                function("a", "aggregate", deterministic=True, reduce_func="r"),
            ]
        )
    )
    assert list(keyspace.aggregates) == ["a(int)", "b(int)"]
    aggregate_a, aggregate_b = keyspace.aggregates["a(int)"], keyspace.aggregates["b(int)"]
    assert aggregate_a.deterministic
    assert aggregate_a.reduce_func == "r"
    assert not aggregate_b.deterministic
    assert aggregate_b.reduce_func is None
    assert aggregate_b.state_func == "s"
    assert aggregate_b.state_type == "int"
    assert aggregate_b.final_func == "f"
    assert aggregate_b.initial_condition == "0"
    assert aggregate_b.return_type == "text"


@pytest.mark.parametrize("table", ["types", "functions", "aggregates"])
def test_a_damaged_part_leaves_the_others(table: str, caplog: pytest.LogCaptureFixture) -> None:
    """A damaged type, function or aggregate is logged and left out of the keyspace.

    The export of the keyspace contains the error.
    """
    rows: dict[str, Any] = {
        "types": [a_type("x", field_names=ValueError("damaged")), a_type("y")],
        "functions": [function("x", body=ValueError("damaged")), function("y")],
        "aggregates": [
            function("x", "aggregate", initcond=ValueError("damaged")),
            function("y", "aggregate"),
        ],
    }
    keyspace = build.keyspace(keyspace_source(**{table: rows[table]}))
    attribute = {"types": "user_types"}.get(table, table)
    assert [part.name for part in getattr(keyspace, attribute).values()] == ["y"]
    assert f"the metadata of a {table.removesuffix('s')} in keyspace ks is damaged" in caplog.text
    assert "damaged" in keyspace.export_as_string()


def test_tables_are_built_at_their_first_access() -> None:
    """A table is built only when it, or one of its indexes, is accessed."""
    table = source(row(b"a"), indexes=[INDEX])
    keyspace = build.keyspace(keyspace_source(tables={"t": table}, views={"v": view_source(KEY)}))
    assert list(keyspace.tables) == ["t"]
    # Iterating over the names of tables does not build the tables.
    assert table._object is None
    # Access to an index builds the table of the index.
    assert keyspace.indexes["by_a"].table_name == "t"
    assert keyspace.tables["t"] is table.object()
    assert keyspace.views["v"].base_table_name == "base"


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
def test_tablets_of_a_keyspace(scylla: Any, tablets: Any) -> None:
    """The table `scylla_keyspaces` of ScyllaDB says whether a keyspace has tablets.

    For a keyspace with LocalStrategy, this row is ignored.
    """
    assert build.keyspace(keyspace_source(scylla=scylla)).tablets == tablets
    local = {"keyspace_name": "ks", "replication": {"class": "LocalStrategy"}}
    keyspace = build.keyspace(keyspace_source(row=local, scylla=scylla))
    assert isinstance(keyspace.replication_strategy, LocalStrategy)
    assert keyspace.tablets is None


# -- a keyspace whose rows are read again ---------------------------------------------------------


def test_a_keyspace_object_shows_tables_that_are_read_later() -> None:
    """After the rows of a keyspace are read again, its object has the new tables and types."""
    keyspace: Any = build.keyspace(keyspace_source(tables={"t": source()}))
    tables = keyspace.tables
    renewed = keyspace_source(tables={"t": source(), "u": source()}, types=[a_type("x")])
    assert build.renewed_keyspace(keyspace, renewed) is keyspace
    assert keyspace.tables is tables
    assert list(tables) == ["t", "u"]
    assert list(keyspace.user_types) == ["x"]


def test_an_altered_keyspace_is_a_new_object() -> None:
    """An altered keyspace is a new object, which applications can compare with the old object.

    A change of replication, durability or tablets alters a keyspace.
    """
    keyspace: Any = build.keyspace(keyspace_source(tables={"t": source()}))
    keyspace.own_attribute = 5
    altered: Any = build.renewed_keyspace(
        keyspace, keyspace_source(row=keyspace_row("ks", 3), tables={"u": source()})
    )
    assert altered is not keyspace
    assert keyspace.replication_strategy.replication_factor == 1
    assert altered.replication_strategy.replication_factor == 3
    # Attributes that the application has set must be copied.
    assert altered.own_attribute == 5
    # The old and the new keyspace object have the same tables, the tables of the new state.
    assert keyspace.tables is altered.tables
    assert list(keyspace.tables) == ["u"]
    assert type(keyspace.tables) is LazyMapping
    other_durability = {**keyspace_row("ks", 3), "durable_writes": False}
    # Each of these changes must lead to a new keyspace object.
    assert build.renewed_keyspace(altered, keyspace_source(row=other_durability)) is not altered
    with_tablets = keyspace_source(row=keyspace_row("ks", 3), scylla={"initial_tablets": 8})
    assert build.renewed_keyspace(altered, with_tablets) is not altered
