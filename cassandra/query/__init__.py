"""Statements, batches, row factories and traces."""

from typing import TYPE_CHECKING

from cassandra._foreign import check_files

check_files()

from cassandra._lazy import lazy_names

if TYPE_CHECKING:
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
    "FETCH_SIZE_UNSET", "UNSET_VALUE", "BatchStatement", "BatchType", "BoundStatement",
    "HostTargetingStatement", "PreparedStatement", "PseudoNamedTupleRow", "QueryTrace",
    "SimpleStatement", "Statement", "TraceEvent", "TraceUnavailable", "ValueSequence",
    "bind_params", "dict_factory", "named_tuple_factory", "ordered_dict_factory",
    "pseudo_namedtuple_factory", "tuple_factory",
]  # fmt: skip

# Maps each name to the module that defines it. The module is imported when the name is first used,
# so that importing this package is fast. The first cluster that is created imports all these
# modules.
_HOME = {
    **dict.fromkeys(("BatchStatement", "BatchType"), "cassandra.query.batch"),
    "BoundStatement": "cassandra.query.bound",
    "PreparedStatement": "cassandra.query.prepared",
    **dict.fromkeys(
        (
            "PseudoNamedTupleRow",
            "dict_factory",
            "named_tuple_factory",
            "ordered_dict_factory",
            "pseudo_namedtuple_factory",
            "tuple_factory",
        ),
        "cassandra.query.row_factories",
    ),
    **dict.fromkeys(
        (
            "FETCH_SIZE_UNSET",
            "HostTargetingStatement",
            "SimpleStatement",
            "Statement",
            "bind_params",
        ),
        "cassandra.query.statement",
    ),
    **dict.fromkeys(("QueryTrace", "TraceEvent", "TraceUnavailable"), "cassandra.query.trace"),
    "UNSET_VALUE": "cassandra.sentinels",
    "ValueSequence": "cassandra.encoder",
}

__getattr__ = lazy_names(__name__, _HOME)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
