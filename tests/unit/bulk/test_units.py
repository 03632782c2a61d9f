"""A load warns if numbers for timestamps are probably not in milliseconds.

The numbers may be in seconds, microseconds or nanoseconds.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cassandra.bulk.report import LoadError
from cassandra.cluster import Cluster
from cassandra.testing.fake import FakeNode

INSERT = "INSERT INTO t (id, at, till) VALUES (?, ?, ?)"
COLUMNS = [("id", "int"), ("at", "timestamp"), ("till", "timestamp")]


@pytest.fixture
def node() -> Iterator[FakeNode]:
    """Yield a running node that can prepare INSERT."""
    with FakeNode() as running_node:
        running_node.prime_prepare(INSERT, COLUMNS, pk_indexes=[0])
        yield running_node


def warnings_of_load(node: FakeNode, source: Any, **options: Any) -> list[str]:
    """Load the source, and return the messages of its RuntimeWarnings."""
    with Cluster([node.address], port=node.port) as cluster:
        session = cluster.connect()
        with warnings.catch_warnings(record=True) as records:
            warnings.simplefilter("always")
            session.load(session.prepare(INSERT), source, **options)
    return [str(record.message) for record in records if record.category is RuntimeWarning]


def test_seconds_in_a_csv_file_warn_once_with_their_line(node: FakeNode, tmp_path: Path) -> None:
    """Timestamps in seconds cause one warning, which names the first line with seconds.

    In this test, hundreds of such lines follow.
    """
    path = tmp_path / "a.csv"
    # In row 1, "at" is null, so row 2 is the first row with seconds.
    path.write_text(
        "id,at,till\n1,,2026-11-26 10:00:00\n2,1700000000,1700000000\n"
        + "".join(f"{n},{1700000000 + n},\n" for n in range(3, 300))
    )
    (warning,) = warnings_of_load(node, path)
    assert warning == (
        f"{path}, line 3: column 'at' is a timestamp, which is counted in milliseconds, and "
        "1700000000 milliseconds are a moment of January or February 1970: if these are seconds, "
        "multiply them by 1000 (its other rows are not looked at)"
    )


def test_each_column_of_each_load_warns_once(node: FakeNode, tmp_path: Path) -> None:
    """Each column with wrong units warns once per load, even if several files have wrong units."""
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("id,begin,till\n1,1700000000,1700000000000000\n")
    mapping = {"begin": "at", "till": "till"}
    for _load in range(2):
        at_warning, till_warning = warnings_of_load(node, tmp_path / "*.csv", columns=mapping)
        assert "a.csv, line 2: column 'at' is" in at_warning
        assert "column 'till' is" in till_warning
        assert "if these are microseconds, divide them by 1000" in till_warning


@pytest.mark.parametrize(
    "line", ["1,1700000000000,2026-11-26", "1,0,-5", '1,"1969-07-20 20:17:40",', "1,,"]
)
def test_plausible_timestamps_do_not_warn(node: FakeNode, tmp_path: Path, line: str) -> None:
    """Timestamps in milliseconds, dates and nulls cause no warning."""
    path = tmp_path / "a.csv"
    path.write_text(f"id,at,till\n{line}\n")
    assert warnings_of_load(node, path) == []


def test_a_file_without_a_header_and_a_format(node: FakeNode, tmp_path: Path) -> None:
    """In a file without a header, the warning names line and column.

    With `timestamp_format=`, numbers are not checked, so there is no warning.
    """
    path = tmp_path / "a.csv"
    path.write_text("1;1700000000;-\n")
    (warning,) = warnings_of_load(node, path, header=False, delimiter=";", null="-")
    assert "a.csv, line 1: column 'at'" in warning
    path.write_text("1,2026112610,2026112610\n")
    assert warnings_of_load(node, path, header=False, timestamp_format="%Y%m%d%H") == []
    # If the formats include "ms" (milliseconds), numbers are checked again.
    path.write_text("1, NULL,\n1,1700000000,\n")
    formats = ["%d/%m/%Y", "ms"]
    options = {"header": False, "null": ["NULL", ""], "timestamp_format": formats}
    (warning,) = warnings_of_load(node, path, **options)
    assert "a.csv, line 2: column 'at'" in warning


def test_json_lines(node: FakeNode, tmp_path: Path) -> None:
    """For JSON lines, the warning names the line, the column and the probable unit."""
    path = tmp_path / "a.jsonl"
    path.write_text(
        '{"id": 1, "at": null}\n{"id": 2, "at": 1700000000, "till": "1700000000000000000"}\n'
    )
    at_warning, till_warning = warnings_of_load(node, path)
    assert "a.jsonl, line 2: column 'at'" in at_warning
    assert "1700000000000000000 milliseconds are a moment after the year 9999" in till_warning
    assert "if these are nanoseconds, divide them by 1000000" in till_warning
    # A format applies to strings. Numbers in JSON are still milliseconds.
    path.write_text('{"id": 2, "at": 1700000000, "till": "2026112610"}\n')
    (at_warning,) = warnings_of_load(node, path, timestamp_format="%Y%m%d%H")
    assert "a.jsonl, line 1: column 'at'" in at_warning


def test_integer_columns_of_tables(node: FakeNode, tmp_path: Path) -> None:
    """For each kind of table, the warning about seconds names the row and the column."""
    pandas = pytest.importorskip("pandas")
    pyarrow = pytest.importorskip("pyarrow")
    numpy = pytest.importorskip("numpy")
    parquet = pytest.importorskip("pyarrow.parquet")
    columns = {"id": [1, 2], "at": [1700000000, 1700000001], "till": [None, None]}
    # `at` has numbers of seconds, but its CQL type is timestamp, which needs milliseconds.
    table = pyarrow.table(
        columns,
        schema=pyarrow.schema(
            [("id", "int32"), ("at", "int64"), ("till", pyarrow.timestamp("ms"))]
        ),
    )
    parquet.write_table(table, tmp_path / "a.parquet")
    frame = pandas.DataFrame(
        {"id": [1], "at": [1700000000], "till": pandas.to_datetime(["1970-01-15"])}
    )
    array = numpy.array(
        [(1, 1700000000, 0)], dtype=[("id", "i4"), ("at", "i8"), ("till", "datetime64[ms]")]
    )
    for source, location in (
        (table, "row 0"),
        (frame, "row 0"),
        (array, "row 0"),
        (tmp_path / "a.parquet", "a.parquet, row 1"),
    ):
        messages = warnings_of_load(node, source)
        at_warnings = {message for message in messages if "column 'at'" in message}
        assert len(at_warnings) == 1, source
        assert f"{location}: column 'at' is a timestamp" in at_warnings.pop()


def test_a_null_before_the_number_of_a_frame_counts_as_a_row(node: FakeNode) -> None:
    """The warning about seconds names row 1, because row 0 of the frame has a null as its time."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {"id": [1, 2], "at": pandas.array([None, 1700000000], dtype="Int64"), "till": [None, None]}
    )
    assert any("row 1: column 'at'" in message for message in warnings_of_load(node, frame))


