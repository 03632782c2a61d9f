"""Examples modelled on the documentation of cassandra-driver and scylla-driver.

Every function without an underscore is a program that each driver runs. `context` is a
`ProgramContext` (see `tests.differential.worker`): it gives sessions, and records outcomes.
`context.record(label, value)` records a value. `context.record_call(label, function, *arguments)`
calls the function, records its result or error, and returns the result, or None after an error.
"""

import datetime
import threading
import uuid
from unittest import mock

from cassandra import ConsistencyLevel
from cassandra.auth import PlainTextAuthProvider
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile, ResultSet
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

# CQL that creates the tables and types of the programs; "KS." stands for the keyspace.
TABLES = [
    "CREATE TABLE KS.users (user_id int PRIMARY KEY, name text, email text, age int)",
    "CREATE TABLE KS.events (day text, at int, what text, PRIMARY KEY (day, at))",
    "CREATE TABLE KS.counts (k text PRIMARY KEY, n counter)",
    "CREATE TYPE KS.address (street text, zipcode int)",
    "CREATE TABLE KS.people (id int PRIMARY KEY, location frozen<address>, "
    "others list<frozen<address>>)",
]


def _users(session, count=3):
    """Insert users with the ids 0, 1, and so on."""
    for number in range(count):
        session.execute(
            "INSERT INTO users (user_id, name, email, age) VALUES (%s, %s, %s, %s)",
            (number, f"name{number}", f"{number}@example.org", 20 + number),
        )


def getting_started(context):
    """Read rows by attribute, by unpacking and by index."""
    session = context.shared_session
    _users(session)
    rows = session.execute("SELECT name, age, email FROM users")
    for row in sorted(rows):
        context.record(row.name, [row.age, row.email])
    for name, age, email in session.execute("SELECT name, age, email FROM users"):
        context.record(f"{name} unpacked", (age, email))
    for row in session.execute("SELECT name, age, email FROM users"):
        context.record(f"{row[0]} by number", (row[1], row[2]))


def connecting(context):
    """Connect, switch keyspaces, and use several contact points."""
    cluster = context.new_cluster()
    session = cluster.connect()
    context.record("none", session.keyspace)
    session.set_keyspace(context.keyspace)
    context.record("set", session.keyspace)
    session.execute(f"USE {context.keyspace}")
    context.record("used", session.keyspace)
    with context.new_cluster() as other, other.connect(context.keyspace) as inner:
        context.record("context", inner.keyspace)
    context.record("after", [other.is_shutdown, inner.is_shutdown])
    context.record_call(
        "many points", lambda: context.new_cluster(["127.0.0.1", "127.0.0.2"]).connect().keyspace
    )
    context.record_call(
        "with port", lambda: Cluster([(context.host, context.port)]).connect().keyspace
    )
    context.record_call(
        "nobody", lambda: Cluster(["127.0.0.1"], port=1, connect_timeout=1).connect()
    )
    context.record_call("unknown", lambda: Cluster(["nosuch.invalid"]).connect())


def positional_parameters(context):
    """Pass parameters by position, including wrong parameters."""
    session = context.shared_session
    context.record_call(
        "many", session.execute, "INSERT INTO users (name, user_id) VALUES (%s, %s)", ("a", 42)
    )
    context.record_call("one", session.execute, "INSERT INTO users (user_id) VALUES (%s)", (7,))
    context.record_call(
        "not a tuple", session.execute, "INSERT INTO users (user_id) VALUES (%s)", (8)
    )
    context.record_call("a text", session.execute, "INSERT INTO users (user_id) VALUES (%s)", "9")
    context.record_call("list", session.execute, "INSERT INTO users (user_id) VALUES (%s)", [10])
    context.record_call("number", session.execute, "INSERT INTO users (user_id) VALUES (%d)", (11,))
    context.record_call(
        "quoted", session.execute, "INSERT INTO users (user_id, name) VALUES (12, '%s')", ("x",)
    )


def named_parameters(context):
    """Pass parameters by name, including too few and too many parameters."""
    session = context.shared_session
    text = "INSERT INTO users (name, user_id, age) VALUES (%(name)s, %(id)s, %(age)s)"
    context.record_call("all", session.execute, text, {"name": "a", "id": 1, "age": 2})
    context.record_call("more", session.execute, text, {"name": "a", "id": 2, "age": 2, "zz": 5})
    context.record_call("missing", session.execute, text, {"name": "a", "id": 3})
    context.record_call(
        "twice",
        session.execute,
        "SELECT name FROM users WHERE user_id = %(i)s AND age = %(i)s ALLOW FILTERING",
        {"i": 2},
    )


