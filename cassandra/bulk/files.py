"""Files as parts of rows: those of JSON lines and Parquet here, those of CSV in `csv_files`.

No more than a chunk of a file is in memory. Errors say where it is damaged.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from functools import partial
from typing import Any

from cassandra.bulk import chunks
from cassandra.bulk.chunks import Chunk, Part, Reading, renamed, rows_of_a_chunk
from cassandra.bulk.csv_files import csv_fields, csv_parts
from cassandra.bulk.opened import no_column, opened
from cassandra.bulk.texts import json_reader
from cassandra.errors import DependencyException
from cassandra.sentinels import UNSET_VALUE

__all__ = ["READERS", "fields_of_file", "unknown_field"]


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

    with opened(path) as file:
        numbered = ((number, line) for number, line in enumerate(file, 1) if line.strip())
        while some := _some_json(path, numbered):
            yield Part(len(some), partial(made, some))


def unknown_field(row: Mapping[Any, Any], known: Set[str]) -> ValueError | None:
    """Return the error of a row with a field that has no column, or None.

    :param row: the row.
    :param known: the fields that are columns.
    """
    for name in row:
        if name not in known and not str(name).startswith("_"):
            return ValueError(
                f"it has a field {name!r}, which is not a column that is written: "
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
            raise ValueError(no_column(path, missing[0], names))
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


READERS: dict[str, Callable[[str, Reading], Iterator[Part]]] = {
    "csv": csv_parts,
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
    return csv_fields(path, reading)
