"""Test `request_waves`, which groups a load's rows into requests, and the requests into waves.

A request with several rows is a batch. The requests of a wave may be sent at the same time, because
no key occurs in two of them.
"""

from __future__ import annotations

import random
import struct
from typing import Any

import pytest

from cassandra.bulk import groups
from cassandra.bulk.groups import Keys
from tests.conftest import Implementation

KEYS = Keys(partition=(0,), clustering=(1,))


def block_of(
    implementation: Implementation, rows: list[tuple[int, ...]], last_value_size: int = 4
) -> Any:
    """Return a block of rows whose values are integers.

    :param last_value_size: the size in bytes of each row's last value.
    """
    packed_rows = []
    for row in rows:
        values = [struct.pack(">ii", 4, number) for number in row]
        if last_value_size != 4:
            values[-1] = struct.pack(">i", last_value_size) + bytes(last_value_size)
        packed_rows.append(b"".join(values))
    return implementation.bind.RowsBlock(len(rows[0]) if rows else 3, packed_rows)


class Owners:
    """A token map in which a function of the key returns the only replica.

    It records the keys that were looked up.
    """

    def __init__(self, owner_of: Any) -> None:
        self.keys: list[bytes] = []
        self._owner_of = owner_of

    def of_key(self, key: bytes) -> tuple[Any, ...]:
        self.keys.append(key)
        owner = self._owner_of(key)
        return () if owner is None else (owner,)


FIRST_HOST = object()
SECOND_HOST = object()


def rows_of(
    implementation: Implementation,
    rows: Any,
    keys: Keys = KEYS,
    by: str | None = "replica",
    owners: Any = None,
) -> list[list[list[int]]]:
    """Group a block of rows, and return the row numbers of each group of each wave.

    :param by: what the rows of a group have in common: "replica" or "partition". With None, each
        row is a group.
    :param owners: the token map that knows the replicas, or None.
    """
    waves = implementation.grouping.request_waves(rows, keys, by, owners)
    return [[group.rows for group in wave] for wave in waves]


def test_a_key_occurs_once_in_a_wave(implementation: Implementation) -> None:
    """Rows with the same key go into separate waves, so the writes of a key keep their order."""
    rows = block_of(implementation, [(1, 1, 0), (1, 2, 1), (1, 1, 2), (2, 1, 3), (1, 1, 4)])
    # Each expected list is a list of waves; a wave is a list of groups, and a group a list of row
    # numbers.
    assert rows_of(implementation, rows) == [[[0, 1], [3]], [[2]], [[4]]]
    assert rows_of(implementation, rows, by=None) == [[[0], [1], [3]], [[2]], [[4]]]
    # If the clustering key is unknown, any two rows of a partition may have the same key. So such
    # rows go into separate waves.
    assert rows_of(implementation, rows, Keys(partition=(0,), clustering=())) == [
        [[0], [3]],
        [[1]],
        [[2]],
        [[4]],
    ]
    # The same happens if a clustering column is known and the partition key is not: here the value
    # of the clustering column decides.
    assert rows_of(implementation, rows, Keys(partition=(), clustering=(1,))) == [
        [[0], [1]],
        [[2]],
        [[3]],
        [[4]],
    ]
    no_rows = block_of(implementation, rows=[])
    assert rows_of(implementation, no_rows) == []
    assert rows_of(implementation, no_rows, Keys(partition=(), clustering=())) == []


