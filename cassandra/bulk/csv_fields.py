"""The interface between `csv_files` and the compiled CSV reader (``cassandra._accel.csv_rows``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from cassandra.protocol.bind import RowsBlock


class Field(NamedTuple):
    """A CSV field that is written to a column.

    :param position: the index of the field in the line.
    :param kind: "int", "float", "boolean", "text", "uuid", "timestamp" or "date" if the compiled
        reader can convert the field, because it has the default format of this type; otherwise "".
    :param read: converts the field's string to a value, whatever `kind` is.
    :param nulls: the strings that mean null.
    """

    position: int
    kind: str
    read: Callable[[str], Any]
    nulls: tuple[str, ...] = ("",)


class ReadRows(NamedTuple):
    """Rows that were read from a file.

    :param block: the bound rows; None if the reader cannot bind one of the rows. Then the csv
        module has to read all of these rows.
    :param size: the number of rows up to `end`.
    :param end: the offset of the next row in the data.
    :param lines: the line on which each row begins, counted from 0; None if each row is one line.
    :param line_count: the number of lines up to `end`.
    """

    block: RowsBlock | None
    size: int
    end: int
    lines: list[int] | None
    line_count: int


class CsvReader(Protocol):
    """Reads the rows of a file, one piece of the file after another."""

    def read(self, data: bytes, start: int, is_last: bool, limit: int) -> ReadRows | None:
        """Read rows; return None if the next rows must be read by the csv module.

        :param data: a piece of the file.
        :param start: the offset in `data` at which a row begins.
        :param is_last: True if `data` ends with the file.
        :param limit: the maximum number of rows.
        """
