"""`SchemaReader`: which schema tables it queries. The fake node is not started."""

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
    """A `SchemaReader` with the tables that it reads, and the metadata that it fills.

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
    """`Target()` is the whole schema: all tables and the replication settings of all keyspaces."""
    harness = ReaderHarness("a", "b")
    await harness.reader.read(Target(), fake_connection())
    assert harness.table_names() == {"a": ["t0", "t1"], "b": ["t0", "t1"]}
    # A later reading is compared with this version.
    assert harness.metadata.schema.version == (
        harness.node.schema_version,
        harness.node.release_version,
    )
    assert set(harness.metadata.replication) == {"a", "b"}


async def test_without_schema_metadata_only_the_replication_is_read() -> None:
    """With `schema_metadata_enabled=False`, only the replication settings of keyspaces are read.

    A forced reading, which the application requests, still reads everything.
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
    # Routing needs the replication of all keyspaces.
    assert set(harness.metadata.replication) == {"a", "b"}


async def test_a_table_target_reads_only_this_table() -> None:
    """A target with a table reads this table, but neither other tables nor the keyspace."""
    harness = ReaderHarness("a", "b")
    await harness.reader.read(Target(), fake_connection())
    add_table(harness.node.schema, "a", "new")
    add_table(harness.node.schema, "a", "other")
    harness.take_tables_read()
    await harness.reader.read(Target("TABLE", "a", "new"), fake_connection())
    # Only the target's table was read, not the other new table.
    assert harness.table_names()["a"] == ["new", "t0", "t1"]
    assert "system_schema.keyspaces" not in harness.take_tables_read()
    # Only one table was read, so the version of the whole schema is unknown.
    assert harness.metadata.schema.version is None


async def test_a_dropped_keyspace_is_removed() -> None:
    """If a keyspace no longer exists when it is read, its metadata and replication are removed."""
    harness = ReaderHarness("a", "b")
    await harness.reader.read(Target(), fake_connection())
    harness.node.schema = schema("b")
    await harness.reader.read(Target("KEYSPACE", "a"), fake_connection())
    assert list(harness.table_names()) == ["b"]
    assert set(harness.metadata.replication) == {"b"}


async def test_a_replication_target_reads_only_the_keyspaces_row() -> None:
    """For a REPLICATION target, only the keyspace's row is read.

    The tables of the keyspace, which were read before, stay in the metadata.
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
    """If a server lacks a schema table, later readings do not query this table.

    This holds for readings on the same connection.
    """
    harness = ReaderHarness("a")
    # The node imitates Cassandra 3, which has neither peers_v2 nor virtual keyspaces.
    harness.node.has_peers_v2 = False
    connection = fake_connection()
    await harness.reader.read(Target(), connection)
    assert "system_virtual_schema.tables" in harness.take_tables_read()
    await harness.reader.read(Target(), connection)
    assert "system_virtual_schema.tables" not in harness.take_tables_read()
    assert harness.table_names() == {"a": ["t0", "t1"]}


async def test_a_missing_schema_table_is_queried_again_on_another_connection() -> None:
    """A schema table that was missing is queried again on a new connection.

    The node may have been upgraded before the driver connected again.
    """
    harness = ReaderHarness("a")
    harness.node.has_peers_v2 = False
    await harness.reader.read(Target(), fake_connection())
    harness.take_tables_read()
    await harness.reader.read(Target(), fake_connection())
    assert "system_virtual_schema.tables" in harness.take_tables_read()


async def test_a_schema_table_without_permission_is_queried_again() -> None:
    """If the role may not read an optional table, the table is left out, but queried again later.

    The role may get the permission in between.
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
    # The first reading succeeds without the refused table, and the second reading queries it again.
    await reader.read(Target(), connection)
    assert harness.table_names() == {"a": ["t0", "t1"]}
    harness.take_tables_read()
    await reader.read(Target(), connection)
    assert "system_schema.column_masks" in harness.take_tables_read()


async def test_an_error_for_a_required_table_is_raised() -> None:
    """An error for a required table is raised, because only optional tables may be missing."""
    harness = ReaderHarness("a")

    async def refused_page(*_: object) -> Any:
        # The node returns an error for a query of a table that the node does not have.
        yield harness.tables._page("SELECT * FROM system.nothing_of_that_name")

    reader = SchemaReader(engine_settings(), harness.metadata, harness.tables.rows, refused_page)
    with pytest.raises(InvalidRequest):
        await reader.read(Target(), fake_connection())


async def test_endless_pages_end_with_schema_read_timeout() -> None:
    """If a page never comes, the reading fails after `schema_read_timeout`.

    The error names the setting.
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
    """From ScyllaDB, the reader queries ScyllaDB's additional schema tables.

    It does not query tables that only Cassandra has.
    """
    harness = ReaderHarness("a")
    connection = fake_connection(features=SimpleNamespace(is_scylla=True))
    await harness.reader.read(Target("KEYSPACE", "a"), connection)
    tables = harness.take_tables_read()
    assert "system_schema.scylla_tables" in tables
    assert "system_schema.column_masks" not in tables


def add_view(harness: ReaderHarness, name: str, base_table: str = "t0", **cells: Any) -> None:
    """Add a materialized view of a table in the keyspace "a" to the node's schema.

    :param name: the name of the view.
    :param base_table: the name of the table.
    :param cells: values that replace columns of the row in `system_schema.views`.
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
    """Return the WHERE clause of the last query of each table, and forget all queries."""
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
    """For a type, function or aggregate, the reader queries only the rows with its name."""
    harness = ReaderHarness("a")
    await harness.reader.read(Target(), fake_connection())
    harness.take_tables_read()
    await harness.reader.read(Target(target_type, "a", "it's"), fake_connection())
    assert take_where_clauses(harness) == {table: f"keyspace_name = 'a' AND {column} = 'it''s'"}


