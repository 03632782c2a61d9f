"""Test rules for all type classes.

Methods that an application overrides are used, and each codec is built only once.
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


class UpperType(t.UTF8Type):
    """An application's subclass, for strings that the server stores in upper case."""

    typename = "upper"

    @classmethod
    def serialize(cls, val: Any, protocol_version: int) -> bytes:
        return super().serialize(val.upper(), protocol_version)

    @classmethod
    def deserialize(cls, byts: bytes, protocol_version: int) -> Any:
        text = t.UTF8Type.deserialize(byts, protocol_version)
        return f"v{protocol_version}:{text.lower()}"


class PlainType(t.CassandraType):
    """A type class without a built-in type as its base, which encodes an int in one byte."""

    typename = "plain"

    @classmethod
    def serialize(cls, val: Any, protocol_version: int) -> bytes:
        return bytes([val])

    @classmethod
    def deserialize(cls, byts: bytes, protocol_version: int) -> Any:
        return byts[0]


class UnnamedType(t.CassandraType):
    """A type that has no name in CQL."""


class LuckySevenType(t.Int32Type):
    """A type class that overrides only `from_binary`, and decodes the number 7 to "lucky"."""

    @classmethod
    def from_binary(cls, byts: bytes | None, protocol_version: int) -> Any:
        number = super().from_binary(byts, protocol_version)
        return "lucky" if number == 7 else number


def test_overridden_methods_are_used_inside_containers_too(implementation: Implementation) -> None:
    """Overridden `serialize` and `deserialize` methods are called for each element.

    The methods get the protocol version of the container.
    """
    assert UpperType.to_binary("a", 4) == b"A"
    assert UpperType.from_binary(b"A", 4) == "v4:a"
    assert UpperType.build_codec(implementation.codecs, 4).decode(b"A") == "v4:a"
    nested_type = map_of(UpperType, tuple_of(list_of(UpperType), PlainType))
    nested_codec = nested_type.build_codec(implementation.codecs, 4)
    body = nested_codec.encode({"a": (["b"], 5)})
    assert b"A" in body
    assert b"B" in body
    assert dict(nested_codec.decode(body).items()) == {"v4:a": (["v4:b"], 5)}


def test_an_overridden_from_binary_is_used_inside_containers_too(
    implementation: Implementation,
) -> None:
    """An overridden `from_binary` is called for each element of a list or vector."""
    list_codec = list_of(LuckySevenType).build_codec(implementation.codecs)
    assert list_codec.decode(list_codec.encode([7, 8, None])) == ["lucky", 8, None]
    vector_codec = vector_of(LuckySevenType, 2).build_codec(implementation.codecs)
    assert vector_codec.decode(bytes.fromhex("00000007" + "00000008")) == ["lucky", 8]


def test_an_application_s_class_is_found_by_its_name() -> None:
    """`lookup_casstype` finds an application's type class by its name."""
    assert t.lookup_casstype("UpperType") is UpperType
    assert t.lookup_casstype("ListType(PlainType)").subtypes == (PlainType,)


def test_a_serialize_method_that_returns_no_bytes_is_an_error(
    implementation: Implementation,
) -> None:
    """If an overridden `serialize` returns no bytes for an element, the list raises TypeError."""

    class TypeReturningValue(t.UTF8Type):
        @classmethod
        def serialize(cls, val: Any, protocol_version: int) -> Any:
            return val

    with pytest.raises(TypeError, match="not bytes"):
        list_of(TypeReturningValue).build_codec(implementation.codecs).encode(["a"])


def test_a_method_that_is_set_later_is_used() -> None:
    """If a method of a class is replaced, existing list types use the new method."""

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
    """A type has one codec for each protocol version and each class of decoded vectors."""
    assert list_of(INT).codec() is list_of(INT).codec()
    assert list_of(INT).codec(4) is list_of(INT).codec(4)
    assert list_of(INT).codec(5, "numpy") is not list_of(INT).codec(5, "list")


def test_nulls_in_the_class_methods() -> None:
    """Null and empty numbers are decoded to None, and None is encoded as zero bytes."""
    assert t.Int32Type.from_binary(None, 4) is None
    assert t.Int32Type.from_binary(b"", 4) is None
    assert t.UTF8Type.from_binary(b"", 4) == ""
    assert t.Int32Type.to_binary(None, 4) == b""


def test_an_original_method_that_is_set_again_is_inherited_again() -> None:
    """If the original method is assigned again, the class inherits it as before."""

    class TextType(t.UTF8Type):
        pass

    original = TextType.serialize
    TextType.serialize = classmethod(lambda *_: b"changed")  # type: ignore[method-assign, assignment]
    assert TextType.to_binary("a", 5) == b"changed"
    TextType.serialize = original  # type: ignore[method-assign]
    assert "serialize" not in vars(TextType)
    assert TextType.to_binary("a", 5) == b"a"


def test_an_original_method_may_replace_an_overridden_one() -> None:
    """A subclass may replace its base class's overridden method with the original method.

    The base class keeps its overridden method.
    """

    class OrdinaryTextType(UpperType):
        pass

    # UTF8Type has the method itself, or inherits it from CassandraType.
    OrdinaryTextType.serialize = t.UTF8Type.__dict__.get(  # type: ignore[method-assign]
        "serialize", t.CassandraType.__dict__["serialize"]
    )
    assert "serialize" in vars(OrdinaryTextType)
    assert OrdinaryTextType.to_binary("a", 5) == b"a"
    assert UpperType.to_binary("a", 5) == b"A"


