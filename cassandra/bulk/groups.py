"""The limits of a batch, and the classes that describe keys and replicas to `grouping`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from cassandra.metadata.host import Host

# The maximum numbers of bytes and of partitions in a batch. Servers log a warning for batches that
# are larger than 5 KB, or have more than ten partitions.
MOST_BYTES = 4000
MOST_PARTITIONS = 10


class Keys(NamedTuple):
    """The positions of the primary key among the values of a row.

    :param partition: the positions of the partition key; empty if they are unknown.
    :param clustering: the positions of the clustering columns, as far as they are known.
    :param known_partition: if `partition` is empty, the positions of those partition key columns
        that are known.
    """

    partition: Sequence[int]
    clustering: Sequence[int]
    known_partition: Sequence[int] = ()

    @property
    def positions(self) -> tuple[int, ...]:
        """All known positions of the key's columns.

        Rows with the same primary key have the same values in these columns, and must be written
        one after another. Rows with different keys may also have the same values in these columns,
        because a part of the key may be unknown.
        """
        return (*self.partition, *self.known_partition, *self.clustering)


class Owners(Protocol):
    """Finds the replicas of a partition, in the token ring or among the tablets of a table."""

    def of_key(self, key: bytes) -> tuple[Host, ...]:
        """Return the replicas of a partition; () if they are unknown.

        :param key: the routing key.
        """
