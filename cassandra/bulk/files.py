"""Reads files as parts (see `Part`): JSON lines and Parquet here, CSV in `csv_files`.

Only about one chunk of a file is in memory at a time. Error messages say where a file is damaged.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Set
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any

from cassandra.bulk import chunks
from cassandra.bulk.arrow_sizes import pieces_of
from cassandra.bulk.chunks import Chunk, Part, Position, Reading
from cassandra.bulk.csv_files import csv_fields, csv_parts
from cassandra.bulk.fields import UNSPLIT_FIELDS, select_columns, unknown_field
from cassandra.bulk.opened import bad_byte, is_pipe, opened
from cassandra.bulk.texts import READING_ERRORS, hiding, json_reader, parsed_json
from cassandra.errors import DependencyException
from cassandra.query.tables.rows import rows_of
from cassandra.sentinels import UNSET_VALUE

if TYPE_CHECKING:
    from types import ModuleType

    import pyarrow as pa

# All exceptions of pyarrow are instances of these classes.
_ARROW_ERRORS = (OSError, ValueError, NotImplementedError, LookupError, TypeError, ArithmeticError)
# How many Parquet rows to decode at a time. The number is small because we only know how large rows
# are when they are decoded.
PARQUET_ROWS = 2048


class _JsonLines:
    """Reads the rows of a file of JSON lines.

    :param path: the file.
    :param reading: the options for reading.
    """

    def __init__(self, path: str, reading: Reading) -> None:
        self._path = path
        self._reading = reading
        # (column name, field name, converter) for each column.
        self._readers: list[tuple[str, str, Callable[[Any], Any]]] = []
        for column in reading.columns:
            read = json_reader(column.type, reading.formats)
            if column.is_hidden:
                read = hiding(read, column.type.typename)
            self._readers.append((column.name, reading.field(column), read))
        self._fields = {field for _, field, _ in self._readers}
        # If an earlier load could not split a row into fields, it has written the row under one of
        # these names: see `FailedRows`.
        self._failed_names = {name for name in UNSPLIT_FIELDS if name not in self._fields}
        # The fields that a row may have; None if it may have any fields.
        self._allowed_fields: Set[str] | None = self._fields if reading.is_closed else None

    def parts(self) -> Iterator[Part]:
        """Yield the rows as parts."""
        with opened(self._path, self._reading.pipes, self._reading.encoding) as file:
            # Skip empty lines, but count them.
            numbered = ((number, line) for number, line in enumerate(file, 1) if line.strip())
            last_number = 0
            while True:
                numbered_lines, error = _next_lines(numbered)
                if numbered_lines:
                    last_number = numbered_lines[-1][0]
                    yield Part(len(numbered_lines), partial(self._chunk, numbered_lines))
                if error is not None:
                    raise ValueError(f"{self._path}, after line {last_number}: {error}") from error
                if not numbered_lines:
                    return

    def _chunk(self, numbered_lines: list[tuple[int, str]], cut: int, first: int) -> Chunk:
        """Parse the lines of a part, without its first `cut` rows.

        `first` is the number of the part's first row in the file.
        """
        raw = [line for _, line in numbered_lines[cut:]]
        lines = [number for number, _ in numbered_lines[cut:]]
        values = [self._row(line) for line in raw]
        return Chunk(
            rows=values,
            size=len(raw),
            source=self._path,
            first=first + cut,
            lines=lines,
            position=Position(0, 0),  # `_chunks` in `sources` sets it
            raw=raw,
        )

    def _row(self, line: str) -> tuple[Any, ...] | Exception:
        """Return the values of a line in the order of the columns, or an exception."""
        problem = bad_byte(line)
        if problem is not None:
            return ValueError(problem)
        try:
            row = parsed_json(line)
        except ValueError as error:
            advice = "each line is one object"
            # The file may be a single JSON document: an array, or an object over several lines.
            if line.lstrip()[:1] == "[" or line.strip() == "{":
                advice = (
                    "the file is one JSON document: write one object a line, without brackets and "
                    "commas around them"
                )
            return ValueError(f"the line is not JSON: {error}; {advice}")
        if not isinstance(row, dict):
            return TypeError(
                f"the line is a JSON {'array' if isinstance(row, list) else type(row).__name__}, "
                "not an object: write one object a line, without brackets and commas around them"
            )
        if not self._failed_names.isdisjoint(row):
            name = next(name for name in row if name in self._failed_names)
            return ValueError(
                f"it failed in another load, and {name!r} was not mended since: replace it by the "
                "row's fields with their names"
            )
        fields = self._allowed_fields
        if fields is not None and not row.keys() <= fields:
            field_error = unknown_field(row, fields, self._reading.ignored)
            if field_error is not None:
                return field_error
        values: list[Any] = []
        try:
            for _, field, read in self._readers:
                # A missing field leaves the column unset.
                value = row.get(field, UNSET_VALUE)
                values.append(value if value is UNSET_VALUE else read(value))
        except READING_ERRORS as error:
            # The number of values that were converted is the index of the column that failed.
            return ValueError(f"column {self._readers[len(values)][0]!r}: {error}")
        return tuple(values)


def _json_parts(path: str, reading: Reading) -> Iterator[Part]:
    return _JsonLines(path, reading).parts()


def _next_lines(
    numbered: Iterator[tuple[int, str]],
) -> tuple[list[tuple[int, str]], Exception | None]:
    """Return the lines of the next part, as (line number, line), and an error.

    The error is the exception that ended reading after these lines; None if reading can go on.
    """
    numbered_lines: list[tuple[int, str]] = []
    size = 0
    limit = min(chunks.TEXT_ROWS, chunks.CHUNK_ROWS)
    try:
        for number, line in numbered:
            numbered_lines.append((number, line))
            size += len(line)
            if len(numbered_lines) >= limit or size >= chunks.CHUNK_BYTES:
                break
    except (EOFError, OSError, ValueError) as error:
        return numbered_lines, error
    return numbered_lines, None


def _parquet() -> ModuleType:
    """Import pyarrow's module for Parquet; raise DependencyException if pyarrow is missing."""
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise DependencyException("Parquet needs pyarrow: pip install turbocql[arrow]") from error
    module: ModuleType = parquet
    return module


