"""`AsyncioConnection`, for programs that pass it as ``connection_class``; the engine is the same
whatever is passed.
"""

from cassandra._compat.reactors import Reactor

__all__ = ["AsyncioConnection"]


class AsyncioConnection(Reactor):
    """A name for the driver's one kind of connection."""
