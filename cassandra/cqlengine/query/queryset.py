"""`AbstractQuerySet`: a query that is built step by step, and executed when its rows are read."""

from __future__ import annotations

import threading
import warnings
from collections.abc import AsyncIterator, Generator, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from cassandra._forks import renewed
from cassandra._habits import QUERYSET, add_habits, stack_level
from cassandra.cqlengine.clauses import AnnClause, ConditionalClause, IsNotNullClause, WhereClause
from cassandra.cqlengine.copies import are_different
from cassandra.cqlengine.errors import CQLEngineException
from cassandra.cqlengine.functions import QueryValue
from cassandra.cqlengine.mapping import StatementPlan
from cassandra.cqlengine.operators import ContainsOperator, EqualsOperator, InOperator
from cassandra.cqlengine.options import DEFAULTS, Options
from cassandra.cqlengine.private_names import CompatQuerySet
from cassandra.cqlengine.query.batch import BatchQuery
from cassandra.cqlengine.query.dml import (
    execute_write,
    is_idempotent,
    timestamp_of,
    warn_of_dropped_conditions,
)
from cassandra.cqlengine.query.errors import QueryException
from cassandra.cqlengine.running import Call, Operation, Request, arun, awaited, blocking, run
from cassandra.cqlengine.statements import DeleteStatement, SelectStatement
from cassandra.cqlengine.wrong_calls import advise_on_fields, advise_on_filters
from cassandra.query.row_factories import tuple_factory
from cassandra.query.statement import FETCH_SIZE_UNSET
from cassandra.util.cql_text import escape_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Self

T = TypeVar("T")
DEFAULT_LIMIT = 10_000  # the maximum number of rows, unless the application calls `limit`


class _RowsLock:
    """The lock of a queryset whose rows are read. It is reentrant, because a model may read it.

    It is held during requests. So under gevent it is the patched lock, unlike `_threads.RLock`.
    """

    __slots__ = ("__weakref__", "lock")

    def __init__(self) -> None:
        self._renew_locks()

    def _renew_locks(self) -> None:
        self.lock = threading.RLock()

    def __reduce__(self) -> Any:
        """Pickle and copy a queryset with another lock."""
        return _RowsLock, ()


def _is_same(clause: WhereClause, other: WhereClause) -> bool:
    return type(clause.operator) is type(other.operator) and clause == other


