"""Tests of the types for which a converter is registered.

The tests cover how their names are parsed, and which columns' types they match.
"""

from __future__ import annotations

from typing import Any

import pytest

from cassandra.codecs.type_patterns import column_key, pattern_of
from cassandra.cqltypes import UserType, lookup_casstype

# Two user-defined types with the same name, in different keyspaces.
MONEY = UserType.make_udt_class("shop", "money", ("amount",), (lookup_casstype("DecimalType"),))
OTHER_MONEY = UserType.make_udt_class("bank", "money", ("amount",), MONEY.subtypes)


@pytest.mark.parametrize(
    ("written", "normalised"),
    [
        ("text", "text"),
        ("VARCHAR", "text"),
        ("list<text>", "list<text>"),
        (" map < text , frozen<set<int>> > ", "map<text, set<int>>"),
        ("tuple<int,text>", "tuple<int, text>"),
        ("frozen<tuple<int>>", "tuple<int>"),
        ("vector<float, 3>", "vector<float, 3>"),
        ("money", "money"),
        ("shop.Money", "shop.money"),
        ('"Shop"."Money"', '"Shop"."Money"'),
        ('list<frozen<"Shop".money>>', 'list<"Shop".money>'),
        ('shop."Money 2"', 'shop."Money 2"'),
        ('list<frozen<"My shop"."a,<b">>', 'list<"My shop"."a,<b">'),
        ('map<text, shop."a""b">', 'map<text, shop."a""b">'),
        ('list<shop . "Money">', 'list<shop."Money">'),
        ("'org.example.Type'", "'org.example.Type'"),
        (MONEY, "shop.money"),
        (lookup_casstype("ListType(UTF8Type)"), "list<text>"),
        (lookup_casstype("VectorType(FloatType, 3)"), "vector<float, 3>"),
        (lookup_casstype("ReversedType(FrozenType(Int32Type))"), "int"),
    ],
)
def test_names_of_types_are_normalised(written: Any, normalised: str) -> None:
    assert str(pattern_of(written)) == normalised
    assert pattern_of(str(pattern_of(written))) == pattern_of(written)


def test_a_quoted_name_is_a_user_defined_type() -> None:
    """A quoted name is a user-defined type, but an unquoted misspelt name is refused."""
    assert pattern_of('"timstamp"').is_user_type


@pytest.mark.parametrize(
    ("written", "error", "message"),
    [
        ("", ValueError, "it names 0 types"),
        ("int, text", ValueError, "it names 2 types"),
        ("timstamp", ValueError, "did you mean timestamp"),
        ("list", ValueError, "list takes one type in brackets"),
        ("map<int>", ValueError, "map takes two types in brackets"),
        ("tuple", ValueError, "tuple takes its types in brackets"),
        ("frozen", ValueError, "frozen takes one type"),
        ("int<text>", ValueError, "int takes no types in brackets"),
        ("vector<float>", ValueError, "vector takes a type and a dimension"),
        ("vector<float, 0>", ValueError, "vector takes a type and a dimension"),
        ("a.b.c", ValueError, "more parts than a keyspace and a name"),
        ("list<int", ValueError, "leaves a bracket open"),
        ("<int>", ValueError, "brackets without a name"),
        ('"a', ValueError, "has no end"),
        ("a.", ValueError, "is not a name"),
        ("a b-c", ValueError, "without quotes"),
        (5, TypeError, r"named by a string .*, not by 5 \(int\)"),
        (int, TypeError, "named by a string"),
        (lookup_casstype("ListType"), ValueError, "list has no parameters"),
    ],
)
def test_invalid_types_are_refused(written: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        pattern_of(written)


@pytest.mark.parametrize(
    ("written", "cql_type", "matches"),
    [
        ("text", "UTF8Type", True),
        ("text", "ReversedType(UTF8Type)", True),
        ("text", "AsciiType", False),
        ("list<text>", "FrozenType(ListType(UTF8Type))", True),
        ("list<text>", "SetType(UTF8Type)", False),
        ("list<text>", "ListType(Int32Type)", False),
        ("tuple<int>", "TupleType(Int32Type, Int32Type)", False),
        ("vector<float, 3>", "VectorType(FloatType, 3)", True),
        ("vector<float, 3>", "VectorType(FloatType, 4)", False),
        ("money", MONEY, True),
        ("money", OTHER_MONEY, True),
        ("shop.money", MONEY, True),
        ("shop.money", OTHER_MONEY, False),
        ("cash", MONEY, False),
        ("money", "UTF8Type", False),
        ("'org.example.Type'", "org.example.Type", True),
    ],
)
def test_a_pattern_matches_types_of_columns(written: str, cql_type: Any, matches: bool) -> None:
    assert pattern_of(written).matches(lookup_casstype(cql_type)) is matches


def test_a_pattern_with_a_keyspace_is_more_precise() -> None:
    assert pattern_of("list<shop.money>").precision == 1
    assert pattern_of("list<money>").precision == 0


def test_names_of_columns() -> None:
    """The parts of a column's name are changed to lower case, except in quotes or in a tuple."""
    assert column_key("Shop.Orders.State") == ("shop", "orders", "state")
    assert column_key('shop."Orders"."a.""b"') == ("shop", "Orders", 'a."b')
    assert column_key(("shop", "Orders", "a b")) == ("shop", "Orders", "a b")


@pytest.mark.parametrize(
    ("written", "error", "message"),
    [
        ("orders.state", ValueError, "but 'orders.state' has 2 names"),
        ("state", ValueError, "has 1 names"),
        ("", ValueError, "is not a column"),
        ("a.b.", ValueError, "is not a column"),
        ("a..b", ValueError, "is not a column"),
        (("a", "b"), ValueError, "has 2 names"),
        (("a", "b", 3), TypeError, "tuple of three strings"),
        (None, TypeError, r"not by None \(NoneType\)"),
    ],
)
def test_invalid_column_names_are_refused(
    written: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        column_key(written)
