"""Writes whole tables to Parquet, CSV or JSON lines files; implements `Session.unload`.

The manifest, a list of all files, is written last. So a folder with a manifest has the whole table.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import re
import stat
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, aclosing, contextmanager, suppress
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar
from uuid import uuid4

from cassandra._clocks import monotonic
from cassandra._habits import UNLOAD_REPORT, add_habits
from cassandra._later_warnings import warn
from cassandra._steps import adrive, drive
from cassandra.bulk.checkpoint import write_json
from cassandra.bulk.masks import mask_steps
from cassandra.bulk.opened import MANIFEST, UNFINISHED
from cassandra.bulk.plain import PlainRows
from cassandra.bulk.report import counted
from cassandra.bulk.scan import AsyncScan, Batches, Scan, size_of
from cassandra.bulk.scan_options import RangeOptions, UnloadOptions, positive
from cassandra.bulk.scan_plan import performer
from cassandra.bulk.signs import Sign
from cassandra.bulk.sources import OTHER_ENDINGS
from cassandra.bulk.target import short_key_widths
from cassandra.bulk.texts import json_of, refuse_other
from cassandra.bulk.unknown_options import FOR_READING, FOR_TEXT_FILES, IN_ALL_CALLS, unknown_option
from cassandra.bulk.unload_form import FileForm, FileText
from cassandra.client.columnar import columnar_module, rows_message
from cassandra.cqltypes.containers import TupleType
from cassandra.errors import DecodeError

if TYPE_CHECKING:
    from cassandra.bulk import csv_texts
    from cassandra.bulk.sessions import AsyncSession, Page, Session
    from cassandra.cqltypes.base import _CassandraType
else:
    from cassandra._impl import csv_texts

__all__ = ["UnloadReport", "aunload", "unload"]

T = TypeVar("T")

FORMATS = ("parquet", "csv", "jsonl")  # the values of the option `format`
BYTES_OF_A_FILE = 256 << 20  # the default of the option `file_bytes`
# A row group of a Parquet file ends after this number of rows, or this number of bytes in memory.
ROWS_OF_A_GROUP = 131_072
BYTES_OF_A_GROUP = 64 << 20
# How many rows of a CSV file to check for empty strings.
_EMPTY_TEXT_ROWS = 5000


@dataclass(slots=True)
class UnloadReport:
    """The outcome of an unload.

    :param rows: the number of rows that were written.
    :param files: the files, in the order in which they were written.
    :param bytes: the total size of the files in bytes.
    :param seconds: the duration in seconds.
    """

    rows: int = 0
    files: list[Path] = field(default_factory=list)
    bytes: int = 0
    seconds: float = 0.0

    def as_dict(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        return {
            "rows": self.rows,
            "files": [os.fspath(path) for path in self.files],
            "bytes": self.bytes,
            "seconds": self.seconds,
            "rows_per_second": self.rows_per_second,
        }

    @property
    def rows_per_second(self) -> float:
        """Rows written per second."""
        return self.rows / self.seconds if self.seconds else 0.0

    def __str__(self) -> str:
        return (
            f"{counted(self.rows, 'row')} in {counted(len(self.files), 'file')}, "
            f"{self.bytes:,} bytes, {self.seconds:.1f} s ({self.rows_per_second:,.0f} rows/s)"
        )


add_habits(UnloadReport, UNLOAD_REPORT)


class _Writer:
    """Writes pages to the files of an unload. A file has a temporary name until it is complete.

    `unload` (blocking) and `aunload` (asyncio) use it.

    :param target: the folder.
    :param format: "parquet", "csv" or "jsonl".
    :param compression: as for `unload`.
    :param file_bytes: as for `unload`.
    :param number_options: the options `decimals` and `varints`, for Parquet.
    :param form: the options for CSV and JSON lines.
    """

    def __init__(
        self,
        target: str | Path,
        format: str,
        compression: str | None,
        file_bytes: int,
        number_options: dict[str, Any],
        form: FileForm,
    ) -> None:
        if format not in FORMATS:
            instead = ": JSON is written as lines, 'jsonl'" if format in ("json", "ndjson") else ""
            if format in ("tsv", "txt"):
                instead = ": write format='csv', delimiter='\\t'"
            raise ValueError(f"format is one of {', '.join(FORMATS)}, not {format!r}{instead}")
        if format != "parquet" and compression not in (None, "gzip"):
            raise ValueError(f"compression of {format} is None or 'gzip', not {compression!r}")
        # "text" is the default of both options.
        parquet_options = {name: value for name, value in number_options.items() if value != "text"}
        if parquet_options and format != "parquet":
            raise ValueError(
                f"{next(iter(parquet_options))} is an option of Parquet: {format} has numbers as "
                "texts"
            )
        form.check(format)
        positive("file_bytes", file_bytes)
        _check_folder(target, format)
        self._form = form
        # Parquet has no type for a duration of months, days and nanoseconds. So write durations as
        # structs, which `load` can read.
        self._batches: Batches | None = None
        if format == "parquet":
            _check_parquet(compression, parquet_options)
            self._batches = Batches({**parquet_options, "durations": "struct"})
        self.folder = Path(target)
        self._is_new = not self.folder.exists()
        if not self._is_new and not self.folder.is_dir():
            raise FileExistsError(
                f"{os.fspath(self.folder)!r} is a file, but unload writes into a folder: name a "
                f"new one, for example {_name_beside(self.folder)!r}"
            )
        self.folder.mkdir(parents=True, exist_ok=True)
        # Create the sign. As long as the sign exists and the folder has no manifest, loads of the
        # folder raise an error, and other unloads into the folder are refused. An unload that was
        # killed may have left its sign.
        try:
            self._sign = Sign(self.folder, self._check_empty)
        except BaseException:
            if self._is_new:
                with suppress(OSError):  # another unload is writing into it
                    self.folder.rmdir()
            raise
        self.report = UnloadReport()
        self.row_counts: dict[str, int] = {}  # the number of rows by file name, for the manifest
        self._sizes: dict[Path, int] = {}  # the size of each complete file in bytes
        # A part of the names of temporary files, so that no other unload uses the same names.
        self._run = uuid4().hex[:12]
        self._format = format
        self._compression = compression
        self._file_bytes = file_bytes
        self._plain_rows = PlainRows()
        self._start = monotonic()
        self._is_complete = False  # True when the manifest is written
        # The names of CSV columns that have an empty string, which a load would read as null.
        self.empty_text_columns: dict[str, None] = {}
        # The clustering columns that may be missing in a row: see `_short_keys`.
        self.short_keys: Mapping[str, bool] = {}
        # Decodes pages, but keeps the values of the columns in `short_keys` as bytes; None before
        # the first page.
        self._key_rows: PlainRows | None = None
        # The columns of the primary key, while they are still checked for values without their last
        # fields. Empty if no column can have such values, or one was found.
        self.key_names: Sequence[str] = ()
        # The columns of the key in which values without their last fields were found: see
        # `_note_values_without_fields`.
        self.completed_keys: dict[str, None] = {}
        # Decodes pages, but keeps the values of key columns that can lack fields as bytes; None
        # before the first page.
        self._field_rows: PlainRows | None = None
        self._names: list[str] | None = None  # the columns of the first page
        # The current file: its final path, its number of rows, and the bytes of its pages.
        self._path: Path | None = None
        self._rows = self._file_pages_bytes = 0
        self._stack = ExitStack()  # closes the current file
        # A function that writes a page to the current file, and returns the page's number of rows.
        # None if no file is open.
        self._write: Callable[[Any], int] | None = None
        # For Parquet, the rows of the current file that are not in a row group yet.
        self._row_group: _RowGroup | None = None

    def add(self, result: Page) -> None:
        """Write a page.

        :param result: the `ResultSet` whose current page is written.
        """
        self._check_columns(result)
        if self.short_keys:
            self._check_short_keys(result)
        if self.key_names:
            self._note_values_without_fields(result)
        if self._write is None:
            if self.report.files and not rows_message(result._message).row_count:
                return  # no file is needed for a page without rows
            self._open(result)
        assert self._write is not None
        self._rows += self._write(result)
        self._file_pages_bytes += size_of(result)
        # A file without rows is only made if the whole table has none.
        if self._rows and self._file_pages_bytes >= self._file_bytes:
            self._end_file()

    def _check_columns(self, result: Page) -> None:
        """Raise DecodeError if the columns of a page differ from the columns of the first page.

        The table may be altered during the unload, but all files must have the same columns. For
        Parquet, `Batches` checks this.
        """
        if self._batches is not None:
            return
        names = result.column_names or []
        if self._names is None:
            self._names = names
        elif names != self._names:
            raise DecodeError(
                f"the columns changed between pages, from ({', '.join(self._names)}) to "
                f"({', '.join(names)}): unload the table again"
            )

    def _check_short_keys(self, result: Page) -> None:
        """Raise ValueError if a load of the files would write a row of a page with another key.

        The files cannot tell an empty number from null, and CSV may not tell an empty string from
        null.
        """
        names = result.column_names or []
        if self._key_rows is None:
            self._key_rows = PlainRows(lambda index, _: names[index] in self.short_keys)
        null_of_csv = self._form.null if self._format == "csv" else "null"
        rows = self._key_rows.tuples(result)
        for position in sorted(self._key_rows.bytes_positions):
            may_be_empty = self.short_keys[names[position]]
            for number, row in enumerate(rows):
                if row[position] == b"" and not may_be_empty:
                    problem = "it is empty, and a load would read null: write copy(...) instead"
                elif row[position] is None and may_be_empty and not null_of_csv:
                    problem = (
                        "it is null, and a load of CSV would read an empty value, so it would "
                        "write another row: write null='NULL', also for the load"
                    )
                else:
                    continue
                raise ValueError(f'row {number}, column "{names[position]}" of the key: {problem}')

    def _note_values_without_fields(self, result: Page) -> None:
        """Look for values of key columns that lack their last fields; stop once a page has some.

        These are tuples and values of user-defined types. The files have nulls for the missing
        fields, but for a server, a key with nulls is another key.
        """
        names = result.column_names or []
        if self._field_rows is None:
            self._field_rows = PlainRows(
                lambda index, cql_type: names[index] in self.key_names and _has_fields(cql_type)
            )
        codecs = self._plain_rows.codecs(result)
        self._field_rows.codecs(result)  # sets the positions
        positions = self._field_rows.bytes_positions
        if not positions:
            self.key_names = ()
            return
        rows = self._field_rows.tuples(result)
        for position in sorted(positions):
            codec = codecs[position]
            values = (row[position] for row in rows)
            if any(data and codec.encode(codec.decode(data)) != data for data in values):
                self.completed_keys[names[position]] = None
                self.key_names = ()  # one column is enough for the warning

    def _open(self, result: Page) -> None:
        """Begin a file, and set `_write` for its format.

        :param result: the first page of the file.
        """
        names = result.column_names or []
        duplicate = next((name for name in names if names.count(name) > 1), None)
        if duplicate is not None:
            raise ValueError(
                f"more than one column is called {duplicate!r}: give others a name by AS in "
                "`columns`"
            )
        # Parquet compresses inside the file, so the file's name has no suffix for the compression.
        ending = self._format + (".gz" if self._compression == "gzip" and not self._batches else "")
        self._path = self.folder / f"part-{len(self.report.files):05}.{ending}"
        # The file gets its final name when it is complete. So if the process is killed, no file
        # with a final name is incomplete. The temporary name is hidden, so that a load skips it.
        temporary = self._temporary_path(self._path)
        if self._batches is not None:
            self._write = self._parquet_writer(temporary, result)
            return
        opener: Any = gzip.open if self._compression else open
        file = self._stack.enter_context(opener(temporary, "wb"))
        self._write = (
            self._csv_writer(file, result)
            if self._format == "csv"
            else self._json_writer(file, result)
        )

    def _csv_writer(self, file: Any, result: Page) -> Callable[[Any], int]:
        """Return a function that writes a page as CSV to `file`, and returns its number of rows."""
        names = result.column_names or []
        file_text = FileText(self._form, names)
        if self._form.header:
            file.write(file_text.line(names))
        # The number of further rows to check for empty strings. It is 0 if `null` is set: then a
        # load can tell an empty string from null.
        unseen = 0 if self._form.null else _EMPTY_TEXT_ROWS

        def write_rows(page: Page) -> int:
            """Write a page in any form and encoding, row by row."""
            nonlocal unseen
            rows = self._plain_rows.tuples(page)
            with _counted(rows) as counted_rows:
                lines = [file_text.row(row) for row in counted_rows]
            file.writelines(lines)
            if unseen > 0:
                unseen -= len(rows)
                self._look_for_empty_texts(names, rows)
            return len(rows)

        if not self._form.has_usual_texts or self._form.encoding != "utf-8":
            # The compiled function below only writes the default form, in UTF-8.
            return write_rows

        # True once the file has content. Only the first field of a file may need
        # `_with_quoted_mark`.
        is_begun = self._form.header

        def write(page: Page) -> int:
            """Write a page in the default form, by the compiled function."""
            nonlocal is_begun, unseen
            message = rows_message(page._message)
            # Convert the bytes of the page to CSV without a Python object per value.
            codecs = self._plain_rows.codecs(page)
            try:
                lines = csv_texts.csv_lines(names, codecs, *message.rows_body)
            except TypeError:
                # The error names the column, but not the row. Convert row by row to find the row.
                with _counted(self._plain_rows.tuples(page)) as counted_rows:
                    for row in counted_rows:
                        file_text.row(row)
                raise
            if not is_begun and lines:
                lines = _with_quoted_mark(lines)
                is_begun = True
            file.write(lines)
            if unseen > 0:
                unseen -= message.row_count
                with suppress(TypeError, ValueError):  # CSV can hold more values than Python
                    self._look_for_empty_texts(names, self._plain_rows.tuples(page))
            return message.row_count

        return write

    def _look_for_empty_texts(self, names: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Record the columns that have an empty string in the first rows of a file.

        We only check `_EMPTY_TEXT_ROWS` rows of each file, because checking a value takes longer
        than writing it. These rows may be in many pages: each page of a small table has few rows.
        """
        for row in rows:
            if "" in row:
                for name, value in zip(names, row, strict=True):
                    if value == "":
                        self.empty_text_columns[name] = None

    def _json_writer(self, file: Any, result: Page) -> Callable[[Any], int]:
        """Return a function that writes a page as JSON lines, and returns its number of rows."""
        names = result.column_names or []
        file_text = FileText(self._form, names)
        # Only the UTF encodings have all characters. For other encodings, write characters beyond
        # ASCII as JSON escapes.
        is_ascii = not self._form.encoding.startswith("utf")

        def write(page: Page) -> int:
            """Write a page, with one JSON object per line."""
            rows = self._plain_rows.tuples(page)
            lines = []
            with _counted(rows) as counted_rows:
                for row in counted_rows:
                    content = _json_row(names, row)
                    line = json.dumps(content, ensure_ascii=is_ascii) + "\n"
                    # Also pass each value, so that an error can name the column of the bad value.
                    lines.append(file_text.encoded(line, map(json.dumps, content.values())))
            file.writelines(lines)
            return len(rows)

        return write

    def _parquet_writer(self, temporary: str, result: Page) -> Callable[[Any], int]:
        """Return a function that writes a page as Parquet, and returns its number of rows.

        It writes to the file with the name `temporary`.
        """
        from pyarrow import parquet

        batches = self._batches
        assert batches is not None
        # Convert the first page before the file is created, because `ParquetWriter` needs the
        # schema of the page.
        first = batches.batch(result)
        options = {"compression": self._compression} if self._compression else {}
        file = self._stack.enter_context(
            parquet.ParquetWriter(temporary, batches.schema, **options)
        )
        row_group = self._row_group = _RowGroup(batches, file)

        def write(page: Page) -> int:
            # The first page is already converted.
            batch = first if page is result else batches.batch(page)
            row_group.add(batch)
            return int(batch.num_rows)

        return write

    def _end_file(self) -> None:
        """Close the current file, and give it its final name."""
        if self._row_group is not None:
            self._row_group.write()
        self._stack.close()
        path = self._path
        assert path is not None
        temporary = self._temporary_path(path)
        # Rename the file only now, so that each file with a final name is complete. After a loss of
        # power, the name or the manifest could otherwise be on disk without the file's content.
        with open(temporary, "rb+") as file:
            os.fsync(file.fileno())
            size = os.fstat(file.fileno()).st_size
        if path.exists():
            raise FileExistsError(
                f"another program has written {os.fspath(path)!r} during the unload: unload into "
                "a new folder"
            )
        os.replace(temporary, path)
        self._sizes[path] = size
        self.report.files.append(path)
        self.report.rows += self._rows
        self.report.bytes += size
        self.row_counts[path.name] = self._rows
        self._write, self._rows, self._file_pages_bytes = None, 0, 0

    def _temporary_path(self, path: Path) -> str:
        return os.fspath(path.with_name(f".{path.name}.{self._run}.tmp"))

    def end(self, table: str) -> UnloadReport:
        """Write the manifest, and return the report."""
        if self._write is not None:
            self._end_file()
        report = self.report
        report.seconds = monotonic() - self._start
        content = {
            "table": table,
            "format": self._format,
            "rows": report.rows,
            "files": [{"name": name, "rows": rows} for name, rows in self.row_counts.items()],
        }
        self._check_own_files()
        # Write the manifest last, because it means that the folder is complete.
        write_json(self.folder / MANIFEST, content, indent=1)
        self._is_complete = True
        self._sign.remove()
        return report

    def _has_files(self) -> bool:
        """Return True if the folder has files other than the sign of an unfinished unload."""
        return any(path.name != UNFINISHED for path in self.folder.iterdir())

    def _check_empty(self) -> None:
        """Raise FileExistsError for a folder with files.

        A load of the folder would also read the files of an earlier unload.
        """
        if self._has_files():
            raise FileExistsError(
                f"the folder {os.fspath(self.folder)!r} is not empty"
                + ("" if (self.folder / MANIFEST).exists() else f", and has no {MANIFEST}")
                + ": an unload needs a new or empty folder"
            )

    def _check_own_files(self) -> None:
        """Raise FileExistsError if another program has written or changed files of the folder.

        This happens if the folder cannot be locked, so that another unload could write to it as
        well.
        """
        others = {path.name for path in self.folder.iterdir()} - self.row_counts.keys()
        foreign = sorted(name for name in others if name.startswith(("part-", ".part-", MANIFEST)))
        changed = []
        for path, size in self._sizes.items():
            # The application may move or delete complete files while the unload goes on.
            with suppress(FileNotFoundError):
                if path.stat().st_size != size:
                    changed.append(path.name)
        if foreign or changed:
            raise FileExistsError(
                f"another program has written {', '.join([*foreign, *changed])} into the folder "
                f"{os.fspath(self.folder)!r} during the unload: unload into a new folder"
            )

    def abandon(self) -> None:
        """Clean up after an unload that failed; do nothing if it succeeded.

        This removes the incomplete file. It also removes the folder if the folder is empty and this
        unload has created it, so that the unload can be repeated with the same arguments.
        """
        if self._is_complete:
            return
        try:
            self._stack.close()
        finally:
            # Clean up even if the file cannot be closed, for example because the disk is full.
            if self._path is not None:
                Path(self._temporary_path(self._path)).unlink(missing_ok=True)
            # If complete files remain, keep the sign, which says that other files are missing.
            if self._has_files() or self._sign.was_there:
                self._sign.release()
            else:
                self._sign.remove()
                if self._is_new:
                    with suppress(OSError):  # another unload has begun to write into it
                        self.folder.rmdir()


