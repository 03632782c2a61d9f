"""Pages of the schema tables, decoded by columns.

Thousands of tables have the same handful of options, types and kinds: texts and maps that are equal are kept once. Maps and sets
are looked up by their bytes, so that each is decoded once as well. The pages of the largest schema table, which has a row for each
column of each table, are not decoded before somebody looks at a table: until then the bytes are kept, which take the least room.
"""

from __future__ import annotations

import logging
import struct
from collections.abc import Iterable
from itertools import groupby
from typing import Any

from cassandra.cqltypes.containers import MapType, SetType
from cassandra.cqltypes.scalars import BytesType, UTF8Type, UUIDType
from cassandra.errors import DecodeError

from cassandra._impl import rows as row_plans  # isort: skip

log = logging.getLogger("cassandra.metadata")

COLUMNS_OF_COLUMNS = "keyspace_name, table_name, column_name, clustering_order, kind, position, type"

# Decoded when somebody wants them: maps and sets, of which few are different, and UUIDs, which hardly anybody looks at.
_OPAQUE = (MapType, SetType, UUIDType)

_int32_at = struct.Struct(">i").unpack_from

# Columns of a page of system_schema.columns: name, clustering order, kind, position, type; the first row, and the one behind the last.
ColumnRows = tuple[tuple[list[Any], ...], int, int]


class Pages:
    """Decodes pages; what is equal in them is one object."""

    def __init__(self) -> None:
        self._shared: dict[Any, Any] = {}

    def decode(self, message: Any, version: int) -> list[list[Any]]:
        """The columns of a page: equal texts and equal collections are one object."""
        types = message.metadata.types
        codecs = [(BytesType if issubclass(kind, _OPAQUE) else kind).codec() for kind in types]
        plan = row_plans.RowPlan(message.metadata.names, codecs)
        try:
            columns: list[list[Any]] = plan.columns(*message.rows_body)
        except DecodeError as error:
            log.error("a page of the schema tables is damaged: %s", error)
            return [list(column) for column in zip(*_decode_what_can_be(message, version), strict=True)]
        share = self._shared.setdefault
        for at, kind in enumerate(types):
            if issubclass(kind, UTF8Type):
                columns[at] = list(map(share, columns[at], columns[at]))
            elif issubclass(kind, (MapType, SetType)):
                columns[at] = [self._collection(kind, data, version) for data in columns[at]]
        return columns

    def _collection(self, kind: Any, data: bytes | None, version: int) -> Any:
        if data is None:
            return None
        key = (kind, data)
        found = self._shared.get(key)
        if found is None:
            try:
                value = kind.from_binary(data, version)
                found = dict(value) if issubclass(kind, MapType) else frozenset(value)
            except Exception as error:
                found = error
            self._shared[key] = found
        return found


class ColumnPages:
    """The pages of system_schema.columns. Not safe for threads: `cassandra.metadata.schema` makes objects under a lock."""

    __slots__ = ("_messages", "_pages", "_rows")

    def __init__(self, pages: Pages) -> None:
        self._pages: Pages | None = pages
        self._messages: list[tuple[Any, int]] = []
        self._rows: dict[tuple[Any, Any], list[ColumnRows]] = {}

    def add(self, message: Any, version: int) -> None:
        """Keep one page, as it was received in protocol `version`."""
        self._messages.append((message, version))

    def take(self, keyspace: str, table: str) -> list[ColumnRows]:
        """Where the rows of one table or view are. They are given once, and then forgotten."""
        if self._messages:
            self._decode()
        return self._rows.pop((keyspace, table), [])

    def _decode(self) -> None:
        assert self._pages is not None
        for message, version in self._messages:
            keyspaces, tables, *rest = self._pages.decode(message, version)
            page = tuple(rest)
            start = 0
            for key, rows in groupby(zip(keyspaces, tables, strict=True)):
                end = start + sum(1 for _ in rows)
                self._rows.setdefault(key, []).append((page, start, end))
                start = end
        self._messages = []
        self._pages = None


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
