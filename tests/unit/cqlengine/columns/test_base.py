"""Test what all columns of the object mapper have: validation of values, defaults and options."""

from __future__ import annotations

import datetime
import decimal
import ipaddress
import uuid
from typing import Any

import pytest

from cassandra.cqlengine import ValidationError, columns as c
from cassandra.cqlengine.models import Model
from cassandra.util import Date, Duration, Time
from tests.unit.cqlengine.test_usertype import Address

ID = uuid.UUID(int=5)


def named(column: c.Column[Any]) -> Any:
    """Name the column "column" and its model "Model", as the declaration of a model does."""
    column.owner = "Model"
    column.set_column_name("column")
    return column


# a column, an argument of `validate`, and the expected result
ACCEPTED: list[tuple[c.Column[Any], Any, Any]] = [
    (c.Ascii(), "a", "a"),
    (c.Text(), bytearray(b"x"), "x"),
    (c.Text(min_length=1, max_length=2), "ab", "ab"),
    (c.Blob(), b"a", b"a"),
    (c.Boolean(), 1, True),
    (c.TinyInt(), "-128", -128),
    (c.Integer(), 1.0, 1),
    (c.BigInt(), 1 << 62, 1 << 62),
    (c.VarInt(), 1 << 90, 1 << 90),
    (c.Float(), "1.5", 1.5),
    (c.Decimal(), 0.1, decimal.Decimal("0.1")),
    (c.Decimal(), "2", decimal.Decimal(2)),
    (c.UUID(), str(ID), ID),
    (c.DateTime(), datetime.date(2020, 1, 2), datetime.datetime(2020, 1, 2)),
    (c.DateTime(), 1.5, datetime.datetime(1970, 1, 1, 0, 0, 1, 500000)),
    (c.Date(), datetime.datetime(1970, 1, 6, 7), Date(5)),
    (c.Time(), datetime.time(0, 0, 1), Time(10**9)),
    (c.Duration(), Duration(1, 2, 3), Duration(1, 2, 3)),
    (c.Inet(), ipaddress.ip_address("::1"), "::1"),
    (c.List(c.Integer), ("1", 2), [1, 2]),
    (c.Set(c.Integer), frozenset({1}), {1}),
    (c.Set(c.Integer, strict=False), [1, 1], {1}),
    (c.Map(c.Text, c.Integer), {"a": "1"}, {"a": 1}),
    (c.Tuple(c.Text, c.Integer), ["a", None], ("a", None)),
    (c.Vector(c.Float, 2), (1, 2), [1.0, 2.0]),
    (c.Vector(c.Text, 1), ["a"], ["a"]),
    (c.UserDefinedType(Address), {"street": "a", "no": 1}, Address(street="a", number=1)),
    (c.List(c.UserDefinedType(Address)), [Address(street="a")], [Address(street="a")]),
]


@pytest.mark.parametrize(
    ("column", "argument", "expected"), ACCEPTED, ids=lambda value: repr(value)[:40]
)
def test_accepted_values(column: c.Column[Any], argument: Any, expected: Any) -> None:
    """`validate` converts a value to the type that is stored; most columns accept None, too."""
    result = named(column).validate(argument)
    assert result == expected
    assert type(result) is type(expected)
    if not getattr(column, "min_length", None):
        assert column.validate(None) is None


# a column, and an argument that `validate` refuses
REFUSED: list[tuple[c.Column[Any], Any]] = [
    (c.Ascii(), "ä"),
    (c.Text(), 5),
    (c.Text(min_length=2), "a"),
    (c.Text(max_length=1), "ab"),
    (c.Text(required=True), None),
    (c.Text(required=True), ""),
    (c.Blob(), "text"),
    (c.TinyInt(), 128),
    (c.SmallInt(), 1 << 15),
    (c.Integer(), 1 << 31),
    (c.BigInt(), -(1 << 63) - 1),
    (c.Integer(), "x"),
    (c.VarInt(), []),
    (c.Float(), "x"),
    (c.Decimal(), "x"),
    (c.UUID(), "x"),
    (c.UUID(), 5),
    (c.DateTime(), "x"),
    (c.DateTime(), 1e300),
    (c.Date(), "x"),
    (c.Time(), "x"),
    (c.Duration(), 5),
    (c.Inet(), "x"),
    (c.List(c.Integer), "12"),
    (c.List(c.Integer), {1: 2}),
    (c.List(c.Integer), [None]),
    (c.List(c.Integer), 5),
    (c.Set(c.Integer), [1]),
    (c.Map(c.Integer, c.Integer), [1]),
    (c.Map(c.Integer, c.Integer), {"x": 1}),
    (c.Map(c.Integer, c.Integer, frozen=True), {1: None}),
    (c.Tuple(c.Integer), (1, 2)),
    (c.Tuple(c.Integer), "1"),
    (c.Vector(c.Float, 2), [1.0]),
    (c.Vector(c.Float, 1), ["x"]),
    (c.Vector(c.Float, 1), [None]),
    (c.UserDefinedType(Address), 5),
    (c.UserDefinedType(Address), {"number": "x"}),
]


