"""Lays out nodes in data centres and racks, and gives them tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

__all__ = ["NodeCounts", "Place", "RackNames", "lay_out", "tokens_of"]

NodeCounts: TypeAlias = int | Sequence[int] | Mapping[str, int]
RackNames: TypeAlias = int | Sequence[str] | Mapping[str, int | Sequence[str]] | None

_LOWEST_TOKEN, _TOKENS = -(2**63), 2**64


class Place(NamedTuple):
    """The data centre and the rack of a node."""

    datacenter: str
    rack: str


def _counts(nodes: NodeCounts, datacenters: Sequence[str] | None) -> dict[str, int]:
    """Return how many nodes each data centre has, in order."""
    if isinstance(nodes, Mapping):
        if datacenters is not None:
            raise ValueError("nodes= names the data centres already: leave datacenters= out")
        counts = dict(nodes)
    elif isinstance(nodes, int):
        names = list(datacenters or ["dc1"])
        share, rest = divmod(nodes, len(names))
        # The first data centres take what is left over.
        counts = {name: share + (index < rest) for index, name in enumerate(names)}
    else:
        names = list(datacenters or [f"dc{index}" for index in range(1, len(nodes) + 1)])
        if len(names) != len(nodes):
            raise ValueError(
                f"{len(nodes)} counts of nodes, but {len(names)} names of data centres"
            )
        counts = dict(zip(names, nodes, strict=True))
    for name, count in counts.items():
        if not isinstance(count, int) or isinstance(count, bool) or count < 1:
            raise ValueError(f"data centre {name!r} has {count!r} nodes: it needs one at least")
    if not counts:
        raise ValueError("a cluster needs one node at least")
    return counts


def _rack_names(racks: RackNames, datacenter: str) -> list[str]:
    own = racks.get(datacenter) if isinstance(racks, Mapping) else racks
    if own is None:
        own = 1
    if isinstance(own, str):
        raise ValueError(f"racks={own!r}: expected a number or a list of names")
    names = [f"rack{index}" for index in range(1, own + 1)] if isinstance(own, int) else list(own)
    if not names:
        raise ValueError(f"data centre {datacenter!r} has no rack")
    return names


def lay_out(
    nodes: NodeCounts, datacenters: Sequence[str] | None = None, racks: RackNames = None
) -> list[Place]:
    """Return the place of each node, in the order of their numbers.

    One data centre comes after the other. Within one, racks take turns.
    """
    if isinstance(racks, Mapping) and (unknown := set(racks) - set(_counts(nodes, datacenters))):
        raise ValueError(
            f"racks= names data centres that have no nodes: {', '.join(sorted(unknown))}"
        )
    places = []
    for datacenter, count in _counts(nodes, datacenters).items():
        names = _rack_names(racks, datacenter)
        places += [Place(datacenter, names[index % len(names)]) for index in range(count)]
    return places


def tokens_of(places: Sequence[Place], each: int) -> list[list[int]]:
    """Return tokens for each node.

    Within a data centre they are evenly spaced and dealt in turn, and no token is used twice in the
    cluster. So neighbours on the ring are different nodes, and in different racks if there are
    several: replicas spread.
    """
    datacenters = list(dict.fromkeys(place.datacenter for place in places))
    dealt = []
    position = dict.fromkeys(datacenters, 0)
    for place in places:
        count = sum(other.datacenter == place.datacenter for other in places)
        # The server takes the lowest token of all for "no token", so it is left out.
        offset = _LOWEST_TOKEN + 1 + datacenters.index(place.datacenter) * 1000
        step = _TOKENS // (count * each)
        first = position[place.datacenter]
        position[place.datacenter] += 1
        dealt.append([offset + step * (first + count * turn) for turn in range(each)])
    return dealt
