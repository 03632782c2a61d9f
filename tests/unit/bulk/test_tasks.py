from __future__ import annotations

import pickle

import pytest

from cassandra.bulk.tasks import scan_tasks
from cassandra.cluster import Cluster
from cassandra.testing.fake import FakeCluster
from tests.unit.bulk.test_scan import EXPECTED, QUERY, Table, no_fault, nodes, settings

__all__ = ["nodes"]


def test_pickled_tasks_have_each_row_once(nodes: FakeCluster) -> None:
    nodes.prime(QUERY, Table(no_fault))
    with Cluster(**settings(nodes)) as cluster, cluster.connect() as session:
        tasks = pickle.loads(pickle.dumps(scan_tasks(session, "a.t0", splits=12, page_size=30)))
    assert len(tasks) == 12
    with Cluster(**settings(nodes)) as cluster, cluster.connect() as session:
        got = [tuple(row) for task in tasks for row in task.rows(session)]
        # As a retried task is.
        assert list(tasks[3].rows(session)) == list(tasks[3].rows(session))
        pytest.importorskip("pyarrow")
        batches = [batch for task in tasks for batch in task.arrow_batches(session)]
    assert sorted(got) == EXPECTED
    assert sum(batch.num_rows for batch in batches) == len(EXPECTED)


def test_tasks_have_no_checkpoint(nodes: FakeCluster) -> None:
    with (
        Cluster(**settings(nodes)) as cluster,
        cluster.connect() as session,
        pytest.raises(TypeError, match="'checkpoint'"),
    ):
        scan_tasks(session, "a.t0", checkpoint="x")
