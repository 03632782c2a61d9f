"""A table that was read from a result can be bound again, and the same table comes back, for every
column type.
"""

from __future__ import annotations

import datetime
import uuid
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings, strategies as st

from cassandra import cqltypes as t
from cassandra._impl import twin
from cassandra.cqltypes.parse import lookup_cqltype
from cassandra.protocol.column_specs import ColumnMetadata
from cassandra.protocol.columnar.layouts import ColumnOptions
from cassandra.protocol.columnar.pages import ArrowPage, pandas_of_arrow, polars_frame
from cassandra.query.tables.rows import rows_of
from cassandra.query.tables.types import Pairs
from cassandra.query.tables.values import array_values, series_values
from cassandra.util.temporal import Date, Duration, MillisTimestamp, Time
from tests.conftest import Twins
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
from tests.unit.cqltypes.test_parity import typed_values
from tests.unit.protocol.pages import column_plan, page_of
from tests.unit.protocol.wire import FakeColumn

pyarrow = pytest.importorskip("pyarrow")

OPTIONS = [ColumnOptions(), ColumnOptions(durations="struct")]


def table_of(
    twins: Twins, kind: Any, cells: Sequence[bytes | None], options: ColumnOptions = OPTIONS[0]
) -> Any:
    """Return the table of a page of `cells` with one column c0."""
    page = column_plan(twins, [kind], options).read(
        page_of([[cell] for cell in cells]), 0, len(cells)
    )
    return pyarrow.Table.from_batches([pyarrow.record_batch(ArrowPage(page))])


def bound(twins: Twins, kind: Any, table: Any) -> list[bytes | None]:
    """Return the encoded value of each row of `table`."""
    marker = ColumnMetadata("ks", "t", "c0", kind)
    plan = twins.bind.BindPlan([FakeColumn("c0", kind.build_codec(twins.codecs))], None)
    return [row.values()[0] for row in plan.bind_many(rows_of(table, [marker]), 4).rows()]


def check(twins: Twins, kind: Any, cells: Sequence[bytes | None]) -> None:
    """Bind the table of `cells`, and check that the bound values make the same table, also for
    slices.
    """
    for options in OPTIONS:
        table = table_of(twins, kind, cells, options)
        table.validate(full=True)
        bound_table = table_of(twins, kind, bound(twins, kind, table), options)
        assert bound_table.schema == table.schema
        assert bound_table.equals(table)
        # The arrays of a slice begin in the middle, and have several chunks.
        parts = pyarrow.concat_tables([table.slice(1, 2), table.slice(3)])
        assert table_of(twins, kind, bound(twins, kind, parts), options).equals(
            table.slice(1).combine_chunks()
        )


@pytest.mark.parametrize(
    "case", [*SCALARS, *CONTAINERS], ids=lambda case: f"{case[0].__name__}-{case[2][:16]}"
)
def test_every_type_with_nulls_and_empty_values(twins: Twins, case: tuple[Any, Any, str]) -> None:
    """A table of each type can be bound again."""
    kind, _, expected = case
    body = bytes.fromhex(expected)
    check(twins, kind, [body, None, b"", body, body, None, body])


def columns_of(depth: int) -> st.SearchStrategy[tuple[Any, st.SearchStrategy[Any]]]:
    """Return a strategy for pairs of a type and the strategy of its values.

    These are the types of the codecs' tests, and sets and maps of all of them.
    """
    inner = typed_values(depth - 1)
    return (
        typed_values(depth)
        | inner.map(lambda item: (set_of(item[0]), st.lists(item[1], max_size=4)))
        | st.tuples(inner, inner).map(
            lambda both: (map_of(both[0][0], both[1][0]), pairs(both[0][1], st.none() | both[1][1]))
        )
        | st.tuples(inner, st.sampled_from([list_of, lambda kind: vector_of(kind, 2),
        lambda kind: tuple_of(t.Int32Type, kind)])).map(
            lambda both: nested_map(*both)
        )
    )  # fmt: skip


def pairs(keys: Any, values: Any) -> st.SearchStrategy[Any]:
    return st.lists(st.tuples(keys, values), max_size=4, unique_by=lambda pair: repr(pair[0])).map(
        Pairs
    )


