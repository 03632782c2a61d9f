"""Scripted responses of a fake node: results and errors that follow the protocol.

An `Answer` is a rule for responding to a request: the node calls the method `perform` of the answer
for each request that the answer was primed for. Answers keep no state between requests, except the
answer that `sequence` returns. The module `faults` has responses that violate the protocol. Section
numbers refer to native_protocol_v5.spec.
"""

from __future__ import annotations

import hashlib
import inspect
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cassandra.testing.fake.primitives import (
    Opcode,
    bytes_map,
    long_bytes,
    short_bytes,
    string,
    string_list,
)
from cassandra.testing.fake.refusals import ErrorCode, Refusal, check_code, check_fields, error_body
from cassandra.testing.fake.values import Columns, Type, check_columns, encode_row, parse_type

if TYPE_CHECKING:
    from cassandra.testing.fake.requests import Request

__all__ = [
    "Answer", "Answerable", "Message", "Prepared", "error", "message", "metadata_id_of", "paged",
    "rows", "schema_change", "sequence", "set_keyspace", "void",
]  # fmt: skip

# Flags of an envelope (section 2.4.1.2), then flags of the metadata of rows (section 4.2.5.2).
_TRACING, _CUSTOM_PAYLOAD, _WARNING = 0x02, 0x04, 0x08
_GLOBAL_TABLE, _MORE_PAGES, _NO_METADATA, _METADATA_CHANGED = 0x1, 0x2, 0x4, 0x8
# The kinds of a RESULT. Each is the [int] with which the body begins (section 4.2.5).
_KIND_VOID = b"\0\0\0\x01"
_KIND_ROWS = b"\0\0\0\x02"
_KIND_SET_KEYSPACE = b"\0\0\0\x03"
_KIND_PREPARED = b"\0\0\0\x04"
_KIND_SCHEMA_CHANGE = b"\0\0\0\x05"


class Answer:
    """A rule for responding to requests. The node calls `perform` on the node's own thread."""

    __slots__ = ()

    def perform(self, request: Request) -> None:
        """Respond to `request`, now or later, or not at all.

        :param request: the request to respond to.
        """
        raise NotImplementedError

    def envelope(self, request: Request) -> tuple[int, int, bytes]:
        """Return (opcode, flags, body) of the response; called by answers that change these bytes.

        :param request: the request to respond to.
        :raises TypeError: if the answer is not a single message.
        """
        raise TypeError(f"{type(self).__name__} is not a single message: it cannot be wrapped")

    @property
    def is_fault(self) -> bool:
        """True if the answer is an error, or no complete response.

        The nodes that imitate managed services send such an answer instead of their own errors.
        """
        return False


# An answer, or a function that returns the answer to a request.
Answerable = Answer | Callable[["Request"], Answer]


class _Computed(Answer):
    """Calls a function for each request, and performs the answer that the function returns."""

    __slots__ = ("_function",)

    def __init__(self, function: Callable[[Request], Answer]) -> None:
        self._function = function

    def perform(self, request: Request) -> None:
        as_answer(self._function(request)).perform(request)

    def envelope(self, request: Request) -> tuple[int, int, bytes]:
        return as_answer(self._function(request)).envelope(request)


def as_answer(answer: Answerable) -> Answer:
    """Return `answer` itself if it is an `Answer`; wrap it in an `Answer` if it is a function."""
    if isinstance(answer, Answer):
        return answer
    if callable(answer):
        name = getattr(answer, "__name__", "")
        # The caller has passed a function such as `void` without calling it.
        if name in _MAKERS and getattr(answer, "__module__", None) in _MAKER_MODULES:
            raise TypeError(f"{name} is a function that makes an answer: write {name}(...)")
        _check_parameter(answer)
        return _Computed(answer)
    raise TypeError(
        f"{answer!r} is neither an answer nor a function of a request{_instead_of(answer)}"
    )


def _check_parameter(function: Callable[..., object]) -> None:
    """Raise TypeError unless a function can be called with one argument, the request."""
    try:
        parameters = inspect.signature(function)
    except (TypeError, ValueError):
        return  # `inspect` does not know the parameters of some functions that are written in C
    try:
        parameters.bind(None)
    except TypeError as error:
        raise TypeError(
            f"a function that answers gets the request: write lambda request: ... ({error})"
        ) from None


