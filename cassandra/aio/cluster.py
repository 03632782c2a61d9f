"""`Cluster` of the asyncio face."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Generator, Hashable
from typing import TYPE_CHECKING, Any, NoReturn

from cassandra._habits import CLUSTER, add_habits, awaited
from cassandra.aio.session import Session
from cassandra.client.checks import check_keyspace, no_keyspace
from cassandra.client.configuration import ClusterBase, engine_core
from cassandra.client.schema_calls import SchemaCalls
from cassandra.client.settings.docstrings import WithFields
from cassandra.engine.schema.targets import Target
from cassandra.engine.waiting import outcome_of, pools_opened
from cassandra.errors import ConnectionException, ConnectionShutdown, InvalidRequest

if TYPE_CHECKING:
    from cassandra.engine.core import Core
    from cassandra.engine.profile import ExecutionProfile
    from cassandra.metadata.host import Host
    from cassandra.policies.balancing import LoadBalancingPolicy
    from cassandra.policies.speculation import SpeculativeExecutionPolicy

__all__ = ["Cluster"]

SHUTDOWN_TIMEOUT = 10.0  # seconds


class Cluster(ClusterBase, SchemaCalls[Awaitable[None]]):
    """A cluster to connect to from asyncio code.

    ``async with Cluster(["10.0.0.1"]) as cluster: session = await cluster.connect("ks")``. It
    belongs to the loop that `connect` is first awaited on. The names of contact points are resolved
    by `connect`, which raises NoHostAvailable if none of them can be.

    Each parameter but `execution_profiles` is an attribute, too. A change after `connect` has an
    effect if its text says so.
    """

    __doc__ = WithFields(__doc__)

    def _begin(self) -> None:
        self.is_shutdown = False
        self._core: Core | None = None
        self._connecting: asyncio.Task[Core] | None = None
        self._waiting = 0
        self._given_up: set[asyncio.Task[Core]] = set()  # they close what they have opened
        self._closing: asyncio.Task[None] | None = None
        self._sessions: list[Session] = []

    async def connect(
        self, keyspace: str | None = None, wait_for_all_pools: bool = False
    ) -> Session:
        """Connect if that has not been done yet, and return a new `Session`.

        :param keyspace: for names without one; None for no keyspace.
        :param wait_for_all_pools: return when all pools are open, not only one.
        :raises NoHostAvailable: with the error of each contact point.
        :raises NoHostAvailable: which is an InvalidRequest too, if the keyspace does not exist.
        """
        keyspace = keyspace or None  # a text from the environment may be empty
        if keyspace is not None:
            check_keyspace(keyspace)
        core = await self._connected()
        # Without the keyspace: if it is missing, the server refuses the USE below.
        engine = await core.open_session(None, self.profile_manager.distance, wait_for_all_pools)
        # During the wait shutdown() could not know of this session.
        if self.is_shutdown:
            engine.close()
            raise ConnectionShutdown("the cluster was shut down while it was connecting")
        session = Session(self, engine)
        self._encode_user_types(session)
        if keyspace is not None and not engine.begins_with(keyspace):
            try:
                await session.set_keyspace(keyspace)
            except BaseException as error:
                await session.shutdown()
                if type(error) is InvalidRequest:
                    raise no_keyspace(keyspace, error) from None
                raise
        self._sessions.append(session)
        return session

    async def _connected(self) -> Core:
        """Return the connected engine. Callers that come together share one attempt."""
        if self.is_shutdown:
            raise ConnectionShutdown("the cluster is shut down: make a new one")
        if self._core is not None:
            if self._core.loop is not asyncio.get_running_loop():
                raise RuntimeError("this Cluster belongs to another event loop: make one in each")
            return self._core
        if self._connecting is None:
            # A task of its own: several callers may wait for it, and any of them may be cancelled.
            self._connecting = asyncio.ensure_future(self._make_core())
            self._connecting.add_done_callback(_take_note)
        connecting = self._connecting
        self._waiting += 1
        try:
            return await outcome_of(connecting)
        finally:
            self._waiting -= 1
            # One caller's cancellation must not fail the others: the attempt is given up when the
            # last one that waits for it is cancelled.
            if self._connecting is connecting and (connecting.done() or not self._waiting):
                self._connecting = None
                if connecting.cancel():
                    self._given_up.add(connecting)
                    connecting.add_done_callback(self._given_up.discard)

    async def _make_core(self) -> Core:
        core = engine_core()(self._settings(), self.metadata, asyncio.get_running_loop())
        await core.connect()
        try:
            # During the wait shutdown() could not know of this engine.
            if self.is_shutdown:
                raise ConnectionShutdown("the cluster was shut down while it was connecting")
            self._core = core
            await self._on_connected(core)
        except BaseException:
            # The next connect() must begin anew, not find an engine that is closed.
            self._core = None
            await core.close()
            raise
        return core

    def add_execution_profile(
        self, name: Hashable, profile: ExecutionProfile, pool_wait_timeout: float | None = 5
    ) -> Awaitable[None]:
        """Add an execution profile, which `execution_profile=` may name from now on.

        :param name: any object that can be a key of a dict.
        :param profile: an `ExecutionProfile`.
        :param pool_wait_timeout: seconds that the awaitable waits at most; None for no limit.
        :returns: an awaitable, for those who want to wait until the connections are open that only
            the new profile's policy wants. It raises OperationTimedOut after `pool_wait_timeout`.
        :raises ValueError: if the name is taken, or old-style settings are used.
        """
        policy = self._add_profile(name, profile)
        opening: list[asyncio.Task[bool]] = []
        if policy is not None and self._core is not None:
            opening = self._core.policies.adopt(policy, self)
        return _PoolsOpen(name, opening, pool_wait_timeout)

    def _profiles_of_sessions(self) -> list[ExecutionProfile]:
        return [session._default_profile for session in self._sessions]

    def _adopt_policy(self, policy: LoadBalancingPolicy) -> None:
        if self._core is not None:
            self._core.policies.adopt(policy, self)

    def _attach_policy(self, policy: SpeculativeExecutionPolicy) -> None:
        if self._core is not None:
            self._core.policies.attach(policy)

    def _resize_pools(self) -> None:
        if self._core is not None:
            self._core.sessions.resize_pools()

    async def register_user_type(self, keyspace: str, user_type: str, klass: type[Any]) -> None:
        """Read values of a user-defined type as instances of a class, and accept such parameters.

        Before `connect` it is remembered; `connect` raises UserTypeDoesNotExist if there is no such
        type.

        :param keyspace: the name of the type's keyspace.
        :param user_type: the name of the type.
        :param klass: takes the fields as keywords and has them as attributes; or dict.
        :raises UserTypeDoesNotExist: if the cluster is connected and does not have the type.
        """
        if self._core is not None or self.is_shutdown:
            fields = await self._connected_core().user_type_fields(keyspace, user_type)
            self._user_types.take_fields(keyspace, user_type, fields)
        self._add_user_type(keyspace, user_type, klass, self._sessions)

    def get_control_connection_host(self) -> Host | Any:
        """Return the host of the control connection; None while there is no such connection."""
        return self._core.control.current_host if self._core is not None else None

    async def refresh_nodes(self, force_token_rebuild: bool = False) -> None:
        """Read the node list again, now.

        :param force_token_rebuild: compute the placement of partitions again, even if no token has
            changed.
        """
        await self._connected_core().control.refresh_nodes(force_token_rebuild)

    async def _refresh_schema(self, target: Target, max_wait: float | None) -> None:
        await self._connected_core().schema.refresh(target, max_wait)

    def _connected_core(self) -> Core:
        if self.is_shutdown:
            raise ConnectionShutdown("the cluster is shut down")
        if self._core is None:
            raise ConnectionException("the cluster is not connected")
        return self._core

    async def shutdown(self) -> None:
        """Close all sessions and connections.

        Executions in flight fail with an error that says so. A second call waits until the first
        one is over, also if that was cancelled: it goes on.
        """
        # Before the first wait: a connect() that is under way looks at it afterwards.
        self.is_shutdown = True
        if self._closing is None:
            self._closing = asyncio.ensure_future(self._close())
        await outcome_of(self._closing)

    async def _close(self) -> None:
        connecting = set(self._given_up)
        if self._connecting is not None:
            connecting.add(self._connecting)
        if connecting:
            for task in connecting:
                task.cancel()
            # Cancelled, they close what they have opened.
            await asyncio.wait(connecting, timeout=SHUTDOWN_TIMEOUT)
        for session in self._sessions:
            session.is_shutdown = True
        if self._core is not None:
            await self._core.close()

    if not TYPE_CHECKING:  # type checkers refuse `with` by themselves

        def __enter__(self) -> NoReturn:
            raise TypeError("a cluster of cassandra.aio ends by awaiting: write `async with`")

        def __exit__(self, *args: object) -> None:
            """Never called: `__enter__` raises."""

    async def __aenter__(self) -> Cluster:
        return self

    async def __aexit__(self, *args: object) -> None:
        await self.shutdown()


class _PoolsOpen:
    """Awaited, it waits until tasks that open pools are done."""

    def __init__(
        self, name: Hashable, opening: list[asyncio.Task[bool]], timeout: float | None
    ) -> None:
        self._name = name
        self._opening = opening
        self._timeout = timeout

    def __await__(self) -> Generator[Any, None, None]:
        return pools_opened(self._opening, self._timeout, self._name).__await__()


def _take_note(task: asyncio.Task[Core]) -> None:
    """Read the error of `task`: if all callers are gone, asyncio would log it as never read."""
    if not task.cancelled():
        task.exception()


Cluster.__module__ = "cassandra.aio"

add_habits(Cluster, awaited(CLUSTER))