def nested_map(inner: tuple[Any, Any], outer: Any) -> tuple[Any, st.SearchStrategy[Any]]:
    kind, values = inner
    of_maps = pairs(values, st.none() | values)
    outer_type = outer(map_of(kind, kind))
    if issubclass(outer_type, t.TupleType):
        return outer_type, st.tuples(st.integers(0, 9), st.none() | of_maps)
    size = 2 if issubclass(outer_type, t.VectorType) else 0
    return outer_type, st.lists(of_maps, min_size=size, max_size=size or 3)


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
@pytest.mark.slow
def test_nested_types(twins: Twins, data: st.DataObject) -> None:
    """Tables of nested types can be bound again."""
    kind, values = data.draw(columns_of(2))
    codec = kind.build_codec(twin("codecs", "python"))
    items = data.draw(st.lists(st.none() | values, max_size=6))
    check(twins, kind, [None if item is None else codec.encode(item) for item in items])


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
@pytest.mark.slow
def test_frames_of_polars(twins: Twins, data: st.DataObject) -> None:
    """A polars frame of any type can be bound again."""
    polars = pytest.importorskip("polars")
    kind, values = data.draw(columns_of(2))
    codec = kind.build_codec(twin("codecs", "python"))
    items = data.draw(st.lists(st.none() | values, max_size=4))
    cells = [None if item is None else codec.encode(item) for item in items]
    page = column_plan(twins, [kind], OPTIONS[1]).read(
        page_of([[cell] for cell in cells]), 0, len(cells)
    )
    frame = polars_frame(polars, page.layout, [page])
    assert table_of(twins, kind, bound(twins, kind, frame)).equals(table_of(twins, kind, cells))


def may_be_nan(kind: Any) -> bool:
    """Return True if pandas turns nulls of `kind` into NaN, which is a CQL value."""
    return issubclass(kind, (t.FloatType, t.DoubleType)) or any(map(may_be_nan, kind.subtypes))


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
@pytest.mark.slow
def test_frames_of_pandas(twins: Twins, data: st.DataObject) -> None:
    """A pandas frame of any type, without NaN, can be bound again."""
    pytest.importorskip("pandas")
    kind, values = data.draw(columns_of(2))
    codec = kind.build_codec(twin("codecs", "python"))
    items = data.draw(st.lists(st.none() | values, max_size=4))
    cells = [None if item is None else codec.encode(item) for item in items]
    page = column_plan(twins, [kind]).read(page_of([[cell] for cell in cells]), 0, len(cells))
    assume(not may_be_nan(kind))
    frame = pandas_of_arrow(pyarrow, page.layout, [page], {})
    assert table_of(twins, kind, bound(twins, kind, frame)).equals(table_of(twins, kind, cells))


def one_by_one(kind: Any, table: Any) -> list[Any]:
    """Return the values of `table` for a bind marker of `kind`."""
    return [row[0] for row in rows_of(table, [ColumnMetadata("ks", "t", "c0", kind)])]


def arrow(values: list[Any], kind: Any) -> Any:
    return pyarrow.table({"c0": pyarrow.array(values, kind)})


def test_numbers_of_other_types(twins: Twins) -> None:
    """Numbers of other Arrow types are converted, and those that are no integers are refused."""
    # tables whose Arrow types `options` selects
    big = 10**30
    options = ColumnOptions(decimals=(38, 6), varints="int64")
    for kind, value in (
        (t.DecimalType, Decimal("-1.25")),
        (t.IntegerType, -(2**63)),
        (list_of(t.DecimalType), [Decimal(7)]),
    ):
        cells = [kind.codec().encode(value), None]
        table = table_of(twins, kind, cells, options)
        assert table_of(twins, kind, bound(twins, kind, table), options).equals(table)
    # integers from decimals and from strings
    assert one_by_one(t.IntegerType, arrow([Decimal(big), None], pyarrow.decimal128(38, 2))) == [
        big,
        None,
    ]
    assert one_by_one(t.IntegerType, arrow([str(big), "9" * 5000], pyarrow.string_view())) == [
        big,
        10**5000 - 1,
    ]
    assert one_by_one(t.Int32Type, arrow([Decimal(5)], pyarrow.decimal128(9, 1))) == [5]
    for kind, table in (
        (t.IntegerType, arrow(["x"], pyarrow.string())),
        (t.IntegerType, arrow(["1E+999999999"], pyarrow.string())),
        (t.IntegerType, arrow([Decimal("0.5")], pyarrow.decimal128(3, 1))),
        (list_of(t.Int32Type), arrow([[Decimal("0.5")]], pyarrow.list_(pyarrow.decimal128(3, 1)))),
    ):
        with pytest.raises(
            TypeError, match=r'row 0: column "c0" \((varint|list<int>), \w+\): .* is not an integer'
        ):
            bound(twins, kind, table)


