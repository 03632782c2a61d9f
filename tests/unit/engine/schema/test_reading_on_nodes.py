"""The driver reads the schema of fake nodes into metadata objects.

A query whose pages never end is an error.
"""

from __future__ import annotations

import asyncio
import itertools
import pickle
import re
import threading
from typing import Any

import pytest

from cassandra import OperationTimedOut, aio
from cassandra.cluster import Cluster
from cassandra.errors import DriverException, NoHostAvailable
from cassandra.testing.fake import (
    Encoded,
    ErrorCode,
    FakeNode,
    Message,
    Request,
    error,
    rows,
    schema_change,
    silence,
)
from tests.unit.engine.faults import WAIT, connected, schema_queries
from tests.unit.metadata.schema.rows import add_table, column, keyspace, schema
from tests.waiting import until_on_loop

pytestmark = pytest.mark.simulated


def requests_of_schema(node: FakeNode) -> list[Request]:
    """Return the requests that read tables of `system_schema`."""
    return [request for request in node.requests if "system_schema" in str(request.query)]


@pytest.mark.parametrize("max_version", [4, 5])
async def test_the_schema_is_complete_when_connect_returns(max_version: int) -> None:
    """When `connect` returns, the metadata has all keyspaces, tables and columns.

    The metadata can be pickled and exported as CQL.
    """
    with FakeNode(max_version=max_version) as node:
        node.schema = schema("a", "b", tables=3)
        async with connected(node) as (cluster, _):
            metadata = cluster.metadata
            assert list(metadata.keyspaces) == ["a", "b"]
            table = metadata.keyspaces["a"].tables["t1"]
            assert list(table.columns) == ["id", "c0"]
            assert table.options["comment"] == "it's a table"
            assert table.keyspace_name == "a"
            assert table.name == "t1"
            assert table.id is not None
            # Metadata objects are created when they are first accessed. Later accesses return the
            # same objects.
            assert metadata.keyspaces["a"].tables["t1"] is table
            assert metadata.keyspaces["a"] is metadata.keyspaces["a"]
            assert table.columns["id"].table is table
            with pytest.raises(KeyError):
                metadata.keyspaces["nowhere"]
            copied = pickle.loads(pickle.dumps(metadata.keyspaces["a"]))
            assert copied.export_as_string() == metadata.keyspaces["a"].export_as_string()
            # The schema has 2 keyspaces with 3 tables each.
            assert metadata.export_schema_as_string().count("CREATE TABLE") == 6


async def test_pages_have_schema_metadata_page_size_rows() -> None:
    """The setting `schema_metadata_page_size` is the page size of all queries of schema tables."""
    with FakeNode() as node:
        node.schema = schema("a", tables=10)
        async with connected(node, schema_metadata_page_size=3) as (cluster, _):
            tables = cluster.metadata.keyspaces["a"].tables
            assert {name: list(table.columns) for name, table in tables.items()} == {
                f"t{number}": ["id", "c0"] for number in range(10)
            }
            # The query of columns takes seven pages: 10 tables with 2 columns each, in pages of 3
            # rows.
            assert len(schema_queries(node, "columns")) == 7
            page_sizes = {request.page_size for request in requests_of_schema(node)}
            assert page_sizes == {3}


async def test_no_schema_is_read_if_it_is_switched_off() -> None:
    """Without schema and token metadata, `connect` reads no table of system_schema."""
    with FakeNode() as node:
        node.schema = schema("a")
        async with connected(node, schema_metadata_enabled=False, token_metadata_enabled=False) as (
            cluster,
            _,
        ):
            assert not requests_of_schema(node)
            assert not cluster.metadata.keyspaces
            assert cluster.metadata.replication_of("a") is None
            # An explicit refresh reads the schema even if schema metadata is disabled.
            await cluster.refresh_table_metadata("a", "t1")
            assert list(cluster.metadata.keyspaces["a"].tables) == ["t0", "t1"]


