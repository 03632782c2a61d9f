"""Points, lines, polygons and date ranges are encoded and decoded; damaged bytes are refused."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from cassandra import cqltypes as t
from cassandra.errors import DecodeError
from cassandra.sentinels import EMPTY
from cassandra.util import (
    OPEN_BOUND,
    DateRange,
    DateRangeBound,
    LineString,
    Point,
    Polygon,
)


def little_endian(shape_code: int, *parts: Any) -> bytes:
    """Return the bytes of a shape in well-known binary, in little-endian order.

    :param parts: an int stands for a 32-bit count, and a tuple for a point.
    """
    # The first byte, 1, says that the numbers are little-endian.
    data = struct.pack("<BI", 1, shape_code)
    for part in parts:
        data += struct.pack("<I", part) if isinstance(part, int) else struct.pack("<2d", *part)
    return data


def big_endian(kind: int, *parts: Any) -> bytes:
    data = struct.pack(">BI", 0, kind)
    for part in parts:
        data += struct.pack(">I", part) if isinstance(part, int) else struct.pack(">2d", *part)
    return data


A, B, C, D = (1.0, 2.0), (3.0, 4.0), (5.0, 6.5), (7.0, 8.0)
SHAPES: list[tuple[Any, Any, str, tuple[Any, ...]]] = [
    (t.PointType, Point(*A), "POINT (1.0 2.0)", (1, A)),
    (t.LineStringType, LineString([A, B]), "LINESTRING (1.0 2.0, 3.0 4.0)", (2, 2, A, B)),
    (t.LineStringType, LineString(), "LINESTRING EMPTY", (2, 0)),
    (
        t.PolygonType,
        Polygon([A, B, C, A], [[B, C, D, B]]),
        "POLYGON ((1.0 2.0, 3.0 4.0, 5.0 6.5, 1.0 2.0), (3.0 4.0, 5.0 6.5, 7.0 8.0, 3.0 4.0))",
        (3, 2, 4, A, B, C, A, 4, B, C, D, B),
    ),
    (t.PolygonType, Polygon(), "POLYGON EMPTY", (3, 0)),
]


@pytest.mark.parametrize(("cqltype", "shape", "text", "parts"), SHAPES, ids=[s[2] for s in SHAPES])
def test_shapes_are_encoded_and_decoded(cqltype: Any, shape: Any, text: str, parts: Any) -> None:
    data = little_endian(*parts)
    assert cqltype.to_binary(shape, 4) == cqltype.to_binary(text, 4) == data
    assert cqltype.from_binary(data, 4) == cqltype.from_binary(big_endian(*parts), 4) == shape
    for kept_bytes in range(1, len(data)):
        with pytest.raises(DecodeError):
            cqltype.from_binary(data[:kept_bytes], 4)
    with pytest.raises(DecodeError, match="1 bytes left over"):
        cqltype.from_binary(data + b"x", 4)


@pytest.mark.parametrize(
    ("cqltype", "data", "message"),
    [
        (t.PointType, b"\2" + little_endian(1, A)[1:], "the byte order is neither 0 nor 1"),
        (t.PointType, little_endian(2, A), "well-known binary of kind 2, not 1"),
        (t.LineStringType, little_endian(2, 3, A), "claims 3 items, which 16 bytes cannot hold"),
        (t.PolygonType, little_endian(3, 100), "claims 100 items, which 0 bytes cannot hold"),
        (t.DateRangeType, b"\6", "is not a kind of range"),
        (t.DateRangeType, b"\0", "takes 10 bytes, got 1"),
        (t.DateRangeType, b"\4x", "takes 1 bytes, got 2"),
        (t.DateRangeType, b"\0" + bytes(8) + b"\x09", "9 does not stand for a precision"),
        (t.DateRangeType, b"\0" + bytes(8) + b"\xff", "-1 does not stand for a precision"),
    ],
)
def test_damaged_bytes(cqltype: Any, data: bytes, message: str) -> None:
    """Damaged bytes of each kind are refused with an error that says what is wrong."""
    with pytest.raises(DecodeError, match=message):
        cqltype.from_binary(data, 4)


BOUND, LATER = DateRangeBound(0, "YEAR"), DateRangeBound(86_400_000, "MILLISECOND")
ZERO, DAY = bytes(9), (86_400_000).to_bytes(8, "big") + b"\6"
RANGES = [
    (DateRange(value=BOUND), b"\0" + ZERO),
    (DateRange(BOUND, LATER), b"\1" + ZERO + DAY),
    (DateRange(LATER, OPEN_BOUND), b"\2" + DAY),
    (DateRange(OPEN_BOUND, LATER), b"\3" + DAY),
    (DateRange(OPEN_BOUND, OPEN_BOUND), b"\4"),
    (DateRange(value=OPEN_BOUND), b"\5"),
]


@pytest.mark.parametrize(("value", "data"), RANGES, ids=[data[:1].hex() for _, data in RANGES])
def test_date_ranges(value: Any, data: bytes) -> None:
    """A range of each kind is encoded to the expected bytes, and decoded from them."""
    assert t.DateRangeType.to_binary(value, 4) == data
    assert t.DateRangeType.from_binary(data, 4) == value


@pytest.mark.parametrize(
    ("cqltype", "expected"),
    [
        (t.PointType, "a cassandra.util.Point"),
        (t.LineStringType, "a cassandra.util.LineString"),
        (t.PolygonType, "a cassandra.util.Polygon"),
        (t.DateRangeType, "a cassandra.util.DateRange"),
    ],
)
def test_other_values_are_refused(cqltype: Any, expected: str) -> None:
    for wrong_value in (5, [A]):
        with pytest.raises(TypeError, match=expected):
            cqltype.to_binary(wrong_value, 4)
    # Values of the other types can also be given as well-known text.
    if cqltype is not t.DateRangeType:
        with pytest.raises(ValueError, match="nonsense"):
            cqltype.to_binary("nonsense", 4)
    assert cqltype.to_binary(EMPTY, 4) == b""
