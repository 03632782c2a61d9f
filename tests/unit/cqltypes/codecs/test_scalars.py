"""Codecs of scalars: bit-exact floats, and types of decoded values."""

from __future__ import annotations

from typing import Any

import pytest

from cassandra.util.orderedmap import OrderedMapSerializedKey
from cassandra.util.sortedset import SortedSet
from tests.conftest import Twins
from tests.unit.cqltypes.samples import (
    ADDRESS,
    FLOAT,
    INT,
    TEXT,
    list_of,
    map_of,
    set_of,
    tuple_of,
    vector_of,
)


@pytest.mark.parametrize("payload", ["7fc00000", "7fc00001", "ffc12345", "80000000"])
def test_float_payloads_and_signs_survive(twins: Twins, payload: str) -> None:
    number = bytes.fromhex(payload)
    bodies = {
        FLOAT: number,
        list_of(FLOAT): bytes.fromhex("00000001" + "00000004") + number,
        vector_of(FLOAT, 3): number * 3,
    }
    for cqltype, body in bodies.items():
        codec = cqltype.build_codec(twins.codecs)
        assert codec.encode(codec.decode(body)) == body


def test_classes_of_decoded_values(twins: Twins) -> None:
    """Maps, sets, user-defined types and tuples are decoded to the documented classes."""

    def encode_and_decode(cqltype: Any, value: Any) -> Any:
        codec = cqltype.build_codec(twins.codecs)
        return codec.decode(codec.encode(value))

    mapping = encode_and_decode(map_of(list_of(INT), TEXT), {(1, 2): "x", (3,): "y"})
    assert type(mapping) is OrderedMapSerializedKey
    assert mapping[[1, 2]] == "x"
    assert mapping[(3,)] == "y"
    assert [1] not in mapping
    assert "text" not in mapping
    assert type(encode_and_decode(set_of(TEXT), {"b", "a"})) is SortedSet
    # Sets are sorted, without duplicates.
    assert list(encode_and_decode(set_of(TEXT), ["b", "a", "b"])) == ["a", "b"]
    row = encode_and_decode(ADDRESS, {"zip": 5})
    assert row == (None, 5)
    assert row.zip == 5
    assert type(row).__name__ == "address"
    assert type(encode_and_decode(tuple_of(INT), (1,))) is tuple
