"""Encrypts bound values and decrypts results, for columns that a policy encrypts.

For each encrypted column, this module makes a subclass of the type that the values have in the
application (the plain type). The subclass's codec encodes a value with the plain codec (the codec
of the plain type) and then encrypts the bytes. It decrypts the bytes of a result and then decodes
them. Bind plans and row plans get their codecs from the types of their columns. So the plans, both
in Python and compiled, need no code for encryption, and other columns do not become slower.
"""

from __future__ import annotations

import itertools
import operator
import re
import struct
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

import cassandra._impl as implementations
from cassandra._later_warnings import LaterWarnings, collecting, warn_of_topic
from cassandra._patterns import pattern
from cassandra.codecs.converter import reason_of
from cassandra.cqltypes.base import (
    DEFAULT_PROTOCOL_VERSION,
    codec_in_order,
    codec_like,
    server_order_of,
)
from cassandra.cqltypes.containers import ListType, MapType, SetType, TupleType
from cassandra.cqltypes.failures import EncodeTypeError, EncodeValueError, fails_again
from cassandra.cqltypes.scalars import BytesType
from cassandra.cqltypes.server_order import CollectionOrder
from cassandra.cqltypes.udt import UserType
from cassandra.errors import DecodeError
from cassandra.protocol.column_specs import ColumnMetadata, ResultMetadata
from cassandra.protocol.marker_names import usual_name

if TYPE_CHECKING:
    from collections.abc import Hashable
    from typing import NoReturn

    from cassandra.cqltypes.base import CodecModule, _CassandraType
    from cassandra.cqltypes.codecs.base import Codec
    from cassandra.protocol.column_specs import CqlType, UserTypes
    from cassandra.protocol.columnar.layouts import ColumnArray, Layout, PagePlan

_int32 = struct.Struct(">i")

# The codecs of these types give no warnings. Collecting warnings takes half as long as encrypting.
_TYPES_WITHOUT_WARNINGS = frozenset(
    {
        *("ascii", "bigint", "blob", "boolean", "decimal", "double", "float", "inet", "int"),
        *("smallint", "text", "timeuuid", "tinyint", "uuid", "varchar", "varint"),
    }
)

# Matches the names of markers whose values consist of values of columns: see `type_of_marker`.
_COMPOSED_MARKER = pattern(r"(in)?\((.+)\)\Z", re.DOTALL | re.IGNORECASE)


class ColDesc(NamedTuple):
    """Identifies a column. The names have the same case as on the server, without quotes.

    :param ks: the keyspace.
    :param table: the table.
    :param col: the column's name.
    """

    ks: str
    table: str
    col: str


ColDesc.__module__ = "cassandra.policies"


class Encryption(Protocol):
    """The methods of a `cassandra.policies.ColumnEncryptionPolicy` that this module calls."""

    def contains_column(self, coldesc: ColDesc) -> bool:
        """Return True if the column is encrypted."""

    def column_type(self, coldesc: ColDesc) -> CqlType:
        """Return the plain type: the `cassandra.cqltypes` class of the values before encryption."""

    def encrypt(self, coldesc: ColDesc, obj_bytes: bytes) -> bytes:
        """Encrypt an encoded value; return the bytes to send to the server."""

    def decrypt(self, coldesc: ColDesc, encrypted_bytes: bytes) -> bytes:
        """Decrypt bytes from the server; return the encoded value that was passed to `encrypt`."""


def place_of(column: Sequence[str]) -> str:
    """Return ``keyspace.table.column``, for error messages."""
    return ".".join(column)


def is_encrypted(kind: CqlType) -> bool:
    """Return True if `kind` is the type of an encrypted column."""
    return "plain_type" in kind.__dict__


# -- coding ----------------------------------------------------------------------------------------


