"""Request bodies: rendered once for the version that the session expects.

They are rendered again if a connection differs.

The values stand in a block that was made in the caller's thread and never changes; only the
envelope around it is rendered anew (another protocol version, a re-prepared statement's id, another
consistency level on a retry).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cassandra.engine.overrides import refuse_overrides
from cassandra.engine.prepare.body import prepare_body
from cassandra.protocol.extras import check_payload, request_extras
from cassandra.protocol.messages.encode import takes_features
from cassandra.protocol.opcodes import BATCH, EXECUTE, MAX_BODY, PREPARE, QUERY
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
    from cassandra.protocol.bind import RowsBlock
else:
    from cassandra._impl import bind, bodies, happy_path

    ExecuteBodyBase = happy_path.ExecuteBodyBase
    RowsBlock = bind.RowsBlock

__all__ = [
    "USE_ITSELF",
    "AnyBody",
    "BatchBody",
    "ExecuteBody",
    "MessageBody",
    "PrepareBody",
    "QueryBody",
    "RequestBody",
    "UseBody",
    "values_of_rows",
]

# In the place of the keyspace that a request expects: it switches that of the connection.
USE_ITSELF: Any = object()

BoundRow = tuple[str, PreparedStatement, Sequence[Any]]

# Bytes of a header: version, flags, stream (2), opcode, length (4).
HEADER_SIZE = 9


class BodyMethods:
    """The methods of all request bodies; `body` is as it was rendered last, None before."""

    __slots__ = ()

    opcode: int
    # whether each answer is decoded as a whole and checked: because VOID or ROWS would be a wrong
    # answer, or because a handler reads it
    decodes = False
    # whether a thread of the program may send it by itself: rendering calls no code of a program,
    # and the answer changes nothing for later requests
    is_plain = True
    # whether names without a keyspace in it belong to that of the connection
    depends = False

    # Of those that have them:
    expected: object
    body: bytes | None
    consistency: int
    custom_payload: Mapping[str, bytes | None] | None
    paging_state: bytes | None
    tracing: bool

    def invalidate(self) -> None:
        """The body is made anew before it is sent again."""
        raise NotImplementedError

    def with_extras(self, connection: Connection, body: bytes) -> tuple[int, int, bytes]:
        """Return (opcode, flags, body) with tracing or a custom payload."""
        # A beta version was opted in to, or there would be no connection of it.
        flags, extras = request_extras(
            connection.version, self.tracing, self.custom_payload, allow_beta=True
        )
        return self.opcode, flags, extras + body

    @property
    def size(self) -> int:
        """Bytes of the rendered body; 0 before it is rendered."""
        return len(self.body) if self.body is not None else 0

    def set_consistency(self, consistency: int) -> None:
        """Another consistency level from the next attempt on."""
        if consistency != self.consistency:
            # It is a slot of the classes that this is mixed into.
            self.consistency = consistency  # type: ignore[misc]
            self.invalidate()

    def set_paging_state(self, paging_state: bytes | None) -> None:
        """Ask for another page."""
        self.paging_state = paging_state  # type: ignore[misc]
        self.invalidate()

    def describe(self) -> str:
        """Say in a few words, for messages, which statement is executed."""
        raise NotImplementedError

    def statement_text(self) -> str | None:
        """The text that decides which answers may come; None if the opcode alone does."""
        return None

    @property
    def is_use(self) -> bool:
        """True if the server switches the keyspace of the connection that executes it."""
        return is_use(self.statement_text() or "")

    @property
    def names_keyspace(self) -> bool:
        """True if the request names the keyspace of names that lack it, on version 5 and later."""
        return True

    def texts(self) -> Sequence[str]:
        """The texts in which names may lack their keyspace."""
        return ()

    def carry_keyspace(self) -> bool:
        """Name the expected keyspace in the request itself, for connections of version 5 and later.

        Return False if no keyspace is expected: the protocol has no way to say so.
        """
        return True

    def prepared_statements(self) -> Sequence[PreparedStatement]:
        """The prepared statement whose result columns the answer has; none for a batch, whose
        answer has columns of its own.
        """
        return ()

    def prepared_by(self, query_id: bytes) -> PreparedStatement | None:
        """The prepared statement that the request, as it was rendered last, names by `query_id`."""
        return None

    def cached_metadata(self) -> Any:
        """The result metadata remembered for the statement, to decode the answer with."""
        return None

    def bound_rows(self) -> Iterator[BoundRow]:
        """Yield the values of each execution of a prepared statement, to look into after an error.

        :returns: (where it is in a batch, the statement, a body of each value) of each.
        """
        yield from ()

    def renew(self, old_id: bytes, prepared: PreparedStatement) -> None:
        """`prepared`, which had `old_id`, was prepared again. A body that renders from the
        statement itself needs nothing.
        """

    def rebind(self, renewed: Renewed) -> None:
        """Take the values of a statement for the types that its columns have now.

        :param renewed: the statement as it was and as it is.
        :raises BindColumnsChanged: if the values are not values of these types.
        """
        raise renewed.refusal("by this request")


class RequestBody(BodyMethods, QueryParams):
    """One request's opcode, flags and body, with its own query parameters. `render` gives them for
    a connection.

    :param keyspace: travels in the request, which needs version 5.
    :param expected: the keyspace of names that have none, None if there is none. A request whose
        text depends on it is sent to no connection that is in another keyspace. `USE_ITSELF` is
        that of a USE.
    """

    __slots__ = ("_wire_format", "body", "custom_payload", "expected", "tracing")

    def __init__(self, keyspace: str | None = None, expected: object = None) -> None:
        QueryParams.__init__(self, 0)  # `happy_path.resolve` gives it the rest
        self.keyspace = keyspace
        self.expected = keyspace if expected is None else expected
        self.tracing = False
        self.custom_payload: Mapping[str, bytes | None] | None = None
        self.body: bytes | None = None
        self._wire_format = 0  # that body is rendered in; 0 for none

    def render(self, connection: Connection) -> tuple[int, int, bytes]:
        """(opcode, flags, body) for `connection`."""
        wire_format = connection.wire_format
        if wire_format != self._wire_format:
            self.prerender(wire_format)
        body = self.body
        assert body is not None
        if self.tracing or self.custom_payload:
            return self.with_extras(connection, body)
        return self.opcode, 0, body

    def prerender(self, wire_format: int) -> None:
        """Make the body now, in the caller's thread, for connections of `wire_format` (see
        `connection.wire_format_of`).
        """
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
                return False
            self.keyspace = expected
            self.invalidate()
        return True


class QueryBody(RequestBody):
    """A query's text."""

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
    """A USE, which nothing but SET_KEYSPACE answers.

    It names no keyspace beside that of its text: with one, version 5 would execute it without any
    effect on the connection.
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
    """A prepared statement's id with its values."""

    __slots__ = ()
    opcode = EXECUTE

    def __init_subclass__(cls) -> None:
        """Refuse to override methods that would be passed over."""
        refuse_overrides(cls, ExecuteBody, ("cached_metadata", "prerender", "render"))

    with_extras = BodyMethods.with_extras

    def invalidate(self) -> None:
        ExecuteBodyBase.invalidate(self)

    def statement_text(self) -> str | None:
        text: str = self.prepared.query_string
        return text

    def describe(self) -> str:
        return query_head(self.prepared.query_string)

    def prepared_statements(self) -> Sequence[PreparedStatement]:
        return (self.prepared,)

    def prepared_by(self, query_id: bytes) -> PreparedStatement | None:
        # There is only one, whatever its id is by now: another request may have prepared it again
        # meanwhile.
        prepared: PreparedStatement = self.prepared
        return prepared

    def bound_rows(self) -> Iterator[BoundRow]:
        if self.values:
            yield "", self.prepared, self.values.values()

    def rebind(self, renewed: Renewed) -> None:
        self.replace(renewed.statement, renewed.values(self.values))

    def cached_metadata(self) -> Any:
        return self.result[0]


