"""The error for a bad value in a scan says where its row is: table, primary key and token range."""

from __future__ import annotations

import asyncio
import re
import struct
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from cassandra import aio
from cassandra.bulk.row_places import add_place
from cassandra.cluster import Cluster
from cassandra.errors import DecodeError
from cassandra.testing.fake import Answer, Encoded, FakeNode, Request, rows
from tests.unit.metadata.schema.rows import column, schema

COLUMNS = [("id", "int"), ("n", "int"), ("c0", "int"), ("day", "date"), ("price", "decimal")]
SELECTORS = ", ".join(f'"{name}"' for name, _ in COLUMNS)
WHERE = 'FROM "a"."t0" WHERE token("id") > ? AND token("id") <= ?'
# The beginning of the error's message, which says where the bad value is.
PLACE = r"^table a\.t0, the row with id = 8 and n = 9, tokens after -1 up to \d+: row 1, "
BAD_INT = PLACE + r'column "c0" \(int\): '


class Table:
    """A fake table that answers the node's scans.

    Its two rows have the token 5. The attribute `values` has the last three values of the second
    row, and `names` has the columns that the scan selects.
    """

    def __init__(self, node: FakeNode) -> None:
        self.values: tuple[Any, ...] = (Encoded(b"\0\1"), None, None)
        self.names = [name for name, _ in COLUMNS]
        node.prime(re.compile("SELECT .*token"), self)

    def __call__(self, request: Request) -> Answer:
        """Respond with both rows if the token 5 is in the range that the request selects."""
        token_bounds: Any = request.values
        start, end = (int.from_bytes(value, "big", signed=True) for value in token_bounds)
        cql_types = dict(COLUMNS)
        columns = [(name, cql_types[name]) for name in self.names]
        page = []
        if start < 5 <= end:
            for row in ((7, 9, 1, None, None), (8, 9, *self.values)):
                values = dict(zip(cql_types, row, strict=True))
                page.append(tuple(values[name] for name in self.names))
        return rows(columns, page, keyspace="a", table="t0")


@pytest.fixture
def node() -> Iterator[FakeNode]:
    """Yield a node with the tables `a.t0` and `a.t1` that can prepare scans of some columns."""
    with FakeNode() as running_node:
        running_node.schema = schema("a")
        for table in ("t0", "t1"):
            running_node.schema["system_schema.columns"] += [
                column("a", table, "n", "clustering", 0),
                column("a", table, "day", type="date"),
                column("a", table, "price", type="decimal"),
            ]
        for names in (SELECTORS, '"c0"', '"id", "c0"', SELECTORS.replace('"', "")):
            selected_names = re.findall(r"\w+", names)
            columns = [(name, cql_type) for name, cql_type in COLUMNS if name in selected_names]
            running_node.prime_prepare(
                f"SELECT {names} {WHERE}", [("x", "bigint"), ("y", "bigint")], columns
            )
        yield running_node


@pytest.fixture
def table(node: FakeNode) -> Table:
    return Table(node)


@pytest.fixture
def session(node: FakeNode, table: Table) -> Iterator[Any]:
    with Cluster([node.address], port=node.port) as cluster:
        yield cluster.connect("a")


NAMES = [name for name, _ in COLUMNS]
# functions that read all rows of a scan, by the method they use
READERS: dict[str, Callable[[Any], Any]] = {
    "rows": list,
    "to_arrow": lambda scan: scan.to_arrow(),
    "to_pandas": lambda scan: scan.to_pandas(),
    "to_polars": lambda scan: scan.to_polars(),
    "to_numpy": lambda scan: scan.to_numpy(),
    "arrow_batches": lambda scan: list(scan.arrow_batches()),
}


def skip_without_packages(reader: str) -> None:
    """Skip the test if a package is missing that this method of reading a scan needs."""
    if reader == "rows":
        return
    pytest.importorskip("pyarrow")
    for package in ("pandas", "polars", "numpy"):
        if reader == f"to_{package}":
            pytest.importorskip(package)


@pytest.mark.parametrize("reader", READERS)
def test_scans_name_the_row_that_cannot_be_decoded(session: Any, reader: str) -> None:
    """The error for a cell that cannot be decoded names the cell's row and column."""
    skip_without_packages(reader)
    with pytest.raises(DecodeError, match=BAD_INT):
        READERS[reader](session.scan("t0", NAMES))


