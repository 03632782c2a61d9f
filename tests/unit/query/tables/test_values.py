"""Test that a table which was read from a result can be bound again.

For every column type, reading the bound values must give the same table.
"""

from __future__ import annotations

import datetime
import math
import uuid
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings, strategies as st

from cassandra import cqltypes as t
from cassandra._impl import twin
from cassandra.cqltypes.parse import lookup_cqltype
from cassandra.cqltypes.udt import UserType
from cassandra.protocol.column_specs import ColumnMetadata
from cassandra.protocol.columnar.pages import pandas_of_arrow, polars_frame
from cassandra.query.tables.rows import rows_of
from cassandra.query.tables.types import Pairs
from cassandra.query.tables.values import array_values, arrow_values, series_values
from cassandra.util.temporal import Date, Duration, MillisTimestamp, Time
from tests.conftest import Implementation
from tests.unit.cqltypes.samples import (
    CONTAINERS,
    SCALARS,
    list_of,
    map_of,
    set_of,
    tuple_of,
    vector_of,
)
from tests.unit.cqltypes.test_parity import typed_values
from tests.unit.protocol.pages import column_plan, page_of
from tests.unit.query.tables.binding import OPTIONS, bound, one_by_one, table_of

pyarrow = pytest.importorskip("pyarrow")


def check_bound_again(
    implementation: Implementation, cqltype: Any, cells: Sequence[bytes | None]
) -> None:
    """Check that a table of `cells`, and slices of it, are bound to the same encoded values."""
    # The options choose the Arrow types of the table's columns.
    for options in OPTIONS:
        table = table_of(implementation, cqltype, cells, options)
        table.validate(full=True)
        bound_cells = bound(implementation, cqltype, table)
        bound_table = table_of(implementation, cqltype, bound_cells, options)
        assert bound_table.schema == table.schema
        assert bound_table.equals(table)
        # The arrays of a slice begin within their memory, and the joined table has several chunks.
        sliced_table = pyarrow.concat_tables([table.slice(1, 2), table.slice(3)])
        bound_cells = bound(implementation, cqltype, sliced_table)
        bound_table = table_of(implementation, cqltype, bound_cells, options)
        assert bound_table.equals(table.slice(1).combine_chunks())


def test_arrays_of_moments_are_bound_to_vectors() -> None:
    """Arrays of dates and times can be bound to vectors and lists.

    `to_numpy` returns a column of vectors of dates or times as one two-dimensional array.
    """
    numpy = pytest.importorskip("numpy")
    days = numpy.array([["1600-01-01", "1970-01-02"], ["NaT", "NaT"]], "M8[D]")
    mask = [[False, False], [True, True]]
    vector = vector_of(t.SimpleDateType, 2)
    # CQL stores a date as the number of days since 1970, plus 2**31.
    numbers = [-135_140 + 2**31, 1 + 2**31]
    assert array_values(numpy.ma.masked_array(days, mask), vector) == [numbers, None]
    assert array_values(days[:1], list_of(t.SimpleDateType)) == [numbers]
    # An unmasked NaT is a null within a vector, which is refused later, when the vector is bound.
    assert array_values(days, vector) == [numbers, [None, None]]
    times = numpy.array([[1, 86_399_999_999_999]], "m8[ns]")
    assert array_values(times, vector_of(t.TimeType, 2)) == [[1, 86_399_999_999_999]]
    moments = numpy.array([[-1, 1]], "M8[ms]")
    assert array_values(moments, vector_of(t.TimestampType, 2)) == [[-1, 1]]


@pytest.mark.parametrize(
    "case", [*SCALARS, *CONTAINERS], ids=lambda case: f"{case[0].__name__}-{case[2][:16]}"
)
def test_every_type_with_nulls_and_empty_values(
    implementation: Implementation, case: tuple[Any, Any, str]
) -> None:
    """A table of each CQL type, with nulls and empty values, can be bound again."""
    cqltype, _, expected = case
    body = bytes.fromhex(expected)
    check_bound_again(implementation, cqltype, [body, None, b"", body, body, None, body])