class _RowGroup:
    """Collects the record batches of several pages for one row group of a Parquet file.

    A scan reads a table in at least 64 ranges, so the pages of a small table have few rows or none.
    A row group has metadata and a dictionary for each column, so if each page was a row group, such
    a table would have files of many times the size, which take many times as long to read.

    :param batches: has made the record batches.
    :param file: the `pyarrow.parquet.ParquetWriter`.
    """

    def __init__(self, batches: Batches, file: Any) -> None:
        self._maker = batches
        self._file = file
        self._batches: list[Any] = []
        self._rows = self._bytes = 0

    def add(self, batch: Any) -> None:
        """Add the rows of a page, and write the row group if it is large enough.

        :param batch: a `pyarrow.RecordBatch`.
        """
        if not batch.num_rows:
            return
        # Write what there is if the page would make the row group too large.
        if self._batches and (
            self._rows + batch.num_rows > ROWS_OF_A_GROUP
            or self._bytes + batch.nbytes > BYTES_OF_A_GROUP
        ):
            self.write()
        self._batches.append(batch)
        self._rows += batch.num_rows
        self._bytes += batch.nbytes

    def write(self) -> None:
        """Write the collected rows, if there are any, as a row group."""
        batches, rows = self._batches, self._rows
        self._batches, self._rows, self._bytes = [], 0, 0
        if batches:
            self._file.write_table(self._maker.table(batches), row_group_size=rows)


