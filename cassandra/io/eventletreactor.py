"""`EventletConnection`, for programs that pass it as ``connection_class``; the engine is the same
whatever is passed, and the package eventlet is not needed.
"""

from cassandra._compat.reactors import Reactor

__all__ = ["EventletConnection"]


class EventletConnection(Reactor):
    """A name for the driver's one kind of connection."""

    @classmethod
    def service_timeouts(cls) -> None:
        """Do nothing: the event loop has timers of its own."""
