"""Tests of column plans, which decode pages of rows into Arrow columns.

The tests compare the columns with rows that are decoded from the same bytes.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from cassandra import cqltypes as t
from cassandra._impl import twin
from cassandra.errors import DecodeError
from cassandra.protocol.columnar.layouts import ColumnOptions, Layout, layout_of, object_layout
from cassandra.protocol.columnar.pages import ArrowPage, arrow_array
from tests.conftest import Implementation
from tests.unit.cqltypes.samples import (
    ADDRESS,
    CONTAINERS,
    SCALARS,
    list_of,
    map_of,
    set_of,
    tuple_of,
    vector_of,
)
from tests.unit.cqltypes.test_parity import TYPES, mutated, typed_values
from tests.unit.protocol.pages import as_column, column_plan, dumped, page_of, with_plain_types
from tests.unit.protocol.wire import int32, value

# parts of the messages of errors that only columns raise; rows can be decoded in these cases
ONLY_COLUMNS = (
    "a key is null, which a column of maps cannot hold",
    "takes more than",
    "does not fit",
)


def read(
    implementation: Any,
    cql_type: Any,
    cells: Sequence[bytes | None],
    options: ColumnOptions | None = None,
) -> Any:
    """Decode a page of one column, which consists of these cells, and return the Arrow column."""
    plan = column_plan(implementation, [cql_type], options or ColumnOptions())
    return plan.read(page_of([[cell] for cell in cells]), offset=0, row_count=len(cells)).children[
        0
    ]


def values_by_pyarrow(column: Any) -> list[Any]:
    """Let pyarrow check the column completely, and return its values."""
    pyarrow = pytest.importorskip("pyarrow")
    array = pyarrow.array(ArrowPage(with_plain_types(column)))
    array.validate(full=True)
    items: list[Any] = array.to_pylist()
    return items


def rows_of(implementation: Any, cql_type: Any, cells: list[bytes | None]) -> list[Any]:
    """Decode a page of one column, which consists of these cells, as rows; return the values."""
    plan = implementation.rows.RowPlan(["c0"], [cql_type.build_codec(implementation.codecs)])
    page = page_of([[cell] for cell in cells])
    return [value for (value,) in plan.tuples(page, offset=0, row_count=len(cells))]


def is_bytes_only(cql_type: Any) -> bool:
    """Return True if columns keep this type's values as bytes, while rows decode the values."""
    return layout_of(cql_type).kind == "blob" and not issubclass(cql_type, t.BytesType)


@pytest.mark.parametrize(
    "case", [*SCALARS, *CONTAINERS], ids=lambda case: f"{case[0].__name__}-{case[2][:16]}"
)
def test_every_type_with_nulls_and_empty_values(
    implementation: Implementation, case: tuple[Any, Any, str]
) -> None:
    """A column must have the same values as rows decoded from the same cells."""
    cql_type, _, body_hex = case
    body = bytes.fromhex(body_hex)
    # Use more than eight cells, so that the bitmap of nulls has a second byte.
    cells = [body, None, b"", body, *[None] * 7, body]
    items = values_by_pyarrow(read(implementation, cql_type, cells))
    rows = rows_of(implementation, cql_type, cells)
    layout = layout_of(cql_type)
    # In a column of a type that is kept as bytes, the cells are the server's bytes.
    if layout.kind == "blob":
        rows = [cell if cell or layout.empty_is_value else None for cell in cells]
    expected = [as_column(layout, row) for row in rows]
    if issubclass(cql_type, t.SetType):
        # In a column, a set has the server's order, but in rows it is sorted. So sort both.
        items = [item if item is None else sorted(item, key=repr) for item in items]
        expected = [item if item is None else sorted(item, key=repr) for item in expected]
    assert items == expected


# These are the types of all samples, each once.
SAMPLE_TYPES = list(dict.fromkeys(cql_type for cql_type, _, _ in [*SCALARS, *CONTAINERS]))


