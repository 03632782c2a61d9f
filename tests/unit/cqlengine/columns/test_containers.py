"""Columns of lists, sets, maps, tuples and user-defined types."""

from __future__ import annotations

from typing import Any

import pytest

from cassandra.cqlengine import columns as c
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
    assert named(column).db_type == column.cql_type == text
    assert column.get_column_def() == f'"column" {text}'


def test_resolve_udts() -> None:
    class Outer(UserType):
        inner = c.List(c.UserDefinedType(Address))

    found: list[Any] = []
    c.resolve_udts(c.Map(c.Text, c.UserDefinedType(Outer)), found)
    assert found == [Address, Outer]
