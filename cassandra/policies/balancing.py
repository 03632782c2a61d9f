"""Load balancing policies decide which hosts a request may use, and in which order.

Policies accept any hashable objects as hosts. The engine passes the initial hosts to `populate`,
and later reports changes by calling the ``on_*`` methods. It calls all methods on its event loop,
so they must not block. The policies of this module are thread-safe: the driver also calls their
`make_query_plan` in the threads that execute statements.
"""

from __future__ import annotations

import itertools
import random
import socket
import weakref
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol, cast

from cassandra._habits import class_advice
from cassandra._imports import at_first_cluster
from cassandra._mocks import is_mock
from cassandra._unknown_options import advise_missing, advise_options
from cassandra.policies.plan_limit import limited

if TYPE_CHECKING:
    from cassandra.metadata.cluster_metadata import Metadata
    from cassandra.metadata.host import Host
    from cassandra.policies import plans
    from cassandra.query.statement import Statement
else:
    at_first_cluster(__name__, plans="cassandra._impl")


class HostDistance:
    """The distance of a host, as determined by a load balancing policy."""

    LOCAL_RACK = 0
    """In the local rack. The driver keeps as many connections as for LOCAL."""
    LOCAL = 1
    """In the local data centre."""
    REMOTE = 2
    """In another data centre, but used."""
    IGNORED = -1
    """Not used: the driver keeps no connections to it."""


class HostStateListener:
    """Notified when hosts join or leave the cluster, or go up or down.

    A blocking `Cluster` calls the listeners that were registered with `register_listener` in a
    thread of their own, one after the other and in the order of the events. These listeners may
    block and execute statements, but a slow listener delays later notifications. The driver calls
    load balancing policies, and the listeners of `cassandra.aio`, on its event loop, so they must
    not block. Errors that a listener raises are logged.
    """

    def on_up(self, host: Host) -> None:
        """Called when the host can be reached again.

        :param host: the `Host`.
        """
        raise NotImplementedError

    def on_down(self, host: Host) -> None:
        """Called when the host cannot be reached.

        :param host: the `Host`.
        """
        raise NotImplementedError

    def on_add(self, host: Host) -> None:
        """Called when the host has joined the cluster.

        :param host: the `Host`.
        """
        raise NotImplementedError

    def on_remove(self, host: Host) -> None:
        """Called when the host has left the cluster.

        :param host: the `Host`.
        """
        raise NotImplementedError


class LoadBalancingPolicy(HostStateListener):
    """Base of all load balancing policies."""

    def distance(self, host: Host) -> int:
        """Return the distance of `host`, a value of `HostDistance`.

        :param host: the `Host`.
        """
        raise NotImplementedError

    def populate(self, cluster: PolicyCluster, hosts: Iterable[Host]) -> None:
        """Store the hosts that are known so far. Called once, before the first query plan is made.

        :param cluster: the cluster, whose `metadata` has the token ring.
        :param hosts: the current hosts. Later changes are reported by `on_add` and the other
            methods.
        """
        raise NotImplementedError

    def make_query_plan(
        self, working_keyspace: str | None = None, query: Statement | None = None
    ) -> Iterator[Host]:
        """Return the hosts to try for one request, the best first.

        :param working_keyspace: the session's keyspace, which applies if the statement has no
            keyspace.
        :param query: the statement, or None if the plan is not for a particular statement.
        """
        raise NotImplementedError

    def check_supported(self) -> None:
        """Raise an error if the policy cannot work in this environment."""

    def attach(self, engine: Engine) -> None:
        """Store the `engine`, which knows the requests in flight. Called once, after `populate`.

        :param engine: the cluster's engine.
        """


class PolicyCluster(Protocol):
    """The attribute of a cluster that load balancing policies need in `populate`."""

    @property
    def metadata(self) -> Metadata:
        """The hosts and the token ring, which change when events arrive."""


class Engine(Protocol):
    """The part of the engine that policies may use.

    Policies may use the engine only on its event loop.
    """

    random: random.Random
    """The source of the cluster's random numbers."""

    def time(self) -> float:
        """Return the event loop's time, in seconds."""

    def in_flight(self, host: Host) -> int:
        """Return the number of requests to `host` without a response yet, over all sessions."""

    def observe_latencies(self, observer: Callable[[Host, float], None]) -> None:
        """Call ``observer(host, seconds)`` for each response from now on.

        An error response that only rejects the request is not reported: it comes fast, regardless
        of the host's load.
        """

    def observe_failures(
        self, observer: Callable[[Host | None, BaseException, int | None], None]
    ) -> None:
        """Call ``observer(host, error, decision)`` for each failed attempt from now on.

        `host` is None if nothing was sent. `decision` is the decision of the retry policy; None if
        the policy was not called.
        """


