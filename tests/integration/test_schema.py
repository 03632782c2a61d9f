"""Schema metadata of real nodes: exports recreate the same schema, and changes are noticed.

The schema of the export tests has all types and options, and names that need quotes.
"""

from __future__ import annotations

from typing import Any

import pytest

from cassandra import aio
from cassandra.cluster import Cluster, Session
from cassandra.metadata import KeyspaceMetadata
from cassandra.query import dict_factory
from cassandra.testing import LocalCluster
from tests.waiting import until

from .conftest import connect, create_keyspace, new_keyspace_name

pytestmark = pytest.mark.integration

NAME = "Odd_Ks"  # the keyspace of the export tests

EVERYWHERE = [  # statements for all versions of Cassandra
    "CREATE KEYSPACE {ks} WITH replication = {{'class': 'NetworkTopologyStrategy', 'dc1': 1}} "
    "AND durable_writes = false",
    'CREATE TYPE {ks}.inner_type (a int, "Sel ect" text, "from" frozen<list<int>>)',
    'CREATE TYPE {ks}."Type Two" (i frozen<inner_type>, m map<text, frozen<inner_type>>, t '
    "tuple<int, frozen<inner_type>>)",
    'CREATE TYPE {ks}.a_outer (x frozen<"Type Two">, s set<frozen<list<frozen<"Type Two">>>>)',
    'CREATE FUNCTION {ks}.plus(a int, "B" int) RETURNS NULL ON NULL INPUT RETURNS int LANGUAGE '
    "java "
    "AS 'return a + B; // it''s $odd'",
    "CREATE FUNCTION {ks}.plus(a bigint, b bigint) CALLED ON NULL INPUT RETURNS bigint LANGUAGE "
    "java "
    "AS $$return a == null ? b : a;$$",
    "CREATE FUNCTION {ks}.dollars(a int) CALLED ON NULL INPUT RETURNS text LANGUAGE java AS "
    "'return \"$$\" + ''\"'';'",
    'CREATE FUNCTION {ks}."Fin"(a int) RETURNS NULL ON NULL INPUT RETURNS text LANGUAGE java AS '
    '$$return "x" + a;$$',
    "CREATE FUNCTION {ks}.takes_udt(a inner_type, l list<frozen<inner_type>>, t tuple<int, "
    "text>) CALLED ON NULL INPUT "
    "RETURNS int LANGUAGE java AS $$return 1;$$",
    "CREATE FUNCTION {ks}.to_text(s text, v int) CALLED ON NULL INPUT RETURNS text LANGUAGE java "
    "AS $$return s + v;$$",
    "CREATE FUNCTION {ks}.to_map(s map<text, int>, v int) CALLED ON NULL INPUT RETURNS map<text, "
    "int> LANGUAGE java "
    "AS $$return s;$$",
    "CREATE FUNCTION {ks}.no_args() CALLED ON NULL INPUT RETURNS int LANGUAGE java AS $$return "
    "1;$$",
    'CREATE TYPE {ks}."json" (json int, "cast" int, key int)',
    'CREATE FUNCTION {ks}."key"(key int, ttl int) CALLED ON NULL INPUT RETURNS int LANGUAGE java '
    "AS $$return 1;$$",
    'CREATE AGGREGATE {ks}."ttl"(int) SFUNC "key" STYPE int FINALFUNC "Fin"',
    'CREATE AGGREGATE {ks}.total(int) SFUNC plus STYPE int FINALFUNC "Fin" INITCOND 0',
    'CREATE AGGREGATE {ks}."To tal"(int) SFUNC plus STYPE int INITCOND -3',
    "CREATE AGGREGATE {ks}.texts(int) SFUNC to_text STYPE text INITCOND 'its'",
    "CREATE AGGREGATE {ks}.maps(int) SFUNC to_map STYPE map<text, int> INITCOND {{'a': 1}}",
    """CREATE TABLE {ks}."Odd_Table" (pk1 int, "PK two" text, c1 timeuuid, "C2" int, st text static,
         "select" frozen<map<text, frozen<list<int>>>>, udt frozen<a_outer>, loose inner_type, v map<text, int>, l list<text>,
         s set<int>, "full" frozen<set<int>>, "Select" text, "a""b" int, keyed int, PRIMARY KEY ((pk1, "PK two"), c1, "C2"))
       WITH CLUSTERING ORDER BY (c1 DESC, "C2" ASC) AND comment = 'it''s odd' AND gc_grace_seconds = 100
         AND compaction = {{'class': 'LeveledCompactionStrategy', 'sstable_size_in_mb': 100}}
         AND compression = {{'class': 'DeflateCompressor', 'chunk_length_in_kb': 32}} AND bloom_filter_fp_chance = 0.05
         AND caching = {{'keys': 'NONE', 'rows_per_partition': '10'}} AND speculative_retry = '99p'
         AND default_time_to_live = 864000""",  # noqa: E501
    'CREATE INDEX ON {ks}."Odd_Table" (keyed)',
    'CREATE INDEX "IdxSel" ON {ks}."Odd_Table" ("Select")',
    'CREATE INDEX of_values ON {ks}."Odd_Table" (values(v))',
    'CREATE INDEX of_keys ON {ks}."Odd_Table" (keys(v))',
    'CREATE INDEX of_entries ON {ks}."Odd_Table" (entries(v))',
    'CREATE INDEX of_list ON {ks}."Odd_Table" (l)',
    'CREATE INDEX of_full ON {ks}."Odd_Table" (full("full"))',
    'CREATE INDEX of_quote ON {ks}."Odd_Table" ("a""b")',
    "CREATE TABLE {ks}.counts (id uuid PRIMARY KEY, hits counter, misses counter)",
    """CREATE TABLE {ks}.simple (id int, c int, a text, "B" text, t text, dropped frozen<inner_type>, PRIMARY KEY (id, c))
       WITH compression = {{'enabled': false}} AND read_repair = 'NONE' AND additional_write_policy = '50p'""",  # noqa: E501
    "ALTER TABLE {ks}.simple DROP dropped",
    """CREATE CUSTOM INDEX sasi ON {ks}.simple (a) USING 'org.apache.cassandra.index.sasi.SASIIndex' WITH OPTIONS = {{
       'mode': 'CONTAINS', 'analyzer_class': 'org.apache.cassandra.index.sasi.analyzer.StandardAnalyzer',
       'case_sensitive': 'false'}}""",  # noqa: E501
    'CREATE CUSTOM INDEX "SasiB" ON {ks}.simple ("B") USING '
    "'org.apache.cassandra.index.sasi.SASIIndex'",
    """CREATE MATERIALIZED VIEW {ks}.by_a AS SELECT * FROM {ks}.simple
       WHERE id IS NOT NULL AND c IS NOT NULL AND a IS NOT NULL PRIMARY KEY (a, id, c)
       WITH CLUSTERING ORDER BY (id DESC, c ASC) AND comment = 'a view'""",
    """CREATE MATERIALIZED VIEW {ks}."By_B" AS SELECT id, c, "B", t FROM {ks}.simple
       WHERE id IS NOT NULL AND c IS NOT NULL AND "B" IS NOT NULL AND c > 3 PRIMARY KEY (("B", id), c)""",  # noqa: E501
    """CREATE TABLE {ks}.all_types (a ascii PRIMARY KEY, b bigint, c blob, d boolean, e date, f decimal, g double, h duration,
       i float, j inet, k smallint, l time, m timestamp, n timeuuid, o tinyint, p uuid, q varchar, r varint,
       s tuple<int, text, frozen<tuple<int>>>, t 'DynamicCompositeType(s=>UTF8Type,i=>Int32Type)')""",  # noqa: E501
]
FROM_5_0 = [  # statements for Cassandra 5.0 and later versions
    """CREATE TABLE {ks}.vectors (id int PRIMARY KEY, v vector<float, 3>, n vector<frozen<list<int>>, 2>, t text,
       m map<text, text>, "Q" text)""",  # noqa: E501
    "CREATE INDEX ann ON {ks}.vectors (v) USING 'sai' WITH OPTIONS = {{'similarity_function': "
    "'DOT_PRODUCT'}}",
    "CREATE CUSTOM INDEX sai_t ON {ks}.vectors (t) USING 'StorageAttachedIndex' "
    "WITH OPTIONS = {{'case_sensitive': 'false', 'normalize': 'true'}}",
    "CREATE CUSTOM INDEX sai_q ON {ks}.vectors (\"Q\") USING 'StorageAttachedIndex'",
    "CREATE INDEX sai_e ON {ks}.vectors (entries(m)) USING 'sai'",
    "CREATE FUNCTION {ks}.hide(a text, n int) CALLED ON NULL INPUT RETURNS text LANGUAGE java AS "
    '$$return "*";$$',
    """CREATE TABLE {ks}.masked (id int, c text MASKED WITH DEFAULT, st text static MASKED WITH mask_inner(1, null),
       a text MASKED WITH mask_inner(1, 2, '#'), b int MASKED WITH mask_replace(7), d text MASKED WITH {ks}.hide(3),
       e blob MASKED WITH mask_hash('SHA-512'), f text MASKED WITH mask_null(), g blob MASKED WITH mask_replace(0xcafe),
       h timestamp MASKED WITH mask_replace('2020-01-02T03:04:05.678Z'), i uuid MASKED WITH
       mask_replace(123e4567-e89b-12d3-a456-426614174000), j boolean MASKED WITH mask_replace(true),
       k date MASKED WITH mask_replace('2020-01-02'), l list<int> MASKED WITH mask_replace([1, 2]),
       m time MASKED WITH mask_replace('01:02:03'), n inet MASKED WITH mask_replace('10.0.0.1'),
       o tuple<int, text, frozen<tuple<text, time>>> MASKED WITH mask_replace((1, 'a:@b', (null, '01:02:03'))),
       p vector<float, 2> MASKED WITH mask_replace([1.5, 2.5]), q list<frozen<tuple<int, text>>> MASKED WITH
       mask_replace([(1, 'x')]), PRIMARY KEY (id, c))
       WITH allow_auto_snapshot = false AND incremental_backups = false""",  # noqa: E501
]

