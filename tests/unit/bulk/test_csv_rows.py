"""Test CSV readers that bind rows to bytes while they read.

The tests compare the implementation under test (compiled or Python) with the csv module and the
converters of strings, for values, errors and line numbers.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from cassandra.bulk import chunks, csv_files
from cassandra.bulk.chunks import Column, Reading
from cassandra.bulk.csv_fields import Field
from cassandra.bulk.csv_files import csv_parts
from cassandra.bulk.texts import Formats
from cassandra.cqltypes.parse import lookup_casstype, lookup_cqltype
from tests.conftest import Implementation

PROTOCOL_VERSION = 5
TYPES = ("int", "bigint", "tinyint", "float", "double", "boolean", "text", "uuid", "timestamp", "date")  # fmt: skip  # noqa: E501


class Row(NamedTuple):
    """A row as read: its line number, and either its bound bytes or its error message."""

    line: int
    content: bytes | str


def reading(
    implementation: Implementation, *types: str, header: Any = True, **formats: Any
) -> Reading:
    """Return a `Reading` of CSV into columns c0, c1 and so on.

    :param types: the CQL types of the columns; "list" is a list of integers.
    :param header: True if the file has a header, or the names of the fields.
    :param formats: the options `delimiter` and `quote`, `is_key` (whether the columns belong to the
        primary key), and fields of `Formats`.
    """
    is_key = formats.pop("is_key", False)
    columns = []
    for number, type_name in enumerate(types):
        if type_name == "list":
            cql_type = lookup_casstype("ListType(Int32Type)")
        else:
            cql_type = lookup_cqltype(type_name)
        columns.append(Column(f"c{number}", cql_type, is_key=is_key))
    plan = implementation.bind.BindPlan(columns)
    dialect = {name: formats.pop(name) for name in ("delimiter", "quote") if name in formats}
    return Reading(
        format="csv",
        columns=columns,
        mapping={},
        formats=Formats(**formats),
        header=header,
        delimiter=dialect.get("delimiter", ","),
        quote=dialect.get("quote", '"'),
        binding=(plan, PROTOCOL_VERSION),
    )


def rows(path: Path, options: Reading, is_fast: list[bool] | None = None) -> list[Row]:
    """Return all rows of a file.

    If an error ends the reading, the last row holds the error.

    :param options: how to read the file, as `reading` returns it.
    :param is_fast: a list to which one item is appended for each chunk: True if compiled code read
        the chunk.
    """
    assert options.binding is not None
    plan, version = options.binding
    result: list[Row] = []
    first_row = 1
    try:
        for part in csv_parts(str(path), options):
            chunk = part.make_chunk(0, first_row)
            first_row += part.size
            assert chunk.size == part.size == len(chunk.lines or ())
            assert chunk.raw is not None
            assert len(chunk.raw) == chunk.size
            # Compiled code returns a block of bound rows, while the csv module returns a list of
            # values.
            is_bound = hasattr(chunk.rows, "take")
            if is_fast is not None:
                is_fast.append(is_bound)
            if is_bound:
                assert chunk.rows.width == len(options.columns)
                values = [row.data for row in chunk.rows.rows()]
                # If a chunk begins at the second row of its part, as after a resumed load, the
                # chunk must have the same rows from there on.
                if part.size > 1:
                    later_rows = part.make_chunk(1, first_row)
                    assert [row.data for row in later_rows.rows.rows()] == values[1:]
                    # If each row takes one line, `lines` is a range instead of a list.
                    if not isinstance(later_rows.lines, range):
                        assert later_rows.lines == list(chunk.lines or ())[1:]
            else:
                values = [_bound(plan, row, version) for row in chunk.rows]
            for index, value in enumerate(values):
                result.append(Row(chunk.location(index).line or 0, value))
    except ValueError as error:
        result.append(Row(-1, str(error).partition(", ")[2]))
    return result


def _bound(plan: Any, row: Any, version: int) -> bytes | str:
    """Bind a row of values, and return its bytes.

    If the row is an error, or cannot be bound, return the error message.
    """
    if isinstance(row, Exception):
        return str(row)
    try:
        data: bytes = plan.bind(row, version).data
    except (ValueError, TypeError) as error:
        return f"{type(error).__name__}: {error}"
    return data


@pytest.fixture
def read_both_ways(
    implementation: Implementation, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[list[Row], list[Row]]]:
    """Return a function that reads a file twice, once with each reader.

    The function returns the rows that Python's csv module reads, and the rows that the
    implementation under test reads.
    """

    def read(path: Path, *types: str, **options: Any) -> tuple[list[Row], list[Row]]:
        """Read columns of these types; `options` are the options of `reading`."""
        settings = reading(implementation, *types, **options)
        monkeypatch.setattr(csv_files, "csv_rows", implementation.csv_rows)
        fast_rows = rows(path, settings)
        monkeypatch.setattr(csv_files, "csv_rows", Implementation("python").csv_rows)
        return rows(path, settings), fast_rows

    return read


# For each type: fields of a CSV file. Some of them are values of the type, and some are refused.
VALUES: dict[str, list[str]] = {
    "int": ["0", "-1", "2147483647", "-2147483648", "2147483648", "+5", " 7 ", "007", "1_0", "1.0", "-", "", "٣"],  # noqa: E501
    "bigint": ["9223372036854775807", "-9223372036854775808", "9223372036854775808", "999999999999999999"],  # noqa: E501
    "tinyint": ["127", "-128", "128", "-129"],
    "float": ["1.5", "1e10", "1e39", "-0.0", "nan", "inf", "3.4028236e38", "1e-50"],
    "double": [
        "0.1", "-.5", "5.", ".", "-", "1e5", "1E-5", "1e400", "-1e400", "1e", "e5", "12345678901234567890",  # noqa: E501
        "0.1234567890123456789", "9007199254740993", "9007199254740992.5", "1" * 40, "1" * 60, "1__0", "1_0",  # noqa: E501
        "0x10", " 1.5", "Infinity", "NaN", "123456789.123456789", "0.000001", "1.7976931348623157e308", "4.9e-324",  # noqa: E501
        "0.00000000000000000000001", "1e22", "1.e1", "--1", "1-", "1.2.3", "72057594037927945",
    ],
    "boolean": ["true", "False", "TRUE", "t", "f", "yes", "0", "1", "maybe", " true", ""],
    "text": ["", "plain", "é", "a,b", 'a"b', "a\nb", "a\r\nb", "a\rb", '"', '""', " ", "NULL", "\N{GRINNING FACE}"],  # noqa: E501
    "ascii": ["a", "é"],
    "uuid": [
        "00000000-0000-0000-0000-000000000007", "ABCDEFab-1234-5678-9abc-def012345678",
        "{00000000-0000-0000-0000-000000000007}", "00000000000000000000000000000007", "g0000000-0000-0000-0000-000000000007",  # noqa: E501
        "00000000-0000-0000-0000-00000000000", "000000000000-0000-0000-0000-00000007",
    ],
    "timestamp": [
        "2026-11-23 12:30:00", "2026-11-23T12:30:00.5", "2026-11-23 12:30:00.123456", "2026-11-23 12:30:00Z",  # noqa: E501
        "2026-11-23 12:30:00+01:30", "2026-11-23 12:30:00.25-08:00", "2026-11-23", "2026-11-23 12:30", "1969-12-31 23:59:59.999",  # noqa: E501
        "1969-12-31 23:59:59.0005", "0001-01-01 00:00:00", "9999-12-31 23:59:59.999", "2026-02-29 00:00:00", "2024-02-29 00:00:00",  # noqa: E501
        "1900-02-29 00:00:00", "2000-02-29 00:00:00", "2026-13-01 00:00:00", "2026-11-31 00:00:00", "2026-11-23 24:00:00",  # noqa: E501
        "2026-11-23 12:60:00", "2026-11-23 12:30:60", "1764000000000", "-5", "2026-11-23 12:30:00+0130", "2026-11-23 12:30:00.000000-0030", "2026-11-23 12:30:00+013", "2026-11-23x12:30:00",  # noqa: E501
        "2026-11-23 12:30:00.1234567", "2026-11-23 12:30:00.", "2026-11-23 12:30:00 +01:00", "2026-11-23 12:30:00+24:00", "now",  # noqa: E501
        "1711113022222", "17111130222", "20261123", "171111302222201", "+5", "--5", "9" * 19, "-" + "9" * 18, "2026-W47-1",  # noqa: E501
        "2026-11-23 12", "2026-11-23t12:30:00z", "2026-11-23 12:30:00+01", " 2026-11-23 12:30:00 ", "2026-11-23 12:30:00,5", "\N{ARABIC-INDIC DIGIT ONE}",  # noqa: E501
        "253402300800000", "-62135596800001", "0001-01-01 00:00:00+01:00", "2026-11-23 12:30:00+01:60",  # noqa: E501
    ],
    "date": ["2026-11-23", "1969-12-31", "0001-01-01", "9999-12-31", "2026-02-29", "2026-11-23 ", "20261123", "-1", "10000-01-01", "+12026-01-01", "-0004-02-29", "2026-1-1", "0000-01-01", "2026-W47-1"],  # noqa: E501
    "list": ["[1, 2]", "[]", "x"],
}  # fmt: skip


def csv_field(value: str, always_quote: bool = False) -> str:
    """Return `value` as a field of CSV: in quotes if it needs them, or with `always_quote`."""
    if always_quote or any(character in value for character in ',"\n\r'):
        return '"' + value.replace('"', '""') + '"'
    return value


@pytest.mark.parametrize("type_name", sorted(VALUES))
def test_each_text_is_read_as_the_same_value_by_both_readers(
    type_name: str, read_both_ways: Callable[..., tuple[list[Row], list[Row]]], tmp_path: Path
) -> None:
    """Both readers turn each string, valid or not, quoted or not, into the same value or error."""
    path = tmp_path / "a.csv"
    value_of_second_row = "1" if type_name != "text" else "x"
    for value in VALUES[type_name]:
        for is_quoted in (False, True):
            lines = ["c0,c1", f"1,{csv_field(value, is_quoted)}", f"2,{value_of_second_row}"]
            path.write_text("\n".join([*lines, ""]), newline="", encoding="utf-8")
            expected, fast_rows = read_both_ways(path, "int", type_name)
            assert fast_rows == expected, value
            # Read the same value from a file with another delimiter and other quotes.
            text = f"1;'{value}'\n".replace('"', "")
            path.write_text(text, newline="", encoding="utf-8")
            expected, fast_rows = read_both_ways(
                path, "int", type_name, header=False, delimiter=";", quote="'", null="NULL"
            )
            assert fast_rows == expected, value


def test_date_and_timestamp_formats_are_used_by_both_readers(
    read_both_ways: Callable[..., tuple[list[Row], list[Row]]], tmp_path: Path
) -> None:
    """If a format is set, only values in this format are read; ISO dates are then errors."""
    path = tmp_path / "a.csv"
    path.write_text("c0,c1\n23.11.2026,23.11.2026 12h\n2026-11-23,2026-11-23 12:00:00\n")
    expected, fast_rows = read_both_ways(
        path, "date", "timestamp", date="%d.%m.%Y", timestamp="%d.%m.%Y %Hh"
    )
    assert fast_rows == expected
    assert isinstance(fast_rows[0].content, bytes)
    assert "does not match format" in str(fast_rows[1].content)


def test_the_first_format_that_fits_a_date_is_used_by_both_readers(
    read_both_ways: Callable[..., tuple[list[Row], list[Row]]], tmp_path: Path
) -> None:
    """A value may have any of the formats; if no format fits, the error names all of them."""
    path = tmp_path / "a.csv"
    path.write_text("c0,c1\n02.03.2026,02.03.2026\n2026-11-23,2026-11-23\n11/23/2026,\n")
    formats = ["%d.%m.%Y", "%Y-%m-%d"]
    expected, fast_rows = read_both_ways(
        path, "date", "timestamp", date=formats, timestamp=tuple(formats)
    )
    assert fast_rows == expected
    assert isinstance(fast_rows[0].content, bytes)
    assert isinstance(fast_rows[1].content, bytes)
    message = "'11/23/2026' has none of the formats of date_format, '%d.%m.%Y', '%Y-%m-%d'"
    assert message in str(fast_rows[2].content)


# The contents of unusual files, by a description.
FILES = {
    "empty": b"",
    "header alone": b"c0,c1",
    "header and its end": b"c0,c1\n",
    "mark": b"\xef\xbb\xbfc0,c1\n1,a\n",
    "no last end": b"c0,c1\n1,a\n2,b",
    "returns": b"c0,c1\r1,a\r2,b\r",
    "both": b"c0,c1\r\n1,a\r\n2,b\r\n",
    "mixed": b"c0,c1\r\n1,a\n2,b\r3,c\n\r4,d\r\r\n5,e",
    "empty lines": b"\n\nc0,c1\n\n1,a\n\n\n2,b\n\n",
    "quoted header": b'"c0","c1"\n1,a\n',
    "header of two lines": b'"c0","c\n1"\n1,a\n',
    "too few": b"c0,c1\n1,a\n2\n3,c\n",
    "too many": b"c0,c1\n1,a\n2,b,c\n3,c\n",
    "empty fields": b'c0,c1\n,\n"",""\n',
    "last delimiter": b"c0,c1\n1,",
    "lines inside": b'c0,c1\n1,"a\nb\r\nc\rd"\n2,"\r"\n3,"\n"\n',
    "doubled quotes": b'c0,c1\n1,""""\n2,"a""b"""\n3,"a"\n',
    "quotes inside": b'c0,c1\n1,a"b\n2,a"b"c\n3,a""\n',
    "after a quote": b'c0,c1\n1,a\n2,"a"b\n3,c\n',
    "open quote": b'c0,c1\n1,a\n2,"b\n3,c\n',
    "open quote at the end": b'c0,c1\n1,a\n2,"',
    "no text": b"c0,c1\n1,a\n2,\xff\n3,c\n",
    "zero": b"c0,c1\n1,a\x00b\n2,b\n",
    "spaces": b"c0,c1\n1, \n , \n",
    "spaces alone": b"c0,c1\n1,a\n  \n2,b\n",
    "half a character": b"c0,c1\n1,\xc3",
    "a separator of lines": "c0,c1\n1,a\u2028b\x0b\x0c\x1c\x85\n2,b\n".encode(),
}


@pytest.mark.parametrize("name", sorted(FILES))
@pytest.mark.parametrize("read_size", [1, 2, 3, 7, 1 << 20])
def test_files_are_split_into_the_same_rows_by_both_readers(
    name: str,
    read_size: int,
    read_both_ways: Callable[..., tuple[list[Row], list[Row]]],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """Both readers split a file into the same rows, however many bytes they read at a time."""
    monkeypatch.setattr(csv_files, "MORE_BYTES", read_size)
    monkeypatch.setattr(csv_files, "FIRST_BYTES", max(read_size, 12))
    monkeypatch.setattr(chunks, "CHUNK_BYTES", max(read_size, 12))
    path = tmp_path / "a.csv"
    path.write_bytes(FILES[name])
    expected, fast_rows = read_both_ways(path, "int", "text")
    assert fast_rows == expected


def test_random_files(
    read_both_ways: Callable[..., tuple[list[Row], list[Row]]],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """Both readers read the same rows and errors from files with random values and mistakes."""
    generator = random.Random(11)
    path = tmp_path / "a.csv"
    for _file in range(150):
        types = generator.sample(sorted(VALUES), 3)
        line_end = generator.choice(("\n", "\r\n", "\r"))
        is_bad = generator.random() < 0.3
        lines = []
        # A bad file has some wrong values, and some rows with too many fields.
        for _row in range(generator.randrange(40)):
            values = []
            for type_name in types:
                if is_bad and generator.random() < 0.2:
                    values.append(generator.choice(VALUES[type_name]))
                else:
                    values.append(VALUES[type_name][0])
            if is_bad and generator.random() < 0.05:
                values.append("1")
            lines.append(",".join(csv_field(value, generator.random() < 0.2) for value in values))
        path.write_text(line_end.join(["c0,c1,c2", *lines, ""]), newline="", encoding="utf-8")
        # Make parts and chunks so small that they begin and end anywhere in a row.
        monkeypatch.setattr(csv_files, "MORE_BYTES", generator.choice((5, 64, 1 << 20)))
        monkeypatch.setattr(chunks, "CHUNK_BYTES", generator.choice((16, 300, 1 << 20)))
        monkeypatch.setattr(chunks, "CHUNK_ROWS", generator.choice((3, 1000)))
        expected, fast_rows = read_both_ways(path, *types)
        assert fast_rows == expected


def test_ordinary_files_are_read_by_compiled_code(
    compiled: Implementation, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Compiled code reads a chunk if all its values are valid; Python reads the other chunks."""
    monkeypatch.setattr(csv_files, "csv_rows", compiled.csv_rows)
    path = tmp_path / "a.csv"
    path.write_text(
        "c0,c1,c2,c3,c4,c5,c6,c7,c8,c9,more\n"
        '1,2,3,0.5,0.1,true,"a ""b""",00000000-0000-0000-0000-000000000007,2026-11-23 12:30:00,2026-11-23,x\n'  # noqa: E501
    )
    # `rows` appends to `fast_chunks` whether compiled code read each chunk.
    fast_chunks: list[bool] = []
    (row,) = rows(path, reading(compiled, *TYPES), fast_chunks)
    assert fast_chunks == [True]
    assert row.line == 2
    # If compiled code does not know a column's type, Python converts the values of this column, and
    # compiled code converts the remaining columns of the row.
    path.write_text("c0,c1,c2\n1,[1],1.5\n")
    (row,) = rows(path, reading(compiled, "int", "list", "decimal"), fast_chunks := [])
    assert fast_chunks == [True]
    # A chunk with a wrong value is read by Python, and the next chunk by compiled code again.
    monkeypatch.setattr(chunks, "CHUNK_ROWS", 2)
    path.write_text("c0\n1\nx\n3\n4\n")
    read_rows = rows(path, reading(compiled, "int"), fast_chunks := [])
    assert [row.line for row in read_rows] == [2, 3, 4, 5]
    assert fast_chunks == [False, True]


