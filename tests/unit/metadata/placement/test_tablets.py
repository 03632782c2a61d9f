"""Test `TabletMap`, the map of the tablets that servers have reported.

The compiled and the pure Python version must add, cut, find and remove tablets in the same way.
"""

from __future__ import annotations

import random
import sys
import threading
import uuid
from types import SimpleNamespace
from typing import Any

import pytest

from cassandra.query import BoundStatement, SimpleStatement
from cassandra.testing.fake.placement import Replica, Tablet, routing_payload

MIN, MAX = -(1 << 63), (1 << 63) - 1
IDS = [uuid.UUID(int=number + 1) for number in range(5)]


def host(number: int) -> Any:
    """Return a fake host whose ID is `IDS[number]`."""
    return SimpleNamespace(host_id=IDS[number], name=f"host {number}")


HOSTS = [host(number) for number in range(5)]


def payload(first: int, last: int, *replicas: tuple[int, int], version: int = 0) -> bytes:
    """Return the payload by which a server reports a tablet.

    :param first: the token before the tablet's first token.
    :param last: the tablet's last token.
    :param replicas: for each replica, the number of its host and its shard.
    :param version: the tablet's version, which version 2 of the extension has; 0 for version 1 of
        the extension.
    """
    replica_objects = tuple(Replica(IDS[number], shard) for number, shard in replicas)
    tablet = Tablet(first, last, replica_objects, version)
    (value,) = routing_payload(tablet, 2 if version else 1).values()
    assert value is not None
    return value


def tablet_map(implementation: Any, **options: Any) -> Any:
    """Return an empty map that knows HOSTS."""
    tablets = implementation.tablets.TabletMap(**options)
    tablets.take_hosts(HOSTS)
    return tablets


def ranges_of(tablets: Any, keyspace: str = "ks", table: str = "t") -> list[tuple[int, int]]:
    """Look up each token from -20 to 119, and return the ranges of the tablets that were found."""
    ranges = []
    for token in range(-20, 120):
        tablet = tablets.find(keyspace, table, token)
        if tablet is not None and tablet[:2] not in ranges:
            ranges.append(tablet[:2])
    return ranges


def test_a_reported_tablet_is_found(implementation: Any) -> None:
    """After a tablet is reported, `find` returns its range, replicas and version."""
    tablets = tablet_map(implementation)
    version = 0xFEDC_BA98_7654_3210
    assert tablets.learn("ks", "t", payload(0, 10, (1, 3), (2, 0), version=version))
    assert tablets.find("ks", "t", 5) == (
        0, 10, ((IDS[1], 3), (IDS[2], 0)), version,
    )  # fmt: skip
    # The first token of a range does not belong to the tablet, but the last token does.
    assert tablets.find("ks", "t", 0) is None
    assert tablets.find("ks", "t", 10) is not None
    assert tablets.find("ks", "t", 11) is None
    # Other tables and keyspaces must have no tablets.
    assert tablets.find("ks", "u", 5) is None
    assert tablets.find("other", "t", 5) is None
    assert tablets.count == 1
    assert tablets.tables() == [("ks", "t", 1)]
    assert tablets.shard_on(HOSTS[1], "ks", "t", 5) == 3
    assert tablets.shard_on(HOSTS[0], "ks", "t", 5) is None
    assert tablets.shard_on(HOSTS[1], "ks", "t", 50) is None
    assert tablets.version_of("ks", "t", 5) == version
    assert tablets.version_of("ks", "t", 50) is None
    assert [tablets.hosts[number] for number in tablets.numbers("ks", "t", 5)] == HOSTS[1:3]
    assert tablets.numbers("ks", "t", 50) is None
    assert tablets.find(None, "t", 5) is None
    assert tablets.find("ks", None, 5) is None


def test_several_threads_may_report_tablets(implementation: Any) -> None:
    """If several threads report tablets at once, each replica is the host that was reported.

    The loops of a cluster (the setting `loops`) report tablets at the same time.
    """
    interval_before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(60):
            check_reports_of_threads(implementation.tablets.TabletMap())
    finally:
        sys.setswitchinterval(interval_before)


