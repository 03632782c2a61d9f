"""Query plans over the replicas of a partition. This is the Python twin of
`cassandra._accel.plans`.

A `Router` knows the replicas of each key of a keyspace and the distance of each host. It returns
replicas in the order in which to try them. A `Planner` holds the router of each keyspace, and
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

# Keeps the lower 64 bits of a number. The compiled twin needs no mask: its numbers have 64 bits.
_MASK = (1 << 64) - 1
_TIERS = 8  # the number of tiers; see `Router`
_MAX_COPIED_HOSTS = 64  # the greatest number of hosts that `rotated` copies


class Router:
    """Finds the replicas of keys in a `ReplicaMap`, and sorts them by the tier of their host.

    Tier 0 is the nearest, tier 7 the furthest.

    :param tiers: the tier of each host of the map. 255 excludes a host.
    :param seed: the seed of the generator that shuffles.
    :raises ValueError: if there are more or fewer tiers than hosts.
    """

    __slots__ = ("_map", "_state", "_tiers")

    def __init__(self, replica_map: ReplicaMap, tiers: Sequence[int], seed: int) -> None:
        if len(tiers) != len(replica_map.hosts()):
            raise ValueError(f"{len(replica_map.hosts())} hosts have {len(tiers)} tiers")
        self._map = replica_map
        self._tiers = bytes(tiers)
        # The state must not be 0: the generator (xorshift) would then return 0 for ever.
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
        """Return what `route` returns, for the hosts with the numbers in `host_numbers`."""
        tiers, hosts = self._tiers, self._map.hosts()
        order: list[int] = []
        nearest_count = 0
        for tier in range(_TIERS):
            tier_hosts = [number for number in host_numbers if tiers[number] == tier]
            if tier_hosts:
                if shuffle and len(tier_hosts) > 1:
                    self._shuffle(tier_hosts)
                # Counts the first tier that has replicas; `or` keeps its number afterwards.
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
        """Return a query plan: the replicas of `key` as `route` orders them, then the child's plan.

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
        """Return the plan for the hosts with these numbers; otherwise as `plan`.

        :param numbers: indexes into the hosts of the replica map.
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
            # Scale the upper 32 bits of a random number to 0...last. They are better than the lower
            # bits, and scaling needs no division.
            other = (self._draw() >> 32) * (last + 1) >> 32
            hosts[last], hosts[other] = hosts[other], hosts[last]

    def _draw(self) -> int:
        """Return the next random number of Marsaglia's xorshift64*, with 64 bits."""
        state = self._state
        state ^= (state << 13) & _MASK
        state ^= state >> 7
        state ^= (state << 17) & _MASK
        self._state = state
        # The multiplication makes the upper bits more random than those of the state itself.
        return state * 0x2545F4914F6CDD1D & _MASK


class Planner:
    """Builds the query plans of one policy, for the state of `metadata` when the planner was built.

    :param routers: the `Router` of each keyspace.
    :param child: the policy whose plan comes after the replicas.
    :param shuffle: True to try replicas at the same distance in random order; see `Router.route`.
    :param in_flight: returns the number of requests in flight to a host; see `Router.plan`. For
        statements whose replicas all clients should try in the same order, neither `shuffle` nor
        `in_flight` applies.
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
        # (hosts of the tablets, the router over these hosts); None before it is needed.
        self._tablet_router: tuple[Any, Router] | None = None
        self._metadata = metadata
        self._version = metadata.placement_version
        self._routers = routers
        self._child = child
        self._shuffle = shuffle
        self._in_flight = in_flight

    def plan(self, working_keyspace: str | None, query: Statement) -> Iterator[Host] | None:
        """Return the plan of a statement with a routing key.

        A router finds the replicas of the rows in one keyspace. Return None if there is no router
        for the statement's keyspace, or if the ring has changed since the routers were built. The
        policy then builds the plan by `_plan_slowly`.
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
        # Lightweight transactions on a partition have least contention if all clients use the same
        # replica first. So keep the order of the replicas.
        if query.consistency_level in SERIAL_LEVELS or query.is_lwt():
            return router.plan(key, False, self._child, working_keyspace, query)  # no shuffle
        return router.plan(
            key, self._shuffle, self._child, working_keyspace, query, self._in_flight
        )

    def _plan_tablet(
        self, keyspace: str | None, working_keyspace: str | None, query: Statement
    ) -> Iterator[Host] | None:
        """Return the plan of a statement for a table with tablets; None if it has no
        routing key.
        """
        key, tablets = query.routing_key, self._metadata.tablets
        if key is None:
            return None
        numbers = tablets.numbers(keyspace, getattr(query, "table", None), token_of(key))
        if numbers is None:
            # The tablet is not known yet, so any host is equally good. The server will report the
            # tablet with its response.
            return replica_plan((), self._child, working_keyspace, query)
        keeps_order = (
            tablets.has_leaders(keyspace)
            or query.consistency_level in SERIAL_LEVELS
            or query.is_lwt()
        )
        # One router serves all tablets, until the tuple of their hosts is replaced.
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
    # This is a generator, because most requests end at the first host: the child's plan is then
    # never built.
    tried = set()
    for host in replicas:
        if host.is_up is not False:
            tried.add(host)
            yield host
    for host in limited(child.make_query_plan(working_keyspace, query)):
        if host not in tried:
            yield host


def rotated(tiers: Sequence[Sequence[Host]], start: int) -> Iterator[Host]:
    """Return the hosts of all tiers, nearer tiers first, each tier rotated by `start`.

    ``([a, b, c],)`` and 1 give ``b, c, a``. `start` may be greater than the size of a tier, but is
    not negative.
    """
    if len(tiers) == 1 and 0 < len(tiers[0]) <= _MAX_COPIED_HOSTS:
        # For few hosts a copy is cheaper than a generator.
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
        except AttributeError:  # `query` is not a `Statement`, and lacks one of its attributes
            plan = None
        if plan is not None:
            return plan
    return policy._plan_slowly(working_keyspace, query)
