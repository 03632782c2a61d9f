"""Listeners to events of hosts: load balancing policies, and those of the program."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from cassandra.engine.failures import reraise_on_loop

if TYPE_CHECKING:
    from cassandra.metadata.host import Host
    from cassandra.policies.balancing import LoadBalancingPolicy, PolicyCluster

__all__ = ["Listeners"]

log = logging.getLogger("cassandra.cluster")


class Listeners:
    """Passes events of hosts on to listeners. Errors of one do not keep others from hearing.

    :param after: called after each event, which may have changed the policies' distances.
    """

    __slots__ = ("_after", "_introduced", "policies", "program")

    def __init__(self, after: Callable[[], None]) -> None:
        self.policies: list[Any] = []
        self.program: Sequence[Any] = ()
        # Hosts that the program's listeners know from `connect`, until they are up or down.
        self._introduced: set[Host] = set()
        self._after = after

    def tell(self, event: str, host: Host) -> None:
        """Tell everybody: `event` is the name of a method of `HostStateListener`."""
        # Policies first: what a listener executes goes by their plans. A copy: a listener may
        # register or remove others meanwhile.
        told = (*self.policies, *self.program)
        if host in self._introduced:
            self._introduced.discard(host)
            # It came by `on_add`, which is for hosts that are up. Programs count both.
            if event == "on_up":
                told = tuple(self.policies)
        self._tell(told, event, host)

    def introduce(self, hosts: Sequence[Host]) -> None:
        """Tell the program's listeners of the hosts that are there at connect."""
        self._introduced.update(hosts)
        for host in hosts:
            self._tell(tuple(self.program), "on_add", host)

    def tell_policies(self, event: str, host: Host) -> None:
        """Tell the load balancing policies alone."""
        self._tell(tuple(self.policies), event, host)

    def populate(
        self, policy: LoadBalancingPolicy, cluster: PolicyCluster, hosts: Sequence[Host]
    ) -> None:
        """Tell a load balancing policy of the hosts, now and from now on."""
        policy.populate(cluster, hosts)
        for host in hosts:
            if host.is_up is False:
                self._tell((policy,), "on_down", host)
        # Only now: events before `populate` are about hosts that the policy does not know.
        self.policies.append(policy)

    def _tell(self, listeners: Sequence[Any], event: str, host: Host) -> None:
        for listener in listeners:
            try:
                getattr(listener, event)(host)
            except BaseException as error:  # its own fault: the others are told all the same
                log.exception("%s.%s(%s) failed", type(listener).__name__, event, host)
                reraise_on_loop(error)
        self._after()
