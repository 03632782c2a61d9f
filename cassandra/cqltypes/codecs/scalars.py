"""Codecs of the scalar types.

The common Python classes are encoded with `struct` or a method of the value. For all other values,
the functions of `cassandra.cqltypes.coerce` convert the value or raise the error.
"""

from __future__ import annotations

import decimal
import operator
from itertools import repeat
from struct import Struct, error as struct_error, unpack
from typing import TYPE_CHECKING, Any
from uuid import UUID, SafeUUID

from cassandra.cqltypes import coerce
from cassandra.cqltypes.codecs.base import Codec, Data, Leaf
from cassandra.cqltypes.failures import (
    empty_or_refuse,
    fails_again,
    malformed,
    refuse_value,
    wrong_width,
)
from cassandra.cqltypes.missing import USUAL
from cassandra.marshal import vints_pack, vints_unpack
from cassandra.sentinels import EMPTY
from cassandra.util.temporal import Date, Duration, Time, datetime_or_millis

if TYPE_CHECKING:
    import datetime

    from cassandra.util.temporal import MillisTimestamp

# The functions that make codecs; `cassandra.cqltypes.codecs` re-exports them.
__all__ = [
    "ascii_text",
    "blob",
    "boolean",
    "date",
    "decimal_number",
    "duration",
    "float32",
    "float64",
    "inet",
    "int8",
    "int16",
    "int32",
    "int64",
    "nothing",
    "text",
    "time",
    "timestamp",
    "uuid",
    "varint",
]

_new = object.__new__
# `UUID.__setattr__` raises an error, because UUIDs are immutable. But the setters of the class's
# slots work.
_set_uuid_int = UUID.__dict__["int"].__set__
_set_uuid_safety = UUID.__dict__["is_safe"].__set__
_uuid_int = operator.attrgetter("int")
_from_bytes: Any = int.from_bytes
_to_bytes: Any = int.to_bytes
_UNKNOWN = SafeUUID.unknown
_uint32 = Struct(">I")
_int64 = Struct(">q")
_int32 = Struct(">i")
_DAY_NANOS = Time.DAY
_PACK_ERRORS = (struct_error, OverflowError, TypeError)


class _Number(Leaf):
    """Base of the codecs of numbers, which use one `struct` format.

    :param code: the format letter of `struct`.
    :param packed: True if numbers of this type follow each other directly in a vector, without
        lengths.
    """

    __slots__ = ("_pack", "_unpack")

    def __init__(self, name: str, code: str, packed: bool, empty: object) -> None:
        form = Struct(">" + code)
        super().__init__(
            name, form.size if packed else -1, width=form.size, struct_code=code, empty=empty
        )
        self._pack = form.pack
        self._unpack = form.unpack

    def _handle_failed_pack(self, value: object, error: Exception) -> bytes:
        """Encode a value for which `_pack` has failed, such as EMPTY, or raise a helpful error."""
        # struct calls the value's `__index__` or `__float__`. If that call raised the TypeError,
        # raise the same error. But do not do so for NumPy arrays, whose error does not say what is
        # wrong.
        if type(error) is TypeError and _converts(value) and not hasattr(type(value), "ndim"):
            raise error
        return self._encode_unusual(value)

    def decode(self, data: Data) -> int | float:
        """Return the number in `data`."""
        try:
            number: int | float = self._unpack(data)[0]
            return number
        except struct_error:
            wrong_width(self.cql_name, self.width, len(data))

    def _encode_many(self, values: list[Any]) -> list[bytes] | None:
        """Encode all `values` at once, or return None: see `Codec._encode_many`."""
        try:
            return [*map(self._pack, values)]
        except struct_error:  # as in Leaf: the caller then encodes the values one by one
            return None
        except Exception as error:
            if not fails_again(error, lambda: [*map(self._pack, values)]):
                raise
            return None

    def _decode_many(self, bodies: list[bytes]) -> list[Any] | None:
        """Decode all `bodies` at once, or return None: see `Codec._decode_many`."""
        # The bytes are joined below, so a value of another size would shift all numbers after it.
        if {*map(len, bodies)} - {self.width}:
            return None
        return list(unpack(f">{len(bodies)}{self.struct_code}", b"".join(bodies)))

    def _encode_unusual(self, value: object) -> bytes:
        """Encode EMPTY or an enum member; raise the error for an unsuitable value."""
        raise NotImplementedError