def statements_with_levels(context):
    """Set consistency levels of simple, prepared and bound statements."""
    session = context.shared_session
    for level in (ConsistencyLevel.ONE, ConsistencyLevel.QUORUM, ConsistencyLevel.ALL):
        query = SimpleStatement(
            "INSERT INTO users (name, age, user_id) VALUES (%s, %s, %s)", consistency_level=level
        )
        session.execute(query, ("John", 42, level))
    prepared = session.prepare("SELECT * FROM users WHERE user_id = ?")
    prepared.consistency_level = ConsistencyLevel.QUORUM
    context.record("one", session.execute(prepared, [1]).one())
    bound = prepared.bind([4])
    bound.consistency_level = ConsistencyLevel.ALL
    context.record("two", session.execute(bound).one())


def asynchronous(context):
    """Add callbacks and errbacks to futures that are running and that have ended."""
    session = context.shared_session
    _users(session)
    future = session.execute_async("SELECT * FROM users WHERE user_id = %s", [1])
    context.record("result", list(future.result()))
    context.record("twice", list(future.result()))
    heard = []
    done = threading.Event()

    def succeeded(rows, *args, **kwargs):
        heard.append((rows, args, kwargs))
        done.set()

    failed = mock.Mock(side_effect=lambda *args, **kwargs: done.set())
    future = session.execute_async("SELECT name FROM users WHERE user_id = 2")
    future.add_callbacks(succeeded, failed, callback_args=(1,), callback_kwargs={"b": 2})
    done.wait(10)
    context.record("heard", heard)
    context.record("failed", failed.mock_calls)
    done.clear()
    future = session.execute_async("SELECT nothing FROM users")
    never = mock.Mock()
    future.add_callbacks(never, failed, errback_args=("x",), errback_kwargs={"y": 1})
    done.wait(10)
    context.record("error", [tuple(call.args) for call in failed.mock_calls])
    context.record("never", never.mock_calls)
    context.record_call("raised", future.result)
    late = mock.Mock()
    future.add_errback(late, 5)
    context.record("late", [tuple(call.args) for call in late.mock_calls])


def callbacks_of_one_future(context):
    """Add several callbacks to a future that has ended."""
    session = context.shared_session
    _users(session)
    future = session.execute_async("SELECT name FROM users WHERE user_id = 1")
    future.result()
    first, second = mock.Mock(), mock.Mock()
    context.record("returned", future.add_callback(first, "a", b="c") is future)
    context.record("both", future.add_callbacks(second, second) is None)
    context.record("errback", future.add_errback(first) is future)
    context.record("first", first.mock_calls)
    context.record("second", second.mock_calls)


def prepared_statements(context):
    """Prepare statements, and bind values by position and by name."""
    session = context.shared_session
    prepared = session.prepare("INSERT INTO users (user_id, name) VALUES (?, ?)")
    for number in range(3):
        session.execute(prepared, (number, f"n{number}"))
    session.execute(prepared, [3, "n3"])
    session.execute(prepared, {"user_id": 4, "name": "n4"})
    session.execute(prepared, {"user_id": 5})
    session.execute(prepared, (6,))
    session.execute(prepared.bind((7, None)))
    context.record(
        "again",
        session.prepare("INSERT INTO users (user_id, name) VALUES (?, ?)").query_id
        == prepared.query_id,
    )
    named = session.prepare("SELECT name FROM users WHERE user_id = :number")
    context.record("named", session.execute(named, {"number": 1}).one())
    context.record_call("positional", session.execute, named, (2,))
    limited = session.prepare("SELECT name FROM users LIMIT ?")
    context.record_call("limit", lambda: len(list(session.execute(limited, (2,)))))
    several = session.prepare("SELECT name FROM users WHERE user_id IN ?")
    context.record_call("in", lambda: sorted(session.execute(several, ([1, 2],))))
    ttl = session.prepare("UPDATE users USING TTL ? SET name = ? WHERE user_id = ?")
    context.record_call("ttl", session.execute, ttl, (100, "x", 1))
    context.record("ttl names", [column.name for column in ttl.column_metadata])


