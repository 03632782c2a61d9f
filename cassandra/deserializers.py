"""Decoders of single values by type, over the types' codecs.

Handlers of rows have known them under these names.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cassandra.cqltypes.base import _CassandraType

__all__ = [
    "EPOCH_OFFSET_DAYS",
    "Deserializer",
    "GenericDeserializer",
    "find_deserializer",
    "make_deserializers",
    "obj_array",
]

EPOCH_OFFSET_DAYS = 1 << 31


class Deserializer:
    """Decodes values of one type.

    :param cqltype: a class of `cassandra.cqltypes`.
    :param protocol_version: of the values; it matters to a program's own types alone.
    """

    __slots__ = ("_codec", "cqltype", "empty_binary_ok", "protocol_version")

    def __init__(self, cqltype: type[_CassandraType], protocol_version: int = 5) -> None:
        self.cqltype = cqltype
        self.protocol_version = protocol_version
        self._codec = cqltype.codec(protocol_version)
        self.empty_binary_ok = bool(self._codec.empty_is_value)

    def deserialize_bytes(self, data: bytes | None, protocol_version: int = 5) -> Any:
        """Return the value of a [bytes], or None for null.

        :param data: its bytes; None for null.
        :param protocol_version: that of the connection; it matters to a program's own types alone.
        """
        return self.from_binary(data, protocol_version)

    def from_binary(self, data: bytes | None, protocol_version: int = 5) -> Any:
        """Return the value of a [bytes], or None for null.

        :param data: its bytes; None for null.
        :param protocol_version: that of the connection; it matters to a program's own types alone.
        """
        # Values do not depend on the version, but a program's own type is called with it.
        codec = (
            self._codec
            if protocol_version == self.protocol_version
            else self.cqltype.codec(protocol_version)
        )
        return codec.decode_nullable(data)


class GenericDeserializer(Deserializer):
    """The decoder of any type."""

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


def obj_array(objs: Sequence[Any]) -> Any:
    """Return a NumPy array of objects.

    :param objs: its elements, whatever they are; a list stays one element.
    """
    import numpy  # optional

    # One by one: NumPy would turn a list of lists into an array of more dimensions.
    made = numpy.empty(len(objs), dtype=object)
    made[:] = list(objs)
    return made


def __getattr__(name: str) -> Any:
    # One class decodes every type. Its older names, one for each type, lead to it.
    if (name.startswith("Des") and name.endswith(("Type", "TypeByteArray"))) or name in (
        "TimeUUIDType",
        "TimestampType",
    ):
        return GenericDeserializer
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
