"""Type classes: methods that an application overrides are used, and each codec is built only
once.
"""

from __future__ import annotations

from typing import Any

import pytest

import cassandra._impl as implementations
from cassandra import cqltypes as t
from cassandra.cqltypes import base
from cassandra.sentinels import EMPTY
from tests.conftest import Implementation
from tests.unit.cqltypes.samples import INT, list_of, map_of, tuple_of, vector_of


class Upper(t.UTF8Type):
    """An application's subclass, for texts that are in upper case on the server."""

    typename = "upper"

    @classmethod
    def serialize(cls, val: Any, protocol_version: int) -> bytes:
        return super().serialize(val.upper(), protocol_version)

    @classmethod
    def deserialize(cls, byts: bytes, protocol_version: int) -> Any:
        return f"v{protocol_version}:" + t.UTF8Type.deserialize(byts, protocol_version).lower()


class Plain(t.CassandraType):
    """A type class without any of the built-in types as its base."""

    typename = "plain"

    @classmethod
    def serialize(cls, val: Any, protocol_version: int) -> bytes:
        return bytes([val])

    @classmethod
    def deserialize(cls, byts: bytes, protocol_version: int) -> Any:
        return byts[0]


class Unnamed(t.CassandraType):
    """A type that has no name in CQL."""


class OverridesFromBinary(t.Int32Type):
    """A type class that overrides only `from_binary`."""

    @classmethod
    def from_binary(cls, byts: bytes | None, protocol_version: int) -> Any:
        return (
            "lucky"
            if byts is not None and byts.endswith(b"\x07")
            else super().from_binary(byts, protocol_version)
        )


def test_overridden_methods_are_used_inside_containers_too(implementation: Implementation) -> None:
    assert Upper.to_binary("a", 4) == b"A"
    assert Upper.from_binary(b"A", 4) == "v4:a"
    assert Upper.build_codec(implementation.codecs, 4).decode(b"A") == "v4:a"
    nested = map_of(Upper, tuple_of(list_of(Upper), Plain)).build_codec(implementation.codecs, 4)
    body = nested.encode({"a": (["b"], 5)})
    assert b"A" in body
    assert b"B" in body
    assert dict(nested.decode(body).items()) == {"v4:a": (["v4:b"], 5)}
    list_codec = list_of(OverridesFromBinary).build_codec(implementation.codecs)
    assert list_codec.decode(list_codec.encode([7, 8, None])) == ["lucky", 8, None]
    assert vector_of(OverridesFromBinary, 2).build_codec(implementation.codecs).decode(
        bytes.fromhex("0000000700000008")
    ) == ["lucky", 8]
    assert t.lookup_casstype("Upper") is Upper
    assert t.lookup_casstype("ListType(Plain)").subtypes == (Plain,)


def test_a_serialize_method_that_returns_no_bytes_is_an_error(
    implementation: Implementation,
) -> None:
    class TypeReturningValue(t.UTF8Type):
        @classmethod
        def serialize(cls, val: Any, protocol_version: int) -> Any:
            return val

    with pytest.raises(TypeError, match="not bytes"):
        list_of(TypeReturningValue).build_codec(implementation.codecs).encode(["a"])


def test_a_method_that_is_set_later_is_used() -> None:
    class TextType(t.UTF8Type):
        pass

    list_type = list_of(TextType)
    body = list_type.codec().encode(["a"])
    assert list_type.codec().decode(body) == ["a"]

    def deserialize(cls: Any, byts: bytes, protocol_version: int) -> str:
        return "changed"

    TextType.deserialize = classmethod(deserialize)  # type: ignore[method-assign, assignment]
    assert list_type.codec().decode(body) == ["changed"]


def test_codecs_are_built_once() -> None:
    assert list_of(INT).codec() is list_of(INT).codec()
    assert list_of(INT).codec(4) is list_of(INT).codec(4)
    assert list_of(INT).codec(5, "numpy") is not list_of(INT).codec(5, "list")


def test_nulls_in_the_class_methods() -> None:
    """Null and empty numbers are decoded to None, and None is encoded as no bytes."""
    assert t.Int32Type.from_binary(None, 4) is None
    assert t.Int32Type.from_binary(b"", 4) is None
    assert t.UTF8Type.from_binary(b"", 4) == ""
    assert t.Int32Type.to_binary(None, 4) == b""


def test_an_original_method_that_is_set_again_is_inherited_again() -> None:
    class TextType(t.UTF8Type):
        pass

    original = TextType.serialize
    TextType.serialize = classmethod(lambda *_: b"changed")  # type: ignore[method-assign, assignment]
    assert TextType.to_binary("a", 5) == b"changed"
    TextType.serialize = original  # type: ignore[method-assign]
    assert "serialize" not in vars(TextType)
    assert TextType.to_binary("a", 5) == b"a"

    # The class below overrides the method of an application's class, so it keeps the attribute.
    class Loud(Upper):
        pass

    Loud.serialize = t.UTF8Type.__dict__.get("serialize", t.CassandraType.__dict__["serialize"])  # type: ignore[method-assign]
    assert "serialize" in vars(Loud)
    assert Loud.to_binary("a", 5) == b"a"
    assert Upper.to_binary("a", 5) == b"A"


