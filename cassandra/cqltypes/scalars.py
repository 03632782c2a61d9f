"""The classes of the scalar types. What they read and write stands in the codecs; here are their
names.
"""

from __future__ import annotations

from typing import Any, ClassVar

from cassandra.cqltypes import coerce
from cassandra.cqltypes.base import _CassandraType, public


class BytesType(_CassandraType):
    """blob: bytes; written from anything with the buffer protocol."""

    typename = "blob"
    empty_binary_ok = True
    _factory = "blob"


class DecimalType(_CassandraType):
    """decimal: `decimal.Decimal`; written from int, float (its exact binary value) and str too."""

    typename = "decimal"
    _factory = "decimal_number"


class UUIDType(_CassandraType):
    """uuid: `uuid.UUID`; written from its text too."""

    typename = "uuid"
    _factory = "uuid"


class BooleanType(_CassandraType):
    """boolean: bool; written from 0 and 1 too."""

    typename = "boolean"
    _factory = "boolean"


class ByteType(_CassandraType):
    """tinyint: int of 8 bits."""

    typename = "tinyint"
    _factory = "int8"


class AsciiType(_CassandraType):
    """ascii: str of characters up to 127."""

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
    """bigint: int of 64 bits."""

    typename = "bigint"
    _factory = "int64"


class Int32Type(_CassandraType):
    """int: 32 bits."""

    typename = "int"
    _factory = "int32"


class IntegerType(_CassandraType):
    """varint: int of any size."""

    typename = "varint"
    _factory = "varint"


class InetAddressType(_CassandraType):
    """inet: str; written from objects of the `ipaddress` module too."""

    typename = "inet"
    _factory = "inet"


class CounterColumnType(LongType):
    """counter: int of 64 bits."""

    typename = "counter"


cql_timestamp_formats = (
    "%Y-%m-%d %H:%M",
    "%Y-%m-%d %H:%M:%S",
    "%Y-%m-%dT%H:%M",
    "%Y-%m-%dT%H:%M:%S",
    "%Y-%m-%d",
)


class DateType(_CassandraType):
    """timestamp: a naive datetime in UTC, to the millisecond; outside years 1 to 9999 a
    `cassandra.util.MillisTimestamp`.

    Written from aware datetimes (converted to UTC), naive ones (taken as UTC), dates, milliseconds,
    and text.
    """

    typename = "timestamp"
    _factory = "timestamp"

    @staticmethod
    def interpret_datestring(val: str) -> int:
        """Milliseconds since 1970 of a CQL timestamp literal; ValueError where it is none."""
        return coerce.timestamp_millis(val)


class TimestampType(DateType):
    """timestamp, under its newer name."""

    typename = "timestamp"


class TimeUUIDType(DateType):
    """timeuuid: `uuid.UUID` of version 1."""

    typename = "timeuuid"
    _factory = "uuid"

    def my_timestamp(self) -> float:
        """Seconds since 1970 of this value."""
        ticks: int = self.val.time
        return (ticks - 0x01B21DD213814000) / 1e7


class SimpleDateType(_CassandraType):
    """date: `cassandra.util.Date`; written from dates, datetimes, ``YYYY-MM-DD``, and ints as they
    stand on the wire.
    """

    typename = "date"
    _factory = "date"
    date_format: ClassVar[str] = "%Y-%m-%d"
    # Days from the start of the wire's unsigned range to 1970-01-01.
    EPOCH_OFFSET_DAYS: ClassVar[int] = 1 << 31


class ShortType(_CassandraType):
    """smallint: int of 16 bits."""

    typename = "smallint"
    _factory = "int16"


class TimeType(_CassandraType):
    """time: `cassandra.util.Time`; written from `datetime.time`, text, and nanoseconds since
    midnight.
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