def test_an_application_s_text_for_null(
    read_both_ways: Callable[..., tuple[list[Row], list[Row]]], tmp_path: Path
) -> None:
    """With `null="NULL"`, only "NULL" means null; an empty field is an empty string."""
    path = tmp_path / "a.csv"
    path.write_text('c0,c1\nNULL,NULL\n1,\n2,"NULL"\n')
    expected, fast_rows = read_both_ways(path, "int", "text", null="NULL")
    null = struct.pack(">i", -1)
    assert fast_rows == expected
    assert fast_rows[0].content == null + null
    # the row (1, ''): a 4-byte integer, and a text of 0 bytes
    assert fast_rows[1].content == struct.pack(">iii", 4, 1, 0)


@pytest.mark.parametrize(
    ("nulls", "is_key"),
    [
        (("NULL", "\\N"), False),
        (("", "NULL"), False),
        (("", "NULL"), True),
        ((), True),
        ((), False),
    ],
)
def test_several_texts_for_null_and_empty_keys(
    read_both_ways: Callable[..., tuple[list[Row], list[Row]]],
    tmp_path: Path,
    nulls: tuple[str, ...],
    is_key: bool,
) -> None:
    """The option `null` may have several strings, each of which means null.

    An empty field of a key column is an empty text, even if the empty string is in `null`.
    """
    path = tmp_path / "a.csv"
    path.write_text('c0,c1\nNULL,NULL\n1,\n2,"NULL"\n3,\\N\n\\N,x\n,""\n4,NULLS\n')
    for type_name in ("text", "blob", "int"):
        expected, fast_rows = read_both_ways(path, "int", type_name, null=nulls, is_key=is_key)
        assert fast_rows == expected
        assert len(fast_rows) == 7
        if type_name == "text":
            # The last number is the length of the second column's value: -1 is null, and 0 is an
            # empty text.
            is_empty_text = is_key or "" not in nulls
            length = 0 if is_empty_text else -1
            assert fast_rows[1].content == struct.pack(">iii", 4, 1, length)


