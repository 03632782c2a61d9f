"""Metadata of keyspaces, tables, types, functions, views and indexes, and schema changes.

Every function without an underscore is a program that each driver runs. `context` is a
`ProgramContext` (see `tests.differential.worker`): it gives sessions, and records outcomes.
`context.record(label, value)` records a value. `context.record_call(label, function, *arguments)`
calls the function, records its result or error, and returns the result, or None after an error.
"""

import re

from cassandra.cluster import Cluster
from cassandra.metadata import TableMetadata

OWN_KEYSPACE = True  # each program gets a new keyspace
STATEMENTS = False  # do not compare the requests that the node receives
# The schemas that programs create: for each name, CREATE statements, separated by ";".
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
# The programs that run several times, each with its cases.
EACH = {"made": list(MADE)}


def _text(value):
    """Return the clauses of a CQL statement, sorted and with normalized spacing.

    Drivers may format statements differently, and write options in another order.
    """
    return sorted(" ".join(value.replace("\n", " ").split()).replace(" AND ", "\n").split("\n"))


def _make(session, keyspace, name):
    for text in re.split(r";\s*(?=CREATE)", MADE[name]):
        session.execute(text.format(ks=keyspace))


def _record_metadata(context, cluster):
    """Record all metadata of the program's keyspace."""
    keyspace = cluster.metadata.keyspaces[context.keyspace]
    context.record(
        "keyspace",
        [
            keyspace.name,
            keyspace.durable_writes,
            keyspace.virtual,
            keyspace.replication_strategy.name,
        ],
    )
    for name, table in sorted(keyspace.tables.items()):
        context.record(
            f"{name} columns",
            [
                (column.name, column.cql_type, column.is_static, column.is_reversed)
                for column in table.columns.values()
            ],
        )
        context.record(
            f"{name} keys",
            [
                [column.name for column in part]
                for part in (table.partition_key, table.clustering_key, table.primary_key)
            ],
        )
        context.record(
            f"{name} options",
            {
                key: table.options.get(key)
                for key in ("comment", "gc_grace_seconds", "default_time_to_live")
            },
        )
        context.record(
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
        context.record_call(
            f"{name} query", lambda table=table: _text(table.as_cql_query(formatted=True))
        )
        context.record_call(f"{name} export", lambda table=table: _text(table.export_as_string()))
    for name, user_type in sorted(keyspace.user_types.items()):
        context.record(
            f"type {name}",
            [user_type.name, user_type.keyspace, user_type.field_names, user_type.field_types],
        )
        context.record_call(
            f"type {name} query",
            lambda user_type=user_type: _text(user_type.as_cql_query(formatted=True)),
        )
    for name, function in sorted(keyspace.functions.items()):
        context.record(
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
        context.record_call(
            f"function {name} query", lambda function=function: _text(function.as_cql_query())
        )
    for name, aggregate in sorted(keyspace.aggregates.items()):
        context.record(
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
        context.record_call(
            f"aggregate {name} query", lambda aggregate=aggregate: _text(aggregate.as_cql_query())
        )
    for name, index in sorted(keyspace.indexes.items()):
        context.record(
            f"index {name}", [index.name, index.table_name, index.kind, dict(index.index_options)]
        )
        context.record_call(f"index {name} query", lambda index=index: _text(index.as_cql_query()))
    for name, view in sorted(keyspace.views.items()):
        context.record(
            f"view {name}",
            [
                view.name,
                view.base_table_name,
                view.include_all_columns,
                view.where_clause,
                list(view.columns),
            ],
        )
        context.record_call(f"view {name} query", lambda view=view: _text(view.as_cql_query()))


def made(context, name):
    """Create a schema, and record its metadata."""
    session = context.new_cluster().connect()
    _make(session, context.keyspace, name)
    _record_metadata(context, session.cluster)
    # Another cluster, which reads the schema only now, must have the same metadata.
    other = context.new_cluster()
    other.connect()
    context.record(
        "the same when it is read",
        other.metadata.keyspaces[context.keyspace].export_as_string()
        == session.cluster.metadata.keyspaces[context.keyspace].export_as_string(),
    )


def refreshed(context):
    """Read the schema only when the application asks for it."""
    cluster = context.new_cluster(schema_metadata_enabled=False)
    session = cluster.connect()
    _make(session, context.keyspace, "types")
    context.record_call("not read", lambda: sorted(cluster.metadata.keyspaces))
    cluster.schema_metadata_enabled = True
    context.record_call("refresh", cluster.refresh_schema_metadata)
    context.record("read", sorted(cluster.metadata.keyspaces[context.keyspace].tables))
    for what in ("table", "user_type"):
        context.record_call(
            f"unknown {what}",
            getattr(cluster, f"refresh_{what}_metadata"),
            context.keyspace,
            "nosuch",
        )
    context.record_call("unknown keyspace", cluster.refresh_keyspace_metadata, "nosuch")


def futures_of_changes(context):
    """Create, change and drop a table; record the metadata and the rows after each change.

    The statement ``SELECT *`` is prepared only once, so it shows whether a driver notices the
    changed columns.
    """
    session = context.new_cluster().connect(context.keyspace)
    future = session.execute_async("CREATE TABLE t (k int PRIMARY KEY)")
    context.record("rows", list(future.result()))
    context.record("agreed", future.is_schema_agreed)
    context.record("there", "t" in session.cluster.metadata.keyspaces[context.keyspace].tables)
    session.execute("ALTER TABLE t ADD v text")
    context.record(
        "column", list(session.cluster.metadata.keyspaces[context.keyspace].tables["t"].columns)
    )
    prepared = session.prepare("SELECT * FROM t")
    session.execute("ALTER TABLE t ADD w int")
    session.execute("INSERT INTO t (k, v, w) VALUES (1, 'a', 2)")
    context.record("after", session.execute(prepared).one())
    session.execute("ALTER TABLE t DROP v")
    context.record("dropped", session.execute(prepared).one())
    session.execute("DROP TABLE t")
    context.record("gone", "t" in session.cluster.metadata.keyspaces[context.keyspace].tables)
    context.record_call("gone prepared", session.execute, prepared)


def made_by_hand(context):
    """Use metadata objects that were created without a connection."""
    table = TableMetadata("ks", "t")
    context.record_call(
        "empty", lambda: [table.name, table.keyspace_name, table.columns, table.options]
    )
    context.record_call("export", table.export_as_string)
    context.record_call("not connected", lambda: Cluster().metadata.keyspaces)
    context.record_call("no hosts", lambda: list(Cluster().metadata.all_hosts()))
    context.record_call("no control", lambda: Cluster().get_control_connection_host())
    context.record_call("refresh", lambda: Cluster().refresh_nodes())
    context.record_call("whole", lambda: context.new_cluster().metadata.export_schema_as_string())
