"""The ranges of tokens that a scan reads one by one, and a key for each that routes to it."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from cassandra.metadata.placement.tokens import Murmur3Token

if TYPE_CHECKING:
    from cassandra.metadata import Metadata

__all__ = [
    "FIRST",
    "LAST",
    "TokenRange",
    "at_tablets",
    "key_of_token",
    "ring_ranges",
    "split_ranges",
    "weigh",
]

# No key has the first token: partitioners give the last one in its place.
FIRST = -(1 << 63)
LAST = (1 << 63) - 1

_MASK = (1 << 64) - 1
_C1_INVERSE = pow(0x87C37B91114253D5, -1, 1 << 64)
_C2_INVERSE = pow(0x4CF5AD432745937F, -1, 1 << 64)
_FIVE_INVERSE = pow(5, -1, 1 << 64)
_MIX_INVERSES = (pow(0xC4CEB9FE1A85EC53, -1, 1 << 64), pow(0xFF51AFD7ED558CCD, -1, 1 << 64))


class TokenRange(NamedTuple):
    """The tokens after `start`, up to `end` with it.

    :param start: the token before the first one.
    :param end: the last token.
    :param replicas: addresses of the hosts that own all of it; empty if that is not known.
    """

    start: int
    end: int
    replicas: tuple[str, ...] = ()

    @property
    def width(self) -> int:
        """The number of its tokens."""
        return self.end - self.start

    @property
    def routing_key(self) -> bytes:
        """A partition key whose token is the last one of the range."""
        return key_of_token(self.end)


class Estimate(NamedTuple):
    """A row of ``system.size_estimates``; the range may wrap around the end of the ring."""

    start: int
    end: int
    bytes: int


def ring_ranges(metadata: Metadata, keyspace: str) -> list[TokenRange]:
    """Return ranges that cover the ring once, in order; neighbours with equal replicas are joined.

    Without a token map, and for keyspaces whose tablets are placed without the ring, that is a
    single range.

    :param metadata: the cluster's.
    :param keyspace: the keyspace whose replicas are asked for.
    """
    token_map = metadata.token_map
    if (
        token_map is None
        or token_map.token_class is not Murmur3Token
        or metadata.tablets.has_keyspace(keyspace)
    ):
        return [TokenRange(FIRST, LAST)]
    tokens = sorted({int(token.value) for token in token_map.ring} - {FIRST, LAST})
    # The range that wraps around is two: from the last token to the end, and from the beginning.
    found: list[TokenRange] = []
    start = FIRST
    for end in [*tokens, LAST]:
        hosts = token_map.get_replicas(keyspace, Murmur3Token(end))
        replicas = tuple(sorted(str(host.endpoint) for host in hosts))
        if found and found[-1].replicas == replicas:
            found[-1] = TokenRange(found[-1].start, end, replicas)
        else:
            found.append(TokenRange(start, end, replicas))
        start = end
    return found


def at_tablets(metadata: Metadata, keyspace: str, splits: int) -> int:
    """Return how many ranges to make, so that none of them has parts of several tablets.

    ScyllaDB cuts the tokens into a power of two of tablets, all of the same width. So do ranges
    whose number is a power of two: each of them is a part of one tablet, or some whole ones.

    :param metadata: the cluster's.
    :param keyspace: the keyspace of the table.
    :param splits: about how many ranges are wanted.
    """
    return 1 << (splits - 1).bit_length() if metadata.tablets.has_keyspace(keyspace) else splits


def weigh(ranges: Sequence[TokenRange], estimates: Iterable[Estimate]) -> list[float]:
    """Return the bytes that `ranges` have by the servers' estimates.

    They are the widths if there are no estimates.

    :param ranges: the ranges, in order.
    :param estimates: of all nodes; the same range may be told by several.
    """
    known: dict[tuple[int, int], int] = {}
    for start, end, size in estimates:
        for piece in [(start, end)] if start < end else [(start, LAST), (FIRST, end)]:
            share = 1.0 if start < end else (piece[1] - piece[0]) / ((end - start) % (1 << 64) or 1)
            known[piece] = max(known.get(piece, 0), int(size * share))
    if not any(known.values()):
        return [float(one.width) for one in ranges]
    # One pass over both, which are in the order of their tokens: a cluster of many nodes has many
    # thousands of each.
    pieces = deque(sorted((start, end, size) for (start, end), size in known.items() if size))
    near: list[tuple[int, int, int]] = []  # begin before the end of the range, and reach into it
    weights = []
    for one in ranges:
        near = [piece for piece in near if piece[1] > one.start]
        while pieces and pieces[0][0] < one.end:
            near.append(pieces.popleft())
        weight = 0.0
        for start, end, size in near:
            common = min(end, one.end) - max(start, one.start)
            if common > 0:
                weight += size * (common / (end - start))
        weights.append(weight)
    return weights


def split_ranges(
    ranges: Sequence[TokenRange], weights: Sequence[float], parts: int
) -> list[TokenRange]:
    """Return about `parts` ranges of about equal weight that cover the same tokens.

    :param ranges: the ranges, in order and without gaps.
    :param weights: the weight of each.
    :param parts: how many are wanted. Neighbours are joined, and heavy ranges cut, to have them.
    """
    most = (sum(weights) or float(len(ranges))) / max(parts, 1)
    result: list[TokenRange] = []
    held = 0.0
    for one, weight in zip(ranges, weights, strict=True):
        pieces = min(max(round(weight / most), 1), one.width)
        if result and pieces == 1 and held + weight <= most * 1.25 and len(ranges) > parts:
            before = result[-1]
            common = tuple(name for name in before.replicas if name in one.replicas)
            result[-1] = TokenRange(before.start, one.end, common)
            held += weight
            continue
        bounds = [one.start + one.width * i // pieces for i in range(pieces + 1)]
        result += [
            TokenRange(start, end, one.replicas) for start, end in itertools.pairwise(bounds)
        ]
        held = weight / pieces
    return result


def key_of_token(token: int) -> bytes:
    """Return 16 bytes whose Murmur3 token is `token`.

    A statement with this routing key is sent to the replicas, and the shard, of that token: the
    policies need not know of ranges.

    :param token: a signed number of 64 bits.
    """
    # The hash's steps, backwards. Its second half is taken to be 0 at the end, so that the first
    # half alone is the token.
    mixed = token & _MASK
    for inverse in _MIX_INVERSES:
        mixed ^= mixed >> 33
        mixed = mixed * inverse & _MASK
    mixed ^= mixed >> 33
    second = -mixed & _MASK
    first = (mixed - second) & _MASK
    first, second = first ^ 16, second ^ 16
    low = ((second - 0x38495AB5) * _FIVE_INVERSE - first) & _MASK
    low = _rotated(_rotated(low, 33) * _C1_INVERSE & _MASK, 31) * _C2_INVERSE & _MASK
    high = _rotated((first - 0x52DCE729) * _FIVE_INVERSE & _MASK, 37)
    high = _rotated(high * _C2_INVERSE & _MASK, 33) * _C1_INVERSE & _MASK
    return high.to_bytes(8, "little") + low.to_bytes(8, "little")


def _rotated(number: int, bits: int) -> int:
    return (number << bits | number >> (64 - bits)) & _MASK
