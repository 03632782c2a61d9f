"""Cassandra nodes for tests: real nodes on this machine, and scriptable fake nodes in the process.

:class:`LocalCluster`, a command line (``python -m cassandra.testing``) and a pytest plugin run real
nodes. :class:`FakeCluster` has scriptable nodes for tests of faults.

Names are imported at their first use: pytest imports this package at every start, and only needs
the plugin.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

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


def __getattr__(name: str) -> Any:
    """Import a public name from its module when it is first used."""
    module_name = _HOMES.get(name)
    if module_name is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{module_name}"), name)
    globals()[name] = value  # from now on, this function is not called for the name
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
