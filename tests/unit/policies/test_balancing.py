"""Load balancing policies.

Their plans contain each live host at most once, near hosts first. A plan is not empty while a host
is up.
"""

from __future__ import annotations

import copy
import pickle
import socket
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, strategies as st

from cassandra.policies.balancing import (
    DCAwareRoundRobinPolicy,
    DefaultLoadBalancingPolicy,
    HostDistance,
    HostFilterPolicy,
    LoadBalancingPolicy,
    RackAwareRoundRobinPolicy,
    RoundRobinPolicy,
    WhiteListRoundRobinPolicy,
    follow_settings,
)
from cassandra.policies.token_aware import TokenAwarePolicy


def host_of(name: str, dc: str = "dc1", rack: str = "r1") -> Any:
    """Return a fake host, typed as the policies expect."""
    return FakeHost(name, dc, rack)


class FakeHost:
    """A fake host with only the attributes that policies read."""

    def __init__(self, name: str, dc: str = "dc1", rack: str = "r1") -> None:
        self.address = name
        self.datacenter = dc
        self.rack = rack
        self.is_up: bool | None = True
        self.endpoint = SimpleNamespace(address=name)

    def __repr__(self) -> str:
        return self.address


class FakeMetadata:
    """Fake metadata in which every key has the same replicas."""

    def __init__(self, replicas: list[Any], hosts: list[Any]) -> None:
        self.replicas = replicas
        self.hosts = hosts

    def get_replicas(self, keyspace: str, key: bytes) -> list[Any]:
        return list(self.replicas)

    def get_host(self, address: str) -> Any:
        return next((host for host in self.hosts if host.address == address), None)


def cluster_of(hosts: list[Any], replicas: list[Any] | None = None) -> Any:
    """Return a fake cluster with these hosts.

    :param replicas: the replicas of every key.
    """
    return SimpleNamespace(metadata=FakeMetadata(replicas or [], hosts), endpoints_resolved=[])


def populated(
    policy: LoadBalancingPolicy, hosts: list[Any], replicas: list[Any] | None = None
) -> LoadBalancingPolicy:
    """Give a policy its hosts, and return the policy.

    :param replicas: the replicas of every key.
    """
    policy.populate(cluster_of(hosts, replicas), hosts)
    return policy


def plan(policy: LoadBalancingPolicy, query: Any = None) -> list[Any]:
    """Return all hosts of a new plan in the keyspace ks."""
    return list(policy.make_query_plan("ks", query))


def test_round_robin_plans_contain_each_host_once_and_rotate() -> None:
    """Each plan has all four hosts, and four consecutive plans begin with different hosts."""
    hosts = [host_of(str(number)) for number in range(4)]
    policy = populated(RoundRobinPolicy(), hosts)
    plans = [plan(policy) for _ in range(8)]
    for query_plan in plans:
        assert len(query_plan) == 4
        assert set(query_plan) == set(hosts)
    assert [query_plan[0] for query_plan in plans[:4]] != [plans[0][0]] * 4
    assert {query_plan[0] for query_plan in plans[:4]} == set(hosts)


def test_round_robin_accepts_hosts_of_any_class() -> None:
    """RoundRobinPolicy reads no attribute of the hosts, so here the hosts are numbers."""
    policy: Any = populated(RoundRobinPolicy(), [1, 2, 3])
    policy.on_down(2)
    policy.on_add(7)
    assert set(plan(policy)) == {1, 3, 7}


def test_round_robin_without_hosts_is_empty() -> None:
    """Without hosts, the plan is empty."""
    assert plan(populated(RoundRobinPolicy(), [])) == []


