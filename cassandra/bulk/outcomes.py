"""Remembers which rows of a chunk are done, for the checkpoint of an interrupted load."""

from __future__ import annotations

from collections.abc import Collection, Sequence
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


class DoneInChunk(NamedTuple):
    """Which rows of a chunk are done.

    :param flags: a byte for each row of the chunk: 1 if it is done, else 0.
    :param counts: the numbers of rows that this run has done, by outcome.
    """

    flags: bytearray
    counts: DoneRows


class Outcomes:
    """The outcomes of the rows of a chunk.

    :param chunk: the rows, whose indexes begin at 0.
    :param done_before: the indexes of rows that an earlier run has done, so that this run skips
        them.
    """

    def __init__(self, chunk: Chunk, done_before: Collection[int] = ()) -> None:
        self.chunk = chunk
        self._done_before = done_before
        # The arguments of the calls of `note_group`. We only evaluate them if a position in the
        # middle of the chunk is saved, because evaluating them for every request would slow down
        # every load.
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

    def done(self, are_first: bool = False) -> DoneInChunk:
        """Return which rows of the chunk are done, and how many this run has done.

        :param are_first: True only returns the done rows before the first row that is not done.
        """
        flags = bytearray(self.chunk.size)
        not_applied: set[int] = set()
        for row_numbers, rows, is_applied in self._groups:
            for row in rows:
                flags[row_numbers[row]] = 1
            if not is_applied:
                not_applied.update([row_numbers[row] for row in rows])
        failed = set(self._failed)
        for index in failed:
            flags[index] = 1
        if are_first:
            first = len(flags) - len(flags.lstrip(b"\1"))
            # Keep a flag for each row: rows that earlier runs have done are marked below, and the
            # caller appends flags of later rows.
            flags[first:] = bytes(len(flags) - first)
            failed = {index for index in failed if index < first}
            not_applied = {index for index in not_applied if index < first}
        counts = DoneRows(flags.count(1), len(failed), len(not_applied))
        for index in self._done_before:
            flags[index] = 1
        return DoneInChunk(flags, counts)
