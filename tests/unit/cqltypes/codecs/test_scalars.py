"""Test the codecs of scalar types.

The tests are about encodings, ranges, refused values, damaged bytes, exact bits of floats, and the
classes of decoded values.
"""

from __future__ import annotations

import datetime
import decimal
import enum
import math
import uuid
from typing import Any

import numpy
import pytest

from cassandra import cqltypes as t
from cassandra.cqltypes import EncodeTypeError, EncodeValueError, scalars
from cassandra.errors import DecodeError
from cassandra.sentinels import EMPTY
from cassandra.util.orderedmap import OrderedMapSerializedKey
from cassandra.util.sortedset import SortedSet
from cassandra.util.temporal import Date, MillisTimestamp, Time
from tests.conftest import Implementation
from tests.unit.cqltypes.samples import (
    ADDRESS,
    ALSO_WRITTEN,
    FLOAT,
    INT,
    SCALARS,
    TEXT,
    list_of,
    map_of,
    set_of,
    tuple_of,
    vector_of,
)

SCALAR_TYPES = [cqltype for cqltype in scalars.SCALARS if cqltype is not t.EmptyType]
# Each tuple has a type, a value, and the value's encoding in hexadecimal.
SAMPLES = [sample for sample in SCALARS if sample[0] in SCALAR_TYPES]
# These tuples have the same form, but the encoding is decoded to a value of another class.
CONVERTED = [sample for sample in ALSO_WRITTEN if sample[0] in SCALAR_TYPES]


def codec_of(cqltype: Any, implementation: Implementation) -> Any:
    """Return a codec of the type, in the compiled or the pure Python version."""
    return cqltype.build_codec(implementation.codecs)


@pytest.mark.parametrize(("cqltype", "value", "expected"), SAMPLES)
def test_values_are_encoded_by_the_specification_and_read_back(
    implementation: Implementation, cqltype: Any, value: Any, expected: str
) -> None:
    """A value is encoded to the specified bytes, and decoded to an equal value of its class."""
    codec = codec_of(cqltype, implementation)
    assert codec.encode(value).hex() == expected
    for data in (bytes.fromhex(expected), memoryview(bytes.fromhex(expected))):
        decoded = codec.decode(data)
        assert decoded == value
        assert type(decoded) is type(value)


@pytest.mark.parametrize(("cqltype", "value", "expected"), CONVERTED)
def test_values_of_other_classes_have_the_encoding_of_the_usual_class(
    implementation: Implementation, cqltype: Any, value: Any, expected: str
) -> None:
    """A value of another class is encoded like the equal value of the usual class."""
    assert codec_of(cqltype, implementation).encode(value).hex() == expected


@pytest.mark.parametrize("cqltype", SCALAR_TYPES)
def test_empty_is_encoded_as_no_bytes(implementation: Implementation, cqltype: Any) -> None:
    """EMPTY is encoded as zero bytes by the codec of any scalar type."""
    assert codec_of(cqltype, implementation).encode(EMPTY) == b""


@pytest.mark.parametrize("cqltype", SCALAR_TYPES)
def test_no_bytes_are_a_value_of_texts_and_blobs_only(
    implementation: Implementation, cqltype: Any
) -> None:
    """Zero bytes are a value of text and blob types; for other types, they are null.

    If the codec was created with `empty=EMPTY`, zero bytes are decoded to EMPTY.
    """
    codec = codec_of(cqltype, implementation)
    if cqltype.empty_binary_ok:
        assert codec.decode_nullable(b"") in ("", b"")
    else:
        assert codec.decode_nullable(b"") is None
        # `_factory` is the name of the function that creates codecs of this type.
        create_codec = getattr(implementation.codecs, cqltype._factory)
        assert create_codec(empty=EMPTY).decode_nullable(b"") is EMPTY
    assert codec.decode_nullable(None) is None


