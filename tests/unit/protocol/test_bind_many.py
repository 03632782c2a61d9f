"""Test `BindPlan.bind_many`, which binds many rows in one call.

The bytes are the same as if each row were bound by itself. Rows may be objects of many classes, and
errors name the row and the column.
"""

from __future__ import annotations

import collections
import dataclasses
import pickle
import sys
import threading
from collections.abc import Callable
from types import MappingProxyType, SimpleNamespace
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from cassandra import _impl
from cassandra.consistency import ConsistencyLevel
from cassandra.cqltypes import codecs as reference
from cassandra.errors import MissingParameter, UnsupportedOperation
from cassandra.protocol.params import QueryParams
from cassandra.sentinels import UNSET_VALUE
from tests.conftest import Implementation
from tests.unit.cqltypes.test_parity import typed_values
from tests.unit.protocol.wire import FakeColumn, columns

# batch types (native_protocol_v4.spec, section 4.1.7)
LOGGED, UNLOGGED = 0, 1


# The following classes of rows have values for the bind markers `a` and `b`.


# Classes of an application whose instances are bound as rows.
@dataclasses.dataclass
class Point:
    shared: ClassVar[int] = 5
    a: int
    b: str


class Slotted:
    __slots__ = ("a", "b", "other")

    def __init__(self, a: int, b: str) -> None:
        self.a, self.b, self.other = a, b, "not looked at"


Pair = collections.namedtuple("Pair", "b a")


def plan_of(implementation: Implementation, key: list[int] | None = None, **codecs: str) -> Any:
    """Return a bind plan.

    :param key: the indexes of the partition key's columns; None if they are unknown.
    :param codecs: the name of the codec of each column; by default, an int `a` and a text `b`.
    """
    codecs = codecs or {"a": "int32", "b": "text"}
    return implementation.bind.BindPlan(columns(implementation.codecs, **codecs), key)


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
@pytest.mark.slow
def test_bind_many_encodes_the_same_bytes_as_row_by_row(
    implementation: Implementation, data: st.DataObject
) -> None:
    """Random rows of random types are bound to the same bytes in each form and implementation."""
    typed_columns = data.draw(st.lists(typed_values(1), min_size=1, max_size=4))
    row = st.tuples(*[st.none() | st.just(UNSET_VALUE) | values for _, values in typed_columns])
    rows = data.draw(st.lists(row, max_size=6))
    names = [f"c{number}" for number in range(len(typed_columns))]
    columns = [
        FakeColumn(name, cql_type.build_codec(implementation.codecs))
        for name, (cql_type, _) in zip(names, typed_columns, strict=True)
    ]
    plan = implementation.bind.BindPlan(columns, routing_key_indexes=None)
    expected = [plan.bind(row, version=4) for row in rows]
    # Bind the rows as tuples, dicts, lists from an iterator, and objects with attributes.
    block = plan.bind_many(rows, version=4)
    assert block.rows() == expected
    assert len(block) == len(rows)
    assert block.count == len(rows)
    assert block.width == len(typed_columns)
    assert block.size == sum(len(bound.data) for bound in expected)
    assert block.has_unset == any(bound.has_unset for bound in expected)
    dicts = [dict(zip(names, row, strict=True)) for row in rows]
    assert plan.bind_many(dicts, version=4).rows() == expected
    assert plan.bind_many(map(list, rows), version=4).rows() == expected
    objects = [SimpleNamespace(**row_dict) for row_dict in dicts]
    assert plan.bind_many(objects, version=4).rows() == expected
    # Add the rows one by one to a block.
    growing_block = implementation.bind.RowsBlock(len(typed_columns))
    for row in rows:
        plan.bind_into(growing_block, row, version=4)
    assert growing_block.rows() == expected
    # The Python implementation must encode the same bytes.
    python_columns = [
        FakeColumn(name, cql_type.build_codec(reference))
        for name, (cql_type, _) in zip(names, typed_columns, strict=True)
    ]
    python_plan = Implementation("python").bind.BindPlan(python_columns, routing_key_indexes=None)
    python_block = python_plan.bind_many(rows, version=4)
    assert [bound.data for bound in python_block.rows()] == [bound.data for bound in expected]