def codec_of_secrets(
    plain_codec: Codec, plain_type: CqlType, codecs: CodecModule | None = None
) -> Codec:
    """Return a codec that encodes equal values of an encrypted column to equal bytes.

    :param plain_codec: the codec of `plain_type`.
    :param plain_type: the type of the values in the application.
    :param codecs: the module of the codec; None for the module that the driver uses.
    """
    # A Python set has a different order in each process. The server cannot sort encrypted bytes, so
    # without a fixed order it would take equal sets for different values.
    is_collection = issubclass(plain_type, SetType | MapType) and not plain_type._overridden()
    if is_collection and server_order_of(plain_type) is None:
        # We do not know the order of servers, but here any fixed order is right.
        order = CollectionOrder(bytes, issubclass(plain_type, MapType))
        return (codecs or implementations.codecs).ordered(plain_codec, order)
    return codec_in_order(plain_codec, plain_type, codecs)


def _make_encoder(
    policy: Encryption, column: ColDesc, plain_codec: Codec
) -> Callable[[Any], bytes]:
    """Return a function that encodes and encrypts a value of `column`."""
    encode_plain: Callable[[Any], bytes] = plain_codec.encode
    if plain_codec.cql_name not in _TYPES_WITHOUT_WARNINGS:
        encode_plain = partial(_encode_quietly, column, encode_plain)

    def encode(value: object) -> bytes:
        """Encode a value with the codec of the plain type, and encrypt the bytes."""
        try:
            data = encode_plain(value)
        except (EncodeTypeError, EncodeValueError) as error:
            # Do not chain the error of the plain codec: its message shows the value, which must
            # stay secret.
            reason = _reason_of(error) or f"this {type(value).__name__} does not fit"
            raise type(error)(
                f"{place_of(column)} is encrypted and takes {plain_codec.cql_name}: {reason} "
                "(values of encrypted columns are not shown)"
            ) from None
        return policy.encrypt(column, data)

    return encode


def _encode_quietly(column: ColDesc, encode: Callable[[Any], bytes], value: object) -> bytes:
    """Encode a value of `column`. If the plain codec warns of the value, warn without the value."""
    warnings = LaterWarnings()
    with collecting(warnings):
        data = encode(value)
    if warnings.messages:
        _warn_without_values(column, warnings)
    return data


def _warn_without_values(column: ColDesc, warnings: LaterWarnings) -> None:
    """Warn that the plain codec has warned of a value of `column`, without the value."""
    place = place_of(column)
    topics = " and ".join(sorted(warnings.topics)) or "a probable mistake"
    warn_of_topic(
        f"check the values for {place}: the driver has found a reason to warn of {topics} "
        "(values of encrypted columns are not shown)",
        f"values of {place}",
    )


def _make_decryptor(policy: Encryption, column: ColDesc) -> Callable[[bytes], bytes]:
    """Return a function that decrypts a value of `column`; it raises `DecodeError` only."""

    def decrypt(data: bytes) -> bytes:
        """Decrypt a value of the column; raises DecodeError."""
        if not data:
            raise DecodeError(f"{place_of(column)} is encrypted, but this value has no bytes")
        try:
            return policy.decrypt(column, data)
        except DecodeError:
            raise
        except Exception as error:  # an application's policy may raise anything
            if not fails_again(error, lambda: policy.decrypt(column, data)):
                raise
            raise DecodeError(f"{place_of(column)} cannot be decrypted: {error}") from error

    return decrypt


def _make_decoder(
    policy: Encryption, column: ColDesc, plain_codec: Codec
) -> Callable[[bytes], Any]:
    """Return a function that decrypts and decodes a value of `column`."""
    decrypt = _make_decryptor(policy, column)

    def decode(data: bytes) -> Any:
        """Decrypt the bytes, and decode them with the codec of the plain type."""
        decrypted = decrypt(data)
        try:
            return plain_codec.decode_nullable(decrypted)
        except DecodeError as error:
            # Do not chain the error of the plain codec: its message may show bytes of the secret
            # value.
            reason = _reason_of(error)
            raise DecodeError(
                f"{place_of(column)} was decrypted to {len(decrypted)} bytes, but {reason}"
                if reason is not None
                else f"{place_of(column)} was decrypted to {len(decrypted)} bytes that are not a "
                f"value of {plain_codec.cql_name}: it was written with another type or another key"
            ) from None

    return decode


