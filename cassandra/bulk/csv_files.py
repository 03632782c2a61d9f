"""Reads CSV files as parts (see `Part`), each with some rows.

The compiled reader converts simple rows directly into bound rows. Rows that it cannot read with
certainty are read as strings by Python's csv module (`_Rows`). Without compiled code, `_Rows` reads
all rows.
"""

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
from cassandra.bulk.texts import (
    READING_ERRORS,
    Formats,
    hiding,
    ignores_blanks,
    means_null,
    text_reader,
    usual_kind,
)
from cassandra.errors import PickledWhole
from cassandra.sentinels import UNSET_VALUE

if TYPE_CHECKING:
    from cassandra.bulk import csv_rows
    from cassandra.bulk.csv_fields import CsvReader, ReadRows
else:
    from cassandra._impl import csv_rows

FIRST_BYTES = 1 << 16  # the number of bytes to read at a time until the header is complete
MORE_BYTES = 1 << 20  # the number of bytes to read at a time after the header
# An empty string is a valid value of these types, and differs from null. So a key column of one of
# these types may have an empty field.
_MAY_BE_EMPTY = frozenset({"ascii", "text", "varchar", "blob"})
# What `_readers` returns for each column: (column name, index of its field in the file, converter).
# The index is None if the file lacks the column.
_Reader = tuple[str, "int | None", "_FieldReader"]


class _UnreadableRow(PickledWhole, ValueError):
    """A row that cannot be split into fields, or has invalid bytes.

    :param message: the cause.
    :param raw: the fields of the row; its lines as one string if it cannot be split into fields.
    """

    def __init__(self, message: str, raw: list[str] | str) -> None:
        super().__init__(message)
        self.raw = raw


class _UnclosedQuote(PickledWhole, ValueError):
    """Raised for an opening quote without a closing quote.

    This ends the load, whatever `max_errors` is, because we cannot know how many rows are inside
    the quotes.

    :param line: the line with the opening quote.
    :param error: the error that the csv module raised.
    """

    def __init__(self, line: int, error: csv.Error) -> None:
        # The csv module limits the size of a field. In a large file, it reaches this limit before
        # the end of the file.
        is_large = str(error).startswith(_FIELD_TOO_LARGE)
        when = f"not closed within {csv.field_size_limit():,} bytes" if is_large else "never closed"
        super().__init__(f"the quote that opens here is {when}: the rest of the file was not read")
        self.line = line


# The beginnings of the csv module's messages about a quote that is not closed. A field that is too
# large also means an unclosed quote: lines are limited in length, so only a quoted field, which may
# span lines, can be so large.
_FIELD_TOO_LARGE = "field larger than field limit"
_UNCLOSED = (_FIELD_TOO_LARGE, "unexpected end of data")


def _line_of_quote(text: str, line: int, delimiter: str, quote: str) -> int:
    """Return the number of the line with the quote that is never closed.

    :param text: the string from the beginning of the row up to some point after the quote.
    :param line: the line on which the row begins.
    :param delimiter: the delimiter of fields.
    :param quote: the quote character.
    """
    q, d = re.escape(quote), re.escape(delimiter)
    quoted = rf"{q}[^{q}]*(?:{q}{q}[^{q}]*)*{q}(?!{q})"  # "" means a quote
    unquoted = rf"(?!{q})[^{d}\r\n]*"
    field = re.compile(rf"(?:{quoted}|{unquoted})[{d}\r\n]")
    # Skip all complete fields, each with its delimiter or line end. The quote that is never closed
    # is at the beginning of the next field.
    offset = 0
    while (match := field.match(text, offset)) is not None:
        offset = match.end()
    # `_first_lines` counts line ends, so pass the string before the quote to it as if it were a
    # row. It returns the line after this row; the quote is on the line before that line.
    return _first_lines([[text[:offset]]], line - 1)[1] - 1


def _advice_on_quotes(text: str) -> str:
    """Return advice for a row that the csv module rejects; "" if there is no advice."""
    if '\\"' in text:
        return ': a quote inside a field is written twice, "", and not as \\"'
    return ""


