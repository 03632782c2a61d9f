"""Dates and times, sets and maps in the server's order, time-uuids, geometry, and other small helpers."""

from __future__ import annotations

import os

from cassandra._foreign import refuse_foreign_files

refuse_foreign_files(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from cassandra.util.orderedmap import OrderedMap, OrderedMapSerializedKey  # noqa: E402
from cassandra.util.sortedset import SortedSet, sortedset  # noqa: E402
from cassandra.util.temporal import (  # noqa: E402
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

__all__ = [
    "DATETIME_EPOC",
    "UTC_DATETIME_EPOC",
    "Date",
    "Duration",
    "MillisTimestamp",
    "OrderedMap",
    "OrderedMapSerializedKey",
    "SortedSet",
    "Time",
    "datetime_from_ms_timestamp",
    "datetime_from_timestamp",
    "ms_timestamp_from_datetime",
    "sortedset",
    "utc_datetime_from_ms_timestamp",
]
