"""A dry run of a load reports rows whose keys a server would refuse, for each kind of source."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cassandra.bulk import LoadReport
from cassandra.cluster import Cluster
from cassandra.testing.fake import FakeNode, Opcode
from tests.unit.metadata.schema.rows import column, schema

# the names of the partition key, the clustering column, a regular and a static column
NAMES = ["id", "n", "c0", "s"]
# The second row lacks its partition key, and the third row its clustering column. The fourth row
# has only a static column and lacks its partition key.
ROWS: list[tuple[Any, ...]] = [
    (1, 2, 3, None),
    (None, 2, 3, None),
    (1, None, 3, None),
    (None, None, None, 4),
    (1, None, None, 4),
]
# the index of each refused row in ROWS, and the reason
FAILURES = [
    (1, "column 'id' of the primary key has no value"),
    (2, "column 'n' of the primary key has no value"),
    (3, "column 'id' of the primary key has no value"),
]


@pytest.fixture
def session() -> Iterator[Any]:
    """Yield a session of a fake node with the table `a.t0`; fail if the test wrote a row."""
    with FakeNode() as node:
        node.schema = schema("a", tables=1)
        node.schema["system_schema.columns"] += [
            column("a", "t0", "n", "clustering", 0),
            column("a", "t0", "s", "static"),
        ]
        for names in (["id", "n", "c0", "s"], ["id", "s"]):
            markers = ", ".join("?" * len(names))
            query = f"INSERT INTO a.t0 ({', '.join(names)}) VALUES ({markers})"
            columns = [(name, "int") for name in names]
            prepared = node.prime_prepare(query, columns, pk_indexes=[0])
            prepared.keyspace, prepared.table = "a", "t0"
        with Cluster([node.address], port=node.port) as cluster:
            yield cluster.connect("a")
        # A dry run sends no row.
        assert not node.count(Opcode.EXECUTE) + node.count(Opcode.BATCH)


def csv_text(rows: list[tuple[Any, ...]]) -> str:
    """Return the rows as lines of CSV; a null is an empty field."""
    lines = [",".join("" if value is None else str(value) for value in row) for row in rows]
    return "".join(line + "\n" for line in lines)


# Each of the following functions returns ROWS as another kind of source for a load. The functions
# for files write the file into `folder`.


def a_frame(folder: Path) -> Any:
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame(ROWS, columns=NAMES).convert_dtypes()


def an_arrow_table(folder: Path) -> Any:
    pyarrow = pytest.importorskip("pyarrow")
    columns = [list(values) for values in zip(*ROWS, strict=True)]
    return pyarrow.table(dict(zip(NAMES, columns, strict=True)))


def a_parquet_file(folder: Path) -> Any:
    parquet = pytest.importorskip("pyarrow.parquet")
    path = folder / "rows.parquet"
    parquet.write_table(an_arrow_table(folder), path)
    return path


def a_csv_file(folder: Path) -> Any:
    path = folder / "rows.csv"
    path.write_text(",".join(NAMES) + "\n" + csv_text(ROWS))
    return path


def a_csv_file_without_names(folder: Path) -> Any:
    path = folder / "bare.csv"
    path.write_text(csv_text(ROWS))
    return path


def a_json_file(folder: Path) -> Any:
    path = folder / "rows.jsonl"
    lines = [json.dumps(dict(zip(NAMES, row, strict=True))) for row in ROWS]
    path.write_text("\n".join(lines) + "\n")
    return path


def tuples(folder: Path) -> Any:
    return ROWS


def lists(folder: Path) -> Any:
    return [list(row) for row in ROWS]


def mappings(folder: Path) -> Any:
    return [dict(zip(NAMES, row, strict=True)) for row in ROWS]


def columns(folder: Path) -> Any:
    """Return the rows as a mapping with a list of values for each column."""
    return dict(zip(NAMES, map(list, zip(*ROWS, strict=True)), strict=True))


# Functions that return the same rows, each in another kind of source.
SOURCES: list[Callable[[Path], Any]] = [
    *(a_frame, an_arrow_table, a_parquet_file, a_csv_file, a_csv_file_without_names),
    *(a_json_file, tuples, lists, mappings, columns),
]


@pytest.mark.parametrize("source_of", SOURCES, ids=lambda function: function.__name__)
def test_null_keys_of_each_source_are_reported(
    session: Any, tmp_path: Path, source_of: Callable[[Path], Any], caplog: pytest.LogCaptureFixture
) -> None:
    """A dry run finds the same null keys in each kind of source, and names their rows or lines."""
    options: dict[str, Any] = {"columns": NAMES}
    if source_of is a_csv_file_without_names:
        options["header"] = False
    # max_errors=None: report all failures, and do not stop at the first.
    report: LoadReport = session.load(
        "t0", source_of(tmp_path), dry_run=True, max_errors=None, **options
    )
    assert report.read == 5
    assert report.failed == 3
    # Rows and lines of a file are counted from 1, and other rows from 0.
    first_number = 1 if report.failures[0].place.startswith(str(tmp_path)) else 0
    failures = []
    for failure in report.failures:
        # The failure's `place` ends with the number of the row or line.
        number = int(failure.place.rsplit(" ", 1)[1])
        # The header is line 1, so the rows of this file begin in line 2.
        if "line" in failure.place and source_of is a_csv_file:
            number -= 1
        failures.append((number - first_number, failure.reason))
    assert failures == FAILURES
    # A file without a header must not be taken for an empty file.
    assert "is empty" not in caplog.text
