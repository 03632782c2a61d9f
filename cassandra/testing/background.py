"""The background process that runs a cluster started from a shell.

It is started as ``python -m cassandra.testing.background``. It holds the lock of the cluster's
name, runs a `LocalCluster`, and accepts commands on a socket. It ends on the command ``stop`` or
SIGTERM. While it starts, it prints its progress on the terminal of the command that started it. It
sends the outcome to that command through a pipe.
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
    """Return the state that the command ``status`` prints."""
    for node in cluster.nodes:
        try:
            node.check()
        except NodeFailed:
            pass  # its state shows that from now on
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
    """Answers commands. Each connection has a thread, but the cluster runs one command at a
    time.
    """

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
                return  # the listener is closed: we are shutting down
            # Use a thread for each connection: `status` must be answered while a `nodetool repair`
            # runs.
            threading.Thread(target=self.answer, args=(connection,), daemon=True).start()

    def answer(self, connection: socket.socket) -> None:
        line = receive_line(connection)
        if not line:
            connection.close()
            return
        request = json.loads(line)
        if request["command"] == "stop":
            # Answered after the shutdown is complete: the command `stop` waits for that.
            self.waiting.append(connection)
            self.ending.set()
            return
        try:
            reply = {"result": self.commands[request["command"]](*request["arguments"])}
            # Update the file after each command, so that it never lists a removed node.
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
            pass  # the command that asked has ended


def _acquire(entry: Entry) -> bool:
    """Acquire the lock of the name. Commands that check its status hold the lock for a moment,
    too.
    """
    for _ in range(10):
        if entry.lock.try_acquire():
            return True
        time.sleep(0.05)
    return False


def _leave_terminal(log_path: str) -> None:
    """Redirect all further output to the log."""
    descriptor = os.open(log_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for standard in (1, 2):
        os.dup2(descriptor, standard)
    os.close(descriptor)
    # The directory in which the process was started may be removed.
    os.chdir("/")


def main() -> int:
    """Run a cluster. The arguments are its name, LocalCluster options as JSON, and a pipe's
    descriptor.
    """
    name, options, descriptor = sys.argv[1], json.loads(sys.argv[2]), int(sys.argv[3])
    entry = Entry(name)
    service: list[_Service] = []

    def on_signal(number: int, frame: object) -> None:
        if not service:
            # If LocalCluster is still starting, this exception makes it clean up.
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
            # A killed process may have left its socket, and bind() fails if the path exists.
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
        # Closing the pipe after this write ends the command `start`.
        json.dump({"result": state}, outcome)
    _leave_terminal(entry.log_path)
    service[0].ending.wait()
    # Refuse commands from here on, because the cluster is shutting down.
    listener.close()
    cluster.stop()
    entry.forget()
    entry.lock.release()
    # Answer these last: the client of `stop` may start a cluster with the same name immediately.
    for connection in service[0].waiting:
        _send(connection, {"result": None})
    return 0


if __name__ == "__main__":
    sys.exit(main())