async def test_without_schema_metadata_replication_is_read_for_routing() -> None:
    """Without schema metadata, only the replication of keyspaces is read and kept up to date.

    Token-aware routing needs the replication.
    """
    with FakeNode() as node:
        node.schema = schema("a")
        async with connected(
            node, schema_metadata_enabled=False, schema_event_refresh_window=0
        ) as (cluster, session):
            metadata = cluster.metadata
            queries = [request.query for request in requests_of_schema(node)]
            assert queries == ["SELECT * FROM system_schema.keyspaces"]
            assert not metadata.keyspaces
            replication_before = metadata.replication_of("a")
            version = metadata.replication_version
            assert replication_before is not None
            node.schema["system_schema.keyspaces"] = [keyspace("a", 3), keyspace("b")]
            node.send_event("SCHEMA_CHANGE", "UPDATED", "KEYSPACE", "a")
            await until_on_loop(lambda: metadata.replication_version > version)
            assert metadata.replication_of("a") != replication_before
            assert metadata.replication_of("b") is None
            node.prime(re.compile("CREATE"), schema_change("CREATED", "KEYSPACE", "b"))
            await session.execute("CREATE KEYSPACE b")
            assert metadata.replication_of("b") is not None
            version = metadata.replication_version
            await cluster.refresh_schema_metadata()
            # Nothing has changed, so query plans that were computed from the replication stay
            # valid.
            assert metadata.replication_version == version


async def test_virtual_keyspaces_and_tables_can_be_refreshed() -> None:
    """Explicit refreshes read virtual keyspaces from `system_virtual_schema`.

    This also holds if schema metadata is disabled.
    """
    with FakeNode() as node:
        node.schema = {
            **schema("a"),
            "system_virtual_schema.keyspaces": [{"keyspace_name": "v"}],
            "system_virtual_schema.tables": [
                {"keyspace_name": "v", "table_name": "t", "comment": "virtual"}
            ],
            "system_virtual_schema.columns": [column("v", "t", "id", "partition_key", 0)],
        }
        async with connected(node) as (cluster, _):
            # Refresh a virtual keyspace, its table, and an ordinary keyspace.
            await cluster.refresh_keyspace_metadata("v")
            assert cluster.metadata.keyspaces["v"].virtual
            assert list(cluster.metadata.keyspaces["v"].tables) == ["t"]
            await cluster.refresh_table_metadata("v", "t")
            assert cluster.metadata.keyspaces["v"].tables["t"].virtual
            await cluster.refresh_keyspace_metadata("a")
            assert not cluster.metadata.keyspaces["a"].virtual
        async with connected(node, schema_metadata_enabled=False) as (cluster, _):
            await cluster.refresh_keyspace_metadata("v")
            assert cluster.metadata.keyspaces["v"].tables["t"].virtual


async def test_tables_that_a_node_has_since_its_upgrade_are_read() -> None:
    """Tables that a node has only since its upgrade are read after a reconnection.

    The driver remembers which system tables a node lacks only until the control connection is
    opened again.
    """
    with FakeNode() as node:
        node.schema = {
            **schema("a"),
            "system_virtual_schema.keyspaces": [{"keyspace_name": "v"}],
            "system_virtual_schema.tables": [{"keyspace_name": "v", "table_name": "t"}],
            "system_virtual_schema.columns": [column("v", "t", "id", "partition_key", 0)],
        }
        # Cassandra 3.11 has neither peers_v2 nor virtual keyspaces.
        node.has_peers_v2 = False
        node.release_version = "3.11.19"
        async with connected(node) as (cluster, _):
            assert list(cluster.metadata.keyspaces) == ["a"]
            node.has_peers_v2 = True
            node.release_version = "5.0.9"
            node.drop_connections()
            await until_on_loop(lambda: "v" in cluster.metadata.keyspaces)
            assert list(cluster.metadata.keyspaces["v"].tables) == ["t"]


