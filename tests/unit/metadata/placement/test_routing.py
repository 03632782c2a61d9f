"""Test routing by token with fake nodes.

Requests must reach replicas of their key, even after the cluster has changed.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from cassandra import aio
from cassandra.cluster import Cluster
from cassandra.metadata import Metadata
from cassandra.policies import (
    AdaptivePolicy,
    ConstantReconnectionPolicy,
    DCAwareRoundRobinPolicy,
    HostFilterPolicy,
    LoadBalancingPolicy,
    PercentileSpeculativeExecutionPolicy,
    RackAwareRoundRobinPolicy,
    RoundRobinPolicy,
    TokenAwarePolicy,
)
from cassandra.query import SimpleStatement
from cassandra.testing.fake import FakeCluster, FakeNode, hold
from tests.unit.engine.faults import READ, WAIT, HostEvents, call_in_thread, connected, int_row
from tests.unit.metadata.schema.rows import schema
from tests.waiting import until_on_loop

# Partition keys whose tokens are spread over the ring.
KEYS = [bytes([high, low]) for high in range(8) for low in range(8)]


def replicate(nodes: FakeCluster, **keyspaces: dict[str, str]) -> None:
    """Replace the keyspaces of all nodes.

    :param keyspaces: the replication options of each new keyspace.
    """
    for node in nodes.nodes:
        node.schema["system_schema.keyspaces"] = [
            {"keyspace_name": name, "durable_writes": True, "replication": options}
            for name, options in keyspaces.items()
        ]


def simple(replicas: int) -> dict[str, str]:
    """Return the options of SimpleStrategy with this number of replicas."""
    return {
        "class": "org.apache.cassandra.locator.SimpleStrategy",
        "replication_factor": str(replicas),
    }


@pytest.fixture
async def nodes() -> AsyncIterator[FakeCluster]:
    """Yield a cluster of four nodes in two data centres, with two racks in each."""
    async with FakeCluster({"east": 2, "west": 2}, racks=2) as cluster:
        replicate(
            cluster,
            one=simple(1),
            two=simple(2),
            both={"class": "NetworkTopologyStrategy", "east": "1", "west": "1"},
            own={"class": "LocalStrategy"},
        )
        cluster.prime(READ, int_row(1))
        yield cluster


async def coordinators(
    session: aio.Session, keyspace: str, keys: list[bytes] = KEYS
) -> list[tuple[bytes, Any]]:
    """Execute a statement for each key, and return the keys with the hosts that responded."""
    keys_and_hosts = []
    for key in keys:
        future = session.execute(SimpleStatement(READ, routing_key=key, keyspace=keyspace))
        await future
        keys_and_hosts.append((key, future.request.attempts[-1].host))  # type: ignore[attr-defined]
    return keys_and_hosts


# Functions that return a load balancing policy that routes requests by token.
POLICIES: dict[str, Callable[[], LoadBalancingPolicy]] = {
    "token": lambda: TokenAwarePolicy(RoundRobinPolicy()),
    "token, data centre": lambda: TokenAwarePolicy(
        DCAwareRoundRobinPolicy("east", used_hosts_per_remote_dc=2)
    ),
    "token, rack": lambda: TokenAwarePolicy(
        RackAwareRoundRobinPolicy("east", "rack1", used_hosts_per_remote_dc=2)
    ),
    "adaptive": lambda: AdaptivePolicy(DCAwareRoundRobinPolicy("west", used_hosts_per_remote_dc=2)),
}


@pytest.mark.parametrize("policy_name", list(POLICIES))
async def test_requests_with_a_routing_key_reach_a_replica(
    nodes: FakeCluster, policy_name: str
) -> None:
    """With each policy, a request with a routing key reaches a replica of the key."""
    async with connected(nodes, {"load_balancing_policy": POLICIES[policy_name]()}) as (
        cluster,
        session,
    ):
        for keyspace, replica_count in (("one", 1), ("two", 2), ("both", 2)):
            used_hosts = set()
            for key, host in await coordinators(session, keyspace):
                replicas = cluster.metadata.get_replicas(keyspace, key)
                assert len(replicas) == replica_count
                assert host in replicas
                used_hosts.add(host)
            assert len(used_hosts) > 1
        # A keyspace with LocalStrategy has no replicas, so any host may be used.
        assert not any(cluster.metadata.get_replicas("own", key) for key in KEYS)
        used_hosts = {host for _, host in await coordinators(session, "own")}
        # Only "token, rack" prefers the single host of its rack.
        if policy_name != "token, rack":
            assert len(used_hosts) > 1


@pytest.mark.slow
async def test_requests_follow_nodes_that_are_added_and_removed(
    nodes: FakeCluster,
) -> None:
    """After a node is added or removed, requests reach the new replica of their key."""
    async with connected(
        nodes, {"load_balancing_policy": TokenAwarePolicy(RoundRobinPolicy())}
    ) as (cluster, session):
        key = KEYS[0]
        token_map = cluster.metadata.token_map
        assert token_map is not None
        token = token_map.token_class.from_key(key).value
        (owner_before,) = cluster.metadata.get_replicas("one", key)
        # The new node has exactly the key's token, so the node becomes the owner of the key.
        added_node = await call_in_thread(nodes.add_node, "east", "rack1", token)
        await until_on_loop(
            lambda: cluster.metadata.get_replicas("one", key)[0].address == added_node.address
        )
        assert cluster.metadata.token_map is not token_map
        await until_on_loop(lambda: len(session.get_pool_state()) == 5)
        used_addresses = {host.address for _, host in await coordinators(session, "one", [key] * 5)}
        assert used_addresses == {added_node.address}
        await call_in_thread(nodes.remove_node, added_node)
        await until_on_loop(lambda: cluster.metadata.get_replicas("one", key) == [owner_before])
        used_hosts = {host for _, host in await coordinators(session, "one", [key] * 5)}
        assert used_hosts == {owner_before}


async def test_a_changed_replication_is_read_on_its_event(nodes: FakeCluster) -> None:
    """A keyspace whose replication changes is read again when the event arrives."""
    async with connected(nodes, schema_event_refresh_window=0) as (cluster, _):
        assert len(cluster.metadata.get_replicas("one", b"k")) == 1
        replicate(nodes, one=simple(3))
        for node in nodes.nodes:
            await call_in_thread(node.send_event, "SCHEMA_CHANGE", "UPDATED", "KEYSPACE", "one")
        await until_on_loop(lambda: len(cluster.metadata.get_replicas("one", b"k")) == 3)
        # The keyspace "two" must not be read again, because the event was about "one".
        assert len(cluster.metadata.get_replicas("two", b"k")) == 2


async def test_replication_is_read_again_after_the_control_connection_moved(
    nodes: FakeCluster,
) -> None:
    """A new control connection reads the schema again if the schema's version has changed."""
    async with connected(nodes) as (cluster, _):
        replicate(nodes, one=simple(2))
        for node in nodes.nodes:
            # The new schema version tells the driver that the schema has changed while the driver
            # was disconnected.
            node.schema_version = uuid.UUID(int=7)
        address = cluster.get_control_connection_host().address
        await call_in_thread(nodes.stop_node, nodes.node_at(address), False)
        await until_on_loop(lambda: len(cluster.metadata.get_replicas("one", b"k")) == 2)