class AbstractQuerySet(CompatQuerySet, Generic[T]):
    """The common base class of querysets of models and of named tables.

    Methods such as `filter` return a new queryset. Rows are fetched page by page while you iterate
    over them. The queryset keeps them, so a second iteration needs no request. Several threads may
    iterate over a queryset at the same time: each gets all rows.

    :param model: the model or named table whose rows the queryset returns.
    """

    # Defaults are class attributes, so that creating and copying a queryset is cheap.
    _options: Options = DEFAULTS

    @property
    def _connection(self) -> str | None:
        # A property with a setter, because applications' subclasses assign `_connection`.
        return self._options.connection

    @_connection.setter
    def _connection(self, name: str | None) -> None:
        self._options = self._options.with_changes(connection=name)

    _where: tuple[WhereClause, ...] = ()
    _order: tuple[str, ...] = ()
    # The ordering by ``ann_of``; None for no such ordering. It cannot be combined with `_order`.
    _ann: AnnClause | None = None
    _limit: int | None = DEFAULT_LIMIT
    _allow_filtering = False
    _only_fields: tuple[str, ...] = ()
    _defer_fields: tuple[str, ...] = ()
    _distinct: tuple[str, ...] = ()
    _fetch_size: Any = FETCH_SIZE_UNSET
    # `_cache` has the rows that were read so far. `_result` is the result of the request.
    # `_pending` is an iterator over the rows of `_result` that were not read yet, or None if all
    # were read. All three are None before the request is sent. A thread that changes them holds the
    # lock of `_rows_lock`.
    _cache: list[Any] | None = None
    _pending: Iterator[Any] | None = None
    _result: Any = None
    _count: int | None = None  # used by subclasses, such as those of django-cassandra-engine

    def __init__(self, model: Any) -> None:
        self.model = model

    # -- implemented by subclasses --------------------------------------------------------------

    def _where_clause_for(self, name: str, value: object) -> WhereClause:
        """Return the WHERE clause for one keyword argument of `filter`, such as ``age__gt=5``."""
        raise NotImplementedError

    def _condition_of(self, name: str, value: object) -> ConditionalClause:
        clause = self._where_clause_for(name, value)
        return ConditionalClause(clause.field, clause.value, clause.operator)

    def _factory(self, select: StatementPlan) -> Callable[..., Any]:
        """Return the row factory for the result of `select`."""
        raise NotImplementedError

    def _fields(self) -> list[str]:
        """Return the columns to select, by their names in the database; [] selects all."""
        return []

    def _select_plan(self, count: bool) -> StatementPlan:
        """Return the statement plan of the select.

        :param count: True for a SELECT COUNT.
        :raises QueryException: if servers would refuse the filters.
        """
        return StatementPlan(self._statement(count).prepared())

    @property
    def column_family_name(self) -> str:
        """The name of the table, with its keyspace."""
        return str(self.model.column_family_name())

    def _partition_columns(self) -> Sequence[str]:
        """Return the names of the partition key's columns in the database."""
        raise NotImplementedError

    # -- copies ---------------------------------------------------------------------------------

    def _copy(self) -> Self:
        """Return a copy of the query, without the rows that were read."""
        queryset = object.__new__(type(self))
        queryset.__dict__.update(self.__dict__)
        queryset.__dict__.pop("_lock", None)
        # The rows and the result are set together when rows are read. The copy must not have them.
        if self._cache is not None:
            queryset._cache = queryset._pending = queryset._result = None
        if self._count is not None:
            queryset._count = None
        return queryset

    def _with_options(self, **changes: Any) -> Self:
        queryset = self._copy()
        queryset._options = self._options.with_changes(**changes)
        return queryset

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self._copy()

    def __eq__(self, other: object) -> bool:
        return (
            type(other) is type(self)
            and self.model is other.model
            and not are_different(self._comparison_state(), other._comparison_state())
        )

    __hash__ = None  # type: ignore[assignment]

    def _comparison_state(self) -> tuple[Any, ...]:
        """Return the parts of the query that ``==`` compares, besides the models."""
        where = [(clause.field, str(clause.operator), clause.value) for clause in self._where]
        return (
            where,
            tuple(self._order),
            self._limit,
            self._only_fields,
            self._defer_fields,
            self._distinct,
            self._allow_filtering,
            self._ann,
        )

    def _has_own_limit(self) -> bool:
        """Return True if the application has set the limit, even if it equals the default."""
        return "_limit" in self.__dict__ or self._limit != DEFAULT_LIMIT

    # -- statements -----------------------------------------------------------------------------

    def _statement(self, count: bool = False) -> SelectStatement:
        """Return the SELECT of this query."""
        return SelectStatement(
            self.column_family_name,
            fields=self._fields(),
            count=count,
            where=[_copied(clause) for clause in self._where],
            order_by=self._order,
            limit=self._limit,
            allow_filtering=self._allow_filtering,
            distinct_fields=self._distinct or None,
            fetch_size=self._fetch_size,
            # Copy this clause too, because a statement numbers the markers in its clauses.
            ann=self._ann and AnnClause(self._ann.field, self._ann.value),
        )

    def __str__(self) -> str:
        return str(self._statement())

    def _request(
        self, factory: Any = None, row_limit: int | None = None, count: bool = False
    ) -> Request:
        """Return the request of the select.

        :param factory: the row factory; None for the row factory of the queryset.
        :param row_limit: the maximum number of rows to read, if it is less than the queryset's
            limit. A queryset without a limit ignores this parameter.
        """
        options = self._options
        if options.batch is not None:
            raise CQLEngineException(
                "Only inserts, updates, and deletes are available in batch mode"
            )
        # Collect the values in the order of their markers in the CQL: WHERE, ORDER BY ... ANN OF,
        # LIMIT.
        select = self._select_plan(count)
        values: list[Any] = []
        for clause in self._where:
            values += clause.bound()
        limit = self._limit
        if self._ann is not None:
            self._check_neighbours(row_limit, count)
            values.append(self._ann.value)
        # If the limit is None or 0, the statement has no LIMIT.
        if limit:
            values.append(limit if row_limit is None else min(limit, row_limit))
        request = Request(
            select.text,
            values,
            options.connection or self.model.__connection__,
            self._factory(select) if factory is None else factory,
            options.consistency if options.consistency is not None else self.model.__consistency__,
            options.timeout,
            self._fetch_size,
        )
        request.idempotent = is_idempotent(self.model, options)
        return request

    def _check_neighbours(self, row_limit: int | None, count: bool) -> None:
        """Raise QueryException if a query with ``ann_of`` is not valid.

        :raises QueryException: if the query has no limit of the number of rows, or counts rows, or
            is distinct.
        """
        if count or self._distinct:
            raise QueryException(
                "rows that are ordered by ann_of cannot be counted, or be distinct"
            )
        if row_limit is None and not (self._limit and self._has_own_limit()):
            raise QueryException(
                "order_by(column.ann_of(...)) needs limit(n): how many neighbours are wanted"
            )

    # -- filters, order and limits --------------------------------------------------------------

    def all(self) -> Self:
        """Return a copy of the queryset without its cached rows: reading it sends a new request."""
        return self._copy()

    def filter(self, *args: Any, **kwargs: Any) -> Self:
        """Return a queryset of the rows that match all filters.

        :param args: expressions, such as ``Model.age > 5``.
        :param kwargs: ``column=value`` or ``column__operator=value``.
        :raises QueryException: if a column is unknown, or an argument is not a filter.
        :raises ValidationError: if the column cannot hold the value.
        """
        queryset = self._copy()
        clauses = list(self._where)
        for clause in args:
            if not isinstance(clause, WhereClause):
                raise QueryException(
                    f"{clause!r} is not a valid query operator: {self._advice_on_filter(clause)}"
                )
            clause.note_use()
            clauses.append(self._checked_clause(clause))
        for name, value in kwargs.items():
            clause = self._where_clause_for(name, value)
            # Servers refuse a second filter by `=` of the same column. `objects` of a model with a
            # discriminator value has such a filter already.
            is_equality = type(clause.operator) is EqualsOperator
            if not (is_equality and any(_is_same(clause, other) for other in clauses)):
                clauses.append(clause)
        queryset._where = tuple(clauses)
        return queryset

    def _advice_on_filter(self, value: object) -> str:
        """Return what to write instead of a `value` that was passed without a column's name."""
        return "name the column of each value, column=value"

    def _checked_clause(self, clause: WhereClause) -> WhereClause:
        """Check the column of a filter that was passed as an expression, and return the filter."""
        return clause

    def __call__(self, *args: Any, **kwargs: Any) -> Self:
        return self.filter(*args, **kwargs)

    def iff(self, *args: Any, **kwargs: Any) -> Self:
        """Return a queryset whose update or delete is applied only if all conditions hold.

        :param args: conditions, such as ``Model.age > 5``.
        :param kwargs: values by column name; for an operator other than equality, write
            ``age__gt=5``.
        """
        return self._with_options(
            conditionals=(*self._options.conditionals, *self.conditions(*args, **kwargs))
        )

    def conditions(self, *args: Any, **kwargs: Any) -> tuple[ConditionalClause, ...]:
        """Return the conditions that `iff` would set for these arguments.

        :param args: the conditions, as for `iff`.
        :param kwargs: values by column name, as for `iff`.
        """
        clauses: list[ConditionalClause] = []
        for clause in args:
            # A comparison such as ``Model.age > 5`` returns a clause for WHERE. Convert it to a
            # condition of IF.
            if isinstance(clause, WhereClause):
                clause.note_use()
                clause = ConditionalClause(clause.field, clause.value, clause.operator)
            if not isinstance(clause, ConditionalClause):
                raise QueryException(f"{clause!r} is not a valid query operator")
            clauses.append(clause)
        clauses += [self._condition_of(name, value) for name, value in kwargs.items()]
        return tuple(clauses)

    def order_by(self, *colnames: str | AnnClause) -> Self:
        """Return a queryset ordered by clustering columns; ``-name`` is descending.

        Without names, rows are in the table's order. ``Model.column.ann_of(vector)`` alone orders
        by the distance to a vector.

        :param colnames: the columns' names; the first has the highest rank.
        :raises QueryException: if an ``ann_of`` is combined with another ordering.
        """
        queryset = self._copy()
        queryset._ann = None
        if any(isinstance(ordering, AnnClause) for ordering in colnames):
            if len(colnames) > 1 or self._order:
                raise QueryException("ann_of cannot be combined with another ordering")
            (queryset._ann,) = colnames  # type: ignore[assignment]
            return queryset
        if colnames and self._ann is not None:
            raise QueryException("ann_of cannot be combined with another ordering")
        queryset._order = (*self._order, *map(self._ordering, colnames)) if colnames else ()
        return queryset

    def _ordering(self, colname: Any) -> str:
        if not isinstance(colname, str):
            raise QueryException(f"order_by takes names, not {_instead_of_name(colname)}")
        column, order = self._get_ordering_condition(colname)
        return f"{escape_name(column)} {order}"

    def _get_ordering_condition(self, colname: str) -> tuple[str, str]:
        """Return the column's name in the database, and ASC or DESC, for an argument of `order_by`.

        Subclasses of applications call this method too.
        """
        return colname.removeprefix("-"), "DESC" if colname.startswith("-") else "ASC"

    def limit(self, v: int | None) -> Self:
        """Return a queryset of at most `v` rows; None and 0 mean no limit.

        Without this call, the limit is 10,000 rows.

        :param v: the maximum number of rows.
        :raises QueryException: if `v` is negative.
        """
        if v is not None and (isinstance(v, bool) or not isinstance(v, int)):
            raise TypeError(f"a limit is a number or None, not {v!r}")
        if v is not None and v < 0:
            raise QueryException("Negative limit is not allowed")
        queryset = self._copy()
        queryset._limit = v
        return queryset

    def fetch_size(self, v: int) -> Self:
        """Return a queryset that fetches `v` rows per page.

        :param v: rows per page.
        :raises QueryException: if `v` is less than 1.
        """
        if isinstance(v, bool) or not isinstance(v, int):
            raise TypeError(f"a fetch size is a number, not {v!r}")
        if v < 1:
            raise QueryException("fetch size less than 1 is not allowed")
        queryset = self._copy()
        queryset._fetch_size = v
        return queryset

    def allow_filtering(self) -> Self:
        """Return a queryset with ALLOW FILTERING.

        Servers then also read rows that do not match the filters, which may take long.
        """
        queryset = self._copy()
        queryset._allow_filtering = True
        return queryset

    def distinct(self, distinct_fields: Sequence[str] | None = None) -> Self:
        """Return a queryset with SELECT DISTINCT, which returns one row for each partition.

        :param distinct_fields: columns of the partition key, and static columns; by default the
            partition key.
        """
        queryset = self._copy()
        # SELECT DISTINCT accepts partition key columns and static columns only, so the partition
        # key is the default.
        queryset._distinct = tuple(distinct_fields or self._partition_columns())
        return queryset

    def only(self, fields: Sequence[str]) -> Self:
        """Return a queryset that reads only these columns.

        :param fields: the columns' names.
        """
        if self._only_fields:
            raise QueryException("QuerySet already has 'only' fields defined")
        queryset = self._copy()
        queryset._only_fields = tuple(self._checked_fields(fields))
        return queryset

    def defer(self, fields: Sequence[str]) -> Self:
        """Return a queryset that does not read these columns.

        If these are all columns, it reads the partition key.

        :param fields: the columns' names.
        :raises QueryException: when the query is executed, if these are all columns of `only`.
        """
        queryset = self._copy()
        queryset._defer_fields = (*self._defer_fields, *self._checked_fields(fields))
        return queryset

    def _checked_fields(self, fields: Sequence[str]) -> Sequence[str]:
        """Check the arguments of `only` and `defer`, and return the names of the columns."""
        if isinstance(fields, str):
            raise QueryException(f"the fields are a list of names, not {fields!r}")
        return fields

    def _refuse_no_fields(self) -> None:
        """Raise QueryException if `defer` has all columns of `only`.

        The SELECT would read all columns otherwise.
        """
        if self._only_fields and not self._distinct:
            raise QueryException(
                f'No fields in select query. Only fields: "{",".join(self._only_fields)}", defer '
                f'fields: "{",".join(self._defer_fields)}"'
            )

    # -- options --------------------------------------------------------------------------------

    def consistency(self, consistency: int) -> Self:
        """Return a queryset with this `ConsistencyLevel`.

        :param consistency: the level.
        """
        return self._with_options(consistency=consistency)

    def idempotent(self, idempotent: bool = True) -> Self:
        """Return a queryset whose statements the driver may send again, or to several nodes.

        Retries after a lost connection and speculative executions need this. If you do not call
        this method, the model's `__idempotent__` decides. Conditional writes, and changes of
        counters and of lists, are never sent again.

        :param idempotent: False to switch it off for a model with `__idempotent__`.
        """
        return self._with_options(idempotent=idempotent)

    def timeout(self, timeout: float | None) -> Self:
        """Return a queryset with this timeout for each request.

        :param timeout: seconds; None for no limit.
        """
        return self._with_options(timeout=timeout)

    def using(self, keyspace: str | None = None, connection: str | None = None) -> Self:
        """Return a queryset on another keyspace or connection.

        :param keyspace: the name of the keyspace; None to keep the keyspace.
        :param connection: the name of the connection; None to keep the connection.
        """
        changes: dict[str, Any] = {}
        if keyspace is not None:
            changes["keyspace"] = keyspace
        if connection is not None:
            if self._options.batch is not None:
                raise CQLEngineException("Cannot specify a connection on model in batch mode.")
            changes["connection"] = connection
        return self._with_options(**changes)

    def batch(self, batch_obj: BatchQuery | None) -> Self:
        """Return a queryset whose writes are added to `batch_obj`.

        :param batch_obj: a `BatchQuery`, or None for no batch.
        :raises CQLEngineException: if `batch_obj` is not a `BatchQuery`, or the queryset has a
            connection.
        """
        if batch_obj is not None and not isinstance(batch_obj, BatchQuery):
            raise CQLEngineException("batch_obj must be a BatchQuery instance or None")
        if batch_obj is not None and self._options.connection:
            raise CQLEngineException("Cannot specify the connection on model in batch mode.")
        return self._with_options(batch=batch_obj)

    # -- reading, blocking ----------------------------------------------------------------------

    def _rows_lock(self) -> threading.RLock:
        """Return the lock of the rows that were read, which is made when it is first needed."""
        lock: _RowsLock | None = self.__dict__.get("_lock")
        if lock is None:
            lock = self.__dict__.setdefault("_lock", renewed(_RowsLock()))  # atomic
        return lock.lock

    def _start(self) -> list[Any]:
        """Send the request, unless it was sent already, and return the list of rows read so far."""
        if self._cache is None:
            with self._rows_lock():
                if self._cache is None:
                    self._result = blocking(self._request())
                    self._pending = iter(self._result)
                    # Set `_cache` after the request has succeeded: if it fails, the next read sends
                    # it again. Other threads see that the request was sent when `_cache` is set.
                    self._cache = []
        return self._cache

    def _fill(self, count: int | None = None) -> list[Any]:
        """Read rows until `count` rows are cached, and return all cached rows.

        :param count: None to read all rows.
        """
        with self._rows_lock():
            return self._fill_locked(count)

    def _fill_locked(self, count: int | None) -> list[Any]:
        """Read rows as `_fill` does. The caller holds the lock."""
        rows = self._start()
        pending = self._pending
        if pending is None:
            return rows
        try:
            if count is None:
                rows.extend(pending)
                self._pending = None
            else:
                rows.extend(islice(pending, max(count - len(rows), 0)))
        except BaseException:
            # An iterator cannot be used after it has raised an error. A new iterator of the result
            # continues at the next row.
            self._pending = iter(self._result)
            raise
        # The iterator has returned fewer rows than requested, so it has no more rows.
        if count is not None and len(rows) < count:
            self._pending = None
        return rows

    def __iter__(self) -> Iterator[T]:
        return _Rows(self)

    def __len__(self) -> int:
        return len(self._fill())

    def __bool__(self) -> bool:
        return bool(self._fill(1))

    def __getitem__(self, s: Any) -> Any:
        if isinstance(s, slice):
            # Negative indexes count from the end, so they need all rows.
            is_negative = any(end is not None and end < 0 for end in (s.start, s.stop, s.step))
            row_count = None if is_negative or s.stop is None else s.stop
            return self._fill(row_count)[s]
        try:
            index = int(s)
        except (TypeError, ValueError) as error:
            error.args = (
                f"a queryset has rows by their number, not by {s!r}: write queryset.first()[{s!r}]",
            )
            raise
        rows = self._fill(None if index < 0 else index + 1)
        try:
            return rows[index]
        except IndexError:
            raise IndexError(
                f"the queryset has {len(rows)} rows: there is none at {index}"
            ) from None

    def get(self, *args: Any, **kwargs: Any) -> T:
        """Return the only row that matches the filters.

        The exceptions are the model's own classes, such as ``Model.DoesNotExist``. They derive from
        the classes below.

        :param args: conditions, such as ``Model.age > 5``.
        :param kwargs: values by column name; for an operator other than equality, write
            ``age__gt=5``.
        :raises DoesNotExist: if no row matches.
        :raises MultipleObjectsReturned: if several rows match.
        """
        rows = self.filter(*args, **kwargs) if args or kwargs else self
        row: T
        if rows._cache is not None:
            # Two rows are enough to see that there are several.
            row = rows._single(rows._fill(2))
        else:
            row = run(rows._get())
        return row

    def _get(self) -> Operation[Any]:
        """Read the only row; raise an error if there are no rows, or several."""
        # Read at most two rows: the second row shows that there are several.
        result = yield self._request(row_limit=2)
        rows = result.current_rows
        if len(rows) < 2 and result.has_more_pages:
            rows = yield from self._rows_of_pages(result, 2)
        return self._single(rows)

    def _rows_of_pages(self, result: Any, count: int) -> Operation[list[Any]]:
        """Return the rows of the current page and of the next pages, until there are `count` rows.

        Pages may be empty: with ALLOW FILTERING, or if rows were deleted.
        """
        connection = self._options.connection or self.model.__connection__
        rows = list(result.current_rows)
        while len(rows) < count and result.has_more_pages:
            # `fetch_next_page` replaces the rows of the current page.
            yield Call(lambda _: result.fetch_next_page(), connection)
            rows += result.current_rows
        return rows

    def _single(self, rows: Sequence[T]) -> T:
        """Return the only row; raise DoesNotExist or MultipleObjectsReturned otherwise."""
        if not rows:
            raise self.model.DoesNotExist(f"{self._description()} does not exist")
        if len(rows) > 1:
            raise self.model.MultipleObjectsReturned(
                f"Multiple objects found for {self._description()}"
            )
        return rows[0]

    def _description(self) -> str:
        filters = ", ".join(f"{c.field} {c.operator} {c.value!r}" for c in self._where)
        return f"{getattr(self.model, '__name__', self.model)} with {filters or 'no filter'}"

    def first(self) -> T | None:
        """Return the first row; None if no row matches."""
        if self._cache is not None:
            rows = self._fill(1)
            return rows[0] if rows else None
        row: T | None = run(self._first())
        return row

    def _first(self) -> Operation[Any]:
        """Read the first row; return None if no row matches."""
        result = yield self._request(row_limit=1)
        rows = result.current_rows
        if not rows and result.has_more_pages:
            rows = yield from self._rows_of_pages(result, 1)
        return rows[0] if rows else None

    def count(self) -> int:
        """Return the number of rows, by SELECT COUNT, which is slow for many rows.

        Servers cannot count with DISTINCT: after `distinct`, this reads all partition keys, up to
        the limit if the application has set one.
        """
        return run(self._counting())

    def _counting(self) -> Generator[Request, Any, int]:
        """Have the server count the rows; with `distinct`, read the rows and count them here."""
        if self._distinct:
            queryset = self
            if not self._has_own_limit():
                # The default limit is for reading rows. It would cut the number silently.
                queryset = self._copy()
                queryset._limit = None
            request = queryset._request(tuple_factory)
            request.all_pages = True
            return len((yield request))
        result = yield self._request(tuple_factory, count=True)
        return int(result.one()[0])

    # -- reading, awaited -----------------------------------------------------------------------

    def __aiter__(self) -> AsyncIterator[T]:
        return _AwaitedRows(self)

    async def aall(self) -> list[T]:
        """Return a list of all rows, on a connection of `cassandra.aio`."""
        return [row async for row in self]

    async def aget(self, *args: Any, **kwargs: Any) -> T:
        """Return the only row that matches the filters, on a connection of `cassandra.aio`.

        :param args: conditions, such as ``Model.age > 5``.
        :param kwargs: values by column name; for an operator other than equality, write
            ``age__gt=5``.
        """
        return await arun(self.filter(*args, **kwargs)._get())

    async def afirst(self) -> T | None:
        """Return the first row, on a connection of `cassandra.aio`; None if no row matches."""
        return await arun(self._first())

    async def acount(self) -> int:
        """Return the number of rows, on a connection of `cassandra.aio`."""
        return await arun(self._counting())

    # -- writing --------------------------------------------------------------------------------

    def create(self, **kwargs: Any) -> T:
        """Insert a row and return it.

        :param kwargs: values by the attributes' names.
        """
        instance: T = self.model(**kwargs)
        return instance

    def delete(self) -> None:
        """Delete the rows that match the filters, which must name the partition key.

        :raises QueryException: if the filters do not name the partition key.
        :raises LWTException: if the delete is conditional and was not applied.
        """
        run(self._delete())

    async def adelete(self) -> None:
        """Delete the rows that match the filters, on a connection of `cassandra.aio`."""
        await arun(self._delete())

    def _delete(self) -> Operation[None]:
        statement = self._delete_statement(timestamp_of(self._options))
        yield from execute_write(self.model, self._options, statement.prepared(), statement.bound())

    def _warn_of_limit(self, verb: str) -> None:
        """Warn if the queryset has a limit: CQL has LIMIT in SELECT only, so it has no effect.

        :param verb: "UPDATE" or "DELETE".
        """
        if not (self._limit and self._has_own_limit()):
            return
        warnings.warn(
            f"limit({self._limit}) has no effect on {verb}, which changes all rows that match the "
            "filters: read the rows, and change each of them",
            RuntimeWarning,
            stacklevel=stack_level(),
        )

    def _delete_statement(self, timestamp: int | None) -> DeleteStatement:
        """Return the DELETE; raise QueryException without a partition key."""
        warn_of_dropped_conditions(self._options, "DELETE")
        self._warn_of_limit("DELETE")
        # The names of the columns with an equality filter. Servers refuse a DELETE unless these
        # include the whole partition key.
        filtered = {
            clause.field
            for clause in self._where
            if isinstance(clause.operator, (EqualsOperator, InOperator))
        }
        missing = [name for name in self._partition_columns() if name not in filtered]
        if missing:
            raise QueryException(
                "The partition key must be defined on delete queries: there is no filter for "
                + ", ".join(missing)
            )
        return DeleteStatement(
            self.column_family_name,
            where=[_copied(clause) for clause in self._where],
            timestamp=timestamp,
            conditionals=self._options.conditionals,
            if_exists=self._options.if_exists,
        )