@pytest.mark.parametrize("cqltype", SAMPLE_TYPES, ids=str)
def test_pyarrow_can_also_read_the_buffers_without_a_capsule(
    implementation: Implementation, cqltype: Any
) -> None:
    """`arrow_array` must build the same array from the buffers as pyarrow reads from a capsule."""
    pyarrow = pytest.importorskip("pyarrow")
    bodies = [
        bytes.fromhex(body_hex)
        for sample_type, _, body_hex in [*SCALARS, *CONTAINERS]
        if sample_type is cqltype
    ]
    cells = [*bodies, None, b"", *bodies]
    column = read(implementation, cqltype, cells)
    through_capsule = pyarrow.array(ArrowPage(column))
    array = arrow_array(pyarrow, through_capsule.type, column)
    # This checks the lengths and offsets of all buffers.
    array.validate(full=True)
    assert array.equals(through_capsule)


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
@pytest.mark.slow
def test_columns_of_nested_types_equal_the_rows(
    implementation: Implementation, data: st.DataObject
) -> None:
    """Random values of random types, nested up to two levels, are equal in columns and rows."""
    cql_type, values = data.draw(typed_values(2))
    codec = cql_type.build_codec(twin("codecs", "python"))
    items = data.draw(st.lists(st.none() | values, max_size=6))
    cells = [None if item is None else codec.encode(item) for item in items]
    rows = rows_of(implementation, cql_type, cells)
    expected = [as_column(layout_of(cql_type), row) for row in rows]
    assert values_by_pyarrow(read(implementation, cql_type, cells)) == expected


@pytest.mark.parametrize("row_count", [0, 1, 7, 8, 9, 64, 1000])
def test_every_number_of_rows(implementation: Implementation, row_count: int) -> None:
    """Columns of any length must have the same values as rows.

    The bitmap of nulls has one byte per eight rows, so the test uses lengths around multiples of 8.
    """
    cql_types = [
        t.Int32Type,
        t.UTF8Type,
        t.BooleanType,
        list_of(t.UTF8Type),
        vector_of(t.FloatType, 3),
        ADDRESS,
    ]
    rng = random.Random(row_count)
    samples = [
        struct.pack(">i", row_count),
        b"text",
        b"\x01",
        int32(1) + value(b"a"),
        struct.pack(">3f", 1, 2, 3),
        value(b"street") + value(int32(7)),
    ]
    # About half of the cells are null.
    rows = [[rng.choice([sample, None]) for sample in samples] for _ in range(row_count)]
    page = column_plan(implementation, cql_types).read(page_of(rows), offset=0, row_count=row_count)
    assert page.length == row_count
    for index, cql_type in enumerate(cql_types):
        cells = [row[index] for row in rows]
        column = page.children[index]
        assert column.null_count == cells.count(None)
        assert values_by_pyarrow(column) == [
            as_column(column.layout, row) for row in rows_of(implementation, cql_type, cells)
        ]


def test_buffers_have_arrow_s_layout(implementation: Implementation) -> None:
    """The buffers of numbers and texts are laid out as Arrow requires.

    A column of numbers has a bitmap of the values that are not null, and the numbers. This column
    of texts has no bitmap, because it has no nulls, but the offsets of the texts and their
    characters.
    """
    numbers = read(implementation, t.Int32Type, [int32(5), None, int32(-1)])
    bitmap, data = (bytes(memoryview(buffer).cast("B")) for buffer in numbers.buffers)
    assert bitmap == bytes([0b101])
    assert data == struct.pack("=3i", 5, 0, -1)
    texts = read(implementation, t.UTF8Type, [b"ab", b"", "é".encode()])
    bitmap, offsets, characters = texts.buffers
    assert bitmap is None
    assert bytes(memoryview(offsets).cast("B")) == struct.pack("=4i", 0, 2, 2, 4)
    assert bytes(memoryview(characters)) == b"ab\xc3\xa9"


@pytest.mark.parametrize(
    ("unscaled", "scale"),
    [(0, 0), (0, 5), (0, -3), (0, 7), (1, 6), (1, 7), (-123, 2), (123, 3), (123, 9), (5, -1),
    (-(2**63), 0), (2**63, 18), (10**40, 3),
     (123456, -20), (7, 2**31 - 1), (7, -(2**31)), (7, 100_000), (-1, 99_999)],
)  # fmt: skip
def test_decimals_are_written_as_by_python(
    implementation: Implementation, unscaled: int, scale: int
) -> None:
    """In a column, a decimal is the string that `str` returns for the `Decimal` of a row."""
    cell = struct.pack(">i", scale) + shortest_bytes(unscaled)
    (number,) = rows_of(implementation, t.DecimalType, [cell])
    assert values_by_pyarrow(read(implementation, t.DecimalType, [cell])) == [str(number)]


