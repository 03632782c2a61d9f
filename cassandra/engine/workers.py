"""Additional event loops of a cluster, each in its own thread (see the setting `loops`).

The cluster's `Core` runs on the first loop. The control connection, the states of the hosts, the
schema and the list of prepared statements exist only there. A worker is an additional loop with its
own connections. It executes requests that need nothing but a connection.

How the parts cooperate:

* For each session, a worker has a `WorkerSession`. The session on the first loop is its leader, and
  the `WorkerSession` is a follower of the leader. A follower has a pool to each host to which the
  leader has a pool. When the leader's pools change, it calls `follow_soon` of its followers. If a
  follower cannot open a pool, it tries again after the delays of the reconnection policy.
* The application's thread creates a request for the leader. Before the request is started,
  `WorkerSession.take` may replace the request's attribute `session`. From then on, the request
  belongs to the worker: its attempts, retries and further pages run on the worker's loop.
* A worker takes executions of prepared statements, and batches of prepared statements, because they
  do not depend on the keyspace of a connection. All other requests run on the first loop, for
  example USE, DDL and statements that are not prepared, or that the driver prepares itself.
* A worker takes no request while it lacks a pool that the leader has, or if the load balancing
  policy must be called on the first loop.
* A worker passes events that concern the whole cluster to the first loop: a host that it cannot
  reach, a host that will stop soon, latencies and failures for load balancing policies, and a
  change of the schema that the server reports for a prepared statement.

Workers make an application faster only if Python has no GIL. With a GIL, only one of the loops'
threads can run at a time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from cassandra.engine.background import Background
from cassandra.engine.control.internal_queries import InternalQueries
from cassandra.engine.environment import environment_of
from cassandra.engine.handshake import Connector
from cassandra.engine.heartbeats import Heartbeats
from cassandra.engine.loop import LoopThread
from cassandra.engine.observers import Hooks, Observers
from cassandra.engine.opening import ConnectionOpener, draining_error
from cassandra.engine.session import EngineSession
from cassandra.engine.sessions import Sessions
from cassandra.engine.waiting import Closing
from cassandra.errors import ConnectionException
from cassandra.observers import BRIEF_EVENTS
from cassandra.policies.balancing import HostDistance
from cassandra.policies.reconnection import delays_of

if TYPE_CHECKING:
    import uuid
    from collections.abc import Iterable

    from cassandra.engine import happy_path
    from cassandra.engine.connection import Connection
    from cassandra.engine.core import Core
    from cassandra.engine.endpoint import EndPoint
    from cassandra.engine.pools.pool import HostPool
    from cassandra.engine.pools.shards import ShardTarget
    from cassandra.engine.request import Request
    from cassandra.engine.settings import Settings
    from cassandra.metadata.host import Host
    from cassandra.observers import RequestObserver
else:
    from cassandra._impl import happy_path

T = TypeVar("T")


class FirstLoop:
    """Lets a worker call functions of the cluster's engine on the first loop."""

    def __init__(self, core: Core) -> None:
        self.core = core

    def call(self, function: Callable[..., object], *arguments: object) -> None:
        """Call a function soon. Do nothing if the first loop is closed."""
        with suppress(RuntimeError):
            self.core.loop.call_soon_threadsafe(function, *arguments)

    async def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the first loop, and return its result.

        :raises RuntimeError: if the first loop is closed.
        """
        try:
            future = asyncio.run_coroutine_threadsafe(coroutine, self.core.loop)
        except RuntimeError:
            coroutine.close()
            raise
        return await asyncio.wrap_future(future)


class _Hosts:
    """Replaces `HostWatch` on a worker's loop."""

    def __init__(self, first_loop: FirstLoop) -> None:
        self._first_loop = first_loop

    def on_answer(self, host: Host) -> None:
        """Do nothing, because the leader's own pool has already shown that the host is up."""

    def on_connection_failure(self, host: Host, error: Exception) -> None:
        """Report that a connection to `host` broke or could not be opened."""
        self._first_loop.call(self._first_loop.core.hosts.on_connection_failure, host, error)


class _Control:
    """Replaces the control connection on a worker's loop."""

    def __init__(self, first_loop: FirstLoop) -> None:
        self._first_loop = first_loop

    @property
    def current_host(self) -> Host | None:
        """The host of the control connection; None if there is no control connection now."""
        return self._first_loop.core.control.current_host

    def on_host_up(self) -> None:
        """Report that a host was reached, so that the control connection can try to reconnect."""
        self._first_loop.call(self._first_loop.core.control.on_host_up)


