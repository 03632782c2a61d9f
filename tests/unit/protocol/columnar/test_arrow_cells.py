"""Test `cells`, which converts nested Arrow arrays into the Python objects of a pandas column."""

from __future__ import annotations

import datetime
import struct
import uuid
from decimal import Decimal
from typing import Any

import pytest

from cassandra import cqltypes as t
from cassandra.protocol.columnar.arrow_cells import cells, is_ours, object_array
from cassandra.protocol.columnar.layouts import layout_of
from cassandra.protocol.columnar.pages import ArrowPage
from cassandra.util import Time
from tests.conftest import Implementation
from tests.unit.cqltypes.samples import list_of, map_of, set_of, tuple_of, vector_of
from tests.unit.protocol.pages import column_plan, page_of
from tests.unit.protocol.wire import int32, value

IDENTITY = uuid.UUID(int=5)
NANOS = struct.pack(">q", 5)  # the time of day 5 ns
DECIMAL = int32(2) + b"\x01\x02"  # 258 with the scale 2, so 2.58


def array_of(implementation: Implementation, cqltype: Any, *rows: bytes | None) -> Any:
    """Return an Arrow array of these encoded values of one column."""
    pyarrow = pytest.importorskip("pyarrow")
    page = column_plan(implementation, [cqltype]).read(
        page_of([[row] for row in rows]), offset=0, row_count=len(rows)
    )
    return pyarrow.record_batch(ArrowPage(page)).column(0)


@pytest.mark.parametrize(
    ("cqltype", "is_converted"),
    [
        (t.DecimalType, True),
        (t.IntegerType, True),
        (t.TimeType, False),  # pyarrow itself converts this type correctly.
        (t.UUIDType, False),
        (list_of(t.TimeType), True),
        (list_of(t.UUIDType), True),
        (list_of(list_of(t.DecimalType)), True),
        (list_of(t.DateType), False),
        (tuple_of(t.DateType), True),
        (tuple_of(t.SimpleDateType), True),
        (map_of(t.UTF8Type, t.DateType), True),
        (tuple_of(t.Int32Type, list_of(t.DateType)), True),
        (map_of(t.UTF8Type, vector_of(t.DateType, 1)), True),
        (list_of(list_of(t.DateType)), False),
        (tuple_of(t.Int32Type, t.UTF8Type), False),
    ],
)
def test_types_that_we_convert_because_pyarrow_cannot(cqltype: Any, is_converted: bool) -> None:
    """`is_ours` returns whether the driver, and not pyarrow, converts the cells of a type."""
    assert is_ours(layout_of(cqltype)) is is_converted


# Each tuple has a type, an encoded value, and the cell of an Arrow table that it must become.
SCALARS: list[tuple[Any, bytes, Any]] = [
    (t.DecimalType, DECIMAL, Decimal("2.58")),
    (t.IntegerType, b"\xff", -1),
    (t.IntegerType, b"\x7f", 127),
    (t.TimeType, NANOS, Time(5)),
    (t.Int32Type, int32(7), 7),
    (t.UTF8Type, b"x", "x"),
]


@pytest.mark.parametrize(("cqltype", "data", "cell"), SCALARS, ids=lambda part: str(part)[:20])
def test_scalars(implementation: Implementation, cqltype: Any, data: bytes, cell: Any) -> None:
    """A scalar must become an object of the expected type, and null must become None."""
    items = cells(array_of(implementation, cqltype, data, None, data), layout_of(cqltype))
    assert items == [cell, None, cell]
    assert type(items[0]) is type(cell)


def test_uuids(implementation: Implementation) -> None:
    """UUIDs become UUID objects, also in a slice of the array, whose storage has an offset."""
    rows = [IDENTITY.bytes, None, bytes(range(16)), None]
    array = array_of(implementation, t.UUIDType, *rows)
    expected = [None if row is None else uuid.UUID(bytes=row) for row in rows]
    for first_row in range(len(rows) + 1):
        assert cells(array.slice(first_row), layout_of(t.UUIDType)) == expected[first_row:]
    nulls = array_of(implementation, t.UUIDType, None, None)
    assert cells(nulls, layout_of(t.UUIDType)) == [None, None]


