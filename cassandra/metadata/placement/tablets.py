"""ScyllaDB's tablets, as servers report them: the Python twin of `cassandra._accel.tablets`.

A tablet is a range of a table's tokens with replicas of its own, each a host and a shard. A node
reports a tablet if a request shows that the client does not know its place
(docs/dev/protocol-extensions.md of ScyllaDB, "Tablets routing v1" and "v2"). A `TabletMap` keeps
these reports: for each table a sorted list that is replaced, never changed. A new tablet takes the
place of all that it overlaps. Hosts are numbers in it, so that a tablet takes few bytes.

The engine's loop writes, and any thread may read.
"""

from __future__ import annotations

import uuid
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from cassandra.metadata.placement.ring import token_of

if TYPE_CHECKING:
    from cassandra.metadata.host import Host

__all__ = ["TabletMap", "split_payload", "token_of_statement", "version_block"]

_V1, _V2 = b"tablets-routing-v1", b"tablets-routing-v2"
_MOST_HOSTS = 0xFFFF
_MOST_REPLICAS = 64
_DEFAULT_LIMIT = 1_000_000


class _Row(NamedTuple):
    first: int
    last: int
    hosts: tuple[int, ...]
    shards: tuple[int, ...]
    version: int


class _Table:
    """The tablets of one table, in the order of their tokens."""

    __slots__ = ("lasts", "rows")

    def __init__(self, rows: list[_Row]) -> None:
        self.rows = rows
        # Beside the rows, so that bisect compares numbers without calling a key function.
        self.lasts = [row.last for row in rows]

    def find(self, token: int) -> _Row | None:
        at = bisect_left(self.lasts, token)
        # There may be gaps: what no server has reported yet.
        if at == len(self.rows) or self.rows[at].first >= token:
            return None
        return self.rows[at]

    def having(self, row: _Row) -> _Table:
        """Return the same with `row` in the place of all that overlap it."""
        start = bisect_right(self.lasts, row.first)
        end = start
        while end < len(self.rows) and self.rows[end].first < row.last:
            end += 1
        return _Table([*self.rows[:start], row, *self.rows[end:]])


