"""Test the readers of JSON lines and Parquet files, and `fields_of_file` (the names of fields)."""

from __future__ import annotations

import datetime
import os
import struct
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from cassandra.bulk import chunks
from cassandra.bulk.chunks import Chunk, Column
from cassandra.bulk.files import READERS, fields_of_file
from cassandra.cqltypes import DateType, Int32Type, ListType, UTF8Type
from cassandra.errors import DependencyException
from cassandra.query.tables.rows import rows_of
from cassandra.sentinels import UNSET_VALUE
from tests.unit.bulk import readings

EPOCH = datetime.datetime(1970, 1, 1)
JULIAN_1970 = 2_440_588  # the number of the day 1970-01-01 in INT96 timestamps
COLUMNS = (Column("id", Int32Type), Column("name", UTF8Type, is_needed=False))
reading = partial(readings.reading, columns=COLUMNS)


def read(path: Any, **changes: Any) -> list[Chunk]:
    """Return the chunks of a file, one for each part of the file.

    :param changes: fields of `Reading` that differ from the usual values.
    """
    read_chunks = []
    first_row = 1
    file_format = Path(path).suffix[1:]
    for part in READERS[file_format](str(path), reading(**changes)):
        read_chunks.append(part.make_chunk(0, first_row))
        assert part.size == read_chunks[-1].size
        first_row += part.size
    return read_chunks


def json_lines(folder: Path, *lines: str | bytes) -> Path:
    """Write a file with these lines, and return its path."""
    path = folder / "a.jsonl"
    encoded_lines = [line if isinstance(line, bytes) else line.encode() for line in lines]
    path.write_bytes(b"".join(line + b"\n" for line in encoded_lines))
    return path


# -- JSON lines ------------------------------------------------------------------------------------


def test_rows_of_json_lines_have_line_numbers(tmp_path: Path) -> None:
    """A chunk has the values, the line number and the raw line of each row; empty lines count."""
    path = json_lines(
        tmp_path, '{"id": 1, "name": "a"}', "", '{"name": null, "id": 2}', '{"id": 3}'
    )
    (chunk,) = read(path)
    assert chunk.rows == [(1, "a"), (2, None), (3, UNSET_VALUE)]
    assert chunk.lines == [1, 3, 4]
    assert chunk.first == 1
    assert chunk.source == str(path)
    assert chunk.raw is not None
    assert chunk.raw[2] == '{"id": 3}\n'
    # A mapping renames fields.
    assert read(json_lines(tmp_path, '{"number": 1}'), mapping={"id": "number"})[0].rows[0][0] == 1
    assert read(json_lines(tmp_path)) == []


# Each tuple has a line of a file that cannot be loaded, and the error's message.
FAILING: list[tuple[Any, str]] = [
    ("[1]", "the line is a JSON array, not an object"),
    ('{"id"', "the line is not JSON"),
    ('{"id": "x"}', "column 'id': 'x' is not an integer"),
    (b'{"name": "\xff"}', "byte 0xff is not UTF-8: write encoding="),
    ('{"id": 1, "name": [1]}', "column 'name': "),
]


@pytest.mark.parametrize(("line", "message"), FAILING, ids=[case[1] for case in FAILING])
def test_unreadable_lines_become_errors(tmp_path: Path, line: Any, message: str) -> None:
    """An unreadable line becomes an error at the position of its row; the other rows are read."""
    (chunk,) = read(json_lines(tmp_path, '{"id": 1}', line, '{"id": 2}'))
    assert chunk.rows[0][0] == 1
    assert chunk.rows[2][0] == 2
    assert message in str(chunk.rows[1])


def test_fields_without_a_column_are_ignored_unless_columns_are_closed(tmp_path: Path) -> None:
    """Unknown fields are ignored; with `is_closed`, they fail the row unless they are in `ignored`.

    "_error" is a note that an earlier load added to a failed row, and is always allowed.
    """
    path = json_lines(tmp_path, '{"id": 1, "title": "a"}', '{"id": 2, "_error": "before"}')
    assert [row[0] for row in read(path)[0].rows] == [1, 2]
    first, second = read(path, is_closed=True)[0].rows
    assert "it has a field 'title', which is not a column that is written: id, name" in str(first)
    assert second[0] == 2
    assert read(path, is_closed=True, ignored={"title"})[0].rows[0][0] == 1


