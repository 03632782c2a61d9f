"""ScyllaDB's tablets as objects, for programs and tests that look at them.

The driver itself keeps tablets in a form that takes less memory:
`Metadata.tablets`.
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

Replicas = Sequence[tuple[uuid.UUID, int]]


def choose_tablet_version_block(tablet_version: int) -> int:
    """Return the byte for an EXECUTE that shows four bits of a version, at a random place.

    :param tablet_version: the version that is known.
    """
    return version_block(tablet_version, getrandbits(4))


def random_tablet_version_block() -> int:
    """Return the byte for an EXECUTE of a client that does not know the tablet: any byte."""
    return getrandbits(8)


class Tablet:
    """A range of tokens with replicas of its own.

    :param first_token: not part of the range.
    :param last_token: the last token of the range.
    :param replicas: pairs of host id and shard.
    :param tablet_version: the server's number of this state of the tablet, if it has told one.
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

        :param first_token: the token before its first one.
        :param last_token: its last token.
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
    """The tablets of some tables.

    :param tablets: lists in the order of their tokens, by (keyspace, table).
    """

    def __init__(self, tablets: dict[tuple[str, str], list[Tablet]]) -> None:
        self._tablets = tablets
        self._lock = Lock()
        renewed(self)

    def _renew_locks(self) -> None:
        self._lock = Lock()

    def table_has_tablets(self, keyspace: str, table: str) -> bool:
        """Return True if tablets of a table are known.

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
        known = self._tablets.get((keyspace, table), ())
        at = bisect_left(known, t.value, key=lambda tablet: tablet.last_token)
        return known[at] if at < len(known) and known[at].first_token < t.value else None

    def add_tablet(self, keyspace: str, table: str, tablet: Tablet) -> None:
        """Add a tablet in the place of all that it overlaps.

        :param keyspace: the name of the keyspace.
        :param table: the name of the table.
        :param tablet: the `Tablet`.
        """
        with self._lock:
            # A new list, as readers take no lock.
            kept = [
                known
                for known in self._tablets.get((keyspace, table), ())
                if known.last_token <= tablet.first_token or tablet.last_token <= known.first_token
            ]
            kept.insert(
                bisect_left([known.last_token for known in kept], tablet.last_token), tablet
            )
            self._tablets[keyspace, table] = kept

    def drop_tablets(self, keyspace: str, table: str | None = None) -> None:
        """Forget the tablets of a table, or of all tables of a keyspace.

        :param keyspace: the name of the keyspace.
        :param table: the name of the table; None for all of the keyspace.
        """
        with self._lock:
            for name in list(self._tablets):
                if name[0] == keyspace and table in (None, name[1]):
                    del self._tablets[name]

    def drop_tablets_by_host_id(self, host_id: uuid.UUID | None) -> None:
        """Forget the tablets that have a replica on a host.

        :param host_id: the id, a `uuid.UUID`.
        """
        # Servers name replicas by their ids: none can be known of a host without one.
        if host_id is None:
            return
        with self._lock:
            for name, known in list(self._tablets.items()):
                self._tablets[name] = [
                    tablet for tablet in known if not tablet.replica_contains_host_id(host_id)
                ]
