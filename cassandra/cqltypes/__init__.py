"""The CQL types as Python classes.

Each class names its type, and encodes and decodes its values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cassandra._foreign import check_files

check_files()

from cassandra._lazy import lazy_names
from cassandra.cqltypes.base import (
    CassandraType,
    CassandraTypeType,
    _CassandraType,
    apache_cassandra_type_prefix,
    trim_if_startswith,
)
from cassandra.cqltypes.composite import ColumnToCollectionType, CompositeType, DynamicCompositeType
from cassandra.cqltypes.containers import (
    FrozenType,
    ListType,
    MapType,
    ReversedType,
    SetType,
    TupleType,
    VectorType,
    _ParameterizedType,
    _SimpleParameterizedType,
)
from cassandra.cqltypes.custom import UnrecognizedType, mkUnrecognizedType
from cassandra.cqltypes.failures import EncodeTypeError, EncodeValueError
from cassandra.cqltypes.geo import (
    BoundKind,
    DateRangeType,
    LineStringType,
    PointType,
    PolygonType,
    WKBGeometryType,
)
from cassandra.cqltypes.parse import (
    cql_typename,
    cql_types_from_string,
    cqltype_to_python,
    is_counter_type,
    is_reversed_casstype,
    lookup_casstype,
    lookup_casstype_simple,
    lookup_cqltype,
    parse_casstype_args,
    python_to_cqltype,
    strip_frozen,
)
from cassandra.cqltypes.scalars import *  # noqa: F403
from cassandra.cqltypes.udt import UserType
from cassandra.marshal import (
    double_pack,
    float_pack,
    int8_pack,
    int16_pack,
    int32_pack,
    int64_pack,
    uint16_pack,
    uint32_pack,
)
from cassandra.sentinels import EMPTY, EmptyValue

if TYPE_CHECKING:
    # Only type checkers need this import: at run time, the imports from
    # `cassandra.cqltypes.scalars` above have already made `scalars` an attribute of this package.
    from cassandra.cqltypes import scalars

cassandra_empty_type = "org.apache.cassandra.db.marshal.EmptyType"
cql_empty_type = "empty"

__all__ = [
    "EMPTY", "BoundKind", "CassandraType", "CassandraTypeType", "ColumnToCollectionType",
    "CompositeType", "DateRangeType", "DynamicCompositeType", "EmptyValue", "EncodeTypeError",
    "EncodeValueError", "FrozenType", "LineStringType", "ListType", "MapType", "PointType",
    "PolygonType", "ReversedType", "SetType", "TupleType", "UnrecognizedType", "UserType",
    "VectorType", "WKBGeometryType", "_CassandraType", "_ParameterizedType",
    "_SimpleParameterizedType", "apache_cassandra_type_prefix", "cassandra_empty_type",
    "cql_empty_type", "cql_typename", "cql_types_from_string", "cqltype_to_python", "double_pack",
    "float_pack", "int8_pack", "int16_pack", "int32_pack", "int64_pack", "is_counter_type",
    "is_reversed_casstype", "lookup_casstype", "lookup_casstype_simple", "lookup_cqltype",
    "mkUnrecognizedType", "parse_casstype_args", "python_to_cqltype", "strip_frozen",
    "trim_if_startswith", "uint16_pack", "uint32_pack",
]  # fmt: skip
__all__ += scalars.__all__

__getattr__ = lazy_names(__name__)
