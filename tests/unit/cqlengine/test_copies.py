"""`snapshot` returns a value that cannot change in place as it is, and copies any other value."""

from __future__ import annotations

import datetime
import enum
import threading
import uuid
from typing import Any

import pytest

from cassandra.cqlengine.copies import is_immutable, snapshot
from cassandra.util import Date


class Color(enum.Enum):
    """An enum is immutable, even if the value of a member is a list."""

    RED = [1]


class Name(str):
    """A subclass of str. Unlike a plain string, its instances may have attributes that change."""


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
    assert is_immutable(value)
    assert snapshot(value) is value


@pytest.mark.parametrize("value", [[1], {"a": [1]}, (1, [2]), bytearray(b"a"), {1}, Name("a")])
def test_other_values_are_copied(value: Any) -> None:
    assert not is_immutable(value)
    copied = snapshot(value)
    assert copied == value
    assert copied is not value


def test_a_view_is_copied_as_bytes() -> None:
    """A memoryview refers to memory that may change."""
    assert snapshot(memoryview(bytearray(b"a"))) == b"a"


def test_a_value_that_cannot_be_copied_is_kept() -> None:
    """`copy.deepcopy` raises for a lock."""
    lock = threading.Lock()
    assert snapshot(lock) is lock