# A time in November 2023, in seconds since 1970. A timestamp needs milliseconds.
SECONDS = 1_700_000_000


def warnings_with_files(node: FakeNode, source: Any) -> list[tuple[str, str]]:
    """Load the source; return each warning's message and the file that the warning points to."""
    with Cluster([node.address], port=node.port) as cluster:
        session = cluster.connect()
        with warnings.catch_warnings(record=True) as records:
            warnings.simplefilter("always")
            session.load(session.prepare(INSERT), source, columns=["id", "at", "till"])
    return [(str(record.message), record.filename) for record in records]


@pytest.mark.parametrize("number", [SECONDS, SECONDS + 0.5])
@pytest.mark.parametrize("as_mappings", [False, True])
def test_rows_of_the_application_warn_at_its_own_line(
    node: FakeNode, number: float, as_mappings: bool
) -> None:
    """For rows of the application, the warning points to the application's call of `load`.

    The warning names the row and the column. Without special care, it would point to a thread of
    the driver.
    """
    rows: list[Any] = [(0, None, None), *((n, number, None) for n in range(1, 5))]
    if as_mappings:
        rows = [dict(zip(("id", "at", "till"), row, strict=True)) for row in rows]
    ((message, filename),) = warnings_with_files(node, rows)
    assert message.startswith("row 1: column 'at' is a timestamp, which is counted in millisec")
    assert "1700000000 milliseconds" in message
    assert filename == __file__


