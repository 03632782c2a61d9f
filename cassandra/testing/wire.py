"""The small part of the native protocol that `probe` needs to check if a node is ready.

This module shares no code with the driver on purpose: otherwise a cluster could seem to be ready
because of a bug in the driver. Section numbers refer to native_protocol_v4.spec. Version 5 differs
in the flags of a QUERY, and in the segments around messages, which `cassandra.testing.fake` writes
and reads.
"""

from __future__ import annotations

import re
import struct
from typing import NamedTuple

# Opcodes (section 2.4).
ERROR, STARTUP, READY, AUTHENTICATE, QUERY, RESULT, AUTH_RESPONSE, AUTH_SUCCESS = (
    0x00,
    0x01,
    0x02,
    0x03,
    0x07,
    0x08,
    0x0F,
    0x10,
)
HEADER_LENGTH = 9  # bytes
FIRST_VERSION, SEGMENTED_VERSION = 4, 5  # versions from 5 on have segments around messages
PROTOCOL_ERROR = 0x000A  # the error code of a refused version, among others (section 9)
_RESPONSE = 0x80  # the bit of a response's version (section 2.1)
# A version in a server's message, such as "5/v5". A beta, "6/v6-beta", must be requested by a flag.
_NAMED_VERSION = re.compile(r"\b(\d+)/v\d+\b(?!-beta)")
_HEADER = struct.Struct(">BBhBi")
_LONGEST_BODY = 256 * 1024 * 1024  # bytes (section 2.5)
_KIND_ROWS = 0x0002  # the kind of a RESULT with rows (section 4.2.5)
# Flags of the metadata of rows, and ids of column types (section 4.2.5.2).
_FLAG_GLOBAL_TABLE, _FLAG_MORE_PAGES, _FLAG_NO_METADATA = 0x0001, 0x0002, 0x0004
_TYPE_CUSTOM, _TYPE_LIST, _TYPE_MAP, _TYPE_SET, _TYPE_UDT, _TYPE_TUPLE = (
    0x0000,
    0x0020,
    0x0021,
    0x0022,
    0x0030,
    0x0031,
)


class WireError(Exception):
    """The node's bytes do not follow the specification."""


class Header(NamedTuple):
    """The header of a message (section 2)."""

    version: int
    flags: int
    stream: int
    opcode: int
    length: int


def encode_frame(opcode: int, body: bytes, stream: int = 0, version: int = FIRST_VERSION) -> bytes:
    """Return the bytes of a request: a header and the body, uncompressed (section 2)."""
    return _HEADER.pack(version, 0, stream, opcode, len(body)) + body


def decode_header(data: bytes, version: int = FIRST_VERSION) -> Header:
    """Parse the nine bytes of a response's header (section 2)."""
    header = Header._make(_HEADER.unpack(data))
    # A node that does not speak this version responds with an ERROR in its own version. Its header,
    # code and message are the same in all versions from 3 on.
    if header.version != version | _RESPONSE and not (
        header.opcode == ERROR and header.version > _RESPONSE | 2
    ):
        raise WireError(
            f"expected a version {version} response, got a first byte of 0x{header.version:02x}"
        )
    if not 0 <= header.length <= _LONGEST_BODY:
        raise WireError(f"a body of {header.length} bytes")
    return header


def _string(text: str) -> bytes:
    data = text.encode()
    return struct.pack(">H", len(data)) + data


def startup_body() -> bytes:
    """Return the body of STARTUP (section 4.1.1), with CQL_VERSION as the only option."""
    return struct.pack(">H", 1) + _string("CQL_VERSION") + _string("3.0.0")


def auth_response_body(username: str, password: str) -> bytes:
    """Return the body of AUTH_RESPONSE (section 4.1.2): [bytes] with SASL PLAIN (RFC 4616)."""
    token = b"\0" + username.encode() + b"\0" + password.encode()
    return struct.pack(">i", len(token)) + token


