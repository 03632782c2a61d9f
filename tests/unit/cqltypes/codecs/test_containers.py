"""Test the codecs of tuples, user-defined types and collections.

The encoded values may be objects of many classes.
"""

from __future__ import annotations

import array
import uuid
from typing import Any

import numpy
import pytest

from cassandra import cqltypes as t
from cassandra.cqltypes import EncodeTypeError, EncodeValueError
from cassandra.errors import DecodeError
from cassandra.sentinels import EMPTY
from cassandra.util.sortedset import SortedSet
from tests.conftest import Implementation
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


@pytest.mark.parametrize("value", [(1,), [1]])
def test_short_tuples_are_written_without_the_missing_items(
    implementation: Implementation, value: Any
) -> None:
    """A tuple with fewer items than its type is encoded without the missing items.

    Other drivers encode short tuples in the same way. A partition key of other bytes would not find
    the rows that they have written.
    """
    codec = tuple_of(INT, INT, INT).build_codec(implementation.codecs)
    # An item is encoded as its size in four bytes and its value; the size of null is -1.
    encoded = codec.encode(value)
    assert encoded.hex() == "0000000400000001"
    assert codec.decode(encoded) == (1, None, None)
    assert codec.encode(type(value)()).hex() == "ffffffff" * 3
    assert codec.encode((1, None)).hex() == "0000000400000001" + "ffffffff"
    in_list = list_of(tuple_of(INT, INT)).build_codec(implementation.codecs)
    assert in_list.encode([value]).hex() == "00000001" + "00000008" + "0000000400000001"


def test_short_udts_are_filled_with_nulls(implementation: Implementation) -> None:
    """If a value or its bytes have fewer fields than the type, the missing fields are null."""
    address_codec = ADDRESS.build_codec(implementation.codecs)
    assert address_codec.encode(["x"]).hex() == "0000000178" + "ffffffff"
    assert address_codec.decode(bytes.fromhex("0000000178")) == ("x", None)
    assert address_codec.decode(b"") == (None, None)


class Attributes:
    """An object whose attributes are the fields of a user-defined type."""

    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)


@pytest.mark.parametrize(
    "value", [{"street": "x", "zip": 7}, Attributes(street="x", zip=7), ("x", 7), ["x", 7]]
)
def test_udts_are_encoded_from_mappings_objects_and_sequences(
    implementation: Implementation, value: Any
) -> None:
    """A user-defined type is encoded from a mapping, an object, a tuple or a list."""
    assert (
        ADDRESS.build_codec(implementation.codecs).encode(value).hex()
        == "0000000178" + "0000000400000007"
    )


def test_mapped_classes(implementation: Implementation) -> None:
    """A value of a user-defined type is decoded to the class that is mapped to the type."""
    # Each field has its size in four bytes before its value: "x" and 7.
    body = bytes.fromhex("00000001" + "78" + "00000004" + "00000007")

    def decode(mapped_class: type) -> Any:
        user_type = t.UserType.make_udt_class(
            "ks", "address", ["street", "zip"], [TEXT, INT], mapped_class=mapped_class
        )
        return user_type.build_codec(implementation.codecs).decode(body)

    as_dict = decode(dict)
    assert type(as_dict) is dict
    assert as_dict == {"street": "x", "zip": 7}
    as_object = decode(Attributes)
    assert type(as_object) is Attributes
    assert vars(as_object) == {"street": "x", "zip": 7}


def test_mapping_a_class_later_changes_existing_codecs() -> None:
    """If a class is mapped to a user-defined type later, existing codecs return the class."""
    t.UserType.evict_udt_class("ks", "later")
    later = t.UserType.make_udt_class("ks", "later", ["street", "zip"], [TEXT, INT])
    assert later.codec().decode(bytes.fromhex("0000000178ffffffff")) == ("x", None)
    later.mapped_class = dict
    assert later.codec().decode(bytes.fromhex("0000000178ffffffff")) == {"street": "x", "zip": None}