class _Rows(Iterator[T]):
    """Iterates over the rows of a queryset, and reads only rows that the queryset has not read yet.

    Unlike a generator, this iterator continues if the caller calls `next` again after an error.
    """

    __slots__ = ("_index", "_queryset")

    def __init__(self, queryset: AbstractQuerySet[T]) -> None:
        self._queryset = queryset
        self._index = 0  # the index of the next row in the queryset's list of rows

    def __next__(self) -> T:
        index = self._index
        row: T
        try:
            row = self._queryset._start()[index]
        except IndexError:
            with self._queryset._rows_lock():
                row = self._read_next()
        self._index = index + 1
        return row

    def _read_next(self) -> Any:
        """Read the next row, and add it to the queryset's list. The caller holds the lock."""
        queryset = self._queryset
        rows = queryset._start()
        if self._index < len(rows):  # another thread has read the row in the meantime
            return rows[self._index]
        pending = queryset._pending
        if pending is None:
            raise StopIteration
        try:
            row = next(pending)
        except StopIteration:
            queryset._pending = None
            raise
        except BaseException:
            # An iterator may not be usable after it has raised an error. A new iterator of the
            # result continues at the next row.
            queryset._pending = iter(queryset._result)
            raise
        rows.append(row)
        return row


class _AwaitedRows(AsyncIterator[T]):
    """Iterates over the rows of a queryset on a connection of `cassandra.aio`.

    Unlike an asynchronous generator, this iterator continues if the caller calls `anext` again
    after an error.
    """

    __slots__ = ("_queryset", "_rows")

    def __init__(self, queryset: AbstractQuerySet[T]) -> None:
        self._queryset = queryset
        self._rows: AsyncIterator[T] | None = None  # the rows of the result, once it has come

    async def __anext__(self) -> T:
        if self._rows is None:
            queryset = self._queryset
            if queryset._cache is not None and queryset._pending is None:
                self._rows = _rows_of_list(queryset._cache)
            else:
                self._rows = aiter(await awaited(queryset._request()))
        return await anext(self._rows)


