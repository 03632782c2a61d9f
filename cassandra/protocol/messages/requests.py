"""QUERY, PREPARE, EXECUTE and BATCH (native_protocol_v5.spec, sections 4.1.4 to 4.1.7).

`cassandra.protocol.bodies` or its compiled twin builds the bodies. A subclass may override
`_write_query_params(f, protocol_version)`: its messages are then written through that method.
"""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

from cassandra.errors import UnsupportedOperation
from cassandra.protocol import opcodes
from cassandra.protocol.features import ProtocolFeatures
from cassandra.protocol.messages.base import MessageType, public, register_class
from cassandra.protocol.params import QueryParams, params_of

if TYPE_CHECKING:
    from cassandra.protocol import bodies
    from cassandra.protocol.params import Values
else:
    from cassandra._impl import bodies


class Numbered(Protocol):
    """A `BatchType`, or another object with its number."""

    value: int


def _batch_kind(batch_type: Numbered | int) -> int:
    # By attribute, not by class: programs pass enums of their own with the same values.
    number: Any = getattr(batch_type, "value", batch_type)
    return int(number)


class _QueryMessage(MessageType):
    """The common part of QUERY and EXECUTE: values, and how they are executed.

    :param query_params: the values of the markers; None for none.
    :param consistency_level: a number of `ConsistencyLevel`.
    :param serial_consistency_level: SERIAL or LOCAL_SERIAL for lightweight transactions; None for
        the server's default.
    :param fetch_size: rows in a page; None for no paging.
    :param paging_state: where the page begins, from the page before; None for the first page.
    :param timestamp: microseconds since 1970; None for the server's time.
    :param skip_meta: ask the server to leave the columns of the result out.
    :param continuous_paging_options: must be None: it belongs to the DSE protocol versions.
    :param keyspace: for names without one (version 5); None for the connection's.
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

    # Not a parameter: the constructors' positions are public, and programs' subclasses call them.
    now_in_seconds: int | None = None

    def _write_query_params(self, f: BinaryIO, protocol_version: int) -> None:
        """Write <query_parameters> to `f`; a subclass may override this."""
        f.write(bodies.query_params_body(params_of(self), protocol_version))

    def _through_override(self, head: bytes, protocol_version: int) -> bytes:
        """Return a body whose query parameters an overriding method writes."""
        target = BytesIO()
        target.write(head)
        self._write_query_params(target, protocol_version)
        return target.getvalue()


public(_QueryMessage)
# Kept now: a program may also replace the method on the class, and that counts as an override.
_stock_write_query_params = _QueryMessage._write_query_params


@public
@register_class
class QueryMessage(_QueryMessage):
    """QUERY: a statement as text.

    :param query: the text.
    :param consistency_level: a number of `ConsistencyLevel`.
    :param serial_consistency_level: SERIAL or LOCAL_SERIAL for lightweight transactions; None for
        the server's default.
    :param fetch_size: rows in a page; None for no paging.
    :param paging_state: where the page begins, from the page before; None for the first page.
    :param timestamp: microseconds since 1970; None for the server's time.
    :param continuous_paging_options: must be None: it belongs to the DSE protocol versions.
    :param keyspace: for names without one (version 5); None for the connection's.
    :param query_params: bytes, None (null) or UNSET_VALUE for each marker in the text; None for no
        values.
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
        self.query = query
        super().__init__(
            query_params,
            consistency_level,
            serial_consistency_level,
            fetch_size,
            paging_state,
            timestamp,
            False,
            continuous_paging_options,
            keyspace,
        )

    def body(
        self, protocol_version: int, protocol_features: ProtocolFeatures | None = None
    ) -> bytes:
        if type(self)._write_query_params is not _stock_write_query_params:
            return self._through_override(bodies.long_string(self.query), protocol_version)
        return bodies.query_of_message(self.query, self, protocol_version)


