"""Attributes that programs know connections and pools by, over those that the engine uses.

Classes of the engine have them by `cassandra.engine.known_names`. They are for mocks, patches and a
look from outside; what only the engine's loop may do refuses.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from cassandra._compat.refusal import refusing
from cassandra.engine.connection import Connection
from cassandra.errors import ConnectionException

if TYPE_CHECKING:
    from cassandra.engine.endpoint import EndPoint
    from cassandra.engine.settings import Settings
    from cassandra.metadata.host import Host

__all__ = ["KnownConnection", "KnownPool", "open_by_factory"]

_LOOP_ONLY = "it belongs to the driver's event loop: use Session.execute or Session.execute_async"

# Set while a program's own `factory` runs: it opens a connection as the engine would.
_opening: contextvars.ContextVar[Callable[[EndPoint], Connection]] = contextvars.ContextVar(
    "cassandra_opening"
)


class KnownConnection:
    """The names that programs have for the parts of a connection."""

    __slots__ = ()

    endpoint: EndPoint
    version: int
    closed: bool
    close_error: Exception | None

    is_unsupported_proto_version = False

    @classmethod
    def factory(cls, endpoint: EndPoint, timeout: float | None, *args: Any, **kwargs: Any) -> Any:
        """Open a connection for the cluster that calls this.

        The engine calls it only if a program has put another one in its place, by a patch or in a
        subclass that it passes as ``connection_class``; that one may call this.

        :param endpoint: the node's `EndPoint`.
        :param timeout: seconds until the connection is open.
        :param args: accepted for older programs; without effect.
        :param kwargs: accepted for older programs; without effect.
        :raises ConnectionException: if no cluster is opening a connection.
        """
        opener = _opening.get(None)
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
        """Do nothing: a cluster closes itself in a child process."""

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
        """The version that it speaks."""
        return self.version

    @property
    def is_closed(self) -> bool:
        """True if it is closed."""
        return self.closed

    @property
    def is_defunct(self) -> bool:
        """True if an error has closed it."""
        return self.close_error is not None

    @property
    def last_error(self) -> Exception | None:
        """The error that has closed it."""
        return self.close_error

    send_msg = refusing("Connection.send_msg()", _LOOP_ONLY)
    wait_for_response = refusing("Connection.wait_for_response()", _LOOP_ONLY)
    wait_for_responses = refusing("Connection.wait_for_responses()", _LOOP_ONLY)


_OWN_FACTORY = vars(KnownConnection)["factory"].__func__


async def open_by_factory(
    open_one: Callable[..., Coroutine[Any, Any, Connection]],
    settings: Settings,
    endpoint: EndPoint,
    *details: Any,
) -> Connection:
    """Open a connection, by a program's own `factory` if the connection class has one.

    It may block, so that it runs in a thread.

    :param open_one: opens a connection to an end point; it also gets the `details`.
    :raises ConnectionException: if it gives something else than a connection, or raises OSError.
    """
    factory = getattr(settings.connection_class, "factory", None)
    if factory is None or getattr(factory, "__func__", None) is _OWN_FACTORY:
        return await open_one(endpoint, *details)
    loop = asyncio.get_running_loop()

    # Called in the factory's thread, which may wait; the loop goes on meanwhile.
    def opener(endpoint: EndPoint) -> Connection:
        return asyncio.run_coroutine_threadsafe(open_one(endpoint, *details), loop).result()

    _opening.set(opener)  # of this task alone; to_thread hands its context on
    try:
        made = await asyncio.to_thread(factory, endpoint, settings.connect_timeout)
    # A patched factory may raise what sockets raise; the engine counts it as no connection.
    except OSError as cause:
        raise ConnectionException(f"{endpoint} cannot be connected to: {cause}") from cause
    if not isinstance(made, Connection):
        raise ConnectionException(
            f"the factory of {settings.connection_class!r} gave {made!r}, which is not a connection"
        )
    return made


class KnownPool:
    """The names that programs have for the parts of a pool."""

    __slots__ = ()

    host: Host
    closed: bool
    distance: int
    connections: list[Connection]

    @property
    def is_shutdown(self) -> bool:
        """True if it is closed."""
        return self.closed

    @property
    def host_distance(self) -> int:
        """The distance of the host, by the policies."""
        return self.distance

    @property
    def open_count(self) -> int:
        """The number of open connections."""
        return len(self.connections)

    def get_connections(self) -> list[Connection]:
        """Return the open connections."""
        return list(self.connections)

    def get_state(self) -> dict[str, Any]:
        """Return what `Session.get_pool_state` has of this host."""
        return self.state()

    def state(self) -> dict[str, Any]:
        """Return the state in one dict."""
        raise NotImplementedError

    borrow_connection = refusing("HostConnection.borrow_connection()", _LOOP_ONLY)
    return_connection = refusing("HostConnection.return_connection()", _LOOP_ONLY)
