"""Type classes: methods that an application overrides are used, and each codec is built only
once.
"""

from __future__ import annotations

from typing import Any

import pytest

from cassandra import cqltypes as t
from tests.conftest import Twins
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


class OverridesFromBinary(t.Int32Type):
    """A type class that overrides only `from_binary`."""

    @classmethod
    def from_binary(cls, byts: bytes | None, protocol_version: int) -> Any:
        return (
            "lucky"
            if byts is not None and byts.endswith(b"\x07")
            else super().from_binary(byts, protocol_version)
        )


def test_overridden_methods_are_used_inside_containers_too(twins: Twins) -> None:
    assert Upper.to_binary("a", 4) == b"A"
    assert Upper.from_binary(b"A", 4) == "v4:a"
    assert Upper.build_codec(twins.codecs, 4).decode(b"A") == "v4:a"
    nested = map_of(Upper, tuple_of(list_of(Upper), Plain)).build_codec(twins.codecs, 4)
    body = nested.encode({"a": (["b"], 5)})
    assert b"A" in body
    assert b"B" in body
    assert dict(nested.decode(body).items()) == {"v4:a": (["v4:b"], 5)}
    list_codec = list_of(OverridesFromBinary).build_codec(twins.codecs)
    assert list_codec.decode(list_codec.encode([7, 8, None])) == ["lucky", 8, None]
    assert vector_of(OverridesFromBinary, 2).build_codec(twins.codecs).decode(
        bytes.fromhex("0000000700000008")
    ) == ["lucky", 8]
    assert t.lookup_casstype("Upper") is Upper
    assert t.lookup_casstype("ListType(Plain)").subtypes == (Plain,)


def test_a_serialize_method_that_returns_no_bytes_is_an_error(twins: Twins) -> None:
    class TypeReturningValue(t.UTF8Type):
        @classmethod
        def serialize(cls, val: Any, protocol_version: int) -> Any:
            return val

    with pytest.raises(TypeError, match="not bytes"):
        list_of(TypeReturningValue).build_codec(twins.codecs).encode(["a"])


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
