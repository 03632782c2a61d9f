"""The parts of the session, the engine's core and the pools that requests use.

The classes of the session, the core and the pools import the modules `happy_path` and
`keyspace_gate`. So these two modules cannot import those classes. In annotations, they use the
protocols of this module instead. Only type checkers import this module.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import asyncio
    import random
    from collections.abc import Callable, Coroutine, Mapping, Sequence

    from cassandra.engine.attempts import Attempt
    from cassandra.engine.connection import Connection
    from cassandra.engine.environment import InsertionOrdered
    from cassandra.engine.happy_path import RequestBase
    from cassandra.engine.keyspace_gate import UseTurns
    from cassandra.engine.pools.pool import Waiter
    from cassandra.engine.pools.shard_table import ShardTable
    from cassandra.engine.prepare.changes import SchemaChanges
    from cassandra.engine.timer_wheel import TimerWheel
    from cassandra.metadata.cluster_metadata import Metadata
    from cassandra.metadata.host import Host
    from cassandra.observers import RequestObserver
    from cassandra.protocol.messages.results import ResultMessage
    from cassandra.query.prepared import PreparedStatement
    from cassandra.throttling import RequestThrottler


class Ending(Protocol):
    """Pending work, such as a delayed retry, that must end when the session is closed."""

    def fail(self, error: Exception) -> None:
        """Called when the session is closed: end the work with `error`."""


class RequestPool(Protocol):
    """The connections to one host, as requests see them (class `pools.pool.HostPool`)."""

    @property
    def connections(self) -> list[Connection]:
        """The open connections."""

    @property
    def shards(self) -> ShardTable | None:
        """The connections by shard; None if the host is not a sharded ScyllaDB node."""

    @property
    def is_worth_waiting_for(self) -> bool:
        """True if a connection is open or is being opened, so that a stream may become free."""

    @property
    def host(self) -> Host:
        """The host of the connections."""

    @property
    def waiting(self) -> int:
        """The number of requests that wait for a free stream."""

    def pick(self) -> Connection | None:
        """Return the connection with the fewest streams in use; None if no stream is free."""

    @property
    def is_opening(self) -> bool:
        """True if a connection is being opened, or soon will be, to replace a closed connection."""

    def wait_for_room(self, waiter: Waiter) -> None:
        """Put `waiter` into the queue for free streams."""

    def stop_waiting(self, waiter: Waiter) -> None:
        """Remove `waiter` from the queue, if the queue contains it."""

    def load(self) -> str:
        """Describe for error messages how busy the connections are."""


class QueryFallback(Protocol):
    """Sends requests on the control connection if no pool has a connection.

    The class of the same name in `cassandra.engine.control.fallback_requests` implements this.
    """

    def take(self, session: RequestSession, request: RequestBase) -> bool:
        """Send `request`. If this returns False, the caller must let the request fail."""


class Statements(Protocol):
    """The prepared statements in use (class `prepare.statements.Preparer`)."""

    @property
    def changes(self) -> SchemaChanges:
        """The latest schema changes that may have changed the types of statements."""

    def own_statement(self, prepared: PreparedStatement) -> PreparedStatement:
        """Return the statement that this cluster executes instead of another cluster's."""

    def all_with(self, query_id: bytes) -> Sequence[PreparedStatement]:
        """Return all prepared statements of this cluster that have this id."""

    def revoke_strangers(self, query_id: bytes) -> None:
        """Let statements of other clusters with this id be prepared again before they execute."""

    def renew_like(self, prepared: PreparedStatement, response: Any, change_count: int) -> None:
        """Update the statements that wait to be prepared again, as `prepared` was."""

    def key_of(self, response: Any) -> Sequence[int] | None:
        """Return the positions of the partition key in a PREPARED response; None if unknown."""


class RequestCore(Protocol):
    """The engine of a cluster, as requests see it (class `core.Core`)."""

    @property
    def metadata(self) -> Metadata:
        """The cluster's metadata."""

    @property
    def home(self) -> object:
        """Identifies the cluster; see `PreparedStatement.claim`."""

    @property
    def wire_format(self) -> int:
        """The wire format for which requests are rendered before their connection is chosen."""

    @property
    def user_types(self) -> Mapping[str, Mapping[str, type]]:
        """The classes that are registered for user-defined types, by keyspace and type name."""

    @property
    def random(self) -> random.Random:
        """Generates ids that no server knows.

        A prepared statement whose bind columns have changed gets such an id, so that servers reject
        the statement until it is prepared again.
        """

    @property
    def query_fallback(self) -> QueryFallback:
        """Sends requests on the control connection if no pool has a connection."""

    @property
    def preparer(self) -> Statements:
        """The prepared statements in use."""

    @property
    def on_latency(self) -> Callable[[Host, float], None] | None:
        """Called with the host and the latency (seconds) of each result.

        Also called for each error that a host reports after it has worked on the request. None if
        no observer needs latencies.
        """

    @property
    def on_refusal(self) -> Callable[[Host, float], None] | None:
        """Called with the host and the latency (seconds) of each error not passed to `on_latency`.

        None if no observer needs it.
        """

    @property
    def on_failure(self) -> Callable[[Host | None, BaseException, int | None], None] | None:
        """Called for each failed attempt; None if no observer needs it."""


