"""Layouts, which describe how the values of a CQL type are stored in an Arrow column.

A layout is a tree with a node for the column's type and a node for each type inside it. Each node
says which Arrow type the column has (as a format string of Arrow's C data interface), and which
builder decodes the values. A layout depends only on the CQL type and the options, never on values.
So all pages of a result have the same Arrow schema. The builders in
`cassandra.protocol.columnar.column_buffers`, or in the compiled version of that module, make a tree
of `ColumnArray` for a layout.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, Protocol

from cassandra._proxies import is_own
from cassandra.cqltypes.base import CassandraType, _CassandraType
from cassandra.cqltypes.codecs.big_numbers import check_size
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

CqlType = type[CassandraType]


class ColumnOptions(NamedTuple):
    """Options for the Arrow types of decimals, varints and durations.

    :param decimals: "text" for strings, or (precision, scale) for Arrow decimals. These have 128
        bits up to precision 38, and 256 bits up to precision 76. A value that does not fit exactly
        raises `DecodeError`.
    :param varints: "text" for strings, or "int64". With "int64", a value of more than 64 bits
        raises `DecodeError`.
    :param durations: "interval" for Arrow's month_day_nano, or "struct" for a struct of months,
        days and nanoseconds.
    """

    decimals: Literal["text"] | tuple[int, int] = "text"
    varints: Literal["text", "int64"] = "text"
    durations: Literal["interval", "struct"] = "interval"

    def checked(self) -> ColumnOptions:
        """Validate the options, and return them with `decimals` as a tuple of two ints.

        :raises ValueError: if an option has an unknown value.
        """
        # Check `decimals`: "text", or a valid precision and scale.
        if self.decimals != "text":
            if not isinstance(self.decimals, (tuple, list)) or len(self.decimals) != 2:
                raise ValueError(f"decimals is 'text' or (precision, scale), not {self.decimals!r}")
            precision, scale = self.decimals
            if (
                not (isinstance(precision, int) and isinstance(scale, int))
                or not 1 <= precision <= 76
            ):
                raise ValueError(
                    f"decimals has a precision of 1 to 76 and a scale, not {self.decimals!r}"
                )
            if not -precision <= scale <= precision:
                raise ValueError(
                    f"decimals has a scale of -{precision} to {precision}, not {scale}"
                )
        # Check the other options.
        if self.varints not in ("text", "int64"):
            raise ValueError(f"varints is 'text' or 'int64', not {self.varints!r}")
        if self.durations not in ("interval", "struct"):
            raise ValueError(f"durations is 'interval' or 'struct', not {self.durations!r}")
        # A list of two numbers is allowed for `decimals`, but the options must be hashable: use a
        # tuple.
        decimals = (
            self.decimals
            if self.decimals == "text"
            else (int(self.decimals[0]), int(self.decimals[1]))
        )
        return self._replace(decimals=decimals)


DEFAULT_OPTIONS = ColumnOptions()


class Layout(NamedTuple):
    """How the values of one CQL type are stored in a column.

    :param kind: the builder in `cassandra.protocol.columnar.column_buffers` that decodes the
        values.
    :param cql_name: the CQL type, for error messages.
    :param format: the Arrow type, as a format string of the C data interface.
    :param width: the size of a value in the column in bytes, or 0 if the size varies.
    :param wire_size: the encoded size of a value in bytes, if all values of the type have the same
        size; else -1. In a vector, values of a fixed size are not preceded by a length.
    :param empty_is_value: True if zero bytes are a valid value, False if they become a null.
    :param dimension: the dimension of a vector.
    :param names: the names of the children.
    :param children: the layouts of the types inside this type.
    :param decimal: (precision, scale) of an Arrow decimal.
    :param extension: the name of an Arrow extension type, or "".
    :param nullable: False if the column cannot have nulls, like the keys of a map.
    """

    kind: str
    cql_name: str
    format: str
    width: int = 0
    wire_size: int = -1
    empty_is_value: bool = False
    dimension: int = 0
    names: tuple[str, ...] = ()
    children: tuple[Any, ...] = ()
    decimal: tuple[int, int] = (0, 0)
    extension: str = ""
    nullable: bool = True


class ColumnArray(NamedTuple):
    """A column of values: an Arrow array; immutable.

    It must not change: other libraries read the buffers, and rely on the lengths that it states.

    :param layout: how the values are stored.
    :param length: the number of values, nulls included.
    :param null_count: the number of nulls.
    :param buffers: objects with the buffer protocol, in the order that Arrow's columnar format
        defines for the layout. The first buffer is the validity bitmap, or None if there are no
        nulls. If the layout's kind is "object", `buffers` only holds the list of Python objects.
    :param children: the columns of the types inside this type.
    """

    layout: Layout
    length: int
    null_count: int
    buffers: tuple[Any, ...]
    children: tuple[Any, ...]


class PagePlan(Protocol):
    """Decodes pages of rows into columns: a `ColumnPlan`, or the `DecryptedPages` around one."""

    @property
    def layout(self) -> Layout:
        """The layout of the struct whose children are the columns."""

    def read(self, body: bytes, offset: int, row_count: int) -> ColumnArray:
        """Decode the `row_count` rows at `offset`: see `ColumnPlan.read`."""


# The children of a duration that is stored as a struct: months, days and nanoseconds.
_DURATION_PARTS = (
    Layout("part", "int", "i", 4),
    Layout("part", "int", "i", 4),
    Layout("part", "bigint", "l", 8),
)


def layout_of(cqltype: CqlType, options: ColumnOptions = DEFAULT_OPTIONS) -> Layout:
    """Return the layout of columns of `cqltype`, a class of `cassandra.cqltypes`.

    If we do not know how values of the type are encoded, the column is a binary column with the
    bytes of the values. This applies to custom types, composites, and classes that override the
    serialization methods.
    """
    # Frozen and reversed types have the layout of the type that they wrap.
    while issubclass(cqltype, _Wrapper):
        cqltype = cqltype.subtypes[0]
    codec = cqltype.codec()
    common: dict[str, Any] = {
        "cql_name": codec.cql_name,
        "wire_size": codec.fixed_size,
        "empty_is_value": bool(codec.empty_is_value),
    }
    if not cqltype._overridden():
        for base, layout_of_container in _CONTAINERS:
            if issubclass(cqltype, base):
                return layout_of_container(cqltype, options, common)
        # A class that inherits `_build` from `_CassandraType` is a scalar type: its codec only
        # depends on `_factory`.
        if is_own(cqltype._build, _CassandraType.__dict__["_build"].__func__):
            return _layout_of_scalar(cqltype, options, common)
    return Layout("blob", format="z", **common)


def object_layout(cqltype: CqlType) -> Layout:
    """Return the layout of a column of Python objects, the same objects as in rows."""
    return Layout("object", cqltype.codec().cql_name, "")


def row_layout(names: Sequence[str], layouts: Sequence[Layout]) -> Layout:
    """Return the layout of whole rows: a struct whose children are the columns."""
    return Layout(
        "struct", "row", "+s", names=tuple(names), children=tuple(layouts), nullable=False
    )


def _layout_of_scalar(cqltype: CqlType, options: ColumnOptions, common: dict[str, Any]) -> Layout:
    """Return the layout of a type without subtypes.

    :param common: the fields of `Layout` that do not depend on the kind of the type.
    """
    kind, arrow_format, width = cqltype._column
    if kind == "decimal" and options.decimals != "text":
        precision, scale = options.decimals
        needs_256_bits = precision > 38  # 128 bits hold 38 digits
        return Layout(
            "decimal_fixed",
            format=f"d:{precision},{scale},256" if needs_256_bits else f"d:{precision},{scale}",
            width=32 if needs_256_bits else 16,
            decimal=(precision, scale),
            **common,
        )
    if kind == "varint" and options.varints == "int64":
        return Layout("varint64", format="l", width=8, **common)
    if kind == "duration" and options.durations == "struct":
        return Layout(
            "duration_parts",
            format="+s",
            names=("months", "days", "nanoseconds"),
            children=_DURATION_PARTS,
            **common,
        )
    extension = "arrow.uuid" if kind == "bytes" else ""
    return Layout(kind, format=arrow_format, width=width, extension=extension, **common)


def _layout_of_list(cqltype: CqlType, options: ColumnOptions, common: dict[str, Any]) -> Layout:
    """Return the layout of a list or set.

    :param common: the fields of `Layout` that do not depend on the kind of the type.
    """
    return Layout(
        "list",
        format="+l",
        names=("item",),
        children=(layout_of(cqltype.subtypes[0], options),),
        **common,
    )


def _layout_of_map(cqltype: CqlType, options: ColumnOptions, common: dict[str, Any]) -> Layout:
    """Return the layout of a map: in Arrow, a list of (key, value) structs.

    :param common: the fields of `Layout` that do not depend on the kind of the type.
    """
    key, value = (layout_of(subtype, options) for subtype in cqltype.subtypes)
    entries = Layout(
        "entries",
        "entries",
        "+s",
        names=("key", "value"),
        children=(key._replace(nullable=False), value),  # Arrow requires keys that are not null
        nullable=False,
    )
    return Layout("map", format="+m", names=("entries",), children=(entries,), **common)


def _layout_of_struct(cqltype: CqlType, options: ColumnOptions, common: dict[str, Any]) -> Layout:
    fields = tuple(layout_of(subtype, options) for subtype in cqltype.subtypes)
    names = tuple(cqltype.fieldnames or ()) if issubclass(cqltype, UserType) else ()
    names = names or tuple(f"f{index}" for index in range(len(fields)))
    return Layout("struct", format="+s", names=names, children=fields, **common)


def _layout_of_vector(
    cqltype: type[VectorType], options: ColumnOptions, common: dict[str, Any]
) -> Layout:
    """Return the layout of a vector: in Arrow, a list of a fixed size.

    :param common: the fields of `Layout` that do not depend on the kind of the type.
    """
    dimension = cqltype.vector_size
    return Layout(
        "vector",
        format=f"+w:{dimension}",
        dimension=dimension,
        names=("item",),
        children=(layout_of(cqltype.subtype, options),),
        **common,
    )


# The functions that return the layouts of types with subtypes, by the base class of the type.
_CONTAINERS: tuple[tuple[type[Any], Callable[..., Layout]], ...] = (
    (ListType, _layout_of_list),
    (SetType, _layout_of_list),
    (MapType, _layout_of_map),
    (TupleType, _layout_of_struct),
    (VectorType, _layout_of_vector),
)

# The maximum size of a buffer in bytes, because Arrow's offsets are signed 32-bit numbers. A page
# of the protocol is never longer, so only nulls in a column of huge vectors can exceed the limit.
COLUMN_LIMIT = (1 << 31) - 1


def too_large(layout: Layout) -> DecodeError:
    """Return the error for a column whose page does not fit Arrow's 32-bit offsets."""
    return DecodeError(
        f"{layout.cql_name}: the page takes more than {COLUMN_LIMIT} bytes as a column"
    )


