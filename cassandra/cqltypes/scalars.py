"""The classes of the scalar types, with their attributes for other packages of the driver.

The codecs, not these classes, encode and decode the values. `_CassandraType` explains the
attributes: the option id in result metadata, the layout of a column, the Python classes of values
in rows, and the representation in text files.
"""

from __future__ import annotations

import datetime
import decimal
import uuid
from typing import Any, ClassVar

from cassandra.cqltypes import coerce
from cassandra.cqltypes.base import DEFAULT_PROTOCOL_VERSION, EMPTY_IS_VALUE, _CassandraType, public
from cassandra.cqltypes.server_order import SortKey, of_floats, of_signed, of_timeuuids, of_uuids
from cassandra.util.temporal import Date, Duration, Time

# `cassandra.cqltypes` re-exports these names. `SCALARS` below has the classes.
__all__ = [
    "AsciiType",
    "BooleanType",
    "ByteType",
    "BytesType",
    "CounterColumnType",
    "DateType",
    "DecimalType",
    "DoubleType",
    "DurationType",
    "EmptyType",
    "FloatType",
    "InetAddressType",
    "Int32Type",
    "IntegerType",
    "LongType",
    "ShortType",
    "SimpleDateType",
    "TimeType",
    "TimeUUIDType",
    "TimestampType",
    "UTF8Type",
    "UUIDType",
    "VarcharType",
    "cql_timestamp_formats",
]

# `_values` of the integer types. It includes float, because a field that is annotated as float may
# get an int, as type checkers allow.
_INTEGER = (int, float)
_Classes = tuple[type[Any], ...]


class BytesType(_CassandraType):
    """The CQL type blob. Values are decoded as bytes.

    You can bind any object with the buffer protocol.
    """

    typename = "blob"
    empty_binary_ok = True
    _factory = "blob"
    _sorted_by = bytes
    _option = 0x0003
    _column = ("blob", "z", 0)
    _values = (bytes,)


class DecimalType(_CassandraType):
    """The CQL type decimal. Values are decoded as `decimal.Decimal`.

    You can also bind an int, a float (which is converted exactly), a str or a tuple.
    """

    typename = "decimal"
    _factory = "decimal_number"
    _option = 0x0006
    _column = ("decimal", "u", 0)
    _values = (decimal.Decimal,)

    @classmethod
    def _sort_key(cls) -> SortKey:
        # Sort by the decoded numbers: servers compare decimals by value, whatever their exponents
        # are.
        return cls._native_codec(DEFAULT_PROTOCOL_VERSION, "list").decode


class UUIDType(_CassandraType):
    """The CQL type uuid. Values are decoded as `uuid.UUID`. You can also bind a string."""

    typename = "uuid"
    _factory = "uuid"
    _sorted_by = staticmethod(of_uuids)
    _option = 0x000C
    _column = ("bytes", "w:16", 16)
    _values = (uuid.UUID,)


class BooleanType(_CassandraType):
    """The CQL type boolean. Values are decoded as bool. You can also bind an int."""

    typename = "boolean"
    _factory = "boolean"
    _sorted_by = bytes
    _option = 0x0004
    _column = ("boolean", "b", 0)
    _values = (bool, int)


class ByteType(_CassandraType):
    """The CQL type tinyint: an int of 8 bits."""

    typename = "tinyint"
    _factory = "int8"
    _sorted_by = staticmethod(of_signed)
    _option = 0x0014
    _column = ("number", "c", 1)
    _values = _INTEGER


class AsciiType(_CassandraType):
    """The CQL type ascii: a str of characters up to 127."""

    typename = "ascii"
    empty_binary_ok = True
    _factory = "ascii_text"
    _sorted_by = bytes
    _option = 0x0001
    _column = ("ascii", "u", 0)
    _values = (str,)


class FloatType(_CassandraType):
    """The CQL type float: a float of 32 bits."""

    typename = "float"
    _factory = "float32"
    _sorted_by = staticmethod(of_floats)
    _option = 0x0008
    _column = ("number", "f", 4)
    _values = (float,)


class DoubleType(_CassandraType):
    """The CQL type double: a float of 64 bits."""

    typename = "double"
    _factory = "float64"
    _sorted_by = staticmethod(of_floats)
    _option = 0x0007
    _column = ("number", "g", 8)
    _values = (float,)


class LongType(_CassandraType):
    """The CQL type bigint: an int of 64 bits."""

    typename = "bigint"
    _factory = "int64"
    _sorted_by = staticmethod(of_signed)
    _option = 0x0002
    _column = ("number", "l", 8)
    _values = _INTEGER


class Int32Type(_CassandraType):
    """The CQL type int: an int of 32 bits."""

    typename = "int"
    _factory = "int32"
    _sorted_by = staticmethod(of_signed)
    _option = 0x0009
    _column = ("number", "i", 4)
    _values = _INTEGER


class IntegerType(_CassandraType):
    """The CQL type varint: an int of any size."""

    typename = "varint"
    _factory = "varint"
    _sorted_by = staticmethod(of_signed)
    _option = 0x000E
    _column = ("varint", "u", 0)
    _values = _INTEGER


class InetAddressType(_CassandraType):
    """The CQL type inet. Values are decoded as str.

    You can also bind objects of the module `ipaddress`.
    """

    typename = "inet"
    _factory = "inet"
    _sorted_by = bytes
    _option = 0x0010
    _column = ("inet", "u", 0)
    _values = (str,)


class CounterColumnType(LongType):
    """The CQL type counter: an int of 64 bits."""

    typename = "counter"
    _option = 0x0005


