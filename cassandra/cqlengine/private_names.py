"""Private names of cassandra-driver's mapper that programs such as aiocqlengine use.

Such programs subclass `DMLQuery`, `ModelQuerySet` and `BatchQuery`, build the statements of a write
or a read from the state of these objects, and execute the statements on a session themselves. The
classes here are bases of the mapper's classes. They compute the names when a program reads them,
and the mapper itself does not use them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from cassandra._imports import Deferred
from cassandra.cqlengine import connection
from cassandra.cqlengine.columns.base import BaseValueManager
from cassandra.cqlengine.operators import EqualsOperator
from cassandra.cqlengine.options import DEFAULTS, Options
from cassandra.cqlengine.running import Operation, Request, run
from cassandra.cqlengine.statements import BaseCQLStatement, DeleteStatement
from cassandra.cqlengine.values import changed_positions, count_as_stored, values_of
from cassandra.cqltypes import scalars

if TYPE_CHECKING:
    from cassandra.cqlengine.clauses import ConditionalClause
    from cassandra.cqlengine.query import errors
else:
    # The modules of this package import the classes below.
    errors = Deferred("cassandra.cqlengine.query.errors")


class _OfMapping:
    """A private attribute of a model, which is computed from the model's `Mapping`."""

    def __init__(self, compute: Callable[[Any], Any]) -> None:
        self._compute = compute

    def __get__(self, instance: object, owner: Any) -> Any:
        return self._compute(owner.__mapping__)


class _Option:
    """A private attribute of an object that has `Options`.

    :param name: the name in `Options`.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        return self if instance is None else getattr(_options_of(instance), self._name)

    def __set__(self, instance: Any, value: object) -> None:
        is_row = isinstance(instance, CompatModel)
        holder: Any = values_of(instance) if is_row else instance
        attribute = "options" if is_row else "_options"
        options: Options = getattr(holder, attribute)
        setattr(holder, attribute, options.with_changes(**{self._name: value}))


def _options_of(instance: Any) -> Options:
    if not isinstance(instance, CompatModel):
        options: Options = instance._options
        return options
    row: Any = instance._row  # type: ignore[attr-defined]
    return DEFAULTS if type(row) is tuple else row.options


class _ConnectionGetter:
    """The method `_get_connection` of models and instances, which `using` may have changed."""

    def __get__(self, instance: Any, owner: Any) -> Callable[[], str | None]:
        own_name = None if instance is None else _options_of(instance).connection
        return lambda: own_name or owner.__connection__


class InstanceValue(BaseValueManager):
    """The value of one column of an instance of a model, which is read from the instance.

    :param instance: the instance.
    :param position: the column's position in the model.
    """

    instance: Any

    def __init__(self, instance: Any, position: int) -> None:
        self.instance = instance
        self.column = instance.__mapping__.order[position]
        self._name = instance.__mapping__.names[position]
        self._position = position

    @property
    def value(self) -> Any:
        return getattr(self.instance, self._name)

    @value.setter
    def value(self, value: object) -> None:
        setattr(self.instance, self._name, value)

    @property
    def previous_value(self) -> Any:
        stored = values_of(self.instance).stored
        # A counter without a value counts from 0.
        return (0 if self.column.is_counter else None) if stored is None else stored[self._position]

    @property
    def changed(self) -> bool:
        return self._position in changed_positions(
            values_of(self.instance), self.instance.__mapping__
        )

    @property
    def explicit(self) -> bool:
        return bool(values_of(self.instance).explicit >> self._position & 1)

    @explicit.setter
    def explicit(self, explicit: bool) -> None:
        row, bit = values_of(self.instance), 1 << self._position
        row.explicit = row.explicit | bit if explicit else row.explicit & ~bit


class _InstanceValues(Mapping[str, InstanceValue]):
    """The values of an instance by column: `_values` of a model."""

    def __init__(self, instance: Any) -> None:
        self._instance = instance

    def __getitem__(self, name: str) -> InstanceValue:
        return InstanceValue(self._instance, self._instance.__mapping__.index[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._instance.__mapping__.names)

    def __len__(self) -> int:
        return len(self._instance.__mapping__.names)


@lru_cache(maxsize=1)
def _scalar_types() -> dict[str, Any]:
    """Return the classes of the CQL types without parameters, by the types' names in CQL."""
    classes = [cls for cls in vars(scalars).values() if hasattr(cls, "typename")]
    return {cls.typename: cls for cls in classes if cls.num_subtypes == 0}


