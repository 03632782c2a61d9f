"""`GeventConnection`, for programs that pass it as ``connection_class``; the engine is the same
whatever is passed, and the package gevent is not needed.
"""

from cassandra._compat.reactors import Reactor

__all__ = ["GeventConnection"]


class GeventConnection(Reactor):
    """A name for the driver's one kind of connection."""