# This name exists for applications that import it, as from cassandra-driver. Our own parser accepts
# more formats.
cql_timestamp_formats = (
    "%Y-%m-%d %H:%M",
    "%Y-%m-%d %H:%M:%S",
    "%Y-%m-%dT%H:%M",
    "%Y-%m-%dT%H:%M:%S",
    "%Y-%m-%d",
)


class DateType(_CassandraType):
    """The CQL type timestamp. Values are decoded as naive datetimes in UTC, with milliseconds.

    A value outside the years 1 to 9999 is decoded as a `cassandra.util.MillisTimestamp`. You can
    bind datetimes (a naive datetime is taken as UTC), dates, numbers of milliseconds since 1970,
    strings, and `numpy.datetime64`.
    """

    typename = "timestamp"
    _factory = "timestamp"
    _sorted_by = staticmethod(of_signed)
    _option = 0x000B
    _column = ("number", "tsm:UTC", 8)
    _values: ClassVar[_Classes] = (datetime.datetime, datetime.date)

    @staticmethod
    def interpret_datestring(val: str) -> int:
        """Return the milliseconds since 1970 of a CQL timestamp literal.

        :param val: the literal, without quotes.
        :raises ValueError: if `val` is not a timestamp literal.
        """
        return coerce.timestamp_millis(val)


class TimestampType(DateType):
    """The CQL type timestamp, under the newer name of the server's class."""

    typename = "timestamp"


# This is a subclass of DateType, as in cassandra-driver, but only uses `interpret_datestring` of
# it.
class TimeUUIDType(DateType):
    """The CQL type timeuuid. Values are `uuid.UUID` objects of version 1."""

    typename = "timeuuid"
    _factory = "uuid"
    _sorted_by = staticmethod(of_timeuuids)
    _option = 0x000F
    _column = ("bytes", "w:16", 16)
    _values = (uuid.UUID,)

    def my_timestamp(self) -> float:
        """Return the seconds since 1970 of this UUID's timestamp."""
        ticks: int = self.val.time
        # A version 1 UUID counts steps of 100 ns since 1582-10-15. The constant is the number of
        # steps until 1970.
        return (ticks - 0x01B21DD213814000) / 1e7

    # If an application replaces these methods of DateType, it wants to change timestamps, and not
    # timeuuids. So use the methods of `_CassandraType` here.
    to_binary = vars(_CassandraType)["to_binary"]
    from_binary = vars(_CassandraType)["from_binary"]
    serialize = vars(_CassandraType)["serialize"]
    deserialize = vars(_CassandraType)["deserialize"]


class SimpleDateType(_CassandraType):
    """The CQL type date. Values are decoded as `cassandra.util.Date`.

    You can also bind dates, datetimes, strings ``YYYY-MM-DD`` and `numpy.datetime64`. An int must
    be the encoded number, which is days since 1970-01-01 plus 2**31.
    """

    typename = "date"
    _factory = "date"
    _sorted_by = bytes
    _option = 0x0011
    _column = ("date", "tdD", 4)
    _values = (Date,)
    date_format: ClassVar[str] = "%Y-%m-%d"
    # The number that encodes 1970-01-01.
    EPOCH_OFFSET_DAYS: ClassVar[int] = 1 << 31


class ShortType(_CassandraType):
    """The CQL type smallint: an int of 16 bits."""

    typename = "smallint"
    _factory = "int16"
    _sorted_by = staticmethod(of_signed)
    _option = 0x0013
    _column = ("number", "s", 2)
    _values = _INTEGER


class TimeType(_CassandraType):
    """The CQL type time. Values are decoded as `cassandra.util.Time`.

    You can also bind a `datetime.time`, a string, a number of nanoseconds since midnight, or a
    `numpy.timedelta64`.
    """

    typename = "time"
    _factory = "time"
    _sorted_by = bytes
    _option = 0x0012
    _column = ("time", "ttn", 8)
    _values = (Time,)


class DurationType(_CassandraType):
    """The CQL type duration. Values are `cassandra.util.Duration` objects.

    You can also bind a `numpy.timedelta64`: years and months become months of the duration, and all
    other units become nanoseconds.
    """

    typename = "duration"
    _factory = "duration"
    _option = 0x0015
    _column = ("duration", "tin", 16)
    _values = (Duration,)


class UTF8Type(_CassandraType):
    """The CQL type text. Values are strings."""

    typename = "text"
    empty_binary_ok = True
    _factory = "text"
    _sorted_by = bytes
    _option = 0x000A  # the option id of text in protocol versions 1 and 2
    _column = ("text", "u", 0)
    _values = (str,)


class VarcharType(UTF8Type):
    """The CQL type varchar, another name of text. Values are strings."""

    typename = "varchar"
    _option = 0x000D


class EmptyType(_CassandraType):
    """The type "empty", which compact tables without a value have for their value column."""

    typename = "empty"
    empty_binary_ok = True
    _factory = "nothing"
    _column = ("nothing", "n", 0)


# All classes of this module that are types without parameters.
SCALARS: tuple[Any, ...] = tuple(globals()[name] for name in __all__ if name.endswith("Type"))
TYPES_BY_OPTION: dict[int, Any] = {
    vars(cls)["_option"]: cls for cls in SCALARS if "_option" in vars(cls)
}
"""Maps option ids (native_protocol_v5.spec, section 4.2.5.2) to type classes.

The classes are not looked up by name: an application's class of the same name would be found.
"""

OPTIONS: dict[int, str] = {option: cls.__name__ for option, cls in TYPES_BY_OPTION.items()}
"""Maps option ids to names of type classes."""

public(*SCALARS)
# Read `empty_binary_ok` here, before an application can change it. A class whose attribute is
# changed later counts as a class with its own encoding (see `_CassandraType._overridden`).
EMPTY_IS_VALUE.update(cls._factory for cls in SCALARS if cls.empty_binary_ok)
