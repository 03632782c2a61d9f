"""Converts bound values of unusual classes to the few classes that codecs can encode.

The codecs handle the common classes themselves, and call these functions for all other values. Each
function returns what the codec encodes, for example a number of milliseconds. If the value is not
suitable, the function raises `EncodeTypeError` or `EncodeValueError` with a message that shows the
value. The pure Python codecs and the compiled codecs call the same functions, so they accept the
same values and raise the same errors.
"""

from __future__ import annotations

import datetime
import decimal
import enum
import math
import numbers
import operator
import socket
import uuid as uuid_module
from collections.abc import Callable, Mapping, MappingView, Sequence, Set
from typing import Any, NoReturn, TypeVar, cast

from cassandra._habits import is_table
from cassandra._later_warnings import warn_of_topic
from cassandra._patterns import pattern
from cassandra.cqltypes.absent_fields import report_absent
from cassandra.cqltypes.aliases import attributes_by_alias
from cassandra.cqltypes.codecs.big_numbers import (
    WIDE_CONTEXT,
    check_size,
    digits_limit,
    int_of_digits,
    to_decimal,
)
from cassandra.cqltypes.failures import (
    EncodeTypeError,
    EncodeValueError,
    locate,
    malformed,
    refuse_type,
    refuse_value,
)
from cassandra.cqltypes.missing import is_missing, is_partly_masked
from cassandra.cqltypes.moments import NANOS_OF_DAY, months_and_nanos, nanos_since_1970
from cassandra.errors import DecodeError
from cassandra.util.temporal import (
    Date,
    Duration,
    MillisTimestamp,
    Time,
    ms_timestamp_from_datetime,
)

_Result = TypeVar("_Result")

# The beginnings of the names of types in which the order of the elements is a part of the value.
_ORDERED_TYPES = ("vector<", "tuple<", "CompositeType(", "DynamicCompositeType(")

_SETS = frozenset({set, frozenset})

_ABSENT = object()  # stands for an attribute that an object lacks

# The number that encodes 1970-01-01 as a date (native_protocol_v5.spec, section 5.5).
DATE_OFFSET = 1 << 31
_EPOCH_ORDINAL = 719163  # date(1970, 1, 1).toordinal()
# Seconds from 1970 to September 2001, and to the start of 2100.
_SECONDS_OF_2001, _SECONDS_OF_2100 = 1_000_000_000, 4_102_444_800
_MICROS_OF_2001 = 1_000_000 * _SECONDS_OF_2001
_INT64_MIN, _INT64_MAX = -(1 << 63), (1 << 63) - 1
_INT32_MIN, _INT32_MAX = -(1 << 31), (1 << 31) - 1


def member_or_refuse(
    convert: Callable[..., _Result], value: object, what: str, *rest: object
) -> _Result:
    """Convert the value of an enum member: return ``convert(value.value, *rest)``.

    :param convert: the function that converts the member's value.
    :param value: the enum member.
    :param what: what `value` should be, for the error's message.
    :param rest: further arguments for `convert`.
    :raises EncodeTypeError: if `value` is not an enum member.
    """
    if not isinstance(value, enum.Enum):
        refuse_type(value, what)
    try:
        return convert(value.value, *rest)
    except (EncodeTypeError, EncodeValueError) as error:
        locate(error, repr(value))
        raise


def is_member(value: object) -> bool:
    """Return True if `value` is a member of an enum whose members are not numbers themselves."""
    return isinstance(value, enum.Enum) and not hasattr(type(value), "__index__")


def integer_out_of_place(value: object, name: str, low: int, high: int) -> NoReturn:
    """Raise the error for a value that is not an integer, or out of the range of its type.

    :param name: the CQL type.
    :param low: the smallest number of the type.
    :param high: the largest number of the type.
    """
    if hasattr(type(value), "__index__"):
        refuse_value(value, f"is out of the range of {name} ({low} to {high})")
    refuse_missing(value, "an integer")
    refuse_type(value, "an integer")


def index_failed(value: object, error: TypeError) -> NoReturn:
    """Raise the error for a value whose ``__index__`` has raised `error`.

    This is `error` itself, except for NumPy arrays: their error names neither the value nor its
    class.
    """
    if hasattr(type(value), "ndim"):
        refuse_type(value, "an integer")
    raise error