# The modules, and below the functions, that create answers. `as_answer` raises an error for such a
# function, because the caller has forgotten to call it.
_MAKER_MODULES = ("cassandra.testing.fake.answers", "cassandra.testing.fake.faults")
_MAKERS = frozenset(
    {
        "close",
        "corrupted",
        "delay",
        "dribble",
        "duplicate",
        "error",
        "garbage",
        "half_frame",
        "hold",
        "message",
        "on_stream",
        "out_of_order",
        "paged",
        "raw",
        "reset",
        "rows",
        "schema_change",
        "sequence",
        "set_keyspace",
        "silence",
        "void",
    }
)


def _instead_of(value: object) -> str:
    """Return the end of an error message: what to write instead of `value`."""
    if isinstance(value, BaseException):
        return ": write error(ErrorCode.OVERLOADED, message), with a code of the protocol"
    if value is None:
        return ": write void() for a statement that returns no rows"
    if isinstance(value, (list, tuple)) and value and isinstance(value[0], Answer):
        return ": write sequence(*answers)"
    if isinstance(value, (list, tuple)):
        return ": write rows([(name, type), ...], [(value, ...), ...])"
    return ""


class Message(Answer):
    """An answer that sends a single message.

    :param opcode: the opcode of the message, from `Opcode`.
    :param encode: called with the request; must return the body of the message, or raise `Refusal`
        to respond with an error.
    """

    __slots__ = ("_encode", "_opcode", "_payload", "_tracing_id", "_warnings")

    def __init__(self, opcode: int, encode: Callable[[Request], bytes]) -> None:
        self._opcode = opcode
        self._encode = encode
        # `having` sets these optional parts of the message.
        self._tracing_id: uuid.UUID | None = None
        self._warnings: Sequence[str] = ()
        self._payload: Mapping[str, bytes | None] = {}

    def having(
        self,
        warnings: Sequence[str] = (),
        tracing_id: uuid.UUID | None = None,
        custom_payload: Mapping[str, bytes | None] | None = None,
    ) -> Message:
        """Return a copy of the message with warnings, a tracing id, or a custom payload.

        :param warnings: the warnings, as strings.
        :param tracing_id: the tracing id. None means a random id if the request asks for tracing,
            otherwise no id.
        :param custom_payload: the custom payload; None for no payload.
        """
        # Copy instead of changing `self`, because `void()` returns the same object to all callers.
        copy = Message(self._opcode, self._encode)
        copy._warnings = warnings
        copy._tracing_id = tracing_id
        copy._payload = custom_payload or {}
        return copy

    @property
    def is_fault(self) -> bool:
        return self._opcode == Opcode.ERROR

    def perform(self, request: Request) -> None:
        opcode, flags, body = self.envelope(request)
        request.connection.send(request.stream, opcode, flags, body)

    def envelope(self, request: Request) -> tuple[int, int, bytes]:
        """Return (opcode, flags, body).

        The body begins with the tracing id, warnings and payload, if any.
        """
        try:
            body = self._encode(request)
        except Refusal as refusal:
            return Opcode.ERROR, 0, error_body(refusal.code, str(refusal), {}, request)
        tracing_id = self._tracing_id
        payload = self._payload
        # A ScyllaDB node adds the replicas of a tablet to a result, as custom payload, but not to
        # an error.
        if request.routing_payload is not None and self._opcode == Opcode.RESULT:
            payload = {**payload, **request.routing_payload}
        if (
            tracing_id is None
            and not request.flags & _TRACING
            and not self._warnings
            and not payload
        ):
            return self._opcode, 0, body
        # Section 4: the body is [<tracing_id>][<warnings>][<custom_payload>]<message>.
        flags, parts = 0, []
        if tracing_id is not None or request.flags & _TRACING:
            flags |= _TRACING
            parts.append((tracing_id or uuid.uuid4()).bytes)
        if self._warnings:
            flags |= _WARNING
            parts.append(string_list(self._warnings))
        if payload:
            flags |= _CUSTOM_PAYLOAD
            parts.append(bytes_map(payload))
        return self._opcode, flags, b"".join([*parts, body])


def message(opcode: int, body: bytes) -> Message:
    """Return an answer that sends a message with any opcode.

    :param opcode: the opcode of the message.
    :param body: the body of the message.
    """
    return Message(opcode, lambda request: body)


