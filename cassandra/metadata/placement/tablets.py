"""ScyllaDB's tablets, as servers report them; the compiled version is `cassandra._accel.tablets`.

A tablet is a range of a table's tokens with separate replicas. Each replica is a host and a shard.
A node reports a tablet when a request shows that the client does not know where the tablet is
(docs/dev/protocol-extensions.md of ScyllaDB, "Tablets routing v1" and "v2"). A `TabletMap` keeps
these reports: for each table a sorted list, which is never changed, but replaced. A new tablet
replaces all tablets that it overlaps. Hosts are stored as numbers (indexes of `TabletMap.hosts`),
so that a tablet takes few bytes.

Any thread may read a map. Each event loop of a cluster may write to it, and must hold the map's
lock while it writes.
"""

from __future__ import annotations

import uuid
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from cassandra._forks import renewed
from cassandra._threads import Lock
from cassandra.metadata.placement.ring import token_of

if TYPE_CHECKING:
    from cassandra.metadata.host import Host

__all__ = ["TabletMap", "split_payload", "token_of_statement", "version_block"]

# The keys under which ScyllaDB reports a tablet in the custom payload of a response.
_V1, _V2 = b"tablets-routing-v1", b"tablets-routing-v2"
_MOST_HOSTS = 0xFFFF  # maximum number of hosts of a map
_MOST_REPLICAS = 64  # maximum number of replicas of a tablet
_DEFAULT_LIMIT = 1_000_000  # maximum number of tablets of a map


# A tablet report: first token, last token, list of (host id, shard), version.
_Report = tuple[int, int, list[tuple[uuid.UUID, int]], int]


class _Row(NamedTuple):
    """One tablet: a range of tokens, and its replicas as host numbers and shard numbers.

    The range excludes `first` and includes `last`. `hosts` and `shards` have the same order.
    """

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
        # Keep the last tokens in a separate list, so that bisect compares numbers without a key
        # function.
        self.lasts = [row.last for row in rows]

    def find(self, token: int) -> _Row | None:
        """Return the tablet that contains `token`, or None if the tablet is not known."""
        index = bisect_left(self.lasts, token)
        # There may be gaps between the tablets, because servers have not reported all tablets.
        if index == len(self.rows) or self.rows[index].first >= token:
            return None
        return self.rows[index]

    def replace_overlapping(self, row: _Row) -> _Table:
        """Return a copy in which `row` replaces all tablets that overlap it."""
        start = bisect_right(self.lasts, row.first)
        end = start
        while end < len(self.rows) and self.rows[end].first < row.last:
            end += 1
        return _Table([*self.rows[:start], row, *self.rows[end:]])


