"""Groups rows of the schema tables into the sources of a `Schema`. Rows may arrive in any order.

A source holds the rows of one keyspace, table or view (`cassandra.metadata.schema.snapshot`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cassandra.metadata.schema.pages import ColumnPages, Pages
from cassandra.metadata.schema.snapshot import IndexRow, KeyspaceSource, RowNames, TableSource

if TYPE_CHECKING:
    from cassandra.protocol.messages.results import ResultMessage

# The columns of system_schema.indexes that are read.
INDEX_COLUMNS = ("keyspace_name", "table_name", "index_name", "kind", "options")

Key = tuple[str, str]  # the names of a keyspace and a table


class Grouping:
    """Collects pages of the schema tables in any order, and builds sources from them."""

    def __init__(self) -> None:
        # The rows of system_schema.keyspaces and scylla_keyspaces, by keyspace.
        self.keyspaces: dict[str, dict[str, Any]] = {}
        self._scylla_keyspaces: dict[str, dict[str, Any]] = {}
        # True if the server supports tablets, as the columns of scylla_keyspaces show. Its rows do
        # not show that, because a keyspace without tablets has no row there.
        self._has_tablets = False
        # The sources of tables and views, by keyspace and name.
        self._tables: dict[str, dict[str, TableSource]] = {}
        self._views: dict[str, dict[str, TableSource]] = {}
        self._pages = Pages()  # decodes the pages of all schema tables but system_schema.columns
        self._columns = ColumnPages()
        self._indexes: dict[str, dict[str, list[IndexRow]]] = {}  # by keyspace and table
        # The rows of all other schema tables: by the name of the schema table, and then by table or
        # by keyspace.
        self._rows_by_table: dict[str, dict[Key, list[dict[str, Any]]]] = {}
        self._rows_by_keyspace: dict[str, dict[str, list[dict[str, Any]]]] = {}
        self._virtual: set[str] = set()  # the names of virtual keyspaces

    # -- adding pages ------------------------------------------------------------------------------

    def add(self, part: str, message: ResultMessage, version: int) -> None:
        """Add one page of a schema table.

        :param part: the name of the schema table, preceded by ``virtual_`` for virtual keyspaces.
        :param message: the ROWS message.
        :param version: the protocol version with which the page was received.
        """
        # Check the column names even if there are no rows: the server may support tablets although
        # no keyspace uses them.
        if part == "scylla_keyspaces":
            self._has_tablets = "initial_tablets" in (message.column_names or ())
        if not getattr(message, "row_count", 0):
            return
        virtual = part.startswith("virtual_")
        part = part.removeprefix("virtual_")
        if part == "columns":
            # Do not decode these rows before their table is built, because this is by far the
            # largest schema table.
            self._columns.add(message)
            return
        names = tuple(message.column_names or ())
        columns = self._pages.decode(message, version)
        rows = zip(*columns, strict=True)
        if part == "indexes":
            self._add_indexes(*(columns[names.index(name)] for name in INDEX_COLUMNS))
        elif part in ("tables", "views"):
            self._add_tables(part, names, rows, virtual)
        elif part == "keyspaces":
            keyspaces = {row["keyspace_name"]: row for row in _dicts(names, rows)}
            self.keyspaces.update(keyspaces)
            if virtual:
                self._virtual.update(keyspaces)
        elif part == "scylla_keyspaces":
            self._scylla_keyspaces.update(
                {row["keyspace_name"]: row for row in _dicts(names, rows)}
            )
        # Rows that name a table belong to a table: triggers and dropped columns, for example.
        elif "table_name" in names:
            rows_by_table = self._rows_by_table.setdefault(part, {})
            for row_dict in _dicts(names, rows):
                rows_by_table.setdefault(
                    (row_dict["keyspace_name"], row_dict["table_name"]), []
                ).append(row_dict)
        # All other rows are types, functions or aggregates of a keyspace.
        else:
            rows_by_keyspace = self._rows_by_keyspace.setdefault(part, {})
            for row_dict in _dicts(names, rows):
                rows_by_keyspace.setdefault(row_dict["keyspace_name"], []).append(row_dict)

    def _add_indexes(
        self, keyspaces: Sequence[Any], tables: Sequence[Any], *columns: Sequence[Any]
    ) -> None:
        for keyspace, table, row in zip(keyspaces, tables, zip(*columns, strict=True), strict=True):
            self._indexes.setdefault(keyspace, {}).setdefault(table, []).append(row)

    def _add_tables(
        self, part: str, names: tuple[str, ...], rows: Iterable[tuple[Any, ...]], virtual: bool
    ) -> None:
        """Add a source for each row of the schema table "tables" or "views"."""
        # There may be thousands of tables, and each object costs time, especially in the garbage
        # collector. So a source keeps its row as a tuple, and all sources share one `RowNames`.
        keyspace_index = names.index("keyspace_name")
        name_index = names.index("table_name" if part == "tables" else "view_name")
        sources = self._tables if part == "tables" else self._views
        row_names = RowNames(names)
        for row in rows:
            keyspace, name = row[keyspace_index], row[name_index]
            source = TableSource(keyspace, name, row_names, row, virtual, self._columns)
            # Look for an error in the row only if a value could not be decoded.
            if self._pages.damaged:
                source.error = next((value for value in row if isinstance(value, Exception)), None)
            if part == "views":
                base = row_names.value(row, "base_table_name")
                source.base = base if isinstance(base, str) else ""
            sources.setdefault(keyspace, {})[name] = source

    # -- building sources --------------------------------------------------------------------------

    def sources(self) -> dict[str, KeyspaceSource]:
        """Return a source for each keyspace that has a row, by name."""
        self._complete_tables()
        sources_by_name: dict[str, KeyspaceSource] = {}
        # Sort by name, so that exports of equal schemas are equal.
        for name, keyspace_row in sorted(self.keyspaces.items(), key=_name_of):
            source = sources_by_name[name] = KeyspaceSource(
                name, keyspace_row, name in self._virtual
            )
            source.tables, source.views = self._tables.get(name, {}), self._views.get(name, {})
            # Add each view to its base table.
            for view in source.views.values():
                base = source.tables.get(view.base or "")
                if base is not None:
                    base.views = {**base.views, view.name: view}
            source.types = self.of_keyspace("types", name)
            source.functions = self.of_keyspace("functions", name)
            source.aggregates = self.aggregates(name)
            # Without a row in scylla_keyspaces, the keyspace has no tablets.
            source.scylla = self._scylla_keyspaces.get(
                name, {"initial_tablets": None} if self._has_tablets else None
            )
        return sources_by_name

    def tablet_keyspaces(self) -> tuple[set[str], set[str]]:
        """Return the keyspaces with tablets, and the keyspaces whose tablets have leaders.

        Both sets are empty if the server is not ScyllaDB.
        """
        rows = self._scylla_keyspaces.values()
        with_tablets = {
            row["keyspace_name"] for row in rows if row.get("initial_tablets") is not None
        }
        # Tablets have leaders only if `consistency` of the keyspace is "global" or "local". They
        # have no leaders if it is "eventual", or if the server has no such column.
        leaders = {
            row["keyspace_name"] for row in rows if row.get("consistency") in ("global", "local")
        }
        return with_tablets, leaders & with_tablets

    def table_sources(self) -> Iterable[TableSource]:
        """Return the sources of all tables and views that were read."""
        self._complete_tables()
        return [
            source
            for by_keyspace in (self._tables, self._views)
            for by_name in by_keyspace.values()
            for source in by_name.values()
        ]

    def _complete_tables(self) -> None:
        """Add the rows of other schema tables to the sources of their tables and views."""
        for sources in (self._tables, self._views):
            for keyspace, indexes_by_table in self._indexes.items():
                # Leave out indexes of tables that were not read.
                for name in indexes_by_table.keys() & sources.get(keyspace, {}).keys():
                    sources[keyspace][name].indexes = indexes_by_table[name]
            for part, rows_by_table in self._rows_by_table.items():
                for (keyspace, name), rows in rows_by_table.items():
                    # The table may be missing, because it may have been dropped between the queries
                    # for the two schema tables.
                    source = sources.get(keyspace, {}).get(name)
                    if source is not None:
                        setattr(source, _SLOTS[part], tuple(rows))

    def of_keyspace(self, part: str, keyspace: str) -> Sequence[Mapping[str, Any]]:
        """Return the rows of types, functions or aggregates of one keyspace."""
        return tuple(self._rows_by_keyspace.get(part, {}).get(keyspace, ()))

    def aggregates(self, keyspace: str) -> Sequence[Mapping[str, Any]]:
        """Return the rows of aggregates of one keyspace, each with the value of "reduce_func".

        ScyllaDB stores "reduce_func" in the separate table scylla_aggregates. For other servers the
        value is None.
        """
        scylla_rows = {
            _signature(row): row for row in self.of_keyspace("scylla_aggregates", keyspace)
        }
        return tuple(
            {**row, "reduce_func": scylla_rows.get(_signature(row), {}).get("reduce_func")}
            for row in self.of_keyspace("aggregates", keyspace)
        )


# For schema tables that have rows for only few tables: the attribute of `TableSource` for these
# rows.
_SLOTS = {
    "triggers": "triggers",
    "dropped_columns": "dropped",
    "column_masks": "masks",
    "scylla_tables": "scylla",
}


def _signature(row: Mapping[str, Any]) -> tuple[Any, tuple[Any, ...]]:
    return row["aggregate_name"], tuple(row["argument_types"] or ())


def _name_of(item: tuple[Any, Any]) -> str:
    """Return the key for sorting the items of a dict by name."""
    return str(item[0])


def _dicts(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterable[dict[str, Any]]:
    return (dict(zip(names, row, strict=True)) for row in rows)
