"""RESULT of all five kinds (native_protocol_v5.spec, section 4.2.5).

Everything before a result's rows is parsed when the message arrives. The rows stay bytes until a
caller reads them, and are decoded once. An error in them is kept and raised at each access.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from cassandra._bounded import Bounded
from cassandra._forks import renew_in_child
from cassandra._threads import Lock
from cassandra.cqltypes.base import rules_of_types
from cassandra.errors import DecodeError, ProtocolError
from cassandra.limits import limits
from cassandra.protocol import opcodes
from cassandra.protocol.column_specs import (
    NO_COLUMNS,
    ColumnMetadata,
    ResultMetadata,
    UserTypes,
    read_columns,
)
from cassandra.protocol.features import ProtocolFeatures
from cassandra.protocol.messages.base import public, register_class
from cassandra.protocol.messages.events import read_schema_change
from cassandra.protocol.messages.streamed import StreamedResult
from cassandra.protocol.opcodes import (
    RESULT_KIND_PREPARED,
    RESULT_KIND_ROWS,
    RESULT_KIND_SCHEMA_CHANGE,
    RESULT_KIND_SET_KEYSPACE,
    RESULT_KIND_VOID,
    ROWS_GLOBAL_TABLES_SPEC,
    ROWS_HAS_MORE_PAGES,
    ROWS_METADATA_CHANGED,
    ROWS_NO_METADATA,
)
from cassandra.protocol.primitives import Cursor

if TYPE_CHECKING:
    from cassandra.protocol.columnar.column_buffers import ColumnPlan
    from cassandra.protocol.columnar.layouts import ColumnArray
    from cassandra.protocol.rows import columns_end
else:
    from cassandra._impl import rows

    columns_end = rows.columns_end

_one_int = struct.Struct(">i").unpack_from
VOID_BODY = struct.pack(">i", RESULT_KIND_VOID)
_new = object.__new__

# Metadata of results by their bytes, for results of statements that were not prepared.
_COLUMN_BYTES = 500
_of_specs: Bounded[tuple[int, int, bytes], ResultMetadata] = Bounded(256, 1 << 22)


@public
@register_class
class ResultMessage(StreamedResult):
    """A RESULT; `kind`, one of the ``RESULT_KIND_`` numbers, says which attributes apply.

    * ROWS: metadata (`ResultMetadata`, maybe that of the prepared statement), row_count,
      paging_state (None on the last page), result_metadata_id (bytes if the server sent a new one),
      column_names, column_types, column_metadata, parsed_rows (tuples), `decode`.
    * PREPARED: query_id, bind_metadata (list of `ColumnMetadata`), pk_indexes (None before version
      4), result_metadata, result_metadata_id, is_lwt.
    * SET_KEYSPACE: new_keyspace.
    * SCHEMA_CHANGE: schema_change_event, a dict.

    A subclass that a handler maps to this opcode may override `parsed_rows`, or set it and
    `column_names`, `column_types` and `column_metadata` while it reads (see `recv_body`).
    """

    opcode = opcodes.RESULT
    name = "RESULT"

    kind: int
    results: Any = None
    paging_state: bytes | None = None
    result_metadata_id: bytes | None = None
    metadata: ResultMetadata = NO_COLUMNS
    row_count: int = 0
    query_id: bytes = b""
    bind_metadata: list[ColumnMetadata] | None = None
    pk_indexes: list[int] | None = None
    result_metadata: ResultMetadata = NO_COLUMNS
    is_lwt: bool = False
    new_keyspace: str | None = None
    schema_change_event: dict[str, Any] | None = None
    continuous_paging_seq: int | None = None
    continuous_paging_last: bool | None = None

    # For ROWS: the body, whose rows begin at _offset.
    _body: bytes = b""
    _offset: int = 0
    # (method of the row plan, or None for an error; the rows or the error), once it is decoded.
    _page: tuple[str | None, Any] | None = None
    # Held while a page is decoded, so that two threads never decode it at once. A message from the
    # wire has its own lock; messages made by hand share this one.
    _guard = Lock()

    def __init_subclass__(cls, **named: Any) -> None:
        super().__init_subclass__(**named)
        # Rows of a subclass are what its `parsed_rows` are. Set here, so that the stock class need
        # not look which it is.
        if cls.decode is ResultMessage.decode:
            cls.decode = _decode_own  # type: ignore[method-assign]

    @property
    def column_names(self) -> list[str] | None:
        """The names of a ROWS result's columns; None for another kind."""
        if "column_names" in self.__dict__:
            return self.__dict__["column_names"]  # type: ignore[no-any-return]
        return list(self.metadata.names) if self.kind == RESULT_KIND_ROWS else None

    @column_names.setter
    def column_names(self, names: list[str] | None) -> None:
        self.__dict__["column_names"] = names

    @property
    def column_types(self) -> list[Any] | None:
        """The `cassandra.cqltypes` classes of a ROWS result's columns; None for another kind."""
        if "column_types" in self.__dict__:
            return self.__dict__["column_types"]  # type: ignore[no-any-return]
        return self.metadata.types if self.kind == RESULT_KIND_ROWS else None

    @column_types.setter
    def column_types(self, types: list[Any] | None) -> None:
        self.__dict__["column_types"] = types

    @property
    def column_metadata(self) -> list[ColumnMetadata] | None:
        """The columns of a ROWS result, or the result's columns of a PREPARED one."""
        if "column_metadata" in self.__dict__:
            return self.__dict__["column_metadata"]  # type: ignore[no-any-return]
        if self.kind == RESULT_KIND_PREPARED:
            return list(self.result_metadata.columns)
        return list(self.metadata.server_columns) if self.kind == RESULT_KIND_ROWS else None

    @column_metadata.setter
    def column_metadata(self, columns: list[ColumnMetadata] | None) -> None:
        self.__dict__["column_metadata"] = columns
        if columns:
            self.metadata = ResultMetadata([ColumnMetadata(*column[:4]) for column in columns])

    @property
    def has_more_pages(self) -> bool:
        return self.paging_state is not None

    @property
    def parsed_rows(self) -> list[tuple[Any, ...]] | None:
        """The page as tuples, decoded at the first access; None for another kind than ROWS.

        :raises DecodeError: at each access, if a value cannot be decoded.
        """
        if "parsed_rows" in self.__dict__:
            return self.__dict__["parsed_rows"]  # type: ignore[no-any-return]
        if self.kind != RESULT_KIND_ROWS:
            return None
        rows: list[tuple[Any, ...]] = self._decoded("tuples")
        return rows

    @parsed_rows.setter
    def parsed_rows(self, rows: Any) -> None:
        self.__dict__["parsed_rows"] = rows
        self.row_count = len(rows) if isinstance(rows, Sequence) else 0

    @property
    def has_own_rows(self) -> bool:
        """True if a program's class has set `parsed_rows`: there are no bytes to read then."""
        return "parsed_rows" in self.__dict__

    def take_rows(self, body: bytes, count: int) -> None:
        """See `StreamedResult.take_rows`."""
        self._body, self._offset, self.row_count, self._guard = body, 0, count, Lock()

    def read_other(
        self,
        body: bytes,
        version: int,
        features: ProtocolFeatures | None,
        user_types: UserTypes | None,
    ) -> None:
        """See `StreamedResult.read_other`."""
        _read_kind(self, Cursor(body), version, features, user_types)

    @property
    def rows_body(self) -> tuple[bytes, int, int]:
        """(body, offset of the first row, number of rows): the page as it came.

        It is for callers that decode it in their own way.
        """
        return self._body, self._offset, self.row_count

    def decode(self, row_factory: Callable[..., Any]) -> Any:
        """Return the rows as `row_factory` makes them; [] for another kind than ROWS.

        The four factories of `cassandra.query` make rows straight from the bytes. Another one is
        called as ``row_factory(column_names, rows)`` with a list of tuples.

        :param row_factory: a function of column names and rows.
        """
        if self.kind != RESULT_KIND_ROWS:
            return []
        method = getattr(row_factory, "row_plan_method", None)
        # functools.wraps copies attributes to wrappers, which are other functions: their own code
        # must run.
        if method is not None and method[1] is row_factory:
            return self._decoded(method[0])
        typed = getattr(row_factory, "rows_of", None)
        if typed is not None:  # see cassandra.query.typed_rows
            return typed(self.metadata, self._decoded("tuples"))
        return row_factory(self.column_names, self._decoded("tuples"))

    def columns(self, column_plan: ColumnPlan) -> ColumnArray:
        """Return the page as columns; they are made anew at each call.

        If an earlier access to the rows failed, this raises the same error: rows and columns refuse
        the same pages.

        :param column_plan: a `ColumnPlan` of this metadata.
        """
        page = self._page
        if page is not None and page[0] is None:
            raise page[1].with_traceback(None)
        return column_plan.read(self._body, self._offset, self.row_count)

    def _decoded(self, method: str) -> Any:
        """Return the page from one method of the row plan; asking for the same again is free."""
        guard = self._guard
        guard.acquire()  # `with` would cost twice as much, which one row feels
        try:
            page = self._page
            if page is not None:
                if page[0] == method:
                    return page[1]
                if page[0] is None:
                    # Without the frames of earlier accesses: a kept error would collect more of
                    # them each time.
                    raise page[1].with_traceback(None)
            row_plan = self.metadata._row_plan or self.metadata.row_plan
            rows = getattr(row_plan, method)(self._body, self._offset, self.row_count)
            self._page = (method, rows)
            return rows
        except DecodeError as error:
            self._page = (None, error)
            raise
        finally:
            guard.release()