def real_number(value: Any, name: str) -> float:
    """Convert a number to a float.

    An error that the number's own ``__float__`` raises is passed on.
    """
    refuse_missing(value, "a number")
    cls = type(value)
    # Reject NumPy's strings and arrays, although they have `__float__`. A string would be parsed,
    # and an array would raise an error that does not help.
    if (
        isinstance(value, (str, bytes))
        or getattr(value, "ndim", False)
        or not (hasattr(cls, "__float__") or hasattr(cls, "__index__"))
    ):
        # Only an enum member can still be valid: convert the member's value. Anything else is an
        # error.
        return member_or_refuse(real_number, value, "a number", name)
    # NumPy's complex numbers and its datetime64 and timedelta64 have `__float__`, too. It would
    # drop the imaginary part, or the unit.
    kind = _numpy_kind(value)
    if kind == "c":
        refuse_type(value, "a real number")
    if kind in ("m", "M"):
        refuse_type(value, "a number")
    try:
        number = float(value)
        # A Decimal or a longdouble may be too large for a float.
        if math.isinf(number) and value != number:
            refuse_value(value, f"is out of the range of {name}")
        return number
    except OverflowError:
        refuse_value(value, f"is out of the range of {name}")
    except TypeError:
        if not hasattr(cls, "ndim"):
            raise
        refuse_type(value, "a number")  # for example a NumPy date array without dimensions


# The names of NumPy's classes of numbers that fit into a double or become the nearest one. Its
# longdouble is missing, because it may be out of the range of a double.
_NUMPY_NUMBERS = frozenset(
    {
        "float16",
        "float32",
        *(f"{sign}int{size}" for sign in ("", "u") for size in (8, 16, 32, 64)),
    }
)


def are_plain_numbers(values: Sequence[object]) -> bool:
    """Return True if `struct` can encode all `values` as floats, with the result of `real_number`.

    For other values, `struct` may lose something: it encodes a Decimal that is too large as
    infinity, and a complex number or a timedelta64 of NumPy without its imaginary part or unit.
    """
    kinds = [*map(type, values)]
    # Usually all values have one class. To count it is faster than to make a set.
    is_one_kind = not kinds or kinds.count(kinds[0]) == len(kinds)
    return all(
        issubclass(kind, (float, int))
        or (kind.__module__ == "numpy" and kind.__name__ in _NUMPY_NUMBERS)
        for kind in (kinds[:1] if is_one_kind else {*kinds})
    )


def _numpy_kind(value: object) -> str:
    """Return the dtype kind of a NumPy value, such as "m" for durations, or "" for others."""
    kind: str = getattr(getattr(value, "dtype", None), "kind", "")
    return kind


def boolean(value: object) -> bool:
    """Convert a bool or an integer to a bool.

    Integers are accepted, because flags are often bits.
    """
    if value is True or value is False:
        return bool(value)
    # NumPy's bool is neither a bool nor an int. Recognise the class by its name, so as not to
    # import NumPy.
    if type(value).__name__ in ("bool_", "bool") and type(value).__module__ == "numpy":
        return bool(value)
    # NumPy's integers are accepted. NumPy's durations are excluded, although they are also
    # Integral.
    if (
        not isinstance(value, enum.Enum)
        and isinstance(value, numbers.Integral)
        and _numpy_kind(value) != "m"
    ):
        return bool(value)
    # Only an enum member can still be valid: convert its value. Anything else is an error.
    return member_or_refuse(boolean, value, "a boolean")


def uuid_bytes(value: object) -> bytes:
    """Return the 16 bytes of a UUID object, or of a string with a UUID."""
    if isinstance(value, uuid_module.UUID):
        return value.bytes
    if isinstance(value, str):
        try:
            return uuid_module.UUID(value).bytes
        except ValueError:
            refuse_value(value, "is not a UUID")
    # Only an enum member can still be valid: convert its value. Anything else is an error.
    return member_or_refuse(uuid_bytes, value, "a UUID")


