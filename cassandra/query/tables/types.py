"""What a CQL type wants of a table's values, whatever library the table is of."""

from __future__ import annotations

import decimal
import uuid
from collections.abc import Callable, Iterable
from typing import Any

from cassandra.cqltypes import coerce
from cassandra.cqltypes.codecs.base import begin_page
from cassandra.cqltypes.codecs.big_numbers import WIDE_CONTEXT
from cassandra.cqltypes.containers import (
    ListType,
    MapType,
    SetType,
    TupleType,
    VectorType,
    _Wrapper,
)
from cassandra.cqltypes.udt import UserType
from cassandra.errors import DecodeError
from cassandra.protocol.columnar.layouts import layout_of

__all__ = [
    "DURATION_PARTS", "NANOS", "Convert", "Pairs", "bare", "container_of", "element_of", "kind_of", "map_maker", "reader_of", "uuid_of",
    "whole_number",
]  # fmt: skip

Convert = Callable[[Any], Any]

NANOS = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1000, "ns": 1}
_MOST_DIGITS = 1000
DURATION_PARTS = ("months", "days", "nanoseconds")


class Pairs(list[tuple[Any, Any]]):
    """A map as its pairs, for keys that a dict cannot hold, or takes for equal where CQL does not
    (0.0 and -0.0).
    """

    __slots__ = ()

    def items(self) -> list[tuple[Any, Any]]:
        """The pairs, as of a mapping."""
        return self


def bare(cqltype: Any) -> Any:
    """`cqltype` without frozen and reversed."""
    while issubclass(cqltype, _Wrapper):
        cqltype = cqltype.subtypes[0]
    return cqltype


def kind_of(cqltype: Any) -> str:
    """How values of `cqltype`, which is bare, lie in a column (see
    `cassandra.protocol.columnar.layouts`); "opaque" for bytes that a codec reads.
    """
    layout = layout_of(cqltype)
    if layout.kind == "blob" and cqltype.codec().cql_name != "blob":
        return "opaque"
    if layout.kind == "bytes":
        return "uuid"
    return "timestamp" if layout.format.startswith("ts") else layout.kind


def container_of(cqltype: Any) -> Any:
    """Which of the containers `cqltype` is, or None."""
    if cqltype._overridden():
        return None
    return next((base for base in _CONTAINERS if issubclass(cqltype, base)), None)


_CONTAINERS = (ListType, SetType, VectorType, MapType, UserType, TupleType)


def map_maker(key: Any) -> Callable[[Iterable[Any]], Any]:
    """What makes a map with keys of the type `key` of pairs."""
    key = bare(key)
    is_plain = container_of(key) is None and key.codec().cql_name not in ("float", "double")
    return dict if is_plain else Pairs


def element_of(cqltype: Any) -> Any:
    """The element type of a list, set or vector."""
    return cqltype.subtype if issubclass(cqltype, VectorType) else cqltype.subtypes[0]


def whole_number(value: Any) -> Any:
    """The int that a text spells or a decimal is; `value` itself where there is none."""
    try:
        number = decimal.Decimal(value)
        # An exponent of a billion is a short text, and an int of a billion digits.
        is_near = number.is_finite() and number.adjusted() <= max(
            _MOST_DIGITS, len(value) if isinstance(value, str) else 0
        )
        exact = is_near and number == number.to_integral_value()
    except (decimal.InvalidOperation, ValueError, TypeError):
        return value
    return coerce.decimal_parts(number.quantize(1, context=WIDE_CONTEXT))[0] if exact else value


def uuid_of(value: Any) -> Any:
    """The UUID of 16 bytes; `value` itself where it is none."""
    return uuid.UUID(bytes=value) if isinstance(value, bytes) and len(value) == 16 else value


def reader_of(cqltype: Any) -> Convert:
    """What reads the bytes of a type whose columns are bytes; those that are no value of it stay as
    they are.
    """
    codec = cqltype.codec()

    def read(value: Any) -> Any:
        if not isinstance(value, bytes):
            return value
        begin_page()
        try:
            return codec.decode_nullable(value)
        except DecodeError:
            return value

    return read