class BatchBody(RequestBody):
    """A batch of queries and prepared statements.

    :param statements: (prepared statement, values) each, or (None, text). The values are a block of
        one row, or of many.
    """

    __slots__ = ("_ids", "batch_type", "depends", "statements")
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
        self._ids: list[bytes] = []

    def texts(self) -> Sequence[str]:
        return [text for prepared, text in self.statements if prepared is None]

    def render(self, connection: Connection) -> tuple[int, int, bytes]:
        # A statement that was prepared again may have another id, and the body names the old one.
        if self._wire_format and self._ids != self._current_ids():
            self.invalidate()
        return RequestBody.render(self, connection)

    def _current_ids(self) -> list[bytes]:
        return [prepared.query_id for prepared, _ in self.statements if prepared is not None]

    def _render(self, version: int) -> bytes:
        self._ids = self._current_ids()
        statements = [
            (False, values, None) if prepared is None else (True, prepared.query_id, values)
            for prepared, values in self.statements
        ]
        body = bodies.batch_body(self.batch_type, statements, self, version)
        # Refused here, where the message can say which batch it is and what helps.
        if len(body) > MAX_BODY:
            raise ValueError(
                f"{self.describe()} has {len(body)} bytes; a frame of the protocol has at most "
                f"{MAX_BODY}: make several batches of it"
            )
        return body

    @property
    def count(self) -> int:
        """The number of statements."""
        return sum(_rows_in(prepared, values) for prepared, values in self.statements)

    def describe(self) -> str:
        prepared, values = self.statements[0] if self.statements else (None, "")
        text = values if prepared is None else prepared.query_string
        return f"a batch of {self.count} that begins with {query_head(text)}"

    def prepared_by(self, query_id: bytes) -> PreparedStatement | None:
        # By the ids that were sent: another request may have prepared one again meanwhile, under
        # another id.
        prepared = (prepared for prepared, _ in self.statements if prepared is not None)
        return next(
            (
                one
                for one, sent in zip(prepared, self._ids or self._current_ids(), strict=True)
                if sent == query_id
            ),
            None,
        )

    def bound_rows(self) -> Iterator[BoundRow]:
        index = 0
        for prepared, values in self.statements:
            if prepared is None:
                index += 1
                continue
            for row in values_of_rows(values):
                yield f"statement {index}: ", prepared, row.values()
                index += 1

    def rebind(self, renewed: Renewed) -> None:
        self.statements = [
            (prepared, values)
            if prepared is not renewed.before
            else (renewed.statement, _rebound(values, renewed))
            for prepared, values in self.statements
        ]
        self.invalidate()