def batches(context):
    """Execute batches of prepared, bound and simple statements."""
    session = context.shared_session
    insert = session.prepare("INSERT INTO users (user_id, name) VALUES (?, ?)")
    batch = BatchStatement(consistency_level=ConsistencyLevel.QUORUM)
    for number, name in enumerate(("a", "b")):
        batch.add(insert, (number, name))
    session.execute(batch)
    batch = BatchStatement()
    batch.add(SimpleStatement("INSERT INTO users (user_id, name) VALUES (%s, %s)"), (5, "five"))
    batch.add(SimpleStatement("DELETE FROM users WHERE user_id = %s"), (0,))
    batch.add("INSERT INTO users (user_id) VALUES (6)")
    batch.add(insert.bind((8, "eight")))
    batch.add_all([insert, insert], [(9, "i"), (10, "x")])
    context.record("length", len(batch._statements_and_parameters))
    session.execute(batch)
    context.record("text", str(batch)[:15])


def batches_with_mixed_levels(context):
    """Execute batches whose statements have consistency levels other than the batch's."""
    session = context.shared_session
    prepared = session.prepare("INSERT INTO users (user_id) VALUES (?)")
    prepared.consistency_level = ConsistencyLevel.ALL
    batch = BatchStatement()
    batch.add(prepared, (1,))
    session.execute(batch)
    statement = SimpleStatement(
        "INSERT INTO users (user_id) VALUES (2)",
        serial_consistency_level=ConsistencyLevel.LOCAL_SERIAL,
    )
    batch = BatchStatement(serial_consistency_level=ConsistencyLevel.SERIAL)
    batch.add(statement)
    session.execute(batch)
    for value in ("LOGGED", 0, None, 7):
        context.record_call(
            f"type {value}",
            # Other drivers mark the host down after a type that they cannot encode, so each type
            # needs a new session.
            lambda value=value: context.new_session().execute(BatchStatement(value).add(statement)),
        )


def paging(context):
    """Read the pages of results in each way, with unusual fetch sizes."""
    session = context.new_session()
    _users(session, 10)
    statement = SimpleStatement("SELECT user_id FROM users", fetch_size=3)
    context.record("all", len(list(session.execute(statement))))
    rows = session.execute(statement)
    context.record("pages", [len(rows.current_rows), rows.has_more_pages, type(rows.paging_state)])
    pages = [len(rows.current_rows)]
    while rows.has_more_pages:
        context.record(f"fetched {len(pages)}", rows.fetch_next_page())
        pages.append(len(rows.current_rows))
    context.record("sizes", pages)
    context.record("state", rows.paging_state)
    first = session.execute(statement)
    state = first.paging_state
    context.record("from there", len(list(session.execute(statement, paging_state=state))))
    context.record_call("wrong state", session.execute, statement, paging_state=b"nonsense")
    context.record_call("kind of state", session.execute, statement, paging_state="text")
    for size in (0, None, -1, 1, 100):
        # Other drivers mark the host down after a value that they cannot encode.
        session = context.new_session()
        statement.fetch_size = size
        context.record_call(f"size {size}", _count, session, statement)
        session = context.new_session()
        session.default_fetch_size = size
        context.record_call(f"default {size}", _count, session, "SELECT user_id FROM users")


def _count(session, statement):
    """Return the number of rows that a statement returns on all pages."""
    return len(list(session.execute(statement)))


class _Pages:
    """Reads all pages of a future with callbacks, as the documentation shows."""

    def __init__(self, future):
        self.seen, self.error, self.done = [], None, threading.Event()
        self.future = future
        future.add_callbacks(self.page, self.failed)

    def page(self, rows):
        """Count the rows of a page, and request the next page; after the last page, set `done`.

        The future calls this method with the rows of each page.
        """
        self.seen.append(len(rows))
        if self.future.has_more_pages:
            self.future.start_fetching_next_page()
        else:
            self.done.set()

    def failed(self, error):
        self.error = error
        self.done.set()


def paging_by_callbacks(context):
    """Read all pages of a result with callbacks."""
    session = context.new_session()
    _users(session, 10)
    session.default_fetch_size = 4
    future = session.execute_async("SELECT user_id FROM users")
    pages = _Pages(future)
    pages.done.wait(20)
    context.record("pages", [pages.seen, pages.error])
    context.record_call("beyond", future.start_fetching_next_page)


