"""Random programs in which sessions, keyspaces and tables change; the seed is in the name.

Every function without an underscore is a program that each driver runs. `context` is a
`ProgramContext` (see `tests.differential.worker`): it gives sessions, and records outcomes.
`context.record(label, value)` records a value. `context.record_call(label, function, *arguments)`
calls the function, records its result or error, and returns the result, or None after an error.

Two keyspaces have a table with the same name and the same columns. The rows contain a letter for
their keyspace, so the outcome shows in which keyspace a request ran. The programs switch keyspaces
(``USE``, `Session.set_keyspace`), prepare the same query in both keyspaces, and execute a statement
that was prepared in one session with another session. They also alter, drop and recreate the table
while statements are prepared.
"""

import random

from cassandra.cluster import EXEC_PROFILE_DEFAULT, ExecutionProfile
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.query import (
    BatchStatement,
    SimpleStatement,
    dict_factory,
    named_tuple_factory,
    tuple_factory,
)

STATEMENTS = False  # do not compare the requests that the node receives
# The programs that run several times, each with its cases.
EACH = {"keyspaces": range(12), "tables": range(11)}
STEPS = 25  # the number of actions of a program
VERSIONS = (3, 4, 5)  # of the native protocol
CREATE = "CREATE TABLE {}.t (k int, c int, v text, PRIMARY KEY (k, c))"  # {} is the keyspace
QUERIES = (
    "SELECT k, c, v FROM t WHERE k = ?",
    "SELECT v FROM t WHERE k = ?",
    "SELECT * FROM t WHERE k = ?",
)