@pytest.mark.parametrize("reader", READERS)
def test_scans_on_asyncio_name_the_row(node: FakeNode, table: Table, reader: str) -> None:
    """On asyncio, the error for a cell that cannot be decoded names the cell's row and column."""
    skip_without_packages(reader)

    async def main() -> None:
        async with aio.Cluster([node.address], port=node.port) as cluster:
            session = await cluster.connect("a")
            scan = session.scan("t0", NAMES)
            if reader == "rows":
                async for _ in scan:
                    pass
            elif reader == "arrow_batches":
                async for _ in scan.arrow_batches():
                    pass
            else:
                await getattr(scan, reader)()

    with pytest.raises(DecodeError, match=BAD_INT):
        asyncio.run(main())


@pytest.mark.parametrize("file_format", ["csv", "jsonl", "parquet"])
def test_unloads_name_the_row(
    session: Any, node: FakeNode, tmp_path: Path, file_format: str
) -> None:
    """The error of an unload for a cell that cannot be decoded names the cell's row and column."""
    pytest.importorskip("pyarrow")
    with pytest.raises(DecodeError, match=BAD_INT):
        session.unload("t0", tmp_path / "out", columns=NAMES, format=file_format)

    async def main() -> None:
        async with aio.Cluster([node.address], port=node.port) as cluster:
            aio_session = await cluster.connect("a")
            await aio_session.unload("t0", tmp_path / "out", columns=NAMES, format=file_format)

    with pytest.raises(DecodeError, match=BAD_INT):
        asyncio.run(main())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"date_format": "%Y"}, "column \"day\": the format '%Y' does not hold all of a date"),
        ({"null": "8"}, 'column "id": a value has the text that stands for null'),
    ],
)
def test_values_that_an_unload_cannot_write_name_the_row(
    session: Any, table: Table, tmp_path: Path, options: dict[str, str], message: str
) -> None:
    """The error for a value that an unload cannot write names the value's row and column."""
    date = Encoded(struct.pack(">I", (1 << 31) + 20_780))  # 2026-11-23, in days since 1970
    table.values = (1, date, None)
    with pytest.raises(ValueError, match=PLACE + message):
        session.unload("t0", tmp_path / "out", columns=NAMES, format="csv", **options)


def test_a_value_that_does_not_fit_the_arrow_type_names_the_row(session: Any, table: Table) -> None:
    """The error for a decimal that does not fit its Arrow type names the row and column."""
    pytest.importorskip("pyarrow")
    table.values = (1, None, Decimal("1.234"))
    # A decimal of ten digits with two after the point cannot hold 1.234.
    match = PLACE + r'column "price" \(decimal\): the value does not fit decimal\(10, 2\)'
    with pytest.raises(DecodeError, match=match):
        session.scan("t0", NAMES).to_arrow(decimals=(10, 2))


def test_only_the_key_columns_that_were_selected_are_named(session: Any, table: Table) -> None:
    """The error names a row by those columns of its key that the scan selects.

    If the scan selects no column of the key, the error has only the number of the row in its page.
    """
    table.names = ["c0"]
    with pytest.raises(DecodeError, match=r"^table a\.t0, tokens after -1 up to \d+: row 1, "):
        list(session.scan("t0", ["c0"]))
    table.names = ["id", "c0"]
    with pytest.raises(DecodeError, match=r"^table a\.t0, the row with id = 8, tokens after "):
        list(session.scan("t0", ["id", "c0"]))


def test_errors_that_are_not_about_a_row_are_left_alone() -> None:
    """`add_place` changes an error only if its first argument is a string with a row's number."""
    page: Any = None
    for error in (ValueError("no"), TypeError(), KeyError(5), ValueError(5, "row 1: x")):
        message_before = str(error)
        add_place(error, page, "a.t0", ["id"], token_range=None)
        assert str(error) == message_before


def test_an_error_of_a_whole_column_names_the_first_row_that_cannot_be_decoded(
    session: Any, table: Table
) -> None:
    """If an error names only the column, the scan finds the first row that cannot be decoded.

    A decoder of columns does not always know the row, so the scan looks for the row in the page.
    """
    scan = session.scan("t0", NAMES)
    for page in scan.pages():
        if page._message.row_count:
            match = PLACE.removesuffix("row 1, ") + "column: bad"
            with pytest.raises(DecodeError, match=match), scan.locating(page):
                raise DecodeError("column: bad")
            break


def test_a_page_of_another_iteration_has_no_token_range(session: Any, table: Table) -> None:
    """An error for a page of an earlier iteration names no token range.

    A scan knows only the token range of the page that it returned last.
    """
    scan = session.scan("t0", NAMES)
    page = next(page for page in scan.pages() if page._message.row_count)
    # Start another iteration of the scan.
    next(scan.pages())
    place = "the row with id = 8 and n = 9: row 1: x"
    with pytest.raises(DecodeError, match=f"table a.t0, {place}"), scan.locating(page):
        raise DecodeError("row 1: x")