async def test_only_the_keyspaces_in_schema_metadata_keyspaces_are_read() -> None:
    """Only the keyspaces in `schema_metadata_keyspaces` have full metadata.

    All other keyspaces have only their replication.
    """
    with FakeNode() as node:
        node.schema = schema("a", "b", "c")
        async with connected(
            node, schema_metadata_keyspaces=["a", "c"], schema_event_refresh_window=0
        ) as (cluster, _):
            assert list(cluster.metadata.keyspaces) == ["a", "c"]
            assert list(cluster.metadata.keyspaces["a"].tables) == ["t0", "t1"]
            assert cluster.metadata.replication_of("b") is not None
            assert schema_queries(node, "tables") == [
                "SELECT * FROM system_schema.tables WHERE keyspace_name IN ('a', 'c')"
            ]
            add_table(node.schema, "a", "new")
            node.send_event("SCHEMA_CHANGE", "CREATED", "TABLE", "b", "t0")
            node.send_event("SCHEMA_CHANGE", "CREATED", "TABLE", "a", "new")
            await until_on_loop(lambda: "new" in cluster.metadata.keyspaces["a"].tables)
            # The event about the keyspace b has caused no query.
            assert len(schema_queries(node, "tables")) == 2
            await cluster.refresh_keyspace_metadata("b")
            assert "b" not in cluster.metadata.keyspaces


@pytest.mark.parametrize("names", ["a", [1]])
def test_schema_metadata_keyspaces_must_be_a_list_of_names(names: Any) -> None:
    with pytest.raises(TypeError, match="schema_metadata_keyspaces must be a list of names"):
        aio.Cluster(["127.0.0.1"], schema_metadata_keyspaces=names)


def test_schema_metadata_page_size_must_be_positive() -> None:
    with pytest.raises(ValueError, match="schema_metadata_page_size"):
        aio.Cluster(["127.0.0.1"], schema_metadata_page_size=0)


# -- masks -----------------------------------------------------------------------------------------


async def test_mask_arguments_become_cql_literals() -> None:
    """In exported CQL, the arguments of column masks are CQL literals.

    Servers store these arguments in their own formats.
    """
    # Maps the type of an argument to its value in the system table and to the expected CQL literal.
    masks = {
        "text": ("it's", "'it''s'"),
        "int": ("7", "7"),
        "blob": ("cafe", "0xcafe"),
        "list<int>": ("0000000100000004" + "00000007", "[7]"),
        "vector<float, 2>": ("3f80000040000000", "[1.0, 2.0]"),
        "list<frozen<tuple<int, text>>>": (
            "00000001" + "0000000d" + "00000004" + "00000007" + "00000001" + "78",
            "[(7, 'x')]",
        ),
        "frozen<tuple<int, text>>": ("1:@", "(1, null)"),
        "frozen<tuple<text, timestamp>>": (
            r"a\:\@b:2020-01-01T01\:02\:03.000Z",
            "('a:@b', '2020-01-01T01:02:03.000Z')",
        ),
        "frozen<tuple<int, frozen<tuple<text, list<text>>>>>": (
            r"1:c\\:d\:0000000100000001" + "78",
            "(1, ('c:d', ['x']))",
        ),
    }
    with FakeNode() as node:
        node.schema = schema("a", "b", tables=1)
        node.schema["system_schema.column_masks"] = [
            {
                "keyspace_name": "a", "table_name": "t0", "column_name": f"m{number}",
                "function_argument_nulls": [False],
                "function_argument_types": [cql_type], "function_argument_values": [value],
                "function_keyspace": "system",
                "function_name": "mask_replace",
            }
            for number, (cql_type, (value, _)) in enumerate(masks.items())
        ]  # fmt: skip
        mask_with_unknown_type = {
            **node.schema["system_schema.column_masks"][0],
            "keyspace_name": "b",
            "column_name": "c0",
            "function_argument_types": ["frozen<some_udt>"],
        }
        node.schema["system_schema.column_masks"].append(mask_with_unknown_type)
        for number, cql_type in enumerate(masks):
            node.schema["system_schema.columns"].append(
                column("a", "t0", f"m{number}", type=cql_type)
            )
        async with connected(node) as (cluster, _):
            columns = cluster.metadata.keyspaces["a"].tables["t0"].columns
            for number, (_value, literal) in enumerate(masks.values()):
                assert columns[f"m{number}"].mask.arguments == (literal,)
            exported = cluster.metadata.keyspaces["b"].export_as_string()
            assert "a literal of type some_udt cannot be made" in exported


# -- errors ----------------------------------------------------------------------------------------


