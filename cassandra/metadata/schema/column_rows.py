"""The columns of tables out of pages of system_schema.columns, in Python: the reference of
`cassandra._accel.column_rows`.

It is by far the largest schema table, with a row for each column of each table. `note_runs` walks
along a page once and notes where the rows of each table are; `columns_of` makes the columns of one
table of its rows, when somebody looks at it. Rows have the cells keyspace_name, table_name,
column_name, clustering_order, kind, position, type, each a [bytes] (native_protocol_v4.spec,
section 4.2.5.2).

`usual_table` makes a whole table, where it is like most: the rest of the work on it would take as
long as its columns.

Thousands of columns have the same names and types: `texts` keeps each text once.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

from cassandra.errors import DecodeError
from cassandra.metadata.schema.elements import ColumnMetadata
from cassandra.metadata.schema.snapshot import NOTHING, TableSource
from cassandra.metadata.schema.tables import TableMetadataV3

__all__ = ["Texts", "columns_of", "note_runs", "usual_table"]

_CELLS = 7

USUAL_FLAGS = frozenset({"compound"})

_int32_at = struct.Struct(">i").unpack_from

# Of each run of rows of one table a page, where the rows begin in it, and how many they are, one
# after the other: of thousands of tables each further object would be felt by the garbage
# collector.
Runs = tuple[Any, ...]
RowsOf = dict[str, dict[str, Runs]]  # by keyspace and table


class Texts:
    """Texts by their UTF-8 bytes, each kept once."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[bytes, str] = {}

    def _text(self, cell: bytes | None, name: str | None) -> str:
        """The text of a name, or of the type of the column `name`."""
        if cell is None:
            raise bad_text(None, name)
        text = self._known.get(cell)
        if text is None:
            try:
                text = self._known[cell] = cell.decode()
            except UnicodeDecodeError as error:
                raise bad_text(error, name) from None
        return text


def note_runs(rows_of: RowsOf, body: bytes, at: int, count: int) -> None:
    """Note in `rows_of` where the rows of each table are among the `count` rows at `at` of the page
    `body`.

    Names that are no text are left out. DecodeError where rows go past the end of the page: what
    was before them is noted.
    """
    known: bytes | None = None
    begin = rows = 0
    names: tuple[str, str] | None = None
    size_at, others = _int32_at, range(_CELLS - 2)
    try:
        for _ in range(count):
            start = at
            keyspace_end = at + 4 + max(size_at(body, at)[0], 0)
            at = keyspace_end + 4 + max(size_at(body, keyspace_end)[0], 0)
            if body[start:at] != known:
                if names is not None:
                    _note(rows_of, names, (body, begin, rows))
                known, begin, rows = body[start:at], start, 0
                names = _names(body[start + 4 : keyspace_end], body[keyspace_end + 4 : at])
            rows += 1
            for _ in others:
                size = size_at(body, at)[0]
                at += size + 4 if size > 0 else 4
    except struct.error:
        raise _past_the_end() from None
    if at > len(body):
        raise _past_the_end()
    if names is not None:
        _note(rows_of, names, (body, begin, rows))


def _note(rows_of: RowsOf, names: tuple[str, str], run: Runs) -> None:
    tables = rows_of.setdefault(names[0], {})
    tables[names[1]] = tables.get(names[1], ()) + run


def _past_the_end() -> DecodeError:
    return DecodeError("a row of system_schema.columns goes past the end of its page")


def _names(keyspace: bytes, table: bytes) -> tuple[str, str] | None:
    try:
        return keyspace.decode(), table.decode()
    except UnicodeDecodeError:
        return None


def _rows(body: bytes, at: int, count: int) -> Iterator[list[bytes | None]]:
    """The cells of each row, None for null."""
    size_at, end = _int32_at, len(body)
    for _ in range(count):
        cells: list[bytes | None] = []
        try:
            for _ in range(_CELLS):
                size = size_at(body, at)[0]
                at += 4
                cells.append(body[at : at + size] if size >= 0 else None)
                at += size if size > 0 else 0
        except struct.error:
            raise _past_the_end() from None
        if at > end:
            raise _past_the_end()
        yield cells


