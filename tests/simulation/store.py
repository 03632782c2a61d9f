"""Fake nodes with a store that records each request, and the keyspace in which it runs.

The tables are the same in each keyspace, and the statements name no keyspace. As on a real server,
a statement runs in the keyspace of the request (protocol 5), otherwise in the keyspace of the
connection. A prepared statement runs in the keyspace in which it was prepared, which is part of the
statement's id. So a request in the wrong keyspace succeeds, and only the store notices the mistake.

Each statement contains the number of the client's operation: ``op``.
"""

from __future__ import annotations

import hashlib
import random
import re
import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from cassandra.testing.fake import Answer, ErrorCode, Message, delay, error, paged, rows, void
from cassandra.testing.fake.answers import Prepared, schema_change
from cassandra.testing.fake.events import DRAIN_EVENT
from cassandra.testing.fake.node import FakeNode
from cassandra.testing.fake.primitives import Opcode
from cassandra.testing.fake.scylla_node import ScyllaNode
from tests.simulation.changing_schema import ChangingSchema
from tests.simulation.gossip import Gossip
from tests.simulation.mapped_table import (
    STAMP,
    TABLE,
    VERBS,
    Write,
    number_of,
    prepared_of,
    result_of,
)
from tests.simulation.typed_table import INSERT as TYPED_INSERT, TypedTable
from tests.unit.metadata.schema.rows import schema

if TYPE_CHECKING:
    from typing_extensions import Self

    from cassandra.testing.fake.connection import ServerConnection
    from cassandra.testing.fake.requests import Request

KEYSPACES = ("ka", "kb", "kc")
KEYS = 50  # most steps use a partition key from 0 to KEYS - 1
PAGES_ROWS = 20  # the number of rows that the step "pages" reads
SCANNED = "big.t0"
"""The only table in the schema of the nodes; a scan needs the schema to know the table's key."""
SCANNED_ROWS = 40  # the number of rows in the table that the step "scan" reads
_RANGE = "token("  # only the statements of a scan contain this string

# Regular expressions for the number of the operation in an unprepared statement, and for the table
# and the session id in the query of a trace.
_OP = re.compile(r"\bop = (\d+)|VALUES \(\d+, (\d+)\)|CREATE TABLE t(\d+)")
_TRACE = re.compile(r"FROM system_traces\.(sessions|events) WHERE session_id = (\S+)")
_EVENT_ID = uuid.UUID("13814000-1dd2-11b2-8080-808080808080")  # of the one event in a trace
# The columns of the tables `events` and `sessions` in the keyspace `system_traces`.
_EVENTS = [
    ("activity", "text"),
    ("event_id", "timeuuid"),
    ("source", "inet"),
    ("source_elapsed", "int"),
    ("thread", "text"),
]
_SESSIONS = [
    ("duration", "int"),
    ("request", "text"),
    ("started_at", "timestamp"),
    ("coordinator", "inet"),
    ("parameters", "map<text, text>"),
    ("client", "inet"),
]
_SYSTEM = re.compile(r"\bsystem")  # a query of a system table
_USER = (Opcode.QUERY, Opcode.EXECUTE, Opcode.BATCH)  # the requests of applications

# The columns of the table that clients read.
_READ = [("k", "int"), ("op", "int"), ("v", "int"), ("ks", "text")]


class Arrival(NamedTuple):
    """The record of an operation (a client's statement) that has arrived at a node.

    :param time: the virtual time, in seconds.
    :param node: the address of the node.
    :param op: the number of the operation.
    :param keyspace: the keyspace that the statement runs in; empty if none is set.
    :param timestamp: the write timestamp in microseconds; None if the client sent none.
    :param fate: "done" if the node executed the statement; "refused" if the node told the client
        that it did not; "unclear" if the client got no response, or an error after which the
        statement may have been executed.
    """

    time: float
    node: str
    op: int
    keyspace: str
    timestamp: int | None
    fate: str


Trouble = Callable[["Request"], "tuple[str, Answer | None] | None"]
"""Takes an application's request, and returns None to let the node answer as usual.

Otherwise it returns (fate, answer): the fate is that of the `Arrival`, or `ALREADY_RECORDED`. If
the answer is None, the node does not answer.
"""
ALREADY_RECORDED = "already recorded"
"""Returned by a `Trouble` that has called `answer_of`, which records the arrival."""


