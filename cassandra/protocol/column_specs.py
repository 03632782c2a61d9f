"""Column specifications in PREPARED and ROWS (native_protocol_v5.spec, section 4.2.5.2).

A `ResultMetadata` is made of one block of column specs and is immutable. It keeps the bytes that it
was read from. If the next result of the statement brings the same bytes, the metadata and its row
plan are used again without parsing: protocol 4 sends the specs with every result.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import cassandra._impl as implementations
from cassandra.cqltypes.parse import lookup_casstype, lookup_casstype_simple
from cassandra.cqltypes.udt import UserType, with_subtypes
from cassandra.errors import ProtocolError
from cassandra.limits import limits
from cassandra.protocol.opcodes import RESULT_KIND_ROWS, ROWS_GLOBAL_TABLES_SPEC, ROWS_NO_METADATA
from cassandra.protocol.primitives import Cursor

if TYPE_CHECKING:
    from cassandra.cqltypes.base import CassandraType
    from cassandra.protocol.rows import RowPlan

CqlType: TypeAlias = "type[CassandraType]"
UserTypes = Mapping[str, Mapping[str, Any]]

_KIND_FLAGS_AND_COUNT = struct.Struct(">iii")

# Characters of a type's name in an error.
_SHOWN_NAME = 200

# People nest types a few levels deep. A hostile server must not exhaust the stack.
_MAX_DEPTH = 64


CUSTOM_TYPE = object()
"""Stands for types that the server describes by the name of a class."""


class ColumnMetadata(NamedTuple):
    """A column of a result, or a bind marker.

    :param keyspace_name: the keyspace of its table.
    :param table_name: the name of its table.
    :param name: the column's name.
    :param type: the class of its type, one of `cassandra.cqltypes`.
    """

    keyspace_name: str
    table_name: str
    name: str
    type: Any


ColumnMetadata.__module__ = "cassandra.protocol"

# Option ids of the types that have no value, by the server's class of each.
_SIMPLE_TYPES: dict[int, str] = {
    0x0001: "AsciiType",
    0x0002: "LongType",
    0x0003: "BytesType",
    0x0004: "BooleanType",
    0x0005: "CounterColumnType",
    0x0006: "DecimalType",
    0x0007: "DoubleType",
    0x0008: "FloatType",
    0x0009: "Int32Type",
    0x000A: "UTF8Type",  # "text" of the first versions
    0x000B: "DateType",
    0x000C: "UUIDType",
    0x000D: "VarcharType",
    0x000E: "IntegerType",
    0x000F: "TimeUUIDType",
    0x0010: "InetAddressType",
    0x0011: "SimpleDateType",
    0x0012: "TimeType",
    0x0013: "ShortType",
    0x0014: "ByteType",
    0x0015: "DurationType",
}

_simple: dict[int, Any] = {}


class TypeReader:
    """Reads [option]s that describe types; `has_user_types` is True if one was a UDT."""

    __slots__ = ("_depth", "_fields", "_user_types", "cursor", "has_user_types")

    def __init__(self, cursor: Cursor, user_types: UserTypes | None) -> None:
        self.cursor = cursor
        self._user_types = user_types or {}
        self._depth = 0
        self._fields = 0
        self.has_user_types = False

    def read(self) -> Any:
        """Read a type and return its `cassandra.cqltypes` class."""
        code = self.cursor.short()
        # Looked up once for each code: most columns have one of these types.
        simple_type = _simple.get(code)
        if simple_type is not None:
            return simple_type
        if code in _SIMPLE_TYPES:
            return _simple.setdefault(code, lookup_casstype(_SIMPLE_TYPES[code]))
        composed = _COMPOSED.get(code)
        if composed is None:
            raise ProtocolError(f"a column has a type of the unknown code 0x{code:04x}")
        if self._depth >= _MAX_DEPTH:
            raise ProtocolError(f"a column's type is nested more than {_MAX_DEPTH} deep")
        self._depth += 1
        cql_type = composed(self)
        self._depth -= 1
        return cql_type

    def _custom(self) -> Any:
        name = self.cursor.string()
        try:
            cql_type = lookup_casstype(name)
            if "UserType" in name:
                # A vector is a custom type, and its element may be a UDT.
                self.has_user_types = True
                cql_type = self._with_classes(cql_type)
            # A type without its parameters has no codec. That is an error of the metadata, so it
            # must not wait for some row.
            cql_type.codec()
        except (ValueError, TypeError, LookupError, OverflowError) as error:
            short_name = name if len(name) <= _SHOWN_NAME else f"{name[:_SHOWN_NAME]}..."
            reason = str(error).replace(name, short_name)
            raise ProtocolError(
                f"a column has the custom type {short_name!r}, which cannot be understood: {reason}"
            ) from None
        return cql_type

    def _with_classes(self, kind: CqlType) -> Any:
        """Return `kind`, parsed from a class name, with the classes registered for its UDTs."""
        subtypes = tuple(self._with_classes(subtype) for subtype in kind.subtypes)
        if issubclass(kind, UserType):
            return with_subtypes(kind, subtypes, self._registered(kind.keyspace, kind.typename))
        if all(new is old for new, old in zip(subtypes, kind.subtypes, strict=True)):
            return kind
        return with_subtypes(kind, subtypes)

    def _registered(self, keyspace: str, name: str) -> Any:
        return self._user_types.get(keyspace, {}).get(name)

    def _list(self) -> Any:
        return lookup_casstype("ListType").apply_parameters((self.read(),))

    def _set(self) -> Any:
        return lookup_casstype("SetType").apply_parameters((self.read(),))

    def _map(self) -> Any:
        key = self.read()
        return lookup_casstype("MapType").apply_parameters((key, self.read()))

    def _tuple(self) -> Any:
        count = self._count()
        return lookup_casstype("TupleType").apply_parameters(
            tuple(self.read() for _ in range(count))
        )

    def _udt(self) -> Any:
        cursor = self.cursor
        keyspace = cursor.string()
        name = cursor.string()
        fields = [(cursor.string(), self.read()) for _ in range(self._count())]
        self.has_user_types = True
        return UserType.make_udt_class(
            keyspace,
            name,
            tuple(field for field, _ in fields),
            tuple(kind for _, kind in fields),
            self._registered(keyspace, name),
        )

    def _count(self) -> int:
        # Counted over all types of a result: nested types could multiply small counts.
        count = self.cursor.short()
        self._fields += count
        if self._fields > limits.columns:
            raise ProtocolError(
                f"types of more fields than limits.columns ({limits.columns}) allows (see "
                "cassandra.limits)"
            )
        if count * 2 > len(self.cursor.data) - self.cursor.pos:
            raise ProtocolError(f"a type of {count} fields is longer than the message")
        return count


_COMPOSED: dict[int, Callable[[TypeReader], Any]] = {
    0x0000: TypeReader._custom,
    0x0020: TypeReader._list,
    0x0021: TypeReader._map,
    0x0022: TypeReader._set,
    0x0030: TypeReader._udt,
    0x0031: TypeReader._tuple,
}


TYPE_CODES: dict[int, Any] = {
    0x0000: CUSTOM_TYPE,
    **{code: lookup_casstype_simple(name) for code, name in _SIMPLE_TYPES.items()},
    0x0020: lookup_casstype_simple("ListType"),
    0x0021: lookup_casstype_simple("MapType"),
    0x0022: lookup_casstype_simple("SetType"),
    0x0030: UserType,
    0x0031: lookup_casstype_simple("TupleType"),
}
"""The class of each option id, as `ResultMessage.type_codes` shows them."""


class OwnTypeReader(TypeReader):
    """Reads types by the classes of a program's own mapping."""

    __slots__ = ("_codes",)

    def __init__(
        self, cursor: Cursor, user_types: UserTypes | None, codes: Mapping[int, Any]
    ) -> None:
        super().__init__(cursor, user_types)
        self._codes = codes

    def read(self) -> Any:
        start = self.cursor.pos
        code = self.cursor.short()
        reader_type = self._codes.get(code)
        if reader_type is None:
            raise ProtocolError(f"a column has a type of the unknown code 0x{code:04x}")
        if reader_type is not TYPE_CODES.get(code) and code not in _COMPOSED:
            return reader_type
        self.cursor.pos = start
        cql_type = super().read()
        if reader_type is not TYPE_CODES.get(code) and cql_type.subtypes:
            return reader_type.apply_parameters(cql_type.subtypes)
        return cql_type


