"""For a checkpoint, rows are done only up to the first row without an outcome."""

from __future__ import annotations

from cassandra.bulk.chunks import Chunk, Position
from cassandra.bulk.outcomes import Outcomes


def outcomes(size: int) -> Outcomes:
    """Return the outcomes of a chunk of `size` rows, none of which has one yet."""
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
    """Only rows before the first gap are done.

    Row 0 of the chunk could not be bound, so the rows of the wave have other numbers.
    """
    rows = outcomes(8)
    # `count_first_rows` returns the number of rows before the first gap, and how many of them
    # failed, and how many were not applied.
    assert rows.count_first_rows() == (0, 0, 0)
    # This maps the rows of the wave to those of the chunk: its row 0 is row 1 of the chunk, and so
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
    assert outcomes(0).count_first_rows() == (0, 0, 0)