def inet_bytes(value: object) -> bytes:
    """Return the 4 or 16 bytes of an address: a string or an object of the module `ipaddress`."""
    if isinstance(value, str):
        try:
            return socket.inet_pton(socket.AF_INET6 if ":" in value else socket.AF_INET, value)
        except (OSError, ValueError):
            refuse_value(value, "is not an IPv4 or IPv6 address")
    refuse_zone(value)
    # Recognise objects of `ipaddress` by an attribute, so as not to import the module.
    packed = getattr(value, "packed", None)
    # An interface of `ipaddress` is an address with the prefix length of its network. Accept it
    # only if the network consists of that address, because then nothing is lost.
    network = getattr(value, "network", None)
    prefix_length = getattr(network, "prefixlen", None)
    if prefix_length is not None and prefix_length != getattr(network, "max_prefixlen", None):
        refuse_value(
            value,
            f"has a prefix (/{prefix_length}), which inet has no place for: write value.ip",
        )
    if isinstance(packed, bytes) and len(packed) in (4, 16):
        return packed
    # Only an enum member can still be valid: convert its value. Anything else is an error.
    return member_or_refuse(inet_bytes, value, "an IP address")


def refuse_zone(value: object) -> None:
    """Raise `EncodeValueError` if `value` is an address of the module `ipaddress` with a zone."""
    if getattr(value, "scope_id", None) is not None:
        refuse_value(value, "has a zone (the part behind %), which inet has no place for")


def inet_text(data: bytes) -> str:
    """Convert an address of 4 or 16 bytes to a string."""
    if len(data) == 4:
        return socket.inet_ntop(socket.AF_INET, data)
    if len(data) == 16:
        return socket.inet_ntop(socket.AF_INET6, data)
    return malformed("inet", f"takes 4 or 16 bytes, got {len(data)}")


def truncated(why: str) -> NoReturn:
    """Raise `DecodeError` for an item of a container whose bytes are not complete.

    The container's codec adds the position of the item to the error.
    """
    raise DecodeError(why)


# -- time ------------------------------------------------------------------------------------------

# Matches CQL's timestamp literals. A time zone may consist of hours only, such as "+02".
_TIMESTAMP_PATTERN = pattern(
    r"([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})"
    r"(?:[T ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,9}))?)?)?"
    r"[ ]?(Z|[+-][0-9]{2}(?::?[0-9]{2})?)?"
)


def _timestamp_of_text(text: str) -> int:
    """Return the milliseconds since 1970 of a timestamp literal."""
    match = _TIMESTAMP_PATTERN.fullmatch(text.strip())
    if match is None:
        refuse_value(text, "is not a timestamp of the form YYYY-MM-DD[ HH:MM[:SS[.fff]]][+HHMM]")
    try:
        whole_seconds = datetime.datetime(
            int(match[1]),
            int(match[2]),
            int(match[3]),
            int(match[4] or 0),
            int(match[5] or 0),
            int(match[6] or 0),
        )
    except ValueError as error:
        refuse_value(text, f"is not a timestamp: {error}")
    # Keep three digits of the fraction, since a timestamp is in milliseconds.
    millis = ms_timestamp_from_datetime(whole_seconds) + int((match[7] or "").ljust(9, "0")[:3])
    zone_offset = match[8]
    if zone_offset and zone_offset != "Z":
        # The offset has the form +HH, +HHMM or +HH:MM, or the same with a minus sign.
        digits = zone_offset[1:].replace(":", "").ljust(4, "0")
        minutes = int(digits[:2]) * 60 + int(digits[2:])
        # Local time is UTC plus the zone's offset, so subtract the offset.
        millis += -minutes * 60_000 if zone_offset[0] == "+" else minutes * 60_000
    return millis


def timestamp_millis(value: object) -> int:
    """Return the milliseconds since 1970 of a timestamp.

    :param value: a datetime (a naive datetime is taken as UTC), a date, a `Date`, a number of
        milliseconds, a string, or a `numpy.datetime64`.
    """
    # Check for datetime before date, its base class. pandas' NaT is also a datetime, but is a
    # missing value, so reject it.
    if isinstance(value, datetime.datetime):
        refuse_missing(value, "a datetime, a date or a number of milliseconds")
        return ms_timestamp_from_datetime(value)
    if isinstance(value, datetime.date):
        return (value.toordinal() - _EPOCH_ORDINAL) * 86_400_000
    if isinstance(value, Date):
        millis = operator.index(value.days_from_epoch) * 86_400_000
    elif isinstance(value, str):
        millis = _timestamp_of_text(value)
    # Like cassandra-driver, do not accept a bool, although it is an int in Python.
    elif hasattr(type(value), "__index__") and not isinstance(value, bool):
        millis = _index(value)
        if not isinstance(value, MillisTimestamp):  # a MillisTimestamp is always in milliseconds
            _warn_of_unit(millis)
    elif isinstance(value, float):
        try:
            millis = int(value)
        except (ValueError, OverflowError):
            refuse_value(value, "is not a number of milliseconds")
        _warn_of_unit(millis)
    else:
        nanos = nanos_since_1970(value)
        if nanos is not None:
            millis = nanos // 1_000_000
        else:
            millis = member_or_refuse(
                timestamp_millis, value, "a datetime, a date or a number of milliseconds"
            )
    if not _INT64_MIN <= millis <= _INT64_MAX:
        refuse_value(value, f"is out of the range of timestamp ({_INT64_MIN} to {_INT64_MAX} ms)")
    return millis


