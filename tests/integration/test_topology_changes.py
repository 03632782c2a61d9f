"""Scans, loads, unloads and single requests while nodes join, leave and are replaced."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cassandra import ConsistencyLevel
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile, Session
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.policies import ConstantReconnectionPolicy
from cassandra.testing import LocalCluster
from tests.waiting import until

pytestmark = [pytest.mark.integration, pytest.mark.longest]

ROWS = 3000  # the number of rows of the table `t`
LOADED_AT_ONCE = 200  # the number of rows that one load writes
QUORUM = ConsistencyLevel.QUORUM
LONGEST_JOB = 300  # the most seconds that a job may take after the end of the topology change


def row(number: int) -> tuple[int, int, str]:
    """Return row `number` of a table; the rows are in 701 partitions."""
    return number % 701, number, f"value {number}"


@pytest.fixture
def session(expendable: LocalCluster) -> Iterator[Session]:
    """Yield a session at QUORUM, in a keyspace with three replicas.

    The table `t` has ROWS rows; the tables `loaded` and `plain` are empty.
    """
    profile = ExecutionProfile(consistency_level=QUORUM, request_timeout=20.0)
    with Cluster(
        expendable.contact_points,
        port=expendable.port,
        execution_profiles={EXEC_PROFILE_DEFAULT: profile},
        reconnection_policy=ConstantReconnectionPolicy(1.0),
    ) as cluster:
        session = cluster.connect(wait_for_all_pools=True)
        session.execute(
            "CREATE KEYSPACE IF NOT EXISTS changing WITH replication = "
            "{'class': 'SimpleStrategy', 'replication_factor': 3}",
            timeout=60,
        )
        session.set_keyspace("changing")
        for table in ("t", "loaded", "plain"):
            columns = "k int, c int, v text, PRIMARY KEY (k, c)"
            session.execute(f"CREATE TABLE IF NOT EXISTS {table} ({columns})", timeout=60)
            session.execute(f"TRUNCATE {table}", timeout=60)
        assert session.load("t", map(row, range(ROWS)), progress=False).written == ROWS
        yield session


class Job(threading.Thread):
    """A thread that repeats a job until the change of the cluster's nodes is over.

    `ends` counts the repetitions; `error` is the error that ended the job, or None.

    :param job: called with the number of the repetition.
    :param over: set when the topology change is over.
    """

    def __init__(self, job: Callable[[int], None], over: threading.Event) -> None:
        super().__init__(daemon=True)
        self._job = job
        self._over = over
        self.ends = 0
        self.error: BaseException | None = None

    def run(self) -> None:
        """Repeat the job, at least once during the topology change and once after it."""
        try:
            is_last = False
            while not is_last:
                is_last = self._over.is_set()
                self._job(self.ends)
                self.ends += 1
        except BaseException as error:
            self.error = error


class Jobs:
    """The jobs that run during a topology change.

    Each job checks its own results; `check` checks all rows that the jobs have written.
    """

    def __init__(self, session: Session, folder: Path) -> None:
        self._session = session
        self._folder = folder
        self._insert = session.prepare("INSERT INTO plain (k, c, v) VALUES (?, ?, ?)")
        self._insert.is_idempotent = True
        self._select = session.prepare("SELECT k, c, v FROM plain WHERE k = ? AND c = ?")
        self._select.is_idempotent = True
        self._loaded = 0
        self._written = 0

    def scan(self, number: int) -> None:
        """Scan `t`, and check that the scan has each row exactly once."""
        rows = self._session.scan("t", page_size=50, concurrency=2, splits=40)
        assert sorted(map(tuple, rows)) == sorted(map(row, range(ROWS)))

    def unload(self, number: int) -> None:
        """Unload `t` to files, and check that the files have each row exactly once."""
        folder = self._folder / str(number)
        self._session.unload("t", folder, format="jsonl", progress=False, page_size=50)
        lines = [line for file in folder.glob("*.jsonl") for line in file.read_text().splitlines()]
        rows = [(entry["k"], entry["c"], entry["v"]) for entry in map(json.loads, lines)]
        assert sorted(rows) == sorted(map(row, range(ROWS)))

    def load(self, number: int) -> None:
        """Load further rows into `loaded`."""
        numbers = range(number * LOADED_AT_ONCE, (number + 1) * LOADED_AT_ONCE)
        report = self._session.load("loaded", map(row, numbers), progress=False)
        assert (report.written, report.failed) == (LOADED_AT_ONCE, 0)
        self._loaded = numbers.stop

    def request(self, number: int) -> None:
        """Write a row with a single request, and read it back."""
        self._session.execute(self._insert, row(number))
        self._written = number + 1
        result = self._session.execute(self._select, row(number)[:2])
        assert tuple(result.one()) == row(number)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Run all jobs during the block, and check that they succeed and end."""
        over = threading.Event()
        jobs = [Job(job, over) for job in (self.scan, self.unload, self.load, self.request)]
        for job in jobs:
            job.start()
        try:
            yield
        finally:
            over.set()
            for job in jobs:
                job.join(LONGEST_JOB)
        assert [job.error for job in jobs] == [None] * len(jobs)
        assert not any(job.is_alive() for job in jobs)
        # Each job must have run at least twice.
        assert all(job.ends > 1 for job in jobs)
        self.check()

    def check(self) -> None:
        """Read every acknowledged row, without the bulk code under test, and empty the tables."""
        for table, count in (("loaded", self._loaded), ("plain", self._written)):
            select = self._session.prepare(f"SELECT k, c, v FROM {table} WHERE k = ? AND c = ?")
            keys = [row(number)[:2] for number in range(count)]
            results = execute_concurrent_with_args(self._session, select, keys)
            rows = [tuple(result.one() or ()) for _, result in results]
            assert rows == [row(number) for number in range(count)]
        for table in ("loaded", "plain"):
            self._session.execute(f"TRUNCATE {table}", timeout=60)


