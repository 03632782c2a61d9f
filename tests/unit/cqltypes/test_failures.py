"""Test the errors for values and bytes that do not fit their type.

The error names the value, its type, and its position in a container.
"""

from __future__ import annotations

import datetime
import decimal
import itertools
import sys
import uuid
from types import ModuleType
from typing import Any

import pytest

from cassandra import cqltypes as t
from cassandra.cqltypes import failures
from cassandra.cqltypes.codecs import base, containers, scalars
from cassandra.errors import DecodeError
from cassandra.sentinels import UNSET_VALUE
from cassandra.util.temporal import Date, Duration, Time
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

# The smallest and the largest number of each integer type.
RANGES = [
    (t.ByteType, -128, 127),
    (t.ShortType, -32768, 32767),
    (t.Int32Type, -(2**31), 2**31 - 1),
    (t.LongType, -(2**63), 2**63 - 1),
    (t.CounterColumnType, -(2**63), 2**63 - 1),
]


@pytest.mark.parametrize(("cqltype", "low", "high"), RANGES)
def test_integer_ranges(implementation: Implementation, cqltype: Any, low: int, high: int) -> None:
    """The limits of each integer type can be encoded, and numbers beyond them are refused."""
    codec = cqltype.build_codec(implementation.codecs)
    list_codec = list_of(cqltype).build_codec(implementation.codecs)
    for value in (low, high):
        assert codec.decode(codec.encode(value)) == value
    for value in (low - 1, high + 1, 10**400):
        with pytest.raises(ValueError, match="out of the range of " + cqltype.typename) as caught:
            codec.encode(value)
        assert isinstance(caught.value, OverflowError)
        with pytest.raises(
            ValueError, match=rf"^element 1 of list<{cqltype.typename}>: .*out of the range"
        ):
            list_codec.encode([0, value])