def type_from(cursor: Cursor, user_types: UserTypes | None, codes: Mapping[int, Any]) -> Any:
    """Read one type by the classes of `codes`."""
    return OwnTypeReader(cursor, user_types, codes).read()


def _unpickled(*parts: Any) -> ResultMetadata:
    return ResultMetadata(*parts[:-1]).with_vectors(parts[-1])


class ResultMetadata:
    """The columns of a result; immutable.

    `names` are the columns' names, and `vectors` is the class of vectors in rows: see
    `with_vectors`. `column_plans` holds the decoders to columns that were made of it (see
    `cassandra.protocol.columnar.pages`).

    :param columns: a `ColumnMetadata` for each column.
    :param raw: the bytes of the specs, from the global table spec on.
    :param is_global: True if one table spec stands before all columns.
    :param metadata_id: the server's id of this metadata (version 5, or ScyllaDB's extension), or
        None.
    :param user_types: the classes registered for UDTs when the specs were read.
    :param has_user_types: True if a column's type has a UDT in it.
    """

    __slots__ = (
        "_global",
        "_head",
        "_row_plan",
        "_skipped_head",
        "_user_types",
        "_variants",
        "column_plans",
        "columns",
        "has_user_types",
        "metadata_id",
        "names",
        "raw",
        "vectors",
    )

    columns: tuple[ColumnMetadata, ...]
    names: tuple[str, ...]

    def __iter__(self) -> Iterator[ColumnMetadata]:
        return iter(self.columns)

    def __getitem__(self, index: int) -> ColumnMetadata:
        return self.columns[index]

    def __init__(
        self,
        columns: Sequence[ColumnMetadata],
        raw: bytes = b"",
        is_global: bool = False,
        metadata_id: bytes | None = None,
        user_types: UserTypes | None = None,
        has_user_types: bool = False,
    ) -> None:
        self.columns = tuple(columns)
        self.names = tuple(column.name for column in self.columns)
        self.raw = raw
        self.metadata_id = metadata_id
        self.has_user_types = has_user_types
        self._global = is_global
        # The beginning of a RESULT that is a last page: <kind><metadata> with all of `raw`, and
        # with the No_metadata flag.
        flags = ROWS_GLOBAL_TABLES_SPEC if is_global else 0
        self._skipped_head = _KIND_FLAGS_AND_COUNT.pack(
            RESULT_KIND_ROWS, ROWS_NO_METADATA, len(self.columns)
        )
        self._head = (
            _KIND_FLAGS_AND_COUNT.pack(RESULT_KIND_ROWS, flags, len(self.columns)) + raw
            if raw
            else self._skipped_head
        )
        self._user_types = user_types
        self._row_plan: RowPlan | None = None
        self._variants: dict[str, ResultMetadata] = {}
        self.vectors = "list"
        self.column_plans: dict[Any, Any] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        # Without the classes registered for UDTs: the other process has its own.
        flags = (self._global, self.metadata_id, None, self.has_user_types)
        return _unpickled, (self.columns, self.raw, *flags, self.vectors)

    def __len__(self) -> int:
        return len(self.columns)

    def __repr__(self) -> str:
        return f"<ResultMetadata of {', '.join(self.names) or 'no columns'}>"

    @property
    def types(self) -> list[Any]:
        """The `cassandra.cqltypes` class of each column on the server."""
        return [column.type for column in self.server_columns]

    @property
    def server_columns(self) -> Sequence[ColumnMetadata]:
        """The columns as the server describes them."""
        return self.columns

    @property
    def row_plan(self) -> RowPlan:
        """The decoder of rows of these columns, made at the first use."""
        plan = self._row_plan
        if plan is None:
            # Two threads may both make one; they are equal, and either may stay.
            plan = self._row_plan = implementations.rows.RowPlan(self.names, self.codecs)
        return plan

    @property
    def codecs(self) -> list[Any]:
        """The codec of each column, as rows are read."""
        return [column.type.codec(vectors=self.vectors) for column in self.columns]

    @property
    def native(self) -> ResultMetadata:
        """The same columns without converters (see `cassandra.protocol.converted`)."""
        return self

    @property
    def columns_key(self) -> Any:
        """Return a hashable key that tells these columns from others."""
        # The raw bytes do so without a comparison of each name and type.
        return self.raw or tuple((column.name, column.type) for column in self.columns)

    @property
    def page_columns(self) -> Sequence[ColumnMetadata]:
        """The columns as column plans read them: see `page_reader`."""
        return self.columns

    def page_reader(self, column_plan: object) -> Any:
        """Return the reader of pages for a `ColumnPlan` that was made of `page_columns`.

        :param column_plan: reads the plain columns.
        """
        return column_plan

    def rows_at(self, body: bytes, pos: int, user_types: UserTypes | None) -> int:
        """Return the offset of the row count if the RESULT at `pos` is rows of this, else 0.

        The RESULT must have the same metadata byte for byte, or none. Specs delimit themselves, so
        equal bytes at the front mean equal specs. The mapping of classes registered for UDTs has to
        be the same object: it is replaced, not changed, when a class is registered. Another page to
        come or a changed id makes other flags, and so does not match.

        :param body: the body of the RESULT.
        :param pos: the offset of its kind.
        :param user_types: classes registered for UDTs, by keyspace and name.
        """
        if self.has_user_types and user_types is not self._user_types:
            return 0
        head = self._head
        if body.startswith(head, pos):
            return pos + len(head)
        return pos + 12 if body.startswith(self._skipped_head, pos) else 0

    def same_specs(
        self, body: bytes, pos: int, is_global: bool, count: int, user_types: UserTypes | None
    ) -> bool:
        """Return True if the specs at `pos` are those that this was read from; flags may differ.

        :param body: the body of the RESULT.
        :param pos: the offset of its specs.
        :param is_global: True if keyspace and table stand once, before all columns.
        :param count: how many columns it has.
        :param user_types: classes registered for UDTs, by keyspace and name.
        """
        return (
            bool(self.raw)
            and body.startswith(self.raw, pos)
            and count == len(self.columns)
            and is_global is self._global
            and (not self.has_user_types or user_types is self._user_types)
        )

    def for_user_types(self, user_types: UserTypes | None) -> ResultMetadata:
        """Return the same columns with the UDT classes of `user_types`; self if nothing changes.

        :param user_types: classes registered for UDTs, by keyspace and name.
        """
        # Without the bytes, metadata that a program made cannot be read anew.
        if not self.has_user_types or user_types is self._user_types or not self.raw:
            return self
        return read_columns(
            Cursor(self.raw), len(self.columns), self._global, user_types, self.metadata_id
        )

    def with_id(self, metadata_id: bytes | None) -> ResultMetadata:
        """Return the same columns and row plan under another id.

        :param metadata_id: the bytes of the id, or None.
        """
        if metadata_id == self.metadata_id:
            return self
        other = ResultMetadata(
            self.columns, self.raw, self._global, metadata_id, self._user_types, self.has_user_types
        )
        other._row_plan = self._row_plan
        other.vectors = self.vectors
        # Shared, not copied: column plans depend on the columns alone.
        other.column_plans = self.column_plans
        return other

    def with_vectors(self, vectors: str) -> ResultMetadata:
        """Return the same columns with another class for vectors of numbers, made once for each.

        :param vectors: "list", "array" (array.array) or "numpy".
        """
        if vectors == "list":
            return self
        variants = self._variants
        other = variants.get(vectors)
        if other is None:
            other = ResultMetadata(
                self.columns,
                self.raw,
                self._global,
                self.metadata_id,
                self._user_types,
                self.has_user_types,
            )
            other.vectors = vectors
            other._row_plan = implementations.rows.RowPlan(self.names, other.codecs)
            variants[vectors] = other
        return other


