"""Requests of a load, before they are made: the rules of which rows go together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from cassandra.metadata.host import Host

__all__ = ["MOST_BYTES", "MOST_PARTITIONS", "Keys", "Owners"]

# Servers warn of batches from 5 KB on, and of more than ten partitions.
MOST_BYTES = 4000
MOST_PARTITIONS = 10


class Keys(NamedTuple):
    """The places of the primary key among the values of a row.

    :param partition: the positions of the partition key.
    :param clustering: those of the clustering columns; None if they are not known.
    """

    partition: Sequence[int]
    clustering: Sequence[int] | None

    @property
    def are_known(self) -> bool:
        """True if rows of one primary key can be told."""
        return bool(self.partition) and self.clustering is not None


class Owners(Protocol):
    """The replicas of partitions: a map of a ring, or of tablets."""

    def of_key(self, key: bytes) -> tuple[Host, ...]:
        """Return the replicas of a partition; () if they are not known.

        :param key: the routing key.
        """
