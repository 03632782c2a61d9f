"""The classes of the types that hold others: list, set, map, tuple, vector, frozen, reversed."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any, ClassVar

from cassandra.cqltypes.base import _CassandraType, parameterized, public, sub_codec


class _ParameterizedType(_CassandraType):
    """Base of all types with parameters."""

    num_subtypes: ClassVar[Any] = "UNKNOWN"


class _SimpleParameterizedType(_ParameterizedType):
    """Base of the types with one parameter: an element type."""

    num_subtypes = 1

    @classmethod
    def _build(cls, codecs: ModuleType, protocol_version: int, vectors: str) -> Any:
        element = sub_codec(_one(cls), codecs, protocol_version, vectors)
        return getattr(codecs, cls._factory)(element, empty=cls._empty())


def _one(cls: type[_CassandraType]) -> Any:
    """Return the parameter of a type that has one.

    :raises ValueError: if it has not got it yet.
    """
    if not cls.subtypes:
        raise ValueError(f"{cls.cassname} has no parameters yet; see apply_parameters")
    return cls.subtypes[0]


class ListType(_SimpleParameterizedType):
    """list, read as a list. Written from any iterable, and from arrays of numbers."""

    typename = "list"
    _factory = "list_of"


class SetType(_SimpleParameterizedType):
    """set, read as a `cassandra.util.SortedSet`. Written from any iterable."""

    typename = "set"
    _factory = "set_of"


class MapType(_ParameterizedType):
    """map, read as a `cassandra.util.OrderedMapSerializedKey`. Written from any mapping."""

    typename = "map"
    num_subtypes = 2

    @classmethod
    def _build(cls, codecs: ModuleType, protocol_version: int, vectors: str) -> Any:
        # Raises the error for a map without parameters.
        _one(cls)
        key, value = (
            sub_codec(subtype, codecs, protocol_version, vectors) for subtype in cls.subtypes
        )
        return codecs.map_of(key, value, empty=cls._empty())


class TupleType(_ParameterizedType):
    """tuple, read as a tuple. Written from any sequence; a shorter one is filled up with nulls."""

    typename = "tuple"

    @classmethod
    def _build(cls, codecs: ModuleType, protocol_version: int, vectors: str) -> Any:
        fields = [sub_codec(subtype, codecs, protocol_version, vectors) for subtype in cls.subtypes]
        return codecs.tuple_of(fields, empty=cls._empty())

    @classmethod
    def cql_parameterized_type(cls) -> str:
        """Return a text like ``frozen<tuple<int, text>>``: a tuple is always frozen."""
        inner = ", ".join(subtype.cql_parameterized_type() for subtype in cls.subtypes)
        return f"frozen<tuple<{inner}>>"


class VectorType(_CassandraType):
    """vector, read as a list, or as an array on request.

    Written from any iterable of the right length, and from arrays of numbers. `subtype` is the
    element type, `vector_size` the dimension.
    """

    typename = "vector"
    num_subtypes = 2
    subtype: ClassVar[Any] = None
    vector_size: ClassVar[int] = 0

    @classmethod
    def apply_parameters(cls, params: Sequence[Any], names: Sequence[Any] | None = None) -> Any:
        """Return the vector type of (element type, dimension).

        :param params: the element type, and the dimension as a number or text.
        :raises ValueError: if the dimension is not a positive number.
        """
        if len(params) != 2:
            raise ValueError(
                f"vector takes 2 parameters, the element type and the dimension; got {len(params)}"
            )
        subtype, size = params
        try:
            # A parser of class names makes an unrecognized type of the number.
            dimension = int(getattr(size, "cassname", size))
        except (TypeError, ValueError):
            raise ValueError(f"the dimension of a vector is a number, not {size!r}") from None
        if dimension < 1:
            raise ValueError(f"the dimension of a vector is at least 1, not {dimension}")
        # The dimension is part of the class's name: it cannot be told from the subtypes.
        title = f"{cls.cassname}({subtype.cass_parameterized_type()}, {dimension})"
        return parameterized(
            cls, (subtype,), None, subtype=subtype, vector_size=dimension, _title=title
        )

    @classmethod
    def cass_parameterized_type_with(cls, subtypes: Sequence[Any], full: bool = False) -> str:
        """Return a text like ``VectorType(FloatType, 3)``."""
        name = super().cass_parameterized_type_with((), full=full)
        if not subtypes:
            return name
        return f"{name}({subtypes[0].cass_parameterized_type(full=full)}, {cls.vector_size})"

    @classmethod
    def cql_parameterized_type(cls) -> str:
        """Return a text like ``vector<float, 3>``."""
        if cls.subtype is None:
            return cls.typename
        return f"{cls.typename}<{cls.subtype.cql_parameterized_type()}, {cls.vector_size}>"

    @classmethod
    def _build(cls, codecs: ModuleType, protocol_version: int, vectors: str) -> Any:
        if cls.subtype is None:
            raise ValueError("VectorType has no parameters yet; see apply_parameters")
        element = sub_codec(cls.subtype, codecs, protocol_version, vectors)
        return codecs.vector_of(element, cls.vector_size, as_=vectors, empty=cls._empty())


class _Wrapper(_SimpleParameterizedType):
    """Base of types that say something about another type and leave its values alone."""

    @classmethod
    def _build(cls, codecs: ModuleType, protocol_version: int, vectors: str) -> Any:
        return sub_codec(_one(cls), codecs, protocol_version, vectors)

    @classmethod
    def apply_parameters(cls, subtypes: Sequence[Any], names: Sequence[Any] | None = None) -> Any:
        """Return the wrapper of one type. That type's rule for zero bytes holds for it."""
        subtypes = tuple(subtypes)
        if len(subtypes) != 1:
            raise ValueError(f"{cls.cassname} takes 1 parameter, got {len(subtypes)}")
        return parameterized(cls, subtypes, None, empty_binary_ok=subtypes[0].empty_binary_ok)

    @classmethod
    def from_binary(cls, byts: bytes | None, protocol_version: int) -> Any:
        """Return the value of a [bytes], by the parameter's own rules for empty values.

        :raises DecodeError: if the bytes are not valid for the type.
        """
        return cls.codec(protocol_version).decode_nullable(byts)

    # A wrapper's coding is always its parameter's, which may be a program's own.
    @classmethod
    def _overridden(cls) -> bool:
        return False


class FrozenType(_Wrapper):
    """frozen: a collection that is written and compared as one value."""

    typename = "frozen"


class ReversedType(_Wrapper):
    """A clustering column in descending order. Values are those of its parameter."""

    typename = "reversed"

    @classmethod
    def cql_parameterized_type(cls) -> str:
        """Return the type under the reversal, for which CQL has no word."""
        name: str = _one(cls).cql_parameterized_type()
        return name


public(ListType, SetType, MapType, TupleType, VectorType, FrozenType, ReversedType)
public(_ParameterizedType, _SimpleParameterizedType)