class TabletMap:
    """All known tablets, by keyspace and table.

    `hits` counts the requests whose partition was in a known tablet, `misses` the requests whose
    partition was not. Only requests to tables with tablets count. `count` is the number of tablets.

    :param limit: the maximum number of tablets. If it is exceeded, all tablets of the table that
        was added first are dropped. If there is only one table, only its last tablet is kept.
    """

    __slots__ = (
        "__weakref__", "_host_by_id", "_host_ids", "_last_part", "_leaders", "_lock", "_numbers",
        "_tables", "_with_tablets", "count", "hits", "hosts", "limit", "misses",
    )  # fmt: skip

    def __init__(self, limit: int = _DEFAULT_LIMIT) -> None:
        if limit < 1:
            raise ValueError(f"a map of tablets has room for one at least, not for {limit}")
        self.limit = limit
        self.count = 0
        self.hits = 0
        self.misses = 0
        # The hosts by host number. An item is None if the driver does not know a host with this id.
        self.hosts: tuple[Any, ...] = ()
        self._host_ids: list[uuid.UUID] = []
        # Maps a host id to the host's number, which is its index in `_host_ids` and in `hosts`.
        self._numbers: dict[uuid.UUID, int] = {}
        self._last_part = 0  # the number of the version's part that `next_block` returned last
        self._host_by_id: dict[uuid.UUID | None, Host] = {}
        self._tables: dict[str, dict[str, _Table]] = {}  # by keyspace and table
        # The keyspaces with tablets, and the keyspaces whose tablets have leaders: see
        # `use_keyspaces`.
        self._with_tablets: frozenset[str] = frozenset()
        self._leaders: frozenset[str] = frozenset()
        self._lock = Lock()
        renewed(self)

    def _renew_locks(self) -> None:
        """Replace the lock in a forked process.

        Another thread may have held the lock. That thread does not exist in the child process, so
        nobody would release the lock.
        """
        self._lock = Lock()

    # -- known tablets -----------------------------------------------------------------------------

    def use_keyspaces(self, with_tablets: Iterable[str], leaders: Iterable[str]) -> bool:
        """Set the keyspaces whose tables have tablets; return True if they have changed.

        :param with_tablets: the names of these keyspaces.
        :param leaders: the keyspaces in which the first replica of a tablet is its leader.
        """
        previous = self._with_tablets, self._leaders
        self._with_tablets, self._leaders = frozenset(with_tablets), frozenset(leaders)
        return previous != (self._with_tablets, self._leaders)

    def has_keyspace(self, keyspace: str | None) -> bool:
        """Return True if the keyspace uses tablets.

        Then the replicas of its tables do not follow the token ring.
        """
        return keyspace in self._with_tablets or keyspace in self._tables

    def has_leaders(self, keyspace: str | None) -> bool:
        """Return True if the first replica of a tablet of this keyspace is its leader."""
        return keyspace in self._leaders

    def find(self, keyspace: str, table: str, token: int) -> tuple[Any, ...] | None:
        """Return (first token, last token, replicas, version) of the tablet that contains a token.

        The range excludes the first token. Replicas are pairs of host id and shard. Return None if
        the tablet is not known.
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
        """Return the tablet that contains `token`, or None if the tablet is not known."""
        tables = self._tables.get(keyspace) if keyspace is not None else None
        tablets = tables.get(table) if tables is not None and table is not None else None
        return tablets.find(token) if tablets is not None else None

    def numbers(
        self, keyspace: str | None, table: str | None, token: int
    ) -> tuple[int, ...] | None:
        """Return a token's replicas in the server's order, as indexes of `hosts`.

        Return None if the tablet is not known.
        """
        row = self._row(keyspace, table, token)
        return row.hosts if row is not None else None

    def replicas(
        self, keyspace: str | None, table: str | None, key: bytes
    ) -> tuple[Host, ...] | None:
        """Return the hosts with a replica of a serialized partition key, without unknown hosts.

        Return None if the tablet is not known.
        """
        row = self._row(keyspace, table, token_of(key))
        if row is None:
            return None
        hosts = [self.hosts[number] for number in row.hosts]
        return tuple([host for host in hosts if host is not None])

    def shard_on(
        self, host: Host, keyspace: str | None, table: str | None, token: int
    ) -> int | None:
        """Return the shard of `host` that serves the token's tablet.

        Return None if the tablet is not known, or has no replica on `host`.
        """
        row = self._row(keyspace, table, token)
        if row is not None:
            for number, shard in zip(row.hosts, row.shards, strict=True):
                if self.hosts[number] is host:
                    return shard
        return None

    def version_of(self, keyspace: str | None, table: str | None, token: int) -> int | None:
        """Return the version of a token's tablet, or None if the tablet is not known."""
        row = self._row(keyspace, table, token)
        return row.version if row is not None else None

    def next_block(self, keyspace: str | None, table: str | None, token: int | None) -> int:
        """Return the last byte of an EXECUTE, with a part of the tablet version that we know.

        The version has 16 parts (see `version_block`), and each call returns the next part. So
        after several requests, the server notices if our version is outdated.
        """
        # The parts have the numbers 0 to 15, so keep only four bits of the counter.
        self._last_part = self._last_part + 1 & 15
        version = self.version_of(keyspace, table, token) if token is not None else None
        return version_block(version, self._last_part)

    def tally(self, keyspace: str | None, table: str | None, token: int) -> None:
        """Count a request as a hit or a miss, unless its table has no tablets."""
        if self.has_keyspace(keyspace):
            if self._row(keyspace, table, token) is not None:
                self.hits += 1
            else:
                self.misses += 1

    def tables(self) -> list[tuple[str, str, int]]:
        """Return (keyspace, table, number of tablets) for all known tables."""
        return [
            (keyspace, name, len(table.rows))
            for keyspace, tables in list(self._tables.items())
            for name, table in list(tables.items())
        ]

    # -- reports from servers ----------------------------------------------------------------------

    def learn(self, keyspace: str | None, table: str | None, payload: bytes | None) -> bool:
        """Store a server's report of a tablet; return False if it cannot be used.

        :param payload: the value of ``tablets-routing-v1`` or ``tablets-routing-v2``.
        """
        if not keyspace or not table or payload is None:
            return False
        report = _parse_report(payload)
        if report is None:
            return False
        with self._lock:
            return self._store(keyspace, table, report)

    def _store(self, keyspace: str, table: str, report: _Report) -> bool:
        """Store a report; return False if there are too many hosts. The caller holds the lock."""
        first, last, replicas, version = report
        # Give numbers to new hosts. If the limit of hosts is reached, a new host gets no number.
        # Then we cannot use the report, because some of its replicas would be missing.
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
        existing = tables.get(table)
        # Create a new list, because another thread may be reading the old list for a query plan.
        updated = existing.replace_overlapping(row) if existing is not None else _Table([row])
        self.count += len(updated.rows) - (len(existing.rows) if existing is not None else 0)
        tables[table] = updated
        if self.count > self.limit:
            self._evict_oldest(keyspace, table)
        return True

    def _number_of(self, host_id: uuid.UUID) -> int | None:
        """Return the number of a host; add new hosts. None if there are too many hosts."""
        number = self._numbers.get(host_id)
        if number is None and len(self._host_ids) < _MOST_HOSTS:
            number = self._numbers[host_id] = len(self._host_ids)
            self._host_ids.append(host_id)
            self.hosts = (*self.hosts, self._host_by_id.get(host_id))
        return number

    def _evict_oldest(self, keyspace: str, table: str) -> None:
        """Drop all tablets of the table that was added first, but never of `table`."""
        # The oldest table comes first, because a dict keeps the order in which entries were added.
        for other_keyspace in list(self._tables):
            for other_table in list(self._tables[other_keyspace]):
                if (other_keyspace, other_table) != (keyspace, table):
                    self._drop(other_keyspace, other_table)
                    return
        # There is no other table, so keep only one tablet of this table.
        existing = self._tables[keyspace][table]
        self._tables[keyspace][table] = _Table(existing.rows[-1:])
        self.count = 1

    # -- removal -------------------------------------------------------------------------------

    def take_hosts(self, hosts: Iterable[Host]) -> None:
        """Set the hosts of the cluster, and drop tablets with a replica on any other host.

        Hosts are compared by id. A node that replaces another node has a new id, so the tablets of
        the old node are dropped.
        """
        with self._lock:
            self._take_hosts(hosts)

    def _take_hosts(self, hosts: Iterable[Host]) -> None:
        """Do what `take_hosts` does. The caller holds the lock."""
        self._host_by_id = by_id = {host.host_id: host for host in hosts}
        removed = {number for number, host_id in enumerate(self._host_ids) if host_id not in by_id}
        new_hosts = tuple([by_id.get(host_id) for host_id in self._host_ids])
        # A refresh usually finds the same nodes. Then keep the tuple: the code that makes query
        # plans compares it by identity, to know whether cached results are still valid.
        if len(new_hosts) != len(self.hosts) or any(
            new_host is not old_host
            for new_host, old_host in zip(new_hosts, self.hosts, strict=True)
        ):
            self.hosts = new_hosts
        if removed:
            self._drop_tablets_on(removed)

    def _drop_tablets_on(self, removed: set[int]) -> None:
        """Drop the tablets with a replica on a host whose number is in `removed`."""
        # Iterate over copies, because `_remove` changes the dicts.
        for keyspace, tables in list(self._tables.items()):
            for name, table in list(tables.items()):
                rows = [row for row in table.rows if removed.isdisjoint(row.hosts)]
                if len(rows) < len(table.rows):
                    self.count -= len(table.rows) - len(rows)
                    if rows:
                        tables[name] = _Table(rows)
                    else:
                        self._remove(keyspace, name)

    def drop(self, keyspace: str, table: str | None = None) -> None:
        """Forget the tablets of a table, or of all tables of a keyspace."""
        with self._lock:
            self._drop(keyspace, table)

    def _drop(self, keyspace: str, table: str | None) -> None:
        """Do what `drop` does. The caller holds the lock."""
        for name, tablets in list(self._tables.get(keyspace, {}).items()):
            if table in (None, name):
                self.count -= len(tablets.rows)
                self._remove(keyspace, name)

    def _remove(self, keyspace: str, table: str) -> None:
        """Remove a table. Also remove its keyspace if the keyspace has no other table."""
        tables = self._tables[keyspace]
        del tables[table]
        if not tables:
            del self._tables[keyspace]

    def clear(self) -> None:
        """Forget all tablets."""
        with self._lock:
            self._tables = {}
            self.count = 0


