"""Test the Arrow layout of each CQL type's column, and conversions of decimals and varints."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from cassandra import cqltypes as t
from cassandra.errors import DecodeError
from cassandra.protocol.columnar.layouts import (
    COLUMN_LIMIT,
    ColumnOptions,
    Layout,
    fixed_decimal,
    fixed_varint,
    layout_of,
    object_layout,
    row_layout,
    too_large,
)
from tests.unit.cqltypes.samples import ADDRESS, list_of, map_of, set_of, tuple_of, vector_of

# Each entry has a type, the kind of its layout, the format string of Arrow, the bytes of a value in
# a column, the bytes in a vector of the protocol (-1 if variable), and whether an empty cell is a
# value.
SCALARS: list[tuple[Any, str, str, int, int, bool]] = [
    (t.ByteType, "number", "c", 1, -1, False),
    (t.ShortType, "number", "s", 2, -1, False),
    (t.Int32Type, "number", "i", 4, 4, False),
    (t.LongType, "number", "l", 8, 8, False),
    (t.CounterColumnType, "number", "l", 8, 8, False),
    (t.FloatType, "number", "f", 4, 4, False),
    (t.DoubleType, "number", "g", 8, 8, False),
    (t.DateType, "number", "tsm:UTC", 8, 8, False),
    (t.SimpleDateType, "date", "tdD", 4, -1, False),
    (t.TimeType, "time", "ttn", 8, -1, False),
    (t.BooleanType, "boolean", "b", 0, 1, False),
    (t.UUIDType, "bytes", "w:16", 16, 16, False),
    (t.TimeUUIDType, "bytes", "w:16", 16, 16, False),
    (t.UTF8Type, "text", "u", 0, -1, True),
    (t.AsciiType, "ascii", "u", 0, -1, True),
    (t.BytesType, "blob", "z", 0, -1, True),
    (t.InetAddressType, "inet", "u", 0, -1, False),
    (t.DecimalType, "decimal", "u", 0, -1, False),
    (t.IntegerType, "varint", "u", 0, -1, False),
    (t.DurationType, "duration", "tin", 16, -1, False),
]


@pytest.mark.parametrize("case", SCALARS, ids=lambda case: case[0].typename)
def test_scalars(case: tuple[Any, str, str, int, int, bool]) -> None:
    """Each scalar type must have the Arrow format and the widths that SCALARS lists."""
    cqltype, kind, arrow_format, width, wire_size, empty_is_value = case
    layout = layout_of(cqltype)
    assert layout.kind == kind
    assert layout.format == arrow_format
    assert layout.width == width
    assert layout.wire_size == wire_size
    assert layout.empty_is_value is empty_is_value
    assert layout.cql_name == cqltype.codec().cql_name
    assert layout.nullable
    assert layout.children == ()
    assert layout.extension == ("arrow.uuid" if layout.kind == "bytes" else "")


def test_options_choose_another_form() -> None:
    """Options choose other layouts for decimals, varints and durations, also inside containers."""

    def layout_with(cqltype: Any, **options: Any) -> Layout:
        return layout_of(cqltype, ColumnOptions(**options))

    decimal = layout_with(t.DecimalType, decimals=(38, 2))
    assert decimal.kind == "decimal_fixed"
    assert decimal.format == "d:38,2"
    assert decimal.width == 16
    assert decimal.decimal == (38, 2)
    # Arrow's 128-bit decimals have at most 38 digits, so 39 digits need 256 bits.
    wide_decimal = layout_with(t.DecimalType, decimals=(39, 2))
    assert wide_decimal.format == "d:39,2,256"
    assert wide_decimal.width == 32
    assert wide_decimal.decimal == (39, 2)
    varint = layout_with(t.IntegerType, varints="int64")
    assert varint.kind == "varint64"
    assert varint.format == "l"
    assert varint.width == 8
    duration = layout_with(t.DurationType, durations="struct")
    assert duration.kind == "duration_parts"
    assert duration.format == "+s"
    assert duration.names == ("months", "days", "nanoseconds")
    fields = [(field.format, field.width) for field in duration.children]
    assert fields == [("i", 4), ("i", 4), ("l", 8)]
    # Options also apply to the types of elements.
    options = {"varints": "int64"}
    for container in (
        list_of(t.IntegerType),
        set_of(t.IntegerType),
        tuple_of(t.IntegerType),
        vector_of(t.IntegerType, 2),
    ):
        assert layout_with(container, **options).children == (varint,)
    (entries,) = layout_with(map_of(t.IntegerType, t.IntegerType), **options).children
    assert entries.children == (varint._replace(nullable=False), varint)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, ColumnOptions()),
        ({"decimals": [1, -1]}, ColumnOptions((1, -1))),
        ({"decimals": (76, 76)}, ColumnOptions((76, 76))),
        ({"decimals": (True, 0)}, ColumnOptions((1, 0))),
        ({"varints": "int64", "durations": "struct"}, ColumnOptions("text", "int64", "struct")),
    ],
)
def test_good_options(options: dict[str, Any], expected: ColumnOptions) -> None:
    """`checked` must return the options with `decimals` as a tuple of two integers."""
    checked = ColumnOptions(**options).checked()
    assert checked == expected
    if checked.decimals != "text":
        # `decimals` may contain True, which is an int in Python and must become 1.
        assert [type(number) for number in checked.decimals] == [int, int]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"decimals": "float"}, "decimals is 'text' or"),
        ({"decimals": (1, 2, 3)}, "decimals is 'text' or"),
        ({"decimals": 5}, "decimals is 'text' or"),
        ({"decimals": (0, 0)}, "a precision of 1 to 76"),
        ({"decimals": (77, 0)}, "a precision of 1 to 76"),
        ({"decimals": (10, "1")}, "a precision of 1 to 76"),
        ({"decimals": ("10", 1)}, "a precision of 1 to 76"),
        ({"decimals": (10, 11)}, "a scale of -10 to 10, not 11"),
        ({"decimals": (10, -11)}, "a scale of -10 to 10, not -11"),
        ({"varints": "int"}, "varints is 'text' or 'int64', not 'int'"),
        ({"durations": "text"}, "durations is 'interval' or 'struct', not 'text'"),
    ],
)
def test_bad_options(options: dict[str, Any], message: str) -> None:
    """The error for a wrong option must say which values are allowed."""
    with pytest.raises(ValueError, match=message):
        ColumnOptions(**options).checked()


def test_containers() -> None:
    """Lists, sets, maps, tuples and vectors have the layouts of their elements as children."""
    integer, text = layout_of(t.Int32Type), layout_of(t.UTF8Type)
    for container in (list_of(t.Int32Type), set_of(t.Int32Type)):
        layout = layout_of(container)
        assert layout.kind == "list"
        assert layout.format == "+l"
        assert layout.names == ("item",)
        assert layout.children == (integer,)
    # A map is a list of entries, whose keys cannot be null.
    layout = layout_of(map_of(t.UTF8Type, t.Int32Type))
    (entries,) = layout.children
    assert layout.kind == "map"
    assert layout.format == "+m"
    assert layout.names == ("entries",)
    assert entries.format == "+s"
    assert entries.names == ("key", "value")
    assert entries.nullable is False
    assert entries.children == (text._replace(nullable=False), integer)
    layout = layout_of(tuple_of(t.UTF8Type, t.Int32Type))
    assert layout.kind == "struct"
    assert layout.format == "+s"
    assert layout.names == ("f0", "f1")
    assert layout.children == (text, integer)
    assert layout_of(ADDRESS).names == ("street", "zip")
    layout = layout_of(vector_of(t.Int32Type, 3))
    assert layout.kind == "vector"
    assert layout.format == "+w:3"
    assert layout.dimension == 3
    assert layout.names == ("item",)
    assert layout.children == (integer,)


def test_a_row_layout_is_a_struct_that_is_not_nullable() -> None:
    """The layout of a row is a struct that cannot be null, with a child for each column."""
    integer = layout_of(t.Int32Type)
    assert row_layout(["a", "b"], [integer, integer]) == Layout(
        "struct", "row", "+s", names=("a", "b"), children=(integer, integer), nullable=False
    )
    assert object_layout(t.UUIDType) == Layout("object", "uuid", "")


def test_wrapper_types_have_the_layout_of_the_wrapped_type() -> None:
    """A reversed or frozen type has the same layout as the type inside."""
    wrapped = t.lookup_casstype("ReversedType(FrozenType(ListType(Int32Type)))")
    assert layout_of(wrapped) == layout_of(list_of(t.Int32Type))


def test_types_with_overridden_methods_have_the_layout_of_blobs() -> None:
    """Types with overridden methods, and unknown types, have the layout of blobs.

    Their columns have the undecoded bytes of the values.
    """

    class UpperCaseText(t.UTF8Type):
        @classmethod
        def deserialize(cls, byts: bytes, protocol_version: int) -> Any:
            return super().deserialize(byts, protocol_version).upper()

    for cqltype in (UpperCaseText, t.lookup_casstype("com.example.Unknown")):
        assert (layout_of(cqltype).kind, layout_of(cqltype).format) == ("blob", "z")


# -- decimals and varints --------------------------------------------------------------------------


def decimal_of(unscaled: int, scale: int) -> bytes:
    """Return the encoded decimal `unscaled` * 10 ** -`scale`."""
    size = unscaled.bit_length() // 8 + 1
    return scale.to_bytes(4, "big", signed=True) + unscaled.to_bytes(size, "big", signed=True)


@pytest.mark.parametrize(
    ("unscaled", "scale", "number"),
    [
        (12345, 2, 12345),
        (-12345, 2, -12345),
        (1, 0, 100),
        (1, -1, 1000),
        (1230, 3, 123),
        (-1000, 5, -1),
        (0, 1 << 30, 0),
        (0, -(1 << 30), 0),
        (99999, 2, 99999),
        (99999 * 10**20, 22, 99999),
        (10**50, 52, 1),
    ],
)
def test_decimals_that_fit(unscaled: int, scale: int, number: int) -> None:
    """A decimal(5, 2) is stored as its hundredfold, in an integer of 16 bytes."""
    layout = layout_of(t.DecimalType, ColumnOptions((5, 2)))
    encoded = fixed_decimal(decimal_of(unscaled, scale), layout)
    assert encoded == number.to_bytes(16, sys.byteorder, signed=True)


@pytest.mark.parametrize(
    ("unscaled", "scale"),
    [
        (100000, 2),
        (-100000, 2),
        (1, 3),
        (12345, 3),
        (1, -5),
        (1, 1 << 30),
        (1, -(1 << 30)),
        (1 << 4000, 1 << 20),
        (10**60, 52),
    ],
)
def test_decimals_that_do_not_fit(unscaled: int, scale: int) -> None:
    """A decimal(5, 2) refuses numbers of more than five digits or two decimal places."""
    layout = layout_of(t.DecimalType, ColumnOptions((5, 2)))
    with pytest.raises(DecodeError, match=r"does not fit decimal\(5, 2\) without loss"):
        fixed_decimal(decimal_of(unscaled, scale), layout)


def test_wide_decimals() -> None:
    """A decimal of 76 digits must take 32 bytes."""
    layout = layout_of(t.DecimalType, ColumnOptions((76, 0)))
    largest = 10**76 - 1
    encoded = fixed_decimal(decimal_of(largest, scale=0), layout)
    assert encoded == largest.to_bytes(32, sys.byteorder, signed=True)


def test_varints_of_64_bits() -> None:
    """`fixed_varint` accepts the limits of 64 bits, and refuses numbers beyond."""
    for number in (0, -1, 2**63 - 1, -(2**63)):
        assert fixed_varint(number.to_bytes(9, "big", signed=True)) == number
    for number in (2**63, -(2**63) - 1):
        with pytest.raises(DecodeError, match="does not fit 64 bits"):
            fixed_varint(number.to_bytes(9, "big", signed=True))


def test_the_error_of_a_page_that_is_too_large() -> None:
    """The error for a page that is too large for a column names the type and the limit in bytes."""
    error = too_large(layout_of(t.UTF8Type))
    assert isinstance(error, DecodeError)
    assert str(error) == f"text: the page takes more than {COLUMN_LIMIT} bytes as a column"
    assert COLUMN_LIMIT == 2**31 - 1
