"""How the fake node encodes numbers and strings, compared with bytes written by hand."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import cassandra.testing.fake as fake
from cassandra.testing.fake import primitives
from cassandra.testing.wire import WireError


def test_the_fake_node_imports_nothing_of_the_driver() -> None:
    """The fake node shares no code with the driver: a shared error could cancel itself out."""
    assert fake.__file__ is not None
    modules = sorted(Path(fake.__file__).parent.glob("*.py"))
    # If no module is found, the test checks nothing.
    assert len(modules) >= 10
    for module in modules:
        for statement in ast.walk(ast.parse(module.read_text())):
            if isinstance(statement, ast.Import):
                names = [alias.name for alias in statement.names]
            elif isinstance(statement, ast.ImportFrom):
                assert statement.level == 0
                names = [statement.module or ""]
            else:
                continue
            for name in names:
                if name.split(".")[0] == "cassandra":
                    assert name.startswith("cassandra.testing."), (module.name, name)


@pytest.mark.parametrize(
    ("number", "data"),
    [
        (0, "00"),
        (127, "7f"),
        (128, "8080"),
        (16383, "bfff"),
        (16384, "c04000"),
        (256_000, "c3e800"),  # the specification's own example, section 3
        ((1 << 56) - 1, "feffffffffffffff"),
        (1 << 56, "ff0100000000000000"),
        ((1 << 64) - 1, "ffffffffffffffffff"),
    ],
)
def test_unsigned_vint(number: int, data: str) -> None:
    """An unsigned vint says in the highest bits of the first byte how many bytes follow."""
    assert primitives.unsigned_vint(number) == bytes.fromhex(data)


@pytest.mark.parametrize(
    ("number", "data"),
    [
        (0, "00"),
        (-1, "01"),
        (1, "02"),
        (-2, "03"),
        (2, "04"),
        (-64, "7f"),
        (64, "8080"),
        (-(1 << 63), "ff" * 9),
    ],
)
def test_vint(number: int, data: str) -> None:
    """A signed number is encoded as an unsigned vint: 0 as 0, -1 as 1, 1 as 2, -2 as 3 ..."""
    assert primitives.vint(number) == bytes.fromhex(data)


def test_texts_maps_and_addresses() -> None:
    """Each notation of the protocol is encoded to the expected bytes."""
    assert primitives.string("é") == bytes.fromhex("0002 c3a9")
    assert primitives.long_string("ab") == bytes.fromhex("00000002 6162")
    assert primitives.long_bytes(None) == bytes.fromhex("ffffffff")
    assert primitives.short_bytes(b"\1") == bytes.fromhex("0001 01")
    assert primitives.string_list(["a", ""]) == bytes.fromhex("0002 0001 61 0000")
    assert primitives.string_multimap({"k": ["a", "b"]}) == bytes.fromhex(
        "0001 0001 6b 0002 0001 61 0001 62"
    )
    assert primitives.bytes_map({"k": b"\1", "n": None}) == bytes.fromhex(
        "0002 0001 6b 00000001 01 0001 6e ffffffff"
    )
    assert primitives.inet("127.0.0.1", 9042) == bytes.fromhex("04 7f000001 00002352")
    assert primitives.inetaddr("::1") == bytes.fromhex("10" + "00" * 15 + "01")


def test_a_body_reader_decodes_each_notation() -> None:
    """A `BodyReader` decodes consecutive values of each notation of the protocol, up to the end.

    A value with the length -3, which the protocol does not have, raises WireError.
    """
    reader = primitives.BodyReader(
        bytes.fromhex(
            "05"  # a byte
            "0000000000000007"  # a long
            "00000001 61"  # a long string
            "0001 62"  # short bytes
            "0002 0001 63 0001 64"  # a string list
            "0001 0001 65 0001 66"  # a string map
            "0001 0001 67 00000001 68"  # a bytes map
            "ffffffff fffffffe 00000001 69"  # three values: null, unset and "i"
        )
    )
    assert reader.byte() == 5
    assert reader.long() == 7
    assert reader.long_string() == "a"
    assert reader.short_bytes() == b"b"
    assert reader.string_list() == ["c", "d"]
    assert reader.string_map() == {"e": "f"}
    assert reader.bytes_map() == {"g": b"h"}
    assert [reader.value(), reader.value(), reader.value()] == [None, primitives.NOT_SET, b"i"]
    assert reader.at_end
    with pytest.raises(WireError, match="-3"):
        primitives.BodyReader(bytes.fromhex("fffffffd")).value()


def test_messages_have_the_opcodes_of_the_specification() -> None:
    """Each opcode has its number, and `RESPONSES` has the opcodes that a server sends."""
    # native_protocol_v5.spec, section 2.4.1.4, has no message for the opcode 0x04.
    names = [
        "ERROR", "STARTUP", "READY", "AUTHENTICATE", "-", "OPTIONS", "SUPPORTED", "QUERY", "RESULT",
        "PREPARE", "EXECUTE", "REGISTER", "EVENT", "BATCH", "AUTH_CHALLENGE", "AUTH_RESPONSE",
        "AUTH_SUCCESS",
    ]  # fmt: skip
    expected = {name: number for number, name in enumerate(names) if name != "-"}
    assert {opcode.name: opcode.value for opcode in primitives.Opcode} == expected
    requests = {"STARTUP", "OPTIONS", "QUERY", "PREPARE", "EXECUTE", "REGISTER", "BATCH"}
    requests.add("AUTH_RESPONSE")
    assert {opcode.name for opcode in primitives.RESPONSES} == set(expected) - requests


def test_a_value_that_is_not_set_is_shown_by_its_name() -> None:
    """The repr of `NOT_SET` is its name."""
    assert repr(primitives.NOT_SET) == "NOT_SET"