class _Rows:
    """Rows of strings, read by the csv module.

    If the csv module rejects a row, `take` returns an `_UnreadableRow` for it, and the next call
    goes on at the next line. A quote that is never closed makes the rest of the file unreadable, so
    `take` raises an error.

    :param lines: the lines of a file, with their line ends.
    :param reading: the options for reading.
    :param delimiter: the delimiter of fields.
    :param previous_line: the number of lines of the file before `lines`.
    """

    def __init__(
        self, lines: Iterable[str], reading: Reading, delimiter: str, previous_line: int = 0
    ) -> None:
        self._lines: list[str] = []  # the lines that the current call of `take` has read
        self._rows = csv.reader(
            self._record_lines(lines), delimiter=delimiter, quotechar=reading.quote, strict=True
        )
        self._delimiter = delimiter
        self._quote = reading.quote
        self._previous_line = previous_line
        self._has_bad_bytes = False
        # An error of the file, found after some rows: the next call of `take` raises it.
        self._error: Exception | None = None

    def _record_lines(self, lines: Iterable[str]) -> Iterator[str]:
        """Yield the lines, and keep them in `_lines`.

        An error message needs the lines of a row that the csv module could not split.
        """
        record = self._lines.append
        for line in lines:
            record(line)
            if not line.isascii() and bad_byte(line) is not None:
                self._has_bad_bytes = True
            yield line

    @property
    def line_num(self) -> int:
        """The number of lines read so far."""
        return self._previous_line + self._rows.line_num

    def take(self, count: int) -> tuple[list[Any], list[int]]:
        """Return (rows, lines): the next rows, and the line number on which each row begins.

        A row is a list of strings. An unreadable row is replaced by an `_UnreadableRow`, and is the
        last row of the list.

        :param count: the maximum number of rows. Only an empty list means the end of the file.
        :raises EOFError: if the file is truncated. Earlier calls have returned the rows before that
            point, except rows in the last block of bytes, which was not read completely.
        :raises _UnclosedQuote: if a quote is never closed. Earlier calls have returned all rows
            before it.
        """
        if self._error is not None:
            raise self._error
        # Keep only the lines that this call reads.
        previous_line = self.line_num
        self._lines.clear()
        self._has_bad_bytes = False
        rows: list[Any] = []
        csv_error: csv.Error | None = None
        try:
            # Rows that were read before an error stay in the list.
            rows.extend(islice(self._rows, count))
        except csv.Error as error:
            csv_error = error
        except (EOFError, OSError, ValueError) as error:
            if not rows:
                raise
            self._error = error
        # Find the line on which each row begins, and the line after the last row. Usually each row
        # is one line.
        if csv_error is None and self.line_num - previous_line == len(rows):
            first_lines = list(range(previous_line + 1, self.line_num + 2))
        else:
            first_lines = _first_lines(rows, previous_line)
        if self._has_bad_bytes:
            self._refuse_bad_bytes(rows, first_lines, previous_line)
        if csv_error is None:
            # Drop the line after the last row: no returned row begins there.
            first_lines.pop()
        else:
            # The lines after the last good row belong to the row that the csv module rejected.
            text = "".join(self._lines[first_lines[-1] - previous_line - 1 :])
            if not str(csv_error).startswith(_UNCLOSED):
                rows.append(_UnreadableRow(f"{csv_error}{_advice_on_quotes(text)}", text))
                return rows, first_lines
            # The rows before the unclosed quote are good, so return them. The next call raises the
            # error.
            line = _line_of_quote(text, first_lines.pop(), self._delimiter, self._quote)
            self._error = _UnclosedQuote(line, csv_error)
            if not rows:
                raise self._error from csv_error
        return rows, first_lines

    def _refuse_bad_bytes(
        self, rows: list[Any], first_lines: Sequence[int], previous_line: int
    ) -> None:
        """Replace each row with a byte that is not valid UTF-8 by an `_UnreadableRow`.

        :param first_lines: the line on which each row begins, and the line after the last row.
        :param previous_line: the number of the line before the first row.
        """
        for number, begin in enumerate(first_lines[:-1]):
            for line in range(begin, first_lines[number + 1]):
                problem = bad_byte(self._lines[line - previous_line - 1])
                if problem is not None:
                    # The report of a failed row already names the row's first line. So the message
                    # names the line only if the invalid byte is on a later line.
                    message = problem if line == begin else f"{problem} (line {line})"
                    rows[number] = _UnreadableRow(message, rows[number])
                    break


