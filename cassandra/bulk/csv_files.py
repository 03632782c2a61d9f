"""Files of CSV as parts of rows."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice, repeat
from typing import TYPE_CHECKING, Any

from cassandra.bulk import chunks
from cassandra.bulk.chunks import Chunk, Column, Part, Position, Reading
from cassandra.bulk.csv_fields import Field
from cassandra.bulk.fields import positions_of
from cassandra.bulk.opened import Limited, bad_byte, bare_name, opened_bytes, text_of
from cassandra.bulk.texts import READING_ERRORS, Formats, hiding, text_reader, usual_kind
from cassandra.sentinels import UNSET_VALUE

if TYPE_CHECKING:
    from cassandra.bulk import csv_rows
    from cassandra.bulk.csv_fields import CsvReader, Found
else:
    from cassandra._impl import csv_rows

__all__ = ["csv_fields", "csv_parts"]


FIRST_BYTES = 1 << 16  # in which the header should be
MORE_BYTES = 1 << 20  # that are read at a time
# Types of a key whose values may be empty, which is not the same as null.
_MAY_BE_EMPTY = frozenset({"ascii", "text", "varchar", "blob"})
_Reader = tuple[str, "int | None", "_FieldReader"]


class _UnreadableRow(ValueError):
    """A row that has no fields, or bytes that are no text.

    :param message: the cause.
    :param raw: its fields, or its lines.
    """

    def __init__(self, message: str, raw: list[str] | str) -> None:
        super().__init__(message)
        self.raw = raw


class _Rows:
    """Rows of texts, by the csv module.

    A row that the csv module refuses is one row: the next one begins on the next line.

    :param lines: the lines of a file, with their ends.
    :param reading: how it is read.
    :param delimiter: between fields.
    :param before: how many lines of the file are before these.
    """

    def __init__(
        self, lines: Iterable[str], reading: Reading, delimiter: str, before: int = 0
    ) -> None:
        self._lines: list[str] = []  # of the rows that are being read
        self._rows = csv.reader(
            self._noted(lines), delimiter=delimiter, quotechar=reading.quote, strict=True
        )
        self._before = before
        self._has_bad_bytes = False
        self._error: Exception | None = None  # at which it ends, after the rows before it

    def _noted(self, lines: Iterable[str]) -> Iterator[str]:
        note = self._lines.append
        for line in lines:
            note(line)
            if not line.isascii() and bad_byte(line) is not None:
                self._has_bad_bytes = True
            yield line

    @property
    def line_num(self) -> int:
        """The number of lines that were read."""
        return self._before + self._rows.line_num

    def take(self, count: int) -> tuple[list[Any], list[int]]:
        """Return some rows, or the error of each that cannot be read, and where they begin.

        :param count: how many at most. Fewer than that need not be all.
        :raises EOFError: if the file was cut off, after all rows before.
        """
        if self._error is not None:
            raise self._error
        before = self.line_num
        self._lines.clear()
        self._has_bad_bytes = False
        rows: list[Any] = []
        refused: csv.Error | None = None
        try:
            # What was read before an error stays in the list.
            rows.extend(islice(self._rows, count))
        except csv.Error as error:
            refused = error
        except (EOFError, OSError, ValueError) as error:
            if not rows:
                raise
            self._error = error
        if refused is None and self.line_num - before == len(rows):
            begins = list(range(before + 1, self.line_num + 2))
        else:
            begins = _begins(rows, before)
        if self._has_bad_bytes:
            self._refuse_bad_bytes(rows, begins, before)
        if refused is None:
            begins.pop()
        else:
            lines = self._lines[begins[-1] - before - 1 :]
            rows.append(_UnreadableRow(str(refused), "".join(lines)))
        return rows, begins

    def _refuse_bad_bytes(self, rows: list[Any], begins: Sequence[int], before: int) -> None:
        for number, begin in enumerate(begins[:-1]):
            for line in range(begin, begins[number + 1]):
                wrong = bad_byte(self._lines[line - before - 1])
                if wrong is not None:
                    words = wrong if line == begin else f"{wrong} (line {line})"
                    rows[number] = _UnreadableRow(words, rows[number])
                    break


def _delimiter(path: str, reading: Reading) -> str:
    if reading.delimiter is not None:
        return reading.delimiter
    return "\t" if bare_name(path).endswith(".tsv") else ","


def csv_parts(path: str, reading: Reading) -> Iterator[Part]:
    """Return the rows of a file.

    :param path: the file.
    :param reading: how it is read.
    :raises ValueError: if it is damaged, or lacks a column.
    """
    # The limit of Python is for all programs of the process: it is raised, never lowered.
    if csv.field_size_limit() < chunks.LONGEST_LINE:
        csv.field_size_limit(chunks.LONGEST_LINE)
    with opened_bytes(path, reading.pipes, reading.encoding) as file:
        # The csv module reads the header, and the compiled reader goes on behind it.
        header, data, end, line = _beginning(path, file, reading)
        if header is None:
            return
        made = _File(path, header, reading)
        if made.reader is not None:
            yield from made.parts(file, data[end:], line)
            return
        file.give_back(data[end:])
        with text_of(file) as text:
            yield from made.parts_by_texts(_Rows(text, reading, made.delimiter, line))


def _beginning(
    path: str, file: Limited, reading: Reading
) -> tuple[list[str] | None, bytes, int, int]:
    """Return the names of a file's fields, its first bytes, and where the names end in them.

    The names are None if the file has no line. The last value is how many lines they take.
    """
    data = b""
    while True:
        try:
            more = file.read1(FIRST_BYTES)
        except (EOFError, OSError) as error:
            raise ValueError(f"{path}, line 1: {error}") from error
        data += more
        if reading.header is False:
            return [reading.field(column) for column in reading.columns], data, 0, 0
        if reading.header is not True:
            return list(reading.header), data, 0, 0
        if more and b"\n" not in data and b"\r" not in data:
            continue
        text = io.StringIO(data.decode("utf-8", "surrogateescape"), newline="")
        rows = csv.reader(
            text, delimiter=_delimiter(path, reading), quotechar=reading.quote, strict=True
        )
        try:
            header = next((row for row in rows if row), None)
        except csv.Error as error:
            if more:
                continue
            raise ValueError(f"{path}, line {rows.line_num}: {error}") from error
        end = _after_lines(data, rows.line_num)
        if more and (header is None or end < 0):
            continue
        for name in header or ():
            if (wrong := bad_byte(name)) is not None:
                raise ValueError(f"{path}, line {rows.line_num}: {wrong}")
        return header, data, end if end >= 0 else len(data), rows.line_num


def _after_lines(data: bytes, count: int) -> int:
    """Return where lines end; -1 if that is not sure."""
    end = next(islice(_LINE_END.finditer(data), max(count - 1, 0), None), None)
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
        self._header = header
        self._readers = _readers(path, header, reading)
        self._width = len(header)
        self.delimiter = _delimiter(path, reading)
        self.reader = self._usual_reader()

    def _usual_reader(self) -> CsvReader | None:
        reading = self._reading
        if reading.binding is None:
            return None
        formats = reading.formats
        fields: list[Field] = []
        for column, (_, at, _) in zip(reading.columns, self._readers, strict=True):
            if at is None or column.is_hidden:
                return None
            kind, read = usual_kind(column.type, formats), text_reader(column.type, formats)
            fields.append(Field(at, kind, read, _nulls(column, formats)))
        return csv_rows.csv_reader(
            *reading.binding, fields, self._width, self.delimiter, reading.quote
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

    def _chunk_of_texts(self, some: list[Any], lines: list[int], cut: int, first: int) -> Chunk:
        some = some[cut:]
        values = _columns_of(some, self._width, self._readers)
        raw = [row.raw if isinstance(row, _UnreadableRow) else row for row in some]
        return Chunk(
            values, len(some), self._path, first + cut, lines[cut:], Position(0, 0), raw,
            self._header,
        )  # fmt: skip

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
                    yield from self.parts_by_texts(self._rows(text, line))
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
                yield from self.parts_by_texts(self._rows(text_file, line))
            return

    def _rows(self, lines: Iterable[str], before: int) -> _Rows:
        return _Rows(lines, self._reading, self.delimiter, before)

    def _bound_chunk(self, found: Found, text: bytes, line: int, cut: int, first: int) -> Chunk:
        block: Any = found.block
        lines: Sequence[int] = range(line + 1, line + 1 + found.size)
        if found.lines is not None:
            lines = [line + 1 + one for one in found.lines]
        if cut:
            block, lines = block.take(range(cut, found.size)), lines[cut:]
        # Nobody asks for the texts unless a row fails: they are not made here.
        raw = _RawRows(text, found.end, self._reading, self.delimiter, cut)
        return Chunk(
            block, len(block), self._path, first + cut, lines, Position(0, 0), raw, self._header
        )


class _RawRows(Sequence[list[str]]):
    """The texts of rows, which are looked at only if one of them fails.

    :param text: a part of the file, which is not copied.
    :param end: where their lines end in it.
    :param reading: how they are read.
    :param delimiter: between their fields.
    :param cut: how many rows are left out.
    """

    def __init__(self, text: bytes, end: int, reading: Reading, delimiter: str, cut: int) -> None:
        self._text = text
        self._delimiter = delimiter
        self._end = end
        self._reading = reading
        self._cut = cut
        self._rows: list[list[str]] | None = None

    def _read(self) -> list[list[str]]:
        if self._rows is None:
            lines = io.StringIO(self._text[: self._end].decode(), newline="")
            rows = csv.reader(
                lines, delimiter=self._delimiter, quotechar=self._reading.quote, strict=True
            )
            self._rows = [row for row in rows if row][self._cut :]
        return self._rows

    def __len__(self) -> int:
        return len(self._read())

    def __getitem__(self, index: Any) -> Any:
        return self._read()[index]


def _readers(path: str, header: Sequence[str], reading: Reading) -> list[_Reader]:
    """Return (column, position in the file, reader) of each column."""
    formats = reading.formats
    return [
        (column.name, at, _FieldReader(_read_of(column, formats), _nulls(column, formats)))
        for column, at in zip(reading.columns, positions_of(header, path, reading), strict=True)
    ]


def _nulls(column: Column, formats: Formats) -> tuple[str, ...]:
    """Return the texts that stand for null in a column."""
    if column.is_key and column.type.typename in _MAY_BE_EMPTY:
        # Nothing of a key is null: an empty field is an empty value.
        return tuple(text for text in formats.nulls if text)
    return formats.nulls


def _read_of(column: Column, formats: Formats) -> Callable[[str], Any]:
    read = text_reader(column.type, formats)
    return hiding(read, column.type.typename) if column.is_hidden else read


class _FieldReader:
    """Reads the texts of a column.

    :param read: reads one that is not null.
    :param nulls: the texts that stand for null.
    """

    __slots__ = ("_nulls", "_read")

    def __init__(self, read: Callable[[str], Any], nulls: tuple[str, ...]) -> None:
        self._read = read
        self._nulls = nulls

    def __call__(self, text: str) -> Any:
        return None if text in self._nulls else self._read(text)

    def all(self, texts: Sequence[str]) -> Iterable[Any]:
        """Return the values of many texts; nothing is called for those that are texts in CQL.

        :param texts: the texts.
        """
        if any(null in texts for null in self._nulls):
            return map(self, texts)
        return texts if self._read is str else map(self._read, texts)


def _some_lines(path: str, rows: _Rows) -> tuple[list[Any], list[int]]:
    """Return the rows of a chunk, or their errors, and the lines that they begin on."""
    some: list[Any] = []
    lines: list[int] = []
    size = 0
    count = 10
    most = min(chunks.TEXT_ROWS, chunks.CHUNK_ROWS)
    while len(some) < most and size < chunks.CHUNK_BYTES:
        try:
            found, begins = rows.take(count)
        except (EOFError, OSError, ValueError) as error:
            if some:  # which are written before the error is met again
                break
            raise ValueError(f"{path}, line {rows.line_num + 1}: {error}") from error
        if not found:
            break
        if not all(found):  # empty lines
            filled = [(row, line) for row, line in zip(found, begins, strict=True) if row]
            found, begins = [row for row, _ in filled], [line for _, line in filled]
        some += found
        lines += begins
        # A sample: a look at each row would take as long as reading it.
        step = max(1, len(found) // 10)
        size += sum(map(_size_of, found[::step])) * step
        # As many as are below the limit if they are like those before: rows may be large.
        rest = (chunks.CHUNK_BYTES - size) * max(len(some), 1) // max(size, 1)
        count = max(1, min(1000, rest, most - len(some)))
    return some, lines


def _size_of(row: Any) -> int:
    return sum(map(len, row.raw if isinstance(row, _UnreadableRow) else row))


def _begins(rows: Sequence[Sequence[str]], before: int) -> list[int]:
    """Return the line that each row begins on, and that on which the next one would."""
    found = [before + 1]
    for row in rows:
        text = "".join(row)
        before += 1 + text.count("\n") + text.count("\r") - text.count("\r\n")
        found.append(before + 1)
    return found


def _columns_of(rows: Sequence[Any], width: int, readers: Sequence[_Reader]) -> list[Any]:
    """Return the values of rows of texts, or the error of each that cannot be read.

    A column at a time: each is one loop in C around its reader.
    """
    try:
        columns = list(zip(*rows, strict=True))
        if len(columns) == width:
            return list(
                zip(
                    *[
                        read.all(columns[at]) if at is not None else repeat(UNSET_VALUE, len(rows))
                        for _, at, read in readers
                    ],
                    strict=True,
                )
            )
    except READING_ERRORS:
        pass
    return [_row_of(row, width, readers) for row in rows]


def _row_of(row: Any, width: int, readers: Sequence[_Reader]) -> Any:
    if isinstance(row, Exception):
        return row
    if len(row) != width:
        return ValueError(f"{len(row)} fields, but the header has {width}")
    values = []
    for name, at, read in readers:
        try:
            values.append(read(row[at]) if at is not None else UNSET_VALUE)
        except READING_ERRORS as error:
            return ValueError(f"column {name!r}: {error}")
    return tuple(values)


def csv_fields(path: str, reading: Reading) -> list[str] | None:
    """Return the names of a file's fields; None if it has none, [] if it has no line.

    :param path: the file.
    :param reading: how it is read.
    """
    if reading.header is not True:
        return None if reading.header is False else list(reading.header)
    with opened_bytes(path, reading.pipes, reading.encoding) as file:
        header, data, _, _ = _beginning(path, file, reading)
        # Nothing of a pipe can be read twice: whoever reads the rows gets the header again.
        file.give_back(data)
        return header or []
