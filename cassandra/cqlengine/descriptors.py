"""The descriptors of models.

Descriptors of columns and querysets, and of options that work on classes and on instances.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, overload

from cassandra.cqlengine.columns.base import Column
from cassandra.cqlengine.columns.scalars import Blob
from cassandra.cqlengine.copies import IMMUTABLE_CLASSES, is_immutable, snapshot
from cassandra.cqlengine.errors import CQLEngineException
from cassandra.cqlengine.query.errors import (
    IfExistsWithCounterColumn,
    IfNotExistsWithCounterColumn,
)
from cassandra.cqlengine.query.expressions import ColumnQueryEvaluator
from cassandra.cqlengine.query.model_queryset import ModelQuerySet
from cassandra.cqlengine.statements import Timestamp, check_timestamp
from cassandra.cqlengine.values import values_of, values_read

if TYPE_CHECKING:
    from cassandra.cqlengine.models import BaseModel

__all__ = [
    "ColumnDescriptor",
    "ConditionalDescriptor",
    "ConsistencyDescriptor",
    "IfExistsDescriptor",
    "IfNotExistsDescriptor",
    "PartitionKeyDescriptor",
    "QuerySetDescriptor",
    "TTLDescriptor",
    "TimestampDescriptor",
    "UsingDescriptor",
    "descriptor_of",
    "hybrid_classmethod",
]

M = TypeVar("M", bound="BaseModel")


class ColumnDescriptor:
    """A column: its value on instances; on the class, the start of filter expressions.

    :param column: the column.
    :param position: its position among the values of an instance, from 0.
    """

    __slots__ = ("column", "position", "query_evaluator")

    def __init__(self, column: Column[Any], position: int = 0) -> None:
        self.column = column
        self.position = position
        self.query_evaluator = ColumnQueryEvaluator(column)

    def __get__(self, instance: BaseModel | None, owner: type) -> Any:
        if instance is None:
            return self.query_evaluator
        # `_row` is the tuple of the row until a value changes, so a read costs one index.
        return instance._row[self.position]

    def __set__(self, instance: BaseModel, value: object) -> None:
        values = values_of(instance)
        values[self.position] = value
        # Recorded even if the value is None: a null that was set has to be written.
        values.explicit |= 1 << self.position

    def __delete__(self, instance: BaseModel) -> None:
        if self.column.primary_key:
            raise AttributeError(f"cannot delete {self.column.label}: it is part of the key")
        # A value that is null already stays null, whatever others have written since. Only
        # assigning None deletes their value.
        if not self.column.is_null(instance._row[self.position]):
            self.__set__(instance, None)


class _MutableDescriptor(ColumnDescriptor):
    """A column of collections or user-defined types, which may change in place once the application
    has read them.
    """

    __slots__ = ("isolated",)

    def __init__(self, column: Column[Any], position: int = 0) -> None:
        super().__init__(column, position)
        self.isolated = self._isolator()

    def _isolator(self) -> Callable[[Any], Any]:
        return self.column._isolator()

    def __get__(self, instance: BaseModel | None, owner: type) -> Any:
        if instance is None:
            return self.query_evaluator
        # `values_of`, because the application may change the collection in place: the tuple of the
        # row remains as the database's values.
        return values_read(values_of(instance), self.position, self.isolated)

    def __set__(self, instance: BaseModel, value: object) -> None:
        super().__set__(instance, value)
        # Reading returns the object that the application assigned: it is not converted before it is
        # saved.
        values_of(instance).exposed |= 1 << self.position


class _AnyValueDescriptor(_MutableDescriptor):
    """A column whose values may or may not change in place: a tuple of collections, or a column of
    an application's own class.

    Instances have the values of rows in the right form already; values that may change are copied.
    """

    __slots__ = ()

    def _isolator(self) -> Callable[[Any], Any]:
        return self.column._copier() or snapshot

    def __get__(self, instance: BaseModel | None, owner: type) -> Any:
        if instance is None:
            return self.query_evaluator
        value = instance._row[self.position]
        # By its exact class first, because most values are numbers or strings.
        if type(value) in IMMUTABLE_CLASSES or is_immutable(value):
            return value
        return values_read(values_of(instance), self.position, self.isolated)


class _CounterDescriptor(ColumnDescriptor):
    """A column of counters, which are 0 where the database has null."""

    __slots__ = ()

    def __get__(self, instance: BaseModel | None, owner: type) -> Any:
        if instance is None:
            return self.query_evaluator
        return instance._row[self.position] or 0


def descriptor_of(column: Column[Any], position: int) -> ColumnDescriptor:
    """Return the descriptor of `column`, whose values are at `position` in instances."""
    if column.mutable:
        return _MutableDescriptor(column, position)
    # The values of a row's Blob are bytes: only an application's own bytearray may change, and
    # `commit` copies it.
    is_blob = isinstance(column, Blob) and column._is_stock()
    if column._copier() is not None and not is_blob:
        return _AnyValueDescriptor(column, position)
    return (_CounterDescriptor if column.is_counter else ColumnDescriptor)(column, position)


class PartitionKeyDescriptor:
    """``pk``: the partition key of an instance, as a value or a tuple of values.

    On a class with one partition key column, ``pk`` is that column, for filters.
    """

    def __get__(self, instance: BaseModel | None, owner: type[BaseModel]) -> Any:
        names = tuple(owner.__mapping__.partition_keys)
        if instance is None:
            return getattr(owner, names[0]) if len(names) == 1 else self
        values = tuple(getattr(instance, name) for name in names)
        return values[0] if len(values) == 1 else values

    def __set__(self, instance: BaseModel, value: object) -> None:
        names = tuple(type(instance).__mapping__.partition_keys)
        if len(names) != 1:
            raise AttributeError(
                f"the partition key of {type(instance).__name__} has {len(names)} columns "
                f"({', '.join(names)}): set each of them, not pk"
            )
        setattr(instance, names[0], value)


class AbstractModelException(CQLEngineException, AttributeError):
    """An abstract model has no table.

    The exception is an AttributeError, so that tools can inspect the class's attributes.
    """


class hybrid_classmethod:
    """A method that does one thing on the class and another on instances.

    :param clsmethod: called with the class, as a class method is.
    :param instmethod: called with the instance.
    """

    def __init__(self, clsmethod: Callable[..., Any], instmethod: Callable[..., Any]) -> None:
        self.clsmethod = clsmethod
        self.instmethod = instmethod

    def __get__(self, instance: BaseModel | None, owner: type) -> Any:
        if instance is None:
            return self.clsmethod.__get__(owner, owner)
        return self.instmethod.__get__(instance, owner)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Raise NotImplementedError: the method exists for code that checks if this object is
        callable.
        """
        raise NotImplementedError


