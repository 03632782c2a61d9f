"""Pickles of cassandra-driver, which applications have in caches, and pickles for it."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from cassandra import util
from cassandra.cqltypes import Int32Type, UTF8Type
from cassandra.util.geometry import _LinearRing


class Pickled:
    """An object whose pickle is that of an instance of another class.

    :param cls: the class.
    :param state: the attributes. Classes of cassandra-driver have no slots, so this is a dict.
    """

    def __init__(self, cls: type[Any], state: Any) -> None:
        self._cls = cls
        self._state = state

    def __reduce__(self) -> tuple[Any, ...]:
        return object.__new__, (self._cls,), self._state


RING = Pickled(_LinearRing, {"coords": ((0, 0), (1, 1))})
DAY = Pickled(util.DateRangeBound, {"milliseconds": 0, "precision": "DAY"})
# The class of cassandra-driver has the open bound's precision as an attribute of the class.
OPEN = Pickled(util.DateRangeBound, {"milliseconds": None})
VALUES = [
    (Pickled(util.Date, {"days_from_epoch": 5}), util.Date(5)),
    (Pickled(util.Time, {"nanosecond_time": 5}), util.Time(5)),
    (
        Pickled(util.Duration, {"months": 1, "days": 2, "nanoseconds": 3}),
        util.Duration(1, 2, 3),
    ),
    (Pickled(util.Point, {"x": 1, "y": 2}), util.Point(1, 2)),
    (Pickled(util.LineString, {"coords": ((1, 2), (3, 4))}), util.LineString([(1, 2), (3, 4)])),
    (
        Pickled(util.Polygon, {"exterior": RING, "interiors": (RING,)}),
        util.Polygon([(0, 0), (1, 1)], [[(0, 0), (1, 1)]]),
    ),
    (Pickled(util.Distance, {"x": 1, "y": 2, "radius": 3}), util.Distance(1, 2, 3)),
    (
        Pickled(util.DateRange, {"lower_bound": DAY, "upper_bound": OPEN, "value": None}),
        util.DateRange(util.DateRangeBound(0, "DAY"), util.OPEN_BOUND),
    ),
    (
        Pickled(util.OrderedMap, {"_items": [([1], 2)], "_index": {b"": 0}}),
        util.OrderedMap([([1], 2)]),
    ),
]


@pytest.mark.parametrize(("pickled", "expected"), VALUES)
def test_values_that_cassandra_driver_has_pickled(pickled: Pickled, expected: Any) -> None:
    value = pickle.loads(pickle.dumps(pickled))
    assert type(value) is type(expected)
    assert value == expected
    assert repr(value) == repr(expected)


@pytest.mark.parametrize("value", [expected for _, expected in VALUES])
def test_pickles_name_paths_that_cassandra_driver_has(value: Any) -> None:
    """While an application is migrated, both drivers read one cache."""
    data = pickle.dumps(value, protocol=2)
    assert b"cassandra.util." not in data
    assert pickle.loads(data) == value


def test_a_map_of_a_row() -> None:
    """It has its key type: it finds keys by their CQL bytes."""
    nested_map = Pickled(
        util.OrderedMapSerializedKey,
        {
            "_items": [("a", [1])],
            "_index": {b"a": 0},
            "cass_key_type": UTF8Type,
            "protocol_version": 4,
        },
    )
    pickled = Pickled(
        util.OrderedMapSerializedKey,
        {
            "_items": [(1, nested_map)],
            "_index": {b"\0\0\0\1": 0},
            "cass_key_type": Int32Type,
            "protocol_version": 4,
        },
    )
    value = pickle.loads(pickle.dumps(pickled))
    assert type(value) is util.OrderedMapSerializedKey
    assert (value[1]["a"], list(value), len(value)) == ([1], [1], 1)
    with pytest.raises(KeyError):
        value[2]
    # A pickle of this driver has no key type.
    assert pickle.loads(pickle.dumps(value)) == value
