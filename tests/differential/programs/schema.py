"""Metadata of keyspaces, tables, types, functions, views and indexes, and schema changes.

Every function without an underscore is a program that each driver runs; `d` records the outcomes
(see `tests.differential.worker`).
"""

import re

from cassandra.cluster import Cluster
from cassandra.metadata import TableMetadata

OWN_KEYSPACE = True
STATEMENTS = False
MADE = {
    "plain": "CREATE TABLE {ks}.t (k int PRIMARY KEY, v text)",
    "composite": "CREATE TABLE {ks}.t (a int, b text, c int, d text, v blob, PRIMARY KEY ((a, b), c, d))"  # noqa: E501
    " WITH CLUSTERING ORDER BY (c DESC, d ASC)",
    "static": "CREATE TABLE {ks}.t (a int, b int, s text static, v int, PRIMARY KEY (a, b))",
    "collections": "CREATE TABLE {ks}.t (a int PRIMARY KEY, l list<int>, s set<text>, m map<text, "
    "frozen<list<int>>>, t tuple<int, text>, f frozen<set<int>>, n vector<float, 3>)",
    "case": 'CREATE TABLE {ks}."MixedCase" ("Key" int PRIMARY KEY, "select" text, a1 int)',
    "options": "CREATE TABLE {ks}.t (a int PRIMARY KEY) WITH comment = 'it''s' AND "
    "gc_grace_seconds = 500 AND default_time_to_live = 100 AND compaction = {{'class': "
    "'LeveledCompactionStrategy'}}",
    "counter": "CREATE TABLE {ks}.t (a int PRIMARY KEY, n counter)",
    "type": "CREATE TYPE {ks}.address (street text, numbers list<int>)",
    "types": "CREATE TYPE {ks}.a (x int); CREATE TYPE {ks}.b (y frozen<a>, z frozen<list<frozen<a>>>);"  # noqa: E501
    "CREATE TABLE {ks}.t (k int PRIMARY KEY, v frozen<b>)",
    "index": "CREATE TABLE {ks}.t (k int PRIMARY KEY, v text, m map<text, int>);"
    "CREATE INDEX by_v ON {ks}.t (v); CREATE INDEX by_m ON {ks}.t (KEYS(m))",
    "sai": "CREATE TABLE {ks}.t (k int PRIMARY KEY, v text);"
    "CREATE INDEX by_v ON {ks}.t (v) USING 'sai' WITH OPTIONS = {{'case_sensitive': 'false'}}",
    "view": "CREATE TABLE {ks}.t (k int PRIMARY KEY, v int, w text); CREATE MATERIALIZED VIEW {ks}.mv AS "  # noqa: E501
    "SELECT * FROM {ks}.t WHERE v IS NOT NULL AND k IS NOT NULL PRIMARY KEY (v, k)",
    "function": "CREATE FUNCTION {ks}.plus(a int, b int) CALLED ON NULL INPUT RETURNS int LANGUAGE java "  # noqa: E501
    "AS 'return a + b;'",
    "aggregate": "CREATE FUNCTION {ks}.acc(s int, v int) RETURNS NULL ON NULL INPUT RETURNS int LANGUAGE "  # noqa: E501
    "java AS 'return s + v;'; CREATE AGGREGATE {ks}.total(int) SFUNC acc STYPE int INITCOND 0",
}
EACH = {"made": list(MADE)}


def _text(value):
    """Return the clauses of a CQL statement, sorted and with normalized spacing.

    Drivers may format statements differently and write options in another order.
    """
    return sorted(" ".join(value.replace("\n", " ").split()).replace(" AND ", "\n").split("\n"))


def _make(session, keyspace, name):
    for text in re.split(r";\s*(?=CREATE)", MADE[name]):
        session.execute(text.format(ks=keyspace))


