"""Tests with fake nodes of the times at which the driver refreshes its schema metadata.

The driver refreshes after DDL statements, events and calls, and when the control connection moves.
"""

from __future__ import annotations

import asyncio
import re
from functools import partial

import pytest

from cassandra import InvalidRequest, OperationTimedOut, aio
from cassandra.cluster import Cluster
from cassandra.engine.schema.targets import MANY_KEYSPACES
from cassandra.errors import ConnectionException, DriverException
from cassandra.testing.fake import ErrorCode, FakeCluster, FakeNode, error, schema_change, silence
from tests.unit.engine.faults import WAIT, connected, schema_queries
from tests.unit.metadata.schema.rows import add_table, column, remove_table, schema
from tests.waiting import until_on_loop

pytestmark = pytest.mark.simulated


def has_table(cluster: aio.Cluster, keyspace_name: str, table: str) -> bool:
    return table in cluster.metadata.keyspaces[keyspace_name].tables


async def test_after_a_ddl_statement_the_metadata_is_up_to_date() -> None:
    """When a DDL statement returns, the driver has read the changed table, and no other table."""
    with FakeNode() as node:
        node.schema = schema("a")
        async with connected(node) as (cluster, session):
            keyspace_before = cluster.metadata.keyspaces["a"]
            table_before = keyspace_before.tables["t0"]
            add_table(node.schema, "a", "new")
            node.prime(re.compile("CREATE"), schema_change("CREATED", "TABLE", "a", "new"))
            await session.execute("CREATE TABLE a.new (id int PRIMARY KEY)")
            keyspace_after = cluster.metadata.keyspaces["a"]
            assert list(keyspace_after.tables) == ["new", "t0", "t1"]
            # Keyspaces and tables that have not changed are still the same objects.
            assert keyspace_after is keyspace_before
            assert keyspace_after.tables["t0"] is table_before
            remove_table(node.schema, "a", "t1")
            node.prime(re.compile("DROP"), schema_change("DROPPED", "TABLE", "a", "t1"))
            await session.execute("DROP TABLE a.t1")
            assert list(cluster.metadata.keyspaces["a"].tables) == ["new", "t0"]
            assert schema_queries(node, "tables")[1:] == [
                "SELECT * FROM system_schema.tables WHERE keyspace_name = 'a' AND table_name = "
                f"'{name}'"
                for name in ("new", "t1")
            ]


def test_the_blocking_api_refreshes_the_schema_after_ddl() -> None:
    """In the blocking API, the metadata has a new keyspace as soon as its DDL statement returns.

    After `refresh_table_metadata`, it also has a new table. A cluster that is shut down refuses
    such calls.
    """
    with FakeNode() as node:
        node.schema = schema("a")
        with Cluster([node.address], port=node.port) as cluster, cluster.connect() as session:
            node.schema = schema("a", "b")
            node.prime(re.compile("CREATE"), schema_change("CREATED", "KEYSPACE", "b"))
            session.execute("CREATE KEYSPACE b")
            assert list(cluster.metadata.keyspaces) == ["a", "b"]
            add_table(node.schema, "b", "more")
            cluster.refresh_table_metadata("b", "more")
            assert "more" in cluster.metadata.keyspaces["b"].tables
        with pytest.raises(ConnectionException):
            cluster.refresh_schema_metadata()


async def test_a_failed_reading_does_not_fail_the_statement() -> None:
    """If the schema cannot be read after a DDL statement, the statement still succeeds.

    The server has executed the statement.
    """
    with FakeNode() as node:
        node.schema = schema("a")
        async with connected(node) as (cluster, session):
            node.prime(re.compile("CREATE"), schema_change("CREATED", "TABLE", "a", "new"))
            node.prime(re.compile("system_schema.tables"), error(ErrorCode.SERVER_ERROR))
            await session.execute("CREATE TABLE a.new (id int PRIMARY KEY)")
            assert list(cluster.metadata.keyspaces["a"].tables) == ["t0", "t1"]


