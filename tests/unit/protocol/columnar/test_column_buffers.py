"""Column plans decode pages of rows into Arrow columns.

The columns are compared with the rows that are decoded from the same bytes.
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
from cassandra.protocol.columnar.layouts import ColumnOptions, layout_of, object_layout
from cassandra.protocol.columnar.pages import ArrowPage, ArrowSchema, arrow_array
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

# Parts of the messages of errors that only columns raise, not rows.
ONLY_COLUMNS = (
    "a key is null, which a column of maps cannot hold",
    "takes more than",
    "does not fit",
)


def read(
    implementation: Any,
    kind: Any,
    cells: Sequence[bytes | None],
    options: ColumnOptions | None = None,
) -> Any:
    """Return the column that is decoded from these cells, which are a page with one column."""
    plan = column_plan(implementation, [kind], options or ColumnOptions())
    return plan.read(page_of([[cell] for cell in cells]), 0, len(cells)).children[0]


def values_by_pyarrow(column: Any) -> list[Any]:
    """Let pyarrow check the column completely, and return the values that it reads from it."""
    pyarrow = pytest.importorskip("pyarrow")
    array = pyarrow.array(ArrowPage(with_plain_types(column)))
    array.validate(full=True)
    items: list[Any] = array.to_pylist()
    return items


def rows_of(implementation: Any, kind: Any, cells: list[bytes | None]) -> list[Any]:
    plan = implementation.rows.RowPlan(["c0"], [kind.build_codec(implementation.codecs)])
    return [row[0] for row in plan.tuples(page_of([[cell] for cell in cells]), 0, len(cells))]


def is_bytes_only(kind: Any) -> bool:
    layout = layout_of(kind)
    return layout.kind == "blob" and not issubclass(kind, t.BytesType)


@pytest.mark.parametrize(
    "case", [*SCALARS, *CONTAINERS], ids=lambda case: f"{case[0].__name__}-{case[2][:16]}"
)
def test_every_type_with_nulls_and_empty_values(
    implementation: Implementation, case: tuple[Any, Any, str]
) -> None:
    """A column has the same values as rows decoded from the same cells."""
    cql_type, _, body_hex = case
    body = bytes.fromhex(body_hex)
    # Use more than eight cells, so that the bitmap of nulls has a second byte.
    cells = [body, None, b"", body, *[None] * 7, body]
    items = values_by_pyarrow(read(implementation, cql_type, cells))
    rows = rows_of(implementation, cql_type, cells)
    layout = layout_of(cql_type)
    # A type that columns treat as a blob has the server's bytes in columns.
    if layout.kind == "blob":
        rows = [cell if cell or layout.empty_is_value else None for cell in cells]
    if issubclass(cql_type, t.SetType):
        # In columns, a set keeps the server's order; in rows it is sorted. So sort both.
        items = [item if item is None else sorted(item, key=repr) for item in items]
        rows = [
            row
            if row is None
            else sorted(row, key=lambda element: repr(as_column(layout.children[0], element)))
            for row in rows
        ]
    assert items == [as_column(layout, row) for row in rows]


@pytest.mark.parametrize(
    "cqltype",
    list(dict.fromkeys(sample_type[0] for sample_type in [*SCALARS, *CONTAINERS])),
    ids=str,
)
def test_pyarrow_can_also_read_the_buffers_without_a_capsule(
    implementation: Implementation, cqltype: Any
) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    bodies = [
        bytes.fromhex(body_hex)
        for sample_type, _, body_hex in [*SCALARS, *CONTAINERS]
        if sample_type is cqltype
    ]
    cells = [*bodies, None, b"", *bodies]
    column = read(implementation, cqltype, cells)
    through_capsule = pyarrow.array(ArrowPage(column))
    array = arrow_array(pyarrow, pyarrow.field(ArrowSchema(column.layout)).type, column)
    # This checks the lengths and offsets of all buffers.
    array.validate(full=True)
    assert array.type == through_capsule.type
    assert array.equals(through_capsule)


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
@pytest.mark.slow
def test_columns_of_nested_types_equal_the_rows(
    implementation: Implementation, data: st.DataObject
) -> None:
    kind, values = data.draw(typed_values(2))
    codec = kind.build_codec(twin("codecs", "python"))
    items = data.draw(st.lists(st.none() | values, max_size=6))
    cells = [None if item is None else codec.encode(item) for item in items]
    read_items = values_by_pyarrow(read(implementation, kind, cells))
    assert read_items == [
        as_column(layout_of(kind), row) for row in rows_of(implementation, kind, cells)
    ]


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 64, 1000])
def test_every_number_of_rows(implementation: Implementation, count: int) -> None:
    """Columns of any length have the same values as rows; lengths around multiples of 8 matter for
    the bitmap.
    """
    cql_types = [
        t.Int32Type,
        t.UTF8Type,
        t.BooleanType,
        list_of(t.UTF8Type),
        vector_of(t.FloatType, 3),
        ADDRESS,
    ]
    rng = random.Random(count)
    samples = [
        struct.pack(">i", count),
        b"text",
        b"\x01",
        int32(1) + value(b"a"),
        struct.pack(">3f", 1, 2, 3),
        value(b"street") + value(int32(7)),
    ]
    # about half of the cells are null
    rows = [[rng.choice([sample, None]) for sample in samples] for _ in range(count)]
    page = column_plan(implementation, cql_types).read(page_of(rows), 0, count)
    assert page.length == count
    for index, cql_type in enumerate(cql_types):
        cells = [row[index] for row in rows]
        column = page.children[index]
        assert column.null_count == cells.count(None)
        assert values_by_pyarrow(column) == [
            as_column(column.layout, row) for row in rows_of(implementation, cql_type, cells)
        ]


def test_buffers_have_arrow_s_layout(implementation: Implementation) -> None:
    numbers = read(implementation, t.Int32Type, [int32(5), None, int32(-1)])
    # a bitmap of the values that are not null (rows 0 and 2), then the numbers
    bitmap, data = (bytes(memoryview(buffer).cast("B")) for buffer in numbers.buffers)
    assert bitmap == b"\x05"
    assert data == struct.pack("=3i", 5, 0, -1)
    texts = read(implementation, t.UTF8Type, [b"ab", b"", "é".encode()])
    # no bitmap without nulls, then the offsets, then the characters
    assert texts.buffers[0] is None
    assert bytes(memoryview(texts.buffers[1]).cast("B")) == struct.pack("=4i", 0, 2, 2, 4)
    assert bytes(memoryview(texts.buffers[2])) == b"ab\xc3\xa9"


@pytest.mark.parametrize(
    ("unscaled", "scale"),
    [(0, 0), (0, 5), (0, -3), (0, 7), (1, 6), (1, 7), (-123, 2), (123, 3), (123, 9), (5, -1),
    (-(2**63), 0), (2**63, 18), (10**40, 3),
     (123456, -20), (7, 2**31 - 1), (7, -(2**31)), (7, 100_000), (-1, 99_999)],
)  # fmt: skip
def test_decimals_are_written_as_by_python(
    implementation: Implementation, unscaled: int, scale: int
) -> None:
    size = (unscaled if unscaled >= 0 else ~unscaled).bit_length() // 8 + 1
    cell = struct.pack(">i", scale) + unscaled.to_bytes(size, "big", signed=True)
    assert values_by_pyarrow(read(implementation, t.DecimalType, [cell])) == [
        str(rows_of(implementation, t.DecimalType, [cell])[0])
    ]


def test_varints_of_any_length(implementation: Implementation) -> None:
    """Varints are texts or, with the option, 64-bit integers, which must fit."""
    numbers = [0, -1, 127, -128, 2**63 - 1, -(2**63), 2**63, -(10**5000)]
    # the shortest two's complement form of each number
    cells = [
        number.to_bytes(
            (number if number >= 0 else ~number).bit_length() // 8 + 1, "big", signed=True
        )
        for number in numbers
    ]
    assert values_by_pyarrow(read(implementation, t.IntegerType, cells)) == [
        str(Decimal(number)) for number in numbers
    ]
    # cells[:6] are the numbers that fit 64 bits. Leading zero bytes do not count.
    column = read(
        implementation,
        t.IntegerType,
        [b"\x00" * 12 + b"\x05", *cells[:6], None],
        ColumnOptions(varints="int64"),
    )
    assert values_by_pyarrow(column) == [5, *numbers[:6], None]
    with pytest.raises(DecodeError, match=r'row 1, column "c0" \(varint\): .*does not fit 64 bits'):
        read(implementation, t.IntegerType, [b"\x01", cells[6]], ColumnOptions(varints="int64"))


@pytest.mark.parametrize("precision", [18, 38, 76])
def test_decimals_of_a_chosen_scale(implementation: Implementation, precision: int) -> None:
    """With the option, decimals have the chosen scale; those that do not fit are refused."""
    options = ColumnOptions(decimals=(precision, 2))
    encode = t.DecimalType.build_codec(implementation.codecs).encode
    exact_texts = ["1.25", "-1.25", "3", "1e3", "0", "0.5000", "-0.01", "9" * (precision - 2)]
    numbers = values_by_pyarrow(
        read(
            implementation,
            t.DecimalType,
            [*[encode(Decimal(exact_text)) for exact_text in exact_texts], None, b""],
            options,
        )
    )
    assert numbers == [*[Decimal(exact_text) for exact_text in exact_texts], None, None]
    # too many decimal places, too many digits, and exponents that are far too large
    for exact_text in ("0.001", "9" * (precision - 1), "1e400", "1e-400"):
        with pytest.raises(DecodeError, match=r'row 1, column "c0" \(decimal\): .*without loss'):
            read(implementation, t.DecimalType, [None, encode(Decimal(exact_text))], options)


def test_durations_as_structs(implementation: Implementation) -> None:
    """With the option, durations are structs."""
    cell = t.DurationType.build_codec(implementation.codecs).encode(
        t.DurationType.build_codec(implementation.codecs).decode(b"\x02\x04\x06")
    )
    column = read(implementation, t.DurationType, [cell, None], ColumnOptions(durations="struct"))
    assert values_by_pyarrow(column) == [{"months": 1, "days": 2, "nanoseconds": 3}, None]


def test_a_null_key_is_refused(implementation: Implementation) -> None:
    good = int32(1) + value(int32(1)) + value(b"x")
    bad = int32(1) + value(None) + value(b"x")
    kind = map_of(t.Int32Type, t.UTF8Type)
    assert values_by_pyarrow(read(implementation, kind, [good, None])) == [[(1, "x")], None]
    with pytest.raises(DecodeError, match=r'row 1, column "c0" .*a key is null'):
        read(implementation, kind, [good, bad])


def test_a_null_of_a_huge_vector_takes_no_memory(implementation: Implementation) -> None:
    for element in (t.FloatType, t.UTF8Type, t.BooleanType):
        with pytest.raises(
            DecodeError, match=r'column "c0" .*takes more than 2147483647 bytes as a column'
        ):
            read(implementation, vector_of(element, 2**29), [None, None])


def test_columns_raise_the_same_errors_as_rows(implementation: Implementation) -> None:
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
    column_reader = column_plan(implementation, [t.Int32Type, t.UTF8Type])
    page = page_of([[int32(1), b"one"], [None, b""]])
    for kept_bytes in range(len(page)):
        with pytest.raises(DecodeError):
            column_reader.read(page[:kept_bytes], 0, 2)
    # row counts and offsets that do not fit the page
    for offset, count in [(0, 2**31 - 1), (0, 3), (0, -1), (len(page) + 1, 1), (-1, 1), (2**62, 1)]:
        with pytest.raises(DecodeError):
            column_reader.read(page, offset, count)
    assert column_reader.read(b"head" + page + b"behind", 4, 2).children[0].null_count == 1


def test_columns_of_types_with_overridden_methods_contain_bytes(
    implementation: Implementation,
) -> None:
    class UpperCaseText(t.UTF8Type):
        @classmethod
        def deserialize(cls, byts: bytes, protocol_version: int) -> Any:
            return super().deserialize(byts, protocol_version).upper()

    # Columns never call Python code for a value, so this type's column has the server's bytes.
    assert values_by_pyarrow(read(implementation, UpperCaseText, [b"a", None, b""])) == [
        b"a",
        None,
        b"",
    ]
    # The class of an unknown custom type cannot decode values, so columns have the server's bytes,
    # too.
    custom = t.lookup_casstype("com.example.Unknown")
    assert values_by_pyarrow(
        read(implementation, list_of(custom), [int32(2) + value(b"\x00") + value(None)])
    ) == [[b"\x00", None]]


def test_columns_of_wrapper_types_equal_those_of_the_wrapped_type(
    implementation: Implementation,
) -> None:
    kind = t.lookup_casstype("ReversedType(FrozenType(ListType(Int32Type)))")
    assert values_by_pyarrow(read(implementation, kind, [int32(1) + value(int32(9))])) == [[9]]


def test_objects(implementation: Implementation) -> None:
    """A column of Python objects has the objects that rows would have."""
    codecs = implementation.codecs
    plan = implementation.column_buffers.ColumnPlan(
        ["a"], [codecs.uuid()], [object_layout(t.UUIDType)]
    )
    column = plan.read(value(bytes(16)) + value(None) + value(b""), 0, 3).children[0]
    assert column.buffers[0] == rows_of(implementation, t.UUIDType, [bytes(16), None, b""])


def test_plans_check_their_arguments(implementation: Implementation) -> None:
    with pytest.raises(ValueError, match="1 names, 0 codecs and 0 layouts"):
        implementation.column_buffers.ColumnPlan(["a"], codecs=[], layouts=[])
    with pytest.raises(DecodeError):
        implementation.column_buffers.ColumnPlan(names=[], codecs=[], layouts=[]).read(b"", 0, 1)
    assert (
        implementation.column_buffers.ColumnPlan(names=[], codecs=[], layouts=[])
        .read(b"", 0, 0)
        .length
        == 0
    )


def test_a_page_has_to_be_bytes(compiled: Implementation) -> None:
    for body in (None, "text", bytearray(8)):
        with pytest.raises(TypeError):
            column_plan(compiled, [t.Int32Type]).read(body, 0, 1)
    bare = compiled.column_buffers.ColumnPlan.__new__(compiled.column_buffers.ColumnPlan)
    assert bare.read is not None


def outcome(plan: Any, page: bytes, count: int) -> tuple[str, Any]:
    try:
        return "columns", dumped(plan.read(page, 0, count))
    except DecodeError as error:
        return "error", str(error)


@pytest.mark.slow
def test_both_implementations_decode_mutated_values_alike(compiled: Implementation) -> None:
    rng = random.Random(20261121)
    corpus = [bytes.fromhex(expected) for _, _, expected in [*SCALARS, *CONTAINERS]]
    for cql_type in [
        *TYPES,
        set_of(ADDRESS),
        vector_of(list_of(t.UTF8Type), 2),
        list_of(map_of(t.UTF8Type, t.Int32Type)),
    ]:
        compiled_plan, python_plan = (
            column_plan(compiled, [cql_type]),
            column_plan(Implementation("python"), [cql_type]),
        )
        rows = compiled.rows.RowPlan(["c0"], [cql_type.build_codec(compiled.codecs)])
        for body in corpus:
            page = value(body) + value(mutated(body, rng))
            compiled_outcome = outcome(compiled_plan, page, 2)
            assert compiled_outcome == outcome(python_plan, page, 2), (cql_type, page)
            # Columns have only the bytes of such a type, while rows decode them, so do not compare.
            if is_bytes_only(cql_type):
                continue
            # If a column could be read, or its error is one that only columns raise, rows must read
            # the page without an error.
            if compiled_outcome[0] == "columns" or any(
                text in compiled_outcome[1] for text in ONLY_COLUMNS
            ):
                rows.tuples(page, 0, 2)
            else:
                with pytest.raises(DecodeError) as raised:
                    rows.tuples(page, 0, 2)
                assert str(raised.value) == compiled_outcome[1]
