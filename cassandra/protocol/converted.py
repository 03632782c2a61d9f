"""Applies an application's converters (see `cassandra.codecs`) to columns and bind markers.

For a type with a converter, this module makes a subclass of the type. The subclass's codec calls
the converter's `to_cql` before it encodes a value with the plain codec (the codec without
converters), and `from_cql` after it has decoded a value. A type that contains such a type also gets
a subclass, with the new types as its subtypes. Bind plans and row plans get their codecs from the
types of their columns. So the plans, both in Python and compiled, need no code for converters, and
columns without a converter do not become slower.

A value may match several converters. The order of precedence is: the converter of its column; if
the value is bound, the converter of its Python class; the converter of its CQL type. If a
converter applies to a collection, the elements are not converted again, because a converter takes
and returns plain CQL values.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

from cassandra._patterns import pattern
from cassandra._proxies import is_own
from cassandra.codecs.converter import from_native, to_native
from cassandra.cqltypes.base import DEFAULT_PROTOCOL_VERSION, _CassandraType, codec_like
from cassandra.cqltypes.containers import TupleType, VectorType, _Wrapper
from cassandra.cqltypes.failures import locate, shown
from cassandra.protocol.column_specs import ColumnMetadata, ResultMetadata
from cassandra.protocol.encrypted import (
    SubstituteMetadata,
    composed_type,
    type_of_ambiguous,
    type_of_marker,
    with_plain,
)
from cassandra.protocol.marker_names import usual_name

if TYPE_CHECKING:
    from cassandra.codecs.converter import Converter
    from cassandra.codecs.registry import Converters
    from cassandra.cqltypes.base import CodecModule
    from cassandra.cqltypes.codecs.base import Codec, Data
    from cassandra.protocol.column_specs import CqlType, UserTypes
    from cassandra.protocol.columnar.layouts import PagePlan

# The names of bind markers and result columns that belong to no column of a table. Bind markers are
# "[limit]", "[ttl]" and "partition key token" (of ``token(key) > ?``). Result columns are
# "[applied]" of conditional writes, and "[json]" of ``SELECT JSON``.
_NOT_OF_COLUMN = pattern(r"\[.*\]\Z|partition key token\Z", re.DOTALL)
# The keyspaces whose names begin with "system" and belong to the server. We compare whole names,
# because applications have keyspaces such as "system_data".
SERVER_KEYSPACES = frozenset(
    {
        "system",
        "system_accord",
        "system_accord_debug",
        "system_accord_debug_remote",
        "system_auth",
        "system_auth_v2",
        "system_cluster_metadata",
        "system_distributed",
        "system_distributed_everywhere",
        "system_metrics",
        "system_multiregion_info",
        "system_replicated_keys",
        "system_schema",
        "system_schema_mcs",
        "system_traces",
        "system_views",
        "system_virtual_schema",
    }
)
"""The keyspaces of the server itself, in Cassandra, ScyllaDB and Amazon Keyspaces."""
_TYPE_BYTES = 3000  # estimated memory of a cached type, for the cache's limit
# The method `build_codec` of types that do not override it; see `_is_opaque`.
_BUILD_CODEC = vars(_CassandraType)["build_codec"].__func__

_Build: TypeAlias = "Callable[[CodecModule, int, str], Codec]"


def is_converted(cql_type: CqlType) -> bool:
    """Return True if the type has a converter, so that its values may be of any Python class.

    The column may be encrypted: then the converter belongs to the type of the decrypted values.
    """
    decrypted_type = cql_type.__dict__.get("plain_type", cql_type)
    return "native_type" in decrypted_type.__dict__


def _make_subtype(parent: CqlType, build: _Build | None = None, **attributes: object) -> CqlType:
    """Return a subclass of the type `parent` with `attributes`.

    If `build` is not None, it makes the subclass's codecs. Otherwise the codecs are made as for
    `parent`.
    """
    if build is not None:

        def build_codec(
            cls: Any,
            codecs: CodecModule,
            protocol_version: int = DEFAULT_PROTOCOL_VERSION,
            vectors: str = "list",
        ) -> Codec:
            """Return the codec of the subclass. As a class method, it gets the class as `cls`."""
            return build(codecs, protocol_version, vectors)

        attributes["build_codec"] = classmethod(build_codec)
    metaclass: type[Any] = type(parent)
    new_type: CqlType = metaclass(
        parent.__name__,
        (parent,),
        {
            # Do not register the subclass: a look-up of the type by name must find `parent`.
            "_registered": False,
            "__module__": parent.__module__,
            "cassname": parent.cassname,
            **attributes,
        },
    )
    return new_type


def _with_subtypes(plain: CqlType, subtypes: tuple[Any, ...]) -> CqlType:
    """Return a subclass of `plain` that contains `subtypes`, for example another element type."""
    if issubclass(plain, VectorType):
        return _make_subtype(plain, subtypes=subtypes, subtype=subtypes[0])
    return _make_subtype(plain, subtypes=subtypes)


def _is_opaque(cql_type: CqlType) -> bool:
    """Return True if the type's codec is not made from the codecs of its subtypes.

    Then converters of the subtypes do not apply.
    """
    has_own_codec = not is_own(cql_type.build_codec, _BUILD_CODEC)
    return has_own_codec or (cql_type._overridden() and not issubclass(cql_type, _Wrapper))


# -- coding ----------------------------------------------------------------------------------------


def _encode_converted(plain_codec: Codec, to_cql: Callable[[Any], Any], value: object) -> bytes:
    """Convert `value` by the application's function `to_cql`, and encode the result."""
    converted = to_native(to_cql, value, plain_codec.cql_name)
    try:
        data = plain_codec.encode(converted)
    except Exception as error:
        # The codec's error shows the converted value. Add the value that the application bound.
        locate(error, f"converted from {shown(value)}")
        raise
    return data


