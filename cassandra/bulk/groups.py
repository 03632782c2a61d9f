"""The limits of a batch, and what `grouping` needs to know about keys and replicas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from cassandra.metadata.host import Host

# Limits of a batch. Servers log a warning for batches that are larger than 5 KB, or have more than
# ten partitions.
MOST_BYTES = 4000
MOST_PARTITIONS = 10


class Keys(NamedTuple):
    """The positions of the primary key among the values of a row.

    :param partition: the positions of the partition key.
    :param clustering: the positions of the clustering columns; None if they are unknown.
    """

    partition: Sequence[int]
    clustering: Sequence[int] | None

    @property
    def are_known(self) -> bool:
        """True if the positions of the whole primary key are known, so that rows with the same key
        can be found.
        """
        return bool(self.partition) and self.clustering is not None


class Owners(Protocol):
    """Finds the replicas of a partition, in the token ring or among the tablets of a table."""

    def of_key(self, key: bytes) -> tuple[Host, ...]:
        """Return the replicas of a partition; () if they are unknown.

        :param key: the routing key.
        """
