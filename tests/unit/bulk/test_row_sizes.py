"""Test `size_of_row`, by which a load keeps few large rows in memory."""

from __future__ import annotations

import dataclasses
import uuid
from array import array
from collections import deque, namedtuple
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from cassandra.bulk.row_sizes import size_of_row
from cassandra.util import SortedSet

TEXT = "x" * 100_000
Named = namedtuple("Named", ["id", "text"])


@dataclasses.dataclass
class Data:
    id: int
    text: Any


class Struct(msgspec.Struct):
    id: int
    text: str


class WithSlots:
    __slots__ = ("id", "text", "unset")

    def __init__(self) -> None:
        self.id, self.text = 1, TEXT


class WithKeys:
    """A row with the methods `keys` and `__getitem__`, like `sqlite3.Row`."""

    def keys(self) -> list[str]:
        return ["id", "text"]

    def __getitem__(self, name: str) -> Any:
        return {"id": 1, "text": TEXT}[name]


@pytest.mark.parametrize(
    "row",
    [
        (1, TEXT),
        [1, TEXT.encode()],
        {"id": 1, "text": bytearray(100_000)},
        # One of many columns may have nearly all of the bytes.
        (*range(1000), TEXT, *range(1000)),
        tuple([b"", 1] * 1000 + [TEXT]),
        Named(1, TEXT),
        Data(1, TEXT),
        Data(1, Data(2, [Data(3, TEXT)])),
        Struct(1, TEXT),
        WithSlots(),
        WithKeys(),
        SimpleNamespace(id=1, text=TEXT),
        (1, memoryview(bytes(100_000))),
        (1, array("d", [0.0] * 12_500)),
        (1, [0.5] * 12_500),
        (1, deque([1] * 12_500)),
        (1, ["x" * 92] * 1000),
        (1, {str(number) * 5: "x" * 80 for number in range(1000)}),
        (1, {uuid.uuid4() for _ in range(12_500)}),
        (1, SortedSet(range(12_500))),
        (1, [("x" * 76, 1)] * 1000),
    ],
    ids=lambda row: type(row).__name__,
)
def test_the_size_of_a_row_is_about_the_size_of_its_values(row: Any) -> None:
    """The size of a row is about the bytes that its values have in a request.

    It does not matter how the row holds its values.
    """
    assert 90_000 < size_of_row(row) < 130_000


def test_the_size_of_rows_of_numpy() -> None:
    """Arrays count with their elements, and arrays of objects with the objects."""
    numpy = pytest.importorskip("numpy")
    pandas = pytest.importorskip("pandas")
    record = numpy.zeros(1, [("id", "i4"), ("vector", "f4", 25_000)])[0]
    objects = numpy.empty(2, object)
    objects[:] = [1, TEXT]
    zero = numpy.empty((), object)
    zero[()] = TEXT
    for row in (
        record,
        objects,
        zero,
        (1, numpy.zeros(12_500)),
        pandas.Series({"id": 1, "text": TEXT}),
    ):
        assert 90_000 < size_of_row(row) < 130_000, type(row)


def test_small_rows_and_rows_that_cannot_be_measured_are_small() -> None:
    """Scalars have a few bytes, and so have rows whose class raises, or whose values are unknown.

    An iterator is not read, because its values could not be read again.
    """

    class Hostile:
        @property
        def __dict__(self) -> Any:  # type: ignore[override]
            raise OSError

    def generate() -> Iterator[Any]:
        yield TEXT

    values = generate()
    rows = [(), (1, None, 2.5, uuid.uuid4()), {"id": 1}, Hostile(), [Hostile()], values, None, 5]
    for row in rows:
        assert 0 <= size_of_row(row) <= 100
    assert list(values) == [TEXT]


def test_objects_that_refer_to_many_others_are_measured_in_a_short_time() -> None:
    """Only a limited number of objects is measured, because objects may refer to each other."""
    items: list[Any] = []
    items += [SimpleNamespace(others=items) for _ in range(50)]
    assert size_of_row((1, items)) < 1_000_000
