"""Files of CSV as parts of rows."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any, Protocol

from cassandra.bulk import chunks
from cassandra.bulk.chunks import Chunk, Part, Reading
from cassandra.bulk.opened import no_column, opened
from cassandra.bulk.texts import text_reader

__all__ = ["csv_fields", "csv_parts"]


class _Lines(Protocol):
    """A reader of `csv`."""

    @property
    def line_num(self) -> int:
        """How many lines were read."""

    def __iter__(self) -> Iterator[list[str]]: ...


def csv_parts(path: str, reading: Reading) -> Iterator[Part]:
    # The limit of Python is for all programs of the process: it is raised, never lowered.
    if csv.field_size_limit() < chunks.LONGEST_LINE:
        csv.field_size_limit(chunks.LONGEST_LINE)
    with opened(path) as file:
        rows = csv.reader(file, delimiter=reading.delimiter, quotechar=reading.quote, strict=True)
        header = _header(path, rows, reading)
        if header is None:
            return
        readers = _readers(path, header, reading)
        width = len(header)

        def made(some: list[list[str]], lines: list[int], cut: int, first: int) -> Chunk:
            some = some[cut:]
            values = _columns_of(some, width, readers)
            return Chunk(values, len(some), path, first + cut, lines[cut:], 0, some)

        while True:
            some, lines = _some_lines(path, rows)
            if not some:
                return
            yield Part(len(some), partial(made, some, lines))


def _header(path: str, rows: _Lines, reading: Reading) -> list[str] | None:
    if reading.header is True:
        while found := _checked(path, rows, 1):
            if found[0]:
                return found[0]
        return None
    if reading.header is False:
        return [reading.field(column) for column in reading.columns]
    return list(reading.header)


def _readers(
    path: str, header: Sequence[str], reading: Reading
) -> list[tuple[str, int, Callable[[str], Any]]]:
    """Return (column, position in the file, reader) of each column."""
    missing = [name for column in reading.columns if (name := reading.field(column)) not in header]
    if missing:
        raise ValueError(no_column(path, missing[0], header))
    formats = reading.formats
    return [
        (
            column.name,
            header.index(reading.field(column)),
            _FieldReader(text_reader(column.type, formats), formats.null),
        )
        for column in reading.columns
    ]


class _FieldReader:
    """Reads the texts of a column.

    :param read: reads one that is not null.
    :param null: the text that stands for null.
    """

    __slots__ = ("_null", "_read")

    def __init__(self, read: Callable[[str], Any], null: str) -> None:
        self._read = read
        self._null = null

    def __call__(self, text: str) -> Any:
        return None if text == self._null else self._read(text)

    def all(self, texts: Sequence[str]) -> Iterable[Any]:
        """Return the values of many texts; nothing is called for those that are texts in CQL.

        :param texts: the texts.
        """
        if self._null in texts:
            return map(self, texts)
        return texts if self._read is str else map(self._read, texts)


def _checked(path: str, rows: _Lines, count: int) -> list[list[str]]:
    """Return the next rows of CSV; errors say where."""
    try:
        return list(islice(rows, count))
    except (csv.Error, UnicodeDecodeError, EOFError, OSError) as error:
        raise ValueError(f"{path}, line {rows.line_num}: {error}") from error


def _some_lines(path: str, rows: _Lines) -> tuple[list[list[str]], list[int]]:
    """Return the rows of a chunk, and the lines that they begin on."""
    some: list[list[str]] = []
    lines: list[int] = []
    size = 0
    count = 10
    most = min(chunks.TEXT_ROWS, chunks.CHUNK_ROWS)
    while len(some) < most and size < chunks.CHUNK_BYTES:
        before = rows.line_num
        found = _checked(path, rows, count)
        if not found:
            break
        if rows.line_num - before == len(found):
            begins: Iterable[int] = range(before + 1, rows.line_num + 1)
        else:
            begins = _begins(found, before)
        if not all(found):  # empty lines
            filled = [(row, line) for row, line in zip(found, begins, strict=True) if row]
            found, begins = [row for row, _ in filled], [line for _, line in filled]
        some += found
        lines += begins
        # A sample: a look at each row would take as long as reading it.
        step = max(1, len(found) // 10)
        size += sum([len("".join(row)) for row in found[::step]]) * step
        # As many as are below the limit if they are like those before: rows may be large.
        rest = (chunks.CHUNK_BYTES - size) * max(len(some), 1) // max(size, 1)
        count = max(1, min(1000, rest, most - len(some)))
    return some, lines


def _begins(rows: Sequence[Sequence[str]], before: int) -> Iterator[int]:
    """Return the line that each row begins on, if some have fields of several lines."""
    for row in rows:
        yield before + 1
        text = "".join(row)
        before += 1 + text.count("\n") + text.count("\r") - text.count("\r\n")


def _columns_of(
    rows: Sequence[Sequence[str]], width: int, readers: Sequence[tuple[str, int, Any]]
) -> list[Any]:
    """Return the values of rows of texts, or the error of each that cannot be read.

    A column at a time: each is one loop in C around its reader.
    """
    try:
        columns = list(zip(*rows, strict=True))
        if len(columns) == width:
            return list(zip(*[read.all(columns[at]) for _, at, read in readers], strict=True))
    except (ValueError, TypeError, OverflowError):
        pass
    return [_row_of(row, width, readers) for row in rows]


def _row_of(row: Sequence[str], width: int, readers: Sequence[tuple[str, int, Any]]) -> Any:
    if len(row) != width:
        return ValueError(f"{len(row)} fields, but the header has {width}")
    values = []
    for name, at, read in readers:
        try:
            values.append(read(row[at]))
        except (ValueError, TypeError, OverflowError) as error:
            return type(error)(f"column {name!r}: {error}")
    return tuple(values)


def csv_fields(path: str, reading: Reading) -> list[str] | None:
    """Return the names of a file's fields; None if it has none.

    :param path: the file.
    :param reading: how it is read.
    """
    if reading.header is not True:
        return None if reading.header is False else list(reading.header)
    with opened(path) as file:
        rows = csv.reader(file, delimiter=reading.delimiter, quotechar=reading.quote, strict=True)
        return _header(path, rows, reading)
