"""Test `arrow_values`, which converts Arrow arrays of any nesting into values to bind."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pytest

from cassandra import cqltypes as t
from cassandra.protocol.columnar.layouts import ColumnOptions
from cassandra.query.tables.arrow_values import arrow_values
from cassandra.query.tables.types import Pairs
from cassandra.query.tables.values import array_values, object_values
from cassandra.util import Point
from cassandra.util.temporal import Duration
from tests.conftest import Implementation
from tests.unit.cqltypes.samples import ADDRESS, list_of, map_of, set_of, tuple_of, vector_of
from tests.unit.query.tables.binding import arrow, bound, one_by_one, table_of, type_or_skip

pyarrow = pytest.importorskip("pyarrow")


def test_numbers_of_other_types(implementation: Implementation) -> None:
    """Numbers of other Arrow types are converted, but an integer column refuses fractions."""
    big = 10**30
    # With these options, CQL's decimals and varints become columns of a fixed width.
    options = ColumnOptions(decimals=(38, 6), varints="int64")
    for cqltype, value in (
        (t.DecimalType, Decimal("-1.25")),
        (t.IntegerType, -(2**63)),
        (list_of(t.DecimalType), [Decimal(7)]),
    ):
        cells = [cqltype.codec().encode(value), None]
        table = table_of(implementation, cqltype, cells, options)
        bound_cells = bound(implementation, cqltype, table)
        assert table_of(implementation, cqltype, bound_cells, options).equals(table)
    # A varint or int column also takes decimals and strings that hold an integer.
    decimals = arrow([Decimal(big), None], pyarrow.decimal128(38, 2))
    assert one_by_one(t.IntegerType, decimals) == [big, None]
    strings = arrow([str(big), "9" * 5000], pyarrow.large_string())
    assert one_by_one(t.IntegerType, strings) == [big, 10**5000 - 1]
    assert one_by_one(t.Int32Type, arrow([Decimal(5)], pyarrow.decimal128(9, 1))) == [5]
    for cqltype, table in (
        (t.IntegerType, arrow(["x"], pyarrow.string())),
        (t.IntegerType, arrow(["1E+999999999"], pyarrow.string())),
        (t.IntegerType, arrow([Decimal("0.5")], pyarrow.decimal128(3, 1))),
        (list_of(t.Int32Type), arrow([[Decimal("0.5")]], pyarrow.list_(pyarrow.decimal128(3, 1)))),
    ):
        with pytest.raises(
            TypeError, match=r'row 0: column "c0" \((varint|list<int>), \w+\): .* is not an integer'
        ):
            bound(implementation, cqltype, table)


def test_times_in_all_units() -> None:
    """Arrow times of each unit are converted to the unit in which the CQL type stores times."""
    times = [-1, 0, 10**9 + 1, None]
    # The expected values are milliseconds, the unit of a CQL timestamp. Moments between two
    # milliseconds are rounded down.
    for unit, expected in (
        ("s", [-1000, 0, 1_000_000_001_000]),
        ("ms", [-1, 0, 10**9 + 1]),
        ("us", [-1, 0, 10**6]),
        ("ns", [-1, 0, 1000]),
    ):
        for time_zone in (None, "Europe/Berlin"):
            table = arrow(times, pyarrow.timestamp(unit, time_zone))
            assert one_by_one(t.TimestampType, table) == [*expected, None]
    # Dates can be bound as timestamps, and timestamps as dates. CQL stores a date as the number of
    # days, where 2**31 is 1970-01-01.
    days = arrow([-1, 5_000_000, None], pyarrow.date32())
    assert one_by_one(t.TimestampType, days) == [-86_400_000, 5_000_000 * 86_400_000, None]
    assert one_by_one(t.SimpleDateType, days) == [2**31 - 1, 2**31 + 5_000_000, None]
    seconds = arrow([-1, 86_400], pyarrow.timestamp("s"))
    assert one_by_one(t.SimpleDateType, seconds) == [2**31 - 1, 2**31 + 1]
    assert one_by_one(t.SimpleDateType, arrow([-86_400_000], pyarrow.date64())) == [2**31 - 1]
    # A time column takes Arrow times and durations. CQL stores a time as nanoseconds.
    for time_type in (
        pyarrow.time32("s"),
        pyarrow.time32("ms"),
        pyarrow.time64("us"),
        pyarrow.duration("ns"),
    ):
        unit_nanoseconds = {"s": 10**9, "ms": 10**6, "us": 1000, "ns": 1}[time_type.unit]
        lists = arrow([[3, None], None], pyarrow.list_(time_type))
        assert one_by_one(list_of(t.TimeType), lists) == [[3 * unit_nanoseconds, None], None]
    durations = arrow([3, None], pyarrow.duration("ms"))
    assert one_by_one(t.DurationType, durations) == [
        Duration(months=0, days=0, nanoseconds=3_000_000),
        None,
    ]


def test_structs_are_bound_to_user_types_by_field_name(implementation: Implementation) -> None:
    """A struct's fields go to the fields of the user type with their names, in any order.

    A missing field is null, and an unknown field is refused.
    """
    table = pyarrow.table({"c0": pyarrow.array([{"zip": 7, "street": "x"}, None])})
    assert one_by_one(ADDRESS, table) == [("x", 7), None]
    assert one_by_one(ADDRESS, pyarrow.table({"c0": pyarrow.array([{"zip": 7}])})) == [(None, 7)]
    with pytest.raises(
        ValueError, match=r"row 0: column .* has the key 'town', which is not a field of ks.address"
    ):
        bound(implementation, ADDRESS, pyarrow.table({"c0": pyarrow.array([{"town": "x"}])}))
    # A struct of two fields cannot be bound as a tuple of one element.
    with pytest.raises((TypeError, ValueError), match='row 0: column "c0"'):
        bound(
            implementation,
            tuple_of(t.Int32Type),
            pyarrow.table({"c0": pyarrow.array([{"f0": 1, "f1": 2}])}),
        )


def test_dictionaries_and_vectors_in_place(implementation: Implementation) -> None:
    """Dictionary-encoded values can be bound, and vectors are bound without copying their numbers.

    Binding reads the numbers of a vector from Arrow's memory.
    """
    key = uuid.uuid4()
    table = pyarrow.table(
        {"c0": pyarrow.array([key.bytes, None], pyarrow.binary()).dictionary_encode()}
    )
    assert one_by_one(t.UUIDType, table) == [key, None]
    rows = [[float(number)] * 8 for number in range(3)]
    vectors = arrow(rows, pyarrow.list_(pyarrow.float32(), 8))
    read_vectors = one_by_one(vector_of(t.FloatType, 8), vectors.slice(1))
    # A memoryview refers to Arrow's memory, so no copy was made.
    assert [type(vector) for vector in read_vectors] == [memoryview, memoryview]
    assert [vector.tolist() for vector in read_vectors] == rows[1:]
    # The vectors hold floats, but the CQL type has doubles, so the numbers are converted.
    assert one_by_one(vector_of(t.DoubleType, 8), vectors) == rows
    with pytest.raises(ValueError, match='row 0: column "c0"'):
        bound(implementation, vector_of(t.FloatType, 9), vectors)


def test_categories_of_polars_are_bound_as_strings(implementation: Implementation) -> None:
    """Columns of the polars types Categorical and Enum are bound like columns of strings."""
    polars = pytest.importorskip("polars")
    for dtype in (polars.Categorical, polars.Enum(["a", "b"])):
        series = polars.Series("c0", ["a", None, "b"], dtype=dtype)
        assert bound(implementation, t.UTF8Type, series.to_frame()) == bound(
            implementation, t.UTF8Type, pyarrow.table({"c0": ["a", None, "b"]})
        )
    lists = polars.Series("c0", [["a", "b"], []], dtype=polars.List(polars.Categorical))
    assert bound(implementation, list_of(t.UTF8Type), lists.to_frame()) == bound(
        implementation, list_of(t.UTF8Type), pyarrow.table({"c0": [["a", "b"], []]})
    )


def test_polars_columns_that_arrow_cannot_hold_are_refused(implementation: Implementation) -> None:
    """A polars column of the type Object or Int128 raises TypeError, also if the type is nested.

    Arrow has no such types. An Object column would be written as the memory addresses of its
    objects.
    """
    polars = pytest.importorskip("polars")
    cases: list[tuple[Any, str]] = [
        (polars.Series("c0", [bytearray(b"x"), None]), "the type Object"),
        (polars.Series("c0", [uuid.uuid4()], dtype=polars.Object), "the type Object"),
    ]
    if hasattr(polars, "Int128"):  # polars 1.18 and later
        cases += [
            (polars.Series("c0", [1 << 90], dtype=polars.Int128), "the type Int128"),
            (polars.Series("c0", [[1 << 90]], dtype=polars.List(polars.Int128)), "the type Int128"),
            (
                polars.Series("c0", [{"n": 1 << 90}], dtype=polars.Struct({"n": polars.Int128})),
                "Int128",
            ),
        ]
    for series, reason in cases:
        with pytest.raises(TypeError, match=f"the polars column 'c0' has .*{reason}"):
            bound(implementation, t.BytesType, series.to_frame())


def values(items: Sequence[Any], arrow_type: Any, cqltype: Any) -> list[Any]:
    """Return the values for `cqltype` into which `arrow_values` converts these items.

    The converted array has two chunks, and the second chunk begins within its memory. The function
    also checks that one array of the same items gives the same values.
    """
    array = pyarrow.array([*items, *items, *items], arrow_type)
    middle = len(items) // 2
    chunks = [array.slice(0, middle), array.slice(len(items) + middle, len(items) - middle)]
    by_chunks: list[Any] = arrow_values(pyarrow.chunked_array(chunks, array.type), cqltype)
    whole = arrow_values(array.slice(len(items), len(items)), cqltype)
    assert list(map(plain, whole)) == list(map(plain, by_chunks))
    return by_chunks


def plain(value: Any) -> Any:
    """Return a memoryview as a list, and any other value unchanged."""
    return value.tolist() if isinstance(value, memoryview) else value


def test_values_that_codecs_accept_are_not_converted() -> None:
    """`arrow_values` returns values that need no conversion as `to_pylist` does.

    An empty array has no values.
    """
    assert values([1, None, 3], pyarrow.int32(), t.Int32Type) == [1, None, 3]
    assert values(["a", None, ""], pyarrow.string(), t.UTF8Type) == ["a", None, ""]
    lists = [[1], None, []]
    assert values(lists, pyarrow.list_(pyarrow.int32()), list_of(t.Int32Type)) == lists
    for cqltype in (t.Int32Type, list_of(t.TimeType), map_of(t.Int32Type, t.TimeType), ADDRESS):
        assert arrow_values(pyarrow.array([], pyarrow.int32()), cqltype) == []
        assert arrow_values(pyarrow.chunked_array([], pyarrow.int32()), cqltype) == []


def test_values_that_do_not_fit_the_type_are_left_to_binding() -> None:
    """Values that do not fit the CQL type are returned unchanged; binding refuses them."""
    for cqltype in (
        t.SimpleDateType, t.TimeType, t.TimestampType, t.DurationType, t.UUIDType, t.IntegerType,
        t.Int32Type, t.PointType, ADDRESS, list_of(t.TimeType), map_of(t.Int32Type, t.TimeType),
        tuple_of(t.Int32Type),
    ):  # fmt: skip
        assert values([True, None, False], pyarrow.bool_(), cqltype) == [True, None, False]


# -- lists -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arrow_type",
    [
        pyarrow.list_(pyarrow.time64("us")),
        pyarrow.large_list(pyarrow.time64("us")),
        pyarrow.list_(pyarrow.time64("us"), 2),
    ],
    ids=str,
)
@pytest.mark.parametrize(
    "container_of", [list_of, set_of, lambda cqltype: vector_of(cqltype, 2)], ids=["l", "s", "v"]
)
def test_elements_of_lists_are_converted(arrow_type: Any, container_of: Any) -> None:
    """Arrow lists of times become lists of nanoseconds, for CQL lists, sets and vectors."""
    items = [[1, 2], None, [None, 3], [4, 5]]
    assert values(items, arrow_type, container_of(t.TimeType)) == [
        [1000, 2000],
        None,
        [None, 3000],
        [4000, 5000],
    ]


def test_elements_of_nested_and_encoded_lists_are_converted() -> None:
    """The elements of lists of lists and of dictionary-encoded lists are converted."""
    nested = pyarrow.list_(pyarrow.list_(pyarrow.time32("ms")))
    items = [[[1], None], None, [], [[2, 3]]]
    assert values(items, nested, list_of(list_of(t.TimeType))) == [
        [[10**6], None],
        None,
        [],
        [[2 * 10**6, 3 * 10**6]],
    ]
    # The elements of these lists are dictionary-encoded. They are decoded, although strings need no
    # other conversion.
    encoded = pyarrow.list_(pyarrow.dictionary(pyarrow.int32(), pyarrow.string()))
    array = pyarrow.array([["a", "b"], None, ["b"]], encoded)
    assert arrow_values(array, list_of(t.UTF8Type)) == [["a", "b"], None, ["b"]]


@pytest.mark.parametrize(
    ("arrow_type", "cqltype"),
    [
        (pyarrow.int8(), t.ByteType),
        (pyarrow.int16(), t.ShortType),
        (pyarrow.int32(), t.Int32Type),
        (pyarrow.int64(), t.LongType),
        (pyarrow.float32(), t.FloatType),
        (pyarrow.float64(), t.DoubleType),
    ],
    ids=str,
)
def test_long_lists_of_numbers_are_read_from_arrow_s_memory(arrow_type: Any, cqltype: Any) -> None:
    """If lists have 8 numbers on average, each list is a memoryview of Arrow's memory."""
    items = [list(range(9)), list(range(10, 17)), None, list(range(20, 36))]
    lists = values(items, pyarrow.list_(arrow_type), list_of(cqltype))
    assert [type(numbers) for numbers in lists] == [memoryview, memoryview, type(None), memoryview]
    assert list(map(plain, lists)) == items
    codec = list_of(cqltype).codec()
    for numbers, item in zip(lists, items, strict=True):
        assert item is None or codec.encode(numbers) == codec.encode(item)
    # In this case, the lists are shorter on average, so they are copied.
    items[0] = [1]
    assert values(items[:2], pyarrow.list_(arrow_type), list_of(cqltype)) == items[:2]