# The size in bytes that a value of the type has in a vector. For types that are missing here, each
# value is written with its length. Cassandra does this for types of variable size, and for tinyint,
# smallint, date and time.
VECTOR_SIZES: dict[Any, int] = {
    t.BooleanType: 1,
    t.Int32Type: 4,
    t.FloatType: 4,
    t.LongType: 8,
    t.CounterColumnType: 8,
    t.DoubleType: 8,
    t.DateType: 8,
    t.TimestampType: 8,
    t.UUIDType: 16,
    t.TimeUUIDType: 16,
}
# The size in bytes of a value outside of vectors, for types whose values all have the same size.
WIDTHS = {**VECTOR_SIZES, t.ByteType: 1, t.ShortType: 2, t.SimpleDateType: 4, t.TimeType: 8}


@pytest.mark.parametrize("cqltype", SCALAR_TYPES)
def test_codecs_know_the_sizes_of_values(implementation: Implementation, cqltype: Any) -> None:
    """A codec's `fixed_size` is the size in bytes of a value in a vector, `width` elsewhere.

    Both are -1 if the size varies.
    """
    codec = codec_of(cqltype, implementation)
    assert codec.fixed_size == VECTOR_SIZES.get(cqltype, -1)
    assert codec.width == WIDTHS.get(cqltype, -1)


@pytest.mark.parametrize(("cqltype", "width"), WIDTHS.items())
def test_a_value_of_another_size_is_malformed(
    implementation: Implementation, cqltype: Any, width: int
) -> None:
    """Bytes of another size than the type's raise a DecodeError with both sizes."""
    codec = codec_of(cqltype, implementation)
    for size in (width - 1, width + 1, 2 * width):
        with pytest.raises(DecodeError, match=f"takes {width} bytes, got {size}"):
            codec.decode(bytes(size))


INTEGER_BITS = {t.ByteType: 8, t.ShortType: 16, t.Int32Type: 32, t.LongType: 64}


