"""Types that contain other types: list, set, map, tuple, vector, frozen and reversed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from cassandra.cqltypes.base import (
    _CassandraType,
    inner_codec,
    parameterized,
    public,
    server_order_of,
    sort_key_of,
    sub_codec,
)
from cassandra.cqltypes.server_order import (
    CollectionOrder,
    of_elements,
    of_entries,
    of_fields,
    of_vectors,
)

if TYPE_CHECKING:
    from cassandra.cqltypes.base import CodecModule
    from cassandra.cqltypes.codecs.base import Codec
    from cassandra.cqltypes.server_order import SortKey


class _ParameterizedType(_CassandraType):
    """Base of all types with parameters."""

    num_subtypes: ClassVar[Any] = "UNKNOWN"


class _SimpleParameterizedType(_ParameterizedType):
    """Base of the types with one parameter, the type of the elements."""

    num_subtypes = 1

    @classmethod
    def _build(cls, codecs: CodecModule, protocol_version: int, vectors: str) -> Codec:
        element = inner_codec(_first_parameter(cls), codecs, protocol_version, vectors)
        codec: Codec = getattr(codecs, cls._factory)(element, empty=cls._empty())
        return codec

    @classmethod
    def _sort_key(cls) -> SortKey | None:
        keys = _sort_keys(cls.subtypes)
        return None if keys is None else of_elements(keys[0])


def _first_parameter(cls: type[_CassandraType]) -> type[_CassandraType]:
    """Return the first parameter of a type.

    :raises ValueError: if `cls` is a class without parameters, such as `ListType` itself.
    """
    if not cls.subtypes:
        raise ValueError(f"{cls.cassname} has no parameters yet; see apply_parameters")
    cql_type: type[_CassandraType] = cls.subtypes[0]
    return cql_type


def _sort_keys(subtypes: Sequence[type[_CassandraType]]) -> list[SortKey] | None:
    """Return the sort key of each type; None if a type has none, or if there are no types."""
    keys = [sort_key_of(subtype) for subtype in subtypes]
    known_keys = [key for key in keys if key is not None]
    return known_keys if keys and len(known_keys) == len(keys) else None


def _collection_order(
    subtypes: Sequence[type[_CassandraType]], is_map: bool = False
) -> CollectionOrder | None:
    """Return the order of a set or map, which its first subtype decides; None if it has none."""
    key = sort_key_of(subtypes[0]) if subtypes else None
    return None if key is None else CollectionOrder(key, is_map)


class ListType(_SimpleParameterizedType):
    """The CQL type list. Values are decoded as lists.

    You can bind any iterable, such as an array of numbers.
    """

    typename = "list"
    _factory = "list_of"


class SetType(_SimpleParameterizedType):
    """The CQL type set. Values are decoded as a `cassandra.util.SortedSet`.

    You can bind any iterable.
    """

    typename = "set"
    _factory = "set_of"

    @classmethod
    def _server_order(cls) -> CollectionOrder | None:
        return _collection_order(cls.subtypes)


class MapType(_ParameterizedType):
    """The CQL type map. You can bind any mapping.

    Values are decoded as a `cassandra.util.OrderedMapSerializedKey`.
    """

    typename = "map"
    num_subtypes = 2

    @classmethod
    def _build(cls, codecs: CodecModule, protocol_version: int, vectors: str) -> Codec:
        """Make the codec of a map from the codecs of its keys and values."""
        _first_parameter(cls)  # raises the error for a map without parameters
        key, value = (
            inner_codec(subtype, codecs, protocol_version, vectors) for subtype in cls.subtypes
        )
        return codecs.map_of(key, value, empty=cls._empty())

    @classmethod
    def _sort_key(cls) -> SortKey | None:
        keys = _sort_keys(cls.subtypes)
        return None if keys is None else of_entries(*keys)

    @classmethod
    def _server_order(cls) -> CollectionOrder | None:
        return _collection_order(cls.subtypes, is_map=True)


class TupleType(_ParameterizedType):
    """The CQL type tuple. Values are decoded as tuples.

    You can bind any sequence. Items that are missing at the end are read as null.
    """

    typename = "tuple"

    @classmethod
    def _build(cls, codecs: CodecModule, protocol_version: int, vectors: str) -> Codec:
        fields = [
            inner_codec(subtype, codecs, protocol_version, vectors) for subtype in cls.subtypes
        ]
        return codecs.tuple_of(fields, empty=cls._empty())

    @classmethod
    def _sort_key(cls) -> SortKey | None:
        keys = _sort_keys(cls.subtypes)
        return None if keys is None else of_fields(keys)

    @classmethod
    def cql_parameterized_type(cls) -> str:
        """Return a name such as ``frozen<tuple<int, text>>``, because tuples are always frozen."""
        inner = ", ".join(subtype.cql_parameterized_type() for subtype in cls.subtypes)
        return f"frozen<tuple<{inner}>>"


class VectorType(_CassandraType):
    """The CQL type vector. Values are decoded as lists or, if you request it, as arrays.

    You can bind any iterable of the right length, such as an array of numbers. `subtype` is the
    type of the elements, and `vector_size` is the dimension.
    """

    typename = "vector"
    num_subtypes = 2
    subtype: ClassVar[Any] = None
    vector_size: ClassVar[int] = 0

    @classmethod
    def apply_parameters(
        cls, params: Sequence[Any], names: Sequence[Any] | None = None
    ) -> type[_CassandraType]:
        """Return the vector type with an element type and a dimension.

        :param params: (element type, dimension); the dimension is an int or a string.
        :raises ValueError: if the dimension is not a positive number.
        """
        if len(params) != 2:
            raise ValueError(
                f"vector takes 2 parameters, the element type and the dimension; got {len(params)}"
            )
        subtype, size = params
        try:
            # The parser of class names passes a class `UnrecognizedType`, whose name is the number.
            dimension = int(getattr(size, "cassname", size))
        except (TypeError, ValueError):
            raise ValueError(f"the dimension of a vector is a number, not {size!r}") from None
        if dimension < 1:
            raise ValueError(f"the dimension of a vector is at least 1, not {dimension}")
        # Pass the name of the class, because the name that `parameterized` makes lacks the
        # dimension.
        title = f"{cls.cassname}({subtype.cass_parameterized_type()}, {dimension})"
        return parameterized(
            cls, (subtype,), None, subtype=subtype, vector_size=dimension, _title=title
        )

    @classmethod
    def cass_parameterized_type_with(cls, subtypes: Sequence[Any], full: bool = False) -> str:
        """Return a name such as ``VectorType(FloatType, 3)``."""
        name = super().cass_parameterized_type_with((), full=full)
        if not subtypes:
            return name
        return f"{name}({subtypes[0].cass_parameterized_type(full=full)}, {cls.vector_size})"

    @classmethod
    def cql_parameterized_type(cls) -> str:
        """Return a name such as ``vector<float, 3>``."""
        if cls.subtype is None:
            return cls.typename
        return f"{cls.typename}<{cls.subtype.cql_parameterized_type()}, {cls.vector_size}>"

    @classmethod
    def _build(cls, codecs: CodecModule, protocol_version: int, vectors: str) -> Codec:
        """Make the codec of a vector from the codec of its elements."""
        if cls.subtype is None:
            raise ValueError("VectorType has no parameters yet; see apply_parameters")
        element = inner_codec(cls.subtype, codecs, protocol_version, vectors)
        return codecs.vector_of(element, cls.vector_size, as_=vectors, empty=cls._empty())

    @classmethod
    def _sort_key(cls) -> SortKey | None:
        keys = _sort_keys(cls.subtypes)
        if keys is None:
            return None
        return of_vectors(keys[0], cls.subtypes[0].codec().fixed_size)


class _Wrapper(_SimpleParameterizedType):
    """Base of frozen and reversed, whose values are encoded like values of their parameter."""

    @classmethod
    def _build(cls, codecs: CodecModule, protocol_version: int, vectors: str) -> Codec:
        return sub_codec(_first_parameter(cls), codecs, protocol_version, vectors)

    @classmethod
    def apply_parameters(
        cls, subtypes: Sequence[Any], names: Sequence[Any] | None = None
    ) -> type[_CassandraType]:
        """Return the type that wraps the only type in `subtypes`, such as `frozen<int>`.

        If empty bytes are a value of the wrapped type (`empty_binary_ok`), they are a value of the
        new type, too.
        """
        subtypes = tuple(subtypes)
        if len(subtypes) != 1:
            raise ValueError(f"{cls.cassname} takes 1 parameter, got {len(subtypes)}")
        return parameterized(cls, subtypes, None, empty_binary_ok=subtypes[0].empty_binary_ok)

    @classmethod
    def from_binary(cls, byts: bytes | None, protocol_version: int) -> Any:
        """Decode a [bytes], which may be null or empty, as a value of the parameter's type.

        :raises DecodeError: if the bytes are not valid for the type.
        """
        return cls.codec(protocol_version).decode_nullable(byts)

    @classmethod
    def _sort_key(cls) -> SortKey | None:
        return sort_key_of(cls.subtypes[0]) if cls.subtypes else None

    @classmethod
    def _server_order(cls) -> CollectionOrder | None:
        return server_order_of(cls.subtypes[0]) if cls.subtypes else None

    # This is always False. If the parameter is an application's type, the wrapper's codec uses the
    # codec of that type, which calls the application's methods.
    @classmethod
    def _overridden(cls) -> bool:
        return False


class FrozenType(_Wrapper):
    """The CQL type frozen<...>: a collection that is written and compared as one value."""

    typename = "frozen"


class ReversedType(_Wrapper):
    """The type of a clustering column in descending order; the parameter is the column's type."""

    typename = "reversed"

    @classmethod
    def cql_parameterized_type(cls) -> str:
        """Return the CQL name of the parameter, because CQL has no name for a reversed type."""
        return _first_parameter(cls).cql_parameterized_type()


public(ListType, SetType, MapType, TupleType, VectorType, FrozenType, ReversedType)
public(_ParameterizedType, _SimpleParameterizedType)
