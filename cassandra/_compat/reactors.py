"""Names of event loops, for programs that choose one: this driver has one, asyncio's."""

from __future__ import annotations

from typing import Any

from cassandra.engine.connection import Connection

__all__ = [
    "AsyncioConnection",
    "AsyncoreConnection",
    "EventletConnection",
    "GeventConnection",
    "LibevConnection",
    "Reactor",
    "TwistedConnection",
]


class Reactor(Connection):
    """A connection of an event loop that this driver does not have.

    It stands for the driver's one kind of connection as ``connection_class``. A subclass may have a
    ``factory`` of its own, through which each connection is opened then.

    :param args: whatever a program passes.
    :param kwargs: the same, by keyword.
    :raises NotImplementedError: always.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(
            f"{type(self).__name__} cannot be made by a program: a Cluster opens its connections"
        )


class AsyncioConnection(Reactor):
    """A name for the driver's one kind of connection."""


class AsyncoreConnection(Reactor):
    """A name for the driver's one kind of connection."""


class EventletConnection(Reactor):
    """A name for the driver's one kind of connection. The package eventlet is not needed."""

    @classmethod
    def service_timeouts(cls) -> None:
        """Do nothing: the event loop has timers of its own."""


class GeventConnection(Reactor):
    """A name for the driver's one kind of connection. The package gevent is not needed."""


class LibevConnection(Reactor):
    """A name for the driver's one kind of connection."""


class TwistedConnection(Reactor):
    """A name for the driver's one kind of connection. The package twisted is not needed."""


for _class in Reactor.__subclasses__():
    _class.__module__ = f"cassandra.io.{_class.__name__.removesuffix('Connection').lower()}reactor"
del _class
