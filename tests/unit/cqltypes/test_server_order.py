"""The order of sets and maps in partition keys, tuples, user-defined types and vectors.

`tests/integration/test_server_order.py` compares it with the order of a real node.
"""

from __future__ import annotations

import datetime
import decimal
import math
import uuid
from typing import Any

import pytest

from cassandra import _impl, cqltypes as t
from cassandra.cqltypes import codecs as pure_codecs
from cassandra.protocol.bind import BindPlan as PureBindPlan
from cassandra.protocol.column_specs import ColumnMetadata
from cassandra.util import Date, Time, uuid_from_time

D = decimal.Decimal
LATE, EARLY = (uuid_from_time(time, 1, 1) for time in (2.5e9, 1e9))
# `LAST_BYTES` have the same time, and end with bytes that timeuuid compares as signed numbers.
LAST_BYTES = [uuid.UUID(f"3d4f7a00-1234-11ee-{end:04x}-000000000000") for end in (0x80FF, 0x7F01)]
RANDOM = [uuid.UUID(int=number << 120, version=4) for number in (0x01, 0xF0)]

# For each type, values in the order of servers.
IN_ORDER: list[tuple[str, list[Any]]] = [
    ("Int32Type", [-(2**31), -1, 0, 1, 300]),
    ("ByteType", [-128, -1, 0, 127]),
    ("ShortType", [-300, -1, 0, 300]),
    ("LongType", [-(2**63), -1, 0, 2**40]),
    ("IntegerType", [-(2**80), -129, -1, 0, 127, 128, 2**80]),
    ("DecimalType", [D("-1E+40"), D("-2.5"), D("0"), D("1E-30"), D("1.10"), D("1E+9")]),
    ("FloatType", [-math.inf, -2.5, -1.5, -0.0, 0.0, 1.5, math.inf, math.nan]),
    ("DoubleType", [-math.inf, -2.5, -1.5, -0.0, 0.0, 1.5, math.inf, math.nan]),
    ("BooleanType", [False, True]),
    ("UTF8Type", ["", "a", "ab", "b", "é", "\U0001f600"]),
    ("AsciiType", ["", "B", "a"]),
    ("BytesType", [b"", b"\x01\x00", b"\x7f", b"\x80"]),
    ("InetAddressType", ["9.0.0.0", "10.0.0.0", "2001::1", "200.0.0.1"]),
    ("UUIDType", [EARLY, LATE, *RANDOM]),
    ("TimeUUIDType", [EARLY, LATE]),
    ("TimeUUIDType", LAST_BYTES),
    ("UUIDType", LAST_BYTES[::-1]),
    ("TimestampType", [datetime.datetime(year, 1, 1) for year in (1950, 1980)]),
    ("SimpleDateType", [Date(-5), Date(0), Date(5)]),
    ("TimeType", [Time(1), Time(300)]),
    ("TupleType(Int32Type, UTF8Type)", [(None, "b"), (-1, None), (-1, ""), (-1, "a"), (1, None)]),
    ("ListType(Int32Type)", [[], [-1], [-1, 0], [0]]),
    ("SetType(Int32Type)", [set(), {-1}, {-1, 0}, {0}]),
    ("MapType(Int32Type, UTF8Type)", [{-1: "b"}, {-1: "b", 0: "a"}, {0: "a"}, {0: "b"}]),
    ("VectorType(Int32Type, 2)", [[-1, 5], [0, -1], [0, 1]]),
    ("VectorType(IntegerType, 2)", [[-1, 500], [0, -1], [0, 1]]),
    ("FrozenType(ListType(Int32Type))", [[-1], [0]]),
    ("UserType(ks, 74, 61:Int32Type, 62:Int32Type)", [(None, 3), (-1, None), (-1, 2), (1,)]),
]
PLACES = ["TupleType({})", "UserType(ks, 74, 61:{})", "VectorType({}, 1)"]


