"""Unusual forms of calls that users of other libraries try.

Examples are rows that are mappings, values that are not one tuple, NumPy timestamps, consistency
levels as timeouts, generators that are kept, and models that override methods.

Every function without an underscore is a program that each driver runs. `context` is a
`ProgramContext` (see `tests.differential.worker`): it gives sessions, and records outcomes.
`context.record(label, value)` records a value. `context.record_call(label, function, *arguments)`
calls the function, records its result or error, and returns the result, or None after an error.
"""

import collections
import datetime
import time
from types import MappingProxyType

import numpy as np

from cassandra import ConsistencyLevel
from cassandra.concurrent import execute_concurrent, execute_concurrent_with_args
from cassandra.cqlengine import columns
from cassandra.cqlengine.management import sync_table
from cassandra.cqlengine.models import Model
from cassandra.query import BatchStatement, BoundStatement, SimpleStatement

OWN_KEYSPACE = True  # each program gets a new keyspace
STATEMENTS = False  # do not compare the requests that the node receives

Pair = collections.namedtuple("Pair", ["v", "k"])


def _table(context, columns_of_table):
    """Create the table `t`, and return a session in its keyspace."""
    session = context.new_session()
    session.execute(f"CREATE TABLE t ({columns_of_table})")
    return session


def bind_forms(context):
    """Bind values in forms other than a tuple."""
    session = _table(context, "k int PRIMARY KEY, v text")
    insert = session.prepare("INSERT INTO t (k, v) VALUES (?, ?)")
    select = session.prepare("SELECT * FROM t WHERE k = ?")
    by_text = session.prepare("SELECT * FROM t WHERE v = ? ALLOW FILTERING")
    forms = {
        "tuple": lambda: insert.bind((1, "a")),
        "list": lambda: insert.bind([1, "a"]),
        "dict": lambda: insert.bind({"v": "a", "k": 1}),
        "separate": lambda: insert.bind(1, "a"),
        "two rows": lambda: insert.bind((1, "a"), (2, "b")),
        "nothing": lambda: insert.bind(),
        "keywords": lambda: insert.bind(k=1, v="a"),
        "generator": lambda: insert.bind(value for value in (1, "a")),
        "fewer": lambda: insert.bind((1,)),
        "named tuple in order": lambda: insert.bind(collections.namedtuple("P", "k v")(1, "a")),
        "one int": lambda: select.bind(5),
        "one letter": lambda: by_text.bind("a"),
        "one text": lambda: by_text.bind("abc"),
        "bound separately": lambda: BoundStatement(insert).bind(1, "a"),
    }
    for label, form in forms.items():
        context.record_call(label, lambda form=form: list(form().values))


def iterables_as_parameters(context):
    """Pass iterators and views of dicts as parameters."""
    session = _table(context, "k int PRIMARY KEY, v text")
    text = "INSERT INTO t (k, v) VALUES (%s, %s)"
    insert = session.prepare("INSERT INTO t (k, v) VALUES (?, ?)")
    values = {
        "iterator": lambda: iter((1, "a")),
        "map": lambda: map(str, (1, "a")),
        "generator": lambda: (value for value in (2, "b")),
        "values of a dict": {"k": 3, "v": "c"}.values,
        "keys of a dict": {4: "x", "d": "y"}.keys,
        "too few": lambda: iter((1,)),
    }
    for query, kind in ((text, "text"), (SimpleStatement(text), "simple"), (insert, "prepared")):
        for label, make in values.items():
            context.record_call(f"{kind} {label}", session.execute, query, make())
            context.record_call(
                f"{kind} {label} in a batch",
                lambda query=query, make=make: session.execute(BatchStatement().add(query, make())),
            )
            context.record_call(
                f"{kind} {label} concurrent",
                execute_concurrent_with_args,
                session,
                query,
                [make()],
            )
    context.record("rows", sorted(session.execute("SELECT k, v FROM t")))


def names_in_another_order(context):
    """Bind a named tuple that has the names of the bind markers in another order."""
    session = _table(context, "k text PRIMARY KEY, v text")
    insert = session.prepare("INSERT INTO t (k, v) VALUES (?, ?)")
    context.record_call("execute", session.execute, insert, Pair("value", "key"))
    context.record("rows", [tuple(row) for row in session.execute("SELECT k, v FROM t")])


def rows_that_are_mappings(context):
    """Use row factories that return mappings of several kinds."""
    session = _table(context, "k int, c int, v text, PRIMARY KEY (k, c)")
    for c in range(5):
        session.execute("INSERT INTO t (k, c, v) VALUES (1, %s, 'x')", (c,))

    def of_row(names, row):
        return dict(zip(names, row, strict=True))

    factories = {
        "dicts": lambda names, rows: [of_row(names, row) for row in rows],
        "ordered": lambda names, rows: [collections.OrderedDict(of_row(names, r)) for r in rows],
        "proxies": lambda names, rows: [MappingProxyType(of_row(names, row)) for row in rows],
        "one mapping": lambda names, rows: {row[1]: of_row(names, row) for row in rows},
        "generator": lambda names, rows: (of_row(names, row) for row in rows),
    }
    for label, factory in factories.items():
        session.row_factory = factory
        for size in (100, 2):
            statement = SimpleStatement("SELECT * FROM t WHERE k = 1", fetch_size=size)
            context.record_call(
                f"{label} {size} iterated",
                lambda statement=statement: [repr(row) for row in session.execute(statement)],
            )
            context.record_call(
                f"{label} {size} one",
                lambda statement=statement: repr(session.execute(statement).one()),
            )