def _parquet_parts(path: str, reading: Reading) -> Iterator[Part]:
    """Yield the rows of a Parquet file in parts."""
    parquet = _parquet()
    import pyarrow

    _refuse_pipe(path)

    def make_chunk(table: Any, cut: int, first: int) -> Chunk:
        """Make the chunk of a part, without its first `cut` rows.

        `first` is the number of the part's first row in the file.
        """
        rows = _with_unset(select_columns(table.slice(cut), reading, path), reading)
        return Chunk(
            rows=rows,
            size=len(rows),
            source=path,
            first=first + cut,
            lines=None,
            position=Position(0, 0),  # `_chunks` in `sources` sets it
            raw=None,
        )

    # We open the file ourselves: if pyarrow opened it and could not read it, pyarrow would
    # never close it.
    with ExitStack() as files:
        binary = files.enter_context(open(path, "rb"))
        try:
            # Verify page checksums, if the file has any: otherwise a flipped bit would silently
            # change a value.
            # Spark and Hive write timestamps as INT96. By default, pyarrow converts these to
            # nanoseconds, which overflow silently outside the years 1677 to 2262. Convert them to
            # milliseconds, which CQL timestamps have anyway.
            file = parquet.ParquetFile(
                binary, page_checksum_verification=True, coerce_int96_timestamp_unit="ms"
            )
        except _ARROW_ERRORS as error:
            raise ValueError(f"{path} cannot be read as Parquet: {error}") from error
        names = file.schema_arrow.names
        # Check the columns before reading, on an empty table with the file's schema.
        select_columns(pyarrow.Table.from_batches([], file.schema_arrow), reading, path)
        fields = {reading.field(column) for column in reading.columns}
        selected = [name for name in names if name in fields]
        nanosecond_file = None
        if _may_have_late_moments(file, selected):
            nanosecond_file = parquet.ParquetFile(files.enter_context(open(path, "rb")))
        for table in _tables(path, file, selected, nanosecond_file):
            yield Part(len(table), partial(make_chunk, table))


