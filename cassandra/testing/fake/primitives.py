"""Encodes and decodes the data types of native_protocol_v5.spec, section 3.

Names in brackets, such as [string], are the names that the specification uses for data types.
"""

from __future__ import annotations

import ipaddress
import struct
from collections.abc import Mapping, Sequence
from enum import IntEnum

from cassandra.testing.wire import Reader, WireError


class Opcode(IntEnum):
    """The types of messages (native_protocol_v5.spec, section 2.4.1.4)."""

    ERROR = 0x00
    STARTUP = 0x01
    READY = 0x02
    AUTHENTICATE = 0x03
    OPTIONS = 0x05
    SUPPORTED = 0x06
    QUERY = 0x07
    RESULT = 0x08
    PREPARE = 0x09
    EXECUTE = 0x0A
    REGISTER = 0x0B
    EVENT = 0x0C
    BATCH = 0x0D
    AUTH_CHALLENGE = 0x0E
    AUTH_RESPONSE = 0x0F
    AUTH_SUCCESS = 0x10


# The opcodes of responses. All other messages are requests. A node rejects a request if it has no
# method `_on_<name>` for it, unless a test has primed an answer.
RESPONSES = frozenset(
    {
        Opcode.ERROR,
        Opcode.READY,
        Opcode.AUTHENTICATE,
        Opcode.SUPPORTED,
        Opcode.RESULT,
        Opcode.EVENT,
        Opcode.AUTH_CHALLENGE,
        Opcode.AUTH_SUCCESS,
    }
)


class NotSet:
    """The type of `NOT_SET`, which stands for an unset value: a [value] of length -2."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "NOT_SET"


NOT_SET = NotSet()  # a bound value that is not set (length -2)

_SHORT = struct.Struct(">H")
_INT = struct.Struct(">i")


class BodyReader(Reader):
    """Reads the body of a request from beginning to end."""

    __slots__ = ()

    def byte(self) -> int:
        """Read a [byte]."""
        return self.take(1)[0]

    def long(self) -> int:
        """Read a [long]: a signed 64-bit number."""
        return int.from_bytes(self.take(8), "big", signed=True)

    def long_string(self) -> str:
        """Read a [long string]: an [int] with the length, and UTF-8 bytes."""
        return self.take(self.int32()).decode()

    def short_bytes(self) -> bytes:
        """Read [short bytes]: a [short] with the length, and bytes."""
        return self.take(self.short())

    def value(self) -> bytes | NotSet | None:
        """Read a [value]: bytes, None for null, or `NOT_SET`."""
        length = self.int32()
        if length >= 0:
            return self.take(length)
        if length == -1:
            return None
        if length == -2:
            return NOT_SET
        # Any other negative length is an error (section 3).
        raise WireError(f"a [value] of length {length}")

    def string_list(self) -> list[str]:
        """Read a [string list]."""
        return [self.string() for _ in range(self.short())]

    def string_map(self) -> dict[str, str]:
        """Read a [string map]."""
        return {self.string(): self.string() for _ in range(self.short())}

    def bytes_map(self) -> dict[str, bytes | None]:
        """Read a [bytes map]."""
        return {self.string(): self.blob() for _ in range(self.short())}

    @property
    def at_end(self) -> bool:
        """True if the whole body was read."""
        return self._position == len(self._data)


def string(text: str) -> bytes:
    """Encode a [string]."""
    data = text.encode()
    return _SHORT.pack(len(data)) + data


def long_string(text: str) -> bytes:
    """Encode a [long string]."""
    return long_bytes(text.encode())


def long_bytes(data: bytes | None) -> bytes:
    """Encode [bytes]; None is null."""
    return b"\xff\xff\xff\xff" if data is None else _INT.pack(len(data)) + data


def short_bytes(data: bytes) -> bytes:
    """Encode [short bytes]."""
    return _SHORT.pack(len(data)) + data


def string_list(items: Sequence[str]) -> bytes:
    """Encode a [string list]."""
    return _SHORT.pack(len(items)) + b"".join(map(string, items))


def string_multimap(items: Mapping[str, Sequence[str]]) -> bytes:
    """Encode a [string multimap]."""
    return _SHORT.pack(len(items)) + b"".join(
        string(key) + string_list(values) for key, values in items.items()
    )


def bytes_map(items: Mapping[str, bytes | None]) -> bytes:
    """Encode a [bytes map]."""
    return _SHORT.pack(len(items)) + b"".join(
        string(key) + long_bytes(value) for key, value in items.items()
    )


def inetaddr(address: str) -> bytes:
    """Encode an [inetaddr]."""
    packed = ipaddress.ip_address(address).packed
    return bytes([len(packed)]) + packed


def inet(address: str, port: int) -> bytes:
    """Encode an [inet]."""
    return inetaddr(address) + _INT.pack(port)


def unsigned_vint(number: int) -> bytes:
    """Encode an [unsigned vint], in one to nine bytes.

    The number of leading 1 bits of the first byte says how many bytes follow it.
    """
    for extra_bytes in range(8):
        if number < 1 << (7 * (extra_bytes + 1)):
            length_bits = 0xFF00 >> extra_bytes & 0xFF  # `extra_bytes` leading 1 bits
            data = number.to_bytes(extra_bytes + 1, "big")
            return bytes([data[0] | length_bits]) + data[1:]
    return b"\xff" + number.to_bytes(8, "big")


def vint(number: int) -> bytes:
    """Encode a [vint]: zig-zag encoding over 64 bits, then an unsigned vint."""
    # Zig-zag encoding maps 0, -1, 1, -2 ... to 0, 1, 2, 3 ..., so that small numbers of both signs
    # are short.
    return unsigned_vint((number << 1) ^ (number >> 63))
