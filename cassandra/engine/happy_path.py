"""The happy path: a request that needs no retry, tracing or paging, from start to response.

Every request runs this code, so it must be fast.

A `RequestBase` is started on the loop. It takes the first host of its query plan that has a free
stream, puts an `Attempt` on that stream, and ends when the response comes. A `StreamTable` holds
the attempts in flight on one connection, by stream id. A `TimerWheel` holds the deadlines.

The subclass `cassandra.engine.request.Request` handles everything else: errors, retries,
speculative executions and statements that must be prepared again. This module calls methods of the
subclass, which are declared under "implemented by the subclass".

Everything runs on one loop, except for `RequestBase.start_directly`: a user thread may send a
request itself if nothing is in flight on the connection (see `cassandra.engine.stream_table`).

``cassandra._accel.happy_path`` is the compiled Cython version of this module. `cassandra._impl`
chooses between the two versions.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, islice
from threading import get_ident, main_thread
from typing import TYPE_CHECKING, Any, TypeVar

from cassandra._logs import Log
from cassandra._threads import green_library
from cassandra.engine.attempts import Attempt
from cassandra.engine.awaited import HappyPath, ResultFuture, RowsAnswer
from cassandra.engine.collector import Collector
from cassandra.engine.events import Event, WakeQueue
from cassandra.engine.failures import as_exception, reraise_on_loop
from cassandra.engine.mistakes import refuse_missing_plan
from cassandra.engine.pools.shard_table import ShardTable, first_with_room, in_flight_of
from cassandra.engine.resolving import bound_request, request_for, resolve
from cassandra.engine.serial_reads import in_order
from cassandra.engine.stream_table import WRITE_HIGH_WATER, StreamTable
from cassandra.engine.targets import Target, failing_plan, plan_to
from cassandra.engine.timer_wheel import TimerWheel
from cassandra.errors import ConnectionException
from cassandra.policies.plan_limit import LONGEST_PLAN
from cassandra.protocol.messages.results import VOID_BODY, VOID_RESULT, rows_result
from cassandra.protocol.opcodes import EXECUTE, RESULT
from cassandra.protocol.params import QueryParams

if TYPE_CHECKING:
    from cassandra.engine.connection import Connection
    from cassandra.engine.interfaces import RequestPool, RequestSession
    from cassandra.engine.request_bodies import AnyBody
    from cassandra.metadata.host import Host
    from cassandra.metadata.placement import tablets
    from cassandra.metadata.placement.tablets import TabletMap
    from cassandra.observed import ObservedBase
    from cassandra.protocol import bodies
    from cassandra.protocol.column_specs import ResultMetadata
    from cassandra.protocol.messages.results import ResultMessage
    from cassandra.query.prepared import PreparedStatement
else:
    from cassandra._impl import bodies, tablets

_Request = TypeVar("_Request", bound="RequestBase")

log = Log("cassandra.connection")

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

# A wire format is the protocol version plus these flags (see `connection.wire_format_of`).
# METADATA_IDS: EXECUTE carries the id of the result metadata. Protocol version 5 has this id, and
# older versions with a protocol extension of ScyllaDB.
METADATA_IDS = 0x100
# TABLET_VERSIONS: EXECUTE ends with a byte about the version of the tablet's data that we have (see
# `RequestBase.version_block`). A protocol extension of ScyllaDB adds this byte.
TABLET_VERSIONS = 0x200

# The flags of a response that has a custom payload and nothing else before the body: no warnings
# and no tracing id (native_protocol_v5.spec, section 2.4.1.2).
_PAYLOAD_ALONE = 0x04

# A user thread sends a request itself only if its body has at most this many bytes. Larger requests
# are left to the loop, which can wait until the socket is writable.
MOST_DIRECT = 1 << 16

# The values of RequestBase._throttle: the throttler was not asked; the request waits in the
# throttler's queue; the throttler has admitted the request.
_NOT_ASKED, _WAITING, _BEGUN = range(3)


class ExecuteBodyBase(QueryParams):
    """The EXECUTE message of a prepared statement, which can be rendered for any connection.

    `prepared` has the statement's id and the columns of the response. `values` is a `ValuesBlock`.
    `body` contains the bytes that were rendered last. `result` is the pair (result metadata,
    metadata id) for `body`; it decodes the response. The other attributes are those of
    `QueryParams`.
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
        # Do not call QueryParams.__init__: `resolve` fills in the other parameters, and the call
        # costs time.
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
        self._wire_format = 0  # the wire format of `body`; 0 if `body` must be rendered
        self._query_id: bytes | None = None  # the statement's id in `body`

    def prerender(self, wire_format: int) -> None:
        """Render the body now, for connections of `wire_format`.

        :param wire_format: the protocol version, with METADATA_IDS if metadata ids are sent.
        """
        prepared = self.prepared
        self.result = prepared.result_metadata_and_id
        self._query_id = prepared.query_id
        metadata, metadata_id = self.result
        self.skip_metadata = False
        sent_metadata_id = None
        if wire_format & METADATA_IDS:
            # `skip_metadata` allows the server to omit the columns from the response if the id
            # that we send is still current; otherwise the server sends the new columns. So set it
            # only if we have an id. The field itself is not optional: it is empty without an id.
            sent_metadata_id = metadata_id or b""
            self.skip_metadata = bool(metadata_id) and bool(metadata)
        version = wire_format & 0xFF  # the higher bits are flags
        self.body = bodies.execute_body(prepared.query_id, sent_metadata_id, self, version)
        self._wire_format = wire_format

    def invalidate(self) -> None:
        """Discard the rendered body, so that `render` builds it again for the next attempt."""
        self._wire_format = 0

    def replace(self, prepared: PreparedStatement, values: object) -> None:
        """Use another prepared statement and other values from the next attempt on.

        :param prepared: the statement.
        :param values: the `ValuesBlock` of the statement's values.
        """
        self.prepared = prepared
        self.values = values
        self.invalidate()

    def render(self, connection: Connection) -> tuple[int, int, bytes]:
        """Return (opcode, flags, body) for `connection`.

        The body is rendered again if it is for another wire format, or if the statement was
        prepared again since it was rendered.
        """
        wire_format = connection.wire_format
        prepared = self.prepared
        # Compare by identity, which is faster: a statement that is prepared again gets new objects.
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
        """Return (opcode, flags, body) with the tracing flag and the custom payload.

        The subclass `ExecuteBody` implements this.
        """
        raise NotImplementedError