# The tables of system_schema that must have equal rows before and after an export.
SCHEMA_TABLES = (
    "keyspaces", "tables", "columns", "types", "indexes", "views", "functions", "aggregates",
    "column_masks",
)  # fmt: skip


def create_schema(session: Session, is_newest: bool) -> None:
    """Create the keyspace with all its types, functions, tables and indexes.

    :param is_newest: True if the node is Cassandra 5.0 or later.
    """
    statements = [*EVERYWHERE, *FROM_5_0] if is_newest else EVERYWHERE
    for statement in statements:
        session.execute(statement.format(ks=f'"{NAME}"'))


def rows_of(session: Session, is_newest: bool) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of system_schema about the keyspace, by table, without random ids.

    :param is_newest: True if the node is Cassandra 5.0 or later.
    """
    session.row_factory = dict_factory
    rows_by_table = {}
    for table in SCHEMA_TABLES:
        if table != "column_masks" or is_newest:
            rows = session.execute(
                f"SELECT * FROM system_schema.{table} WHERE keyspace_name = '{NAME}'"
            ).all()
            rows_by_table[table] = [
                {
                    column: value
                    for column, value in row.items()
                    if column not in ("id", "base_table_id")
                }
                for row in rows
            ]
    return rows_by_table


def statements_of(export: str) -> list[str]:
    """Split an export into statements.

    In this schema, each semicolon at the end of a line ends a statement.
    """
    return [statement.rstrip(";") for statement in export.split(";\n\n")]


def keyspace_of(cluster: Cluster) -> KeyspaceMetadata:
    """Return the driver's metadata of the keyspace."""
    metadata: KeyspaceMetadata = cluster.metadata.keyspaces[NAME]
    return metadata


