"""Splits the scan of a table into tasks, which other processes or machines can run."""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from cassandra._habits import add_habits
from cassandra._steps import drive
from cassandra._unknown_options import with_example
from cassandra.bulk.ranges import TokenRange
from cassandra.bulk.same_table import TableWatch
from cassandra.bulk.scan import Scan
from cassandra.bulk.scan_plan import current_table_steps, known_table_steps, performer
from cassandra.bulk.target import check_session, full_name, names_of_columns
from cassandra.cluster.cluster import Cluster
from cassandra.cluster.session import Session

__all__ = ["ScanTask", "scan_tasks", "worker_session"]

# The sessions of `worker_session`, by (process id, pickled settings). The process id is in the key
# because a forked process has a copy of this dict, but cannot use its parent's connections.
_sessions: dict[tuple[int, bytes], Session] = {}


@dataclass(frozen=True, slots=True)
class ScanTask:
    """A task that reads a token range of a table. It can be pickled, and run any number of times.

    :param table: ``keyspace.table``.
    :param columns: column names, or a string of selectors; None for all columns.
    :param where: a condition in CQL; None for all rows.
    :param range: the token range.
    :param options: see `cassandra.bulk.ScanOptions`.
    :param table_id: the id that the table had when the tasks were made; None if it is unknown. If
        the table is dropped and created again, a task fails, because another task may have read
        rows of the dropped table.
    """

    table: str
    columns: tuple[str, ...] | str | None
    where: str | None
    range: TokenRange
    options: dict[str, Any] = field(default_factory=dict)
    table_id: str | None = None

    @with_example("task.scan(session), with a session of this process")
    def scan(self, session: Session) -> Scan:
        """Return the scan of this range.

        :param session: a blocking session that was connected in this process. A forked process
            cannot use the sessions of its parent.
        """
        options: Any = {**self.options, "ranges": [self.range]}
        scan = Scan(session, self.table, self.columns, self.where, options)
        scan.table_id = self.table_id
        return scan

    def of_columns(self, columns: Sequence[str]) -> ScanTask:
        """Return a copy of this task that reads only these columns.

        :param columns: the names of the columns.
        :raises TypeError: if the argument is a string.
        :raises ValueError: if the task reads selectors. A selector may have the name of another
            column of the table, as in ``a AS b``, so reading the columns of these names instead
            would return other values.
        """
        if isinstance(columns, str):
            raise TypeError(f"columns is a list of names, not the text {columns!r}")
        if isinstance(self.columns, str):
            raise ValueError(
                f"the task reads the selectors {self.columns!r}, which are not chosen by name: "
                "read them all, or write scan_tasks(session, table, columns=['id', 'name'])"
            )
        return replace(self, columns=tuple(columns))

    @with_example("task.rows(session), with a session of this process")
    def rows(self, session: Session) -> Iterator[Any]:
        """Return an iterator over the rows.

        :param session: a blocking session that was connected in this process. A forked process
            cannot use the sessions of its parent.
        """
        return iter(self.scan(session))

    @with_example("task.arrow_batches(session), with a session of this process")
    def arrow_batches(self, session: Session, **options: Any) -> Iterator[Any]:
        """Return an iterator of `pyarrow.RecordBatch`, one per page.

        :param session: a blocking session that was connected in this process. A forked process
            cannot use the sessions of its parent.
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
    :param columns: column names, or a string of CQL selectors; None for all columns that the table
        has now. All tasks then read these columns, even if columns are added before a task runs.
    :param where: a condition in CQL, with ``?`` for the option `parameters`; None for all rows.
    :param options: see `cassandra.bulk.ScanOptions`. `splits` is the approximate number of tasks.
        Checkpoints and limits are refused: each task reads its range from the beginning, and a
        limit would apply to each task.
    """
    check_session(session, "scan_tasks(session, 'table')")
    for name in ("checkpoint", "limit"):
        if options.get(name) is not None:
            raise TypeError(f"tasks do not have the option {name!r}")
    steps = current_table_steps if columns is None else known_table_steps
    metadata = drive(steps(session, table), performer(session))
    if columns is None:
        # Name the columns, so that the tasks return the same columns whenever they run, and need
        # not ask a server for them.
        columns = tuple(names_of_columns(metadata))
    elif not isinstance(columns, str):
        columns = tuple(columns)
    # The process that runs a task may use another keyspace, so the task needs the full name.
    table = full_name(metadata)
    ranges = Scan(session, table, columns, where, options).token_ranges()  # type: ignore[arg-type]
    task_options = {
        name: value for name, value in options.items() if name not in ("splits", "ranges")
    }
    # Ask a server for the id, because the metadata may be out of date.
    watch = TableWatch(session.cluster.metadata, metadata.keyspace_name, metadata.name)
    drive(watch.begin_steps(), performer(session))
    return [
        ScanTask(table, columns, where, token_range, task_options, watch.table_id)
        for token_range in ranges
    ]


def check_settings(name: str, settings: object) -> None:
    """Raise TypeError if `settings` is not a mapping of settings.

    :param name: the parameter, for the message.
    """
    if not isinstance(settings, Mapping):
        raise TypeError(
            f"{name} must be a mapping of settings, by which each worker connects, but is "
            f"{settings!r}: write {{'contact_points': ['10.0.0.1']}}"
        )


def worker_session(settings: Mapping[str, Any]) -> Session:
    """Return the session of this process for a cluster; connect at the first call.

    Use it in workers of Dask, Ray and similar tools, which receive tasks and cannot keep a session.

    :param settings: picklable settings of `cassandra.cluster.Cluster`.
    :raises TypeError: if `settings` is not a mapping.
    """
    check_settings("settings", settings)
    # The key has the process id, because a forked process must not use its parent's session.
    key = (os.getpid(), pickle.dumps(sorted(settings.items())))
    session = _sessions.get(key)
    if session is None:
        # Use no lock: if a process is forked while one of its threads holds the lock, the child
        # would wait for the lock forever. Instead, two threads may connect at the same time. Then
        # the session that is stored first is kept, and the other session is closed.
        new_session = Cluster(**settings).connect()
        session = _sessions.setdefault(key, new_session)
        if session is not new_session:
            new_session.cluster.shutdown()
    return session


# The advice that the error has if a method was called on a task, but only scans have the method.
# The name of the method is inserted.
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
