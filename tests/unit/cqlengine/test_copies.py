"""Test `snapshot`, which copies a value unless the value cannot be changed in place."""

from __future__ import annotations

import datetime
import decimal
import enum
import threading
import uuid
from typing import Any

import pytest

from cassandra.cqlengine.copies import are_different, is_immutable, snapshot
from cassandra.util import Date


class Color(enum.Enum):
    """An enum, which counts as immutable even if the value of a member is a list."""

    RED = [1]


class Name(str):
    """A subclass of str, whose instances may have attributes that change, unlike plain strings."""


@pytest.mark.parametrize(
    "value",
    [
        None,
        1,
        "a",
        b"a",
        uuid.UUID(int=1),
        Date(1),
        datetime.datetime(2024, 1, 31),
        Color.RED,
        (1, ("a", None)),
        frozenset((1, 2)),
    ],
)
def test_immutable_values_are_kept(value: Any) -> None:
    """`snapshot` returns an immutable value itself."""
    assert is_immutable(value)
    assert snapshot(value) is value


@pytest.mark.parametrize("value", [[1], {"a": [1]}, (1, [2]), bytearray(b"a"), {1}, Name("a")])
def test_other_values_are_copied(value: Any) -> None:
    """`snapshot` copies a value that can be changed, or contains such a value."""
    assert not is_immutable(value)
    copied = snapshot(value)
    assert copied == value
    assert copied is not value


def test_a_view_is_copied_as_bytes() -> None:
    """`snapshot` copies a memoryview as bytes, because its memory may change."""
    assert snapshot(memoryview(bytearray(b"a"))) == b"a"


def test_a_value_that_cannot_be_copied_is_kept() -> None:
    """`snapshot` returns a value that cannot be copied, such as a lock, itself.

    `copy.deepcopy` raises an error for a lock.
    """
    lock = threading.Lock()
    assert snapshot(lock) is lock


class Point:
    """A class whose `__eq__` raises AttributeError for objects of other classes."""

    def __init__(self, x: int) -> None:
        self.x = x

    def __eq__(self, other: Any) -> bool:
        return bool(self.x == other.x)

    __hash__ = None  # type: ignore[assignment]


def test_values_that_cannot_be_compared_are_different() -> None:
    """`are_different` is True if the comparison raises an error."""
    assert not are_different(Point(1), Point(1))
    assert are_different(Point(1), Point(2))
    for value in (Point(1), decimal.Decimal("sNaN")):
        assert are_different(value, None if isinstance(value, Point) else value)
        assert are_different([value], [1])


@pytest.mark.filterwarnings("ignore:elementwise comparison failed:DeprecationWarning")
def test_arrays_are_compared_element_by_element() -> None:
    """`are_different` compares all elements of arrays, also if one of the two arrays is empty."""
    numpy = pytest.importorskip("numpy")
    array = numpy.array
    for one, other in (
        (array([1.0]), array([])),
        (array([]), array([1.0])),
        (array([1.0]), [1.0, 1.0]),
        (array([1.0, 2.0]), array([1.0, 2.0, 3.0])),
        (array([1.0, 2.0]), None),
        ({"a": (array([1.0, 2.0]),)}, {"a": (array([1.0, 3.0]),)}),
    ):
        assert are_different(one, other)
        assert not are_different(one, snapshot(one))
        assert not are_different(other, snapshot(other))
    pandas = pytest.importorskip("pandas")
    assert are_different(pandas.NA, 1)
    assert are_different(pandas.Series([1, 2]), pandas.Series([1, 3]))
    assert not are_different(pandas.Series([1, 2]), pandas.Series([1, 2]))
    polars = pytest.importorskip("polars")
    assert are_different(polars.Series([1, 2]), polars.Series([1, 3]))
    assert not are_different(polars.Series([1, 2]), polars.Series([1, 2]))