@pytest.mark.parametrize(
    ("items", "arrow_type", "element"),
    [
        # In the first case, a list has a null among its numbers. In the other cases, the numbers
        # have another size or kind than the numbers of the CQL type.
        ([[None, *range(8)]], pyarrow.int32(), t.Int32Type),
        ([list(range(9))], pyarrow.int16(), t.Int32Type),
        ([list(range(9))], pyarrow.int64(), t.DoubleType),
        ([list(range(9))], pyarrow.uint32(), t.Int32Type),
        ([list(range(9))], pyarrow.int64(), t.IntegerType),
    ],
)
def test_long_lists_of_other_numbers_are_read(items: Any, arrow_type: Any, element: Any) -> None:
    """Lists of 8 and more numbers are copied if Arrow does not store the numbers as CQL does.

    Only numbers of the same size and kind can be read from Arrow's memory.
    """
    assert values(items, pyarrow.list_(arrow_type), list_of(element)) == items


def test_numbers_of_another_meaning_are_not_read_from_memory() -> None:
    """Arrow's 64-bit integers are copied for a list of times, not read from Arrow's memory.

    A CQL time is a 64-bit number of nanoseconds, too, but plain integers need a check that they are
    times.
    """
    (numbers,) = values([list(range(9))], pyarrow.list_(pyarrow.int64()), list_of(t.TimeType))
    assert numbers == list(range(9))


