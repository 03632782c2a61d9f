"""Codecs of all types: encoding, decoding, empty values."""

from __future__ import annotations

from typing import Any

import pytest

from cassandra import cqltypes as t
from cassandra.sentinels import EMPTY
from tests.conftest import Twins
from tests.unit.cqltypes.samples import (
    ALSO_WRITTEN,
    CONTAINERS,
    INT,
    SCALARS,
    TEXT,
    list_of,
)


@pytest.mark.parametrize(("cqltype", "value", "expected"), [*SCALARS, *CONTAINERS])
def test_written_and_read(twins: Twins, cqltype: Any, value: Any, expected: str) -> None:
    codec = cqltype.build_codec(twins.codecs)
    assert codec.encode(value).hex() == expected
    read = codec.decode(bytes.fromhex(expected))
    assert read == value
    if not isinstance(value, (set, dict, tuple)):
        assert type(read) is type(value)
    assert codec.decode(memoryview(bytes.fromhex(expected))) == value
    # A decoded value can be encoded again.
    assert codec.encode(read).hex() == expected


@pytest.mark.parametrize(("cqltype", "value", "expected"), ALSO_WRITTEN)
def test_other_values_with_the_same_encoding(
    twins: Twins, cqltype: Any, value: Any, expected: str
) -> None:
    """Each value is encoded to the bytes beside it, although it is decoded as another one."""
    assert cqltype.build_codec(twins.codecs).encode(value).hex() == expected


@pytest.mark.parametrize(("cqltype", "value", "expected"), [*SCALARS, *CONTAINERS])
def test_the_class_methods_go_the_same_way(cqltype: Any, value: Any, expected: str) -> None:
    """The class methods of types encode and decode like their codecs."""
    body = bytes.fromhex(expected)
    assert cqltype.to_binary(value, 4) == body
    assert cqltype.serialize(value, 5) == body
    if body or cqltype.empty_binary_ok:
        assert cqltype.from_binary(body, 4) == value
        assert cqltype.deserialize(body, 5) == value


def test_empty_values(twins: Twins) -> None:
    """A value of no bytes is null for numbers, empty for texts and blobs, and EMPTY for types that
    support empty values.
    """

    def nullable(cqltype: Any, data: bytes | None) -> Any:
        return cqltype.build_codec(twins.codecs).decode_nullable(data)

    assert nullable(INT, None) is None
    assert nullable(INT, b"") is None
    assert nullable(TEXT, b"") == ""
    assert nullable(t.BytesType, b"") == b""
    assert nullable(list_of(INT), bytes.fromhex("00000001" + "00000000")) == [None]
    assert nullable(list_of(TEXT), bytes.fromhex("00000001" + "00000000")) == [""]

    class Supporting(t.Int32Type):
        support_empty_values = True
        _registered = False

    supporting: Any = Supporting
    assert nullable(supporting, b"") is EMPTY
    assert nullable(list_of(supporting), bytes.fromhex("00000001" + "00000000")) == [EMPTY]
    assert (
        list_of(supporting).build_codec(twins.codecs).encode([EMPTY, 1]).hex()
        == "00000002" + "00000000" + "00000004" + "00000001"
    )
    assert supporting.from_binary(b"", 4) is EMPTY


def test_setting_support_for_empty_values_changes_existing_codecs() -> None:
    class Later(t.Int32Type):
        _registered = False

    cqltype: Any = Later
    both = list_of(cqltype)
    body = bytes.fromhex("00000001" + "00000000")
    assert both.codec().decode(body) == [None]
    cqltype.support_empty_values = True
    assert both.codec().decode(body) == [EMPTY]
    assert cqltype.codec().decode_nullable(b"") is EMPTY
