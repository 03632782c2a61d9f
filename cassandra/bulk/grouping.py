"""Rows of one load as requests: rows of one partition, then of one replica, in one batch.

Rows of one primary key never stand in one wave, so that the one that came last is written last: the
statements of a batch have one timestamp, and a request that is tried again has a new one. The
compiled twin is ``cassandra._accel.grouping``.
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
    """Rows that are sent in one request. Their values are in `block`.

    :param block: all rows of a chunk.
    :param rows: the numbers of those of the group.
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
        """The bytes of their values."""
        return self.block.size

    def alone(self) -> list[Group]:
        """Return a group of each of its rows."""
        found = []
        for at, row in enumerate(self.rows):
            made = Group(self.block, [at])
            made.rows = [row]
            found.append(made)
        return found


def request_waves(
    block: RowsBlock, keys: Keys, by: str | None, owners: Owners | None
) -> list[list[Group]]:
    """Return the requests for rows, in lists in each of which a primary key stands once.

    :param block: the rows.
    :param keys: where the primary key stands. Each row is a request if it is not known.
    :param by: "partition" or "replica"; None for a request for each row.
    :param owners: has the replicas of partitions; None if they are not known.
    :raises ValueError: if a key's position is none, or the block is damaged.
    """
    rows = [(row.data, row._spans()) for row in block.rows()]
    sizes = [len(data) for data, _ in rows]
    if not keys.are_known:
        return [[Group(block, [row]) for row in range(block.count)]] if block.count else []
    places = (*keys.partition, *(keys.clustering or ()))
    if any(not 0 <= place < block.width for place in places):
        raise ValueError(f"positions {places} of {block.width} values")
    # A value with its length is itself: null is not the same as nothing.
    names = [
        b"".join([data[at - 4 : at + max(size, 0)] for at, size in map(spans.__getitem__, places)])
        for data, spans in rows
    ]
    partitions = [_partition(data, spans, keys.partition) for data, spans in rows]
    return [
        [Group(block, rows) for rows in _grouped(wave, partitions, sizes, by, owners)]
        for wave in _waves(names)
    ]


def _partition(
    data: bytes, spans: Sequence[tuple[int, int]], places: Sequence[int]
) -> bytes | None:
    """Return the routing key of a row; None for one that no server takes."""
    parts = [
        data[at : at + size] if size >= 0 else None for at, size in map(spans.__getitem__, places)
    ]
    found = [part for part in parts if part is not None]
    if len(found) < len(parts) or (len(found) > 1 and max(map(len, found)) > 0xFFFF):
        return None
    return composite_key(found)


def _waves(names: Sequence[bytes]) -> list[list[int]]:
    waves: list[list[int]] = []
    counts: dict[bytes, int] = {}
    for row, name in enumerate(names):
        # The rows of a key go into one wave after the other.
        wave = counts.get(name, 0)
        counts[name] = wave + 1
        if wave == len(waves):
            waves.append([])
        waves[wave].append(row)
    return waves


def _grouped(
    rows: Sequence[int],
    names: Sequence[bytes | None],
    sizes: Sequence[int],
    by: str | None,
    owners: Owners | None,
) -> list[list[int]]:
    """Return the requests for the rows of one wave, as lists of rows."""
    found: list[list[int]] = []
    partitions: dict[bytes, list[int]] = {}
    for row in rows:
        name = names[row]
        if by is None or name is None:  # no partition: the server says so
            found.append([row])
        else:
            partitions.setdefault(name, []).append(row)
    # By owner: the group that is filled, its bytes, and how many partitions it has.
    filled: dict[Any, tuple[list[int], int, int]] = {}
    for name, members in partitions.items():
        owner: Any = name
        if by == "replica" and owners is not None:
            owner = tuple(map(id, owners.of_key(name))) or name
        group, bytes_of_it, count = filled.get(owner, (None, 0, 0))
        size = sum([sizes[row] for row in members])
        if (
            group is not None
            and count < groups.MOST_PARTITIONS
            and bytes_of_it + size <= groups.MOST_BYTES
        ):
            group += members
            filled[owner] = (group, bytes_of_it + size, count + 1)
            continue
        for part, part_size in _parted(members, sizes):
            found.append(part)
            filled[owner] = (part, part_size, 1)
    return found


def _parted(members: Sequence[int], sizes: Sequence[int]) -> Iterator[tuple[list[int], int]]:
    """Return the groups of a partition that is too large for one, with their bytes."""
    group: list[int] = []
    total = 0
    for row in members:
        if group and total + sizes[row] > groups.MOST_BYTES:
            yield group, total
            group, total = [], 0
        group.append(row)
        total += sizes[row]
    yield group, total