ResultMetadata.__module__ = "cassandra.protocol"

NO_COLUMNS = ResultMetadata(())


def read_columns(
    cursor: Cursor,
    count: int,
    is_global: bool,
    user_types: UserTypes | None,
    metadata_id: bytes | None = None,
    codes: Mapping[int, Any] | None = None,
) -> ResultMetadata:
    """Read `count` column specs.

    :param is_global: True if one table spec stands before all columns, False if each has its own.
    :param codes: classes by option id in place of `TYPE_CODES`.
    """
    start = cursor.pos
    data = cursor.data
    # A spec takes four bytes at least (name and type), so a claimed count is bounded before
    # anything is made of it.
    if count < 0 or count * 4 > len(data) - start:
        raise ProtocolError(
            f"{count} columns are to follow at offset {start} of a body of {len(data)} bytes"
        )
    if count > limits.columns:
        raise ProtocolError(
            f"{count} columns, more than limits.columns ({limits.columns}) allows (see "
            "cassandra.limits)"
        )
    keyspace = table = ""
    if is_global:
        keyspace, table = cursor.string(), cursor.string()
    types = (
        TypeReader(cursor, user_types)
        if codes is None
        else OwnTypeReader(cursor, user_types, codes)
    )
    columns = []
    for _ in range(count):
        if not is_global:
            keyspace, table = cursor.string(), cursor.string()
        name = cursor.string()
        columns.append(ColumnMetadata(keyspace, table, name, types.read()))
    return ResultMetadata(
        columns, data[start : cursor.pos], is_global, metadata_id, user_types, types.has_user_types
    )
