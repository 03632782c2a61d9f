"""Token awareness: a request is sent to a host that has the request's partition.

A `Router` (`cassandra.policies.plans`) returns the replicas of a key, sorted by distance, in one
call. A router is built for each keyspace, and again after each change of the cluster. This is only
possible if the distances of the child policy change only when one of its ``on_*`` methods is
called. With any other child policy, such as a policy that an application has defined, each query
plan asks for the distances again.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from cassandra._imports import at_first_cluster
from cassandra._lazy import LazyAttribute
from cassandra._unknown_options import advise_missing
from cassandra.consistency import SERIAL_LEVELS
from cassandra.policies.balancing import (
    DCAwareRoundRobinPolicy,
    DefaultLoadBalancingPolicy,
    DSELoadBalancingPolicy,
    HostDistance,
    LoadBalancingPolicy,
    PolicyCluster,
    RackAwareRoundRobinPolicy,
    RoundRobinPolicy,
    WhiteListRoundRobinPolicy,
    WrapperPolicy,
    distances_follow_events,
    follow_settings,
)

if TYPE_CHECKING:
    from cassandra import bases
    from cassandra.metadata.cluster_metadata import Metadata
    from cassandra.metadata.host import Host
    from cassandra.metadata.placement import ring
    from cassandra.metadata.placement.ring import ReplicaMap
    from cassandra.policies import plans
    from cassandra.policies.balancing import Engine
    from cassandra.policies.plans import Planner, Router
    from cassandra.query.statement import Statement

    # (the replicas to try, best first; the number of replicas at the shortest distance).
    Ranked = tuple[tuple[Host, ...], int]
else:
    from cassandra._impl import bases

    at_first_cluster(
        __name__,
        Metadata="cassandra.metadata.cluster_metadata",
        plans="cassandra._impl",
        ring="cassandra._impl",
    )

_LEFT_OUT = 255  # the tier by which a `Router` excludes a host
# The tier of a `Router` for each distance of a host.
_TIERS = {HostDistance.LOCAL_RACK: 0, HostDistance.LOCAL: 1, HostDistance.REMOTE: 2}
_FURTHEST = 7  # the number of the last tier of a router


class TokenAwarePolicy(WrapperPolicy, bases.PlanningBase):
    """Tries the replicas of a statement's partition first, then the child policy's plan.

    Nearer replicas come first. Statements without a routing key or a keyspace get the child
    policy's plan.

    :param child_policy: decides the distance of each host, and which hosts follow the replicas.
    :param shuffle_replicas: True to try replicas at the same distance in random order. Lightweight
        transactions and serial reads always keep the ring's order, because they are fastest if
        every client uses the same replica.
    """

    # The base class has a slot for `_planner`, because each query plan reads it. Other attributes
    # are in the instance's dict.
    __slots__ = ()

    def __init__(self, child_policy: LoadBalancingPolicy, shuffle_replicas: bool = True) -> None:
        super().__init__(child_policy)
        self._shuffle_replicas = shuffle_replicas
        # The cluster's `Metadata`; or an application's own object, which needs only the method
        # `get_replicas`.
        self._metadata: Any = None
        # True if routers may be cached, because distances and replicas only change with an event;
        # see `populate`.
        self._has_routing = False
        # `Metadata.placement_version` when the routers were built; -1 before the first router is
        # built.
        self._placement_version = -1
        self._routers: dict[str | None, Router] = {}  # by keyspace
        # Builds plans with the routers; None until there is a router.
        self._planner: Planner | None = None
        self._random = random.Random()

    @property
    def shuffle_replicas(self) -> bool:
        """True if replicas at the same distance are tried in random order."""
        return self._shuffle_replicas

    @shuffle_replicas.setter
    def shuffle_replicas(self, shuffle_replicas: bool) -> None:
        self._shuffle_replicas = shuffle_replicas
        self._forget_routers()

    def attach(self, engine: Engine) -> None:
        super().attach(engine)
        self._random = engine.random
        # Drop the existing routers, because their seeds come from the previous source of random
        # numbers.
        self._forget_routers()

    def populate(self, cluster: PolicyCluster, hosts: Iterable[Host]) -> None:
        self._metadata = cluster.metadata
        super().populate(cluster, hosts)
        # If the application passes its own object instead of `Metadata`, that object may return
        # other replicas each time, so do not cache anything.
        self._has_routing = isinstance(self._metadata, Metadata) and distances_follow_events(
            self._child_policy
        )
        follow_settings(self._child_policy, self)
        self._forget_routers()

    def on_settings_changed(self) -> None:
        """Called when a setting of the child policy has changed, which may change distances."""
        self._forget_routers()

    # Use the function `make_query_plan` of the module `plans` directly as the method: a Python
    # method around the compiled function would take as long as the function. `LazyAttribute`
    # imports the module when the first cluster is created, because it also imports prepared
    # statements and all CQL types.
    if TYPE_CHECKING:
        make_query_plan = plans.make_query_plan
    else:
        make_query_plan = LazyAttribute("cassandra._impl", "plans", for_engine=True)

    def _plan_slowly(self, working_keyspace: str | None, query: Statement | None) -> Iterator[Host]:
        """Build a query plan if there is no planner, or if `Planner.plan` has returned None.

        Usually the keyspace has no router yet, and this method builds the router.
        """
        key = getattr(query, "routing_key", None)
        if query is None or key is None:
            return self._child_policy.make_query_plan(working_keyspace, query)
        keyspace = query.keyspace or working_keyspace
        router = self._router_of(keyspace)
        shuffle = self.shuffle_replicas and not keeps_order(query)
        # A router knows only the replicas of a whole keyspace. With tablets, each table has its own
        # replicas, so a router cannot be used.
        if router is not None and not self._has_tablets(keyspace):
            return router.plan(key, shuffle, self._child_policy, working_keyspace, query)
        replicas, _ = self._ranked_replicas(keyspace, key, query)
        return plans.replica_plan(replicas, self._child_policy, working_keyspace, query)

    def _has_tablets(self, keyspace: str | None) -> bool:
        """Return True if `keyspace` uses tablets: the ring does not determine its replicas."""
        return isinstance(self._metadata, Metadata) and self._metadata.tablets.has_keyspace(
            keyspace
        )

    def _router_of(self, keyspace: str | None) -> Router | None:
        """Return the router for `keyspace`; build the router if necessary.

        Return None if no router can be used. Each plan must then ask the metadata for the replicas.
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
        """Build the `Router` for `keyspace`, and a `Planner` that makes query plans with it.

        Return None if the keyspace's replicas are not known, or depend on the table.
        """
        routers, routing = self._routers, self._metadata.routing()
        if routing is None or not keyspace or self._metadata.table_replicas is not None:
            return None
        replica_map = routing.map_of(keyspace)
        if replica_map is None:
            return None
        router = self._router_over_map(replica_map)
        routers[keyspace] = router
        planner = self._make_planner()
        version = routing.placement_version
        # Publish the planner only if nothing has changed since its routers were built, because
        # other threads use it as soon as it is published.
        if (
            self._routers is routers
            and version == self._placement_version == self._metadata.placement_version
        ):
            self._planner = planner
        # If another thread has changed the routers or the cluster since, drop all cached routers.
        # The caller uses this router for one plan only.
        if self._routers is not routers or self._planner is not planner:
            self._forget_routers()
        return router

    def _router_over_map(self, replica_map: ReplicaMap) -> Router:
        """Return a `Router` for `replica_map`, which sorts by the child policy's distances."""
        tier_of = self._tier_function()
        # A host in the map is None if a tablet names a host id that the metadata does not know
        # (yet). Leave out such hosts.
        tiers = [tier_of(host) if host is not None else _LEFT_OUT for host in replica_map.hosts()]
        return plans.Router(replica_map, tiers, self._random.getrandbits(64))

    def _tier_function(self) -> Callable[[Host], int]:
        """Return a function that maps a host to its tier.

        Tier 0 is the nearest, and hosts with `_LEFT_OUT` are not used.
        """
        distance_of = self._child_policy.distance
        ranks = _ranks_of_remote_dcs(self._child_policy)

        def tier_of(host: Host) -> int:
            distance = distance_of(host)
            # Each preferred remote data centre has its own tier.
            if ranks and distance == HostDistance.REMOTE:
                rank = ranks.get(host.datacenter, len(ranks))
                return min(_TIERS[HostDistance.REMOTE] + rank, _FURTHEST)
            return _TIERS.get(distance, _LEFT_OUT)

        return tier_of

    def _router_over(self, hosts: tuple[Any, ...]) -> Router:
        """Return a `Router` for hosts that have tablets. Such a router needs no token ring."""
        return self._router_over_map(ring.ReplicaMap(ring.TokenRing([]), hosts, []))

    def _make_planner(self) -> Planner | None:
        """Return a `Planner` that uses the current routers.

        The override in `AdaptivePolicy` may return None.
        """
        return plans.Planner(
            self._metadata,
            self._routers,
            self._child_policy,
            self._shuffle_replicas,
            None,  # in_flight
            self._router_over,
        )

    def _ranked_replicas(self, keyspace: str | None, key: bytes, query: Statement | None) -> Ranked:
        """Return the replicas of a partition that are not ignored, sorted by distance.

        This asks the metadata and the child policy, and uses no cached router.
        """
        if not keyspace or self._metadata is None:
            return (), 0
        replicas = self._find_replicas(keyspace, key, query)
        has_leaders = self._has_tablets(keyspace) and self._metadata.tablets.has_leaders(keyspace)
        # Do not shuffle if all clients should try the same replica first: the leader of a tablet,
        # or the first replica for a lightweight transaction.
        if self.shuffle_replicas and not has_leaders and not keeps_order(query):
            self._random.shuffle(replicas)
        tier_of = self._tier_function()
        tiers: dict[int, list[Host]] = {}
        for host in replicas:
            tiers.setdefault(tier_of(host), []).append(host)
        tiers.pop(_LEFT_OUT, None)
        ordered = [tiers[tier] for tier in sorted(tiers)]
        nearest_count = len(ordered[0]) if ordered else 0
        return tuple(itertools.chain.from_iterable(ordered)), nearest_count

    def _find_replicas(self, keyspace: str, key: bytes, query: Statement | None) -> list[Host]:
        """Return the replicas of a partition.

        If each table has its own replicas, return the replicas of the statement's table.
        """
        table_replicas = getattr(self._metadata, "table_replicas", None)
        table = getattr(query, "table", None)
        if table_replicas is not None and table:
            replicas = table_replicas(keyspace, table, key)
            if replicas is not None:
                return list(replicas)
        if self._has_tablets(keyspace):
            return list(self._metadata.tablets.replicas(keyspace, table, key) or ())
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


