"""AdaptivePolicy prefers replicas with few requests in flight, and avoids slow replicas.

At most some of the hosts are avoided, and only for a limited time.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from cassandra.metadata.host import Host
from cassandra.policies import (
    AdaptivePolicy,
    DCAwareRoundRobinPolicy,
    HostFilterPolicy,
    RoundRobinPolicy,
)
from cassandra.policies.adaptive import ENOUGH_ANSWERS, JUDGE_INTERVAL

from .test_token_aware import hosts_at, plan, populated, statement


class Engine:
    """A fake engine for a policy.

    The test sets its clock `now` (in seconds) and the number `busy` of requests in flight per host,
    and reads the `observers` that the policy has registered.
    """

    def __init__(self) -> None:
        self.now = 100.0
        self.random = random.Random()
        self.busy: Counter[Host] = Counter()
        self.observers: list[Any] = []
        self.failure_observers: list[Any] = []

    def time(self) -> float:
        return self.now

    def in_flight(self, host: Host) -> int:
        return self.busy[host]

    def observe_latencies(self, observer: Any) -> None:
        self.observers.append(observer)

    def observe_failures(self, observer: Any) -> None:
        self.failure_observers.append(observer)


def attached_policy(
    policy: AdaptivePolicy | None = None, **settings: Any
) -> tuple[AdaptivePolicy, Engine, list[Host], Any]:
    """Return a policy attached to a fake engine, the engine, three hosts, and their metadata.

    :param policy: None for a new AdaptivePolicy with `settings`.
    """
    hosts = hosts_at([("dc1", "r1")] * 3)
    policy = policy or AdaptivePolicy(RoundRobinPolicy(), **settings)
    metadata = populated(policy, hosts, ks={"class": "SimpleStrategy", "replication_factor": "3"})
    policy._random = random.Random(11)
    engine = Engine()
    policy.attach(engine)
    return policy, engine, hosts, metadata


def first_host(policy: Any, query: Any = None) -> Host:
    """Return the first host of a new plan.

    :param query: the statement; None for a statement with a routing key.
    """
    host: Host = next(iter(policy.make_query_plan(None, query or statement())))
    return host


def report_latencies(
    policy: AdaptivePolicy,
    engine: Engine,
    latencies: dict[Host, float],
    times: int = ENOUGH_ANSWERS,
) -> None:
    """Report latencies of hosts, and let enough time pass that the policy compares the hosts.

    :param latencies: seconds, by host.
    :param times: how often each latency is reported.
    """
    for _ in range(times):
        for host, seconds in latencies.items():
            policy.on_latency(host, seconds)
    # The policy compares the hosts when a latency is reported after this interval.
    engine.now += JUDGE_INTERVAL
    for host, seconds in latencies.items():
        policy.on_latency(host, seconds)


def test_load_spreads_over_replicas_that_are_equal() -> None:
    """If all replicas respond equally fast, each gets a third of the requests.

    The requests never end here, so `busy` counts how many requests each host has got.
    """
    policy, engine, _, _ = attached_policy()
    for _ in range(3000):
        engine.busy[first_host(policy)] += 1
    # There are 3000 requests on three hosts, so the counts may differ only by a few requests.
    assert max(engine.busy.values()) - min(engine.busy.values()) <= 5


def test_a_busy_replica_is_chosen_only_if_the_other_choice_is_busier() -> None:
    """The policy compares two random replicas, so the busiest of three replicas is never first."""
    policy, engine, hosts, _ = attached_policy()
    engine.busy[hosts[0]] = 1000
    chosen = Counter(first_host(policy) for _ in range(600))
    assert chosen[hosts[0]] == 0
    # There are 600 plans on two hosts. The limits allow for chance.
    assert all(200 < chosen[host] < 400 for host in hosts[1:])


def test_a_hung_replica_gets_no_more_than_the_first_requests() -> None:
    """If a host never responds, its requests stay in flight, so the policy prefers other hosts."""
    # One host never responds to its requests, and the others respond at once.
    policy, engine, hosts, _ = attached_policy()
    for _ in range(500):
        host = first_host(policy)
        if host is hosts[1]:
            engine.busy[host] += 1
    # As soon as the host has requests in flight, the other hosts have fewer requests and are
    # preferred.
    assert engine.busy[hosts[1]] <= 2


def test_two_random_choices_balance_the_load() -> None:
    """If 60 requests are always in flight, each host has about a third of them.

    A random request ends whenever a new one begins.
    """
    policy, engine, _, _ = attached_policy()
    random_source = random.Random(5)
    # the host of each request in flight
    under_way: list[Host] = []
    highest_load = 0
    for _ in range(3000):
        host = first_host(policy)
        engine.busy[host] += 1
        under_way.append(host)
        if len(under_way) > 60:
            engine.busy[under_way.pop(random_source.randrange(len(under_way)))] -= 1
        highest_load = max(highest_load, max(engine.busy.values()))
    assert highest_load <= 26  # an even share of 60 requests on 3 hosts would be 20


def test_statements_without_a_routing_key_avoid_busy_hosts_too() -> None:
    """Without a routing key, all hosts are in the plan, and a busy host is not the first."""
    policy, engine, hosts, _ = attached_policy()
    engine.busy[hosts[2]] = 50
    plans = [plan(policy) for _ in range(30)]
    for query_plan in plans:
        assert len(query_plan) == 3
        assert set(query_plan) == set(hosts)
    # The busy host is not the first host of any plan.
    assert hosts[2] not in {query_plan[0] for query_plan in plans}
    # A statement without a routing key has a plan, too.
    assert plan(attached_policy()[0], statement(key=None))
    # With no host or a single host, there is nothing to compare.
    empty = AdaptivePolicy(RoundRobinPolicy())
    populated(empty, [])
    assert plan(empty) == []
    one_host = AdaptivePolicy(RoundRobinPolicy())
    alone = hosts_at([("dc1", "r1")])
    populated(one_host, alone)
    assert plan(one_host) == alone


def test_a_slow_replica_is_demoted_and_then_preferred_normally_for_as_long() -> None:
    """A slow host comes last for `demotion_time`, and is then preferred normally for as long.

    Only after that can the host be demoted again.
    """
    policy, engine, hosts, _ = attached_policy(demotion_time=10.0)
    latencies = {hosts[0]: 0.5, hosts[1]: 0.01, hosts[2]: 0.01}
    report_latencies(policy, engine, latencies)
    assert policy.demoted_hosts == [hosts[0]]
    plans = [plan(policy, statement()) for _ in range(50)]
    assert {query_plan[-1] for query_plan in plans} == {hosts[0]}
    assert {query_plan[0] for query_plan in plans} == set(hosts[1:])
    engine.now += 10.0
    assert {first_host(policy) for _ in range(50)} == set(hosts)
    assert policy.demoted_hosts == []
    # The host is still slow, but may not be demoted again for a while.
    report_latencies(policy, engine, latencies)
    assert policy.demoted_hosts == []
    engine.now += 10.0
    report_latencies(policy, engine, latencies)
    assert policy.demoted_hosts == [hosts[0]]


def test_earlier_plans_do_not_keep_a_slow_replica_in_front() -> None:
    """A host that is demoted loses its position, although the replicas' order may be cached."""
    policy, engine, hosts, _ = attached_policy()
    assert {first_host(policy) for _ in range(50)} == set(hosts)
    report_latencies(policy, engine, {hosts[0]: 1.0, hosts[1]: 0.001, hosts[2]: 0.001})
    assert policy.demoted_hosts == [hosts[0]]
    assert hosts[0] not in {first_host(policy) for _ in range(50)}
    engine.now += policy.demotion_time
    assert {first_host(policy) for _ in range(50)} == set(hosts)


