"""Records the outcome of each write, and finally compares the writes with the rows of the nodes."""

from __future__ import annotations

import threading
from collections import Counter
from typing import NamedTuple

from cassandra import ConsistencyLevel
from cassandra.cluster import Session
from cassandra.query import SimpleStatement

# This is the number of rows with a list column. Each odd number is appended to one of the lists.
LISTS = 50


class Verdict(NamedTuple):
    """The result of a campaign.

    :param acknowledged: the number of acknowledged writes.
    :param failed: the number of requests that raised an error.
    :param reads: the number of reads.
    :param lost: the numbers that were acknowledged, but are not in the tables.
    :param doubled: the numbers that were appended more than once.
    :param crossed: descriptions of responses that belonged to another request.
    :param hung: descriptions of requests that did not end.
    """

    acknowledged: int
    failed: int
    reads: int
    lost: list[int]
    doubled: list[int]
    crossed: list[str]
    hung: list[str]

    @property
    def is_clean(self) -> bool:
        return not (self.lost or self.doubled or self.crossed or self.hung)

    def __str__(self) -> str:
        return (
            f"{self.acknowledged} writes acknowledged, {self.failed} failed, {self.reads} reads; "
            f"{len(self.lost)} lost, {len(self.doubled)} doubled, {len(self.crossed)} crossed, "
            f"{len(self.hung)} hung"
        )


class Accountant:
    """Counts and checks the outcomes of requests.

    All methods may be called from any thread.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._next = 0
        self.acknowledged: set[int] = set()
        self.failed: Counter[str] = Counter()
        self.reads = 0
        self.crossed: list[str] = []
        self.hung: list[str] = []

    def number(self) -> int:
        """Return a number that no earlier write has used."""
        with self._lock:
            self._next += 1
            return self._next

    def note_written(self, number: int) -> None:
        """Record that the nodes have acknowledged the write with this number."""
        with self._lock:
            self.acknowledged.add(number)

    def note_failed(self, error: BaseException) -> None:
        """Count an error of a request by its class."""
        with self._lock:
            self.failed[type(error).__name__] += 1

    def note_read(self, requested: int, rows: list[tuple[int, str]]) -> None:
        """Count a read, and record it as crossed if its rows belong to another request.

        :param requested: the requested key, which each row must have.
        """
        with self._lock:
            self.reads += 1
            if any(key != requested or value != str(requested) for key, value in rows):
                self.crossed.append(f"asked for {requested}, got {rows}")

    def note_hung(self, what: str) -> None:
        """Record a description of a request that did not end."""
        with self._lock:
            self.hung.append(what)

    def close(self, session: Session) -> Verdict:
        """Read all rows, and compare them with the acknowledged writes."""
        # Odd numbers were appended to lists. Even numbers are keys of the table `t`.
        keys = SimpleStatement("SELECT k FROM t", consistency_level=ConsistencyLevel.ALL)
        keys_read = {row.k for row in session.execute(keys, timeout=60)}
        appended: Counter[int] = Counter()
        lists = SimpleStatement("SELECT l FROM lists", consistency_level=ConsistencyLevel.ALL)
        for row in session.execute(lists, timeout=60):
            appended.update(row.l or ())

        def is_stored(number: int) -> bool:
            return number in appended if number % 2 else number in keys_read

        return Verdict(
            acknowledged=len(self.acknowledged),
            failed=sum(self.failed.values()),
            reads=self.reads,
            lost=sorted(number for number in self.acknowledged if not is_stored(number)),
            doubled=sorted(number for number, times in appended.items() if times > 1),
            crossed=self.crossed,
            hung=self.hung,
        )
