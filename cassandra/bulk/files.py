"""Files as parts of rows: those of JSON lines and Parquet here, those of CSV in `csv_files`.

No more than a chunk of a file is in memory. Errors say where it is damaged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Set
from functools import partial
from typing import Any

from cassandra.bulk import chunks
from cassandra.bulk.chunks import Chunk, Part, Position, Reading
from cassandra.bulk.csv_files import csv_fields, csv_parts
from cassandra.bulk.fields import LEFT_AS_TEXT, chosen, unknown_field
from cassandra.bulk.opened import bad_byte, is_pipe, opened
from cassandra.bulk.texts import READING_ERRORS, hiding, json_reader, parsed_json
from cassandra.errors import DependencyException
from cassandra.query.tables.rows import rows_of
from cassandra.sentinels import UNSET_VALUE

__all__ = ["READERS", "fields_of_file"]

# Classes of Arrow's errors: each of them has one of Python's beside it.
_OF_ARROW = (OSError, ValueError, NotImplementedError, LookupError, TypeError, ArithmeticError)
PARQUET_ROWS = 2048  # that are decoded at a time, before their size is known


class _JsonLines:
    """Rows of a file of JSON lines.

    :param path: the file.
    :param reading: how it is read.
    """

    def __init__(self, path: str, reading: Reading) -> None:
        self._path = path
        self._reading = reading
        self._readers: list[tuple[str, str, Callable[[Any], Any]]] = []
        for column in reading.columns:
            read = json_reader(column.type, reading.formats)
            if column.is_hidden:
                read = hiding(read, column.type.typename)
            self._readers.append((column.name, reading.field(column), read))
        self._fields = {field for _, field, _ in self._readers}
        # A line that could not be parted has one of these, in place of its fields.
        self._unmended = {name for name in LEFT_AS_TEXT if name not in self._fields}
        self._known: Set[str] | None = self._fields if reading.is_closed else None

    def parts(self) -> Iterator[Part]:
        """Return the rows in parts."""
        with opened(self._path, self._reading.pipes, self._reading.encoding) as file:
            numbered = ((number, line) for number, line in enumerate(file, 1) if line.strip())
            last = 0
            while True:
                some, error = _some_json(numbered)
                if some:
                    last = some[-1][0]
                    yield Part(len(some), partial(self._chunk, some))
                if error is not None:
                    raise ValueError(f"{self._path}, after line {last}: {error}") from error
                if not some:
                    return

    def _chunk(self, some: list[tuple[int, str]], cut: int, first: int) -> Chunk:
        raw = [line for _, line in some[cut:]]
        lines = [number for number, _ in some[cut:]]
        values = [self._row(line) for line in raw]
        return Chunk(values, len(raw), self._path, first + cut, lines, Position(0, 0), raw)

    def _row(self, line: str) -> Any:
        wrong = bad_byte(line)
        if wrong is not None:
            return ValueError(wrong)
        try:
            row = parsed_json(line)
        except ValueError as error:
            return ValueError(f"the line is not JSON: {error}; each line is one object")
        if not isinstance(row, dict):
            return TypeError(
                f"the line is a JSON {'array' if isinstance(row, list) else type(row).__name__}, "
                "not an object: write one object a line, without brackets and commas around them"
            )
        if not self._unmended.isdisjoint(row):
            name = next(name for name in row if name in self._unmended)
            return ValueError(f"it failed in another load, and {name!r} was not mended since")
        known = self._known
        if known is not None and not row.keys() <= known:
            strange = unknown_field(row, known, self._reading.ignored)
            if strange is not None:
                return strange
        values: list[Any] = []
        try:
            for _, field, read in self._readers:
                # A field that is not there leaves the column as it is.
                value = row.get(field, UNSET_VALUE)
                values.append(value if value is UNSET_VALUE else read(value))
        except READING_ERRORS as error:
            return ValueError(f"column {self._readers[len(values)][0]!r}: {error}")
        return tuple(values)


def _json_parts(path: str, reading: Reading) -> Iterator[Part]:
    return _JsonLines(path, reading).parts()


def _some_json(
    numbered: Iterator[tuple[int, str]],
) -> tuple[list[tuple[int, str]], Exception | None]:
    """Return some lines, and the error that came behind them."""
    some: list[tuple[int, str]] = []
    size = 0
    most = min(chunks.TEXT_ROWS, chunks.CHUNK_ROWS)
    try:
        for number, line in numbered:
            some.append((number, line))
            size += len(line)
            if len(some) >= most or size >= chunks.CHUNK_BYTES:
                break
    except (EOFError, OSError, ValueError) as error:
        return some, error
    return some, None


def _parquet() -> Any:
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise DependencyException("Parquet needs pyarrow: pip install turbocql[arrow]") from error
    return parquet


def _parquet_parts(path: str, reading: Reading) -> Iterator[Part]:
    parquet = _parquet()
    import pyarrow

    _refuse_pipe(path)

    def made(table: Any, cut: int, first: int) -> Chunk:
        some = _with_unset(chosen(table.slice(cut), reading, path), reading)
        return Chunk(some, len(some), path, first + cut, None, Position(0, 0), None)

    # By an open file: pyarrow leaves one open that it has opened itself, and cannot read.
    with open(path, "rb") as binary:
        try:
            # Pages that have a checksum are compared with it: a flipped bit is a value otherwise.
            file = parquet.ParquetFile(binary, page_checksum_verification=True)
        except _OF_ARROW as error:
            raise ValueError(f"{path} cannot be read as Parquet: {error}") from error
        names = file.schema_arrow.names
        chosen(pyarrow.Table.from_batches([], file.schema_arrow), reading, path)
        fields = {reading.field(column) for column in reading.columns}
        wanted = [name for name in names if name in fields]
        for table in _tables(path, file, wanted):
            yield Part(len(table), partial(made, table))


def _refuse_pipe(path: str) -> None:
    if is_pipe(path):
        raise ValueError(
            f"{path} is a pipe, and Parquet is read from what stands at the end of a file"
        )


def _tables(path: str, file: Any, columns: list[str]) -> Iterator[Any]:
    """Return the rows of a Parquet file, in tables whose decoded size is limited.

    What a file says of its size is that of its pages, in which a text stands once, however often
    it comes.
    """
    import pyarrow

    rows = file.metadata.num_rows
    groups = [file.metadata.row_group(at) for at in range(file.num_row_groups)]
    # Rows that are large already in their pages are decoded a few at a time.
    size = sum(group.total_byte_size for group in groups)
    count = min(PARQUET_ROWS, chunks.rows_of_a_chunk(size, rows))
    batches = file.iter_batches(batch_size=count, columns=columns)
    kept: list[Any] = []
    held = at = 0
    while True:
        try:
            batch = next(batches, None)
        except _OF_ARROW as error:
            if kept:
                yield pyarrow.Table.from_batches(kept)
            raise ValueError(f"{path}, after row {at}: {error}") from error
        if batch is None:
            break
        at += len(batch)
        step = chunks.rows_of_a_chunk(batch.nbytes, len(batch))
        for start in range(0, len(batch), step):
            part = batch.slice(start, step)
            count = sum(map(len, kept))
            if kept and (
                held + part.nbytes > chunks.CHUNK_BYTES or count + len(part) > chunks.CHUNK_ROWS
            ):
                yield pyarrow.Table.from_batches(kept)
                kept, held = [], 0
            kept.append(part)
            held += part.nbytes
    if kept:
        yield pyarrow.Table.from_batches(kept)
    if at != rows:
        raise ValueError(f"{path} has {at} rows, but says that it has {rows}")


def _with_unset(table: Any, reading: Reading) -> Any:
    """Return rows in which the columns that a file does not have are left as they are."""
    names = table.schema.names
    if len(names) == len(reading.columns):
        return table
    present: Any = [column for column in reading.columns if column.name in names]
    places = [
        names.index(column.name) if column.name in names else None for column in reading.columns
    ]
    # `rows_of` has the values in the order of `present`, which is that of the names.
    return [
        tuple([UNSET_VALUE if at is None else row[at] for at in places])
        for row in rows_of(table, present)
    ]


READERS: dict[str, Callable[[str, Reading], Iterator[Part]]] = {
    "csv": csv_parts,
    "jsonl": _json_parts,
    "parquet": _parquet_parts,
}


def fields_of_file(path: str, kind: str, reading: Reading) -> list[str] | None:
    """Return the names of a file's fields; None if it has none, or each row has its own.

    The list is empty if the file is.

    :param path: the file.
    :param kind: "csv", "jsonl" or "parquet".
    :param reading: how it is read.
    """
    if kind == "parquet":
        _refuse_pipe(path)
        parquet = _parquet()
        with open(path, "rb") as binary:
            try:
                names: list[str] = parquet.read_schema(binary).names
                return names
            except _OF_ARROW as error:
                raise ValueError(f"{path} cannot be read as Parquet: {error}") from error
    if kind == "jsonl":
        return None  # each line has its own
    return csv_fields(path, reading)