# Each tuple has a type, a value that does not fit it, and the class and message of the error.
REFUSED: list[tuple[Any, Any, type[Exception], str]] = [
    (INT, "abc", TypeError, r"^'abc' \(str\) is not an integer$"),
    (INT, 1.0, TypeError, r"^1\.0 \(float\) is not an integer$"),
    (INT, UNSET_VALUE, TypeError, r"^UNSET_VALUE \(_NotSet\) is not an integer$"),
    (FLOAT, "1", TypeError, r"^'1' \(str\) is not a number$"),
    (FLOAT, 1e39, ValueError, r"^1e\+39 \(float\) is out of the range of float$"),
    (t.DoubleType, 10**400, ValueError, "out of the range of double"),
    (t.BooleanType, "false", TypeError, r"^'false' \(str\) is not a boolean$"),
    (t.BooleanType, 2.0, TypeError, "not a boolean"),
    (TEXT, b"abc", TypeError, r"^b'abc' \(bytes\) is not text \(str\)$"),
    (TEXT, "a\ud800", ValueError, r"cannot be encoded as text: character 1 is '\\ud800'$"),
    (t.AsciiType, "a\u00e9", ValueError, "cannot be encoded as ascii: character 1"),
    (t.BytesType, "abc", TypeError, r"^'abc' \(str\) is not bytes or another buffer$"),
    (t.BytesType, 5, TypeError, "not bytes"),
    (t.UUIDType, "abc", ValueError, "is not a UUID"),
    (t.UUIDType, b"a" * 16, TypeError, "is not a UUID"),
    (t.InetAddressType, "1.2.3", ValueError, "is not an IPv4 or IPv6 address"),
    *[
        (t.InetAddressType, text, ValueError, "is not an IPv4 or IPv6 address")
        for text in (
            "",
            "1.2.3.4.",
            "1.2.3.256",
            "1.2.3.1000",
            "01.2.3.4",
            "1..2.3",
            "1.2.3.4 ",
            "1.2.3.-4",
            "1::2::3",
            "1.2.3.\u0664",
        )
    ],
    (t.InetAddressType, 5, TypeError, "is not an IP address"),
    (t.TimestampType, "yesterday", ValueError, "is not a timestamp of the form"),
    (t.TimestampType, "2023-02-29", ValueError, "is not a timestamp: day"),
    (t.TimestampType, 2**63, ValueError, "out of the range of timestamp"),
    (t.TimestampType, None.__class__, TypeError, "is not a datetime"),
    (t.SimpleDateType, "2023-02-29", ValueError, "is not a date"),
    (t.SimpleDateType, Date(2**31), ValueError, "out of the range of date"),
    (t.SimpleDateType, -1, ValueError, "out of the range of date"),
    (t.SimpleDateType, 1.5, TypeError, "is not a date"),
    (t.TimeType, 86_400_000_000_000, ValueError, "out of the range of time"),
    (t.TimeType, "25:00:00", ValueError, "is not a time"),
    (t.TimeType, datetime.date(2020, 1, 1), TypeError, "is not a time of day"),
    (t.DurationType, 5, TypeError, "is not a cassandra.util.Duration"),
    (t.DurationType, Duration(1, -1, 0), ValueError, "mixes positive and negative"),
    (t.DurationType, Duration(2**31, 0, 0), ValueError, "32 bits"),
    (t.DurationType, Duration(0, 0, 2**63), ValueError, "64 bits"),
    (t.DecimalType, "abc", ValueError, "is not a decimal number"),
    (t.DecimalType, decimal.Decimal("NaN"), ValueError, "not finite"),
    (t.DecimalType, decimal.Decimal("1E+2147483649"), ValueError, "exponent out of the range"),
    (t.DecimalType, object, TypeError, "is not a decimal"),
    (t.IntegerType, 1.5, TypeError, "is not an integer"),
    (t.PointType, "POINT (1", ValueError, "POINT"),
    (t.PointType, 5, TypeError, "cassandra.util.Point"),
    (t.DateRangeType, 5, TypeError, "cassandra.util.DateRange"),
    (
        list_of(INT),
        "123",
        TypeError,
        r"^'123' \(str\) is not a collection of elements for list<int>$",
    ),
    (list_of(t.ByteType), b"123", TypeError, "is not a collection"),
    (list_of(INT), 5, TypeError, "is not a collection"),
    (
        list_of(INT),
        [0, 1, "abc"],
        TypeError,
        r"^element 2 of list<int>: 'abc' \(str\) is not an integer$",
    ),
    (list_of(INT), [0, UNSET_VALUE], TypeError, "^element 1 of list<int>: UNSET_VALUE"),
    (list_of(TEXT), [UNSET_VALUE], TypeError, "^element 0 of list<text>: UNSET_VALUE"),
    (
        list_of(list_of(INT)),
        [[1], [2, "x"]],
        TypeError,
        r"^element 1 of list<list<int>>: element 1 of list<int>: 'x'",
    ),
    (set_of(FLOAT), [1.0, 1e39], ValueError, "^element 1 of set<float>: 1e"),
    (map_of(TEXT, INT), [("a", 1)], TypeError, "is not a mapping for map<text, int>"),
    (
        map_of(TEXT, INT),
        {"a": 1, 5: 1},
        TypeError,
        r"^key 1 of map<text, int>: 5 \(int\) is not text",
    ),
    (
        map_of(TEXT, INT),
        {"a": 1, "b": "c"},
        TypeError,
        r"^value 1 of map<text, int>: 'c' \(str\) is not an integer",
    ),
    (tuple_of(INT, TEXT), (1, 2), TypeError, r"^item 1 of tuple<int, text>: 2 \(int\) is not text"),
    (tuple_of(INT, TEXT), (1, "a", 3), ValueError, "has 3 items, tuple<int, text> takes 2"),
    (tuple_of(INT, TEXT), "ab", TypeError, "is not a collection"),
    (
        ADDRESS,
        ("x", "y"),
        TypeError,
        r'^field "zip" of ks.address: \'y\' \(str\) is not an integer',
    ),
    (ADDRESS, ("x", 1, 2), ValueError, r"has 3 fields, ks.address takes 2 \(street, zip\)"),
    (
        ADDRESS,
        {"stret": "x"},
        ValueError,
        "has the key 'stret', which is not a field of ks.address",
    ),
    (ADDRESS, "xy", TypeError, "is not a value of ks.address"),
    (ADDRESS, object(), TypeError, "is not a value of ks.address"),
    (vector_of(FLOAT, 3), [1.0, 2.0], ValueError, "has 2 elements, vector<float, 3> takes 3"),
    (
        vector_of(FLOAT, 3),
        [1.0, None, 2.0],
        TypeError,
        "^element 1 of vector<float, 3>: null is not allowed",
    ),
    (
        vector_of(FLOAT, 3),
        [1.0, 2.0, t.EMPTY],
        TypeError,
        "^element 2 of vector<float, 3>: an empty value",
    ),
    (vector_of(TEXT, 2), ["a", None], TypeError, "^element 1 of vector<text, 2>: null"),
    (
        vector_of(t.UUIDType, 2),
        [uuid.UUID(int=0), t.EMPTY],
        TypeError,
        "^element 1 of vector<uuid, 2>: an empty",
    ),
    (vector_of(TEXT, 2), ("a",), ValueError, "has 1 elements, vector<text, 2> takes 2"),
    (vector_of(FLOAT, 2), [1.0, "x"], TypeError, "^element 1 of vector<float, 2>: 'x'"),
    (t.CompositeType.apply_parameters([TEXT]), ("a" * 70000,), ValueError, "at most 65535"),
]