@contextmanager
def _counted(rows: Sequence[Any]) -> Iterator[Iterator[Any]]:
    """Count the rows while the ``with`` body converts them; add the row number to an error.

    The number is put before the message of an error for a value, so that `Scan.locating` can find
    the row's primary key.
    """
    number = 0

    def counted_rows() -> Iterator[Any]:
        nonlocal number
        for number, row in enumerate(rows):  # noqa: B007 (used below)
            yield row

    try:
        yield counted_rows()
    except (TypeError, ValueError) as error:
        # Change errors of exactly these classes only: the arguments of an instance of a subclass,
        # such as UnicodeError, may not be a message.
        if type(error) in (TypeError, ValueError):
            error.args = (f"row {number}, {error}",)
        raise


def _has_fields(cql_type: type[_CassandraType]) -> bool:
    """Return True if a type is a tuple or a user-defined type, or contains one."""
    return issubclass(cql_type, TupleType) or any(map(_has_fields, cql_type.subtypes or ()))


def _key_names(scan: Scan | AsyncScan) -> list[str]:
    """Return the columns of the table's primary key; [] if the table does not exist."""
    with suppress(KeyError, ValueError):
        return scan._key_names()
    return []


def _short_keys(scan: Scan | AsyncScan) -> dict[str, bool]:
    """Return the clustering columns that may be missing in a row of the table, by name.

    The value is True if a load of CSV reads an empty field of the column as an empty value, and
    False if it reads null.

    :param scan: the scan, which knows the table.
    """
    with suppress(KeyError, ValueError):  # the table may not exist
        table = scan._table_metadata()
        columns = [table.clustering_key[width] for width in short_key_widths(table)]
        return {column.name: column.cql_type in _EMPTY_TYPES for column in columns}
    return {}