class TabletMap:
    """The tablets that are known, by keyspace and table.

    `hits` and `misses` count the requests whose partition was, or was not, in a tablet that is
    known; only requests to tables with tablets count. `count` is the number of tablets.

    :param limit: the greatest number of tablets. Beyond it, the table that has been known for
        longest is forgotten, or tablets of the same table if there is no other.
    """

    __slots__ = (
        "_host_ids",
        "_known",
        "_leaders",
        "_numbers",
        "_tables",
        "_turn",
        "_with_tablets",
        "count",
        "hits",
        "hosts",
        "limit",
        "misses",
    )

    def __init__(self, limit: int = _DEFAULT_LIMIT) -> None:
        if limit < 1:
            raise ValueError(f"a map of tablets has room for one at least, not for {limit}")
        self.limit = limit
        self.count = 0
        self.hits = 0
        self.misses = 0
        # By the numbers that rows have; None for a host that is not known.
        self.hosts: tuple[Any, ...] = ()
        self._host_ids: list[uuid.UUID] = []
        self._numbers: dict[uuid.UUID, int] = {}
        self._turn = 0
        self._known: dict[uuid.UUID | None, Host] = {}
        self._tables: dict[str, dict[str, _Table]] = {}
        self._with_tablets: frozenset[str] = frozenset()
        self._leaders: frozenset[str] = frozenset()

    # -- what is known -----------------------------------------------------------------------------

    def use_keyspaces(self, with_tablets: Iterable[str], leaders: Iterable[str]) -> bool:
        """Take the names of the keyspaces whose tables have tablets; return True if they are new.

        :param leaders: those of them in which the first replica of a tablet is its leader.
        """
        known = self._with_tablets, self._leaders
        self._with_tablets, self._leaders = frozenset(with_tablets), frozenset(leaders)
        return known != (self._with_tablets, self._leaders)

    def has_keyspace(self, keyspace: str | None) -> bool:
        """Return True if the ring does not place the partitions of a keyspace."""
        return keyspace in self._with_tablets or keyspace in self._tables

    def has_leaders(self, keyspace: str | None) -> bool:
        """Return True if the first replica of a tablet of this keyspace is its leader."""
        return keyspace in self._leaders

    def find(self, keyspace: str, table: str, token: int) -> tuple[Any, ...] | None:
        """Return (first token, last token, replicas, version) of a token's tablet, or None.

        The first token is not part of the range. Replicas are pairs of host id and shard.
        """
        row = self._row(keyspace, table, token)
        if row is None:
            return None
        ids = self._host_ids
        replicas = tuple(
            (ids[host], shard) for host, shard in zip(row.hosts, row.shards, strict=True)
        )
        return row.first, row.last, replicas, row.version

    def _row(self, keyspace: str | None, table: str | None, token: int) -> _Row | None:
        tables = self._tables.get(keyspace) if keyspace is not None else None
        known = tables.get(table) if tables is not None and table is not None else None
        return known.find(token) if known is not None else None

    def numbers(
        self, keyspace: str | None, table: str | None, token: int
    ) -> tuple[int, ...] | None:
        """Return the numbers in `hosts` of a token's replicas, in the server's order, or None."""
        row = self._row(keyspace, table, token)
        return row.hosts if row is not None else None

    def replicas(
        self, keyspace: str | None, table: str | None, key: bytes
    ) -> tuple[Host, ...] | None:
        """Return the hosts with a replica of a serialized partition key, or None.

        Hosts that are not known are left out.
        """
        row = self._row(keyspace, table, token_of(key))
        if row is None:
            return None
        found = [self.hosts[number] for number in row.hosts]
        return tuple([host for host in found if host is not None])

    def shard_on(
        self, host: Host, keyspace: str | None, table: str | None, token: int
    ) -> int | None:
        """Return the shard of `host` that has a token's replica, or None if none is known."""
        row = self._row(keyspace, table, token)
        if row is not None:
            for number, shard in zip(row.hosts, row.shards, strict=True):
                if self.hosts[number] is host:
                    return shard
        return None

    def version_of(self, keyspace: str | None, table: str | None, token: int) -> int | None:
        """Return the version of a token's tablet, or None if it is not known."""
        row = self._row(keyspace, table, token)
        return row.version if row is not None else None

    def next_block(self, keyspace: str | None, table: str | None, token: int | None) -> int:
        """Return the byte at the end of an EXECUTE that shows the server the client's version.

        Each call shows another part of the version: in the end the server sees all of it.
        """
        self._turn = self._turn + 1 & 15
        version = self.version_of(keyspace, table, token) if token is not None else None
        return version_block(version, self._turn)

    def tally(self, keyspace: str | None, table: str | None, token: int) -> None:
        """Count a request: a hit, or a miss, if its table has tablets."""
        if self.has_keyspace(keyspace):
            if self._row(keyspace, table, token) is not None:
                self.hits += 1
            else:
                self.misses += 1

    def tables(self) -> list[tuple[str, str, int]]:
        """Return (keyspace, table, number of tablets) of all tables that are known."""
        return [
            (keyspace, name, len(table.rows))
            for keyspace, tables in list(self._tables.items())
            for name, table in list(tables.items())
        ]

    # -- what the servers tell ---------------------------------------------------------------------

    def learn(self, keyspace: str | None, table: str | None, payload: bytes | None) -> bool:
        """Take a server's report of a tablet; return False if it cannot be used.

        :param payload: the value of ``tablets-routing-v1`` or ``tablets-routing-v2``.
        """
        if not keyspace or not table or payload is None:
            return False
        told = _parsed(payload)
        if told is None:
            return False
        first, last, replicas, version = told
        # A report with a host beyond the limit is not kept: replicas would be missing from it.
        if not all(self._number_of(host_id) is not None for host_id, _ in replicas):
            return False
        row = _Row(
            first,
            last,
            tuple([self._numbers[host_id] for host_id, _ in replicas]),
            tuple([shard for _, shard in replicas]),
            version,
        )
        tables = self._tables.setdefault(keyspace, {})
        known = tables.get(table)
        # A new list at each report: a thread that makes a query plan may be reading the old one.
        made = known.having(row) if known is not None else _Table([row])
        self.count += len(made.rows) - (len(known.rows) if known is not None else 0)
        tables[table] = made
        if self.count > self.limit:
            self._make_room(keyspace, table)
        return True

    def _number_of(self, host_id: uuid.UUID) -> int | None:
        number = self._numbers.get(host_id)
        if number is None and len(self._host_ids) < _MOST_HOSTS:
            number = self._numbers[host_id] = len(self._host_ids)
            self._host_ids.append(host_id)
            self.hosts = (*self.hosts, self._known.get(host_id))
        return number

    def _make_room(self, keyspace: str, table: str) -> None:
        # A dict keeps its order, so the first one is the table that was added earliest.
        for other in list(self._tables):
            for name in list(self._tables[other]):
                if (other, name) != (keyspace, table):
                    self.drop(other, name)
                    return
        known = self._tables[keyspace][table]
        self._tables[keyspace][table] = _Table(known.rows[-1:])
        self.count = 1

    # -- what ends ---------------------------------------------------------------------------------

    def take_hosts(self, hosts: Iterable[Host]) -> None:
        """Take the hosts of the cluster; tablets with a replica on another host are forgotten.

        A node that replaces another has an id of its own, so the word about the old one ends.
        """
        self._known = by_id = {host.host_id: host for host in hosts}
        gone = {number for number, own in enumerate(self._host_ids) if own not in by_id}
        new = tuple([by_id.get(own) for own in self._host_ids])
        # A refresh mostly finds the same nodes: plans need not be made anew then.
        if len(new) != len(self.hosts) or any(
            one is not other for one, other in zip(new, self.hosts, strict=True)
        ):
            self.hosts = new
        if gone:
            self._forget(gone)

    def _forget(self, gone: set[int]) -> None:
        for keyspace, tables in list(self._tables.items()):
            for name, table in list(tables.items()):
                rows = [row for row in table.rows if gone.isdisjoint(row.hosts)]
                if len(rows) < len(table.rows):
                    self.count -= len(table.rows) - len(rows)
                    if rows:
                        tables[name] = _Table(rows)
                    else:
                        self._remove(keyspace, name)

    def drop(self, keyspace: str, table: str | None = None) -> None:
        """Forget the tablets of a table, or of all tables of a keyspace."""
        for name, known in list(self._tables.get(keyspace, {}).items()):
            if table in (None, name):
                self.count -= len(known.rows)
                self._remove(keyspace, name)

    def _remove(self, keyspace: str, table: str) -> None:
        tables = self._tables[keyspace]
        del tables[table]
        if not tables:
            del self._tables[keyspace]

    def clear(self) -> None:
        """Forget all tablets."""
        self._tables = {}
        self.count = 0


