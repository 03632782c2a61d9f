"""Chooses loopback addresses and ports for a cluster that no other cluster on this machine uses.

Each cluster has a subnet 127.0.X.*, on which node N listens on 127.0.X.N. Cassandra always binds
JMX to 127.0.0.1, so each node has a JMX port that depends on X and N. Each subnet has a lock file,
which all users of the machine share. A cluster holds the lock of its subnet. The first cluster gets
X = 0, if no other process listens there, so its addresses are 127.0.0.1, 127.0.0.2 and so on.
"""

from __future__ import annotations

import errno
import os
import socket
import stat
import sys
import tempfile

from cassandra.testing.errors import LocalClusterError, MissingRequirement
from cassandra.testing.locks import FileLock

_SUBNETS = 150  # the number of subnets: X is 0 to 149
MOST_NODES = 99  # the maximum number of nodes in a cluster: N is 1 to 99
# The JMX port of node N on subnet X is `_JMX_BASE + X * _JMX_STEP + N`, so JMX ports are 17101 to
# 32099. They stay below 32768, because the kernel may give higher ports to any process.
_JMX_BASE = 17100
_JMX_STEP = MOST_NODES + 1
_TEMPORARY = "/tmp"  # the parent of the lock directory, see `_lock_directory`


def check_platform(platform: str = sys.platform) -> None:
    """Raise MissingRequirement on Windows, where Cassandra does not run."""
    if platform in ("win32", "cygwin"):
        raise MissingRequirement(
            "LocalCluster does not run on Windows: Cassandra 4.0 and later do not start there. "
            "Use WSL 2 (wsl --install), and run your tests inside it."
        )


def _lock_directory() -> str:
    """Return the directory of the lock files. All users share it, because they share the addresses.

    The directory is in `_TEMPORARY`, because TMPDIR may differ from user to user. If `_TEMPORARY`
    cannot be used, the directory is in the directory that TMPDIR names.
    """
    try:
        return _lock_directory_in(_TEMPORARY)
    except (OSError, LocalClusterError):
        if tempfile.gettempdir() == _TEMPORARY:
            raise
        return _lock_directory_in(tempfile.gettempdir())


def _lock_directory_in(temporary: str) -> str:
    """Return the directory of the lock files in a temporary directory; create it if necessary.

    Another user may have created a file or directory with this name. We accept the path if it is a
    directory in which other users cannot remove our files.
    """
    path = os.path.join(temporary, "turbocql-locks")
    try:
        os.mkdir(path)
        # Set the mode by chmod: mkdir would apply the umask to it.
        os.chmod(path, 0o777 | stat.S_ISVTX)
    except FileExistsError:
        pass
    # Use lstat, which does not follow a link that another user may have put there.
    status = os.lstat(path)
    if not stat.S_ISDIR(status.st_mode):
        raise LocalClusterError(
            f"{path} is not a directory (a link, perhaps): remove it, "
            "or set TMPDIR to another folder"
        )
    writable_by_others = bool(status.st_mode & (stat.S_IWGRP | stat.S_IWOTH))
    # A directory of root or of this user is safe. A directory of another user must be writable by
    # all, so that we can create lock files. It must also have the sticky bit, so that only the
    # owner of a file or of the directory can remove the file.
    if status.st_uid not in (0, os.getuid()) and not (
        writable_by_others and status.st_mode & stat.S_ISVTX
    ):
        raise LocalClusterError(
            f"{path} belongs to the user with number {status.st_uid} and is not shared "
            f"(mode {stat.S_IMODE(status.st_mode):o}): "
            "remove it, or set TMPDIR to another folder"
        )
    return path


