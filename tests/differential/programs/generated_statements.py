"""Random programs that execute statements; the number in a program's name is its seed.

Every function without an underscore is a program that each driver runs. `context` is a
`ProgramContext` (see `tests.differential.worker`): it gives sessions, and records outcomes.
`context.record(label, value)` records a value. `context.record_call(label, function, *arguments)`
calls the function, records its result or error, and returns the result, or None after an error.
"""

import random
import threading

from cassandra import ConsistencyLevel
from cassandra.cluster import EXEC_PROFILE_DEFAULT
from cassandra.query import (
    UNSET_VALUE,
    BatchStatement,
    BatchType,
    SimpleStatement,
    dict_factory,
    named_tuple_factory,
    tuple_factory,
)

# CQL that creates the tables and types of the programs; "KS." stands for the keyspace.
TABLES = [
    "CREATE TABLE KS.g (k int, c int, v text, n bigint, l list<text>, s set<int>, "
    "m map<text, double>, d date, ts timestamp, u uuid, PRIMARY KEY (k, c))",
]
# The programs that run several times, each with its cases.
EACH = {"statements": range(120), "fetching": range(30)}
LEVELS = (
    ConsistencyLevel.ONE,
    ConsistencyLevel.QUORUM,
    ConsistencyLevel.ALL,
    ConsistencyLevel.LOCAL_ONE,
    ConsistencyLevel.LOCAL_QUORUM,
)
# For each column, the values that random programs choose from.
COLUMNS = {
    "v": [None, "", "x", "it's", "100%", "ä\n", "a;b", "--", "$$"],
    "n": [None, 0, -1, 2**62],
    "l": [None, [], ["a"], ["a", "b'", ""], ("t",), {"one"}],
    "s": [None, set(), {1}, {3, 1, 2}, [2, 1], frozenset({4})],
    "m": [None, {}, {"a": 1.5}, {"b": 2.0, "a": -1.0}],
    "d": [None, "2020-02-29", 18000],
    "ts": [None, 0, 1_500_000_000_000],
}


def _columns(rng):
    names = rng.sample(sorted(COLUMNS), rng.randint(1, 4))
    return {name: rng.choice(COLUMNS[name]) for name in names}


def _settings(rng):
    """Draw keyword arguments of `SimpleStatement`; many statements get no arguments."""
    options = {}
    if rng.random() < 0.3:
        options["consistency_level"] = rng.choice(LEVELS)
    if rng.random() < 0.2:
        options["serial_consistency_level"] = ConsistencyLevel.LOCAL_SERIAL
    if rng.random() < 0.2:
        options["fetch_size"] = rng.choice([1, 2, 100])
    if rng.random() < 0.2:
        options["is_idempotent"] = True
    return options


