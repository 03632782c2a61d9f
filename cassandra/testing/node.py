"""One node of a `LocalCluster`: its directory, its process and its log."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping, Sequence
from typing import Any

from cassandra.testing import config
from cassandra.testing.errors import LocalClusterError, NodeFailed
from cassandra.testing.naming import write_class
from cassandra.testing.processes import Supervisor, last_messages, read_text
from cassandra.testing.topology import NodeLocation

_GRACE_S = 30.0  # maximum seconds to wait for the end of a node after SIGTERM
_KILL_S = 20.0  # maximum seconds to wait for the end of a node after SIGKILL
_TOOLS_LOGBACK = """<configuration><root level="OFF"/></configuration>
"""


class LocalNode:
    """A node of a :class:`LocalCluster`.

    Its attributes are the parameters, ``datacenter``, ``rack``, ``pid`` (None before the first
    start) and ``state``: ``"new"``, ``"running"``, ``"paused"``, ``"stopped"``, ``"killed"`` or
    ``"decommissioned"``.

    :param number: the node's number in the cluster, from 1.
    :param location: the node's data centre and rack.
    :param address: the loopback address that the node listens on.
    :param jmx_port: the port of the node's JMX, which nodetool connects to.
    :param directory: the directory of the node's files.
    """

    __module__ = "cassandra.testing"
    __slots__ = (
        "_supervisor", "address", "directory", "jmx_port", "location", "number", "pid", "state",
    )  # fmt: skip

    def __init__(
        self, number: int, location: NodeLocation, address: str, jmx_port: int, directory: str
    ) -> None:
        self.number = number
        self.location = location
        self.address = address
        self.jmx_port = jmx_port
        self.directory = directory
        self.state = "new"
        self.pid: int | None = None
        self._supervisor: Supervisor | None = None

    @property
    def datacenter(self) -> str:
        """The name of the node's data centre."""
        return self.location.datacenter

    @property
    def rack(self) -> str:
        """The name of the node's rack."""
        return self.location.rack

    @property
    def running(self) -> bool:
        """True if the node was started, and has not been stopped or paused since then."""
        return self.state == "running"

    @property
    def log_path(self) -> str:
        """The path of Cassandra's own log."""
        return os.path.join(self.directory, "logs", "system.log")

    @property
    def output_path(self) -> str:
        """The path of the file with the process's output: little, unless Java itself fails."""
        return os.path.join(self.directory, "logs", "output.log")

    def log(self) -> str:
        """Return the process's output, followed by Cassandra's log."""
        return read_text(self.output_path) + read_text(self.log_path)

    def write_files(self, settings: Mapping[str, Any]) -> None:
        """Create the node's directory, with all files that it reads when it starts.

        :param settings: the settings of cassandra.yaml, by name.
        """
        # At a restart, the directories already exist, and their data must survive.
        for name in ("data", "logs", "tmp"):
            os.makedirs(os.path.join(self.directory, name), exist_ok=True)
        files = {
            "cassandra.yaml": config.render_yaml(settings),
            "cassandra-rackdc.properties": config.rackdc_properties(self.location),
            "logback.xml": config.logback_xml(self.log_path),
            "logback-tools.xml": _TOOLS_LOGBACK,
        }
        for name, text in files.items():
            with open(os.path.join(self.directory, name), "w", encoding="utf-8") as stream:
                stream.write(text)
        write_class(os.path.join(self.directory, "tools"))

    def launch(self, supervisor: Supervisor, command: Sequence[str]) -> None:
        """Start the process of the node, without waiting until the node is ready.

        :param supervisor: starts the node's process, and kills it if our process ends.
        :param command: the program and its arguments.
        """
        # Store the supervisor at each launch, because each start of the cluster has a new
        # supervisor.
        self._supervisor = supervisor
        self.pid = supervisor.spawn(command, cwd=self.directory, output=self.output_path)
        self.state = "running"

    def check(self) -> None:
        """Raise NodeFailed if the node's process has ended unexpectedly."""
        if self.state not in ("running", "paused") or self._supervisor is None or self.pid is None:
            return
        # Ask the supervisor: only the parent of the process gets its exit status.
        code = self._supervisor.poll(self.pid)
        if code is None:
            return
        self.state = "stopped"
        log = self.log()
        ending = f"was ended by signal {-code}" if code < 0 else f"ended with status {code}"
        raise NodeFailed(
            f"node {self.number} ({self.address}) {ending}. From the end of its log (the error's "
            f"attribute `log` has all of it):\n{last_messages(log)}",
            log=log,
        )

    def pause(self) -> None:
        """Suspend the node by SIGSTOP: its sockets stay open, but it does not answer."""
        self._signal(signal.SIGSTOP, "running", "pause")
        self.state = "paused"

    def resume(self) -> None:
        """Resume the node by SIGCONT."""
        self._signal(signal.SIGCONT, "paused", "resume")
        self.state = "running"

    def kill(self) -> None:
        """End the node by SIGKILL, and wait until it has ended."""
        if self.state not in ("running", "paused"):
            raise LocalClusterError(f"cannot kill node {self.number}: it is {self.state}")
        # A paused node need not be resumed: SIGKILL also ends a suspended process.
        self._end(signal.SIGKILL, _KILL_S)
        self.state = "killed"

    def shut_down(self) -> None:
        """End the node cleanly by SIGTERM: it flushes its data and notifies its peers.

        If it has not ended after 30 seconds, end it by SIGKILL.
        """
        # A suspended process only gets SIGTERM when it is resumed.
        if self.state == "paused":
            self.resume()
        if self.state != "running":
            return
        if not self._end(signal.SIGTERM, _GRACE_S):
            self._end(signal.SIGKILL, _KILL_S)
        self.state = "stopped"

    def _signal(self, number: int, required: str, verb: str) -> None:
        """Send a signal to the process; raise LocalClusterError unless its state is `required`."""
        if self.state != required or self._supervisor is None or self.pid is None:
            raise LocalClusterError(f"cannot {verb} node {self.number}: it is {self.state}")
        # If the process has ended, `check` raises an error that contains the node's log.
        if not self._supervisor.signal(self.pid, number):
            self.check()

    def _end(self, number: int, timeout: float) -> bool:
        """Send a signal that ends the process.

        :param timeout: the maximum wait for the end, in seconds.
        :returns: False if the process still runs after `timeout`.
        """
        assert self._supervisor is not None
        assert self.pid is not None
        self._supervisor.signal(self.pid, number)
        return self._supervisor.wait(self.pid, timeout) is not None

    def __repr__(self) -> str:
        return (
            f"<LocalNode {self.number} {self.address} {self.datacenter}/{self.rack} {self.state}>"
        )
