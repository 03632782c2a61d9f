"""`Policies`, which passes hosts and the engine to load-balancing policies.

It also opens the pools that the policies need.
"""

from __future__ import annotations

import asyncio
import random
import time
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

from cassandra.engine.listeners import Listeners
from cassandra.engine.policies import Policies
from cassandra.metadata.cluster_metadata import Metadata
from cassandra.policies import DCAwareRoundRobinPolicy, RoundRobinPolicy
from tests.unit.engine.partners import new_host, spawn

UP, DOWN, UNKNOWN = (
    new_host("10.0.0.1"),
    new_host("10.0.0.2", is_up=False),
    new_host("10.0.0.3", is_up=None),
)


class RecordingPolicy(RoundRobinPolicy):
    """A policy that records its calls."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[Any] = []

    def populate(self, cluster: Any, hosts: Any) -> None:
        self.calls.append(("populate", cluster, len(list(hosts))))

    def attach(self, engine: Any) -> None:
        self.calls.append(("attach", engine))

    def on_down(self, host: Any) -> None:
        self.calls.append(("down", host))


class PoliciesHarness:
    """A `Policies` object with fakes of everything that it uses, and three hosts.

    `brought_up` lists the hosts to which pools were opened.
    """

    def __init__(self) -> None:
        self.brought_up: list[Any] = []
        metadata = Metadata()
        metadata._replace_hosts([UP, DOWN, UNKNOWN])
        self.listeners = Listeners(lambda: None, time.monotonic)
        self.engine: Any = SimpleNamespace(random=random.Random(0))
        self.distance_updates = 0
        engine: Any = self.engine
        self.policies = Policies(
            engine,
            metadata,
            self.listeners,
            self.bring_up,
            spawn,
            self.update_distances,
            asyncio.get_running_loop(),
        )

    def update_distances(self) -> None:
        self.distance_updates += 1

    async def bring_up(self, host: Any) -> bool:
        self.brought_up.append(host)
        return True


async def test_a_policy_gets_the_hosts_before_the_engine() -> None:
    """A policy gets all hosts, and learns which are down, before the engine is attached to it.

    Its method `attach` may use the hosts.
    """
    harness = PoliciesHarness()
    policy = RecordingPolicy()
    cluster = object()
    harness.policies.populate(policy, cluster)  # type: ignore[arg-type]
    host_count = 3
    assert policy.calls == [
        ("populate", cluster, host_count),
        ("down", DOWN),
        ("attach", harness.engine),
    ]
    assert harness.listeners.policies == [policy]


async def test_for_a_policy_that_is_added_later_pools_are_opened() -> None:
    """If a policy is added to a connected cluster, pools to all hosts are opened.

    The new policy may use hosts that all other policies ignore.
    """
    harness = PoliciesHarness()
    harness.policies.populate_all([], object())  # type: ignore[arg-type]
    policy = RecordingPolicy()
    tasks = harness.policies.adopt(policy, object())  # type: ignore[arg-type]
    assert await asyncio.gather(*tasks) == [True, True, True]
    assert harness.brought_up == [UP, DOWN, UNKNOWN]
    assert policy.calls[0][0] == "populate"


async def test_a_policy_that_is_added_while_the_cluster_connects_is_populated_once() -> None:
    """Its profile is among those whose policies are populated at the end of `connect`."""
    harness = PoliciesHarness()
    policy = RecordingPolicy()
    cluster: Any = object()
    assert harness.policies.adopt(policy, cluster) == []
    assert policy.calls == []
    harness.policies.populate_all([policy], cluster)
    assert harness.policies.adopt(policy, cluster) == []
    assert [call[0] for call in policy.calls] == ["populate", "down", "attach"]
    assert harness.listeners.policies == [policy]


async def test_a_policy_is_adopted_once_and_forgotten() -> None:
    """A policy that several profiles share is adopted once.

    When it is forgotten, the distances of hosts are computed again.
    """
    harness = PoliciesHarness()
    policy = RecordingPolicy()
    cluster = object()
    harness.policies.populate_all([], cluster)  # type: ignore[arg-type]
    assert harness.policies.adopt(policy, cluster)  # type: ignore[arg-type]
    assert harness.policies.adopt(policy, cluster) == []  # type: ignore[arg-type]
    assert harness.listeners.policies == [policy]
    harness.policies.forget(policy)
    assert harness.listeners.policies == []
    assert harness.distance_updates == 1


async def test_a_speculative_execution_policy_is_attached_once_until_it_is_forgotten() -> None:
    """A speculative execution policy that several profiles share is attached only once.

    When it is forgotten, its `detach` method is called if it has one.
    """
    calls: list[Any] = []
    policy: Any = SimpleNamespace(
        attach=lambda engine: calls.append("attach"), detach=lambda engine: calls.append("detach")
    )
    without_detach: Any = SimpleNamespace(attach=lambda engine: calls.append("attach"))
    harness = PoliciesHarness()
    for each_policy in (policy, policy, without_detach):
        harness.policies.attach_once(each_policy)
    for each_policy in (policy, without_detach):
        harness.policies.forget(each_policy)
    # Both policies were attached once, and `policy` was detached.
    assert calls == ["attach", "attach", "detach"]
    # Speculative execution policies do not affect the distances of hosts, so no distance was
    # computed.
    assert harness.distance_updates == 0


async def test_changed_settings_of_a_policy_change_the_pools() -> None:
    """If a policy's settings change, in any thread, the distances are computed on the loop."""
    harness = PoliciesHarness()
    policy = DCAwareRoundRobinPolicy("dc1")
    harness.policies.populate(policy, Mock())
    await asyncio.to_thread(setattr, policy, "local_dc", "dc2")
    await asyncio.sleep(0)
    assert harness.distance_updates == 1


def test_settings_of_a_policy_may_change_after_the_cluster_is_closed() -> None:
    """An application may keep a policy longer than the cluster whose loop is closed."""

    async def populate() -> PoliciesHarness:
        harness = PoliciesHarness()
        harness.policies.populate(policy, Mock())
        return harness

    policy = DCAwareRoundRobinPolicy("dc1")
    harness = asyncio.run(populate())
    policy.local_dc = "dc2"
    assert harness.distance_updates == 0
