"""Nodes with a store behind them: it remembers each arrival, and in which keyspace it ran.

The tables are the same in each keyspace, and statements name no keyspace. As on a real server, one
runs in the keyspace of the request (protocol 5), else in that of the connection; a prepared one
in the keyspace that it was prepared in, which is a part of its id. So a request in the wrong
keyspace works without an error, and only the store can tell.

Each statement has the number of the client's operation in it: ``op``.
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
from cassandra.testing.fake.node import FakeNode
from cassandra.testing.fake.primitives import Opcode
from cassandra.testing.fake.scylla_node import ScyllaNode
from tests.unit.metadata.schema.rows import schema

if TYPE_CHECKING:
    from cassandra.testing.fake.connection import ServerConnection
    from cassandra.testing.fake.requests import Request

__all__ = ["KEYSPACES", "Arrival", "ScyllaStoreNode", "Store", "StoreNode", "Trouble"]

KEYSPACES = ("ka", "kb", "kc")
PAGES_ROWS = 20
SCANNED = "big.t0"
"""A table that the schema has, unlike the others: a scan must know its key."""
SCANNED_ROWS = 40
_RANGE = "token("  # in the text of its reads

_OP = re.compile(r"\bop = (\d+)|VALUES \(\d+, (\d+)\)|CREATE TABLE t(\d+)")
_TRACE = re.compile(r"FROM system_traces\.(sessions|events) WHERE session_id = (\S+)")
_EVENT_ID = uuid.UUID("13814000-1dd2-11b2-8080-808080808080")
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
_SYSTEM = re.compile(r"\bsystem")
_USER = (Opcode.QUERY, Opcode.EXECUTE, Opcode.BATCH)

_READ = [("k", "int"), ("op", "int"), ("v", "int"), ("ks", "text")]


class Arrival(NamedTuple):
    """One time that an operation came to a node.

    :param fate: "done"; "refused" if the node has told the client that it was not done; "unclear"
        if it was done or may have been, and the client was told otherwise or nothing.
    """

    time: float
    node: str
    op: int
    keyspace: str
    timestamp: int | None
    fate: str


Trouble = Callable[["Request"], "tuple[str, Answer | None] | None"]
"""Looks at a request of an application: None to answer as usual, or the fate, and the answer.
None as an answer is silence.
"""


class Store:
    """What all nodes of a cluster share."""

    def __init__(self, now: Callable[[], float], log: Callable[[str], None]) -> None:
        self.now = now
        self.log = log
        self.arrivals: dict[int, list[Arrival]] = {}
        self.applied: dict[int, int] = {}
        self.values: dict[tuple[str, int], int] = {}
        self.jitter: random.Random | None = None
        """Draws how long a request takes until it is executed; None for no time."""
        self.altered = 0
        """How often the table of the reads got another column."""

    def arrive(self, request: Request, op: int, keyspace: str, fate: str) -> None:
        """Note an arrival."""
        node = request.connection.node.address
        arrival = Arrival(self.now(), node, op, keyspace, request.timestamp, fate)
        self.arrivals.setdefault(op, []).append(arrival)
        self.log(f"{node} op {op} in {keyspace or '-'}: {fate}")

    def apply(self, op: int, keyspace: str, key: int) -> None:
        """Do a write."""
        self.applied[op] = self.applied.get(op, 0) + 1
        self.values[keyspace, key] = op

    def read_columns(self) -> list[tuple[str, str]]:
        """Return the columns of a read, as they are now."""
        return [*_READ, *((f"more{number}", "int") for number in range(self.altered))]


def _number(value: Any) -> int:
    return int.from_bytes(value, "big", signed=True) if isinstance(value, bytes) else -1


def _token_of(row: int) -> int:
    return -(2**63) + (2 * row + 1) * 2**63 // SCANNED_ROWS


def op_of(text: str, values: Any, prepared: Prepared | None) -> int | None:
    """Return the number of the operation that a statement belongs to."""
    if prepared is not None:
        names = [name for name, _ in prepared.columns]
        return _number(values[names.index("op")]) if "op" in names else None
    match = _OP.search(text)
    return int(next(group for group in match.groups() if group)) if match is not None else None


class _Stored(FakeNode):
    """A node before a store."""

    store: Store
    troubles: list[Trouble]
    withholding: list[ServerConnection]
    """Connections on which a request got no answer."""
    lag: float = 0.0
    """Seconds that each answer takes longer."""
    use_lag: float = 0.0
    """Seconds between the switch of a connection by USE, and the answer to it."""
    prepare_lag: float = 0.0
    """Seconds that PREPARE takes longer."""

    # -- statements --------------------------------------------------------------------------------

    def _on_prepare(self, request: Request) -> Message:
        text = request.query or ""
        if _SYSTEM.search(text):
            return super()._on_prepare(request)
        keyspace = request.keyspace or request.connection.keyspace
        if not keyspace:
            return _no_keyspace()
        columns = [(name, "int") for name in ("k", "op") if f"{name} = ?" in text]
        if "VALUES (?, ?)" in text:
            columns = [("k", "int"), ("op", "int")]
        result: list[tuple[str, str]] = []
        if _RANGE in text:
            columns = [("begin", "bigint"), ("end", "bigint")]
            result = [("id", "int")]
        if text.startswith("SELECT k"):
            result = self.store.read_columns()
        query_id = hashlib.md5(f"{keyspace}/{text}".encode()).digest()
        prepared = Prepared(
            text,
            columns,
            result,
            [0] if columns and columns[0][0] == "k" else (),
            query_id,
            keyspace=keyspace,
            table="w",
        )
        self._prepared[query_id] = prepared
        return Message(Opcode.RESULT, prepared.body)

    def _answer(self, request: Request) -> None:
        lag = self.lag
        if request.opcode == Opcode.PREPARE:
            lag += self.prepare_lag
        if self.store.jitter is not None:
            # As real servers do, it executes the requests of a connection side by side.
            lag += 0.01 * self.store.jitter.random() ** 3
        if lag:
            self.loop.call_later(lag, self._answer_now, request)
        else:
            self._answer_now(request)

    def _answer_now(self, request: Request) -> None:
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
            super()._answer(request)
            return
        for trouble in list(self.troubles):
            outcome = trouble(request)
            if outcome is not None:
                fate, answer = outcome
                if fate != "again":  # else it was noted as it was done
                    self._arrives(request, fate)
                if answer is not None:
                    answer.perform(request)
                return
        answer = self.answer_of(request)
        answer.perform(request)

    @staticmethod
    def _traced(table: str, op: int) -> Message:
        """Return what a table of system_traces says of an operation."""
        if table == "events":
            return rows(_EVENTS, [("done", _EVENT_ID, "10.0.0.1", 7, "a thread")])
        return rows(_SESSIONS, [(7, f"op {op}", 0, "10.0.0.1", {}, "10.1.0.1")])

    def _is_system(self, request: Request) -> bool:
        return any(_SYSTEM.search(text) for text in request.queries) or (
            request.opcode == Opcode.QUERY and (request.query or "").upper().startswith("USE ")
        )

    def _arrives(self, request: Request, fate: str) -> None:
        for text, values, prepared, keyspace in self._parts(request):
            op = op_of(text, values, prepared)
            if op is not None:
                self.store.arrive(request, op, keyspace, fate)

    def _parts(self, request: Request) -> list[tuple[str, Any, Prepared | None, str]]:
        """Return the statements of a request: text, values, preparation, keyspace."""
        own = request.keyspace or request.connection.keyspace or ""
        if request.opcode != Opcode.BATCH:
            pairs = [(request.query_id, request.query, request.values)]
        else:
            pairs = [(one.query_id, one.query, one.values) for one in request.statements]
        parts = []
        for query_id, text, values in pairs:
            prepared = self._prepared.get(query_id) if query_id is not None else None
            if query_id is not None and prepared is None:
                continue
            keyspace = prepared.keyspace if prepared is not None else own
            # The statement may have become known after the request came, which has no text then.
            text = prepared.query if prepared is not None else text
            parts.append((text or "", values, prepared, keyspace))
        return parts

    def answer_of(self, request: Request, fate: str = "done") -> Answer:
        """Do a request, and return the answer to it."""
        wanted = len(request.statements) if request.opcode == Opcode.BATCH else 1
        parts = self._parts(request)
        if len(parts) < wanted:
            # Looked up again: the node may have forgotten it since the request came.
            ids = [one.query_id for one in request.statements] or [request.query_id]
            return self._unprepared(next(one for one in ids if one and one not in self._prepared))
        for text, values, prepared, keyspace in parts:
            op = op_of(text, values, prepared)
            if op is not None:
                self.store.arrive(request, op, keyspace, fate if keyspace else "refused")
            if not keyspace:
                return _no_keyspace()
            if op is not None and not text.startswith("SELECT"):
                key = _number(values[0]) if prepared is not None else op
                self.store.apply(op, keyspace, key)
        answer = self._result(request, *parts[0]) if wanted == 1 else void()
        op = op_of(*parts[0][:3])
        if request.traced and isinstance(answer, Message) and op is not None:
            return answer.having(tracing_id=uuid.UUID(int=op))
        return answer

    def _result(
        self, request: Request, text: str, values: Any, prepared: Prepared | None, keyspace: str
    ) -> Answer:
        op = op_of(text, values, prepared) or 0
        if _RANGE in text:
            begin, end = _number(values[0]), _number(values[1])
            ids = [(row,) for row in range(SCANNED_ROWS) if begin < _token_of(row) <= end]
            return paged([("id", "int")], ids, keyspace="big", table="t0")
        if text.startswith("SELECT n"):
            content = [(number, op, keyspace) for number in range(PAGES_ROWS)]
            return paged([("n", "int"), ("op", "int"), ("ks", "text")], content, keyspace=keyspace)
        if text.startswith("SELECT"):
            key = (
                _number(values[0])
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
            return schema_change("CREATED", "TABLE", keyspace, f"t{op}")
        return void()


def _no_keyspace() -> Message:
    return error(ErrorCode.INVALID, "No keyspace has been specified. USE a keyspace, or name one")


class StoreNode(_Stored):
    """A node of Cassandra."""

    def __init__(self, *arguments: Any, store: Store, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.schema = schema("big", tables=1)
        self.store = store
        self.troubles = []
        self.withholding = []


class ScyllaStoreNode(_Stored, ScyllaNode):
    """A node of ScyllaDB."""

    def __init__(self, *arguments: Any, store: Store, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.store = store
        self.troubles = []
        self.withholding = []

    def _answer(self, request: Request) -> None:
        if request.opcode == Opcode.EXECUTE:
            self._count(request)
        _Stored._answer(self, request)
