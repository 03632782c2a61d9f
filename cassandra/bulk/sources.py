"""Sources of rows: iterables, frames, Arrow data, and files of CSV, JSON lines and Parquet.

A source gives chunks: rows that are bound together, with their positions. Files are read one after
the other, in the order of their names; no more than a chunk of them is in memory.
"""

from __future__ import annotations

import glob
import logging
import os
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence, Set
from functools import partial
from itertools import islice
from typing import Any

from cassandra.bulk import chunks
from cassandra.bulk.chunks import Chunk, Part, Position, Reading, rows_of_a_chunk, slice_of
from cassandra.bulk.fields import chosen
from cassandra.bulk.files import READERS, fields_of_file
from cassandra.bulk.opened import STANDARD_INPUT, bare_name, is_pipe
from cassandra.errors import DependencyException
from cassandra.query.tables.rows import is_array, is_arrow, is_frame

__all__ = ["chunks_of", "fields_of_each", "files_of", "is_file_of", "kind_of", "rows_of_columns"]

log = logging.getLogger(__name__)

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
SAMPLE = 1000  # rows of a frame
MANIFEST = "manifest.json"  # which `unload` writes beside its files


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
    # rows.csv.gz is CSV: how it is compressed is found out when it is opened.
    found = _ENDINGS.get(os.path.splitext(bare_name(path))[1])
    if found is None:
        raise ValueError(
            f"the format of {path!r} is not known by its name: write format='csv', 'jsonl' or "
            "'parquet'"
        )
    return found


class RowsOfColumns(Sequence[dict[str, Any]]):
    """The rows of columns that a program has by name.

    :param columns: a sequence or an array of values for each column.
    :raises ValueError: if they are not of one length.
    """

    def __init__(self, columns: Mapping[str, Any]) -> None:
        lengths = {str(name): len(values) for name, values in columns.items()}
        if len(set(lengths.values())) > 1:
            shown = ", ".join(f"{name!r} has {count}" for name, count in lengths.items())
            raise ValueError(f"the columns are of different lengths: {shown}")
        self._columns = columns
        self._count = next(iter(lengths.values()), 0)

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[at] for at in range(*index.indices(self._count))]
        if not 0 <= index < self._count:
            raise IndexError(index)
        return {name: values[index] for name, values in self._columns.items()}


def rows_of_columns(source: object) -> object:
    """Return the rows of a mapping of columns; any other source as it is.

    :param source: as for `chunks_of`.
    """
    if isinstance(source, Mapping) and source:
        values = source.values()
        if all(hasattr(one, "__len__") and not isinstance(one, (str, bytes)) for one in values):
            return RowsOfColumns(source)
    return source


def chunks_of(source: object, reading: Reading) -> Generator[Chunk, None, None]:
    """Return an iterator over the rows of a source.

    :param source: a path or a glob of files, a sequence of these, a frame, Arrow data, or an
        iterable of rows.
    :param reading: how files are read, and which columns are wanted.
    :raises FileNotFoundError: if no file has the name.
    :raises TypeError: if `source` is nothing of these.
    :raises ValueError: if a file's format is not known.
    """
    paths = files_of(source)
    if paths is not None:
        for path in paths:
            # Of all files before the first one is read: failing in the middle costs more.
            kind_of(path, reading.format)
        return _chunks_of_files(paths, reading)
    if isinstance(source, (bytes, bytearray, Mapping)):
        raise TypeError(
            "rows come from a file, a frame, a mapping of columns or an iterable, not from a "
            f"single {type(source).__name__}: write [row] for one row"
        )
    if is_array(source) or is_frame(source) or is_arrow(source):
        return _chunks(_parts_of_table(source, reading), reading.skip.row)
    if not isinstance(source, Iterable):
        raise TypeError(
            "rows come from a file, a frame, a mapping of columns or an iterable, not from "
            f"{type(source).__name__}"
        )
    return _chunks(_parts_of_rows(source), reading.skip.row)


def files_of(source: object, left_out: Iterable[str] = ()) -> list[str] | None:
    """Return the files of a source, in the order in which they are read; None if it has none.

    :param source: as for `chunks_of`.
    :param left_out: files of a load itself, which folders and globs do not mean.
    :raises FileNotFoundError: if there is no such file, or none in a folder.
    :raises ValueError: if a pipe stands twice, which can be read once, or a folder in a folder.
    """
    if isinstance(source, (str, os.PathLike)):
        names: Sequence[Any] = [source]
    elif isinstance(source, (list, tuple)) and source and isinstance(source[0], (str, os.PathLike)):
        names = source
    else:
        return None
    for name in names:
        if not isinstance(name, (str, os.PathLike)):
            raise TypeError(f"a list of files has a {type(name).__name__}: {name!r}")
    own = {os.path.realpath(path) for path in left_out}
    found = [path for name in names for path in _expanded(os.fspath(name), own)]
    for path, count in Counter(found).items():
        if count > 1 and is_pipe(path):
            raise ValueError(f"{path} stands twice among the files, and can be read once")
    return found