def hosts_of(session: Session) -> set[str]:
    """Return the addresses of the hosts to which the session has connections."""
    return {host.address for host in session._engine.pools}


def test_each_row_is_there_once_while_a_node_joins_and_leaves(
    session: Session, expendable: LocalCluster, tmp_path: Path
) -> None:
    """Each row is there once while a node joins, and while another node is decommissioned."""
    jobs = Jobs(session, tmp_path / "joins")
    with jobs.running():
        added = expendable.add_node()
        until(lambda: added.address in hosts_of(session), seconds=120)
    leaving = expendable.nodes[0]
    jobs = Jobs(session, tmp_path / "leaves")
    with jobs.running():
        expendable.decommission(leaving.number)
        until(lambda: leaving.address not in hosts_of(session), seconds=120)
    metadata = session.cluster.metadata
    assert {host.address for host in metadata.all_hosts()} == set(expendable.contact_points)
    assert {host.address for host in metadata.get_replicas("changing", b"\0\0\0\1")} == set(
        expendable.contact_points
    )


def test_each_row_is_there_once_while_a_dead_node_is_replaced(
    session: Session, expendable: LocalCluster, tmp_path: Path
) -> None:
    """Each row is there once while a dead node is removed from the ring, and a new node joins."""
    dying = next(node for node in expendable.nodes if node.running)
    survivor = next(node for node in expendable.nodes if node.running and node is not dying)
    host = session.cluster.metadata.get_host(dying.address)
    assert host is not None
    jobs = Jobs(session, tmp_path)
    with jobs.running():
        expendable.kill(dying.number)
        until(lambda: dying.address not in hosts_of(session), seconds=120)
        until_removed(expendable, survivor.number, str(host.host_id))
        # The node has left the ring, so no test may restart it.
        dying.state = "decommissioned"
        until(lambda: session.cluster.metadata.get_host(dying.address) is None, seconds=120)
        added = expendable.add_node()
        until(lambda: added.address in hosts_of(session), seconds=120)


def until_removed(local: LocalCluster, number: int, host_id: str) -> None:
    """Remove a dead node from the ring, as soon as another node considers it dead.

    :param number: the number of the node on which ``nodetool removenode`` runs.
    :param host_id: the host id of the dead node.
    """
    for attempt in itertools.count():
        try:
            local.nodetool(number, "removenode", host_id)
            return
        except Exception as error:
            # Gossip takes some seconds to notice that the node is dead.
            if attempt == 10 or "alive" not in str(error).lower():
                raise
            local.nodetool(number, "status")
