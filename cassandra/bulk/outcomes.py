"""Remembers which rows of a chunk are done, for the checkpoint of an interrupted load."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from cassandra.bulk.chunks import Chunk


class DoneRows(NamedTuple):
    """The number of rows that are done, by outcome.

    A row is done if it is written, if it has failed, or if its condition (IF) did not hold.

    :param total: the number of rows.
    :param failed: how many of these rows have failed.
    :param not_applied: for how many of these rows the condition did not hold. All other rows are
        written.
    """

    total: int
    failed: int
    not_applied: int


class Outcomes:
    """The outcomes of the rows of a chunk.

    Servers acknowledge the rows in any order, but a checkpoint is a position in the source. So
    another run may only skip the rows before the first row that is not done (see
    `count_first_rows`).

    :param chunk: the rows, whose indexes begin at 0.
    """

    def __init__(self, chunk: Chunk) -> None:
        self.chunk = chunk
        # Store the arguments of `note_group` unchanged. They are only evaluated if the load is
        # interrupted, because evaluating them for every request would slow down every load.
        self._groups: list[tuple[Sequence[int], Sequence[int], bool]] = []
        self._failed: list[int] = []  # the indexes of failed rows in the chunk

    def note_group(self, row_numbers: Sequence[int], rows: Sequence[int], is_applied: bool) -> None:
        """Record that a server has executed a request without an error, so its rows are done.

        :param row_numbers: the indexes in the chunk of all rows of the wave.
        :param rows: the indexes in `row_numbers` of the rows of the request.
        :param is_applied: False if the condition of the rows did not hold.
        """
        self._groups.append((row_numbers, rows, is_applied))

    def note_failed(self, index: int) -> None:
        """Record that a row has failed for good and is in the file of failed rows, so it is done.

        :param index: the index of the row in the chunk.
        """
        self._failed.append(index)

    def count_first_rows(self) -> DoneRows:
        """Count the rows before the first row of the chunk that is not done, by outcome."""
        failed = set(self._failed)
        not_applied: set[int] = set()
        done_indexes = set(failed)
        for row_numbers, rows, is_applied in self._groups:
            indexes = [row_numbers[row] for row in rows]
            done_indexes.update(indexes)
            if not is_applied:
                not_applied.update(indexes)
        # Count the rows before the first row that is not done.
        count = next(
            (index for index in range(self.chunk.size) if index not in done_indexes),
            self.chunk.size,
        )
        return DoneRows(
            count,
            sum(index < count for index in failed),
            sum(index < count for index in not_applied),
        )
