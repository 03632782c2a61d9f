"""Files of CSV as parts of rows."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from cassandra.bulk import chunks
from cassandra.bulk.chunks import Chunk, Part, Reading
from cassandra.bulk.csv_fields import Field
from cassandra.bulk.opened import Limited, no_column, opened, opened_bytes, text_of
from cassandra.bulk.texts import text_reader, usual_kind

if TYPE_CHECKING:
    from cassandra.bulk import csv_rows
    from cassandra.bulk.csv_fields import CsvReader, Found
else:
    from cassandra._impl import csv_rows

__all__ = ["csv_fields", "csv_parts"]


FIRST_BYTES = 1 << 16  # in which the header should be
MORE_BYTES = 1 << 20  # that are read at a time


class _Rows:
    """Rows of texts, by the csv module.

    :param lines: the lines of a file, with their ends.
    :param reading: how it is read.
    :param before: how many lines of the file are before these.
    """

    def __init__(self, lines: Iterable[str], reading: Reading, before: int = 0) -> None:
        self._rows = csv.reader(
            lines, delimiter=reading.delimiter, quotechar=reading.quote, strict=True
        )
        self._before = before

    @property
    def line_num(self) -> int:
        """The number of lines that were read."""
        return self._before + self._rows.line_num

    def __iter__(self) -> Iterator[list[str]]:
        return self._rows


def csv_parts(path: str, reading: Reading) -> Iterator[Part]:
    """Return the rows of a file.

    :param path: the file.
    :param reading: how it is read.
    :raises ValueError: if it is damaged, or lacks a column.
    """
    # The limit of Python is for all programs of the process: it is raised, never lowered.
    if csv.field_size_limit() < chunks.LONGEST_LINE:
        csv.field_size_limit(chunks.LONGEST_LINE)
    with opened_bytes(path) as file:
        try:
            first = file.read1(FIRST_BYTES)
        except (EOFError, OSError) as error:
            raise ValueError(f"{path}, line 1: {error}") from error
        # The csv module reads the header, and the compiled reader goes on behind it.
        file.give_back(first)
        with text_of(file) as text:
            rows = _Rows(text, reading)
            header = _header(path, rows, reading)
            if header is None:
                return
            made = _File(path, header, reading)
            at = -1 if file.has_given_all else _after_lines(first, rows.line_num)
            if made.reader is None or at < 0:
                yield from made.parts_by_texts(rows)
                return
        file.give_back(b"")
        yield from made.parts(file, first[at:], rows.line_num)


def _after_lines(data: bytes, count: int) -> int:
    """Return where lines end; -1 if that is not sure."""
    if count == 0:
        # Programs of Windows begin text files with a mark, which is not part of the first name.
        return len(codecs.BOM_UTF8) if data.startswith(codecs.BOM_UTF8) else 0
    end = next(islice(_LINE_END.finditer(data), count - 1, None), None)
    return end.end() if end is not None and end.end() < len(data) else -1


_LINE_END = re.compile(rb"\r\n|\n|\r")


class _File:
    """Rows of a file that has a known header.

    Usual ones are bound while they are read, if there is compiled code for it; all others become
    texts first, and then values.

    :param path: the file.
    :param header: the names of its fields.
    :param reading: how it is read.
    """

    def __init__(self, path: str, header: Sequence[str], reading: Reading) -> None:
        self._path = path
        self._reading = reading
        self._readers = _readers(path, header, reading)
        self._width = len(header)
        self.reader = self._usual_reader()

    def _usual_reader(self) -> CsvReader | None:
        reading = self._reading
        if reading.binding is None:
            return None
        formats = reading.formats
        fields = [
            Field(at, usual_kind(column.type, formats), text_reader(column.type, formats))
            for column, (_, at, _) in zip(reading.columns, self._readers, strict=True)
        ]
        return csv_rows.csv_reader(
            *reading.binding, fields, self._width, reading.delimiter, reading.quote, formats.null
        )

    def parts_by_texts(self, rows: _Rows) -> Iterator[Part]:
        """Return the rows that the csv module reads.

        :param rows: the csv module.
        """
        while True:
            some, lines = _some_lines(self._path, rows)
            if not some:
                return
            yield Part(len(some), partial(self._chunk_of_texts, some, lines))

    def _chunk_of_texts(
        self, some: list[list[str]], lines: list[int], cut: int, first: int
    ) -> Chunk:
        some = some[cut:]
        values = _columns_of(some, self._width, self._readers)
        return Chunk(values, len(some), self._path, first + cut, lines[cut:], 0, some)

    def parts(self, file: Limited, data: bytes, line: int) -> Iterator[Part]:
        """Return the rows of a file; those that are bound at once, as far as they go.

        :param file: the file.
        :param data: its bytes that were read already.
        :param line: how many lines were before these.
        """
        # One chunk at a time, so that a file of any size takes the memory of a few chunks.
        assert self.reader is not None
        wanted = chunks.CHUNK_BYTES
        error: Exception | None = None
        is_last = False
        while True:
            pieces = [data]
            size = len(data)
            while size < wanted and not is_last and error is None:
                try:
                    more = file.read1(MORE_BYTES)
                except (EOFError, OSError) as damaged:
                    error = damaged
                    break
                is_last = not more
                pieces.append(more)
                size += len(more)
            data = b"".join(pieces)
            found = self.reader.read(data, 0, is_last, chunks.CHUNK_ROWS)
            if found is not None:
                if found.block is None:
                    # What the compiled reader does not know for certain is the csv module's to say.
                    text = io.StringIO(data[: found.end].decode(), newline="")
                    yield from self.parts_by_texts(_Rows(text, self._reading, line))
                elif found.size:
                    chunk = partial(self._bound_chunk, found, data, line)
                    yield Part(found.size, chunk)
                data = data[found.end :]
                line += found.line_count
                wanted = chunks.CHUNK_BYTES
                if found.size or (is_last and not data):
                    if found.size:
                        continue
                    return
                # A row that is longer than what was read.
                if not is_last and error is None and len(data) <= chunks.LONGEST_LINE:
                    wanted = len(data) + chunks.CHUNK_BYTES
                    continue
            if error is not None:
                raise ValueError(f"{self._path}, line {line + 1}: {error}") from error
            file.give_back(data)
            with text_of(file) as text_file:
                yield from self.parts_by_texts(_Rows(text_file, self._reading, line))
            return

    def _bound_chunk(self, found: Found, text: bytes, line: int, cut: int, first: int) -> Chunk:
        block: Any = found.block
        lines: Sequence[int] = range(line + 1, line + 1 + found.size)
        if found.lines is not None:
            lines = [line + 1 + one for one in found.lines]
        if cut:
            block, lines = block.take(range(cut, found.size)), lines[cut:]
        # Nobody asks for the texts unless a row fails: they are not made here.
        raw = _RawRows(text, found.end, self._reading, cut)
        return Chunk(block, len(block), self._path, first + cut, lines, 0, raw)


class _RawRows(Sequence[list[str]]):
    """The texts of rows, which are looked at only if one of them fails.

    :param text: a part of the file, which is not copied.
    :param end: where their lines end in it.
    :param reading: how they are read.
    :param cut: how many rows are left out.
    """

    def __init__(self, text: bytes, end: int, reading: Reading, cut: int) -> None:
        self._text = text
        self._end = end
        self._reading = reading
        self._cut = cut
        self._rows: list[list[str]] | None = None

    def _read(self) -> list[list[str]]:
        if self._rows is None:
            lines = io.StringIO(self._text[: self._end].decode(), newline="")
            self._rows = [row for row in _Rows(lines, self._reading) if row][self._cut :]
        return self._rows

    def __len__(self) -> int:
        return len(self._read())

    def __getitem__(self, index: Any) -> Any:
        return self._read()[index]


def _header(path: str, rows: _Rows, reading: Reading) -> list[str] | None:
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


def _checked(path: str, rows: _Rows, count: int) -> list[list[str]]:
    """Return the next rows of CSV; errors say where."""
    try:
        return list(islice(rows, count))
    except (csv.Error, UnicodeDecodeError, EOFError, OSError) as error:
        raise ValueError(f"{path}, line {rows.line_num}: {error}") from error


def _some_lines(path: str, rows: _Rows) -> tuple[list[list[str]], list[int]]:
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
        return _header(path, _Rows(file, reading), reading)