@pytest.mark.parametrize(("column", "argument"), REFUSED, ids=lambda value: repr(value)[:40])
def test_refused_values(column: c.Column[Any], argument: Any) -> None:
    """The error for a value that does not fit names the model and the column."""
    with pytest.raises(ValidationError) as refused:
        named(column).validate(argument)
    # `Address` is a user-defined type. For a field of the type, the error names the type instead of
    # the model.
    assert "Model.column" in str(refused.value) or "Address." in str(refused.value)


@pytest.mark.parametrize(
    "column", [c.List(c.Text), c.Set(c.Text), c.Map(c.Text, c.Integer), c.Text()]
)
def test_attributes_that_applications_set_do_not_change_a_column_s_type(column: Any) -> None:
    """Attributes that an application sets on a column do not change the column's CQL type."""
    type_before = column.db_type
    # For example, django-cassandra-engine adds the attributes of Django's fields to columns.
    for name in ("name", "attname", "verbose_name", "model", "field", "validators", "serialize"):
        setattr(column, name, "something")
    assert column.db_type == type_before


def test_defaults() -> None:
    """A default is a value or a function; each instance gets its own copy of a mutable value."""
    assert c.Integer(default=5).get_default() == 5
    assert c.UUID(default=uuid.uuid4).get_default() != c.UUID(default=uuid.uuid4).get_default()
    column = c.List(c.Integer, default=[1])
    assert column.get_default() == [1]
    assert column.get_default() is not column.get_default()


def test_values_are_converted_for_the_database() -> None:
    """`to_database` converts timestamps, dates and user-defined types to what the driver sends.

    A timestamp becomes milliseconds since 1970, a date days since 1970 plus 2**31, and a
    user-defined type a dict by the names in the database.
    """
    assert c.DateTime().to_database(datetime.datetime(1970, 1, 1, 0, 0, 1)) == 1000
    assert c.Date().to_database(Date(5)) == 5 + 2**31
    assert c.UserDefinedType(Address).to_database(Address(number=3)) == {"street": None, "no": 3}


def test_value_managers_notice_changes_and_deletion() -> None:
    """A value manager notices if its column's value is changed or deleted.

    The value manager of a counter starts at 0.
    """
    manager: Any = c.BaseValueManager(instance=None, column=c.Text(), value="a")
    assert manager.changed
    manager.reset_previous_value()
    assert not manager.changed
    manager.delval()
    assert manager.deleted
    assert manager.getval() is None
    assert c.CounterValueManager(instance=None, column=c.Counter(), value=None).value == 0


def test_a_value_manager_of_the_application_has_no_effect_and_warns() -> None:
    """A column class with its own value manager causes a warning, because the mapper ignores it."""

    class Manager(c.BaseValueManager):
        """A value manager, which cassandra-driver calls for each access to the value."""

    class Shout(c.Text):
        value_manager = Manager

    with pytest.warns(RuntimeWarning, match=r"so Manager of the column name \(Shout\) has no eff"):

        class Named(Model):
            id = c.Integer(primary_key=True)
            name = Shout()

    assert Named(id=1, name="x").name == "x"


@pytest.mark.parametrize(
    ("column_class", "option", "message"),
    [
        (
            c.Integer,
            "primarykey",
            "Integer has no option 'primarykey'; did you mean 'primary_key'?",
        ),
        (c.Text, "maxlength", "Text has no option 'maxlength'; did you mean 'max_length'?"),
        (c.UUID, "defualt", "UUID has no option 'defualt'; did you mean 'default'?"),
        (c.Text, "pk", "Text has no option 'pk'; write primary_key=True"),
        (
            c.Text,
            "nullable",
            "Text has no option 'nullable'; a column may be null unless it is a key: write "
            "required=True to refuse None",
        ),
    ],
)
def test_misspelt_options(column_class: Any, option: str, message: str) -> None:
    """The error for a misspelled option of a column suggests the right option."""
    with pytest.raises(TypeError) as refused:
        column_class(**{option: True})
    assert str(refused.value) == message
    with pytest.raises(
        # No option is similar to this name, so the error lists all options.
        TypeError,
        match=r"has no option 'zzz'; it has .*primary_key, partition_key,",
    ):
        column_class(zzz=1)
    # A container column also has the option `frozen`.
    with pytest.raises(TypeError, match="List has no option 'frozn'; did you mean 'frozen'"):
        c.List(c.Text, frozn=True)


def test_the_name_of_a_column_as_its_first_argument() -> None:
    """The name of a column as its first argument causes a warning, because it declares a key.

    ``Integer("id")`` is right in SQLAlchemy, but here the first argument is `primary_key`.
    """
    with pytest.warns(RuntimeWarning, match="primary_key='id' makes this column a key") as caught:
        assert c.Integer("id").primary_key  # type: ignore[arg-type]
    assert caught[0].filename == __file__


def test_the_length_of_a_text_is_a_number() -> None:
    """`max_length` of a text column must be a number."""
    with pytest.raises(TypeError, match="max_length is a number, not '3'"):
        c.Text(max_length="3")  # type: ignore[arg-type]
