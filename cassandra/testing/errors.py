"""The exceptions of `LocalCluster`. Each message says what to do."""

from __future__ import annotations

from cassandra.errors import PickledWhole

__all__ = [
    "CommandFailed", "LocalClusterError", "MissingRequirement", "NodeFailed", "NotReady",
    "StartCancelled",
]  # fmt: skip


class LocalClusterError(PickledWhole, RuntimeError):
    """The base class of the exceptions of :class:`~cassandra.testing.LocalCluster`."""

    __module__ = "cassandra.testing"


class MissingRequirement(LocalClusterError):
    """Java, Maven or something else is missing. The message names the packages to install."""

    __module__ = "cassandra.testing"


class CommandFailed(LocalClusterError):
    """A command (Maven, nodetool, keytool, ...) ended with an error, or took too long.

    :param message: the command, and how it ended.
    :param code: the exit status of the command; None if it took too long and was killed.
    :param output: everything that the command printed.
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
    """The nodes run, but were not ready in time. The message says what each node still lacks."""

    __module__ = "cassandra.testing"


class StartCancelled(LocalClusterError):
    """The start was cancelled, because the task in ``async with LocalCluster()`` was cancelled."""

    __module__ = "cassandra.testing"