async def test_a_table_with_damaged_rows_does_not_affect_the_others() -> None:
    """A table with invalid rows has the error instead of its CQL; all other tables are complete."""
    with FakeNode() as node:
        node.schema = schema("a", tables=4)
        # Damage the columns of the tables t0 and t1, and the comment of the table t2.
        for row in node.schema["system_schema.columns"]:
            if row["table_name"] == "t0" and row["column_name"] == "c0":
                row["type"] = None
            if row["table_name"] == "t1":
                row["kind"] = "strange"
        for row in node.schema["system_schema.tables"]:
            if row["table_name"] == "t2":
                row["comment"] = Encoded(b"\xff\xfe")
        # Add a user-defined type that has more types than names, and an index without options.
        node.schema["system_schema.types"] = [
            {
                "keyspace_name": "a",
                "type_name": "u",
                "field_names": ["x"],
                "field_types": ["int", "int"],
            }
        ]
        index = {
            "keyspace_name": "a",
            "table_name": "t0",
            "index_name": "i",
            "kind": "KEYS",
            "options": {"target": "id"},
        }
        node.schema["system_schema.indexes"] = [
            index,
            {**index, "index_name": "j", "options": None},
        ]
        # The damage is limited to the three tables, and the table t3 is complete.
        async with connected(node) as (cluster, _):
            keyspace = cluster.metadata.keyspaces["a"]
            tables = keyspace.tables
            damaged = [name for name, table in tables.items() if table._exc_info is not None]
            assert damaged == ["t0", "t1", "t2"]
            assert "the type of column 'c0' is None" in tables["t0"].export_as_string()
            assert "unknown kind 'strange'" in tables["t1"].export_as_string()
            assert "cannot be decoded" in tables["t2"].export_as_string()
            assert list(tables["t2"].columns) == ["id", "c0"]
            assert tables["t3"].export_as_string().startswith("CREATE TABLE a.t3")
            assert {name: index.as_cql_query() for name, index in keyspace.indexes.items()} == {
                "i": "CREATE INDEX i ON a.t0 (id)",
                "j": "CREATE INDEX j ON a.t0 ()",
            }
            assert cluster.metadata.export_schema_as_string()


async def test_a_silent_node_fails_connect_but_optional_tables_may_be_refused() -> None:
    """If a query of a required table gets no response, `connect` fails.

    Optional tables, which not every server version has, may be missing. A missing table is queried
    only once.
    """
    with FakeNode() as node:
        # A query of a required table gets no response, so `connect` fails.
        node.prime(re.compile("system_schema.tables"), silence())
        cluster = aio.Cluster([node.address], port=node.port, control_connection_timeout=0.05)
        with pytest.raises(DriverException, match="Unable to connect") as caught:
            await cluster.connect()
        failure: Any = caught.value
        (host_error,) = failure.errors.values()
        assert isinstance(host_error, OperationTimedOut)
        await cluster.shutdown()
        # The node refuses queries of optional tables, and has no keyspaces. Then `connect`
        # succeeds.
        node.clear_primes()
        node.forget_requests()
        node.prime(re.compile("system_schema.column_masks"), error(ErrorCode.INVALID))
        node.prime(re.compile("system_virtual_schema"), error(ErrorCode.INVALID))
        node.prime(
            re.compile("system_schema.keyspaces"), rows([("keyspace_name", "text")], rows=[])
        )
        async with connected(node) as (cluster, _):
            assert not cluster.metadata.keyspaces
            await cluster.refresh_schema_metadata()
            assert len(schema_queries(node, "column_masks")) == 1


# -- ScyllaDB --------------------------------------------------------------------------------------


def make_scylladb(
    node: FakeNode, tables: list[dict[str, Any]], keyspaces: list[dict[str, Any]]
) -> None:
    """Let the node look like a ScyllaDB node.

    :param tables: the rows of `system_schema.scylla_tables`.
    :param keyspaces: the rows of `system_schema.scylla_keyspaces`.
    """
    # The sharding options show the driver that the node runs ScyllaDB.
    sharding = {
        "SHARD": "0",
        "NR_SHARDS": "1",
        "PARTITIONER": "org.apache.cassandra.dht.Murmur3Partitioner",
        "SHARDING_ALGORITHM": "biased-token-round-robin",
        "SHARDING_IGNORE_MSB": "12",
    }
    node.supported |= {f"SCYLLA_{name}": [value] for name, value in sharding.items()}
    table_columns = [
        ("keyspace_name", "text"),
        ("table_name", "text"),
        ("cdc", "map<text,text>"),
        ("tablets", "map<text,text>"),
    ]
    node.prime(re.compile("system_schema.scylla_tables"), rows(table_columns, tables))
    keyspace_columns = [("keyspace_name", "text"), ("initial_tablets", "int")]
    node.prime(re.compile("system_schema.scylla_keyspaces"), rows(keyspace_columns, keyspaces))


