"""Sources of rows: iterables, data frames, Arrow data, and CSV, JSON lines and Parquet files.

A source is read in chunks. A chunk has rows that are bound together, and their position in the
source. Files are read one after another, and only about one chunk of them is in memory. The files
of a folder or glob are sorted by name.
"""

from __future__ import annotations

import glob
import json
import os
import re
import sys
from collections import Counter
from collections.abc import (
    Generator,
    ItemsView,
    Iterable,
    Iterator,
    KeysView,
    Mapping,
    Sequence,
    Set,
)
from functools import cache, partial
from itertools import islice
from types import FunctionType
from typing import Any

from cassandra._clocks import monotonic
from cassandra._later_warnings import warn
from cassandra._logs import Log
from cassandra.bulk import chunks
from cassandra.bulk.arrow_sizes import pieces_of, size_of
from cassandra.bulk.async_rows import AsyncRows
from cassandra.bulk.chunks import Chunk, Part, Position, Reading, rows_of_a_chunk, slice_of
from cassandra.bulk.fields import check_dates, select_columns
from cassandra.bulk.files import READERS, fields_of_file
from cassandra.bulk.lost_times import LostTimes
from cassandra.bulk.opened import MANIFEST, STANDARD_INPUT, UNFINISHED, bare_name, is_pipe
from cassandra.bulk.row_sizes import MEASURED, size_of_row
from cassandra.cqltypes.failures import add_note
from cassandra.errors import DependencyException
from cassandra.protocol.columnar.named_arrays import NamedArrays
from cassandra.query.snapshots import snapshot
from cassandra.query.tables.rows import arrow_batches, is_array, is_arrow, is_frame, without_views
from cassandra.query.tables.types import dtype_kind
from cassandra.query.tables.values import (
    array_values,
    arrow_values,
    mark_unfit,
    series_values,
    type_of_items,
)

log = Log(__name__)

# The format of a file, by the ending of its name.
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
# For files of other formats, the pandas function that reads them. Error messages propose it.
_READERS_OF_PANDAS = {
    ".xlsx": "read_excel",
    ".xls": "read_excel",
    ".ods": "read_excel",
    ".feather": "read_feather",
    ".arrow": "read_feather",
    ".orc": "read_orc",
    ".xml": "read_xml",
    ".pkl": "read_pickle",
    ".pickle": "read_pickle",
    ".dta": "read_stata",
    ".sas7bdat": "read_sas",
    ".h5": "read_hdf",
}
# The endings of databases and of NumPy's files: error messages say how to load their data.
_DATABASES = (".db", ".sqlite", ".sqlite3", ".duckdb")
_ARRAYS = (".npy", ".npz")
# The endings of files whose formats loads and unloads do not support.
OTHER_ENDINGS = frozenset((*_READERS_OF_PANDAS, *_DATABASES, *_ARRAYS))
# The endings of archives, which may contain several files.
_ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".7z", ".rar")
# Classes of objects whose whole size pandas measures.
_MEASURED_BY_PANDAS = frozenset({str, bytes, int, float, bool, type(None)})
SAMPLE = 1000  # the approximate number of a frame's rows that we measure to estimate its size


def format_of(path: str, format: str | None, instead: str = "") -> str:
    """Return the format of a file.

    :param path: the name of the file.
    :param format: the format that the application has specified; None derives it from the name.
    :param instead: further advice for the error message, after the advice to write the format.
    :raises ValueError: if the format is unknown.
    """
    # The application has specified the format.
    if format is not None:
        if format not in ("csv", "jsonl", "parquet"):
            instead = ": JSON is read as lines, 'jsonl'" if format in ("json", "ndjson") else ""
            raise ValueError(
                f"format must be 'csv', 'jsonl' or 'parquet', but is {format!r}{instead}"
            )
        return format
    # rows.csv.gz is CSV; the compression is handled when the file is opened.
    ending = os.path.splitext(bare_name(path))[1]
    known_format = _ENDINGS.get(ending)
    if known_format is None:
        # The name ends like a file of another format: say how to load such a file.
        pandas_reader = _READERS_OF_PANDAS.get(ending)
        if pandas_reader is not None:
            raise ValueError(
                f"{path!r} is not CSV, JSON lines or Parquet: write load(table, "
                f"pandas.{pandas_reader}({path!r}))"
            )
        if path.lower().endswith(_ARCHIVES):
            raise ValueError(
                f"{path!r} is an archive of files: unpack it first; a load reads files that are "
                "compressed one by one, such as rows.csv.gz"
            )
        if ending in _DATABASES:
            raise ValueError(
                f"{path!r} is a database: write load(table, duckdb.sql('SELECT ...')), or pass the "
                "rows of another query"
            )
        if ending in _ARRAYS:
            raise ValueError(
                f"{path!r} has arrays without names: write load(table, {{'id': ids, 'column': "
                f"numpy.load({path!r})}})"
            )
        raise ValueError(
            f"the format of {path!r} is not known by its name: write format='csv', 'jsonl' or "
            f"'parquet'{instead}"
        )
    return known_format


