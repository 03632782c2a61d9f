"""Simulates a cluster and a network in virtual time, for tests.

The same seed repeats the same run.
"""

from __future__ import annotations

from cassandra.testing.simulation.loop import Livelocked, SimulatedLoop, Stalled
from cassandra.testing.simulation.network import Network
from cassandra.testing.simulation.nodes import SimulatedThread
from cassandra.testing.simulation.threads import SimulatedThreads

__all__ = [
    "Livelocked", "Network", "SimulatedLoop", "SimulatedThread", "SimulatedThreads", "Stalled",
]  # fmt: skip
