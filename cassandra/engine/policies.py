"""The engine's part in the program's policies: tells them of hosts, lets them look at it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from cassandra.policies.balancing import attach_policy

if TYPE_CHECKING:
    from cassandra.engine.background import Spawn
    from cassandra.engine.listeners import Listeners
    from cassandra.metadata.cluster_metadata import Metadata
    from cassandra.metadata.host import Host
    from cassandra.policies.balancing import Engine, LoadBalancingPolicy, PolicyCluster

__all__ = ["Policies"]


class Policies:
    """The policies of a cluster.

    :param engine: for them to look at.
    :param listeners: tells load balancing policies of hosts.
    :param bring_up: opens the pools to a host.
    :param spawn: runs a coroutine in the background.
    :param follow_distances: opens and closes pools as the policies of the moment want.
    """

    __slots__ = (
        "_bring_up",
        "_engine",
        "_follow_distances",
        "_listeners",
        "_metadata",
        "_spawn",
    )

    def __init__(
        self,
        engine: Engine,
        metadata: Metadata,
        listeners: Listeners,
        bring_up: Callable[[Host], Coroutine[Any, Any, bool]],
        spawn: Spawn,
        follow_distances: Callable[[], None],
    ) -> None:
        self._engine = engine
        self._metadata = metadata
        self._listeners = listeners
        self._bring_up = bring_up
        self._spawn = spawn
        self._follow_distances = follow_distances

    def populate(self, policy: LoadBalancingPolicy, cluster: PolicyCluster) -> None:
        """Tell a load balancing policy of the hosts, now and from now on."""
        self._listeners.populate(policy, cluster, self._metadata.all_hosts())
        # After `populate`, which a policy may need before it looks at anything.
        self.attach(policy)

    def adopt(
        self, policy: LoadBalancingPolicy, cluster: PolicyCluster
    ) -> list[asyncio.Task[bool]]:
        """Populate a load balancing policy that came after `connect`, and open its pools.

        :returns: the tasks that open them; none if it is in use already.
        """
        if any(policy is other for other in self._listeners.policies):
            return []
        self.populate(policy, cluster)
        # Also hosts whose state is not known yet: only a try can tell.
        return [
            self._spawn(self._bring_up(host))
            for host in self._metadata.all_hosts()
            if host.is_up is not False
        ]

    def forget(self, policy: LoadBalancingPolicy) -> None:
        """Tell a load balancing policy of no hosts any more: no profile has it."""
        policies = self._listeners.policies
        self._listeners.policies = [other for other in policies if other is not policy]
        self._follow_distances()

    def attach(self, policy: object) -> None:
        """Let a policy of any kind look at the requests in flight, if it wants to."""
        attach_policy(policy, self._engine)
