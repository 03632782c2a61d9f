"""Rows as requests."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from cassandra.bulk import grouping
from cassandra.bulk.grouping import Keys, grouped, waves
from tests.conftest import Twins

KEYS = Keys((0,), (1,))


def block(twins: Twins, rows: list[tuple[int, ...]], size: int = 4) -> Any:
    """Rows of integers; those after the key have `size` bytes."""
    made = []
    for row in rows:
        values = [struct.pack(">ii", 4, one) for one in row]
        if size != 4:
            values[-1] = struct.pack(">i", size) + bytes(size)
        made.append(b"".join(values))
    return twins.bind.RowsBlock(len(rows[0]) if rows else 3, made)


def test_a_key_stands_once_in_a_wave(twins: Twins) -> None:
    rows = block(twins, [(1, 1, 0), (1, 2, 1), (1, 1, 2), (2, 1, 3), (1, 1, 4)])
    assert [list(wave) for wave in waves(rows, KEYS)] == [[0, 1, 3], [2], [4]]
    assert [list(wave) for wave in waves(rows, Keys((0,), None))] == [[0, 1, 2, 3, 4]]
    assert [list(wave) for wave in waves(rows, Keys((0,), ()))] == [[0, 3], [1], [2], [4]]
    assert list(waves(block(twins, []), KEYS)) == []
    assert list(waves(block(twins, []), Keys((), None))) == []


def test_rows_of_a_partition_go_together(twins: Twins) -> None:
    rows = block(twins, [(1, 1, 0), (2, 1, 0), (1, 2, 0), (3, 1, 0)])
    wave = range(4)
    groups = grouped(rows, wave, KEYS, "partition", lambda key: None)
    assert [group.rows for group in groups] == [[0, 2], [1], [3]]
    assert [group.size for group in groups] == [48, 24, 24]
    groups = grouped(rows, wave, KEYS, "replica", lambda key: key[-1] % 2)
    assert [group.rows for group in groups] == [[0, 2, 3], [1]]
    for alone in (
        grouped(rows, wave, KEYS, None, lambda key: None),
        grouped(rows, wave, Keys((0,), None), "replica", lambda key: None),
        grouped(rows, wave, Keys((), ()), "replica", lambda key: None),
    ):
        assert [group.rows for group in alone] == [[0], [1], [2], [3]]


def test_groups_stay_below_the_servers_warnings(twins: Twins) -> None:
    many = block(twins, [(n, 0, 0) for n in range(25)])
    groups = grouped(many, range(25), KEYS, "replica", lambda key: None)
    assert [len(group.rows) for group in groups] == [10, 10, 5]
    large = block(twins, [(n % 2, n, 0) for n in range(12)], size=1000)
    groups = grouped(large, range(12), KEYS, "replica", lambda key: None)
    assert all(group.size <= grouping.MOST_BYTES for group in groups)
    assert sorted(row for group in groups for row in group.rows) == list(range(12))
    huge = block(twins, [(0, n, 0) for n in range(2)], size=9000)
    groups = grouped(huge, range(2), KEYS, "partition", lambda key: None)
    assert [group.rows for group in groups] == [[0], [1]]


def test_parts_of_rows(twins: Twins) -> None:
    rows = block(twins, [(1, 2, 3), (4, 5, 6), (7, 8, 9)])
    assert rows.sizes() == [24, 24, 24]
    assert rows.routing_keys((0,)) == [struct.pack(">i", n) for n in (1, 4, 7)]
    assert rows.identities((2, 0))[1] == struct.pack(">iiii", 4, 6, 4, 4)
    taken = rows.take([2, 0])
    assert [row.data for row in taken.rows()] == [rows.row(2).data, rows.row(0).data]
    rows.append(taken.row(0))
    assert rows.take(iter([3])).row(0).data == rows.row(2).data
    assert rows.take([]).count == 0
    for wrong in (-1, 4):
        with pytest.raises(IndexError, match=f"row {wrong} of 4"):
            rows.take([wrong])
    for positions in ((3,), (-1,)):
        with pytest.raises(ValueError, match="of 3 values"):
            rows.identities(positions)


def test_a_row_without_a_partition_key_stands_alone(twins: Twins) -> None:
    null = struct.pack(">i", -1)
    rows = twins.bind.RowsBlock(2, [null + null, struct.pack(">ii", 4, 1) + null])
    asked: list[bytes] = []
    groups = grouped(rows, range(2), KEYS, "replica", lambda key: asked.append(key))
    assert [group.rows for group in groups] == [[0], [1]]
    assert asked == [struct.pack(">i", 1)]


def test_null_and_nothing_are_not_the_same_key(twins: Twins) -> None:
    null, empty = struct.pack(">i", -1), struct.pack(">i", 0)
    rows = twins.bind.RowsBlock(2, [null + empty, empty + null])
    first, second = rows.identities((0,))
    assert first != second
    assert rows.routing_keys((0,)) == [None, b""]
    damaged = twins.bind.RowsBlock(2, [struct.pack(">i", 9)])
    with pytest.raises(ValueError, match="ends in the middle of one"):
        damaged.identities((1,))