def types_and_values(depth: int) -> st.SearchStrategy[tuple[Any, st.SearchStrategy[Any]]]:
    """Return a strategy for pairs of a CQL type and the strategy of its values.

    The types are those of `typed_values`, and sets, maps and containers of maps of these types.
    """
    inner = typed_values(depth - 1)
    return (
        typed_values(depth)
        | inner.map(lambda item: (set_of(item[0]), st.lists(item[1], max_size=4)))
        | st.tuples(inner, inner).map(
            lambda pair: (map_of(pair[0][0], pair[1][0]), pairs(pair[0][1], st.none() | pair[1][1]))
        )
        | st.tuples(inner, st.sampled_from([list_of, lambda cqltype: vector_of(cqltype, 2),
        lambda cqltype: tuple_of(t.Int32Type, cqltype)])).map(
            lambda pair: nested_map(*pair)
        )
    )  # fmt: skip


def pairs(keys: Any, values: Any) -> st.SearchStrategy[Any]:
    """Return a strategy for maps in the form of lists of pairs, without repeated keys."""
    return st.lists(st.tuples(keys, values), max_size=4, unique_by=lambda pair: repr(pair[0])).map(
        Pairs
    )


def nested_map(
    type_and_values: tuple[Any, Any], container_of: Any
) -> tuple[Any, st.SearchStrategy[Any]]:
    """Return the type of a container of maps, and the strategy of the container's values.

    :param type_and_values: the type of the maps' keys and values, and the strategy of their values.
    :param container_of: returns the container's type for the type of its items.
    """
    cqltype, cqltype_values = type_and_values
    map_values = pairs(cqltype_values, st.none() | cqltype_values)
    container_type = container_of(map_of(cqltype, cqltype))
    if issubclass(container_type, t.TupleType):
        return container_type, st.tuples(st.integers(0, 9), st.none() | map_values)
    vector_size = 2 if issubclass(container_type, t.VectorType) else 0
    return container_type, st.lists(map_values, min_size=vector_size, max_size=vector_size or 3)


@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
@pytest.mark.slow
def test_nested_types(implementation: Implementation, data: st.DataObject) -> None:
    """A table of nested types that was read from a result can be bound again."""
    cqltype, values = data.draw(types_and_values(2))
    codec = cqltype.build_codec(twin("codecs", "python"))
    items = data.draw(st.lists(st.none() | values, max_size=6))
    check_bound_again(
        implementation, cqltype, [None if item is None else codec.encode(item) for item in items]
    )


@settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
@pytest.mark.slow
def test_frames_of_polars(implementation: Implementation, data: st.DataObject) -> None:
    """A polars frame with a column of any CQL type can be bound again."""
    polars = pytest.importorskip("polars")
    cqltype, values = data.draw(types_and_values(2))
    encoder = cqltype.build_codec(twin("codecs", "python"))
    items = data.draw(st.lists(st.none() | values, max_size=4))
    cells = [None if item is None else encoder.encode(item) for item in items]
    page = column_plan(implementation, [cqltype], OPTIONS[1]).read(
        page_of([[cell] for cell in cells]), 0, len(cells)
    )
    frame = polars_frame(polars, page.layout, [page])
    assert table_of(implementation, cqltype, bound(implementation, cqltype, frame)).equals(
        table_of(implementation, cqltype, cells)
    )


def may_be_nan(cqltype: Any) -> bool:
    """Return True if a column of `cqltype` may become a pandas column of floats.

    In such a column, a null cannot be distinguished from a CQL NaN.
    """
    return issubclass(cqltype, (t.FloatType, t.DoubleType)) or any(
        map(may_be_nan, cqltype.subtypes)
    )


@settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
@pytest.mark.slow
def test_frames_of_pandas(implementation: Implementation, data: st.DataObject) -> None:
    """A pandas frame with a column of any CQL type, without NaN, can be bound again."""
    pytest.importorskip("pandas")
    cqltype, values = data.draw(types_and_values(2))
    encoder = cqltype.build_codec(twin("codecs", "python"))
    items = data.draw(st.lists(st.none() | values, max_size=4))
    cells = [None if item is None else encoder.encode(item) for item in items]
    page = column_plan(implementation, [cqltype]).read(
        page_of([[cell] for cell in cells]), 0, len(cells)
    )
    assume(not may_be_nan(cqltype))
    frame = pandas_of_arrow(pyarrow, page.layout, [page], {})
    assert table_of(implementation, cqltype, bound(implementation, cqltype, frame)).equals(
        table_of(implementation, cqltype, cells)
    )


OVERFLOWING = [
    # In nanoseconds (duration, time), milliseconds (timestamp) or days (date), these numbers do not
    # fit the CQL type. If the overflow went unnoticed, another number would be stored.
    ("duration", 10**11, "m8[s]"),
    ("duration", 2**55, "m8[s]"),
    ("duration", 200_000, "m8[D]"),
    ("duration", -(2**62), "m8[us]"),
    ("duration", 2**62, "m8[25h]"),
    ("time", 2**55, "m8[s]"),
    ("time", 2**58, "m8[ms]"),
    ("timestamp", 2**62, "M8[s]"),
    ("timestamp", -(2**61), "M8[s]"),
    ("timestamp", 2**60, "M8[D]"),
    ("timestamp", 292_278_994, "M8[Y]"),
    ("timestamp", -(2**62), "M8[M]"),
    ("date", 2**62, "M8[Y]"),
    ("date", 2**62, "M8[W]"),
]


@pytest.mark.parametrize(("name", "number", "unit"), OVERFLOWING)
def test_times_that_overflow_in_numpy_are_refused(
    implementation: Implementation, name: str, number: int, unit: str
) -> None:
    """A NumPy time that does not fit the CQL type is refused, and the error names row 1."""
    numpy, pandas = pytest.importorskip("numpy"), pytest.importorskip("pandas")
    cqltype = lookup_cqltype(name)
    # The smallest 64-bit number is NumPy's NaT ("not a time"), which is bound as null.
    array = numpy.array([1, number, -(1 << 63)], "int64").view(unit)
    rows = numpy.zeros(3, dtype=[("c0", unit)])
    rows["c0"] = array
    tables = [rows]
    # NumPy cannot mask an array of records with this unit.
    if unit != "m8[25h]":
        tables.append(numpy.ma.array(rows, mask=[(False,), (False,), (True,)]))
    # pandas has columns only for the units seconds, milliseconds and microseconds.
    if unit[3:] in ("s]", "us]", "ms]"):
        series = pandas.Series(array)
        tables += [
            pandas.DataFrame({"c0": series}),
            pandas.DataFrame({"c0": series.astype(object)}),
        ]
    for table in tables:
        with pytest.raises((ValueError, TypeError), match=r'row 1: column "c0".*(out of|has nano)'):
            bound(implementation, cqltype, table)


def test_moments_near_the_smallest_number_do_not_overflow() -> None:
    """The smallest nanoseconds and picoseconds of NumPy become the correct day.

    NumPy itself rounds such a moment to a day in the year 2262, and refuses picoseconds.
    """
    np, pandas = pytest.importorskip("numpy"), pytest.importorskip("pandas")
    least = np.datetime64(-(2**63) + 1, "ns")
    day = -106_752 + 2**31  # 1677-09-21, as CQL stores a date
    masked = np.ma.array([least, least], mask=[False, True])
    for array, expected in (
        (np.array([least, "NaT", 0], "M8[ns]"), [day, None, 2**31]),
        (masked, [day, None]),
        # 2**63 picoseconds are 106.75 days, so this moment belongs to the 107th day before 1970.
        (np.array([-(2**63) + 1, 5 * 86_400 * 10**12], "M8[ps]"), [-107 + 2**31, 5 + 2**31]),
    ):
        assert array_values(array, t.SimpleDateType) == expected
    # As a timestamp, the moment is rounded down to milliseconds.
    assert array_values(np.array([least]), t.DateType) == [-9_223_372_036_855]
    frame = pandas.Series([pandas.Timestamp.min], dtype=object)
    assert series_values(frame, t.SimpleDateType) == [day]


