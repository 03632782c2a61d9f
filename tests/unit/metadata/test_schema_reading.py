"""Reading the schema from fake nodes: at connect, after events and DDL, by calls, after the control connection has moved."""

from __future__ import annotations

import asyncio
import pickle
import re
import threading
from collections.abc import Callable
from typing import Any

import pytest

from cassandra import InvalidRequest, OperationTimedOut, aio
from cassandra.cluster import Cluster
from cassandra.engine.schema import Target, _joined
from cassandra.errors import ConnectionException, DriverException
from cassandra.testing.fake import Encoded, ErrorCode, FakeCluster, FakeNode, error, rows, schema_change, silence
from tests.unit.engine.faults import WAIT, connected

from .rows import add_table, column, keyspace, remove_table, schema


async def until(cluster: aio.Cluster, condition: Callable[[], Any]) -> None:
    """Wait until `condition` holds: it is looked at whenever a part of the metadata is replaced."""
    changed = asyncio.Event()

    def told(replace: Callable[[Any], None]) -> Callable[[Any], None]:
        def replace_and_tell(part: Any) -> None:
            replace(part)
            changed.set()

        return replace_and_tell

    for name in ("replace_schema", "replace_replication", "replace_hosts"):
        setattr(cluster.metadata, name, told(getattr(cluster.metadata, name)))

    async def look() -> None:
        while not condition():
            await changed.wait()
            changed.clear()

    await asyncio.wait_for(look(), WAIT)


def reads(node: FakeNode | FakeCluster, table: str) -> list[str]:
    """The queries of one schema table."""
    return [str(request.query) for request in node.requests if f"FROM system_schema.{table}" in str(request.query)]


@pytest.mark.parametrize("max_version", [4, 5])
async def test_the_schema_is_complete_when_connect_returns(max_version: int) -> None:
    with FakeNode(max_version=max_version) as node:
        node.schema = schema("a", "b", tables=3)
        async with connected(node) as (cluster, _):
            metadata = cluster.metadata
            assert list(metadata.keyspaces) == ["a", "b"]
            table = metadata.keyspaces["a"].tables["t1"]
            assert list(table.columns) == ["id", "c0"]
            assert table.options["comment"] == "it's a table"
            assert (table.keyspace_name, table.name, table.id is not None) == ("a", "t1", True)
            assert metadata.keyspaces["a"].tables["t1"] is table
            assert metadata.keyspaces["a"] is metadata.keyspaces["a"]
            assert table.columns["id"].table is table
            with pytest.raises(KeyError):
                metadata.keyspaces["nowhere"]
            copied = pickle.loads(pickle.dumps(metadata.keyspaces["a"]))
            assert copied.export_as_string() == metadata.keyspaces["a"].export_as_string()
            assert metadata.export_schema_as_string().count("CREATE TABLE") == 6


async def test_pages_are_of_the_size_that_is_set() -> None:
    with FakeNode() as node:
        node.schema = schema("a", tables=10)
        async with connected(node, schema_metadata_page_size=3) as (cluster, _):
            tables = cluster.metadata.keyspaces["a"].tables
            assert {name: list(table.columns) for name, table in tables.items()} == {
                f"t{at}": ["id", "c0"] for at in range(10)
            }
            assert len(reads(node, "columns")) == 7
            assert {request.page_size for request in node.requests if "system_schema" in str(request.query)} == {3}


async def test_nothing_is_read_where_it_is_switched_off() -> None:
    with FakeNode() as node:
        node.schema = schema("a")
        async with connected(node, schema_metadata_enabled=False, token_metadata_enabled=False) as (cluster, _):
            assert not [request for request in node.requests if "system_schema" in str(request.query)]
            assert not cluster.metadata.keyspaces
            assert cluster.metadata.replication_of("a") is None
            await cluster.refresh_table_metadata("a", "t1")  # asked for: read all the same
            assert list(cluster.metadata.keyspaces["a"].tables) == ["t0", "t1"]


