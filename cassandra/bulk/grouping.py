"""Rows of one load as requests: rows of one partition, then of one replica, in one batch.

Rows of one primary key never stand in one wave, so that the one that came last is written last: the
statements of a batch have one timestamp, and a request that is tried again has a new one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from cassandra.protocol.bind import RowsBlock

__all__ = ["Group", "Keys", "grouped", "single", "waves"]

# Servers warn of batches from 5 KB on, and of more than ten partitions.
MOST_BYTES = 4000
MOST_PARTITIONS = 10


class Keys(NamedTuple):
    """Where the primary key stands among the values of a row.

    :param partition: the positions of the partition key.
    :param clustering: those of the clustering columns; None if they are not known.
    """

    partition: Sequence[int]
    clustering: Sequence[int] | None

    @property
    def are_known(self) -> bool:
        """True if rows of one primary key can be told."""
        return bool(self.partition) and self.clustering is not None


class Group:
    """Rows that are sent in one request.

    :param rows: their numbers.
    :param size: the bytes of their values.
    """

    __slots__ = ("rows", "size", "tries")

    def __init__(self, rows: list[int], size: int) -> None:
        self.rows = rows
        self.size = size
        self.tries = 0


def single(row: int, size: int) -> Group:
    """Return a group of one row.

    :param row: its number.
    :param size: the bytes of its values.
    """
    return Group([row], size)


def waves(block: RowsBlock, keys: Keys) -> Iterator[Sequence[int]]:
    """Return the numbers of rows in lists, in each of which a primary key stands once.

    :param block: the rows.
    :param keys: where the primary key stands. All rows are one wave if it is not known.
    """
    left: Sequence[int] = range(len(block))
    if not keys.are_known:
        if left:
            yield left
        return
    names = block.identities((*keys.partition, *(keys.clustering or ())))
    # The usual source has each key once.
    if left and len(set(names)) == len(names):
        yield left
        return
    while left:
        seen: set[bytes] = set()
        wave: list[int] = []
        later: list[int] = []
        for row in left:
            name = names[row]
            if name in seen:
                later.append(row)
            else:
                seen.add(name)
                wave.append(row)
        yield wave
        left = later


def grouped(
    block: RowsBlock,
    rows: Sequence[int],
    keys: Keys,
    by: str | None,
    owner_of: Callable[[bytes], Any],
) -> list[Group]:
    """Return the requests for rows.

    :param block: all rows.
    :param rows: the numbers of those of one wave.
    :param keys: where the primary key stands.
    :param by: "partition" or "replica"; None for a request for each row.
    :param owner_of: returns the replicas of a routing key.
    """
    sizes = block.sizes()
    if by is None or not keys.are_known:
        return [Group([row], sizes[row]) for row in rows]
    names = block.routing_keys(keys.partition)
    found: list[Group] = []
    partitions: dict[bytes, list[int]] = {}
    for row in rows:
        name = names[row]
        if name is None:  # no partition: the server says so
            found.append(Group([row], sizes[row]))
            continue
        known = partitions.get(name)
        if known is None:
            partitions[name] = [row]
        else:
            known.append(row)
    # By owner: the group that is filled, and how many partitions it has.
    filled: dict[Any, tuple[Group, int]] = {}
    for name, members in partitions.items():
        owner = owner_of(name) if by == "replica" else name
        group, count = filled.get(owner, (None, 0))
        size = sum([sizes[row] for row in members]) if len(members) > 1 else sizes[members[0]]
        if group is not None and count < MOST_PARTITIONS and group.size + size <= MOST_BYTES:
            group.rows += members
            group.size += size
            filled[owner] = (group, count + 1)
            continue
        parts = list(_parted(members, sizes)) if size > MOST_BYTES else [Group(members, size)]
        found += parts
        filled[owner] = (parts[-1], 1)
    return found


def _parted(members: Sequence[int], sizes: Sequence[int]) -> Iterator[Group]:
    """Return the groups of a partition that is too large for one."""
    group = Group([], 0)
    for row in members:
        if group.rows and group.size + sizes[row] > MOST_BYTES:
            yield group
            group = Group([], 0)
        group.rows.append(row)
        group.size += sizes[row]
    yield group
