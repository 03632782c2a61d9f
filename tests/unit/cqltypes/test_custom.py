"""Test custom types whose server class the driver does not know."""

from __future__ import annotations

from cassandra import cqltypes as t
from tests.conftest import Implementation


def test_values_of_unknown_classes_are_bytes(implementation: Implementation) -> None:
    """A type with an unknown server class has the quoted class as its CQL name.

    Its values stay bytes, also in containers.
    """
    unknown_type = t.lookup_casstype("com.example.OddType")
    assert unknown_type.cassname == "com.example.OddType"
    assert unknown_type.cql_parameterized_type() == "'com.example.OddType'"
    assert unknown_type.build_codec(implementation.codecs).decode(b"\x01") == b"\x01"
    assert t.lookup_casstype("com.example.OddType") is unknown_type
    assert t.mkUnrecognizedType("com.example.OddType") is unknown_type
    list_codec = t.lookup_casstype("ListType(com.example.OddType)").build_codec(
        implementation.codecs
    )
    assert list_codec.decode(list_codec.encode([b"a"])) == [b"a"]
