"""Test `marker_of_unfit`, which marks values of tables that binding must refuse."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from cassandra.cqltypes import UserType, UTF8Type
from cassandra.cqltypes.parse import lookup_casstype
from cassandra.query.tables.types import Pairs
from cassandra.query.tables.unfit import (
    Unfit,
    marker_of_unfit,
    may_be_unfit,
    type_may_be_unfit,
    unfit,
)
from tests.conftest import Implementation
from tests.unit.query.tables.binding import bound

MAPPING = {"a": "x"}
LIST = "ListType(UTF8Type)"
SET = "FrozenType(SetType(UTF8Type))"
LISTS = "ListType(FrozenType(ListType(UTF8Type)))"
VECTOR = "VectorType(FrozenType(ListType(UTF8Type)), 1)"
MAP = "MapType(UTF8Type, FrozenType(ListType(UTF8Type)))"
TUPLE = "TupleType(Int32Type, ListType(UTF8Type))"
UDT = "UserType(ks, 75, 78:ListType(UTF8Type), 79:Int32Type)"


def marked(type_name: str, value: Any) -> Any:
    """Return a value whose unfit parts are marked."""
    mark = marker_of_unfit(lookup_casstype(type_name))
    assert mark is not None
    return mark(value)


def test_types_without_unfit_values() -> None:
    """There is no function for types whose codecs refuse all values of a wrong class."""
    for type_name in (
        "UTF8Type",
        "TimestampType",
        "VectorType(FloatType, 2)",
        "MapType(UTF8Type, Int32Type)",
    ):
        assert marker_of_unfit(lookup_casstype(type_name)) is None


@pytest.mark.parametrize(
    ("type_name", "values", "expected"),
    [
        (LISTS, [[["a"]]], False),
        (LISTS, [[{"a": "x"}]], True),
        (LIST, [{"a": "x"}], True),
        (SET, ["a"], True),
        (MAP, [{"a": ["b"]}], True),
        (TUPLE, [{"a": 1, "b": ["x"]}], False),
        (TUPLE, [{"f0": 1, "f1": ["x"]}], False),
        (TUPLE, [{"a": 1, "b": {"c": "x"}}], True),
        (TUPLE, [{"a": 1}], True),
        ("TimeType", [1], False),
        ("TimeType", [True], True),
        ("ListType(TimeType)", [[True]], True),
        ("UTF8Type", [{"a": 1}], False),
    ],
)
def test_arrow_types_whose_values_fit_or_not(
    type_name: str, values: list[Any], expected: bool
) -> None:
    """False means that no value needs to be looked at. In case of doubt, the answer is True."""
    pyarrow = pytest.importorskip("pyarrow")
    cqltype, array = lookup_casstype(type_name), pyarrow.array(values)
    assert type_may_be_unfit(array.type, cqltype) is expected
    runs = pyarrow.dictionary(pyarrow.int32(), array.type)
    assert type_may_be_unfit(runs, cqltype) is expected


def test_a_struct_with_the_names_of_a_tuple_in_another_order_may_be_unfit() -> None:
    """Such a struct goes into the tuple by name. Old pyarrow sorts the names that it infers."""
    pyarrow = pytest.importorskip("pyarrow")
    texts = pyarrow.list_(pyarrow.string())
    in_another_order = pyarrow.struct([("f1", texts), ("f0", pyarrow.int32())])
    assert type_may_be_unfit(in_another_order, lookup_casstype(TUPLE))


def test_maps_and_user_defined_types_of_arrow_whose_values_fit() -> None:
    """The types of keys and items, and of the fields in order, decide."""
    pyarrow = pytest.importorskip("pyarrow")
    lists = pyarrow.list_(pyarrow.string())
    cqltype = lookup_casstype(MAP)
    assert not type_may_be_unfit(pyarrow.map_(pyarrow.string(), lists), cqltype)
    structs = pyarrow.struct([("a", pyarrow.string())])
    assert type_may_be_unfit(pyarrow.map_(pyarrow.string(), structs), cqltype)
    udt = UserType.make_udt_class("ks", "u", ["x", "y"], [UTF8Type, lookup_casstype(LIST)])
    fields = [("x", pyarrow.string()), ("y", lists)]
    assert not type_may_be_unfit(pyarrow.struct(fields), udt)
    assert type_may_be_unfit(pyarrow.struct(fields[::-1]), udt)


@pytest.mark.parametrize(
    ("type_name", "values", "expected"),
    [
        (LIST, [["a"], None, ("b",)], False),
        (LIST, [["a"], MAPPING], True),
        (LISTS, [[["a"], None], None, [("b",)]], False),
        (LISTS, [[["a"], MAPPING], None], True),
        (LISTS, [{"a"}], True),
        (VECTOR, [[["a"]]], False),
        (MAP, [{"k": ["a"]}, {}, None], False),
        (MAP, [{"k": ["a"]}, {"k": MAPPING}], True),
        (MAP, [Pairs([("k", ["a"])])], True),
        (MAP, [None], True),
        ("MapType(TimeType,Int32Type)", [{True: 1}], True),
        (TUPLE, [(1, ["a"]), [2, None]], False),
        (TUPLE, [(1, MAPPING)], True),
        (TUPLE, [(1,)], True),
        (UDT, [{"x": ["a"]}, {"y": 1}, None], False),
        (UDT, [{"x": MAPPING}], True),
        (UDT, [(["a"], 1)], False),
        ("TimeType", [5, None], False),
        ("TimeType", [5, True], True),
        ("ListType(TimeType)", [[5], None], False),
        ("ListType(TimeType)", [[5, True], None], True),
    ],
)
def test_quick_check_of_columns(type_name: str, values: list[Any], expected: bool) -> None:
    """`may_be_unfit` is False only if no value of a column has a part that must be marked."""
    assert may_be_unfit(values, lookup_casstype(type_name)) is expected
    numpy = pytest.importorskip("numpy")
    assert may_be_unfit([numpy.bool_(True)], lookup_casstype("TimeType"))


@pytest.mark.parametrize(
    ("type_name", "value", "shown"),
    [
        (LIST, MAPPING, "{'a': 'x'}"),
        (SET, MAPPING, "{'a': 'x'}"),
        (LISTS, [["b"], MAPPING], "[['b'], {'a': 'x'}]"),
        (VECTOR, [MAPPING], "[{'a': 'x'}]"),
        (MAP, {"k": MAPPING}, "{'k': {'a': 'x'}}"),
        (MAP, Pairs([("k", MAPPING)]), "{'k': {'a': 'x'}}"),
        (TUPLE, (1, MAPPING), "(1, {'a': 'x'})"),
        ("TimeType", True, "True"),
        ("ListType(TimeType)", [1, False], "[1, False]"),
    ],
)
def test_unfit_parts_are_marked(type_name: str, value: Any, shown: str) -> None:
    """Mappings for lists and booleans for times are replaced, and the codec refuses the value."""
    result = marked(type_name, value)
    assert result is not value
    assert repr(result) == shown
    with pytest.raises(TypeError, match=r"(dict|bool)"):
        lookup_casstype(type_name).codec().encode(result)


@pytest.mark.parametrize(
    ("type_name", "value"),
    [
        (LIST, ["a"]),
        (LIST, None),
        (LISTS, [["a"], None]),
        (LISTS, "text"),
        (MAP, {"k": ["a"]}),
        (MAP, 5),
        (TUPLE, (1, ["a"])),
        (TUPLE, (1,)),
        (TUPLE, 5),
        ("TimeType", 5),
    ],
)
def test_other_values_are_unchanged(type_name: str, value: Any) -> None:
    """A value whose parts fit, or whose class its codec refuses anyway, is returned unchanged."""
    assert marked(type_name, value) is value


def test_iterators_are_not_read() -> None:
    """The elements of an iterator, which can be read only once, are not lost."""
    elements = iter([["a"]])
    assert marked(LISTS, elements) is elements
    assert [*elements] == [["a"]]


def test_arrays_in_cells() -> None:
    """Arrays of booleans and objects have unfit elements. An array may have no dimensions."""
    numpy = pytest.importorskip("numpy")
    assert isinstance(marked("ListType(TimeType)", numpy.array([True]))[0], Unfit)
    objects = numpy.array([MAPPING], object)
    assert isinstance(marked(LISTS, objects)[0], Unfit)
    scalar = numpy.array(1)
    assert marked("ListType(TimeType)", scalar) is scalar


def test_a_marked_mapping_has_its_items() -> None:
    """A marked mapping still has its items, which a file of failed rows shows."""
    mapping: Any = unfit(MAPPING)
    assert dict(mapping.items()) == MAPPING
    assert type(mapping).__name__ == "dict"


def tables(value: Any) -> Iterator[Any]:
    """Yield tables with one column c0 that has this value."""
    pandas, pyarrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    table = pyarrow.table({"c0": [value]})
    yield table
    yield pandas.DataFrame({"c0": [value]}, dtype=object)
    yield table.to_pandas(types_mapper=pandas.ArrowDtype)


@pytest.mark.parametrize(
    ("type_name", "value"),
    [
        (LIST, MAPPING),
        (SET, MAPPING),
        (LISTS, [MAPPING]),
        (MAP, {"k": MAPPING}),
        ("TimeType", True),
        ("TimestampType", True),
        ("ListType(TimestampType)", [True]),
    ],
)
def test_tables_refuse_unfit_values(
    implementation: Implementation, type_name: str, value: Any
) -> None:
    """Tables refuse structs for lists and booleans for times, with the row, column and value."""
    for table in tables(value):
        with pytest.raises(TypeError, match=r'row 0: column "c0".*\((dict|bool)\) is not'):
            bound(implementation, lookup_casstype(type_name), table)


def test_structured_arrays_and_matrices_refuse_booleans(implementation: Implementation) -> None:
    """Arrays of booleans are refused for times and timestamps."""
    numpy = pytest.importorskip("numpy")
    records = numpy.zeros(1, [("c0", "?")])
    for type_name in ("TimeType", "TimestampType"):
        for array in (records, numpy.array([[True]])):
            with pytest.raises(TypeError, match=r"row 0: .*(False|True)"):
                bound(implementation, lookup_casstype(type_name), array)


def test_runs_of_arrow_refuse_structs(implementation: Implementation) -> None:
    """Structs in runs and dictionaries of Arrow are refused for lists."""
    pyarrow = pytest.importorskip("pyarrow")
    runs = pyarrow.RunEndEncodedArray.from_arrays([2], pyarrow.array([MAPPING]))
    with pytest.raises(TypeError, match=r"row 0: .*dict"):
        bound(implementation, lookup_casstype(LIST), pyarrow.table({"c0": runs}))


def test_rows_are_bound_as_in_cassandra_driver(implementation: Implementation) -> None:
    """Rows that are no table store the keys of a dict, and True as a time of one nanosecond."""
    text_list = lookup_casstype(LIST)
    assert bound(implementation, text_list, [(MAPPING,)]) == bound(
        implementation, text_list, [(["a"],)]
    )
    time = lookup_casstype("TimeType")
    assert bound(implementation, time, [(True,)]) == bound(implementation, time, [(1,)])
