"""The example for Ray runs on a real node and Ray's local cluster."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from cassandra.cluster import Cluster
from cassandra.testing import LocalCluster

pytestmark = pytest.mark.integration

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "ray_tables.py"


def test_the_example_reads_and_copies_a_table(node: LocalCluster, tmp_path: Path) -> None:
    """The example prints how many rows it has read, and its copy has the same rows as the table."""
    pytest.importorskip("ray")
    with Cluster(node.contact_points, port=node.port) as cluster:
        session = cluster.connect()
        session.execute(
            "CREATE KEYSPACE IF NOT EXISTS on_ray WITH replication = "
            "{'class': 'SimpleStrategy', 'replication_factor': 1}"
        )
        for name in ("t", "t_copy"):
            session.execute(f"CREATE TABLE on_ray.{name} (k int PRIMARY KEY, v text)")
        rows = [(number, f"value {number}") for number in range(2000)]
        assert session.load("on_ray.t", rows, progress=False).written == 2000
        process = subprocess.run(
            [sys.executable, str(EXAMPLE), node.contact_points[0], "on_ray.t", str(node.port)],
            cwd=tmp_path,  # not the source checkout, from which the driver might be imported
            capture_output=True,
            text=True,
            timeout=180,
        )
        assert process.returncode == 0, process.stderr[-2000:]
        assert "2,000 rows in" in process.stdout
        assert "2000 rows copied" in process.stdout
        assert sorted(map(tuple, session.execute("SELECT k, v FROM on_ray.t_copy"))) == rows
        session.execute("DROP KEYSPACE on_ray", timeout=60)
