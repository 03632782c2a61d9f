"""Assigns nodes to data centres and racks, and gives them tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

NodeCounts: TypeAlias = int | Sequence[int] | Mapping[str, int]
RackNames: TypeAlias = int | Sequence[str] | Mapping[str, int | Sequence[str]] | None

_LOWEST_TOKEN, _TOKENS = -(2**63), 2**64  # the smallest token, and the number of tokens


class NodeLocation(NamedTuple):
    """The data centre and the rack of a node."""

    datacenter: str
    rack: str


def _wrong_count(name: str, count: object) -> ValueError:
    """Return the error for a data centre whose number of nodes is not a positive number."""
    advice = "it needs one at least"
    if not isinstance(count, int):
        advice = "write a number, LocalCluster(3) or LocalCluster({'dc1': 2, 'dc2': 1})"
    return ValueError(f"data centre {name!r} has {count!r} nodes: {advice}")


def _counts(nodes: NodeCounts, datacenters: Sequence[str] | None) -> dict[str, int]:
    """Return the number of nodes in each data centre, in order."""
    # `nodes` may be a dict of counts by data centre, a total, or a sequence of counts.
    if isinstance(nodes, Mapping):
        if datacenters is not None:
            raise ValueError("nodes= names the data centres already: leave datacenters= out")
        counts = dict(nodes)
    elif isinstance(nodes, int):
        names = list(datacenters or ["dc1"])
        nodes_each, rest = divmod(nodes, len(names))
        # If the nodes cannot be divided evenly, the first data centres get one more node each.
        counts = {name: nodes_each + (index < rest) for index, name in enumerate(names)}
    else:
        names = list(datacenters or [f"dc{index}" for index in range(1, len(nodes) + 1)])
        if len(names) != len(nodes):
            raise ValueError(
                f"{len(nodes)} counts of nodes, but {len(names)} names of data centres"
            )
        counts = dict(zip(names, nodes, strict=True))
    # Check the counts.
    for name, count in counts.items():
        if not isinstance(count, int) or isinstance(count, bool) or count < 1:
            raise _wrong_count(name, count)
    if not counts:
        raise ValueError("a cluster needs one node at least")
    return counts


def _rack_names(racks: RackNames, datacenter: str) -> list[str]:
    """Return the names of the racks in a data centre."""
    datacenter_racks = racks.get(datacenter) if isinstance(racks, Mapping) else racks
    # A data centre that the mapping does not name has one rack.
    if datacenter_racks is None:
        datacenter_racks = 1
    if isinstance(datacenter_racks, str):
        raise ValueError(f"racks={datacenter_racks!r}: expected a number or a list of names")
    names = (
        [f"rack{index}" for index in range(1, datacenter_racks + 1)]
        if isinstance(datacenter_racks, int)
        else list(datacenter_racks)
    )
    if not names:
        raise ValueError(f"data centre {datacenter!r} has no rack")
    return names


def lay_out(
    nodes: NodeCounts, datacenters: Sequence[str] | None = None, racks: RackNames = None
) -> list[NodeLocation]:
    """Return the data centre and rack of each node, in the order of node numbers.

    The nodes of a data centre have successive numbers, and are assigned to its racks in turn. The
    parameters are the same as for `LocalCluster`.
    """
    if isinstance(racks, Mapping) and (unknown := set(racks) - set(_counts(nodes, datacenters))):
        raise ValueError(
            f"racks= names data centres that have no nodes: {', '.join(sorted(unknown))}"
        )
    locations = []
    for datacenter, count in _counts(nodes, datacenters).items():
        names = _rack_names(racks, datacenter)
        locations += [NodeLocation(datacenter, names[index % len(names)]) for index in range(count)]
    return locations


def tokens_of(locations: Sequence[NodeLocation], tokens_per_node: int) -> list[list[int]]:
    """Return a list of tokens for each node.

    Within a data centre, the tokens are evenly spaced, and assigned to the nodes in turn. So
    neighbours on the ring, which hold the replicas of a partition, are different nodes. If there
    are several racks, these nodes are in different racks. No two nodes of the cluster have the same
    token.
    """
    datacenters = list(dict.fromkeys(location.datacenter for location in locations))
    tokens = []
    next_index = dict.fromkeys(datacenters, 0)
    for location in locations:
        datacenter_size = sum(other.datacenter == location.datacenter for other in locations)
        # Begin after the lowest token, which means "no token" to the server. The first tokens of
        # two data centres differ by a multiple of 1000, so that no two nodes have the same token.
        offset = _LOWEST_TOKEN + 1 + datacenters.index(location.datacenter) * 1000
        step = _TOKENS // (datacenter_size * tokens_per_node)
        index_in_datacenter = next_index[location.datacenter]
        next_index[location.datacenter] += 1
        tokens.append(
            [
                offset + step * (index_in_datacenter + datacenter_size * turn)
                for turn in range(tokens_per_node)
            ]
        )
    return tokens
