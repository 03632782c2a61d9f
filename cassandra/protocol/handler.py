"""Protocol handlers: the public place to change how messages become bytes and bytes messages.

A program subclasses `_ProtocolHandler` (or `ProtocolHandler`), overrides `encode_message` or
`decode_message` as class methods, or gives it another `message_types_by_opcode`. It sets the class
as `Session.client_protocol_handler`. A session with the stock handler does not use this module: the
engine builds bodies and decodes messages directly, to the same bytes and objects.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from io import BytesIO
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from cassandra._bounded import Bounded, text_size
from cassandra.errors import ProtocolError
from cassandra.protocol.column_specs import ColumnMetadata, ResultMetadata
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
    from cassandra.protocol.encrypted import Encryption

_NOT_GIVEN: Any = object()
# A program may register another class for an opcode (`register_class`); these are the driver's.
_STOCK = dict(message_types_by_opcode)
_COLUMN_BYTES = 500
_of_columns: Bounded[tuple[ColumnMetadata, ...], ResultMetadata] = Bounded(256, 1 << 22)


class ProtocolHandlerBase:
    """Encodes requests and decodes responses; meant to be subclassed."""

    # Read-only: a change in place would not reach sessions with the stock handler. A handler of a
    # program has a copy of its own.
    message_types_by_opcode: Mapping[int, type[MessageType]] = MappingProxyType(
        message_types_by_opcode
    )

    column_encryption_policy: ClassVar[Encryption | None] = None
    """Decrypts columns of results. A session gives its cluster's policy to its handler."""

    # True if results of this class get another form than those of the engine.
    _adapts: ClassVar[bool] = False

    def __init_subclass__(cls, **named: Any) -> None:
        super().__init_subclass__(**named)
        adapt: Any = cls._adapt
        stock: Any = ProtocolHandlerBase._adapt
        cls._adapts = adapt.__func__ is not stock.__func__

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
        :param stream_id: the number of its stream.
        :param protocol_version: the version of the connection.
        :param compressor: applied to the body before version 5; from then on segments compress.
        :param allow_beta_protocol_version: set the flag that beta versions need.
        :param protocol_features: the extensions of the connection.
        :raises UnsupportedOperation: for features that the version lacks.
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
        """Return the message in `body`.

        It may also be called without `protocol_features`, as a driver without extensions has it:
        `user_type_map` and the others follow the version then.

        :param protocol_version: the version of the envelope.
        :param protocol_features: the extensions of the connection.
        :param user_type_map: classes registered for UDTs, by keyspace and name.
        :param stream_id: the number of its stream.
        :param flags: the header's flags.
        :param opcode: the message's opcode.
        :param body: the body, compressed if the flags say so.
        :param decompressor: applied before version 5 if the flag is set.
        :param result_metadata: the `ResultMetadata` (or a list of column metadata) kept for the
            prepared statement that this answers.
        :raises ProtocolError: for malformed bytes.
        """
        if result_metadata is _NOT_GIVEN:
            # Eight arguments: each stands one place before its own.
            shifted: tuple[Any, ...] = (
                *(protocol_features, user_type_map, stream_id, flags, opcode, body),
                decompressor,
            )
            user_type_map, stream_id, flags, opcode, body, decompressor, result_metadata = shifted
            protocol_features = None
        if flags & COMPRESSED_FLAG:
            flags, body = _decompressed(flags, body, protocol_version, decompressor)
        custom = cls.message_types_by_opcode.get(opcode)
        if (custom is not None and custom is not _STOCK.get(opcode)) or cls._adapts:
            context = (protocol_version, protocol_features, user_type_map)
            return cls._decode(custom, context, stream_id, flags, opcode, body, result_metadata)
        # The usual case without a further call, for programs that call this for each answer.
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
        # For programs that override `decode_message`; the engine knows the stream by the envelope.
        message.stream_id = stream_id
        return message

    @classmethod
    def _decode(
        cls,
        custom: type[Any] | None,
        context: tuple[int, ProtocolFeatures | None, Any],
        stream_id: int,
        flags: int,
        opcode: int,
        body: bytes,
        cached: ResultMetadata | Sequence[ColumnMetadata] | None,
    ) -> Any:
        """Return the message of an envelope in the form that a handler of its own gives it.

        :param custom: the handler's class for the opcode.
        :param context: protocol version, extensions and registered classes of the connection.
        """
        message: Any
        if custom is not None and custom is not _STOCK.get(opcode) and reads_by_itself(custom):
            rest = (cached, cls.column_encryption_policy)
            message = _read_by(custom, flags, body, context, rest)
        else:
            message = decode_response(opcode, flags, body, *context, _as_metadata(cached))
            _decrypt(message, cls.column_encryption_policy)
        message.stream_id = stream_id
        return cls._adapt(message) if isinstance(message, MessageType) else message

    @classmethod
    def _adapt(cls, message: MessageType) -> MessageType:
        """Give `message` the form of this handler's results."""
        custom = cls.message_types_by_opcode.get(message.opcode)
        if (
            custom is not None
            and custom is not _STOCK.get(message.opcode)
            and not isinstance(message, custom)
        ):
            # A program's own class for this opcode: the same attributes under that class.
            message.__class__ = custom
        return message


ProtocolHandlerBase.__name__ = ProtocolHandlerBase.__qualname__ = "_ProtocolHandler"


class ProtocolHandler(ProtocolHandlerBase):
    """The handler of every session without another one: ``parsed_rows`` is a list of tuples."""


class LazyProtocolHandler(ProtocolHandlerBase):
    """Decodes rows while they are walked.

    ``parsed_rows`` is an iterator from the first row, at each access.
    """

    @classmethod
    def _adapt(cls, message: MessageType) -> MessageType:
        return _as_rows_class(super()._adapt(message), LazyResultMessage)