def _reason_of(error: Exception) -> str | None:
    """Return what has failed, if that is not the value: a converter, or a limit.

    :param error: the error of a plain codec, whose message may show the value.
    """
    # The error of a limit only shows the size of the value, and what to do.
    is_of_limit = "cassandra.limits" in str(error)
    return str(error) if is_of_limit else reason_of(error)


# -- types -----------------------------------------------------------------------------------------

_Build: TypeAlias = "Callable[[CodecModule, int, str], Codec]"


def _make_subtype(parent: type[_CassandraType], build: _Build, **attributes: object) -> CqlType:
    """Return a subclass of the type `parent` that has `attributes`.

    :param build: makes the subclass's codec; called as ``build(codecs, protocol_version,
        vectors)``.
    """

    def build_codec(
        cls: Any,
        codecs: CodecModule,
        protocol_version: int = DEFAULT_PROTOCOL_VERSION,
        vectors: str = "list",
    ) -> Codec:
        """Return the codec of the subclass. As a class method, it gets the class as `cls`."""
        return build(codecs, protocol_version, vectors)

    metaclass: type[Any] = type(parent)
    new_type: CqlType = metaclass(
        parent.__name__,
        (parent,),
        {
            # Do not register the subclass: a look-up of the type by name must find `parent`.
            "_registered": False,
            "__module__": parent.__module__,
            "cassname": parent.cassname,
            "build_codec": classmethod(build_codec),
            # The bytes may be encrypted, so there are no sets and maps to sort in them.
            "_server_order": classmethod(lambda cls: None),
            **attributes,
        },
    )
    return new_type


def _encrypted_type(
    policy: Encryption,
    column: ColDesc,
    plain_type: type[_CassandraType],
    server_type: type[_CassandraType],
) -> CqlType:
    """Return the type with which values of an encrypted column are encoded and decoded.

    :param plain_type: the type of the values in the application.
    :param server_type: the type of the column on the server. If it is not a blob, the codec of the
        returned type raises an error for each value.
    """

    def build(codecs: CodecModule, version: int, vectors: str) -> Codec:
        """Make a codec that encrypts and decrypts, or fails if the server's type is not blob."""
        plain_codec = codec_of_secrets(
            plain_type.build_codec(codecs, version, vectors), plain_type, codecs
        )
        if not issubclass(server_type, BytesType):
            server_name = server_type.cql_parameterized_type()
            reason = f"{place_of(column)} is encrypted, so it has to be a blob on the server"
            return _failing_codec(codecs, server_name, f"{reason}, but it is {server_name}")
        return codecs.from_functions(
            plain_codec.cql_name,
            _make_encoder(policy, column, plain_codec),
            _make_decoder(policy, column, plain_codec),
            empty_is_value=True,
        )

    # The function `with_plain` calls this if a converter of the application replaces the plain
    # type.
    def replace_plain(other_plain_type: CqlType) -> CqlType:
        return _encrypted_type(policy, column, other_plain_type, server_type)

    return _make_subtype(
        plain_type,
        build,
        plain_type=plain_type,
        decrypt=_make_decryptor(policy, column),
        with_plain=staticmethod(replace_plain),
    )


def with_plain(kind: CqlType, plain: CqlType) -> CqlType:
    """Return a copy of `kind`, the type of an encrypted column, with another plain type.

    :param kind: the type of the encrypted column.
    :param plain: replaces `kind.plain_type`. It must encode values to the same bytes as that type.
    """
    new_type: CqlType = kind.__dict__["with_plain"].__func__(plain)
    return new_type


def _failing_codec(codecs: CodecModule, cql_name: str, message: str) -> Codec:
    """Return a codec that raises an error with the message `message` for every value."""

    def encode(value: object) -> bytes:
        raise EncodeTypeError(message)

    def decode(data: bytes) -> NoReturn:
        raise DecodeError(message)

    return codecs.from_functions(cql_name, encode, decode, empty_is_value=True)