def test_rows_of_a_partition_or_replica_are_one_group(implementation: Implementation) -> None:
    """The rows of a partition, or of all partitions of a replica, are one group.

    The parameter `by` of `request_waves` chooses between "partition" and "replica". If the replica
    that owns a key is unknown, rows are grouped by partition. If the keys are unknown, each row is
    a group.
    """
    rows = block_of(implementation, [(1, 1, 0), (2, 1, 0), (1, 2, 0), (3, 1, 0)])
    (groups_of_wave,) = implementation.grouping.request_waves(rows, KEYS, "partition", owners=None)
    assert [group.rows for group in groups_of_wave] == [[0, 2], [1], [3]]
    # Each row has three values of 4 bytes, each after a length of 4 bytes.
    assert [group.size for group in groups_of_wave] == [48, 24, 24]
    assert [group.tries for group in groups_of_wave] == [0, 0, 0]
    by_last_bit = Owners(lambda key: SECOND_HOST if key[-1] % 2 else FIRST_HOST)
    (groups_of_wave,) = implementation.grouping.request_waves(rows, KEYS, "replica", by_last_bit)
    assert [group.rows for group in groups_of_wave] == [[0, 2, 3], [1]]
    assert [group.size for group in groups_of_wave] == [72, 24]
    # With `by=None`, or if the keys are unknown, each row is a group.
    for keys, by in (
        (KEYS, None),
        (Keys(partition=(), clustering=()), "replica"),
    ):
        assert rows_of(implementation, rows, keys, by, by_last_bit) == [[[0], [1], [2], [3]]]
    # If the owner of a key is unknown, the rows of each partition are a group.
    for owners in (None, Owners(lambda key: None)):
        assert rows_of(implementation, rows, owners=owners) == [[[0, 2], [1], [3]]]


def test_groups_stay_below_the_servers_warnings(implementation: Implementation) -> None:
    """A group has at most 10 partitions and MOST_BYTES bytes; a larger row is a group by itself."""
    one_owner = Owners(lambda key: FIRST_HOST)
    small_rows = block_of(implementation, [(n, 0, 0) for n in range(25)])
    (wave,) = rows_of(implementation, small_rows, owners=one_owner)
    # Servers warn about batches with more than 10 partitions.
    assert [len(rows) for rows in wave] == [10, 10, 5]
    # Each of the two partitions has six rows of 1020 bytes, which is more than MOST_BYTES (4000),
    # so each partition is split.
    large_rows = block_of(implementation, [(n % 2, n, 0) for n in range(12)], last_value_size=1000)
    (wave,) = implementation.grouping.request_waves(large_rows, KEYS, "replica", one_owner)
    assert all(group.size <= groups.MOST_BYTES for group in wave)
    assert sorted(row for group in wave for row in group.rows) == list(range(12))
    # Each of these rows is larger than MOST_BYTES.
    huge_rows = block_of(implementation, [(0, n, 0) for n in range(2)], last_value_size=9000)
    assert rows_of(implementation, huge_rows, by="partition") == [[[0], [1]]]


def test_a_repeated_key_has_a_wave_for_each_row(implementation: Implementation) -> None:
    """20,000 rows of one key give 20,000 waves in acceptable time.

    An algorithm of quadratic time would take minutes.
    """
    count = 20_000
    rows = block_of(implementation, [(1, 1, n) for n in range(count)])
    waves = rows_of(implementation, rows, by="partition")
    assert waves == [[[row]] for row in range(count)]


def test_a_large_partition_is_split_in_the_order_of_its_rows(
    implementation: Implementation,
) -> None:
    """A large partition is split into groups of consecutive rows.

    A row has three values of 4, 4 and 1000 bytes, each after a length of 4 bytes: 1020 bytes. Three
    rows (3060 bytes) fit into a group of at most MOST_BYTES (4000), four rows (4080 bytes) do not.
    """
    rows = block_of(implementation, [(0, n, 0) for n in range(10)], last_value_size=1000)
    assert rows_of(implementation, rows, by="partition") == [[[0, 1, 2], [3, 4, 5], [6, 7, 8], [9]]]


