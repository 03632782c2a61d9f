"""Queries: querysets, writes, batches, and their errors."""

from cassandra._foreign import check_files

check_files()

from cassandra._lazy import lazy_names
from cassandra.cqlengine import connection as conn
from cassandra.cqlengine.clauses import ConditionalClause, MapDeleteClause, WhereClause
from cassandra.cqlengine.errors import CQLEngineException, UnicodeMixin, ValidationError
from cassandra.cqlengine.functions import BaseQueryFunction, QueryValue, Token
from cassandra.cqlengine.operators import (
    BaseWhereOperator,
    ContainsOperator,
    EqualsOperator,
    GreaterThanOperator,
    GreaterThanOrEqualOperator,
    InOperator,
    LessThanOperator,
    LessThanOrEqualOperator,
)
from cassandra.cqlengine.query.batch import BatchQuery, BatchType, CBatchType
from cassandra.cqlengine.query.context import ContextQuery
from cassandra.cqlengine.query.dml import DMLQuery
from cassandra.cqlengine.query.errors import (
    DoesNotExist,
    IfExistsWithCounterColumn,
    IfNotExistsWithCounterColumn,
    LWTException,
    MultipleObjectsReturned,
    QueryException,
    check_applied,
)
from cassandra.cqlengine.query.expressions import AbstractQueryableColumn
from cassandra.cqlengine.query.model_queryset import ModelQuerySet, ResultObject, SimpleQuerySet
from cassandra.cqlengine.query.queryset import AbstractQuerySet
from cassandra.cqlengine.statements import (
    BaseCQLStatement,
    DeleteStatement,
    InsertStatement,
    SelectStatement,
    UpdateStatement,
)
from cassandra.query.batch import BatchStatement
from cassandra.query.statement import SimpleStatement

__all__ = [
    "AbstractQuerySet", "AbstractQueryableColumn", "BaseCQLStatement", "BaseQueryFunction",
    "BaseWhereOperator", "BatchQuery", "BatchStatement", "BatchType", "CBatchType",
    "CQLEngineException", "ConditionalClause", "ContainsOperator", "ContextQuery", "DMLQuery",
    "DeleteStatement", "DoesNotExist", "EqualsOperator", "GreaterThanOperator",
    "GreaterThanOrEqualOperator", "IfExistsWithCounterColumn", "IfNotExistsWithCounterColumn",
    "InOperator", "InsertStatement", "LWTException", "LessThanOperator", "LessThanOrEqualOperator",
    "MapDeleteClause", "ModelQuerySet", "MultipleObjectsReturned", "QueryException", "QueryValue",
    "ResultObject", "SelectStatement", "SimpleQuerySet", "SimpleStatement", "Token", "UnicodeMixin",
    "UpdateStatement", "ValidationError", "WhereClause", "check_applied", "conn",
]  # fmt: skip

# Set `__getattr__` through globals(), so that type checkers still report unknown names.
globals()["__getattr__"] = lazy_names(__name__)
