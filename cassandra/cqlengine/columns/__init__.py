"""The columns of models and user-defined types."""

from cassandra._foreign import check_files

check_files()

from cassandra.cqlengine.columns.base import BaseValueManager, Column
from cassandra.cqlengine.columns.containers import (
    BaseCollectionColumn,
    BaseContainerColumn,
    List,
    Map,
    Set,
    Tuple,
    UDTValueManager,
    UserDefinedType,
    Vector,
    resolve_udts,
)
from cassandra.cqlengine.columns.mapped import Mapped
from cassandra.cqlengine.columns.scalars import (
    UUID,
    Ascii,
    BaseFloat,
    BigInt,
    Blob,
    Boolean,
    Bytes,
    Counter,
    CounterValueManager,
    Decimal,
    Double,
    Float,
    Inet,
    Integer,
    SmallInt,
    Text,
    TimeUUID,
    TinyInt,
    VarInt,
)
from cassandra.cqlengine.columns.temporal import Date, DateTime, Duration, Time
from cassandra.cqlengine.errors import ValidationError
from cassandra.cqlengine.functions import get_total_seconds
from cassandra.cqltypes.scalars import SimpleDateType as SimpleDateType
from cassandra.cqltypes.udt import UserType as UserType

__all__ = [
    "UUID",
    "Ascii",
    "BaseCollectionColumn",
    "BaseContainerColumn",
    "BaseFloat",
    "BaseValueManager",
    "BigInt",
    "Blob",
    "Boolean",
    "Bytes",
    "Column",
    "Counter",
    "CounterValueManager",
    "Date",
    "DateTime",
    "Decimal",
    "Double",
    "Duration",
    "Float",
    "Inet",
    "Integer",
    "List",
    "Map",
    "Mapped",
    "Set",
    "SmallInt",
    "Text",
    "Time",
    "TimeUUID",
    "TinyInt",
    "Tuple",
    "UDTValueManager",
    "UserDefinedType",
    "ValidationError",
    "VarInt",
    "Vector",
    "get_total_seconds",
    "resolve_udts",
]

for _name in __all__:
    if getattr(globals()[_name], "__module__", "").startswith("cassandra.cqlengine.columns."):
        globals()[_name].__module__ = "cassandra.cqlengine.columns"
del _name