def test_rows_of_all_forms(implementation: Implementation) -> None:
    """Tuples, mappings, dataclasses, named tuples and iterators are bound to the same bytes."""
    plan = plan_of(implementation)
    forms = [
        (1, "x"), [1, "x"], {"b": "x", "a": 1}, MappingProxyType({"a": 1, "b": "x"}), Point(1, "x"),
        Slotted(1, "x"), Pair(1, "x"),
        iter((1, "x")),
    ]  # fmt: skip
    expected = plan.bind((1, "x"), version=4)
    # `Pair` has the names of the markers in another order, but a named tuple is bound by position.
    with pytest.warns(RuntimeWarning, match="Pair are bound by position"):
        assert plan.bind_many(forms, version=4).rows() == [expected] * len(forms)


def test_fields_of_objects_are_found_by_alias(implementation: Implementation) -> None:
    """A field of attrs or pydantic is found by its alias, if this is the name of a bind marker.

    The alias is the name by which the constructor takes the field.
    """
    attrs, pydantic = pytest.importorskip("attrs"), pytest.importorskip("pydantic")
    plan = plan_of(implementation)
    expected = plan.bind((1, "x"), version=4)
    fields = {"_a": attrs.field(), "text": attrs.field(alias="b")}
    choices = pydantic.AliasChoices("other", "b", pydantic.AliasPath("c", 0))
    aliased_model = pydantic.create_model(
        "Model",
        number=(int, pydantic.Field(alias="a")),
        text=(str, pydantic.Field(validation_alias=choices)),
        more=(int, 0),
    )
    swapped_model = pydantic.create_model(
        "Swapped",
        a=(str, pydantic.Field(validation_alias="b")),
        b=(int, pydantic.Field(validation_alias="a")),
    )
    objects = [
        attrs.make_class("Declared", fields)(1, "x"),
        aliased_model(a=1, b="x"),
        swapped_model(a=1, b="x"),
    ]
    assert plan.bind_many(objects, version=4).rows() == [expected] * len(objects)
    assert [plan.bind_row(row, version=4) for row in objects] == [expected] * len(objects)
    longer_class = attrs.make_class("Longer", {**fields, "extra": attrs.field(default=0)})
    with pytest.raises(
        ValueError, match="row 0: Longer has the field 'extra', but the bind markers are a, b"
    ):
        plan.bind_many([longer_class(1, "x")], version=4)
    # If the class of the row has no field for a column, the value of the column is unset.
    shorter_class = attrs.make_class("Shorter", ["_b"])
    assert plan.bind_many([shorter_class("x")], version=4).rows() == [
        plan.bind((UNSET_VALUE, "x"), version=4)
    ]


def test_the_value_of_a_repeated_name_is_bound_twice(implementation: Implementation) -> None:
    """If two bind markers have the same name, the value in a mapping is bound for both."""
    column = columns(implementation.codecs, a="int32")[0]
    plan = implementation.bind.BindPlan([column, column], routing_key_indexes=None)
    assert plan.bind_many([{"a": 5}], version=4).rows() == [plan.bind((5, 5), version=4)]
    # With `strict`, a name without a bind marker is an error.
    strict = implementation.bind.BindPlan([column, column], routing_key_indexes=None, strict=True)
    assert strict.bind_many([{"a": 5}], version=4).rows() == [plan.bind((5, 5), version=4)]
    with pytest.raises(ValueError, match="row 0: values for 'b'"):
        strict.bind_many([{"a": 5, "b": 6}], version=4)


