"""Packs and unpacks the numbers of the protocol: big-endian integers, floats, vints, varints."""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import Any

__all__ = [
    "bit_length", "decode_zig_zag", "double_pack", "double_unpack", "encode_zig_zag", "float_pack",
    "float_unpack", "header_pack", "header_unpack", "int8_pack", "int8_unpack", "int16_pack",
    "int16_unpack", "int32_pack", "int32_unpack", "int64_pack", "int64_unpack", "uint8_pack",
    "uint8_unpack", "uint16_pack", "uint16_unpack", "uint32_le_pack", "uint32_le_unpack",
    "uint32_pack", "uint32_unpack", "uint64_pack", "uint64_unpack", "uvint_pack", "uvint_unpack",
    "v3_header_pack", "v3_header_unpack", "varint_pack", "varint_unpack", "vints_pack",
    "vints_unpack",
]  # fmt: skip


def _maker(form: str) -> tuple[Any, Any]:
    """Return the functions that pack and unpack one number in a format of `struct`."""
    packer = Struct(form)
    unpack = packer.unpack

    def unpack_one(s: bytes) -> float:
        """Return the number in `s`. Raise struct.error if `s` has the wrong number of bytes.

        :param s: the bytes of one number.
        """
        number: float = unpack(s)[0]
        return number

    return packer.pack, unpack_one


int64_pack, int64_unpack = _maker(">q")
int32_pack, int32_unpack = _maker(">i")
int16_pack, int16_unpack = _maker(">h")
int8_pack, int8_unpack = _maker(">b")
uint64_pack, uint64_unpack = _maker(">Q")
uint32_pack, uint32_unpack = _maker(">I")
uint32_le_pack, uint32_le_unpack = _maker("<I")
uint16_pack, uint16_unpack = _maker(">H")
uint8_pack, uint8_unpack = _maker(">B")
float_pack, float_unpack = _maker(">f")
double_pack, double_unpack = _maker(">d")

# The first four fields of a frame header: version, flags, stream and opcode. The stream has one
# byte up to protocol version 2 (`_header`), and two bytes since version 3 (`_v3_header`).
_header = Struct(">BBbB")
_v3_header = Struct(">BBhB")
header_pack = _header.pack
header_unpack = _header.unpack
v3_header_pack = _v3_header.pack
v3_header_unpack = _v3_header.unpack


def varint_unpack(term: bytes) -> int:
    """Return the integer of a big-endian two's complement.

    :param term: any number of bytes. Empty bytes are 0.
    """
    return int.from_bytes(term, "big", signed=True)


def bit_length(n: int) -> int:
    """Return the number of bits of abs(`n`).

    :param n: any integer.
    """
    return int.bit_length(n)


def varint_pack(big: int) -> bytes:
    """Return the shortest two's complement of `big` (native_protocol_v5.spec 5.24).

    :param big: any integer.
    """
    magnitude = big if big >= 0 else ~big
    return big.to_bytes((magnitude.bit_length() >> 3) + 1, "big", signed=True)


def encode_zig_zag(n: int) -> int:
    """Map 0, -1, 1, -2 ... to 0, 1, 2, 3 ...: small magnitudes become small numbers.

    :param n: any integer.
    """
    return n << 1 if n >= 0 else (~n << 1) | 1


def decode_zig_zag(n: int) -> int:
    """Return the inverse of `encode_zig_zag`.

    :param n: 0 or more.
    """
    return (n >> 1) ^ -(n & 1)


def uvint_pack(val: int) -> bytes:
    """Return the [unsigned vint] of 0 <= `val` < 2**64 (native_protocol_v5.spec 3).

    The number of leading one bits in the first byte is the number of bytes that follow.

    :param val: the number.
    :raises ValueError: if `val` is out of this range.
    """
    # Numbers of at most seven bits fit into the first byte.
    if val < 0x80:
        if val < 0:
            raise ValueError(f"{val} is negative; an unsigned vint is not")
        return bytes((val,))
    bit_count = val.bit_length()
    # The format has at most nine bytes, which can carry 64 bits.
    if bit_count > 64:
        raise ValueError(f"{val} does not fit the 64 bits of a vint")
    # n bytes carry 7n bits of the number, except that 9 bytes carry 64 bits.
    following_bytes = min((bit_count - 1) // 7, 8)
    # The first byte begins with as many one bits as bytes follow.
    leading_ones = (0xFF00 >> following_bytes) & 0xFF
    if following_bytes < 8:
        return ((leading_ones << (8 * following_bytes)) | val).to_bytes(following_bytes + 1, "big")
    # With eight leading one bits, the first byte has no bits left for the number.
    return b"\xff" + val.to_bytes(8, "big")


def uvint_unpack(bytes: bytes | memoryview) -> tuple[int, int]:
    """Return (value, number of bytes) of the [unsigned vint] at the start of `bytes`.

    :param bytes: the bytes, which may continue after the number.
    :raises ValueError: if the number is truncated.
    """
    if not len(bytes):
        raise ValueError("a vint takes at least 1 byte, got 0")
    first_byte = bytes[0]
    if first_byte < 0x80:
        return first_byte, 1
    # The number of leading one bits in the first byte is the number of bytes that follow. To count
    # them, count the leading zero bits of the byte's complement.
    following_bytes = 8 - (first_byte ^ 0xFF).bit_length()
    if len(bytes) <= following_bytes:
        raise ValueError(f"a vint of {following_bytes + 1} bytes is cut short after {len(bytes)}")
    value = int.from_bytes(bytes[1 : 1 + following_bytes], "big")
    # The rest of the first byte has the highest bits of the number. With seven or more leading one
    # bits, no bits are left.
    if following_bytes < 7:
        value |= (first_byte & (0x7F >> following_bytes)) << (8 * following_bytes)
    return value, following_bytes + 1


def vints_pack(values: Iterable[int]) -> bytes:
    """Encode signed 64-bit integers as consecutive [vint]s.

    :param values: integers from -(2**63) up to 2**63 - 1.
    :raises ValueError: if a value is out of this range.
    """
    # The zig-zag encoding is done inline, because a call for each value would take longer.
    return b"".join([uvint_pack(n << 1 if n >= 0 else (~n << 1) | 1) for n in values])


def vints_unpack(term: bytes | memoryview) -> tuple[int, ...]:
    """Return all signed [vint]s in `term`.

    :param term: the bytes of the vints, and nothing else.
    :raises ValueError: if the last number is truncated.
    """
    values = []
    offset = 0
    while offset < len(term):
        # Pass at most nine bytes, which is the maximum size of a vint.
        number, size = uvint_unpack(term[offset : offset + 9])
        # Undo the zig-zag encoding, in which the lowest bit is the sign.
        values.append((number >> 1) ^ -(number & 1))
        offset += size
    return tuple(values)
