"""Decoders for single values of a CQL type.

Custom row handlers written for cassandra-driver use these names.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cassandra.cqltypes.base import _CassandraType

__all__ = [
    "EPOCH_OFFSET_DAYS", "Deserializer", "GenericDeserializer", "find_deserializer",
    "make_deserializers", "obj_array",
]  # fmt: skip

EPOCH_OFFSET_DAYS = 1 << 31  # the number of the day 1970-01-01 in a serialized date


class Deserializer:
    """Decodes values of one type.

    :param cqltype: a class of `cassandra.cqltypes`.
    :param protocol_version: the protocol version of the values. Only user-defined Python types
        depend on it.
    """

    __slots__ = ("_codec", "cqltype", "empty_binary_ok", "protocol_version")

    def __init__(self, cqltype: type[_CassandraType], protocol_version: int = 5) -> None:
        self.cqltype = cqltype
        self.protocol_version = protocol_version
        self._codec = cqltype.codec(protocol_version)
        self.empty_binary_ok = bool(self._codec.empty_is_value)

    def deserialize_bytes(self, data: bytes | None, protocol_version: int = 5) -> Any:
        """Return the Python value of a serialized value, or None for null.

        :param data: the bytes of the value; None for null.
        :param protocol_version: the protocol version of the connection. Only user-defined Python
            types depend on it.
        """
        return self.from_binary(data, protocol_version)

    def from_binary(self, data: bytes | None, protocol_version: int = 5) -> Any:
        """Return the Python value of a serialized value, or None for null.

        :param data: the bytes of the value; None for null.
        :param protocol_version: the protocol version of the connection. Only user-defined Python
            types depend on it.
        """
        # Usually the version makes no difference. But a user's own type class gets the version as
        # an argument, so use a codec for this version.
        codec = (
            self._codec
            if protocol_version == self.protocol_version
            else self.cqltype.codec(protocol_version)
        )
        return codec.decode_nullable(data)


class GenericDeserializer(Deserializer):
    """The decoder for any type."""

    __slots__ = ()


def find_deserializer(cqltype: type[_CassandraType]) -> Deserializer:
    """Return the decoder of a type.

    :param cqltype: a class of `cassandra.cqltypes`.
    """
    return GenericDeserializer(cqltype)


def make_deserializers(cqltypes: Sequence[Any]) -> list[Deserializer]:
    """Return the decoders of several types.

    :param cqltypes: classes of `cassandra.cqltypes`.
    """
    return [find_deserializer(cqltype) for cqltype in cqltypes]


def obj_array(objs: Sequence[Any]) -> NDArray[Any]:
    """Return a NumPy array of objects.

    :param objs: the elements of the array. An element that is a list remains one element.
    """
    import numpy  # imported only here, because NumPy is optional

    # Assign the elements to an empty array of objects: `numpy.array` would convert a list of lists
    # to an array with more dimensions.
    array = numpy.empty(len(objs), dtype=object)
    array[:] = list(objs)
    return array


def __getattr__(name: str) -> type[GenericDeserializer]:
    # cassandra-driver has a deserializer class for each type. All these names return our only
    # class, which decodes any type.
    if (name.startswith("Des") and name.endswith(("Type", "TypeByteArray"))) or name in (
        "TimeUUIDType",
        "TimestampType",
    ):
        return GenericDeserializer
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