class RowsOfColumns(Sequence[dict[str, Any]]):
    """The rows of a mapping {column name: column}, as dicts.

    :param columns: a sequence or array of values for each column.
    :raises ValueError: if the columns have different lengths.
    :raises TypeError: if the values of a column have no order.
    """

    def __init__(self, columns: Mapping[str, Any]) -> None:
        lengths = {str(name): len(values) for name, values in columns.items()}
        if len(set(lengths.values())) > 1:
            lengths_by_name = ", ".join(f"{name!r} has {count}" for name, count in lengths.items())
            raise ValueError(
                f"the columns are of different lengths: {lengths_by_name}"
                f"{_transposed(columns, set(lengths.values()))}"
            )
        self._columns = {name: _by_position(name, values) for name, values in columns.items()}
        self._count = next(iter(lengths.values()), 0)  # the number of rows
        # True for the columns that `to_numpy` returns, which have plain CQL values, as tables do.
        # An application's own mapping may have its own objects, even in arrays.
        self.is_plain = isinstance(columns, NamedArrays)
        # By column name, the CQL types of the columns without a converter.
        self._types: dict[str, Any] = {}
        # By column name, the CQL types of the columns whose values `__iter__` converts.
        self._converted_types: dict[str, Any] = {}

    def convert_scalars(
        self, types: Mapping[str, tuple[str, Any]], lost_times: LostTimes | None
    ) -> None:
        """Convert values of Arrow and NumPy when rows are iterated over, for these columns.

        Arrow's values are converted like the values of an Arrow table. NumPy's datetime64 and
        timedelta64 become values of the column's type. In blob columns, NumPy's strings and numbers
        become Python objects, which cannot be bound to blobs. We convert NumPy's scalars although
        codecs accept them, for two reasons: codecs are slower with them, and would accept wrong
        values (datetime64 as a float, and the memory of any scalar as a blob).

        :param types: for each field that is written, its column and CQL type.
        :param lost_times: warns of times of day that a date column would lose; None does not warn.
        :raises ValueError: if an array has integers for dates.
        """
        for name, values in self._columns.items():
            if name not in types:
                continue
            column, cql_type = types[name]
            self._types[name] = cql_type
            # Only warn of integers in lists, as in the application's rows: see `Binder`.
            if _is_arrow_column(values) or hasattr(values, "dtype") or hasattr(values, "typecode"):
                check_dates(values, column, cql_type, lost_times)
            if _is_arrow_column(values) or _is_series(values):
                self._converted_types[name] = cql_type
                continue
            if not is_array(values):
                continue
            # If an array has two dimensions, each of its rows is a vector or another collection.
            item_type = type_of_items(values, cql_type)
            if item_type is None:
                continue
            kind = values.dtype.kind
            is_bytes = item_type.codec().cql_name == "blob" and kind in _NO_BYTES
            # Values of the kind "V" are the records of a structured array.
            if kind not in "mMV" and not is_bytes:
                continue
            self._converted_types[name] = cql_type

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[dict[str, Any]]:
        # Convert a limited number of values at a time, to limit the memory of the converted values.
        size = sum(map(_size_of_column, self._columns.values()))
        step = min(chunks.OBJECT_ROWS, rows_of_a_chunk(size, self._count))
        for start in range(0, self._count, step):
            numbers = range(start, min(start + step, self._count))
            columns = [self._items(name, numbers) for name in self._columns]
            for values in zip(*columns, strict=True):
                yield dict(zip(self._columns, values, strict=True))

    def _items(self, name: str, numbers: range) -> Iterable[Any]:
        """Return the values of a column in consecutive rows; unfit values are marked."""
        values = self._values(name, numbers)
        return mark_unfit(values, self._types[name]) if name in self._types else values

    def _values(self, name: str, numbers: range) -> Iterable[Any]:
        """Return the values of a column in consecutive rows."""
        values: Any = self._columns[name]
        cql_type = self._converted_types.get(name)
        if _is_arrow_column(values):
            part = values[numbers.start : numbers.stop]
            # The type is None if the column has a converter or is not written.
            if cql_type is not None:
                return arrow_values(without_views(part), cql_type)
            items: list[Any] = part.to_pylist()
            return items
        if _is_series(values):
            series = values.iloc[numbers.start : numbers.stop]
            return series.array if cql_type is None else series_values(series, cql_type)
        if cql_type is None:
            # Get a value only when its row is needed: each value may be a new object.
            return map(values.__getitem__, numbers)
        return array_values(values[numbers.start : numbers.stop], cql_type)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[row] for row in range(*index.indices(self._count))]
        if not 0 <= index < self._count:  # negative indexes are not supported
            raise IndexError(index)
        numbers = range(index, index + 1)
        return {name: next(iter(self._items(name, numbers))) for name in self._columns}


def _is_arrow_column(values: object) -> bool:
    """Return True for an array or a chunked array of pyarrow, whose items are Arrow scalars."""
    return hasattr(values, "to_pylist") and hasattr(values, "type")


def _is_series(values: object) -> bool:
    """Return True for a Series of pandas, which `_by_position` keeps if it has dates or times."""
    return hasattr(values, "iloc") and hasattr(values, "dt")


