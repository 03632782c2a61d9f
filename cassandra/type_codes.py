"""The numbers of the types in result metadata (native_protocol_v5.spec, section 4.2.5.2).

The names are those of the type classes. Types that cassandra-driver and scylla-driver do not have
are not listed here: their numbers come from their classes (`cassandra.cqltypes.scalars`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cassandra._imports import Deferred

__all__ = [
    "CUSTOM_TYPE", "AsciiType", "BooleanType", "ByteType", "BytesType", "CounterColumnType",
    "DateType", "DecimalType", "DoubleType", "DurationType", "FloatType", "InetAddressType",
    "Int32Type", "IntegerType", "ListType", "LongType", "MapType", "SetType", "ShortType",
    "SimpleDateType", "TimeType", "TimeUUIDType", "TupleType", "UTF8Type", "UUIDType", "UserType",
    "VarcharType",
]  # fmt: skip

CUSTOM_TYPE = 0x0000
AsciiType = 0x0001
LongType = 0x0002
BytesType = 0x0003
BooleanType = 0x0004
CounterColumnType = 0x0005
DecimalType = 0x0006
DoubleType = 0x0007
FloatType = 0x0008
Int32Type = 0x0009
# The code of the type text in the first protocol versions. Current servers send the code of
# VarcharType instead.
UTF8Type = 0x000A
DateType = 0x000B
UUIDType = 0x000C
VarcharType = 0x000D
IntegerType = 0x000E
TimeUUIDType = 0x000F
InetAddressType = 0x0010
SimpleDateType = 0x0011
TimeType = 0x0012
ShortType = 0x0013
ByteType = 0x0014
DurationType = 0x0015
ListType = 0x0020
MapType = 0x0021
SetType = 0x0022
UserType = 0x0030
TupleType = 0x0031

if TYPE_CHECKING:
    from cassandra.cqltypes import scalars
else:
    scalars = Deferred("cassandra.cqltypes.scalars")

    def __getattr__(name):
        if name[:1].isupper():  # Python itself asks for names such as __path__
            for code, class_name in scalars.OPTIONS.items():
                if class_name == name:
                    return code
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


# Remove these two names: applications look through vars() of this module for the numbers.
del TYPE_CHECKING, Deferred
