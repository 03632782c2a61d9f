"""Column specifications in PREPARED and ROWS (native_protocol_v5.spec, section 4.2.5.2).

A `ResultMetadata` holds the columns of one result and is immutable. It keeps the bytes of the
column specs from which it was read, because protocol version 4 sends the specs with every result.
If the next result of the statement begins with the same bytes, the same `ResultMetadata` and its
row plan (the decoder of rows) are used again, and nothing is parsed.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import cassandra._impl as implementations
from cassandra.cqltypes.base import CassandraTypeType
from cassandra.cqltypes.containers import ListType, MapType, SetType, TupleType
from cassandra.cqltypes.parse import lookup_casstype, pickled_type
from cassandra.cqltypes.scalars import TYPES_BY_OPTION
from cassandra.cqltypes.udt import UserType, with_subtypes
from cassandra.errors import ProtocolError, UnknownContent
from cassandra.limits import limits
from cassandra.protocol.opcodes import (
    RESULT_KIND_ROWS,
    ROWS_GLOBAL_TABLES_SPEC,
    ROWS_METADATA_CHANGED,
    ROWS_NO_METADATA,
)
from cassandra.protocol.primitives import Cursor

if TYPE_CHECKING:
    from collections.abc import Hashable

    from cassandra.cqltypes.base import CassandraType
    from cassandra.protocol.columnar.layouts import PagePlan
    from cassandra.protocol.rows import RowPlan

CqlType: TypeAlias = "type[CassandraType]"
# The classes that the application has registered for user-defined types, by keyspace and type name.
UserTypes = Mapping[str, Mapping[str, Any]]

_KIND_FLAGS_AND_COUNT = struct.Struct(">iii")

# The maximum number of characters of a type's name in an error message.
_MAX_SHOWN_NAME = 200

# The maximum depth of nested types. Real schemas nest types a few levels deep. The limit keeps a
# hostile server from exhausting the stack.
_MAX_DEPTH = 64


CUSTOM_TYPE = object()
"""The value of `TYPE_CODES` for custom types, which the server describes by a class name."""


class ColumnMetadata(NamedTuple):
    """A column of a result, or a bind marker.

    :param keyspace_name: the keyspace of the column's table.
    :param table_name: the name of the column's table.
    :param name: the column's name.
    :param type: the class of the column's type, from `cassandra.cqltypes`.
    """

    keyspace_name: str
    table_name: str
    name: str
    type: Any

    def __reduce__(self) -> tuple[Any, ...]:
        # By default, cloudpickle (which joblib, Dask, Ray and Spark use) would pickle the class of
        # a type with all its attributes. So return what `pickle` uses to make the class again.
        if isinstance(self.type, CassandraTypeType):
            reduced_type = pickled_type(self.type)
            if not isinstance(reduced_type, str):
                return _unpickled_column, (*self[:3], *reduced_type)
        return type(self), tuple(self)


ColumnMetadata.__module__ = "cassandra.protocol"


def _unpickled_column(
    keyspace: str, table: str, name: str, make_type: Callable[..., CqlType], arguments: Any
) -> ColumnMetadata:
    return ColumnMetadata(keyspace, table, name, make_type(*arguments))


def with_registered_classes(cql_type: CqlType, user_types: UserTypes) -> CqlType:
    """Return `cql_type` with the classes that the application registered for the UDTs in it.

    :param cql_type: a type that was read without these classes.
    :param user_types: the registered classes, by keyspace and name of the UDT.
    """
    subtypes = tuple(with_registered_classes(subtype, user_types) for subtype in cql_type.subtypes)
    if issubclass(cql_type, UserType):
        registered_class = user_types.get(cql_type.keyspace, {}).get(cql_type.typename)
        return with_subtypes(cql_type, subtypes, registered_class)
    if all(new is old for new, old in zip(subtypes, cql_type.subtypes, strict=True)):
        return cql_type
    return with_subtypes(cql_type, subtypes)


class TypeReader:
    """Reads the [option]s that describe column types.

    `has_user_types` becomes True as soon as one of the types is, or contains, a UDT.

    :param cursor: the position from which the types are read.
    :param user_types: classes registered for UDTs, by keyspace and name; None if there are none.
    """

    __slots__ = ("_depth", "_fields", "_user_types", "cursor", "has_user_types")

    def __init__(self, cursor: Cursor, user_types: UserTypes | None) -> None:
        self.cursor = cursor
        self._user_types = user_types or {}  # registered classes, by keyspace and name of the UDT
        self._depth = 0  # the nesting depth of the type that is being read
        self._fields = 0  # the number of fields of all UDTs and tuples so far: see `_read_count`
        self.has_user_types = False

    def read(self) -> CqlType:
        """Read a type and return its `cassandra.cqltypes` class."""
        code = self.cursor.short()
        # Most columns have a type without parameters. The application's classes may have the names
        # of the driver's classes, so only custom types are looked up by name.
        simple_type: CqlType | None = TYPES_BY_OPTION.get(code)
        if simple_type is not None:
            return simple_type
        read_composed_type = _COMPOSED.get(code)
        if read_composed_type is None:
            raise UnknownContent(f"a column has a type of the unknown code 0x{code:04x}")
        if self._depth >= _MAX_DEPTH:
            raise ProtocolError(f"a column's type is nested more than {_MAX_DEPTH} deep")
        self._depth += 1
        cql_type = read_composed_type(self)
        self._depth -= 1
        return cql_type

    def _read_custom(self) -> CqlType:
        """Read a type that is given by the name of its server class."""
        name = self.cursor.string()
        try:
            cql_type = lookup_casstype(name)
            if "UserType" in name:
                # The name may describe a vector, which is a custom type, and the vector's elements
                # may be UDTs.
                self.has_user_types = True
                cql_type = with_registered_classes(cql_type, self._user_types)
            # codec() raises an error if the type lacks its parameters. Call it now, so that the
            # error is reported for the metadata and not for the first row.
            cql_type.codec()
        except (ValueError, TypeError, LookupError, OverflowError) as error:
            short_name = name if len(name) <= _MAX_SHOWN_NAME else f"{name[:_MAX_SHOWN_NAME]}..."
            reason = str(error).replace(name, short_name)
            raise UnknownContent(
                f"a column has the custom type {short_name!r}, which cannot be understood: {reason}"
            ) from None
        return cql_type

    def _registered(self, keyspace: str, name: str) -> Callable[..., object] | None:
        return self._user_types.get(keyspace, {}).get(name)

    def _read_list(self) -> CqlType:
        return ListType.apply_parameters((self.read(),))

    def _read_set(self) -> CqlType:
        return SetType.apply_parameters((self.read(),))

    def _read_map(self) -> CqlType:
        key = self.read()
        return MapType.apply_parameters((key, self.read()))

    def _read_tuple(self) -> CqlType:
        count = self._read_count()
        return TupleType.apply_parameters(tuple(self.read() for _ in range(count)))

    def _read_udt(self) -> CqlType:
        """Read the keyspace, the name and the fields of a user-defined type."""
        cursor = self.cursor
        keyspace = cursor.string()
        name = cursor.string()
        fields = [(cursor.string(), self.read()) for _ in range(self._read_count())]
        self.has_user_types = True
        return UserType.make_udt_class(
            keyspace,
            name,
            tuple(field_name for field_name, _ in fields),
            tuple(field_type for _, field_type in fields),
            self._registered(keyspace, name),
        )

    def _read_count(self) -> int:
        """Read the number of fields of a UDT or tuple; raise `ProtocolError` if it is too large."""
        # The limit applies to all types of the result together: otherwise a small count at each
        # level of a nested type could multiply to a huge number.
        count = self.cursor.short()
        self._fields += count
        if self._fields > limits.columns:
            raise ProtocolError(
                f"types of more fields than limits.columns ({limits.columns}) allows (see "
                "cassandra.limits)"
            )
        # Each field takes at least two bytes, for the code of its type.
        if count * 2 > len(self.cursor.data) - self.cursor.pos:
            raise ProtocolError(f"a type of {count} fields is longer than the message")
        return count


# The methods that read the types with parameters, and custom types, by option id.
_COMPOSED: dict[int, Callable[[TypeReader], CqlType]] = {
    0x0000: TypeReader._read_custom,
    0x0020: TypeReader._read_list,
    0x0021: TypeReader._read_map,
    0x0022: TypeReader._read_set,
    0x0030: TypeReader._read_udt,
    0x0031: TypeReader._read_tuple,
}


TYPE_CODES: dict[int, Any] = {
    0x0000: CUSTOM_TYPE,
    **TYPES_BY_OPTION,
    0x0020: ListType,
    0x0021: MapType,
    0x0022: SetType,
    0x0030: UserType,
    0x0031: TupleType,
}
"""The type class of each option id: the default value of `ResultMessage.type_codes`."""


class OwnTypeReader(TypeReader):
    """Reads types with an application's mapping of option ids to classes.

    :param codes: maps an option id (the number of a type in the protocol) to a class, instead of
        `TYPE_CODES`. A class that differs from the class in `TYPE_CODES` is used as it is; if the
        type has parameters, they are applied to it.
    """

    __slots__ = ("_codes",)

    def __init__(
        self, cursor: Cursor, user_types: UserTypes | None, codes: Mapping[int, Any]
    ) -> None:
        super().__init__(cursor, user_types)
        self._codes = codes

    def read(self) -> CqlType:
        """Read a type and return its class.

        If the application has registered another class for the type in `codes`, return that class.

        :raises UnknownContent: if `codes` has no class for the type.
        """
        start = self.cursor.pos
        code = self.cursor.short()
        registered_type: CqlType | None = self._codes.get(code)
        if registered_type is None:
            raise UnknownContent(f"a column has a type of the unknown code 0x{code:04x}")
        # If the application has replaced the class of a type without parameters, return the
        # application's class.
        if registered_type is not TYPE_CODES.get(code) and code not in _COMPOSED:
            return registered_type
        # Otherwise read the type again from its code, with its parameters.
        self.cursor.pos = start
        cql_type = super().read()
        if registered_type is not TYPE_CODES.get(code) and cql_type.subtypes:
            return registered_type.apply_parameters(cql_type.subtypes)
        return cql_type


def type_from(cursor: Cursor, user_types: UserTypes | None, codes: Mapping[int, Any]) -> CqlType:
    """Read one type; `codes` maps option ids to the classes to use: see `OwnTypeReader`."""
    return OwnTypeReader(cursor, user_types, codes).read()


def _unpickled(*parts: Any) -> ResultMetadata:
    return ResultMetadata(*parts[:-1]).with_vectors(parts[-1])


class ResultMetadata:
    """The columns of a result; immutable.

    `names` has the columns' names. `vectors` names the class of decoded vectors in rows: see
    `with_vectors`. `column_plans` is a cache of the decoders that turn pages of these columns into
    arrays (see `cassandra.protocol.columnar.pages`).

    :param columns: a `ColumnMetadata` for each column.
    :param raw: the bytes of the column specs, from the global table spec on. Empty if this object
        was not read from a server's message.
    :param is_global: True if the keyspace and table are given once, before all columns (the flag
        Global_tables_spec).
    :param metadata_id: the server's id of this metadata (version 5, or ScyllaDB's extension); None
        if the server has sent no id.
    :param user_types: the mapping of classes registered for UDTs when the specs were read.
    :param has_user_types: True if the type of a column is, or contains, a UDT.
    """

    __slots__ = (
        "_global", "_head", "_heads", "_row_plan", "_user_types", "_variants",
        "column_plans", "columns", "has_user_types", "metadata_id", "names", "raw", "vectors",
    )  # fmt: skip

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
        # `rows_at` compares the byte strings in `_heads` with the beginning of a RESULT. A RESULT
        # begins with `_head` if the server has sent the column specs. It begins with one of the
        # other byte strings if the server has set the flag No_metadata instead. If further pages
        # follow, the flags differ, so none of these byte strings match.
        flags = ROWS_GLOBAL_TABLES_SPEC if is_global else 0
        # Cassandra sets the flag Global_tables_spec even together with No_metadata.
        skipped_heads = [
            _KIND_FLAGS_AND_COUNT.pack(RESULT_KIND_ROWS, skipping_flags, len(self.columns))
            for skipping_flags in (ROWS_NO_METADATA, ROWS_NO_METADATA | ROWS_GLOBAL_TABLES_SPEC)
        ]
        self._head = (
            _KIND_FLAGS_AND_COUNT.pack(RESULT_KIND_ROWS, flags, len(self.columns)) + raw
            if raw
            else skipped_heads[0]
        )
        self._heads = (self._head, *skipped_heads)
        self._user_types = user_types
        self._row_plan: RowPlan | None = None  # None until `row_plan` creates it
        self._variants: dict[str, ResultMetadata] = {}  # a cache for `with_vectors`
        self.vectors = "list"
        self.column_plans: dict[Hashable, PagePlan] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        # Do not pickle the classes registered for UDTs: the other process registers its own
        # classes.
        flags = (self._global, self.metadata_id, None, self.has_user_types)
        return _unpickled, (self.columns, self.raw, *flags, self.vectors)

    def __len__(self) -> int:
        return len(self.columns)

    def __repr__(self) -> str:
        return f"<ResultMetadata of {', '.join(self.names) or 'no columns'}>"

    @property
    def types(self) -> list[Any]:
        """The `cassandra.cqltypes` class of each column, as the server describes it."""
        return [column.type for column in self.server_columns]

    @property
    def server_columns(self) -> Sequence[ColumnMetadata]:
        """The columns with the server's types, before converters and decryption."""
        return self.columns

    @property
    def row_plan(self) -> RowPlan:
        """The decoder of rows of these columns; created at the first use."""
        plan = self._row_plan
        if plan is None:
            # Two threads may both create a plan. The plans are equal, so it does not matter which
            # of them is kept.
            plan = self._row_plan = implementations.rows.RowPlan(self.names, self.codecs)
        return plan

    @property
    def codecs(self) -> list[Any]:
        """The codec that decodes each column's values in rows."""
        return [column.type.codec(vectors=self.vectors) for column in self.columns]

    @property
    def native(self) -> ResultMetadata:
        """The same columns without converters (see `cassandra.protocol.converted`)."""
        return self

    @property
    def columns_key(self) -> Hashable:
        """A hashable key: if two metadata objects have equal keys, they have the same columns."""
        # Comparing the raw bytes is cheaper than comparing each name and type. But if a column
        # contains a UDT, its type also depends on the classes that are registered.
        if self.raw and not self.has_user_types:
            return self.raw
        return tuple((column.name, column.type) for column in self.columns)

    @property
    def page_columns(self) -> Sequence[ColumnMetadata]:
        """The columns from which a `ColumnPlan`, the decoder of pages into arrays, is made."""
        return self.columns

    def page_reader(self, column_plan: PagePlan) -> PagePlan:
        """Return the object that decodes pages into arrays; here it is `column_plan` itself.

        For metadata with encrypted columns, a subclass returns a reader that decrypts each page
        before the plan decodes it.

        :param column_plan: a `ColumnPlan` that was made from `page_columns`.
        """
        return column_plan

    def rows_at(self, body: bytes, pos: int, user_types: UserTypes | None) -> int:
        """Return the offset of the row count if the RESULT at `pos` has these columns, else 0.

        This is a fast check. It succeeds if the RESULT begins with the same metadata, byte for
        byte, or with the flag No_metadata. (No column spec is the beginning of a longer column
        spec, so equal bytes mean equal specs.) It fails if a further page follows or if the
        metadata id has changed, because the flags then differ. It also fails if a column contains a
        UDT and `user_types` is not the mapping with which this object was read: each registration
        of a class makes a new mapping.

        :param body: the body of the RESULT.
        :param pos: the offset of the <kind> of the RESULT.
        :param user_types: classes registered for UDTs, by keyspace and name.
        """
        if self.has_user_types and user_types is not self._user_types:
            return 0
        if not body.startswith(self._heads, pos):
            return 0
        # The RESULT begins with the <kind> (4 bytes) and the flags (4 bytes). ROWS_NO_METADATA is
        # in the last byte of the flags.
        if body[pos + 7] & ROWS_NO_METADATA:
            return pos + _KIND_FLAGS_AND_COUNT.size
        return pos + len(self._head)

    def same_specs(
        self, body: bytes, pos: int, is_global: bool, count: int, user_types: UserTypes | None
    ) -> bool:
        """Return True if the specs at `pos` equal the specs from which this object was read.

        Unlike `rows_at`, it does not compare the flags of the RESULT.

        :param body: the body of the RESULT.
        :param pos: the offset of its column specs.
        :param is_global: True if the keyspace and table are given once, before all columns.
        :param count: the number of columns of the RESULT.
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
        """Return the same columns with the UDT classes of `user_types`, or self if nothing changes.

        :param user_types: classes registered for UDTs, by keyspace and name.
        """
        # Metadata that an application has created cannot be read again, because it has no raw
        # bytes.
        if not self.has_user_types or user_types is self._user_types or not self.raw:
            return self
        return read_columns(
            Cursor(self.raw), len(self.columns), self._global, user_types, self.metadata_id
        )

    def with_id(self, metadata_id: bytes | None) -> ResultMetadata:
        """Return a copy with another metadata id that shares the columns and the row plan.

        :param metadata_id: the bytes of the id, or None.
        """
        if metadata_id == self.metadata_id:
            return self
        other = ResultMetadata(
            self.columns, self.raw, self._global, metadata_id, self._user_types, self.has_user_types
        )
        other._row_plan = self._row_plan
        other.vectors = self.vectors
        # The copy shares the cache, because column plans depend only on the columns.
        other.column_plans = self.column_plans
        return other

    def with_vectors(self, vectors: str) -> ResultMetadata:
        """Return the same columns with another class for vectors of numbers in rows.

        :param vectors: "list", "array" (array.array) or "numpy". The result for each is cached.
        """
        if vectors == "list":
            return self
        variants = self._variants
        # Make the variant at its first use, and keep it: its codecs are built only once.
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

    :param is_global: True if the keyspace and table are given once, before all columns; False if
        they are given for each column.
    :param codes: an application's mapping of option ids to classes, which replaces `TYPE_CODES`.
    """
    start = cursor.pos
    data = cursor.data
    # A column spec has at least four bytes (name and type). So we can reject an impossible count
    # before we allocate anything for it.
    if count < 0 or count * 4 > len(data) - start:
        raise ProtocolError(
            f"{count} columns are to follow at offset {start} of a body of {len(data)} bytes"
        )
    if count > limits.columns:
        raise ProtocolError(
            f"{count} columns, more than limits.columns ({limits.columns}) allows (see "
            "cassandra.limits)"
        )
    # The keyspace and table come once before all columns, or before each column.
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


def checked_paging_state(paging_state: bytes | None) -> bytes:
    """Return the paging state of a response that says that there are more pages.

    :raises ProtocolError: if it is null or empty. Without it, the rest of the rows would be missing
        silently, or the next request would ask for the first page again.
    """
    if not paging_state:
        raise ProtocolError(
            "the server says that there are more pages, but its paging state is "
            f"{'null' if paging_state is None else 'empty'}"
        )
    return paging_state


def check_metadata_flags(flags: int) -> None:
    """Raise ProtocolError if the columns of rows have changed, but are left out.

    Otherwise, the rows would be decoded by the earlier columns, which would be kept for the new id.
    """
    if flags & ROWS_METADATA_CHANGED and flags & ROWS_NO_METADATA:
        raise ProtocolError("the server says that the columns have changed, but not how")
