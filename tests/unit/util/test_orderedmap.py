"""Test `OrderedMap` and `OrderedMapSerializedKey`."""

from __future__ import annotations

import copy
import datetime
import decimal
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from cassandra import cqltypes, util
from cassandra.codecs import CodecRegistry, Converter
from cassandra.protocol.column_specs import ColumnMetadata, ResultMetadata
from cassandra.protocol.converted import converting
from tests.processes import run_python

INTS_BY_INT = "MapType(Int32Type,Int32Type)"


def test_an_ordered_map_keeps_the_order_of_its_keys() -> None:
    """An OrderedMap keeps the order of its keys, which need not be hashable."""
    mapping = util.OrderedMap([([1], "a"), ({"x": 1}, "b"), ([1], "c")])
    assert list(mapping.items()) == [([1], "c"), ({"x": 1}, "b")]
    assert mapping[[1]] == "c"
    assert {"x": 1} in mapping
    assert mapping.get([2]) is None
    with pytest.raises(KeyError):
        mapping[[2]]
    del mapping[[1]]
    assert list(mapping) == [{"x": 1}]
    # The order of keys matters only when two OrderedMaps are compared.
    assert util.OrderedMap({"a": 1}, b=2) == {"b": 2, "a": 1}
    assert util.OrderedMap([(1, 2), (3, 4)]) != util.OrderedMap([(3, 4), (1, 2)])
    assert str(util.OrderedMap([(1, 2)])) == "{1: 2}"
    assert repr(util.OrderedMap([(1, 2)])) == "OrderedMap([(1, 2)])"
    assert mapping.popitem() == ({"x": 1}, "b")
    with pytest.raises(KeyError):
        mapping.popitem()
    with pytest.raises(TypeError, match="at most 1"):
        util.OrderedMap([], [])


def test_decoded_maps_find_equal_keys() -> None:
    """A decoded map finds a key by its CQL encoding, and can be changed, pickled and copied."""
    cqltype = cqltypes.lookup_casstype("MapType(ListType(Int32Type), UTF8Type)")
    body = cqltype.codec().encode(util.OrderedMap([([1], "a"), ([2], "b")]))
    mapping = cqltype.codec().decode(body)
    assert type(mapping) is util.OrderedMapSerializedKey
    assert list(mapping.items()) == [([1], "a"), ([2], "b")]
    # The tuple (1,) is encoded like the list [1].
    assert mapping[(1,)] == "a"
    # A key that cannot be encoded counts as missing.
    assert mapping.get("no list of ints") is None
    mapping[[3]] = "c"
    mapping[[1]] = "A"
    assert list(mapping.values()) == ["A", "b", "c"]
    del mapping[[2]]
    assert len(mapping) == 2
    copied = pickle.loads(pickle.dumps(mapping))
    assert type(copied) is util.OrderedMapSerializedKey
    assert copied == mapping
    assert copied[[3]] == "c"
    assert copy.copy(mapping) == mapping


def pickled_copy(value: Any) -> Any:
    """Return the object that is read from the pickle of `value`."""
    return pickle.loads(pickle.dumps(value))


def copies_twice(value: Any) -> Any:
    """Return a copy of a copy, by different ways."""
    return copy.copy(pickled_copy(copy.deepcopy(pickled_copy(value))))


COPIES = [copy.copy, copy.deepcopy, pickled_copy, copies_twice]


