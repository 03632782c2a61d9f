"""Reads tables as Dask DataFrames, and writes Dask DataFrames to tables.

Each partition of the DataFrame is a token range, which a Dask worker reads itself.

.. code-block:: python

   from cassandra.dask import read_table, to_table

   cluster = {"contact_points": ["10.0.0.1"]}
   orders = read_table("shop.orders", cluster, columns=["customer", "total"])
   totals = orders.groupby("customer").total.sum().compute()

Each worker process connects once, with the cluster settings that you pass, which must be picklable.
Columns have Arrow types in pandas, so that integers with nulls remain integers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from cassandra.bulk.tasks import ScanTask, check_settings, scan_tasks, worker_session
from cassandra.errors import DependencyException

if TYPE_CHECKING:
    from types import ModuleType

    import dask.dataframe
    import pandas as pd
    import pyarrow as pa

__all__ = ["read_table", "to_table"]


def _dask() -> ModuleType:
    """Return the module `dask.dataframe`."""
    try:
        from dask import dataframe
    except ImportError as error:
        raise DependencyException("this needs Dask: pip install turbocql[dask]") from error
    module: ModuleType = dataframe
    return module


def _as_pandas(table: Any) -> pd.DataFrame:
    """Convert an Arrow table to a data frame of pandas."""
    import pandas

    # Use Arrow types: with pandas' own types, a partition that has a null would have other column
    # types than a partition without a null.
    return table.to_pandas(types_mapper=pandas.ArrowDtype)


def read_table(
    table: str,
    cluster: Mapping[str, Any],
    columns: Sequence[str] | None = None,
    where: str | None = None,
    decimals: Literal["text"] | tuple[int, int] = "text",
    varints: Literal["text", "int64"] = "text",
    **options: Any,
) -> dask.dataframe.DataFrame:
    """Return a table as a `dask.dataframe.DataFrame`.

    Decimals and varints are strings by default, because Arrow needs a precision and a scale for
    numbers. Pass for example ``decimals=(38, 2)`` to calculate with decimals.

    This call reads only the schema, the token ranges and the column types. The rows are read when
    the DataFrame is computed. Columns that a computation does not use are not read.

    :param table: ``keyspace.table``.
    :param cluster: a mapping of settings for `cassandra.cluster.Cluster`, with which each worker
        connects.
    :param columns: the names of the columns; None for all.
    :param where: a CQL condition, with ``?`` markers for the option `parameters`. The server
        applies it.
    :param decimals: "text", or the (precision, scale) of decimals. A value that does not fit
        exactly is an error.
    :param varints: "text", or "int64" if all values fit 64 bits.
    :param options: see `cassandra.bulk.ScanOptions`. `splits` is the approximate number of
        partitions.
    :raises DependencyException: if Dask is not installed.
    :raises TypeError: if `columns` is a string. Selectors of CQL cannot be read, because Dask asks
        for columns by name.
    """
    check_settings("cluster", cluster)
    if isinstance(columns, str):
        raise TypeError(
            f"columns is a list of names, not the text {columns!r}: write columns=['id', 'name']; "
            "for selectors of CQL, write session.scan(table, columns).to_pandas()"
        )
    dataframe = _dask()
    session = worker_session(cluster)
    tasks = scan_tasks(session, table, columns, where, **options)
    numbers = {"decimals": decimals, "varints": varints}
    # Read the first batch of the first task for its column types, and drop the rows of the batch.
    # Even a token range without rows returns a batch.
    empty_batch = next(tasks[0].arrow_batches(session, **numbers)).slice(0, 0)
    meta = _as_pandas(_table_of([empty_batch]))
    return dataframe.from_map(_read, tasks, cluster=dict(cluster), numbers=numbers, meta=meta)


def _table_of(batches: Sequence[Any]) -> pa.Table:
    import pyarrow

    return pyarrow.Table.from_batches(batches)


def _read(
    task: ScanTask,
    cluster: Mapping[str, Any],
    numbers: Mapping[str, Any],
    columns: Sequence[str] | None = None,
) -> pd.DataFrame:
    """Read a partition. Dask passes the columns that a computation uses."""
    if columns:
        task = task.of_columns(columns)
    batches = task.arrow_batches(worker_session(cluster), **numbers)
    partition = _as_pandas(_table_of(list(batches)))
    # Return exactly these columns, in this order, as Dask expects.
    return partition if columns is None else partition[list(columns)]


def to_table(frame: Any, table: str, cluster: Mapping[str, Any], **options: Any) -> int:
    """Write a Dask DataFrame to a table, and return the number of written rows.

    Each Dask worker writes its partitions. If Dask repeats a task, the same rows are written again,
    which changes nothing. Tables with counters cannot be written.

    :param frame: the `dask.dataframe.DataFrame`.
    :param table: ``keyspace.table``.
    :param cluster: a mapping of settings for `cassandra.cluster.Cluster`, with which each worker
        connects.
    :param options: see `cassandra.bulk.LoadOptions`.
    :raises ValueError: for options that cannot be used with many processes.
    """
    for name in ("counters", "checkpoint", "failed_rows"):
        if options.get(name):
            raise ValueError(f"to_table does not have the option {name!r}")
    check_settings("cluster", cluster)
    # This raises an error if Dask is missing.
    _dask()
    if not hasattr(frame, "map_partitions"):
        raise TypeError(
            f"to_table writes a Dask DataFrame, and not a {type(frame).__name__}: write "
            "session.load(table, frame), or dask.dataframe.from_pandas(frame, npartitions=8)"
        )
    import pandas

    counts = frame.map_partitions(
        _load,
        table,
        dict(cluster),
        {"progress": False, **options},
        meta=pandas.Series([], dtype="int64"),
    )
    return int(counts.sum().compute())


def _load(
    part: Any, table: str, cluster: Mapping[str, Any], options: Mapping[str, Any]
) -> pd.Series:
    """Write one partition in a worker, and return the number of rows written."""
    import pandas

    written = worker_session(cluster).load(table, part, **options).written if len(part) else 0
    return pandas.Series([written], dtype="int64")
