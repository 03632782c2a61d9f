"""Encrypted columns, as bind plans and row plans see them.

A column that a policy encrypts gets a type of its own: a subclass of the type that its values have
in the program, whose codec encrypts after the plain codec has encoded, and decrypts before it
decodes. A plan asks its columns' types for their codecs when it is made. So row plans and bind
plans of both twins need no code for this, and columns that are not encrypted pay nothing.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Collection, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import cassandra._impl as implementations
from cassandra._patterns import pattern
from cassandra.cqltypes.base import DEFAULT_PROTOCOL_VERSION
from cassandra.cqltypes.containers import ListType
from cassandra.cqltypes.failures import EncodeTypeError, EncodeValueError
from cassandra.cqltypes.scalars import BytesType
from cassandra.errors import DecodeError
from cassandra.protocol.column_specs import ColumnMetadata, ResultMetadata

if TYPE_CHECKING:
    from cassandra.cqltypes.base import _CassandraType
    from cassandra.cqltypes.codecs.base import Codec
    from cassandra.protocol.column_specs import CqlType, UserTypes
    from cassandra.protocol.columnar.layouts import ColumnArray, Layout

__all__ = [
    "ColDesc",
    "Encryption",
    "SubstituteMetadata",
    "bound_columns",
    "decrypting",
    "is_encrypted",
    "list_of",
    "with_plain",
]

_int32 = struct.Struct(">i")

# How servers name the marker of ``column IN ?``.
_IN_MARKER = pattern(r"in\((.+)\)\Z", re.DOTALL | re.IGNORECASE)


class ColDesc(NamedTuple):
    """The place of a column, in names as the server has them.

    :param ks: the keyspace.
    :param table: the table.
    :param col: the column's name.
    """

    ks: str
    table: str
    col: str


ColDesc.__module__ = "cassandra.policies"


class Encryption(Protocol):
    """The part of a policy that is asked here; see `cassandra.policies.ColumnEncryptionPolicy`."""

    def contains_column(self, coldesc: ColDesc) -> bool:
        """Return True if the column is encrypted."""

    def column_type(self, coldesc: ColDesc) -> Any:
        """Return the `cassandra.cqltypes` class of the column's values."""

    def encrypt(self, coldesc: ColDesc, obj_bytes: bytes) -> bytes:
        """Return the bytes that the server gets in place of `obj_bytes`."""

    def decrypt(self, coldesc: ColDesc, encrypted_bytes: bytes) -> bytes:
        """Return the bytes that `encrypt` was given."""


def place_of(column: Sequence[str]) -> str:
    """Return ``keyspace.table.column``, for errors."""
    return ".".join(column)


def is_encrypted(kind: CqlType) -> bool:
    """Return True if `kind` is the type of an encrypted column."""
    return "plain_type" in kind.__dict__


# -- coding ----------------------------------------------------------------------------------------


def _encoder(policy: Encryption, column: ColDesc, plain: Codec) -> Callable[[Any], bytes]:
    def encode(value: object) -> bytes:
        try:
            data = plain.encode(value)
        except (EncodeTypeError, EncodeValueError) as error:
            # The message of the plain codec shows the value, which is a secret here.
            raise type(error)(
                f"{place_of(column)} is encrypted and takes {plain.cql_name}: this "
                f"{type(value).__name__} does not fit (values of encrypted columns are not shown)"
            ) from None
        return policy.encrypt(column, data)

    return encode


def _decryptor(policy: Encryption, column: ColDesc) -> Callable[[bytes], bytes]:
    """Return a function that decrypts a value of `column`; its errors are `DecodeError`s."""

    def decrypt(data: bytes) -> bytes:
        if not data:
            raise DecodeError(f"{place_of(column)} is encrypted, but this value has no bytes")
        try:
            return policy.decrypt(column, data)
        except DecodeError:
            raise
        except Exception as error:  # a program's policy may raise anything
            raise DecodeError(f"{place_of(column)} cannot be decrypted: {error}") from error

    return decrypt


def _decoder(policy: Encryption, column: ColDesc, plain: Codec) -> Callable[[bytes], Any]:
    decrypt = _decryptor(policy, column)

    def decode(data: bytes) -> Any:
        decrypted = decrypt(data)
        try:
            return plain.decode_nullable(decrypted)
        except DecodeError:
            # The message of the plain codec may show bytes of the value.
            raise DecodeError(
                f"{place_of(column)} was decrypted to {len(decrypted)} bytes that are not a value "
                f"of {plain.cql_name}: it was written with another type or another key"
            ) from None

    return decode