class _Sessions:
    """Executes random actions with the sessions of one program, and records their outcomes.

    `keyspaces` has the names of both keyspaces, and `prepared` the prepared statements. `sessions`
    has a session without a keyspace, and a session for each keyspace.

    :param version: the version of the native protocol; None for a random version of VERSIONS.
    """

    def __init__(self, context, seed, version=None):
        self.context = context
        self.seed, self.rng, self.step = seed, random.Random(seed), 0
        self.keyspaces = [f"{context.keyspace}_{letter}{seed}" for letter in "xy"]
        version = version or self.rng.choice(VERSIONS)
        # Before version 5, other drivers ignore or refuse the option `keyspace`; `named_keyspaces`
        # tests that.
        self.can_name_keyspaces = version >= 5
        # A program sets the row factory either in a profile or on the session. Other drivers refuse
        # both together.
        self.uses_profiles = self.rng.random() < 0.5
        options = {"execution_profiles": {EXEC_PROFILE_DEFAULT: ExecutionProfile()}}
        self.cluster = context.new_cluster(
            protocol_version=version, **(options if self.uses_profiles else {})
        )
        self.sessions = [self.cluster.connect()]
        for keyspace in self.keyspaces:
            self.sessions[0].execute(f"DROP KEYSPACE IF EXISTS {keyspace}", timeout=60)
            self.sessions[0].execute(
                f"CREATE KEYSPACE {keyspace} WITH replication = "
                "{'class': 'SimpleStrategy', 'replication_factor': 1}",
                timeout=60,
            )
            self.create_table(keyspace)
            self.sessions.append(self.cluster.connect(keyspace))
        self.prepared = []

    def create_table(self, keyspace):
        """Create the table of a keyspace, with rows whose `v` contains the keyspace's letter."""
        session = self.sessions[0]
        session.execute(CREATE.format(keyspace), timeout=60)
        letter = keyspace[len(self.context.keyspace) + 1]
        for k in range(2):
            for c in range(5):
                session.execute(
                    f"INSERT INTO {keyspace}.t (k, c, v) VALUES ({k}, {c}, '{letter}{k}{c}')"
                )

    def record(self, name, call, *args, **kwargs):
        """Record the rows, the value or the error of a call, and return the rows or the value."""

        def read():
            result = call(*args, **kwargs)
            return list(result) if hasattr(result, "has_more_pages") else result

        return self.context.record_call(f"{self.step} {name}", read)

    def session(self):
        return self.rng.choice(self.sessions)

    def use(self):
        """Switch the keyspace of a session, in one of three ways."""
        session, keyspace = self.session(), self.rng.choice(self.keyspaces)
        way = self.rng.choice(["USE", "USE async", "set_keyspace"])
        if way == "USE":
            self.record("use", session.execute, f"USE {keyspace}")
        elif way == "USE async":
            self.record("use", session.execute_async(f"USE {keyspace}").result)
        else:
            self.record("use", session.set_keyspace, keyspace)
        self.context.record(f"{self.step} keyspace", session.keyspace)

    def prepare(self):
        """Prepare a query for one of the keyspaces, with a random session.

        The keyspace is in the query, or is the option `keyspace`, or is the keyspace of the
        session.
        """
        session, query = self.session(), self.rng.choice(QUERIES)
        options = {}
        way = self.rng.random()
        if way < 0.3:
            query = query.replace("FROM t", f"FROM {self.rng.choice(self.keyspaces)}.t")
        elif way < 0.5 and self.can_name_keyspaces:
            options = {"keyspace": self.rng.choice(self.keyspaces)}
        statement = self.record("prepare", session.prepare, query, **options)
        # If the PREPARE failed, `statement` is None. Append None as well, so that later choices are
        # the same with all drivers.
        self.prepared.append(statement)

    def execute_prepared(self):
        """Execute one of the prepared statements with any of the sessions."""
        session, key = self.session(), (self.rng.randrange(2),)
        way = self.rng.choice(["values", "bound", "concurrent", "async"])
        statement = self.rng.choice(self.prepared) if self.prepared else None
        # The statement is None if its PREPARE failed, or if no statement was prepared yet.
        if statement is None:
            return
        if way == "values":
            self.record("execute", session.execute, statement, key)
        elif way == "bound":
            bound = statement.bind(key)
            self.context.record(f"{self.step} bound", (bound.keyspace, bound.routing_key))
            self.record("execute", session.execute, bound)
        elif way == "async":
            self.record("execute", session.execute_async(statement, key).result)
        else:
            self.record(
                "concurrent",
                lambda: [
                    (success, list(rows) if success else rows)
                    for success, rows in execute_concurrent_with_args(
                        session, statement, [key] * 3, raise_on_first_error=False
                    )
                ],
            )

    def execute_string(self):
        """Execute a query string, sometimes with the setting `keyspace` or `fetch_size`."""
        session = self.session()
        query = f"SELECT k, c, v FROM t WHERE k = {self.rng.randrange(2)}"
        options = {}
        if self.rng.random() < 0.3 and self.can_name_keyspaces:
            options["keyspace"] = self.rng.choice(self.keyspaces)
        if self.rng.random() < 0.3:
            options["fetch_size"] = self.rng.choice([1, 2])
        self.record("string", session.execute, SimpleStatement(query, **options))

    def write(self):
        """Write a row: with a string, a prepared statement, or a batch."""
        session = self.session()
        c = self.rng.randrange(5, 10)
        text = f"new{self.step}"
        way = self.rng.choice(["string", "prepared", "batch", "batch"])
        if way == "string":
            query = "INSERT INTO t (k, c, v) VALUES (%s, %s, %s)"
            self.record("write", session.execute, query, (1, c, text))
            return
        query = "INSERT INTO t (k, c, v) VALUES (?, ?, ?)"
        insert = self.record("prepare", session.prepare, query)
        if insert is None:
            return
        if self.rng.random() < 0.3:
            session = self.session()
        if way == "prepared":
            self.record("write", session.execute, insert, (1, c, text))
            return
        options = {}
        if self.rng.random() < 0.3 and self.can_name_keyspaces:
            options["keyspace"] = self.rng.choice(self.keyspaces)
        batch = BatchStatement(**options)
        batch.add(insert, (1, c, text))
        if self.rng.random() < 0.5:
            batch.add(SimpleStatement("DELETE FROM t WHERE k = 1 AND c = %s"), (c - 5,))
        self.record("batch", session.execute, batch)

    def page(self):
        """Read the first page of a result, and then the rest.

        The rest is read by iterating over the result, or with the result's paging state in any
        session.
        """
        session = self.session()
        statement = SimpleStatement("SELECT k, c, v FROM t", fetch_size=3)
        result = self.context.record_call(f"{self.step} page", session.execute, statement)
        if result is None:
            return
        if self.rng.random() < 0.5:
            self.record("rest", list, result)
        elif result.paging_state:
            other = self.session()
            self.record("state", other.execute, statement, paging_state=result.paging_state)

    def read_otherwise(self):
        """Read rows with a row factory, which is set on the session or in an execution profile."""
        session = self.session()
        factory = self.rng.choice([dict_factory, tuple_factory, named_tuple_factory])
        query = "SELECT k, v FROM t WHERE k = 0"
        if self.uses_profiles:
            clone = session.execution_profile_clone_update(
                EXEC_PROFILE_DEFAULT, row_factory=factory
            )
            self.record("profile", session.execute, query, execution_profile=clone)
        else:
            session.row_factory = factory
            self.record("factory", session.execute, query)

    def change_table(self):
        """Alter the table of one keyspace, or drop it and create it again."""
        keyspace = self.rng.choice(self.keyspaces)
        run = self.sessions[0].execute
        way = self.rng.choice(["add", "drop column", "recreate", "truncate"])
        if way == "add":
            query = f"ALTER TABLE {keyspace}.t ADD a{self.rng.randrange(3)} int"
        elif way == "drop column":
            query = f"ALTER TABLE {keyspace}.t DROP a{self.rng.randrange(3)}"
        elif way == "truncate":
            query = f"TRUNCATE {keyspace}.t"
        else:
            run(f"DROP TABLE {keyspace}.t", timeout=60)
            self.create_table(keyspace)
            self.context.record(f"{self.step} recreated", keyspace)
            return
        self.record(way, run, query, timeout=60)

    def run(self, actions):
        """Execute random actions, then record the rows of both tables.

        :param actions: the methods to choose from, some of them several times.
        """
        for self.step in range(STEPS):
            # Seed each step, so that all drivers take the same steps even after a difference.
            self.rng = random.Random(f"{self.seed} {self.step}")
            self.rng.choice(actions)()
        for keyspace in self.keyspaces:
            rows = self.sessions[0].execute(f"SELECT k, c, v FROM {keyspace}.t", timeout=60)
            # A step may have set a row factory whose rows are dicts.
            rows = [tuple(row.values()) if isinstance(row, dict) else tuple(row) for row in rows]
            self.context.record("table", rows)
        self.drop()

    def drop(self):
        """Drop both keyspaces."""
        for keyspace in self.keyspaces:
            self.sessions[0].execute(f"DROP KEYSPACE {keyspace}", timeout=60)