def _expanded(path: Any, own: Set[str]) -> list[str]:
    if isinstance(path, bytes):
        path = os.fsdecode(path)
    if path == STANDARD_INPUT or (os.path.exists(path) and not os.path.isdir(path)):
        return [path]
    if os.path.isdir(path):
        # Other tools leave markers there, _SUCCESS say, and hidden files.
        found = [
            entry.path
            for entry in os.scandir(path)
            if entry.name[:1] not in "._" and entry.name != MANIFEST
        ]
        nothing = f"folder {path!r} has no file"
    else:
        found = glob.glob(path, recursive=True)
        nothing = f"no file is named {path!r}"
    # The same order each time: a checkpoint counts rows from the beginning.
    found = sorted(one for one in found if os.path.realpath(one) not in own)
    if not found:
        raise FileNotFoundError(nothing)
    for one in found:
        if os.path.isdir(one):
            raise ValueError(
                f"{one!r} is a folder, which {path!r} does not go into: name it, or its files"
            )
    return found


# -- rows and tables of the program ----------------------------------------------------------------


def _chunks(
    parts: Iterable[Part], skip: int, first: int = 0, file: int = 0
) -> Generator[Chunk, None, None]:
    """Return an iterator over the chunks of parts, without the first `skip` rows.

    :param first: the number of the first row.
    :param file: the number of the file.
    """
    at = 0
    for part in parts:
        end = at + part.size
        # Parts that a checkpoint says are written are not even bound.
        if end > skip:
            chunk = part.made(max(skip - at, 0), first + at)
            yield chunk._replace(position=Position(file, end))
        at = end
    if at < skip:
        raise ValueError(f"the checkpoint says that {skip} rows were read, and there are {at}")


def _parts_of_rows(rows: Iterable[Any]) -> Iterator[Part]:
    taken = iter(rows)

    def made(some: list[Any], cut: int, first: int) -> Chunk:
        return Chunk(some[cut:], len(some) - cut, None, first + cut, None, Position(0, 0), None)

    while some := list(islice(taken, min(chunks.OBJECT_ROWS, chunks.CHUNK_ROWS))):
        yield Part(len(some), partial(made, some))


def _parts_of_table(table: Any, reading: Reading) -> Iterator[Part]:
    def made(some: Any, cut: int, first: int) -> Chunk:
        some = chosen(slice_of(some, cut, chunks.CHUNK_ROWS) if cut else some, reading)
        return Chunk(some, len(some), None, first + cut, None, Position(0, 0), None)

    for whole in _tables_of(table):
        count = rows_of_a_chunk(_size_of(whole), len(whole))
        for start in range(0, len(whole), count):
            some = slice_of(whole, start, count)
            yield Part(len(some), partial(made, some))


def _size_of(table: Any) -> int:
    """Return about how many bytes a table has, each value counted as often as it stands there."""
    if hasattr(table, "memory_usage"):
        # A frame knows the size of its objects only by looking at each of them.
        some = table.iloc[:: max(len(table) // SAMPLE, 1)]
        categories = [name for name, kind in some.dtypes.items() if hasattr(kind, "categories")]
        if categories:
            some = some.astype(dict.fromkeys(categories, object))
        return int(some.memory_usage(deep=True).sum()) * len(table) // max(len(some), 1)
    size = int(table.nbytes)
    for kind, column in (
        zip(table.schema.types, table.columns, strict=True) if hasattr(table, "schema") else ()
    ):
        if hasattr(kind, "value_type") and hasattr(kind, "index_type"):
            for part in getattr(column, "chunks", [column]):
                values = part.dictionary
                size += len(part) * values.nbytes // max(len(values), 1)
    return size


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


def _chunks_of_files(paths: Sequence[str], reading: Reading) -> Generator[Chunk, None, None]:
    begun = reading.skip
    for number, path in enumerate(paths):
        if number < begun.file:
            continue
        kind = kind_of(path, reading.format)
        skip = begun.row if number == begun.file else 0
        # Rows of files are counted from 1, as the lines of an editor are.
        yield from _chunks(READERS[kind](path, reading), skip, 1, number)


def is_file_of(paths: Iterable[str] | None, path: str | os.PathLike[str]) -> bool:
    """Return True if a file is one of those that a source reads.

    :param paths: the files of the source; None if it has none.
    :param path: the file.
    """
    return os.path.exists(path) and any(
        os.path.exists(one) and os.path.samefile(one, path) for one in paths or ()
    )


def fields_of_each(source: object, reading: Reading) -> list[tuple[str, list[str] | None]]:
    """Return the names of the fields of each file, or of the source itself.

    The names are None if there are none, or each row has its own; a file that is empty is left out.

    :param source: as for `chunks_of`.
    :param reading: how files are read.
    """
    paths = files_of(source)
    if paths is not None:
        each = [
            (path, fields_of_file(path, kind_of(path, reading.format), reading)) for path in paths
        ]
        for path, names in each:
            if names == []:
                log.warning("%s is empty: it has no header, and no rows", path)
        return [(path, names) for path, names in each if names != []]
    if is_array(source):
        found: Any = getattr(source, "dtype", None)
        names = None if found is None or found.names is None else list(found.names)
        return [("the array", names)]
    if is_frame(source):
        return [("the frame", [str(name) for name in source.columns])]
    if is_arrow(source):
        # What has a schema that is no attribute (a stream, a polars frame) has columns.
        found = getattr(getattr(source, "schema", None), "names", None)
        if found is None or callable(found):
            found = getattr(source, "columns", None)
        return [("the table", None if found is None else [str(name) for name in found])]
    return [("the rows", None)]
