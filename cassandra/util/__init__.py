"""Classes for CQL values that Python has no class for, such as `Date`, and helper functions."""

from __future__ import annotations

from collections import OrderedDict as OrderedDict

# Applications import these names from here, because cassandra-driver defines them for old versions
# of Windows.
from socket import inet_ntop as inet_ntop, inet_pton as inet_pton

from cassandra._foreign import check_files

check_files()

from cassandra._lazy import lazy_names
from cassandra.util.daterange import OPEN_BOUND, DateRange, DateRangeBound, DateRangePrecision
from cassandra.util.geometry import (
    Distance,
    LineString,
    Point,
    Polygon,
    _LinearRing as _LinearRing,  # pickles of polygons name this class
)
from cassandra.util.misc import (
    Version,
    WeakSet,
    is_little_endian,
    list_contents_to_tuple,
    maybe_add_timeout_to_query,
)
from cassandra.util.orderedmap import OrderedMap, OrderedMapSerializedKey
from cassandra.util.sortedset import SortedSet
from cassandra.util.temporal import (
    DATETIME_EPOC,
    UTC_DATETIME_EPOC,
    Date,
    Duration,
    MillisTimestamp,
    Time,
    datetime_from_ms_timestamp,
    datetime_from_timestamp,
    ms_timestamp_from_datetime,
    utc_datetime_from_ms_timestamp,
)
from cassandra.util.timeuuid import (
    HIGHEST_TIME_UUID,
    LOWEST_TIME_UUID,
    datetime_from_uuid1,
    max_uuid_from_time,
    min_uuid_from_time,
    unix_time_from_uuid1,
    uuid_from_time,
)

__all__ = [
    "DATETIME_EPOC", "HIGHEST_TIME_UUID", "LOWEST_TIME_UUID", "OPEN_BOUND", "UTC_DATETIME_EPOC",
    "Date", "DateRange", "DateRangeBound", "DateRangePrecision", "Distance", "Duration",
    "LineString", "MillisTimestamp", "OrderedMap", "OrderedMapSerializedKey", "Point", "Polygon",
    "SortedSet", "Time", "Version", "WeakSet", "datetime_from_ms_timestamp",
    "datetime_from_timestamp", "datetime_from_uuid1", "is_little_endian", "list_contents_to_tuple",
    "max_uuid_from_time", "maybe_add_timeout_to_query", "min_uuid_from_time",
    "ms_timestamp_from_datetime", "sortedset", "unix_time_from_uuid1",
    "utc_datetime_from_ms_timestamp", "uuid_from_time",
]  # fmt: skip

# `sortedset` is an older name of the class, but also the name of a submodule. If the class were
# imported under this name, then with lazy imports (PEP 810) a later import of the submodule would
# replace the class by the module. So assign the class here.
sortedset = SortedSet

__getattr__ = lazy_names(__name__)
