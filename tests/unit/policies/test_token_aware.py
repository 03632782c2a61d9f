"""Query plans of TokenAwarePolicy and other policies with a real token map.

A plan has the replicas first, contains each live host once, and has nearer hosts before others.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, strategies as st

from cassandra import ConsistencyLevel
from cassandra.engine.endpoint import DefaultEndPoint
from cassandra.metadata import Metadata, ReplicationStrategy
from cassandra.metadata.host import Host
from cassandra.policies import (
    AdaptivePolicy,
    DCAwareRoundRobinPolicy,
    DefaultLoadBalancingPolicy,
    DSELoadBalancingPolicy,
    HostDistance,
    HostFilterPolicy,
    LoadBalancingPolicy,
    RackAwareRoundRobinPolicy,
    RoundRobinPolicy,
    TokenAwarePolicy,
    WhiteListRoundRobinPolicy,
)
from cassandra.query import SimpleStatement
from tests.conftest import Implementation

LOCATIONS = [
    ("dc1", "r1"),
    ("dc1", "r2"),
    ("dc1", "r1"),
    ("dc1", "r2"),
    ("dc2", "r1"),
    ("dc2", "r2"),
]


def hosts_at(locations: list[tuple[str, str]] = LOCATIONS) -> list[Host]:
    """Return hosts that are up.

    :param locations: the data centre and the rack of each host.
    """
    hosts = [
        Host(DefaultEndPoint(f"10.0.0.{number}"), datacenter=datacenter, rack=rack)
        for number, (datacenter, rack) in enumerate(locations)
    ]
    for host in hosts:
        host.set_up()
    return hosts


def cluster_of(hosts: list[Host], **replication: dict[str, str]) -> Any:
    """Return a fake cluster in which each host owns 8 random tokens.

    :param replication: the replication options of each keyspace. By default, the keyspace ks has
        three replicas: two in dc1 and one in dc2.
    """
    random_source = random.Random(7)
    metadata = Metadata()
    metadata.rebuild_token_map(
        "org.apache.cassandra.dht.Murmur3Partitioner",
        {
            host: [str(random_source.randrange(-(1 << 63), 1 << 63)) for _ in range(8)]
            for host in hosts
        },
    )
    options_by_keyspace = replication or {
        "ks": {"class": "NetworkTopologyStrategy", "dc1": "2", "dc2": "1"}
    }
    metadata._replace_replication(
        {
            name: ReplicationStrategy.create(options["class"], options)
            for name, options in options_by_keyspace.items()
        }
    )
    return SimpleNamespace(metadata=metadata, endpoints_resolved=[])


def populated(policy: LoadBalancingPolicy, hosts: list[Host], **replication: dict[str, str]) -> Any:
    """Give a policy its hosts, and return the metadata of its cluster; see `cluster_of`."""
    cluster = cluster_of(hosts, **replication)
    policy.populate(cluster, hosts)
    return cluster.metadata


def statement(
    key: bytes | None = b"key", keyspace: str | None = "ks", lwt: bool = False, **more: Any
) -> Any:
    """Return a fake statement with all attributes that planners read.

    The statement has a consistency level, because the fast path of planners reads it.

    :param key: the routing key; None for no key.
    :param lwt: whether the statement is a lightweight transaction.
    :param more: further attributes of the statement.
    """
    attributes = {"consistency_level": None, **more}
    return SimpleNamespace(routing_key=key, keyspace=keyspace, is_lwt=lambda: lwt, **attributes)


def plan(policy: LoadBalancingPolicy, query: Any = None, keyspace: str | None = None) -> list[Host]:
    """Return all hosts of a new plan.

    :param keyspace: the keyspace of the session.
    """
    return list(policy.make_query_plan(keyspace, query))


POLICIES: dict[str, Callable[[], LoadBalancingPolicy]] = {
    "round robin": lambda: RoundRobinPolicy(),
    "data centre": lambda: DCAwareRoundRobinPolicy("dc1", used_hosts_per_remote_dc=9),
    "rack": lambda: RackAwareRoundRobinPolicy("dc1", "r2", used_hosts_per_remote_dc=9),
    "token, round robin": lambda: TokenAwarePolicy(RoundRobinPolicy()),
    "token, data centre": lambda: TokenAwarePolicy(
        DCAwareRoundRobinPolicy("dc1", used_hosts_per_remote_dc=9)
    ),
    "token, rack": lambda: TokenAwarePolicy(
        RackAwareRoundRobinPolicy("dc1", "r2", used_hosts_per_remote_dc=9)
    ),
    "token, filter": lambda: TokenAwarePolicy(
        HostFilterPolicy(RoundRobinPolicy(), lambda host: True)
    ),
    "adaptive": lambda: AdaptivePolicy(
        RackAwareRoundRobinPolicy("dc1", "r1", used_hosts_per_remote_dc=9)
    ),
    "default": lambda: DefaultLoadBalancingPolicy(TokenAwarePolicy(RoundRobinPolicy())),
}
# Policies whose plans begin with the replicas of the statement's key.
BY_TOKEN = [kind for kind in POLICIES if "token" in kind or kind in ("adaptive", "default")]
EVENTS = st.lists(
    st.tuples(st.sampled_from(["up", "down", "add", "remove"]), st.integers(0, 5)), max_size=30
)


@pytest.mark.parametrize("policy_name", list(POLICIES))
@given(events=EVENTS, key=st.none() | st.binary(min_size=1, max_size=9))
@pytest.mark.slow
def test_plans_contain_each_live_host_once_with_near_replicas_first(
    policy_name: str, events: list[tuple[str, int]], key: bytes | None
) -> None:
    """After any events, a plan has each live host once: replicas first, near hosts before others.

    `events` are random pairs of an event and the index of its host.
    """
    hosts = hosts_at()
    policy = POLICIES[policy_name]()
    metadata = populated(policy, hosts)
    live = set(hosts)
    for event, index in events:
        host = hosts[index]
        if event in ("up", "add"):
            host.set_up()
            live.add(host)
        else:
            host.set_down()
            live.discard(host)
        getattr(policy, f"on_{event}")(host)
    planned = plan(policy, statement(key))
    assert len(planned) == len(set(planned))
    assert set(planned) == live
    distances = [policy.distance(host) for host in planned]
    # Without a routing key, or with a policy that does not route by token, only the distances
    # decide the order.
    if key is None or policy_name not in BY_TOKEN:
        assert distances == sorted(distances)
        return
    replicas = [host for host in metadata.get_replicas("ks", key) if host in live]
    assert set(planned[: len(replicas)]) == set(replicas)
    assert distances[: len(replicas)] == sorted(distances[: len(replicas)])
    assert distances[len(replicas) :] == sorted(distances[len(replicas) :])


def test_ignored_hosts_are_in_no_plan() -> None:
    """Hosts that the child policy ignores are not in the plan, even if they are replicas."""
    hosts = hosts_at()
    policy = TokenAwarePolicy(DCAwareRoundRobinPolicy("dc1"))
    metadata = populated(policy, hosts)
    for number in range(50):
        key = bytes([number])
        planned = plan(policy, statement(key))
        # The plan has the four hosts of dc1, and begins with the two local replicas.
        assert set(planned) == set(hosts[:4])
        assert set(planned[:2]) == {
            host for host in metadata.get_replicas("ks", key) if host.datacenter == "dc1"
        }


def test_the_replica_in_the_local_rack_is_first() -> None:
    """With a rack-aware child, the plan begins with the replica in the local rack."""
    hosts = hosts_at()
    policy = TokenAwarePolicy(RackAwareRoundRobinPolicy("dc1", "r2"))
    populated(policy, hosts)
    assert {plan(policy, statement(bytes([number])))[0].rack for number in range(50)} == {"r2"}


def test_plans_follow_the_hosts_tokens_and_the_replication() -> None:
    """After each change of the metadata, plans begin with the current replicas."""
    hosts = hosts_at()
    policy = TokenAwarePolicy(RoundRobinPolicy())
    metadata = populated(policy, hosts, ks={"class": "SimpleStrategy", "replication_factor": "1"})
    first_hosts = [plan(policy, statement(bytes([number])))[0] for number in range(60)]
    assert first_hosts == [metadata.get_replicas("ks", bytes([number]))[0] for number in range(60)]
    # From now on, the only replica of each partition is in dc2.
    metadata._replace_replication(
        {"ks": ReplicationStrategy.create("NetworkTopologyStrategy", {"dc2": "1"}), "other": None}
    )
    assert {plan(policy, statement(bytes([number])))[0].datacenter for number in range(60)} == {
        "dc2"
    }
    # Remove one of the two hosts of dc2, so that the remaining host has all replicas.
    metadata._replace_hosts([*hosts[:4], hosts[5]])
    policy.on_remove(hosts[4])
    assert {plan(policy, statement(bytes([number])))[0] for number in range(60)} == {hosts[5]}
    # If the replication is unknown, plans have all hosts of the child policy.
    metadata._replace_replication({})
    assert set(plan(policy, statement())) == {*hosts[:4], hosts[5]}


def test_the_session_s_keyspace_is_used_for_statements_without_one() -> None:
    """If a statement has no keyspace, the keyspace of the session decides the replicas."""
    hosts = hosts_at()
    policy = TokenAwarePolicy(RoundRobinPolicy(), shuffle_replicas=False)
    metadata = populated(policy, hosts)
    expected = metadata.get_replicas("ks", b"key")
    assert plan(policy, statement(keyspace=None), "ks")[:3] == expected
    assert plan(policy, statement(keyspace="ks"), "other")[:3] == expected
    # If the keyspace is unknown, there are no replicas. The first host is then the child policy's,
    # which rotates.
    firsts = {plan(policy, statement(keyspace=None))[0] for _ in range(6)}
    assert firsts == set(hosts)
    assert {plan(policy, statement(keyspace="unknown"))[0] for _ in range(6)} == set(hosts)


@pytest.mark.parametrize(
    "query",
    [
        statement(lwt=True),
        statement(consistency_level=ConsistencyLevel.SERIAL),
        statement(consistency_level=ConsistencyLevel.LOCAL_SERIAL),
    ],
)
@pytest.mark.parametrize("policy_class", [TokenAwarePolicy, AdaptivePolicy])
def test_conditional_and_serial_statements_get_replicas_in_ring_order(
    query: Any, policy_class: Any
) -> None:
    """Replicas are shuffled, except for lightweight transactions and serial reads."""
    hosts = hosts_at()
    policy = policy_class(RoundRobinPolicy())
    metadata = populated(policy, hosts)
    expected = metadata.get_replicas("ks", b"key")
    assert {tuple(plan(policy, query)[:3]) for _ in range(20)} == {tuple(expected)}
    assert len({tuple(plan(policy, statement())[:3]) for _ in range(60)}) > 1


def test_shuffle_replicas_can_be_changed_at_run_time() -> None:
    """A new value of `shuffle_replicas` applies to the next plan."""
    hosts = hosts_at()
    policy = TokenAwarePolicy(RoundRobinPolicy())
    metadata = populated(policy, hosts)
    query = SimpleStatement("SELECT", routing_key=b"key", keyspace="ks")
    assert len({tuple(plan(policy, query)[:3]) for _ in range(60)}) > 1
    policy.shuffle_replicas = False
    assert not policy.shuffle_replicas
    assert {tuple(plan(policy, query)[:3]) for _ in range(60)} == {
        tuple(metadata.get_replicas("ks", b"key"))
    }
    policy.shuffle_replicas = True
    assert len({tuple(plan(policy, query)[:3]) for _ in range(60)}) > 1


def test_an_application_s_child_policy_is_asked_for_each_plan() -> None:
    """An application's policy may change its distances at any time, so they are not cached."""
    hosts = hosts_at()
    banned: set[Host] = set()

    class BanningPolicy(RoundRobinPolicy):
        def distance(self, host: Any) -> int:
            return HostDistance.IGNORED if host in banned else HostDistance.LOCAL

    policy = TokenAwarePolicy(BanningPolicy())
    metadata = populated(policy, hosts)
    replicas = metadata.get_replicas("ks", b"key")
    assert set(plan(policy, statement())[:3]) == set(replicas)
    banned.add(replicas[0])
    assert set(plan(policy, statement())[:2]) == set(replicas[1:])


