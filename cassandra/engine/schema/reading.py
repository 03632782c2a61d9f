"""Reads the schema tables of a server: all tables concurrently, and each table in pages.

The rows become a new snapshot of the schema in `Metadata`. If the whole schema was read, the
snapshot is built from the rows alone. Otherwise it is the previous snapshot in which one keyspace,
table or other element is replaced.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from cassandra._logs import Log
from cassandra.encoder import cql_quote
from cassandra.engine.waiting import together, within
from cassandra.errors import (
    InvalidRequest,
    OperationTimedOut,
    RequestValidationException,
    UserTypeDoesNotExist,
)
from cassandra.metadata.placement.replication import ReplicationStrategy
from cassandra.metadata.schema.grouping import Grouping
from cassandra.metadata.schema.pages import COLUMNS_OF_COLUMNS
from cassandra.metadata.schema.snapshot import KeyspaceSource, Schema, TableSource

if TYPE_CHECKING:
    from cassandra.engine.connection import Connection
    from cassandra.engine.control.internal_queries import Rows
    from cassandra.engine.schema.targets import Target
    from cassandra.engine.settings import Settings
    from cassandra.metadata.cluster_metadata import Metadata

log = Log("cassandra.cluster")

VERSION_QUERY = "SELECT schema_version, release_version FROM system.local WHERE key = 'local'"

# The schema version, and the release version of the node that reported it.
Version = tuple[Any, Any]
# Called with a connection and a query; yields the pages of the result.
Pages = Callable[["Connection", str], AsyncIterator[Any]]


class Part(NamedTuple):
    """A schema table of the server that the driver reads.

    :param table: the full name of the table.
    :param name: the column with the name of the table, type or function etc. that a row describes;
        None if each row describes a keyspace.
    :param columns: the columns to select.
    """

    table: str
    name: str | None = None
    columns: str = "*"


# The schema tables of all servers, by the names under which `Grouping` stores their rows.
_SCHEMA_TABLES = {
    "tables": Part("system_schema.tables", "table_name"),
    "columns": Part("system_schema.columns", "table_name", COLUMNS_OF_COLUMNS),
    "indexes": Part("system_schema.indexes", "table_name"),
    "triggers": Part("system_schema.triggers", "table_name"),
    "dropped_columns": Part("system_schema.dropped_columns", "table_name"),
    "views": Part("system_schema.views", "view_name"),
    "types": Part("system_schema.types", "type_name"),
    "functions": Part("system_schema.functions", "function_name"),
    "aggregates": Part("system_schema.aggregates", "aggregate_name"),
}
# This table is not in `_SCHEMA_TABLES`, because it is read even if the application has disabled
# reading the schema.
_KEYSPACES_TABLE = {"keyspaces": Part("system_schema.keyspaces")}
# Schema tables that only Cassandra or only ScyllaDB has, and only in some versions.
_CASSANDRA_TABLES = {"column_masks": Part("system_schema.column_masks", "table_name")}
_VIRTUAL_TABLES = {
    "virtual_keyspaces": Part("system_virtual_schema.keyspaces"),
    "virtual_tables": Part("system_virtual_schema.tables", "table_name"),
    "virtual_columns": Part("system_virtual_schema.columns", "table_name", COLUMNS_OF_COLUMNS),
}
_SCYLLADB_TABLES = {
    "scylla_tables": Part("system_schema.scylla_tables", "table_name"),
    "scylla_keyspaces": Part("system_schema.scylla_keyspaces"),
    "scylla_aggregates": Part("system_schema.scylla_aggregates", "aggregate_name"),
}
# The tables with the replication settings of keyspaces. They are read for all keyspaces, even if
# the application has disabled reading the schema, because routing needs them.
_REPLICATION_TABLES = ("keyspaces", "scylla_keyspaces")
# Tables that a server may not have; the schema is then read without them.
_OPTIONAL_TABLES = {*_CASSANDRA_TABLES, *_VIRTUAL_TABLES, *_SCYLLADB_TABLES, "dropped_columns"}

# For one changed element of a keyspace, the tables to read again, by the kind of the element.
_TABLES_OF_KIND = {
    "TABLE": (
        "tables",
        "columns",
        "indexes",
        "triggers",
        "dropped_columns",
        "views",
        "column_masks",
        "scylla_tables",
    ),
    "TYPE": ("types",),
    "FUNCTION": ("functions",),
    "AGGREGATE": ("aggregates", "scylla_aggregates"),
}
# For each kind of element: the field of `KeyspaceSource` with the rows of the elements, and the
# column with the element's name.
_ROWS_OF_KIND = {
    "TYPE": ("types", "type_name"),
    "FUNCTION": ("functions", "function_name"),
    "AGGREGATE": ("aggregates", "aggregate_name"),
}


class SchemaReader:
    """Reads the schema, and stores new snapshots in `metadata`.

    :param rows: returns the rows of a query on a connection, as dicts.
    :param pages: yields the result of a query on a connection page by page.
    """

    __slots__ = ("_metadata", "_read_pages", "_read_rows", "_settings")

    def __init__(self, settings: Settings, metadata: Metadata, rows: Rows, pages: Pages) -> None:
        self._settings = settings
        self._metadata = metadata
        self._read_rows = rows
        self._read_pages = pages

    # -- reading -----------------------------------------------------------------------------------

    async def read(self, target: Target, connection: Connection) -> None:
        """Read `target` again, through `connection`."""
        # Read the version before the tables. If the schema changes during the reading, the snapshot
        # then has an old version, and the difference causes another reading later.
        if target.kind == "ALL":
            rows = await self._read_rows(connection, VERSION_QUERY)
            version = (rows[0]["schema_version"], rows[0]["release_version"]) if rows else None
            await self.read_all(
                connection, version, target.forced or self._settings.schema_metadata_enabled
            )
        else:
            source = self._metadata.schema.sources.get(target.keyspace)
            # A virtual keyspace is read as a whole, because it does not change while a node runs.
            if target.kind in ("KEYSPACE", "REPLICATION") or source is None or source.virtual:
                await self._read_keyspace(connection, target)
            else:
                await self._read_element(connection, target)

    async def read_all(
        self, connection: Connection, version: Version | None, include_schema: bool
    ) -> None:
        """Read the replication of all keyspaces, and optionally their schema.

        :param version: the schema version before the reading began; None if it is unknown.
        :param include_schema: True to also read the schema of the keyspaces in the setting
            `schema_metadata_keyspaces`.
        """
        # Read the replication of all keyspaces, because requests in any keyspace must be routed.
        tables = self._replication_tables(connection)
        keyspaces = self._settings.schema_metadata_keyspaces
        # None means all keyspaces, and an empty sequence means no keyspace.
        if include_schema and (keyspaces is None or keyspaces):
            tables |= {**_SCHEMA_TABLES, **self._server_specific_tables(connection)}
            if not _is_scylladb(connection):
                tables |= _VIRTUAL_TABLES
        keyspace_condition = (
            None
            if keyspaces is None
            else f"keyspace_name IN ({', '.join(map(cql_quote, keyspaces))})"
        )
        conditions = {
            name: keyspace_condition for name in tables if name not in _REPLICATION_TABLES
        }
        grouping = await self._read_tables(connection, tables, conditions)
        self._store_replication(grouping, all_keyspaces=True)
        if include_schema:
            sources = grouping.sources()
            if keyspaces is not None:
                # Rows of all keyspaces were read for the replication: leave out keyspaces whose
                # schema the application does not want.
                sources = {name: source for name, source in sources.items() if name in keyspaces}
            self._metadata._replace_schema(Schema(sources, version))
        else:
            self._metadata._replace_schema(self._metadata.schema.at(version))

    async def _read_keyspace(self, connection: Connection, target: Target) -> None:
        """Read a keyspace: its replication and its schema.

        The schema is left out if only the replication has changed, or if the application does not
        want it.
        """
        name = target.keyspace
        keyspaces = self._settings.schema_metadata_keyspaces
        stores_schema = (self._settings.schema_metadata_enabled or target.forced) and (
            keyspaces is None or name in keyspaces
        )
        existing = self._metadata.schema.sources.get(name)
        parts = self._replication_tables(connection)
        if stores_schema and (target.kind != "REPLICATION" or existing is None):
            parts |= {**_SCHEMA_TABLES, **self._server_specific_tables(connection)}
            if existing is not None:
                may_be_virtual = existing.virtual
            else:
                # An unknown keyspace may be virtual, but only if the application has asked for it:
                # no event names a virtual keyspace, because virtual keyspaces do not change.
                may_be_virtual = target.forced and not _is_scylladb(connection)
            if may_be_virtual:
                parts |= _VIRTUAL_TABLES
        condition = f"keyspace_name = {cql_quote(name)}"
        grouping = await self._read_tables(connection, parts, dict.fromkeys(parts, condition))
        self._store_replication(grouping, all_keyspaces=False, name=name)
        if not stores_schema:
            return
        # Look up the keyspace again, because it may have changed during the queries.
        source: KeyspaceSource | None = grouping.sources().get(name)
        existing = self._metadata.schema.sources.get(name)
        # If only the replication was read, keep the existing tables, types and functions.
        if source is not None and existing is not None and "tables" not in parts:
            source = existing.replaced(row=source.row, scylla=source.scylla)
        self._store_keyspace(name, source)

    async def _read_element(self, connection: Connection, target: Target) -> None:
        """Read one element of a keyspace whose schema is in the snapshot.

        The element is a table with its views, a view, a type, or all functions or aggregates with
        the same name.
        """
        existing = self._metadata.schema.sources.get(target.keyspace)
        base = (
            existing.tables.get(target.name)
            if existing is not None and target.kind == "TABLE"
            else None
        )
        # A new or renamed column of a table also changes the table's views, but the server's event
        # names only the table. So read the views, too.
        names = [target.name, *(base.views if base is not None else ())]
        available = {**_SCHEMA_TABLES, **self._server_specific_tables(connection)}
        parts = {
            name: available[name] for name in _TABLES_OF_KIND[target.kind] if name in available
        }
        if len(names) > 1:
            is_one_of_names = f"IN ({', '.join(map(cql_quote, names))})"
        else:
            is_one_of_names = f"= {cql_quote(target.name)}"
        # The column that has the element's name, `part.name`, differs between the schema tables.
        conditions = {
            name: f"keyspace_name = {cql_quote(target.keyspace)} AND {part.name} {is_one_of_names}"
            for name, part in parts.items()
        }
        grouping = await self._read_tables(connection, parts, conditions)
        existing = self._metadata.schema.sources.get(target.keyspace)
        if existing is None:  # the keyspace was dropped during the reading
            return
        if target.kind == "TABLE":
            self._store_keyspace(
                target.keyspace, _with_tables(existing, names, list(grouping.table_sources()))
            )
            return
        field, column = _ROWS_OF_KIND[target.kind]
        rows = (
            grouping.aggregates(existing.name)
            if field == "aggregates"
            else grouping.of_keyspace(field, existing.name)
        )
        others = [row for row in getattr(existing, field) if row.get(column) != target.name]
        self._store_keyspace(target.keyspace, existing.replaced(**{field: (*others, *rows)}))

    def _store_keyspace(self, name: str, source: KeyspaceSource | None) -> None:
        """Replace the keyspace `name` in the snapshot; remove it if `source` is None."""
        # The new snapshot has no version: the server's version also covers other changes, which
        # were not read.
        self._metadata._replace_schema(self._metadata.schema.with_keyspace(name, source))

    def _store_replication(self, grouping: Grouping, all_keyspaces: bool, name: str = "") -> None:
        """Store the replication that was read.

        :param all_keyspaces: True if the rows describe all keyspaces. False if they describe only
            the keyspace `name`, so that the other keyspaces are kept.
        """
        replication = {
            keyspace: _replication_strategy(row) for keyspace, row in grouping.keyspaces.items()
        }
        if not all_keyspaces:
            # Keep the other keyspaces, which were not read.
            other_keyspaces = {
                keyspace: strategy
                for keyspace, strategy in self._metadata.replication.items()
                if keyspace != name
            }
            replication = {**other_keyspaces, **replication}
        self._metadata._replace_replication(
            {
                keyspace: strategy
                for keyspace, strategy in replication.items()
                if strategy is not None
            }
        )
        # Find the keyspaces with tablets (ScyllaDB), and the keyspaces whose tablets have leaders.
        with_tablets, leaders = grouping.tablet_keyspaces()
        if not all_keyspaces:
            others = self._metadata.replication.keys() - {name}
            with_tablets |= set(filter(self._metadata.tablets.has_keyspace, others))
            leaders |= set(filter(self._metadata.tablets.has_leaders, others))
        self._metadata._replace_tablet_keyspaces(with_tablets, leaders)

    async def user_type_fields(self, connection: Connection, keyspace: str, name: str) -> list[str]:
        """Return the field names of a user-defined type.

        :raises UserTypeDoesNotExist: if the cluster has no such type.
        """
        rows = await self._read_rows(
            connection,
            "SELECT field_names FROM system_schema.types "
            f"WHERE keyspace_name = {cql_quote(keyspace)} AND type_name = {cql_quote(name)}",
        )
        if not rows:
            raise UserTypeDoesNotExist(f"there is no user-defined type {keyspace}.{name}")
        return list(rows[0]["field_names"])

    # -- queries -----------------------------------------------------------------------------------

    def _replication_tables(self, connection: Connection) -> dict[str, Part]:
        """Return the tables to read for the replication of keyspaces."""
        parts = {**_KEYSPACES_TABLE}
        if _is_scylladb(connection):
            parts["scylla_keyspaces"] = _SCYLLADB_TABLES["scylla_keyspaces"]
        return parts

    def _server_specific_tables(self, connection: Connection) -> dict[str, Part]:
        """Return the schema tables that only ScyllaDB has, or those that only Cassandra has.

        Some versions of the server do not have all of these tables.

        :param connection: leads to the server, which is either a ScyllaDB or a Cassandra node.
        """
        return _SCYLLADB_TABLES if _is_scylladb(connection) else _CASSANDRA_TABLES

    async def _read_tables(
        self,
        connection: Connection,
        parts: Mapping[str, Part],
        conditions: Mapping[str, str | None],
    ) -> Grouping:
        """Read the tables `parts` concurrently, and return their rows by keyspace.

        :param conditions: the WHERE clause for each name in `parts`; None to read all rows.
        """
        grouping = Grouping()

        async def read(name: str, part: Part) -> None:
            query = f"SELECT {part.columns} FROM {part.table}"
            condition = conditions.get(name)
            if condition:
                query += f" WHERE {condition}"
            async for page in self._read_pages(connection, query):
                grouping.add(name, page, connection.version)

        async def read_optional(name: str, part: Part) -> None:
            """Read a table that some servers do not have."""
            # Skip a table that this server does not have. Missing tables are stored in the
            # connection, not in the host: an upgrade closes all connections, and after the upgrade
            # the server may have the table.
            if name in connection.missing_tables:
                return
            try:
                await read(name, part)
            except RequestValidationException as error:
                log.debug("%s cannot be read from %s: %s", part.table, connection.endpoint, error)
                # Only InvalidRequest means that the table does not exist. The causes of other
                # errors may disappear while the connection is open; for example, permissions can be
                # granted.
                if isinstance(error, InvalidRequest):
                    connection.missing_tables |= {name}

        reading = together(
            *(
                read_optional(name, part) if name in _OPTIONAL_TABLES else read(name, part)
                for name, part in parts.items()
            )
        )
        # Each page has its own timeout. This timeout limits the whole reading, in case a server
        # never stops sending pages.
        timeout = self._settings.schema_read_timeout
        try:
            await within(timeout, reading)
        except asyncio.TimeoutError:
            raise OperationTimedOut(
                f"the schema could not be read from {connection.endpoint} within {timeout} seconds "
                "(Cluster.schema_read_timeout)",
                connection.endpoint,
                timeout,
            ) from None
        return grouping


def _with_tables(
    keyspace: KeyspaceSource, names: Iterable[str], sources: Sequence[TableSource]
) -> KeyspaceSource:
    """Return a copy of `keyspace` in which some tables and views are replaced.

    :param names: the tables and views that were read again. A table or view that is not in
        `sources` is removed.
    :param sources: the tables and views of `names` that the server still has.
    """
    # Remove the old tables and views, and collect the tables whose views may have changed.
    tables, views = dict(keyspace.tables), dict(keyspace.views)
    bases = set()
    for name in names:
        tables.pop(name, None)
        old_view = views.pop(name, None)
        bases.add(old_view.base if old_view is not None else None)
    new_sources = {source.name: source for source in sources}
    views |= {name: source for name, source in new_sources.items() if source.base is not None}
    views = dict(sorted(views.items()))
    tables |= {name: source for name, source in new_sources.items() if source.base is None}
    # Each table refers to its views: update that for every table whose views may have changed.
    for base in bases | {source.base for source in sources} | set(new_sources):
        if base is None or base not in tables:
            continue
        views_of_base = {view.name: view for view in views.values() if view.base == base}
        # A new object may be changed, but an object of the previous snapshot must be copied.
        if base in new_sources:
            tables[base].views = views_of_base
        else:
            tables[base] = tables[base].with_views(views_of_base)
    return keyspace.replaced(tables=dict(sorted(tables.items())), views=views)


def _is_scylladb(connection: Connection) -> bool:
    return connection.features is not None and connection.features.is_scylla


def _replication_strategy(row: Mapping[str, Any]) -> ReplicationStrategy | None:
    """Return the replication in the row of a keyspace; None if the row has no replication."""
    replication = row.get("replication")
    if not isinstance(replication, Mapping) or not replication.get("class"):
        return None
    options = {key: value for key, value in replication.items() if key != "class"}
    return ReplicationStrategy.create(replication["class"], options)
