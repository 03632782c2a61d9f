"""Trains on the rows of a table with PyTorch: each worker of a `DataLoader` reads its token ranges.

    pip install turbocql[numpy] torch
    python examples/torch_vectors.py HOST KEYSPACE.TABLE ID VECTOR [PORT]

ID is a column of numbers, and VECTOR is a column of vectors of floats. In each epoch, each row is
read once, in any order. A row whose vector is null is left out.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import numpy
import torch
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

from cassandra.bulk.tasks import ScanTask, scan_tasks, worker_session

Batch = tuple[torch.Tensor, torch.Tensor]


class TableOfVectors(IterableDataset[Batch]):
    """Batches of ids and vectors of a table, which several workers may read together.

    :param tasks: the parts of the table; each worker reads some of them.
    :param settings: keyword arguments of `Cluster`, with which each worker connects once.
    :param batch_size: the number of rows of a batch; the last batch of a task may be smaller.
    """

    def __init__(
        self, tasks: Sequence[ScanTask], settings: dict[str, Any], batch_size: int = 256
    ) -> None:
        self.tasks = list(tasks)
        self.settings = settings
        self.batch_size = batch_size

    def __iter__(self) -> Iterator[Batch]:
        worker = get_worker_info()
        # Without workers, this process reads all tasks.
        tasks = self.tasks if worker is None else self.tasks[worker.id :: worker.num_workers]
        session = worker_session(self.settings)
        for task in random.sample(tasks, len(tasks)):
            # A task is a range of about 32 MiB of data, all of which is in memory at the same time.
            ids, vectors = task.scan(session).to_numpy().values()
            if numpy.ma.isMaskedArray(vectors):  # there are nulls
                present = ~numpy.ma.getmaskarray(vectors).any(axis=1)
                ids, vectors = ids[present], vectors[present].data
            # `tensor` makes a copy, because the arrays of a scan may be read-only.
            order = numpy.random.permutation(len(ids))
            for start in range(0, len(ids), self.batch_size):
                rows = order[start : start + self.batch_size]
                yield torch.tensor(ids[rows]), torch.tensor(vectors[rows])


def main(host: str, table: str, key: str, vector: str, port: int = 9042) -> None:
    """Read a table once, by two workers, and print the mean of its vectors."""
    settings = {"contact_points": [host], "port": port}
    session = worker_session(settings)
    dataset = TableOfVectors(scan_tasks(session, table, columns=[key, vector]), settings)
    session.cluster.shutdown()
    # The dataset creates the batches itself (`batch_size=None`). Start the workers as new
    # processes, because forked processes would have copies of this process's locks.
    loader = DataLoader(dataset, batch_size=None, num_workers=2, multiprocessing_context="spawn")
    count, total = 0, torch.zeros(())
    for ids, vectors in loader:
        count += len(ids)
        total = total + vectors.sum(dim=0)  # a step of the training
    print(count, "rows, the mean is", (total / max(count, 1)).tolist())


if __name__ == "__main__":
    host, table, key, vector, *port = sys.argv[1:]
    main(host, table, key, vector, *map(int, port))