class StatementPart(NamedTuple):
    """One statement of a request.

    :param text: the CQL.
    :param values: the bound values.
    :param prepared: the prepared statement; None for a simple statement.
    :param keyspace: the keyspace that the statement runs in; empty if none is set.
    """

    text: str
    values: Any
    prepared: Prepared | None
    keyspace: str


class Store:
    """The data and the records that all nodes of a cluster share.

    :param now: returns the virtual time, in seconds.
    :param log: adds a line to the log of the simulation.
    """

    def __init__(self, now: Callable[[], float], log: Callable[[str], None]) -> None:
        self.now = now
        self.log = log
        self.arrivals: dict[int, list[Arrival]] = {}
        """The arrivals of each operation, by its number."""
        self.applied: dict[int, int] = {}
        """How many times each write was executed, by the number of the operation."""
        self.values: dict[tuple[str, int], int] = {}
        """The operation that last wrote a row, by keyspace and key."""
        self.cells: dict[tuple[str, int, int], Write] = {}
        """The rows of the object mapper's table, by keyspace, ``k`` and ``op``."""
        self.late: list[str] = []
        """Faults: requests on connections whose client knew that they would be closed."""
        self.jitter: random.Random | None = None
        """Draws the delay before a node executes a request; None for no delay."""
        self.gossip: Gossip | None = None
        """Delays events and the rows of ``system.peers``; None if they come at once."""
        self.typed: TypedTable | None = None
        """The table that is created again with other types; None if the plan does not do that."""
        self.changing: ChangingSchema | None = None
        """The schema that other clients change; None if nobody changes it."""
        self.altered = 0
        """How many columns have been added to the table that clients read."""

    def arrive(
        self, request: Request, op: int, keyspace: str, fate: str, timestamp: int | None
    ) -> None:
        """Record that an operation arrived at a node.

        :param fate: see `Arrival`.
        :param timestamp: the write timestamp in microseconds; None if the client sent none.
        """
        node = request.connection.node.address
        arrival = Arrival(self.now(), node, op, keyspace, timestamp, fate)
        self.arrivals.setdefault(op, []).append(arrival)
        self.log(f"{node} op {op} in {keyspace or '-'}: {fate}")

    def apply(self, op: int, keyspace: str, key: int) -> None:
        """Record that a write was executed, and store its value.

        :param op: the number of the operation.
        :param key: the key of the written row.
        """
        self.applied[op] = self.applied.get(op, 0) + 1
        self.values[keyspace, key] = op

    def read_columns(self) -> list[tuple[str, str]]:
        """Return the current columns of the table that clients read."""
        return [*_READ, *((f"more{number}", "int") for number in range(self.altered))]


def _token_of(row: int) -> int:
    """Return the token of a row. The rows are spread evenly over the murmur3 tokens."""
    return -(2**63) + (2 * row + 1) * 2**63 // SCANNED_ROWS


def op_of(text: str, values: Any, prepared: Prepared | None) -> int | None:
    """Return the number of the operation that a statement belongs to; None if it has none.

    :param text: the CQL of the statement.
    :param values: the bound values.
    :param prepared: the prepared statement; None for a simple statement.
    """
    if prepared is not None:
        names = [name for name, _ in prepared.columns]
        if "op" not in names:
            return None
        # For the mapper's table, the value is the number of the first operation on the row
        # (see `tests.simulation.mapped`).
        number = number_of(values[names.index("op")])
        return number + VERBS.index(text.split()[0]) if prepared.table == TABLE else number
    match = _OP.search(text)
    return int(next(group for group in match.groups() if group)) if match is not None else None


def timestamp_of(request: Request, values: Any, prepared: Prepared | None) -> int | None:
    """Return the timestamp of a write, from its bind marker or else from the request.

    :returns: microseconds; None if neither has a timestamp.
    """
    names = [name for name, _ in prepared.columns] if prepared is not None else []
    return number_of(values[names.index(STAMP)]) if STAMP in names else request.timestamp


