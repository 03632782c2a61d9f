"""Columns of lists, sets, maps, tuples and user-defined types."""

from __future__ import annotations

from typing import Any

import pytest

from cassandra.cqlengine import ValidationError, columns as c, models
from cassandra.cqlengine.usertype import UserType
from tests.unit.cqlengine.columns.test_base import named
from tests.unit.cqlengine.test_usertype import Address

TYPES = [
    (c.List(c.Integer), "list<int>"),
    (c.List(c.Set(c.Text)), "list<frozen<set<text>>>"),
    (c.Map(c.Text, c.List(c.Integer), frozen=True), "frozen<map<text, frozen<list<int>>>>"),
    (c.Tuple(c.Text, c.Tuple(c.Integer)), "tuple<text, frozen<tuple<int>>>"),
    (c.UserDefinedType(Address), "frozen<address>"),
    (c.List(c.UserDefinedType(Address)), "list<frozen<address>>"),
    (c.Vector(c.Float, 3), "vector<float, 3>"),
    (c.Bytes(), "blob"),
    (c.DateTime(), "timestamp"),
]


@pytest.mark.parametrize(("column", "text"), TYPES, ids=lambda value: repr(value)[:40])
def test_types(column: c.Column[Any], text: str) -> None:
    """Each column has the expected CQL type, alone and in the column's definition."""
    assert named(column).db_type == column.cql_type == text
    assert column.get_column_def() == f'"column" {text}'


def test_inner_user_defined_types_are_listed_first() -> None:
    """User-defined types are listed before the types that contain them."""

    class Outer(UserType):
        inner = c.List(c.UserDefinedType(Address))

    types: list[Any] = []
    c.resolve_udts(c.Map(c.Text, c.UserDefinedType(Outer)), types)
    assert types == [Address, Outer]


class Collections(models.Model):
    __keyspace__ = "ks"
    key = c.Integer(primary_key=True)
    list = c.List(c.Text)
    blobs = c.List(c.Blob)
    numbers = c.List(c.Integer)
    set = c.Set(c.Text)
    map = c.Map(c.Text, c.Text)
    tuple = c.Tuple(c.Text, c.Text)
    udt = c.UserDefinedType(Address)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("list", "abc", "Collections.list 'abc' is a str, not a list: write ['abc']"),
        ("list", "", "Collections.list '' is a str, not a list: write ['']"),
        ("blobs", b"abc", "Collections.blobs b'abc' is a bytes, not a list: write [b'abc']"),
        (
            "numbers",
            bytearray(b"a"),
            "Collections.numbers bytearray(b'a') is a bytearray, not a list: "
            "write [bytearray(b'a')]",
        ),
        ("set", "abc", "Collections.set 'abc' is a str, not a set: write {'abc'}"),
        ("map", "abc", "Collections.map 'abc' is not a dict object"),
        ("tuple", "ab", "Collections.tuple 'ab' is a str, not a tuple: write ('ab',)"),
        ("udt", "ab", "Collections.udt 'ab' is not a value of Address"),
    ],
)
def test_a_string_is_not_a_collection(name: str, value: Any, message: str) -> None:
    with pytest.raises(ValidationError) as refused:
        Collections(key=1, **{name: value})
    assert str(refused.value) == message
    row = Collections(key=1)
    setattr(row, name, value)
    with pytest.raises(ValidationError) as refused:
        row.validate()
    assert str(refused.value) == message
