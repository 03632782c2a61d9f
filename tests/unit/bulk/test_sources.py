"""Test `chunks_of`, which reads any source of a load in chunks of rows with their positions."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import sqlite3
import warnings
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from cassandra.bulk import chunks, sources
from cassandra.bulk.chunks import Chunk, Position
from cassandra.bulk.lost_times import LostTimes
from cassandra.bulk.sources import (
    RowsOfColumns,
    chunks_of,
    fields_of_each,
    files_of,
    format_of,
    is_unloaded,
)
from cassandra.bulk.texts import Formats
from cassandra.cqltypes import SimpleDateType, TimestampType, TimeType
from cassandra.cqltypes.parse import lookup_casstype
from cassandra.protocol.columnar.named_arrays import NamedArrays
from cassandra.query.tables.unfit import Unfit
from cassandra.sentinels import UNSET_VALUE
from tests.unit.bulk.readings import reading


def read(source: object, **changes: Any) -> list[Chunk]:
    """Return the chunks of a source; `changes` replaces options of the reader."""
    return list(chunks_of(source, reading(**changes)))


def rows_of(read_chunks: Sequence[Chunk]) -> list[Any]:
    return [row for chunk in read_chunks for row in chunk.rows]


def write(path: Path, content: str) -> Path:
    """Write a file in UTF-8, and return its path."""
    path.write_text(content, encoding="utf-8")
    return path


def test_csv_fields_are_matched_by_the_names_of_the_header(tmp_path: Path) -> None:
    """CSV fields are matched by the header's names; other fields are left out.

    The locations of rows have the line numbers of the file.
    """
    # The file begins with a byte order mark. It has an empty line, which counts as a line but not
    # as a row.
    path = write(tmp_path / "a.csv", '\ufeffname,ignored,id\n"Smith, ""J""",x,1\n\n,y,2\n')
    (chunk,) = read(path)
    assert chunk.rows == [(1, 'Smith, "J"'), (2, None)]
    assert [str(chunk.location(number)) for number in range(2)] == [
        f"{path}, line 2",
        f"{path}, line 4",
    ]
    assert chunk.first == 1
    assert chunk.position == (0, 2)
    assert read(str(path))[0].rows == chunk.rows


