"""Parses the messages that an application and a node exchange. They must not be compressed."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from cassandra.testing.fake.primitives import BodyReader, Opcode, long_bytes, string, string_list
from cassandra.testing.fake.requests import CUSTOM_PAYLOAD, TRACING
from cassandra.testing.fake.segments import SegmentReader
from cassandra.testing.wire import WireError
from cassandra.util.secret_texts import is_about_roles, message_without_secrets, without_secrets

# The header of an envelope: version, flags, stream, opcode and length of the body.
_HEADER = struct.Struct(">BBhBi")
_WARNING = 0x08  # a flag of an envelope
# Kinds of a RESULT (native_protocol_v5.spec, section 4.2.5).
_ROWS, _SET_KEYSPACE, _PREPARED = 2, 3, 4
# Flags of the metadata of rows (section 4.2.5.2).
_GLOBAL_TABLE, _MORE_PAGES, _NO_METADATA, _CHANGED = 0x0001, 0x0002, 0x0004, 0x0008

# A response: its opcode, header flags and body.
Answer = tuple[int, int, bytes]


class Envelope(NamedTuple):
    """A message, from the application or from the node.

    :param version: the protocol version, without the direction bit.
    :param flags: the header flags.
    :param stream: the stream id.
    :param opcode: the type of the message.
    :param body: the body of the message.
    """

    version: int
    flags: int
    stream: int
    opcode: int
    body: bytes


class Sniffer:
    """Splits the bytes that flow in one direction of a connection into messages."""

    def __init__(self) -> None:
        self._segments: SegmentReader | None = None  # extracts envelopes from frames, if it is set
        self._buffer = b""  # the bytes of envelopes that were not returned yet

    @property
    def is_framed(self) -> bool:
        """True if messages are in frames, as in version 5."""
        return self._segments is not None

    def begin_frames(self) -> bytes:
        """Expect frames around all further messages.

        :returns: the bytes that have arrived, but were not parsed yet. If these bytes have frames,
            the caller must pass them to `feed` again.
        """
        self._segments = SegmentReader(compressed=False)
        rest, self._buffer = self._buffer, b""
        return rest

    def feed(self, data: bytes) -> None:
        """Add bytes, in chunks of any size.

        :raises WireError: if a checksum or a length is wrong.
        """
        self._buffer += data if self._segments is None else self._segments.feed(data)

    def next(self) -> Envelope | None:
        """Return the next message; None if no complete message has arrived."""
        if len(self._buffer) < _HEADER.size:
            return None
        version, flags, stream, opcode, length = _HEADER.unpack_from(self._buffer)
        end = _HEADER.size + length
        if length < 0:
            raise WireError(f"an envelope with a body of {length} bytes")
        if len(self._buffer) < end:
            return None
        body = self._buffer[_HEADER.size : end]
        self._buffer = self._buffer[end:]
        # The highest bit of the first byte is not part of the version: it is the direction.
        return Envelope(version & 0x7F, flags, stream, opcode, body)


def bytes_of(envelope: Envelope) -> bytes:
    """Return the bytes of a message from a node, without a frame around it."""
    version, flags, stream, opcode, body = envelope
    return _HEADER.pack(version | 0x80, flags, stream, opcode, len(body)) + body


def read_supported(body: bytes) -> dict[str, list[str]]:
    """Return the options of a SUPPORTED message."""
    reader = BodyReader(body)
    return {reader.string(): reader.string_list() for _ in range(reader.short())}


def supported_body(options: Mapping[str, Sequence[str]]) -> bytes:
    """Return the body of a SUPPORTED message with these options."""
    parts = [len(options).to_bytes(2, "big")]
    for name, values in options.items():
        parts += (string(name), string_list(values))
    return b"".join(parts)


def _skip_prefix(flags: int, reader: BodyReader) -> list[str]:
    """Read the optional fields before a response's content, and return the warnings among them."""
    if flags & TRACING:
        reader.take(16)
    warnings = reader.string_list() if flags & _WARNING else []
    if flags & CUSTOM_PAYLOAD:
        reader.bytes_map()
    return warnings


def result_start(flags: int, body: bytes) -> tuple[int, BodyReader]:
    """Return (kind, reader) for a RESULT. The reader's position is after the kind."""
    reader = BodyReader(body)
    _skip_prefix(flags, reader)
    return reader.int32(), reader


