"""The columns of a load are derived from the source's fields, the target table and the options."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from cassandra.bulk.chunks import Chunk, Position
from cassandra.bulk.columns import (
    Columns,
    Selection,
    reading_of_names,
    selection_of_statement,
    selection_of_table,
)
from cassandra.bulk.groups import Keys
from cassandra.bulk.options import LoadOptions
from cassandra.cqltypes.parse import lookup_cqltype
from cassandra.metadata import ColumnMetadata, TableMetadata
from cassandra.protocol.column_specs import ColumnMetadata as MarkerMetadata
from cassandra.query import PreparedStatement


def table_metadata(**types: str) -> TableMetadata:
    """Return a table with the partition key `p` and the clustering column `c`.

    Columns whose names begin with "s" are static.
    """
    metadata = TableMetadata("ks", "t")
    for name, type_name in types.items():
        metadata.columns[name] = ColumnMetadata(
            metadata, name, type_name, is_static=name.startswith("s")
        )
    metadata.partition_key = [metadata.columns["p"]]
    metadata.clustering_key = [metadata.columns["c"]]
    return metadata


TABLE = table_metadata(p="int", c="int", s="text", r="text")
COUNTERS = table_metadata(p="int", c="int", hits="counter")


def prepared(*markers: str, key: Sequence[int] = (0,), query: str = "INSERT") -> PreparedStatement:
    """Return a statement with bind markers of these names, all of type int.

    :param key: the indexes of the bind markers of the partition key.
    :param query: its CQL.
    """
    metadata = [MarkerMetadata("ks", "t", name, lookup_cqltype("int")) for name in markers]
    return PreparedStatement(
        metadata,
        b"id",
        key,
        query,
        "ks",
        protocol_version=5,
        result_metadata=None,
        result_metadata_id=None,
    )


def columns_of_table(
    *markers: str, table: TableMetadata | None = TABLE, key: Sequence[int] = (0,), **options: Any
) -> Columns:
    """Return the `Columns` of a load whose statement has these bind markers.

    :param table: the target table; None if the load does not know it.
    :param key: the indexes of the bind markers of the partition key.
    :param options: options of the load.
    """
    load_options = LoadOptions(**options)
    _, selection = selection_of_table(table or TABLE, load_options, [("a.csv", None)])
    reading = reading_of_names(load_options)
    return Columns(prepared(*markers, key=key), selection, table, load_options, reading)


# -- the selection ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "options", "columns"),
    [
        ([["r", "c", "p"]], {}, ["p", "c", "r"]),
        ([["p", "c"], ["p", "c", "r"]], {}, ["p", "c", "r"]),
        ([["p", "c", "r"]], {"ignore": ["r"]}, ["p", "c"]),
        ([["p", "c", "life"]], {"ttl_column": "life"}, ["p", "c"]),
        # The field names of the second source are unknown (None), so its rows may have any column.
        ([["p", "c"], None], {}, ["p", "c", "s", "r"]),
        ([["x"]], {"ignore": ["x"]}, ["p", "c", "s", "r"]),
        ([["x"]], {"columns": ["r", "c", "p"]}, ["r", "c", "p"]),
        ([["x"]], {"columns": {"x": "r", "p": "p", "c": "c"}}, ["r", "p", "c"]),
        ([["p", "c", "r"]], {"columns": ["r", "c", "p"], "ignore": ["r"]}, ["c", "p"]),
        ([["x"]], {"columns": {"x": "r", "p": "p", "c": "c"}, "ignore": ["x"]}, ["p", "c"]),
    ],
)
def test_a_load_writes_the_columns_of_its_source_or_the_selected_ones(
    fields: list[list[str] | None], options: dict[str, Any], columns: list[str]
) -> None:
    """A load writes the columns of its source, or only the columns that the user selects."""
    sources = [(f"{number}.csv", names) for number, names in enumerate(fields)]
    plan, selection = selection_of_table(TABLE, LoadOptions(**options), sources)
    assert [*selection.source_order] == columns
    assert ", ".join(columns) in plan.text
    # With `columns=`, the user has left out the other fields on purpose, so they are no error.
    assert selection.is_closed == ("columns" not in options)


def test_the_values_of_folders_are_not_lost_silently() -> None:
    """A load refuses a file whose folder name holds the value of a column that the file lacks.

    Hive and Spark write such folders ("s=5") and leave the column out of the file.
    """
    path = "table/s=5/x=1/a.csv"
    with pytest.raises(ValueError, match=r"the folder 's=5' of .* has a value for the column 's'"):
        selection_of_table(TABLE, LoadOptions(), [(path, ["p", "c", "r"])])
    with pytest.warns(RuntimeWarning, match="the folder 's=5'"):
        selection_of_table(TABLE, LoadOptions(), [("table/s=5/a.jsonl", None)])
    # No error if the file has the column, or if the user ignores the column on purpose.
    cases: list[tuple[list[str], dict[str, Any]]] = [
        (["p", "c", "s"], {}),
        (["p", "c", "r"], {"ignore": ["s"]}),
        (["p", "c", "r"], {"columns": ["p", "c", "r"]}),
    ]
    for names, options in cases:
        selection_of_table(TABLE, LoadOptions(**options), [(path, names)])
    selection_of_table(TABLE, LoadOptions(), [("s=5.csv", ["p", "c", "r"])])


def test_columns_that_do_not_fit_the_table_are_refused() -> None:
    """Columns and fields that do not fit the table raise a ValueError that explains the fault."""
    for options, message in (
        ({"columns": {"p": "x", "c": "y"}}, r"write columns=\{'x': 'p', 'y': 'c'\}"),
        ({"columns": {"x": "p", "y": "p"}}, "columns names one column twice"),
        ({"columns": ["x"]}, "has no column 'x'"),
        ({}, "the source has a column 'x'"),
        ({"columns": ["p"], "ignore": ["p"]}, "ignore= has all fields of columns="),
    ):
        with pytest.raises(ValueError, match=message):
            selection_of_table(TABLE, LoadOptions(**options), [("a.csv", ["p", "x"])])


def test_a_mapping_renames_fields_of_a_prepared_statement() -> None:
    """A mapping for a prepared statement renames some fields; others keep names and positions."""
    options = LoadOptions(columns={"key": "p"}, header=False)
    selection = selection_of_statement(prepared("p", "c"), options)
    assert selection == Selection({"p": "key"}, ["p", "c"], is_closed=False)


# -- reading and binding ---------------------------------------------------------------------------


def test_fields_are_in_the_order_of_the_source() -> None:
    """Fields are in the order of `columns=`, not in the order of the statement's bind markers.

    The UPDATE of a counter binds the counter first, but rows without names have the counter where
    `columns=` has it.
    """
    columns = columns_of_table(
        *("hits", "p", "c"), table=COUNTERS, key=(1,), counters=True, columns=["c", "p", "hits"]
    )
    assert columns.fields == ["c", "p", "hits"]
    # Among the bind markers hits, p and c, the partition key is at position 1, and the clustering
    # column at position 2.
    assert columns.keys == Keys((1,), [2])
    # The row is in the order of `columns=`: c, p, hits.
    rows = [(2, 1, 5)]
    # The binder makes one request per row (None), and knows no replicas.
    binder = columns.binder(None, lambda: None)
    bound = binder.bind_next(
        iter(
            [
                Chunk(
                    rows,
                    size=1,
                    source=None,
                    first=0,
                    lines=None,
                    position=Position(0, 1),
                    raw=None,
                )
            ]
        )
    )
    assert bound is not None
    ((group,),) = [wave.groups for wave in bound.waves]
    # The bind markers are in the order hits, p, c.
    assert group.block.row(0).values() == [bytes([0, 0, 0, number]) for number in (5, 1, 2)]


def test_a_field_has_the_time_to_live_of_each_row() -> None:
    """`ttl_column` names a field with each row's TTL, which is not a column of the table."""
    columns = columns_of_table("p", "c", "[ttl]", ttl_column="life", header=False)
    assert columns.reading.mapping == {"[ttl]": "life"}
    # Rows without names have the TTL after the values of the table's columns.
    assert columns.fields == ["p", "c", "s", "r", "life"]
    assert columns.reading.header == columns.fields
    # A file may lack the column `r` if another file has `r`, but each file needs the TTL.
    assert [column.name for column in columns.columns if column.is_needed] == ["p", "c", "[ttl]"]


