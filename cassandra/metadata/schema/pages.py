"""Decodes pages of the schema tables column by column.

Thousands of tables have the same few options, types and kinds. `Pages` looks up values by their
bytes, so that equal values are decoded and stored only once. The largest schema table,
system_schema.columns, has a row for each column of each table. `ColumnPages` keeps its pages as
bytes, which need the least memory, until a table is accessed.
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

# The columns of system_schema.columns that are read, in the order of `column_rows`.
COLUMNS_OF_COLUMNS = (
    "keyspace_name, table_name, column_name, clustering_order, kind, position, type"
)

Page = tuple[bytes, int, int]  # (bytes, offset of the first row, number of rows)


# The values of these columns differ from row to row, so they are not cached.
_UNIQUE_NAMES = frozenset(("table_name", "view_name", "index_name"))


class Pages:
    """Decodes pages of the schema tables. Equal values become one object."""

    def __init__(self) -> None:
        self._cached: dict[Any, dict[bytes, Any]] = {}  # for each type, the values by their bytes
        # True if a value could not be decoded. Such a value is replaced by the error.
        self.damaged = False

    def decode(self, message: ResultMessage, version: int) -> list[list[Any]]:
        """Decode a page into a list of its columns.

        Equal values become one object. A value that cannot be decoded is replaced by the exception.
        """
        metadata = message.metadata
        readers = [
            self._reader(*column, version)
            for column in zip(metadata.names, metadata.types, strict=True)
        ]
        return row_plans.shared_columns(readers, *message.rows_body)

    def _reader(
        self, name: str, cql_type: type[CassandraType], version: int
    ) -> Callable[[bytes], Any]:
        """Return a function that decodes the cells of one column."""
        if issubclass(cql_type, UUIDType):
            return bytes  # not decoded, because applications rarely read the ids of tables
        # The names of tables and indexes rarely occur twice, so a cache would not help.
        if cql_type is UTF8Type and name in _UNIQUE_NAMES:
            return self._text
        # All columns of one type share a cache of values.
        cached = self._cached.setdefault(cql_type, {})

        def read(data: bytes) -> object:
            value = cached.get(data)
            if value is None:
                value = cached[data] = self._value(cql_type, data, version)
            return value

        return read

    def _text(self, data: bytes) -> object:
        try:
            return data.decode()
        except UnicodeDecodeError:
            return self._value(UTF8Type, data, 0)

    def _value(self, cql_type: type[CassandraType], data: bytes, version: int) -> object:
        """Decode a cell; if it cannot be decoded, return the error instead of a value."""
        try:
            # Use the driver's codec, because the application may have replaced the method
            # `deserialize` of the type class.
            value: Any = (
                data.decode()
                if cql_type is UTF8Type
                else cql_type._native_codec(version, "list").decode(data)
            )
        # One bad value must not hide the rest of the schema. Only the object with this value
        # reports the error.
        except Exception as error:
            self.damaged = True
            return DecodeError(f"a value of type {cql_type.typename} cannot be decoded: {error}")
        if issubclass(cql_type, MapType):
            return dict(value)
        return frozenset(value) if issubclass(cql_type, SetType) else value


class ColumnPages:
    """The pages of system_schema.columns as they were received, and where each table's rows are.

    This class is not thread-safe, because `cassandra.metadata.schema.snapshot` builds objects under
    a lock.
    """

    __slots__ = ("pages", "rows_of", "texts")

    def __init__(self) -> None:
        self.pages: list[Page] = []  # the pages whose rows are not in `rows_of` yet
        # The location of each table's or view's rows, by keyspace and name. A location is a tuple
        # of runs: see `cassandra.metadata.schema.column_rows`.
        self.rows_of: dict[str, dict[str, tuple[Any, ...]]] = {}
        # The `column_rows.Texts` that decodes names and types; None until a table is built.
        self.texts: Any = None

    def add(self, message: ResultMessage) -> None:
        """Add one page."""
        self.pages.append(message.rows_body)
