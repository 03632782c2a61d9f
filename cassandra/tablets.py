"""ScyllaDB's tablets as objects, for applications and tests that inspect them.

The driver itself does not use these classes. It stores tablets in `Metadata.tablets`, which needs
less memory.
"""

from __future__ import annotations

import uuid
from bisect import bisect_left
from collections.abc import Sequence
from random import getrandbits
from typing import Any

from cassandra._forks import renewed
from cassandra._threads import Lock
from cassandra.metadata.placement.tablets import version_block

__all__ = ["Tablet", "Tablets", "choose_tablet_version_block", "random_tablet_version_block"]

Replicas = Sequence[tuple[uuid.UUID, int]]  # pairs of host id and shard


def choose_tablet_version_block(tablet_version: int) -> int:
    """Return the byte that an EXECUTE sends if the driver knows the tablet.

    The byte has four bits of the tablet's version, from a random position, and the position.

    :param tablet_version: the version of the tablet that the driver knows.
    """
    return version_block(tablet_version, getrandbits(4))


def random_tablet_version_block() -> int:
    """Return a random byte, which an EXECUTE may send if the driver does not know the tablet.

    The server takes the byte for four bits of a version and their position. Random bits probably
    (in 15 of 16 cases) differ from the tablet's version. Then the server sends the tablet with its
    response.
    """
    return getrandbits(8)


class Tablet:
    """A range of tokens with its own replicas.

    :param first_token: the token just before the range, which does not belong to it.
    :param last_token: the last token of the range.
    :param replicas: pairs of host id and shard.
    :param tablet_version: the server's version of the tablet; None if the server has sent none.
    """

    def __init__(
        self,
        first_token: int = 0,
        last_token: int = 0,
        replicas: Replicas | None = None,
        tablet_version: int | None = None,
    ) -> None:
        self.first_token = first_token
        self.last_token = last_token
        self.replicas = replicas
        self.tablet_version = tablet_version

    @staticmethod
    def from_row(
        first_token: int,
        last_token: int,
        replicas: Replicas | None,
        tablet_version: int | None = None,
    ) -> Tablet | None:
        """Return a tablet, or None if it has no replicas.

        :param first_token: the token just before the range, which does not belong to it.
        :param last_token: the last token of the range.
        :param replicas: pairs of host id and shard.
        :param tablet_version: a number that changes with the tablet; None if the server sends none.
        """
        return Tablet(first_token, last_token, replicas, tablet_version) if replicas else None

    @property
    def leader(self) -> uuid.UUID | None:
        """The host id of the first replica, which is the leader in strongly consistent tables."""
        return self.replicas[0][0] if self.replicas else None

    def replica_contains_host_id(self, uuid: uuid.UUID) -> bool:
        """Return True if a host with this id has a replica.

        :param uuid: the id, a `uuid.UUID`.
        """
        return any(host_id == uuid for host_id, _ in self.replicas or ())

    def __str__(self) -> str:
        return (
            f"<Tablet: first_token={self.first_token} last_token={self.last_token} "
            f"replicas={self.replicas}>"
        )

    __repr__ = __str__


class Tablets:
    """The known tablets of several tables.

    :param tablets: for each (keyspace, table), a list of tablets in the order of their tokens.
    """

    def __init__(self, tablets: dict[tuple[str, str], list[Tablet]]) -> None:
        self._tablets = tablets
        self._lock = Lock()
        renewed(self)

    def _renew_locks(self) -> None:
        self._lock = Lock()

    def table_has_tablets(self, keyspace: str, table: str) -> bool:
        """Return True if any tablet of the table is known.

        :param keyspace: the name of the keyspace.
        :param table: the name of the table.
        """
        return bool(self._tablets.get((keyspace, table)))

    def get_tablet_for_key(self, keyspace: str, table: str, t: Any) -> Tablet | None:
        """Return the tablet of a token, or None if it is not known.

        :param keyspace: the name of the keyspace.
        :param table: the name of the table.
        :param t: a `Token` with a number as its value.
        """
        tablets = self._tablets.get((keyspace, table), ())
        # Find the first tablet that ends at the token or after it. The token is in this tablet if
        # the tablet begins before the token.
        index = bisect_left(tablets, t.value, key=lambda tablet: tablet.last_token)
        return (
            tablets[index]
            if index < len(tablets) and tablets[index].first_token < t.value
            else None
        )

    def add_tablet(self, keyspace: str, table: str, tablet: Tablet) -> None:
        """Add a tablet, which replaces all tablets that it overlaps.

        :param keyspace: the name of the keyspace.
        :param table: the name of the table.
        :param tablet: the `Tablet`.
        """
        with self._lock:
            # Create a new list and do not change the old list, because readers take no lock.
            remaining = [
                other
                for other in self._tablets.get((keyspace, table), ())
                if other.last_token <= tablet.first_token or tablet.last_token <= other.first_token
            ]
            remaining.insert(
                bisect_left([other.last_token for other in remaining], tablet.last_token), tablet
            )
            self._tablets[keyspace, table] = remaining

    def drop_tablets(self, keyspace: str, table: str | None = None) -> None:
        """Drop the tablets of a table, or of all tables of a keyspace.

        :param keyspace: the name of the keyspace.
        :param table: the name of the table; None for all tables.
        """
        with self._lock:
            for name in list(self._tablets):
                if name[0] == keyspace and table in (None, name[1]):
                    del self._tablets[name]

    def drop_tablets_by_host_id(self, host_id: uuid.UUID | None) -> None:
        """Drop the tablets that have a replica on a host.

        :param host_id: the id, a `uuid.UUID`.
        """
        # Tablets name their replicas by host id, so a host without an id has no known replicas.
        if host_id is None:
            return
        with self._lock:
            for name, tablets in list(self._tablets.items()):
                self._tablets[name] = [
                    tablet for tablet in tablets if not tablet.replica_contains_host_id(host_id)
                ]
