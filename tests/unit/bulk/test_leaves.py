"""Test `leaf_columns` and `leaves_of`, which find the values of a CQL type in other values."""

from __future__ import annotations

import datetime
from collections.abc import Collection, Iterator
from typing import Any

import pytest

from cassandra.bulk.leaves import (
    are_dates,
    described,
    has_leaf,
    leaf_columns,
    leaves_of,
    value_in_row,
)
from cassandra.cqltypes import Int32Type, SimpleDateType
from cassandra.cqltypes.parse import lookup_casstype
from cassandra.cqltypes.udt import UserType

DAY = datetime.date(2026, 11, 23)
UDT = UserType.make_udt_class("ks", "u", ["x", "y"], [Int32Type, SimpleDateType])
LISTS = lookup_casstype("ListType(FrozenType(SetType(SimpleDateType)))")
MAP = lookup_casstype("MapType(SimpleDateType, ListType(SimpleDateType))")
TUPLE = lookup_casstype("TupleType(Int32Type, SimpleDateType)")
VECTOR = lookup_casstype("VectorType(SimpleDateType, 2)")


def leaves(cql_type: Any, value: Any) -> list[Any]:
    """Return the dates in a Python value."""
    find = leaves_of(cql_type, "date")
    assert find is not None
    return list(find(value))


def plain_leaves(cql_type: Any, column: Any) -> list[Any]:
    """Return the dates in a column as Python objects."""
    return [
        value
        for values in leaf_columns(cql_type, column, "date")
        for value in (values.to_pylist() if hasattr(values, "to_pylist") else values)
    ]


def test_types_that_contain_a_type() -> None:
    """`has_leaf` finds a type inside collections, tuples and user-defined types."""
    for cql_type in (SimpleDateType, LISTS, MAP, TUPLE, VECTOR, UDT):
        assert has_leaf(cql_type, "date")
        assert not has_leaf(cql_type, "decimal")
        assert leaves_of(cql_type, "decimal") is None
        assert list(leaf_columns(cql_type, [1], "decimal")) == []


def test_dates_are_told_from_other_objects() -> None:
    """A datetime is a date too, but has a time of day."""
    assert are_dates([DAY, None])
    for value in (datetime.datetime(2026, 11, 23), 5, "2026-11-23"):
        assert not are_dates([DAY, value])


def test_messages_say_if_a_column_contains_the_type() -> None:
    """Messages distinguish a column of dates from a column of collections of dates."""
    assert described(SimpleDateType, "date") == "is a date"
    assert described(LISTS, "date") == "has values of type date"


@pytest.mark.parametrize(
    ("cql_type", "value", "expected"),
    [
        (SimpleDateType, DAY, [DAY]),
        (LISTS, [[DAY], {5}], [DAY, 5]),
        (LISTS, "text", []),
        (LISTS, {"a": DAY}, []),
        (LISTS, 5, []),
        (MAP, {1: [2, 3]}, [1, 2, 3]),
        (MAP, [(1, [2]), "ab", (3,)], [1, 2]),
        (MAP, 5, []),
        (TUPLE, (1, 2), [2]),
        (TUPLE, [1], [None]),
        (TUPLE, {"f1": 2, "f0": 1}, [2]),
        (TUPLE, {"b": 1, "a": 2}, [2]),
        (UDT, {"y": 2, "z": 3}, [2]),
        (UDT, (1, 2), [2]),
        (UDT, None, []),
        (VECTOR, (1, 2), [1, 2]),
    ],
)
def test_leaves_of_objects(cql_type: Any, value: Any, expected: list[Any]) -> None:
    """`leaves_of` finds the dates in the objects that may be bound, and ignores other objects."""
    assert leaves(cql_type, value) == expected


def test_objects_that_raise_are_ignored() -> None:
    """The leaves before the error of an object are found, and iterators are not read."""

    class FailingList(Collection[int]):
        def __contains__(self, item: object) -> bool:
            return False

        def __len__(self) -> int:
            return 2

        def __iter__(self) -> Iterator[int]:
            yield 5
            raise RuntimeError("no value")

    assert leaves(VECTOR, FailingList()) == [5]
    iterator = iter([1, 2])
    assert leaves(VECTOR, iterator) == []
    assert list(iterator) == [1, 2]


def test_a_value_in_a_row() -> None:
    """`value_in_row` reads tuples, mappings and objects, and returns None for a missing value."""

    class Row:
        name = "a"

        @property
        def other(self) -> object:
            raise RuntimeError("no value")

    for row in ((5, "a"), {"name": "a"}, Row()):
        assert value_in_row(row, "name", 1) == "a"
        assert value_in_row(row, "other", 2) is None