@pytest.mark.parametrize(
    ("options", "header"),
    [
        ({}, ["p", "c", "s", "r", "life"]),
        ({"columns": ["s", "r", "p", "c"]}, ["s", "r", "p", "c", "life"]),
        ({"columns": {"x": "s", "p": "p", "c": "c", "r": "r"}}, ["x", "p", "c", "r", "life"]),
    ],
)
def test_ignored_fields_keep_their_positions_in_a_file_without_a_header(
    options: dict[str, Any], header: list[str]
) -> None:
    """In a file without a header, ignored fields count, because position identifies a field."""
    columns = columns_of_table(
        *("p", "c", "r", "[ttl]"), ignore=["s", "x"], header=False, ttl_column="life", **options
    )
    assert columns.reading.header == header
    # Rows that the application passes as objects have no values for ignored columns.
    assert {*columns.fields} == {"p", "c", "r", "life"}


def test_columns_of_the_key_are_needed() -> None:
    """Each file must have the primary key's columns, and all columns that `columns=` names."""
    columns = columns_of_table("p", "c", "r")
    assert [(column.is_key, column.is_needed) for column in columns.columns] == [
        (True, True),
        (True, True),
        (False, False),
    ]
    columns.check_fields([("a.csv", ["p", "c"]), ("b.csv", None)])
    with pytest.raises(ValueError, match=r"b\.csv"):
        columns.check_fields([("a.csv", ["p", "c"]), ("b.csv", ["p", "r"])])
    # With `columns=`, each file must have all of the selected columns.
    selected = columns_of_table("p", "c", "r", columns=["p", "c", "r"])
    assert [column.is_needed for column in selected.columns] == [True, True, True]


