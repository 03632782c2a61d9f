"""`Cluster`: the entry point of the blocking API. It connects to the servers and makes sessions.

Each connected cluster has an engine, whose event loop runs in a thread of its own. With the setting
`loops`, further threads run further event loops: the workers. If the application drops a cluster
without `shutdown`, a `_Dropped` object closes the engine.

The sessions of a `Cluster` also return futures: see `Session.execute_async`.
"""

from __future__ import annotations

import atexit
import threading
import warnings
import weakref
from collections.abc import Callable, Coroutine, Hashable
from contextlib import ExitStack, suppress
from contextvars import copy_context
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from cassandra._forks import renew_after_any_fork, renew_in_child
from cassandra._habits import CLUSTER, CLUSTER_SETTINGS, IN_ASYNC, add_habits
from cassandra._imports import Deferred, at_first_cluster
from cassandra._logs import Log
from cassandra._threads import get_ident, new_lock, new_reentrant_lock
from cassandra._unknown_options import unknown_option, with_example
from cassandra.client.checks import check_cluster, check_keyspace, check_user_type, no_keyspace
from cassandra.client.configuration import ClusterBase, engine_core
from cassandra.client.contact_points import resolved
from cassandra.client.schema_calls import SchemaCalls
from cassandra.client.settings.docstrings import WithFields
from cassandra.cluster.compat_names import CompatCluster
from cassandra.cluster.session import Session
from cassandra.errors import (
    ConnectionException,
    ConnectionShutdown,
    InvalidRequest,
    OperationTimedOut,
    SessionShutdown,
    UnresolvableContactPoints,
)

if TYPE_CHECKING:
    from contextvars import Context

    from cassandra.engine import workers
    from cassandra.engine.core import Core
    from cassandra.engine.endpoint import EndPoint
    from cassandra.engine.loop import LoopThread, NoEnd, needs_daemon_threads
    from cassandra.engine.profile import AttachedPolicy, ExecutionProfile
    from cassandra.engine.schema.targets import Target
    from cassandra.engine.waiting import pools_opened
    from cassandra.metadata.host import Host
    from cassandra.policies.balancing import LoadBalancingPolicy
else:
    at_first_cluster(
        __name__,
        LoopThread="cassandra.engine.loop",
        NoEnd="cassandra.engine.loop",
        needs_daemon_threads="cassandra.engine.loop",
        pools_opened="cassandra.engine.waiting",
    )
    workers = Deferred("cassandra.engine.workers")

T = TypeVar("T")

log = Log("cassandra.cluster")

# The maximum time for which `shutdown` waits until an event loop has closed its connections. Then
# it waits again, for at most the same time, until the thread of the loop has ended.
SHUTDOWN_TIMEOUT = 10.0  # seconds
# If closing the engine has failed or timed out, `shutdown` waits at most this long for the end of a
# thread.
LAST_TIMEOUT = 0.5  # seconds
# If a Cluster is garbage collected, its engine is closed after this delay. During the delay, the
# `__del__` method of the object that owned the cluster may still call `shutdown`.
DROPPED_WAIT = 0.1  # seconds
# The first call that uses a new load balancing policy waits at most this long until connections are
# open to the hosts of the policy.
POOLS_WAIT = 5.0  # seconds
CANCEL_INTERVAL = 0.02  # seconds between checks while shutdown() cancels a connect()