class _Writer:
    """Executes random writes, each in one of nine ways, such as a batch or named parameters."""

    def __init__(self, context, rng, session):
        self.context, self.rng, self.session = context, rng, session
        self.prepared = {}

    def key(self):
        return {"k": self.rng.randint(1, 3), "c": self.rng.randint(1, 3)}

    def insert(self, way):
        """Return a random INSERT with its parameters.

        :param way: the form of the parameters, such as "named" or "positions".
        """
        values = {**self.key(), **_columns(self.rng)}
        names = ", ".join(values)
        tail = self.rng.choice(
            ["", "", " IF NOT EXISTS", " USING TTL 500", " USING TIMESTAMP 1000"]
        )
        if way == "named":
            marks = ", ".join(f"%({name})s" for name in values)
            return f"INSERT INTO g ({names}) VALUES ({marks}){tail}", values
        if way == "positions":
            return (
                f"INSERT INTO g ({names}) VALUES ({', '.join(['%s'] * len(values))}){tail}",
                list(values.values()),
            )
        text = f"INSERT INTO g ({names}) VALUES ({', '.join('?' * len(values))}){tail}"
        parameters = list(values.values())
        if self.rng.random() < 0.2:
            parameters[-1] = UNSET_VALUE
        return self.prepare(text), (
            dict(zip(values, parameters, strict=False)) if way == "dict" else tuple(parameters)
        )

    def prepare(self, text):
        if text not in self.prepared:
            self.prepared[text] = self.session.prepare(text)
        return self.prepared[text]

    def other(self):
        """Return a random statement without parameters that changes or deletes rows."""
        key = self.key()
        where = f"WHERE k = {key['k']} AND c = {key['c']}"
        return self.rng.choice(
            [
                f"DELETE FROM g {where}",
                f"DELETE v, l FROM g {where}",
                f"UPDATE g SET l = l + ['z'], s = s - {{1}} {where}",
                f"UPDATE g SET v = 'upd' {where} IF EXISTS",
                f"UPDATE g SET v = 'upd' {where} IF v = 'x'",
                f"DELETE FROM g WHERE k = {key['k']}",
            ]
        )

    def write(self, label):
        """Execute one random write, and record the outcome."""
        way = self.rng.choice(
            [
                "named",
                "positions",
                "prepared",
                "dict",
                "simple",
                "batch",
                "bound",
                "profile",
                "async",
            ]
        )
        label = f"{label} {way}"
        if way == "simple":
            return self.execute_and_record(
                label, SimpleStatement(self.other(), **_settings(self.rng))
            )
        if way == "batch":
            return self.batch(label)
        insert_way = "prepared" if way in ("bound", "profile", "async") else way
        statement, values = self.insert(insert_way)
        if way == "bound":
            bound = statement.bind(values)
            bound.consistency_level = self.rng.choice(LEVELS)
            return self.execute_and_record(label, bound)
        if way == "profile":
            profile = self.session.execution_profile_clone_update(
                EXEC_PROFILE_DEFAULT, row_factory=dict_factory, consistency_level=1
            )
            return self.execute_and_record(label, statement, values, execution_profile=profile)
        if way == "async":
            return self.execute_asynchronously(label, statement, values)
        return self.execute_and_record(label, statement, values)

    def execute_and_record(self, label, *arguments, **options):
        """Execute a statement, and record its rows and `was_applied`."""
        rows = self.context.record_call(label, self.session.execute, *arguments, **options)
        if rows is not None:
            self.context.record_call(f"{label} applied", lambda: rows.was_applied)

    def execute_asynchronously(self, label, *arguments):
        """Execute a statement asynchronously, and record what its callback or errback gets."""
        done, outcomes = threading.Event(), []

        def record(rows_or_error):
            outcomes.append(rows_or_error)
            done.set()

        future = self.session.execute_async(*arguments)
        future.add_callbacks(record, record)
        done.wait(10)
        self.context.record(label, outcomes)

    def batch(self, label):
        """Execute a batch of up to four random statements."""
        kind = self.rng.choice([BatchType.LOGGED, BatchType.UNLOGGED])
        batch = BatchStatement(
            kind,
            **{
                name: value
                for name, value in _settings(self.rng).items()
                if name not in ("fetch_size", "is_idempotent")
            },
        )
        for index in range(self.rng.randint(0, 4)):
            way = self.rng.choice(["positions", "named", "prepared", "dict", "simple"])
            if way == "simple":
                self.context.record_call(f"{label} {index} {way}", batch.add, self.other())
            else:
                statement, values = self.insert(way)
                self.context.record_call(f"{label} {index} {way}", batch.add, statement, values)
        return self.execute_and_record(label, batch)


def statements(context, seed):
    """Execute random writes, and record the rows at the end."""
    rng = random.Random(seed)
    writer = _Writer(context, rng, context.shared_session)
    for step in range(10):
        writer.write(step)
    context.record_call(
        "read", lambda: sorted(context.shared_session.execute("SELECT k, c, v, n FROM g"), key=repr)
    )
    context.record_call(
        "collections",
        lambda: sorted(context.shared_session.execute("SELECT k, c, l, s, m FROM g"), key=repr),
    )


def fetching(context, seed):
    """Read random results, and apply several random operations to each result."""
    rng = random.Random(seed)
    session = context.new_session()
    row_count = rng.choice([0, 1, 5, 10])
    insert = session.prepare("INSERT INTO g (k, c, v) VALUES (?, ?, ?)")
    for index in range(row_count):
        session.execute(insert, (index % 2, index, f"v{index}"))
    session.row_factory = rng.choice([dict_factory, tuple_factory, named_tuple_factory])
    for step in range(8):
        fetch_size = rng.choice([None, 1, 2, 3, 5, 10, 100])
        text = rng.choice(
            [
                "SELECT k, c FROM g",
                "SELECT v FROM g WHERE k = 1",
                "SELECT count(*) FROM g",
                "SELECT k FROM g LIMIT 4",
                "SELECT DISTINCT k FROM g",
            ]
        )
        label = f"{step} {fetch_size} {text}"
        result = session.execute(SimpleStatement(text, fetch_size=fetch_size))
        for _ in range(rng.randint(1, 5)):
            operation = rng.choice(
                [
                    "one",
                    "all",
                    "next",
                    "bool",
                    "current_rows",
                    "has_more_pages",
                    "fetch_next_page",
                    "list",
                    "break",
                    "paging_state",
                ]
            )
            label += f" {operation}"
            context.record_call(
                label, lambda operation=operation, result=result: _use(result, operation)
            )


def _use(result, operation):
    """Read from a result in the way that `operation` names."""
    if operation == "next":
        return next(iter(result))
    if operation == "bool":
        return bool(result)
    if operation == "list":
        return list(result)
    if operation == "break":
        for row in result:
            return row
        return None
    if operation == "paging_state":
        return type(result.paging_state)
    value = getattr(result, operation)
    return value() if callable(value) else value
