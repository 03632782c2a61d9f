"""Fake nodes for the engine's tests.

Modules that need other nodes define their own fixtures.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cassandra.testing.fake import FakeCluster
from tests.unit.engine.faults import READ, int_row, three_nodes
from tests.unit.security.conftest import authority, connect_and_read

__all__ = ["authority", "connect_and_read", "nodes", "two_datacenters"]


@pytest.fixture
def nodes() -> Iterator[FakeCluster]:
    """Yield three nodes, each of which responds to READ with its own index."""
    with three_nodes() as cluster:
        yield cluster


@pytest.fixture
def two_datacenters() -> Iterator[FakeCluster]:
    """Yield one node in the data centre "east", where clients are local, and two in "west"."""
    with FakeCluster({"east": 1, "west": 2}) as cluster:
        cluster.prime(READ, int_row(1))
        yield cluster