@pytest.mark.parametrize("host_count", [3, 60])
def test_both_implementations_make_the_same_requests(
    compiled: Implementation, host_count: int
) -> None:
    """Both implementations make the same requests of random rows, with and without a token ring."""
    python = Implementation("python")
    # There are 60 tokens, spread evenly over the ring and given to the hosts in turn.
    tokens_of_hosts = [
        [str((step - 30) * 1000 * 2**48) for step in range(host, 60, host_count)]
        for host in range(host_count)
    ]
    hosts = [f"host {number}" for number in range(host_count)]
    rings = [
        implementation.ring.simple_map(
            implementation.ring.TokenRing(tokens_of_hosts), hosts, full=2, total=2
        )
        for implementation in (python, compiled)
    ]
    generator = random.Random(7)
    for number in range(60):
        # Choose few or many different keys, and narrow or wide rows.
        key_count = generator.choice((1, 3, 40, 10_000))
        value_size = generator.choice((8, 60, 900))
        rows = []
        for _row in range(generator.choice((0, 1, 7, 400))):
            row = b""
            for _column in range(4):
                one_byte = bytes([generator.randrange(key_count) % 256])
                longer_key = b"k%d" % generator.randrange(key_count)
                value = generator.choice((b"", one_byte, longer_key))
                # About 3 % of the values of key columns are null.
                if generator.random() < 0.03:
                    row += struct.pack(">i", -1)
                else:
                    row += struct.pack(">i", len(value)) + value
            # The last column is not part of the key.
            rows.append(row + struct.pack(">i", value_size) + bytes(value_size))
        # Choose a partition key and a clustering key of different columns, or without columns
        # (unknown).
        keys = generator.choice(
            (
                Keys(partition=(0,), clustering=(1,)),
                Keys(partition=(2, 0), clustering=(3, 1)),
                Keys(partition=(0,), clustering=()),
                Keys(partition=(1, 2), clustering=()),
                Keys(partition=(), clustering=()),
                Keys(partition=(), clustering=(1, 2)),
            )
        )
        group_by = generator.choice(("replica", "replica", "partition", None))
        # For each implementation and each wave: the rows and the size of each group.
        requests = []
        for implementation, ring in zip((python, compiled), rings, strict=True):
            # In every third case, the token ring is unknown.
            owners = None if number % 3 == 0 else ring
            waves = implementation.grouping.request_waves(
                implementation.bind.RowsBlock(5, rows), keys, group_by, owners
            )
            requests.append([[(group.rows, group.size) for group in wave] for wave in waves])
        assert requests[0] == requests[1]
        grouped_rows = sorted(row for wave in requests[1] for members, _ in wave for row in members)
        assert grouped_rows == list(range(len(rows)))


def test_rows_can_be_taken_from_and_appended_to_a_block(implementation: Implementation) -> None:
    """`take` returns a block with the chosen rows in the given order, and `append` adds a row.

    `take` refuses row numbers outside of the block.
    """
    rows = block_of(implementation, [(1, 2, 3), (4, 5, 6), (7, 8, 9)])
    taken_rows = rows.take([2, 0])
    assert [row.data for row in taken_rows.rows()] == [rows.row(2).data, rows.row(0).data]
    rows.append(taken_rows.row(0))
    assert rows.take(iter([3])).row(0).data == rows.row(2).data
    assert rows.take([]).count == 0
    for row_number in (-1, 4):
        with pytest.raises(IndexError, match=f"row {row_number} of 4"):
            rows.take([row_number])


def test_positions_of_keys_are_checked(implementation: Implementation) -> None:
    """A position in `Keys` must be the index of a value: 0, 1 or 2 for rows of three values."""
    rows = block_of(implementation, [(1, 2, 3)])
    for keys in (
        Keys(partition=(3,), clustering=()),
        Keys(partition=(0,), clustering=(-1,)),
    ):
        with pytest.raises(ValueError, match="of 3 values"):
            implementation.grouping.request_waves(rows, keys, "replica", owners=None)


def test_a_row_without_a_partition_key_is_not_routed(implementation: Implementation) -> None:
    """The replica of a row is not looked up if the server will refuse the row's partition key."""
    null = struct.pack(">i", -1)
    rows = implementation.bind.RowsBlock(2, [null + null, struct.pack(">ii", 4, 1) + null])
    owners = Owners(lambda key: None)
    assert rows_of(implementation, rows, owners=owners) == [[[0], [1]]]
    # The first row's key is null, so only the key of the second row was looked up.
    assert owners.keys == [struct.pack(">i", 1)]
    # Servers refuse a value of more than 65,535 bytes in a composite key, so the row's replica is
    # not looked up.
    long_value = struct.pack(">i", 70_000) + bytes(70_000)
    rows = implementation.bind.RowsBlock(3, [long_value + struct.pack(">ii", 4, 1) + null])
    composite_keys = Keys(partition=(0, 1), clustering=(2,))
    assert rows_of(implementation, rows, composite_keys, owners=owners) == [[[0]]]
    assert len(owners.keys) == 1


