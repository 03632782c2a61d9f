"""Tables of a real node are read and written as Dask DataFrames.

Dask runs in the test's process, or in two worker processes, of which one is killed.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from cassandra.cluster import Cluster, Session
from cassandra.dask import read_table, to_table
from cassandra.testing import LocalCluster

pytest.importorskip("dask.dataframe")
pytestmark = pytest.mark.integration

ROWS = 3000  # the number of rows of the table `orders`


@pytest.fixture(scope="module")
def server(node: LocalCluster) -> dict[str, Any]:
    """Return the arguments of a `Cluster` for the node."""
    return {"contact_points": node.contact_points, "port": node.port}


@pytest.fixture(scope="module")
def session(node: LocalCluster, server: dict[str, Any]) -> Iterator[Session]:
    """Yield a session in a keyspace with the table `orders`; every tenth order has no total."""
    with Cluster(**server) as cluster:
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
        session.execute("CREATE TABLE IF NOT EXISTS prices (id int PRIMARY KEY, price decimal)")
        rows: list[dict[str, Any]] = [
            {"id": number, "customer": f"customer {number % 7}"} for number in range(ROWS)
        ]
        for number in range(ROWS):
            if number % 10:
                rows[number]["total"] = number
        session.load("orders", rows)
        yield session


@pytest.mark.usefixtures("session")
def test_a_table_is_read_as_a_dask_dataframe(server: dict[str, Any]) -> None:
    """`read_table` returns a lazy frame of the table, or of the rows that meet a condition.

    The computed frame has the column types that the lazy frame announced.
    """
    frame = read_table("it_dask.orders", server, splits=8)
    assert frame.npartitions >= 8
    data_frame = frame.compute(scheduler="synchronous")
    assert sorted(data_frame["id"]) == list(range(ROWS))
    # Although the column `total` has nulls, its values are still integers: pandas would have made
    # them floats.
    assert dict(data_frame.dtypes) == dict(frame.dtypes)
    assert data_frame["total"].isna().sum() == ROWS / 10
    totals = frame.groupby("customer").total.sum().compute(scheduler="synchronous")
    expected = {
        f"customer {customer_number}": sum(
            order_id for order_id in range(customer_number, ROWS, 7) if order_id % 10
        )
        for customer_number in range(7)
    }
    assert totals.to_dict() == expected
    assert len(frame) == ROWS
    filtered_table = read_table(
        "it_dask.orders", server, columns=["id"], where="total > ?", parameters=[ROWS - 11]
    )
    frame_read = filtered_table.compute(scheduler="synchronous")
    assert sorted(frame_read["id"]) == [
        order_id for order_id in range(ROWS - 10, ROWS) if order_id % 10
    ]


def test_decimals_can_be_read_as_numbers_or_strings(
    session: Session, server: dict[str, Any]
) -> None:
    """Decimals are numbers if `read_table` gets their precision and scale, otherwise strings."""
    prices = {n: Decimal(n) / 4 for n in range(100)}
    session.load("prices", list(prices.items()))
    frame = read_table("it_dask.prices", server, decimals=(12, 2))
    total = frame[["price"]].sum().compute(scheduler="synchronous")["price"]
    assert total == sum(prices.values())
    strings = read_table("it_dask.prices", server).compute(scheduler="synchronous")
    assert {Decimal(price) for price in strings["price"]} == {*prices.values()}


def test_a_dask_dataframe_is_written_into_a_table(session: Session, server: dict[str, Any]) -> None:
    """`to_table` returns the number of rows, and refuses load options that Dask cannot support."""
    session.execute("TRUNCATE copied", timeout=60)
    frame = read_table("it_dask.orders", server, splits=4)
    assert to_table(frame, "it_dask.copied", server) == ROWS
    assert session.count("copied") == ROWS
    with pytest.raises(ValueError, match="does not have the option 'checkpoint'"):
        to_table(frame, "it_dask.copied", server, checkpoint="x")


def _kill_worker_once(partition: Any, marker_path: str) -> Any:
    """Kill the worker process that calls this function first; later calls return the partition.

    :param marker_path: the path of a file that the first call creates, so that later calls know.
    """
    try:
        # With O_EXCL, only one process can create the file.
        os.close(os.open(marker_path, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        pass
    else:
        os.kill(os.getpid(), signal.SIGKILL)
    return partition


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="Windows has no SIGKILL")
def test_no_row_is_lost_or_doubled_if_a_worker_is_killed(
    session: Session, server: dict[str, Any], tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dask computes the partition of a killed worker again in another process."""
    distributed = pytest.importorskip("distributed")
    # Worker processes inherit `sys.path`. Move the source checkout to its end, so that they import
    # the installed driver.
    source_checkout = str(Path(__file__).parents[2])
    monkeypatch.setattr(
        sys, "path", [*(entry for entry in sys.path if entry != source_checkout), source_checkout]
    )
    session.execute("TRUNCATE copied", timeout=60)
    with (
        distributed.LocalCluster(2, threads_per_worker=1, dashboard_address=None) as workers,
        distributed.Client(workers),
    ):
        frame = read_table("it_dask.orders", server, splits=8)
        marker_path = str(tmp_path / "killed")
        frame = frame.map_partitions(_kill_worker_once, marker_path, meta=frame._meta)
        assert to_table(frame, "it_dask.copied", server) == ROWS
    assert (tmp_path / "killed").exists()
    assert session.count("copied") == ROWS
