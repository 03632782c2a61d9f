"""The base of the names of event loops."""

from __future__ import annotations

from typing import Any

from cassandra.engine.connection import Connection

__all__ = ["Reactor"]


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
