"""A scan without input and output: its statement, its ranges, and which page is asked for next."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from cassandra.bulk.checkpoint import Checkpoint
from cassandra.bulk.plain import PlainRows
from cassandra.bulk.ranges import (
    FIRST,
    LAST,
    Estimate,
    TokenRange,
    at_tablets,
    ring_ranges,
    split_ranges,
    weigh,
)
from cassandra.bulk.target import table_of
from cassandra.consistency import ConsistencyLevel
from cassandra.errors import (
    DriverException,
)
from cassandra.metadata.placement.tokens import Murmur3Token
from cassandra.query.statement import SimpleStatement
from cassandra.util.cql_text import cql_string, escape_name

if TYPE_CHECKING:
    from cassandra.metadata.host import Host
    from cassandra.metadata.schema.tables import TableMetadata
    from cassandra.query import PreparedStatement
    from cassandra.query.bound import BoundStatement

__all__ = ["Fetch", "PageQueue", "ScanStatement"]

_ESTIMATES = (
    "SELECT range_start, range_end, mean_partition_size, partitions_count "
    "FROM system.size_estimates WHERE keyspace_name = {} AND table_name = {}"
)
BYTES_OF_A_RANGE = 32 << 20

# A call on a session of either face. A step of a plan yields one, and is sent what came of it.
Steps = Generator[Callable[[Any], Any], Any, "ScanStatement"]


class ScanStatement:
    """The prepared statement of a scan, and its ranges.

    :param prepared: the statement.
    :param ranges: the ranges to read, in order.
    :param has_tokens: whether its first two parameters are the bounds of a range.
    :param parameters: the values of the condition's own markers.
    """

    def __init__(
        self,
        prepared: PreparedStatement,
        ranges: Sequence[TokenRange],
        has_tokens: bool,
        parameters: Sequence[Any],
    ) -> None:
        self.prepared = prepared
        self.ranges = ranges
        self.has_tokens = has_tokens
        self.parameters = tuple(parameters)

    def bind(self, one: TokenRange, page_size: int, level: int | None) -> BoundStatement:
        """Return the statement for a range, which is sent to a replica of it.

        :param one: the range.
        :param page_size: rows in a page.
        :param level: the consistency level; None for that of the profile.
        """
        bounds = (one.start, one.end) if self.has_tokens else ()
        bound = self.prepared.bind((*bounds, *self.parameters))
        if self.has_tokens:
            bound.routing_key = one.routing_key
        bound.fetch_size = page_size
        bound.is_idempotent = True
        if level is not None:
            bound.consistency_level = level
        return bound


def plan_steps(
    session: Any,
    name: str,
    columns: Sequence[str] | str | None,
    where: str | None,
    parameters: Sequence[Any],
    splits: int | None,
    concurrency: int,
) -> Steps:
    """Yield calls on a session, and return the `ScanStatement` that their results make.

    :param session: a session of either face; the calls are not made here.
    :param name: the table.
    :param columns: names of columns, or a text of selectors; None for all columns.
    :param where: a condition in CQL, with ``?`` for `parameters`; None for all rows.
    :param parameters: the condition's values.
    :param splits: about how many ranges are wanted; None for ranges of about 32 MiB.
    :param concurrency: pages in flight.
    """
    metadata = session.cluster.metadata
    table = table_of(metadata, name, session.keyspace, with_views=True)
    keyspace, own = table.keyspace_name, table.name
    token_map = metadata.token_map
    has_tokens = (
        token_map is not None
        and token_map.token_class is Murmur3Token
        # Rows of virtual tables are computed by the node that is asked, and have no place in the
        # ring: their tokens are those of another partitioner.
        and not metadata.keyspaces[keyspace].virtual
    )
    query = _query_of(table, columns, where, has_tokens)
    prepared = yield lambda on: on.prepare(query)
    if not has_tokens:
        return ScanStatement(prepared, [TokenRange(FIRST, LAST)], False, parameters)
    estimates: list[Estimate] = []
    rows = PlainRows()
    for host in metadata.all_hosts():
        if host.is_up is False:
            continue
        try:
            answer = yield _estimates_of(host, keyspace, own)
        except DriverException:
            continue  # the ring alone will do
        estimates += [
            Estimate(int(start), int(end), int(mean) * int(count))
            for start, end, mean, count in rows.tuples(answer)
            if start is not None and end is not None and mean and count
        ]
    ranges = ring_ranges(metadata, keyspace)
    weights = weigh(ranges, estimates)
    if splits is None:
        total = sum(weights) if any(one.bytes for one in estimates) else 0
        splits = max(int(total / BYTES_OF_A_RANGE), concurrency * 4)
    splits = at_tablets(metadata, keyspace, splits)
    return ScanStatement(prepared, split_ranges(ranges, weights, splits), True, parameters)


def _query_of(
    table: TableMetadata, columns: Sequence[str] | str | None, where: str | None, has_tokens: bool
) -> str:
    if columns is None:
        chosen = ", ".join(escape_name(column) for column in table.columns)
    elif isinstance(columns, str):
        chosen = columns
    else:
        chosen = ", ".join(escape_name(column) for column in columns)
    conditions = []
    if has_tokens:
        key = ", ".join(escape_name(column.name) for column in table.partition_key)
        conditions = [f"token({key}) > ? AND token({key}) <= ?"]
    if where:
        conditions.append(where)
    query = f"SELECT {chosen} FROM {escape_name(table.keyspace_name)}.{escape_name(table.name)}"
    if conditions:
        query += f" WHERE {' AND '.join(conditions)}"
    if where:
        # The whole table is read all the same: its servers need not refuse it.
        query += " ALLOW FILTERING"
    return query


def _estimates_of(host: Host, keyspace: str, table: str) -> Callable[[Any], Any]:
    # With literals of our own, since the session's encoder may be the application's. In one page at
    # one node: neither the session's page size nor the profile's consistency level apply.
    statement = SimpleStatement(
        _ESTIMATES.format(cql_string(keyspace), cql_string(table)),
        consistency_level=ConsistencyLevel.ONE,
        fetch_size=None,
        is_idempotent=True,
    )
    # Each node knows its own ranges only.
    return lambda session: session.execute(statement, timeout=10.0, host=host)


class Fetch:
    """A page that is asked for.

    :param number: the range's place.
    :param state: the paging state that it begins at; None for the range's beginning.
    """

    __slots__ = ("attempts", "handle", "number", "state")

    def __init__(self, number: int, state: bytes | None) -> None:
        self.number = number
        self.state = state
        self.attempts = 0
        self.handle: Any = None  # what the face gave for the request that is in flight


class PageQueue:
    """Which pages are in flight, which one is taken next, and which are read already.

    A page is asked for when it begins where the one before it ended. So a page that is lost with
    its node is asked for again as often as needed, and no row comes twice.

    :param ranges: the ranges of the scan.
    :param concurrency: pages in flight, or waiting to be taken, at most.
    :param max_bytes: bytes of such pages at most, by the sizes of the latest pages. A single page
        is always asked for, and in order the next one.
    :param in_order: whether ranges are taken one after the other.
    """

    def __init__(
        self, ranges: Sequence[TokenRange], concurrency: int, max_bytes: int, in_order: bool
    ) -> None:
        self.ranges = ranges
        self._concurrency = concurrency
        self._max_bytes = max_bytes
        self._in_order = in_order
        self._flying: deque[Fetch] = deque()
        self._waiting = deque(Fetch(number, None) for number in range(len(ranges)))
        # What a page is likely to take: it follows larger pages at once, and smaller ones slowly.
        self._page_bytes = 0.0
        # Of ranges that are not finished, the place after the last page that was used.
        self.places: dict[int, bytes] = {}
        self.finished: set[int] = set()

    def to_send(self) -> Iterator[Fetch]:
        """Yield the pages to ask for now; each counts as in flight from then on."""
        while self._waiting:
            flying = len(self._flying)
            is_full = flying >= self._concurrency or (
                (flying + 1) * self._page_bytes > self._max_bytes
            )
            if flying and is_full and not self._is_next_in_order(self._waiting[0]):
                return
            fetch = self._waiting.popleft()
            self._flying.append(fetch)
            yield fetch

    def _is_next_in_order(self, fetch: Fetch) -> bool:
        """Return True if all pages in flight come after this one, and the order counts.

        It is asked for whatever the limits are: nothing can be taken before it, so that no room
        would become free.
        """
        return self._in_order and all(fetch.number < other.number for other in self._flying)

    def oldest(self) -> Fetch | None:
        """Return the page to wait for; None at the end.

        In order, that is the next page of the lowest range that is not finished: `to_send` has
        asked for it.
        """
        if not self._flying:
            return None
        if self._in_order:
            return min(self._flying, key=lambda fetch: fetch.number)
        return self._flying[0]

    def arrived(self, fetch: Fetch, state: bytes | None, size: int) -> None:
        """Note that a page has come.

        :param fetch: the page.
        :param state: its paging state; None if it is the last one of its range.
        :param size: its bytes.
        """
        self._flying.remove(fetch)
        self._page_bytes = max(size, self._page_bytes + (size - self._page_bytes) / 8)
        if state is not None:
            # Before further ranges: what is begun ends first.
            self._waiting.appendleft(Fetch(fetch.number, state))

    def used(self, fetch: Fetch, state: bytes | None) -> None:
        """Note that the rows of a page were used.

        :param fetch: the page.
        :param state: its paging state.
        """
        if state is None:
            self.finished.add(fetch.number)
            self.places.pop(fetch.number, None)
        else:
            self.places[fetch.number] = state

    def rest(self) -> list[Fetch]:
        """Return the pages that were asked for and not taken."""
        return list(self._flying)

    # -- checkpoints -------------------------------------------------------------------------------

    def save(self, checkpoint: Checkpoint) -> None:
        """Write the pages that were used into a file, in one step.

        :param checkpoint: the file.
        """
        checkpoint.save(
            ranges=[[one.start, one.end, list(one.replicas)] for one in self.ranges],
            finished=sorted(self.finished),
            places={str(number): state.hex() for number, state in self.places.items()},
        )

    def resume(self, checkpoint: Checkpoint) -> None:
        """Go on where the scan that wrote a file ended; do nothing if there is no file.

        :param checkpoint: the file.
        :raises ValueError: if it is damaged.
        """
        content = checkpoint.state
        if not content:
            return
        try:
            ranges = [TokenRange(start, end, tuple(at)) for start, end, at in content["ranges"]]
            finished = set(content["finished"])
            places = {int(k): bytes.fromhex(v) for k, v in content["places"].items()}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"the checkpoint of the scan is damaged: {error!r}") from error
        self.ranges, self.finished, self.places = ranges, finished, places
        self._waiting = deque(
            Fetch(number, places.get(number))
            for number in range(len(ranges))
            if number not in finished
        )
