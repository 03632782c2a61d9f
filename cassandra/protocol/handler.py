"""Protocol handlers: applications subclass them to change how messages are encoded and decoded.

To do so, subclass `_ProtocolHandler` or `ProtocolHandler`. Override the class method
`encode_message` or `decode_message`, or set another `message_types_by_opcode`. Then assign your
class to `Session.client_protocol_handler`.

A session with the default handler does not call this module: the engine itself encodes and decodes
messages, with the same results. But if an application has replaced a method of the default handler
before the session is created, the session calls the handler's methods (see `called_handler`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from io import BytesIO
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from cassandra._bounded import Bounded, text_size
from cassandra._proxies import is_own
from cassandra.errors import ProtocolError
from cassandra.protocol.column_specs import NO_COLUMNS, ColumnMetadata, ResultMetadata
from cassandra.protocol.encrypted import decrypting, objects_of_policy
from cassandra.protocol.features import ProtocolFeatures
from cassandra.protocol.messages.base import MessageType, message_types_by_opcode
from cassandra.protocol.messages.decode import decode_response, read_extras
from cassandra.protocol.messages.encode import encode_request
from cassandra.protocol.messages.results import ResultMessage
from cassandra.protocol.messages.streamed import call_reader, reads_by_itself
from cassandra.protocol.opcodes import COMPRESSED_FLAG, RESULT_KIND_ROWS
from cassandra.protocol.primitives import envelope_header
from cassandra.versions import ProtocolVersion

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cassandra.protocol.encrypted import Encryption

_Handler = TypeVar("_Handler")

_NOT_GIVEN: Any = object()  # shows that a call has no argument for the last parameter
# The driver's message classes, before an application replaces some in `message_types_by_opcode` by
# `register_class`.
_STOCK_MESSAGE_TYPES = dict(message_types_by_opcode)
_MESSAGE_TYPES = MappingProxyType(message_types_by_opcode)
_COLUMN_BYTES = 500  # estimated memory of a cached column, for the cache's limit
# A cache of the `ResultMetadata` for each list of columns that an application has passed.
_metadata_by_columns: Bounded[tuple[ColumnMetadata, ...], ResultMetadata] = Bounded(256, 1 << 22)
# The metadata that was last taken from the cache: comparing columns is faster than hashing them.
_last_metadata = NO_COLUMNS


class ProtocolHandlerBase:
    """Encodes requests and decodes responses; the base class of all handlers."""

    # Read-only, because a change of this mapping would have no effect on sessions with the default
    # handler. An application's handler sets another mapping.
    message_types_by_opcode: Mapping[int, type[MessageType]] = _MESSAGE_TYPES

    column_encryption_policy: ClassVar[Encryption | None] = None
    """The policy that decrypts columns of results, or None.

    If the cluster of a session has such a policy, the session uses a subclass of its handler in
    which this attribute is set.
    """

    # True if the class overrides `_adapt`. Then `decode_message` must call `_adapt` for each
    # message.
    _overrides_adapt: ClassVar[bool] = False

    def __init_subclass__(cls, **named: Any) -> None:
        super().__init_subclass__(**named)
        cls._overrides_adapt = not is_own(cls._adapt, vars(ProtocolHandlerBase)["_adapt"].__func__)

    @classmethod
    def encode_message(
        cls,
        msg: MessageType,
        stream_id: int,
        protocol_version: int,
        compressor: Callable[[bytes], bytes] | None = None,
        allow_beta_protocol_version: bool = False,
        protocol_features: ProtocolFeatures | None = None,
    ) -> bytes:
        """Return the envelope of `msg`: header and body.

        :param msg: the message.
        :param stream_id: the stream on which the message is sent.
        :param protocol_version: the version of the connection.
        :param compressor: compresses the body before version 5. From version 5 on, it is not
            called, because segments are compressed instead.
        :param allow_beta_protocol_version: True sets the flag that beta versions require.
        :param protocol_features: the extensions of the connection.
        :raises UnsupportedOperation: if the message needs a feature that the version lacks.
        """
        opcode, flags, body = encode_request(
            msg, protocol_version, protocol_features, allow_beta_protocol_version
        )
        if compressor is not None and body and not ProtocolVersion.uses_segments(protocol_version):
            body = compressor(body)
            flags |= COMPRESSED_FLAG
        return envelope_header.pack(protocol_version, flags, stream_id, opcode, len(body)) + body

    @classmethod
    def decode_message(
        cls,
        protocol_version: int,
        protocol_features: ProtocolFeatures | None = None,
        user_type_map: Mapping[str, Mapping[str, type]] | None = None,
        stream_id: int = 0,
        flags: int = 0,
        opcode: int = 0,
        body: bytes = b"",
        decompressor: Callable[[bytes], bytes] | None = None,
        result_metadata: ResultMetadata | Sequence[ColumnMetadata] | None = _NOT_GIVEN,
    ) -> Any:
        """Decode the envelope of a response; return the message.

        You may leave out `protocol_features`, which cassandra-driver does not have. Then pass
        `user_type_map` as the second argument, followed by the other arguments in their order.

        :param protocol_version: the version of the envelope.
        :param protocol_features: the extensions of the connection.
        :param user_type_map: classes registered for UDTs, by keyspace and name.
        :param stream_id: the stream on which the response came.
        :param flags: the flags of the envelope's header.
        :param opcode: the message's opcode.
        :param body: the body, compressed if the flags say so.
        :param decompressor: decompresses the body, before version 5 and if the flag is set.
        :param result_metadata: for the response to an EXECUTE: the `ResultMetadata`, or a list of
            `ColumnMetadata`, that the client has for the prepared statement.
        :raises ProtocolError: for malformed bytes.
        """
        if result_metadata is _NOT_GIVEN:
            # The last parameter has no value, so this is a call without `protocol_features`. Each
            # argument was received by the parameter before its own, so move it to the next
            # parameter.
            shifted: tuple[Any, ...] = (
                protocol_features, user_type_map, stream_id, flags, opcode, body, decompressor,
            )  # fmt: skip
            user_type_map, stream_id, flags, opcode, body, decompressor, result_metadata = shifted
            protocol_features = None
        if flags & COMPRESSED_FLAG:
            flags, body = _decompress(flags, body, protocol_version, decompressor)
        types: Mapping[int, type[MessageType]] = cls.message_types_by_opcode
        # Use the dict itself, because `get` of the proxy is three times as slow.
        custom = (message_types_by_opcode if types is _MESSAGE_TYPES else types).get(opcode)
        if (
            custom is not None and custom is not _STOCK_MESSAGE_TYPES.get(opcode)
        ) or cls._overrides_adapt:
            context = (protocol_version, protocol_features, user_type_map)
            return cls._decode_with_own_class(
                custom, context, stream_id, flags, opcode, body, result_metadata
            )
        # This is the usual case, the driver's own message classes. Decode here, and not in
        # `_decode_with_own_class`, to save a call for each response.
        if result_metadata is not None:
            result_metadata = _as_metadata(result_metadata)
        message = decode_response(
            opcode,
            flags,
            body,
            protocol_version,
            protocol_features,
            user_type_map,
            result_metadata,
        )
        if cls.column_encryption_policy is not None:
            _decrypt(message, cls.column_encryption_policy)
        # Applications that override `decode_message` need this attribute; the engine does not.
        message.stream_id = stream_id
        return message

    @classmethod
    def _decode_with_own_class(
        cls,
        own_type: type[Any] | None,
        context: tuple[int, ProtocolFeatures | None, Any],
        stream_id: int,
        flags: int,
        opcode: int,
        body: bytes,
        result_metadata: ResultMetadata | Sequence[ColumnMetadata] | None,
    ) -> Any:
        """Decode the envelope for a handler with its own message class or its own `_adapt`.

        :param own_type: the handler's message class for the opcode, or None.
        :param context: (protocol version, extensions, classes registered for UDTs).
        :param result_metadata: the result metadata that the client has for the prepared statement.
        """
        message: Any
        # If the application's message class reads the body by its own method, call that method.
        # Otherwise decode the body as usual.
        if (
            own_type is not None
            and own_type is not _STOCK_MESSAGE_TYPES.get(opcode)
            and reads_by_itself(own_type)
        ):
            metadata_and_encryption = (result_metadata, cls.column_encryption_policy)
            message = _read_with_own_class(own_type, flags, body, context, metadata_and_encryption)
        else:
            message = decode_response(opcode, flags, body, *context, _as_metadata(result_metadata))
            _decrypt(message, cls.column_encryption_policy)
        message.stream_id = stream_id
        return cls._adapt(message) if isinstance(message, MessageType) else message

    @classmethod
    def _adapt(cls, message: MessageType) -> MessageType:
        """Change the class of `message` to the class that this handler uses for the opcode."""
        custom = cls.message_types_by_opcode.get(message.opcode)
        if (
            custom is not None
            and custom is not _STOCK_MESSAGE_TYPES.get(message.opcode)
            and not isinstance(message, custom)
        ):
            # The application uses another class for this opcode. Changing the class of the message
            # keeps its attributes.
            message.__class__ = custom
        return message


ProtocolHandlerBase.__name__ = ProtocolHandlerBase.__qualname__ = "_ProtocolHandler"


class ProtocolHandler(ProtocolHandlerBase):
    """The default handler of sessions: ``parsed_rows`` is a list of tuples."""


class _ChangedProtocolHandler(ProtocolHandler):
    """Replaces `ProtocolHandler` in new sessions if an application has changed its methods.

    The engine encodes and decodes messages itself for `ProtocolHandler`, but calls the methods of
    any other class, such as this class.
    """


_ChangedProtocolHandler.__name__ = _ChangedProtocolHandler.__qualname__ = "ProtocolHandler"

# The attributes that tracing tools replace in the handler classes, instead of making a subclass.
_REPLACEABLE = (
    "column_encryption_policy",
    "decode_message",
    "encode_message",
    "message_types_by_opcode",
)


def _replaceable_attributes() -> list[object]:
    return [
        vars(handler).get(name)
        for handler in (ProtocolHandler, ProtocolHandlerBase)
        for name in _REPLACEABLE
    ]


# The driver's attributes, before an application can replace them.
_STOCK_ATTRIBUTES = _replaceable_attributes()


def called_handler(handler: Any) -> Any:
    """Return a handler whose methods the engine calls, if an application has replaced methods.

    :param handler: the handler of a new session. It is returned unchanged, unless it is
        `ProtocolHandler` and some of its attributes were replaced.
    """
    if handler is not ProtocolHandler:
        return handler
    pairs = zip(_replaceable_attributes(), _STOCK_ATTRIBUTES, strict=True)
    is_changed = any(current is not stock for current, stock in pairs)
    return _ChangedProtocolHandler if is_changed else handler


class LazyProtocolHandler(ProtocolHandlerBase):
    """Decodes each row only when you iterate to it.

    Each access to ``parsed_rows`` returns a new iterator that starts at the first row.
    """

    @classmethod
    def _adapt(cls, message: MessageType) -> MessageType:
        return _as_rows_class(super()._adapt(message), LazyResultMessage)


class NumpyProtocolHandler(ProtocolHandlerBase):
    """Reads rows as columns: ``parsed_rows`` is a dict of NumPy arrays by column name.

    A session's row factory gets this dict instead of rows. Use `cassandra.query.tuple_factory`,
    which returns the dict unchanged, or a row factory that makes a DataFrame of it. Access to
    ``parsed_rows`` raises `DependencyException` if NumPy is not installed.

    bigint, counter, int, smallint, float and double become masked arrays. All other types become
    arrays of objects. If `typed` is True in a subclass, booleans, tinyints, dates, times and
    timestamps also become arrays of a matching dtype, and only arrays with nulls are masked.
    """

    typed: ClassVar[bool] = False

    @classmethod
    def _adapt(cls, message: MessageType) -> MessageType:
        kind = TypedNumpyResultMessage if cls.typed else NumpyResultMessage
        return _as_rows_class(super()._adapt(message), kind)


class LazyResultMessage(ResultMessage):
    """A ROWS result that decodes each row only when you iterate to it."""

    @property  # type: ignore[misc]  # no setter: the rows come from the bytes
    def parsed_rows(self) -> Any:
        """An iterator that decodes the rows; None for a result that is not ROWS."""
        if self.kind != RESULT_KIND_ROWS:
            return None
        return self.metadata.row_plan.iterate(*self.rows_body)


class NumpyResultMessage(ResultMessage):
    """A ROWS result whose ``parsed_rows`` is a dict of NumPy arrays."""

    typed: ClassVar[bool] = False

    @property  # type: ignore[misc]  # no setter: the rows come from the bytes
    def parsed_rows(self) -> Any:
        return arrays_of(self, self.typed)


def arrays_of(message: ResultMessage, typed: bool = False) -> dict[str, NDArray[Any]] | None:
    """Return a dict with the NumPy array of each column, or None if `message` is not ROWS."""
    # Import this module only here, because most applications never read results as columns.
    from cassandra.protocol.columnar.pages import page_arrays

    if message.kind != RESULT_KIND_ROWS:
        return None
    return page_arrays(message.metadata, *message.rows_body, typed=typed)


class TypedNumpyResultMessage(NumpyResultMessage):
    """A `NumpyResultMessage` with `typed` set: see `NumpyProtocolHandler`."""

    typed = True


def _decompress(
    flags: int, body: bytes, version: int, decompressor: Callable[[bytes], bytes] | None
) -> tuple[int, bytes]:
    """Return (flags, body) with the body decompressed, for an envelope with COMPRESSED_FLAG."""
    # With segments, the flag has no meaning, because segments are compressed, not bodies.
    if ProtocolVersion.uses_segments(version):
        return flags, body
    if decompressor is None:
        raise ProtocolError(
            "a compressed body came over a connection that has agreed on no compression"
        )
    return flags & ~COMPRESSED_FLAG, decompressor(body)


def _as_metadata(
    columns: ResultMetadata | Sequence[ColumnMetadata] | None,
) -> ResultMetadata | None:
    """Return `columns`, which an application may pass as a list, as a `ResultMetadata`.

    None if there are no columns.
    """
    global _last_metadata
    if columns is None or isinstance(columns, ResultMetadata):
        return columns
    if not columns:
        return None
    # An application passes an equal list for each response. Cache the metadata, so that its row
    # plan (the decoder of its rows) is made only once.
    key = tuple(columns)
    last = _last_metadata
    if key == last.columns:
        return last
    try:
        metadata = _metadata_by_columns.get(key)
    except TypeError:  # not hashable, for example because a column is a list
        return ResultMetadata(columns)
    if metadata is None:
        names = tuple(column.name for column in key)
        cost = _COLUMN_BYTES * len(key) + text_size(names)
        metadata = _metadata_by_columns.keep(key, ResultMetadata(key), cost)
    _last_metadata = metadata
    return metadata


def _decrypt(message: Any, policy: Encryption | None) -> None:
    """Change the metadata of `message` so that columns that `policy` encrypts are decrypted."""
    if policy is None or not isinstance(message, ResultMessage):
        return
    if message.kind == RESULT_KIND_ROWS:
        message.metadata = decrypting(message.metadata, policy)


def _read_with_own_class(
    message_type: type[Any],
    flags: int,
    body: bytes,
    context: tuple[int, ProtocolFeatures | None, Any],
    metadata_and_encryption: tuple[
        ResultMetadata | Sequence[ColumnMetadata] | None, Encryption | None
    ],
) -> Any:
    """Decode `body` with the `recv_body` of `message_type`, an application's message class.

    :param context: (protocol version, extensions, classes registered for UDTs).
    :param metadata_and_encryption: (result metadata of the prepared statement, column encryption
        policy).
    """
    trace_id, warnings, payload, pos = read_extras(flags, body)
    metadata, encryption = metadata_and_encryption
    if isinstance(metadata, ResultMetadata):
        metadata = list(metadata.server_columns)
    stream = BytesIO(body)
    stream.seek(pos)
    version, features, user_types = context
    message = call_reader(
        message_type.recv_body, stream, version, features, user_types or {}, metadata, encryption
    )
    message.trace_id, message.warnings, message.custom_payload = trace_id, warnings, payload
    return message


def encrypting_handler(handler: _Handler, policy: Encryption | None) -> _Handler:
    """Return a subclass of `handler` that decrypts columns with `policy`, the cluster's policy.

    If `policy` is None, or `handler` is not a class or has its own policy, return `handler` itself.
    """
    if (
        policy is None
        or not isinstance(handler, type)
        or getattr(handler, "column_encryption_policy", None) is not None
    ):
        return handler
    # `handlers` maps each handler to its subclass for this policy. The dict lives as long as the
    # policy.
    handlers = objects_of_policy(policy)
    encrypting: _Handler | None = handlers.get(handler)
    if encrypting is None:
        subclass: Any = type(handler.__name__, (handler,), {"column_encryption_policy": policy})
        encrypting = handlers[handler] = subclass
    return encrypting


def _as_rows_class(message: MessageType, kind: type[ResultMessage]) -> MessageType:
    if type(message) is ResultMessage and message.kind == RESULT_KIND_ROWS:
        message.__class__ = kind
    return message


def cython_protocol_handler(colparser: Callable[[ResultMessage], Any]) -> type[ProtocolHandlerBase]:
    """Return a handler class whose ``parsed_rows`` is ``colparser(result_message)``.

    :param colparser: a function that takes a `ResultMessage` with rows.
    """

    class ParsingResult(ResultMessage):
        @property  # type: ignore[misc]  # as in LazyResultMessage
        def parsed_rows(self) -> Any:
            return colparser(self) if self.kind == RESULT_KIND_ROWS else None

    class ParsingProtocolHandler(ProtocolHandlerBase):
        @classmethod
        def _adapt(cls, message: MessageType) -> MessageType:
            return _as_rows_class(super()._adapt(message), ParsingResult)

    return ParsingProtocolHandler


for _public_class in (
    ProtocolHandlerBase,
    ProtocolHandler,
    _ChangedProtocolHandler,
    LazyProtocolHandler,
    NumpyProtocolHandler,
):
    _public_class.__module__ = "cassandra.protocol"
del _public_class