async def _rows_of_list(rows: Sequence[Any]) -> AsyncIterator[Any]:
    for row in rows:
        yield row


def _copied(clause: WhereClause) -> WhereClause:
    """Return a copy of a filter, to be added to a statement.

    Several querysets share a filter object, and a statement sets marker numbers in its clauses. So
    each statement needs its own copies.
    """
    if isinstance(clause, IsNotNullClause):
        return type(clause)(clause.field)
    return WhereClause(clause.field, clause.operator, clause.value, clause.quote_field)


def is_lookup(clause: WhereClause) -> bool:
    """Return True if servers can use a key or an index of the filter's column to find rows."""
    # Compare the exact class, because LIKE and != derive from `=`.
    return type(clause.operator) in (EqualsOperator, InOperator, ContainsOperator)


def is_fixed(clause: WhereClause) -> bool:
    """Return True if the filter is ``column = value`` with a value that the client knows."""
    return type(clause.operator) is EqualsOperator and not isinstance(clause.value, QueryValue)


AbstractQuerySet.__module__ = "cassandra.cqlengine.query"


def _instead_of_name(value: Any) -> str:
    """Return the end of an error message that says why `value` is not a column's name."""
    if isinstance(value, (list, tuple)):
        return f"a {type(value).__name__}: write order_by({', '.join(map(repr, value))})"
    column = getattr(value, "column", None)
    if column is not None:
        name = column.column_name
        return f"a column: write order_by({name!r}), or order_by({'-' + name!r}) for descending"
    return f"{value!r} ({type(value).__name__}): write order_by('column')"


advise_on_fields(AbstractQuerySet, "only", "defer", "distinct")
advise_on_filters(AbstractQuerySet, "all", "delete", "adelete")
add_habits(AbstractQuerySet, QUERYSET)