class Cluster(ClusterBase, SchemaCalls[None], CompatCluster):
    """A cluster to connect to.

    Use a cluster in a `with` statement, or call `connect` and `shutdown`:
    ``with Cluster(["10.0.0.1"]) as cluster, cluster.connect("ks") as session: ...``

    The constructor resolves the host names of contact points. It raises UnresolvableContactPoints
    if none of the names can be resolved.

    Each parameter except `execution_profiles` is also an attribute. After `connect`, changing an
    attribute has no effect, unless the parameter's description says that it has.
    """

    __doc__ = WithFields(__doc__)

    # `_begin` sets this. Mocks with ``spec=`` have only attributes of the class.
    sessions: weakref.WeakSet[Session] = None  # type: ignore[assignment]

    def _begin(self) -> None:
        """Set the attributes of a cluster that is not connected yet. `ClusterBase` calls this."""
        self.is_shutdown = False
        self._is_over = False  # True when shutdown() has completed
        self._is_forked = False  # True in a child process that was forked after `connect`
        self.sessions = weakref.WeakSet()
        # Held during `connect` and `shutdown`. It is reentrant, because a signal handler may call
        # `shutdown` while its own thread is in one of them.
        self._lock = new_reentrant_lock()
        # The engine, and the thread that runs its first event loop; None unless the cluster is
        # connected.
        self._core: Core | None = None
        self._loop_thread: LoopThread | None = None
        # The engine and its threads, from the start of the first thread until everything is closed.
        # If a signal handler raises an exception during `connect` or `shutdown`, `_core` and
        # `_loop_thread` may be None although connections are still open. `_engine` is used to close
        # these.
        self._engine: _Engine | None = None
        self._was_stopped = False  # True after a `connect` that has failed, and after `shutdown`
        # If the cluster is garbage collected without `shutdown`, the finalizer calls a method of
        # `_dropped`, which closes the engine.
        self._finalizer: weakref.finalize[..., Cluster] | None = None
        self._dropped: _Dropped | None = None
        _live_clusters.add(self)

    # -- the engine's thread -----------------------------------------------------------------------

    @property
    def _required_loop_thread(self) -> LoopThread:
        """The thread of the engine's first event loop.

        Reading this property raises an error if there is no such thread.

        :raises ConnectionException: before `connect`.
        :raises ConnectionShutdown: after `shutdown`.
        """
        # Read the attribute only once, because `shutdown` in another thread may set it to None.
        thread = self._loop_thread
        if thread is None:
            raise self._not_connected()
        return thread

    def _not_connected(self) -> ConnectionException:
        if self.is_shutdown:
            return self._shut_down()
        return ConnectionException("the cluster is not connected")

    def _shut_down(self) -> ConnectionShutdown:
        """Return the error for using this cluster after `shutdown` or in a forked child."""
        return ConnectionShutdown(
            _FORKED if self._is_forked else "the cluster is shut down: make a new one"
        )

    def _resolve(self, endpoints: list[EndPoint]) -> list[EndPoint]:
        return self._cloud.ask() if self._cloud is not None else resolved(endpoints)

    def _run(self, coroutine: Coroutine[Any, Any, T], timeout: float | None = None) -> T:
        """Run `coroutine` on the engine's loop and wait for its result.

        :param coroutine: a coroutine that has not started.
        :param timeout: the maximum wait in seconds; None for no limit.
        :raises ConnectionShutdown: if the cluster is shut down during the call.
        """
        try:
            self._refuse_blocking()
        except RuntimeError:
            # Close the coroutine: otherwise Python would warn that it was never awaited.
            coroutine.close()
            raise
        return self._run_briefly(coroutine, timeout)

    def _run_briefly(self, coroutine: Coroutine[Any, Any, T], timeout: float | None = None) -> T:
        """Run `coroutine` like `_run`, but also if the current thread runs a worker's event loop.

        The coroutine must end soon, because the event loop of that worker is blocked meanwhile.
        """
        thread = self._loop_thread
        if thread is None:
            coroutine.close()
            raise self._not_connected()
        return thread.run(coroutine, timeout)

    def _loop_threads(self) -> list[LoopThread]:
        """Return the threads of all event loops that may be running."""
        engine = self._engine
        return list(engine.threads) if engine is not None else []

    def _refuse_blocking(self) -> None:
        """Raise RuntimeError in the thread of an event loop, for example in a callback.

        While a call blocks such a thread, the loop cannot read responses. The call may wait for one
        of these responses itself, and other threads may wait for others.
        """
        for thread in self._loop_threads():
            thread.refuse_blocking()

    def _is_in_worker(self) -> bool:
        """Return True if the current thread runs a worker's loop, for example in a callback.

        See `cassandra.engine.workers`.
        """
        return any(thread.is_current() for thread in self._loop_threads()[1:])

    # -- connecting --------------------------------------------------------------------------------

    def connect(
        self,
        keyspace: str | None = None,
        wait_for_all_pools: bool = False,
        **_unknown: NoReturn,
    ) -> Session:
        """Connect if necessary, and return a new `Session`.

        If the first call fails, no thread and no socket is left behind.

        :param keyspace: the keyspace of unqualified names; None for no keyspace.
        :param wait_for_all_pools: True to return when the connection pools to all hosts are open;
            False to return soon after the first pool is open.
        :raises NoHostAvailable: if the driver cannot connect to any contact point. The error has
            the error of each contact point, for example AuthenticationFailed.
        :raises NoHostAvailable: if the keyspace does not exist. This error is also an
            InvalidRequest.
        :raises RuntimeError: in the thread of an event loop, for example in a callback.
        """
        check_cluster(self)
        if _unknown:
            raise unknown_option("Cluster.connect", _unknown)
        renew_after_any_fork()
        # Check the thread before acquiring the lock. The thread that holds the lock may be waiting
        # for the event loop that the current thread runs: both threads would wait forever.
        self._refuse_blocking()
        # Treat an empty string like None: it may come from an environment variable that is not set.
        keyspace = keyspace or None
        if keyspace is not None:
            check_keyspace(keyspace)
        # Hold the lock, because two threads that connect at the same time must not start two
        # engines.
        with self._lock:
            if self.is_shutdown:
                raise self._shut_down()
            is_first_connect = self._core is None or self._loop_thread is None
            try:
                if is_first_connect:
                    self._stop()  # closes what an interrupted call has left open
                    self._start()
                engine = self._engine
                session = self._new_session(wait_for_all_pools)
                # Another thread may have called `shutdown` since. `shutdown` sets `is_shutdown`
                # before it waits for the lock.
                if self.is_shutdown:
                    raise self._not_connected()
            except BaseException:
                if is_first_connect:
                    self._stop()
                raise
        # Without pools, the session sends requests on the control connection, where USE is not
        # allowed. In this case `adopt_without_use` sets the keyspace.
        if keyspace is not None and not session._engine.adopt_without_use(keyspace):
            try:
                session.set_keyspace(keyspace)
            except BaseException as error:
                session.shutdown()
                if is_first_connect:
                    with self._lock:
                        # Other threads may have connected in the meantime. Then the engine, which
                        # may also be another one, belongs to their sessions.
                        if self._engine is engine and not self.sessions:
                            self._stop()
                if type(error) is InvalidRequest:  # the keyspace does not exist
                    raise no_keyspace(keyspace, error) from None
                raise
        return session

    def _start(self) -> None:
        """Start the engine's threads, and connect the engine."""
        # The constructor has checked this, too, but the application may have changed the settings.
        self._check_loops()
        if self._was_stopped and self._cloud is None:
            # Resolve the host names of the contact points again, because their addresses may have
            # changed since the constructor. If no name can be resolved now, use the earlier
            # addresses.
            with suppress(UnresolvableContactPoints):
                self.endpoints_resolved = self._resolve(self._named_endpoints)
        name = f"cassandra-loop-{id(self):x}"
        engine = self._engine = _Engine()
        # If starting the thread fails, `connect` calls `_stop`.
        thread = self._loop_thread = engine.start_thread(name)
        core = self._core = thread.run(self._make_core(engine))
        for number in range(2, self.loops + 1):
            if self.is_shutdown:  # a signal handler has called `shutdown`, so nobody else stops it
                raise self._shut_down()
            workers.start_worker(core, engine.start_thread(f"{name}-{number}"))
        # Close the engine if the application drops the cluster without calling `shutdown`. These
        # objects must not refer to the cluster: otherwise the cluster would never be garbage
        # collected.
        self._dropped = _Dropped(engine, str(self))
        self._finalizer = weakref.finalize(self, self._dropped.close_soon)
        self._finalizer.atexit = False  # `_shutdown_all` runs at exit instead

    async def _make_core(self, engine: _Engine) -> Core:
        """Make an engine and connect it. This runs on the first event loop."""
        thread = engine.threads[0]
        core = engine_core()(self._settings(), self.metadata, thread.loop)
        core.wake_queue = thread.wake_queue
        core.listeners.use_thread(thread.loop)
        # Store the engine before the first `await`, so that `_stop` closes it if `connect` fails or
        # is cancelled.
        self._core = engine.core = core
        self._observe_connecting(core)
        await core.connect()
        await self._on_connected(core)
        return core

    def _new_session(self, wait_for_all_pools: bool) -> Session:
        """Open a session that has no keyspace. `connect` sets the keyspace afterwards."""
        core = self._core
        if core is None:  # a signal handler has called `shutdown`
            raise self._not_connected()
        engine = self._run(
            core.open_session(
                keyspace=None,
                distance=self.profile_manager.distance,
                wait_for_all=wait_for_all_pools,
            )
        )
        session = Session(self, self.metadata.all_hosts(), engine=engine)
        try:
            for worker in core.workers:
                worker.thread.run(worker.follow(engine, wait_for_all_pools))
        except BaseException:  # for example KeyboardInterrupt, or `shutdown` in another thread
            session.shutdown()
            raise
        self._encode_user_types(session)
        self.sessions.add(session)
        return session

    def _close_session(self, session: Session) -> None:
        """Close `session`'s connections."""
        self.sessions.discard(session)
        thread = self._loop_thread
        if thread is None:
            return
        # If a callback closes the session, the current thread is the loop's own thread, which must
        # not wait for itself.
        if thread.is_current():
            session._close_engine()
            return
        followers = session._engine.followers
        with suppress(ConnectionShutdown):  # another thread has shut down the cluster
            thread.run(_call_on_loop(session._close_engine), SHUTDOWN_TIMEOUT)
        # Each worker also has a part of the session, which it closes on its own loop. Wait until
        # all parts are closed. But do not wait in the thread of a worker, because another worker
        # may be waiting for this thread in the same way.
        if get_ident() not in session._loops.idents:
            for follower in followers:
                with suppress(ConnectionShutdown):
                    follower.core.thread.run(_call_on_loop(follower.close), SHUTDOWN_TIMEOUT)

    def add_execution_profile(
        self, name: Hashable, profile: ExecutionProfile, pool_wait_timeout: float | None = 5
    ) -> None:
        """Add an execution profile. To use it, pass its name as `execution_profile`.

        :param name: any hashable object.
        :param profile: an `ExecutionProfile`.
        :param pool_wait_timeout: how many seconds to wait until connections are open to hosts that
            only the new profile's policy uses; None for no limit, 0 for no wait.
        :raises ValueError: if a profile with this name exists, or old-style settings are used.
        :raises OperationTimedOut: if the connections are not open after `pool_wait_timeout`. The
            profile is added nevertheless.
        """
        policy = self._add_profile(name, profile)
        core = self._core
        # `policy` is None if another profile already uses it. Its pools exist then.
        if policy is None or core is None:
            return
        opening = self._run(_call_on_loop(core.policies.adopt, policy, self))
        if pool_wait_timeout != 0:
            self._run(pools_opened(opening, pool_wait_timeout, name))

    def _adopt_policy(self, policy: LoadBalancingPolicy) -> None:
        """Open the pools to hosts that only `policy` uses, if the cluster is connected.

        If no pool to a host of the policy is open yet, this waits until the pools are open, because
        the caller is about to send a request. It does not wait in the thread of the first loop,
        which opens the pools. It does not wait in the thread of a worker's loop either, which could
        read no responses during the wait.
        """
        if self._core is None:
            return
        if self._is_in_loop():
            self._core.policies.adopt(policy, self)
            return
        opening = self._run_briefly(_call_on_loop(self._core.policies.adopt, policy, self))
        if self._is_in_worker():
            return
        # HostDistance.IGNORED is negative, so the condition excludes ignored hosts.
        used_hosts = [host for host in self.metadata.all_hosts() if policy.distance(host) >= 0]
        if not any(self._core.sessions.have_pool(host) for host in used_hosts):
            with suppress(OperationTimedOut):  # the pools continue to open
                self._run(pools_opened(opening, POOLS_WAIT, policy))

    def _attach_policy(self, policy: AttachedPolicy) -> None:
        if self._core is None:
            return
        if self._is_in_loop():
            self._core.policies.attach_once(policy)
        else:
            self._run_briefly(_call_on_loop(self._core.policies.attach_once, policy))

    def _is_in_loop(self) -> bool:
        """Return True if the current thread runs the first loop, for example in a callback.

        Such a thread must not wait for the loop.
        """
        return self._loop_thread is not None and self._loop_thread.is_current()

    def _resize_pools(self) -> None:
        if self._core is not None:
            self._run(_call_on_loop(self._core.sessions.resize_pools))

    @with_example("cluster.register_user_type('keyspace', 'type', SomeClass)")
    def register_user_type(self, keyspace: str, user_type: str, klass: type[Any]) -> None:
        """Map a user-defined type to a class.

        Values of the type are decoded as instances of the class, and instances are accepted as
        parameters.

        You may call this method before `connect`. Then `connect` raises UserTypeDoesNotExist if the
        cluster does not have the type.

        :param keyspace: the name of the type's keyspace.
        :param user_type: the name of the type.
        :param klass: dict; or a class whose constructor takes the fields as keyword arguments, and
            whose instances have them as attributes.
        :raises UserTypeDoesNotExist: if the cluster is connected and does not have the type.
        """
        check_user_type(keyspace, user_type)
        core = self._core
        if core is not None:
            fields = self._run(core.user_type_fields(keyspace, user_type))
            self._user_types.take_fields(keyspace, user_type, fields)
        elif self.is_shutdown:
            raise self._not_connected()
        self._add_user_type(keyspace, user_type, klass)

    # -- hosts -------------------------------------------------------------------------------------

    def get_control_connection_host(self) -> Host | Any:
        """Return the host of the control connection; None if there is no control connection."""
        core = self._core
        return core.control.current_host if core is not None else None

    def refresh_nodes(self, force_token_rebuild: bool = False) -> None:
        """Read the list of nodes from the server now, instead of waiting for an event.

        :param force_token_rebuild: compute the replicas of partitions again, even if no token has
            changed.
        """
        core = self._core
        if core is None:
            raise self._not_connected()
        self._run(core.control.refresh_nodes(force_token_rebuild))

    def _refresh_schema(self, target: Target, max_wait: float | None) -> None:
        core = self._core
        if core is None:
            raise self._not_connected()
        self._run(core.schema.refresh(target, max_wait))

    # -- shutdown ----------------------------------------------------------------------------------

    def shutdown(self) -> None:
        """Close all sessions and connections, and end the engine's thread.

        Usually this takes at most a few seconds. Requests in flight fail with `SessionShutdown`.
        Further calls do nothing.

        :raises RuntimeError: if called in the thread of an event loop, which would wait for itself.
        :raises TimeoutError: if an event loop is blocked for 10 seconds, by a callback for example.
        """
        renew_after_any_fork()
        if any(thread.is_current() for thread in self._loop_threads()):
            raise RuntimeError(
                "Cluster.shutdown() was called in the driver's own event loop thread, "
                "which it would wait for"
            )
        self.is_shutdown = True
        lock = self._lock
        try:
            # Another thread may hold the lock for a long time in `connect`. Cancel the calls of
            # that thread repeatedly, until it releases the lock.
            while not lock.acquire(timeout=CANCEL_INTERVAL):
                for thread in self._loop_threads():
                    thread.cancel_calls()
            if self._is_over:
                return
            for session in list(self.sessions):
                session.is_shutdown = True
            self._stop()
            if self._executor is not None:
                self._executor.shutdown(wait=False)
            self._is_over = True
        finally:
            # See `new_reentrant_lock` for this way to release the lock.
            try:
                lock.release()
            except RuntimeError:
                pass

    def _stop(self) -> None:
        """Close the engine and end its threads. Does nothing if there is no engine.

        If a signal handler raises an exception in this method, the engine goes on closing in its
        threads. A further call then waits until the engine is closed.
        """
        engine = self._engine
        if engine is None:
            return
        self._was_stopped = True
        self._core = None
        self._loop_thread = None
        if self._finalizer is not None:
            self._finalizer.detach()
        # `_Dropped.close` may have been faster. It closes the engine, and also ends the threads.
        if self._dropped is not None:
            self._dropped.claim_closing(_BY_CLUSTER)
        try:
            engine.close()
        except NoEnd:  # a callback blocks a loop: repeated calls would have to wait again
            self._engine = None
            raise
        except BaseException:
            engine.close_soon()
            raise
        self._engine = None

    def _abandon_after_fork(self) -> None:
        """Make a connected cluster unusable in a forked child, which has no engine's threads."""
        # Make a new lock. Another thread of the parent may have held the old lock at the fork. That
        # thread does not exist in the child, so nobody would release the old lock.
        self._lock = new_reentrant_lock()
        # The child may connect a cluster that was not connected at the fork: it has neither a
        # thread nor connections. Servers that fork worker processes often create their clusters
        # before the fork.
        if self._engine is None:
            return
        for thread in self._engine.threads:
            thread.abandon(_FORKED)
        if self._finalizer is not None:
            self._finalizer.detach()
        self.is_shutdown = self._is_over = self._is_forked = True
        for session in list(self.sessions):
            session.is_shutdown = True

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *args: object) -> None:
        self.shutdown()


