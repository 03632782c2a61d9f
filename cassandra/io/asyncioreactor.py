"""`AsyncioConnection`, for programs that pass it as ``connection_class``; the engine is the same
whatever is passed.
"""

from cassandra.engine.connection import Connection

__all__ = ["AsyncioConnection"]


class AsyncioConnection(Connection):
    """A name for the driver's one kind of connection."""