def _size_of_column(values: Any) -> int:
    """Return the size of a column of `RowsOfColumns` in bytes; 0 if it is not known."""
    if _is_arrow_column(values):
        return size_of(values)
    size: int = getattr(values, "nbytes", 0)
    return size


def _transposed(columns: Mapping[str, Any], lengths: Set[int]) -> str:
    """Return advice for a matrix whose second dimension is the number of rows; else "".

    :param columns: the columns, which have different lengths.
    :param lengths: the lengths of the columns.
    """
    for name, values in columns.items():
        shape: Any = getattr(values, "shape", ())
        if len(shape) == 2 and shape[0] != shape[1] and lengths == set(shape):
            return (
                f"; {str(name)!r} is an array of {shape[0]} rows and {shape[1]} columns: write "
                "array.T if each of its columns is a value"
            )
    return ""


# The kinds of NumPy's types for numbers and strings, whose memory must not be stored in a blob.
_NO_BYTES = frozenset("biufcU")


def _by_position(name: object, values: Any) -> Sequence[Any]:
    """Return the values of a column in a form whose items are accessed by position.

    `values[i]` of a pandas Series means the item with the label `i`. In a sorted or filtered
    Series, this is not the item at position `i`.
    """
    if isinstance(values, (KeysView, ItemsView)):
        return list(values)
    if isinstance(values, (Mapping, Set)):
        raise TypeError(
            f"the column {str(name)!r} is a {type(values).__name__}, whose values have no position "
            "among the rows: write a list"
        )
    items: Sequence[Any]
    if hasattr(getattr(values, "dtype", None), "pyarrow_dtype"):
        items = getattr(values, "array", values).__arrow_array__()
        return items
    if dtype_kind(values) in ("m", "M") and hasattr(values, "isna"):
        import pandas

        # Only a Series can be converted to a date in its own time zone.
        items = pandas.Series(values)
        return items
    if hasattr(values, "iloc"):
        # `Series.array` has the same values as the Series, and faster access to them.
        items = getattr(values, "array", values.iloc)
        return items
    return values if hasattr(values, "__getitem__") else list(values)


def rows_of_columns(source: object) -> object:
    """Return the rows of a mapping {column name: column}; return any other source unchanged.

    :param source: as for `chunks_of`, or such a mapping.
    """
    if isinstance(source, Mapping) and source:
        values = source.values()
        if all(
            hasattr(column, "__len__") and not isinstance(column, (str, bytes)) for column in values
        ):
            return RowsOfColumns(source)
    return source


def _advice_on_column(mapping: Mapping[Any, Any]) -> str:
    """Return advice for a mapping that mixes columns and single values; "" if it is a row.

    Such a mapping has a list or tuple for one name, and a single value for another.
    """
    lists = [value for value in mapping.values() if isinstance(value, (list, tuple))]
    for name, value in mapping.items():
        if lists and (isinstance(value, str) or not hasattr(value, "__len__")):
            return f", or {{{name!r}: [{value!r}] * {len(lists[0])}, ...}} for columns"
    return ""


def chunks_of(source: object, reading: Reading) -> Generator[Chunk, None, None]:
    """Return an iterator over the chunks of a source.

    :param source: a path or glob, a sequence of paths and globs, a data frame, Arrow data, or an
        iterable of rows.
    :param reading: the options for reading.
    :raises FileNotFoundError: if no file has the name.
    :raises TypeError: if `source` has another type.
    :raises ValueError: if a file's format is unknown.
    """
    paths = files_of(source)
    if paths is not None:
        # Check the format of all files before the first file is read, so that an unknown format
        # does not end the load in the middle.
        _formats_of(paths, reading)
        return _chunks_of_files(paths, reading)
    # These objects are iterable, but their items are not rows.
    if isinstance(source, (bytes, bytearray)):
        raise TypeError(
            "rows come from a file, a frame, a mapping of columns or an iterable, not from "
            f"{type(source).__name__}: save the content as a file, and write its name"
        )
    if isinstance(source, Mapping):
        raise TypeError(
            "rows come from a file, a frame, a mapping of columns or an iterable, not from a "
            f"single {type(source).__name__}: write [row] for one row{_advice_on_column(source)}"
        )
    if hasattr(source, "readline"):
        name = getattr(source, "name", None)
        instead = f"its name, {name!r}" if isinstance(name, str) else "csv.DictReader(file)"
        raise TypeError(
            f"rows do not come from an open file ({type(source).__name__}): write {instead}"
        )
    if hasattr(source, "to_frame"):
        raise TypeError(
            f"rows come from a table, and a {type(source).__name__} is a single column: write "
            "load(table, {name: series}), or a frame"
        )
    # The source is a table: an array, a data frame or Arrow data.
    if is_array(source) or is_frame(source) or is_arrow(source):
        return _chunks(_parts_of_table(source, reading), reading.skip.row)
    if not isinstance(source, Iterable):
        # An object that is not iterable: say how to get rows from it.
        instead = ""
        if hasattr(source, "collect"):  # LazyFrame of polars, for example
            instead = (
                ": write load(table, frame.collect()), or load(table, frame.collect_batches())"
            )
        elif isinstance(source, FunctionType):
            instead = f": write {source.__name__}(), with parentheses"
        elif hasattr(source, "cursor"):
            instead = ": write load(table, connection.execute('SELECT ...').fetchall())"
        elif hasattr(source, "__aiter__"):
            instead = (
                ": only a session of cassandra.aio can read it, by await session.load(table, rows)"
            )
        raise TypeError(
            "rows come from a file, a frame, a mapping of columns or an iterable, not from "
            f"{type(source).__name__}{instead}"
        )
    return _chunks(_parts_of_rows(source), reading.skip.row)