def test_dynamic_composites(implementation: Implementation) -> None:
    """In a dynamic composite, each component names its type by an alias or by the full name."""
    cqltype = t.lookup_casstype("DynamicCompositeType(s=>UTF8Type, i=>Int32Type)")
    codec = cqltype.build_codec(implementation.codecs)
    # The first byte 0x80 says that an alias follows. 0x73 is "s" and 0x69 is "i". Each component
    # ends with a zero byte.
    body = bytes.fromhex("8073" + "0001" + "61" + "00" + "8069" + "0004" + "00000001" + "00")
    assert codec.encode([("s", "a"), ("i", 1)]) == body
    assert codec.decode(body) == ("a", 1)
    # An encoded composite is passed on unchanged.
    assert codec.encode(body) == body
    by_name = b"\x00\x08UTF8Type" + b"\x00\x01b\x00"
    assert codec.decode(by_name) == ("b",)


@pytest.mark.parametrize("size", [1, 255, 256, 70_000])
def test_containers_of_elements_of_any_length(implementation: Implementation, size: int) -> None:
    """Lists and maps of strings of any length are encoded and decoded."""
    texts = ["x" * size, "", "\u00e9", "y"]
    encoded_texts = [text.encode() for text in texts]
    body = count_and(4, *encoded_texts)
    codec = list_of(t.UTF8Type).build_codec(implementation.codecs)
    assert codec.encode(texts) == body
    assert codec.decode(body) == texts
    # The keys of this map are equal to their values.
    mapping = {text: text for text in texts}
    map_body = (4).to_bytes(4, "big") + b"".join(size_and(text) * 2 for text in encoded_texts)
    codec = map_of(t.UTF8Type, t.UTF8Type).build_codec(implementation.codecs)
    assert codec.encode(mapping) == map_body
    assert dict(codec.decode(map_body)) == mapping


def test_a_large_set_of_unhashable_elements_is_read_quickly(implementation: Implementation) -> None:
    """A set of 20,000 sets is decoded without a comparison of all pairs.

    All pairs would take 200 million comparisons.
    """
    count = 20_000
    elements = [count_and(1, number.to_bytes(4, "big")) for number in range(count)]
    body = count_and(count, *elements)
    sets = set_of(set_of(t.Int32Type)).build_codec(implementation.codecs).decode(body)
    assert len(sets) == count
    assert list(sets[5]) == [5]
    assert sets[5] in sets


# -- the bytes of each container -------------------------------------------------------------------


def size_and(value: bytes) -> bytes:
    """Return an encoded element: its size in four bytes, and its value."""
    return len(value).to_bytes(4, "big") + value


def count_and(count: int, *values: bytes | None) -> bytes:
    """Return an encoded collection: the number of elements, and each value after its size.

    :param values: the encoded values; None stands for null.
    """
    elements = [NULL if value is None else size_and(value) for value in values]
    return count.to_bytes(4, "big", signed=True) + b"".join(elements)


NULL = b"\xff\xff\xff\xff"
ONE, TWO = b"\0\0\0\1", b"\0\0\0\2"  # two values of the type int
SEVEN = b"\7"  # a varint, which has no fixed size
NESTED = list_of(INT)

