"""Codecs of all CQL types: the Python twin of `cassandra._accel.codecs`.

A codec encodes and decodes the values of one type, and is immutable. ``encode(value) -> bytes`` and
``decode(data) -> value`` work on the bytes of a value, without the length that comes before them in
a message. The functions of this module make codecs. The functions for containers take the codecs of
their elements as arguments.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cassandra._lazy import lazy_names
from cassandra.cqltypes.codecs.base import Codec, TypeCalls, from_class, from_functions

if TYPE_CHECKING:
    from cassandra.cqltypes.codecs.containers import (
        list_of,
        map_of,
        set_of,
        tuple_of,
        udt,
        vector_of,
    )
    from cassandra.cqltypes.codecs.scalars import (
        ascii_text,
        blob,
        boolean,
        date,
        decimal_number,
        duration,
        float32,
        float64,
        inet,
        int8,
        int16,
        int32,
        int64,
        nothing,
        text,
        time,
        timestamp,
        uuid,
        varint,
    )

__all__ = [
    "Codec",
    "TypeCalls",
    "ascii_text",
    "blob",
    "boolean",
    "date",
    "decimal_number",
    "duration",
    "float32",
    "float64",
    "from_class",
    "from_functions",
    "inet",
    "int8",
    "int16",
    "int32",
    "int64",
    "list_of",
    "map_of",
    "nothing",
    "set_of",
    "text",
    "time",
    "timestamp",
    "tuple_of",
    "udt",
    "uuid",
    "varint",
    "vector_of",
]

# Imported only when needed: if the driver uses the compiled twin, nothing needs them.
__getattr__ = lazy_names(
    __name__,
    {
        **dict.fromkeys(
            ("list_of", "map_of", "set_of", "tuple_of", "udt", "vector_of"),
            "cassandra.cqltypes.codecs.containers",
        ),
        **dict.fromkeys(
            (
                "ascii_text",
                "blob",
                "boolean",
                "date",
                "decimal_number",
                "duration",
                "float32",
                "float64",
                "inet",
                "int8",
                "int16",
                "int32",
                "int64",
                "nothing",
                "text",
                "time",
                "timestamp",
                "uuid",
                "varint",
            ),
            "cassandra.cqltypes.codecs.scalars",
        ),
    },
)
