"""Conversion of values of all kinds to the few numbers on the wire, off the fast path.

Each function takes a value that a program passed, and returns the form that the codec writes. It
raises `EncodeTypeError` or `EncodeValueError` with a text that names the value. Both twins call
these functions, so their messages and rules cannot drift apart.
"""

from __future__ import annotations

import datetime
import decimal
import enum
import numbers
import operator
import socket
import uuid as uuid_module
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, cast

from cassandra._habits import stack_level
from cassandra._patterns import pattern
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
from cassandra.errors import DecodeError
from cassandra.util.temporal import (
    Date,
    Duration,
    MillisTimestamp,
    Time,
    ms_timestamp_from_datetime,
)

DATE_OFFSET = 1 << 31  # native_protocol_v5.spec 5.5: the epoch lies in the centre of the range
_EPOCH_ORDINAL = 719163  # of 1970-01-01
_SECONDS_OF_2001, _SECONDS_OF_2100 = 1_000_000_000, 4_102_444_800
_MICROS_OF_2001 = 1_000_000 * _SECONDS_OF_2001
_INT64_MIN, _INT64_MAX = -(1 << 63), (1 << 63) - 1
_INT32_MIN, _INT32_MAX = -(1 << 31), (1 << 31) - 1


def member_or_refuse(convert: Callable[..., Any], value: object, what: str, *rest: object) -> Any:
    """Return `convert` of an enum member's own value.

    :raises EncodeTypeError: for anything else: `value` is not `what`.
    """
    if not isinstance(value, enum.Enum):
        refuse_type(value, what)
    try:
        return convert(value.value, *rest)
    except (EncodeTypeError, EncodeValueError) as error:
        locate(error, repr(value))
        raise


def is_member(value: object) -> bool:
    """Return True if `value` is a member of an enum that is not a number itself."""
    return isinstance(value, enum.Enum) and not hasattr(type(value), "__index__")


def integer_out_of_place(value: object, name: str, low: int, high: int) -> NoReturn:
    """Raise the error that says why `value` is not an integer from `low` to `high`."""
    if hasattr(type(value), "__index__"):
        refuse_value(value, f"is out of the range of {name} ({low} to {high})")
    refuse_type(value, "an integer")


def index_failed(value: object, error: TypeError) -> NoReturn:
    """Raise the error for a value whose ``__index__`` has raised `error`.

    NumPy's arrays have one, which says neither the value nor its class.
    """
    if hasattr(type(value), "ndim"):
        refuse_type(value, "an integer")
    raise error


def real_number(value: Any, name: str) -> float:
    """Return the float of a number. Errors of the number's own conversion are passed on."""
    refuse_missing(value, "a number")
    kind = type(value)
    # NumPy's text has a __float__ that parses, its arrays one that fails without saying at which
    # element.
    if (
        isinstance(value, (str, bytes))
        or getattr(value, "ndim", False)
        or not (hasattr(kind, "__float__") or hasattr(kind, "__index__"))
    ):
        number: float = member_or_refuse(real_number, value, "a number", name)
        return number
    try:
        return float(value)
    except OverflowError:
        refuse_value(value, f"is out of the range of {name}")
    except TypeError:
        if not hasattr(kind, "ndim"):
            raise
        refuse_type(value, "a number")  # an array of no dimension, of dates say


def boolean(value: object) -> bool:
    """Return the truth of a bool, or of an integer: flags are often bits of a mask."""
    if value is True or value is False:
        return bool(value)
    # By name: NumPy is not imported here, and its bool is neither a bool nor an int.
    if type(value).__name__ in ("bool_", "bool") and type(value).__module__ == "numpy":
        return bool(value)
    if not isinstance(value, enum.Enum) and isinstance(value, numbers.Integral):
        return bool(value)  # NumPy's integers, too
    truth: bool = member_or_refuse(boolean, value, "a boolean")
    return truth


