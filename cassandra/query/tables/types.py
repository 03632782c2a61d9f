"""Functions for CQL types and scalar values that are used for the tables of all libraries."""

from __future__ import annotations

import decimal
import uuid
from collections.abc import Callable, Iterable
from functools import lru_cache
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

    A dict cannot hold keys that are not hashable, such as maps. It also cannot hold both of the
    float keys 0.0 and -0.0, which CQL distinguishes.
    """

    __slots__ = ()

    def items(self) -> list[tuple[Any, Any]]:
        """Return the pairs, as a mapping does."""
        return self


def dtype_kind(value: Any) -> str:
    """Return the kind of the type of a value of NumPy or pandas, such as "M"; "" for others."""
    kind: str = getattr(getattr(value, "dtype", None), "kind", "")
    return kind


def bare(cqltype: CqlType) -> CqlType:
    """Return `cqltype` without its wrappers ``frozen`` and ``reversed``."""
    inner = cqltype
    while issubclass(inner, _Wrapper):
        inner = inner.subtypes[0]
    return inner


def kind_of(cqltype: CqlType) -> str:
    """Return the kind of `cqltype`: a string by which functions for scalar values are looked up.

    This is the kind of the type's layout (`cassandra.protocol.columnar.layouts`), with three
    exceptions: "uuid", "timestamp", and "opaque" for a type that tables contain as serialized
    bytes.

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
    # An application's subclass may override the serialization, and may then accept other Python
    # values than its base class. Such a subclass does not count as a container.
    if cqltype._overridden():
        return None
    return next((base for base in _CONTAINERS if issubclass(cqltype, base)), None)


_CONTAINERS = (ListType, SetType, VectorType, MapType, UserType, TupleType)


def map_maker(key: CqlType) -> Callable[[Iterable[Any]], Any]:
    """Return a function that converts pairs, whose keys have the CQL type `key`, to a map."""
    key = bare(key)
    is_plain = container_of(key) is None and key.codec().cql_name not in ("float", "double")
    return _dict_of_pairs if is_plain else Pairs


def _dict_of_pairs(pairs: Iterable[tuple[Any, Any]]) -> dict[Any, Any]:
    """Return a map as a dict.

    :raises EncodeValueError: for a key that occurs twice, because one of its values would be lost.
    """
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


@lru_cache(maxsize=256)  # for each row of a column of dicts, the names are the same
def positions_in_tuple(names: tuple[Any, ...], width: int) -> tuple[int | None, ...] | None:
    """Return for each field of a CQL tuple the position of the table's field for it.

    Results call the fields of a tuple f0, f1, ... So fields with such names belong to the fields
    of the tuple in any order. All but f0 may be missing: without it, the names may count from one.

    :param names: the names of the fields in the table.
    :param width: the number of fields of the CQL tuple.
    :returns: None for a field that the table lacks. None in place of the tuple if a name is another
        one: then the fields go by position.
    """
    by_name = {name: position for position, name in enumerate(names)}
    tuple_names = [f"f{index}" for index in range(width)]
    if len(by_name) < len(names) or "f0" not in names or not by_name.keys() <= {*tuple_names}:
        return None
    positions = [by_name.get(name) for name in tuple_names]
    while positions and positions[-1] is None:
        positions.pop()
    return tuple(positions)


def whole_number(value: object) -> object:
    """Return the int that a string or decimal represents.

    Return `value` itself if it does not represent an integer, or if the int would have too many
    digits because of an exponent.
    """
    try:
        number = decimal.Decimal(value)  # type: ignore[arg-type]
        # "1e1000000000" is short, but as an int it would exhaust the memory. So do not convert a
        # number that has more digits than both `_MOST_DIGITS` and the string.
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
    """Return the UUID that 16 bytes represent; any other value is returned unchanged."""
    return uuid.UUID(bytes=value) if isinstance(value, bytes) and len(value) == 16 else value


def reader_of(cqltype: CqlType) -> Convert:
    """Return a function that decodes the bytes of a value of `cqltype`.

    Bytes that are not a valid value of the type are returned unchanged. Binding then refuses them
    with an error that names their position.
    """
    codec = cqltype.codec()

    def read(value: object) -> object:
        """Decode `value` if it is bytes; return it unchanged if it is not bytes or is not valid."""
        if not isinstance(value, bytes):
            return value
        # The codecs limit the number of nulls in the decoded values of one page
        # (`limits.null_cells`). Begin a new page for each cell, so that the limit applies to each
        # cell separately.
        begin_page()
        try:
            return codec.decode_nullable(value)
        except DecodeError:
            return value

    return read
