"""What goes wrong when real nodes are run on this machine, each with what to do about it."""

from __future__ import annotations

__all__ = [
    "CommandFailed",
    "LocalClusterError",
    "MissingRequirement",
    "NodeFailed",
    "NotReady",
    "StartCancelled",
]


class LocalClusterError(Exception):
    """The base of everything that :class:`~cassandra.testing.LocalCluster` raises about itself."""

    __module__ = "cassandra.testing"


class MissingRequirement(LocalClusterError):
    """Something has to be installed first (Java 17, Maven, ...); the message says exactly what."""

    __module__ = "cassandra.testing"


class CommandFailed(LocalClusterError):
    """A command (Maven, nodetool, keytool, ...) ended with an error or took too long.

    ``output`` holds all that it printed; ``code`` its exit status, or None where it was stopped for
    taking too long.
    """

    __module__ = "cassandra.testing"

    def __init__(self, message: str, *, code: int | None, output: str) -> None:
        super().__init__(message)
        self.code = code
        self.output = output


class NodeFailed(LocalClusterError):
    """A node ended by itself; the message holds the tail of its log, ``log`` all of it."""

    __module__ = "cassandra.testing"

    def __init__(self, message: str, *, log: str) -> None:
        super().__init__(message)
        self.log = log


class NotReady(LocalClusterError):
    """The nodes run, but did not become ready in time; the message says what each one still lacks."""

    __module__ = "cassandra.testing"


class StartCancelled(LocalClusterError):
    """Whoever waited for the cluster does not any more (``async with`` in a task that was
    cancelled).
    """

    __module__ = "cassandra.testing"