def test_empty_lists_of_numbers() -> None:
    """An empty list of numbers becomes an empty list, not null."""
    assert values([[], None], pyarrow.list_(pyarrow.int32()), list_of(t.Int32Type)) == [[], None]


def test_runs_are_converted_like_other_values() -> None:
    """The values of runs, and of slices of runs, are converted like those of plain arrays."""
    if not hasattr(pyarrow, "RunEndEncodedArray"):
        pytest.skip(f"pyarrow {pyarrow.__version__} has no runs")
    structs = pyarrow.array([{"f1": 5, "f0": 6}, None, {"f1": 7, "f0": 8}])
    runs = pyarrow.RunEndEncodedArray.from_arrays([2, 3, 6], structs)
    cqltype = tuple_of(t.Int32Type, t.Int32Type)
    expected = [(6, 5), (6, 5), None, (8, 7), (8, 7), (8, 7)]
    for begin in range(7):
        for end in range(begin, 7):
            assert arrow_values(runs.slice(begin, end - begin), cqltype) == expected[begin:end]
    words = pyarrow.array(["a", "b"], type_or_skip("string_view"))
    runs = pyarrow.RunEndEncodedArray.from_arrays([1, 3], words)
    assert arrow_values(runs, t.UTF8Type) == ["a", "b", "b"]


