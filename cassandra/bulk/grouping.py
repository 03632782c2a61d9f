"""Groups rows of a load into requests: rows of one partition, then of one replica, in one batch.

Two rows with the same primary key are never in the same wave, so that the last row wins: all
statements of a batch have the same timestamp, and a repeated request gets a new one. The compiled
twin is ``cassandra._accel.grouping``.
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
    """Rows that are sent in one request; their values are in `block`.

    :param block: all rows of a chunk.
    :param rows: the indexes of the group's rows.
    :raises IndexError: if there is no such row.
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
        """The size of their values in bytes."""
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
    """Return the requests for rows, in waves in which each primary key appears at most once.

    :param block: the rows.
    :param keys: the positions of the primary key. If they are unknown, each row is a request.
    :param by: "partition" or "replica"; None for one request per row.
    :param owners: has the replicas of partitions; None if they are unknown.
    :raises ValueError: if a key's position is invalid, or the block is damaged.
    """
    rows = [(row.data, row._spans()) for row in block.rows()]
    sizes = [len(data) for data, _ in rows]
    if not keys.are_known:
        return [[Group(block, [row]) for row in range(block.count)]] if block.count else []
    key_positions = (*keys.partition, *(keys.clustering or ()))
    if any(not 0 <= position < block.width for position in key_positions):
        raise ValueError(f"positions {key_positions} of {block.width} values")
    # The length is part of the name: null differs from an empty value.
    names = [
        b"".join(
            [
                data[offset - 4 : offset + max(size, 0)]
                for offset, size in map(spans.__getitem__, key_positions)
            ]
        )
        for data, spans in rows
    ]
    partitions = [_partition(data, spans, keys.partition) for data, spans in rows]
    return [
        [Group(block, rows) for rows in _group_rows(wave, partitions, sizes, by, owners)]
        for wave in _waves(names)
    ]


def _partition(
    data: bytes, spans: Sequence[tuple[int, int]], key_positions: Sequence[int]
) -> bytes | None:
    """Return the routing key of a row; None for a key that servers refuse."""
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


def _waves(names: Sequence[bytes]) -> list[list[int]]:
    waves: list[list[int]] = []
    counts: dict[bytes, int] = {}
    for row, name in enumerate(names):
        # Rows with the same key go into successive waves.
        wave = counts.get(name, 0)
        counts[name] = wave + 1
        if wave == len(waves):
            waves.append([])
        waves[wave].append(row)
    return waves


def _group_rows(
    rows: Sequence[int],
    names: Sequence[bytes | None],
    sizes: Sequence[int],
    by: str | None,
    owners: Owners | None,
) -> list[list[int]]:
    """Return the requests for the rows of one wave, as lists of row indexes."""
    row_groups: list[list[int]] = []
    partitions: dict[bytes, list[int]] = {}
    for row in rows:
        name = names[row]
        if by is None or name is None:  # no valid partition key: the server will refuse the row
            row_groups.append([row])
        else:
            partitions.setdefault(name, []).append(row)
    # By owner: the group that is still being filled, its size, and its number of partitions.
    open_groups: dict[Any, tuple[list[int], int, int]] = {}
    for name, members in partitions.items():
        owner: Any = name
        if by == "replica" and owners is not None:
            owner = tuple(map(id, owners.of_key(name))) or name
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
        for part, part_size in _split_partition(members, sizes):
            row_groups.append(part)
            open_groups[owner] = (part, part_size, 1)
    return row_groups


def _split_partition(
    members: Sequence[int], sizes: Sequence[int]
) -> Iterator[tuple[list[int], int]]:
    """Yield the groups of one partition, with their sizes; a large partition needs several."""
    group: list[int] = []
    total = 0
    for row in members:
        if group and total + sizes[row] > groups.MOST_BYTES:
            yield group, total
            group, total = [], 0
        group.append(row)
        total += sizes[row]
    yield group, total
