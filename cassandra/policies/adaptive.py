"""`AdaptivePolicy`: sends requests to the hosts that have capacity for them.

The policy compares two random replicas, and chooses the replica with fewer requests in flight. This
balances nearly as well as comparing all replicas. Because the two replicas are random, clients that
see the same numbers do not all choose the same replica ("the power of two choices"). A replica that
has stopped responding keeps its requests in flight, and so gets no more requests.

If a replica is slow, but still responds, the number of requests in flight may not be enough to
avoid it. Such a replica is demoted for some seconds: query plans try it after the other replicas at
its distance. A replica that refuses requests because of its own state, for example while it shuts
down, is demoted, too. Without the demotion it would get nearly all requests: it refuses them at
once, so it always has the fewest requests in flight.

Demotions are limited, because the load of a demoted replica moves to other replicas, which may
become slow. After a demotion, the host is not demoted as slow again for the same length of time. At
most half of the hosts at a distance are demoted at the same time. If all replicas of a partition
are demoted, query plans for this partition ignore the demotions.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from math import exp, log
from typing import TYPE_CHECKING

from cassandra.policies.balancing import (
    DCAwareRoundRobinPolicy,
    Engine,
    HostDistance,
    LoadBalancingPolicy,
)
from cassandra.policies.token_aware import TokenAwarePolicy, keeps_order

if TYPE_CHECKING:
    from cassandra.metadata.host import Host
    from cassandra.policies import plans
    from cassandra.policies.plans import Planner
    from cassandra.query.statement import Statement
else:
    from cassandra._impl import plans

ENOUGH_ANSWERS = 20  # minimum number of responses before a host may be demoted as slow
WEIGHT = 0.1  # the weight of the latest response in the moving average
# The logarithm of 1 microsecond. Shorter latencies count as 1 microsecond, because the logarithm of
# 0 does not exist.
SHORTEST = log(1e-6)
JUDGE_INTERVAL = 0.25  # seconds between two decisions about which hosts are slow
# A host is demoted if its `refused_share`, a moving average, exceeds this share. Three refusals in
# a row, each with the weight WEIGHT, are enough.
MOST_REFUSALS = 0.25

# The error codes with which a host refuses requests because of its own state, and not because of
# the request: server error, overloaded, is bootstrapping.
_REFUSALS = (0x0000, 0x1001, 0x1002)


class _Latencies:
    """The latencies of one host: a moving average over `count` responses.

    The average is of the logarithms, so that a single pause of the host does not outweigh hundreds
    of responses. Before the time `spared_until`, the host must not be demoted again as slow.
    `refused_share` is another moving average: each response counts as 0, and each refusal as 1.
    """

    __slots__ = ("_logarithm", "count", "refused_share", "spared_until")

    def __init__(self) -> None:
        self._logarithm = 0.0
        self.count = 0
        self.refused_share = 0.0
        self.spared_until = 0.0

    def add(self, seconds: float) -> None:
        self.count += 1
        self.refused_share -= WEIGHT * self.refused_share
        logarithm = log(seconds) if seconds > 1e-6 else SHORTEST
        if self.count == 1:  # there is no average yet
            self._logarithm = logarithm
        else:
            self._logarithm += WEIGHT * (logarithm - self._logarithm)

    def add_refusal(self) -> None:
        self.refused_share += WEIGHT * (1 - self.refused_share)

    @property
    def average(self) -> float:
        """The average latency, in seconds."""
        return exp(self._logarithm)


class AdaptivePolicy(TokenAwarePolicy):
    """Prefers the less loaded of two random replicas at the shortest distance.

    The other replicas follow, then the child policy's plan. For lightweight transactions and serial
    reads, the replicas keep the order of the token ring.

    A host is demoted if it is slow, or if it refuses requests because of its own state (the host is
    overloaded, starts, shuts down or fails). For some seconds, query plans then try this host after
    the other replicas at the same distance.

    :param child_policy: decides which hosts are used, and how far they are. None means a
        `DCAwareRoundRobinPolicy`; a `RackAwareRoundRobinPolicy` prefers hosts in the local rack.
    :param slow_replica_avoidance: False to never demote hosts.
    :param slow_factor: a host is slow if its latency is more than `slow_factor` times the fastest
        host's latency, and exceeds it by more than `slow_floor`. Only hosts at the same distance
        are compared.
    :param slow_floor: the minimum difference to the fastest host's latency, in seconds.
    :param demotion_time: the duration of a demotion, in seconds. After a demotion, the host is not
        demoted again as slow for at least the same time.
    :raises ValueError: if the factor is 1 or less, or a time is negative.
    """

    def __init__(
        self,
        child_policy: LoadBalancingPolicy | None = None,
        *,
        slow_replica_avoidance: bool = True,
        slow_factor: float = 4.0,
        slow_floor: float = 0.01,
        demotion_time: float = 10.0,
    ) -> None:
        super().__init__(child_policy if child_policy is not None else DCAwareRoundRobinPolicy())
        if not slow_factor > 1:
            raise ValueError(f"slow_factor must be greater than 1, but is {slow_factor!r}")
        if slow_floor < 0 or demotion_time < 0:
            raise ValueError(
                "slow_floor and demotion_time must not be negative, "
                f"but are {slow_floor!r} and {demotion_time!r}"
            )
        self.slow_replica_avoidance = slow_replica_avoidance
        self.slow_factor = slow_factor
        self.slow_floor = slow_floor
        self.demotion_time = demotion_time
        # `attach` replaces these functions by those of the engine.
        self._in_flight: Callable[[Host], int] = _no_requests
        self._time: Callable[[], float] = time.monotonic
        self._answers: dict[Host, _Latencies] = {}  # the latencies and refusals of each host
        self._demoted: dict[Host, float] = {}  # the end of each demotion, by `_time`
        # The time at which `_judge` will next decide which hosts are slow, by `_time`.
        self._next_judgement = 0.0

    def attach(self, engine: Engine) -> None:
        super().attach(engine)
        self._in_flight = engine.in_flight
        # Drop a planner that was built before, because it does not use the engine's `in_flight`.
        self._forget_routers()
        self._time = engine.time
        if self.slow_replica_avoidance:
            engine.observe_latencies(self.on_latency)
            engine.observe_failures(self.on_failure)

    # -- plans -------------------------------------------------------------------------------------

    def _make_planner(self) -> Planner | None:
        """Return a planner that compares hosts by load; None while hosts are demoted."""
        if self._demoted:
            # The planner does not know about demotions. Without a planner, `_plan_slowly` builds
            # each plan, and takes the demotions into account.
            return None
        return plans.Planner(
            self._metadata,
            self._routers,
            self._child_policy,
            True,  # shuffle
            self._in_flight,
            self._router_over,
        )

    def _plan_slowly(self, working_keyspace: str | None, query: Statement | None) -> Iterator[Host]:
        """Build a query plan if there is no `Planner`, or if `Planner.plan` has returned None."""
        child = self._child_policy
        key = getattr(query, "routing_key", None)
        if query is None or key is None:
            return self._swap_first_if_better(child.make_query_plan(working_keyspace, query))
        keyspace = query.keyspace or working_keyspace
        router = self._router_of(keyspace)
        # For lightweight transactions and serial reads, all clients should try the replicas in the
        # same order. So do not shuffle them, and do not compare their load.
        is_fixed = keeps_order(query)
        if self._has_tablets(keyspace):
            # With tablets, each table has its own replicas. A `Router` knows only the replicas of a
            # whole keyspace, so do not use it.
            router = None
            is_fixed = is_fixed or self._metadata.tablets.has_leaders(keyspace)
        if router is not None and not self._demoted:
            in_flight = None if is_fixed else self._in_flight
            return router.plan(key, not is_fixed, child, working_keyspace, query, in_flight)
        replicas, nearest_count = (
            router.route(key, not is_fixed)
            if router is not None
            else self._ranked_replicas(keyspace, key, query)
        )
        if nearest_count > 1 and not is_fixed:
            replicas = self._best_first(replicas, nearest_count)
        return plans.replica_plan(replicas, child, working_keyspace, query)

    def _best_first(self, replicas: tuple[Host, ...], nearest_count: int) -> tuple[Host, ...]:
        """Reorder the nearest replicas: the less loaded of the first two first, demoted ones last.

        :param nearest_count: how many replicas at the start of `replicas` are at the shortest
            distance.
        """
        if self._demoted:
            replicas, nearest_count = self._move_demoted(replicas, nearest_count)
        first, second = replicas[0], replicas[1]
        # If one of the two hosts is down, do not compare them: the plan omits that host anyway.
        if nearest_count < 2 or first.is_up is False or second.is_up is False:
            return replicas
        if self._in_flight(second) < self._in_flight(first):
            return (second, first, *replicas[2:])
        return replicas

    def _move_demoted(
        self, replicas: tuple[Host, ...], nearest_count: int
    ) -> tuple[tuple[Host, ...], int]:
        """Among the replicas at the shortest distance, move the demoted replicas to the end.

        :returns: the new order, and how many replicas at the start of it are up and not demoted. If
            there would be no such replica, `replicas` and `nearest_count` are returned unchanged.
        """
        now = self._time()
        if now >= self._next_judgement:
            self._judge(now)
        demoted = self._demoted
        preferred = [
            host
            for host in replicas[:nearest_count]
            if host not in demoted and host.is_up is not False
        ]
        # If all replicas are demoted or down, ignore the demotions, because some replica has to
        # respond.
        if not preferred or len(preferred) == nearest_count:
            return replicas, nearest_count
        others = [host for host in replicas[:nearest_count] if host not in preferred]
        return (*preferred, *others, *replicas[nearest_count:]), len(preferred)

    def _swap_first_if_better(self, plan: Iterator[Host]) -> Iterator[Host]:
        """Swap the first two hosts of `plan` if the second host is better; see `_is_better`."""
        plan = iter(plan)
        first, second = next(plan, None), next(plan, None)
        if first is None:
            return iter(())
        if second is None:
            return iter((first,))
        if self._is_better(second, first):
            first, second = second, first
        return itertools.chain((first, second), plan)

    def _is_better(self, host: Host, other: Host) -> bool:
        """Return True if `host` is at the same distance as `other`, and is a better choice.

        A host that is not demoted is better than a demoted host. Otherwise the host with fewer
        requests in flight is better.
        """
        if self._child_policy.distance(host) != self._child_policy.distance(other):
            return False
        if self._demoted and (host in self._demoted) != (other in self._demoted):
            return other in self._demoted
        return self._in_flight(host) < self._in_flight(other)

    # -- slow replicas -----------------------------------------------------------------------------

    def on_latency(self, host: Host, seconds: float) -> None:
        """Record the latency of a response.

        :param host: the `Host`.
        :param seconds: the time from sending the request to receiving the response.
        """
        self._latencies_of(host).add(seconds)
        now = self._time()
        if now >= self._next_judgement:
            self._judge(now)

    def on_failure(self, host: Host | None, error: BaseException, decision: int | None) -> None:
        """Record a failed attempt, if the host has refused it because of its own state.

        :param host: the `Host`; None if nothing was sent.
        :param error: the error of the attempt.
        :param decision: the decision of the retry policy, which is not used.
        """
        if host is None or getattr(error, "error_code", None) not in _REFUSALS:
            return
        latencies = self._latencies_of(host)
        latencies.add_refusal()
        # Judge at once instead of waiting for the next judgement: until then, a refusing host may
        # get hundreds of requests.
        if latencies.refused_share > MOST_REFUSALS and host not in self._demoted:
            self._judge(self._time())

    def _latencies_of(self, host: Host) -> _Latencies:
        """Return the record of `host`, and create it if necessary.

        If the host has left the cluster, a new record is not stored, because nothing would remove
        it again, and other hosts would be compared with the old host.
        """
        latencies = self._answers.get(host)
        if latencies is None:
            latencies = _Latencies()
            if self._metadata is None or self._metadata.get_host(host.endpoint) is not None:
                self._answers[host] = latencies
        return latencies

    def _judge(self, now: float) -> None:
        """End the demotions that are over, and demote slow and refusing hosts.

        A host is slow in comparison with other hosts at the same distance.
        """
        self._next_judgement = now + JUDGE_INTERVAL
        demoted_before = list(self._demoted)
        for host, demotion_end in list(self._demoted.items()):
            if demotion_end <= now:
                del self._demoted[host]
                # Start a new average: the slow responses before the demotion must not cause another
                # demotion.
                new_latencies = self._answers[host] = _Latencies()
                new_latencies.spared_until = now + self.demotion_time
        # Compare only hosts at the same distance.
        by_distance: dict[int, list[Host]] = {}
        for host in self._answers:
            by_distance.setdefault(self._child_policy.distance(host), []).append(host)
        for distance, hosts in by_distance.items():
            if distance != HostDistance.IGNORED:  # ignored hosts get no requests anyway
                self._demote_refusing(hosts, now)
                self._demote_slow(hosts, now)
        # A planner may be used only if no host is demoted (see `_make_planner`).
        if demoted_before != list(self._demoted):
            self._forget_routers()

    def _demote_refusing(self, hosts: list[Host], now: float) -> None:
        """Demote the hosts that refuse requests.

        :param hosts: the hosts at one distance that have responded.
        :param now: the current time.
        """
        demotions_left = self._demotions_left(hosts)
        for host in hosts:
            if (
                demotions_left > 0
                and host not in self._demoted
                and self._answers[host].refused_share > MOST_REFUSALS
            ):
                self._demoted[host] = now + self.demotion_time
                demotions_left -= 1

    def _demotions_left(self, hosts: list[Host]) -> int:
        """Return how many of the hosts may still be demoted.

        At most half of the hosts are demoted, because the other hosts must take their load.
        """
        return len(hosts) // 2 - sum(host in self._demoted for host in hosts)

    def _demote_slow(self, all_hosts: list[Host], now: float) -> None:
        """Demote the slow hosts.

        :param all_hosts: the hosts at one distance that have responded. Only those with at least
            ENOUGH_ANSWERS responses are compared.
        :param now: the current time.
        """
        hosts = [host for host in all_hosts if self._answers[host].count >= ENOUGH_ANSWERS]
        if not hosts:
            return
        # Sort the hosts, with the slowest first: if too many hosts are slow, only the slowest are
        # demoted.
        hosts.sort(key=lambda host: self._answers[host].average, reverse=True)
        fastest = self._answers[hosts[-1]].average
        # A host must exceed both limits: on a fast network, four times the latency of the fastest
        # host is still fast.
        limit = max(fastest * self.slow_factor, fastest + self.slow_floor)
        # Of the hosts that are compared here, demote at most half, too, because the latencies of
        # the other hosts are not known yet.
        demotions_left = min(self._demotions_left(all_hosts), self._demotions_left(hosts))
        for host in hosts:
            latencies = self._answers[host]
            if demotions_left <= 0 or latencies.average <= limit:
                break
            if host not in self._demoted and latencies.spared_until <= now:
                self._demoted[host] = now + self.demotion_time
                demotions_left -= 1

    @property
    def demoted_hosts(self) -> list[Host]:
        """The hosts that are demoted now."""
        return list(self._demoted)

    def on_down(self, host: Host) -> None:
        self._forget_latencies(host)
        super().on_down(host)

    def on_remove(self, host: Host) -> None:
        self._forget_latencies(host)
        super().on_remove(host)

    def _forget_latencies(self, host: Host) -> None:
        self._answers.pop(host, None)
        self._demoted.pop(host, None)


def _no_requests(host: Host) -> int:
    """Return 0.

    Used instead of the engine's count of requests in flight until `attach` is called.
    """
    return 0


AdaptivePolicy.__module__ = "cassandra.policies"
