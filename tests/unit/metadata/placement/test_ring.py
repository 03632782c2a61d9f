"""Test the token ring and the replicas on the ring.

The results are compared with results that were worked out by hand, and with a simple
implementation. For `network_map`, the replication factor of a data centre is a pair: the number of
full replicas, and the number of all replicas, which includes the transient replicas.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Any

import pytest
from hypothesis import given, strategies as st

from cassandra import _impl
from cassandra.murmur3 import INT64_MAX, INT64_MIN
from tests.conftest import LANE, Implementation
from tests.unit.metadata.placement.rings import ring_of

IMPLEMENTATIONS = ["python", "c"] if LANE == "c" else ["python"]


def rows(replica_map: Any, size: int) -> list[tuple[int, ...]]:
    """Return the replicas of each of the `size` tokens of the ring, as numbers of hosts."""
    return [replica_map.row(position) for position in range(size)]


# -- the ring --------------------------------------------------------------------------------------


def test_a_key_belongs_to_the_first_token_that_is_not_less(implementation: Implementation) -> None:
    """A key belongs to the first token that is not less than the key's token."""
    ring = implementation.ring.TokenRing([["-5", "20"], ["10"]])
    assert ring.tokens() == [-5, 10, 20]
    assert ring.owners() == [0, 1, 0]
    assert len(ring) == 3
    positions = {-6: 0, -5: 0, -4: 1, 10: 1, 11: 2, 20: 2, 21: 0, INT64_MIN: 0, INT64_MAX: 0}
    assert {token: ring.position(token) for token in positions} == positions


@given(
    st.lists(
        st.integers(INT64_MIN, INT64_MAX)
        | st.integers(-40, 40)
        | st.integers(INT64_MAX - 40, INT64_MAX),
        min_size=1,
        max_size=60,
    ),
    st.lists(
        st.integers(INT64_MIN, INT64_MAX)
        | st.integers(-42, 42)
        | st.integers(INT64_MIN, INT64_MIN + 9),
        max_size=30,
    ),
)
def test_positions_are_found_however_tokens_are_spread(
    tokens: list[int], other_tokens: list[int]
) -> None:
    """`position` returns the same position as a binary search.

    This holds whether the tokens lie close together or far apart.
    """
    sorted_tokens = sorted(set(tokens))
    for lane in IMPLEMENTATIONS:
        ring = _impl.twin("ring", lane).TokenRing([map(str, tokens)])
        for token in (*other_tokens, *tokens, INT64_MIN, INT64_MAX):
            assert ring.position(token) == bisect_left(sorted_tokens, token) % len(sorted_tokens)


def test_an_empty_ring_has_no_replicas(implementation: Implementation) -> None:
    """On a ring without tokens, no key has replicas."""
    ring = implementation.ring.TokenRing([])
    assert ring.tokens() == []
    assert ring.position_of(b"key") == 0
    assert len(ring) == 0
    for replica_map in (
        implementation.ring.simple_map(ring, [], full=3, total=3),
        implementation.ring.network_map(ring, [], [], [], [(1, 1)]),
        implementation.ring.whole_map(ring, []),
    ):
        assert replica_map.of_key(b"key") == ()
        assert replica_map.sets() == 0
        router = implementation.plans.Router(replica_map, tiers=[], seed=1)
        # A router returns the replicas, and the number of replicas in the nearest tier (the tier
        # with the smallest distance).
        replicas, nearest_count = router.route(b"key", True)
        assert replicas == ()
        assert nearest_count == 0


@pytest.mark.parametrize("key", [3, "key", None, [1, 2]])
def test_a_key_must_be_bytes(implementation: Implementation, key: Any) -> None:
    """A key that is not bytes raises TypeError.

    This includes numbers, although ``bytes(3)`` would return three zero bytes.
    """
    ring = implementation.ring.TokenRing([["1"]])
    replica_map = implementation.ring.simple_map(ring, ["host"], full=1, total=1)
    for method in (ring.position_of, replica_map.position_of, replica_map.of_key):
        with pytest.raises(TypeError, match="bytes-like object is required"):
            method(key)