def test_numpy_times_of_all_units_are_converted(implementation: Implementation) -> None:
    """NumPy's times of any unit are converted to the unit of the CQL type."""
    numpy = pytest.importorskip("numpy")
    # The expected numbers are milliseconds for timestamps, nanoseconds for times, and days for
    # dates (2**31 is 1970-01-01).
    for name, number, unit, expected in (
        ("timestamp", 5, "M8[s]", 5000),
        ("timestamp", -5, "M8[25m]", -5 * 25 * 60_000),
        ("timestamp", 30, "M8[Y]", 946_684_800_000),
        ("timestamp", (2**63 - 1) // 1000, "M8[s]", (2**63 - 1) // 1000 * 1000),
        ("timestamp", -7, "M8[us]", -1),
        ("time", 5, "m8[h]", 5 * 3600 * 10**9),
        ("date", 30, "M8[Y]", 10_957 + 2**31),
        ("date", 1, "M8[W]", 7 + 2**31),
    ):
        cqltype = lookup_cqltype(name)
        rows = numpy.zeros(2, dtype=[("c0", unit)])
        # The smallest 64-bit number is NumPy's NaT ("not a time"), which is bound as null.
        rows["c0"] = numpy.array([number, -(1 << 63)], "int64").view(unit)
        assert array_values(rows["c0"], cqltype) == [expected, None]
        cells = bound(implementation, cqltype, rows)
        encoded, null = cells
        assert encoded is not None
        # CQL stores a date as an unsigned number.
        assert int.from_bytes(encoded, "big", signed=name != "date") == expected
        assert null is None
        masked = numpy.ma.array(rows["c0"], mask=[True, False])
        assert array_values(masked, cqltype) == [None, None]


def test_days_and_times_that_datetime_cannot_hold(implementation: Implementation) -> None:
    """Days and timestamps before the year 1 or after the year 9999 can be bound.

    Python's datetime cannot hold them.
    """
    numpy, pandas = pytest.importorskip("numpy"), pytest.importorskip("pandas")
    # This is a day in the year 15659.
    far_days = 5_000_000
    day_ms = 86_400_000
    # The smallest 64-bit number is NumPy's NaT ("not a time"), which is bound as null.
    array = numpy.array([far_days, -far_days, numpy.iinfo("int64").min], dtype="int64").view(
        "M8[D]"
    )
    rows = numpy.zeros(3, dtype=[("c0", "M8[D]")])
    rows["c0"] = array
    assert one_by_one(t.SimpleDateType, rows) == [2**31 + far_days, 2**31 - far_days, None]
    assert one_by_one(t.TimestampType, rows) == [far_days * day_ms, -far_days * day_ms, None]
    for cqltype, value in (
        (t.SimpleDateType, Date(far_days)),
        (t.TimestampType, MillisTimestamp(-far_days * day_ms)),
    ):
        cells = [tuple_of(cqltype).codec().encode((value,)), None]
        page = column_plan(implementation, [tuple_of(cqltype)]).read(
            page_of([[cell] for cell in cells]), 0, 2
        )
        tuples = pandas_of_arrow(pyarrow, page.layout, [page], {})
        assert bound(implementation, tuple_of(cqltype), tuples) == cells
    frame = pandas.DataFrame({"c0": array.astype("M8[s]")})
    assert one_by_one(t.SimpleDateType, frame) == [2**31 + far_days, 2**31 - far_days, None]
    assert one_by_one(t.TimestampType, frame) == [far_days * day_ms, -far_days * day_ms, None]


def test_timestamps_and_time_deltas_of_pandas_are_converted() -> None:
    """Timestamps and time deltas of pandas are converted, also in tuples, and NaT is null."""
    pandas = pytest.importorskip("pandas")
    timestamp = pandas.Timestamp("2026-11-21T00:30", tz="Europe/Berlin")
    # CQL stores a date as a number of days, where 2**31 is 1970-01-01.
    day_of_timestamp = 2**31 + 20_778
    milliseconds = int(timestamp.timestamp() * 1000)
    frame = pandas.DataFrame({"c0": [timestamp, pandas.NaT]})
    assert one_by_one(t.SimpleDateType, frame) == [day_of_timestamp, None]
    assert one_by_one(t.TimestampType, frame) == [milliseconds, None]
    time_deltas = pandas.DataFrame({"c0": [pandas.Timedelta(5, "ns"), pandas.NaT]})
    assert one_by_one(t.TimeType, time_deltas) == [5, None]
    assert one_by_one(t.DurationType, time_deltas) == [Duration(0, 0, 5), None]
    tuples = pandas.DataFrame({"c0": [(timestamp, pandas.NaT)]})
    date_and_time = tuple_of(t.SimpleDateType, t.TimestampType)
    assert one_by_one(date_and_time, tuples) == [(day_of_timestamp, None)]
    time_and_date = tuple_of(t.TimestampType, t.SimpleDateType)
    assert one_by_one(time_and_date, tuples) == [(milliseconds, None)]


def test_arrow_lists_in_frames_of_pandas_are_converted() -> None:
    """A pandas column of Arrow lists is converted like a column of Python lists."""
    pandas = pytest.importorskip("pandas")
    list_dtype = pandas.ArrowDtype(pyarrow.list_(pyarrow.time64("ns")))
    frame = pandas.DataFrame({"c0": pandas.array([[5], None], dtype=list_dtype)})
    assert one_by_one(list_of(t.TimeType), frame) == [[5], None]


def test_the_array_of_a_vector_is_passed_on_and_that_of_a_list_is_converted() -> None:
    """The NumPy array of a vector is bound as it is, and the array of a list becomes a list."""
    numpy, pandas = pytest.importorskip("numpy"), pytest.importorskip("pandas")
    reals = numpy.array([1.5, float("nan")], dtype="f4")
    vectors = pandas.DataFrame({"c0": [reals, None]})
    assert one_by_one(vector_of(t.FloatType, 2), vectors)[0] is reals
    lists = pandas.DataFrame({"c0": [numpy.array([2.0, 3.0])]})
    assert one_by_one(list_of(t.Int32Type), lists) == [[2, 3]]


def test_date_offsets_of_pandas_and_dicts_are_durations() -> None:
    """For a duration column, pandas' DateOffset objects and dicts become durations."""
    pandas = pytest.importorskip("pandas")
    offsets = [
        pandas.DateOffset(months=1, nanoseconds=3),
        {"days": 2},
        # Some releases of pyarrow convert CQL's durations to offsets with microseconds.
        pandas.DateOffset(months=1, days=2, microseconds=3, nanoseconds=500),
        None,
    ]
    frame = pandas.DataFrame({"c0": offsets}, dtype=object)
    assert one_by_one(t.DurationType, frame) == [
        Duration(1, 0, 3), Duration(0, 2, 0), Duration(1, 2, 3500), None,
    ]  # fmt: skip


def test_objects_of_pandas_that_do_not_fit_are_refused(implementation: Implementation) -> None:
    """Objects that do not fit the CQL type raise a TypeError that names the row and the column."""
    pandas = pytest.importorskip("pandas")
    for cqltype, value in (
        # The years of an offset are refused, because only months, days and nanoseconds are used.
        (t.DurationType, pandas.DateOffset(years=1)),
        (map_of(t.UTF8Type, t.Int32Type), [("a",)]),
        (list_of(t.TimeType), 5),
    ):
        with pytest.raises(TypeError, match='row 0: column "c0"'):
            bound(implementation, cqltype, pandas.DataFrame({"c0": [value, None]}, dtype=object))


@pytest.mark.parametrize(
    ("dtype", "type_name"),
    [
        (dtype, type_name)
        for dtype in ("M8[ns]", "M8[us]", "M8[s]", "m8[ns]", "m8[ms]", "m8[M]")
        for type_name in (
            *("bigint", "varint", "double", "decimal", "boolean"),
            *(("time",) if dtype[0] == "M" else ("date", "timestamp")),
        )
    ],
)
def test_moments_are_refused_by_columns_of_other_types(
    implementation: Implementation, dtype: str, type_name: str
) -> None:
    """Dates and times raise TypeError for a column of another type, such as bigint.

    NumPy converts nanoseconds to plain Python integers, which would be stored as if they were in
    the column's unit.
    """
    numpy = pytest.importorskip("numpy")
    pandas = pytest.importorskip("pandas")
    cqltype = lookup_cqltype(type_name)
    array = numpy.array(["NaT", 5], dtype)
    records = numpy.zeros(2, [("c0", dtype)])
    records["c0"] = array
    sources = [records, numpy.ma.masked_array(records, [(True,), (False,)])]
    if dtype != "m8[M]":  # pandas has no time deltas in months
        sources += [pandas.DataFrame({"c0": array}), pandas.DataFrame({"c0": [[array], None]})]
    # In these sources, row 0 is NaT or masked, which is bound as null. Row 1 is refused.
    for source in sources[:3]:
        with pytest.raises(TypeError, match=r'row 1: column "c0".*64'):
            bound(implementation, cqltype, source)
        assert bound(implementation, cqltype, source[:1]) == [None]
    # The values of a collection may also be in an array.
    for source in sources[3:]:
        with pytest.raises((TypeError, ValueError), match=r'row 0: column "c0".*64'):
            bound(implementation, list_of(list_of(cqltype)), source)


def test_runs_of_narrow_floats_hold_fewer_integers() -> None:
    """A float of 32 bits in a run may have lost digits, so it does not become an integer."""
    if not hasattr(pyarrow, "RunEndEncodedArray"):
        pytest.skip(f"pyarrow {pyarrow.__version__} has no runs")
    floats = pyarrow.array([2.0**24, 3.0], pyarrow.float32())
    runs = pyarrow.RunEndEncodedArray.from_arrays([1, 2], floats)
    (large, small) = arrow_values(runs, t.Int32Type)
    assert (type(large).__name__, small) == ("Float32", 3)


def test_records_of_structured_arrays_are_user_types_by_field_name(
    implementation: Implementation,
) -> None:
    """The records in a column of an array have the fields of a user-defined type in any order."""
    numpy = pytest.importorskip("numpy")
    udt = UserType.make_udt_class("ks", "u", ["a", "at"], [t.Int32Type, t.TimestampType])
    array = numpy.zeros(1, [("c0", [("at", "M8[ns]"), ("a", "i4")])])
    array["c0"]["at"], array["c0"]["a"] = 5_000_000, 7
    assert bound(implementation, udt, array) == bound(implementation, udt, [({"a": 7, "at": 5},)])
    tuple_type = tuple_of(t.TimestampType, t.Int32Type)
    assert bound(implementation, tuple_type, array) == bound(
        implementation, tuple_type, [((5, 7),)]
    )
    # Fields with other names go by position.
    renamed = numpy.zeros(1, [("c0", [("f0", "i4"), ("f1", "M8[ms]")])])
    renamed["c0"]["f0"], renamed["c0"]["f1"] = 7, 5
    assert bound(implementation, udt, renamed) == bound(implementation, udt, array)
    # A tuple of fewer fields refuses the records, and a type refuses a field that it lacks.
    with pytest.raises(ValueError, match='row 0: column "c0"'):
        bound(implementation, tuple_of(t.Int32Type), array)
    other_type = UserType.make_udt_class("ks", "u", ["a", "b"], [t.Int32Type, t.Int32Type])
    with pytest.raises(ValueError, match=r"row 0: .*'at', which is not a field"):
        bound(implementation, other_type, array)


def test_nested_uuids_and_times_in_pandas(implementation: Implementation) -> None:
    """UUIDs and times within tuples and collections become objects of the driver's classes."""
    numpy = pytest.importorskip("numpy")
    pytest.importorskip("pandas")
    key = uuid.UUID(int=7)
    tuple_type = tuple_of(t.UUIDType, t.TimeType, t.Int32Type, t.TimestampType, list_of(t.UTF8Type))
    value = (key, Time(1), None, 0, ["a"])

    def read_by_pandas(cqltype: Any, item: Any) -> Any:
        """Encode the value, read it into a pandas frame, and return the frame's object for it."""
        page = column_plan(implementation, [cqltype]).read(
            page_of([[cqltype.codec().encode(item)], [None]]), 0, 2
        )
        # Put the same page twice into the frame, which then has four rows.
        column = pandas_of_arrow(pyarrow, page.layout, [page, page], {})["c0"].tolist()
        assert column[1] is None
        assert len(column) == 4
        return column[2]

    fields = read_by_pandas(tuple_type, value)
    assert fields.pop("f4").tolist() == ["a"]
    assert fields == {
        "f0": key,
        "f1": Time(1),
        "f2": None,
        "f3": datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc),
    }
    # In pandas frames, lists, sets and vectors are arrays of objects.
    for container_of in (list_of, set_of, lambda cqltype: vector_of(cqltype, 1)):
        array = read_by_pandas(container_of(t.UUIDType), [key])
        assert isinstance(array, numpy.ndarray)
        assert array.tolist() == [key]
    (inner_list,) = read_by_pandas(list_of(list_of(t.TimeType)), [[Time(5), None]])
    assert inner_list.tolist() == [Time(5), None]
    assert read_by_pandas(map_of(t.UUIDType, t.TimeType), {key: Time(1)}) == [(key, Time(1))]


