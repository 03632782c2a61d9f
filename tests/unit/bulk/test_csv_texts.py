"""Test `csv_lines`, which writes the rows of a result page as lines of CSV."""

from __future__ import annotations

import csv
import io
import random
import struct
import sys
from typing import Any

import pytest

from cassandra.bulk.texts import text_of
from cassandra.cqltypes.parse import lookup_casstype, lookup_cqltype
from cassandra.errors import DecodeError
from tests.conftest import Implementation

# The code of each integer type for `struct`.
INTS = {"tinyint": "b", "smallint": "h", "int": "i", "bigint": "q", "counter": "q"}
# encoded values of each type: ordinary values, limits, and values that CSV has to quote
CELLS: dict[str, list[bytes]] = {
    **{
        type_name: [
            struct.pack(f">{code}", value)
            for value in (0, 1, -1, 9, 10, 127, -128, 2 ** (8 * struct.calcsize(code) - 1) - 1, -(2 ** (8 * struct.calcsize(code) - 1)))  # noqa: E501
        ]
        for type_name, code in INTS.items()
    },
    "float": [struct.pack(">f", number) for number in (0.0, -0.0, 0.1, 1e10, 3.4e38, float("nan"), float("inf"))],  # noqa: E501
    "double": [struct.pack(">d", number) for number in (0.0, -0.0, 0.1, 1e16, 1e-5, 123456789.125, 1e300, 5e-324, float("nan"), float("-inf"))],  # noqa: E501
    "boolean": [b"\0", b"\1", b"\2"],
    "text": [b"", b"plain", "é".encode(), b"a,b", b'a"b', b'"', b"a\nb", b"a\rb", b" ", b"''", b"\0", "\u2028".encode()],  # noqa: E501
    "ascii": [b"", b"plain", b"a,b"],
    "blob": [b"", b"\0\xff", b"," * 3],
    "uuid": [bytes(range(16)), b"\xff" * 16],
    "timeuuid": [bytes.fromhex("8e14e7601d3511eb9a660242ac110002")],
    "timestamp": [
        struct.pack(">q", number)
        for number in (
            0, 1, -1, 999, 1000, -62135596800000, -62135596800001, 253402300799999, 253402300800000, 2**63 - 1, -(2**63),  # noqa: E501
            1_767_225_600_000, 951_782_400_000, 951_868_800_000, 4_107_542_400_000, 86_399_999, 1_735_603_200_123,  # noqa: E501
        )
    ],
    "date": [struct.pack(">I", 2**31 + number) for number in (0, 1, -1, -719162, -719163, 2932896, 2932897, 11016, 11017, -(2**31), 2**31 - 1, 20_000)],  # noqa: E501
    "time": [struct.pack(">q", number) for number in (0, 86_399_999_999_999)],
    "inet": [bytes([127, 0, 0, 1]), bytes(16)],
    "varint": [b"\1", b"\xff" * 20],
    "decimal": [struct.pack(">i", 2) + b"\x7b"],
    "ListType(Int32Type)": [struct.pack(">iiiii", 2, 4, 1, 4, 2), struct.pack(">i", 0)],
    "MapType(UTF8Type, UTF8Type)": [struct.pack(">ii", 1, 1) + b"a" + struct.pack(">i", 1) + b'"'],
}  # fmt: skip


def codec_of(type_name: str) -> Any:
    """Return the codec of a CQL type, or of a server's class with parameters (`MapType(...)`)."""
    cqltype = lookup_casstype(type_name) if "(" in type_name else lookup_cqltype(type_name)
    return cqltype.codec()


def page(rows: list[list[bytes | None]]) -> bytes:
    """Return the rows encoded as in a page of results.

    Each cell follows its length, and a null is the length -1.
    """
    return b"".join(
        struct.pack(">i", -1) if cell is None else struct.pack(">i", len(cell)) + cell
        for row in rows
        for cell in row
    )


def csv_lines_of(
    implementation: Implementation,
    type_names: list[str],
    rows: list[list[bytes | None]],
    bytes_before: bytes = b"",
) -> bytes:
    """Return the CSV lines of a page that has these rows of encoded cells.

    :param type_names: the types of the columns, as in `CELLS`.
    :param bytes_before: bytes in front of the page, which `csv_lines` must skip.
    """
    column_names = [f"c{number}" for number in range(len(type_names))]
    text: bytes = implementation.csv_texts.csv_lines(
        column_names,
        list(map(codec_of, type_names)),
        bytes_before + page(rows),
        len(bytes_before),
        len(rows),
    )
    return text


