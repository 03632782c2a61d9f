"""Warns if a load balancing policy names a data centre in which the cluster has no node."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from cassandra._logs import Log

if TYPE_CHECKING:
    from cassandra.metadata.host import Host

log = Log("cassandra.cluster")

_MAX_DEPTH = 16  # how many policies that wrap each other are inspected


def datacenters_of(hosts: Iterable[Host]) -> set[str]:
    """Return the names of the data centres of `hosts`, as far as they are known."""
    return {host.datacenter for host in hosts if host.datacenter}


def quoted(names: Iterable[str]) -> str:
    """Return the names in quotes and in alphabetical order, for messages."""
    return ", ".join(map(repr, sorted(names)))


def local_datacenters(policy: object) -> set[str]:
    """Return the `local_dc` of a policy and of each policy that it wraps."""
    return {name for part in _parts(policy) for name in _names(part, "local_dc")}


def unknown_local_datacenter(policies: Iterable[object], hosts: Collection[Host]) -> str:
    """Return a message if a policy's `local_dc` names a data centre without nodes.

    :param hosts: all hosts of the cluster.
    :returns: the message. "" if each named data centre has nodes, or if no host's data centre is
        known.
    """
    existing = datacenters_of(hosts)
    unknown = set[str]().union(*map(local_datacenters, policies)) - existing
    if not unknown or not existing:
        return ""
    return (
        f"no node is in the data centre {quoted(unknown)}, the local_dc of the load balancing "
        f"policy: the nodes are in {quoted(existing)}"
    )


def warn_of_unknown_datacenters(policy: object, hosts: Collection[Host]) -> None:
    """Log a warning if a policy, or a policy that it wraps, names a data centre without nodes.

    :param policy: a load balancing policy.
    :param hosts: all hosts of the cluster. If no host's data centre is known, nothing is logged.
    """
    existing = datacenters_of(hosts)
    if not existing:
        return
    # The two settings below of the driver's load balancing policies contain names of data centres.
    for part in _parts(policy):
        for setting in ("local_dc", "preferred_remote_dcs"):
            unknown = _names(part, setting) - existing
            if unknown:
                log.warning(
                    "no node is in the data centre %s, which %s of %s names: the nodes are in %s",
                    quoted(unknown),
                    setting,
                    type(part).__name__,
                    quoted(existing),
                )


def _names(policy: object, setting: str) -> set[str]:
    """Return the data centres that an attribute of a policy names.

    The result is empty if the policy has no such attribute. Values that are not strings are
    skipped, because a user's policy may use the attribute name for something else.
    """
    value = _attribute(policy, setting)
    values = value if isinstance(value, (tuple, list, set, frozenset)) else (value,)
    return {name for name in values if isinstance(name, str) and name}


def _parts(policy: object) -> Iterator[object]:
    """Yield a policy, the policy that it wraps, and so on."""
    part: Any = policy
    # Limit the depth: a mock object in place of a policy has an endless chain of child policies.
    for _ in range(_MAX_DEPTH):
        if part is None:
            return
        yield part
        part = _attribute(part, "_child_policy")


def _attribute(policy: object, name: str) -> Any:
    """Return an attribute of a policy; None if the policy has no such attribute.

    A property of a user's policy may raise any error. The error must not break `connect`, because
    the driver reads the attribute only in order to warn.
    """
    try:
        return getattr(policy, name, None)
    except Exception:
        return None
