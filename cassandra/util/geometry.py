"""Geometries of DataStax Enterprise: points, lines, polygons and circles.

The package geomet, a dependency of the driver, parses well-known text (WKT). It is imported on
first use.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from cassandra._imports import import_module
from cassandra._patterns import pattern
from cassandra.util.pickles import restore

_Geometry = TypeVar("_Geometry")

Coordinates = tuple[float, float]
# Coordinates are compared and hashed exactly, because the server keeps all bits of a double.


def _parse_wkt(text: str, expected_type: str) -> dict[str, Any]:
    """Parse well-known text; raise ValueError if it is not a geometry of the expected type."""
    from geomet import wkt  # this import takes longer than the import of the whole driver

    try:
        geometry: dict[str, Any] = wkt.loads(text)
    # For malformed text, geomet raises one of these errors, depending on where parsing fails.
    except (ValueError, IndexError, StopIteration) as error:
        raise ValueError(f"{text!r} is not well-known text: {error}") from None
    return _check_type(geometry, expected_type, text)


def _check_type(geometry: Mapping[str, Any], expected_type: str, source: object) -> dict[str, Any]:
    """Return `geometry`, or raise a ValueError if it does not have the expected type.

    :param source: what `geometry` was parsed from, for the error message.
    """
    # WKT and GeoJSON both name the type of the geometry. Without this check, the coordinates of a
    # line could be taken for a polygon with one ring.
    if geometry.get("type") != expected_type:
        raise ValueError(f"{source!r} is a {geometry.get('type')}, not a {expected_type}")
    return dict(geometry)


def _parse_geojson(source: str | Mapping[str, Any], expected_type: str) -> dict[str, Any]:
    """Parse a GeoJSON string or object; raise ValueError if it is not of the expected type."""
    if isinstance(source, str):
        # Import json only here, because few applications need it.
        source = import_module("json").loads(source)
    if not isinstance(source, Mapping):
        raise ValueError(f"{source!r} is not a GeoJSON object")
    return _check_type(source, expected_type, source)


def _points(coordinates: Iterable[Sequence[float]]) -> tuple[Coordinates, ...]:
    return tuple((float(point[0]), float(point[1])) for point in coordinates)


def _build_geometry(
    make_geometry: Callable[[Any], _Geometry], geometry: Mapping[str, Any], source: object
) -> _Geometry:
    """Build a geometry object from the coordinates of a parsed geometry.

    :param make_geometry: makes the object from the coordinates.
    :raises ValueError: if there are no coordinates, or if they do not have the shape that
        `make_geometry` needs.
    """
    try:
        return make_geometry(geometry["coordinates"])
    # geomet does not check how the coordinates are nested, so building the geometry may raise any
    # of these errors.
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise ValueError(
            f"{source!r} does not hold the coordinates of a {geometry['type']}: {error!r}"
        ) from None


def _listing(points: Iterable[Coordinates]) -> str:
    # Use repr(), because parsing its result gives exactly the same float.
    return ", ".join(f"{x!r} {y!r}" for x, y in points)


class Point:
    """A point in the plane.

    :param x: the x coordinate; NaN for an empty point.
    :param y: the y coordinate; NaN for an empty point.
    """

    __slots__ = ("x", "y")
    __setstate__ = restore

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
        # In well-known binary, an empty point has NaN coordinates.
        if math.isnan(self.x) or math.isnan(self.y):
            return "POINT EMPTY"
        return f"POINT ({self.x!r} {self.y!r})"

    def __repr__(self) -> str:
        return f"Point({self.x!r}, {self.y!r})"

    @staticmethod
    def _of(coordinates: Sequence[float]) -> Point:
        # In GeoJSON, an empty list of coordinates stands for an empty point.
        return Point(*_points([coordinates])[0]) if coordinates else Point()

    @staticmethod
    def from_wkt(s: str) -> Point:
        """Parse a point such as ``POINT (1.0 2.0)``.

        :param s: the well-known text.
        :raises ValueError: if the text is not a point.
        """
        return _build_geometry(Point._of, _parse_wkt(s, "Point"), s)

    @staticmethod
    def from_geojson(source: str | Mapping[str, Any]) -> Point:
        """Return the point of a GeoJSON object, or of a JSON string.

        :param source: a mapping, or a JSON string.
        :raises ValueError: if `source` is not a point.
        """
        return _build_geometry(Point._of, _parse_geojson(source, "Point"), source)


class LineString:
    """A line through points.

    :param coords: pairs (x, y), which are stored as a tuple; no pairs for an empty line.
    """

    __slots__ = ("coords",)
    __setstate__ = restore

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
        """Parse a line such as ``LINESTRING (1.0 2.0, 3.0 4.0)``.

        :param s: the well-known text.
        :raises ValueError: if the text is not a line.
        """
        return LineString(_build_geometry(_points, _parse_wkt(s, "LineString"), s))

    @staticmethod
    def from_geojson(source: str | Mapping[str, Any]) -> LineString:
        """Return the line of a GeoJSON object, or of a JSON string.

        :param source: a mapping, or a JSON string.
        :raises ValueError: if `source` is not a line.
        """
        return LineString(_build_geometry(_points, _parse_geojson(source, "LineString"), source))


class _LinearRing:
    """A closed line, which is one boundary of a polygon."""

    __slots__ = ("coords",)
    __setstate__ = restore

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
    """An area: its outer boundary and its holes. Each of them has the attribute `coords`.

    :param exterior: the corners of the outer boundary, as pairs (x, y).
    :param interiors: the corners of each hole, as pairs (x, y); None for no holes.
    """

    __slots__ = ("exterior", "interiors")
    __setstate__ = restore

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
        # In both formats, the first ring is the outer boundary, and the other rings are holes.
        return Polygon(parts[0], parts[1:]) if parts else Polygon()

    @staticmethod
    def from_wkt(s: str) -> Polygon:
        """Parse a polygon such as ``POLYGON ((0.0 0.0, ...), (...))``.

        :param s: the well-known text.
        :raises ValueError: if the text is not a polygon.
        """
        return _build_geometry(Polygon._of, _parse_wkt(s, "Polygon"), s)

    @staticmethod
    def from_geojson(source: str | Mapping[str, Any]) -> Polygon:
        """Return the polygon of a GeoJSON object, or of a JSON string.

        :param source: a mapping, or a JSON string.
        :raises ValueError: if `source` is not a polygon.
        """
        return _build_geometry(Polygon._of, _parse_geojson(source, "Polygon"), source)


# geomet does not know DISTANCE, so we parse it here.
_NUMBER = r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
_DISTANCE = pattern(
    rf"\s*DISTANCE\s*\(\s*\(\s*{_NUMBER}\s+{_NUMBER}\s*\)\s*{_NUMBER}\s*\)\s*", re.IGNORECASE
)


class Distance:
    """A circle around a point. Graph queries of DataStax Enterprise search within such a circle.

    :param x: the x coordinate of the centre.
    :param y: the y coordinate of the centre.
    :param radius: the radius, in the unit of `x` and `y`. NaN means no radius.
    """

    __slots__ = ("radius", "x", "y")
    __setstate__ = restore

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
        """Parse a circle such as ``DISTANCE ((1.0 2.0) 3.0)``.

        :param s: the circle, in this form.
        :raises ValueError: if the text is not a circle.
        """
        if s.split() == ["DISTANCE", "EMPTY"]:
            return Distance()
        match = _DISTANCE.fullmatch(s)
        if match is None:
            raise ValueError(f"{s!r} is not of the form DISTANCE ((x y) radius)")
        return Distance(float(match[1]), float(match[2]), float(match[3]))


for _public in (Point, LineString, _LinearRing, Polygon, Distance):
    _public.__module__ = "cassandra.util"
del _public
