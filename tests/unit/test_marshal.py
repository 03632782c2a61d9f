"""Tests of how numbers are packed and unpacked, against given bytes."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given, strategies as st

from cassandra import marshal

# This is an [unsigned vint] according to native_protocol_v5.spec, section 3: the number of leading
# 1 bits in the first byte says how many bytes follow it.
UVINTS = [
    (0, "00"),
    (127, "7f"),
    (128, "8080"),
    (16383, "bfff"),
    (16384, "c04000"),
    ((1 << 21) - 1, "dfffff"),
    (1 << 21, "e0200000"),
    ((1 << 56) - 1, "feffffffffffffff"),
    (1 << 56, "ff0100000000000000"),
    ((1 << 64) - 1, "ffffffffffffffffff"),
]


@pytest.mark.parametrize(("value", "expected"), UVINTS)
def test_unsigned_vints(value: int, expected: str) -> None:
    """Each number must be packed to the expected bytes, and truncated bytes be refused."""
    assert marshal.uvint_pack(value).hex() == expected
    assert marshal.uvint_unpack(bytes.fromhex(expected) + b"rest") == (value, len(expected) // 2)
    for size in range(len(expected) // 2):
        with pytest.raises(ValueError, match="vint"):
            marshal.uvint_unpack(bytes.fromhex(expected)[:size])


@pytest.mark.parametrize("value", [-1, 1 << 64])
def test_unsigned_vints_out_of_range(value: int) -> None:
    """If a number is out of range, the error must name it."""
    with pytest.raises(ValueError, match=str(value)):
        marshal.uvint_pack(value)


def test_zig_zag() -> None:
    """Zigzag encoding must turn small negative numbers into small unsigned numbers."""
    assert [marshal.encode_zig_zag(number) for number in (0, -1, 1, -2, 2)] == [0, 1, 2, 3, 4]
    assert marshal.encode_zig_zag(-(1 << 63)) == (1 << 64) - 1
    assert marshal.decode_zig_zag((1 << 64) - 1) == -(1 << 63)


@given(st.lists(st.integers(-(1 << 63), (1 << 63) - 1)))
def test_vints_there_and_back(values: list[int]) -> None:
    """Numbers must be the same after packing and unpacking."""
    assert marshal.vints_unpack(marshal.vints_pack(values)) == tuple(values)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0, "00"),
        (-1, "ff"),
        (127, "7f"),
        (128, "0080"),
        (-128, "80"),
        (-129, "ff7f"),
        (1 << 64, "010000000000000000"),
    ],
)
def test_varints(value: int, expected: str) -> None:
    """Each number must be packed to the expected bytes, and unpacked from them."""
    assert marshal.varint_pack(value).hex() == expected
    assert marshal.varint_unpack(bytes.fromhex(expected)) == value


def test_fixed_widths() -> None:
    """Numbers of a fixed width must be packed and unpacked in big-endian order.

    The names of some functions say otherwise.
    """
    assert marshal.int64_pack(-2).hex() == "fffffffffffffffe"
    assert marshal.int32_pack(1).hex() == "00000001"
    assert marshal.int16_pack(-1).hex() == "ffff"
    assert marshal.int8_pack(-1).hex() == "ff"
    assert marshal.uint64_unpack(b"\xff" * 8) == (1 << 64) - 1
    assert marshal.uint32_unpack(b"\xff" * 4) == (1 << 32) - 1
    assert marshal.uint32_le_pack(1).hex() == "01000000"
    assert marshal.uint16_pack(0x1234).hex() == "1234"
    assert marshal.uint8_unpack(b"\xff") == 255
    assert marshal.float_pack(1.5).hex() == "3fc00000"
    assert marshal.double_unpack(bytes.fromhex("c000000000000000")) == -2.0
    assert marshal.v3_header_pack(4, 0, -1, 8).hex() == "0400ffff08"
    assert marshal.v3_header_unpack(bytes.fromhex("0400ffff08")) == (4, 0, -1, 8)
    assert marshal.header_unpack(bytes.fromhex("0200ff08")) == (2, 0, -1, 8)
    assert marshal.bit_length(255) == 8
    with pytest.raises(struct.error):
        marshal.int32_unpack(b"123")
