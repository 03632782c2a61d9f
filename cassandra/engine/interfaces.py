"""What requests use of the parts above them: the session, the engine's core and the pools.

The session, the core and the pools import the happy path and the keyspace gate, which therefore
cannot import their classes. They use the protocols of this module in annotations instead. Only type
checkers import it.
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
    from cassandra.engine.timer_wheel import TimerWheel
    from cassandra.metadata.cluster_metadata import Metadata
    from cassandra.metadata.host import Host
    from cassandra.observers import RequestObserver
    from cassandra.protocol.messages.results import ResultMessage
    from cassandra.query.prepared import PreparedStatement
    from cassandra.throttling import RequestThrottler


class Ending(Protocol):
    """Pending work, such as a delayed retry, that must be ended when the session is closed."""

    def fail(self, error: Exception) -> None:
        """Called when the session is closed: end the work with `error`."""


class RequestPool(Protocol):
    """The connections to one host, as requests see them: `cassandra.engine.pools.pool.HostPool`."""

    @property
    def connections(self) -> list[Connection]:
        """The open connections."""

    @property
    def shards(self) -> ShardTable | None:
        """The connections by shard; None if the host is no sharded ScyllaDB node."""

    @property
    def is_worth_waiting_for(self) -> bool:
        """True if a connection is open, although full, or is being opened."""

    @property
    def host(self) -> Host:
        """The host of the connections."""

    @property
    def waiting(self) -> int:
        """Requests that wait for a free stream."""

    def pick(self) -> Connection | None:
        """Return the connection with the fewest streams in use; None if all are full."""

    @property
    def is_opening(self) -> bool:
        """True if connections are being opened, or one has closed just now and will be replaced."""

    def wait_for_room(self, waiter: Waiter) -> None:
        """Put `waiter` into the queue for free streams."""

    def stop_waiting(self, waiter: Waiter) -> None:
        """Remove `waiter` from the queue, if it is there."""

    def load(self) -> str:
        """Return a description of how busy the connections are, for errors."""


class QueryFallback(Protocol):
    """Sends requests on the control connection when no pool can. It is implemented by the class of
    the same name in `cassandra.engine.control.fallback_requests`.
    """

    def take(self, session: RequestSession, request: RequestBase) -> bool:
        """Send `request`; return False if the caller must let it fail."""


class Statements(Protocol):
    """The prepared statements in use: `cassandra.engine.prepare.statements.Preparer`."""

    def all_with(self, query_id: bytes) -> Sequence[PreparedStatement]:
        """Return all statements in use with this id."""


class RequestCore(Protocol):
    """The engine of a cluster, as requests see it: `cassandra.engine.core.Core`."""

    @property
    def metadata(self) -> Metadata:
        """The cluster's metadata."""

    @property
    def wire_format(self) -> int:
        """The wire format for which requests are rendered before they have a connection."""

    @property
    def user_types(self) -> Mapping[str, Mapping[str, type]]:
        """The classes that are registered for user-defined types, by keyspace and name."""

    @property
    def random(self) -> random.Random:
        """Generates the ids that no server has."""

    @property
    def query_fallback(self) -> QueryFallback:
        """Sends the requests for which no pool has a connection."""

    @property
    def preparer(self) -> Statements:
        """The prepared statements in use."""

    @property
    def on_latency(self) -> Callable[[Host, float], None] | None:
        """Called with the host and the latency for each result, and for each error that comes after
        the host has worked; None if nobody wants it.
        """

    @property
    def on_refusal(self) -> Callable[[Host, float], None] | None:
        """Called with the host and the latency for each other error of a server; None if nobody
        wants it.
        """

    @property
    def on_failure(self) -> Callable[[Host | None, BaseException, int | None], None] | None:
        """Called for each failed attempt; None if nobody wants it."""


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
        """The deadlines of the requests."""

    @property
    def keyspace(self) -> str | None:
        """The keyspace of the session's connections; None before it has one."""

    @property
    def working_keyspace(self) -> str | None:
        """The keyspace of the application's session; None before it has one."""

    @property
    def closed(self) -> bool:
        """True if requests must fail with `closed_error`."""

    @property
    def attends(self) -> bool:
        """True if new requests must be passed to `attend`."""

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
        """The same pools, by ``id(host)``."""

    @property
    def direct_policy(self) -> object:
        """The policy for which `plans_anywhere` last returned True."""

    def plans_anywhere(self, policy: object) -> bool:
        """Return True if `policy` can make query plans in any thread."""

    def on_missing_pool(self, host: Host) -> None:
        """Called when a query plan has a host to which the session has no pool."""

    def why_no_pool(self, host: Host) -> Exception:
        """Return the error that a request records for a host to which there is no pool."""

    def closed_error(self) -> Exception:
        """Return the error of a request on a closed session."""

    # -- the steps of a request --------------------------------------------------------------------

    def attend(self, request: RequestBase, profile_observers: Sequence[RequestObserver]) -> None:
        """Prepare a new request for its observers and the throttler."""

    def pass_or_hold(self, request: RequestBase, attempt: Attempt, connection: Connection) -> bool:
        """Return True if the caller must send the request on a connection that may be in another
        keyspace. If False, the request waits, or was sent on another connection.
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
        """Decode the answer to `request`."""

    def adopt_keyspace(
        self, keyspace: str, connection: Connection, request: RequestBase, response: ResultMessage
    ) -> None:
        """Called when the server has executed a USE: switch the session, then end the request."""

    def on_schema_change(
        self,
        event: Mapping[str, Any],
        connection: Connection,
        request: RequestBase,
        response: Any,
    ) -> None:
        """Called when the server has executed a DDL statement: read the change, then end the
        request.
        """

    # -- keyspaces and background work -------------------------------------------------------------

    async def use(self, connection: Connection, keyspace: str) -> None:
        """Execute USE on `connection`."""

    def run_for(
        self, request: RequestBase, coroutine: Coroutine[Any, Any, None]
    ) -> asyncio.Task[Any]:
        """Run a coroutine that finally calls `request.finish`."""

    def run_in_background(self, coroutine: Coroutine[Any, Any, None]) -> asyncio.Task[Any]:
        """Run a coroutine until it ends, or the session is closed."""