class _CompatOptions:
    """The private names of the options that models, querysets and `DMLQuery` have."""

    __slots__ = ()

    _batch = _Option("batch")
    _ttl = _Option("ttl")
    _timestamp = _Option("timestamp")
    _timeout = _Option("timeout")
    _if_exists = _Option("if_exists")
    _if_not_exists = _Option("if_not_exists")
    _conditional = _Option("conditionals")


class CompatModel(_CompatOptions):
    """The private names of models and their instances."""

    __slots__ = ()

    # Copies, because the mapper's own dicts must not change.
    _columns = _OfMapping(lambda mapping: dict(mapping.columns))
    _defined_columns = _columns
    _primary_keys = _OfMapping(lambda mapping: dict(mapping.primary_keys))
    _partition_keys = _OfMapping(lambda mapping: dict(mapping.partition_keys))
    _clustering_keys = _OfMapping(lambda mapping: dict(mapping.clustering_keys))
    _partition_key_index = _OfMapping(
        lambda mapping: {
            column.db_field_name: index
            for index, column in enumerate(mapping.partition_keys.values())
        }
    )
    _has_counter = _OfMapping(lambda mapping: mapping.has_counter)
    _discriminator_column_name = _OfMapping(lambda mapping: mapping.discriminator)
    _is_polymorphic = _OfMapping(lambda mapping: mapping.discriminator is not None)
    _is_polymorphic_base = _OfMapping(
        lambda mapping: mapping.discriminator is not None and mapping.base is mapping
    )
    # The names of the attributes by those in the database, where these differ.
    _db_map = _OfMapping(
        lambda mapping: {
            column.db_field_name: name
            for name, column in mapping.columns.items()
            if column.db_field_name != name
        }
    )
    _dynamic_columns = _OfMapping(lambda mapping: {})
    _connection = _Option("connection")

    @classmethod
    def _get_column(cls, name: str) -> Any:
        return cls.__mapping__.columns[name]  # type: ignore[attr-defined]

    @classmethod
    def _get_keyspace(cls) -> str | None:
        model: Any = cls
        return model.__keyspace__ or connection.default_keyspace()

    _get_connection = _ConnectionGetter()

    @classmethod
    def _routing_key_from_values(cls, values: Iterable[Any], version: int) -> list[bytes] | None:
        """Return the serialized columns of the partition key.

        Return None if a column has a type with parameters: the statement is then not routed.
        """
        keys = cls.__mapping__.partition_keys.values()  # type: ignore[attr-defined]
        types: list[Any] = [_scalar_types().get(column.db_type) for column in keys]
        if None in types:
            return None
        return [kind.to_binary(value, version) for kind, value in zip(types, values, strict=True)]

    @property
    def _values(self) -> Mapping[str, InstanceValue]:
        return _InstanceValues(self)

    @property
    def _is_persisted(self) -> bool:
        row: Any = self._row  # type: ignore[attr-defined]
        return type(row) is tuple or row.stored is not None

    def _can_update(self) -> bool:
        return self._is_persisted and not any(
            self._values[name].changed for name in self._primary_keys
        )

    def _set_persisted(self) -> None:
        count_as_stored(values_of(self), self.__mapping__)  # type: ignore[arg-type, attr-defined]


