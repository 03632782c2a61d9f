"""Examples modelled on the documentation of cassandra-driver and scylla-driver.

Every function without an underscore is a program that each driver runs; `d` records the outcomes
(see `tests.differential.worker`).
"""

import datetime
import threading
import uuid
from unittest import mock

from cassandra import ConsistencyLevel
from cassandra.auth import PlainTextAuthProvider
from cassandra.cluster import (
    EXEC_PROFILE_DEFAULT,
    Cluster,
    ExecutionProfile,
    ResultSet,
)
from cassandra.concurrent import execute_concurrent, execute_concurrent_with_args
from cassandra.metadata import group_keys_by_replica
from cassandra.policies import (
    ConstantReconnectionPolicy,
    ConstantSpeculativeExecutionPolicy,
    DCAwareRoundRobinPolicy,
    ExponentialReconnectionPolicy,
    HostFilterPolicy,
    RetryPolicy,
    RoundRobinPolicy,
    TokenAwarePolicy,
    WhiteListRoundRobinPolicy,
)
from cassandra.query import (
    BatchStatement,
    SimpleStatement,
    ValueSequence,
    dict_factory,
    named_tuple_factory,
    ordered_dict_factory,
    tuple_factory,
)

TABLES = [
    "CREATE TABLE KS.users (user_id int PRIMARY KEY, name text, email text, age int)",
    "CREATE TABLE KS.events (day text, at int, what text, PRIMARY KEY (day, at))",
    "CREATE TABLE KS.counts (k text PRIMARY KEY, n counter)",
    "CREATE TYPE KS.address (street text, zipcode int)",
    "CREATE TABLE KS.people (id int PRIMARY KEY, location frozen<address>, "
    "others list<frozen<address>>)",
]


def _users(s, count=3):
    for number in range(count):
        s.execute(
            "INSERT INTO users (user_id, name, email, age) VALUES (%s, %s, %s, %s)",
            (number, f"name{number}", f"{number}@example.org", 20 + number),
        )


def getting_started(d):
    s = d.shared
    _users(s)
    rows = s.execute("SELECT name, age, email FROM users")
    for row in sorted(rows):
        d.show(row.name, [row.age, row.email])
    for name, age, email in s.execute("SELECT name, age, email FROM users"):
        d.show(f"{name} unpacked", (age, email))
    for row in s.execute("SELECT name, age, email FROM users"):
        d.show(f"{row[0]} by number", (row[1], row[2]))


def connecting(d):
    cluster = d.cluster()
    session = cluster.connect()
    d.show("none", session.keyspace)
    session.set_keyspace(d.keyspace)
    d.show("set", session.keyspace)
    session.execute(f"USE {d.keyspace}")
    d.show("used", session.keyspace)
    with d.cluster() as other, other.connect(d.keyspace) as inner:
        d.show("context", inner.keyspace)
    d.show("after", [other.is_shutdown, inner.is_shutdown])
    d.tried("many points", lambda: d.cluster(["127.0.0.1", "127.0.0.2"]).connect().keyspace)
    d.tried("with port", lambda: Cluster([(d.host, d.port)]).connect().keyspace)
    d.tried("nobody", lambda: Cluster(["127.0.0.1"], port=1, connect_timeout=1).connect())
    d.tried("unknown", lambda: Cluster(["nosuch.invalid"]).connect())


def positional_parameters(d):
    s = d.shared
    d.tried("many", s.execute, "INSERT INTO users (name, user_id) VALUES (%s, %s)", ("a", 42))
    d.tried("one", s.execute, "INSERT INTO users (user_id) VALUES (%s)", (7,))
    d.tried("not a tuple", s.execute, "INSERT INTO users (user_id) VALUES (%s)", (8))
    d.tried("a text", s.execute, "INSERT INTO users (user_id) VALUES (%s)", "9")
    d.tried("list", s.execute, "INSERT INTO users (user_id) VALUES (%s)", [10])
    d.tried("number", s.execute, "INSERT INTO users (user_id) VALUES (%d)", (11,))
    d.tried("quoted", s.execute, "INSERT INTO users (user_id, name) VALUES (12, '%s')", ("x",))