def test_errors_do_not_show_values_of_hidden_columns(tmp_path: Path) -> None:
    """The error for a row does not show the value of a hidden (encrypted) column."""
    columns = (Column("id", Int32Type, is_hidden=True),)
    (chunk,) = read(json_lines(tmp_path, '{"id": "secret"}', '{"id": 1}'), columns=columns)
    assert "secret" not in str(chunk.rows[0])
    assert chunk.rows[1] == (1,)


def test_chunks_of_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A chunk of JSON lines has a limited number of rows and bytes."""
    path = json_lines(tmp_path, *(f'{{"id": {n}}}' for n in range(10)))
    monkeypatch.setattr(chunks, "TEXT_ROWS", 4)
    read_chunks = read(path)
    assert [chunk.size for chunk in read_chunks] == [4, 4, 2]
    assert [chunk.first for chunk in read_chunks] == [1, 5, 9]
    # Each line has 10 bytes, and a chunk ends with the line that exceeds 25 bytes.
    monkeypatch.setattr(chunks, "CHUNK_BYTES", 25)
    assert [chunk.size for chunk in read(path)] == [3, 3, 3, 1]
    # After a resumed load, a chunk may begin at the second row of its part.
    part = next(iter(READERS["jsonl"](str(path), reading())))
    chunk = part.make_chunk(1, 10)
    assert chunk.size == 2
    assert chunk.first == 11
    assert chunk.lines == [2, 3]


def test_rows_before_the_damage_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a line is too long, the rows before it are read before the error is raised."""
    monkeypatch.setattr(chunks, "LONGEST_LINE", 1000)
    # The file is longer than the reader's buffer, so the reader returns the first rows before it
    # reaches the long line.
    good_lines = ['{"id": 1}'] * 20_000
    path = json_lines(tmp_path, *good_lines, "x" * 100_000)
    parts = READERS["jsonl"](str(path), reading())
    assert next(parts).size > 1000
    with pytest.raises(ValueError, match=r"a\.jsonl, after line \d+: .*more than 1,000 bytes"):
        list(parts)


# -- Parquet ---------------------------------------------------------------------------------------


@pytest.fixture
def parquet(tmp_path: Path) -> Any:
    """Return a function that writes a Parquet file and returns its path."""
    pyarrow = pytest.importorskip("pyarrow")
    pyarrow_parquet = pytest.importorskip("pyarrow.parquet")

    def write_parquet(rows: int = 3, **columns: Any) -> Path:
        path = tmp_path / "a.parquet"
        columns = columns or {"id": list(range(rows)), "name": [str(n) for n in range(rows)]}
        pyarrow_parquet.write_table(pyarrow.table(columns), path)
        return path

    return write_parquet


def test_rows_of_a_parquet_file(parquet: Any) -> None:
    """A Parquet file is read as Arrow tables, and each row has a location."""
    path = parquet()
    (chunk,) = read(path)
    assert chunk.rows.to_pylist() == [{"id": n, "name": str(n)} for n in range(3)]
    assert chunk.lines is None
    assert chunk.raw is None
    assert chunk.source == str(path)
    assert str(chunk.location(1)) == f"{path}, row 2"
    (part,) = READERS["parquet"](str(path), reading())
    # Begin at the third row of the part, whose first row gets the number 10.
    chunk_from_third_row = part.make_chunk(2, 10)
    assert chunk_from_third_row.rows.to_pylist() == [{"id": 2, "name": "2"}]
    assert chunk_from_third_row.first == 12