def _decode_own(self: ResultMessage, row_factory: Callable[..., Any]) -> Any:
    """`ResultMessage.decode` of subclasses: rows are made of `parsed_rows`."""
    if self.kind != RESULT_KIND_ROWS:
        return []
    typed = getattr(row_factory, "rows_of", None)
    if typed is not None:
        return typed(self.metadata, self.parsed_rows)
    rows = row_factory(self.column_names, self.parsed_rows)
    # Columns by name instead of rows: they stand in a list, as one row.
    return [rows] if isinstance(rows, dict) else rows


@renew_in_child
def _renew_lock() -> None:
    ResultMessage._guard = Lock()


# The answer to most writes. All of them share it, so nothing may be set on it.
VOID_RESULT = ResultMessage(RESULT_KIND_VOID)


def read_result(
    body: bytes,
    pos: int,
    version: int,
    features: ProtocolFeatures | None = None,
    user_types: UserTypes | None = None,
    cached: ResultMetadata | None = None,
) -> ResultMessage:
    """Return the RESULT at `pos` of `body`.

    :param cached: the metadata kept for the prepared statement that was executed.
    """
    if cached is not None:
        # The usual answer to a prepared statement: rows with the known metadata, or without any.
        rows = cached.rows_at(body, pos, user_types)
        if rows:
            return rows_result(cached, body, rows)
    # Made without calling __init__, which would cost each request.
    message = _new(ResultMessage)
    message.kind = kind = _one_int(body, pos)[0]
    if kind == RESULT_KIND_ROWS:
        end = columns_end(body, pos) if cached is None else 0
        if end:
            # The same bytes mean the same columns, as long as the rest of the key is the same.
            key = (rules_of_types(), limits.columns, body[pos:end])
            metadata = _of_specs.get(key)
            if metadata is not None:
                message.metadata = metadata
                return _at_rows(message, body, end)
        cursor = Cursor(body, pos + 4)
        message.metadata = metadata = read_result_metadata(message, cursor, user_types, cached)
        if end == cursor.pos and not metadata.has_user_types:
            _of_specs.keep(key, metadata, _COLUMN_BYTES * len(metadata) + len(key[2]))
        return _at_rows(message, body, cursor.pos)
    _read_kind(message, Cursor(body, pos + 4), version, features, user_types)
    return message