def _guarded_type(
    policy: Encryption, column: ColDesc, server_type: type[_CassandraType]
) -> CqlType:
    """Return a type for a bind marker whose column `policy` does not encrypt yet.

    An application may add the column to its policy after it has prepared the statement. From then
    on, the column's values must not be sent in clear. So the codec asks the policy for each value.
    """

    def build(codecs: CodecModule, version: int, vectors: str) -> Codec:
        """Make a codec that encodes in clear until the policy encrypts the column."""
        # The column may be in a partition key, or its value in a tuple: see `codec_in_order`.
        plain_codec = codec_in_order(
            server_type.build_codec(codecs, version, vectors), server_type, codecs
        )

        def encode(value: object) -> bytes:
            """Encode a value, and encrypt it if the policy now encrypts the column."""
            # Ask the policy for each value, because columns may be added to the policy at any time.
            codec = plain_codec
            if policy.contains_column(column):
                encrypted_type = _encrypted_type(
                    policy, column, policy.column_type(column), server_type
                )
                codec = encrypted_type.build_codec(codecs, version, vectors)
            return codec.encode(value)

        return codec_like(plain_codec, codecs, encode, plain_codec.decode)

    return _make_subtype(server_type, build, is_guard=True)


def _encrypted_type_of(
    policy: Encryption, column: ColDesc, server_type: type[_CassandraType]
) -> CqlType | None:
    """Return the type of an encrypted column, or None if `policy` does not encrypt the column.

    The types are cached on the policy, because each result of an unprepared statement needs them.
    """
    if not policy.contains_column(column):
        return None
    plain_type = policy.column_type(column)
    cached_types = objects_of_policy(policy)
    key = (column, plain_type, server_type)
    cql_type = cached_types.get(key)
    if cql_type is None:
        cql_type = cached_types[key] = _encrypted_type(policy, column, plain_type, server_type)
    return cql_type


def objects_of_policy(policy: Encryption) -> dict[Any, Any]:
    """Return the cache for objects that belong to `policy`; it is an attribute of the policy.

    If the policy cannot have attributes (no ``__dict__``), the cache is a new, empty dict.
    """
    objects: dict[Any, Any] = getattr(policy, "__dict__", {}).setdefault("_derived_objects", {})
    return objects


