"""The classes of the types: names, parsing, parameters, and what users do with subclasses."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest

from cassandra import cqltypes as t
from cassandra.sentinels import EMPTY, UNSET_VALUE
from tests.conftest import Twins
from tests.processes import run_python
from tests.unit.cqltypes.test_wire import INT, TEXT, list_of, map_of, tuple_of, vector_of

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


@pytest.mark.parametrize(("cass", "cql"), NAMES)
def test_names_there_and_back(cass: str, cql: str) -> None:
    found = t.lookup_casstype(cass)
    assert found.cass_parameterized_type() == cass
    assert found.cql_parameterized_type() == cql
    assert t.cql_typename(cass) == cql
    full = found.cass_parameterized_type(full=True)
    assert full.startswith(PREFIX)
    assert t.lookup_casstype(full) is found
    assert t.lookup_casstype(found) is found


def test_user_types_whose_hex_is_all_digits() -> None:
    """Hex of `addr` is 61646472: a name may look like a number."""
    found = t.lookup_casstype(
        f"{PREFIX}UserType(ks,61646472,61:{PREFIX}Int32Type,6262:{PREFIX}UTF8Type)"
    )
    assert issubclass(found, t.UserType)
    assert (found.keyspace, found.typename) == ("ks", "addr")
    assert found.fieldnames == ("a", "bb")
    assert found.subtypes == (t.Int32Type, t.UTF8Type)
    assert found.cql_parameterized_type() == "frozen<addr>"
    assert t.lookup_casstype(found.cass_parameterized_type(full=True)) is found
    nested = t.lookup_casstype("ListType(FrozenType(UserType(ks, 41, 61:Int32Type)))")
    assert nested.subtypes[0].subtypes[0].typename == "A"
    assert nested.cql_parameterized_type() == 'list<frozen<frozen<"A">>>'


def test_names_of_collections_by_column() -> None:
    found = t.lookup_casstype("ColumnToCollectionType(6162:ListType(Int32Type))")
    assert found.fieldnames == ("6162",)
    assert found.subtypes == (list_of(INT),)
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
    with pytest.raises(ValueError, match="cannot be parsed"):
        t.lookup_casstype(text)


def test_unknown_classes_are_bytes(twins: Twins) -> None:
    found = t.lookup_casstype("com.example.OddType")
    assert found.cassname == "com.example.OddType"
    assert found.cql_parameterized_type() == "'com.example.OddType'"
    assert found.build_codec(twins.codecs).decode(b"\x01") == b"\x01"
    assert t.lookup_casstype("com.example.OddType") is found
    assert t.mkUnrecognizedType("com.example.OddType") is found
    inside = t.lookup_casstype("ListType(com.example.OddType)").build_codec(twins.codecs)
    assert inside.decode(inside.encode([b"a"])) == [b"a"]


def wrong_parameters() -> list[Callable[[], Any]]:
    return [
        lambda: t.ListType.apply_parameters([INT, INT]),
        lambda: t.MapType.apply_parameters([INT]),
    ]


def test_parameters() -> None:
    assert list_of(INT) is list_of(INT)
    assert list_of(INT) is not list_of(TEXT)
    assert list_of(INT).subtypes == (INT,)
    assert list_of(INT).num_subtypes == 1
    assert vector_of(t.FloatType, 3).vector_size == 3
    assert vector_of(t.FloatType, 3).subtype is t.FloatType
    assert vector_of(t.FloatType, 3).serial_size() == 12
    assert vector_of(TEXT, 3).serial_size() is None
    assert t.Int32Type.apply_parameters([]) is t.Int32Type
    for wrong in wrong_parameters():
        with pytest.raises(ValueError, match="parameters"):
            wrong()
    with pytest.raises(ValueError, match="no parameters yet"):
        t.ListType.codec()


@pytest.mark.parametrize("name", ["order", "key", "Upper", 'a"b'])
def test_the_name_of_a_type_is_quoted_if_the_language_keeps_it(name: str) -> None:
    made = t.UserType.make_udt_class("ks", name, ["a"], [INT])
    assert made.cql_parameterized_type() == 'frozen<"{}">'.format(name.replace('"', '""'))


def test_user_type_classes() -> None:
    made = t.UserType.make_udt_class("ks", "odd name", ["a", "b c", "class", "_x"], [INT] * 4)
    again = t.UserType.make_udt_class("ks", "odd name", ("a", "b c", "class", "_x"), (INT,) * 4)
    assert made is again
    assert made.cql_parameterized_type() == 'frozen<"odd name">'
    read = made.codec().decode(bytes.fromhex("0000000400000001" * 4))
    assert read == (1, 1, 1, 1)
    assert read.a == 1
    changed = t.UserType.make_udt_class("ks", "odd name", ["a"], [INT])
    assert changed is not made
    t.UserType.evict_udt_class("ks", "odd name")
    assert t.UserType.make_udt_class("ks", "odd name", ["a"], [INT]) is not changed
    with pytest.raises(ValueError, match="2 field names and 1 field types"):
        t.UserType.make_udt_class("ks", "u", ["a", "b"], [INT])


class Upper(t.UTF8Type):
    """What a user writes: text that is upper case on the wire."""

    typename = "upper"

    @classmethod
    def serialize(cls, val: Any, protocol_version: int) -> bytes:
        return super().serialize(val.upper(), protocol_version)

    @classmethod
    def deserialize(cls, byts: bytes, protocol_version: int) -> Any:
        return f"v{protocol_version}:" + t.UTF8Type.deserialize(byts, protocol_version).lower()


class Plain(t.CassandraType):
    """A type from nothing."""

    typename = "plain"

    @classmethod
    def serialize(cls, val: Any, protocol_version: int) -> bytes:
        return bytes([val])

    @classmethod
    def deserialize(cls, byts: bytes, protocol_version: int) -> Any:
        return byts[0]


class Lucky(t.Int32Type):
    """Overrides from_binary only."""

    @classmethod
    def from_binary(cls, byts: bytes | None, protocol_version: int) -> Any:
        return (
            "lucky"
            if byts is not None and byts.endswith(b"\x07")
            else super().from_binary(byts, protocol_version)
        )


def test_a_users_coding_is_honoured_wherever_it_stands(twins: Twins) -> None:
    assert Upper.to_binary("a", 4) == b"A"
    assert Upper.from_binary(b"A", 4) == "v4:a"
    assert Upper.build_codec(twins.codecs, 4).decode(b"A") == "v4:a"
    nested = map_of(Upper, tuple_of(list_of(Upper), Plain)).build_codec(twins.codecs, 4)
    body = nested.encode({"a": (["b"], 5)})
    assert b"A" in body
    assert b"B" in body
    assert dict(nested.decode(body).items()) == {"v4:a": (["v4:b"], 5)}
    lucky = list_of(Lucky).build_codec(twins.codecs)
    assert lucky.decode(lucky.encode([7, 8, None])) == ["lucky", 8, None]
    assert vector_of(Lucky, 2).build_codec(twins.codecs).decode(
        bytes.fromhex("0000000700000008")
    ) == ["lucky", 8]
    assert t.lookup_casstype("Upper") is Upper
    assert t.lookup_casstype("ListType(Plain)").subtypes == (Plain,)


def test_a_coding_that_gives_no_bytes(twins: Twins) -> None:
    class Bad(t.UTF8Type):
        @classmethod
        def serialize(cls, val: Any, protocol_version: int) -> Any:
            return val

    with pytest.raises(TypeError, match="not bytes"):
        list_of(Bad).build_codec(twins.codecs).encode(["a"])


def test_a_method_set_later_is_honoured() -> None:
    class Later(t.UTF8Type):
        pass

    both = list_of(Later)
    body = both.codec().encode(["a"])
    assert both.codec().decode(body) == ["a"]

    def deserialize(cls: Any, byts: bytes, protocol_version: int) -> str:
        return "changed"

    Later.deserialize = classmethod(deserialize)  # type: ignore[method-assign, assignment]
    assert both.codec().decode(body) == ["changed"]


def test_plans_are_made_once() -> None:
    assert list_of(INT).codec() is list_of(INT).codec()
    assert list_of(INT).codec(4) is list_of(INT).codec(4)
    assert list_of(INT).codec(5, "numpy") is not list_of(INT).codec(5, "list")


def test_nulls_in_the_class_methods() -> None:
    assert t.Int32Type.from_binary(None, 4) is None
    assert t.Int32Type.from_binary(b"", 4) is None
    assert t.UTF8Type.from_binary(b"", 4) == ""
    assert t.Int32Type.to_binary(None, 4) == b""


def test_counters_and_reversals() -> None:
    assert t.is_counter_type(t.CounterColumnType)
    assert t.is_counter_type(PREFIX + "CounterColumnType")
    assert t.is_counter_type("ReversedType(CounterColumnType)")
    assert not t.is_counter_type("LongType")
    assert t.is_reversed_casstype(PREFIX + "ReversedType(Int32Type)")
    assert not t.is_reversed_casstype("Int32Type")


def test_cql_type_strings() -> None:
    nested = ["map", ["text", "frozen", ["list", ["int"]]]]
    assert t.cqltype_to_python("map<text, frozen<list<int>>>") == nested
    assert t.python_to_cqltype(nested) == "map<text, frozen<list<int>>>"
    assert t.strip_frozen("map<text, frozen<list<frozen<a>>>>") == "map<text, list<a>>"
    assert t.cql_types_from_string("map<text, frozen<a>>") == ["map", "text", "a"]
    assert t.cqltype_to_python('frozen<"Odd, name">') == ["frozen", ['"Odd, name"']]
    for wrong in ("list<int", "list<int>>"):
        with pytest.raises(ValueError, match="bracket"):
            t.cqltype_to_python(wrong)


@pytest.mark.parametrize("sentinel", [UNSET_VALUE, EMPTY])
def test_sentinels_stay_one(sentinel: Any) -> None:
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(sentinel, protocol)) is sentinel
    assert repr(sentinel) in ("UNSET_VALUE", "EMPTY")


def test_classes_say_their_public_path() -> None:
    for name in t.__all__:
        value = getattr(t, name)
        if isinstance(value, type) and name not in ("EmptyValue",):
            assert value.__module__ == "cassandra.cqltypes", name


def test_the_import_stays_cheap() -> None:
    code = (
        "import sys, cassandra.cqltypes, cassandra.util\n"
        "heavy = {'numpy', 'geomet', 'asyncio', 'inspect', 'dataclasses', 'pandas'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    for lane in ("python",):
        done = run_python(code, {"CASS_DRIVER_IMPL": lane})
        assert done.stdout.strip() == "[]", done.stderr


def test_fields_without_a_name_for_python_go_by_position() -> None:
    names = ("a", "class", "_x", "1a", "a b", "A", "\u00e9")
    made = t.UserType.make_udt_class("ks", "odd", names, (t.Int32Type,) * 7)
    assert made.tuple_type._fields == (
        "a",
        "field_1_",
        "field_2_",
        "field_3_",
        "field_4_",
        "A",
        "\u00e9",
    )


def test_fields_of_one_name_make_plain_tuples() -> None:
    made = t.UserType.make_udt_class("ks", "twice", ("a", "a"), (t.Int32Type, t.Int32Type))
    assert made.tuple_type is None
    value = made.deserialize(made.serialize((1, 2), 4), 4)
    assert (type(value), value) == (tuple, (1, 2))


def test_names_that_tools_print() -> None:
    assert t.DateRangeType.typename == "daterange"
    assert repr(t.Int32Type) == "<class 'cassandra.cqltypes.Int32Type'>"


@pytest.mark.parametrize("depth", [100, 10_000])
def test_types_nested_without_end(depth: int) -> None:
    for read in (t.lookup_casstype, t.parse_casstype_args):
        with pytest.raises(ValueError, match="nested more than 64 deep"):
            read("ListType(" * depth + "Int32Type" + ")" * depth)
    for split in (t.cqltype_to_python, t.strip_frozen):
        with pytest.raises(ValueError, match="nested more than 64 deep"):
            split("list<" * depth + "int" + ">" * depth)


@pytest.mark.parametrize("wrapper", [t.FrozenType, t.ReversedType])
def test_a_wrapper_has_its_parameters_rule_for_empty_values(wrapper: Any) -> None:
    class Emptied(t.Int32Type):
        support_empty_values = True

    assert wrapper.apply_parameters([Emptied]).from_binary(b"", 5) is EMPTY
    assert wrapper.apply_parameters([t.Int32Type]).from_binary(b"", 5) is None
    assert wrapper.apply_parameters([t.UTF8Type]).from_binary(b"", 5) == ""
    assert wrapper.apply_parameters([t.Int32Type]).from_binary(None, 5) is None