class RequestSession(Protocol):
    """The engine's part of a session, as requests see it: `cassandra.engine.session.EngineSession`.

    `EngineSession` documents each member in full.
    """

    @property
    def core(self) -> RequestCore:
        """The engine of the session's cluster."""

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The loop on which requests run."""

    @property
    def timers(self) -> TimerWheel:
        """The timer wheel with the deadlines of the requests."""

    @property
    def keyspace(self) -> str | None:
        """The keyspace of the session's connections; None while they are in no keyspace."""

    @property
    def working_keyspace(self) -> str | None:
        """The keyspace of the application's session; None while it has no keyspace."""

    @property
    def closed(self) -> bool:
        """True if the session is closed, so that requests must fail with `closed_error`."""

    @property
    def attends(self) -> bool:
        """True if there are observers or a throttler: new requests must be passed to `attend`."""

    @property
    def throttle(self) -> RequestThrottler | None:
        """The queue that admits requests; None without a throttler."""

    @property
    def delayed(self) -> InsertionOrdered[Ending]:
        """The delayed retries, which are ended when the session is closed."""

    @property
    def use_turns(self) -> UseTurns:
        """Ensures that one USE is executed at a time."""

    # -- hosts -------------------------------------------------------------------------------------

    @property
    def pools(self) -> Mapping[Host, RequestPool]:
        """The connection pool of each host."""

    @property
    def pools_by_id(self) -> Mapping[int, RequestPool]:
        """The pools of `pools`, by ``id(host)``, for a faster look-up."""

    @property
    def direct_policy(self) -> object:
        """The policy for which `plans_anywhere` last returned True."""

    def plans_anywhere(self, policy: object) -> bool:
        """Return True if `policy` can make query plans in any thread, not only on the loop."""

    def on_missing_pool(self, host: Host) -> None:
        """Called when a query plan has a host to which the session has no pool."""

    @property
    def host_without_tokens(self) -> Host | None:
        """The host of the control connection if it is none of the cluster's hosts; else None."""

    def why_no_pool(self, host: Host) -> Exception:
        """Return the error that a request records for a host to which the session has no pool."""

    def closed_error(self, was_sent: bool = False) -> Exception:
        """Return the error of a request on a closed session.

        :param was_sent: True if the request was sent before the session was closed.
        """

    # -- the steps of a request --------------------------------------------------------------------

    def attend(self, request: RequestBase, profile_observers: Sequence[RequestObserver]) -> None:
        """Prepare a new request for its observers and the throttler.

        Sets the attributes `observed` and `caller` of the request.
        """

    def pass_or_hold(self, request: RequestBase, attempt: Attempt, connection: Connection) -> bool:
        """Return True if the caller must send the request.

        `connection` may be in another keyspace than the request needs. If False, the request
        waits, or was sent on another connection.
        """

    def decode(
        self,
        request: RequestBase,
        attempt: Attempt,
        connection: Connection,
        opcode: int,
        flags: int,
        body: bytes,
    ) -> Any:
        """Decode the response to `request`."""

    def adopt_keyspace(
        self, keyspace: str, connection: Connection, request: RequestBase, response: ResultMessage
    ) -> None:
        """Switch the session to `keyspace` after a USE, and then end the request."""

    def on_schema_change(
        self,
        event: Mapping[str, Any],
        connection: Connection,
        request: RequestBase,
        response: Any,
    ) -> None:
        """Read the schema change after a DDL statement, and then end the request."""

    # -- keyspaces and background work -------------------------------------------------------------

    async def use(self, connection: Connection, keyspace: str) -> None:
        """Execute USE on `connection`."""

    def run_for(
        self, request: RequestBase, coroutine: Coroutine[Any, Any, None]
    ) -> asyncio.Task[Any]:
        """Run a coroutine that calls `request.finish` at its end."""

    def run_in_background(self, coroutine: Coroutine[Any, Any, None]) -> asyncio.Task[Any]:
        """Run a coroutine until it ends, or the session is closed."""