def test_the_first_of_two_hosts_with_the_same_token_owns_it(implementation: Implementation) -> None:
    """If two hosts have the same token, the first host owns the token."""
    ring = implementation.ring.TokenRing([["1"], ["1", "2"]])
    assert ring.tokens() == [1, 2]
    assert ring.owners() == [0, 1]


@pytest.mark.parametrize("bad", ["9223372036854775808", "-9223372036854775809"])
def test_tokens_have_64_bits(implementation: Implementation, bad: str) -> None:
    """A token that does not fit 64 bits, or is not a number, raises an error."""
    with pytest.raises(OverflowError, match="64 bits"):
        implementation.ring.TokenRing([[bad]])
    with pytest.raises(ValueError, match="invalid literal"):
        implementation.ring.TokenRing([["one"]])


def test_tokens_of_keys(implementation: Implementation) -> None:
    """`token_of` returns the token that the server computes for the key."""
    # The expected tokens were read with SELECT token(...) from Cassandra 5.0.
    assert implementation.ring.token_of(b"\x00\x00\x00\x01") == -4069959284402364209
    assert implementation.ring.token_of(b"") == 0
    assert implementation.ring.token_of(bytearray(b"\x00\x00\x00\x01")) == -4069959284402364209


# -- computed by hand ------------------------------------------------------------------------------


def test_simple_strategy_takes_the_next_hosts(implementation: Implementation) -> None:
    """With SimpleStrategy, the replicas are the owners of the next tokens on the ring."""
    simple_map = implementation.ring.simple_map
    ring = ring_of(implementation, [0, 1, 0, 2], host_count=3)
    one_replica = simple_map(ring, "abc", full=1, total=1)
    assert rows(one_replica, 4) == [(0,), (1,), (0,), (2,)]
    two_replicas = simple_map(ring, "abc", full=2, total=2)
    assert rows(two_replicas, 4) == [(0, 1), (1, 0), (0, 2), (2, 0)]
    all_replicas = simple_map(ring, "abc", full=9, total=9)
    assert rows(all_replicas, 4) == [(0, 1, 2), (1, 0, 2), (0, 2, 1), (2, 0, 1)]
    replica_map = implementation.ring.simple_map(ring, "abc", full=2, total=2)
    assert replica_map.at(3) == ("c", "a")
    assert replica_map.of_token(11) == ("a", "c")
    assert replica_map.hosts() == ("a", "b", "c")


def test_transient_replicas_are_left_out(implementation: Implementation) -> None:
    """Transient replicas are not among the replicas of a token.

    All hosts are in the data centre 0 and the rack 0.
    """
    network_map = implementation.ring.network_map
    ring = ring_of(implementation, [0, 1, 2], host_count=3)
    simple = implementation.ring.simple_map(ring, "abc", full=2, total=3)
    assert rows(simple, 3) == [(0, 1), (1, 2), (2, 0)]
    network = network_map(ring, "abc", [0] * 3, [0] * 3, [(2, 3)])
    assert rows(network, 3) == [(0, 1), (1, 2), (2, 0)]
    # Two full replicas and a transient replica are configured, but there are only two hosts, so
    # both are full replicas.
    ring_of_two = ring_of(implementation, [0, 1], host_count=2)
    network = network_map(ring_of_two, "ab", [0] * 2, [0] * 2, [(2, 3)])
    assert rows(network, 2) == [(0, 1), (1, 0)]


def test_network_topology_prefers_hosts_of_other_racks(implementation: Implementation) -> None:
    """NetworkTopologyStrategy takes hosts of other racks before another host of the same rack."""
    # Hosts a and b are in rack 0, and c is in rack 1. So c follows a, although b is nearer on the
    # ring. A third replica must be in rack 0 again.
    ring = ring_of(implementation, [0, 1, 2], host_count=3)
    datacenters, racks = [0, 0, 0], [0, 0, 1]
    for replica_count, expected in (
        (1, [(0,), (1,), (2,)]),
        (2, [(0, 2), (1, 2), (2, 0)]),
        (3, [(0, 1, 2), (1, 2, 0), (2, 0, 1)]),
    ):
        factors = [(replica_count, replica_count)]
        replica_map = implementation.ring.network_map(ring, "abc", datacenters, racks, factors)
        assert rows(replica_map, 3) == expected


