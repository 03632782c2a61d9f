"""The order in which servers keep the elements of sets and the entries of maps.

If a server receives a set or map as the value of a column, it sorts the elements. But it keeps the
bytes of tuples, user-defined types and vectors as they are. Cassandra 6.0 also keeps those of
lists, sets and maps inside a column, whose sets and maps earlier versions sort. If a set in a tuple
had another order than in the table, the server would take the two tuples for different values. And
the server computes the token of a partition key from sorted bytes. So before it sends them, the
driver sorts the sets and maps that are inside other types, or in partition keys.

A sort key function takes the bytes of an element, and returns an object by which elements are
compared. The types in `cassandra.cqltypes` choose these functions.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

from cassandra.marshal import uvint_unpack

# A function that takes the bytes of an element, and returns an object by which elements are
# compared.
SortKey: TypeAlias = Callable[[bytes], Any]
_int32_at = struct.Struct(">i").unpack_from
_pack_int32 = struct.Struct(">i").pack
# The first bytes of collections that need no sorting: of no or one element or entry.
_AT_MOST_ONE = (_pack_int32(0), _pack_int32(1))


def of_signed(data: bytes) -> int:
    """Return the sort key of a signed integer."""
    return int.from_bytes(data, "big", signed=True)


def of_floats(data: bytes) -> tuple[bool, int]:
    """Return the sort key of a float: as in Java, -0.0 is before 0.0, and NaN comes last."""
    (number,) = struct.unpack(">f" if len(data) == 4 else ">d", data)
    bits = of_signed(data)
    if math.isnan(number):
        return True, 0
    # The more negative a number is, the greater are its bits without the sign.
    return False, bits if bits >= 0 else -1 - (bits & ((1 << (8 * len(data) - 1)) - 1))


def of_uuids(data: bytes) -> tuple[int, int, bytes]:
    """Return the sort key of a UUID: its version, its time (only for version 1), its bytes."""
    high_half = int.from_bytes(data[:8], "big")
    version = high_half >> 12 & 0xF
    return version, _time_of(high_half) if version == 1 else high_half, data[8:]


def of_timeuuids(data: bytes) -> tuple[int, bytes]:
    """Return the sort key of a timeuuid: its time, then its last eight bytes as signed numbers."""
    return _time_of(int.from_bytes(data[:8], "big")), bytes(byte ^ 0x80 for byte in data[8:])


def _time_of(high_half: int) -> int:
    """Return the time in the first eight bytes of a UUID, where its lowest part comes first."""
    return (high_half & 0xFFFF) << 48 | (high_half >> 16 & 0xFFFF) << 32 | high_half >> 32


def of_elements(key: SortKey) -> SortKey:
    """Return the sort key function of lists and sets: they are compared element by element.

    If one is the beginning of the other, the shorter one comes first.

    :param key: the sort key function of the elements.
    """
    return lambda data: [_key_of(key, element) for element in _split(data) or ()]


def of_entries(key: SortKey, value: SortKey) -> SortKey:
    """Return the sort key function of maps: by first keys, then by their values, and so on.

    :param key: the sort key function of the keys.
    :param value: the sort key function of the values.
    """

    def sort_key(data: bytes) -> list[Any]:
        parts = _split(data, 2) or []
        return [_key_of(key if index % 2 == 0 else value, part) for index, part in enumerate(parts)]

    return sort_key


def of_fields(fields: Sequence[SortKey]) -> SortKey:
    """Return the sort key function of tuples and user-defined types: field by field, nulls first.

    :param fields: the sort key function of each field.
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
    """Return the sort key function of vectors: they are compared element by element.

    :param key: the sort key function of the elements.
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


class CollectionOrder:
    """Called with the bytes of a set or map; returns them in the order of servers.

    Of two elements with the same bytes, or two entries with the same key, the last one is kept.

    :param key: the sort key function of the elements, or of the keys of a map.
    :param is_map: True for a map.
    """

    __slots__ = ("is_map", "key")

    def __init__(self, key: SortKey, is_map: bool = False) -> None:
        self.key = key
        self.is_map = is_map

    def __call__(self, data: bytes) -> bytes:
        parts_per_entry = 2 if self.is_map else 1
        parts = None if data[:4] in _AT_MOST_ONE else _split(data, parts_per_entry)
        if parts is None:
            return data
        if not self.is_map:
            return _join(_sorted(self.key, dict.fromkeys(parts)))
        entries = dict(zip(parts[::2], parts[1::2], strict=True))
        ordered = _sorted(self.key, entries)
        return _join([part for name in ordered for part in (name, entries[name])], 2)


def _sorted(key: SortKey, parts: Mapping[bytes, object]) -> list[bytes]:
    """Return the elements of a set, or the keys of a map, in the order of servers.

    :param key: sorts the elements.
    :param parts: has the elements as its keys.
    """
    # Sort without Python functions where possible: user-defined types often have sets and maps.
    if key is bytes:  # b"" is the least of all bytes
        return sorted(parts)
    return sorted(parts, key=partial(_key_of, key) if b"" in parts else key)


def _key_of(key: SortKey, data: bytes) -> tuple[Any, ...]:
    """Return the sort key of a value. A value of zero bytes comes first, whatever its type is."""
    return (key(data),) if data else ()


def _split(data: bytes, parts_per_entry: int = 1) -> list[bytes] | None:
    """Return the bytes of the elements of a list or set, or the keys and values of a map.

    :param data: the bytes of the collection.
    :param parts_per_entry: 2 for a map, else 1.
    :returns: None if `data` is too short for a count, or if an element is null, which servers
        refuse.
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
    pieces = [_pack_int32(len(part)) + part for part in parts]
    return _pack_int32(len(parts) // parts_per_entry) + b"".join(pieces)
