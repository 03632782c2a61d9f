"""QuerySets of models and of named tables."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from cassandra._habits import stack_level
from cassandra.cqlengine.clauses import (
    AssignmentClause,
    ConditionalClause,
    IsNotNullClause,
    ListUpdateClause,
    MapUpdateClause,
    SetUpdateClause,
    WhereClause,
)
from cassandra.cqlengine.columns.base import Column
from cassandra.cqlengine.columns.containers import Tuple, removed_keys
from cassandra.cqlengine.connection import default_keyspace
from cassandra.cqlengine.errors import CQLEngineException, ValidationError
from cassandra.cqlengine.functions import QueryValue, Token
from cassandra.cqlengine.mapping import InstanceRows, StatementPlan, context_class
from cassandra.cqlengine.operators import (
    BaseWhereOperator,
    ContainsOperator,
    EqualsOperator,
    InOperator,
    LikeOperator,
    NotEqualsOperator,
)
from cassandra.cqlengine.options import DEFAULTS, checked_ttl
from cassandra.cqlengine.query.bulk import creations
from cassandra.cqlengine.query.columnar import ColumnarReads
from cassandra.cqlengine.query.dml import (
    DMLQuery,
    execute_write,
    run_custom_dmlquery,
    save,
    timestamp_of,
    warn_of_dropped_conditions,
)
from cassandra.cqlengine.query.errors import (
    IfExistsWithCounterColumn,
    IfNotExistsWithCounterColumn,
    QueryException,
)
from cassandra.cqlengine.query.expressions import ColumnQueryEvaluator, filter_value
from cassandra.cqlengine.query.queryset import AbstractQuerySet, is_fixed, is_lookup
from cassandra.cqlengine.running import Operation, arun, run
from cassandra.cqlengine.statements import (
    DeleteStatement,
    Timestamp,
    UpdateStatement,
    check_timestamp,
)
from cassandra.cqlengine.unpaired import warn_of_unpaired
from cassandra.cqlengine.wrong_calls import advise_on_fields, advise_on_values
from cassandra.util.cql_text import escape_name

if TYPE_CHECKING:
    from typing_extensions import Self

    from cassandra.cqlengine.values import Values

T = TypeVar("T")
_EQUALS = EqualsOperator()
_PK_TOKEN = "pk__token"  # the keyword of filters by the token of the partition key

# The operations that `update` accepts after two underscores, as in ``tags__add``. The key is the
# update clause of the collection.
_OPERATIONS = {
    SetUpdateClause: ("add", "remove"),
    ListUpdateClause: ("append", "prepend", "remove"),
    MapUpdateClause: ("update", "remove"),
}


class ResultObject(dict[str, Any]):
    """A row of a named table: a dict whose values are also attributes."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"the row has no column {name!r}") from None