def row_factories(context):
    """Read rows with each row factory."""
    for factory in (tuple_factory, named_tuple_factory, dict_factory, ordered_dict_factory):
        session = context.new_session()
        _users(session)
        session.row_factory = factory
        rows = session.execute("SELECT user_id, name, age FROM users WHERE user_id = 1")
        context.record(f"{factory.__name__} rows", list(rows))
        context.record(
            f"{factory.__name__} count", session.execute("SELECT count(*) FROM users").one()
        )
        context.record(
            f"{factory.__name__} same",
            session.execute("SELECT name AS x, age AS x FROM users WHERE user_id = 1").one(),
        )
        context.record(f"{factory.__name__} direct", factory(["a", "b"], [(1, 2), (3, 4)]))


def odd_names_of_columns(context):
    """Read columns whose names are not Python identifiers."""
    session = context.shared_session
    _users(session)
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
        rows = context.record_call(
            what, session.execute, f"SELECT {what} FROM users WHERE user_id = 1"
        )
        if rows is not None:
            row = rows.one()
            context.record_call(f"{what} fields", lambda row=row: row._fields)
            context.record_call(f"{what} names", lambda rows=rows: rows.column_names)


def execution_profiles(context):
    """Execute with profiles that are passed by name, as an object, and as a clone."""
    node = ExecutionProfile(
        load_balancing_policy=WhiteListRoundRobinPolicy([context.host]),
        row_factory=tuple_factory,
        request_timeout=30,
        consistency_level=ConsistencyLevel.ONE,
    )
    session = context.new_cluster(
        execution_profiles={
            "node": node,
            EXEC_PROFILE_DEFAULT: ExecutionProfile(
                row_factory=dict_factory, consistency_level=ConsistencyLevel.LOCAL_QUORUM
            ),
        }
    )
    session = session.connect(context.keyspace)
    _users(session)
    text = "SELECT name FROM users WHERE user_id = 1"
    context.record("default", session.execute(text).one())
    context.record("named", session.execute(text, execution_profile="node").one())
    context.record("given", session.execute(text, execution_profile=node).one())
    clone = session.execution_profile_clone_update(
        "node", request_timeout=5, row_factory=dict_factory
    )
    context.record("clone", [clone.request_timeout, clone.consistency_level, node.request_timeout])
    context.record("cloned", session.execute(text, execution_profile=clone).one())
    context.record_call("unknown", session.execute, text, execution_profile="nosuch")
    context.record_call("kind", session.execute, text, execution_profile=5)
    session.cluster.add_execution_profile("later", ExecutionProfile(row_factory=tuple_factory))
    context.record("later", session.execute(text, execution_profile="later").one())
    context.record_call("again", session.cluster.add_execution_profile, "later", ExecutionProfile())
    context.record_call("get", lambda: session.get_execution_profile("node") is node)
    context.record_call("get unknown", session.get_execution_profile, "nosuch")
    context.record_call("set factory", setattr, session, "row_factory", tuple_factory)
    context.record_call("set timeout", setattr, session, "default_timeout", 5)
    context.record_call("set level", setattr, session, "default_consistency_level", 1)
    context.record_call("attribute", lambda: ExecutionProfile(nosuch=1))
    context.record_call("clone wrong", session.execution_profile_clone_update, "node", nosuch=1)


def profile_defaults(context):
    """Record the attributes of an execution profile that was created without arguments."""
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
        context.record_call(name, getattr, profile, name)