def files_of(source: object, left_out: Iterable[str] = ()) -> list[str] | None:
    """Return the files of a source, in the order in which they are read; None if it has no files.

    A file that is named twice is read once.

    :param source: as for `chunks_of`.
    :param left_out: files that the load writes. They are skipped in folders and globs.
    :raises FileNotFoundError: if there is no such file, or a folder has no files.
    :raises ValueError: if a pipe, which can be read only once, appears twice, or if a folder or
        glob contains a folder.
    """
    if isinstance(source, (str, os.PathLike)):
        names: Sequence[Any] = [source]
    elif isinstance(source, (list, tuple)) and source and isinstance(source[0], (str, os.PathLike)):
        names = source
    else:
        return None  # if the first item of a list is not a path, its items are rows
    for name in names:
        if not isinstance(name, (str, os.PathLike)):
            raise TypeError(f"a list of files has a {type(name).__name__}: {name!r}")
    excluded = {os.path.realpath(path) for path in left_out}
    paths = [path for name in names for path in _expand_path(os.fspath(name), excluded)]
    for path, count in Counter(paths).items():
        if count > 1 and is_pipe(path):
            raise ValueError(f"{path} stands twice among the files, and can be read once")
    # Two arguments, such as "c*.csv" and "c.csv", may name the same file. If the file were read
    # twice, a load of counters would add its values twice.
    first_paths: dict[str, str] = {}
    for path in paths:
        first_paths.setdefault(path if is_pipe(path) else os.path.realpath(path), path)
    return list(first_paths.values())


def _formats_of(paths: Sequence[str], reading: Reading) -> list[str]:
    """Return the format of each file of a source.

    :raises ValueError: if a format is unknown.
    """
    instead = _pattern_advice(paths)
    return [format_of(path, reading.format, instead) for path in paths]


def _pattern_advice(paths: Sequence[str]) -> str:
    """Return advice how to name only some files of a folder, for an error; "" for no advice."""
    folders = {os.path.dirname(path) for path in paths}
    endings = [os.path.splitext(path)[1] for path in paths]
    ending = next((ending for ending in endings if ending in _ENDINGS), None)
    if len(folders) != 1 or ending is None:
        return ""
    pattern = os.path.join(*folders, "*" + ending)
    return f", or name the files to load alone, as {pattern!r}"


def _expand_path(path: Any, excluded: Set[str]) -> list[str]:
    """Return the files of a path, folder or glob, sorted by name."""
    if isinstance(path, bytes):
        path = os.fsdecode(path)
    if path == STANDARD_INPUT or (os.path.exists(path) and not os.path.isdir(path)):
        return [path]
    if os.path.isdir(path):
        # Skip hidden files and metadata files: _SUCCESS of other tools, and _manifest.json of
        # `unload`.
        paths = [entry.path for entry in os.scandir(path) if entry.name[:1] not in "._"]
        _check_manifest(path, [os.path.basename(file_path) for file_path in paths])
        message = f"folder {path!r} has no file"
    else:
        paths = glob.glob(path, recursive=True)
        for folder in sorted({os.path.dirname(file_path) for file_path in paths}):
            if _is_unfinished(folder):
                warn(
                    f"folder {folder!r} lacks rows, because its unload was stopped or is running: "
                    f"only the files that {path!r} has found are loaded"
                )
        message = f"no file is named {path!r}{_instead_of_file(path)}"
    # A checkpoint counts files and rows, so each run must read the files in the same order.
    paths = sorted(file_path for file_path in paths if os.path.realpath(file_path) not in excluded)
    if not paths:
        raise FileNotFoundError(message)
    for file_path in paths:
        if os.path.isdir(file_path):
            raise ValueError(
                f"{file_path!r} is a folder, which {path!r} does not go into: name it, or its files"
            )
    return paths


def _check_manifest(folder: str, names: Sequence[str]) -> None:
    """Raise an error if a folder does not have each file that the manifest of an unload lists once.

    :param folder: the folder, with or without a manifest.
    :param names: the names of the files in the folder.
    :raises FileNotFoundError: for the first missing file. A file that was compressed or
        decompressed after the unload does not count as missing. The error is also raised if an
        unload into the folder was stopped or is still running, so that there is no manifest.
    :raises ValueError: if a file is there in two forms, such as ``a.csv`` and ``a.csv.gz``, whose
        rows would be written twice.
    """
    if _is_unfinished(folder):
        raise FileNotFoundError(
            f"folder {folder!r} lacks rows, because its unload was stopped or is running: unload "
            f"into another folder, or delete {UNFINISHED} in this folder to load its files"
        )
    for listed_name in _rows_in_manifest(folder):
        forms = [
            name
            for name in names
            if name == listed_name
            or name.startswith(f"{listed_name}.")
            or listed_name.startswith(f"{name}.")
        ]
        if len(forms) > 1:
            raise ValueError(
                f"folder {folder!r} has the file {listed_name!r} of its {MANIFEST} in several forms"
                f" ({', '.join(sorted(forms))}), so its rows would be written several times: "
                "delete the others"
            )
        if not forms:
            raise FileNotFoundError(
                f"folder {folder!r} lacks the file {listed_name!r}, which its {MANIFEST} lists: "
                "copy the whole folder, or delete the manifest to load the other files"
            )


