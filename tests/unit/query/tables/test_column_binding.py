"""Test `bind_table`, which binds tables as rows.

The tests compare its fast path, which reads the memory of the table's columns, with the slow path,
which creates Python objects.
"""

from __future__ import annotations

import datetime
import decimal
import uuid
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from cassandra.cqltypes.parse import lookup_casstype, lookup_cqltype
from cassandra.query.tables.rows import TableRows, arrow_batches, rows_of
from tests.conftest import Implementation
from tests.unit.query.tables.binding import type_or_skip

pa = pytest.importorskip("pyarrow")
np = pytest.importorskip("numpy")

UTC = datetime.timezone.utc


class Column(NamedTuple):
    """A stand-in for a bind marker, with the name and type of its column."""

    name: str
    type: Any


# The server's names of types with subtypes, by their names in CQL.
CONTAINERS = {
    "vector<float, 2>": "VectorType(FloatType, 2)",
    "vector<double, 2>": "VectorType(DoubleType, 2)",
    "list<float>": "ListType(FloatType)",
    "list<int>": "ListType(Int32Type)",
    "set<float>": "SetType(FloatType)",
    "map<text, int>": "MapType(UTF8Type, Int32Type)",
    "tuple<uuid, double>": "TupleType(UUIDType, DoubleType)",
}


def type_of(name: str) -> Any:
    """Return the driver's type class for a CQL type."""
    return lookup_casstype(CONTAINERS[name]) if name in CONTAINERS else lookup_cqltype(name)


def plan_of(implementation: Implementation, *types: str) -> Any:
    """Return a bind plan for markers of these CQL types, named c0, c1, and so on."""
    columns = [Column(f"c{number}", type_of(name)) for number, name in enumerate(types)]
    return implementation.bind.BindPlan(columns)


def bound(implementation: Implementation, table: Any, *types: str) -> list[bytes]:
    """Bind the table on the fast path, and return the encoded bytes of each row.

    :param types: the CQL types of the bind markers.
    """
    plan = plan_of(implementation, *types)
    rows = rows_of(table, plan.columns)
    return [row.data for row in implementation.column_binding.bind_table(plan, rows, 5).rows()]


def by_objects(implementation: Implementation, table: Any, *types: str) -> list[bytes]:
    """Bind the rows as Python objects (the slow path), and return the encoded bytes of each row.

    :param types: the CQL types of the bind markers.
    """
    plan = plan_of(implementation, *types)
    rows = list(rows_of(table, plan.columns))
    return [
        row.data for row in implementation.bind.BindPlan(plan.columns).bind_many(rows, 5).rows()
    ]


def tensors(values: list[list[float]], permutation: list[int]) -> Any:
    """Return an array of tensors of 1 x 2 floats, whose dimensions are stored in this order.

    :param permutation: the order in which the dimensions are stored.
    """
    storage = pa.array(values, pa.list_(pa.float32(), 2))
    tensor_type = pa.fixed_shape_tensor(pa.float32(), [1, 2], permutation=permutation)
    return pa.ExtensionArray.from_storage(tensor_type, storage)


def dictionary(values: list[Any], kind: Any) -> Any:
    """Return an array of the last value, null and the first one, which stores each value once.

    :param kind: Arrow's type of the stored values.
    """
    indices = pa.array([len(values) - 1, None, 0], "int32")
    return pa.DictionaryArray.from_arrays(indices, pa.array(values, kind))


MOMENTS = [
    datetime.datetime(1969, 12, 31, 23, 59, 59, 999_999),
    None,
    datetime.datetime(2026, 1, 2),
]
DAYS = [datetime.date(1, 1, 1), None, datetime.date(9999, 12, 31)]
KEYS = [uuid.UUID(int=7).bytes, None, uuid.UUID(int=2**127).bytes]
VECTORS = [[1.5, -2.0], [3.0, 4.0], [0.1, float("inf")]]

