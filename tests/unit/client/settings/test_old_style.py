"""Policies that are set on the cluster itself, as before execution profiles existed.

They become policies of the default profile, and cannot be combined with execution profiles.
"""

from __future__ import annotations

from typing import Any

import pytest

from cassandra import aio
from cassandra.cluster import Cluster, ExecutionProfile
from cassandra.policies import RetryPolicy, RoundRobinPolicy, TokenAwarePolicy
from cassandra.testing.fake import FakeNode


class CountingPolicy(RoundRobinPolicy):
    """A policy that counts how many query plans it has made. Each request needs one plan."""

    plan_count = 0

    def make_query_plan(self, *args: Any, **kwargs: Any) -> Any:
        self.plan_count += 1
        return super().make_query_plan(*args, **kwargs)


@pytest.mark.parametrize("cluster_class", [Cluster, aio.Cluster])
def test_policies_of_the_cluster_are_those_of_the_default_profile(cluster_class: Any) -> None:
    """`load_balancing_policy` and `default_retry_policy` are the policies of the default profile.

    If one of them was set on a cluster, no execution profiles can be added to it.
    """
    cluster = cluster_class()
    assert isinstance(cluster.load_balancing_policy, TokenAwarePolicy)
    assert isinstance(cluster.default_retry_policy, RetryPolicy)
    default = cluster.profile_manager.default
    assert default.retry_policy is cluster.default_retry_policy
    for policy in (RoundRobinPolicy(), RoundRobinPolicy()):
        cluster.load_balancing_policy = policy
        assert cluster.load_balancing_policy is default.load_balancing_policy
        assert policy is default.load_balancing_policy
    # If None is assigned, the setting gets its default policy.
    cluster.default_retry_policy = cluster.load_balancing_policy = None
    assert type(cluster.default_retry_policy) is RetryPolicy
    assert isinstance(cluster.load_balancing_policy, TokenAwarePolicy)
    with pytest.raises(ValueError, match="cannot be added"):
        cluster.add_execution_profile("other", ExecutionProfile())


@pytest.mark.parametrize("name", ["load_balancing_policy", "default_retry_policy"])
def test_profiles_and_policies_exclude_each_other(name: str) -> None:
    """A cluster with execution profiles refuses the old-style policies."""
    cluster = Cluster(execution_profiles={"one": ExecutionProfile()})
    with pytest.raises(ValueError, match=rf"Cluster\.{name} cannot be set"):
        setattr(cluster, name, None)


def test_a_policy_that_is_set_after_connect_is_used() -> None:
    with FakeNode() as node, Cluster([node.address], port=node.port) as cluster:
        session = cluster.connect()
        cluster.load_balancing_policy = policy = CountingPolicy()
        session.execute("SELECT 1")
        assert policy.plan_count == 1


async def test_a_policy_that_is_set_after_connect_is_used_with_asyncio() -> None:
    with FakeNode() as node:
        async with aio.Cluster([node.address], port=node.port) as cluster:
            session = await cluster.connect()
            cluster.load_balancing_policy = policy = CountingPolicy()
            await session.execute("SELECT 1")
            assert policy.plan_count == 1


def test_a_class_attribute_of_a_subclass_is_used() -> None:
    """A subclass may set an old-style policy as a class attribute."""
    policy = RoundRobinPolicy()

    class Ours(Cluster):
        load_balancing_policy = policy

    assert Ours().profile_manager.default.load_balancing_policy is policy
    assert Cluster.load_balancing_policy is None