async def test_tables_that_scylladb_creates_itself_are_not_exported() -> None:
    """Exported CQL leaves out the tables and views that ScyllaDB creates itself.

    Here, these are the log of t0, which has CDC, and the view i_index of the index i. The table
    x_scylla_cdc_log and the view j_index only have such names, because there is no table x and no
    index j. They are exported.
    """
    cdc = {"enabled": "true", "preimage": "false", "ttl": "86400"}
    index = {"keyspace_name": "a", "table_name": "t0", "kind": "COMPOSITES"}
    view = {
        "keyspace_name": "a",
        "base_table_name": "t0",
        "include_all_columns": False,
        "where_clause": "id IS NOT NULL",
    }
    with FakeNode() as node:
        node.schema = schema("a", tables=1)
        extensions = {
            "paxos_grace_seconds": b"\x0a\0\0\0",  # 10, little-endian
            "scylla_tags": b"\0\0\0\0",  # a map without entries
            "other": b"x",
        }
        node.schema["system_schema.tables"][0]["extensions"] = extensions
        for log in ("t0_scylla_cdc_log", "x_scylla_cdc_log"):
            add_table(node.schema, "a", log)
        node.schema["system_schema.indexes"] = [
            {**index, "index_name": "i", "options": {"target": "c0"}}
        ]
        # A map with one entry. The count, and the length before each string, are little-endian.
        tag = bytes.fromhex("010000001a000000") + b"system:synchronous_updates" + b"\x04\0\0\0true"
        node.schema["system_schema.views"] = [
            {**view, "view_name": name, "extensions": {"scylla_tags": tag}}
            for name in ("i_index", "j_index")
        ]
        for name in ("i_index", "j_index"):
            node.schema["system_schema.columns"].append(column("a", name, "id", "partition_key", 0))
        names = [row["table_name"] for row in node.schema["system_schema.tables"]]
        scylla_rows = [
            {"keyspace_name": "a", "table_name": name} for name in (*names, "i_index", "j_index")
        ]
        scylla_rows[0] |= {"cdc": cdc, "tablets": {"min_tablet_count": "8"}}
        make_scylladb(node, scylla_rows, keyspaces=[])
        async with connected(node) as (cluster, _):
            keyspace = cluster.metadata.keyspaces["a"]
            assert sorted(keyspace.views) == ["i_index", "j_index"]
            assert len(keyspace.tables) == 3
            statements = [
                line
                for line in keyspace.export_as_string().splitlines()
                if line.startswith("CREATE")
            ]
            assert statements[0].startswith("CREATE KEYSPACE a ")
            assert statements[1:] == [
                "CREATE TABLE a.t0 (",
                "CREATE INDEX i ON a.t0 (c0);",
                "CREATE MATERIALIZED VIEW a.j_index AS",
                "CREATE TABLE a.x_scylla_cdc_log (",
            ]
            statement = keyspace.tables["t0"].as_cql_query()
            assert "cdc = {'enabled': 'true', 'preimage': 'false', 'ttl': '86400'}" in statement
            assert "paxos_grace_seconds = 10" in statement
            assert "tablets = {'min_tablet_count': '8'}" in statement
            assert "synchronous_updates" not in statement
            assert "synchronous_updates = true" in keyspace.views["j_index"].as_cql_query()
            assert "extensions" not in keyspace.export_as_string()
            assert keyspace.tables["t0"].extensions == extensions


