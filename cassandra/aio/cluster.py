"""`Cluster` of the asyncio API, which connects and makes sessions on your event loop."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Awaitable, Callable, Generator, Hashable
from typing import TYPE_CHECKING, Any, NoReturn

from cassandra._forks import renew_after_any_fork, renewed
from cassandra._habits import ASYNC_CLUSTER, CLUSTER, CLUSTER_SETTINGS, add_habits, awaited
from cassandra._threads import Lock
from cassandra._unknown_options import unknown_option
from cassandra.aio.calls import returns_connecting
from cassandra.aio.session import Session
from cassandra.client.checks import check_cluster, check_keyspace, check_user_type, no_keyspace
from cassandra.client.configuration import ClusterBase, engine_core
from cassandra.client.schema_calls import SchemaCalls
from cassandra.client.settings.docstrings import WithFields
from cassandra.engine.environment import call_on, new_task
from cassandra.engine.mistakes import (
    check_loop,
    refuse_without_loop,
    running_loop,
    silence_future_of,
)
from cassandra.engine.schema.targets import Target
from cassandra.engine.waiting import Closing, outcome_of, pools_opened
from cassandra.errors import ConnectionException, ConnectionShutdown, InvalidRequest

if TYPE_CHECKING:
    from cassandra.engine import happy_path
    from cassandra.engine.core import Core
    from cassandra.engine.profile import AttachedPolicy, ExecutionProfile
    from cassandra.metadata.host import Host
    from cassandra.policies.balancing import LoadBalancingPolicy
else:
    from cassandra._impl import happy_path

SHUTDOWN_TIMEOUT = 10.0  # seconds that `shutdown` waits for cancelled attempts to connect


class _Attempt:
    """An attempt to connect, which concurrent callers share.

    :param task: the task that connects.
    """

    __slots__ = ("task", "waiting")

    def __init__(self, task: asyncio.Task[Core]) -> None:
        self.task = task
        self.waiting = 0  # the number of callers that wait for the attempt


class Cluster(ClusterBase, SchemaCalls[Awaitable[None]]):
    """A cluster to connect to from asyncio code.

    Use it in an `async with` statement, or call `connect` and `shutdown`:
    ``async with Cluster(["10.0.0.1"]) as cluster: session = await cluster.connect("ks")``

    A cluster belongs to the event loop on which you first await `connect`. `connect` resolves the
    host names of contact points, and raises NoHostAvailable if none of them can be resolved.

    Each parameter except `execution_profiles` is also an attribute. Changing the attribute after
    `connect` has an effect only if the parameter's description says so.
    """

    __doc__ = WithFields(__doc__)

    def _begin(self) -> None:
        """Set the attributes of a cluster that is not connected yet. `ClusterBase` calls this."""
        self.is_shutdown = False
        self._core: Core | None = None  # the engine; None until an attempt to connect has succeeded
        self._connecting: _Attempt | None = None  # the current attempt to connect, if there is one
        # Held while a caller looks for the current attempt or begins one. Without the lock, two
        # threads that connect at the same time, each on its own loop, would both begin one.
        self._beginning = Lock()
        renewed(self)
        # Attempts to connect that were cancelled, but are still closing connections. `shutdown`
        # waits for them.
        self._given_up: set[asyncio.Task[Core]] = set()
        self._closing = Closing()
        self._sessions: weakref.WeakSet[Session] = weakref.WeakSet()

    def _check_loops(self) -> None:
        """Raise ValueError if the setting `loops` asks for more than one event loop."""
        if self.loops > 1:
            raise ValueError(
                f"loops={self.loops} is for cassandra.cluster.Cluster: a Cluster of asyncio runs "
                "on your event loop. Make a Cluster on each of your loops instead"
            )

    @returns_connecting
    async def connect(
        self,
        keyspace: str | None = None,
        wait_for_all_pools: bool = False,
        **_unknown: NoReturn,
    ) -> Session:
        """Connect if necessary, and return a new `Session`.

        ``async with cluster.connect() as session`` shuts the session down after the block.

        :param keyspace: the keyspace of unqualified names; None for no keyspace.
        :param wait_for_all_pools: True to return when the connection pools to all hosts are open;
            False to return soon after the first pool is open.
        :raises NoHostAvailable: if the driver cannot connect to any contact point. The error has
            the error of each contact point.
        :raises NoHostAvailable: if the keyspace does not exist. This error is also an
            InvalidRequest.
        """
        check_cluster(self)
        if _unknown:
            raise unknown_option("Cluster.connect", _unknown)
        # Treat an empty string like None: it may come from an environment variable that is not set.
        keyspace = keyspace or None
        if keyspace is not None:
            check_keyspace(keyspace)
        # Do this before connections are opened: the renewal makes those of the parent unusable.
        renew_after_any_fork()
        core = await self._connected()
        # Open the session without the keyspace, and send USE afterwards. If the keyspace does not
        # exist, USE fails with a clear error.
        engine = await core.open_session(None, self.profile_manager.distance, wait_for_all_pools)
        # If `shutdown` has run during the wait, it has not closed this session, which it did not
        # know yet: close the session here.
        if self.is_shutdown:
            engine.close()
            raise ConnectionShutdown("the cluster was shut down while it was connecting")
        session = Session(self, engine)
        self._encode_user_types(session)
        # Without pools, the session sends requests on the control connection, where USE is not
        # allowed. In this case `adopt_without_use` sets the keyspace.
        if keyspace is not None and not engine.adopt_without_use(keyspace):
            try:
                await session.set_keyspace(keyspace)
            except BaseException as error:
                await session.shutdown()
                if type(error) is InvalidRequest:  # the keyspace does not exist
                    raise no_keyspace(keyspace, error) from None
                raise
        self._sessions.add(session)
        return session

    async def _connected(self) -> Core:
        """Return the connected engine; connect it first if necessary.

        Concurrent callers share one attempt to connect.
        """
        if self.is_shutdown:
            raise ConnectionShutdown("the cluster is shut down: make a new one")
        if running_loop() is None:
            refuse_without_loop()
        with self._beginning:
            self._refuse_other_loop()
            # While an attempt goes on, wait for it: it sets `_core` before the engine is ready.
            if self._connecting is None:
                if self._core is not None:
                    return self._core
                # Connect in a separate task: several callers may wait for it, and any of them may
                # be cancelled.
                self._connecting = _Attempt(new_task(self._make_core()))
                self._connecting.task.add_done_callback(_retrieve_error)
            attempt = self._connecting
        connecting = attempt.task
        attempt.waiting += 1
        try:
            # Unlike a plain `await`, `outcome_of` does not cancel the shared task if this caller is
            # cancelled.
            return await outcome_of(connecting)
        finally:
            attempt.waiting -= 1
            # If this caller was cancelled, other callers may still wait for the attempt. Cancel the
            # attempt only when no caller waits any more.
            if self._connecting is attempt and (connecting.done() or not attempt.waiting):
                self._connecting = None
                if connecting.cancel():
                    self._core = None  # the task closes it
                    # Keep the task: it still has to close its connections, and `shutdown` must wait
                    # for that.
                    self._given_up.add(connecting)
                    connecting.add_done_callback(self._given_up.discard)

    def _renew_locks(self) -> None:
        self._beginning = Lock()

    def _own_loop(self) -> asyncio.AbstractEventLoop | None:
        """Return the loop on which the cluster is connected or connecting, or else None.

        An attempt to connect is dropped if its loop was closed meanwhile, because it can never end.
        """
        # Read the attempt before the engine: an attempt in another thread sets the engine first,
        # and is removed afterwards.
        attempt = self._connecting
        if self._core is not None:
            return self._core.loop
        if attempt is None:
            return None
        loop = attempt.task.get_loop()
        if loop.is_closed():
            self._connecting = None
            return None
        return loop

    def _refuse_other_loop(self) -> None:
        """Raise RuntimeError if the cluster belongs to another loop than the running one."""
        loop = self._own_loop()
        if loop is not None:
            check_loop(loop, "cluster")

    async def _make_core(self) -> Core:
        """Make an engine and connect it. If that fails, nothing is left open."""
        core = engine_core()(self._settings(), self.metadata, asyncio.get_running_loop())
        self._observe_connecting(core)
        await core.connect()
        try:
            # If `shutdown` has run during the wait, it has not closed this engine, which it did not
            # know yet. The error below closes it.
            if self.is_shutdown:
                raise ConnectionShutdown("the cluster was shut down while it was connecting")
            self._core = core
            await self._on_connected(core)
        except BaseException:
            # Forget the engine before closing it, so that the next call of `connect` makes a new
            # engine. If this attempt was given up, there may be a new engine already.
            if self._core is core:
                self._core = None
            await core.close()
            raise
        return core

    def add_execution_profile(
        self, name: Hashable, profile: ExecutionProfile, pool_wait_timeout: float | None = 5
    ) -> Awaitable[None]:
        """Add an execution profile. To use it, pass its name as `execution_profile`.

        :param name: any hashable object.
        :param profile: an `ExecutionProfile`.
        :param pool_wait_timeout: the maximum time in seconds that the awaitable waits; None for no
            limit.
        :returns: an awaitable. Await it if you want to wait until connections are open to the hosts
            that only the new profile's policy uses. It raises OperationTimedOut after
            `pool_wait_timeout`.
        :raises ValueError: if a profile with this name exists, or old-style settings are used.
        :raises RuntimeError: if the cluster belongs to another event loop than the running one.
        """
        # The call needs no running loop: the pools are opened when the cluster's loop runs again.
        if running_loop() is not None:
            self._refuse_other_loop()
        policy = self._add_profile(name, profile)
        opening: list[asyncio.Task[bool]] = []
        if policy is not None and self._core is not None:
            adopt = self._core.policies.adopt
            self._call_on_loop(lambda: opening.extend(adopt(policy, self)))
        return _PoolsOpen(name, opening, pool_wait_timeout)

    def _adopt_policy(self, policy: LoadBalancingPolicy) -> None:
        """Open the pools to hosts that only `policy` uses, if the cluster is connected.

        The pools are opened in the background.
        """
        if self._core is not None:
            self._call_on_loop(self._core.policies.adopt, policy, self)

    def _attach_policy(self, policy: AttachedPolicy) -> None:
        """Pass the engine to a policy that was added after `connect`."""
        if self._core is not None:
            self._call_on_loop(self._core.policies.attach_once, policy)

    def _call_on_loop(self, function: Callable[..., Any], *args: Any) -> None:
        """Call `function` on the loop: at once in the loop's own thread, otherwise later.

        Another thread may call this, if it has changed a profile that this cluster uses.
        """
        assert self._core is not None
        call_on(self._core.loop, function, *args)

    def _resize_pools(self) -> None:
        if self._core is not None:
            self._call_on_loop(self._core.sessions.resize_pools)

    async def register_user_type(self, keyspace: str, user_type: str, klass: type[Any]) -> None:
        """Map a user-defined type to a class.

        Values of the type are decoded as instances of the class, and instances are accepted as
        parameters.

        You may call this before `connect`. Then `connect` raises UserTypeDoesNotExist if the
        cluster does not have the type.

        :param keyspace: the name of the type's keyspace.
        :param user_type: the name of the type.
        :param klass: dict; or a class whose constructor takes the fields as keyword arguments, and
            whose instances have them as attributes.
        :raises UserTypeDoesNotExist: if the cluster is connected and does not have the type.
        """
        check_user_type(keyspace, user_type)
        if self._core is not None or self.is_shutdown:
            fields = await self._connected_core().user_type_fields(keyspace, user_type)
            self._user_types.take_fields(keyspace, user_type, fields)
        self._add_user_type(keyspace, user_type, klass)

    def get_control_connection_host(self) -> Host | Any:
        """Return the host of the control connection; None if there is no control connection."""
        return self._core.control.current_host if self._core is not None else None

    async def refresh_nodes(self, force_token_rebuild: bool = False) -> None:
        """Read the list of nodes from the server now, instead of waiting for an event.

        :param force_token_rebuild: compute the replicas of partitions again, even if no token has
            changed.
        """
        await self._connected_core().control.refresh_nodes(force_token_rebuild)

    async def _refresh_schema(self, target: Target, max_wait: float | None) -> None:
        await self._connected_core().schema.refresh(target, max_wait)

    def _connected_core(self) -> Core:
        """Return the engine, for a call that sends requests.

        :raises ConnectionException: if the cluster is not connected.
        :raises RuntimeError: if the running loop is not the cluster's.
        """
        if self.is_shutdown:
            raise ConnectionShutdown("the cluster is shut down: make a new one")
        if self._core is None:
            raise ConnectionException("the cluster is not connected")
        self._refuse_other_loop()
        return self._core

    async def shutdown(self) -> None:
        """Close all sessions and connections.

        Requests in flight fail with `SessionShutdown`. A second call waits until the first call has
        completed. If the call is cancelled, the closing continues in the background.

        :raises RuntimeError: if the cluster was connected on another event loop, or is connecting
            there.
        """
        # Set `is_shutdown` first: a `connect` that is in progress, perhaps on another loop, checks
        # `is_shutdown` when it continues.
        self.is_shutdown = True
        self._refuse_other_loop()
        # If no asyncio loop is running (for example under trio), `connect` has raised an error. If
        # an `async with` statement then calls `shutdown`, do nothing, because another error would
        # hide the first error.
        if self._core is None and self._connecting is None and running_loop() is None:
            return
        await self._closing.run(self._close)

    async def _close(self) -> None:
        """Cancel the attempts to connect, and close the sessions and the engine, for `shutdown`."""
        # An attempt that was given up on another loop ends there, unless that loop is closed. This
        # loop cannot wait for it.
        loop = asyncio.get_running_loop()
        attempts = {task for task in list(self._given_up) if task.get_loop() is loop}
        if self._connecting is not None:
            attempts.add(self._connecting.task)
        if attempts:
            for task in attempts:
                task.cancel()
            # Wait until the cancelled tasks have closed their connections.
            await asyncio.wait(attempts, timeout=SHUTDOWN_TIMEOUT)
        for session in list(self._sessions):
            session.is_shutdown = True
        if self._core is not None:
            await self._core.close()

    if not TYPE_CHECKING:  # hidden from type checkers, so that they report a plain `with`

        def __enter__(self) -> NoReturn:
            raise TypeError("a cluster of cassandra.aio ends by awaiting: write `async with`")

        def __exit__(self, *args: object) -> None:
            """Never called: `__enter__` raises."""

    async def __aenter__(self) -> Cluster:
        return self

    async def __aexit__(self, *exception_info: object) -> None:
        silence_future_of(exception_info[1], happy_path.ResultFuture)
        await self.shutdown()


class _PoolsOpen:
    """An awaitable that waits until the tasks in `opening` have opened their pools."""

    def __init__(
        self, name: Hashable, opening: list[asyncio.Task[bool]], timeout: float | None
    ) -> None:
        self._name = name
        self._opening = opening
        self._timeout = timeout

    def __await__(self) -> Generator[Any, None, None]:
        return pools_opened(self._opening, self._timeout, self._name).__await__()


def _retrieve_error(task: asyncio.Task[Core]) -> None:
    """Read the error of `task`, so that asyncio does not log it as never retrieved.

    If all callers of `connect` were cancelled, nobody else reads the error.
    """
    if not task.cancelled():
        task.exception()


Cluster.__module__ = "cassandra.aio"

add_habits(Cluster, CLUSTER_SETTINGS, settings=True)
add_habits(Cluster, awaited(CLUSTER, ASYNC_CLUSTER))
