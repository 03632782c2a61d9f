"""Warns if a time of day is lost, because the column of the value is a date.

A date column accepts a datetime and drops its time of day, as in cassandra-driver. In a load that
is probably a mistake: the column should be a timestamp. Tables are checked when their columns are
selected (`select_columns`), and all other rows when they are bound (`Binder`).
"""

from __future__ import annotations

import datetime
from collections.abc import Collection, Iterable
from contextlib import suppress
from itertools import chain
from typing import Any

from cassandra._later_warnings import warn
from cassandra.bulk.leaves import Leaves, are_dates, described, value_in_row
from cassandra.query.tables.types import dtype_kind


def is_date(cql_type: Any) -> bool:
    """Return True for the CQL type date."""
    return getattr(cql_type, "typename", None) == "date"


class LostTimes:
    """Looks for times of day in the values of date columns; warns at most once per column."""

    def __init__(self) -> None:
        self._warned: set[str] = set()  # the names of columns that have been warned of

    def look_at_column(
        self, name: str, cql_type: Any, data_type: str, leaves: Iterable[Any]
    ) -> None:
        """Warn if a column of a table has times of day, which its dates would lose.

        :param name: the name of the column that is written.
        :param cql_type: the CQL type of that column, which is or contains a date.
        :param data_type: the type of the table's column, for the warning.
        :param leaves: the dates of the column as `leaf_columns` yields them, with lists of objects.
        """
        if name not in self._warned and any(map(_has_time_of_day, leaves)):
            self._warn(name, described(cql_type, "date"), data_type)

    def look_at_rows(
        self, name: str, rows: Iterable[Any], index: int, cql_type: Any, leaves: Leaves
    ) -> None:
        """Warn if values in rows have times of day, which the date column would lose.

        :param name: the name of the date column that is written.
        :param rows: the application's rows: tuples, lists, mappings by column name, or objects with
            attributes.
        :param index: the position of the column's value in a tuple or list.
        :param cql_type: the CQL type of the column.
        :param leaves: returns the dates in a value of the column: see `leaves_of`.
        """
        if name in self._warned:
            return
        values = (value_in_row(row, name, index) for row in rows)
        value = _first_with_time([*chain.from_iterable(map(leaves, values))])
        if value is not None:
            self._warn(name, described(cql_type, "date"), type(value).__name__)

    def _warn(self, name: str, description: str, data_type: str) -> None:
        """Warn of a date column whose source has values of the class or type `data_type`."""
        self._warned.add(name)
        warn(
            f"column {name!r} {description}, and the source has timestamps with a time of day "
            f"({data_type}), which is not stored"
        )


def data_type_of(column: Any) -> str:
    """Return the type of a table's column, for messages."""
    data_type = getattr(column, "dtype", None)
    if data_type is None:
        data_type = getattr(column, "type", type(column).__name__)
    return str(data_type)


def _first_with_time(values: Collection[Any]) -> Any:
    """Return the first object that `is_with_time`; None if there is none."""
    # In most columns all objects are dates. Finding this out is quicker than a call for each.
    return None if are_dates(values) else next(filter(is_with_time, values), None)


def is_with_time(value: Any) -> bool:
    """Return True for a datetime, or a datetime64 of NumPy, that is not midnight.

    :param value: any value. A Timestamp of pandas is a datetime too.
    """
    if not isinstance(value, datetime.datetime):
        return dtype_kind(value) == "M" and _array_has_time_of_day(value)
    # pandas' NaT is a datetime that does not equal itself.
    if value != value:
        return False
    return value.time() != datetime.time() or getattr(value, "nanosecond", 0) != 0


def _has_time_of_day(leaves: Any) -> bool:
    """Return True if the leaves of a column have timestamps that are not midnight.

    :param leaves: see `leaf_columns`.
    """
    if hasattr(leaves, "to_pylist"):
        return _arrow_has_time_of_day(leaves)
    kind = dtype_kind(leaves)
    if not kind:
        return _first_with_time(leaves) is not None
    if kind != "M":
        return False
    if not hasattr(leaves, "dt"):
        return _array_has_time_of_day(leaves)
    # Remove the time zone: some zones have days that do not begin at midnight.
    values = leaves.dropna().dt.tz_localize(None)
    return bool((values != values.dt.normalize()).any())


def _arrow_has_time_of_day(values: Any) -> bool:
    """Return True if an array of Arrow has timestamps that are not midnight."""
    from pyarrow import ArrowInvalid, compute, types

    if not types.is_timestamp(values.type):
        return False
    # pyarrow needs a database of time zones. On a machine without such a database it raises
    # ArrowInvalid, and we cannot tell whether a time of day would be lost.
    with suppress(ArrowInvalid):
        days = compute.floor_temporal(values, unit="day")
        return bool(compute.any(compute.not_equal(values, days)).as_py())
    return False


def _array_has_time_of_day(values: Any) -> bool:
    """Return True if an array or scalar of datetime64 has timestamps that are not midnight."""
    if hasattr(values, "compressed"):  # a masked array, whose masked items have arbitrary values
        values = values.compressed()
    has_time = values.astype("datetime64[D]") != values
    is_not_missing = values == values  # NaT does not equal anything, not even itself
    return bool((has_time & is_not_missing).any())
