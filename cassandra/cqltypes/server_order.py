"""The order in which servers keep the elements of sets and the entries of maps.

A server sorts the sets and maps that it receives as a column, or within lists, sets and maps of a
column. It keeps the bytes of tuples, user-defined types and vectors as they are. If a set in a
tuple had another order than the set in the table, the server would take the two tuples for
different values. It also computes the token of a partition key from the sorted bytes. So the driver
sorts the sets and maps in these places before it sends them.

The functions for sorting take the bytes of an element, and return a value that is comparable with
the values of the other elements. The types in `cassandra.cqltypes` choose these functions.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from cassandra.marshal import uvint_unpack

# Returns a value by which the bytes of elements are sorted.
SortKey: TypeAlias = Callable[[bytes], Any]
# Returns the bytes of a value with its sets and maps in the order of servers.
ServerOrder: TypeAlias = Callable[[bytes], bytes]

_int32_at = struct.Struct(">i").unpack_from
_pack_int32 = struct.Struct(">i").pack


def of_signed(data: bytes) -> int:
    """Sort signed integers."""
    return int.from_bytes(data, "big", signed=True)


def of_floats(data: bytes) -> tuple[bool, int]:
    """Sort floats as Java does: -0.0 is less than 0.0, and NaN is the greatest value."""
    (number,) = struct.unpack(">f" if len(data) == 4 else ">d", data)
    bits = of_signed(data)
    if math.isnan(number):
        return True, 0
    # The more negative a number is, the greater are its bits without the sign.
    return False, bits if bits >= 0 else -1 - (bits & ((1 << (8 * len(data) - 1)) - 1))


def of_uuids(data: bytes) -> tuple[int, int, bytes]:
    """Sort UUIDs by their version, UUIDs of version 1 by their time, and others by their bytes."""
    high_half = int.from_bytes(data[:8], "big")
    version = high_half >> 12 & 0xF
    return version, _time_of(high_half) if version == 1 else high_half, data[8:]


def of_timeuuids(data: bytes) -> tuple[int, bytes]:
    """Sort UUIDs by their time, and then by their last eight bytes as signed numbers."""
    return _time_of(int.from_bytes(data[:8], "big")), bytes(byte ^ 0x80 for byte in data[8:])


def _time_of(high_half: int) -> int:
    """Return the time in the first eight bytes of a UUID, whose lowest part comes first."""
    return (high_half & 0xFFFF) << 48 | (high_half >> 16 & 0xFFFF) << 32 | high_half >> 32


def of_elements(key: SortKey) -> SortKey:
    """Sort lists and sets by their elements, and then by their sizes.

    :param key: sorts the elements.
    """
    return lambda data: [_key_of(key, element) for element in _split(data) or ()]


def of_entries(key: SortKey, value: SortKey) -> SortKey:
    """Sort maps by their first keys, then by the values of these keys, and so on.

    :param key: sorts the keys.
    :param value: sorts the values.
    """

    def sort_key(data: bytes) -> list[Any]:
        parts = _split(data, 2) or []
        return [_key_of(key if index % 2 == 0 else value, part) for index, part in enumerate(parts)]

    return sort_key


def of_fields(fields: Sequence[SortKey]) -> SortKey:
    """Sort tuples and user-defined types by their fields; null comes first.

    :param fields: sort each field.
    """

    def sort_key(data: bytes) -> list[Any]:
        keys: list[Any] = []
        offset = 0
        for field in fields:
            # A field that is missing at the end is null.
            size = _int32_at(data, offset)[0] if offset < len(data) else -1
            offset += 4
            end = offset + max(size, 0)
            keys.append((1, _key_of(field, data[offset:end])) if size >= 0 else (0,))
            offset = end
        return keys

    return sort_key


def of_vectors(key: SortKey, fixed_size: int) -> SortKey:
    """Sort vectors by their elements.

    :param key: sorts the elements.
    :param fixed_size: the size of an element in bytes; -1 if a length precedes each element.
    """

    def sort_key(data: bytes) -> list[Any]:
        keys = []
        offset = 0
        while offset < len(data):
            size = fixed_size
            if fixed_size < 0:
                size, length_size = uvint_unpack(data[offset:])
                offset += length_size
            keys.append(_key_of(key, data[offset : offset + size]))
            offset += size
        return keys

    return sort_key


def order_set(order: ServerOrder | None, key: SortKey) -> ServerOrder:
    """Return a function that sorts the elements of a set, and removes duplicates.

    :param order: orders the sets and maps in an element; None if there are none.
    :param key: sorts the elements.
    """

    def order_elements(data: bytes) -> bytes:
        elements = _split(data)
        if elements is None:
            return data
        if order is not None:
            elements = [order(element) for element in elements]
        return _join(sorted(dict.fromkeys(elements), key=lambda element: _key_of(key, element)))

    return order_elements


def order_list(order: ServerOrder) -> ServerOrder:
    """Return a function that orders the sets and maps in the elements of a list.

    :param order: orders those of an element.
    """

    def order_elements(data: bytes) -> bytes:
        elements = _split(data)
        return data if elements is None else _join([order(element) for element in elements])

    return order_elements


def order_map(
    order_key: ServerOrder | None, order_value: ServerOrder | None, key: SortKey
) -> ServerOrder:
    """Return a function that sorts the entries of a map by their keys.

    Of two entries with the same key, the last one is kept.

    :param order_key: orders the sets and maps in a key; None if there are none.
    :param order_value: orders the sets and maps in a value; None if there are none.
    :param key: sorts the keys.
    """

    def order_entries(data: bytes) -> bytes:
        parts = _split(data, 2)
        if parts is None:
            return data
        keys, values = parts[::2], parts[1::2]
        if order_key is not None:
            keys = [order_key(part) for part in keys]
        if order_value is not None:
            values = [order_value(part) for part in values]
        entries = dict(zip(keys, values, strict=True))
        ordered = sorted(entries, key=lambda part: _key_of(key, part))
        return _join([part for part in ordered for part in (part, entries[part])], 2)

    return order_entries


def _key_of(key: SortKey, data: bytes) -> tuple[Any, ...]:
    """Return the sort key of a value. A value of zero bytes comes first, whatever its type is."""
    return (key(data),) if data else ()


def _split(data: bytes, parts_per_entry: int = 1) -> list[bytes] | None:
    """Return the bytes of the elements of a list or set, or the keys and values of a map.

    :param data: the bytes of the collection.
    :param parts_per_entry: 2 for a map, else 1.
    :returns: None if there are no such bytes, or if an element is null, which servers refuse.
    """
    if len(data) < 4:
        return None
    parts = []
    offset = 4
    for _ in range(_int32_at(data)[0] * parts_per_entry):
        size = _int32_at(data, offset)[0]
        if size < 0:
            return None
        offset += 4
        parts.append(data[offset : offset + size])
        offset += size
    return parts


def _join(parts: Sequence[bytes], parts_per_entry: int = 1) -> bytes:
    """Return the bytes of a collection; the reverse of `_split`."""
    pieces = [_pack_int32(len(parts) // parts_per_entry)]
    for part in parts:
        pieces += (_pack_int32(len(part)), part)
    return b"".join(pieces)