def check_reports_of_threads(tablets: Any) -> None:
    """Report tablets of many hosts in four threads, each thread for its own table."""
    host_ids = [uuid.uuid4() for _ in range(40)]

    def report(table_number: int) -> None:
        """Report ten tablets of one table, as a server does in the payloads of its responses."""
        for index in range(10):
            replica = Replica(host_ids[10 * table_number + index], 0)
            tablet = Tablet(index, index + 1, (replica,), 0)
            (value,) = routing_payload(tablet, 1).values()
            tablets.learn("ks", f"t{table_number}", value)

    threads = [threading.Thread(target=report, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # Each tablet must have the replica that was reported for it.
    for number, host_id in enumerate(host_ids):
        tablet = tablets.find("ks", f"t{number // 10}", number % 10 + 1)
        assert tablet is not None
        assert tablet[2] == ((host_id, 0),)
    assert tablets.count == len(tablets.hosts) == 40


def test_the_whole_ring(implementation: Any) -> None:
    """A tablet may cover all tokens of the ring."""
    tablets = tablet_map(implementation)
    tablets.learn("ks", "t", payload(MIN, MAX, (0, 0)))
    assert all(tablets.find("ks", "t", token) is not None for token in (MIN + 1, 0, MAX))
    # No key has the smallest token, so it need not belong to a tablet.
    assert tablets.find("ks", "t", MIN) is None


@pytest.mark.parametrize(
    ("tablet_range", "expected"),
    [
        ((10, 20), [(0, 10), (10, 20), (20, 30)]),
        ((0, 30), [(0, 30)]),
        ((5, 15), [(5, 15), (20, 30)]),
        ((9, 11), [(9, 11), (20, 30)]),
        ((10, 11), [(0, 10), (10, 11), (20, 30)]),
        ((-5, 0), [(-5, 0), (0, 10), (10, 20), (20, 30)]),
        ((30, 40), [(0, 10), (10, 20), (20, 30), (30, 40)]),
        ((29, 40), [(0, 10), (10, 20), (29, 40)]),
        ((-5, 40), [(-5, 40)]),
    ],
)
def test_a_new_tablet_replaces_the_tablets_that_it_overlaps(
    implementation: Any, tablet_range: tuple[int, int], expected: list[tuple[int, int]]
) -> None:
    """A new tablet removes all tablets with which it overlaps."""
    tablets = tablet_map(implementation)
    for first in (20, 0, 10):
        tablets.learn("ks", "t", payload(first, first + 10, (0, 0)))
    tablets.learn("ks", "t", payload(*tablet_range, (1, 1)))
    assert ranges_of(tablets) == expected
    assert tablets.count == len(expected)


def test_random_tablets_agree_with_a_plain_model(implementation: Any) -> None:
    """After 3000 random reports, the map has the same tablets as a list in Python."""
    chooser = random.Random(7)
    tablets = tablet_map(implementation)
    model: list[tuple[int, int, int]] = []
    for _ in range(3000):
        first = chooser.randrange(20_000)
        # A few of the tablets are large, so each of them replaces many other tablets.
        sizes = (1, 5, 30, 2000) if chooser.random() < 0.02 else (1, 5, 9)
        last = first + chooser.choice(sizes)
        shard = chooser.randrange(100)
        replicas = [(chooser.randrange(5), shard)] * chooser.randrange(1, 4)
        tablets.learn("ks", "t", payload(first, last, *replicas))
        # A new tablet replaces all tablets with which it overlaps.
        model = [tablet for tablet in model if tablet[1] <= first or last <= tablet[0]]
        model.append((first, last, shard))
    assert tablets.count == len(model)
    for first, last, shard in model:
        assert tablets.find("ks", "t", last)[:2] == (first, last)
        assert tablets.find("ks", "t", first + 1)[2][0][1] == shard
    covered = {token for first, last, _ in model for token in range(first + 1, last + 1)}
    for token in chooser.sample(range(23_000), 2000):
        assert (tablets.find("ks", "t", token) is not None) == (token in covered)


VALID_PAYLOAD = payload(0, 10, (1, 3), (2, 0), version=5)


@pytest.mark.parametrize(
    "bad",
    [
        b"",
        VALID_PAYLOAD[:-1],
        VALID_PAYLOAD + b"\0",
        VALID_PAYLOAD[:28],
        payload(10, 10, (0, 0)),
        payload(11, 10, (0, 0)),
        VALID_PAYLOAD.replace(b"\0\0\0\x10", b"\0\0\0\x0f"),
        VALID_PAYLOAD.replace(b"\0\0\0\x02\0\0\0\x1c", b"\0\0\0\x03\0\0\0\x1c"),
        VALID_PAYLOAD.replace(b"\0\0\0\x02\0\0\0\x1c", b"\xff\xff\xff\xff\0\0\0\x1c"),
        VALID_PAYLOAD.replace(b"\0\0\0\x04\0\0\0\x03", b"\0\0\0\x04\xff\xff\xff\xff"),
    ],
)
def test_malformed_payloads_change_nothing(implementation: Any, bad: bytes) -> None:
    """A malformed payload is refused, and leaves the map unchanged."""
    tablets = tablet_map(implementation)
    assert not tablets.learn("ks", "t", bad)
    assert tablets.count == 0
    assert not tablets.has_keyspace("ks")


def test_both_implementations_read_damaged_payloads_alike(implementation: Any) -> None:
    """The compiled and the pure Python version accept the same damaged payloads."""
    from cassandra.metadata.placement import tablets as reference

    chooser = random.Random(3)
    for _ in range(3000):
        data = bytearray(VALID_PAYLOAD)
        # Change some bytes to values that are likely in lengths and types.
        for _ in range(chooser.randrange(1, 4)):
            data[chooser.randrange(len(data))] = chooser.choice((0, 1, 4, 8, 16, 28, 127, 255))
        # Cut off up to 8 bytes at the end of the payload, or nothing.
        del data[chooser.randrange(len(data) - 8, len(data) + 8) :]
        tablets, reference_tablets = tablet_map(implementation), reference.TabletMap()
        is_accepted = tablets.learn("ks", "t", bytes(data))
        assert is_accepted == reference_tablets.learn("ks", "t", bytes(data))
        if is_accepted:
            assert tablets.find("ks", "t", 10) == reference_tablets.find("ks", "t", 10)


def test_a_tablet_without_keyspace_or_table_is_ignored(implementation: Any) -> None:
    """A report without keyspace, table or payload is ignored."""
    tablets = tablet_map(implementation)
    assert not tablets.learn(None, "t", VALID_PAYLOAD)
    assert not tablets.learn("ks", None, VALID_PAYLOAD)
    assert not tablets.learn("ks", "t", None)


def test_a_table_or_a_keyspace_is_dropped(implementation: Any) -> None:
    """`drop` forgets the tablets of a table or keyspace, and `clear` forgets all tablets."""
    tablets = tablet_map(implementation)
    for keyspace, table in (("a", "t"), ("a", "u"), ("b", "t")):
        tablets.learn(keyspace, table, VALID_PAYLOAD)
    tablets.drop("a", "t")
    assert tablets.tables() == [("a", "u", 1), ("b", "t", 1)]
    tablets.drop("a")
    tablets.drop("unknown")
    assert tablets.tables() == [("b", "t", 1)]
    assert not tablets.has_keyspace("a")
    tablets.clear()
    assert tablets.count == 0
    assert tablets.tables() == []


def test_tablets_refer_to_new_host_objects_and_drop_removed_hosts(implementation: Any) -> None:
    """`take_hosts` replaces host objects, and forgets tablets with a replica on a removed host."""
    tablets = tablet_map(implementation)
    for first in range(1000):
        tablets.learn("ks", "t", payload(first, first + 1, (first % 2, 0), (2, 0)))
    tablets.learn("ks", "only", payload(0, 1, (1, 0)))
    new_host = SimpleNamespace(host_id=IDS[2], name="the same node at another address")
    # Host 1 is gone, so the tablets with a replica on this host (half of the tablets) are
    # forgotten.
    tablets.take_hosts([HOSTS[0], new_host])
    assert tablets.tables() == [("ks", "t", 500)]
    assert tablets.count == 500
    assert tablets.shard_on(new_host, "ks", "t", 1) == 0
    assert tablets.shard_on(HOSTS[2], "ks", "t", 1) is None
    # If the hosts are the same, the tuple of hosts stays the same object. So everything that is
    # cached for the tuple stays valid.
    hosts = tablets.hosts
    tablets.take_hosts([HOSTS[0], new_host])
    assert tablets.hosts is hosts


def test_replicas_contain_only_known_hosts(implementation: Any) -> None:
    """`replicas` leaves out replicas on hosts that the map does not know."""
    tablets = implementation.tablets.TabletMap()
    tablets.take_hosts(HOSTS[:2])
    tablets.learn("ks", "t", payload(MIN, MAX, (1, 0), (4, 1), (0, 2)))
    assert tablets.replicas("ks", "t", b"key") == (HOSTS[1], HOSTS[0])
    assert tablets.replicas("ks", "u", b"key") is None


def test_a_full_map_drops_tablets(implementation: Any) -> None:
    """If the map exceeds its limit, it drops all tablets of the table that was added first."""
    tablets = tablet_map(implementation, limit=10)
    tablets.learn("ks", "old", payload(0, 1, (0, 0)))
    for first in range(10):
        tablets.learn("ks", "t", payload(first, first + 1, (0, 0)))
    # The limit was exceeded, so the table that was added first must be dropped.
    assert tablets.tables() == [("ks", "t", 10)]
    tablets.learn("ks", "t", payload(10, 11, (0, 0)))
    # If a single table exceeds the limit, all its tablets are dropped before the new tablet is
    # added.
    assert tablets.count == 1
    with pytest.raises(ValueError, match="0"):
        implementation.tablets.TabletMap(limit=0)


def test_keyspaces_with_tablets_and_leaders(implementation: Any) -> None:
    """The map knows which keyspaces have tablets, and which of them have leaders.

    The map learns this from the schema, or from a reported tablet.
    """
    tablets = tablet_map(implementation)
    tablets.use_keyspaces(["a", "b"], ["b"])
    assert tablets.has_keyspace("a")
    assert tablets.has_keyspace("b")
    assert tablets.has_leaders("b")
    assert not tablets.has_leaders("a")
    for name in ("c", None):
        assert not tablets.has_keyspace(name)
        assert not tablets.has_leaders(name)
    tablets.learn("c", "t", VALID_PAYLOAD)
    assert tablets.has_keyspace("c")


def test_tokens_in_known_tablets_are_hits(implementation: Any) -> None:
    """`tally` counts a token in a known tablet as a hit, and any other token as a miss."""
    tablets = tablet_map(implementation)
    tablets.tally("ks", "t", 5)
    # In a keyspace without tablets, nothing may be counted.
    assert (tablets.hits, tablets.misses) == (0, 0)
    tablets.learn("ks", "t", VALID_PAYLOAD)
    for token in (5, 6, 11):
        tablets.tally("ks", "t", token)
    assert (tablets.hits, tablets.misses) == (2, 1)


def test_version_blocks_have_number_and_value(implementation: Any) -> None:
    """A version block is a byte with the block's number and its value.

    The upper 4 bits are the number of the block, and the lower 4 bits the value.
    """
    # This is the example of the specification: block 0xA has the value 3.
    assert implementation.tablets.version_block(0x3 << 40, 0xA) == 0xA3
    # In this version, the value of each block is the block's number.
    version = 0xFEDC_BA98_7654_3210
    for number in range(16):
        expected = number << 4 | number
        assert implementation.tablets.version_block(version, number) == expected
    assert implementation.tablets.version_block(None, 7) == 0x70


def test_routing_payloads_are_split_from_the_body(implementation: Any) -> None:
    """`split_payload` splits off a tablet that precedes a result's body in its custom payload.

    If the custom payload has other entries, the function returns None.
    """

    def body(name: bytes, value: bytes) -> bytes:
        count_and_name = b"\0\1" + len(name).to_bytes(2, "big") + name
        return count_and_name + len(value).to_bytes(4, "big") + value + b"rest"

    split = implementation.tablets.split_payload
    assert split(body(b"tablets-routing-v1", b"abc")) == (b"abc", b"rest")
    assert split(body(b"tablets-routing-v2", b"")) == (b"", b"rest")
    assert split(body(b"tablets-routing-v3", b"abc")) is None
    assert split(body(b"tablets-routing", b"abc")) is None
    # If the payload has two entries, the payload stays in the body.
    assert split(b"\0\2" + body(b"tablets-routing-v1", b"abc")[2:]) is None
    assert split(b"") is None
    message = body(b"tablets-routing-v1", b"abc")
    # The entry has 29 bytes. If a byte is missing, `split_payload` returns None.
    assert all(split(message[:end]) is None for end in range(29))


def test_a_statement_s_token_is_that_of_its_routing_key(implementation: Any) -> None:
    """A statement's token is the token of its routing key; without a key, it is None."""
    from cassandra.murmur3 import murmur3

    token_of = implementation.tablets.token_of_statement
    assert token_of(SimpleStatement("SELECT 1")) is None
    assert token_of(SimpleStatement("SELECT 1", routing_key=b"key")) == murmur3(b"key")
    assert token_of(None) is None
    prepared: Any = SimpleNamespace(routing_key_indexes=None)
    statement = BoundStatement.__new__(BoundStatement)
    statement._routing_key = None
    statement.prepared_statement, statement.block = prepared, None
    assert token_of(statement) is None


@pytest.mark.slow
def test_a_tenth_of_a_million_tablets_takes_less_than_10_megabytes() -> None:
    """100,000 tablets need less than 10 MB of memory in the compiled version."""
    import resource

    from cassandra import _impl

    if _impl.implementation != "c":
        pytest.skip("the Python twin holds objects")
    tablets = _impl.tablets.TabletMap()
    # `ru_maxrss` is in KiB.
    memory_before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    count = 100_000
    step = (1 << 64) // count
    for index in range(count):
        first = MIN + index * step
        tablets.learn("ks", "t", payload(first, first + step, (0, 3), (1, 4), (2, 5)))
    grown_bytes = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory_before) * 1024
    assert tablets.count == count
    # The limit for a million tablets is 100 MB, so a tenth of them may need 10 MB.
    # `benchmarks.shards` measures a million tablets.
    assert grown_bytes < 10_000_000
