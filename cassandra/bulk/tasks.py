"""Splits a scan into tasks that other processes or machines can run."""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from cassandra._habits import add_habits
from cassandra._unknown_options import with_example
from cassandra.bulk.ranges import TokenRange
from cassandra.bulk.scan import Scan
from cassandra.bulk.target import check_session, full_name, table_of
from cassandra.cluster.cluster import Cluster
from cassandra.cluster.session import Session

__all__ = ["ScanTask", "scan_tasks", "worker_session"]

# The sessions by (process id, pickled settings). The process id is needed because a forked worker
# has a copy of this dict, but cannot use the connections of its parent.
_sessions: dict[tuple[int, bytes], Session] = {}


@dataclass(frozen=True, slots=True)
class ScanTask:
    """A token range of a table to read. It can be pickled, and read any number of times.

    :param table: ``keyspace.table``.
    :param columns: column names, or a string of selectors; None for all columns.
    :param where: a condition in CQL; None for all rows.
    :param range: the token range.
    :param options: see `cassandra.bulk.ScanOptions`.
    """

    table: str
    columns: tuple[str, ...] | str | None
    where: str | None
    range: TokenRange
    options: dict[str, Any] = field(default_factory=dict)

    @with_example("task.scan(session), with a session of this process")
    def scan(self, session: Session) -> Scan:
        """Return the scan of this range.

        :param session: a blocking session that this process has connected. A forked process cannot
            use the sessions of its parent.
        """
        options: Any = {**self.options, "ranges": [self.range]}
        return Scan(session, self.table, self.columns, self.where, options)

    def of_columns(self, columns: Sequence[str]) -> ScanTask:
        """Return a copy of this task that reads only these columns.

        :param columns: their names.
        """
        return replace(self, columns=tuple(columns))

    @with_example("task.rows(session), with a session of this process")
    def rows(self, session: Session) -> Iterator[Any]:
        """Return an iterator over the rows.

        :param session: a blocking session that this process has connected. A forked process cannot
            use the sessions of its parent.
        """
        return iter(self.scan(session))

    @with_example("task.arrow_batches(session), with a session of this process")
    def arrow_batches(self, session: Session, **options: Any) -> Iterator[Any]:
        """Return an iterator of `pyarrow.RecordBatch`, one per page.

        :param session: a blocking session that this process has connected. A forked process cannot
            use the sessions of its parent.
        :param options: see `cassandra.cluster.ResultSet.to_arrow`.
        """
        return self.scan(session).arrow_batches(**options)


def scan_tasks(
    session: Session,
    table: str,
    columns: Sequence[str] | str | None = None,
    where: str | None = None,
    **options: Any,
) -> list[ScanTask]:
    """Split a table into tasks that together read each row exactly once.

    :param session: a blocking session.
    :param table: ``keyspace.table``, or ``table`` in the session's keyspace.
    :param columns: column names, or a string of CQL selectors; None for all columns.
    :param where: a condition in CQL, with ``?`` for the option `parameters`; None for all rows.
    :param options: see `cassandra.bulk.ScanOptions`. `splits` is about how many tasks to make.
        Checkpoints and limits are refused: each task is read from its beginning, and a limit would
        apply to each task.
    """
    check_session(session, "scan_tasks(session, 'table')")
    for name in ("checkpoint", "limit"):
        if options.get(name) is not None:
            raise TypeError(f"tasks do not have the option {name!r}")
    if columns is not None and not isinstance(columns, str):
        columns = tuple(columns)
    # The session of a worker may have another keyspace, so the tasks need the full name.
    table = full_name(table_of(session.cluster.metadata, table, session.keyspace, with_views=True))
    ranges = Scan(session, table, columns, where, options).token_ranges()  # type: ignore[arg-type]
    task_options = {
        name: value for name, value in options.items() if name not in ("splits", "ranges")
    }
    return [ScanTask(table, columns, where, token_range, task_options) for token_range in ranges]


def worker_session(settings: Mapping[str, Any]) -> Session:
    """Return this process's session for a cluster; connects on the first call.

    For workers of Dask, Ray and similar tools, which receive tasks and cannot keep a session.

    :param settings: picklable settings of `cassandra.cluster.Cluster`.
    """
    # A forked process must not use the session of its parent, so the key has the process id.
    key = (os.getpid(), pickle.dumps(sorted(settings.items())))
    session = _sessions.get(key)
    if session is None:
        # We use no lock: if a process is forked while one of its threads holds the lock, the child
        # would wait for it forever. Instead, two threads may connect at the same time; then the
        # first session is kept, and the other is closed.
        new_session = Cluster(**settings).connect()
        session = _sessions.setdefault(key, new_session)
        if session is not new_session:
            new_session.cluster.shutdown()
    return session


_WITH_SESSION = "write task.scan(session).{}(), with a session of this process"
add_habits(
    ScanTask,
    {
        **{
            name: _WITH_SESSION.format(name)
            for name in ("to_arrow", "to_pandas", "to_polars", "to_numpy", "pages", "reader")
        },
        **dict.fromkeys(
            ("to_df", "df", "result", "compute", "run", "execute", "fetch"),
            _WITH_SESSION.format("to_pandas"),
        ),
        **dict.fromkeys(("count", "size"), "write session.count(task.table, ranges=[task.range])"),
    },
    operations={"__getitem__": "write task.rows(session), with a session of this process"},
)