def _delimiter(path: str, reading: Reading) -> str:
    if reading.delimiter is not None:
        return reading.delimiter
    return "\t" if bare_name(path).endswith(".tsv") else ","


def csv_parts(path: str, reading: Reading) -> Iterator[Part]:
    """Yield the rows of a file in parts.

    :param path: the file.
    :param reading: the options for reading.
    :raises ValueError: if the file is damaged, or lacks a column.
    """
    # The csv module's limit applies to the whole process, so we raise it, but never lower it.
    if csv.field_size_limit() < chunks.LONGEST_LINE:
        csv.field_size_limit(chunks.LONGEST_LINE)
    with opened_bytes(path, reading.pipes, reading.encoding) as file:
        # The csv module reads the header; the compiled reader continues after it.
        header, data, end, line = _read_header(path, file, reading)
        # A file without lines has no rows.
        if header is None:
            return
        csv_file = _File(path, header, reading)
        if csv_file.reader is not None:
            yield from csv_file.parts(file, data[end:], line)
            return
        file.give_back(data[end:])
        with text_of(file) as text:
            yield from csv_file.parts_by_texts(_Rows(text, reading, csv_file.delimiter, line))


def _read_header(
    path: str, file: Limited, reading: Reading
) -> tuple[list[str] | None, bytes, int, int]:
    """Read a file up to the end of its header line.

    :returns: (field names, data, end, lines): the names, or None if the file has no lines; the
        bytes that were read; the offset of the first row in these bytes; and the number of lines
        before that row. If the names do not come from the file, the offset and the number are 0.
    """
    data = b""
    while True:
        try:
            piece = file.read1(FIRST_BYTES)
        except (EOFError, OSError) as error:
            raise ValueError(f"{path}, line 1: {error}") from error
        data += piece
        if reading.header is False:
            return [reading.field(column) for column in reading.columns], data, 0, 0
        if reading.header is not True:
            return list(reading.header), data, 0, 0
        # Read on until the header is complete: it may be longer than a piece, and a quoted name may
        # have line ends. An empty piece means the end of the file.
        parsed = _parse_header(path, data, reading, is_whole_file=not piece)
        if parsed is not None:
            header, end, line_count = parsed
            return header, data, end, line_count


def _parse_header(
    path: str, data: bytes, reading: Reading, is_whole_file: bool
) -> tuple[list[str] | None, int, int] | None:
    """Parse the header of a file; return None if more bytes are needed, because it may go on.

    :param path: the path of the file, for errors.
    :param data: the first bytes of the file.
    :param reading: the options for reading.
    :param is_whole_file: True if the file has no further bytes.
    :returns: (field names, end, lines): the names, or None if the file has no lines; the offset of
        the first row; and the number of lines before that row.
    :raises ValueError: if the header is damaged.
    """
    if not is_whole_file and b"\n" not in data and b"\r" not in data:
        return None
    text = data.decode("utf-8", "surrogateescape")
    rows = csv.reader(
        io.StringIO(text, newline=""),
        delimiter=_delimiter(path, reading),
        quotechar=reading.quote,
        strict=True,
    )
    try:
        header = next((row for row in rows if row), None)
    except csv.Error as error:
        if not is_whole_file:
            return None  # the closing quote may be in the next bytes
        raise _header_error(path, text, rows.line_num, reading, error) from error
    end = _after_lines(data, rows.line_num)
    if not is_whole_file and (header is None or end is None):
        return None
    for name in header or ():
        if (problem := bad_byte(name)) is not None:
            raise ValueError(f"{path}, line {rows.line_num}: {problem}")
    return header, len(data) if end is None else end, rows.line_num


def _header_error(
    path: str, text: str, line: int, reading: Reading, error: csv.Error
) -> ValueError:
    """Return the error for a header that the csv module rejects.

    :param text: the whole file.
    :param line: the last line that the csv module has read.
    """
    problem: Exception = error
    if str(error).startswith(_UNCLOSED):
        # The csv module reads far beyond an unclosed quote, so find the line with the quote.
        line = _line_of_quote(text, 1, _delimiter(path, reading), reading.quote)
        problem = _UnclosedQuote(line, error)
    return ValueError(f"{path}, line {line}: {problem}")


