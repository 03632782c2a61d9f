"""Decides if a cluster is ready, for which an open port is not enough.

If a statement that changes the schema is sent too early, nodes may disagree forever. So a CQL login
must work on each running node, each node must know all the others, and all must have the same
schema version. If all nodes run, each of them must also succeed in a read at ALL: this shows that
each node believes that all others are up.
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

__all__ = ["Login", "await_ready"]

_POLL_S = 0.05


class Login:
    """Logs in to any node of a cluster."""

    __slots__ = ("credentials", "port", "tls")

    def __init__(
        self, port: int, credentials: tuple[str, str] | None, tls: ssl.SSLContext | None
    ) -> None:
        self.port = port
        self.credentials = credentials
        self.tls = tls

    def __call__(self, node: LocalNode) -> Probe:
        return Probe(node.address, self.port, credentials=self.credentials, tls=self.tls)


def _lacks(
    node: LocalNode, view: NodeView, running: Collection[LocalNode], members: Collection[str]
) -> str | None:
    """Return what is missing in this node's view of the cluster, or None."""
    # Two nodes without a schema version would seem to agree in the comparison below.
    if view.schema_version is None:
        return "has no schema version yet"
    unseen = sorted(
        other.address for other in running if other is not node and other.address not in view.peers
    )
    if unseen:
        return f"does not see {', '.join(unseen)}"
    # Nodes that have left stay listed for a while.
    extra = sorted(set(view.peers) - set(members))
    if extra:
        return f"still lists {', '.join(extra)}"
    differing = sorted(
        other.address
        for other in running
        if other is not node and view.peers[other.address] != view.schema_version
    )
    if differing:
        return f"has another schema version than {', '.join(differing)}"
    return None


def _look(
    nodes: Sequence[LocalNode], members: Collection[str], login: Login, everybody: bool
) -> dict[int, str]:
    """Return what each node lacks, by node number. Empty if all nodes are ready.

    Probes use new connections each time, because a node may restart in between.
    """
    missing: dict[int, str] = {}
    versions = set()
    for node in nodes:
        try:
            # Open a new connection each time, because the node may have restarted in between.
            with login(node) as probe:
                view = probe.view()
                lacks = _lacks(node, view, nodes, members)
                if lacks is None and everybody:
                    probe.everybody_answers()
        except (OSError, WireError, ProbeError) as error:
            lacks = f"no login: {error}" if isinstance(error, OSError) else str(error)
        else:
            versions.add(view.schema_version)
        if lacks is not None:
            missing[node.number] = lacks
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
    """Wait until those of `nodes` that run are ready.

    :raises NodeFailed: as soon as a node ends.
    :raises NotReady: after `timeout` seconds.
    """
    deadline = time.monotonic() + timeout
    members = {node.address for node in nodes if node.state != "decommissioned"}
    running = [node for node in nodes if node.running]
    # A read at ALL cannot succeed while a member is stopped on purpose.
    everybody = len(running) == len(members)
    while True:
        watch()
        # A process that has ended never becomes ready. Its log is more helpful than a timeout.
        for node in running:
            node.check()
        missing = _look(running, members, login, everybody)
        if not missing:
            return
        report(f"{len(running) - len(missing)} of {len(running)} ready")
        if time.monotonic() >= deadline:
            wanting = "; ".join(f"node {number} ({reason})" for number, reason in missing.items())
            first = next(node for node in running if node.number in missing)
            raise NotReady(
                f"the cluster was not ready within {timeout:.0f} s: {wanting}. "
                f"The end of the log of node {first.number}:\n{tail(first.log(), 20)}"
            )
        time.sleep(_POLL_S)