async def test_failed_readings_are_retried(monkeypatch: pytest.MonkeyPatch) -> None:
    """If reading the schema after an event or a DDL statement fails, the driver tries again.

    The delays between its attempts grow.
    """
    monkeypatch.setattr("cassandra.engine.schema.refreshing.FIRST_DELAY", 0.01)
    with FakeNode() as node:
        node.schema = schema("a", "b")
        async with connected(node, schema_event_refresh_window=0) as (cluster, session):
            # Reading the schema fails once for the first keyspace, and three times for the second
            # keyspace.
            for failure_count, keyspace_name in ((1, "a"), (3, "b")):
                add_table(node.schema, keyspace_name, "new")
                node.prime(
                    re.compile("system_schema.tables"),
                    error(ErrorCode.SERVER_ERROR),
                    times=failure_count,
                )
                node.send_event("SCHEMA_CHANGE", "CREATED", "TABLE", keyspace_name, "new")
                await until_on_loop(partial(has_table, cluster, keyspace_name, "new"))
            # If the reading after a DDL statement of this session fails, it is repeated without any
            # event.
            add_table(node.schema, "a", "newer")
            node.prime(re.compile("system_schema.tables"), error(ErrorCode.SERVER_ERROR), times=1)
            node.prime("CREATE TABLE a.newer", schema_change("CREATED", "TABLE", "a", "newer"))
            await session.execute("CREATE TABLE a.newer")
            await until_on_loop(lambda: "newer" in cluster.metadata.keyspaces["a"].tables)


async def test_an_event_does_not_wait_for_the_retry_of_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """While a failed reading waits for its retry, other events are handled at once.

    Here, the event is about another keyspace, and the retry is due in an hour.
    """
    monkeypatch.setattr("cassandra.engine.schema.refreshing.FIRST_DELAY", 3600.0)
    with FakeNode() as node:
        node.schema = schema("a", "b")
        async with connected(node, schema_event_refresh_window=0) as (cluster, _):
            node.prime(re.compile("system_schema.tables"), error(ErrorCode.SERVER_ERROR), times=1)
            node.send_event("SCHEMA_CHANGE", "UPDATED", "TABLE", "a", "t0")
            schema_refresher = cluster._core.schema  # type: ignore[union-attr]
            await until_on_loop(lambda: schema_refresher._failures == 1)
            add_table(node.schema, "b", "new")
            node.send_event("SCHEMA_CHANGE", "CREATED", "TABLE", "b", "new")
            await until_on_loop(lambda: "new" in cluster.metadata.keyspaces["b"].tables)