# Each tuple has a type, a value, and the value's bytes.
BYTES: list[tuple[Any, Any, bytes]] = [
    (list_of(INT), [1, 2], count_and(2, ONE, TWO)),
    (list_of(INT), [], count_and(0)),
    (list_of(INT), [1, None], count_and(2, ONE, None)),
    (list_of(INT), [None, None], count_and(2, None, None)),
    (list_of(TEXT), ["a", "", "b"], count_and(3, b"a", b"", b"b")),
    (list_of(TEXT), ["a", None], count_and(2, b"a", None)),
    (list_of(NESTED), [[1], []], count_and(2, count_and(1, ONE), count_and(0))),
    (list_of(NESTED), [None, [2]], count_and(2, None, count_and(1, TWO))),
    (set_of(INT), SortedSet([1, 2]), count_and(2, ONE, TWO)),
    (set_of(TEXT), SortedSet(["a", "b"]), count_and(2, b"a", b"b")),
    (map_of(TEXT, INT), {"a": 1, "b": 2}, count_and(2, b"a", ONE, b"b", TWO)),
    (map_of(TEXT, INT), {}, count_and(0)),
    (map_of(TEXT, INT), {"a": None}, count_and(1, b"a", None)),
    (map_of(INT, NESTED), {1: [2]}, count_and(1, ONE, count_and(1, TWO))),
    (tuple_of(INT, TEXT), (1, "a"), size_and(ONE) + size_and(b"a")),
    (tuple_of(INT, TEXT), (None, ""), NULL + size_and(b"")),
    (ADDRESS, ("x", 1), size_and(b"x") + size_and(ONE)),
    (vector_of(INT, 2), [1, 2], ONE + TWO),
    (vector_of(t.UUIDType, 2), [uuid.UUID(int=1), uuid.UUID(int=2)], bytes(15) + b"\1" + bytes(15) + b"\2"),  # noqa: E501
    (vector_of(TEXT, 2), ["a", "bc"], b"\1a\2bc"),
    (vector_of(t.IntegerType, 2), [7, 7], (b"\1" + SEVEN) * 2),
    (vector_of(vector_of(INT, 1), 2), [[1], [2]], ONE + TWO),
    (vector_of(NESTED, 1), [[1]], b"\x0c" + count_and(1, ONE)),
]  # fmt: skip


@pytest.mark.parametrize(("cqltype", "value", "body"), BYTES)
def test_containers_are_encoded_as_specified_and_decoded(
    implementation: Implementation, cqltype: Any, value: Any, body: bytes
) -> None:
    """A container is encoded to the specified bytes, and decoded to an equal value.

    The decoded value has the original's class, except for maps and tuples.
    """
    codec = cqltype.build_codec(implementation.codecs)
    assert codec.encode(value) == body
    decoded = codec.decode(body)
    assert decoded == value
    assert type(decoded) is type(value) or isinstance(value, dict | tuple)


@pytest.mark.parametrize(
    ("cqltype", "body", "message"),
    [
        (list_of(INT), b"\0\0\0", "truncated: 3 bytes of a 4-byte count"),
        (list_of(INT), count_and(-1), "the negative count -1"),
        (list_of(INT), count_and(2, ONE)[:8], "claims 2 elements, which 4 bytes cannot hold"),
        (list_of(INT), count_and(1, ONE, TWO), "8 bytes left over after 1 elements"),
        (list_of(INT), count_and(2, ONE, b"\0\0"), "^element 1 of list<int>: "),
        (list_of(INT), count_and(2, None, b"\0\0"), "^element 1 of list<int>: "),
        (list_of(TEXT), count_and(2, b"a", b"\xff"), "^element 1 of list<text>: "),
        (list_of(TEXT), count_and(2, b"abcd", b"abcd")[:-1], "^element 1 of list<text>: "),
        (list_of(TEXT), count_and(1, b"a") + b"x", "1 bytes left over after 1 elements"),
        (set_of(TEXT), count_and(1, b"\xff"), "^element 0 of set<text>: "),
        (map_of(TEXT, INT), count_and(1, b"\xff", ONE), "^key 0 of map<text, int>: "),
        (map_of(TEXT, INT), count_and(1, b"a", b"\0"), "^value 0 of map<text, int>: "),
        (map_of(TEXT, INT), count_and(2, b"a", ONE, b"b", b"\0"), "^value 1 of map<text, int>: "),
        (map_of(TEXT, INT), count_and(1, b"a", ONE) + b"x", "1 bytes left over after 1 pairs"),
        (map_of(TEXT, INT), count_and(2, b"a")[:11], "claims 2 elements, which 5 bytes cannot"),
        (tuple_of(INT, TEXT), size_and(b"\0"), "^item 0 of tuple<int, text>: "),
        (tuple_of(INT, TEXT), size_and(ONE) + size_and(b"\xff"), "^item 1 of tuple<int, text>: "),
        (tuple_of(INT), size_and(ONE) * 2, "8 bytes left over after 1 fields"),
        (tuple_of(INT, INT), size_and(ONE) + b"\0\0", "^item 1 of tuple<int, int>: "),
        (ADDRESS, size_and(b"x") + size_and(b"\0"), '^field "zip" of ks.address: '),
        (vector_of(INT, 2), ONE, "vector<int, 2>"),
        (vector_of(INT, 2), ONE * 3, "vector<int, 2>"),
        (vector_of(TEXT, 2), b"\1a\2b", "^element 1 of .*an element claims 2 bytes, 1 are"),
        (vector_of(TEXT, 2), b"\1a\xff\xff", "^element 1 of .*truncated within the length"),
        (vector_of(TEXT, 2), b"\1", "1 bytes cannot hold 2 elements"),
        (vector_of(TEXT, 2), b"\1a\1bc", "1 bytes left over after 2 elements"),
        (vector_of(TEXT, 2), b"\1a\1\xff", "^element 1 of vector<text, 2>: "),
    ],
)  # fmt: skip
def test_damaged_bytes_are_located(
    implementation: Implementation, cqltype: Any, body: bytes, message: str
) -> None:
    """The error for damaged bytes of a container names the position and the type."""
    with pytest.raises(DecodeError, match=message):
        cqltype.build_codec(implementation.codecs).decode(body)


