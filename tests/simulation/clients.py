"""The applications of a life: they run the steps, and record their requests and results."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cassandra.errors import DriverException
from cassandra.protocol.messages.errors import PreparedQueryNotFound
from cassandra.query import BatchStatement, BatchType, SimpleStatement
from tests.simulation.mapped import Mapped
from tests.simulation.plan import Line
from tests.simulation.store import KEYSPACES, PAGES_ROWS, SCANNED, SCANNED_ROWS

if TYPE_CHECKING:
    from tests.simulation.life import Life

__all__ = ["Clients", "Operation", "User"]

INSERT = "INSERT INTO w (k, op) VALUES (?, ?)"
SELECT = "SELECT k, op, v, ks FROM w WHERE k = ? AND op = ?"
COUNT = "UPDATE c SET n = n + 1 WHERE k = ? AND op = ?"

# Errors that applications must expect while faults occur in their cluster.
EXPECTED = (DriverException, OSError, asyncio.CancelledError, asyncio.TimeoutError)
MOST_SECONDS = 300.0  # a call that takes longer hangs; requests with a timeout end sooner
# Seconds by which a timeout may be late, besides stalls of the loop: the driver's timers have slots
# of 100 ms, and the loop may be busy.
SLACK = 0.5


@dataclass
class Operation:
    """One statement of a client: a request, or a statement of a batch or of a load.

    Its number is a value in the statement, so the nodes know which operation they execute.
    """

    number: int
    is_idempotent: bool
    keyspaces: set[str]
    is_write: bool = False
    is_acknowledged: bool = False
    what: str = ""
    is_bound: bool = False
    """True if `keyspaces` is final. Otherwise each later USE of the session adds its keyspace."""
    cluster: Any = None
    request: int = 0
    """The number of the first operation of the same request."""
    timestamp: int | None = None
    """The timestamp that the application set; None for a timestamp of the driver's generator."""
    begun: int = 0
    ended: int = 0
    """Logical times at which the client began and ended it; `ended` is 0 if that is unknown."""
    earliest: int = 0
    """The time of the machine's clock at the beginning, in microseconds."""


@dataclass(eq=False)
class User:
    """A session with its prepared statements, and the keyspaces that it is being switched to."""

    cluster: Any
    session: Any
    switching: dict[int, str] = field(default_factory=dict)
    prepared: dict[str, tuple[Any, frozenset[str]]] = field(default_factory=dict)
    open: set[int] = field(default_factory=set)
    """Numbers of the operations in flight."""

    def keyspaces(self) -> set[str]:
        """Return the keyspaces in which a request may run that begins now.

        While a USE is in flight, this is its keyspace or the session's current keyspace.
        """
        return {self.session.keyspace or "", *self.switching.values()}


