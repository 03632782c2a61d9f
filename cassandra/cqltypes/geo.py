"""Types of DataStax Enterprise: points, lines and polygons (well-known binary), date ranges."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from cassandra.cqltypes import coerce
from cassandra.cqltypes.base import _CassandraType, apache_cassandra_type_prefix, public
from cassandra.cqltypes.failures import malformed, refuse_type, refuse_value
from cassandra.sentinels import EMPTY
from cassandra.util.daterange import OPEN_BOUND, DateRange, DateRangeBound, DateRangePrecision
from cassandra.util.geometry import LineString, Point, Polygon

if TYPE_CHECKING:
    from cassandra.cqltypes.base import CodecModule
    from cassandra.cqltypes.codecs.base import Codec

_PREFIX = apache_cassandra_type_prefix


class WKBGeometryType:
    """The numbers that stand for the geometry types in well-known binary (WKB)."""

    POINT = 1
    LINESTRING = 2
    POLYGON = 3


_POINT_SIZE = 16  # bytes: two doubles
_LEAST_RING_SIZE = 4  # bytes: the number of points, which begins each ring


class _Wkb:
    """Reads well-known binary (WKB), in the byte order that the first byte specifies.

    :param data: the bytes.
    :param name: the CQL type, for error messages.
    :param kind: the expected geometry type, a number of `WKBGeometryType`.
    """

    __slots__ = ("_data", "_name", "_offset", "_order")

    def __init__(self, data: bytes, name: str, kind: int) -> None:
        self._data = data
        self._name = name
        self._offset = 1
        # The first byte is 0 for big-endian, 1 for little-endian (OGC 06-103r4, clause 8).
        if not data or data[0] > 1:
            malformed(name, "the byte order is neither 0 nor 1")
        self._order = "<" if data[0] else ">"
        code = self.uint32(item_size=0)
        if code != kind:
            malformed(name, f"well-known binary of kind {code}, not {kind}")

    def uint32(self, *, item_size: int) -> int:
        """Read an unsigned 32-bit number.

        :param item_size: if the number is a count of items that follow, the minimum size of an item
            in bytes: an error is raised if so many items do not fit. 0 if the number is not a
            count.
        """
        if len(self._data) < self._offset + 4:
            malformed(self._name, "truncated")
        number: int = struct.unpack_from(self._order + "I", self._data, self._offset)[0]
        self._offset += 4
        # Check the count before we allocate memory for the items.
        if item_size and number * item_size > len(self._data) - self._offset:
            malformed(
                self._name,
                f"claims {number} items, which {len(self._data) - self._offset} bytes cannot hold",
            )
        return number

    def points(self, number: int) -> list[tuple[float, float]]:
        """Read `number` points; return a pair of floats for each point."""
        if number * _POINT_SIZE > len(self._data) - self._offset:
            malformed(self._name, "truncated")
        flat = struct.unpack_from(f"{self._order}{2 * number}d", self._data, self._offset)
        self._offset += number * _POINT_SIZE
        return list(zip(flat[0::2], flat[1::2], strict=True))

    def end(self) -> None:
        """Raise `DecodeError` if there are bytes after the geometry."""
        if self._offset != len(self._data):
            malformed(self._name, f"{len(self._data) - self._offset} bytes left over")


def _packed_points(points: tuple[tuple[float, float], ...]) -> bytes:
    """Encode the coordinates of points as little-endian doubles."""
    numbers = [number for point in points for number in point]
    if coerce.are_plain_numbers(numbers):
        try:
            return struct.pack(f"<{len(numbers)}d", *numbers)
        except struct.error:
            pass  # an integer is too large: the function below raises the error
    # struct would accept numbers that do not fit, or lose a part: see `are_plain_numbers`.
    reals = [coerce.real_number(number, "double") for number in numbers]
    return struct.pack(f"<{len(reals)}d", *reals)


def _encode_point(value: object) -> bytes:
    """Encode a Point, or a string in well-known text, as well-known binary."""
    if isinstance(value, str):
        value = _parsed(Point, value)
    if not isinstance(value, Point):
        refuse_type(value, "a cassandra.util.Point")
    head = struct.pack("<BI", 1, WKBGeometryType.POINT)  # 1: little-endian
    return head + _packed_points(((value.x, value.y),))


def _decode_point(data: bytes) -> Point:
    cursor = _Wkb(data, "PointType", WKBGeometryType.POINT)
    point = cursor.points(1)[0]
    cursor.end()
    return Point(*point)


def _encode_line(value: object) -> bytes:
    """Encode a LineString, or a string in well-known text, as well-known binary."""
    if isinstance(value, str):
        value = _parsed(LineString, value)
    if not isinstance(value, LineString):
        refuse_type(value, "a cassandra.util.LineString")
    # The byte 1 means little-endian.
    return struct.pack("<BII", 1, WKBGeometryType.LINESTRING, len(value.coords)) + _packed_points(
        value.coords
    )


def _decode_line(data: bytes) -> LineString:
    cursor = _Wkb(data, "LineStringType", WKBGeometryType.LINESTRING)
    points = cursor.points(cursor.uint32(item_size=_POINT_SIZE))
    cursor.end()
    return LineString(points)


def _encode_polygon(value: object) -> bytes:
    """Encode a Polygon, or a string in well-known text, as well-known binary."""
    if isinstance(value, str):
        value = _parsed(Polygon, value)
    if not isinstance(value, Polygon):
        refuse_type(value, "a cassandra.util.Polygon")
    # An empty polygon has no rings at all, not even an empty ring.
    rings = (value.exterior, *value.interiors) if value.exterior.coords else ()
    parts = [struct.pack("<BII", 1, WKBGeometryType.POLYGON, len(rings))]  # 1: little-endian
    for ring in rings:
        parts.append(struct.pack("<I", len(ring.coords)))
        parts.append(_packed_points(ring.coords))
    return b"".join(parts)


def _decode_polygon(data: bytes) -> Polygon:
    """Decode a Polygon. Its first ring is the exterior ring."""
    cursor = _Wkb(data, "PolygonType", WKBGeometryType.POLYGON)
    ring_count = cursor.uint32(item_size=_LEAST_RING_SIZE)
    rings = [cursor.points(cursor.uint32(item_size=_POINT_SIZE)) for _ in range(ring_count)]
    cursor.end()
    return Polygon(rings[0], rings[1:]) if rings else Polygon()


def _parsed(
    kind: type[Point] | type[LineString] | type[Polygon], text: str
) -> Point | LineString | Polygon:
    """Parse a geometry in the format well-known text (WKT)."""
    try:
        return kind.from_wkt(text)
    except ValueError as error:
        refuse_value(text, str(error))


class BoundKind:
    """The first byte of an encoded date range, which specifies which bounds follow."""

    SINGLE_VALUE = 0
    CLOSED_RANGE = 1
    OPEN_RANGE_HIGH = 2
    OPEN_RANGE_LOW = 3
    BOTH_OPEN_RANGE = 4
    SINGLE_DATE_OPEN = 5


_bound_struct = struct.Struct(">qb")
# Maps each kind of range to the number of bounds that follow the first byte.
_BOUND_COUNTS = {
    BoundKind.SINGLE_VALUE: 1,
    BoundKind.CLOSED_RANGE: 2,
    BoundKind.OPEN_RANGE_HIGH: 1,
    BoundKind.OPEN_RANGE_LOW: 1,
    BoundKind.BOTH_OPEN_RANGE: 0,
    BoundKind.SINGLE_DATE_OPEN: 0,
}


def _packed_bound(bound: DateRangeBound | None) -> bytes:
    """Encode a bound; returns b"" for None and for an open bound."""
    if bound is None or bound.milliseconds is None or bound.precision is None:
        return b""
    millis = coerce.timestamp_millis(bound.milliseconds)
    return _bound_struct.pack(millis, DateRangePrecision.to_int(bound.precision))


def _encode_range(value: object) -> bytes:
    """Encode a DateRange: a byte for the kind of range, and the bounds.

    Open bounds have no bytes.
    """
    if not isinstance(value, DateRange):
        refuse_type(value, "a cassandra.util.DateRange")
    single_bound = _packed_bound(value.value)
    lower, upper = _packed_bound(value.lower_bound), _packed_bound(value.upper_bound)
    if value.value is not None:
        # `single_bound` is empty if the bound is open.
        kind = BoundKind.SINGLE_VALUE if single_bound else BoundKind.SINGLE_DATE_OPEN
    elif lower and upper:
        kind = BoundKind.CLOSED_RANGE
    elif lower:
        kind = BoundKind.OPEN_RANGE_HIGH
    else:
        kind = BoundKind.OPEN_RANGE_LOW if upper else BoundKind.BOTH_OPEN_RANGE
    return bytes((kind,)) + single_bound + lower + upper


def _decode_range(data: bytes) -> DateRange:
    """Decode a DateRange; the inverse of `_encode_range`."""
    name = "DateRangeType"
    # The kind of range determines how many bounds follow.
    bound_count = _BOUND_COUNTS.get(data[0]) if data else None
    if bound_count is None:
        malformed(name, f"{data[:1]!r} is not a kind of range")
    if len(data) != 1 + bound_count * _bound_struct.size:
        malformed(name, f"takes {1 + bound_count * _bound_struct.size} bytes, got {len(data)}")
    bounds = []
    for index in range(bound_count):
        millis, precision = _bound_struct.unpack_from(data, 1 + index * _bound_struct.size)
        if not 0 <= precision < len(DateRangePrecision.PRECISIONS):
            malformed(name, f"{precision} does not stand for a precision")
        bounds.append(DateRangeBound(millis, DateRangePrecision.from_int(precision)))
    # If the range has one bound, this bound has the index 0, whether it is the lower or the upper
    # bound.
    kind = data[0]
    if kind == BoundKind.SINGLE_VALUE:
        return DateRange(value=bounds[0])
    if kind == BoundKind.SINGLE_DATE_OPEN:
        return DateRange(value=OPEN_BOUND)
    lower = bounds[0] if kind in (BoundKind.CLOSED_RANGE, BoundKind.OPEN_RANGE_HIGH) else OPEN_BOUND
    upper = bounds[-1] if kind in (BoundKind.CLOSED_RANGE, BoundKind.OPEN_RANGE_LOW) else OPEN_BOUND
    return DateRange(lower, upper)


class _PythonType(_CassandraType):
    """Base of types that Python code encodes and decodes, even in the compiled version."""

    # The function that encodes a value, and the function that decodes bytes.
    _encode_and_decode: ClassVar[tuple[Callable[[Any], bytes], Callable[[bytes], Any]]]

    @classmethod
    def _build(cls, codecs: CodecModule, protocol_version: int, vectors: str) -> Codec:
        """Make the codec from the two functions of the class."""
        encode, decode = cls._encode_and_decode
        return codecs.from_functions(
            cls.cassname,
            lambda value: b"" if value is EMPTY else encode(value),
            decode,
            empty=cls._empty(),
        )


class PointType(_PythonType):
    """A DSE point.

    Values are `cassandra.util.Point` objects. You can also bind well-known text (WKT).
    """

    typename = "PointType"
    _encode_and_decode = (_encode_point, _decode_point)


class LineStringType(_PythonType):
    """A DSE line string. Values are `cassandra.util.LineString` objects.

    You can also bind well-known text (WKT).
    """

    typename = "LineStringType"
    _encode_and_decode = (_encode_line, _decode_line)


class PolygonType(_PythonType):
    """A DSE polygon. Values are `cassandra.util.Polygon` objects.

    You can also bind well-known text (WKT).
    """

    typename = "PolygonType"
    _encode_and_decode = (_encode_polygon, _decode_polygon)


class DateRangeType(_PythonType):
    """A DSE date range. Values are `cassandra.util.DateRange` objects."""

    typename = "daterange"
    _encode_and_decode = (_encode_range, _decode_range)


public(PointType, LineStringType, PolygonType, DateRangeType, BoundKind, WKBGeometryType)