# All Void results are equal, so they share one answer.
_VOID = message(Opcode.RESULT, _KIND_VOID)


def void() -> Message:
    """Return a Void result, which means success (section 4.2.5.1)."""
    return _VOID


def set_keyspace(keyspace: str) -> Message:
    """Return the response to USE (section 4.2.5.3).

    :param keyspace: the name of the keyspace.
    """
    return message(Opcode.RESULT, _KIND_SET_KEYSPACE + string(keyspace))


def schema_change_body(
    change: str, target: str, keyspace: str, name: str | None, arguments: Sequence[str] | None
) -> bytes:
    """Return <change_type><target><options> (section 4.2.6)."""
    body = string(change) + string(target) + string(keyspace)
    if name is not None:
        body += string(name)
    if arguments is not None:
        body += string_list(arguments)
    return body


def schema_change(
    change: str,
    target: str,
    keyspace: str,
    name: str | None = None,
    arguments: Sequence[str] | None = None,
) -> Message:
    """Return the response to DDL, such as ``schema_change("CREATED", "TABLE", "ks", "t")``.

    See section 4.2.5.5.

    :param change: "CREATED", "UPDATED" or "DROPPED".
    :param target: "KEYSPACE", "TABLE", "TYPE", "FUNCTION" or "AGGREGATE".
    :param keyspace: the name of the keyspace.
    :param name: the name of the table, type, function or aggregate; None for a keyspace.
    :param arguments: the argument types of a function or aggregate.
    """
    return message(
        Opcode.RESULT,
        _KIND_SCHEMA_CHANGE + schema_change_body(change, target, keyspace, name, arguments),
    )


def error(code: int, message: str = "primed", **fields: Any) -> Message:
    """Return an error (section 8).

    Most error codes have further fields after the message. Fields that you do not pass get simple
    defaults. The fields are consistency (default: the request's), required, alive, received,
    blockfor, data_present, write_type, contentions, failures (address -> reason code), keyspace,
    function, arg_types, table, query_id (default: the request's), op_type, rejected_by_coordinator.

    :param code: the number of the error.
    :param message: the error message.
    :param fields: the values of the fields that follow the message, by name.
    :raises TypeError: if `code` is not a number, `message` is not a string, or if an error with
        this code has no such field, or not with such a value.
    """
    check_code(code)
    text: object = message
    if not isinstance(text, str):
        raise TypeError(f"the message of an error is a str, not {text!r} ({type(text).__name__})")
    check_fields(code, fields)
    return Message(Opcode.ERROR, lambda request: error_body(code, message, fields, request))


def _column_specs(names: Sequence[str], types: Sequence[Type], version: int) -> bytes:
    return b"".join(
        string(name) + kind.option(version) for name, kind in zip(names, types, strict=True)
    )


def _table(keyspace: str, table: str) -> bytes:
    return string(keyspace) + string(table)


def metadata_id_of(columns: Columns) -> bytes:
    """Return the id that a node assigns to these result columns (result_metadata_id) in version 5.

    :param columns: (name, type) pairs.
    """
    # Equal columns must get equal ids, so derive the id from the names and types of the columns.
    description = repr([(name, str(cql_type)) for name, cql_type in columns])
    return hashlib.md5(description.encode()).digest()