def named_parameters(d):
    s = d.shared
    text = "INSERT INTO users (name, user_id, age) VALUES (%(name)s, %(id)s, %(age)s)"
    d.tried("all", s.execute, text, {"name": "a", "id": 1, "age": 2})
    d.tried("more", s.execute, text, {"name": "a", "id": 2, "age": 2, "zz": 5})
    d.tried("missing", s.execute, text, {"name": "a", "id": 3})
    d.tried(
        "twice",
        s.execute,
        "SELECT name FROM users WHERE user_id = %(i)s AND age = %(i)s ALLOW FILTERING",
        {"i": 2},
    )


def statements_with_levels(d):
    s = d.shared
    for level in (ConsistencyLevel.ONE, ConsistencyLevel.QUORUM, ConsistencyLevel.ALL):
        query = SimpleStatement(
            "INSERT INTO users (name, age, user_id) VALUES (%s, %s, %s)", consistency_level=level
        )
        s.execute(query, ("John", 42, level))
    prepared = s.prepare("SELECT * FROM users WHERE user_id = ?")
    prepared.consistency_level = ConsistencyLevel.QUORUM
    d.show("one", s.execute(prepared, [1]).one())
    bound = prepared.bind([4])
    bound.consistency_level = ConsistencyLevel.ALL
    d.show("two", s.execute(bound).one())


def asynchronous(d):
    s = d.shared
    _users(s)
    future = s.execute_async("SELECT * FROM users WHERE user_id = %s", [1])
    d.show("result", list(future.result()))
    d.show("twice", list(future.result()))
    heard = []
    done = threading.Event()

    def succeeded(rows, *args, **kwargs):
        heard.append((rows, args, kwargs))
        done.set()

    failed = mock.Mock(side_effect=lambda *args, **kwargs: done.set())
    future = s.execute_async("SELECT name FROM users WHERE user_id = 2")
    future.add_callbacks(succeeded, failed, callback_args=(1,), callback_kwargs={"b": 2})
    done.wait(10)
    d.show("heard", heard)
    d.show("failed", failed.mock_calls)
    done.clear()
    future = s.execute_async("SELECT nothing FROM users")
    never = mock.Mock()
    future.add_callbacks(never, failed, errback_args=("x",), errback_kwargs={"y": 1})
    done.wait(10)
    d.show("error", [tuple(call.args) for call in failed.mock_calls])
    d.show("never", never.mock_calls)
    d.tried("raised", future.result)
    late = mock.Mock()
    future.add_errback(late, 5)
    d.show("late", [tuple(call.args) for call in late.mock_calls])


def callbacks_of_one_future(d):
    s = d.shared
    _users(s)
    future = s.execute_async("SELECT name FROM users WHERE user_id = 1")
    future.result()
    first, second = mock.Mock(), mock.Mock()
    d.show("returned", future.add_callback(first, "a", b="c") is future)
    d.show("both", future.add_callbacks(second, second) is None)
    d.show("errback", future.add_errback(first) is future)
    d.show("first", first.mock_calls)
    d.show("second", second.mock_calls)


def prepared_statements(d):
    s = d.shared
    prepared = s.prepare("INSERT INTO users (user_id, name) VALUES (?, ?)")
    for number in range(3):
        s.execute(prepared, (number, f"n{number}"))
    s.execute(prepared, [3, "n3"])
    s.execute(prepared, {"user_id": 4, "name": "n4"})
    s.execute(prepared, {"user_id": 5})
    s.execute(prepared, (6,))
    s.execute(prepared.bind((7, None)))
    d.show(
        "again",
        s.prepare("INSERT INTO users (user_id, name) VALUES (?, ?)").query_id == prepared.query_id,
    )
    named = s.prepare("SELECT name FROM users WHERE user_id = :number")
    d.show("named", s.execute(named, {"number": 1}).one())
    d.tried("positional", s.execute, named, (2,))
    limited = s.prepare("SELECT name FROM users LIMIT ?")
    d.tried("limit", lambda: len(list(s.execute(limited, (2,)))))
    several = s.prepare("SELECT name FROM users WHERE user_id IN ?")
    d.tried("in", lambda: sorted(s.execute(several, ([1, 2],))))
    ttl = s.prepare("UPDATE users USING TTL ? SET name = ? WHERE user_id = ?")
    d.tried("ttl", s.execute, ttl, (100, "x", 1))
    d.show("ttl names", [column.name for column in ttl.column_metadata])


