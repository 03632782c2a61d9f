"""Errors of running real nodes on this machine. Each names a cure."""

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
    """Base of all errors that :class:`~cassandra.testing.LocalCluster` raises about itself."""

    __module__ = "cassandra.testing"


class MissingRequirement(LocalClusterError):
    """Something has to be installed first (Java 17, Maven, ...). The message names it exactly."""

    __module__ = "cassandra.testing"


class CommandFailed(LocalClusterError):
    """A command (Maven, nodetool, keytool, ...) ended with an error, or took too long.

    :param message: the command, and how it ended.
    :param code: its exit status; None if it took too long and was stopped.
    :param output: all that it printed.
    """

    __module__ = "cassandra.testing"

    def __init__(self, message: str, *, code: int | None, output: str) -> None:
        super().__init__(message)
        self.code = code
        self.output = output


class NodeFailed(LocalClusterError):
    """A node ended by itself.

    :param message: has the end of its log.
    :param log: all of its log.
    """

    __module__ = "cassandra.testing"

    def __init__(self, message: str, *, log: str) -> None:
        super().__init__(message)
        self.log = log


class NotReady(LocalClusterError):
    """The nodes run, but were not ready in time. The message names the parts that each one still
    lacks.
    """

    __module__ = "cassandra.testing"


class StartCancelled(LocalClusterError):
    """Nobody waits for the cluster any more (a task in its ``async with`` was cancelled)."""

    __module__ = "cassandra.testing"