def test_leaves_of_arrow() -> None:
    """The leaves of Arrow data are plain arrays, whatever their values are wrapped in."""
    pyarrow = pytest.importorskip("pyarrow")
    date = pyarrow.date32()
    days = pyarrow.array([DAY, None], date)
    columns: list[tuple[Any, Any, list[Any]]] = [
        (SimpleDateType, days, [DAY, None]),
        (SimpleDateType, days.dictionary_encode(), [DAY, None]),
        (SimpleDateType, pyarrow.chunked_array([days, days]), [DAY, None] * 2),
        (LISTS, pyarrow.array([[[DAY]], None], pyarrow.list_(pyarrow.large_list(date))), [DAY]),
        (VECTOR, pyarrow.array([[DAY, DAY]], pyarrow.list_(date, 2)), [DAY, DAY]),
        (
            MAP,
            pyarrow.array([[(DAY, [5])]], pyarrow.map_(date, pyarrow.list_(pyarrow.int32()))),
            [DAY, 5],
        ),
        (MAP, pyarrow.array([[{"k": 1, "v": [2]}]]), [1, 2]),
        (TUPLE, pyarrow.array([{"f1": 2, "f0": 1}]), [2]),
        (TUPLE, pyarrow.array([{"a": 1, "b": 2}]), [2]),
        (UDT, pyarrow.array([{"y": 2, "z": 1}]), [2]),
        # Binding refuses these values.
        (LISTS, days, []),
        (MAP, pyarrow.array([[1]]), []),
        (UDT, days, []),
    ]
    if hasattr(pyarrow, "RunEndEncodedArray"):
        runs = pyarrow.RunEndEncodedArray.from_arrays([2, 3], days)
        columns.append((SimpleDateType, runs, [DAY, None]))  # the value of each run once
    for cql_type, column, expected in columns:
        assert plain_leaves(cql_type, column) == expected
        if len(column) == 1 and expected:
            # The types of the leaves are known even if there are no values.
            (*_, empty) = leaf_columns(cql_type, pyarrow.chunked_array([], column.type), "date")
            assert len(empty) == 0


def test_leaves_of_no_chunks_beside_an_extension_type() -> None:
    """The library pyarrow cannot combine no chunks of such a type."""
    pyarrow = pytest.importorskip("pyarrow")
    if not hasattr(pyarrow, "uuid"):
        pytest.skip("this pyarrow has no type for UUIDs")
    fields = [("f0", pyarrow.uuid()), ("f1", pyarrow.int32())]
    column = pyarrow.chunked_array([], pyarrow.struct(fields))
    assert plain_leaves(TUPLE, column) == []


def test_leaves_of_numpy_and_pandas() -> None:
    """Typed arrays and Series are leaves themselves; objects are searched one by one."""
    numpy, pandas = pytest.importorskip("numpy"), pytest.importorskip("pandas")
    numbers = numpy.array([[1, 2], [3, 4]])
    records = numpy.array([(1, 2)], [("y", "i4"), ("x", "i4")])
    for cql_type, column, expected in [
        (SimpleDateType, numbers[0], [1, 2]),
        (VECTOR, numbers, [1, 2, 3, 4]),
        (LISTS, numbers.reshape(1, 2, 2), [1, 2, 3, 4]),
        (SimpleDateType, numbers, []),
        (UDT, records, [1]),
        (TUPLE, records, [2]),
        (VECTOR, [numbers[0], None], [1, 2]),
        (VECTOR, numbers.astype(object), [1, 2, 3, 4]),
        (SimpleDateType, numpy.ma.array([5, 6], object, mask=[True, False]), [6]),
        (SimpleDateType, pandas.Series([1, 2]), [1, 2]),
        (SimpleDateType, pandas.Series(pandas.Categorical([1, 2])), [1, 2]),
        (SimpleDateType, pandas.Series(pandas.arrays.SparseArray([1, 0])), [1, 0]),
        (SimpleDateType, pandas.arrays.SparseArray([1, 0]), [1, 0]),
        (VECTOR, pandas.Series([[1, 2], numbers[1]]), [1, 2, 3, 4]),
    ]:
        assert plain_leaves(cql_type, column) == expected
    # The numbers of NumPy's dates are not integers.
    moments = numpy.array(["2026-11-23", "2026-11-24"], "M8[ns]")
    assert [type(value) for value in leaves(VECTOR, moments)] == [numpy.datetime64] * 2


def test_leaves_of_arrow_in_pandas() -> None:
    """A Series with an Arrow type is searched like an Arrow array."""
    pandas, pyarrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    array = pyarrow.array([1, None]).dictionary_encode()
    series = pandas.Series(pandas.arrays.ArrowExtensionArray(pyarrow.chunked_array([array])))
    for column in (series, series.array):
        assert plain_leaves(SimpleDateType, column) == [1, None]


def test_what_can_be_read_only_once_is_not_read() -> None:
    """An object with an iterator of its own would be bound as an empty list afterwards."""

    class Response:
        def __init__(self) -> None:
            self._items = iter([[DAY]])

        def __iter__(self) -> Any:
            return self._items

    leaves = leaves_of(LISTS, "date")
    assert leaves is not None
    response = Response()
    assert list(leaves(response)) == []
    assert list(response) == [[DAY]]
