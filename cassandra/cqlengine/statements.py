"""Statements, each in two forms of CQL.

``str(statement)`` returns the documented form, as in cassandra-driver: it has numbered markers
(``%(0)s``), whose values `get_context` returns. `prepared` returns the form that is executed: it
has ``?`` for each value of `bound`. TTL, timestamp and LIMIT are bound too, so statements that
differ only in their values are prepared once.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cassandra._clocks import wall_time_ns
from cassandra._write_times import warn_of_timestamp
from cassandra.cqlengine.clauses import (
    PREPARED,
    AnnClause,
    AssignmentClause,
    BaseClause,
    BaseDeleteClause,
    ConditionalClause,
    ContainerUpdateClause,
    ContainerUpdateTypeMapMeta,
    CounterUpdateClause,
    FieldDeleteClause,
    InQuoter,
    IsNotNull,
    IsNotNullClause,
    ListUpdateClause,
    MapDeleteClause,
    MapUpdateClause,
    SetUpdateClause,
    StatementException,
    ValueQuoter,
    WhereClause,
)
from cassandra.cqlengine.errors import UnicodeMixin
from cassandra.cqlengine.functions import QueryValue
from cassandra.cqlengine.operators import (
    BaseWhereOperator,
    EqualsOperator,
    InOperator,
    IsNotNullOperator,
)
from cassandra.cqlengine.options import NOT_SET
from cassandra.query.statement import FETCH_SIZE_UNSET
from cassandra.util.cql_text import escape_name

if TYPE_CHECKING:
    from cassandra.cqlengine.columns.base import Column
    from cassandra.cqlengine.operators import BaseWhereOperator

__all__ = [
    "FETCH_SIZE_UNSET", "AssignmentClause", "AssignmentStatement", "BaseCQLStatement", "BaseClause",
    "BaseDeleteClause", "BaseWhereOperator", "ConditionalClause", "ContainerUpdateClause",
    "ContainerUpdateTypeMapMeta", "CounterUpdateClause", "DeleteStatement", "EqualsOperator",
    "FieldDeleteClause", "InOperator", "InQuoter", "InsertStatement", "IsNotNull",
    "IsNotNullClause", "IsNotNullOperator", "ListUpdateClause", "MapDeleteClause",
    "MapUpdateClause", "QueryValue", "SelectStatement", "SetUpdateClause", "StatementException",
    "UnicodeMixin", "UpdateStatement", "ValueQuoter", "WhereClause",
]  # fmt: skip

# A function that returns the CQL of a clause, in the documented or in the prepared form.
Show = Callable[[BaseClause], str]
Timestamp = int | datetime.datetime | datetime.timedelta | None
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
_MICROSECOND = datetime.timedelta(microseconds=1)


def check_timestamp(timestamp: object) -> None:
    """Check a timestamp that the application passes.

    If a number is probably not in microseconds, a RuntimeWarning is issued: such a write would be
    older than all other writes, and so have no effect, or it would win over all later writes.

    :param timestamp: the argument.
    :raises TypeError: if it is of a wrong type.
    """
    if timestamp is None or isinstance(timestamp, (datetime.datetime, datetime.timedelta)):
        if timestamp != timestamp:  # pandas' NaT, which is a datetime
            raise _wrong_timestamp(timestamp)
        return
    if not isinstance(timestamp, int):
        raise _wrong_timestamp(timestamp)
    warn_of_timestamp(int(timestamp))


def _wrong_timestamp(timestamp: object) -> TypeError:
    return TypeError(
        "a timestamp is a datetime, a timedelta or microseconds (int), "
        f"not {timestamp!r} ({type(timestamp).__name__})"
    )


def microseconds_of(timestamp: Timestamp) -> int | None:
    """Return a timestamp in microseconds since 1970.

    :param timestamp: a datetime (a naive datetime is local time), a timedelta from now, or
        microseconds.
    :raises TypeError: if it is of another type.
    """
    if timestamp is None or isinstance(timestamp, int):
        return timestamp
    if isinstance(timestamp, datetime.timedelta):
        return wall_time_ns() // 1000 + timestamp // _MICROSECOND
    if not isinstance(timestamp, datetime.datetime):
        raise _wrong_timestamp(timestamp)
    if timestamp != timestamp:  # pandas' NaT, which is a datetime
        raise _wrong_timestamp(timestamp)
    # Compute with integers: seconds as a float are not exact to the microsecond.
    if timestamp.utcoffset() is None:
        # A naive datetime is local time, unlike in columns: applications pass `datetime.now()`
        # here.
        return _local_seconds(timestamp) * 1_000_000 + timestamp.microsecond
    return (timestamp - _EPOCH) // _MICROSECOND


# The calendar, and the rules of time zones, repeat after this number of years and of seconds.
_CYCLE_YEARS, _CYCLE_SECONDS = 400, 146_097 * 86_400


def _local_seconds(moment: datetime.datetime) -> int:
    """Return the whole seconds from 1970 to a naive datetime, which is local time."""
    # `datetime.timestamp` fails for the first and last days of its range, so compute these in
    # another cycle of the calendar.
    cycles = {1: 1, 9999: -1}.get(moment.year, 0)
    # Unlike `time.mktime`, `datetime.timestamp` knows by `fold` which one is meant of two equal
    # times, in the hour that is repeated when summer time ends. It is exact for whole seconds. Do
    # not call the method of a subclass: pandas' takes naive values for UTC.
    local = datetime.datetime(
        moment.year + cycles * _CYCLE_YEARS,
        moment.month,
        moment.day,
        moment.hour,
        moment.minute,
        moment.second,
        fold=moment.fold,
    )
    return int(local.timestamp()) - cycles * _CYCLE_SECONDS


class BaseCQLStatement(UnicodeMixin):
    """Base class of the statements.

    Each clause gets the numbers of its markers when it is added.

    :param table: the table's name in CQL, with its keyspace.
    :param timestamp: a datetime (a naive datetime is local time), a timedelta from now, or
        microseconds; None for no timestamp.
    :param where: the relations of WHERE; None for none.
    :param fetch_size: rows per page; None for the session's default.
    :param conditionals: the conditions of IF; None for none.
    :raises StatementException: if a clause is of the wrong class.
    """

    __slots__ = (
        "conditionals", "context_counter", "context_id", "fetch_size", "table", "timestamp",
        "where_clauses",
    )  # fmt: skip

    def __init__(
        self,
        table: str,
        timestamp: Timestamp = None,
        where: Iterable[WhereClause] | None = None,
        fetch_size: int | None = None,
        conditionals: Iterable[ConditionalClause] | None = None,
    ) -> None:
        self.table = table
        self.timestamp = timestamp
        self.fetch_size = FETCH_SIZE_UNSET if fetch_size is None else fetch_size
        self.context_id = 0
        self.context_counter = 0
        self.where_clauses: list[WhereClause] = []
        self.conditionals: list[ConditionalClause] = []
        for clause in where or ():
            self.add_where(clause)
        for condition in conditionals or ():
            self.add_conditional_clause(condition)

    def _number_markers(self, clause: BaseClause) -> None:
        """Number the markers of a clause, after the markers of all earlier clauses."""
        clause.set_context_id(self.context_counter)
        self.context_counter += clause.get_context_size()

    def add_where(
        self,
        clause: WhereClause | Column[Any],
        operator: BaseWhereOperator | None = None,
        value: object = None,
        quote_field: bool = True,
    ) -> None:
        """Add a relation to WHERE: a clause, or a column with an operator and a value.

        :param clause: the relation, or the column.
        :param operator: an instance of a subclass of `BaseWhereOperator`, if `clause` is a column.
        :param value: the value as instances store it, if `clause` is a column.
        :param quote_field: False if the column's name is an expression, such as ``token("id")``.
        :raises StatementException: if `clause` is neither a `WhereClause` nor a column.
        """
        if operator is not None and not isinstance(clause, WhereClause):
            # A `QueryValue` (a CQL function such as MaxTimeUUID) converts its own argument.
            bound_value = value if isinstance(value, QueryValue) else clause.to_database(value)
            clause = WhereClause(clause.db_field_name, operator, bound_value, quote_field)
        if not isinstance(clause, WhereClause):
            raise StatementException(
                f"only instances of WhereClause can be added to WHERE, got {clause!r}"
            )
        clause.note_use()
        self._number_markers(clause)
        self.where_clauses.append(clause)

    def add_conditional_clause(self, clause: ConditionalClause) -> None:
        """Add a condition to IF.

        :param clause: the condition.
        """
        if not isinstance(clause, ConditionalClause):
            raise StatementException(
                f"only instances of ConditionalClause can be added to IF, got {clause!r}"
            )
        self._number_markers(clause)
        self.conditionals.append(clause)

    def clauses(self) -> list[BaseClause]:
        """Return all clauses, in the order of the CQL."""
        return [*self.where_clauses, *self.conditionals]

    def get_context(self) -> dict[str, Any]:
        """Return the values of the documented form, by the numbers of their markers."""
        context: dict[str, Any] = {}
        for clause in self.clauses():
            clause.update_context(context)
        return context

    def get_context_size(self) -> int:
        """Return the number of markers."""
        return sum(clause.get_context_size() for clause in self.clauses())

    def partition_key_values(self, field_index_map: Mapping[str, int]) -> list[Any]:
        """Return the values of the partition key's columns; None for a column without a value.

        :param field_index_map: the position of each column, by its name in the database.
        """
        values: list[Any] = [None] * len(field_index_map)
        for clause in self._key_clauses():
            index = field_index_map.get(clause.field)
            is_value = isinstance(getattr(clause, "operator", EqualsOperator()), EqualsOperator)
            if index is not None and is_value:
                values[index] = clause.value
        return values

    def _key_clauses(self) -> Sequence[BaseClause]:
        """Return the clauses that may name columns of the key."""
        return self.where_clauses

    def update_context_id(self, i: int) -> None:
        """Number the markers again, starting with `i`.

        Call this for a statement whose markers follow those of other statements.

        :param i: the number of the first marker.
        """
        # Shift the number of each clause's first marker by the same amount, because a clause may
        # have several markers.
        shift = i - self.context_id
        self.context_id = i
        self.context_counter += shift
        for clause in self.clauses():
            clause.set_context_id((clause.context_id or 0) + shift)

    @property
    def timestamp_normalized(self) -> int | None:
        """The timestamp in microseconds."""
        return microseconds_of(self.timestamp)

    def prepared(self) -> str:
        """Return the CQL with ``?`` for each of the values of `bound`."""
        return self._text(BaseClause.prepared, lambda value: PREPARED)

    def bound(self) -> list[Any]:
        """Return the values for the markers of `prepared`, in the order of the CQL."""
        return [value for clause in self.clauses() for value in clause.bound()]

    def _text(self, show: Show, option: Callable[[object], str]) -> str:
        """Return the CQL, with question marks or with numbered markers as `show` writes them.

        :param show: returns the CQL of a clause.
        :param option: returns the CQL of a value that does not belong to a clause: a TTL, a
            timestamp or a limit.
        """
        raise NotImplementedError

    def __str__(self) -> str:
        return self._text(str, str)

    def __repr__(self) -> str:
        return str(self)

    def _where(self, show: Show) -> list[str]:
        """Return a list with the WHERE part; without relations, return an empty list."""
        if not self.where_clauses:
            return []
        return ["WHERE " + " AND ".join(show(clause) for clause in self.where_clauses)]

    def _condition(self, show: Show, if_exists: bool) -> list[str]:
        """Return the IF parts in a list; an empty list if there are no conditions."""
        parts = []
        if self.conditionals:
            parts.append("IF " + " AND ".join(show(clause) for clause in self.conditionals))
        # Servers refuse a statement that has both IF EXISTS and other conditions. Send it all the
        # same: the application then gets the error, instead of losing a condition silently.
        if if_exists:
            parts.append("IF EXISTS")
        return parts


class SelectStatement(BaseCQLStatement):
    """A SELECT statement.

    :param table: the table's name in CQL, with its keyspace.
    :param fields: the names of the columns to read, or of one column; None for all.
    :param count: True to read only the number of rows.
    :param where: the relations of WHERE; None for none.
    :param order_by: the CQL of each ordering, or of a single ordering; None for the table's order.
    :param limit: the maximum number of rows; None or 0 for no limit.
    :param allow_filtering: True to add ALLOW FILTERING: the server may read more rows than it
        returns.
    :param distinct_fields: columns of the partition key whose distinct values are read; None to
        read rows.
    :param fetch_size: rows per page; None for the session's default.
    :param ann: the ordering by the distance from a vector; None for no such ordering.
    """

    __slots__ = (
        "allow_filtering", "ann", "count", "distinct_fields", "fields", "limit", "order_by",
    )  # fmt: skip

    def __init__(
        self,
        table: str,
        fields: str | Sequence[str] | None = None,
        count: bool = False,
        where: Iterable[WhereClause] | None = None,
        order_by: str | Sequence[str] | None = None,
        limit: int | None = None,
        allow_filtering: bool = False,
        distinct_fields: Sequence[str] | None = None,
        fetch_size: int | None = None,
        ann: AnnClause | None = None,
    ) -> None:
        super().__init__(table, where=where, fetch_size=fetch_size)
        self.ann = ann
        if ann is not None:
            self._number_markers(ann)
        self.fields = [fields] if isinstance(fields, str) else list(fields or ())
        self.distinct_fields = distinct_fields
        self.count = count
        self.order_by = [order_by] if isinstance(order_by, str) else list(order_by or ())
        self.limit = limit
        self.allow_filtering = allow_filtering

    def _selection(self) -> str:
        """Return the part between SELECT and FROM."""
        if self.distinct_fields:
            names = ", ".join(escape_name(name) for name in self.distinct_fields)
            return f"DISTINCT COUNT({names})" if self.count else f"DISTINCT {names}"
        if self.count:
            return "COUNT(*)"
        return ", ".join(escape_name(name) for name in self.fields) if self.fields else "*"

    def _text(self, show: Show, option: Callable[[object], str]) -> str:
        """Return the CQL of the SELECT; see `BaseCQLStatement._text` for the parameters."""
        parts = [f"SELECT {self._selection()} FROM {self.table}", *self._where(show)]
        # ORDER BY ... ANN OF has a marker, for its vector. Any other ordering has only names.
        if self.ann is not None:
            parts.append(f"ORDER BY {show(self.ann)}")
        elif self.order_by and not self.count:
            parts.append(f"ORDER BY {', '.join(self.order_by)}")
        # A limit of 0 means no limit, as in cassandra-driver. CQL has no LIMIT 0.
        if self.limit:
            parts.append(f"LIMIT {option(self.limit)}")
        if self.allow_filtering:
            parts.append("ALLOW FILTERING")
        return " ".join(parts)

    def clauses(self) -> list[BaseClause]:
        return super().clauses() if self.ann is None else [*self.where_clauses, self.ann]

    def bound(self) -> list[Any]:
        # LIMIT comes last in the CQL, so its value is the last one.
        return [*super().bound(), self.limit] if self.limit else super().bound()


class AssignmentStatement(BaseCQLStatement):
    """Base class of INSERT and UPDATE.

    :param table: the table's name in CQL, with its keyspace.
    :param assignments: the assignments; None for none.
    :param where: the relations of WHERE; None for none.
    :param ttl: seconds until the written values expire; None for the table's default.
    :param timestamp: a datetime (a naive datetime is local time), a timedelta from now, or
        microseconds; None for no timestamp.
    :param conditionals: the conditions of IF; None for none.
    :raises StatementException: if a clause is of the wrong class.
    """

    __slots__ = ("assignments", "ttl")

    def __init__(
        self,
        table: str,
        assignments: Iterable[AssignmentClause] | None = None,
        where: Iterable[WhereClause] | None = None,
        ttl: int | None = None,
        timestamp: Timestamp = None,
        conditionals: Iterable[ConditionalClause] | None = None,
    ) -> None:
        super().__init__(table, timestamp=timestamp, where=where, conditionals=conditionals)
        self.ttl = ttl
        self.assignments: list[AssignmentClause] = []
        for clause in assignments or ():
            self.add_assignment(clause)

    def add_assignment(
        self, clause: AssignmentClause | Column[Any], value: object = NOT_SET
    ) -> None:
        """Add the assignment of a column: a clause, or a column and its value.

        :param clause: the assignment, or the column.
        :param value: the value as instances store it, if `clause` is a column.
        :raises StatementException: if `clause` is neither an `AssignmentClause` nor a column.
        """
        if value is not NOT_SET and not isinstance(clause, AssignmentClause):
            clause = AssignmentClause(clause.db_field_name, clause.to_database(value))
        if not isinstance(clause, AssignmentClause):
            raise StatementException(
                f"only instances of AssignmentClause can be assigned, got {clause!r}"
            )
        self._number_markers(clause)
        self.assignments.append(clause)

    @property
    def is_empty(self) -> bool:
        """True if the statement assigns no column."""
        return not self.assignments

    @property
    def is_repeatable(self) -> bool:
        """True if applying the assignments twice leaves the same row as applying them once."""
        return all(clause.is_repeatable for clause in self.assignments)

    def clauses(self) -> list[BaseClause]:
        return [*self.assignments, *self.where_clauses, *self.conditionals]

    def _options(self) -> list[tuple[str, int]]:
        """Return the options of USING, as tuples of name and value."""
        options = []
        if self.ttl is not None:
            options.append(("TTL", self.ttl))
        timestamp = self.timestamp_normalized
        if timestamp is not None:
            options.append(("TIMESTAMP", timestamp))
        return options

    def _using(self, option: Callable[[object], str]) -> list[str]:
        """Return a list with the USING part; without options, return an empty list."""
        options = self._options()
        if not options:
            return []
        return ["USING " + " AND ".join(f"{name} {option(value)}" for name, value in options)]


class InsertStatement(AssignmentStatement):
    """An INSERT statement.

    :param table: the table's name in CQL, with its keyspace.
    :param assignments: the assignments; None for none.
    :param where: must be None or empty, because INSERT has no WHERE.
    :param ttl: seconds until the written values expire; None for the table's default.
    :param timestamp: a datetime (a naive datetime is local time), a timedelta from now, or
        microseconds; None for no timestamp.
    :param if_not_exists: True to insert only if the row does not exist.
    """

    __slots__ = ("if_not_exists",)

    def __init__(
        self,
        table: str,
        assignments: Iterable[AssignmentClause] | None = None,
        where: Iterable[WhereClause] | None = None,
        ttl: int | None = None,
        timestamp: Timestamp = None,
        if_not_exists: bool = False,
    ) -> None:
        super().__init__(table, assignments, where, ttl, timestamp)
        self.if_not_exists = if_not_exists

    def add_where(
        self,
        clause: WhereClause | Column[Any],
        operator: BaseWhereOperator | None = None,
        value: object = None,
        quote_field: bool = True,
    ) -> None:
        # CQL has no INSERT ... WHERE: the assignments identify the row.
        raise StatementException("Cannot add where clauses to insert statements")

    def _key_clauses(self) -> Sequence[BaseClause]:
        return self.assignments

    def _text(self, show: Show, option: Callable[[object], str]) -> str:
        names = ", ".join(escape_name(clause.field) for clause in self.assignments)
        values = ", ".join(_marker(show, clause) for clause in self.assignments)
        parts = [f"INSERT INTO {self.table} ({names}) VALUES ({values})"]
        if self.if_not_exists:
            parts.append("IF NOT EXISTS")
        return " ".join([*parts, *self._using(option)])

    def bound(self) -> list[Any]:
        # In an INSERT, USING comes after the values, so its markers come last.
        return [*super().bound(), *(value for _, value in self._options())]


def _marker(show: Show, clause: AssignmentClause) -> str:
    return PREPARED if show is BaseClause.prepared else f"%({clause.context_id})s"


class UpdateStatement(AssignmentStatement):
    """An UPDATE statement.

    :param table: the table's name in CQL, with its keyspace.
    :param assignments: the assignments; None for none.
    :param where: the relations of WHERE; None for none.
    :param ttl: seconds until the written values expire; None for the table's default.
    :param timestamp: a datetime (a naive datetime is local time), a timedelta from now, or
        microseconds; None for no timestamp.
    :param conditionals: the conditions of IF; None for none.
    :param if_exists: True to update only if the row exists.
    """

    __slots__ = ("if_exists",)

    def __init__(
        self,
        table: str,
        assignments: Iterable[AssignmentClause] | None = None,
        where: Iterable[WhereClause] | None = None,
        ttl: int | None = None,
        timestamp: Timestamp = None,
        conditionals: Iterable[ConditionalClause] | None = None,
        if_exists: bool = False,
    ) -> None:
        super().__init__(table, assignments, where, ttl, timestamp, conditionals)
        self.if_exists = if_exists

    def add_update(
        self,
        column: Column[Any],
        value: object,
        operation: str | None = None,
        previous: object = None,
    ) -> None:
        """Assign `value` to `column`, with the clause for the column's type.

        :param column: the `Column`.
        :param value: the new value, or the elements that `operation` adds or removes.
        :param operation: for a collection: "add", "remove", "append", "prepend" or "update"; None
            if `value` is the new value of the whole column.
        :param previous: the value that the column has in the database; None if it is not known.
        """
        # The column class of a collection has an `update_clause`; other columns have none.
        clause_class = getattr(column, "update_clause", None)
        clause: AssignmentClause
        if clause_class is not None:
            clause = clause_class(column.db_field_name, value, operation, previous)
            # If there are no values to bind, the collection has not changed.
            if not clause.bound():
                return
        elif getattr(column, "is_counter", False):
            clause = CounterUpdateClause(column.db_field_name, value, previous)
        else:
            clause = AssignmentClause(column.db_field_name, value)
        self.add_assignment(clause)

    def _text(self, show: Show, option: Callable[[object], str]) -> str:
        parts = [f"UPDATE {self.table}", *self._using(option)]
        parts.append(f"SET {', '.join(show(clause) for clause in self.assignments)}")
        return " ".join([*parts, *self._where(show), *self._condition(show, self.if_exists)])

    def bound(self) -> list[Any]:
        # In an UPDATE, USING comes before SET, so the markers of USING come first.
        return [*(value for _, value in self._options()), *super().bound()]


class DeleteStatement(BaseCQLStatement):
    """A DELETE statement, for rows or for columns.

    :param table: the table's name in CQL, with its keyspace.
    :param fields: the columns to delete, as names or clauses, or the name of one column; None for
        whole rows.
    :param where: the relations of WHERE; None for none.
    :param timestamp: a datetime (a naive datetime is local time), a timedelta from now, or
        microseconds; None for no timestamp.
    :param conditionals: the conditions of IF; None for none.
    :param if_exists: True to delete only if the row exists.
    """

    __slots__ = ("fields", "if_exists")

    def __init__(
        self,
        table: str,
        fields: Iterable[str | BaseDeleteClause] | None = None,
        where: Iterable[WhereClause] | None = None,
        timestamp: Timestamp = None,
        conditionals: Iterable[ConditionalClause] | None = None,
        if_exists: bool = False,
    ) -> None:
        super().__init__(table, timestamp=timestamp, where=where, conditionals=conditionals)
        self.if_exists = if_exists
        self.fields: list[BaseDeleteClause] = []
        # A single name may be passed without a list.
        for field in [fields] if isinstance(fields, str) else fields or ():
            self.add_field(field)

    def add_field(self, field: str | BaseDeleteClause) -> None:
        """Add a column to delete, or keys of a map to delete.

        :param field: the name of a column, or a clause.
        :raises StatementException: if `field` is neither.
        """
        if isinstance(field, str):
            field = FieldDeleteClause(field)
        if not isinstance(field, BaseDeleteClause):
            raise StatementException(f"only columns can be deleted, got {field!r}")
        self._number_markers(field)
        self.fields.append(field)

    def clauses(self) -> list[BaseClause]:
        return [*self.fields, *self.where_clauses, *self.conditionals]

    def _text(self, show: Show, option: Callable[[object], str]) -> str:
        fields = ", ".join(show(field) for field in self.fields)
        parts = [f"DELETE {fields} FROM {self.table}" if fields else f"DELETE FROM {self.table}"]
        timestamp = self.timestamp_normalized
        if timestamp is not None:
            # cassandra-driver writes these additional spaces, too.
            parts.append(f" USING TIMESTAMP {option(timestamp)} ")
        return " ".join([*parts, *self._where(show), *self._condition(show, self.if_exists)])

    def bound(self) -> list[Any]:
        # The markers of a DELETE are in the order: fields, USING, WHERE, IF.
        values = [value for clause in self.fields for value in clause.bound()]
        timestamp = self.timestamp_normalized
        if timestamp is not None:
            values.append(timestamp)
        for clause in (*self.where_clauses, *self.conditionals):
            values += clause.bound()
        return values