def test_the_storage_of_an_extension_type_is_read() -> None:
    """The elements of an Arrow tensor (an extension type) are converted like elements of a list.

    Arrow stores a tensor as a list of a fixed size.
    """
    tensors = pyarrow.fixed_shape_tensor(pyarrow.time64("us"), [2])
    storage = pyarrow.array([[1, 2], [3, 4]], pyarrow.list_(pyarrow.time64("us"), 2))
    array = pyarrow.ExtensionArray.from_storage(tensors, storage)
    assert arrow_values(array, vector_of(t.TimeType, 2)) == [[1000, 2000], [3000, 4000]]


def test_tensors_with_permuted_dimensions_are_refused() -> None:
    """A tensor whose dimensions are permuted raises TypeError.

    Such a tensor stores its elements in another order than the order in which they are read.
    """
    storage = pyarrow.array([[1.0, 2.0, 3.0, 4.0]], pyarrow.list_(pyarrow.float32(), 4))
    for permutation in ([0, 1], [1, 0]):
        tensors = pyarrow.fixed_shape_tensor(pyarrow.float32(), [2, 2], permutation=permutation)
        array = pyarrow.ExtensionArray.from_storage(tensors, storage)
        if permutation == [0, 1]:
            [vector] = arrow_values(array, vector_of(t.FloatType, 4))
            assert list(vector) == [1.0, 2.0, 3.0, 4.0]
        else:
            with pytest.raises(TypeError, match="stored with permuted dimensions"):
                arrow_values(array, vector_of(t.FloatType, 4))


