"""Tests of the reader of CSV files, which reads a file in parts, one after another.

The tests cover the values and lines of rows, the original fields of failed rows, and damaged files.
"""

from __future__ import annotations

import csv
import gzip
import random
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cassandra.bulk import chunks, csv_files
from cassandra.bulk.chunks import Chunk, Column, Reading
from cassandra.bulk.csv_files import csv_fields, csv_parts
from cassandra.bulk.texts import Formats
from cassandra.cqltypes import BytesType, Int32Type, UTF8Type
from cassandra.cqltypes.parse import lookup_cqltype
from cassandra.sentinels import UNSET_VALUE
from tests.conftest import Implementation

COLUMNS = (Column("id", Int32Type), Column("name", UTF8Type))
PROTOCOL_VERSION = 5


class Files:
    """Reads CSV files, and returns their rows as tuples of values.

    Rows that the reader has bound to bytes are decoded again.

    :param implementation: the implementation (compiled or Python) whose reader binds ordinary rows
        to bytes. If None, the reader converts strings to values.
    """

    def __init__(self, folder: Path, implementation: Implementation | None) -> None:
        self.folder = folder
        self.implementation = implementation
        self.chunks: list[Chunk] = []

    def reading(self, columns: Any = COLUMNS, **changes: Any) -> Reading:
        """Return the options for reading a file: by default, a plain CSV file with a header.

        :param changes: attributes of `Reading` that differ.
        """
        plain = Reading(
            format=None,
            columns=columns,
            mapping={},
            formats=Formats(),
            header=True,
            delimiter=None,
            quote='"',
        )
        if self.implementation is not None:
            plain = plain._replace(
                binding=(self.implementation.bind.BindPlan(list(columns)), PROTOCOL_VERSION)
            )
        return plain._replace(**changes)

    def write(self, content: str | bytes, name: str = "a.csv") -> str:
        """Write a file into the folder, and return its path."""
        path = self.folder / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return str(path)

    def read(self, content: str | bytes, name: str = "a.csv", **changes: Any) -> list[Any]:
        """Write `content` to a file, and return all rows of the file."""
        reading = self.reading(**changes)
        self.chunks = []
        first_row = 1
        for part in csv_parts(self.write(content, name), reading):
            self.chunks.append(part.make_chunk(0, first_row))
            assert part.size == self.chunks[-1].size
            first_row += part.size
        return [row for chunk in self.chunks for row in self.rows(chunk, reading.columns)]

    def rows(self, chunk: Chunk, columns: Any) -> list[Any]:
        """Return the rows of a chunk as tuples; an unreadable row is represented by its error."""
        # Only a block of bound rows has the method `take`. Its rows are bytes, so they are decoded.
        if not hasattr(chunk.rows, "take"):
            return list(chunk.rows)
        assert self.implementation is not None
        plan = self.implementation.rows.RowPlan(
            [column.name for column in columns],
            [column.type.build_codec(self.implementation.codecs) for column in columns],
        )
        return [plan.tuples(bytes(row.data), 0, 1)[0] for row in chunk.rows.rows()]

    @property
    def lines(self) -> list[int]:
        """Return the line number of each row that was read."""
        return [line for chunk in self.chunks for line in chunk.lines or ()]

    @property
    def raw(self) -> list[Any]:
        """Return the fields of each row that was read, as they are in the file."""
        return [row for chunk in self.chunks for row in chunk.raw or ()]


