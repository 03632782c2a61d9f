"""Divides the tokens of a table into ranges for a scan, and computes a routing key per range."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from cassandra.metadata.placement.tokens import Murmur3Token

if TYPE_CHECKING:
    from cassandra.metadata import Metadata

# The bounds of all tokens. A range does not include its start, but no partition has the token FIRST
# (the partitioner uses LAST instead), so (FIRST, LAST) has all partitions.
FIRST = -(1 << 63)
LAST = (1 << 63) - 1

# For `key_of_token`: the mask of 64-bit arithmetic, and the multiplicative inverses (modulo 2**64)
# of the constants of MurmurHash3.
_MASK = (1 << 64) - 1
_C1_INVERSE = pow(0x87C37B91114253D5, -1, 1 << 64)
_C2_INVERSE = pow(0x4CF5AD432745937F, -1, 1 << 64)
_FIVE_INVERSE = pow(5, -1, 1 << 64)
_MIX_INVERSES = (pow(0xC4CEB9FE1A85EC53, -1, 1 << 64), pow(0xFF51AFD7ED558CCD, -1, 1 << 64))


class TokenRange(NamedTuple):
    """The tokens after `start`, up to and including `end`.

    :param start: the token before the first token of the range; `start` is not in the range.
    :param end: the last token of the range.
    :param replicas: the addresses of the hosts that own the whole range; empty if unknown.
    """

    start: int
    end: int
    replicas: tuple[str, ...] = ()

    @property
    def width(self) -> int:
        """The number of tokens."""
        return self.end - self.start

    @property
    def routing_key(self) -> bytes:
        """A partition key whose token is the last token of the range."""
        return key_of_token(self.end)


class Estimate(NamedTuple):
    """A row of ``system.size_estimates``.

    The partitions with tokens after `start`, up to and including `end`, have about `bytes` bytes on
    the node that was asked. If `end` is not after `start`, the range wraps around the end of the
    ring.
    """

    start: int
    end: int
    bytes: int


def ring_ranges(metadata: Metadata, keyspace: str) -> list[TokenRange]:
    """Return ranges that cover all tokens once, in order.

    Neighbouring ranges with the same replicas are joined. The result is a single range of all
    tokens if there is no token map, if the partitioner is not Murmur3Partitioner, or if the
    keyspace has tablets, which do not follow the ring.

    :param metadata: the cluster's metadata.
    :param keyspace: the keyspace whose replicas are used.
    """
    token_map = metadata.token_map
    if (
        token_map is None
        or token_map.token_class is not Murmur3Token
        or metadata.tablets.has_keyspace(keyspace)
    ):
        return [TokenRange(FIRST, LAST)]
    # The loop below adds the bounds of the ring, so leave them out here.
    tokens = sorted({int(token.value) for token in token_map.ring} - {FIRST, LAST})
    # If a range wraps around the end of the ring, it becomes two ranges: the first and the last.
    ranges: list[TokenRange] = []
    start = FIRST
    for end in [*tokens, LAST]:
        hosts = token_map.get_replicas(keyspace, Murmur3Token(end))
        replicas = tuple(sorted(str(host.endpoint) for host in hosts))
        if ranges and ranges[-1].replicas == replicas:
            ranges[-1] = TokenRange(ranges[-1].start, end, replicas)
        else:
            ranges.append(TokenRange(start, end, replicas))
        start = end
    return ranges


def rounded_to_tablets(metadata: Metadata, keyspace: str, splits: int) -> int:
    """Return `splits`, rounded up to a power of two if the keyspace has tablets.

    ScyllaDB divides the tokens of a table into tablets of equal width, and their number is a power
    of two. If the number of ranges is also a power of two, each range is a part of one tablet, or
    consists of whole tablets.

    :param metadata: the cluster's metadata.
    :param keyspace: the keyspace of the table.
    :param splits: the approximate number of ranges that is requested.
    """
    return 1 << (splits - 1).bit_length() if metadata.tablets.has_keyspace(keyspace) else splits


def weigh(ranges: Sequence[TokenRange], estimates: Iterable[Estimate]) -> list[float]:
    """Return the estimated bytes of each range, or the widths of the ranges without estimates.

    :param ranges: the ranges, in order.
    :param estimates: the estimates of all nodes; several nodes may report the same range.
    """
    bytes_by_range: dict[tuple[int, int], int] = {}
    for start, end, size in estimates:
        # If a range wraps around the end of the ring, divide it into two pieces, and its bytes in
        # proportion to the widths of the pieces.
        wraps = start >= end
        whole_width = (end - start) % (1 << 64) or 1  # "or 1" avoids a division by 0
        for piece in [(start, LAST), (FIRST, end)] if wraps else [(start, end)]:
            share = (piece[1] - piece[0]) / whole_width if wraps else 1.0
            # Several nodes may report the same range, so use the largest estimate.
            bytes_by_range[piece] = max(bytes_by_range.get(piece, 0), int(size * share))
    if not any(bytes_by_range.values()):
        return [float(token_range.width) for token_range in ranges]
    # Go through ranges and pieces only once, in token order: a large cluster has many thousands of
    # both.
    pieces = deque(
        sorted((start, end, size) for (start, end), size in bytes_by_range.items() if size)
    )
    # The pieces that may overlap the current range.
    overlapping: list[tuple[int, int, int]] = []
    weights = []
    for token_range in ranges:
        overlapping = [piece for piece in overlapping if piece[1] > token_range.start]
        while pieces and pieces[0][0] < token_range.end:
            overlapping.append(pieces.popleft())
        weight = 0.0
        for start, end, size in overlapping:
            common_width = min(end, token_range.end) - max(start, token_range.start)
            if common_width > 0:
                weight += size * (common_width / (end - start))
        weights.append(weight)
    return weights


def split_ranges(
    ranges: Sequence[TokenRange], weights: Sequence[float], parts: int
) -> list[TokenRange]:
    """Return about `parts` ranges of about equal weight that cover the same tokens.

    :param ranges: the ranges, in order and without gaps.
    :param weights: the weight of each range.
    :param parts: the approximate number of ranges to return. Neighbouring ranges of little weight
        are joined, and ranges of more weight are cut.
    """
    # If all weights are 0, any target weight above 0 works.
    target_weight = (sum(weights) or float(len(ranges))) / max(parts, 1)
    result: list[TokenRange] = []
    weight_of_last = 0.0
    for token_range, weight in zip(ranges, weights, strict=True):
        # A range cannot be cut into more pieces than it has tokens.
        pieces = min(max(round(weight / target_weight), 1), token_range.width)
        if (
            result
            and pieces == 1
            # A joined range may exceed the target by a quarter.
            and weight_of_last + weight <= target_weight * 1.25
            and len(ranges) > parts
        ):
            # Join this range to the previous range. Only hosts that are replicas of both ranges own
            # the whole joined range.
            last = result[-1]
            replicas = tuple(name for name in last.replicas if name in token_range.replicas)
            result[-1] = TokenRange(last.start, token_range.end, replicas)
            weight_of_last += weight
            continue
        # Cut this range into pieces of equal width.
        bounds = [token_range.start + token_range.width * i // pieces for i in range(pieces + 1)]
        result += [
            TokenRange(start, end, token_range.replicas)
            for start, end in itertools.pairwise(bounds)
        ]
        weight_of_last = weight / pieces
    return result


def key_of_token(token: int) -> bytes:
    """Return 16 bytes whose Murmur3 token is `token`.

    If a statement has this routing key, load balancing policies send the statement to the replicas
    (and the shard) of the token. So the policies need no code for token ranges.

    :param token: a signed 64-bit number.
    """
    # Run MurmurHash3 (128 bits) backwards. Its last step adds two mixed halves, and their sum is
    # the token. Many inputs have this token. We choose the input whose mixed second half is 0: then
    # the mixed first half is the token.
    mixed = token & _MASK
    for inverse in _MIX_INVERSES:
        mixed ^= mixed >> 33
        mixed = mixed * inverse & _MASK
    mixed ^= mixed >> 33
    # Before mixing, MurmurHash3 adds the second half to the first half (`mixed` is this sum), and
    # then the sum to the second half. The result is 0, because only 0 is mixed to 0.
    second = -mixed & _MASK
    first = (mixed - second) & _MASK
    # Undo the XOR with the length, 16 bytes.
    first, second = first ^ 16, second ^ 16
    # The numbers are the constants that each round of MurmurHash3 adds.
    low = ((second - 0x38495AB5) * _FIVE_INVERSE - first) & _MASK
    low = _rotated(_rotated(low, 33) * _C1_INVERSE & _MASK, 31) * _C2_INVERSE & _MASK
    high = _rotated((first - 0x52DCE729) * _FIVE_INVERSE & _MASK, 37)
    high = _rotated(high * _C2_INVERSE & _MASK, 33) * _C1_INVERSE & _MASK
    return high.to_bytes(8, "little") + low.to_bytes(8, "little")


def _rotated(number: int, bits: int) -> int:
    return (number << bits | number >> (64 - bits)) & _MASK
