"""Test the row factories, and how the decoder recognizes them to make their rows faster."""

from __future__ import annotations

import copy
import functools
import pickle
from collections import OrderedDict
from typing import Any

import pytest

from cassandra.query import row_factories
from cassandra.query.row_factories import (
    PseudoNamedTupleRow,
    dict_factory,
    named_tuple_factory,
    ordered_dict_factory,
    pseudo_namedtuple_factory,
    tuple_factory,
)

NAMES, ROWS = ["a", "b"], [(1, 2), (3, 4)]


def test_rows_of_each_factory() -> None:
    """Each factory returns another kind of rows: tuples, named tuples, dicts or ordered dicts."""
    assert tuple_factory(NAMES, ROWS) is ROWS
    assert [row._asdict() for row in named_tuple_factory(NAMES, ROWS)] == dict_factory(NAMES, ROWS)
    assert dict_factory(NAMES, ROWS) == [{"a": 1, "b": 2}, {"a": 3, "b": 4}]
    ordered = ordered_dict_factory(NAMES, ROWS)
    assert type(ordered[0]) is OrderedDict
    assert list(ordered[1].items()) == [("a", 3), ("b", 4)]
    for factory in (dict_factory, ordered_dict_factory):
        with pytest.raises(ValueError, match="zip"):
            factory(NAMES, [(1,)])


def test_column_names_that_are_not_identifiers() -> None:
    """`named_tuple_factory` changes column names that are not identifiers or are repeated."""
    (row,) = named_tuple_factory(["count(*)", "a", "a", "1"], [(1, 2, 3, 4)])
    assert row._fields == ("count", "a", "a_", "field_3_")


@pytest.mark.parametrize(
    ("factory_name", "method"),
    [
        ("tuple_factory", "tuples"),
        ("named_tuple_factory", "named_tuples"),
        ("dict_factory", "dicts"),
        ("ordered_dict_factory", "ordered_dicts"),
    ],
)
def test_the_decoder_can_tell_a_factory_from_its_wrapper(factory_name: str, method: str) -> None:
    """A factory's attribute `row_plan_method` is (method, factory), also in a wrapper.

    The decoder calls this method of the row plan in place of the factory, because the method makes
    the same rows faster. The decoder must not replace a wrapper, which may do more than the
    factory, so it compares the factory in the attribute.
    """
    factory = getattr(row_factories, factory_name)

    @functools.wraps(factory)
    def wrapper(names: Any, rows: Any) -> Any:
        return factory(names, rows)

    assert factory.row_plan_method == (method, factory)
    # `wraps` copies the attribute to the wrapper, but the function in the attribute is still the
    # factory, so the decoder calls the wrapper.
    assert wrapper.row_plan_method[1] is not wrapper  # type: ignore[attr-defined]


@pytest.mark.parametrize("factory", [tuple_factory, named_tuple_factory, dict_factory])
def test_factories_name_the_module_from_which_applications_import_them(factory: Any) -> None:
    """A row factory names `cassandra.query` as its module, from which applications import it."""
    assert factory.__module__ == "cassandra.query"


def test_rows_with_many_columns() -> None:
    """A row of a result with many columns behaves like a named tuple.

    Its values can be read by attribute, index and in a loop, and the row can be compared, copied
    and pickled.
    """
    first, second = pseudo_namedtuple_factory(NAMES, ROWS)
    assert first.a == 1
    assert first[1] == 2
    assert first[-1] == 2
    assert first[:1] == (1,)
    assert len(first) == 2
    assert list(first) == [1, 2]
    assert first == PseudoNamedTupleRow(OrderedDict(a=1, b=2))
    assert first != second
    # A row must differ from a plain tuple of the same values, although both have the same hash.
    assert first != (1, 2)
    assert hash(first) == hash((1, 2))
    assert repr(first) == "Row(a=1, b=2)"
    with pytest.raises(AttributeError, match="no column 'c'"):
        _ = first.c
    assert copy.copy(first) == first
    assert pickle.loads(pickle.dumps(first)) == first
