"""Parses the requests of clients, according to native_protocol_v3, v4 and v5.spec, section 4.1.

Section numbers below refer to native_protocol_v5.spec.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from cassandra.testing.fake.primitives import BodyReader, NotSet, Opcode
from cassandra.testing.wire import WireError

if TYPE_CHECKING:
    from cassandra.testing.fake.connection import ServerConnection

# Flags of an envelope (section 2.4.1.2), then flags of the parameters of a query (section 4.1.4).
TRACING, CUSTOM_PAYLOAD = 0x02, 0x04
_VALUES, _SKIP_METADATA, _PAGE_SIZE, _PAGING_STATE = 0x01, 0x02, 0x04, 0x08
_SERIAL, _TIMESTAMP, _NAMES, _KEYSPACE, _NOW = 0x10, 0x20, 0x40, 0x80, 0x100

Value = bytes | NotSet | None  # a bound value; None for null


class BatchStatement(NamedTuple):
    """One statement of a batch (section 4.1.7).

    `query` is the CQL. `query_id` is the id of a prepared statement; None if the client sent CQL.
    With an id, `query` is the CQL that was prepared; None if the node does not know the id.
    """

    query: str | None
    query_id: bytes | None
    values: list[Value]


class Request:
    """A request as the node received it.

    Fields that a request of its type does not have are None or empty.

    `query` is the CQL. For an EXECUTE, it is the CQL that was prepared; None if the node does not
    know the id. `values` has the bound values: bytes, None for null, or `NOT_SET`. `number` counts
    the requests to all nodes of the cluster in the order of their arrival, from 0.
    """

    # The defaults are class attributes, because most requests only set a few of them.
    query: str | None = None
    query_id: bytes | None = None
    result_metadata_id: bytes | None = None
    values: Sequence[Value] = ()
    names: Sequence[str] = ()
    consistency: int | None = None
    query_flags: int = 0
    page_size: int | None = None
    paging_state: bytes | None = None
    serial_consistency: int | None = None
    timestamp: int | None = None
    keyspace: str | None = None
    now_in_seconds: int | None = None
    custom_payload: Mapping[str, bytes | None] | None = None
    options: Mapping[str, str] = MappingProxyType({})
    event_types: Sequence[str] = ()
    token: bytes | None = None
    batch_type: int | None = None
    statements: Sequence[BatchStatement] = ()
    tablet_version_block: int | None = None
    # Not a part of the request: the custom payload that the response will have, by which ScyllaDB
    # informs the client about a tablet.
    routing_payload: Mapping[str, bytes | None] | None = None

    def __init__(
        self,
        connection: ServerConnection,
        version: int,
        flags: int,
        stream: int,
        opcode: int,
        body: bytes,
        number: int,
    ) -> None:
        self.connection = connection
        self.version = version
        self.flags = flags
        self.stream = stream
        self.opcode = opcode
        self.body = body
        self.number = number

    @property
    def skip_metadata(self) -> bool:
        """True if the client wants a result without column metadata."""
        return bool(self.query_flags & _SKIP_METADATA)

    @property
    def traced(self) -> bool:
        """True if the client wants the request traced."""
        return bool(self.flags & TRACING)

    @property
    def queries(self) -> list[str]:
        """The CQL of the request; for a batch, the CQL of each statement."""
        if self.statements:
            return [statement.query for statement in self.statements if statement.query is not None]
        return [] if self.query is None else [self.query]

    def parse(self) -> None:
        """Parse the body.

        :raises WireError: if the body does not follow the specification.
        """
        parser = _PARSERS.get(self.opcode)
        if parser is None:
            return
        reader = BodyReader(self.body)
        try:
            if self.flags & CUSTOM_PAYLOAD:
                self.custom_payload = reader.bytes_map()
            parser(self, reader)
        except UnicodeDecodeError as error:
            raise WireError(f"a text that is not UTF-8: {error}") from error
        # If bytes are left, the driver has a bug. Raise an error, because a normal response would
        # hide it.
        if not reader.at_end:
            raise WireError(f"{len(reader.rest())} bytes are left after the body of {self!r}")

    def __repr__(self) -> str:
        label = self.query if self.query is not None else self.query_id or ""
        return f"<{Opcode(self.opcode).name} v{self.version} on stream {self.stream}: {label!r}>"


def _startup(request: Request, reader: BodyReader) -> None:
    request.options = reader.string_map()


def _auth_response(request: Request, reader: BodyReader) -> None:
    request.token = reader.blob()


def _register(request: Request, reader: BodyReader) -> None:
    request.event_types = reader.string_list()


def _query(request: Request, reader: BodyReader) -> None:
    request.query = reader.long_string()
    _parameters(request, reader)


def _prepare(request: Request, reader: BodyReader) -> None:
    """Parse the body of a PREPARE."""
    request.query = reader.long_string()
    if request.version >= 5:
        request.query_flags = reader.int32()
        # PREPARE has only this flag. If it is set, a keyspace follows (section 4.1.5).
        if request.query_flags & 0x01:
            request.keyspace = reader.string()


def _execute(request: Request, reader: BodyReader) -> None:
    """Parse the body of an EXECUTE."""
    query_id = request.query_id = reader.short_bytes()
    # Version 5 has the id of the result metadata (section 4.1.6). Earlier versions only have it
    # with an extension of ScyllaDB.
    if request.connection.has_metadata_ids:
        request.result_metadata_id = reader.short_bytes()
    # Look up the prepared CQL, so that a prime (a scripted response) for this CQL matches.
    request.query = request.connection.node.text_of(query_id)
    _parameters(request, reader)
    if request.connection.has_tablet_versions:
        request.tablet_version_block = reader.byte()


def _parameters(request: Request, reader: BodyReader) -> None:
    """Parse the <query_parameters> of QUERY and EXECUTE (section 4.1.4)."""
    request.consistency = reader.short()
    flags = request.query_flags = reader.int32() if request.version >= 5 else reader.byte()
    if not flags:
        return
    if flags & _VALUES:
        # With names, each value follows its name (section 4.1.4).
        if flags & _NAMES:
            pairs = [(reader.string(), reader.value()) for _ in range(reader.short())]
            request.names = [name for name, _ in pairs]
            request.values = [value for _, value in pairs]
        else:
            request.values = [reader.value() for _ in range(reader.short())]
    if flags & _PAGE_SIZE:
        request.page_size = reader.int32()
    if flags & _PAGING_STATE:
        request.paging_state = reader.blob()
    _last_parameters(request, reader, flags)


def _last_parameters(request: Request, reader: BodyReader, flags: int) -> None:
    """Parse the optional last parameters, which QUERY, EXECUTE and BATCH have in common."""
    if flags & _SERIAL:
        request.serial_consistency = reader.short()
    if flags & _TIMESTAMP:
        request.timestamp = reader.long()
    if request.version >= 5:
        # Only check these flags from version 5 on: earlier versions have a single byte of flags,
        # which does not contain these bits.
        if flags & _KEYSPACE:
            request.keyspace = reader.string()
        if flags & _NOW:
            request.now_in_seconds = reader.int32()


def _batch(request: Request, reader: BodyReader) -> None:
    """Parse the body of a BATCH."""
    request.batch_type = reader.byte()
    text_of = request.connection.node.text_of
    statements: list[BatchStatement] = []
    request.statements = statements
    for _ in range(reader.short()):
        # Section 4.1.7: kind 0 is followed by CQL, kind 1 by the id of a prepared statement.
        kind = reader.byte()
        if kind == 0:
            query: str | None = reader.long_string()
            query_id = None
        elif kind == 1:
            query_id = reader.short_bytes()
            query = text_of(query_id)
        else:
            raise WireError(f"a batch's statement of kind {kind}")
        values = [reader.value() for _ in range(reader.short())]
        statements.append(BatchStatement(query, query_id, values))
    request.consistency = reader.short()
    flags = request.query_flags = reader.int32() if request.version >= 5 else reader.byte()
    _last_parameters(request, reader, flags)


# For each opcode, the function that reads the body of a request.
_PARSERS: dict[int, Callable[[Request, BodyReader], None]] = {
    Opcode.STARTUP: _startup,
    Opcode.AUTH_RESPONSE: _auth_response,
    Opcode.REGISTER: _register,
    Opcode.QUERY: _query,
    Opcode.PREPARE: _prepare,
    Opcode.EXECUTE: _execute,
    Opcode.BATCH: _batch,
}
