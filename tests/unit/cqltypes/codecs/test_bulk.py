"""Test that arrays of numbers are encoded from their buffers, and decoded into buffers.

Values that support Python's buffer protocol can be encoded. Vectors can be decoded into arrays, and
vectors, lists and sets into the caller's buffer.
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

# The CQL type of numbers for each type code of the modules array and struct.
TYPES: dict[str, Any] = {
    "b": t.ByteType,
    "h": t.ShortType,
    "i": t.Int32Type,
    "q": t.LongType,
    "f": t.FloatType,
    "d": t.DoubleType,
}


def list_body(code: str, values: list[Any]) -> bytes:
    """Return the bytes of a list of numbers, built with `struct`.

    native_protocol_v5.spec defines the format.

    :param code: a key of TYPES.
    """
    size = struct.calcsize(f">{code}")
    return struct.pack(">i", len(values)) + b"".join(
        struct.pack(f">i{code}", size, value) for value in values
    )


@pytest.mark.parametrize("code", TYPES)
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
def test_numpy_arrays_of_any_type_byte_order_and_stride_are_encoded(
    implementation: Implementation, code: str, source: str, layout: str
) -> None:
    """A NumPy array is encoded like the list of its numbers, whatever its memory layout.

    :param code: the type of the encoded list; a key of TYPES.
    :param source: the NumPy type of the array's numbers; "b1" stands for "i1" here.
    :param layout: how the array is laid out in memory.
    """
    # NumPy would read the code "b1" as a bool.
    dtype = numpy.dtype("i1" if source == "b1" else source)
    values = [1, 0, 1, 1, 0] if source == "?" else [1, 2, 3, 100, 0]
    array = numpy.array(values, dtype)
    # Put the same numbers into an array with another memory layout.
    if layout == "strided":
        wide = numpy.zeros(10, dtype)
        wide[::2] = array
        array = wide[::2]
    elif layout == "reversed":
        array = array[::-1].copy()[::-1]
    elif layout == "column":
        grid = numpy.zeros((5, 3), dtype)
        grid[:, 1] = array
        array = grid[:, 1]
    elif layout == "readonly":
        array.flags.writeable = False
    elif layout == "unaligned":
        raw = numpy.frombuffer(b"\x00" + array.tobytes(), numpy.uint8)[1:]
        array = raw.view(dtype)
    cqltype = TYPES[code]
    list_codec = list_of(cqltype).build_codec(implementation.codecs)
    # A list of integers refuses an array of floats, even if all its numbers are whole.
    if dtype.kind == "f" and code not in "fd":
        with pytest.raises(TypeError, match=r"^element 0 of list<.*is not an integer$"):
            list_codec.encode(array)
        return
    assert list_codec.encode(array) == list_body(code, values)
    has_fixed_size = cqltype.serial_size() is not None
    if has_fixed_size:
        vector_codec = vector_of(cqltype, 5).build_codec(implementation.codecs)
        assert vector_codec.encode(array) == struct.pack(f">5{code}", *values)


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
    """Arrays, bytearrays and memoryviews of numbers are encoded like NumPy arrays."""
    vector_codec = vector_of(t.DoubleType, 3).build_codec(implementation.codecs)
    assert vector_codec.encode(exporter) == struct.pack(">3d", 1, 2, 255)
    # Leave out the array of doubles, which a list of integers refuses.
    if not (isinstance(exporter, array.array) and exporter.typecode == "d"):
        list_codec = list_of(t.LongType).build_codec(implementation.codecs)
        assert list_codec.encode(exporter) == list_body("q", [1, 2, 255])


# Each tuple has the type of a list's elements, an array that does not fit it, and the error's
# message.
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
    """The error for a number that is out of range names its position in the array."""
    with pytest.raises(ValueError, match=message):
        list_of(cqltype).build_codec(implementation.codecs).encode(value)


def test_wrong_shapes(implementation: Implementation) -> None:
    """An array with a wrong length, number of dimensions or type is refused."""
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
    # An empty list is encoded as its number of elements, 0, in four bytes.
    list_codec = list_of(t.Int32Type).build_codec(implementation.codecs)
    assert list_codec.encode(numpy.array([], "i4")) == bytes(4)


def test_rows_of_a_matrix_are_vectors(implementation: Implementation) -> None:
    """A matrix is encoded as a vector of vectors, which are its rows."""
    matrix = numpy.arange(6, dtype="f4").reshape(2, 3)
    codec = vector_of(vector_of(t.FloatType, 3), 2).build_codec(implementation.codecs)
    assert codec.encode(matrix) == struct.pack(">6f", *range(6))


@pytest.mark.parametrize("code", ["i", "q", "f", "d"])
def test_vectors_are_read_as_arrays_if_requested(implementation: Implementation, code: str) -> None:
    """The last argument of `build_codec` determines the class of decoded vectors of numbers.

    They can be arrays of the module array or of NumPy. Vectors of other elements stay lists.
    """
    cqltype = vector_of(TYPES[code], 3)
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
    # Vectors of numbers within other types become arrays, too.
    list_codec = list_of(cqltype).build_codec(implementation.codecs, 5, "numpy")
    (element,) = list_codec.decode(struct.pack(">ii", 1, len(body)) + body)
    assert isinstance(element, numpy.ndarray)
    text_codec = vector_of(t.UTF8Type, 1).build_codec(implementation.codecs, 5, "numpy")
    assert text_codec.decode(b"\x01a") == ["a"]


def test_an_unknown_vector_type_is_refused(implementation: Implementation) -> None:
    """`build_codec` refuses an unknown class for vectors."""
    with pytest.raises(ValueError, match="not as 'tensor'"):
        vector_of(t.FloatType, 3).build_codec(implementation.codecs, 5, "tensor")


@pytest.mark.parametrize("code", TYPES)
def test_deserialize_into_a_buffer_of_the_caller(implementation: Implementation, code: str) -> None:
    """`deserialize_into` writes the numbers into the caller's buffer and returns their count.

    The rest of the buffer does not change.
    """
    cqltype = TYPES[code]
    values = [1, -2, 3]
    body = list_body(code, values)
    for container_of in (list_of, set_of):
        codec = container_of(cqltype).build_codec(implementation.codecs)
        target = array.array(code, [9] * 5)
        assert codec.deserialize_into(body, target) == 3
        assert list(target) == [1, -2, 3, 9, 9]
        # This array stores its numbers in the other byte order.
        swapped_array = numpy.zeros(3, numpy.dtype(code).newbyteorder())
        assert codec.deserialize_into(memoryview(body), swapped_array) == 3
        assert swapped_array.tolist() == values
    if cqltype.serial_size() is not None:
        codec = vector_of(cqltype, 3).build_codec(implementation.codecs)
        target = array.array(code, [9] * 3)
        assert codec.deserialize_into(struct.pack(f">3{code}", *values), target) == 3
        assert list(target) == values


def test_unsuitable_buffers_are_refused(implementation: Implementation) -> None:
    """`deserialize_into` raises an error if it cannot store every element in the buffer.

    The buffer must be writable and contiguous, have one dimension and the type of the numbers, and
    be large enough. Every element must be a number, not null.
    """
    codec = list_of(t.Int32Type).build_codec(implementation.codecs)
    body = list_body("i", [1, 2])
    read_only = numpy.zeros(2, "i4")
    read_only.flags.writeable = False
    unsuitable: list[Any] = [
        read_only,
        numpy.zeros(2, "f4"),  # arrays of other types
        numpy.zeros(2, "i8"),
        numpy.zeros(2, "u4"),
        numpy.zeros(4, "i4")[::2],  # not contiguous
        numpy.zeros((1, 2), "i4"),  # two dimensions
        b"12345678",
        bytearray(8),
    ]
    for buffer in unsuitable:
        with pytest.raises(TypeError, match="the buffer to decode into must be writable"):
            codec.deserialize_into(body, buffer)
    with pytest.raises(ValueError, match="2 elements do not fit a buffer of 1"):
        codec.deserialize_into(body, array.array("i", [0]))
    with pytest.raises(TypeError):
        codec.deserialize_into(body, [0, 0])
    list_with_null = bytes.fromhex("00000001" + "ffffffff")
    with pytest.raises(DecodeError, match="null or empty elements"):
        codec.deserialize_into(list_with_null, array.array("i", [0]))
    with pytest.raises(DecodeError, match="truncated"):
        codec.deserialize_into(body[:-1], array.array("i", [0, 0]))
    text_codec = list_of(t.UTF8Type).build_codec(implementation.codecs)
    with pytest.raises(TypeError, match="is not a list, set or vector of numbers"):
        text_codec.deserialize_into(body, array.array("i", [0, 0]))
    vector = vector_of(t.FloatType, 2).build_codec(implementation.codecs)
    with pytest.raises(DecodeError, match="takes 8 bytes"):
        vector.deserialize_into(b"1234", array.array("f", [0, 0]))


@pytest.mark.parametrize("shift", [0, 4, 8, 12])
def test_decoding_a_vector_into_the_memory_it_is_read_from(
    implementation: Implementation, shift: int
) -> None:
    """A vector is decoded correctly into a buffer that overlaps with its bytes.

    :param shift: the position of the target in bytes. The source is at position 8.
    """
    memory = bytearray(48)
    memory[8:40] = struct.pack(">8f", *range(8))
    source = memoryview(memory)[8:40]
    target = memoryview(memory)[shift : shift + 32].cast("f")
    codec = vector_of(t.FloatType, 8).build_codec(implementation.codecs)
    assert codec.deserialize_into(source, target) == 8
    assert list(target) == list(range(8))


def test_decoding_a_list_into_the_memory_it_is_read_from(implementation: Implementation) -> None:
    """A list is decoded correctly into a buffer that overlaps with its bytes.

    Each element has 8 bytes in the list (its length and the number), and 4 bytes in the buffer.
    """
    memory = bytearray(list_body("i", list(range(8))))
    target = memoryview(memory)[4:36].cast("i")
    codec = list_of(t.Int32Type).build_codec(implementation.codecs)
    assert codec.deserialize_into(memoryview(memory), target) == 8
    assert list(target) == list(range(8))


# Eight floats that fit 32 bits, four times. 2.0**-149 is the smallest positive float of 32 bits.
FLOATS = [0.0, -0.0, 1.5, float("inf"), float("-inf"), float("nan"), 2.0**-149, -(2.0**127)] * 4


@pytest.mark.parametrize("code", "fd")
def test_floats_that_are_read_are_ordinary_floats(
    implementation: Implementation, code: str
) -> None:
    """Floats that compiled code creates have the right value, class and reference count.

    The compiled code does not call Python's constructor, but no two of the floats may be the same
    object.
    """
    cqltype = TYPES[code]
    for container, body in (
        (vector_of(cqltype, 32), struct.pack(f">32{code}", *FLOATS)),
        (list_of(cqltype), list_body(code, FLOATS)),
    ):
        values = container.build_codec(implementation.codecs).decode(body)
        # Compare by repr, because NaN is not equal to itself.
        texts = [repr(number) for number in FLOATS]
        assert [repr(value) for value in values] == texts
        assert {type(value) for value in values} == {float}
        ordinary_floats = [float(text) for text in texts]
        assert list(map(sys.getrefcount, values)) == list(map(sys.getrefcount, ordinary_floats))
        assert len({id(value) for value in values}) == 32


class Added:
    """An object that an application adds to a vector."""


@pytest.mark.parametrize("cqltype", [t.FloatType, t.DoubleType, t.Int32Type, t.LongType])
def test_the_collector_need_not_visit_vectors(implementation: Implementation, cqltype: Any) -> None:
    """An object in a list that the garbage collector does not track is freed with the list.

    The compiled codec hides lists of numbers from the garbage collector. Whatever an application
    adds to such a list must stay alive as long as the list.
    """
    codec = vector_of(cqltype, 3).build_codec(implementation.codecs)
    values = codec.decode(codec.encode([1, 2, 3]))
    if implementation.name == "c":
        assert not gc.is_tracked(values)
    # The weak reference shows when the added object is freed.
    added = Added()
    reference = weakref.ref(added)
    values.append([added])
    values += [4, 5]
    del added
    gc.collect()
    assert reference() is values[3][0]
    assert values[:3] == [1, 2, 3]
    del values
    gc.collect()
    assert reference() is None


def test_memory_of_decoded_floats_is_freed(implementation: Implementation) -> None:
    """The floats of decoded vectors are freed with their lists."""
    codec = vector_of(t.FloatType, 500).build_codec(implementation.codecs)
    body = struct.pack(">500f", *range(500))
    codec.decode(body)
    count_before = sys.getallocatedblocks()
    for _ in range(20):
        codec.decode(body)
    # If the 500 floats of each of the 20 vectors were not freed, there would be 10,000 more blocks.
    assert sys.getallocatedblocks() - count_before < 500


@pytest.mark.parametrize("code", "fd")
@pytest.mark.parametrize("length", [-1, 0, 3, 9])
@pytest.mark.parametrize("position", [0, 10, 19])
def test_a_wrong_length_among_floats_is_a_null_or_an_error(
    implementation: Implementation, code: str, length: int, position: int
) -> None:
    """In a list of floats, an element of zero or negative length is decoded to None.

    Any other wrong length raises a DecodeError that names the element's position.
    """
    codec = list_of(TYPES[code]).build_codec(implementation.codecs)
    values: list[float | None] = [float(number) for number in range(20)]
    valid_body = list_body(code, values)
    float_size = struct.calcsize(f">{code}")
    # The list begins with its number of elements, and each element begins with its length.
    offset = 4 + position * (4 + float_size)
    body = (
        valid_body[:offset]
        + struct.pack(">i", length)
        + b"x" * length
        + valid_body[offset + 4 + float_size :]
    )
    if length <= 0:
        values[position] = None
        assert codec.decode(body) == values
    else:
        with pytest.raises(DecodeError, match=f"element {position} of {codec.cql_name}"):
            codec.decode(body)