# Each entry has a name, a function that makes an Arrow array, and the CQL types to which the array
# can be bound.
ARRAYS: list[tuple[str, Callable[[], Any], tuple[str, ...]]] = [
    *[
        (kind, lambda kind=kind: pa.array([1, None, 100], kind), ("tinyint", "smallint", "int", "bigint", "counter", "varint"))  # noqa: E501
        for kind in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
    ],
    ("least", lambda: pa.array([-(2**63), 2**63 - 1, None]), ("bigint",)),
    ("small", lambda: pa.array([-128, 127, None]), ("tinyint",)),
    ("float32", lambda: pa.array([1.5, None, float("nan")], "float32"), ("float", "double")),
    ("float64", lambda: pa.array([1.5, None, float("nan"), -0.0], "float64"), ("float", "double")),
    ("halffloat", lambda: pa.array(np.array([1.5], "float16")), ("float",)),
    ("whole floats", lambda: pa.array([1.0, None, float("nan")]), ("int",)),
    ("bool", lambda: pa.array([True, None, False] * 5), ("boolean",)),
    ("text", lambda: pa.array(["", None, "é", "plain text of some length"]), ("text", "varchar")),
    ("ascii", lambda: pa.array(["", None, "a"]), ("ascii", "text")),
    ("large", lambda: pa.array(["", None, "é"], "large_string"), ("text",)),
    ("view", lambda: pa.array(["", None, "é"], type_or_skip("string_view")), ("text",)),
    ("words", lambda: pa.array(["a", None, "b", "a"]).dictionary_encode(), ("text",)),
    ("words of a view", lambda: dictionary(["b", "a"], type_or_skip("string_view")), ("text",)),
    ("blobs of a view", lambda: dictionary([b"b", b"a"], type_or_skip("binary_view")), ("blob",)),
    ("blob", lambda: pa.array([b"", None, b"\xff\x00"]), ("blob",)),
    ("large blob", lambda: pa.array([b"", None, b"\xff"], "large_binary"), ("blob",)),
    ("uuid", lambda: pa.array(KEYS, pa.binary(16)), ("uuid", "blob")),
    *[
        (f"moments in {unit}", lambda unit=unit: pa.array(MOMENTS, pa.timestamp("us")).cast(pa.timestamp(unit), safe=False), ("timestamp", "date"))  # noqa: E501
        for unit in ("s", "ms", "us", "ns")
    ],
    ("moments of a zone", lambda: pa.array(MOMENTS[2:], pa.timestamp("us", "Europe/Berlin")), ("timestamp",)),  # noqa: E501
    ("far moments", lambda: pa.array([-(2**60), 2**60, None]).cast(pa.timestamp("ms")), ("timestamp",)),  # noqa: E501
    ("days", lambda: pa.array(DAYS, "date32"), ("date", "timestamp")),
    ("far days", lambda: pa.array([-(2**31), 2**31 - 1, None], "int32").cast("date32"), ("date", "timestamp")),  # noqa: E501
    ("date64", lambda: pa.array(DAYS, "date64"), ("date", "timestamp")),
    *[
        (f"times in {kind}", lambda kind=kind, size=size: pa.array([0, None, 86_399], size).cast(kind), ("time",))  # noqa: E501
        for kind, size in ((pa.time32("s"), "int32"), (pa.time32("ms"), "int32"), (pa.time64("us"), "int64"), (pa.time64("ns"), "int64"))  # noqa: E501
    ],
    ("spans", lambda: pa.array([0, None, 5], "int64").cast(pa.duration("us")), ("time",)),
    ("vectors", lambda: pa.array(VECTORS, pa.list_(pa.float32(), 2)), ("vector<float, 2>",)),
    ("lists", lambda: pa.array([*VECTORS, None], pa.list_(pa.float32())), ("vector<float, 2>", "list<float>", "set<float>")),  # noqa: E501
    ("large lists", lambda: pa.array([*VECTORS, None], pa.large_list(pa.float32())), ("vector<float, 2>",)),  # noqa: E501
    ("lists of doubles", lambda: pa.array(VECTORS, pa.list_(pa.float64())), ("vector<float, 2>", "vector<double, 2>")),  # noqa: E501
    ("decimals", lambda: pa.array([decimal.Decimal("1.25"), None]), ("decimal",)),
    ("maps", lambda: pa.array([[("a", 1)], None], pa.map_("string", "int32")), ("map<text, int>",)),
    ("nothing", lambda: pa.array([None, None]), ("int", "text", "vector<float, 2>")),
    ("no rows", lambda: pa.array([], "int32"), ("int",)),
]  # fmt: skip
CASES = [
    (name, make_array, cqltype) for name, make_array, cqltypes in ARRAYS for cqltype in cqltypes
]