def batches(d):
    s = d.shared
    insert = s.prepare("INSERT INTO users (user_id, name) VALUES (?, ?)")
    batch = BatchStatement(consistency_level=ConsistencyLevel.QUORUM)
    for number, name in enumerate(("a", "b")):
        batch.add(insert, (number, name))
    s.execute(batch)
    batch = BatchStatement()
    batch.add(SimpleStatement("INSERT INTO users (user_id, name) VALUES (%s, %s)"), (5, "five"))
    batch.add(SimpleStatement("DELETE FROM users WHERE user_id = %s"), (0,))
    batch.add("INSERT INTO users (user_id) VALUES (6)")
    batch.add(insert.bind((8, "eight")))
    batch.add_all([insert, insert], [(9, "i"), (10, "x")])
    d.show("length", len(batch._statements_and_parameters))
    s.execute(batch)
    d.show("text", str(batch)[:15])


def batches_with_mixed_levels(d):
    s = d.shared
    prepared = s.prepare("INSERT INTO users (user_id) VALUES (?)")
    prepared.consistency_level = ConsistencyLevel.ALL
    batch = BatchStatement()
    batch.add(prepared, (1,))
    s.execute(batch)
    statement = SimpleStatement(
        "INSERT INTO users (user_id) VALUES (2)",
        serial_consistency_level=ConsistencyLevel.LOCAL_SERIAL,
    )
    batch = BatchStatement(serial_consistency_level=ConsistencyLevel.SERIAL)
    batch.add(statement)
    s.execute(batch)
    for value in ("LOGGED", 0, None, 7):
        d.tried(
            f"type {value}", lambda value=value: s.execute(BatchStatement(value).add(statement))
        )


def paging(d):
    s = d.session()
    _users(s, 10)
    statement = SimpleStatement("SELECT user_id FROM users", fetch_size=3)
    d.show("all", len(list(s.execute(statement))))
    rows = s.execute(statement)
    d.show("pages", [len(rows.current_rows), rows.has_more_pages, type(rows.paging_state)])
    pages = [len(rows.current_rows)]
    while rows.has_more_pages:
        d.show(f"fetched {len(pages)}", rows.fetch_next_page())
        pages.append(len(rows.current_rows))
    d.show("sizes", pages)
    d.show("state", rows.paging_state)
    first = s.execute(statement)
    state = first.paging_state
    d.show("from there", len(list(s.execute(statement, paging_state=state))))
    d.tried("wrong state", s.execute, statement, paging_state=b"nonsense")
    d.tried("kind of state", s.execute, statement, paging_state="text")
    for size in (0, None, -1, 1, 100):
        statement.fetch_size = size
        d.tried(f"size {size}", lambda: len(list(s.execute(statement))))
        s.default_fetch_size = size
        d.tried(f"default {size}", lambda: len(list(s.execute("SELECT user_id FROM users"))))


class _Pages:
    """Reads all pages of a future by callbacks, as the documentation shows."""

    def __init__(self, future):
        self.seen, self.error, self.done = [], None, threading.Event()
        self.future = future
        future.add_callbacks(self.page, self.failed)

    def page(self, rows):
        self.seen.append(len(rows))
        if self.future.has_more_pages:
            self.future.start_fetching_next_page()
        else:
            self.done.set()

    def failed(self, error):
        self.error = error
        self.done.set()


def paging_by_callbacks(d):
    s = d.session()
    _users(s, 10)
    s.default_fetch_size = 4
    future = s.execute_async("SELECT user_id FROM users")
    pages = _Pages(future)
    pages.done.wait(20)
    d.show("pages", [pages.seen, pages.error])
    d.tried("beyond", future.start_fetching_next_page)


