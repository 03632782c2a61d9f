"""Where rows come from: iterables, frames, Arrow data, and files of CSV, JSON lines and Parquet.

A source gives chunks: rows that are bound together, with their positions. Files are read one after
the other, in the order of their names; no more than a chunk of them is in memory.
"""

from __future__ import annotations

import csv
import glob
import gzip
import io
import json
import os
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from cassandra.bulk.texts import Formats, json_reader, text_reader
from cassandra.errors import DependencyException
from cassandra.query.tables.rows import is_array, is_arrow, is_frame
from cassandra.sentinels import UNSET_VALUE

__all__ = ["Chunk", "Column", "Place", "Reading", "chunks_of", "kind_of"]

CHUNK_ROWS = 20_000
OBJECT_ROWS = 5_000  # of rows of the program, whose size is not known: vectors take kilobytes
CHUNK_BYTES = 8 << 20
LONGEST_LINE = 16 << 20  # of a file: what is longer is no row, but damage


class Place(NamedTuple):
    """Where a row stands, for people.

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


class Column(NamedTuple):
    """A column that is written.

    :param name: that of its bind marker.
    :param type: its CQL type.
    """

    name: str
    type: Any


class Chunk(NamedTuple):
    """Rows that are bound together.

    :param rows: a list of tuples by position of the columns, or a table that has columns by name.
        A row that could not be read is the error.
    :param size: how many rows.
    :param source: the file's name, or None.
    :param first: the number of the first row in its source.
    :param lines: the line of each row; None if there are none.
    :param position: how many rows of all sources are read when this chunk is.
    :param raw: the texts of each row, for the file of failed rows; None if the rows are those.
    """

    rows: Any
    size: int
    source: str | None
    first: int
    lines: Sequence[int] | None
    position: int
    raw: Sequence[Any] | None

    def place(self, index: int) -> Place:
        """Return where a row stands.

        :param index: its number in the chunk, from 0.
        """
        line = self.lines[index] if self.lines is not None else None
        return Place(self.source, self.first + index, line)


class Reading(NamedTuple):
    """How files are read.

    :param format: "csv", "jsonl" or "parquet"; None goes by the file's name.
    :param columns: the columns that are written, in their order.
    :param mapping: names of fields by names of columns; columns that are not in it are named alike.
    :param formats: how values are written.
    :param header: True if the first line of CSV has the names, a list of names if it has none.
    :param delimiter: between fields of CSV.
    :param quote: around fields of CSV.
    :param skip: how many rows are left out, because they have been written.
    :param is_closed: True refuses fields of JSON that are no columns; those that begin with an
        underscore are left out.
    """

    format: str | None
    columns: Sequence[Column]
    mapping: Mapping[str, str]
    formats: Formats
    header: bool | Sequence[str]
    delimiter: str
    quote: str
    skip: int
    is_closed: bool = False

    def field(self, column: Column) -> str:
        """Return the name of a column's field.

        :param column: the column.
        """
        return self.mapping.get(column.name, column.name)


_ENDINGS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
}
_COMPRESSED = (".gz", ".zst", ".zstd")


def kind_of(path: str, wanted: str | None) -> str:
    """Return the format of a file.

    :param path: its name.
    :param wanted: the format that the program says; None for the name's.
    :raises ValueError: if the format is not known.
    """
    if wanted is not None:
        if wanted not in ("csv", "jsonl", "parquet"):
            raise ValueError(f"format must be 'csv', 'jsonl' or 'parquet', but is {wanted!r}")
        return wanted
    name = path.lower()
    for ending in _COMPRESSED:
        name = name.removesuffix(ending)
    found = _ENDINGS.get(os.path.splitext(name)[1])
    if found is None:
        raise ValueError(
            f"the format of {path!r} is not known by its name: write format='csv', 'jsonl' or "
            "'parquet'"
        )
    return found


def chunks_of(source: object, reading: Reading) -> Generator[Chunk, None, None]:
    """Return an iterator over the rows of a source.

    :param source: a path or a glob of files, a sequence of these, a frame, Arrow data, or an
        iterable of rows.
    :param reading: how files are read, and which columns are wanted.
    :raises FileNotFoundError: if no file has the name.
    :raises TypeError: if `source` is nothing of these.
    :raises ValueError: if a file's format is not known.
    """
    paths = _paths_of(source)
    if paths is not None:
        for path in paths:
            kind_of(path, reading.format)
        return _chunks_of_files(paths, reading)
    if isinstance(source, (bytes, bytearray, Mapping)):
        raise TypeError(f"rows come from a file, a frame or an iterable, not from {source!r}")
    if is_array(source) or is_frame(source) or is_arrow(source):
        return _chunks(_parts_of_table(source, reading), reading.skip)
    if not isinstance(source, Iterable):
        raise TypeError(
            f"rows come from a file, a frame or an iterable, not from {type(source).__name__}"
        )
    return _chunks(_parts_of_rows(source), reading.skip)


def _paths_of(source: object) -> list[str] | None:
    if isinstance(source, (str, os.PathLike)):
        return _expanded(os.fspath(source))
    if isinstance(source, (list, tuple)) and source and isinstance(source[0], (str, os.PathLike)):
        if not all(isinstance(one, (str, os.PathLike)) for one in source):
            return None
        return [path for one in source for path in _expanded(os.fspath(one))]
    return None


def _expanded(path: Any) -> list[str]:
    if os.path.exists(path):
        if os.path.isdir(path):
            found = [entry.path for entry in os.scandir(path) if entry.name[:1] not in "._"]
            return sorted(one for one in found if not one.endswith("manifest.json"))
        return [path]
    found = sorted(glob.glob(path, recursive=True))
    if not found:
        raise FileNotFoundError(f"no file is named {path!r}")
    return found


# -- rows and tables of the program ----------------------------------------------------------------


class _Part(NamedTuple):
    """Rows that were read, and are made chunks of unless they are left out.

    :param size: how many rows.
    :param made: returns the chunk, without the rows before the one that is given.
    """

    size: int
    made: Callable[[int, int], Chunk]


def _chunks(parts: Iterable[_Part], skip: int, first: int = 0) -> Generator[Chunk, None, None]:
    """Return an iterator over the chunks of parts, without the first `skip` rows.

    :param first: the number of the first row.
    """
    at = 0
    for part in parts:
        end = at + part.size
        if end > skip:
            yield part.made(max(skip - at, 0), first + at)._replace(position=end)
        at = end


def _rows_of_a_chunk(size: int, rows: int) -> int:
    """Return how many rows of a table are bound together.

    :param size: the bytes of its columns.
    :param rows: how many rows it has.
    """
    # Four times as much and more as objects of Python.
    return max(1, min(CHUNK_ROWS, CHUNK_BYTES // 4 * max(rows, 1) // max(size, 1)))


def _parts_of_rows(rows: Iterable[Any]) -> Iterator[_Part]:
    taken = iter(rows)

    def made(some: list[Any], cut: int, first: int) -> Chunk:
        return Chunk(some[cut:], len(some) - cut, None, first + cut, None, 0, None)

    while some := list(islice(taken, min(OBJECT_ROWS, CHUNK_ROWS))):
        yield _Part(len(some), partial(made, some))


def _parts_of_table(table: Any, reading: Reading) -> Iterator[_Part]:
    def made(some: Any, cut: int, first: int) -> Chunk:
        some = _renamed(slice_of(some, cut, CHUNK_ROWS) if cut else some, reading)
        return Chunk(some, len(some), None, first + cut, None, 0, None)

    for whole in _tables_of(table):
        # Of a frame, whose objects may be of any size, as of rows of the program.
        size = getattr(whole, "nbytes", None)
        count = min(OBJECT_ROWS, CHUNK_ROWS) if size is None else _rows_of_a_chunk(size, len(whole))
        for start in range(0, len(whole), count):
            some = slice_of(whole, start, count)
            yield _Part(len(some), partial(made, some))


def _tables_of(table: Any) -> Iterator[Any]:
    if is_array(table) or is_frame(table):
        yield table
        return
    try:
        import pyarrow
    except ImportError as error:
        raise DependencyException(
            "Arrow data needs pyarrow: pip install turbocql[arrow]"
        ) from error
    if isinstance(table, (pyarrow.RecordBatch, pyarrow.Table)):
        yield table
    elif hasattr(table, "__arrow_c_stream__"):
        yield from pyarrow.RecordBatchReader.from_stream(table)
    else:
        yield pyarrow.record_batch(table)


def slice_of(table: Any, start: int, count: int) -> Any:
    """Return some rows of a list or a table.

    :param table: the rows.
    :param start: the number of the first one.
    :param count: how many at most.
    """
    if hasattr(table, "iloc"):
        return table.iloc[start : start + count]
    if hasattr(table, "slice"):
        return table.slice(start, count)
    return table[start : start + count]


def _renamed(table: Any, reading: Reading) -> Any:
    """Return a table whose columns have the names of the bind markers."""
    if not reading.mapping:
        return table
    names = {reading.field(column): column.name for column in reading.columns}
    if hasattr(table, "iloc"):
        return table.rename(columns=names)
    if hasattr(table, "rename_columns"):
        return table.rename_columns([names.get(name, name) for name in table.schema.names])
    raise ValueError("columns= is for tables with named columns: an array goes by position")


# -- files -----------------------------------------------------------------------------------------


def _chunks_of_files(paths: Sequence[str], reading: Reading) -> Generator[Chunk, None, None]:
    done = 0
    for path in paths:
        kind = kind_of(path, reading.format)
        parts = _READERS[kind](path, reading)
        read = 0

        def counted(parts: Iterator[_Part] = parts) -> Iterator[_Part]:
            nonlocal read
            for part in parts:
                read += part.size
                yield part

        for chunk in _chunks(counted(), max(reading.skip - done, 0), 1):
            yield chunk._replace(position=done + chunk.position)
        done += read


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
        if self._since > LONGEST_LINE:
            raise ValueError(
                f"{self._path} has a line of more than {LONGEST_LINE:,} bytes: is it damaged, or "
                "of another format?"
            )
        return found

    def read(self, size: int | None = -1) -> bytes:
        return self.read1(-1 if size is None else size)


def _csv_parts(path: str, reading: Reading) -> Iterator[_Part]:
    # The limit of Python is for all programs of the process: it is raised, never lowered.
    if csv.field_size_limit() < LONGEST_LINE:
        csv.field_size_limit(LONGEST_LINE)
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
            yield _Part(len(some), partial(made, some, lines))


def _header(path: str, rows: Any, reading: Reading) -> list[str] | None:
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


def _checked(path: str, rows: Any, count: int) -> list[list[str]]:
    """Return the next rows of CSV; errors say where."""
    try:
        return list(islice(rows, count))
    except (csv.Error, UnicodeDecodeError, EOFError, OSError) as error:
        raise ValueError(f"{path}, line {rows.line_num}: {error}") from error


def _some_lines(path: str, rows: Any) -> tuple[list[list[str]], list[int]]:
    """Return the rows of a chunk, and the lines that they begin on."""
    some: list[list[str]] = []
    lines: list[int] = []
    size = 0
    count = 10
    while len(some) < CHUNK_ROWS and size < CHUNK_BYTES:
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
        rest = (CHUNK_BYTES - size) * max(len(some), 1) // max(size, 1)
        count = max(1, min(1000, rest, CHUNK_ROWS - len(some)))
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


def _json_parts(path: str, reading: Reading) -> Iterator[_Part]:
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
            yield _Part(len(some), partial(made, some))


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
    try:
        for number, line in numbered:
            some.append((number, line))
            size += len(line)
            if len(some) >= CHUNK_ROWS or size >= CHUNK_BYTES:
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


def _parquet_parts(path: str, reading: Reading) -> Iterator[_Part]:
    parquet = _parquet()

    def made(batch: Any, cut: int, first: int) -> Chunk:
        some = _renamed(batch.slice(cut), reading)
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
        count = _rows_of_a_chunk(size, file.metadata.num_rows)
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
            yield _Part(len(batch), partial(made, batch))


def _no_column(path: str, name: str, names: Iterable[str]) -> str:
    return (
        f"{path} has no column {name!r}, but {', '.join(names)}; columns= maps columns of the "
        "table to those of the file"
    )


_READERS: dict[str, Callable[[str, Reading], Iterator[_Part]]] = {
    "csv": _csv_parts,
    "jsonl": _json_parts,
    "parquet": _parquet_parts,
}


def is_file_of(source: object, path: str | os.PathLike[str]) -> bool:
    """Return True if a file is one of those that a source reads.

    :param source: the source.
    :param path: the file.
    """
    return os.path.exists(path) and any(
        os.path.samefile(one, path) for one in _paths_of(source) or ()
    )


def name_for_people(source: object) -> str:
    """Return what a report calls a source.

    :param source: the source.
    """
    if isinstance(source, (str, Path)):
        return str(source)
    return type(source).__name__


def field_names(source: object, reading: Reading) -> list[str] | None:
    """Return the names of a source's fields; None if it has none, or they are not known yet.

    :param source: as for `chunks_of`.
    :param reading: how files are read.
    """
    paths = _paths_of(source)
    if paths is not None:
        return _fields_of_file(paths[0], reading)
    if is_frame(source) or is_array(source) or not is_arrow(source):
        if isinstance(source, (list, tuple)) and source and isinstance(source[0], Mapping):
            return None  # rows may differ
        names: Any = getattr(source, "columns", None)
        if names is None and is_array(source):
            names = getattr(source, "dtype", None)
            names = names.names if names is not None else None
        return None if names is None else [str(name) for name in names]
    schema: Any = getattr(source, "schema", None)
    found = getattr(schema, "names", None)
    return None if found is None or callable(found) else [str(name) for name in found]


def _fields_of_file(path: str, reading: Reading) -> list[str] | None:
    kind = kind_of(path, reading.format)
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