# The topic of the warnings of `_warn_of_unit`. A load gives a warning of this topic that names the
# column and the row, and then suppresses these warnings.
TIMESTAMP_UNIT = "units of timestamps"


def _warn_of_unit(millis: int) -> None:
    """Warn if a number of milliseconds is probably a time in another unit, such as seconds."""
    # A quick check: only a number outside this range can be a recent time in another unit.
    if millis <= _SECONDS_OF_2100 or millis >= _MICROS_OF_2001:
        if probable_timestamp_unit(millis) is None:
            return
        # For each line of code, Python shows a warning only once if the message is the same. Round
        # the number, so that a column of such values causes a single warning instead of a warning
        # for each value.
        rounded = round(millis, 3 - len(str(millis)))
        advice = probable_timestamp_unit(rounded)
        warn_of_topic(f"about {advice}, or pass a datetime", TIMESTAMP_UNIT)


def probable_timestamp_unit(millis: int) -> str | None:
    """Return advice if a number of milliseconds is probably a time in another unit, else None.

    For example, `time.time()` returns seconds, while `time.time_ns()` and pandas return
    nanoseconds. We assume another unit if the number is a time from 2001 to 2100 in that unit.

    :param millis: milliseconds since 1970.
    """
    if _SECONDS_OF_2001 <= millis <= _SECONDS_OF_2100:
        return (
            f"{millis} milliseconds are a moment of January or February 1970: if these are "
            "seconds, multiply them by 1000"
        )
    for unit, divisor in (("microseconds", 1000), ("nanoseconds", 1_000_000)):
        units_per_second = divisor * 1000
        if _SECONDS_OF_2001 * units_per_second <= millis <= _SECONDS_OF_2100 * units_per_second:
            return (
                f"{millis} milliseconds are a moment after the year 9999: if these are {unit}, "
                f"divide them by {divisor}"
            )
    return None


def _warn_of_day(number: int) -> None:
    """Warn if a day number was probably meant as a date's digits, or as days since 1970."""
    month, day = number // 100 % 100, number % 100
    is_of_digits = number >= _FIRST_OF_CALENDAR and 1 <= month <= 12 and 1 <= day <= 31
    if is_of_digits or _DAYS_OF_2000 <= number <= _DAYS_OF_2100:
        # Numbers such as 20240131 were meant as 2024-01-31. Other numbers were meant as days since
        # 1970.
        advice = (
            f"datetime.date({number // 10_000}, {month}, {day})"
            if is_of_digits
            else f"cassandra.util.Date({number}) for days since 1970"
        )
        warn_of_topic(
            f"the number {number} for a date is a day more than 5 million years ago, since 2**31 "
            f"stands for 1970-01-01: write {advice}",
            "days of dates",
        )


# `_warn_of_day` warns about numbers in two ranges, because each is a common mistake for a date. The
# first range is for numbers that have the digits of a date: 20261231 for 2026-12-31. The range
# contains the dates from 1900-01-01 to 2199-12-31.
_FIRST_OF_CALENDAR, _LAST_OF_CALENDAR = 19_000_101, 21_991_231
# The second range is for numbers of days since 1970. The range contains the days from 2000-01-01
# to 2100-01-01.
_DAYS_OF_2000, _DAYS_OF_2100 = 10_957, 47_482


