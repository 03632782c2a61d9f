"""Notifies load balancing policies and the application's listeners about events of hosts."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from cassandra.engine.failures import reraise_on_loop

if TYPE_CHECKING:
    from cassandra.metadata.host import Host
    from cassandra.policies.balancing import LoadBalancingPolicy, PolicyCluster

log = logging.getLogger("cassandra.cluster")


class Listeners:
    """Passes host events to listeners. An error in one listener does not affect other listeners.

    :param after: called after each event, which may have changed the policies' distances.
    """

    __slots__ = ("_introduced", "_on_notified", "policies", "user_listeners")

    def __init__(self, after: Callable[[], None]) -> None:
        self.policies: list[Any] = []
        self.user_listeners: Sequence[Any] = ()
        # The hosts for which `introduce` has called `on_add`, and no other event was reported yet.
        self._introduced: set[Host] = set()
        self._on_notified = after

    def notify(self, event: str, host: Host) -> None:
        """Notify all listeners; `event` is a method of `HostStateListener`, such as "on_up"."""
        # Notify the policies first: a listener may send requests, which use the policies' query
        # plans. Iterate over a copy: a listener may register or remove listeners.
        listeners = (*self.policies, *self.user_listeners)
        if host in self._introduced:
            self._introduced.discard(host)
            # The application got `on_add` for this host at connect. Do not call `on_up` as well,
            # because applications that count hosts would count the host twice.
            if event == "on_up":
                listeners = tuple(self.policies)
        self._notify(listeners, event, host)

    def introduce(self, hosts: Sequence[Host]) -> None:
        """Call the application's `on_add` listeners for the hosts that exist when it connects."""
        self._introduced.update(hosts)
        for host in hosts:
            self._notify(tuple(self.user_listeners), "on_add", host)

    def notify_policies(self, event: str, host: Host) -> None:
        """Notify the load balancing policies only."""
        self._notify(tuple(self.policies), event, host)

    def populate(
        self, policy: LoadBalancingPolicy, cluster: PolicyCluster, hosts: Sequence[Host]
    ) -> None:
        """Pass the current hosts to a load balancing policy, and notify it of later events."""
        policy.populate(cluster, hosts)
        for host in hosts:
            if host.is_up is False:
                self._notify((policy,), "on_down", host)
        # Add the policy to the list last, because it cannot handle events before `populate`.
        self.policies.append(policy)

    def _notify(self, listeners: Sequence[Any], event: str, host: Host) -> None:
        """Call the method `event` of each listener, and then `_on_notified`."""
        for listener in listeners:
            try:
                getattr(listener, event)(host)
            except BaseException as error:  # one listener has failed: notify the others
                log.exception("%s.%s(%s) failed", type(listener).__name__, event, host)
                reraise_on_loop(error)
        self._on_notified()