def _converts(value: object) -> bool:
    return hasattr(type(value), "__float__") or hasattr(type(value), "__index__")


class Integer(_Number):
    """The codec of the integer types: tinyint, smallint, int, bigint and counter."""

    __slots__ = ()

    def encode(self, value: object) -> bytes:
        """Return the big-endian bytes of `value`."""
        # Masked values of NumPy are an error here, because struct would encode the number that the
        # mask hides. Values of the usual classes are never masked.
        if type(value) is not int and type(value) not in USUAL:
            coerce.refuse_missing(value, "an integer")
        try:
            return self._pack(value)
        except _PACK_ERRORS as error:
            return self._handle_failed_pack(value, error)

    def _encode_unusual(self, value: Any) -> bytes:
        """Encode EMPTY or the value of an enum member; raise the error for anything else."""
        if value is EMPTY:
            return b""
        if coerce.is_member(value):
            return coerce.member_or_refuse(self.encode, value, "an integer")
        if not isinstance(value, int) and hasattr(type(value), "__index__"):
            # If the value's own `__index__` raises an error, that error is raised unchanged.
            try:
                operator.index(value)
            except TypeError as error:
                coerce.index_failed(value, error)
        limit = 1 << (8 * self.width - 1)
        return coerce.integer_out_of_place(value, self.cql_name, -limit, limit - 1)


class Float(_Number):
    """The codec of float and double."""

    __slots__ = ()

    def encode(self, value: object) -> bytes:
        """Return the big-endian bytes of `value`."""
        if type(value) not in (float, int):
            # Do not let struct encode these values: it would encode a masked value as NaN, an array
            # of one element as that element, and a Decimal that is too large as infinity.
            return self._encode_unusual(value)
        try:
            return self._pack(value)
        except _PACK_ERRORS as error:
            return self._handle_failed_pack(value, error)

    def _encode_many(self, values: list[Any]) -> list[bytes] | None:
        """Encode all `values` at once, or return None: see `Codec._encode_many`."""
        # struct would accept more than `encode` does.
        return super()._encode_many(values) if coerce.are_plain_numbers(values) else None

    def _encode_unusual(self, value: object) -> bytes:
        """Encode EMPTY or another kind of number; raise the error for anything else."""
        if value is EMPTY:
            return b""
        # struct hides errors that the value's own `__float__` raises. Call `__float__` again to
        # raise its error.
        real = coerce.real_number(value, self.cql_name)
        try:
            return self._pack(real)
        except OverflowError:
            refuse_value(value, f"is out of the range of {self.cql_name}")


class Boolean(Leaf):
    """The codec of boolean: one byte, of which 0 means false."""

    __slots__ = ()

    def encode(self, value: object) -> bytes:
        """Return one byte, 1 or 0."""
        if value is True:
            return b"\x01"
        if value is False:
            return b"\x00"
        if value is EMPTY:
            return b""
        return b"\x01" if coerce.boolean(value) else b"\x00"

    def decode(self, data: Data) -> bool:
        """Return False for a zero byte, True for any other byte."""
        if len(data) != 1:
            wrong_width(self.cql_name, 1, len(data))
        # native_protocol_v5.spec, section 5.4: zero is false, any other byte is true.
        return data[0] != 0


