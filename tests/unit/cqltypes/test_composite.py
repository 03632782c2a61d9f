"""The encoding of composite types, byte by byte: each part is a length, the value, and an
end byte.
"""

from __future__ import annotations

from typing import Any

import pytest

from cassandra import cqltypes as t
from cassandra.errors import DecodeError
from tests.conftest import Implementation

PAIR = t.lookup_casstype("CompositeType(UTF8Type, Int32Type)")
NAMED = t.lookup_casstype("DynamicCompositeType(s=>UTF8Type, i=>Int32Type)")
PACKAGE = "org.apache.cassandra.db.marshal."


@pytest.mark.parametrize(
    ("value", "data"),
    [
        (("a", 1), "0001 61 00  0004 00000001 00"),
        (("a",), "0001 61 00"),
        (("", None), "0000 00  0000 00"),
        ((), ""),
    ],
)
def test_parts_are_encoded_and_decoded(
    implementation: Implementation, value: tuple[Any, ...], data: str
) -> None:
    codec = PAIR.build_codec(implementation.codecs)
    assert codec.encode(value) == bytes.fromhex(data)
    assert codec.decode(bytes.fromhex(data)) == value


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        (("a", 1, 2), ValueError, "has 3 parts, .* takes 2"),
        (("a" * 65_536,), ValueError, "a part of a composite has at most 65535"),
        (("a", "x"), TypeError, r"part 1 of CompositeType\(UTF8Type, Int32Type\)"),
        (5, TypeError, "CompositeType"),
    ],
)
def test_values_that_are_refused(
    implementation: Implementation, value: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        PAIR.build_codec(implementation.codecs).encode(value)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("00", "truncated"),
        ("0002 61 00", "a part claims 2 bytes and an end byte, 2 are left"),
        ("0001 61", "truncated"),
        ("0000 00 0000 00 0000 00", "3 bytes left over after 2 parts"),
        ("0000 00 0003 000001 00", "part 1 of"),
    ],
)
def test_bytes_that_are_refused(implementation: Implementation, data: str, message: str) -> None:
    with pytest.raises(DecodeError, match=message):
        PAIR.build_codec(implementation.codecs).decode(bytes.fromhex(data))


def test_parts_that_name_their_type(implementation: Implementation) -> None:
    """A part may name its type by an alias or by its class. With an unknown alias it stays bytes;
    wrong values are refused.
    """
    codec = NAMED.build_codec(implementation.codecs)
    data = bytes.fromhex("8073 0001 61 00  8069 0004 00000001 00")
    assert codec.encode([("s", "a"), ("i", 1)]) == data
    assert codec.encode(data) == data
    assert codec.decode(data) == ("a", 1)
    name = f"{PACKAGE}Int32Type".encode()
    by_class = len(name).to_bytes(2, "big") + name + bytes.fromhex("0004 00000001 00")
    assert codec.decode(by_class) == (1,)
    # The alias of this part was not declared, so the part stays bytes.
    assert codec.decode(bytes.fromhex("8078 0001 61 00")) == (b"a",)
    for wrong_value in ([("x", 1)], ["s"], [("s",)]):
        with pytest.raises(TypeError, match=r"a pair of an alias \(s, i\) and a value"):
            codec.encode(wrong_value)


def test_names() -> None:
    """The name of a composite type contains the names of its components; in CQL it is quoted."""
    assert PAIR.cql_parameterized_type() == (
        f"'{PACKAGE}CompositeType({PACKAGE}UTF8Type, {PACKAGE}Int32Type)'"
    )
    assert NAMED.cql_parameterized_type() == (
        f"'{PACKAGE}DynamicCompositeType(s=>{PACKAGE}UTF8Type, i=>{PACKAGE}Int32Type)'"
    )
    assert t.DynamicCompositeType.cass_parameterized_type() == "DynamicCompositeType"