class _Engine:
    """An engine with the threads of its loops, which are closed together."""

    __slots__ = ("core", "threads")

    def __init__(self) -> None:
        self.core: Core | None = None  # set on the first loop
        self.threads: list[LoopThread] = []

    def start_thread(self, name: str) -> LoopThread:
        """Start a thread with an event loop.

        :raises RuntimeError: if the interpreter is ending.
        """
        thread = LoopThread(name)
        # Remember the thread before it runs, so that `close` finds it even if `start` is
        # interrupted.
        self.threads.append(thread)
        # Python raises RuntimeError when a thread is started while the interpreter ends.
        try:
            thread.start()
        except RuntimeError as error:
            # Before Python 3.12, an isolated sub-interpreter cannot start threads. There, uvloop's
            # `close` never returns for a loop that has not run, so leave the loop open.
            if "isolated subinterpreter" in str(error):
                thread.abandon(str(error))
                raise needs_daemon_threads(error) from None
            thread.stop()
            raise RuntimeError(
                f"no thread can be started for the connections of a Cluster ({error}): connect "
                "before the interpreter ends"
            ) from None
        return thread

    def close(self) -> None:
        """Close the engine, and wait for the end of its threads.

        :raises NoEnd: if a loop is blocked.
        """
        # The workers are closed first, because the stack makes the calls in reverse order. It makes
        # all calls, even if one of them raises an error.
        with ExitStack() as stack:
            for thread in self.threads:
                close = partial(self._close_on, thread, copy_context())
                stack.callback(_close_loop, thread, close)

    def close_soon(self) -> None:
        """Begin to close the engine in its own threads, and return at once."""
        for thread in reversed(self.threads):
            thread.stop_after(_quietly(partial(self._close_on, thread)))

    async def _close_on(self, thread: LoopThread, context: Context | None = None) -> None:
        """Close the engine's part on the loop of `thread`. That loop must run this coroutine.

        :param context: the context (see `contextvars`) of observers; None for an empty context.
        """
        core = self.core
        if core is None:
            return
        if thread is self.threads[0]:
            await core.close(context)
        for worker in core.workers:
            if worker.thread is thread:
                await worker.close()


