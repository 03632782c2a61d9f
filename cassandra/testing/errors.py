"""Errors of running real nodes on this machine. Each message names a remedy."""

from __future__ import annotations

__all__ = [
    "CommandFailed",
    "LocalClusterError",
    "MissingRequirement",
    "NodeFailed",
    "NotReady",
    "StartCancelled",
]


class LocalClusterError(RuntimeError):
    """Base of all errors that :class:`~cassandra.testing.LocalCluster` raises itself."""

    __module__ = "cassandra.testing"


class MissingRequirement(LocalClusterError):
    """Something must be installed first (Java 17, Maven, ...). The message names it exactly."""

    __module__ = "cassandra.testing"


class CommandFailed(LocalClusterError):
    """A command (Maven, nodetool, keytool, ...) ended with an error, or took too long.

    :param message: the command, and how it ended.
    :param code: its exit status; None if it was stopped because it took too long.
    :param output: everything that it printed.
    """

    __module__ = "cassandra.testing"

    def __init__(self, message: str, *, code: int | None, output: str) -> None:
        super().__init__(message)
        self.code = code
        self.output = output


class NodeFailed(LocalClusterError):
    """A node ended unexpectedly.

    :param message: describes the error, and has the end of the node's log.
    :param log: the whole log of the node.
    """

    __module__ = "cassandra.testing"

    def __init__(self, message: str, *, log: str) -> None:
        super().__init__(message)
        self.log = log


class NotReady(LocalClusterError):
    """The nodes run, but were not ready in time. The message names what each node still lacks."""

    __module__ = "cassandra.testing"


class StartCancelled(LocalClusterError):
    """Nobody waits for the cluster any more: the task in its ``async with`` was cancelled."""

    __module__ = "cassandra.testing"
