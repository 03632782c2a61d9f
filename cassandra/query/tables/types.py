"""Functions on CQL types and scalar values, for reading tables of any library."""

from __future__ import annotations

import decimal
import uuid
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

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
from cassandra.cqltypes.failures import EncodeValueError
from cassandra.cqltypes.udt import UserType
from cassandra.errors import DecodeError
from cassandra.protocol.columnar.layouts import layout_of

if TYPE_CHECKING:
    from cassandra.cqltypes.base import CassandraType

Convert = Callable[[Any], Any]
CqlType: TypeAlias = "type[CassandraType]"

NANOS = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1000, "ns": 1}  # nanoseconds in each unit
_MOST_DIGITS = 1000  # maximum number of digits of an int that `whole_number` makes from an exponent
DURATION_PARTS = ("months", "days", "nanoseconds")


class Pairs(list[tuple[Any, Any]]):
    """A map as a list of pairs, for keys that a dict cannot hold.

    These are keys that are not hashable, such as maps, and the float keys 0.0 and -0.0: CQL tells
    them apart, but a dict does not.
    """

    __slots__ = ()

    def items(self) -> list[tuple[Any, Any]]:
        """Return the pairs, as a mapping does."""
        return self


def bare(cqltype: CqlType) -> CqlType:
    """Return `cqltype` without its wrappers ``frozen`` and ``reversed``."""
    inner = cqltype
    while issubclass(inner, _Wrapper):
        inner = inner.subtypes[0]
    return inner


def kind_of(cqltype: CqlType) -> str:
    """Return the kind of `cqltype` by which the functions for scalar values are looked up.

    The kind is that of the type's layout (`cassandra.protocol.columnar.layouts`), except "uuid",
    "timestamp", and "opaque" for a type that tables hold as serialized bytes.

    :param cqltype: a type without wrappers, see `bare`.
    """
    layout = layout_of(cqltype)
    if layout.kind == "blob" and cqltype.codec().cql_name != "blob":
        return "opaque"
    if layout.kind == "bytes":
        return "uuid"
    return "timestamp" if layout.format.startswith("ts") else layout.kind


def container_of(cqltype: CqlType) -> CqlType | None:
    """Return the container class that `cqltype` derives from, or None if it is not a container."""
    # A subclass of the application, with its own serialization, may take other Python values than
    # its base class. So it does not count as a container.
    if cqltype._overridden():
        return None
    return next((base for base in _CONTAINERS if issubclass(cqltype, base)), None)


_CONTAINERS = (ListType, SetType, VectorType, MapType, UserType, TupleType)


def map_maker(key: CqlType) -> Callable[[Iterable[Any]], Any]:
    """Return a function that makes a map from pairs whose keys have the type `key`."""
    key = bare(key)
    is_plain = container_of(key) is None and key.codec().cql_name not in ("float", "double")
    return _dict_of_pairs if is_plain else Pairs


def _dict_of_pairs(pairs: Iterable[tuple[Any, Any]]) -> dict[Any, Any]:
    """Return a map as a dict. A key that occurs twice is an error: one value would be lost."""
    pairs = list(pairs)
    result = dict(pairs)
    if len(result) < len(pairs):
        keys = [key for key, _ in pairs]
        duplicate = next(key for key in keys if keys.count(key) > 1)
        raise EncodeValueError(f"a map has the key {duplicate!r} twice")
    return result


def element_of(cqltype: CqlType) -> CqlType:
    """Return the element type of a list, set or vector."""
    element: CqlType = cqltype.subtype if issubclass(cqltype, VectorType) else cqltype.subtypes[0]
    return element


def whole_number(value: object) -> object:
    """Return the int that a string or decimal represents; `value` itself if it is not an
    integer.
    """
    try:
        number = decimal.Decimal(value)  # type: ignore[arg-type]
        # "1e1000000000" is short, but as an int it would fill the memory. So leave numbers with
        # more digits than the limit and than the string itself as they are.
        is_small = number.is_finite() and number.adjusted() <= max(
            _MOST_DIGITS, len(value) if isinstance(value, str) else 0
        )
        is_integer = is_small and number == number.to_integral_value()
    except (decimal.InvalidOperation, ValueError, TypeError):
        return value
    if not is_integer:
        return value
    return coerce.decimal_parts(number.quantize(1, context=WIDE_CONTEXT))[0]


def uuid_of(value: object) -> object:
    """Return the UUID of 16 bytes; `value` itself if it is anything else."""
    return uuid.UUID(bytes=value) if isinstance(value, bytes) and len(value) == 16 else value


def reader_of(cqltype: CqlType) -> Convert:
    """Return a function that decodes the bytes of a value of `cqltype`.

    Bytes that are not a valid value of the type stay as they are: binding refuses them and names
    their position.
    """
    codec = cqltype.codec()

    def read(value: object) -> object:
        """Decode `value` if it is bytes of the type; otherwise return it unchanged."""
        if not isinstance(value, bytes):
            return value
        # The codecs limit how many nulls the values of one page may expand to
        # (`limits.null_cells`). Begin a new page, so that the limit applies to each cell by itself.
        begin_page()
        try:
            return codec.decode_nullable(value)
        except DecodeError:
            return value

    return read
