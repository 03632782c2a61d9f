"""Geometry, date ranges, versions, and the small helpers."""

from __future__ import annotations

import datetime
import pickle
import struct
from typing import Any

import pytest

from cassandra import util
from cassandra.cqltypes import DateRangeType

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
def test_shapes(shape: Any, wkt: str, geojson: dict[str, Any]) -> None:
    assert str(shape) == wkt
    assert type(shape).from_wkt(wkt) == shape
    assert type(shape).from_geojson(geojson) == shape
    assert hash(shape) == hash(type(shape).from_wkt(wkt))
    assert pickle.loads(pickle.dumps(shape)) == shape
    with pytest.raises(ValueError, match=r"is not well-known text|is a "):
        type(shape).from_wkt("CIRCLE (1 2)")
    with pytest.raises(ValueError, match="is a MultiPoint"):
        type(shape).from_geojson('{"type": "MultiPoint", "coordinates": []}')
    with pytest.raises(ValueError, match="not a GeoJSON object"):
        type(shape).from_geojson("[1]")


def test_wrong_kind_of_shape() -> None:
    with pytest.raises(ValueError, match="is a Point, not a Polygon"):
        util.Polygon.from_wkt("POINT (1 2)")


def test_empty_shapes() -> None:
    assert str(util.LineString()) == "LINESTRING EMPTY"
    assert str(util.Polygon()) == "POLYGON EMPTY"
    assert str(util.Point()) == "POINT EMPTY"


def test_distance() -> None:
    found = util.Distance.from_wkt("DISTANCE ((1.5 -2) 3e1)")
    assert (found.x, found.y, found.radius) == (1.5, -2.0, 30.0)
    assert str(found) == "DISTANCE ((1.5 -2.0) 30.0)"
    assert util.Distance.from_wkt(str(found)) == found
    with pytest.raises(ValueError, match="DISTANCE"):
        util.Distance.from_wkt("DISTANCE (1 2 3)")


def test_date_ranges() -> None:
    low = util.DateRangeBound(datetime.datetime(2017, 1, 2, 3, 4, 5, 678000), "month")
    assert str(low) == "2017-01"
    assert low.datetime() == datetime.datetime(2017, 1, 2, 3, 4, 5, 678000)
    found = util.DateRange(low, util.OPEN_BOUND)
    assert str(found) == "[2017-01 TO *]"
    assert found == util.DateRange((low.milliseconds, "MONTH"), util.OPEN_BOUND)
    shown = {
        precision: str(util.DateRangeBound(low.milliseconds, precision))
        for precision in util.DateRangePrecision.PRECISIONS
    }
    assert shown["MILLISECOND"] == "2017-01-02T03:04:05.678Z"
    assert shown["MINUTE"] == "2017-01-02T03:04Z"
    assert util.OPEN_BOUND.datetime() is None
    for wrong in ({}, {"value": low, "lower_bound": low}):
        with pytest.raises(ValueError, match="date range"):
            util.DateRange(**wrong)
    with pytest.raises(ValueError, match="precision"):
        util.DateRangeBound(1, "CENTURY")
    with pytest.raises(ValueError, match="both a value and a precision"):
        util.DateRangeBound(1, None)


def moment(text: str) -> int:
    parsed = datetime.datetime.fromisoformat(text).replace(tzinfo=datetime.timezone.utc)
    return round(parsed.timestamp() * 1000)