class Text(Leaf):
    """The codec of text and varchar (in UTF-8), and of ascii."""

    __slots__ = ("_encoding",)

    def __init__(self, name: str, encoding: str) -> None:
        super().__init__(name, empty_is_value=True)
        self._encoding = encoding

    def encode(self, value: Any) -> bytes:
        """Encode a string. Lone surrogates are an error; for ascii, so are characters above 127."""
        try:
            # str.encode() raises a TypeError if the value is not a str, so no check is needed.
            return str.encode(value, self._encoding)
        except (TypeError, UnicodeEncodeError):
            if value is EMPTY:
                return b""
            return coerce.text_bytes(value, self.cql_name if self._encoding == "ascii" else "text")

    def decode(self, data: Data) -> str:
        """Return the string that `data` encodes."""
        try:
            return str(data, self._encoding)
        except UnicodeDecodeError as error:
            malformed(
                self.cql_name,
                f"byte {error.start} is not valid {error.encoding.upper()} ({error.reason})",
            )

    def _encode_many(self, values: list[Any]) -> list[bytes] | None:
        """Encode all `values` at once, or return None: see `Codec._encode_many`."""
        if self._encoding != "utf-8":
            return super()._encode_many(values)
        try:
            return [*map(str.encode, values)]
        except (TypeError, UnicodeEncodeError):
            return None

    def _decode_many(self, bodies: list[bytes]) -> list[Any] | None:
        """Decode all `bodies` at once, or return None: see `Codec._decode_many`."""
        if self._encoding != "utf-8":
            return super()._decode_many(bodies)
        try:
            return [*map(bytes.decode, bodies)]
        except UnicodeDecodeError:
            # The caller then decodes the values one by one, so that the error names the invalid
            # value.
            return None


class Blob(Leaf):
    """The codec of blob, whose bytes are passed on unchanged."""

    __slots__ = ()

    def encode(self, value: object) -> bytes:
        """Return the bytes of any buffer."""
        if type(value) is bytes:
            return value
        if value is EMPTY:
            return b""
        return coerce.blob_bytes(value)

    def decode(self, data: Data) -> bytes:
        """Return the bytes unchanged."""
        return bytes(data)


class Uuid(Leaf):
    """The codec of uuid and timeuuid: 16 bytes."""

    __slots__ = ()

    def encode(self, value: object) -> bytes:
        """Encode a UUID object, or a string with a UUID, as 16 bytes."""
        if type(value) is UUID:
            return value.bytes
        if value is EMPTY:
            return b""
        return coerce.uuid_bytes(value)

    def decode(self, data: Data) -> UUID:
        """Return the UUID."""
        if len(data) != 16:
            wrong_width(self.cql_name, 16, len(data))
        # Create the UUID without its constructor, whose checks take about a microsecond.
        uuid = _new(UUID)
        _set_uuid_int(uuid, int.from_bytes(data, "big"))
        _set_uuid_safety(uuid, _UNKNOWN)
        return uuid

    def _encode_many(self, values: list[Any]) -> list[bytes] | None:
        """Encode all `values` at once, or return None: see `Codec._encode_many`."""
        # The fast path is for plain UUIDs only, because a subclass may override `bytes`.
        if {*map(type, values)} != {UUID}:
            return super()._encode_many(values)
        try:
            return [*map(_to_bytes, map(_uuid_int, values), repeat(16), repeat("big"))]
        except (AttributeError, OverflowError):
            return None

    def _decode_many(self, bodies: list[bytes]) -> list[Any] | None:
        """Decode all `bodies` at once, or return None: see `Codec._decode_many`."""
        if {*map(len, bodies)} - {16}:
            return None
        # Create the UUIDs without their constructor, as in `decode`, and without a Python loop.
        uuids = [*map(_new, repeat(UUID, len(bodies)))]
        # any() runs the whole map, because the setters return None.
        any(map(_set_uuid_int, uuids, map(_from_bytes, bodies, repeat("big"))))
        any(map(_set_uuid_safety, uuids, repeat(_UNKNOWN)))
        return uuids


class Timestamp(Leaf):
    """The codec of timestamp: milliseconds since 1970, as a signed 64-bit number."""

    __slots__ = ()

    def encode(self, value: object) -> bytes:
        """Encode a timestamp as 8 bytes; `coerce.timestamp_millis` lists the accepted classes."""
        if value is EMPTY:
            return b""
        return _int64.pack(coerce.timestamp_millis(value))

    def decode(self, data: Data) -> datetime.datetime | MillisTimestamp:
        """Return a naive datetime in UTC.

        Outside the years 1 to 9999, return a `MillisTimestamp`.
        """
        if len(data) != 8:
            wrong_width(self.cql_name, 8, len(data))
        return datetime_or_millis(_int64.unpack(data)[0])