@pytest.mark.parametrize(("cqltype", "value", "error", "message"), REFUSED)
def test_refusals_of_values_that_do_not_fit(
    implementation: Implementation, cqltype: Any, value: Any, error: type[Exception], message: str
) -> None:
    """The error names the value, what is wrong with it, and its position in a container."""
    with pytest.raises(error, match=message):
        cqltype.build_codec(implementation.codecs).encode(value)


def test_long_values_are_cut_in_messages(implementation: Implementation) -> None:
    """The error for a long value contains only a part of the value."""
    with pytest.raises(TypeError) as caught:
        INT.build_codec(implementation.codecs).encode("x" * 1000)
    # The whole message is much shorter than the value of 1000 characters.
    assert len(str(caught.value)) < 120


# Each tuple has a type, malformed data for the type in hexadecimal, and the error.
MALFORMED: list[tuple[Any, str, str]] = [
    (INT, "000000", "^int: takes 4 bytes, got 3$"),
    (INT, "0000000000", "^int: takes 4 bytes, got 5$"),
    (t.LongType, "00", "^bigint: takes 8 bytes, got 1$"),
    (t.BooleanType, "0000", "^boolean: takes 1 bytes, got 2$"),
    (t.UUIDType, "00" * 15, "^uuid: takes 16 bytes, got 15$"),
    (t.InetAddressType, "00" * 5, "^inet: takes 4 or 16 bytes, got 5$"),
    (t.TimestampType, "00" * 9, "^timestamp: takes 8 bytes, got 9$"),
    (t.SimpleDateType, "00", "^date: takes 4 bytes, got 1$"),
    (t.TimeType, "00004e94914f0000", "do not lie within one day"),
    (t.TimeType, "ff" * 8, "do not lie within one day"),
    (t.DecimalType, "00000000", "^decimal: takes at least 5 bytes, got 4$"),
    (t.IntegerType, "", "^varint: takes at least 1 byte, got 0$"),
    (t.DurationType, "0000", "^duration: takes 3 variable-length integers, got 2$"),
    (t.DurationType, "00000000", "got 4$"),
    (t.DurationType, "0000ff01", "truncated"),
    (t.DurationType, "ffffffffffffffffff" + "0000", "do not fit 32 bits"),
    (TEXT, "61ff", "^text: byte 1 is not valid UTF-8"),
    (TEXT, "eda080", "^text: byte 0 is not valid UTF-8"),
    (t.AsciiType, "6180", "^ascii: byte 1 is not valid ASCII"),
    (list_of(INT), "0000", "^list<int>: truncated: 2 bytes of a 4-byte count$"),
    (list_of(INT), "ffffffff", "^list<int>: the negative count -1$"),
    (
        list_of(INT),
        "7fffffff" + "00000004",
        "claims 2147483647 elements, which 4 bytes cannot hold",
    ),
    (
        list_of(INT),
        "00000001" + "00000004" + "0000",
        "^element 0 of list<int>: truncated: an item claims 4 bytes, 2 are left$",
    ),
    (
        list_of(INT),
        "00000001" + "00000003" + "000000",
        "^element 0 of list<int>: int: takes 4 bytes, got 3$",
    ),
    (list_of(INT), "00000001" + "7fffffff" + "00", "claims 2147483647 bytes, 1 are left"),
    (list_of(INT), "00000001" + "fffffffe", "negative length -2"),
    (
        list_of(INT),
        "00000002" + "00000004" + "00000001" + "0000",
        "^list<int>: claims 2|^element 1 of list<int>: truncated: 2 bytes left",
    ),
    (
        list_of(INT),
        "00000001" + "00000004" + "00000001" + "00",
        "^list<int>: 1 bytes left over after 1 elements$",
    ),
    (set_of(TEXT), "00000001" + "00000001" + "ff", "^element 0 of set<text>: text: byte 0"),
    (map_of(TEXT, INT), "00000001" + "00000001" + "61", "claims 1|truncated"),
    (
        map_of(TEXT, INT),
        "00000001" + "00000001" + "61" + "00000002" + "0000",
        "^value 0 of map<text, int>: int: takes 4",
    ),
    (
        map_of(TEXT, INT),
        "00000001" + "00000001" + "ff" + "00000004" + "00000000",
        "^key 0 of map<text, int>: text: byte 0",
    ),
    (map_of(TEXT, INT), "40000000" + "00" * 8, "claims 1073741824 elements"),
    (
        tuple_of(INT, TEXT),
        "0000",
        "^item 0 of tuple<int, text>: truncated: 2 bytes left of a 4-byte length$",
    ),
    (tuple_of(INT), "ffffffff" + "00", "1 bytes left over"),
    (
        ADDRESS,
        "00000001" + "78" + "00000001" + "00",
        '^field "zip" of ks.address: int: takes 4 bytes, got 1$',
    ),
    (
        vector_of(FLOAT, 2),
        "00" * 7,
        r"^vector<float, 2>: takes 8 bytes \(2 elements of 4\), got 7$",
    ),
    (vector_of(FLOAT, 2), "00" * 12, "takes 8 bytes"),
    (vector_of(TEXT, 2), "00", "1 bytes cannot hold 2 elements"),
    (
        vector_of(TEXT, 1),
        "0261",
        "^element 0 of vector<text, 1>: truncated: an element claims 2 bytes, 1 are left$",
    ),
    (vector_of(TEXT, 1), "ff" + "ff" * 8, "claims 18446744073709551615 bytes"),
    (vector_of(TEXT, 1), "8161", "^element 0 of vector<text, 1>: truncated: an element claims"),
    (vector_of(TEXT, 1), "ff", "truncated within the length"),
    (vector_of(TEXT, 1), "016161", "1 bytes left over"),
    (vector_of(INT, 2_000_000_000), "00", "takes 8000000000 bytes"),
    (t.PointType, "02", "byte order"),
    (t.PointType, "0101000000" + "00" * 15, "truncated"),
    (t.LineStringType, "0102000000" + "ffffffff", "claims 4294967295 items"),
    (t.PolygonType, "0103000000" + "ffffffff", "claims 4294967295 items"),
    (t.PointType, "0102000000" + "00" * 16, "of kind 2, not 1"),
    (t.DateRangeType, "06", "not a kind of range"),
    (t.DateRangeType, "00", "takes 10 bytes, got 1"),
    (t.DateRangeType, "00" + "00" * 8 + "07", "does not stand for a precision"),
    (
        t.CompositeType.apply_parameters([TEXT]),
        "0005" + "61",
        "truncated: a part claims 5 bytes",
    ),
    (t.EmptyType, "00", "takes 0 bytes, got 1"),
]