@given(
    st.lists(
        st.tuples(st.sampled_from(["up", "down", "add", "remove"]), st.integers(0, 5)), max_size=60
    )
)
def test_any_history_leaves_each_live_host_once(events: list[tuple[str, int]]) -> None:
    """After any events, a plan has each live host exactly once.

    `events` are random pairs of an event and the index of its host.
    """
    hosts = [host_of(str(index), f"dc{index % 2}", f"r{index % 3}") for index in range(6)]
    policies = [
        RoundRobinPolicy(),
        DCAwareRoundRobinPolicy("dc0", used_hosts_per_remote_dc=9),
        RackAwareRoundRobinPolicy("dc0", "r0", used_hosts_per_remote_dc=9),
    ]
    # The policies first know only three of the hosts.
    live = set(hosts[:3])
    for policy in policies:
        populated(policy, hosts[:3])
    for event, index in events:
        for policy in policies:
            getattr(policy, f"on_{event}")(hosts[index])
        if event in ("up", "add"):
            live.add(hosts[index])
        else:
            live.discard(hosts[index])
    for policy in policies:
        planned = plan(policy)
        assert set(planned) == live
        assert len(planned) == len(live)


@pytest.mark.parametrize("is_rack_aware", [False, True])
def test_remote_data_centres_have_the_order_of_preference(is_rack_aware: bool) -> None:
    """Local hosts come first, then hosts of the preferred data centres, then all other hosts.

    The preferred data centre "gone" has no hosts, so it is skipped.
    """
    hosts = [host_of(dc + str(i), dc) for dc in ("far", "near", "here", "mid") for i in range(2)]
    options: dict[str, Any] = {
        "used_hosts_per_remote_dc": 1,
        "preferred_remote_dcs": ["near", "gone", "mid"],
    }
    policy = populated(
        RackAwareRoundRobinPolicy("here", "r1", **options)
        if is_rack_aware
        else DCAwareRoundRobinPolicy("here", **options),
        hosts,
    )
    for _ in range(3):
        assert [host.datacenter for host in plan(policy)] == ["here", "here", "near", "mid", "far"]


def test_an_order_of_preference_without_effect_is_refused() -> None:
    """`preferred_remote_dcs` must be a list, and needs `used_hosts_per_remote_dc`.

    With 0 remote hosts, the order of the remote data centres would have no effect.
    """
    with pytest.raises(ValueError, match="no effect without used_hosts_per_remote_dc"):
        DCAwareRoundRobinPolicy("here", preferred_remote_dcs=["near"])
    with pytest.raises(TypeError, match=r"write \['near'\]"):
        DCAwareRoundRobinPolicy("here", 1, "near")


def test_local_data_centre_first_then_some_of_the_others() -> None:
    """A plan has all hosts of the local data centre first, and then some remote hosts."""
    local = [host_of(f"l{i}", "here") for i in range(3)]
    remote = [host_of(f"r{i}", "there") for i in range(3)]
    policy = populated(
        DCAwareRoundRobinPolicy("here", used_hosts_per_remote_dc=2), [*remote, *local]
    )
    planned = plan(policy)
    assert set(planned[:3]) == set(local)
    # 3 hosts are local, and 2 of the remote hosts are used.
    assert len(planned) == 5
    distances = [policy.distance(host) for host in remote]
    assert distances.count(HostDistance.REMOTE) == 2
    assert distances.count(HostDistance.IGNORED) == 1
    assert all(policy.distance(host) == HostDistance.LOCAL for host in local)


def test_a_host_added_while_another_thread_makes_a_plan_is_in_the_next_plan() -> None:
    """A host that comes up while a plan is made is in the next plan."""
    first, second = host_of("1"), host_of("2")
    policy = DCAwareRoundRobinPolicy("dc1")

    class ReportingHost(FakeHost):
        """A host that reports another host up while its attributes are read.

        The engine's thread may report a host at any time.
        """

        @property
        def datacenter(self) -> str:
            policy.on_up(second)
            return "dc1"

        @datacenter.setter
        def datacenter(self, datacenter: str) -> None:
            """Ignore the value, because the property is constant."""

    reporting_host: Any = ReportingHost("3")
    policy.populate(cluster_of([]), [first, reporting_host])
    # The first plan has only the hosts that were known when the plan began.
    assert len(list(policy.make_query_plan())) == 2
    assert second in list(policy.make_query_plan())


def test_the_contact_points_data_centre_is_local_by_default() -> None:
    """By default, the data centre of the control connection's host is the local one."""
    hosts = [host_of("a", "dc9"), host_of("b", "dc9"), host_of("c", "other")]
    cluster = cluster_of(hosts)
    cluster.get_control_connection_host = lambda: hosts[0]
    policy = DCAwareRoundRobinPolicy()
    policy.populate(cluster, hosts)
    assert policy.local_dc == "dc9"
    assert set(plan(policy)) == set(hosts[:2])


