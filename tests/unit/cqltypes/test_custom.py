"""Custom types whose server class the driver does not know."""

from __future__ import annotations

from cassandra import cqltypes as t
from tests.conftest import Implementation


def test_unknown_classes_are_bytes(implementation: Implementation) -> None:
    unknown = t.lookup_casstype("com.example.OddType")
    assert unknown.cassname == "com.example.OddType"
    assert unknown.cql_parameterized_type() == "'com.example.OddType'"
    assert unknown.build_codec(implementation.codecs).decode(b"\x01") == b"\x01"
    assert t.lookup_casstype("com.example.OddType") is unknown
    assert t.mkUnrecognizedType("com.example.OddType") is unknown
    list_codec = t.lookup_casstype("ListType(com.example.OddType)").build_codec(
        implementation.codecs
    )
    assert list_codec.decode(list_codec.encode([b"a"])) == [b"a"]