class _Agreement:
    """Replaces `Agreement` on a worker's loop."""

    def __init__(self, first_loop: FirstLoop) -> None:
        self._first_loop = first_loop

    async def wait(self, connection: Connection) -> bool:
        """Wait for schema agreement.

        :param connection: not used, because the control connection queries the schema versions.
        """
        return await self._first_loop.run(self._wait())

    async def _wait(self) -> bool:
        core = self._first_loop.core
        return await core.agreement.wait(core.control.required())


class _Schema:
    """Replaces `SchemaRefresher` on a worker's loop."""

    def __init__(self, first_loop: FirstLoop) -> None:
        self._first_loop = first_loop

    async def after_ddl(self, event: Mapping[str, Any], connection: Connection) -> None:
        """Read the changed part of the schema.

        :param connection: not used, because the control connection reads the schema. If it is not
            open, the change is read later.
        """
        await self._first_loop.run(self._after_ddl(event))

    async def _after_ddl(self, event: Mapping[str, Any]) -> None:
        core = self._first_loop.core
        await core.schema.after_ddl(event, core.control.connection)


class _NoFallback:
    """Replaces `QueryFallback`: a worker never sends requests on the control connection."""

    opens_pools = True
    is_allowed = False

    def take(self, session: object, request: object) -> bool:
        """Return False, so that the caller lets the request fail."""
        return False

    def release(self, session: object) -> None:
        """Do nothing, because no request of the session waits here."""


class _Relay:
    """Reports the events of a worker to the observers of one callback of the cluster.

    The observers are called on the first loop, as policies expect. The events of one iteration of
    the worker's loop are passed on together, because waking the first loop takes longer than most
    observers.

    :param notify: the callback of the cluster's engine, for example its `on_latency`.
    """

    __slots__ = ("_events", "_first_loop", "_notify", "_thread")

    def __init__(
        self, notify: Callable[..., object], thread: LoopThread, first_loop: FirstLoop
    ) -> None:
        self._notify = notify
        self._thread = thread
        self._first_loop = first_loop
        # The events of this iteration of the worker's loop.
        self._events: list[tuple[object, ...]] = []

    def __call__(self, *event: object) -> None:
        """Report an event soon."""
        # After the worker's loop is closed, requests fail in threads of the application, and the
        # list `_events` is not passed on any more. So pass this event on directly.
        if not self._thread.is_current():
            self._first_loop.call(self._notify_all, [event])
            return
        self._events.append(event)
        if len(self._events) == 1:
            self._thread.loop.call_soon(self._pass_on)

    def _pass_on(self) -> None:
        events, self._events = self._events, []
        self._first_loop.call(self._notify_all, events)

    def _notify_all(self, events: Sequence[tuple[object, ...]]) -> None:
        for number, event in enumerate(events, 1):
            try:
                self._notify(*event)
            except BaseException:  # raise the error, but report the remaining events later
                self._first_loop.core.loop.call_soon(self._notify_all, events[number:])
                raise


