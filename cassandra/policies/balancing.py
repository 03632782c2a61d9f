"""Load balancing: which hosts a request may go to, and in which order.

Policies take hosts as opaque hashable things; `populate` gives them the first ones, the ``on_*``
calls tell of changes. All of them run on the engine's loop.
"""

from __future__ import annotations

import itertools
import random
import socket
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, Protocol

from cassandra._impl import plans

__all__ = [
    "DCAwareRoundRobinPolicy",
    "DSELoadBalancingPolicy",
    "DefaultLoadBalancingPolicy",
    "Engine",
    "HostDistance",
    "HostFilterPolicy",
    "HostStateListener",
    "LoadBalancingPolicy",
    "RackAwareRoundRobinPolicy",
    "RoundRobinPolicy",
    "WhiteListRoundRobinPolicy",
    "WrapperPolicy",
    "attach_policy",
    "distances_follow_events",
]

Host = Any  # opaque here


class HostDistance:
    """How far a host is: no connections are made to an ignored one."""

    LOCAL_RACK = 0
    LOCAL = 1
    REMOTE = 2
    IGNORED = -1


class HostStateListener:
    """What is told of hosts as they come, go, rise and fall."""

    def on_up(self, host: Host) -> None:
        """The host can be reached again."""
        raise NotImplementedError

    def on_down(self, host: Host) -> None:
        """The host cannot be reached."""
        raise NotImplementedError

    def on_add(self, host: Host) -> None:
        """The host joined the cluster."""
        raise NotImplementedError

    def on_remove(self, host: Host) -> None:
        """The host left the cluster."""
        raise NotImplementedError


class LoadBalancingPolicy(HostStateListener):
    """Base of all load balancing policies."""

    def distance(self, host: Host) -> int:
        """One of `HostDistance`."""
        raise NotImplementedError

    def populate(self, cluster: Any, hosts: Iterable[Host]) -> None:
        """Called once before the first plan, with the hosts known so far."""
        raise NotImplementedError

    def make_query_plan(
        self, working_keyspace: str | None = None, query: Any = None
    ) -> Iterator[Host]:
        """The hosts to try for one request, the best first."""
        raise NotImplementedError

    def check_supported(self) -> None:
        """Raise where the policy cannot work in this environment."""

    def attach(self, engine: Engine) -> None:
        """Called once after `populate`, for policies that look at requests under way."""


class Engine(Protocol):
    """What the driver tells policies of requests; all of it belongs to the loop that plans are made
    on.
    """

    def time(self) -> float:
        """The loop's clock, in seconds."""

    def in_flight(self, host: Host) -> int:
        """Requests to `host` that are not answered yet, of all sessions."""

    def observe_latencies(self, observer: Callable[[Host, float], None]) -> None:
        """Call `observer` with the host and the seconds of each answer from now on, but not of mere
        refusals.
        """


class RoundRobinPolicy(LoadBalancingPolicy):
    """All live hosts in turn, each plan starting one further."""

    def __init__(self) -> None:
        self._live_hosts: tuple[Host, ...] = ()
        self._position = itertools.count(random.randrange(1 << 16))

    def populate(self, cluster: Any, hosts: Iterable[Host]) -> None:
        self._live_hosts = tuple(dict.fromkeys(hosts))

    def distance(self, host: Host) -> int:
        return HostDistance.LOCAL

    def make_query_plan(
        self, working_keyspace: str | None = None, query: Any = None
    ) -> Iterator[Host]:
        return plans.rotated((self._live_hosts,), next(self._position))

    def on_up(self, host: Host) -> None:
        if host not in self._live_hosts:
            self._live_hosts += (host,)

    def on_down(self, host: Host) -> None:
        self._live_hosts = tuple(other for other in self._live_hosts if other != host)

    def on_add(self, host: Host) -> None:
        self.on_up(host)

    def on_remove(self, host: Host) -> None:
        self.on_down(host)


