"""Test `UnmappedWatch`, which warns about fields that the mapping `columns=` leaves out."""

from __future__ import annotations

import warnings
from types import SimpleNamespace
from typing import Any

from cassandra.bulk.chunks import Chunk, Position
from cassandra.bulk.unmapped import UnmappedWatch

TABLE: Any = SimpleNamespace(keyspace_name="ks", name="t", columns={"id": 1, "a": 2, "b": 3})


def chunk_of(rows: Any, source: str | None = None, raw: Any = None, names: Any = None) -> Chunk:
    """Return a chunk of rows.

    :param source: the name of the file; None for rows of the application.
    :param raw: the lines of the file, or the fields of each line.
    :param names: the names of the fields, if the file has a header.
    """
    # The code under test does not use the size and the position of a chunk.
    return Chunk(
        rows,
        size=3,
        source=source,
        first=0,
        lines=None,
        position=Position(0, 3),
        raw=raw,
        names=names,
    )


def warnings_for(*chunks: Chunk) -> list[str]:
    """Return the warnings for these chunks if only the field "n" is mapped."""
    watch = UnmappedWatch({"n": "id"}, ignored=(), table=TABLE)
    watched_chunks = watch.watch(chunk for chunk in chunks)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert list(watched_chunks) == list(chunks)
    assert all(warning.category is RuntimeWarning for warning in caught)
    return [str(warning.message) for warning in caught]


def test_the_first_chunk_is_looked_at() -> None:
    """The warning names the fields of the first chunk that are columns but not in the mapping.

    Rows without names, and rows whose names cannot be read, are skipped.
    """

    class FailingMapping(dict[str, int]):
        def __iter__(self) -> Any:
            raise RuntimeError

    chunk = chunk_of([(1, 2), FailingMapping(), {"n": 1, "a": 2}, {"n": 1, "b": 2}])
    (warning,) = warnings_for(chunk, chunk)
    assert warning.startswith("columns= does not name 'a', 'b' of the source, so they are not")
    assert "write columns={'n': 'id', 'a': 'a', 'b': 'b'} to write" in warning
    assert warnings_for(chunk_of([{"n": 1}]), chunk) == []
    # Lines that are not JSON objects are skipped. `raw` has the lines of the file.
    lines = ["[" * 100_000, "[]", '{"n": 1, "a": 2}', "{"]
    (warning,) = warnings_for(chunk_of(rows=[], source="a.jsonl", raw=lines))
    assert "columns= does not name 'a' of the source, so it is not written" in warning
    # The names of a CSV file are known before its rows are read.
    assert warnings_for(chunk_of(rows=[], source="a.csv", raw=[["1"]], names=["n"])) == []


def test_a_field_is_warned_of_once() -> None:
    """Each unmapped field is warned about once.

    The field "b" is ignored, so only the field "a" is warned about.
    """
    watch = UnmappedWatch({"n": "id"}, ignored=["b"], table=TABLE)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for names in (["n", "b"], ["n", "a"], ["n", "a"]):
            watch.look_at_names(names)
    assert len(caught) == 1
