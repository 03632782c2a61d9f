"""Descriptions of columns in responses, with user-defined types and custom types."""

from __future__ import annotations

from typing import Any

import pytest

from cassandra.errors import ProtocolError
from tests.unit.protocol.messages.test_results import (
    TABLE,
    result,
    rows,
)
from tests.unit.protocol.wire import int32, short, string, value

UDT = (
    short(0x30)
    + string("ks")
    + string("pair")
    + short(2)
    + string("x")
    + short(9)
    + string("y")
    + short(13)
)


def test_responses_use_the_user_types_registered_when_they_arrive() -> None:
    class Pair:
        def __init__(self, x: Any, y: Any) -> None:
            self.x, self.y = x, y

    body = rows(
        1,
        specs=TABLE + string("p") + UDT,
        content=int32(1) + value(value(int32(1)) + value(b"one")),
        count=1,
    )
    registered = {"ks": {"pair": Pair}}
    plain = result(body)
    assert plain.parsed_rows[0][0] == (1, "one")
    mapped = result(body, user_types=registered, cached=plain.metadata)
    assert type(mapped.parsed_rows[0][0]) is Pair
    assert result(body, user_types=registered, cached=mapped.metadata).metadata is mapped.metadata
    skipped = rows(4, specs=b"", content=int32(1) + value(value(int32(1)) + value(b"one")), count=1)
    assert (
        type(result(skipped, 5, user_types=registered, cached=plain.metadata).parsed_rows[0][0])
        is Pair
    )
    # A registration applies to one session only.
    assert type(result(body).parsed_rows[0][0]) is type(plain.parsed_rows[0][0])
    assert type(result(body, cached=mapped.metadata).parsed_rows[0][0]) is not Pair


MARSHAL = "org.apache.cassandra.db.marshal."


PAIR_CLASS = (
    f"{MARSHAL}UserType(ks,{b'pair'.hex()},{b'x'.hex()}:{MARSHAL}Int32Type,"
    f"{b'y'.hex()}:{MARSHAL}UTF8Type)"
)


PAIR_VALUE = value(int32(1)) + value(b"one")


@pytest.mark.parametrize(
    ("name", "data", "inner"),
    [
        (PAIR_CLASS, PAIR_VALUE, lambda cell: cell),
        (
            f"{MARSHAL}VectorType({PAIR_CLASS} , 1)",
            bytes([len(PAIR_VALUE)]) + PAIR_VALUE,
            lambda cell: cell[0],
        ),
        (
            f"{MARSHAL}FrozenType({MARSHAL}ListType({PAIR_CLASS}))",
            int32(1) + value(PAIR_VALUE),
            lambda cell: cell[0],
        ),
        (
            f"{MARSHAL}TupleType({MARSHAL}Int32Type,{PAIR_CLASS})",
            value(None) + value(PAIR_VALUE),
            lambda cell: cell[1],
        ),
        (
            f"{MARSHAL}UserType(ks,{b'outer'.hex()},{b'p'.hex()}:{PAIR_CLASS})",
            value(PAIR_VALUE),
            lambda cell: cell.p,
        ),
    ],
)
def test_user_types_inside_a_custom_type_get_their_classes(
    name: str, data: bytes, inner: Any
) -> None:
    class Pair:
        def __init__(self, x: Any, y: Any) -> None:
            self.x, self.y = x, y

    body = rows(
        1,
        specs=TABLE + string("p") + short(0) + string(name),
        content=int32(1) + value(data),
        count=1,
    )
    registered = {"ks": {"pair": Pair}}
    plain = result(body)
    assert inner(plain.parsed_rows[0][0]) == (1, "one")
    mapped = result(body, user_types=registered, cached=plain.metadata)
    assert type(inner(mapped.parsed_rows[0][0])) is Pair
    assert (
        mapped.column_types[0].cql_parameterized_type()
        == plain.column_types[0].cql_parameterized_type()
    )
    assert result(body, user_types=registered, cached=mapped.metadata).metadata is mapped.metadata
    # A registration applies to one session only.
    assert inner(result(body).parsed_rows[0][0]) == (1, "one")


@pytest.mark.parametrize(
    "name",
    [
        "ListType", "MapType", "VectorType", "FrozenType", "ReversedType",
        "VectorType(VectorType,2)", "ListType(SetType)",
        "UserType(ks,61,62:ListType)", "VectorType(UTF8Type,99999999999999999999)",
        "MapType(UTF8Type)", "(", "a(b",
    ],
)  # fmt: skip
def test_a_custom_type_without_its_parameters_is_an_error_of_the_message(name: str) -> None:
    body = rows(1, specs=TABLE + string("c") + short(0) + string(name), content=int32(0), count=1)
    with pytest.raises(ProtocolError, match="cannot be understood"):
        result(body)
    prepared = (
        int32(4)
        + short(1)
        + b"i"
        + int32(1)
        + int32(1)
        + int32(0)
        + TABLE
        + string("c")
        + short(0)
        + string(name)
    )
    with pytest.raises(ProtocolError, match="cannot be understood"):
        result(prepared)


def test_an_error_shows_the_beginning_of_a_long_type_name() -> None:
    body = rows(
        1,
        specs=TABLE + string("c") + short(0) + string("ListType(" * 7000),
        content=int32(0),
        count=1,
    )
    with pytest.raises(ProtocolError, match=r"ListType\(\.*") as caught:
        result(body)
    assert len(str(caught.value)) < 1000


def test_every_type_code() -> None:
    """Each code is decoded to the type of the specification."""
    codes = {
        0x0001: "ascii", 0x0002: "bigint", 0x0003: "blob", 0x0004: "boolean", 0x0005: "counter",
        0x0006: "decimal",
        0x0007: "double", 0x0008: "float", 0x0009: "int", 0x000B: "timestamp", 0x000C: "uuid",
        0x000D: "varchar",
        0x000E: "varint", 0x000F: "timeuuid", 0x0010: "inet", 0x0011: "date", 0x0012: "time",
        0x0013: "smallint",
        0x0014: "tinyint", 0x0015: "duration",
    }  # fmt: skip
    composed = {
        short(0x20) + short(9): "list<int>",
        short(0x22) + short(0x20) + short(13): "set<list<varchar>>",
        short(0x21) + short(9) + short(13): "map<int, varchar>",
        short(0x31) + short(2) + short(9) + short(13): "tuple<int, varchar>",
        short(0) + string("org.apache.cassandra.db.marshal.Int32Type"): "int",
        short(0)
        + string(
            "org.apache.cassandra.db.marshal.VectorType(org.apache.cassandra.db.marshal.FloatType, "
            "3)"
        ): ("vector<float, 3>"),
    }
    options = {short(code): name for code, name in codes.items()} | composed
    specs = TABLE + b"".join(string(f"c{index}") + option for index, option in enumerate(options))
    message = result(rows(1, specs=specs, content=int32(0), count=len(options)))
    names = [kind.cql_parameterized_type().replace("frozen<", "") for kind in message.column_types]
    assert [name.replace(">", "") for name in names] == [
        name.replace(">", "") for name in options.values()
    ]
