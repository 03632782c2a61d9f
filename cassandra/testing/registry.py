"""The registry of clusters that run in the background: their names, files and command sockets.

A cluster NAME has these files in ``<cache>/clusters``: ``NAME.lock`` (locked by its process while
the process runs), ``NAME.json`` (the cluster's state), ``NAME.sock`` (the socket for commands) and
``NAME.log``. A command is one line of JSON, and its response is another line of JSON.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import socket
from collections.abc import Iterator
from typing import Any

from cassandra.testing.errors import LocalClusterError
from cassandra.testing.locks import FileLock
from cassandra.testing.paths import cache_directory

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")  # valid names of clusters


def receive_line(connection: socket.socket) -> bytes:
    """Return everything up to the newline, or b"" if the other side closes first."""
    data = b""
    while not data.endswith(b"\n"):
        chunk = connection.recv(65536)
        if not chunk:
            return b""
        data += chunk
    return data


@contextlib.contextmanager
def _inside(directory: str) -> Iterator[None]:
    """Change to `directory` in the `with` block, so that a socket in it has a short path.

    The path of a Unix socket may have some hundred bytes at most, and the path of a home directory
    may be longer. The working directory changes for the whole process, so only use this in
    processes with one thread.
    """
    previous_directory = os.getcwd()
    os.chdir(directory)
    try:
        yield
    finally:
        os.chdir(previous_directory)


class Entry:
    """A name for a cluster, and the files for this name. A cluster of this name need not run.

    :param name: the name of the cluster.
    :raises ValueError: if the name is not valid.
    """

    def __init__(self, name: str) -> None:
        if not _NAME.fullmatch(name):
            raise ValueError(
                f"not a name for a cluster: {name!r} "
                "(letters, digits, '_', '-' and '.', 64 at most)"
            )
        self.name = name
        self.directory = cache_directory("clusters")
        self.lock = FileLock(self._path("lock"))

    def _path(self, kind: str) -> str:
        return os.path.join(self.directory, f"{self.name}.{kind}")

    @property
    def log_path(self) -> str:
        """The path of the log file to which the background process writes its output."""
        return self._path("log")

    @property
    def running(self) -> bool:
        """True if a background process runs the cluster.

        That process holds a lock on the cluster's lock file as long as it runs.
        """
        if not os.path.exists(self.lock.path):
            return False
        if not self.lock.try_acquire():
            return True
        # `try_acquire` has succeeded, so the cluster does not run. Release the lock, because it
        # would make the cluster seem to run.
        self.lock.release()
        return False

    def write(self, state: dict[str, Any]) -> None:
        """Replace the state file, so that `read` returns either the old or the new state."""
        new_path = self._path("json.new")
        with open(new_path, "w", encoding="utf-8") as stream:
            json.dump(state, stream, indent=2)
        os.replace(new_path, self._path("json"))

    def read(self) -> dict[str, Any] | None:
        """Return the state of the cluster; None if it has no state file."""
        try:
            with open(self._path("json"), encoding="utf-8") as stream:
                state: dict[str, Any] = json.load(stream)
        except (FileNotFoundError, json.JSONDecodeError):
            return None
        return state

    def forget(self) -> None:
        """Remove the state file and the socket. The caller must hold the lock."""
        for kind in ("json", "sock"):
            with contextlib.suppress(FileNotFoundError):
                os.remove(self._path(kind))

    def listen(self) -> socket.socket:
        """Return a listening socket for commands, to which only this user can connect."""
        listener = socket.socket(socket.AF_UNIX)
        # Set the umask before bind() creates the socket file, so that other users can never
        # connect.
        old_umask = os.umask(0o177)
        try:
            with _inside(self.directory):
                listener.bind(f"{self.name}.sock")
            listener.listen()
        except BaseException:
            listener.close()
            raise
        finally:
            os.umask(old_umask)
        return listener

    def ask(self, command: str, *arguments: Any) -> Any:
        """Send a command to the background process of the cluster, and return the result.

        :raises LocalClusterError: if the cluster does not run, or if it responds with an error.
        """
        if not self.running:
            raise LocalClusterError(
                f"no cluster named {self.name!r} is running: start one with "
                "'python -m cassandra.testing start"
                f"{'' if self.name == 'default' else f' --name {self.name}'}'"
            )
        # Send one line, and wait for one line.
        with socket.socket(socket.AF_UNIX) as connection:
            try:
                with _inside(self.directory):
                    connection.connect(f"{self.name}.sock")
                connection.sendall(
                    json.dumps({"command": command, "arguments": arguments}).encode() + b"\n"
                )
                line = receive_line(connection)
            except OSError as error:
                raise LocalClusterError(
                    f"the cluster {self.name!r} takes no commands ({error}): "
                    f"it is just starting or stopping; its log is {self.log_path}"
                ) from error
        if not line:
            raise LocalClusterError(
                f"the cluster {self.name!r} ended before it answered; its log is {self.log_path}"
            )
        # The response has either an error or a result.
        reply = json.loads(line)
        if "error" in reply:
            raise LocalClusterError(reply["error"])
        return reply["result"]


def all_entries() -> list[Entry]:
    """Return the entries of all clusters that have a state file."""
    names = sorted(
        name[: -len(".json")]
        for name in os.listdir(cache_directory("clusters"))
        if name.endswith(".json")
    )
    return [Entry(name) for name in names]
