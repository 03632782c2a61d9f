"""Statements, parameters and errors with which applications of other drivers could fail.

Every function without an underscore is a program that each driver runs. `context` is a
`ProgramContext` (see `tests.differential.worker`): it gives sessions, and records outcomes.
`context.record(label, value)` records a value. `context.record_call(label, function, *arguments)`
calls the function, records its result or error, and returns the result, or None after an error.
"""

import datetime
import logging
import uuid

from cassandra import ConsistencyLevel, InvalidRequest, OperationTimedOut
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile, NoHostAvailable
from cassandra.concurrent import execute_concurrent
from cassandra.policies import (
    FallthroughRetryPolicy,
    HostStateListener,
    RetryPolicy,
    RoundRobinPolicy,
    TokenAwarePolicy,
)
from cassandra.query import (
    UNSET_VALUE,
    BatchStatement,
    BatchType,
    SimpleStatement,
    dict_factory,
    tuple_factory,
)

# CQL that creates the tables and types of the programs; "KS." stands for the keyspace.
TABLES = [
    "CREATE TABLE KS.t (k int PRIMARY KEY, v text, l list<int>, m map<text, text>, s set<text>, "
    "b boolean, tm time)",
    "CREATE TABLE KS.n (k int PRIMARY KEY, n counter)",
]


def bound_with_parameters(context):
    """Execute bound statements with further parameters for `execute`."""
    session = context.shared_session
    insert = session.prepare("INSERT INTO t (k, v) VALUES (?, ?)")
    context.record_call("execute", session.execute, insert.bind((1, "a")), (2, "b"))
    context.record_call("empty", session.execute, insert.bind((3, "c")), ())
    context.record_call("dict", session.execute, insert.bind((4, "d")), {})
    context.record_call("concurrent", execute_concurrent, session, [(insert.bind((5, "e")), ())])


def empty_parameters(context):
    """Pass empty parameters to statements whose CQL contains "%"."""
    session = context.shared_session
    for key, parameters in enumerate(((), [], {}, None)):
        context.record_call(
            f"{parameters!r}",
            session.execute,
            f"INSERT INTO t (k, v) VALUES ({key}, 'a%%b')",
            parameters,
        )
        context.record_call(
            f"lone {parameters!r}",
            session.execute,
            f"INSERT INTO t (k, v) VALUES (1{key}, '1%')",
            parameters,
        )
        batch = BatchStatement()
        context.record_call(
            f"add {parameters!r}",
            batch.add,
            f"INSERT INTO t (k, v) VALUES (2{key}, 'x%')",
            parameters,
        )
        context.record_call(f"batch {parameters!r}", session.execute, batch)


def wrong_parameters(context):
    """Pass too few and too many parameters, and parameters of wrong names and types."""
    session = context.shared_session
    by_position = "INSERT INTO t (k, v) VALUES (%s, %s)"
    by_name = "INSERT INTO t (k, v) VALUES (%(k)s, %(v)s)"
    for parameters in ((1,), (1, "a", 2), [1, "a"], {1, 2}, "ab", "x", 5, {"k": 1}, iter((1, "a"))):
        context.record_call(
            f"positions {type(parameters).__name__} {parameters!r:.20}",
            session.execute,
            by_position,
            parameters,
        )
    for parameters in ({"k": 1}, {"k": 2, "v": "x", "z": 1}, (1, "a"), {"K": 1, "V": "a"}):
        context.record_call(f"names {parameters}", session.execute, by_name, parameters)
    insert = session.prepare("INSERT INTO t (k, v) VALUES (?, ?)")
    for index, parameters in enumerate(
        (
            (1,),
            (1, "a", 2),
            [7, "a"],
            "ab",
            5,
            {"k": 8},
            {"k": 9, "v": "x", "z": 1},
            {"v": "x"},
            (None, "a"),
            (UNSET_VALUE, "a"),
            (10, UNSET_VALUE),
            ("1", "a"),
            (1, 2),
            (2**40, "a"),
            {"K": 1},
        )
    ):
        context.record_call(f"prepared {index}", session.execute, insert, parameters)
        context.record_call(
            f"bind {index}", lambda parameters=parameters: list(insert.bind(parameters).values)
        )
    for query in ((1,), "SELECT", b"SELECT k FROM t", 5, None, SimpleStatement("SELECT k FROM t")):
        # Other drivers mark the host down after a query that they cannot encode, so the next query
        # needs a new session.
        session = context.new_session()
        context.record_call(
            f"prepare {query!r:.10}",
            lambda query=query, session=session: session.prepare(query).query_string,
        )
        context.record_call(f"query {query!r:.10}", context.new_session().execute, query)