async def test_a_changed_type_replaces_the_old_one() -> None:
    """Reading one type replaces or removes only this type, even if other types have changed."""
    harness = ReaderHarness("a")

    def type_row(name: str, *fields: str) -> dict[str, Any]:
        """Return the row of a type in the keyspace "a", all of whose fields are ints."""
        return {
            "keyspace_name": "a",
            "type_name": name,
            "field_names": list(fields),
            "field_types": ["int"] * len(fields),
        }

    def fields_by_type() -> dict[str, list[str]]:
        types = harness.metadata.keyspaces["a"].user_types
        return {name: user_type.field_names for name, user_type in types.items()}

    # Read two types. Then change the first type on the node, and remove the second type.
    harness.node.schema["system_schema.types"] = [type_row("place", "x"), type_row("other", "y")]
    await harness.reader.read(Target(), fake_connection())
    assert fields_by_type() == {"other": ["y"], "place": ["x"]}
    harness.node.schema["system_schema.types"] = [type_row("place", "x", "z")]
    # Read only the first type: the second type is kept, although the node has removed it.
    await harness.reader.read(Target("TYPE", "a", "place"), fake_connection())
    assert fields_by_type() == {"other": ["y"], "place": ["x", "z"]}
    # Read the second type, which is now removed.
    await harness.reader.read(Target("TYPE", "a", "other"), fake_connection())
    assert list(harness.metadata.keyspaces["a"].user_types) == ["place"]


async def test_a_table_is_read_with_its_views() -> None:
    """A table is read together with its views, because ALTER TABLE may change them."""
    harness = ReaderHarness("a")
    add_view(harness, "v")
    await harness.reader.read(Target(), fake_connection())
    assert list(harness.metadata.keyspaces["a"].views) == ["v"]
    harness.take_tables_read()
    await harness.reader.read(Target("TABLE", "a", "t0"), fake_connection())
    clauses = take_where_clauses(harness)
    assert clauses["columns"] == "keyspace_name = 'a' AND table_name IN ('t0', 'v')"
    # Events name a view as a table, so the target's name may also be the name of a view.
    assert clauses["views"] == "keyspace_name = 'a' AND view_name IN ('t0', 'v')"
    # A table without views is queried by its name alone.
    await harness.reader.read(Target("TABLE", "a", "t1"), fake_connection())
    assert take_where_clauses(harness)["tables"] == "keyspace_name = 'a' AND table_name = 't1'"


async def test_tables_have_the_views_that_were_read_last() -> None:
    """When views are created, moved or dropped, each table lists exactly its current views."""
    harness = ReaderHarness("a")

    def views_by_table() -> dict[str, list[str]]:
        tables = harness.metadata.keyspaces["a"].tables
        return {name: list(table.views) for name, table in tables.items()}

    await harness.reader.read(Target(), fake_connection())
    schema_before = harness.metadata.schema
    add_view(harness, "w")
    add_view(harness, "v")
    # Events name new views as tables.
    for name in ("w", "v"):
        await harness.reader.read(Target("TABLE", "a", name), fake_connection())
    assert views_by_table() == {"t0": ["v", "w"], "t1": []}
    assert list(harness.metadata.keyspaces["a"].views) == ["v", "w"]
    # An earlier snapshot of the schema does not change.
    assert list(schema_before.sources["a"].views) == []
    # The view `v` is now a view of another table, and the view `w` was dropped.
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
    """If a keyspace is dropped while one of its tables is read, the table is not added."""
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
    """If the metadata lacks the keyspace of a target's table, the whole keyspace is read."""
    harness = ReaderHarness("a", "b")
    await harness.reader.read(Target("TABLE", "b", "t0"), fake_connection())
    assert harness.table_names() == {"b": ["t0", "t1"]}
    assert take_where_clauses(harness)["tables"] == "keyspace_name = 'b'"
    # Events never name a virtual keyspace, so only a forced reading, which the application
    # requests, queries virtual keyspaces.
    assert "system_virtual_schema.tables" not in harness.take_tables_read()
    await harness.reader.read(Target("KEYSPACE", "c", forced=True), fake_connection())
    assert "system_virtual_schema.tables" in harness.take_tables_read()


async def test_the_replication_of_other_keyspaces_is_kept_up_to_date() -> None:
    """Keyspaces that `schema_metadata_keyspaces` leaves out have a current replication.

    The driver keeps nothing else of these keyspaces up to date.
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
    """`user_type_fields` returns the names of a type's fields in their order.

    If there is no such type, it raises UserTypeDoesNotExist.
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
    """If a reading is cancelled while its connection breaks, asyncio reports no exception.

    Otherwise, asyncio would report an exception that was never retrieved.

    :param turns: how many iterations of the loop pass between the error and the cancellation.
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
    # Let the reading start, and wait for its first page.
    await run_loop_turns(10)
    is_broken.set()
    # Cancel the reading some iterations after the error, so that the tests meet each stage of the
    # error's handling.
    await run_loop_turns(turns)
    reading.cancel()
    await asyncio.wait([reading])
    assert reading.cancelled() or isinstance(reading.exception(), ConnectionShutdown)
    del reading
    gc.collect()
    assert reports == []