def token_of_statement(statement: object) -> int | None:
    """Return the token of a statement's partition key, or None if the key is not known."""
    key = getattr(statement, "routing_key", None)
    return token_of(key) if isinstance(key, bytes) else None


def version_block(version: int | None, index: int) -> int:
    """Return the byte with one part of the tablet version that the client knows.

    :param version: the tablet's version, or None if the tablet is not known.
    :param index: the number of the part: 0 (the four least significant bits) to 15.
    """
    # The upper four bits say which part it is, the lower four bits are the part itself.
    part = version >> 4 * index & 0xF if version is not None else 0
    return index << 4 | part


def split_payload(body: bytes) -> tuple[bytes, bytes] | None:
    """Split the body of a response whose custom payload is a single tablet report.

    :returns: the payload's value and the rest of the body; None for any other body.
    """
    # A [bytes map] with one entry begins with the [short] 1 and a [string], the key. Both possible
    # keys have 18 (0x12) bytes. The value, a [bytes], follows (native_protocol_v4.spec, section 3).
    if body[:2] != b"\0\1" or body[2:4] != b"\0\x12" or body[4:22] not in (_V1, _V2):
        return None
    # The value's length is at offset 22, after the count (2 bytes), the key's length (2) and the
    # key (18).
    end = 26 + int.from_bytes(body[22:26], "big", signed=True)
    if not 26 <= end <= len(body):
        return None
    return body[26:end], body[end:]