def second_iteration(context):
    """Iterate twice over results of one page and of several pages."""
    session = context.new_session()
    for k in range(10):
        session.execute("INSERT INTO t (k, v) VALUES (%s, 'a')", (k,))
    for size in (None, 3, 4):
        session.default_fetch_size = size
        rows = session.execute("SELECT k FROM t")
        for _ in rows:
            break
        context.record(f"{size} after break", len(list(rows)))
        context.record(f"{size} again", list(rows))
        rows = session.execute("SELECT k FROM t")
        context.record(f"{size} any", any(row.k == 3 for row in rows))
        context.record(f"{size} rest", len(list(rows)))
        rows = session.execute("SELECT k FROM t")
        context.record(f"{size} first", next(iter(rows)))
        context.record(f"{size} all", len(rows.all()))
        for what in ("one", "all"):
            context.record_call(f"{size} {what} afterwards", getattr(rows, what))
        context.record_call(f"{size} bool", bool, rows)
        context.record_call(f"{size} current", lambda rows=rows: rows.current_rows)
        rows = session.execute("SELECT k FROM t")
        list(rows)
        context.record_call(f"{size} bool after a pass", bool, rows)
        context.record_call(f"{size} one after a pass", rows.one)
        context.record_call(f"{size} current after a pass", lambda rows=rows: rows.current_rows)
        context.record_call(f"{size} has_more_pages", lambda rows=rows: rows.has_more_pages)


def sequences_as_text(context):
    """Write Python sequences as literals into a statement."""
    session = context.shared_session
    for key, values in enumerate(((1, 2), [1, 2], {1, 2}, (), [], set())):
        context.record_call(
            f"list {values}", session.execute, "INSERT INTO t (k, l) VALUES (%s, %s)", (key, values)
        )
        context.record_call(f"encoded {values}", session.encoder.cql_encode_all_types, values)
        context.record_call(
            f"in {values}", session.execute, "SELECT k FROM t WHERE k IN %s", (values,)
        )
    encoder = context.new_session().encoder
    encoder.mapping[tuple] = encoder.cql_encode_tuple
    context.record_call("as tuple", encoder.cql_encode_all_types, (1, "a"))


def empty_batches(context):
    """Execute and inspect batches without statements."""
    batch = BatchStatement()
    context.record("bool", bool(batch))
    context.record_call("len", len, batch)
    context.record_call("execute", context.shared_session.execute, batch)
    batch.add("INSERT INTO t (k, v) VALUES (1, 'a')")
    context.record("full", bool(batch))
    batch.clear()
    context.record("cleared", bool(batch))


def missing_keyspaces(context):
    """Use keyspaces that do not exist, in each way of choosing a keyspace."""
    cluster = context.new_cluster()
    context.record_call("connect", cluster.connect, "nosuch")
    try:
        cluster.connect("nosuch2")
    except NoHostAvailable as error:
        context.record("errors", bool(error.errors))
    context.record_call("empty", lambda: context.new_cluster().connect("").keyspace)
    session = context.new_cluster().connect()
    context.record_call("set_keyspace", session.set_keyspace, "nosuch")
    context.record_call("USE", session.execute, "USE nosuch")
    context.record_call("assigned", setattr, session, "keyspace", "nosuch")
    context.record_call("query", session.execute, "SELECT k FROM t")
    context.record_call("set", session.set_keyspace, context.keyspace)
    context.record_call("now", session.execute, "SELECT k FROM t")
    context.record("keyspace", session.keyspace)