def test_times_in_all_units() -> None:
    """Times of each unit are converted to the unit of the CQL type."""
    moments = [-1, 0, 10**9 + 1, None]
    for unit, expected in (
        ("s", [-1000, 0, 1_000_000_001_000]),
        ("ms", [-1, 0, 10**9 + 1]),
        ("us", [-1, 0, 10**6]),
        ("ns", [-1, 0, 1000]),
    ):
        for zone in (None, "Europe/Berlin"):
            assert one_by_one(t.TimestampType, arrow(moments, pyarrow.timestamp(unit, zone))) == [
                *expected,
                None,
            ]
    # dates as timestamps, and timestamps as dates
    days = arrow([-1, 5_000_000, None], pyarrow.date32())
    assert one_by_one(t.TimestampType, days) == [-86_400_000, 5_000_000 * 86_400_000, None]
    assert one_by_one(t.SimpleDateType, days) == [2**31 - 1, 2**31 + 5_000_000, None]
    assert one_by_one(t.SimpleDateType, arrow([-1, 86_400], pyarrow.timestamp("s"))) == [
        2**31 - 1,
        2**31 + 1,
    ]
    assert one_by_one(t.SimpleDateType, arrow([-86_400_000], pyarrow.date64())) == [2**31 - 1]
    # times of day from times and from durations
    for clock in (
        pyarrow.time32("s"),
        pyarrow.time32("ms"),
        pyarrow.time64("us"),
        pyarrow.duration("ns"),
    ):
        each = {"s": 10**9, "ms": 10**6, "us": 1000, "ns": 1}[clock.unit]
        assert one_by_one(list_of(t.TimeType), arrow([[3, None], None], pyarrow.list_(clock))) == [
            [3 * each, None],
            None,
        ]
    assert one_by_one(t.DurationType, arrow([3, None], pyarrow.duration("ms"))) == [
        Duration(0, 0, 3_000_000),
        None,
    ]


def test_structs_are_bound_to_user_types_by_field_name(twins: Twins) -> None:
    table = pyarrow.table({"c0": pyarrow.array([{"zip": 7, "street": "x"}, None])})
    assert one_by_one(ADDRESS, table) == [("x", 7), None]
    assert one_by_one(ADDRESS, pyarrow.table({"c0": pyarrow.array([{"zip": 7}])})) == [(None, 7)]
    with pytest.raises(
        ValueError, match=r"row 0: column .* has the key 'town', which is not a field of ks.address"
    ):
        bound(twins, ADDRESS, pyarrow.table({"c0": pyarrow.array([{"town": "x"}])}))
    with pytest.raises((TypeError, ValueError), match='row 0: column "c0"'):
        bound(
            twins, tuple_of(t.Int32Type), pyarrow.table({"c0": pyarrow.array([{"f0": 1, "f1": 2}])})
        )


def test_dictionaries_and_vectors_in_place(twins: Twins) -> None:
    """Dictionary-encoded values are bound, and vectors are read without a copy."""
    key = uuid.uuid4()
    table = pyarrow.table(
        {"c0": pyarrow.array([key.bytes, None], pyarrow.binary()).dictionary_encode()}
    )
    assert one_by_one(t.UUIDType, table) == [key, None]
    rows = [[float(number)] * 8 for number in range(3)]
    vectors = arrow(rows, pyarrow.list_(pyarrow.float32(), 8))
    read_vectors = one_by_one(vector_of(t.FloatType, 8), vectors.slice(1))
    assert [(type(vector), vector.tolist()) for vector in read_vectors] == [
        (memoryview, rows[1]),
        (memoryview, rows[2]),
    ]
    assert one_by_one(vector_of(t.DoubleType, 8), vectors) == rows
    with pytest.raises(ValueError, match='row 0: column "c0"'):
        bound(twins, vector_of(t.FloatType, 9), vectors)