class _AfterDrain:
    """Detects requests that a client sends although it has read GRACEFUL_DISCONNECT.

    A node cannot know when the client reads this announcement. But if the client uses a stream id
    twice after the announcement, it has read the first response on that stream. The node sent this
    response after the announcement, so the client has also read the announcement.
    """

    def __init__(self) -> None:
        self.streams: set[int] = set()  # stream ids that were used since the announcement
        self.prepared: set[str] = set()  # CQL of the PREPARE requests since the announcement

    def is_late(self, request: Request) -> bool:
        """Return True if the client sent a new request although it knows that the node will stop.

        The client knows that when it has read the announcement on this connection.
        """
        is_second_use = request.stream in self.streams
        self.streams.add(request.stream)
        if request.opcode == Opcode.PREPARE:
            self.prepared.add(request.query or "")
        # A request that the driver repeats is not new. If a node does not know a prepared
        # statement, the driver prepares it, and then sends the request again. So a request whose
        # statement was prepared since the announcement may be a repetition.
        may_be_repeat = bool(self.prepared) and (
            request.opcode == Opcode.BATCH or request.query in self.prepared
        )
        return is_second_use and not may_be_repeat


class _Stored(FakeNode):
    """A node that records and executes requests in a `Store`."""

    after_drain: dict[ServerConnection, _AfterDrain]
    """For each connection that GRACEFUL_DISCONNECT was sent to: the requests since then."""
    store: Store
    troubles: list[Trouble]
    withholding: list[ServerConnection]
    """Connections on which the node has left a request without an answer."""
    lag: float = 0.0
    """Seconds by which each answer is delayed."""
    use_lag: float = 0.0
    """Seconds between the execution of a USE and its answer."""
    prepare_lag: float = 0.0
    """Seconds by which the answer to a PREPARE is delayed, in addition to `lag`."""

    # -- statements --------------------------------------------------------------------------------

    def _on_prepare(self, request: Request) -> Message:
        """Return the response to a PREPARE: the columns of the statement, and its id.

        As on a real server, the id depends on the keyspace.
        """
        text = request.query or ""
        if _SYSTEM.search(text):
            return super()._on_prepare(request)
        if text == TYPED_INSERT and self.store.typed is not None:
            typed = self.store.typed.prepared(hashlib.md5(text.encode()).digest())
            self._prepared[typed.query_id] = typed
            return Message(Opcode.RESULT, typed.body)
        keyspace = request.keyspace or request.connection.keyspace
        if not keyspace:
            return _no_keyspace()
        # Find the columns of the bind markers and of the result by the text of the statement.
        columns = [(name, "int") for name in ("k", "op") if f"{name} = ?" in text]
        if "VALUES (?, ?)" in text:
            columns = [("k", "int"), ("op", "int")]
        result: list[tuple[str, str]] = []
        if _RANGE in text:
            columns = [("begin", "bigint"), ("end", "bigint")]
            result = [("id", "int")]
        if text.startswith("SELECT k"):
            result = self.store.read_columns()
        table = "w"
        mapper_columns = prepared_of(text)
        if mapper_columns is not None:
            table = TABLE
            keyspace, columns, result = mapper_columns
        names = [name for name, _ in columns]
        # Store the statement under its id.
        query_id = hashlib.md5(f"{keyspace}/{text}".encode()).digest()
        prepared = Prepared(
            text,
            columns,
            result,
            [names.index("k")] if "k" in names else (),
            query_id,
            keyspace=keyspace,
            table=table,
        )
        self._prepared[query_id] = prepared
        return Message(Opcode.RESULT, prepared.body)

    def say_drain(self) -> None:
        """Send GRACEFUL_DISCONNECT to all clients that registered for it, and begin to drain."""
        for connection in self.connections:
            if DRAIN_EVENT in connection.event_types:
                self.after_drain.setdefault(connection, _AfterDrain())
        self.drain()

    def _note_late(self, request: Request) -> None:
        """Record a request that a client sent although it had read GRACEFUL_DISCONNECT."""
        after_drain = self.after_drain.get(request.connection)
        if after_drain is None or request.opcode not in (*_USER, Opcode.PREPARE):
            return
        is_late = after_drain.is_late(request)
        if is_late and request.opcode in _USER and not self._is_system(request):
            self.store.late.append(
                f"{self.address} got a request on stream {request.stream} of a connection "
                "whose client had read GRACEFUL_DISCONNECT"
            )

    def _answer(self, request: Request) -> None:
        """Respond to a request, perhaps after a delay."""
        if self.after_drain:
            self._note_late(request)
        lag = self.lag
        if request.opcode == Opcode.PREPARE:
            lag += self.prepare_lag
        if self.store.jitter is not None:
            # Like a real server, the node executes the requests of a connection concurrently.
            lag += 0.01 * self.store.jitter.random() ** 3
        if lag:
            self.loop.call_later(lag, self._answer_now, request)
        else:
            self._answer_now(request)

    def _answer_now(self, request: Request) -> None:
        """Execute a request and respond to it, unless a fault decides the response."""
        # The connection may have been closed during the delay.
        if request.connection not in self._connections:
            return
        if self.use_lag and (request.query or "").upper().startswith("USE "):
            delay(self.use_lag, self._on_query(request)).perform(request)
            return
        trace = _TRACE.search(request.query or "")
        if trace is not None:
            self._traced(trace[1], uuid.UUID(trace[2]).int).perform(request)
            return
        if request.opcode not in _USER or self._is_system(request):
            self._answer_from_system(request)
            return
        for trouble in list(self.troubles):
            outcome = trouble(request)
            if outcome is not None:
                fate, answer = outcome
                if fate != ALREADY_RECORDED:
                    self._record(request, fate)
                if answer is not None:
                    answer.perform(request)
                return
        answer = self.answer_of(request)
        answer.perform(request)

    def _answer_from_system(self, request: Request) -> None:
        """Respond to a request that the store does not record."""
        changing = self.store.changing
        if changing is None or "system_schema." not in (request.query or ""):
            super()._answer(request)
            return
        if changing.is_failing():
            failure = changing.failure()
            if failure is not None:
                failure.perform(request)
            return
        # The node reads the table now, so the answers to concurrent queries may be of several
        # versions of the schema.
        self.loop.call_later(changing.answer_delay(), super()._answer, request)

    @staticmethod
    def _traced(table: str, op: int) -> Message:
        """Return the rows of a table in the keyspace ``system_traces`` for an operation."""
        if table == "events":
            return rows(_EVENTS, [("done", _EVENT_ID, "10.0.0.1", 7, "a thread")])
        return rows(_SESSIONS, [(7, f"op {op}", 0, "10.0.0.1", {}, "10.1.0.1")])

    def _is_system(self, request: Request) -> bool:
        """Return True for queries of system tables and for USE: the store records neither."""
        return any(_SYSTEM.search(text) for text in request.queries) or (
            request.opcode == Opcode.QUERY and (request.query or "").upper().startswith("USE ")
        )

    def _record(self, request: Request, fate: str) -> None:
        """Record all operations of a request with the given fate, without executing them."""
        for text, values, prepared, keyspace in self._parts(request):
            op = op_of(text, values, prepared)
            if op is not None:
                timestamp = timestamp_of(request, values, prepared)
                self.store.arrive(request, op, keyspace, fate, timestamp)

    def _parts(self, request: Request) -> list[StatementPart]:
        """Return the statements of a request.

        An EXECUTE is left out if the node does not know its prepared statement.
        """
        default_keyspace = request.keyspace or request.connection.keyspace or ""
        if request.opcode != Opcode.BATCH:
            statements = [(request.query_id, request.query, request.values)]
        else:
            statements = [
                (statement.query_id, statement.query, statement.values)
                for statement in request.statements
            ]
        parts = []
        for query_id, text, values in statements:
            prepared = self._prepared.get(query_id) if query_id is not None else None
            if query_id is not None and prepared is None:
                continue
            keyspace = prepared.keyspace if prepared is not None else default_keyspace
            # The request may have arrived before its statement was prepared. Then it has no CQL
            # string.
            text = prepared.query if prepared is not None else text
            parts.append(StatementPart(text or "", values, prepared, keyspace))
        return parts

    def answer_of(self, request: Request, fate: str = "done") -> Answer:
        """Execute a request, record it with the given fate, and return the response."""
        statement_count = len(request.statements) if request.opcode == Opcode.BATCH else 1
        parts = self._parts(request)
        if len(parts) < statement_count:
            # The node does not know one of the prepared statements; it may have forgotten the
            # statement since the request arrived. Respond with UNPREPARED and the statement's id.
            ids = [statement.query_id for statement in request.statements] or [request.query_id]
            return self._unprepared(
                next(query_id for query_id in ids if query_id and query_id not in self._prepared)
            )
        mapped: Message | None = None  # the response to a statement of the object mapper
        for text, values, prepared, keyspace in parts:
            op = op_of(text, values, prepared)
            timestamp = timestamp_of(request, values, prepared)
            if op is not None:
                outcome = fate if keyspace else "refused"
                self.store.arrive(request, op, keyspace, outcome, timestamp)
            if not keyspace:
                return _no_keyspace()
            if text == TYPED_INSERT and self.store.typed is not None:
                self.store.typed.write(values)
            if prepared is not None and prepared.table == TABLE:
                mapped = result_of(self.store.cells, prepared, values, timestamp or 0)
            if op is not None and not text.startswith("SELECT"):
                key = number_of(values[0]) if prepared is not None else op
                self.store.apply(op, keyspace, key)
        if statement_count > 1:
            answer: Answer = void()
        elif mapped is not None:
            answer = mapped
        else:
            answer = self._result(request, *parts[0])
        text, values, prepared, _ = parts[0]
        op = op_of(text, values, prepared)
        if request.traced and isinstance(answer, Message) and op is not None:
            # The trace id is the operation's number, which `_traced` reads from the id.
            return answer.having(tracing_id=uuid.UUID(int=op))
        return answer

    def _result(
        self, request: Request, text: str, values: Any, prepared: Prepared | None, keyspace: str
    ) -> Answer:
        """Return the response to one executed statement."""
        op = op_of(text, values, prepared) or 0
        # A range of a scan, a result of several pages, or a row of the table that clients read.
        if _RANGE in text:
            begin_token, end_token = number_of(values[0]), number_of(values[1])
            ids = [
                (row,) for row in range(SCANNED_ROWS) if begin_token < _token_of(row) <= end_token
            ]
            return paged([("id", "int")], ids, keyspace="big", table="t0")
        if text.startswith("SELECT n"):
            page_rows = [(number, op, keyspace) for number in range(PAGES_ROWS)]
            return paged(
                [("n", "int"), ("op", "int"), ("ks", "text")], page_rows, keyspace=keyspace
            )
        if text.startswith("SELECT"):
            key = (
                number_of(values[0])
                if prepared is not None
                else int(text.split("k = ")[1].split()[0])
            )
            columns = self.store.read_columns()
            value = self.store.values.get((keyspace, key))
            row = (key, op, value, keyspace, *(0 for _ in range(self.store.altered)))
            return rows(columns, [row], keyspace=keyspace, table="w")
        if text.endswith("IF NOT EXISTS"):
            return rows([("[applied]", "boolean")], [(True,)], keyspace=keyspace, table="w")
        if text.startswith("CREATE TABLE"):
            if self.store.changing is not None:
                return schema_change(*self.store.changing.change(self))
            return schema_change("CREATED", "TABLE", keyspace, f"t{op}")
        return void()