class RowsHead(NamedTuple):
    """The description of rows in a RESULT.

    :param keyspace: the keyspace of the first column.
    :param table: the table of the first column.
    :param columns: the names of the columns.
    :param end: the offset in the body at which the description ends, and the number of rows begins.
    """

    keyspace: str
    table: str
    columns: list[str]
    end: int


def read_rows_head(flags: int, body: bytes, only_keyspace: str | None = None) -> RowsHead | None:
    """Return the description of rows in a RESULT.

    Return None for other results, and for rows without metadata. The driver always requests the
    metadata of rows of system tables.

    :param only_keyspace: if not None, return None for rows of other keyspaces, without parsing
        their columns.
    :raises WireError: if the body ends too early.
    """
    kind, reader = result_start(flags, body)
    if kind != _ROWS:
        return None
    row_flags, count = reader.int32(), reader.int32()
    if row_flags & _MORE_PAGES:
        reader.blob()
    if row_flags & _CHANGED:
        reader.short_bytes()
    if row_flags & _NO_METADATA or not count:
        return None
    keyspace, table = reader.string(), reader.string()
    if only_keyspace not in (None, keyspace):
        return None
    columns = []
    for index in range(count):
        # If the columns have no common table, each column is preceded by its own. The table of the
        # first column was read above.
        if index and not row_flags & _GLOBAL_TABLE:
            reader.string()
            reader.string()
        columns.append(reader.string())
        reader.skip_type()
    return RowsHead(keyspace, table, columns, len(body) - len(reader.rest()))


def with_values(body: bytes, head: RowsHead, new_values: Mapping[str, bytes]) -> bytes:
    """Return the body of a RESULT with other values in its rows.

    :param head: the description of the rows.
    :param new_values: the values to write, by column name.
    """
    reader = BodyReader(body[head.end :])
    count = reader.int32()
    parts = [body[: head.end], count.to_bytes(4, "big")]
    for _ in range(count):
        for column in head.columns:
            value = reader.blob()
            parts.append(long_bytes(new_values.get(column, value)))
    return b"".join(parts)


def answer_without_secrets(answer: Answer, text: str) -> Answer:
    """Return the response to a statement without the statement's secrets.

    A server's errors and warnings may repeat parts of the statement, and a result may have a
    password that the server has generated.

    :param text: the CQL of the statement.
    """
    opcode, flags, body = answer
    if not is_about_roles(text) and without_secrets(text) == text:
        return answer
    reader = BodyReader(body)
    # Replace the passwords in the columns of a result.
    if opcode == Opcode.RESULT:
        head = read_rows_head(flags, body)
        if head is not None:
            passwords = [column for column in head.columns if "password" in column.lower()]
            body = with_values(body, head, dict.fromkeys(passwords, b"***"))
            reader = BodyReader(body)
    # Skip the tracing id, the warnings and the custom payload. The content comes after them.
    warnings = _skip_prefix(flags, reader)
    content = reader.rest()
    prefix = body[: len(body) - len(content)]
    if warnings:
        masked_warnings = [message_without_secrets(warning, text) for warning in warnings]
        # Replace the warnings in the bytes between the tracing id and the custom payload.
        prefix = prefix.replace(string_list(warnings), string_list(masked_warnings), 1)
    # Remove the secrets from the error's message.
    if opcode == Opcode.ERROR:
        reader = BodyReader(content)
        code = reader.take(4)
        content = code + string(message_without_secrets(reader.string(), text)) + reader.rest()
    return opcode, flags, prefix + content


def prepared_id(opcode: int, flags: int, body: bytes) -> bytes | None:
    """Return the statement id in the response to PREPARE; None for any other response."""
    if opcode != Opcode.RESULT:
        return None
    kind, reader = result_start(flags, body)
    return reader.take(reader.short()) if kind == _PREPARED else None


def used_keyspace(opcode: int, flags: int, body: bytes) -> str | None:
    """Return the keyspace in the response to USE; None for any other response."""
    if opcode != Opcode.RESULT:
        return None
    kind, reader = result_start(flags, body)
    return reader.string() if kind == _SET_KEYSPACE else None