def _converted_type(plain_type: CqlType, converter: Converter[Any, Any]) -> CqlType:
    """Return a subclass of `plain_type` whose codec calls the functions of `converter`."""
    to_cql, from_cql = converter.to_cql, converter.from_cql

    def build(codecs: CodecModule, version: int, vectors: str) -> Codec:
        """Make a codec that converts values before encoding, and after decoding."""
        plain_codec = plain_type.build_codec(codecs, version, vectors)
        cql_name = plain_codec.cql_name
        encode, decode = plain_codec.encode, plain_codec.decode
        # A converter may work in one direction only. Then the plain codec is used for the other
        # direction.
        if to_cql is not None:

            def encode(value: object) -> bytes:
                return _encode_converted(plain_codec, to_cql, value)

        if from_cql is not None:

            def decode(data: Data) -> Any:
                return from_native(from_cql, plain_codec.decode(data), cql_name)

        return codec_like(plain_codec, codecs, encode, decode)

    return _make_subtype(plain_type, build, native_type=plain_type)


def _type_for_bound_classes(
    cql_type: CqlType, plain_type: CqlType, converters: Converters
) -> CqlType:
    """Return a type for bind markers, to which values of registered Python classes can be bound.

    If a converter is registered for the class of a value, this converter converts the value, which
    is then encoded as `plain_type`. All other values are encoded as `cql_type`.

    :param cql_type: the type with the converters of columns and types.
    :param plain_type: the same type without any converter.
    :param converters: the registered converters.
    """

    def build(codecs: CodecModule, version: int, vectors: str) -> Codec:
        """Make a codec that chooses the converter by the class of each bound value."""
        codec_of_others = cql_type.build_codec(codecs, version, vectors)
        plain_codec = plain_type.build_codec(codecs, version, vectors)

        def encode(value: object) -> bytes:
            to_cql = converters.of_class(type(value))
            if to_cql is None:
                return codec_of_others.encode(value)
            return _encode_converted(plain_codec, to_cql, value)

        return codec_like(plain_codec, codecs, encode, codec_of_others.decode)

    return _make_subtype(cql_type, build, native_type=plain_type)


# -- types -----------------------------------------------------------------------------------------