@pytest.mark.parametrize(("cqltype", "data", "message"), MALFORMED)
def test_malformed_data_is_an_error(
    implementation: Implementation, cqltype: Any, data: str, message: str
) -> None:
    """Malformed bytes raise a DecodeError that says what is wrong, and where."""
    with pytest.raises(DecodeError, match=message):
        cqltype.build_codec(implementation.codecs).decode(bytes.fromhex(data))


def test_every_truncation_of_a_nested_value_is_an_error(implementation: Implementation) -> None:
    """Decoding a nested value fails if bytes are missing at the end, or if one is too many."""
    cqltype = map_of(TEXT, list_of(tuple_of(INT, vector_of(TEXT, 2))))
    codec = cqltype.build_codec(implementation.codecs)
    body = codec.encode({"a": [(1, ["x", "yz"]), None], "b": []})
    for kept_bytes in range(len(body)):
        with pytest.raises(DecodeError):
            codec.decode(body[:kept_bytes])
    with pytest.raises(DecodeError):
        codec.decode(body + b"\x00")


class FailingRepr:
    """An object whose `repr` raises an error, so that no message can show the object."""

    def __repr__(self) -> str:
        raise RuntimeError("no repr")


def test_a_value_without_a_repr_can_be_refused(implementation: Implementation) -> None:
    """A value whose `repr` raises an error is refused with the name of its class."""
    with pytest.raises(TypeError, match=r"a value \(FailingRepr\) is not an integer"):
        INT.build_codec(implementation.codecs).encode(FailingRepr())