class WorkerCore(Observers):
    """The engine of one worker: the parts of `Core` that its sessions need, on the worker's loop.

    :param core: the engine of the cluster.
    :param thread: the thread that runs the worker's loop.
    """

    def __init__(self, core: Core, thread: LoopThread) -> None:
        loop = thread.loop
        environment = environment_of(loop)
        super().__init__(environment.clock)
        self._core = core
        self.thread = thread
        self.settings: Settings = core.settings
        self.metadata = core.metadata
        self.loop = loop
        self.time = loop.time
        self.random = environment.random
        self.timers = happy_path.TimerWheel(loop, environment.clock)
        self.wake_queue = thread.wake_queue
        self.wire_format = core.wire_format
        # A cluster with a throttler has no workers, because the throttler belongs to the first
        # loop.
        self.throttler = None
        self.closed = False
        self._closing = Closing()
        self.first_loop = FirstLoop(core)
        self.preparer = core.preparer
        self.home = core.home
        self.hosts = _Hosts(self.first_loop)
        self.control = _Control(self.first_loop)
        self.agreement = _Agreement(self.first_loop)
        self.schema = _Schema(self.first_loop)
        self.query_fallback = _NoFallback()
        self.sessions = Sessions(warns=False)  # the first loop warns of too many sessions
        self._background = Background(loop)
        self.internal_queries = InternalQueries(core.settings)
        self.connector = Connector(core.settings, environment)
        self.connector.on_failure = self.report_connection_failure
        self._opener = ConnectionOpener(
            core.settings,
            core.metadata,
            self.connector,
            lambda: self.closed,
            self._on_draining,
            self._on_wrong_node,
            core.check_cluster,
            core.read_host_id,
        )
        self.heartbeats = Heartbeats(
            self.sessions.connections,
            self.spawn,
            core.settings.idle_heartbeat_interval,
            core.settings.idle_heartbeat_timeout,
        )
        for name in BRIEF_EVENTS:
            self.relay(name)

    @property
    def user_types(self) -> Mapping[str, Mapping[str, type]]:
        """The classes that are registered for user-defined types, by keyspace and type name."""
        return self._core.user_types

    def relay(self, name: str) -> None:
        """Let this engine's callback notify the cluster's observers on the first loop.

        Called when the observers of the callback have changed.

        :param name: the attribute for the callback, for example "on_latency".
        """
        notify = getattr(self._core, name)
        relay = None if notify is None else _Relay(notify, self.thread, self.first_loop)
        setattr(self, name, relay)

    def hooks_of(self, observers: Iterable[RequestObserver]) -> Hooks | None:
        """Return the hooks of the cluster's observers and of `observers`."""
        return self._core.hooks_of(observers)

    def spawn(self, coroutine: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Run `coroutine` in the background until it ends, or until `close`."""
        return self._background.spawn(coroutine)

    async def open_connection_to(self, host: Host, target: ShardTarget | None = None) -> Connection:
        """Open a connection to `host`; see `ConnectionOpener.open_to`."""
        # The first loop may have lowered the protocol version, because a server has rejected it.
        self.connector.version = self._core.connector.version
        return await self._opener.open_to(host, target)

    def _on_wrong_node(self, endpoint: EndPoint, reached_id: uuid.UUID) -> bool:
        """Called when a connection to the end point of a host has reached another node.

        :param reached_id: the host id of the node that was reached.
        :returns: True if the connection may be used nevertheless.
        """
        if self._core.may_mislead(endpoint, reached_id):
            return True
        self.first_loop.call(self._core.control.schedule_refresh)
        return False

    def _on_draining(self, host: Host, connection: Connection) -> None:
        """Called when `host` announces on a connection that it will stop soon."""
        # Send the host no more requests from this loop. The first loop then does the same for all
        # loops.
        self.sessions.drain(host, draining_error(host))
        self.first_loop.call(self._core.on_draining, host, connection)

    def refill_pools_soon(self, host: Host | None) -> None:
        """Open missing connections now, even if a pool has scheduled the next attempt for later.

        Any thread may call this.

        :param host: only in the pools to this host; None for all pools.
        """
        with suppress(RuntimeError):  # the loop is closed
            self.loop.call_soon_threadsafe(self._refill_pools, host)

    def _refill_pools(self, host: Host | None) -> None:
        self.sessions.refill_pools(host)
        for session in list(self.sessions):
            assert isinstance(session, WorkerSession)
            session.follow()

    async def follow(self, leader: EngineSession, wait_for_all: bool) -> None:
        """Create this worker's session for `leader`, and begin to open its pools.

        :param leader: the session on the first loop, whose pools the new session follows.
        :param wait_for_all: True to wait until each pool is open or has failed.
        """
        session = WorkerSession(self, leader)
        self.sessions.add(session)
        session.follow()
        if wait_for_all:
            await session.pools_opened()

    async def close(self) -> None:
        """Close everything. Requests in flight fail with `SessionShutdown`.

        If a call is cancelled, the closing continues. Further calls wait until it has completed.
        """
        self.closed = True
        await self._closing.run(self._close)

    async def _close(self) -> None:
        self.sessions.close()
        self.timers.close()
        await self._background.close()
        await self.connector.settle()


def start_worker(core: Core, thread: LoopThread) -> None:
    """Add a worker to a cluster.

    :param core: the engine of the cluster.
    :param thread: the thread of the worker's loop. It is stopped if an error is raised.
    """

    # Create the worker on its own loop, because its heartbeats are tasks of that loop.
    async def make_worker() -> WorkerCore:
        worker = WorkerCore(core, thread)
        worker.heartbeats.start()
        return worker

    try:
        core.workers = (*core.workers, thread.run(make_worker()))
    except BaseException:
        thread.stop()
        raise


def _distance_in(leader: EngineSession, host: Host) -> int:
    """Return the distance of the leader's pool to `host`; IGNORED if there is no such pool."""
    pool = leader.pools.get(host)
    return HostDistance.IGNORED if pool is None else pool.distance


class WorkerSession(EngineSession):
    """The part of a session that runs on a worker's loop.

    :param core: the worker's engine.
    :param leader: the session on the first loop.
    """

    __slots__ = (
        "_delays", "_is_follow_scheduled", "_leader", "_retry", "inbox", "is_ready",
    )  # fmt: skip

    core: WorkerCore  # type: ignore[assignment]  # it has what a worker's session needs

    def __init__(self, core: WorkerCore, leader: EngineSession) -> None:
        # Pass no keyspace: the connections send no USE, because workers execute only prepared
        # statements, which do not depend on a keyspace. Load balancing policies may be called on
        # the first loop only, so ask the leader for the distances of hosts.
        super().__init__(core, None, partial(_distance_in, leader))  # type: ignore[arg-type]
        self._leader = leader
        self.codecs = leader.codecs
        self.inbox = core.thread.inbox
        self.is_ready = False
        """True if this session has a pool to each host to which the leader has a pool.

        Any thread may read it.
        """
        self._is_follow_scheduled = False
        # The delays until the next attempts to open missing pools; None if no pool is missing.
        self._delays: Iterator[float] | None = None
        self._retry: asyncio.TimerHandle | None = None
        leader.followers = (*leader.followers, self)

    @property
    def working_keyspace(self) -> str | None:
        """The keyspace of the application's session.

        The connections of this session are not in any keyspace.
        """
        return self._leader.keyspace

    # -- requests ----------------------------------------------------------------------------------

    def take(self, request: Request) -> bool:
        """Take over a request of the leader that has not been started.

        :returns: False if the request must run on the first loop.
        """
        # The module's docstring explains which requests a worker takes.
        policy = request.policy
        if not (
            self.is_ready
            and not request.begins_on_first_loop
            and request.request_body.runs_anywhere
            and request.target is None
            and (policy is self.direct_policy or self.plans_anywhere(policy))
        ):
            return False
        request.session = self
        return True

    # -- pools -------------------------------------------------------------------------------------

    def follow_soon(self) -> None:
        """Call `follow` soon, because the leader's pools have changed or the leader was closed.

        Must be called on the first loop.
        """
        if not self._is_follow_scheduled:
            self._is_follow_scheduled = True
            with suppress(RuntimeError):  # this loop is closed
                self.loop.call_soon_threadsafe(self.follow)

    async def pools_opened(self) -> None:
        """Wait until each pool that the leader has is open here or has failed."""
        await asyncio.gather(*(self.add_pool(host) for host in list(self._leader.pools)))

    def follow(self) -> None:
        """Open pools to the leader's hosts, and drain pools to all other hosts."""
        # Clear `_is_follow_scheduled` before reading the leader's pools, so that a later change
        # schedules another call.
        self._is_follow_scheduled = False
        if self.closed:
            return
        if self._leader.closed:
            self.close()
            return
        wanted = list(self._leader.pools)
        # Compare identities: a host that has left the cluster is equal to a new host that has its
        # address now.
        wanted_ids = {id(host) for host in wanted}
        for host in [*self.pools, *self._opening]:
            if id(host) not in wanted_ids:
                error = self._leader.pool_error(host) or ConnectionException(
                    f"the session has no pool to {host} any more", host.endpoint
                )
                self.drain_host(host, error)
        for host in wanted:
            pool = self.pools.get(host)
            if pool is not None:
                pool.distance = self.distance(host)
            elif host not in self._opening:
                self._spawn(self.add_pool(host))
        self.resize_pools()
        self.is_ready = self._has_all(wanted)

    def on_missing_pool(self, host: Host) -> None:
        """Do nothing: the leader decides which pools exist, and `follow` opens them.

        A worker takes only requests whose load balancing policies report each change of their
        distances.
        """

    def _on_pool_task_done(self, host: Host, task: asyncio.Task[None]) -> None:
        super()._on_pool_task_done(host, task)
        self._check_pools()

    def _pop_pool(self, host: Host) -> HostPool | None:
        pool = super()._pop_pool(host)
        self._check_pools()
        return pool

    def _has_all(self, wanted: list[Host]) -> bool:
        """Return True if the leader has hosts, and there is a pool to each of them."""
        return not self.closed and bool(wanted) and all(host in self.pools for host in wanted)

    def _check_pools(self) -> None:
        """Set `is_ready`, and schedule another attempt to open pools if a pool is missing.

        Called when a pool was opened or lost, or could not be opened.
        """
        wanted = list(self._leader.pools)
        self.is_ready = self._has_all(wanted)
        if self.is_ready:
            self._delays = None
        # Try again only if no attempt is running or scheduled.
        elif wanted and self._retry is None and not self.closed and not self._opening:
            if self._delays is None:
                self._delays = delays_of(self.core.settings.reconnection_policy)
            delay = next(self._delays, None)
            if delay is not None:
                self._retry = self.loop.call_later(delay, self._try_again)

    def _try_again(self) -> None:
        self._retry = None
        self.follow()

    # -- end ---------------------------------------------------------------------------------------

    def close(self) -> None:
        """Close all pools. Requests in flight fail with `closed_error`."""
        super().close()
        self.is_ready = False
        if self._retry is not None:
            self._retry.cancel()
