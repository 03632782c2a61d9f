"""Test the types of points, lines, polygons and date ranges.

Values are encoded and decoded, and damaged bytes are refused.
"""

from __future__ import annotations

import decimal
import struct
from typing import Any

import numpy
import pytest

from cassandra import cqltypes as t
from cassandra.cqltypes.failures import EncodeTypeError, EncodeValueError
from cassandra.errors import DecodeError
from cassandra.sentinels import EMPTY
from cassandra.util import OPEN_BOUND, DateRange, DateRangeBound, LineString, Point, Polygon


def well_known_binary(shape_code: int, *parts: Any, is_little_endian: bool = True) -> bytes:
    """Return the bytes of a shape in well-known binary.

    :param shape_code: `POINT`, `LINE_STRING` or `POLYGON`.
    :param parts: an int is written as a 32-bit count, and a tuple as a point.
    :param is_little_endian: False for the big-endian byte order.
    """
    order = "<" if is_little_endian else ">"
    data = struct.pack(f"{order}BI", is_little_endian, shape_code)
    for part in parts:
        if isinstance(part, int):
            data += struct.pack(f"{order}I", part)
        else:
            data += struct.pack(f"{order}2d", *part)
    return data


POINT, LINE_STRING, POLYGON = 1, 2, 3
A, B, C, D = (1.0, 2.0), (3.0, 4.0), (5.0, 6.5), (7.0, 8.0)
# Each tuple has a type, a shape, the shape in well-known text, and the arguments of
# `well_known_binary` for the shape.
SHAPES: list[tuple[Any, Any, str, tuple[Any, ...]]] = [
    (t.PointType, Point(*A), "POINT (1.0 2.0)", (POINT, A)),
    (t.LineStringType, LineString([A, B]), "LINESTRING (1.0 2.0, 3.0 4.0)", (LINE_STRING, 2, A, B)),
    (t.LineStringType, LineString(), "LINESTRING EMPTY", (LINE_STRING, 0)),
    (
        t.PolygonType,
        Polygon([A, B, C, A], [[B, C, D, B]]),
        "POLYGON ((1.0 2.0, 3.0 4.0, 5.0 6.5, 1.0 2.0), (3.0 4.0, 5.0 6.5, 7.0 8.0, 3.0 4.0))",
        # The polygon consists of two rings of four points each.
        (POLYGON, 2, 4, A, B, C, A, 4, B, C, D, B),
    ),
    (t.PolygonType, Polygon(), "POLYGON EMPTY", (POLYGON, 0)),
]


@pytest.mark.parametrize(
    ("cqltype", "shape", "text", "parts"), SHAPES, ids=[text for _, _, text, _ in SHAPES]
)
def test_shapes_are_encoded_and_decoded(cqltype: Any, shape: Any, text: str, parts: Any) -> None:
    """A shape, or its well-known text, is encoded as little-endian well-known binary.

    Bytes of both byte orders are decoded. Missing or additional bytes raise DecodeError.
    """
    data = well_known_binary(*parts)
    assert cqltype.to_binary(shape, 4) == data
    assert cqltype.to_binary(text, 4) == data
    assert cqltype.from_binary(data, 4) == shape
    assert cqltype.from_binary(well_known_binary(*parts, is_little_endian=False), 4) == shape
    for kept_bytes in range(1, len(data)):
        with pytest.raises(DecodeError):
            cqltype.from_binary(data[:kept_bytes], 4)
    with pytest.raises(DecodeError, match="1 bytes left over"):
        cqltype.from_binary(data + b"x", 4)


