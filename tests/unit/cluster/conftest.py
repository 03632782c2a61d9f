"""Fixtures: a node, a cluster and a session of the blocking API."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cassandra.cluster import Cluster, Session
from cassandra.testing.fake import FakeNode, rows
from tests.unit.metadata.schema.rows import schema

READ = "SELECT k, v FROM t"


@pytest.fixture
def shop() -> Iterator[FakeNode]:
    """Yield a node that responds to READ with two rows.

    The node has the keyspace `ks` with the table `t0`.
    """
    with FakeNode() as node:
        node.prime(READ, rows([("k", "int"), ("v", "text")], [(1, "a"), (2, "b")]))
        node.schema = schema("ks", tables=1)
        yield node


@pytest.fixture
def blocking_cluster(shop: FakeNode) -> Iterator[Cluster]:
    """Yield a cluster that is not connected yet."""
    with Cluster([shop.address], port=shop.port) as cluster:
        yield cluster


@pytest.fixture
def blocking_session(blocking_cluster: Cluster) -> Session:
    return blocking_cluster.connect()