async def test_an_exception_of_the_reader_does_not_fail_the_statement(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """If reading the schema raises an unexpected error, the DDL statement still succeeds.

    The metadata stays as it is.
    """
    with FakeNode() as node:
        node.schema = schema("a")
        async with connected(node) as (cluster, session):
            node.prime(re.compile("CREATE"), schema_change("CREATED", "TABLE", "a", "new"))

            def raise_mistake(*args: object) -> None:
                raise ZeroDivisionError("mistake in the driver")

            monkeypatch.setattr("cassandra.engine.schema.reading._with_tables", raise_mistake)
            await asyncio.wait_for(session.execute("CREATE TABLE a.new (id int PRIMARY KEY)"), WAIT)
            assert list(cluster.metadata.keyspaces["a"].tables) == ["t0", "t1"]
            # Without a version, the schema metadata counts as outdated.
            assert cluster.metadata.schema.version is None


async def test_many_events_in_one_window_cause_one_reading() -> None:
    """Schema events that arrive within `schema_event_refresh_window` seconds cause one reading."""
    with FakeNode() as node:
        node.schema = schema("a")
        async with connected(node, schema_event_refresh_window=0.05) as (cluster, _):
            add_table(node.schema, "a", "new")
            for _ in range(20):
                node.send_event("SCHEMA_CHANGE", "CREATED", "TABLE", "a", "new")
            await until_on_loop(lambda: "new" in cluster.metadata.keyspaces["a"].tables)
            # The first query was made by `connect`, so the 20 events have caused one query.
            assert len(schema_queries(node, "tables")) == 2


async def test_a_keyspace_that_is_dropped_and_created_again_is_read_again() -> None:
    """If a keyspace is dropped and created again within one window, its new state is read.

    If the keyspace is only dropped, it is removed from the metadata.
    """
    with FakeNode() as node:
        node.schema = schema("a", tables=3)
        async with connected(node, schema_event_refresh_window=0.01) as (cluster, _):
            node.schema = schema("a", tables=1)
            node.send_event("SCHEMA_CHANGE", "DROPPED", "KEYSPACE", "a")
            node.send_event("SCHEMA_CHANGE", "CREATED", "KEYSPACE", "a")
            await until_on_loop(lambda: list(cluster.metadata.keyspaces["a"].tables) == ["t0"])
            node.schema = schema()
            node.send_event("SCHEMA_CHANGE", "DROPPED", "KEYSPACE", "a")
            await until_on_loop(lambda: "a" not in cluster.metadata.keyspaces)
            assert cluster.metadata.replication_of("a") is None


async def test_types_functions_and_aggregates_are_read_after_events() -> None:
    """Types, functions and aggregates are read after their events, and by their refresh methods.

    Each kind also has its own refresh method. Functions with the same name and other argument types
    are different functions.
    """
    function = {
        "keyspace_name": "a", "function_name": "f", "argument_types": ["int"],
        "argument_names": ["x"], "body": "return x;",
        "called_on_null_input": True, "language": "java", "return_type": "int",
    }  # fmt: skip
    aggregate = {
        "keyspace_name": "a", "aggregate_name": "g", "argument_types": ["int"], "state_func": "f",
        "state_type": "int",
        "return_type": "int",
    }  # fmt: skip
    with FakeNode() as node:
        node.schema = schema("a")
        async with connected(node, schema_event_refresh_window=0) as (cluster, _):
            node.schema["system_schema.types"] = [
                {
                    "keyspace_name": "a",
                    "type_name": "u",
                    "field_names": ["x"],
                    "field_types": ["int"],
                }
            ]
            node.send_event("SCHEMA_CHANGE", "CREATED", "TYPE", "a", "u")
            await until_on_loop(lambda: "u" in cluster.metadata.keyspaces["a"].user_types)
            function_of_text = {**function, "argument_types": ["text"], "return_type": "text"}
            node.schema["system_schema.functions"] = [function, function_of_text]
            node.send_event("SCHEMA_CHANGE", "CREATED", "FUNCTION", "a", "f", ["int"])
            await until_on_loop(
                lambda: sorted(cluster.metadata.keyspaces["a"].functions) == ["f(int)", "f(text)"],
            )
            node.schema["system_schema.aggregates"] = [aggregate]
            node.send_event("SCHEMA_CHANGE", "CREATED", "AGGREGATE", "a", "g", ["int"])
            await until_on_loop(
                lambda: list(cluster.metadata.keyspaces["a"].aggregates) == ["g(int)"]
            )
            node.schema["system_schema.functions"] = [function_of_text]
            await cluster.refresh_user_function_metadata(
                "a", cluster.metadata.keyspaces["a"].functions["f(int)"]
            )
            await cluster.refresh_user_aggregate_metadata("a", "g")
            await cluster.refresh_user_type_metadata("a", "u")
            assert list(cluster.metadata.keyspaces["a"].functions) == ["f(text)"]
            exported = cluster.metadata.keyspaces["a"].export_as_string()
            # The exported CQL creates each object after the objects that it needs.
            statements = ["CREATE TYPE", "CREATE FUNCTION", "CREATE AGGREGATE", "CREATE TABLE"]
            positions = [exported.index(statement) for statement in statements]
            assert positions == sorted(positions)


async def test_views_belong_to_their_tables() -> None:
    """A materialized view is in the views of its keyspace and of its table.

    It is not among the tables. Events name a view as a table.
    """
    view = {
        "keyspace_name": "a", "view_name": "v", "base_table_name": "t0",
        "include_all_columns": True, "where_clause": "id IS NOT NULL",
        "comment": "a view",
    }  # fmt: skip
    with FakeNode() as node:
        node.schema = schema("a")
        async with connected(node, schema_event_refresh_window=0) as (cluster, _):
            # Create a view. The event calls the view a table.
            node.schema["system_schema.views"] = [view]
            node.schema["system_schema.columns"] = [
                *node.schema["system_schema.columns"],
                column("a", "v", "id", "partition_key", 0),
            ]
            node.send_event("SCHEMA_CHANGE", "CREATED", "TABLE", "a", "v")
            await until_on_loop(lambda: "v" in cluster.metadata.keyspaces["a"].views)
            keyspace = cluster.metadata.keyspaces["a"]
            assert keyspace.tables["t0"].views["v"] is keyspace.views["v"]
            assert "v" not in keyspace.tables
            assert "CREATE MATERIALIZED VIEW a.v AS" in keyspace.tables["t0"].export_as_string()
            # A refresh of the table keeps the table's view.
            await cluster.refresh_table_metadata("a", "t0")
            assert list(cluster.metadata.keyspaces["a"].tables["t0"].views) == ["v"]
            # Remove the view. The table keeps its own columns.
            node.schema["system_schema.views"] = []
            await cluster.refresh_materialized_view_metadata("a", "v")
            keyspace = cluster.metadata.keyspaces["a"]
            assert not keyspace.views
            assert not keyspace.tables["t0"].views
            assert list(keyspace.tables["t0"].columns) == ["id", "c0"]


async def test_views_are_read_again_with_their_table() -> None:
    """After a change of a table, its views are read again, too.

    ALTER TABLE may add columns to views, and DROP TABLE removes views.
    """
    view = {
        "keyspace_name": "a",
        "base_table_name": "t0",
        "include_all_columns": True,
        "where_clause": "id IS NOT NULL",
    }
    with FakeNode() as node:
        node.schema = schema("a")
        node.schema["system_schema.views"] = [{**view, "view_name": name} for name in ("v", "it's")]
        for name in ("v", "it's"):
            node.schema["system_schema.columns"].append(column("a", name, "id", "partition_key", 0))
        async with connected(node) as (cluster, session):
            # Add a column to the table and to one view, and remove the other view.
            for name in ("t0", "v"):
                node.schema["system_schema.columns"].append(column("a", name, "added"))
            node.schema["system_schema.views"].pop()
            node.prime(re.compile("ALTER"), schema_change("UPDATED", "TABLE", "a", "t0"))
            await session.execute("ALTER TABLE a.t0 ADD added int")
            keyspace = cluster.metadata.keyspaces["a"]
            assert list(keyspace.tables["t0"].columns) == ["id", "c0", "added"]
            assert list(keyspace.views) == ["v"]
            assert list(keyspace.tables["t0"].views) == ["v"]
            assert list(keyspace.views["v"].columns) == ["id", "added"]
            assert keyspace.tables["t0"].views["v"] is keyspace.views["v"]
            assert schema_queries(node, "views")[-1].endswith("view_name IN ('t0', 'v', 'it''s')")
            # Remove the table with its views.
            node.schema["system_schema.views"] = []
            remove_table(node.schema, "a", "t0")
            node.prime(re.compile("DROP"), schema_change("DROPPED", "TABLE", "a", "t0"))
            await session.execute("DROP TABLE a.t0")
            assert list(cluster.metadata.keyspaces["a"].tables) == ["t1"]
            assert not cluster.metadata.keyspaces["a"].views


async def test_with_a_negative_window_events_are_ignored() -> None:
    """With a negative `schema_event_refresh_window`, schema events are ignored.

    After the session's own DDL statements, the schema is still read.
    """
    with FakeNode() as node:
        node.schema = schema("a")
        async with connected(node, schema_event_refresh_window=-1) as (cluster, session):
            add_table(node.schema, "a", "new")
            node.send_event("SCHEMA_CHANGE", "CREATED", "TABLE", "a", "new")
            await session.execute("SELECT 1")
            assert cluster._core is not None
            assert not cluster._core.schema._pending
            node.prime(re.compile("CREATE"), schema_change("CREATED", "TABLE", "a", "new"))
            await session.execute("CREATE TABLE a.new (id int PRIMARY KEY)")
            assert "new" in cluster.metadata.keyspaces["a"].tables


async def test_schema_reading_can_be_switched_off_and_on() -> None:
    """Reading the schema can be switched off and on while the cluster is connected.

    Both `set_meta_refresh_enabled` and `schema_metadata_enabled` do this.
    """
    with FakeNode() as node:
        node.schema = schema("a")
        async with connected(node, schema_event_refresh_window=0) as (cluster, session):
            cluster.set_meta_refresh_enabled(False)
            add_table(node.schema, "a", "new")
            node.prime(re.compile("CREATE"), schema_change("CREATED", "TABLE", "a", "new"))
            await session.execute("CREATE TABLE a.new (id int PRIMARY KEY)")
            assert "new" not in cluster.metadata.keyspaces["a"].tables
            cluster.set_meta_refresh_enabled(True)
            cluster.schema_metadata_enabled = False
            await session.execute("CREATE TABLE a.new (id int PRIMARY KEY)")
            assert "new" not in cluster.metadata.keyspaces["a"].tables
            cluster.schema_metadata_enabled = True
            await session.execute("CREATE TABLE a.new (id int PRIMARY KEY)")
            assert "new" in cluster.metadata.keyspaces["a"].tables


# -- many events at once ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tables", "window", "readings"),
    [(42, 0.05, 1), pytest.param(4000, 0.3, 5, marks=pytest.mark.slow)],
)
async def test_many_tables_of_a_keyspace_are_read_as_the_keyspace(
    tables: int, window: float, readings: int
) -> None:
    """If many tables of a keyspace change at once, the driver reads the keyspace as a whole.

    It reads no other keyspace.

    :param tables: the number of tables.
    :param window: the setting `schema_event_refresh_window`, in seconds.
    :param readings: the number of readings. It is far below the number of tables, but above 1 for
        many tables, because readings start while events still arrive.
    """
    with FakeNode() as node:
        node.schema = schema("a", "b", tables=1)
        async with connected(node, schema_event_refresh_window=window) as (cluster, _):
            count_before = len(schema_queries(node, "tables"))
            node.schema = schema("a", "b", tables=tables)
            for number in range(tables):
                node.send_event("SCHEMA_CHANGE", "CREATED", "TABLE", "a", f"t{number}")
            await until_on_loop(lambda: len(cluster.metadata.keyspaces["a"].tables) == tables)
            assert (
                schema_queries(node, "tables")[count_before:]
                == ["SELECT * FROM system_schema.tables WHERE keyspace_name = 'a'"] * readings
            )
            assert list(cluster.metadata.keyspaces["b"].tables) == ["t0"]


