"""Chunks, which are rows that a load reads and binds together, and options for reading them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from cassandra.bulk.texts import Formats

if TYPE_CHECKING:
    from cassandra.bulk.changed_numbers import ChangedNumbers
    from cassandra.bulk.lost_times import LostTimes
    from cassandra.bulk.opened import Pipes
    from cassandra.protocol.bind import BindPlan

_Rows = TypeVar("_Rows")

# The maximum number of rows in a chunk. It is high because only rows of the same chunk can share a
# batch.
CHUNK_ROWS = 150_000
# The maximum number of rows in a chunk if rows are read as Python strings, which take more memory
# than bound bytes.
TEXT_ROWS = 20_000
# The maximum number of rows in a chunk of rows that the application passes in: a row with a vector
# may take kilobytes.
OBJECT_ROWS = 5_000
# After this number of seconds, a chunk of the application's rows ends even if it has fewer rows:
# rows of a slow generator must not wait for 5,000 others before they are written.
OBJECT_SECONDS = 5.0
CHUNK_BYTES = 12 << 20  # the maximum size of a chunk in bytes, unless a single row is larger
LONGEST_LINE = 16 << 20  # bytes; a longer line means that the file is damaged


class RowLocation(NamedTuple):
    """The location of a row in its source, for messages.

    :param source: the file's name; None for rows of the application.
    :param row: the row's number: from 0 for the application's rows. In a file, numbers start from 1
        and do not count the header.
    :param line: the line on which the row begins, from 1; None if the source has no lines.
    """

    source: str | None
    row: int
    line: int | None

    def __str__(self) -> str:
        if self.source is None:
            return f"row {self.row}"
        if self.line is None:
            return f"{self.source}, row {self.row}"
        return f"{self.source}, line {self.line}"


class Position(NamedTuple):
    """How far a source has been read.

    :param file: the index of the current file, from 0; 0 if the source has no files.
    :param row: how many rows of the current file have been read.
    """

    file: int
    row: int


class Column(NamedTuple):
    """A column that is written.

    :param name: the name of the column's bind marker.
    :param type: the column's CQL type.
    :param is_needed: True if each file must have the column; False leaves the column unset for rows
        of files without it.
    :param is_key: True if the column belongs to the primary key, so it cannot be null.
    :param is_hidden: True if errors must not show the column's values, because they are encrypted.
    """

    name: str
    type: Any
    is_needed: bool = True
    is_key: bool = False
    is_hidden: bool = False


class Chunk(NamedTuple):
    """Rows that are bound together.

    :param rows: the rows in one of four forms: a list of tuples in the order of the columns, in
        which an exception replaces each row that could not be read; a table with named columns; a
        block of rows that are already bound; or a list of rows that the application passed in.
    :param size: the number of rows.
    :param source: the file's name; None if the rows come from the application.
    :param first: the number of the chunk's first row in the source.
    :param lines: the line number of each row; None if the source has no lines.
    :param position: how far the source has been read after this chunk.
    :param raw: the original content of each row, for the file of failed rows: a list of fields, or
        the line or lines as a string if they could not be split into fields. None if the file of
        failed rows can be written from `rows`.
    :param names: the names of the fields in `raw`; None if they have no names.
    """

    rows: Any
    size: int
    source: str | None
    first: int
    lines: Sequence[int] | None
    position: Position
    raw: Sequence[Any] | None
    names: Sequence[str] | None = None

    def location(self, index: int) -> RowLocation:
        """Return the location of a row.

        :param index: the row's index in the chunk, from 0.
        """
        line = self.lines[index] if self.lines is not None else None
        return RowLocation(self.source, self.first + index, line)


class Reading(NamedTuple):
    """Options for reading files.

    :param format: "csv", "jsonl" or "parquet"; None derives the format from the file's name.
    :param columns: the columns to write, in the order of the bind markers.
    :param mapping: field names by column name. A column that is missing here has the same name as
        its field.
    :param formats: how values are written as strings.
    :param header: True if the first line of CSV has the names; otherwise a list of names, or False.
    :param delimiter: the delimiter of CSV fields; None derives it from the file's name.
    :param quote: the quote character of CSV fields.
    :param skip: rows before this position are skipped, because an earlier run has written them.
    :param is_closed: True refuses fields without a column.
    :param binding: the plan to bind rows with, and the protocol version; None if rows are not bound
        while they are read.
    :param encoding: the encoding of text files.
    :param ignored: the names of fields to ignore.
    :param pipes: open files that can be read only once; None if there are none.
    :param lost_times: warns of times of day in date columns, once per column of the load; None
        warns once per chunk.
    :param changed_numbers: warns of numbers that are stored with other digits than they show, as
        often as `lost_times` warns.
    """

    format: str | None
    columns: Sequence[Column]
    mapping: Mapping[str, str]
    formats: Formats
    header: bool | Sequence[str]
    delimiter: str | None
    quote: str
    skip: Position = Position(0, 0)
    is_closed: bool = False
    binding: tuple[BindPlan, int] | None = None
    encoding: str = "utf-8"
    ignored: Set[str] = frozenset()
    pipes: Pipes | None = None
    lost_times: LostTimes | None = None
    changed_numbers: ChangedNumbers | None = None

    def field(self, column: Column) -> str:
        """Return the field name of a column.

        :param column: one of `columns`.
        """
        return self.mapping.get(column.name, column.name)


class Part(NamedTuple):
    """Rows that were read from a source, before they become a chunk.

    If the checkpoint says that earlier runs have processed all of these rows, no chunk is made.

    :param size: the number of rows.
    :param make_chunk: called as ``make_chunk(cut, first)``; returns the chunk without the first
        `cut` rows, which earlier runs have processed. `first` is the number of the part's first row
        in the source, including the rows that are cut off.
    """

    size: int
    make_chunk: Callable[[int, int], Chunk]


def rows_of_a_chunk(size: int, rows: int) -> int:
    """Return how many rows of a table fit into a chunk.

    :param size: the size of the table's columns in bytes.
    :param rows: the number of rows in the table.
    """
    # Return at least 1, because a single row may be larger than CHUNK_BYTES.
    return max(1, min(CHUNK_ROWS, CHUNK_BYTES * max(rows, 1) // max(size, 1)))


def slice_of(table: _Rows, start: int, count: int) -> _Rows:
    """Return a slice of a list, data frame, array or Arrow table.

    :param table: the rows.
    :param start: the index of the first row.
    :param count: how many rows at most.
    """
    # Check for methods instead of the classes of pandas and pyarrow, because these packages may
    # not be installed.
    rows: Any = table
    part: _Rows
    if hasattr(table, "iloc"):
        part = rows.iloc[start : start + count]
    elif hasattr(table, "slice"):
        part = rows.slice(start, count)
    else:
        part = rows[start : start + count]
    return part
