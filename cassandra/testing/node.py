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
    """A node of a :class:`LocalCluster`: ``number`` (from 1), ``address``, ``datacenter``,
    ``rack``, ``state``, ``pid``, ``directory``.

    ``state`` is one of ``"new"``, ``"running"``, ``"paused"``, ``"stopped"``, ``"killed"``,
    ``"decommissioned"``.
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
        """Whether it answers, as far as we know: neither stopped nor paused."""
        return self.state == "running"

    @property
    def log_path(self) -> str:
        """Cassandra's own log."""
        return os.path.join(self.directory, "logs", "system.log")

    @property
    def output_path(self) -> str:
        """What the process printed: little, unless Java itself failed."""
        return os.path.join(self.directory, "logs", "output.log")

    def log(self) -> str:
        """What the process printed, then Cassandra's log, whole."""
        return read_text(self.output_path) + read_text(self.log_path)

    def write_files(self, settings: Mapping[str, Any]) -> None:
        """Its directory with all that it reads at start."""
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
        """Start the process; it is not ready for a while yet."""
        self._supervisor = supervisor
        self.pid = supervisor.spawn(command, cwd=self.directory, output=self.output_path)
        self.state = "running"

    def check(self) -> None:
        """Raise NodeFailed where the process ended though nobody told it to."""
        if self.state not in ("running", "paused") or self._supervisor is None or self.pid is None:
            return
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
        """SIGSTOP: its sockets stay open, and nothing answers."""
        self._signal(signal.SIGSTOP, "running", "pause")
        self.state = "paused"

    def resume(self) -> None:
        """SIGCONT."""
        self._signal(signal.SIGCONT, "paused", "resume")
        self.state = "running"

    def kill(self) -> None:
        """SIGKILL, and wait for the end."""
        if self.state not in ("running", "paused"):
            raise LocalClusterError(f"cannot kill node {self.number}: it is {self.state}")
        self._end(signal.SIGKILL, _KILL_S)
        self.state = "killed"

    def shut_down(self) -> None:
        """SIGTERM, on which it flushes and says good-bye to its peers; SIGKILL where that takes
        more than 30 s.
        """
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