def uuid_bytes(value: object) -> bytes:
    """Return the 16 bytes of a UUID, or of a string that spells one."""
    if isinstance(value, uuid_module.UUID):
        return value.bytes
    if isinstance(value, str):
        try:
            return uuid_module.UUID(value).bytes
        except ValueError:
            refuse_value(value, "is not a UUID")
    data: bytes = member_or_refuse(uuid_bytes, value, "a UUID")
    return data


def inet_bytes(value: object) -> bytes:
    """Return the 4 or 16 bytes of an address: a string, or an object of the `ipaddress` module."""
    if isinstance(value, str):
        try:
            return socket.inet_pton(socket.AF_INET6 if ":" in value else socket.AF_INET, value)
        except (OSError, ValueError):
            refuse_value(value, "is not an IPv4 or IPv6 address")
    refuse_zone(value)
    # By attribute: importing `ipaddress` would cost every program, and few use it.
    packed = getattr(value, "packed", None)
    if isinstance(packed, bytes) and len(packed) in (4, 16):
        return packed
    data: bytes = member_or_refuse(inet_bytes, value, "an IP address")
    return data


def refuse_zone(value: object) -> None:
    """Raise `EncodeValueError` for an address of the `ipaddress` module with a zone."""
    if getattr(value, "scope_id", None) is not None:
        refuse_value(value, "has a zone (the part behind %), which inet has no place for")


def inet_text(data: bytes) -> str:
    """Return the text of the address in 4 or 16 bytes."""
    if len(data) == 4:
        return socket.inet_ntop(socket.AF_INET, data)
    if len(data) == 16:
        return socket.inet_ntop(socket.AF_INET6, data)
    return malformed("inet", f"takes 4 or 16 bytes, got {len(data)}")


def truncated(why: str) -> NoReturn:
    """Raise `DecodeError` for an item of a container, which puts the item's place before `why`."""
    raise DecodeError(why)


# -- time ------------------------------------------------------------------------------------------

# The forms of CQL's timestamp literals. A zone may be hours alone.
_TIMESTAMP_PATTERN = pattern(
    r"([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})"
    r"(?:[T ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,9}))?)?)?"
    r"[ ]?(Z|[+-][0-9]{2}(?::?[0-9]{2})?)?"
)


def _timestamp_of_text(text: str) -> int:
    match = _TIMESTAMP_PATTERN.fullmatch(text.strip())
    if match is None:
        refuse_value(text, "is not a timestamp of the form YYYY-MM-DD[ HH:MM[:SS[.fff]]][+HHMM]")
    try:
        moment = datetime.datetime(
            int(match[1]),
            int(match[2]),
            int(match[3]),
            int(match[4] or 0),
            int(match[5] or 0),
            int(match[6] or 0),
        )
    except ValueError as error:
        refuse_value(text, f"is not a timestamp: {error}")
    millis = ms_timestamp_from_datetime(moment) + int((match[7] or "").ljust(9, "0")[:3])
    zone = match[8]
    if zone and zone != "Z":
        digits = zone[1:].replace(":", "").ljust(4, "0")
        minutes = int(digits[:2]) * 60 + int(digits[2:])
        # East of UTC clocks are ahead, so the offset is taken off.
        millis += -minutes * 60_000 if zone[0] == "+" else minutes * 60_000
    return millis


