"""Test `ring_ranges`, `split_ranges` and `weigh`: a scan's token ranges cover each token once."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest

from cassandra.bulk.ranges import (
    FIRST,
    LAST,
    Estimate,
    TokenRange,
    key_of_token,
    ring_ranges,
    rounded_to_tablets,
    split_ranges,
    weigh,
)
from cassandra.metadata.placement.tokens import Murmur3Token


class Host:
    """A fake host, of which the code under test only reads the endpoint."""

    def __init__(self, number: int) -> None:
        self.endpoint = f"10.0.0.{number}:9042"


class Ring:
    """A fake token map with SimpleStrategy and two replicas for each token."""

    token_class: type[Any] = Murmur3Token

    def __init__(self, owners: dict[int, Host]) -> None:
        self.owners = sorted(owners.items())
        self.ring = [Murmur3Token(token) for token, _ in self.owners]

    def get_replicas(self, keyspace: str, token: Any) -> list[Host]:
        """Return the hosts of the next two tokens of the ring, starting at `token`."""
        index = 0  # After the last token of the ring, the first token follows.
        for position, (owned_token, _) in enumerate(self.owners):
            if owned_token >= token.value:
                index = position
                break
        ring_twice = self.owners * 2
        first_host, second_host = (host for _, host in ring_twice[index : index + 2])
        # Both tokens may belong to the same host, which then is the only replica.
        return [first_host] if first_host is second_host else [first_host, second_host]


class Tablets:
    """The fake registry of ScyllaDB's tablets: either all keyspaces use tablets, or none."""

    def __init__(self, used: bool) -> None:
        self.used = used

    def has_keyspace(self, keyspace: str) -> bool:
        return self.used


class Metadata:
    """Fake metadata of a cluster.

    :param tablets: whether the keyspaces use tablets.
    """

    def __init__(self, token_map: Ring | None, tablets: bool = False) -> None:
        self.token_map = token_map
        self.tablets = Tablets(tablets)


def check_cover(ranges: list[TokenRange]) -> None:
    """Check that the ranges contain each token exactly once.

    No range contains the token FIRST, because no key has this token.
    """
    assert ranges[0].start == FIRST
    assert ranges[-1].end == LAST
    assert all(token_range.start < token_range.end for token_range in ranges)
    assert all(current.end == following.start for current, following in itertools.pairwise(ranges))


def random_ring(seed: int) -> Ring:
    """Return a ring of up to six hosts and 50 tokens, often with the smallest and largest token."""
    rng = random.Random(seed)
    hosts = [Host(i) for i in range(rng.randint(1, 6))]
    tokens = [rng.choice([FIRST, LAST, 0, rng.randint(FIRST, LAST)]) for _ in range(50)]
    return Ring({token: rng.choice(hosts) for token in tokens})


@pytest.mark.parametrize("seed", range(60))
def test_ranges_and_their_splits_cover_any_ring_once(seed: int) -> None:
    """All tokens of a range have the range's replicas; splits contain each token exactly once."""
    ring = random_ring(seed)
    rng = random.Random(seed)
    ranges = ring_ranges(Metadata(ring), "ks")  # type: ignore[arg-type]
    check_cover(ranges)
    for token_range in ranges:
        first_token, last_token = token_range.start + 1, token_range.end
        for token in (first_token, last_token, rng.randint(first_token, last_token)):
            hosts = {host.endpoint for host in ring.get_replicas("ks", Murmur3Token(token))}
            assert set(token_range.replicas) == hosts
    for part_count in (1, 2, 7, 64, 1000):
        weights = [rng.choice([0.0, 1.0, rng.random() * 1000]) for _ in ranges]
        split = split_ranges(ranges, weights, part_count)
        check_cover(split)
        # A piece ends where a part has its share of the weight, or where a range of the ring
        # ends. This limits the number of pieces.
        assert len(split) <= part_count * 2 + len(ranges)
        # A piece may only name replicas that every range it overlaps has.
        for piece in split:
            for token_range in ranges:
                if max(piece.start, token_range.start) < min(piece.end, token_range.end):
                    assert set(piece.replicas) <= set(token_range.replicas)


def test_without_a_ring_and_with_tablets_there_is_one_range() -> None:
    """Without a token ring, and for tablets, the whole ring is one range without replicas."""
    for metadata in (Metadata(token_map=None), Metadata(random_ring(1), tablets=True)):
        assert ring_ranges(metadata, "ks") == [(FIRST, LAST, ())]  # type: ignore[arg-type]