def test_nan_in_a_column_of_objects_is_a_number_for_float_types() -> None:
    """In a pandas column of objects, NaN is bound as a number by the types float and double.

    None, NA, NaT and a decimal NaN are bound as null.
    """
    pandas = pytest.importorskip("pandas")
    numpy = pytest.importorskip("numpy")
    missing = [None, pandas.NA, pandas.NaT, Decimal("nan")]
    nans = [float("nan"), numpy.float64("nan"), numpy.float32("nan")]
    series = pandas.Series([*nans, *missing], dtype=object)
    for cqltype in (t.DoubleType, t.FloatType):
        values = series_values(series, cqltype)
        assert all(math.isnan(value) for value in values[:3])
        assert values[3:] == [None] * 4
    # For all other CQL types, a float NaN is bound as null, too.
    assert series_values(series, t.UTF8Type) == [None] * 7


@pytest.mark.parametrize("type_name", ["int", "bigint", "varint", "counter"])
def test_floats_that_may_have_lost_digits_are_not_bound_as_integers(type_name: str) -> None:
    """Floats that may have lost digits must not be bound as integers.

    If some integers of a column are missing, pandas converts all others to floats. 2**53 + 1 then
    becomes 2**53. So a float of 2**53 or more may have been another integer.
    """
    numpy = pytest.importorskip("numpy")
    cqltype = lookup_cqltype(type_name)
    exact = float(2**53 - 1)
    array = numpy.array([exact, -exact, math.nan, 2.0**53, -(2.0**53), 1e300, math.inf, 1.5])
    # The first three floats become integers and null. The others stay floats, which the codec
    # refuses.
    values = array_values(array, cqltype)
    assert values[:3] == [2**53 - 1, 1 - 2**53, None]
    assert [type(value) for value in values[3:]] == [float] * 5
    with pytest.raises(
        TypeError, match=r"from 2\*\*53 on may have lost digits: read the column as"
    ):
        cqltype.codec().encode(values[3])
    with pytest.raises(TypeError, match=r"1\.5 \(float\) is not an integer$"):
        cqltype.codec().encode(1.5)