def test_missing_values_are_unset(implementation: Implementation) -> None:
    """A row of any form may lack the value of a column, except for columns of the partition key."""
    plan = plan_of(implementation, key=[0])
    expected = [plan.bind((1,), version=4)]
    for row in [(1,), [1], {"a": 1}, SimpleNamespace(a=1), MappingProxyType({"a": 1})]:
        block = plan.bind_many([row], version=4)
        assert block.rows() == expected
        assert block.has_unset
        # Protocol version 3 has no unset values, so each column needs a value.
        with pytest.raises((KeyError, ValueError), match="row 0: "):
            plan.bind_many([row], version=3)
    for row in [(), [], {"b": "x"}, SimpleNamespace(b="x"), MappingProxyType({"b": "x"})]:
        with pytest.raises(ValueError, match="row 1: the partition key needs a value for 'a'"):
            plan.bind_many([(1, "x"), row], version=4)
    with pytest.raises(UnsupportedOperation, match="row 0: UNSET_VALUE"):
        plan.bind_many([(1, UNSET_VALUE)], version=3)


@pytest.mark.parametrize(
    ("row", "error", "message"),
    [
        ((1, 2), TypeError, r'^row 2: column "b" \(text, \w+\): 2 \(int\)'),
        ({"a": "x", "b": "y"}, TypeError, r'^row 2: column "a" \(int, \w+\)'),
        ((1 << 40, "x"), ValueError, r'^row 2: column "a" \(int, \w+\): 1099511627776'),
        ((1, "x", 3), ValueError, "^row 2: Too many values"),
        (dataclasses.make_dataclass("Wide", ["a", "b", "c", "d"])(1, "x", 3, 4), ValueError,
         "^row 2: Wide has the fields 'c', 'd', but the bind markers are a, b"),
        ("text", TypeError, "^row 2: values are 'text'"),
        (b"text", TypeError, "^row 2: values are b'text'"),
        (5, TypeError, r"^row 2: values are 5 \(int\)"),
        (None, TypeError, "^row 2: values are None"),
        (SimpleNamespace(z=1), TypeError, "^row 2: .*none of the attributes a, b"),
    ],
)  # fmt: skip
def test_errors_name_the_row(
    implementation: Implementation, row: Any, error: type[Exception], message: str
) -> None:
    """Errors of `bind_many` name the row's position; a row that fails adds nothing to a block."""
    plan = plan_of(implementation, key=[0])
    with pytest.raises(error, match=message):
        plan.bind_many([(1, "x"), (2, "y"), row], version=4)
    # If a row cannot be bound, the block stays unchanged.
    block = plan.bind_many([(1, "x")], version=4)
    with pytest.raises(error):
        plan.bind_into(block, row, version=4)
    assert block.rows() == [plan.bind((1, "x"), version=4)]


@pytest.mark.filterwarnings("ignore:a mapping has values for")
@pytest.mark.parametrize("wrap", [dict, MappingProxyType])
@pytest.mark.parametrize(
    ("row", "version", "message"),
    [
        ({"A": 1, "b": "x"}, 4, "'a'; there is a value for 'A': did you mean 'a'?"),
        ({"key": 1}, 4, "key needs a value for 'a'; there are values for 'key'"),
        ({"a": UNSET_VALUE, "B": "x"}, 4, "key needs a value for 'a'; there are values for 'B'"),
        ({"b": "x"}, 4, "key needs a value for 'a'"),
        ({"a": 1, "B": "x"}, 3, "cannot leave unset; there is a value for 'B': did you mean 'b'?"),
    ],
)  # fmt: skip
def test_misspelt_names_of_rows_are_named(
    implementation: Implementation,
    wrap: Callable[[Any], Any],
    row: dict[str, Any],
    version: int,
    message: str,
) -> None:
    """If a mapping lacks a value, the error names the key that is probably meant."""
    plan = plan_of(implementation, key=[0])
    block = implementation.bind.RowsBlock(2)
    ways: list[Callable[[], object]] = [
        lambda: plan.bind_row(wrap(row), version),
        lambda: plan.bind_many([wrap(row)], version),
        lambda: plan.bind_into(block, wrap(row), version),
    ]
    for bind in ways:
        with pytest.raises(MissingParameter) as caught:
            bind()
        assert caught.value.args[0].endswith(message)