def _is_unfinished(folder: str) -> bool:
    """Return True if a folder lacks files, because its unload was stopped or is running."""
    has_manifest = os.path.exists(os.path.join(folder, MANIFEST))
    return not has_manifest and os.path.exists(os.path.join(folder, UNFINISHED))


def _rows_in_manifest(folder: str) -> dict[str, Any]:
    """Return the number of rows in each file of an unload, by file name.

    {} if the folder has no manifest, or a manifest that another tool has written.
    """
    try:
        with open(os.path.join(folder, MANIFEST), encoding="utf-8") as file:
            return {listed["name"]: listed.get("rows") for listed in json.load(file)["files"]}
    except (OSError, ValueError, LookupError, TypeError):
        return {}


def is_unloaded(source: object) -> bool:
    """Return True if an unload has written a file of the source.

    :param source: as for `chunks_of`.
    """
    rows_in_manifest = cache(_rows_in_manifest)  # each file of a folder has the same manifest
    return any(
        os.path.basename(path) in rows_in_manifest(os.path.dirname(path))
        for path in files_of(source) or ()
    )


def _instead_of_file(path: str) -> str:
    """Return what the user probably meant by a path that does not exist; "" if we have no idea."""
    # The path may be a query, or the content of a file.
    if re.match(r"\s*(select|with|from)\s", path, re.IGNORECASE):
        return (
            ": a source is a file or rows, and no query: pass what the query returns, such as "
            "duckdb.sql(...), or session.scan(table, columns, where).reader()"
        )
    if re.match(r"\s*[\[{]", path):
        return (
            ": write json.loads(text) for rows of JSON, or pass a file of JSON lines, with one "
            "object a line"
        )
    if "\n" in path:
        return ": save the text as a file, whose fields are converted to the types of the columns"
    # The path may be a URL, or have parts that only a shell expands.
    scheme, colon, _ = path.partition("://")
    if colon and scheme.isalnum():
        return (
            f": files are read from this machine; fetch it first, or pass the frame that pandas, "
            f"polars or pyarrow reads from {scheme}://"
        )
    if path.startswith("~"):
        return f": write os.path.expanduser({path!r}), because only a shell replaces ~"
    if "$" in path:
        return f": write os.path.expandvars({path!r}), because only a shell replaces variables"
    # The arguments may be in the wrong order, or the source may be a list of values.
    if _TABLE_NAME.fullmatch(path) or re.fullmatch(r"\w+", path):
        return ": the table comes first, load(table, source)"
    if "," in path or ";" in path:
        return ": a list of strings is a list of paths; rows are tuples or mappings"
    return ""


# A string like "keyspace.table" that does not end like the name of a file.
_TABLE_NAME = re.compile(
    r"\w+\.(?!csv|tsv|txt|json|jsonl|parquet|gz|xz|bz2|zst|xlsx?|arrow|feather|orc|avro|zip|xml)\w+",
    re.IGNORECASE,
)


# -- the application's rows and tables -------------------------------------------------------------


def _chunks(
    parts: Iterable[Part], skip: int, first: int = 0, file: int = 0
) -> Generator[Chunk, None, None]:
    """Yield a chunk for each part of one file or table, without the first `skip` rows.

    :param first: the number of the first row, for messages.
    :param file: the index of the file in the source.
    :raises ValueError: if there are fewer rows than `skip`.
    """
    row = 0
    for part in parts:
        end = row + part.size
        # If an earlier run has processed all rows of this part, skip it without making a chunk,
        # because that would convert the rows.
        if end > skip:
            # The first argument is how many rows of this part an earlier run has processed.
            chunk = part.make_chunk(max(skip - row, 0), first + row)
            yield chunk._replace(position=Position(file, end))
        row = end
    if row < skip:
        raise ValueError(f"the checkpoint says that {skip} rows were read, and there are {row}")


# How many of the first items to check: somebody may have passed a tuple of columns instead of rows.
_COLUMNS_TO_CHECK = 10


