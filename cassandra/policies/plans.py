"""Query plans that start with the replicas of a partition.

This is the pure Python version of `cassandra._accel.plans`.

A `Router` knows the replicas of each key of a keyspace, and the distance of each host. It returns
the replicas in the order in which to try them. A `Planner` holds the router of each keyspace, and
builds the query plans of statements until the cluster changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cassandra.consistency import SERIAL_LEVELS
from cassandra.metadata.placement.ring import token_of
from cassandra.policies.plan_limit import limited

if TYPE_CHECKING:
    from cassandra.metadata.cluster_metadata import Metadata
    from cassandra.metadata.host import Host
    from cassandra.metadata.placement.ring import ReplicaMap
    from cassandra.policies.balancing import LoadBalancingPolicy
    from cassandra.policies.token_aware import TokenAwarePolicy
    from cassandra.query.statement import Statement

__all__ = ["Planner", "Router", "make_query_plan", "replica_plan", "rotated"]

# ``number & _MASK`` keeps the lower 64 bits of a number. The compiled version needs no mask,
# because its numbers have 64 bits.
_MASK = (1 << 64) - 1
_TIERS = 8  # the number of tiers; see `Router`
_MAX_COPIED_HOSTS = 64  # the maximum number of hosts that `rotated` copies


class Router:
    """Finds the replicas of keys in a `ReplicaMap`, and sorts the replicas by their tiers.

    The hosts of tier 0 are the nearest, and the hosts of tier 7 the furthest.

    :param tiers: the tier of each host of the map. The tier 255 excludes the host.
    :param seed: the seed of the generator that shuffles replicas.
    :raises ValueError: if the number of tiers is not the number of hosts.
    """

    __slots__ = ("_map", "_state", "_tiers")

    def __init__(self, replica_map: ReplicaMap, tiers: Sequence[int], seed: int) -> None:
        if len(tiers) != len(replica_map.hosts()):
            raise ValueError(f"{len(replica_map.hosts())} hosts have {len(tiers)} tiers")
        self._map = replica_map
        self._tiers = bytes(tiers)
        # The state must not be 0, because the generator (xorshift) would then always return 0.
        self._state = (seed & _MASK) or 1

    def route(self, key: bytes, shuffle: bool) -> tuple[tuple[Host, ...], int]:
        """Return the replicas of a serialized key, nearer tiers first.

        :param shuffle: True puts each tier in a random order, False keeps the ring's order.
        :returns: the replicas, and how many of them are in the nearest non-empty tier.
        """
        return self._route_row(self._map.row(self._map.position_of(key)), shuffle)

    def _route_row(
        self, host_numbers: Sequence[int], shuffle: bool
    ) -> tuple[tuple[Host, ...], int]:
        """Return the same as `route`, for replicas with these indexes in `ReplicaMap.hosts`."""
        tiers, hosts = self._tiers, self._map.hosts()
        order: list[int] = []
        nearest_count = 0
        for tier in range(_TIERS):
            tier_hosts = [number for number in host_numbers if tiers[number] == tier]
            if tier_hosts:
                if shuffle and len(tier_hosts) > 1:
                    self._shuffle(tier_hosts)
                # `nearest_count` is the size of the first tier that has replicas. Later tiers do
                # not change the number.
                nearest_count = nearest_count or len(tier_hosts)
                order += tier_hosts
        return tuple([hosts[number] for number in order]), nearest_count

    def plan(
        self,
        key: bytes,
        shuffle: bool,
        child: LoadBalancingPolicy,
        working_keyspace: str | None,
        query: Statement,
        in_flight: Callable[[Host], int] | None = None,
    ) -> Iterator[Host]:
        """Return a query plan: the replicas of `key` as ordered by `route`, then the child's plan.

        :param in_flight: returns the number of requests in flight to a host. If it is not None, the
            less loaded of the first two hosts at the shortest distance comes first.
        """
        host_numbers = self._map.row(self._map.position_of(key))
        return self.plan_numbers(host_numbers, shuffle, child, working_keyspace, query, in_flight)

    def plan_numbers(
        self,
        numbers: Sequence[int],
        shuffle: bool,
        child: LoadBalancingPolicy,
        working_keyspace: str | None,
        query: Statement,
        in_flight: Callable[[Host], int] | None = None,
    ) -> Iterator[Host]:
        """Return the query plan for the replicas with these indexes.

        :param numbers: indexes into the hosts of the replica map. The other parameters are as in
            `plan`.
        """
        replicas, nearest_count = self._route_row(numbers, shuffle)
        if in_flight is not None and nearest_count > 1:
            first, second = replicas[0], replicas[1]
            # A host whose state is still unknown (None) may be up, so it counts as up.
            both_up = first.is_up is not False and second.is_up is not False
            if both_up and in_flight(second) < in_flight(first):
                replicas = (second, first, *replicas[2:])
        return replica_plan(replicas, child, working_keyspace, query)

    def _shuffle(self, hosts: list[int]) -> None:
        """Shuffle `hosts` in place (Fisher-Yates)."""
        for last in range(len(hosts) - 1, 0, -1):
            # Scale the upper 32 bits of a random number to 0...last. The upper bits are more random
            # than the lower bits, and scaling needs no division.
            other = (self._draw() >> 32) * (last + 1) >> 32
            hosts[last], hosts[other] = hosts[other], hosts[last]

    def _draw(self) -> int:
        """Return the next 64-bit random number of Marsaglia's xorshift64*."""
        state = self._state
        state ^= (state << 13) & _MASK
        state ^= state >> 7
        state ^= (state << 17) & _MASK
        self._state = state
        # The multiplication makes the upper bits more random than the upper bits of the state
        # itself.
        return state * 0x2545F4914F6CDD1D & _MASK


