"""How this driver differs from other drivers: clusters, connections and policies."""

from __future__ import annotations

from cassandra.migrate.entries import Difference
from cassandra.migrate.forks import FORK
from cassandra.migrate.matchers import (
    BREAKS,
    DIFFERS,
    NOTE,
    CallOf,
    DerivedFrom,
    ModuleOf,
    NameOf,
    NoticedAs,
    Setting,
)
from cassandra.migrate.noticed import CALLBACK, CHANGE

# Functions and classes that the matchers below look for.
CLUSTER = "cassandra.cluster.Cluster"
SESSION = "cassandra.cluster.Session"
SETUP = "cassandra.cqlengine.connection.setup"
PROFILES = (
    "cassandra.cluster.ExecutionProfile",
    "cassandra.cluster.GraphExecutionProfile",
    "cassandra.cluster.GraphAnalyticsExecutionProfile",
)
EXECUTES = (f"{SESSION}.execute", f"{SESSION}.execute_async")
GRAPHS = (
    f"{SESSION}.execute_graph",
    f"{SESSION}.execute_graph_async",
    "cassandra.datastax.graph.fluent.DseGraph.traversal_source",
    "cassandra.datastax.graph.fluent.DseGraph.query_from_traversal",
)
POOL_SIZES = (
    f"{CLUSTER}.set_core_connections_per_host",
    f"{CLUSTER}.set_max_connections_per_host",
    f"{CLUSTER}.set_max_requests_per_connection",
    f"{CLUSTER}.set_min_requests_per_connection",
)
PARSERS = ("V22", "V3", "V4", "DSE60", "DSE67", "DSE68")
BLOCKING = (
    "cassandra.metadata.get_column_from_system_local",
    "cassandra.cluster.refresh_schema_and_set_result",
    "cassandra.connection.Connection.send_msg",
    "cassandra.connection.ConnectionHeartbeat.start",
    "cassandra.pool.HostConnection.borrow_connection",
    *(f"cassandra.metadata.SchemaParser{version}.get_all_keyspaces" for version in PARSERS),
)


GREENLETS = {"gevent", "eventlet"}  # with these, callbacks run in greenlets, and may wait