@pytest.mark.parametrize("splits", [1, 3, 8, 10, 100])
@pytest.mark.parametrize("tablets", [1, 2, 8, 64])
def test_no_range_crosses_the_border_of_a_tablet(splits: int, tablets: int) -> None:
    """If a keyspace uses tablets, a scan range is part of one tablet, or has only whole tablets.

    A keyspace has 2**n tablets of equal width. So if the ring is divided into 2**m equal ranges,
    no range has only a part of one tablet and a part of the next tablet. `rounded_to_tablets`
    rounds the number of ranges up to a power of two.
    """
    metadata: Any = Metadata(token_map=None, tablets=True)
    part_count = rounded_to_tablets(metadata, "ks", splits)
    # The number of splits is rounded up to a power of two.
    assert splits <= part_count < 2 * splits
    ranges = split_ranges(ring_ranges(metadata, "ks"), [1.0], part_count)
    check_cover(ranges)
    assert len(ranges) == part_count
    # These are the last tokens of the tablets, as ScyllaDB computes them.
    tablet_ends = {-(2**63) + (number + 1) * 2**64 // tablets - 1 for number in range(tablets)}
    for token_range in ranges:
        borders_inside = [end for end in tablet_ends if token_range.start < end < token_range.end]
        # If there are at least as many ranges as tablets, no tablet ends inside a range. Otherwise
        # each range ends where a tablet ends, so each range has several whole tablets.
        if part_count >= tablets:
            assert borders_inside == []
        else:
            assert token_range.end in tablet_ends
    # Without tablets, the number of splits is not changed.
    without_tablets: Any = Metadata(token_map=None, tablets=False)
    assert rounded_to_tablets(without_tablets, "ks", splits) == splits


def test_a_ring_of_another_partitioner_is_one_range() -> None:
    """The ring of another partitioner is one range.

    Only the tokens of Murmur3Partitioner are integers that can be split.
    """
    ring = random_ring(1)
    ring.token_class = object
    assert ring_ranges(Metadata(ring), "ks") == [(FIRST, LAST, ())]  # type: ignore[arg-type]


def test_heavy_ranges_are_split_and_light_ones_merged() -> None:
    """`split_ranges` divides heavy ranges, and merges light ranges if fewer parts are requested.

    Its arguments are the ranges, their weights, and the number of parts of equal weight.
    """
    ranges = [TokenRange(FIRST, 0, ("a",)), TokenRange(0, 100, ("a", "b")), TokenRange(100, LAST)]
    # The first range has 98 % of the weight, so it becomes ten parts. The other ranges are not
    # divided.
    assert len(split_ranges(ranges, [98.0, 1.0, 1.0], 10)) == 12
    # The merged range has no replica, because no host has all tokens of the range.
    assert split_ranges(ranges, [1.0, 1.0, 1.0], 1) == [(FIRST, LAST, ())]


def test_each_range_has_a_weight() -> None:
    """`split_ranges` raises ValueError if there are fewer weights than ranges."""
    with pytest.raises(ValueError, match="shorter than"):
        split_ranges([TokenRange(FIRST, 0), TokenRange(0, LAST)], [1.0], parts=2)


def test_weights_come_from_estimates_including_one_that_wraps_around() -> None:
    """The weight of a range is its share of the bytes of the size estimates that overlap it.

    Without estimates, the weight of a range is its width. An estimate consists of a start token, an
    end token and a number of bytes, and may continue at the beginning of the ring.
    """
    ranges = [TokenRange(FIRST, 0), TokenRange(0, LAST)]
    assert weigh(ranges, estimates=[]) == [float(token_range.width) for token_range in ranges]
    # Half of each estimate's tokens are in each of the two ranges. The first estimate continues at
    # the beginning of the ring.
    quarter = 1 << 62
    estimates = [Estimate(quarter, -quarter, 800), Estimate(-quarter, quarter, 100)]
    assert weigh(ranges, estimates) == pytest.approx([450, 450])


def test_equal_estimates_of_three_replicas_count_once() -> None:
    """Equal estimates come from the replicas of the same data, so they count once."""
    estimates = [Estimate(FIRST, LAST, 90)] * 3
    assert weigh([TokenRange(FIRST, LAST)], estimates) == [90]


@pytest.mark.parametrize("token", [FIRST + 1, -1, 0, 1, LAST, 1 << 62, -(1 << 62)])
def test_key_of_token_returns_a_key_with_this_token(token: int) -> None:
    """`key_of_token` returns a partition key that Murmur3 hashes to the token."""
    assert Murmur3Token.hash_fn(key_of_token(token)) == token


def test_keys_of_random_tokens() -> None:
    """`key_of_token` returns a partition key whose hash is the given token.

    The routing key of a range is such a key for the last token of the range.
    """
    rng = random.Random(5)
    for token in (rng.randint(FIRST + 1, LAST) for _ in range(500)):
        assert Murmur3Token.hash_fn(key_of_token(token)) == token
        assert TokenRange(FIRST, token).routing_key == key_of_token(token)


def test_weights_equal_a_simple_sum_over_overlaps() -> None:
    """For random ranges and estimates, `weigh` returns the result of a simple, slow calculation."""
    generator = random.Random(5)
    for _ in range(200):
        borders = sorted({FIRST, LAST, *(generator.randrange(-100, 100) for _ in range(9))})
        ranges = [TokenRange(start, end) for start, end in itertools.pairwise(borders)]
        estimates = []
        for _ in range(generator.randrange(1, 12)):
            start, end = sorted(generator.sample(range(-120, 120), 2))
            estimates.append(Estimate(start, end, generator.randrange(1, 1000)))
        # If there are several estimates for the same tokens, only the largest estimate counts.
        sizes: dict[tuple[int, int], int] = {}
        for estimate in estimates:
            bounds = (estimate.start, estimate.end)
            sizes[bounds] = max(sizes.get(bounds, 0), estimate.bytes)
        expected = []
        for token_range in ranges:
            weight = 0.0
            for (start, end), size in sizes.items():
                overlap = min(end, token_range.end) - max(start, token_range.start)
                weight += size * max(overlap, 0) / (end - start)
            expected.append(weight)
        assert weigh(ranges, estimates) == pytest.approx(expected)


def test_many_ranges_are_weighed_and_split_in_linear_time() -> None:
    """20,000 ranges and estimates are weighed and split in linear time.

    An algorithm that compares all pairs would take minutes.
    """
    count = 20_000
    step = (LAST - FIRST) // count
    borders = [FIRST + number * step for number in range(count)] + [LAST]
    ranges = [TokenRange(start, end) for start, end in itertools.pairwise(borders)]
    weights = weigh(
        ranges, [Estimate(token_range.start, token_range.end, 7) for token_range in ranges]
    )
    assert weights == [7.0] * count
    assert len(split_ranges(ranges, weights, count)) == count
