"""Builds the columns of tables from pages of system_schema.columns.

The compiled version of this module is `cassandra._accel.column_rows`. system_schema.columns is by
far the largest schema table: it has a row for each column of each table. `note_runs` reads a page
once and stores where each table's rows are: a *run* is a number of consecutive rows of one table in
one page. `columns_of` builds the columns of one table when the table is first accessed. Rows have
the cells keyspace_name, table_name, column_name, clustering_order, kind, position and type. Each
cell is a [bytes] (native_protocol_v4.spec, section 4.2.5.2).

`plain_table` builds a whole table if the table has no special features. Doing this in one step
takes half the time. Thousands of columns have the same names and types, so `Texts` keeps one string
for all equal cells.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from cassandra.errors import DecodeError
from cassandra.metadata.schema.elements import ColumnMetadata
from cassandra.metadata.schema.snapshot import NOTHING, TableSource
from cassandra.metadata.schema.tables import TableMetadataV3

if TYPE_CHECKING:
    from cassandra.metadata.schema.tables import MaterializedViewMetadata, TableMetadata

__all__ = ["Texts", "columns_of", "note_runs", "plain_table"]

_CELLS = 7  # the number of cells in a row

USUAL_FLAGS = frozenset({"compound"})  # the flags of a table without compact storage

_int32_at = struct.Struct(">i").unpack_from

# The runs of one table. Each run takes three consecutive items: the page, the offset of the first
# row, and the number of rows. The tuple is flat because there are thousands of tables: another
# tuple for each run would slow down the garbage collector.
Runs = tuple[Any, ...]
RowsOf = dict[str, dict[str, Runs]]  # the runs of each table, by keyspace and table


class Texts:
    """Decodes UTF-8 bytes to strings, and returns the same string object for equal bytes."""

    __slots__ = ("_cached",)

    def __init__(self) -> None:
        self._cached: dict[bytes, str] = {}

    def _text(self, cell: bytes | None, name: str | None) -> str:
        """Decode a cell with the name or the type of a column.

        :param cell: the bytes; None for a null.
        :param name: None if the cell is a column's name; if it is a type, the name of the column.
        """
        if cell is None:
            raise bad_text(None, name)
        # Return one string object for all equal names and types.
        text = self._cached.get(cell)
        if text is None:
            try:
                text = self._cached[cell] = cell.decode()
            except UnicodeDecodeError as error:
                raise bad_text(error, name) from None
        return text


def note_runs(rows_of: RowsOf, body: bytes, offset: int, count: int) -> None:
    """Add the run of each table in a page to `rows_of`.

    Tables whose names are not valid UTF-8 are left out.

    :param rows_of: the runs of each table, by keyspace and table.
    :param body: the page.
    :param offset: the offset of the first row.
    :param count: the number of rows.
    :raises DecodeError: if a row goes past the end of the page. Runs of earlier tables are added.
    """
    # These variables describe the current run: the bytes of the keyspace and table names, the
    # offset and number of its rows, and the decoded names.
    raw_names: bytes | None = None
    run_offset = row_count = 0
    names: tuple[str, str] | None = None
    # Use local names, which are faster in the loop below.
    size_at, other_cells = _int32_at, range(_CELLS - 2)
    try:
        for _ in range(count):
            # Skip the cells of the keyspace and the table. The size of a null is negative.
            row_offset = offset
            keyspace_end = offset + 4 + max(size_at(body, offset)[0], 0)
            offset = keyspace_end + 4 + max(size_at(body, keyspace_end)[0], 0)
            # Compare bytes. Rows of one table are adjacent, so we decode the table's names only
            # once.
            if body[row_offset:offset] != raw_names:
                if names is not None:
                    _add_run(rows_of, names, (body, run_offset, row_count))
                raw_names, run_offset, row_count = body[row_offset:offset], row_offset, 0
                names = _names(body[row_offset + 4 : keyspace_end], body[keyspace_end + 4 : offset])
            row_count += 1
            for _ in other_cells:
                size = size_at(body, offset)[0]
                offset += size + 4 if size > 0 else 4
    except struct.error:
        raise _past_the_end() from None
    # Check the end here, because slicing past the end raises no error.
    if offset > len(body):
        raise _past_the_end()
    if names is not None:
        _add_run(rows_of, names, (body, run_offset, row_count))


def _add_run(rows_of: RowsOf, names: tuple[str, str], run: Runs) -> None:
    """Add a run (consecutive rows of one table in one page) to the runs of its table."""
    tables = rows_of.setdefault(names[0], {})
    # A page may end in the middle of a table, so a table may have several runs.
    tables[names[1]] = tables.get(names[1], ()) + run


def _past_the_end() -> DecodeError:
    return DecodeError("a row of system_schema.columns goes past the end of its page")


def _names(keyspace: bytes, table: bytes) -> tuple[str, str] | None:
    """Decode the names of a keyspace and a table; None if either is not valid UTF-8."""
    try:
        return keyspace.decode(), table.decode()
    except UnicodeDecodeError:
        return None


def _rows(body: bytes, offset: int, count: int) -> Iterator[list[bytes | None]]:
    """Yield the cells of each row of a run (consecutive rows in one page); None for a null."""
    size_at, end = _int32_at, len(body)
    for _ in range(count):
        cells: list[bytes | None] = []
        try:
            for _ in range(_CELLS):
                size = size_at(body, offset)[0]
                offset += 4
                cells.append(body[offset : offset + size] if size >= 0 else None)
                offset += size if size > 0 else 0
        except struct.error:
            raise _past_the_end() from None
        # Check the end here, because slicing past the end raises no error.
        if offset > end:
            raise _past_the_end()
        yield cells


def columns_of(
    table: TableMetadata | MaterializedViewMetadata, runs: Runs, texts: Texts
) -> tuple[list[ColumnMetadata], list[ColumnMetadata], dict[str, ColumnMetadata]]:
    """Return the partition key, the clustering key and all columns by name of `table`.

    Columns are in the order that cassandra-driver uses: the key, followed by the other columns in
    the order of the rows (by name).

    :param table: the table or view.
    :param runs: the runs of the table's rows that `note_runs` has found.
    :param texts: decodes names and types.
    :raises DecodeError: if a cell is not valid UTF-8, or a position does not have 32 bits.
    :raises ValueError: if a cell is null, or the kind of a column is unknown.
    """
    partition_key: list[tuple[int, ColumnMetadata]] = []
    clustering_key: list[tuple[int, ColumnMetadata]] = []
    others: list[ColumnMetadata] = []
    # `runs` is flat, with three items for each run.
    for index in range(0, len(runs), 3):
        body, offset, count = runs[index : index + 3]
        # The first two cells are the names of the keyspace and the table.
        for _, _, name_cell, order, kind, position_cell, type_cell in _rows(body, offset, count):
            name = texts._text(name_cell, None)
            position = _position(position_cell, name)
            cql_type = texts._text(type_cell, name)
            if kind == b"regular":
                others.append(ColumnMetadata(table, name, cql_type))
            elif kind == b"clustering":
                is_reversed = order == b"desc"
                column = ColumnMetadata(table, name, cql_type, is_reversed=is_reversed)
                clustering_key.append((position, column))
            elif kind == b"partition_key":
                partition_key.append((position, ColumnMetadata(table, name, cql_type)))
            elif kind == b"static":
                others.append(ColumnMetadata(table, name, cql_type, is_static=True))
            else:
                raise unknown_kind(name, kind)
    partition_columns = in_positions(partition_key)
    clustering_columns = in_positions(clustering_key)
    all_columns = [*partition_columns, *clustering_columns, *others]
    return partition_columns, clustering_columns, {column.name: column for column in all_columns}


def _position(cell: bytes | None, name: str) -> int:
    """Return the position in a cell, which must have 4 bytes."""
    if cell is None or len(cell) != 4:
        raise bad_position(name, cell)
    return int.from_bytes(cell, "big", signed=True)


def bad_text(error: UnicodeDecodeError | None, name: str | None) -> Exception:
    """Return the error for a cell that is null or not valid UTF-8.

    :param error: the error of decoding the cell; None if the cell is null.
    :param name: the column whose type is in the cell; None if the cell is a column's name.
    """
    subject = "a column's name" if name is None else f"the type of column {name!r}"
    return (
        ValueError(f"{subject} is None")
        if error is None
        else DecodeError(f"{subject} cannot be decoded: {error}")
    )


def bad_position(name: str, cell: bytes | None) -> Exception:
    """Return the error for a position that is not a number of 32 bits."""
    if cell is None:
        return ValueError(f"the position of column {name!r} is None")
    return DecodeError(
        f"the position of column {name!r} cannot be decoded: an int has 4 bytes, "
        f"and this {len(cell)}"
    )


def unknown_kind(name: str, kind: bytes | None) -> Exception:
    """Return the error for an unknown kind of column."""
    if kind is None:
        return ValueError(f"the kind of column {name!r} is None")
    try:
        return ValueError(f"column {name!r} is of the unknown kind {kind.decode()!r}")
    except UnicodeDecodeError as error:
        return DecodeError(f"the kind of column {name!r} cannot be decoded: {error}")


def plain_table(source: TableSource) -> TableMetadataV3 | None:
    """Build the table of `source` without its indexes.

    Return None if the table has features that this function does not handle, or if its rows are
    damaged. Call `note_runs` for all pages first.
    """
    names, row, pages = source.names, source.row, source.columns
    # Tables with any of these features need the general code in `build`.
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
    # Remove the runs from `rows_of`, which refers to their pages. So a page is freed after its last
    # table is built.
    runs = tables.pop(source.name, None)
    if runs is None:
        return None
    table_metadata = TableMetadataV3(source.keyspace, source.name, triggers=NOTHING)
    try:
        table_metadata.partition_key, table_metadata.clustering_key, table_metadata.columns = (
            columns_of(table_metadata, runs, pages.texts)
        )
    except (DecodeError, ValueError):
        table_metadata.partition_key = []
    if not table_metadata.partition_key:
        # Put the runs back: the general code reads them again, and reports the error.
        tables[source.name] = runs
        return None
    table_metadata.set_row(names, row)
    table_metadata.indexes = table_metadata.views = table_metadata.dropped_columns = NOTHING
    return table_metadata


def in_positions(columns: list[tuple[int, ColumnMetadata]]) -> list[ColumnMetadata]:
    """Return the columns of a key in the order of their positions."""
    if len(columns) > 1:
        columns.sort(key=_position_in_key)
    return [column for _, column in columns]


def _position_in_key(pair: tuple[int, ColumnMetadata]) -> int:
    return pair[0]
