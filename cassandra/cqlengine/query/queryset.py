"""QuerySets: reads that are put together step by step, and executed when rows are looked at."""

from __future__ import annotations

from collections.abc import AsyncIterator, Generator, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from cassandra.cqlengine.clauses import AnnClause, ConditionalClause, IsNotNullClause, WhereClause
from cassandra.cqlengine.errors import CQLEngineException
from cassandra.cqlengine.functions import QueryValue
from cassandra.cqlengine.mapping import StatementPlan
from cassandra.cqlengine.operators import (
    ContainsOperator,
    EqualsOperator,
    InOperator,
)
from cassandra.cqlengine.options import DEFAULTS, Options
from cassandra.cqlengine.query.batch import BatchQuery
from cassandra.cqlengine.query.errors import QueryException, check_applied
from cassandra.cqlengine.running import Operation, Request, arun, awaited, blocking, run
from cassandra.cqlengine.statements import DeleteStatement, SelectStatement
from cassandra.query.row_factories import tuple_factory
from cassandra.query.statement import FETCH_SIZE_UNSET
from cassandra.util.cql_text import escape_name

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["AbstractQuerySet"]

T = TypeVar("T")
DEFAULT_LIMIT = 10_000


class AbstractQuerySet(Generic[T]):
    """The common part of querysets of models and of named tables.

    Each method that narrows returns a new queryset. Rows are fetched page by page while they
    are iterated over, and kept, so
    that a second look fetches nothing.

    :param model: the model or named table whose rows it gives.
    """

    # What most querysets leave as it is stands here, so that making and copying one costs little.
    _how: Options = DEFAULTS

    @property
    def _connection(self) -> str | None:
        # Programs set it on a queryset of their own.
        return self._how.connection

    @_connection.setter
    def _connection(self, name: str | None) -> None:
        self._how = self._how.but(connection=name)

    _where: tuple[WhereClause, ...] = ()
    _order: tuple[str, ...] = ()
    _ann: AnnClause | None = None
    _limit: int | None = DEFAULT_LIMIT
    _allow_filtering = False
    _only_fields: tuple[str, ...] = ()
    _defer_fields: tuple[str, ...] = ()
    _distinct: tuple[str, ...] = ()
    _fetch_size: Any = FETCH_SIZE_UNSET
    _cache: list[Any] | None = None
    _pending: Iterator[Any] | None = None
    _result: Any = None
    _count: int | None = None  # for subclasses, such as those of django-cassandra-engine

    def __init__(self, model: Any) -> None:
        self.model = model

    # -- what the kinds of querysets say --------------------------------------------------------

    def _terms_of(self, name: str, value: object) -> WhereClause:
        """The relation that the keyword `name` and its value say."""
        raise NotImplementedError

    def _condition_of(self, name: str, value: object) -> ConditionalClause:
        clause = self._terms_of(name, value)
        return ConditionalClause(clause.field, clause.value, clause.operator)

    def _factory(self, select: StatementPlan) -> Any:
        """The row factory of `select`."""
        raise NotImplementedError

    def _fields(self) -> list[str]:
        """The columns to select; empty for all."""
        return []

    def _select_plan(self, count: bool) -> StatementPlan:
        """The statement plan of the select; QueryException if servers would refuse its filters."""
        return StatementPlan(self._statement(count).prepared())

    @property
    def column_family_name(self) -> str:
        """The table, with its keyspace."""
        return str(self.model.column_family_name())

    def _partition_columns(self) -> Sequence[str]:
        """The database's names of the partition key's columns."""
        raise NotImplementedError

    # -- copies ---------------------------------------------------------------------------------

    def _copy(self) -> Self:
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__)
        if self._cache is not None:
            made._cache = made._pending = made._result = None
        if self._count is not None:
            made._count = None
        return made

    def _but(self, **changes: Any) -> Self:
        made = self._copy()
        made._how = self._how.but(**changes)
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self._copy()

    def __eq__(self, other: object) -> bool:
        return (
            type(other) is type(self)
            and self.model is other.model
            and self._state() == other._state()
        )

    __hash__ = None  # type: ignore[assignment]

    def _state(self) -> tuple[Any, ...]:
        where = [(c.field, str(c.operator), c.value) for c in self._where]
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

    # -- statements -----------------------------------------------------------------------------

    def _statement(self, count: bool = False) -> SelectStatement:
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
            ann=self._ann and AnnClause(self._ann.field, self._ann.value),
        )

    def __str__(self) -> str:
        return str(self._statement())

    def _request(
        self, factory: Any = None, most: int | None = None, count: bool = False
    ) -> Request:
        """The request of the select.

        :param most: rows that are looked at; fewer than the queryset's limit may be asked for.
        """
        how = self._how
        if how.batch is not None:
            raise CQLEngineException(
                "Only inserts, updates, and deletes are available in batch mode"
            )
        select = self._select_plan(count)
        values: list[Any] = []
        for clause in self._where:
            values += clause.bound()
        limit = self._limit
        if self._ann is not None:
            self._check_neighbours(most, count)
            values.append(self._ann.value)
        if limit:
            values.append(limit if most is None or most > limit else most)
        return Request(
            select.text,
            values,
            how.connection or self.model.__connection__,
            self._factory(select) if factory is None else factory,
            how.consistency if how.consistency is not None else self.model.__consistency__,
            how.timeout,
            self._fetch_size,
        )

    def _check_neighbours(self, most: int | None, count: bool) -> None:
        """QueryException unless the statement says how many neighbours are wanted."""
        if count or self._distinct:
            raise QueryException(
                "rows that are ordered by ann_of cannot be counted, or be distinct"
            )
        if most is None and self._limit in (None, 0, DEFAULT_LIMIT):
            raise QueryException(
                "order_by(column.ann_of(...)) needs limit(n): how many neighbours are wanted"
            )

    # -- narrowing ------------------------------------------------------------------------------

    def all(self) -> Self:
        """Return a queryset of the same rows, which are fetched anew."""
        return self._copy()

    def filter(self, *args: Any, **kwargs: Any) -> Self:
        """Return a queryset of the rows for which all filters hold.

        :param args: expressions, such as ``Model.age > 5``.
        :param kwargs: ``column=value`` or ``column__operator=value``.
        :raises QueryException: for an unknown column, and for objects that are not filters.
        :raises ValidationError: for a value that the column cannot hold.
        """
        made = self._copy()
        found = list(self._where)
        for clause in args:
            if not isinstance(clause, WhereClause):
                raise QueryException(f"{clause!r} is not a valid query operator")
            found.append(self._checked(clause))
        for name, value in kwargs.items():
            found.append(self._terms_of(name, value))
        made._where = tuple(found)
        return made

    def _checked(self, clause: WhereClause) -> WhereClause:
        return clause

    def __call__(self, *args: Any, **kwargs: Any) -> Self:
        return self.filter(*args, **kwargs)

    def iff(self, *args: Any, **kwargs: Any) -> Self:
        """Return a queryset whose update or delete is only applied if all conditions hold.

        :param args: conditions, such as ``Model.age > 5``.
        :param kwargs: values by name, with an operator if it is not equality: ``age__gt=5``.
        """
        return self._but(conditionals=(*self._how.conditionals, *self.conditions(*args, **kwargs)))

    def conditions(self, *args: Any, **kwargs: Any) -> tuple[ConditionalClause, ...]:
        """Return the conditions that the arguments of `iff` say.

        :param args: as in `iff`.
        :param kwargs: as in `iff`.
        """
        found: list[ConditionalClause] = []
        for clause in args:
            if isinstance(clause, WhereClause):
                clause = ConditionalClause(clause.field, clause.value, clause.operator)
            if not isinstance(clause, ConditionalClause):
                raise QueryException(f"{clause!r} is not a valid query operator")
            found.append(clause)
        found += [self._condition_of(name, value) for name, value in kwargs.items()]
        return tuple(found)

    def order_by(self, *colnames: str | AnnClause) -> Self:
        """Return a queryset ordered by clustering columns; ``-name`` is descending.

        Without names: in the table's order. ``Model.column.ann_of(vector)`` alone orders by the
        distance to a vector.

        :param colnames: the columns' names, the first one first.
        :raises QueryException: if an ``ann_of`` stands beside something else.
        """
        made = self._copy()
        made._ann = None
        if any(isinstance(one, AnnClause) for one in colnames):
            if len(colnames) > 1 or self._order:
                raise QueryException("ann_of cannot be combined with another ordering")
            (made._ann,) = colnames  # type: ignore[assignment]
            return made
        if colnames and self._ann is not None:
            raise QueryException("ann_of cannot be combined with another ordering")
        made._order = (*self._order, *map(self._ordering, colnames)) if colnames else ()
        return made

    def _ordering(self, colname: Any) -> str:
        column, order = self._get_ordering_condition(colname)
        return f"{escape_name(column)} {order}"

    def _get_ordering_condition(self, colname: str) -> tuple[str, str]:
        """The column's name in the database, and ASC or DESC; programs' subclasses call it too."""
        return colname.removeprefix("-"), "DESC" if colname.startswith("-") else "ASC"

    def limit(self, v: int | None) -> Self:
        """Return a queryset of at most `v` rows; None and 0 are for no limit.

        There is a limit of 10,000 rows unless this says otherwise.

        :param v: the greatest number of rows.
        :raises QueryException: if `v` is negative.
        """
        if v is not None and (isinstance(v, bool) or not isinstance(v, int)):
            raise TypeError(f"a limit is a number or None, not {v!r}")
        if v is not None and v < 0:
            raise QueryException("Negative limit is not allowed")
        made = self._copy()
        made._limit = v
        return made

    def fetch_size(self, v: int) -> Self:
        """Return a queryset whose rows come in pages of `v`.

        :param v: rows per page.
        :raises QueryException: if `v` is less than 1.
        """
        if isinstance(v, bool) or not isinstance(v, int):
            raise TypeError(f"a fetch size is a number, not {v!r}")
        if v < 1:
            raise QueryException("fetch size less than 1 is not allowed")
        made = self._copy()
        made._fetch_size = v
        return made

    def allow_filtering(self) -> Self:
        """Return a queryset with ALLOW FILTERING.

        The servers look through rows, and may take long.
        """
        made = self._copy()
        made._allow_filtering = True
        return made

    def distinct(self, distinct_fields: Sequence[str] | None = None) -> Self:
        """Return a queryset of distinct partitions.

        :param distinct_fields: columns of the partition key, and static ones; the partition key
            if it is not given.
        """
        made = self._copy()
        made._distinct = tuple(distinct_fields or self._partition_columns())
        return made

    def only(self, fields: Sequence[str]) -> Self:
        """Return a queryset that reads these columns alone.

        :param fields: the columns' names.
        """
        if self._only_fields:
            raise QueryException("QuerySet already has 'only' fields defined")
        made = self._copy()
        made._only_fields = tuple(self._known(fields))
        return made

    def defer(self, fields: Sequence[str]) -> Self:
        """Return a queryset that does not read these columns.

        :param fields: the columns' names.
        """
        made = self._copy()
        made._defer_fields = (*self._defer_fields, *self._known(fields))
        return made

    def _known(self, fields: Sequence[str]) -> Sequence[str]:
        if isinstance(fields, str):
            raise QueryException(f"the fields are a list of names, not {fields!r}")
        return fields

    # -- options --------------------------------------------------------------------------------

    def consistency(self, consistency: int) -> Self:
        """Return a queryset with this `ConsistencyLevel`.

        :param consistency: the level.
        """
        return self._but(consistency=consistency)

    def timeout(self, timeout: float | None) -> Self:
        """Return a queryset with this timeout, in seconds; None for no limit.

        :param timeout: the seconds.
        """
        return self._but(timeout=timeout)

    def using(self, keyspace: str | None = None, connection: str | None = None) -> Self:
        """Return a queryset on another keyspace, or another connection.

        :param keyspace: its name; None keeps the present one.
        :param connection: its name; None keeps the present one.
        """
        changes: dict[str, Any] = {}
        if keyspace is not None:
            changes["keyspace"] = keyspace
        if connection is not None:
            if self._how.batch is not None:
                raise CQLEngineException("Cannot specify a connection on model in batch mode.")
            changes["connection"] = connection
        return self._but(**changes)

    def batch(self, batch_obj: BatchQuery | None) -> Self:
        """Return a queryset whose writes are added to `batch_obj`.

        :param batch_obj: a `BatchQuery`, or None for none.
        :raises CQLEngineException: if it is not a `BatchQuery`, or the queryset has a timeout
            or a connection.
        """
        if batch_obj is not None and not isinstance(batch_obj, BatchQuery):
            raise CQLEngineException("batch_obj must be a BatchQuery instance or None")
        if batch_obj is not None and self._how.connection:
            raise CQLEngineException("Cannot specify the connection on model in batch mode.")
        return self._but(batch=batch_obj)

    # -- reading, blocking ----------------------------------------------------------------------

    def _start(self) -> list[Any]:
        if self._cache is None:
            self._result = blocking(self._request())
            # Only after the request succeeded: a failed one is executed again at the next look.
            self._cache = []
            self._pending = iter(self._result)
        return self._cache

    def _fill(self, count: int | None = None) -> list[Any]:
        """Fetch until `count` rows are there, or all."""
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
            # Asked again, the result goes on where it failed.
            self._pending = iter(self._result)
            raise
        if count is not None and len(rows) < count:
            self._pending = None
        return rows

    def __iter__(self) -> Iterator[T]:
        # By position in the shared list: several loops over one queryset fetch each row once.
        rows = self._start()
        at = 0
        while True:
            if at == len(rows):
                pending = self._pending
                if pending is None:
                    return
                try:
                    rows.append(next(pending))
                except StopIteration:
                    self._pending = None
                    return
                except BaseException:
                    self._pending = iter(self._result)
                    raise
            yield rows[at]
            at += 1

    def __len__(self) -> int:
        return len(self._fill())

    def __bool__(self) -> bool:
        return bool(self._fill(1))

    def __getitem__(self, s: Any) -> Any:
        if isinstance(s, slice):
            negative = any(end is not None and end < 0 for end in (s.start, s.stop, s.step))
            most = None if negative or s.stop is None else s.stop
            return self._fill(most)[s]
        at = int(s)
        rows = self._fill(None if at < 0 else at + 1)
        try:
            return rows[at]
        except IndexError:
            raise IndexError(f"the queryset has {len(rows)} rows: there is none at {at}") from None

    def get(self, *args: Any, **kwargs: Any) -> T:
        """Return the only row.

        :param args: conditions, such as ``Model.age > 5``.
        :param kwargs: values by name, with an operator if it is not equality: ``age__gt=5``.
        :raises DoesNotExist: (of the model's class too) if there is none.
        :raises MultipleObjectsReturned: if there are more.
        """
        rows = self.filter(*args, **kwargs) if args or kwargs else self
        found: T
        if rows._cache is not None:
            found = rows._single(rows._fill(2))
        else:
            found = run(rows._get())
        return found

    def _get(self) -> Operation[Any]:
        result = yield self._request(most=2)
        return self._single(result.current_rows)

    def _single(self, rows: Sequence[Any]) -> Any:
        if not rows:
            raise self.model.DoesNotExist(f"{self._shown()} does not exist")
        if len(rows) > 1:
            raise self.model.MultipleObjectsReturned(f"Multiple objects found for {self._shown()}")
        return rows[0]

    def _shown(self) -> str:
        filters = ", ".join(f"{c.field} {c.operator} {c.value!r}" for c in self._where)
        return f"{getattr(self.model, '__name__', self.model)} with {filters or 'no filter'}"

    def first(self) -> T | None:
        """Return the first row; None if there is none."""
        if self._cache is not None:
            rows = self._fill(1)
            return rows[0] if rows else None
        found: T | None = run(self._first())
        return found

    def _first(self) -> Operation[Any]:
        result = yield self._request(most=1)
        return result.one()

    def count(self) -> int:
        """Return the number of rows, by SELECT COUNT: on many rows it is slow.

        Of a queryset with `distinct`, which the servers do not count, all partition keys are read.
        """
        return run(self._counting())

    def _counting(self) -> Generator[Request, Any, int]:
        if self._distinct:
            request = self._request(tuple_factory)
            request.whole = True
            return len((yield request))
        result = yield self._request(tuple_factory, count=True)
        return int(result.one()[0])

    # -- reading, awaited -----------------------------------------------------------------------

    async def __aiter__(self) -> AsyncIterator[T]:
        if self._cache is not None and self._pending is None:
            for row in self._cache:
                yield row
            return
        async for row in await awaited(self._request()):
            yield row

    async def aall(self) -> list[T]:
        """Return all rows in a list."""
        return [row async for row in self]

    async def aget(self, *args: Any, **kwargs: Any) -> T:
        """`get` on a connection of `cassandra.aio`.

        :param args: conditions, such as ``Model.age > 5``.
        :param kwargs: values by name, with an operator if it is not equality: ``age__gt=5``.
        """
        found: T = await arun(self.filter(*args, **kwargs)._get())
        return found

    async def afirst(self) -> T | None:
        """`first` on a connection of `cassandra.aio`."""
        found: T | None = await arun(self._first())
        return found

    async def acount(self) -> int:
        """`count` on a connection of `cassandra.aio`."""
        return await arun(self._counting())

    # -- writing --------------------------------------------------------------------------------

    def create(self, **kwargs: Any) -> T:
        """Insert a row and return it.

        :param kwargs: values by the attributes' names.
        """
        made: T = self.model(**kwargs)
        return made

    def delete(self) -> None:
        """Delete the rows of the filters, which must name the partition key.

        :raises QueryException: if they do not.
        :raises LWTException: if it is conditional and was not applied.
        """
        run(self._delete())

    async def adelete(self) -> None:
        """`delete` on a connection of `cassandra.aio`."""
        await arun(self._delete())

    def _delete(self) -> Operation[None]:
        statement = self._delete_statement(None)
        result = yield Request(
            statement.prepared(),
            statement.bound(),
            self._how.connection or self.model.__connection__,
            consistency=self._how.consistency,
            timeout=self._how.timeout,
        )
        if self._how.is_conditional:
            check_applied(result)

    def _delete_statement(self, timestamp: int | None) -> DeleteStatement:
        given = {
            clause.field
            for clause in self._where
            if isinstance(clause.operator, (EqualsOperator, InOperator))
        }
        missing = [name for name in self._partition_columns() if name not in given]
        if missing:
            raise QueryException(
                "The partition key must be defined on delete queries: there is no filter for "
                + ", ".join(missing)
            )
        return DeleteStatement(
            self.column_family_name,
            where=[_copied(clause) for clause in self._where],
            timestamp=timestamp,
            conditionals=self._how.conditionals,
            if_exists=self._how.if_exists,
        )


def _copied(clause: WhereClause) -> WhereClause:
    """A statement numbers its clauses: those of a queryset stay as they are."""
    if isinstance(clause, IsNotNullClause):
        return type(clause)(clause.field)
    return WhereClause(clause.field, clause.operator, clause.value, clause.quote_field)


def is_lookup(clause: WhereClause) -> bool:
    """Return True if the filter finds rows by an index or a key, rather than looks through them."""
    # The exact classes, because LIKE and != derive from `=`.
    return type(clause.operator) in (EqualsOperator, InOperator, ContainsOperator)


def is_fixed(clause: WhereClause) -> bool:
    """Return True if the filter gives its column one value."""
    return type(clause.operator) is EqualsOperator and not isinstance(clause.value, QueryValue)


AbstractQuerySet.__module__ = "cassandra.cqlengine.query"