def _after_lines(data: bytes, count: int) -> int | None:
    """Return the offset after `count` lines; None if more data is needed.

    More data is also needed if the line ends with the last byte of `data`: this byte may be a
    carriage return, and the next piece may begin with the newline that belongs to it.
    """
    end = next(islice(_LINE_END.finditer(data), max(count - 1, 0), None), None)
    return end.end() if end is not None and end.end() < len(data) else None


_LINE_END = re.compile(rb"\r\n|\n|\r")  # matches the end of a line of any operating system


class _File:
    """The rows of a CSV file after its header.

    The attribute `reader` is the compiled reader, or None if it cannot be used for this file. It
    encodes a row for the statement's bind markers directly from the bytes of the file, if all
    fields of the row have a usual form. All other rows are read as strings first, and then
    converted to values.

    :param path: the path of the file.
    :param header: the field names.
    :param reading: the options for reading.
    """

    def __init__(self, path: str, header: Sequence[str], reading: Reading) -> None:
        self._path = path
        self._reading = reading
        self._header = header
        self._readers = _readers(path, header, reading)
        self._width = len(header)  # the number of fields that each row must have
        self.delimiter = _delimiter(path, reading)
        self.reader = self._compiled_reader()

    def _compiled_reader(self) -> CsvReader | None:
        """Return the compiled reader; None if it is not available or cannot read this file."""
        reading = self._reading
        if reading.binding is None:
            return None
        formats = reading.formats
        fields: list[Field] = []
        for column, (_, index, _) in zip(reading.columns, self._readers, strict=True):
            # The compiled reader needs a field for each column. It cannot encrypt: it would write
            # the values of an encrypted column as they are.
            if index is None or column.is_hidden:
                return None
            field_kind = usual_kind(column.type, formats)
            # The compiled reader knows the exact strings for null. It passes any other unusual
            # string, such as a null between blanks, to `read`.
            read = _reader_of(column, formats)
            fields.append(Field(index, field_kind, read, _nulls(column, formats)))
        return csv_rows.csv_reader(
            *reading.binding, fields, self._width, self.delimiter, reading.quote
        )

    def parts_by_texts(self, rows: _Rows) -> Iterator[Part]:
        """Yield parts with the rows that the csv module reads.

        :param rows: the reader of the file, at the first row that is not read yet.
        """
        while True:
            rows_of_chunk, lines = _next_rows(self._path, rows)
            if not rows_of_chunk:
                return
            yield Part(len(rows_of_chunk), partial(self._chunk_of_texts, rows_of_chunk, lines))

    def _chunk_of_texts(self, rows: list[Any], lines: list[int], cut: int, first: int) -> Chunk:
        """Make a chunk of rows that the csv module has read, without the first `cut` rows.

        `first` is the number of the first row in the file.
        """
        rows = rows[cut:]
        has_header = self._reading.header is True
        values = _converted_rows(rows, self._width, self._readers, has_header)
        raw = [row.raw if isinstance(row, _UnreadableRow) else row for row in rows]
        return Chunk(
            rows=values,
            size=len(rows),
            source=self._path,
            first=first + cut,
            lines=lines[cut:],
            position=Position(0, 0),  # `_chunks` in `sources` sets it
            raw=raw,
            names=self._header,
        )

    def parts(self, file: Limited, data: bytes, line: int) -> Iterator[Part]:
        """Yield the rows of a file in parts, read by the compiled reader as far as possible.

        :param file: the open file, after `data`.
        :param data: the bytes of the file that have already been read, before the rest of `file`.
        :param line: the number of lines of the file before `data`.
        """
        assert self.reader is not None
        minimum = chunks.CHUNK_BYTES  # bytes to collect before the reader is called
        error: Exception | None = None  # the error that reading has raised after `data`
        is_last = False  # True at the end of the file
        while True:
            # Collect the bytes of one chunk.
            pieces = [data]
            size = len(data)
            while size < minimum and not is_last and error is None:
                try:
                    piece = file.read1(MORE_BYTES)
                except (EOFError, OSError) as damaged:
                    error = damaged
                    break
                is_last = not piece
                pieces.append(piece)
                size += len(piece)
            data = b"".join(pieces)
            read_rows = self.reader.read(data, 0, is_last, chunks.CHUNK_ROWS)
            if read_rows is not None:
                if read_rows.block is None:
                    # The compiled reader found a row that it cannot bind. The csv module reads all
                    # rows up to `end` again, and reports the row.
                    text = io.StringIO(data[: read_rows.end].decode(), newline="")
                    yield from self.parts_by_texts(self._rows(text, line))
                elif read_rows.size:
                    chunk = partial(self._bound_chunk, read_rows, data, line)
                    yield Part(read_rows.size, chunk)
                data = data[read_rows.end :]
                line += read_rows.line_count
                minimum = chunks.CHUNK_BYTES
                if read_rows.size:
                    continue
                if is_last and not data:
                    return
                # The next row is longer than the bytes that were read. Read more, up to the limit
                # for a line.
                if not is_last and error is None and len(data) <= chunks.LONGEST_LINE:
                    minimum = len(data) + chunks.CHUNK_BYTES
                    continue
            # If reading has failed, raise that error only now, after all complete rows.
            if error is not None:
                raise ValueError(f"{self._path}, line {line + 1}: {error}") from error
            # The compiled reader gave up: the csv module reads the rest of the file.
            file.give_back(data)
            with text_of(file) as text_file:
                yield from self.parts_by_texts(self._rows(text_file, line))
            return

    def _rows(self, lines: Iterable[str], previous_line: int) -> _Rows:
        return _Rows(lines, self._reading, self.delimiter, previous_line)

    def _bound_chunk(
        self, read_rows: ReadRows, text: bytes, line: int, cut: int, first: int
    ) -> Chunk:
        """Make a chunk of rows that the compiled reader has bound, without the first `cut` rows.

        `first` is the number of the first row in the file. `line` is the number of lines before the
        rows.
        """
        block: Any = read_rows.block
        lines: Sequence[int] = range(line + 1, line + 1 + read_rows.size)
        if read_rows.lines is not None:
            lines = [line + 1 + line_number for line_number in read_rows.lines]
        if cut:
            block, lines = block.take(range(cut, read_rows.size)), lines[cut:]
        # The original strings are only needed if a row fails, so we parse them on demand.
        raw = _RawRows(text, read_rows.end, self._reading, self.delimiter, cut)
        return Chunk(
            rows=block,
            size=len(block),
            source=self._path,
            first=first + cut,
            lines=lines,
            position=Position(0, 0),  # `_chunks` in `sources` sets it
            raw=raw,
            names=self._header,
        )


