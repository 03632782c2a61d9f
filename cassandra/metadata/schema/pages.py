"""Pages of the schema tables, decoded by columns.

Thousands of tables have the same handful of options, types and kinds: values are looked up by their
bytes, so that each is decoded and kept once. The pages of the largest schema table, which has a row
for each column of each table, are not decoded before somebody looks at a table: until then the
bytes are kept, which take the least room.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cassandra.cqltypes.containers import MapType, SetType
from cassandra.cqltypes.scalars import UTF8Type, UUIDType
from cassandra.errors import DecodeError

from cassandra._impl import rows as row_plans  # isort: skip

COLUMNS_OF_COLUMNS = (
    "keyspace_name, table_name, column_name, clustering_order, kind, position, type"
)

Page = tuple[bytes, int, int]  # its bytes, where the rows begin in it, how many they are


_DIFFERENT = frozenset(
    ("table_name", "view_name", "index_name")
)  # from row to row: not worth a look-up


class Pages:
    """Decodes pages; values that are equal are one object."""

    def __init__(self) -> None:
        self._known: dict[Any, dict[bytes, Any]] = {}  # values by their bytes, by type
        self.damaged = (
            False  # whether an error stands in the place of a value that could not be decoded
        )

    def decode(self, message: Any, version: int) -> list[list[Any]]:
        """The columns of a page: equal values are one object, in the place of one that cannot be
        decoded is the error itself.
        """
        metadata = message.metadata
        readers = [
            self._reader(*column, version)
            for column in zip(metadata.names, metadata.types, strict=True)
        ]
        columns: list[list[Any]] = row_plans.shared_columns(readers, *message.rows_body)
        return columns

    def _reader(self, name: str, kind: Any, version: int) -> Callable[[bytes], Any]:
        if issubclass(kind, UUIDType):
            return bytes  # hardly anybody looks at them
        if kind is UTF8Type and name in _DIFFERENT:
            return self._text
        known = self._known.setdefault(kind, {})

        def read(data: bytes) -> Any:
            value = known.get(data)
            if value is None:
                value = known[data] = self._value(kind, data, version)
            return value

        return read

    def _text(self, data: bytes) -> Any:
        try:
            return data.decode()
        except UnicodeDecodeError:
            return self._value(UTF8Type, data, 0)

    def _value(self, kind: Any, data: bytes, version: int) -> Any:
        try:
            value: Any = data.decode() if kind is UTF8Type else kind.from_binary(data, version)
        except Exception as error:
            self.damaged = True
            return DecodeError(f"a value of type {kind.typename} cannot be decoded: {error}")
        if issubclass(kind, MapType):
            return dict(value)
        return frozenset(value) if issubclass(kind, SetType) else value


class ColumnPages:
    """The pages of system_schema.columns, as they were received, and what
    `cassandra.metadata.schema.build` makes of them.

    Not safe for threads: `cassandra.metadata.schema.snapshot` makes objects under a lock.
    """

    __slots__ = ("pages", "rows_of", "texts")

    def __init__(self) -> None:
        self.pages: list[Page] = []
        self.rows_of: dict[
            str, dict[str, tuple[Any, ...]]
        ] = {}  # of each table or view, by keyspace and name
        self.texts: Any = None

    def add(self, message: Any) -> None:
        """Keep one page."""
        self.pages.append(message.rows_body)