def row_factories(d):
    for factory in (tuple_factory, named_tuple_factory, dict_factory, ordered_dict_factory):
        s = d.session()
        _users(s)
        s.row_factory = factory
        rows = s.execute("SELECT user_id, name, age FROM users WHERE user_id = 1")
        d.show(f"{factory.__name__} rows", list(rows))
        d.show(f"{factory.__name__} count", s.execute("SELECT count(*) FROM users").one())
        d.show(
            f"{factory.__name__} same",
            s.execute("SELECT name AS x, age AS x FROM users WHERE user_id = 1").one(),
        )
        d.show(f"{factory.__name__} direct", factory(["a", "b"], [(1, 2), (3, 4)]))


def odd_names_of_columns(d):
    s = d.shared
    _users(s)
    for what in (
        'name AS "Capital"',
        'name AS "with space"',
        'name AS "1st"',
        'name AS "_x"',
        'name AS "class"',
        'name AS "def"',
        'name AS ""',
        "count(*)",
        "max(age)",
        "writetime(name) > 0",
        "ttl(name)",
        "cast(age AS text)",
        "user_id, user_id",
        'name AS "a-b", age AS "a_b"',
        'name AS "äö"',
        "(int) 5",
        "toJson(name)",
    ):
        rows = d.tried(what, s.execute, f"SELECT {what} FROM users WHERE user_id = 1")
        if rows is not None:
            row = rows.one()
            d.tried(f"{what} fields", lambda row=row: row._fields)
            d.tried(f"{what} names", lambda rows=rows: rows.column_names)


def execution_profiles(d):
    node = ExecutionProfile(
        load_balancing_policy=WhiteListRoundRobinPolicy([d.host]),
        row_factory=tuple_factory,
        request_timeout=30,
        consistency_level=ConsistencyLevel.ONE,
    )
    s = d.cluster(
        execution_profiles={
            "node": node,
            EXEC_PROFILE_DEFAULT: ExecutionProfile(
                row_factory=dict_factory, consistency_level=ConsistencyLevel.LOCAL_QUORUM
            ),
        }
    )
    s = s.connect(d.keyspace)
    _users(s)
    text = "SELECT name FROM users WHERE user_id = 1"
    d.show("default", s.execute(text).one())
    d.show("named", s.execute(text, execution_profile="node").one())
    d.show("given", s.execute(text, execution_profile=node).one())
    clone = s.execution_profile_clone_update("node", request_timeout=5, row_factory=dict_factory)
    d.show("clone", [clone.request_timeout, clone.consistency_level, node.request_timeout])
    d.show("cloned", s.execute(text, execution_profile=clone).one())
    d.tried("unknown", s.execute, text, execution_profile="nosuch")
    d.tried("kind", s.execute, text, execution_profile=5)
    s.cluster.add_execution_profile("later", ExecutionProfile(row_factory=tuple_factory))
    d.show("later", s.execute(text, execution_profile="later").one())
    d.tried("again", s.cluster.add_execution_profile, "later", ExecutionProfile())
    d.tried("get", lambda: s.get_execution_profile("node") is node)
    d.tried("get unknown", s.get_execution_profile, "nosuch")
    d.tried("set factory", setattr, s, "row_factory", tuple_factory)
    d.tried("set timeout", setattr, s, "default_timeout", 5)
    d.tried("set level", setattr, s, "default_consistency_level", 1)
    d.tried("attribute", lambda: ExecutionProfile(nosuch=1))
    d.tried("clone wrong", s.execution_profile_clone_update, "node", nosuch=1)


def profile_defaults(d):
    profile = ExecutionProfile()
    for name in (
        "load_balancing_policy",
        "retry_policy",
        "consistency_level",
        "serial_consistency_level",
        "request_timeout",
        "row_factory",
        "speculative_execution_policy",
        "continuous_paging_options",
    ):
        d.tried(name, getattr, profile, name)


