"""The descriptors of model classes: columns, ``pk``, ``objects``, and options such as ``ttl``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, overload

from cassandra.cqlengine.columns.base import Column
from cassandra.cqlengine.columns.scalars import Blob
from cassandra.cqlengine.copies import IMMUTABLE_CLASSES, is_immutable, snapshot
from cassandra.cqlengine.errors import CQLEngineException
from cassandra.cqlengine.options import checked_ttl
from cassandra.cqlengine.query.errors import IfExistsWithCounterColumn, IfNotExistsWithCounterColumn
from cassandra.cqlengine.query.expressions import ColumnQueryEvaluator
from cassandra.cqlengine.query.model_queryset import ModelQuerySet
from cassandra.cqlengine.statements import Timestamp, check_timestamp
from cassandra.cqlengine.values import values_of, values_read

if TYPE_CHECKING:
    from typing import NoReturn

    from cassandra.cqlengine.models import BaseModel

M = TypeVar("M", bound="BaseModel")


class ColumnDescriptor:
    """The descriptor of a column.

    On an instance, the attribute is the column's value. On the class, it is an object for filter
    expressions (``Model.age > 30``).

    :param column: the column of the model that belongs to the attribute.
    :param position: the position of the column's value among the values of an instance, from 0.
    """

    __slots__ = ("column", "position", "query_evaluator")

    def __init__(self, column: Column[Any], position: int = 0) -> None:
        self.column = column
        self.position = position
        self.query_evaluator = ColumnQueryEvaluator(column)

    def __get__(self, instance: BaseModel | None, owner: type) -> Any:
        if instance is None:
            return self.query_evaluator
        # `_row` is the tuple that the driver has returned or, after a change, the `Values` that
        # replaces it.
        return instance._row[self.position]

    def __set__(self, instance: BaseModel, value: object) -> None:
        values = values_of(instance)
        values[self.position] = value
        # Record that the value was set, even if it is None: `save` then writes the null.
        values.explicit |= 1 << self.position

    def __delete__(self, instance: BaseModel) -> None:
        if self.column.primary_key:
            raise AttributeError(f"cannot delete {self.column.label}: it is part of the key")
        # If the value is null already, `del` changes nothing, so `save` does not delete a value
        # that another client has written in the meantime. Assigning None does make `save` delete
        # it.
        if not self.column.is_null(instance._row[self.position]):
            self.__set__(instance, None)


class _MutableDescriptor(ColumnDescriptor):
    """The descriptor of a column whose values may change in place after they have been read.

    These are the columns of collections and user-defined types. The attribute `isolated` is a
    function: it gets a value of the row, and returns a separate object, which the application may
    change.
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
        # The application may change the collection in place, so return a copy. The row's tuple
        # keeps the database's values, and `save` compares the copy with them.
        return values_read(values_of(instance), self.position, self.isolated)

    def __set__(self, instance: BaseModel, value: object) -> None:
        super().__set__(instance, value)
        # The application has this object already and may change it, so mark the value as exposed:
        # reading the attribute then returns this object and not a copy.
        values_of(instance).exposed |= 1 << self.position


class _AnyValueDescriptor(_MutableDescriptor):
    """The descriptor of a column in which only some values can change in place.

    Such a column holds tuples that may contain collections, or the application has defined its
    class. Only values that can change are copied.
    """

    __slots__ = ()

    def _isolator(self) -> Callable[[Any], Any]:
        return self.column._copier() or snapshot

    def __get__(self, instance: BaseModel | None, owner: type) -> Any:
        # `Model.column` builds filters, such as ``Model.age > 5``.
        if instance is None:
            return self.query_evaluator
        value = instance._row[self.position]
        # Most values are numbers or strings, so first check the exact class, which is fast.
        if type(value) in IMMUTABLE_CLASSES or is_immutable(value):
            return value
        # The value may change in place, so return an object that no other instance has.
        return values_read(values_of(instance), self.position, self.isolated)


class _CounterDescriptor(ColumnDescriptor):
    """The descriptor of a counter column, which returns 0 if the database has null."""

    __slots__ = ()

    def __get__(self, instance: BaseModel | None, owner: type) -> Any:
        if instance is None:
            return self.query_evaluator
        return instance._row[self.position] or 0

    def __delete__(self, instance: BaseModel) -> None:
        # Assigning None makes `save` delete the counter in the database, from which servers cannot
        # count on. `del` makes the counter 0, as in cassandra-driver.
        if instance._row[self.position]:
            self.__set__(instance, 0)


def descriptor_of(column: Column[Any], position: int) -> ColumnDescriptor:
    """Return a descriptor for `column`, of the class that fits its values.

    :param position: the position of the column's value among the values of an instance.
    """
    if column.mutable:
        return _MutableDescriptor(column, position)
    # Values of blobs that were read are bytes, which never change, so they need no copies. The
    # application may assign a bytearray, which `begin_write` copies.
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
        # `instance.pk = value` sets the only column of the partition key.
        names = tuple(type(instance).__mapping__.partition_keys)
        if len(names) != 1:
            raise AttributeError(
                f"the partition key of {type(instance).__name__} has {len(names)} columns "
                f"({', '.join(names)}): set each of them, not pk"
            )
        setattr(instance, names[0], value)


