"""The supervisor, a process that starts nodes, and kills them when the user's process has ended.

A process that is killed by SIGKILL cannot clean up, so another process must do it. The user's
process (the parent) runs this file as a script, ``python -I -S supervisor.py FD PARENT``. FD is the
supervisor's end of a socket pair: the parent sends commands as lines of JSON, and the supervisor
responds to each command by one line. PARENT is the parent's process id. The supervisor has one
thread, and uses only the standard library.

The supervisor ends when the parent has closed its end of the socket. A forked child of the parent
may have a copy of the socket, which keeps the socket open. So the supervisor also ends when the
parent has ended. Then it kills every process that it has started, with all their children, and
removes the registered directories.

The supervisor itself may be killed, too. For this case, each process that it starts asks the kernel
for SIGKILL when the supervisor dies (PR_SET_PDEATHSIG, only on Linux). The kernel sends this signal
when the *thread* that forked the process ends. For this reason the user's process does not start
nodes itself: its threads come and go.

The commands are spawn, signal, poll, cleanup and close. See `_Supervisor.handle`.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
from typing import Any

_PARENT_CHECK_S = 1.0  # how often we check if the parent has ended
_STOP_S = 10.0  # maximum seconds to wait until SIGSTOP has stopped a process
_PR_SET_PDEATHSIG = 1  # from <linux/prctl.h>
# Look up prctl now, because a child must do as little as possible between fork and exec.
_prctl = getattr(ctypes.CDLL(None), "prctl", None) if sys.platform == "linux" else None


class _Supervisor:
    """Carries out the parent's commands, and kills its children at the end.

    :param channel: the supervisor's end of the socket pair.
    :param parent: the process id of the parent.
    """

    def __init__(self, channel: socket.socket, parent: int) -> None:
        self.channel = channel
        self.parent = parent
        self.pid = os.getpid()
        self.children: dict[int, subprocess.Popen[bytes]] = {}
        self.directories: list[str] = []
        self.open = True

    def run(self) -> None:
        """Carry out commands until the parent closes the socket, or ends."""
        buffer = b""
        while self.open:
            readable, _, _ = select.select([self.channel], [], [], _PARENT_CHECK_S)
            if not readable:
                # If the parent has ended, this process now has another parent (not always pid 1).
                # The socket may still be open, because another process has a copy of it.
                if os.getppid() != self.parent:
                    return
                continue
            data = self.channel.recv(65536)
            if not data:
                return
            buffer += data
            # The last part is an incomplete command, or empty: keep it for the next bytes.
            *lines, buffer = buffer.split(b"\n")
            for line in lines:
                self.channel.sendall(self.answer(line))

    def answer(self, line: bytes) -> bytes:
        """Carry out one command, and return the response as a line of JSON."""
        try:
            reply: dict[str, Any] = {"result": self.handle(**json.loads(line))}
        # Send the error to the parent. If the error ended this process, all nodes would be killed.
        except OSError as error:
            reply = {"error": f"{type(error).__name__}: {error}"}
        return json.dumps(reply).encode() + b"\n"

    def handle(self, command: str, **arguments: Any) -> object:
        """Carry out one command, and return its result."""
        if command == "spawn":
            return self.spawn(**arguments)
        if command == "signal":
            return self.signal(arguments["pid"], arguments["signal"])
        if command == "poll":
            return self.children[arguments["pid"]].poll()
        if command == "cleanup":
            self.directories.append(arguments["directory"])
            return None
        if command == "close":
            self.open = False
            self.end_all()
            return None
        raise OSError(f"no such command: {command}")

    def spawn(self, argv: list[str], cwd: str, env: dict[str, str], output: str) -> int:
        """Start a process whose output is appended to a file; return its process id."""
        with open(output, "ab") as stream:
            child = subprocess.Popen(
                argv,
                cwd=cwd,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                # Start a new session and process group, so that we can signal the process with its
                # children.
                start_new_session=True,
                preexec_fn=self.prepare_child,
            )
        self.children[child.pid] = child
        return child.pid

    def prepare_child(self) -> None:
        """Prepare the child between fork and exec: restore SIGINT, and set PR_SET_PDEATHSIG."""
        # The supervisor ignores SIGINT. If the child inherited this setting, Java would not install
        # its handler for SIGINT.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        if _prctl is not None:
            _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            # If the supervisor died before prctl was called, the kernel sends no signal. So check
            # that the supervisor is still the parent.
            if os.getppid() != self.pid:
                os._exit(127)

    def signal(self, pid: int, number: int) -> bool:
        """Send a signal to a process and its children. Return False if the process has ended.

        If the signal is SIGSTOP, return when the process has stopped.
        """
        child = self.children[pid]
        # Do not signal the pid of a process that has ended: it may belong to another process now.
        if child.poll() is not None:
            return False
        try:
            os.killpg(pid, number)
        except ProcessLookupError:
            return False
        if number == signal.SIGSTOP:
            _wait_until_stopped(pid)
        return True

    def end_all(self) -> None:
        """Kill every process that this supervisor has started, and remove the directories."""
        for pid in self.children:
            # Kill the group even if the process itself has ended: its children may still run.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, signal.SIGKILL)
        for child in self.children.values():
            child.wait()
        self.children.clear()
        for directory in self.directories:
            for _ in range(5):  # attempts
                shutil.rmtree(directory, ignore_errors=True)
                if not os.path.exists(directory):
                    break
                # A killed process's child may have just created a file in the directory, so try
                # again.
                time.sleep(0.1)
        self.directories.clear()


def _wait_until_stopped(pid: int) -> None:
    """Wait until all threads of our child `pid` have stopped, or the child has ended.

    The kernel stops a thread only when the thread would run next. On a busy machine, a node may
    answer another request until then. Give up after `_STOP_S` seconds.
    """
    if not hasattr(os, "waitid"):  # macOS before Python 3.13
        return
    # The kernel reports the state once all threads have stopped. With WNOWAIT, the state can be
    # queried again, and an exit status is left for `Popen.poll`.
    states = os.WSTOPPED | os.WEXITED | os.WNOWAIT | os.WNOHANG
    deadline = time.monotonic() + _STOP_S
    while os.waitid(os.P_PID, pid, states) is None and time.monotonic() < deadline:
        time.sleep(0.001)


def _end(number: int, frame: object) -> None:
    raise SystemExit(128 + number)


def main() -> None:
    """Carry out the parent's commands until the parent ends.

    Then kill all processes and clean up.
    """
    descriptor, parent = int(sys.argv[1]), int(sys.argv[2])
    # Ignore Ctrl-C: the parent handles it, and closes the socket when it ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _end)
    signal.signal(signal.SIGHUP, _end)
    supervisor = _Supervisor(socket.socket(fileno=descriptor), parent)
    try:
        supervisor.run()
    except (ConnectionError, BrokenPipeError):
        pass  # the parent has ended
    finally:
        # These signals must not interrupt the clean-up.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        supervisor.end_all()


if __name__ == "__main__":
    main()