# -- maps, tuples and user types -------------------------------------------------------------------

# Four values of a map type, as lists of keys and values. One value is null.
PAIRS = [[(1, 2), (3, None)], None, [], [(5, 6)]]


@pytest.mark.parametrize(
    "arrow_type",
    [
        pyarrow.map_(pyarrow.int32(), pyarrow.time64("us")),
        # polars has no type for maps, and writes a map as a list of structs of a key and a value.
        pyarrow.list_(pyarrow.struct([("key", pyarrow.int32()), ("value", pyarrow.time64("us"))])),
    ],
    ids=["map", "list of pairs"],
)
def test_maps_become_dicts(arrow_type: Any) -> None:
    """An Arrow map, or a list of structs of a key and a value, becomes a dict."""
    pairs: Any = PAIRS
    if pyarrow.types.is_list(arrow_type):
        pairs = [
            item and [dict(zip(("key", "value"), pair, strict=True)) for pair in item]
            for item in PAIRS
        ]
    assert values(pairs, arrow_type, map_of(t.Int32Type, t.TimeType)) == [
        {1: 2000, 3: None},
        None,
        {},
        {5: 6000},
    ]


@pytest.mark.parametrize(
    ("key_type", "cql_key", "key"),
    [
        (pyarrow.list_(pyarrow.int32()), list_of(t.Int32Type), [1]),
        (pyarrow.float64(), t.DoubleType, -0.0),
        (pyarrow.float32(), t.FloatType, 0.5),
    ],
    ids=str,
)
def test_maps_with_keys_that_a_dict_cannot_hold_become_pairs(
    key_type: Any, cql_key: Any, key: Any
) -> None:
    """A map becomes `Pairs`, not a dict, if a dict would lose keys or cannot hold them.

    A list cannot be the key of a dict, and the keys 0.0 and -0.0 would be equal in a dict.
    """
    arrow_type = pyarrow.map_(key_type, pyarrow.int32())
    (pairs,) = values([[(key, 7)]], arrow_type, map_of(cql_key, t.Int32Type))
    assert type(pairs) is Pairs
    assert pairs == [(key, 7)]


