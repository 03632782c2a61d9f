"""The happy path of a request: timer, plan, stream, frame, answer. Its cost is each request's cost.

Theory of operation. A `StreamTable` holds the requests in flight on one connection, by stream. A
`RequestBase` is started on the loop, takes the first host of its plan that has room, leaves an
`Attempt` on a stream of the table and ends when the answer comes. The subclass
`cassandra.engine.request.Request` does all else: errors, retries, speculation, preparing again.
This module calls it by the names under "of the subclass". A `TimerWheel` holds the deadlines.

All of it belongs to one loop, but for `RequestBase.start_directly`: a thread of the program may
send a request by itself if nothing is in flight (see `cassandra.engine.stream_table`). The compiled
twin is ``cassandra._accel.happy_path``.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from threading import get_ident, main_thread
from typing import TYPE_CHECKING, Any

from cassandra._threads import green_library
from cassandra.engine.attempts import Attempt
from cassandra.engine.awaited import HappyPath, ResultFuture, RowsAnswer
from cassandra.engine.collector import Collector
from cassandra.engine.events import Event, WakeQueue
from cassandra.engine.failures import as_exception, reraise_on_loop
from cassandra.engine.pools.shard_table import ShardTable, first_with_room, in_flight_of
from cassandra.engine.resolving import bound_request, request_for, resolve
from cassandra.engine.serial_reads import in_order
from cassandra.engine.stream_table import WRITE_HIGH_WATER, StreamTable
from cassandra.engine.timer_wheel import TimerWheel
from cassandra.errors import ConnectionException
from cassandra.protocol.messages.results import VOID_BODY, VOID_RESULT, rows_result
from cassandra.protocol.opcodes import EXECUTE, RESULT
from cassandra.protocol.params import QueryParams

if TYPE_CHECKING:
    from cassandra.engine.connection import Connection
    from cassandra.engine.pools.pool import HostPool
    from cassandra.engine.request_bodies import AnyBody
    from cassandra.engine.session import EngineSession
    from cassandra.metadata.host import Host
    from cassandra.metadata.placement import tablets
    from cassandra.metadata.placement.tablets import TabletMap
    from cassandra.observed import ObservedBase
    from cassandra.protocol import bodies
    from cassandra.protocol.column_specs import ResultMetadata
    from cassandra.query.prepared import PreparedStatement
else:
    from cassandra._impl import bodies, tablets

log = logging.getLogger("cassandra.connection")

__all__ = [
    "METADATA_IDS",
    "MOST_DIRECT",
    "TABLET_VERSIONS",
    "WRITE_HIGH_WATER",
    "Attempt",
    "Collector",
    "Event",
    "ExecuteBodyBase",
    "HappyPath",
    "RequestBase",
    "ResultFuture",
    "RowsAnswer",
    "ShardTable",
    "StreamTable",
    "TimerWheel",
    "WakeQueue",
    "bound_request",
    "first_with_room",
    "in_flight_of",
    "request_for",
    "resolve",
    "start_all",
]

# In a wire format: requests name result metadata by its id, as in version 5, on an older version
# (ScyllaDB's extension).
METADATA_IDS = 0x100
# In a wire format: EXECUTE ends with a byte of the tablet's version (another extension of
# ScyllaDB's).
TABLET_VERSIONS = 0x200

_PAYLOAD_ALONE = 0x04  # flags of an answer (native_protocol_v5.spec, section 2.4.1.2)

# Bytes of a request's body: larger ones are left to the loop, which waits for the socket.
MOST_DIRECT = 1 << 16

# RequestBase._throttle
_NOT_ASKED, _WAITING, _BEGUN = range(3)


class ExecuteBodyBase(QueryParams):
    """A prepared statement's execution, rendered for a connection, as most requests send.

    prepared: names the statement, by its id, and the columns of the answer. values: a
    `ValuesBlock`. The others are those of `QueryParams`. body: as it was rendered last. result:
    (result metadata, its id) of that moment, by which the answer is decoded.
    """

    __slots__ = (
        "_query_id",
        "_wire_format",
        "body",
        "custom_payload",
        "prepared",
        "result",
        "tracing",
    )

    def __init__(self, prepared: PreparedStatement, values: object) -> None:
        # Not through QueryParams.__init__: `resolve` writes the rest of a request's parameters.
        self.prepared = prepared
        self.values = values
        self.tracing: bool = False
        self.custom_payload: Mapping[str, bytes | None] | None = None
        self.consistency = 0
        self.page_size = None
        self.paging_state = None
        self.serial_consistency = None
        self.timestamp = None
        self.keyspace = None
        self.value_names = None
        self.skip_metadata = False
        self.now_in_seconds = None
        self.body: bytes | None = None
        self.result: tuple[Any, bytes | None] = prepared.result_metadata_and_id
        self._wire_format = 0  # that body is rendered in; 0 for none
        self._query_id: bytes | None = None

    def prerender(self, wire_format: int) -> None:
        """Make the body now, for connections of `wire_format`.

        :param wire_format: the protocol version, with METADATA_IDS if such ids travel.
        """
        prepared = self.prepared
        self.result = prepared.result_metadata_and_id
        self._query_id = prepared.query_id
        metadata, metadata_id = self.result
        self.skip_metadata = False
        travels = None
        if wire_format & METADATA_IDS:
            # Leaving the metadata out is safe only if its id travels: the server then sends the
            # new columns when they have changed.
            travels = metadata_id or b""
            self.skip_metadata = bool(metadata_id) and bool(metadata)
        self.body = bodies.execute_body(prepared.query_id, travels, self, wire_format & 0xFF)
        self._wire_format = wire_format

    def invalidate(self) -> None:
        """The body is made anew before it is sent again."""
        self._wire_format = 0

    def replace(self, prepared: PreparedStatement, values: object) -> None:
        """Execute another statement, with other values, from the next attempt on.

        :param prepared: the statement.
        :param values: its `ValuesBlock`.
        """
        self.prepared = prepared
        self.values = values
        self.invalidate()

    def render(self, connection: Connection) -> tuple[int, int, bytes]:
        """(opcode, flags, body) for `connection`."""
        wire_format = connection.wire_format
        prepared = self.prepared
        if (
            wire_format != self._wire_format
            or prepared.query_id is not self._query_id
            or prepared.result_metadata_and_id is not self.result
        ):
            self.prerender(wire_format)
        body = self.body
        assert body is not None
        if self.tracing or self.custom_payload:
            return self.with_extras(connection, body)
        return EXECUTE, 0, body

    def with_extras(self, connection: Connection, body: bytes) -> tuple[int, int, bytes]:
        """The same with tracing or a custom payload."""
        raise NotImplementedError


class RequestBase:
    """One execution of one statement, or of one of its pages, as long as nothing goes wrong.

    `policy` makes the query plan. `timeout` is in seconds; None for no limit.

    :param request_body: is rendered for the connection of each attempt.
    :param on_done: called once with the request when it is over.
    """

    __slots__ = (
        "_busy",
        "_is_located",
        "_plan",
        "_reads_rows",
        "_retry_handle",
        "_speculation",
        "_speculation_handle",
        "_tablet",
        "_throttle",
        "_timer_slot",
        "_token",
        "_waits",
        "attempts",
        "caller",
        "done",
        "error",
        "errors",
        "observed",
        "on_done",
        "policy",
        "request_body",
        "response",
        "retries",
        "retry_policy",
        "session",
        "speculative_policy",
        "statement",
        "target_host",
        "timeout",
        "vectors",
    )

    def __init__(
        self,
        session: EngineSession,
        statement: Any,
        request_body: AnyBody,
        on_done: Callable[[Any], None],
    ) -> None:
        self.session = session
        self.statement = statement
        self.request_body = request_body
        self.on_done = on_done
        self.policy: Any = None
        self.retry_policy: Any = None
        self.speculative_policy: Any = None
        self.timeout: float | None = None
        self.target_host: Host | None = None
        self.vectors = "list"
        # Its observers' view of it; None if nobody observes it.
        self.observed: ObservedBase | None = None
        self.attempts: list[Attempt] = []
        self.errors: dict[Any, Any] = {}
        self.retries = 0
        self.done = False
        self.response: Any = None
        self.error: BaseException | None = None
        self._busy: Any = None  # the first pool that had no room
        self._plan: Iterator[Any] | None = None
        self._speculation: Any = None
        self._speculation_handle: Any = None
        self._retry_handle: Any = None
        self._timer_slot = -1
        # How many of these will go on with the request although no attempt is in flight: preparing
        # again, delayed retries, waiting for room.
        self._waits = 0
        # Who asked for it, if there is a throttler, among whose callers requests take turns. None
        # if there is no throttler.
        self.caller: object = None
        self._throttle = _NOT_ASKED
        self._reads_rows = False  # the answer is wanted as a RowsAnswer
        self._is_located = False
        self._token: int | None = None
        self._tablet: tuple[str, str] | None = None  # keyspace and table, if it has tablets

    def again(self, request_class: type[RequestBase], on_done: Callable[[Any], None]) -> Any:
        """Make a request that asks for the same once more, for another page say."""
        request = request_class(self.session, self.statement, self.request_body, on_done)
        request.policy = self.policy
        request.retry_policy = self.retry_policy
        request.speculative_policy = self.speculative_policy
        request.timeout = self.timeout
        request.target_host = self.target_host
        request.vectors = self.vectors
        request.caller = self.caller
        if self.observed is not None:
            request.observed = self.observed._for_page(request)
        return request

    def columns_as_wanted(self, metadata: ResultMetadata) -> Any:
        """Return the result metadata that reads vectors as the request wants them."""
        return metadata.with_vectors(self.vectors) if self.vectors != "list" else metadata

    # -- of the subclass ---------------------------------------------------------------------------

    if TYPE_CHECKING:

        def on_timeout(self) -> None: ...

    def on_other_answer(
        self, attempt: Attempt, connection: Connection, opcode: int, flags: int, body: bytes
    ) -> None:
        """An answer that is neither that of a write nor rows with known columns."""
        raise NotImplementedError

    def on_attempt_failed(self, attempt: Attempt, error: Exception) -> None:
        """The connection broke under an attempt."""
        raise NotImplementedError

    def on_no_connection(self, host: Host, pool: HostPool | None) -> None:
        """No connection to `host` has room; `pool` is None if there is no pool."""
        raise NotImplementedError

    def on_plan_exhausted(self) -> None:
        """No host of the plan could take it."""
        raise NotImplementedError

    def start_speculation(self) -> None:
        """It was sent, and may be sent to further hosts before the answer comes."""
        raise NotImplementedError

    # -- start and end -----------------------------------------------------------------------------

    def start(self) -> None:
        """Begin, on the loop."""
        if self.done:
            return
        session = self.session
        if self.observed is not None:
            self.observed._start()
        if session.closed:
            self.fail(session.closed_error())
            return
        try:
            if self.timeout is not None and self._timer_slot < 0:
                if self.timeout <= 0:  # its time is over: nothing is sent
                    self.on_timeout()
                    return
                self._timer_slot = session.timers.add(self.timeout, self)
            if self.caller is not None and self._throttle != _BEGUN and not self._begins():
                return
            if self._plan is not None:
                pass  # made by `start_directly`
            elif self.target_host is not None:
                self._plan = iter((self.target_host,))
            else:
                self._plan = self._new_plan()
            self.try_next_host()
            if self.speculative_policy is not None and self.statement.is_idempotent:
                self.start_speculation()
        # A fault of a policy or of the driver: it must not look like NoHostAvailable.
        except BaseException as error:
            self.fail(as_exception(error))

    def _begins(self) -> bool:
        """Ask the throttler; return False if the request waits for its turn."""
        throttle = self.session.throttle
        assert throttle is not None
        self._throttle = _BEGUN if throttle.admit(self) else _WAITING
        return self._throttle == _BEGUN

    def start_admitted(self) -> None:
        """Its turn has come."""
        self._throttle = _BEGUN
        self.start()

    def _new_plan(self) -> Iterator[Host]:
        """Return the policy's query plan for this request."""
        statement = in_order(self.statement, getattr(self.request_body, "consistency", None))
        return iter(self.policy.make_query_plan(self.session.keyspace, statement))

    def start_directly(self) -> bool:
        """Begin in the calling thread, if nothing is in flight on the connection to take.

        :returns: False if nothing was sent: the request is to be started on the loop then.
        """
        session = self.session
        if (
            _may_be_interrupted()
            or not self.request_body.is_plain
            or self.speculative_policy is not None
            or self.target_host is not None
            or self.caller is not None
            or session.closed
            or not (self.policy is session.direct_policy or session.plans_anywhere(self.policy))
        ):
            return False
        try:
            plan = self._new_plan()
            host = next(plan, None)
            # `start` goes on with this plan, or policies that take turns would skip hosts.
            self._plan = chain((host,), plan) if host is not None else None
            pool = session.pools_by_id.get(id(host))
            connection = self.choose(host, pool) if host is not None and pool is not None else None
        except Exception:  # of a policy: on the loop it ends the request
            return False
        if host is None or connection is None or not connection.streams.is_idle:
            return False
        own_plan, self._plan = self._plan, plan
        if self.observed is not None:
            self.observed._start_directly()
        try:
            if self._send_directly(host, connection):
                return True
        except Exception:  # of rendering: nothing was sent, and on the loop it ends the request
            pass
        self._plan = own_plan
        return False

    def _send_directly(self, host: Host, connection: Connection) -> bool:
        """Send in the calling thread; return False if nothing was sent."""
        # Looked at in this order: whoever switches the connection changes the number first.
        epoch = connection.streams.keyspace_epoch
        if not self._fits(connection):
            return False
        # Before it is written: the answer may come before this thread goes on.
        if self.timeout is not None and self._timer_slot < 0:
            if self.timeout <= 0:
                return False
            self._timer_slot = self.session.timers.add_from_thread(self.timeout, self)
        request_body = self.request_body
        attempt = Attempt(self, host, connection, self.session.timers.clock())
        opcode, flags, body = request_body.render(connection)
        attempt.columns = request_body.cached_metadata()
        if connection.wire_format & TABLET_VERSIONS and isinstance(request_body, ExecuteBodyBase):
            body += bytes((self.version_block(),))
        if len(body) > MOST_DIRECT:
            return False
        streams = connection.streams
        data = streams.frame(opcode, flags, body)
        if self.done:  # its time is over
            return True
        return data is not None and streams.send_directly(attempt, data, self.attempts, epoch)

    def _fits(self, connection: Connection) -> bool:
        """Return True if names that lack their keyspace mean on `connection` what they should."""
        request_body = self.request_body
        return not request_body.depends or (
            connection.gate is None and request_body.expected == connection.keyspace
        )

    def finish(self, response: object) -> None:
        """The answer is there."""
        if not self.done:
            self.response = response
            self.end()

    def fail(self, error: BaseException) -> None:
        """It has failed for good."""
        if not self.done:
            self.error = error
            self.end()

    def cancel(self) -> None:
        """The caller gave up."""
        self.fail(asyncio.CancelledError())

    def end(self) -> None:
        """It is over, well or badly: let go of everything, and call `on_done`."""
        # First: whatever the calls below lead to must find the request over.
        self.done = True
        if self._timer_slot >= 0:
            self.session.timers.discard(self._timer_slot, self)
        if self._speculation_handle is not None:
            self._speculation_handle.cancel()
        if self._retry_handle is not None:
            self._retry_handle.cancel()
        if self.observed is not None:  # while the attempts have their connections
            self.observed._end()
            # Only the next page asks for it. Each holds the other: the circle ends here.
            if getattr(self.response, "paging_state", None) is None:
                self.observed = None
        for attempt in self.attempts:
            attempt.abandon()
            attempt.release()
        self._plan = None
        if self._throttle != _NOT_ASKED:
            self._leave_throttle()
        # What waits for the request holds it too: the circle ends here, or each request would be
        # left to the collector.
        on_done, self.on_done = self.on_done, _over
        on_done(self)

    def _leave_throttle(self) -> None:
        """It is over: its place is another's."""
        throttle = self.session.throttle
        state, self._throttle = self._throttle, _NOT_ASKED
        try:
            if throttle is not None:
                (throttle.release if state == _BEGUN else throttle.withdraw)(self)
        # Of a program's throttler: this request is over all the same.
        except BaseException as error:
            log.exception("%r failed", throttle)
            reraise_on_loop(error)

    # -- sending -----------------------------------------------------------------------------------

    def try_next_host(self) -> None:
        """Send to the next host of the plan that can take it."""
        session = self.session
        assert self._plan is not None
        for host in self._plan:
            pool = session.pools_by_id.get(id(host)) or session.pools.get(host)
            if pool is not None:
                connection = self.choose(host, pool)
                if connection is not None:
                    self.send_to(host, connection)
                    return
            self.on_no_connection(host, pool)
        self.on_plan_exhausted()

    def choose(self, host: Host, pool: HostPool) -> Connection | None:
        """Return the connection of `pool` for this request, of its partition's shard if there is
        room; None if all are full.
        """
        shards = pool.shards
        if shards is not None:
            if not self._is_located:
                self._locate(shards.tablets)
            shard = None
            if self._token is not None:
                shard = (
                    shards.shard_of(self._token)
                    if self._tablet is None
                    else shards.tablets.shard_on(host, *self._tablet, self._token)
                )
            # A node that came back with fewer shards may have been told of with more.
            connection: Connection | None = (
                shards.pick(shard) if shard is not None and shard < shards.count else None
            )
            if connection is not None:
                return connection
        found: Connection | None = first_with_room(pool.connections)
        return found

    def _locate(self, known: TabletMap) -> None:
        """Find out once which token the partition has, and if it is in a tablet."""
        self._is_located = True
        self._token = token = tablets.token_of_statement(self.statement)
        keyspace, table = self._keyspace_and_table()
        if token is not None and keyspace is not None and known.has_keyspace(keyspace):
            self._tablet = keyspace, table or ""
            known.tally(keyspace, table, token)

    def _keyspace_and_table(self) -> tuple[str | None, str | None]:
        statement = self.statement
        keyspace = getattr(statement, "keyspace", None) or self.session.keyspace
        return keyspace, getattr(statement, "table", None)

    def version_block(self) -> int:
        """Return the byte that shows the server which version of the tablet is known
        (docs/dev/protocol-extensions.md of ScyllaDB, "Tablets routing v2").
        """
        known = self.session.core.metadata.tablets
        if not self._is_located:
            self._locate(known)
        return known.next_block(*self._keyspace_and_table(), self._token)

    def learn(self, payload: bytes) -> None:
        """Take a server's word about the tablet of this request's partition."""
        self.session.core.metadata.tablets.learn(*self._keyspace_and_table(), payload)

    def send_to(self, host: Host, connection: Connection) -> None:
        """Send one attempt; also called when a busy host has room again."""
        if self.done:
            return
        attempt = Attempt(self, host, connection, self.session.timers.clock())
        self.attempts.append(attempt)
        if self.observed is not None:
            self.observed._attempt(attempt)
        self.send(attempt, connection)

    def send(self, attempt: Attempt, connection: Connection) -> None:
        """Put `attempt` on a stream of `connection`."""
        try:
            request_body = self.request_body
            if not self._fits(connection) and not self.session.let_through(
                self,  # type: ignore[arg-type]
                attempt,
                connection,
            ):
                return
            shows_version = (
                connection.wire_format & TABLET_VERSIONS
                and getattr(request_body, "opcode", None) == EXECUTE
            )
            renders_itself = isinstance(request_body, ExecuteBodyBase)
            if shows_version and not renders_itself:
                # A message encodes itself, and the byte is an attribute of it.
                message: Any = getattr(request_body, "message")  # noqa: B009
                message.tablet_version_block = self.version_block()
            opcode, flags, body = request_body.render(connection)
            attempt.columns = request_body.cached_metadata()
            if shows_version and renders_itself:
                body += bytes((self.version_block(),))
            streams = connection.streams
            stream = streams.send(attempt, opcode, flags, body) if not streams.closed else -1
            if stream < 0:
                raise connection.refusal()
            attempt.stream = stream
        except ConnectionException as error:
            self.on_attempt_failed(attempt, error)
        except BaseException as error:  # the request cannot be encoded: no host will make it better
            self.fail(as_exception(error))

    # -- answers -----------------------------------------------------------------------------------

    def on_answer(
        self, attempt: Attempt, connection: Connection, opcode: int, flags: int, body: bytes
    ) -> None:
        """An attempt was answered."""
        if self.done:
            return
        attempt.latency = self.session.timers.clock() - attempt.started
        if self.observed is not None:
            self.observed._answer(len(body))
        observe = self.session.core.on_latency
        if observe is not None and opcode == RESULT:
            observe(attempt.host, attempt.latency)
        if opcode == RESULT and flags == _PAYLOAD_ALONE and not self.request_body.decodes:
            told = tablets.split_payload(body)
            if told is not None:
                # A tablet's place, and nothing else: the rest is the usual answer.
                payload, body = told
                self.learn(payload)
                flags = 0
        if opcode == RESULT and not flags and not self.request_body.decodes:
            if body == VOID_BODY:
                self.finish(VOID_RESULT)
                return
            rows = self._rows(attempt.columns, body)
            if rows is not None:
                self.finish(rows)
                return
        self.on_other_answer(attempt, connection, opcode, flags, body)

    def _rows(self, metadata: ResultMetadata | None, body: bytes) -> Any:
        """The usual answer to a prepared SELECT, rows with the columns that are known; None for
        another.
        """
        if metadata is None:
            return None
        pos = metadata.rows_at(body, 0, self.session.core.user_types)
        # A negative row count is an error, which is not for this path.
        if not pos or len(body) < pos + 4 or body[pos] & 0x80:
            return None
        make = RowsAnswer if self._reads_rows else rows_result
        return make(metadata.with_vectors(self.vectors), body, pos)


def start_all(requests: Sequence[RequestBase]) -> None:
    """Start all of `requests`, on the loop."""
    for request in requests:
        try:
            request.start()
        except BaseException as error:  # the others are not to blame
            log.exception("%r could not be started", request)
            request.fail(as_exception(error))


def _may_be_interrupted() -> bool:
    """Return True if signal handlers run in this thread."""
    # Which greenlet of a thread it is does not matter for that.
    return green_library() is not None or get_ident() == main_thread().ident


def _over(request: RequestBase) -> None:
    """Stands in for `on_done` once it has been called."""
