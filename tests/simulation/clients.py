"""The applications of a simulation: they run the steps, and record their requests and results."""

from __future__ import annotations

import asyncio
import copy
import itertools
import pickle
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cassandra.errors import DriverException
from cassandra.policies import HostDistance
from cassandra.protocol.messages.errors import PreparedQueryNotFound
from cassandra.query import BatchStatement, BatchType, SimpleStatement
from tests.simulation.mapped import Mapped
from tests.simulation.plan import PlannedEvent
from tests.simulation.store import KEYS, KEYSPACES, PAGES_ROWS, SCANNED, SCANNED_ROWS
from tests.simulation.typed_table import INSERT as TYPED_INSERT

if TYPE_CHECKING:
    from tests.simulation.life import Simulation

# The prepared statements. The value of `op` is the number of the operation.
INSERT = "INSERT INTO w (k, op) VALUES (?, ?)"
SELECT = "SELECT k, op, v, ks FROM w WHERE k = ? AND op = ?"
COUNT = "UPDATE c SET n = n + 1 WHERE k = ? AND op = ?"

# Errors that are no violation, because applications must expect these errors while faults occur.
EXPECTED = (DriverException, OSError, asyncio.CancelledError, asyncio.TimeoutError)
HANG_SECONDS = 300.0  # a call that takes longer counts as hanging
# Seconds by which a timeout may be late while the loop is not stalled. The driver rounds timeouts
# to slots of 100 ms, and the loop may be busy.
SLACK = 0.5


@dataclass
class Operation:
    """One statement of a client: a request, or one of the statements of a batch or of a load.

    The operation's number is one of the statement's values, so the nodes know which operation they
    execute.
    """

    number: int
    is_idempotent: bool
    keyspaces: set[str]  # where the statement may run
    is_write: bool = False
    is_acknowledged: bool = False  # True if the client got a response without an error
    what: str = ""  # the kind of the operation, for reports
    has_final_keyspaces: bool = False
    """False if each later USE of the session adds its keyspace to `keyspaces`."""
    cluster: Any = None
    request: int = 0
    """The number of the first operation of the same request."""
    timestamp: int | None = None
    """The timestamp that the application set; None for a timestamp of the driver's generator."""
    begun: int = 0
    ended: int = 0
    """Logical times at which the client began and ended the operation; `ended` is 0 if unknown."""
    earliest: int = 0
    """The time of the machine's clock at the beginning, in microseconds."""

    def run_only_in(self, keyspaces: Iterable[str]) -> None:
        """Allow these keyspaces only, whatever later USE statements switch the session to."""
        self.keyspaces = set(keyspaces)
        self.has_final_keyspaces = True


@dataclass(eq=False)
class User:
    """A session of an application, and its open operations.

    `switching` has the keyspaces of the USE statements in flight, and `open` the numbers of the
    operations that have not ended. `prepared` has, for each CQL string, the prepared statement and
    the keyspaces in which it may have been prepared.
    """

    cluster: Any
    session: Any
    switching: dict[int, str] = field(default_factory=dict)
    prepared: dict[str, tuple[Any, frozenset[str]]] = field(default_factory=dict)
    open: set[int] = field(default_factory=set)
    """Numbers of the operations in flight."""
    copied: Any = None
    """A copy of the statement that writes to the table whose type changes; None at first."""
    pickled: bytes = b""
    """A pickle of that statement; empty at first."""

    def keyspaces(self) -> set[str]:
        """Return the keyspaces in which a request that begins now may run.

        They are the session's current keyspace, and the keyspaces of USE statements in flight.
        """
        return {self.session.keyspace or "", *self.switching.values()}


