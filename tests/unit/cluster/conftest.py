"""A node, a cluster and a session of the blocking face."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cassandra.cluster import Cluster, Session
from cassandra.testing.fake import FakeNode, rows
from tests.unit.metadata.schema.rows import schema

READ = "SELECT k, v FROM t"


@pytest.fixture
def shop() -> Iterator[FakeNode]:
    with FakeNode() as one:
        one.prime(READ, rows([("k", "int"), ("v", "text")], [(1, "a"), (2, "b")]))
        one.schema = schema("ks", tables=1)
        yield one


@pytest.fixture
def blocking_cluster(shop: FakeNode) -> Iterator[Cluster]:
    with Cluster([shop.address], port=shop.port) as made:
        yield made


@pytest.fixture
def blocking_session(blocking_cluster: Cluster) -> Session:
    return blocking_cluster.connect()
