"""Scans and loads handle each row exactly once, although nodes or the client are killed."""

from __future__ import annotations

import importlib
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cassandra import ConsistencyLevel, ReadFailure, ReadTimeout, Unavailable
from cassandra.bulk import chunks
from cassandra.bulk.load_checkpoint import LoadCheckpoint
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile, Session
from cassandra.policies import ConstantReconnectionPolicy
from cassandra.testing import LocalCluster

pytestmark = pytest.mark.integration

ROWS = 6000  # the number of rows that the tests load or scan
QUORUM = ConsistencyLevel.QUORUM


@pytest.fixture
def session(fragile: LocalCluster) -> Iterator[Session]:
    """Yield a session at QUORUM, in a keyspace with three replicas and an empty table `t`."""
    profile = ExecutionProfile(consistency_level=QUORUM, request_timeout=10.0)
    with Cluster(
        fragile.contact_points,
        port=fragile.port,
        execution_profiles={EXEC_PROFILE_DEFAULT: profile},
        reconnection_policy=ConstantReconnectionPolicy(1.0),
    ) as cluster:
        session = cluster.connect()
        session.execute(
            "CREATE KEYSPACE IF NOT EXISTS bulk_faults WITH replication = "
            "{'class': 'SimpleStrategy', 'replication_factor': 3}",
            timeout=60,
        )
        session.set_keyspace("bulk_faults")
        session.execute(
            "CREATE TABLE IF NOT EXISTS t (k int, c int, v text, PRIMARY KEY (k, c))", timeout=60
        )
        session.execute("TRUNCATE t", timeout=60)
        yield session


def row(number: int) -> tuple[int, int, str]:
    """Return row `number` of the table `t`, whose rows are in 701 partitions."""
    return number % 701, number, f"value {number}"


def csv_file(path: Path) -> Path:
    """Write the rows into a CSV file, and return its path."""
    lines = ["k,c,v", *(f"{k},{c},{v}" for k, c, v in map(row, range(ROWS)))]
    path.write_text("\n".join(lines) + "\n")
    return path


def all_rows(session: Session, table: str = "t") -> list[tuple[Any, ...]]:
    """Return all rows of the table, sorted, from a SELECT without the code under test.

    Until coordinators notice that a node is down, they wait for its response, and reads time out.
    So we repeat a read that fails, for up to two minutes.
    """
    end_time = time.monotonic() + 120
    while True:
        try:
            rows = session.execute(f"SELECT k, c, v FROM {table}", timeout=60)
            return sorted(map(tuple, rows))
        except (ReadTimeout, ReadFailure, Unavailable):
            if time.monotonic() > end_time:
                raise


@pytest.mark.longest
def test_a_scan_during_a_rolling_restart_has_each_row_once(
    session: Session, fragile: LocalCluster
) -> None:
    """A scan returns each row once while the nodes are restarted one after the other."""
    assert session.load("t", map(row, range(ROWS)), progress=False).written == ROWS
    scanned_rows: list[tuple[Any, ...]] = []
    restarts: list[threading.Thread] = []
    scan = session.scan("t", page_size=50, concurrency=2, splits=40, consistency_level=QUORUM)
    for row_read in scan:
        scanned_rows.append(tuple(row_read))
        # Begin a restart after 1,000, 2,500 and 4,000 rows, and wait for it 1,400 rows later.
        if len(scanned_rows) % 1500 == 1000 and len(restarts) < 3:
            node_number = len(restarts) + 1
            restart = threading.Thread(target=fragile.restart, args=(node_number,), daemon=True)
            restart.start()
            restarts.append(restart)
        if len(scanned_rows) % 1500 == 900 and restarts:
            restarts[-1].join(timeout=180)
            assert not restarts[-1].is_alive()
    assert len(restarts) == 3
    restarts[-1].join(timeout=180)
    assert sorted(scanned_rows) == sorted(map(row, range(ROWS)))


# A script that loads a file with a checkpoint, and kills itself after three chunks of 500 rows.
KILLED = """
import os, signal, sys
from cassandra import ConsistencyLevel
from cassandra.bulk import chunks
from cassandra.bulk.load_checkpoint import LoadCheckpoint
from cassandra.cluster import Cluster
chunks.CHUNK_ROWS = 500
ended = 0
end_chunk = LoadCheckpoint.end_chunk
def end(self, chunk):
    global ended
    end_chunk(self, chunk)
    ended += 1
    print(self.report.written, flush=True)
    if ended == 3:
        os.kill(os.getpid(), signal.SIGKILL)
LoadCheckpoint.end_chunk = end
host, port, path, checkpoint = sys.argv[1:]
with Cluster([host], port=int(port)) as cluster:
    session = cluster.connect("bulk_faults")
    session.load("t", path, checkpoint=checkpoint, consistency_level=ConsistencyLevel.QUORUM)
"""