OVERFLOWING = [
    # Numbers whose nanoseconds or milliseconds do not fit in 64 bits: after the overflow they would
    # be 0 or another number.
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
    twins: Twins, name: str, number: int, unit: str
) -> None:
    numpy, pandas = pytest.importorskip("numpy"), pytest.importorskip("pandas")
    kind = lookup_cqltype(name)
    array = numpy.array([1, number, -(1 << 63)], "int64").view(unit)
    rows = numpy.zeros(3, dtype=[("c0", unit)])
    rows["c0"] = array
    tables = [rows]
    if unit != "m8[25h]":  # NumPy has no masked arrays of such a structure
        tables.append(numpy.ma.array(rows, mask=[(False,), (False,), (True,)]))
    if unit[3:] in ("s]", "us]", "ms]"):
        series = pandas.Series(array)
        tables += [
            pandas.DataFrame({"c0": series}),
            pandas.DataFrame({"c0": series.astype(object)}),
        ]
    for table in tables:
        with pytest.raises((ValueError, TypeError), match=r'row 1: column "c0".*(out of|has nano)'):
            bound(twins, kind, table)


def test_long_units_of_numpy(twins: Twins) -> None:
    """NumPy's times of any unit are converted without overflow."""
    numpy = pytest.importorskip("numpy")
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
        kind = lookup_cqltype(name)
        rows = numpy.zeros(2, dtype=[("c0", unit)])
        rows["c0"] = numpy.array([number, -(1 << 63)], "int64").view(unit)
        assert array_values(rows["c0"], kind) == [expected, None]
        cells = bound(twins, kind, rows)
        assert cells[0] is not None
        assert (int.from_bytes(cells[0], "big", signed=name != "date"), cells[1]) == (
            expected,
            None,
        )
        masked = numpy.ma.array(rows["c0"], mask=[True, False])
        assert array_values(masked, kind) == [None, None]


def test_days_and_moments_that_datetime_cannot_hold(twins: Twins) -> None:
    numpy, pandas = pytest.importorskip("numpy"), pytest.importorskip("pandas")
    far = 5_000_000  # days: the year 15659
    array = numpy.array([far, -far, numpy.iinfo("int64").min], dtype="int64").view(
        "M8[D]"
    )  # the last value is NaT
    rows = numpy.zeros(3, dtype=[("c0", "M8[D]")])
    rows["c0"] = array
    assert one_by_one(t.SimpleDateType, rows) == [2**31 + far, 2**31 - far, None]
    assert one_by_one(t.TimestampType, rows) == [far * 86_400_000, -far * 86_400_000, None]
    for kind, value in (
        (t.SimpleDateType, Date(far)),
        (t.TimestampType, MillisTimestamp(-far * 86_400_000)),
    ):
        cells = [tuple_of(kind).codec().encode((value,)), None]
        page = column_plan(twins, [tuple_of(kind)]).read(page_of([[cell] for cell in cells]), 0, 2)
        assert (
            bound(twins, tuple_of(kind), pandas_of_arrow(pyarrow, page.layout, [page], {})) == cells
        )
    frame = pandas.DataFrame({"c0": array.astype("M8[s]")})
    assert one_by_one(t.SimpleDateType, frame) == [2**31 + far, 2**31 - far, None]
    assert one_by_one(t.TimestampType, frame) == [far * 86_400_000, -far * 86_400_000, None]


