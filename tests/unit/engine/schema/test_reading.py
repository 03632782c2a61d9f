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
from tests.unit.engine.partners import Tables, engine_settings, fake_connection
from tests.unit.metadata.schema.rows import add_table, keyspace, remove_table, schema


class ReaderParts:
    """A `SchemaReader` with the tables that it reads and the metadata that it fills."""

    def __init__(self, *keyspaces: str, **changed: Any) -> None:
        self.node = FakeNode()
        self.node.schema = schema(*keyspaces)
        self.tables = Tables(self.node)
        self.metadata = Metadata()
        self.reader = SchemaReader(
            engine_settings(**changed), self.metadata, self.tables.rows, self.tables.pages
        )

    def take_tables_read(self) -> list[str]:
        """Return the sorted names of the tables that were queried, and forget the queries."""
        tables = sorted(query.split(" FROM ")[1].split()[0] for _, query in self.tables.queries)
        self.tables.queries.clear()
        return tables

    def names(self) -> dict[str, list[str]]:
        """Return the names of the tables in the metadata, as a dict by keyspace."""
        return {name: sorted(keyspace.tables) for name, keyspace in self.metadata.keyspaces.items()}


async def test_reads_every_schema_table() -> None:
    read = ReaderParts("a", "b")
    await read.reader.read(Target(), fake_connection())
    assert read.names() == {"a": ["t0", "t1"], "b": ["t0", "t1"]}
    assert read.metadata.schema.version == (read.node.schema_version, read.node.release_version)
    assert set(read.metadata.replication) == {"a", "b"}


async def test_without_schema_metadata_only_the_replication_is_read() -> None:
    read = ReaderParts("a", schema_metadata_enabled=False)
    await read.reader.read(Target(), fake_connection())
    assert read.names() == {}
    assert set(read.metadata.replication) == {"a"}
    assert read.take_tables_read() == ["system.local", "system_schema.keyspaces"]
    await read.reader.read(Target(forced=True), fake_connection())
    assert read.names() == {"a": ["t0", "t1"]}


async def test_only_the_keyspaces_of_schema_metadata_keyspaces_are_read() -> None:
    read = ReaderParts("a", "b", schema_metadata_keyspaces=["b"])
    await read.reader.read(Target(), fake_connection())
    assert list(read.names()) == ["b"]
    assert set(read.metadata.replication) == {"a", "b"}  # routing needs all keyspaces


async def test_a_table_target_reads_only_this_table() -> None:
    read = ReaderParts("a", "b")
    await read.reader.read(Target(), fake_connection())
    add_table(read.node.schema, "a", "new")
    add_table(read.node.schema, "a", "other")
    read.take_tables_read()
    await read.reader.read(Target("TABLE", "a", "new"), fake_connection())
    # Only the table of the target was read, not the other new table.
    assert read.names()["a"] == ["new", "t0", "t1"]
    assert "system_schema.keyspaces" not in read.take_tables_read()
    # Only one table was read, so it is unknown which version the whole schema has.
    assert read.metadata.schema.version is None


async def test_a_dropped_keyspace_is_removed() -> None:
    read = ReaderParts("a", "b")
    await read.reader.read(Target(), fake_connection())
    read.node.schema = schema("b")
    await read.reader.read(Target("KEYSPACE", "a"), fake_connection())
    assert list(read.names()) == ["b"]
    assert set(read.metadata.replication) == {"b"}


async def test_a_replication_target_reads_only_the_keyspaces_row() -> None:
    """For the target REPLICATION, only the table with the keyspaces is read. The tables of the
    keyspace, which were read before, stay in the metadata.
    """
    read = ReaderParts("a", "b")
    await read.reader.read(Target(), fake_connection())
    read.node.schema["system_schema.keyspaces"] = [keyspace("a", 3), keyspace("b")]
    read.take_tables_read()
    await read.reader.read(Target("REPLICATION", "a"), fake_connection())
    assert read.take_tables_read() == ["system_schema.keyspaces"]
    assert read.metadata.keyspaces["a"].replication_strategy.replication_factor == 3
    assert read.names()["a"] == ["t0", "t1"]


