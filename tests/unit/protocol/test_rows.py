"""Test `RowPlan`, which decodes the bytes of a page to rows."""

from __future__ import annotations

import copy
import pickle
from collections import OrderedDict
from typing import Any

import pytest

from cassandra import _impl
from cassandra.errors import DecodeError
from cassandra.protocol.opcodes import (
    RESULT_KIND_PREPARED,
    RESULT_KIND_ROWS,
    ROWS_GLOBAL_TABLES_SPEC,
)
from cassandra.protocol.rowclass import row_class
from tests.conftest import Implementation
from tests.unit.protocol.wire import int32, short, string, value

# the bytes of the rows in ROWS; NAMES has the names of their columns
PAGE = (
    value(int32(1)) + value(b"one") + value(b"\x01")
    + value(None) + value(None) + value(None)
    + value(int32(-3)) + value(b"") + value(b"")
)  # fmt: skip
ROWS = [(1, "one", b"\x01"), (None, None, None), (-3, "", b"")]
NAMES = ("id", "name", "data")


def plan(implementation: Implementation, names: tuple[str, ...] = NAMES) -> Any:
    """Return a plan that decodes the rows of PAGE: an int, a text and a blob."""
    codecs = implementation.codecs
    return implementation.rows.RowPlan(names, [codecs.int32(), codecs.text(), codecs.blob()])


def test_tuples(implementation: Implementation) -> None:
    """Rows can be decoded from any position in the page; bytes after the last row are ignored."""
    assert plan(implementation).tuples(PAGE, offset=0, row_count=3) == ROWS
    assert plan(implementation).tuples(b"head" + PAGE, offset=4, row_count=3) == ROWS
    assert plan(implementation).tuples(PAGE, offset=0, row_count=0) == []
    assert plan(implementation).tuples(PAGE + b"ignored", offset=0, row_count=3) == ROWS


def test_dicts_keep_the_order_of_columns(implementation: Implementation) -> None:
    """Dicts of rows have the keys in the order of the columns."""
    dicts = plan(implementation).dicts(PAGE, offset=0, row_count=3)
    assert dicts == [dict(zip(NAMES, row, strict=True)) for row in ROWS]
    assert [*dicts[0]] == [*NAMES]
    ordered = plan(implementation).ordered_dicts(PAGE, offset=0, row_count=3)
    assert ordered == [OrderedDict(zip(NAMES, row, strict=True)) for row in ROWS]
    assert type(ordered[0]) is OrderedDict


@pytest.mark.parametrize("width", [1, 5, 6, 11, 40])
def test_dicts_of_any_width_have_their_own_keys_and_values(
    implementation: Implementation, width: int
) -> None:
    """Dicts of rows are independent of each other, for any number of columns.

    The compiled code copies a dict for each row.

    :param width: the number of columns.
    """
    names = tuple(f"column_{number}" for number in range(width))
    ints = implementation.rows.RowPlan(names, [implementation.codecs.int32()] * width)
    page = b"".join(value(int32(number)) for number in range(2 * width))
    first, second = ints.dicts(page, offset=0, row_count=2)
    assert list(first.items()) == list(zip(names, range(width), strict=True))
    assert list(second.items()) == list(zip(names, range(width, 2 * width), strict=True))
    first["more"] = 1
    second.clear()
    assert ints.dicts(page, offset=0, row_count=1) == [dict(zip(names, range(width), strict=True))]


def test_a_name_that_comes_twice_keeps_the_last_value(implementation: Implementation) -> None:
    """If two columns have the same name, a dict has the value of the last of them."""
    ints = implementation.codecs.int32()
    for names in (("a", "b", "a"), tuple("abcdefgha")):
        page = b"".join(value(int32(number)) for number in range(len(names)))
        records = implementation.rows.RowPlan(names, [ints] * len(names)).dicts(
            page, offset=0, row_count=1
        )
        assert records == [dict(zip(names, range(len(names)), strict=True))]
        assert implementation.rows.dicts_of(names, [tuple(range(len(names)))]) == records


class DerivedStr(str):
    pass


def test_names_may_be_of_a_class_derived_from_str(implementation: Implementation) -> None:
    """Column names may be instances of a subclass of str."""
    names = (DerivedStr("a"), "b")
    assert implementation.rows.dicts_of(names, [(1, 2)]) == [{"a": 1, "b": 2}]


