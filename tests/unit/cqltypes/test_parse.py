"""Test how the names of types that servers send are parsed to type classes, and written."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from cassandra import cqltypes as t
from cassandra.cqltypes.base import _by_cassname
from cassandra.cqltypes.parse import lookup_cqltype, lookup_parameterized_cqltype
from tests.unit.cqltypes.samples import INT, list_of

PREFIX = "org.apache.cassandra.db.marshal."
# Each tuple has the name of a type on the server, and its name in CQL.
NAMES = [
    ("AsciiType", "ascii"),
    ("BooleanType", "boolean"),
    ("ByteType", "tinyint"),
    ("BytesType", "blob"),
    ("CounterColumnType", "counter"),
    ("DateType", "timestamp"),
    ("DecimalType", "decimal"),
    ("DoubleType", "double"),
    ("DurationType", "duration"),
    ("FloatType", "float"),
    ("InetAddressType", "inet"),
    ("Int32Type", "int"),
    ("IntegerType", "varint"),
    ("LongType", "bigint"),
    ("ShortType", "smallint"),
    ("SimpleDateType", "date"),
    ("TimeType", "time"),
    ("TimeUUIDType", "timeuuid"),
    ("TimestampType", "timestamp"),
    ("UTF8Type", "text"),
    ("UUIDType", "uuid"),
    ("VarcharType", "varchar"),
    ("EmptyType", "empty"),
    ("ListType(Int32Type)", "list<int>"),
    ("SetType(UTF8Type)", "set<text>"),
    ("MapType(UTF8Type, ListType(Int32Type))", "map<text, list<int>>"),
    ("TupleType(Int32Type, UTF8Type)", "frozen<tuple<int, text>>"),
    ("FrozenType(ListType(Int32Type))", "frozen<list<int>>"),
    ("ReversedType(Int32Type)", "int"),
    ("VectorType(FloatType, 3)", "vector<float, 3>"),
    ("VectorType(VectorType(UTF8Type, 2), 3)", "vector<vector<text, 2>, 3>"),
    (
        "CompositeType(UTF8Type, Int32Type)",
        f"'{PREFIX}CompositeType({PREFIX}UTF8Type, {PREFIX}Int32Type)'",
    ),
]


@pytest.mark.parametrize(("server_name", "cql_name"), NAMES)
def test_type_names_survive_a_round_trip(server_name: str, cql_name: str) -> None:
    """A type is found by its name on the server, with or without its Java package."""
    cqltype = t.lookup_casstype(server_name)
    assert cqltype.cass_parameterized_type() == server_name
    assert cqltype.cql_parameterized_type() == cql_name
    assert t.cql_typename(server_name) == cql_name
    full_name = cqltype.cass_parameterized_type(full=True)
    assert full_name.startswith(PREFIX)
    assert t.lookup_casstype(full_name) is cqltype
    # A type class is returned unchanged.
    assert t.lookup_casstype(cqltype) is cqltype


def test_the_hexadecimal_name_of_a_user_type_may_consist_of_digits() -> None:
    """If the hexadecimal name of a user-defined type consists of digits, it is still a name.

    For example, 61646472 is the name `addr`, not a number.
    """
    user_type = t.lookup_casstype(
        f"{PREFIX}UserType(ks,61646472,61:{PREFIX}Int32Type,6262:{PREFIX}UTF8Type)"
    )
    assert issubclass(user_type, t.UserType)
    assert user_type.keyspace == "ks"
    assert user_type.typename == "addr"
    assert user_type.fieldnames == ("a", "bb")
    assert user_type.subtypes == (t.Int32Type, t.UTF8Type)
    assert user_type.cql_parameterized_type() == "frozen<addr>"
    assert t.lookup_casstype(user_type.cass_parameterized_type(full=True)) is user_type
    # The name of this type is "A", which is 41 in hexadecimal.
    list_type = t.lookup_casstype("ListType(FrozenType(UserType(ks, 41, 61:Int32Type)))")
    assert list_type.subtypes[0].subtypes[0].typename == "A"
    assert list_type.cql_parameterized_type() == 'list<frozen<frozen<"A">>>'


def test_collections_by_column_keep_the_names_of_columns() -> None:
    """A ColumnToCollectionType keeps the hexadecimal names of its columns."""
    cqltype = t.lookup_casstype("ColumnToCollectionType(6162:ListType(Int32Type))")
    assert cqltype.fieldnames == ("6162",)
    assert cqltype.subtypes == (list_of(INT),)


def test_dynamic_composites_keep_their_aliases() -> None:
    """A DynamicCompositeType keeps the aliases of its types."""
    cqltype = t.lookup_casstype("DynamicCompositeType(a=>UTF8Type,b=>ReversedType(Int32Type))")
    assert cqltype.fieldnames == ("a", "b")
    assert (
        cqltype.cass_parameterized_type()
        == "DynamicCompositeType(a=>UTF8Type, b=>ReversedType(Int32Type))"
    )


@pytest.mark.parametrize(
    "type_name",
    [
        "",
        "ListType(",
        "ListType(Int32Type",
        "ListType)",
        "ListType(Int32Type))",
        "ListType(,)",
        "a b",
        "Foo!",
        "ListType(Int32Type Int32Type)",
        "ListType(Int32Type, Int32Type)",
        "MapType(Int32Type)",
        "VectorType(FloatType)",
        "VectorType(FloatType, x)",
        "VectorType(FloatType, 0)",
        "UserType(ks)",
        "UserType(ks,zz,61:Int32Type)",
        "UserType(ks,61,Int32Type)",
        "ListType(" * 100 + "Int32Type" + ")" * 100,
    ],
)
def test_malformed_names_of_types_are_refused(type_name: str) -> None:
    """A name that is malformed, nested too deeply or has wrong parameters raises ValueError."""
    with pytest.raises(ValueError, match="cannot be parsed"):
        t.lookup_casstype(type_name)


def test_counters_and_reversed_types_are_recognised() -> None:
    """Counters and reversed types are recognized by their class or by a name of the server."""
    assert t.is_counter_type(t.CounterColumnType)
    assert t.is_counter_type(PREFIX + "CounterColumnType")
    assert t.is_counter_type("ReversedType(CounterColumnType)")
    assert not t.is_counter_type("LongType")
    assert t.is_reversed_casstype(PREFIX + "ReversedType(Int32Type)")
    assert not t.is_reversed_casstype("Int32Type")


def test_cql_types_are_split_into_nested_lists() -> None:
    """A CQL type is split into nested lists, which can be joined again.

    Unbalanced brackets raise ValueError.
    """
    nested = ["map", ["text", "frozen", ["list", ["int"]]]]
    assert t.cqltype_to_python("map<text, frozen<list<int>>>") == nested
    assert t.python_to_cqltype(nested) == "map<text, frozen<list<int>>>"
    assert t.cqltype_to_python('frozen<"Odd, name">') == ["frozen", ['"Odd, name"']]
    assert t.cqltype_to_python('ks."Odd, <name"') == ['ks."Odd, <name"']
    assert t.cqltype_to_python('ks."open') == ['ks."open']
    for unbalanced in ("list<int", "list<int>>"):
        with pytest.raises(ValueError, match="bracket"):
            t.cqltype_to_python(unbalanced)


def test_frozen_is_removed_from_cql_types() -> None:
    """`strip_frozen` removes frozen from a CQL type, at any depth."""
    assert t.strip_frozen("map<text, frozen<list<frozen<a>>>>") == "map<text, list<a>>"
    assert t.cql_types_from_string("map<text, frozen<a>>") == ["map", "text", "a"]


@pytest.mark.parametrize("depth", [100, 10_000])
def test_types_nested_too_deeply_are_refused(depth: int) -> None:
    """A type that is nested more than 64 deep raises ValueError."""
    for read in (t.lookup_casstype, t.parse_casstype_args):
        with pytest.raises(ValueError, match="nested more than 64 deep"):
            read("ListType(" * depth + "Int32Type" + ")" * depth)
    for split in (t.cqltype_to_python, t.strip_frozen):
        with pytest.raises(ValueError, match="nested more than 64 deep"):
            split("list<" * depth + "int" + ">" * depth)


def test_an_unknown_class_of_a_server_is_an_unrecognized_type() -> None:
    """An unknown class of a server becomes an UnrecognizedType that keeps the class's name.

    A server may have classes that the driver does not know.
    """
    cqltype = t.lookup_casstype("com.example.Money")
    assert issubclass(cqltype, t.UnrecognizedType)
    assert cqltype.cass_parameterized_type(full=True) == "com.example.Money"
    assert t.cql_typename("ListType(com.example.Money)") == "list<'com.example.Money'>"


def test_a_user_type_may_have_no_fields() -> None:
    """A user-defined type without fields can be parsed."""
    user_type: Any = t.lookup_casstype("UserType(ks,61646472)")
    assert user_type.typename == "addr"
    assert user_type.fieldnames == user_type.subtypes == ()


def test_a_type_is_found_by_its_name_in_cql() -> None:
    """`lookup_cqltype` finds a type by its CQL name, and raises KeyError for an unknown name."""
    assert lookup_cqltype("int") is t.Int32Type
    with pytest.raises(KeyError):
        lookup_cqltype("integer")


def test_types_by_their_cql_name_with_parameters() -> None:
    """`lookup_parameterized_cqltype` finds any type but user-defined types."""
    nested = lookup_parameterized_cqltype("map<text, frozen<tuple<int, vector<float, 3>>>>")
    assert nested.cql_parameterized_type() == ("map<text, frozen<tuple<int, vector<float, 3>>>>")
    assert lookup_parameterized_cqltype("int") is t.Int32Type
    with pytest.raises(KeyError, match="address"):
        lookup_parameterized_cqltype("list<ks.address>")
    with pytest.raises(ValueError, match="leaves a bracket open"):
        lookup_parameterized_cqltype("list<int")


class MoneyType(t.DecimalType):
    """A type class of an application."""


@pytest.mark.parametrize("cqltype", [t.Int32Type, t.ListType, t.UnrecognizedType, MoneyType])
def test_a_type_class_is_the_same_after_pickling(cqltype: Any) -> None:
    """An unpickled type class is the same object as the original class."""
    assert pickle.loads(pickle.dumps(cqltype)) is cqltype


@pytest.mark.parametrize(
    "name",
    [
        "com.example.Money",
        "com.example.Money(Int32Type)",
        "MapType(UTF8Type, ListType(Int32Type))",
        "TupleType(Int32Type, FrozenType(SetType(Int32Type)))",
        "ReversedType(VectorType(ListType(FloatType), 3))",
        "CompositeType(UTF8Type, Int32Type)",
        "DynamicCompositeType(b=>BytesType, i=>ReversedType(IntegerType))",
        "ColumnToCollectionType(6e:ListType(Int32Type))",
        "UserType(ks,61646472,61:Int32Type)",
        "UserType(ks,61646472,61:ListType(UserType(ks,62,62:Int32Type)))",
    ],
)
def test_a_class_that_was_made_for_a_type_is_made_again(name: str) -> None:
    """A class that was created for a server's type is created again by unpickling."""
    cqltype: Any = t.lookup_casstype(name)
    pickled: Any = pickle.loads(pickle.dumps(cqltype))
    assert pickled.cass_parameterized_type(full=True) == cqltype.cass_parameterized_type(full=True)
    assert pickled is cqltype


def test_pickled_types_do_not_become_classes_of_the_application(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A process may have a class with the name of a driver's class, which must not be unpickled."""
    name = "ListType(MapType(UTF8Type, VectorType(Int32Type, 3)))"
    cqltype = t.lookup_casstype(name)
    pickled = pickle.dumps(cqltype)
    for known in ("ListType", "MapType", "UTF8Type", "VectorType", "Int32Type"):
        monkeypatch.setitem(_by_cassname, known, MoneyType)
    assert pickle.loads(pickled) is cqltype


def test_pickled_types_keep_classes_of_the_application() -> None:
    """A class of the application is unpickled as a parameter although another class is known."""
    pickled = pickle.dumps(t.ListType.apply_parameters((MoneyType,)))
    assert __name__.encode() in pickled
    assert pickle.loads(pickled).subtypes == (MoneyType,)


def test_a_class_of_an_application_is_pickled_with_its_module() -> None:
    """The pickled form of an application's type class contains the class's module.

    A process that has not imported the module imports it when it unpickles the class.
    """
    assert __name__.encode() in pickle.dumps(MoneyType)
