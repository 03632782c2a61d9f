"""Test the geometric shapes of `cassandra.util`."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from cassandra import util

# Each tuple has a shape, its well-known text (WKT), and its GeoJSON.
SHAPES = [
    (util.Point(1.0, -2.5), "POINT (1.0 -2.5)", {"type": "Point", "coordinates": [1.0, -2.5]}),
    (
        util.LineString([(0.0, 1.0), (2.0, 3.0)]),
        "LINESTRING (0.0 1.0, 2.0 3.0)",
        {"type": "LineString", "coordinates": [[0.0, 1.0], [2.0, 3.0]]},
    ),
    (
        util.Polygon([(0.0, 0.0), (9.0, 0.0), (0.0, 0.0)], [[(1.0, 1.0), (2.0, 1.0), (1.0, 1.0)]]),
        "POLYGON ((0.0 0.0, 9.0 0.0, 0.0 0.0), (1.0 1.0, 2.0 1.0, 1.0 1.0))",
        {"type": "Polygon", "coordinates": [[[0, 0], [9, 0], [0, 0]], [[1, 1], [2, 1], [1, 1]]]},
    ),
]


@pytest.mark.parametrize(("shape", "wkt", "geojson"), SHAPES)
def test_shapes_are_read_from_and_written_as_text(
    shape: Any, wkt: str, geojson: dict[str, Any]
) -> None:
    """A shape that is written as WKT, as GeoJSON or as a pickle is equal when read back."""
    assert str(shape) == wkt
    assert type(shape).from_wkt(wkt) == shape
    assert type(shape).from_geojson(geojson) == shape
    assert hash(shape) == hash(type(shape).from_wkt(wkt))
    assert pickle.loads(pickle.dumps(shape)) == shape
    # The WKT of another shape raises an error.
    with pytest.raises(ValueError, match=r"is not well-known text|is a "):
        type(shape).from_wkt("CIRCLE (1 2)")
    with pytest.raises(ValueError, match="is a MultiPoint"):
        type(shape).from_geojson('{"type": "MultiPoint", "coordinates": []}')
    with pytest.raises(ValueError, match="not a GeoJSON object"):
        type(shape).from_geojson("[1]")


def test_wrong_kind_of_shape() -> None:
    """Reading the WKT of another kind of shape raises an error."""
    with pytest.raises(ValueError, match="is a Point, not a Polygon"):
        util.Polygon.from_wkt("POINT (1 2)")


def test_empty_shapes() -> None:
    """In WKT, a shape without coordinates is EMPTY."""
    assert str(util.LineString()) == "LINESTRING EMPTY"
    assert str(util.Polygon()) == "POLYGON EMPTY"
    assert str(util.Point()) == "POINT EMPTY"


def test_a_distance_is_read_from_and_written_as_text() -> None:
    """A distance is read from WKT, and written as WKT."""
    distance = util.Distance.from_wkt("DISTANCE ((1.5 -2) 3e1)")
    assert (distance.x, distance.y, distance.radius) == (1.5, -2.0, 30.0)
    assert str(distance) == "DISTANCE ((1.5 -2.0) 30.0)"
    assert util.Distance.from_wkt(str(distance)) == distance
    with pytest.raises(ValueError, match="DISTANCE"):
        util.Distance.from_wkt("DISTANCE (1 2 3)")


@pytest.mark.parametrize(
    ("kind", "coordinates"),
    [
        (util.Point, [1]),
        (util.Point, 5),
        (util.Point, [None, 1]),
        (util.Point, "ab"),
        (util.LineString, [[1]]),
        (util.LineString, 5),
        (util.Polygon, [5]),
        (util.Polygon, [[1, 2]]),
    ],
)
def test_coordinates_of_another_shape(kind: Any, coordinates: Any) -> None:
    """Coordinates that do not fit the shape raise an error."""
    with pytest.raises(ValueError, match=f"does not hold the coordinates of a {kind.__name__}"):
        kind.from_geojson({"type": kind.__name__, "coordinates": coordinates})
    with pytest.raises(ValueError, match=f"does not hold the coordinates of a {kind.__name__}"):
        kind.from_geojson({"type": kind.__name__})


def test_well_known_text_of_a_point_with_one_number() -> None:
    """The WKT of a point with only one number raises an error."""
    with pytest.raises(ValueError, match="does not hold the coordinates of a Point"):
        util.Point.from_wkt("POINT (1)")
