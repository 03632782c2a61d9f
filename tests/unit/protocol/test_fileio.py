"""Test the functions read_* and write_* for the protocol's notations in files.

See native_protocol_v5.spec, section 3.
"""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from typing import Any

import pytest

from cassandra import protocol
from cassandra.errors import ProtocolError
from cassandra.sentinels import UNSET_VALUE

# the name of a notation, a value, and the value's bytes
PAIRS: list[tuple[str, Any, bytes]] = [
    ("byte", -2, b"\xfe"),
    ("int", -2, b"\xff\xff\xff\xfe"),
    ("short", 65534, b"\xff\xfe"),
    ("consistency_level", 6, b"\x00\x06"),
    ("string", "é", b"\x00\x02\xc3\xa9"),
    ("longstring", "é", b"\x00\x00\x00\x02\xc3\xa9"),
    ("stringlist", ["a", ""], b"\x00\x02\x00\x01a\x00\x00"),
    ("stringmap", {"a": "b"}, b"\x00\x01\x00\x01a\x00\x01b"),
    ("stringmultimap", {"a": ["b"]}, b"\x00\x01\x00\x01a\x00\x01\x00\x01b"),
    (
        "bytesmap",
        {"a": b"b", "n": None},
        b"\x00\x02\x00\x01a\x00\x00\x00\x01b\x00\x01n\xff\xff\xff\xff",
    ),
    ("value", b"x", b"\x00\x00\x00\x01x"),
    ("value", None, b"\xff\xff\xff\xff"),
    ("inet", ("127.0.0.1", 9042), b"\x04\x7f\x00\x00\x01\x00\x00\x23\x52"),
    ("inet", ("::1", 1), b"\x10" + bytes(15) + b"\x01\x00\x00\x00\x01"),
    ("uint_le", 0x01020304, b"\x04\x03\x02\x01"),
]


def function(name: str) -> Callable[..., Any]:
    """Return the function of `cassandra.protocol` with this name."""
    read_or_write: Callable[..., Any] = getattr(protocol, name)
    return read_or_write


@pytest.mark.parametrize(("name", "plain_value", "data"), PAIRS)
def test_values_are_written_and_read(name: str, plain_value: Any, data: bytes) -> None:
    """Each notation is written to the expected bytes, and read back to the same value."""
    target = BytesIO()
    function(f"write_{name}")(target, plain_value)
    assert target.getvalue() == data
    assert function(f"read_{name}")(BytesIO(data + b"more")) == plain_value
    # If the data is cut anywhere, reading it raises ProtocolError.
    for size in range(len(data)):
        with pytest.raises(ProtocolError):
            function(f"read_{name}")(BytesIO(data[:size]))


def test_functions_that_only_read_or_only_write() -> None:
    """Some functions exist only for writing, or only for reading, a notation of the protocol."""
    target = BytesIO()
    protocol.write_uint(target, 0xFFFFFFFF)
    protocol.write_long(target, -2)
    protocol.write_value(target, UNSET_VALUE)
    assert target.getvalue() == b"\xff\xff\xff\xff" + b"\xff" * 7 + b"\xfe" + b"\xff\xff\xff\xfe"
    assert protocol.read_binary_string(BytesIO(b"\x00\x01\xff")) == b"\xff"
    assert protocol.read_binary_longstring(BytesIO(b"\x00\x00\x00\x01\xff")) == b"\xff"
    assert protocol.read_inet_addr_only(BytesIO(b"\x04\x7f\x00\x00\x01")) == "127.0.0.1"
    codes = b"\x00\x00\x00\x01\x04\x7f\x00\x00\x01\x00\x05"
    assert protocol.read_error_code_map(BytesIO(codes)) == {"127.0.0.1": 5}


@pytest.mark.parametrize(
    ("name", "number_or_string"),
    [
        ("byte", 128),
        ("int", 1 << 31),
        ("short", -1),
        ("uint", -1),
        ("long", 1 << 64),
        ("string", "x" * 65536),
        ("uint_le", -1),
    ],
)
def test_values_that_do_not_fit_are_refused(name: str, number_or_string: Any) -> None:
    """A value that does not fit its notation raises ValueError."""
    write = function(f"write_{name}")
    with pytest.raises(ValueError, match=r"."):
        write(BytesIO(), number_or_string)


def test_errors_of_malformed_values_say_what_is_wrong() -> None:
    """The error for malformed bytes says what is wrong."""
    with pytest.raises(ProtocolError, match="UTF-8"):
        protocol.read_string(BytesIO(b"\x00\x01\xff"))
    with pytest.raises(ProtocolError, match="address of 5 bytes"):
        protocol.read_inet(BytesIO(b"\x05" + bytes(9)))