class NumpyProtocolHandler(ProtocolHandlerBase):
    """Reads rows as columns: ``parsed_rows`` is a dict of NumPy arrays by column name.

    A row factory gets that dict in place of rows. Use it with `cassandra.query.tuple_factory`,
    which leaves it as it is, or with one that makes a DataFrame of it. Raises `DependencyException`
    if NumPy is not installed.

    bigint, counter, int, smallint, float and double become masked arrays, everything else object
    arrays. With `typed`, booleans, tinyints, dates, times and timestamps become arrays of their own
    dtype too, and only arrays with nulls are masked.
    """

    typed: ClassVar[bool] = False

    @classmethod
    def _adapt(cls, message: MessageType) -> MessageType:
        kind = TypedNumpyResultMessage if cls.typed else NumpyResultMessage
        return _as_rows_class(super()._adapt(message), kind)


class LazyResultMessage(ResultMessage):
    """ROWS whose tuples are made while they are walked."""

    @property  # type: ignore[misc]  # read from the bytes alone
    def parsed_rows(self) -> Any:
        return (
            self.metadata.row_plan.iterate(*self.rows_body)
            if self.kind == RESULT_KIND_ROWS
            else None
        )


class NumpyResultMessage(ResultMessage):
    """ROWS by columns."""

    typed: ClassVar[bool] = False

    @property  # type: ignore[misc]  # read from the bytes alone
    def parsed_rows(self) -> Any:
        return arrays_of(self, self.typed)


def arrays_of(message: ResultMessage, typed: bool = False) -> Any:
    """Return the NumPy arrays of a page by column name; None if the result does not have rows."""
    # Imported at the first use: most programs never read results by columns.
    from cassandra.protocol.columnar.pages import page_arrays

    if message.kind != RESULT_KIND_ROWS:
        return None
    return page_arrays(message.metadata, *message.rows_body, typed=typed)


class TypedNumpyResultMessage(NumpyResultMessage):
    """ROWS by columns, each with the dtype that fits its type best."""

    typed = True


def _decompressed(
    flags: int, body: bytes, version: int, decompressor: Callable[[bytes], bytes] | None
) -> tuple[int, bytes]:
    """Return flags and body of an envelope whose flags say that the body is compressed."""
    if ProtocolVersion.uses_segments(version):  # segments are compressed, not their envelopes
        return flags, body
    if decompressor is None:
        raise ProtocolError(
            "a compressed body came over a connection that has agreed on no compression"
        )
    return flags & ~COMPRESSED_FLAG, decompressor(body)


def _as_metadata(
    columns: ResultMetadata | Sequence[ColumnMetadata] | None,
) -> ResultMetadata | None:
    """Return a program's result metadata, which may be a plain list of columns."""
    if columns is None or isinstance(columns, ResultMetadata):
        return columns
    if not columns:
        return None
    # A program passes the same list for each answer, and a row plan is made of it.
    key = tuple(columns)
    try:
        metadata = _of_columns.get(key)
    except TypeError:  # a column that is a list
        return ResultMetadata(columns)
    if metadata is None:
        names = tuple(column.name for column in key)
        cost = _COLUMN_BYTES * len(key) + text_size(names)
        metadata = _of_columns.keep(key, ResultMetadata(key), cost)
    return metadata


def _decrypt(message: Any, policy: Encryption | None) -> None:
    if policy is None or not isinstance(message, ResultMessage):
        return
    if message.kind == RESULT_KIND_ROWS:
        message.metadata = decrypting(message.metadata, policy)


def _read_by(
    kind: type[Any],
    flags: int,
    body: bytes,
    context: tuple[int, ProtocolFeatures | None, Any],
    rest: tuple[ResultMetadata | Sequence[ColumnMetadata] | None, Encryption | None],
) -> Any:
    """Let the class `kind` of a program read the message in `body`.

    :param rest: the result metadata that is kept, and the policy of column encryption.
    """
    trace_id, warnings, payload, pos = read_extras(flags, body)
    metadata, encryption = rest
    if isinstance(metadata, ResultMetadata):
        metadata = list(metadata.server_columns)
    stream = BytesIO(body)
    stream.seek(pos)
    version, features, user_types = context
    message = call_reader(
        kind.recv_body, stream, version, features, user_types or {}, metadata, encryption
    )
    message.trace_id, message.warnings, message.custom_payload = trace_id, warnings, payload
    return message


def encrypting_handler(handler: Any, policy: Encryption | None) -> Any:
    """Return `handler` as a session uses it whose cluster has `policy`.

    A handler that is not a class, or has a policy of its own, is returned as it is.
    """
    if (
        policy is None
        or not isinstance(handler, type)
        or getattr(handler, "column_encryption_policy", None) is not None
    ):
        return handler
    handlers = objects_of_policy(policy)
    encrypting = handlers.get(handler)
    if encrypting is None:
        subclass = type(handler.__name__, (handler,), {"column_encryption_policy": policy})
        encrypting = handlers[handler] = subclass
    return encrypting


def _as_rows_class(message: MessageType, kind: type[ResultMessage]) -> MessageType:
    if type(message) is ResultMessage and message.kind == RESULT_KIND_ROWS:
        message.__class__ = kind
    return message


def cython_protocol_handler(colparser: Callable[[ResultMessage], Any]) -> type[ProtocolHandlerBase]:
    """Return a handler class whose ``parsed_rows`` is ``colparser(result_message)``.

    :param colparser: a function of a `ResultMessage`.
    """

    class ParsingResult(ResultMessage):
        @property  # type: ignore[misc]  # as above
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
    LazyProtocolHandler,
    NumpyProtocolHandler,
):
    _public_class.__module__ = "cassandra.protocol"
del _public_class
