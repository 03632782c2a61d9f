"""Writes pages of rows as CSV; the compiled version is ``cassandra._accel.csv_texts``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from cassandra.bulk.texts import text_of
from cassandra.protocol.rows import RowPlan

if TYPE_CHECKING:
    from cassandra.cqltypes.codecs.base import Codec

__all__ = ["csv_line", "csv_lines"]


def csv_lines(
    names: Sequence[str], codecs: Sequence[Codec], body: bytes, offset: int, count: int
) -> bytes:
    """Return the rows of a page as CSV in UTF-8; each value is written by `texts.text_of`.

    :param names: the names of the columns.
    :param codecs: the codecs of the columns' types.
    :param body: the body of the server's response.
    :param offset: the offset at which the rows begin.
    :param count: the number of rows.
    :raises DecodeError: if a value cannot be decoded.
    :raises TypeError: if a value cannot be written as a string; the message names the column.
    """
    rows = RowPlan(names, codecs).tuples(body, offset, count)
    return "".join([csv_line(_texts_of(names, row)) for row in rows]).encode()


def _texts_of(names: Sequence[str], row: Sequence[object]) -> list[str]:
    """Return the strings of a row's values; if a value fails, the error names its column."""
    texts: list[str] = []
    try:
        # If text_of fails, the length of the list is the index of the column that failed.
        texts.extend(map(text_of, row))
    except TypeError as error:
        raise TypeError(f'column "{names[len(texts)]}": {error}') from error
    return texts


def csv_line(texts: Sequence[str]) -> str:
    """Return a line of CSV, with its line end.

    We do not use the csv module: it would not quote a field with a single carriage return, and
    readers would take the carriage return for a line end.

    :param texts: the fields.
    """
    if len(texts) == 1 and not texts[0]:
        return '""\n'  # quoted, because readers skip an empty line
    return ",".join([_quoted(text) for text in texts]) + "\n"


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if _SPECIAL.search(text) else text


_SPECIAL = re.compile('[",\r\n]')  # a field with one of these characters needs quotes