def _result_objects(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> list[ResultObject]:
    return [ResultObject(zip(names, row, strict=True)) for row in rows]


def split_operator(name: str) -> tuple[str, BaseWhereOperator]:
    """Split a filter's name ``column__operator``; return the column's name and the operator object.

    Without an operator, as in ``column``, the operator is ``=``.
    """
    # Split from the right, because the name of a column may contain two underscores.
    column, separator, symbol = name.rpartition("__")
    if not separator or not column:
        return name, _EQUALS
    return column, BaseWhereOperator.get_operator(symbol)()


def _value_converter(column: Any, operator: BaseWhereOperator) -> Callable[[Any], Any] | None:
    """Return a function that checks a filter's value and converts it to the form that is bound.

    The function is only called for plain values, not for None or a `QueryValue`. Return None if the
    operator needs more checks (IN, CONTAINS and tokens).
    """
    if column is _PK_TOKEN or isinstance(operator, (InOperator, ContainsOperator)):
        return None
    # If the column's class inherits `to_filter`, return the method that `to_filter` would call.
    # This saves one call for each value.
    if type(column).to_filter is Column.to_filter:
        if not column._converts_as_stock:
            return column.to_database  # type: ignore[no-any-return]
        if column.wire is None:
            return column.validate  # type: ignore[no-any-return]
    return column.to_filter  # type: ignore[no-any-return]


class SimpleQuerySet(AbstractQuerySet[ResultObject]):
    """The queryset of a `NamedTable`, whose columns are not known."""

    def _where_clause_for(self, name: str, value: object) -> WhereClause:
        """Return the WHERE clause for one keyword argument of `filter`, such as ``age__gt=5``."""
        column, operator = split_operator(name)
        if isinstance(value, Token):
            if column != _PK_TOKEN:
                raise QueryException(
                    f"Token() values may only be compared to '{_PK_TOKEN}', not by {name}"
                )
            keys = ", ".join(escape_name(key) for key in self._partition_columns())
            return WhereClause(f"token({keys})", operator, value, quote_field=False)
        if value is None:
            raise CQLEngineException(f"None values on filter are not allowed ({name})")
        return WhereClause(column, operator, value)

    def _factory(self, select: StatementPlan) -> Callable[..., Any]:
        return _result_objects

    def _fields(self) -> list[str]:
        names = [name for name in self._only_fields if name not in self._defer_fields]
        if not names:
            self._refuse_no_fields()
        return names

    @property
    def column_family_name(self) -> str:
        options = self._options
        if options.keyspace is None and options.connection is None:
            return str(self.model.column_family_name())
        return str(self.model.name_in(options.keyspace or self.model.keyspace, options.connection))

    def _partition_columns(self) -> Sequence[str]:
        options = self._options
        return self.model.partition_columns(  # type: ignore[no-any-return]
            options.connection, options.keyspace
        )

    def create(self, **kwargs: Any) -> ResultObject:
        raise CQLEngineException("a named table has no model: rows are created by models alone")


class ModelQuerySet(ColumnarReads, AbstractQuerySet[T]):
    """The queryset of a model."""

    # Set by `values_list`: the names of its columns, and the value of `flat`. If `_listed` is an
    # empty tuple, all columns are read; if it is None, `values_list` was not called.
    _listed: tuple[str, ...] | None = None
    _flat = False

    @property
    def column_family_name(self) -> str:
        return str(self.model.__mapping__.table_name(self._options.keyspace))

    # -- filters --------------------------------------------------------------------------------

    def _where_clause_for(self, name: str, value: object) -> WhereClause:
        """Return the WHERE clause for one keyword argument of `filter`, such as ``age__gt=5``."""
        mapping = self.model.__mapping__
        # Cache the column and the operator of each keyword, because applications use the same few
        # keywords again and again.
        parsed = mapping.terms.get(name)
        if parsed is None:
            column, operator = self._column_and_operator(name)
            parsed = mapping.terms[name] = (column, operator, _value_converter(column, operator))
        column, operator, convert = parsed
        if convert is not None and value is not None and not isinstance(value, QueryValue):
            return WhereClause(column.db_field_name, operator, convert(value))
        # The code below handles the values that need more checks: functions, tokens, None, and
        # lists for IN.
        if isinstance(value, Token):
            return self._token_clause(column, operator, value)
        if column is _PK_TOKEN:
            raise QueryException(f"'{_PK_TOKEN}' is compared with a Token(...), not with {value!r}")
        return WhereClause(column.db_field_name, operator, filter_value(column, operator, value))

    def _column_and_operator(self, name: str) -> tuple[Any, BaseWhereOperator]:
        """Return the column and the operator of a filter's keyword, such as ``age__gt``.

        For ``pk__token``, return `_PK_TOKEN` in place of a column.

        :raises QueryException: if there is no such column.
        """
        mapping = self.model.__mapping__
        if name in mapping.columns:  # the name of a column may contain two underscores
            return mapping.columns[name], _EQUALS
        if name == _PK_TOKEN:
            return _PK_TOKEN, _EQUALS
        if name.lower().endswith("__token"):
            raise QueryException(
                f"Token() values may only be compared to the '{_PK_TOKEN}' virtual column, not "
                f"by {name}"
            )
        column_name, operator = split_operator(name)
        if column_name == _PK_TOKEN:
            return _PK_TOKEN, operator
        column = mapping.column_of(column_name)
        if column is None:
            names = ", ".join(mapping.columns)
            raise QueryException(
                f"Can't resolve column name: '{column_name}'; {self.model.__name__} has {names}"
            )
        return column, operator

    def _token_clause(self, column: Any, operator: BaseWhereOperator, value: Token) -> WhereClause:
        """Return the filter ``token(partition key) operator token(values)``."""
        if column is not _PK_TOKEN:
            raise QueryException(
                f"Token() values may only be compared to the '{_PK_TOKEN}' virtual column"
            )
        keys = list(self.model.__mapping__.partition_keys.values())
        if len(value.value) != len(keys):
            raise QueryException(
                f"Token() received {len(value.value)} arguments but model has {len(keys)} "
                "partition keys"
            )
        # Copy the Token, because the application may use it for other models too.
        token = Token(*value.value)
        # Let each column of the partition key convert its value.
        token.value = tuple(key.validate(part) for key, part in zip(keys, value.value, strict=True))
        token.set_columns(keys)
        names = ", ".join(key.cql for key in keys)
        return WhereClause(f"token({names})", operator, token, quote_field=False)

    def _checked_clause(self, clause: WhereClause) -> WhereClause:
        """Check the column of an expression such as ``Model.age > 5``, and return its clause.

        :raises QueryException: if the model has no such column.
        """
        mapping = self.model.__mapping__
        if isinstance(clause, IsNotNullClause) and clause.field in mapping.columns:
            return type(clause)(mapping.columns[clause.field].db_field_name)
        # If `quote_field` is False, the field is not a column but an expression, such as
        # token("id").
        if clause.quote_field and clause.field not in mapping.db_index:
            raise QueryException(
                f"Can't resolve column name: '{clause.field}' in {self.model.__name__}"
            )
        return clause

    def _advice_on_filter(self, value: object) -> str:
        if isinstance(value, Mapping):
            return "write two asterisks before the mapping, filter(**values)"
        if isinstance(value, bool):
            return (
                "Python has compared the values itself; write filter(column=value), or "
                "Model.column == value"
            )
        if isinstance(value, ColumnQueryEvaluator):
            return "write a comparison, Model.column == value, or column=value"
        if isinstance(value, (list, tuple)) and value and isinstance(value[0], WhereClause):
            return "pass each condition as an argument, filter(*conditions)"
        if isinstance(value, str) and "=" in value:
            return "a condition is no text: write filter(column=value), or Model.column == value"
        key = next(iter(self.model.__mapping__.primary_keys), "column")
        return f"name the column of each value, as in {self.model.__name__}.get({key}={value!r})"

    def _condition_of(self, name: str, value: object) -> ConditionalClause:
        """Return the condition of IF for one keyword argument of `iff`, such as ``age__gt=5``."""
        # Unlike a filter, a condition may compare with null, so do not check the value.
        if value is None:
            column, operator = self._column_and_operator(name)
            return ConditionalClause(column.db_field_name, value=None, operator=operator)
        return super()._condition_of(name, value)

    def _check_filters(self) -> None:
        """Raise QueryException if servers would refuse the filters without ALLOW FILTERING."""
        if self._allow_filtering or not self._where:
            return
        mapping = self.model.__mapping__
        # If servers can use one of the filters to find the rows without reading the whole table,
        # the filters are valid.
        for clause in self._where:
            # With a filter by a token range, servers read only this range.
            if isinstance(clause.value, Token):
                return
            position = mapping.db_index.get(clause.field)
            column = None if position is None else mapping.order[position]
            if column is None:
                continue
            # The application has created an index of this column itself, so servers may accept the
            # filter.
            if column.custom_index:
                return
            if isinstance(clause.operator, LikeOperator):
                if column.index:
                    return
                continue
            if (column.primary_key or column.index) and is_lookup(clause):
                return
        for clause in self._where:
            if type(clause.operator) is NotEqualsOperator:
                raise QueryException(
                    f"{clause.field} != {clause.value!r}: most servers have this condition in "
                    "iff() only, even with allow_filtering(): leave rows out in your program"
                )
        raise QueryException(
            "a filter needs one column of the primary key, or one with an index, that is "
            "compared by =, IN or CONTAINS: "
            f"{self._description()} has none. Call allow_filtering() to have the servers look "
            "through all rows, or set custom_index "
            "on columns whose index the mapper does not manage."
        )

    # -- what is selected -----------------------------------------------------------------------

    def _fixed_columns(self) -> list[tuple[int, Column[Any]]]:
        """Return (index of the filter, column) for each column that an equality filter fixes.

        These columns are not selected, because the filter already has their value (see
        `cassandra.cqlengine.mapping`).
        """
        mapping = self.model.__mapping__
        return [
            (index, mapping.order[mapping.db_index[clause.field]])
            for index, clause in enumerate(self._where)
            if self._fixes_column(clause)
        ]

    def _fixes_column(self, clause: WhereClause) -> bool:
        """Return True if instances get the column's value from the filter, so it is not selected.

        A value of a collection or user-defined type has another form in the filter than in
        instances, so these columns are selected. A tuple of scalars is taken from the filter. The
        tuple may be shorter than its type: servers would return it with nulls at its end, and an
        instance with these nulls in its key would write another row.
        """
        # If `quote_field` is False, the field is an expression such as token(id), which does not
        # determine the value of a column.
        if not clause.quote_field or not is_fixed(clause):
            return False
        mapping = self.model.__mapping__
        column = mapping.order[mapping.db_index[clause.field]]
        return not column.sub_types or (
            isinstance(column, Tuple) and not any(each.sub_types for each in column.types)
        )

    def _fields(self) -> list[str]:
        """Return the columns to select, by their names in the database; [] selects all."""
        mapping = self.model.__mapping__
        is_narrowed = self._only_fields or self._defer_fields
        # `values_list` with names selects these columns. Without names, it selects all columns, or
        # the columns that remain after `only` and `defer`.
        if self._listed is not None and (self._listed or not is_narrowed):
            return [mapping.columns[name].db_field_name for name in self._listed]
        # Rows of subclasses have columns that this class does not have, so select all columns.
        if not is_narrowed and mapping.has_other_columns():
            return []
        fixed = {clause.field for clause in self._where if self._fixes_column(clause)}
        if not is_narrowed and not fixed:
            return []
        names = [
            name for name in self._only_fields or mapping.names if name not in self._defer_fields
        ]
        if not names:
            # As in cassandra-driver, read the partition key if `defer` has all columns.
            self._refuse_no_fields()
            names = list(mapping.partition_keys)
        # Always select the discriminator, because it determines the class of a row.
        if mapping.discriminator is not None and mapping.discriminator not in names:
            names.append(mapping.discriminator)
        fields = [mapping.columns[name].db_field_name for name in mapping.names if name in names]
        selected = [field for field in fields if field not in fixed]
        # CQL must select at least one column, even if the filters fix all columns.
        return selected or fields

    def _select_plan(self, count: bool) -> StatementPlan:
        """Return the cached plan of the SELECT."""
        mapping = self.model.__mapping__
        # The CQL depends only on the items of this tuple. The values of filters are bound, so they
        # are not items.
        key = (
            "select",
            self._options.keyspace or self.model.__keyspace__ or default_keyspace(),
            count,
            tuple([clause.shape() for clause in self._where]),
            tuple(self._order),
            bool(self._limit),
            self._allow_filtering,
            self._only_fields,
            self._defer_fields,
            self._distinct,
            self._listed,
            None if self._ann is None else self._ann.field,
        )
        plan: StatementPlan | None = mapping.statement_plans.get(key)
        if plan is None:
            self._check_filters()
            plan = mapping.statement_plan(
                key, lambda: StatementPlan(self._statement(count).prepared(), self._fixed_columns())
            )
        return plan

    def _factory(self, select: StatementPlan) -> Callable[..., Any]:
        """Return the row factory, which creates instances or, after `values_list`, lists."""
        if self._listed is not None:
            fixed = {
                column.db_field_name: self._where[index].value for index, column in select.fixed
            }
            return _ListRows(self.model, self._listed, self._flat, fixed)
        values = select.fixed_values(self._where)
        return InstanceRows(self._instance_class(), select.fixed_names, values)

    def _instance_class(self) -> type[Any]:
        """Return the class of the instances that are read.

        This is the model itself or, if `using` has set a keyspace or connection, the class that
        `context_class` derives from the model.
        """
        options = self._options
        if options.keyspace is None and options.connection is None:
            model: type[Any] = self.model
            return model
        return context_class(self.model, options.keyspace, options.connection)

    def _partition_columns(self) -> Sequence[str]:
        keys = self.model.__mapping__.partition_keys.values()
        return [column.db_field_name for column in keys]

    def distinct(self, distinct_fields: Sequence[str] | None = None) -> Self:
        if distinct_fields:
            columns = self.model.__mapping__.columns
            self._checked_fields(distinct_fields)
            distinct_fields = [columns[name].db_field_name for name in distinct_fields]
        return super().distinct(distinct_fields)

    def _checked_fields(self, fields: Sequence[str]) -> Sequence[str]:
        """Return `fields`; raise QueryException unless they are a list of the model's columns."""
        if isinstance(fields, str):
            raise QueryException(
                f"Can't resolve fields {fields!r} in {self.model.__name__}: pass a list, "
                f"[{fields!r}]"
            )
        unknown = [name for name in fields if name not in self.model.__mapping__.columns]
        if unknown:
            raise QueryException(
                f"Can't resolve fields {', '.join(unknown)} in {self.model.__name__}"
            )
        return fields

    def values_list(self, *fields: str, **kwargs: Any) -> ModelQuerySet[Any]:
        """Return a queryset whose rows are lists of values, in the order of `fields`.

        The values are in the database's form: `Column.to_python` is not called for them.

        :param fields: the names of the columns; without names, the lists have all columns.
        :param kwargs: ``flat=True`` returns the values themselves in place of lists of one value.
            It needs exactly one field.
        :raises TypeError: if another keyword is passed, or `flat` with several fields.
        """
        flat = kwargs.pop("flat", False)
        if kwargs:
            raise TypeError(f"Unexpected keyword arguments to values_list: {', '.join(kwargs)}")
        if flat and len(fields) != 1:
            raise TypeError(
                "'flat' is not valid when values_list is called with more than one field."
            )
        first: object = fields[0] if fields else ""
        if not isinstance(first, str):
            names = first if isinstance(first, (list, tuple)) else ["column"]
            raise QueryException(
                f"values_list takes names, not {first!r}: write "
                f"values_list({', '.join(map(repr, names))})"
            )
        self._checked_fields(fields)
        queryset: Any = self._copy()
        queryset._listed = fields
        queryset._flat = flat
        return queryset  # type: ignore[no-any-return]

    def _get_ordering_condition(self, colname: str) -> tuple[str, str]:
        """Return the column's name in the database, and ASC or DESC, for an argument of `order_by`.

        :raises QueryException: if the argument does not name a clustering column.
        """
        name, order = super()._get_ordering_condition(colname)
        # Look for the whole name first, because a minus sign in front may be part of the column's
        # name.
        if colname in self.model.__mapping__.columns:
            name, order = colname, "ASC"
        column = self.model.__mapping__.columns.get(name)
        if column is None:
            words = name.split()
            advice = ""
            if len(words) == 2 and words[1].lower() in ("asc", "desc"):
                sign = "-" if words[1].lower() == "desc" else ""
                advice = f": write order_by('{sign}{words[0]}')"
            raise QueryException(f"Can't resolve the column name: '{name}'{advice}")
        if not column.primary_key:
            raise QueryException(
                f"Can't order on '{name}', can only order on (clustered) primary keys"
            )
        if column.partition_key:
            raise QueryException(
                f"Can't order by '{name}' of the partition key, clustering (secondary) keys only"
            )
        return column.db_field_name, order

    # -- options of writes ----------------------------------------------------------------------

    def ttl(self, ttl: int | None) -> Self:
        """Return a queryset whose written values expire after `ttl` seconds.

        :param ttl: seconds; None for the table's default.
        :raises ValueError: if it is no number of seconds, negative, or beyond 32 bits.
        """
        return self._with_options(ttl=checked_ttl(ttl))

    def timestamp(self, timestamp: Timestamp) -> Self:
        """Return a queryset whose writes have this timestamp.

        :param timestamp: a datetime (a naive datetime is local time), a timedelta from now,
            microseconds since 1970, or None for no timestamp.
        :raises TypeError: if it is of another type, such as the float of ``time.time()``.
        """
        check_timestamp(timestamp)
        return self._with_options(timestamp=timestamp)

    def if_not_exists(self) -> Self:
        """Return a queryset whose `create` is applied only if the row does not exist."""
        if self.model.__mapping__.has_counter:
            raise IfNotExistsWithCounterColumn(
                "if_not_exists cannot be used with tables containing counter columns"
            )
        return self._with_options(if_not_exists=True)

    def if_exists(self) -> Self:
        """Return a queryset whose update or delete is applied only if the row exists."""
        if self.model.__mapping__.has_counter:
            raise IfExistsWithCounterColumn(
                "if_exists cannot be used with tables containing counter columns"
            )
        return self._with_options(if_exists=True)

    # -- writing --------------------------------------------------------------------------------

    def create(self, **kwargs: Any) -> T:
        """Insert a row and return its instance.

        Unlike `Model.create`, this ignores names without a column.

        :raises ValidationError: if a column cannot hold its value.
        :raises LWTException: if `if_not_exists` is set and the row exists.
        """
        instance, row = self._new_instance(kwargs)
        # If the application has a `save` or a `__dmlquery__` of its own, it writes the instance.
        if self.model.__mapping__.has_own_save:
            instance.save()
        elif not run_custom_dmlquery(instance, "save"):
            run(save(instance))
        return self._finish_creation(instance, row)

    async def acreate(self, **kwargs: Any) -> T:
        """Insert a row on a connection of `cassandra.aio` and return its instance.

        :param kwargs: values by the attributes' names.
        """
        instance, row = self._new_instance(kwargs)
        if self.model.__mapping__.has_own_asave:
            await instance.asave()
        else:
            warn_of_unpaired(self.model, "save", "acreate")
            await arun(save(instance))
        return self._finish_creation(instance, row)

    def _new_instance(self, values: dict[str, Any]) -> tuple[Any, Values]:
        """Return a new instance with the options of this queryset, and its values."""
        model: Any = self._instance_class()
        mapping = model.__mapping__
        if mapping.has_own_init:
            instance = model(**values)
        else:
            instance = model.__new__(model)
            instance._row = mapping.row_to_insert(values)
        # A new instance always has a `Values`.
        row: Values = instance._row
        if self._options is not DEFAULTS:
            row.options = self._options
        return instance, row

    def _finish_creation(self, instance: T, row: Values) -> T:
        """Return an instance that was inserted, after setting the options of its later writes.

        :param row: the values of the instance.
        """
        options = self._options
        if options is not DEFAULTS:
            # The options stay with the instance, except the timestamp, and the conditions of `iff`:
            # an INSERT does not have them, so they were not meant for a later write.
            row.options = row.options.for_later(options.timestamp)
            if row.options.conditionals:
                row.options = row.options.with_changes(conditionals=())
        if options.batch is not None:
            options.batch.hold(row)
        return instance

    def create_many(self, rows: Iterable[Mapping[str, Any] | T], concurrency: int = 100) -> list[T]:
        """Insert many rows by concurrent requests, and return their instances.

        All rows are validated before the first row is sent. If a request fails, the other requests
        are still executed, and then the error of the first failed row is raised. The error's
        ``row_number`` is the number of that row, from 0, and its ``failed_rows`` is a list of
        (number, error) of all failed rows. A `save` that the model overrides is not called.

        :param rows: mappings of values by the attributes' names, or instances.
        :param concurrency: the maximum number of requests in flight.
        :raises ValidationError: if a column cannot hold its value, or a name has no column.
        :raises LWTException: if `if_not_exists` is set and a row exists.
        """
        _check_rows(rows)
        model: Any = self._instance_class()
        # If the application has set `__dmlquery__`, that class writes the instances one by one.
        if model.__dmlquery__ is not DMLQuery:
            mappings: Any = rows
            return [self.create(**dict(row)) for row in mappings]
        if model.__mapping__.has_own_save:
            self._warn_of_own_save("create_many", "save")
        return run(creations(model, self._options, rows, concurrency))

    async def acreate_many(
        self, rows: Iterable[Mapping[str, Any] | T], concurrency: int = 100
    ) -> list[T]:
        """Insert many rows, as `create_many` does, on a connection of `cassandra.aio`.

        :param rows: mappings of values by the attributes' names, or instances.
        :param concurrency: the maximum number of requests in flight.
        """
        _check_rows(rows)
        model: Any = self._instance_class()
        if model.__mapping__.has_own_asave:
            self._warn_of_own_save("acreate_many", "asave")
        else:
            warn_of_unpaired(model, "save", "acreate_many")
        return await arun(creations(model, self._options, rows, concurrency))

    def _warn_of_own_save(self, call: str, method: str) -> None:
        """Warn that `create_many` does not call the `save` that the model overrides.

        :param call: the method that the application has called, such as "create_many".
        :param method: the method that the model overrides, such as "save".
        """
        warnings.warn(
            f"{call}() does not call {self.model.__name__}.{method}(), which the model overrides: "
            f"write {call.removesuffix('_many')}(**values) for each row if it matters",
            RuntimeWarning,
            stacklevel=stack_level(),
        )

    def _delete(self) -> Operation[None]:
        self._warn_of_unwritten("delete")
        timestamp = timestamp_of(self._options, self.model.__mapping__.has_counter)
        statement = self._delete_statement(timestamp)
        yield from execute_write(self.model, self._options, statement.prepared(), statement.bound())

    def update(self, **values: Any) -> None:
        """Write columns of the rows that match the filters, without reading them first.

        :param values: ``column=value``; None deletes the value. For collections you may also write
            ``column__operation=value``: `add` and `remove` for sets, `append`, `prepend` and
            `remove` for lists, `update` and `remove` for maps. A number is added to a counter,
            with or without ``__add``.
        :raises ValidationError: if a name has no column, or a column of the primary key, or if a
            column cannot hold its value.
        :raises LWTException: if the update is conditional and was not applied.
        """
        run(self._update(values))

    async def aupdate(self, **values: Any) -> None:
        """Write columns of the rows that match the filters, on a connection of `cassandra.aio`.

        :param values: values by the attributes' names; names such as ``name__add`` change
            collections.
        """
        await arun(self._update(values))

    def _update(self, values: dict[str, Any]) -> Operation[None]:
        """Update the rows that match the filters."""
        self._warn_of_unwritten("update")
        if not values:
            return
        options, mapping = self._options, self.model.__mapping__
        warn_of_dropped_conditions(options, "UPDATE")
        self._warn_of_limit("UPDATE")
        statement = UpdateStatement(
            self.column_family_name,
            # Copy the clauses, because a statement numbers the markers in them.
            where=[
                WhereClause(clause.field, clause.operator, clause.value, clause.quote_field)
                for clause in self._where
            ],
            ttl=options.ttl,
            timestamp=timestamp_of(options, mapping.has_counter),
            conditionals=options.conditionals,
            if_exists=options.if_exists,
        )
        deleted_counters = []
        for name, value in values.items():
            column, operation = self._assigned_column(name)
            # CQL cannot assign null to a counter, so delete it by a second statement.
            if column.is_counter and value is None:
                if operation is not None:
                    raise ValidationError(
                        f"{column.label} - None cannot be added: to delete the counter, write "
                        f"{name.removesuffix('__add')}=None"
                    )
                column.validate(value)
                deleted_counters.append(column.db_field_name)
            else:
                _assign(statement, column, operation, value)
        # Nothing is written if, for example, an empty list is appended.
        if not statement.is_empty:
            yield from execute_write(
                self.model,
                options,
                statement.prepared(),
                statement.bound(),
                is_repeatable=statement.is_repeatable,
            )
        if deleted_counters:
            # Servers refuse a timestamp for counters: like cassandra-driver, send none.
            deletion = DeleteStatement(
                self.column_family_name,
                deleted_counters,
                where=statement.where_clauses,
                conditionals=options.conditionals,
            )
            yield from execute_write(self.model, options, deletion.prepared(), deletion.bound())

    if not TYPE_CHECKING:  # type checkers would accept any attribute

        def __getattr__(self, name: str) -> Any:
            """Raise AttributeError for a missing attribute, with advice if the model has such a
            column.
            """
            # While an object is copied or unpickled, its attribute `model` may not be set yet.
            model = self.__dict__.get("model")
            if model is not None and name in model.__mapping__.columns:
                raise AttributeError(
                    f"{type(self).__name__!r} object has no attribute {name!r}: a queryset is not "
                    f"an instance; write {model.__name__}.get(...).{name}, or "
                    f"queryset.first().{name} for the first row"
                )
            # An application's subclass may have another base class that defines `__getattr__`.
            getattr_of_base = getattr(super(), "__getattr__", None)
            if getattr_of_base is not None:
                return getattr_of_base(name)
            return object.__getattribute__(self, name)  # raises the usual error

    def _warn_of_unwritten(self, call: str) -> None:
        """Warn about columns that were assigned to this queryset as if it were an instance.

        :param call: "update" or "delete".
        """
        # A subclass with its own constructor may set attributes with any names, so do not check it.
        if type(self).__init__ is not ModelQuerySet.__init__:
            return
        columns = self.model.__mapping__.columns
        assigned = [
            name
            for name in self.__dict__
            # Skip the queryset's own attributes, because a column may have the same name.
            if name in columns and name != "model" and not name.startswith("_")
        ]
        if not assigned:
            return
        name = self.model.__name__
        # Do not show the values, which may be secret.
        values = ", ".join(f"{column}=..." for column in assigned)
        advice = f"queryset.update({values})" if call == "update" else f"{name}.get(...).delete()"
        warnings.warn(
            f"a queryset is not an instance, so {call}() ignores {', '.join(assigned)}: write "
            f"instance = {name}.get(...) first, or {advice}",
            RuntimeWarning,
            stacklevel=stack_level(),
        )

    def _assigned_column(self, name: str) -> tuple[Column[Any], str | None]:
        """Return the column and the operation of a keyword of `update`, such as ``tags__add``."""
        # Try the whole name first, because a column's name may contain "__".
        mapping = self.model.__mapping__
        column = mapping.columns.get(name)
        operation: str | None = None
        if column is None and "__" in name:
            column_name, _, operation = name.rpartition("__")
            column = mapping.columns.get(column_name)
        label = f"{self.model.__module__}.{self.model.__name__}"
        if column is None:
            columns = ", ".join(mapping.columns)
            raise ValidationError(
                f"{label} has no column named: {name} (the columns are {columns})"
            )
        if column.primary_key:
            raise ValidationError(
                f"Cannot apply update to primary key '{column.column_name}' for {label}"
            )
        # Each collection type allows only some operations.
        if operation is not None:
            allowed: tuple[str, ...] = _OPERATIONS.get(column.update_clause, ())
            if column.is_counter:
                allowed = ("add",)
            if operation not in allowed:
                allowed_text = ", ".join(allowed) or "no operation"
                raise ValidationError(
                    f"{column.label} ({column.db_type}) takes {allowed_text}, not '{operation}'"
                )
        return column, operation


def _check_rows(rows: object) -> None:
    """Raise TypeError if `rows` is a single mapping and not an iterable of rows."""
    if isinstance(rows, Mapping):
        raise TypeError("create_many() takes an iterable of rows: write create_many([values])")


def _assign(
    statement: UpdateStatement, column: Column[Any], operation: str | None, value: object
) -> None:
    """Add one assignment of a queryset's `update` to the statement."""
    field = column.db_field_name
    # Without an operation, a null value (such as an empty collection) deletes the column's value.
    # With an operation, None changes nothing.
    if value is None or (operation is None and column.is_null(value)):
        if operation is not None:
            return
        # Raises ValidationError if the column is required, or if None is too short.
        column.validate(value)
        statement.add_assignment(AssignmentClause(field, value=None))
        return
    if column.is_counter:
        operation = None  # without an operation, the number is added, too; also if it is 0
    if column.update_clause is MapUpdateClause:
        value = _map_change(column, operation, value)
    else:
        value = column.validate(value)
        to_bound = column.wire
        value = value if to_bound is None else to_bound(value)
    if operation is not None and not value:
        return  # nothing is added or removed
    statement.add_update(column, value, operation=operation)


def _map_change(column: Any, operation: str | None, value: Any) -> set[Any] | dict[Any, Any]:
    """Return the value to bind for an operation on a map.

    This is a set of the keys to remove, or a dict of the items to write. In the dict, a value of
    None deletes the key.
    """
    if operation == "remove":
        return removed_keys(column, value)
    if not hasattr(value, "items"):
        raise ValidationError(f"{column.label} {value!r} is not a dict object")
    # Without an operation, the value is the whole map, so check it like any value of the column.
    if operation is None:
        column.validate(value)
    bind_key, bind_value = _binder(column.key_col), _binder(column.value_col)
    return {
        bind_key(key): None if item is None else bind_value(item) for key, item in value.items()
    }


def _binder(column: Column[Any]) -> Callable[[Any], Any]:
    """Return a function that validates a value, and converts it to the form that is bound."""
    to_bound = column.wire
    if to_bound is None:
        return column.validate
    return lambda value: to_bound(column.validate(value))


class _ListRows:
    """The row factory of `values_list`.

    :param model: the class whose columns give the order and the types of values.
    :param names: the columns of each list; empty for all columns.
    :param flat: True to return the values themselves, not lists of one value.
    :param fixed: values by column name, for columns that are not selected because a filter fixes
        their value.
    """

    __slots__ = ("_fixed_values", "_flat", "_model", "_names")

    def __init__(self, model: Any, names: Sequence[str], flat: bool, fixed: dict[str, Any]) -> None:
        self._model = model
        self._names = names
        self._flat = flat
        self._fixed_values = fixed

    def __call__(self, names: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[Any]:
        mapping = self._model.__mapping__
        columns = [mapping.columns[name] for name in self._names or mapping.names]
        index_of = {name: position for position, name in enumerate(names)}
        lists = []
        for row in rows:
            values = []
            for column in columns:
                # If a filter fixes the column, the column is not in the rows: take the value from
                # the filter.
                field = column.db_field_name
                # Do not call `to_python`: applications expect the database's form here.
                values.append(
                    row[index_of[field]] if field in index_of else self._fixed_values.get(field)
                )
            lists.append(values[0] if self._flat else values)
        return lists


for _class in (ModelQuerySet, SimpleQuerySet, ResultObject):
    _class.__module__ = "cassandra.cqlengine.query"
del _class


advise_on_fields(ModelQuerySet, "distinct")
advise_on_values(ModelQuerySet, "create", "acreate", "update", "aupdate")
