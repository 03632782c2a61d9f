"""Notices that a table is another one now: it was dropped and created again, or has another key.

Servers do not report this to a bulk operation: they prepare its statements again for the new table,
without an error. So a load would count rows as written that are gone, and a scan would return rows
of both tables. A table has another id after it was created again, so `TableWatch` compares the ids:
the id in the driver's metadata as often as the operation likes, and the id that a server has at the
beginning and at the end. The metadata alone are not enough, because they are read again some time
after a server's event, or never if events are disabled.

TRUNCATE does not change the id, so it cannot be noticed.

The columns of the primary key can be renamed, and a new column can get the old name of one. Then a
scan that names this column would return the new column, so rows would lack a part of their keys.
`TableWatch` notices this, too. (Loads need not look: servers refuse an INSERT without the key.)
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

from cassandra._logs import Log
from cassandra.bulk.checkpoint import describe_id
from cassandra.bulk.plain import PlainRows
from cassandra.bulk.scan_plan import system_query
from cassandra.errors import DriverException
from cassandra.util.cql_text import cql_string, protect_name

if TYPE_CHECKING:
    from cassandra.metadata import Metadata
    from cassandra.metadata.schema.tables import TableMetadata

log = Log(__name__)

Steps = Generator[Callable[[Any], Any], Any, None]

# The query of a table's id, and of a materialized view's id.
_ID = "SELECT id FROM system_schema.{} WHERE keyspace_name = {} AND {} = {}"
# The query of the names and kinds of a table's columns.
_KINDS = (
    "SELECT column_name, kind FROM system_schema.columns "
    "WHERE keyspace_name = {} AND table_name = {}"
)


class TableWatch:
    """Notices if a table was dropped and created again since `begin_steps`.

    `begin_steps` and `end_steps` are generators without I/O, like
    `cassandra.bulk.scan_plan.plan_steps`.

    :param metadata: the cluster's metadata.
    :param keyspace: the keyspace of the table; None if it is unknown. Then nothing is noticed.
    :param name: the name of the table or materialized view; None if it is unknown.
    """

    def __init__(self, metadata: Metadata, keyspace: str | None, name: str | None) -> None:
        self._metadata = metadata
        self._keyspace = keyspace or ""
        self._name = name or ""
        # The ids that the metadata and a server had at the beginning. They differ if the metadata
        # were out of date.
        self._first_ids: set[str] = set()
        self.table_id: str | None = None
        """The id at the beginning, from a server or else from the metadata; None if unknown."""
        # The names of the key's columns at the beginning; empty if they are not known.
        self._first_key: set[str] = set()

    @property
    def table_name(self) -> str:
        """The full name of the table, quoted for CQL."""
        return f"{protect_name(self._keyspace)}.{protect_name(self._name)}"

    def begin_steps(self) -> Steps:
        """Remember which table this is."""
        known_id = describe_id(self._table())
        self._first_key = _key_of(self._table())
        server_id = yield from self._server_id()
        self._first_ids = {each for each in (known_id, server_id) if each}
        self.table_id = server_id or known_id
        if server_id and known_id and server_id != known_id:
            # A checkpoint must have the id of the table that the operation uses.
            yield from self._refresh()

    def is_another(self) -> bool:
        """Return True if the metadata say that the table is another one now."""
        return self._differs(describe_id(self._table()))

    def end_steps(self) -> Generator[Callable[[Any], Any], Any, bool]:
        """Return True if the table is another one now, by the metadata or by a server."""
        if self.is_another():
            return True
        if not self._first_ids or not self._differs((yield from self._server_id())):
            return False
        # The metadata do not know it yet. Without this, another run would take the checkpoint of
        # the dropped table for one of the new table.
        yield from self._refresh()
        return True

    def renamed_keys(self) -> list[str]:
        """Return the columns of the key that are none any more, by the metadata."""
        return self._missing(_key_of(self._table()))

    def renamed_keys_steps(self) -> Generator[Callable[[Any], Any], Any, list[str]]:
        """Return the columns of the key that are none any more, by the metadata or a server."""
        missing = self.renamed_keys()
        if missing or not self._first_key:
            return missing
        query = _KINDS.format(cql_string(self._keyspace), cql_string(self._name))
        rows = yield from self._rows(query)
        missing = self._missing({name for name, kind in rows if kind in _KINDS_OF_KEYS})
        if missing:
            yield from self._refresh()
        return missing

    def _missing(self, key: set[str]) -> list[str]:
        """Return the columns of the key at the beginning that are not in `key`.

        :param key: the names of the key's columns; empty if they are not known.
        """
        return sorted(self._first_key - key) if key else []

    def _differs(self, table_id: str | None) -> bool:
        """Return True if an id is known, and is not the id at the beginning."""
        return bool(table_id and self._first_ids) and table_id not in self._first_ids

    def _table(self) -> TableMetadata | None:
        """Return the metadata of the table or view; None if they are not known."""
        keyspace = self._metadata.keyspaces.get(self._keyspace)
        if keyspace is None:
            return None
        table: TableMetadata | None = keyspace.tables.get(self._name)
        return keyspace.views.get(self._name) if table is None else table

    def _server_id(self) -> Generator[Callable[[Any], Any], Any, str | None]:
        """Return the id that a server has for the table; None if it does not say one."""
        keyspace = self._metadata.keyspaces.get(self._keyspace)
        # Virtual tables have no ids.
        if not self._keyspace or not self._name or (keyspace is not None and keyspace.virtual):
            return None
        is_view = keyspace is not None and self._name in keyspace.views
        query = _ID.format(
            "views" if is_view else "tables",
            cql_string(self._keyspace),
            "view_name" if is_view else "table_name",
            cql_string(self._name),
        )
        rows = yield from self._rows(query)
        return str(rows[0][0]) if rows and rows[0][0] is not None else None

    def _rows(self, query: str) -> Generator[Callable[[Any], Any], Any, list[tuple[Any, ...]]]:
        """Return the rows of a query of the schema; [] if it fails."""
        try:
            page = yield system_query(query)
            return PlainRows().tuples(page)
        except DriverException as error:
            # Rely on the metadata: Cassandra 2 does not have these tables, or the role may not read
            # them, or no server can be reached at the moment.
            log.debug("The schema of %s could not be read: %s", self.table_name, error)
            return []

    def _refresh(self) -> Steps:
        """Read the metadata of the table again."""
        try:
            yield lambda session: session.cluster.refresh_table_metadata(
                self._keyspace, self._name, max_schema_agreement_wait=0
            )
        except DriverException as error:
            log.debug("%s could not be read again: %s", self.table_name, error)


# The values of `kind` in system_schema.columns for columns of the primary key.
_KINDS_OF_KEYS = ("partition_key", "clustering")


def _key_of(table: TableMetadata | None) -> set[str]:
    """Return the names of the columns of a table's primary key; an empty set if it is not known.

    It is also empty for a table with compact storage, whose schema has hidden columns.
    """
    if table is None or getattr(table, "is_compact_storage", False):  # views lack the attribute
        return set()
    return {column.name for column in table.primary_key}