def test_a_list_that_does_not_hold_pairs_is_not_a_map() -> None:
    """For a map column, lists of structs with one or three fields are returned unchanged."""
    for fields in (["a"], ["a", "b", "c"]):
        items = [[dict.fromkeys(fields, 1)], None]
        arrow_type = pyarrow.list_(pyarrow.struct([(name, pyarrow.int32()) for name in fields]))
        assert values(items, arrow_type, map_of(t.Int32Type, t.Int32Type)) == items


def test_structs_become_tuples() -> None:
    """For a tuple column, structs become tuples.

    A struct may have fewer fields than the CQL tuple. A struct with more fields stays a dict, which
    binding refuses.
    """
    items = [{"f0": 1, "f1": 2}, None, {"f0": None, "f1": 3}]
    arrow_type = pyarrow.struct([("f0", pyarrow.int32()), ("f1", pyarrow.time64("us"))])
    expected = [(1, 2000), None, (None, 3000)]
    assert values(items, arrow_type, tuple_of(t.Int32Type, t.TimeType)) == expected
    assert values(items, arrow_type, tuple_of(t.Int32Type, t.TimeType, t.Int32Type)) == expected
    (first, *_) = values(items, arrow_type, tuple_of(t.Int32Type))
    assert list(first) == ["f0", "f1"]


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        # Results call the fields of a tuple f0, f1, ... Such fields are found by name.
        (["f1", "f0"], (2, 1)),
        (["f2", "f0"], (2, None, 1)),
        (["f0"], (1,)),
        # If a field has another name, or none is f0, fields go by position.
        (["f1"], (1,)),
        (["f1", "f2"], (1, 2)),
        (["b", "a"], (1, 2)),
        (["f1", "f3"], (1, 2)),
        (["f1", "a"], (1, 2)),
    ],
)
def test_fields_with_the_names_of_results_are_found_by_name(
    names: list[str], expected: tuple[int | None, ...]
) -> None:
    """The fields f0, f1, ... of structs, dicts and records become these fields of a tuple."""
    cqltype = tuple_of(t.Int32Type, t.Int32Type, t.Int32Type)
    struct = {name: number for number, name in enumerate(names, start=1)}
    arrow_type = pyarrow.struct([(name, pyarrow.int32()) for name in names])
    assert values([struct, None], arrow_type, cqltype) == [expected, None]
    lists = values([[struct], None], pyarrow.list_(arrow_type), list_of(cqltype))
    assert lists == [[expected], None]
    assert object_values([struct, None], cqltype) == [expected, None]
    numpy = pytest.importorskip("numpy")
    records = numpy.array([tuple(struct.values())], [(name, "i4") for name in names])
    assert array_values(records, cqltype) == [expected]


def test_structs_with_unknown_fields_are_not_user_types() -> None:
    """For a user type, structs with a field that the type does not have are returned unchanged."""
    items = [{"zip": 7, "town": "x"}, None]
    arrow_type = pyarrow.struct([("zip", pyarrow.int32()), ("town", pyarrow.string())])
    assert values(items, arrow_type, ADDRESS) == items


# -- scalars ---------------------------------------------------------------------------------------

FIRST_DAY = 2**31  # 1970-01-01 as CQL stores a date


@pytest.mark.parametrize(
    ("arrow_type", "units_per_day"),
    [
        (pyarrow.date32(), 1),
        (pyarrow.date64(), 86_400_000),
        (pyarrow.timestamp("s"), 86_400),
        (pyarrow.timestamp("ms"), 86_400_000),
        (pyarrow.timestamp("us"), 86_400_000_000),
        (pyarrow.timestamp("ns"), 86_400_000_000_000),
    ],
    ids=str,
)
def test_dates_are_numbers_of_days(arrow_type: Any, units_per_day: int) -> None:
    """For a date column, Arrow dates and timestamps become the number of their day.

    A time of day is left out: the moment belongs to the day that has begun, also before 1970.
    """
    items = [0, units_per_day, -units_per_day, None]
    expected = [FIRST_DAY, FIRST_DAY + 1, FIRST_DAY - 1, None]
    if pyarrow.types.is_timestamp(arrow_type):
        items += [2 * units_per_day - 1, -1]
        expected += [FIRST_DAY + 1, FIRST_DAY - 1]
    assert values(items, arrow_type, t.SimpleDateType) == expected


