"""Test how bound rows are compared and divided into parts that are sent one after another."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from cassandra.bulk.bound_values import UNSET, parts_in_order, spans_of, value_at, varying_positions
from cassandra.bulk.chunks import Column
from cassandra.cqltypes.parse import lookup_cqltype
from cassandra.query.batch import bind_rows
from cassandra.sentinels import UNSET_VALUE
from tests.conftest import Implementation
from tests.statements import prepared_insert

# A key, a static column, and the time to live of the row.
COLUMNS = [
    Column("key", lookup_cqltype("decimal")),
    Column("static_name", lookup_cqltype("text")),
    Column("[ttl]", lookup_cqltype("int")),
]


def parts_of(
    implementation: Implementation, rows: list[tuple[Any, ...]], ttl: int | None = None
) -> list[list[int]]:
    """Return the numbers of the rows in each part, in which the static column must not differ."""
    prepared = prepared_insert(implementation, COLUMNS, [0])
    block = bind_rows(prepared, rows)
    parts = parts_in_order(prepared, block, range(len(rows)), [0], [1], ttl)
    return [list(numbers) for _, numbers in parts]


def test_values_are_found_by_their_lengths(implementation: Implementation) -> None:
    """The length of a value is 4 bytes: it is -1 for null, and -2 for an unset value."""
    prepared = prepared_insert(implementation, COLUMNS, [0])
    (row,) = bind_rows(prepared, [(None, "ab", UNSET_VALUE)]).rows()
    spans = spans_of(row.data, 3)
    assert spans == [(0, -1), (4, 2), (10, -2)]
    assert [value_at(row.data, span) for span in spans] == [
        b"\xff\xff\xff\xff",
        b"\x00\x00\x00\x02ab",
        UNSET,
    ]


@pytest.mark.parametrize(
    ("rows", "parts"),
    [
        # The rows have the same key, and the last one sets another value.
        ([(1, "a", 0), (1, "a", 0), (1, "b", 0)], [[0, 1], [2]]),
        # The first value comes back, so it must be written after the second.
        ([(1, "a", 0), (1, "b", 0), (1, "a", 0)], [[0], [1], [2]]),
        # A null deletes the value. The unset value leaves it deleted, so this row may be in the
        # same part.
        ([(1, "a", 0), (1, None, 0), (1, UNSET_VALUE, 0)], [[0], [1, 2]]),
        ([(1, UNSET_VALUE, 0), (1, "a", 0), (1, UNSET_VALUE, 0), (1, "b", 0)], [[0, 1, 2], [3]]),
        # Rows with other keys do not matter.
        ([(1, "a", 0), (2, "b", 0), (3, "c", 0)], [[0, 1, 2]]),
    ],
)
def test_rows_that_set_other_values_come_later(
    implementation: Implementation, rows: list[tuple[Any, ...]], parts: list[list[int]]
) -> None:
    assert parts_of(implementation, rows) == parts


def test_values_that_expire_at_other_times_differ(implementation: Implementation) -> None:
    """Rows with different times to live differ if the position of these times is given.

    The time to live of a row that writes no value does not count.
    """
    rows = [(1, "a", 5), (1, "a", 6), (2, None, 5), (2, None, 6)]
    assert parts_of(implementation, rows, ttl=2) == [[0, 2, 3], [1]]
    assert parts_of(implementation, rows) == [[0, 1, 2, 3]]


NAN = float("nan")
OTHER_NAN = struct.unpack(">d", b"\xff\xf8\0\0\0\0\0\1")[0]


@pytest.mark.parametrize("name", ["float", "double"])
@pytest.mark.parametrize(
    ("keys", "is_varying"),
    [
        # The server sorts -0.0 before 0.0, so these are two keys.
        ([0.0, -0.0, 1.0], False),
        ([NAN, 1.0, NAN], False),
        ([float("inf"), float("-inf"), NAN, None, -1.0], False),
        ([NAN, OTHER_NAN], True),
    ],
)
def test_floats_only_vary_if_there_are_different_nans(
    implementation: Implementation, name: str, keys: list[Any], is_varying: bool
) -> None:
    """Keys of floats are compared by their bytes, unless rows have NaNs with different bytes.

    Other columns whose bytes look like those of NaN, such as integers of -1, do not matter.
    """
    columns = [
        Column("id", lookup_cqltype("int")),
        Column("key", lookup_cqltype(name)),
        Column("other_key", lookup_cqltype("decimal")),
        Column("number", lookup_cqltype("bigint")),
    ]
    prepared = prepared_insert(implementation, columns, [0])
    block = bind_rows(prepared, [(-1, key, 1, -1 - number) for number, key in enumerate(keys)])
    assert varying_positions(prepared, block, [0, 1, 2]) == ([1, 2] if is_varying else [2])
    assert varying_positions(prepared, block, [0]) == []