def user_types(d):
    class Address:
        def __init__(self, street, zipcode):
            self.street, self.zipcode = street, zipcode

    s = d.session()
    s.cluster.register_user_type(d.keyspace, "address", Address)
    s.execute("INSERT INTO people (id, location) VALUES (%s, %s)", (0, Address("Main", 1)))
    row = s.execute("SELECT * FROM people WHERE id = 0").one()
    d.show("class", isinstance(row.location, Address))
    d.show("fields", [row.location.street, row.location.zipcode])
    insert = s.prepare("INSERT INTO people (id, location, others) VALUES (?, ?, ?)")
    s.execute(insert, (1, Address("Side", 2), [Address("x", None)]))
    row = s.execute("SELECT * FROM people WHERE id = 1").one()
    d.show("list", [(address.street, address.zipcode) for address in row.others])
    plain = d.session()
    row = plain.execute("SELECT * FROM people WHERE id = 1").one()
    d.show("tuple", row)
    d.tried("tuples", plain.execute, insert.query_string.replace("?", "%s"), (2, ("y", 3), []))
    unprepared = plain.prepare(insert.query_string)
    d.tried("bound tuple", plain.execute, unprepared, (3, ("z", 4), [("w", 5)]))
    d.tried("bound object", plain.execute, unprepared, (4, Address("o", 6), None))
    d.tried("row again", plain.execute, unprepared, (5, row.location, row.others))
    dictionaries = d.session()
    dictionaries.cluster.register_user_type(d.keyspace, "address", dict)
    d.tried("dict", lambda: dictionaries.execute("SELECT * FROM people WHERE id = 1").one())
    d.tried(
        "dict write",
        dictionaries.execute,
        "INSERT INTO people (id, location) VALUES (%s, %s)",
        (6, {"street": "q", "zipcode": 7}),
    )


def concurrent(d):
    d.any_order()
    s = d.shared
    _users(s)
    select = s.prepare("SELECT name FROM users WHERE user_id = ?")
    results = execute_concurrent(s, [(select, (key,)) for key in range(4)])
    d.show("results", [(good, list(rows)) for good, rows in results])
    results = execute_concurrent_with_args(s, select, [(key,) for key in range(3)], concurrency=1)
    d.show("args", [list(result.result_or_exc) for result in results])
    outcomes = execute_concurrent(s, [(select, ("x",)), (select, (1,))], raise_on_first_error=False)
    d.show("errors", [(good, None if good else rows) for good, rows in outcomes])
    d.tried("raises", execute_concurrent, s, [(select, ("x",)), (select, (1,))])
    outcomes = execute_concurrent(
        s, [("SELECT nothing FROM users", ()), (select, (1,))], raise_on_first_error=False
    )
    d.show(
        "server",
        [
            (outcome.success, None if outcome.success else outcome.result_or_exc)
            for outcome in outcomes
        ],
    )
    generator = execute_concurrent(
        s, ((select, (key,)) for key in range(5)), results_generator=True
    )
    d.show("generator", [(good, list(rows)) for good, rows in generator])
    d.tried("nothing", execute_concurrent, s, [])
    d.tried("no concurrency", execute_concurrent, s, [(select, (1,))], concurrency=0)
    d.tried(
        "many",
        lambda: len(
            execute_concurrent_with_args(s, select, [(key,) for key in range(500)], concurrency=50)
        ),
    )


def concurrent_writes(d):
    d.any_order()
    s = d.shared
    insert = s.prepare("INSERT INTO events (day, at, what) VALUES (?, ?, ?)")
    rows = [("monday", number, f"w{number}") for number in range(50)]
    d.show("done", all(result.success for result in execute_concurrent_with_args(s, insert, rows)))
    d.tried(
        "dicts",
        lambda: len(execute_concurrent_with_args(s, insert, [{"day": "t", "at": 1, "what": "x"}])),
    )
    d.tried(
        "text",
        lambda: len(
            execute_concurrent_with_args(
                s, "INSERT INTO events (day, at) VALUES (%s, %s)", [("w", 1), ("w", 2)]
            )
        ),
    )