class Subnet:
    """The addresses 127.0.`number`.1 to .99, for which this process holds the lock."""

    __slots__ = ("lock", "number")

    def __init__(self, number: int, lock: FileLock) -> None:
        self.number = number
        self.lock = lock

    def address(self, node: int) -> str:
        """Return the address of a node.

        :param node: the number of the node, from 1.
        """
        return f"127.0.{self.number}.{node}"

    def jmx_port(self, node: int) -> int:
        """Return the JMX port of a node, which listens on 127.0.0.1 (not on the node's address)."""
        return _JMX_BASE + self.number * _JMX_STEP + node

    def endpoints(self, node: int, ports: tuple[int, ...]) -> list[tuple[str, int]]:
        """Return the pairs (address, port) of all sockets that a node will listen on."""
        return [*((self.address(node), port) for port in ports), ("127.0.0.1", self.jmx_port(node))]

    def why_not_usable(self, node: int, ports: tuple[int, ...]) -> LocalClusterError | None:
        """Return the error to raise if a node cannot listen on all its ports; None if it can."""
        if node > MOST_NODES:
            return LocalClusterError(f"a local cluster has {MOST_NODES} nodes at most")
        for address, port in self.endpoints(node, ports):
            if (error := why_not_free(address, port)) is not None:
                return _explain(address, port, error)
        return None


def why_not_free(address: str, port: int) -> OSError | None:
    """Return the error that `bind` would raise for an address and port; None if `bind` succeeds."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # With SO_REUSEADDR, `bind` ignores closed connections in TIME_WAIT, but still fails if
        # another process listens.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
        except OSError as error:
            return error
    return None


def _explain(address: str, port: int, error: OSError) -> LocalClusterError:
    """Return the error to raise if a node cannot listen on an address.

    Its message says what to do.
    """
    if error.errno == errno.EADDRNOTAVAIL:
        hint = (
            "on macOS give the loopback interface an alias for each node: "
            f"sudo ifconfig lo0 alias {address} up"
            if sys.platform == "darwin"
            else "the loopback interface (lo) must be up with 127.0.0.0/8"
        )
        return MissingRequirement(f"this machine has no address {address}: {hint}")
    if error.errno == errno.EACCES:
        return LocalClusterError(
            f"listening on {address}:{port} is not permitted: use a port above 1023"
        )
    return LocalClusterError(
        f"no loopback addresses are free for the cluster: {address}:{port} is taken "
        f"({error.strerror}). Something that listens on all addresses of the port blocks them all: "
        "stop it, or pass another port="
    )


def _try_subnet(number: int, nodes: int, ports: tuple[int, ...]) -> Subnet | LocalClusterError:
    """Lock a subnet and return it, or return the reason why it cannot be used."""
    lock = FileLock(os.path.join(_lock_directory(), f"subnet-{number}.lock"))
    try:
        if not lock.try_acquire():
            return LocalClusterError(
                f"the addresses 127.0.{number}.* belong to another local cluster "
                f"({lock.path} is locked)"
            )
    except OSError as error:
        return LocalClusterError(f"the lock {lock.path} cannot be opened: {error.strerror}")
    # We hold the lock, so no other local cluster uses these addresses. Other programs may listen on
    # them.
    subnet = Subnet(number, lock)
    for node in range(1, nodes + 1):
        if (refusal := subnet.why_not_usable(node, ports)) is not None:
            lock.release()
            return refusal
    return subnet


def claim_subnet(nodes: int, ports: tuple[int, ...], required_number: int | None = None) -> Subnet:
    """Lock a subnet on which `nodes` nodes can listen on all of `ports`.

    :param required_number: the number X of the subnet; None for the first subnet that is free.
    :raises MissingRequirement: if the machine has no addresses 127.0.X.*.
    :raises LocalClusterError: if no subnet is free.
    """
    if nodes > MOST_NODES:
        raise ValueError(f"{nodes} nodes: a local cluster has {MOST_NODES} at most")
    first_refusal: LocalClusterError | None = None
    for number in range(_SUBNETS) if required_number is None else (required_number,):
        # The subnet is locked before its ports are checked: otherwise two clusters could both find
        # the same ports free.
        outcome = _try_subnet(number, nodes, ports)
        if isinstance(outcome, Subnet):
            return outcome
        if isinstance(outcome, MissingRequirement):
            raise outcome
        first_refusal = first_refusal or outcome
    assert first_refusal is not None
    raise first_refusal