async def test_without_tokens_no_schema_is_read_and_any_host_is_used(nodes: FakeCluster) -> None:
    """Without token and schema metadata, no schema is read, and any host is used."""
    async with connected(nodes, token_metadata_enabled=False, schema_metadata_enabled=False) as (
        cluster,
        session,
    ):
        assert cluster.metadata.token_map is not None
        assert cluster.metadata.token_map.ring == []
        assert cluster.metadata.get_replicas("one", b"k") == []
        assert len(await coordinators(session, "one", KEYS[:4])) == 4
    assert not [request for request in nodes.requests if "system_schema" in str(request.query)]


async def test_ignored_hosts_get_no_connections(nodes: FakeCluster) -> None:
    """A host that the policy ignores gets no pool, but stays in the metadata."""
    policy = HostFilterPolicy(RoundRobinPolicy(), lambda host: host.datacenter == "east")
    async with connected(nodes, {"load_balancing_policy": policy}) as (cluster, session):
        assert {host.datacenter for host in session.get_pool_state()} == {"east"}
        assert len(cluster.metadata.all_hosts()) == 4


async def test_a_remote_host_that_goes_down_is_replaced(nodes: FakeCluster) -> None:
    """If a remote host goes down, another host of its data centre gets a pool.

    With `used_hosts_per_remote_dc=1`, the policy uses one host of each remote data centre.
    """
    policy = DCAwareRoundRobinPolicy("east", used_hosts_per_remote_dc=1)
    # A reconnection takes a minute here, so the pool that replaces the lost host's pool can be
    # seen.
    slow_reconnection = ConstantReconnectionPolicy(delay=60, max_attempts=None)
    async with connected(
        nodes, {"load_balancing_policy": policy}, reconnection_policy=slow_reconnection
    ) as (
        _,
        session,
    ):

        def remote_addresses() -> list[str]:
            return [host.address for host in session.get_pool_state() if host.datacenter == "west"]

        (used_address,) = remote_addresses()
        await call_in_thread(nodes.stop_node, nodes.node_at(used_address))
        await until_on_loop(
            lambda: len(remote_addresses()) == 1 and remote_addresses() != [used_address]
        )