def user_types(context):
    """Write and read user types as classes, tuples and dicts."""

    class Address:
        def __init__(self, street, zipcode):
            self.street, self.zipcode = street, zipcode

    session = context.new_session()
    session.cluster.register_user_type(context.keyspace, "address", Address)
    session.execute("INSERT INTO people (id, location) VALUES (%s, %s)", (0, Address("Main", 1)))
    row = session.execute("SELECT * FROM people WHERE id = 0").one()
    context.record("class", isinstance(row.location, Address))
    context.record("fields", [row.location.street, row.location.zipcode])
    insert = session.prepare("INSERT INTO people (id, location, others) VALUES (?, ?, ?)")
    session.execute(insert, (1, Address("Side", 2), [Address("x", None)]))
    row = session.execute("SELECT * FROM people WHERE id = 1").one()
    context.record("list", [(address.street, address.zipcode) for address in row.others])
    plain = context.new_session()
    row = plain.execute("SELECT * FROM people WHERE id = 1").one()
    context.record("tuple", row)
    context.record_call(
        "tuples", plain.execute, insert.query_string.replace("?", "%s"), (2, ("y", 3), [])
    )
    unprepared = plain.prepare(insert.query_string)
    context.record_call("bound tuple", plain.execute, unprepared, (3, ("z", 4), [("w", 5)]))
    context.record_call("bound object", plain.execute, unprepared, (4, Address("o", 6), None))
    context.record_call("row again", plain.execute, unprepared, (5, row.location, row.others))
    dictionaries = context.new_session()
    dictionaries.cluster.register_user_type(context.keyspace, "address", dict)
    context.record_call(
        "dict", lambda: dictionaries.execute("SELECT * FROM people WHERE id = 1").one()
    )
    context.record_call(
        "dict write",
        dictionaries.execute,
        "INSERT INTO people (id, location) VALUES (%s, %s)",
        (6, {"street": "q", "zipcode": 7}),
    )


def concurrent(context):
    """Call `execute_concurrent` with good and bad statements."""
    context.allow_any_order()
    session = context.shared_session
    _users(session)
    select = session.prepare("SELECT name FROM users WHERE user_id = ?")
    results = execute_concurrent(session, [(select, (key,)) for key in range(4)])
    context.record("results", [(good, list(rows)) for good, rows in results])
    results = execute_concurrent_with_args(
        session, select, [(key,) for key in range(3)], concurrency=1
    )
    context.record("args", [list(result.result_or_exc) for result in results])
    outcomes = execute_concurrent(
        session, [(select, ("x",)), (select, (1,))], raise_on_first_error=False
    )
    context.record("errors", [(good, None if good else rows) for good, rows in outcomes])
    context.record_call("raises", execute_concurrent, session, [(select, ("x",)), (select, (1,))])
    outcomes = execute_concurrent(
        session, [("SELECT nothing FROM users", ()), (select, (1,))], raise_on_first_error=False
    )
    context.record(
        "server",
        [
            (outcome.success, None if outcome.success else outcome.result_or_exc)
            for outcome in outcomes
        ],
    )
    generator = execute_concurrent(
        session, ((select, (key,)) for key in range(5)), results_generator=True
    )
    context.record("generator", [(good, list(rows)) for good, rows in generator])
    context.record_call("nothing", execute_concurrent, session, [])
    context.record_call(
        "no concurrency", execute_concurrent, session, [(select, (1,))], concurrency=0
    )
    context.record_call(
        "many",
        lambda: len(
            execute_concurrent_with_args(
                session, select, [(key,) for key in range(500)], concurrency=50
            )
        ),
    )


def concurrent_writes(context):
    """Write many rows by `execute_concurrent_with_args`."""
    context.allow_any_order()
    session = context.shared_session
    insert = session.prepare("INSERT INTO events (day, at, what) VALUES (?, ?, ?)")
    rows = [("monday", number, f"w{number}") for number in range(50)]
    context.record(
        "done",
        all(result.success for result in execute_concurrent_with_args(session, insert, rows)),
    )
    context.record_call(
        "dicts",
        lambda: len(
            execute_concurrent_with_args(session, insert, [{"day": "t", "at": 1, "what": "x"}])
        ),
    )
    context.record_call(
        "text",
        lambda: len(
            execute_concurrent_with_args(
                session, "INSERT INTO events (day, at) VALUES (%s, %s)", [("w", 1), ("w", 2)]
            )
        ),
    )


def traces(context):
    """Record the attributes of query traces."""
    session = context.shared_session
    future = session.execute_async("SELECT * FROM users", trace=True)
    rows = future.result()
    trace = future.get_query_trace(max_wait=10)
    context.record("kind", type(trace))
    context.record(
        "request",
        [
            trace.request_type,
            isinstance(trace.duration, datetime.timedelta),
            trace.coordinator,
            sorted(trace.parameters),
        ],
    )
    context.record(
        "events", bool(trace.events) and all(event.description for event in trace.events)
    )
    context.record(
        "event",
        [
            type(getattr(trace.events[0], name))
            for name in ("description", "datetime", "source", "source_elapsed", "thread_name")
        ],
    )
    context.record("kind of events", type(trace.events))
    context.record("time zones", [trace.started_at.tzinfo, trace.events[0].datetime.tzinfo])
    context.record("of result", type(rows.get_query_trace()))
    context.record("all", len(rows.get_all_query_traces()))
    context.record("ids", [type(trace_id) for trace_id in future.get_query_trace_ids()])
    plain = session.execute("SELECT * FROM users")
    context.record_call("none", plain.get_query_trace)
    context.record_call("none of all", plain.get_all_query_traces)