def timestamp_millis(value: object) -> int:
    """Return the milliseconds since 1970 of `value`.

    It is a datetime (UTC if it is naive), a date, a `Date`, a number of milliseconds, or a string.
    """
    # A datetime is a date too: it is asked about first, and pandas' NaT is a datetime.
    if isinstance(value, datetime.datetime):
        refuse_missing(value, "a datetime, a date or a number of milliseconds")
        return ms_timestamp_from_datetime(value)
    if isinstance(value, datetime.date):
        return (value.toordinal() - _EPOCH_ORDINAL) * 86_400_000
    if isinstance(value, Date):
        millis = operator.index(value.days_from_epoch) * 86_400_000
    elif isinstance(value, str):
        millis = _timestamp_of_text(value)
    elif hasattr(type(value), "__index__"):
        millis = _index(value)
        if not isinstance(value, MillisTimestamp):  # which says its unit
            _warn_of_unit(millis)
    elif isinstance(value, float):
        try:
            millis = int(value)
        except (ValueError, OverflowError):
            refuse_value(value, "is not a number of milliseconds")
        _warn_of_unit(millis)
    else:
        millis = member_or_refuse(
            timestamp_millis, value, "a datetime, a date or a number of milliseconds"
        )
    if not _INT64_MIN <= millis <= _INT64_MAX:
        refuse_value(value, f"is out of the range of timestamp ({_INT64_MIN} to {_INT64_MAX} ms)")
    return millis


def _warn_of_unit(millis: int) -> None:
    """Warn if a number of milliseconds was probably meant as another unit."""
    # Milliseconds of 2100 to 9999 are between the two ranges of other units.
    if millis <= _SECONDS_OF_2100 or millis >= _MICROS_OF_2001:
        if probable_timestamp_unit(millis) is None:
            return
        # Python shows equal warnings of one line of the program once. The exact number would make
        # the warnings of a column of such values differ, so that each of them would be shown.
        rounded = round(millis, 3 - len(str(millis)))
        advice = probable_timestamp_unit(rounded)
        warnings.warn(
            f"about {advice}, or pass a datetime", RuntimeWarning, stacklevel=stack_level()
        )


def probable_timestamp_unit(millis: int) -> str | None:
    """Return advice if milliseconds since 1970 were probably meant as another unit, or None.

    `time.time()` has seconds, `time.time_ns()` and pandas have nanoseconds.

    :param millis: milliseconds since 1970.
    """
    if _SECONDS_OF_2001 <= millis <= _SECONDS_OF_2100:
        return (
            f"{millis} milliseconds are a moment of January or February 1970: if these are "
            "seconds, multiply them by 1000"
        )
    for unit, divisor in (("microseconds", 1000), ("nanoseconds", 1_000_000)):
        millis_of_unit = divisor * 1000
        if _SECONDS_OF_2001 * millis_of_unit <= millis <= _SECONDS_OF_2100 * millis_of_unit:
            return (
                f"{millis} milliseconds are a moment after the year 9999: if these are {unit}, "
                f"divide them by {divisor}"
            )
    return None


def _warn_of_day(number: int) -> None:
    """Warn if the number of a day was probably meant as digits of a date, or as days since 1970."""
    month, day = number // 100 % 100, number % 100
    is_of_digits = number >= _FIRST_OF_CALENDAR and 1 <= month <= 12 and 1 <= day <= 31
    if is_of_digits or _DAYS_OF_2000 <= number <= _DAYS_OF_2100:
        advice = (
            f"datetime.date({number // 10_000}, {month}, {day})"
            if is_of_digits
            else f"cassandra.util.Date({number}) for days since 1970"
        )
        warnings.warn(
            f"the number {number} for a date is a day more than 5 million years ago, since 2**31 "
            f"stands for 1970-01-01: write {advice}",
            RuntimeWarning,
            stacklevel=stack_level(),
        )


# Dates from 1900 to 2199 whose digits are read as one number, such as 20261231.
_FIRST_OF_CALENDAR, _LAST_OF_CALENDAR = 19_000_101, 21_991_231
_DAYS_OF_2000, _DAYS_OF_2100 = 10_957, 47_482


