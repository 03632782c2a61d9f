"""The fake node's own notations, frames and values against bytes written out by hand from
native_protocol_v5.spec.
"""

from __future__ import annotations

import ast
import datetime
import decimal
import uuid
import zlib
from pathlib import Path
from typing import Any

import pytest

import cassandra.testing.fake as fake
from cassandra.testing.fake import primitives, segments
from cassandra.testing.fake.values import Encoded, Udt, encode_row, parse_type


def test_nothing_of_the_driver_is_imported() -> None:
    """One bug must not be able to hide on both sides of the wire."""
    assert fake.__file__ is not None
    modules = sorted(Path(fake.__file__).parent.glob("*.py"))
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
                assert name.split(".")[0] != "cassandra" or name.startswith("cassandra.testing."), (
                    module.name,
                    name,
                )


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
    assert primitives.vint(number) == bytes.fromhex(data)


def test_texts_maps_and_addresses() -> None:
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


def test_reading() -> None:
    data = (
        "05 0000000000000007 00000001 61 0001 62 0002 0001 63 0001 64 "
        "0001 0001 65 0001 66 0001 0001 67 00000001 68"
    )
    reader = primitives.BodyReader(
        bytes.fromhex(data) + bytes.fromhex("ffffffff fffffffe 00000001 69")
    )
    assert (reader.byte(), reader.long(), reader.long_string(), reader.short_bytes()) == (
        5,
        7,
        "a",
        b"b",
    )
    assert (reader.string_list(), reader.string_map(), reader.bytes_map()) == (
        ["c", "d"],
        {"e": "f"},
        {"g": b"h"},
    )
    assert [reader.value(), reader.value(), reader.value()] == [None, primitives.NOT_SET, b"i"]
    assert reader.at_end
    with pytest.raises(primitives.WireError, match="-3"):
        primitives.BodyReader(bytes.fromhex("fffffffd")).value()


# -- frames ----------------------------------------------------------------------------------------


def crc24_by_bits(data: bytes) -> int:
    """2.1 once more, bit by bit over one long number, to hold the other one against."""
    crc = 0x875060
    for bit in (byte >> place & 1 for byte in data for place in range(7, -1, -1)):
        top = crc >> 23 ^ bit
        crc = (crc << 1 & 0xFFFFFF) ^ (0x974F0B if top & 1 else 0)
    return crc


@pytest.mark.parametrize(
    "data", [b"\0\0\0", b"\1\2\3", b"\xff\xff\x03", b"\x0d\0\2", b"\1\2\3\4\5"]
)
def test_crc24(data: bytes) -> None:
    assert segments.crc24(data) == crc24_by_bits(data)


def test_a_frame() -> None:
    payload = b"hello, frame!"
    fields = bytes.fromhex("0d0002")  # 13 bytes, self-contained: bit 17
    trailer = zlib.crc32(payload, zlib.crc32(bytes.fromhex("fa2d55ca"))).to_bytes(4, "little")
    whole = fields + crc24_by_bits(fields).to_bytes(3, "little") + payload + trailer
    assert segments.encode_segment(payload, True, False) == whole
    reader = segments.SegmentReader(False)
    assert reader.feed(whole[:3]) == b""
    assert reader.feed(whole[3:-1]) == b""
    assert reader.feed(whole[-1:] + whole) == payload + payload


@pytest.mark.skipif(not segments.HAVE_LZ4, reason="needs lz4")
def test_a_compressed_frame() -> None:
    payload = b"a" * 1000
    whole = segments.encode_segment(payload, True, True)
    number = int.from_bytes(whole[:5], "little")
    assert (number >> 17 & 0x1FFFF, number >> 34) == (1000, 1)
    assert number & 0x1FFFF == len(whole) - 12 < 100
    assert int.from_bytes(whole[5:8], "little") == crc24_by_bits(whole[:5])
    assert segments.SegmentReader(True).feed(whole) == payload
    # What LZ4 makes no smaller is stored as it is: an uncompressed length of 0.
    stored = segments.encode_segment(b"xyz", True, True)
    assert stored[:5] == bytes.fromhex("0300000004")
    assert stored[8:11] == b"xyz"
    assert segments.SegmentReader(True).feed(stored) == b"xyz"


@pytest.mark.parametrize("at", [0, 4, 6, -1])
def test_damaged_frames_are_noticed(at: int) -> None:
    damaged = bytearray(segments.encode_segment(b"payload", True, False))
    damaged[at] ^= 1
    with pytest.raises(primitives.WireError, match="CRC"):
        segments.SegmentReader(False).feed(bytes(damaged) + bytes(100))


def test_envelopes_are_packed_and_cut() -> None:
    small, large = b"s" * 10, b"l" * (segments.MAX_PAYLOAD + 5)
    data = segments.pack([small, small, large, small], False)
    sizes = []
    while data:
        fields = int.from_bytes(data[:3], "little")
        sizes.append((fields & 0x1FFFF, fields >> 17))
        data = data[6 + (fields & 0x1FFFF) + 4 :]
    assert sizes == [(20, 1), (131_071, 0), (5, 0), (10, 1)]


