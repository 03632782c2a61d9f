"""Warns if a time of day is lost, because the column of the value is a date.

A date column accepts a datetime and drops its time of day, as in cassandra-driver. In a load that
is probably a mistake: the column should be a timestamp. Tables are checked when their columns are
selected (`select_columns`), and all other rows when they are bound (`Binder`).
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from cassandra._later_warnings import warn
from cassandra.query.tables.rows import is_array


def is_date(cql_type: Any) -> bool:
    """Return True for the CQL type date."""
    return getattr(cql_type, "typename", None) == "date"


class LostTimes:
    """Looks for times of day in the values of date columns; warns at most once per column."""

    def __init__(self) -> None:
        self._warned: set[str] = set()  # the names of columns that have been warned of

    def look_at_table(self, name: str, table: Any, index: int, data_type: object) -> None:
        """Warn if a column of a table has times of day, which the date column would lose.

        :param name: the name of the date column that is written.
        :param table: a data frame, a structured array, or Arrow data.
        :param index: the position of the column in the table.
        :param data_type: the type of the column in the table, for the message.
        """
        if name not in self._warned and _has_time_of_day(table, index):
            self._warn(name, str(data_type))

    def look_at_array(self, name: str, values: Any) -> None:
        """Warn if the values of an array have times of day, which the date column would lose.

        :param name: the name of the date column that is written.
        :param values: one column of an array of two dimensions.
        """
        if name not in self._warned and _array_has_time_of_day(values):
            self._warn(name, str(values.dtype))

    def look_at_rows(self, name: str, rows: Iterable[Any], index: int) -> None:
        """Warn if values in rows have times of day, which the date column would lose.

        :param name: the name of the date column that is written.
        :param rows: the application's rows: tuples, lists, mappings by column name, or objects with
            attributes.
        :param index: the position of the column's value in a tuple or list.
        """
        if name in self._warned:
            return
        for row in rows:
            value = value_in_row(row, name, index)
            if is_with_time(value):
                self._warn(name, type(value).__name__)
                return

    def _warn(self, name: str, data_type: str) -> None:
        """Warn of a date column whose source has values of the class or type `data_type`."""
        self._warned.add(name)
        warn(
            f"column {name!r} is a date, and the source has timestamps with a time of day "
            f"({data_type}), which is not stored"
        )


def value_in_row(row: Any, name: str, index: int) -> object:
    """Return the value that a row of the application has for a column; None if the row lacks it.

    :param row: a tuple, list, mapping by column name, or object with attributes.
    :param name: the name of the column.
    :param index: the position of the column's value in a tuple or list.
    """
    # We use ``try`` and not ``contextlib.suppress``, because this runs for each row of a load.
    try:
        if isinstance(row, (tuple, list)):
            return row[index]
        if isinstance(row, Mapping):
            return row.get(name)
        return getattr(row, name, None)
    except Exception:
        # User code may raise anything, and a row may lack the value. Ignore the error here:
        # binding the row reports it.
        return None


def is_with_time(value: Any) -> bool:
    """Return True for a datetime that is not midnight.

    :param value: any value. A Timestamp of pandas is a datetime too.
    """
    # pandas' NaT is a datetime that does not equal itself.
    if not isinstance(value, datetime.datetime) or value != value:
        return False
    return value.time() != datetime.time() or getattr(value, "nanosecond", 0) != 0


def _has_time_of_day(table: Any, index: int) -> bool:
    """Return True if a column of a table has timestamps that are not midnight."""
    if hasattr(table, "iloc"):
        series = table.iloc[:, index]
        if hasattr(series.dtype, "pyarrow_dtype"):
            return _arrow_has_time_of_day(series.array.__arrow_array__())
        kind = getattr(series.dtype, "kind", "")
        if kind == "O":
            return any(map(is_with_time, series))
        if kind != "M" or not hasattr(series, "dt"):
            return False
        # Remove the time zone: some zones have days that do not begin at midnight.
        values = series.dropna().dt.tz_localize(None)
        return bool((values != values.dt.normalize()).any())
    if is_array(table):
        array: Any = table
        return _array_has_time_of_day(array[array.dtype.names[index]])
    return _arrow_has_time_of_day(table.column(index))


def _arrow_has_time_of_day(values: Any) -> bool:
    """Return True if an array or chunked array of Arrow has timestamps that are not midnight."""
    from pyarrow import ArrowInvalid, compute, types

    if types.is_dictionary(values.type) and types.is_timestamp(values.type.value_type):
        values = values.cast(values.type.value_type)
    if not types.is_timestamp(values.type):
        return False
    # pyarrow needs a database of time zones. On a machine without such a database it raises
    # ArrowInvalid, and we cannot tell whether a time of day would be lost.
    with suppress(ArrowInvalid):
        days = compute.floor_temporal(values, unit="day")
        return bool(compute.any(compute.not_equal(values, days)).as_py())
    return False


def _array_has_time_of_day(values: Any) -> bool:
    """Return True if an array of NumPy has timestamps that are not midnight."""
    if hasattr(values, "compressed"):  # a masked array, whose masked items have arbitrary values
        values = values.compressed()
    if values.dtype.kind == "O":
        return any(map(is_with_time, values.ravel().tolist()))
    if values.dtype.kind != "M":
        return False
    has_time = values.astype("datetime64[D]") != values
    is_not_missing = values == values  # NaT does not equal anything, not even itself
    return bool((has_time & is_not_missing).any())