def test_a_policy_attached_after_its_first_plan_avoids_busy_hosts() -> None:
    """After `attach`, the policy avoids the hosts that are busy according to the new engine.

    This holds even if the policy has made a plan with another engine before.
    """
    policy, _, hosts, _ = attached_policy()
    first_host(policy)
    engine = Engine()
    engine.busy[hosts[0]] = 1000
    policy.attach(engine)
    assert hosts[0] not in {first_host(policy) for _ in range(50)}


def test_at_most_half_of_the_hosts_are_demoted() -> None:
    """Of three hosts, at most one is demoted, even if two of them are slow."""
    policy, engine, hosts, _ = attached_policy()
    report_latencies(policy, engine, dict.fromkeys(hosts, 5.0))
    # All hosts are equally slow, so no host is slower than the others.
    assert policy.demoted_hosts == []
    # Two hosts are slow, but only one host in three may be demoted.
    report_latencies(policy, engine, {hosts[0]: 9.0, hosts[1]: 8.0, hosts[2]: 0.01}, times=80)
    assert policy.demoted_hosts == [hosts[0]]
    engine.now += 1.0
    report_latencies(policy, engine, {hosts[0]: 9.0, hosts[1]: 8.0, hosts[2]: 0.01}, times=80)
    assert policy.demoted_hosts == [hosts[0]]