class _RawRows(Sequence[list[str]]):
    """The original fields of bound rows, as strings.

    The file of failed rows and the check of timestamps use them. They are parsed when they are
    used for the first time.

    :param text: the bytes of the file from which the rows were read.
    :param end: the offset in `text` at which the rows end.
    :param reading: the options for reading.
    :param delimiter: the delimiter of fields.
    :param cut: the number of rows at the beginning to leave out.
    """

    def __init__(self, text: bytes, end: int, reading: Reading, delimiter: str, cut: int) -> None:
        self._text = text
        self._delimiter = delimiter
        self._end = end
        self._reading = reading
        self._cut = cut
        self._rows: list[list[str]] | None = None  # None until `_read` is called

    def _read(self) -> list[list[str]]:
        if self._rows is None:
            self._rows = list(self._parsed())
        return self._rows

    def _parsed(self) -> Iterator[list[str]]:
        """Parse the rows again; skip empty lines and the first `cut` rows."""
        lines = io.StringIO(self._text[: self._end].decode(), newline="")
        rows = csv.reader(
            lines, delimiter=self._delimiter, quotechar=self._reading.quote, strict=True
        )
        return islice((row for row in rows if row), self._cut, None)

    def head(self, count: int) -> list[list[str]]:
        """Return the first rows, without parsing the other rows.

        :param count: the maximum number of rows.
        """
        return list(islice(self._parsed(), count))

    def __len__(self) -> int:
        return len(self._read())

    def __getitem__(self, index: Any) -> Any:
        return self._read()[index]


