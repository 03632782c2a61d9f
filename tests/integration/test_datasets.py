"""The examples for PyTorch and Hugging Face read each row of a table on a real node once."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cassandra.cluster import Cluster
from cassandra.testing import LocalCluster

pytestmark = pytest.mark.integration

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
TABLE = "datasets.films"  # the table that the examples read


@pytest.fixture
def films(node: LocalCluster) -> Iterator[LocalCluster]:
    """Yield a node with a table of 300 rows; the last row has no vector."""
    with Cluster(node.contact_points, port=node.port) as cluster:
        session = cluster.connect()
        session.execute(
            "CREATE KEYSPACE IF NOT EXISTS datasets WITH replication = "
            "{'class': 'SimpleStrategy', 'replication_factor': 1}"
        )
        session.execute(f"CREATE TABLE {TABLE} (id int PRIMARY KEY, u uuid, v vector<float, 2>)")
        rows = [{"id": number, "v": [1.0, 2.0]} for number in range(299)]
        session.load(TABLE, rows, progress=False)
        session.execute(f"INSERT INTO {TABLE} (id, u) VALUES (299, uuid())")
        yield node
        session.execute("DROP KEYSPACE datasets", timeout=60)


def output_of(example: str, node: LocalCluster, folder: Path, *arguments: str) -> str:
    """Run an example on the table of a node, and return its standard output.

    :param example: the name of a file in examples/.
    :param folder: the working directory.
    :param arguments: of the example, between the table and the port.
    """
    process = subprocess.run(
        [
            *(sys.executable, str(EXAMPLES / example), node.contact_points[0], TABLE),
            *(*arguments, str(node.port)),
        ],
        cwd=folder,  # not the source checkout, from which the driver might be imported
        capture_output=True,
        text=True,
        timeout=180,
    )
    assert process.returncode == 0, process.stderr[-2000:]
    return process.stdout


def test_workers_of_a_data_loader_read_each_row_once(films: LocalCluster, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    output = output_of("torch_vectors.py", films, tmp_path, "id", "v")
    assert output == "299 rows, the mean is [1.0, 2.0]\n"


def test_data_sets_of_hugging_face_have_all_rows(films: LocalCluster, tmp_path: Path) -> None:
    pytest.importorskip("datasets")
    output = output_of("hugging_face.py", films, tmp_path, "files")
    assert "300 rows in memory: id, u, v" in output
    assert "300 rows in files: id, v" in output