def date_number(value: object) -> int:
    """Return the unsigned 32 bits of a day.

    It is a `Date`, date, datetime or string, or an int that is taken as it is on the wire.
    """
    if isinstance(value, Date):
        number = operator.index(value.days_from_epoch) + DATE_OFFSET
    elif isinstance(value, datetime.date):
        refuse_missing(value, "a date")
        number = value.toordinal() - _EPOCH_ORDINAL + DATE_OFFSET
    elif isinstance(value, str):
        try:
            number = Date(value).days_from_epoch + DATE_OFFSET
        except ValueError as error:
            refuse_value(value, f"is not a date: {error}")
    elif hasattr(type(value), "__index__"):
        number = _index(value)
        if number <= _LAST_OF_CALENDAR:
            _warn_of_day(number)
    else:
        number = member_or_refuse(date_number, value, "a date")
    if not 0 <= number <= 0xFFFFFFFF:
        refuse_value(value, "is out of the range of date (2**31 days before and after 1970-01-01)")
    return number


def time_nanos(value: object) -> int:
    """Return the nanoseconds since midnight of a `Time`, a `datetime.time`, a string, or an int."""
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
        nanos = member_or_refuse(time_nanos, value, "a time of day")
    if not 0 <= nanos < Time.DAY:
        refuse_value(value, f"is out of the range of time (0 to {Time.DAY - 1} ns)")
    return nanos


def duration_parts(value: object) -> tuple[int, int, int]:
    """Return (months, days, nanoseconds) of a `Duration`.

    They must fit int32, int32 and int64, and have one sign.
    """
    if not isinstance(value, Duration):
        parts: tuple[int, int, int] = member_or_refuse(
            duration_parts, value, "a cassandra.util.Duration"
        )
        return parts
    try:
        months, days, nanos = map(operator.index, (value.months, value.days, value.nanoseconds))
    except (AttributeError, TypeError):
        refuse_type(value, "a Duration of three integers")
    if not _INT32_MIN <= months <= _INT32_MAX or not _INT32_MIN <= days <= _INT32_MAX:
        refuse_value(value, "has months or days out of the range of 32 bits")
    if not _INT64_MIN <= nanos <= _INT64_MAX:
        refuse_value(value, "has nanoseconds out of the range of 64 bits")
    # native_protocol_v5.spec 5.8: the three are all positive (or zero), or all negative (or zero).
    if (months < 0 or days < 0 or nanos < 0) and (months > 0 or days > 0 or nanos > 0):
        refuse_value(value, "mixes positive and negative parts")
    return months, days, nanos


# -- numbers of any size ---------------------------------------------------------------------------


def varint_bytes(value: object) -> bytes:
    """Return the shortest two's complement of an integer (native_protocol_v5.spec 5.24)."""
    if not hasattr(type(value), "__index__"):
        data: bytes = member_or_refuse(varint_bytes, value, "an integer")
        return data
    number = _index(value)
    # The sign takes a bit too, so a number of 8 * n bits needs n + 1 bytes.
    magnitude = number if number >= 0 else ~number
    size: int = (magnitude.bit_length() >> 3) + 1
    encoded: bytes = number.to_bytes(size, "big", signed=True)
    return encoded


def decimal_parts(value: object) -> tuple[int, int]:
    """Return (unscaled integer, scale) of a Decimal, an int, a float, a string or a tuple.

    A float counts with exactly its binary value. A tuple or list has the sign, the digits and the
    exponent, as `decimal.Decimal.as_tuple` gives them.
    """
    if not isinstance(value, decimal.Decimal):
        if not (
            isinstance(value, (int, float, str, tuple, list)) or hasattr(type(value), "__index__")
        ):
            parts: tuple[int, int] = member_or_refuse(decimal_parts, value, "a decimal")
            return parts
        if not isinstance(value, (float, str, tuple, list)):
            return _index(value), 0
        try:
            # In a context of our own: the thread's may trap signals that are not errors here.
            value = decimal.Decimal(cast("tuple[int, Sequence[int], int]", value), WIDE_CONTEXT)
        except (decimal.InvalidOperation, ValueError, TypeError):
            refuse_value(value, "is not a decimal number")
    if not value.is_finite():
        refuse_value(value, "has no decimal form in CQL (it is not finite)")
    # Its scientific text has all its digits and its exponent; as_tuple() makes an object for each
    # digit.
    mantissa, _, power = WIDE_CONTEXT.to_sci_string(value).partition("E")
    integer, _, fraction = mantissa.lstrip("-").partition(".")
    exponent = int(power or "0") - len(fraction)
    if not _INT32_MIN <= -exponent <= _INT32_MAX:
        refuse_value(value, "has an exponent out of the range of 32 bits")
    digits = integer + fraction
    # Looked at before the conversion, which takes more than linear time.
    if len(digits) > digits_limit():
        raise EncodeValueError(
            f"a decimal of {len(digits)} digits; limits.decimal_bytes allows {digits_limit()} "
            "(see cassandra.limits)"
        )
    unscaled = int_of_digits(digits)
    return -unscaled if value.is_signed() else unscaled, -exponent