def _no_keyspace() -> Message:
    """Return the error of a server for a statement without a keyspace."""
    return error(ErrorCode.INVALID, "No keyspace has been specified. USE a keyspace, or name one")


class StoreNode(_Stored):
    """A fake Cassandra node with a store."""

    def __init__(self, *arguments: Any, store: Store, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.schema = schema("big", tables=1)
        if store.typed is not None:
            store.typed.add_to(self)
        if store.changing is not None:
            store.changing.add_to(self)
        self.store = store
        self.troubles = []
        self.withholding = []
        self.after_drain = {}

    def start(self) -> Self:
        gossip = self.store.gossip
        if gossip is not None and not self.is_running:
            gossip.forget(self)
        return super().start()

    def _on_query(self, request: Request) -> Message:
        """Respond to a query. The rows of ``system.peers`` are those of the gossip."""
        gossip = self.store.gossip
        if gossip is None or "system.peers" not in (request.query or ""):
            return super()._on_query(request)
        peers = self.peers
        self.peers = gossip.rows_of(self, peers)
        try:
            return super()._on_query(request)
        finally:
            self.peers = peers

    def send_event(self, event_type: str, change: str = "", *details: Any) -> int:
        gossip = self.store.gossip
        if gossip is None or event_type == DRAIN_EVENT:
            return super().send_event(event_type, change, *details)
        for seconds in gossip.delays(event_type):
            gossip.loop.call_later(seconds, self._send_late, event_type, change, *details)
        return 0

    def _send_late(self, event_type: str, change: str, *details: Any) -> None:
        """Send an event after its delay, if the node is still running."""
        if self.is_running:
            super().send_event(event_type, change, *details)


class ScyllaStoreNode(_Stored, ScyllaNode):
    """A fake ScyllaDB node with a store."""

    def __init__(self, *arguments: Any, store: Store, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.store = store
        self.troubles = []
        self.withholding = []
        self.after_drain = {}

    def _answer(self, request: Request) -> None:
        if request.opcode == Opcode.EXECUTE:
            self._count_arrival(request)
        _Stored._answer(self, request)