def test_rows_of_any_kind_as_dicts(implementation: Implementation) -> None:
    """`dicts_of` accepts rows that are tuples, lists or iterators, and any iterable of names."""
    dicts_of = implementation.rows.dicts_of
    expected = [{"a": 1, "b": 2}, {"a": 3, "b": 4}]
    for names in (["a", "b"], ("a", "b"), iter("ab")):
        assert dicts_of(names, [(1, 2), (3, 4)]) == expected
    assert dicts_of(["a", "b"], [[1, 2], (3, 4)]) == expected
    # This is an iterator of iterators, each of which can be read only once.
    assert dicts_of(["a", "b"], iter([iter([1, 2]), iter([3, 4])])) == expected
    assert dicts_of(["a", "b"], []) == []
    # A result without columns may have None as names.
    assert dicts_of(names=None, rows=[]) == []


def test_rows_of_any_kind_as_named_tuples(implementation: Implementation) -> None:
    """`named_tuples_of` accepts rows that are tuples, lists or iterators, and any names.

    Rows of another length are refused.
    """
    named_tuples_of = implementation.rows.named_tuples_of
    for names in (["a", "b"], ("a", "b"), iter("ab")):
        rows = named_tuples_of(names, [(1, 2), [3, 4], iter([5, 6])])
        assert [(row.a, row.b) for row in rows] == [(1, 2), (3, 4), (5, 6)]
        assert {type(row) for row in rows} == {row_class(("a", "b"))}
    assert named_tuples_of(["a", "b"], []) == []
    for row in ((1,), (1, 2, 3), [1], ()):
        with pytest.raises(TypeError, match="2"):
            named_tuples_of(["a", "b"], [(1, 2), row])


@pytest.mark.parametrize("row", [(1,), (1, 2, 3), [1], (), iter([1])])
def test_rows_of_another_length_are_refused(implementation: Implementation, row: Any) -> None:
    """`dicts_of` refuses rows with more or fewer values than names."""
    with pytest.raises(ValueError, match=r"zip\(\) argument 2 is (shorter|longer)"):
        implementation.rows.dicts_of(("a", "b"), [(1, 2), row])


@pytest.mark.parametrize("size", range(40))
def test_texts_of_any_length_and_with_any_character_anywhere(
    implementation: Implementation, size: int
) -> None:
    """Texts of any length and content are decoded; an error has the position of a bad byte."""
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
    assert implementation.rows.RowPlan(("a",), [codec]).columns(
        page, offset=0, row_count=len(texts)
    ) == [texts]
    ascii_codec = implementation.codecs.ascii_text()
    # Three invalid sequences: a continuation byte without a first byte, a byte that UTF-8 never
    # uses, and the first of two bytes without the second.
    for position in range(size + 1):
        for invalid in (b"\x80", b"\xff", b"\xc3"):
            data = plain[:position].encode() + invalid + plain[position:].encode()
            with pytest.raises(DecodeError, match=f"byte {position} is not valid UTF-8"):
                codec.decode(data)
            with pytest.raises(DecodeError, match=f"byte {position} is not valid ASCII"):
                ascii_codec.decode(data)


def test_named_tuples_share_one_class(implementation: Implementation) -> None:
    """Rows with the same columns must have the same class, whose fields are the columns."""
    rows = plan(implementation).named_tuples(PAGE, offset=0, row_count=3)
    assert rows == ROWS
    assert (rows[0].id, rows[0].name, rows[0].data) == ROWS[0]
    assert type(rows[0]) is type(plan(implementation).named_tuples(PAGE, offset=0, row_count=1)[0])
    assert repr(rows[0]) == "Row(id=1, name='one', data=b'\\x01')"
    assert rows[0]._replace(id=2).id == 2


def test_columns(implementation: Implementation) -> None:
    """A page can be decoded to one list for each column; without rows, these lists are empty."""
    assert plan(implementation).columns(PAGE, offset=0, row_count=3) == [
        list(column) for column in zip(*ROWS, strict=True)
    ]
    assert plan(implementation).columns(PAGE, offset=0, row_count=0) == [[], [], []]


def test_iterate(implementation: Implementation) -> None:
    """`iterate` must decode one row at a time."""
    rows = plan(implementation).iterate(PAGE, offset=0, row_count=3)
    assert next(rows) == ROWS[0]
    assert list(rows) == ROWS[1:]


