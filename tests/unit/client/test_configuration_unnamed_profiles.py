"""Execution profiles without a name, which are passed to a call as objects.

Their policies are notified of hosts, and percentile policies also get latencies. A policy is
dropped when its profile is garbage collected.
"""

from __future__ import annotations

import gc
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import pytest

from cassandra import aio
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile, ProfileManager
from cassandra.policies import (
    HostFilterPolicy,
    PercentileSpeculativeExecutionPolicy,
    RetryPolicy,
    RoundRobinPolicy,
)
from cassandra.query import SimpleStatement
from cassandra.testing import FakeCluster
from cassandra.testing.fake import paged
from tests.unit.engine.faults import READ, int_row
from tests.waiting import result_of, until, until_on_loop

both_apis = pytest.mark.parametrize("cluster_class", [Cluster, aio.Cluster])


def profile_of_node(nodes: FakeCluster, index: int) -> ExecutionProfile:
    """Return a profile that uses only the node with this index."""
    address = nodes[index].address
    return ExecutionProfile(
        load_balancing_policy=HostFilterPolicy(
            RoundRobinPolicy(), lambda host: host.address == address
        )
    )


@contextmanager
def two_nodes() -> Iterator[FakeCluster]:
    """Yield two nodes, each of which responds to `READ` with its own index."""
    with FakeCluster(2) as nodes:
        for index, node in enumerate(nodes.nodes):
            node.prime(READ, int_row(index))
        yield nodes


def policy_count(cluster: Any) -> int:
    """Return the number of load-balancing policies that the cluster notifies of hosts."""
    return len(cluster._core.listeners.policies)