def columns_of(
    table: Any, found: Runs, texts: Texts
) -> tuple[list[ColumnMetadata], list[ColumnMetadata], dict[str, ColumnMetadata]]:
    """(partition key, clustering key, all columns by name) of `table`, from the runs of its rows
    that `note_runs` has found.

    Columns are in the order that servers describe tables in: the key, static columns, the others;
    within these by name, as they come. DecodeError for what is no text or number, ValueError for a
    null or an unknown kind.
    """
    partition_key: list[tuple[int, ColumnMetadata]] = []
    clustering_key: list[tuple[int, ColumnMetadata]] = []
    static: list[ColumnMetadata] = []
    regular: list[ColumnMetadata] = []
    for place in range(0, len(found), 3):
        body, at, count = found[place : place + 3]
        for _, _, name_cell, order, kind, position_cell, type_cell in _rows(body, at, count):
            name = texts._text(name_cell, None)
            position = _position(position_cell, name)
            cql_type = texts._text(type_cell, name)
            if kind == b"regular":
                regular.append(ColumnMetadata(table, name, cql_type))
            elif kind == b"clustering":
                clustering_key.append(
                    (position, ColumnMetadata(table, name, cql_type, False, order == b"desc"))
                )
            elif kind == b"partition_key":
                partition_key.append((position, ColumnMetadata(table, name, cql_type)))
            elif kind == b"static":
                static.append(ColumnMetadata(table, name, cql_type, True))
            else:
                raise unknown_kind(name, kind)
    keys = in_positions(partition_key), in_positions(clustering_key)
    return *keys, {
        column.name: column for columns in (*keys, static, regular) for column in columns
    }


def _position(cell: bytes | None, name: str) -> int:
    if cell is None or len(cell) != 4:
        raise bad_position(name, cell)
    return int.from_bytes(cell, "big", signed=True)


def bad_text(error: UnicodeDecodeError | None, name: str | None) -> Exception:
    """What is raised for the type of the column `name` that is null or (with the `error`) no text;
    for a name where that is None.
    """
    what = "a column's name" if name is None else f"the type of column {name!r}"
    return (
        ValueError(f"{what} is None")
        if error is None
        else DecodeError(f"{what} cannot be decoded: {error}")
    )


def bad_position(name: str, cell: bytes | None) -> Exception:
    """What is raised for a position that is no number of 32 bits."""
    if cell is None:
        return ValueError(f"the position of column {name!r} is None")
    return DecodeError(
        f"the position of column {name!r} cannot be decoded: an int has 4 bytes, "
        f"and this {len(cell)}"
    )


def unknown_kind(name: str, kind: bytes | None) -> Exception:
    """What is raised for a kind that no column has."""
    if kind is None:
        return ValueError(f"the kind of column {name!r} is None")
    try:
        return ValueError(f"column {name!r} is of the unknown kind {kind.decode()!r}")
    except UnicodeDecodeError as error:
        return DecodeError(f"the kind of column {name!r} cannot be decoded: {error}")


def usual_table(source: TableSource) -> TableMetadataV3 | None:
    """The table of `source`, without its indexes; None where more is to be said of it, or its rows
    are damaged.

    The pages of its columns have been looked through.
    """
    names, row, pages = source.names, source.row, source.columns
    if (
        pages is None
        or names.flags is None
        or source.virtual
        or source.error is not None
        or source.triggers
        or source.dropped
        or source.masks
        or source.scylla
        or row[names.flags] != USUAL_FLAGS
        or (names.extensions is not None and row[names.extensions])
    ):
        return None
    tables = pages.rows_of.get(source.keyspace, {})
    found = tables.pop(source.name, None)
    if found is None:
        return None
    made = TableMetadataV3(source.keyspace, source.name, triggers=NOTHING)
    try:
        made.partition_key, made.clustering_key, made.columns = columns_of(made, found, pages.texts)
    except (DecodeError, ValueError):
        made.partition_key = []
    if not made.partition_key:
        tables[source.name] = found  # for who says what is wrong with them
        return None
    made.take_row(names, row)
    made.indexes = made.views = made.dropped_columns = NOTHING
    return made


def in_positions(columns: list[tuple[int, ColumnMetadata]]) -> list[ColumnMetadata]:
    """The columns of a key by their positions."""
    if len(columns) > 1:
        columns.sort(key=_first)
    return [column for _, column in columns]


def _first(place: tuple[int, ColumnMetadata]) -> int:
    return place[0]