class QuerySetDescriptor:
    """``Model.objects``: a new queryset at each access."""

    def __get__(self, obj: object, model: type[M]) -> ModelQuerySet[M]:
        if model.__abstract__:
            raise AbstractModelException("cannot execute queries against abstract models")
        queryset: ModelQuerySet[M] = model.__queryset__(model)
        mapping = model.__mapping__
        if mapping.discriminator is not None and model.__discriminator_value__ is not None:
            column = mapping.columns[mapping.discriminator]
            # Servers refuse to filter by a column without an index.
            if column.index or column.custom_index:
                return queryset.filter(**{mapping.discriminator: model.__discriminator_value__})
        return queryset


class _OptionDescriptor:
    """A method that sets an option.

    On the class, the method returns a queryset with the option. On an instance, it sets the option
    for the instance's writes and returns the instance.
    """

    name: ClassVar[str] = ""

    def changes(self, instance: BaseModel, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Return the changed options, after a check of the arguments.

        :param instance: the instance that will be written with the options.
        :param args: the arguments of the option.
        :param kwargs: its arguments by name.
        """
        raise NotImplementedError

    @overload
    def __get__(self, instance: None, model: type[M]) -> Callable[..., ModelQuerySet[M]]: ...
    @overload
    def __get__(self, instance: M, model: type[M]) -> Callable[..., M]: ...
    def __get__(self, instance: Any, model: Any) -> Any:
        if instance is None:
            # Inspecting an abstract class must not fail: the method fails when it is called.
            if model.__abstract__:
                return lambda *args, **kwargs: model.objects
            return getattr(model.objects, self.name)

        def set_option(*args: Any, **kwargs: Any) -> Any:
            changes = self.changes(instance, *args, **kwargs)
            values = values_of(instance)
            values.options = values.options.with_changes(**changes)
            return instance

        set_option.__name__ = self.name
        set_option.__doc__ = self.__doc__
        return set_option


class TTLDescriptor(_OptionDescriptor):
    """``ttl(seconds)``: how long the written values live."""

    name = "ttl"

    def changes(self, instance: BaseModel, ttl: int | None) -> dict[str, Any]:
        return {"ttl": ttl}


class TimestampDescriptor(_OptionDescriptor):
    """``timestamp(moment)``: the timestamp of the next write; a datetime, or a timedelta from
    now.
    """

    name = "timestamp"

    def changes(self, instance: BaseModel, timestamp: Timestamp) -> dict[str, Any]:
        check_timestamp(timestamp)
        return {"timestamp": timestamp}


class IfNotExistsDescriptor(_OptionDescriptor):
    """``if_not_exists()``: insert only if there is no such row."""

    name = "if_not_exists"

    def changes(self, instance: BaseModel, value: bool = True) -> dict[str, Any]:
        # Servers refuse conditional writes of counters. Checking here saves a request.
        if type(instance).__mapping__.has_counter:
            raise IfNotExistsWithCounterColumn(
                "if_not_exists cannot be used with tables containing counter columns"
            )
        return {"if_not_exists": value}


class IfExistsDescriptor(_OptionDescriptor):
    """``if_exists()``: update or delete only if there is such a row."""

    name = "if_exists"

    def changes(self, instance: BaseModel, value: bool = True) -> dict[str, Any]:
        if type(instance).__mapping__.has_counter:
            raise IfExistsWithCounterColumn(
                "if_exists cannot be used with tables containing counter columns"
            )
        return {"if_exists": value}


class ConditionalDescriptor(_OptionDescriptor):
    """``iff(column=value)``: update or delete only if the row has these values."""

    name = "iff"

    def changes(self, instance: BaseModel, *args: Any, **kwargs: Any) -> dict[str, Any]:
        model = type(instance)
        return {"conditionals": model.__queryset__(model).conditions(*args, **kwargs)}


class ConsistencyDescriptor(_OptionDescriptor):
    """``consistency(level)``: the `ConsistencyLevel` of writes."""

    name = "consistency"

    def changes(self, instance: BaseModel, consistency: int) -> dict[str, Any]:
        return {"consistency": consistency}


class UsingDescriptor(_OptionDescriptor):
    """``using(keyspace=, connection=)``: the keyspace and the connection of the row."""

    name = "using"

    def changes(
        self, instance: BaseModel, keyspace: str | None = None, connection: str | None = None
    ) -> dict[str, Any]:
        # A batch is one request, so all its statements go to one connection.
        if connection is not None and values_of(instance).options.batch is not None:
            raise CQLEngineException("Cannot specify a connection on model in batch mode.")
        target = {"keyspace": keyspace, "connection": connection}
        # None keeps the value of an earlier `using`.
        return {name: value for name, value in target.items() if value is not None}


for _class in list(vars().values()):
    # Exceptions keep the module that defines them, so that pickle finds them; descriptors are
    # documented in `models`.
    is_descriptor = isinstance(_class, type) and not issubclass(_class, Exception)
    if is_descriptor and _class.__module__ == __name__:
        _class.__module__ = "cassandra.cqlengine.models"
del _class
