"""Test `SortedSet`: its order and its operations."""

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
    """Each operation on random sorted sets has the same result as on built-in sets."""
    chooser = random.Random(7)
    for _ in range(300):
        # The same operations on a sorted set and on a built-in set must have equal results.
        numbers_x = [chooser.randrange(12) for _ in range(chooser.randrange(9))]
        numbers_y = [chooser.randrange(12) for _ in range(chooser.randrange(9))]
        x, y, plain_x, plain_y = (
            util.SortedSet(numbers_x),
            util.SortedSet(numbers_y),
            set(numbers_x),
            set(numbers_y),
        )
        assert list(x) == sorted(plain_x)
        assert x == plain_x
        assert (x == y) == (plain_x == plain_y)
        for name in ("__and__", "__or__", "__sub__", "__xor__"):
            expected = sorted(getattr(plain_x, name)(plain_y))
            assert list(getattr(x, name)(y)) == expected
            assert list(getattr(x, name)(plain_y)) == expected
        assert list(plain_y - x) == sorted(plain_y - plain_x)
        assert (x <= y, x < y, x >= y, x > y) == (
            plain_x <= plain_y,
            plain_x < plain_y,
            plain_x >= plain_y,
            plain_x > plain_y,
        )
        assert x.isdisjoint(numbers_y) == plain_x.isdisjoint(numbers_y)
        assert list(x.union(numbers_y, [99])) == sorted(plain_x.union(numbers_y, [99]))
        # These operators change the set, so each assertion depends on the operators before it.
        x |= y
        assert list(x) == sorted(plain_x | plain_y)
        x &= util.SortedSet(numbers_x)
        assert list(x) == sorted(plain_x)
        x -= y
        assert list(x) == sorted(plain_x - plain_y)
        x ^= y
        assert list(x) == sorted((plain_x - plain_y) ^ plain_y)


@pytest.mark.parametrize(
    "items", [[[2], [1], [2]], [{"a": 1}, {"b": 2}], [1, "a", None], [{1}, {2}, {1, 2}]]
)
def test_elements_that_cannot_be_hashed_or_compared(items: Pool) -> None:
    """Elements that cannot be hashed or compared are still unique, and can be removed."""
    sorted_set = util.SortedSet(items)
    unique_items = [item for number, item in enumerate(items) if item not in items[:number]]
    assert len(sorted_set) == len(unique_items)
    assert all(item in sorted_set for item in items)
    assert [0] not in sorted_set
    # The loop removes elements, so iterate over a copy.
    for item in list(sorted_set):
        sorted_set.remove(item)
    assert not sorted_set


def test_elements_stay_sorted_and_unique_after_changes() -> None:
    """Elements stay sorted and unique after changes.

    Removing a missing element raises a KeyError.
    """
    sorted_set = util.SortedSet([3, 1])
    sorted_set.add(2)
    sorted_set.add(2)
    assert list(sorted_set) == [1, 2, 3]
    assert sorted_set[0] == 1
    assert list(reversed(sorted_set)) == [3, 2, 1]
    sorted_set.discard(9)
    with pytest.raises(KeyError):
        sorted_set.remove(9)
    # `pop` removes the last element. Changes of the set have no effect on its copy.
    assert sorted_set.pop() == 3
    copied = sorted_set.copy()
    sorted_set.clear()
    assert list(copied) == [1, 2]
    with pytest.raises(KeyError):
        sorted_set.pop()
    assert repr(copied) == "SortedSet([1, 2])"
    assert pickle.loads(pickle.dumps(copied)) == copied
    assert copy.deepcopy(copied) == copied
    with pytest.raises(TypeError):
        hash(copied)
    assert util.sortedset is util.SortedSet


@pytest.mark.parametrize(
    "items",
    [
        [(1, None), (1, "a"), (0, "b")],
        [util.SortedSet([2]), util.SortedSet([1, 5]), util.SortedSet([1]), util.SortedSet([5])],
        [1.0, float("nan"), 0.5],
    ],
)
def test_elements_without_a_total_order_keep_their_insertion_order(items: Pool) -> None:
    """Elements without a total order keep their insertion order, are unique, and can be removed."""
    sorted_set = util.SortedSet(items)
    assert list(sorted_set) == items
    assert all(item in sorted_set for item in items)
    assert all(item in sorted_set.copy() for item in items)
    assert all(item in sorted_set.difference([]) for item in items)
    for item in items:
        sorted_set.add(item)
    assert len(sorted_set) == len(items)
    for item in items:
        sorted_set.remove(item)
    assert not sorted_set


def test_an_element_that_cannot_be_compared_can_be_added() -> None:
    """A string can be added to a set of numbers, and further numbers after it."""
    sorted_set = util.SortedSet([1, 3])
    sorted_set.add("x")
    sorted_set.add("x")
    # Numbers can still be added after the string.
    sorted_set.add(2)
    assert len(sorted_set) == 4
    assert all(item in sorted_set for item in (1, 2, 3, "x"))
    assert util.SortedSet(sorted_set) == sorted_set


def test_a_set_compares_with_any_collection() -> None:
    """A sorted set equals any collection of the same elements without duplicates, but no string."""
    sorted_set = util.SortedSet([2, 1])
    assert sorted_set == [1, 2]
    assert sorted_set == [2, 1]
    assert sorted_set == (2, 1)
    assert sorted_set == range(1, 3)
    assert sorted_set != [1, 1]
    assert sorted_set != [1, 3]
    assert sorted_set != [1, 2, 2]
    assert util.SortedSet(["a"]) != "a"
    assert sorted_set != 5


def test_elements_can_be_deleted_from_sorted_sets() -> None:
    """`del` removes elements by index or slice, in the order of the set."""
    sorted_set = SortedSet([5, 1, 4, 2, 3])
    del sorted_set[0]
    assert list(sorted_set) == [2, 3, 4, 5]
    del sorted_set[1:3]
    assert list(sorted_set) == [2, 5]
    del sorted_set[-1]
    assert list(sorted_set) == [2]
    with pytest.raises(IndexError):
        del sorted_set[1]