def date_number(value: object) -> int:
    """Return the unsigned 32-bit number that encodes a date.

    :param value: a `Date`, date, datetime, string or `numpy.datetime64`; or an int, which is
        already the encoded number.
    """
    if isinstance(value, Date):
        number = operator.index(value.days_from_epoch) + DATE_OFFSET
    elif isinstance(value, datetime.date):
        # pandas.NaT is a datetime, and thus a date, but stands for a missing value.
        refuse_missing(value, "a date")
        number = value.toordinal() - _EPOCH_ORDINAL + DATE_OFFSET
    elif isinstance(value, str):
        try:
            number = Date(value).days_from_epoch + DATE_OFFSET
        except ValueError as error:
            refuse_value(value, f"is not a date: {error}")
    elif hasattr(type(value), "__index__"):
        number = _index(value)
        # An int counts days from 2**31 days before 1970. Such a small number was probably meant as
        # days since 1970, or as the digits of a date.
        if number <= _LAST_OF_CALENDAR:
            _warn_of_day(number)
    else:
        nanos = nanos_since_1970(value)
        if nanos is not None:
            number = nanos // NANOS_OF_DAY + DATE_OFFSET
        else:
            # Only an enum member can still be valid: convert its value. Anything else is an error.
            number = member_or_refuse(date_number, value, "a date")
    if not 0 <= number <= 0xFFFFFFFF:
        refuse_value(value, "is out of the range of date (2**31 days before and after 1970-01-01)")
    return number


def time_nanos(value: object) -> int:
    """Return the nanoseconds since midnight of a time of day.

    :param value: a `Time`, `datetime.time`, str or int, or a `numpy.timedelta64` since midnight.
    """
    if isinstance(value, Time):
        nanos = operator.index(value.nanosecond_time)
    elif isinstance(value, (datetime.time, str)):
        try:
            nanos = Time(value).nanosecond_time
        except ValueError as error:
            refuse_value(value, f"is not a time: {error}")
    elif hasattr(type(value), "__index__"):
        nanos = _index(value)
    else:
        # Accept a `numpy.timedelta64`, unless it counts months or years.
        interval = months_and_nanos(value)
        if interval is None or interval[0]:
            nanos = member_or_refuse(time_nanos, value, "a time of day")
        else:
            nanos = interval[1]
    if not 0 <= nanos < Time.DAY:
        refuse_value(value, f"is out of the range of time (0 to {Time.DAY - 1} ns)")
    return nanos


def duration_parts(value: object) -> tuple[int, int, int]:
    """Return (months, days, nanoseconds) of a `Duration` or a `numpy.timedelta64`.

    Raises an error if the numbers do not fit int32, int32 and int64, or if some are positive and
    others are negative.
    """
    interval = months_and_nanos(value)
    if interval is not None:
        value = Duration(interval[0], 0, interval[1])
    if not isinstance(value, Duration):
        # Only an enum member can still be valid: convert its value. Anything else is an error.
        return member_or_refuse(duration_parts, value, "a cassandra.util.Duration")
    try:
        months, days, nanos = map(operator.index, (value.months, value.days, value.nanoseconds))
    except (AttributeError, TypeError):
        refuse_type(value, "a Duration of three integers")
    if not _INT32_MIN <= months <= _INT32_MAX or not _INT32_MIN <= days <= _INT32_MAX:
        refuse_value(value, "has months or days out of the range of 32 bits")
    if not _INT64_MIN <= nanos <= _INT64_MAX:
        refuse_value(value, "has nanoseconds out of the range of 64 bits")
    # native_protocol_v5.spec, section 5.8, forbids different signs.
    if (months < 0 or days < 0 or nanos < 0) and (months > 0 or days > 0 or nanos > 0):
        refuse_value(value, "mixes positive and negative parts")
    return months, days, nanos


# -- numbers of any size ---------------------------------------------------------------------------


def varint_bytes(value: object) -> bytes:
    """Encode an integer as a varint: its shortest form in two's complement.

    See native_protocol_v5.spec, section 5.24.
    """
    if not hasattr(type(value), "__index__"):
        # Only an enum member can still be valid: convert its value. Anything else is an error.
        return member_or_refuse(varint_bytes, value, "an integer")
    number = _index(value)
    # A negative number has as many bits as its complement. A number of 8 * n bits needs n + 1
    # bytes, because a bit for the sign is added.
    magnitude = number if number >= 0 else ~number
    size: int = (magnitude.bit_length() >> 3) + 1
    return number.to_bytes(size, "big", signed=True)


