"""Warns of numbers that the server will store differently from what the source shows.

A decimal column stores the exact value of a float, as with cassandra-driver: 30.13 is stored as
30.129999999999999005... In a load that is probably a mistake, because people choose the type
decimal to keep digits as they are written. A double or float column rounds integers of many digits:
2**53 + 1 is stored as 2**53. Tables are checked when their columns are selected (`select_columns`),
and all other rows when they are bound (`Binder`).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from ctypes import c_float
from decimal import Decimal, InvalidOperation
from itertools import islice
from typing import Any

from cassandra._later_warnings import warn
from cassandra.bulk.lost_times import value_in_row
from cassandra.query.tables.rows import is_array

# How many values of a chunk to check. One value is not enough: it may be one that is stored
# exactly, such as 0.5, although later values are not.
ROWS = 100

# The CQL types whose columns are checked.
CHECKED_TYPES = ("decimal", "double", "float")


class ChangedNumbers:
    """Warns of floats for decimal columns, and of integers that double and float columns round.

    It warns at most once per column.
    """

    def __init__(self) -> None:
        self._warned: set[str] = set()  # the names of columns that have been warned of

    def look_at_table(self, name: str, type_name: str, table: Any, index: int) -> None:
        """Warn if numbers in a column of a table would be stored with digits that differ.

        :param name: the name of the column that is written.
        :param type_name: the CQL type of that column, one of `CHECKED_TYPES`.
        :param table: a data frame, a structured array, or Arrow data.
        :param index: the position of the column in the table.
        """
        if name not in self._warned:
            values = _first_values(table, index, type_name)
            self._look_at(name, type_name, values, hasattr(table, "iloc"))

    def look_at_rows(self, name: str, type_name: str, rows: Iterable[Any], index: int) -> None:
        """Warn if numbers in a column of the rows would be stored with digits that differ.

        :param name: the name of the column that is written.
        :param type_name: the CQL type of that column, one of `CHECKED_TYPES`.
        :param rows: the application's rows: tuples, lists, mappings by column name, or objects with
            attributes.
        :param index: the position of the column's value in a tuple or list.
        """
        if name not in self._warned:
            values = (value_in_row(row, name, index) for row in islice(rows, ROWS))
            self._look_at(name, type_name, values, is_pandas=False)

    def _look_at(self, name: str, type_name: str, values: Iterable[Any], is_pandas: bool) -> None:
        if type_name == "decimal":
            self._look_for_floats(name, values, is_pandas)
        else:
            self._look_for_integers(name, type_name, values)

    def _look_for_integers(self, name: str, type_name: str, values: Iterable[Any]) -> None:
        """Warn of the first integer that a column of doubles or floats rounds."""
        for value in values:
            stored = rounded_integer(value, type_name)
            if stored is not None:
                self._warned.add(name)
                warn(
                    f"column {name!r} is a {type_name}, which rounds integers of so many digits: "
                    f"{value} is stored as {stored:.0f}; a column of bigint, varint or decimal "
                    "keeps all digits"
                )
                return

    def _look_for_floats(self, name: str, values: Iterable[Any], is_pandas: bool) -> None:
        """Warn of the first float that a decimal column stores with other digits than it shows."""
        for value in values:
            exact = inexact_decimal(value)
            if exact is None:
                continue
            self._warned.add(name)
            convert = (
                f"write frame[{name!r}].map(lambda value: Decimal(str(value)), na_action='ignore')"
                if is_pandas
                else f"write Decimal(str(value)) for each value, Decimal({str(value)!r}) here"
            )
            warn(
                f"column {name!r} is a decimal, and the source has floats: {value} is stored as "
                f"{exact}; to store the digits that you see, {convert}"
            )
            return


def inexact_decimal(value: Any) -> Decimal | None:
    """Return the exact value of a float if it differs from the number that Python prints.

    :param value: any value.
    :returns: the value that is stored; None for floats such as 0.5, which are stored as they are
        printed, and for values of other types.
    """
    # float32 of NumPy is not a subclass of float.
    if not isinstance(value, float) and getattr(getattr(value, "dtype", None), "kind", "") != "f":
        return None
    try:
        exact = Decimal(float(value))
        if not exact.is_finite() or exact == Decimal(str(value)):
            return None
    except (TypeError, ValueError, InvalidOperation):  # an array, which binding refuses
        return None
    return exact


def rounded_integer(value: Any, type_name: str) -> float | None:
    """Return the number that a double or float column stores for an integer, if the two differ.

    :param value: any value.
    :param type_name: "double" or "float".
    :returns: None for integers that are stored exactly, for integers that are too large to bind,
        and for values of other types.
    """
    if not hasattr(type(value), "__index__"):
        return None
    try:
        integer = operator.index(value)
        stored = float(integer)
    except (TypeError, OverflowError):  # an array, or a number of more than 308 digits
        return None
    if type_name == "float":
        stored = c_float(stored).value
    return stored if math.isfinite(stored) and stored != integer else None


def _first_values(table: Any, index: int, type_name: str) -> Iterable[Any]:
    """Return the first values of a table's column; () for Arrow types that are stored unchanged."""
    if hasattr(table, "iloc"):
        return table.iloc[:ROWS, index].dropna()  # type: ignore[no-any-return]
    if is_array(table):
        array: Any = table
        return array[array.dtype.names[index]][:ROWS]  # type: ignore[no-any-return]
    from pyarrow import types

    values = table.column(index)
    is_checked = types.is_floating if type_name == "decimal" else types.is_integer
    if not is_checked(values.type):
        return ()
    return values.slice(0, ROWS).to_pylist()  # type: ignore[no-any-return]
