"""Chunks: rows that are read and bound together, and where each of them stands."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any, NamedTuple

from cassandra.bulk.texts import Formats

if TYPE_CHECKING:
    from cassandra.bulk.opened import Pipes
    from cassandra.protocol.bind import BindPlan

__all__ = [
    "Chunk",
    "Column",
    "Part",
    "Place",
    "Position",
    "Reading",
    "rows_of_a_chunk",
    "slice_of",
]

CHUNK_ROWS = 150_000  # many: rows of one partition are found among those of a chunk
TEXT_ROWS = 20_000  # of texts that become objects of Python, each of which takes more
OBJECT_ROWS = 5_000  # of rows of the program, whose size is not known: vectors take kilobytes
CHUNK_BYTES = 12 << 20
LONGEST_LINE = 16 << 20  # of a file: what is longer is not a row, but damage


class Place(NamedTuple):
    """The place of a row in its source, for people.

    :param source: the file's name; None for rows of the program.
    :param row: its number, from 0 for rows of the program and from 1 in a file, without the header.
    :param line: the line that it begins on, from 1; None if the source has no lines.
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
    """How far a source is read.

    :param file: the number of the file, from 0; 0 if the source has no files.
    :param row: how many of its rows are read.
    """

    file: int
    row: int


class Column(NamedTuple):
    """A column that is written.

    :param name: that of its bind marker.
    :param type: its CQL type.
    :param is_needed: True if each file has to have it; False leaves it as it is for rows of a file
        that does not have it.
    :param is_key: True if it is of the primary key, of which nothing is null.
    :param is_hidden: True if errors do not show its values, because they are encrypted.
    """

    name: str
    type: Any
    is_needed: bool = True
    is_key: bool = False
    is_hidden: bool = False


class Chunk(NamedTuple):
    """Rows that are bound together.

    :param rows: a list of tuples by position of the columns, or a table that has columns by name.
        A row that could not be read is the error. Or a block of rows that are bound already.
    :param size: how many rows.
    :param source: the file's name, or None.
    :param first: the number of the first row in its source.
    :param lines: the line of each row; None if there are none.
    :param position: how far the source is read when this chunk is.
    :param raw: the texts of each row, for the file of failed rows: a list of fields, or the line or
        lines that could not be parted into fields. None if the rows are those.
    :param names: of the fields of `raw`; None if it has none.
    """

    rows: Any
    size: int
    source: str | None
    first: int
    lines: Sequence[int] | None
    position: Position
    raw: Sequence[Any] | None
    names: Sequence[str] | None = None

    def place(self, index: int) -> Place:
        """Return where a row stands.

        :param index: its number in the chunk, from 0.
        """
        line = self.lines[index] if self.lines is not None else None
        return Place(self.source, self.first + index, line)


class Reading(NamedTuple):
    """Options for reading files.

    :param format: "csv", "jsonl" or "parquet"; None goes by the file's name.
    :param columns: the columns that are written, in their order.
    :param mapping: names of fields by names of columns; columns that are not in it are named alike.
    :param formats: how values are written.
    :param header: True if the first line of CSV has the names, a list of names if it has none.
    :param delimiter: between fields of CSV; None goes by the file's name.
    :param quote: around fields of CSV.
    :param skip: how far rows are left out, because they have been written.
    :param is_closed: True refuses fields that are not columns.
    :param binding: the plan by which rows are bound, and the version of the protocol; None if they
        are not bound while they are read.
    :param encoding: of files of text.
    :param ignored: names of fields that are left out.
    :param pipes: the files that can be read once only, and are open; None if there are none.
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

    def field(self, column: Column) -> str:
        """Return the name of a column's field.

        :param column: the column.
        """
        return self.mapping.get(column.name, column.name)


class Part(NamedTuple):
    """Rows that were read, and are made chunks of unless they are left out.

    :param size: how many rows.
    :param made: returns the chunk, without the rows before the one that is given.
    """

    size: int
    made: Callable[[int, int], Chunk]


def rows_of_a_chunk(size: int, rows: int) -> int:
    """Return how many rows of a table are bound together.

    :param size: the bytes of its columns.
    :param rows: how many rows it has.
    """
    # At least one row: a single one may be larger than a chunk should be.
    return max(1, min(CHUNK_ROWS, CHUNK_BYTES * max(rows, 1) // max(size, 1)))


def slice_of(table: Any, start: int, count: int) -> Any:
    """Return some rows of a list or a table.

    :param table: the rows.
    :param start: the number of the first one.
    :param count: how many at most.
    """
    # By what a table can do: pandas need not be installed to ask.
    if hasattr(table, "iloc"):
        return table.iloc[start : start + count]
    if hasattr(table, "slice"):
        return table.slice(start, count)
    return table[start : start + count]