def _parts_of_rows(rows: Iterable[Any]) -> Iterator[Part]:
    """Yield the application's rows in parts.

    A part is a list of rows. The parts end when `rows` ends for the first time.
    """
    # Copy the rows of a generator: it may yield the same dict or array for each row, but rows are
    # bound only when a part is full. Lists and mappings of columns need no copies, because they
    # hold all of their rows, and `AsyncRows` has already made copies. We wrap the rows in a
    # generator, which ends for good when the source ends for the first time. Otherwise a source
    # such as a consumer of a queue could yield more rows after its end, and the load would never
    # end.
    if isinstance(rows, (list, tuple, RowsOfColumns, AsyncRows)):
        iterator: Iterator[Any] = (row for row in rows)
    else:
        iterator = (snapshot(row) for row in rows)

    def make_chunk(chunk_rows: list[Any], cut: int, first: int) -> Chunk:
        """Make the chunk of a part, without its first `cut` rows (processed by an earlier run).

        `first` is the number of the part's first row.
        """
        return Chunk(
            rows=chunk_rows[cut:],
            size=len(chunk_rows) - cut,
            source=None,
            first=first + cut,
            lines=None,
            position=Position(0, 0),  # set by `_chunks`
            raw=None,
        )

    has_rows, count = False, 0
    while chunk_rows := _next_rows(iterator, min(chunks.OBJECT_ROWS, chunks.CHUNK_ROWS), count):
        count += len(chunk_rows)
        _check_row(chunk_rows[0])
        # Somebody may have passed a tuple of columns, which looks like a tuple of rows. The first
        # column may be a list of ids, so check the next items, too.
        if not has_rows:
            for row in chunk_rows[1:_COLUMNS_TO_CHECK]:
                if is_array(row):
                    _check_row(row)
        has_rows = True
        yield Part(len(chunk_rows), partial(make_chunk, chunk_rows))
    # Do not warn of generators: `Load` has refused a generator that was already read, so a
    # generator without rows is really empty.
    if not has_rows and isinstance(rows, Iterator) and not isinstance(rows, Generator):
        _warn_of_no_rows(rows)


# The beginning of the note on an error that the application's source has raised.
RAISED_BY_SOURCE = "(raised by the source"


def _warn_of_no_rows(source: object) -> None:
    """Warn that an iterator or reader had no rows, because it was probably read before."""
    warn(
        f"the {type(source).__name__} had no rows: if it was read before, make a new one, which "
        "returns each of its rows once"
    )


