"""Fields and rows of CSV, shared by the reader and the binder."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from cassandra.protocol.bind import RowsBlock

__all__ = ["CsvReader", "Field", "ReadRows"]


class Field(NamedTuple):
    """A field that is bound.

    :param position: its index in the line.
    :param kind: "int", "float", "boolean", "text", "uuid", "timestamp" or "date" if it uses the
        default format of this type; "" for anything else.
    :param read: converts its text to a value.
    :param nulls: the strings that mean null.
    """

    position: int
    kind: str
    read: Callable[[str], Any]
    nulls: tuple[str, ...] = ("",)


class ReadRows(NamedTuple):
    """Rows that were read from a file.

    :param block: the bound rows; None if some row cannot be bound, so that each must be examined.
    :param size: how many rows.
    :param end: the offset of the next row.
    :param lines: the line on which each row begins, from 0; None if each row is one line.
    :param line_count: how many lines the rows take.
    """

    block: RowsBlock | None
    size: int
    end: int
    lines: list[int] | None
    line_count: int


class CsvReader(Protocol):
    """Reads the rows of a file, piece by piece."""

    def read(self, data: bytes, start: int, is_last: bool, limit: int) -> ReadRows | None:
        """Read rows; return None if the next rows need the csv module.

        :param data: a part of the file.
        :param start: the offset of a row.
        :param is_last: True if `data` ends with the file.
        :param limit: how many rows at most.
        """
