"""Pages of the schema tables, decoded by columns.

Thousands of tables have the same handful of options, types and kinds: texts and maps that are equal are kept once. Maps and sets
are looked up by their bytes, so that each is decoded once as well. The pages of the largest schema table, which has a row for each
column of each table, are not decoded before somebody looks at a table: until then the bytes are kept, which take the least room.
"""

from __future__ import annotations

import logging
import struct
from collections.abc import Iterable
from typing import Any

from cassandra.cqltypes.containers import MapType, SetType
from cassandra.cqltypes.scalars import BytesType, DoubleType, Int32Type, UTF8Type, UUIDType
from cassandra.errors import DecodeError

from cassandra._impl import rows as row_plans  # isort: skip

log = logging.getLogger("cassandra.metadata")

COLUMNS_OF_COLUMNS = "keyspace_name, table_name, column_name, clustering_order, kind, position, type"

# Decoded when somebody wants them: maps and sets, of which few are different, and UUIDs, which hardly anybody looks at.
_OPAQUE = (MapType, SetType, UUIDType)

_NUMBERS = (DoubleType, Int32Type)

_int32_at = struct.Struct(">i").unpack_from

Page = tuple[bytes, int, int]  # its bytes, where the rows begin in it, how many they are


class Pages:
    """Decodes pages; texts, numbers and collections that are equal are one object."""

    def __init__(self) -> None:
        self._shared: dict[Any, Any] = {}
        self._numbers: dict[Any, dict[Any, Any]] = {}  # by type: 0 and 0.0 are equal
        self.damaged = False  # whether an error stands in the place of a value that was decoded

    def decode(self, message: Any, version: int) -> list[list[Any]]:
        """The columns of a page: equal texts and equal collections are one object."""
        types = message.metadata.types
        codecs = [(BytesType if issubclass(kind, _OPAQUE) else kind).codec() for kind in types]
        plan = row_plans.RowPlan(message.metadata.names, codecs)
        try:
            columns: list[list[Any]] = plan.columns(*message.rows_body)
        except DecodeError as error:
            log.error("a page of the schema tables is damaged: %s", error)
            self.damaged = True
            return [list(column) for column in zip(*_decode_what_can_be(message, version), strict=True)]
        share = self._shared.setdefault
        for at, kind in enumerate(types):
            if issubclass(kind, UTF8Type):
                columns[at] = list(map(share, columns[at], columns[at]))
            elif issubclass(kind, _NUMBERS):
                known_numbers = self._numbers.setdefault(kind, {})
                columns[at] = list(map(known_numbers.setdefault, columns[at], columns[at]))
            elif issubclass(kind, (MapType, SetType)):
                known = self._collections(kind, set(columns[at]), version)
                columns[at] = [known[data] for data in columns[at]]
        return columns

    def _collections(self, kind: Any, different: set[bytes | None], version: int) -> dict[bytes | None, Any]:
        """The value of each of these bodies; the error in the place of one that cannot be decoded."""
        found: dict[bytes | None, Any] = {}
        for data in different:
            key = (kind, data)
            if data is not None and key not in self._shared:
                self._shared[key] = self._collection(kind, data, version)
            found[data] = self._shared[key] if data is not None else None
        return found

    def _collection(self, kind: Any, data: bytes, version: int) -> Any:
        try:
            value = kind.from_binary(data, version)
            return dict(value) if issubclass(kind, MapType) else frozenset(value)
        except Exception as error:
            self.damaged = True
            return error


class ColumnPages:
    """The pages of system_schema.columns, as they were received, and what `cassandra.metadata.build` makes of them.

    Not safe for threads: `cassandra.metadata.schema` makes objects under a lock.
    """

    __slots__ = ("pages", "rows_of", "texts")

    def __init__(self) -> None:
        self.pages: list[Page] = []
        self.rows_of: dict[tuple[str, str], list[Page]] = {}  # of each table or view, by keyspace and name
        self.texts: Any = None

    def add(self, message: Any) -> None:
        """Keep one page."""
        self.pages.append(message.rows_body)


def _decode_what_can_be(message: Any, version: int) -> Iterable[tuple[Any, ...]]:
    """The rows of a page, with the error itself in the place of each value that cannot be decoded."""
    body, at, count = message.rows_body
    for _ in range(count):
        row: list[Any] = []
        for kind in message.metadata.types:
            (size,) = _int32_at(body, at)
            at += 4
            data = body[at : at + max(size, 0)] if size >= 0 else None
            at += max(size, 0)
            row.append(_value(kind, data, version))
        yield tuple(row)


def _value(kind: Any, data: bytes | None, version: int) -> Any:
    if data is None:
        return None
    try:
        value = kind.from_binary(data, version)
    except Exception as error:
        return DecodeError(f"a value of type {kind.typename} cannot be decoded: {error}")
    if issubclass(kind, MapType):
        return dict(value)
    if issubclass(kind, UUIDType):
        return data
    return frozenset(value) if issubclass(kind, SetType) else value