def _refuse_pipe(path: str) -> None:
    if is_pipe(path):
        raise ValueError(
            f"{path} is a pipe, and Parquet is read from what stands at the end of a file"
        )


def _may_have_late_moments(file: Any, names: Collection[str]) -> bool:
    """Return True if moments before 1970 in columns of a Parquet file may be 584 years late.

    pyarrow 15, for example, writes the time of day of a moment before 1970 into an INT96 timestamp
    as a negative number. pyarrow reads it as a positive number, 2**64 nanoseconds larger.

    :param file: the file, an object of pyarrow.
    :param names: the names of the columns.
    """
    columns = map(file.schema.column, range(len(file.schema)))
    return str(file.metadata.created_by).startswith("parquet-cpp") and any(
        column.physical_type == "INT96" and column.path in names for column in columns
    )


def _correct_late_moments(batch: Any, nanosecond_batch: Any) -> Any:
    """Return `batch` with right moments before 1970: see `_may_have_late_moments`.

    A late moment is 2**64 nanoseconds too large, so its number of nanoseconds overflows to the
    right moment. A moment that is really after the year 2262 overflows, too, and is left as it is.
    Its number differs: moments are usually stored as whole microseconds, and after an overflow,
    such a number no longer ends with three zeros. Timestamps inside lists or structs, and moments
    before the year 1677, are not corrected.

    :param batch: a batch with INT96 timestamps as milliseconds.
    :param nanosecond_batch: the same batch with these timestamps as nanoseconds.
    """
    import pyarrow
    from pyarrow import compute

    columns = batch.columns
    for index, nanosecond_column in enumerate(nanosecond_batch.columns):
        if str(nanosecond_column.type) == str(columns[index].type):
            continue
        if not pyarrow.types.is_timestamp(columns[index].type):
            continue
        nanos = nanosecond_column.cast("int64")
        # Integers are divided towards zero, so subtract to round a negative number down.
        millis = compute.divide(compute.subtract(nanos, 999_999), 1_000_000)
        lateness = compute.subtract(columns[index].cast("int64"), millis)
        last_digits = compute.subtract(nanos, compute.multiply(compute.divide(nanos, 1000), 1000))
        is_late = compute.and_(
            compute.and_(
                compute.less(nanos, 0),
                compute.is_in(lateness, pyarrow.array([_LATENESS, _LATENESS + 1])),
            ),
            compute.not_equal(last_digits, _OVERFLOWED_DIGITS),
        )
        numbers = compute.if_else(is_late, millis, columns[index].cast("int64"))
        columns[index] = numbers.cast(columns[index].type)
    return pyarrow.RecordBatch.from_arrays(columns, schema=batch.schema)


# 2**64 nanoseconds in milliseconds.
_LATENESS = 2**64 // 1_000_000
# The last three digits of the nanoseconds of a moment that is stored as whole microseconds, if the
# number has overflowed: see `_correct_late_moments`.
_OVERFLOWED_DIGITS = -(2**64 % 1000)


