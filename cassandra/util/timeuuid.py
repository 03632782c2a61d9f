"""Conversions between version 1 UUIDs and times, and bounds for queries by timeuuid."""

from __future__ import annotations

import datetime
import uuid
import warnings

from cassandra._imports import import_module
from cassandra.util.temporal import DATETIME_EPOC, ms_timestamp_from_datetime, python_number

# The number of 100 ns ticks from 1582-10-15, the epoch of version 1 UUIDs (RFC 4122, 4.1.4), to
# 1970-01-01.
_EPOCH_TICKS = 0x01B21DD213814000

# Servers compare the last 8 bytes as signed bytes, so 0x80 is the lowest byte, and 0x7F the
# highest. The variant bits are fixed.
LOWEST_TIME_UUID = uuid.UUID("00000000-0000-1000-8080-808080808080")
HIGHEST_TIME_UUID = uuid.UUID("ffffffff-ffff-1fff-bf7f-7f7f7f7f7f7f")


def _warn_of_version(function: str, uuid_arg: uuid.UUID) -> None:
    """Warn if a UUID is not of version 1, and so does not contain a time.

    :param function: the name of the calling function. For such a UUID it returns a time without
        meaning, as cassandra-driver does.
    """
    version = getattr(uuid_arg, "version", 1)
    if version != 1:
        warnings.warn(
            f"{function} takes a UUID of version 1, but {uuid_arg} has "
            f"{'no version' if version is None else f'version {version}'}: "
            "the result is not a time",
            RuntimeWarning,
            stacklevel=3,  # the code that called this function's caller
        )


def unix_time_from_uuid1(uuid_arg: uuid.UUID) -> float:
    """Return the seconds since 1970 of a version 1 UUID.

    For a UUID of another version, a RuntimeWarning is issued, and the result is not a time.

    :param uuid_arg: the `uuid.UUID`.
    """
    _warn_of_version("unix_time_from_uuid1", uuid_arg)
    return (uuid_arg.time - _EPOCH_TICKS) / 1e7


def datetime_from_uuid1(uuid_arg: uuid.UUID) -> datetime.datetime:
    """Return the naive UTC datetime of a version 1 UUID, truncated to microseconds.

    For a UUID of another version, a RuntimeWarning is issued, and the result is not a time.

    :param uuid_arg: the `uuid.UUID`.
    """
    _warn_of_version("datetime_from_uuid1", uuid_arg)
    return DATETIME_EPOC + datetime.timedelta(microseconds=(uuid_arg.time - _EPOCH_TICKS) // 10)


def _uuid_ticks(time_arg: float | datetime.datetime | uuid.UUID) -> int:
    """Convert a time to the unit of UUIDs: 100 ns since 1582-10-15."""
    if isinstance(time_arg, uuid.UUID):
        return time_arg.time
    if isinstance(time_arg, datetime.datetime):
        millis = ms_timestamp_from_datetime(time_arg)
        offset = time_arg.utcoffset()
        micros = time_arg.microsecond - (offset.microseconds if offset else 0)
        # The milliseconds were rounded down, so the remainder is never negative.
        return (millis * 1000 + micros % 1000) * 10 + _EPOCH_TICKS
    argument: object = time_arg
    if isinstance(argument, (str, bytes, datetime.date, datetime.timedelta)):
        raise TypeError(
            f"a time is a datetime, or a number of seconds since 1970, not {time_arg!r} of type "
            f"{type(time_arg).__name__}"
        )
    seconds = python_number(time_arg)
    if isinstance(seconds, int):
        return seconds * 10_000_000 + _EPOCH_TICKS
    return int(seconds * 1_000_000) * 10 + _EPOCH_TICKS


def uuid_from_time(
    time_arg: float | datetime.datetime, node: int | None = None, clock_seq: int | None = None
) -> uuid.UUID:
    """Create a version 1 UUID for a time.

    :param time_arg: a datetime (a naive datetime is taken as UTC), or seconds since 1970.
    :param node: 48 bits; None for random bits.
    :param clock_seq: 14 bits; None for random bits.
    :raises ValueError: if an argument is out of range.
    """
    ticks = _uuid_ticks(time_arg)
    if not 0 <= ticks < 1 << 60:
        raise ValueError(f"{time_arg!r} lies outside the times that a version 1 UUID has")
    if clock_seq is None:
        clock_seq = import_module("random").getrandbits(14)
    elif not 0 <= clock_seq <= 0x3FFF:
        raise ValueError(f"clock_seq has 14 bits (0 to {0x3FFF}), not {clock_seq}")
    if node is None:
        node = import_module("random").getrandbits(48)
    elif not 0 <= node < 1 << 48:
        raise ValueError(f"node has 48 bits, not {node}")
    return uuid.UUID(
        fields=(
            ticks & 0xFFFFFFFF,
            (ticks >> 32) & 0xFFFF,
            # the version, 1
            ((ticks >> 48) & 0x0FFF) | 0x1000,
            # the variant of RFC 4122
            0x80 | (clock_seq >> 8),
            clock_seq & 0xFF,
            node,
        )
    )


def min_uuid_from_time(timestamp: float | datetime.datetime) -> uuid.UUID:
    """Return the lowest version 1 UUID for a time, in the order in which servers sort timeuuids.

    :param timestamp: seconds since 1970, or a datetime.
    """
    return uuid_from_time(timestamp, LOWEST_TIME_UUID.node, LOWEST_TIME_UUID.clock_seq)


def max_uuid_from_time(timestamp: float | datetime.datetime) -> uuid.UUID:
    """Return the highest version 1 UUID for a time, in the order in which servers sort timeuuids.

    :param timestamp: seconds since 1970, or a datetime.
    """
    return uuid_from_time(timestamp, HIGHEST_TIME_UUID.node, HIGHEST_TIME_UUID.clock_seq)


for _public in (
    unix_time_from_uuid1,
    datetime_from_uuid1,
    uuid_from_time,
    min_uuid_from_time,
    max_uuid_from_time,
):
    _public.__module__ = "cassandra.util"
del _public