def test_tables_with_tablets_may_have_other_replicas() -> None:
    """If `Metadata.table_replicas` returns replicas for a table, the plan begins with them."""
    hosts = hosts_at()
    policy = TokenAwarePolicy(RoundRobinPolicy())
    metadata = populated(policy, hosts)
    ring_replicas = set(metadata.get_replicas("ks", b"key"))
    other = next(host for host in hosts if host not in ring_replicas)
    assert set(plan(policy, statement(table="tablets"))[:3]) == ring_replicas
    metadata.table_replicas = lambda keyspace, table, key: (
        [other] if (keyspace, table) == ("ks", "tablets") else None
    )
    assert plan(policy, statement(table="tablets"))[0] is other
    assert set(plan(policy, statement(table="plain"))[:3]) == ring_replicas
    # Without this function, each table has the replicas of the ring.
    metadata.table_replicas = None
    assert set(plan(policy, statement(table="tablets"))[:3]) == ring_replicas


def test_replicas_that_go_down_while_a_plan_is_used_are_skipped() -> None:
    """A plan skips a replica that goes down before the plan has returned it."""
    hosts = hosts_at()
    policy = TokenAwarePolicy(RoundRobinPolicy(), shuffle_replicas=False)
    metadata = populated(policy, hosts)
    first, second, third = metadata.get_replicas("ks", b"key")
    query_plan = iter(policy.make_query_plan(None, statement()))
    assert next(query_plan) is first
    second.set_down()
    assert next(query_plan) is third