def nested_codec(codecs: ModuleType, container: str, depth: int) -> tuple[Any, Any, bytes]:
    """Return a codec of `depth` nested containers with one element each, a value and its bytes.

    The innermost element is the int 1.
    """
    int_one = b"\x00\x00\x00\x01"
    codec: Any = codecs.int32()
    value: Any = 1
    body = int_one
    for _ in range(depth):
        length = len(body).to_bytes(4, "big")
        # A list or map begins with its number of elements, which is 1.
        if container == "list":
            codec = codecs.list_of(codec, name="deep")
            value = [value]
            body = int_one + length + body
        elif container == "tuple":
            codec = codecs.tuple_of([codec], name="deep")
            value = (value,)
            body = length + body
        elif container == "map":
            codec = codecs.map_of(codecs.int32(), codec, "deep")
            value = {1: value}
            key = b"\x00\x00\x00\x04" + int_one
            body = int_one + key + length + body
        else:
            codec = codecs.vector_of(codec, 1, name="deep")
            value = [value]
    return codec, value, body


@pytest.mark.parametrize("container", ["list", "tuple", "map", "vector"])
def test_types_nested_deeper_than_the_stack_are_an_error(
    implementation: Implementation, container: str
) -> None:
    """Values that are nested too deeply raise RecursionError, and do not end the process.

    Up to Python 3.13, compiled code may nest 10,000 calls, so 20,000 levels are too deep. Later
    versions go by the size of the stack, so 20,000 levels may succeed.
    """
    codec, value, body = nested_codec(implementation.codecs, container, depth=100)
    assert codec.encode(value) == body
    assert codec.encode(codec.decode(body)) == body
    codec, value, body = nested_codec(implementation.codecs, container, depth=20_000)
    try:
        encoded = codec.encode(value)
    except RecursionError:
        pass
    else:
        assert sys.version_info >= (3, 14)
        assert encoded == body
    try:
        # The decoded value is not compared, because the comparison would exceed the recursion
        # limit, too.
        codec.decode(body)
    except RecursionError:
        pass
    else:
        assert sys.version_info >= (3, 14)


class IntegerLike:
    """An object whose `__index__` returns `result`, or raises `result` if it is an exception."""

    def __init__(self, result: Any) -> None:
        self.result = result

    def __index__(self) -> Any:
        if isinstance(self.result, Exception):
            raise self.result
        return self.result


# Types to which an application may pass integers.
INTEGER_TYPES = [
    t.ByteType,
    t.Int32Type,
    t.LongType,
    t.IntegerType,
    t.TimestampType,
    t.SimpleDateType,
    t.TimeType,
]


@pytest.mark.parametrize("cqltype", INTEGER_TYPES)
@pytest.mark.parametrize(
    "error", [OverflowError("own"), AttributeError("own"), ValueError("own"), KeyError("own")]
)
def test_an_error_of_a_values_own_conversion_is_not_hidden(
    implementation: Implementation, cqltype: Any, error: Exception
) -> None:
    """An error from a value's own `__index__` is raised unchanged."""
    with pytest.raises(type(error), match="own") as caught:
        cqltype.build_codec(implementation.codecs).encode(IntegerLike(error))
    assert caught.value is error


@pytest.mark.parametrize("cqltype", INTEGER_TYPES)
@pytest.mark.parametrize("result", [1.5, "1", None])
def test_an_index_method_that_returns_no_integer_is_refused(
    implementation: Implementation, cqltype: Any, result: Any
) -> None:
    """A value whose `__index__` does not return an integer raises TypeError."""
    with pytest.raises(TypeError):
        cqltype.build_codec(implementation.codecs).encode(IntegerLike(result))


def test_dates_and_times_with_a_fraction_are_refused(implementation: Implementation) -> None:
    """A Date or Time whose number has a fraction is refused when it is encoded.

    An application can assign such a number, because Date and Time do not check assignments.
    """
    date, time = Date(0), Time(0)
    date.days_from_epoch = 1.5  # type: ignore[assignment]
    time.nanosecond_time = 1.5  # type: ignore[assignment]
    for cqltype, value in ((t.SimpleDateType, date), (t.TimestampType, date), (t.TimeType, time)):
        with pytest.raises(TypeError, match="cannot be interpreted as an integer"):
            cqltype.build_codec(implementation.codecs).encode(value)