def cluster_in(datacenter: str) -> tuple[Any, list[Any]]:
    """Return a cluster, and its hosts in one data centre."""
    hosts = [host_of(f"{datacenter}-a", datacenter), host_of(f"{datacenter}-b", datacenter)]
    cluster = cluster_of(hosts)
    cluster.get_control_connection_host = lambda: hosts[0]
    return cluster, hosts


class OwnCluster(SimpleNamespace):
    """A cluster object that supports weak references, which a `SimpleNamespace` does not."""


@pytest.mark.parametrize("cluster_class", [SimpleNamespace, OwnCluster])
def test_the_local_data_centre_is_found_again_for_another_cluster(
    cluster_class: type[SimpleNamespace],
) -> None:
    """A policy that serves a second cluster finds that cluster's local data centre.

    For example, the policy may be in a profile that is a constant of a module.
    """
    policy = DCAwareRoundRobinPolicy()
    policy.populate(*cluster_in("dc1"))
    namespace, hosts = cluster_in("dc2")
    cluster: Any = cluster_class(**vars(namespace))
    policy.populate(cluster, hosts)
    assert policy.local_dc == "dc2"
    assert set(plan(policy)) == set(hosts)
    # The control connection has moved to another data centre, but the local data centre stays the
    # same.
    elsewhere = host_of("c", "dc3")
    cluster.get_control_connection_host = lambda: elsewhere
    policy.populate(cluster, [*hosts, elsewhere])
    assert policy.local_dc == "dc2"


def located_hosts() -> list[Any]:
    """Return a host in each of two racks of dc1, and in each of two other data centres."""
    return [host_of("a"), host_of("b", rack="r2"), host_of("c", "dc2"), host_of("d", "dc3")]


@pytest.mark.parametrize(
    "wrap",
    [
        lambda policy: policy,
        TokenAwarePolicy,
        DefaultLoadBalancingPolicy,
        lambda policy: HostFilterPolicy(policy, lambda host: True),
    ],
)
def test_settings_apply_to_the_next_plan(wrap: Any) -> None:
    """An application may change the settings of a policy at any time, without an event of a host.

    The plans and the distances agree after each change.
    """
    hosts = located_hosts()
    settings = DCAwareRoundRobinPolicy("dc1", used_hosts_per_remote_dc=1)
    policy = populated(wrap(settings), hosts)
    assert set(plan(policy)[:2]) == {hosts[0], hosts[1]}
    settings.local_dc = "dc2"
    assert plan(policy)[0] is hosts[2]
    settings.preferred_remote_dcs = ("dc3",)
    assert plan(policy)[:2] == [hosts[2], hosts[3]]
    settings.used_hosts_per_remote_dc = 0
    assert plan(policy) == [hosts[2]]
    assert [policy.distance(host) for host in hosts] == [-1, -1, 1, -1]


def test_the_rack_applies_to_the_next_plan() -> None:
    """RackAwareRoundRobinPolicy uses another local rack or data centre from the next plan on."""
    hosts = located_hosts()
    policy = RackAwareRoundRobinPolicy("dc1", "r1")
    populated(policy, hosts)
    assert plan(policy) == [hosts[0], hosts[1]]
    policy.local_rack = "r2"
    assert plan(policy) == [hosts[1], hosts[0]]
    policy.local_dc = "dc3"
    assert plan(policy) == [hosts[3]]


def test_a_setting_that_changes_while_a_plan_is_made_applies_to_the_next_plan() -> None:
    """Tiers that another thread computes from the old setting meanwhile are not cached."""
    hosts = located_hosts()

    class ChangedDuringPlan(DCAwareRoundRobinPolicy):
        """Changes `local_dc` after the tiers of all hosts are known."""

        def _tier(self, host: Any) -> int | None:
            tier = super()._tier(host)
            if host is hosts[-1] and self.local_dc == "dc1":
                self.local_dc = "dc2"
            return tier

    policy = ChangedDuringPlan("dc1")
    populated(policy, hosts)
    assert set(plan(policy)) == {hosts[0], hosts[1]}
    assert plan(policy) == [hosts[2]]


