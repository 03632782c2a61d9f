"""Tables of a real node as Dask DataFrames, in this process and in workers of their own."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cassandra.cluster import Cluster, Session
from cassandra.dask import read_table, to_table
from cassandra.testing import LocalCluster

pytest.importorskip("dask.dataframe")
pytestmark = pytest.mark.integration

ROWS = 3000


@pytest.fixture(scope="module")
def place(node: LocalCluster) -> dict[str, Any]:
    return {"contact_points": node.contact_points, "port": node.port}


@pytest.fixture(scope="module")
def session(node: LocalCluster, place: dict[str, Any]) -> Iterator[Session]:
    with Cluster(**place) as cluster:
        session = cluster.connect()
        session.execute(
            "CREATE KEYSPACE IF NOT EXISTS it_dask WITH replication = "
            "{'class': 'SimpleStrategy', 'replication_factor': 1}"
        )
        session.set_keyspace("it_dask")
        for name in ("orders", "copied"):
            session.execute(
                f"CREATE TABLE IF NOT EXISTS {name} (id int PRIMARY KEY, customer text, total int)"
            )
        rows = [
            {"id": n, "customer": f"customer {n % 7}", **({} if n % 10 == 0 else {"total": n})}
            for n in range(ROWS)
        ]
        session.load("orders", rows)
        yield session


@pytest.mark.usefixtures("session")
def test_a_table_is_a_frame(place: dict[str, Any]) -> None:
    frame = read_table("it_dask.orders", place, splits=8)
    assert frame.npartitions >= 8
    read = frame.compute(scheduler="synchronous")
    assert sorted(read["id"]) == list(range(ROWS))
    assert dict(read.dtypes) == dict(frame.dtypes)  # integers stay integers beside nulls
    assert read["total"].isna().sum() == ROWS / 10
    totals = frame.groupby("customer").total.sum().compute(scheduler="synchronous")
    wanted = {f"customer {k}": sum(n for n in range(k, ROWS, 7) if n % 10) for k in range(7)}
    assert totals.to_dict() == wanted
    assert len(frame) == ROWS
    few = read_table(
        "it_dask.orders", place, columns=["id"], where="total > ?", parameters=[ROWS - 11]
    )
    found = few.compute(scheduler="synchronous")
    assert sorted(found["id"]) == [n for n in range(ROWS - 10, ROWS) if n % 10]


def test_a_frame_into_a_table(session: Session, place: dict[str, Any]) -> None:
    session.execute("TRUNCATE copied", timeout=60)
    frame = read_table("it_dask.orders", place, splits=4)
    assert to_table(frame, "it_dask.copied", place) == ROWS
    assert session.count("copied") == ROWS
    with pytest.raises(ValueError, match="does not have the option 'checkpoint'"):
        to_table(frame, "it_dask.copied", place, checkpoint="x")


def _stop_once(part: Any, mark: str) -> Any:
    """Kill the worker that has the first part, once."""
    try:
        os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        pass
    else:
        os.kill(os.getpid(), signal.SIGKILL)
    return part


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="Windows has no SIGKILL")
def test_a_worker_that_is_killed_doubles_nothing(
    session: Session, place: dict[str, Any], tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    distributed = pytest.importorskip("distributed")
    # Workers take the path over. A tree that is not built must not stand before the driver that is
    # installed.
    tree = str(Path(__file__).parents[2])
    monkeypatch.setattr(sys, "path", [*(one for one in sys.path if one != tree), tree])
    session.execute("TRUNCATE copied", timeout=60)
    with (
        distributed.LocalCluster(2, threads_per_worker=1, dashboard_address=None) as workers,
        distributed.Client(workers),
    ):
        frame = read_table("it_dask.orders", place, splits=8)
        frame = frame.map_partitions(_stop_once, str(tmp_path / "killed"), meta=frame._meta)
        assert to_table(frame, "it_dask.copied", place) == ROWS
    assert (tmp_path / "killed").exists()
    assert session.count("copied") == ROWS