def test_floats_of_a_frame_warn_once(node: FakeNode) -> None:
    """Floats in a pandas column cause one warning.

    Pandas converts integers to floats if a value is missing.
    """
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {"id": [1, 2, 3], "at": [None, SECONDS, SECONDS + 1], "till": [None] * 3}
    )
    ((message, filename),) = warnings_with_files(node, frame)
    assert message.startswith("row 1: column 'at' is a timestamp")
    assert filename == __file__


def test_floats_of_arrow_and_structured_arrays_warn_once(node: FakeNode) -> None:
    """Floats in Arrow tables and structured arrays cause one warning."""
    numpy = pytest.importorskip("numpy")
    pyarrow = pytest.importorskip("pyarrow")
    array = numpy.array([(1, SECONDS, 0.0)], dtype=[("id", "i4"), ("at", "f8"), ("till", "f8")])
    table = pyarrow.table({name: array[name] for name in array.dtype.names})
    for source in (array, table):
        ((message, _),) = warnings_with_files(node, source)
        assert message.startswith("row 0: column 'at' is a timestamp")


def test_values_after_the_first_rows_warn_at_the_line_of_the_load(node: FakeNode) -> None:
    """A wrong unit after the first number of a column causes one warning, without a row number.

    A load checks the first number of a column, which is right here. Later numbers are checked when
    they are encoded.
    """
    rows = [(n, 1_700_000_000_000, None) for n in range(200)]
    rows += [(n, SECONDS + n * 10_000_000, None) for n in range(200, 210)]
    ((message, filename),) = warnings_with_files(node, rows)
    assert message.startswith("about ")
    assert filename == __file__


def test_values_that_are_no_numbers_are_left_to_binding(node: FakeNode) -> None:
    """The check of units skips strings; booleans, infinity and NaN fail when encoded."""
    rows = [(1, None, None), (2, "2026-11-23", None), (3, SECONDS, None)]
    ((message, _),) = warnings_with_files(node, rows)
    assert message.startswith("row 2: column 'at'")
    for value in (True, float("inf"), float("nan")):
        with pytest.raises(LoadError, match='column "at"'):
            warnings_with_files(node, [(1, value, None)])


def test_digits_of_dates(node: FakeNode, tmp_path: Path) -> None:
    """The digits of a date, such as 20261231, cause a warning that names the fitting format.

    As a number of milliseconds, 20261231 is a time in 1970.
    """
    path = tmp_path / "a.csv"
    path.write_text("id,at,till\n1,20261231,20261231235959\n")
    at_warning, till_warning = warnings_of_load(node, path)
    assert "column 'at' is" in at_warning
    assert (
        "20261231 milliseconds are 1970-01-01 05:37 UTC: if these are the digits of "
        "2026-12-31 00:00:00, write timestamp_format='%Y%m%d' " in at_warning
    )
    assert "of 2026-12-31 23:59:59, write timestamp_format='%Y%m%d%H%M%S' " in till_warning
    for source in ([{"id": 1, "at": 20261231}], {"id": [1], "at": [20261231.0]}):
        (message,) = warnings_of_load(node, source)
        assert message.startswith("row 0: column 'at' is")
        assert "write datetime.strptime(str(value), '%Y%m%d') for each value" in message


def test_other_numbers_of_so_many_digits_do_not_warn(node: FakeNode, tmp_path: Path) -> None:
    """Numbers with as many digits as a date cause no warning if they are not a plausible date."""
    path = tmp_path / "a.csv"
    path.write_text("id,at,till\n1,20261331,20261231246060\n2,,\n")
    assert warnings_of_load(node, path) == []
    path.write_text("id,at,till\n1,18991231,22000101000000\n")
    assert warnings_of_load(node, path) == []
    # If a format that reads the digits precedes "ms", there is no warning.
    path.write_text("id,at,till\n1,20261231,2026123123\n")
    formats = ["%d.%m.%Y", "iso", "%Y%m%d", "%Y%m%d%H", "ms"]
    assert warnings_of_load(node, path, timestamp_format=formats) == []
    assert len(warnings_of_load(node, path, timestamp_format=["%d.%m.%Y", "ms"])) == 2
