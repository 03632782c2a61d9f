"""The process between us and the nodes: it starts them, and ends them when our process has ended.

Theory of operation. A parent that is killed by SIGKILL cannot clean up, so another process must.
This file is run as a script (``python -I -S supervisor.py FD PARENT``): a small process with one
thread that uses only the standard library. It holds one end of a socket pair. Each incoming line is
a command, and each outgoing line is the response.

It ends when the socket reads end-of-file. It also ends when its parent process has changed, because
a forked child of the parent may hold a copy of the socket open. Then it kills every process that it
started, with its whole group, and removes the registered directories.

The processes ask the kernel for SIGKILL on their parent's death (Linux: PR_SET_PDEATHSIG), in case
the supervisor itself is killed. That signal is bound to the *thread* that forked. The supervisor
has only one thread. The user's process has threads that come and go, which is why it does not start
nodes itself.

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

_PARENT_CHECK_S = 1.0
_PR_SET_PDEATHSIG = 1
# Looked up before any fork, because the child may do very little between fork and exec.
_prctl = getattr(ctypes.CDLL(None), "prctl", None) if sys.platform == "linux" else None


class _Supervisor:
    def __init__(self, channel: socket.socket, parent: int) -> None:
        self.channel = channel
        self.parent = parent
        self.pid = os.getpid()
        self.children: dict[int, subprocess.Popen[bytes]] = {}
        self.directories: list[str] = []
        self.open = True

    def run(self) -> None:
        buffer = b""
        while self.open:
            readable, _, _ = select.select([self.channel], [], [], _PARENT_CHECK_S)
            if not readable:
                # Compare with the given pid: in a container the new parent need not have pid 1.
                if os.getppid() != self.parent:
                    # The parent has ended, but a copy of its socket is still open in another
                    # process.
                    return
                continue
            data = self.channel.recv(65536)
            if not data:
                return
            buffer += data
            *lines, buffer = buffer.split(b"\n")
            for line in lines:
                self.channel.sendall(self.answer(line))

    def answer(self, line: bytes) -> bytes:
        try:
            reply: dict[str, Any] = {"result": self.handle(**json.loads(line))}
        # Return the error as the response: an error that ended this process would end all nodes.
        except OSError as error:
            reply = {"error": f"{type(error).__name__}: {error}"}
        return json.dumps(reply).encode() + b"\n"

    def handle(self, command: str, **arguments: Any) -> Any:
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
        with open(output, "ab") as stream:
            child = subprocess.Popen(
                argv,
                cwd=cwd,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                # Create a new process group, which can be signalled as a whole.
                start_new_session=True,
                preexec_fn=self.prepare_child,
            )
        self.children[child.pid] = child
        return child.pid

    def prepare_child(self) -> None:
        """Prepare the child, between fork and exec."""
        # Ignored signals stay ignored after exec, and Java would then not install a handler.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        if _prctl is not None:
            _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            # The parent may have died before the request, and then no signal is sent.
            if os.getppid() != self.pid:
                os._exit(127)

    def signal(self, pid: int, number: int) -> bool:
        """Send a signal to the whole process group. Return False if the process has ended."""
        child = self.children[pid]
        # The kernel may assign the pid of a reaped process to another process.
        if child.poll() is not None:
            return False
        try:
            os.killpg(pid, number)
        except ProcessLookupError:
            return False
        return True

    def end_all(self) -> None:
        for pid in self.children:
            # Signal the group even if its leader has ended, because its children may still run.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, signal.SIGKILL)
        for child in self.children.values():
            child.wait()
        self.children.clear()
        for directory in self.directories:
            for _ in range(5):
                shutil.rmtree(directory, ignore_errors=True)
                if not os.path.exists(directory):
                    break
                # A last write of a grandchild has created a file in it again.
                time.sleep(0.1)
        self.directories.clear()


def _end(number: int, frame: object) -> None:
    raise SystemExit(128 + number)


def main() -> None:
    """Watch the parent. When it has ended, end all processes that were started."""
    descriptor, parent = int(sys.argv[1]), int(sys.argv[2])
    # The parent handles Ctrl-C.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _end)
    signal.signal(signal.SIGHUP, _end)
    supervisor = _Supervisor(socket.socket(fileno=descriptor), parent)
    try:
        supervisor.run()
    except (ConnectionError, BrokenPipeError):
        pass  # the parent has ended
    finally:
        # The clean-up must not be interrupted.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        supervisor.end_all()


if __name__ == "__main__":
    main()