class _Turns(itertools.count):  # type: ignore[type-arg]
    """A counter that numbers query plans, starts at random, and can be copied and pickled.

    Since Python 3.14, `itertools.count` itself can be neither copied nor pickled.
    """

    def __new__(cls, source: random.Random | None = None) -> _Turns:
        # Start at a random number, so that clients that start together do not all begin with the
        # same host.
        draws: Any = source if source is not None else random
        return cast("_Turns", super().__new__(cls, draws.randrange(1 << 16)))

    def __reduce__(self) -> tuple[Any, ...]:
        # The copy does not continue at this number, but starts at another random number.
        return _Turns, ()


class RoundRobinPolicy(LoadBalancingPolicy):
    """Tries all live hosts in turn. Each plan starts one host later than the previous plan."""

    def __init__(self) -> None:
        # Each change creates a new tuple, so that plans in other threads can continue with the old
        # tuple.
        self._live_hosts: tuple[Host, ...] = ()
        self._position = _Turns()

    def attach(self, engine: Engine) -> None:
        super().attach(engine)
        self._position = _Turns(engine.random)

    def populate(self, cluster: PolicyCluster, hosts: Iterable[Host]) -> None:
        self._live_hosts = tuple(dict.fromkeys(hosts))

    def distance(self, host: Host) -> int:
        return HostDistance.LOCAL

    def make_query_plan(
        self, working_keyspace: str | None = None, query: Statement | None = None
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


class _Followers:
    """The objects that are notified when an application changes the settings of a policy.

    The references are weak, because an application may keep a policy longer than a cluster. A copy
    of the policy has no followers.
    """

    __slots__ = ("_references",)

    def __init__(self) -> None:
        self._references: weakref.WeakValueDictionary[int, SettingsFollower] = (
            weakref.WeakValueDictionary()
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return _Followers, ()

    def add(self, follower: SettingsFollower) -> None:
        self._references[id(follower)] = follower

    def notify(self) -> None:
        # `valuerefs` returns a copy, because other threads may add followers meanwhile.
        for reference in self._references.valuerefs():
            follower = reference()
            if follower is not None:
                follower.on_settings_changed()


class SettingsFollower(Protocol):
    """An object that caches plans or distances of a policy; see `follow_settings`."""

    def on_settings_changed(self) -> None:
        """Called in the thread that has changed a setting of the policy."""


# The settings of policies with tiers. Their values determine the tiers.
_TIER_SETTINGS = frozenset(
    {"local_dc", "local_rack", "preferred_remote_dcs", "used_hosts_per_remote_dc"}
)


class _TieredRoundRobin(LoadBalancingPolicy):
    """Round robin within each tier of hosts, nearer tiers first.

    A subclass defines the tiers by `_tier`. For example, the tiers are the local rack and the rest
    of the local data centre. An application may set the attributes of `_TIER_SETTINGS` at any time,
    in any thread: the next plan uses the new value.
    """

    def __init__(
        self, used_hosts_per_remote_dc: int = 0, preferred_remote_dcs: Sequence[str] = ()
    ) -> None:
        if used_hosts_per_remote_dc < 0:
            raise ValueError(
                f"used_hosts_per_remote_dc must not be negative, but is {used_hosts_per_remote_dc}"
            )
        if isinstance(preferred_remote_dcs, str):
            raise TypeError(
                "preferred_remote_dcs must be a sequence of names, but is the text "
                f"{preferred_remote_dcs!r}; write [{preferred_remote_dcs!r}]"
            )
        if preferred_remote_dcs and not used_hosts_per_remote_dc:
            raise ValueError(
                "preferred_remote_dcs has no effect without used_hosts_per_remote_dc, which says "
                "how many hosts of each are used"
            )
        self.preferred_remote_dcs = tuple(preferred_remote_dcs)
        self.used_hosts_per_remote_dc = used_hosts_per_remote_dc
        self._hosts: tuple[Host, ...] = ()
        self._position = _Turns()
        # The cached result of `_hosts_by_tier`; None if it must be computed again.
        self._tiers: tuple[tuple[Host, ...], ...] | None = None
        self._settings_version: object = None  # another object after each change of a setting
        self._followers = _Followers()

    if not TYPE_CHECKING:  # type checkers would otherwise allow every name

        def __setattr__(self, name: str, value: object) -> None:
            object.__setattr__(self, name, value)
            # The constructor, also of a subclass, sets the settings before `_followers`.
            if name in _TIER_SETTINGS and "_followers" in vars(self):
                self._settings_version = object()
                self._tiers = None
                self._followers.notify()

    def attach(self, engine: Engine) -> None:
        super().attach(engine)
        self._position = _Turns(engine.random)

    def _tier(self, host: Host) -> int | None:
        """Return the tier of `host`: 0 for the nearest hosts, then 1.

        Return None for a host in another data centre.
        """
        raise NotImplementedError

    def populate(self, cluster: PolicyCluster, hosts: Iterable[Host]) -> None:
        self._hosts = tuple(dict.fromkeys(hosts))
        self._tiers = None

    def _hosts_by_tier(self) -> tuple[tuple[Host, ...], ...]:
        """Return the hosts in tiers, nearest first.

        There is a tuple of hosts for each local tier, and then one for each remote data centre,
        which has at most `used_hosts_per_remote_dc` hosts. The result is cached until the hosts or
        the settings change.
        """
        cached_tiers = self._tiers
        if cached_tiers is not None:
            return cached_tiers
        version = self._settings_version
        local: dict[int, list[Host]] = {}
        remote: dict[Hashable, list[Host]] = {}
        hosts = self._hosts
        for host in hosts:
            tier = self._tier(host)
            if tier is None:
                dc_hosts = remote.setdefault(host.datacenter, [])
                if len(dc_hosts) < self.used_hosts_per_remote_dc:
                    dc_hosts.append(host)
            else:
                local.setdefault(tier, []).append(host)
        local_tiers = [tuple(local[tier]) for tier in sorted(local)]
        preference: dict[Hashable, int] = {
            name: rank for rank, name in enumerate(self.preferred_remote_dcs)
        }
        # Data centres without a preference keep the order of their first hosts, because the sort is
        # stable.
        remote_dcs = sorted(remote, key=lambda name: preference.get(name, len(preference)))
        tiers = self._tiers = (*local_tiers, *(tuple(remote[name]) for name in remote_dcs))
        # If another thread has changed the hosts or the settings during this computation, do not
        # cache these tiers. Use them for this plan only.
        if self._hosts is not hosts or self._settings_version is not version:
            self._tiers = None
        return tiers

    def distance(self, host: Host) -> int:
        # This also returns LOCAL for the local rack. `RackAwareRoundRobinPolicy` overrides this
        # method, and handles hosts of the local rack itself.
        if self._tier(host) is not None:
            return HostDistance.LOCAL
        is_used = any(host in tier_hosts for tier_hosts in self._hosts_by_tier())
        return HostDistance.REMOTE if is_used else HostDistance.IGNORED

    def make_query_plan(
        self, working_keyspace: str | None = None, query: Statement | None = None
    ) -> Iterator[Host]:
        return plans.rotated(self._hosts_by_tier(), next(self._position))

    def on_up(self, host: Host) -> None:
        # If a host comes back in another rack or data centre, `host` is a new object, which is
        # equal to the old object. So replace the old object.
        self._hosts = (*(other for other in self._hosts if other != host), host)
        self._tiers = None

    def on_down(self, host: Host) -> None:
        self._hosts = tuple(other for other in self._hosts if other != host)
        self._tiers = None

    def on_add(self, host: Host) -> None:
        self.on_up(host)

    def on_remove(self, host: Host) -> None:
        self.on_down(host)


def _nothing() -> None:
    """Return None, as a weak reference does after its object was garbage collected."""


def _reference(cluster: PolicyCluster) -> Callable[[], object]:
    """Return a weak reference to a cluster, or a strong reference if necessary.

    An application may call `populate` with an object whose class does not support weak references.
    """
    try:
        return weakref.ref(cluster)
    except TypeError:
        return lambda: cluster


class DCAwareRoundRobinPolicy(_TieredRoundRobin):
    """Tries hosts of the local data centre in turn, then a few hosts of the other data centres.

    :param local_dc: the local data centre. By default it is the data centre of the first contact
        point that responded.
    :param used_hosts_per_remote_dc: the maximum number of used hosts in each other data centre.
    :param preferred_remote_dcs: the remote data centres to prefer, in this order, if no local host
        responds.
    :raises ValueError: if `used_hosts_per_remote_dc` is negative, or is 0 and data centres are
        preferred.
    """

    # The constructor sets these. Mocks with ``spec=`` have only attributes of the class.
    local_dc: str = ""
    used_hosts_per_remote_dc: int = 0

    def __init__(
        self,
        local_dc: str | None = "",
        used_hosts_per_remote_dc: int = 0,
        preferred_remote_dcs: Sequence[str] = (),
    ) -> None:
        _check_name("local_dc", local_dc)
        super().__init__(used_hosts_per_remote_dc, preferred_remote_dcs)
        self.local_dc = local_dc or ""
        self.finds_local_dc = not local_dc  # True if the application has not set `local_dc`
        # The addresses of the contact points. If the set is empty, any host determines the data
        # centre.
        self._contact_addresses: frozenset[str] = frozenset()
        self._found_dc = ""  # the local data centre, if the policy itself has determined it
        # A function that returns the cluster in which the policy has determined `_found_dc`. It
        # returns None if there is no such cluster, or it was garbage collected.
        self._found_in: Callable[[], object] = _nothing

    def __getstate__(self) -> dict[str, Any]:
        # Leave out the cluster: weak references cannot be pickled, and a copy for another cluster
        # must determine the data centre again.
        return {**vars(self), "_found_in": _nothing}

    def populate(self, cluster: PolicyCluster, hosts: Iterable[Host]) -> None:
        # An application may use the same policy object for one cluster after another. If the policy
        # has determined the data centre itself, forget it for a new cluster, which may have no data
        # centre with that name.
        has_no_data = False
        if self.local_dc and self.local_dc == self._found_dc and self._found_in() is not cluster:
            self.local_dc = ""
        if not self.local_dc:
            self._found_in = _reference(cluster)
            # An application may call `populate` with its own cluster object, which may lack these
            # attributes.
            endpoints = getattr(cluster, "endpoints_resolved", None) or ()
            # Only contact points determine the local data centre. Hosts that the client learns from
            # nodes have no influence on it.
            self._contact_addresses = frozenset(str(endpoint.address) for endpoint in endpoints)
            get_control_host = getattr(cluster, "get_control_connection_host", None)
            control_host = get_control_host() if get_control_host is not None else None
            hosts = list(hosts)
            # The control host may be a node without data (a zero-token node of ScyllaDB). Such a
            # node is not in `hosts`, and does not determine the local data centre.
            has_no_data = (
                bool(hosts)
                and control_host not in hosts
                and not getattr(control_host, "tokens", "unknown")
            )
            if control_host is not None and control_host.datacenter and not has_no_data:
                self.local_dc = self._found_dc = control_host.datacenter
        super().populate(cluster, hosts)
        for host in self._hosts:
            self._adopt_datacenter(host)
        if not self.local_dc and has_no_data:
            # All contact points are nodes without data, so none of them is in the list of hosts.
            # Use the data centre of any host.
            self._contact_addresses = frozenset()
            for host in self._hosts:
                self._adopt_datacenter(host)

    def _adopt_datacenter(self, host: Host) -> None:
        """Use a contact point's data centre as the local data centre, unless one is set already."""
        is_contact_point = (
            not self._contact_addresses or str(host.endpoint.address) in self._contact_addresses
        )
        if not self.local_dc and host.datacenter and is_contact_point:
            self.local_dc = self._found_dc = host.datacenter

    def _tier(self, host: Host) -> int | None:
        # Before the driver has read the list of nodes, the data centre of a contact point is not
        # known. Treat such a host as local, so that plans contain it.
        return 0 if not host.datacenter or host.datacenter == self.local_dc else None

    def on_up(self, host: Host) -> None:
        self._adopt_datacenter(host)
        super().on_up(host)


advise_options(DCAwareRoundRobinPolicy)


class RackAwareRoundRobinPolicy(_TieredRoundRobin):
    """Tries hosts of the local rack in turn, then the other hosts of the local data centre.

    A few hosts of each other data centre follow.

    :param local_dc: the local data centre.
    :param local_rack: the local rack.
    :param used_hosts_per_remote_dc: the maximum number of used hosts in each other data centre.
    :param preferred_remote_dcs: the remote data centres to prefer, in this order, if no local host
        responds.
    :raises ValueError: if a name is empty, or `used_hosts_per_remote_dc` is negative, or is 0 and
        data centres are preferred.
    """

    def __init__(
        self,
        local_dc: str,
        local_rack: str,
        used_hosts_per_remote_dc: int = 0,
        preferred_remote_dcs: Sequence[str] = (),
    ) -> None:
        if not local_dc or not local_rack:
            raise ValueError(
                f"local_dc and local_rack must be given, but are {local_dc!r} and {local_rack!r}"
            )
        _check_name("local_dc", local_dc)
        _check_name("local_rack", local_rack)
        super().__init__(used_hosts_per_remote_dc, preferred_remote_dcs)
        self.local_dc = local_dc
        self.local_rack = local_rack

    def _tier(self, host: Host) -> int | None:
        if host.datacenter != self.local_dc and host.datacenter:
            return None
        return 0 if host.rack == self.local_rack else 1

    def distance(self, host: Host) -> int:
        return HostDistance.LOCAL_RACK if self._tier(host) == 0 else super().distance(host)


class WrapperPolicy(LoadBalancingPolicy):
    """Base of policies that wrap a child policy. Each method calls the same method of the child.

    :param child_policy: the policy to wrap.
    """

    def __init__(self, child_policy: LoadBalancingPolicy) -> None:
        if isinstance(child_policy, type):
            raise TypeError(class_advice("child_policy", child_policy))
        if not hasattr(child_policy, "make_query_plan"):
            raise TypeError(
                f"child_policy must be a policy, but is {child_policy!r} of type "
                f"{type(child_policy).__name__}: write {_policy_of(child_policy)}"
            )
        self._child_policy = child_policy

    def distance(self, host: Host) -> int:
        return self._child_policy.distance(host)

    def populate(self, cluster: PolicyCluster, hosts: Iterable[Host]) -> None:
        self._child_policy.populate(cluster, hosts)

    def make_query_plan(
        self, working_keyspace: str | None = None, query: Statement | None = None
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
    """Round robin over the listed hosts only. The driver does not connect to other hosts.

    :param hosts: addresses or host names. A name is resolved when the policy is created.
    :raises TypeError: if `hosts` is a single string.
    :raises ValueError: if an address has a port.
    """

    def __init__(self, hosts: Sequence[str]) -> None:
        # A string is also a sequence, but each of its characters would be used as an address.
        if isinstance(hosts, str):
            raise TypeError(f"hosts must be a list of addresses: write [{hosts!r}]")
        hosts = tuple(hosts)
        for host in hosts:
            # An address with one colon has a port; an IPv6 address has more than one colon.
            if str(host).count(":") == 1:
                address = str(host).partition(":")[0]
                raise ValueError(
                    f"hosts are addresses without ports, but one is {host!r}: write {address!r}"
                )
        super().__init__()
        self._allowed_hosts = hosts
        self._allowed_addresses = frozenset(
            address for host in hosts for address in (str(host), *_addresses_of(str(host)))
        )

    def _allows(self, host: Host) -> bool:
        """Return True if one of the host's addresses is in the list."""
        # The address of the control connection's host may be a host name, so also compare the
        # host's RPC address.
        rpc_address = getattr(host, "broadcast_rpc_address", None)
        return (
            str(host.address) in self._allowed_addresses
            or str(rpc_address) in self._allowed_addresses
        )

    def populate(self, cluster: PolicyCluster, hosts: Iterable[Host]) -> None:
        super().populate(cluster, [host for host in hosts if self._allows(host)])

    def distance(self, host: Host) -> int:
        return HostDistance.LOCAL if self._allows(host) else HostDistance.IGNORED

    def on_up(self, host: Host) -> None:
        if self._allows(host):
            super().on_up(host)


def _policy_of(value: object) -> str:
    """Return the expression that the error message recommends instead of `value`."""
    if isinstance(value, str):  # probably the name of a data centre
        return f"DCAwareRoundRobinPolicy({value!r})"
    if callable(value):  # a predicate
        return "HostFilterPolicy(child_policy, predicate)"
    return "DCAwareRoundRobinPolicy('dc1')"


def _check_name(name: str, value: object) -> None:
    """Raise TypeError unless `value` is the name of a data centre or rack, or None."""
    if value is not None and not isinstance(value, str) and not is_mock(value):
        raise TypeError(f"{name} must be a str, but is {value!r} of type {type(value).__name__}")


def _addresses_of(name: str) -> list[str]:
    """Return the IP addresses of a name, or an empty list if it does not resolve now."""
    try:
        return [str(info[4][0]) for info in socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)]
    except OSError:
        return []


class HostFilterPolicy(WrapperPolicy):
    """Ignores hosts for which `predicate` returns False.

    :param child_policy: makes the plan that is filtered.
    :param predicate: returns True if a host may be used. It is called for the hosts of each plan,
        and for the distance of a host.
    :raises TypeError: if `predicate` is not callable.
    """

    def __init__(
        self, child_policy: LoadBalancingPolicy, predicate: Callable[[Host], bool]
    ) -> None:
        super().__init__(child_policy)
        if not callable(predicate):
            raise TypeError(
                f"predicate must be a function of a host, but is {predicate!r} of type "
                f"{type(predicate).__name__}: write lambda host: host.address in addresses"
            )
        self._predicate = predicate

    @property
    def predicate(self) -> Callable[[Host], bool]:
        """The function that filters hosts. It cannot be changed."""
        return self._predicate

    def distance(self, host: Host) -> int:
        return self._child_policy.distance(host) if self._predicate(host) else HostDistance.IGNORED

    def make_query_plan(
        self, working_keyspace: str | None = None, query: Statement | None = None
    ) -> Iterator[Host]:
        plan = self._child_policy.make_query_plan(working_keyspace, query)
        # Return a generator: most requests only need the first host, and `predicate` may be slow.
        return (host for host in limited(plan) if self._predicate(host))


class DefaultLoadBalancingPolicy(WrapperPolicy):
    """Puts a statement's ``target_host`` before the child policy's plan, if that host is up.

    The target is a `Host`, its end point or its address.

    :param child_policy: decides the distance of each host, and makes the rest of the plan.
    """

    def __init__(self, child_policy: LoadBalancingPolicy) -> None:
        super().__init__(child_policy)
        self._metadata: Metadata | None = None

    def populate(self, cluster: PolicyCluster, hosts: Iterable[Host]) -> None:
        self._metadata = cluster.metadata
        super().populate(cluster, hosts)

    def make_query_plan(
        self, working_keyspace: str | None = None, query: Statement | None = None
    ) -> Iterator[Host]:
        # Only `HostTargetingStatement` has this attribute.
        target = getattr(query, "target_host", None)
        plan = self._child_policy.make_query_plan(working_keyspace, query)
        if not target or self._metadata is None:
            return plan
        # Look up the target even if it is a `Host`: the object is out of date if the node has been
        # replaced since the statement was made.
        host = self._metadata.get_host(getattr(target, "endpoint", target))
        # The target is only a preference. If it is down or unknown, the request is sent to the
        # child policy's hosts.
        if host is None or not host.is_up:
            return plan
        return itertools.chain((host,), (other for other in limited(plan) if other != host))


class DSELoadBalancingPolicy(DefaultLoadBalancingPolicy):
    """`DefaultLoadBalancingPolicy` under an older name.

    :param args: the child policy.
    :param kwargs: the child policy, if you pass it by its name `child_policy`.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)


# The `distance` methods whose results only change when an on_* method is called, or when followers
# of the settings are notified. Between these calls, the results can be cached.
_FOLLOW_EVENTS = frozenset(
    {
        RoundRobinPolicy.distance,
        _TieredRoundRobin.distance,
        RackAwareRoundRobinPolicy.distance,
        WhiteListRoundRobinPolicy.distance,
    }
)


def distances_follow_events(policy: object) -> bool:
    """Return True if the distances of `policy` may be cached between calls of its on_* methods.

    They also change with the policy's settings; see `follow_settings`.

    Return False for a policy that an application has defined: its distances may change at any time.
    """
    distance = getattr(type(policy), "distance", None)
    if isinstance(policy, WrapperPolicy) and distance is WrapperPolicy.distance:
        return distances_follow_events(policy._child_policy)
    return distance in _FOLLOW_EVENTS


def follow_settings(policy: object, follower: SettingsFollower) -> None:
    """Call ``follower.on_settings_changed()`` when settings of `policy` change that affect plans.

    :param policy: the policy, which may wrap the policy that has the settings.
    :param follower: is kept by a weak reference only.
    """
    while isinstance(policy, WrapperPolicy):
        policy = policy._child_policy
    if isinstance(policy, _TieredRoundRobin):
        policy._followers.add(follower)


def attach_policy(policy: object, engine: Engine) -> None:
    """Call ``policy.attach(engine)`` if the policy has this method."""
    attach = getattr(policy, "attach", None)
    if attach is not None:
        attach(engine)


advise_missing(WhiteListRoundRobinPolicy, "WhiteListRoundRobinPolicy(['10.0.0.1'])")