def decimal_parts(value: object) -> tuple[int, int]:
    """Return (unscaled integer, scale) of a Decimal, an int, a float, a string or a tuple.

    A float is converted exactly, with all digits of its binary value. A tuple or list consists of
    the sign, the digits and the exponent, as returned by `decimal.Decimal.as_tuple`.
    """
    if not isinstance(value, decimal.Decimal):
        if not (
            isinstance(value, (int, float, str, tuple, list)) or hasattr(type(value), "__index__")
        ):
            # Only an enum member can still be valid: convert its value. Anything else is an error.
            return member_or_refuse(decimal_parts, value, "a decimal")
        if not isinstance(value, (float, str, tuple, list)):
            return _index(value), 0
        try:
            # Use our own context: the thread's context may raise errors, for example for a float.
            value = decimal.Decimal(cast("tuple[int, Sequence[int], int]", value), WIDE_CONTEXT)
        except (decimal.InvalidOperation, ValueError, TypeError):
            refuse_value(value, "is not a decimal number")
    if not value.is_finite():
        refuse_value(value, "has no decimal form in CQL (it is not finite)")
    # Read the digits and the exponent from the number's string. as_tuple() would create an object
    # for each digit.
    mantissa, _, power = WIDE_CONTEXT.to_sci_string(value).partition("E")
    integer, _, fraction = mantissa.lstrip("-").partition(".")
    exponent = int(power or "0") - len(fraction)
    if not _INT32_MIN <= -exponent <= _INT32_MAX:
        refuse_value(value, "has an exponent out of the range of 32 bits")
    digits = integer + fraction
    # Check the number of digits before the conversion, which takes more than linear time.
    if len(digits) > digits_limit():
        raise EncodeValueError(
            f"a decimal of {len(digits)} digits; limits.decimal_bytes allows {digits_limit()} "
            "(see cassandra.limits)"
        )
    unscaled = int_of_digits(digits)
    return -unscaled if value.is_signed() else unscaled, -exponent


def decimal_of(unscaled: int, scale: int) -> decimal.Decimal:
    """Return `unscaled` * 10 ** -`scale` as a Decimal, without rounding.

    :raises DecodeError: if `unscaled` is larger than `limits.decimal_bytes` allows.
    """
    return shown_number(unscaled, "decimal").scaleb(-scale, WIDE_CONTEXT)


def shown_number(number: int, name: str) -> decimal.Decimal:
    """Convert an int to a Decimal, which can always be converted to a string, unlike an int.

    :param name: the CQL type, for the error's message.
    :raises DecodeError: if the number is larger than `limits.decimal_bytes` allows.
    """
    # Check only numbers of more than 1024 bytes, because most numbers are far smaller.
    if number.bit_length() > 8192:
        size_error = check_size((number.bit_length() >> 3) + 1)
        if size_error:
            malformed(name, size_error)
    return to_decimal(number)


# -- text and bytes --------------------------------------------------------------------------------


def text_bytes(value: object, name: str) -> bytes:
    """Encode a string; raise an error for other classes, and for strings that cannot be encoded.

    :param name: the CQL type. The encoding is ASCII for "ascii", and UTF-8 for any other type.
    """
    if not isinstance(value, str):
        # Only an enum member can still be valid: convert its value. Anything else is an error.
        return member_or_refuse(text_bytes, value, "text (str)", name)
    try:
        return value.encode("ascii" if name == "ascii" else "utf-8")
    except UnicodeEncodeError as error:
        refuse_value(
            value, f"cannot be encoded as {name}: character {error.start} is {value[error.start]!r}"
        )


def blob_bytes(value: Any) -> bytes:
    """Return the bytes of a bytes, bytearray or memoryview, or of another one-dimensional buffer.

    Four kinds of buffers are errors. Buffers with more dimensions have no obvious order of bytes.
    In buffers of object references, the bytes are addresses. Masked arrays have the hidden elements
    in their bytes. In single NumPy values, such as a string or a number, the bytes depend on the
    machine.
    """
    if isinstance(value, bytes):
        return bytes(value)
    kind = _numpy_kind(value)
    if kind not in ("", "V", "S") and getattr(value, "ndim", None) == 0:
        what = "value.encode()" if kind == "U" else "value.tobytes() for the bytes in memory"
        refuse_type(value, f"bytes: write {what}")
    try:
        view = memoryview(value)
    except (TypeError, ValueError, BufferError):  # arrays of NumPy dates raise ValueError
        # Only an enum member can still be valid: convert its value. Anything else is an error.
        return member_or_refuse(blob_bytes, value, "bytes or another buffer")
    with view:
        if view.ndim > 1:
            refuse_type(value, f"bytes: it has {view.ndim} dimensions")
        # First remove the names of fields from the format, because their letters are not type
        # codes.
        if not _POINTERS.isdisjoint(_FIELD_NAMES.sub("", view.format)):
            refuse_type(value, "bytes: its elements are references to objects")
        if is_partly_masked(value) or is_missing(value):
            refuse_type(value, "bytes: it has masked elements")
        return view.tobytes()


