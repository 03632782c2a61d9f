"""The notations of the native protocol (native_protocol_v5.spec, section 3), read from bytes.

`Cursor` reads a message body in memory. It never reads past the end: if the body is shorter than a
length says, it raises `ProtocolError`, and so it does for text that is not UTF-8.
`cassandra.protocol.fileio` has `read_*` and `write_*` functions over file-like objects, for
programs that build messages.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable
from typing import Any
from uuid import UUID

from cassandra.errors import ProtocolError

uint8_pack = struct.Struct(">B").pack
uint16_pack = struct.Struct(">H").pack
uint32_pack = struct.Struct(">I").pack
uint64_pack = struct.Struct(">Q").pack
int32_pack = struct.Struct(">i").pack
int64_pack = struct.Struct(">q").pack
uint32_le_pack = struct.Struct("<I").pack
# version, flags, stream, opcode (section 2.4.1); with the body's length
v3_header_pack = struct.Struct(">BBhB").pack
header_pack = v3_header_pack
envelope_header = struct.Struct(">BBhBi")

_int32_at = struct.Struct(">i").unpack_from
_uint16_at = struct.Struct(">H").unpack_from
_int64_at = struct.Struct(">q").unpack_from

# [value]s without a body, section 3: null and "not set".
NULL_VALUE = b"\xff\xff\xff\xff"
UNSET_MARK = b"\xff\xff\xff\xfe"


def address_text(raw: bytes) -> str:
    """Return the text form of the 4 or 16 bytes of an IP address."""
    if len(raw) == 4:
        return socket.inet_ntoa(raw)
    if len(raw) == 16:
        return socket.inet_ntop(socket.AF_INET6, raw)
    raise ProtocolError(f"an address of {len(raw)} bytes; it has 4 (IPv4) or 16 (IPv6)")


class Cursor:
    """A position in a body, moved on by each read."""

    __slots__ = ("data", "pos")

    def __init__(self, data: bytes, pos: int = 0) -> None:
        self.data = data
        self.pos = pos

    def take(self, size: int) -> bytes:
        """Return the next `size` bytes; raises `ProtocolError` if the body is shorter."""
        pos = self.pos
        end = pos + size
        if size < 0 or end > len(self.data):
            raise ProtocolError(
                f"{size} bytes are to follow at offset {pos} of a body of {len(self.data)} bytes"
            )
        self.pos = end
        return self.data[pos:end]

    def byte(self) -> int:
        return self.take(1)[0]

    def short(self) -> int:
        pos = self.pos
        self.pos = pos + 2
        try:
            value: int = _uint16_at(self.data, pos)[0]
        except struct.error:
            raise ProtocolError(
                f"a [short] is to follow at offset {pos} of {len(self.data)} bytes"
            ) from None
        return value

    def int32(self) -> int:
        pos = self.pos
        self.pos = pos + 4
        try:
            value: int = _int32_at(self.data, pos)[0]
        except struct.error:
            raise ProtocolError(
                f"an [int] is to follow at offset {pos} of {len(self.data)} bytes"
            ) from None
        return value

    def int64(self) -> int:
        value: int = _int64_at(self.take(8))[0]
        return value

    def uuid(self) -> UUID:
        return UUID(bytes=self.take(16))

    def _text(self, raw: bytes) -> str:
        try:
            return raw.decode()
        except UnicodeDecodeError as error:
            raise ProtocolError(
                f"text that is not UTF-8 before offset {self.pos}: {error}"
            ) from None

    def string(self) -> str:
        return self._text(self.take(self.short()))

    def name(self) -> str:
        """Read a [string] that names a part of the schema.

        Cassandra writes these with one byte for each letter in some messages, whatever the
        specification says; letters beyond Latin-1 are lost then.
        """
        raw = self.take(self.short())
        try:
            return raw.decode()
        except UnicodeDecodeError:
            return raw.decode("latin-1")

    def name_list(self) -> list[str]:
        """Read a [string list] of names, or of types that have names in them."""
        return self._many(self.name)

    def long_string(self) -> str:
        return self._text(self.take(self.int32()))

    def blob(self) -> bytes | None:
        """Read [bytes]: None for a negative length."""
        size = self.int32()
        return None if size < 0 else self.take(size)

    def short_bytes(self) -> bytes:
        return self.take(self.short())

    def _many(self, item: Callable[[], Any]) -> list[Any]:
        # Each item takes two bytes at least: a forged count is refused before memory is reserved.
        count = self.short()
        if count * 2 > len(self.data) - self.pos:
            raise ProtocolError(
                f"{count} items are to follow at offset {self.pos} of {len(self.data)} bytes"
            )
        return [item() for _ in range(count)]

    def string_list(self) -> list[str]:
        return self._many(self.string)

    def string_map(self) -> dict[str, str]:
        return dict(self._many(lambda: (self.string(), self.string())))

    def string_multimap(self) -> dict[str, list[str]]:
        return dict(self._many(lambda: (self.string(), self.string_list())))

    def bytes_map(self) -> dict[str, Any]:
        return dict(self._many(lambda: (self.string(), self.blob())))

    def inet_address(self) -> str:
        return address_text(self.take(self.byte()))

    def inet(self) -> tuple[str, int]:
        address = self.inet_address()
        return address, self.int32()