def token_of_statement(statement: object) -> int | None:
    """Return the token of a statement's partition key, or None if it is not known."""
    key = getattr(statement, "routing_key", None)
    return token_of(key) if isinstance(key, bytes) else None


def version_block(version: int | None, index: int) -> int:
    """Return the byte that shows a server a part of the version that the client knows.

    :param version: the tablet's version, or None if the tablet is not known.
    :param index: which four bits of it: 0 to 15, from the least significant ones.
    """
    return index << 4 | (version >> 4 * index & 0xF if version is not None else 0)


def split_payload(body: bytes) -> tuple[bytes, bytes] | None:
    """Split the body of an answer that begins with a custom payload of one tablet alone.

    :returns: the payload's value and the rest of the body; None if there is anything else.
    """
    # <n> entries, here one, then a [string] of 18 bytes: both names are that long.
    if body[:2] != b"\0\1" or body[2:4] != b"\0\x12" or body[4:22] not in (_V1, _V2):
        return None
    end = 26 + int.from_bytes(body[22:26], "big", signed=True)
    if not 26 <= end <= len(body):
        return None
    return body[26:end], body[end:]


def _parsed(data: bytes) -> tuple[int, int, list[tuple[uuid.UUID, int]], int] | None:
    """Read a tuple of first token, last token, list of (host id, shard), and maybe a version."""
    parts = _parts(data)
    if parts is None or not 3 <= len(parts) <= 4 or [len(p) for p in parts[:2]] != [8, 8]:
        return None
    version = 0
    if len(parts) == 4:
        if len(parts[3]) != 8:
            return None
        version = int.from_bytes(parts[3], "big")
    first, last = (int.from_bytes(part, "big", signed=True) for part in parts[:2])
    listed = _parts(parts[2][4:])
    # Wrapping ranges do not exist: servers split tablets at the ends of the ring.
    if first >= last or listed is None or len(parts[2]) < 4:
        return None
    if len(listed) != int.from_bytes(parts[2][:4], "big") or len(listed) > _MOST_REPLICAS:
        return None
    replicas = []
    for pair in map(_parts, listed):
        if pair is None or [len(part) for part in pair] != [16, 4]:
            return None
        shard = int.from_bytes(pair[1], "big", signed=True)
        if not 0 <= shard < 0xFFFF:
            return None
        replicas.append((uuid.UUID(bytes=pair[0]), shard))
    return first, last, replicas, version


def _parts(data: bytes) -> list[bytes] | None:
    """Return values that stand one after the other, each with its length; None if they are not."""
    found = []
    at = 0
    while at < len(data):
        size = int.from_bytes(data[at : at + 4], "big", signed=True)
        if size < 0 or at + 4 + size > len(data):
            return None
        found.append(data[at + 4 : at + 4 + size])
        at += 4 + size
    return found