# -- containers ------------------------------------------------------------------------------------


# Letters in buffer formats (PEP 3118) for references to objects, pointers and functions.
_POINTERS = frozenset("OPX&")
# A field's name in a buffer format, with its two colons.
_FIELD_NAMES = pattern(":[^:]*:")


def refuse_missing(value: object, what: str, name: str = "") -> None:
    """Raise an error if `value` is a missing value such as NaT, where null is not allowed.

    :param what: what is required instead, for the error's message.
    :param name: the CQL type that the value is bound for: see `is_missing`.
    """
    if is_missing(value, name):
        refuse_type(value, f"{what}: it stands for null")


def _index(value: Any) -> int:
    """Convert an integer of any class to an int.

    Missing values are errors. For example, ``__index__`` of a masked array without dimensions would
    return the hidden number.
    """
    if type(value) is not int:
        refuse_missing(value, "an integer")
    try:
        return operator.index(value)
    except TypeError as error:
        index_failed(value, error)


def elements(value: Any, name: str) -> list[Any] | tuple[Any, ...]:
    """Return the elements of any iterable as a new list, or as a tuple, which cannot change.

    Strings, bytes, mappings, data frames and single values of NumPy are errors. A set is an error
    for a type whose elements have an order.

    :param name: the CQL type, such as ``list<int>``.
    """
    # Copy a list, because encoding an element may run user code that changes the list.
    if type(value) is list:
        return value.copy()
    if type(value) is tuple:
        return value
    # Sets are the usual values here, and need none of the checks below.
    if type(value) in _SETS and not name.startswith(_ORDERED_TYPES):
        return list(value)
    what = f"a collection of elements for {name}"
    if isinstance(value, (str, bytes, dict)):
        refuse_type(value, what)
    if isinstance(value, memoryview) and value.ndim != 1:
        refuse_type(value, f"{what}: it has {value.ndim} dimensions")
    if not isinstance(value, (list, tuple)):
        if name.startswith(_ORDERED_TYPES):
            _refuse_without_order(value, name)
        # Iterating over a frame yields the names of its columns.
        if is_table(value):
            refuse_type(value, f"{what}: write a column of it, such as frame['name']")
        # Refuse NumPy's void: it has no elements, but iterating over it does not fail. A record is
        # also a void, but its fields are its elements.
        if (
            getattr(value, "ndim", None) == 0
            and getattr(getattr(value, "dtype", None), "names", ()) is None
        ):
            return member_or_refuse(elements, value, what, name)
    try:
        iterator = iter(value)
    except TypeError:
        # Only an enum member can still be valid: convert its value. Anything else is an error.
        return member_or_refuse(elements, value, what, name)
    try:
        return list(iterator)
    except NotImplementedError:
        if not isinstance(value, memoryview):
            raise
        refuse_type(value, f"{what}: its format is {value.format!r}")


def _refuse_without_order(value: object, name: str) -> None:
    """Raise `EncodeTypeError` for sets of several elements, and for mappings.

    The elements of a set would be stored in the order of their hashes, which differs from process
    to process. Of a mapping, only the keys would be stored. Views of mappings are accepted, because
    they have an order. So are sets of other libraries that can be indexed or reversed.

    :param value: the value for a type whose elements have an order.
    :param name: the CQL type.
    """
    if isinstance(value, Mapping):
        refuse_type(value, f"a sequence of elements for {name}")
    cls = type(value)
    if (
        isinstance(value, (set, frozenset))
        or (
            isinstance(value, Set)
            and not isinstance(value, MappingView)
            and not hasattr(cls, "__reversed__")
            and not hasattr(cls, "__getitem__")
        )
    ) and len(value) > 1:
        advice = "" if name.startswith("vector<") else ": write a tuple, as in (a, b)"
        refuse_type(value, f"a sequence of elements for {name}: it has no order{advice}")