def test_a_method_that_is_deleted_is_inherited_again() -> None:
    class TextType(t.UTF8Type):
        @classmethod
        def serialize(cls, val: Any, protocol_version: int) -> bytes:
            return b"changed"

    assert TextType.codec().encode("a") == b"changed"
    del TextType.serialize
    assert TextType.codec().encode("a") == b"a"
    with pytest.raises(AttributeError):
        del TextType.serialize


def test_a_changed_attribute_makes_cached_codecs_invalid() -> None:
    class Number(t.Int32Type):
        pass

    one_empty = b"\0\0\0\1\0\0\0\0"  # a list with one element, of zero bytes
    before, rules = Number.codec(), base.rules_of_types()
    assert list_of(Number).codec().decode(one_empty) == [None]
    Number.support_empty_values = True
    assert Number.codec() is not before
    assert list_of(Number).codec().decode(one_empty) == [EMPTY]
    assert Number.from_binary(b"", 5) is EMPTY
    assert base.rules_of_types() > rules
    del Number.support_empty_values
    assert list_of(Number).codec().decode(one_empty) == [None]
    # Other attributes have no effect on codecs.
    codec = Number.codec()
    Number.comment = "for tests"
    assert Number.codec() is codec


def test_a_new_type_is_registered_by_its_names() -> None:
    class NumberOfTest(t.Int32Type):
        typename = "number_of_test"

    rules = base.rules_of_types()
    assert base._by_cassname["NumberOfTest"] is NumberOfTest
    assert base._by_cqlname["number_of_test"] is NumberOfTest

    # The first class keeps a CQL name. A class whose name begins with "_" is not registered.
    class OtherNumberOfTest(t.Int32Type):
        typename = "number_of_test"

    class _Hidden(t.Int32Type):
        typename = "hidden_of_test"

    assert base._by_cqlname["number_of_test"] is NumberOfTest
    assert "_Hidden" not in base._by_cassname
    assert "hidden_of_test" not in base._by_cqlname
    assert base.rules_of_types() == rules + 1
    # A type with parameters is no new name.
    list_of(NumberOfTest)
    assert base._by_cassname["ListType"] is t.ListType


def test_the_names_of_types() -> None:
    pairs = map_of(INT, t.UTF8Type)
    assert pairs.cql_parameterized_type() == "map<int, text>"
    assert pairs.cass_parameterized_type() == "MapType(Int32Type, UTF8Type)"
    prefix = base.apache_cassandra_type_prefix
    assert pairs.cass_parameterized_type(full=True) == (
        f"{prefix}MapType({prefix}Int32Type, {prefix}UTF8Type)"
    )
    assert t.CounterColumnType.cql_parameterized_type() == "counter"
    assert t.FrozenType.apply_parameters([INT]).cql_parameterized_type() == "frozen<int>"
    assert Unnamed.cql_parameterized_type() == f"'{prefix}Unnamed'"
    assert Unnamed.codec().cql_name == "Unnamed"
    assert t.Int32Type.codec().cql_name == "int"
    assert repr(t.Int32Type) == "<class 'cassandra.cqltypes.Int32Type'>"
    assert repr(t.Int32Type(5)) == "<int( 5 )>"
    assert base.trim_if_startswith(f"{prefix}Int32Type", prefix) == "Int32Type"
    assert base.trim_if_startswith("Int32Type", prefix) == "Int32Type"


def test_parameters_are_counted() -> None:
    with pytest.raises(ValueError, match=r"^map takes 2 parameters, got 1"):
        t.MapType.apply_parameters([INT])
    assert t.Int32Type.apply_parameters([]) is t.Int32Type
    assert t.MapType.apply_parameters([INT, INT]) is t.MapType.apply_parameters((INT, INT))
    assert t.MapType.apply_parameters([INT, INT]) is not t.MapType.apply_parameters(
        [INT, t.UTF8Type]
    )


def test_the_size_of_a_value_in_a_vector() -> None:
    assert t.Int32Type.serial_size() == 4
    assert t.UTF8Type.serial_size() is None
    assert OverridesFromBinary.serial_size() == 4


def test_a_type_inside_another_one_has_its_cached_codec() -> None:
    codecs = implementations.codecs
    assert base.sub_codec(INT, codecs, 5, "list") is INT.codec(5, "list")
    assert INT.build_codec(codecs) is not INT.build_codec(codecs)