# The types whose values may be empty. In a key column of one of these types, a load reads an empty
# field as an empty value.
_EMPTY_TYPES = ("ascii", "blob", "text", "varchar")


def _with_quoted_mark(lines: bytes) -> bytes:
    """Quote the first field of a file if it begins with U+FEFF.

    Otherwise readers would take this character for a byte order mark, and remove it.
    """
    if not lines.startswith(BOM_UTF8):
        return lines
    # The field begins without a quote, so it cannot contain a comma or a line end.
    field = re.split(rb"[,\n]", lines, maxsplit=1)[0]
    return b'"' + field + b'"' + lines[len(field) :]


def _check_folder(target: str | Path, format: str) -> None:
    """Raise TypeError or ValueError if `target` is certainly not the path of a folder.

    For example, it is a URL, or a name like "rows.csv" although `format` is another format.
    """
    if not isinstance(target, (str, os.PathLike)):
        raise TypeError(
            f"unload writes a folder of files, and not to a {type(target).__name__}: write the "
            "path of the folder; session.scan(table) has the rows"
        )
    name = os.fspath(target)
    # Refuse a URL, or a path that only a shell would expand.
    scheme, colon, _ = name.partition("://")
    if colon and scheme.isalnum():
        raise ValueError(
            f"unload writes a folder on this machine, and not to {name!r}: unload into a folder "
            f"and copy it to {scheme}://, or write session.scan(table).to_pandas() and "
            f"frame.to_parquet({name!r})"
        )
    if name.startswith("~"):
        raise ValueError(
            f"a folder called {name!r} is probably not meant: write os.path.expanduser({name!r}), "
            "because only a shell replaces ~"
        )
    # Refuse a pipe, a terminal, and "-", which certainly does not mean a folder.
    if name == "-" or _is_device(name):
        raise ValueError(
            f"unload writes a folder of files, and not to {name!r}: name a folder, then read its "
            "files, for example by cat folder/part-*; in Python, session.scan(table) has the rows"
        )
    # Refuse a name that ends like the name of a file.
    ending = os.path.splitext(name)[1].lower()
    if ending in OTHER_ENDINGS:
        raise ValueError(
            f"unload writes a folder of files in the format {', '.join(FORMATS[:-1])} or "
            f"{FORMATS[-1]}, and not {name!r}: name a folder"
        )
    named_format = _ENDINGS.get(ending)
    if named_format is not None and named_format != format:
        raise ValueError(
            f"{os.fspath(target)!r} names a file of {ending[1:]}, but unload writes a folder of "
            f"files in the format {format!r}: write format={named_format!r}, or name a folder"
        )
    if named_format is not None or _COMPRESSED_FILE.search(name):
        warn(
            f"{name!r} becomes a folder of files, although its name is like that of a file: name a "
            f"folder, as {_name_beside(Path(name))!r}, or for a single file write "
            "session.scan(table).to_pandas() and a method of the frame"
        )


