"""A prepared USE statement, which is executed as a simple statement."""

from __future__ import annotations

from typing import Any

from cassandra.query.bound import BoundStatement
from cassandra.query.prepared import PreparedStatement

__all__ = ["BoundUse", "PreparedUse"]


class BoundUse(BoundStatement):
    """A prepared USE with its values; it has none."""

    __slots__ = ()


class PreparedUse(PreparedStatement):
    """A prepared USE.

    The server switches the connection that executes it, so it is sent like an unprepared USE.
    """

    __slots__ = ()

    def bind(self, values: Any) -> BoundStatement:
        """Return the bound statement; a USE has no bind markers."""
        return BoundUse(self).bind(values)