@pytest.mark.parametrize("copied", COPIES)
@pytest.mark.parametrize(
    ("key_type", "key", "other_key"),
    [
        ("SimpleDateType", datetime.date(2020, 1, 2), datetime.date(2020, 1, 3)),
        ("TimeType", datetime.time(10), datetime.time(11)),
        ("TimestampType", datetime.datetime(2020, 1, 2), datetime.datetime(2020, 1, 3)),
        ("DecimalType", decimal.Decimal("1.50"), decimal.Decimal("1.5")),
        ("FrozenType(SetType(Int32Type))", {2, 1}, {1}),
        ("FrozenType(MapType(UTF8Type, SimpleDateType))", {"a": datetime.date(2020, 1, 2)}, {}),
        ("FrozenType(TupleType(ListType(Int32Type), UTF8Type))", ([1], "a"), ([1], "b")),
        ("VectorType(FloatType, 2)", (1, 2), (2, 1)),
    ],
)
def test_copies_of_decoded_maps_find_the_same_keys(
    copied: Callable[[Any], Any], key_type: str, key: object, other_key: object
) -> None:
    """A copy, or a map read from a pickle, finds the keys that the decoded map finds."""
    codec = cqltypes.lookup_casstype(f"MapType({key_type}, ListType(Int32Type))").codec()
    mapping = codec.decode(codec.encode(util.OrderedMap([(key, [1])])))
    copied_map = copied(mapping)
    assert type(copied_map) is util.OrderedMapSerializedKey
    assert copied_map == mapping
    assert copied_map[key] == [1]
    assert other_key not in copied_map
    assert "no key of this type" not in copied_map
    copied_map[other_key] = [2]
    copied_map[key] = [3]
    assert list(copied_map.values()) == [[3], [2]]
    assert list(mapping.values()) == [[1]]


@pytest.mark.parametrize("copied", COPIES)
def test_copies_of_maps_whose_keys_have_no_named_type(copied: Callable[[Any], Any]) -> None:
    """Maps are copied even if the name of their key type does not tell how keys are encoded."""
    # Values of a type that the driver does not know are bytes.
    codec = cqltypes.lookup_casstype("MapType(org.example.Unknown, Int32Type)").codec()
    mapping = copied(codec.decode(codec.encode({b"a": 1})))
    assert mapping[b"a"] == 1
    assert b"b" not in mapping
    # A pickle cannot name a codec that is not the driver's own.
    mapping = util.OrderedMapSerializedKey._of(["a"], [1], str.encode)
    assert copied(mapping)["a"] == 1


def test_pickled_maps_whose_keys_an_application_converts() -> None:
    """Keys that an application's codec has made are found by their pickles."""

    class Converted(cqltypes.Int32Type):
        """An int that is read as a text with a plus sign."""

        _registered = False

        @staticmethod
        def deserialize(byts: bytes, protocol_version: int) -> Any:
            return f"+{int.from_bytes(byts, 'big')}"

        @staticmethod
        def serialize(val: Any, protocol_version: int) -> bytes:
            return int(val).to_bytes(4, "big")

    codec = cqltypes.MapType.apply_parameters((Converted, cqltypes.Int32Type)).codec()
    mapping = codec.decode(codec.encode({"+1": 2}))
    assert list(mapping) == ["+1"]
    assert copy.copy(mapping)["+1"] == copy.deepcopy(mapping)[1] == 2
    assert pickled_copy(mapping)["+1"] == 2


class Level:
    """An application's class for the keys of a map."""

    def __init__(self, number: int) -> None:
        self.number = number


def test_keys_that_an_application_cannot_convert_back() -> None:
    """A converter with only `from_cql` makes keys that cannot be encoded as the map's key type.

    Iterating over the map and looking up its keys must work all the same.
    """
    registry = CodecRegistry()
    registry.register_type("int", Converter(from_cql=Level))
    (column,) = converting(
        ResultMetadata([ColumnMetadata("ks", "t", "m", cqltypes.lookup_casstype(INTS_BY_INT))]),
        registry.converters,
    ).columns
    body = cqltypes.lookup_casstype(INTS_BY_INT).codec().encode({1: 2, 2: 3})
    mapping = column.type.codec().decode(body)
    assert [(key.number, value.number) for key, value in mapping.items()] == [(1, 2), (2, 3)]
    assert [value.number for value in mapping.values()] == [2, 3]
    assert [mapping[key].number for key in mapping] == [2, 3]
    assert {key.number: value.number for key, value in dict(mapping).items()} == {1: 2, 2: 3}
    assert mapping[Level(2)].number == 3
    with pytest.raises(KeyError):
        mapping[Level(3)]


