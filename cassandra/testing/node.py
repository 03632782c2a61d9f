"""One node: its directory, its process, its log."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping, Sequence
from typing import Any

from cassandra.testing import config
from cassandra.testing.errors import LocalClusterError, NodeFailed
from cassandra.testing.naming import write_class
from cassandra.testing.processes import Supervisor, read_text, tail
from cassandra.testing.topology import Place

__all__ = ["LocalNode"]

_GRACE_S = 30.0
_KILL_S = 20.0
_TOOLS_LOGBACK = """<configuration><root level="OFF"/></configuration>
"""


class LocalNode:
    """A node of a :class:`LocalCluster`.

    Beside the parameters it has ``datacenter``, ``rack``, ``pid`` and ``state``, which is one of
    ``"new"``, ``"running"``, ``"paused"``, ``"stopped"``, ``"killed"``, ``"decommissioned"``.

    :param number: its number in the cluster, from 1.
    :param place: its data centre and rack.
    :param address: the loopback address that it listens on.
    :param jmx_port: the port of its JMX, which nodetool speaks to.
    :param directory: where its files are.
    """

    __module__ = "cassandra.testing"
    __slots__ = (
        "_supervisor",
        "address",
        "directory",
        "jmx_port",
        "number",
        "pid",
        "place",
        "state",
    )

    def __init__(
        self, number: int, place: Place, address: str, jmx_port: int, directory: str
    ) -> None:
        self.number = number
        self.place = place
        self.address = address
        self.jmx_port = jmx_port
        self.directory = directory
        self.state = "new"
        self.pid: int | None = None
        self._supervisor: Supervisor | None = None

    @property
    def datacenter(self) -> str:
        """The name of its data centre."""
        return self.place.datacenter

    @property
    def rack(self) -> str:
        """The name of its rack."""
        return self.place.rack

    @property
    def running(self) -> bool:
        """True if it answers, as far as we know: it is neither stopped nor paused."""
        return self.state == "running"

    @property
    def log_path(self) -> str:
        """The path of Cassandra's own log."""
        return os.path.join(self.directory, "logs", "system.log")

    @property
    def output_path(self) -> str:
        """The path of the process's output: little, unless Java itself failed."""
        return os.path.join(self.directory, "logs", "output.log")

    def log(self) -> str:
        """Return the process's output, then Cassandra's log, whole."""
        return read_text(self.output_path) + read_text(self.log_path)

    def write_files(self, settings: Mapping[str, Any]) -> None:
        """Make its directory, with all that it reads at its start.

        :param settings: the settings of cassandra.yaml, by name.
        """
        # A restart finds the directories there, with the data that it is to keep.
        for name in ("data", "logs", "tmp"):
            os.makedirs(os.path.join(self.directory, name), exist_ok=True)
        files = {
            "cassandra.yaml": config.render_yaml(settings),
            "cassandra-rackdc.properties": config.rackdc_properties(self.place),
            "logback.xml": config.logback_xml(self.log_path),
            "logback-tools.xml": _TOOLS_LOGBACK,
        }
        for name, text in files.items():
            with open(os.path.join(self.directory, name), "w", encoding="utf-8") as stream:
                stream.write(text)
        write_class(os.path.join(self.directory, "tools"))

    def launch(self, supervisor: Supervisor, command: Sequence[str]) -> None:
        """Start the process. It takes a while until it is ready.

        :param supervisor: starts the process, and ends it when this program has ended.
        :param command: the program and its arguments.
        """
        # At each launch: after a stop of the whole cluster there is another supervisor.
        self._supervisor = supervisor
        self.pid = supervisor.spawn(command, cwd=self.directory, output=self.output_path)
        self.state = "running"

    def check(self) -> None:
        """Raise NodeFailed if the process has ended by itself."""
        if self.state not in ("running", "paused") or self._supervisor is None or self.pid is None:
            return
        # The exit status is kept by the supervisor, which alone is the parent of the process.
        code = self._supervisor.poll(self.pid)
        if code is None:
            return
        self.state = "stopped"
        log = self.log()
        how = f"was ended by signal {-code}" if code < 0 else f"ended with status {code}"
        raise NodeFailed(
            f"node {self.number} ({self.address}) {how}. The end of its log:\n{tail(log)}", log=log
        )

    def pause(self) -> None:
        """Stop it by SIGSTOP: its sockets stay open, but nothing answers."""
        self._signal(signal.SIGSTOP, "running", "pause")
        self.state = "paused"

    def resume(self) -> None:
        """Let it go on, by SIGCONT."""
        self._signal(signal.SIGCONT, "paused", "resume")
        self.state = "running"

    def kill(self) -> None:
        """End it by SIGKILL, and wait for the end."""
        if self.state not in ("running", "paused"):
            raise LocalClusterError(f"cannot kill node {self.number}: it is {self.state}")
        # SIGKILL reaches a process that SIGSTOP holds, so a paused node needs no resume.
        self._end(signal.SIGKILL, _KILL_S)
        self.state = "killed"

    def shut_down(self) -> None:
        """End it by SIGTERM: it flushes and tells its peers. SIGKILL if that takes over 30 s."""
        # A stopped process does not see SIGTERM before it goes on.
        if self.state == "paused":
            self.resume()
        if self.state != "running":
            return
        if not self._end(signal.SIGTERM, _GRACE_S):
            self._end(signal.SIGKILL, _KILL_S)
        self.state = "stopped"

    def _signal(self, number: int, wanted: str, verb: str) -> None:
        if self.state != wanted or self._supervisor is None or self.pid is None:
            raise LocalClusterError(f"cannot {verb} node {self.number}: it is {self.state}")
        # It has ended by itself: the error says so, with its log.
        if not self._supervisor.signal(self.pid, number):
            self.check()

    def _end(self, number: int, timeout: float) -> bool:
        assert self._supervisor is not None
        assert self.pid is not None
        self._supervisor.signal(self.pid, number)
        return self._supervisor.wait(self.pid, timeout) is not None

    def __repr__(self) -> str:
        return (
            f"<LocalNode {self.number} {self.address} {self.datacenter}/{self.rack} {self.state}>"
        )
