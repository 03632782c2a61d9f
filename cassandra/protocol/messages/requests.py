"""QUERY, PREPARE, EXECUTE and BATCH (native_protocol_v5.spec, sections 4.1.4 to 4.1.7).

`cassandra.protocol.bodies`, or the compiled version of that module, encodes the bodies. If an
application's subclass overrides `_write_query_params(f, protocol_version)`, that method writes the
query parameters of its messages.
"""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

from cassandra.errors import UnsupportedOperation
from cassandra.protocol import opcodes
from cassandra.protocol.features import ProtocolFeatures
from cassandra.protocol.messages.base import MessageType, public, register_class
from cassandra.protocol.params import continuous_paging_refused, params_of

if TYPE_CHECKING:
    from cassandra.protocol import bodies
    from cassandra.protocol.params import Values
else:
    from cassandra._impl import bodies


class Numbered(Protocol):
    """An object with the number of a batch type in its attribute `value`, such as a `BatchType`."""

    value: int


class _QueryMessage(MessageType):
    """Base of QUERY and EXECUTE, which both have <query_parameters>.

    :param query_params: the values of the bind markers, or None.
    :param consistency_level: a constant of `ConsistencyLevel`.
    :param serial_consistency_level: SERIAL or LOCAL_SERIAL for lightweight transactions. None uses
        the server's default.
    :param fetch_size: the number of rows in a page. None means no paging.
    :param paging_state: the paging state of the previous page's result. None asks for the first
        page.
    :param timestamp: microseconds since 1970. None uses the server's time.
    :param skip_meta: True asks the server not to send the result's columns.
    :param continuous_paging_options: must be None, because only the DSE protocol versions have it.
    :param keyspace: the keyspace of tables without a keyspace in their name (version 5). None uses
        the connection's keyspace.
    """

    def __init__(
        self,
        query_params: Values,
        consistency_level: int,
        serial_consistency_level: int | None = None,
        fetch_size: int | None = None,
        paging_state: bytes | None = None,
        timestamp: int | None = None,
        skip_meta: bool = False,
        continuous_paging_options: object = None,
        keyspace: str | None = None,
    ) -> None:
        self.query_params = query_params
        self.consistency_level = consistency_level
        self.serial_consistency_level = serial_consistency_level
        self.fetch_size = fetch_size
        self.paging_state = paging_state
        self.timestamp = timestamp
        self.skip_meta = skip_meta
        self.continuous_paging_options = continuous_paging_options
        self.keyspace = keyspace

    # This is not a parameter of the constructor, because applications' subclasses pass the
    # constructor's arguments by position.
    now_in_seconds: int | None = None

    def _write_query_params(self, f: BinaryIO, protocol_version: int) -> None:
        """Write <query_parameters> to `f`. Subclasses may override this."""
        f.write(bodies.query_params_body(params_of(self), protocol_version))

    def _body_by_override(self, head: bytes, protocol_version: int) -> bytes:
        """Return `head`, and the query parameters that the subclass's method writes."""
        target = BytesIO()
        target.write(head)
        self._write_query_params(target, protocol_version)
        return target.getvalue()


public(_QueryMessage)
# The original method. An application may also replace the method in `_QueryMessage`, which counts
# as an override, too.
_stock_write_query_params = _QueryMessage._write_query_params


