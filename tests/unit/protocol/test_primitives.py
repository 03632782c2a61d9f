"""Test `Cursor`, which reads the notations of native_protocol_v5.spec, section 3, from bytes."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from cassandra.errors import ProtocolError
from cassandra.protocol.primitives import Cursor, address_text
from tests.unit.protocol.wire import byte, int32, short, string, string_list, string_multimap, value

# the name of a notation, its bytes, and the value that they are read as
READ: list[tuple[str, bytes, Any]] = [
    ("byte", b"\xff", 255),
    ("short", b"\xff\xfe", 65534),
    ("int32", b"\xff\xff\xff\xfe", -2),
    ("int64", b"\xff" * 7 + b"\xfe", -2),
    ("uuid", bytes(15) + b"\x05", UUID(int=5)),
    ("string", string("é"), "é"),
    ("long_string", int32(1) + b"a", "a"),
    ("blob", value(b"ab"), b"ab"),
    ("blob", value(b""), b""),
    ("blob", int32(-1), None),
    ("short_bytes", short(2) + b"ab", b"ab"),
    ("string_list", string_list(["a", ""]), ["a", ""]),
    ("string_map", short(1) + string("a") + string("b"), {"a": "b"}),
    ("string_multimap", string_multimap({"a": ["b", "c"]}), {"a": ["b", "c"]}),
    ("bytes_map", short(2) + string("a") + value(b"1") + string("b") + int32(-1), {"a": b"1", "b": None}),  # noqa: E501
    ("inet_address", byte(4) + b"\x7f\0\0\x01", "127.0.0.1"),
    ("inet", byte(16) + bytes(15) + b"\x01" + int32(9042), ("::1", 9042)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "data", "expected"), READ)
def test_values_are_read_and_truncated_values_are_errors(
    name: str, data: bytes, expected: Any
) -> None:
    """Each method of `Cursor` reads a value at its position, and advances the position.

    Truncated values raise ProtocolError.
    """
    cursor = Cursor(b"xx" + data + b"rest", 2)
    assert getattr(cursor, name)() == expected
    assert cursor.pos == 2 + len(data)
    for size in range(len(data)):
        truncated = Cursor(data[:size])
        with pytest.raises(ProtocolError):
            getattr(truncated, name)()


def test_a_string_that_is_not_utf_8_is_an_error() -> None:
    """A string that is not UTF-8 raises ProtocolError."""
    with pytest.raises(ProtocolError, match="not UTF-8"):
        Cursor(short(2) + b"\xff\xfe").string()


def test_a_negative_length_is_an_error() -> None:
    """A negative length raises ProtocolError."""
    with pytest.raises(ProtocolError, match="-1 bytes are to follow at offset 0 of a body of 4"):
        Cursor(b"abcd").take(-1)


def test_a_forged_count_is_refused_before_it_is_read() -> None:
    """A number of items that does not fit into the remaining bytes is refused at once.

    Four bytes cannot hold a list of 65,535 strings, each of which has at least two bytes.
    """
    with pytest.raises(ProtocolError, match="65535 items are to follow at offset 2 of 4 bytes"):
        Cursor(short(65535) + b"\0\0").string_list()


@pytest.mark.parametrize("size", [0, 5, 15, 17])
def test_addresses_have_four_or_sixteen_bytes(size: int) -> None:
    """`address_text` refuses addresses that do not have 4 or 16 bytes."""
    with pytest.raises(ProtocolError, match=f"an address of {size} bytes"):
        address_text(bytes(size))
