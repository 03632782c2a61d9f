"""Query plans over the replicas of a partition, in Python: the reference of
`cassandra._accel.plans`.

A `Router` knows the replicas of each key of a keyspace and how far each host is, and gives them in
the order to try them. A `Planner` has the router of each keyspace, and makes the plans of
statements, as long as the cluster stays as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cassandra.metadata.placement.ring import ReplicaMap

__all__ = ["Planner", "Router", "make_query_plan", "replica_plan", "rotated"]

_MASK = (1 << 64) - 1
_TIERS = 4
_FEW = 64  # hosts
_SERIAL = (8, 9)  # SERIAL and LOCAL_SERIAL (native_protocol_v5.spec, section 3, [consistency])


class Router:
    """A `ReplicaMap` with the tier of each host: 0 is the nearest, up to 3; 255 leaves a host out.

    seed: of the generator that shuffles; not 0.
    """

    __slots__ = ("_map", "_state", "_tiers")

    def __init__(self, replica_map: ReplicaMap, tiers: Sequence[int], seed: int) -> None:
        if len(tiers) != len(replica_map.hosts()):
            raise ValueError(f"{len(replica_map.hosts())} hosts have {len(tiers)} tiers")
        self._map = replica_map
        self._tiers = bytes(tiers)
        self._state = (seed & _MASK) or 1

    def route(self, key: bytes, shuffle: bool) -> tuple[tuple[Any, ...], int]:
        """(the replicas of a serialized key, nearer tiers first; how many of them are of the
        nearest tier that has any).

        shuffle: each tier in a random order, in place of the ring's.
        """
        row = self._map.row(self._map.position_of(key))
        tiers, hosts = self._tiers, self._map.hosts()
        order: list[int] = []
        nearest = 0
        for tier in range(_TIERS):
            own = [host for host in row if tiers[host] == tier]
            if own:
                if shuffle and len(own) > 1:
                    self._shuffle(own)
                nearest = nearest or len(own)
                order += own
        return tuple([hosts[host] for host in order]), nearest

    def plan(
        self,
        key: bytes,
        shuffle: bool,
        child: Any,
        working_keyspace: Any,
        query: Any,
        in_flight: Callable[[Any], int] | None = None,
    ) -> Iterator[Any]:
        """`replica_plan` of what `route` gives.

        in_flight: gives the requests under way to a host; of the first two at the shortest distance
        the one with fewer is first.
        """
        replicas, nearest = self.route(key, shuffle)
        if in_flight is not None and nearest > 1:
            first, second = replicas[0], replicas[1]
            up = first.is_up is not False and second.is_up is not False
            if up and in_flight(second) < in_flight(first):
                replicas = (second, first, *replicas[2:])
        return replica_plan(replicas, child, working_keyspace, query)

    def _shuffle(self, hosts: list[int]) -> None:
        """Fisher and Yates; of each draw the upper 32 bits choose, scaled to the places that are
        left.
        """
        for last in range(len(hosts) - 1, 0, -1):
            other = (self._draw() >> 32) * (last + 1) >> 32
            hosts[last], hosts[other] = hosts[other], hosts[last]

    def _draw(self) -> int:
        """The next number of Marsaglia's xorshift."""
        state = self._state
        state ^= (state << 13) & _MASK
        state ^= state >> 7
        state ^= (state << 17) & _MASK
        self._state = state
        return state * 0x2545F4914F6CDD1D & _MASK


class Planner:
    """The query plans of one policy: `routers` has the `Router` of each keyspace, for `metadata` as
    it was when it was made.

    child: the policy whose plan comes after the replicas. shuffle, in_flight: as `Router.plan`
    takes them; without effect where all clients should have the same order.
    """

    __slots__ = ("_child", "_in_flight", "_metadata", "_routers", "_shuffle", "_version")

    def __init__(
        self,
        metadata: Any,
        routers: Mapping[Any, Router],
        child: Any,
        shuffle: bool = True,
        in_flight: Callable[[Any], int] | None = None,
    ) -> None:
        self._metadata = metadata
        self._version = metadata.placement_version
        self._routers = routers
        self._child = child
        self._shuffle = shuffle
        self._in_flight = in_flight

    def plan(self, working_keyspace: Any, query: Any) -> Iterator[Any] | None:
        """The plan of a statement with a routing key; None where there is no router for it, or it
        is out of date.
        """
        if self._metadata.placement_version != self._version:
            return None
        router = self._routers.get(query.keyspace or working_keyspace)
        if router is None:
            return None
        key = query.routing_key
        if key is None:
            return None
        if query.consistency_level in _SERIAL or query.is_lwt():
            return router.plan(key, False, self._child, working_keyspace, query)
        return router.plan(
            key, self._shuffle, self._child, working_keyspace, query, self._in_flight
        )


def replica_plan(
    replicas: Sequence[Any], child: Any, working_keyspace: Any, query: Any
) -> Iterator[Any]:
    """The replicas that are not down, then what ``child.make_query_plan(working_keyspace, query)``
    gives beside them.
    """
    tried = set()
    for host in replicas:
        if host.is_up is not False:
            tried.add(host)
            yield host
    for host in child.make_query_plan(working_keyspace, query):
        if host not in tried:
            yield host


def rotated(tiers: Sequence[Sequence[Any]], start: int) -> Iterator[Any]:
    """The hosts of each tier from place `start` on (0 or more, also past its end), nearer tiers
    first.
    """
    if len(tiers) == 1 and 0 < len(tiers[0]) <= _FEW:
        # A copy of some hosts is cheaper than a generator, of many it is not.
        (hosts,) = tiers
        first = start % len(hosts)
        return iter((*hosts[first:], *hosts[:first]) if first else hosts)
    return _rotated_tiers(tiers, start)


def _rotated_tiers(tiers: Sequence[Sequence[Any]], start: int) -> Iterator[Any]:
    for hosts in tiers:
        size = len(hosts)
        for place in range(start, start + size):
            yield hosts[place % size]


def make_query_plan(
    policy: Any, working_keyspace: str | None = None, query: Any = None
) -> Iterator[Any]:
    """The hosts to try for one request, the best first: the replicas of the statement's partition,
    then the child policy's plan.
    """
    planner = policy._planner
    if query is not None and planner is not None:
        try:
            made: Iterator[Any] | None = planner.plan(working_keyspace, query)
        except AttributeError:  # of something that is no statement of ours
            made = None
        if made is not None:
            return made
    found: Iterator[Any] = policy._plan_slowly(working_keyspace, query)
    return found