@pytest.mark.parametrize(
    "value", ["x" * 20_000, b"x" * 20_000, dict.fromkeys(range(20_000)), "abc"]
)
def test_text_and_mappings_are_refused_as_vectors(
    implementation: Implementation, value: Any
) -> None:
    """Strings, bytes and mappings are refused as vectors, even if their length is right."""
    codec = vector_of(t.FloatType, 20_000).build_codec(implementation.codecs)
    with pytest.raises(TypeError, match="is not a collection of elements for vector<float, 20000>"):
        codec.encode(value)


def test_the_message_about_a_huge_value_calls_repr_for_its_start_only(
    implementation: Implementation,
) -> None:
    """The error for a list of 100,000 elements calls `repr` for at most 60 elements."""
    call_count = 0

    class CountingRepr:
        def __repr__(self) -> str:
            nonlocal call_count
            call_count += 1
            return "element"

    codec = vector_of(t.FloatType, 2).build_codec(implementation.codecs)
    with pytest.raises(ValueError, match="has 100000 elements"):
        codec.encode([CountingRepr()] * 100_000)
    # The message shows only some of the 100,000 elements.
    assert call_count <= 60


class LimitReached(Exception):
    """An error as a signal handler raises it, for example of a job queue with time limits."""


class Interrupted:
    """A function that raises an error at its first call. Later calls call another function."""

    def __init__(self, function: Any, error: Exception) -> None:
        self.function = function
        self.error: Exception | None = error

    def __call__(self, value: Any) -> Any:
        if self.error is not None:
            error, self.error = self.error, None
            raise error
        return self.function(value)


def test_only_an_error_of_the_value_comes_again() -> None:
    """`fails_again` returns False if a repetition succeeds or raises an error of another class."""
    error = LimitReached()

    def fail(repeated: Exception) -> bool:
        return failures.fails_again(error, lambda: Interrupted(str, repeated)(1))

    assert fail(LimitReached())
    assert not fail(ValueError())
    assert not failures.fails_again(error, lambda: None)
    # A MemoryError or RecursionError is never caused by the value, even if it is raised again.
    assert not failures.fails_again(MemoryError(), lambda: Interrupted(str, MemoryError())(1))
    assert not failures.fails_again(RecursionError(), lambda: Interrupted(str, RecursionError())(1))


class Interrupting(base.Leaf):
    """A codec that is interrupted in the middle of many values, as by a signal handler."""

    __slots__ = ("decode", "encode")

    def __init__(self, after: int) -> None:
        super().__init__("text")
        this: Any = self
        this.encode = self.interrupted(after, str.encode)
        this.decode = self.interrupted(after, lambda data: bytes(data).decode())

    @staticmethod
    def interrupted(after: int, convert: Any) -> Any:
        calls = itertools.count()

        def call(value: Any) -> Any:
            if next(calls) == after:
                raise LimitReached("after 60 s")
            return convert(value)

        return call


def test_interrupted_collections_raise_the_error_of_the_handler() -> None:
    """An error of a signal handler is not lost while many values are encoded or decoded."""
    texts = ["a", "b", "c"]
    encoded = containers.list_of(scalars.text()).encode(texts)
    for after in range(3):
        with pytest.raises(LimitReached):
            containers.list_of(Interrupting(after)).encode(texts)
        with pytest.raises(LimitReached):
            containers.list_of(Interrupting(after)).decode(encoded)
        with pytest.raises(LimitReached):
            containers.map_of(Interrupting(after), scalars.text()).encode(dict.fromkeys(texts, "x"))


class Index:
    """A number whose first conversion to an int raises an error, as from a signal handler."""

    def __init__(self) -> None:
        self.convert = Interrupted(int, LimitReached())

    def __index__(self) -> int:
        number: int = self.convert(7)
        return number


@pytest.mark.parametrize(
    ("cql_type", "value_with"),
    [
        (INT, lambda index: index),
        (list_of(INT), lambda index: [1, index]),
        (vector_of(INT, 2), lambda index: (1, index)),
        (set_of(t.LongType), lambda index: {index}),
        (map_of(INT, INT), lambda index: {1: index}),
    ],
)
def test_interrupted_numbers_raise_the_error_of_the_handler(
    implementation: Implementation, cql_type: Any, value_with: Any
) -> None:
    codec = cql_type.build_codec(implementation.codecs)
    value = value_with(Index())
    with pytest.raises(LimitReached):
        codec.encode(value)
    assert codec.encode(value)