async def test_a_missing_schema_table_is_queried_only_once() -> None:
    read = ReaderParts("a")
    # The node is like Cassandra 3, which has neither peers_v2 nor virtual keyspaces.
    read.node.has_peers_v2 = False
    contact = fake_connection()
    await read.reader.read(Target(), contact)
    tables_read_first = read.take_tables_read()
    await read.reader.read(Target(), contact)
    assert set(tables_read_first) - set(read.take_tables_read()) >= {"system_virtual_schema.tables"}
    assert read.names() == {"a": ["t0", "t1"]}


async def test_a_missing_schema_table_is_queried_again_on_another_connection() -> None:
    """A schema table that was missing is queried again on another connection.

    The node may have been upgraded before the driver connected again.
    """
    read = ReaderParts("a")
    read.node.has_peers_v2 = False
    await read.reader.read(Target(), fake_connection())
    read.take_tables_read()
    await read.reader.read(Target(), fake_connection())
    assert "system_virtual_schema.tables" in read.take_tables_read()


async def test_a_schema_table_without_permission_is_queried_again() -> None:
    read = ReaderParts("a")

    async def pages(contact: Any, query: str) -> AsyncIterator[Any]:
        async for page in read.tables.pages(contact, query):
            if "column_masks" in query:
                raise Unauthorized("no SELECT permission")
            yield page

    reader = SchemaReader(engine_settings(), read.metadata, read.tables.rows, pages)
    contact = fake_connection()
    await reader.read(Target(), contact)
    assert read.names() == {"a": ["t0", "t1"]}
    read.take_tables_read()
    await reader.read(Target(), contact)
    assert "system_schema.column_masks" in read.take_tables_read()


async def test_an_error_for_a_required_table_is_raised() -> None:
    read = ReaderParts("a")

    async def refused_page(*_: object) -> Any:
        # The node answers queries of a table that it lacks with an error.
        yield read.tables._page("SELECT * FROM system.nothing_of_that_name")

    reader = SchemaReader(engine_settings(), read.metadata, read.tables.rows, refused_page)
    with pytest.raises(InvalidRequest):
        await reader.read(Target(), fake_connection())


async def test_endless_pages_end_with_schema_read_timeout() -> None:
    read = ReaderParts("a", schema_read_timeout=0.01)

    async def endless(*_: object) -> Any:
        await asyncio.Event().wait()
        yield

    reader = SchemaReader(read.reader._settings, read.metadata, read.tables.rows, endless)
    with pytest.raises(OperationTimedOut, match="schema_read_timeout"):
        await reader.read(Target(), fake_connection())


async def test_scylladbs_own_schema_tables_are_queried() -> None:
    read = ReaderParts("a")
    contact = fake_connection(features=SimpleNamespace(is_scylla=True))
    await read.reader.read(Target("KEYSPACE", "a"), contact)
    tables = read.take_tables_read()
    assert "system_schema.scylla_tables" in tables
    assert "system_schema.column_masks" not in tables


def add_view(read: ReaderParts, name: str, base: str = "t0", **cells: Any) -> None:
    """Add a materialized view of a table in the keyspace "a"."""
    tables = read.node.schema
    add_table(tables, "a", name)
    row = next(row for row in tables["system_schema.tables"] if row["table_name"] == name)
    tables["system_schema.tables"].remove(row)
    view = {**row, "view_name": name, "base_table_name": base, "where_clause": "id IS NOT NULL"}
    del view["table_name"]
    tables["system_schema.views"] = [
        *tables.get("system_schema.views", []),
        {**view, "include_all_columns": True, **cells},
    ]