async def test_index_targets_of_scylladb_become_cql() -> None:
    """Exported CQL converts the index targets that ScyllaDB stores.

    ScyllaDB stores index targets in a form that is not CQL.
    """
    types_by_column = {
        "c0": "int",
        "c1": "frozen<map<int, text>>",
        "c2": "set<int>",
        "C3": "map<text, int>",
        'C"4': "int",
    }
    # Maps an index target in system_schema.indexes to the target in CREATE INDEX.
    targets = {
        '{"pk":["id","C3"],"ck":["C\\"4"]}': '(id, "C3"), "C""4"',
        "c1": "full(c1)",
        "keys(c2)": "values(c2)",
        "keys(C3)": 'keys("C3")',
        'entries("C3")': 'entries("C3")',
        'C"4': '"C""4"',
        '"C""4"': '"C""4"',
        "c0": "c0",
    }
    with FakeNode() as node:
        node.schema = schema("a", tables=1)
        columns = [
            column("a", "t0", name, type=cql_type) for name, cql_type in types_by_column.items()
        ]
        node.schema["system_schema.columns"] = [
            *columns,
            column("a", "t0", "id", "partition_key", 0),
        ]
        node.schema["system_schema.indexes"] = [
            {
                "keyspace_name": "a",
                "table_name": "t0",
                "index_name": f"i{number}",
                "kind": "COMPOSITES",
                "options": {"target": target},
            }
            for number, target in enumerate(targets)
        ]
        async with connected(node) as (cluster, _):
            indexes = cluster.metadata.keyspaces["a"].indexes
            assert [index.as_cql_query() for index in indexes.values()] == [
                f"CREATE INDEX i{number} ON a.t0 ({target})"
                for number, target in enumerate(targets.values())
            ]


async def test_a_column_with_the_name_of_an_index_target() -> None:
    """If a column is named "values(v)", an index target "values(v)" means this column.

    Otherwise, it would mean the values of a collection.
    """
    with FakeNode() as node:
        node.schema = schema("a", tables=1)
        for name in ("v", "values(v)"):
            node.schema["system_schema.columns"].append(column("a", "t0", name, type="list<int>"))
        index = {"keyspace_name": "a", "table_name": "t0", "index_name": "i", "kind": "COMPOSITES"}
        node.schema["system_schema.indexes"] = [{**index, "options": {"target": "values(v)"}}]
        async with connected(node) as (cluster, _):
            index_metadata = cluster.metadata.keyspaces["a"].indexes["i"]
            assert index_metadata.as_cql_query() == "CREATE INDEX i ON a.t0 (values(v))"


@pytest.mark.parametrize(
    ("scylla_keyspaces", "clause"),
    [
        ([], "tablets = {'enabled': false}"),
        ([{"keyspace_name": "a", "initial_tablets": None}], "tablets = {'enabled': false}"),
        ([{"keyspace_name": "a", "initial_tablets": 0}], "tablets = {'enabled': true}"),
        (
            [{"keyspace_name": "a", "initial_tablets": 8}],
            "tablets = {'enabled': true, 'initial': 8}",
        ),
    ],
)
async def test_a_keyspaces_cql_has_its_tablets_option(
    scylla_keyspaces: list[dict[str, Any]], clause: str
) -> None:
    """Tablets are enabled if `scylla_keyspaces` has a row with a number for the keyspace.

    The number is the initial count of tablets, unless it is 0. A keyspace with LocalStrategy has no
    tablets option.
    """
    with FakeNode() as node:
        node.schema = schema("a", tables=0)
        local = {
            "keyspace_name": "l",
            "durable_writes": True,
            "replication": {"class": "LocalStrategy"},
        }
        node.schema["system_schema.keyspaces"].append(local)
        make_scylladb(node, tables=[], keyspaces=scylla_keyspaces)
        async with connected(node) as (cluster, _):
            create_keyspace = cluster.metadata.keyspaces["a"].as_cql_query()
            assert create_keyspace.endswith(f"durable_writes = true AND {clause}")
            assert cluster.metadata.keyspaces["l"].tablets is None
            await cluster.refresh_keyspace_metadata("a")
            assert cluster.metadata.keyspaces["a"].as_cql_query().endswith(clause)