def bound_columns(
    columns: Sequence[ColumnMetadata],
    policy: Encryption,
    is_complete: bool = True,
    key_names: Collection[str] = (),
    named: Mapping[str, Collection[str]] = MappingProxyType({}),
    unknown: Mapping[str, Collection[str]] = MappingProxyType({}),
) -> list[ColumnMetadata]:
    """Return the bind markers of a statement, with encrypting types for encrypted columns.

    :param columns: the bind markers.
    :param policy: the policy that encrypts columns.
    :param is_complete: False if the policy may start to encrypt further columns later without
        notice. Then the codecs of all other markers ask the policy for each value.
    :param key_names: the names of the primary key's columns. If the policy encrypts the same value
        to different bytes each time, binding a value to an encrypted key column is an error.
    :param named: the columns of each named marker; see `columns_of_named_markers`.
    :param unknown: the named markers whose columns are not known, each with names that the columns
        may have. Values of such a marker are refused if the policy encrypts one of these columns.
    """
    is_deterministic = getattr(policy, "deterministic", True)
    key_names = {*key_names, *(name for key in key_names for name in named.get(key, ()))}

    def bound_column(column: ColumnMetadata) -> ColumnMetadata:
        """Return the marker `column` with the types that encrypt."""

        def type_of(name: str, server_type: CqlType) -> CqlType:
            """Return the type of the values of the column `name`."""
            description = ColDesc(*column[:2], name)  # keyspace, table and name
            cql_type = _encrypted_type_of(policy, description, server_type)
            if cql_type is None:
                return server_type if is_complete else guarded(description, server_type)
            # The column is encrypted, so its own type on the server is blob. If the server's type
            # here is a tuple of one blob, the statement has ``(a) IN ?``: then encrypt the item of
            # the tuple.
            single_type = _type_of_tuple(name, server_type, type_of, composed_type, least=1)
            if single_type is not None:
                return single_type
            # If the policy encrypts the same value to different bytes each time, a row could not be
            # found by an encrypted column of its primary key. Refuse values for such columns.
            if not is_deterministic and name in key_names:
                return _type_that_refuses_values(description, cql_type, policy)
            return cql_type

        # A marker may differ in name from its column: a named marker, as in ``SET ssn = :other``,
        # and some markers of Cassandra 6. Use the name of the column.
        names = sorted(named.get(column.name, ()))
        if column.name in unknown and (names or not is_encrypted_column(column, column.name)):
            return with_unknown_column(column)
        if names:
            name = names[0]
        elif policy.contains_column(ColDesc(*column[:3])):
            name = column.name
        else:
            name = usual_name(column.name)
        if len(names) > 1 and any(is_encrypted_column(column, other) for other in names):
            cql_type = type_of_ambiguous(column, names, "encrypted")
        else:
            cql_type = type_of_marker(name, column.type, type_of, composed_type)
        return column if cql_type is column.type else column._replace(type=cql_type)

    def is_encrypted_column(column: ColumnMetadata, name: str) -> bool:
        """Return True if the policy encrypts the column of `name`, which may be "in(column)"."""
        bare_name = name[3:-1] if name.startswith("in(") else name
        return policy.contains_column(ColDesc(*column[:2], bare_name))

    def with_unknown_column(column: ColumnMetadata) -> ColumnMetadata:
        """Return the marker `column` with a type that refuses values if a column is encrypted."""
        # An encrypted column is a blob on the server, so the values of other types are no secrets.
        if not _has_blob(column.type):
            return column
        columns = [ColDesc(*column[:2], name) for name in sorted(unknown[column.name])]
        if is_complete and not any(map(policy.contains_column, columns)):
            return column
        return column._replace(type=_type_of_unknown(policy, column, columns))

    def guarded(column: ColDesc, server_type: CqlType) -> CqlType:
        return _guarded_type(policy, column, server_type)

    return [bound_column(column) for column in columns]


def type_of_ambiguous(column: ColumnMetadata, names: Sequence[str], change: str) -> CqlType:
    """Return a type that raises an error for each value of a named marker.

    The values of the marker's columns are not all changed in the same way, so no value fits all.

    :param column: the marker.
    :param names: the columns of the marker.
    :param change: what is done with the values of at least one column, for the message:
        "encrypted".
    """
    message = (
        f":{column.name} stands for {', '.join(names)} of {'.'.join(column[:2])}, and not all of "
        f"them are {change} in the same way: write a marker of its own for each"
    )

    def build(codecs: CodecModule, version: int, vectors: str) -> Codec:
        return _failing_codec(codecs, column.type.cql_parameterized_type(), message)

    return _make_subtype(column.type, build)


def _has_blob(cql_type: CqlType) -> bool:
    """Return True if a type is blob, or contains a blob."""
    return issubclass(cql_type, BytesType) or any(map(_has_blob, cql_type.subtypes))


def _type_of_unknown(
    policy: Encryption, column: ColumnMetadata, columns: Sequence[ColDesc]
) -> CqlType:
    """Return a type for a named marker of which it is not known whether its values are encrypted.

    :param column: the marker.
    :param columns: the columns to one of which the values may belong. The codec raises an error for
        each value while the policy encrypts one of them.
    """

    def build(codecs: CodecModule, version: int, vectors: str) -> Codec:
        plain_codec = codec_in_order(
            column.type.build_codec(codecs, version, vectors), column.type, codecs
        )

        def encode(value: object) -> bytes:
            # Ask the policy for each value, because columns may be added to the policy at any time.
            encrypted = [place_of(other) for other in columns if policy.contains_column(other)]
            if encrypted:
                raise EncodeTypeError(
                    f"it is not clear which column the values of :{column.name} belong to, and "
                    f"{', '.join(encrypted)} must not be sent unencrypted: write ? for this marker"
                )
            return plain_codec.encode(value)

        return codec_like(plain_codec, codecs, encode, plain_codec.decode)

    return _make_subtype(column.type, build)