def test_the_date_of_a_moment_with_a_time_zone_is_left_to_binding() -> None:
    """For a date column, a timestamp with a time zone stays a datetime with its time zone.

    The day depends on the time zone.
    """
    (moment,) = values([0], pyarrow.timestamp("s", "Asia/Tokyo"), t.SimpleDateType)
    assert moment.year == 1970
    assert moment.hour == 9


@pytest.mark.parametrize(
    ("arrow_type", "nanoseconds"),
    [
        (pyarrow.time32("s"), 10**9),
        (pyarrow.time32("ms"), 10**6),
        (pyarrow.time64("us"), 1000),
        (pyarrow.time64("ns"), 1),
        (pyarrow.duration("s"), 10**9),
        (pyarrow.duration("ns"), 1),
    ],
    ids=str,
)
def test_times_are_numbers_of_nanoseconds(arrow_type: Any, nanoseconds: int) -> None:
    """For a time column, Arrow times and durations of any unit become nanoseconds."""
    assert values([7, None, 0], arrow_type, t.TimeType) == [7 * nanoseconds, None, 0]
    if pyarrow.types.is_duration(arrow_type):
        assert values([7, None, -1], arrow_type, t.DurationType) == [
            Duration(0, 0, 7 * nanoseconds),
            None,
            Duration(0, 0, -nanoseconds),
        ]


def test_timestamps_are_numbers_of_milliseconds_rounded_down() -> None:
    """For a timestamp column, moments become milliseconds, rounded down also before 1970."""
    microseconds = [1_999, -1_001, None]
    assert values(microseconds, pyarrow.timestamp("us"), t.TimestampType) == [1, -2, None]
    nanoseconds = [1_999_999, -1, None]
    assert values(nanoseconds, pyarrow.timestamp("ns"), t.TimestampType) == [1, -1, None]
    assert values([86_400_000, None], pyarrow.date64(), t.TimestampType) == [86_400_000, None]
    assert values([-1, None], pyarrow.date32(), t.TimestampType) == [-86_400_000, None]


def test_durations_come_from_intervals_and_structs() -> None:
    """For a duration column, Arrow intervals and structs become durations.

    A struct has the fields months, days and nanoseconds, in any order.
    """
    intervals = [pyarrow.MonthDayNano([1, 2, 3]), None]
    expected = [Duration(1, 2, 3), None]
    assert values(intervals, pyarrow.month_day_nano_interval(), t.DurationType) == expected
    three_parts = pyarrow.struct(
        [("nanoseconds", pyarrow.int64()), ("days", pyarrow.int32()), ("months", pyarrow.int32())]
    )
    items: list[Any] = [{"months": 1, "days": 2, "nanoseconds": 3}, None]
    assert values(items, three_parts, t.DurationType) == expected
    # A struct without the field nanoseconds is not converted.
    two_parts = pyarrow.struct([("months", pyarrow.int32()), ("days", pyarrow.int32())])
    items = [{"months": 1, "days": 2}, None]
    assert values(items, two_parts, t.DurationType) == items


@pytest.mark.parametrize("name", ["string", "large_string", "string_view"])
def test_strings_become_varints_but_no_other_integers(name: str) -> None:
    """Strings are converted for a varint column, but not for an int column.

    `to_arrow` writes varints as strings, so a result's table can be bound again.
    """
    arrow_type = type_or_skip(name)
    items = ["12", None, "-3"]
    assert values(items, arrow_type, t.IntegerType) == [12, None, -3]
    assert values(items, arrow_type, t.Int32Type) == items


@pytest.mark.parametrize("cqltype", [t.IntegerType, t.Int32Type, t.LongType])
def test_decimals_without_a_fraction_become_integers(cqltype: Any) -> None:
    """For an integer column, decimals without a fraction become integers.

    A decimal with a fraction stays a decimal, which binding refuses.
    """
    items = [Decimal(5), None, Decimal("0.5")]
    numbers = values(items, pyarrow.decimal128(3, 1), cqltype)
    assert numbers == items
    assert list(map(type, numbers)) == [int, type(None), Decimal]