def _tables(path: str, file: Any, columns: list[str], nanosecond_file: Any = None) -> Iterator[Any]:
    """Yield the rows of a Parquet file in tables of limited decoded size.

    We measure each batch after reading it. The sizes in the file's metadata are sizes of encoded
    pages, where a repeated string is stored once. So are the strings of a dictionary column, which
    `pieces_of` measures as if they were decoded.

    :param path: the path of the file, for errors.
    :param file: the file, an object of pyarrow.
    :param columns: the names of the columns that are read.
    :param nanosecond_file: the same file with INT96 timestamps as nanoseconds; None if no moment
        needs a correction: see `_may_have_late_moments`.
    """
    import pyarrow

    row_count = file.metadata.num_rows
    groups = [file.metadata.row_group(index) for index in range(file.num_row_groups)]
    # If rows are large even when they are encoded, decode them in smaller batches.
    size = sum(group.total_byte_size for group in groups)
    batch_rows = min(PARQUET_ROWS, chunks.rows_of_a_chunk(size, row_count))
    batches = file.iter_batches(batch_size=batch_rows, columns=columns)
    if nanosecond_file is not None:
        nanosecond_batches = nanosecond_file.iter_batches(batch_size=batch_rows, columns=columns)
        batches = map(_correct_late_moments, batches, nanosecond_batches)
    batches_of_chunk: list[Any] = []
    size_of_chunk = rows_read = 0
    while True:
        try:
            batch = next(batches, None)
        except _ARROW_ERRORS as error:
            # Reading has failed: first yield the complete rows that were read, so that they are
            # still loaded.
            if batches_of_chunk:
                yield pyarrow.Table.from_batches(batches_of_chunk)
            raise ValueError(f"{path}, after row {rows_read}: {error}") from error
        if batch is None:
            break
        rows_read += len(batch)
        # Collect slices of batches until they fill a chunk.
        for part, size_of_part in pieces_of(batch):
            rows_of_chunk = sum(map(len, batches_of_chunk))
            if batches_of_chunk and (
                size_of_chunk + size_of_part > chunks.CHUNK_BYTES
                or rows_of_chunk + len(part) > chunks.CHUNK_ROWS
            ):
                yield pyarrow.Table.from_batches(batches_of_chunk)
                batches_of_chunk, size_of_chunk = [], 0
            batches_of_chunk.append(part)
            size_of_chunk += size_of_part
    if batches_of_chunk:
        yield pyarrow.Table.from_batches(batches_of_chunk)
    if rows_read != row_count:
        raise ValueError(f"{path} has {rows_read} rows, but says that it has {row_count}")


def _with_unset(table: Any, reading: Reading) -> pa.Table | list[tuple[Any, ...]]:
    """Return the rows of a table, with UNSET_VALUE for each column that the file lacks.

    A table that has all columns is returned unchanged.
    """
    names = table.schema.names
    if len(names) == len(reading.columns):
        return table
    present_columns: Any = [column for column in reading.columns if column.name in names]
    positions = [
        names.index(column.name) if column.name in names else None for column in reading.columns
    ]
    # The values in the rows of `rows_of` are in the order of `present_columns`, which is the order
    # of `names`. So `positions` are indexes into these rows.
    return [
        tuple([UNSET_VALUE if index is None else row[index] for index in positions])
        for row in rows_of(table, present_columns)
    ]


# For each format, the function that yields the parts of a file.
READERS: dict[str, Callable[[str, Reading], Iterator[Part]]] = {
    "csv": csv_parts,
    "jsonl": _json_parts,
    "parquet": _parquet_parts,
}


def fields_of_file(path: str, kind: str, reading: Reading) -> list[str] | None:
    """Return the field names of a file; None if it has no names, or if each row names its fields.

    For an empty CSV file, the list is empty.

    :param path: the file.
    :param kind: "csv", "jsonl" or "parquet".
    :param reading: the options for reading.
    """
    if kind == "parquet":
        _refuse_pipe(path)
        parquet = _parquet()
        with open(path, "rb") as binary:
            try:
                names: list[str] = parquet.read_schema(binary).names
                return names
            except _ARROW_ERRORS as error:
                raise ValueError(f"{path} cannot be read as Parquet: {error}") from error
    if kind == "jsonl":
        return None  # each line has its own fields
    return csv_fields(path, reading)
