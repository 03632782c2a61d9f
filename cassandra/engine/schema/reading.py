"""Reading the schema, and keeping it fresh.

The schema tables are read through one connection, in pages and side by side, into a `Grouping`. At
connect all of them are read; later a `Target` at a time: what a DDL statement of a session has
changed, before its result is handed on, and what events of the server name, after a while, so that
a burst of them is one reading. Readings go one after another in rounds, and those that come while a
round runs are joined into the next: what is read later is never overwritten by what was read
earlier.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from cassandra.encoder import cql_quote
from cassandra.engine.schema.targets import PendingTargets, Target, grouped
from cassandra.errors import (
    ConnectionShutdown,
    DriverException,
    OperationTimedOut,
    RequestValidationException,
)
from cassandra.metadata.placement.replication import ReplicationStrategy
from cassandra.metadata.schema.grouping import Grouping
from cassandra.metadata.schema.pages import COLUMNS_OF_COLUMNS
from cassandra.metadata.schema.snapshot import KeyspaceSource, Schema, TableSource

if TYPE_CHECKING:
    from cassandra.engine.connection import Connection
    from cassandra.engine.core import Core
    from cassandra.metadata.host import Host

log = logging.getLogger("cassandra.cluster")

VERSION_QUERY = "SELECT schema_version, release_version FROM system.local WHERE key = 'local'"
# What could not be read is tried again, after so many seconds, then twice as many, and so on; so
# many times in a row.
FIRST_DELAY = 1.0
MOST_TRIES = 8
READERS = 8  # targets that are read at a time, on the one connection


class Part(NamedTuple):
    """A schema table. `name`: the column that has the name of what a row belongs to, below the
    keyspace.
    """

    table: str
    name: str | None = None
    columns: str = "*"


_PARTS = {
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
_KEYSPACES = {"keyspaces": Part("system_schema.keyspaces")}
# What one family of servers has, and some of its versions do not.
_OF_CASSANDRA = {"column_masks": Part("system_schema.column_masks", "table_name")}
_VIRTUAL = {
    "virtual_keyspaces": Part("system_virtual_schema.keyspaces"),
    "virtual_tables": Part("system_virtual_schema.tables", "table_name"),
    "virtual_columns": Part("system_virtual_schema.columns", "table_name", COLUMNS_OF_COLUMNS),
}
_OF_SCYLLADB = {
    "scylla_tables": Part("system_schema.scylla_tables", "table_name"),
    "scylla_keyspaces": Part("system_schema.scylla_keyspaces"),
    "scylla_aggregates": Part("system_schema.scylla_aggregates", "aggregate_name"),
}
_OF_PLACEMENT = ("keyspaces", "scylla_keyspaces")
_OPTIONAL = {*_OF_CASSANDRA, *_VIRTUAL, *_OF_SCYLLADB, "dropped_columns"}

# What is read for a target of a kind that is less than a keyspace.
_PARTS_OF_KIND = {
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
# The slot of a `KeyspaceSource` that holds rows of the kind, and the column that has their name.
_ROWS_OF_KIND = {
    "TYPE": ("types", "type_name"),
    "FUNCTION": ("functions", "function_name"),
    "AGGREGATE": ("aggregates", "aggregate_name"),
}


class SchemaRefresher:
    """Reads the schema for one `Core`, and swaps `Metadata`'s snapshots."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self.enabled = True  # `set_meta_refresh_enabled`
        self._missing: set[tuple[Any, str]] = set()
        self._pending = PendingTargets()
        self._timer: asyncio.TimerHandle | None = None
        self._failures = 0  # in a row
        self._wanted: dict[Target, tuple[Connection | None, list[asyncio.Future[None]]]] = {}
        self._worker: asyncio.Task[None] | None = None
        self._closed = False

    @property
    def _reads_schema(self) -> bool:
        return bool(self._core.settings.schema_metadata_enabled)

    @property
    def _reads_anything(self) -> bool:
        return self.enabled and (self._reads_schema or self._core.settings.token_metadata_enabled)

    # -- when --------------------------------------------------------------------------------------

    async def on_connected(self, connection: Connection, local: Host) -> None:
        """The first control connection is open: read what is wanted, before `connect` returns."""
        if self._reads_anything:
            await self._read_all(connection, _version_of(local), self._reads_schema)

    def on_moved(self, local: Host) -> None:
        """Read everything again if it may have changed while the control connection moved."""
        if self._reads_anything and self._core.metadata.schema.version != _version_of(local):
            self._core.spawn(self._refresh_quietly([Target()]))

    def on_event(self, event: Mapping[str, Any]) -> None:
        """The server says that something has changed."""
        window = self._core.settings.schema_event_refresh_window
        target = Target.of_event(event)
        self._forget_tablets(target)
        if window < 0 or self._closed or not self._concerns(target):
            return
        self._pending.add(target)
        self._read_pending_in(random.uniform(0.0, window))

    def _read_pending_in(self, delay: float) -> None:
        """Read what is pending after `delay` seconds, or sooner if an earlier time was set."""
        due = self._core.loop.time() + delay
        if self._timer is not None:
            if self._timer.when() <= due:
                return
            self._timer.cancel()
        self._timer = self._core.loop.call_at(due, self._start_pending)

    def _start_pending(self) -> None:
        self._timer = None
        targets = self._pending.take()
        if targets and not self._closed:
            self._core.spawn(self._refresh_quietly(targets))

    async def after_ddl(self, event: Mapping[str, Any], connection: Connection) -> None:
        """A session has changed the schema, through `connection`: read what it has changed."""
        target = Target.of_event(event)
        self._forget_tablets(target)
        if not self._concerns(target):
            return
        self._pending.discard(target)  # the event of the same change came first
        await self._refresh_quietly([target], connection)

    def _forget_tablets(self, target: Target) -> None:
        """What was told of a table ends when it is changed: it may be another one of its name."""
        tablets = self._core.metadata.tablets
        if target.kind == "TABLE":
            tablets.drop(target.keyspace, target.name)
        elif target.kind in ("KEYSPACE", "REPLICATION"):
            tablets.drop(target.keyspace)

    def _concerns(self, target: Target) -> bool:
        """Return True if the change concerns metadata that is read.

        Changes of replication always do if any metadata is read.
        """
        if not self._reads_anything:
            return False
        if target.kind in ("KEYSPACE", "REPLICATION"):
            return True
        wanted = self._core.settings.schema_metadata_keyspaces
        return self._reads_schema and (wanted is None or target.keyspace in wanted)

    async def _refresh_quietly(
        self, targets: Iterable[Target], connection: Connection | None = None
    ) -> None:
        targets = list(targets)
        try:
            await self._refresh(targets, connection)
            self._failures = 0
        except (DriverException, OSError, asyncio.TimeoutError) as error:
            if not self._closed:
                log.warning("the schema could not be read again: %s", error)
            self._doubt()
            self._try_again(targets)
        except Exception:
            log.exception("the schema could not be read again")
            self._doubt()

    def _try_again(self, targets: Iterable[Target]) -> None:
        """Read what could not be read once more, after a while: no other event may ever name it."""
        self._failures += 1
        if self._closed or self._failures > MOST_TRIES:
            return
        for target in targets:
            self._pending.add(target)
        longest = FIRST_DELAY * 2 ** (self._failures - 1)
        self._read_pending_in(random.uniform(longest / 2, longest))

    def _doubt(self) -> None:
        """The snapshot may lack a change: after the next move of the control connection all is read
        again.
        """
        self._core.metadata.replace_schema(self._core.metadata.schema.at(None))

    async def refresh(self, target: Target, max_schema_agreement_wait: float | None = None) -> None:
        """Wait until the nodes agree on the schema, then read `target` again.

        It is read even if reading is switched off.

        :param max_schema_agreement_wait: seconds; 0 or less for no wait.
        :raises DriverException: if they do not agree in time; also the errors of the reading.
        """
        wait = self._core.settings.max_schema_agreement_wait
        wait = wait if max_schema_agreement_wait is None else max_schema_agreement_wait
        connection = self._core.control.required()
        if wait > 0 and not await self._core.wait_for_schema_agreement(connection, wait):
            raise DriverException(
                f"the nodes did not agree on the schema within {wait} seconds: "
                "it was not read again"
            )
        await self._refresh([target._replace(forced=True)])

    # -- rounds ------------------------------------------------------------------------------------

    async def _refresh(
        self, targets: Iterable[Target], connection: Connection | None = None
    ) -> None:
        """Have `targets` read in the next round, through `connection` or the control connection."""
        if self._closed:
            raise ConnectionShutdown("the cluster is shut down")
        futures = []
        for target in targets:
            future: asyncio.Future[None] = self._core.loop.create_future()
            through, waiting = self._wanted.get(target, (None, []))
            waiting.append(future)
            self._wanted[target] = (connection or through, waiting)
            futures.append(future)
        if self._worker is None or self._worker.done():
            self._worker = self._core.spawn(self._work())
        results = await asyncio.gather(*futures, return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException):
                raise result

    async def _work(self) -> None:
        while self._wanted:
            wanted, self._wanted = self._wanted, {}
            try:
                await self._round(wanted)
            finally:
                ended = ConnectionShutdown("the cluster is shut down")
                for _, waiting in wanted.values():
                    _complete(waiting, ended)

    async def _round(
        self, wanted: Mapping[Target, tuple[Connection | None, list[asyncio.Future[None]]]]
    ) -> None:
        groups = iter(grouped(wanted).items())

        async def read_groups() -> None:
            for target, covered in groups:
                waiting = [future for one in covered for future in wanted[one][1]]
                through = [
                    connection for one in covered if (connection := wanted[one][0]) is not None
                ]
                try:
                    await self._read(target, through[-1] if through else None)
                except Exception as error:  # of whatever kind: it is for the callers that wait
                    _complete(waiting, error)
                else:
                    _complete(waiting, None)

        # A few at a time: each reads several tables, and a connection has a bounded number of
        # streams.
        await asyncio.gather(*(read_groups() for _ in range(READERS)))

    # -- what --------------------------------------------------------------------------------------

    async def _read(self, target: Target, connection: Connection | None) -> None:
        if connection is None or connection.closed:
            connection = self._core.control.required()
        if target.kind == "ALL":
            rows = await self._core.asker.rows(connection, VERSION_QUERY)
            version = (rows[0]["schema_version"], rows[0]["release_version"]) if rows else None
            await self._read_all(connection, version, target.forced or self._reads_schema)
        else:
            known = self._core.metadata.schema.sources.get(target.keyspace)
            # Virtual keyspaces, which never change while a node runs, are read as a whole.
            if target.kind in ("KEYSPACE", "REPLICATION") or known is None or known.virtual:
                await self._read_keyspace(connection, target)
            else:
                await self._read_element(connection, target)

    async def _read_all(
        self, connection: Connection, version: tuple[Any, Any] | None, whole: bool
    ) -> None:
        """Read the replication of all keyspaces.

        :param whole: read all else of the keyspaces too, unless they are filtered away.
        """
        parts = self._replication_parts(connection)
        wanted = self._core.settings.schema_metadata_keyspaces
        if whole and (wanted is None or wanted):
            parts |= {**_PARTS, **self._parts_of_server(connection)}
            if not _is_scylladb(connection):
                parts |= _VIRTUAL
        among = (
            None if wanted is None else f"keyspace_name IN ({', '.join(map(cql_quote, wanted))})"
        )
        conditions = {name: among for name in parts if name not in _OF_PLACEMENT}
        grouping = await self._query(connection, parts, conditions)
        self._take_replication(grouping, whole=True)
        if whole:
            sources = grouping.sources()
            if wanted is not None:
                sources = {name: source for name, source in sources.items() if name in wanted}
            self._core.metadata.replace_schema(Schema(sources, version))
        else:
            self._core.metadata.replace_schema(self._core.metadata.schema.at(version))

    async def _read_keyspace(self, connection: Connection, target: Target) -> None:
        name = target.keyspace
        metadata = self._core.metadata
        wanted = self._core.settings.schema_metadata_keyspaces
        held = (self._reads_schema or target.forced) and (wanted is None or name in wanted)
        known = metadata.schema.sources.get(name)
        parts = self._replication_parts(connection)
        if held and (target.kind != "REPLICATION" or known is None):
            parts |= {**_PARTS, **self._parts_of_server(connection)}
            if (
                known.virtual
                if known is not None
                else target.forced and not _is_scylladb(connection)
            ):
                parts |= _VIRTUAL
        condition = f"keyspace_name = {cql_quote(name)}"
        grouping = await self._query(connection, parts, dict.fromkeys(parts, condition))
        self._take_replication(grouping, whole=False, name=name)
        if not held:
            return
        source: KeyspaceSource | None = grouping.sources().get(name)
        known = metadata.schema.sources.get(name)
        if source is not None and known is not None and "tables" not in parts:
            source = known.replaced(row=source.row, scylla=source.scylla)
        self._take_keyspace(name, source)

    async def _read_element(self, connection: Connection, target: Target) -> None:
        """A table with its views, a view, a type, or all functions or aggregates of one name, of a
        keyspace that is known.
        """
        known = self._core.metadata.schema.sources.get(target.keyspace)
        base = (
            known.tables.get(target.name) if known is not None and target.kind == "TABLE" else None
        )
        # A column that is added to a table or renamed is so in its views as well, and the server
        # names the table alone.
        names = [target.name, *(base.views if base is not None else ())]
        available = {**_PARTS, **self._parts_of_server(connection)}
        parts = {name: available[name] for name in _PARTS_OF_KIND[target.kind] if name in available}
        place = f"keyspace_name = {cql_quote(target.keyspace)} AND"
        among = (
            f"IN ({', '.join(map(cql_quote, names))})"
            if len(names) > 1
            else f"= {cql_quote(target.name)}"
        )
        conditions = {name: f"{place} {part.name} {among}" for name, part in parts.items()}
        grouping = await self._query(connection, parts, conditions)
        known = self._core.metadata.schema.sources.get(target.keyspace)
        if known is None:  # dropped meanwhile
            return
        if target.kind == "TABLE":
            self._take_keyspace(
                target.keyspace, _with_tables(known, names, list(grouping.table_sources()))
            )
            return
        slot, column = _ROWS_OF_KIND[target.kind]
        rows = (
            grouping.aggregates(known.name)
            if slot == "aggregates"
            else grouping.of_keyspace(slot, known.name)
        )
        others = [row for row in getattr(known, slot) if row.get(column) != target.name]
        self._take_keyspace(target.keyspace, known.replaced(**{slot: (*others, *rows)}))

    def _take_keyspace(self, name: str, source: KeyspaceSource | None) -> None:
        # Other changes may have come in between: no version says any more what this snapshot is.
        self._core.metadata.replace_schema(self._core.metadata.schema.with_keyspace(name, source))

    def _take_replication(self, grouping: Grouping, whole: bool, name: str = "") -> None:
        read = {keyspace: _replication(row) for keyspace, row in grouping.keyspaces.items()}
        if not whole:
            read = {
                **{k: v for k, v in self._core.metadata.replication.items() if k != name},
                **read,
            }
        metadata = self._core.metadata
        metadata.replace_replication({k: v for k, v in read.items() if v is not None})
        with_tablets, leaders = grouping.tablet_keyspaces()
        if not whole:
            others = metadata.replication.keys() - {name}
            with_tablets |= set(filter(metadata.tablets.has_keyspace, others))
            leaders |= set(filter(metadata.tablets.has_leaders, others))
        metadata.replace_tablet_keyspaces(with_tablets, leaders)

    # -- asking ------------------------------------------------------------------------------------

    def _replication_parts(self, connection: Connection) -> dict[str, Part]:
        """What tells where the partitions of keyspaces are."""
        parts = {**_KEYSPACES}
        if _is_scylladb(connection):
            parts["scylla_keyspaces"] = _OF_SCYLLADB["scylla_keyspaces"]
        return parts

    def _parts_of_server(self, connection: Connection) -> dict[str, Part]:
        return _OF_SCYLLADB if _is_scylladb(connection) else _OF_CASSANDRA

    async def _query(
        self,
        connection: Connection,
        parts: Mapping[str, Part],
        conditions: Mapping[str, str | None],
    ) -> Grouping:
        """Read `parts` side by side."""
        grouping = Grouping()

        async def read(name: str, part: Part) -> None:
            condition = conditions.get(name)
            query = f"SELECT {part.columns} FROM {part.table}" + (
                f" WHERE {condition}" if condition else ""
            )
            async for page in self._core.asker.pages(connection, query):
                grouping.add(name, page, connection.version)

        async def read_optional(name: str, part: Part) -> None:
            # Which server it is decides what it has: nodes of one cluster may differ while they are
            # upgraded.
            key = (connection.endpoint, name)
            if key in self._missing:
                return
            try:
                await read(name, part)
            except RequestValidationException as error:
                log.debug("%s has no %s: %s", connection.endpoint, part.table, error)
                self._missing.add(key)

        reading = asyncio.gather(
            *(
                read_optional(name, part) if name in _OPTIONAL else read(name, part)
                for name, part in parts.items()
            )
        )
        # Each page has its own deadline; this one is for servers that send pages without an end.
        timeout = self._core.settings.schema_read_timeout
        try:
            await asyncio.wait_for(reading, timeout)
        except asyncio.TimeoutError:
            raise OperationTimedOut(
                f"the schema could not be read from {connection.endpoint} within {timeout} seconds "
                "(Cluster.schema_read_timeout)",
                connection.endpoint,
                timeout,
            ) from None
        return grouping

    # -- end ---------------------------------------------------------------------------------------

    def close(self) -> None:
        """Forget what was still to be read."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        if self._worker is not None:
            self._worker.cancel()
        ended = ConnectionShutdown("the cluster is shut down")
        for _, waiting in self._wanted.values():
            _complete(waiting, ended)
        self._wanted.clear()


def _complete(waiting: Iterable[asyncio.Future[None]], error: Exception | None) -> None:
    for future in waiting:
        if future.done():
            continue
        if error is None:
            future.set_result(None)
        else:
            future.set_exception(error)


def _with_tables(
    known: KeyspaceSource, names: Iterable[str], read: Sequence[TableSource]
) -> KeyspaceSource:
    """`known` with the tables and views `names` as they were read, or without them."""
    tables, views = dict(known.tables), dict(known.views)
    bases = set()
    for name in names:
        tables.pop(name, None)
        before = views.pop(name, None)
        bases.add(before.base if before is not None else None)
    fresh = {source.name: source for source in read}
    views |= {name: source for name, source in fresh.items() if source.base is not None}
    views = dict(sorted(views.items()))
    tables |= {name: source for name, source in fresh.items() if source.base is None}
    for base in bases | {source.base for source in read} | set(fresh):
        if base is None or base not in tables:
            continue
        of_base = {view.name: view for view in views.values() if view.base == base}
        if base in fresh:
            tables[base].views = of_base
        else:
            tables[base] = tables[base].with_views(of_base)
    return known.replaced(tables=dict(sorted(tables.items())), views=views)


def _is_scylladb(connection: Connection) -> bool:
    return connection.features is not None and connection.features.sharding_info is not None


def _version_of(local: Host) -> Any:
    return local.schema_version, local.release_version


def _replication(row: Mapping[str, Any]) -> ReplicationStrategy | None:
    replication = row.get("replication")
    if not isinstance(replication, Mapping) or not replication.get("class"):
        return None
    options = {key: value for key, value in replication.items() if key != "class"}
    return ReplicationStrategy.create(replication["class"], options)