def test_distances_are_updated_by_events() -> None:
    """When the only used host of dc2 goes down, the other host of dc2 is used instead."""
    hosts = hosts_at()
    policy = TokenAwarePolicy(DCAwareRoundRobinPolicy("dc1", used_hosts_per_remote_dc=1))
    populated(policy, hosts, ks={"class": "NetworkTopologyStrategy", "dc2": "2"})
    # The policy uses only one host of dc2. If this host goes down, the policy uses the other host.
    used_host = plan(policy, statement())[0]
    other_host = next(host for host in hosts[4:] if host is not used_host)
    assert policy.distance(other_host) == HostDistance.IGNORED
    used_host.set_down()
    policy.on_down(used_host)
    assert policy.distance(other_host) == HostDistance.REMOTE
    assert plan(policy, statement())[0] is other_host


@pytest.mark.parametrize("is_filtered", [False, True], ids=["plain", "filtered"])
@pytest.mark.parametrize("replicas_per_dc", ["1", "2"])
def test_replicas_of_remote_data_centres_have_the_order_of_preference(
    is_filtered: bool, replicas_per_dc: str
) -> None:
    """Local replicas come first, then replicas in preferred data centres, then other replicas."""
    names = ["here", "d", "b", "c"]
    hosts = hosts_at([(name, f"r{rack}") for name in names for rack in range(2)])
    child: LoadBalancingPolicy = DCAwareRoundRobinPolicy(
        "here", used_hosts_per_remote_dc=2, preferred_remote_dcs=["b", "c"]
    )
    if is_filtered:
        child = HostFilterPolicy(child, lambda host: True)
    policy = TokenAwarePolicy(child)
    replicas_by_dc = dict.fromkeys(names, replicas_per_dc)
    metadata = populated(policy, hosts, ks={"class": "NetworkTopologyStrategy", **replicas_by_dc})
    for key in (b"%d" % number for number in range(8)):
        owners = metadata.get_replicas("ks", key)
        expected = [name for name in ("here", "b", "c", "d") for _ in range(int(replicas_per_dc))]
        planned = plan(policy, statement(key))[: len(owners)]
        assert set(planned) == set(owners)
        assert [host.datacenter for host in planned] == expected
        # AdaptivePolicy uses the same order, and the number of replicas in the nearest data centre.
        ranked, nearest = policy._ranked_replicas("ks", key, statement(key))
        assert [host.datacenter for host in ranked] == expected
        assert nearest == int(replicas_per_dc)