class DateCodec(Leaf):
    """The codec of date: a number of days, unsigned in 32 bits, in which 2**31 is 1970-01-01."""

    __slots__ = ()

    def encode(self, value: object) -> bytes:
        """Encode a date as 4 bytes; `coerce.date_number` lists the accepted classes."""
        # This is a fast path for `Date`. `coerce` handles the other classes.
        if type(value) is Date:
            try:
                return _uint32.pack(value.days_from_epoch + coerce.DATE_OFFSET)
            except (struct_error, TypeError):
                pass  # `coerce` raises the error for a number that is out of range
        if value is EMPTY:
            return b""
        return _uint32.pack(coerce.date_number(value))

    def decode(self, data: Data) -> Date:
        """Return a `cassandra.util.Date`."""
        if len(data) != 4:
            wrong_width(self.cql_name, 4, len(data))
        return Date(_uint32.unpack(data)[0] - coerce.DATE_OFFSET)


class TimeCodec(Leaf):
    """The codec of time: nanoseconds since midnight, as a signed 64-bit number."""

    __slots__ = ()

    def encode(self, value: object) -> bytes:
        """Encode a time of day as 8 bytes; `coerce.time_nanos` lists the accepted classes."""
        if value is EMPTY:
            return b""
        return _int64.pack(coerce.time_nanos(value))

    def decode(self, data: Data) -> Time:
        """Return a `cassandra.util.Time`."""
        if len(data) != 8:
            wrong_width(self.cql_name, 8, len(data))
        nanos = _int64.unpack(data)[0]
        if not 0 <= nanos < _DAY_NANOS:
            malformed(self.cql_name, f"{nanos} nanoseconds do not lie within one day")
        return Time(nanos)


class DurationCodec(Leaf):
    """The codec of duration: months, days and nanoseconds as signed variable-length integers."""

    __slots__ = ()

    def encode(self, value: object) -> bytes:
        """Encode a `Duration` as 3 to 27 bytes."""
        if value is EMPTY:
            return b""
        return vints_pack(coerce.duration_parts(value))

    def decode(self, data: Data) -> Duration:
        """Return a `cassandra.util.Duration`."""
        try:
            parts = vints_unpack(bytes(data))
        except ValueError:
            malformed(self.cql_name, "truncated: a variable-length integer goes beyond the end")
        if len(parts) != 3:
            malformed(self.cql_name, f"takes 3 variable-length integers, got {len(parts)}")
        months, days, nanos = parts
        # The encoding allows larger numbers, but the specification limits months and days to 32
        # bits.
        if not (-(1 << 31) <= months < 1 << 31 and -(1 << 31) <= days < 1 << 31):
            malformed(self.cql_name, "months or days do not fit 32 bits")
        return Duration(months, days, nanos)


class Inet(Leaf):
    """The codec of inet: the 4 (IPv4) or 16 (IPv6) bytes of an address."""

    __slots__ = ()

    def encode(self, value: object) -> bytes:
        """Encode an address, given as a string or an object of the module `ipaddress`."""
        if value is EMPTY:
            return b""
        return coerce.inet_bytes(value)

    def decode(self, data: Data) -> str:
        """Return the address as a string."""
        return coerce.inet_text(bytes(data))


class Varint(Leaf):
    """The codec of varint: an integer of any size, in two's complement."""

    __slots__ = ()

    def encode(self, value: object) -> bytes:
        """Encode an integer in as few bytes as possible."""
        if value is EMPTY:
            return b""
        return coerce.varint_bytes(value)

    def decode(self, data: Data) -> int:
        """Return the int."""
        if not len(data):
            malformed(self.cql_name, "takes at least 1 byte, got 0")
        return int.from_bytes(data, "big", signed=True)


class DecimalCodec(Leaf):
    """The codec of decimal: an [int] scale, and the unscaled number as a varint."""

    __slots__ = ()

    def encode(self, value: object) -> bytes:
        """Encode a number as its scale in 4 bytes, and the unscaled integer."""
        if value is EMPTY:
            return b""
        unscaled, scale = coerce.decimal_parts(value)
        return _int32.pack(scale) + coerce.varint_bytes(unscaled)

    def decode(self, data: Data) -> decimal.Decimal:
        """Return a Decimal with the encoded scale."""
        if len(data) < 5:
            malformed(self.cql_name, f"takes at least 5 bytes, got {len(data)}")
        scale = _int32.unpack(data[:4])[0]
        try:
            return coerce.decimal_of(int.from_bytes(data[4:], "big", signed=True), scale)
        except decimal.DecimalException:
            malformed(self.cql_name, f"the scale {scale} goes beyond what decimal.Decimal can hold")