def _close_loop(thread: LoopThread, close: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run the coroutine of `close` on the loop of a thread, and end the thread."""
    if thread.is_ending or thread.close_unused():
        thread.stop(SHUTDOWN_TIMEOUT)
        return
    try:
        thread.run(close(), SHUTDOWN_TIMEOUT)
    except NoEnd:
        # The loop is blocked, so wait only briefly for the thread.
        thread.stop(LAST_TIMEOUT)
        raise
    except BaseException as error:
        # If a signal handler in this thread has called `shutdown`, the loop has ended.
        if not (isinstance(error, ConnectionShutdown) and thread.is_ending):
            # The wait was interrupted, for example by the exception of a signal handler. Let the
            # loop continue to close the engine.
            thread.stop_after(_quietly(close))
            thread.stop(LAST_TIMEOUT)
            raise
    thread.stop(SHUTDOWN_TIMEOUT)


async def _quietly(close: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run the coroutine of `close` and drop its error.

    The caller has already raised an error, or does not wait for the coroutine.

    :param close: makes the coroutine when it is to run. If it were made before, and the loop ended
        first, Python would warn that it was never awaited.
    """
    with suppress(Exception):
        await close()


async def _call_on_loop(function: Callable[..., T], *args: Any) -> T:
    """Call `function` in a coroutine, so that `Cluster._run` can run it on the loop."""
    return function(*args)


# Values of `_Dropped._closer`: who closes the engine, `Cluster.shutdown` or the finalizer.
_BY_CLUSTER, _BY_FINALIZER = "cluster", "finalizer"


class _Dropped:
    """Closes the engine of a Cluster that was garbage collected without `shutdown`.

    The engine is closed after a short delay (`DROPPED_WAIT`). Without the delay, a warning could be
    wrong: if the cluster and its owner are in a reference cycle, the cluster's finalizer may run
    just before ``__del__`` of the owner, which may call `shutdown`.

    :param name: the string form of the cluster, for the warning.
    """

    __slots__ = ("_closer", "_engine", "_lock", "_name")

    def __init__(self, engine: _Engine, name: str) -> None:
        self._engine = engine
        self._name = name
        self._closer: str | None = None
        self._lock = new_lock()

    def claim_closing(self, closer: str) -> bool:
        """Return True if `closer` must close the engine; False if the other closer does."""
        # Whoever has called this first closes the engine, so `_shutdown_all` need not close it.
        _dropped.discard(self)
        with self._lock:
            self._closer = self._closer or closer
            return self._closer == closer

    def close_soon(self) -> None:
        """Schedule `close` after a delay. The finalizer calls this, in any thread."""
        _dropped.add(self)
        with suppress(RuntimeError):  # the loop is closed
            # `call_later` is not thread-safe, so let the loop's own thread call it.
            loop = self._engine.threads[0].loop
            loop.call_soon_threadsafe(loop.call_later, DROPPED_WAIT, self.close)

    def close(self) -> None:
        """Warn and begin to close the engine, unless `shutdown` has already closed it."""
        if self.claim_closing(_BY_FINALIZER):
            warnings.warn(
                f"{self._name} was dropped without shutdown()", ResourceWarning, stacklevel=2
            )
            self._engine.close_soon()


# Objects whose clusters were garbage collected, but whose engines are still open, because the delay
# is not over.
_dropped: set[_Dropped] = set()


_FORKED = (
    "this Cluster was connected before the process was forked: its connections and its thread "
    "belong to the parent. Connect a Cluster in each child process, after the fork"
)

# All clusters that were created and not yet garbage collected, whether they are connected or not.
_live_clusters: weakref.WeakSet[Cluster] = weakref.WeakSet()


def _is_end_of_daemon(args: threading.ExceptHookArgs) -> bool:
    """Return True if a daemon thread has ended with the error of a session that was shut down."""
    shutdown_errors = (SessionShutdown, ConnectionShutdown)
    return (
        isinstance(args.exc_value, shutdown_errors)
        and args.thread is not None
        and args.thread.daemon
    )


def _quieten_daemons() -> None:
    """Suppress the tracebacks of daemon threads whose sessions are closed at exit."""
    original_hook = threading.excepthook

    def skip_shutdown_errors(args: threading.ExceptHookArgs) -> None:
        if not _is_end_of_daemon(args):
            original_hook(args)

    threading.excepthook = skip_shutdown_errors


def _shutdown_all() -> None:
    """Shut down all clusters at the exit of the interpreter."""
    renew_after_any_fork()
    if _live_clusters:
        _quieten_daemons()
    # Close the engines of clusters that were garbage collected without `shutdown`. Do not wait for
    # the end of their delay, because the interpreter ends.
    for dropped in list(_dropped):
        dropped.close()
    for cluster in list(_live_clusters):
        try:
            cluster.shutdown()
        except TimeoutError:
            log.warning(
                "%r did not close within %s s: something blocks its event loop, a callback perhaps",
                cluster,
                SHUTDOWN_TIMEOUT,
            )


@renew_in_child
def _after_fork_in_child() -> None:
    """Make the parent's clusters unusable in a forked child process."""
    for cluster in list(_live_clusters):
        cluster._abandon_after_fork()


atexit.register(_shutdown_all)

Cluster.__module__ = "cassandra.cluster"

add_habits(Cluster, CLUSTER_SETTINGS, settings=True)
add_habits(Cluster, CLUSTER, operations={"__aenter__": IN_ASYNC})