# -- values ----------------------------------------------------------------------------------------

PLACE = Udt("ks", "place", (("x", "int"), ("y", "text")))
MOMENT = datetime.datetime(1970, 1, 1, 0, 0, 1, 500_000)


@pytest.mark.parametrize(
    ("kind", "value", "option", "data"),
    [
        ("ascii", "a", "0001", "61"),
        ("bigint", -2, "0002", "fffffffffffffffe"),
        ("blob", b"\0\1", "0003", "0001"),
        ("boolean", True, "0004", "01"),
        ("counter", 5, "0005", "0000000000000005"),
        ("decimal", decimal.Decimal("-1.5"), "0006", "00000001 f1"),
        ("double", 1.0, "0007", "3ff0000000000000"),
        ("float", -2.0, "0008", "c0000000"),
        ("int", 258, "0009", "00000102"),
        ("timestamp", MOMENT, "000b", "00000000000005dc"),
        ("uuid", uuid.UUID(int=1), "000c", "00" * 15 + "01"),
        ("text", "é", "000d", "c3a9"),
        ("varint", 128, "000e", "0080"),
        ("varint", -129, "000e", "ff7f"),
        ("varint", 0, "000e", "00"),
        ("inet", "1.2.3.4", "0010", "01020304"),
        ("date", datetime.date(1970, 1, 2), "0011", "80000001"),
        ("time", datetime.time(0, 0, 1), "0012", "000000003b9aca00"),
        ("smallint", -1, "0013", "ffff"),
        ("tinyint", 7, "0014", "07"),
        ("duration", (1, -1, 2), "0015", "02 01 04"),
        ("list<int>", [1, None], "0020 0009", "00000002 00000004 00000001 ffffffff"),
        ("set<text>", ["a"], "0022 000d", "00000001 00000001 61"),
        ("map<text, frozen<list<tinyint>>>", {"k": [1]}, "0021 000d 0020 0014",
         "00000001 00000001 6b 00000009 00000001 00000001 01"),
        ("tuple<int, text>", (1, None), "0031 0002 0009 000d", "00000004 00000001 ffffffff"),
        (PLACE, {"y": "b"}, "0030 0002 6b73 0005 706c616365 0002 0001 78 0009 0001 79 000d",
         "ffffffff 00000001 62"),
    ],
)  # fmt: skip
def test_types(kind: Any, value: Any, option: str, data: str) -> None:
    parsed = parse_type(kind)
    assert parsed.option(5) == bytes.fromhex(option)
    assert parsed.encode(value) == bytes.fromhex(data)


def test_types_that_older_versions_know_as_custom_ones() -> None:
    name = b"org.apache.cassandra.db.marshal.DurationType"
    assert parse_type("duration").option(4) == b"\0\0" + len(name).to_bytes(2, "big") + name
    assert parse_type("date").option(4) == bytes.fromhex("0011")
    assert parse_type("date").option(3).endswith(b".SimpleDateType")


@pytest.mark.parametrize(
    ("kind", "value", "data"),
    [
        ("vector<float, 2>", [1.0, -2.0], "3f800000 c0000000"),
        ("vector<boolean, 2>", [True, True], "0101"),
        ("vector<tinyint, 2>", [1, 1], "0101 0101"),
        ("vector<smallint, 2>", [1, 1], "020001 020001"),
        ("vector<text, 2>", ["a", ""], "01 61 00"),
        ("vector<vector<int, 2>, 1>", [[1, 2]], "00000001 00000002"),
    ],
)
def test_vectors(kind: str, value: Any, data: str) -> None:
    assert parse_type(kind).encode(value) == bytes.fromhex(data)


def test_vector_s_class_name() -> None:
    name = (
        b"org.apache.cassandra.db.marshal.VectorType(org.apache.cassandra.db.marshal.FloatType , 3)"
    )
    assert parse_type("vector<float, 3>").option(5) == b"\0\0" + len(name).to_bytes(2, "big") + name
    with pytest.raises(ValueError, match="2 elements"):
        parse_type("vector<float, 3>").encode([1.0, 2.0])


def test_rows() -> None:
    kinds = [parse_type("int"), parse_type("text")]
    assert encode_row(kinds, ["k", "v"], (1, None)) == bytes.fromhex("00000004 00000001 ffffffff")
    assert encode_row(kinds, ["k", "v"], {"v": "", "k": Encoded(b"\7")}) == bytes.fromhex(
        "00000001 07 00000000"
    )
    with pytest.raises(ValueError, match="k, v"):
        encode_row(kinds, ["k", "v"], (1,))


@pytest.mark.parametrize("kind", ["nothing", "list<int", "bag<int>"])
def test_what_is_no_type(kind: str) -> None:
    with pytest.raises(ValueError, match=kind.partition("<")[0]):
        parse_type(kind)
