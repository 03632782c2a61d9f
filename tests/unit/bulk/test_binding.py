"""Rows of chunks as requests."""

from __future__ import annotations

import collections
from collections.abc import Sequence
from typing import Any

import pytest

from cassandra.bulk import binding
from cassandra.bulk.binding import Binder, Bound, StaticRows
from cassandra.bulk.chunks import Chunk, Column, Position
from cassandra.bulk.groups import Keys
from cassandra.cqltypes.parse import lookup_cqltype
from tests.conftest import Twins


class Prepared:
    """A prepared statement, as far as it is asked here."""

    protocol_version = 5
    query_string = "INSERT"

    def __init__(self, plan: Any, key: Sequence[int]) -> None:
        self.bind_plan = plan
        self.routing_key_indexes = key


COLUMNS = [
    Column("p", lookup_cqltype("text"), is_key=True),
    Column("c", lookup_cqltype("int"), is_key=True),
    Column("s", lookup_cqltype("text")),
    Column("r", lookup_cqltype("int")),
]


@pytest.fixture
def binder(twins: Twins, monkeypatch: pytest.MonkeyPatch) -> Binder:
    monkeypatch.setattr(binding, "bind", twins.bind)
    monkeypatch.setattr(binding, "grouping", twins.grouping)
    prepared: Any = Prepared(twins.bind.BindPlan(COLUMNS), [0])
    made = Binder(prepared, COLUMNS, {}, range(4), Keys((0,), (1,)), None, lambda: None)
    made.is_closed = True
    return made


def bound(binder: Binder, *rows: Any) -> Bound:
    chunk = Chunk(list(rows), len(rows), None, 0, None, Position(0, len(rows)), None)
    found = binder.next_of(iter([chunk]))
    assert found is not None
    return found


def data(found: Bound) -> list[tuple[int, bytes]]:
    """Return (place, bytes) of each row that is sent."""
    return sorted(
        (wave.places[row], group.block.row(at).data)
        for wave in found.waves
        for group in wave.groups
        for at, row in enumerate(group.rows)
    )


def test_rows_go_by_their_names_if_they_have_names(binder: Binder) -> None:
    row = collections.namedtuple("row", "r s c p")
    found = bound(binder, ("a", 1, "b", 2), row(2, "b", 1, "a"), {"r": 2, "s": "b", "c": 1, "p": "a"})  # noqa: E501  # fmt: skip
    assert not found.failures
    assert len({values for _, values in data(found)}) == 1
    assert [place for place, _ in data(found)] == [0, 1, 2]


def test_rows_that_are_no_rows_of_the_table(binder: Binder) -> None:
    extra = collections.namedtuple("extra", "p c s r x")
    part = collections.namedtuple("part", "p s r")
    found = bound(
        binder, ("a", 1), extra("a", 1, "s", 2, 3), part("a", "s", 2), {"p": "a", "c": 1, "y": 2}
    )
    assert [(place, str(error)) for place, error in found.failures] == [
        (0, "it has 2 values, and 4 columns are written: p, c, s, r; columns=[...] names others"),
        (1, "it has a field 'x', which is not a column that is written: c, p, r, s"),
        (2, "it has no field 'c', which is of the primary key"),
        (3, "it has a field 'y', which is not a column that is written: c, p, r, s"),
    ]
    binder.ignored = {"x", "y"}
    found = bound(binder, extra("a", 1, "s", 2, 3), {"p": "a", "c": 1, "y": 2})
    assert not found.failures
    assert found.row_count == 2


def test_values_may_raise_anything(binder: Binder) -> None:
    class Broken(str):
        def encode(self, *_: Any) -> bytes:
            raise RuntimeError("no bytes")

    class Endless:
        def __int__(self) -> int:
            return self.__int__()

        __index__ = __int__

    found = bound(binder, ("a", 1, "s", 2), ("b", Endless(), "s", 2), ("c", 3, "\ud800", 4))
    assert [place for place, _ in found.failures] == [1, 2]
    assert found.row_count == 1


def test_a_dry_run_sees_keys_that_no_server_takes(binder: Binder) -> None:
    binder.is_dry = True
    found = bound(binder, ("a", 1, "s", 2), (None, 1, "s", 2), ("a", None, "s", 2), ("", 1, "s", 2))
    assert [(place, str(error)) for place, error in found.failures] == [
        (1, "column 'p' of the primary key has no value"),
        (2, "column 'c' of the primary key has no value"),
        (3, "the partition key 'p' is empty"),
    ]
    assert (found.row_count, found.waves) == (1, [])


def test_rows_of_static_columns_alone_are_other_requests(binder: Binder, twins: Twins) -> None:
    prepared: Any = Prepared(twins.bind.BindPlan([COLUMNS[0], COLUMNS[2]]), [0])
    binder.static_rows = StaticRows(prepared, [0, 2], [2], [1], [3])
    found = bound(
        binder, ("a", 1, "s", 2), ("b", None, "t", None), ("c", None, "t", 5), ("d", 7, None, None)
    )
    assert not found.failures
    (static,) = [wave for wave in found.waves if wave.prepared is prepared]
    assert data(found._replace(waves=[static])) == [(1, b"\0\0\0\1b\0\0\0\1t")]
    assert [place for place, _ in data(found)] == [0, 1, 2, 3]
    assert found.row_count == 4


def test_what_a_row_of_a_partition_is(twins: Twins) -> None:
    prepared: Any = None
    static_rows = StaticRows(prepared, [0, 2], [2], [1], [3])
    assert static_rows.are_all([1, -1, 1, -1], False)
    assert static_rows.are_all([1, -1, -1, -2], False)
    assert not static_rows.are_all([1, 0, 1, -1], False)
    # CSV has nothing for an empty text and for no text at all.
    assert static_rows.are_all([1, 0, 1, -1], True)
    assert not static_rows.are_all([1, 0, -1, -1], True)
    assert not static_rows.are_all([1, 0, 1, 4], True)
    assert not static_rows.are_all([1, 4, 1, -1], True)
