"""Serializers of graph values: names only, since graphs are not supported."""

from __future__ import annotations

from typing import Any

from cassandra._compat.refusal import refuse, refusing

__all__ = [
    "GraphSON1Deserializer",
    "GraphSON1Serializer",
    "GraphSON2Deserializer",
    "GraphSON2Reader",
    "GraphSON2Serializer",
    "GraphSON3Deserializer",
    "GraphSON3Reader",
    "GraphSON3Serializer",
    "to_bigint",
    "to_double",
    "to_float",
    "to_int",
    "to_smallint",
]

_TYPES = (
    "bigint", "blob", "date", "decimal", "double", "duration", "float", "inet", "int",
    "linestring", "point", "polygon", "smallint", "time", "timestamp", "uuid", "varint",
)  # fmt: skip


class _Serializer:
    """Base of the serializers: they can be made, and not used."""

    def __init__(self, context: object = None) -> None:
        self.context = context

    @classmethod
    def serialize(cls, value: object, writer: object = None) -> Any:
        """Raise NotImplementedError: graphs are not supported."""
        refuse(f"{cls.__name__}.serialize()")


class GraphSON1Serializer(_Serializer):
    """Values to GraphSON 1.0."""


class GraphSON2Serializer(_Serializer):
    """Values to GraphSON 2.0."""


class GraphSON3Serializer(_Serializer):
    """Values to GraphSON 3.0."""


class GraphSON1Deserializer:
    """GraphSON 1.0 to values: a ``deserialize_*`` for each type."""


for _type in _TYPES:
    setattr(
        GraphSON1Deserializer,
        f"deserialize_{_type}",
        staticmethod(refusing(f"GraphSON1Deserializer.deserialize_{_type}")),
    )
del _type


class GraphSON2Deserializer:
    """GraphSON 2.0 to values."""


class GraphSON3Deserializer:
    """GraphSON 3.0 to values."""


class GraphSON2Reader:
    """Reads GraphSON 2.0 texts. It can be made, and not used."""

    def __init__(self, context: object, extra_deserializer_map: object = None) -> None:
        self.context = context

    def read(self, json_data: str) -> Any:
        """Raise NotImplementedError: graphs are not supported."""
        refuse(f"{type(self).__name__}.read()")


class GraphSON3Reader(GraphSON2Reader):
    """Reads GraphSON 3.0 texts. It can be made, and not used."""


def to_bigint(value: int) -> int:
    """Return `value`: the parameters of graph queries are refused where they are used."""
    return value


def to_int(value: int) -> int:
    """Return `value`, as `to_bigint` does."""
    return value


def to_smallint(value: int) -> int:
    """Return `value`, as `to_bigint` does."""
    return value


def to_double(value: float) -> float:
    """Return `value`, as `to_bigint` does."""
    return value


def to_float(value: float) -> float:
    """Return `value`, as `to_bigint` does."""
    return value