def conditions(read: ReaderParts) -> dict[str, str]:
    """Return the WHERE clauses of the queries by table, and forget the queries."""
    queries = [query.partition(" WHERE ")[::2] for _, query in read.tables.queries]
    read.tables.queries.clear()
    return {query.rpartition(" ")[2].rpartition(".")[2]: clause for query, clause in queries}


@pytest.mark.parametrize(
    ("kind", "tables", "column"),
    [
        ("TYPE", ["types"], "type_name"),
        ("FUNCTION", ["functions"], "function_name"),
        ("AGGREGATE", ["aggregates"], "aggregate_name"),
    ],
)
async def test_an_element_is_read_by_its_name(kind: Any, tables: list[str], column: str) -> None:
    read = ReaderParts("a")
    await read.reader.read(Target(), fake_connection())
    read.take_tables_read()
    await read.reader.read(Target(kind, "a", "it's"), fake_connection())
    condition = f"keyspace_name = 'a' AND {column} = 'it''s'"
    assert conditions(read) == dict.fromkeys(tables, condition)


async def test_a_changed_type_replaces_the_old_one() -> None:
    read = ReaderParts("a")

    def type_of(name: str, *fields: str) -> dict[str, Any]:
        names = {"keyspace_name": "a", "type_name": name, "field_names": [*fields]}
        return {**names, "field_types": ["int"] * len(fields)}

    read.node.schema["system_schema.types"] = [type_of("place", "x"), type_of("other", "y")]
    await read.reader.read(Target(), fake_connection())
    types = read.metadata.keyspaces["a"].user_types
    assert {name: user_type.field_names for name, user_type in types.items()} == {
        "other": ["y"],
        "place": ["x"],
    }
    read.node.schema["system_schema.types"] = [type_of("place", "x", "z")]
    await read.reader.read(Target("TYPE", "a", "place"), fake_connection())
    types = read.metadata.keyspaces["a"].user_types
    assert {name: user_type.field_names for name, user_type in types.items()} == {
        "other": ["y"],
        "place": ["x", "z"],
    }
    await read.reader.read(Target("TYPE", "a", "other"), fake_connection())
    assert list(read.metadata.keyspaces["a"].user_types) == ["place"]


async def test_a_table_is_read_with_its_views() -> None:
    read = ReaderParts("a")
    add_view(read, "v")
    await read.reader.read(Target(), fake_connection())
    assert list(read.metadata.keyspaces["a"].views) == ["v"]
    read.take_tables_read()
    await read.reader.read(Target("TABLE", "a", "t0"), fake_connection())
    read_with_views = conditions(read)
    assert read_with_views["columns"] == "keyspace_name = 'a' AND table_name IN ('t0', 'v')"
    assert read_with_views["views"] == "keyspace_name = 'a' AND view_name IN ('t0', 'v')"
    # A table without views is read by its name alone.
    await read.reader.read(Target("TABLE", "a", "t1"), fake_connection())
    assert conditions(read)["tables"] == "keyspace_name = 'a' AND table_name = 't1'"


async def test_tables_have_the_views_that_were_read_last() -> None:
    read = ReaderParts("a")

    def views() -> dict[str, list[str]]:
        tables = read.metadata.keyspaces["a"].tables
        return {name: list(table.views) for name, table in tables.items()}

    await read.reader.read(Target(), fake_connection())
    before = read.metadata.schema
    add_view(read, "w")
    add_view(read, "v")
    # Events name a new view as a table.
    for name in ("w", "v"):
        await read.reader.read(Target("TABLE", "a", name), fake_connection())
    assert views() == {"t0": ["v", "w"], "t1": []}
    assert list(read.metadata.keyspaces["a"].views) == ["v", "w"]
    assert list(before.sources["a"].views) == []  # an earlier snapshot does not change
    # The view has another base table now, and the other one is gone.
    del read.node.schema["system_schema.views"]
    add_view(read, "v", base="t1")
    for name in ("v", "w"):
        await read.reader.read(Target("TABLE", "a", name), fake_connection())
    assert views() == {"t0": [], "t1": ["v"]}
    # A dropped table.
    remove_table(read.node.schema, "a", "t0")
    await read.reader.read(Target("TABLE", "a", "t0"), fake_connection())
    assert views() == {"t1": ["v"]}


