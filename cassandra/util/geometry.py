"""Geometries of DataStax Enterprise.

The package geomet, a dependency of this one, reads WKT. It is imported when text is parsed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from cassandra._imports import import_module
from cassandra._patterns import pattern

Coordinates = tuple[float, float]
# Coordinates are compared and hashed as they are: the server keeps all bits of a double.


def _loads_wkt(text: str, kind: str) -> dict[str, Any]:
    from geomet import wkt  # its import costs more than this whole package's

    try:
        found: dict[str, Any] = wkt.loads(text)
    # What geomet raises for malformed text depends on where it stumbles.
    except (ValueError, IndexError, StopIteration) as error:
        raise ValueError(f"{text!r} is not well-known text: {error}") from None
    return _of_kind(found, kind, text)


def _of_kind(found: Mapping[str, Any], kind: str, shown: object) -> dict[str, Any]:
    # Both formats name their kind: a line must not pass for a polygon's only ring.
    if found.get("type") != kind:
        raise ValueError(f"{shown!r} is a {found.get('type')}, not a {kind}")
    return dict(found)


def _loads_geojson(source: str | Mapping[str, Any], kind: str) -> dict[str, Any]:
    if isinstance(source, str):
        # Few programs ever need it.
        source = import_module("json").loads(source)
    if not isinstance(source, Mapping):
        raise ValueError(f"{source!r} is not a GeoJSON object")
    return _of_kind(source, kind, source)


def _points(coordinates: Iterable[Sequence[float]]) -> tuple[Coordinates, ...]:
    return tuple((float(point[0]), float(point[1])) for point in coordinates)


def _made(make: Callable[[Any], Any], found: Mapping[str, Any], shown: object) -> Any:
    """Return `make` of the coordinates in a parsed geometry.

    :raises ValueError: if there are none, or they do not have the shape that `make` needs.
    """
    try:
        return make(found["coordinates"])
    # geomet passes on the contents as they stand in the text, whatever their nesting.
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise ValueError(
            f"{shown!r} does not hold the coordinates of a {found['type']}: {error!r}"
        ) from None


def _listing(points: Iterable[Coordinates]) -> str:
    # repr() of a float reads back as the same float.
    return ", ".join(f"{x!r} {y!r}" for x, y in points)


class Point:
    """A point in the plane.

    :param x: a float; NaN in an empty point.
    :param y: the same.
    """

    __slots__ = ("x", "y")

    x: float
    y: float

    def __init__(self, x: float = math.nan, y: float = math.nan) -> None:
        self.x = x
        self.y = y

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Point) and (self.x, self.y) == (other.x, other.y)

    def __hash__(self) -> int:
        return hash((self.x, self.y))

    def __str__(self) -> str:
        return (
            "POINT EMPTY"
            if math.isnan(self.x) or math.isnan(self.y)
            else f"POINT ({self.x!r} {self.y!r})"
        )

    def __repr__(self) -> str:
        return f"Point({self.x!r}, {self.y!r})"

    @staticmethod
    def _of(coordinates: Sequence[float]) -> Point:
        # An empty list of coordinates is GeoJSON's empty point.
        return Point(*_points([coordinates])[0]) if coordinates else Point()

    @staticmethod
    def from_wkt(s: str) -> Point:
        """Return the point of a text like ``POINT (1.0 2.0)``.

        :param s: the text.
        :raises ValueError: if the text is anything else.
        """
        point: Point = _made(Point._of, _loads_wkt(s, "Point"), s)
        return point

    @staticmethod
    def from_geojson(source: str | Mapping[str, Any]) -> Point:
        """Return the point of a GeoJSON object, or of its text.

        :param source: a mapping, or a JSON text.
        :raises ValueError: if it is anything else.
        """
        point: Point = _made(Point._of, _loads_geojson(source, "Point"), source)
        return point


class LineString:
    """A line through points.

    :param coords: pairs (x, y), kept as a tuple; none for an empty line.
    """

    __slots__ = ("coords",)

    coords: tuple[Coordinates, ...]

    def __init__(self, coords: Iterable[Sequence[float]] = ()) -> None:
        self.coords = tuple((point[0], point[1]) for point in coords)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LineString) and self.coords == other.coords

    def __hash__(self) -> int:
        return hash(self.coords)

    def __str__(self) -> str:
        return f"LINESTRING ({_listing(self.coords)})" if self.coords else "LINESTRING EMPTY"

    def __repr__(self) -> str:
        return f"LineString({self.coords!r})"

    @staticmethod
    def from_wkt(s: str) -> LineString:
        """Return the line of a text like ``LINESTRING (1.0 2.0, 3.0 4.0)``.

        :param s: the text.
        :raises ValueError: if the text is anything else.
        """
        return LineString(_made(_points, _loads_wkt(s, "LineString"), s))

    @staticmethod
    def from_geojson(source: str | Mapping[str, Any]) -> LineString:
        """Return the line of a GeoJSON object, or of its text.

        :param source: a mapping, or a JSON text.
        :raises ValueError: if it is anything else.
        """
        return LineString(_made(_points, _loads_geojson(source, "LineString"), source))


class _LinearRing:
    """A closed line: one boundary of a polygon."""

    __slots__ = ("coords",)

    coords: tuple[Coordinates, ...]

    def __init__(self, coords: Iterable[Sequence[float]] = ()) -> None:
        self.coords = tuple((point[0], point[1]) for point in coords)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _LinearRing) and self.coords == other.coords

    def __hash__(self) -> int:
        return hash(self.coords)

    def __str__(self) -> str:
        return f"LINEARRING ({_listing(self.coords)})" if self.coords else "LINEARRING EMPTY"

    def __repr__(self) -> str:
        return f"_LinearRing({self.coords!r})"


class Polygon:
    """An area: its outer boundary and its holes, all with `coords`.

    :param exterior: the corners of the outer boundary, pairs (x, y).
    :param interiors: the corners of each hole; None for none.
    """

    __slots__ = ("exterior", "interiors")

    exterior: _LinearRing
    interiors: tuple[_LinearRing, ...]

    def __init__(
        self,
        exterior: Iterable[Sequence[float]] = (),
        interiors: Iterable[Iterable[Sequence[float]]] | None = None,
    ) -> None:
        self.exterior = _LinearRing(exterior)
        self.interiors = tuple(_LinearRing(ring) for ring in interiors or ())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Polygon) and (self.exterior, self.interiors) == (
            other.exterior,
            other.interiors,
        )

    def __hash__(self) -> int:
        return hash((self.exterior, self.interiors))

    def __str__(self) -> str:
        if not self.exterior.coords:
            return "POLYGON EMPTY"
        rings = ", ".join(f"({_listing(ring.coords)})" for ring in (self.exterior, *self.interiors))
        return f"POLYGON ({rings})"

    def __repr__(self) -> str:
        return f"Polygon({self.exterior.coords!r}, {[ring.coords for ring in self.interiors]!r})"

    @staticmethod
    def _of(rings: Sequence[Iterable[Sequence[float]]]) -> Polygon:
        parts = [_points(ring) for ring in rings]
        # In both formats the first ring is the boundary, and all others are holes.
        return Polygon(parts[0], parts[1:]) if parts else Polygon()

    @staticmethod
    def from_wkt(s: str) -> Polygon:
        """Return the polygon of a text like ``POLYGON ((0.0 0.0, ...), (...))``.

        :param s: the text.
        :raises ValueError: if the text is anything else.
        """
        polygon: Polygon = _made(Polygon._of, _loads_wkt(s, "Polygon"), s)
        return polygon

    @staticmethod
    def from_geojson(source: str | Mapping[str, Any]) -> Polygon:
        """Return the polygon of a GeoJSON object, or of its text.

        :param source: a mapping, or a JSON text.
        :raises ValueError: if it is anything else.
        """
        polygon: Polygon = _made(Polygon._of, _loads_geojson(source, "Polygon"), source)
        return polygon


# geomet does not know DISTANCE, so it is read here.
_NUMBER = r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
_DISTANCE = pattern(
    rf"\s*DISTANCE\s*\(\s*\(\s*{_NUMBER}\s+{_NUMBER}\s*\)\s*{_NUMBER}\s*\)\s*", re.IGNORECASE
)


class Distance:
    """A circle around a point, for graph predicates to search within.

    :param x: the centre's x.
    :param y: the centre's y.
    :param radius: the distance from the centre, in the unit of `x` and `y`. NaN is a circle without
        one.
    """

    __slots__ = ("radius", "x", "y")

    x: float
    y: float
    radius: float

    def __init__(self, x: float = math.nan, y: float = math.nan, radius: float = math.nan) -> None:
        self.x = x
        self.y = y
        self.radius = radius

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Distance) and (self.x, self.y, self.radius) == (
            other.x,
            other.y,
            other.radius,
        )

    def __hash__(self) -> int:
        return hash((self.x, self.y, self.radius))

    def __str__(self) -> str:
        if math.isnan(self.x) or math.isnan(self.y) or math.isnan(self.radius):
            return "DISTANCE EMPTY"
        return f"DISTANCE (({self.x!r} {self.y!r}) {self.radius!r})"

    def __repr__(self) -> str:
        return f"Distance({self.x!r}, {self.y!r}, {self.radius!r})"

    @staticmethod
    def from_wkt(s: str) -> Distance:
        """Return the circle of a text like ``DISTANCE ((1.0 2.0) 3.0)``.

        :param s: the text.
        :raises ValueError: if the text is anything else.
        """
        if s.split() == ["DISTANCE", "EMPTY"]:
            return Distance()
        match = _DISTANCE.fullmatch(s)
        if match is None:
            raise ValueError(f"{s!r} is not of the form DISTANCE ((x y) radius)")
        return Distance(float(match[1]), float(match[2]), float(match[3]))


for _public in (Point, LineString, Polygon, Distance):
    _public.__module__ = "cassandra.util"
del _public
