"""Cassandra nodes for tests: real nodes on this machine, and scriptable fake nodes in the process.

:class:`LocalCluster`, a command line (``python -m cassandra.testing``) and a pytest plugin run real
nodes. :class:`FakeCluster` has scriptable nodes for tests of faults.

Names are imported at their first use, because pytest imports this package at every start and only
needs the plugin.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cassandra._lazy import lazy_names

if TYPE_CHECKING:
    from cassandra.testing.errors import (
        CommandFailed,
        LocalClusterError,
        MissingRequirement,
        NodeFailed,
        NotReady,
        StartCancelled,
    )
    from cassandra.testing.fake import FakeCluster, FakeNode
    from cassandra.testing.local import LocalCluster
    from cassandra.testing.node import LocalNode
    from cassandra.testing.replay import Recorder, Recording, RecordingError, ReplayNode
    from cassandra.testing.tls import TlsMaterial

# Maps each public name to the submodule that defines it.
_HOMES = {
    "CommandFailed": "errors",
    "FakeCluster": "fake",
    "FakeNode": "fake",
    "LocalCluster": "local",
    "LocalClusterError": "errors",
    "LocalNode": "node",
    "MissingRequirement": "errors",
    "NodeFailed": "errors",
    "NotReady": "errors",
    "Recorder": "replay",
    "Recording": "replay",
    "RecordingError": "replay",
    "ReplayNode": "replay",
    "StartCancelled": "errors",
    "TlsMaterial": "tls",
}

__all__ = [
    "CommandFailed", "FakeCluster", "FakeNode", "LocalCluster", "LocalClusterError", "LocalNode",
    "MissingRequirement", "NodeFailed", "NotReady", "Recorder", "Recording", "RecordingError",
    "ReplayNode", "StartCancelled", "TlsMaterial",
]  # fmt: skip


# Define `__getattr__` through `globals()`, which type checkers do not see. If they saw it, they
# would accept every name as a name of this module.
globals()["__getattr__"] = lazy_names(
    __name__, {name: f"{__name__}.{module}" for name, module in _HOMES.items()}
)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
