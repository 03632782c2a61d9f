"""Rows that are bound later are copied, so that later changes by the application do not affect
them.
"""

from __future__ import annotations

import collections
import dataclasses
import enum
import types
from typing import Any

import numpy
import pytest

from cassandra.query.snapshots import snapshot
from cassandra.util import OrderedMap, SortedSet

Pair = collections.namedtuple("Pair", "k v")


@dataclasses.dataclass(frozen=True, slots=True)
class Slots:
    k: int
    v: list[int]


class Plain:
    def __init__(self, v: list[int]) -> None:
        self.k = 1
        self.v = v


class Colour(enum.Enum):
    RED = [1]


class Uncopied:
    k = 1

    def __init__(self) -> None:
        self.v = 1

    def __copy__(self) -> Uncopied:
        raise RuntimeError("not copied")


@pytest.mark.parametrize(
    "make",
    [
        lambda v: [1, v],
        lambda v: (1, v),
        lambda v: {"k": 1, "v": v},
        lambda v: collections.OrderedDict(k=1, v=v),
        lambda v: types.MappingProxyType({"k": 1, "v": v}),
        lambda v: Pair(1, v),
        lambda v: Slots(1, v),
        Plain,
        lambda v: [1, {"x": (v,)}],
        lambda v: collections.deque([1, v]),
    ],
)
def test_changing_a_collection_inside_a_row_does_not_affect_the_copy(make: Any) -> None:
    def flat(row: Any) -> str:
        return repr(vars(row)) if isinstance(row, Plain) else repr(row)

    items = [5]
    row = make(items)
    copied = snapshot(row)
    before = flat(copied)
    items.append(6)
    assert flat(copied) == before
    if not isinstance(row, types.MappingProxyType):
        assert type(copied) is type(row)


def test_mutable_rows_and_values_are_copied() -> None:
    for row in ([1], {"a": 1}, {1}, bytearray(b"a"), SortedSet([1]), numpy.array([1])):
        copied = snapshot(row)
        assert copied is not row
        assert list(copied) == list(row)
    buffer = bytearray(b"a")
    (copied,) = snapshot([memoryview(buffer)])
    buffer[:] = b"b"
    assert copied == b"a"
    assert snapshot([OrderedMap([([1], 2)])]) == [OrderedMap([([1], 2)])]


def test_immutable_and_unknown_values_are_not_copied() -> None:
    constant = object()
    for row in ((1, "a", None), "abc", Colour.RED, constant, int, Uncopied()):
        assert snapshot(row) is row
    assert snapshot([constant])[0] is constant