class _TieredRoundRobin(LoadBalancingPolicy):
    """Round robin within each distance, nearer ones first; subclasses say how far a host is."""

    def __init__(self, used_hosts_per_remote_dc: int = 0) -> None:
        if used_hosts_per_remote_dc < 0:
            raise ValueError(
                f"used_hosts_per_remote_dc must not be negative, but is {used_hosts_per_remote_dc}"
            )
        self.used_hosts_per_remote_dc = used_hosts_per_remote_dc
        self._hosts: tuple[Host, ...] = ()
        self._position = itertools.count(random.randrange(1 << 16))
        self._tiers: tuple[tuple[Host, ...], ...] | None = None

    def _tier(self, host: Host) -> int | None:
        """0 for the nearest; None for hosts of other data centres."""
        raise NotImplementedError

    def populate(self, cluster: Any, hosts: Iterable[Host]) -> None:
        self._hosts = tuple(dict.fromkeys(hosts))
        self._tiers = None

    def _by_tier(self) -> tuple[tuple[Host, ...], ...]:
        made = self._tiers
        if made is None:
            tiers: dict[int, list[Host]] = {}
            remote: dict[Hashable, list[Host]] = {}
            hosts = self._hosts
            for host in hosts:
                tier = self._tier(host)
                if tier is None:
                    used = remote.setdefault(host.datacenter, [])
                    if len(used) < self.used_hosts_per_remote_dc:
                        used.append(host)
                else:
                    tiers.setdefault(tier, []).append(host)
            ordered = [tuple(tiers[tier]) for tier in sorted(tiers)]
            made = self._tiers = (*ordered, *map(tuple, remote.values()))
            if self._hosts is not hosts:
                self._tiers = (
                    None  # an event came meanwhile, in the engine's thread: these serve once
                )
        return made

    def distance(self, host: Host) -> int:
        tier = self._tier(host)
        if tier is not None:
            return (HostDistance.LOCAL, HostDistance.LOCAL)[tier]
        used = any(host in tier_hosts for tier_hosts in self._by_tier())
        return HostDistance.REMOTE if used else HostDistance.IGNORED

    def make_query_plan(
        self, working_keyspace: str | None = None, query: Any = None
    ) -> Iterator[Host]:
        return plans.rotated(self._by_tier(), next(self._position))

    def on_up(self, host: Host) -> None:
        # A host that comes back may have moved to another rack or data centre: it is placed anew.
        self._hosts = (*(other for other in self._hosts if other != host), host)
        self._tiers = None

    def on_down(self, host: Host) -> None:
        self._hosts = tuple(other for other in self._hosts if other != host)
        self._tiers = None

    def on_add(self, host: Host) -> None:
        self.on_up(host)

    def on_remove(self, host: Host) -> None:
        self.on_down(host)


class DCAwareRoundRobinPolicy(_TieredRoundRobin):
    """Hosts of the local data centre in turn, then at most `used_hosts_per_remote_dc` of each other
    one.

    Without `local_dc` the data centre of the contact point that answered first is local.
    """

    def __init__(self, local_dc: str | None = "", used_hosts_per_remote_dc: int = 0) -> None:
        super().__init__(used_hosts_per_remote_dc)
        self.local_dc = local_dc or ""
        self._contact_addresses: frozenset[str] = frozenset()

    def populate(self, cluster: Any, hosts: Iterable[Host]) -> None:
        if not self.local_dc:
            endpoints = getattr(cluster, "endpoints_resolved", None) or ()
            self._contact_addresses = frozenset(str(endpoint.address) for endpoint in endpoints)
            control = getattr(cluster, "get_control_connection_host", None)
            first = control() if control is not None else None
            if first is not None and first.datacenter:
                self.local_dc = first.datacenter
        super().populate(cluster, hosts)
        for host in self._hosts:
            self._adopt_datacenter(host)

    def _adopt_datacenter(self, host: Host) -> None:
        known_here = (
            not self._contact_addresses or str(host.endpoint.address) in self._contact_addresses
        )
        if not self.local_dc and host.datacenter and known_here:
            self.local_dc = host.datacenter
            self._tiers = None

    def _tier(self, host: Host) -> int | None:
        # Before anything is known of a host, it counts as local: it is a contact point.
        return 0 if not host.datacenter or host.datacenter == self.local_dc else None

    def on_up(self, host: Host) -> None:
        self._adopt_datacenter(host)
        super().on_up(host)


class RackAwareRoundRobinPolicy(_TieredRoundRobin):
    """Hosts of the local rack in turn, then of the local data centre, then some of each other data
    centre.
    """

    def __init__(self, local_dc: str, local_rack: str, used_hosts_per_remote_dc: int = 0) -> None:
        if not local_dc or not local_rack:
            raise ValueError(
                f"local_dc and local_rack must be given, but are {local_dc!r} and {local_rack!r}"
            )
        super().__init__(used_hosts_per_remote_dc)
        self.local_dc = local_dc
        self.local_rack = local_rack

    def _tier(self, host: Host) -> int | None:
        if host.datacenter != self.local_dc and host.datacenter:
            return None
        return 0 if host.rack == self.local_rack else 1

    def distance(self, host: Host) -> int:
        return HostDistance.LOCAL_RACK if self._tier(host) == 0 else super().distance(host)


