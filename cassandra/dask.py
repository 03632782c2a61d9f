"""Tables as Dask DataFrames: each partition is a range of tokens, read by a worker of its own.

.. code-block:: python

   from cassandra.dask import read_table, to_table

   cluster = {"contact_points": ["10.0.0.1"]}
   orders = read_table("shop.orders", cluster, columns=["customer", "total"])
   totals = orders.groupby("customer").total.sum().compute()

Workers connect by themselves, once a process, with the settings that are given: these have to be
such that can be pickled. Columns have Arrow's types in pandas, which keep integers with nulls what
they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cassandra.bulk.tasks import ScanTask, scan_tasks, worker_session
from cassandra.errors import DependencyException

__all__ = ["read_table", "to_table"]


def _dask() -> Any:
    try:
        from dask import dataframe
    except ImportError as error:
        raise DependencyException("this needs Dask: pip install turbocql[dask]") from error
    return dataframe


def _as_pandas(table: Any) -> Any:
    import pandas

    # Types of pandas itself would change with the first null of a partition.
    return table.to_pandas(types_mapper=pandas.ArrowDtype)


def _check(cluster: object) -> None:
    """Refuse what are not the settings of a cluster."""
    if not isinstance(cluster, Mapping):
        raise TypeError(
            "cluster must be a mapping of settings, by which each worker connects, but is "
            f"{cluster!r}: write {{'contact_points': ['10.0.0.1']}}"
        )


def read_table(
    table: str,
    cluster: Mapping[str, Any],
    columns: Sequence[str] | None = None,
    where: str | None = None,
    **options: Any,
) -> Any:
    """Return a table as a `dask.dataframe.DataFrame`.

    Nothing but the schema and the ranges is read before it is computed. Columns that a computation
    does not use are not asked for.

    :param table: ``keyspace.table``.
    :param cluster: the settings of `cassandra.cluster.Cluster` by which workers connect.
    :param columns: names of columns; None for all.
    :param where: a condition in CQL, with ``?`` for the option `parameters`; the servers apply it.
    :param options: see `cassandra.bulk.scan.ScanOptions`. `splits` is about how many partitions are
        wanted.
    :raises DependencyException: if Dask is not installed.
    """
    _check(cluster)
    dataframe = _dask()
    session = worker_session(cluster)
    tasks = scan_tasks(session, table, columns, where, **options)
    # A range without rows has the columns, too.
    first = next(tasks[0].arrow_batches(session)).slice(0, 0)
    meta = _as_pandas(_table_of([first]))
    return dataframe.from_map(_read, tasks, cluster=dict(cluster), meta=meta)


def _table_of(batches: Sequence[Any]) -> Any:
    import pyarrow

    return pyarrow.Table.from_batches(batches)


def _read(task: ScanTask, cluster: Mapping[str, Any], columns: Sequence[str] | None = None) -> Any:
    """Read a partition; Dask gives the columns that a computation uses."""
    if columns:
        task = task.of_columns(columns)
    read = _as_pandas(_table_of(list(task.arrow_batches(worker_session(cluster)))))
    return read if columns is None else read[list(columns)]


def to_table(frame: Any, table: str, cluster: Mapping[str, Any], **options: Any) -> int:
    """Write a Dask DataFrame into a table, and return how many rows were written.

    Each partition is loaded by the worker that has it. A task that is run again writes the same
    rows again: none is doubled. Counters are refused.

    :param frame: the `dask.dataframe.DataFrame`.
    :param table: ``keyspace.table``.
    :param cluster: the settings of `cassandra.cluster.Cluster` by which workers connect.
    :param options: see `cassandra.bulk.LoadOptions`.
    :raises ValueError: for options that make no sense for many processes.
    """
    for name in ("counters", "checkpoint", "failed_rows"):
        if options.get(name):
            raise ValueError(f"to_table does not have the option {name!r}")
    _check(cluster)
    _dask()
    import pandas

    counts = frame.map_partitions(
        _load,
        table,
        dict(cluster),
        {"progress": False, **options},
        meta=pandas.Series([], dtype="int64"),
    )
    return int(counts.sum().compute())


def _load(part: Any, table: str, cluster: Mapping[str, Any], options: Mapping[str, Any]) -> Any:
    import pandas

    written = worker_session(cluster).load(table, part, **options).written if len(part) else 0
    return pandas.Series([written], dtype="int64")
