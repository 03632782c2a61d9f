"""A scan in pieces that other processes, or machines, can read."""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from cassandra.bulk.ranges import TokenRange
from cassandra.bulk.scan import Scan
from cassandra.cluster.cluster import Cluster
from cassandra.cluster.session import Session

__all__ = ["ScanTask", "scan_tasks", "worker_session"]

# By process and settings: a forked worker has connections of its own.
_sessions: dict[tuple[int, bytes], Session] = {}


@dataclass(frozen=True, slots=True)
class ScanTask:
    """A range of a table. It can be pickled, and read as often as one likes.

    :param table: ``keyspace.table``.
    :param columns: names of columns, or a text of selectors; None for all.
    :param where: a condition in CQL; None for all rows.
    :param range: the tokens.
    :param options: see `cassandra.bulk.scan.ScanOptions`.
    """

    table: str
    columns: tuple[str, ...] | str | None
    where: str | None
    range: TokenRange
    options: dict[str, Any] = field(default_factory=dict)

    def scan(self, session: Session) -> Scan:
        """Return the scan of this range.

        :param session: a blocking session of the process that reads.
        """
        options: Any = {**self.options, "ranges": [self.range]}
        return Scan(session, self.table, self.columns, self.where, options)

    def of_columns(self, columns: Sequence[str]) -> ScanTask:
        """Return the task that reads these columns of the range.

        :param columns: their names.
        """
        return replace(self, columns=tuple(columns))

    def rows(self, session: Session) -> Iterator[Any]:
        """Return an iterator over the rows.

        :param session: a blocking session of the process that reads.
        """
        return iter(self.scan(session))

    def arrow_batches(self, session: Session, **options: Any) -> Iterator[Any]:
        """Return an iterator of `pyarrow.RecordBatch`, one for each page.

        :param session: a blocking session of the process that reads.
        :param options: those of `cassandra.cluster.ResultSet.to_arrow`.
        """
        return self.scan(session).arrow_batches(**options)


def scan_tasks(
    session: Session,
    table: str,
    columns: Sequence[str] | str | None = None,
    where: str | None = None,
    **options: Any,
) -> list[ScanTask]:
    """Cut a table into tasks; together they have each row once.

    :param session: a blocking session.
    :param table: ``keyspace.table``, or ``table`` in the session's keyspace.
    :param columns: names of columns, or a text of selectors as in CQL; None for all.
    :param where: a condition in CQL, with ``?`` for the option `parameters`; None for all rows.
    :param options: see `cassandra.bulk.scan.ScanOptions`. `splits` is about how many tasks are
        wanted. A checkpoint is not possible: each task is read anew. Nor is a limit, which would
        be one of each task.
    """
    for name in ("checkpoint", "limit"):
        if options.get(name) is not None:
            raise TypeError(f"tasks do not have the option {name!r}")
    if columns is not None and not isinstance(columns, str):
        columns = tuple(columns)
    if "." not in table:
        # Sessions of other processes may have another keyspace.
        table = f"{session.keyspace}.{table}" if session.keyspace else table
    ranges = Scan(session, table, columns, where, options).token_ranges()  # type: ignore[arg-type]
    kept = {name: value for name, value in options.items() if name not in ("splits", "ranges")}
    return [ScanTask(table, columns, where, one, kept) for one in ranges]


def worker_session(settings: Mapping[str, Any]) -> Session:
    """Return the session of this process for a cluster, which connects once.

    For workers of Dask, Ray and their like, which get tasks and have no place to keep a session.

    :param settings: of `cassandra.cluster.Cluster`; such that can be pickled.
    """
    key = (os.getpid(), pickle.dumps(sorted(settings.items())))
    found = _sessions.get(key)
    if found is None:
        # Without a lock, which a forked worker could find held: the first one stays.
        made = Cluster(**settings).connect()
        found = _sessions.setdefault(key, made)
        if found is not made:
            made.cluster.shutdown()
    return found
