"""A scan without I/O: its statement, its ranges, and which page to request next."""

from __future__ import annotations

import re
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

# A generator that yields functions; each is called with a session, and its result is sent back.
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

    def bind(self, token_range: TokenRange, page_size: int, level: int | None) -> BoundStatement:
        """Return the statement for a range, which will be sent to a replica of the range.

        :param token_range: the range.
        :param page_size: rows per page.
        :param level: the consistency level; None for the profile's.
        """
        bounds = (token_range.start, token_range.end) if self.has_tokens else ()
        bound = self.prepared.bind((*bounds, *self.parameters))
        if self.has_tokens:
            bound.routing_key = token_range.routing_key
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
    """Yield functions to call with a session; return the `ScanStatement` for their results.

    :param session: a session of either API, used for its metadata only.
    :param name: the table.
    :param columns: column names, or a string of selectors; None for all columns.
    :param where: a condition in CQL, with ``?`` for `parameters`; None for all rows.
    :param parameters: the condition's values.
    :param splits: about how many ranges are requested; None for ranges of about 32 MiB.
    :param concurrency: pages in flight.
    """
    metadata = session.cluster.metadata
    table = table_of(metadata, name, session.keyspace, with_views=True)
    keyspace, table_name = table.keyspace_name, table.name
    token_map = metadata.token_map
    has_tokens = (
        token_map is not None
        and token_map.token_class is Murmur3Token
        # Rows of virtual tables are computed by the queried node and are not on the ring: they use
        # another partitioner.
        and not metadata.keyspaces[keyspace].virtual
    )
    query = _query_of(table, columns, where, has_tokens)
    prepared = yield lambda session: session.prepare(query)
    if not has_tokens:
        return ScanStatement(prepared, [TokenRange(FIRST, LAST)], False, parameters)
    estimates: list[Estimate] = []
    rows = PlainRows()
    for host in metadata.all_hosts():
        if host.is_up is False:
            continue
        try:
            answer = yield _estimates_of(host, keyspace, table_name)
        except DriverException:
            continue  # the ring alone is good enough
        estimates += [
            Estimate(int(start), int(end), int(mean) * int(count))
            for start, end, mean, count in rows.tuples(answer)
            if start is not None and end is not None and mean and count
        ]
    ranges = ring_ranges(metadata, keyspace)
    weights = weigh(ranges, estimates)
    if splits is None:
        total = sum(weights) if any(estimate.bytes for estimate in estimates) else 0
        splits = max(int(total / BYTES_OF_A_RANGE), concurrency * 4)
    splits = at_tablets(metadata, keyspace, splits)
    return ScanStatement(prepared, split_ranges(ranges, weights, splits), True, parameters)


def _query_of(
    table: TableMetadata, columns: Sequence[str] | str | None, where: str | None, has_tokens: bool
) -> str:
    if columns is None:
        selectors = ", ".join(escape_name(column) for column in table.columns)
    elif isinstance(columns, str):
        selectors = columns
    else:
        selectors = ", ".join(escape_name(column) for column in columns)
    conditions = []
    if has_tokens:
        key = ", ".join(escape_name(column.name) for column in table.partition_key)
        conditions = [f"token({key}) > ? AND token({key}) <= ?"]
    if where:
        if re.match(r"\s*where\b", where, re.IGNORECASE):
            raise ValueError(f"where is the condition alone, without WHERE, but is {where!r}")
        conditions.append(where)
    query = f"SELECT {selectors} FROM {escape_name(table.keyspace_name)}.{escape_name(table.name)}"
    if conditions:
        query += f" WHERE {' AND '.join(conditions)}"
    if where:
        # We read the whole table anyway, so servers should not refuse the condition.
        query += " ALLOW FILTERING"
    return query


def _estimates_of(host: Host, keyspace: str, table: str) -> Callable[[Any], Any]:
    # We write the literals ourselves, since the session's encoder may be the application's. One
    # page from one node: the session's page size and the profile's consistency level do not apply.
    statement = SimpleStatement(
        _ESTIMATES.format(cql_string(keyspace), cql_string(table)),
        consistency_level=ConsistencyLevel.ONE,
        fetch_size=None,
        is_idempotent=True,
    )
    # Each node only has estimates of its own ranges.
    return lambda session: session.execute(statement, timeout=10.0, host=host)


class Fetch:
    """A page that is requested.

    :param number: the index of its range.
    :param state: the paging state where it begins; None for the beginning of the range.
    """

    __slots__ = ("attempts", "handle", "number", "state")

    def __init__(self, number: int, state: bytes | None) -> None:
        self.number = number
        self.state = state
        self.attempts = 0
        self.handle: Any = None  # the result or future of the request in flight


