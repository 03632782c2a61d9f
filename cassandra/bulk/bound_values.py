"""Reads the bound values of rows, and divides rows that must be sent one after another.

A row is bound to bytes: for each bind marker 4 bytes of length, followed by the bytes of the value.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cassandra._signals import is_from_signal_handler
from cassandra.bulk.plain import plain_codec
from cassandra.cqltypes.containers import MapType, SetType, TupleType
from cassandra.protocol.encrypted import is_encrypted

if TYPE_CHECKING:
    from cassandra.cqltypes.codecs.base import Codec
    from cassandra.query.prepared import PreparedStatement

LENGTH = struct.Struct(">i")
"""The length of a value: -1 for null, -2 for an unset value."""

UNSET = LENGTH.pack(-2)
"""An unset value: its length, without bytes."""

_FLOATS = ("float", "double")
_FLOAT_FORMS = {4: struct.Struct(">f"), 8: struct.Struct(">d")}  # by the size in bytes
# The length and the first two bytes of a double or a float that is not finite. Other bytes of a row
# may match by chance, such as those of the integer -1.
_MAY_BE_NAN = re.compile(rb"\x00\x00\x00(?:\x08[\x7f\xff][\xf0-\xff]|\x04[\x7f\xff][\x80-\xff])")


def value_at(data: bytes, span: tuple[int, int]) -> bytes:
    """Return a value of a row with its length, which distinguishes null, unset and empty values.

    :param span: (offset of the length, size) of the value.
    """
    offset, size = span
    return data[offset : offset + 4 + max(size, 0)]


def spans_of(data: bytes, width: int) -> list[tuple[int, int]]:
    """Return (offset of the length, size) of each value of a row; null has a negative size."""
    spans: list[tuple[int, int]] = []
    offset = 0
    for _ in range(width):
        (size,) = LENGTH.unpack_from(data, offset)
        spans.append((offset, size))
        offset += 4 + max(size, 0)
    return spans


def parts_in_order(
    prepared: PreparedStatement,
    block: Any,
    row_numbers: Sequence[int],
    key: Sequence[int],
    positions: Sequence[int],
    ttl: int | None = None,
) -> list[tuple[Any, Sequence[int]]]:
    """Divide rows into parts that are sent one after another.

    Rows with equal keys and different values go into different parts.

    :param prepared: the statement for which the rows are bound.
    :param block: the rows.
    :param row_numbers: the number of each row in its source.
    :param key: the positions of the key's columns. A server may treat different bytes as the same
        key.
    :param positions: the positions of the values to compare. If empty, there is one part.
    :param ttl: the position of the row's time to live, because values that expire at different
        times differ. None if the values never expire, or all at the same time.
    :returns: (block, row numbers) of each part.
    """
    if not positions:
        return [(block, row_numbers)]
    rows = _ComparedRows(prepared, block.width, key, positions, ttl)
    # Maps a key to the last part that has a row with this key, as (index of the part, values of the
    # row).
    last_parts: dict[tuple[Any, ...], tuple[int, list[bytes]]] = {}
    parts: list[list[int]] = []
    for row_index, row in enumerate(block.rows()):
        row_key, values = rows.key_and_values(row.data)
        number, last_values = last_parts.get(row_key, (0, values))
        pairs = list(zip(values, last_values, strict=True))
        # If a value differs from the value in the last row with this key, use the next part. An
        # unset value does not write the column, so it never differs.
        if any(value != last and UNSET not in (value, last) for value, last in pairs):
            number += 1
        values = [last if value == UNSET else value for value, last in pairs]
        last_parts[row_key] = number, values
        if number == len(parts):
            parts.append([])
        parts[number].append(row_index)
    if len(parts) <= 1:
        return [(block, row_numbers)]
    return [(block.take(part), [row_numbers[index] for index in part]) for part in parts]


class _ComparedRows:
    """Returns the keys and the values by which rows are compared.

    The parameters are those of `parts_in_order`; `width` is the number of values of a row.
    """

    def __init__(
        self,
        prepared: PreparedStatement,
        width: int,
        key: Sequence[int],
        positions: Sequence[int],
        ttl: int | None,
    ) -> None:
        self._width = width
        self._key = key
        self._positions = positions
        self._ttl = ttl
        types = [column.type for column in prepared.column_metadata]
        self._key_codecs = {
            index: plain_codec(types[index]) for index in key if has_many_forms(types[index])
        }
        # The same value may be encrypted to different bytes, so compare encrypted values decrypted.
        # For an encrypted column, the server's type is blob. The plan has the type that decrypts.
        bound_types = [column.type for column in prepared.plain_plan.columns]
        self._encrypted_codecs = {
            index: plain_codec(bound_types[index])
            for index in positions
            if is_encrypted(bound_types[index])
        }

    def key_and_values(self, data: bytes) -> tuple[tuple[Any, ...], list[bytes]]:
        """Return the key and the compared values of a row.

        :param data: the bound values of the row.
        """
        spans = spans_of(data, self._width)

        def encoded(index: int) -> bytes:
            return value_at(data, spans[index])

        row_key = tuple([self._key_value(index, encoded(index)) for index in self._key])
        values = [self._compared_value(index, encoded(index)) for index in self._positions]
        if self._ttl is not None:
            # A row without any of these values has nothing that could expire, so its time to live
            # does not count.
            has_value = any(spans[index][1] >= 0 for index in self._positions)
            values.append(encoded(self._ttl) if has_value else UNSET)
        return row_key, values

    def _key_value(self, index: int, encoded: bytes) -> Any:
        """Return an object that is the same for all encodings of a column of the key.

        :param index: the position of the column.
        :param encoded: the value with its length. It may be null: a server will refuse that.
        """
        codec = self._key_codecs.get(index)
        if codec is None or len(encoded) <= LENGTH.size:
            return encoded
        return _comparable(codec.decode_nullable(encoded[LENGTH.size :]))

    def _compared_value(self, index: int, encoded: bytes) -> bytes:
        """Return bytes that are the same for all encrypted forms of a value.

        :param index: the position of the column.
        :param encoded: the value with its length.
        """
        codec = self._encrypted_codecs.get(index)
        if codec is None or len(encoded) <= LENGTH.size:
            return encoded
        return _decrypted(codec, encoded)


def _decrypted(codec: Codec, encoded: bytes) -> bytes:
    """Return bytes that are the same for all encrypted forms of a value.

    If the value cannot be decrypted, because the application may only have the key for writing,
    return it unchanged. Then rows with the same value are sent one after another.

    :param codec: decrypts the value.
    :param encoded: the encrypted value with its length.
    """
    try:
        return repr(codec.decode_nullable(encoded[LENGTH.size :])).encode()
    except MemoryError:
        raise
    except Exception as error:  # a policy of the application may raise anything
        if is_from_signal_handler(error):
            raise
        return encoded


def has_many_forms(cql_type: Any) -> bool:
    """Return True if a server may treat different bytes of this type as the same key.

    A server sorts the elements of sets and the entries of maps, so their order in the bytes does
    not matter. In clustering columns, a server also treats the decimals 1.0 and 1.00 as equal, all
    NaNs, and tuples with and without nulls at their end.
    """
    return (
        cql_type.typename in ("decimal", *_FLOATS)
        or issubclass(cql_type, (TupleType, SetType, MapType))
        or any(map(has_many_forms, cql_type.subtypes))
    )


def varying_positions(
    prepared: PreparedStatement, block: Any, positions: Sequence[int]
) -> list[int]:
    """Return the positions at which different bytes in these rows may be the same key.

    The only floats with many forms are NaNs: their sign and their payload do not matter to a
    server. Few rows have any, and comparing keys takes time. So a column of floats only counts if
    the rows have NaNs with different bytes.

    :param prepared: the statement for which the rows are bound.
    :param block: the rows.
    :param positions: the positions of the key's columns.
    """
    types = [column.type for column in prepared.column_metadata]
    varying = [position for position in positions if has_many_forms(types[position])]
    # The different NaNs of each column of floats.
    nans: dict[int, set[bytes]] = {
        position: set() for position in varying if types[position].typename in _FLOATS
    }
    if nans:
        for row in block.rows():
            data = row.data
            if _MAY_BE_NAN.search(data) is None:
                continue
            spans = spans_of(data, block.width)
            for position, column_nans in nans.items():
                value = value_at(data, spans[position])
                if _is_nan(value[LENGTH.size :]):
                    column_nans.add(value)
    return [position for position in varying if len(nans.get(position, "many")) > 1]


def _is_nan(data: bytes) -> bool:
    """Return True if a value of type float or double is NaN; a null or empty value is not."""
    form = _FLOAT_FORMS.get(len(data))
    return form is not None and math.isnan(form.unpack(data)[0])


def _comparable(value: Any) -> Any:
    """Return a hashable object that is equal for all values that a server treats as the same key.

    Different keys may also have the same object, for example [1, 2] and [2, 1]. The only
    consequence is that their rows are sent one after another.

    :param value: a decoded value; sets are decoded to lists, and tuples have the length of their
        type.
    """
    if isinstance(value, Mapping):
        return frozenset([(_comparable(key), _comparable(each)) for key, each in value.items()])
    if isinstance(value, list):
        return frozenset(map(_comparable, value))
    if isinstance(value, tuple):
        return tuple(map(_comparable, value))
    # In Python, NaN differs from itself.
    return None if value != value else value