# -- types -----------------------------------------------------------------------------------------

_Build = Callable[[ModuleType, int, str], Any]


def _subclass(plain: type[_CassandraType], build: _Build, **attributes: object) -> Any:
    """Return a subclass of the type `plain` whose codecs `build` makes."""

    def build_codec(
        cls: Any,
        codecs: ModuleType,
        protocol_version: int = DEFAULT_PROTOCOL_VERSION,
        vectors: str = "list",
    ) -> Any:
        return build(codecs, protocol_version, vectors)

    metaclass: type[Any] = type(plain)
    return metaclass(
        plain.__name__,
        (plain,),
        {
            "_registered": False,  # else the name would stand for this class from now on
            "__module__": plain.__module__,
            "cassname": plain.cassname,
            "build_codec": classmethod(build_codec),
            **attributes,
        },
    )


def _encrypted_type(
    policy: Encryption, column: ColDesc, plain: type[_CassandraType], server: type[_CassandraType]
) -> Any:
    """Return the type of values of `column`.

    :param plain: the type of its values in the program.
    :param server: its type on the server.
    """

    def build(codecs: ModuleType, version: int, vectors: str) -> Any:
        inner = plain.build_codec(codecs, version, vectors)
        if not issubclass(server, BytesType):
            name = server.cql_parameterized_type()
            why = f"{place_of(column)} is encrypted, so it has to be a blob on the server"
            return _refusing(codecs, name, f"{why}, but it is {name}")
        return codecs.from_functions(
            inner.cql_name,
            _encoder(policy, column, inner),
            _decoder(policy, column, inner),
            empty_is_value=True,
        )

    def replace_plain(other: Any) -> Any:
        return _encrypted_type(policy, column, other, server)

    return _subclass(
        plain,
        build,
        plain_type=plain,
        decrypt=_decryptor(policy, column),
        with_plain=staticmethod(replace_plain),
    )


def with_plain(kind: CqlType, plain: CqlType) -> Any:
    """Return the type of an encrypted column with another type of its clear values.

    :param kind: the type of the encrypted column.
    :param plain: the type to have in place of `kind.plain_type`; its values have the same bytes.
    """
    return kind.__dict__["with_plain"].__func__(plain)


def _refusing(codecs: ModuleType, name: str, why: str) -> Any:
    """Return a codec of the type `name` that refuses all values."""

    def encode(value: object) -> bytes:
        raise EncodeTypeError(why)

    def decode(data: bytes) -> Any:
        raise DecodeError(why)

    return codecs.from_functions(name, encode, decode, empty_is_value=True)


def _guarded_type(policy: Encryption, column: ColDesc, server: type[_CassandraType]) -> Any:
    """Return `server` as the type of a column that `policy` does not encrypt yet.

    A policy of a program may be told of a column after a statement was prepared. Its values must
    not be sent as they are from then on.
    """

    def build(codecs: ModuleType, version: int, vectors: str) -> Any:
        plain = server.build_codec(codecs, version, vectors)

        def encode(value: object) -> bytes:
            codec = plain
            if policy.contains_column(column):
                late = _encrypted_type(policy, column, policy.column_type(column), server)
                codec = late.build_codec(codecs, version, vectors)
            data: bytes = codec.encode(value)
            return data

        return codecs.from_functions(
            plain.cql_name,
            encode,
            plain.decode,
            fixed_size=plain.fixed_size,
            empty_is_value=plain.empty_is_value,
            empty=plain.legacy_empty,
        )

    return _subclass(server, build)


def _type_in(policy: Encryption, column: ColDesc, server: type[_CassandraType]) -> Any:
    """Return the type for an encrypted column, or None if it is not encrypted.

    A policy keeps the types that were made for it: results of texts ask again and again.
    """
    if not policy.contains_column(column):
        return None
    plain = policy.column_type(column)
    types = objects_of_policy(policy)
    key = (column, plain, server)
    cql_type = types.get(key)
    if cql_type is None:
        cql_type = types[key] = _encrypted_type(policy, column, plain, server)
    return cql_type