class Follower:
    """Counts the changes of a policy's settings."""

    changes = 0

    def on_settings_changed(self) -> None:
        self.changes += 1


def test_followers_are_notified_of_changed_settings() -> None:
    """Objects that cache distances learn when they change. Copies of the policy do not notify."""
    policy = DCAwareRoundRobinPolicy("dc1")
    follower, freed = Follower(), Follower()
    follow_settings(HostFilterPolicy(DefaultLoadBalancingPolicy(policy), bool), follower)
    follow_settings(policy, freed)
    follow_settings(RoundRobinPolicy(), follower)  # has no settings
    del freed
    policy.local_dc = "dc2"
    assert follower.changes == 1
    for duplicate in (pickle.loads(pickle.dumps(policy)), copy.deepcopy(policy)):
        duplicate.local_dc = "dc3"
        assert plan(populated(duplicate, located_hosts()))[0].datacenter == "dc3"
    assert follower.changes == 1


def test_a_subclass_may_set_the_data_centre_before_the_constructor() -> None:
    """A subclass of an application may set `local_dc` before it calls the constructor."""

    class Early(DCAwareRoundRobinPolicy):
        def __init__(self) -> None:
            self.local_dc = "dc1"
            super().__init__(self.local_dc)

    assert plan(populated(Early(), located_hosts()))[0].datacenter == "dc1"


def test_a_policy_that_has_found_its_data_centre_can_be_pickled() -> None:
    """A copy of a policy in another process finds the local data centre of the cluster there."""
    policy = DCAwareRoundRobinPolicy()
    _, hosts = cluster_in("dc1")
    policy.populate(OwnCluster(get_control_connection_host=lambda: hosts[0]), [])
    assert policy.local_dc == "dc1"
    unpickled = pickle.loads(pickle.dumps(policy))
    unpickled.populate(*cluster_in("dc2"))
    assert unpickled.local_dc == "dc2"


def test_a_local_data_centre_that_the_application_names_is_kept() -> None:
    """If the application sets `local_dc`, another cluster does not change it."""
    policy = DCAwareRoundRobinPolicy()
    policy.populate(*cluster_in("dc1"))
    policy.local_dc = "dc2"
    policy.populate(*cluster_in("dc3"))
    assert policy.local_dc == "dc2"


def test_rack_then_data_centre_then_the_rest() -> None:
    """A plan has the hosts of the local rack first, then of the data centre, then remote hosts."""
    hosts = [
        host_of("a", "dc", "r1"),
        host_of("b", "dc", "r2"),
        host_of("c", "dc", "r1"),
        host_of("d", "x", "r1"),
    ]
    policy = populated(RackAwareRoundRobinPolicy("dc", "r1", used_hosts_per_remote_dc=1), hosts)
    planned = plan(policy)
    assert set(planned[:2]) == {hosts[0], hosts[2]}
    assert planned[2:] == [hosts[1], hosts[3]]
    assert [policy.distance(host) for host in hosts] == [
        HostDistance.LOCAL_RACK,
        HostDistance.LOCAL,
        HostDistance.LOCAL_RACK,
        HostDistance.REMOTE,
    ]


def statement(key: bytes | None = b"k", lwt: bool = False) -> Any:
    """Return a fake statement with the attributes that policies read.

    :param key: the routing key; None for no key.
    :param lwt: whether the statement is a lightweight transaction.
    """
    return SimpleNamespace(routing_key=key, keyspace=None, is_lwt=lambda: lwt)


def test_replicas_come_first_and_nothing_twice() -> None:
    """A plan begins with the replicas, and has each host once."""
    hosts = [host_of(str(i)) for i in range(6)]
    policy = populated(TokenAwarePolicy(RoundRobinPolicy()), hosts, hosts[2:5])
    for _ in range(20):
        planned = plan(policy, statement())
        assert set(planned[:3]) == set(hosts[2:5])
        assert len(planned) == 6
        assert set(planned) == set(hosts)