def test_network_topology_counts_in_each_data_centre(implementation: Implementation) -> None:
    """NetworkTopologyStrategy selects the configured number of replicas in each data centre."""
    # Data centre 0 has the hosts a and b in racks 0 and 1. Data centre 1 has the hosts c and d,
    # both in rack 2. Data centre 2 has the host e, but a replication factor of 0.
    ring = ring_of(implementation, [0, 2, 4, 1, 3], host_count=5)
    datacenters, racks = [0, 0, 1, 1, 2], [0, 1, 2, 2, 3]
    replica_map = implementation.ring.network_map(
        ring, "abcde", datacenters, racks, [(2, 2), (1, 1), (0, 0)]
    )
    assert rows(replica_map, 5) == [(0, 2, 1), (2, 1, 0), (1, 3, 0), (1, 3, 0), (3, 0, 1)]
    # Two of the five tokens have the same replicas, so there must be four different sets.
    assert replica_map.sets() == 4


def test_a_data_centre_without_replication_factor_has_no_replicas(
    implementation: Implementation,
) -> None:
    """A data centre that the replication does not name has no replicas.

    Its hosts have -1 in place of the number of their data centre.
    """
    network_map = implementation.ring.network_map
    ring = ring_of(implementation, [0, 1], host_count=2)
    only_first_host = network_map(ring, "ab", [0, -1], [0, 1], [(3, 3)])
    assert rows(only_first_host, 2) == [(0,), (0,)]
    no_hosts = network_map(ring, "ab", [-1, -1], [0, 1], [])
    assert rows(no_hosts, 2) == [(), ()]


def test_everywhere_strategy_has_one_set_of_replicas(implementation: Implementation) -> None:
    """With EverywhereStrategy, all hosts are replicas of each token, in a single set."""
    replica_map = implementation.ring.whole_map(ring_of(implementation, [1, 0, 2], 3), "abc")
    assert rows(replica_map, 3) == [(0, 1, 2)] * 3
    assert replica_map.sets() == 1


def test_equal_sets_of_replicas_are_stored_once(implementation: Implementation) -> None:
    """A map stores equal sets of replicas only once.

    Its 2000 tokens have only five different sets of replicas, one for each host.
    """
    ring = ring_of(implementation, [number % 5 for number in range(2000)], host_count=5)
    assert implementation.ring.simple_map(ring, range(5), full=3, total=3).sets() == 5


# -- comparison with a naive reference -------------------------------------------------------------


def unique(hosts: list[int]) -> list[int]:
    """Return the hosts in their order, each only once."""
    return list(dict.fromkeys(hosts))


def naive_network(
    owners: list[int], datacenters: list[int], racks: list[int], factors: list[tuple[int, int]]
) -> list[tuple[int, ...]]:
    """Compute replicas as NetworkTopologyStrategy is documented, without any optimization."""
    replicas = []
    hosts_on_ring = set(owners)
    for position in range(len(owners)):
        hosts_in_ring_order = unique(owners[position:] + owners[:position])
        full_replicas: list[int] = []
        for datacenter, (full, total) in enumerate(factors):
            hosts_in_datacenter = [
                host for host in hosts_in_ring_order if datacenters[host] == datacenter
            ]
            rack_count = len(
                {racks[host] for host in hosts_on_ring if datacenters[host] == datacenter}
            )
            replica_count = min(total, len(hosts_in_datacenter))
            repeats_left = total - rack_count
            chosen: list[int] = []
            for host in hosts_in_datacenter:
                if len(chosen) == replica_count:
                    break
                if racks[host] in {racks[other] for other in chosen}:
                    if repeats_left <= 0:
                        continue
                    repeats_left -= 1
                chosen.append(host)
            # If hosts are missing, there are fewer transient replicas.
            missing = total - replica_count
            transient = max(total - full - missing, 0)
            full_replicas += chosen[: replica_count - transient]
        replicas.append(tuple(sorted(full_replicas, key=hosts_in_ring_order.index)))
    return replicas