def moments_of_numpy(context):
    """Write NumPy's datetime64 values into timestamps and dates."""
    session = _table(context, "k int PRIMARY KEY, ts timestamp, d date, l list<timestamp>")
    moment = np.datetime64("2024-05-06T07:08:09.123456789")
    values = {
        "ns": moment,
        "us": moment.astype("datetime64[us]"),
        "day": moment.astype("datetime64[D]"),
        "year": moment.astype("datetime64[Y]"),
        "NaT": np.datetime64("NaT"),
        "interval": np.timedelta64(5, "s"),
    }
    for column in ("ts", "d"):
        insert = session.prepare(f"INSERT INTO t (k, {column}) VALUES (1, ?)")
        for label, value in values.items():
            session.execute("TRUNCATE t")
            context.record_call(f"bound {column} {label}", session.execute, insert, (value,))
            context.record(f"bound {column} {label} read", list(session.execute("SELECT * FROM t")))
    session.execute("TRUNCATE t")
    array = np.array([moment])
    context.record_call("array", session.execute, "INSERT INTO t (k, l) VALUES (1, %s)", (array,))
    context.record("array read", list(session.execute("SELECT l FROM t")))
    context.record_call(
        "interval",
        session.execute,
        "INSERT INTO t (k, ts) VALUES (1, %s)",
        (datetime.timedelta(1),),
    )


def levels_as_timeouts(context):
    """Pass a consistency level, and a bool, as the timeout."""
    session = context.new_session()
    query = "SELECT key FROM system.local"
    level = ConsistencyLevel.LOCAL_ONE
    context.record_call("level", lambda: list(session.execute(query, None, level)))
    session.default_timeout = None
    context.record_call("none", lambda: list(session.execute(query)))
    context.record_call("none of a call", lambda: list(session.execute(query, timeout=None)))


def generators_that_are_kept(context):
    """Keep a generator of results, and read at most one result from it."""
    session = _table(context, "k int PRIMARY KEY")
    insert = session.prepare("INSERT INTO t (k) VALUES (?)")
    rows = [(k,) for k in range(200)]

    def count():
        # A driver may send the statements later, so count the rows until all are there or 20
        # seconds have passed.
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            (found,) = session.execute("SELECT count(*) FROM t").one()
            if found == len(rows):
                break
            time.sleep(0.1)
        return found

    kept = execute_concurrent_with_args(
        session, insert, rows, concurrency=10, results_generator=True
    )
    context.record("unread", count())
    session.execute("TRUNCATE t")
    pairs = [(insert, row) for row in rows]
    generator = execute_concurrent(session, pairs, concurrency=10, results_generator=True)
    context.record("first", next(iter(generator)).success)
    context.record("the others", len(list(generator)))
    context.record("in the table", count())
    context.record("all of the first", len(list(kept)))


def models_with_methods_of_their_own(context):
    """Count the calls of the overridden `save`, `update` and `__init__` of a model."""
    context.set_up_mapper()
    calls = []

    class Own(Model):
        __module__ = "programs"
        k = columns.Integer(primary_key=True)
        v = columns.Integer()

        def __init__(self, **values):
            calls.append(("init", sorted(values.items())))
            super().__init__(**values)

        def save(self):
            calls.append(("save", self.k, self.v))
            self.v = (self.v or 0) + 1
            return super().save()

        def update(self, **values):
            calls.append(("update", sorted(values.items())))
            return super().update(**values)

        def delete(self):
            calls.append(("delete", self.k))
            return super().delete()

    sync_table(Own)

    def step(label, function):
        context.record_call(label, function)
        context.record(f"{label} calls", [*calls])
        calls.clear()

    step("create", lambda: Own.create(k=1, v=5).v)
    step("objects.create", lambda: Own.objects.create(k=2, v=5).v)
    step("if_not_exists", lambda: Own.if_not_exists().create(k=3, v=5).v)
    step("get", lambda: Own.get(k=1).v)
    step("all", lambda: sorted(row.v for row in Own.objects.all()))
    step("update", lambda: Own.get(k=1).update(v=9).v)
    step("queryset update", lambda: Own.objects(k=1).update(v=10))
    step("save", lambda: Own.get(k=1).save().v)
    step("delete", lambda: Own.get(k=1).delete())
    step("left", lambda: sorted((row.k, row.v) for row in Own.objects.all()))