class _Types:
    """Finds the type, with converters, with which the values of each column are coded.

    :param converters: the converters that are registered now.
    :param is_bound: True for bind markers, False for the columns of results.
    """

    __slots__ = ("_converters", "_is_bound")

    def __init__(self, converters: Converters, is_bound: bool) -> None:
        self._converters = converters
        self._is_bound = is_bound

    def of_column(self, column: ColumnMetadata) -> ColumnMetadata:
        """Return `column` with its converting type, or `column` itself if nothing is converted."""
        cached = self._converters.cached_types
        key = (self._is_bound, *column)  # converters of classes only apply to bind markers
        cql_type = cached.get(key)
        if cql_type is None:
            cql_type = cached.keep(key, self._type_of_column(column), cost=_TYPE_BYTES)
        return column if cql_type is column.type else column._replace(type=cql_type)

    def _type_of_column(self, column: ColumnMetadata) -> CqlType:
        """Return the converting type of `column`, or its own type if nothing is converted."""
        if not self._is_bound:
            return self._type_of_values(column)
        # A marker such as that of ``(a, b) IN ?`` takes values that consist of values of several
        # columns.
        has_converter = tuple(column[:3]) in self._converters.columns
        return type_of_marker(
            column.name if has_converter else usual_name(column.name),
            column.type,
            lambda name, cql_type: self._type_of_values(column._replace(name=name, type=cql_type)),
            self._composed_type,
        )

    def _composed_type(self, marker_type: CqlType, subtypes: tuple[CqlType, ...]) -> CqlType:
        """Return the type of a marker whose values consist of values of columns.

        :param subtypes: the types of the columns.
        """
        is_encrypted = _is_opaque(marker_type)  # at least one of the columns is encrypted
        cql_type = (composed_type if is_encrypted else _with_subtypes)(marker_type, subtypes)
        # The application may have registered a class whose values are whole tuples.
        if self._converters.classes and issubclass(marker_type, TupleType):
            return _type_for_bound_classes(cql_type, marker_type, self._converters)
        return cql_type

    def _type_of_values(self, column: ColumnMetadata) -> CqlType:
        """Return the type of the values of `column`, which is not composed of other columns."""
        keyspace, table, name, _ = column
        cql_type: CqlType = column.type
        # A converter of the column takes precedence over converters of types and classes.
        converter = self._converters.columns.get((keyspace, table, name))
        if converter is not None:
            if self._is_bound and converter.to_cql is None:
                # Only converters of classes apply: they belong to the value, not to the column.
                of_classes = _Types(self._converters.only_of_classes(), is_bound=True)
                return _replace_decrypted_type(cql_type, of_classes._with_converters)
            return _replace_decrypted_type(cql_type, lambda plain: self._applied(plain, converter))
        # Converters are for the application's values, but these columns are the server's. For
        # example, the driver reads "[applied]", and expects a bool.
        if _NOT_OF_COLUMN.match(name):
            return cql_type
        # The driver reads the server's tables, and expects plain values in them.
        if keyspace in SERVER_KEYSPACES:
            return cql_type
        return _replace_decrypted_type(cql_type, self._with_converters)

    def _applied(self, plain_type: CqlType, converter: Converter[Any, Any]) -> CqlType:
        """Return the type to which `converter` applies.

        A converter may work in one direction only. In the other direction the plain type is used,
        so that `row_type` and the checks of loads treat its values as usual.
        """
        function = converter.to_cql if self._is_bound else converter.from_cql
        return plain_type if function is None else _converted_type(plain_type, converter)

    def _with_converters(self, cql_type: CqlType, is_number_of_vector: bool = False) -> CqlType:
        """Return `cql_type` with the converters of types and, for bind markers, of classes.

        :param cql_type: the type.
        :param is_number_of_vector: True if `cql_type` is the element type of a vector of numbers,
            to which converters of classes do not apply.
        """
        converter = self._converters.of_type(cql_type)
        # A wrapper such as frozen has no converter: the converters of the wrapped type apply.
        if isinstance(cql_type, type) and issubclass(cql_type, _Wrapper) and converter is None:
            return self._with_converted_subtypes(cql_type)
        converting_type = (
            self._with_converted_subtypes(cql_type)
            if converter is None
            else self._applied(cql_type, converter)
        )
        if self._is_bound and self._converters.classes and not is_number_of_vector:
            return _type_for_bound_classes(converting_type, cql_type, self._converters)
        return converting_type

    def _with_converted_subtypes(self, cql_type: CqlType) -> CqlType:
        """Return `cql_type` with the converters of the types that it contains."""
        if not cql_type.subtypes or _is_opaque(cql_type):
            return cql_type
        is_vector = issubclass(cql_type, VectorType)
        subtypes = tuple(
            # The numbers of a vector are encoded all at once, often from an array. So converters
            # of classes do not apply to its numbers.
            self._with_converters(subtype, is_vector and bool(subtype.codec().struct_code))
            for subtype in cql_type.subtypes
        )
        if all(new is old for new, old in zip(subtypes, cql_type.subtypes, strict=True)):
            return cql_type
        return _with_subtypes(cql_type, subtypes)


def _replace_decrypted_type(cql_type: CqlType, change: Callable[[CqlType], CqlType]) -> CqlType:
    """Return `change(cql_type)`.

    If the column is encrypted, return a copy of `cql_type` in which `change` has replaced the type
    of the decrypted values.
    """
    decrypted_type = cql_type.__dict__.get("plain_type")
    # Only the types of encrypted columns have these two attributes.
    if decrypted_type is None or "with_plain" not in cql_type.__dict__:
        return change(cql_type)
    new_type = change(decrypted_type)
    return cql_type if new_type is decrypted_type else with_plain(cql_type, new_type)