def test_an_empty_number_is_none(implementation: Implementation) -> None:
    """If the bytes of a number are empty, the number is decoded to None."""
    numbers = implementation.rows.RowPlan(("a",), [implementation.codecs.int32()])
    assert numbers.tuples(value(b""), offset=0, row_count=1) == [(None,)]


# The methods of a row plan that decode a page.
METHODS = ["tuples", "named_tuples", "dicts", "ordered_dicts", "columns"]


@pytest.mark.parametrize("method", METHODS)
def test_errors_name_row_and_column(implementation: Implementation, method: str) -> None:
    """An error while decoding names the row and the column.

    In this test, an int of three bytes, and a text that is not UTF-8, are decoded.
    """
    decode = getattr(plan(implementation), method)
    good_row = value(int32(1)) + value(b"one") + value(b"\x01")
    row_with_bad_int = value(b"123") + value(b"x") + value(b"")
    with pytest.raises(DecodeError, match=r'row 1, column "id" \(int\): .*3'):
        decode(good_row + row_with_bad_int, offset=0, row_count=2)
    row_with_bad_text = value(int32(1)) + value(b"\xff\xfe") + value(b"")
    with pytest.raises(DecodeError, match=r'row 0, column "name" \(text\): '):
        decode(row_with_bad_text, offset=0, row_count=1)


@pytest.mark.parametrize("method", METHODS)
def test_every_cut_of_a_page_is_an_error(implementation: Implementation, method: str) -> None:
    """A page that is truncated anywhere raises DecodeError."""
    decode = getattr(plan(implementation), method)
    for size in range(len(PAGE)):
        with pytest.raises(DecodeError):
            decode(PAGE[:size], offset=0, row_count=3)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("offset", "row_count"),
    [(0, 2**31 - 1), (0, 4), (0, -1), (len(PAGE) + 1, 1), (-1, 1), (len(PAGE), 1), (2**62, 1)],
)
def test_a_claimed_count_is_checked_first(
    implementation: Implementation, method: str, offset: int, row_count: int
) -> None:
    """An offset outside the page, or more rows than the page can contain, raises DecodeError.

    The page has three rows.
    """
    with pytest.raises(DecodeError):
        getattr(plan(implementation), method)(PAGE, offset, row_count)


@pytest.mark.parametrize("size", [2**31 - 1, 100, -(2**31)])
def test_a_length_past_the_end(implementation: Implementation, size: int) -> None:
    """If a value claims more bytes than the page has, the error must name row and column."""
    numbers = implementation.rows.RowPlan(("a",), [implementation.codecs.blob()])
    body = int32(size) + b"abc"
    # In a row, any negative length means null.
    if size < 0:
        assert numbers.tuples(body, offset=0, row_count=1) == [(None,)]
    else:
        with pytest.raises(DecodeError, match='row 0, column "a"'):
            numbers.tuples(body, offset=0, row_count=1)


def test_rows_without_columns_are_refused(implementation: Implementation) -> None:
    """A plan without columns decodes zero rows, and refuses more."""
    nothing = implementation.rows.RowPlan(names=(), codecs=[])
    assert nothing.tuples(b"", offset=0, row_count=0) == []
    with pytest.raises(DecodeError):
        nothing.tuples(b"", offset=0, row_count=1)


def test_a_plan_needs_as_many_codecs_as_names(implementation: Implementation) -> None:
    """`RowPlan` needs as many codecs as names."""
    with pytest.raises(ValueError, match="2 names and 1 codecs"):
        implementation.rows.RowPlan(("a", "b"), [implementation.codecs.int32()])


# -- rows that are decoded when they are accessed --------------------------------------------------


def test_encoded_rows_are_decoded_once_for_each_method(implementation: Implementation) -> None:
    """`EncodedRows` decodes rows on the first access, and returns the same list from then on.

    The rows of the last method are cached, so if the application changes the list, the change stays
    visible.
    """
    encoded = implementation.rows.EncodedRows(b"head" + PAGE, 4, 3)
    assert (encoded.body, encoded.offset, encoded.count) == (b"head" + PAGE, 4, 3)
    decoded = encoded.decode(plan(implementation), "tuples")
    assert decoded == ROWS
    assert encoded.decode(plan(implementation), "tuples") is decoded
    as_dicts = encoded.decode(plan(implementation), "dicts")
    assert as_dicts == [dict(zip(NAMES, row, strict=True)) for row in ROWS]
    assert encoded.decode(plan(implementation), "dicts") is as_dicts
    encoded.check()