@pytest.fixture(autouse=True)
def hold_only_one_profile(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make clusters keep only the last unnamed profile for requests in flight."""
    monkeypatch.setattr("cassandra.engine.profile.HELD_PROFILES", 1)


def release_held_profiles(cluster: Any) -> None:
    """Drop the unnamed profiles that the cluster keeps for requests in flight."""
    cluster.profile_manager._last_unnamed.clear()
    gc.collect()


def test_a_blocking_call_uses_the_policy_until_the_profile_is_gone() -> None:
    """Until an unnamed profile is deleted, the cluster notifies the profile's policy of hosts.

    If the profile was cloned, its clones must be deleted, too.
    """
    with two_nodes() as nodes, Cluster([nodes[0].address], port=nodes.port) as cluster:
        session = cluster.connect()
        profile = profile_of_node(nodes, 1)
        for _ in range(3):
            assert session.execute(READ, execution_profile=profile).one().k == 1
        # These are the policy of the default profile and the policy of this profile.
        assert policy_count(cluster) == 2
        clone = session.execution_profile_clone_update(profile, request_timeout=3)
        assert session.execute(READ, execution_profile=clone).one().k == 1
        assert policy_count(cluster) == 2
        del profile, clone
        release_held_profiles(cluster)
        until(lambda: policy_count(cluster) == 1)


def test_a_host_that_only_the_profile_uses_gets_a_pool() -> None:
    """If only an unnamed profile uses a host, the session opens a pool to it.

    The session closes the pool when the profile was deleted.
    """
    with (
        two_nodes() as nodes,
        Cluster(
            [nodes[0].address],
            port=nodes.port,
            load_balancing_policy=profile_of_node(nodes, 0).load_balancing_policy,
        ) as cluster,
    ):
        session = cluster.connect()
        # The cluster's policy uses only the first node, and the profile's policy uses only the
        # second node.
        profile = profile_of_node(nodes, 1)
        assert session.execute(READ, execution_profile=profile).one().k == 1
        assert len(session.get_pool_state()) == 2
        # The profile now uses the first node. When the profile is deleted, no policy uses the
        # second node any more.
        profile.load_balancing_policy = profile_of_node(nodes, 0).load_balancing_policy
        assert session.execute(READ, execution_profile=profile).one().k == 0
        del profile
        release_held_profiles(cluster)
        until(lambda: len(session.get_pool_state()) == 1)


def test_a_callback_may_use_an_unnamed_profile() -> None:
    """A callback may execute a request with a new profile.

    The callback runs on the event loop, where attaching the profile's policies must not block.
    """
    with two_nodes() as nodes, Cluster([nodes[0].address], port=nodes.port) as cluster:
        session = cluster.connect()
        profile = profile_of_node(nodes, 1)
        results: list[Any] = []

        def execute_with_profile(rows: Any) -> None:
            future = session.execute_async(READ, execution_profile=profile)
            future.add_callbacks(results.append, results.append)

        session.execute_async(READ).add_callback(execute_with_profile)
        until(lambda: results)
        assert results[0][0].k == 1


async def test_an_asyncio_call_uses_the_policy_until_the_profile_is_gone() -> None:
    """Until an unnamed profile is deleted, an asyncio cluster notifies its policy of hosts."""
    with two_nodes() as nodes:
        async with aio.Cluster([nodes[0].address], port=nodes.port) as cluster:
            session = await cluster.connect(wait_for_all_pools=True)
            profile = profile_of_node(nodes, 1)
            for _ in range(3):
                assert (await session.execute(READ, execution_profile=profile)).one().k == 1
            assert policy_count(cluster) == 2
            del profile
            release_held_profiles(cluster)
            await until_on_loop(lambda: policy_count(cluster) == 1)


def test_further_pages_are_read_after_the_profile_is_gone() -> None:
    """If the application deletes its profile, further pages of the result can still be read.

    The result keeps a reference to the profile.
    """
    with two_nodes() as nodes:
        pages = paged([("k", "int")], [(n,) for n in range(6)])
        nodes.prime("PAGES", pages)
        default = profile_of_node(nodes, 0).load_balancing_policy
        with Cluster([nodes[0].address], port=nodes.port, load_balancing_policy=default) as cluster:
            session = cluster.connect()
            rows = session.execute(
                SimpleStatement("PAGES", fetch_size=2), execution_profile=profile_of_node(nodes, 1)
            )
            gc.collect()
            assert len(list(rows)) == 6


def test_a_replaced_policy_of_a_profile_is_forgotten() -> None:
    """If an unnamed profile gets a new policy, the cluster forgets the old policy."""
    with two_nodes() as nodes, Cluster([nodes[0].address], port=nodes.port) as cluster:
        session = cluster.connect()
        profile = profile_of_node(nodes, 1)
        for _ in range(5):
            profile.load_balancing_policy = RoundRobinPolicy()
            session.execute(READ, execution_profile=profile)
        # The cluster's policy and the last policy of the profile are left.
        until(lambda: policy_count(cluster) == 2)


# -- speculative execution policies ----------------------------------------------------------------


@asynccontextmanager
async def connected(cluster_class: Any, **settings: Any) -> AsyncIterator[tuple[Any, Any]]:
    """Yield a connected cluster of two nodes and a session."""
    with two_nodes() as nodes:
        cluster = cluster_class([nodes[0].address], port=nodes.port, **settings)
        try:
            yield cluster, await result_of(cluster.connect())
        finally:
            await result_of(cluster.shutdown())


class Latencies:
    """A percentile policy; `count` is the number of latencies that its tracker has got."""

    def __init__(self) -> None:
        self.policy = PercentileSpeculativeExecutionPolicy()

    @property
    def count(self) -> int:
        return sum(self.policy.tracker._counts)


@both_apis
async def test_a_policy_of_a_clone_gets_the_latencies(cluster_class: Any) -> None:
    """The speculative execution policy of an unnamed profile gets the latency of each request.

    It gets none after the profile was deleted or got another policy.
    """
    async with connected(cluster_class) as (cluster, session):
        # Do everything twice. In the second round, the second clone's policies are attached after
        # the first clone's policies were detached.
        for _ in range(2):
            latencies, later_latencies = Latencies(), Latencies()
            # The clone has the load-balancing policy of the default profile, so only its
            # speculative execution policy is new to the cluster.
            clone = session.execution_profile_clone_update(
                EXEC_PROFILE_DEFAULT, speculative_execution_policy=latencies.policy
            )
            for _ in range(3):
                await result_of(session.execute(READ, execution_profile=clone))
            assert latencies.count == 3
            clone.speculative_execution_policy = later_latencies.policy
            for _ in range(2):
                await result_of(session.execute(READ, execution_profile=clone))
            assert later_latencies.count == 2
            # The replaced policy must not get the latencies of these two requests.
            assert latencies.count == 3
            del clone
            release_held_profiles(cluster)
            # Both policies are detached, because no profile uses them.
            await until_on_loop(lambda: not cluster._core.policies._attached)
        assert cluster._core.on_latency is None


@both_apis
@pytest.mark.parametrize("settings", [{}, {"execution_profiles": {"web": ExecutionProfile()}}])
async def test_a_policy_that_is_set_on_a_profile_in_use_gets_the_latencies(
    cluster_class: Any, settings: dict[str, Any]
) -> None:
    """If a policy is set on a profile that a cluster already uses, it is attached at once.

    If a session has an old-style setting (here `default_timeout`), it has its own default profile,
    whose policies are attached in the same way.
    """
    async with connected(cluster_class, **settings) as (cluster, session):
        latencies, session_latencies = Latencies(), Latencies()
        default = cluster.profile_manager.default
        default.speculative_execution_policy = latencies.policy
        default.load_balancing_policy = RoundRobinPolicy()
        await result_of(session.execute(READ))
        assert latencies.count == 1
        if not settings:
            session.default_timeout = 5
            session._default_profile.speculative_execution_policy = session_latencies.policy
            await result_of(session.execute(READ))
            assert (latencies.count, session_latencies.count) == (2, 1)
    # The cluster is shut down, so this policy is not attached to anything.
    default.speculative_execution_policy = PercentileSpeculativeExecutionPolicy()


# -- retry policies --------------------------------------------------------------------------------


class AttachedRetries(RetryPolicy):
    """A retry policy that records the engines it was attached to and detached from."""

    def __init__(self) -> None:
        super().__init__()
        self.engines: list[Any] = []
        self.former_engines: list[Any] = []

    def attach(self, engine: Any) -> None:
        self.engines.append(engine)

    def detach(self, engine: Any) -> None:
        self.former_engines.append(engine)


@both_apis
async def test_retry_policies_are_attached_whenever_their_profile_is_added(
    cluster_class: Any,
) -> None:
    """A retry policy is attached to the engine once, and detached when no profile uses it.

    This holds for the default profile, unnamed profiles, and profiles that were added by
    `add_execution_profile` or assigned to a key of the cluster's profiles.
    """
    first, added, replaced, set_later, unnamed = (AttachedRetries() for _ in range(5))
    profiles = {EXEC_PROFILE_DEFAULT: ExecutionProfile(retry_policy=first)}
    async with connected(cluster_class, execution_profiles=profiles) as (cluster, session):
        engine = cluster._core
        # Add profiles in each of the ways that the docstring names.
        await result_of(cluster.add_execution_profile("a", ExecutionProfile(retry_policy=added)))
        cluster.profile_manager.profiles["b"] = ExecutionProfile(retry_policy=added)
        cluster.profile_manager.profiles["c"] = ExecutionProfile(retry_policy=replaced)
        cluster.profile_manager.default.retry_policy = set_later
        profile = ExecutionProfile(retry_policy=unnamed)
        # The second request must not attach the unnamed profile's policy again.
        for _ in range(2):
            await result_of(session.execute(READ, execution_profile=profile))
        for policy in (first, added, replaced, set_later, unnamed):
            assert policy.engines == [engine]
        # When the unnamed profile is deleted, its policy is detached.
        del profile
        release_held_profiles(cluster)
        await until_on_loop(lambda: unnamed.former_engines == [engine])


@pytest.mark.parametrize("cluster_class", [Cluster, aio.Cluster])
def test_the_profile_manager_cannot_be_replaced(cluster_class: Any) -> None:
    cluster = cluster_class()
    with pytest.raises(AttributeError, match=r"set profile_manager\.profiles"):
        cluster.profile_manager = ProfileManager()