def keyspaces(context, seed):
    """Execute random actions while sessions switch between the two keyspaces."""
    sessions = _Sessions(context, seed)
    sessions.run(
        [
            sessions.use,
            sessions.prepare,
            sessions.execute_prepared,
            sessions.execute_prepared,
            sessions.execute_string,
            sessions.write,
            sessions.page,
            sessions.read_otherwise,
        ]
    )


def tables(context, seed):
    """Execute prepared statements while their tables are altered and recreated."""
    sessions = _Sessions(context, seed)
    sessions.run(
        [
            sessions.use,
            sessions.prepare,
            sessions.prepare,
            sessions.execute_prepared,
            sessions.execute_prepared,
            sessions.execute_prepared,
            sessions.write,
            sessions.change_table,
            sessions.change_table,
        ]
    )


def named_keyspaces(context):
    """Pass `keyspace` with protocol version 4, and read further pages after a USE."""
    sessions = _Sessions(context, 0, version=4)
    x, y = sessions.keyspaces
    session = sessions.sessions[1]
    query = "SELECT k, c, v FROM t WHERE k = 0"
    for label, keyspace in (("session's", x), ("other", y)):
        statement = SimpleStatement(query, keyspace=keyspace)
        sessions.record(f"string {label}", session.execute, statement)
        sessions.record(f"prepare {label}", session.prepare, query, keyspace=keyspace)
    result = session.execute(SimpleStatement(query, fetch_size=3))
    session.execute(f"USE {y}")
    sessions.record("rest", list, result)
    sessions.drop()