def test_views_of_maps() -> None:
    """The views of a map are those of any mapping, and follow its changes."""
    mapping = util.OrderedMap([([1], "a"), ([2], "b")])
    items, values = mapping.items(), mapping.values()
    assert ([1], "a") in items
    assert ([1], "b") not in items
    assert ("b" in values, "c" in values) == (True, False)
    mapping[[3]] = "c"
    assert (list(items)[2], list(values)[2]) == (([3], "c"), "c")
    assert (len(items), len(values)) == (3, 3)
    assert list(pickle.loads(pickle.dumps(items))) == list(items)
    assert list(pickle.loads(pickle.dumps(values))) == list(values)
    assert repr(util.OrderedMap({1: 2}).items()) == "ItemsView(OrderedMap([(1, 2)]))"
    assert repr(util.OrderedMap({1: 2}).values()) == "ValuesView(OrderedMap([(1, 2)]))"


def test_views_of_subclasses_use_their_methods() -> None:
    class Tenfold(util.OrderedMap):
        def __getitem__(self, key: object) -> Any:
            return super().__getitem__(key) * 10

    assert list(Tenfold({"a": 1}).items()) == [("a", 10)]
    assert list(Tenfold({"a": 1}).values()) == [10]


def test_deep_copies_of_maps_that_contain_themselves() -> None:
    """A map that is one of its own values is copied once, and the values are copied."""
    codec = cqltypes.lookup_casstype("MapType(UTF8Type, ListType(Int32Type))").codec()
    mapping = codec.decode(codec.encode({"a": [1]}))
    mapping["self"] = mapping
    copied_map = copy.deepcopy(mapping)
    assert copied_map["self"] is copied_map
    copied_map["a"].append(2)
    assert mapping["a"] == [1]
    # A shallow copy has the same values.
    assert copy.copy(mapping)["a"] is mapping["a"]


def test_maps_of_older_pickles() -> None:
    """A pickle without a key type is read; its keys are compared by their pickles."""
    rebuild, (cls, keys, values, _) = util.OrderedMapSerializedKey(
        cqltypes.UTF8Type, 4
    ).__reduce__()
    assert (keys, values) == ([], [])
    assert rebuild(cls, ["a"], [1])["a"] == 1


def test_a_repeated_key_of_a_decoded_map_has_the_last_value() -> None:
    """If the encoded map has a key twice, the decoded map has the last value."""
    cqltype = cqltypes.lookup_casstype("MapType(Int32Type, Int32Type)")
    # Each entry of the encoded map begins with these bytes: the length of the key (4), the key (1),
    # and the length of the value that follows (4).
    key_and_length = "00000004" + "00000001" + "00000004"
    mapping = cqltype.codec().decode(
        bytes.fromhex("00000002" + key_and_length + "00000005" + key_and_length + "00000006")
    )
    assert mapping[1] == 6
    assert list(mapping.items()) == [(1, 6)]


def test_serialized_keys_by_type() -> None:
    """An OrderedMapSerializedKey finds values by the CQL encoding of their keys.

    An object that cannot be encoded is no key of the map.
    """
    mapping = util.OrderedMapSerializedKey(cqltypes.UTF8Type, 4)
    mapping._insert("a", 1)
    mapping._insert_unchecked("b", b"b", 2)
    assert (mapping["a"], mapping["b"], len(mapping)) == (1, 2, 2)
    assert 5 not in mapping


def test_importing_the_encoder_does_not_load_pickle() -> None:
    code = (
        "import sys, cassandra.encoder; "
        "print(sorted({'pickle', 'json', 'random', 'ipaddress'} & set(sys.modules)))"
    )
    done = run_python(code, is_bare=True)
    assert done.stdout.strip() == "[]", done.stderr