def test_demoted_replicas_are_used_if_no_others_are_up() -> None:
    """If all other hosts are down, the plan has the demoted host."""
    policy, engine, hosts, _ = attached_policy()
    report_latencies(policy, engine, {hosts[0]: 0.5, hosts[1]: 0.01, hosts[2]: 0.01})
    for host in hosts[1:]:
        host.set_down()
        policy.on_down(host)
    assert plan(policy, statement()) == [hosts[0]]


def test_small_differences_and_few_responses_are_ignored() -> None:
    """A host is not demoted for 5 ms more latency, one slow response, or a few slow responses."""
    policy, engine, hosts, _ = attached_policy()
    report_latencies(policy, engine, {hosts[0]: 0.006, hosts[1]: 0.001, hosts[2]: 0.001})
    engine.now += JUDGE_INTERVAL
    # A single slow response, for example during a garbage collection of the host, must not demote
    # the host.
    policy.on_latency(hosts[0], 0.6)
    assert policy.demoted_hosts == []
    few, engine, hosts, _ = attached_policy()
    report_latencies(few, engine, {hosts[0]: 0.9, hosts[1]: 0.001}, times=5)
    assert few.demoted_hosts == []


def refuse(policy: AdaptivePolicy, host: Host, times: int, code: int = 0x1001) -> None:
    """Report refusals of a host.

    :param times: the number of refusals.
    :param code: the error code; 0x1001 is "overloaded".
    """
    error = Exception("refused")
    error.error_code = code  # type: ignore[attr-defined]
    for _ in range(times):
        policy.on_failure(host, error, None)


@pytest.mark.parametrize("code", [0x0000, 0x1001, 0x1002])
def test_a_host_that_refuses_requests_is_demoted(code: int) -> None:
    """A host that quickly refuses its requests is demoted, although it has few in flight.

    Such a host always has the fewest requests in flight, so the policy would otherwise prefer it.
    """
    policy, engine, hosts, _ = attached_policy()
    assert engine.failure_observers == [policy.on_failure]
    report_latencies(policy, engine, dict.fromkeys(hosts, 0.005))
    engine.busy.update({hosts[1]: 5, hosts[2]: 5})
    refuse(policy, hosts[0], times=3, code=code)
    assert policy.demoted_hosts == [hosts[0]]
    assert hosts[0] not in {first_host(policy) for _ in range(50)}
    # After the demotion, the host is tried again. Three more refusals demote it at once.
    engine.now += policy.demotion_time
    report_latencies(policy, engine, dict.fromkeys(hosts[1:], 0.005), times=1)
    assert policy.demoted_hosts == []
    refuse(policy, hosts[0], times=3, code=code)
    assert policy.demoted_hosts == [hosts[0]]


def test_hosts_that_refuse_few_requests_are_not_demoted() -> None:
    """A host that refuses a sixth of its requests is not demoted. Some errors do not count."""
    policy, engine, hosts, _ = attached_policy()
    report_latencies(policy, engine, dict.fromkeys(hosts, 0.005))
    for _ in range(100):  # every sixth response is a refusal
        refuse(policy, hosts[0], times=1)
        report_latencies(policy, engine, {hosts[0]: 0.005}, times=4)
    assert policy.demoted_hosts == []
    # Errors that the request itself has caused (0x2200 is "invalid"), and errors before the request
    # was sent, do not count.
    refuse(policy, hosts[0], times=50, code=0x2200)
    policy.on_failure(hosts[0], ConnectionError(), None)
    policy.on_failure(None, Exception(), None)
    assert policy.demoted_hosts == []


def test_at_most_half_of_the_hosts_are_demoted_for_refusals() -> None:
    """If all three hosts refuse requests, only one of them is demoted."""
    policy, engine, hosts, _ = attached_policy()
    report_latencies(policy, engine, dict.fromkeys(hosts, 0.005))
    for host in hosts:
        refuse(policy, host, times=20)
    assert policy.demoted_hosts == [hosts[0]]