@pytest.mark.parametrize(("cqltype", "bits"), INTEGER_BITS.items())
def test_integers_within_the_range_are_encoded_and_others_refused(
    implementation: Implementation, cqltype: Any, bits: int
) -> None:
    """Integers within the range of the type are encoded, and larger integers refused."""
    codec = codec_of(cqltype, implementation)
    low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    for number in (low, -1, 0, high):
        assert codec.encode(number) == number.to_bytes(bits // 8, "big", signed=True)
    for number in (low - 1, high + 1, 2**200):
        with pytest.raises(EncodeValueError) as caught:
            codec.encode(number)
        assert f"is out of the range of {cqltype.typename} ({low} to {high})" in str(caught.value)


class Color(enum.Enum):
    RED = 2
    NAMED = "red"


class FailingInteger:
    """An object with a method for conversion to an int, which raises an error."""

    def __index__(self) -> int:
        raise TypeError("not today")


class FailingFloat:
    """An object with a method for conversion to a float, which raises an error."""

    def __float__(self) -> float:
        raise TypeError("no number today")


@pytest.mark.parametrize("value", ["1", 1.5, b"1", [1], object()])
def test_integers_refuse_other_classes(implementation: Implementation, value: Any) -> None:
    """An integer type refuses strings, floats, bytes, lists and other objects."""
    with pytest.raises(EncodeTypeError, match="is not an integer"):
        codec_of(INT, implementation).encode(value)


def test_integers_accept_enum_members_and_numpy_scalars(implementation: Implementation) -> None:
    """An integer type accepts enum members and NumPy scalars as integers.

    An enum member is encoded as its value, which must be an integer within the range of the type.
    """
    codec = codec_of(INT, implementation)
    assert codec.encode(Color.RED) == b"\0\0\0\2"
    assert codec.encode(numpy.int64(2)) == b"\0\0\0\2"
    with pytest.raises(EncodeTypeError, match="NAMED"):
        codec.encode(Color.NAMED)
    with pytest.raises(EncodeValueError, match="out of the range of int"):
        codec.encode(numpy.int64(2**40))


def test_errors_of_a_values_own_conversion_are_raised_unchanged(
    implementation: Implementation,
) -> None:
    """An error that a value's own conversion method raises is not replaced."""
    with pytest.raises(TypeError, match=r"^not today$"):
        codec_of(INT, implementation).encode(FailingInteger())
    with pytest.raises(TypeError, match=r"^no number today$"):
        codec_of(FLOAT, implementation).encode(FailingFloat())


@pytest.mark.parametrize("cqltype", [INT, FLOAT, t.DoubleType])
def test_arrays_and_masked_values_are_no_numbers(
    implementation: Implementation, cqltype: Any
) -> None:
    """NumPy arrays and masked values are refused as numbers."""
    codec = codec_of(cqltype, implementation)
    for value in (numpy.array([1, 2]), numpy.array([1]), numpy.ma.masked):
        with pytest.raises(EncodeTypeError, match=r"is not an? (integer|number)"):
            codec.encode(value)


@pytest.mark.parametrize("value", ["1.5", b"1", [1.5], numpy.array([1.5])])
def test_floats_refuse_other_classes(implementation: Implementation, value: Any) -> None:
    """The type float refuses strings, bytes, lists and arrays."""
    with pytest.raises(EncodeTypeError, match="is not a number"):
        codec_of(FLOAT, implementation).encode(value)


def test_floats_out_of_range_are_refused(implementation: Implementation) -> None:
    """A number that is out of the range of float or double raises EncodeValueError."""
    with pytest.raises(EncodeValueError, match="is out of the range of float"):
        codec_of(FLOAT, implementation).encode(1e39)
    with pytest.raises(EncodeValueError, match="is out of the range of double"):
        codec_of(t.DoubleType, implementation).encode(10**400)


def test_nan_survives_a_round_trip(implementation: Implementation) -> None:
    """NaN is encoded, and decoded to NaN."""
    codec = codec_of(FLOAT, implementation)
    assert math.isnan(codec.decode(codec.encode(math.nan)))


def test_booleans_are_bools_of_python_or_numpy(implementation: Implementation) -> None:
    """The type boolean takes bools of Python and NumPy, and refuses other values.

    Integers are accepted, too; `test_coerce` tests them.
    """
    codec = codec_of(t.BooleanType, implementation)
    assert codec.encode(numpy.bool_(True)) == b"\1"
    assert codec.encode(numpy.bool_(False)) == b"\0"
    assert codec.decode(b"\xff") is True  # the specification says that any byte but zero is true
    for value in ("yes", 1.0, None):
        with pytest.raises(EncodeTypeError, match="is not a boolean"):
            codec.encode(value)


def test_texts_that_cannot_be_encoded_or_decoded(implementation: Implementation) -> None:
    """The error for invalid characters or bytes of a string names the first invalid position."""
    ascii_codec = codec_of(t.AsciiType, implementation)
    text_codec = codec_of(TEXT, implementation)
    with pytest.raises(EncodeValueError, match="cannot be encoded as ascii: character 1 is"):
        ascii_codec.encode("a\xe9")
    with pytest.raises(EncodeValueError, match="cannot be encoded as text: character 0 is"):
        text_codec.encode("\ud800")
    with pytest.raises(DecodeError, match="ascii: byte 1 is not valid ASCII"):
        ascii_codec.decode(b"a\x80")
    with pytest.raises(DecodeError, match=r"text: byte 2 is not valid UTF-?8"):
        text_codec.decode(b"ab\xff")
    for codec in (ascii_codec, text_codec):
        for value in (1, b"bytes", None):
            with pytest.raises(EncodeTypeError, match=r"is not text \(str\)"):
                codec.encode(value)


def test_blobs_are_bytes_and_refuse_text(implementation: Implementation) -> None:
    """A blob is decoded to bytes, and a string is refused."""
    codec = codec_of(t.BytesType, implementation)
    assert type(codec.decode(memoryview(b"ab"))) is bytes
    with pytest.raises(EncodeTypeError, match="is not bytes or another buffer"):
        codec.encode("ab")


def test_a_decoded_uuid_is_like_a_created_one(implementation: Implementation) -> None:
    """A decoded UUID has the same attributes and hash as a UUID from the constructor."""
    identity = uuid.UUID(int=5)
    decoded = codec_of(t.UUIDType, implementation).decode(identity.bytes)
    assert decoded.is_safe is uuid.SafeUUID.unknown
    assert hash(decoded) == hash(identity)


def test_a_uuid_is_encoded_by_its_attribute_bytes(implementation: Implementation) -> None:
    """The codec of uuid encodes the attribute `bytes`, also if a subclass overrides it."""

    class UuidWithOtherBytes(uuid.UUID):
        @property
        def bytes(self) -> bytes:
            return b"\x07" * 16

    codec = codec_of(t.UUIDType, implementation)
    assert codec.encode(UuidWithOtherBytes(int=5)) == b"\x07" * 16
    with pytest.raises(EncodeValueError, match="is not a UUID"):
        codec.encode("5")
    with pytest.raises(EncodeTypeError, match="is not a UUID"):
        codec.encode(5)


def test_timestamps_outside_of_the_calendar_are_numbers(implementation: Implementation) -> None:
    """A timestamp after the year 9999 is decoded to a MillisTimestamp, not a datetime."""
    codec = codec_of(t.TimestampType, implementation)
    last_datetime = datetime.datetime(9999, 12, 31, 23, 59, 59, 999000)
    next_millis = int.from_bytes(codec.encode(last_datetime), "big") + 1
    assert codec.decode(next_millis.to_bytes(8, "big")) == MillisTimestamp(next_millis)
    with pytest.raises(EncodeTypeError, match="is not a"):
        codec.encode(b"now")


def test_dates_out_of_range_are_refused(implementation: Implementation) -> None:
    """A date beyond 32 bits, or bytes in place of a date, raises an error."""
    codec = codec_of(t.SimpleDateType, implementation)
    for value in (Date(2**31), Date(-(2**31) - 1), -1, 2**32):
        with pytest.raises(EncodeValueError, match="is out of the range of date"):
            codec.encode(value)
    with pytest.raises(EncodeTypeError, match="is not a date"):
        codec.encode(b"today")


@pytest.mark.parametrize("nanos", [-1, Time.DAY, 2**63 - 1])
def test_times_that_do_not_lie_within_a_day_are_malformed(
    implementation: Implementation, nanos: int
) -> None:
    """A time that is negative, or a day or more, raises DecodeError."""
    codec = codec_of(t.TimeType, implementation)
    with pytest.raises(DecodeError, match=f"time: {nanos} nanoseconds do not lie within one day"):
        codec.decode(nanos.to_bytes(8, "big", signed=True))
    assert codec.decode((Time.DAY - 1).to_bytes(8, "big")) == Time(Time.DAY - 1)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("", "takes 3 variable-length integers, got 0"),
        ("0204", "takes 3 variable-length integers, got 2"),
        ("02040608", "takes 3 variable-length integers, got 4"),
        ("0204f0", "truncated"),
        # The values are 2**31 months, and -2**31 - 1 days, in the zigzag encoding of the
        # specification.
        ("f1000000000000", "months or days do not fit 32 bits"),
        ("00f10000000100", "months or days do not fit 32 bits"),
    ],
)
def test_malformed_durations(implementation: Implementation, body: str, message: str) -> None:
    """A duration must have exactly three integers, of which the first two fit 32 bits."""
    with pytest.raises(DecodeError, match=message):
        codec_of(t.DurationType, implementation).decode(bytes.fromhex(body))


