"""Test `scan_tasks`, which divides a scan into tasks that other processes may execute."""

from __future__ import annotations

import pickle
import uuid
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from cassandra.bulk import tasks as tasks_module
from cassandra.bulk.ranges import TokenRange
from cassandra.bulk.tasks import ScanTask, scan_tasks, worker_session
from cassandra.cluster import Cluster
from cassandra.errors import DriverException
from cassandra.testing.fake import FakeCluster, FakeNode
from tests.unit.bulk.test_scan import COLUMNS, EXPECTED, QUERY, Table, no_fault, nodes, settings
from tests.unit.metadata.schema.rows import add_table, column, schema

__all__ = ["nodes"]


def test_pickled_tasks_return_each_row_once(nodes: FakeCluster) -> None:
    """Tasks that were pickled and unpickled return, all together, each row exactly once.

    A task that is repeated returns the same rows again.
    """
    nodes.prime(QUERY, Table(no_fault))
    with Cluster(**settings(nodes)) as cluster, cluster.connect() as session:
        tasks = pickle.loads(pickle.dumps(scan_tasks(session, "a.t0", splits=12, page_size=30)))
    assert len(tasks) == 12
    with Cluster(**settings(nodes)) as cluster, cluster.connect() as session:
        task_rows = [tuple(row) for task in tasks for row in task.rows(session)]
        assert list(tasks[3].rows(session)) == list(tasks[3].rows(session))
        pytest.importorskip("pyarrow")
        batches = [batch for task in tasks for batch in task.arrow_batches(session)]
    assert sorted(task_rows) == EXPECTED
    assert sum(batch.num_rows for batch in batches) == len(EXPECTED)


@pytest.mark.parametrize(
    ("keyspace", "name", "full_name"),
    [
        ("MyKs", "t0", '"MyKs".t0'),
        ("myks", "T0", "myks.t0"),
        ("myks", '"a.b"', 'myks."a.b"'),
        ("myks", '"MyKs".T0', '"MyKs".t0'),
        (None, "myks.t0", "myks.t0"),
    ],
)
def test_tasks_read_the_keyspace_of_the_session(
    keyspace: str | None, name: str, full_name: str
) -> None:
    """A task stores the full name of its table, because a worker's session has no keyspace."""
    with FakeNode() as node:
        node.schema = schema("MyKs", "myks")
        add_table(node.schema, "myks", "a.b")
        with Cluster([node.address], port=node.port) as cluster:
            session = cluster.connect(keyspace)
            for table_keyspace, table in (("MyKs", "t0"), ("myks", "t0"), ("myks", "a.b")):
                query = QUERY.replace('"a"."t0"', f'"{table_keyspace}"."{table}"')
                node.prime_prepare(query, [("a", "bigint"), ("b", "bigint")], COLUMNS)
            tasks = scan_tasks(session, name, splits=2)
            assert {task.table for task in tasks} == {full_name}
            with pytest.raises(ValueError, match=r"has no table|has no keyspace"):
                scan_tasks(session, "t9")


def test_all_tasks_read_the_columns_that_the_table_had(nodes: FakeCluster) -> None:
    """Tasks without `columns=` name the columns, so that all of them return the same columns.

    Otherwise, a task that runs after an ALTER TABLE would return one more column than the others.
    """
    nodes.prime(QUERY, Table(no_fault))
    with Cluster(**settings(nodes)) as cluster, cluster.connect() as session:
        tasks = scan_tasks(session, "a.t0", splits=4)
        assert {task.columns for task in tasks} == {("id", "c0")}
        for node in nodes.nodes:
            assert node.schema is not None
            node.schema["system_schema.columns"].append(column("a", "t0", "c1"))
        assert all(len(row) == 2 for task in tasks for row in task.rows(session))
        # The next tasks have the new column, even before the driver has read the schema again.
        other_query = QUERY.replace('"c0"', '"c0", "c1"')
        nodes.prime_prepare(other_query, [("a", "bigint"), ("b", "bigint")], COLUMNS)
        assert {task.columns for task in scan_tasks(session, "a.t0")} == {("id", "c0", "c1")}