def pairs(value: Any, name: str) -> tuple[list[Any], list[Any]]:
    """Return the keys and the values of a mapping (anything with ``items()``).

    A scalar of pyarrow is an error. Its keys and values would be scalars of pyarrow, too, and its
    ``items()`` fails if it is a map.
    """
    if type(value).__module__ == "pyarrow.lib" and hasattr(value, "as_py"):
        refuse_type(value, f"a mapping for {name}: write dict(value.as_py())")
    try:
        items = value.items()
    except AttributeError:
        # Only an enum member can still be valid: convert its value. Anything else is an error.
        return member_or_refuse(pairs, value, f"a mapping for {name}", name)
    keys: list[Any] = []
    values: list[Any] = []
    # Copy the items: iterating over the view would fail if another thread changes the mapping.
    for key, item in list(items):
        keys.append(key)
        values.append(item)
    return keys, values


def tuple_items(value: object, name: str, count: int) -> list[Any] | tuple[Any, ...]:
    """Return the items of a tuple.

    A tuple may have fewer items than the type has fields. We do not add nulls at its end: in a
    partition key, the result would differ from the key that CQL literals and other drivers write.
    But an empty tuple gets a null for each field, because CQL has no tuples without items, and its
    tools cannot read them.

    :param name: the CQL type, for error messages.
    :param count: the number of fields of the type. More items are an error.
    """
    items = elements(value, name)
    if len(items) > count:
        refuse_value(value, f"has {len(items)} items, {name} takes {count}")
    return items or [None] * count


def udt_items(value: object, name: str, fields: tuple[str, ...]) -> list[Any] | tuple[Any, ...]:
    """Return the values of a UDT's fields, in the order of the type. Missing fields are None.

    :param value: a mapping, an object with attributes, or a sequence. A sequence has the fields in
        order. A named tuple whose names are all fields of the type is read by name.
    :param name: the CQL type, for error messages.
    :param fields: the names of the type's fields.
    """
    if isinstance(value, (tuple, list)):
        cls = type(value)
        # Most values are plain tuples or lists. Skip the look-up of field names for them.
        tuple_fields = None if cls is tuple or cls is list else getattr(cls, "_fields", None)
        # Read a named tuple by name if it has only some of the fields, or has the fields in another
        # order.
        if tuple_fields and tuple_fields != fields and set(tuple_fields) <= set(fields):
            return [getattr(value, field) if field in tuple_fields else None for field in fields]
        # Read the values once, and count what was read: a subclass may have an `__iter__` of its
        # own, which yields another number of values than `__len__` says.
        in_order = tuple(value)
        if len(in_order) > len(fields):
            refuse_value(
                value,
                f"has {len(in_order)} fields, {name} takes {len(fields)} ({', '.join(fields)})",
            )
        return in_order + (None,) * (len(fields) - len(in_order))
    if isinstance(value, dict) or (hasattr(value, "keys") and hasattr(value, "__getitem__")):
        unknown = [key for key in value.keys() if key not in fields]  # noqa: SIM118 - any mapping
        if unknown:
            refuse_value(
                value,
                f"has the key {unknown[0]!r}, which is not a field of {name} ({', '.join(fields)})",
            )
        present = set(value.keys())
        return [value[field] if field in present else None for field in fields]
    # Check for missing values before attributes are read: NaT has many attributes, which are all
    # NaN.
    refuse_missing(value, f"a value of {name}")
    # Use `__class__` instead of type(), because `__class__` of a proxy is the class of its object.
    object_class: type = value.__class__
    aliases = attributes_by_alias(object_class)
    attributes = [aliases.get(field, field) for field in fields] if aliases else fields
    # If the value is a scalar, or an object that has none of the fields, it is an error. The
    # exception is an enum member whose value is suitable.
    if isinstance(value, (str, bytes, int, float, enum.Enum)) or not any(
        hasattr(value, attribute) for attribute in attributes
    ):
        what = f"a value of {name} (an object, mapping or sequence of {', '.join(fields)})"
        # Only an enum member can still be valid: convert its value. Anything else is an error.
        return member_or_refuse(udt_items, value, what, name, fields)
    items = [getattr(value, attribute, _ABSENT) for attribute in attributes]
    if any(item is _ABSENT for item in items):
        absent = [
            attribute for attribute, item in zip(attributes, items, strict=True) if item is _ABSENT
        ]
        report_absent(value, name, attributes, tuple(absent))
        return [None if item is _ABSENT else item for item in items]
    return items
