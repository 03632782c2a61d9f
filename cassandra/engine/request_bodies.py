"""The bodies of QUERY, EXECUTE, BATCH and PREPARE requests.

A body is rendered in the caller's thread, for the wire format that most connections have. The bound
values are in a block of bytes that never changes. The rest of the body is rendered again if a
connection has another wire format, if a retry uses another consistency level, or if a statement was
prepared again and got another id.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cassandra.engine.overrides import refuse_overrides
from cassandra.engine.prepare.body import prepare_body
from cassandra.protocol.extras import check_payload, request_extras
from cassandra.protocol.messages.encode import takes_features
from cassandra.protocol.messages.streamed import chooses_types
from cassandra.protocol.opcodes import BATCH, EXECUTE, MAX_BODY, PREPARE, QUERY, RESULT
from cassandra.protocol.params import QueryParams
from cassandra.query.keyspace_texts import is_use
from cassandra.query.prepared import PreparedStatement
from cassandra.query.statement import query_head

if TYPE_CHECKING:
    from cassandra.engine import happy_path
    from cassandra.engine.connection import Connection
    from cassandra.engine.happy_path import ExecuteBodyBase
    from cassandra.engine.prepare.rebind import Renewed
    from cassandra.protocol import bind, bodies
    from cassandra.protocol.bind import RowsBlock, ValuesBlock
    from cassandra.protocol.column_specs import ResultMetadata
else:
    from cassandra._impl import bind, bodies, happy_path

    ExecuteBodyBase = happy_path.ExecuteBodyBase
    RowsBlock = bind.RowsBlock

# The `expected` keyspace of a USE. It is not equal to the keyspace of any connection, so
# `RequestBase._fits` always returns False for a USE, and the keyspace gate handles the USE.
USE_ITSELF: Any = object()

# A tuple (prefix for an error message, statement, encoded values). The prefix says which statement
# of a batch it is; "" if the request is not a batch.
BoundRow = tuple[str, PreparedStatement, Sequence[Any]]

# A frame header has 9 bytes: version, flags, stream (2 bytes), opcode, length (4 bytes).
HEADER_SIZE = 9


class BodyMethods:
    """The methods that all request bodies share.

    `body` contains the bytes that were rendered last, or None.
    """

    __slots__ = ()

    opcode: int
    # True if `RequestBase.on_answer` must not handle any response itself, because VOID and rows are
    # not valid responses, or because a user-defined protocol handler decodes the response.
    # `EngineSession.decode` then decodes and checks each response.
    decodes = False
    # True if a user thread may send the request itself, because rendering calls no user code, and
    # the response does not affect later requests.
    is_plain = True
    # True if the request may have unqualified table names, which the server resolves in the
    # connection's keyspace.
    depends = False
    # True if any connection to the cluster can execute the request, and its response changes only
    # the request's outcome. The request may then run on a worker's loop, which has connections but
    # no control connection (see `cassandra.engine.workers`).
    runs_anywhere = False

    # Attributes that some subclasses have:
    expected: object
    body: bytes | None
    consistency: int
    custom_payload: Mapping[str, bytes | None] | None
    paging_state: bytes | None
    tracing: bool

    def invalidate(self) -> None:
        """Discard the rendered body, so that `render` builds it again for the next attempt."""
        raise NotImplementedError

    def with_extras(self, connection: Connection, body: bytes) -> tuple[int, int, bytes]:
        """Return (opcode, flags, body) with the tracing flag and the custom payload."""
        # Allow beta versions, because only connections whose application allows them have such a
        # version.
        flags, extras = request_extras(
            connection.version, self.tracing, self.custom_payload, allow_beta=True
        )
        return self.opcode, flags, extras + body

    @property
    def size(self) -> int:
        """The size of the rendered body in bytes; 0 before it is rendered."""
        return len(self.body) if self.body is not None else 0

    def set_consistency(self, consistency: int) -> None:
        """Use another consistency level from the next attempt on."""
        if consistency != self.consistency:
            # mypy complains here because `consistency` is a slot of the classes that inherit from
            # this mixin.
            self.consistency = consistency  # type: ignore[misc]
            self.invalidate()

    def set_paging_state(self, paging_state: bytes | None) -> None:
        """Request the page at `paging_state` from the next attempt on."""
        self.paging_state = paging_state  # type: ignore[misc]
        self.invalidate()

    @property
    def is_later_page(self) -> bool:
        """True if the request is for the second page of a result or a later page."""
        return getattr(self, "paging_state", None) is not None

    def describe(self) -> str:
        """Return a short description of the statement for messages."""
        raise NotImplementedError

    def statement_text(self) -> str | None:
        """Return the CQL of the request; None if the body has not exactly one CQL string.

        `check_answer` uses the CQL to see which responses are valid.
        """
        return None

    @property
    def is_use(self) -> bool:
        """True if the request switches the keyspace of its connection."""
        return is_use(self.statement_text() or "")

    @property
    def needs_answer(self) -> bool:
        """True if the request needs the server's response, so that an error cannot be ignored.

        A retry policy that ignores an error gives the request an empty result. For a later page,
        the empty result would look like the end of the rows, and the rows of this page and of all
        further pages would be missing. After a USE, later statements would run in the old keyspace.
        """
        return self.is_later_page or self.is_use

    @property
    def names_keyspace(self) -> bool:
        """True if the keyspace of the connection has no effect on the request.

        Such a request contains the keyspace for its unqualified names, which requires protocol
        version 5, or it needs no keyspace.
        """
        return True

    def texts(self) -> Sequence[str]:
        """Return the CQL strings that may have unqualified names."""
        return ()

    def carry_keyspace(self) -> bool:
        """Put the expected keyspace into the request itself. Requires protocol version 5.

        :returns: False if the request expects that no keyspace is set, which the protocol cannot
            express.
        """
        return True

    def prepared_statements(self) -> Sequence[PreparedStatement]:
        """Return the prepared statement whose result columns the response has, as a sequence.

        The sequence has one statement. It is empty if the request has no prepared statement, and
        for a batch, whose response does not have the result columns of its statements.
        """
        return ()

    def batched_statements(self) -> Iterable[PreparedStatement]:
        """Return the prepared statements of a batch, each of them once."""
        return ()

    def prepared_by(self, query_id: bytes) -> PreparedStatement | None:
        """Return the prepared statement with this id in the last rendered body."""
        return None

    def cached_metadata(self) -> ResultMetadata | None:
        """Return the cached result metadata that decodes the response; None without a cache."""
        return None

    def bound_rows(self) -> Iterator[BoundRow]:
        """Yield the bound values of each prepared statement in the request.

        After an error, the driver searches these values for nulls and faulty vectors.

        :returns: tuples, see `BoundRow`.
        """
        yield from ()

    def rebind(self, renewed: Renewed) -> None:
        """Convert the bound values of a statement whose column types have changed.

        :param renewed: the statement before and after it was prepared again.
        :raises BindColumnsChanged: if the values do not fit the new types.
        """
        raise renewed.refusal("by this request")


class RequestBody(BodyMethods, QueryParams):
    """The body of one request, except EXECUTE, with its query parameters.

    :param keyspace: sent in the request, which requires protocol version 5; None to send none.
    :param expected: the keyspace in which unqualified names must be resolved; None means
        `keyspace`. If the request has unqualified names, it is not sent on a connection in another
        keyspace. For a USE, this is `USE_ITSELF`.
    """

    __slots__ = ("_wire_format", "body", "custom_payload", "expected", "tracing")

    def __init__(self, keyspace: str | None = None, expected: object = None) -> None:
        QueryParams.__init__(self, 0)  # `happy_path.resolve` sets the query parameters
        self.keyspace = keyspace
        self.expected = keyspace if expected is None else expected
        self.tracing = False
        self.custom_payload: Mapping[str, bytes | None] | None = None
        self.body: bytes | None = None
        self._wire_format = 0  # the wire format of `body`; 0 if `body` must be rendered

    def render(self, connection: Connection) -> tuple[int, int, bytes]:
        """Return (opcode, flags, body) for `connection`."""
        wire_format = connection.wire_format
        # Render the body again if it was rendered for another wire format, or was invalidated.
        if wire_format != self._wire_format:
            self.prerender(wire_format)
        body = self.body
        assert body is not None
        if self.tracing or self.custom_payload:
            return self.with_extras(connection, body)
        return self.opcode, 0, body

    def prerender(self, wire_format: int) -> None:
        """Render the body now, in the caller's thread, for connections of `wire_format`.

        `connection.wire_format_of` explains wire formats.
        """
        # The low byte is the protocol version.
        self.body = self._render(wire_format & 0xFF)
        self._wire_format = wire_format

    def _render(self, version: int) -> bytes:
        raise NotImplementedError

    def invalidate(self) -> None:
        self._wire_format = 0

    @property
    def names_keyspace(self) -> bool:
        return self.keyspace is not None

    def carry_keyspace(self) -> bool:
        if self.keyspace is None:
            expected = self.expected
            if not isinstance(expected, str):
                # The request expects that the connection is in no keyspace, which the protocol
                # cannot express.
                return False
            self.keyspace = expected
            self.invalidate()
        return True


class QueryBody(RequestBody):
    """A QUERY."""

    __slots__ = ("query",)
    opcode = QUERY
    depends = True

    def __init__(self, query: str, keyspace: str | None = None, expected: object = None) -> None:
        super().__init__(keyspace, expected)
        self.query = query

    def _render(self, version: int) -> bytes:
        return bodies.query_body(self.query, self, version)

    def statement_text(self) -> str | None:
        return self.query

    def texts(self) -> Sequence[str]:
        return (self.query,)

    def describe(self) -> str:
        return query_head(self.query)


class UseBody(QueryBody):
    """A USE, for which only SET_KEYSPACE is a valid response.

    The request itself must not contain a keyspace. Otherwise, with protocol version 5, the server
    would execute the USE without any effect on the connection.
    """

    __slots__ = ()
    decodes = True
    is_plain = False

    def __init__(self, query: str) -> None:
        super().__init__(query, None, USE_ITSELF)

    @property
    def is_use(self) -> bool:
        return True


class ExecuteBody(BodyMethods, ExecuteBodyBase):
    """An EXECUTE of a prepared statement with its values."""

    __slots__ = ()
    opcode = EXECUTE
    runs_anywhere = True

    def __init_subclass__(cls) -> None:
        """Raise TypeError if a subclass overrides a method that compiled code calls directly.

        The compiled base class would ignore such an override.
        """
        refuse_overrides(cls, ExecuteBody, ("cached_metadata", "prerender", "render"))

    with_extras = BodyMethods.with_extras

    def invalidate(self) -> None:
        ExecuteBodyBase.invalidate(self)

    def statement_text(self) -> str | None:
        return self.prepared.query_string

    def describe(self) -> str:
        return query_head(self.prepared.query_string)

    def prepared_statements(self) -> Sequence[PreparedStatement]:
        return (self.prepared,)

    def prepared_by(self, query_id: bytes) -> PreparedStatement | None:
        # Do not compare the id. The request has only this statement, and its id may have changed
        # because another request has prepared it again.
        return self.prepared

    def bound_rows(self) -> Iterator[BoundRow]:
        if self.values:
            yield "", self.prepared, self.values.values()

    def rebind(self, renewed: Renewed) -> None:
        self.replace(renewed.statement, renewed.values(self.values))

    def cached_metadata(self) -> ResultMetadata | None:
        metadata: ResultMetadata | None = self.result[0]
        return metadata


class BatchBody(RequestBody):
    """A batch of queries and prepared statements.

    :param statements: pairs (prepared statement, values) or (None, CQL). The values are a
        `ValuesBlock` of one row, or a `RowsBlock` of many rows.
    """

    __slots__ = ("_earlier", "_ids", "batch_type", "depends", "statements")
    opcode = BATCH

    def __init__(
        self,
        batch_type: int,
        statements: Sequence[tuple[PreparedStatement | None, Any]],
        keyspace: str | None = None,
        expected: object = None,
    ) -> None:
        super().__init__(keyspace, expected)
        self.batch_type = batch_type
        self.statements = statements
        self.depends = any(prepared is None for prepared, _ in statements)
        # The ids of the prepared statements in `body`, in order.
        self._ids: list[bytes] = []
        # Statements whose ids have changed since they were sent, by the ids that were sent; None if
        # no id has changed.
        self._earlier: dict[bytes, PreparedStatement] | None = None

    @property
    def runs_anywhere(self) -> bool:  # type: ignore[override]  # a read-only attribute
        return not self.depends

    def texts(self) -> Sequence[str]:
        return [text for prepared, text in self.statements if prepared is None]

    def render(self, connection: Connection) -> tuple[int, int, bytes]:
        # Render the batch again if a statement was prepared again and has another id now.
        if self._wire_format and self._ids != self._current_ids():
            self.invalidate()
        return RequestBody.render(self, connection)

    def _current_ids(self) -> list[bytes]:
        return [prepared.query_id for prepared, _ in self.statements if prepared is not None]

    def _render(self, version: int) -> bytes:
        """Render the batch with the current ids of its prepared statements."""
        ids = self._current_ids()
        if self._ids and self._ids != ids:
            # Attempts with the previous ids may still be in flight: keep these ids for
            # `prepared_by`.
            self._earlier = {**(self._earlier or {}), **self._statements_by_id()}
        self._ids = ids
        # Send exactly the ids that are stored: a statement may get another id while this method
        # runs, and `prepared_by` must find the statement of an id that the server does not know.
        next_id = iter(ids).__next__
        # Each tuple is (is prepared, id or CQL, values). In `self.statements`, the second item is
        # the CQL if the statement is not prepared, else its values.
        statements = [
            (False, cql_or_values, None) if prepared is None else (True, next_id(), cql_or_values)
            for prepared, cql_or_values in self.statements
        ]
        body = bodies.batch_body(self.batch_type, statements, self, version)
        # Check the size here, before the frame is built, because this error can describe the batch
        # and give advice.
        if len(body) > MAX_BODY:
            raise ValueError(
                f"{self.describe()} has {len(body)} bytes; a frame of the protocol has at most "
                f"{MAX_BODY}: make several batches of it"
            )
        return body

    @property
    def count(self) -> int:
        """The number of statements."""
        return sum(_statement_count(prepared, values) for prepared, values in self.statements)

    def describe(self) -> str:
        prepared, cql_or_values = self.statements[0] if self.statements else (None, "")
        text = cql_or_values if prepared is None else prepared.query_string
        return f"a batch of {self.count} that begins with {query_head(text)}"

    def batched_statements(self) -> Iterable[PreparedStatement]:
        return dict.fromkeys(prepared for prepared, _ in self.statements if prepared is not None)

    def prepared_by(self, query_id: bytes) -> PreparedStatement | None:
        # Look for the id among the ids that were sent, not among the statements' current ids: by
        # now, another request may have prepared a statement again with another id.
        prepared = self._statements_by_id().get(query_id)
        if prepared is None and self._earlier is not None:
            return self._earlier.get(query_id)
        return prepared

    def _statements_by_id(self) -> dict[bytes, PreparedStatement]:
        """Return the prepared statements by the ids that were sent last."""
        prepared = (prepared for prepared, _ in self.statements if prepared is not None)
        return dict(zip(self._ids or self._current_ids(), prepared, strict=True))

    def bound_rows(self) -> Iterator[BoundRow]:
        index = 0
        for prepared, values in self.statements:
            if prepared is None:
                # This statement is a CQL string, which contains its values already.
                index += 1
                continue
            for row in values_of_rows(values):
                yield f"statement {index}: ", prepared, row.values()
                index += 1

    def rebind(self, renewed: Renewed) -> None:
        self.statements = [
            (prepared, values)
            if prepared is not renewed.before
            else (renewed.statement, _rebind_values(values, renewed))
            for prepared, values in self.statements
        ]
        self.invalidate()


def _rebind_values(values: Any, renewed: Renewed) -> ValuesBlock | RowsBlock:
    """Return the values of one statement of a batch, bound again for the current column types.

    `values` is a `ValuesBlock` of one row or a `RowsBlock` of many rows; the result has the same
    class.
    """
    if not isinstance(values, RowsBlock):
        return renewed.values(values)
    block = RowsBlock(values.width)
    for row in values.rows():
        block.append(renewed.values(row))
    return block


def _statement_count(prepared: PreparedStatement | None, values: object) -> int:
    """Return how many statements of the batch one pair of `BatchBody.statements` contains.

    A pair with a `RowsBlock` contains one statement for each row; other pairs contain one
    statement.
    """
    return values.count if prepared is not None and isinstance(values, RowsBlock) else 1


def values_of_rows(values: object) -> Sequence[Any]:
    """Return the values of one pair of `BatchBody.statements`, as one block per row."""
    return values.rows() if isinstance(values, RowsBlock) else (values,)


class PrepareBody(RequestBody):
    """A PREPARE."""

    __slots__ = ("query",)
    opcode = PREPARE
    decodes = True
    is_plain = False
    depends = True

    def __init__(
        self,
        query: str,
        keyspace: str | None,
        custom_payload: Mapping[str, bytes | None] | None,
        expected: object = None,
    ) -> None:
        super().__init__(keyspace, expected)
        if custom_payload is not None:
            check_payload(custom_payload)
            custom_payload = dict(custom_payload)  # copy it: the application may change its mapping
        self.custom_payload = custom_payload
        self.query = query

    def _render(self, version: int) -> bytes:
        return prepare_body(self.query, self.keyspace, version)

    @property
    def is_use(self) -> bool:
        return False  # a PREPARE does not execute the statement

    def texts(self) -> Sequence[str]:
        return (self.query,)

    def describe(self) -> str:
        return f"PREPARE of {query_head(self.query)}"


class MessageBody(RequestBody):
    """A request as a message object, which listeners and user-defined protocol handlers may change.

    The session's protocol handler encodes the message at each attempt. If the application has set
    its own handler, that handler also decodes the response.

    The message contains the ids of its prepared statements. Before each attempt, `render` replaces
    the ids that are out of date. An id is out of date if another request has prepared the statement
    again, or if the id was withdrawn (see `reprepare.guard`). Ids that a listener has added are not
    replaced.

    :param message: the message, with the attributes that messages of cassandra-driver have.
    :param handler: the session's protocol handler.
    :param inner: the body from which the message was created.
    :param decodes: True if the handler is user-defined and decodes the response.
    """

    __slots__ = (
        "_earlier", "_result", "_statements", "decodes", "depends", "handler", "inner", "message",
        "opcode",
    )  # fmt: skip
    is_plain = False

    def __init__(
        self, message: Any, handler: Any, inner: RequestBody | ExecuteBody, decodes: bool
    ) -> None:
        super().__init__(None, getattr(inner, "expected", None))
        self.depends = inner.depends
        self.tracing = inner.tracing
        self.custom_payload = inner.custom_payload
        self.consistency = inner.consistency
        self.message = message
        self.handler = handler
        self.inner = inner
        self.decodes = decodes or inner.decodes
        self.opcode = inner.opcode
        # The message's prepared statements, by the ids that are in the message.
        self._statements = _statements_by_id(message, inner)
        # The message's prepared statements, by the ids that earlier attempts have sent.
        self._earlier: dict[bytes, PreparedStatement] = {}
        # For an EXECUTE, the cached result metadata and the message's `result_metadata_id`; else
        # None.
        self._result = inner.result if isinstance(inner, ExecuteBody) else None

    def render(self, connection: Connection) -> tuple[int, int, bytes]:
        """Return (opcode, flags, body) of the frame that the handler encodes.

        The handler encodes the frame for stream 0 and without compression. The connection later
        replaces the header by its own, and compresses the body.
        """
        message = self.message
        # If a statement has got another id since the last attempt, replace the ids in the message.
        for query_id, prepared in self._statements.items():
            if prepared.query_id != query_id:
                self._put_current_ids()
                break
        if self._result is not None:
            message.agreed_features = connection.features
            self._put_current_metadata_id()
            if self.decodes and _chooses_types(self.handler):
                # The cached columns of the statement have the driver's types, which also apply to
                # sessions with other handlers. So the response must contain the columns.
                message.skip_meta = False
        self.consistency = message.consistency_level  # for observers and retry policies
        # The arguments are: the message, the stream (0), the version, the compressor (None), and
        # whether beta versions are allowed.
        encode = self.handler.encode_message
        envelope = (
            encode(message, 0, connection.version, None, True, connection.features)
            if takes_features(encode)
            else encode(message, 0, connection.version, None, True)
        )
        # The header has the flags in its second byte and the opcode in its fifth.
        body = self.body = bytes(envelope[HEADER_SIZE:])
        self.opcode = envelope[4]
        return envelope[4], envelope[1], body

    def statement_text(self) -> str | None:
        # Read the CQL from the message, because a listener may have changed it.
        text = getattr(self.message, "query", None)
        return text if isinstance(text, str) else self.inner.statement_text()

    def texts(self) -> Sequence[str]:
        query = getattr(self.message, "query", None)
        if query is not None:
            return (query,)
        queries = getattr(self.message, "queries", None) or ()
        return [query for is_prepared, query, _ in queries if not is_prepared]

    @property
    def names_keyspace(self) -> bool:
        return getattr(self.message, "keyspace", None) is not None

    def carry_keyspace(self) -> bool:
        if getattr(self.message, "keyspace", None) is None:
            if not isinstance(self.expected, str):
                return False
            self.message.keyspace = self.expected
        return True

    def _put_current_ids(self) -> None:
        """Put the current ids of the statements into the message."""
        message = self.message
        current_ids = {
            query_id: prepared.query_id for query_id, prepared in self._statements.items()
        }
        self._earlier |= self._statements
        self._statements = {
            current_ids[query_id]: prepared for query_id, prepared in self._statements.items()
        }
        if self._result is not None:
            # An EXECUTE has only one id, a batch has many.
            message.query_id = current_ids.get(message.query_id, message.query_id)
        else:
            # `query` is the id if the statement is prepared, else its CQL.
            message.queries = [
                (is_prepared, current_ids.get(query, query) if is_prepared else query, values)
                for is_prepared, query, values in message.queries
            ]

    def _put_current_metadata_id(self) -> None:
        """Put the id of the statement's current result metadata into the message of an EXECUTE."""
        message = self.message
        prepared = self._statements.get(message.query_id)
        if prepared is None or prepared.result_metadata_and_id is self._result:
            return
        # Read the columns and their id in one step, because they must belong together. If the id
        # that we send is still current, the server omits the columns from its response.
        self._result = prepared.result_metadata_and_id
        columns, message.result_metadata_id = self._result
        if not message.result_metadata_id or not columns:
            message.skip_meta = False  # without cached columns, the response must contain them

    def rebind(self, renewed: Renewed) -> None:
        """Put the new statement and the converted values into the message and into `inner`."""
        message, statement = self.message, renewed.statement
        # Bind the values that are in the message now, because a listener may have changed them. The
        # message is an EXECUTE if there is a `_result`, otherwise a batch.
        if self._result is not None:
            if self._statements.get(message.query_id) is renewed.before:
                block = renewed.bind(message.query_params or ())
                self.inner.replace(statement, block)  # type: ignore[union-attr]
                message.query_id, message.query_params = statement.query_id, block.values()
        else:
            old_ids = {
                query_id
                for query_id, prepared in self._statements.items()
                if prepared is renewed.before
            }
            queries = [
                (True, statement.query_id, renewed.bind(values).values())
                if is_prepared and query in old_ids
                else (is_prepared, query, values)
                for is_prepared, query, values in message.queries
            ]
            self.inner.rebind(renewed)
            message.queries = queries
        # `prepared_by` must also find statements by earlier ids. The new statement may have an id
        # that the old statement had when the message was created, so store the new statement last.
        self._earlier |= self._statements
        self._statements = {
            query_id: prepared
            for query_id, prepared in self._statements.items()
            if prepared is not renewed.before
        }
        self._statements[statement.query_id] = statement

    def succeed(self, inner: RequestBody | ExecuteBody, message: Any) -> MessageBody:
        """Return the body with which this request continues after its statements were prepared.

        Settings that listeners have changed in this body's message are copied to the new message.

        :param inner: the body of the prepared statements.
        :param message: the message that was created from `inner`.
        """
        for name, value in vars(self.message).items():
            if name not in _CONTENT_ATTRIBUTES:
                setattr(message, name, value)
        if inner.opcode == BATCH:
            # The statements in this body's message were all added by listeners: append them.
            message.keyspace = self.message.keyspace
            message.queries = [*message.queries, *self.message.queries]
        return MessageBody(message, self.handler, inner, self.decodes)

    def set_consistency(self, consistency: int) -> None:
        self.consistency = self.message.consistency_level = consistency

    def set_paging_state(self, paging_state: bytes | None) -> None:
        self.message.paging_state = paging_state

    @property
    def is_later_page(self) -> bool:
        return getattr(self.message, "paging_state", None) is not None

    def describe(self) -> str:
        return self.inner.describe()

    def prepared_statements(self) -> Sequence[PreparedStatement]:
        return self.inner.prepared_statements()

    def batched_statements(self) -> Iterable[PreparedStatement]:
        return dict.fromkeys(self._statements.values())

    def bound_rows(self) -> Iterator[BoundRow]:
        return self.inner.bound_rows()

    def prepared_by(self, query_id: bytes) -> PreparedStatement | None:
        # `query_id` is the id in the attempt to which the server has responded. Another attempt may
        # have prepared the statement again since, with a newer id. So look for earlier ids, too.
        prepared = self._statements.get(query_id) or self._earlier.get(query_id)
        return prepared if prepared is not None else self.inner.prepared_by(query_id)

    def cached_metadata(self) -> ResultMetadata | None:
        return None if self._result is None else self._result[0]


# The attributes of messages that are not settings, but content: statements, values, and attributes
# that depend on them.
_CONTENT_ATTRIBUTES = frozenset({"keyspace", "queries", "query", "query_params", "skip_meta"})


def _chooses_types(handler: Any) -> bool:
    """Return True if a protocol handler reads results with an application's classes of types."""
    return chooses_types(getattr(handler, "message_types_by_opcode", {}).get(RESULT))


def _statements_by_id(
    message: Any, inner: RequestBody | ExecuteBody
) -> dict[bytes, PreparedStatement]:
    """Return the prepared statements of a message that was just created from `inner`, by id.

    We read the ids from the message, because the statements' ids may have changed since it was
    created.
    """
    if isinstance(inner, ExecuteBody):
        return {message.query_id: inner.prepared}
    statements = {}
    if isinstance(inner, BatchBody):
        # The message has one entry for each row of values, so skip the entries of further rows.
        position = 0
        for prepared, values in inner.statements:
            count = _statement_count(prepared, values)
            if prepared is not None and count:
                statements[message.queries[position][1]] = prepared
            position += count
    return statements


AnyBody = RequestBody | ExecuteBody
