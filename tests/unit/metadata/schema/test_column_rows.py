"""Test `column_rows`, which finds the columns of a table in pages of system_schema.columns.

The compiled and the pure Python version are both tested, and compared with each other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, strategies as st

from cassandra.errors import DecodeError
from cassandra.metadata.schema.elements import ColumnMetadata
from tests.conftest import LANE, Implementation

IMPLEMENTATIONS = ["python", "c"] if LANE == "c" else ["python"]
Cell = bytes | None


def page(*rows: tuple[Cell, ...]) -> bytes:
    """Return the body of a page with these rows."""
    cells = [
        b"\xff\xff\xff\xff" if cell is None else len(cell).to_bytes(4, "big") + cell
        for row in rows
        for cell in row
    ]
    return b"".join(cells)


def row(
    name: Cell, kind: Cell = b"regular", position: int | Cell = -1, order: Cell = b"none",
    cql_type: Cell = b"int",
    table_key: tuple[Cell, Cell] = (b"ks", b"t"),
) -> tuple[Cell, ...]:  # fmt: skip
    """Return the cells of a row of system_schema.columns."""
    encoded_position = (
        position.to_bytes(4, "big", signed=True) if isinstance(position, int) else position
    )
    return (*table_key, name, order, kind, encoded_position, cql_type)


def columns(implementation: Any, body: bytes, count: int, texts: Any = None) -> Any:
    """Return (partition key, clustering key, columns by name) of the rows in a page.

    :param body: the body of the page.
    :param count: the number of rows in the page.
    :param texts: the cache of strings; None for a new cache.
    """
    module = implementation.column_rows
    return module.columns_of("the table", (body, 0, count), texts or module.Texts())


def runs_by_table(implementation: Any, body: bytes, begin: int, count: int) -> Any:
    """Return the runs of adjacent rows by keyspace and table, each (page, begin, count, ...).

    The page itself is replaced by the string "the page", so that results can be compared.
    """
    rows_of: dict[str, dict[str, tuple[Any, ...]]] = {}
    implementation.column_rows.note_runs(rows_of, body, begin, count)
    return {
        keyspace: {
            table: tuple("the page" if value is body else value for value in run)
            for table, run in tables.items()
        }
        for keyspace, tables in rows_of.items()
    }


def description_of(parts: Any) -> Any:
    """Return the names of the key columns, and the attributes of all columns."""
    partition_key, clustering_key, columns_by_name = parts
    the_table: object = "the table"
    assert all(
        type(column) is ColumnMetadata and column.table == the_table
        for column in columns_by_name.values()
    )
    return (
        [column.name for column in partition_key],
        [column.name for column in clustering_key],
        [
            (
                name,
                column.name,
                column.cql_type,
                column.is_static,
                column.is_reversed,
                column.mask,
            )
            for name, column in columns_by_name.items()
        ],
    )


def test_the_key_comes_first_and_the_others_by_name(implementation: Implementation) -> None:
    """Columns are in the order: partition key, clustering key, and all other columns by name."""
    rows = [
        row(b"a"),
        row(b"c1", b"clustering", 1, b"desc", b"text"),
        row(b"c2", b"clustering", 0, b"asc"),
        row(b"p1", b"partition_key", 1),
        row(b"p2", b"partition_key", 2),
        row(b"p3", b"partition_key", 0),
        row(b"s", b"static", cql_type=b"list<int>"),
        row("zürich".encode(), cql_type=b"map<text, text>"),
    ]
    partition_key, clustering_key, described_columns = description_of(
        columns(implementation, page(*rows), len(rows))
    )
    # The columns of a key must be in the order of their positions.
    assert partition_key == ["p3", "p1", "p2"]
    assert clustering_key == ["c2", "c1"]
    assert described_columns == [
        ("p3", "p3", "int", False, False, None),
        ("p1", "p1", "int", False, False, None),
        ("p2", "p2", "int", False, False, None),
        ("c2", "c2", "int", False, False, None),
        ("c1", "c1", "text", False, True, None),
        ("a", "a", "int", False, False, None),
        ("s", "s", "list<int>", True, False, None),
        ("zürich", "zürich", "map<text, text>", False, False, None),
    ]


def test_attributes_of_columns_may_be_changed(implementation: Implementation) -> None:
    """The attributes of a column can be changed, without an effect on other columns."""
    _, _, columns_by_name = columns(implementation, page(row(b"a"), row(b"b")), count=2)
    columns_by_name["a"].cql_type = "text"
    columns_by_name["a"].mask = "a mask"
    assert str(columns_by_name["a"]) == "a text"
    assert str(columns_by_name["b"]) == "b int"
    assert columns_by_name["a"].as_cql.__self__ is columns_by_name["a"]


def test_equal_strings_are_the_same_object(implementation: Implementation) -> None:
    """Equal names and types of columns are the same string object, also for different tables."""
    texts = implementation.column_rows.Texts()
    types = [b"type %d" % (number % 700) for number in range(1500)] + ["größe".encode()] * 2
    rows = [row(b"name %d" % number, cql_type=cql_type) for number, cql_type in enumerate(types)]
    _, _, first = columns(implementation, page(*rows), len(rows), texts)
    _, _, second = columns(implementation, page(*rows), len(rows), texts)
    assert all(
        first[name].cql_type is second[name].cql_type and first[name].name is second[name].name
        for name in first
    )
    assert [column.cql_type.encode() for column in first.values()] == types
    # There are 700 numbered types, and one type whose name is not ASCII.
    assert len({id(column.cql_type) for column in first.values()}) == 701


def test_runs_say_where_the_rows_of_each_table_are(implementation: Implementation) -> None:
    """A run has the page, the offset and the number of adjacent rows of a table."""
    rows = [
        *[row(b"a", table_key=(b"ks", b"t")), row(b"b", table_key=(b"ks", b"t"))],
        row(b"a", table_key=(b"ks", b"tt")),
        row(b"a", table_key=(b"kst", b"t")),
        row(b"lost", table_key=(b"ks", b"\xff")),
        *[row(b"c", table_key=(b"ks", b"t"))] * 3,
    ]
    prefix = b"before"
    body = prefix + page(*rows)
    runs_of = runs_by_table(implementation, body, len(prefix), len(rows))
    # A run consists of the page, the offset and the number of rows. The row with the damaged name
    # is left out.
    assert {
        keyspace: {table: run[2::3] for table, run in tables.items()}
        for keyspace, tables in runs_of.items()
    } == {
        "ks": {"t": (2, 3), "tt": (1,)},
        "kst": {"t": (1,)},
    }
    assert runs_of["ks"]["t"][:2] == ("the page", len(prefix))
    texts = implementation.column_rows.Texts()
    rows_of_table = tuple(body if value == "the page" else value for value in runs_of["ks"]["t"])
    _, _, columns_by_name = implementation.column_rows.columns_of("the table", rows_of_table, texts)
    assert list(columns_by_name) == ["a", "b", "c"]
    assert runs_by_table(implementation, body, len(prefix), 0) == {}
    assert implementation.column_rows.columns_of("the table", (), texts) == ([], [], {})


def test_the_rows_of_a_table_may_be_in_several_pages(implementation: Implementation) -> None:
    """The rows of a table may be in several pages, of which each has its own run."""
    rows_of: dict[str, dict[str, tuple[Any, ...]]] = {}
    pages = [page(row(b"a")), page(row(b"b"), row(b"z", table_key=(b"ks", b"u"))), page(row(b"c"))]
    for body, count in zip(pages, (1, 2, 1), strict=True):
        implementation.column_rows.note_runs(rows_of, body, 0, count)
    assert rows_of["ks"]["t"] == (pages[0], 0, 1, pages[1], 0, 1, pages[2], 0, 1)
    texts = implementation.column_rows.Texts()
    _, _, columns_by_name = implementation.column_rows.columns_of(
        "the table", rows_of["ks"]["t"], texts
    )
    assert list(columns_by_name) == ["a", "b", "c"]


def test_rows_before_damage_are_noted(implementation: Implementation) -> None:
    """If a page is truncated, `note_runs` records the complete rows, and raises DecodeError."""
    rows_of: dict[str, dict[str, tuple[Any, ...]]] = {}
    body = page(row(b"a"), row(b"b", table_key=(b"ks", b"u")))[:-1]
    with pytest.raises(DecodeError, match="past the end"):
        implementation.column_rows.note_runs(rows_of, body, 0, 2)
    assert rows_of == {"ks": {"t": (body, 0, 1)}}


@pytest.mark.parametrize(
    ("damaged", "error_class", "message"),
    [
        (row(None), ValueError, "a column's name is None"),
        (row(b"\xff"), DecodeError, "a column's name cannot be decoded: .*0xff"),
        (row(b"a", cql_type=None), ValueError, "the type of column 'a' is None"),
        (row(b"a", cql_type=b"\xfe"), DecodeError,
        "the type of column 'a' cannot be decoded: .*0xfe"),
        (row(b"a", position=None), ValueError, "the position of column 'a' is None"),
        (row(b"a", position=b"12"), DecodeError,
        "the position of column 'a' cannot be decoded: an int has 4 bytes, and this 2"),
        (row(b"a", kind=None), ValueError, "the kind of column 'a' is None"),
        (row(b"a", kind=b"strange"), ValueError, "column 'a' is of the unknown kind 'strange'"),
        (row(b"a", kind=b"\xfd"), DecodeError, "the kind of column 'a' cannot be decoded: .*0xfd"),
    ],
)  # fmt: skip
def test_damaged_rows_are_named(
    damaged: tuple[Cell, ...], error_class: Any, message: str, implementation: Implementation
) -> None:
    """The error for a damaged row of a column names the cell and its value."""
    with pytest.raises(error_class, match=message) as caught:
        columns(implementation, page(row(b"z"), damaged), 2)
    assert type(caught.value) is error_class


def test_an_order_may_be_null(implementation: Implementation) -> None:
    """The clustering order of a column may be null, which means ascending."""
    body = page(row(b"a", b"clustering", 0, order=None))
    _, _, columns_by_name = columns(implementation, body, count=1)
    assert not columns_by_name["a"].is_reversed


def test_rows_past_the_end_are_refused(implementation: Implementation) -> None:
    """If a page has fewer bytes than its rows need, reading the page raises DecodeError."""
    body = page(row(b"a"), row(b"b"))
    for size in range(len(body)):
        readers: list[Callable[[bytes], Any]] = [
            lambda cut: runs_by_table(implementation, cut, 0, 2),
            lambda cut: columns(implementation, cut, 2),
        ]
        for read_rows in readers:
            with pytest.raises(DecodeError, match="past the end"):
                read_rows(body[:size])


# Cells of random rows. Many are valid in another column than the one in which they occur.
CELLS = st.sampled_from(
    [
        b"a",
        b"bb",
        b"",
        b"regular",
        b"static",
        b"clustering",
        b"partition_key",
        b"desc",
        b"\0\0\0\1",
        b"\xff",
        None,
    ]
)


@given(
    st.lists(st.tuples(*[CELLS] * 7), max_size=6),
    st.lists(st.tuples(st.integers(0, 400), st.integers(0, 255)), max_size=2),
)
def test_both_implementations_agree_on_random_pages(
    rows: list[tuple[Cell, ...]], changes: list[tuple[int, int]]
) -> None:
    """Both implementations return equal results or errors for random pages."""
    body = bytearray(page(*rows))
    for offset, value in changes:
        if offset < len(body):
            body[offset] = value
    data = bytes(body)

    def read_runs(implementation: Any) -> Any:
        return runs_by_table(implementation, data, 0, len(rows))

    def read_columns(implementation: Any) -> Any:
        return description_of(columns(implementation, data, len(rows)))

    for read in (read_runs, read_columns):
        outcomes = [result_or_error(read, Implementation(lane)) for lane in IMPLEMENTATIONS]
        assert all(outcome == outcomes[0] for outcome in outcomes)


def result_or_error(read: Callable[[Any], Any], implementation: Any) -> Any:
    """Return the result of `read`, or the class and the message of its error."""
    try:
        return read(implementation)
    except (DecodeError, ValueError) as error:
        return type(error), str(error)