def no_host_left(context):
    """Execute with consistency levels that require more nodes than the cluster has."""
    session = context.shared_session
    context.record_call(
        "three",
        session.execute,
        SimpleStatement("SELECT k FROM t", consistency_level=ConsistencyLevel.THREE),
    )
    try:
        session.execute(
            SimpleStatement("SELECT k FROM t", consistency_level=ConsistencyLevel.THREE)
        )
    except Exception as error:
        (inner,) = error.errors.values()
        context.record("error", inner)
        context.record(
            "attributes", [inner.required_replicas, inner.alive_replicas, inner.consistency]
        )
    for policy in (RetryPolicy(), FallthroughRetryPolicy()):
        for level in (ConsistencyLevel.TWO, ConsistencyLevel.EACH_QUORUM, ConsistencyLevel.ALL):
            statement = SimpleStatement(
                "INSERT INTO t (k, v) VALUES (1, 'a')", consistency_level=level, retry_policy=policy
            )
            context.record_call(f"{type(policy).__name__} {level}", session.execute, statement)


class _Recording(RetryPolicy):
    """A retry policy that records its arguments, and returns `answer` for the first attempt."""

    def __init__(self, answer):
        self.answer, self.heard = answer, []

    def on_unavailable(self, query, consistency, required_replicas, alive_replicas, retry_num):
        self.heard.append(
            (type(query).__name__, consistency, required_replicas, alive_replicas, retry_num)
        )
        return self.answer if retry_num == 0 else (self.RETHROW, None)

    def on_request_error(self, query, consistency, error, retry_num):
        self.heard.append(("request error", consistency, type(error).__name__, retry_num))
        return self.RETHROW, None


def what_retry_policies_hear(context):
    """Record the arguments that a retry policy gets, for each decision that it may return."""
    session = context.shared_session
    for name, answer in {
        "rethrow": (RetryPolicy.RETHROW, None),
        "retry": (RetryPolicy.RETRY, ConsistencyLevel.ONE),
        "same": (RetryPolicy.RETRY, None),
        "ignore": (RetryPolicy.IGNORE, None),
        "next": (RetryPolicy.RETRY_NEXT_HOST, None),
        "nonsense": None,
        "number": (77, None),
    }.items():
        policy = _Recording(answer)
        statement = SimpleStatement(
            "SELECT k FROM t", retry_policy=policy, consistency_level=ConsistencyLevel.THREE
        )
        result = context.record_call(name, session.execute, statement)
        context.record(f"{name} heard", policy.heard)
        if result is not None:
            context.record_call(f"{name} rows", list, result)


def time_budgets(context):
    """Execute with unusual timeouts."""
    session = context.shared_session
    for timeout in (-0.1, 0, 0.0, None, 10, 1e9):
        context.record_call(timeout, session.execute, "SELECT k FROM t", timeout=timeout)
    for timeout in ("5", [], True, datetime.timedelta(seconds=1)):
        context.record_call(
            f"kind {timeout!r}", session.execute, "SELECT k FROM t", timeout=timeout
        )
    future = session.execute_async("SELECT k FROM t", timeout=-1)
    context.record_call("future", future.result)
    context.record_call("errors", lambda: OperationTimedOut({"h": 1}, "host").errors)
    context.record_call("last", lambda: OperationTimedOut({"h": 1}, "host").last_host)


class _Listener(HostStateListener):
    """Records which of its methods are called."""

    def __init__(self):
        self.heard = []

    def on_up(self, host):
        self.heard.append("on_up")

    def on_down(self, host):
        self.heard.append("on_down")

    def on_add(self, host):
        self.heard.append("on_add")

    def on_remove(self, host):
        self.heard.append("on_remove")