def test_null_and_empty_values_are_different_keys(implementation: Implementation) -> None:
    """Null and the empty value are different keys, so these three rows fit into one wave."""
    null, empty = struct.pack(">i", -1), struct.pack(">i", 0)
    rows = implementation.bind.RowsBlock(2, [null + empty, empty + null, null + null])
    assert rows_of(implementation, rows) == [[[0], [2], [1]]]
    # The only row claims a value of 9 bytes, but has no bytes after this length.
    damaged = implementation.bind.RowsBlock(2, [struct.pack(">i", 9)])
    with pytest.raises(ValueError, match="ends in the middle of one"):
        implementation.grouping.request_waves(damaged, KEYS, "replica", owners=None)


def test_only_the_bytes_of_the_key_decide_about_waves(implementation: Implementation) -> None:
    """Rows share a wave if the bytes of their keys differ, whatever the bytes around the keys are.

    In this test, the values next to the key differ, and the keys are equal or not.
    """
    key_in_the_middle = Keys(partition=(1,), clustering=())
    # The last byte of 257 is the same as the last byte of 1. The number precedes the key.
    same_key = block_of(implementation, [(1, 7, 0), (2, 7, 1 << 24)])
    assert rows_of(implementation, same_key, key_in_the_middle) == [[[0]], [[1]]]
    other_key = block_of(implementation, [(1, 1, 0), (257, 1, 0)])
    assert rows_of(implementation, other_key, by=None) == [[[0], [1]]]
    null = struct.pack(">i", -1)
    value = struct.pack(">ii", 4, 1)
    null_key = implementation.bind.RowsBlock(3, [value + null + last for last in (value, null)])
    assert rows_of(implementation, null_key, key_in_the_middle) == [[[0]], [[1]]]


@pytest.mark.parametrize(
    ("sizes", "is_routed"),
    [((65_535, 1), True), ((65_536, 1), False), ((1, 65_536), False), ((65_536,), True)],
)
def test_only_a_value_of_a_composite_key_is_limited(
    implementation: Implementation, sizes: tuple[int, ...], is_routed: bool
) -> None:
    """Only in a composite key, a value over 65,535 bytes prevents routing.

    A composite key holds the length of each value in 2 bytes.
    """
    row = b"".join(struct.pack(">i", size) + bytes(size) for size in sizes)
    rows = implementation.bind.RowsBlock(len(sizes), [row])
    owners = Owners(lambda key: None)
    keys = Keys(partition=tuple(range(len(sizes))), clustering=())
    assert rows_of(implementation, rows, keys, owners=owners) == [[[0]]]
    assert len(owners.keys) == is_routed


def test_a_group_can_be_split_into_single_rows(implementation: Implementation) -> None:
    """`single_rows` splits a group into groups of one row each.

    A group is some rows of a block, which are sent in one request.
    """
    rows = block_of(implementation, [(1, n, n * 10) for n in range(5)])
    group = implementation.grouping.Group(rows, [4, 1, 3])
    assert len(group) == 3
    assert group.rows == [4, 1, 3]
    assert group.size == 3 * 3 * (4 + 4)  # three rows of three ints with their lengths
    assert group.tries == 0
    single_groups = group.single_rows()
    assert [single.rows for single in single_groups] == [[4], [1], [3]]
    assert [single.block.row(0).data for single in single_groups] == [
        rows.row(n).data for n in (4, 1, 3)
    ]
    with pytest.raises(IndexError, match="row 5 of 5"):
        implementation.grouping.Group(rows, [5])