def test_a_refusing_host_counts_when_slow_hosts_are_demoted() -> None:
    """If one of three hosts refuses its requests, no slow host is demoted.

    The refusing host has too few responses to be compared with the other two hosts.
    """
    policy, engine, hosts, _ = attached_policy()
    report_latencies(policy, engine, dict.fromkeys(hosts, 0.005), times=1)
    refuse(policy, hosts[0], times=3)
    assert policy.demoted_hosts == [hosts[0]]
    report_latencies(policy, engine, {hosts[1]: 9.0, hosts[2]: 0.01})
    assert policy.demoted_hosts == [hosts[0]]


def test_only_hosts_at_the_same_distance_are_compared() -> None:
    """A host of another data centre is not demoted because it is slower than local hosts.

    It is slower because it is far away.
    """
    hosts = hosts_at([("dc1", "r1"), ("dc1", "r1"), ("dc2", "r1")])
    policy = AdaptivePolicy(DCAwareRoundRobinPolicy("dc1", used_hosts_per_remote_dc=1))
    populated(policy, hosts)
    engine = Engine()
    policy.attach(engine)
    report_latencies(policy, engine, {hosts[0]: 0.001, hosts[1]: 0.001, hosts[2]: 0.3})
    assert policy.demoted_hosts == []


def test_slow_replica_avoidance_can_be_disabled() -> None:
    """With `slow_replica_avoidance=False`, the policy does not observe latencies."""
    policy, engine, hosts, _ = attached_policy(slow_replica_avoidance=False)
    assert engine.observers == []
    assert {first_host(policy) for _ in range(50)} == set(hosts)
    policy, engine, hosts, _ = attached_policy()
    assert engine.observers == [policy.on_latency]


def test_wrapping_policies_attach_their_child_to_the_engine() -> None:
    """If an AdaptivePolicy is the child of another policy, it observes latencies, too."""
    inner = AdaptivePolicy(RoundRobinPolicy())
    outer = HostFilterPolicy(inner, lambda host: True)
    populated(outer, hosts_at())
    engine = Engine()
    outer.attach(engine)
    assert engine.observers == [inner.on_latency]


def test_data_about_a_host_is_removed_with_it() -> None:
    """A demoted host that is removed and added again is not demoted any more."""
    policy, engine, hosts, _ = attached_policy()
    report_latencies(policy, engine, {hosts[0]: 0.5, hosts[1]: 0.01, hosts[2]: 0.01})
    policy.on_remove(hosts[0])
    assert policy.demoted_hosts == []
    policy.on_add(hosts[0])
    assert hosts[0] in {first_host(policy) for _ in range(50)}


def test_a_host_that_has_left_is_not_recorded_again() -> None:
    """Late responses from a host that has left the cluster leave no data in the policy."""
    policy, engine, hosts, metadata = attached_policy()
    metadata._replace_hosts(hosts[1:])
    policy.on_remove(hosts[0])
    for _ in range(ENOUGH_ANSWERS):
        policy.on_latency(hosts[0], 0.001)
    refuse(policy, hosts[0], times=3)
    report_latencies(policy, engine, {hosts[1]: 0.01, hosts[2]: 0.01})
    assert set(policy._answers) == set(hosts[1:])
    assert policy.demoted_hosts == []


def test_an_application_s_child_policy_is_accepted() -> None:
    """The child may be an application's policy. Busy hosts are avoided here, too."""

    class LocalEverywhere(RoundRobinPolicy):
        """An application's policy, whose distances are plain numbers."""

        def distance(self, host: Any) -> int:
            return 1

    policy, engine, hosts, _ = attached_policy(AdaptivePolicy(LocalEverywhere()))
    engine.busy[hosts[1]] = 9
    assert hosts[1] not in {first_host(policy) for _ in range(50)}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"slow_factor": 1.0}, "slow_factor must be greater than 1"),
        ({"slow_floor": -1.0}, "must not be negative"),
        ({"demotion_time": -1.0}, "must not be negative"),
    ],
)
def test_settings_are_checked(settings: dict[str, float], message: str) -> None:
    """A setting that is out of its range raises ValueError."""
    with pytest.raises(ValueError, match=message):
        AdaptivePolicy(**settings)  # type: ignore[arg-type]


def test_the_default_child_knows_data_centres() -> None:
    """Without a child, an AdaptivePolicy uses only hosts of the local data centre."""
    hosts = hosts_at()
    policy = AdaptivePolicy()
    populated(policy, hosts)
    assert {host.datacenter for host in plan(policy, statement())} == {"dc1"}