def listeners_at_connect(context):
    """Record which host events a listener gets when the cluster connects."""
    listener = _Listener()
    cluster = context.new_cluster()
    context.record_call("register", cluster.register_listener, listener)
    cluster.connect()
    context.record("heard", listener.heard)
    cluster.connect()
    context.record("second", listener.heard)
    late = _Listener()
    cluster.register_listener(late)
    cluster.unregister_listener(listener)
    cluster.refresh_nodes()
    context.record("late", [listener.heard, late.heard])
    context.record_call("unknown", cluster.unregister_listener, _Listener())


class _ServerWarnings(logging.Handler):
    """Records what the driver logs about warnings of the server."""

    def __init__(self):
        super().__init__()
        self.logged = []

    def emit(self, record):
        if record.levelno >= logging.WARNING and "Server warning" in record.getMessage():
            self.logged.append((record.name, record.levelname, record.getMessage()))


def server_warnings(context):
    """Record the warning about a count without a partition key, in the future and the log."""
    session = context.shared_session
    handler = _ServerWarnings()
    logger = logging.getLogger("cassandra")
    logger.addHandler(handler)
    try:
        future = session.execute_async("SELECT count(*) FROM t")
        future.result()
        context.record("warnings", future.warnings)
        context.record("logged", handler.logged)
        future = session.execute_async("SELECT k FROM t")
        future.result()
        context.record("none", future.warnings)
    finally:
        logger.removeHandler(handler)


def nulls_inside_collections(context):
    """Bind collections that contain nulls."""
    session = context.shared_session
    for column, value in (("m", {"a": None}), ("m", {None: "a"}), ("s", {None}), ("l", [None, 1])):
        insert = session.prepare(f"INSERT INTO t (k, {column}) VALUES (?, ?)")
        context.record_call(f"{column} {value}", session.execute, insert, (1, value))


def empty_settings(context):
    """Pass empty values and None as settings."""
    context.record_call(
        "paging_state",
        lambda: list(context.shared_session.execute("SELECT k FROM t", paging_state=b"")),
    )
    context.record_call(
        "paging_state None", context.shared_session.execute, "SELECT k FROM t", paging_state=None
    )
    policy = RoundRobinPolicy()
    context.record_call(
        "profiles", lambda: Cluster(load_balancing_policy=policy, execution_profiles={})
    )
    context.record_call(
        "profiles None", lambda: Cluster(load_balancing_policy=policy, execution_profiles=None)
    )
    context.record_call("points", lambda: Cluster([]))
    context.record_call("points None", lambda: Cluster(None).contact_points)
    context.record_call("points tuple", lambda: Cluster(("127.0.0.1",)).contact_points)
    context.record_call("points text", lambda: Cluster("127.0.0.1").contact_points)
    context.record_call("points default", lambda: Cluster().contact_points)


def unknown_user_types(context):
    """Register a class for a user type that does not exist."""

    class Pair:
        pass

    cluster = context.new_cluster()
    context.record_call("before", cluster.register_user_type, context.keyspace, "missing", Pair)
    context.record_call("connect", cluster.connect, context.keyspace)
    cluster = context.new_cluster()
    session = cluster.connect()
    context.record_call("after", cluster.register_user_type, context.keyspace, "missing", Pair)
    context.record_call("keyspace", cluster.register_user_type, "nosuch", "missing", Pair)
    context.record("kept", session.keyspace)


def default_policies(context):
    """Record the default policies, and what happens if policies and profiles are both set."""
    cluster = Cluster()
    context.record("balancing", cluster.load_balancing_policy)
    context.record("retry", cluster.default_retry_policy)
    context.record("profile", cluster.profile_manager.default.load_balancing_policy)
    context.record("is token aware", isinstance(cluster.load_balancing_policy, TokenAwarePolicy))
    cluster = Cluster(execution_profiles={EXEC_PROFILE_DEFAULT: ExecutionProfile()})
    context.record_call(
        "set balancing", setattr, cluster, "load_balancing_policy", RoundRobinPolicy()
    )
    context.record_call("set retry", setattr, cluster, "default_retry_policy", RetryPolicy())
    context.record_call(
        "both",
        lambda: Cluster(
            load_balancing_policy=RoundRobinPolicy(), execution_profiles={"a": ExecutionProfile()}
        ),
    )
    cluster = Cluster(load_balancing_policy=RoundRobinPolicy())
    context.record_call("profile beside", cluster.add_execution_profile, "a", ExecutionProfile())


