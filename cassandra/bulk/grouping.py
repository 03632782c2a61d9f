"""Groups rows of a load into requests.

A request is a single row, or a batch of rows with the same partition or the same replicas. The
requests are divided into waves, which are sent one after another. Two rows with the same primary
key are never in the same wave, so that the row that is later in the source replaces the earlier
row. Within one wave it might not: all statements of a batch have the same timestamp, and a repeated
request gets a new timestamp.

The compiled version of this module is ``cassandra._accel.grouping``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from cassandra.bulk import groups
from cassandra.bulk.groups import Keys, Owners
from cassandra.protocol.bind import composite_key

if TYPE_CHECKING:
    from cassandra.protocol.bind import RowsBlock

__all__ = ["Group", "request_waves"]


class Group:
    """Rows that are sent in one request.

    The attribute `block` has the values of these rows. `rows` has their indexes in the chunk's
    block. `tries` counts the failed attempts to send them.

    :param block: all bound rows of a chunk.
    :param rows: the indexes of the group's rows.
    :raises IndexError: if the block has no such row.
    """

    __slots__ = ("block", "rows", "tries")

    def __init__(self, block: RowsBlock, rows: Iterable[int]) -> None:
        self.rows = list(rows)
        self.block = block.take(self.rows)
        self.tries = 0

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def size(self) -> int:
        """The size of the rows' values in bytes."""
        return self.block.size

    def single_rows(self) -> list[Group]:
        """Return a separate group for each row."""
        single_groups = []
        for index, row in enumerate(self.rows):
            group = Group(self.block, [index])
            group.rows = [row]
            single_groups.append(group)
        return single_groups


def request_waves(
    block: RowsBlock, keys: Keys, by: str | None, owners: Owners | None
) -> list[list[Group]]:
    """Return a list of waves. Each wave is a list of groups, and each group becomes a request.

    :param block: the bound rows of a chunk.
    :param keys: the positions of the primary key's columns. If the positions of the partition key
        are unknown, each row is a separate group. If no positions are known, all groups are in one
        wave.
    :param by: "replica" or "partition": which rows may share a group; None makes groups of one row.
    :param owners: finds the replicas of partitions; None if replicas are unknown. Then rows are
        grouped by partition, even if `by` is "replica".
    :raises ValueError: if a key's position is invalid, or the block is damaged.
    """
    rows = [(row.data, row._spans()) for row in block.rows()]
    sizes = [len(data) for data, _ in rows]
    key_positions = keys.positions
    if not key_positions:
        return [[Group(block, [row]) for row in range(block.count)]] if block.count else []
    if any(not 0 <= position < block.width for position in key_positions):
        raise ValueError(f"positions {key_positions} of {block.width} values")
    # The bytes of each row's primary key. They include the length of each value, so that null
    # differs from an empty value.
    primary_keys = [
        b"".join(
            [
                # 4 bytes of length precede each value.
                data[offset - 4 : offset + max(size, 0)]
                for offset, size in map(spans.__getitem__, key_positions)
            ]
        )
        for data, spans in rows
    ]
    routing_keys = [
        _routing_key(data, spans, keys.partition) if keys.partition else None
        for data, spans in rows
    ]
    return [
        [Group(block, members) for members in _group_rows(wave, routing_keys, sizes, by, owners)]
        for wave in _waves(primary_keys)
    ]


def _routing_key(
    data: bytes, spans: Sequence[tuple[int, int]], key_positions: Sequence[int]
) -> bytes | None:
    """Return the routing key of a row; None if a server would refuse its partition key.

    A server refuses null, and values of a composite key that are longer than 65535 bytes.
    """
    parts = [
        data[offset : offset + size] if size >= 0 else None
        for offset, size in map(spans.__getitem__, key_positions)
    ]
    present_parts = [part for part in parts if part is not None]
    if len(present_parts) < len(parts) or (
        len(present_parts) > 1 and max(map(len, present_parts)) > 0xFFFF
    ):
        return None
    return composite_key(present_parts)


def _waves(primary_keys: Sequence[bytes]) -> list[list[int]]:
    """Divide rows into waves, so that no wave has two rows with the same primary key.

    For example, the keys [b"a", b"b", b"a"] give [[0, 1], [2]].

    :param primary_keys: the encoded primary key of each row.
    :returns: the row indexes of each wave.
    """
    waves: list[list[int]] = []
    row_counts: dict[bytes, int] = {}  # how many rows so far have this key
    for row, primary_key in enumerate(primary_keys):
        # Put the first row with a key into wave 0, the second one into wave 1, and so on.
        wave = row_counts.get(primary_key, 0)
        row_counts[primary_key] = wave + 1
        if wave == len(waves):
            waves.append([])
        waves[wave].append(row)
    return waves


def _group_rows(
    rows: Sequence[int],
    routing_keys: Sequence[bytes | None],
    sizes: Sequence[int],
    by: str | None,
    owners: Owners | None,
) -> list[list[int]]:
    """Divide the rows of one wave into groups. Each group is sent as one request.

    :param rows: the indexes of the wave's rows in the chunk.
    :param routing_keys: the routing key of each row of the chunk; None if a server would refuse it.
    :param sizes: the size of each row of the chunk in bytes.
    :param by: "replica" if rows with the same replicas may share a group, "partition" if only rows
        of the same partition may; None for groups of a single row.
    :param owners: finds the replicas of a routing key; None if they are unknown.
    :returns: the row indexes of each group.
    """
    row_groups: list[list[int]] = []
    partitions: dict[bytes, list[int]] = {}
    for row in rows:
        routing_key = routing_keys[row]
        # Without a valid partition key, the server will refuse the row: send it alone.
        if by is None or routing_key is None:
            row_groups.append([row])
        else:
            partitions.setdefault(routing_key, []).append(row)
    # Maps an owner (a partition, or a set of replicas) to its open group, to which the owner's next
    # partition is added. A group is (rows, bytes, number of partitions).
    open_groups: dict[Any, tuple[list[int], int, int]] = {}
    for routing_key, members in partitions.items():
        owner: Any = routing_key
        if by == "replica" and owners is not None:
            # There is one object per host, so the ids of these objects identify the set of
            # replicas.
            owner = tuple(map(id, owners.of_key(routing_key))) or routing_key
        group, group_size, count = open_groups.get(owner, (None, 0, 0))
        size = sum([sizes[row] for row in members])
        if (
            group is not None
            and count < groups.MOST_PARTITIONS
            and group_size + size <= groups.MOST_BYTES
        ):
            group += members
            open_groups[owner] = (group, group_size + size, count + 1)
            continue
        # The partition does not fit into the owner's open group, so begin a new group, or several.
        # The last of them stays open for further partitions.
        for part, part_size in _split_partition(members, sizes):
            row_groups.append(part)
            open_groups[owner] = (part, part_size, 1)
    return row_groups


def _split_partition(
    members: Sequence[int], sizes: Sequence[int]
) -> Iterator[tuple[list[int], int]]:
    """Divide the rows of one partition into groups of at most MOST_BYTES; yield (rows, bytes)."""
    group: list[int] = []
    total = 0
    for row in members:
        if group and total + sizes[row] > groups.MOST_BYTES:
            yield group, total
            group, total = [], 0
        group.append(row)
        total += sizes[row]
    yield group, total