def traces(d):
    s = d.shared
    future = s.execute_async("SELECT * FROM users", trace=True)
    rows = future.result()
    trace = future.get_query_trace(max_wait=10)
    d.show("kind", type(trace))
    d.show(
        "request",
        [
            trace.request_type,
            isinstance(trace.duration, datetime.timedelta),
            trace.coordinator,
            sorted(trace.parameters),
        ],
    )
    d.show("events", bool(trace.events) and all(event.description for event in trace.events))
    d.show(
        "event",
        [
            type(getattr(trace.events[0], name))
            for name in ("description", "datetime", "source", "source_elapsed", "thread_name")
        ],
    )
    d.show("of result", type(rows.get_query_trace()))
    d.show("all", len(rows.get_all_query_traces()))
    d.show("ids", [type(trace_id) for trace_id in future.get_query_trace_ids()])
    plain = s.execute("SELECT * FROM users")
    d.tried("none", plain.get_query_trace)
    d.tried("none of all", plain.get_all_query_traces)


def payloads(d):
    s = d.shared
    d.tried("execute", s.execute, "SELECT * FROM users", custom_payload={"key": b"value"})
    statement = SimpleStatement("SELECT * FROM users", custom_payload={"a": b"b"})
    d.tried("statement", s.execute, statement)
    d.tried("both", s.execute, statement, custom_payload={"c": b"d"})
    future = s.execute_async(statement)
    future.result()
    d.show("answer", future.custom_payload)
    d.tried(
        "prepare",
        lambda: s.prepare("SELECT * FROM users", custom_payload={"a": b"b"}).custom_payload,
    )


def request_listeners(d):
    s = d.session()
    heard = mock.Mock()
    s.add_request_init_listener(heard, 1, two=2)
    s.execute("SELECT * FROM users")
    d.show("calls", [(call.args[1:], call.kwargs, type(call.args[0])) for call in heard.mock_calls])
    s.remove_request_init_listener(heard, 1, two=2)
    s.execute("SELECT * FROM users")
    d.show("still", len(heard.mock_calls))
    d.tried("unknown", s.remove_request_init_listener, mock.Mock())


def lightweight(d):
    s = d.shared
    rows = s.execute("INSERT INTO users (user_id, name) VALUES (1, 'a') IF NOT EXISTS")
    d.show("applied", [rows.was_applied, rows.one()])
    rows = s.execute("INSERT INTO users (user_id, name) VALUES (1, 'b') IF NOT EXISTS")
    d.show("not", [rows.was_applied, rows.one()])
    prepared = s.prepare("UPDATE users SET name = ? WHERE user_id = ? IF name = ?")
    d.show(
        "prepared",
        [
            s.execute(prepared, ("c", 1, "a")).was_applied,
            s.execute(prepared, ("d", 1, "a")).was_applied,
        ],
    )
    batch = BatchStatement()
    batch.add(
        s.prepare("UPDATE events SET what = ? WHERE day = ? AND at = ? IF what = ?"),
        ("new", "d", 1, None),
    )
    batch.add("INSERT INTO events (day, at, what) VALUES ('d', 2, 'x') IF NOT EXISTS")
    d.show("batch", s.execute(batch).was_applied)
    d.show("again", s.execute(batch).was_applied)


def sequences_for_in(d):
    s = d.shared
    _users(s)
    for value in (ValueSequence([1, 2]), ValueSequence(), ValueSequence("ab"), (1, 2), [1]):
        d.tried(
            f"{type(value).__name__} {value}",
            lambda value=value: sorted(
                s.execute("SELECT user_id FROM users WHERE user_id IN %s", [value])
            ),
        )


def keys_by_replica(d):
    s = d.shared
    groups = group_keys_by_replica(s, d.keyspace, "users", [(1,), (2,), (3,)])
    d.show("groups", [(host.address, sorted(keys)) for host, keys in groups.items()])
    d.tried("table", group_keys_by_replica, s, d.keyspace, "nosuch", [(1,)])


def policies_of_the_pages(d):
    for name, policy in {
        "robin": RoundRobinPolicy(),
        "dc": DCAwareRoundRobinPolicy(local_dc="datacenter1"),
        "token": TokenAwarePolicy(DCAwareRoundRobinPolicy(local_dc="datacenter1")),
        "white": WhiteListRoundRobinPolicy([d.host]),
        "filter": HostFilterPolicy(RoundRobinPolicy(), lambda host: True),
        "no dc": DCAwareRoundRobinPolicy(),
        "other dc": DCAwareRoundRobinPolicy(local_dc="nosuch"),
        "nobody": HostFilterPolicy(RoundRobinPolicy(), lambda host: False),
        "not in white": WhiteListRoundRobinPolicy(["127.0.0.9"]),
    }.items():
        d.tried(
            name,
            lambda policy=policy: (
                d.cluster(load_balancing_policy=policy)
                .connect(d.keyspace)
                .execute("SELECT * FROM users")
            ),
        )