async def test_changes_of_many_keyspaces_read_the_whole_schema() -> None:
    """If MANY_KEYSPACES or more keyspaces change at once, the driver reads the whole schema."""
    names = [f"k{number}" for number in range(MANY_KEYSPACES * 2)]
    with FakeNode() as node:
        node.schema = schema()
        async with connected(node, schema_event_refresh_window=0.1) as (cluster, _):
            count_before = len(schema_queries(node, "tables"))
            node.schema = schema(*names, tables=1)
            for name in names:
                node.send_event("SCHEMA_CHANGE", "CREATED", "KEYSPACE", name)
            await until_on_loop(lambda: len(cluster.metadata.keyspaces) == len(names))
            assert schema_queries(node, "tables")[count_before:] == [
                "SELECT * FROM system_schema.tables"
            ]


# -- errors ----------------------------------------------------------------------------------------


async def test_a_failed_refresh_raises_the_reason() -> None:
    """`refresh_schema_metadata` raises the server's error or a timeout.

    If the cluster is shut down during the refresh, it raises an error as well.
    """
    with FakeNode() as node:
        async with connected(node, max_schema_agreement_wait=0) as (cluster, _):
            assert cluster._core is not None
            # Set the timeout only after `connect`, because connecting may take longer on a busy
            # machine.
            cluster.control_connection_timeout = 0.05
            node.prime(re.compile("system_schema.tables"), error(ErrorCode.INVALID))
            with pytest.raises(InvalidRequest):
                await cluster.refresh_schema_metadata()
            node.clear_primes()
            node.prime(re.compile("system_schema.tables"), silence())
            with pytest.raises(OperationTimedOut):
                await cluster.refresh_schema_metadata()
            # This refresh still waits for a response when the cluster is shut down below.
            refresh_in_flight = asyncio.ensure_future(cluster.refresh_schema_metadata())
            # The first query comes from `connect`, and each of the three refreshes sends one.
            await node.wait_until(lambda node: len(schema_queries(node, "tables")) == 4)
        with pytest.raises(DriverException):
            await asyncio.wait_for(refresh_in_flight, WAIT)


