"""Fields and rows of CSV, for those who read them and those who bind them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from cassandra.protocol.bind import RowsBlock

__all__ = ["CsvReader", "Field", "Found"]


class Field(NamedTuple):
    """A field that is bound.

    :param place: its number in the line.
    :param kind: "int", "float", "boolean", "text", "uuid", "timestamp" or "date" if it is written
        in the usual way of this type; "" for any other.
    :param read: makes a value of its text.
    :param nulls: the texts that stand for null.
    """

    place: int
    kind: str
    read: Callable[[str], Any]
    nulls: tuple[str, ...] = ("",)


class Found(NamedTuple):
    """Rows of a file.

    :param block: the bound rows; None if one cannot be bound, so that each has to be looked at.
    :param size: how many rows.
    :param end: where the next one begins.
    :param lines: the line that each begins on, counted from 0; None if that is their number.
    :param line_count: how many lines they take.
    """

    block: RowsBlock | None
    size: int
    end: int
    lines: list[int] | None
    line_count: int


class CsvReader(Protocol):
    """Reads the rows of a file, piece by piece."""

    def read(self, data: bytes, start: int, is_last: bool, most: int) -> Found | None:
        """Read rows; None if those that begin here are not written in the usual way.

        :param data: a part of the file.
        :param start: where a row begins.
        :param is_last: True if the file ends with `data`.
        :param most: how many rows at most.
        """
