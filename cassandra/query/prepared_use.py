"""A prepared USE statement, which is executed like a simple statement."""

from __future__ import annotations

from typing import Any

from cassandra.query.bound import BoundStatement
from cassandra.query.prepared import PreparedStatement


class BoundUse(BoundStatement):
    """A USE statement bound from a `PreparedUse`, without values."""

    __slots__ = ()


class PreparedUse(PreparedStatement):
    """A prepared USE statement.

    A server that executes USE switches the keyspace of the connection. The driver has to know that,
    so it sends a prepared USE in the same way as a USE that is not prepared.
    """

    __slots__ = ()

    def bind(self, values: Any) -> BoundStatement:
        """Return the bound statement. A USE statement has no bind markers."""
        return BoundUse(self).bind(values)