async def test_an_element_of_a_keyspace_that_is_dropped_meanwhile_is_ignored() -> None:
    read = ReaderParts("a", "b")
    await read.reader.read(Target(), fake_connection())

    async def pages(contact: Any, query: str) -> AsyncIterator[Any]:
        async for page in read.tables.pages(contact, query):
            read.metadata._replace_schema(read.metadata.schema.with_keyspace("a", source=None))
            yield page

    reader = SchemaReader(engine_settings(), read.metadata, read.tables.rows, pages)
    await reader.read(Target("TABLE", "a", "t0"), fake_connection())
    assert list(read.names()) == ["b"]


async def test_an_unknown_keyspace_is_read_as_a_whole() -> None:
    read = ReaderParts("a", "b")
    await read.reader.read(Target("TABLE", "b", "t0"), fake_connection())
    assert read.names() == {"b": ["t0", "t1"]}
    assert conditions(read)["tables"] == "keyspace_name = 'b'"
    # No event names a virtual keyspace: only the application may ask for one.
    assert "system_virtual_schema.tables" not in read.take_tables_read()
    await read.reader.read(Target("KEYSPACE", "c", forced=True), fake_connection())
    assert "system_virtual_schema.tables" in read.take_tables_read()


async def test_keyspaces_that_are_not_wanted_keep_their_replication_up_to_date() -> None:
    read = ReaderParts("a", "b", schema_metadata_keyspaces=["a"])
    await read.reader.read(Target(), fake_connection())
    read.node.schema["system_schema.keyspaces"] = [keyspace("a"), keyspace("b", 3)]
    read.take_tables_read()
    await read.reader.read(Target("KEYSPACE", "b"), fake_connection())
    assert read.take_tables_read() == ["system_schema.keyspaces"]
    strategy: Any = read.metadata.replication["b"]
    assert strategy.replication_factor == 3
    assert list(read.names()) == ["a"]


async def test_the_fields_of_a_user_defined_type() -> None:
    read = ReaderParts("a")
    with pytest.raises(UserTypeDoesNotExist, match=r"a\.place"):
        await read.reader.user_type_fields(fake_connection(), "a", "place")
    read.node.schema["system_schema.types"] = [
        {
            "keyspace_name": "a",
            "type_name": "place",
            "field_names": ["x", "y"],
            "field_types": ["int", "int"],
        }
    ]
    assert await read.reader.user_type_fields(fake_connection(), "a", "place") == ["x", "y"]


@pytest.mark.parametrize("turns", range(6))
async def test_a_cancelled_reading_on_a_broken_connection_reports_no_error(
    turns: int,
) -> None:
    read = ReaderParts("a")
    broken = asyncio.Event()

    def raise_closed() -> list[Any]:
        raise ConnectionShutdown("it is closed")

    async def pages(*_: Any) -> AsyncIterator[Any]:
        await broken.wait()
        for page in raise_closed():
            yield page

    read.reader._read_pages = pages
    reports: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reports.append(context))
    reading = asyncio.create_task(read.reader.read(Target(), fake_connection()))
    # Let the reading begin, and wait for its first page.
    for _ in range(10):
        await asyncio.sleep(0)
    broken.set()
    # Cancel some turns of the loop after the error, so that each stage of handling it is met.
    for _ in range(turns):
        await asyncio.sleep(0)
    reading.cancel()
    await asyncio.wait([reading])
    assert reading.cancelled() or isinstance(reading.exception(), ConnectionShutdown)
    del reading
    gc.collect()
    assert reports == []