def test_replicas_are_shuffled_but_not_for_lightweight_transactions() -> None:
    """Replicas are shuffled, except for lightweight transactions or `shuffle_replicas=False`."""
    hosts = [host_of(str(i)) for i in range(6)]
    policy = populated(TokenAwarePolicy(RoundRobinPolicy()), hosts, hosts[:5])
    orders = {tuple(map(repr, plan(policy, statement())[:5])) for _ in range(60)}
    assert len(orders) > 1
    lwt_orders = {tuple(map(repr, plan(policy, statement(lwt=True))[:5])) for _ in range(20)}
    # The plan of a lightweight transaction always has the replicas in the order of the metadata.
    assert lwt_orders == {("0", "1", "2", "3", "4")}
    unshuffled = populated(
        TokenAwarePolicy(RoundRobinPolicy(), shuffle_replicas=False), hosts, hosts[:5]
    )
    assert {tuple(map(repr, plan(unshuffled, statement())[:5])) for _ in range(20)} == lwt_orders


def test_replicas_that_are_down_are_not_first() -> None:
    """If the first replica is down, the plan begins with the second one."""
    hosts = [host_of(str(i)) for i in range(3)]
    hosts[0].is_up = False
    policy = populated(TokenAwarePolicy(RoundRobinPolicy()), hosts, hosts[:2])
    assert plan(policy, statement())[0] is hosts[1]


def test_without_a_routing_key_the_child_s_plan_is_used() -> None:
    """Without a routing key, the replicas are unknown, so the plan is the child policy's."""
    hosts = [host_of(str(i)) for i in range(3)]
    policy = populated(TokenAwarePolicy(RoundRobinPolicy()), hosts, hosts[:2])
    assert set(plan(policy, statement(key=None))) == set(hosts)


def test_white_lists_and_filters_exclude_other_hosts() -> None:
    """Hosts that are not in the white list, or that the filter rejects, are ignored."""
    hosts = [host_of(f"10.0.0.{i}") for i in range(4)]
    listed = populated(WhiteListRoundRobinPolicy(["10.0.0.1", "10.0.0.3"]), hosts)
    assert set(plan(listed)) == {hosts[1], hosts[3]}
    assert listed.distance(hosts[0]) == HostDistance.IGNORED
    listed.on_up(hosts[0])
    assert hosts[0] not in plan(listed)
    filtered = populated(
        HostFilterPolicy(RoundRobinPolicy(), lambda host: host.address != "10.0.0.2"), hosts
    )
    assert hosts[2] not in plan(filtered)
    assert filtered.distance(hosts[2]) == HostDistance.IGNORED
    assert filtered.distance(hosts[1]) == HostDistance.LOCAL


def test_white_lists_accept_host_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """A white list may have names, which are resolved. A name that is unknown is ignored.

    A host matches by its address or by its `broadcast_rpc_address`.
    """

    def resolve(name: str, port: Any, **hints: Any) -> list[Any]:
        if name == "gone":
            raise OSError("no such name")
        # Address family, type and protocol are those of IPv4 and TCP.
        return [(2, 1, 6, "", ({"db": "10.0.0.2"}.get(name, name), 0))]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    host_with_address, host_with_name, other = (
        host_of("10.0.0.2"),
        host_of("db.example"),
        host_of("10.0.0.9"),
    )
    host_with_name.broadcast_rpc_address = "10.0.0.2"
    for listed in (["db", "gone"], ["10.0.0.2"]):
        policy = populated(
            WhiteListRoundRobinPolicy(listed), [host_with_address, host_with_name, other]
        )
        assert set(plan(policy)) == {host_with_address, host_with_name}
        assert policy.distance(other) == HostDistance.IGNORED


def test_default_policy_honours_the_target_host() -> None:
    """A statement's `target_host` is the first host of the plan, if this host is up."""
    hosts = [host_of(str(i)) for i in range(3)]
    policy = populated(DefaultLoadBalancingPolicy(RoundRobinPolicy()), hosts)
    planned = plan(policy, SimpleNamespace(target_host="2"))
    assert planned[0] is hosts[2]
    assert len(planned) == 3
    # If the target host is down, the plan is the child policy's plan, which has all hosts in any
    # order.
    hosts[2].is_up = False
    assert set(plan(policy, SimpleNamespace(target_host="2"))) == set(hosts)