def _type_that_refuses_values(column: ColDesc, cql_type: CqlType, policy: Encryption) -> CqlType:
    """Return a type that raises an error for each value of an encrypted key column.

    The column's bytes differ each time, so no row could be found by it.

    :param column: the column, for the message.
    :param cql_type: the type of the encrypted column.
    :param policy: the policy, for the message.
    """
    message = (
        f"{place_of(column)} is a column of the primary key, and {type(policy).__name__} "
        "encrypts the same value to other bytes each time: its row would never be found again"
    )

    def build(codecs: CodecModule, version: int, vectors: str) -> Codec:
        return _failing_codec(codecs, cql_type.cql_parameterized_type(), message)

    return _make_subtype(cql_type, build)


def type_of_marker(
    name: str,
    cql_type: CqlType,
    type_of: Callable[[str, CqlType], CqlType],
    with_subtypes: Callable[[CqlType, tuple[CqlType, ...]], CqlType],
) -> CqlType:
    """Return the type of a bind marker, whose values may consist of values of several columns.

    Servers name the marker of ``column IN ?`` "in(column)"; its type is a list. They name the
    marker of ``(a, b) > ?`` "(a,b)"; its type is a tuple. They name the marker of ``(a, b) IN ?``
    "in(a,b)".

    :param name: the name of the marker; see `usual_name`.
    :param cql_type: the type of the marker on the server.
    :param type_of: called with the name and the type of each column; returns the type to use.
    :param with_subtypes: called if `type_of` has returned other types. Its arguments are
        `cql_type`, or the element type of `cql_type`, and these types. Returns the type to use.
    """
    match = _COMPOSED_MARKER.match(name)
    if match is None:
        return type_of(name, cql_type)
    is_list, inner_name = match.groups()
    if not is_list:
        # The value of the marker in ``(a) = ?`` is a tuple of one item.
        tuple_type = _type_of_tuple(inner_name, cql_type, type_of, with_subtypes, least=1)
        return type_of(name, cql_type) if tuple_type is None else tuple_type
    if not issubclass(cql_type, ListType) or not cql_type.subtypes:
        return type_of(name, cql_type)
    element_type = cql_type.subtypes[0]
    # Servers give the markers of ``a IN ?`` and ``(a) IN ?`` the same name. So only treat the
    # elements as tuples of columns if there are at least two columns; otherwise `type_of` decides
    # about the element.
    new_type = _type_of_tuple(inner_name, element_type, type_of, with_subtypes, least=2)
    if new_type is None:
        new_type = type_of(inner_name, element_type)
    return cql_type if new_type is element_type else with_subtypes(cql_type, (new_type,))


def _type_of_tuple(
    name: str,
    cql_type: CqlType,
    type_of: Callable[[str, CqlType], CqlType],
    with_subtypes: Callable[[CqlType, tuple[CqlType, ...]], CqlType],
    least: int,
) -> CqlType | None:
    """Return the type of a tuple of values of the columns in `name`, such as "a,b".

    Return None if `cql_type` is not a tuple with an item for each of these columns. See
    `type_of_marker`.

    :param least: the minimum number of columns.
    """
    is_tuple = issubclass(cql_type, TupleType) and not issubclass(cql_type, UserType)
    if not is_tuple or len(cql_type.subtypes) < least:
        return None
    # The names of columns may contain commas. Then several lists of names are possible, of which
    # only the right one has the columns that are encrypted or converted.
    best: tuple[CqlType, ...] | None = None
    most_changes = -1
    for names in _lists_of_names(name.split(","), len(cql_type.subtypes)):
        subtypes = tuple(map(type_of, names, cql_type.subtypes))
        changes = sum(
            new is not old and not vars(new).get("is_guard", False)
            for new, old in zip(subtypes, cql_type.subtypes, strict=True)
        )
        if changes > most_changes:
            best, most_changes = subtypes, changes
    if best is None:
        return None
    is_changed = any(map(operator.is_not, best, cql_type.subtypes))
    return with_subtypes(cql_type, best) if is_changed else cql_type