def objects_of_policy(policy: Encryption) -> dict[Any, Any]:
    """Return the objects made for a policy: they go when the policy goes."""
    objects: dict[Any, Any] = getattr(policy, "__dict__", {}).setdefault("_derived_objects", {})
    return objects


def bound_columns(
    columns: Sequence[ColumnMetadata],
    policy: Encryption,
    is_complete: bool = True,
    key_names: Collection[str] = (),
) -> list[ColumnMetadata]:
    """Return the bind markers of a statement with the types to encode by.

    :param is_complete: False for a policy that may encrypt further columns without saying so.
    :param key_names: columns of the primary key, by which rows are found.
    """
    bound = [_bound_column(column, policy, is_complete) for column in columns]
    if getattr(policy, "deterministic", True):
        return bound
    return [
        column._replace(type=_unfindable_type(column, policy))
        if column.name in key_names and is_encrypted(column.type)
        else column
        for column in bound
    ]


def _unfindable_type(column: ColumnMetadata, policy: Encryption) -> Any:
    """Return a type that refuses values: rows could not be found by them."""
    why = (
        f"{place_of(column[:3])} is a column of the primary key, and {type(policy).__name__} "
        "encrypts the same value to other bytes each time: its row would never be found again"
    )

    def build(codecs: ModuleType, version: int, vectors: str) -> Any:
        return _refusing(codecs, column.type.cql_parameterized_type(), why)

    return _subclass(column.type, build)


def _bound_column(column: ColumnMetadata, policy: Encryption, is_complete: bool) -> ColumnMetadata:
    description = ColDesc(*column[:3])
    kind = _type_in(policy, description, column.type)
    if kind is not None:
        return column._replace(type=kind)
    # For ``column IN ?`` servers name the marker ``in(column)``, and its type is a list.
    elements = _IN_MARKER.match(column.name)
    if elements is not None and issubclass(column.type, ListType) and column.type.subtypes:
        element = _type_in(policy, description._replace(col=elements[1]), column.type.subtypes[0])
        if element is not None:
            list_type = list_of(column.type, element)
            return column._replace(type=list_type)
    return (
        column
        if is_complete
        else column._replace(type=_guarded_type(policy, description, column.type))
    )


def list_of(server: type[_CassandraType], element: type[_CassandraType]) -> Any:
    """Return the type of lists of encrypted values, for the marker of ``column IN ?``.

    :param server: the type of the marker.
    :param element: the type of the encrypted column.
    """

    def build(codecs: ModuleType, version: int, vectors: str) -> Any:
        inner = element.build_codec(codecs, version, vectors)
        return codecs.list_of(inner)

    return _subclass(server, build, subtypes=(element,), plain_type=server)


# -- results ---------------------------------------------------------------------------------------


class SubstituteMetadata(ResultMetadata):
    """Columns that stand for those of another result, with other types; immutable.

    :param source: the columns that it stands for. The same bytes are recognised.
    :param columns: the columns with the types that values have in the program.
    """

    __slots__ = ("source",)

    def __init__(self, source: ResultMetadata, columns: Sequence[ColumnMetadata]) -> None:
        super().__init__(
            columns,
            source.raw,
            source._global,
            source.metadata_id,
            source._user_types,
            source.has_user_types,
        )
        self.vectors = source.vectors
        self.source = source

    def _over(self, source: ResultMetadata) -> SubstituteMetadata:
        """Return the same columns over another source."""
        raise NotImplementedError

    @property
    def columns_key(self) -> Any:
        """See `ResultMetadata.columns_key`."""
        return tuple((column.name, column.type) for column in self.columns)

    def with_id(self, metadata_id: bytes | None) -> ResultMetadata:
        """See `ResultMetadata.with_id`."""
        if metadata_id == self.metadata_id:
            return self
        other = self._over(self.source.with_id(metadata_id))
        # Row plans and column plans depend on the types alone, which another id does not change.
        other._row_plan = self._row_plan
        other.column_plans = self.column_plans
        return other

    def with_vectors(self, vectors: str) -> ResultMetadata:
        """See `ResultMetadata.with_vectors`."""
        if vectors == "list":
            return self
        other = self._variants.get(vectors)
        if other is None:
            other = self._variants[vectors] = self._over(self.source.with_vectors(vectors))
        return other