@pytest.fixture(params=["texts", "bound"])
def files(
    request: pytest.FixtureRequest,
    implementation: Implementation,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Files:
    """Return a folder of CSV files whose rows are read as strings, or as encoded values."""
    monkeypatch.setattr(csv_files, "csv_rows", implementation.csv_rows)
    return Files(tmp_path, implementation if request.param == "bound" else None)


# -- rows ------------------------------------------------------------------------------------------


def test_fields_are_matched_by_the_names_of_the_header(files: Files) -> None:
    """The fields of a CSV file are matched to columns by the names in its header."""
    # The file begins with a byte order mark and has an empty line, which counts as a line but not
    # as a row.
    rows = files.read('\ufeffname,ignored,id\n"Smith, ""J""",x,1\n\n,y,2\n')
    assert rows == [(1, 'Smith, "J"'), (2, None)]
    assert files.lines == [2, 4]
    assert files.raw == [['Smith, "J"', "x", "1"], ["", "y", "2"]]
    (chunk,) = files.chunks
    assert chunk.names == ["name", "ignored", "id"]
    assert chunk.first == 1
    assert chunk.position == (0, 0)
    assert str(chunk.location(1)).endswith("a.csv, line 4")


# Each tuple has the content of a file with two rows, and the options with which it is read.
FORMS: list[tuple[str, dict[str, Any]]] = [
    ("1,x\n2,\n", {"header": False}),
    ("1,x\n2,\n", {"header": ["id", "name"]}),
    ("id;name\n1;x\n2;\n", {"delimiter": ";"}),
    ("id,name\r\n1,x\r\n2,\r\n", {}),
    ("id,name\r1,x\r2,\r", {}),
    ("\n\nid,name\n1,x\n2,", {}),
    ("id,name\n'1','x'\n2,\n", {"quote": "'"}),
    ("number,name\n1,x\n2,\n", {"mapping": {"id": "number"}}),
    ("id,name\n1,x\n2,NULL\n", {"formats": Formats(null="NULL")}),
]


@pytest.mark.parametrize(("content", "changes"), FORMS)
def test_forms_of_csv(files: Files, content: str, changes: dict[str, Any]) -> None:
    """The same rows are read from files with other delimiters, quotes and line ends."""
    assert files.read(content, **changes) == [(1, "x"), (2, None)]


def test_files_named_tsv_are_separated_by_tabs(files: Files) -> None:
    """In a file named .tsv or .tsv.gz, fields are separated by tabs; in a .csv file, by commas."""
    for name in ("a.tsv", "c.tsv.gz"):
        content: Any = b"id\tname\n1\tx,y\n"
        if name.endswith("gz"):
            content = gzip.compress(content)
        assert files.read(content, name) == [(1, "x,y")]
    assert files.read("id,name\n1,x\ty\n", "a.csv") == [(1, "x\ty")]


def test_fields_of_several_lines(files: Files) -> None:
    """Quoted fields may contain line ends, and the line numbers of later rows are right."""
    assert files.read('id,name\n1,"a\nb\r\nc"\n2,d\n') == [(1, "a\nb\r\nc"), (2, "d")]
    assert files.lines == [2, 5]
    assert files.raw == [["1", "a\nb\r\nc"], ["2", "d"]]


@pytest.mark.parametrize(
    ("row", "count"),
    [
        # The two characters are line ends of their own, because other bytes are between them.
        (b'"x\r","\ny"', 3),
        (b'"x\r""\ny",z', 3),
        (b'"x\r\n","\ny"', 3),
        (b'"x\n\r\r\n",y', 4),
        (b'"\r","\r\n"', 3),
    ],
)
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_each_line_end_within_a_row_is_counted(
    files: Files, row: bytes, count: int, end: bytes
) -> None:
    """The rows after a row of several lines have the line numbers of the csv module.

    :param count: the number of lines of the row.
    """
    columns = (Column("id", UTF8Type), Column("name", UTF8Type), Column("n", Int32Type))
    lines = [b"id,name,n", row + b",1", b"a,b,2", b"a,b,bad", b"a,b,3"]
    files.read(end.join(lines) + end, columns=columns)
    assert files.lines == [2, 2 + count, 3 + count, 4 + count]


def test_columns_that_a_file_lacks_are_unset(files: Files) -> None:
    """A column that a file lacks is unset in each row; a needed column must be in the file."""
    columns = (COLUMNS[0], Column("name", UTF8Type, is_needed=False))
    assert files.read("id\n1\n2\n", columns=columns) == [(1, UNSET_VALUE), (2, UNSET_VALUE)]
    with pytest.raises(ValueError, match="has no column 'name', but id"):
        files.read("id\n1\n")


def test_an_empty_field_of_a_text_or_blob_key_is_not_null(files: Files) -> None:
    """An empty field of a text or blob key column is the empty value, not null."""
    for cqltype, empty in ((UTF8Type, ""), (BytesType, b"")):
        columns = (Column("k", cqltype, is_key=True),)
        assert files.read("k,x\n,1\n", columns=columns) == [(empty,)]
        assert files.read("k,x\n,1\n", columns=(Column("k", cqltype),)) == [(None,)]
    columns = (Column("k", UTF8Type, is_key=True),)
    nulls = Formats(null=("", "NULL"))
    assert files.read("k,x\n,1\nNULL,1\n", columns=columns, formats=nulls) == [("",), (None,)]
    # A number cannot be empty.
    assert files.read("k,x\n,1\n", columns=(Column("k", Int32Type, is_key=True),)) == [(None,)]


def test_errors_do_not_show_values_of_hidden_columns(files: Files) -> None:
    """The error for a row does not show the value of a hidden (encrypted) column."""
    columns = (Column("id", Int32Type, is_hidden=True), COLUMNS[1])
    good, bad = files.read("id,name\n1,x\nsecret,y\n", columns=columns)
    assert good == (1, "x")
    assert "secret" not in str(bad)


def test_files_without_rows(files: Files) -> None:
    """Empty files, and files with only a header, have no rows."""
    for content in ("", "\n\n", "id,name", "id,name\n", "id,name\n\n"):
        assert files.read(content) == []


# -- rows that fail --------------------------------------------------------------------------------


def test_unreadable_rows_become_errors_in_their_place(files: Files) -> None:
    """A row that cannot be read becomes an error at the row's position; the other rows are read."""
    rows = files.read("id,name\n1,a\nmany,b\n3\n4,d,e\n5,f\n")
    assert rows[0] == (1, "a")
    assert rows[4] == (5, "f")
    assert [str(row) for row in rows[1:4]] == [
        "column 'id': 'many' is not an integer",
        "1 fields, but the header has 2",
        "3 fields, but the header has 2",
    ]
    assert files.raw == [["1", "a"], ["many", "b"], ["3"], ["4", "d", "e"], ["5", "f"]]
    assert files.lines == [2, 3, 4, 5, 6]


def test_rows_with_bytes_that_are_not_utf_8_become_errors(files: Files) -> None:
    """Rows with bytes that are not UTF-8 fail; the rows around them are read.

    All rows have correct line numbers.
    """
    content = b'id,name\n1,a\n2,b\xff\n3,"c\nd\xfe"\n4,e\n'
    rows = files.read(content)
    assert rows[0] == (1, "a")
    assert rows[3] == (4, "e")
    assert "byte 0xff is not UTF-8" in str(rows[1])
    assert str(rows[2]).startswith("byte 0xfe is not UTF-8: write encoding=")
    assert files.lines == [2, 3, 4, 6]
    assert files.raw[1][0] == "2"


def test_a_row_that_the_csv_module_refuses_is_one_row(files: Files) -> None:
    """A row that the csv module refuses is one failed row, and its raw text is kept."""
    rows = files.read('id,name\n1,a\n2,"b"x\n3,c\n')
    assert rows[0] == (1, "a")
    assert rows[2] == (3, "c")
    assert "expected after" in str(rows[1])
    assert files.lines == [2, 3, 4]
    assert files.raw[1] == '2,"b"x\n'


# -- parts of a file, which are read one after another ------------------------------------------


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limit chunks to a few rows and bytes, so that a short file has several chunks."""
    monkeypatch.setattr(chunks, "CHUNK_BYTES", 200)
    monkeypatch.setattr(chunks, "CHUNK_ROWS", 20)
    monkeypatch.setattr(chunks, "TEXT_ROWS", 15)
    monkeypatch.setattr(chunks, "LONGEST_LINE", 20_000)
    monkeypatch.setattr(csv_files, "MORE_BYTES", 64)
    monkeypatch.setattr(csv_files, "FIRST_BYTES", 32)


@pytest.mark.usefixtures("small_chunks")
def test_chunks_cover_all_rows_in_order(files: Files) -> None:
    """The chunks of a file together have all its rows, in the file's order."""
    count = 100
    rows = files.read("id,name\n" + "".join(f"{number},name {number}\n" for number in range(count)))
    assert rows == [(number, f"name {number}") for number in range(count)]
    assert files.lines == list(range(2, count + 2))
    assert files.raw == [[str(number), f"name {number}"] for number in range(count)]
    # `small_chunks` allows 20 rows for each chunk, so 100 rows need at least five chunks.
    assert len(files.chunks) >= 5
    assert all(chunk.size <= 20 for chunk in files.chunks)
    first_rows = [chunk.first for chunk in files.chunks]
    assert first_rows == [
        1 + sum(chunk.size for chunk in files.chunks[:number]) for number in range(len(first_rows))
    ]


@pytest.mark.usefixtures("small_chunks")
def test_odd_rows_among_ordinary_ones(files: Files) -> None:
    """A row with too many fields becomes an error, and a row that takes two lines is read.

    The rows around these two rows are not affected.
    """
    lines = [f"{n},name {n}" for n in range(60)]
    lines[20] = "20,a,b"
    lines[40] = '40,"x\ny"'
    rows = files.read("id,name\n" + "\n".join(lines) + "\n")
    assert len(rows) == 60
    assert str(rows[20]) == "3 fields, but the header has 2"
    assert rows[40] == (40, "x\ny")
    # Row 40 takes lines 42 and 43, so no row begins in line 43.
    assert files.lines == [*range(2, 43), *range(44, 63)]


@pytest.mark.usefixtures("small_chunks")
def test_a_row_longer_than_a_part(files: Files) -> None:
    """A row may be longer than the part of the file that is read at once."""
    long = "x" * 5000
    assert files.read(f"id,name\n1,{long}\n2,b\n") == [(1, long), (2, "b")]
    assert files.lines == [2, 3]


@pytest.mark.usefixtures("small_chunks")
def test_a_long_header(files: Files) -> None:
    """A header may be longer than the part of the file that is read at once."""
    names = ",".join(f"n{number}" for number in range(50))
    assert files.read(f"id,name,{names}\n1,x{',' * 50}\n") == [(1, "x")]
    assert files.read(f'id,name,"{names}\n"\n1,x,\n') == [(1, "x")]
    assert files.lines == [3]


@pytest.mark.usefixtures("small_chunks")
def test_a_line_without_end_is_refused(files: Files) -> None:
    """A line longer than `LONGEST_LINE` bytes is refused, so that memory stays limited."""
    with pytest.raises(ValueError, match="has a line of more than 20,000 bytes"):
        files.read("id,name\n" + "x" * 100_000)


def test_a_chunk_may_begin_in_the_middle_of_a_part(files: Files) -> None:
    """After a resumed load, the first chunk may begin at a later row of a part of the file."""
    path = files.write("id,name\n1,a\n2,b\nmany,c\n")
    reading = files.reading()
    # the line number of each row, as a string, and the row's fields
    rows: list[Any] = []
    for part in csv_parts(path, reading):
        # Number the file's first row 10 here. Resume at the second row, which is row 11. The next
        # part, if there is a next part, begins with row 12.
        chunk = part.make_chunk(1, 10) if not rows else part.make_chunk(0, 12)
        assert chunk.raw is not None
        rows += [
            (str(chunk.location(n)).rpartition(" ")[2], chunk.raw[n]) for n in range(chunk.size)
        ]
        assert chunk.first in (11, 12)
        assert len(files.rows(chunk, reading.columns)) == chunk.size
    assert rows[0] == ("3", ["2", "b"])
    assert rows[-1] == ("4", ["many", "c"])


# -- damage ----------------------------------------------------------------------------------------

# Each tuple has the name and the content of a damaged file, and a pattern of the error's message.
DAMAGED: list[tuple[str, bytes, str]] = [
    ("quote.csv", b'"id,name\n1,a\n', r"quote\.csv, line 1: the quote that opens here is never"),
    ("quotes.csv", b'"i\nd","na\nme\n1,a\n', r"quotes\.csv, line 2: the quote that opens here is"),
    ("latin.csv", b"id,\xe9\n1,a\n", r"latin\.csv, line 1: byte 0xe9 is not UTF-8"),
    (
        "cut.csv.gz",
        gzip.compress(b"id,name\n1,a\n" * 9, mtime=0)[:-4],
        r"line \d+: Compressed file",
    ),
    ("none.csv.gz", b"id,name\n", "line 1: Not a gzipped file"),
]


@pytest.mark.parametrize(("name", "content", "message"), DAMAGED, ids=[case[0] for case in DAMAGED])
def test_errors_of_damaged_files_name_file_and_line(
    files: Files, name: str, content: bytes, message: str
) -> None:
    """The error for a damaged file names the file and the line."""
    with pytest.raises(ValueError, match=message):
        files.read(content, name)


@pytest.mark.parametrize(
    ("row", "line"),
    [
        (b'3,"c', 4),
        (b'"3","c\n4,d\n5,e\n', 4),
        (b'3,"x ""y"""""\n4,"c""\n5,""', 5),
        (b'3,"a\r\nb"\r\n4,"\n5,e\n', 6),
        (b'3,a"b\n4,"c\n', 5),
        (b'"\n3","', 5),
    ],
)
def test_a_quote_that_is_never_closed_ends_the_file(files: Files, row: bytes, line: int) -> None:
    """A quote that is never closed ends the file, after all rows before the quote were read.

    The error names the line of the quote. The header and two rows take three lines, so `row` begins
    in line 4.
    """
    message = (
        rf"a\.csv, line {line}: the quote that opens here is never closed: the rest of the file "
        "was not read"
    )
    with pytest.raises(ValueError, match=message):
        files.read(b"id,name\n1,a\n2,b\n" + row, "a.csv")
    assert sum(chunk.size for chunk in files.chunks) >= 2


def test_a_quote_that_is_not_closed_within_the_limit_of_a_field(
    files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a quote is not closed within the csv module's field limit, the error names its line.

    The rows before the quote were read.
    """
    limit_before = csv.field_size_limit()
    monkeypatch.setattr(chunks, "LONGEST_LINE", 1000)
    try:
        # The reader raises the limit of the csv module but never lowers it, so the test lowers it
        # here.
        csv.field_size_limit(1000)
        with pytest.raises(ValueError, match="line 3: the quote that opens here is not closed wi"):
            files.read(b'id,name\n1,a\n2,"b\n' + b"3,c\n" * 500, "a.csv")
        assert [chunk.size for chunk in files.chunks] == [1]
    finally:
        csv.field_size_limit(limit_before)


@pytest.mark.usefixtures("small_chunks")
def test_rows_before_the_damage_are_read(files: Files) -> None:
    """If a compressed file was cut, the rows before the cut are read before the error is raised."""
    rng = random.Random(5)
    # Use random digits, so that the compressed file stays long.
    lines = [f"{n},{rng.random()}" for n in range(5000)]
    archive = gzip.compress(("id,name\n" + "\n".join(lines)).encode(), mtime=0)
    cut = archive[: len(archive) * 3 // 4]
    # 31 is for the header of gzip. The last of these lines is incomplete.
    complete_lines = zlib.decompressobj(31).decompress(cut).splitlines()[1:-1]
    with pytest.raises(ValueError, match=r"a\.csv\.gz, line \d+: Compressed file ended") as caught:
        files.read(cut, "a.csv.gz")
    count = sum(chunk.size for chunk in files.chunks)
    assert count == len(complete_lines) > 3000
    # The header is line 1, and each row has one line, so the last row that was read is on the line
    # `count + 1`, and the error names the line after it.
    assert int(str(caught.value).partition("line ")[2].partition(":")[0]) == count + 2


# -- names of fields -------------------------------------------------------------------------------


def test_names_of_fields(files: Files) -> None:
    """Fields have the names of the file's header or of the option `header`.

    Without a header and without such names, `csv_fields` returns None.
    """
    reading = files.reading()
    for content, expected_names in (
        ("name,id\n1,a\n", ["name", "id"]),
        ('\n"a\nb",c', ["a\nb", "c"]),
        ("", []),
        ("\n\n", []),
    ):
        assert csv_fields(files.write(content), reading) == expected_names
    path = files.write("name,id\n")
    assert csv_fields(path, reading._replace(header=False)) is None
    assert csv_fields(path, reading._replace(header=["x"])) == ["x"]
    assert csv_fields(files.write("a\tb\n", "a.tsv"), reading) == ["a", "b"]


def test_the_csv_module_s_field_size_limit_is_raised_and_never_lowered(files: Files) -> None:
    """The reader raises `csv.field_size_limit` to LONGEST_LINE, and keeps a higher limit.

    The limit belongs to the process, so the application may have set it before.
    """
    limit_before = csv.field_size_limit()
    try:
        for limit in (1000, chunks.LONGEST_LINE + 5):
            csv.field_size_limit(limit)
            files.read("id,name\n1,a\n")
            assert csv.field_size_limit() == max(limit, chunks.LONGEST_LINE)
    finally:
        csv.field_size_limit(limit_before)


def test_the_field_reader_converts_nulls(files: Files) -> None:
    """`_FieldReader` converts one field, or many with `all`; strings for null become None."""
    reader_of: Callable[..., Any] = csv_files._FieldReader
    upper_case_reader = reader_of(str.upper, nulls=("", "NULL"), ignores_blanks=False)
    assert [upper_case_reader("a"), upper_case_reader(""), upper_case_reader("NULL")] == [
        "A",
        None,
        None,
    ]
    assert list(upper_case_reader.all(["a", "NULL", "b"])) == ["A", None, "B"]
    assert list(upper_case_reader.all(["a", "b"])) == ["A", "B"]
    texts = ["a", "b"]
    # `all` returns a list that contains no string for null as it is, without a copy.
    assert reader_of(str, nulls=("",), ignores_blanks=False).all(texts) is texts


NULL_CELLS = [
    # (type of the column, fields in the file, values that are read)
    ("int", ["NULL", " NULL", "NULL\t", "  ", "-1", " -1", "5"], [None] * 6 + [5]),
    ("double", ["NULL ", " -1", " 1.5 "], [None, None, 1.5]),
    ("boolean", [" NULL ", "true "], [None, True]),
    ("blob", [" NULL ", " ", " 0x00"], [None, None, b"\0"]),
    ("inet", [" NULL", " 10.0.0.1 "], [None, "10.0.0.1"]),
    # Blanks are part of a text value, so " NULL" is not null in a text column.
    (
        "text",
        ["NULL", " NULL", "NULL ", " ", "", " -1"],
        [None, " NULL", "NULL ", " ", None, " -1"],
    ),
    ("ascii", ["NULL", " NULL"], [None, " NULL"]),
]


@pytest.mark.parametrize(("type_name", "fields", "values"), NULL_CELLS)
def test_blanks_around_a_null_are_ignored_except_in_texts(
    files: Files, type_name: str, fields: list[str], values: list[Any]
) -> None:
    """In a column whose type is not text or ascii, " NULL " is read as null, like "NULL"."""
    columns = (COLUMNS[0], Column("c", lookup_cqltype(type_name)))
    formats = Formats(null=("NULL", "", "-1"))
    for field, value in zip(fields, values, strict=True):
        ((_, read),) = files.read(f"id,c\n1,{field}\n", columns=columns, formats=formats)
        assert read == value, field
    # Many fields of a column are converted by other code than a single field.
    content = "".join(f"1,{field}\n" for field in fields)
    rows = files.read(f"id,c\n{content}", columns=columns, formats=formats)
    assert [value for _, value in rows] == values


def test_the_nulls_themselves_keep_their_blanks(files: Files) -> None:
    """A blank in the option `null` is kept, so `null=" "` means that a blank field is null."""
    columns = (COLUMNS[0], Column("c", BytesType))
    formats = Formats(null=" ")
    # With null=" ", only a blank is null. So the empty field of the first row is a blob without
    # bytes.
    assert files.read("id,c\n1,\n2, \n", columns=columns, formats=formats) == [(1, b""), (2, None)]


def test_a_null_between_blanks_is_no_null_if_the_column_is_encrypted_text(files: Files) -> None:
    """In an encrypted text column, " NULL" is a value, as in other text columns."""
    columns = (COLUMNS[0], Column("name", UTF8Type, is_hidden=True))
    rows = files.read("id,name\n1, NULL\n2,NULL\n", columns=columns, formats=Formats("NULL"))
    assert rows == [(1, " NULL"), (2, None)]


def test_quotes_with_backslashes_get_advice(files: Files) -> None:
    """The error for a quote escaped with a backslash says to write the quote twice."""
    rows = files.read('id,name\n1,"a\\"b"\n2,"a""b"\n3,"a"b\n')
    assert str(rows[0]).endswith('a quote inside a field is written twice, "", and not as \\"')
    assert rows[1] == (2, 'a"b')
    assert "written twice" not in str(rows[2])


def test_a_row_that_was_not_split_suggests_the_delimiter(files: Files) -> None:
    """If a row has one field because of another delimiter, the error suggests that delimiter.

    The suggestion is made only if the other delimiter yields the right number of fields.
    """
    (error,) = files.read("1;x\n", header=["id", "name"])
    hint = "(is the file written with delimiter=';'?)"
    assert str(error) == f"1 fields, but the number of names is 2 {hint}"
    (error,) = files.read("id,name\n1;x\n")
    assert str(error) == f"1 fields, but the header has 2 {hint}"
    (error,) = files.read("1;x;y\n", header=["id", "name"])
    assert hint not in str(error)