@pytest.mark.parametrize(
    ("markers", "table", "clustering"),
    [
        (("p", "r", "c"), TABLE, [2]),
        (("p", "s"), TABLE, []),  # only static columns
        (("p", "r", "c", "r"), TABLE, [2]),  # SET r = ? WHERE ... IF r = ?
        (("p", "c", "c"), TABLE, []),  # WHERE p = ? AND c > ? AND c < ?
        (("p", "key"), TABLE, []),  # a named marker
        (("p", "c"), None, []),  # the metadata lacks the table
    ],
)
def test_the_clustering_columns_are_unknown_for_some_statements(
    markers: tuple[str, ...], table: TableMetadata | None, clustering: list[int]
) -> None:
    """`keys` has no clustering columns if the statement's markers do not name each of them once."""
    assert columns_of_table(*markers, table=table).keys == Keys((0,), clustering)


def test_a_part_of_the_partition_key_tells_rows_apart() -> None:
    """The bind markers of key columns tell rows apart even if the routing key is unknown.

    Another column of the partition key is a constant in the statement instead of a marker, so the
    server reports no routing key.
    """
    # The third field, `known_partition`, has the position of p. The first field is for routing.
    assert columns_of_table("r", "c", "p", key=()).keys == Keys((), [1], [2])


@pytest.mark.parametrize(
    ("markers", "options", "static"),
    [
        (("p", "c", "r", "s"), {}, [3]),
        (("p", "s"), {}, []),  # rows with the same key, p, keep their order anyway
        (("p", "c", "r"), {}, []),
        (("p", "c", "s"), {"timestamp": 5}, []),
        # Each row has its own write time.
        (("p", "c", "s", "[timestamp]"), {"timestamp_column": "r"}, []),
        (("p", "c", "s", "[ttl]"), {"ttl_column": "r"}, [2]),
        (("p", "c", "value(s)"), {}, [2]),  # SET s[?] = ?
        (("p", "c", "value(r)"), {}, []),
        (("p", "c", "r", "arg0(f)"), {}, []),  # the statement has no static column
    ],
)
def test_the_order_of_rows_decides_about_static_columns(
    markers: tuple[str, ...], options: dict[str, Any], static: list[int]
) -> None:
    """`static_columns` is set only if the order of two rows decides which static value remains."""
    columns = columns_of_table(*markers, **options)
    assert columns.binder(None, lambda: None).static_columns == static