async def test_replication_is_read_for_tokens_alone() -> None:
    with FakeNode() as node:
        node.schema = schema("a")
        async with connected(node, schema_metadata_enabled=False, schema_event_refresh_window=0) as (cluster, session):
            metadata = cluster.metadata
            assert [str(request.query) for request in node.requests if "system_schema" in str(request.query)] == [
                "SELECT * FROM system_schema.keyspaces"
            ]
            assert not metadata.keyspaces
            before, version = metadata.replication_of("a"), metadata.replication_version
            assert before is not None
            node.schema["system_schema.keyspaces"] = [keyspace("a", 3), keyspace("b")]
            node.send_event("SCHEMA_CHANGE", "UPDATED", "KEYSPACE", "a")
            await until(cluster, lambda: metadata.replication_version > version)
            assert metadata.replication_of("a") != before
            assert metadata.replication_of("b") is None
            node.prime(re.compile("CREATE"), schema_change("CREATED", "KEYSPACE", "b"))
            await session.execute("CREATE KEYSPACE b")
            assert metadata.replication_of("b") is not None
            version = metadata.replication_version
            await cluster.refresh_schema_metadata()
            assert metadata.replication_version == version


async def test_only_the_wanted_keyspaces_are_read() -> None:
    with FakeNode() as node:
        node.schema = schema("a", "b", "c")
        async with connected(node, schema_metadata_keyspaces=["a", "c"], schema_event_refresh_window=0) as (cluster, _):
            assert list(cluster.metadata.keyspaces) == ["a", "c"]
            assert list(cluster.metadata.keyspaces["a"].tables) == ["t0", "t1"]
            assert cluster.metadata.replication_of("b") is not None
            assert reads(node, "tables") == ["SELECT * FROM system_schema.tables WHERE keyspace_name IN ('a', 'c')"]
            add_table(node.schema, "a", "new")
            node.send_event("SCHEMA_CHANGE", "CREATED", "TABLE", "b", "t0")
            node.send_event("SCHEMA_CHANGE", "CREATED", "TABLE", "a", "new")
            await until(cluster, lambda: "new" in cluster.metadata.keyspaces["a"].tables)
            assert len(reads(node, "tables")) == 2
            await cluster.refresh_keyspace_metadata("b")
            assert "b" not in cluster.metadata.keyspaces
    for wrong in ("a", [1]):
        with pytest.raises(TypeError, match="schema_metadata_keyspaces must be a list of names"):
            aio.Cluster(["127.0.0.1"], schema_metadata_keyspaces=wrong)
    with pytest.raises(ValueError, match="schema_metadata_page_size"):
        aio.Cluster(["127.0.0.1"], schema_metadata_page_size=0)


# -- DDL and events ----------------------------------------------------------------------------------------------------


async def test_ddl_is_seen_when_its_result_is_there() -> None:
    with FakeNode() as node:
        node.schema = schema("a")
        async with connected(node) as (cluster, session):
            before = cluster.metadata.keyspaces["a"]
            untouched = before.tables["t0"]
            add_table(node.schema, "a", "new")
            node.prime(re.compile("CREATE"), schema_change("CREATED", "TABLE", "a", "new"))
            await session.execute("CREATE TABLE a.new (id int PRIMARY KEY)")
            after = cluster.metadata.keyspaces["a"]
            assert list(after.tables) == ["new", "t0", "t1"]
            assert list(before.tables) == ["t0", "t1"]
            assert after.tables["t0"] is untouched
            remove_table(node.schema, "a", "t1")
            node.prime(re.compile("DROP"), schema_change("DROPPED", "TABLE", "a", "t1"))
            await session.execute("DROP TABLE a.t1")
            assert list(cluster.metadata.keyspaces["a"].tables) == ["new", "t0"]
            assert reads(node, "tables")[1:] == [
                f"SELECT * FROM system_schema.tables WHERE keyspace_name = 'a' AND table_name = '{name}'"
                for name in ("new", "t1")
            ]


def test_ddl_through_the_blocking_face() -> None:
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
    with FakeNode() as node:
        node.schema = schema("a")
        async with connected(node) as (cluster, session):
            node.prime(re.compile("CREATE"), schema_change("CREATED", "TABLE", "a", "new"))
            node.prime(re.compile("system_schema.tables"), error(ErrorCode.SERVER_ERROR))
            await session.execute("CREATE TABLE a.new (id int PRIMARY KEY)")
            assert list(cluster.metadata.keyspaces["a"].tables) == ["t0", "t1"]