def payloads(context):
    """Send custom payloads."""
    session = context.shared_session
    context.record_call(
        "execute", session.execute, "SELECT * FROM users", custom_payload={"key": b"value"}
    )
    statement = SimpleStatement("SELECT * FROM users", custom_payload={"a": b"b"})
    context.record_call("statement", session.execute, statement)
    context.record_call("both", session.execute, statement, custom_payload={"c": b"d"})
    future = session.execute_async(statement)
    future.result()
    context.record("answer", future.custom_payload)
    context.record_call(
        "prepare",
        lambda: session.prepare("SELECT * FROM users", custom_payload={"a": b"b"}).custom_payload,
    )


def request_listeners(context):
    """Add and remove a listener for the start of requests."""
    session = context.new_session()
    heard = mock.Mock()
    session.add_request_init_listener(heard, 1, two=2)
    session.execute("SELECT * FROM users")
    context.record(
        "calls", [(call.args[1:], call.kwargs, type(call.args[0])) for call in heard.mock_calls]
    )
    session.remove_request_init_listener(heard, 1, two=2)
    session.execute("SELECT * FROM users")
    context.record("still", len(heard.mock_calls))
    context.record_call("unknown", session.remove_request_init_listener, mock.Mock())


def lightweight(context):
    """Record `was_applied` for conditional statements and batches."""
    session = context.shared_session
    rows = session.execute("INSERT INTO users (user_id, name) VALUES (1, 'a') IF NOT EXISTS")
    context.record("applied", [rows.was_applied, rows.one()])
    rows = session.execute("INSERT INTO users (user_id, name) VALUES (1, 'b') IF NOT EXISTS")
    context.record("not", [rows.was_applied, rows.one()])
    prepared = session.prepare("UPDATE users SET name = ? WHERE user_id = ? IF name = ?")
    context.record(
        "prepared",
        [
            session.execute(prepared, ("c", 1, "a")).was_applied,
            session.execute(prepared, ("d", 1, "a")).was_applied,
        ],
    )
    batch = BatchStatement()
    batch.add(
        session.prepare("UPDATE events SET what = ? WHERE day = ? AND at = ? IF what = ?"),
        ("new", "d", 1, None),
    )
    batch.add("INSERT INTO events (day, at, what) VALUES ('d', 2, 'x') IF NOT EXISTS")
    context.record("batch", session.execute(batch).was_applied)
    context.record("again", session.execute(batch).was_applied)


def sequences_for_in(context):
    """Pass sequences as the parameter of IN."""
    session = context.shared_session
    _users(session)
    for value in (ValueSequence([1, 2]), ValueSequence(), ValueSequence("ab"), (1, 2), [1]):
        context.record_call(
            f"{type(value).__name__} {value}",
            lambda value=value: sorted(
                session.execute("SELECT user_id FROM users WHERE user_id IN %s", [value])
            ),
        )


def keys_by_replica(context):
    """Group keys by their replicas, also for a table that does not exist."""
    session = context.shared_session
    groups = group_keys_by_replica(session, context.keyspace, "users", [(1,), (2,), (3,)])
    context.record("groups", [(host.address, sorted(keys)) for host, keys in groups.items()])
    context.record_call("table", group_keys_by_replica, session, context.keyspace, "nosuch", [(1,)])


def policies_of_the_pages(context):
    """Connect with each load balancing policy."""
    for name, policy in {
        "robin": RoundRobinPolicy(),
        "dc": DCAwareRoundRobinPolicy(local_dc="datacenter1"),
        "token": TokenAwarePolicy(DCAwareRoundRobinPolicy(local_dc="datacenter1")),
        "white": WhiteListRoundRobinPolicy([context.host]),
        "filter": HostFilterPolicy(RoundRobinPolicy(), lambda host: True),
        "no dc": DCAwareRoundRobinPolicy(),
        "other dc": DCAwareRoundRobinPolicy(local_dc="nosuch"),
        "nobody": HostFilterPolicy(RoundRobinPolicy(), lambda host: False),
        "not in white": WhiteListRoundRobinPolicy(["127.0.0.9"]),
    }.items():
        context.record_call(
            name,
            lambda policy=policy: (
                context.new_cluster(load_balancing_policy=policy)
                .connect(context.keyspace)
                .execute("SELECT * FROM users")
            ),
        )