@pytest.mark.parametrize(
    ("cqltype", "value", "message"),
    [
        (list_of(INT), [1, "a"], "^element 1 of list<int>: 'a'"),
        (list_of(TEXT), ["a", 1], r"^element 1 of list<text>: 1 \(int\) is not text"),
        (list_of(NESTED), [[1], ["a"]], "^element 1 of list<list<int>>: element 0 of list<int>"),
        (map_of(TEXT, INT), {"a": "b"}, "^value 0 of map<text, int>: 'b'"),
        (map_of(TEXT, INT), {"a": 1, 2: 3}, "^key 1 of map<text, int>: 2"),
        (tuple_of(INT, TEXT), (1, 2), "^item 1 of tuple<int, text>: 2"),
        (tuple_of(INT), (1, 2), "has 2 items, tuple<int> takes 1"),
        (ADDRESS, ("x", "y"), '^field "zip" of ks.address: \'y\''),
        (vector_of(INT, 2), [1], "has 1 elements, vector<int, 2> takes 2"),
        (vector_of(INT, 2), [1, 2, 3], "has 3 elements, vector<int, 2> takes 2"),
        (vector_of(INT, 2), [1, None], "^element 1 of vector<int, 2>: null is not allowed"),
        (vector_of(INT, 2), [1, EMPTY], "^element 1 of vector<int, 2>: an empty value is not"),
        (vector_of(TEXT, 2), ["a"], "has 1 elements, vector<text, 2> takes 2"),
        (vector_of(TEXT, 2), [None, "a"], "^element 0 of vector<text, 2>: null is not allowed"),
        (vector_of(t.UUIDType, 1), ["x"], "^element 0 of vector<uuid, 1>: 'x'"),
    ],
)  # fmt: skip
def test_values_that_do_not_fit_are_located(
    implementation: Implementation, cqltype: Any, value: Any, message: str
) -> None:
    """The error for a part that does not fit its type names the position and the type."""
    with pytest.raises((EncodeTypeError, EncodeValueError), match=message):
        cqltype.build_codec(implementation.codecs).encode(value)


def test_an_empty_value_has_no_bytes(implementation: Implementation) -> None:
    """EMPTY is encoded as zero bytes by the codec of any container."""
    for cqltype in (list_of(INT), map_of(INT, INT), tuple_of(INT), ADDRESS):
        assert cqltype.build_codec(implementation.codecs).encode(EMPTY) == b""