def test_the_next_plan_follows_added_and_stopped_hosts() -> None:
    """A host that was added is in the next plan, and a host that is down is not the first any more.

    The policy first knows only five of the six hosts.
    """
    hosts = hosts_at()
    policy = TokenAwarePolicy(DCAwareRoundRobinPolicy("dc1", used_hosts_per_remote_dc=2))
    cluster = cluster_of(hosts, ks={"class": "NetworkTopologyStrategy", "dc2": "2"})
    policy.populate(cluster, hosts[:5])
    assert plan(policy, statement())[0] is hosts[4]
    policy.on_add(hosts[5])
    assert set(plan(policy, statement())[:2]) == {hosts[4], hosts[5]}
    hosts[4].set_down()
    policy.on_down(hosts[4])
    assert plan(policy, statement())[0] is hosts[5]
    hosts[4].set_up()
    policy.on_up(hosts[4])
    assert set(plan(policy, statement())[:2]) == {hosts[4], hosts[5]}


def interrupt_distances(policy: TokenAwarePolicy, event: Callable[[], None]) -> None:
    """Call `event` right after the policy has read the distances of all hosts.

    This imitates another thread that changes the hosts at this moment.
    """
    child = policy._child_policy
    original_distance = child.distance

    pending_events = [event]

    def distance_with_event(host: Host) -> int:
        result = original_distance(host)
        # This is the last host, so the policy has read all distances.
        if pending_events and host.address == f"10.0.0.{len(LOCATIONS) - 1}":
            pending_events.pop()()
        return result

    child.distance = distance_with_event  # type: ignore[method-assign]


