"""Statements, batches, row factories and traces."""

from cassandra._foreign import check_files

check_files()

from cassandra._lazy import lazy_names
from cassandra.encoder import ValueSequence
from cassandra.query.batch import BatchStatement, BatchType
from cassandra.query.bound import BoundStatement
from cassandra.query.prepared import PreparedStatement
from cassandra.query.row_factories import (
    PseudoNamedTupleRow,
    dict_factory,
    named_tuple_factory,
    ordered_dict_factory,
    pseudo_namedtuple_factory,
    tuple_factory,
)
from cassandra.query.statement import (
    FETCH_SIZE_UNSET,
    HostTargetingStatement,
    SimpleStatement,
    Statement,
    bind_params,
)
from cassandra.query.trace import QueryTrace, TraceEvent, TraceUnavailable
from cassandra.sentinels import UNSET_VALUE

__all__ = [
    "FETCH_SIZE_UNSET",
    "UNSET_VALUE",
    "BatchStatement",
    "BatchType",
    "BoundStatement",
    "HostTargetingStatement",
    "PreparedStatement",
    "PseudoNamedTupleRow",
    "QueryTrace",
    "SimpleStatement",
    "Statement",
    "TraceEvent",
    "TraceUnavailable",
    "ValueSequence",
    "bind_params",
    "dict_factory",
    "named_tuple_factory",
    "ordered_dict_factory",
    "pseudo_namedtuple_factory",
    "tuple_factory",
]

__getattr__ = lazy_names(__name__)
