"""Test `row_class`, which returns the class of named tuples for a result's column names."""

from __future__ import annotations

import copy
import pickle
from collections import OrderedDict
from typing import Any

import pytest

from cassandra import _impl
from cassandra.cqltypes import UTF8Type
from cassandra.protocol.column_specs import ColumnMetadata, ResultMetadata
from cassandra.protocol.messages.results import rows_result
from cassandra.protocol.rowclass import row_class
from cassandra.query.row_factories import (
    dict_factory,
    named_tuple_factory,
    ordered_dict_factory,
    pseudo_namedtuple_factory,
    tuple_factory,
)
from tests.conftest import Implementation


def test_a_class_is_made_once() -> None:
    """For the same names in the same order, `row_class` returns the same class."""
    assert row_class(("a", "b")) is row_class(["a", "b"])
    assert row_class(("a", "b")) is not row_class(("b", "a"))


def test_all_functions_that_create_named_tuples_use_the_same_class(
    implementation: Implementation,
) -> None:
    """All pages, statements and sessions share one row class for the same column names."""
    names = ("a_shape", "of_its", "own")
    cls = row_class(names)
    # This is one row with three texts "x", each after its length.
    body = b"\0\0\0\1x" * 3
    columns = [ColumnMetadata("ks", "t", name, UTF8Type) for name in names]
    for _ in range(2):
        plan = implementation.rows.RowPlan(names, [implementation.codecs.text()] * 3)
        # The number of rows precedes the rows.
        message = rows_result(ResultMetadata(columns), b"\0\0\0\1" + body, 0)
        for rows in (
            plan.named_tuples(body, offset=0, row_count=1),
            message.decode(named_tuple_factory),
            named_tuple_factory(list(names), [("x", "x", "x")]),
        ):
            assert rows == [("x", "x", "x")]
            assert type(rows[0]) is cls


def test_names_become_attributes() -> None:
    """Each column of a row gets a valid attribute name, even if the column's name is not."""
    names = [
        "plain", "count(*)", "system.ttl(a)", "_under", "trailing_", "class", "plain", "2x", "a b",
        "é",
    ]  # fmt: skip
    assert row_class(names)._fields == (
        "plain", "count", "system_ttl_a", "under", "trailing_", "field_5_", "plain_", "field_7_",
        "a_b", "field_9_",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["a", "a", "a"], ["a", "a_", "a__"]),
        (["a", "a_", "a"], ["a", "a_", "a__"]),
        (["count(*)", "count(*)"], ["count", "count_"]),
        (["a-b", "a_b"], ["a_b", "a_b_"]),
        (["_x", "x"], ["x", "x_"]),
        (["class", "class"], ["field_0_", "field_1_"]),
        (["field_1_", "1"], ["field_1_", "field_1__"]),
        (["x", "_1", "*", ""], ["x", "field_1_", "field_2_", "field_3_"]),
        (["[applied]", "cast(a as int)"], ["applied", "cast_a_as_int"]),
        (["ñandú", "index", "self", "print"], ["field_0_", "index", "self", "print"]),
    ],
)
def test_names_that_other_drivers_give(names: list[str], expected: list[str]) -> None:
    """A column name that is not an identifier becomes the same attribute as in cassandra-driver."""
    assert list(row_class(names)._fields) == expected
    (row,) = named_tuple_factory(names, [range(len(names))])
    assert row == tuple(range(len(names)))


def test_a_name_that_comes_very_often() -> None:
    """If a column name occurs 2000 times, the attributes get more and more underscores."""
    assert row_class(["a"] * 2000)._fields[-1] == "a" + "_" * 1999


def test_many_classes_do_not_pile_up() -> None:
    """The cache of row classes is limited, and classes beyond the limit are still correct."""
    for index in range(3000):
        assert row_class((f"column_{index}",))._fields == (f"column_{index}",)


def test_factories() -> None:
    """Each row factory returns rows of its class."""
    names, rows = ["a", "b"], [(1, 2), (3, 4)]
    assert tuple_factory(names, rows) == rows
    assert [row.b for row in named_tuple_factory(names, rows)] == [2, 4]
    assert dict_factory(names, rows) == [{"a": 1, "b": 2}, {"a": 3, "b": 4}]
    assert ordered_dict_factory(names, rows) == [OrderedDict(a=1, b=2), OrderedDict(a=3, b=4)]


def test_pseudo_named_tuples() -> None:
    """Pseudo named tuples must be readable by attribute, by index and in a loop."""
    (row,) = pseudo_namedtuple_factory(["a", "b"], [(1, 2)])
    assert row.a == 1
    assert row[1] == 2
    assert len(row) == 2
    assert list(row) == [1, 2]
    assert row == pseudo_namedtuple_factory(["a", "b"], [(1, 2)])[0]
    assert repr(row) == "Row(a=1, b=2)"


def test_factories_name_the_public_module_and_can_be_pickled() -> None:
    """Row factories have the public module `cassandra.query`, and can be pickled."""
    assert tuple_factory.__module__ == "cassandra.query"
    assert pickle.loads(pickle.dumps(dict_factory)) is dict_factory


def test_an_index_that_is_a_name_raises_an_error_with_advice(
    implementation: Implementation,
) -> None:
    """row["name"] raises TypeError, because a row is a tuple; compiled code suggests row.name."""
    row = type("Row", (implementation.rows.RowBase,), {})((1, 2))
    assert row[0] == 1
    assert row[-1] == 2
    assert row[:1] == (1,)
    for index in (2, -3):
        with pytest.raises(IndexError, match="tuple index out of range"):
            row[index]
    with pytest.raises(TypeError, match="indices must be integers or slices, not float"):
        row[1.0]
    with pytest.raises(TypeError) as caught:
        row["name"]
    if implementation.rows is _impl.twin("rows", "python"):
        # The Python implementation raises the error of `tuple` itself.
        assert "not str" in str(caught.value)
        return
    assert "write row.name, or have rows as dicts" in str(caught.value)
    with pytest.raises(TypeError, match=r"write row\._fields to see the attribute of count\(\*\)"):
        row["count(*)"]


def test_rows_behave_like_named_tuples() -> None:
    """A row can be compared, copied, changed by `_replace` and matched by patterns."""
    row: Any = row_class(("a", "b"))(1, [2])
    assert issubclass(type(row), tuple)
    assert row._fields == ("a", "b")
    assert row._asdict() == {"a": 1, "b": [2]}
    assert row == (1, [2])
    assert copy.deepcopy(row) == row
    assert row._replace(a=1) == row
    assert repr(row) == "Row(a=1, b=[2])"
    assert not hasattr(row, "__dict__")
    match row:
        case (a, [b]):
            assert a == 1
            assert b == 2