# Matches the end of a compressed file's name.
_COMPRESSED_FILE = re.compile(r"\.(csv|jsonl?|parquet)\.\w{2,4}$", re.IGNORECASE)


def _name_beside(path: Path) -> str:
    """Return the name of a folder to suggest instead of the name of a file."""
    stem = path.name.partition(".")[0]
    return os.fspath(path.with_name(stem if stem and path.suffix else f"{path.name}-files"))


def _is_device(path: str) -> bool:
    """Return True if a path is a device or a pipe."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return False
    return path.startswith("/dev/std") or not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


# The format that the ending of a file's name suggests.
_ENDINGS = {".csv": "csv", ".json": "jsonl", ".jsonl": "jsonl", ".parquet": "parquet"}


def _check_parquet(compression: str | None, number_options: dict[str, Any]) -> None:
    """Raise an error for invalid Parquet options before the first page is read."""
    columnar = columnar_module()
    pyarrow = columnar.pyarrow_module("unload to Parquet")
    columnar.ColumnOptions(**number_options).checked()  # raises an error for an invalid value
    # pyarrow accepts these values for "no compression", but not as names of codecs.
    if compression in (None, "none", "NONE"):
        return
    try:
        is_available = pyarrow.Codec.is_available(compression)
    except (ValueError, TypeError):
        is_available = False
    if not is_available:
        advice = ": write 'gzip'" if compression in ("gz", "zip", "GZ") else ""
        raise ValueError(f"pyarrow has no compression {compression!r} here{advice}")


async def _in_thread(call: Callable[..., T], *arguments: Any) -> T:
    """Call a function in a thread, and wait for it even if this task is cancelled.

    If we did not wait, the caller could close a file while the thread writes to it.
    """
    thread_task = asyncio.ensure_future(asyncio.to_thread(call, *arguments))
    try:
        # `shield` protects `thread_task` from being cancelled. That would not stop the thread, but
        # we could no longer wait for it.
        return await asyncio.shield(thread_task)
    except asyncio.CancelledError:
        # The task may be cancelled again during this wait, for example at the end of the program.
        while not thread_task.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([thread_task])
        raise


def _json_row(names: Sequence[str], row: Sequence[object]) -> dict[str, Any]:
    """Return a row as a JSON object; if a value fails, the error names its column."""
    content: dict[str, Any] = {}
    try:
        for name, value in zip(names, row, strict=True):
            content[name] = json_of(value, refuse_other)
    except TypeError as error:
        raise TypeError(f'column "{names[len(content)]}": {error}') from error
    return content


def unload(
    session: Session,
    table: str,
    target: str | Path,
    *,
    format: str = "parquet",
    columns: Sequence[str] | str | None = None,
    where: str | None = None,
    compression: str | None = None,
    file_bytes: int = BYTES_OF_A_FILE,
    decimals: Literal["text"] | tuple[int, int] = "text",
    varints: Literal["text", "int64"] = "text",
    **options: Any,
) -> UnloadReport:
    """Write a table to files in a folder.

    If columns have masks, and the role of the session lacks the permission UNMASK, the unload warns
    that it writes masks.

    :param session: a blocking session.
    :param table: the table.
    :param target: the folder to write to. It must be empty, or is created.
    :param format: "parquet", "csv" or "jsonl".
    :param columns: column names; None for all.
    :param where: a condition in CQL; None for all rows.
    :param compression: "gzip" for CSV and JSON lines, a codec of pyarrow for Parquet.
    :param file_bytes: begin a new file after the servers have sent this number of bytes for the
        current file. The size of the file on disk differs from this number.
    :param decimals: for Parquet, "text" or (precision, scale). A value that does not fit exactly
        raises `DecodeError`.
    :param varints: for Parquet, "text" or "int64".
    :param options: see `cassandra.bulk.UnloadOptions`.
    :raises ValueError: for an unknown format, or an option that the format does not have, or if a
        load of the files would write a row of a table with compact storage with another key.
    :raises FileExistsError: if the folder is not empty.
    :raises TypeError: if a value cannot be written as CSV or JSON.
    """
    form = _form_of(options)  # the remaining options are options of the scan
    scan = Scan(session, table, columns, where, _checked_scan_options(options))  # type: ignore[arg-type]
    number_options = {"decimals": decimals, "varints": varints}
    writer = _Writer(target, format, compression, file_bytes, number_options, form)
    try:
        drive(mask_steps(session, table, columns, "the unload"), performer(session))
        writer.short_keys, writer.key_names = _short_keys(scan), _key_names(scan)
        for page in scan.pages():
            with scan.locating(page):
                writer.add(page)
        report = writer.end(table)
        _warn_of_empty_texts(scan, writer.empty_text_columns)
        _warn_of_completed_keys(writer.completed_keys)
        return report
    finally:
        writer.abandon()  # removes the incomplete file if the unload has failed


async def aunload(
    session: AsyncSession,
    table: str,
    target: str | Path,
    *,
    format: str = "parquet",
    columns: Sequence[str] | str | None = None,
    where: str | None = None,
    compression: str | None = None,
    file_bytes: int = BYTES_OF_A_FILE,
    decimals: Literal["text"] | tuple[int, int] = "text",
    varints: Literal["text", "int64"] = "text",
    **options: Any,
) -> UnloadReport:
    """Write a table to files in a folder, on asyncio; files are written in a thread.

    :param session: a session of `cassandra.aio`.
    :param table: the table.
    :param target: the folder to write to. It must be empty, or is created.
    :param format: "parquet", "csv" or "jsonl".
    :param columns: column names; None for all.
    :param where: a condition in CQL; None for all rows.
    :param compression: "gzip" for CSV and JSON lines, a codec of pyarrow for Parquet.
    :param file_bytes: begin a new file after the servers have sent this number of bytes for the
        current file. The size of the file on disk differs from this number.
    :param decimals: for Parquet, "text" or (precision, scale). A value that does not fit exactly
        raises `DecodeError`.
    :param varints: for Parquet, "text" or "int64".
    :param options: see `cassandra.bulk.UnloadOptions`.
    :raises ValueError: for an unknown format, or an option that the format does not have, or if a
        load of the files would write a row of a table with compact storage with another key.
    :raises FileExistsError: if the folder is not empty.
    :raises TypeError: if a value cannot be written as CSV or JSON.
    """
    form = _form_of(options)  # the remaining options are options of the scan
    scan = AsyncScan(session, table, columns, where, _checked_scan_options(options))  # type: ignore[arg-type]
    number_options = {"decimals": decimals, "varints": varints}
    writer = _Writer(target, format, compression, file_bytes, number_options, form)
    try:
        await adrive(mask_steps(session, table, columns, "the unload"), performer(session))
        writer.short_keys, writer.key_names = _short_keys(scan), _key_names(scan)
        async with aclosing(scan.pages()) as pages:
            async for page in pages:
                # Compressing and writing may block for long, so do it in a thread.
                with scan.locating(page):
                    await _in_thread(writer.add, page)
        report = await _in_thread(writer.end, table)
        _warn_of_empty_texts(scan, writer.empty_text_columns)
        _warn_of_completed_keys(writer.completed_keys)
        return report
    finally:
        writer.abandon()  # removes the incomplete file if the unload has failed


def _warn_of_completed_keys(columns: Iterable[str]) -> None:
    """Warn if values of the key lack their last fields, for which files have nulls."""
    for column in columns:
        warn(
            f"column {column!r} of the key has values that lack their last fields, and the files "
            "have nulls for these: a load writes such rows with another key. copy(...) keeps them"
        )


def _warn_of_empty_texts(scan: Scan | AsyncScan, columns: Iterable[str]) -> None:
    """Warn if the CSV files have empty strings, which look the same as nulls.

    :param scan: the scan, which knows the primary key.
    :param columns: the columns that have empty strings. We do not warn of columns of the primary
        key, because a key is never null, so a load reads their empty strings correctly. The
        exception are clustering columns of a table with static columns, because rows may lack them.
    """
    with suppress(KeyError, ValueError):  # the table may have been dropped
        table = scan._table_metadata()
        has_static = any(column.is_static for column in table.columns.values())
        clustering_names = [column.name for column in table.clustering_key]
        key_names = scan._key_names()
        for column in columns:
            if column not in key_names:
                effect = "a load reads both as null"
                if getattr(table, "is_compact_storage", False):
                    # A load would write null, which deletes a row of such a table if the row has no
                    # other value.
                    effect += " and, with COMPACT STORAGE, refuses rows without any value"
            elif has_static and column in clustering_names:
                effect = (
                    "a load takes a row that has only static values for one without this column"
                )
            else:
                continue
            warn(
                f"column {column!r} has empty texts, which CSV has written like nulls: {effect}. "
                "To tell them apart, write null='NULL', also for the load"
            )
            return


def _form_of(options: dict[str, Any]) -> FileForm:
    """Move the options for text files, such as the delimiter, from `options` to a new `FileForm`.

    The options that remain in `options` are options of the scan.
    """
    names = [field.name for field in fields(FileForm) if field.name in options]
    return FileForm(**{name: options.pop(name) for name in names})


def _checked_scan_options(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options of the scan; raise TypeError for options that an unload does not have.

    `row_type` would have no effect on files. `checkpoint` cannot work, because an unload cannot
    continue an incomplete file.
    """
    for name in ("row_type", "checkpoint"):
        if options.get(name) is not None:
            raise TypeError(f"an unload does not have the option {name!r}")
    unknown = next((name for name in options if name not in RangeOptions.__annotations__), None)
    if unknown is not None:
        names = {*UnloadOptions.__annotations__, "columns", "compression", "format", "where"}
        raise unknown_option("an unload does not have the option", unknown, sorted(names), _INSTEAD)
    return options