def check_round_trip(local: LocalCluster, is_newest: bool) -> None:
    """Create the schema, export it, drop it, recreate it from the export, and compare both schemas.

    :param is_newest: True if the node is Cassandra 5.0 or later.
    """
    with connect(local) as cluster, cluster.connect() as session:
        session.default_timeout = 60
        create_schema(session, is_newest)
        try:
            rows_before = rows_of(session, is_newest)
            export = keyspace_of(cluster).export_as_string()
            # This other cluster object reads the schema once, after all changes. The first object
            # has followed each change, and must have the same result.
            with connect(local) as other_cluster, other_cluster.connect():
                assert keyspace_of(other_cluster).export_as_string() == export
            dropped_column = keyspace_of(cluster).tables["simple"].dropped_columns["dropped"]
            assert dropped_column.cql_type.startswith("frozen<tuple<")
            session.execute(f'DROP KEYSPACE "{NAME}"')
            assert NAME not in cluster.metadata.keyspaces
            for statement in statements_of(export):
                session.execute(statement)
            assert rows_of(session, is_newest) == rows_before
            assert keyspace_of(cluster).export_as_string() == export
            cluster.refresh_schema_metadata()
            assert keyspace_of(cluster).export_as_string() == export
            # Check that the driver could parse every keyspace and table, including system tables.
            for keyspace in cluster.metadata.keyspaces.values():
                assert keyspace._exc_info is None
                for table in keyspace.tables.values():
                    assert table._exc_info is None, table.name
            assert cluster.metadata.keyspaces["system_virtual_schema"].virtual
            assert cluster.metadata.keyspaces["system_views"].tables["settings"].virtual
            assert "CREATE TABLE system.local" in cluster.metadata.export_schema_as_string()
        finally:
            session.execute(f'DROP KEYSPACE IF EXISTS "{NAME}"')


def test_an_export_makes_the_same_schema(node: LocalCluster) -> None:
    check_round_trip(node, is_newest=True)


@pytest.mark.long
def test_an_export_makes_the_same_schema_on_older_versions(old_node: LocalCluster) -> None:
    check_round_trip(old_node, is_newest=False)