class _Rows:
    """Encodes the bodies of Rows results, either with all rows or with one page."""

    __slots__ = (
        "_encoded", "_metadata_id", "_names", "_specs_by_version", "_table", "_types",
    )  # fmt: skip

    def __init__(
        self,
        columns: Columns,
        rows: Sequence[Any],
        metadata_id: bytes | None,
        keyspace: str,
        table: str,
    ) -> None:
        check_columns(columns)
        self._names = [name for name, _ in columns]
        self._types = [parse_type(kind) for _, kind in columns]
        # Encode the rows only once: if they were encoded for each request, the node could be slower
        # than the driver that is tested.
        self._encoded = [
            encode_row(self._types, columns, row, index) for index, row in enumerate(rows)
        ]
        self._metadata_id = metadata_id if metadata_id is not None else metadata_id_of(columns)
        self._table = _table(keyspace, table)
        # Maps a protocol version to the encoded columns, because the encoding of a type depends on
        # the version.
        self._specs_by_version: dict[int, bytes] = {}

    def whole(self, request: Request, paging_state: bytes | None) -> bytes:
        return self._body(request, self._encoded, paging_state)

    def page(self, request: Request) -> bytes:
        """Return the body with the page that the paging state of the request asks for.

        :raises Refusal: if the paging state is not from an answer of `paged` with the same keyspace
            and table.
        """
        state = request.paging_state
        start = 0 if state is None else int.from_bytes(state[:4], "big")
        # Like a real node, do not accept arbitrary bytes as paging state. The digest shows that the
        # paging state was made by `paged`, so the node need not remember the paging states that it
        # has sent.
        if state is not None and state != self._paging_state(start):
            raise Refusal(ErrorCode.PROTOCOL_ERROR, "Invalid value for the paging state")
        end = start + (request.page_size or len(self._encoded))
        next_state = self._paging_state(end) if end < len(self._encoded) else None
        return self._body(request, self._encoded[start:end], next_state)

    def _paging_state(self, index: int) -> bytes:
        """Return the paging state of the page that begins with the row at `index`."""
        position = index.to_bytes(4, "big")
        # Compute the digest without the columns, because a test may change the columns between two
        # pages.
        return position + hashlib.md5(self._table + position).digest()

    def _body(
        self, request: Request, encoded: Sequence[bytes], paging_state: bytes | None
    ) -> bytes:
        """Return the body of a result that has these encoded rows.

        :param encoded: the rows.
        :param paging_state: the paging state of the next page; None if there is no further page.
        """
        flags, column_count = 0, len(self._types).to_bytes(4, "big")
        parts: list[bytes] = []
        if paging_state is not None:
            flags |= _MORE_PAGES
            parts.append(long_bytes(paging_state))
        # Section 4.2.5.2: since version 5, an EXECUTE has the id of the columns that the client
        # knows. If our id differs, the response has our id and the columns, even if the client
        # asked to skip the metadata.
        client_id = request.result_metadata_id
        if client_id is not None and client_id != self._metadata_id:
            flags |= _METADATA_CHANGED
            parts.append(short_bytes(self._metadata_id))
        elif request.skip_metadata:
            flags |= _NO_METADATA
        flags |= _GLOBAL_TABLE  # Cassandra sets this flag even if it sends no columns
        if not flags & _NO_METADATA:
            specs = self._specs_by_version.get(request.version)
            if specs is None:
                specs = self._table + _column_specs(self._names, self._types, request.version)
                self._specs_by_version[request.version] = specs
            parts.append(specs)
        # A Rows result begins with its kind, the flags and the number of columns.
        head = _KIND_ROWS + flags.to_bytes(4, "big") + column_count
        return b"".join([head, *parts, len(encoded).to_bytes(4, "big"), *encoded])


def rows(
    columns: Columns,
    rows: Sequence[Any] = (),
    *,
    paging_state: bytes | None = None,
    metadata_id: bytes | None = None,
    keyspace: str = "ks",
    table: str = "t",
) -> Message:
    """Return a result of rows (section 4.2.5.2).

    :param columns: (name, type) pairs. Types are CQL strings, or `Udt`.
    :param rows: the rows, as sequences in column order or mappings by column name.
    :param paging_state: the paging state of the next page; None if there is no further page.
    :param metadata_id: the id of the columns in version 5. The default is a digest of the columns,
        so a client that knows other columns gets these columns.
    :param keyspace: the columns' keyspace.
    :param table: the columns' table.
    """
    content = _Rows(columns, rows, metadata_id, keyspace, table)
    return Message(Opcode.RESULT, lambda request: content.whole(request, paging_state))


def paged(
    columns: Columns, rows: Sequence[Any], *, keyspace: str = "ks", table: str = "t"
) -> Message:
    """Return rows in pages, each of the page size that the request specifies.

    The paging state has the index of the next row, and a digest. A request with any other paging
    state gets the error of a real node, which the driver raises as `InvalidPagingState`.

    :param columns: as in `rows`.
    :param rows: the rows of all pages, as in `rows`.
    :param keyspace: the columns' keyspace.
    :param table: the columns' table.
    """
    content = _Rows(columns, rows, None, keyspace, table)
    return Message(Opcode.RESULT, content.page)