def bound_columns(
    columns: Sequence[ColumnMetadata],
    converters: Converters,
    named: Mapping[str, Collection[str]] = MappingProxyType({}),
) -> Sequence[ColumnMetadata]:
    """Return `columns`, the bind markers of a statement, with types that apply the converters.

    :param columns: the bind markers. Encrypted columns already have their encrypting types.
    :param converters: the converters that are registered now.
    :param named: the columns of each named marker; see `columns_of_named_markers`. The name of a
        marker may be that of another column.
    """
    types = _Types(converters, is_bound=True)

    def bound_column(column: ColumnMetadata) -> ColumnMetadata:
        """Return the marker `column` with its converting type."""
        names = sorted(named.get(column.name, (column.name,)))
        options = [types.of_column(column._replace(name=name)).type for name in names]
        cql_type = options[0]
        if len(names) > 1 and any(option is not column.type for option in options):
            # Converters of types and classes are the same for all columns.
            own_converters = [
                [converters.columns.get((*column[:2], name)) for name in _names_in(composed_name)]
                for composed_name in names
            ]
            differ = any(any(own) for own in own_converters) and any(
                own != own_converters[0] for own in own_converters
            )
            if differ or any(option is column.type for option in options):
                cql_type = type_of_ambiguous(column, names, "converted")
        return column if cql_type is column.type else column._replace(type=cql_type)

    return [bound_column(column) for column in columns]


def _names_in(name: str) -> list[str]:
    """Return the columns in the name of a marker: "a" and "b" of "in(a,b)"."""
    return name.removeprefix("in").strip("()").split(",") if name.endswith(")") else [name]


# -- results ---------------------------------------------------------------------------------------


class ConvertedMetadata(SubstituteMetadata):
    """The columns of a result, at least one of which has a converter; immutable.

    `source` has the same columns without converters. Results as Arrow, NumPy and pandas are read
    with `source`, so converters have no effect on them.
    """

    __slots__ = ("converters",)

    def __init__(
        self, source: ResultMetadata, columns: Sequence[ColumnMetadata], converters: Converters
    ) -> None:
        super().__init__(source, columns)
        self.column_plans = source.column_plans
        self.converters = converters

    def _with_source(self, source: ResultMetadata) -> ConvertedMetadata:
        return ConvertedMetadata(source, self.columns, self.converters)

    def __reduce__(self) -> tuple[Any, ...]:
        # Leave out the converters: they are functions, which may not be picklable. The other
        # process uses the converters that it has registered.
        return self.source.__reduce__()

    @property
    def native(self) -> ResultMetadata:
        """The same columns without converters."""
        return self.source

    @property
    def server_columns(self) -> Sequence[ColumnMetadata]:
        """The columns with the server's types, before converters and decryption."""
        return self.source.server_columns

    @property
    def page_columns(self) -> Sequence[ColumnMetadata]:
        """The columns from which a `ColumnPlan` is made: without converters, and decrypted."""
        return self.source.page_columns

    def page_reader(self, column_plan: PagePlan) -> PagePlan:
        """Return the object that decodes pages into arrays, to which converters do not apply."""
        return self.source.page_reader(column_plan)

    def for_user_types(self, user_types: UserTypes | None) -> ResultMetadata:
        """Return the same columns with the UDT classes of `user_types`; self if nothing changes."""
        source = self.source.for_user_types(user_types)
        return self if source is self.source else converting(source, self.converters)


def converting(metadata: ResultMetadata, converters: Converters | None) -> ResultMetadata:
    """Return metadata that decodes rows with `converters`.

    If no column has a converter, this is the native metadata, which has no converters.

    :param metadata: the columns of a result. Encrypted columns already have their decrypting types.
    :param converters: the registered converters, or None.
    """
    if isinstance(metadata, ConvertedMetadata) and metadata.converters is converters:
        return metadata
    # Start from the metadata without converters, because the registered converters may have
    # changed.
    source = metadata.native
    if converters is None or not (converters.types or converters.columns):
        return source
    types = _Types(converters, is_bound=False)
    columns = [types.of_column(column) for column in source.columns]
    if all(new is old for new, old in zip(columns, source.columns, strict=True)):
        return source
    return ConvertedMetadata(source, columns, converters)