def test_a_method_that_is_deleted_is_inherited_again() -> None:
    """If an overridden method is deleted, the class inherits the original method again."""

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
    """A change of an attribute on which codecs depend makes the cached codecs invalid.

    If an application sets or deletes such an attribute, new codecs are built for the type and for
    all types that contain it. `rules_of_types` counts these changes.
    """

    class NumberType(t.Int32Type):
        pass

    one_empty_element = b"\0\0\0\1\0\0\0\0"  # a list with one element of zero bytes
    codec_before = NumberType.codec()
    count_before = base.rules_of_types()
    assert list_of(NumberType).codec().decode(one_empty_element) == [None]
    NumberType.support_empty_values = True
    assert NumberType.codec() is not codec_before
    assert list_of(NumberType).codec().decode(one_empty_element) == [EMPTY]
    assert NumberType.from_binary(b"", 5) is EMPTY
    assert base.rules_of_types() > count_before
    del NumberType.support_empty_values
    assert list_of(NumberType).codec().decode(one_empty_element) == [None]
    # Other attributes have no effect on codecs.
    codec = NumberType.codec()
    NumberType.comment = "for tests"
    assert NumberType.codec() is codec


def test_a_new_type_is_registered_by_its_names() -> None:
    """A new type class is registered by its class name and its CQL name.

    If another type has the CQL name already, that type keeps the name. A class whose name begins
    with "_" is not registered.
    """

    class NumberOfTest(t.Int32Type):
        typename = "number_of_test"

    count_before = base.rules_of_types()
    assert base._by_cassname["NumberOfTest"] is NumberOfTest
    assert base._by_cqlname["number_of_test"] is NumberOfTest

    class OtherNumberOfTest(t.Int32Type):
        typename = "number_of_test"

    class _Hidden(t.Int32Type):
        typename = "hidden_of_test"

    assert base._by_cqlname["number_of_test"] is NumberOfTest
    assert "_Hidden" not in base._by_cassname
    assert "hidden_of_test" not in base._by_cqlname
    # Of the two later classes, only OtherNumberOfTest was registered, so the count grew by one.
    assert base.rules_of_types() == count_before + 1


def test_a_type_with_parameters_is_not_registered() -> None:
    """A type with parameters, such as list<int>, does not replace the registered type."""
    list_of(INT)
    assert base._by_cassname["ListType"] is t.ListType


def test_the_names_of_types() -> None:
    """A type has a name in CQL, and a name on the server.

    The server's name may be without its Java package. If a type has no name in CQL, CQL uses the
    server's name in quotes.
    """
    map_type = map_of(INT, t.UTF8Type)
    assert map_type.cql_parameterized_type() == "map<int, text>"
    assert map_type.cass_parameterized_type() == "MapType(Int32Type, UTF8Type)"
    prefix = base.apache_cassandra_type_prefix
    assert map_type.cass_parameterized_type(full=True) == (
        f"{prefix}MapType({prefix}Int32Type, {prefix}UTF8Type)"
    )
    assert t.CounterColumnType.cql_parameterized_type() == "counter"
    assert t.FrozenType.apply_parameters([INT]).cql_parameterized_type() == "frozen<int>"
    assert UnnamedType.cql_parameterized_type() == f"'{prefix}UnnamedType'"
    assert UnnamedType.codec().cql_name == "UnnamedType"
    assert t.Int32Type.codec().cql_name == "int"


def test_types_and_their_instances_have_a_repr() -> None:
    """The repr of a type is its class, and the repr of an instance has the CQL name and value."""
    assert repr(t.Int32Type) == "<class 'cassandra.cqltypes.Int32Type'>"
    assert repr(t.Int32Type(5)) == "<int( 5 )>"


def test_the_prefix_of_the_package_is_trimmed() -> None:
    """`trim_if_startswith` removes the package's prefix from the name of a type, if present."""
    prefix = base.apache_cassandra_type_prefix
    assert base.trim_if_startswith(f"{prefix}Int32Type", prefix) == "Int32Type"
    assert base.trim_if_startswith("Int32Type", prefix) == "Int32Type"


def test_parameters_are_counted() -> None:
    """Equal parameters give the same class, and a wrong number of parameters is an error."""
    with pytest.raises(ValueError, match=r"^map takes 2 parameters, got 1"):
        t.MapType.apply_parameters([INT])
    assert t.Int32Type.apply_parameters([]) is t.Int32Type
    assert t.MapType.apply_parameters([INT, INT]) is t.MapType.apply_parameters((INT, INT))
    assert t.MapType.apply_parameters([INT, INT]) is not t.MapType.apply_parameters(
        [INT, t.UTF8Type]
    )


def test_the_size_of_a_value_in_a_vector() -> None:
    """`serial_size` is a value's size in bytes within a vector, or None if it varies."""
    assert t.Int32Type.serial_size() == 4
    assert t.UTF8Type.serial_size() is None
    assert LuckySevenType.serial_size() == 4


def test_a_type_inside_another_one_has_its_cached_codec() -> None:
    """`sub_codec` returns the cached codec of a type, while `build_codec` builds a new codec."""
    codecs = implementations.codecs
    assert base.sub_codec(INT, codecs, 5, "list") is INT.codec(5, "list")
    assert INT.build_codec(codecs) is not INT.build_codec(codecs)
