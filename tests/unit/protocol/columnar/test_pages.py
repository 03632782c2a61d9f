"""Pages of rows become arrays and tables of NumPy, Arrow, Polars and pandas.

If a library is not installed, the error says so.
"""

from __future__ import annotations

import datetime
import struct
import sys
import uuid
from typing import Any

import pytest

from cassandra import _impl, cqltypes as t
from cassandra.errors import DecodeError, DependencyException
from cassandra.protocol.column_specs import ColumnMetadata, ResultMetadata
from cassandra.protocol.columnar import pages
from cassandra.protocol.columnar.layouts import ColumnOptions, layout_of, row_layout
from tests.conftest import Implementation
from tests.unit.cqltypes.samples import list_of, map_of, tuple_of, vector_of
from tests.unit.protocol.pages import page_of
from tests.unit.protocol.wire import int32, value

IDENTITY = uuid.UUID(int=5)


@pytest.fixture(autouse=True)
def _implementation(implementation: Implementation, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run each test twice: with the compiled and with the pure Python modules that read pages."""
    for name in ("column_buffers", "arrow_capsules"):
        monkeypatch.setattr(_impl, name, getattr(implementation, name), raising=False)


def metadata_of(**columns: Any) -> ResultMetadata:
    """Return result metadata of columns.

    :param columns: the type class of each column, by name.
    """
    return ResultMetadata([ColumnMetadata("ks", "t", name, kind) for name, kind in columns.items()])


def read(metadata: ResultMetadata, *rows: Any, plan: Any = None) -> Any:
    """Read these rows of encoded cells as a page of columns.

    :param plan: the column plan; by default, a plan for Arrow.
    """
    plan = plan or pages.column_plan(metadata)
    return plan.read(page_of(rows), offset=0, row_count=len(rows))


def pack_numbers(form: str, *numbers: Any) -> list[bytes]:
    """Return each number in big-endian bytes.

    `form` is a letter of the struct module.
    """
    return [struct.pack(f">{form}", number) for number in numbers]


(DATE,) = pack_numbers("I", 2**31 + 1)  # 1970-01-02
# This is 5 ns after midnight.
(TIME,) = pack_numbers("q", 5)
# Each entry has a type, the bytes of two values, the two values in the array (times as integers, in
# the unit of the dtype), and the dtype of the NumPy array.
NUMBERS: list[tuple[Any, list[bytes], list[Any], str]] = [
    (t.ByteType, pack_numbers("b", 1, -1), [1, -1], "int8"),
    (t.ShortType, pack_numbers("h", 1, -1), [1, -1], "int16"),
    (t.Int32Type, pack_numbers("i", 1, -1), [1, -1], "int32"),
    (t.LongType, pack_numbers("q", 2**60 + 1, -1), [2**60 + 1, -1], "int64"),
    (t.FloatType, pack_numbers("f", 0.5, -1), [0.5, -1.0], "float32"),
    (t.DoubleType, pack_numbers("d", 0.1, -1), [0.1, -1.0], "float64"),
    (t.BooleanType, [b"\1", b"\0"], [True, False], "bool"),
    (t.DateType, pack_numbers("q", 7, 0), [7, 0], "datetime64[ms]"),
    (t.SimpleDateType, pack_numbers("I", 2**31 + 1, 2**31), [1, 0], "datetime64[D]"),
    (t.TimeType, pack_numbers("q", 5, 0), [5, 0], "timedelta64[ns]"),
]
# These are the dtypes that the NumPy handler of cassandra-driver returns.
PLAIN = ("int16", "int32", "int64", "float32", "float64")
KINDS = [str(case[0].typename) for case in NUMBERS]


# -- plans -----------------------------------------------------------------------------------------


def test_a_plan_is_created_once_for_each_choice_of_options() -> None:
    """Result metadata caches its column plans, one for each choice of options."""
    metadata = metadata_of(a=t.DecimalType)
    plan = pages.column_plan(metadata)
    assert pages.column_plan(metadata) is plan
    decimal_plan = pages.column_plan(metadata, ColumnOptions(decimals=(5, 2)))
    assert decimal_plan is not plan
    assert pages.column_plan(metadata, ColumnOptions(decimals=(5, 2))) is decimal_plan
    array_plan = pages.array_plan(metadata)
    assert pages.array_plan(metadata) is array_plan
    # Each of the four combinations of `typed` and `matrices` must have a separate cached plan.
    array_plans = [
        pages.array_plan(metadata, typed, matrices)
        for typed in (False, True)
        for matrices in (False, True)
    ]
    assert len({id(plan) for plan in array_plans}) == 4
    # The plans with and without `decimals` must differ in the layouts of their columns.
    empty_page = plan.read(b"", offset=0, row_count=0)
    assert [child.layout.kind for child in empty_page.children] == ["decimal"]
    assert decimal_plan.read(b"", offset=0, row_count=0).children[0].layout.kind == "decimal_fixed"


@pytest.mark.parametrize("case", NUMBERS, ids=KINDS)
def test_columns_of_numbers_become_buffers(case: Any) -> None:
    """Numbers, and with `matrices` also vectors of numbers, are read into buffers.

    Other columns are read as Python objects.
    """
    cql_type, _, _, dtype = case
    metadata = metadata_of(a=cql_type, b=vector_of(cql_type, 2), c=t.UTF8Type, d=list_of(cql_type))

    def column_forms(**choice: bool) -> list[str]:
        """Return for each column whether it is read into a buffer or as objects."""
        page = pages.array_plan(metadata, **choice).read(b"", offset=0, row_count=0)
        return ["object" if child.layout.kind == "object" else "buffer" for child in page.children]

    # Without `typed`, a column is a buffer only if cassandra-driver's NumPy handler also returns
    # its dtype.
    expected_number = "buffer" if dtype in PLAIN else "object"
    assert column_forms() == ["buffer", "buffer", "object", "object"]
    assert column_forms(typed=False) == [expected_number, "buffer", "object", "object"]
    assert column_forms(matrices=False) == ["buffer", "object", "object", "object"]


def test_pages_of_other_columns_are_refused() -> None:
    """A page with other columns than the page before is refused.

    The table may be altered while a query runs.
    """

    def layout_with(**cql_types: Any) -> Any:
        return row_layout(list(cql_types), [layout_of(cql_type) for cql_type in cql_types.values()])

    pages.check_same(layout_with(a=t.Int32Type), layout_with(a=t.Int32Type))
    with pytest.raises(
        DecodeError,
        match=r"columns changed between pages, from \(a int, b text\) to \(a bigint\): execute the",
    ):
        pages.check_same(layout_with(a=t.Int32Type, b=t.UTF8Type), layout_with(a=t.LongType))


def test_duplicate_names_are_refused() -> None:
    """A table with duplicate column names is refused; the error has all names that occur twice."""
    pages.check_names(["a", "b"])
    with pytest.raises(ValueError, match="more than one column has the name a, c: give each"):
        pages.check_names(["c", "a", "b", "a", "c"])


# -- NumPy -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", NUMBERS, ids=KINDS)
def test_arrays_of_numbers(case: Any) -> None:
    """Numbers must become arrays of the right dtype, which are masked if there are nulls."""
    numpy = pytest.importorskip("numpy")
    cqltype, cells, values, dtype = case
    metadata = metadata_of(a=cqltype)
    # The offset of 4 bytes skips "skip".
    body = b"skip" + page_of([[cell] for cell in cells])
    array = pages.page_arrays(metadata, body, offset=4, row_count=2, typed=True)["a"]
    assert str(array.dtype) == dtype
    assert not isinstance(array, numpy.ma.MaskedArray)
    # Compare times as integers, in the units of their arrays.
    items = array.astype("i8").tolist() if array.dtype.kind in "mM" else array.tolist()
    assert items == [pytest.approx(value) for value in values]
    # Without `typed`, arrays must be masked even if there are no nulls, as in cassandra-driver.
    array = pages.page_arrays(metadata, body, offset=4, row_count=2)["a"]
    if dtype in PLAIN:
        assert isinstance(array, numpy.ma.MaskedArray)
        assert array.mask.tolist() == [False, False]
    else:
        assert array.dtype == object
    for typed in (True, False):
        array = pages.page_arrays(
            metadata, page_of([[cells[0]], [None]]), offset=0, row_count=2, typed=typed
        )["a"]
        if array.dtype == object:
            assert array[1] is None
        else:
            assert array.mask.tolist() == [False, True]


def test_arrays_of_vectors() -> None:
    """Vectors become a two-dimensional array, which is masked if there are nulls."""
    pytest.importorskip("numpy")
    metadata = metadata_of(v=vector_of(t.FloatType, 2))
    plan = pages.array_plan(metadata)
    numpy = pages.numpy_module("x")
    cell = b"".join(pack_numbers("f", 1, 2))
    (array,) = pages.arrays_of_page(numpy, read(metadata, [cell], [cell], plan=plan)).values()
    assert array.shape == (2, 2)
    assert str(array.dtype) == "float32"
    assert array.tolist() == [[1, 2], [1, 2]]
    (array,) = pages.arrays_of_page(numpy, read(metadata, [cell], [None], plan=plan)).values()
    assert array.mask.tolist() == [[False, False], [True, True]]
    # `page_arrays` returns vectors as lists in an object array, as cassandra-driver does.
    assert (
        pages.page_arrays(metadata, page_of([[cell]]), offset=0, row_count=1)["v"].dtype == object
    )


@pytest.mark.parametrize("case", NUMBERS, ids=KINDS)
def test_arrays_of_vectors_have_the_type_of_their_elements(case: Any) -> None:
    """An array of vectors has the dtype of the vectors' elements.

    This holds even for types with a length before each element, which servers write for some of
    these types.
    """
    numpy = pytest.importorskip("numpy")
    cqltype, cells, values, dtype = case
    vector_type = vector_of(cqltype, 2)
    metadata = metadata_of(v=vector_type)
    # The codec of the vector writes a length before each element if the type needs it.
    decoded = [cqltype.codec().decode(cell) for cell in cells]
    cell = vector_type.codec().encode(decoded)
    plan = pages.array_plan(metadata)
    (array,) = pages.arrays_of_page(numpy, read(metadata, [cell], [cell], plan=plan)).values()
    assert array.shape == (2, 2)
    assert str(array.dtype) == dtype
    assert not isinstance(array, numpy.ma.MaskedArray)
    items = array.astype("i8") if array.dtype.kind in "mM" else array
    assert items[1].tolist() == [pytest.approx(value) for value in values]
    (array,) = pages.arrays_of_page(numpy, read(metadata, [cell], [None], plan=plan)).values()
    assert str(array.dtype) == dtype
    assert array.mask.tolist() == [[False, False], [True, True]]


def test_arrays_of_all_pages() -> None:
    """`joined_arrays` joins the arrays of several pages; the result is masked if any array is."""
    numpy = pytest.importorskip("numpy")
    layout = row_layout(["a", "b"], [layout_of(t.Int32Type)] * 2)
    plain_page = {"a": numpy.array([1, 2]), "b": numpy.array([3, 4])}
    masked_page = {"a": numpy.ma.array([5], mask=[True]), "b": numpy.array([6])}
    # The arrays of a single page must be returned without a copy.
    single = pages.joined_arrays(numpy, layout, [plain_page])
    assert all(single[name] is plain_page[name] for name in layout.names)
    joined = pages.joined_arrays(numpy, layout, [plain_page, masked_page])
    assert joined["a"].tolist() == [1, 2, None]
    assert joined["b"].tolist() == [3, 4, 6]
    assert not isinstance(joined["b"], numpy.ma.MaskedArray)


# -- Arrow -----------------------------------------------------------------------------------------

COLUMNS = {
    "i": t.Int32Type,
    "u": t.UUIDType,
    "m": map_of(t.UTF8Type, t.Int32Type),
    "s": tuple_of(t.Int32Type, t.UTF8Type),
    "l": list_of(t.Int32Type),
    "v": vector_of(t.FloatType, 2),
    "n": t.lookup_casstype("org.apache.cassandra.db.marshal.EmptyType"),
}
ROW = [
    int32(1),
    IDENTITY.bytes,
    int32(1) + value(b"k") + value(int32(2)),
    value(int32(3)) + value(b"x"),
    int32(2) + value(int32(4)) + value(None),
    b"".join(pack_numbers("f", 1, 2)),
    None,
]
# the values of ROW as pyarrow returns them, without the UUID
SHOWN = [1, [("k", 2)], {"f0": 3, "f1": "x"}, [4, None], [1.0, 2.0], None]


@pytest.mark.parametrize("is_safe", [True, False])
def test_arrow_tables_are_exported_in_capsules_or_buffers(
    is_safe: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Arrow tables are exported in capsules, or in pyarrow's buffers if capsules are not safe.

    RELEASES_SAFELY is False if Python may release capsules too late. Then data is passed to pyarrow
    in pyarrow's own buffer objects.
    """
    pyarrow = pytest.importorskip("pyarrow")
    monkeypatch.setattr(_impl.arrow_capsules, "RELEASES_SAFELY", is_safe)
    metadata = metadata_of(**COLUMNS)
    page = read(metadata, ROW, [None] * len(ROW))
    table = pages.arrow_table(pyarrow, page.layout, [page, page])
    # The table has two pages of two rows: a row of values, and a row of nulls.
    table.validate(full=True)
    assert table.num_rows == 4
    assert table.column_names == list(COLUMNS)
    values_row, nulls_row = table.slice(2, 2).to_pylist()
    assert [cell for name, cell in values_row.items() if name != "u"] == SHOWN
    assert values_row["u"] in (IDENTITY, IDENTITY.bytes)
    assert set(nulls_row.values()) == {None}
    streamed = pyarrow.RecordBatchReader.from_stream(pages.ArrowPages(page.layout, [page, page]))
    assert streamed.read_all().equals(table)
    batch = pages.arrow_batch(pyarrow, pages.arrow_schema(pyarrow, page.layout), page)
    assert batch.equals(pyarrow.record_batch(pages.ArrowPage(page)))
    assert pages.arrow_table(pyarrow, page.layout, pages=[]).num_rows == 0


def test_frames_of_polars() -> None:
    """`polars_frame` joins pages into a polars data frame."""
    polars = pytest.importorskip("polars")
    metadata = metadata_of(a=t.Int32Type, b=t.UTF8Type)
    page = read(metadata, [int32(1), b"x"], [None, None])
    frame = pages.polars_frame(polars, page.layout, [page, page])
    assert frame.rows() == [(1, "x"), (None, None)] * 2


class OldPolars:
    """A stand-in for a version of polars that reads only the first page of a stream."""

    __version__ = "1.9.0"

    def __init__(self) -> None:
        # The schema that was read, and the number of rows of the frame.
        self.schema: Any = None
        self.height = 0

    def DataFrame(self, stream: Any) -> OldPolars:
        """Read the first page of a stream."""
        pyarrow = pytest.importorskip("pyarrow")
        reader = pyarrow.RecordBatchReader.from_stream(stream)
        self.schema, self.height = reader.schema, reader.read_next_batch().num_rows
        return self


def test_polars_that_reads_one_page_is_refused() -> None:
    """If polars lost pages, `polars_frame` raises an error that says which polars to install."""
    page = read(metadata_of(a=t.Int32Type), [int32(1)], [None])
    polars: Any = OldPolars()
    assert pages.polars_frame(polars, page.layout, [page]).height == 2
    with pytest.raises(DependencyException, match=r"polars 1\.9\.0 reads only .* 'polars>=1"):
        pages.polars_frame(polars, page.layout, [page, page])


def test_polars_gets_no_types_for_which_some_versions_fail() -> None:
    """UUIDs are exported to polars as bytes, and maps as lists if polars has no type Map."""
    pyarrow = pytest.importorskip("pyarrow")
    map_type = t.MapType.apply_parameters([t.UTF8Type, t.UUIDType])
    data = map_type.codec().encode({"x": IDENTITY})
    page = read(metadata_of(m=map_type, u=t.UUIDType), [data, IDENTITY.bytes])
    polars: Any = OldPolars()
    for map_class in ("MapType", "ListType"):
        polars.Map = None
        if map_class == "ListType":
            del polars.Map
        pages.polars_frame(polars, page.layout, [page])
        assert type(polars.schema.field("m").type).__name__ == map_class
        assert polars.schema.field("u").type == pyarrow.binary(16)
        assert "uuid" not in str(polars.schema)


# -- pandas ----------------------------------------------------------------------------------------


def pandas_frame(columns: dict[str, Any], *rows: Any, **options: Any) -> Any:
    """Return a data frame of these rows of encoded cells, converted by pyarrow with `options`."""
    pyarrow = pytest.importorskip("pyarrow")
    pytest.importorskip("pandas")
    page = read(metadata_of(**columns), *rows)
    return pages.pandas_of_arrow(pyarrow, page.layout, [page], options)


def test_frames_of_pandas_through_arrow() -> None:
    """Columns with nulls get pandas' nullable dtypes; columns without nulls get NumPy's dtypes."""
    frame = pandas_frame(
        {"i": t.LongType, "d": t.SimpleDateType, "t": t.TimeType, "u": t.UUIDType, "w": t.UTF8Type},
        [pack_numbers("q", 2**60 + 1)[0], DATE, TIME, IDENTITY.bytes, b"x"],
        [None] * 5,
    )
    assert str(frame.dtypes["i"]) == "Int64"
    assert str(frame["d"].dtype).startswith("datetime64")
    assert str(frame["t"].dtype) == "timedelta64[ns]"
    # A float would lose the last digit of this number.
    assert frame["i"].iloc[0] == 2**60 + 1
    assert frame["d"].iloc[0].to_pydatetime() == datetime.datetime(1970, 1, 2)
    assert frame["t"].iloc[0].value == 5
    assert frame["u"].tolist() == [IDENTITY, None]
    assert frame["w"].iloc[0] == "x"
    assert frame.isna().iloc[1].all()
    without_nulls = pandas_frame({"i": t.LongType}, pack_numbers("q", 7))
    assert str(without_nulls.dtypes["i"]) == "int64"


def test_columns_of_one_name_keep_their_values_and_types() -> None:
    """Several columns with the same name are converted each by its own type.

    pyarrow alone converts all of them to strings if one of them is text.
    """
    pandas, pyarrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    types: dict[str, list[Any]] = {"a": [t.UTF8Type, t.Int32Type], "b": [t.UTF8Type, t.UUIDType]}
    metadata = ResultMetadata(
        [ColumnMetadata("ks", "t", name, each) for name in types for each in types[name]]
    )
    page = read(metadata, [b"x", int32(5), b"y", IDENTITY.bytes], [None, int32(6), b"y", None])
    frame = pages.pandas_of_arrow(pyarrow, page.layout, [page], {})
    assert frame.columns.tolist() == ["a", "a", "b", "b"]
    assert frame.iloc[0].tolist() == ["x", 5, "y", IDENTITY]
    assert frame.iloc[1, 1] == 6
    assert frame.isna().iloc[1].tolist() == [True, False, False, True]
    # The option `categories` has the names that the columns have in the frame.
    frame = pages.pandas_of_arrow(pyarrow, page.layout, [page], {"categories": ["a"]})
    is_category = [isinstance(dtype, pandas.CategoricalDtype) for dtype in frame.dtypes]
    assert is_category == [True, True, False, False]


def test_types_mappers_of_durations_are_refused_by_the_name_of_the_column() -> None:
    """A `types_mapper` that maps durations is refused; the error names the column and what to pass.

    pandas would accept the mapped type of durations, but could not print such a frame.
    """
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    columns = {"i": t.Int32Type, "span": t.DurationType}
    row = [int32(1), b"\2\4\6"]  # 1 month, 2 days and 3 nanoseconds
    with pytest.raises(ValueError, match=r'"span" \(duration\): .* pass durations="struct"'):
        pandas_frame(columns, row, types_mapper=pandas.ArrowDtype)
    # This mapper returns None for durations, so pyarrow converts them to pandas' objects.
    frame = pandas_frame(columns, row, types_mapper=lambda arrow_type: None)
    # Some releases of pyarrow add "microseconds", which is 0.
    parts = {"months": 1, "days": 2, "nanoseconds": 3}
    assert {name: part for name, part in frame["span"].iloc[0].kwds.items() if part} == parts


def test_pandas_options_are_passed_to_pyarrow_or_refused_without_it() -> None:
    """Options such as `date_as_object` are passed to pyarrow, and refused without pyarrow."""
    pandas = pytest.importorskip("pandas")
    frame = pandas_frame(
        {"i": t.Int32Type, "t": t.TimeType, "d": t.SimpleDateType},
        [int32(1), pack_numbers("q", 0)[0], DATE],
        [None, None, None],
        types_mapper=lambda arrow_type: None,
        date_as_object=True,
    )
    # The `types_mapper` returns None, so pandas stores integers with nulls as floats.
    assert str(frame.dtypes["i"]) == "float64"
    assert frame["t"].iloc[0] == datetime.time(0)
    assert frame["d"].iloc[0] == datetime.date(1970, 1, 2)
    assert isinstance(frame, pandas.DataFrame)
    # Options of pyarrow must be refused if pyarrow is not installed.
    pages.check_no_options({})
    with pytest.raises(DependencyException, match="needs pyarrow for split_blocks, zero: pip"):
        pages.check_no_options({"split_blocks": True, "zero": 1})


def test_frames_of_pandas_without_pyarrow() -> None:
    """Without pyarrow, integers and booleans get nullable dtypes for nulls; null floats become NaN.

    Columns without nulls get NumPy's dtypes.
    """
    pandas, numpy = pytest.importorskip("pandas"), pytest.importorskip("numpy")
    metadata = metadata_of(
        i=t.LongType,
        b=t.BooleanType,
        f=t.DoubleType,
        d=t.SimpleDateType,
        v=vector_of(t.FloatType, 2),
    )
    row = [
        pack_numbers("q", 7)[0],
        b"\1",
        pack_numbers("d", 0.5)[0],
        DATE,
        b"".join(pack_numbers("f", 1, 2)),
    ]

    def frame_of(*rows: Any) -> Any:
        page = read(metadata, *rows, plan=pages.array_plan(metadata))
        return pages.pandas_of_arrays(pandas, pages.arrays_of_page(numpy, page))

    with_nulls = frame_of(row, [None] * 5)
    assert [str(dtype) for dtype in with_nulls.dtypes][:3] == ["Int64", "boolean", "float64"]
    assert with_nulls.isna().iloc[1].all()
    assert not with_nulls.isna().iloc[0].any()
    assert with_nulls["v"].iloc[0].tolist() == [1.0, 2.0]
    assert with_nulls["v"].iloc[1] is None
    assert with_nulls[["i", "b", "f"]].iloc[0].tolist() == [7, True, 0.5]
    assert with_nulls["d"].iloc[0].to_pydatetime() == datetime.datetime(1970, 1, 2)
    # Without nulls, the columns have NumPy's dtypes.
    without_nulls = frame_of(row)
    assert [str(dtype) for dtype in without_nulls.dtypes][:3] == ["int64", "bool", "float64"]
    assert without_nulls["v"].iloc[0].tolist() == [1.0, 2.0]


# -- libraries that are not installed --------------------------------------------------------------


@pytest.mark.parametrize(
    ("package", "call", "message"),
    [
        ("pyarrow", lambda: pages.pyarrow_module("to_x"), r"to_x needs pyarrow: .*\[arrow\]"),
        ("polars", pages.polars_module, r"to_polars needs polars: .*\[polars\]"),
        ("pandas", pages.pandas_module, r"to_pandas needs pandas: .*\[pandas\]"),
        ("numpy", lambda: pages.numpy_module("to_y"), r"to_y needs NumPy: .*\[numpy\]"),
        (
            "numpy",
            lambda: pages.page_arrays(metadata_of(a=t.Int32Type), b"", offset=0, row_count=0),
            "NumpyProtocolHandler needs NumPy",
        ),
    ],
)
def test_a_package_that_is_not_installed_is_named(
    package: str, call: Any, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error for a library that is not installed names the library and the method."""
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(DependencyException, match=message):
        call()


def test_packages_that_are_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each function returns the installed library; `pandas_module` also works without pyarrow."""
    pandas, pyarrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    polars, numpy = pytest.importorskip("polars"), pytest.importorskip("numpy")
    assert pages.pyarrow_module("x") is pyarrow
    assert pages.polars_module() is polars
    assert pages.numpy_module("x") is numpy
    assert pages.pandas_module() == (pandas, pyarrow)
    # None in `sys.modules` makes the import fail.
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert pages.pandas_module() == (pandas, None)
