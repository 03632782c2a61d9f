"""Test the sizes of chunks (batches of a load's rows), and where each row is in its source."""

from __future__ import annotations

from typing import Any

import pytest

from cassandra.bulk import chunks
from cassandra.bulk.chunks import (
    Chunk,
    Column,
    Position,
    Reading,
    RowLocation,
    rows_of_a_chunk,
    slice_of,
)
from cassandra.bulk.texts import Formats


def test_row_locations_are_readable() -> None:
    """`str` of a RowLocation has the source, and the line or, if it is unknown, the row."""
    assert str(RowLocation(source=None, row=5, line=None)) == "row 5"
    assert str(RowLocation("a.csv", row=5, line=None)) == "a.csv, row 5"
    assert str(RowLocation("a.csv", 5, 7)) == "a.csv, line 7"


def test_the_location_of_a_row_of_a_chunk() -> None:
    """A row's location has the source, the row's number, and its line if the lines are known."""
    chunk = Chunk(
        rows=[], size=2, source="a.csv", first=10, lines=[3, 5], position=Position(0, 0), raw=None
    )
    assert chunk.location(1) == ("a.csv", 11, 5)
    assert chunk._replace(lines=None).location(1) == ("a.csv", 11, None)


def test_columns_are_read_from_fields_of_the_same_or_a_mapped_name() -> None:
    """`Reading.field` returns the name of a column's field: the name in `mapping`, or the column's.

    `mapping` has the names of fields by the names of columns.
    """
    reading = Reading(
        format=None,
        columns=(),
        mapping={"id": "number"},
        formats=Formats(),
        header=True,
        delimiter=None,
        quote='"',
    )
    assert reading.field(Column("id", None)) == "number"
    assert reading.field(Column("name", None)) == "name"


def test_the_rows_of_a_chunk_are_limited_in_number_and_bytes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`rows_of_a_chunk` limits the rows of a chunk by their number and by their bytes."""
    monkeypatch.setattr(chunks, "CHUNK_BYTES", 1000)
    monkeypatch.setattr(chunks, "CHUNK_ROWS", 50)
    # The arguments are the size of a table in bytes, and its number of rows. Here, a row has
    # 100 bytes, so ten rows reach the limit of 1000 bytes.
    assert rows_of_a_chunk(10_000, 100) == 10
    # Each row has one byte, so the limit of 50 rows decides.
    assert rows_of_a_chunk(100, 100) == 50
    # An empty table: the limit of rows decides.
    assert rows_of_a_chunk(0, 0) == 50
    # A row of 100,000 bytes exceeds the limit of 1000 bytes, so its chunk has no other row.
    assert rows_of_a_chunk(1_000_000, 10) == 1


def test_slices_of_lists_and_tables() -> None:
    """`slice_of(rows, first, count)` works for lists, pandas frames and Arrow tables."""
    assert slice_of([1, 2, 3, 4], 1, 2) == [2, 3]
    pandas, pyarrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    values: dict[str, Any] = {"a": [1, 2, 3, 4]}
    assert slice_of(pandas.DataFrame(values), 1, 2)["a"].tolist() == [2, 3]
    assert slice_of(pyarrow.table(values), 1, 2).to_pydict() == {"a": [2, 3]}
