"""Our side of the supervisor: starts, signals and watches processes that must end with this
process.
"""

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
# These variables change the behaviour of every Java process that we start, or make it print more.
_UNWANTED_VARIABLES = (
    "CLASSPATH",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "_JAVA_OPTIONS",
    "JVM_OPTS",
    "MAVEN_OPTS",
)


def read_text(path: str) -> str:
    """Return the whole file, in any encoding, or "" if the file does not exist."""
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            return stream.read()
    except FileNotFoundError:
        return ""


def tail(text: str, lines: int = 40) -> str:
    """Return the last lines, for an error message."""
    return "\n".join(text.rstrip().splitlines()[-lines:])


class Supervisor:
    """A small process that starts other processes, and cleans up when this process ends.

    It then kills the processes and removes their directories. You may use it from any thread. Close
    it, or use it as a context manager.

    :param keep: descriptors, such as held locks, that the supervisor inherits and keeps until it
        ends.
    """

    def __init__(self, keep: Sequence[int] = ()) -> None:
        own_end, child_end = socket.socketpair()
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", _SCRIPT, str(child_end.fileno()), str(os.getpid())],
                # All other descriptors are closed in the child, so no copy of `own_end` keeps the
                # socket open.
                pass_fds=(child_end.fileno(), *keep),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                # Ctrl-C in the terminal only signals the user's process, which then ends the
                # supervisor.
                start_new_session=True,
                cwd="/",
            )
        except BaseException:
            own_end.close()
            raise
        finally:
            # Our copy would hide the end of file when the supervisor dies.
            child_end.close()
        self._channel = own_end
        self._buffer = b""
        self._lock = threading.Lock()
        self._closed = False

    @property
    def pid(self) -> int:
        """The process id of the supervisor."""
        return self._process.pid

    def spawn(
        self, argv: Sequence[str], *, cwd: str, output: str, env: Mapping[str, str] | None = None
    ) -> int:
        """Start a process in its own session.

        :param output: the file to which stdout and stderr are appended.
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
        """Send a signal to the process group. Return False if the process has ended."""
        return bool(self._ask(command="signal", pid=pid, signal=int(number)))

    def poll(self, pid: int) -> int | None:
        """Return the exit status (negative: ended by that signal), or None if the process still
        runs.
        """
        code: int | None = self._ask(command="poll", pid=pid)
        return code

    def wait(self, pid: int, timeout: float) -> int | None:
        """Wait up to `timeout` seconds for the process to end. Return None if it still runs
        then.
        """
        deadline = time.monotonic() + timeout
        while (code := self.poll(pid)) is None:
            if time.monotonic() >= deadline:
                return None
            time.sleep(_POLL_S)
        return code

    def cleanup(self, directory: str) -> None:
        """Remove `directory`, with everything in it, when the supervisor ends."""
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
        """Run a command until it ends, and return its output.

        :param watch: called repeatedly while the command runs. If it raises an error, the command
            is ended.
        :raises CommandFailed: if the exit status is not 0, or if `timeout` seconds have passed.
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
            # Even if `watch` has raised, no process is left behind.
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
        """End all processes, remove the directories, end the supervisor, and wait for all of
        that.
        """
        if self._closed:
            return
        # Set this first: after an error below, a second call must not wait for a process that has
        # ended.
        self._closed = True
        try:
            self._ask(command="close")
        except LocalClusterError:
            pass  # the supervisor was killed; the kernel has ended its children with it
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
                # Send one command at a time, because answers arrive in the order of the commands.
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