def _lists_of_names(parts: Sequence[str], count: int) -> Iterator[list[str]]:
    """Yield the lists of `count` names that are `parts` with commas between them."""
    for ends in itertools.combinations(range(1, len(parts)), count - 1):
        bounds = itertools.pairwise((0, *ends, len(parts)))
        yield [",".join(parts[start:end]) for start, end in bounds]


def composed_type(server_type: CqlType, subtypes: tuple[CqlType, ...]) -> CqlType:
    """Return the type for a marker whose values consist of values of encrypted columns.

    Each of these values is encrypted separately.

    :param server_type: the marker's type on the server, a list or a tuple.
    :param subtypes: the types of the columns.
    """

    def build(codecs: CodecModule, version: int, vectors: str) -> Codec:
        inner_codecs = [
            codec_in_order(subtype.build_codec(codecs, version, vectors), subtype, codecs)
            for subtype in subtypes
        ]
        if issubclass(server_type, ListType):
            return codecs.list_of(inner_codecs[0])
        return codecs.tuple_of(inner_codecs, empty=None)

    return _make_subtype(server_type, build, subtypes=subtypes, plain_type=server_type)


# -- results ---------------------------------------------------------------------------------------


class SubstituteMetadata(ResultMetadata):
    """The columns of a result, with types that differ from the server's types; immutable.

    :param source: the columns with the server's types. This object accepts the same bytes of column
        specs: see `ResultMetadata.rows_at`.
    :param columns: the same columns with the types with which the values are decoded.
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

    def _with_source(self, source: ResultMetadata) -> SubstituteMetadata:
        """Return a copy with the same columns and another `source`."""
        raise NotImplementedError

    @property
    def columns_key(self) -> Hashable:
        """A hashable key: if two metadata objects have equal keys, they have the same columns."""
        return tuple((column.name, column.type) for column in self.columns)

    def with_id(self, metadata_id: bytes | None) -> ResultMetadata:
        """Return a copy with another metadata id; self if the id is the same."""
        if metadata_id == self.metadata_id:
            return self
        other = self._with_source(self.source.with_id(metadata_id))
        # The copy shares the row plan and the column plans, which only depend on the columns'
        # types.
        other._row_plan = self._row_plan
        other.column_plans = self.column_plans
        return other

    def with_vectors(self, vectors: str) -> ResultMetadata:
        """Return the same columns with another class for vectors of numbers in rows."""
        if vectors == "list":
            return self
        other = self._variants.get(vectors)
        if other is None:
            other = self._variants[vectors] = self._with_source(self.source.with_vectors(vectors))
        return other


class DecryptingMetadata(SubstituteMetadata):
    """The columns of a result, at least one of which is encrypted; immutable.

    `source` has the columns with the server's types. An encrypted column is a blob there.
    """

    __slots__ = ("_policy",)

    def __init__(
        self, source: ResultMetadata, columns: Sequence[ColumnMetadata], policy: Encryption
    ) -> None:
        super().__init__(source, columns)
        self._policy = policy

    def __reduce__(self) -> tuple[Any, ...]:
        return decrypting, (self.source, self._policy)

    def _with_source(self, source: ResultMetadata) -> DecryptingMetadata:
        return DecryptingMetadata(source, self.columns, self._policy)

    @property
    def server_columns(self) -> Sequence[ColumnMetadata]:
        """The columns with the server's types: an encrypted column is a blob."""
        return self.source.columns

    @property
    def page_columns(self) -> Sequence[ColumnMetadata]:
        """The columns from which a `ColumnPlan` is made, with the types of the decrypted values."""
        return [
            column._replace(type=getattr(column.type, "plain_type", column.type))
            for column in self.columns
        ]

    def page_reader(self, column_plan: PagePlan) -> PagePlan:
        """Return a reader that decrypts each page, and then lets `column_plan` decode the page."""
        return DecryptedPages(column_plan, self.columns)

    def for_user_types(self, user_types: UserTypes | None) -> ResultMetadata:
        """Return the same columns with the UDT classes of `user_types`; self if nothing changes."""
        source = self.source.for_user_types(user_types)
        return self if source is self.source else decrypting(source, self._policy)


