"""Starts, signals and watches processes that must end when this process ends.

`Supervisor` starts the script supervisor.py as a process, and sends commands to it. The script's
docstring describes the commands.
"""

from __future__ import annotations

import json
import os
import re
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

_SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "supervisor.py")
_POLL_S = 0.03  # seconds between two checks if a process has ended
_CLOSE_TIMEOUT_S = 60.0  # seconds for the supervisor, or for a killed command, to end
# Environment variables that would change the behaviour of a Java process, or what it prints.
_UNWANTED_VARIABLES = (
    "CLASSPATH",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "_JAVA_OPTIONS",
    "JVM_OPTS",
    "MAVEN_OPTS",
)


def read_text(path: str) -> str:
    """Return the content of a file; "" if it does not exist. Invalid UTF-8 is replaced."""
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            return stream.read()
    except FileNotFoundError:
        return ""


def tail(text: str, lines: int = 40) -> str:
    """Return the last lines of a string, for an error message."""
    return "\n".join(text.rstrip().splitlines()[-lines:])


def last_messages(log: str, lines: int = 15, width: int = 300) -> str:
    """Return the end of a node's log, for the error message about a node that has ended.

    Lines of level INFO and below, and the frames of stack traces, are left out, because they rarely
    say why the node ended. If no other lines are left, return the last lines as they are.

    :param lines: the maximum number of lines.
    :param width: the maximum number of characters of a line. Cassandra logs its whole configuration
        in one line.
    """
    messages = [
        line for line in log.splitlines() if not re.match(r"(INFO|DEBUG|TRACE)\b|\s+at |\s*$", line)
    ]
    ending = tail("\n".join(messages) or log, lines)
    return "\n".join(
        line if len(line) <= width else f"{line[:width]}..." for line in ending.splitlines()
    )


class Supervisor:
    """A small process that starts other processes for us, and outlives this process to clean up.

    When this process has ended, the supervisor kills every process that it has started, and removes
    the directories that were passed to `cleanup`. You may call the methods from any thread. Call
    `close` at the end, or use the supervisor as a context manager.

    :param keep: file descriptors, for example of locks, that the supervisor inherits and keeps open
        until it ends.
    """

    def __init__(self, keep: Sequence[int] = ()) -> None:
        own_end, child_end = socket.socketpair()
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", _SCRIPT, str(child_end.fileno()), str(os.getpid())],
                # The supervisor inherits only these descriptors. If it also had a copy of
                # `own_end`, it would never see the end of the socket when this process ends.
                pass_fds=(child_end.fileno(), *keep),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                # Start a new session, so that Ctrl-C in the terminal does not end the supervisor:
                # the supervisor must outlive the user's process.
                start_new_session=True,
                cwd="/",
            )
        except BaseException:
            own_end.close()
            raise
        finally:
            # Close our copy of `child_end`. With an open copy, we would not notice that the
            # supervisor has died.
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
        """Start a process in its own session, and return its process id.

        :param argv: the program and its arguments.
        :param cwd: the working directory.
        :param output: the file to which stdout and stderr are appended.
        :param env: environment variables to add to ours.
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
        """Send a signal to a process and its children. Return False if the process has ended."""
        return bool(self._ask(command="signal", pid=pid, signal=int(number)))

    def poll(self, pid: int) -> int | None:
        """Return the exit status of a process; None if it still runs.

        A negative number -N means that signal N has ended the process.
        """
        code: int | None = self._ask(command="poll", pid=pid)
        return code

    def wait(self, pid: int, timeout: float) -> int | None:
        """Wait until a process has ended, and return its exit status.

        Return None if the process still runs after `timeout` seconds.
        """
        deadline = time.monotonic() + timeout
        while (code := self.poll(pid)) is None:
            if time.monotonic() >= deadline:
                return None
            time.sleep(_POLL_S)
        return code

    def cleanup(self, directory: str) -> None:
        """Make the supervisor remove a directory, with everything in it, when it ends."""
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
            is killed.
        :returns: the content of the file `output`.
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
            # If `code` is None, the command has run too long, or `watch` has raised an error: kill
            # the command.
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
        """Kill all processes that the supervisor has started, and end the supervisor.

        When the method returns, all processes have ended, and the directories passed to `cleanup`
        are removed.
        """
        if self._closed:
            return
        # Set the flag first, so that a second call does nothing even if an error is raised below.
        self._closed = True
        try:
            self._ask(command="close")
        except LocalClusterError:
            pass  # the supervisor was killed, and the kernel has killed its children
        self._channel.close()
        try:
            self._process.wait(_CLOSE_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            # Kill the supervisor. On Linux, the kernel then kills its children too
            # (PR_SET_PDEATHSIG).
            self._process.kill()
            self._process.wait()

    def _ask(self, **command: Any) -> Any:
        """Send a command to the supervisor, and return the result.

        See supervisor.py for the commands.
        """
        # Hold the lock until the response has arrived, because a response does not say to which
        # command it belongs.
        with self._lock:
            try:
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