class Clients:
    """All users of a life, and their operations.

    Each ``do_`` method runs one kind of step in `plan.STEPS`.
    """

    def __init__(self, life: Life) -> None:
        self.life = life
        self.users: list[User] = []
        self.clusters: list[Any] = []
        self.operations: dict[int, Operation] = {}
        self.tasks: list[asyncio.Task[None]] = []
        self.mapped = Mapped(self)
        self._number = 0
        self._moments = itertools.count(1)

    # -- operations --------------------------------------------------------------------------------

    def begin(self, user: User, what: str, *, idempotent: bool, write: bool) -> Operation:
        """Create an operation of `user`, and return it."""
        self._number += 1
        operation = Operation(self._number, idempotent, user.keyspaces(), write, what=what)
        self.operations[operation.number] = operation
        operation.cluster, operation.request = user.cluster, operation.number
        operation.begun = self.next_moment()
        operation.earliest = self.life.loop.wall_time_ns() // 1000
        user.open.add(operation.number)
        return operation

    def begin_text(self, user: User, what: str, *, idempotent: bool, write: bool) -> Operation:
        """Like `begin`, for a statement that is sent at once and has no keyspace name.

        Such an operation must run in the session's current keyspace, even if a USE is in flight or
        begins later. With the blocking API, the thread that sends it may run later, so the keyspace
        is not final yet.
        """
        operation = self.begin(user, what, idempotent=idempotent, write=write)
        if self.life.threads is None:
            operation.keyspaces = {user.session.keyspace or ""}
            operation.is_bound = True
        return operation

    def end(self, user: User, *operations: Operation) -> None:
        """Record that operations have ended, and which keyspaces they may have run in."""
        for operation in operations:
            if not operation.is_bound:
                operation.keyspaces |= user.keyspaces()
            self.close(user, operation)

    def close(self, user: User, *operations: Operation) -> None:
        """Record that operations have ended, without changing their keyspaces."""
        for operation in operations:
            user.open.discard(operation.number)
            # If the caller was cancelled, its thread may send the request even later.
            if self.life.threads is None or operation.is_acknowledged:
                operation.ended = self.next_moment()

    def next_moment(self) -> int:
        """Return the next logical time: a number that is greater than all earlier ones."""
        return next(self._moments)

    def note_keyspaces(self, user: User) -> None:
        """Allow the operations in flight to run in the current keyspaces of their session, too."""
        for number in user.open:
            operation = self.operations[number]
            if not operation.is_bound:
                operation.keyspaces |= user.keyspaces()

    def start(self, line: Line) -> None:
        """Begin a step in a task, which checks that the step ends."""
        if line.what not in ("new_cluster",) and not self.users:
            return
        user = self.users[line.who % len(self.users)] if self.users else None
        owner = self.mapped if line.what.startswith("mapped") else self
        work: Callable[[User | None, Line], Awaitable[Any]] = getattr(owner, f"do_{line.what}")
        task = asyncio.ensure_future(self._watch(work, user, line))
        self.tasks.append(task)

    async def _watch(self, work: Any, user: User | None, line: Line) -> None:
        life = self.life
        loop = life.loop
        began, stalled = loop.time(), life.stalled
        # Callers of the blocking API may begin while the loop is stalled: what is left of that
        # stall also delays this step.
        stalled -= max(0.0, life.stalled_until - began)
        task = asyncio.ensure_future(work(user, line))
        limit = MOST_SECONDS
        if line.cancel >= 0:
            await asyncio.wait({task}, timeout=line.cancel)
            task.cancel()
        done, _ = await asyncio.wait({task}, timeout=limit)
        label = f"{line.what}#{line.number}"
        if not done:
            life.violate(f"{label} never ends (begun at {began:.3f})")
            task.cancel()
            await asyncio.wait({task}, timeout=30)
            return
        took = loop.time() - began
        if task.cancelled():
            life.log(f"{label} cancelled")
            return
        error = task.exception()
        life.log(f"{label} {type(error).__name__ if error is not None else 'ok'}")
        if error is not None and not isinstance(error, EXPECTED):
            life.violate(f"{label} failed by {error!r}", error)
        if error is not None:
            self.check_error(label, error)
        if line.what in LIMITED and line.seconds >= 0:
            allowed = line.seconds + SLACK + (life.stalled - stalled)
            if took > allowed and line.cancel < 0:
                life.violate(f"{label} took {took:.2f} s with a time-out of {line.seconds} s")

    def check_error(self, label: str, error: BaseException) -> None:
        """Check that an application may get this error: statements must be prepared again."""
        # If the node forgets the statement right after it was prepared, the driver may give up.
        notes = getattr(error, "__notes__", ())
        if isinstance(error, PreparedQueryNotFound) and not any(
            "just prepared" in n for n in notes
        ):
            self.life.violate(f"{label} was not prepared again: {error}")

    def options(self, line: Line) -> dict[str, Any]:
        """Return the keyword arguments of `Session.execute`: the line's timeout, if it has one."""
        return {} if line.seconds < 0 else {"timeout": line.seconds}

    async def prepared(self, user: User, text: str) -> tuple[Any, frozenset[str]]:
        """Return a prepared statement, and the keyspaces in which it may have been prepared."""
        cached = user.prepared.get(text)
        if cached is None:
            holder = self.begin_text(user, "prepare", idempotent=True, write=False)
            try:
                statement = await user.session.prepare(text)
            finally:
                self.end(user, holder)
            cached = (statement, frozenset(holder.keyspaces))
            user.prepared[text] = cached
        return cached

    async def run(
        self, user: User, statement: Any, values: Any, operations: list[Operation], line: Line
    ) -> Any:
        """Execute the statement of some operations. If it succeeds, mark them as acknowledged."""
        try:
            result = await user.session.execute(statement, values, **self.options(line))
            for operation in operations:
                operation.is_acknowledged = True
            return result
        finally:
            self.end(user, *operations)

    def check_row(self, operation: Operation, row: Any, key: int | None = None) -> None:
        """Check that a row belongs to the operation that has read it."""
        if row.op != operation.number or (key is not None and row.k != key):
            self.life.violate(f"op {operation.number} got the answer to another question: {row}")
        if row.ks not in operation.keyspaces:
            self.life.violate(
                f"op {operation.number} read from {row.ks}, not {sorted(operation.keyspaces)}"
            )

    # -- steps -------------------------------------------------------------------------------------

    async def _write(self, user: User, line: Line, text: str, once: bool, **options: Any) -> None:
        statement, keyspaces = await self.prepared(user, text)
        operation = self.begin(user, line.what, idempotent=not once, write=True)
        operation.keyspaces = set(keyspaces)
        bound = statement.bind((line.number % 50, operation.number))
        bound.is_idempotent = not once
        try:
            await user.session.execute(bound, **self.options(line), **options)
            operation.is_acknowledged = True
        finally:
            self.close(user, operation)

    async def do_write(self, user: User, line: Line) -> None:
        await self._write(user, line, INSERT, False)

    async def do_write_once(self, user: User, line: Line) -> None:
        await self._write(user, line, INSERT, True)

    async def do_count(self, user: User, line: Line) -> None:
        await self._write(user, line, COUNT, True)

    async def do_to_host(self, user: User, line: Line) -> None:
        hosts = sorted(user.cluster.metadata.all_hosts(), key=lambda host: str(host.endpoint))
        if hosts:
            host = hosts[line.number % len(hosts)]
            await self._write(user, line, INSERT, True, host=host)

    async def do_simple_write(self, user: User, line: Line) -> None:
        operation = self.begin_text(user, line.what, idempotent=True, write=True)
        text = f"INSERT INTO w (k, op) VALUES ({line.number % 50}, {operation.number})"
        await self.run(user, SimpleStatement(text, is_idempotent=True), None, [operation], line)

    async def do_lwt(self, user: User, line: Line) -> None:
        operation = self.begin_text(user, line.what, idempotent=False, write=True)
        text = f"INSERT INTO w (k, op) VALUES ({line.number}, {operation.number}) IF NOT EXISTS"
        result = await self.run(user, text, None, [operation], line)
        row = result.one()  # None if the retry policy has ignored an error
        if row is not None and row[0] is not True:
            self.life.violate(f"op {operation.number} was not applied, says the answer")

    async def do_read(self, user: User, line: Line) -> None:
        statement, keyspaces = await self.prepared(user, SELECT)
        operation = self.begin(user, line.what, idempotent=True, write=False)
        operation.keyspaces = set(keyspaces)
        key = line.number % 50
        bound = statement.bind((key, operation.number))
        bound.is_idempotent = True
        try:
            result = await user.session.execute(bound, **self.options(line))
        finally:
            self.close(user, operation)
        if result is not None and (row := result.one()) is not None:
            self.check_row(operation, row, key)

    async def do_simple_read(self, user: User, line: Line) -> None:
        operation = self.begin_text(user, line.what, idempotent=True, write=False)
        key = line.number % 50
        text = f"SELECT k, op, v, ks FROM w WHERE k = {key} AND op = {operation.number}"
        statement = SimpleStatement(text, is_idempotent=True)
        result = await self.run(user, statement, None, [operation], line)
        if (row := result.one()) is not None:
            self.check_row(operation, row, key)

    async def _batch(self, user: User, line: Line, once: bool) -> None:
        statement, keyspaces = await self.prepared(user, INSERT)
        bound = self.begin(user, line.what, idempotent=not once, write=True)
        bound.keyspaces = set(keyspaces)
        operations = [
            self.begin_text(user, line.what, idempotent=not once, write=True) for _ in range(2)
        ]
        for operation in operations:
            operation.request = bound.number
        kind = BatchType.LOGGED if line.number % 2 else BatchType.UNLOGGED
        batch = BatchStatement(kind)
        batch.is_idempotent = not once
        # On protocol 5 the prepared statement's keyspace applies to the batch's simple statements,
        # as in cassandra-driver.
        if user.cluster.protocol_version >= 5:
            for operation in operations:
                operation.keyspaces = set(keyspaces)
                operation.is_bound = True
        key = line.number % 50
        batch.add(statement, (key, bound.number))
        for operation in operations:
            text = f"INSERT INTO w (k, op) VALUES ({key}, {operation.number})"
            batch.add(SimpleStatement(text, is_idempotent=not once))
        try:
            await user.session.execute(batch, **self.options(line))
            for operation in (bound, *operations):
                operation.is_acknowledged = True
        finally:
            self.close(user, bound)
            self.end(user, *operations)

    async def do_batch(self, user: User, line: Line) -> None:
        await self._batch(user, line, False)

    async def do_batch_once(self, user: User, line: Line) -> None:
        await self._batch(user, line, True)

    async def do_pages(self, user: User, line: Line) -> None:
        operation = self.begin_text(user, line.what, idempotent=True, write=False)
        text = f"SELECT n, op, ks FROM p WHERE op = {operation.number}"
        statement = SimpleStatement(text, fetch_size=6, is_idempotent=True)
        seen = []
        try:
            result = await user.session.execute(statement)
            async for row in result:
                self.check_row(operation, row)
                seen.append(row.n)
        finally:
            self.end(user, operation)
        if seen != list(range(PAGES_ROWS)):
            self.life.violate(f"op {operation.number} read the rows {seen}")

    async def do_scan(self, user: User, line: Line) -> None:
        """Read a whole table: each row must come once, even if ranges are requested again."""
        if self.life.plan.settings["scylla"] or self.life.threads is not None:
            return  # simulated ScyllaDB has no schema, and a blocking scan calls `time.sleep`
        options = {} if line.seconds < 0 else {"timeout": line.seconds}
        scan = user.session.scan(
            SCANNED, ["id"], concurrency=1 + line.number % 5, page_size=2, **options
        )
        seen = [row.id async for row in scan]
        if sorted(seen) != list(range(SCANNED_ROWS)):
            self.life.violate(f"a scan read the rows {seen}")

    async def do_concurrent(self, user: User, line: Line) -> None:
        statement, keyspaces = await self.prepared(user, INSERT)
        operations = [self.begin(user, line.what, idempotent=True, write=True) for _ in range(20)]
        for operation in operations:
            operation.keyspaces = set(keyspaces)
        statement.is_idempotent = True
        pairs = [(line.number % 50, operation.number) for operation in operations]
        everything = user.session.execute_concurrent(
            [(statement, pair) for pair in pairs], concurrency=7, raise_on_first_error=False
        )
        try:
            number = 0
            async for result in everything:
                if result.success:
                    operations[number].is_acknowledged = True
                elif not isinstance(result.result_or_exc, EXPECTED):
                    label = f"op {operations[number].number}"
                    self.life.violate(f"{label} failed by {result.result_or_exc!r}")
                number += 1
            if number != len(operations):
                self.life.violate(f"{len(operations)} executions had {number} outcomes")
        finally:
            await everything.aclose()
            statement.is_idempotent = False
            self.close(user, *operations)

    async def do_burst(self, user: User, line: Line) -> None:
        kinds = ("write", "read", "simple_write", "simple_read")
        lines = [
            Line(line.at, kinds[number % len(kinds)], line.who, line.seconds, number)
            for number in range(30)
        ]
        works = [getattr(self, f"do_{step.what}")(user, step) for step in lines]
        for error in await asyncio.gather(*works, return_exceptions=True):
            if error is not None and not isinstance(error, EXPECTED):
                self.life.violate(f"a burst failed by {error!r}", error)
            elif error is not None:
                self.check_error("a burst", error)

    async def do_load(self, user: User, line: Line) -> None:
        statement, keyspaces = await self.prepared(user, INSERT)
        operations: list[Operation] = []

        def rows() -> Any:
            for number in range(25):
                # A load repeats failed rows, because it takes an INSERT for idempotent.
                operation = self.begin(user, line.what, idempotent=True, write=True)
                operation.keyspaces = set(keyspaces)
                operations.append(operation)
                # A load may send several rows in one request.
                operation.request = operations[0].number
                yield number % 50, operation.number

        try:
            await user.session.load(statement, rows(), progress=False, concurrency=5)
            for operation in operations:
                operation.is_acknowledged = True
        finally:
            self.close(user, *operations)

    async def do_trace(self, user: User, line: Line) -> None:
        operation = self.begin_text(user, line.what, idempotent=True, write=True)
        text = f"INSERT INTO w (k, op) VALUES ({line.number % 50}, {operation.number})"
        try:
            result = await user.session.execute(
                SimpleStatement(text, is_idempotent=True), trace=True, **self.options(line)
            )
            operation.is_acknowledged = True
            trace = await result.get_query_trace(max_wait=0.5)
            if trace is not None and trace.request_type != f"op {operation.number}":
                self.life.violate(f"op {operation.number} has the trace of {trace.request_type}")
        finally:
            self.end(user, operation)

    async def do_prepare(self, user: User, line: Line) -> None:
        user.prepared.pop((INSERT, SELECT, COUNT)[line.number % 3], None)
        await self.prepared(user, (INSERT, SELECT, COUNT)[line.number % 3])

    async def do_prepare_all(self, user: User, line: Line) -> None:
        holder = self.begin_text(user, line.what, idempotent=True, write=False)
        try:
            statements = await user.session.prepare_all([INSERT, SELECT, COUNT])
        finally:
            self.end(user, holder)
        for text, statement in zip((INSERT, SELECT, COUNT), statements, strict=True):
            user.prepared[text] = (statement, frozenset(holder.keyspaces))

    async def do_use(self, user: User, line: Line) -> None:
        keyspace = KEYSPACES[line.number % len(KEYSPACES)]
        token = id(line)
        user.switching[token] = keyspace
        self.note_keyspaces(user)
        try:
            if line.who % 2:
                await user.session.set_keyspace(keyspace)
            else:
                await user.session.execute(f"USE {keyspace}", **self.options(line))
        finally:
            self.note_keyspaces(user)
            del user.switching[token]
            self.note_keyspaces(user)
            self.life.log(f"use {keyspace}: session in {user.session.keyspace}")

    async def do_ddl(self, user: User, line: Line) -> None:
        operation = self.begin_text(user, line.what, idempotent=False, write=True)
        text = f"CREATE TABLE t{operation.number} (k int PRIMARY KEY)"
        await self.run(user, text, None, [operation], Line(line.at, line.what))

    async def do_refresh(self, user: User, line: Line) -> None:
        if line.number % 2:
            await user.cluster.refresh_nodes()
        else:
            await user.cluster.refresh_schema_metadata(max_schema_agreement_wait=1.0)

    async def do_resize(self, user: User, line: Line) -> None:
        if self.life.plan.settings["protocol"] != 3:
            user.cluster.set_core_connections_per_host(0, 1 + line.number % 3)

    async def do_agreement(self, user: User, line: Line) -> None:
        await user.session.wait_for_schema_agreement(2.0)

    async def do_new_session(self, user: User, line: Line) -> None:
        await self.connect(user.cluster, KEYSPACES[line.number % len(KEYSPACES)])

    async def do_close_session(self, user: User, line: Line) -> None:
        if len(self.users) > 1:
            self.users.remove(user)
            await user.session.shutdown()

    async def do_new_cluster(self, user: User | None, line: Line) -> None:
        cluster = self.life.make_cluster()
        self.clusters.append(cluster)
        await self.connect(cluster, KEYSPACES[line.number % len(KEYSPACES)])

    async def do_close_cluster(self, user: User, line: Line) -> None:
        others = [other for other in self.users if other.cluster is not user.cluster]
        if others:
            self.users[:] = others
            await user.cluster.shutdown()

    async def do_share_throttler(self, user: User, line: Line) -> None:
        throttler = user.cluster.request_throttler
        if throttler is None:
            return
        cluster = self.life.make_cluster(throttler)
        self.clusters.append(cluster)
        try:
            await cluster.connect()
        except ValueError:
            pass  # expected: a throttler belongs to one cluster
        else:
            self.life.violate("two clusters share a throttler")
        finally:
            await cluster.shutdown()

    async def connect(self, cluster: Any, keyspace: str) -> None:
        """Open a session, and add its user."""
        session = await cluster.connect(keyspace, self.life.plan.settings["wait_for_all"])
        if not cluster.is_shutdown:
            self.users.append(User(cluster, session))


# Steps that send one request, so they must end with its timeout. Other steps may prepare first.
LIMITED = {"simple_write", "simple_read", "lwt"}