@pytest.mark.parametrize("wrap", [dict, MappingProxyType])
def test_strict_plans_refuse_unknown_names_before_missing_values(
    implementation: Implementation, wrap: Callable[[Any], Any]
) -> None:
    """With `strict`, the error for a misspelt partition key is the one for unknown names."""
    columns_of_plan = columns(implementation.codecs, a="int32", b="text")
    plan = implementation.bind.BindPlan(columns_of_plan, [0], strict=True)
    with pytest.raises(ValueError, match=r"^values for 'A', but the bind markers are a, b$"):
        plan.bind_row(wrap({"A": 1, "b": "x"}), 4)
    with pytest.raises(MissingParameter, match="the partition key needs a value for 'a'"):
        plan.bind_row(wrap({"b": "x"}), 4)


def test_errors_in_the_application_s_code_are_raised_unchanged(
    implementation: Implementation,
) -> None:
    """An error in the application's code is raised unchanged, with a note that names the row."""

    class FailingNumber:
        def __index__(self) -> int:
            raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine") as caught:
        plan_of(implementation).bind_many([(1, "x"), (FailingNumber(), "y")], version=4)
    if sys.version_info >= (3, 11):
        assert "in row 1" in caught.value.__notes__


def test_rows_of_a_block_can_be_read_pickled_and_appended(implementation: Implementation) -> None:
    """The rows of a block can be read, pickled and appended to another block."""
    plan = plan_of(implementation)
    block = plan.bind_many([(i, "x" * i) for i in range(300)], version=4)
    assert block.row(299) == plan.bind((299, "x" * 299), version=4)
    for index in (-1, 300):
        with pytest.raises(IndexError, match="of 300"):
            block.row(index)
    copy = pickle.loads(pickle.dumps(block))
    assert [row.data for row in copy.rows()] == [row.data for row in block.rows()]
    assert not copy.has_unset
    # In the other process, another implementation may be in use.
    assert type(copy) is _impl.bind.RowsBlock
    # A row with only one value has an unset value for the second column.
    copy.append(plan.bind((1,), version=4))
    assert len(copy) == 301
    assert copy.has_unset
    assert len(block) == 300
    with pytest.raises(ValueError, match="3 values, but the others have 2"):
        copy.append(implementation.bind.ValuesBlock(count=3, data=b""))
    assert "300 rows x 2 values" in repr(block)
    empty = plan.bind_many(rows=[], version=4)
    assert (len(empty), empty.rows(), empty.size) == (0, [], 0)
    reserved = implementation.bind.RowsBlock(2)
    # Reserving space for rows is only a hint: fewer rows may be added.
    reserved.reserve(10_000)
    for i in range(300):
        plan.bind_into(reserved, (i, "x" * i), version=4)
    assert reserved.rows() == block.rows()


def test_a_value_may_add_a_row_to_the_block_while_it_is_bound(
    implementation: Implementation,
) -> None:
    """If binding a value adds a row to the same block, both rows are stored completely.

    The inner row is stored before the outer row.
    """
    plan = plan_of(implementation)
    block = implementation.bind.RowsBlock(2)

    class RowAddingNumber:
        def __index__(self) -> int:
            plan.bind_into(block, (7, "inner"), version=4)
            return 1

    plan.bind_into(block, (RowAddingNumber(), "outer"), version=4)
    assert block.rows() == [plan.bind((7, "inner"), version=4), plan.bind((1, "outer"), version=4)]


def test_rows_that_are_cleared_while_they_are_bound_are_read_safely(
    implementation: Implementation,
) -> None:
    """A value that clears its row while it is encoded must not make C code read freed memory."""
    plan = plan_of(implementation, key=None, a="int32", b="int32", c="text")

    class ClearingNumber:
        def __index__(self) -> int:
            row.clear()
            return 1

    row: Any = {"a": ClearingNumber(), "b": ClearingNumber(), "c": "x" * 50}
    values = list(row.values())
    # If a dict changes while it is bound, values may be lost, but nothing may crash.
    assert plan.bind_many([row], version=4).count == 1
    # A list is copied before its values are encoded, so clearing it has no effect.
    row = values
    assert plan.bind_many([row], version=4).rows() == [plan.bind((1, 1, "x" * 50), version=4)]


