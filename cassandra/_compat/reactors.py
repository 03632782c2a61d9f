"""Connection classes of cassandra-driver's event loops, for applications that choose one.

This driver only has asyncio's event loop, so it makes no difference which of these classes an
application chooses.
"""

from __future__ import annotations

from typing import Any

from cassandra.engine.connection import Connection


class Reactor(Connection):
    """Base class of the connection classes of event loops that this driver does not have.

    If you pass such a class as ``connection_class``, the driver uses its own connection class. If
    an application's subclass defines a ``factory``, the driver calls it to open connections.

    :param args: any arguments.
    :param kwargs: any keyword arguments.
    :raises NotImplementedError: always.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(
            f"{type(self).__name__} cannot be made by a program: a Cluster opens its connections"
        )


class AsyncioConnection(Reactor):
    """Another name for the driver's only connection class."""


class AsyncoreConnection(Reactor):
    """Another name for the driver's only connection class."""


class EventletConnection(Reactor):
    """Another name for the driver's only connection class. The package eventlet is not needed."""

    @classmethod
    def service_timeouts(cls) -> None:
        """Do nothing: the event loop has its own timers."""


class GeventConnection(Reactor):
    """Another name for the driver's only connection class. The package gevent is not needed."""


class LibevConnection(Reactor):
    """Another name for the driver's only connection class."""


class TwistedConnection(Reactor):
    """Another name for the driver's only connection class. The package twisted is not needed."""


for _class in Reactor.__subclasses__():
    _class.__module__ = f"cassandra.io.{_class.__name__.removesuffix('Connection').lower()}reactor"
del _class
