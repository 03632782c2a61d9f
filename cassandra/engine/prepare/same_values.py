"""Checks that a value which was encoded for one CQL type means the same as bytes of another type.

Encoders are lenient: they take 2 for a boolean, and 0.1 for a float, which rounds it. An
application that binds such a value can see what it does. But values that are bound again because a
table was created again must not be altered without the application's knowledge.
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Sequence
from typing import Any

from cassandra.cqltypes.containers import (
    FrozenType,
    ListType,
    MapType,
    ReversedType,
    SetType,
    TupleType,
    VectorType,
)
from cassandra.cqltypes.scalars import BytesType
from cassandra.cqltypes.udt import UserType

# The family of each scalar type, by the name of the function that makes its codec. Only values of
# types of the same family can be equal.
_NUMBERS = dict.fromkeys(
    ("int8", "int16", "int32", "int64", "varint", "float32", "float64", "decimal_number"), "number"
)
_TEXTS = dict.fromkeys(("text", "ascii_text", "inet"), "text")
_FAMILIES = {
    **_NUMBERS,
    **_TEXTS,
    **{name: name for name in ("boolean", "uuid", "timestamp", "date", "time", "duration")},
}

# Encoders of these types take different values for the same bytes: a float is rounded, and an
# address may be written in several ways. So only the types on the right, which drop at least as
# much, are known to have the value that the application has bound.
_LOSSY = {"float32": ("float32",), "float64": ("float64", "float32"), "inet": ("inet",)}

# With these types, the elements, keys and values of any collection are read as bytes, without
# decoding them.
_RAW_LIST = ListType.apply_parameters((BytesType,))
_RAW_MAP = MapType.apply_parameters((BytesType, BytesType))


def is_readable_as(old: Any, new: Any) -> bool:
    """Return True if bytes that were encoded as type `old` mean the same value as type `new`."""
    if old is new:
        return True
    if old.cql_parameterized_type() != new.cql_parameterized_type():
        return False
    if issubclass(old, UserType) and issubclass(new, UserType):
        # Also compare the fields: the type may have been dropped and created again with the same
        # name but other fields.
        if tuple(old.fieldnames) != tuple(new.fieldnames)[: len(old.fieldnames)]:
            return False
    elif len(old.subtypes) != len(new.subtypes):
        return False
    return all(map(is_readable_as, old.subtypes, new.subtypes))


def has_same_values(old: Any, new: Any) -> bool:
    """Return True if type `new` can have values that are equal to values of type `old`.

    For example, an int may be a value of double, but not of timestamp: a timestamp is not a number.
    A float is not a value of double: the application may have bound 0.1, which was rounded.
    """
    old, new = _unwrapped(old), _unwrapped(new)
    if is_readable_as(old, new):
        return True
    if issubclass(old, UserType) or issubclass(new, UserType):
        if not (issubclass(old, UserType) and issubclass(new, UserType)):
            return False
        new_types = dict(zip(new.fieldnames, new.subtypes, strict=True))
        return all(
            name in new_types and has_same_values(old_type, new_types[name])
            for name, old_type in zip(old.fieldnames, old.subtypes, strict=True)
        )
    kind = _kind(old)
    if kind is None or kind != _kind(new):
        return False
    if new._factory not in _LOSSY.get(old._factory, (new._factory,)):
        return False
    if kind == "tuple":
        if len(old.subtypes) > len(new.subtypes):
            return False
    elif len(old.subtypes) != len(new.subtypes):
        return False
    return all(map(has_same_values, old.subtypes, new.subtypes))


def is_same_value(old: Any, old_data: bytes | None, new: Any, new_data: bytes | None) -> bool:
    """Return True if both values are exactly equal, with all their parts.

    The sign of zero counts; the number of digits of a decimal does not. A number is never equal to
    a boolean, nor a set to a list.

    :param old: the type of `old_data`, which is the encoded value; None for null.
    :param new: the type of `new_data`; `has_same_values` is true for both types.
    """
    # Null is equal to null only, and zero bytes are equal to zero bytes only.
    if not old_data or not new_data:
        return old_data == new_data
    old, new = _unwrapped(old), _unwrapped(new)
    if old_data == new_data and is_readable_as(old, new):
        return True
    if issubclass(old, UserType):
        return _are_same_fields(old, old_data, new, new_data)
    if issubclass(old, TupleType):
        old_items, new_items = _raw_items(old, old_data), _raw_items(new, new_data)
        added_items = new_items[len(old_items) :]
        return all(item is None for item in added_items) and all(
            map(is_same_value, old.subtypes, old_items, new.subtypes, new_items)
        )
    if issubclass(old, MapType):
        old_pairs, new_pairs = _raw_pairs(old_data), _raw_pairs(new_data)
        return len(old_pairs) == len(new_pairs) and all(
            is_same_value(old_type, old_part, new_type, new_part)
            for old_pair, new_pair in zip(old_pairs, new_pairs, strict=True)
            for old_type, old_part, new_type, new_part in zip(
                old.subtypes, old_pair, new.subtypes, new_pair, strict=True
            )
        )
    if issubclass(old, (ListType, SetType, VectorType)):
        old_items, new_items = _raw_elements(old, old_data), _raw_elements(new, new_data)
        old_type, new_type = old.subtypes[0], new.subtypes[0]
        if issubclass(old, SetType):
            # The new bytes have the elements of the decoded set: sorted, and each once. The
            # application may have bound them in any order. So bring the old bytes into this form,
            # too. If two different elements, such as 0.0 and -0.0, have become a single element,
            # the sets are not equal.
            if len(set(old_items)) != len(new_items):
                return False
            codec = old.codec()
            old_items = _raw_elements(old, codec.encode(codec.decode(old_data)))
        return len(old_items) == len(new_items) and all(
            is_same_value(old_type, old_item, new_type, new_item)
            for old_item, new_item in zip(old_items, new_items, strict=True)
        )
    return _are_equal(old.codec().decode(old_data), new.codec().decode(new_data))


def _are_same_fields(old: Any, old_data: bytes, new: Any, new_data: bytes) -> bool:
    """Return True if fields of the same name are equal, and all other fields are null."""
    old_fields = dict(zip(old.fieldnames, _raw_items(old, old_data), strict=True))
    old_types = dict(zip(old.fieldnames, old.subtypes, strict=True))
    new_fields = zip(new.fieldnames, _raw_items(new, new_data), new.subtypes, strict=True)
    return all(
        is_same_value(old_types[name], old_fields[name], new_type, new_field)
        if name in old_fields
        else new_field is None
        for name, new_field, new_type in new_fields
    )


def _are_equal(old: Any, new: Any) -> bool:
    """Return True if two decoded scalars are exactly equal."""
    if type(old) in (int, float, decimal.Decimal) and type(new) in (int, float, decimal.Decimal):
        if old != old or new != new:  # NaN is the only value that is not equal to itself
            return bool(old != old and new != new)
        # Python compares numbers of these classes exactly, except for the sign of zero.
        return bool(old == new) and (old != 0 or math.copysign(1, old) == math.copysign(1, new))
    return type(old) is type(new) and bool(old == new)


def _unwrapped(cql_type: Any) -> Any:
    """Return the type inside of frozen and reversed, which do not change how it is encoded."""
    while issubclass(cql_type, (FrozenType, ReversedType)):
        cql_type = cql_type.subtypes[0]
    return cql_type


def _kind(cql_type: Any) -> str | None:
    """Return the kind or family that two types must share to have equal values; None if unknown."""
    # The values of an application's type may be anything.
    if cql_type._overridden():
        return None
    for base, kind in (
        (ListType, "sequence"),
        (VectorType, "sequence"),
        (SetType, "set"),
        (MapType, "map"),
        (TupleType, "tuple"),
    ):
        if issubclass(cql_type, base):
            return kind
    return None if cql_type.subtypes else _FAMILIES.get(cql_type._factory)


def _raw_items(cql_type: Any, data: bytes) -> Sequence[bytes | None]:
    """Return the bytes of each field of a tuple or user-defined type."""
    raw_type = TupleType.apply_parameters((BytesType,) * len(cql_type.subtypes))
    items: Sequence[bytes | None] = raw_type.codec().decode(data)
    return items


def _raw_pairs(data: bytes) -> Sequence[tuple[bytes | None, bytes | None]]:
    """Return the bytes of the keys and values of a map, in order."""
    return list(_RAW_MAP.codec().decode(data).items())


def _raw_elements(cql_type: Any, data: bytes) -> Sequence[bytes | None]:
    """Return the bytes of each element of a list, set or vector."""
    elements: Sequence[bytes | None]
    if not issubclass(cql_type, VectorType):
        elements = _RAW_LIST.codec().decode(data)
        return elements
    # The elements of a vector have no lengths if their type has a fixed size.
    width = cql_type.subtype.serial_size()
    if width is not None:
        return [data[start : start + width] for start in range(0, len(data), width)]
    raw_type = VectorType.apply_parameters((BytesType, cql_type.vector_size))
    elements = raw_type.codec().decode(data)
    return elements