def _read_kind(
    message: ResultMessage,
    cursor: Cursor,
    version: int,
    features: ProtocolFeatures | None,
    user_types: UserTypes | None,
) -> None:
    """Read the rest behind the kind of a result that is not ROWS."""
    kind = message.kind
    if kind == RESULT_KIND_PREPARED:
        _read_prepared(message, cursor, version, features, user_types)
    elif kind == RESULT_KIND_SET_KEYSPACE:
        message.new_keyspace = cursor.name()
    elif kind == RESULT_KIND_SCHEMA_CHANGE:
        message.schema_change_event = read_schema_change(cursor)
    elif kind != RESULT_KIND_VOID:
        raise ProtocolError(f"a result of the unknown kind {kind}")


def rows_result(metadata: ResultMetadata, body: bytes, pos: int) -> ResultMessage:
    """Return a RESULT of rows with this metadata, whose row count is at `pos` of `body`."""
    message = _new(ResultMessage)
    message.kind = RESULT_KIND_ROWS
    message.metadata = metadata
    return _at_rows(message, body, pos)


def _at_rows(message: ResultMessage, body: bytes, pos: int) -> ResultMessage:
    """Return `message` with <rows_count><rows_content> at `pos` of `body` (section 4.2.5.2)."""
    # Only the count is read now. Rows are decoded in the thread that reads them, not on the loop.
    (row_count,) = _one_int(body, pos)
    if row_count < 0:
        raise ProtocolError(f"a result of {row_count} rows")
    message.row_count = row_count
    message._body = body
    message._offset = pos + 4
    message._guard = Lock()
    return message


