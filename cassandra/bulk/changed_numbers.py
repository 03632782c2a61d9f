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
from collections.abc import Iterable, Iterator
from ctypes import c_float
from decimal import Decimal, InvalidOperation
from itertools import chain, islice
from typing import Any

from cassandra._later_warnings import warn
from cassandra.bulk.leaves import Leaves, described, leaf_columns, value_in_row
from cassandra.query.tables.types import bare, container_of

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

    def look_at_column(self, name: str, cql_type: Any, type_name: str, column: Any) -> None:
        """Warn if numbers in a column of a table would be stored with digits that differ.

        :param name: the name of the column that is written.
        :param cql_type: the CQL type of that column.
        :param type_name: the type of the numbers, one of `CHECKED_TYPES`. The CQL type is or
            contains this type.
        :param column: a column of a table: see `leaf_columns`.
        """
        if name not in self._warned:
            is_pandas = hasattr(column, "iloc") and container_of(bare(cql_type)) is None
            values = _first_values(cql_type, type_name, column)
            self._look_at(name, cql_type, type_name, values, is_pandas)

    def look_at_rows(
        self,
        name: str,
        cql_type: Any,
        type_name: str,
        rows: Iterable[Any],
        index: int,
        leaves: Leaves,
    ) -> None:
        """Warn if numbers in a column of the rows would be stored with digits that differ.

        :param name: the name of the column that is written.
        :param cql_type: the CQL type of that column.
        :param type_name: the type of the numbers, one of `CHECKED_TYPES`.
        :param rows: the application's rows: tuples, lists, mappings by column name, or objects with
            attributes.
        :param index: the position of the column's value in a tuple or list.
        :param leaves: returns the numbers in a value of the column.
        """
        if name not in self._warned:
            values = (leaves(value_in_row(row, name, index)) for row in islice(rows, ROWS))
            numbers = islice(chain.from_iterable(values), ROWS)
            self._look_at(name, cql_type, type_name, numbers, is_pandas=False)

    def _look_at(
        self, name: str, cql_type: Any, type_name: str, values: Iterable[Any], is_pandas: bool
    ) -> None:
        description = f"column {name!r} {described(cql_type, type_name)}"
        if type_name == "decimal":
            advice = self._advice_for_floats(name, values, is_pandas)
        else:
            advice = self._advice_for_integers(type_name, values)
        if advice is not None:
            self._warned.add(name)
            warn(f"{description}, {advice}")

    @staticmethod
    def _advice_for_integers(type_name: str, values: Iterable[Any]) -> str | None:
        """Return the warning for the first integer that a double or float rounds."""
        for value in values:
            stored = rounded_integer(value, type_name)
            if stored is not None:
                return (
                    f"which rounds integers of so many digits: {value} is stored as {stored:.0f}; "
                    "a column of bigint, varint or decimal keeps all digits"
                )
        return None

    @staticmethod
    def _advice_for_floats(name: str, values: Iterable[Any], is_pandas: bool) -> str | None:
        """Return the warning for the first float that a decimal stores with other digits."""
        for value in values:
            exact = inexact_decimal(value)
            if exact is None:
                continue
            convert = (
                f"write frame[{name!r}].map(lambda value: Decimal(str(value)), na_action='ignore')"
                if is_pandas
                else f"write Decimal(str(value)) for each value, Decimal({str(value)!r}) here"
            )
            return (
                f"and the source has floats: {value} is stored as {exact}; to store the digits "
                f"that you see, {convert}"
            )
        return None


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


def _first_values(cql_type: Any, type_name: str, column: Any) -> Iterator[Any]:
    """Yield the first numbers of a table's column; none if its type is stored unchanged."""
    if hasattr(column, "iloc"):
        first_rows = column.iloc[:ROWS].dropna()
    else:
        first_rows = column.slice(0, ROWS) if hasattr(column, "slice") else column[:ROWS]
    for leaves in leaf_columns(cql_type, first_rows, type_name):
        if not hasattr(leaves, "to_pylist"):
            yield from islice(leaves, ROWS)
            continue
        from pyarrow import types

        is_checked = types.is_floating if type_name == "decimal" else types.is_integer
        if is_checked(leaves.type):
            yield from leaves.slice(0, ROWS).to_pylist()
