"""Connects policies with the engine.

This module passes hosts to load balancing policies, and the engine to policies that use it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from typing import TYPE_CHECKING, Any

from cassandra.engine.datacenters import warn_of_unknown_datacenters
from cassandra.engine.failures import call_on_loop
from cassandra.policies.balancing import attach_policy, follow_settings

if TYPE_CHECKING:
    from cassandra.engine.background import Spawn
    from cassandra.engine.listeners import Listeners
    from cassandra.metadata.cluster_metadata import Metadata
    from cassandra.metadata.host import Host
    from cassandra.policies.balancing import Engine, LoadBalancingPolicy, PolicyCluster
    from cassandra.policies.retry import RetryPolicy
    from cassandra.policies.speculation import SpeculativeExecutionPolicy


class Policies:
    """The policies of a cluster.

    :param engine: passed to policies that inspect the requests in flight.
    :param listeners: passes host events to load balancing policies.
    :param bring_up: opens the pools to a host.
    :param spawn: runs a coroutine in the background.
    :param follow_distances: opens and closes pools according to the policies' distances.
    :param loop: the event loop on which `follow_distances` runs.
    """

    __slots__ = (
        "__weakref__", "_are_populated", "_attached", "_bring_up", "_engine", "_follow_distances",
        "_listeners", "_loop", "_metadata", "_spawn",
    )  # fmt: skip

    def __init__(
        self,
        engine: Engine,
        metadata: Metadata,
        listeners: Listeners,
        bring_up: Callable[[Host], Coroutine[Any, Any, bool]],
        spawn: Spawn,
        follow_distances: Callable[[], None],
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self._are_populated = False  # True after `populate_all`
        # The speculative execution and retry policies that have been attached.
        self._attached: list[object] = []
        self._engine = engine
        self._metadata = metadata
        self._listeners = listeners
        self._bring_up = bring_up
        self._spawn = spawn
        self._follow_distances = follow_distances
        self._loop = loop

    def populate_all(self, policies: Iterable[LoadBalancingPolicy], cluster: PolicyCluster) -> None:
        """Populate the load balancing policies of all profiles. Called once, when connected.

        :param policies: the policies.
        :param cluster: the cluster, for the policies.
        """
        self._are_populated = True
        for policy in policies:
            self.populate(policy, cluster)

    def populate(self, policy: LoadBalancingPolicy, cluster: PolicyCluster) -> None:
        """Pass the current hosts to a load balancing policy, and notify it of later changes."""
        hosts = self._metadata.all_hosts()
        self._listeners.populate(policy, cluster, hosts)
        warn_of_unknown_datacenters(policy, hosts)
        # Attach the policy last: it may expect that `populate` is called first.
        self.attach(policy)
        follow_settings(policy, self)

    def on_settings_changed(self) -> None:
        """Called in any thread when an application has changed the settings of a policy."""
        # The loop may be closed: the application may keep the policy longer than the cluster.
        call_on_loop(self._loop.call_soon_threadsafe, (self._follow_distances,))

    def adopt(
        self, policy: LoadBalancingPolicy, cluster: PolicyCluster
    ) -> list[asyncio.Task[bool]]:
        """Populate a load balancing policy that was added after `connect`, and open its pools.

        :returns: the tasks that open the pools; empty if the policy was in use already, or if the
            cluster is still connecting: `populate_all` will then populate it.
        """
        if not self._are_populated or any(policy is other for other in self._listeners.policies):
            return []
        self.populate(policy, cluster)
        # Opening a pool shows whether the host is up. Include hosts that are marked as down: if all
        # policies ignored a host until now, nobody has tried to connect to it.
        return [self._spawn(self._bring_up(host)) for host in self._metadata.all_hosts()]

    def attach_once(self, policy: object) -> None:
        """Attach a speculative execution policy or a retry policy, unless it is attached already.

        :param policy: a policy with a method `attach`; see `profile.attached_policies`.
        """
        if not any(policy is other for other in self._attached):
            self._attached.append(policy)
            self.attach(policy)

    def forget(
        self, policy: LoadBalancingPolicy | SpeculativeExecutionPolicy | RetryPolicy
    ) -> None:
        """Stop notifying a policy that no profile uses any more."""
        # Load balancing policies are not in `_attached`.
        if any(policy is other for other in self._attached):
            self._attached = [other for other in self._attached if other is not policy]
            # A user's policy may have no method `detach`.
            detach = getattr(policy, "detach", None)
            if detach is not None:
                detach(self._engine)
            return
        # Otherwise this is a load balancing policy, or a policy that was never attached. Remove a
        # load balancing policy from the listeners, and let sessions close the pools that only this
        # policy needed.
        policies = self._listeners.policies
        self._listeners.policies = [other for other in policies if other is not policy]
        self._follow_distances()

    def attach(self, policy: object) -> None:
        """Pass the engine to a policy of any kind if it inspects the requests in flight."""
        attach_policy(policy, self._engine)