def read_result_metadata(
    message: ResultMessage,
    cursor: Cursor,
    user_types: UserTypes | None,
    cached: ResultMetadata | None,
) -> ResultMetadata:
    """Read <metadata> of section 4.2.5.2.

    Sets `paging_state` and `result_metadata_id` of `message`.
    """
    flags = cursor.int32()
    count = cursor.int32()
    # In the order of the wire: the paging state comes before the new id (section 4.2.5.2).
    if flags & ROWS_HAS_MORE_PAGES:
        message.paging_state = cursor.blob()
    if flags & ROWS_METADATA_CHANGED:
        message.result_metadata_id = cursor.short_bytes()
    if flags & ROWS_NO_METADATA:
        return _skipped_metadata(count, user_types, cached)
    is_global = bool(flags & ROWS_GLOBAL_TABLES_SPEC)
    metadata_id = message.result_metadata_id
    # A response that carries metadata is decoded by that metadata; the same bytes as last time need
    # no parsing.
    if cached is not None and cached.same_specs(
        cursor.data, cursor.pos, is_global, count, user_types
    ):
        cursor.pos += len(cached.raw)
        return cached if metadata_id is None else cached.with_id(metadata_id)
    return read_columns(cursor, count, is_global, user_types, metadata_id)


def _skipped_metadata(
    count: int, user_types: UserTypes | None, cached: ResultMetadata | None
) -> ResultMetadata:
    if cached is None:
        if count:
            raise ProtocolError(
                f"a result of {count} columns came without metadata, and none is remembered for it"
            )
        return NO_COLUMNS
    if len(cached) != count:
        raise ProtocolError(
            f"a result of {count} columns came without metadata, "
            f"but {len(cached)} columns are remembered for it "
            f"({', '.join(cached.names)})"
        )
    # A class may have been registered since the statement was prepared.
    return cached.for_user_types(user_types)


def _read_prepared(
    message: ResultMessage,
    cursor: Cursor,
    version: int,
    features: ProtocolFeatures | None,
    user_types: UserTypes | None,
) -> None:
    """Read section 4.2.5.4.

    Partition key indexes came with version 4, metadata ids with 5 (or ScyllaDB's extension).
    """
    message.query_id = cursor.short_bytes()
    metadata_id = None
    if version >= 5 or (features is not None and features.use_metadata_id):
        metadata_id = cursor.short_bytes()
    flags = cursor.int32()
    count = cursor.int32()
    if version >= 4:
        pk_count = cursor.int32()
        if pk_count < 0 or pk_count * 2 > len(cursor.data) - cursor.pos:
            raise ProtocolError(f"{pk_count} partition key indexes are more than the message holds")
        message.pk_indexes = [cursor.short() for _ in range(pk_count)]
    if features is not None and features.lwt_info is not None:
        message.is_lwt = features.lwt_info.get_lwt_flag(flags & 0xFFFFFFFF)
    bound = read_columns(cursor, count, bool(flags & ROWS_GLOBAL_TABLES_SPEC), user_types)
    message.bind_metadata = list(bound.columns)
    result = (
        read_result_metadata(message, cursor, user_types, None)
        if _has_result_metadata(cursor)
        else NO_COLUMNS
    )
    message.result_metadata_id = metadata_id
    message.result_metadata = result.with_id(metadata_id)


def _has_result_metadata(cursor: Cursor) -> bool:
    return cursor.pos < len(cursor.data)