@pytest.mark.parametrize(
    ("name", "sizes"),
    [("binary", []), ("large_binary", []), ("binary_view", []), ("binary", [16])],
)
def test_bytes_become_uuids(name: str, sizes: list[int]) -> None:
    """For a uuid or timeuuid column, 16 bytes become a UUID."""
    arrow_type = type_or_skip(name, *sizes)
    key = uuid.uuid4()
    for cqltype in (t.UUIDType, t.TimeUUIDType):
        assert values([key.bytes, None], arrow_type, cqltype) == [key, None]
    # For a blob column, the 16 bytes stay bytes.
    assert values([key.bytes, None], arrow_type, t.BytesType) == [key.bytes, None]


def test_serialized_values_of_types_without_an_arrow_type_are_decoded() -> None:
    """Bytes are decoded for a CQL type that Arrow does not have, such as a point.

    `to_arrow` writes such values in their encoded form. Bytes that are not an encoded value of the
    type stay bytes.
    """
    point = Point(1.0, 2.0)
    items = [t.PointType.codec().encode(point), None, b"?"]
    assert values(items, pyarrow.binary(), t.PointType) == [point, None, b"?"]


def test_types_of_duckdb_that_arrow_gets_with_other_values_are_refused() -> None:
    """Tables of DuckDB with a type that Arrow cannot represent are refused.

    DuckDB exports the greatest UHUGEINT as -1, and a BIT with a byte before its bits.
    """
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect()
    for expression, type_name in (
        ("340282366920938463463374607431768211455::UHUGEINT", "UHUGEINT"),
        ("[5::UHUGEINT]", "UHUGEINT"),
        ("TIMETZ '10:00:00+02'", "TIME WITH TIME ZONE"),
        ("[5]::UHUGEINT[1]", "UHUGEINT"),
        ("{'a': {'b': '0101'::BIT}}", "BIT"),
        ("MAP {'a': 5::UHUGEINT}", "UHUGEINT"),
        ("union_value(n := 5::UHUGEINT)", "UHUGEINT"),
    ):
        relation = connection.sql(f"SELECT {expression} AS c0")
        with pytest.raises(TypeError, match=f"column 'c0' has the type {type_name}, .* cast it"):
            one_by_one(t.IntegerType, relation)
    # A cast to VARCHAR, or a type that Arrow represents, is accepted.
    number = 2**128 - 1
    for expression, cql_type, value in (
        (f"'{number}'::UHUGEINT::VARCHAR", t.IntegerType, number),
        ("170141183460469231731687303715884105727::HUGEINT", t.IntegerType, 2**127 - 1),
        ("[1, 2]::INTEGER[2]", list_of(t.Int32Type), [1, 2]),
    ):
        relation = connection.sql(f"SELECT {expression} AS c0")
        assert one_by_one(cql_type, relation) == [value]
    connection.close()


def test_half_floats_are_floats_of_python() -> None:
    """Floats of 16 bits become Python floats, also in lists: old pyarrow returns NumPy's floats."""
    numpy = pytest.importorskip("numpy")
    array = pyarrow.array(numpy.array([1.5, -2.0, 3.0], "float16"))
    numbers = arrow_values(array, t.FloatType)
    lists = pyarrow.ListArray.from_arrays([0, 2, 3], array)
    (first, second) = arrow_values(lists, list_of(t.FloatType))
    assert [numbers, list(first), list(second)] == [[1.5, -2.0, 3.0], [1.5, -2.0], [3.0]]
    assert {type(number) for number in (*numbers, *first, *second)} == {float}


def test_runs_of_values_that_pyarrow_cannot_repeat() -> None:
    """Lists and structs of views, and lists of runs, may be the values of runs."""
    pyarrow = pytest.importorskip("pyarrow", "18")
    texts = pyarrow.array(["a", "b"], pyarrow.string_view())
    runs = pyarrow.RunEndEncodedArray.from_arrays(pyarrow.array([1, 2], "int32"), texts)
    for items in (texts, runs):
        lists = pyarrow.ListArray.from_arrays(pyarrow.array([0, 1, 2], "int32"), items)
        array = pyarrow.RunEndEncodedArray.from_arrays(pyarrow.array([2, 3], "int32"), lists)
        assert arrow_values(array, list_of(t.UTF8Type)) == [["a"], ["a"], ["b"]]
        assert arrow_values(array.slice(1), list_of(t.UTF8Type)) == [["a"], ["b"]]