def test_unreadable_rows_become_errors_in_their_place(tmp_path: Path) -> None:
    """An unreadable row of CSV or JSON becomes an error, and the rows around it are read."""
    path = write(tmp_path / "a.csv", "id,name\n1,a\nmany,b\n3\n4,d\n")
    (chunk,) = read(path)
    assert chunk.rows[0] == (1, "a")
    assert chunk.rows[3] == (4, "d")
    assert str(chunk.rows[1]) == "column 'id': 'many' is not an integer"
    assert str(chunk.rows[2]) == "1 fields, but the header has 2"
    assert chunk.raw is not None
    assert chunk.raw[1] == ["many", "b"]
    path = write(tmp_path / "a.jsonl", '{"id": 1}\n\n[1]\n{"id": "x"}\n{"id"\n')
    (chunk,) = read(path)
    assert chunk.rows[0] == (1, UNSET_VALUE)
    assert "the line is a JSON array, not an object" in str(chunk.rows[1])
    assert str(chunk.rows[2]) == "column 'id': 'x' is not an integer"
    assert "the line is not JSON" in str(chunk.rows[3])
    assert [chunk.location(number).line for number in range(4)] == [1, 3, 4, 5]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("cut.csv.gz", gzip.compress(b"id,name\n1,a\n", mtime=0)[:-4], "Compressed file ended"),
        ("none.csv.gz", b"id,name\n", "Not a gzipped file"),
        ("none.parquet", b"", "none.parquet cannot be read as Parquet"),
        ("half.parquet", b"PAR1" + bytes(20), "half.parquet cannot be read as Parquet"),
    ],
)
def test_errors_of_damaged_files_name_the_file(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    """The error for a file that is truncated, or not in the format of its name, names the file."""
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow")
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises((ValueError, OSError)) as caught:
        read(path)
    assert message in str(caught.value)


def test_fields_without_a_column_are_refused_if_columns_are_closed(tmp_path: Path) -> None:
    """With `is_closed`, a row with an unknown field fails, except for notes such as "_error".

    Loads add notes to failed rows.
    """
    content = '{"id": 1, "title": "a"}\n{"id": 2, "_error": "of another load"}\n'
    path = write(tmp_path / "a.jsonl", content)
    assert rows_of(read(path)) == [(1, UNSET_VALUE), (2, UNSET_VALUE)]
    first, second = rows_of(read(path, is_closed=True))
    assert str(first) == (
        "it has a field 'title', which is not a column that is written: id, name "
        "(columns= maps fields to columns, ignore= leaves fields out)"
    )
    assert second == (2, UNSET_VALUE)


def test_empty_files_have_no_rows(tmp_path: Path) -> None:
    """Empty files, and files with only a header, have no chunks."""
    for name in ("a.csv", "a.jsonl"):
        assert read(write(tmp_path / name, "")) == []
    assert read(write(tmp_path / "b.csv", "id,name\n")) == []


def test_a_line_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line of more than LONGEST_LINE bytes is refused; a longer file of short lines is read."""
    monkeypatch.setattr(chunks, "LONGEST_LINE", 100_000)
    # A lone carriage return ends a line, too.
    many_lines = write(tmp_path / "old.csv", "id,name\r" + "1,a\r" * 50_000)
    assert sum(chunk.size for chunk in read(many_lines)) == 50_000
    for name in ("a.csv", "a.jsonl"):
        path = write(tmp_path / name, "id,name\n" + "x" * 300_000)
        with pytest.raises(ValueError, match="has a line of more than 100,000 bytes"):
            read(path)


def test_compressed_files_and_globs(tmp_path: Path) -> None:
    """Several files of different formats, compressed or not, are read in order.

    Missing files and unknown formats are refused.
    """
    with gzip.open(tmp_path / "part-1.csv.gz", "wt") as file:
        file.write("id,name\n1,a\n")
    write(tmp_path / "part-2.csv", "name,id\nb,2\n")
    write(tmp_path / "part-3.jsonl", json.dumps({"id": 3, "name": "c"}) + "\n")
    all_rows = [(1, "a"), (2, "b"), (3, "c")]
    assert rows_of(read(str(tmp_path / "part-*"))) == all_rows
    assert rows_of(read(tmp_path)) == all_rows
    read_chunks = read([tmp_path / "part-3.jsonl", str(tmp_path / "part-1.csv.gz")])
    assert rows_of(read_chunks) == [(3, "c"), (1, "a")]
    assert [chunk.position for chunk in read_chunks] == [(0, 1), (1, 1)]
    # Reading can continue after any file and any row.
    for number in range(3):
        before_file, after_file = Position(file=number, row=0), Position(file=number, row=1)
        assert rows_of(read(tmp_path, skip=before_file)) == all_rows[number:]
        assert rows_of(read(tmp_path, skip=after_file)) == all_rows[number + 1 :]
    # The errors suggest what the caller may have meant.
    with pytest.raises(ValueError, match="says that 2 rows were read, and there are 1"):
        read(tmp_path, skip=Position(file=2, row=2))
    with pytest.raises(FileNotFoundError, match="no file is named"):
        read(tmp_path / "part-9.csv")
    with pytest.raises(FileNotFoundError, match=r"the table comes first, load\(table, source\)"):
        read("orders")
    with pytest.raises(FileNotFoundError, match="and no query: pass what the query returns"):
        read("SELECT * FROM cities")
    with pytest.raises(FileNotFoundError, match="a list of strings is a list of paths"):
        read("1,a")
    with pytest.raises(ValueError, match=r"the format of '.*\.rows' is not known"):
        read(write(tmp_path / "a.rows", ""))
    assert format_of("a.CSV.GZ", format=None) == "csv"
    assert format_of("a.xlsx", "csv") == "csv"
    with pytest.raises(ValueError, match="format must be"):
        format_of("a.csv", "excel")


def test_rows_of_the_application_are_read_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of the application are read in chunks, starting at any row.

    Objects that are not rows, files or tables are refused.
    """
    monkeypatch.setattr(chunks, "CHUNK_ROWS", 2)
    rows = [(n, str(n)) for n in range(5)]
    read_chunks = read(iter(rows))
    assert [chunk.size for chunk in read_chunks] == [2, 2, 1]
    assert rows_of(read_chunks) == rows
    assert str(read_chunks[1].location(1)) == "row 3"
    for skipped_count in range(6):
        remaining_chunks = read(iter(rows), skip=Position(file=0, row=skipped_count))
        assert rows_of(remaining_chunks) == rows[skipped_count:]
        # If rows were skipped, locations still count from the first row of the source. Each row
        # begins with its number.
        for chunk in remaining_chunks:
            assert chunk.location(0).row == chunk.rows[0][0]
    for wrong_source in ({"id": 1}, b"x", 5):
        with pytest.raises(
            TypeError, match="rows come from a file, a frame, a mapping of columns or an iterable"
        ):
            read(wrong_source)


def test_data_frames_and_arrow_tables_are_read_in_chunks(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Frames, tables, readers and batches are read in chunks of at most CHUNK_ROWS rows.

    A mapping renames their columns.
    """
    pandas = pytest.importorskip("pandas")
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr(chunks, "CHUNK_ROWS", 2)
    frame = pandas.DataFrame({"number": [1, 2, 3], "name": ["a", "b", "c"]})
    table = pyarrow.Table.from_pandas(frame)
    parquet.write_table(table, tmp_path / "a.parquet")
    tables = {
        "frame": frame,
        "table": table,
        "reader": table.to_reader(),
        "batch": table.to_batches()[0],
    }
    # The mapping renames the column "number" to "id".
    for name, source in tables.items():
        read_chunks = read(source, mapping={"id": "number"})
        assert [chunk.size for chunk in read_chunks] == [2, 1], name
        rows = read_chunks[0].rows
        names = list(rows.columns) if name == "frame" else rows.schema.names
        assert names == ["id", "name"]
    # A row of a Parquet file is located by its number, counted from 1.
    read_chunks = read(tmp_path / "a.parquet", mapping={"id": "number"})
    assert [str(chunk.location(0)) for chunk in read_chunks] == [
        f"{tmp_path / 'a.parquet'}, row 1",
        f"{tmp_path / 'a.parquet'}, row 3",
    ]
    assert read_chunks[0].rows.to_pylist() == [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}]
    # Reading can continue after any position.
    (last_chunk,) = read(table, mapping={"id": "number"}, skip=Position(file=0, row=2))
    assert last_chunk.rows.to_pylist() == [{"id": 3, "name": "c"}]
    with pytest.raises(ValueError, match="has no column 'id', but number, name"):
        read(tmp_path / "a.parquet")


def test_wide_rows_come_in_smaller_chunks(tmp_path: Path) -> None:
    """Chunks of a table have a limited number of bytes, in memory and from a Parquet file."""
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    # The table has 40 MB, more than three times the limit of a chunk (12 MiB).
    name = ["x" * 10_000] * 4000
    table = pyarrow.table({"id": list(range(4000)), "name": name})
    read_chunks = read(table)
    assert len(read_chunks) > 3
    assert [row["id"] for chunk in read_chunks for row in chunk.rows.to_pylist()] == list(
        range(4000)
    )
    parquet.write_table(table, tmp_path / "a.parquet", compression="none", use_dictionary=False)
    assert [chunk.size for chunk in read(tmp_path / "a.parquet")] == [
        table_chunk.size for table_chunk in read_chunks
    ]
    # A chunk of an application's rows has at most 5000 rows (OBJECT_ROWS), even if the rows are
    # short.
    assert [chunk.size for chunk in read([(n, "") for n in range(12_000)])] == [5000, 5000, 2000]


def _shared_columns() -> dict[str, Any]:
    """Return columns of 4000 texts of 10,000 bytes, each of which stores a single text."""
    pyarrow = pytest.importorskip("pyarrow")
    text = pyarrow.array(["x" * 10_000])
    codes = pyarrow.array([0] * 4000, "int8")
    dictionary = pyarrow.DictionaryArray.from_arrays(codes, text)
    run_type = pyarrow.run_end_encoded(pyarrow.int32(), text.type)
    # pyarrow 15 accepts only a list of ends, not an array.
    runs = pyarrow.RunEndEncodedArray.from_arrays([4000], text, run_type)
    return {
        "dictionary": dictionary,
        "runs": runs,
        "struct": pyarrow.StructArray.from_arrays([dictionary], ["text"]),
    }


@pytest.mark.parametrize("form", ["dictionary", "runs", "struct"])
def test_rows_that_share_a_value_come_in_smaller_chunks(form: str) -> None:
    """If Arrow stores a value once for all rows, each row still counts with the whole value."""
    pyarrow = pytest.importorskip("pyarrow")
    column = _shared_columns()[form]
    table = pyarrow.table({"id": range(4000), "name": column})
    assert table.nbytes < 100_000
    # A reader yields batches, which are measured one by one.
    for source in (table, table.to_reader(), table.to_batches()[0]):
        sizes = [chunk.size for chunk in read(source)]
        assert sum(sizes) == 4000
        assert max(sizes) <= 12 * 1024 * 1024 // 10_000
        assert len(sizes) == 4
    # The last rows are large, and all others are small.
    table = pyarrow.table(
        {
            "id": range(4000),
            "name": pyarrow.DictionaryArray.from_arrays(
                pyarrow.array([0] * 3000 + [1] * 1000, "int8"), pyarrow.array(["", "x" * 100_000])
            ),
        }
    )
    sizes = [chunk.size for chunk in read(table)]
    assert sizes[0] >= 3000
    assert max(sizes[1:]) <= 125
    assert sum(sizes) == 4000


def test_frames_of_polars_share_strings() -> None:
    """Many rows of a frame, such as of a join, may refer to one string, and each of them counts."""
    polars = pytest.importorskip("polars")
    names = polars.Series(["x" * 10_000]).new_from_index(0, 4000)
    frame = polars.DataFrame({"id": range(4000), "name": names})
    sizes = [chunk.size for chunk in read(frame)]
    assert sum(sizes) == 4000
    assert max(sizes) <= 12 * 1024 * 1024 // 10_000


def test_columns_that_share_values_are_converted_in_smaller_steps() -> None:
    """A mapping of Arrow columns is converted in small steps even if the rows share a value."""
    columns = _shared_columns()
    for form in ("dictionary", "runs"):
        rows = RowsOfColumns({"id": range(4000), "name": columns[form]})
        sizes: list[int] = []
        items = rows._items

        def items_of(
            name: str, numbers: range, items: Any = items, sizes: list[int] = sizes
        ) -> Any:
            sizes.append(len(numbers))
            return items(name, numbers)

        rows._items = items_of  # type: ignore[method-assign]
        assert len(list(rows)) == 4000
        assert max(sizes) <= 12 * 1024 * 1024 // 10_000


def test_values_of_other_columns_are_made_row_by_row() -> None:
    """The items of a sequence are requested when their row is read: each may be a new object."""

    class Texts(Sequence[str]):
        requested = 0

        def __len__(self) -> int:
            return 1000

        def __getitem__(self, index: Any) -> Any:
            self.requested += 1
            return "x" * 100

    texts = Texts()
    iterator = iter(RowsOfColumns({"name": texts}))
    assert next(iterator) == {"name": "x" * 100}
    assert texts.requested == 1


def test_pandas_frames_are_measured_with_all_of_their_values() -> None:
    """Chunks of a frame are small if its columns store values once, or outside of the frame."""
    numpy = pytest.importorskip("numpy")
    pandas = pytest.importorskip("pandas")
    columns = _shared_columns()
    vector = numpy.zeros(1_000_000, dtype="float32")
    vectors = pandas.Series([vector[n : n + 2500] for n in range(4000)], dtype=object)
    frames = [
        pandas.DataFrame({"name": pandas.arrays.ArrowExtensionArray(columns["dictionary"])}),
        pandas.DataFrame({"name": vectors}),
        pandas.DataFrame({"name": pandas.Series([["x" * 1000] * 10] * 4000)}),
        pandas.DataFrame({"name": ["x" * 10_000] * 4000}, dtype=object),
    ]
    for frame in frames:
        # The name of a column may be the name of an attribute of Arrow's tables.
        frame["id"] = frame["schema"] = range(4000)
        sizes = [chunk.size for chunk in read(frame)]
        assert sum(sizes) == 4000
        assert 900 <= max(sizes) <= 12 * 1024 * 1024 // 10_000
    # A column of small values is not measured larger than it is.
    frame = pandas.DataFrame({"id": range(4000)})
    frame["name"] = pandas.arrays.ArrowExtensionArray(
        columns["dictionary"].slice(0, 1).take([0] * 4000)
    )
    assert len(read(frame)) == 4


def test_sparse_columns_count_with_all_of_their_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """Values that a sparse column does not store are sent, so they count."""
    numpy = pytest.importorskip("numpy")
    pandas = pytest.importorskip("pandas")
    monkeypatch.setattr(chunks, "CHUNK_BYTES", 1600)
    zeros = pandas.arrays.SparseArray(numpy.zeros(1000), fill_value=0.0)
    sizes = [chunk.size for chunk in read(pandas.DataFrame({"id": zeros, "name": zeros}))]
    assert sum(sizes) == 1000
    assert max(sizes) <= 100


def test_arrays_of_objects_count_with_their_objects() -> None:
    """A NumPy array of Python objects only holds references; chunks depend on the objects."""
    numpy = pytest.importorskip("numpy")
    array = numpy.full((4000, 2), "x" * 5000, dtype=object)
    structured = numpy.zeros(4000, dtype=[("id", "i4"), ("name", object), ("schema", "i4")])
    structured["name"] = "x" * 10_000
    for source in (array, structured, structured.view(numpy.recarray)):
        sizes = [chunk.size for chunk in read(source)]
        assert sum(sizes) == 4000
        assert 900 <= max(sizes) <= 12 * 1024 * 1024 // 10_000


def test_large_rows_of_the_application_come_in_smaller_chunks() -> None:
    """A chunk of an iterable has at most about 12 MB (CHUNK_BYTES), but at least one row.

    All rows of two chunks are in memory, and the number of rows says nothing about their size.
    """

    def generate(*sizes: int) -> Iterator[Any]:
        for number, size in enumerate(sizes):
            yield number, "x" * size

    for size, expected in ((100_000, 126), (1_000_000, 13), (20_000_000, 1)):
        sizes = [chunk.size for chunk in read(generate(*[size] * 3 * expected))]
        assert sum(sizes) == 3 * expected
        assert len(sizes) >= 3
        assert max(sizes) <= expected
    # The rows of a list are in memory already, but their requests also take memory.
    rows = list(generate(*[1_000_000] * 24))
    assert len(read(rows)) >= 2
    # If small and large rows alternate, both are measured. So are large rows after small ones.
    for pattern in ([10, 200_000] * 120, [10] * 300 + [200_000] * 120):
        read_chunks = read(generate(*pattern))
        assert [row for chunk in read_chunks for row in chunk.rows] == list(generate(*pattern))
        assert max(sum(len(row[1]) for row in chunk.rows) for chunk in read_chunks) < 25_000_000
    # A resumed run may begin at any row.
    (*_, last) = read(generate(*[1_000_000] * 24), skip=Position(file=0, row=23))
    assert (last.size, last.first) == (1, 23)


def test_columns_of_large_values_are_converted_in_smaller_steps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """If columns have large values, few rows are converted at a time."""
    numpy = pytest.importorskip("numpy")
    steps: list[int] = []
    items = RowsOfColumns._items

    def items_of(rows: RowsOfColumns, name: str, numbers: range) -> Iterable[Any]:
        steps.append(len(numbers))
        return items(rows, name, numbers)

    monkeypatch.setattr(RowsOfColumns, "_items", items_of)
    rows = RowsOfColumns({"name": numpy.zeros((40, 100_000))})
    assert len(list(rows)) == 40
    assert max(steps) <= 16
    assert sum(steps) == 40


def test_arrays_of_a_result_have_plain_values() -> None:
    """So a load binds what `to_numpy` returns without converters, as it binds tables."""
    numpy = pytest.importorskip("numpy")
    columns = {"id": numpy.array([1, 2])}
    assert RowsOfColumns(NamedArrays(columns)).is_plain
    assert not RowsOfColumns(columns).is_plain


class _Consumer:
    """An iterator that yields rows again after its end.

    A consumer of a queue with a time limit is such an iterator.
    """

    def __init__(self) -> None:
        self.count = 0

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        self.count += 1
        if self.count % 4 == 0:
            raise StopIteration
        if self.count > 20:
            raise AssertionError("it was read on after its end")
        return self.count, ""


def test_a_source_that_goes_on_after_its_end_is_read_to_its_end() -> None:
    """A source ends when it raises StopIteration for the first time, as in a ``for`` loop."""
    source = _Consumer()
    assert rows_of(read(source)) == [(1, ""), (2, ""), (3, "")]
    assert source.count == 4


def test_a_row_that_raises_stop_iteration_does_not_end_the_source() -> None:
    """If a row cannot be copied because its class raises StopIteration, no row is lost silently."""

    class Row(Mapping[str, Any]):
        def __iter__(self) -> Iterator[str]:
            return iter(["id"])

        def __len__(self) -> int:
            return 1

        def __getitem__(self, name: str) -> Any:
            raise StopIteration

    with pytest.raises(RuntimeError, match="StopIteration"):
        read(iter([Row(), {"id": 1}]))


def test_chunks_of_a_slow_generator_are_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A chunk of an iterator ends after 5 seconds, even if it could have more rows.

    Otherwise the rows would be written, and saved in a checkpoint, long after they arrived.
    """
    now = 0.0

    def generate(*delays: float) -> Iterator[Any]:
        """Yield a row for each delay: the seconds until the row arrives."""
        nonlocal now
        for number, delay in enumerate(delays):
            now += delay
            yield number, ""

    monkeypatch.setattr(sources, "monotonic", lambda: now)
    # A row that arrives after the 5 seconds is the last row of its chunk.
    assert [chunk.size for chunk in read(generate(*[2.0] * 7))] == [3, 3, 1]
    assert [chunk.size for chunk in read(generate(60.0, 60.0))] == [1, 1]
    # Yield 1000 rows at once, and then one row per second.
    sizes = [chunk.size for chunk in read(generate(*[0.0] * 1000, *[1.0] * 100))]
    assert sum(sizes) == 1100
    assert sizes[0] < 1100
    assert max(sizes[1:]) <= 6


def test_an_iterator_or_a_reader_without_rows_warns() -> None:
    """A load warns about a source without rows if the source can only be read once.

    Such a source was probably read before.
    """
    pyarrow = pytest.importorskip("pyarrow")
    reader = pyarrow.table({"id": [1], "name": ["a"]}).to_reader()
    iterators: list[Any] = [zip([1], ["a"], strict=True), reader]
    for source in iterators:
        assert len(read(source)) == 1
        with pytest.warns(RuntimeWarning, match=f"the {type(source).__name__} had no rows: if it"):
            assert read(source) == []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # No warning: these sources are empty, but were not read before, or can be read again.
        sources_without_rows: list[Any] = [[], (n for n in range(0)), pyarrow.table({"id": []})]
        for source in sources_without_rows:
            assert read(source) == []


def test_names_of_fields(tmp_path: Path) -> None:
    """`fields_of_each` returns the field names of each file or table; None if it has none."""

    def names_of(source: object, **changes: Any) -> Any:
        """Return the field names of each file of the source, or of the source itself."""
        return [fields for _, fields in fields_of_each(source, reading(**changes))]

    # Only a CSV file with a header, or names as `header`, has field names.
    path = write(tmp_path / "a.csv", "name,id\n")
    assert names_of(path) == [["name", "id"]]
    assert names_of(path, header=False) == [None]
    assert names_of(path, header=["x"]) == [["x"]]
    assert names_of(write(tmp_path / "a.jsonl", "{}")) == [None]
    assert names_of([path, tmp_path / "a.jsonl"]) == [["name", "id"], None]
    assert names_of(write(tmp_path / "empty.csv", "")) == []
    assert names_of([(1, "a")]) == [None]
    assert names_of([{"id": 1}]) == [None]
    # Tables of each library have the names of their columns.
    pandas = pytest.importorskip("pandas")
    assert names_of(pandas.DataFrame({"a": [1]})) == [["a"]]
    pyarrow = pytest.importorskip("pyarrow")
    assert names_of(pyarrow.table({"a": [1]})) == [["a"]]
    polars = pytest.importorskip("polars")
    assert names_of(polars.DataFrame({"a": [1]})) == [["a"]]
    numpy = pytest.importorskip("numpy")
    assert names_of(numpy.zeros(2, dtype=[("a", "i4")])) == [["a"]]


def test_a_dict_of_columns_is_read_as_rows() -> None:
    """A dict of columns with equal lengths is read as rows, which are dicts by column name."""
    rows = sources.rows_of_columns({"id": (1, 2), "name": ["a", "b"]})
    assert isinstance(rows, sources.RowsOfColumns)
    assert list(rows) == [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}]
    assert rows[:] == list(rows)
    # Anything else is returned unchanged, even a dict that is not a mapping of columns.
    for other in ({}, {"id": 1}, {"id": "abc"}, [1], "a.csv"):
        assert sources.rows_of_columns(other) is other
    with pytest.raises(ValueError, match="different lengths: 'id' has 1, 'name' has 2"):
        sources.rows_of_columns({"id": [1], "name": ["a", "b"]})
    numpy = pytest.importorskip("numpy")
    with pytest.raises(ValueError, match=r"'v' is an array of 4 rows and 2 columns: write array.T"):
        sources.rows_of_columns({"id": [1, 2], "v": numpy.ones((4, 2))})
    with pytest.raises(TypeError, match=r"a single dict: write \[row\] for one row"):
        sources.chunks_of({"id": 1}, reading())
    with pytest.raises(TypeError, match=r", or \{'name': \['a'\] \* 2, \.\.\.\} for columns$"):
        sources.chunks_of({"id": [1, 2], "name": "a"}, reading())


def test_a_dict_of_columns_is_read_by_position() -> None:
    """A row of a dict of columns has the values at one position, whatever index a Series has."""
    pandas = pytest.importorskip("pandas")
    names = pandas.Series(["x", "y", "z"]).sort_values(ascending=False)
    dates = pandas.Series(pandas.to_datetime(["2020-01-02", "2020-01-01"]), index=[1, 0])
    rows = sources.RowsOfColumns({"id": {5: 0, 6: 0, 7: 0}.values(), "name": names})
    assert [row["name"] for row in rows] == ["z", "y", "x"]
    assert rows[2] == {"id": 0, "name": "x"}
    assert sources.RowsOfColumns({"id": {5: 0, 6: 0}.keys()})[1] == {"id": 6}
    assert sources.RowsOfColumns({"at": dates})[0] == {"at": pandas.Timestamp("2020-01-02")}
    for values in ({0: "a", 1: "b"}, {"a", "b"}):
        with pytest.raises(TypeError, match=r"the column 'name' is a .*, whose values have no pos"):
            sources.rows_of_columns({"id": [1, 2], "name": values})


def bound_rows(
    columns: dict[str, Any], lost_times: LostTimes | None = None, **types: Any
) -> list[Any]:
    """Return the rows of a mapping of columns with these CQL types."""
    rows = RowsOfColumns(columns)
    rows.convert_scalars({name: (name, types[name]) for name in types}, lost_times)
    return [row[name] for row in rows for name in types]


def test_datetimes_of_pandas_in_a_mapping_are_dates() -> None:
    """Series, indexes and arrays of datetimes become dates of their time zone, as in a frame."""
    pandas = pytest.importorskip("pandas")
    series = pandas.Series(pandas.to_datetime(["2026-11-23", None]), index=[1, 0])
    local = series.dt.tz_localize("Asia/Kolkata")
    day = 2**31 + 20780
    columns = [series, pandas.DatetimeIndex(series), series.array, local, local.array]
    if hasattr(pandas, "ArrowDtype") and hasattr(pandas.Series, "struct"):
        pytest.importorskip("pyarrow")
        columns.append(series.astype("timestamp[ns][pyarrow]"))
    for column in columns:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert bound_rows({"d": column}, LostTimes(), d=SimpleDateType) == [day, None]
        with pytest.warns(RuntimeWarning, match="column 'd' is a date, .* with a time of day"):
            assert bound_rows(
                {"d": column + pandas.Timedelta("12h")}, LostTimes(), d=SimpleDateType
            ) == [day, None]
    # For a timestamp, the time zone counts.
    (millis, _) = bound_rows({"t": local}, t=TimestampType)
    assert millis == 20780 * 86_400_000 - 19_800_000
    # Without a CQL type, because the column has a converter, the rows have pandas' own values.
    assert RowsOfColumns({"d": local})[0] == {"d": local.iloc[0]}


def test_integers_in_typed_columns_of_a_mapping_are_refused_as_dates() -> None:
    """Integers for dates are refused in arrays and Series, but lists are like the rows."""
    numpy, pandas = pytest.importorskip("numpy"), pytest.importorskip("pandas")
    vector = lookup_casstype("VectorType(SimpleDateType, 2)")
    numbers = numpy.array([20000, 1])
    columns = [
        (SimpleDateType, numbers),
        (SimpleDateType, numbers > 1),
        (SimpleDateType, numpy.ma.array(numbers, mask=[False, True])),
        (SimpleDateType, pandas.Series(numbers)),
        (SimpleDateType, pandas.Series([20000, None], dtype="Int32")),
        (SimpleDateType, pandas.arrays.SparseArray(numbers)),
        (SimpleDateType, array("i", [20000, 1])),
        (vector, numbers.reshape(1, 2)),
        (vector, pandas.Series([[20000, 1]])),
    ]
    with contextlib.suppress(ImportError):
        import polars

        columns += [(SimpleDateType, polars.Series(numbers)), (vector, polars.Series([[1, 2]]))]
    for cql_type, column in columns:
        with pytest.raises(ValueError, match=r"column 'd' .*date.*, and the source has integers"):
            bound_rows({"d": column}, d=cql_type)
    assert bound_rows({"d": [20000]}, d=SimpleDateType) == [20000]


def test_unfit_values_of_a_mapping_are_marked() -> None:
    """Dicts for lists and booleans for times are marked in columns of any class.

    Binding refuses the marked values.
    """
    numpy, pandas = pytest.importorskip("numpy"), pytest.importorskip("pandas")
    pyarrow = pytest.importorskip("pyarrow")
    dicts, booleans = [{"a": "x"}], [True]
    list_type = lookup_casstype("ListType(UTF8Type)")
    for make_column in (
        list,
        lambda values: numpy.array(values, object),
        numpy.array,
        pandas.Series,
        pyarrow.array,
    ):
        for values, cql_type in ((dicts, list_type), (booleans, TimeType)):
            (value,) = bound_rows({"v": make_column(values)}, v=cql_type)
            assert isinstance(value, Unfit)
            assert repr(value).removeprefix("np.").rstrip("_") == repr(values[0])


def test_records_of_a_mapping_are_tuples_by_the_names_of_results() -> None:
    """The records of a structured array become tuples; the fields f0, f1, ... go by name."""
    numpy = pytest.importorskip("numpy")
    tuple_type = lookup_casstype("TupleType(Int32Type, Int32Type)")
    records = numpy.array([(11, 1)], [("f1", "i4"), ("f0", "i4")])
    assert bound_rows({"v": records}, v=tuple_type) == [(1, 11)]


def test_an_empty_file_logs_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """An empty file has no field names, and a warning is logged."""
    path = write(tmp_path / "a.csv", "")
    assert sources.fields_of_each(path, reading()) == []
    assert "a.csv is empty: it has no header, and no rows" in caplog.text


def test_errors_explain_json_that_is_not_one_object_a_line(tmp_path: Path) -> None:
    """For a file that is one JSON document, the error says how JSON lines are written."""
    path = write(tmp_path / "a.json", '[{"id": 1},\n{"id": 2}]\n["id"]\n')
    errors = [str(row) for row in rows_of(read(path)) if isinstance(row, Exception)]
    assert errors[0].startswith("the line is not JSON")
    assert errors[0].endswith(
        "; the file is one JSON document: write one object a line, without "
        "brackets and commas around them"
    )
    (error,) = rows_of(read(write(path, '{"id": 1\n')))
    assert str(error).endswith("; each line is one object")
    error = rows_of(read(write(path, '{\n"id": 1}\n')))[0]
    assert "one JSON document" in str(error)
    assert errors[-1].startswith("the line is a JSON array, not an object: write one object a line")


def test_open_files_are_named_instead(tmp_path: Path) -> None:
    """An open file is refused, because a load takes a path; the error says what to pass instead."""
    path = write(tmp_path / "a.csv", "id,name\n1,a\n")
    with (
        open(path) as file,
        pytest.raises(TypeError, match=r"\(TextIOWrapper\): write its name, '"),
    ):
        read(file)
    with pytest.raises(TypeError, match=r"\(StringIO\): write csv\.DictReader\(file\)"):
        read(io.StringIO("id,name\n1,a\n"))


def test_frames_among_rows_are_refused() -> None:
    """An iterator of data frames, or of pairs (index, Series), is refused as a source."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"id": [1], "name": ["a"]})
    with pytest.raises(TypeError, match=r"is a DataFrame.*for frame in frames: session\.load"):
        read(iter([frame, frame]))
    with pytest.raises(TypeError, match=r"iterrows\(\): write session\.load\(table, frame\)"):
        read(frame.iterrows())
    with pytest.raises(TypeError, match=r"groupby\(\): write .* part in groups: session\.load"):
        read(frame.groupby("id"))


def test_a_file_that_is_named_twice_is_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If two arguments name a file, also by different paths, it is read once.

    Otherwise, counters of its rows would be added twice.
    """
    for name in ("c1.csv", "c2.csv"):
        (tmp_path / name).write_text("id\n1\n")
    (tmp_path / "latest.csv").symlink_to(tmp_path / "c2.csv")
    first, second, latest = (str(tmp_path / name) for name in ("c1.csv", "c2.csv", "latest.csv"))
    assert files_of([second, str(tmp_path / "c*.csv"), latest]) == [second, first]
    assert files_of([str(tmp_path), first]) == [first, second]
    monkeypatch.chdir(tmp_path)
    assert files_of(["c1.csv", first, tmp_path / "c1.csv"]) == ["c1.csv"]


def test_a_tuple_of_columns_is_refused() -> None:
    """A tuple of columns, such as ids and a matrix of vectors, is refused as a source of rows.

    A matrix is not a row; the error says to write a mapping of columns.
    """
    numpy = pytest.importorskip("numpy")
    matrix = numpy.zeros((2, 3), "f4")
    for source in (([1, 2], matrix), (numpy.arange(2), ["a", "b"], matrix), [matrix]):
        with pytest.raises(TypeError, match=r"write a mapping of columns, such as {'id': ids, 'em"):
            read(source)
    assert read([(1, numpy.zeros(3)), (2, numpy.ones(3))])


def test_names_of_files_that_a_load_does_not_read_are_no_tables() -> None:
    """The error for a file of an unsupported format does not suggest that the name is a table."""
    for name in ("a.xlsx", "a.feather", "a.zip"):
        with pytest.raises(FileNotFoundError) as refused:
            read(name)
        assert "the table comes first" not in str(refused.value)


def test_numbers_among_rows_are_refused() -> None:
    """Numbers as items of a source are refused, because they are values of a row or column."""
    for source in ((1, "a", 2.5), [2.5, 1], iter([True])):
        with pytest.raises(
            TypeError, match=r"write \[row\] for one row, and \[\(value,\), \.\.\.\]"
        ):
            read(source)


def test_files_that_pandas_reads() -> None:
    """For a spreadsheet, the error shows how to load the file through pandas."""
    with pytest.raises(ValueError, match=r"load\(table, pandas\.read_excel\('a\.xlsx'\)\)"):
        format_of("a.xlsx", format=None)


def test_sources_that_are_not_tables_say_what_to_write() -> None:
    """The error for a wrong source shows the call that the user probably needs."""

    class Lazy:
        def collect(self) -> None:
            """Imitate `LazyFrame.collect` of polars."""

    for source, advice in (
        (Lazy(), r"not from Lazy: write load\(table, frame\.collect\(\)\), or "),
        (b"id,name", "not from bytes: save the content as a file"),
        (5, "not from int$"),
        (read, r"not from function: write read\(\), with parentheses$"),
    ):
        with pytest.raises(TypeError, match=advice):
            read(source)
    # A string is the path of a file, so the content of a file is refused with advice.
    with pytest.raises(FileNotFoundError, match="save the text as a file"):
        read("id,name\n1,x\n")
    for text, advice in (
        ('[{"id": 1}]', r"write json\.loads\(text\)"),
        (' {"id": 1}\n{"id": 2}', r"write json\.loads\(text\)"),
        ("~/rows.csv", r"os\.path\.expanduser\('~/rows\.csv'\)"),
        ("$HOME/rows.csv", r"os\.path\.expandvars\('\$HOME/rows\.csv'\)"),
    ):
        with pytest.raises(FileNotFoundError, match=advice):
            read(text)
    pandas = pytest.importorskip("pandas")
    with pytest.raises(TypeError, match=r"a Series is a single column: write load\(table, \{name"):
        read(pandas.Series([1, 2]))


# options that only affect text files (CSV and JSON lines), with values that are not the default
OPTIONS_OF_TEXT: Any = [
    ("null", {"formats": Formats(null="NULL")}),
    ("date_format", {"formats": Formats(date="%d/%m/%Y")}),
    ("timestamp_format", {"formats": Formats(timestamp=["iso"])}),
    ("delimiter", {"delimiter": ";"}),
    ("quote", {"quote": "'"}),
    ("header", {"header": ["a"]}),
    ("encoding", {"encoding": "latin-1"}),
]


@pytest.mark.parametrize(("name", "changes"), OPTIONS_OF_TEXT)
def test_options_for_text_are_refused_without_a_file_of_text(
    tmp_path: Path, name: str, changes: dict[str, Any]
) -> None:
    """Options for text files are refused for rows and Parquet files, on which they have no effect.

    For example, the strings of ``null=`` would be written as strings.
    """
    (tmp_path / "a.parquet").touch()
    for source, description in (([(1, "NULL")], "list"), (tmp_path / "a.parquet", "Parquet")):
        match = f"{name}= is an option for files of text, and has no effect on {description}: "
        with pytest.raises(ValueError, match=match):
            fields_of_each(source, reading(**changes))
    assert fields_of_each([(1, "x")], reading()) == [("the rows", None)]
    # A folder may have files of several formats. Then one text file is enough.
    (tmp_path / "b.csv").touch()
    write(tmp_path / "a.jsonl", '{"id": 1}\n')
    assert fields_of_each([tmp_path / "a.jsonl", tmp_path / "b.csv"], reading(**changes))


@pytest.mark.parametrize(("name", "changes"), OPTIONS_OF_TEXT)
def test_options_for_csv_are_refused_for_json_lines(
    tmp_path: Path, name: str, changes: dict[str, Any]
) -> None:
    """JSON lines refuse the options for CSV, except encoding, date and timestamp formats."""
    (tmp_path / "a.parquet").touch()
    path = write(tmp_path / "a.jsonl", '{"id": 1}\n')
    if name in ("encoding", "date_format", "timestamp_format"):
        # JSON lines accept these options. JSON lines have no header, so the field names are
        # unknown.
        assert fields_of_each(path, reading(**changes)) == [(str(path), None)]
        return
    for files, description in (
        (["a.jsonl"], "JSON lines"),
        (["a.parquet", "a.jsonl"], "JSON lines and Parquet"),
    ):
        match = f"{name}= is an option for CSV, and has no effect on {description}: "
        with pytest.raises(ValueError, match=match):
            fields_of_each([tmp_path / file for file in files], reading(**changes))


def test_all_options_without_effect_are_named(tmp_path: Path) -> None:
    """The error names all options without an effect, not only the first option."""
    write(tmp_path / "a.jsonl", '{"id": 1}\n')
    options = reading(delimiter=";", header=False, encoding="latin-1")
    with pytest.raises(ValueError, match="delimiter=, header= are options for CSV, and have no "):
        fields_of_each(tmp_path / "a.jsonl", options)


def test_formats_that_a_load_does_not_read_get_advice() -> None:
    """The error for an unsupported format says how to load the data instead."""
    with pytest.raises(ValueError, match="but is 'json': JSON is read as lines, 'jsonl'"):
        format_of("a", "json")
    with pytest.raises(ValueError, match=r"'column': numpy.load\('a.npy'\)"):
        format_of("a.npy", None)


def test_a_folder_without_a_file_of_its_manifest_is_refused(tmp_path: Path) -> None:
    """A folder that lacks a file of its manifest is refused.

    An unload lists its files in the manifest, and a copy of the folder may have lost a file.
    """
    for name in ("a.csv", "b.csv.gz"):
        (tmp_path / name).touch()
    manifest = tmp_path / "_manifest.json"
    # A file may have been compressed after the unload.
    manifest.write_text(json.dumps({"files": [{"name": "a.csv"}, {"name": "b.csv"}]}))
    assert files_of(tmp_path) == [str(tmp_path / "a.csv"), str(tmp_path / "b.csv.gz")]
    # A file may also have been decompressed after the unload.
    manifest.write_text(json.dumps({"files": [{"name": "a.csv.gz"}, {"name": "b.csv"}]}))
    assert files_of(tmp_path) == [str(tmp_path / "a.csv"), str(tmp_path / "b.csv.gz")]
    (tmp_path / "b.csv.gz").unlink()
    with pytest.raises(FileNotFoundError, match=r"lacks the file 'b\.csv', which its _manifest"):
        files_of(tmp_path)
    # A pattern selects files, and does not use the manifest.
    assert files_of(str(tmp_path / "*.csv")) == [str(tmp_path / "a.csv")]
    for content in ("", "[]", "5", '{"files": 5}', '{"files": [5]}', '{"files": [{}]}'):
        manifest.write_text(content)
        assert files_of(tmp_path) == [str(tmp_path / "a.csv")]


@pytest.mark.parametrize("listed_name", ["a.csv", "a.csv.gz"])
def test_a_file_of_a_manifest_in_two_forms_is_refused(tmp_path: Path, listed_name: str) -> None:
    """``gzip -k`` keeps the file, so its rows would be written twice: counters would be doubled."""
    for name in ("a.csv", "a.csv.gz", "b.csv"):
        (tmp_path / name).touch()
    manifest = tmp_path / "_manifest.json"
    manifest.write_text(json.dumps({"files": [{"name": listed_name}, {"name": "b.csv"}]}))
    with pytest.raises(ValueError, match=r"in several forms \(a\.csv, a\.csv\.gz\)"):
        files_of(tmp_path)
    assert files_of(str(tmp_path / "*.csv")) == [
        str(tmp_path / name) for name in ("a.csv", "b.csv")
    ]


def test_files_of_an_unload_are_known_by_its_manifest(tmp_path: Path) -> None:
    """`is_unloaded` is True for a folder with a manifest, and for files that the manifest lists.

    Other files in the folder, and rows of the application, do not come from an unload.
    """
    for name in ("part-00000.csv", "other.csv"):
        (tmp_path / name).write_text("id\n1\n")
    assert not is_unloaded(tmp_path)
    manifest = tmp_path / "_manifest.json"
    manifest.write_text(json.dumps({"files": [{"name": "part-00000.csv", "rows": 1}]}))
    assert is_unloaded(tmp_path)
    assert is_unloaded(tmp_path / "part-00000.csv")
    assert not is_unloaded(tmp_path / "other.csv")
    assert not is_unloaded([(1,)])


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl"])
def test_a_file_with_fewer_rows_than_its_manifest_says_is_warned_of(
    tmp_path: Path, name: str
) -> None:
    """A load warns if a file has fewer rows than the manifest of its folder says.

    A copy of an unload's folder may have ended in the middle of a file.
    """
    text = "id,name\n1,a\n2,b\n" if name == "a.csv" else '{"id": 1}\n{"id": 2}\n'
    path = write(tmp_path / name, text)
    manifest = tmp_path / "_manifest.json"
    for skip in (0, 1):
        read = reading()._replace(skip=Position(0, skip))
        for rows in (1, 2, None):
            manifest.write_text(json.dumps({"files": [{"name": name, "rows": rows}]}))
            assert sum(chunk.size for chunk in chunks_of(path, read)) == 2 - skip
        manifest.write_text(json.dumps({"files": [{"name": name, "rows": 3}]}))
        with pytest.warns(RuntimeWarning, match=rf"{name} has 2 rows, and _manifest\.json .* 3:"):
            assert sum(chunk.size for chunk in chunks_of(path, read)) == 2 - skip


def test_the_manifest_of_a_folder_is_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The manifest of a folder is read once, not for each file.

    A manifest lists all files, so reading it for each file would take quadratic time.
    """
    paths = [str(write(tmp_path / f"{number}.csv", "id,name\n1,a\n")) for number in range(3)]
    (tmp_path / "_manifest.json").write_text('{"files": []}')
    load = Mock(side_effect=json.load)
    monkeypatch.setattr(json, "load", load)
    assert sum(chunk.size for chunk in chunks_of(paths, reading())) == 3
    load.assert_called_once()


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl"])
def test_a_file_that_is_changed_while_it_is_read_is_warned_of(tmp_path: Path, name: str) -> None:
    """A load warns if a file grows while the load reads it.

    Another process that still writes the file may have written half of the last row.
    """
    path = write(tmp_path / name, "id,name\n1,a\n" if name == "a.csv" else '{"id": 1}\n')
    read_chunks = chunks_of(path, reading())
    assert next(read_chunks).size == 1
    with open(path, "a") as file:
        file.write("\n")
    with pytest.warns(RuntimeWarning, match=f"{name} was changed while it was read"):
        assert list(read_chunks) == []
    # If the file was replaced or deleted, the load still reads the opened file, so it does not
    # warn.
    for replace in (lambda: write(tmp_path / "b", "").replace(path), path.unlink):
        write(path, '{"id": 1}\n' if name == "a.jsonl" else "id,name\n1,a\n")
        read_chunks = chunks_of(path, reading())
        assert next(read_chunks).size == 1
        replace()
        assert list(read_chunks) == []


def test_a_folder_with_other_files_is_told_apart_by_a_pattern(tmp_path: Path) -> None:
    """For a folder with a file of an unknown format, the error suggests a pattern.

    With format='csv', the load would read the README as rows. For the README alone, the error names
    the formats. With the pattern, the load reads the rows of the other file.
    """
    write(tmp_path / "README.md", "hello")
    write(tmp_path / "a.jsonl", '{"id": 1}\n')
    pattern = str(tmp_path / "*.jsonl")

    def read_listed_files(source: object) -> list[Chunk]:
        """Read the source like a load, which lists the files of a folder first."""
        return read(files_of(source))

    def read_field_names(source: object) -> Any:
        return fields_of_each(source, reading())

    calls: list[Callable[[object], Any]] = [read, read_listed_files, read_field_names]
    for call in calls:
        with pytest.raises(ValueError, match=r"README\.md") as caught:
            call(tmp_path)
        assert str(caught.value).endswith(f"or name the files to load alone, as {pattern!r}")
        with pytest.raises(ValueError, match=r"'parquet'$"):
            call(tmp_path / "README.md")
    assert rows_of(read(pattern)) == [(1, UNSET_VALUE)]


@pytest.mark.parametrize("field", ["NULL", "nan", "N/A", "\\N", "<NA>", "None", "-"])
def test_nulls_of_other_tools_get_advice(tmp_path: Path, field: str) -> None:
    """The error for a string that other tools write for null says how to pass it as `null=`."""
    path = write(tmp_path / "a.csv", f"id,name\n {field},a\n")
    (chunk,) = read(path)
    advice = f"{field!r} is not an integer; if this means null, add it to null=, as null="
    assert advice in str(chunk.rows[0])
    assert str(chunk.rows[0]).endswith(repr(["", field]))
    # With `null=` as advised, the field is null.
    (chunk,) = read(path, formats=Formats(["", field]))
    assert chunk.rows == [(None, "a")]


def test_an_empty_field_that_is_not_null_gets_advice(tmp_path: Path) -> None:
    """If `null="NULL"`, the error for an empty field suggests to add '' to `null=`."""
    path = write(tmp_path / "a.csv", "id,name\n,a\n")
    (chunk,) = read(path, formats=Formats("NULL"))
    assert str(chunk.rows[0]).endswith("add it to null=, as null=['', 'NULL']")


def test_the_advice_on_nulls_keeps_those_of_the_caller(tmp_path: Path) -> None:
    """The advice on `null=` keeps the strings that the caller has passed.

    Without "NA" in the advice, the strings "NA" of other columns would become values.
    """
    path = write(tmp_path / "a.csv", "id,name\nn/a,NA\n")
    (chunk,) = read(path, formats=Formats(["", "NA"]))
    assert str(chunk.rows[0]).endswith("add it to null=, as null=['', 'NA', 'n/a']")


def test_integers_that_pandas_has_written_as_floats_get_advice(tmp_path: Path) -> None:
    """The error for 7.0 in an integer column says that pandas writes such floats, and what to do.

    A data frame with a missing integer has floats. 7.5 was never an integer, so it gets no advice.
    """
    path = write(tmp_path / "a.csv", "id,name\n7.0,a\n7.5,b\n")
    (chunk,) = read(path)
    assert "; pandas writes integers so if a value is missing: write" in str(chunk.rows[0])
    assert str(chunk.rows[1]) == "column 'id': '7.5' is not an integer"


def test_the_file_of_a_frame_with_nullable_integers_has_integers(tmp_path: Path) -> None:
    """A file that pandas writes after `convert_dtypes()` has integers, as the error advises."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"id": [7, None], "name": ["a", "b"]})
    path = tmp_path / "a.csv"
    frame.convert_dtypes().to_csv(path, index=False)
    assert [row[0] for row in rows_of(read(path))] == [7, None]


def test_null_strings_of_json_get_no_advice_on_csv(tmp_path: Path) -> None:
    """The error for a string such as "NULL" in JSON lines does not suggest `null=`.

    JSON has its own null, so the option `null=` is not for JSON lines.
    """
    path = write(tmp_path / "a.jsonl", '{"id": "NULL"}\n')
    (chunk,) = read(path)
    assert str(chunk.rows[0]) == "column 'id': 'NULL' is not an integer"


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("rows.csv.zip", "is an archive of files: unpack it first"),
        ("rows.TAR.GZ", "is an archive of files"),
        ("rows.sqlite", r"is a database: write load\(table, duckdb\.sql\('SELECT"),
        ("rows.pkl", r"write load\(table, pandas\.read_pickle\("),
    ],
)
def test_archives_and_databases_get_advice(tmp_path: Path, name: str, advice: str) -> None:
    """The error for an archive or a database file says how to load its rows."""
    path = tmp_path / name
    path.write_bytes(b"x")
    with pytest.raises(ValueError, match=advice):
        read(path)


def test_a_connection_of_a_database_is_no_source() -> None:
    """A database connection is refused as a source; the error shows the query to write."""
    with (
        contextlib.closing(sqlite3.connect(":memory:")) as connection,
        pytest.raises(TypeError, match=r"connection\.execute\('SELECT \.\.\.'\)\.fetchall\(\)"),
    ):
        read(connection)