# What to write instead of option names of other APIs.
_INSTEAD = {
    **IN_ALL_CALLS,
    **FOR_READING,
    **FOR_TEXT_FILES,
    **dict.fromkeys(("na_rep", "null_value", "null_values"), "write null='NULL'"),
    **dict.fromkeys(
        ("overwrite", "mode", "if_exists", "append"),
        "an unload never replaces files: name a folder that is empty or new",
    ),
    **dict.fromkeys(
        ("partition_by", "partition_cols", "partitionBy"),
        "write a folder for each part, with where='column = ?', parameters=[5]",
    ),
    **dict.fromkeys(
        ("chunksize", "batch_size", "row_group_size", "max_rows_per_file"),
        "file_bytes= is the size of a file, and page_size= the rows of a request",
    ),
    **dict.fromkeys(("filter", "condition", "filters"), "write where='column > ?', parameters=[5]"),
    **dict.fromkeys(
        ("query", "sql", "statement"),
        "write columns=['id', 'name'] and where='column > ?', parameters=[5]; for other "
        "statements, write session.execute(query).to_pandas().to_csv(path)",
    ),
    **dict.fromkeys(
        ("single_file", "single", "one_file", "num_files"),
        "an unload writes a folder of files: write file_bytes=10**12 for one large file in it",
    ),
    "index": "leave it out: the rows of a table have no index",
    **dict.fromkeys(("usecols", "select", "fields"), "write columns=['id', 'name']"),
    **dict.fromkeys(("order_by", "sort", "sort_by"), "rows have no order: sort the files' rows"),
}