def encode_all_ways(cql_type: Any, value: Any) -> bytes:
    """Encode a value with both implementations, check that the bytes are equal, and return them."""
    encoded: bytes = cql_type.serialize(value, 5)
    assert cql_type.build_codec(pure_codecs).encode(value) == encoded
    return encoded


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(("element", "values"), IN_ORDER)
def test_sets_and_maps_are_sorted(element: str, values: list[Any], place: str) -> None:
    """A set or map in another type is encoded in the order of servers."""
    set_type = t.lookup_casstype(place.format(f"SetType({element})"))
    map_type = t.lookup_casstype(place.format(f"MapType({element}, Int32Type)"))
    expected_set = encode_all_ways(set_type, [values])
    pairs = [(value, index) for index, value in enumerate(values)]
    expected_map = encode_all_ways(map_type, [Pairs(pairs)])
    for start in range(len(values)):
        # Put the values into another order, and add one of them twice.
        rotated = [*values[start:], *values[:start]]
        assert encode_all_ways(set_type, [[*rotated[::-1], values[0]]]) == expected_set
        rotated_pairs = [*pairs[start:], *pairs[:start]]
        assert encode_all_ways(map_type, [Pairs(rotated_pairs[::-1])]) == expected_map
    # A list keeps the order of its values, so the sorted set must have the bytes of this list.
    elements = t.lookup_casstype(place.format(f"ListType({element})"))
    assert encode_all_ways(elements, [values]) == expected_set


class Pairs:
    """A mapping whose keys need not be hashable."""

    def __init__(self, pairs: list[tuple[Any, Any]]) -> None:
        self._pairs = pairs

    def items(self) -> list[tuple[Any, Any]]:
        """Return the pairs of a key and a value."""
        return self._pairs


@pytest.mark.parametrize(
    ("name", "value", "same"),
    [
        ("ListType(SetType(Int32Type))", [[3, 1]], [[1, 3]]),
        ("SetType(SetType(Int32Type))", [[2], [3, 1]], [[1, 3], [2]]),
        (
            "MapType(SetType(Int32Type), SetType(UTF8Type))",
            Pairs([([2], ["c"]), ([3, 1], ["b", "a"])]),
            Pairs([([1, 3], ["a", "b"]), ([2], ["c"])]),
        ),
        ("MapType(Int32Type, Int32Type)", Pairs([(1, 5), (1, 6)]), {1: 6}),
        ("FrozenType(SetType(Int32Type))", [3, 1, 3], [1, 3]),
        ("ListType(MapType(Int32Type, Int32Type))", [{3: 0, 1: 2}], [{1: 2, 3: 0}]),
    ],
)
def test_nested_sets_and_maps_are_sorted(name: str, value: Any, same: Any) -> None:
    """Sets and maps inside other sets, maps and lists are sorted, too."""
    cql_type = t.lookup_casstype(f"TupleType({name})")
    sorted_bytes = encode_all_ways(cql_type, (value,))
    assert sorted_bytes == encode_all_ways(cql_type, (same,))
    # The tuple must contain the bytes of the sorted value, after their length.
    inner = encode_all_ways(t.lookup_casstype(name), same)
    assert sorted_bytes == len(inner).to_bytes(4, "big") + inner


@pytest.mark.parametrize(
    ("name", "value", "same"),
    [
        ("ListType(SetType(Int32Type))", [[3, 1]], [[1, 3]]),
        ("SetType(FrozenType(SetType(Int32Type)))", [[3, 1]], [[1, 3]]),
        ("MapType(Int32Type, SetType(Int32Type))", {1: [3, 1]}, {1: [1, 3]}),
        ("MapType(SetType(Int32Type), Int32Type)", Pairs([([3, 1], 5)]), Pairs([([1, 3], 5)])),
        ("ListType(MapType(Int32Type, Int32Type))", [{3: 0, 1: 2}], [{1: 2, 3: 0}]),
    ],
)
def test_sets_and_maps_inside_of_collections_are_sorted(name: str, value: Any, same: Any) -> None:
    """Cassandra 6.0 sorts a set or map of a column only, and not those inside of it."""
    cql_type = t.lookup_casstype(name)
    assert encode_all_ways(cql_type, value) == encode_all_ways(cql_type, same)
    assert len(encode_all_ways(cql_type, value)) > 12