@pytest.mark.parametrize(("width", "precision"), [(32, 24), (16, 11)])
def test_narrow_floats_hold_fewer_integers(width: int, precision: int) -> None:
    """The limit for integers must be lower in columns of narrow floats.

    A 32-bit float has 24 bits of precision: 16777217 (2**24 + 1) becomes 16777216.
    """
    numpy, pandas = pytest.importorskip("numpy"), pytest.importorskip("pandas")
    cqltype = lookup_cqltype("bigint")
    limit = 1 << precision
    numbers = [limit - 1, 1 - limit, math.nan, limit + 1, -limit, math.inf, 1.5]
    array = numpy.array(numbers, dtype=f"f{width // 8}")
    series = pandas.Series(array)
    columns = [
        array_values(array, cqltype),
        series_values(series, cqltype),
        arrow_values(pyarrow.array(array), cqltype),
        arrow_values(pyarrow.chunked_array([array]), cqltype),
    ]
    if width == 32:
        columns += [
            series_values(series.astype("category"), cqltype),
            series_values(series.astype("Float32"), cqltype),
            series_values(series.astype("Sparse[float32]"), cqltype),
            arrow_values(pyarrow.array(array).dictionary_encode(), cqltype),
        ]
    for values in columns:
        assert values[:3] == [limit - 1, 1 - limit, None]
        for value in values[3:]:
            with pytest.raises(TypeError, match=r" is not an integer"):
                cqltype.codec().encode(value)
    for value in columns[0][3:6]:
        message = rf"floats of {width} bits from 2\*\*{precision} on may have lost digits: read"
        with pytest.raises(TypeError, match=message):
            cqltype.codec().encode(value)
    # Only integers are affected: a column of doubles accepts the float.
    assert array_values(array, lookup_cqltype("double"))[3] == float(array[3])
    fraction = array_values(array, lookup_cqltype("decimal"))[6]
    assert type(fraction) is float