class Planner:
    """Builds the query plans of one policy, until the placement of partitions changes.

    :param routers: the `Router` of each keyspace.
    :param child: the policy whose plan comes after the replicas.
    :param shuffle: True to try replicas at the same distance in random order; see `Router.route`.
    :param in_flight: returns the number of requests in flight to a host; see `Router.plan`. For
        lightweight transactions and serial reads, neither `shuffle` nor `in_flight` is used: all
        clients should try their replicas in the same order.
    :param router_over: builds a router for a tuple of hosts that have tablets. None disables
        tablets.
    """

    __slots__ = (
        "_child", "_in_flight", "_metadata", "_router_over", "_routers", "_shuffle",
        "_tablet_router", "_version",
    )  # fmt: skip

    def __init__(
        self,
        metadata: Metadata,
        routers: Mapping[str | None, Router],
        child: LoadBalancingPolicy,
        shuffle: bool = True,
        in_flight: Callable[[Host], int] | None = None,
        router_over: Callable[[tuple[Any, ...]], Router] | None = None,
    ) -> None:
        self._router_over = router_over
        # The tuple (hosts of all tablets, the router for these hosts); None until a plan needs it.
        self._tablet_router: tuple[Any, Router] | None = None
        self._metadata = metadata
        self._version = metadata.placement_version
        self._routers = routers
        self._child = child
        self._shuffle = shuffle
        self._in_flight = in_flight

    def plan(self, working_keyspace: str | None, query: Statement) -> Iterator[Host] | None:
        """Return the plan of a statement with a routing key.

        Return None if there is no router for the statement's keyspace, or if the ring has changed
        since the routers were built. The policy then builds the plan by `_plan_slowly`.
        """
        # If the ring or the replication has changed, the routers would return outdated replicas.
        if self._metadata.placement_version != self._version:
            return None
        keyspace = query.keyspace or working_keyspace
        if self._router_over is not None and self._metadata.tablets.has_keyspace(keyspace):
            return self._plan_tablet(keyspace, working_keyspace, query)
        router = self._routers.get(keyspace)
        if router is None:
            return None
        key = query.routing_key
        if key is None:
            return None
        # Lightweight transactions on a partition contend least if all clients use the same replica
        # first. So keep the ring's order of the replicas, and do not compare their loads.
        if query.consistency_level in SERIAL_LEVELS or query.is_lwt():
            return router.plan(key, False, self._child, working_keyspace, query)  # no shuffle
        return router.plan(
            key, self._shuffle, self._child, working_keyspace, query, self._in_flight
        )

    def _plan_tablet(
        self, keyspace: str | None, working_keyspace: str | None, query: Statement
    ) -> Iterator[Host] | None:
        """Return the plan of a statement for a table with tablets; None without a routing key."""
        key, tablets = query.routing_key, self._metadata.tablets
        if key is None:
            return None
        numbers = tablets.numbers(keyspace, getattr(query, "table", None), token_of(key))
        if numbers is None:
            # The tablet is not known yet, so no host is better than another. The server will report
            # the tablet with its response.
            return replica_plan((), self._child, working_keyspace, query)
        keeps_order = (
            tablets.has_leaders(keyspace)
            or query.consistency_level in SERIAL_LEVELS
            or query.is_lwt()
        )
        # All tablets share one router, which is built for `tablets.hosts`. If that tuple has been
        # replaced, build a new router.
        hosts_and_router = self._tablet_router
        if hosts_and_router is None or hosts_and_router[0] is not tablets.hosts:
            assert self._router_over is not None
            hosts_and_router = self._tablet_router = (
                tablets.hosts,
                self._router_over(tablets.hosts),
            )
        return hosts_and_router[1].plan_numbers(
            numbers,
            self._shuffle and not keeps_order,
            self._child,
            working_keyspace,
            query,
            None if keeps_order else self._in_flight,
        )