class RequestBase:
    """One execution of a statement, or the request for one page of its result.

    This class handles success; its subclass `Request` handles everything else.

    `policy` is the load balancing policy. `timeout` is in seconds; None means no limit.

    :param request_body: rendered for the connection of each attempt.
    :param on_done: called once with the request when it is over.
    """

    __slots__ = (
        "_busy",
        "_is_located",
        "_plan",
        "_reads_rows",
        "_retry_handle",
        "_shard",
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
        "is_ended_by_caller",
        "is_idempotent",
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
        "target",
        "timeout",
        "vectors",
    )

    def __init__(
        self,
        session: RequestSession,
        statement: Any,
        request_body: AnyBody,
        on_done: Callable[[Any], None],
    ) -> None:
        self.session = session
        self.statement = statement
        self.request_body = request_body
        self.on_done = on_done
        # The statement's `is_idempotent` at the time of the call: the application may change the
        # statement before the request ends. None for a statement without this setting.
        self.is_idempotent: bool | None = getattr(statement, "is_idempotent", None)
        # `request_for` sets the attributes from here to `observed`.
        self.policy: Any = None
        self.retry_policy: Any = None
        self.speculative_policy: Any = None
        self.timeout: float | None = None
        self.target: Host | Target | None = None
        self.vectors = "list"  # the Python type in which vectors are read
        # The observers' record of the request; None if there are no observers.
        self.observed: ObservedBase | None = None
        self.attempts: list[Attempt] = []
        self.errors: dict[Any, Any] = {}  # the last error of each host
        self.retries = 0  # the number of retries by the retry policy
        self.done = False
        # True if the user thread that waits for the response has read the response itself and has
        # ended the request. Only the compiled version does so.
        self.is_ended_by_caller = False
        self.response: Any = None
        self.error: BaseException | None = None
        self._busy: Any = None  # the first pools of the plan that had no free stream, as a list
        self._plan: Iterator[Any] | None = None  # the hosts that we have not tried yet
        # The plan of the speculative execution policy, and the timer of the next speculative
        # execution; None without speculative executions.
        self._speculation: Any = None
        self._speculation_handle: Any = None
        # The delayed retry or the PREPARE that will continue the request; None if there is none.
        # `end` cancels it.
        self._retry_handle: Any = None
        self._timer_slot = -1  # the deadline's slot in the timer wheel; -1 if there is none
        # The number of pending steps that will continue the request although no attempt is in
        # flight: preparing again, delayed retries, waiting for a free stream.
        self._waits = 0
        # Identifies the caller (for example a task or thread) to the throttler, which serves
        # callers in turn. None if there is no throttler.
        self.caller: object = None
        self._throttle = _NOT_ASKED
        # True if `response` should be a `RowsAnswer` when rows come; False if it should be a
        # `ResultMessage`.
        self._reads_rows = False
        # `_locate` sets these four attributes when one of them is first needed.
        self._is_located = False
        self._token: int | None = None  # the Murmur3 token of the partition
        self._shard: int | None = None  # the shard that the caller has chosen
        self._tablet: tuple[str, str] | None = None  # (keyspace, table) if the table has tablets

    def clone(self, request_class: type[_Request], on_done: Callable[[Any], None]) -> _Request:
        """Return a copy of this request that was not started, for example for the next page."""
        request = request_class(self.session, self.statement, self.request_body, on_done)
        # Copy the settings, but not the state: the copy has no plan, attempts or errors.
        request.is_idempotent = self.is_idempotent
        request.policy = self.policy
        request.retry_policy = self.retry_policy
        request.speculative_policy = self.speculative_policy
        request.timeout = self.timeout
        request.target = self.target
        request.vectors = self.vectors
        request.caller = self.caller
        if self.observed is not None:
            request.observed = self.observed._for_page(request)
        return request

    def columns_for_vectors(self, metadata: ResultMetadata) -> ResultMetadata:
        """Return `metadata`, or a copy of it that decodes vectors to the type in `vectors`."""
        return metadata.with_vectors(self.vectors) if self.vectors != "list" else metadata

    # -- implemented by the subclass ---------------------------------------------------------------

    if TYPE_CHECKING:

        @property
        def is_answered(self) -> bool: ...

        def on_timeout(self) -> None: ...

        def resend(self, attempt: Attempt) -> None: ...

        def on_not_sent(self, attempt: Attempt, error: Exception) -> None: ...

        def on_pool_closed(self, host: Host, error: Exception) -> None: ...

    def on_other_answer(
        self, attempt: Attempt, connection: Connection, opcode: int, flags: int, body: bytes
    ) -> None:
        """Handle a response that is neither VOID nor rows whose columns are cached.

        `on_answer` handles VOID and such rows itself.
        """
        raise NotImplementedError

    def on_attempt_failed(self, attempt: Attempt, error: Exception) -> None:
        """Called when the connection of `attempt` breaks before the response comes."""
        raise NotImplementedError

    def on_no_connection(self, host: Host, pool: RequestPool | None) -> None:
        """Called when `try_next_host` skips `host`, because no connection to it has a free stream.

        `pool` is None if the session has no pool to the host.
        """
        raise NotImplementedError

    def on_plan_exhausted(self) -> None:
        """Called when `try_next_host` finds no free stream on the remaining hosts of the plan."""
        raise NotImplementedError

    def start_speculation(self) -> None:
        """Schedule speculative executions. Called after the request was sent."""
        raise NotImplementedError

    # -- start and end -----------------------------------------------------------------------------

    def start(self) -> None:
        """Start the request, on the loop."""
        if self.done:
            return
        session = self.session
        if self.observed is not None:
            self.observed._start()
        if session.closed:
            self.fail(session.closed_error())
            return
        try:
            # `start_directly` may have added the timer already.
            if self.timeout is not None and self._timer_slot < 0:
                if self.timeout <= 0:  # the deadline has passed already: send nothing
                    self.on_timeout()
                    return
                self._timer_slot = session.timers.add(self.timeout, self)
            if self.caller is not None and self._throttle != _BEGUN and not self._is_admitted():
                return
            if self._plan is not None:
                pass  # `start_directly` has made the plan, but has sent nothing
            elif self.target is not None:
                self._plan = plan_to(self.target, self)
            else:
                self._plan = self._new_plan()
            self.try_next_host()
            if self.speculative_policy is not None and self.is_idempotent:
                self.start_speculation()
        # If a policy or the driver itself raises an error, end the request with that error.
        # Otherwise the caller would get NoHostAvailable, which hides the cause.
        except BaseException as error:
            self.fail(as_exception(error))

    def _is_admitted(self) -> bool:
        """Ask the throttler for admission.

        :returns: False if the throttler has put the request into its queue. The throttler then
            calls `start_admitted` later.
        """
        throttle = self.session.throttle
        assert throttle is not None
        self._throttle = _BEGUN if throttle.admit(self) else _WAITING
        return self._throttle == _BEGUN

    def start_admitted(self) -> None:
        """Start the request. The throttler calls this when it admits a request from its queue."""
        self._throttle = _BEGUN
        self.start()

    def _new_plan(self) -> Iterator[Host]:
        """Return the policy's query plan for this request."""
        statement = in_order(self.statement, getattr(self.request_body, "consistency", None))
        plan = self.policy.make_query_plan(self.session.keyspace, statement)
        return iter(plan) if plan is not None else refuse_missing_plan(self.policy)

    def start_directly(self, is_awaited: bool = False) -> bool:
        """Send the request in the calling thread, if nothing is in flight on the connection.

        Sending in the calling thread saves the time to wake the loop's thread.

        :param is_awaited: True if the thread calls `read_answer` next. Only the compiled version
            uses it.
        :returns: False if nothing was sent; the caller must then start the request on the loop.
        """
        session = self.session
        # Leave everything but plain requests to the loop. The load balancing policy must be one
        # that any thread may call (`plans_anywhere`); `direct_policy` remembers the last such
        # policy.
        if (
            _may_be_interrupted()
            or not self.request_body.is_plain
            or self.speculative_policy is not None
            or self.target is not None
            or self.caller is not None
            or session.closed
            or not (self.policy is session.direct_policy or session.plans_anywhere(self.policy))
        ):
            return False
        try:
            plan = self._new_plan()
            host = next(plan, None)
            # Keep the plan for `start`, in case we send nothing. If `start` made another plan, a
            # round-robin policy would skip a host.
            self._plan = chain((host,), plan) if host is not None else None
            pool = session.pools_by_id.get(id(host))
            connection = self.choose(host, pool) if host is not None and pool is not None else None
        except Exception as error:  # a policy failed, or a signal handler raised the error
            self._plan = failing_plan(error)  # so `start` ends the request with the error
            return False
        if host is None or connection is None or not connection.streams.is_idle:
            return False
        # If we send, a retry must continue with the hosts after `host`. If we send nothing, `start`
        # must begin with `host`.
        plan_with_host, self._plan = self._plan, plan
        if self.observed is not None:
            self.observed._start_directly()
        try:
            if self._send_directly(host, connection):
                return True
        # Rendering has failed before anything was sent, or a signal handler has raised the error.
        except Exception as error:
            self._plan = failing_plan(error)
            return False
        self._plan = plan_with_host
        return False

    def _send_directly(self, host: Host, connection: Connection) -> bool:
        """Send the request in the calling thread; return False if nothing was sent."""
        # Read the epoch (a counter of the changes of the connection's keyspace) before the
        # keyspace. The loop increments the epoch before it changes the keyspace. If the loop does
        # so after this line, `send_directly` sees a different epoch and does not send.
        epoch = connection.streams.keyspace_epoch
        # If the connection is in another keyspace, the request may have to wait for a USE. Only the
        # loop can handle that.
        if not self._fits(connection):
            return False
        # Add the timer before writing, because the response may come before this thread continues.
        # If we send nothing, `start` finds this timer and adds no second timer.
        if self.timeout is not None and self._timer_slot < 0:
            if self.timeout <= 0:
                return False
            self._timer_slot = self.session.timers.add_from_thread(self.timeout, self)
        request_body = self.request_body
        attempt = Attempt(self, host, connection, self.session.timers.clock())
        opcode, flags, body = request_body.render(connection)
        # If the server omits the columns from its response, these columns decode the response.
        attempt.columns = request_body.cached_metadata()
        if connection.wire_format & TABLET_VERSIONS and isinstance(request_body, ExecuteBodyBase):
            # The tablet extension of ScyllaDB adds a byte to each EXECUTE.
            body += bytes((self.version_block(),))
        if len(body) > MOST_DIRECT:
            return False
        streams = connection.streams
        data = streams.frame(opcode, flags, body)
        # If the timer has ended the request by now, return True, so that the caller does not start
        # the request on the loop.
        if self.done:
            return True
        return data is not None and streams.send_directly(attempt, data, self.attempts, epoch)

    def read_answer(self, may_end: bool) -> bool:
        """Read the response in the calling thread, if user threads may read instead of the loop.

        The module `stream_table` explains when user threads may read. If the response is complete,
        this ends the request. Only the compiled version can do that; this pure Python version
        always returns False.

        :param may_end: False if the loop must end the request, for example because it has
            callbacks.
        :returns: False if the loop reads the response, so that the caller must wait for the loop.
        """
        return False

    def _fits(self, connection: Connection) -> bool:
        """Return True if the request may be sent while `connection` is in its current keyspace.

        The request may be sent if it does not depend on the keyspace. It may also be sent if it
        expects the current keyspace, and no `KeyspaceGate` is about to change that keyspace.
        """
        request_body = self.request_body
        return not request_body.depends or (
            connection.gate is None and request_body.expected == connection.keyspace
        )

    def finish(self, response: object) -> None:
        """End the request with its response."""
        if not self.done:
            self.response = response
            self.end()

    def fail(self, error: BaseException) -> None:
        """End the request with an error."""
        if not self.done:
            self.error = error
            self.end()

    def cancel(self) -> None:
        """End the request because the caller gave up."""
        self.fail(asyncio.CancelledError())

    def end(self) -> None:
        """End the request: cancel its timers, abandon its attempts, and call `on_done`."""
        # Set `done` first: the code that is called below must see that the request is over.
        self.done = True
        if self._timer_slot >= 0:
            self.session.timers.discard(self._timer_slot, self)
        if self._speculation_handle is not None:
            self._speculation_handle.cancel()
        if self._retry_handle is not None:
            self._retry_handle.cancel()
        if self.observed is not None:
            # Notify the observers before the attempts are released below: observers read the
            # connections of the attempts, and `release` removes the connections.
            self.observed._end()
            # Only the request for the next page needs the observers' record again. If there is no
            # next page, clear the record to break the reference cycle.
            if getattr(self.response, "paging_state", None) is None:
                self.observed = None
        for attempt in self.attempts:
            attempt.abandon()
            attempt.release()
        self._plan = None
        if self._throttle != _NOT_ASKED:
            self._leave_throttle()
        # The object that owns `on_done` refers to this request. Break that reference cycle;
        # otherwise only the garbage collector could free the request.
        on_done, self.on_done = self.on_done, _is_called_already
        on_done(self)

    def _leave_throttle(self) -> None:
        """Notify the throttler that the request is over or has left the queue."""
        throttle = self.session.throttle
        state, self._throttle = self._throttle, _NOT_ASKED
        try:
            if throttle is not None:
                (throttle.release if state == _BEGUN else throttle.withdraw)(self)
        # A user's throttler may raise an error, but the request must end nevertheless.
        except BaseException as error:
            log.exception("%r failed", throttle)
            reraise_on_loop(error)

    # -- sending -----------------------------------------------------------------------------------

    def try_next_host(self) -> None:
        """Send to the next host of the plan that has a free stream.

        The plan of a user's policy may be endless. So the plan counts as exhausted after
        LONGEST_PLAN hosts without a free stream: until this method returns, the loop can do nothing
        else.
        """
        session = self.session
        assert self._plan is not None
        for host in islice(self._plan, LONGEST_PLAN):
            # The look-up by id is faster, but a policy may yield another object for the same host.
            pool = session.pools_by_id.get(id(host)) or session.pools.get(host)
            if pool is not None:
                connection = self.choose(host, pool)
                if connection is not None:
                    self.send_to(host, connection)
                    return
            self.on_no_connection(host, pool)
        self.on_plan_exhausted()

    def choose(self, host: Host, pool: RequestPool) -> Connection | None:
        """Return a connection of `pool` with a free stream, or None if there is no free stream.

        Prefer a connection to the shard that owns the request's partition (ScyllaDB).
        """
        shards = pool.shards
        if shards is not None:
            if not self._is_located:
                self._locate(shards.tablets)
            shard = self._shard
            if shard is None and self._token is not None:
                shard = (
                    shards.shard_of(self._token)
                    if self._tablet is None
                    else shards.tablets.shard_on(host, *self._tablet, self._token)
                )
            # Check that the shard exists: our tablet data may be older than a restart of the node
            # with fewer shards.
            shard_connection: Connection | None = (
                shards.pick(shard) if shard is not None and shard < shards.count else None
            )
            if shard_connection is not None:
                return shard_connection
        return first_with_room(pool.connections)

    def _locate(self, tablet_map: TabletMap) -> None:
        """Compute the partition's token, and find out whether the table has tablets (ScyllaDB).

        Called at most once per request.
        """
        self._is_located = True
        target = self.target
        token = tablets.token_of_statement(self.statement)
        if isinstance(target, Target):
            self._shard = target.shard
            token = token if target.token is None else target.murmur3
        self._token = token
        keyspace, table = self._keyspace_and_table()
        if token is not None and keyspace is not None and tablet_map.has_keyspace(keyspace):
            self._tablet = keyspace, table or ""
            # Count for the metrics whether we know the replicas of the tablet.
            tablet_map.tally(keyspace, table, token)

    def _keyspace_and_table(self) -> tuple[str | None, str | None]:
        statement = self.statement
        keyspace = getattr(statement, "keyspace", None) or self.session.keyspace
        return keyspace, getattr(statement, "table", None)

    def version_block(self) -> int:
        """Return the byte of an EXECUTE that says which version of the tablet data we have.

        If our version is out of date, the server sends the new tablet data with its response.

        See docs/dev/protocol-extensions.md of ScyllaDB, "Tablets routing v2".
        """
        tablet_map = self.session.core.metadata.tablets
        if not self._is_located:
            self._locate(tablet_map)
        return tablet_map.next_block(*self._keyspace_and_table(), self._token)

    def learn(self, payload: bytes) -> None:
        """Store the tablet data that the server has sent for this request's partition."""
        self.session.core.metadata.tablets.learn(*self._keyspace_and_table(), payload)

    def send_to(self, host: Host, connection: Connection) -> None:
        """Create an attempt and send it on `connection`.

        This is also called when a request has waited for a free stream, and `host` has one again.
        """
        if self.done:
            return
        attempt = Attempt(self, host, connection, self.session.timers.clock())
        self.attempts.append(attempt)
        if self.observed is not None:
            self.observed._attempt(attempt)
        self.send(attempt, connection)

    def send(self, attempt: Attempt, connection: Connection) -> None:
        """Render the request for `connection`, and queue it as `attempt` on one of its streams.

        If the connection is in another keyspace, the request waits or goes to another connection.
        """
        try:
            request_body = self.request_body
            if not self._fits(connection) and not self.session.pass_or_hold(
                self, attempt, connection
            ):
                return
            # With ScyllaDB's tablet extension, each EXECUTE ends with a byte that says which
            # version of the tablet's data we have.
            shows_version = (
                connection.wire_format & TABLET_VERSIONS
                and getattr(request_body, "opcode", None) == EXECUTE
            )
            renders_itself = isinstance(request_body, ExecuteBodyBase)
            if shows_version and not renders_itself:
                # This body encodes a message object. Set the byte as an attribute of the message,
                # which appends it.
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
        except BaseException as error:  # the request cannot be encoded, so no other host would help
            self.fail(as_exception(error))

    # -- responses ---------------------------------------------------------------------------------

    def on_answer(
        self, attempt: Attempt, connection: Connection, opcode: int, flags: int, body: bytes
    ) -> None:
        """Handle the response to `attempt`."""
        if self.done:
            return
        attempt.latency = self.session.timers.clock() - attempt.started
        if self.observed is not None:
            self.observed._answer(len(body))
        observe_latency = self.session.core.on_latency
        if observe_latency is not None and opcode == RESULT:
            observe_latency(attempt.host, attempt.latency)
        # If `decodes` is True, `on_other_answer` must decode and check each response, also VOID and
        # rows.
        if opcode == RESULT and flags == _PAYLOAD_ALONE and not self.request_body.decodes:
            payload_and_rest = tablets.split_payload(body)
            if payload_and_rest is not None:
                # The payload contains tablet data and nothing else. Store the data, and handle the
                # rest of the response like any other response.
                payload, body = payload_and_rest
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

    def _rows(
        self, metadata: ResultMetadata | None, body: bytes
    ) -> RowsAnswer | ResultMessage | None:
        """Return the rows of a response to a prepared SELECT with cached columns.

        :returns: None for any other response, which the general decoder must handle.
        """
        if metadata is None:
            return None
        rows_pos = metadata.rows_at(body, 0, self.session.core.user_types)
        # `rows_pos` is 0 if the response's columns differ from the cached columns. A negative row
        # count is an error. In both cases return None: the general decoder handles the response.
        if not rows_pos or len(body) < rows_pos + 4 or body[rows_pos] & 0x80:
            return None
        make_answer = RowsAnswer if self._reads_rows else rows_result
        return make_answer(metadata.with_vectors(self.vectors), body, rows_pos)


def start_all(requests: Sequence[RequestBase]) -> None:
    """Start all `requests`, on the loop."""
    for request in requests:
        try:
            request.start()
        except BaseException as error:  # a failed request must not stop the other requests
            log.exception("%r could not be started", request)
            request.fail(as_exception(error))


def _may_be_interrupted() -> bool:
    """Return True if signal handlers may run in the current thread."""
    # Signal handlers run in the main thread. With gevent or eventlet, a signal may interrupt any
    # greenlet.
    return green_library() is not None or get_ident() == main_thread().ident


def _is_called_already(request: RequestBase) -> None:
    """Replaces `on_done` after `on_done` has been called."""
