"""Codecs of tuples, user-defined types and collections. The values may be objects of many
classes.
"""

from __future__ import annotations

from typing import Any

import pytest

from cassandra import cqltypes as t
from tests.conftest import Twins
from tests.unit.cqltypes.samples import (
    ADDRESS,
    INT,
    TEXT,
    list_of,
    map_of,
    set_of,
    tuple_of,
)


def test_short_tuples_and_udts_are_filled_with_nulls(twins: Twins) -> None:
    tuple_codec = tuple_of(INT, INT, INT).build_codec(twins.codecs)
    assert tuple_codec.encode((1,)).hex() == "0000000400000001" + "ffffffff" * 2
    assert tuple_codec.decode(bytes.fromhex("0000000400000001")) == (1, None, None)
    address_codec = ADDRESS.build_codec(twins.codecs)
    assert address_codec.encode(["x"]).hex() == "0000000178" + "ffffffff"
    assert address_codec.decode(bytes.fromhex("0000000178")) == ("x", None)
    assert address_codec.decode(b"") == (None, None)


class Attributes:
    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)


@pytest.mark.parametrize(
    "value", [{"street": "x", "zip": 7}, Attributes(street="x", zip=7), ("x", 7), ["x", 7]]
)
def test_udts_are_encoded_from_mappings_objects_and_sequences(twins: Twins, value: Any) -> None:
    assert (
        ADDRESS.build_codec(twins.codecs).encode(value).hex() == "0000000178" + "0000000400000007"
    )


def test_mapped_classes(twins: Twins) -> None:
    """A value of a user-defined type is decoded to the class that is mapped to the type."""
    classes = [dict, Attributes]
    for mapped_class in classes:
        mapped = t.UserType.make_udt_class(
            "ks", "address", ["street", "zip"], [TEXT, INT], mapped_class=mapped_class
        )
        instance = mapped.build_codec(twins.codecs).decode(
            bytes.fromhex("00000001780000000400000007")
        )
        assert type(instance) is mapped_class
        assert (instance if mapped_class is dict else instance.__dict__) == {
            "street": "x",
            "zip": 7,
        }


def test_mapping_a_class_later_changes_existing_codecs() -> None:
    t.UserType.evict_udt_class("ks", "later")
    later = t.UserType.make_udt_class("ks", "later", ["street", "zip"], [TEXT, INT])
    assert later.codec().decode(bytes.fromhex("0000000178ffffffff")) == ("x", None)
    later.mapped_class = dict
    assert later.codec().decode(bytes.fromhex("0000000178ffffffff")) == {"street": "x", "zip": None}


def test_dynamic_composites(twins: Twins) -> None:
    """In a dynamic composite, each component names its type by an alias or by the full name."""
    cqltype = t.lookup_casstype("DynamicCompositeType(s=>UTF8Type, i=>Int32Type)")
    codec = cqltype.build_codec(twins.codecs)
    # 0x80 says that an alias follows: 0x73 is "s" and 0x69 is "i". Each component ends with a zero
    # byte.
    body = bytes.fromhex("8073" + "0001" + "61" + "00" + "8069" + "0004" + "00000001" + "00")
    assert codec.encode([("s", "a"), ("i", 1)]) == body
    assert codec.decode(body) == ("a", 1)
    # A composite that is already encoded is passed on as it is.
    assert codec.encode(body) == body
    by_name = b"\x00\x08UTF8Type" + b"\x00\x01b\x00"
    assert codec.decode(by_name) == ("b",)


@pytest.mark.parametrize("size", [1, 255, 256, 70_000])
def test_containers_of_elements_of_any_length(twins: Twins, size: int) -> None:
    """Lists and maps whose texts have any length are encoded and decoded."""
    texts = ["x" * size, "", "\u00e9", "y"]
    parts = [b"x" * size, b"", b"\xc3\xa9", b"y"]
    body = b"\x00\x00\x00\x04" + b"".join([len(part).to_bytes(4, "big") + part for part in parts])
    codec = list_of(t.UTF8Type).build_codec(twins.codecs)
    assert codec.encode(texts) == body
    assert codec.decode(body) == texts
    pairs = dict(zip(texts, texts, strict=True))
    map_body = b"\x00\x00\x00\x04" + b"".join(
        [(len(part).to_bytes(4, "big") + part) * 2 for part in parts]
    )
    codec = map_of(t.UTF8Type, t.UTF8Type).build_codec(twins.codecs)
    assert codec.encode(pairs) == map_body
    assert dict(codec.decode(map_body)) == pairs


def test_a_large_set_of_unhashable_elements_is_read_quickly(twins: Twins) -> None:
    # If duplicates were found by comparing all pairs, this would take 200 million comparisons.
    count = 20_000
    # There is one element, of four bytes.
    set_header = b"\x00\x00\x00\x01\x00\x00\x00\x04"
    elements = [set_header + number.to_bytes(4, "big") for number in range(count)]
    body = count.to_bytes(4, "big") + b"".join(
        [len(element).to_bytes(4, "big") + element for element in elements]
    )
    sets = set_of(set_of(t.Int32Type)).build_codec(twins.codecs).decode(body)
    assert len(sets) == count
    assert list(sets[5]) == [5]
    assert sets[5] in sets
