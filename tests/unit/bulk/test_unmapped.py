"""Fields that a mapping of columns does not name are found in each kind of source."""

from __future__ import annotations

import logging
from types import SimpleNamespace
from typing import Any

import pytest

from cassandra.bulk.chunks import Chunk, Position
from cassandra.bulk.unmapped import UnmappedWatch

TABLE: Any = SimpleNamespace(keyspace_name="ks", name="t", columns={"id": 1, "a": 2, "b": 3})


def chunk_of(rows: Any, source: str | None = None, raw: Any = None, names: Any = None) -> Chunk:
    """Return a chunk of rows.

    :param source: the name of the file.
    :param raw: the lines of the file, or the fields of each line.
    :param names: the names of the fields, if the file has a header.
    """
    # The code under test does not use the size and the position.
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


def warnings_for(caplog: pytest.LogCaptureFixture, *chunks: Chunk) -> list[str]:
    """Return the warnings about these chunks, of which only the field "n" is mapped."""
    caplog.clear()
    watch = UnmappedWatch({"n": "id"}, ignored=(), table=TABLE)
    watched_chunks = watch.watch(chunk for chunk in chunks)
    with caplog.at_level(logging.WARNING):
        assert list(watched_chunks) == list(chunks)
    return [record.getMessage() for record in caplog.records]


def test_the_first_chunk_is_looked_at(caplog: pytest.LogCaptureFixture) -> None:
    """The warning names the fields of the first chunk that are columns but not mapped.

    Rows without names, and rows whose names cannot be read, are skipped.
    """

    class FailingMapping(dict[str, int]):
        def __iter__(self) -> Any:
            raise RuntimeError

    chunk = chunk_of([(1, 2), FailingMapping(), {"n": 1, "a": 2}, {"n": 1, "b": 2}])
    (warning,) = warnings_for(caplog, chunk, chunk)
    assert warning.startswith("columns= does not name 'a', 'b' of the source, so they are not")
    assert "write columns={'n': 'id', 'a': 'a', 'b': 'b'} to write" in warning
    assert warnings_for(caplog, chunk_of([{"n": 1}]), chunk) == []
    # Lines that are not JSON objects are skipped. `raw` has the lines of the file.
    lines = ["[" * 100_000, "[]", '{"n": 1, "a": 2}', "{"]
    (warning,) = warnings_for(caplog, chunk_of(rows=[], source="a.jsonl", raw=lines))
    assert "columns= does not name 'a' of the source, so it is not written" in warning
    # The names of a CSV file are known before its rows are read.
    assert warnings_for(caplog, chunk_of(rows=[], source="a.csv", raw=[["1"]], names=["n"])) == []


def test_a_warning_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    """The field "b" is ignored, so only the names with "a" log a warning, and only once."""
    watch = UnmappedWatch({"n": "id"}, ignored=["b"], table=TABLE)
    for names in (["n", "b"], ["n", "a"], ["n", "a"]):
        watch.look_at_names(names)
    assert len(caplog.records) == 1