@pytest.mark.parametrize(
    ("query", "markers", "static"),
    [
        ("INSERT INTO t (p, c, s) VALUES (?, ?, f(?))", ("p", "c", "arg0(f)"), [2]),
        ("INSERT INTO t (p, c, S) VALUES (:p, :c, f(:x))", ("p", "c", "x"), [2]),
        ('INSERT INTO t (p, c, "s") VALUES (:p, :c, f(:x))', ("p", "c", "x"), [2]),
        ("UPDATE t SET s.a=f(:x) WHERE p=:p AND c=:c", ("x", "p", "c"), [0]),
        ("UPDATE t SET r = r + :x WHERE p = :p AND c = :c", ("x", "p", "c"), []),
        ("INSERT INTO s.t (p, c, r) VALUES (:p, :c, f(:x))", ("p", "c", "x"), [2]),
        ("INSERT INTO t (p, c, r) VALUES (:p, :c, f(:x))", ("p", "c", "x"), []),
        # Any column may be in the JSON.
        ("INSERT INTO t JSON :x; UPDATE t SET r = 1 WHERE p=:p AND c=:c", ("x", "p", "c"), [0]),
        # The quoted name "S" is another column than s, and the string 's' is not a column's name.
        ("INSERT INTO t (p, c, \"S\") VALUES (:p, :c, f(:x, 's'))", ("p", "c", "x"), []),
    ],
)
def test_unknown_markers_are_static_if_the_statement_has_a_static_column(
    query: str, markers: tuple[str, ...], static: list[int]
) -> None:
    """A marker whose column is unknown is treated as static if the statement names a static column.

    A statement without a static column has no static markers: its rows need no order.
    """
    key = [markers.index("p")]
    assert static_columns(prepared(*markers, key=key, query=query), TABLE) == static


@pytest.mark.parametrize("marker", ["x", "s"])
def test_counters_need_no_order(marker: str) -> None:
    """Rows that add to a static counter need no order: the sum is the same in any order."""
    query = "UPDATE t SET s = s + :x WHERE p = :p AND c = :c"
    statement = prepared(marker, "p", "c", key=[1], query=query)
    counter = statement.column_metadata[0]._replace(type=lookup_cqltype("counter"))
    statement.renew_columns([counter, *statement.column_metadata[1:]])
    assert static_columns(statement, table_metadata(p="int", c="int", s="counter")) == []


def static_columns(statement: PreparedStatement, table: TableMetadata) -> list[int]:
    """Return the positions of the static columns of a load with a prepared statement."""
    options = LoadOptions()
    selection = selection_of_statement(statement, options)
    columns = Columns(statement, selection, table, options, reading_of_names(options))
    return [*columns.binder(None, lambda: None).static_columns]


def test_named_markers_stand_for_the_columns_of_their_places() -> None:
    """A named marker belongs to the column at its position, even if it has another column's name.

    In this test, the marker `:r` is at the position of the column `c`, for example.
    """
    query = "INSERT INTO t (p, c, s, r) VALUES (:p, :r, :c, :s)"
    reading = reading_of_names(LoadOptions())
    statement = prepared("p", "r", "c", "s", query=query)
    selection = selection_of_statement(statement, LoadOptions())
    columns = Columns(statement, selection, TABLE, LoadOptions(), reading)
    assert columns.keys == Keys((0,), [1])
    assert columns.binder(None, lambda: None).static_columns == [2]
    # If each row has a write time, the server keeps the value with the latest write time, so the
    # order of the rows does not matter.
    statement = prepared("p", "r", "c", "s", "at", query=f"{query} USING TIMESTAMP :at")
    columns = Columns(statement, selection, TABLE, LoadOptions(), reading)
    binder = columns.binder(None, lambda: None)
    assert binder.static_columns == []
    assert (binder.write_time, binder.ttl) == (4, None)


def test_rows_without_their_last_clustering_columns_have_a_statement_of_their_own() -> None:
    """A statement for rows without their last clustering columns binds the values that it has."""
    table = table_metadata(p="int", c="int", d="int", e="int", r="text")
    table.clustering_key += [table.columns["d"], table.columns["e"]]
    columns = columns_of_table("r", "p", "c", "d", "e", table=table, key=(1,))
    statement = prepared("p", "r", "c")
    assert columns.short_rows(table, statement) == (statement, [1, 0, 2], Keys((0,), [2]), [3, 4])


def test_rows_with_only_static_columns_have_a_statement_of_their_own() -> None:
    """Rows that only have static columns are written by a separate statement."""
    columns = columns_of_table("p", "c", "s", "r")
    statement = prepared("p", "s")
    static_rows = columns.static_rows(TABLE, statement)
    # The four lists are positions in a row p, c, s, r: the values that the statement binds (p and
    # s), the static columns, the clustering columns and the regular columns.
    assert static_rows == (statement, [0, 2], [2], [1], [3])