@pytest.mark.parametrize("has_other", [True, False], ids=["with another keyspace", "at first"])
@pytest.mark.parametrize("policy_class", [TokenAwarePolicy, AdaptivePolicy])
def test_replication_changed_while_replicas_are_computed_is_used(
    policy_class: Any,
    has_other: bool,
    implementation: Implementation,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """If the replication changes while the policy makes a plan, the next plan has the new replicas.

    :param has_other: whether the policy has made a plan for another keyspace before.
    """
    # Let both policies use the compiled or the Python implementation.
    monkeypatch.setattr("cassandra.policies.token_aware.plans", implementation.plans)
    monkeypatch.setattr("cassandra.policies.adaptive.plans", implementation.plans)
    monkeypatch.setattr(TokenAwarePolicy, "make_query_plan", implementation.plans.make_query_plan)
    hosts = hosts_at()
    policy = policy_class(RoundRobinPolicy())
    strategy_of_dc1 = {"class": "NetworkTopologyStrategy", "dc1": "1"}
    metadata = populated(policy, hosts, ks=strategy_of_dc1, other=strategy_of_dc1)
    if has_other:
        plan(policy, statement(keyspace="other"))
    new_strategy = ReplicationStrategy.create("NetworkTopologyStrategy", {"dc2": "1"})
    interrupt_distances(
        policy, lambda: metadata._replace_replication(dict.fromkeys(("ks", "other"), new_strategy))
    )
    plan(policy, statement())
    for keyspace in ("ks", "other", "ks"):
        (replica,) = metadata.get_replicas(keyspace, b"key")
        assert plan(policy, statement(keyspace=keyspace))[0] is replica
    assert replica.datacenter == "dc2"
    assert policy._planner is not None


def test_distances_changed_while_replicas_are_computed_are_used() -> None:
    """If a host goes down while the policy makes a plan, the next plan begins with another host."""
    hosts = hosts_at()
    policy = TokenAwarePolicy(DCAwareRoundRobinPolicy("dc1", used_hosts_per_remote_dc=1))
    populated(policy, hosts, ks={"class": "NetworkTopologyStrategy", "dc2": "2"})
    used = next(host for host in hosts[4:] if policy.distance(host) == HostDistance.REMOTE)
    other = next(host for host in hosts[4:] if host is not used)

    def go_down() -> None:
        used.set_down()
        policy.on_down(used)

    interrupt_distances(policy, go_down)
    plan(policy, statement())
    assert plan(policy, statement())[0] is other
    assert policy._planner is not None


def test_white_lists_and_filters_also_exclude_replicas() -> None:
    """A replica that the white list or the filter excludes is not in the plan."""
    hosts = hosts_at()
    listed = TokenAwarePolicy(WhiteListRoundRobinPolicy(["10.0.0.1"]))
    populated(listed, hosts)
    assert {host for number in range(30) for host in plan(listed, statement(bytes([number])))} == {
        hosts[1]
    }
    filtered = HostFilterPolicy(
        TokenAwarePolicy(RoundRobinPolicy()), lambda host: host.rack == "r1"
    )
    populated(filtered, hosts)
    assert {
        host.rack for number in range(30) for host in plan(filtered, statement(bytes([number])))
    } == {"r1"}


def test_dse_load_balancing_policy_is_the_default_policy() -> None:
    """DSELoadBalancingPolicy is a DefaultLoadBalancingPolicy, so it uses `target_host`."""
    hosts = hosts_at()
    policy = DSELoadBalancingPolicy(RoundRobinPolicy())
    populated(policy, hosts)
    assert isinstance(policy, DefaultLoadBalancingPolicy)
    assert plan(policy, SimpleNamespace(target_host="10.0.0.3"))[0] is hosts[3]


def test_both_implementations_make_the_same_plans(
    implementation: Implementation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The compiled and the Python implementation both put the replicas first."""
    monkeypatch.setattr("cassandra.policies.token_aware.plans", implementation.plans)
    monkeypatch.setattr("cassandra.metadata.placement.replication.rings", implementation.ring)
    monkeypatch.setattr("cassandra.metadata.placement.routing.rings", implementation.ring)
    hosts = hosts_at()
    for kind in ("token, round robin", "token, data centre", "token, rack"):
        policy = POLICIES[kind]()
        metadata = populated(policy, hosts)
        for number in range(40):
            key = bytes([number, 3])
            planned = plan(policy, statement(key))
            assert set(planned) == set(hosts)
            assert set(planned[:3]) == set(metadata.get_replicas("ks", key))


@pytest.mark.parametrize("policy_class", [TokenAwarePolicy, AdaptivePolicy])
def test_routers_follow_the_settings_of_the_child_policy(
    implementation: Implementation, policy_class: Any
) -> None:
    """Replicas are sorted by the settings of the child policy as they are now."""
    hosts = hosts_at()
    child = DCAwareRoundRobinPolicy("dc1", used_hosts_per_remote_dc=6)
    policy = policy_class(DefaultLoadBalancingPolicy(child))
    populated(policy, hosts)
    for number in range(20):
        assert plan(policy, statement(str(number).encode()))[0].datacenter == "dc1"
    child.local_dc = "dc2"
    for number in range(20):
        assert plan(policy, statement(str(number).encode()))[0].datacenter == "dc2"