def replica_plan(
    replicas: Sequence[Host],
    child: LoadBalancingPolicy,
    working_keyspace: str | None,
    query: Statement,
) -> Iterator[Host]:
    """Yield the replicas that are not down, then the other hosts of the child policy's plan."""
    # Most requests succeed on the first host. This is a generator, so that the child's plan is not
    # built for them.
    tried = set()
    for host in replicas:
        if host.is_up is not False:
            tried.add(host)
            yield host
    for host in limited(child.make_query_plan(working_keyspace, query)):
        if host not in tried:
            yield host


def rotated(tiers: Sequence[Sequence[Host]], start: int) -> Iterator[Host]:
    """Return the hosts of all tiers, nearer tiers first. Each tier is rotated by `start`.

    ``([a, b, c],)`` and 1 give ``b, c, a``. `start` may be greater than the size of a tier, but
    must not be negative.
    """
    if len(tiers) == 1 and 0 < len(tiers[0]) <= _MAX_COPIED_HOSTS:
        # If there are few hosts, copying them is faster than a generator.
        (hosts,) = tiers
        first_index = start % len(hosts)
        return iter((*hosts[first_index:], *hosts[:first_index]) if first_index else hosts)
    return _rotated_tiers(tiers, start)


def _rotated_tiers(tiers: Sequence[Sequence[Host]], start: int) -> Iterator[Host]:
    for hosts in tiers:
        size = len(hosts)
        for index in range(start, start + size):
            yield hosts[index % size]


def make_query_plan(
    policy: TokenAwarePolicy, working_keyspace: str | None = None, query: Statement | None = None
) -> Iterator[Host]:
    """Return the hosts to try for one request, the best first.

    The replicas of the statement's partition come first, then the child policy's plan.
    """
    planner = policy._planner
    if query is not None and planner is not None:
        try:
            plan: Iterator[Host] | None = planner.plan(working_keyspace, query)
        except AttributeError:  # `query` is not a `Statement`, and lacks an attribute
            plan = None
        if plan is not None:
            return plan
    return policy._plan_slowly(working_keyspace, query)