@pytest.mark.parametrize("type_name", CELLS)
def test_each_value_is_written_as_its_text(implementation: Implementation, type_name: str) -> None:
    """A value is written as `text_of` formats it, and quoted as the csv module would quote it."""
    cells: list[bytes | None] = [*CELLS[type_name], None]
    if sys.version_info < (3, 11):
        # The csv module of Python 3.10 refuses a zero byte.
        cells = [cell for cell in cells if cell != b"\0"]
    if type_name not in ("text", "ascii", "blob"):
        # For historical reasons, servers may also return empty values of other types. They are
        # written as empty texts.
        cells.append(b"")
    seven = struct.pack(">i", 7)
    text = csv_lines_of(
        implementation, ["int", type_name], [[seven, cell] for cell in cells]
    ).decode()
    codec = codec_of(type_name)
    records = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    assert records == [["7", text_of(codec.decode_nullable(cell))] for cell in cells]
    # Compare with the lines of the csv module. The only difference is that the csv module does not
    # quote a lone carriage return.
    expected = io.StringIO(newline="")
    csv.writer(expected, lineterminator="\n").writerows(
        row for row in records if "\r" not in row[1]
    )
    assert text.replace('7,"a\rb"\n', "") == expected.getvalue()


def test_both_implementations_write_the_same_lines_for_random_pages(
    compiled: Implementation,
) -> None:
    """Both implementations write the same lines for random pages."""
    generator = random.Random(3)
    python = Implementation("python")
    for _ in range(60):
        type_names = generator.choices(sorted(CELLS), k=generator.randrange(1, 6))
        rows = [
            [generator.choice([*CELLS[type_name], None]) for type_name in type_names]
            for _ in range(generator.randrange(30))
        ]
        compiled_lines = csv_lines_of(compiled, type_names, rows, bytes_before=b"xyz")
        assert compiled_lines == csv_lines_of(python, type_names, rows, bytes_before=b"xyz")


def test_the_only_field_of_a_row_is_quoted_if_empty(implementation: Implementation) -> None:
    """If the only field of a row is empty, it is written with quotes.

    Without the quotes the line would be empty, and readers skip empty lines.
    """
    assert csv_lines_of(implementation, ["text"], [[b""], [None], [b"a"]]) == b'""\n""\na\n'


def test_both_implementations_write_the_same_dates(compiled: Implementation) -> None:
    """Both implementations write the same dates: days around 1970, and days from year 1 to 9999."""
    # These are days since 1970-01-01. The protocol encodes them as days + 2**31.
    days = [*range(-800, 800), *range(-719_162, 2_932_897, 9_973)]
    rows: list[list[bytes | None]] = [[struct.pack(">I", 2**31 + day)] for day in days]
    assert csv_lines_of(compiled, ["date"], rows) == csv_lines_of(
        Implementation("python"), ["date"], rows
    )


@pytest.mark.parametrize(
    ("type_names", "page_bytes", "row_count", "message"),
    [
        (["int"], struct.pack(">i", 3) + b"abc", 1, 'row 0, column "c0"'),
        (["text", "int"], struct.pack(">i", 1) + b"\xff" + struct.pack(">i", -1), 1, 'row 0, column "c0"'),  # noqa: E501
        (["int"], struct.pack(">ii", -1, 9), 2, 'row 1, column "c0".*past the end'),
        (["int"], struct.pack(">i", -1) + b"\0", 2, "2 rows of 1 columns"),
        (["int"], b"", -1, "-1 rows"),
    ],
)  # fmt: skip
def test_damaged_pages(
    implementation: Implementation,
    type_names: list[str],
    page_bytes: bytes,
    row_count: int,
    message: str,
) -> None:
    """If a page is damaged, the error names the row and column, or says what is wrong."""
    names = [f"c{number}" for number in range(len(type_names))]
    codecs = list(map(codec_of, type_names))
    page_start = 0
    with pytest.raises(DecodeError, match=message):
        implementation.csv_texts.csv_lines(names, codecs, page_bytes, page_start, row_count)