def _record_metadata(d, cluster):
    """Record everything that the metadata says about the program's keyspace."""
    keyspace = cluster.metadata.keyspaces[d.keyspace]
    d.show(
        "keyspace",
        [
            keyspace.name,
            keyspace.durable_writes,
            keyspace.virtual,
            keyspace.replication_strategy.name,
        ],
    )
    for name, table in sorted(keyspace.tables.items()):
        d.show(
            f"{name} columns",
            [
                (column.name, column.cql_type, column.is_static, column.is_reversed)
                for column in table.columns.values()
            ],
        )
        d.show(
            f"{name} keys",
            [
                [column.name for column in part]
                for part in (table.partition_key, table.clustering_key, table.primary_key)
            ],
        )
        d.show(
            f"{name} options",
            {
                key: table.options.get(key)
                for key in ("comment", "gc_grace_seconds", "default_time_to_live")
            },
        )
        d.show(
            f"{name} rest",
            [
                table.is_cql_compatible,
                table.virtual,
                sorted(table.indexes),
                sorted(table.views),
                sorted(table.triggers),
                table.keyspace_name,
            ],
        )
        d.tried(f"{name} query", lambda table=table: _text(table.as_cql_query(formatted=True)))
        d.tried(f"{name} export", lambda table=table: _text(table.export_as_string()))
    for name, user_type in sorted(keyspace.user_types.items()):
        d.show(
            f"type {name}",
            [user_type.name, user_type.keyspace, user_type.field_names, user_type.field_types],
        )
        d.tried(
            f"type {name} query",
            lambda user_type=user_type: _text(user_type.as_cql_query(formatted=True)),
        )
    for name, function in sorted(keyspace.functions.items()):
        d.show(
            f"function {name}",
            [
                function.name,
                function.argument_types,
                function.argument_names,
                function.return_type,
                function.language,
                function.body,
                function.called_on_null_input,
            ],
        )
        d.tried(f"function {name} query", lambda function=function: _text(function.as_cql_query()))
    for name, aggregate in sorted(keyspace.aggregates.items()):
        d.show(
            f"aggregate {name}",
            [
                aggregate.name,
                aggregate.argument_types,
                aggregate.state_func,
                aggregate.state_type,
                aggregate.final_func,
                aggregate.initial_condition,
                aggregate.return_type,
            ],
        )
        d.tried(
            f"aggregate {name} query", lambda aggregate=aggregate: _text(aggregate.as_cql_query())
        )
    for name, index in sorted(keyspace.indexes.items()):
        d.show(
            f"index {name}", [index.name, index.table_name, index.kind, dict(index.index_options)]
        )
        d.tried(f"index {name} query", lambda index=index: _text(index.as_cql_query()))
    for name, view in sorted(keyspace.views.items()):
        d.show(
            f"view {name}",
            [
                view.name,
                view.base_table_name,
                view.include_all_columns,
                view.where_clause,
                list(view.columns),
            ],
        )
        d.tried(f"view {name} query", lambda view=view: _text(view.as_cql_query()))


def made(d, name):
    session = d.cluster().connect()
    _make(session, d.keyspace, name)
    _record_metadata(d, session.cluster)
    # The metadata is the same for a cluster that reads the schema only now.
    other = d.cluster()
    other.connect()
    d.show(
        "the same when it is read",
        other.metadata.keyspaces[d.keyspace].export_as_string()
        == session.cluster.metadata.keyspaces[d.keyspace].export_as_string(),
    )


def refreshed(d):
    cluster = d.cluster(schema_metadata_enabled=False)
    session = cluster.connect()
    _make(session, d.keyspace, "types")
    d.tried("not read", lambda: sorted(cluster.metadata.keyspaces))
    cluster.schema_metadata_enabled = True
    d.tried("refresh", cluster.refresh_schema_metadata)
    d.show("read", sorted(cluster.metadata.keyspaces[d.keyspace].tables))
    for what in ("table", "user_type"):
        d.tried(
            f"unknown {what}", getattr(cluster, f"refresh_{what}_metadata"), d.keyspace, "nosuch"
        )
    d.tried("unknown keyspace", cluster.refresh_keyspace_metadata, "nosuch")


def futures_of_changes(d):
    session = d.cluster().connect(d.keyspace)
    future = session.execute_async("CREATE TABLE t (k int PRIMARY KEY)")
    d.show("rows", list(future.result()))
    d.show("agreed", future.is_schema_agreed)
    d.show("there", "t" in session.cluster.metadata.keyspaces[d.keyspace].tables)
    session.execute("ALTER TABLE t ADD v text")
    d.show("column", list(session.cluster.metadata.keyspaces[d.keyspace].tables["t"].columns))
    prepared = session.prepare("SELECT * FROM t")
    session.execute("ALTER TABLE t ADD w int")
    session.execute("INSERT INTO t (k, v, w) VALUES (1, 'a', 2)")
    d.show("after", session.execute(prepared).one())
    session.execute("ALTER TABLE t DROP v")
    d.show("dropped", session.execute(prepared).one())
    session.execute("DROP TABLE t")
    d.show("gone", "t" in session.cluster.metadata.keyspaces[d.keyspace].tables)
    d.tried("gone prepared", session.execute, prepared)


def made_by_hand(d):
    table = TableMetadata("ks", "t")
    d.tried("empty", lambda: [table.name, table.keyspace_name, table.columns, table.options])
    d.tried("export", table.export_as_string)
    d.tried("not connected", lambda: Cluster().metadata.keyspaces)
    d.tried("no hosts", lambda: list(Cluster().metadata.all_hosts()))
    d.tried("no control", lambda: Cluster().get_control_connection_host())
    d.tried("refresh", lambda: Cluster().refresh_nodes())
    d.tried("whole", lambda: d.cluster().metadata.export_schema_as_string())
