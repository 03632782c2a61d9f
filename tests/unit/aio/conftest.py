"""Fixtures: a fake node, and a cluster and a session of the asyncio API."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from cassandra import aio
from cassandra.testing.fake import FakeNode, rows
from tests.unit.metadata.schema.rows import schema

READ = "SELECT k, v FROM t"


@pytest.fixture
def node() -> Iterator[FakeNode]:
    """Yield a fake node that responds to READ with two rows.

    The node has the keyspace `ks` with the table `t0`.
    """
    with FakeNode() as fake_node:
        fake_node.prime(READ, rows([("k", "int"), ("v", "text")], [(1, "a"), (2, "b")]))
        fake_node.schema = schema("ks", tables=1)
        yield fake_node


@pytest.fixture
async def cluster(node: FakeNode) -> AsyncIterator[aio.Cluster]:
    """Yield a cluster for the fake node that is not connected yet."""
    async with aio.Cluster([node.address], port=node.port) as aio_cluster:
        yield aio_cluster


@pytest.fixture
async def session(cluster: aio.Cluster) -> aio.Session:
    """Return a session of the cluster, which is connected to the node."""
    return await cluster.connect()
