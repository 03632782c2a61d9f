"""Files of CSV, JSON lines and Parquet as parts of rows.

No more than a chunk of a file is in memory. Errors say where it is damaged.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from itertools import islice
from typing import Any, Protocol

from cassandra.bulk import chunks
from cassandra.bulk.chunks import Chunk, Part, Reading, renamed, rows_of_a_chunk
from cassandra.bulk.texts import json_reader, text_reader
from cassandra.errors import DependencyException
from cassandra.sentinels import UNSET_VALUE

__all__ = ["READERS", "fields_of_file", "unknown_field"]


class _Lines(Protocol):
    """A reader of `csv`."""

    @property
    def line_num(self) -> int:
        """How many lines were read."""

    def __iter__(self) -> Iterator[list[str]]: ...


@contextmanager
def _opened(path: str) -> Iterator[io.TextIOBase]:
    """Open a file of text, which may be compressed."""
    with _opened_bytes(path) as binary:
        limited: Any = _Limited(binary, path)
        text = io.TextIOWrapper(limited, encoding="utf-8-sig", newline="")
        try:
            yield text
        finally:
            text.detach()


def _opened_bytes(path: str) -> AbstractContextManager[Any]:
    name = path.lower()
    if name.endswith(".gz"):
        return gzip.open(path, "rb")
    if name.endswith((".zst", ".zstd")):
        return _opened_zstd(path)
    return open(path, "rb")


def _opened_zstd(path: str) -> AbstractContextManager[Any]:
    if sys.version_info >= (3, 14):
        from compression import zstd

        return zstd.open(path, "rb")
    try:
        import zstandard
    except ImportError as error:
        raise DependencyException(f"{path!r} needs zstandard: pip install zstandard") from error
    opened: AbstractContextManager[Any] = zstandard.open(path, "rb")
    return opened


class _Limited(io.BufferedIOBase):
    """Bytes of a file, in which no line is so long that it would fill the memory."""

    def __init__(self, file: Any, path: str) -> None:
        self._file = file
        self._path = path
        self._since = 0  # bytes since the last end of a line

    def readable(self) -> bool:
        return True

    def read1(self, size: int = -1) -> bytes:
        found: bytes = self._file.read(size if size > 0 else 1 << 16)
        at = found.rfind(b"\n")
        if at >= 0:
            self._since = len(found) - at
        else:
            self._since += len(found)
        if self._since > chunks.LONGEST_LINE:
            raise ValueError(
                f"{self._path} has a line of more than {chunks.LONGEST_LINE:,} bytes: is it "
                "damaged, or of another format?"
            )
        return found

    def read(self, size: int | None = -1) -> bytes:
        return self.read1(-1 if size is None else size)


def _csv_parts(path: str, reading: Reading) -> Iterator[Part]:
    # The limit of Python is for all programs of the process: it is raised, never lowered.
    if csv.field_size_limit() < chunks.LONGEST_LINE:
        csv.field_size_limit(chunks.LONGEST_LINE)
    with _opened(path) as file:
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
        raise ValueError(_no_column(path, missing[0], header))
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


def _json_parts(path: str, reading: Reading) -> Iterator[Part]:
    readers = [
        (column.name, reading.field(column), json_reader(column.type, reading.formats))
        for column in reading.columns
    ]

    known = {field for _, field, _ in readers} if reading.is_closed else None

    def made(some: list[tuple[int, str]], cut: int, first: int) -> Chunk:
        raw = [line for _, line in some[cut:]]
        lines = [number for number, _ in some[cut:]]
        values = [_json_row(line, readers, known) for line in raw]
        return Chunk(values, len(raw), path, first + cut, lines, 0, raw)

    with _opened(path) as file:
        numbered = ((number, line) for number, line in enumerate(file, 1) if line.strip())
        while some := _some_json(path, numbered):
            yield Part(len(some), partial(made, some))


def unknown_field(row: Mapping[Any, Any], known: Set[str]) -> ValueError | None:
    """Return the error of a row with a field that is no column, or None.

    :param row: the row.
    :param known: the fields that are columns.
    """
    for name in row:
        if name not in known and not str(name).startswith("_"):
            return ValueError(
                f"it has a field {name!r}, which is no column that is written: "
                f"{', '.join(sorted(known))}"
            )
    return None


def _some_json(path: str, numbered: Iterator[tuple[int, str]]) -> list[tuple[int, str]]:
    some: list[tuple[int, str]] = []
    size = 0
    most = min(chunks.TEXT_ROWS, chunks.CHUNK_ROWS)
    try:
        for number, line in numbered:
            some.append((number, line))
            size += len(line)
            if len(some) >= most or size >= chunks.CHUNK_BYTES:
                break
    except (UnicodeDecodeError, EOFError, OSError) as error:
        raise ValueError(f"{path}, after line {some[-1][0] if some else 0}: {error}") from error
    return some


def _json_row(line: str, readers: Sequence[tuple[str, str, Any]], known: Set[str] | None) -> Any:
    try:
        row = json.loads(line)
    except ValueError as error:
        return ValueError(f"it is not JSON: {error}")
    if not isinstance(row, dict):
        return TypeError(f"it is {type(row).__name__}, not an object of JSON")
    if known is not None and not row.keys() <= known and (strange := unknown_field(row, known)):
        return strange
    values = []
    for name, field, read in readers:
        try:
            # A field that is not there leaves the column as it is.
            values.append(read(row[field]) if field in row else UNSET_VALUE)
        except (ValueError, TypeError, OverflowError) as error:
            return type(error)(f"column {name!r}: {error}")
    return tuple(values)


def _parquet() -> Any:
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise DependencyException("Parquet needs pyarrow: pip install turbocql[arrow]") from error
    return parquet


def _parquet_parts(path: str, reading: Reading) -> Iterator[Part]:
    parquet = _parquet()

    def made(batch: Any, cut: int, first: int) -> Chunk:
        some = renamed(batch.slice(cut), reading)
        return Chunk(some, len(some), path, first + cut, None, 0, None)

    # By an open file: pyarrow leaves one open that it has opened itself, and cannot read.
    with open(path, "rb") as binary:
        try:
            file = parquet.ParquetFile(binary)
        except (OSError, ValueError) as error:  # ArrowInvalid is a ValueError
            raise ValueError(f"{path} cannot be read as Parquet: {error}") from error
        names = file.schema_arrow.names
        wanted = [reading.field(column) for column in reading.columns]
        missing = [name for name in wanted if name not in names]
        if missing:
            raise ValueError(_no_column(path, missing[0], names))
        groups = [file.metadata.row_group(at) for at in range(file.num_row_groups)]
        size = sum(group.total_byte_size for group in groups)
        count = rows_of_a_chunk(size, file.metadata.num_rows)
        batches = file.iter_batches(batch_size=count, columns=wanted)
        at = 0
        while True:
            try:
                batch = next(batches, None)
            except (OSError, ValueError) as error:
                raise ValueError(f"{path}, after row {at}: {error}") from error
            if batch is None:
                return
            at += len(batch)
            yield Part(len(batch), partial(made, batch))


def _no_column(path: str, name: str, names: Iterable[str]) -> str:
    return (
        f"{path} has no column {name!r}, but {', '.join(names)}; columns= maps columns of the "
        "table to those of the file"
    )


READERS: dict[str, Callable[[str, Reading], Iterator[Part]]] = {
    "csv": _csv_parts,
    "jsonl": _json_parts,
    "parquet": _parquet_parts,
}


def fields_of_file(path: str, kind: str, reading: Reading) -> list[str] | None:
    """Return the names of a file's fields; None if it has none, or each row has its own.

    :param path: the file.
    :param kind: "csv", "jsonl" or "parquet".
    :param reading: how it is read.
    """
    if kind == "parquet":
        parquet = _parquet()
        with open(path, "rb") as binary:
            try:
                return list(parquet.read_schema(binary).names)
            except (OSError, ValueError) as error:
                raise ValueError(f"{path} cannot be read as Parquet: {error}") from error
    if kind == "jsonl":
        return None  # each line has its own
    if reading.header is not True:
        return None if reading.header is False else list(reading.header)
    with _opened(path) as file:
        rows = csv.reader(file, delimiter=reading.delimiter, quotechar=reading.quote, strict=True)
        return _header(path, rows, reading)