class DecryptingMetadata(SubstituteMetadata):
    """The columns of a result of which some are encrypted; immutable.

    `source` has the columns as the server describes them.
    """

    __slots__ = ("_policy",)

    def __init__(
        self, source: ResultMetadata, columns: Sequence[ColumnMetadata], policy: Encryption
    ) -> None:
        super().__init__(source, columns)
        self._policy = policy

    def __reduce__(self) -> tuple[Any, ...]:
        return decrypting, (self.source, self._policy)

    def _over(self, source: ResultMetadata) -> DecryptingMetadata:
        return DecryptingMetadata(source, self.columns, self._policy)

    @property
    def server_columns(self) -> Sequence[ColumnMetadata]:
        """See `ResultMetadata.server_columns`."""
        return self.source.columns

    @property
    def page_columns(self) -> Sequence[ColumnMetadata]:
        """See `ResultMetadata.page_columns`."""
        return [
            column._replace(type=getattr(column.type, "plain_type", column.type))
            for column in self.columns
        ]

    def page_reader(self, column_plan: object) -> Any:
        """See `ResultMetadata.page_reader`."""
        return DecryptedPages(column_plan, self.columns)

    def for_user_types(self, user_types: UserTypes | None) -> ResultMetadata:
        """See `ResultMetadata.for_user_types`."""
        source = self.source.for_user_types(user_types)
        return self if source is self.source else decrypting(source, self._policy)


def decrypting(metadata: ResultMetadata, policy: Encryption | None) -> ResultMetadata:
    """Return `metadata` as rows are read with `policy`.

    It is the metadata itself if no column is encrypted or `policy` is None.
    """
    if policy is None or not metadata.columns:
        return metadata
    metadata = metadata.native
    # The policy may have changed since: types are chosen anew, from those of the server.
    source = metadata.source if isinstance(metadata, DecryptingMetadata) else metadata
    columns = []
    for column in source.columns:
        kind = _type_in(policy, ColDesc(*column[:3]), column.type)
        columns.append(column if kind is None else column._replace(type=kind))
    if all(new is old for new, old in zip(columns, source.columns, strict=True)):
        return source
    return DecryptingMetadata(source, columns, policy)


class DecryptedPages:
    """A column plan for pages with encrypted columns.

    Column plans copy values from a page without looking at each. So the page is decrypted as a
    whole before the column plan gets it.

    :param column_plan: a `ColumnPlan` of the plain types.
    :param columns: the columns of the page.
    """

    __slots__ = ("_column_plan", "_columns", "_decrypt", "layout")

    layout: Layout

    def __init__(self, column_plan: Any, columns: Sequence[ColumnMetadata]) -> None:
        self._column_plan = column_plan
        self._columns = tuple(columns)
        self._decrypt = tuple(
            column.type.decrypt if is_encrypted(column.type) else None for column in columns
        )
        self.layout = column_plan.layout

    def read(self, body: bytes, offset: int, row_count: int) -> ColumnArray:
        """See `ColumnPlan.read`."""
        page = self._decrypted(body, offset, row_count)
        columns: ColumnArray = self._column_plan.read(page, 0, row_count)
        return columns

    def _decrypted(self, body: bytes, offset: int, row_count: int) -> bytes:
        """Return the rows at `offset` with the plain bytes of all values."""
        implementations.rows.check_row_count(len(body), offset, row_count, len(self._columns))
        parts: list[bytes] = []
        copied = pos = offset
        end = len(body)
        for row in range(row_count):
            for index, decrypt in enumerate(self._decrypt):
                start = pos + 4
                size = _int32.unpack_from(body, pos)[0] if start <= end else end
                pos = start + max(size, 0)
                if pos > end:
                    # The column plan's own error says what is wrong: it gets the rest as it is.
                    return b"".join((*parts, body[copied:]))
                # A null is not encrypted: the server has to know that there is no value.
                if decrypt is None or size < 0:
                    continue
                try:
                    plain = decrypt(body[start:pos])
                except DecodeError as error:
                    raise self._located(row, index, error) from error
                # What lies between two encrypted values is copied in one piece.
                parts.extend((body[copied : start - 4], _int32.pack(len(plain)), plain))
                copied = pos
        parts.append(body[copied:])
        return b"".join(parts)

    def _located(self, row: int, index: int, error: DecodeError) -> DecodeError:
        column = self._columns[index]
        kind = column.type.codec().cql_name
        return DecodeError(f'row {row}, column "{column.name}" ({kind}): {error}')