class WrapperPolicy(LoadBalancingPolicy):
    """Hands everything on to a child policy."""

    def __init__(self, child_policy: LoadBalancingPolicy) -> None:
        self._child_policy = child_policy

    def distance(self, host: Host) -> int:
        return self._child_policy.distance(host)

    def populate(self, cluster: Any, hosts: Iterable[Host]) -> None:
        self._child_policy.populate(cluster, hosts)

    def make_query_plan(
        self, working_keyspace: str | None = None, query: Any = None
    ) -> Iterator[Host]:
        return self._child_policy.make_query_plan(working_keyspace, query)

    def check_supported(self) -> None:
        self._child_policy.check_supported()

    def attach(self, engine: Engine) -> None:
        attach_policy(self._child_policy, engine)

    def on_up(self, host: Host) -> None:
        self._child_policy.on_up(host)

    def on_down(self, host: Host) -> None:
        self._child_policy.on_down(host)

    def on_add(self, host: Host) -> None:
        self._child_policy.on_add(host)

    def on_remove(self, host: Host) -> None:
        self._child_policy.on_remove(host)


class WhiteListRoundRobinPolicy(RoundRobinPolicy):
    """Round robin over the listed hosts alone; nothing else is connected to.

    hosts: their addresses, or names: these stand for the addresses that they have when the policy
    is made.
    """

    def __init__(self, hosts: Sequence[str]) -> None:
        super().__init__()
        self._allowed_hosts = tuple(hosts)
        self._allowed_addresses = frozenset(
            address for host in hosts for address in (str(host), *_addresses_of(str(host)))
        )

    def _allows(self, host: Host) -> bool:
        # The control connection's host may be known by a name; it tells its address itself.
        told = getattr(host, "broadcast_rpc_address", None)
        return str(host.address) in self._allowed_addresses or str(told) in self._allowed_addresses

    def populate(self, cluster: Any, hosts: Iterable[Host]) -> None:
        super().populate(cluster, [host for host in hosts if self._allows(host)])

    def distance(self, host: Host) -> int:
        return HostDistance.LOCAL if self._allows(host) else HostDistance.IGNORED

    def on_up(self, host: Host) -> None:
        if self._allows(host):
            super().on_up(host)


def _addresses_of(name: str) -> list[str]:
    """The IP addresses of a name; none where it has none now."""
    try:
        return [str(info[4][0]) for info in socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)]
    except OSError:
        return []


class HostFilterPolicy(WrapperPolicy):
    """The child policy's plan without the hosts for which `predicate` is false; those are ignored."""

    def __init__(
        self, child_policy: LoadBalancingPolicy, predicate: Callable[[Host], bool]
    ) -> None:
        super().__init__(child_policy)
        self._predicate = predicate

    @property
    def predicate(self) -> Callable[[Host], bool]:
        """The filter, which cannot be changed."""
        return self._predicate

    def distance(self, host: Host) -> int:
        return self._child_policy.distance(host) if self._predicate(host) else HostDistance.IGNORED

    def make_query_plan(
        self, working_keyspace: str | None = None, query: Any = None
    ) -> Iterator[Host]:
        plan = self._child_policy.make_query_plan(working_keyspace, query)
        return (host for host in plan if self._predicate(host))


class DefaultLoadBalancingPolicy(WrapperPolicy):
    """The child policy's plan, with a statement's ``target_host`` before it."""

    def __init__(self, child_policy: LoadBalancingPolicy) -> None:
        super().__init__(child_policy)
        self._metadata: Any = None

    def populate(self, cluster: Any, hosts: Iterable[Host]) -> None:
        self._metadata = cluster.metadata
        super().populate(cluster, hosts)

    def make_query_plan(
        self, working_keyspace: str | None = None, query: Any = None
    ) -> Iterator[Host]:
        target = getattr(query, "target_host", None)
        plan = self._child_policy.make_query_plan(working_keyspace, query)
        if not target or self._metadata is None:
            return plan
        host = self._metadata.get_host(target)
        if host is None or not host.is_up:
            return plan
        return itertools.chain((host,), (other for other in plan if other != host))


class DSELoadBalancingPolicy(DefaultLoadBalancingPolicy):
    """The same under an older name."""


# What these say of a host changes at the on_* calls only.
_FOLLOW_EVENTS = frozenset(
    {
        RoundRobinPolicy.distance,
        _TieredRoundRobin.distance,
        RackAwareRoundRobinPolicy.distance,
        WhiteListRoundRobinPolicy.distance,
    }
)


def distances_follow_events(policy: Any) -> bool:
    """Whether distances may be remembered between the on_* calls: not those of a program's own
    policy.
    """
    distance = getattr(type(policy), "distance", None)
    if distance is WrapperPolicy.distance:
        return distances_follow_events(policy._child_policy)
    return distance in _FOLLOW_EVENTS


def attach_policy(policy: Any, engine: Engine) -> None:
    """``policy.attach(engine)``, where it has that: a program's own policy need not."""
    attach = getattr(policy, "attach", None)
    if attach is not None:
        attach(engine)