def test_durations_refuse_other_classes(implementation: Implementation) -> None:
    """The type duration refuses an integer."""
    with pytest.raises(EncodeTypeError, match="is not a"):
        codec_of(t.DurationType, implementation).encode(7)


@pytest.mark.parametrize("size", [0, 3, 5, 15, 17])
def test_an_address_has_4_or_16_bytes(implementation: Implementation, size: int) -> None:
    """An inet with another number of bytes than 4 or 16 raises DecodeError."""
    with pytest.raises(DecodeError, match="inet"):
        codec_of(t.InetAddressType, implementation).decode(bytes(size))


def test_varints_and_decimals_that_are_cut_are_malformed(implementation: Implementation) -> None:
    """A varint without bytes, or a decimal of fewer than 5 bytes, raises DecodeError.

    A varint has at least one byte. A decimal also has four bytes for its scale.
    """
    with pytest.raises(DecodeError, match="varint: takes at least 1 byte, got 0"):
        codec_of(t.IntegerType, implementation).decode(b"")
    decimal_codec = codec_of(t.DecimalType, implementation)
    for size in (0, 4):
        with pytest.raises(DecodeError, match=f"takes at least 5 bytes, got {size}"):
            decimal_codec.decode(bytes(size))
    assert decimal_codec.decode(bytes(5)) == decimal.Decimal(0)


