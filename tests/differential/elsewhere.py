"""Differences that stay, and that this lane cannot see: each with the tests that guard it."""

from __future__ import annotations

from tests.differential.compare import Defended

ELSEWHERE = [
    Defended(
        what=(
            "``RetryPolicy`` sends a request again after its connection broke only if the "
            "statement is idempotent (``is_idempotent``); otherwise the error is raised."
        ),
        why=("The server may have executed it. Sent twice, a counter counts twice."),
        test="tests/unit/policies/test_retry.py",
    ),
    Defended(
        what=("A blocking call in a callback raises ``RuntimeError``."),
        why=("It would wait for itself forever."),
        test="tests/unit/cluster/test_response_future.py",
    ),
    Defended(
        what=(
            "A ``Cluster`` made before a fork raises ``ConnectionShutdown`` in the child process."
        ),
        why=("Its connections and its thread belong to the parent: answers would go to either."),
        test="tests/unit/lifetimes/test_processes.py",
    ),
    Defended(
        what=(
            "``connection_class`` chooses no event loop. Classes of reactors can be imported "
            "without their packages; a program's own ``factory`` is called for each connection, in "
            "a thread."
        ),
        why=("There is one event loop, asyncio's."),
        test="tests/unit/drop_in/test_parts.py",
    ),
    Defended(
        what=(
            "``SystemExit`` and the like of a policy or a listener end the one request that it was "
            "called for, with a ``RuntimeError``."
        ),
        why=("The thread that it is raised in serves all other requests too."),
        test="tests/unit/faults",
    ),
    Defended(
        what=("Mappings of ``cluster.metadata`` refuse changes by the program."),
        why=("They are live: the next change of the schema would undo the program's own."),
        test="tests/unit/metadata",
    ),
    Defended(
        what=(
            "``Session.set_keyspace`` does not call ``execute_async``, so that tracers do not "
            "count its ``USE``."
        ),
        why=("The program did not make that request."),
        test="tests/unit/drop_in/test_tracers.py",
    ),
    Defended(
        what=(
            "Tracebacks (Python 3.11 and later) end with a note that says which host refused which "
            "statement. ``str(error)`` of a server's error is the same."
        ),
        why=("Nothing parses notes, and people look for both."),
        test="tests/unit/engine",
    ),
    Defended(
        what=(
            "The texts of errors that the driver itself raises, ``NoHostAvailable`` say, are its "
            "own. Their classes and attributes (``errors``) are the same."
        ),
        why=("They name the value, its type and the column or parameter."),
        test="tests/unit/faults",
    ),
    Defended(
        what=(
            "``str(bound_statement)`` shows the values as a list, also if they were given as a "
            "tuple."
        ),
        why=("Only their bytes are kept."),
        test="tests/unit/query/test_bound.py",
    ),
    Defended(
        what=(
            "``column_types`` of vectors: the class knows its subtype, and its ``typename`` is "
            "``vector``, not the server's Java class."
        ),
        why=("As for all other types."),
        test="tests/unit/drop_in/test_behaviour.py",
    ),
    Defended(
        what=(
            "``set_core_connections_per_host`` and its like count the connections to a host with "
            "every protocol version; the numbers of requests per connection are kept and change "
            "nothing."
        ),
        why=("One connection carries 32,768 requests at a time."),
        test="tests/unit/client/test_pool_sizes.py",
    ),
    Defended(
        what=(
            "``metrics_enabled=True`` needs no further package. Counters of ``Cluster.metrics`` "
            "are plain numbers, and ``request_timer`` is a mapping."
        ),
        why=("The package ``scales`` is not maintained."),
        test="tests/unit/test_metrics.py",
    ),
    Defended(
        what=(
            "``Cluster.session_id`` and the report of the settings "
            "(``driver_config_reporting_enabled``) go to ScyllaDB only."
        ),
        why=("Cassandra knows neither."),
        test="tests/unit/scylla",
    ),
    Defended(
        what=(
            "``scylla_cloud`` is refused: pass ``contact_points``, ``ssl_context`` and "
            "``auth_provider``."
        ),
        why=("Its bundle holds just these."),
        test="tests/unit/drop_in/test_settings.py",
    ),
    Defended(
        what=(
            "Graphs (``cassandra.graph``, ``execute_graph``), continuous paging, ``execute_as`` "
            "and Insights (``monitor_reporting_enabled=True``) raise ``NotImplementedError`` or "
            "``ValueError`` when they are used. Their names can be imported, and profiles for "
            "graphs can be part of a cluster's."
        ),
        why=("They belong to DataStax Enterprise, whose protocol this driver does not speak."),
        test="tests/unit/drop_in/test_enterprise.py",
    ),
    Defended(
        what=(
            "``SchemaParserV3`` and its like, ``get_schema_parser``, "
            "``HostConnection.borrow_connection``, ``Connection.send_msg`` and "
            "``ConnectionHeartbeat.start`` raise ``NotImplementedError``."
        ),
        why=(
            "They take, or are, a connection that blocks. ``Session.execute`` asks, and "
            "``Cluster.refresh_schema_metadata`` reads the schema."
        ),
        test="tests/unit/drop_in/test_parts.py",
    ),
    Defended(
        what=(
            "A subclass of a model that adds no column and no table name shares its parent's "
            "table, always."
        ),
        why=("There, it depends on which class is used first."),
        test="tests/unit/cqlengine/test_models.py",
    ),
    Defended(
        what=("``__default_ttl__`` of a model has no effect, as there, but `sync_table` warns."),
        why=("Its documentation promises one."),
        test="tests/integration/cqlengine",
    ),
    Defended(
        what=("Schemas of Cassandra before 3.0 are not read."),
        why=("Their maintenance ended in 2021, with the release of 4.0."),
        test="tests/unit/engine/schema",
    ),
]
