"""How the fake node encodes types and values, compared with bytes written by hand."""

from __future__ import annotations

import datetime
import decimal
import uuid
from typing import Any

import pytest

from cassandra.testing.fake.values import Encoded, Udt, encode_row, parse_type

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
    """Each type is described by the expected option, and its value is encoded to the expected
    bytes.
    """
    parsed = parse_type(kind)
    assert parsed.option(5) == bytes.fromhex(option)
    assert parsed.encode(value) == bytes.fromhex(data)


def test_types_that_older_versions_know_as_custom_ones() -> None:
    """Types that older protocol versions do not know are described as custom types, by the name of
    their class.
    """
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
    """In a vector, an element of variable size is preceded by its size."""
    assert parse_type(kind).encode(value) == bytes.fromhex(data)


def test_vector_s_class_name() -> None:
    name = (
        b"org.apache.cassandra.db.marshal.VectorType(org.apache.cassandra.db.marshal.FloatType , 3)"
    )
    assert parse_type("vector<float, 3>").option(5) == b"\0\0" + len(name).to_bytes(2, "big") + name
    with pytest.raises(ValueError, match="2 elements"):
        parse_type("vector<float, 3>").encode([1.0, 2.0])


def test_rows() -> None:
    """Rows may be tuples or dicts. A tuple that is too short is refused."""
    columns = [("k", "int"), ("v", "text")]
    types = [parse_type(type_name) for _, type_name in columns]
    assert encode_row(types, columns, (1, None)) == bytes.fromhex("00000004 00000001 ffffffff")
    assert encode_row(types, columns, {"v": "", "k": Encoded(b"\7")}) == bytes.fromhex(
        "00000001 07 00000000"
    )
    with pytest.raises(ValueError, match="k, v"):
        encode_row(types, columns, (1,))


@pytest.mark.parametrize("kind", ["nothing", "list<int", "bag<int>"])
def test_invalid_types_are_refused(kind: str) -> None:
    with pytest.raises(ValueError, match=kind.partition("<")[0]):
        parse_type(kind)