async def test_the_adaptive_policy_avoids_a_replica_that_does_not_respond(
    nodes: FakeCluster,
) -> None:
    """AdaptivePolicy sends no further requests to a replica that does not respond."""
    policy = AdaptivePolicy(RoundRobinPolicy())
    async with connected(nodes, {"load_balancing_policy": policy}) as (cluster, session):
        key = KEYS[0]
        stuck_host, other_host = cluster.metadata.get_replicas("two", key)
        held_answer = hold(int_row(1))
        nodes.node_at(stuck_host.address).prime(READ, held_answer)
        statement = SimpleStatement(READ, routing_key=key, keyspace="two")
        futures = [session.execute(statement) for _ in range(100)]
        core = session._engine.core
        await until_on_loop(
            lambda: core.in_flight(other_host) == 0 and core.in_flight(stuck_host) > 0
        )
        # The stuck host must get no further request, although it is a replica of the key.
        waiting_requests = core.in_flight(stuck_host)
        for _ in range(50):
            await session.execute(statement)
        assert core.in_flight(stuck_host) == waiting_requests
        await call_in_thread(held_answer.open)
        await asyncio.wait_for(asyncio.gather(*futures), WAIT)


async def test_latencies_are_recorded_only_for_policies_that_need_them(nodes: FakeCluster) -> None:
    """Latencies are recorded only if a policy uses them."""
    async with connected(nodes) as (_, session):
        assert session._engine.core.on_latency is None
    speculation = PercentileSpeculativeExecutionPolicy(99)
    adaptive = AdaptivePolicy(RoundRobinPolicy())
    profile = {"speculative_execution_policy": speculation, "load_balancing_policy": adaptive}
    async with connected(nodes, profile) as (_, session):
        assert speculation.tracker.percentile(50, at_least=1) is None
        # A percentile is computed only from at least 100 latencies.
        for _ in range(130):
            await session.execute(SimpleStatement(READ, is_idempotent=True))
        median = speculation.tracker.percentile(50)
        assert median is not None
        assert 0 < median < WAIT
        assert sum(answers.count for answers in adaptive._answers.values()) >= 130


async def test_events_are_ignored_if_their_window_is_negative(nodes: FakeCluster) -> None:
    """With a refresh window of -1, events of topology and status are ignored."""
    async with connected(
        nodes, topology_event_refresh_window=-1, status_event_refresh_window=-1
    ) as (cluster, _):
        assert cluster._core is not None
        control = cluster._core.control
        control.on_topology_change({})
        cluster._core._status_events.on_event({"change_type": "UP", "address": ("10.9.9.9", 9042)})
        assert control._debouncer.due is None
        assert cluster._core._status_events._delayed_calls == {}


async def test_topology_events_are_joined_without_delaying_the_refresh_for_ever(
    nodes: FakeCluster,
) -> None:
    """Several topology events cause one refresh, which is not delayed without limit."""
    async with connected(nodes, topology_event_refresh_window=0.3) as (cluster, _):
        assert cluster._core is not None
        control = cluster._core.control
        control.schedule_refresh()
        latest_time = control._debouncer._latest_call
        for _ in range(5):
            control.schedule_refresh()
            assert control._debouncer._latest_call == latest_time
            assert control._debouncer.due is not None
            # Further events delay the refresh, but not beyond the latest time that was set for the
            # first event.
            assert control._debouncer.due <= latest_time + 0.01
        await until_on_loop(lambda: control._debouncer.due is None)


