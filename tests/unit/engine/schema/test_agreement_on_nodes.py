"""`Session.wait_for_schema_agreement`, which queries every connected host in its scope."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from cassandra import aio
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile, SchemaAgreementScope
from cassandra.engine.schema.agreement import LOCAL_VERSION_QUERY
from cassandra.errors import ConnectionException
from cassandra.policies import DCAwareRoundRobinPolicy
from cassandra.testing.fake import FakeCluster, Request, reset, rows
from tests.waiting import until

pytestmark = pytest.mark.simulated

OTHER_VERSION = uuid.UUID(int=7)


def settings_for_two_datacenters() -> dict[str, Any]:
    """Return settings of a cluster with the local data centre dc1.

    The cluster also uses hosts of dc2.
    """
    policy = DCAwareRoundRobinPolicy("dc1", used_hosts_per_remote_dc=2)
    return {"execution_profiles": {EXEC_PROFILE_DEFAULT: ExecutionProfile(policy)}}


def other_version(request: Request) -> Any:
    """Return a schema version that no other node has."""
    return rows([("schema_version", "uuid")], [(OTHER_VERSION,)])


def test_only_hosts_in_the_scope_must_agree() -> None:
    """`wait_for_schema_agreement` returns True if all hosts in the scope have the same version.

    The scope may be a member of SchemaAgreementScope or its name. Without a scope, all hosts must
    agree.
    """
    with FakeCluster({"dc1": 2, "dc2": 1}) as nodes:
        remote_node = next(node for node in nodes.nodes if node.datacenter == "dc2")
        with Cluster(
            nodes.contact_points[:1], port=nodes.nodes[0].port, **settings_for_two_datacenters()
        ) as cluster:
            session = cluster.connect(wait_for_all_pools=True)
            assert session.wait_for_schema_agreement()
            remote_node.prime(LOCAL_VERSION_QUERY, other_version)
            assert session.wait_for_schema_agreement(wait_time=5, scope=SchemaAgreementScope.DC)
            assert session.wait_for_schema_agreement(wait_time=5, scope="rack")
            # Without a scope, the remote node is queried, too, and its version differs.
            queries_before = len(remote_node.queries(LOCAL_VERSION_QUERY))

            def remote_node_is_queried() -> bool:
                # On a busy machine, the wait may end before the query is sent.
                assert not session.wait_for_schema_agreement(wait_time=0.05)
                return len(remote_node.queries(LOCAL_VERSION_QUERY)) > queries_before

            until(remote_node_is_queried)
            remote_node.clear_primes()
            assert session.wait_for_schema_agreement(wait_time=5, scope="cluster")
            with pytest.raises(ValueError, match="planet"):
                session.wait_for_schema_agreement(scope="planet")


async def test_a_host_that_closes_its_connection_is_asked_again() -> None:
    """After a lost connection, the versions are queried on another connection to the host."""
    with FakeCluster(2) as nodes:
        async with aio.Cluster(nodes.contact_points, port=nodes.nodes[0].port) as cluster:
            session = await cluster.connect(wait_for_all_pools=True)
            nodes.nodes[1].prime(LOCAL_VERSION_QUERY, reset(), times=1)
            assert await session.wait_for_schema_agreement(wait_time=5)
            # The first query was not answered.
            assert len(nodes.nodes[1].queries(LOCAL_VERSION_QUERY)) == 2
            # If no pool has a connection, no host can be queried, so the call raises an error.
            for pool in session._engine.pools.values():
                pool.connections.clear()
            with pytest.raises(ConnectionException, match="cluster"):
                await session.wait_for_schema_agreement(wait_time=1)