def test_user_policies_may_subclass() -> None:
    """An application may subclass a policy, and change the plans of its base class."""

    class DescendingPolicy(RoundRobinPolicy):
        def make_query_plan(self, working_keyspace: str | None = None, query: Any = None) -> Any:
            return iter(sorted(super().make_query_plan(working_keyspace, query), reverse=True))

    assert plan(populated(DescendingPolicy(), [1, 3, 2])) == [3, 2, 1]


@pytest.mark.parametrize("names", [("", "r"), ("dc", "")])
def test_rack_aware_needs_both_names(names: tuple[str, str]) -> None:
    """RackAwareRoundRobinPolicy needs the names of a data centre and a rack."""
    with pytest.raises(ValueError, match="must be given"):
        RackAwareRoundRobinPolicy(*names)


@pytest.mark.parametrize(
    "duplicate", [copy.copy, copy.deepcopy, lambda policy: pickle.loads(pickle.dumps(policy))]
)
@pytest.mark.parametrize(
    "policy",
    [
        RoundRobinPolicy(),
        DCAwareRoundRobinPolicy("a"),
        RackAwareRoundRobinPolicy("a", "b"),
    ],
    ids=lambda policy: type(policy).__name__,
)
def test_rotating_policies_can_be_copied(policy: Any, duplicate: Any) -> None:
    """Rotating policies can be copied and pickled.

    So they must not hold counters of itertools, which Python 3.14 can no longer copy.
    """
    copied_policy = duplicate(policy)
    assert type(copied_policy) is type(policy)
    # The copy has its own position, which continues to count up.
    assert next(copied_policy._position) + 1 == next(copied_policy._position)


@pytest.mark.parametrize(
    ("child", "advice"),
    [
        ("dc1", r"write DCAwareRoundRobinPolicy\('dc1'\)"),
        (lambda host: True, r"write HostFilterPolicy\(child_policy, predicate\)"),
        (None, "child_policy must be a policy, but is None"),
    ],
)
def test_a_child_that_is_no_policy_is_refused(child: Any, advice: str) -> None:
    """A child that is no policy raises TypeError, which says what to write."""
    with pytest.raises(TypeError, match=advice):
        TokenAwarePolicy(child)
    with pytest.raises(TypeError, match=advice):
        HostFilterPolicy(child, RoundRobinPolicy())  # type: ignore[arg-type]


def test_white_lists_have_no_ports() -> None:
    """An address with a port raises ValueError. An IPv6 address has colons, too, but is allowed."""
    with pytest.raises(ValueError, match=r"one is '10\.0\.0\.1:9042': write '10\.0\.0\.1'"):
        WhiteListRoundRobinPolicy(["10.0.0.2", "10.0.0.1:9042"])
    WhiteListRoundRobinPolicy(["fe80::1", "10.0.0.1"])


@pytest.mark.parametrize("policy_class", [DCAwareRoundRobinPolicy, RackAwareRoundRobinPolicy])
def test_the_number_of_remote_hosts_is_not_negative(policy_class: Any) -> None:
    """`used_hosts_per_remote_dc` may be 0, but not negative."""
    names = ("dc1",) if policy_class is DCAwareRoundRobinPolicy else ("dc1", "r1")
    with pytest.raises(ValueError, match="must not be negative, but is -1"):
        policy_class(*names, used_hosts_per_remote_dc=-1)
    assert policy_class(*names, used_hosts_per_remote_dc=0).used_hosts_per_remote_dc == 0


@pytest.mark.parametrize("start", [0, 1, 2])
@pytest.mark.parametrize(
    "policy",
    [
        RoundRobinPolicy(),
        DCAwareRoundRobinPolicy("dc1"),
        RackAwareRoundRobinPolicy("dc1", "r1"),
    ],
)
def test_rotations_begin_at_a_random_number_of_the_engine(policy: Any, start: int) -> None:
    """The first plan begins at a random host, which the engine's random source chooses."""
    hosts = [host_of(name) for name in "abc"]
    policy.populate(SimpleNamespace(), hosts)
    policy.attach(SimpleNamespace(random=SimpleNamespace(randrange=lambda limit: start)))
    assert list(policy.make_query_plan()) == hosts[start:] + hosts[:start]