def _next_rows(iterator: Iterator[Any], limit: int, first: int) -> list[Any]:
    """Return the rows of about the next `chunks.OBJECT_SECONDS`, but at most `limit` rows.

    If the rows are large, return fewer: about `chunks.CHUNK_BYTES`, but at least one row. An empty
    list means that the rows have ended.

    :param iterator: the rows.
    :param first: how many rows were returned before. If the iterator raises an error, a note on
        the error has the number of the row.
    """
    start = monotonic()
    rows: list[Any] = []
    # The estimated size of the rows, and the size of the largest row that was measured.
    size, largest = 0, 1
    count = 1
    while True:
        earlier_count = len(rows)
        try:
            # If the iterator raises an error, `rows` still gets the rows before the error.
            rows.extend(islice(iterator, count))
        except Exception as error:
            add_note(error, f"{RAISED_BY_SOURCE} in place of row {first + len(rows)})")
            raise
        if len(rows) == earlier_count:
            break
        seconds = monotonic() - start
        # Look at the clock again after about half a second, estimated from the pace so far. But
        # look after 64 rows at the latest, because the next rows may be slower.
        rows_per_second = len(rows) / max(seconds, 1e-3)
        count = min(int(rows_per_second / 2) + 1, 64, limit - len(rows))
        # Measure one of MEASURED rows. 64 is not a multiple of MEASURED, so if large and small rows
        # alternate, we measure both.
        sizes = [size_of_row(row) for row in rows[earlier_count::MEASURED]]
        size += sum(sizes) * (len(rows) - earlier_count) // len(sizes)
        largest = max(largest, *sizes)
        # Read only as many rows as fit if all of them are as large as the largest row so far.
        count = min(count, (chunks.CHUNK_BYTES - size) // largest)
        if count <= 0 or seconds >= chunks.OBJECT_SECONDS:
            break
    return rows


def _check_row(row: Any) -> None:
    """Raise TypeError if a "row" is certainly no row, for example a frame or a single number."""
    if is_frame(row) or is_arrow(row):
        raise TypeError(
            f"an item of the source is a {type(row).__name__}, and not a row: write "
            "for frame in frames: session.load(table, frame)"
        )
    if type(row) in (int, float, bool):
        raise TypeError(
            f"a row is {row!r}: write [row] for one row, and [(value,), ...] for rows of one value"
        )
    if type(row) is tuple and len(row) == 2 and is_frame(row[1]):
        raise TypeError(
            "a row is a pair of a label and a frame, as of frame.groupby(): write "
            "session.load(table, frame), or for _, part in groups: session.load(table, part)"
        )
    if is_array(row) and row.ndim > 1:
        raise TypeError(
            f"a row is an array of {row.ndim} dimensions: write a mapping of columns, such as "
            "{'id': ids, 'embedding': array}"
        )
    # `iterrows` yields pairs of a label and a Series. A Series has the attribute `iloc`.
    if type(row) is tuple and len(row) == 2 and hasattr(row[1], "iloc"):
        raise TypeError(
            "a row is a pair of a label and a Series, as of frame.iterrows(): write "
            "session.load(table, frame)"
        )


def _parts_of_table(table: Any, reading: Reading) -> Iterator[Part]:
    """Yield the rows of a data frame, array or Arrow table in parts."""

    def make_chunk(part: Any, cut: int, first: int) -> Chunk:
        """Make the chunk of a part, without its first `cut` rows (processed by an earlier run).

        `first` is the number of the part's first row.
        """
        if cut:
            # No part has more than CHUNK_ROWS rows, so the slice has all rows after the cut.
            part = slice_of(part, cut, chunks.CHUNK_ROWS)
        rows = select_columns(part, reading)
        return Chunk(
            rows=rows,
            size=len(rows),
            source=None,
            first=first + cut,
            lines=None,
            position=Position(0, 0),  # set by `_chunks`
            raw=None,
        )

    has_rows = False
    # An Arrow stream consists of several batches, which we split one by one.
    for batch in _tables_of(table):
        for part in _slices_of(batch):
            has_rows = True
            yield Part(len(part), partial(make_chunk, part))
    # A reader, which returns its batches only once, has no length. All other tables have a length.
    if not has_rows and not hasattr(table, "__len__"):
        _warn_of_no_rows(table)


def _slices_of(table: Any) -> Iterator[Any]:
    """Yield the rows of a data frame, array, Arrow table or record batch in slices of limited size.

    Each occurrence of a value counts, even if the table stores the value only once.
    """
    if is_array(table):
        size = _size_of_array(table)
    elif is_frame(table):
        size = _size_of_frame(table)
    else:
        for part, _ in pieces_of(table):
            yield part
        return
    part_rows = rows_of_a_chunk(size, len(table))
    for start in range(0, len(table), part_rows):
        yield slice_of(table, start, part_rows)


def _size_of_frame(frame: Any) -> int:
    """Estimate the size in bytes of the values of a pandas DataFrame."""
    # pandas measures objects one by one, which is slow, so we measure a sample of the rows.
    sample = frame.iloc[:: max(len(frame) // SAMPLE, 1)]
    # A categorical column stores each distinct value once, and a sparse column does not store the
    # most frequent value. Convert them to ordinary columns, so that every occurrence of a value is
    # measured.
    size = 0
    for position, dtype in enumerate(sample.dtypes):
        # Take columns by position, because two columns may have the same name.
        column = sample.iloc[:, position]
        if hasattr(dtype, "categories"):
            column = column.astype(object)
        elif hasattr(dtype, "fill_value"):
            column = column.astype(dtype.subtype)
        # pandas returns the size of Arrow's buffers, in which values may be stored once.
        if hasattr(dtype, "pyarrow_dtype"):
            size += size_of(column.array.__arrow_array__())
            continue
        size += int(column.memory_usage(index=False, deep=True))
        # pandas does not look into collections, and an array may be a view of other memory.
        if str(column.dtype) == "object":
            size += sum(
                max(size_of_row((value,)) - sys.getsizeof(value), 0)
                for value in column.array
                if type(value) not in _MEASURED_BY_PANDAS
            )
    return max(size, 0) * len(frame) // max(len(sample), 1)


def _size_of_array(array: Any) -> int:
    """Estimate the size in bytes of the values of a NumPy array."""
    size = int(array.nbytes)
    # An array of Python objects only holds references, and its rows may share objects.
    if getattr(array.dtype, "hasobject", False):
        sample = array[:: max(len(array) // SAMPLE, 1)].tolist()
        size += sum(map(size_of_row, sample)) * len(array) // max(len(sample), 1)
    return size


def _tables_of(table: Any) -> Iterator[Any]:
    """Yield a data frame or array unchanged; yield Arrow data as tables or batches of pyarrow."""
    if is_array(table) or is_frame(table):
        yield table
        return
    data = opened(table)
    if hasattr(data, "num_rows"):
        yield data
    else:  # a reader of batches
        yield from data


def opened(source: Any) -> Any:
    """Return a table, a batch or a reader of pyarrow for Arrow data.

    :param source: Arrow data of any library.
    :raises DependencyException: if pyarrow is not installed.
    """
    try:
        import pyarrow
    except ImportError as error:
        raise DependencyException(
            "Arrow data needs pyarrow: pip install turbocql[arrow]"
        ) from error
    if isinstance(source, (pyarrow.RecordBatch, pyarrow.Table)):
        return source
    if hasattr(source, "__arrow_c_stream__"):
        return arrow_batches(source)
    return pyarrow.record_batch(source)  # of an object with `__arrow_c_array__`


def _chunks_of_files(paths: Sequence[str], reading: Reading) -> Generator[Chunk, None, None]:
    """Yield the chunks of files, beginning at the position to resume from."""
    resume_position = reading.skip
    rows_in_manifest = cache(_rows_in_manifest)  # cached for each folder
    for number, path in enumerate(paths):
        if number < resume_position.file:
            continue
        file_format = format_of(path, reading.format)
        skip = resume_position.row if number == resume_position.file else 0
        state = _state_of_file(path)
        rows_read = skip
        # `first` is 1, because rows of files are numbered from 1, like lines in an editor.
        for chunk in _chunks(READERS[file_format](path, reading), skip, 1, number):
            rows_read = chunk.position.row
            yield chunk
        expected = rows_in_manifest(os.path.dirname(path)).get(os.path.basename(path))
        if isinstance(expected, int) and rows_read < expected:
            warn(
                f"{path} has {rows_read} rows, and {MANIFEST} of its unload says {expected}: it "
                "was probably cut off. Copy it again, and load it again"
            )
        if state is not None and _is_changed(state, path):
            warn(
                f"{path} was changed while it was read: rows may be missing, and the last one may "
                "be cut off. Load it again when it is complete"
            )


def _state_of_file(path: str) -> os.stat_result | None:
    """Return the state of a file before the file is read; None for a pipe."""
    return None if is_pipe(path) else os.stat(path)


def _is_changed(state: os.stat_result, path: str) -> bool:
    """Return True if a file was changed after it had this state.

    False if the file was removed or replaced, because an open file then still has its old content.
    """
    try:
        present = os.stat(path)
    except OSError:
        return False
    is_same_file = os.path.samestat(state, present)
    return is_same_file and (state.st_size, state.st_mtime_ns) != (
        present.st_size,
        present.st_mtime_ns,
    )


def _check_text_options(source: object, paths: Sequence[str] | None, reading: Reading) -> None:
    """Raise ValueError for an option of text files that no file of the source can use.

    Otherwise the option would silently have no effect. For example, the strings of ``null=`` would
    be written as strings, and not as nulls.
    """
    formats = reading.formats
    differs_from_default = {
        "null": formats.nulls != ("",),
        "date_format": formats.date is not None,
        "timestamp_format": formats.timestamp is not None,
        "delimiter": reading.delimiter is not None,
        "quote": reading.quote != '"',
        "header": reading.header is not True,
        "encoding": reading.encoding != "utf-8",
    }
    # Options that have their default value have no effect on any file.
    options = [name for name, differs in differs_from_default.items() if differs]
    if not options:
        return
    file_formats = set(_formats_of(paths or (), reading))
    if "csv" in file_formats:
        return  # CSV has all of these options
    if "jsonl" in file_formats:
        options = [name for name in options if name not in _OPTIONS_OF_JSON]
        if options:
            others = " and Parquet" if "parquet" in file_formats else ""
            raise ValueError(
                f"{_without_effect(options, 'CSV')} on JSON lines{others}: convert the values in "
                "the file, or leave the option out"
            )
        return
    # The source has no text files.
    what = "Parquet" if file_formats else type(source).__name__
    raise ValueError(
        f"{_without_effect(options, 'files of text')} on {what}: convert the values before the "
        "load, or leave the option out"
    )


def _without_effect(options: Sequence[str], what: str) -> str:
    """Return the beginning of the error message for options that have no effect.

    :param options: the names of the options.
    :param what: the sources that have these options.
    """
    names = ", ".join(f"{name}=" for name in options)
    if len(options) == 1:
        return f"{names} is an option for {what}, and has no effect"
    return f"{names} are options for {what}, and have no effect"


# The options of text files that apply to JSON lines too.
_OPTIONS_OF_JSON = frozenset({"date_format", "timestamp_format", "encoding"})


def is_file_of(paths: Iterable[str] | None, path: str | os.PathLike[str]) -> bool:
    """Return True if `path` is one of the files of a source.

    :param paths: the files of the source; None if the source has no files.
    :param path: the file.
    """
    return os.path.exists(path) and any(
        os.path.exists(source_path) and os.path.samefile(source_path, path)
        for source_path in paths or ()
    )


def fields_of_each(source: object, reading: Reading) -> list[tuple[str, list[str] | None]]:
    """Return [(name of the file, its field names)], or one such pair for a source without files.

    The field names are None if the file has no names, or if each row has its own names. Empty files
    are left out.

    :param source: as for `chunks_of`.
    :param reading: the options for reading.
    """
    paths = files_of(source)
    _check_text_options(source, paths, reading)
    if paths is not None:
        formats = _formats_of(paths, reading)
        fields_by_file = [
            (path, fields_of_file(path, file_format, reading))
            for path, file_format in zip(paths, formats, strict=True)
        ]
        for path, names in fields_by_file:
            if names == []:
                log.warning("%s is empty: it has no header, and no rows", path)
        return [(path, names) for path, names in fields_by_file if names != []]
    if is_array(source):
        dtype: Any = getattr(source, "dtype", None)
        names = None if dtype is None or dtype.names is None else list(dtype.names)
        return [("the array", names)]
    if is_frame(source):
        return [("the frame", [str(name) for name in source.columns])]
    if is_arrow(source):
        return [("the table", _names_of_arrow(source))]
    return [("the rows", None)]


def _names_of_arrow(source: Any) -> list[str] | None:
    """Return the column names of Arrow data; None if they are unknown until the data is opened."""
    names: Any = getattr(getattr(source, "schema", None), "names", None)
    if names is None or callable(names):
        # A polars frame or a relation has `columns`, and a result of a query has `column_names`.
        names = getattr(source, "columns", None)
    if names is None:
        names = getattr(source, "column_names", None)
    return None if names is None or callable(names) else [str(name) for name in names]


def is_unopened(source: object) -> bool:
    """Return True for Arrow data whose column names are unknown until `opened` opens it.

    :param source: as for `chunks_of`.
    """
    is_table = is_arrow(source) and not is_array(source) and not is_frame(source)
    return is_table and _names_of_arrow(source) is None