def decimal_of(unscaled: int, scale: int) -> decimal.Decimal:
    """Return `unscaled` * 10 ** -`scale`, exactly.

    :raises DecodeError: if `unscaled` is larger than `limits.decimal_bytes` allows.
    """
    return shown_number(unscaled, "decimal").scaleb(-scale, WIDE_CONTEXT)


def shown_number(number: int, name: str) -> decimal.Decimal:
    """Return `number`, of the CQL type `name`, in a form that can show its digits.

    :raises DecodeError: if it is larger than `limits.decimal_bytes` allows.
    """
    # Smaller ones are within every limit that can be set, and need no look at it.
    if number.bit_length() > 8192:
        why = check_size((number.bit_length() >> 3) + 1)
        if why:
            malformed(name, why)
    return to_decimal(number)


# -- text and bytes --------------------------------------------------------------------------------


def text_bytes(value: object, name: str) -> bytes:
    """Return the bytes of a string, or raise the error that says why there are none."""
    if not isinstance(value, str):
        data: bytes = member_or_refuse(text_bytes, value, "text (str)", name)
        return data
    try:
        return value.encode("ascii" if name == "ascii" else "utf-8")
    except UnicodeEncodeError as error:
        refuse_value(
            value, f"cannot be encoded as {name}: character {error.start} is {value[error.start]!r}"
        )


def blob_bytes(value: Any) -> bytes:
    """Return the bytes of bytes, bytearray, memoryview, or another buffer of one dimension.

    More dimensions are refused: they have more than one order. So are buffers of references to
    objects, whose bytes are addresses, and masked arrays: nobody means to send hidden elements.
    """
    if isinstance(value, bytes):
        return bytes(value)
    try:
        view = memoryview(value)
    except (TypeError, ValueError, BufferError):  # NumPy's dates say ValueError
        data: bytes = member_or_refuse(blob_bytes, value, "bytes or another buffer")
        return data
    with view:
        if view.ndim > 1:
            refuse_type(value, f"bytes: it has {view.ndim} dimensions")
        if not _POINTERS.isdisjoint(_FIELD_NAMES.sub("", view.format)):
            refuse_type(value, "bytes: its elements are references to objects")
        if is_partly_masked(value) or is_missing(value):
            refuse_type(value, "bytes: it has masked elements")
        return view.tobytes()


# -- containers ------------------------------------------------------------------------------------


# Letters of buffer formats (PEP 3118) for references to objects, pointers and functions.
_POINTERS = frozenset("OPX&")
_FIELD_NAMES = pattern(":[^:]*:")


def refuse_missing(value: object, what: str) -> None:
    """Raise an error if `value` stands for null, in a place that needs a value."""
    if is_missing(value):
        refuse_type(value, f"{what}: it stands for null")


def _index(value: Any) -> int:
    """Return the int of an integer.

    A masked array without dimensions is refused: the number that it hides is not its value.
    """
    if type(value) is not int:
        refuse_missing(value, "an integer")
    try:
        return operator.index(value)
    except TypeError as error:
        index_failed(value, error)


