"""Arrays of numbers.

Values that support the buffer protocol can be encoded, and vectors can be decoded into arrays and
buffers.
"""

from __future__ import annotations

import array
import gc
import struct
import sys
import weakref
from typing import Any

import numpy
import pytest

from cassandra import cqltypes as t
from cassandra.errors import DecodeError
from tests.conftest import Implementation
from tests.unit.cqltypes.samples import list_of, set_of, vector_of

KINDS = {
    "b": (t.ByteType, 1),
    "h": (t.ShortType, 2),
    "i": (t.Int32Type, 4),
    "q": (t.LongType, 8),
    "f": (t.FloatType, 4),
    "d": (t.DoubleType, 8),
}


def list_body(code: str, values: list[Any]) -> bytes:
    """Return the encoding of a list, built with `struct` as native_protocol_v5.spec describes
    it.
    """
    width = KINDS[code][1]
    return struct.pack(">i", len(values)) + b"".join(
        struct.pack(f">i{code}", width, value) for value in values
    )


@pytest.mark.parametrize("code", KINDS)
@pytest.mark.parametrize(
    "source",
    [
        "b1",
        "<i2",
        ">i2",
        "<i4",
        ">i4",
        "<i8",
        ">i8",
        "<f4",
        ">f4",
        "<f8",
        ">f8",
        "u1",
        "u2",
        ">u4",
        "u8",
        "f2",
        "?",
    ],
)
@pytest.mark.parametrize(
    "layout", ["plain", "strided", "reversed", "column", "readonly", "unaligned"]
)
def test_numpy_of_any_kind_order_and_stride(
    implementation: Implementation, code: str, source: str, layout: str
) -> None:
    # The code "b1" would mean a bool to NumPy.
    dtype = numpy.dtype("i1" if source == "b1" else source)
    values = [1, 0, 1, 1, 0] if source == "?" else [1, 2, 3, 100, 0]
    flat = numpy.array(values, dtype)
    # Put the same values into different memory layouts.
    if layout == "strided":
        wide = numpy.zeros(10, dtype)
        wide[::2] = flat
        flat = wide[::2]
    elif layout == "reversed":
        flat = flat[::-1].copy()[::-1]
    elif layout == "column":
        grid = numpy.zeros((5, 3), dtype)
        grid[:, 1] = flat
        flat = grid[:, 1]
    elif layout == "readonly":
        flat.flags.writeable = False
    elif layout == "unaligned":
        raw = numpy.frombuffer(b"\x00" + flat.tobytes(), numpy.uint8)[1:]
        flat = raw.view(dtype)
    cqltype = KINDS[code][0]
    list_codec = list_of(cqltype).build_codec(implementation.codecs)
    # An array of floats is refused as a list of integers, even if all its numbers are whole.
    if dtype.kind == "f" and code not in "fd":
        with pytest.raises(TypeError, match=r"^element 0 of list<.*is not an integer$"):
            list_codec.encode(flat)
        return
    assert list_codec.encode(flat) == list_body(code, values)
    if cqltype.serial_size() is not None:
        assert vector_of(cqltype, 5).build_codec(implementation.codecs).encode(flat) == struct.pack(
            f">5{code}", *values
        )


@pytest.mark.parametrize(
    "exporter",
    [
        array.array("i", [1, 2, 255]),
        bytearray([1, 2, 255]),
        memoryview(array.array("h", [1, 2, 255])),
        array.array("d", [1, 2, 255]),
    ],
)
def test_other_objects_with_a_buffer(implementation: Implementation, exporter: Any) -> None:
    """Arrays, bytearrays and memoryviews of numbers are encoded in the same way as NumPy's
    arrays.
    """
    assert vector_of(t.DoubleType, 3).build_codec(implementation.codecs).encode(
        exporter
    ) == struct.pack(">3d", 1, 2, 255)
    # An array of floats is refused as a list of integers.
    if not (isinstance(exporter, array.array) and exporter.typecode == "d"):
        assert list_of(t.LongType).build_codec(implementation.codecs).encode(exporter) == list_body(
            "q", [1, 2, 255]
        )