def test_threads_that_decode_at_the_same_time_get_the_same_rows(
    implementation: Implementation,
) -> None:
    """If another thread has decoded the rows in the meantime, both threads get the same list."""
    encoded = implementation.rows.EncodedRows(PAGE, 0, 3)
    row_plan = plan(implementation)

    class SlowPlan:
        """A row plan during whose call another thread seems to decode the rows first."""

        def tuples(self, body: bytes, offset: int, row_count: int) -> list[Any]:
            kept.append(encoded.decode(row_plan, "tuples"))
            decoded: list[Any] = row_plan.tuples(body, offset, row_count)
            return decoded

    kept: list[Any] = []
    assert encoded.decode(SlowPlan(), "tuples") is kept[0]
    assert encoded.decode(row_plan, "tuples") is kept[0]


def test_an_error_of_encoded_rows_is_kept(implementation: Implementation) -> None:
    """`EncodedRows` raises the same error object on each access."""
    encoded = implementation.rows.EncodedRows(PAGE[:-1], 0, 4)
    with pytest.raises(DecodeError) as first:
        encoded.decode(plan(implementation), "tuples")
    with pytest.raises(DecodeError) as second:
        encoded.decode(plan(implementation), "dicts")
    with pytest.raises(DecodeError) as third:
        encoded.check()
    assert first.value is second.value is third.value


def test_encoded_rows_can_be_pickled_and_copied(implementation: Implementation) -> None:
    """Encoded rows can be pickled and copied, but the copies do not contain decoded rows.

    The class of decoded rows may not exist in the other process.
    """
    row_plan = plan(implementation)
    encoded = implementation.rows.EncodedRows(b"head" + PAGE, 4, 3)
    encoded.decode(row_plan, "named_tuples")
    for copied in (pickle.loads(pickle.dumps(encoded)), copy.deepcopy(encoded)):
        # In the other process, another implementation may be in use.
        assert type(copied) is _impl.rows.EncodedRows
        assert copied.decode(row_plan, "tuples") == ROWS


def test_encoded_rows_need_bytes(implementation: Implementation) -> None:
    """`EncodedRows` raises TypeError if its body is not bytes."""
    for body in (None, 5):
        encoded = implementation.rows.EncodedRows(body, 0, 1)
        with pytest.raises(TypeError):
            encoded.decode(plan(implementation), "tuples")


# -- pages with mostly equal rows ------------------------------------------------------------------


def test_values_equal_to_the_previous_row_are_not_decoded_again(
    implementation: Implementation,
) -> None:
    """`shared_columns` returns the same object for equal consecutive cells of a column.

    Such cells are not decoded again.
    """
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
        [decode_cell, decode_cell], b"before" + page, offset=6, row_count=len(cells)
    )
    assert first_column == [[b"a"], [b"a"], [b"a"], [b"b"], [b"b"], None, [b"a"]]
    assert second_column == [[b"x"], [b"y"], None, None, [b""], [b""], [b"xx"]]
    # Equal adjacent cells share an object, but a later equal cell is decoded again.
    assert first_column[0] is first_column[1] is first_column[2]
    assert first_column[0] is not first_column[6]
    assert decoded_cells == [b"a", b"x", b"y", b"b", b"", b"a", b"xx"]
    assert all(type(data) is bytes for data in decoded_cells)


def test_shared_columns_of_no_rows(implementation: Implementation) -> None:
    """`shared_columns` returns an empty list for each column if there are no rows."""
    assert implementation.rows.shared_columns([bytes, bytes], b"", offset=0, row_count=0) == [
        [],
        [],
    ]
    assert implementation.rows.shared_columns(readers=[], body=b"", offset=0, row_count=0) == []


