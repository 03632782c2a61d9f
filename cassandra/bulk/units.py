"""Warns of numbers in timestamp columns that are probably not milliseconds.

A CQL timestamp counts milliseconds. A load checks the first value of each timestamp column in text
files, in numeric columns of tables, and in the application's own rows. The number may be seconds,
microseconds or nanoseconds, or the digits of a date: 20261231 milliseconds are an afternoon of
1970, but 2026-12-31 was meant.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import math
from collections.abc import Generator, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from cassandra._later_warnings import warn
from cassandra.bulk.leaves import value_in_row
from cassandra.bulk.texts import formats_of, means_null
from cassandra.cqltypes.coerce import TIMESTAMP_UNIT, probable_timestamp_unit
from cassandra.query.tables.rows import is_array

if TYPE_CHECKING:
    from cassandra.bulk.chunks import Chunk, Column, Reading

# How many rows of a chunk to check. We check several, because the first values may be null.
ROWS = 100
# The kinds of NumPy's numeric types: signed integers, unsigned integers, and floats.
_NUMBERS = ("i", "u", "f")


class UnitWatch:
    """Warns if the first value of a timestamp column is probably not in milliseconds.

    :param reading: the options for reading.
    """

    def __init__(self, reading: Reading) -> None:
        self._nulls = reading.formats.nulls
        # Strings of digits are read as milliseconds, unless `timestamp_format` only has other
        # formats. Numbers in JSON and in tables are always milliseconds.
        formats = formats_of(reading.formats.timestamp)
        self._reads_digits = not formats or "ms" in formats
        # The formats that are tried before digits are read as milliseconds.
        self._earlier_formats = formats[: formats.index("ms")] if "ms" in formats else ()
        # Maps field names to timestamp columns. A column is removed when its first value was
        # checked.
        self._pending = {
            reading.field(column): column
            for column in reading.columns
            if column.type is not None
            and column.type.typename == "timestamp"
            and not column.is_hidden
        }

    def watch(self, chunks: Generator[Chunk, None, None]) -> Generator[Chunk, None, None]:
        """Yield the chunks, and check each chunk first.

        :param chunks: the chunks of the source.
        """
        with contextlib.closing(chunks):
            for chunk in chunks:
                self.look(chunk)
                yield chunk

    def look(self, chunk: Chunk) -> None:
        """Check the first values of the timestamp columns that had no value in earlier chunks.

        :param chunk: the next rows of the source.
        """
        if not self._pending:
            return
        # Check the original strings of files, and the values of tables. The binder checks the
        # application's own rows (`RowUnits`).
        if chunk.raw is not None:
            for index, row in enumerate(_first_rows(chunk.raw)):
                self._look_at_row(chunk, index, row)
                if not self._pending:
                    return
        elif chunk.source is not None or not isinstance(chunk.rows, list):
            self._look_at_table(chunk)

    def _look_at_row(self, chunk: Chunk, index: int, row: Any) -> None:
        """Check the timestamps in the original content of a row.

        This is a list of CSV fields, or a line of JSON.
        """
        if isinstance(row, list) and chunk.names is not None:
            named_values: Iterable[tuple[str, Any]] = zip(chunk.names, row, strict=False)
        elif isinstance(row, str) and row.lstrip()[:1] == "{":
            try:
                named_values = json.loads(row).items()
            except (ValueError, RecursionError):
                return
        else:
            return
        for field, value in named_values:
            column = self._pending.get(field)
            if column is None or value is None:
                continue
            if isinstance(value, str) and means_null(value, self._nulls, ignores_blanks=True):
                continue
            # One value is enough to find out the unit, so do not check this column again.
            del self._pending[field]
            is_text = type(value) is str
            if is_text and self._is_millis(value.strip()):
                # Do not parse very long numbers: they are not timestamps in any unit, and Python
                # may refuse to parse them.
                value = int(value) if len(value) < 30 else value
            self._check(chunk, index, column, value, is_text)

    def _is_millis(self, text: str) -> bool:
        """Return True if a string in a file is read as milliseconds."""
        if not self._reads_digits or not text.isascii() or not text.isdigit():
            return False
        for timestamp_format in self._earlier_formats:
            with contextlib.suppress(ValueError):
                datetime.datetime.strptime(text, timestamp_format)
                return False
        return True

    def _look_at_table(self, chunk: Chunk) -> None:
        """Check the first value of each timestamp column of a table."""
        for field, column in list(self._pending.items()):
            values = _numbers(chunk.rows, column.name)
            for index, value in enumerate(values):
                if value is not None and value == value:  # neither null nor NaN
                    del self._pending[field]
                    # Skip infinite floats, because binding refuses them.
                    if type(value) is not float or math.isfinite(value):
                        self._check(chunk, index, column, int(value))
                    break

    def _check(
        self, chunk: Chunk, index: int, column: Column, value: Any, is_text: bool = False
    ) -> None:
        """Warn if an integer is probably not in milliseconds. Ignore other values."""
        if type(value) is int:
            _warn_of_unit(chunk.location(index), column.name, value, is_text)


class RowUnits:
    """Checks the first number in each timestamp column of the application's own rows."""

    def __init__(self) -> None:
        self._checked: set[str] = set()  # the names of columns that had a number

    def look_at_rows(
        self, name: str, index: int, rows: Sequence[Any], row_numbers: Sequence[int], chunk: Chunk
    ) -> None:
        """Warn if the first number of a timestamp column is probably not in milliseconds.

        :param name: the name of the column.
        :param index: the position of the column's value in a tuple or list.
        :param rows: tuples, lists, mappings by column name, or objects with attributes.
        :param row_numbers: the index of each row in the chunk.
        :param chunk: the chunk of the rows.
        """
        if name in self._checked:
            return
        for number, row in zip(row_numbers[:ROWS], rows, strict=False):
            value = value_in_row(row, name, index)
            # A bool is an int in Python, but not a number here: binding refuses it.
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                if not math.isfinite(value):
                    continue
                self._checked.add(name)
                _warn_of_unit(chunk.location(number), name, int(value))
                return