def test_columns_that_a_parquet_file_lacks(parquet: Any) -> None:
    """A column that the file lacks is unset; a missing key column is an error."""
    assert read(parquet(id=[1, 2]))[0].rows == [(1, UNSET_VALUE), (2, UNSET_VALUE)]
    with pytest.raises(ValueError, match=r"a\.parquet has no column 'id', but name, other"):
        read(parquet(name=["a"], other=[1]))
    (chunk,) = read(parquet(number=[1], other=[1]), mapping={"id": "number"})
    assert chunk.rows == [(1, UNSET_VALUE)]


def test_chunks_of_tables(parquet: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A chunk of a table has a limited number of rows and bytes."""
    monkeypatch.setattr(chunks, "CHUNK_ROWS", 40)
    read_chunks = read(parquet(100))
    assert [chunk.size for chunk in read_chunks] == [40, 40, 20]
    assert [chunk.first for chunk in read_chunks] == [1, 41, 81]
    assert [row["id"] for chunk in read_chunks for row in chunk.rows.to_pylist()] == list(
        range(100)
    )
    monkeypatch.setattr(chunks, "CHUNK_ROWS", 1000)
    monkeypatch.setattr(chunks, "CHUNK_BYTES", 300)
    # Each row has at least 12 bytes (the id and the offset of the name), so the 100 rows need four
    # chunks or more.
    assert len(read(parquet(100))) > 3


def test_chunks_of_dictionary_columns(tmp_path: Path) -> None:
    """A column that is read as a dictionary counts with the value of each row.

    pandas writes a category column in this way.
    """
    pyarrow = pytest.importorskip("pyarrow")
    pyarrow_parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "a.parquet"
    texts = pyarrow.DictionaryArray.from_arrays(
        pyarrow.array([0, 1] * 2000, "int8"), pyarrow.array(["x" * 10_000, "y" * 10_000])
    )
    pyarrow_parquet.write_table(pyarrow.table({"id": range(4000), "name": texts}), path)
    read_chunks = read(path)
    assert pyarrow.types.is_dictionary(read_chunks[0].rows.schema.field("name").type)
    assert [n for chunk in read_chunks for n in chunk.rows["id"].to_pylist()] == [*range(4000)]
    assert max(chunk.size for chunk in read_chunks) <= 12 * 1024 * 1024 // 10_000
    # Small values still share a chunk.
    texts = pyarrow.DictionaryArray.from_arrays(texts.indices, pyarrow.array(["x", "y"]))
    pyarrow_parquet.write_table(pyarrow.table({"id": range(4000), "name": texts}), path)
    assert [chunk.size for chunk in read(path)] == [4000]


def test_int96_timestamps_keep_their_years(tmp_path: Path) -> None:
    """Timestamps of the old Parquet type INT96 are read exactly to the millisecond in all years.

    Readers usually convert INT96 to nanoseconds, whose range is only the years 1677 to 2262.
    """
    pyarrow = pytest.importorskip("pyarrow")
    timestamps = [
        datetime.datetime(1, 1, 1),
        datetime.datetime(1600, 2, 29),
        datetime.datetime(2024, 1, 1, 0, 0, 0, 1_000),
        None,
        datetime.datetime(2500, 1, 2, 3, 4, 5, 6),
        datetime.datetime(9999, 12, 31),
    ]
    millis = list(map(millis_of, timestamps))
    path = tmp_path / "a.parquet"
    write_int96(path, pyarrow.array(timestamps, pyarrow.timestamp("us")))
    assert int96_values(path, DateType) == millis
    write_int96(path, pyarrow.array([[timestamp] for timestamp in timestamps]))
    assert int96_values(path, ListType.apply_parameters([DateType])) == [[item] for item in millis]


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_int96_timestamps_that_old_versions_of_pyarrow_wrote_are_corrected(
    tmp_path: Path, unit: str
) -> None:
    """Moments before 1970 are read right if their time of day was written as a negative number."""
    pyarrow = pytest.importorskip("pyarrow")
    timestamps = [
        datetime.datetime(1700, 1, 1, 12),
        datetime.datetime(1960, 2, 29, 23, 59, 59, 999_000),
        None,
        datetime.datetime(1969, 12, 31),
        datetime.datetime(2024, 1, 1, 0, 0, 0, 1_000),
        datetime.datetime(2100, 1, 1),
    ]
    if unit != "ns":
        timestamps.append(datetime.datetime(2500, 1, 2, 3, 4, 5, 6_000))
    path = tmp_path / "a.parquet"
    write_int96(path, pyarrow.array(timestamps, pyarrow.timestamp(unit)))
    # Write the moments as pyarrow 15 does: the day after them, and the time before that day.
    content = path.read_bytes()
    day = datetime.timedelta(days=1)
    for timestamp in timestamps:
        if timestamp is not None and timestamp < EPOCH and timestamp.time() != datetime.time():
            days, time_of_day = divmod(timestamp - EPOCH, day)
            nanos = time_of_day // datetime.timedelta(microseconds=1) * 1000
            right = struct.pack("<qi", nanos, days + JULIAN_1970)
            wrong = struct.pack("<qi", nanos - 86_400 * 10**9, days + 1 + JULIAN_1970)
            assert content.count(right) + content.count(wrong) == 1
            content = content.replace(right, wrong)
    path.write_bytes(content)
    assert int96_values(path, DateType) == list(map(millis_of, timestamps))


def millis_of(timestamp: datetime.datetime | None) -> int | None:
    """Return a timestamp as milliseconds since 1970."""
    if timestamp is None:
        return None
    return (timestamp - EPOCH) // datetime.timedelta(milliseconds=1)


def write_int96(path: Path, column: Any) -> None:
    """Write a Parquet file with the column `id`, whose timestamps have the type INT96."""
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(
        pyarrow.table({"id": column}), path, use_deprecated_int96_timestamps=True,
        compression="none", use_dictionary=False, write_statistics=False,
    )  # fmt: skip
    assert parquet.ParquetFile(path).schema.column(0).physical_type == "INT96"


def int96_values(path: Path, cql_type: Any) -> list[Any]:
    """Return the values that a load reads for the column `id`."""
    columns: Any = (Column("id", cql_type),)
    (chunk,) = read(path, columns=columns)
    return [value for (value,) in rows_of(chunk.rows, columns)]


def test_files_that_are_not_parquet_are_refused(tmp_path: Path) -> None:
    """A file that is not Parquet raises a ValueError that names the file."""
    pytest.importorskip("pyarrow")
    path = tmp_path / "a.parquet"
    for content in (b"", b"PAR1" + bytes(20)):
        path.write_bytes(content)
        for read_file in (read, lambda path: fields_of_file(str(path), "parquet", reading())):
            with pytest.raises(ValueError, match=r"a\.parquet cannot be read as Parquet"):
                read_file(path)


def test_parquet_without_pyarrow_is_a_dependency_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without pyarrow, reading Parquet raises a DependencyException that says what to install."""
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(DependencyException, match=r"Parquet needs pyarrow: pip install"):
        read(tmp_path / "a.parquet")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with names")
def test_parquet_cannot_be_read_from_a_pipe(tmp_path: Path) -> None:
    """A pipe as a Parquet file raises ValueError, because Parquet is read from its end."""
    pytest.importorskip("pyarrow")
    path = tmp_path / "a.parquet"
    os.mkfifo(path)
    for call in (read, lambda path: fields_of_file(str(path), "parquet", reading())):
        with pytest.raises(ValueError, match="is a pipe, and Parquet is read from what stands at"):
            call(path)


# -- names of fields -------------------------------------------------------------------------------


def test_names_of_fields(tmp_path: Path, parquet: Any) -> None:
    """Parquet and CSV files name their fields; JSON lines do not, so the result is None."""
    assert fields_of_file(str(parquet()), "parquet", reading()) == ["id", "name"]
    assert fields_of_file(str(tmp_path / "none.jsonl"), "jsonl", reading()) is None
    path = tmp_path / "a.csv"
    path.write_text("x,y\n")
    assert fields_of_file(str(path), "csv", reading()) == ["x", "y"]
