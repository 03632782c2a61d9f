"""The classes of the scalar types: their names. The codecs know how their values are coded."""

from __future__ import annotations

from typing import Any, ClassVar

from cassandra.cqltypes import coerce
from cassandra.cqltypes.base import _CassandraType, public


class BytesType(_CassandraType):
    """blob, read as bytes. Written from anything with the buffer protocol."""

    typename = "blob"
    empty_binary_ok = True
    _factory = "blob"


class DecimalType(_CassandraType):
    """decimal, read as `decimal.Decimal`. Written from int, float (exactly), str and tuples too."""

    typename = "decimal"
    _factory = "decimal_number"


class UUIDType(_CassandraType):
    """uuid, read as `uuid.UUID`. Written from its text too."""

    typename = "uuid"
    _factory = "uuid"


class BooleanType(_CassandraType):
    """boolean, read as bool. Written from 0 and 1 too."""

    typename = "boolean"
    _factory = "boolean"


class ByteType(_CassandraType):
    """tinyint: an int of 8 bits."""

    typename = "tinyint"
    _factory = "int8"


class AsciiType(_CassandraType):
    """ascii: a str of characters up to 127."""

    typename = "ascii"
    empty_binary_ok = True
    _factory = "ascii_text"


class FloatType(_CassandraType):
    """float: 32 bits."""

    typename = "float"
    _factory = "float32"


class DoubleType(_CassandraType):
    """double: 64 bits."""

    typename = "double"
    _factory = "float64"


class LongType(_CassandraType):
    """bigint: an int of 64 bits."""

    typename = "bigint"
    _factory = "int64"


class Int32Type(_CassandraType):
    """int: 32 bits."""

    typename = "int"
    _factory = "int32"


class IntegerType(_CassandraType):
    """varint: an int of any size."""

    typename = "varint"
    _factory = "varint"


class InetAddressType(_CassandraType):
    """inet, read as str. Written from objects of the `ipaddress` module too."""

    typename = "inet"
    _factory = "inet"


class CounterColumnType(LongType):
    """counter: an int of 64 bits."""

    typename = "counter"


# Public for programs that read it; our own parser takes more forms than these.
cql_timestamp_formats = (
    "%Y-%m-%d %H:%M",
    "%Y-%m-%d %H:%M:%S",
    "%Y-%m-%dT%H:%M",
    "%Y-%m-%dT%H:%M:%S",
    "%Y-%m-%d",
)


class DateType(_CassandraType):
    """timestamp, read as a naive datetime in UTC, to the millisecond.

    Outside the years 1 to 9999 it is read as a `cassandra.util.MillisTimestamp`. Written from aware
    datetimes (converted to UTC), naive ones (taken as UTC), dates, milliseconds, and text.
    """

    typename = "timestamp"
    _factory = "timestamp"

    @staticmethod
    def interpret_datestring(val: str) -> int:
        """Return the milliseconds since 1970 of a CQL timestamp literal.

        :param val: the literal, without quotes.
        :raises ValueError: if it is not one.
        """
        return coerce.timestamp_millis(val)


class TimestampType(DateType):
    """timestamp, under its newer name."""

    typename = "timestamp"


# A subclass of DateType, as programs know it; it shares nothing but `interpret_datestring`.
class TimeUUIDType(DateType):
    """timeuuid: a `uuid.UUID` of version 1."""

    typename = "timeuuid"
    _factory = "uuid"

    def my_timestamp(self) -> float:
        """Return the seconds since 1970 of this value."""
        ticks: int = self.val.time
        # Version 1 counts steps of 100 ns since 1582-10-15: these many lie before 1970.
        return (ticks - 0x01B21DD213814000) / 1e7

    # A program that replaces those of DateType means timestamps.
    to_binary = vars(_CassandraType)["to_binary"]
    from_binary = vars(_CassandraType)["from_binary"]
    serialize = vars(_CassandraType)["serialize"]
    deserialize = vars(_CassandraType)["deserialize"]


class SimpleDateType(_CassandraType):
    """date, read as `cassandra.util.Date`.

    Written from dates, datetimes, ``YYYY-MM-DD``, and ints as they are on the wire.
    """

    typename = "date"
    _factory = "date"
    date_format: ClassVar[str] = "%Y-%m-%d"
    # Days from the start of the wire's unsigned range to 1970-01-01.
    EPOCH_OFFSET_DAYS: ClassVar[int] = 1 << 31


class ShortType(_CassandraType):
    """smallint: an int of 16 bits."""

    typename = "smallint"
    _factory = "int16"


class TimeType(_CassandraType):
    """time, read as `cassandra.util.Time`.

    Written from `datetime.time`, text, and nanoseconds since midnight.
    """

    typename = "time"
    _factory = "time"


class DurationType(_CassandraType):
    """duration: `cassandra.util.Duration`."""

    typename = "duration"
    _factory = "duration"


class UTF8Type(_CassandraType):
    """text: str."""

    typename = "text"
    empty_binary_ok = True
    _factory = "text"


class VarcharType(UTF8Type):
    """varchar: str."""

    typename = "varchar"


class EmptyType(_CassandraType):
    """The type "empty": columns of compact tables without a value."""

    typename = "empty"
    empty_binary_ok = True
    _factory = "nothing"


SCALARS: tuple[Any, ...] = (
    BytesType,
    DecimalType,
    UUIDType,
    BooleanType,
    ByteType,
    AsciiType,
    FloatType,
    DoubleType,
    LongType,
    Int32Type,
    IntegerType,
    InetAddressType,
    CounterColumnType,
    DateType,
    TimestampType,
    TimeUUIDType,
    SimpleDateType,
    ShortType,
    TimeType,
    DurationType,
    UTF8Type,
    VarcharType,
    EmptyType,
)
public(*SCALARS)