def test_values_without_an_order_are_sent_as_they_are() -> None:
    """Nulls, and elements of a type whose order is not known, are not sorted."""
    names = "TupleType(SetType(Int32Type), MapType(Int32Type, Int32Type), SetType({}))"
    cql_type = t.lookup_casstype(names.format("org.example.Unknown"))
    value: Any = ([3, None, 1], {3: 1, None: 2, 1: 0}, [b"b", b"a"])
    encoded = encode_all_ways(cql_type, value)
    parts = [
        encode_all_ways(subtype, item)
        for subtype, item in zip(cql_type.subtypes, value, strict=True)
    ]
    assert encoded == b"".join(len(part).to_bytes(4, "big") + part for part in parts)
    # The empty value of a legacy collection has no elements.
    assert encode_all_ways(cql_type, (t.EMPTY, t.EMPTY, None)) == b"\0\0\0\0" * 2 + b"\xff" * 4
    # A set in a column is sorted by the server.
    in_column = encode_all_ways(t.lookup_casstype("SetType(Int32Type)"), [3, 1])
    assert in_column.endswith(b"\0\0\0\x03\0\0\0\x04\0\0\0\x01")


@pytest.mark.parametrize("plan_class", [_impl.bind.BindPlan, PureBindPlan])
def test_partition_keys_are_sorted(plan_class: Any) -> None:
    """Sets and maps of the partition key are sorted, because they determine the token."""
    types = [
        "SetType(Int32Type)",
        "ListType(FrozenType(SetType(Int32Type)))",
        "MapType(UTF8Type, Int32Type)",
        "SetType(Int32Type)",
    ]
    columns = [
        ColumnMetadata("ks", "t", f"c{i}", t.lookup_casstype(n)) for i, n in enumerate(types)
    ]
    plan = plan_class(columns, [2, 0, 1])
    unsorted = plan.bind([[3, 1], [[3, 1]], {"b": 1, "a": 2}, [3, 1]], 5)
    in_order = plan.bind([[1, 3], [[1, 3]], {"a": 2, "b": 1}, [1, 3]], 5)
    assert unsorted.routing_key([2, 0, 1]) == in_order.routing_key([2, 0, 1])
    assert unsorted.values()[:3] == in_order.values()[:3]
    # The last column is not in the partition key, so its set is sent as it is.
    assert unsorted.values()[3] != in_order.values()[3]
    assert plan.bind([None, None, None, None], 5).values() == [None] * 4


def test_values_are_read_as_before() -> None:
    """Decoding does not depend on the order in which the server has sent the elements."""
    cql_type = t.lookup_casstype("TupleType(SetType(Int32Type), ListType(Int32Type))")
    unsorted = bytes.fromhex("00000014 00000002 00000004 00000003 00000004 00000001 00000000")
    assert cql_type.deserialize(unsorted, 5) == ({1, 3}, None)


class PlainSet(t.SetType):
    """An application's set, whose bytes have no lengths."""

    _registered = False

    @staticmethod
    def serialize(val: Any, protocol_version: int) -> bytes:
        """Return the elements as bytes."""
        return bytes(val)


class WordNumber(t.FloatType):
    """An application's number, whose bytes are a text."""

    _registered = False

    @staticmethod
    def serialize(val: Any, protocol_version: int) -> bytes:
        """Return the number as a text."""
        return str(val).encode()


@pytest.mark.parametrize("plan_class", [_impl.bind.BindPlan, PureBindPlan])
def test_bytes_of_the_application_are_sent_as_they_are(plan_class: Any) -> None:
    """A class with its own encoding has bytes that we cannot split, and an unknown order."""
    plain_set = PlainSet.apply_parameters((t.Int32Type,))
    numbers = t.SetType.apply_parameters((WordNumber,))
    pair = t.TupleType.apply_parameters((plain_set, numbers))
    types = [plain_set, numbers, t.ListType.apply_parameters((plain_set,)), pair]
    columns = [ColumnMetadata("ks", "t", f"c{i}", cql_type) for i, cql_type in enumerate(types)]
    values: list[Any] = [b"\x7fabcd", [30, 4, 200], [b"\x7fabcd"], (b"\x7fabcd", [30, 4, 200])]
    bound = plan_class(columns, [0, 1, 2, 3]).bind(values, 5).values()
    assert bound[0] == b"\x7fabcd"
    assert bound[1] == bytes.fromhex("00000003 00000002 3330 00000001 34 00000003 323030")
    assert bound[2] == bytes.fromhex("00000001 00000005 7f61626364")
    assert bound[3] == b"\0\0\0\5" + bound[0] + b"\0\0\0\x16" + bound[1]
