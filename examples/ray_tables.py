"""Reads a table in Ray tasks: each task reads a range of tokens with its worker's session.

    pip install turbocql[arrow] "ray[data]"
    python examples/ray_tables.py HOST KEYSPACE.TABLE [PORT]

If a worker dies, Ray runs its task again. The task then reads the same range again, so no row is
doubled or missing.
"""

from __future__ import annotations

import sys
from typing import Any

import pyarrow
import ray

from cassandra.bulk.tasks import ScanTask, scan_tasks, worker_session

Settings = dict[str, Any]  # keyword arguments of `Cluster`


@ray.remote(max_retries=3)
def read(task: ScanTask, settings: Settings) -> pyarrow.Table:
    """Read a range of the table. Ray runs this function in a worker."""
    return task.scan(worker_session(settings)).to_arrow()


@ray.remote(max_retries=3)
def write(table: str, rows: pyarrow.Table, settings: Settings) -> int:
    """Write rows, and return their number. Ray runs this function in a worker.

    Ray may run the task twice. That does no harm: the second run writes the same rows again.
    """
    return worker_session(settings).load(table, rows, progress=False).written


def main(host: str, table: str, port: int = 9042) -> None:
    """Count the rows of a table, and copy them into TABLE_copy if there is such a table."""
    settings: Settings = {"contact_points": [host], "port": port}
    session = worker_session(settings)
    parts = [read.remote(task, settings) for task in scan_tasks(session, table)]
    print(sum(part.num_rows for part in ray.get(parts)), "rows in", len(parts), "parts")
    keyspace, name = table.split(".")
    if f"{name}_copy" in session.cluster.metadata.keyspaces[keyspace].tables:
        copied = [write.remote(f"{table}_copy", part, settings) for part in parts]
        print(sum(ray.get(copied)), "rows copied")
    session.cluster.shutdown()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 9042)