@pytest.mark.slow
async def test_an_error_in_one_listener_does_not_affect_others(
    nodes: FakeCluster,
) -> None:
    """An error in one listener does not keep other listeners from getting events."""

    class BrokenListener(HostEvents):
        def _record(self, event: str, host: Any) -> None:
            raise RuntimeError("an error of the application")

    async with connected(nodes) as (cluster, _):
        broken_listener, events = BrokenListener(), HostEvents()
        cluster.register_listener(broken_listener)
        cluster.register_listener(events)
        added_node = await call_in_thread(nodes.add_node)
        await events.expect("add", added_node.address)
        cluster.unregister_listener(events)
        await call_in_thread(nodes.remove_node, added_node)
        await until_on_loop(lambda: cluster.metadata.get_host(added_node.address) is None)
        # The listener was unregistered, so it must get no event.
        assert ("remove", added_node.address) not in events.seen


async def test_a_host_whose_reconnection_ended_comes_back_by_an_event(
    nodes: FakeCluster,
) -> None:
    """If reconnecting to a host was given up, it begins again after an event.

    The event says that the host is up.
    """
    policy = ConstantReconnectionPolicy(delay=0.01, max_attempts=2)
    async with connected(nodes, reconnection_policy=policy) as (cluster, _):
        control_address = cluster.get_control_connection_host().address
        stopped_node = next(node for node in nodes.nodes if node.address != control_address)
        host = cluster.metadata.get_host(stopped_node.address)
        assert host is not None
        assert host.state == "up"
        await call_in_thread(nodes.stop_node, stopped_node)
        await until_on_loop(lambda: host.state == "forced down")
        await call_in_thread(nodes.start_node, stopped_node)
        await until_on_loop(lambda: host.state == "up")


async def test_a_newly_ignored_host_finishes_its_requests(nodes: FakeCluster) -> None:
    """A host that a policy begins to ignore keeps its pool until its last response."""
    accepts_all_hosts = True
    policy = HostFilterPolicy(
        RoundRobinPolicy(), lambda host: accepts_all_hosts or host.datacenter == "east"
    )
    async with connected(nodes, {"load_balancing_policy": policy}) as (cluster, session):
        held_answer = hold(int_row(1))
        for node in nodes.nodes:
            node.prime(READ, held_answer)
        futures = [session.execute(READ) for _ in range(8)]
        await call_in_thread(held_answer.wait, 8)
        accepts_all_hosts = False
        assert cluster._core is not None
        cluster._core.sessions.follow_distances_soon()
        core, first_following = cluster._core, cluster._core.sessions._following
        await until_on_loop(lambda: core.sessions._following is not first_following)
        # The session has followed the new distances. But the ignored hosts still have requests in
        # flight, so their pools must stay.
        assert len(session.get_pool_state()) == 4
        await call_in_thread(held_answer.open)
        await asyncio.wait_for(asyncio.gather(*futures), WAIT)
        await until_on_loop(
            lambda: {host.datacenter for host in session.get_pool_state()} == {"east"}
        )


def test_replicas_of_a_keyspace_are_computed_at_the_first_request() -> None:
    """The replicas of a keyspace are computed only when a request needs them.

    `rebuild_keyspace` computes them earlier if `build_if_absent` is True.
    """
    with FakeNode() as node:
        node.schema = schema("ks", tables=1)
        with Cluster([node.address], port=node.port) as cluster:
            cluster.connect()
            token_map: Any = cluster.metadata.token_map
            (host,) = cluster.metadata.all_hosts()
            # Without `build_if_absent`, replicas must be computed again only if they were computed
            # before.
            token_map.rebuild_keyspace("ks")
            assert token_map.tokens_to_hosts_by_ks == {}
            token_map.rebuild_keyspace("ks", build_if_absent=True)
            assert list(token_map.tokens_to_hosts_by_ks) == ["ks"]
            by_token = token_map.tokens_to_hosts_by_ks["ks"]
            assert {token: list(hosts) for token, hosts in by_token.items()} == {
                token: [host] for token in token_map.ring
            }
            # An unknown keyspace, and the second removal of a keyspace, are ignored.
            token_map.rebuild_keyspace("unknown", build_if_absent=True)
            token_map.remove_keyspace("ks")
            token_map.remove_keyspace("ks")
            assert token_map.tokens_to_hosts_by_ks == {}


@pytest.mark.parametrize("key", [1, "abc", [1, 2], None, 10**13])
def test_a_key_that_is_not_serialized_is_refused(key: Any) -> None:
    """`get_replicas` raises TypeError if the key is not serialized."""
    with pytest.raises(TypeError, match=r"serialized partition key \(bytes\), not .*routing_key"):
        Metadata().get_replicas("ks", key)