@public
@register_class
class QueryMessage(_QueryMessage):
    """QUERY: executes a statement that is not prepared.

    :param query: the statement in CQL.
    :param consistency_level: a constant of `ConsistencyLevel`.
    :param serial_consistency_level: SERIAL or LOCAL_SERIAL for lightweight transactions. None uses
        the server's default.
    :param fetch_size: the number of rows in a page. None means no paging.
    :param paging_state: the paging state of the previous page's result. None asks for the first
        page.
    :param timestamp: microseconds since 1970. None uses the server's time.
    :param continuous_paging_options: must be None, because only the DSE protocol versions have it.
    :param keyspace: the keyspace of tables without a keyspace in their name (version 5). None uses
        the connection's keyspace.
    :param query_params: for each bind marker in the statement: bytes, None (null) or UNSET_VALUE.
        None if the statement has no bind markers.
    """

    opcode = opcodes.QUERY
    name = "QUERY"

    def __init__(
        self,
        query: str,
        consistency_level: int,
        serial_consistency_level: int | None = None,
        fetch_size: int | None = None,
        paging_state: bytes | None = None,
        timestamp: int | None = None,
        continuous_paging_options: object = None,
        keyspace: str | None = None,
        query_params: Values = None,
    ) -> None:
        # Do not call the constructor of the base class: each request of a protocol handler creates
        # a message, and the call would take a tenth of the time.
        self.query = query
        self.query_params = query_params
        self.consistency_level = consistency_level
        self.serial_consistency_level = serial_consistency_level
        self.fetch_size = fetch_size
        self.paging_state = paging_state
        self.timestamp = timestamp
        self.skip_meta = False
        self.continuous_paging_options = continuous_paging_options
        self.keyspace = keyspace

    def body(
        self, protocol_version: int, protocol_features: ProtocolFeatures | None = None
    ) -> bytes:
        # An application's subclass may write the query parameters itself.
        if type(self)._write_query_params is not _stock_write_query_params:
            return self._body_by_override(bodies.long_string(self.query), protocol_version)
        if self.continuous_paging_options is not None:
            raise continuous_paging_refused()
        return bodies.query_of_fields(
            self.query,
            self.consistency_level,
            self.query_params,
            self.fetch_size,
            self.paging_state,
            self.serial_consistency_level,
            self.timestamp,
            self.keyspace,
            self.now_in_seconds,
            self.skip_meta,
            protocol_version,
        )


@public
@register_class
class PrepareMessage(MessageType):
    """PREPARE: prepares a statement.

    :param query: the statement in CQL.
    :param keyspace: the keyspace of tables without a keyspace in their name (version 5). None uses
        the connection's keyspace.
    """

    opcode = opcodes.PREPARE
    name = "PREPARE"

    def __init__(self, query: str, keyspace: str | None = None) -> None:
        self.query = query
        self.keyspace = keyspace

    def body(
        self, protocol_version: int, protocol_features: ProtocolFeatures | None = None
    ) -> bytes:
        return bodies.prepare_body(self.query, self.keyspace, protocol_version)


@public
@register_class
class ExecuteMessage(_QueryMessage):
    """EXECUTE: executes a prepared statement.

    :param query_id: the server's id of the statement.
    :param query_params: a `ValuesBlock`; or, for each bind marker, bytes, None (null) or
        UNSET_VALUE.
    :param consistency_level: a constant of `ConsistencyLevel`.
    :param serial_consistency_level: SERIAL or LOCAL_SERIAL for lightweight transactions. None uses
        the server's default.
    :param fetch_size: the number of rows in a page. None means no paging.
    :param paging_state: the paging state of the previous page's result. None asks for the first
        page.
    :param timestamp: microseconds since 1970. None uses the server's time.
    :param skip_meta: True asks the server not to send the result's columns.
    :param continuous_paging_options: must be None, because only the DSE protocol versions have it.
    :param result_metadata_id: the id of the result metadata that the client knows (version 5, or
        ScyllaDB's extension). If it is None or empty, the server sends the metadata.
    :param tablet_version_block: the version of the tablet that the client knows, a byte of
        ScyllaDB's TABLETS_ROUTING_V2. None if the client knows no tablet.
    """

    opcode = opcodes.EXECUTE
    name = "EXECUTE"

    # The extensions of the connection, for handlers that lack the parameter `protocol_features`.
    # `body` then needs them, because the server always requires the fields of the extensions.
    agreed_features: ProtocolFeatures | None = None

    def __init__(
        self,
        query_id: bytes,
        query_params: Values,
        consistency_level: int,
        serial_consistency_level: int | None = None,
        fetch_size: int | None = None,
        paging_state: bytes | None = None,
        timestamp: int | None = None,
        skip_meta: bool = False,
        continuous_paging_options: object = None,
        result_metadata_id: bytes | None = None,
        tablet_version_block: int | None = None,
    ) -> None:
        # The constructor of the base class is not called, for the same reason as in `QueryMessage`.
        self.query_id = query_id
        self.result_metadata_id = result_metadata_id
        self.tablet_version_block = tablet_version_block
        self.query_params = query_params
        self.consistency_level = consistency_level
        self.serial_consistency_level = serial_consistency_level
        self.fetch_size = fetch_size
        self.paging_state = paging_state
        self.timestamp = timestamp
        self.skip_meta = skip_meta
        self.continuous_paging_options = continuous_paging_options
        self.keyspace = None

    def body(
        self, protocol_version: int, protocol_features: ProtocolFeatures | None = None
    ) -> bytes:
        if protocol_features is None:
            protocol_features = self.agreed_features
        metadata_id = version_byte = None
        if protocol_version >= 5 or (
            protocol_features is not None and protocol_features.use_metadata_id
        ):
            # The field is required (native_protocol_v5.spec, section 4.1.6). An empty id matches no
            # metadata, so with it the server sends the metadata with the rows.
            metadata_id = self.result_metadata_id or b""
        if protocol_features is not None and protocol_features.tablets_routing_v2:
            # This extension requires the byte, even if the client does not know a version yet.
            version_byte = self.tablet_version_block or 0
        # An application's subclass may write the query parameters itself.
        if type(self)._write_query_params is not _stock_write_query_params:
            body = self._body_by_override(
                bodies.execute_head(self.query_id, metadata_id), protocol_version
            )
            # The byte comes after the query parameters.
            return body if version_byte is None else body + bytes((version_byte,))
        if self.continuous_paging_options is not None:
            raise continuous_paging_refused()
        return bodies.execute_of_fields(
            self.query_id,
            metadata_id,
            self.consistency_level,
            self.query_params,
            self.fetch_size,
            self.paging_state,
            self.serial_consistency_level,
            self.timestamp,
            self.keyspace,
            self.now_in_seconds,
            self.skip_meta,
            protocol_version,
            version_byte,
        )


