"""Test `Outcomes`, which collects the rows of a chunk that a checkpoint records as done."""

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


def done(rows: Outcomes, are_first: bool = False) -> tuple[bytes, tuple[int, ...]]:
    """Return what `Outcomes.done` returns, as a tuple."""
    flags, counts = rows.done(are_first)
    return bytes(flags), tuple(counts)


def test_rows_have_outcomes_in_any_order() -> None:
    """Servers acknowledge the rows of a chunk in any order.

    Row 0 of the chunk could not be bound, so the rows of the wave have other numbers than in the
    chunk.
    """
    rows = outcomes(8)
    # `done` returns a byte for each row, and three numbers: the rows with an outcome, how many of
    # these failed, and how many were not applied.
    assert done(rows) == (bytes(8), (0, 0, 0))
    # Map the rows of the wave to rows of the chunk: row 0 of the wave is row 1 of the chunk, and so
    # on.
    numbers = range(1, 8)
    rows.note_group(numbers, [5, 6], is_applied=True)
    rows.note_group(numbers, [0], is_applied=True)
    assert done(rows) == (bytes([0, 1, 0, 0, 0, 0, 1, 1]), (3, 0, 0))
    rows.note_failed(0)
    rows.note_group(numbers, [1], is_applied=False)
    rows.note_group(numbers, [4], is_applied=False)
    assert done(rows) == (bytes([1, 1, 1, 0, 0, 1, 1, 1]), (6, 1, 2))


def test_rows_of_an_earlier_run_are_done_and_not_counted() -> None:
    """Rows of an earlier run are not counted: their counts are in the checkpoint of that run."""
    rows = Outcomes(outcomes(4).chunk, done_before=[1, 3])
    rows.note_group([0, 2], [1], is_applied=True)
    assert done(rows) == (bytes([0, 1, 1, 1]), (1, 0, 0))


def test_an_empty_chunk_is_done() -> None:
    """An empty chunk has no rows, so all counts are 0."""
    assert done(outcomes(0)) == (b"", (0, 0, 0))


def test_only_the_first_rows_count_if_rows_have_no_order() -> None:
    """Without an order, rows after a row without an outcome must be written again."""
    rows = outcomes(4)
    rows.note_group(range(4), [3], is_applied=False)
    rows.note_failed(2)
    assert done(rows, are_first=True) == (bytes(4), (0, 0, 0))
    rows.note_group(range(4), [0], is_applied=False)
    assert done(rows, are_first=True) == (b"\1\0\0\0", (1, 0, 1))
    rows.note_group(range(4), [1], is_applied=True)
    assert done(rows, are_first=True) == (bytes([1] * 4), (4, 1, 2))


def test_rows_of_earlier_runs_stay_done_if_rows_have_no_order() -> None:
    """A run that does not know the key may resume a load of a run that knew it."""
    rows = Outcomes(outcomes(6).chunk, done_before=[1, 4])
    rows.note_group(range(6), [0, 3], is_applied=True)
    assert done(rows, are_first=True) == (b"\1\1\0\0\1\0", (1, 0, 0))
    assert done(rows) == (b"\1\1\0\1\1\0", (2, 0, 0))