class Prepared:
    """A prepared statement, as a node describes it to a client.

    :param query: the CQL of the statement.
    :param columns: the columns of the bind markers, as (name, type) pairs.
    :param result: the columns of the statement's result; by default there are none.
    :param pk_indexes: indexes of the partition key columns in `columns`.
    :param query_id: the statement's id; None for a digest of the CQL.
    :param metadata_id: the id of the result's columns; None for a digest of them.
    :param keyspace: the keyspace of the columns.
    :param table: the table of the columns.
    :raises ValueError: if an index in `pk_indexes` is not that of a column.
    """

    __slots__ = (
        "columns", "keyspace", "metadata_id", "pk_indexes", "query", "query_id", "result", "table",
    )  # fmt: skip

    def __init__(
        self,
        query: str,
        columns: Columns,
        result: Columns = (),
        pk_indexes: Sequence[int] = (),
        query_id: bytes | None = None,
        metadata_id: bytes | None = None,
        keyspace: str = "ks",
        table: str = "t",
    ) -> None:
        check_columns(columns)
        check_columns(result)
        for index in pk_indexes:
            if not 0 <= index < len(columns):
                raise ValueError(
                    f"pk_indexes has {index}, but the columns of the bind markers have the indexes "
                    f"{list(range(len(columns)))}"
                )
        self.query = query
        self.columns = columns
        self.result = result
        self.pk_indexes = pk_indexes
        self.query_id = query_id if query_id is not None else hashlib.md5(query.encode()).digest()
        self.metadata_id = metadata_id if metadata_id is not None else metadata_id_of(result)
        self.keyspace = keyspace
        self.table = table

    def body(self, request: Request) -> bytes:
        """Return the body of the response to PREPARE (section 4.2.5.4).

        :param request: the PREPARE to respond to.
        """
        version = request.version
        # The response begins with the statement's id. In version 5, or with an extension of
        # ScyllaDB, the id of the result's columns follows.
        parts = [_KIND_PREPARED, short_bytes(self.query_id)]
        if request.connection.has_metadata_ids:
            parts.append(short_bytes(self.metadata_id))
        # Next comes the metadata of the bind markers.
        table = _table(self.keyspace, self.table)
        flags = _GLOBAL_TABLE if self.columns else 0
        flags |= request.connection.node.prepared_flags(self, request.connection)
        parts += (flags.to_bytes(4, "big"), len(self.columns).to_bytes(4, "big"))
        if version >= 4:
            parts.append(len(self.pk_indexes).to_bytes(4, "big"))
            parts += [index.to_bytes(2, "big") for index in self.pk_indexes]
        if self.columns:
            parts += (table, self._specs(self.columns, version))
        # Last comes the metadata of the result.
        if self.result:
            parts += (_GLOBAL_TABLE.to_bytes(4, "big"), len(self.result).to_bytes(4, "big"), table)
            parts.append(self._specs(self.result, version))
        else:
            parts.append(_NO_METADATA.to_bytes(4, "big") + b"\0\0\0\0")
        return b"".join(parts)

    @staticmethod
    def _specs(columns: Columns, version: int) -> bytes:
        return _column_specs(
            [name for name, _ in columns], [parse_type(kind) for _, kind in columns], version
        )


class _Sequence(Answer):
    """The answer that `sequence` returns. It counts its requests."""

    __slots__ = ("_answers", "_next")

    def __init__(self, answers: Sequence[Answerable]) -> None:
        self._answers = [as_answer(answer) for answer in answers]
        self._next = 0  # the index of the next answer; the last answer is repeated

    def _next_answer(self) -> Answer:
        answer = self._peek()
        self._next += 1
        return answer

    def _peek(self) -> Answer:
        return self._answers[min(self._next, len(self._answers) - 1)]

    @property
    def is_fault(self) -> bool:
        return self._peek().is_fault

    def perform(self, request: Request) -> None:
        self._next_answer().perform(request)

    def envelope(self, request: Request) -> tuple[int, int, bytes]:
        return self._next_answer().envelope(request)


def sequence(*answers: Answerable) -> Answer:
    """Return an answer that differs from request to request.

    The first answer is for the first request, the second answer for the second request, and the
    last answer for all further requests.

    :param answers: the answers, in order.
    """
    if not answers:
        raise ValueError("a sequence of no answers")
    return _Sequence(answers)