def speculation(context):
    """Execute with speculative executions."""
    policy = ConstantSpeculativeExecutionPolicy(delay=0.5, max_attempts=10)
    session = context.new_cluster(
        execution_profiles={
            EXEC_PROFILE_DEFAULT: ExecutionProfile(speculative_execution_policy=policy)
        }
    ).connect(context.keyspace)
    statement = SimpleStatement("SELECT * FROM users", is_idempotent=True)
    context.record_call("idempotent", session.execute, statement)
    context.record_call("plain", session.execute, "SELECT * FROM users")
    plan = policy.new_plan("ks", statement)
    context.record("plan", [plan.next_execution(None) for _ in range(11)][-3:])


def logins(context):
    """Log in to a server that requires no login."""
    provider = PlainTextAuthProvider(username="cassandra", password="cassandra")
    context.record_call(
        "without", lambda: context.new_cluster(auth_provider=provider).connect().keyspace
    )
    authenticator = provider.new_authenticator("127.0.0.1")
    authenticator.server_authenticator_class = "org.apache.cassandra.auth.PasswordAuthenticator"
    context.record("response", authenticator.initial_response())
    context.record_call("wrong", lambda: context.new_cluster(auth_provider=5).connect())
    context.record_call(
        "dict", lambda: context.new_cluster(auth_provider={"username": "a", "password": "b"})
    )


def reconnection_settings(context):
    """Connect with each reconnection policy."""
    for policy in (ConstantReconnectionPolicy(1.0), ExponentialReconnectionPolicy(1.0, 10.0)):
        context.record_call(
            type(policy).__name__,
            lambda policy=policy: (
                context.new_cluster(
                    reconnection_policy=policy,
                    default_retry_policy=RetryPolicy(),
                )
                .connect(context.keyspace)
                .execute("SELECT * FROM users")
            ),
        )


def hosts_of_a_cluster(context):
    """Record the attributes of hosts and of the cluster metadata."""
    cluster = context.new_session().cluster
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
        context.record_call(name, getattr, host, name)
    context.record("host_id", isinstance(host.host_id, uuid.UUID))
    context.record("name", cluster.metadata.cluster_name is not None)
    context.record("partitioner", cluster.metadata.partitioner)
    context.record_call("control", lambda: cluster.get_control_connection_host() == host)
    context.record_call(
        "get_host", lambda: cluster.metadata.get_host(host.broadcast_rpc_address) == host
    )
    context.record_call("by endpoint", lambda: cluster.metadata.get_host(host.endpoint) == host)
    context.record_call("unknown host", cluster.metadata.get_host, "10.1.2.3")
    context.record_call(
        "replicas",
        lambda: [
            host.address for host in cluster.metadata.get_replicas(context.keyspace, b"\0\0\0\1")
        ],
    )
    context.record_call(
        "replicas unknown", lambda: list(cluster.metadata.get_replicas("nosuch", b"k"))
    )
    context.record_call("text", str, host)
    context.record_call("repr", repr, host)


def a_set_of_rows_of_ones_own(context):
    """Use a `ResultSet` that the application has created itself."""
    future = mock.Mock(has_more_pages=False)
    rows = ResultSet(future, [1, 2, 3])
    context.record("rows", list(rows))
    rows = ResultSet(future, [1, 2, 3])
    context.record("one", rows.one())
    context.record("all", rows.all())
    context.record("bool", [bool(ResultSet(future, [])), bool(ResultSet(future, [1]))])
    rows = ResultSet(future, [1, 2, 3])
    context.record_call("index", lambda: rows[1])
    context.record_call("index again", lambda: rows[0])
    context.record_call("equal", lambda: rows == [1, 2, 3])
    context.record_call("len", len, rows)
    rows = ResultSet(future, [1, 2, 3])
    next(iter(rows))
    context.record_call("index later", lambda: rows[0])
    context.record_call("applied", lambda: rows.was_applied)