def test_a_table_without_chunks_has_no_rows(implementation: Implementation) -> None:
    """A field of an extension type: pyarrow cannot combine no chunks of such a struct."""
    pair = pa.struct([("f0", type_or_skip("uuid")), ("f1", pa.float64())])
    for arrow_type, cql_type in ((pa.int32(), "int"), (pair, "tuple<uuid, double>")):
        table = pa.table({"c0": pa.chunked_array([], arrow_type)})
        assert bound(implementation, table, cql_type) == []


@pytest.mark.parametrize(
    ("name", "make_array", "cqltype"),
    CASES,
    ids=[f"{name}-{cqltype}" for name, _, cqltype in CASES],
)
def test_arrow_columns_are_bound_like_python_objects(
    implementation: Implementation, name: str, make_array: Callable[[], Any], cqltype: str
) -> None:
    """Arrow tables, record batches and slices are encoded alike on the fast and the slow path."""
    array = make_array()
    expected = by_objects(implementation, pa.table({"c0": array}), cqltype)
    assert len(expected) == len(array)
    assert bound(implementation, pa.table({"c0": array}), cqltype) == expected
    assert bound(implementation, pa.RecordBatch.from_pydict({"c0": array}), cqltype) == expected
    # A slice begins within the memory of its array, and a column may consist of several chunks.
    assert bound(implementation, pa.table({"c0": array}).slice(1), cqltype) == expected[1:]
    chunks_in_other_order = pa.chunked_array([array.slice(2), array.slice(0, 2)])
    reordered = bound(implementation, pa.table({"c0": chunks_in_other_order}), cqltype)
    assert reordered == expected[2:] + expected[:2]


@pytest.mark.parametrize(
    ("name", "make_array", "cqltype"),
    CASES,
    ids=[f"{name}-{cqltype}" for name, _, cqltype in CASES],
)
def test_arrow_columns_of_pandas_are_bound_like_python_objects(
    implementation: Implementation, name: str, make_array: Callable[[], Any], cqltype: str
) -> None:
    """A column of pandas that holds an Arrow array is bound like the array, with each chunk."""
    pandas = pytest.importorskip("pandas")
    array = make_array()
    expected = by_objects(implementation, pa.table({"c0": array}), cqltype)
    for chunks in ([array], [array, array]):
        values = pandas.arrays.ArrowExtensionArray(pa.chunked_array(chunks))
        frame = pandas.DataFrame({"c0": pandas.Series(values)})
        assert bound(implementation, frame, cqltype) == expected * len(chunks)


@pytest.mark.parametrize("name", ["string", "large_string", "string_view"])
def test_chunks_with_other_dictionaries_are_bound_like_python_objects(
    implementation: Implementation, name: str
) -> None:
    """Each chunk of a column may have a dictionary of its own."""
    pandas = pytest.importorskip("pandas")
    kind = type_or_skip(name)
    chunks = pa.chunked_array([dictionary(["b", "a"], kind), dictionary(["c", "b"], kind)])
    expected = by_objects(
        implementation, pa.table({"c0": ["a", None, "b", "b", None, "c"]}), "text"
    )
    frame = pandas.DataFrame({"c0": pandas.arrays.ArrowExtensionArray(chunks)})
    for table in (pa.table({"c0": chunks}), frame):
        assert bound(implementation, table, "text") == expected


# Each tuple has a function that returns an array, and the CQL type to which its values are bound.
NUMPY: list[tuple[Callable[[], Any], str]] = [
    *[(lambda kind=kind: np.array([1, 0, 100], kind), "int") for kind in ("i1", "i2", "i4", "i8")],
    *[(lambda kind=kind: np.array([1, 0, 100], kind), "bigint") for kind in ("u1", "u2", "u4", "u8")],  # noqa: E501
    (lambda: np.array([1, 2], ">i4"), "int"),
    (lambda: np.array([1.5, np.nan], "f4"), "double"),
    (lambda: np.array([1.5, np.nan], "f8"), "float"),
    (lambda: np.array([1.0, np.nan], "f8"), "int"),
    (lambda: np.array([1.5], "f2"), "double"),
    (lambda: np.array([True, False]), "boolean"),
    *[
        (lambda unit=unit: np.array(["1969-12-31T23:59:59", "NaT", "2026-01-02"], f"M8[{unit}]"), kind)  # noqa: E501
        for unit in ("D", "h", "s", "ms", "us", "ns")
        for kind in ("timestamp", "date")
    ],
    (lambda: np.array([5, "NaT"], "m8[us]"), "time"),
    (lambda: np.ma.masked_array([1, 2], [True, False]), "int"),
    (lambda: np.array(["a", None, "é"], object), "text"),
    (lambda: np.arange(10)[::-3], "int"),
]  # fmt: skip