@pytest.mark.parametrize(
    ("number", "error", "message"),
    [
        (decimal.Decimal("1E+400"), EncodeValueError, "is out of the range of double"),
        (numpy.longdouble("1e400"), EncodeValueError, "is out of the range of double"),
        (10**400, EncodeValueError, "is out of the range of double"),
        (numpy.complex128(1 + 2j), EncodeTypeError, "is not a real number"),
        (numpy.timedelta64(5, "s"), EncodeTypeError, "is not a number"),
        (numpy.ma.masked, EncodeTypeError, "it stands for null"),
        (None, EncodeTypeError, "is not a number"),
        ("1", EncodeTypeError, "is not a number"),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_coordinates_that_are_no_doubles_are_refused(
    number: Any, error: type[Exception], message: str
) -> None:
    """A coordinate is checked like the value of a double; usual numbers of any class are taken."""
    for cqltype, shape in (
        (t.PointType, Point(1.0, number)),
        (t.LineStringType, LineString([A, (number, 2)])),
    ):
        with pytest.raises(error, match=message):
            cqltype.serialize(shape, 4)
    usual = Point(decimal.Decimal("1.5"), numpy.float32(2))  # type: ignore[arg-type]
    assert t.PointType.serialize(usual, 4) == t.PointType.serialize(Point(1.5, 2.0), 4)


@pytest.mark.parametrize(
    ("cqltype", "data", "message"),
    [
        (t.PointType, b"\2" + well_known_binary(POINT, A)[1:], "the byte order is neither 0 nor 1"),
        (t.PointType, well_known_binary(LINE_STRING, A), "well-known binary of kind 2, not 1"),
        (
            t.LineStringType,
            well_known_binary(LINE_STRING, 3, A),
            "claims 3 items, which 16 bytes cannot hold",
        ),
        (
            t.PolygonType,
            well_known_binary(POLYGON, 100),
            "claims 100 items, which 0 bytes cannot hold",
        ),
        (t.DateRangeType, b"\6", "is not a kind of range"),
        (t.DateRangeType, b"\0", "takes 10 bytes, got 1"),
        (t.DateRangeType, b"\4x", "takes 1 bytes, got 2"),
        (t.DateRangeType, b"\0" + bytes(8) + b"\x09", "9 does not stand for a precision"),
        (t.DateRangeType, b"\0" + bytes(8) + b"\xff", "-1 does not stand for a precision"),
    ],
)
def test_damaged_bytes_are_refused(cqltype: Any, data: bytes, message: str) -> None:
    """Damaged bytes of a shape or range raise a DecodeError that says what is wrong."""
    with pytest.raises(DecodeError, match=message):
        cqltype.from_binary(data, 4)


# Two bounds of ranges, and their encodings: milliseconds since 1970, and a precision, which is 0
# for years and 6 for milliseconds.
YEAR_1970, DAY_2 = DateRangeBound(0, "YEAR"), DateRangeBound(86_400_000, "MILLISECOND")
ENCODED_YEAR_1970 = bytes(8) + b"\0"
ENCODED_DAY_2 = (86_400_000).to_bytes(8, "big") + b"\6"
# Each tuple has a range and its encoding, which begins with a byte for the kind of the range.
RANGES = [
    (DateRange(value=YEAR_1970), b"\0" + ENCODED_YEAR_1970),
    (DateRange(YEAR_1970, DAY_2), b"\1" + ENCODED_YEAR_1970 + ENCODED_DAY_2),
    (DateRange(DAY_2, OPEN_BOUND), b"\2" + ENCODED_DAY_2),
    (DateRange(OPEN_BOUND, DAY_2), b"\3" + ENCODED_DAY_2),
    (DateRange(OPEN_BOUND, OPEN_BOUND), b"\4"),
    (DateRange(value=OPEN_BOUND), b"\5"),
]


@pytest.mark.parametrize(("value", "data"), RANGES, ids=[data[:1].hex() for _, data in RANGES])
def test_date_ranges_are_encoded_and_decoded(value: Any, data: bytes) -> None:
    """A date range of each kind is encoded, and decoded to an equal range."""
    assert t.DateRangeType.to_binary(value, 4) == data
    assert t.DateRangeType.from_binary(data, 4) == value


@pytest.mark.parametrize(
    ("cqltype", "accepted_class"),
    [
        (t.PointType, "a cassandra.util.Point"),
        (t.LineStringType, "a cassandra.util.LineString"),
        (t.PolygonType, "a cassandra.util.Polygon"),
        (t.DateRangeType, "a cassandra.util.DateRange"),
    ],
)
def test_other_values_are_refused(cqltype: Any, accepted_class: str) -> None:
    """The error for a value of another class names the accepted class.

    EMPTY is encoded as zero bytes.
    """
    for wrong_value in (5, [A]):
        with pytest.raises(TypeError, match=accepted_class):
            cqltype.to_binary(wrong_value, 4)
    assert cqltype.to_binary(EMPTY, 4) == b""


@pytest.mark.parametrize("cqltype", [t.PointType, t.LineStringType, t.PolygonType])
def test_texts_that_are_no_shapes_are_refused(cqltype: Any) -> None:
    """A string that is not well-known text raises ValueError."""
    with pytest.raises(ValueError, match="nonsense"):
        cqltype.to_binary("nonsense", 4)
