"""Descriptions of columns (column specs) in responses, with user-defined types and custom types."""

from __future__ import annotations

from typing import Any

import pytest

from cassandra.errors import ProtocolError
from cassandra.protocol.opcodes import (
    RESULT_KIND_PREPARED,
    ROWS_GLOBAL_TABLES_SPEC,
    ROWS_NO_METADATA,
)
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
        ROWS_GLOBAL_TABLES_SPEC,
        specs=TABLE + string("p") + UDT,
        content=int32(1) + value(value(int32(1)) + value(b"one")),
        count=1,
    )
    user_types = {"ks": {"pair": Pair}}
    unmapped = result(body)
    assert unmapped.parsed_rows[0][0] == (1, "one")
    mapped = result(body, user_types=user_types, cached=unmapped.metadata)
    assert type(mapped.parsed_rows[0][0]) is Pair
    assert result(body, user_types=user_types, cached=mapped.metadata).metadata is mapped.metadata
    body_without_metadata = rows(
        ROWS_NO_METADATA,
        specs=b"",
        content=int32(1) + value(value(int32(1)) + value(b"one")),
        count=1,
    )
    assert (
        type(
            result(
                body_without_metadata, 5, user_types=user_types, cached=unmapped.metadata
            ).parsed_rows[0][0]
        )
        is Pair
    )
    # The class is registered for one session only, so other results do not use it.
    assert type(result(body).parsed_rows[0][0]) is type(unmapped.parsed_rows[0][0])
    assert type(result(body, cached=mapped.metadata).parsed_rows[0][0]) is not Pair


MARSHAL = "org.apache.cassandra.db.marshal."


PAIR_CLASS = (
    f"{MARSHAL}UserType(ks,{b'pair'.hex()},{b'x'.hex()}:{MARSHAL}Int32Type,"
    f"{b'y'.hex()}:{MARSHAL}UTF8Type)"
)


PAIR_VALUE = value(int32(1)) + value(b"one")


@pytest.mark.parametrize(
    ("name", "data", "pair_of"),
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
    name: str, data: bytes, pair_of: Any
) -> None:
    class Pair:
        def __init__(self, x: Any, y: Any) -> None:
            self.x, self.y = x, y

    body = rows(
        ROWS_GLOBAL_TABLES_SPEC,
        specs=TABLE + string("p") + short(0) + string(name),
        content=int32(1) + value(data),
        count=1,
    )
    user_types = {"ks": {"pair": Pair}}
    unmapped = result(body)
    assert pair_of(unmapped.parsed_rows[0][0]) == (1, "one")
    mapped = result(body, user_types=user_types, cached=unmapped.metadata)
    assert type(pair_of(mapped.parsed_rows[0][0])) is Pair
    assert (
        mapped.column_types[0].cql_parameterized_type()
        == unmapped.column_types[0].cql_parameterized_type()
    )
    assert result(body, user_types=user_types, cached=mapped.metadata).metadata is mapped.metadata
    # The class is registered for one session only, so other results do not use it.
    assert pair_of(result(body).parsed_rows[0][0]) == (1, "one")


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
    body = rows(
        ROWS_GLOBAL_TABLES_SPEC,
        specs=TABLE + string("c") + short(0) + string(name),
        content=int32(0),
        count=1,
    )
    with pytest.raises(ProtocolError, match="cannot be understood"):
        result(body)
    prepared = (
        int32(RESULT_KIND_PREPARED)
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
        ROWS_GLOBAL_TABLES_SPEC,
        specs=TABLE + string("c") + short(0) + string("ListType(" * 7000),
        content=int32(0),
        count=1,
    )
    with pytest.raises(ProtocolError, match=r"ListType\(\.*") as caught:
        result(body)
    # The error must shorten the type's name, which has 63,000 characters.
    assert len(str(caught.value)) < 1000


def test_every_type_code() -> None:
    """Each type code is decoded to the type that the specification names."""
    name_by_code = {
        0x0001: "ascii", 0x0002: "bigint", 0x0003: "blob", 0x0004: "boolean", 0x0005: "counter",
        0x0006: "decimal",
        0x0007: "double", 0x0008: "float", 0x0009: "int", 0x000B: "timestamp", 0x000C: "uuid",
        0x000D: "varchar",
        0x000E: "varint", 0x000F: "timeuuid", 0x0010: "inet", 0x0011: "date", 0x0012: "time",
        0x0013: "smallint",
        0x0014: "tinyint", 0x0015: "duration",
    }  # fmt: skip
    name_by_composed_option = {
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
    name_by_option = {
        short(code): name for code, name in name_by_code.items()
    } | name_by_composed_option
    specs = TABLE + b"".join(
        string(f"c{index}") + option_bytes for index, option_bytes in enumerate(name_by_option)
    )
    message = result(
        rows(ROWS_GLOBAL_TABLES_SPEC, specs=specs, content=int32(0), count=len(name_by_option))
    )
    # Compare without "frozen<>", which not all types have on both sides.
    names = [kind.cql_parameterized_type().replace("frozen<", "") for kind in message.column_types]
    assert [name.replace(">", "") for name in names] == [
        name.replace(">", "") for name in name_by_option.values()
    ]