def test_tasks_of_a_table_that_was_created_again_fail(nodes: FakeCluster) -> None:
    """A task fails if the table was dropped and created again since the tasks were made.

    Otherwise, some tasks would have read the rows of the old table, and others of the new table.
    """
    nodes.prime(QUERY, Table(no_fault))
    with Cluster(**settings(nodes)) as cluster, cluster.connect() as session:
        first, second, *_ = scan_tasks(session, "a.t0", splits=4)
        assert first.table_id == str(cluster.metadata.keyspaces["a"].tables["t0"].id)
        assert list(first.rows(session))
        new_id = uuid.uuid4()
        for node in nodes.nodes:
            for row in node.schema["system_schema.tables"]:
                row["id"] = new_id
        # The driver knows nothing of the new table yet.
        message = r"a\.t0 was dropped and created again since its tasks were made"
        with pytest.raises(DriverException, match=message):
            list(second.rows(session))
        with pytest.raises(DriverException, match=message):
            list(second.of_columns(["id", "c0"]).rows(session))
        # A task that was made without the id reads the table.
        assert list(replace(second, table_id=None).rows(session))


def test_tasks_have_no_checkpoint(nodes: FakeCluster) -> None:
    """`scan_tasks` refuses the option `checkpoint`."""
    with (
        Cluster(**settings(nodes)) as cluster,
        cluster.connect() as session,
        pytest.raises(TypeError, match="'checkpoint'"),
    ):
        scan_tasks(session, "a.t0", checkpoint="x")


@pytest.fixture
def node() -> Iterator[FakeNode]:
    """Yield a running node; at the end, close the sessions that `worker_session` has opened."""
    with FakeNode() as running_node:
        yield running_node
        for session in tasks_module._sessions.values():
            session.cluster.shutdown()
        tasks_module._sessions.clear()


def test_a_process_connects_once_for_the_same_settings(node: FakeNode) -> None:
    """`worker_session` returns the same session for equal settings, in whatever order they are."""
    settings = {"contact_points": [node.address], "port": node.port}
    session = worker_session(settings)
    assert worker_session(dict(reversed(settings.items()))) is session
    assert worker_session({**settings, "connect_timeout": 3.0}) is not session


def test_what_a_task_lacks_gets_advice() -> None:
    """Wrong uses of a task, such as `task.to_pandas()`, raise errors that say what to write."""
    task: Any = ScanTask("ks.t", None, None, TokenRange(0, 1))
    for name in ("to_pandas", "df", "count"):
        with pytest.raises(AttributeError, match=r"write (task\.scan\(session\)|session\.count\()"):
            getattr(task, name)
    with pytest.raises(TypeError, match=r"rows\(\) needs session: write task\.rows\(session\)"):
        task.rows()
    with pytest.raises(TypeError, match=r"write task\.rows\(session\)"):
        list(task)
    assert pickle.loads(pickle.dumps(task)) == task


def test_columns_of_a_task_are_chosen_by_name() -> None:
    """`of_columns` replaces names of columns; it refuses to replace selectors by names.

    A selector may have the name of another column as its alias, whose values would be returned
    then.
    """
    task = ScanTask("ks.t", ("id", "a"), None, TokenRange(0, 1))
    assert task.of_columns(["a"]).columns == ("a",)
    with pytest.raises(TypeError, match="list of names, not the text 'id'"):
        task.of_columns("id")
    selecting = ScanTask("ks.t", "id, a AS b", None, TokenRange(0, 1))
    with pytest.raises(ValueError, match="reads the selectors 'id, a AS b', which are not chosen"):
        selecting.of_columns(["b"])


@pytest.mark.parametrize(
    ("session", "advice"),
    [
        ("ks.t", r"type str: write scan_tasks\(session, 'table'\)"),
        (SimpleNamespace(connect=None), r"write session = cluster\.connect\(\) first"),
    ],
)
def test_tasks_need_a_session(session: Any, advice: str) -> None:
    """`scan_tasks` raises TypeError for an object that is not a session."""
    with pytest.raises(TypeError, match=f"a session is needed, not an object of .*{advice}"):
        scan_tasks(session, "ks.t")
