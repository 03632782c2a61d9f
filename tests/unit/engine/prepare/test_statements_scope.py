"""The setting `prepare_scope`, which decides where a new statement is prepared in advance."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from cassandra import aio
from cassandra.cluster import Cluster
from cassandra.policies import DCAwareRoundRobinPolicy
from cassandra.testing.fake import FakeCluster
from tests.unit.engine.faults import connected
from tests.waiting import until_on_loop

INSERT = "INSERT INTO ks.t (k) VALUES (?)"


def policy_with_remote_hosts(remote_host_count: int = 1) -> dict[str, Any]:
    """Return profile settings with a policy whose local data centre is "a".

    :param remote_host_count: how many hosts of the data centre "b" the policy uses.
    """
    return {
        "load_balancing_policy": DCAwareRoundRobinPolicy(
            "a", used_hosts_per_remote_dc=remote_host_count
        )
    }


def datacenters_with_statement(nodes: FakeCluster) -> list[str]:
    """Return the data centre of each node on which INSERT is prepared."""
    return [node.datacenter for node in nodes.nodes if INSERT in node.prepared]


@pytest.mark.simulated
@pytest.mark.parametrize(
    ("scope", "remote_host_count", "expected"),
    [
        (None, 1, ["a", "a"]),
        ("local_dc", 1, ["a", "a"]),
        ("all", 1, ["a", "a", "b"]),
        ("all", 0, ["a", "a"]),  # the policy ignores the remote hosts
    ],
)
async def test_statements_are_prepared_ahead_in_their_scope(
    scope: str | None, remote_host_count: int, expected: list[str]
) -> None:
    """A statement is prepared on remote hosts in advance only if `prepare_scope` is "all".

    This concerns remote hosts that a policy uses.
    """
    settings: dict[str, Any] = {} if scope is None else {"prepare_scope": scope}
    with FakeCluster({"a": 2, "b": 1}) as nodes:
        policy = policy_with_remote_hosts(remote_host_count)
        async with connected(nodes, policy, **settings) as (_, session):
            prepared = await session.prepare(INSERT)
            assert datacenters_with_statement(nodes) == expected
            # A node that restarts has forgotten the statement. The driver must prepare it on the
            # same nodes.
            for node in nodes.nodes[1:]:
                nodes.stop_node(node)
            await until_on_loop(lambda: len(session._engine.pools) == 1)
            for node in nodes.nodes[1:]:
                nodes.start_node(node)
            pool_count = 2 + remote_host_count
            await until_on_loop(lambda: len(session._engine.pools) == pool_count)
            await until_on_loop(lambda: len(datacenters_with_statement(nodes)) >= len(expected))
            # No other node may get the statement later.
            await asyncio.sleep(1.0)
            assert datacenters_with_statement(nodes) == expected
            assert prepared.query_string == INSERT


@pytest.mark.simulated
async def test_a_statement_is_prepared_on_a_remote_host_when_it_is_executed_there() -> None:
    """A remote host that does not know a statement prepares it during the execution.

    By default, statements are not prepared on hosts of other data centres in advance.
    """
    with FakeCluster({"a": 1, "b": 1}) as nodes:
        async with connected(nodes, policy_with_remote_hosts()) as (cluster, session):
            prepared = await session.prepare(INSERT)
            host = cluster.metadata.get_host(nodes[1].address, nodes.port)
            await session.execute(prepared, (1,), host=host)
            assert datacenters_with_statement(nodes) == ["a", "b"]


@pytest.mark.parametrize("cluster_class", [Cluster, aio.Cluster])
@pytest.mark.parametrize("scope", ["local", "ALL", "", 1])
def test_other_scopes_are_refused(cluster_class: Any, scope: object) -> None:
    with pytest.raises(ValueError, match='prepare_scope must be "local_dc" or "all", but is'):
        cluster_class(prepare_scope=scope)