async def test_if_nodes_do_not_agree_refresh_raises() -> None:
    """If the nodes do not agree on the schema in time, `refresh_schema_metadata` raises an error.

    With a wait of 0 seconds, their agreement is not checked.
    """
    with FakeCluster(2) as nodes:
        # The host id serves as a UUID that differs from the other node's schema version.
        nodes[1].schema_version = nodes[1].host_id
        async with connected(nodes) as (cluster, _):
            with pytest.raises(
                DriverException, match=r"did not agree on the schema within 0\.02 seconds"
            ):
                await cluster.refresh_schema_metadata(max_schema_agreement_wait=0.02)
            await cluster.refresh_schema_metadata(max_schema_agreement_wait=0)


# -- the control connection moves ------------------------------------------------------------------


@pytest.mark.parametrize("has_other_version", [True, False])
async def test_a_move_reads_the_schema_only_if_its_version_differs(has_other_version: bool) -> None:
    """When the control connection moves, the schema is read only if its version differs."""
    with FakeCluster(2) as nodes:
        for node in nodes.nodes:
            node.schema = schema("a")
        async with connected(nodes) as (cluster, _):
            host = cluster.get_control_connection_host()
            # The other node has one more keyspace. If its schema version is the same, this keyspace
            # is not read.
            other_node = next(node for node in nodes.nodes if node.address != host.address)
            other_node.schema = schema("a", "b")
            if has_other_version:
                # The host id serves as another UUID.
                other_node.schema_version = other_node.host_id
            nodes.stop_node(nodes.node_at(host.address), tell=False)

            def has_moved() -> bool:
                host = cluster.get_control_connection_host()
                return host is not None and host.address == other_node.address

            await until_on_loop(has_moved)
            if has_other_version:
                await until_on_loop(lambda: list(cluster.metadata.keyspaces) == ["a", "b"])
            else:
                await cluster.refresh_nodes()
                assert not schema_queries(other_node, "tables")
