"""Test rules for the codecs of all types: encoding, decoding, and empty values."""

from __future__ import annotations

from typing import Any

import pytest

from cassandra import cqltypes as t
from cassandra.sentinels import EMPTY
from tests.conftest import Implementation
from tests.unit.cqltypes.samples import ALSO_WRITTEN, CONTAINERS, INT, SCALARS, TEXT, list_of


@pytest.mark.parametrize(("cqltype", "value", "expected"), [*SCALARS, *CONTAINERS])
def test_written_and_read(
    implementation: Implementation, cqltype: Any, value: Any, expected: str
) -> None:
    """Each sample value is encoded to the expected bytes, and decoded to an equal value.

    :param expected: the bytes in hexadecimal.
    """
    codec = cqltype.build_codec(implementation.codecs)
    assert codec.encode(value).hex() == expected
    decoded = codec.decode(bytes.fromhex(expected))
    assert decoded == value
    # Sets, maps and user-defined types are decoded to classes of the driver, so their classes
    # differ.
    if not isinstance(value, (set, dict, tuple)):
        assert type(decoded) is type(value)
    assert codec.decode(memoryview(bytes.fromhex(expected))) == value
    # The decoded value can be encoded again.
    assert codec.encode(decoded).hex() == expected


@pytest.mark.parametrize(("cqltype", "value", "expected"), ALSO_WRITTEN)
def test_other_values_with_the_same_encoding(
    implementation: Implementation, cqltype: Any, value: Any, expected: str
) -> None:
    """A value of another class is encoded to the expected bytes.

    The bytes are decoded to a value of the usual class, not to the original.
    """
    assert cqltype.build_codec(implementation.codecs).encode(value).hex() == expected


@pytest.mark.parametrize(("cqltype", "value", "expected"), [*SCALARS, *CONTAINERS])
def test_the_class_methods_go_the_same_way(cqltype: Any, value: Any, expected: str) -> None:
    """The class methods of types encode and decode values as their codecs do."""
    body = bytes.fromhex(expected)
    assert cqltype.to_binary(value, 4) == body
    assert cqltype.serialize(value, 5) == body
    if body or cqltype.empty_binary_ok:
        assert cqltype.from_binary(body, 4) == value
        assert cqltype.deserialize(body, 5) == value


def test_empty_values(implementation: Implementation) -> None:
    """Zero bytes are decoded to None for a number, and to "" or b"" for text and blob.

    If the type supports empty values, zero bytes are decoded to EMPTY.
    """

    def decode(cqltype: Any, data: bytes | None) -> Any:
        return cqltype.build_codec(implementation.codecs).decode_nullable(data)

    # This is a list with one element, which has zero bytes.
    list_with_empty_element = bytes.fromhex("00000001" + "00000000")
    assert decode(INT, None) is None
    assert decode(INT, b"") is None
    assert decode(TEXT, b"") == ""
    assert decode(t.BytesType, b"") == b""
    assert decode(list_of(INT), list_with_empty_element) == [None]
    assert decode(list_of(TEXT), list_with_empty_element) == [""]

    class IntWithEmptyValues(t.Int32Type):
        support_empty_values = True
        # An unregistered class is not found by its name in later tests.
        _registered = False

    int_with_empty_values: Any = IntWithEmptyValues
    assert decode(int_with_empty_values, b"") is EMPTY
    assert decode(list_of(int_with_empty_values), list_with_empty_element) == [EMPTY]
    list_codec = list_of(int_with_empty_values).build_codec(implementation.codecs)
    assert list_codec.encode([EMPTY, 1]).hex() == "00000002" + "00000000" + "00000004" + "00000001"
    assert int_with_empty_values.from_binary(b"", 4) is EMPTY


def test_setting_support_for_empty_values_changes_existing_codecs() -> None:
    """If a class gets support for empty values later, its existing codecs return EMPTY.

    The codecs of lists of this class also change.
    """

    class IntWithLaterSupport(t.Int32Type):
        _registered = False

    cqltype: Any = IntWithLaterSupport
    list_type = list_of(cqltype)
    body = bytes.fromhex("00000001" + "00000000")  # one element of zero bytes
    assert list_type.codec().decode(body) == [None]
    cqltype.support_empty_values = True
    assert list_type.codec().decode(body) == [EMPTY]
    assert cqltype.codec().decode_nullable(b"") is EMPTY