def test_a_varint_of_thousands_of_digits(implementation: Implementation) -> None:
    """A varint of 5001 digits must become an int, although Python limits strings to 4300 digits."""
    number = -(10**5000)
    data = number.to_bytes(number.bit_length() // 8 + 1, "big", signed=True)
    (item,) = cells(array_of(implementation, t.IntegerType, data), layout_of(t.IntegerType))
    assert item == number


def test_lists(implementation: Implementation) -> None:
    """A list becomes a list of objects, also in a slice of the array."""
    cqltype = list_of(t.TimeType)
    row_bytes = [int32(2) + value(NANOS) + value(None), None, int32(0), int32(1) + value(NANOS)]
    array = array_of(implementation, cqltype, *row_bytes)
    expected = [[Time(5), None], None, [], [Time(5)]]
    for first_row in range(len(row_bytes)):  # The inner array of a slice has an offset.
        items = cells(array.slice(first_row), layout_of(cqltype))
        assert [None if item is None else list(item) for item in items] == expected[first_row:]
    assert cells(array.slice(4), layout_of(cqltype)) == []


def test_vectors(implementation: Implementation) -> None:
    """A vector of UUIDs must become a list of UUID objects, even in a slice of the array."""
    cqltype = vector_of(t.UUIDType, 2)
    array = array_of(implementation, cqltype, IDENTITY.bytes * 2, None, bytes(32))
    expected = [[IDENTITY] * 2, None, [uuid.UUID(int=0)] * 2]
    for first_row in range(3):
        items = cells(array.slice(first_row), layout_of(cqltype))
        assert [None if item is None else list(item) for item in items] == expected[first_row:]


def test_maps(implementation: Implementation) -> None:
    """A map becomes a list of pairs, also in a slice of the array."""
    cqltype = map_of(t.UTF8Type, t.TimeType)
    entry = value(b"k") + value(NANOS)
    array = array_of(implementation, cqltype, int32(1) + entry, None, int32(2) + entry * 2)
    key_and_value = ("k", Time(5))
    expected = [[key_and_value], None, [key_and_value, key_and_value]]
    for first_row in range(3):
        assert cells(array.slice(first_row), layout_of(cqltype)) == expected[first_row:]


def test_structs(implementation: Implementation) -> None:
    """A tuple must become a dict whose keys are the names of its fields."""
    cqltype = tuple_of(t.Int32Type, t.TimeType, t.DateType)
    tuple_bytes = value(int32(1)) + value(NANOS) + value(struct.pack(">q", 1000))
    items = cells(array_of(implementation, cqltype, tuple_bytes, None), layout_of(cqltype))
    # Depending on the library, the timestamp is a pandas object, so compare it separately.
    timestamp = items[0].pop("f2")
    assert items == [{"f0": 1, "f1": Time(5)}, None]
    assert timestamp.to_pydatetime().replace(tzinfo=None) == datetime.datetime(1970, 1, 1, 0, 0, 1)


@pytest.mark.parametrize("millis", [1000, 253402300800000])
def test_lists_of_timestamps_in_structs(implementation: Implementation, millis: int) -> None:
    """A list in a tuple or map has the elements of a list alone, also after the year 9999."""
    numpy = pytest.importorskip("numpy")
    timestamps = int32(1) + value(struct.pack(">q", millis))
    in_tuple, in_map = (
        tuple_of(t.Int32Type, list_of(t.DateType)),
        map_of(t.UTF8Type, set_of(t.DateType)),
    )
    tuple_bytes = value(int32(1)) + value(timestamps)
    (cell,) = cells(array_of(implementation, in_tuple, tuple_bytes), layout_of(in_tuple))
    assert cell["f1"].tolist() == numpy.array([millis], "M8[ms]").tolist()
    map_bytes = int32(1) + value(b"k") + value(timestamps)
    ((pair,),) = cells(array_of(implementation, in_map, map_bytes), layout_of(in_map))
    assert pair[1].tolist() == numpy.array([millis], "M8[ms]").tolist()


def test_object_arrays_have_one_dimension_even_for_lists() -> None:
    """`object_array` makes a one-dimensional array, even of lists.

    NumPy itself would make a two-dimensional array of lists.
    """
    pytest.importorskip("numpy")
    array = object_array([[1, 2], [3, 4]])
    assert array.shape == (2,)
    assert array.dtype == object
    assert array[1] == [3, 4]
    assert object_array([]).shape == (0,)
