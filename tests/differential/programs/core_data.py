"""Statements, parameters and errors with which applications of other drivers once failed.

Every function without an underscore is a program that each driver runs; `d` records the outcomes
(see `tests.differential.worker`).
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

TABLES = [
    "CREATE TABLE KS.t (k int PRIMARY KEY, v text, l list<int>, m map<text, text>, s set<text>, "
    "b boolean, tm time)",
    "CREATE TABLE KS.n (k int PRIMARY KEY, n counter)",
]


def bound_with_parameters(d):
    s = d.shared
    insert = s.prepare("INSERT INTO t (k, v) VALUES (?, ?)")
    d.tried("execute", s.execute, insert.bind((1, "a")), (2, "b"))
    d.tried("empty", s.execute, insert.bind((3, "c")), ())
    d.tried("dict", s.execute, insert.bind((4, "d")), {})
    d.tried("concurrent", execute_concurrent, s, [(insert.bind((5, "e")), ())])


def empty_parameters(d):
    s = d.shared
    for key, parameters in enumerate(((), [], {}, None)):
        d.tried(
            f"{parameters!r}", s.execute, f"INSERT INTO t (k, v) VALUES ({key}, 'a%%b')", parameters
        )
        d.tried(
            f"lone {parameters!r}",
            s.execute,
            f"INSERT INTO t (k, v) VALUES (1{key}, '1%')",
            parameters,
        )
        batch = BatchStatement()
        d.tried(
            f"add {parameters!r}",
            batch.add,
            f"INSERT INTO t (k, v) VALUES (2{key}, 'x%')",
            parameters,
        )
        d.tried(f"batch {parameters!r}", s.execute, batch)


def wrong_parameters(d):
    s = d.shared
    text = "INSERT INTO t (k, v) VALUES (%s, %s)"
    named = "INSERT INTO t (k, v) VALUES (%(k)s, %(v)s)"
    for parameters in ((1,), (1, "a", 2), [1, "a"], {1, 2}, "ab", "x", 5, {"k": 1}, iter((1, "a"))):
        d.tried(
            f"positions {type(parameters).__name__} {parameters!r:.20}", s.execute, text, parameters
        )
    for parameters in ({"k": 1}, {"k": 2, "v": "x", "z": 1}, (1, "a"), {"K": 1, "V": "a"}):
        d.tried(f"names {parameters}", s.execute, named, parameters)
    insert = s.prepare("INSERT INTO t (k, v) VALUES (?, ?)")
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
        d.tried(f"prepared {index}", s.execute, insert, parameters)
        d.tried(f"bind {index}", lambda parameters=parameters: insert.bind(parameters).values)
    for query in ((1,), "SELECT", b"SELECT k FROM t", 5, None, SimpleStatement("SELECT k FROM t")):
        d.tried(f"prepare {query!r:.10}", lambda query=query: s.prepare(query).query_string)
        d.tried(f"query {query!r:.10}", s.execute, query)


def second_iteration(d):
    s = d.session()
    for k in range(10):
        s.execute("INSERT INTO t (k, v) VALUES (%s, 'a')", (k,))
    for size in (None, 3, 4):
        s.default_fetch_size = size
        rows = s.execute("SELECT k FROM t")
        for _ in rows:
            break
        d.show(f"{size} after break", len(list(rows)))
        d.show(f"{size} again", list(rows))
        rows = s.execute("SELECT k FROM t")
        d.show(f"{size} any", any(row.k == 3 for row in rows))
        d.show(f"{size} rest", len(list(rows)))
        rows = s.execute("SELECT k FROM t")
        d.show(f"{size} first", next(iter(rows)))
        d.show(f"{size} all", len(rows.all()))
        for what in ("one", "all"):
            d.tried(f"{size} {what} afterwards", getattr(rows, what))
        d.tried(f"{size} bool", bool, rows)
        d.tried(f"{size} current", lambda rows=rows: rows.current_rows)
        rows = s.execute("SELECT k FROM t")
        list(rows)
        d.tried(f"{size} bool after a pass", bool, rows)
        d.tried(f"{size} one after a pass", rows.one)
        d.tried(f"{size} current after a pass", lambda rows=rows: rows.current_rows)
        d.tried(f"{size} has_more_pages", lambda rows=rows: rows.has_more_pages)


def sequences_as_text(d):
    s = d.shared
    for key, values in enumerate(((1, 2), [1, 2], {1, 2}, (), [], set())):
        d.tried(f"list {values}", s.execute, "INSERT INTO t (k, l) VALUES (%s, %s)", (key, values))
        d.tried(f"encoded {values}", s.encoder.cql_encode_all_types, values)
        d.tried(f"in {values}", s.execute, "SELECT k FROM t WHERE k IN %s", (values,))
    s2 = d.session()
    s2.encoder.mapping[tuple] = s2.encoder.cql_encode_tuple
    d.tried("as tuple", s2.encoder.cql_encode_all_types, (1, "a"))


def empty_batches(d):
    batch = BatchStatement()
    d.show("bool", bool(batch))
    d.tried("len", len, batch)
    d.tried("execute", d.shared.execute, batch)
    batch.add("INSERT INTO t (k, v) VALUES (1, 'a')")
    d.show("full", bool(batch))
    batch.clear()
    d.show("cleared", bool(batch))


def missing_keyspaces(d):
    cluster = d.cluster()
    d.tried("connect", cluster.connect, "nosuch")
    try:
        cluster.connect("nosuch2")
    except NoHostAvailable as error:
        d.show("errors", bool(error.errors))
    d.tried("empty", lambda: d.cluster().connect("").keyspace)
    session = d.cluster().connect()
    d.tried("set_keyspace", session.set_keyspace, "nosuch")
    d.tried("USE", session.execute, "USE nosuch")
    d.tried("assigned", setattr, session, "keyspace", "nosuch")
    d.tried("query", session.execute, "SELECT k FROM t")
    d.tried("set", session.set_keyspace, d.keyspace)
    d.tried("now", session.execute, "SELECT k FROM t")
    d.show("keyspace", session.keyspace)


def no_host_left(d):
    s = d.shared
    d.tried(
        "three",
        s.execute,
        SimpleStatement("SELECT k FROM t", consistency_level=ConsistencyLevel.THREE),
    )
    try:
        s.execute(SimpleStatement("SELECT k FROM t", consistency_level=ConsistencyLevel.THREE))
    except Exception as error:
        (inner,) = error.errors.values()
        d.show("error", inner)
        d.show("attributes", [inner.required_replicas, inner.alive_replicas, inner.consistency])
    for policy in (RetryPolicy(), FallthroughRetryPolicy()):
        for level in (ConsistencyLevel.TWO, ConsistencyLevel.EACH_QUORUM, ConsistencyLevel.ALL):
            statement = SimpleStatement(
                "INSERT INTO t (k, v) VALUES (1, 'a')", consistency_level=level, retry_policy=policy
            )
            d.tried(f"{type(policy).__name__} {level}", s.execute, statement)


class _Recording(RetryPolicy):
    """Records its arguments, and answers the first attempt with `answer`."""

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


def what_retry_policies_hear(d):
    s = d.shared
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
        result = d.tried(name, s.execute, statement)
        d.show(f"{name} heard", policy.heard)
        if result is not None:
            d.tried(f"{name} rows", list, result)


def time_budgets(d):
    s = d.shared
    for timeout in (-0.1, 0, 0.0, None, 10, 1e9):
        d.tried(timeout, s.execute, "SELECT k FROM t", timeout=timeout)
    for timeout in ("5", [], True, datetime.timedelta(seconds=1)):
        d.tried(f"kind {timeout!r}", s.execute, "SELECT k FROM t", timeout=timeout)
    future = s.execute_async("SELECT k FROM t", timeout=-1)
    d.tried("future", future.result)
    d.tried("errors", lambda: OperationTimedOut({"h": 1}, "host").errors)
    d.tried("last", lambda: OperationTimedOut({"h": 1}, "host").last_host)


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


def listeners_at_connect(d):
    listener = _Listener()
    cluster = d.cluster()
    d.tried("register", cluster.register_listener, listener)
    cluster.connect()
    d.show("heard", listener.heard)
    cluster.connect()
    d.show("second", listener.heard)
    late = _Listener()
    cluster.register_listener(late)
    cluster.unregister_listener(listener)
    cluster.refresh_nodes()
    d.show("late", [listener.heard, late.heard])
    d.tried("unknown", cluster.unregister_listener, _Listener())


class _ServerWarnings(logging.Handler):
    """Records what the driver logs about warnings of the server."""

    def __init__(self):
        super().__init__()
        self.logged = []

    def emit(self, record):
        if record.levelno >= logging.WARNING and "Server warning" in record.getMessage():
            self.logged.append((record.name, record.levelname, record.getMessage()))


def server_warnings(d):
    s = d.shared
    handler = _ServerWarnings()
    logger = logging.getLogger("cassandra")
    logger.addHandler(handler)
    try:
        future = s.execute_async("SELECT count(*) FROM t")
        future.result()
        d.show("warnings", future.warnings)
        d.show("logged", handler.logged)
        future = s.execute_async("SELECT k FROM t")
        future.result()
        d.show("none", future.warnings)
    finally:
        logger.removeHandler(handler)


def nulls_inside_collections(d):
    s = d.shared
    for column, value in (("m", {"a": None}), ("m", {None: "a"}), ("s", {None}), ("l", [None, 1])):
        insert = s.prepare(f"INSERT INTO t (k, {column}) VALUES (?, ?)")
        d.tried(f"{column} {value}", s.execute, insert, (1, value))


def empty_settings(d):
    d.tried("paging_state", lambda: list(d.shared.execute("SELECT k FROM t", paging_state=b"")))
    d.tried("paging_state None", d.shared.execute, "SELECT k FROM t", paging_state=None)
    policy = RoundRobinPolicy()
    d.tried("profiles", lambda: Cluster(load_balancing_policy=policy, execution_profiles={}))
    d.tried("profiles None", lambda: Cluster(load_balancing_policy=policy, execution_profiles=None))
    d.tried("points", lambda: Cluster([]))
    d.tried("points None", lambda: Cluster(None).contact_points)
    d.tried("points tuple", lambda: Cluster(("127.0.0.1",)).contact_points)
    d.tried("points text", lambda: Cluster("127.0.0.1").contact_points)
    d.tried("points default", lambda: Cluster().contact_points)


def unknown_user_types(d):
    class Pair:
        pass

    cluster = d.cluster()
    d.tried("before", cluster.register_user_type, d.keyspace, "missing", Pair)
    d.tried("connect", cluster.connect, d.keyspace)
    cluster = d.cluster()
    session = cluster.connect()
    d.tried("after", cluster.register_user_type, d.keyspace, "missing", Pair)
    d.tried("keyspace", cluster.register_user_type, "nosuch", "missing", Pair)
    d.show("kept", session.keyspace)


def default_policies(d):
    cluster = Cluster()
    d.show("balancing", cluster.load_balancing_policy)
    d.show("retry", cluster.default_retry_policy)
    d.show("profile", cluster.profile_manager.default.load_balancing_policy)
    d.show("is token aware", isinstance(cluster.load_balancing_policy, TokenAwarePolicy))
    cluster = Cluster(execution_profiles={EXEC_PROFILE_DEFAULT: ExecutionProfile()})
    d.tried("set balancing", setattr, cluster, "load_balancing_policy", RoundRobinPolicy())
    d.tried("set retry", setattr, cluster, "default_retry_policy", RetryPolicy())
    d.tried(
        "both",
        lambda: Cluster(
            load_balancing_policy=RoundRobinPolicy(), execution_profiles={"a": ExecutionProfile()}
        ),
    )
    cluster = Cluster(load_balancing_policy=RoundRobinPolicy())
    d.tried("profile beside", cluster.add_execution_profile, "a", ExecutionProfile())


def after_shutdown(d):
    s = d.session()
    prepared = s.prepare("SELECT k FROM t WHERE k = ?")
    s.shutdown()
    d.show("is_shutdown", s.is_shutdown)
    d.tried("execute", s.execute, "SELECT k FROM t")
    d.tried("prepared", s.execute, prepared, (1,))
    d.tried("async", lambda: s.execute_async("SELECT k FROM t").result())
    d.tried("prepare", s.prepare, "SELECT k FROM t")
    d.tried("again", s.shutdown)
    cluster = d.cluster()
    session = cluster.connect()
    cluster.shutdown()
    d.tried("of cluster", session.execute, "SELECT k FROM t")
    d.tried("connect", cluster.connect)
    d.show("cluster", cluster.is_shutdown)


def counters_in_batches(d):
    s = d.shared
    update = s.prepare("UPDATE n SET n = n + ? WHERE k = 1")
    insert = s.prepare("INSERT INTO t (k, v) VALUES (1, ?)")
    for kind in (BatchType.LOGGED, BatchType.UNLOGGED, BatchType.COUNTER):
        for name, statement, value in (("counter", update, 1), ("plain", insert, "a")):
            batch = BatchStatement(kind)
            d.tried(f"add {kind.name} {name}", batch.add, statement, (value,))
            d.tried(f"execute {kind.name} {name}", s.execute, batch)
            d.tried(f"params {kind.name} {name}", s.execute, batch, (5,))
    batch = BatchStatement(BatchType.COUNTER)
    batch.add(update, (1,))
    d.tried("mixed", batch.add, insert, ("a",))
    d.tried("mixed execute", s.execute, batch)


def prepared_attributes(d):
    s = d.shared
    select = s.prepare("SELECT k, v FROM t WHERE k = ?")
    d.show("result", [tuple(column)[2:3] for column in select.result_metadata])
    d.show("result names", [column[2] for column in select.result_metadata])
    d.show(
        "columns",
        [
            (column.table_name, column.name, column.type.typename)
            for column in select.column_metadata
        ],
    )
    d.show("key", select.routing_key_indexes)
    d.show("idempotent", select.is_idempotent)
    d.show("level", select.consistency_level)
    d.show("serial", select.serial_consistency_level)
    d.show("query", select.query_string)
    d.show("keyspace", select.keyspace)
    d.show("fetch", select.fetch_size)
    d.show("text", str(select)[:20])
    insert = s.prepare("INSERT INTO t (k) VALUES (?)")
    d.tried("no result", lambda: insert.result_metadata)
    bound = select.bind((1,))
    d.show(
        "bound",
        [
            bound.values,
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
        d.tried(f"handed on {name}", getattr, select.bind((1,)), name)


def booleans(d):
    s = d.shared
    insert = s.prepare("INSERT INTO t (k, b) VALUES (?, ?)")
    for key, value in enumerate((True, False, 0, 1, 2, -1, "x", "", [], [0], None, 0.0, 1.5)):
        d.tried(f"{value!r}", s.execute, insert, (key, value))


def times_as_text(d):
    s = d.shared
    zone = datetime.timezone(datetime.timedelta(hours=2))
    for key, value in enumerate(
        (
            datetime.time(1, 2, 3),
            datetime.time(1, 2, 3, 4),
            datetime.time(1, 2, 3, tzinfo=zone),
            datetime.time(),
        )
    ):
        d.tried(
            f"text {value}", s.execute, "INSERT INTO t (k, v) VALUES (%s, %s)", (key, str(value))
        )
        d.tried(f"time {value}", s.execute, "INSERT INTO t (k, tm) VALUES (%s, %s)", (key, value))
        d.tried(f"as text {value}", s.execute, "INSERT INTO t (k, v) VALUES (%s, %s)", (key, value))


def row_factories_of_programs(d):
    for name, factory in {
        "none": lambda names, rows: None,
        "generator": lambda names, rows: (row for row in rows),
        "empty": lambda names, rows: [],
        "dicts": lambda names, rows: [dict(zip(names, row, strict=False)) for row in rows],
        "number": lambda names, rows: 5,
        "names": lambda names, rows: names,
        "raises": lambda names, rows: 1 / 0,
    }.items():
        s = d.session()
        s.execute("INSERT INTO t (k, v) VALUES (1, 'a')")
        s.row_factory = factory
        for text in (
            "SELECT k, v FROM t",
            "SELECT k, v FROM t WHERE k = 77",
            "INSERT INTO t (k, v) VALUES (2, 'b')",
            "INSERT INTO t (k, v) VALUES (1, 'z') IF NOT EXISTS",
        ):
            rows = None
            try:
                rows = s.execute(text)
            except Exception as error:
                d.show(f"{name} execute {text}", error)
                continue
            d.tried(f"{name} list {text}", list, rows)
            d.tried(f"{name} one {text}", lambda: s.execute(text).one())
            d.tried(f"{name} bool {text}", lambda: bool(s.execute(text)))
            d.tried(f"{name} applied {text}", lambda: s.execute(text).was_applied)


def attributes_of_futures(d):
    s = d.shared
    prepared = s.prepare("SELECT k FROM t WHERE k = ?")
    future = s.execute_async(prepared, (1,))
    future.result()
    d.show("prepared_statement", future.prepared_statement)
    d.show("query", future.query)
    d.show("session", future.session is s)
    d.show("warnings", future.warnings)
    d.show("payload", future.custom_payload)
    d.show("pages", future.has_more_pages)
    d.show("agreed", future.is_schema_agreed)
    d.show("timeout", future.timeout)
    d.tried("traces", future.get_query_trace_ids)
    d.tried("hosts", lambda: [str(host.address) for host in future.attempted_hosts])
    d.tried("coordinator", lambda: str(future.coordinator_host))
    d.show("row_factory", future.row_factory)
    d.show("message", type(future.message).__name__)
    d.tried("encoded", lambda: future.request_encoded_size > 10)
    future = s.execute_async("INSERT INTO t (k) VALUES (1)")
    d.show("statement", future.query)
    d.show("result", future.result())
    d.tried("trace", future.get_query_trace)


def sessions_have(d):
    s = d.session()
    d.tried("submit", lambda: s.submit(lambda: 5).result(5))
    d.tried("timeout", lambda: s.default_timeout)
    d.tried("fetch", lambda: s.default_fetch_size)
    d.tried("level", lambda: s.default_consistency_level)
    d.tried("serial", lambda: s.default_serial_consistency_level)
    d.tried("timestamps", lambda: s.use_client_timestamp)
    d.tried("generator", lambda: s.timestamp_generator)
    d.tried("factory", lambda: s.row_factory)
    d.tried("hosts", lambda: len(list(s.hosts)))
    d.tried("handler", lambda: s.client_protocol_handler)
    d.tried("is_shutdown", lambda: s.is_shutdown)
    d.tried("pools", lambda: [state["open_count"] > 0 for state in s.get_pool_state().values()])
    d.tried("pool keys", lambda: sorted(next(iter(s.get_pool_state().values()))))
    d.tried("get_pools", lambda: len(list(s.get_pools())))
    d.tried("max", lambda: s.max_trace_wait)
    d.tried("user types", lambda: s.user_type_registered)
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
        d.tried(f"set {name} {value}", setattr, s, name, value)


def already_exists(d):
    s = d.session()
    for text in (
        "CREATE TABLE t (k int PRIMARY KEY)",
        f"CREATE KEYSPACE {d.keyspace} WITH "
        "replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
    ):
        try:
            s.execute(text)
        except Exception as error:
            d.show(text[:15], error)
            d.show(f"{text[:15]} names", [error.keyspace, error.table])


def errors_of_the_server(d):
    s = d.shared
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
        d.tried(text, s.execute, text)
        d.tried(f"prepare {text}", lambda text=text: s.prepare(text).query_string)


def light_weight_transactions(d):
    for factory in (None, dict_factory, tuple_factory):
        s = d.session()
        if factory:
            s.row_factory = factory
        name = getattr(factory, "__name__", "named")
        s.execute("DELETE FROM t WHERE k = 1")
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
            rows = d.tried(f"{name} {text}", s.execute, text)
            if rows is not None:
                d.tried(f"{name} applied {text}", lambda rows=rows: rows.was_applied)
                d.tried(f"{name} one {text}", rows.one)
                d.tried(f"{name} applied again {text}", lambda rows=rows: rows.was_applied)


def consistency_levels(d):
    s = d.shared
    for level in range(12):
        statement = SimpleStatement("SELECT k FROM t", consistency_level=level)
        d.tried(f"select {level}", s.execute, statement)
        statement = SimpleStatement("INSERT INTO t (k) VALUES (1)", consistency_level=level)
        d.tried(f"insert {level}", s.execute, statement)
    for level in ("ONE", None, -1, 99, 1.0, True):
        d.tried(
            f"kind {level!r}",
            lambda level=level: s.execute(
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
        d.tried(
            f"serial {level!r}",
            lambda level=level: s.execute(
                SimpleStatement(
                    "INSERT INTO t (k) VALUES (8) IF NOT EXISTS", serial_consistency_level=level
                )
            ),
        )
    d.show("names", dict(ConsistencyLevel.name_to_value.items()))
    d.show("values", ConsistencyLevel.value_to_name)


def keyspaces_of_statements(d):
    session = d.cluster().connect()
    statement = SimpleStatement("SELECT k FROM t", keyspace=d.keyspace)
    d.tried("simple", session.execute, statement)
    d.show("attribute", statement.keyspace)
    d.tried("prepare", lambda: session.prepare("SELECT k FROM t", keyspace=d.keyspace).keyspace)
    d.tried(
        "prepared",
        lambda: session.execute(
            session.prepare("SELECT k FROM t WHERE k = ?", keyspace=d.keyspace), (1,)
        ),
    )
    d.tried("without", session.execute, "SELECT k FROM t")
    batch = BatchStatement()
    batch.add(f"INSERT INTO {d.keyspace}.t (k) VALUES (1)")
    d.tried("batch", session.execute, batch)
    d.show("batch keyspace", batch.keyspace)


def uuids_and_dates(d):
    s = d.session()
    s.execute("CREATE TABLE IF NOT EXISTS times (k int PRIMARY KEY, ts timestamp, d date, u uuid)")
    stamp = datetime.datetime(2011, 9, 28, 1, 2, 3, 456000)
    zone = datetime.timezone(datetime.timedelta(hours=-5))
    unique_id = uuid.UUID(int=5)
    insert = s.prepare("INSERT INTO times (k, ts, d, u) VALUES (?, ?, ?, ?)")
    text = "INSERT INTO times (k, ts, d, u) VALUES (%s, %s, %s, %s)"
    for key, when in enumerate(
        (stamp, stamp.replace(tzinfo=zone), stamp.date(), 5, 1.5, "2011-09-28", None)
    ):
        for way, statement in (("bound", insert), ("text", text)):
            d.tried(
                f"{way} {when!r}",
                s.execute,
                statement,
                (key, when, datetime.date(2011, 9, 28), unique_id),
            )
            d.tried(f"{way} read {when!r}", s.execute, "SELECT * FROM times WHERE k = %s", (key,))
    s.execute("DROP TABLE times")


_ = InvalidRequest