@pytest.mark.parametrize("index", range(len(NUMPY)))
def test_numpy_arrays_and_frames_are_bound_like_python_objects(
    implementation: Implementation, index: int
) -> None:
    """NumPy arrays and pandas frames are encoded alike on the fast and the slow path."""
    pandas = pytest.importorskip("pandas")
    make_array, cqltype = NUMPY[index]
    array = make_array()
    one_column = array.reshape(-1, 1)
    expected = by_objects(implementation, one_column, cqltype)
    assert bound(implementation, one_column, cqltype) == expected
    # A masked array is not tested as a field of records or as a column of a frame.
    if type(array) is not np.ndarray:
        return
    # In an array of records, the bytes of another field lie between the values of a field.
    records = np.zeros(len(array), [("other", "u1"), ("c0", array.dtype)])
    records["c0"] = array
    assert bound(implementation, records[["c0"]], cqltype) == expected
    # pandas may convert arrays of the types that are left out here.
    if array.dtype.isnative and array.dtype.str[1:] not in ("M8[D]", "M8[h]", "f2"):
        frame = pandas.DataFrame({"c0": array, "other": 1})[["c0"]]
        assert bound(implementation, frame, cqltype) == by_objects(implementation, frame, cqltype)


def test_frames_without_numpy_arrays_are_bound_like_python_objects(
    implementation: Implementation,
) -> None:
    """Columns of pandas without a NumPy array are encoded alike on the fast and the slow path."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {
            "c0": pandas.array([1, None], dtype="Int64"),
            "c1": pandas.array(["a", None], dtype=pandas.ArrowDtype(pa.string())),
            "c2": pandas.to_datetime(["2026-01-01", None]).tz_localize("Europe/Berlin"),
            "c3": pandas.Categorical(["x", "y"]),
        }
    )
    types = ("int", "text", "timestamp", "text")
    assert bound(implementation, frame, *types) == by_objects(implementation, frame, *types)
    assert bound(implementation, frame.iloc[:0], *types) == []


def test_categories_of_polars_are_bound_like_texts(implementation: Implementation) -> None:
    """Columns of the polars types Categorical and Enum are bound like columns of strings.

    polars exports these columns as dictionaries of string views, which pyarrow cannot decode.
    """
    polars = pytest.importorskip("polars")
    for dtype in (polars.Categorical, polars.Enum(["a", "b"])):
        series = polars.Series("c0", ["b", None, "a"], dtype=dtype)
        for values in (series, series.clone().append(series)):  # one chunk, and two chunks
            table = values.to_frame()
            plain = pa.table({"c0": values.to_list()})
            expected = by_objects(implementation, plain, "text")
            assert bound(implementation, table, "text") == expected
            batches = [
                data
                for batch in arrow_batches(table)
                for data in bound(implementation, batch, "text")
            ]
            assert batches == expected


@pytest.mark.parametrize(
    ("make_array", "cqltype", "message"),
    [
        (lambda: pa.array([1, 300]), "tinyint", r"row 1: column .c0.*300"),
        (lambda: pa.array([1, 2**63], "uint64"), "bigint", r"row 1: column .c0"),
        (lambda: pa.array([1.0, 1e300]), "float", r"row 1: column .c0"),
        (lambda: pa.array([2**62]).cast(pa.timestamp("s")), "timestamp", r"row 0: column .c0"),
        (lambda: pa.array([86_400], "int64").cast(pa.duration("s")), "time", "row 0: column"),
        (lambda: pa.array([[1.0]], pa.list_(pa.float32())), "vector<float, 2>", "row 0: column"),
        (lambda: tensors([[1.5, 2.5]], permutation=[1, 0]), "vector<float, 2>", "permuted"),
        (lambda: pa.array(["a"]), "int", r"row 0: column .c0"),
        (lambda: pa.array([1]), "text", r"row 0: column .c0"),
        (lambda: pa.array(["é"]), "ascii", r"row 0: column .c0"),
    ],
)
def test_errors_name_row_and_column(
    implementation: Implementation, make_array: Callable[[], Any], cqltype: str, message: str
) -> None:
    """A value that cannot be bound raises an error that names the row and the column."""
    plan = plan_of(implementation, cqltype)
    rows = rows_of(pa.table({"c0": make_array()}), plan.columns)
    with pytest.raises((ValueError, TypeError), match=message):
        implementation.column_binding.bind_table(plan, rows, 5)


def test_bytes_that_are_not_utf_8_are_refused(implementation: Implementation) -> None:
    """A string array with bytes that are not UTF-8 raises UnicodeDecodeError."""
    offsets = pa.py_buffer(np.array([0, 1], "i4").tobytes())
    damaged = pa.StringArray.from_buffers(1, offsets, pa.py_buffer(b"\xff"))
    plan = plan_of(implementation, "text")
    with pytest.raises(UnicodeDecodeError):
        implementation.column_binding.bind_table(
            plan, rows_of(pa.table({"c0": damaged}), plan.columns), 5
        )


def test_overridden_serialize_methods_are_called(implementation: Implementation) -> None:
    """If an application's type class overrides `serialize`, the method is called for each value.

    Columns of such a type must not be bound on the fast path, which would not call the method.
    """
    from cassandra.cqltypes import Int32Type

    class Doubled(Int32Type):
        @staticmethod
        def serialize(value: Any, protocol_version: int) -> bytes:
            return Int32Type.serialize(2 * value, protocol_version)

    plan = implementation.bind.BindPlan([Column("c0", Doubled)])
    rows = rows_of(pa.table({"c0": pa.array([21], "int32")}), plan.columns)
    (row,) = implementation.column_binding.bind_table(plan, rows, 5).rows()
    # The encoded value is 0x2A = 42, twice the 21 in the table.
    assert row.values() == [b"\0\0\0\x2a"]


def test_columns_on_the_fast_and_the_slow_path_may_be_mixed(implementation: Implementation) -> None:
    """One table may have columns that are bound on the fast path and others on the slow path."""
    table = pa.table(
        {"c0": [1, 2], "c1": [[1], None], "c2": ["a", "b"], "c3": pa.array(VECTORS[:2], pa.list_(pa.float32(), 2))}  # noqa: E501
    )  # fmt: skip
    types = ("int", "list<int>", "text", "vector<float, 2>")
    assert bound(implementation, table, *types) == by_objects(implementation, table, *types)
    plan = plan_of(implementation, *types)
    block = implementation.column_binding.bind_table(plan, rows_of(table, plan.columns), 5)
    assert len(block) == 2
    assert block.width == 4
    assert not block.has_unset
    # Input that is not a table is bound row by row, as Python objects.
    assert len(implementation.column_binding.bind_table(plan, [(1, [1], "a", [1.0, 2.0])], 5)) == 1


# The ids of the CASES whose columns must be read from Arrow's memory, without the creation of
# Python objects.
FROM_MEMORY = {
    "int8-tinyint", "int16-smallint", "int32-int", "int64-bigint", "uint32-bigint", "least-bigint",
    "float32-float", "float32-double", "float64-double", "float64-float", "bool-boolean",
    "text-text", "large-text", "words-text", "blob-blob", "large blob-blob", "uuid-uuid",
    "moments in s-timestamp", "moments in ns-timestamp", "moments in us-date", "days-date",
    "days-timestamp", "date64-date", "times in time32[s]-time", "spans-time",
    "vectors-vector<float, 2>", "large lists-vector<float, 2>",
}  # fmt: skip


@pytest.mark.parametrize("case", sorted(FROM_MEMORY))
def test_ordinary_columns_are_read_from_memory(compiled: Implementation, case: str) -> None:
    """The compiled fast path reads these columns from memory and creates no Python objects.

    For that, the function that converts values to objects must never be called.
    """
    ((make_array, cqltype),) = [
        (make_array, cqltype) for name, make_array, cqltype in CASES if f"{name}-{cqltype}" == case
    ]
    array = make_array()
    if case == "large lists-vector<float, 2>":
        # Leave out the last value, which is null, because lists with nulls are not read from
        # memory.
        array = array.slice(0, 3)

    def refuse_conversion(source: Any, cqltype: Any) -> list[Any]:
        raise AssertionError("not from memory")

    plan = plan_of(compiled, cqltype)
    rows = TableRows(plan.columns, [array], refuse_conversion)
    assert len(compiled.column_binding.bind_table(plan, rows, 5)) == len(array)