async def test_a_fault_of_the_driver_does_not_hang_the_statement(monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeNode() as node:
        node.schema = schema("a")
        async with connected(node) as (cluster, session):
            node.prime(re.compile("CREATE"), schema_change("CREATED", "TABLE", "a", "new"))
            monkeypatch.setattr("cassandra.engine.schema._with_table", lambda *args: 1 / 0)
            await asyncio.wait_for(session.execute("CREATE TABLE a.new (id int PRIMARY KEY)"), WAIT)
            assert list(cluster.metadata.keyspaces["a"].tables) == ["t0", "t1"]
            assert cluster.metadata.schema.version is None


async def test_a_burst_of_events_is_one_reading() -> None:
    with FakeNode() as node:
        node.schema = schema("a")
        async with connected(node, schema_event_refresh_window=0.05) as (cluster, _):
            add_table(node.schema, "a", "new")
            for _ in range(20):
                node.send_event("SCHEMA_CHANGE", "CREATED", "TABLE", "a", "new")
            await until(cluster, lambda: "new" in cluster.metadata.keyspaces["a"].tables)
            assert len(reads(node, "tables")) == 2


async def test_many_tables_of_a_keyspace_are_read_as_the_keyspace() -> None:
    with FakeNode() as node:
        node.schema = schema("a", "b")
        async with connected(node, schema_event_refresh_window=0.05) as (cluster, _):
            for at in range(40):
                add_table(node.schema, "a", f"new{at}")
                node.send_event("SCHEMA_CHANGE", "CREATED", "TABLE", "a", f"new{at}")
            await until(cluster, lambda: len(cluster.metadata.keyspaces["a"].tables) == 42)
            assert len(reads(node, "tables")) <= 4


def test_targets_are_joined() -> None:
    table, type_ = Target("TABLE", "a", "t"), Target("TYPE", "a", "u")
    assert _joined([table, type_]) == [table, type_]
    assert _joined([table, Target("KEYSPACE", "a"), Target("REPLICATION", "a")]) == [Target("KEYSPACE", "a")]
    assert _joined([table, Target("KEYSPACE", "b"), Target()]) == [Target()]
    assert _joined([table._replace(forced=True), Target()]) == [table._replace(forced=True), Target()]
    assert _joined([Target("TABLE", "a", str(at)) for at in range(50)]) == [Target("KEYSPACE", "a")]


async def test_a_keyspace_that_is_dropped_and_made_again() -> None:
    with FakeNode() as node:
        node.schema = schema("a", tables=3)
        async with connected(node, schema_event_refresh_window=0.01) as (cluster, _):
            node.schema = schema("a", tables=1)
            node.send_event("SCHEMA_CHANGE", "DROPPED", "KEYSPACE", "a")
            node.send_event("SCHEMA_CHANGE", "CREATED", "KEYSPACE", "a")
            await until(cluster, lambda: list(cluster.metadata.keyspaces["a"].tables) == ["t0"])
            node.schema = schema()
            node.send_event("SCHEMA_CHANGE", "DROPPED", "KEYSPACE", "a")
            await until(cluster, lambda: "a" not in cluster.metadata.keyspaces)
            assert cluster.metadata.replication_of("a") is None


async def test_other_elements_are_read_again_by_events() -> None:
    function = {
        "keyspace_name": "a", "function_name": "f", "argument_types": ["int"], "argument_names": ["x"], "body": "return x;",
        "called_on_null_input": True, "language": "java", "return_type": "int",
    }  # fmt: skip
    aggregate = {
        "keyspace_name": "a", "aggregate_name": "g", "argument_types": ["int"], "state_func": "f", "state_type": "int",
        "return_type": "int",
    }  # fmt: skip
    with FakeNode() as node:
        node.schema = schema("a")
        async with connected(node, schema_event_refresh_window=0) as (cluster, _):
            node.schema["system_schema.types"] = [
                {"keyspace_name": "a", "type_name": "u", "field_names": ["x"], "field_types": ["int"]}
            ]
            node.send_event("SCHEMA_CHANGE", "CREATED", "TYPE", "a", "u")
            await until(cluster, lambda: "u" in cluster.metadata.keyspaces["a"].user_types)
            other = {**function, "argument_types": ["text"], "return_type": "text"}
            node.schema["system_schema.functions"] = [function, other]
            node.send_event("SCHEMA_CHANGE", "CREATED", "FUNCTION", "a", "f", ["int"])
            await until(cluster, lambda: sorted(cluster.metadata.keyspaces["a"].functions) == ["f(int)", "f(text)"])
            node.schema["system_schema.aggregates"] = [aggregate]
            node.send_event("SCHEMA_CHANGE", "CREATED", "AGGREGATE", "a", "g", ["int"])
            await until(cluster, lambda: list(cluster.metadata.keyspaces["a"].aggregates) == ["g(int)"])
            node.schema["system_schema.functions"] = [other]
            await cluster.refresh_user_function_metadata("a", cluster.metadata.keyspaces["a"].functions["f(int)"])
            await cluster.refresh_user_aggregate_metadata("a", "g")
            await cluster.refresh_user_type_metadata("a", "u")
            assert list(cluster.metadata.keyspaces["a"].functions) == ["f(text)"]
            text = cluster.metadata.keyspaces["a"].export_as_string()
            places = [text.index(f"CREATE {kind}") for kind in ("TYPE", "FUNCTION", "AGGREGATE", "TABLE")]
            assert places == sorted(places)


async def test_views_belong_to_their_tables() -> None:
    view = {
        "keyspace_name": "a", "view_name": "v", "base_table_name": "t0", "include_all_columns": True, "where_clause": "id IS NOT NULL",
        "comment": "a view",
    }  # fmt: skip
    with FakeNode() as node:
        node.schema = schema("a")
        async with connected(node, schema_event_refresh_window=0) as (cluster, _):
            node.schema["system_schema.views"] = [view]
            node.schema["system_schema.columns"] = [
                *node.schema["system_schema.columns"],
                column("a", "v", "id", "partition_key", 0),
            ]
            node.send_event("SCHEMA_CHANGE", "CREATED", "TABLE", "a", "v")
            await until(cluster, lambda: "v" in cluster.metadata.keyspaces["a"].views)
            found = cluster.metadata.keyspaces["a"]
            assert found.tables["t0"].views["v"] is found.views["v"]
            assert "v" not in found.tables
            assert "CREATE MATERIALIZED VIEW a.v AS" in found.tables["t0"].export_as_string()
            await cluster.refresh_table_metadata("a", "t0")
            assert list(cluster.metadata.keyspaces["a"].tables["t0"].views) == ["v"]
            node.schema["system_schema.views"] = []
            await cluster.refresh_materialized_view_metadata("a", "v")
            found = cluster.metadata.keyspaces["a"]
            assert not found.views
            assert not found.tables["t0"].views
            assert list(found.tables["t0"].columns) == ["id", "c0"]


async def test_events_are_ignored_where_the_window_is_negative() -> None:
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


async def test_all_reading_can_be_switched_off_and_on_again() -> None:
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


# -- what goes wrong ---------------------------------------------------------------------------------------------------


async def test_a_damaged_table_harms_no_other() -> None:
    with FakeNode() as node:
        node.schema = schema("a", tables=4)
        for row in node.schema["system_schema.columns"]:
            if row["table_name"] == "t0" and row["column_name"] == "c0":
                row["type"] = None
            if row["table_name"] == "t1":
                row["kind"] = "strange"
        for row in node.schema["system_schema.tables"]:
            if row["table_name"] == "t2":
                row["comment"] = Encoded(b"\xff\xfe")
        node.schema["system_schema.types"] = [
            {"keyspace_name": "a", "type_name": "u", "field_names": ["x"], "field_types": ["int", "int"]}
        ]
        index = {
            "keyspace_name": "a",
            "table_name": "t0",
            "index_name": "i",
            "kind": "KEYS",
            "options": {"target": "id"},
        }
        node.schema["system_schema.indexes"] = [index, {**index, "index_name": "j", "options": None}]
        async with connected(node) as (cluster, _):
            found = cluster.metadata.keyspaces["a"]
            tables = found.tables
            assert [table._exc_info is not None for table in tables.values()] == [True, True, True, False]
            assert "the type of column 'c0' is None" in tables["t0"].export_as_string()
            assert "unknown kind 'strange'" in tables["t1"].export_as_string()
            assert "cannot be decoded" in tables["t2"].export_as_string()
            assert list(tables["t2"].columns) == ["id", "c0"]
            assert tables["t3"].export_as_string().startswith("CREATE TABLE a.t3")
            assert {name: index.as_cql_query() for name, index in found.indexes.items()} == {
                "i": "CREATE INDEX i ON a.t0 (id)",
                "j": "CREATE INDEX j ON a.t0 ()",
            }
            assert cluster.metadata.export_schema_as_string()


async def test_a_node_that_refuses_or_does_not_answer_schema_queries_is_left() -> None:
    with FakeNode() as node:
        node.prime(re.compile("system_schema.tables"), silence())
        cluster = aio.Cluster([node.address], port=node.port, control_connection_timeout=0.05)
        with pytest.raises(DriverException, match="Unable to connect") as caught:
            await cluster.connect()
        assert isinstance(caught.value.__cause__, OperationTimedOut)
        await cluster.shutdown()
        node.clear_primes()
        node.forget_requests()
        node.prime(re.compile("system_schema.column_masks"), error(ErrorCode.INVALID))
        node.prime(re.compile("system_virtual_schema"), error(ErrorCode.INVALID))
        node.prime(re.compile("system_schema.keyspaces"), rows([("keyspace_name", "text")], []))
        async with connected(node) as (cluster, _):
            assert not cluster.metadata.keyspaces
            await cluster.refresh_schema_metadata()
            assert len(reads(node, "column_masks")) == 1


async def test_a_refresh_that_cannot_be_done_says_so() -> None:
    with FakeNode() as node:
        async with connected(node, control_connection_timeout=0.05, max_schema_agreement_wait=0) as (cluster, _):
            node.prime(re.compile("system_schema.tables"), error(ErrorCode.INVALID))
            with pytest.raises(InvalidRequest):
                await cluster.refresh_schema_metadata()
            node.clear_primes()
            node.prime(re.compile("system_schema.tables"), silence())
            with pytest.raises(OperationTimedOut):
                await cluster.refresh_schema_metadata()
            waiting = asyncio.ensure_future(cluster.refresh_schema_metadata())
            await node.wait_until(lambda node: len(reads(node, "tables")) == 4)
        with pytest.raises(DriverException):
            await asyncio.wait_for(waiting, WAIT)


async def test_nodes_that_do_not_agree_are_not_read() -> None:
    with FakeCluster(2) as nodes:
        nodes[1].schema_version = nodes[1].host_id
        async with connected(nodes) as (cluster, _):
            with pytest.raises(DriverException, match=r"did not agree on the schema within 0\.02 seconds"):
                await cluster.refresh_schema_metadata(max_schema_agreement_wait=0.02)
            await cluster.refresh_schema_metadata(max_schema_agreement_wait=0)


# -- the control connection moves --------------------------------------------------------------------------------------


@pytest.mark.parametrize("changed", [True, False])
async def test_the_schema_is_read_again_where_its_version_is_another(changed: bool) -> None:
    with FakeCluster(2) as nodes:
        for node in nodes.nodes:
            node.schema = schema("a")
        async with connected(nodes) as (cluster, _):
            host = cluster.get_control_connection_host()
            other = next(node for node in nodes.nodes if node.address != host.address)
            other.schema = schema("a", "b")
            if changed:
                other.schema_version = other.host_id
            nodes.stop_node(nodes.node_at(host.address), tell=False)
            await until(
                cluster, lambda: getattr(cluster.get_control_connection_host(), "address", None) == other.address
            )
            if changed:
                await until(cluster, lambda: list(cluster.metadata.keyspaces) == ["a", "b"])
            else:
                await cluster.refresh_nodes()
                assert not reads(other, "tables")


# -- threads -----------------------------------------------------------------------------------------------------------


def test_threads_get_the_same_objects() -> None:
    with FakeNode() as node:
        node.schema = schema("a", tables=50)
        with Cluster([node.address], port=node.port) as cluster, cluster.connect():
            seen: list[list[Any]] = []
            start = threading.Barrier(8)

            def look() -> None:
                start.wait(WAIT)
                seen.append([id(table) for table in cluster.metadata.keyspaces["a"].tables.values()])

            threads = [threading.Thread(target=look) for _ in range(8)]
            for one in threads:
                one.start()
            for one in threads:
                one.join(WAIT)
            assert len(seen) == 8
            assert all(ids == seen[0] for ids in seen)
