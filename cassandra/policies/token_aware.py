"""Token awareness: a request goes to a host that holds its partition.

The replicas of a key, by distance and in turn, come out of a `Router` of `cassandra._impl.plans` in
one call. It is made once for each keyspace and state of the cluster, and only over policies whose
distances change by events alone; a program's own child policy is asked for its distances at every
plan.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from cassandra._impl import plans
from cassandra.consistency import ConsistencyLevel
from cassandra.metadata.cluster_metadata import Metadata
from cassandra.policies.balancing import (
    HostDistance,
    LoadBalancingPolicy,
    WrapperPolicy,
    distances_follow_events,
)

if TYPE_CHECKING:
    from cassandra.policies.plans import Planner, Router

__all__ = ["TokenAwarePolicy"]

Host = Any  # opaque here
Ranked = tuple[
    tuple[Host, ...], int
]  # the replicas to try, the best first; how many of them are at the shortest distance

_LEFT_OUT = 255
_TIERS = {HostDistance.LOCAL_RACK: 0, HostDistance.LOCAL: 1, HostDistance.REMOTE: 2}
_SERIAL = frozenset({ConsistencyLevel.SERIAL, ConsistencyLevel.LOCAL_SERIAL})


class TokenAwarePolicy(WrapperPolicy):
    """The replicas of a statement's partition first, nearest first, then the child policy's plan.

    Replicas of one distance are shuffled unless `shuffle_replicas` is false, or the statement is a
    lightweight transaction or a serial read, which are fastest where every client takes the same
    replica. Statements without a routing key or a keyspace have the child policy's plan.
    """

    __slots__ = (
        "_planner",
    )  # which each plan reads; all else is in the dictionary of the instance

    def __init__(self, child_policy: LoadBalancingPolicy, shuffle_replicas: bool = True) -> None:
        super().__init__(child_policy)
        self._shuffle_replicas = shuffle_replicas
        self._metadata: Any = None
        self._has_routing = False
        self._placement_version = -1
        self._routers: dict[str | None, Router] = {}
        self._planner: Planner | None = None
        self._random = random.Random()

    @property
    def shuffle_replicas(self) -> bool:
        """Whether replicas of one distance are tried in a random order."""
        return self._shuffle_replicas

    @shuffle_replicas.setter
    def shuffle_replicas(self, shuffle_replicas: bool) -> None:
        self._shuffle_replicas = shuffle_replicas
        self._forget_routers()

    def populate(self, cluster: Any, hosts: Iterable[Host]) -> None:
        self._metadata = cluster.metadata
        super().populate(cluster, hosts)
        # A stand-in for the metadata has get_replicas, and need not have more.
        self._has_routing = isinstance(self._metadata, Metadata) and distances_follow_events(
            self._child_policy
        )
        self._forget_routers()

    # Of the pair of modules: a frame of Python would take as long as the plan.
    make_query_plan = plans.make_query_plan

    def _plan_slowly(self, working_keyspace: str | None, query: Any) -> Iterator[Host]:
        """Without the planner: it has no router for the keyspace yet, or can have none."""
        key = getattr(query, "routing_key", None)
        if key is None:
            return self._child_policy.make_query_plan(working_keyspace, query)
        keyspace = query.keyspace or working_keyspace
        router = self._router_of(keyspace)
        shuffle = self.shuffle_replicas and not keeps_order(query)
        if router is not None:
            return router.plan(key, shuffle, self._child_policy, working_keyspace, query)
        replicas, _ = self._ranked_by_asking(keyspace, key, query)
        return plans.replica_plan(replicas, self._child_policy, working_keyspace, query)

    def _router_of(self, keyspace: str | None) -> Router | None:
        """What routes requests to `keyspace`; None where there is none, and the metadata has to be
        asked for each.
        """
        metadata = self._metadata
        if not self._has_routing:
            return None
        if metadata.placement_version != self._placement_version:
            self._forget_routers()
            self._placement_version = metadata.placement_version
        router = self._routers.get(keyspace)
        return router if router is not None else self._make_router(keyspace)

    def _forget_routers(self) -> None:
        self._routers = {}
        self._planner = None

    def _make_router(self, keyspace: str | None) -> Router | None:
        routers, routing = self._routers, self._metadata.routing()
        if routing is None or not keyspace or self._metadata.table_replicas is not None:
            return None
        replica_map = routing.map_of(keyspace)
        if replica_map is None:
            return None
        distance = self._child_policy.distance
        tiers = [_TIERS.get(distance(host), _LEFT_OUT) for host in replica_map.hosts()]
        router: Router = plans.Router(replica_map, tiers, self._random.getrandbits(64))
        routers[keyspace] = router
        planner = self._make_planner()
        version = routing.placement_version
        if (
            self._routers is routers
            and version == self._placement_version == self._metadata.placement_version
        ):
            self._planner = planner
        if self._routers is not routers or self._planner is not planner:
            self._forget_routers()  # an event came meanwhile: this router serves one plan
        return router

    def _make_planner(self) -> Planner | None:
        return plans.Planner(
            self._metadata, self._routers, self._child_policy, self._shuffle_replicas
        )

    def _ranked_by_asking(self, keyspace: str | None, key: bytes, query: Any) -> Ranked:
        """The replicas of the statement's partition that are not ignored, with everything looked up
        anew.
        """
        if not keyspace or self._metadata is None:
            return (), 0
        replicas = self._found(keyspace, key, query)
        if self.shuffle_replicas and not keeps_order(query):
            self._random.shuffle(replicas)
        tiers: list[list[Host]] = [[], [], []]
        for host in replicas:
            tier = _TIERS.get(self._child_policy.distance(host))
            if tier is not None:
                tiers[tier].append(host)
        nearest = next((len(hosts) for hosts in tiers if hosts), 0)
        return (*tiers[0], *tiers[1], *tiers[2]), nearest

    def _found(self, keyspace: str, key: bytes, query: Any) -> list[Host]:
        of_table = getattr(self._metadata, "table_replicas", None)
        table = getattr(query, "table", None)
        if of_table is not None and table:
            found = of_table(keyspace, table, key)
            if found is not None:
                return list(found)
        return list(self._metadata.get_replicas(keyspace, key))

    def on_up(self, host: Host) -> None:
        super().on_up(host)
        self._forget_routers()

    def on_down(self, host: Host) -> None:
        super().on_down(host)
        self._forget_routers()

    def on_add(self, host: Host) -> None:
        super().on_add(host)
        self._forget_routers()

    def on_remove(self, host: Host) -> None:
        super().on_remove(host)
        self._forget_routers()


def keeps_order(query: Any) -> bool:
    """Whether every client should try the replicas of a statement in one and the same order."""
    if getattr(query, "consistency_level", None) in _SERIAL:
        return True
    is_lwt = getattr(query, "is_lwt", None)
    return is_lwt is not None and bool(is_lwt())


TokenAwarePolicy.__module__ = "cassandra.policies"
