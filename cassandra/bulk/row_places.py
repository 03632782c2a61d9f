"""Adds to an error which row of a table has a value that cannot be decoded or written.

An error that is raised while a page is decoded names a row by its number in the page. That does not
help to find the row, so this module adds the table, the primary key, and the token range.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from cassandra.bulk.plain import PlainRows
from cassandra.bulk.ranges import FIRST, LAST, TokenRange
from cassandra.bulk.texts import short_repr
from cassandra.client.columnar import rows_message
from cassandra.errors import DecodeError
from cassandra.protocol.encrypted import is_encrypted

if TYPE_CHECKING:
    from cassandra.bulk.sessions import Page

_LENGTH = struct.Struct(">i")  # the length of a value in a response, which precedes its bytes
# The beginning of an error message that names a row of the page.
_ROW = re.compile(r'row ([0-9]+)(?:, column "|: )')


def add_place(
    error: Exception,
    page: Page,
    table: str,
    key_names: Sequence[str],
    token_range: TokenRange | None,
) -> None:
    """Put the location of the row before the message of an error.

    Do nothing for errors that are not about a value of the page.

    :param error: an error that was raised while the page was decoded or written.
    :param page: the result whose current page has the row.
    :param table: ``keyspace.table``.
    :param key_names: the columns of the table's primary key. Only columns in the page are shown.
    :param token_range: the token range of the page; None if it is unknown.
    """
    message = error.args[0] if error.args else None
    if not isinstance(message, str):
        return
    row = _row_of(message)
    if row is None:
        if not isinstance(error, DecodeError):
            return
        row = _first_bad_row(page)
    locations = [f"table {table}"]
    if row is not None and (key := _key_of(page, row, key_names)):
        locations.append(f"the row with {key}")
    # Leave out a range of all tokens, because it would not help to find the row.
    if token_range is not None and token_range[:2] != (FIRST, LAST):
        locations.append(f"tokens after {token_range.start} up to {token_range.end}")
    # Change the error in place, so that it keeps its class and its traceback.
    error.args = (f"{', '.join(locations)}: {message}", *error.args[1:])


def _row_of(message: str) -> int | None:
    """Return the number of the row that an error message names; None if it names no row."""
    match = _ROW.match(message)
    return None if match is None else int(match[1])


def _first_bad_row(page: Page) -> int | None:
    """Return the number of the first row that cannot be decoded; None if we cannot find the row.

    Decoders of whole columns do not always know which row has failed.
    """
    try:
        PlainRows().tuples(page)
    except DecodeError as error:
        return _row_of(str(error))
    except Exception:  # the page has no rows in wire format
        return None
    return None


def _key_of(page: Page, row: int, key_names: Sequence[str]) -> str:
    """Return the primary key of a row, as far as it is in the page; "" if it cannot be decoded.

    :param row: the number of the row in the page.
    """
    # The page has a damaged value, so decoding the key may fail again. Ignore that error.
    with suppress(Exception):
        message = rows_message(page._message)
        names = message.metadata.names
        body, offset, _ = message.rows_body
        values = _values_of_row(body, offset, len(names), row)
        columns = message.metadata.native.columns
        codecs = PlainRows().codecs(page)
        conditions: list[str] = []
        for name in key_names:
            index = names.index(name) if name in names else -1
            # Errors must not show values of encrypted columns.
            if index >= 0 and not is_encrypted(columns[index].type):
                value = codecs[index].decode_nullable(values[index])
                conditions.append(f"{name} = {short_repr(value)}")
        return " and ".join(conditions)
    return ""


def _values_of_row(body: bytes, offset: int, width: int, row: int) -> list[bytes | None]:
    """Return the encoded values of a row of a page; None for each null.

    :param offset: the offset of the page's first row.
    :param width: the number of values in a row.
    :param row: the number of the row in the page.
    """
    values: list[bytes | None] = []
    # Read the rows before this row, too, because each value only begins where the previous ends.
    for _ in range(row + 1):
        values.clear()
        for _ in range(width):
            (size,) = _LENGTH.unpack_from(body, offset)
            offset += 4
            values.append(body[offset : offset + size] if size >= 0 else None)
            offset += max(size, 0)
    return values
