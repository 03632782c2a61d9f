"""RESULT messages of all five kinds (native_protocol_v5.spec, section 4.2.5).

When a RESULT arrives, everything before its rows is parsed. The rows stay bytes until the
application accesses them. They are then decoded once, and the decoded rows are kept. If decoding
fails, the error is kept, and each access raises it again.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from cassandra._bounded import Bounded
from cassandra.cqltypes.base import rules_of_types
from cassandra.errors import ProtocolError, UnknownContent
from cassandra.limits import limits
from cassandra.protocol import opcodes
from cassandra.protocol.column_specs import (
    NO_COLUMNS,
    ColumnMetadata,
    ResultMetadata,
    UserTypes,
    check_metadata_flags,
    checked_paging_state,
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
    from cassandra.protocol.columnar.layouts import ColumnArray, PagePlan
    from cassandra.protocol.rows import EncodedRows, columns_end
else:
    from cassandra._impl import rows

    EncodedRows, columns_end = rows.EncodedRows, rows.columns_end

_int32_at = struct.Struct(">i").unpack_from
VOID_BODY = struct.pack(">i", RESULT_KIND_VOID)
_new = object.__new__

_COLUMN_BYTES = 500  # estimated memory of a column, for the limit of the cache below
# A cache for results of unprepared statements. It maps the bytes of their column specs, together
# with the settings on which parsing depends, to the metadata.
_metadata_by_specs: Bounded[tuple[int, int, bytes], ResultMetadata] = Bounded(256, 1 << 22)


@public
@register_class
class ResultMessage(StreamedResult):
    """A RESULT message. Its `kind`, a ``RESULT_KIND_`` constant, says which attributes are set.

    * ROWS: metadata (a `ResultMetadata`; if the server sent none, the prepared statement's),
      row_count, paging_state (None on the last page), result_metadata_id (bytes if the server sent
      a new id, else None), column_names, column_types, column_metadata, parsed_rows (a list of
      tuples); see also `decode`.
    * PREPARED: query_id, bind_metadata (a list of `ColumnMetadata`), pk_indexes (None before
      version 4), result_metadata, result_metadata_id, is_lwt.
    * SET_KEYSPACE: new_keyspace.
    * SCHEMA_CHANGE: schema_change_event, a dict.

    An application's handler may map the opcode of RESULT to a subclass. The subclass may override
    `parsed_rows`. Or its `recv_body` may set `parsed_rows`, `column_names`, `column_types` and
    `column_metadata`.
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

    # The values that an application has set for the properties `column_names`, `column_types`,
    # `column_metadata` and `parsed_rows`, by name. None if it has set no value. (We do not use
    # `__dict__`, because accessing it would make Python create it.)
    _own: dict[str, Any] | None = None

    # The encoded rows of a ROWS result; None for other kinds, and for an application's message.
    _encoded: EncodedRows | None = None

    def __init_subclass__(cls, **named: Any) -> None:
        super().__init_subclass__(**named)
        # A subclass may override `parsed_rows`, so its `decode` must call `parsed_rows`. Replace
        # `decode` here, so that `ResultMessage.decode` need not check for subclasses.
        if cls.decode is ResultMessage.decode:
            cls.decode = _decode_parsed_rows  # type: ignore[method-assign]

    @property
    def column_names(self) -> list[str] | None:
        """The names of the columns of a ROWS result; None for other kinds."""
        if self._own is not None and "column_names" in self._own:
            return self._own["column_names"]  # type: ignore[no-any-return]
        return list(self.metadata.names) if self.kind == RESULT_KIND_ROWS else None

    @column_names.setter
    def column_names(self, names: list[str] | None) -> None:
        self._set("column_names", names)

    @property
    def column_types(self) -> list[Any] | None:
        """The `cassandra.cqltypes` class of each column of a ROWS result; None for other kinds."""
        if self._own is not None and "column_types" in self._own:
            return self._own["column_types"]  # type: ignore[no-any-return]
        return self.metadata.types if self.kind == RESULT_KIND_ROWS else None

    @column_types.setter
    def column_types(self, types: list[Any] | None) -> None:
        self._set("column_types", types)

    @property
    def column_metadata(self) -> list[ColumnMetadata] | None:
        """The columns of a ROWS result, or of the results of a PREPARED statement.

        None for other kinds.
        """
        if self._own is not None and "column_metadata" in self._own:
            return self._own["column_metadata"]  # type: ignore[no-any-return]
        if self.kind == RESULT_KIND_PREPARED:
            return list(self.result_metadata.columns)
        return list(self.metadata.server_columns) if self.kind == RESULT_KIND_ROWS else None

    @column_metadata.setter
    def column_metadata(self, columns: list[ColumnMetadata] | None) -> None:
        self._set("column_metadata", columns)
        if columns:
            self.metadata = ResultMetadata([ColumnMetadata(*column[:4]) for column in columns])

    @property
    def has_more_pages(self) -> bool:
        return self.paging_state is not None

    @property
    def parsed_rows(self) -> list[tuple[Any, ...]] | None:
        """The rows as tuples, decoded at the first access; None if `kind` is not ROWS.

        :raises DecodeError: at each access, if a value cannot be decoded.
        """
        if self._own is not None and "parsed_rows" in self._own:
            return self._own["parsed_rows"]  # type: ignore[no-any-return]
        if self.kind != RESULT_KIND_ROWS:
            return None
        return self._decode_rows("tuples")

    @parsed_rows.setter
    def parsed_rows(self, rows: Any) -> None:
        self._set("parsed_rows", rows)
        self.row_count = len(rows) if isinstance(rows, Sequence) else 0

    @property
    def has_own_rows(self) -> bool:
        """True if an application's class has set `parsed_rows`, so there are no encoded rows."""
        return self._own is not None and "parsed_rows" in self._own

    def _set(self, name: str, value: Any) -> None:
        """Make the property `name` return `value` from now on."""
        self._own = {**(self._own or {}), name: value}

    def take_rows(self, body: bytes, count: int) -> None:
        """Store the encoded rows, so that they are decoded when they are accessed."""
        self._encoded = EncodedRows(body, 0, count)
        self.row_count = count

    def keep_first(self, count: int) -> None:
        """Drop all encoded rows except the first `count`. The rows must not have been decoded yet.

        :param count: the number of rows to keep.
        """
        encoded = self._encoded_rows()
        self._encoded = EncodedRows(encoded.body, encoded.offset, count)
        self.row_count = count

    def read_other(
        self,
        body: bytes,
        version: int,
        features: ProtocolFeatures | None,
        user_types: UserTypes | None,
    ) -> None:
        """Read the fields of a RESULT whose kind is not ROWS."""
        _read_fields_of_kind(self, Cursor(body), version, features, user_types)

    @property
    def rows_body(self) -> tuple[bytes, int, int]:
        """The encoded rows: (body, offset of the first row in the body, number of rows).

        This is for code that decodes the rows itself.
        """
        encoded = self._encoded_rows()
        return encoded.body, encoded.offset, encoded.count

    def decode(self, row_factory: Callable[..., Any]) -> Any:
        """Return the rows that `row_factory` makes, or [] if `kind` is not ROWS.

        For the four row factories of `cassandra.query`, the row plan decodes the bytes directly to
        rows of these factories. Any other factory is called as ``row_factory(column_names, rows)``
        with a list of tuples.

        :param row_factory: a function of column names and rows.
        """
        if self.kind != RESULT_KIND_ROWS:
            return []
        method_of_factory = getattr(row_factory, "row_plan_method", None)
        # functools.wraps copies the attribute to a wrapper of a factory, but then we must call the
        # wrapper. So check that the attribute belongs to this function.
        if method_of_factory is not None and method_of_factory[1] is row_factory:
            return self._decode_rows(method_of_factory[0])
        make_typed_rows = getattr(row_factory, "rows_of", None)
        if make_typed_rows is not None:  # a `TypedRows` factory also needs the columns' types
            return make_typed_rows(self.metadata, self._decode_rows("tuples"))
        return row_factory(self.column_names, self._decode_rows("tuples"))

    def columns(self, column_plan: PagePlan) -> ColumnArray:
        """Decode the page into columns; each call decodes it again.

        If an earlier access to the rows failed, this raises the same error.

        :param column_plan: a `ColumnPlan` of this metadata, or an object with the same methods.
        """
        encoded = self._encoded_rows()
        encoded.check()
        return column_plan.read(encoded.body, encoded.offset, encoded.count)

    def _encoded_rows(self) -> EncodedRows:
        """Return the encoded rows; zero rows for a message that an application has created."""
        encoded = self._encoded
        if encoded is None:
            encoded = self._encoded = EncodedRows(b"", 0, 0)
        return encoded

    def _decode_rows(self, method: str) -> list[Any]:
        """Return the rows that the row plan's method `method` decodes; see `EncodedRows.decode`."""
        encoded = self._encoded
        if encoded is None:
            encoded = self._encoded_rows()
        return encoded.decode(self.metadata._row_plan or self.metadata.row_plan, method)


def _decode_parsed_rows(self: ResultMessage, row_factory: Callable[..., Any]) -> Any:
    """Pass `parsed_rows` to the row factory, and return its rows.

    `ResultMessage.__init_subclass__` makes this the method `decode` of each subclass that does not
    define `decode`: these are the result classes of an application's protocol handlers, in which
    `parsed_rows` may be overridden, or set by `recv_body`.
    """
    if self.kind != RESULT_KIND_ROWS:
        return []
    # Only a `TypedRows` factory has this method. It needs the columns' types, not just their names.
    make_typed_rows = getattr(row_factory, "rows_of", None)
    if make_typed_rows is not None:
        return make_typed_rows(self.metadata, self.parsed_rows)
    rows = row_factory(self.column_names, self.parsed_rows)
    # Callers expect a list. A factory may return a dict of columns instead: wrap it.
    return [rows] if isinstance(rows, dict) else rows


# Most writes have an empty result, so they all share this object. Its attributes must never be
# set.
VOID_RESULT = ResultMessage(RESULT_KIND_VOID)


def read_result(
    body: bytes,
    pos: int,
    version: int,
    features: ProtocolFeatures | None = None,
    user_types: UserTypes | None = None,
    cached: ResultMetadata | None = None,
) -> ResultMessage:
    """Decode the RESULT at `pos` of `body`, except for its rows.

    :param version: the protocol version of the envelope.
    :param features: the extensions of the connection.
    :param user_types: classes registered for UDTs, by keyspace and name.
    :param cached: the metadata that the client has for the executed prepared statement.
    """
    (kind,) = _int32_at(body, pos)
    if kind == RESULT_KIND_ROWS:
        return _read_rows(body, pos, user_types, cached)
    message = _new(ResultMessage)
    message.kind = kind
    _read_fields_of_kind(message, Cursor(body, pos + 4), version, features, user_types)
    return message


def _read_rows(
    body: bytes, pos: int, user_types: UserTypes | None, cached: ResultMetadata | None
) -> ResultMessage:
    """Decode the RESULT of kind ROWS at `pos` of `body`; see `read_result`."""
    specs_end = columns_end(body, pos)
    key = None
    if specs_end:
        # Look up the bytes of the metadata in the cache. The key also has the settings on which
        # parsing depends.
        key = (rules_of_types(), limits.columns, body[pos:specs_end])
        metadata = _metadata_by_specs.get(key)
        if metadata is not None:
            return rows_result(metadata, body, specs_end)
    cursor = Cursor(body, pos + 4)
    metadata, paging_state, metadata_id = _read_result_metadata(cursor, user_types, cached)
    # Cache the metadata if it depends only on these bytes. Metadata with UDTs does not, because an
    # application may register other classes for the UDTs.
    if key is not None and specs_end == cursor.pos and not metadata.has_user_types:
        _metadata_by_specs.keep(key, metadata, _COLUMN_BYTES * len(metadata) + len(key[2]))
    message = rows_result(metadata, body, cursor.pos)
    message.paging_state, message.result_metadata_id = paging_state, metadata_id
    return message


def _read_fields_of_kind(
    message: ResultMessage,
    cursor: Cursor,
    version: int,
    features: ProtocolFeatures | None,
    user_types: UserTypes | None,
) -> None:
    """Read the fields after the <kind> of a RESULT that is not ROWS."""
    kind = message.kind
    if kind == RESULT_KIND_PREPARED:
        _read_prepared(message, cursor, version, features, user_types)
    elif kind == RESULT_KIND_SET_KEYSPACE:
        message.new_keyspace = cursor.name()
    elif kind == RESULT_KIND_SCHEMA_CHANGE:
        message.schema_change_event = read_schema_change(cursor)
    elif kind != RESULT_KIND_VOID:
        raise UnknownContent(f"a result of the unknown kind {kind}")


def rows_result(metadata: ResultMetadata, body: bytes, pos: int) -> ResultMessage:
    """Return a ROWS result with these columns, whose <rows_count><rows_content> is at `pos`."""
    # Read only the number of rows now. The rows are decoded later, in the thread that accesses
    # them, so that decoding does not block the event loop.
    (row_count,) = _int32_at(body, pos)
    if row_count < 0:
        raise ProtocolError(f"a result of {row_count} rows")
    # Create the message without calling __init__, to save time in each request.
    message = _new(ResultMessage)
    message.kind = RESULT_KIND_ROWS
    message.metadata = metadata
    message.row_count = row_count
    message._encoded = EncodedRows(body, pos + 4, row_count)
    # The class attribute has the same value, but Python reads an instance's attribute faster.
    message._own = None
    return message


def _read_result_metadata(
    cursor: Cursor, user_types: UserTypes | None, cached: ResultMetadata | None
) -> tuple[ResultMetadata, bytes | None, bytes | None]:
    """Read the <metadata> of a ROWS result (native_protocol_v5.spec, section 4.2.5.2).

    :returns: (metadata, paging state, new id of the metadata). The paging state and the id are None
        if the server has left them out.
    """
    flags = cursor.int32()
    count = cursor.int32()
    # The paging state comes before the new id, although its flag has the lower value (4.2.5.2).
    paging_state = checked_paging_state(cursor.blob()) if flags & ROWS_HAS_MORE_PAGES else None
    metadata_id = cursor.short_bytes() if flags & ROWS_METADATA_CHANGED else None
    check_metadata_flags(flags)
    is_global = bool(flags & ROWS_GLOBAL_TABLES_SPEC)
    if flags & ROWS_NO_METADATA:
        metadata = _skipped_metadata(count, user_types, cached)
    # The response has metadata, so the cached metadata must not be used blindly. But if the bytes
    # equal the bytes of the cached metadata, we need not parse them.
    elif cached is not None and cached.same_specs(
        cursor.data, cursor.pos, is_global, count, user_types
    ):
        cursor.pos += len(cached.raw)
        metadata = cached if metadata_id is None else cached.with_id(metadata_id)
    else:
        metadata = read_columns(cursor, count, is_global, user_types, metadata_id)
    return metadata, paging_state, metadata_id


def _skipped_metadata(
    count: int, user_types: UserTypes | None, cached: ResultMetadata | None
) -> ResultMetadata:
    """Return the metadata of a ROWS result with the flag No_metadata and `count` columns."""
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
    # The application may have registered a class for a UDT after it had prepared the statement.
    return cached.for_user_types(user_types)


def _read_prepared(
    message: ResultMessage,
    cursor: Cursor,
    version: int,
    features: ProtocolFeatures | None,
    user_types: UserTypes | None,
) -> None:
    """Read the fields of a PREPARED result (native_protocol_v5.spec, section 4.2.5.4).

    Partition key indexes exist since version 4. The metadata id exists since version 5, and before
    version 5 if both sides use ScyllaDB's extension SCYLLA_USE_METADATA_ID.
    """
    message.query_id = cursor.short_bytes()
    metadata_id = None
    if version >= 5 or (features is not None and features.use_metadata_id):
        metadata_id = cursor.short_bytes()
    # Read the metadata of the bind markers.
    flags = cursor.int32()
    count = cursor.int32()
    # Since version 4, the metadata says which bind markers have the partition key.
    if version >= 4:
        pk_count = cursor.int32()
        if pk_count < 0 or pk_count * 2 > len(cursor.data) - cursor.pos:
            raise ProtocolError(f"{pk_count} partition key indexes are more than the message holds")
        message.pk_indexes = [cursor.short() for _ in range(pk_count)]
    if features is not None and features.lwt_info is not None:
        message.is_lwt = features.lwt_info.get_lwt_flag(flags & 0xFFFFFFFF)
    bind_markers = read_columns(cursor, count, bool(flags & ROWS_GLOBAL_TABLES_SPEC), user_types)
    message.bind_metadata = list(bind_markers.columns)
    if message.pk_indexes and max(message.pk_indexes) >= count:
        raise ProtocolError(
            f"the partition key indexes {message.pk_indexes} do not fit the {count} bind markers"
        )
    # Read the metadata of the rows that the statement returns.
    result_metadata = (
        _read_result_metadata(cursor, user_types, None)[0] if cursor.has_more else NO_COLUMNS
    )
    message.result_metadata_id = metadata_id
    message.result_metadata = result_metadata.with_id(metadata_id)