def _rebound(values: Any, renewed: Renewed) -> Any:
    if not isinstance(values, RowsBlock):
        return renewed.values(values)
    made = RowsBlock(values.width)
    for row in values.rows():
        made.append(renewed.values(row))
    return made


def _rows_in(prepared: PreparedStatement | None, values: object) -> int:
    return values.count if prepared is not None and isinstance(values, RowsBlock) else 1


def values_of_rows(values: object) -> Sequence[Any]:
    """Return the block of each row of the values that `BatchBody` has."""
    return values.rows() if isinstance(values, RowsBlock) else (values,)


class PrepareBody(RequestBody):
    """A query's text, to be prepared."""

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
        self.custom_payload = custom_payload
        self.query = query

    def _render(self, version: int) -> bytes:
        return prepare_body(self.query, self.keyspace, version)

    @property
    def is_use(self) -> bool:
        return False  # it is not executed

    def texts(self) -> Sequence[str]:
        return (self.query,)

    def describe(self) -> str:
        return f"PREPARE of {query_head(self.query)}"


class MessageBody(RequestBody):
    """A message object, encoded by the session's protocol handler at every attempt, so that
    listeners may change it.

    A handler of the program's own reads the answer too.
    """

    __slots__ = ("decodes", "depends", "handler", "inner", "message", "opcode")
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

    def render(self, connection: Connection) -> tuple[int, int, bytes]:
        """(opcode, flags, body) out of the handler's envelope for stream 0, uncompressed."""
        # The connection adds stream and compression itself: only flags, opcode and body are taken
        # over.
        message = self.message
        if self.inner.opcode == EXECUTE:
            message.agreed_features = connection.features
        encode = self.handler.encode_message
        envelope = (
            encode(message, 0, connection.version, None, True, connection.features)
            if takes_features(encode)
            else encode(message, 0, connection.version, None, True)
        )
        body = self.body = bytes(envelope[HEADER_SIZE:])
        self.opcode = envelope[4]
        return envelope[4], envelope[1], body

    def statement_text(self) -> str | None:
        text = getattr(self.message, "query", None)  # a listener may have changed it
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

    def renew(self, old_id: bytes, prepared: PreparedStatement) -> None:
        message = self.message
        if getattr(message, "query_id", None) == old_id:
            message.query_id = prepared.query_id
            message.result_metadata_id = prepared.result_metadata_id
        elif isinstance(getattr(message, "queries", None), list):
            message.queries = [
                (
                    is_prepared,
                    prepared.query_id if is_prepared and query == old_id else query,
                    values,
                )
                for is_prepared, query, values in message.queries
            ]

    def set_consistency(self, consistency: int) -> None:
        self.consistency = self.message.consistency_level = consistency

    def set_paging_state(self, paging_state: bytes | None) -> None:
        self.message.paging_state = paging_state

    def describe(self) -> str:
        return self.inner.describe()

    def prepared_statements(self) -> Sequence[PreparedStatement]:
        return self.inner.prepared_statements()

    def bound_rows(self) -> Iterator[BoundRow]:
        return self.inner.bound_rows()

    def prepared_by(self, query_id: bytes) -> PreparedStatement | None:
        return self.inner.prepared_by(query_id)

    def cached_metadata(self) -> Any:
        return self.inner.cached_metadata()


AnyBody = RequestBody | ExecuteBody