def after_shutdown(context):
    """Use a session after it, or its cluster, was shut down."""
    session = context.new_session()
    prepared = session.prepare("SELECT k FROM t WHERE k = ?")
    session.shutdown()
    context.record("is_shutdown", session.is_shutdown)
    context.record_call("execute", session.execute, "SELECT k FROM t")
    context.record_call("prepared", session.execute, prepared, (1,))
    context.record_call("async", lambda: session.execute_async("SELECT k FROM t").result())
    context.record_call("prepare", session.prepare, "SELECT k FROM t")
    context.record_call("again", session.shutdown)
    cluster = context.new_cluster()
    other_session = cluster.connect()
    cluster.shutdown()
    context.record_call("of cluster", other_session.execute, "SELECT k FROM t")
    context.record_call("connect", cluster.connect)
    context.record("cluster", cluster.is_shutdown)


def counters_in_batches(context):
    """Put counter updates and other writes into batches of each type."""
    session = context.shared_session
    update = session.prepare("UPDATE n SET n = n + ? WHERE k = 1")
    insert = session.prepare("INSERT INTO t (k, v) VALUES (1, ?)")
    for kind in (BatchType.LOGGED, BatchType.UNLOGGED, BatchType.COUNTER):
        for name, statement, value in (("counter", update, 1), ("plain", insert, "a")):
            batch = BatchStatement(kind)
            context.record_call(f"add {kind.name} {name}", batch.add, statement, (value,))
            context.record_call(f"execute {kind.name} {name}", session.execute, batch)
            context.record_call(f"params {kind.name} {name}", session.execute, batch, (5,))
    batch = BatchStatement(BatchType.COUNTER)
    batch.add(update, (1,))
    context.record_call("mixed", batch.add, insert, ("a",))
    context.record_call("mixed execute", session.execute, batch)


def prepared_attributes(context):
    """Record the attributes of prepared and bound statements."""
    session = context.shared_session
    select = session.prepare("SELECT k, v FROM t WHERE k = ?")
    context.record("result", [tuple(column)[2:3] for column in select.result_metadata])
    context.record("result names", [column[2] for column in select.result_metadata])
    context.record(
        "columns",
        [
            (column.table_name, column.name, column.type.typename)
            for column in select.column_metadata
        ],
    )
    context.record("key", select.routing_key_indexes)
    context.record("idempotent", select.is_idempotent)
    context.record("level", select.consistency_level)
    context.record("serial", select.serial_consistency_level)
    context.record("query", select.query_string)
    context.record("keyspace", select.keyspace)
    context.record("fetch", select.fetch_size)
    context.record("text", str(select)[:20])
    insert = session.prepare("INSERT INTO t (k) VALUES (?)")
    context.record_call("no result", lambda: insert.result_metadata)
    bound = select.bind((1,))
    context.record(
        "bound",
        [
            list(bound.values),
            isinstance(bound.values, list),
            bound.routing_key,
            bound.keyspace,
            bound.fetch_size,
            bound.consistency_level,
            bound.is_idempotent,
            bound.prepared_statement is select,
        ],
    )
    for name, value in (
        ("consistency_level", ConsistencyLevel.ONE),
        ("fetch_size", 7),
        ("is_idempotent", True),
        ("serial_consistency_level", ConsistencyLevel.LOCAL_SERIAL),
        ("retry_policy", RetryPolicy()),
        ("custom_payload", {"a": b"b"}),
    ):
        setattr(select, name, value)
        context.record_call(f"handed on {name}", getattr, select.bind((1,)), name)


def booleans(context):
    """Bind values of several types to a boolean column."""
    session = context.shared_session
    insert = session.prepare("INSERT INTO t (k, b) VALUES (?, ?)")
    for key, value in enumerate((True, False, 0, 1, 2, -1, "x", "", [], [0], None, 0.0, 1.5)):
        context.record_call(f"{value!r}", session.execute, insert, (key, value))


