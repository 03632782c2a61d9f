"""The process in the background that runs a cluster started from a shell.

It is run as ``python -m cassandra.testing.background``. It holds the name's lock, runs a
`LocalCluster`, takes commands on a socket, and ends by the command ``stop`` or by SIGTERM. While it
starts, its progress goes to the terminal of the command that started it, and the outcome to that
command through a pipe.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any

from cassandra.testing.errors import LocalClusterError, NodeFailed
from cassandra.testing.local import LocalCluster
from cassandra.testing.node import LocalNode
from cassandra.testing.registry import Entry, receive_line

__all__ = ["main"]


def describe(name: str, cluster: LocalCluster) -> dict[str, Any]:
    """Return the state that ``status`` shows."""
    for node in cluster.nodes:
        try:
            node.check()
        except NodeFailed:
            pass  # its state says so from now on
    tls = cluster.tls
    return {
        "name": name,
        "pid": os.getpid(),
        "version": cluster.version,
        "contact_points": cluster.contact_points,
        "port": cluster.port,
        "username": cluster.username,
        "password": cluster.password,
        "tls": None
        if tls is None
        else {
            "mode": tls.mode,
            "ca_certificate": tls.ca_certificate,
            "client_certificate": tls.client_certificate,
            "client_key": tls.client_key,
        },
        "directory": cluster.directory,
        "nodes": [_describe_node(node) for node in cluster.nodes],
    }


def _describe_node(node: LocalNode) -> dict[str, Any]:
    return {
        "number": node.number,
        "address": node.address,
        "datacenter": node.datacenter,
        "rack": node.rack,
        "state": node.state,
        "pid": node.pid,
    }


class _Service:
    """Answers commands. Each connection has a thread, but the cluster does one thing at a time."""

    def __init__(self, entry: Entry, cluster: LocalCluster) -> None:
        self.entry = entry
        self.cluster = cluster
        self.ending = threading.Event()
        self.waiting: list[socket.socket] = []
        self.commands: dict[str, Callable[..., Any]] = {
            "kill": cluster.kill,
            "pause": cluster.pause,
            "resume": cluster.resume,
            "restart": cluster.restart,
            "add": lambda datacenter, rack: _describe_node(cluster.add_node(datacenter, rack)),
            "decommission": cluster.decommission,
            "nodetool": cluster.nodetool,
            "logs": cluster.logs,
            "status": lambda: describe(entry.name, cluster),
        }

    def serve(self, listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return  # closed: we are ending
            # A thread each: `status` must be answered while a `nodetool repair` runs.
            threading.Thread(target=self.answer, args=(connection,), daemon=True).start()

    def answer(self, connection: socket.socket) -> None:
        line = receive_line(connection)
        if not line:
            connection.close()
            return
        request = json.loads(line)
        if request["command"] == "stop":
            # Answered when everything is gone: the command `stop` waits for that.
            self.waiting.append(connection)
            self.ending.set()
            return
        try:
            reply = {"result": self.commands[request["command"]](*request["arguments"])}
            # After each command, so that the file never lists a node that is gone.
            self.entry.write(describe(self.entry.name, self.cluster))
        except LocalClusterError as error:
            reply = {"error": str(error)}
        except Exception as error:
            traceback.print_exc()
            reply = {"error": f"{type(error).__name__}: {error}"}
        _send(connection, reply)


def _send(connection: socket.socket, reply: dict[str, Any]) -> None:
    with connection:
        try:
            connection.sendall(json.dumps(reply).encode() + b"\n")
        except OSError:
            pass  # the command that asked has gone


def _acquire(entry: Entry) -> bool:
    """Take the name. Commands that ask for its status hold the lock for a moment, too."""
    for _ in range(10):
        if entry.lock.try_acquire():
            return True
        time.sleep(0.05)
    return False


def _leave_terminal(log_path: str) -> None:
    """Send everything that is printed from now on to the log."""
    descriptor = os.open(log_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for standard in (1, 2):
        os.dup2(descriptor, standard)
    os.close(descriptor)
    # The directory that it was started in may be removed.
    os.chdir("/")


def main() -> int:
    """Run a cluster. Arguments: its name, options of LocalCluster as JSON, a pipe's descriptor."""
    name, options, descriptor = sys.argv[1], json.loads(sys.argv[2]), int(sys.argv[3])
    entry = Entry(name)
    service: list[_Service] = []

    def on_signal(number: int, frame: object) -> None:
        if not service:
            # Still starting: LocalCluster cleans up.
            raise KeyboardInterrupt
        service[0].ending.set()

    signal.signal(signal.SIGTERM, on_signal)
    with os.fdopen(descriptor, "w") as outcome:
        try:
            if not _acquire(entry):
                raise LocalClusterError(
                    f"a cluster named {name!r} is running already: stop it first, "
                    "or give this one another --name"
                )
            # An earlier process that was killed has left its socket, and bind() refuses an old
            # path.
            entry.forget()
            cluster = LocalCluster(**options).start()
        except KeyboardInterrupt:
            return 130
        except (LocalClusterError, ValueError, TypeError, OSError) as error:
            json.dump({"error": str(error)}, outcome)
            return 1
        service.append(_Service(entry, cluster))
        listener = entry.listen()
        threading.Thread(target=service[0].serve, args=(listener,), daemon=True).start()
        state = describe(name, cluster)
        entry.write(state)
        # Closing the pipe after this is what ends the command `start`.
        json.dump({"result": state}, outcome)
    _leave_terminal(entry.log_path)
    service[0].ending.wait()
    # Commands are refused from here on: the cluster is going away.
    listener.close()
    cluster.stop()
    entry.forget()
    entry.lock.release()
    # Last of all: who waits for `stop` may start a cluster of the same name at once.
    for connection in service[0].waiting:
        _send(connection, {"result": None})
    return 0


if __name__ == "__main__":
    sys.exit(main())