class Clients:
    """All users (sessions) of a simulation, and their operations.

    Each method ``do_X`` runs the steps of the kind ``X`` in `plan.STEPS`.
    """

    def __init__(self, simulation: Simulation) -> None:
        self.simulation = simulation
        self.users: list[User] = []
        self.clusters: list[Any] = []
        self.operations: dict[int, Operation] = {}
        self.tasks: list[asyncio.Task[None]] = []
        self.mapped = Mapped(self)
        self._number = 0  # of the last operation
        self._moments = itertools.count(1)  # see `next_logical_time`

    # -- operations --------------------------------------------------------------------------------

    def begin_operation(self, user: User, what: str, *, idempotent: bool, write: bool) -> Operation:
        """Create an operation of `user`, and return it.

        The operation may run in the session's keyspace, and in the keyspaces of USE statements that
        are in flight or begin before the operation ends.

        :param what: the kind of the operation, for reports.
        :param idempotent: whether the driver may repeat the statement.
        :param write: whether the statement is a write.
        """
        self._number += 1
        operation = Operation(self._number, idempotent, user.keyspaces(), write, what=what)
        self.operations[operation.number] = operation
        operation.cluster, operation.request = user.cluster, operation.number
        operation.begun = self.next_logical_time()
        operation.earliest = self.simulation.loop.wall_time_ns() // 1000
        user.open.add(operation.number)
        return operation

    def begin_unprepared_operation(
        self, user: User, what: str, *, idempotent: bool, write: bool
    ) -> Operation:
        """Create an operation for a statement that is sent at once and has no keyspace name.

        With the asyncio API, such an operation must run in the session's current keyspace, even if
        a USE is in flight or begins later. With the blocking API, another thread sends the
        statement, perhaps later. So the keyspaces of any USE until the operation's end are allowed,
        too.

        :param what: see `begin_operation`; `idempotent` and `write`, too.
        """
        operation = self.begin_operation(user, what, idempotent=idempotent, write=write)
        if self.simulation.threads is None:  # the asyncio API
            operation.run_only_in({user.session.keyspace or ""})
        return operation

    def end_operations(self, user: User, *operations: Operation) -> None:
        """Record that operations have ended, and which keyspaces they may have run in."""
        for operation in operations:
            if not operation.has_final_keyspaces:
                operation.keyspaces |= user.keyspaces()
            user.open.discard(operation.number)
            # Without an end time, `judge` expects no order of timestamps. A cancelled call of the
            # blocking API has no end time, because its thread may send the request even later.
            if self.simulation.threads is None or operation.is_acknowledged:
                operation.ended = self.next_logical_time()

    def next_logical_time(self) -> int:
        """Return the next logical time: a number that is greater than all earlier numbers."""
        return next(self._moments)

    def allow_current_keyspaces(self, user: User) -> None:
        """Allow the operations in flight to run in the current keyspaces of their session."""
        for number in user.open:
            operation = self.operations[number]
            if not operation.has_final_keyspaces:
                operation.keyspaces |= user.keyspaces()

    def start(self, event: PlannedEvent) -> None:
        """Begin a step in a new task, which also checks how the step ends (see `_watch`)."""
        # Without a session, only the step "new_cluster" can run, so skip other steps.
        if event.kind != "new_cluster" and not self.users:
            return
        user = self.users[event.target_index % len(self.users)] if self.users else None
        owner = self.mapped if event.kind.startswith("mapped") else self
        method: Callable[[User | None, PlannedEvent], Awaitable[Any]] = getattr(
            owner, f"do_{event.kind}"
        )
        task = asyncio.ensure_future(self._watch(method, user, event))
        self.tasks.append(task)

    async def _watch(self, method: Any, user: User | None, event: PlannedEvent) -> None:
        """Run a step, cancel it if the plan says so, and check how it ends."""
        simulation = self.simulation
        loop = simulation.loop
        began, stalled_before = loop.time(), simulation.stalled
        # With the blocking API, a step may begin while the loop is stalled. The rest of the stall
        # delays the step, so it counts as stalled time of the step.
        stalled_before -= max(0.0, simulation.stalled_until - began)
        task = asyncio.ensure_future(method(user, event))
        if event.cancel_after >= 0:
            await asyncio.wait({task}, timeout=event.cancel_after)
            task.cancel()
        done, _ = await asyncio.wait({task}, timeout=HANG_SECONDS)
        label = f"{event.kind}#{event.parameter}"
        if not done:
            simulation.report_violation(f"{label} never ends (begun at {began:.3f})")
            task.cancel()
            await asyncio.wait({task}, timeout=30)
            return
        elapsed = loop.time() - began
        if task.cancelled():
            simulation.log(f"{label} cancelled")
            return
        error = task.exception()
        simulation.log(f"{label} {type(error).__name__ if error is not None else 'ok'}")
        if error is not None and not isinstance(error, EXPECTED):
            simulation.report_violation(f"{label} failed by {error!r}", error)
        if error is not None:
            self.check_error(label, error)
        # A step with a timeout must end in time, unless the loop was stalled.
        if event.kind in LIMITED and event.seconds >= 0:
            allowed = event.seconds + SLACK + (simulation.stalled - stalled_before)
            if elapsed > allowed and event.cancel_after < 0:
                simulation.report_violation(
                    f"{label} took {elapsed:.2f} s with a time-out of {event.seconds} s"
                )

    def check_error(self, label: str, error: BaseException) -> None:
        """Report a violation if an application gets the error that a statement is not prepared.

        The driver must handle this error: it prepares the statement again.

        :param label: describes the step in the report.
        """
        # The driver may give up if the node forgets the statement right after it was prepared. The
        # error then has a note that says so.
        notes = getattr(error, "__notes__", ())
        if isinstance(error, PreparedQueryNotFound) and not any(
            "just prepared" in note for note in notes
        ):
            self.simulation.report_violation(f"{label} was not prepared again: {error}")

    def timeout_option(self, event: PlannedEvent) -> dict[str, Any]:
        """Return the event's timeout as keyword arguments of `Session.execute`."""
        return {} if event.seconds < 0 else {"timeout": event.seconds}

    async def prepared(self, user: User, text: str) -> tuple[Any, frozenset[str]]:
        """Return a prepared statement, and the keyspaces in which it may have been prepared."""
        cached = user.prepared.get(text)
        if cached is None:
            operation = self.begin_unprepared_operation(
                user, "prepare", idempotent=True, write=False
            )
            try:
                statement = await user.session.prepare(text)
            finally:
                self.end_operations(user, operation)
            cached = (statement, frozenset(operation.keyspaces))
            user.prepared[text] = cached
        return cached

    async def execute_operations(
        self,
        user: User,
        statement: Any,
        values: Any,
        operations: list[Operation],
        event: PlannedEvent,
    ) -> Any:
        """Execute a statement, and return its result.

        If the statement succeeds, its operations are marked as acknowledged.

        :param operations: the operations that the statement contains; a batch has several.
        """
        try:
            result = await user.session.execute(statement, values, **self.timeout_option(event))
            for operation in operations:
                operation.is_acknowledged = True
            return result
        finally:
            self.end_operations(user, *operations)

    def check_row(self, operation: Operation, row: Any, key: int | None = None) -> None:
        """Report a violation if a row does not belong to `operation`.

        :param key: the key that the row must have; None allows any key.
        """
        if row.op != operation.number or (key is not None and row.k != key):
            self.simulation.report_violation(
                f"op {operation.number} got the answer to another question: {row}"
            )
        if row.ks not in operation.keyspaces:
            self.simulation.report_violation(
                f"op {operation.number} read from {row.ks}, not {sorted(operation.keyspaces)}"
            )

    # -- steps -------------------------------------------------------------------------------------

    async def _write(
        self, user: User, event: PlannedEvent, text: str, *, is_once: bool, **options: Any
    ) -> None:
        """Execute a prepared write.

        :param is_once: True if the statement is not idempotent, so that it must not be repeated.
        :param options: further keyword arguments of `Session.execute`.
        """
        statement, keyspaces = await self.prepared(user, text)
        operation = self.begin_operation(user, event.kind, idempotent=not is_once, write=True)
        operation.run_only_in(keyspaces)
        bound = statement.bind((event.parameter % KEYS, operation.number))
        bound.is_idempotent = not is_once
        try:
            await user.session.execute(bound, **self.timeout_option(event), **options)
            operation.is_acknowledged = True
        finally:
            self.end_operations(user, operation)

    async def do_write(self, user: User, event: PlannedEvent) -> None:
        """Insert a row by a prepared statement that is marked as idempotent."""
        await self._write(user, event, INSERT, is_once=False)

    async def do_write_once(self, user: User, event: PlannedEvent) -> None:
        """Insert a row by a prepared statement that must not be repeated."""
        await self._write(user, event, INSERT, is_once=True)

    async def do_count(self, user: User, event: PlannedEvent) -> None:
        """Update a counter, which the driver must not repeat."""
        await self._write(user, event, COUNT, is_once=True)

    async def do_to_host(self, user: User, event: PlannedEvent) -> None:
        """Write to one host only, with the option `host` of `Session.execute`."""
        hosts = sorted(user.cluster.metadata.all_hosts(), key=lambda host: str(host.endpoint))
        if hosts:
            host = hosts[event.parameter % len(hosts)]
            await self._write(user, event, INSERT, is_once=True, host=host)

    async def do_simple_write(self, user: User, event: PlannedEvent) -> None:
        """Insert a row with a query string, without values or with values for its markers."""
        operation = self.begin_unprepared_operation(user, event.kind, idempotent=True, write=True)
        key = event.parameter % KEYS
        values = None
        query = f"INSERT INTO w (k, op) VALUES ({key}, {operation.number})"
        if event.parameter % 10 == 7:
            query, values = INSERT, (key, operation.number)
        statement = SimpleStatement(query, is_idempotent=True)
        await self.execute_operations(user, statement, values, operations=[operation], event=event)

    async def do_lwt(self, user: User, event: PlannedEvent) -> None:
        """Insert a row with IF NOT EXISTS; the node must apply it, because no such row exists."""
        operation = self.begin_unprepared_operation(user, event.kind, idempotent=False, write=True)
        query = (
            f"INSERT INTO w (k, op) VALUES ({event.parameter}, {operation.number}) IF NOT EXISTS"
        )
        result = await self.execute_operations(
            user, query, values=None, operations=[operation], event=event
        )
        row = result.one()  # None if the retry policy has ignored an error
        if row is not None and row[0] is not True:
            self.simulation.report_violation(
                f"op {operation.number} was not applied, says the answer"
            )

    async def do_read(self, user: User, event: PlannedEvent) -> None:
        """Read a row with a prepared statement, and check that the row belongs to this read."""
        statement, keyspaces = await self.prepared(user, SELECT)
        operation = self.begin_operation(user, event.kind, idempotent=True, write=False)
        operation.run_only_in(keyspaces)
        key = event.parameter % KEYS
        bound = statement.bind((key, operation.number))
        bound.is_idempotent = True
        try:
            result = await user.session.execute(bound, **self.timeout_option(event))
        finally:
            self.end_operations(user, operation)
        if result is not None and (row := result.one()) is not None:
            self.check_row(operation, row, key)

    async def do_simple_read(self, user: User, event: PlannedEvent) -> None:
        """Read a row with an unprepared statement, and check that the row belongs to this read."""
        operation = self.begin_unprepared_operation(user, event.kind, idempotent=True, write=False)
        key = event.parameter % KEYS
        query = f"SELECT k, op, v, ks FROM w WHERE k = {key} AND op = {operation.number}"
        statement = SimpleStatement(query, is_idempotent=True)
        result = await self.execute_operations(
            user, statement, values=None, operations=[operation], event=event
        )
        if (row := result.one()) is not None:
            self.check_row(operation, row, key)

    async def _batch(self, user: User, event: PlannedEvent, is_once: bool) -> None:
        """Execute a batch of one prepared statement and two simple statements.

        :param is_once: True if the batch is not idempotent, so that it must not be repeated.
        """
        statement, keyspaces = await self.prepared(user, INSERT)
        bound_operation = self.begin_operation(user, event.kind, idempotent=not is_once, write=True)
        bound_operation.run_only_in(keyspaces)
        operations = [
            self.begin_unprepared_operation(user, event.kind, idempotent=not is_once, write=True)
            for _ in range(2)
        ]
        for operation in operations:
            operation.request = bound_operation.number  # all statements arrive in one request
        batch = BatchStatement(BatchType.LOGGED if event.parameter % 2 else BatchType.UNLOGGED)
        batch.is_idempotent = not is_once
        # In protocol version 5, the keyspace of the prepared statement applies to the simple
        # statements of the batch, too, as in cassandra-driver. A later USE of the session does not
        # change it, so these keyspaces are final.
        if user.cluster.protocol_version >= 5:
            for operation in operations:
                operation.run_only_in(keyspaces)
        key = event.parameter % KEYS
        batch.add(statement, (key, bound_operation.number))
        for operation in operations:
            query = f"INSERT INTO w (k, op) VALUES ({key}, {operation.number})"
            batch.add(SimpleStatement(query, is_idempotent=not is_once))
        try:
            await user.session.execute(batch, **self.timeout_option(event))
            for operation in (bound_operation, *operations):
                operation.is_acknowledged = True
        finally:
            # The prepared statement runs in the keyspace in which it was prepared. The simple
            # statements may run in a keyspace that the session uses now, unless their keyspaces are
            # final.
            self.end_operations(user, bound_operation, *operations)

    async def _batch_of_strings(self, user: User, event: PlannedEvent, is_once: bool) -> None:
        """Execute a batch of two strings with values, which the driver prepares itself.

        :param is_once: see `_batch`.
        """
        operations = [
            self.begin_unprepared_operation(user, event.kind, idempotent=not is_once, write=True)
            for _ in range(2)
        ]
        batch = BatchStatement()
        batch.is_idempotent = not is_once
        for operation in operations:
            operation.request = operations[0].number  # all statements arrive in one request
            batch.add(INSERT, (event.parameter % KEYS, operation.number))
        await self.execute_operations(user, batch, None, operations, event)

    async def do_batch(self, user: User, event: PlannedEvent) -> None:
        """Execute a batch that is marked as idempotent."""
        execute = self._batch_of_strings if event.parameter % 5 == 3 else self._batch
        await execute(user, event, is_once=False)

    async def do_batch_once(self, user: User, event: PlannedEvent) -> None:
        """Execute a batch that must not be repeated."""
        execute = self._batch_of_strings if event.parameter % 5 == 3 else self._batch
        await execute(user, event, is_once=True)

    async def do_pages(self, user: User, event: PlannedEvent) -> None:
        """Read a result of several pages: each row must come once, in order of `n`."""
        operation = self.begin_unprepared_operation(user, event.kind, idempotent=True, write=False)
        query = f"SELECT n, op, ks FROM p WHERE op = {operation.number}"
        statement = SimpleStatement(query, fetch_size=6, is_idempotent=True)
        row_numbers = []
        try:
            result = await user.session.execute(statement)
            async for row in result:
                self.check_row(operation, row)
                row_numbers.append(row.n)
        finally:
            self.end_operations(user, operation)
        if row_numbers != list(range(PAGES_ROWS)):
            self.simulation.report_violation(f"op {operation.number} read the rows {row_numbers}")

    async def do_scan(self, user: User, event: PlannedEvent) -> None:
        """Scan a whole table: each row must come once, even if the scan repeats requests."""
        if self.simulation.plan.settings["scylla"] or self.simulation.threads is not None:
            return  # simulated ScyllaDB has no schema, and a blocking scan calls `time.sleep`
        scan = user.session.scan(
            SCANNED,
            ["id"],
            concurrency=1 + event.parameter % 5,
            page_size=2,
            **self.timeout_option(event),
        )
        ids = [row.id async for row in scan]
        if sorted(ids) != list(range(SCANNED_ROWS)):
            self.simulation.report_violation(f"a scan read the rows {ids}")

    async def do_concurrent(self, user: User, event: PlannedEvent) -> None:
        """Execute twenty writes with `execute_concurrent`, which must yield an outcome for each."""
        statement, keyspaces = await self.prepared(user, INSERT)
        operations = [
            self.begin_operation(user, event.kind, idempotent=True, write=True) for _ in range(20)
        ]
        for operation in operations:
            operation.run_only_in(keyspaces)
        statement.is_idempotent = True
        key = event.parameter % KEYS
        results = user.session.execute_concurrent(
            [(statement, (key, operation.number)) for operation in operations],
            concurrency=7,
            raise_on_first_error=False,
        )
        try:
            index = 0
            async for result in results:
                if result.success:
                    operations[index].is_acknowledged = True
                elif not isinstance(result.result_or_exc, EXPECTED):
                    label = f"op {operations[index].number}"
                    self.simulation.report_violation(f"{label} failed by {result.result_or_exc!r}")
                index += 1
            if index != len(operations):
                self.simulation.report_violation(
                    f"{len(operations)} executions had {index} outcomes"
                )
        finally:
            await results.aclose()
            # Other steps use the same statement object, so undo the change.
            statement.is_idempotent = False
            self.end_operations(user, *operations)

    async def do_burst(self, user: User, event: PlannedEvent) -> None:
        """Run thirty reads and writes at the same time."""
        kinds = ("write", "read", "simple_write", "simple_read")
        steps = [
            PlannedEvent(
                start=event.start,
                kind=kinds[number % len(kinds)],
                target_index=event.target_index,
                seconds=event.seconds,
                parameter=number,
            )
            for number in range(30)
        ]
        executions = [getattr(self, f"do_{step.kind}")(user, step) for step in steps]
        for error in await asyncio.gather(*executions, return_exceptions=True):
            if error is not None and not isinstance(error, EXPECTED):
                self.simulation.report_violation(f"a burst failed by {error!r}", error)
            elif error is not None:
                self.check_error("a burst", error)

    async def do_load(self, user: User, event: PlannedEvent) -> None:
        """Load 25 rows with `Session.load`."""
        statement, keyspaces = await self.prepared(user, INSERT)
        operations: list[Operation] = []

        def rows() -> Any:
            """Yield (k, op) of each row; a row's operation begins when the load takes the row."""
            for number in range(25):
                # A load treats an INSERT as idempotent, so it may write a failed row again.
                operation = self.begin_operation(user, event.kind, idempotent=True, write=True)
                operation.run_only_in(keyspaces)
                operations.append(operation)
                # A load may send several rows in one request, so give all rows the same request
                # number.
                operation.request = operations[0].number
                yield number % KEYS, operation.number

        try:
            await user.session.load(statement, rows(), progress=False, concurrency=5)
            for operation in operations:
                operation.is_acknowledged = True
        finally:
            self.end_operations(user, *operations)

    async def do_trace(self, user: User, event: PlannedEvent) -> None:
        """Execute a traced write, and check that the trace belongs to this write."""
        operation = self.begin_unprepared_operation(user, event.kind, idempotent=True, write=True)
        text = f"INSERT INTO w (k, op) VALUES ({event.parameter % KEYS}, {operation.number})"
        try:
            result = await user.session.execute(
                SimpleStatement(text, is_idempotent=True), trace=True, **self.timeout_option(event)
            )
            operation.is_acknowledged = True
            trace = await result.get_query_trace(max_wait=0.5)
            if trace is not None and trace.request_type != f"op {operation.number}":
                self.simulation.report_violation(
                    f"op {operation.number} has the trace of {trace.request_type}"
                )
        finally:
            self.end_operations(user, operation)

    async def do_prepare(self, user: User, event: PlannedEvent) -> None:
        """Prepare a statement again, perhaps in a keyspace other than before."""
        query = (INSERT, SELECT, COUNT)[event.parameter % 3]
        user.prepared.pop(query, None)
        await self.prepared(user, query)

    async def do_prepare_all(self, user: User, event: PlannedEvent) -> None:
        """Prepare all statements of a session again."""
        operation = self.begin_unprepared_operation(user, event.kind, idempotent=True, write=False)
        try:
            statements = await user.session.prepare_all([INSERT, SELECT, COUNT])
        finally:
            self.end_operations(user, operation)
        for text, statement in zip((INSERT, SELECT, COUNT), statements, strict=True):
            user.prepared[text] = (statement, frozenset(operation.keyspaces))

    async def do_use(self, user: User, event: PlannedEvent) -> None:
        """Switch the keyspace of a session while its other steps run.

        Requests in flight may run in the old or the new keyspace.
        """
        keyspace = KEYSPACES[event.parameter % len(KEYSPACES)]
        token = id(event)
        user.switching[token] = keyspace
        self.allow_current_keyspaces(user)
        try:
            if event.target_index % 2:
                await user.session.set_keyspace(keyspace)
            else:
                await user.session.execute(f"USE {keyspace}", **self.timeout_option(event))
        finally:
            # Allow both keyspaces for requests that were sent during the switch. Requests that are
            # sent after the switch must run in the new keyspace.
            self.allow_current_keyspaces(user)
            del user.switching[token]
            self.allow_current_keyspaces(user)
            self.simulation.log(f"use {keyspace}: session in {user.session.keyspace}")

    async def do_ddl(self, user: User, event: PlannedEvent) -> None:
        """Create a table. The driver must then wait until the nodes agree on the schema."""
        operation = self.begin_unprepared_operation(user, event.kind, idempotent=False, write=True)
        query = f"CREATE TABLE t{operation.number} (k int PRIMARY KEY)"
        without_timeout = PlannedEvent(event.start, event.kind)
        await self.execute_operations(
            user, query, values=None, operations=[operation], event=without_timeout
        )

    async def do_typed(self, user: User, event: PlannedEvent) -> None:
        """Write to the table that is created again with other types; see `judge.check_types`."""
        statement, _ = await self.prepared(user, TYPED_INSERT)
        if event.parameter % 3 == 0:
            user.copied = user.copied or copy.copy(statement)
            statement = user.copied
        elif event.parameter % 3 == 1:
            user.pickled = user.pickled or pickle.dumps(statement)
            statement = pickle.loads(user.pickled)
        elsewhere = self.simulation.elsewhere
        if elsewhere is not None and event.parameter % 2:
            await elsewhere.write(statement, event.parameter)
        await user.session.execute(statement, (event.parameter, event.parameter))

    async def do_prepare_typed(self, user: User, event: PlannedEvent) -> None:
        """Prepare the statement of the table that is created again with other types anew."""
        user.prepared.pop(TYPED_INSERT, None)
        await self.prepared(user, TYPED_INSERT)

    async def do_refresh(self, user: User, event: PlannedEvent) -> None:
        """Let the driver read the list of nodes, or the schema."""
        if event.parameter % 2:
            await user.cluster.refresh_nodes()
        else:
            await user.cluster.refresh_schema_metadata(max_schema_agreement_wait=1.0)

    async def do_resize(self, user: User, event: PlannedEvent) -> None:
        """Set the number of connections to each host; the pools then open or close connections."""
        # Plans with protocol version 3 keep the default number of connections.
        if self.simulation.plan.settings["protocol"] != 3:
            connection_count = 1 + event.parameter % 3
            user.cluster.set_core_connections_per_host(HostDistance.LOCAL, connection_count)

    async def do_agreement(self, user: User, event: PlannedEvent) -> None:
        """Wait until the nodes agree on the schema."""
        seconds = 2.0
        await user.session.wait_for_schema_agreement(seconds)

    async def do_new_session(self, user: User, event: PlannedEvent) -> None:
        """Open another session of a cluster."""
        await self.connect(user.cluster, KEYSPACES[event.parameter % len(KEYSPACES)])

    async def do_close_session(self, user: User, event: PlannedEvent) -> None:
        """Close a session while its other steps may run, unless it is the last session."""
        if len(self.users) > 1:
            self.users.remove(user)
            await user.session.shutdown()

    async def do_new_cluster(self, user: User | None, event: PlannedEvent) -> None:
        """Create another cluster object with a session."""
        cluster = self.simulation.make_cluster()
        self.clusters.append(cluster)
        await self.connect(cluster, KEYSPACES[event.parameter % len(KEYSPACES)])

    async def do_close_cluster(self, user: User, event: PlannedEvent) -> None:
        """Close a cluster with all its sessions, unless it is the last cluster."""
        remaining_users = [other for other in self.users if other.cluster is not user.cluster]
        if remaining_users:
            self.users[:] = remaining_users
            await user.cluster.shutdown()

    async def do_share_throttler(self, user: User, event: PlannedEvent) -> None:
        """Check that a second cluster cannot connect with the throttler of the first cluster."""
        throttler = user.cluster.request_throttler
        if throttler is None:
            return
        cluster = self.simulation.make_cluster(throttler)
        self.clusters.append(cluster)
        try:
            await cluster.connect()
        except ValueError:
            pass  # expected: a throttler belongs to one cluster
        else:
            self.simulation.report_violation("two clusters share a throttler")
        finally:
            await cluster.shutdown()

    async def connect(self, cluster: Any, keyspace: str) -> None:
        """Open a session, and add it to the users."""
        session = await cluster.connect(keyspace, self.simulation.plan.settings["wait_for_all"])
        if not cluster.is_shutdown:
            self.users.append(User(cluster, session))


# Steps that send only one request, so they must end when the request's timeout expires. Other steps
# may first have to prepare a statement.
LIMITED = {"simple_write", "simple_read", "lwt"}
