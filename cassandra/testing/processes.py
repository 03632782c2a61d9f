"""Our side of the supervisor: start, signal and watch processes that end when this one does."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any

from cassandra.testing.errors import CommandFailed, LocalClusterError

__all__ = ["Supervisor", "read_text", "tail"]

_SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "supervisor.py")
_POLL_S = 0.03
_CLOSE_TIMEOUT_S = 60.0
# These would change, or print something from, every Java process that we start.
_UNWANTED_VARIABLES = (
    "CLASSPATH",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "_JAVA_OPTIONS",
    "JVM_OPTS",
    "MAVEN_OPTS",
)


def read_text(path: str) -> str:
    """Return the whole file, however it is encoded, or "" if there is none."""
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            return stream.read()
    except FileNotFoundError:
        return ""


def tail(text: str, lines: int = 40) -> str:
    """Return the last lines, for an error's message."""
    return "\n".join(text.rstrip().splitlines()[-lines:])


class Supervisor:
    """A small process that starts others, and cleans up when this process ends in any way.

    It then kills them and removes their directories. It may be used from any thread. Close it, or
    use it as a context manager.

    :param keep: descriptors (held locks) that the supervisor inherits, and keeps until it ends.
    """

    def __init__(self, keep: Sequence[int] = ()) -> None:
        ours, theirs = socket.socketpair()
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", _SCRIPT, str(theirs.fileno()), str(os.getpid())],
                # Every other descriptor is closed there, so no copy of `ours` keeps the socket
                # open.
                pass_fds=(theirs.fileno(), *keep),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                # Ctrl-C in the terminal goes to the user's process alone, which then ends this one.
                start_new_session=True,
                cwd="/",
            )
        except BaseException:
            ours.close()
            raise
        finally:
            # Our copy would hide the end of file when the supervisor dies.
            theirs.close()
        self._channel = ours
        self._buffer = b""
        self._lock = threading.Lock()
        self._closed = False

    @property
    def pid(self) -> int:
        """The supervisor's own process id."""
        return self._process.pid

    def spawn(
        self, argv: Sequence[str], *, cwd: str, output: str, env: Mapping[str, str] | None = None
    ) -> int:
        """Start a process in a session of its own.

        :param output: the file to which both its outputs are appended.
        :returns: its process id.
        """
        variables = {
            key: value for key, value in os.environ.items() if key not in _UNWANTED_VARIABLES
        }
        variables.update(env or {})
        pid: int = self._ask(
            command="spawn", argv=list(argv), cwd=cwd, env=variables, output=output
        )
        return pid

    def signal(self, pid: int, number: int) -> bool:
        """Send a signal to the process's whole group. Return False if the process has ended."""
        return bool(self._ask(command="signal", pid=pid, signal=int(number)))

    def poll(self, pid: int) -> int | None:
        """Return the exit status (negative: ended by that signal), or None if it still runs."""
        code: int | None = self._ask(command="poll", pid=pid)
        return code

    def wait(self, pid: int, timeout: float) -> int | None:
        """Wait up to `timeout` seconds for the end. Return None if it still runs then."""
        deadline = time.monotonic() + timeout
        while (code := self.poll(pid)) is None:
            if time.monotonic() >= deadline:
                return None
            time.sleep(_POLL_S)
        return code

    def cleanup(self, directory: str) -> None:
        """Have `directory` removed, with everything in it, when the supervisor ends."""
        self._ask(command="cleanup", directory=directory)

    def run(
        self,
        argv: Sequence[str],
        *,
        cwd: str,
        output: str,
        timeout: float,
        env: Mapping[str, str] | None = None,
        watch: Callable[[], None] | None = None,
    ) -> str:
        """Run a command to its end and return its output.

        :param watch: called now and then while it runs. An error that it raises ends the command.
        :raises CommandFailed: if the exit status is not 0, or `timeout` seconds are over.
        """
        pid = self.spawn(argv, cwd=cwd, output=output, env=env)
        deadline = time.monotonic() + timeout
        code: int | None = None
        try:
            while (code := self.poll(pid)) is None and time.monotonic() < deadline:
                if watch is not None:
                    watch()
                time.sleep(_POLL_S)
        finally:
            # Also if `watch` has raised: no process is left behind.
            if code is None:
                self.signal(pid, signal.SIGKILL)
                self.wait(pid, _CLOSE_TIMEOUT_S)
        text = read_text(output)
        name = os.path.basename(argv[0])
        if code is None:
            raise CommandFailed(
                f"{name} did not end within {timeout:.0f} s:\n{tail(text)}", code=None, output=text
            )
        if code != 0:
            raise CommandFailed(
                f"{name} ended with status {code}:\n{tail(text)}", code=code, output=text
            )
        return text

    def close(self) -> None:
        """End all processes, remove the directories, end the supervisor, and wait for all that."""
        if self._closed:
            return
        # Set first: an error below must not let a second call wait for a process that is gone.
        self._closed = True
        try:
            self._ask(command="close")
        except LocalClusterError:
            pass  # it was killed; the kernel has ended its children with it
        self._channel.close()
        try:
            self._process.wait(_CLOSE_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            # Its children die with it by PR_SET_PDEATHSIG, at least on Linux.
            self._process.kill()
            self._process.wait()

    def _ask(self, **command: Any) -> Any:
        with self._lock:
            try:
                # One question at a time: answers come in the order of the questions.
                self._channel.sendall(json.dumps(command).encode() + b"\n")
                while b"\n" not in self._buffer:
                    data = self._channel.recv(65536)
                    if not data:
                        raise ConnectionError("end of file")
                    self._buffer += data
            except OSError as error:
                raise LocalClusterError(
                    f"the supervisor of the local cluster (process {self.pid}) is gone, "
                    f"and the nodes with it: {error}"
                ) from error
            line, _, self._buffer = self._buffer.partition(b"\n")
        reply = json.loads(line)
        if "error" in reply:
            raise LocalClusterError(f"{command['command']} failed: {reply['error']}")
        return reply["result"]

    def __enter__(self) -> Supervisor:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
