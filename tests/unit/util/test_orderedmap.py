"""Test `OrderedMap` and `OrderedMapSerializedKey`."""

from __future__ import annotations

import copy
import pickle

import pytest

from cassandra import cqltypes, util
from tests.processes import run_python


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
