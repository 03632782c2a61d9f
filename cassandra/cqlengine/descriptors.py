"""The descriptors of models.

Columns, querysets, and options that work on classes and on instances.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, overload

from cassandra.cqlengine.columns.base import Column
from cassandra.cqlengine.errors import CQLEngineException
from cassandra.cqlengine.query.errors import (
    IfExistsWithCounterColumn,
    IfNotExistsWithCounterColumn,
)
from cassandra.cqlengine.query.expressions import ColumnQueryEvaluator
from cassandra.cqlengine.query.model_queryset import ModelQuerySet
from cassandra.cqlengine.statements import Timestamp
from cassandra.cqlengine.values import own, values_read

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
    """A column's value on instances, and on the class the start of filters.

    :param column: the column.
    :param position: its place among the values of an instance, from 0.
    """

    __slots__ = ("column", "position", "query_evaluator")

    def __init__(self, column: Column[Any], position: int = 0) -> None:
        self.column = column
        self.position = position
        self.query_evaluator = ColumnQueryEvaluator(column)

    def __get__(self, instance: BaseModel | None, owner: type) -> Any:
        if instance is None:
            return self.query_evaluator
        # `_row` is the tuple of the row until something changes, so a read costs one index.
        return instance._row[self.position]

    def __set__(self, instance: BaseModel, value: object) -> None:
        values = own(instance)
        values[self.position] = value
        # Noted even if the value is None: a null that was given has to be written.
        values.explicit |= 1 << self.position

    def __delete__(self, instance: BaseModel) -> None:
        if self.column.primary_key:
            raise AttributeError(f"cannot delete {self.column.label}: it is part of the key")
        # What is null already stays so, whatever others have written since: only None that is
        # assigned takes that away.
        if not self.column.is_null(instance._row[self.position]):
            self.__set__(instance, None)


class _MutableDescriptor(ColumnDescriptor):
    """The same for collections and user-defined types, which may change in place once they are
    handed out.
    """

    __slots__ = ()

    def __get__(self, instance: BaseModel | None, owner: type) -> Any:
        if instance is None:
            return self.query_evaluator
        # `own`, because the program may change the collection in place: the tuple of the row stays
        # as what the database has.
        return values_read(own(instance), self.position, self.column)

    def __set__(self, instance: BaseModel, value: object) -> None:
        super().__set__(instance, value)
        # What the program gave is what it gets back: it is not converted before it is saved.
        own(instance).exposed |= 1 << self.position


class _CounterDescriptor(ColumnDescriptor):
    """The same for counters, which are 0 where the database has none."""

    __slots__ = ()

    def __get__(self, instance: BaseModel | None, owner: type) -> Any:
        if instance is None:
            return self.query_evaluator
        return instance._row[self.position] or 0


def descriptor_of(column: Column[Any], position: int) -> ColumnDescriptor:
    """Return the descriptor of `column`, which stands at `position` in the values of instances."""
    if column.mutable:
        return _MutableDescriptor(column, position)
    return (_CounterDescriptor if column.is_counter else ColumnDescriptor)(column, position)


class PartitionKeyDescriptor:
    """``pk``: the partition key of an instance, its value or a tuple of its values.

    On the class, of a model with one partition key column: that column, for filters.
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

    An AttributeError, so that tools can look through its class.
    """


class hybrid_classmethod:
    """A method that is one thing on the class and another on instances.

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
        """Raise NotImplementedError: it exists for code that checks if this can be called."""
        raise NotImplementedError


class QuerySetDescriptor:
    """``Model.objects``: a new queryset at each look."""

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
    """An option.

    On the class a queryset with it; on an instance it is set for its writes, and gives the
    instance.
    """

    name: ClassVar[str] = ""

    def changes(self, instance: BaseModel, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Return the changed options, after a check of the arguments.

        :param instance: the one whose next write they are for.
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
            # For those who look through the class: it fails when it is called.
            if model.__abstract__:
                return lambda *args, **kwargs: model.objects
            return getattr(model.objects, self.name)

        def set_option(*args: Any, **kwargs: Any) -> Any:
            changes = self.changes(instance, *args, **kwargs)
            values = own(instance)
            values.how = values.how.but(**changes)
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
    """``timestamp(moment)``: of the next write; a datetime, or a timedelta from now."""

    name = "timestamp"

    def changes(self, instance: BaseModel, timestamp: Timestamp) -> dict[str, Any]:
        return {"timestamp": timestamp}


class IfNotExistsDescriptor(_OptionDescriptor):
    """``if_not_exists()``: insert only if there is no such row."""

    name = "if_not_exists"

    def changes(self, instance: BaseModel, value: bool = True) -> dict[str, Any]:
        # Servers refuse conditional writes of counters. Said here, it does not cost a request.
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
    """``using(keyspace=, connection=)``: where the row is."""

    name = "using"

    def changes(
        self, instance: BaseModel, keyspace: str | None = None, connection: str | None = None
    ) -> dict[str, Any]:
        # A batch is one request, so all its statements go to one connection.
        if connection is not None and own(instance).how.batch is not None:
            raise CQLEngineException("Cannot specify a connection on model in batch mode.")
        found = {"keyspace": keyspace, "connection": connection}
        # None leaves what an earlier `using` has said.
        return {name: value for name, value in found.items() if value is not None}


for _class in list(vars().values()):
    # Errors are found where they are, by pickle say; descriptors look as those of a model.
    is_descriptor = isinstance(_class, type) and not issubclass(_class, Exception)
    if is_descriptor and _class.__module__ == __name__:
        _class.__module__ = "cassandra.cqlengine.models"
del _class