class PageQueue:
    """Keeps track of which pages are in flight, which is taken next, and which were used.

    A page is requested with the paging state at the end of the previous page. So a page that is
    lost with its node can be requested again as often as needed, and no row comes twice.

    :param ranges: the ranges of the scan.
    :param concurrency: the greatest number of pages in flight, or waiting to be taken.
    :param max_bytes: a limit for the bytes of such pages, estimated from the latest pages. One page
        is always requested, and with `in_order` the next one is.
    :param in_order: whether ranges are taken one after the other.
    """

    def __init__(
        self, ranges: Sequence[TokenRange], concurrency: int, max_bytes: int, in_order: bool
    ) -> None:
        self.ranges = ranges
        self._concurrency = concurrency
        self._max_bytes = max_bytes
        self._in_order = in_order
        self._in_flight: deque[Fetch] = deque()
        self._waiting = deque(Fetch(number, None) for number in range(len(ranges)))
        # Expected size of a page: follows larger pages at once, and smaller pages slowly.
        self._page_bytes = 0.0
        # For unfinished ranges: the paging state after the last used page.
        self.paging_states: dict[int, bytes] = {}
        self.finished: set[int] = set()

    def to_send(self) -> Iterator[Fetch]:
        """Yield the pages to request now; each then counts as in flight."""
        while self._waiting:
            in_flight = len(self._in_flight)
            is_full = in_flight >= self._concurrency or (
                (in_flight + 1) * self._page_bytes > self._max_bytes
            )
            if in_flight and is_full and not self._is_next_in_order(self._waiting[0]):
                return
            fetch = self._waiting.popleft()
            self._in_flight.append(fetch)
            yield fetch

    def _is_next_in_order(self, fetch: Fetch) -> bool:
        """Return True with `in_order` if all pages in flight come after this page.

        Such a page is requested regardless of the limits: no other page can be taken before it, so
        waiting would never free capacity.
        """
        return self._in_order and all(fetch.number < other.number for other in self._in_flight)

    def oldest(self) -> Fetch | None:
        """Return the page to wait for; None at the end.

        With `in_order` this is the next page of the first unfinished range, which `to_send` has
        requested.
        """
        if not self._in_flight:
            return None
        if self._in_order:
            return min(self._in_flight, key=lambda fetch: fetch.number)
        return self._in_flight[0]

    def arrived(self, fetch: Fetch, state: bytes | None, size: int) -> None:
        """Record that a page has come.

        :param fetch: the page.
        :param state: its paging state; None for the last page of its range.
        :param size: its size in bytes.
        """
        self._in_flight.remove(fetch)
        self._page_bytes = max(size, self._page_bytes + (size - self._page_bytes) / 8)
        if state is not None:
            # Before other ranges, so that ranges are finished first.
            self._waiting.appendleft(Fetch(fetch.number, state))

    def used(self, fetch: Fetch, state: bytes | None) -> None:
        """Record that the rows of a page were used.

        :param fetch: the page.
        :param state: its paging state.
        """
        if state is None:
            self.finished.add(fetch.number)
            self.paging_states.pop(fetch.number, None)
        else:
            self.paging_states[fetch.number] = state

    def rest(self) -> list[Fetch]:
        """Return the pages that were requested but not taken."""
        return list(self._in_flight)

    # -- checkpoints -------------------------------------------------------------------------------

    def save(self, checkpoint: Checkpoint) -> None:
        """Save which pages were used.

        :param checkpoint: the checkpoint.
        """
        checkpoint.save(
            ranges=[
                [token_range.start, token_range.end, list(token_range.replicas)]
                for token_range in self.ranges
            ],
            finished=sorted(self.finished),
            places={str(number): state.hex() for number, state in self.paging_states.items()},
        )

    def resume(self, checkpoint: Checkpoint) -> None:
        """Resume where the scan of a checkpoint ended; do nothing if the checkpoint is empty.

        :param checkpoint: the checkpoint.
        :raises ValueError: if it is damaged.
        """
        content = checkpoint.state
        if not content:
            return
        try:
            ranges = [
                TokenRange(start, end, tuple(replicas))
                for start, end, replicas in content["ranges"]
            ]
            finished = set(content["finished"])
            paging_states = {
                int(number): bytes.fromhex(state) for number, state in content["places"].items()
            }
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"the checkpoint of the scan is damaged: {error!r}") from error
        self.ranges, self.finished, self.paging_states = ranges, finished, paging_states
        self._waiting = deque(
            Fetch(number, paging_states.get(number))
            for number in range(len(ranges))
            if number not in finished
        )
