"""Attributes of cassandra-driver's connections and pools, for the engine's classes.

The module `cassandra.engine.compat_names` adds these attributes to the engine's classes, for
applications that mock, patch or inspect connections and pools. A method that would have to run on
the engine's event loop raises an error.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from cassandra._compat.refusal import refusing
from cassandra._proxies import is_own
from cassandra.engine.connection import Connection
from cassandra.errors import ConnectionException

if TYPE_CHECKING:
    from cassandra.engine.endpoint import EndPoint
    from cassandra.engine.settings import Settings
    from cassandra.metadata.host import Host

# The reason in the errors of methods that only the event loop may call.
_LOOP_ONLY = "it belongs to the driver's event loop: use Session.execute or Session.execute_async"

# While an application's own `factory` runs, this variable has the function by which
# `CompatConnection.factory` opens a connection.
_current_opener: contextvars.ContextVar[Callable[[EndPoint], Connection]] = contextvars.ContextVar(
    "cassandra_opening"
)


class CompatConnection:
    """The attributes and methods of a connection that cassandra-driver has."""

    __slots__ = ()

    endpoint: EndPoint
    version: int
    closed: bool
    close_error: Exception | None

    is_unsupported_proto_version = False

    @classmethod
    def factory(cls, endpoint: EndPoint, timeout: float | None, *args: Any, **kwargs: Any) -> Any:
        """Open a connection for the cluster that is connecting.

        The engine calls `factory` only if your code replaces this method, by a patch or in a
        subclass that you pass as ``connection_class``. Your factory may call this method.

        :param endpoint: the node's `EndPoint`.
        :param timeout: the maximum number of seconds until the connection is open.
        :param args: accepted for compatibility; without effect.
        :param kwargs: accepted for compatibility; without effect.
        :raises ConnectionException: if no cluster is opening a connection.
        """
        # `open_by_factory` has set this variable in the context of this thread.
        opener = _current_opener.get(None)
        if opener is None:
            raise ConnectionException(
                f"{cls.__name__}.factory() was called outside of a Cluster, which opens connections"
            )
        return opener(endpoint)

    @classmethod
    def initialize_reactor(cls) -> None:
        """Do nothing: each cluster starts its event loop when it connects."""

    @classmethod
    def handle_fork(cls) -> None:
        """Do nothing: in a forked child process, each cluster closes itself."""

    @property
    def host(self) -> str:
        """The address of the end point."""
        return self.endpoint.address

    @property
    def port(self) -> int:
        """The port of the end point."""
        return self.endpoint.port

    @property
    def protocol_version(self) -> int:
        """The protocol version of the connection."""
        return self.version

    @property
    def is_closed(self) -> bool:
        """True if the connection is closed."""
        return self.closed

    @property
    def is_defunct(self) -> bool:
        """True if an error has closed the connection."""
        return self.close_error is not None

    @property
    def last_error(self) -> Exception | None:
        """The error that has closed the connection, or None."""
        return self.close_error

    send_msg = refusing("Connection.send_msg()", _LOOP_ONLY)
    wait_for_response = refusing("Connection.wait_for_response()", _LOOP_ONLY)
    wait_for_responses = refusing("Connection.wait_for_responses()", _LOOP_ONLY)


# The driver's own factory, which an application may replace.
_OWN_FACTORY = vars(CompatConnection)["factory"].__func__


async def open_by_factory(
    open_connection: Callable[..., Coroutine[Any, Any, Connection]],
    settings: Settings,
    endpoint: EndPoint,
    *details: Any,
) -> Connection:
    """Open a connection, through the application's own `factory` if it has defined one.

    The factory may block, so it runs in a separate thread.

    :param open_connection: opens a connection; called with the end point and `details`.
    :raises ConnectionException: if the factory returns something other than a connection, or raises
        OSError.
    """
    factory = getattr(settings.connection_class, "factory", None)
    # If the application has not replaced the factory, open the connection directly, without a
    # thread.
    if factory is None or is_own(factory, _OWN_FACTORY):
        return await open_connection(endpoint, *details)
    loop = asyncio.get_running_loop()

    # The application's factory may call this function in its thread, where it waits while the event
    # loop opens a connection.
    def open_from_thread(endpoint: EndPoint) -> Connection:
        return asyncio.run_coroutine_threadsafe(open_connection(endpoint, *details), loop).result()

    # Set the opener in the context of this task. `to_thread` copies the context, so the opener is
    # also set in the thread of the factory.
    _current_opener.set(open_from_thread)
    try:
        connection = await asyncio.to_thread(factory, endpoint, settings.connect_timeout)
    # Convert a socket error of the factory, so that the engine handles it as a failed connection.
    except OSError as cause:
        raise ConnectionException(f"{endpoint} cannot be connected to: {cause}") from cause
    if not isinstance(connection, Connection):
        raise ConnectionException(
            f"the factory of {settings.connection_class!r} gave {connection!r}, "
            "which is not a connection"
        )
    return connection


class CompatPool:
    """The attributes and methods of a pool that cassandra-driver has."""

    __slots__ = ()

    host: Host
    closed: bool
    distance: int
    connections: list[Connection]

    @property
    def is_shutdown(self) -> bool:
        """True if the pool is closed."""
        return self.closed

    @property
    def host_distance(self) -> int:
        """The distance of the host, according to the policies."""
        return self.distance

    @property
    def open_count(self) -> int:
        """The number of open connections."""
        return len(self.connections)

    def get_connections(self) -> list[Connection]:
        """Return the open connections."""
        return list(self.connections)

    def get_state(self) -> dict[str, Any]:
        """Return the entry of this host in `Session.get_pool_state`."""
        return self.state()

    def state(self) -> dict[str, Any]:
        """Return the pool's state as a dict. The engine's pools implement this method."""
        raise NotImplementedError

    borrow_connection = refusing("HostConnection.borrow_connection()", _LOOP_ONLY)
    return_connection = refusing("HostConnection.return_connection()", _LOOP_ONLY)