@pytest.mark.parametrize(
    ("given", "precision", "first", "last"),
    [
        ("2017-02-03T04:05:06.789", "YEAR", "2017-01-01", "2017-12-31T23:59:59.999"),
        ("2017-02-03T04:05:06.789", "MONTH", "2017-02-01", "2017-02-28T23:59:59.999"),
        ("2016-02-03", "MONTH", "2016-02-01", "2016-02-29T23:59:59.999"),
        ("2016-12-03", "MONTH", "2016-12-01", "2016-12-31T23:59:59.999"),
        ("2016-12-03", "YEAR", "2016-01-01", "2016-12-31T23:59:59.999"),
        ("9999-12-31", "YEAR", "9999-01-01", "9999-12-31T23:59:59.999"),
        ("1969-12-31T23:59:59.999", "DAY", "1969-12-31", "1969-12-31T23:59:59.999"),
        ("2017-02-03T04:05:06.789", "DAY", "2017-02-03", "2017-02-03T23:59:59.999"),
        ("2017-02-03T04:05:06.789", "HOUR", "2017-02-03T04:00:00", "2017-02-03T04:59:59.999"),
        ("2017-02-03T04:05:06.789", "MINUTE", "2017-02-03T04:05:00", "2017-02-03T04:05:59.999"),
        ("2017-02-03T04:05:06.789", "SECOND", "2017-02-03T04:05:06", "2017-02-03T04:05:06.999"),
        (
            "2017-02-03T04:05:06.789",
            "MILLISECOND",
            "2017-02-03T04:05:06.789",
            "2017-02-03T04:05:06.789",
        ),
    ],
)
def test_bounds_of_date_ranges_are_rounded(
    given: str, precision: str, first: str, last: str
) -> None:
    bound = util.DateRangeBound(moment(given), precision)
    low, high = (util.DateRangeBound(moment(text), precision) for text in (first, last))
    found = util.DateRange(bound, bound)
    assert (found.lower_bound, found.upper_bound, found.value) == (low, high, None)
    assert util.DateRange(value=bound).value == low
    assert bound.milliseconds == moment(given)  # the program's own is left as it is
    # From the wire too, if another client did not round it.
    packed = struct.pack(">qB", moment(given), util.DateRangePrecision.to_int(precision))
    assert DateRangeType.deserialize(b"\1" + packed + packed, 4) == found
    assert DateRangeType.deserialize(b"\0" + packed, 4) == util.DateRange(value=low)
    assert DateRangeType.deserialize(DateRangeType.serialize(found, 4), 4) == found


def test_a_missing_bound_of_a_date_range_is_open() -> None:
    day = util.DateRangeBound(0, "DAY")
    assert util.DateRange(lower_bound=day) == util.DateRange(day, util.OPEN_BOUND)
    assert util.DateRange(upper_bound=day) == util.DateRange(util.OPEN_BOUND, day)
    assert util.DateRange(value=util.OPEN_BOUND).value == util.OPEN_BOUND


def test_bounds_beyond_the_calendar_are_not_rounded() -> None:
    for precision in ("YEAR", "DAY"):
        far = util.DateRangeBound(1 << 60, precision)
        assert util.DateRange(far, far).upper_bound == far


def test_versions() -> None:
    names = [
        "2.2.0",
        "3.11.4",
        "4.0-alpha1",
        "4.0-beta2",
        "4.0-beta10",
        "4.0-rc1",
        "4.0",
        "4.0.1-SNAPSHOT",
        "4.0.1",
        "4.0.1.5",
        "4.1",
        "10",
    ]
    versions = [util.Version(name) for name in names]
    assert sorted([versions[at] for at in (7, 3, 0, 11, 5, 1, 9, 2, 10, 4, 8, 6)]) == versions
    assert [str(version) for version in versions] == names
    assert util.Version("4") == util.Version("4.0.0")
    assert hash(util.Version("4")) == hash(util.Version("4.0.0"))
    found = util.Version("6.8.1.2-rc3")
    assert (found.major, found.minor, found.patch, found.build, found.prerelease) == (
        6,
        8,
        1,
        2,
        "rc3",
    )
    for wrong in ("", "x", "4.x", "1.2.3.4.5"):
        with pytest.raises(ValueError, match="is not a version"):
            util.Version(wrong)


def test_small_helpers() -> None:
    assert util.list_contents_to_tuple([[1, 2], 3]) == ((1, 2), 3)
    assert util.maybe_add_timeout_to_query("SELECT", None) == "SELECT"
    timeout = datetime.timedelta(seconds=1.5)
    assert util.maybe_add_timeout_to_query("SELECT", timeout) == "SELECT USING TIMEOUT 1500ms"
    assert util.is_little_endian in (True, False)


def test_public_paths() -> None:
    for name in util.__all__:
        value = getattr(util, name)
        if isinstance(value, type) and name != "WeakSet":
            assert value.__module__ == "cassandra.util", name


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
    with pytest.raises(ValueError, match=f"does not hold the coordinates of a {kind.__name__}"):
        kind.from_geojson({"type": kind.__name__, "coordinates": coordinates})
    with pytest.raises(ValueError, match=f"does not hold the coordinates of a {kind.__name__}"):
        kind.from_geojson({"type": kind.__name__})


def test_well_known_text_of_a_point_with_one_number() -> None:
    with pytest.raises(ValueError, match="does not hold the coordinates of a Point"):
        util.Point.from_wkt("POINT (1)")