def decrypting(metadata: ResultMetadata, policy: Encryption | None) -> ResultMetadata:
    """Return metadata that decrypts the columns that `policy` encrypts.

    If `policy` is None or encrypts no column of the result, the metadata decrypts nothing.
    """
    if policy is None or not metadata.columns:
        return metadata
    metadata = metadata.native  # without converters: the caller adds the current converters
    # The policy may have changed since `metadata` was made, so start from the server's types.
    source = metadata.source if isinstance(metadata, DecryptingMetadata) else metadata
    columns = []
    for column in source.columns:
        decrypting_type = _encrypted_type_of(policy, ColDesc(*column[:3]), column.type)
        columns.append(column if decrypting_type is None else column._replace(type=decrypting_type))
    if all(new is old for new, old in zip(columns, source.columns, strict=True)):
        return source
    return DecryptingMetadata(source, columns, policy)


class DecryptedPages:
    """Reads pages with encrypted columns into arrays; has the same methods as `ColumnPlan`.

    A `ColumnPlan` does not call a codec for each value. So this class makes a copy of the page in
    which all encrypted values are decrypted, and lets the `ColumnPlan` read the copy.

    :param column_plan: a `ColumnPlan` of the plain types.
    :param columns: the columns of the page.
    """

    __slots__ = ("_column_plan", "_columns", "_decrypt", "layout")

    layout: Layout

    def __init__(self, column_plan: PagePlan, columns: Sequence[ColumnMetadata]) -> None:
        self._column_plan = column_plan
        self._columns = tuple(columns)
        self._decrypt = tuple(
            column.type.decrypt if is_encrypted(column.type) else None for column in columns
        )
        self.layout = column_plan.layout

    def read(self, body: bytes, offset: int, row_count: int) -> ColumnArray:
        """Decrypt the `row_count` rows at `offset`, and decode them into columns."""
        page = self._decrypted_rows(body, offset, row_count)
        return self._column_plan.read(page, 0, row_count)

    def _decrypted_rows(self, body: bytes, offset: int, row_count: int) -> bytes:
        """Return a copy of the rows at `offset` in which the encrypted values are decrypted."""
        implementations.rows.check_row_count(len(body), offset, row_count, len(self._columns))
        parts: list[bytes] = []
        copied_until = pos = offset
        end = len(body)
        for row in range(row_count):
            for index, decrypt in enumerate(self._decrypt):
                start = pos + 4
                # If the page ends before the length, use an impossible size, so that the check
                # below fails.
                size = _int32.unpack_from(body, pos)[0] if start <= end else end
                pos = start + max(size, 0)
                if pos > end:
                    # The page is truncated. Return the rest unchanged, because the column plan will
                    # raise a clear error for it.
                    return b"".join((*parts, body[copied_until:]))
                # Copy nulls unchanged: they are never encrypted, because the server must know that
                # there is no value.
                if decrypt is None or size < 0:
                    continue
                try:
                    plain_bytes = decrypt(body[start:pos])
                except DecodeError as error:
                    raise self._with_location(row, index, error) from error
                # Copy everything since the last encrypted value, and then the decrypted value.
                parts.extend(
                    (body[copied_until : start - 4], _int32.pack(len(plain_bytes)), plain_bytes)
                )
                copied_until = pos
        parts.append(body[copied_until:])
        return b"".join(parts)

    def _with_location(self, row: int, index: int, error: DecodeError) -> DecodeError:
        column = self._columns[index]
        kind = column.type.codec().cql_name
        return DecodeError(f'row {row}, column "{column.name}" ({kind}): {error}')
