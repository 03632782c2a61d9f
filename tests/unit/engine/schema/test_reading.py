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
from tests.unit.metadata.schema.rows import add_table, keyspace, schema


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