def test_compiled_code_refuses_options_that_only_python_supports(compiled: Implementation) -> None:
    """`csv_reader` returns None if Python must read the file instead of compiled code.

    These are files whose delimiter or quote is not one ASCII character, whose delimiter equals the
    quote, and files without fields.
    """
    plan = compiled.bind.BindPlan([Column("c0", lookup_cqltype("int"))])
    int_field = Field(0, "int", int)
    make_reader = compiled.csv_rows.csv_reader
    # The number after the list of fields is the number of fields in each line.
    for delimiter, quote in (
        ("", '"'),
        (",,", '"'),
        ("é", '"'),
        (",", ""),
        (",", ","),
        ("\n", '"'),
    ):
        assert make_reader(plan, PROTOCOL_VERSION, [int_field], 1, delimiter, quote) is None
    assert make_reader(plan, PROTOCOL_VERSION, [], 1, ",", '"') is None
    # Each line has one field, so there is no field with the index 3.
    with pytest.raises(ValueError, match="field 3 of 1"):
        make_reader(plan, PROTOCOL_VERSION, [Field(3, "int", int)], 1, ",", '"')
    reader = make_reader(plan, PROTOCOL_VERSION, [int_field], 1, ",", '"')
    # Refuse a start after the end of the data or before its beginning, and data that are not bytes.
    for data, start in ((b"1", 2), (b"1", -1), ("1", 0)):
        with pytest.raises(ValueError, match="bytes are read"):
            reader.read(data, start, is_last=True, limit=1)
