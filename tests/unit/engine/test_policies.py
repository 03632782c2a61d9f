"""`Policies` tells load balancing policies the hosts, attaches the engine to them, and opens pools
for them.
"""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

from cassandra.engine.listeners import Listeners
from cassandra.engine.policies import Policies
from cassandra.metadata.cluster_metadata import Metadata
from cassandra.policies import RoundRobinPolicy
from tests.unit.engine.partners import new_host, spawn

UP, DOWN, UNKNOWN = (
    new_host("10.0.0.1"),
    new_host("10.0.0.2", is_up=False),
    new_host("10.0.0.3", is_up=None),
)


class RecordingPolicy(RoundRobinPolicy):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[Any] = []

    def populate(self, cluster: Any, hosts: Any) -> None:
        self.seen.append(("populate", cluster, len(list(hosts))))

    def attach(self, engine: Any) -> None:
        self.seen.append(("attach", engine))

    def on_down(self, host: Any) -> None:
        self.seen.append(("down", host))


class PolicyParts:
    def __init__(self) -> None:
        self.brought_up: list[Any] = []
        metadata = Metadata()
        metadata._replace_hosts([UP, DOWN, UNKNOWN])
        self.listeners = Listeners(lambda: None)
        self.engine: Any = object()
        engine: Any = self.engine
        self.distance_updates: list[int] = []
        self.policies = Policies(
            engine,
            metadata,
            self.listeners,
            self.bring_up,
            spawn,
            lambda: self.distance_updates.append(1),
        )

    async def bring_up(self, host: Any) -> bool:
        self.brought_up.append(host)
        return True


async def test_a_policy_gets_the_hosts_before_the_engine() -> None:
    parts, policy, cluster = PolicyParts(), RecordingPolicy(), object()
    parts.policies.populate(policy, cluster)  # type: ignore[arg-type]
    assert policy.seen == [
        ("populate", cluster, 3),
        ("down", DOWN),
        ("attach", parts.engine),
    ]
    assert parts.listeners.policies == [policy]


async def test_for_a_policy_that_is_added_later_pools_are_opened() -> None:
    parts, policy = PolicyParts(), RecordingPolicy()
    tasks = parts.policies.adopt(policy, object())  # type: ignore[arg-type]
    assert await asyncio.gather(*tasks) == [True, True, True]
    # If the other policies ignore the host that is down, nobody has tried to reach it so far.
    assert parts.brought_up == [UP, DOWN, UNKNOWN]
    assert policy.seen[0][0] == "populate"


async def test_a_policy_is_adopted_once_and_forgotten() -> None:
    parts, policy, cluster = PolicyParts(), RecordingPolicy(), object()
    assert parts.policies.adopt(policy, cluster)  # type: ignore[arg-type]
    assert parts.policies.adopt(policy, cluster) == []  # type: ignore[arg-type]
    assert parts.listeners.policies == [policy]
    parts.policies.forget(policy)
    assert parts.listeners.policies == []
    # Without the policy, hosts may have other distances, so these are updated.
    assert parts.distance_updates == [1]


async def test_a_speculative_execution_policy_is_attached_once_until_it_is_forgotten() -> None:
    calls: list[Any] = []
    policy: Any = SimpleNamespace(
        attach=lambda engine: calls.append("attach"), detach=lambda engine: calls.append("detach")
    )
    without_detach: Any = SimpleNamespace(attach=lambda engine: calls.append("attach"))
    parts = PolicyParts()
    for other in (policy, policy, without_detach):
        parts.policies.attach_once(other)
    for other in (policy, without_detach):
        parts.policies.forget(other)
    # Each policy was attached once, and the one that has a `detach` method was detached.
    assert calls == ["attach", "attach", "detach"]
    # These policies do not influence the distances of hosts, so no distance was read again.
    assert parts.distance_updates == []
