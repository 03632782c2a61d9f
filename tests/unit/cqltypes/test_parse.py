"""The type strings of servers are parsed to type classes, and written back as text."""

from __future__ import annotations

import pytest

from cassandra import cqltypes as t
from tests.unit.cqltypes.samples import INT, list_of

PREFIX = "org.apache.cassandra.db.marshal."


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
    cqltype = t.lookup_casstype(server_name)
    assert cqltype.cass_parameterized_type() == server_name
    assert cqltype.cql_parameterized_type() == cql_name
    assert t.cql_typename(server_name) == cql_name
    full_name = cqltype.cass_parameterized_type(full=True)
    assert full_name.startswith(PREFIX)
    assert t.lookup_casstype(full_name) is cqltype
    # A type class is returned as it is.
    assert t.lookup_casstype(cqltype) is cqltype


def test_user_types_whose_hex_is_all_digits() -> None:
    """A user-defined type's name in hexadecimal may consist of digits only (61646472 is `addr`),
    and must not be read as a number.
    """
    user_type = t.lookup_casstype(
        f"{PREFIX}UserType(ks,61646472,61:{PREFIX}Int32Type,6262:{PREFIX}UTF8Type)"
    )
    assert issubclass(user_type, t.UserType)
    assert (user_type.keyspace, user_type.typename) == ("ks", "addr")
    assert user_type.fieldnames == ("a", "bb")
    assert user_type.subtypes == (t.Int32Type, t.UTF8Type)
    assert user_type.cql_parameterized_type() == "frozen<addr>"
    assert t.lookup_casstype(user_type.cass_parameterized_type(full=True)) is user_type
    # In hexadecimal, 41 is "A".
    nested = t.lookup_casstype("ListType(FrozenType(UserType(ks, 41, 61:Int32Type)))")
    assert nested.subtypes[0].subtypes[0].typename == "A"
    assert nested.cql_parameterized_type() == 'list<frozen<frozen<"A">>>'


def test_names_of_collections_by_column() -> None:
    """Types of collections by column keep the names of their columns and aliases."""
    cqltype = t.lookup_casstype("ColumnToCollectionType(6162:ListType(Int32Type))")
    assert cqltype.fieldnames == ("6162",)
    assert cqltype.subtypes == (list_of(INT),)
    aliased = t.lookup_casstype("DynamicCompositeType(a=>UTF8Type,b=>ReversedType(Int32Type))")
    assert aliased.fieldnames == ("a", "b")
    assert (
        aliased.cass_parameterized_type()
        == "DynamicCompositeType(a=>UTF8Type, b=>ReversedType(Int32Type))"
    )


@pytest.mark.parametrize(
    "text",
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
def test_type_strings_that_cannot_be_parsed(text: str) -> None:
    """Type strings that are malformed or nested too deeply are refused."""
    with pytest.raises(ValueError, match="cannot be parsed"):
        t.lookup_casstype(text)


def test_counters_and_reversals() -> None:
    """Counters and reversed types are recognised by their class or by name."""
    assert t.is_counter_type(t.CounterColumnType)
    assert t.is_counter_type(PREFIX + "CounterColumnType")
    assert t.is_counter_type("ReversedType(CounterColumnType)")
    assert not t.is_counter_type("LongType")
    assert t.is_reversed_casstype(PREFIX + "ReversedType(Int32Type)")
    assert not t.is_reversed_casstype("Int32Type")


def test_cql_type_strings() -> None:
    """CQL types are split into nested lists, and joined again. Unbalanced brackets are refused."""
    nested = ["map", ["text", "frozen", ["list", ["int"]]]]
    assert t.cqltype_to_python("map<text, frozen<list<int>>>") == nested
    assert t.python_to_cqltype(nested) == "map<text, frozen<list<int>>>"
    assert t.strip_frozen("map<text, frozen<list<frozen<a>>>>") == "map<text, list<a>>"
    assert t.cql_types_from_string("map<text, frozen<a>>") == ["map", "text", "a"]
    assert t.cqltype_to_python('frozen<"Odd, name">') == ["frozen", ['"Odd, name"']]
    for unbalanced in ("list<int", "list<int>>"):
        with pytest.raises(ValueError, match="bracket"):
            t.cqltype_to_python(unbalanced)


@pytest.mark.parametrize("depth", [100, 10_000])
def test_types_nested_without_end(depth: int) -> None:
    for read in (t.lookup_casstype, t.parse_casstype_args):
        with pytest.raises(ValueError, match="nested more than 64 deep"):
            read("ListType(" * depth + "Int32Type" + ")" * depth)
    for split in (t.cqltype_to_python, t.strip_frozen):
        with pytest.raises(ValueError, match="nested more than 64 deep"):
            split("list<" * depth + "int" + ">" * depth)