def times_as_text(context):
    """Pass times as parameters of simple statements."""
    session = context.shared_session
    zone = datetime.timezone(datetime.timedelta(hours=2))
    for key, value in enumerate(
        (
            datetime.time(1, 2, 3),
            datetime.time(1, 2, 3, 4),
            datetime.time(1, 2, 3, tzinfo=zone),
            datetime.time(),
        )
    ):
        context.record_call(
            f"text {value}",
            session.execute,
            "INSERT INTO t (k, v) VALUES (%s, %s)",
            (key, str(value)),
        )
        context.record_call(
            f"time {value}", session.execute, "INSERT INTO t (k, tm) VALUES (%s, %s)", (key, value)
        )
        context.record_call(
            f"as text {value}",
            session.execute,
            "INSERT INTO t (k, v) VALUES (%s, %s)",
            (key, value),
        )


def row_factories_of_programs(context):
    """Use row factories that return unusual objects, or raise an error."""
    for name, factory in {
        "none": lambda names, rows: None,
        "generator": lambda names, rows: (row for row in rows),
        "empty": lambda names, rows: [],
        "dicts": lambda names, rows: [dict(zip(names, row, strict=False)) for row in rows],
        "number": lambda names, rows: 5,
        "names": lambda names, rows: names,
        "raises": lambda names, rows: 1 / 0,
    }.items():
        session = context.new_session()
        session.execute("INSERT INTO t (k, v) VALUES (1, 'a')")
        session.row_factory = factory
        for text in (
            "SELECT k, v FROM t",
            "SELECT k, v FROM t WHERE k = 77",
            "INSERT INTO t (k, v) VALUES (2, 'b')",
            "INSERT INTO t (k, v) VALUES (1, 'z') IF NOT EXISTS",
        ):
            rows = None
            try:
                rows = session.execute(text)
            except Exception as error:
                context.record(f"{name} execute {text}", error)
                continue
            context.record_call(f"{name} list {text}", list, rows)
            context.record_call(f"{name} one {text}", lambda: session.execute(text).one())
            context.record_call(f"{name} bool {text}", lambda: bool(session.execute(text)))
            context.record_call(f"{name} applied {text}", lambda: session.execute(text).was_applied)


def attributes_of_futures(context):
    """Record the attributes of response futures."""
    session = context.shared_session
    prepared = session.prepare("SELECT k FROM t WHERE k = ?")
    future = session.execute_async(prepared, (1,))
    future.result()
    context.record("prepared_statement", future.prepared_statement)
    context.record("query", future.query)
    context.record("session", future.session is session)
    context.record("warnings", future.warnings)
    context.record("payload", future.custom_payload)
    context.record("pages", future.has_more_pages)
    context.record("agreed", future.is_schema_agreed)
    context.record("timeout", future.timeout)
    context.record_call("traces", future.get_query_trace_ids)
    context.record_call("hosts", lambda: [str(host.address) for host in future.attempted_hosts])
    context.record_call("coordinator", lambda: str(future.coordinator_host))
    context.record("row_factory", future.row_factory)
    context.record("message", type(future.message).__name__)
    context.record_call("encoded", lambda: future.request_encoded_size > 10)
    future = session.execute_async("INSERT INTO t (k) VALUES (1)")
    context.record("statement", future.query)
    context.record("result", future.result())
    context.record_call("trace", future.get_query_trace)


