"""Test `RowsAhead`, the rows that are done after the position of a checkpoint."""

from __future__ import annotations

from cassandra.bulk.chunks import Chunk, Position
from cassandra.bulk.rows_ahead import RowsAhead


def chunk(size: int, end: Position) -> Chunk:
    """Return a chunk of `size` rows that ends at this position."""
    return Chunk([()] * size, size, "b.csv", first=1, lines=None, position=end, raw=None)


def test_rows_are_found_in_the_chunks_after_the_position() -> None:
    """The chunks of another run may end elsewhere, so rows are found by their position."""
    begin = Position(file=1, row=10)
    ahead = RowsAhead(begin, bytes([0, 1, 1, 0, 0, 1, 0]))
    assert ahead
    assert ahead.in_chunk(chunk(3, Position(1, 13))) == [1, 2]
    assert ahead.in_chunk(chunk(2, Position(1, 15))) == []
    assert ahead.in_chunk(chunk(9, Position(1, 24))) == [0]
    assert ahead.in_chunk(chunk(9, Position(1, 40))) == []
    # The rows of another file have the same numbers.
    assert ahead.in_chunk(chunk(13, Position(2, 13))) == []
    assert ahead.after(Position(1, 12)) == bytes([1, 0, 0, 1])
    assert ahead.after(Position(2, 0)) == b""


def test_rows_are_written_to_the_checkpoint_in_a_short_text() -> None:
    """The text has at most a bit for each row, and is shorter if many rows are done."""
    begin = Position(0, 3)
    flags = bytes([0, 1] * 3 + [1] * 100_000)
    text = RowsAhead(begin, flags).as_text()
    assert len(text) < 1000
    assert RowsAhead.from_text(begin, text).after(begin) == flags
    for nothing in (RowsAhead(begin, bytes(5)), RowsAhead.from_text(begin, "")):
        assert not nothing
        assert nothing.as_text() == ""
