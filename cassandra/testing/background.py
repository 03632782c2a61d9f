"""The background process that runs a cluster started from a shell.

The command ``python -m cassandra.testing start`` starts this process as ``python -m
cassandra.testing.background``. The process holds the lock of the cluster's name, runs a
`LocalCluster`, and accepts commands on a socket. The command ``stop``, or SIGTERM, ends the
process. While the cluster starts, the process prints its progress on the terminal of the command
``start``. When the cluster is ready or has failed, the process sends the outcome to that command
through a pipe.
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


def describe(name: str, cluster: LocalCluster) -> dict[str, Any]:
    """Return the state that the command ``status`` prints."""
    for node in cluster.nodes:
        try:
            node.check()
        except NodeFailed:
            pass  # `check` has set the state of the node to "stopped"
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
    """Return the state of a node that the command ``status`` prints."""
    return {
        "number": node.number,
        "address": node.address,
        "datacenter": node.datacenter,
        "rack": node.rack,
        "state": node.state,
        "pid": node.pid,
    }


class _Service:
    """Carries out the commands that arrive on the socket, with one thread for each connection.

    :param entry: the registry's entry for the cluster: its name, lock and files.
    """

    def __init__(self, entry: Entry, cluster: LocalCluster) -> None:
        self.entry = entry
        self.cluster = cluster
        self.stop_requested = threading.Event()  # set when the process should end
        self.stop_callers: list[socket.socket] = []  # connections that sent the command `stop`
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
        """Accept the connections of commands until `main` closes the listener."""
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return  # the listener is closed, because the process ends
            # Start a thread for each connection, so that `status` works while `nodetool repair`
            # runs.
            threading.Thread(target=self.answer, args=(connection,), daemon=True).start()

    def answer(self, connection: socket.socket) -> None:
        """Execute the command that arrives on one connection, and send its response."""
        line = receive_line(connection)
        if not line:
            connection.close()
            return
        request = json.loads(line)
        if request["command"] == "stop":
            # Do not respond yet: the command `stop` waits until the cluster has stopped, and then
            # `main` responds.
            self.stop_callers.append(connection)
            self.stop_requested.set()
            return
        try:
            reply = {"result": self.commands[request["command"]](*request["arguments"])}
            # Update the state file after each command, because the command may have added or
            # removed nodes.
            self.entry.write(describe(self.entry.name, self.cluster))
        except LocalClusterError as error:
            reply = {"error": str(error)}
        except Exception as error:
            traceback.print_exc()
            reply = {"error": f"{type(error).__name__}: {error}"}
        _send(connection, reply)


def _send(connection: socket.socket, reply: dict[str, Any]) -> None:
    """Send a response as one line of JSON, and close the connection."""
    with connection:
        try:
            connection.sendall(json.dumps(reply).encode() + b"\n")
        except OSError:
            pass  # the client has ended without waiting for the response


def _acquire(entry: Entry) -> bool:
    """Acquire the lock of the cluster's name; return False if another cluster has it.

    Try for half a second, because any process that reads `Entry.running` holds the lock briefly.
    """
    for _ in range(10):
        if entry.lock.try_acquire():
            return True
        time.sleep(0.05)
    return False


def _leave_terminal(log_path: str) -> None:
    """Redirect the output of this process from the terminal to its log."""
    descriptor = os.open(log_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for output_descriptor in (1, 2):  # stdout and stderr
        os.dup2(descriptor, output_descriptor)
    os.close(descriptor)
    # Leave the directory in which the process was started: the user may want to remove it.
    os.chdir("/")


def main() -> int:
    """Run a cluster until it is stopped; return the exit code.

    ``sys.argv`` has three arguments: the name of the cluster, the arguments of `LocalCluster` as
    JSON, and the file descriptor of the pipe for the outcome.
    """
    name, options, outcome_descriptor = sys.argv[1], json.loads(sys.argv[2]), int(sys.argv[3])
    entry = Entry(name)
    # The service is created below, after the cluster has started. `on_signal` finds the service in
    # this list. An empty list means that the cluster is still starting.
    service: list[_Service] = []

    def on_signal(number: int, frame: object) -> None:
        if not service:
            # The cluster is still starting: this exception makes `start` clean up and fail.
            raise KeyboardInterrupt
        service[0].stop_requested.set()

    signal.signal(signal.SIGTERM, on_signal)
    with os.fdopen(outcome_descriptor, "w") as outcome_pipe:
        try:
            if not _acquire(entry):
                raise LocalClusterError(
                    f"a cluster named {name!r} is running already: stop it first, "
                    "or give this one another --name"
                )
            # If an earlier process was killed, its files are left: remove them, because bind()
            # fails if the socket exists.
            entry.forget()
            cluster = LocalCluster(**options).start()
        except KeyboardInterrupt:
            return 130
        except (LocalClusterError, ValueError, TypeError, OSError) as error:
            json.dump({"error": str(error)}, outcome_pipe)
            return 1
        service.append(_Service(entry, cluster))
        listener = entry.listen()
        threading.Thread(target=service[0].serve, args=(listener,), daemon=True).start()
        state = describe(name, cluster)
        entry.write(state)
        # The command `start` reads the pipe to its end, and then returns.
        json.dump({"result": state}, outcome_pipe)
    _leave_terminal(entry.log_path)
    service[0].stop_requested.wait()
    # Accept no commands while the cluster stops.
    listener.close()
    cluster.stop()
    entry.forget()
    entry.lock.release()
    # Respond to the commands `stop` only now: their callers may then start another cluster with the
    # same name.
    for connection in service[0].stop_callers:
        _send(connection, {"result": None})
    return 0


if __name__ == "__main__":
    sys.exit(main())
