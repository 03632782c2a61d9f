"""OrderedMap and OrderedMapSerializedKey."""

from __future__ import annotations

import copy
import pickle

import pytest

from cassandra import cqltypes, util
from tests.processes import run_python


def test_ordered_map() -> None:
    found = util.OrderedMap([([1], "a"), ({"x": 1}, "b"), ([1], "c")])
    assert list(found.items()) == [([1], "c"), ({"x": 1}, "b")]
    assert found[[1]] == "c"
    assert {"x": 1} in found
    assert found.get([2]) is None
    with pytest.raises(KeyError):
        found[[2]]
    del found[[1]]
    assert list(found) == [{"x": 1}]
    assert util.OrderedMap({"a": 1}, b=2) == {"b": 2, "a": 1}
    assert util.OrderedMap([(1, 2), (3, 4)]) != util.OrderedMap([(3, 4), (1, 2)])
    assert str(util.OrderedMap([(1, 2)])) == "{1: 2}"
    assert repr(util.OrderedMap([(1, 2)])) == "OrderedMap([(1, 2)])"
    assert found.popitem() == ({"x": 1}, "b")
    with pytest.raises(KeyError):
        found.popitem()
    with pytest.raises(TypeError, match="at most 1"):
        util.OrderedMap([], [])


def test_maps_off_the_wire() -> None:
    cqltype = cqltypes.lookup_casstype("MapType(ListType(Int32Type), UTF8Type)")
    body = cqltype.codec().encode(util.OrderedMap([([1], "a"), ([2], "b")]))
    found = cqltype.codec().decode(body)
    assert type(found) is util.OrderedMapSerializedKey
    assert list(found.items()) == [([1], "a"), ([2], "b")]
    assert found[(1,)] == "a"
    assert found.get("no list of ints") is None
    found[[3]] = "c"
    found[[1]] = "A"
    assert list(found.values()) == ["A", "b", "c"]
    del found[[2]]
    assert len(found) == 2
    again = pickle.loads(pickle.dumps(found))
    assert type(again) is util.OrderedMapSerializedKey
    assert again == found
    assert again[[3]] == "c"
    assert copy.copy(found) == found


def test_a_key_that_the_wire_repeats() -> None:
    cqltype = cqltypes.lookup_casstype("MapType(Int32Type, Int32Type)")
    pair = "00000004" + "00000001" + "00000004"
    found = cqltype.codec().decode(
        bytes.fromhex("00000002" + pair + "00000005" + pair + "00000006")
    )
    assert found[1] == 6
    assert list(found.items()) == [(1, 6)]


def test_serialized_keys_by_type() -> None:
    found = util.OrderedMapSerializedKey(cqltypes.UTF8Type, 4)
    found._insert("a", 1)
    found._insert_unchecked("b", b"b", 2)
    assert (found["a"], found["b"], len(found)) == (1, 2, 2)
    assert 5 not in found


def test_maps_off_the_wire_and_their_helpers_load_no_pickle() -> None:
    code = (
        "import sys, cassandra.encoder; "
        "print(sorted({'pickle', 'json', 'random', 'ipaddress'} & set(sys.modules)))"
    )
    done = run_python(code, is_bare=True)
    assert done.stdout.strip() == "[]", done.stderr