def test_decimals_keep_their_scale(implementation: Implementation) -> None:
    """A decimal keeps its scale, and so its trailing zeros.

    Numbers that are not finite, and strings that are not numbers, are refused.
    """
    codec = codec_of(t.DecimalType, implementation)
    for written in ("1.50", "-0.001", "1E+5", "-12345678901234567890.5", "1E+2147483648"):
        assert str(codec.decode(codec.encode(decimal.Decimal(written)))) == written
    for value in (math.nan, math.inf, "one"):
        with pytest.raises(EncodeValueError):
            codec.encode(value)


def test_the_empty_type_has_no_value_but_empty(implementation: Implementation) -> None:
    """The empty type encodes only EMPTY and empty bytes, and decodes zero bytes to None."""
    codec = codec_of(t.EmptyType, implementation)
    for value in (EMPTY, b"", bytearray(), memoryview(b"")):
        assert codec.encode(value) == b""
    assert codec.decode(b"") is None
    assert codec.decode_nullable(b"") is None
    with pytest.raises(EncodeTypeError, match="is not EMPTY"):
        codec.encode(0)
    for wrong_value in (b"x", memoryview(b"x"), ""):
        with pytest.raises(EncodeTypeError, match="is not EMPTY"):
            codec.encode(wrong_value)
    with pytest.raises(DecodeError, match="takes 0 bytes, got 1"):
        codec.decode(b"\0")


# -- many values at once ---------------------------------------------------------------------------


def list_body(*bodies: bytes) -> bytes:
    """Return the encoding of a list that consists of these encoded elements."""
    lengths = (len(body).to_bytes(4, "big") for body in bodies)
    elements = (length + body for length, body in zip(lengths, bodies, strict=True))
    return len(bodies).to_bytes(4, "big") + b"".join(elements)


@pytest.mark.parametrize("cqltype", SCALAR_TYPES)
def test_lists_of_scalars_hold_the_encodings_of_their_elements(
    implementation: Implementation, cqltype: Any
) -> None:
    """A list is encoded as its count, and each element after its length."""
    # If the type has no samples, take the samples of its base class. Leave out samples of zero
    # bytes.
    samples = [sample for sample in SAMPLES if sample[0] is cqltype and sample[2]]
    if not samples:
        samples = [sample for sample in SAMPLES if issubclass(cqltype, sample[0]) and sample[2]]
    values = [value for _, value, _ in samples]
    body = list_body(*(bytes.fromhex(expected) for _, _, expected in samples))
    codec = codec_of(list_of(cqltype), implementation)
    assert codec.encode(values) == body
    assert codec.decode(body) == values
    assert [type(value) for value in codec.decode(body)] == [type(value) for value in values]


