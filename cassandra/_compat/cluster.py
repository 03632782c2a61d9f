"""Methods of `Cluster` and `Session` that cassandra-driver has, implemented on top of the engine.

The module `cassandra.cluster.compat_names` adds them to the classes.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextvars import Context
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from cassandra import concurrent
from cassandra._compat.control_connection import ControlConnection
from cassandra._compat.refusal import refuse
from cassandra._imports import Deferred
from cassandra.errors import ConnectionShutdown

if TYPE_CHECKING:
    from cassandra.engine import connection as engine_connection
    from cassandra.engine.core import Core
    from cassandra.metadata.host import Host
else:
    engine_connection = Deferred("cassandra.engine.connection")

T = TypeVar("T")


class _Executor(ThreadPoolExecutor):
    """An executor whose threads begin in an empty context.

    A thread that inherits the context of the first call that is submitted would keep it: see
    `cassandra._threads.daemon_thread`.
    """

    def submit(self, *args: Any, **kwargs: Any) -> Future[Any]:
        return Context().run(super().submit, *args, **kwargs)


class CompatCluster:
    """Methods of cassandra-driver that are added to `cassandra.cluster.Cluster`."""

    _run: Callable[..., Any]
    _core: Core | None
    _not_connected: Callable[[], Exception]
    _control_connection: ControlConnection | None = None
    _executor: Executor | None = None
    executor_threads: int
    is_shutdown: bool
    refresh_nodes: Callable[[], None]

    @property
    def executor(self) -> Executor:
        """The threads for work of the application, which `Session.submit` uses."""
        if self._executor is None:
            self._executor = _Executor(self.executor_threads, "cassandra-executor")
        return self._executor

    def on_up(self, host: Host) -> None:
        """Handle `host` as if the cluster had reported it up.

        You need not call this: the cluster reports the states of hosts to the driver.

        :param host: a `Host` of `Cluster.metadata`.
        :raises TypeError: if `host` is something else, such as an address.
        """
        self._notify("on_reported_up", host)

    def on_down(
        self, host: Host, is_host_addition: bool = False, expect_host_to_be_down: bool = False
    ) -> None:
        """Handle `host` as if the cluster had reported it down.

        You need not call this: the cluster reports the states of hosts to the driver.

        :param host: a `Host` of `Cluster.metadata`.
        :param is_host_addition: accepted for compatibility; without effect.
        :param expect_host_to_be_down: accepted for compatibility; without effect.
        :raises TypeError: if `host` is something else, such as an address.
        """
        self._notify("on_reported_down", host)

    def on_add(self, host: Host, refresh_nodes: bool = True) -> None:
        """Read the node list again.

        You need not call this: the cluster reports new nodes to the driver.

        :param host: the `Host`.
        :param refresh_nodes: False to do nothing.
        """
        if refresh_nodes:
            self.refresh_nodes()

    def on_remove(self, host: Host) -> None:
        """Read the node list again.

        You need not call this: the cluster reports removed nodes to the driver.

        :param host: the `Host`.
        """
        self.refresh_nodes()

    def _notify(self, method: str, host: Host) -> None:
        """Call a method of the engine's host watch, on the event loop.

        :raises TypeError: if `host` is not a `Host`, but an address or an end point.
        """
        # Check `host` in the caller's thread, because an error on the event loop would only reach
        # asyncio's log.
        if not hasattr(host, "is_up"):
            given: object = host
            address = given if isinstance(given, str) else "address"
            raise TypeError(
                f"host must be a Host of cluster.metadata, but is {host!r}: write "
                f"cluster.metadata.get_host({address!r})"
            )
        core = self._core
        if core is not None:
            core.loop.call_soon_threadsafe(getattr(core.hosts, method), host)

    @property
    def control_connection(self) -> ControlConnection:
        """The connection that delivers the node list, events and schema versions."""
        if self._control_connection is None:
            self._control_connection = ControlConnection(weakref.proxy(self))
        return self._control_connection

    def get_connection_holders(self) -> list[Any]:
        """Return all objects that own connections: the sessions' pools, the control connection."""
        core = self._core
        if core is None:
            return []
        pools = [pool for session in list(core.sessions) for pool in session.all_pools()]
        return [*pools, self.control_connection]

    def connection_factory(
        self, endpoint: Any, *args: object, **kwargs: object
    ) -> engine_connection.Connection:
        """Open a connection to `endpoint` that belongs to no pool.

        The caller must close the connection on the engine's event loop.

        :param endpoint: the node's `EndPoint`.
        :param args: accepted for compatibility; without effect.
        :param kwargs: accepted for compatibility; without effect.
        :raises ConnectionException: if the cluster is not connected, or the connection fails.
        """
        core = self._core
        if core is None:
            raise self._not_connected()
        connection: engine_connection.Connection = self._run(core.open_connection(endpoint))
        return connection


class CompatSession:
    """Methods of cassandra-driver that are added to `cassandra.cluster.Session`."""

    cluster: Any
    set_keyspace: Callable[[str], None]

    def submit(self, fn: Callable[..., T], *args: Any, **kwargs: Any) -> Future[T]:
        """Call ``fn(*args, **kwargs)`` in a thread of `Cluster.executor` and return a future.

        :param fn: a function.
        :param args: the arguments of `fn`.
        :param kwargs: the keyword arguments of `fn`.
        :raises ConnectionShutdown: if the cluster is shut down.
        """
        if self.cluster.is_shutdown:
            raise ConnectionShutdown("the cluster is shut down")
        submitted: Future[T] = self.cluster.executor.submit(fn, *args, **kwargs)
        return submitted

    def user_type_registered(self, keyspace: str, user_type: str, klass: type[Any]) -> None:
        """Register a user-defined type for all sessions of the cluster.

        In cassandra-driver, `Cluster.register_user_type` calls this method for each session. Here,
        this method calls `Cluster.register_user_type`.

        :param keyspace: the name of the type's keyspace.
        :param user_type: the name of the type.
        :param klass: a class that takes the fields as keyword arguments and has them as attributes;
            or dict.
        :raises UserTypeDoesNotExist: if the cluster does not have the type.
        """
        self.cluster.register_user_type(keyspace, user_type, klass)

    # These functions become methods: their first parameter is the session.
    execute_concurrent = concurrent.execute_concurrent
    execute_concurrent_with_args = concurrent.execute_concurrent_with_args
    execute_concurrent_async = concurrent.execute_concurrent_async

    def execute_graph(
        self,
        query: object,
        parameters: object = None,
        trace: bool = False,
        execution_profile: object = None,
        execute_as: object = None,
    ) -> NoReturn:
        """Raise NotImplementedError: graphs are not supported.

        :param query: a graph statement.
        :param parameters: the parameters of the statement.
        :param trace: ask for a trace.
        :param execution_profile: the profile's name.
        :param execute_as: the user to execute it as.
        """
        refuse("Session.execute_graph()")

    def execute_graph_async(
        self,
        query: object,
        parameters: object = None,
        trace: bool = False,
        execution_profile: object = None,
        execute_as: object = None,
    ) -> NoReturn:
        """Raise NotImplementedError: graphs are not supported.

        :param query: a graph statement.
        :param parameters: the parameters of the statement.
        :param trace: ask for a trace.
        :param execution_profile: the profile's name.
        :param execute_as: the user to execute it as.
        """
        refuse("Session.execute_graph_async()")