@pytest.mark.parametrize("name", ["int", "double", "decimal", "varint", "boolean", "timestamp"])
@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ([math.nan, 1.0, 2.0, 2.5], "float64"),
        ([math.nan, 1.0, 2.0**25], "float32"),
        ([0, 0, 5], "int64"),
        ([True, False], "bool"),
    ],
)
def test_sparse_columns_are_like_dense_ones(name: str, values: list[Any], dtype: str) -> None:
    """A sparse column of pandas has the same values, of the same classes, as a dense column.

    For example, floats such as 2.0 become integers for a column of integers.
    """
    pandas = pytest.importorskip("pandas")
    dense = pandas.Series(values, dtype=dtype)
    cqltype = lookup_cqltype(name)
    expected, found = (
        series_values(series, cqltype) for series in (dense, dense.astype(f"Sparse[{dtype}]"))
    )
    assert repr(found) == repr(expected)
    assert [*map(type, found)] == [*map(type, expected)]


def test_a_map_that_has_a_key_twice_is_refused() -> None:
    """A map that has a key twice must be refused.

    A dict would keep only the last value of the key, and lose the other values.
    """
    pandas = pytest.importorskip("pandas")
    pairs = [("a", 1), ("b", 2), ("a", 3)]
    arrow_type = pyarrow.map_(pyarrow.string(), pyarrow.int32())
    columns: Any = [ColumnMetadata("ks", "t", "m", map_of(t.UTF8Type, t.Int32Type))]
    for table in (
        pyarrow.table({"m": pyarrow.array([pairs], arrow_type)}),
        pandas.DataFrame({"m": [pairs]}),
    ):
        with pytest.raises(ValueError, match=r"^column .m. .*: a map has the key 'a' twice$"):
            list(rows_of(table, columns))


def test_a_record_that_is_masked_with_all_its_fields_is_null() -> None:
    """A masked field is null, and so is the whole record if each field is masked."""
    numpy = pytest.importorskip("numpy")
    records = numpy.ma.array(
        [(1, 2), (3, 4), (5, 6)],
        dtype=[("f0", "i4"), ("f1", "i4")],
        mask=[(False, False), (True, True), (False, True)],
    )
    pair = t.TupleType.apply_parameters([t.Int32Type, t.Int32Type])
    assert array_values(records, pair) == [(1, 2), None, (5, None)]
