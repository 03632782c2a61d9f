"""Warns of floats for decimal columns, which are stored with all binary digits of the float.

A decimal column takes a float at its exact value, as in cassandra-driver: 30.13 is stored as
30.129999999999999005... In a load that is probably a mistake: the column was made a decimal to keep
the digits as they are written. Tables are checked when their columns are selected
(`select_columns`), and all other rows when they are bound (`Binder`).
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal, InvalidOperation
from itertools import islice
from typing import Any

from cassandra._later_warnings import warn
from cassandra.bulk.lost_times import value_in_row
from cassandra.query.tables.rows import is_array

# How many values of a chunk to look at: numbers such as 0.5 are exact, and tell nothing.
ROWS = 100


class FloatDecimals:
    """Looks for floats in the values of decimal columns; warns at most once per column."""

    def __init__(self) -> None:
        self._warned: set[str] = set()  # the names of columns that have been warned of

    def look_at_table(self, name: str, table: Any, index: int) -> None:
        """Warn if a column of a table has floats that are not the decimals that they look like.

        :param name: the name of the decimal column that is written.
        :param table: a data frame, a structured array, or Arrow data.
        :param index: the position of the column in the table.
        """
        if name not in self._warned:
            self._look_at(name, _first_values(table, index), hasattr(table, "iloc"))

    def look_at_rows(self, name: str, rows: Iterable[Any], index: int) -> None:
        """Warn if rows have floats that are not the decimals that they look like.

        :param name: the name of the decimal column that is written.
        :param rows: the application's rows: tuples, lists, mappings by column name, or objects with
            attributes.
        :param index: the position of the column's value in a tuple or list.
        """
        if name not in self._warned:
            values = (value_in_row(row, name, index) for row in islice(rows, ROWS))
            self._look_at(name, values, is_pandas=False)

    def _look_at(self, name: str, values: Iterable[Any], is_pandas: bool) -> None:
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
    :returns: the value that is stored; None for other values, and for floats such as 0.5.
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


def _first_values(table: Any, index: int) -> Iterable[Any]:
    """Return the first values of a column of a table."""
    if hasattr(table, "iloc"):
        return table.iloc[:ROWS, index].dropna()  # type: ignore[no-any-return]
    if is_array(table):
        array: Any = table
        return array[array.dtype.names[index]][:ROWS]  # type: ignore[no-any-return]
    from pyarrow import types

    values = table.column(index)
    if not types.is_floating(values.type):
        return ()
    return values.slice(0, ROWS).to_pylist()  # type: ignore[no-any-return]