@public
@register_class
class PrepareMessage(MessageType):
    """PREPARE: a statement to prepare.

    :param query: the text.
    :param keyspace: for names without one (version 5); None for the connection's.
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
    :param query_params: a `ValuesBlock`, or bytes, None (null) or UNSET_VALUE for each marker.
    :param consistency_level: a number of `ConsistencyLevel`.
    :param serial_consistency_level: SERIAL or LOCAL_SERIAL for lightweight transactions; None for
        the server's default.
    :param fetch_size: rows in a page; None for no paging.
    :param paging_state: where the page begins, from the page before; None for the first page.
    :param timestamp: microseconds since 1970; None for the server's time.
    :param skip_meta: ask the server to leave the columns of the result out.
    :param continuous_paging_options: must be None: it belongs to the DSE protocol versions.
    :param result_metadata_id: the id of the columns that the client knows (version 5, or ScyllaDB's
        extension); None or empty makes the server send them.
    :param tablet_version_block: the client's knowledge of the tablet, a byte of ScyllaDB's
        TABLETS_ROUTING_V2; None for nothing.
    """

    opcode = opcodes.EXECUTE
    name = "EXECUTE"

    # The extensions of the connection that it is encoded for. A program's handler may lack the
    # parameter for them, and the server wants the fields all the same.
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
        self.query_id = query_id
        self.result_metadata_id = result_metadata_id
        self.tablet_version_block = tablet_version_block
        super().__init__(
            query_params,
            consistency_level,
            serial_consistency_level,
            fetch_size,
            paging_state,
            timestamp,
            skip_meta,
            continuous_paging_options,
        )

    def body(
        self, protocol_version: int, protocol_features: ProtocolFeatures | None = None
    ) -> bytes:
        if protocol_features is None:
            protocol_features = self.agreed_features
        metadata_id = block = None
        if protocol_version >= 5 or (
            protocol_features is not None and protocol_features.use_metadata_id
        ):
            # An empty id never matches, so the server sends the metadata with the rows (section
            # 4.1.6).
            metadata_id = self.result_metadata_id or b""
        if protocol_features is not None and protocol_features.tablets_routing_v2:
            # ScyllaDB's protocol extensions: a driver that holds no version yet sends a byte all
            # the same.
            block = self.tablet_version_block or 0
        if type(self)._write_query_params is not _stock_write_query_params:
            body = self._through_override(
                bodies.execute_head(self.query_id, metadata_id), protocol_version
            )
            # The byte belongs behind the query parameters, whoever has written those.
            return body if block is None else body + bytes((block,))
        return bodies.execute_of_message(self.query_id, metadata_id, self, protocol_version, block)


@public
@register_class
class BatchMessage(MessageType):
    """BATCH: executes many statements.

    :param batch_type: a `BatchType` or its number.
    :param queries: (is prepared, query or id, values) each.
    :param consistency_level: a number of `ConsistencyLevel`.
    :param serial_consistency_level: SERIAL or LOCAL_SERIAL for lightweight transactions; None for
        the server's default.
    :param timestamp: microseconds since 1970; None for the server's time.
    :param keyspace: for names without one (version 5); None for the connection's.
    """

    opcode = opcodes.BATCH
    name = "BATCH"

    # As in `_QueryMessage`: the positions of the constructor are public.
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
        params = QueryParams(
            self.consistency_level,
            None,
            None,
            False,
            None,
            None,
            self.serial_consistency_level,
            self.timestamp,
        )
        params.keyspace = self.keyspace
        params.now_in_seconds = self.now_in_seconds
        return bodies.batch_body(
            _batch_kind(self.batch_type), self.queries, params, protocol_version
        )


@public
@register_class
class ReviseRequestMessage(MessageType):
    """REVISE_REQUEST of the DSE protocol versions, which this driver does not speak.

    :param op_type: a number of `RevisionType`.
    :param op_id: the stream of the request that is revised.
    :param next_pages: how many further pages are wanted.
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