def _warn_of_unit(location: object, name: str, millis: int, is_text: bool = False) -> None:
    """Warn if a number of a timestamp column is probably in another unit than milliseconds.

    :param location: the location of the row, for the message.
    :param name: the name of the column.
    :param millis: the number.
    :param is_text: True if the source has a string, to which ``timestamp_format`` applies.
    """
    advice = probable_timestamp_unit(millis) or _advice_for_digits(millis, is_text)
    if advice is not None:
        warn(
            f"{location}: column {name!r} is a timestamp, which is counted in milliseconds, and "
            f"{advice} (its other rows are not looked at)",
            TIMESTAMP_UNIT,
        )


def _advice_for_digits(millis: int, is_text: bool) -> str | None:
    """Return advice if a number probably is the digits of a date or a date and time, else None.

    Numbers of twelve digits (without seconds) get no advice, because they may also be milliseconds
    of the 20th century.
    """
    digits = str(millis)
    timestamp_format = _FORMATS_OF_DIGITS.get(len(digits))
    if timestamp_format is None:
        return None
    try:
        # Only give advice if the digits are a date of our time. Otherwise they probably mean
        # something else.
        moment = datetime.datetime.strptime(digits, timestamp_format)
    except ValueError:
        return None
    if not 1900 <= moment.year < 2200:
        return None
    stored = datetime.datetime(1970, 1, 1) + datetime.timedelta(milliseconds=millis)
    cure = (
        f"timestamp_format={timestamp_format!r}"
        if is_text
        else f"datetime.strptime(str(value), {timestamp_format!r}) for each value"
    )
    return (
        f"{millis} milliseconds are {stored:%Y-%m-%d %H:%M} UTC: if these are the digits of "
        f"{moment}, write {cure}"
    )


# Maps a number of digits to the format of a date, or of a date and time, with that many digits.
_FORMATS_OF_DIGITS = {8: "%Y%m%d", 14: "%Y%m%d%H%M%S"}


def _first_rows(raw: Sequence[Any]) -> Sequence[Any]:
    head = getattr(raw, "head", None)
    return head(ROWS) if head is not None else raw[:ROWS]


def _numbers(table: Any, name: str) -> Sequence[Any]:
    """Return the first values of a numeric column of a table; () if the column is not numeric."""
    if isinstance(table, list):  # rows of a file that lacks some column
        return ()
    if hasattr(table, "iloc"):
        if name not in table.columns or getattr(table[name].dtype, "kind", "") not in _NUMBERS:
            return ()
        numbers = table[name].iloc[:ROWS]
        # Replace nulls by None. pandas' own null (NA) cannot be compared, because the result is NA
        # again.
        numbers_or_none: list[Any] = [
            None if is_null else number
            for number, is_null in zip(numbers, numbers.isna(), strict=True)
        ]
        # The method `item` of NumPy's numbers returns a Python number.
        return [number.item() if hasattr(number, "item") else number for number in numbers_or_none]
    if is_array(table):
        if table.dtype.names is None or name not in table.dtype.names:
            return ()
        column = table[name][:ROWS]
        return column.tolist() if column.dtype.kind in _NUMBERS else ()
    schema = getattr(table, "schema", None)
    if schema is None or name not in schema.names:
        return ()
    from pyarrow import types

    index = schema.names.index(name)
    if not types.is_integer(schema.types[index]) and not types.is_floating(schema.types[index]):
        return ()
    return list(table.column(index).slice(0, ROWS).to_pylist())
