"""Finds data centres that a load balancing policy names, but in which there is no node."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cassandra.metadata.host import Host

log = logging.getLogger("cassandra.cluster")

_MAX_DEPTH = 16  # the number of policies inside each other that are looked at


def datacenters_of(hosts: Iterable[Host]) -> set[str]:
    """Return the names of the data centres of `hosts`, as far as they are known."""
    return {host.datacenter for host in hosts if host.datacenter}


def quoted(names: Iterable[str]) -> str:
    """Return the names in quotes and in alphabetical order, for messages."""
    return ", ".join(map(repr, sorted(names)))


def local_datacenters(policy: object) -> set[str]:
    """Return each `local_dc` of a policy and of the policies inside it."""
    return {name for part in _parts(policy) for name in _names(part, "local_dc")}


def unknown_local_datacenter(policies: Iterable[object], hosts: Collection[Host]) -> str:
    """Return the message about a `local_dc` of load balancing policies in which there is no node.

    :param hosts: all hosts of the cluster.
    :returns: the message; "" if each of the data centres has nodes, or no data centre is known.
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
    """Log a warning for data centres without a node that a policy, or a policy inside it, names.

    :param policy: a load balancing policy.
    :param hosts: all hosts of the cluster. There is no warning while no data centre is known.
    """
    existing = datacenters_of(hosts)
    if not existing:
        return
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

    The result is empty if there is no such attribute. Policies of applications may also use its
    name for something else.
    """
    value = _attribute(policy, setting)
    values = value if isinstance(value, (tuple, list, set, frozenset)) else (value,)
    return {name for name in values if isinstance(name, str) and name}


def _parts(policy: object) -> Iterator[object]:
    """Yield a policy, its child policy, and so on."""
    part: Any = policy
    # A mock object in place of a policy has child policies without end.
    for _ in range(_MAX_DEPTH):
        if part is None:
            return
        yield part
        part = _attribute(part, "_child_policy")


def _attribute(policy: object, name: str) -> Any:
    """Return an attribute of a policy; None if there is none.

    An attribute of a user's policy may be a property that raises anything. That must not end
    `connect`, since the driver asks only to warn.
    """
    try:
        return getattr(policy, name, None)
    except Exception:
        return None