def elements(value: Any, name: str) -> list[Any] | tuple[Any, ...]:
    """Return the elements of any iterable, as a list or tuple that nobody else changes.

    Text, bytes and mappings are refused.
    """
    # A copy: code of the elements may change the caller's list while it is encoded.
    if type(value) is list:
        return value.copy()
    if type(value) is tuple:
        return value
    if isinstance(value, (str, bytes, dict)):
        refuse_type(value, f"a collection of elements for {name}")
    if isinstance(value, memoryview) and value.ndim != 1:
        refuse_type(value, f"a collection of elements for {name}: it has {value.ndim} dimensions")
    try:
        iterator = iter(value)
    except TypeError:
        items: list[Any] = member_or_refuse(
            elements, value, f"a collection of elements for {name}", name
        )
        return items
    try:
        return list(iterator)
    except NotImplementedError:
        if not isinstance(value, memoryview):
            raise
        refuse_type(value, f"a collection of elements for {name}: its format is {value.format!r}")


def pairs(value: Any, name: str) -> tuple[list[Any], list[Any]]:
    """Return the keys and the values of a mapping (anything with ``items()``)."""
    try:
        items = value.items()
    except AttributeError:
        keys_and_values: tuple[list[Any], list[Any]] = member_or_refuse(
            pairs, value, f"a mapping for {name}", name
        )
        return keys_and_values
    keys: list[Any] = []
    values: list[Any] = []
    # A list first: a view would notice a change by another thread in the middle.
    for key, item in list(items):
        keys.append(key)
        values.append(item)
    return keys, values


def tuple_items(value: object, name: str, count: int) -> list[Any] | tuple[Any, ...]:
    """Return the items of a tuple value: at most `count`. A shorter one is filled up with nulls."""
    items = elements(value, name)
    if len(items) > count:
        refuse_value(value, f"has {len(items)} items, {name} takes {count}")
    if len(items) < count:
        return [*items, *[None] * (count - len(items))]
    return items


def udt_items(value: object, name: str, fields: tuple[str, ...]) -> list[Any] | tuple[Any, ...]:
    """Return the fields of a user-defined type's value, in the type's order. Missing ones are None.

    The value is a mapping, a sequence, or an object with attributes. A named tuple goes by name if
    all its names are fields of the type; every other sequence goes by position.
    """
    if isinstance(value, (tuple, list)):
        cls = type(value)
        # A plain tuple or list has no names: most values are asked about nothing further.
        named = None if cls is tuple or cls is list else getattr(cls, "_fields", None)
        if named and named != fields and set(named) <= set(fields):
            return [getattr(value, field) if field in named else None for field in fields]
        if len(value) == len(fields):
            return tuple(value)
        if len(value) > len(fields):
            refuse_value(
                value, f"has {len(value)} fields, {name} takes {len(fields)} ({', '.join(fields)})"
            )
        return [*value, *[None] * (len(fields) - len(value))]
    if isinstance(value, dict) or (hasattr(value, "keys") and hasattr(value, "__getitem__")):
        unknown = [key for key in value.keys() if key not in fields]  # noqa: SIM118 - any mapping
        if unknown:
            refuse_value(
                value,
                f"has the key {unknown[0]!r}, which is not a field of {name} ({', '.join(fields)})",
            )
        present = set(value.keys())
        return [value[field] if field in present else None for field in fields]
    # NaT has attributes, all of them NaN.
    refuse_missing(value, f"a value of {name}")
    # Not type(): a proxy tells the class of its object.
    kind: type = value.__class__
    aliases = attributes_by_alias(kind)
    attributes = [aliases.get(field, field) for field in fields] if aliases else fields
    if isinstance(value, (str, bytes, int, float, enum.Enum)) or not any(
        hasattr(value, attribute) for attribute in attributes
    ):
        what = f"a value of {name} (an object, mapping or sequence of {', '.join(fields)})"
        items: list[Any] = member_or_refuse(udt_items, value, what, name, fields)
        return items
    return [getattr(value, attribute, None) for attribute in attributes]