def _readers(path: str, header: Sequence[str], reading: Reading) -> list[_Reader]:
    """Return (column name, index of its field in the file, reader) for each column.

    The index is None if the file lacks the column.
    """
    formats = reading.formats
    return [
        (column.name, index, _reader_of(column, formats))
        for column, index in zip(reading.columns, positions_of(header, path, reading), strict=True)
    ]


def _nulls(column: Column, formats: Formats) -> tuple[str, ...]:
    """Return the strings that mean null in a column."""
    if column.is_key and column.type.typename in _MAY_BE_EMPTY:
        # A key column is never null, so an empty field means the empty value.
        return tuple(text for text in formats.nulls if text)
    return formats.nulls


def _reader_of(column: Column, formats: Formats) -> _FieldReader:
    read = text_reader(column.type, formats)
    if column.is_hidden:
        read = hiding(read, column.type.typename)
    return _FieldReader(read, _nulls(column, formats), ignores_blanks(column.type))


class _FieldReader:
    """Converts the strings of a column to values; a string that means null becomes None.

    :param read: converts a string that does not mean null.
    :param nulls: the strings that mean null.
    :param ignores_blanks: True if blanks around a string are not part of the value. Then blanks
        around a string that means null are ignored, too.
    """

    __slots__ = ("_ignores_blanks", "_read", "nulls")

    def __init__(
        self, read: Callable[[str], Any], nulls: tuple[str, ...], ignores_blanks: bool
    ) -> None:
        self._read = read
        self.nulls = nulls
        self._ignores_blanks = ignores_blanks

    def __call__(self, text: str) -> object:
        return None if means_null(text, self.nulls, self._ignores_blanks) else self._read(text)

    def all(self, texts: Sequence[str]) -> Iterable[Any]:
        """Convert many fields of one column at once.

        :param texts: the fields of the column, as strings, one for each row.
        :returns: the values in the same order. For a text column without nulls this is `texts`
            itself.
        """
        if any(null in texts for null in self.nulls):
            return map(self, texts)
        if self._ignores_blanks:
            # `in` does not find a null with blanks around it. Check whether there are any blanks
            # first, because few columns have blanks.
            joined = "".join(texts)
            if " " in joined or "\t" in joined:
                return map(self, texts)
        return texts if self._read is str else map(self._read, texts)


