"""Waits until the nodes of a cluster are ready.

An open port is not enough: if an application changes the schema too early, nodes may disagree about
the schema forever. So a cluster is ready only when you can log in to each running node, each node
lists all other nodes, and all nodes have the same schema version. If all nodes run, a read with
consistency ALL must also succeed on each node. This read shows that the node believes that all
other nodes are up.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable, Collection, Sequence

from cassandra.testing.errors import NotReady
from cassandra.testing.node import LocalNode
from cassandra.testing.probe import NodeView, Probe, ProbeError
from cassandra.testing.processes import tail
from cassandra.testing.wire import WireError

_POLL_S = 0.05  # seconds between two checks of all nodes


class Login:
    """Connects and logs in to nodes: calling an instance with a node returns a `Probe`.

    :param port: the native protocol's port on every node.
    :param credentials: user name and password; None if the nodes require no login.
    :param tls: the client's TLS context; None for no TLS.
    """

    __slots__ = ("credentials", "port", "tls")

    def __init__(
        self, port: int, credentials: tuple[str, str] | None, tls: ssl.SSLContext | None
    ) -> None:
        self.port = port
        self.credentials = credentials
        self.tls = tls

    def __call__(self, node: LocalNode) -> Probe:
        return Probe(node.address, self.port, credentials=self.credentials, tls=self.tls)


def _missing_condition(
    node: LocalNode, view: NodeView, running: Collection[LocalNode], members: Collection[str]
) -> str | None:
    """Return what is missing in a node's view of the cluster; None if the node is ready.

    :param view: what the node reports.
    :param running: the nodes that run.
    :param members: the addresses of all nodes that belong to the cluster.
    """
    # Without this check, two nodes that have no schema version yet would seem to agree.
    if view.schema_version is None:
        return "has no schema version yet"
    unseen_addresses = sorted(
        other.address for other in running if other is not node and other.address not in view.peers
    )
    if unseen_addresses:
        return f"does not see {', '.join(unseen_addresses)}"
    # After a node has left the ring, the other nodes list it for a while.
    departed_addresses = sorted(set(view.peers) - set(members))
    if departed_addresses:
        return f"still lists {', '.join(departed_addresses)}"
    disagreeing_addresses = sorted(
        other.address
        for other in running
        if other is not node and view.peers[other.address] != view.schema_version
    )
    if disagreeing_addresses:
        return f"has another schema version than {', '.join(disagreeing_addresses)}"
    return None


def _missing_by_node(
    nodes: Sequence[LocalNode], members: Collection[str], login: Login, check_liveness: bool
) -> dict[int, str]:
    """Return what each node lacks, by the node's number; {} if all nodes are ready.

    :param check_liveness: True also checks that each node believes that all other nodes are up.
    """
    missing: dict[int, str] = {}
    versions = set()
    for node in nodes:
        try:
            # Make a new connection for each check, because a node may restart between two checks.
            with login(node) as probe:
                view = probe.view()
                condition = _missing_condition(node, view, nodes, members)
                if condition is None and check_liveness:
                    probe.everybody_answers()
        except (OSError, WireError, ProbeError) as error:
            condition = f"no login: {error}" if isinstance(error, OSError) else str(error)
        else:
            versions.add(view.schema_version)
        if condition is not None:
            missing[node.number] = condition
    if not missing and len(versions) > 1:
        missing[nodes[0].number] = f"{len(versions)} schema versions in the cluster"
    return missing


def await_ready(
    nodes: Sequence[LocalNode],
    login: Login,
    *,
    timeout: float,
    watch: Callable[[], None],
    report: Callable[[str], None],
) -> None:
    """Wait until all running nodes among `nodes` are ready.

    :param timeout: the maximum wait, in seconds.
    :param watch: called repeatedly. It may raise an error to give up.
    :param report: called with a string that describes the progress, such as "1 of 3 ready".
    :raises NodeFailed: as soon as a node has ended.
    :raises NotReady: after `timeout` seconds.
    """
    deadline = time.monotonic() + timeout
    members = {node.address for node in nodes if node.state != "decommissioned"}
    running = [node for node in nodes if node.running]
    # Read with consistency ALL only if all nodes run. The read fails while a node is stopped on
    # purpose.
    check_liveness = len(running) == len(members)
    while True:
        watch()
        # Do not wait for a node whose process has ended: `check` raises an error with its log.
        for node in running:
            node.check()
        missing = _missing_by_node(running, members, login, check_liveness)
        if not missing:
            return
        report(f"{len(running) - len(missing)} of {len(running)} ready")
        if time.monotonic() >= deadline:
            reasons = "; ".join(f"node {number} ({reason})" for number, reason in missing.items())
            first_missing_node = next(node for node in running if node.number in missing)
            raise NotReady(
                f"the cluster was not ready within {timeout:.0f} s: {reasons}. "
                f"The end of the log of node {first_missing_node.number}:\n"
                f"{tail(first_missing_node.log(), 20)}"
            )
        time.sleep(_POLL_S)