def fixed_decimal(data: bytes, layout: Layout) -> bytes:
    """Convert an encoded decimal to an Arrow decimal: an integer in the machine's byte order.

    :param data: the encoded value: an [int] scale, and the unscaled number.
    :param layout: gives the precision, scale and width of the Arrow decimal.
    :raises DecodeError: if the value cannot be represented exactly.
    """
    precision, scale = layout.decimal
    unscaled = int.from_bytes(data[4:], "big", signed=True)
    # The number of zeros to append to the unscaled number, so that it has the scale of the Arrow
    # type. If negative, the number of digits to remove.
    missing_digits = scale - int.from_bytes(data[:4], "big", signed=True)
    remainder = 0
    if unscaled and missing_digits > 0:
        # The server's scale may be huge, and 10**missing_digits could exhaust the memory. It is
        # enough to multiply by 10**precision: then the number is already too large.
        unscaled *= 10 ** min(missing_digits, precision)
    elif unscaled and missing_digits < 0:
        # The division below must leave no remainder. But its power of ten may be huge, so first
        # detect most failures without it. A multiple of 10**n ends with at least n zero bits. The
        # size in bits tells whether the quotient would have no digits, or more digits than the
        # precision. A decimal digit has log2(10) = 3.322 bits.
        excess_digits = -missing_digits
        zero_bits = (unscaled & -unscaled).bit_length() - 1
        least_bits, most_bits = excess_digits * 3.32, (precision + excess_digits) * 3.33 + 1
        if zero_bits < excess_digits or not least_bits < unscaled.bit_length() < most_bits:
            raise _inexact(layout)
        size_error = check_size(len(data) - 4)  # 4 bytes are the scale
        if size_error:
            raise DecodeError(size_error)
        unscaled, remainder = divmod(unscaled, 10**excess_digits)
    if remainder or abs(unscaled) >= 10**precision:
        raise _inexact(layout)
    return unscaled.to_bytes(layout.width, sys.byteorder, signed=True)


def _inexact(layout: Layout) -> DecodeError:
    precision, scale = layout.decimal
    return DecodeError(f"the value does not fit decimal({precision}, {scale}) without loss")


def fixed_varint(data: bytes) -> int:
    """Decode a varint; raise `DecodeError` if it needs more than 64 bits."""
    number = int.from_bytes(data, "big", signed=True)
    if not -(1 << 63) <= number < 1 << 63:
        raise DecodeError("the value does not fit 64 bits")
    return number