def _parse_report(data: bytes) -> _Report | None:
    """Read a tablet report: first token, last token, list of (host id, shard), optional version.

    The report is a CQL tuple. Return None if it is malformed. The version is 0 if the report has no
    version.
    """
    parts = _split_values(data)
    # The first two parts are tokens, of 8 bytes each.
    if parts is None or not 3 <= len(parts) <= 4 or [len(part) for part in parts[:2]] != [8, 8]:
        return None
    version = 0
    if len(parts) == 4:
        if len(parts[3]) != 8:
            return None
        version = int.from_bytes(parts[3], "big")
    first, last = (int.from_bytes(part, "big", signed=True) for part in parts[:2])
    # The third part is a list: the number of elements, followed by the elements.
    elements = _split_values(parts[2][4:])
    # A range never wraps around the end of the ring, because servers split tablets there.
    if first >= last or elements is None or len(parts[2]) < 4:
        return None
    if len(elements) != int.from_bytes(parts[2][:4], "big") or len(elements) > _MOST_REPLICAS:
        return None
    replicas = []
    for pair in map(_split_values, elements):
        # A host id has 16 bytes, and the number of a shard has 4.
        if pair is None or [len(part) for part in pair] != [16, 4]:
            return None
        shard = int.from_bytes(pair[1], "big", signed=True)
        # The compiled version of this module stores a shard number in 16 bits.
        if not 0 <= shard < 0xFFFF:
            return None
        replicas.append((uuid.UUID(bytes=pair[0]), shard))
    return first, last, replicas, version


def _split_values(data: bytes) -> list[bytes] | None:
    """Split `data` into values, each of which is preceded by its length of 4 bytes.

    Return None if the data is malformed.
    """
    values = []
    offset = 0
    while offset < len(data):
        size = int.from_bytes(data[offset : offset + 4], "big", signed=True)
        if size < 0 or offset + 4 + size > len(data):
            return None
        values.append(data[offset + 4 : offset + 4 + size])
        offset += 4 + size
    return values
