"""Reads the data types of the native protocol (native_protocol_v5.spec, section 3) from bytes.

`Cursor` reads a message's body in memory. It raises `ProtocolError` if a field goes past the end of
the body, or if a string is not valid UTF-8. For applications that build messages,
`cassandra.protocol.fileio` has functions that read and write these types in file-like objects.
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
# `v3_header_pack` packs version, flags, stream and opcode (section 2.4.1 of the specification);
# `envelope_header` also has the length of the body.
v3_header_pack = struct.Struct(">BBhB").pack
header_pack = v3_header_pack
envelope_header = struct.Struct(">BBhBi")

_int32_at = struct.Struct(">i").unpack_from
_uint16_at = struct.Struct(">H").unpack_from
_int64_at = struct.Struct(">q").unpack_from

# The [value]s that have a length but no bytes (section 3): null and "not set".
NULL_VALUE = b"\xff\xff\xff\xff"
UNSET_MARK = b"\xff\xff\xff\xfe"


def address_text(raw: bytes) -> str:
    """Return the 4 or 16 bytes of an IP address as a string, such as "127.0.0.1" or "::1"."""
    if len(raw) == 4:
        return socket.inet_ntoa(raw)
    if len(raw) == 16:
        return socket.inet_ntop(socket.AF_INET6, raw)
    raise ProtocolError(f"an address of {len(raw)} bytes; it has 4 (IPv4) or 16 (IPv6)")


class Cursor:
    """Reads fields from a message's body. Each read moves the position `pos` past the field."""

    __slots__ = ("data", "pos")

    def __init__(self, data: bytes, pos: int = 0) -> None:
        self.data = data
        self.pos = pos

    @property
    def has_more(self) -> bool:
        """True if the body has further bytes."""
        return self.pos < len(self.data)

    def take(self, size: int) -> bytes:
        """Return the next `size` bytes; raise `ProtocolError` if the body is shorter."""
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
        """Read a [short]: an unsigned number of 16 bits."""
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
        """Read an [int]: a signed number of 32 bits."""
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
        """Decode the UTF-8 string that was just read; raise ProtocolError if it is not valid."""
        try:
            return raw.decode()
        except UnicodeDecodeError as error:
            raise ProtocolError(
                f"text that is not UTF-8 before offset {self.pos}: {error}"
            ) from None

    def string(self) -> str:
        return self._text(self.take(self.short()))

    def name(self) -> str:
        """Read a [string] that is the name of a keyspace, table, type, function or the like.

        The specification says that names are UTF-8. But in some messages, Cassandra encodes them as
        Latin-1. (Letters outside Latin-1 are then already lost.) So if the bytes are not UTF-8,
        decode them as Latin-1.
        """
        raw = self.take(self.short())
        try:
            return raw.decode()
        except UnicodeDecodeError:
            return raw.decode("latin-1")

    def name_list(self) -> list[str]:
        """Read a [string list] of names (see `name`), or of types that contain names."""
        return self._read_list(self.name)

    def long_string(self) -> str:
        return self._text(self.take(self.int32()))

    def blob(self) -> bytes | None:
        """Read [bytes]; return None if the length is negative, which means null."""
        size = self.int32()
        return None if size < 0 else self.take(size)

    def short_bytes(self) -> bytes:
        return self.take(self.short())

    def _read_list(self, read_item: Callable[[], Any]) -> list[Any]:
        """Read a [short] count, and that many items with the method `read_item`."""
        # Each item has at least two bytes. Reject an impossible count before we allocate memory.
        count = self.short()
        if count * 2 > len(self.data) - self.pos:
            raise ProtocolError(
                f"{count} items are to follow at offset {self.pos} of {len(self.data)} bytes"
            )
        return [read_item() for _ in range(count)]

    def string_list(self) -> list[str]:
        return self._read_list(self.string)

    def string_map(self) -> dict[str, str]:
        return dict(self._read_list(lambda: (self.string(), self.string())))

    def string_multimap(self) -> dict[str, list[str]]:
        return dict(self._read_list(lambda: (self.string(), self.string_list())))

    def bytes_map(self) -> dict[str, Any]:
        return dict(self._read_list(lambda: (self.string(), self.blob())))

    def inet_address(self) -> str:
        return address_text(self.take(self.byte()))

    def inet(self) -> tuple[str, int]:
        address = self.inet_address()
        return address, self.int32()