class AbstractModelException(CQLEngineException, AttributeError):
    """An abstract model was used like a model with a table.

    The exception is an AttributeError, so that tools can inspect the class's attributes.
    """


class hybrid_classmethod:
    """A method with two functions: one for calls on the class, and one for calls on an instance.

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

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise NotImplementedError. The method exists so that ``callable(descriptor)`` is true."""
        raise NotImplementedError


class QuerySetDescriptor:
    """``Model.objects``: a new queryset at each access."""

    def __get__(self, obj: object, model: type[M]) -> ModelQuerySet[M]:
        if model.__abstract__:
            raise AbstractModelException("cannot execute queries against abstract models")
        queryset: ModelQuerySet[M] = model.__queryset__(model)
        mapping = model.__mapping__
        # A model with a discriminator value shares its table with other models: select only its own
        # rows.
        if mapping.discriminator is not None and model.__discriminator_value__ is not None:
            column = mapping.columns[mapping.discriminator]
            # Servers refuse to filter by another column without an index. Then all rows of the
            # table are read.
            if column.index or column.custom_index or column.partition_key:
                return queryset.filter(**{mapping.discriminator: model.__discriminator_value__})
        return queryset


class _OptionDescriptor:
    """Base class of descriptors for methods that set an option, such as ``ttl``.

    On the class, the method returns a queryset with the option. On an instance, it sets the option
    for the instance's writes and returns the instance.
    """

    name: ClassVar[str] = ""

    def changes(self, instance: BaseModel, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Check the arguments, and return the options to change, by name.

        :param instance: the instance that will be written with the options.
        :param args: the positional arguments of the option's method.
        :param kwargs: the keyword arguments of the option's method.
        """
        raise NotImplementedError

    @overload
    def __get__(self, instance: None, model: type[M]) -> Callable[..., ModelQuerySet[M]]: ...
    @overload
    def __get__(self, instance: M, model: type[M]) -> Callable[..., M]: ...
    def __get__(self, instance: Any, model: Any) -> Any:
        if instance is None:
            # `model.objects` raises the error for an abstract model. Return a function, so that the
            # error comes with the call: tools that inspect classes read the attribute, which must
            # not raise.
            if model.__abstract__:
                return lambda *args, **kwargs: model.objects
            return getattr(model.objects, self.name)

        def set_option(*args: Any, **kwargs: Any) -> Any:  # returns the instance, for chains
            changes = self.changes(instance, *args, **kwargs)
            values = values_of(instance)
            # `reused` has the names of the conditions that an earlier write has used. A condition
            # that is set now is not left from that write, so remove its name.
            reused = values.options.reused - changes.keys()
            values.options = values.options.with_changes(reused=reused, **changes)
            return instance

        # Give the function the name and the docstring of the option, for error messages and `help`.
        set_option.__name__ = self.name
        set_option.__doc__ = self.__doc__
        return set_option


class TTLDescriptor(_OptionDescriptor):
    """``ttl(seconds)``: how long the server keeps the written values."""

    name = "ttl"

    def changes(self, instance: BaseModel, ttl: int | None) -> dict[str, Any]:
        return {"ttl": checked_ttl(ttl)}


class TimestampDescriptor(_OptionDescriptor):
    """``timestamp(value)``: the timestamp of the instance's writes, until a write succeeds.

    The value is a datetime, or a timedelta from now.
    """

    name = "timestamp"

    def changes(self, instance: BaseModel, timestamp: Timestamp) -> dict[str, Any]:
        check_timestamp(timestamp)
        return {"timestamp": timestamp}


class IfNotExistsDescriptor(_OptionDescriptor):
    """``if_not_exists()``: insert only if the row does not exist."""

    name = "if_not_exists"

    def changes(self, instance: BaseModel, value: bool = True) -> dict[str, Any]:
        # Servers refuse conditional writes of counters, so refuse them without a request. False
        # leaves the write unconditional.
        if value and type(instance).__mapping__.has_counter:
            raise IfNotExistsWithCounterColumn(
                "if_not_exists cannot be used with tables containing counter columns"
            )
        return {"if_not_exists": value}


class IfExistsDescriptor(_OptionDescriptor):
    """``if_exists()``: update or delete only if the row exists."""

    name = "if_exists"

    def changes(self, instance: BaseModel, value: bool = True) -> dict[str, Any]:
        if value and type(instance).__mapping__.has_counter:
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
    """``using(keyspace=, connection=)``: the keyspace and the connection to use for the row."""

    name = "using"

    def changes(
        self, instance: BaseModel, keyspace: str | None = None, connection: str | None = None
    ) -> dict[str, Any]:
        # All statements of a batch are sent in one request on one connection, so an instance in a
        # batch cannot choose a connection.
        if connection is not None and values_of(instance).options.batch is not None:
            raise CQLEngineException("Cannot specify a connection on model in batch mode.")
        target = {"keyspace": keyspace, "connection": connection}
        # None means that the argument was not passed: keep what an earlier `using` has set.
        return {name: value for name, value in target.items() if value is not None}


for _class in list(vars().values()):
    # Descriptors are documented as classes of `models`. Exceptions keep this module's name, where
    # pickle finds them.
    is_descriptor = isinstance(_class, type) and not issubclass(_class, Exception)
    if is_descriptor and _class.__module__ == __name__:
        _class.__module__ = "cassandra.cqlengine.models"
del _class