@pytest.mark.parametrize("cqltype", [list_of(INT), vector_of(INT, 2)])
def test_numbers_are_stored_in_a_buffer(implementation: Implementation, cqltype: Any) -> None:
    """`deserialize_into` stores numbers in a buffer and returns how many it has stored.

    The rest of the buffer does not change.
    """
    codec = cqltype.build_codec(implementation.codecs)
    buffer = array.array("i", [0, 0, 7])
    assert codec.deserialize_into(codec.encode([1, 2]), buffer) == 2
    assert buffer.tolist() == [1, 2, 7]


def test_nulls_and_malformed_numbers_cannot_be_stored_in_a_buffer(
    implementation: Implementation,
) -> None:
    """`deserialize_into` raises DecodeError for a null or malformed number."""
    buffer = array.array("i", [0, 0])
    codec = list_of(INT).build_codec(implementation.codecs)
    with pytest.raises(DecodeError, match="has null or empty elements"):
        codec.deserialize_into(count_and(2, ONE, None), buffer)
    with pytest.raises(DecodeError, match="element 1 of list<int>"):
        codec.deserialize_into(count_and(2, ONE, b"\0"), buffer)


@pytest.mark.parametrize(
    ("vectors", "expected"), [("list", list), ("array", array.array), ("numpy", numpy.ndarray)]
)
def test_vectors_are_decoded_as_requested(
    implementation: Implementation, vectors: str, expected: Any
) -> None:
    """Vectors of numbers are decoded to the requested class, and other vectors to lists."""
    codec = vector_of(t.FloatType, 2).build_codec(implementation.codecs, 5, vectors)
    decoded: Any = codec.decode(codec.encode([1.5, 2]))
    assert type(decoded) is expected
    assert list(decoded) == [1.5, 2.0]
    # A vector whose elements are not numbers is always decoded to a list.
    texts = vector_of(TEXT, 1).build_codec(implementation.codecs, 5, vectors)
    assert texts.decode(texts.encode(["a"])) == ["a"]


def test_wrong_arguments_of_codecs_are_refused(implementation: Implementation) -> None:
    """The codecs' constructors raise ValueError for wrong arguments."""
    int_codec = INT.build_codec(implementation.codecs)
    with pytest.raises(ValueError, match="read as 'list', 'array' or 'numpy', not as 'tuple'"):
        implementation.codecs.vector_of(int_codec, 2, as_="tuple")
    with pytest.raises(ValueError, match=r"ks\.t has 1 names of fields and 2 fields"):
        implementation.codecs.udt("ks.t", ["a"], [int_codec, int_codec], tuple)


def test_codecs_of_containers_are_named_after_their_elements(
    implementation: Implementation,
) -> None:
    """The CQL name of a container's codec contains the names of its elements' codecs."""
    codecs = implementation.codecs
    int_codec = INT.build_codec(codecs)
    assert codecs.list_of(int_codec).cql_name == "list<int>"
    assert codecs.set_of(int_codec).cql_name == "set<int>"
    assert codecs.map_of(int_codec, int_codec).cql_name == "map<int, int>"
    assert codecs.tuple_of([int_codec, int_codec]).cql_name == "tuple<int, int>"
    assert codecs.vector_of(int_codec, 2).cql_name == "vector<int, 2>"


def test_memory_of_vectors_is_given_back_when_it_is_unused(implementation: Implementation) -> None:
    """`release_vector_memory` frees memory for vectors if none was decoded since its last call.

    Afterwards, vectors are still decoded correctly.
    """
    codecs = implementation.codecs
    codec = vector_of(FLOAT, 256).build_codec(codecs)
    vectors = [[float(row)] * 256 for row in range(300)]
    encoded = [codec.encode(vector) for vector in vectors]

    def read_all() -> None:
        assert [codec.decode(data) for data in encoded] == vectors

    codecs.release_vector_memory(even_if_used=True)
    for _ in range(3):
        read_all()
    while_used = codecs.release_vector_memory()
    # Only builds that copy the headers of floats keep memory; see beyond_api.h.
    assert 0 <= while_used <= 128
    assert codecs.release_vector_memory() == 0
    read_all()
    assert codecs.release_vector_memory(even_if_used=True) == 0
    read_all()