# These policies are thread-safe: they build plans from tuples that are never changed, and from
# counters whose steps are atomic.
_THREAD_SAFE = frozenset(
    {
        DCAwareRoundRobinPolicy,
        RackAwareRoundRobinPolicy,
        RoundRobinPolicy,
        WhiteListRoundRobinPolicy,
    }
)
# These wrappers are thread-safe if their child policy is thread-safe.
_WRAPPERS = frozenset({DSELoadBalancingPolicy, DefaultLoadBalancingPolicy, TokenAwarePolicy})


def plans_in_any_thread(policy: object) -> bool:
    """Return True if several threads may build plans with `policy` at the same time.

    Return False for a policy that an application has defined: the documentation promises that such
    policies are only called on the engine's event loop.
    """
    while type(policy) in _WRAPPERS:
        policy = policy._child_policy  # type: ignore[attr-defined]  # they are wrappers
    return type(policy) in _THREAD_SAFE


def keeps_order(query: Statement | None) -> bool:
    """Return True if every client should try the replicas of a statement in the same order."""
    if getattr(query, "consistency_level", None) in SERIAL_LEVELS:
        return True
    is_lwt = getattr(query, "is_lwt", None)
    return is_lwt is not None and bool(is_lwt())


TokenAwarePolicy.__module__ = "cassandra.policies"


def _ranks_of_remote_dcs(policy: LoadBalancingPolicy) -> dict[str | None, int]:
    """Return the ranks of the preferred remote data centres of `policy`'s innermost child."""
    while (child := getattr(policy, "_child_policy", None)) is not None:
        policy = child
    return {name: rank for rank, name in enumerate(getattr(policy, "preferred_remote_dcs", ()))}


advise_missing(TokenAwarePolicy, "TokenAwarePolicy(DCAwareRoundRobinPolicy('dc1'))")
