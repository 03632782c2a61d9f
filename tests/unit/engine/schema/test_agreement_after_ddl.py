"""Tests of the wait for schema agreement after a DDL statement.

If the wait fails, the statement still succeeds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from cassandra.cluster import Cluster
from cassandra.engine.schema.agreement import LOCAL_VERSION_QUERY, PEER_VERSIONS_QUERY
from cassandra.testing.fake import FakeCluster, FakeNode, reset, schema_change, silence
from tests.unit.engine.faults import WAIT, call_in_thread, connected

pytestmark = pytest.mark.simulated

DDL = "CREATE TABLE ks.t (k int PRIMARY KEY)"


@pytest.fixture
def nodes() -> Iterator[FakeCluster]:
    """Yield three nodes that respond to DDL statements with a SCHEMA_CHANGE result."""
    with FakeCluster(3) as cluster:
        cluster.prime(DDL, schema_change("CREATED", "TABLE", "ks", "t"))
        yield cluster


@pytest.mark.simulated(False)
async def test_a_ddl_statement_waits_for_schema_agreement(nodes: FakeCluster) -> None:
    """A DDL statement completes only when all nodes that are up report the same schema version."""
    async with connected(nodes) as (_, session):
        old_version = nodes[1].schema_version
        new_version = nodes[0].host_id  # any other UUID
        nodes[0].schema_version = new_version
        execution = asyncio.ensure_future(asyncio.wait_for(session.execute(DDL), WAIT))

        def queried_twice(node: FakeNode) -> bool:
            """Return True after two rounds of queries. Each round has two queries of versions."""
            queries = [request.query or "" for request in node.requests]
            return sum("schema_version" in query for query in queries) >= 2 * 2

        await call_in_thread(nodes[0].wait_for, queried_twice)
        assert not execution.done()
        assert old_version != new_version
        for node in nodes.nodes:
            node.schema_version = new_version
        assert (await execution).is_schema_agreed


async def test_versions_are_queried_again_after_a_lost_answer(nodes: FakeCluster) -> None:
    """The wait for schema agreement continues after a failed query of versions.

    The connection is lost, or the query gets no response.
    """
    async with connected(nodes, control_connection_timeout=0.05) as (_, session):
        for node in nodes.nodes:
            # The node breaks the connection instead of responding.
            node.prime(LOCAL_VERSION_QUERY, reset(), times=1)
        assert (await asyncio.wait_for(session.execute(DDL), WAIT)).is_schema_agreed
        for node in nodes.nodes:
            node.prime(PEER_VERSIONS_QUERY, silence(), times=1)
        assert (await asyncio.wait_for(session.execute(DDL), WAIT)).is_schema_agreed


@pytest.mark.parametrize("seconds", [0, -1])
async def test_without_a_wait_the_schema_counts_as_agreed(
    nodes: FakeCluster, seconds: float
) -> None:
    """If `max_schema_agreement_wait` is 0 or less, `is_schema_agreed` is True without any query.

    cassandra-driver does the same. If `is_schema_agreed` were False, an application that waits
    until it is True would wait for ever.
    """
    nodes[1].schema_version = nodes[1].host_id  # the nodes disagree
    async with connected(nodes, max_schema_agreement_wait=seconds) as (_, session):
        assert (await session.execute(DDL)).is_schema_agreed


@pytest.mark.simulated(False)
async def test_a_ddl_statement_may_wait_longer_than_its_request_timeout(nodes: FakeCluster) -> None:
    """The request timeout of a DDL statement does not limit the wait for schema agreement."""
    async with connected(nodes) as (_, session):
        for node in nodes.nodes:
            node.prime(PEER_VERSIONS_QUERY, silence())
        result = await asyncio.wait_for(session.execute(DDL, timeout=0.1), WAIT)
        assert not result.is_schema_agreed
    with Cluster(nodes.contact_points, port=nodes.port) as cluster:
        blocking_session = await call_in_thread(cluster.connect)
        future = blocking_session.execute_async(DDL, timeout=0.1)
        await call_in_thread(future.result)
        assert not future.is_schema_agreed
        await call_in_thread(cluster.shutdown)


async def test_silent_nodes_end_the_wait_after_max_schema_agreement_wait(
    nodes: FakeCluster,
) -> None:
    """If nodes report no versions, the wait ends after `max_schema_agreement_wait` (0.1 s).

    The statement succeeds, and its result says that there is no agreement.
    """
    async with connected(nodes, max_schema_agreement_wait=0.1) as (_, session):
        for node in nodes.nodes:
            node.prime(PEER_VERSIONS_QUERY, silence())
        assert not (await asyncio.wait_for(session.execute(DDL), WAIT)).is_schema_agreed