def test_a_readers_error_is_raised_as_it_is(implementation: Implementation) -> None:
    """An error of the function that decodes a cell is raised unchanged."""
    with pytest.raises(ZeroDivisionError):
        implementation.rows.shared_columns(
            [lambda data: 1 // 0], value(b"a"), offset=0, row_count=1
        )


def test_every_cut_of_shared_columns_is_an_error(implementation: Implementation) -> None:
    """`shared_columns` raises DecodeError for a page that is truncated anywhere."""
    page = b"".join(value(cell) for cell in (b"one", b"two", b"three", b"four"))
    for size in range(len(page)):
        with pytest.raises(DecodeError, match=r"past the end of the page|rows of 2 columns"):
            implementation.rows.shared_columns([bytes, bytes], page[:size], offset=0, row_count=2)
    with pytest.raises(
        DecodeError, match="row 0, column 1: its 9 bytes go past the end of the page"
    ):
        implementation.rows.shared_columns(
            [bytes, bytes], value(b"abcdefgh") + int32(9) + b"12345678", offset=0, row_count=1
        )


def specs(*type_options: bytes, is_global: bool = True) -> bytes:
    """Return the beginning of a RESULT of rows, up to the end of its column specs.

    :param type_options: the type of each column, as the protocol encodes it.
    :param is_global: True if the table precedes all columns, False if it precedes each column.
    """
    table = string("ks") + string("t")
    flags = ROWS_GLOBAL_TABLES_SPEC if is_global else 0
    head = int32(RESULT_KIND_ROWS) + int32(flags) + int32(len(type_options))
    if is_global:
        head += table
    for index, type_option in enumerate(type_options):
        if not is_global:
            head += table
        head += string(f"c{index}") + type_option
    return head


INT, TEXT = short(0x09), short(0x0D)
# the encoded types of a result's columns, by kind
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
    """`columns_end` returns the position after the column specs, or 0 if they are incomplete."""
    body = specs(*SHAPES[shape], is_global=is_global)
    end = len(body)
    assert implementation.rows.columns_end(body, pos=0) == end
    assert implementation.rows.columns_end(b"before" + body + PAGE, pos=6) == end + 6
    for size in range(end):
        assert implementation.rows.columns_end(body[:size], pos=0) == 0


def test_columns_end_is_0_unless_the_bytes_alone_decide_the_columns(
    implementation: Implementation,
) -> None:
    """`columns_end` returns the end of the columns, or 0 if the bytes do not decide the columns.

    The result is 0 for responses other than rows, for user-defined types (for which a class may be
    registered), unknown types, flags other than Global_tables_spec, and a wrong number of columns.
    """
    columns_end = implementation.rows.columns_end
    body = specs(INT, TEXT)
    user_type = short(0x30) + string("ks") + string("u") + short(1) + string("f") + INT
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
        assert columns_end(other_body, pos=0) == 0
    # No result begins at these positions of the body.
    for pos in (-1, -len(body), 1, len(body), len(body) + 1):
        assert columns_end(body, pos=pos) == 0
    assert columns_end(bytearray(body), pos=0) == 0


class LimitReached(Exception):
    """An error as a signal handler raises it, for example of a job queue with time limits."""


@pytest.mark.parametrize("method", ["tuples", "named_tuples", "dicts", "columns", "iterate"])
@pytest.mark.parametrize("error", [LimitReached("60 s"), MemoryError(), RecursionError()])
@pytest.mark.parametrize("failing", [1, 2])
def test_an_error_of_a_signal_handler_is_raised_unchanged(
    implementation: Implementation, method: str, error: Exception, failing: int
) -> None:
    """An error that a signal handler raises while a value is decoded is raised unchanged.

    If the value can be decoded at a second attempt, it was not the cause of the error, so there is
    no DecodeError.

    :param failing: the number of the value at which the error is raised, counted from 1.
    """
    calls = []

    def decode(data: bytes) -> str:
        calls.append(data)
        if len(calls) == failing:
            raise error
        return data.decode()

    codec = implementation.codecs.from_functions("text", str.encode, decode)
    row_plan = implementation.rows.RowPlan(("id", "name"), [implementation.codecs.int32(), codec])
    page = b"".join(value(int32(number)) + value(b"x") for number in range(3))
    with pytest.raises(type(error)) as caught:
        [*getattr(row_plan, method)(page, 0, 3)]
    assert caught.value is error
    assert row_plan.tuples(page, 0, 3) == [(0, "x"), (1, "x"), (2, "x")]


@pytest.mark.parametrize("method", ["tuples", "dicts", "columns", "iterate"])
def test_an_error_of_a_codec_names_row_and_column(
    implementation: Implementation, method: str
) -> None:
    def decode(data: bytes) -> int:
        return int(data)

    codec = implementation.codecs.from_functions("number", str.encode, decode)
    row_plan = implementation.rows.RowPlan(("id", "name"), [implementation.codecs.int32(), codec])
    page = value(int32(1)) + value(b"2") + value(int32(1)) + value(b"x")
    with pytest.raises(DecodeError, match=r'row 1, column "name" \(number\): invalid literal'):
        [*getattr(row_plan, method)(page, 0, 2)]