def query_body(statement: str, consistency: int, version: int = FIRST_VERSION) -> bytes:
    """Return the body of QUERY (section 4.1.4), without any parameters."""
    data = statement.encode()
    # Version 5 has more flags: an [int] instead of a [byte].
    flags = bytes(1 if version < SEGMENTED_VERSION else 4)
    return struct.pack(">i", len(data)) + data + struct.pack(">H", consistency) + flags


def next_version(version: int, message: str) -> int | None:
    """Return the version to try after a node has refused `version`; None if there is none.

    :param message: the node's message, which may name versions that it speaks.
    """
    versions = {SEGMENTED_VERSION, *(int(number) for number in _NAMED_VERSION.findall(message))}
    return min((candidate for candidate in versions if version < candidate < 0x40), default=None)


class Reader:
    """Reads a message body from beginning to end. Reading past the end raises WireError."""

    __slots__ = ("_data", "_position")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._position = 0  # the offset of the next byte to read

    def take(self, count: int) -> bytes:
        """Return the next `count` bytes."""
        end = self._position + count
        # Check the end explicitly: a slice that goes beyond the end would only be shorter.
        if count < 0 or end > len(self._data):
            raise WireError(
                f"{count} bytes wanted at {self._position} of a body of {len(self._data)}"
            )
        data = self._data[self._position : end]
        self._position = end
        return data

    def rest(self) -> bytes:
        """Return all remaining bytes."""
        return self.take(len(self._data) - self._position)

    def short(self) -> int:
        """Read a [short]: an unsigned 16-bit number (section 3)."""
        return int.from_bytes(self.take(2), "big")

    def int32(self) -> int:
        """Read an [int]: a signed 32-bit number (section 3)."""
        return int.from_bytes(self.take(4), "big", signed=True)

    def string(self) -> str:
        """Read a [string]: a [short] with the length, and UTF-8 bytes (section 3)."""
        return self.take(self.short()).decode()

    def blob(self) -> bytes | None:
        """Read [bytes], or return None if they are null (section 3)."""
        length = self.int32()
        return None if length < 0 else self.take(length)

    def skip_type(self) -> None:
        """Skip the [option] that describes a column's type (section 4.2.5.2)."""
        type_code = self.short()
        if type_code == _TYPE_CUSTOM:
            self.string()
        elif type_code in (_TYPE_LIST, _TYPE_SET):
            self.skip_type()
        elif type_code == _TYPE_MAP:
            self.skip_type()
            self.skip_type()
        elif type_code == _TYPE_UDT:
            # A user-defined type has its keyspace, its name, and the (name, type) of each field.
            self.string()
            self.string()
            for _ in range(self.short()):
                self.string()
                self.skip_type()
        elif type_code == _TYPE_TUPLE:
            for _ in range(self.short()):
                self.skip_type()


def decode_error(body: bytes) -> tuple[int, str]:
    """Return (code, message) of an ERROR (section 4.2.1).

    Further fields of the body are ignored.
    """
    reader = Reader(body)
    return reader.int32(), reader.string()


def decode_rows(body: bytes) -> list[dict[str, bytes | None]]:
    """Return the rows of a RESULT (section 4.2.5), each a dict from column name to bytes or None.

    The list is empty if the result is not of the kind Rows.
    """
    reader = Reader(body)
    if reader.int32() != _KIND_ROWS:
        return []
    flags, column_count = reader.int32(), reader.int32()
    if flags & _FLAG_MORE_PAGES:
        reader.blob()  # the paging state
    # We never ask to skip the metadata, and could not decode the rows without it.
    if flags & _FLAG_NO_METADATA:
        raise WireError("a result without metadata, which was not asked for")
    if flags & _FLAG_GLOBAL_TABLE:
        reader.string()  # keyspace
        reader.string()  # table
    column_names = []
    for _ in range(column_count):
        if not flags & _FLAG_GLOBAL_TABLE:
            reader.string()  # keyspace
            reader.string()  # table
        column_names.append(reader.string())
        reader.skip_type()
    return [{name: reader.blob() for name in column_names} for _ in range(reader.int32())]