def shortest_bytes(number: int) -> bytes:
    """Return the number in two's complement, in as few bytes as possible."""
    bit_count = (number if number >= 0 else ~number).bit_length()
    return number.to_bytes(bit_count // 8 + 1, "big", signed=True)


def test_varints_of_any_length(implementation: Implementation) -> None:
    """Varints become strings or, with `varints="int64"`, integers that must fit 64 bits."""
    small_numbers = [0, -1, 127, -128, 2**63 - 1, -(2**63)]
    numbers = [*small_numbers, 2**63, -(10**5000)]
    column = read(implementation, t.IntegerType, [shortest_bytes(number) for number in numbers])
    assert values_by_pyarrow(column) == [str(Decimal(number)) for number in numbers]
    # Leading zero bytes must not count: this number has 13 bytes, but it fits into 64 bits.
    five = b"\x00" * 12 + b"\x05"
    options = ColumnOptions(varints="int64")
    cells = [five, *[shortest_bytes(number) for number in small_numbers], None]
    column = read(implementation, t.IntegerType, cells, options)
    assert values_by_pyarrow(column) == [5, *small_numbers, None]
    with pytest.raises(DecodeError, match=r'row 1, column "c0" \(varint\): .*does not fit 64 bits'):
        read(implementation, t.IntegerType, [b"\x01", shortest_bytes(2**63)], options)


@pytest.mark.parametrize("precision", [18, 38, 76])
def test_decimals_of_a_chosen_scale(implementation: Implementation, precision: int) -> None:
    """With the option `decimals`, decimals have the requested precision, and two decimal places.

    Decimals that do not fit are refused.
    """
    options = ColumnOptions(decimals=(precision, 2))
    encode = t.DecimalType.build_codec(implementation.codecs).encode
    digits = ["1.25", "-1.25", "3", "1e3", "0", "0.5000", "-0.01", "9" * (precision - 2)]
    numbers = [Decimal(string) for string in digits]
    cells = [*map(encode, numbers), None, b""]
    column = read(implementation, t.DecimalType, cells, options)
    assert values_by_pyarrow(column) == [*numbers, None, None]
    # These decimals have too many decimal places, too many digits, or far too large exponents.
    for string in ("0.001", "9" * (precision - 1), "1e400", "1e-400"):
        with pytest.raises(DecodeError, match=r'row 1, column "c0" \(decimal\): .*without loss'):
            read(implementation, t.DecimalType, [None, encode(Decimal(string))], options)


def test_durations_as_structs(implementation: Implementation) -> None:
    """With the option `durations="struct"`, durations become structs of three integers."""
    # Months, days and nanoseconds are zigzag-encoded: the bytes 2, 4 and 6 mean 1, 2 and 3.
    cell = b"\x02\x04\x06"
    column = read(implementation, t.DurationType, [cell, None], ColumnOptions(durations="struct"))
    assert values_by_pyarrow(column) == [{"months": 1, "days": 2, "nanoseconds": 3}, None]


def test_a_null_key_is_refused(implementation: Implementation) -> None:
    """A column refuses a map with a null key, because Arrow's maps cannot have null keys."""
    good_map = int32(1) + value(int32(1)) + value(b"x")
    map_with_null_key = int32(1) + value(None) + value(b"x")
    cql_type = map_of(t.Int32Type, t.UTF8Type)
    column = read(implementation, cql_type, [good_map, None])
    assert values_by_pyarrow(column) == [[(1, "x")], None]
    with pytest.raises(DecodeError, match=r'row 1, column "c0" .*a key is null'):
        read(implementation, cql_type, [good_map, map_with_null_key])


def test_a_null_of_a_huge_vector_takes_no_memory(implementation: Implementation) -> None:
    """A huge vector type is refused before memory is allocated, even if all vectors are null.

    In Arrow, a null vector takes the space of all its elements, so the size is checked first.
    """
    for element in (t.FloatType, t.UTF8Type, t.BooleanType):
        with pytest.raises(
            DecodeError, match=r'column "c0" .*takes more than 2147483647 bytes as a column'
        ):
            read(implementation, vector_of(element, 2**29), [None, None])


def test_columns_raise_the_same_errors_as_rows(implementation: Implementation) -> None:
    """The error for a cell that is not a value of its type must be the same in columns and rows."""
    cases = [
        (t.Int32Type, b"123"), (t.UTF8Type, b"\xff"), (t.AsciiType, b"\x80"),
        (t.TimeType, b"\xff" * 8), (t.DurationType, b"\x01"),
        (t.InetAddressType, b"12345"), (t.DecimalType, b"123"),
        (list_of(t.Int32Type), int32(1) + value(b"12")), (t.UUIDType, b"1"),
        (list_of(t.UTF8Type), int32(-1)), (vector_of(t.UTF8Type, 2), b"\x05a"),
        (tuple_of(t.Int32Type), b"123"), (t.BooleanType, b"ab"),
        (vector_of(t.FloatType, 2), b"1234"), (map_of(t.UTF8Type, t.UTF8Type), int32(9)),
        (ADDRESS, value(b"a") * 3),
    ]  # fmt: skip
    for cql_type, cell in cases:
        with pytest.raises(DecodeError) as row_error:
            rows_of(implementation, cql_type, [None, cell])
        with pytest.raises(DecodeError) as column_error:
            read(implementation, cql_type, [None, cell])
        assert str(column_error.value) == str(row_error.value)
        assert 'row 1, column "c0"' in str(column_error.value)


def test_every_cut_of_a_page_is_an_error(implementation: Implementation) -> None:
    """Truncated pages are errors, and so are row counts and offsets that do not fit the page."""
    column_reader = column_plan(implementation, [t.Int32Type, t.UTF8Type])
    page = page_of([[int32(1), b"one"], [None, b""]])
    for kept_bytes in range(len(page)):
        with pytest.raises(DecodeError):
            column_reader.read(page[:kept_bytes], offset=0, row_count=2)
    for row_count in (2**31 - 1, 3, -1):
        with pytest.raises(DecodeError):
            column_reader.read(page, offset=0, row_count=row_count)
    for offset in (len(page) + 1, -1, 2**62):
        with pytest.raises(DecodeError):
            column_reader.read(page, offset=offset, row_count=1)
    # Bytes before and after the rows must be ignored.
    columns = column_reader.read(b"head" + page + b"behind", offset=4, row_count=2)
    assert columns.children[0].null_count == 1


def test_columns_of_types_with_overridden_methods_contain_bytes(
    implementation: Implementation,
) -> None:
    """A column of a type whose methods an application has overridden has the server's bytes.

    Columns never call Python code for a value. A column of an unknown custom type, whose values
    cannot be decoded, also has the server's bytes.
    """

    class UpperCaseText(t.UTF8Type):
        @classmethod
        def deserialize(cls, byts: bytes, protocol_version: int) -> Any:
            return super().deserialize(byts, protocol_version).upper()

    column = read(implementation, UpperCaseText, [b"a", None, b""])
    assert values_by_pyarrow(column) == [b"a", None, b""]
    # The list has two elements: one byte, and null.
    unknown_type = t.lookup_casstype("com.example.Unknown")
    list_of_two = int32(2) + value(b"\x00") + value(None)
    column = read(implementation, list_of(unknown_type), [list_of_two])
    assert values_by_pyarrow(column) == [[b"\x00", None]]


def test_columns_of_wrapper_types_equal_those_of_the_wrapped_type(
    implementation: Implementation,
) -> None:
    """A column of a reversed and frozen list is read like a column of the list."""
    cql_type = t.lookup_casstype("ReversedType(FrozenType(ListType(Int32Type)))")
    column = read(implementation, cql_type, [int32(1) + value(int32(9))])
    assert values_by_pyarrow(column) == [[9]]


def test_objects(implementation: Implementation) -> None:
    """A column with an object layout has the same Python objects as rows."""
    codecs = implementation.codecs
    plan = implementation.column_buffers.ColumnPlan(
        ["a"], [codecs.uuid()], [object_layout(t.UUIDType)]
    )
    column = plan.read(value(bytes(16)) + value(None) + value(b""), offset=0, row_count=3).children[
        0
    ]
    assert column.buffers[0] == rows_of(implementation, t.UUIDType, [bytes(16), None, b""])


def test_plans_check_their_arguments(implementation: Implementation) -> None:
    """A plan refuses names, codecs and layouts of unequal number, and rows if it has no columns."""
    with pytest.raises(ValueError, match="1 names, 0 codecs and 0 layouts"):
        implementation.column_buffers.ColumnPlan(["a"], codecs=[], layouts=[])
    # A plan without columns can read only a page of zero rows.
    empty_plan = implementation.column_buffers.ColumnPlan(names=[], codecs=[], layouts=[])
    with pytest.raises(DecodeError):
        empty_plan.read(b"", offset=0, row_count=1)
    assert empty_plan.read(b"", offset=0, row_count=0).length == 0


def test_a_page_has_to_be_bytes(compiled: Implementation) -> None:
    """A page that is not bytes raises TypeError, and a plan without `__init__` does not crash."""
    for body in (None, "text", bytearray(8)):
        with pytest.raises(TypeError):
            column_plan(compiled, [t.Int32Type]).read(body, offset=0, row_count=1)
    plan_class = compiled.column_buffers.ColumnPlan
    without_init = plan_class.__new__(plan_class)
    # Such a plan has no columns, so it reads no bytes of the page.
    assert without_init.read(b"", offset=0, row_count=0).children == ()


def outcome(plan: Any, page: bytes) -> tuple[str, Any]:
    """Read two rows; return ("columns", their content) or ("error", the error message)."""
    try:
        return "columns", dumped(plan.read(page, offset=0, row_count=2))
    except DecodeError as error:
        return "error", str(error)


@pytest.mark.slow
def test_both_implementations_decode_mutated_values_alike(compiled: Implementation) -> None:
    """Both implementations read any bytes as any type with the same result: columns or an error.

    The first cell of each page is an encoded value of some type, often not of the column's type.
    The second cell is the first cell with changed bytes. If columns raise an error, rows raise it,
    too.
    """
    rng = random.Random(20261121)
    corpus = [bytes.fromhex(expected) for _, _, expected in [*SCALARS, *CONTAINERS]]
    for cql_type in [
        *TYPES,
        set_of(ADDRESS),
        vector_of(list_of(t.UTF8Type), 2),
        list_of(map_of(t.UTF8Type, t.Int32Type)),
    ]:
        compiled_plan = column_plan(compiled, [cql_type])
        python_plan = column_plan(Implementation("python"), [cql_type])
        rows = compiled.rows.RowPlan(["c0"], [cql_type.build_codec(compiled.codecs)])
        for body in corpus:
            page = value(body) + value(mutated(body, rng))
            compiled_outcome = outcome(compiled_plan, page)
            assert compiled_outcome == outcome(python_plan, page), (cql_type, page)
            if is_bytes_only(cql_type):
                continue
            result, content_or_error = compiled_outcome
            # If a column could be read, or its error is one that only columns raise, rows must be
            # able to read the page.
            if result == "columns" or any(words in content_or_error for words in ONLY_COLUMNS):
                rows.tuples(page, offset=0, row_count=2)
            else:
                with pytest.raises(DecodeError) as raised:
                    rows.tuples(page, offset=0, row_count=2)
                assert str(raised.value) == content_or_error


def test_an_error_of_a_signal_handler_is_raised_unchanged(implementation: Implementation) -> None:
    """An error that a signal handler raises while a value is decoded is raised unchanged.

    If the column can be built at a second attempt, its values were not the cause of the error, so
    there is no DecodeError.
    """

    class LimitReached(Exception):
        """An error as a signal handler raises it."""

    errors: list[Exception] = [LimitReached("60 s")]

    def decode(data: bytes) -> int:
        if errors:
            raise errors.pop()
        return int(data)

    codec = implementation.codecs.from_functions("number", str.encode, decode)
    column_buffers: Any = implementation.column_buffers
    plan = column_buffers.ColumnPlan(["a"], [codec], [Layout("object", "number", "")])
    with pytest.raises(LimitReached):
        plan.read(value(b"1") + value(b"2"), 0, 2)
    assert plan.read(value(b"1") + value(b"2"), 0, 2).length == 2
    with pytest.raises(DecodeError, match=r'row 1, column "a" \(number\)'):
        plan.read(value(b"1") + value(b"x"), 0, 2)