async def test_altered_tablets_are_read_without_the_tables() -> None:
    """After ALTER KEYSPACE, only the options of the keyspace are read, and its tables are kept."""
    with FakeNode() as node:
        node.schema = schema("a", tables=1)
        make_scylladb(node, tables=[], keyspaces=[{"keyspace_name": "a", "initial_tablets": 8}])
        async with connected(node) as (cluster, session):
            table = cluster.metadata.keyspaces["a"].tables["t0"]
            make_scylladb(
                node, tables=[], keyspaces=[{"keyspace_name": "a", "initial_tablets": 16}]
            )
            node.prime(re.compile("ALTER"), schema_change("UPDATED", "KEYSPACE", "a"))
            await session.execute("ALTER KEYSPACE a WITH tablets = {'initial': 16}")
            assert cluster.metadata.keyspaces["a"].tablets == {"enabled": True, "initial": 16}
            assert cluster.metadata.keyspaces["a"].tables["t0"] is table
            # The tables were read only once, by `connect`.
            assert len(schema_queries(node, "tables")) == 1


# -- threads ---------------------------------------------------------------------------------------


def test_threads_get_the_same_objects() -> None:
    """Threads that access metadata at the same time get the same objects.

    Metadata objects are created when they are first accessed, and only once.
    """
    with FakeNode() as node:
        node.schema = schema("a", tables=50)
        with Cluster([node.address], port=node.port) as cluster, cluster.connect():
            ids_of_threads: list[list[Any]] = []
            thread_count = 8
            start = threading.Barrier(thread_count)

            # Each thread waits until all threads have started, and stores the ids of the objects it
            # gets.
            def read_tables() -> None:
                start.wait(WAIT)
                tables = cluster.metadata.keyspaces["a"].tables
                ids_of_threads.append([id(table) for table in tables.values()])

            threads = [threading.Thread(target=read_tables) for _ in range(thread_count)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(WAIT)
            assert len(ids_of_threads) == thread_count
            assert all(ids == ids_of_threads[0] for ids in ids_of_threads)


# -- endless pages ---------------------------------------------------------------------------------


ENDLESS = "SELECT * FROM system_schema.tables"


def page_of_tables(paging_state: bytes) -> Message:
    """Return a page with one row and this paging state, so that another page follows."""
    columns = [("keyspace_name", "text"), ("table_name", "text")]
    return rows(columns, [("a", "t")], paging_state=paging_state)


def repeat_page(request: Request) -> Message:
    """Respond to every request with the same paging state."""
    return page_of_tables(b"again")


def alternate_two_pages(request: Request) -> Message:
    """Respond with the paging states "one" and "two" alternately."""
    return page_of_tables(b"two" if request.paging_state == b"one" else b"one")


@pytest.mark.parametrize("answer", [repeat_page, alternate_two_pages])
@pytest.mark.simulated(False)
async def test_connect_fails_if_paging_states_repeat(answer: Any) -> None:
    """If a paging state repeats, `connect` fails.

    The node would send the same pages for ever.
    """
    with FakeNode() as node:
        node.schema = schema("a")
        node.prime(ENDLESS, answer)
        async with aio.Cluster([node.address], port=node.port) as cluster:
            with pytest.raises(NoHostAvailable, match="the same page again and again"):
                await asyncio.wait_for(cluster.connect(), WAIT)
        with (
            Cluster([node.address], port=node.port) as blocking_cluster,
            pytest.raises(NoHostAvailable, match="the same page"),
        ):
            blocking_cluster.connect()


def pages_without_end() -> Any:
    """Return a responder whose paging states are all different, so that the result never ends."""
    states = itertools.count()

    def answer(request: Request) -> Message:
        return page_of_tables(b"%d" % next(states))

    return answer


@pytest.mark.simulated(False)
async def test_connect_fails_if_pages_do_not_end_in_schema_read_timeout() -> None:
    """If pages never end, `connect` fails after `schema_read_timeout`, which the error names.

    Each page arrives in time, so no other timeout ends the reading.
    """
    with FakeNode() as node:
        node.schema = schema("a")
        node.prime(ENDLESS, pages_without_end())
        async with aio.Cluster([node.address], port=node.port, schema_read_timeout=0.05) as cluster:
            with pytest.raises(
                NoHostAvailable, match=r"could not be read from .* within 0.05 seconds"
            ):
                await asyncio.wait_for(cluster.connect(), WAIT)
        with (
            Cluster([node.address], port=node.port, schema_read_timeout=0.05) as blocking_cluster,
            pytest.raises(NoHostAvailable, match=r"Cluster\.schema_read_timeout"),
        ):
            blocking_cluster.connect()
