"""The classes of the scalar types. A class names the function that makes its codec (`_factory`)."""

from __future__ import annotations

from typing import Any, ClassVar

from cassandra.cqltypes import coerce
from cassandra.cqltypes.base import _CassandraType, public


class BytesType(_CassandraType):
    """blob. Values are decoded as bytes. You can bind any object with the buffer protocol."""

    typename = "blob"
    empty_binary_ok = True
    _factory = "blob"


class DecimalType(_CassandraType):
    """decimal. Values are decoded as `decimal.Decimal`.

    You can also bind an int, a float (which is converted exactly), a str or a tuple.
    """

    typename = "decimal"
    _factory = "decimal_number"


class UUIDType(_CassandraType):
    """uuid. Values are decoded as `uuid.UUID`. You can also bind a string."""

    typename = "uuid"
    _factory = "uuid"


class BooleanType(_CassandraType):
    """boolean. Values are decoded as bool. You can also bind an int."""

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
    """inet. Values are decoded as str. You can also bind objects of the module `ipaddress`."""

    typename = "inet"
    _factory = "inet"


class CounterColumnType(LongType):
    """counter: an int of 64 bits."""

    typename = "counter"


# For applications that import this name. The driver's own parser accepts more formats.
cql_timestamp_formats = (
    "%Y-%m-%d %H:%M",
    "%Y-%m-%d %H:%M:%S",
    "%Y-%m-%dT%H:%M",
    "%Y-%m-%dT%H:%M:%S",
    "%Y-%m-%d",
)


class DateType(_CassandraType):
    """timestamp. Values are decoded as naive datetimes in UTC, with milliseconds.

    A value outside the years 1 to 9999 is decoded as a `cassandra.util.MillisTimestamp`. You can
    bind datetimes (a naive one is taken as UTC), dates, numbers of milliseconds since 1970, and
    strings.
    """

    typename = "timestamp"
    _factory = "timestamp"

    @staticmethod
    def interpret_datestring(val: str) -> int:
        """Return the milliseconds since 1970 of a CQL timestamp literal.

        :param val: the literal, without quotes.
        :raises ValueError: if it is not a timestamp literal.
        """
        return coerce.timestamp_millis(val)


class TimestampType(DateType):
    """timestamp, under the newer name of the server's class."""

    typename = "timestamp"


# A subclass of DateType, as in cassandra-driver. It only inherits `interpret_datestring`.
class TimeUUIDType(DateType):
    """timeuuid. Values are `uuid.UUID` objects of version 1."""

    typename = "timeuuid"
    _factory = "uuid"

    def my_timestamp(self) -> float:
        """Return the seconds since 1970 of this value."""
        ticks: int = self.val.time
        # A version 1 UUID counts steps of 100 ns since 1582-10-15. The constant is the number of
        # steps until 1970.
        return (ticks - 0x01B21DD213814000) / 1e7

    # If an application replaces these methods of DateType, it means timestamps. So do not inherit
    # them from there.
    to_binary = vars(_CassandraType)["to_binary"]
    from_binary = vars(_CassandraType)["from_binary"]
    serialize = vars(_CassandraType)["serialize"]
    deserialize = vars(_CassandraType)["deserialize"]


class SimpleDateType(_CassandraType):
    """date. Values are decoded as `cassandra.util.Date`.

    You can also bind dates, datetimes and strings ``YYYY-MM-DD``. An int must be the encoded
    number: days since 1970-01-01 plus 2**31.
    """

    typename = "date"
    _factory = "date"
    date_format: ClassVar[str] = "%Y-%m-%d"
    # The number that encodes 1970-01-01.
    EPOCH_OFFSET_DAYS: ClassVar[int] = 1 << 31


class ShortType(_CassandraType):
    """smallint: an int of 16 bits."""

    typename = "smallint"
    _factory = "int16"


class TimeType(_CassandraType):
    """time. Values are decoded as `cassandra.util.Time`.

    You can also bind a `datetime.time`, a string, or a number of nanoseconds since midnight.
    """

    typename = "time"
    _factory = "time"


class DurationType(_CassandraType):
    """duration. Values are `cassandra.util.Duration` objects."""

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
    """The type "empty" of columns in compact tables that have no value."""

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