class CompatDMLQuery(_CompatOptions):
    """The private names of `DMLQuery`."""

    model: Any
    instance: Any
    _options: Options

    _consistency = _Option("consistency")

    @property
    def column_family_name(self) -> str:
        """The name of the table, with its keyspace."""
        model = self.model if self.instance is None else self.instance
        keyspace = None if self.instance is None else _options_of(self.instance).keyspace
        return str(model.__mapping__.table_name(keyspace))

    def _execute(self, statement: BaseCQLStatement) -> Any:
        """Execute a statement, or add it to the batch."""
        if self._batch:
            return self._batch.add_query(statement)
        return run(self._request_of(statement))

    def _request_of(self, statement: BaseCQLStatement) -> Operation[Any]:
        model = self.model if self.instance is None else self.instance
        level = self._consistency if self._consistency is not None else model.__consistency__
        result = yield Request(
            statement.prepared(),
            statement.bound(),
            model._get_connection(),
            consistency=level,
            timeout=self._timeout,
        )
        if statement.conditionals or self._if_exists or self._if_not_exists:
            errors.check_applied(result)
        return result

    def _delete_null_columns(self, conditionals: Sequence[ConditionalClause] | None = None) -> None:
        """Delete the columns that the application has set to null."""
        instance = self.instance
        columns = [
            column
            for name, column in instance._columns.items()
            if not column.primary_key and instance._values[name].deleted
        ]
        if not columns:
            return
        statement = DeleteStatement(
            self.column_family_name,
            [column.db_field_name for column in columns],
            timestamp=self._timestamp,
            conditionals=conditionals,
            if_exists=self._if_exists,
        )
        are_static = all(column.static for column in columns)
        for name, column in instance._primary_keys.items():
            if column.partition_key or not are_static:
                statement.add_where(column, EqualsOperator(), getattr(instance, name))
        self._execute(statement)


class CompatQuerySet(_CompatOptions):
    """The private names of querysets.

    A program assigns the rows of a result to `_result_generator`, ``[]`` to `_result_cache`, and at
    last the function that makes an instance of a row to `_construct_result`. From then on, the
    queryset has these rows.
    """

    model: Any
    _options: Options
    _cache: list[Any] | None
    _pending: Iterator[Any] | None
    _result: Any
    _distinct: tuple[str, ...]

    _materialize_results = False  # rows are read when they are needed

    _consistency = _Option("consistency")

    @property
    def _result_cache(self) -> list[Any] | None:
        return self._cache

    @_result_cache.setter
    def _result_cache(self, rows: list[Any] | None) -> None:
        self._cache = rows

    @property
    def _result_generator(self) -> Iterator[Any] | None:
        return self._pending

    @_result_generator.setter
    def _result_generator(self, rows: Iterator[Any] | None) -> None:
        self._result = self._pending = rows

    @property
    def _construct_result(self) -> Callable[[Mapping[str, Any]], Any]:
        return self._get_result_constructor()

    @_construct_result.setter
    def _construct_result(self, construct: Callable[[Any], Any]) -> None:
        if self._pending is not None:
            self._result = self._pending = map(construct, self._pending)

    @property
    def _distinct_fields(self) -> tuple[str, ...]:
        return self._distinct

    def _fill_result_cache(self) -> None:
        self._fill()  # type: ignore[attr-defined]

    def _select_query(self) -> BaseCQLStatement:
        """Return the SELECT; raise QueryException if servers would refuse the filters."""
        self._select_plan(count=False)  # type: ignore[attr-defined]
        statement: BaseCQLStatement = self._statement()  # type: ignore[attr-defined]
        return statement

    def _get_result_constructor(self) -> Callable[[Mapping[str, Any]], Any]:
        """Return a function that makes an instance or a list of values of a row (a dict)."""
        queryset: Any = self
        factory = queryset._factory(queryset._select_plan(count=False))
        return lambda row: factory(list(row), [tuple(row.values())])[0]

    def _maybe_inject_deferred(self, construct: Callable[..., Any]) -> Callable[..., Any]:
        return construct  # it knows the columns that filters fix, which are not selected

    def _parse_filter_arg(self, name: str) -> tuple[str, str | None]:
        """Return the column and the operator of a keyword such as ``age__gt``."""
        column, separator, operator = name.rpartition("__")
        if not separator or name in self.model._columns:
            return name, None
        return column, operator


class CompatBatchQuery:
    """The private names of `BatchQuery`."""

    timeout: float | None
    _callbacks: list[tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]]
    _has_connection: bool
    _context_entered = False

    @property
    def _timeout(self) -> float | None:
        return self.timeout

    @property
    def _connection_explicit(self) -> bool:
        return self._has_connection

    def _execute_callbacks(self) -> None:
        for function, args, kwargs in self._callbacks:
            function(*args, **kwargs)
