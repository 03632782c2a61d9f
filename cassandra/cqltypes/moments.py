"""Converts NumPy's scalars datetime64 and timedelta64 to integers, without floats.

This module does not import NumPy: if an application has such a value, it has already imported
NumPy.
"""

from __future__ import annotations

import sys
from typing import Any

NANOS_OF_DAY = 86_400 * 10**9
# The nanoseconds of NumPy's units, except years and months, which have no fixed length.
_NANOS = {
    "ns": 1,
    "us": 1000,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
    "D": NANOS_OF_DAY,
    "W": 7 * NANOS_OF_DAY,
}
# For units that are shorter than a nanosecond: how many of them are one nanosecond.
_FRACTIONS = {"ps": 1000, "fs": 10**6, "as": 10**9}
# For units that have no fixed length: how many months each of them is.
_MONTHS = {"M": 1, "Y": 12}
# If a moment is at most this number of months from 1970, NumPy can convert it to days without an
# overflow.
_MOST_MONTHS = 10**10


def nanos_since_1970(value: object) -> int | None:
    """Return the nanoseconds since 1970 of a `numpy.datetime64`, rounded down.

    :param value: any value.
    :returns: the nanoseconds; None if `value` is of another class, or is NaT.
    """
    parts = _number_and_unit(value, "datetime64")
    if parts is None:
        return None
    number, unit = parts
    if unit not in _MONTHS:
        return _in_nanos(number, unit)
    if abs(number * _MONTHS[unit]) > _MOST_MONTHS:
        # No CQL type can hold such a year. Return a number of nanoseconds that is not exact, but so
        # large that callers reject it.
        return number * 28 * NANOS_OF_DAY
    # Use the first day of the month or year.
    moment: Any = value
    return int(moment.astype("datetime64[D]").astype("int64")) * NANOS_OF_DAY


def months_and_nanos(value: object) -> tuple[int, int] | None:
    """Return a `numpy.timedelta64` as (months, nanoseconds); one of the two numbers is 0.

    :param value: any value.
    :returns: the two numbers; None if `value` is of another class, is NaT, or has no unit.
    """
    parts = _number_and_unit(value, "timedelta64")
    if parts is None:
        return None
    number, unit = parts
    if unit in _MONTHS:
        return number * _MONTHS[unit], 0
    nanos = _in_nanos(number, unit)
    return None if nanos is None else (0, nanos)


def is_whole_days(moment: Any) -> bool:
    """Return True if the unit of a `numpy.datetime64` is a day or longer."""
    unit: str = sys.modules["numpy"].datetime_data(moment.dtype)[0]
    return unit in _MONTHS or _NANOS.get(unit, 0) >= NANOS_OF_DAY


def _number_and_unit(value: Any, name: str) -> tuple[int, str] | None:
    """Return the number and the unit of a NumPy scalar; None for NaT and other classes."""
    numpy: Any = sys.modules.get("numpy")
    scalar_type = getattr(numpy, name, None)
    if scalar_type is None or not isinstance(value, scalar_type) or numpy.isnat(value):
        return None
    # A dtype may count in multiples of a unit: "<M8[25s]" counts in steps of 25 seconds.
    unit, count = numpy.datetime_data(value.dtype)
    return int(value.astype("int64")) * count, unit


def _in_nanos(number: int, unit: str) -> int | None:
    """Convert a number of NumPy units to nanoseconds, rounded down.

    Return None if there is no unit.
    """
    if unit in _FRACTIONS:
        return number // _FRACTIONS[unit]
    return number * _NANOS[unit] if unit in _NANOS else None