DRIVER = [
    Difference(
        key="retry-idempotent",
        what=(
            "``RetryPolicy`` sends a request again after its connection broke, or after a "
            "``ServerError``, only if the statement is idempotent (``is_idempotent``). Otherwise "
            "it is sent once, and the error is an instance of its own class and, for errors of "
            "the server, of ``NoHostAvailable``, which cassandra-driver raises after it has tried "
            "all hosts."
        ),
        why="The server may have executed it. Sent twice, a counter counts twice.",
    ),
    Difference(
        key="ignored-pages",
        what=(
            "If a retry policy ignores the error of a later page of a result, the error is raised. "
            "cassandra-driver requests the page again for as long as it fails. The errors of "
            "``USE``, and of conditional writes of the mapper, are raised, too."
        ),
        why=(
            "Rows would be missing, later statements would run in the old keyspace, and the write "
            "would seem to be applied."
        ),
        do="Return ``RETRY`` or ``RETRY_NEXT_HOST`` for reads, instead of ``IGNORE``.",
    ),
    Difference(
        key="no-time",
        what=(
            "With ``timeout=0`` nothing is sent: the request fails with ``OperationTimedOut`` at "
            "once. cassandra-driver sends the request first."
        ),
        why="Nobody would learn whether it was executed.",
        do=(
            "For a write that need not be waited for, call ``execute_async`` without ``timeout=0``."
        ),
        matchers=(Setting(DIFFERS, EXECUTES, "timeout", values=(0, 0.0)),),
    ),
    Difference(
        key="callbacks",
        what="A blocking call in a callback raises ``RuntimeError``.",
        why="It would wait for itself forever.",
        do="Use ``execute_async`` and ``add_callbacks`` there, or hand the work to a thread.",
        matchers=(
            NoticedAs(BREAKS, CALLBACK, unless=lambda program: bool(program.imports & GREENLETS)),
        ),
    ),
    Difference(
        key="forks",
        what="A ``Cluster`` made before a fork raises ``ConnectionShutdown`` in the child process.",
        why="Its connections and its thread belong to the parent: answers would go to either.",
        do="Make the ``Cluster`` in each child process.",
        matchers=(NoticedAs(DIFFERS, FORK, unless=lambda program: not program.forks),),
    ),
    Difference(
        key="connection-class",
        what=(
            "``connection_class`` chooses no event loop. Classes of reactors can be imported "
            "without their packages. The ``factory`` of a class of your own is called for each "
            "connection, in a thread."
        ),
        why="There is one event loop, asyncio's.",
        do="Leave ``connection_class`` out.",
        matchers=(
            Setting(NOTE, (CLUSTER, SETUP), "connection_class", is_stored=True),
            DerivedFrom(DIFFERS, "cassandra.connection.Connection"),
        ),
    ),
    Difference(
        key="system-exit",
        what=(
            "``SystemExit`` and the like of a policy or a listener end the one request that it "
            "was called for, with a ``RuntimeError``."
        ),
        why="The thread that it is raised in serves all other requests too.",
    ),
    Difference(
        key="metadata-read-only",
        what="Mappings of ``cluster.metadata`` refuse changes by the application.",
        why="They are live: the next change of the schema would undo the application's change.",
        do="Change a copy: ``dict(keyspace.tables)``.",
        matchers=(NoticedAs(BREAKS, CHANGE),),
    ),
    Difference(
        key="named-keyspaces",
        what=(
            "The ``keyspace`` of a ``SimpleStatement``, a ``BatchStatement`` or a call of "
            "``prepare`` applies with every version of the protocol. Before version 5, "
            "cassandra-driver executes such a statement in the keyspace of the session, and "
            "refuses to prepare it. The further pages of a result are read in the keyspace of the "
            "first page, also after a ``USE``. A prepared statement that the server has forgotten "
            "is prepared again in its own keyspace."
        ),
        why="The application would read or write rows of another keyspace without an error.",
        do=(
            "Leave ``keyspace`` out of statements that are to be executed in the session's "
            "keyspace."
        ),
    ),
    Difference(
        key="set-keyspace",
        what=(
            "``Session.set_keyspace`` does not call ``execute_async``, so that tracers do not "
            "count its ``USE``."
        ),
        why="The program did not make that request.",
    ),
    Difference(
        key="replaced-handlers",
        what=(
            "If ``encode_message`` or ``decode_message`` of ``ProtocolHandler`` itself is "
            "replaced, sessions call the replacement only if they are created afterwards, and "
            "only for their own requests."
        ),
        why="The driver encodes and decodes the messages of the default handler itself, faster.",
        do="Replace it before ``connect``, or assign a subclass to ``client_protocol_handler``.",
    ),
    Difference(
        key="error-notes",
        what=(
            "Tracebacks (Python 3.11 and later) end with a note that says which host refused "
            "which statement. ``str(error)`` of a server's error is the same."
        ),
        why="Nothing parses notes, and people look for both.",
    ),
    Difference(
        key="error-texts",
        what=(
            "Errors that the driver itself raises, such as ``NoHostAvailable``, have other "
            "messages. Their classes and attributes (``errors``) are the same."
        ),
        why="They name the value, its type and the column or parameter.",
    ),
    Difference(
        key="bound-str",
        what=(
            "``str(bound_statement)`` shows the values as a list, also if they were given as a "
            "tuple."
        ),
        why="Only their bytes are kept.",
    ),
    Difference(
        key="vector-types",
        what=(
            "``column_types`` of vectors: the class knows its subtype, and its ``typename`` is "
            "``vector``, not the server's Java class."
        ),
        why="The classes of all other types have their CQL names, too.",
    ),
    Difference(
        key="connection-counts",
        what=(
            "``set_core_connections_per_host`` and its like count the connections to a host with "
            "every protocol version; the numbers of requests per connection are kept and change "
            "nothing."
        ),
        why="One connection carries 32,768 requests at a time.",
        do="Remove such calls if their purpose was more requests at a time.",
        matchers=(CallOf(NOTE, callees=POOL_SIZES),),
    ),
    Difference(
        key="prepare-scope",
        what=(
            "``prepare_on_all_hosts`` and ``reprepare_on_up`` prepare statements on the hosts of "
            "the local data centre. Elsewhere they are prepared when they are first executed."
        ),
        why="Remote hosts get requests only if the local ones fail.",
        do='Pass ``prepare_scope="all"`` to prepare them on remote hosts, too.',
    ),
    Difference(
        key="metrics",
        what=(
            "``metrics_enabled=True`` needs no further package. Counters of ``Cluster.metrics`` "
            "are plain numbers, and ``request_timer`` is a mapping. ``other_errors`` also counts "
            "client time-outs and invalid requests."
        ),
        why=(
            "The package ``scales`` is not maintained. Errors that no counter counts would not be "
            "noticed."
        ),
        do="Read ``cluster.metrics`` instead of the statistics of ``scales``.",
        matchers=(
            Setting(NOTE, (CLUSTER,), "metrics_enabled", values=(True,)),
            ModuleOf(DIFFERS, ("greplin.scales",)),
        ),
    ),
    Difference(
        key="session-id",
        what=(
            "``Cluster.session_id`` and the report of the settings "
            "(``driver_config_reporting_enabled``) go to ScyllaDB only."
        ),
        why="Cassandra knows neither.",
    ),
    Difference(
        key="scylla-cloud",
        what=(
            "``scylla_cloud`` is refused: pass ``contact_points``, ``ssl_context`` and "
            "``auth_provider``."
        ),
        why="Its bundle holds just these.",
        do="Pass the contents of the bundle by these settings.",
        matchers=(Setting(BREAKS, (CLUSTER, SETUP), "scylla_cloud", is_stored=True),),
    ),
    Difference(
        key="enterprise",
        what=(
            "Graphs (``cassandra.graph``, ``execute_graph``), continuous paging, ``execute_as`` "
            "and Insights (``monitor_reporting_enabled=True``) raise ``NotImplementedError`` or "
            "``ValueError`` when they are used. Their names can be imported, and profiles for "
            "graphs can be part of a cluster's."
        ),
        why="They belong to DataStax Enterprise, whose protocol this driver does not speak.",
        do="Stay with the other driver for DataStax Enterprise, or remove the use.",
        matchers=(
            CallOf(BREAKS, callees=GRAPHS, methods=("execute_graph", "execute_graph_async")),
            Setting(
                BREAKS,
                (CLUSTER, SETUP),
                "monitor_reporting_enabled",
                values=(True,),
                is_stored=True,
            ),
            Setting(BREAKS, PROFILES, "continuous_paging_options"),
            Setting(BREAKS, EXECUTES, "execute_as"),
            NameOf(NOTE, ("cassandra.graph", "cassandra.datastax.graph"), is_import=True),
        ),
    ),
    Difference(
        key="blocking-parts",
        what=(
            "``SchemaParserV3`` and its like, "
            "``HostConnection.borrow_connection``, ``Connection.send_msg`` and "
            "``ConnectionHeartbeat.start`` raise ``NotImplementedError``."
        ),
        why=(
            "They take, or are, a connection that blocks. ``Session.execute`` asks, and "
            "``Cluster.refresh_schema_metadata`` reads the schema."
        ),
        do="Use ``Session.execute``, and ``Cluster.refresh_schema_metadata``.",
        matchers=(CallOf(BREAKS, callees=BLOCKING, methods=("borrow_connection",)),),
    ),
    Difference(
        key="old-schemas",
        what="Schemas of Cassandra before 3.0 are not read.",
        why="Their maintenance ended in 2021, with the release of 4.0.",
    ),
]
