"""Test the codecs of composite types.

Each part of an encoded value is a length, the value, and an end byte. In a dynamic composite, the
alias or name of the part's type precedes the part.
"""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

from cassandra import cqltypes as t
from cassandra.errors import DecodeError
from tests.conftest import Implementation

COMPOSITE = t.lookup_casstype("CompositeType(UTF8Type, Int32Type)")
DYNAMIC_COMPOSITE = t.lookup_casstype("DynamicCompositeType(s=>UTF8Type, i=>Int32Type)")
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
    """A composite may have fewer parts than its type, and null is encoded as an empty part."""
    codec = COMPOSITE.build_codec(implementation.codecs)
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
def test_values_that_do_not_fit_are_refused(
    implementation: Implementation, value: Any, error: type[Exception], message: str
) -> None:
    """A composite with too many, too long or wrong parts is refused."""
    with pytest.raises(error, match=message):
        COMPOSITE.build_codec(implementation.codecs).encode(value)


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
def test_malformed_bytes_are_refused(
    implementation: Implementation, data: str, message: str
) -> None:
    """Malformed bytes of a composite raise a DecodeError that says what is wrong."""
    with pytest.raises(DecodeError, match=message):
        COMPOSITE.build_codec(implementation.codecs).decode(bytes.fromhex(data))


def test_parts_that_name_their_type(implementation: Implementation) -> None:
    """A part of a dynamic composite may name its type by an alias or by its class.

    A part with an unknown alias stays bytes.
    """
    codec = DYNAMIC_COMPOSITE.build_codec(implementation.codecs)
    # The high bit of a part's first two bytes says that their last byte is an alias: 0x73 is "s",
    # 0x69 is "i", and 0x78 is "x", which was not declared.
    data = bytes.fromhex("8073 0001 61 00  8069 0004 00000001 00")
    assert codec.encode([("s", "a"), ("i", 1)]) == data
    assert codec.encode(data) == data
    assert codec.decode(data) == ("a", 1)
    class_name = f"{PACKAGE}Int32Type".encode()
    named_by_class = (
        len(class_name).to_bytes(2, "big") + class_name + bytes.fromhex("0004 00000001 00")
    )
    assert codec.decode(named_by_class) == (1,)
    assert codec.decode(bytes.fromhex("8078 0001 61 00")) == (b"a",)


def test_dynamic_composites_that_were_read_can_be_bound_again(
    implementation: Implementation,
) -> None:
    """A decoded dynamic composite, or a copy of it, is encoded to the bytes that it was read from.

    The decoded values do not have the aliases of their types, so the tuple keeps the bytes.
    """
    codec = DYNAMIC_COMPOSITE.build_codec(implementation.codecs)
    for data in ("8073 0001 61 00  8069 0004 00000001 00", "8078 0001 61 00", "8073 0000 00"):
        value = codec.decode(bytes.fromhex(data))
        for copied in (value, copy.deepcopy(value), pickle.loads(pickle.dumps(value))):
            assert copied == value
            assert codec.encode(copied) == bytes.fromhex(data)


@pytest.mark.parametrize("value", [[("x", 1)], ["s"], [("s",)]])
def test_parts_without_a_known_alias_cannot_be_encoded(
    implementation: Implementation, value: Any
) -> None:
    """A part of a dynamic composite without a declared alias raises TypeError."""
    codec = DYNAMIC_COMPOSITE.build_codec(implementation.codecs)
    with pytest.raises(TypeError, match=r"a pair of an alias \(s, i\) and a value"):
        codec.encode(value)


def test_names() -> None:
    """The name of a composite type contains its components' names, and is quoted in CQL."""
    assert COMPOSITE.cql_parameterized_type() == (
        f"'{PACKAGE}CompositeType({PACKAGE}UTF8Type, {PACKAGE}Int32Type)'"
    )
    assert DYNAMIC_COMPOSITE.cql_parameterized_type() == (
        f"'{PACKAGE}DynamicCompositeType(s=>{PACKAGE}UTF8Type, i=>{PACKAGE}Int32Type)'"
    )
    assert t.DynamicCompositeType.cass_parameterized_type() == "DynamicCompositeType"