@public
@register_class
class BatchMessage(MessageType):
    """BATCH: executes several statements.

    :param batch_type: a `BatchType` or its number.
    :param queries: a tuple (is prepared, query or id, values) for each statement.
    :param consistency_level: a constant of `ConsistencyLevel`.
    :param serial_consistency_level: SERIAL or LOCAL_SERIAL for lightweight transactions. None uses
        the server's default.
    :param timestamp: microseconds since 1970. None uses the server's time.
    :param keyspace: the keyspace of tables without a keyspace in their name (version 5). None uses
        the connection's keyspace.
    """

    opcode = opcodes.BATCH
    name = "BATCH"

    # Not a parameter of the constructor, for the same reason as in `_QueryMessage`.
    now_in_seconds: int | None = None

    def __init__(
        self,
        batch_type: Numbered | int,
        queries: Sequence[tuple[bool, Any, Any]],
        consistency_level: int,
        serial_consistency_level: int | None = None,
        timestamp: int | None = None,
        keyspace: str | None = None,
    ) -> None:
        self.batch_type = batch_type
        self.queries = queries
        self.consistency_level = consistency_level
        self.serial_consistency_level = serial_consistency_level
        self.timestamp = timestamp
        self.keyspace = keyspace

    def body(
        self, protocol_version: int, protocol_features: ProtocolFeatures | None = None
    ) -> bytes:
        # Do not check the class of the type, because applications pass other enums with the same
        # values.
        type_number: Any = getattr(self.batch_type, "value", self.batch_type)
        return bodies.batch_of_fields(
            type_number if type(type_number) is int else int(type_number),
            self.queries,
            self.consistency_level,
            self.serial_consistency_level,
            self.timestamp,
            self.keyspace,
            self.now_in_seconds,
            protocol_version,
        )


@public
@register_class
class ReviseRequestMessage(MessageType):
    """REVISE_REQUEST of the DSE protocol versions, which this driver does not speak.

    :param op_type: a constant of `RevisionType`.
    :param op_id: the stream of the request to revise.
    :param next_pages: the number of further pages that the client asks for.
    """

    opcode = opcodes.REVISE_REQUEST
    name = "REVISE_REQUEST"

    class RevisionType:
        """The kinds of revision."""

        PAGING_CANCEL = 1
        PAGING_BACKPRESSURE = 2

    def __init__(self, op_type: int, op_id: int, next_pages: int = 0) -> None:
        self.op_type = op_type
        self.op_id = op_id
        self.next_pages = next_pages

    def body(
        self, protocol_version: int, protocol_features: ProtocolFeatures | None = None
    ) -> bytes:
        raise UnsupportedOperation(
            "REVISE_REQUEST belongs to the DSE protocol versions; "
            f"it cannot be sent over version {protocol_version}"
        )
