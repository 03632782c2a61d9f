"""SortedSet."""

from __future__ import annotations

import copy
import pickle
import random
from typing import Any

import pytest

from cassandra import util
from cassandra.util import SortedSet

Pool = list[Any]


def test_a_sorted_set_is_a_set() -> None:
    source = random.Random(7)
    for _ in range(300):
        a = [source.randrange(12) for _ in range(source.randrange(9))]
        b = [source.randrange(12) for _ in range(source.randrange(9))]
        x, y, one, other = util.SortedSet(a), util.SortedSet(b), set(a), set(b)
        assert list(x) == sorted(one)
        assert x == one
        assert (x == y) == (one == other)
        for name in ("__and__", "__or__", "__sub__", "__xor__"):
            expected = sorted(getattr(one, name)(other))
            assert list(getattr(x, name)(y)) == expected
            assert list(getattr(x, name)(other)) == expected
        assert list(other - x) == sorted(other - one)
        assert (x <= y, x < y, x >= y, x > y) == (
            one <= other,
            one < other,
            one >= other,
            one > other,
        )
        assert x.isdisjoint(b) == one.isdisjoint(b)
        assert list(x.union(b, [99])) == sorted(one.union(b, [99]))
        x |= y
        assert list(x) == sorted(one | other)
        x &= util.SortedSet(a)
        assert list(x) == sorted(one)
        x -= y
        assert list(x) == sorted(one - other)
        x ^= y
        assert list(x) == sorted((one - other) ^ other)


@pytest.mark.parametrize(
    "items", [[[2], [1], [2]], [{"a": 1}, {"b": 2}], [1, "a", None], [{1}, {2}, {1, 2}]]
)
def test_elements_of_any_kind(items: Pool) -> None:
    found = util.SortedSet(items)
    assert len(found) == len(
        [item for number, item in enumerate(items) if item not in items[:number]]
    )
    assert all(item in found for item in items)
    assert [0] not in found
    for item in list(found):
        found.remove(item)
    assert not found


def test_changes() -> None:
    found = util.SortedSet([3, 1])
    found.add(2)
    found.add(2)
    assert list(found) == [1, 2, 3]
    assert found[0] == 1
    assert list(reversed(found)) == [3, 2, 1]
    found.discard(9)
    with pytest.raises(KeyError):
        found.remove(9)
    assert found.pop() == 3
    twin = found.copy()
    found.clear()
    assert list(twin) == [1, 2]
    with pytest.raises(KeyError):
        found.pop()
    assert repr(twin) == "SortedSet([1, 2])"
    assert pickle.loads(pickle.dumps(twin)) == twin
    assert copy.deepcopy(twin) == twin
    with pytest.raises(TypeError):
        hash(twin)
    assert util.sortedset is util.SortedSet


@pytest.mark.parametrize(
    "items",
    [
        [(1, None), (1, "a"), (0, "b")],
        [util.SortedSet([2]), util.SortedSet([1, 5]), util.SortedSet([1]), util.SortedSet([5])],
        [1.0, float("nan"), 0.5],
    ],
)
def test_elements_that_have_no_total_order_are_found(items: Pool) -> None:
    found = util.SortedSet(items)
    assert list(found) == items  # in order of arrival
    assert all(item in found for item in items)
    assert all(item in found.copy() for item in items)
    assert all(item in found.difference([]) for item in items)
    for item in items:
        found.add(item)
    assert len(found) == len(items)
    for item in items:
        found.remove(item)
    assert not found


def test_an_ordered_set_takes_in_an_element_without_a_place() -> None:
    found = util.SortedSet([1, 3])
    found.add("x")
    found.add("x")
    found.add(2)
    assert len(found) == 4
    assert all(item in found for item in (1, 2, 3, "x"))
    assert util.SortedSet(found) == found


def test_a_set_compares_with_any_collection() -> None:
    found = util.SortedSet([2, 1])
    assert found == [1, 2]
    assert found == [2, 1]
    assert found == (2, 1)
    assert found == range(1, 3)
    assert found != [1, 1]
    assert found != [1, 3]
    assert found != [1, 2, 2]
    assert util.SortedSet(["a"]) != "a"
    assert found != 5


def test_elements_can_be_deleted_from_sorted_sets() -> None:
    found = SortedSet([5, 1, 4, 2, 3])
    del found[0]
    assert list(found) == [2, 3, 4, 5]
    del found[1:3]
    assert list(found) == [2, 5]
    del found[-1]
    assert list(found) == [2]
    with pytest.raises(IndexError):
        del found[1]
