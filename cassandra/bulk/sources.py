"""Sources of rows: iterables, frames, Arrow data, and files of CSV, JSON lines and Parquet.

A source gives chunks: rows that are bound together, with their positions. Files are read one after
the other, in the order of their names; no more than a chunk of them is in memory.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from cassandra.bulk import chunks
from cassandra.bulk.chunks import Chunk, Part, Reading, renamed, rows_of_a_chunk, slice_of
from cassandra.bulk.files import READERS, fields_of_file
from cassandra.errors import DependencyException
from cassandra.query.tables.rows import is_array, is_arrow, is_frame

__all__ = ["chunks_of", "field_names", "is_file_of", "kind_of", "name_for_people"]

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
    # rows.csv.gz is CSV: how it is compressed is found out when it is opened.
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
            # Of all files before the first one is read: failing in the middle costs more.
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


def _expanded(path: str) -> list[str]:
    if os.path.exists(path):
        if os.path.isdir(path):
            # Other tools leave markers there, _SUCCESS say, and hidden files.
            found = [entry.path for entry in os.scandir(path) if entry.name[:1] not in "._"]
            # The same order each time: a checkpoint counts rows from the beginning.
            return sorted(one for one in found if not one.endswith("manifest.json"))
        return [path]
    found = sorted(glob.glob(path, recursive=True))
    if not found:
        raise FileNotFoundError(f"no file is named {path!r}")
    return found


# -- rows and tables of the program ----------------------------------------------------------------


def _chunks(parts: Iterable[Part], skip: int, first: int = 0) -> Generator[Chunk, None, None]:
    """Return an iterator over the chunks of parts, without the first `skip` rows.

    :param first: the number of the first row.
    """
    at = 0
    for part in parts:
        end = at + part.size
        # Parts that a checkpoint says are written are not even bound.
        if end > skip:
            yield part.made(max(skip - at, 0), first + at)._replace(position=end)
        at = end


def _parts_of_rows(rows: Iterable[Any]) -> Iterator[Part]:
    taken = iter(rows)

    def made(some: list[Any], cut: int, first: int) -> Chunk:
        return Chunk(some[cut:], len(some) - cut, None, first + cut, None, 0, None)

    while some := list(islice(taken, min(chunks.OBJECT_ROWS, chunks.CHUNK_ROWS))):
        yield Part(len(some), partial(made, some))


def _parts_of_table(table: Any, reading: Reading) -> Iterator[Part]:
    def made(some: Any, cut: int, first: int) -> Chunk:
        some = renamed(slice_of(some, cut, chunks.CHUNK_ROWS) if cut else some, reading)
        return Chunk(some, len(some), None, first + cut, None, 0, None)

    for whole in _tables_of(table):
        count = rows_of_a_chunk(_size_of(whole), len(whole))
        for start in range(0, len(whole), count):
            some = slice_of(whole, start, count)
            yield Part(len(some), partial(made, some))


def _size_of(table: Any) -> int:
    """Return about how many bytes a table has."""
    if not hasattr(table, "memory_usage"):
        return int(table.nbytes)
    # A frame knows the size of its objects only by looking at each of them.
    some = table.iloc[:: max(len(table) // SAMPLE, 1)]
    return int(some.memory_usage(deep=True).sum()) * len(table) // max(len(some), 1)


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
    done = 0
    for path in paths:
        kind = kind_of(path, reading.format)
        parts = READERS[kind](path, reading)
        read = 0

        def counted(parts: Iterator[Part] = parts) -> Iterator[Part]:
            nonlocal read
            for part in parts:
                read += part.size
                yield part

        # Rows of files are counted from 1, as the lines of an editor are.
        for chunk in _chunks(counted(), max(reading.skip - done, 0), 1):
            yield chunk._replace(position=done + chunk.position)
        done += read


def is_file_of(source: object, path: str | os.PathLike[str]) -> bool:
    """Return True if a file is one of those that a source reads.

    :param source: the source.
    :param path: the file.
    """
    return os.path.exists(path) and any(
        os.path.samefile(one, path) for one in _paths_of(source) or ()
    )


def name_for_people(source: object) -> str:
    """Return a report's name for a source.

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
        return fields_of_file(paths[0], kind_of(paths[0], reading.format), reading)
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