def sessions_have(context):
    """Record the attributes of a session, and which values they accept."""
    session = context.new_session()
    context.record_call("submit", lambda: session.submit(lambda: 5).result(5))
    context.record_call("timeout", lambda: session.default_timeout)
    context.record_call("fetch", lambda: session.default_fetch_size)
    context.record_call("level", lambda: session.default_consistency_level)
    context.record_call("serial", lambda: session.default_serial_consistency_level)
    context.record_call("timestamps", lambda: session.use_client_timestamp)
    context.record_call("generator", lambda: session.timestamp_generator)
    context.record_call("factory", lambda: session.row_factory)
    context.record_call("hosts", lambda: len(list(session.hosts)))
    context.record_call("handler", lambda: session.client_protocol_handler)
    context.record_call("is_shutdown", lambda: session.is_shutdown)
    context.record_call(
        "pools", lambda: [state["open_count"] > 0 for state in session.get_pool_state().values()]
    )
    context.record_call("pool keys", lambda: sorted(next(iter(session.get_pool_state().values()))))
    context.record_call("get_pools", lambda: len(list(session.get_pools())))
    context.record_call("max", lambda: session.max_trace_wait)
    context.record_call("user types", lambda: session.user_type_registered)
    for name, value in (
        ("default_timeout", 3),
        ("default_timeout", None),
        ("default_timeout", -1),
        ("default_fetch_size", 0),
        ("default_fetch_size", None),
        ("default_fetch_size", "5"),
        ("default_consistency_level", 99),
        ("default_consistency_level", "ONE"),
        ("default_serial_consistency_level", ConsistencyLevel.ONE),
        ("default_serial_consistency_level", None),
        ("row_factory", 5),
    ):
        context.record_call(f"set {name} {value}", setattr, session, name, value)


def already_exists(context):
    """Record the errors for a table and a keyspace that exist already."""
    session = context.new_session()
    for text in (
        "CREATE TABLE t (k int PRIMARY KEY)",
        f"CREATE KEYSPACE {context.keyspace} WITH "
        "replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
    ):
        try:
            session.execute(text)
        except Exception as error:
            context.record(text[:15], error)
            context.record(f"{text[:15]} names", [error.keyspace, error.table])


def errors_of_the_server(context):
    """Record the errors for wrong statements, executed and prepared."""
    session = context.shared_session
    for text in (
        "SELECT",
        "SELECT x FROM t",
        "SELECT k FROM nosuch",
        "SELECT k FROM t WHERE v = 'a'",
        "INSERT INTO t (v) VALUES ('a')",
        "INSERT INTO t (k) VALUES ('a')",
        "DROP TABLE nosuch",
        "DROP KEYSPACE nosuch",
        "CREATE TABLE u (k int)",
        "ALTER TABLE t ADD v text",
        "DROP TABLE nosuch.t",
        "CREATE ROLE x",
        "LIST ROLES",
        "UPDATE n SET n = 5 WHERE k = 1",
        "",
        "   ",
        ";",
        "SELECT k FROM t;",
        "-- nothing",
        "SELECT k FROM t WHERE k = ?",
        "USE nosuch",
        "TRUNCATE nosuch",
        "SELECT k FROM t LIMIT 0",
        "SELECT k FROM t PER PARTITION LIMIT 1 ALLOW FILTERING",
    ):
        context.record_call(text, session.execute, text)
        context.record_call(f"prepare {text}", lambda text=text: session.prepare(text).query_string)


def light_weight_transactions(context):
    """Execute conditional statements with each row factory."""
    for factory in (None, dict_factory, tuple_factory):
        session = context.new_session()
        if factory:
            session.row_factory = factory
        name = getattr(factory, "__name__", "named")
        session.execute("DELETE FROM t WHERE k = 1")
        for text in (
            "INSERT INTO t (k, v) VALUES (1, 'a') IF NOT EXISTS",
            "INSERT INTO t (k, v) VALUES (1, 'b') IF NOT EXISTS",
            "UPDATE t SET v = 'c' WHERE k = 1 IF v = 'a'",
            "UPDATE t SET v = 'd' WHERE k = 1 IF v = 'nothing'",
            "UPDATE t SET v = 'd' WHERE k = 1 IF EXISTS",
            "DELETE FROM t WHERE k = 1 IF EXISTS",
            "DELETE FROM t WHERE k = 1 IF EXISTS",
            "BEGIN BATCH INSERT INTO t (k, v) VALUES (1, 'x') IF NOT EXISTS "
            "INSERT INTO t (k, l) VALUES (1, [1]) IF NOT EXISTS APPLY BATCH",
            "SELECT k FROM t",
            "INSERT INTO t (k) VALUES (99)",
        ):
            rows = context.record_call(f"{name} {text}", session.execute, text)
            if rows is not None:
                context.record_call(f"{name} applied {text}", lambda rows=rows: rows.was_applied)
                context.record_call(f"{name} one {text}", rows.one)
                context.record_call(
                    f"{name} applied again {text}", lambda rows=rows: rows.was_applied
                )


