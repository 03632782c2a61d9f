"""The plans of wrapping policies end, even if the plan of the policy inside is endless."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from cassandra.metadata.host import Host
from cassandra.policies import (
    DefaultLoadBalancingPolicy,
    HostFilterPolicy,
    LoadBalancingPolicy,
    RoundRobinPolicy,
    TokenAwarePolicy,
)
from cassandra.policies.plan_limit import LONGEST_PLAN, limited
from cassandra.query import HostTargetingStatement, SimpleStatement
from tests.conftest import Implementation

from .test_token_aware import hosts_at, populated, statement


class EndlessPolicy(RoundRobinPolicy):
    """An application's policy that returns its first host again and again."""

    def make_query_plan(self, working_keyspace: Any = None, query: Any = None) -> Iterator[Host]:
        return itertools.repeat(self._live_hosts[0])


def test_a_plan_ends_at_the_limit() -> None:
    """`limited` ends an endless plan after LONGEST_PLAN hosts."""
    assert list(limited(itertools.repeat("a"))) == ["a"] * LONGEST_PLAN
    assert list(limited(["a", "b"])) == ["a", "b"]


def target_of(hosts: list[Host]) -> Any:
    """Return a statement for the host that the endless plan returns."""
    return HostTargetingStatement(SimpleStatement("SELECT"), hosts[0].address)


@pytest.mark.parametrize(
    ("wrap", "query_for", "count"),
    [
        (lambda child: HostFilterPolicy(child, lambda host: False), lambda hosts: None, 0),
        (DefaultLoadBalancingPolicy, target_of, 1),
        (TokenAwarePolicy, lambda hosts: statement(), 3),
    ],
    ids=["filter", "target", "replicas"],
)
def test_a_wrapping_policy_that_leaves_out_all_hosts_ends(
    wrap: Callable[[LoadBalancingPolicy], LoadBalancingPolicy],
    query_for: Callable[[list[Host]], Any],
    count: int,
) -> None:
    """A wrapping policy ends its plan if it skips all hosts of an endless child plan.

    Otherwise the search for the next host would never end, and would block the event loop.
    """
    hosts = hosts_at([("dc1", "r1")] * 3)
    policy = wrap(EndlessPolicy())
    populated(policy, hosts, ks={"class": "SimpleStrategy", "replication_factor": "3"})
    plan = list(policy.make_query_plan(None, query_for(hosts)))
    assert len(plan) == len(set(plan)) == count


def test_replicas_of_an_endless_plan(implementation: Implementation) -> None:
    """A plan with one replica ends, although the child's plan repeats this host endlessly."""
    hosts = hosts_at([("dc1", "r1")] * 2)
    child = EndlessPolicy()
    child.populate(None, hosts)  # type: ignore[arg-type]
    first = child._live_hosts[0]
    plan = implementation.plans.replica_plan((first,), child, None, statement())
    assert list(plan) == [first]
    plan = implementation.plans.replica_plan((), child, None, statement())
    assert len(list(plan)) == LONGEST_PLAN