class Empty(Leaf):
    """The codec of the type "empty". Its only value has no bytes.

    After DROP COMPACT STORAGE, a table without a value column shows a column of this type. Rows
    that were written before have this value instead of null; both are decoded as None.
    """

    __slots__ = ()

    def encode(self, value: object) -> bytes:
        """Return b"" for EMPTY and for bytes of length 0. Any other value is an error."""
        return empty_or_refuse(value, EMPTY, "EMPTY, the only value of the type empty")

    def decode(self, data: Data) -> None:
        """Return None, which stands for the type's only value."""
        if len(data):
            malformed(self.cql_name, f"takes 0 bytes, got {len(data)}")


# -- functions that make codecs; the compiled version has the same functions -----------------------


def int8(name: str = "tinyint", empty: object = None) -> Codec:
    """Return the codec of tinyint."""
    return Integer(name, "b", False, empty)


def int16(name: str = "smallint", empty: object = None) -> Codec:
    """Return the codec of smallint."""
    return Integer(name, "h", False, empty)


def int32(name: str = "int", empty: object = None) -> Codec:
    """Return the codec of int."""
    return Integer(name, "i", True, empty)


def int64(name: str = "bigint", empty: object = None) -> Codec:
    """Return the codec of bigint and counter."""
    return Integer(name, "q", True, empty)


def float32(name: str = "float", empty: object = None) -> Codec:
    """Return the codec of float."""
    return Float(name, "f", True, empty)


def float64(name: str = "double", empty: object = None) -> Codec:
    """Return the codec of double."""
    return Float(name, "d", True, empty)


def boolean(name: str = "boolean", empty: object = None) -> Codec:
    """Return the codec of boolean."""
    return Boolean(name, 1, width=1, empty=empty)


def text(name: str = "text", empty: object = None) -> Codec:
    """Return the codec of text and varchar. Zero bytes are an ordinary value."""
    return Text(name, "utf-8")


def ascii_text(name: str = "ascii", empty: object = None) -> Codec:
    """Return the codec of ascii. Zero bytes are an ordinary value."""
    return Text(name, "ascii")


def blob(name: str = "blob", empty: object = None) -> Codec:
    """Return the codec of blob, and of types that are not decoded.

    Zero bytes are an ordinary value.
    """
    return Blob(name, empty_is_value=True)


def uuid(name: str = "uuid", empty: object = None) -> Codec:
    """Return the codec of uuid and timeuuid."""
    return Uuid(name, 16, width=16, empty=empty)


def timestamp(name: str = "timestamp", empty: object = None) -> Codec:
    """Return the codec of timestamp."""
    return Timestamp(name, 8, width=8, empty=empty)


def date(name: str = "date", empty: object = None) -> Codec:
    """Return the codec of date."""
    return DateCodec(name, width=4, empty=empty)


def time(name: str = "time", empty: object = None) -> Codec:
    """Return the codec of time."""
    return TimeCodec(name, width=8, empty=empty)


def duration(name: str = "duration", empty: object = None) -> Codec:
    """Return the codec of duration."""
    return DurationCodec(name, empty=empty)


def inet(name: str = "inet", empty: object = None) -> Codec:
    """Return the codec of inet."""
    return Inet(name, empty=empty)


def varint(name: str = "varint", empty: object = None) -> Codec:
    """Return the codec of varint."""
    return Varint(name, empty=empty)


def decimal_number(name: str = "decimal", empty: object = None) -> Codec:
    """Return the codec of decimal."""
    return DecimalCodec(name, empty=empty)


def nothing(name: str = "empty", empty: object = None) -> Codec:
    """Return the codec of the type "empty"."""
    return Empty(name, empty_is_value=True)