def test_changes_by_another_session_are_seen(node: LocalCluster) -> None:
    """The metadata of a cluster follows schema changes that another cluster's session makes."""
    name = new_keyspace_name()
    with (
        connect(node, schema_event_refresh_window=0.05) as watching_cluster,
        watching_cluster.connect(),
    ):

        def keyspaces() -> Any:
            """Return the keyspaces that the watching cluster knows now."""
            return watching_cluster.metadata.keyspaces

        with connect(node) as changing_cluster, changing_cluster.connect() as session:
            create_keyspace(session, name)
            until(lambda: name in keyspaces())
            assert watching_cluster.metadata.replication_of(name) is not None
            session.execute(f"CREATE TABLE {name}.t (id int PRIMARY KEY, a text)")
            until(lambda: "t" in keyspaces()[name].tables)
            table = keyspaces()[name].tables["t"]
            session.execute(f"ALTER TABLE {name}.t ADD b list<int>")
            until(lambda: "b" in keyspaces()[name].tables["t"].columns)
            # The change has made a new object. The table object that we got earlier is unchanged.
            assert list(table.columns) == ["id", "a"]
            session.execute(f"CREATE INDEX i ON {name}.t (a)")
            until(lambda: "i" in keyspaces()[name].indexes)
            session.execute(f"CREATE TYPE {name}.u (x int)")
            until(lambda: "u" in keyspaces()[name].user_types)
            session.execute(
                f"CREATE FUNCTION {name}.f(a int) CALLED ON NULL INPUT RETURNS int LANGUAGE java "
                f"AS $$return a;$$"
            )
            until(lambda: "f(int)" in keyspaces()[name].functions)
            session.execute(
                f"CREATE MATERIALIZED VIEW {name}.v AS SELECT * FROM {name}.t "
                "WHERE a IS NOT NULL AND id IS NOT NULL PRIMARY KEY (a, id)"
            )
            until(lambda: "v" in keyspaces()[name].tables["t"].views)
            session.execute(f"DROP MATERIALIZED VIEW {name}.v")
            until(lambda: "v" not in keyspaces()[name].views)
            session.execute(f"DROP TABLE {name}.t")
            until(lambda: not keyspaces()[name].tables)
            session.execute(f"DROP KEYSPACE {name}")
            until(lambda: name not in keyspaces())
            assert watching_cluster.metadata.replication_of(name) is None


def test_altering_a_table_updates_its_views(node: LocalCluster, keyspace: str) -> None:
    """After ALTER TABLE, the metadata of the table's views has the new columns and column names."""
    with (
        connect(node, schema_event_refresh_window=-1) as cluster,
        cluster.connect(keyspace) as session,
    ):
        session.execute("CREATE TABLE t (id int PRIMARY KEY, a int)")
        session.execute(
            "CREATE MATERIALIZED VIEW v AS SELECT * FROM t WHERE a IS NOT NULL AND id IS NOT "
            "NULL PRIMARY KEY (a, id)"
        )
        session.execute("ALTER TABLE t ADD b int")
        assert "b" in cluster.metadata.keyspaces[keyspace].views["v"].columns
        session.execute("ALTER TABLE t RENAME id TO other")
        assert cluster.metadata.keyspaces[keyspace].views["v"].clustering_key[0].name == "other"


def test_virtual_keyspaces_can_be_read_again(node: LocalCluster) -> None:
    """After a refresh of a virtual keyspace, its exported CQL is the same as before."""
    with connect(node) as cluster, cluster.connect():
        before = cluster.metadata.keyspaces["system_views"].export_as_string()
        cluster.refresh_keyspace_metadata("system_views")
        cluster.refresh_table_metadata("system_views", "settings")
        assert cluster.metadata.keyspaces["system_views"].export_as_string() == before


async def test_asyncio_without_schema_events_refreshes_when_asked(
    node: LocalCluster, keyspace: str
) -> None:
    """Without schema events, the driver notices other clients' changes only by a refresh."""
    async with aio.Cluster(
        node.contact_points, port=node.port, schema_event_refresh_window=-1
    ) as cluster:
        session = await cluster.connect(keyspace)
        await session.execute("CREATE TABLE t (id int PRIMARY KEY)")
        # The metadata has the new table at once: the driver knows its own sessions' schema changes
        # from the responses, without an event.
        assert "t" in cluster.metadata.keyspaces[keyspace].tables
        with (
            connect(node) as blocking_cluster,
            blocking_cluster.connect(keyspace) as blocking_session,
        ):
            blocking_session.execute("CREATE TABLE u (id int PRIMARY KEY)")
        assert "u" not in cluster.metadata.keyspaces[keyspace].tables
        await cluster.refresh_table_metadata(keyspace, "u")
        assert "u" in cluster.metadata.keyspaces[keyspace].tables
        await cluster.refresh_keyspace_metadata(keyspace)
        assert sorted(cluster.metadata.keyspaces[keyspace].tables) == ["t", "u"]