def consistency_levels(context):
    """Execute with each consistency level, and with values that are not consistency levels."""
    session = context.shared_session
    for level in range(12):
        statement = SimpleStatement("SELECT k FROM t", consistency_level=level)
        context.record_call(f"select {level}", session.execute, statement)
        statement = SimpleStatement("INSERT INTO t (k) VALUES (1)", consistency_level=level)
        context.record_call(f"insert {level}", session.execute, statement)
    # Other drivers mark the host down after a level that they cannot encode, so the next value
    # needs a new session.
    for level in ("ONE", None, -1, 99, 1.0, True):
        context.record_call(
            f"kind {level!r}",
            lambda level=level: context.new_session().execute(
                SimpleStatement("SELECT k FROM t", consistency_level=level)
            ),
        )
    for level in (
        ConsistencyLevel.SERIAL,
        ConsistencyLevel.LOCAL_SERIAL,
        ConsistencyLevel.ONE,
        0,
        None,
        "SERIAL",
    ):
        context.record_call(
            f"serial {level!r}",
            lambda level=level: context.new_session().execute(
                SimpleStatement(
                    "INSERT INTO t (k) VALUES (8) IF NOT EXISTS", serial_consistency_level=level
                )
            ),
        )
    context.record("names", dict(ConsistencyLevel.name_to_value.items()))
    context.record("values", ConsistencyLevel.value_to_name)


def keyspaces_of_statements(context):
    """Execute statements that name a keyspace, in a session that has no keyspace."""
    session = context.new_cluster().connect()
    statement = SimpleStatement("SELECT k FROM t", keyspace=context.keyspace)
    context.record_call("simple", session.execute, statement)
    context.record("attribute", statement.keyspace)
    context.record_call(
        "prepare", lambda: session.prepare("SELECT k FROM t", keyspace=context.keyspace).keyspace
    )
    context.record_call(
        "prepared",
        lambda: session.execute(
            session.prepare("SELECT k FROM t WHERE k = ?", keyspace=context.keyspace), (1,)
        ),
    )
    context.record_call("without", session.execute, "SELECT k FROM t")
    batch = BatchStatement()
    batch.add(f"INSERT INTO {context.keyspace}.t (k) VALUES (1)")
    context.record_call("batch", session.execute, batch)
    context.record("batch keyspace", batch.keyspace)


def uuids_and_dates(context):
    """Write timestamps of several Python types, and read them back."""
    session = context.new_session()
    session.execute(
        "CREATE TABLE IF NOT EXISTS times (k int PRIMARY KEY, ts timestamp, d date, u uuid)"
    )
    stamp = datetime.datetime(2011, 9, 28, 1, 2, 3, 456000)
    zone = datetime.timezone(datetime.timedelta(hours=-5))
    unique_id = uuid.UUID(int=5)
    insert = session.prepare("INSERT INTO times (k, ts, d, u) VALUES (?, ?, ?, ?)")
    text = "INSERT INTO times (k, ts, d, u) VALUES (%s, %s, %s, %s)"
    for key, when in enumerate(
        (stamp, stamp.replace(tzinfo=zone), stamp.date(), 5, 1.5, "2011-09-28", None)
    ):
        for way, statement in (("bound", insert), ("text", text)):
            context.record_call(
                f"{way} {when!r}",
                session.execute,
                statement,
                (key, when, datetime.date(2011, 9, 28), unique_id),
            )
            context.record_call(
                f"{way} read {when!r}", session.execute, "SELECT * FROM times WHERE k = %s", (key,)
            )
    session.execute("DROP TABLE times")


_ = InvalidRequest
