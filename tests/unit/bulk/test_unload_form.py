"""Test `FileForm`, the options of unloaded files.

A load with the same options must read the same values.
"""

from __future__ import annotations

import csv
import datetime
from pathlib import Path
from typing import Any

import pytest

from cassandra.bulk.ranges import FIRST, LAST, TokenRange
from cassandra.bulk.unload_form import FileForm, FileText
from cassandra.testing.fake import Answer, FakeCluster, Opcode, Request, rows
from cassandra.util import Date
from tests.unit.bulk.test_scan import EXPECTED, QUERY, nodes
from tests.unit.bulk.test_unload import session

__all__ = ["nodes", "session"]

INSERT = "INSERT INTO t (id, c0) VALUES (?, ?)"


def line(values: list[Any], **options: Any) -> str:
    """Return the CSV line for a row of the columns a and b, with these options of `FileForm`."""
    form = FileForm(**options)
    return FileText(form, ["a", "b"]).row(values).decode(form.encoding)


def test_options_of_csv_lines() -> None:
    """Each option of CSV has its effect on the line that is written."""
    assert line([None, 'x;"'], delimiter=";", null="NULL") == 'NULL;"x;"""\n'
    assert line(["it's", ""], quote="'", null="-") == "'it''s',\n"
    # The encoding is applied when the file is written, so it does not change the line.
    assert line(["é", 1], encoding="latin-1") == "é,1\n"
    timestamp = datetime.datetime(2026, 1, 2, 3, 4)
    options = {"date_format": "%d/%m/%Y", "timestamp_format": "%Y%m%d %H%M"}
    line_of_times = line([Date("2026-01-02"), [timestamp]], **options)
    assert line_of_times == '02/01/2026,"[""20260102 0304""]"\n'


def test_the_format_iso_is_the_default_one() -> None:
    """The format "iso" is the default; an unload accepts it, so that it can have a load's options.

    A load accepts "iso", too. The format "ms" is only for loads.
    """
    assert FileForm(date_format="iso", timestamp_format="iso") == FileForm()
    with pytest.raises(ValueError, match="timestamp_format is a format of strftime in an unload"):
        FileForm(timestamp_format="ms")


@pytest.mark.parametrize(
    ("value", "options", "message"),
    [
        ("NULL", {"null": "NULL"}, "stands for null"),
        (5, {"null": "5"}, "stands for null"),
        ("€", {"encoding": "latin-1"}, "a character that the encoding"),
        ("¥", {"encoding": "shift_jis"}, "a character that the encoding"),
        (Date("2026-01-02"), {"date_format": "%Y"}, "does not hold all of a date"),
        (datetime.datetime(2026, 1, 2, 3, 4, 5), {"timestamp_format": "%Y-%m-%d %H:%M"}, "does not hold all"),  # noqa: E501
    ],
)  # fmt: skip
def test_values_that_a_load_would_alter_are_refused(
    value: Any, options: dict[str, Any], message: str
) -> None:
    """A value that a load could not read back unchanged is refused.

    For example, a load would read a string that is also the string for null as a null.
    """
    with pytest.raises(ValueError, match=f'column "b": .*{message}'):
        line([1, value], **options)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32"])
@pytest.mark.parametrize("header", [True, False])
@pytest.mark.parametrize("value", ["\ufeff", "\ufeffa", "\ufeffa,b", "a\ufeff", "\ufeff\ufeff"])
def test_a_first_value_that_begins_with_a_byte_order_mark_is_kept(
    nodes: FakeCluster, session: Any, tmp_path: Path, encoding: str, header: bool, value: str
) -> None:
    """A byte order mark at the beginning of the first value survives an unload and a load.

    A load skips a byte order mark of the file, but must not skip a byte order mark of the first
    value. The table has one row, and both of its values are `value`.
    """
    columns = [("id", "text"), ("c0", "text")]
    request_count = 0

    def answer_page(request: Request) -> Answer:
        """Return an empty first page, and a second page with the row."""
        nonlocal request_count
        request_count += 1
        page = [] if request_count == 1 else [(value, value)]
        return rows(columns, page, keyspace="a", table="t0")

    for node in nodes.nodes:
        node.clear_primes()
        prepared = node.prime_prepare(QUERY, [("a", "bigint"), ("b", "bigint")], columns)
        prepared.keyspace, prepared.table = "a", "t0"
        node.prime(QUERY, answer_page)
        node.prime_prepare(INSERT, columns, pk_indexes=[0])
    options: Any = {"header": header, "encoding": encoding}
    # With two ranges and one request at a time, the first page is empty, and the row comes later.
    ranges = [TokenRange(FIRST, 0), TokenRange(0, LAST)]
    scan_options = {"ranges": ranges, "concurrency": 1}
    (path,) = session.unload("a.t0", tmp_path, format="csv", **scan_options, **options).files
    if not header:
        options["columns"] = ["id", "c0"]
    prepared_insert = session.prepare(INSERT)
    for node in nodes.nodes:
        node.forget_requests()
    # Load the file again, and compare the values that the nodes receive.
    assert session.load(prepared_insert, path, batch=None, **options).written == 1
    written_rows = [
        request.values
        for node in nodes.nodes
        for request in node.requests
        if request.opcode == Opcode.EXECUTE
    ]
    assert written_rows == [[value.encode(), value.encode()]]


def test_an_unloaded_file_has_the_chosen_delimiter_and_encoding(
    session: Any, tmp_path: Path
) -> None:
    """An unloaded CSV file has the delimiter and encoding of the options."""
    options = {"delimiter": ";", "header": False, "encoding": "utf-16"}
    (path,) = session.unload("a.t0", tmp_path / "out", format="csv", **options).files
    with open(path, newline="", encoding="utf-16") as file:
        rows = [tuple(map(int, row)) for row in csv.reader(file, delimiter=";")]
    assert sorted(rows) == EXPECTED


@pytest.mark.parametrize(
    ("format", "options", "message"),
    [
        ("parquet", {"encoding": "latin-1"}, "encoding is not an option of the format 'parquet'"),
        ("jsonl", {"null": "NULL"}, "null is not an option of the format 'jsonl'"),
        ("csv", {"delimiter": '"'}, "delimiter and quote are both"),
        ("csv", {"delimiter": "\n"}, "delimiter must not end a line"),
    ],
)
def test_options_that_have_no_effect_or_conflict_are_refused(
    session: Any, tmp_path: Path, format: str, options: dict[str, Any], message: str
) -> None:
    """Options without an effect on the format, and options that conflict, are refused."""
    pytest.importorskip("pyarrow")
    with pytest.raises(ValueError, match=message):
        session.unload("a.t0", tmp_path / "out", format=format, **options)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("null", ["", "NULL"], "null is one text in an unload"),
        ("header", ["a"], "header is True or False in an unload"),
        ("date_format", ["%d/%m/%Y", "%Y"], "date_format is one format in an unload"),
        ("timestamp_format", ("%Y",), "timestamp_format is one format in an unload"),
    ],
)
def test_options_that_a_load_takes_several_of_are_refused(
    option: str, value: object, message: str
) -> None:
    """A list is refused for options for which only a load accepts several values."""
    options: Any = {option: value}
    with pytest.raises(TypeError, match=message):
        FileForm(**options)