@st.composite
def clusters(draw: Any) -> tuple[list[int], list[int], list[int], list[tuple[int, int]]]:
    """Return a random ring: the owners of its tokens, hosts, and replication factors.

    For each host, there are the numbers of its data centre and of its rack.
    """
    host_count = draw(st.integers(1, 9))
    owners = draw(st.lists(st.integers(0, host_count - 1), min_size=1, max_size=40))
    datacenters = draw(st.lists(st.integers(-1, 2), min_size=host_count, max_size=host_count))
    racks = [max(datacenter, 0) * 4 + draw(st.integers(0, 3)) for datacenter in datacenters]
    # For each data centre: the number of full replicas, and the number of all replicas.
    factors = []
    for _ in range(3):
        total = draw(st.integers(0, 6))
        factors.append((total - draw(st.integers(0, max(total - 1, 0))), total))
    return owners, datacenters, racks, factors


@given(clusters())
def test_network_topology_equals_the_naive_result(cluster: Any) -> None:
    """`network_map` computes the same replicas as the simple function `naive_network`."""
    owners, datacenters, racks, factors = cluster
    expected = naive_network(owners, datacenters, racks, factors)
    for lane in IMPLEMENTATIONS:
        implementation = Implementation(lane)
        ring = ring_of(implementation, owners, len(datacenters))
        replica_map = implementation.ring.network_map(
            ring, range(len(datacenters)), datacenters, racks, factors
        )
        assert rows(replica_map, len(owners)) == expected, implementation
        assert replica_map.sets() == len(set(expected))


@given(st.lists(st.integers(0, 8), min_size=1, max_size=40), st.integers(0, 10), st.integers(0, 10))
def test_simple_strategy_equals_the_naive_result(
    owners: list[int], full: int, transient: int
) -> None:
    """`simple_map` computes the same replicas as the simple computation."""
    expected = []
    for position in range(len(owners)):
        hosts_in_ring_order = unique(owners[position:] + owners[:position])
        expected.append(tuple(hosts_in_ring_order[:full]))
    for lane in IMPLEMENTATIONS:
        implementation = Implementation(lane)
        replica_map = implementation.ring.simple_map(
            ring_of(implementation, owners, 9), range(9), full=full, total=full + transient
        )
        assert rows(replica_map, len(owners)) == expected, implementation


@given(
    st.lists(
        st.lists(st.integers(INT64_MIN, INT64_MAX).map(str), max_size=6), min_size=1, max_size=8
    ),
    st.lists(st.binary(max_size=40), max_size=20),
    st.lists(st.sampled_from([0, 1, 2, 255]), min_size=8, max_size=8),
    st.integers(0, (1 << 64) - 1),
)
def test_both_implementations_agree(
    tokens_by_host: list[list[str]], keys: list[bytes], tiers: list[int], seed: int
) -> None:
    """The compiled ring and router return the same results as the pure Python versions.

    A tier is the distance of a host. A router returns the replicas in tier 0 first, and leaves out
    hosts in tier 255.
    """
    # Collect the results of all methods for each implementation.
    outcomes = []
    for lane in IMPLEMENTATIONS:
        ring_module, plans = _impl.twin("ring", lane), _impl.twin("plans", lane)
        ring = ring_module.TokenRing(tokens_by_host)
        hosts = [f"h{number}" for number in range(len(tokens_by_host))]
        replica_map = ring_module.simple_map(ring, hosts, full=4, total=4)
        router = plans.Router(replica_map, tiers[: len(hosts)], seed)
        outcomes.append(
            (
                ring.tokens(),
                ring.owners(),
                [ring.position_of(key) for key in keys],
                [replica_map.of_key(key) for key in keys],
                [replica_map.of_token(ring_module.token_of(key)) for key in keys],
                [router.route(key, shuffle) for key in keys for shuffle in (True, False)],
            )
        )
    assert all(outcome == outcomes[0] for outcome in outcomes)