OUT_OF_RANGE = [
    (t.Int32Type, numpy.array([0, 2**31]), "element 1 of .*2147483648.*out of the range of int"),
    (t.ByteType, numpy.array([0, 0, 128], "u1"), "element 2 of .*128.*out of the range of tinyint"),
    (t.LongType, numpy.array([2**63], "u8"), "element 0 of .*out of the range of bigint"),
    (t.FloatType, numpy.array([0.0, 1e39]), r"element 1 of .*1e\+39.*out of the range of float"),
]


@pytest.mark.parametrize(("cqltype", "value", "message"), OUT_OF_RANGE)
def test_elements_out_of_range_are_named(
    implementation: Implementation, cqltype: Any, value: Any, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        list_of(cqltype).build_codec(implementation.codecs).encode(value)


def test_wrong_shapes(implementation: Implementation) -> None:
    """Arrays of a wrong length, number of dimensions or type are refused."""
    vector = vector_of(t.FloatType, 3).build_codec(implementation.codecs)
    with pytest.raises(ValueError, match="has 2 elements, vector<float, 3> takes 3"):
        vector.encode(numpy.zeros(2, "f4"))
    with pytest.raises(TypeError, match="element 0 of vector<float, 3>"):
        # In an array with two dimensions, the elements are themselves arrays.
        vector.encode(numpy.zeros((3, 2), "f4"))
    with pytest.raises(TypeError, match="is not a collection"):
        vector.encode(numpy.float32(1))
    with pytest.raises(TypeError, match="element 0 of vector<float, 3>"):
        vector.encode(numpy.array(["a", "b", "c"]))
    # An array of Python objects is encoded like a list.
    assert vector.encode(numpy.array([1.5, 2, 3], object)) == struct.pack(">3f", 1.5, 2, 3)
    assert list_of(t.Int32Type).build_codec(implementation.codecs).encode(
        numpy.array([], "i4")
    ) == bytes(4)


def test_rows_of_a_matrix_are_vectors(implementation: Implementation) -> None:
    matrix = numpy.arange(6, dtype="f4").reshape(2, 3)
    expected = struct.pack(">6f", *range(6))
    assert (
        vector_of(vector_of(t.FloatType, 3), 2).build_codec(implementation.codecs).encode(matrix)
        == expected
    )


@pytest.mark.parametrize("code", ["i", "q", "f", "d"])
def test_vectors_read_as_arrays(implementation: Implementation, code: str) -> None:
    cqltype = vector_of(KINDS[code][0], 3)
    body = struct.pack(f">3{code}", 1, -2, 3)
    as_array = cqltype.build_codec(implementation.codecs, 5, "array").decode(body)
    assert isinstance(as_array, array.array)
    assert as_array.typecode == code
    assert list(as_array) == [1, -2, 3]
    as_numpy = cqltype.build_codec(implementation.codecs, 5, "numpy").decode(body)
    assert isinstance(as_numpy, numpy.ndarray)
    assert as_numpy.dtype == numpy.dtype(code)
    assert as_numpy.dtype.isnative
    assert as_numpy.flags.writeable
    assert as_numpy.tolist() == [1, -2, 3]
    # Vectors of numbers become arrays inside other types, too. Vectors of other types stay lists.
    list_codec = list_of(cqltype).build_codec(implementation.codecs, 5, "numpy")
    assert isinstance(list_codec.decode(struct.pack(">ii", 1, len(body)) + body)[0], numpy.ndarray)
    assert vector_of(t.UTF8Type, 1).build_codec(implementation.codecs, 5, "numpy").decode(
        b"\x01a"
    ) == ["a"]


def test_an_unknown_vector_type_is_refused(implementation: Implementation) -> None:
    with pytest.raises(ValueError, match="not as 'tensor'"):
        vector_of(t.FloatType, 3).build_codec(implementation.codecs, 5, "tensor")


@pytest.mark.parametrize("code", KINDS)
def test_deserialize_into_a_buffer_of_the_caller(implementation: Implementation, code: str) -> None:
    """`deserialize_into` writes the elements into the caller's buffer, and returns their number.

    The rest of the buffer does not change.
    """
    cqltype, _ = KINDS[code]
    values = [1, -2, 3]
    body = list_body(code, values)
    for container_of in (list_of, set_of):
        codec = container_of(cqltype).build_codec(implementation.codecs)
        target = array.array(code, [9] * 5)
        assert codec.deserialize_into(body, target) == 3
        assert list(target) == [1, -2, 3, 9, 9]
        # This array has its numbers in the other byte order.
        swapped_array = numpy.zeros(3, numpy.dtype(code).newbyteorder())
        assert codec.deserialize_into(memoryview(body), swapped_array) == 3
        assert swapped_array.tolist() == values
    if cqltype.serial_size() is not None:
        codec = vector_of(cqltype, 3).build_codec(implementation.codecs)
        target = array.array(code, [9] * 3)
        assert codec.deserialize_into(struct.pack(f">3{code}", *values), target) == 3
        assert list(target) == values


def test_unsuitable_buffers_are_refused(implementation: Implementation) -> None:
    codec = list_of(t.Int32Type).build_codec(implementation.codecs)
    body = list_body("i", [1, 2])
    read_only = numpy.zeros(2, "i4")
    read_only.flags.writeable = False
    # These buffers are read-only, of another type, not contiguous, of two dimensions, or of bytes.
    unsuitable: list[Any] = [
        read_only,
        numpy.zeros(2, "f4"),
        numpy.zeros(2, "i8"),
        numpy.zeros(2, "u4"),
        numpy.zeros(4, "i4")[::2],
        numpy.zeros((1, 2), "i4"),
        b"12345678",
        bytearray(8),
    ]
    for buffer in unsuitable:
        with pytest.raises(TypeError, match="the buffer to decode into must be writable"):
            codec.deserialize_into(body, buffer)
    # The first argument is a buffer that is too small, and the second one is not a buffer.
    with pytest.raises(ValueError, match="2 elements do not fit a buffer of 1"):
        codec.deserialize_into(body, array.array("i", [0]))
    with pytest.raises(TypeError):
        codec.deserialize_into(body, [0, 0])
    # These bodies cannot be decoded into a buffer.
    with pytest.raises(DecodeError, match="null or empty elements"):
        codec.deserialize_into(bytes.fromhex("00000001" + "ffffffff"), array.array("i", [0]))
    with pytest.raises(DecodeError, match="truncated"):
        codec.deserialize_into(body[:-1], array.array("i", [0, 0]))
    # The list's elements are not numbers.
    with pytest.raises(TypeError, match="is not a list, set or vector of numbers"):
        list_of(t.UTF8Type).build_codec(implementation.codecs).deserialize_into(
            body, array.array("i", [0, 0])
        )
    vector = vector_of(t.FloatType, 2).build_codec(implementation.codecs)
    with pytest.raises(DecodeError, match="takes 8 bytes"):
        vector.deserialize_into(b"1234", array.array("f", [0, 0]))


@pytest.mark.parametrize("shift", [0, 4, 8, 12])
def test_decoding_a_vector_into_the_memory_it_is_read_from(
    implementation: Implementation, shift: int
) -> None:
    body = struct.pack(">8f", *range(8))
    memory = bytearray(48)
    memory[8:40] = body
    # The target overlaps the source, which is bytes 8 to 40. It begins between 8 bytes before the
    # source and 4 bytes after the source's start.
    target = memoryview(memory)[shift : shift + 32].cast("f")
    assert (
        vector_of(t.FloatType, 8)
        .build_codec(implementation.codecs)
        .deserialize_into(memoryview(memory)[8:40], target)
        == 8
    )
    assert list(target) == list(range(8))


def test_decoding_a_list_into_the_memory_it_is_read_from(implementation: Implementation) -> None:
    body = list_body("i", list(range(8)))
    memory = bytearray(body)
    # The target overlaps the source, in which an element has 8 bytes: the length and the number.
    target = memoryview(memory)[4:36].cast("i")
    assert (
        list_of(t.Int32Type)
        .build_codec(implementation.codecs)
        .deserialize_into(memoryview(memory), target)
        == 8
    )
    assert list(target) == list(range(8))


FLOATS = [0.0, -0.0, 1.5, float("inf"), float("-inf"), float("nan"), 2.0**-149, -(2.0**127)] * 4


@pytest.mark.parametrize("code", "fd")
def test_floats_that_are_read_are_ordinary_floats(
    implementation: Implementation, code: str
) -> None:
    cqltype = KINDS[code][0]
    for codec, body in (
        (
            vector_of(cqltype, 32).build_codec(implementation.codecs),
            struct.pack(f">32{code}", *FLOATS),
        ),
        (list_of(cqltype).build_codec(implementation.codecs), list_body(code, FLOATS)),
    ):
        values = codec.decode(body)
        assert list(map(repr, values)) == list(map(repr, FLOATS))
        assert {type(value) for value in values} == {float}
        # Compiled code creates these floats without Python's constructor, so check that their
        # reference counts are right.
        ordinary_floats = [float(text) for text in map(repr, FLOATS)]
        assert list(map(sys.getrefcount, values)) == list(map(sys.getrefcount, ordinary_floats))
        # No two floats are the same object.
        assert len({id(value) for value in values}) == 32


class Added:
    """An object that a program adds to a vector."""


@pytest.mark.parametrize("cqltype", [t.FloatType, t.DoubleType, t.Int32Type, t.LongType])
def test_the_collector_need_not_visit_vectors(implementation: Implementation, cqltype: Any) -> None:
    """The compiled codec hides lists of numbers from the garbage collector. What a program puts
    into such a list stays alive nevertheless, and is freed with the list.
    """
    codec = vector_of(cqltype, 3).build_codec(implementation.codecs)
    values = codec.decode(codec.encode([1, 2, 3]))
    if implementation.name == "c":
        assert not gc.is_tracked(values)
    added = Added()
    is_freed = weakref.ref(added)
    values.append([added])
    values += [4, 5]
    del added
    gc.collect()
    assert is_freed() is values[3][0]
    assert values[:3] == [1, 2, 3]
    del values
    gc.collect()
    assert is_freed() is None


def test_memory_of_decoded_floats_is_freed(implementation: Implementation) -> None:
    codec = vector_of(t.FloatType, 500).build_codec(implementation.codecs)
    body = struct.pack(">500f", *range(500))
    codec.decode(body)
    count_before = sys.getallocatedblocks()
    for _ in range(20):
        codec.decode(body)
    # If the 500 floats of each of the 20 turns leaked, there would be 10,000 blocks more.
    assert sys.getallocatedblocks() - count_before < 500


@pytest.mark.parametrize("code", "fd")
@pytest.mark.parametrize("length", [-1, 0, 3, 9])
@pytest.mark.parametrize("position", [0, 10, 19])
def test_an_odd_length_among_floats(
    implementation: Implementation, code: str, length: int, position: int
) -> None:
    """Among floats, an element of zero or negative length is None. One of another length is an
    error with its position.
    """
    codec = list_of(KINDS[code][0]).build_codec(implementation.codecs)
    valid_body = list_body(code, [float(n) for n in range(20)])
    float_size = KINDS[code][1]
    offset = 4 + position * (4 + float_size)
    body = (
        valid_body[:offset]
        + struct.pack(">i", length)
        + b"x" * length
        + valid_body[offset + 4 + float_size :]
    )
    if length <= 0:
        values = [float(n) for n in range(20)]
        assert codec.decode(body) == [*values[:position], None, *values[position + 1 :]]
    else:
        # `cql_name[5:]` is the name of the element type, without the "list<" before it.
        with pytest.raises(DecodeError, match=f"element {position} of list<{codec.cql_name[5:]}"):
            codec.decode(body)