def test_threads_may_add_to_the_same_block(implementation: Implementation) -> None:
    """Four threads add 500 rows each to one block, and no row is lost or damaged."""
    plan = plan_of(implementation)
    block = implementation.bind.RowsBlock(2)

    def add_rows(first_number: int) -> None:
        for i in range(first_number, first_number + 500):
            plan.bind_into(block, (i, str(i)), version=4)

    threads = [
        threading.Thread(target=add_rows, args=(first_number,))
        for first_number in range(0, 2000, 500)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(bound.data for bound in block.rows()) == sorted(
        plan.bind((i, str(i)), version=4).data for i in range(2000)
    )


def test_binding_tuples_creates_no_object_per_row(compiled: Implementation) -> None:
    """Compiled code must bind all rows into one buffer, without an object for each row or value."""
    plan = plan_of(compiled)
    rows = [(i, "x") for i in range(1000)]
    blocks = [plan.bind_many(rows, version=4)]
    count_before = sys.getallocatedblocks()
    blocks.append(plan.bind_many(rows, version=4))
    # An object for each row would increase the count by 1000.
    assert sys.getallocatedblocks() - count_before < 50


# -- in the body of a batch ------------------------------------------------------------------------
#
# A statement of a batch is a tuple: (is it prepared, id or query, values).


def params() -> QueryParams:
    return QueryParams(ConsistencyLevel.ONE)


def test_a_batch_of_a_block_equals_one_of_single_statements(implementation: Implementation) -> None:
    """In a batch, a block of rows is encoded like one statement for each row."""
    plan = plan_of(implementation)
    for count in (0, 1, 3, 500):
        rows = [(i, "x" * (i % 70)) for i in range(count)]
        one_by_one: list[tuple[Any, ...]] = [
            (True, b"id", plan.bind(row, version=4)) for row in rows
        ]
        simple_statement = (False, "INSERT", None)
        other_statement = (True, b"other", plan.bind((1, "y"), version=4))
        block_statement = (True, b"id", plan.bind_many(rows, version=4))
        for version in (3, 4, 5):
            batch_body = implementation.bodies.batch_body
            with_rows = [simple_statement, *one_by_one, other_statement, *one_by_one]
            with_blocks = [simple_statement, block_statement, other_statement, block_statement]
            body = batch_body(UNLOGGED, with_blocks, params(), version=version)
            assert body == batch_body(UNLOGGED, with_rows, params(), version=version)


def test_limits_of_a_batch(implementation: Implementation) -> None:
    """A batch has at most 65,535 statements, and each row of a block counts as a statement.

    A block cannot be used with a query string, and cannot have unset values in protocol version 3.
    """
    plan = plan_of(implementation)
    batch_body = implementation.bodies.batch_body
    block = plan.bind_many([(1, "")] * 0xFFFF, version=4)
    block_statement = (True, b"id", block)
    body = batch_body(LOGGED, [block_statement], params(), version=4)
    # Each statement takes 19 bytes (kind, id, number of values, and the values 1 and ""), and the
    # batch itself takes 6 bytes.
    assert len(body) == 0xFFFF * 19 + 6
    with pytest.raises(ValueError, match="a batch of 65536 statements"):
        batch_body(LOGGED, [block_statement, (False, "x", None)], params(), version=4)
    unset_block = plan.bind_many([(1,)], version=4)
    with pytest.raises(UnsupportedOperation, match="version 3"):
        batch_body(LOGGED, [(True, b"id", unset_block)], params(), version=3)
    with pytest.raises(TypeError, match="rows for the text"):
        batch_body(LOGGED, [(False, "INSERT", block)], params(), version=4)