def test_columns_of_pandas(twins: Twins) -> None:
    """Objects of pandas and NumPy in data frames are converted, and others are refused."""
    numpy, pandas = pytest.importorskip("numpy"), pytest.importorskip("pandas")
    moment = pandas.Timestamp("2026-11-21T00:30", tz="Europe/Berlin")
    day = 2**31 + 20_778
    # timestamps and time deltas; NaT is null
    frame = pandas.DataFrame({"c0": [moment, pandas.NaT]})
    assert one_by_one(t.SimpleDateType, frame) == [day, None]
    assert one_by_one(t.TimestampType, frame) == [int(moment.timestamp() * 1000), None]
    clock = pandas.DataFrame({"c0": [pandas.Timedelta(5, "ns"), pandas.NaT]})
    assert one_by_one(t.TimeType, clock) == [5, None]
    assert one_by_one(t.DurationType, clock) == [Duration(0, 0, 5), None]
    # collections that pandas stores as Arrow lists, or as Python objects
    arrow_lists = pandas.DataFrame(
        {
            "c0": pandas.array(
                [[5], None], dtype=pandas.ArrowDtype(pyarrow.list_(pyarrow.time64("ns")))
            )
        }
    )
    assert one_by_one(list_of(t.TimeType), arrow_lists) == [[5], None]
    cells = pandas.DataFrame({"c0": [(moment, pandas.NaT)]})
    assert one_by_one(tuple_of(t.SimpleDateType, t.TimestampType), cells) == [(day, None)]
    assert one_by_one(tuple_of(t.TimestampType, t.SimpleDateType), cells) == [
        (int(moment.timestamp() * 1000), None)
    ]
    # NumPy arrays; that of a vector is passed on unchanged
    reals = numpy.array([1.5, float("nan")], dtype="f4")
    vectors = pandas.DataFrame({"c0": [reals, None]})
    assert one_by_one(vector_of(t.FloatType, 2), vectors)[0] is reals
    assert one_by_one(
        list_of(t.Int32Type), pandas.DataFrame({"c0": [numpy.array([2.0, 3.0])]})
    ) == [[2, 3]]
    # date offsets and dicts are durations
    offsets = pandas.DataFrame(
        {"c0": [pandas.DateOffset(months=1, nanoseconds=3), {"days": 2}, None]}, dtype=object
    )
    assert one_by_one(t.DurationType, offsets) == [Duration(1, 0, 3), Duration(0, 2, 0), None]
    for kind, value in (
        (t.DurationType, pandas.DateOffset(years=1)),
        (map_of(t.UTF8Type, t.Int32Type), [("a",)]),
        (list_of(t.TimeType), 5),
    ):
        with pytest.raises(TypeError, match='row 0: column "c0"'):
            bound(twins, kind, pandas.DataFrame({"c0": [value, None]}, dtype=object))


def test_nested_uuids_and_times_in_pandas(twins: Twins) -> None:
    """Nested values are objects of the expected classes."""
    numpy = pytest.importorskip("numpy")
    pytest.importorskip("pandas")
    key = uuid.UUID(int=7)
    inner = tuple_of(t.UUIDType, t.TimeType, t.Int32Type, t.TimestampType, list_of(t.UTF8Type))
    value = (key, Time(1), None, 0, ["a"])

    def cell(kind: Any, item: Any) -> Any:
        page = column_plan(twins, [kind]).read(page_of([[kind.codec().encode(item)], [None]]), 0, 2)
        column = pandas_of_arrow(pyarrow, page.layout, [page, page], {})["c0"].tolist()
        assert column[1] is None
        assert len(column) == 4
        return column[2]

    fields = cell(inner, value)
    assert fields.pop("f4").tolist() == ["a"]
    assert fields == {
        "f0": key,
        "f1": Time(1),
        "f2": None,
        "f3": datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc),
    }
    # lists, sets and vectors are arrays of objects
    for container_of in (list_of, set_of, lambda kind: vector_of(kind, 1)):
        array = cell(container_of(t.UUIDType), [key])
        assert isinstance(array, numpy.ndarray)
        assert array.tolist() == [key]
    assert cell(list_of(list_of(t.TimeType)), [[Time(5), None]])[0].tolist() == [Time(5), None]
    assert cell(map_of(t.UUIDType, t.TimeType), {key: Time(1)}) == [(key, Time(1))]


def test_nan_in_a_column_of_objects_is_a_number_for_float_types() -> None:
    pandas = pytest.importorskip("pandas")
    numpy = pytest.importorskip("numpy")
    missing = [None, pandas.NA, pandas.NaT, Decimal("nan")]
    nans = [float("nan"), numpy.float64("nan"), numpy.float32("nan")]
    series = pandas.Series([*nans, *missing], dtype=object)
    for kind in (t.DoubleType, t.FloatType):
        values = series_values(series, kind)
        assert all(value != value for value in values[:3])
        assert values[3:] == [None] * 4
    assert series_values(series, t.UTF8Type) == [None] * 7
