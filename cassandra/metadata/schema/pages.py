"""Pages of the schema tables, decoded by columns.

Thousands of tables have the same handful of options, types and kinds. Values are looked up by their
bytes, so that each is decoded and kept once. The largest schema table has a row for each column of
each table: its pages stay bytes, which take the least memory, until a table is accessed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from cassandra.cqltypes.containers import MapType, SetType
from cassandra.cqltypes.scalars import UTF8Type, UUIDType
from cassandra.errors import DecodeError

if TYPE_CHECKING:
    from cassandra.cqltypes.base import CassandraType
    from cassandra.protocol import rows as row_plans
    from cassandra.protocol.messages.results import ResultMessage
else:
    from cassandra._impl import rows as row_plans

COLUMNS_OF_COLUMNS = (
    "keyspace_name, table_name, column_name, clustering_order, kind, position, type"
)

Page = tuple[bytes, int, int]  # (bytes, offset of the first row, number of rows)


# These differ from row to row, so that a look-up would not pay off.
_DIFFERENT = frozenset(("table_name", "view_name", "index_name"))


class Pages:
    """Decodes pages; equal values are one object."""

    def __init__(self) -> None:
        self._known: dict[Any, dict[bytes, Any]] = {}  # values by their bytes, by type
        # True once an error replaces a value that could not be decoded.
        self.damaged = False

    def decode(self, message: ResultMessage, version: int) -> list[list[Any]]:
        """Return the columns of a page.

        Equal values are one object. A value that cannot be decoded is replaced by the error itself.
        """
        metadata = message.metadata
        readers = [
            self._reader(*column, version)
            for column in zip(metadata.names, metadata.types, strict=True)
        ]
        columns: list[list[Any]] = row_plans.shared_columns(readers, *message.rows_body)
        return columns

    def _reader(self, name: str, kind: type[CassandraType], version: int) -> Callable[[bytes], Any]:
        if issubclass(kind, UUIDType):
            return bytes  # left as bytes: few programs read them
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

    def _value(self, kind: type[CassandraType], data: bytes, version: int) -> Any:
        try:
            # By our own coding: a program may have put a `deserialize` of its own on the class.
            value: Any = (
                data.decode()
                if kind is UTF8Type
                else kind._native_codec(version, "list").decode(data)
            )
        # One bad value must not hide the rest of the schema: only its own object reports it.
        except Exception as error:
            self.damaged = True
            return DecodeError(f"a value of type {kind.typename} cannot be decoded: {error}")
        if issubclass(kind, MapType):
            return dict(value)
        return frozenset(value) if issubclass(kind, SetType) else value


class ColumnPages:
    """The pages of system_schema.columns as they were received, and the places of rows in them.

    It is not safe for threads: `cassandra.metadata.schema.snapshot` makes objects under a lock.
    """

    __slots__ = ("pages", "rows_of", "texts")

    def __init__(self) -> None:
        self.pages: list[Page] = []
        # The runs of each table or view, by keyspace and name.
        self.rows_of: dict[str, dict[str, tuple[Any, ...]]] = {}
        self.texts: Any = None

    def add(self, message: ResultMessage) -> None:
        """Keep one page."""
        self.pages.append(message.rows_body)
