"""Parts of a scan for other processes."""

from __future__ import annotations

import pickle
from collections.abc import Iterator

import pytest

from cassandra.bulk import tasks as tasks_module
from cassandra.bulk.tasks import scan_tasks, worker_session
from cassandra.cluster import Cluster
from cassandra.testing.fake import FakeCluster, FakeNode
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


@pytest.fixture
def node() -> Iterator[FakeNode]:
    with FakeNode() as running:
        yield running
        for session in tasks_module._sessions.values():
            session.cluster.shutdown()
        tasks_module._sessions.clear()


def test_a_process_connects_once_for_the_same_settings(node: FakeNode) -> None:
    settings = {"contact_points": [node.address], "port": node.port}
    session = worker_session(settings)
    assert worker_session(dict(reversed(settings.items()))) is session
    assert worker_session({**settings, "connect_timeout": 3.0}) is not session
