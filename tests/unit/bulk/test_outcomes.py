"""Test `Outcomes`, which counts a chunk's rows up to the first row without an outcome.

A checkpoint records only these rows as done.
"""

from __future__ import annotations

from cassandra.bulk.chunks import Chunk, Position
from cassandra.bulk.outcomes import Outcomes


def outcomes(size: int) -> Outcomes:
    """Return the outcomes of a chunk of `size` rows, in which no row has an outcome yet."""
    return Outcomes(
        Chunk(
            [()] * size,
            size=size,
            source=None,
            first=0,
            lines=None,
            position=Position(0, size),
            raw=None,
        )
    )


def test_rows_are_done_up_to_the_first_gap() -> None:
    """Only rows before the first gap, a row without an outcome, are counted as done.

    Row 0 of the chunk could not be bound, so the rows of the wave have other numbers than in the
    chunk.
    """
    rows = outcomes(8)
    # `count_first_rows` returns three numbers: the rows before the first gap, how many of these
    # failed, and how many were not applied.
    assert rows.count_first_rows() == (0, 0, 0)
    # Map the rows of the wave to rows of the chunk: row 0 of the wave is row 1 of the chunk, and so
    # on.
    numbers = range(1, 8)
    rows.note_group(numbers, [5, 6], is_applied=True)
    rows.note_group(numbers, [0], is_applied=True)
    assert rows.count_first_rows() == (0, 0, 0)
    rows.note_failed(0)
    assert rows.count_first_rows() == (2, 1, 0)
    rows.note_group(numbers, [1], is_applied=False)
    rows.note_group(numbers, [4], is_applied=False)
    rows.note_failed(7)
    assert rows.count_first_rows() == (3, 1, 1)
    rows.note_group(numbers, [2, 3], is_applied=True)
    assert rows.count_first_rows() == (8, 2, 2)


def test_an_empty_chunk_is_done() -> None:
    """An empty chunk has no gap, so all counts are 0."""
    assert outcomes(0).count_first_rows() == (0, 0, 0)