def _next_rows(path: str, rows: _Rows) -> tuple[list[Any], list[int]]:
    """Read the rows of the next chunk.

    :param path: the path of the file, for errors.
    :param rows: the reader of the file, at the first row that is not read yet.
    :returns: the rows, and the line number on which each row begins; two empty lists at the end.
    :raises ValueError: if the file is damaged. The message names the file and the line.
    """
    chunk_rows: list[Any] = []
    lines: list[int] = []
    size = 0
    # Begin with few rows, because the size of the rows is unknown.
    count = 10
    row_limit = min(chunks.TEXT_ROWS, chunks.CHUNK_ROWS)
    while len(chunk_rows) < row_limit and size < chunks.CHUNK_BYTES:
        try:
            rows_read, begins = rows.take(count)
        except (EOFError, OSError, ValueError) as error:
            if chunk_rows:  # return these rows; the next call raises the error again
                break
            line = error.line if isinstance(error, _UnclosedQuote) else rows.line_num + 1
            raise ValueError(f"{path}, line {line}: {error}") from error
        if not rows_read:
            break
        if not all(rows_read):  # leave out empty lines, which the csv module returns as []
            pairs = [(row, line) for row, line in zip(rows_read, begins, strict=True) if row]
            rows_read, begins = [row for row, _ in pairs], [line for _, line in pairs]
        chunk_rows += rows_read
        lines += begins
        # Measure a sample of the rows: measuring each row would take as long as reading it.
        step = max(1, len(rows_read) // 10)
        size += sum(map(_size_of, rows_read[::step])) * step
        # The next rows may be large: read only as many as fit if they have the average size of the
        # rows so far.
        free_bytes = chunks.CHUNK_BYTES - size
        rows_that_fit = free_bytes * max(len(chunk_rows), 1) // max(size, 1)
        count = max(1, min(1000, rows_that_fit, row_limit - len(chunk_rows)))
    return chunk_rows, lines


def _size_of(row: Any) -> int:
    return sum(map(len, row.raw if isinstance(row, _UnreadableRow) else row))


def _first_lines(rows: Sequence[Sequence[str]], previous_line: int) -> list[int]:
    """Return the line on which each row begins, and the line after the last row."""
    lines = [previous_line + 1]
    for row in rows:
        # Join the fields with a delimiter. Without it, "\r" at the end of a field and "\n" at the
        # beginning of the next one would look like one line end.
        text = ",".join(row)
        # Quoted fields may have line breaks. "\r\n" is counted twice, as "\n" and "\r": subtract
        # it.
        previous_line += 1 + text.count("\n") + text.count("\r") - text.count("\r\n")
        lines.append(previous_line + 1)
    return lines


def _converted_rows(
    rows: Sequence[Any], width: int, readers: Sequence[_Reader], has_header: bool
) -> list[Any]:
    """Return a tuple of values for each row of strings; an exception if a row cannot be converted.

    Usually all rows can be converted a column at a time, which takes one loop in C per column. If
    that fails, we convert row by row, to find the rows that fail.
    """
    # Convert whole columns. This fails if rows differ in length, or if a value cannot be converted.
    try:
        columns = list(zip(*rows, strict=True))
        if len(columns) == width:
            return list(
                zip(
                    *[
                        read.all(columns[index])
                        if index is not None
                        else repeat(UNSET_VALUE, len(rows))
                        for _, index, read in readers
                    ],
                    strict=True,
                )
            )
    except READING_ERRORS:
        pass
    return [_converted_row(row, width, readers, has_header) for row in rows]


def _converted_row(
    row: Any, width: int, readers: Sequence[_Reader], has_header: bool
) -> tuple[Any, ...] | Exception:
    """Return the values of a row of strings; an exception if the row cannot be converted."""
    if isinstance(row, Exception):
        return row
    if len(row) != width:
        hint = ""
        for delimiter in ";\t|,":
            # If splitting by another delimiter gives the right number of fields, suggest it.
            if len(row) == 1 and row[0].count(delimiter) == width - 1:
                hint = f" (is the file written with delimiter={delimiter!r}?)"
        expected = "the header has" if has_header else "the number of names is"
        return ValueError(f"{len(row)} fields, but {expected} {width}{hint}")
    values = []
    for name, index, read in readers:
        try:
            values.append(read(row[index]) if index is not None else UNSET_VALUE)
        except READING_ERRORS as error:
            advice = _advice_on(row[index], error, read.nulls)
            return ValueError(f"column {name!r}: {error}{advice}")
    return tuple(values)


# Strings that other tools write for null, in lower case. They are used for advice only.
_USUAL_NULLS = frozenset(
    {"", "null", "none", "nan", "na", "n/a", "#n/a", "<na>", "nat", "\\n", "\\\\n", "-", "nil"}
)
# A whole number that is written with a decimal point, such as 5.0.
_WHOLE_FLOAT = re.compile(r"[+-]?[0-9]+\.0+")


def _advice_on(field: str, error: Exception, nulls: tuple[str, ...]) -> str:
    """Return what to write for a CSV field that cannot be read; "" if there is no advice.

    :param nulls: the strings that mean null now. The advice repeats them.
    """
    text = field.strip()
    if text.lower() in _USUAL_NULLS:
        return f"; if this means null, add it to null=, as null={sorted({*nulls, text})!r}"
    if _WHOLE_FLOAT.fullmatch(text) is not None and "is not an integer" in str(error):
        return (
            "; pandas writes integers so if a value is missing: write the file from "
            "frame.convert_dtypes(), or load the frame"
        )
    return ""


def csv_fields(path: str, reading: Reading) -> list[str] | None:
    """Return the field names of a file; None if it has no header, [] if it has no lines.

    :param path: the file.
    :param reading: the options for reading.
    """
    if reading.header is not True:
        # With header=False, a load passes [] before it knows its columns (`reading_of_names`). Then
        # the field names are unknown, and the result is None.
        return None if reading.header is False else list(reading.header) or None
    with opened_bytes(path, reading.pipes, reading.encoding) as file:
        header, data, _, _ = _read_header(path, file, reading)
        # A pipe cannot be read twice, so we put the header back for the next reader.
        file.give_back(data)
        return header or []