@pytest.mark.long
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="Windows has no SIGKILL")
def test_a_load_is_complete_although_its_process_and_then_a_node_are_killed(
    session: Session, fragile: LocalCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A load continues from the checkpoint of a killed process, although a node is killed, too."""
    path, checkpoint = csv_file(tmp_path / "a.csv"), tmp_path / "point"
    arguments = [fragile.contact_points[0], str(fragile.port), str(path), str(checkpoint)]
    process = subprocess.run(
        [sys.executable, "-c", KILLED, *arguments],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
        cwd=tmp_path,  # in the source checkout, `-c` would import the driver from there
    )
    assert process.returncode == -signal.SIGKILL, process.stderr
    written = int(process.stdout.split()[-1])
    # Before it killed itself, the process printed how many rows the server had acknowledged. These
    # rows must be stored.
    assert set(all_rows(session)) >= set(map(row, range(written)))
    # A second load continues from the checkpoint. After two chunks, a node is killed.
    written_after_chunks: list[int] = []
    end_chunk = LoadCheckpoint.end_chunk

    def end_chunk_and_kill(self: LoadCheckpoint, chunk: chunks.Chunk) -> None:
        """Record the progress, and kill a node when the second chunk is complete."""
        end_chunk(self, chunk)
        written_after_chunks.append(self.report.written)
        if len(written_after_chunks) == 2:
            fragile.kill(3)

    monkeypatch.setattr(LoadCheckpoint, "end_chunk", end_chunk_and_kill)
    monkeypatch.setattr(chunks, "CHUNK_ROWS", 500)
    report = session.load(
        "t", path, checkpoint=checkpoint, consistency_level=QUORUM, progress=False
    )
    assert (report.skipped, report.written, report.failed) == (written, ROWS - written, 0)
    # After the node was killed (at the second chunk), the load went on with further chunks.
    assert len(written_after_chunks) > 4
    assert all_rows(session) == sorted(map(row, range(ROWS)))
    assert not checkpoint.exists()
    fragile.restart(3)


def _wait_for_the_kill(partition: Any) -> Any:
    """Tell the test that a partition was read, and wait until the test has killed a node.

    Dask calls this function in its worker processes. The workers and the test communicate by two
    Dask events: "read" and "killed".
    """
    distributed: Any = importlib.import_module("distributed")
    distributed.Event("read").set()
    assert distributed.Event("killed").wait(120)
    return partition


@pytest.mark.longest
def test_tables_of_dask_while_a_node_is_killed(
    session: Session, fragile: LocalCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dask reads each row once, and writes all rows, while a node is killed."""
    pytest.importorskip("dask.dataframe")
    distributed: Any = pytest.importorskip("distributed")
    from cassandra.dask import read_table, to_table

    # Worker processes inherit `sys.path`. Move the source checkout to its end, so that they import
    # the installed driver.
    source_checkout = str(Path(__file__).parents[2])
    monkeypatch.setattr(
        sys, "path", [*(entry for entry in sys.path if entry != source_checkout), source_checkout]
    )
    session.execute(
        "CREATE TABLE IF NOT EXISTS copied (k int, c int, v text, PRIMARY KEY (k, c))", timeout=60
    )
    assert session.load("t", map(row, range(ROWS)), progress=False).written == ROWS
    server = {"contact_points": fragile.contact_points, "port": fragile.port}
    with (
        distributed.LocalCluster(2, threads_per_worker=1, dashboard_address=None) as workers,
        distributed.Client(workers) as client,
    ):
        frame = read_table("bulk_faults.t", server, splits=24, consistency_level=QUORUM)
        waiting_frame = frame.map_partitions(_wait_for_the_kill, meta=frame._meta)
        future = client.compute(waiting_frame)
        assert distributed.Event("read").wait(120)
        fragile.kill(2)
        distributed.Event("killed").set()
        rows = future.result(timeout=180)
        assert sorted(rows["c"]) == list(range(ROWS))
        written = to_table(frame, "bulk_faults.copied", server, consistency_level=QUORUM)
        assert written == ROWS
    assert all_rows(session, "copied") == sorted(map(row, range(ROWS)))
    fragile.restart(2)
