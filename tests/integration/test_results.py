"""A real node's rows have the same values in all forms of a result.

The forms are rows, Arrow, polars, NumPy, pandas and DuckDB.
"""

from __future__ import annotations

import datetime
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from cassandra import aio
from cassandra.cluster import Session
from cassandra.query import BatchStatement, BatchType, tuple_factory
from cassandra.testing import LocalCluster

from .conftest import connect, create_keyspace, new_keyspace_name

pytestmark = pytest.mark.integration

COUNT = 20_000  # the number of rows in the table
PARTITIONS = 200  # the number of partitions of the table
EPOCH = datetime.datetime(2024, 1, 1)  # the timestamp of the first row
NAMES = ("p", "c", "u", "t", "d", "b", "at", "v")
QUERY = f"SELECT {', '.join(NAMES)} FROM wide"


def row(number: int) -> tuple[Any, ...]:
    """Return the values of row `number`; every seventh row has nulls."""
    optional_values: tuple[Any, ...] = (
        uuid.UUID(int=number * 7919),
        f"text {number}",
        number / 3,
        number % 2 == 0,
        EPOCH + datetime.timedelta(milliseconds=number),
        [float(number % 100), 0.5, -1.0],
    )
    if number % 7 == 0:
        optional_values = (None,) * len(optional_values)
    partition = number % PARTITIONS
    return (partition, number, *optional_values)


@pytest.fixture(scope="module")
def written(node: LocalCluster) -> Iterator[tuple[Session, dict[int, tuple[Any, ...]]]]:
    """Yield a session in a keyspace with the table `wide`, and its rows by number."""
    name = new_keyspace_name()
    with connect(node) as cluster, cluster.connect() as session:
        create_keyspace(session, name)
        session.set_keyspace(name)
        session.execute(
            "CREATE TABLE wide (p int, c int, u uuid, t text, d double, b boolean, at timestamp, "
            "v vector<float, 3>, PRIMARY KEY (p, c))"
        )
        insert = session.prepare(
            f"INSERT INTO wide ({', '.join(NAMES)}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
        )
        rows = [row(number) for number in range(COUNT)]
        in_flight: list[Any] = []
        for partition in range(PARTITIONS):
            partition_rows = rows[partition::PARTITIONS]
            for start in range(0, len(partition_rows), 100):
                batch = BatchStatement(BatchType.UNLOGGED)
                for values in partition_rows[start : start + 100]:
                    batch.add(insert, values)
                in_flight.append(session.execute_async(batch, timeout=60))
                # Keep at most 32 requests in flight: wait for the oldest request.
                if len(in_flight) == 32:
                    in_flight.pop(0).result()
        for future in in_flight:
            future.result()
        session.row_factory = tuple_factory
        yield session, {values[1]: values for values in rows}
        session.execute(f"DROP KEYSPACE {name}")


def without_time_zones(timestamps: list[Any]) -> list[Any]:
    """Return the timestamps, some of which may be None, as naive datetimes."""
    return [
        None if timestamp is None else timestamp.replace(tzinfo=None) for timestamp in timestamps
    ]


def check_columns(columns: dict[str, list[Any]], rows: dict[int, tuple[Any, ...]]) -> None:
    """Check that the columns contain each row exactly once.

    :param columns: the values of each column, in the order in which the rows were read.
    :param rows: the rows that were written, by number.
    """
    rows_read = {
        values[1]: values for values in zip(*[columns[name] for name in NAMES], strict=True)
    }
    assert len(columns["c"]) == COUNT
    assert rows_read == rows


def test_all_forms_of_a_result_have_the_same_values(
    written: tuple[Session, dict[int, tuple[Any, ...]]],
) -> None:
    """Each form of a result has all rows; timestamps of Arrow and polars have a time zone."""
    pytest.importorskip("pyarrow")
    pytest.importorskip("polars")
    pytest.importorskip("pandas")
    duckdb = pytest.importorskip("duckdb")
    session, rows = written
    assert {values[1]: values for values in session.execute(QUERY)} == rows

    columns = session.execute(QUERY).to_arrow().to_pydict()
    columns["at"] = without_time_zones(columns["at"])
    check_columns(columns, rows)

    batch_sizes = [batch.num_rows for batch in session.execute(QUERY).arrow_batches()]
    assert sum(batch_sizes) == COUNT
    # There is at least one record batch for each page of 5000 rows.
    assert len(batch_sizes) >= COUNT // 5000

    columns = session.execute(QUERY).to_polars().to_dict(as_series=False)
    columns["at"] = without_time_zones(columns["at"])
    # polars has no type for UUIDs, so convert the bytes to UUIDs before the comparison.
    columns["u"] = [
        None if identity is None else uuid.UUID(bytes=identity) for identity in columns["u"]
    ]
    check_columns(columns, rows)

    arrays = session.execute(QUERY).to_numpy()
    assert arrays["v"].shape == (COUNT, 3)
    columns = {name: array.tolist() for name, array in arrays.items()}
    # A null vector is a row of masked elements, which `tolist` turns into None.
    columns["v"] = [None if vector[0] is None else vector for vector in columns["v"]]
    check_columns(columns, rows)

    frame = session.execute(QUERY).to_pandas()
    assert frame["c"].sum() == sum(range(COUNT))
    null_count = len(range(0, COUNT, 7))  # every seventh row
    assert frame["t"].isna().sum() == null_count
    assert frame["u"].isna().sum() == null_count

    result = session.execute(QUERY)
    assert duckdb.sql("SELECT count(*), sum(c), count(t) FROM result").fetchall() == [
        (COUNT, sum(range(COUNT)), COUNT - null_count)
    ]
    # DuckDB finds the result by the name of the variable `result`. No other code uses the variable,
    # so `del` prevents a linter's warning.
    del result


async def test_awaited_arrow_tables_and_batches_have_the_same_values(
    node: LocalCluster, written: tuple[Session, dict[int, tuple[Any, ...]]]
) -> None:
    """The asyncio API reads all rows as one Arrow table, and as record batches."""
    pytest.importorskip("pyarrow")
    session, rows = written
    async with aio.Cluster(node.contact_points, port=node.port) as cluster:
        aio_session = await cluster.connect(session.keyspace)
        table = await (await aio_session.execute(QUERY)).to_arrow()
        columns = table.to_pydict()
        columns["at"] = without_time_zones(columns["at"])
        check_columns(columns, rows)
        row_count = 0
        async for batch in (await aio_session.execute(QUERY)).arrow_batches():
            row_count += batch.num_rows
        assert row_count == COUNT


def test_a_table_without_rows(written: tuple[Session, dict[int, tuple[Any, ...]]]) -> None:
    """A SELECT without rows still gives an Arrow table with its columns.

    An INSERT has no columns, so `to_arrow` raises an error.
    """
    pytest.importorskip("pyarrow")
    session, _ = written
    table = session.execute("SELECT * FROM wide WHERE p = -1").to_arrow()
    assert table.num_rows == 0
    assert sorted(table.column_names) == sorted(NAMES)
    with pytest.raises(RuntimeError, match="no rows, and so no columns"):
        session.execute("INSERT INTO wide (p, c) VALUES (-2, 0)").to_arrow()
    session.execute("DELETE FROM wide WHERE p = -2")
