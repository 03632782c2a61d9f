"""Which schema tables the reader queries. It reads them from a fake node that is not started."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import pytest

from cassandra.engine.schema.reading import SchemaReader
from cassandra.engine.schema.targets import Target
from cassandra.errors import (
    ConnectionShutdown,
    InvalidRequest,
    OperationTimedOut,
    Unauthorized,
    UserTypeDoesNotExist,
)
from cassandra.metadata.cluster_metadata import Metadata
from cassandra.testing.fake import FakeNode
from tests.unit.engine.partners import Tables, engine_settings, fake_connection, run_loop_turns
from tests.unit.metadata.schema.rows import add_table, keyspace, remove_table, schema


class ReaderHarness:
    """A `SchemaReader` with the tables that it reads and the metadata that it fills.

    :param keyspaces: the names of the keyspaces, each of which has the tables t0 and t1.
    :param settings: settings of the engine.
    """

    def __init__(self, *keyspaces: str, **settings: Any) -> None:
        self.node = FakeNode()
        self.node.schema = schema(*keyspaces)
        self.tables = Tables(self.node)
        self.metadata = Metadata()
        self.reader = SchemaReader(
            engine_settings(**settings), self.metadata, self.tables.rows, self.tables.pages
        )

    def take_tables_read(self) -> list[str]:
        """Return the sorted names of the tables that were queried, and forget the queries."""
        tables = sorted(query.split(" FROM ")[1].split()[0] for _, query in self.tables.queries)
        self.tables.queries.clear()
        return tables

    def table_names(self) -> dict[str, list[str]]:
        """Return the sorted names of the tables in the metadata, by keyspace."""
        return {name: sorted(keyspace.tables) for name, keyspace in self.metadata.keyspaces.items()}


async def test_without_a_narrower_target_the_whole_schema_is_read() -> None:
    """`Target()` stands for the whole schema: all tables and the replication settings of all
    keyspaces are read.
    """
    harness = ReaderHarness("a", "b")
    await harness.reader.read(Target(), fake_connection())
    assert harness.table_names() == {"a": ["t0", "t1"], "b": ["t0", "t1"]}
    # The version that a later reading is compared with.
    assert harness.metadata.schema.version == (
        harness.node.schema_version,
        harness.node.release_version,
    )
    assert set(harness.metadata.replication) == {"a", "b"}


async def test_without_schema_metadata_only_the_replication_is_read() -> None:
    """With `schema_metadata_enabled=False`, only the replication settings of keyspaces are read.
    But a forced reading, which the application requests, reads everything.
    """
    harness = ReaderHarness("a", schema_metadata_enabled=False)
    await harness.reader.read(Target(), fake_connection())
    assert harness.table_names() == {}
    assert set(harness.metadata.replication) == {"a"}
    assert harness.take_tables_read() == ["system.local", "system_schema.keyspaces"]
    await harness.reader.read(Target(forced=True), fake_connection())
    assert harness.table_names() == {"a": ["t0", "t1"]}


async def test_only_the_keyspaces_of_schema_metadata_keyspaces_are_read() -> None:
    harness = ReaderHarness("a", "b", schema_metadata_keyspaces=["b"])
    await harness.reader.read(Target(), fake_connection())
    assert list(harness.table_names()) == ["b"]
    assert set(harness.metadata.replication) == {"a", "b"}  # routing needs all keyspaces


async def test_a_table_target_reads_only_this_table() -> None:
    """A target with a table reads neither other tables nor the keyspace."""
    harness = ReaderHarness("a", "b")
    await harness.reader.read(Target(), fake_connection())
    add_table(harness.node.schema, "a", "new")
    add_table(harness.node.schema, "a", "other")
    harness.take_tables_read()
    await harness.reader.read(Target("TABLE", "a", "new"), fake_connection())
    # Only the table of the target was read, not the other new table.
    assert harness.table_names()["a"] == ["new", "t0", "t1"]
    assert "system_schema.keyspaces" not in harness.take_tables_read()
    # Only one table was read, so it is unknown which version the whole schema has.
    assert harness.metadata.schema.version is None


async def test_a_dropped_keyspace_is_removed() -> None:
    """If a keyspace is read that no longer exists, the metadata loses it and its replication
    settings.
    """
    harness = ReaderHarness("a", "b")
    await harness.reader.read(Target(), fake_connection())
    harness.node.schema = schema("b")
    await harness.reader.read(Target("KEYSPACE", "a"), fake_connection())
    assert list(harness.table_names()) == ["b"]
    assert set(harness.metadata.replication) == {"b"}


async def test_a_replication_target_reads_only_the_keyspaces_row() -> None:
    """For the target REPLICATION, only the table with the keyspaces is read. The tables of the
    keyspace, which were read before, stay in the metadata.
    """
    harness = ReaderHarness("a", "b")
    await harness.reader.read(Target(), fake_connection())
    changed_keyspace = keyspace("a", replicas=3)
    harness.node.schema["system_schema.keyspaces"] = [changed_keyspace, keyspace("b")]
    harness.take_tables_read()
    await harness.reader.read(Target("REPLICATION", "a"), fake_connection())
    assert harness.take_tables_read() == ["system_schema.keyspaces"]
    assert harness.metadata.keyspaces["a"].replication_strategy.replication_factor == 3
    assert harness.table_names()["a"] == ["t0", "t1"]


async def test_a_missing_schema_table_is_queried_only_once() -> None:
    """If a server does not have one of the schema tables, the connection remembers this, and later
    readings leave the table out.
    """
    harness = ReaderHarness("a")
    # The node is like Cassandra 3, which has neither peers_v2 nor virtual keyspaces.
    harness.node.has_peers_v2 = False
    connection = fake_connection()
    await harness.reader.read(Target(), connection)
    assert "system_virtual_schema.tables" in harness.take_tables_read()
    await harness.reader.read(Target(), connection)
    assert "system_virtual_schema.tables" not in harness.take_tables_read()
    assert harness.table_names() == {"a": ["t0", "t1"]}


async def test_a_missing_schema_table_is_queried_again_on_another_connection() -> None:
    """A schema table that was missing is queried again on another connection.

    The node may have been upgraded before the driver connected again.
    """
    harness = ReaderHarness("a")
    harness.node.has_peers_v2 = False
    await harness.reader.read(Target(), fake_connection())
    harness.take_tables_read()
    await harness.reader.read(Target(), fake_connection())
    assert "system_virtual_schema.tables" in harness.take_tables_read()


async def test_a_schema_table_without_permission_is_queried_again() -> None:
    """An optional table that the role may not read is left out; the role may get the permission
    later.
    """
    harness = ReaderHarness("a")

    async def pages_without_permission(connection: Any, query: str) -> AsyncIterator[Any]:
        async for page in harness.tables.pages(connection, query):
            if "column_masks" in query:
                raise Unauthorized("no SELECT permission")
            yield page

    reader = SchemaReader(
        engine_settings(), harness.metadata, harness.tables.rows, pages_without_permission
    )
    connection = fake_connection()
    await reader.read(Target(), connection)
    assert harness.table_names() == {"a": ["t0", "t1"]}
    harness.take_tables_read()
    await reader.read(Target(), connection)
    assert "system_schema.column_masks" in harness.take_tables_read()


async def test_an_error_for_a_required_table_is_raised() -> None:
    """Only optional tables may be missing."""
    harness = ReaderHarness("a")

    async def refused_page(*_: object) -> Any:
        # The node answers queries of a table that it lacks with an error.
        yield harness.tables._page("SELECT * FROM system.nothing_of_that_name")

    reader = SchemaReader(engine_settings(), harness.metadata, harness.tables.rows, refused_page)
    with pytest.raises(InvalidRequest):
        await reader.read(Target(), fake_connection())


async def test_endless_pages_end_with_schema_read_timeout() -> None:
    """If a page never comes, the reading ends after `schema_read_timeout`, which the error
    names.
    """
    harness = ReaderHarness("a", schema_read_timeout=0.01)

    async def pages_that_never_come(*_: object) -> Any:
        await asyncio.Event().wait()
        yield

    reader = SchemaReader(
        harness.reader._settings, harness.metadata, harness.tables.rows, pages_that_never_come
    )
    with pytest.raises(OperationTimedOut, match="schema_read_timeout"):
        await reader.read(Target(), fake_connection())


async def test_scylladbs_own_schema_tables_are_queried() -> None:
    """On a connection to ScyllaDB, the reader queries its additional schema tables, but not those
    that only Cassandra has.
    """
    harness = ReaderHarness("a")
    connection = fake_connection(features=SimpleNamespace(is_scylla=True))
    await harness.reader.read(Target("KEYSPACE", "a"), connection)
    tables = harness.take_tables_read()
    assert "system_schema.scylla_tables" in tables
    assert "system_schema.column_masks" not in tables


def add_view(harness: ReaderHarness, name: str, base_table: str = "t0", **cells: Any) -> None:
    """Add a materialized view of a table in the keyspace "a" to the node's schema.

    :param cells: other values of columns of `system_schema.views`.
    """
    tables = harness.node.schema
    add_table(tables, "a", name)
    row = next(row for row in tables["system_schema.tables"] if row["table_name"] == name)
    tables["system_schema.tables"].remove(row)
    view = {
        **row,
        "view_name": name,
        "base_table_name": base_table,
        "where_clause": "id IS NOT NULL",
    }
    del view["table_name"]
    tables["system_schema.views"] = [
        *tables.get("system_schema.views", []),
        {**view, "include_all_columns": True, **cells},
    ]


def take_where_clauses(harness: ReaderHarness) -> dict[str, str]:
    """Return the WHERE clause of the last query of each table, and forget the queries."""
    clauses: dict[str, str] = {}
    for _connection, query in harness.tables.queries:
        select, _where, clause = query.partition(" WHERE ")
        table = select.rpartition(".")[2]
        clauses[table] = clause
    harness.tables.queries.clear()
    return clauses


@pytest.mark.parametrize(
    ("target_type", "table", "column"),
    [
        ("TYPE", "types", "type_name"),
        ("FUNCTION", "functions", "function_name"),
        ("AGGREGATE", "aggregates", "aggregate_name"),
    ],
)
async def test_an_element_is_read_by_its_name(target_type: Any, table: str, column: str) -> None:
    """After an event about a type, function or aggregate, only the rows with that name are
    queried.
    """
    harness = ReaderHarness("a")
    await harness.reader.read(Target(), fake_connection())
    harness.take_tables_read()
    await harness.reader.read(Target(target_type, "a", "it's"), fake_connection())
    assert take_where_clauses(harness) == {table: f"keyspace_name = 'a' AND {column} = 'it''s'"}


async def test_a_changed_type_replaces_the_old_one() -> None:
    """Reading one type replaces or removes that type only, although other types have changed on the
    server, too.
    """
    harness = ReaderHarness("a")

    def type_row(name: str, *fields: str) -> dict[str, Any]:
        """Return the row of a type in the keyspace "a" whose fields are ints."""
        return {
            "keyspace_name": "a",
            "type_name": name,
            "field_names": list(fields),
            "field_types": ["int"] * len(fields),
        }

    def fields_by_type() -> dict[str, list[str]]:
        types = harness.metadata.keyspaces["a"].user_types
        return {name: user_type.field_names for name, user_type in types.items()}

    harness.node.schema["system_schema.types"] = [type_row("place", "x"), type_row("other", "y")]
    await harness.reader.read(Target(), fake_connection())
    assert fields_by_type() == {"other": ["y"], "place": ["x"]}
    harness.node.schema["system_schema.types"] = [type_row("place", "x", "z")]
    await harness.reader.read(Target("TYPE", "a", "place"), fake_connection())
    assert fields_by_type() == {"other": ["y"], "place": ["x", "z"]}
    await harness.reader.read(Target("TYPE", "a", "other"), fake_connection())
    assert list(harness.metadata.keyspaces["a"].user_types) == ["place"]


async def test_a_table_is_read_with_its_views() -> None:
    """ALTER TABLE may change the views of a table, so they are read together."""
    harness = ReaderHarness("a")
    add_view(harness, "v")
    await harness.reader.read(Target(), fake_connection())
    assert list(harness.metadata.keyspaces["a"].views) == ["v"]
    harness.take_tables_read()
    await harness.reader.read(Target("TABLE", "a", "t0"), fake_connection())
    clauses = take_where_clauses(harness)
    assert clauses["columns"] == "keyspace_name = 'a' AND table_name IN ('t0', 'v')"
    # An event about a view calls it a table, so the name in the target may be that of a view.
    assert clauses["views"] == "keyspace_name = 'a' AND view_name IN ('t0', 'v')"
    # A table without views is read by its name alone.
    await harness.reader.read(Target("TABLE", "a", "t1"), fake_connection())
    assert take_where_clauses(harness)["tables"] == "keyspace_name = 'a' AND table_name = 't1'"


async def test_tables_have_the_views_that_were_read_last() -> None:
    """When views are created, moved to another table or dropped, each table has exactly its current
    views.
    """
    harness = ReaderHarness("a")

    def views_by_table() -> dict[str, list[str]]:
        tables = harness.metadata.keyspaces["a"].tables
        return {name: list(table.views) for name, table in tables.items()}

    await harness.reader.read(Target(), fake_connection())
    schema_before = harness.metadata.schema
    add_view(harness, "w")
    add_view(harness, "v")
    # Events name a new view as a table.
    for name in ("w", "v"):
        await harness.reader.read(Target("TABLE", "a", name), fake_connection())
    assert views_by_table() == {"t0": ["v", "w"], "t1": []}
    assert list(harness.metadata.keyspaces["a"].views) == ["v", "w"]
    assert list(schema_before.sources["a"].views) == []  # an earlier snapshot does not change
    # The view has another base table now, and the other one is gone.
    del harness.node.schema["system_schema.views"]
    add_view(harness, "v", base_table="t1")
    for name in ("v", "w"):
        await harness.reader.read(Target("TABLE", "a", name), fake_connection())
    assert views_by_table() == {"t0": [], "t1": ["v"]}
    # Drop a table.
    remove_table(harness.node.schema, "a", "t0")
    await harness.reader.read(Target("TABLE", "a", "t0"), fake_connection())
    assert views_by_table() == {"t1": ["v"]}


async def test_an_element_of_a_keyspace_that_is_dropped_meanwhile_is_ignored() -> None:
    """If a keyspace is removed from the metadata while one of its tables is read, the table is not
    added.
    """
    harness = ReaderHarness("a", "b")
    await harness.reader.read(Target(), fake_connection())

    async def pages_while_dropping(connection: Any, query: str) -> AsyncIterator[Any]:
        async for page in harness.tables.pages(connection, query):
            harness.metadata._replace_schema(
                harness.metadata.schema.with_keyspace("a", source=None)
            )
            yield page

    reader = SchemaReader(
        engine_settings(), harness.metadata, harness.tables.rows, pages_while_dropping
    )
    await reader.read(Target("TABLE", "a", "t0"), fake_connection())
    assert list(harness.table_names()) == ["b"]


async def test_an_unknown_keyspace_is_read_as_a_whole() -> None:
    """An event about a table of a keyspace that the metadata lacks causes the whole keyspace to be
    read.
    """
    harness = ReaderHarness("a", "b")
    await harness.reader.read(Target("TABLE", "b", "t0"), fake_connection())
    assert harness.table_names() == {"b": ["t0", "t1"]}
    assert take_where_clauses(harness)["tables"] == "keyspace_name = 'b'"
    # No event names a virtual keyspace: only the application may ask for one.
    assert "system_virtual_schema.tables" not in harness.take_tables_read()
    await harness.reader.read(Target("KEYSPACE", "c", forced=True), fake_connection())
    assert "system_virtual_schema.tables" in harness.take_tables_read()


async def test_the_replication_of_other_keyspaces_is_kept_up_to_date() -> None:
    """For keyspaces that `schema_metadata_keyspaces` leaves out, only the replication is read after
    an event.
    """
    harness = ReaderHarness("a", "b", schema_metadata_keyspaces=["a"])
    await harness.reader.read(Target(), fake_connection())
    changed_keyspace = keyspace("b", replicas=3)
    harness.node.schema["system_schema.keyspaces"] = [keyspace("a"), changed_keyspace]
    harness.take_tables_read()
    await harness.reader.read(Target("KEYSPACE", "b"), fake_connection())
    assert harness.take_tables_read() == ["system_schema.keyspaces"]
    strategy: Any = harness.metadata.replication["b"]
    assert strategy.replication_factor == 3
    assert list(harness.table_names()) == ["a"]


async def test_the_fields_of_a_user_defined_type_are_queried() -> None:
    """`user_type_fields` returns the names of the fields, in their order, and raises
    UserTypeDoesNotExist if there is no such type.
    """
    harness = ReaderHarness("a")
    with pytest.raises(UserTypeDoesNotExist, match=r"a\.place"):
        await harness.reader.user_type_fields(fake_connection(), "a", "place")
    harness.node.schema["system_schema.types"] = [
        {
            "keyspace_name": "a",
            "type_name": "place",
            "field_names": ["x", "y"],
            "field_types": ["int", "int"],
        }
    ]
    assert await harness.reader.user_type_fields(fake_connection(), "a", "place") == ["x", "y"]


@pytest.mark.parametrize("turns", range(6))
async def test_a_cancelled_reading_on_a_broken_connection_reports_no_error(
    turns: int,
) -> None:
    """If a reading is cancelled while it handles a lost connection, asyncio reports no error that
    was never retrieved.

    :param turns: the turns of the loop between the error and the cancellation.
    """
    harness = ReaderHarness("a")
    is_broken = asyncio.Event()

    def raise_closed() -> Any:
        raise ConnectionShutdown("it is closed")

    async def broken_pages(*_: Any) -> AsyncIterator[Any]:
        await is_broken.wait()
        yield raise_closed()

    harness.reader._read_pages = broken_pages
    reports: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reports.append(context))
    reading = asyncio.create_task(harness.reader.read(Target(), fake_connection()))
    # Let the reading begin, and wait for its first page.
    await run_loop_turns(10)
    is_broken.set()
    # Cancel some turns of the loop after the error, so that each stage of handling it is met.
    await run_loop_turns(turns)
    reading.cancel()
    await asyncio.wait([reading])
    assert reading.cancelled() or isinstance(reading.exception(), ConnectionShutdown)
    del reading
    gc.collect()
    assert reports == []