@pytest.mark.parametrize("cqltype", SCALAR_TYPES)
def test_an_invalid_element_is_named(implementation: Implementation, cqltype: Any) -> None:
    """The error for an invalid element of a list names the element's position."""
    value = next(value for sampled_type, value, _ in SAMPLES if issubclass(cqltype, sampled_type))
    with pytest.raises((EncodeTypeError, EncodeValueError), match="element 1 of list<"):
        codec_of(list_of(cqltype), implementation).encode([value, object(), value])


@pytest.mark.parametrize(("cqltype", "width"), WIDTHS.items())
def test_elements_of_another_size_are_malformed(
    implementation: Implementation, cqltype: Any, width: int
) -> None:
    """An element of a wrong size raises DecodeError, even if the list's total size is right."""
    # For a width of 1, the second element has two bytes, because no bytes would be a null.
    # The two elements have wrong sizes, which together are the size of two valid elements.
    body = list_body(bytes(width + 1), bytes(width - 1) or bytes(2))
    with pytest.raises(DecodeError, match=f"takes {width} bytes, got {width + 1}"):
        codec_of(list_of(cqltype), implementation).decode(body)


@pytest.mark.parametrize("cqltype", [TEXT, t.AsciiType])
def test_an_element_that_is_no_text_is_malformed(
    implementation: Implementation, cqltype: Any
) -> None:
    """An element that is not valid ASCII or UTF-8 raises a DecodeError with its position."""
    with pytest.raises(DecodeError, match=r"element 1 of list<.*is not valid"):
        codec_of(list_of(cqltype), implementation).decode(list_body(b"a", b"\xff", b"b"))


def test_lists_of_uuids_may_hold_subclasses_and_strings(implementation: Implementation) -> None:
    """A list of UUIDs may contain UUIDs, instances of subclasses, and strings."""

    class OwnUuid(uuid.UUID):
        """An application's subclass of UUID."""

    identity = uuid.UUID(int=7)
    body = list_body(*[identity.bytes] * 3)
    codec = codec_of(list_of(t.UUIDType), implementation)
    assert codec.encode([identity, OwnUuid(int=7), str(identity)]) == body


@pytest.mark.parametrize("payload", ["7fc00000", "7fc00001", "ffc12345", "80000000"])
def test_bits_of_nan_and_the_sign_of_zero_survive(
    implementation: Implementation, payload: str
) -> None:
    """A float that is decoded and encoded again has the same bits, also in containers."""
    number = bytes.fromhex(payload)
    bodies = {FLOAT: number, list_of(FLOAT): list_body(number), vector_of(FLOAT, 3): number * 3}
    for cqltype, body in bodies.items():
        codec = cqltype.build_codec(implementation.codecs)
        assert codec.encode(codec.decode(body)) == body


def test_classes_of_decoded_values(implementation: Implementation) -> None:
    """Maps, sets, user-defined types and tuples are decoded to the documented classes."""

    def encode_and_decode(cqltype: Any, value: Any) -> Any:
        codec = cqltype.build_codec(implementation.codecs)
        return codec.decode(codec.encode(value))

    mapping = encode_and_decode(map_of(list_of(INT), TEXT), {(1, 2): "x", (3,): "y"})
    assert type(mapping) is OrderedMapSerializedKey
    assert mapping[[1, 2]] == "x"
    assert mapping[(3,)] == "y"
    assert [1] not in mapping
    assert "text" not in mapping
    assert type(encode_and_decode(set_of(TEXT), {"b", "a"})) is SortedSet
    # A decoded set is sorted and has no duplicates.
    assert list(encode_and_decode(set_of(TEXT), ["b", "a", "b"])) == ["a", "b"]
    row = encode_and_decode(ADDRESS, {"zip": 5})
    assert row == (None, 5)
    assert row.zip == 5
    assert type(row).__name__ == "address"
    assert type(encode_and_decode(tuple_of(INT), (1,))) is tuple
