"""While nodes and loaders die, bulk work reads and writes each row once and loses none."""

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
from cassandra.bulk import chunks, load
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile, Session
from cassandra.policies import ConstantReconnectionPolicy
from cassandra.testing import LocalCluster

pytestmark = pytest.mark.integration

ROWS = 6000
QUORUM = ConsistencyLevel.QUORUM


@pytest.fixture
def session(fragile: LocalCluster) -> Iterator[Session]:
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
    return number % 701, number, f"value {number}"


def csv_file(path: Path) -> Path:
    lines = ["k,c,v", *(f"{k},{c},{v}" for k, c, v in map(row, range(ROWS)))]
    path.write_text("\n".join(lines) + "\n")
    return path


def all_rows(session: Session, table: str = "t") -> list[tuple[Any, ...]]:
    """Return all rows, without the bulk code under test.

    Coordinators wait in vain for a killed node until they notice that it is down.
    """
    deadline = time.monotonic() + 120
    while True:
        try:
            rows = session.execute(f"SELECT k, c, v FROM {table}", timeout=60)
            return sorted(map(tuple, rows))
        except (ReadTimeout, ReadFailure, Unavailable):
            if time.monotonic() > deadline:
                raise


@pytest.mark.long
def test_a_scan_during_a_rolling_restart_has_each_row_once(
    session: Session, fragile: LocalCluster
) -> None:
    """A scan returns each row once while every node goes down and comes back."""
    assert session.load("t", map(row, range(ROWS)), progress=False).written == ROWS
    seen: list[tuple[Any, ...]] = []
    restarts: list[threading.Thread] = []
    scan = session.scan("t", page_size=50, concurrency=2, splits=40, consistency_level=QUORUM)
    for row_read in scan:
        seen.append(tuple(row_read))
        if len(seen) % 1500 == 1000 and len(restarts) < 3:
            restarts.append(
                threading.Thread(target=fragile.restart, args=(len(restarts) + 1,), daemon=True)
            )
            restarts[-1].start()
        if len(seen) % 1500 == 900 and restarts:
            restarts[-1].join(180)
            assert not restarts[-1].is_alive()
    assert len(restarts) == 3
    restarts[-1].join(180)
    assert sorted(seen) == sorted(map(row, range(ROWS)))


KILLED = """
import os, signal, sys
from cassandra import ConsistencyLevel
from cassandra.bulk import chunks, load
from cassandra.cluster import Cluster
chunks.CHUNK_ROWS = 500
ended = 0
end_of = load.Load._end_of
def end(self, chunk):
    global ended
    end_of(self, chunk)
    ended += 1
    print(self.report.written, flush=True)
    if ended == 3:
        os.kill(os.getpid(), signal.SIGKILL)
load.Load._end_of = end
host, port, path, checkpoint = sys.argv[1:]
with Cluster([host], port=int(port)) as cluster:
    session = cluster.connect("bulk_faults")
    session.load("t", path, checkpoint=checkpoint, consistency_level=ConsistencyLevel.QUORUM)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="Windows has no SIGKILL")
def test_a_load_whose_loader_and_node_are_killed_is_the_file(
    session: Session, fragile: LocalCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, checkpoint = csv_file(tmp_path / "a.csv"), tmp_path / "point"
    arguments = [fragile.contact_points[0], str(fragile.port), str(path), str(checkpoint)]
    done = subprocess.run(
        [sys.executable, "-c", KILLED, *arguments],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
        cwd=tmp_path,  # the unbuilt tree must not hide the installed driver
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    written = int(done.stdout.split()[-1])
    assert set(all_rows(session)) >= set(map(row, range(written)))
    # Another run resumes the load, and now a node dies in the middle of it.
    ends: list[int] = []
    end_of = load.Load._end_of

    def end(self: load.Load, chunk: chunks.Chunk) -> None:
        end_of(self, chunk)
        ends.append(self.report.written)
        if len(ends) == 2:
            fragile.kill(3)

    monkeypatch.setattr(load.Load, "_end_of", end)
    monkeypatch.setattr(chunks, "CHUNK_ROWS", 500)
    report = session.load(
        "t", path, checkpoint=checkpoint, consistency_level=QUORUM, progress=False
    )
    assert (report.skipped, report.written, report.failed) == (written, ROWS - written, 0)
    assert len(ends) > 4
    assert all_rows(session) == sorted(map(row, range(ROWS)))
    assert not checkpoint.exists()
    fragile.restart(3)


def _wait_for_the_kill(part: Any) -> Any:
    """Report that a part was read, and wait until a node is dead."""
    distributed: Any = importlib.import_module("distributed")
    distributed.Event("read").set()
    assert distributed.Event("killed").wait(120)
    return part


@pytest.mark.long
def test_tables_of_dask_while_a_node_is_killed(
    session: Session, fragile: LocalCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("dask.dataframe")
    distributed: Any = pytest.importorskip("distributed")
    from cassandra.dask import read_table, to_table

    # Workers inherit this path. The unbuilt tree must not hide the installed driver.
    tree = str(Path(__file__).parents[2])
    monkeypatch.setattr(sys, "path", [*(entry for entry in sys.path if entry != tree), tree])
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
        slowed = frame.map_partitions(_wait_for_the_kill, meta=frame._meta)
        read = client.compute(slowed)
        assert distributed.Event("read").wait(120)
        fragile.kill(2)
        distributed.Event("killed").set()
        found_rows = read.result(timeout=180)
        assert sorted(found_rows["c"]) == list(range(ROWS))
        written = to_table(frame, "bulk_faults.copied", server, consistency_level=QUORUM)
        assert written == ROWS
    assert all_rows(session, "copied") == sorted(map(row, range(ROWS)))
    fragile.restart(2)
