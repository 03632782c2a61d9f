"""Row plans, which decode the bytes of a page to rows."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import pytest

from cassandra.errors import DecodeError
from cassandra.protocol.opcodes import RESULT_KIND_PREPARED, RESULT_KIND_ROWS
from tests.conftest import Implementation
from tests.unit.protocol.wire import int32, short, string, value

PAGE = (
    value(int32(1)) + value(b"one") + value(b"\x01")
    + value(None) + value(None) + value(None)
    + value(int32(-3)) + value(b"") + value(b"")
)  # fmt: skip
ROWS = [(1, "one", b"\x01"), (None, None, None), (-3, "", b"")]
NAMES = ("id", "name", "data")


def plan(implementation: Implementation, names: tuple[str, ...] = NAMES) -> Any:
    codecs = implementation.codecs
    return implementation.rows.RowPlan(names, [codecs.int32(), codecs.text(), codecs.blob()])


def test_tuples(implementation: Implementation) -> None:
    """Rows can be decoded from any position in the page. Bytes after the last row are ignored."""
    assert plan(implementation).tuples(PAGE, 0, 3) == ROWS
    assert plan(implementation).tuples(b"head" + PAGE, 4, 3) == ROWS
    assert plan(implementation).tuples(PAGE, 0, 0) == []
    assert plan(implementation).tuples(PAGE + b"ignored", 0, 3) == ROWS


def test_dicts_keep_the_order_of_columns(implementation: Implementation) -> None:
    dicts = plan(implementation).dicts(PAGE, 0, 3)
    assert dicts == [dict(zip(NAMES, row, strict=True)) for row in ROWS]
    assert [*dicts[0]] == [*NAMES]
    ordered = plan(implementation).ordered_dicts(PAGE, 0, 3)
    assert ordered == [OrderedDict(zip(NAMES, row, strict=True)) for row in ROWS]
    assert type(ordered[0]) is OrderedDict


@pytest.mark.parametrize("width", [1, 5, 6, 11, 40])
def test_dicts_of_any_width_have_their_own_keys_and_values(
    implementation: Implementation, width: int
) -> None:
    names = tuple(f"column_{number}" for number in range(width))
    ints = implementation.rows.RowPlan(names, [implementation.codecs.int32()] * width)
    page = b"".join(value(int32(number)) for number in range(2 * width))
    first, second = ints.dicts(page, 0, 2)
    assert list(first.items()) == list(zip(names, range(width), strict=True))
    assert list(second.items()) == list(zip(names, range(width, 2 * width), strict=True))
    first["more"] = 1
    second.clear()
    # The changes to the earlier dicts have no effect on those that are decoded later.
    assert ints.dicts(page, 0, 1) == [dict(zip(names, range(width), strict=True))]


def test_a_name_that_comes_twice_keeps_the_last_value(implementation: Implementation) -> None:
    ints = implementation.codecs.int32()
    for names in (("a", "b", "a"), tuple("abcdefgha")):
        page = b"".join(value(int32(number)) for number in range(len(names)))
        records = implementation.rows.RowPlan(names, [ints] * len(names)).dicts(page, 0, 1)
        assert records == [dict(zip(names, range(len(names)), strict=True))]
        assert implementation.rows.dicts_of(names, [tuple(range(len(names)))]) == records


class Name(str):
    """A column name of a subclass of str."""


def test_names_may_be_of_a_class_derived_from_str(implementation: Implementation) -> None:
    names = (Name("a"), "b")
    assert implementation.rows.dicts_of(names, [(1, 2)]) == [{"a": 1, "b": 2}]


@pytest.mark.parametrize(
    "rows", [[(1, 2), (3, 4)], [[1, 2], (3, 4)], (iter(row) for row in [(1, 2), (3, 4)]), []]
)
def test_rows_of_any_kind_as_dicts(implementation: Implementation, rows: Any) -> None:
    """Rows that are tuples, lists or iterators can become dicts."""
    row_list = list(rows)
    expected = [{"a": 1, "b": 2}, {"a": 3, "b": 4}] if row_list else []
    # The rows are an iterator of iterators, each of which can be read only once.
    unread = iter([iter([*row]) for row in [(1, 2), (3, 4)]]) if row_list else row_list
    assert implementation.rows.dicts_of(["a", "b"], unread) == expected
    if row_list and not hasattr(row_list[0], "__next__"):
        assert implementation.rows.dicts_of(("a", "b"), row_list) == expected


def test_no_rows_need_no_names(implementation: Implementation) -> None:
    """For a result without columns, the names may be None."""
    assert implementation.rows.dicts_of(names=None, rows=[]) == []
    assert implementation.rows.dicts_of(iter("ab"), [(1, 2), (3, 4)]) == [
        {"a": 1, "b": 2},
        {"a": 3, "b": 4},
    ]


@pytest.mark.parametrize("row", [(1,), (1, 2, 3), [1], (), iter([1])])
def test_rows_of_another_length_are_refused(implementation: Implementation, row: Any) -> None:
    with pytest.raises(ValueError, match=r"zip\(\) argument 2 is (shorter|longer)"):
        implementation.rows.dicts_of(("a", "b"), [(1, 2), row])


@pytest.mark.parametrize("size", range(40))
def test_texts_of_any_length_and_with_any_character_anywhere(
    implementation: Implementation, size: int
) -> None:
    """Texts of any length are decoded. The error for an invalid byte names its position in the
    text.
    """
    codec = implementation.codecs.text()
    plain = "abcdefghijklmnopqrstuvwxyz0123456789ABCD"[:size]
    texts = [plain, plain + "\x7f"]
    texts += [
        plain[:position] + character + plain[position:]
        for position in range(size + 1)
        for character in "\0éß€𝄞"
    ]
    for text in texts:
        assert codec.decode(text.encode()) == text
    page = b"".join(value(text.encode()) for text in texts)
    assert implementation.rows.RowPlan(("a",), [codec]).columns(page, 0, len(texts)) == [texts]
    # Invalid are: a continuation byte alone, a byte that UTF-8 never has, and a sequence of two
    # bytes without the second.
    for position in range(size + 1):
        for bad in (b"\x80", b"\xff", b"\xc3"):
            with pytest.raises(DecodeError, match=f"byte {position} is not valid UTF-8"):
                codec.decode(plain[:position].encode() + bad + plain[position:].encode())
            with pytest.raises(DecodeError, match=f"byte {position} is not valid ASCII"):
                implementation.codecs.ascii_text().decode(
                    plain[:position].encode() + bad + plain[position:].encode()
                )


def test_named_tuples_share_one_class(implementation: Implementation) -> None:
    rows = plan(implementation).named_tuples(PAGE, 0, 3)
    assert rows == ROWS
    assert (rows[0].id, rows[0].name, rows[0].data) == ROWS[0]
    assert type(rows[0]) is type(plan(implementation).named_tuples(PAGE, 0, 1)[0])
    assert repr(rows[0]) == "Row(id=1, name='one', data=b'\\x01')"
    assert rows[0]._replace(id=2).id == 2


def test_columns(implementation: Implementation) -> None:
    """A page can be decoded to one list for each column; without rows, the lists are empty."""
    assert plan(implementation).columns(PAGE, 0, 3) == [
        list(column) for column in zip(*ROWS, strict=True)
    ]
    assert plan(implementation).columns(PAGE, 0, 0) == [[], [], []]


def test_iterate(implementation: Implementation) -> None:
    """`iterate` decodes one row at a time."""
    rows = plan(implementation).iterate(PAGE, 0, 3)
    assert next(rows) == ROWS[0]
    assert list(rows) == ROWS[1:]


def test_an_empty_number_is_none(implementation: Implementation) -> None:
    numbers = implementation.rows.RowPlan(("a",), [implementation.codecs.int32()])
    assert numbers.tuples(value(b""), 0, 1) == [(None,)]


METHODS = ["tuples", "named_tuples", "dicts", "ordered_dicts", "columns"]


@pytest.mark.parametrize("method", METHODS)
def test_errors_name_row_and_column(implementation: Implementation, method: str) -> None:
    decode = getattr(plan(implementation), method)
    good = value(int32(1)) + value(b"one") + value(b"\x01")
    with pytest.raises(DecodeError, match=r'row 1, column "id" \(int\): .*3'):
        decode(good + value(b"123") + value(b"x") + value(b""), 0, 2)
    with pytest.raises(DecodeError, match=r'row 0, column "name" \(text\): '):
        decode(value(int32(1)) + value(b"\xff\xfe") + value(b""), 0, 1)


@pytest.mark.parametrize("method", METHODS)
def test_every_cut_of_a_page_is_an_error(implementation: Implementation, method: str) -> None:
    decode = getattr(plan(implementation), method)
    for size in range(len(PAGE)):
        with pytest.raises(DecodeError):
            decode(PAGE[:size], 0, 3)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("offset", "count"),
    [(0, 2**31 - 1), (0, 4), (0, -1), (len(PAGE) + 1, 1), (-1, 1), (len(PAGE), 1), (2**62, 1)],
)
def test_a_claimed_count_is_checked_first(
    implementation: Implementation, method: str, offset: int, count: int
) -> None:
    with pytest.raises(DecodeError):
        getattr(plan(implementation), method)(PAGE, offset, count)


@pytest.mark.parametrize("size", [2**31 - 1, 100, -(2**31)])
def test_a_length_past_the_end(implementation: Implementation, size: int) -> None:
    numbers = implementation.rows.RowPlan(("a",), [implementation.codecs.blob()])
    body = int32(size) + b"abc"
    # Any negative length means null.
    if size < 0:
        assert numbers.tuples(body, 0, 1) == [(None,)]
    else:
        with pytest.raises(DecodeError, match='row 0, column "a"'):
            numbers.tuples(body, 0, 1)


def test_rows_without_columns_are_refused(implementation: Implementation) -> None:
    nothing = implementation.rows.RowPlan(names=(), codecs=[])
    assert nothing.tuples(b"", 0, 0) == []
    with pytest.raises(DecodeError):
        nothing.tuples(b"", 0, 1)


def test_a_plan_needs_as_many_codecs_as_names(implementation: Implementation) -> None:
    with pytest.raises(ValueError, match="2 names and 1 codecs"):
        implementation.rows.RowPlan(("a", "b"), [implementation.codecs.int32()])


# -- pages with mostly equal rows ------------------------------------------------------------------


def test_values_equal_to_the_previous_row_are_not_decoded_again(
    implementation: Implementation,
) -> None:
    decoded_cells: list[bytes] = []

    def decode_cell(data: bytes) -> Any:
        decoded_cells.append(data)
        return [data]

    cells = [
        (b"a", b"x"),
        (b"a", b"y"),
        (b"a", None),
        (b"b", None),
        (b"b", b""),
        (None, b""),
        (b"a", b"xx"),
    ]
    page = b"".join(value(cell) for row in cells for cell in row)
    first_column, second_column = implementation.rows.shared_columns(
        [decode_cell, decode_cell], b"before" + page, 6, len(cells)
    )
    assert first_column == [[b"a"], [b"a"], [b"a"], [b"b"], [b"b"], None, [b"a"]]
    assert second_column == [[b"x"], [b"y"], None, None, [b""], [b""], [b"xx"]]
    assert first_column[0] is first_column[1] is first_column[2]
    assert first_column[0] is not first_column[6]
    assert decoded_cells == [b"a", b"x", b"y", b"b", b"", b"a", b"xx"]
    assert all(type(data) is bytes for data in decoded_cells)


def test_shared_columns_of_no_rows(implementation: Implementation) -> None:
    """Without rows, there is an empty list for each column."""
    assert implementation.rows.shared_columns([bytes, bytes], b"", 0, 0) == [[], []]
    assert implementation.rows.shared_columns(readers=[], body=b"", offset=0, row_count=0) == []


def test_a_readers_error_is_raised_as_it_is(implementation: Implementation) -> None:
    with pytest.raises(ZeroDivisionError):
        implementation.rows.shared_columns([lambda data: 1 // 0], value(b"a"), 0, 1)


def test_every_cut_of_shared_columns_is_an_error(implementation: Implementation) -> None:
    page = b"".join(value(cell) for cell in (b"one", b"two", b"three", b"four"))
    for size in range(len(page)):
        with pytest.raises(DecodeError, match=r"past the end of the page|rows of 2 columns"):
            implementation.rows.shared_columns([bytes, bytes], page[:size], 0, 2)
    with pytest.raises(
        DecodeError, match="row 0, column 1: its 9 bytes go past the end of the page"
    ):
        implementation.rows.shared_columns(
            [bytes, bytes], value(b"abcdefgh") + int32(9) + b"12345678", 0, 1
        )


def specs(*type_options: bytes, is_global: bool = True) -> bytes:
    """Return the beginning of a RESULT of rows, up to the end of its column specs."""
    table = string("ks") + string("t")
    columns = [string(f"c{index}") + type_option for index, type_option in enumerate(type_options)]
    return b"".join(
        [
            int32(RESULT_KIND_ROWS),
            int32(is_global),
            int32(len(type_options)),
            table if is_global else b"",
        ]
        + [column if is_global else table + column for column in columns]
    )


INT, TEXT = short(0x09), short(0x0D)
SHAPES = {
    "none": (),
    "simple": (INT, TEXT, short(0x15)),
    "collections": (short(0x20) + INT, short(0x22) + TEXT, short(0x21) + INT + TEXT),
    "nested": (short(0x20) + short(0x21) + INT + short(0x22) + TEXT, INT),
    "tuples": (short(0x31) + short(3) + INT + short(0x31) + short(0) + TEXT, INT),
    "custom": (short(0) + string("org.example.Type"), INT),
}


@pytest.mark.parametrize("is_global", [True, False])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_end_of_columns(implementation: Implementation, shape: str, is_global: bool) -> None:
    body = specs(*SHAPES[shape], is_global=is_global)
    end = len(body)
    assert implementation.rows.columns_end(body, 0) == end
    assert implementation.rows.columns_end(b"before" + body + PAGE, 6) == end + 6
    for size in range(end):
        assert implementation.rows.columns_end(body[:size], 0) == 0


def test_columns_end_is_0_unless_the_bytes_alone_decide_the_columns(
    implementation: Implementation,
) -> None:
    columns_end = implementation.rows.columns_end
    body = specs(INT, TEXT)
    user_type = short(0x30) + string("ks") + string("u") + short(1) + string("f") + INT
    # `columns_end` gives up for other kinds of result, user-defined types (for which a class may be
    # registered), unknown types, other flags, and a wrong number of columns.
    for other_body in (
        int32(1),
        b"",
        specs(user_type),
        specs(short(0x20) + user_type),
        specs(short(0x16)),
        specs(short(0xFFFF)),
        int32(RESULT_KIND_PREPARED) + body[4:],
        *(int32(RESULT_KIND_ROWS) + int32(flags) + body[8:] for flags in (2, 4, 5, 8, 9, -1)),
        int32(RESULT_KIND_ROWS) + int32(1) + int32(2**31 - 1) + body[12:],
    ):
        assert columns_end(other_body, 0) == 0
    for pos in (-1, -len(body), 1, len(body), len(body) + 1):
        assert columns_end(body, pos) == 0
    assert columns_end(bytearray(body), 0) == 0