def speculation(d):
    policy = ConstantSpeculativeExecutionPolicy(delay=0.5, max_attempts=10)
    s = d.cluster(
        execution_profiles={
            EXEC_PROFILE_DEFAULT: ExecutionProfile(speculative_execution_policy=policy)
        }
    ).connect(d.keyspace)
    statement = SimpleStatement("SELECT * FROM users", is_idempotent=True)
    d.tried("idempotent", s.execute, statement)
    d.tried("plain", s.execute, "SELECT * FROM users")
    plan = policy.new_plan("ks", statement)
    d.show("plan", [plan.next_execution(None) for _ in range(11)][-3:])


def logins(d):
    provider = PlainTextAuthProvider(username="cassandra", password="cassandra")
    d.tried("without", lambda: d.cluster(auth_provider=provider).connect().keyspace)
    authenticator = provider.new_authenticator("127.0.0.1")
    authenticator.server_authenticator_class = "org.apache.cassandra.auth.PasswordAuthenticator"
    d.show("response", authenticator.initial_response())
    d.tried("wrong", lambda: d.cluster(auth_provider=5).connect())
    d.tried("dict", lambda: d.cluster(auth_provider={"username": "a", "password": "b"}))


def reconnection_settings(d):
    for policy in (ConstantReconnectionPolicy(1.0), ExponentialReconnectionPolicy(1.0, 10.0)):
        d.tried(
            type(policy).__name__,
            lambda policy=policy: (
                d.cluster(
                    reconnection_policy=policy,
                    default_retry_policy=RetryPolicy(),
                )
                .connect(d.keyspace)
                .execute("SELECT * FROM users")
            ),
        )


def hosts_of_a_cluster(d):
    cluster = d.session().cluster
    (host,) = cluster.metadata.all_hosts()
    for name in (
        "address",
        "datacenter",
        "rack",
        "release_version",
        "is_up",
        "broadcast_address",
        "broadcast_rpc_address",
        "broadcast_rpc_port",
        "listen_address",
        "dse_version",
    ):
        d.tried(name, getattr, host, name)
    d.show("host_id", isinstance(host.host_id, uuid.UUID))
    d.show("name", cluster.metadata.cluster_name is not None)
    d.show("partitioner", cluster.metadata.partitioner)
    d.tried("control", lambda: cluster.get_control_connection_host() == host)
    d.tried("get_host", lambda: cluster.metadata.get_host(d.host) == host)
    d.tried("by endpoint", lambda: cluster.metadata.get_host(host.endpoint) == host)
    d.tried("unknown host", cluster.metadata.get_host, "10.1.2.3")
    d.tried(
        "replicas",
        lambda: [host.address for host in cluster.metadata.get_replicas(d.keyspace, b"\0\0\0\1")],
    )
    d.tried("replicas unknown", lambda: list(cluster.metadata.get_replicas("nosuch", b"k")))
    d.tried("text", str, host)
    d.tried("repr", repr, host)


def a_set_of_rows_of_ones_own(d):
    future = mock.Mock(has_more_pages=False)
    rows = ResultSet(future, [1, 2, 3])
    d.show("rows", list(rows))
    rows = ResultSet(future, [1, 2, 3])
    d.show("one", rows.one())
    d.show("all", rows.all())
    d.show("bool", [bool(ResultSet(future, [])), bool(ResultSet(future, [1]))])
    rows = ResultSet(future, [1, 2, 3])
    d.tried("index", lambda: rows[1])
    d.tried("index again", lambda: rows[0])
    d.tried("equal", lambda: rows == [1, 2, 3])
    d.tried("len", len, rows)
    rows = ResultSet(future, [1, 2, 3])
    next(iter(rows))
    d.tried("index later", lambda: rows[0])
    d.tried("applied", lambda: rows.was_applied)
