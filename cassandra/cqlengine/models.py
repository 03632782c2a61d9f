"""Models: classes whose instances are rows of a table."""

from __future__ import annotations

import copy
import sys
from abc import ABCMeta
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar

from cassandra.cqlengine import connection
from cassandra.cqlengine.columns.annotated import columns_of_annotations
from cassandra.cqlengine.columns.base import Column
from cassandra.cqlengine.descriptors import (
    ColumnDescriptor,
    ConditionalDescriptor,
    ConsistencyDescriptor,
    IfExistsDescriptor,
    IfNotExistsDescriptor,
    PartitionKeyDescriptor,
    QuerySetDescriptor,
    TimestampDescriptor,
    TTLDescriptor,
    UsingDescriptor,
    descriptor_of,
    hybrid_classmethod,
)
from cassandra.cqlengine.errors import CQLEngineException, ValidationError
from cassandra.cqlengine.mapping import (
    Mapping,
    ModelDefinitionException,
    ModelException,
    PolymorphicModelException,
    context_class,
)
from cassandra.cqlengine.naming import snake_case
from cassandra.cqlengine.options import DEFAULTS
from cassandra.cqlengine.query import dml, errors as query_errors
from cassandra.cqlengine.query.batch import BatchQuery
from cassandra.cqlengine.query.expressions import ColumnQueryEvaluator
from cassandra.cqlengine.query.model_queryset import ModelQuerySet
from cassandra.cqlengine.running import Operation, arun, run
from cassandra.cqlengine.values import Values, changed_positions, own
from cassandra.util.cql_text import escape_name, protect_name

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = [
    "DEFAULT_KEYSPACE",
    "BaseModel",
    "CQLEngineException",
    "ColumnDescriptor",
    "ColumnQueryEvaluator",
    "ConditionalDescriptor",
    "ConsistencyDescriptor",
    "IfExistsDescriptor",
    "IfNotExistsDescriptor",
    "Model",
    "ModelDefinitionException",
    "ModelException",
    "ModelMetaClass",
    "PolymorphicModelException",
    "QuerySetDescriptor",
    "TTLDescriptor",
    "TimestampDescriptor",
    "UndefinedKeyspaceWarning",
    "UsingDescriptor",
    "ValidationError",
    "hybrid_classmethod",
    "protect_name",
]

DEFAULT_KEYSPACE: str | None


class UndefinedKeyspaceWarning(Warning):
    """A model has no keyspace, and there is no default one."""


# -- making classes -------------------------------------------------------------------------------


def _columns_of(bases: Sequence[type], attrs: dict[str, Any]) -> dict[str, Column[Any]]:
    """The columns of the bases, then those of the class, whose names may replace theirs."""
    columns: dict[str, Column[Any]] = {}
    # Reversed, so that the first base wins, as in the method resolution order.
    for base in reversed(bases):
        for parent in reversed(base.__mro__):
            mapping = vars(parent).get("__mapping__")
            if mapping is not None:
                columns.update(mapping.columns)
            else:  # a plain class that holds columns for several models
                columns.update({n: c for n, c in vars(parent).items() if isinstance(c, Column)})
    declared = {name: value for name, value in attrs.items() if isinstance(value, Column)}
    columns.update(sorted(declared.items(), key=lambda item: item[1].instance_counter))
    # Copies: what a class says of its columns must not change those of its bases.
    return {
        name: copy.copy(column)
        for name, column in columns.items()
        if attrs.get(name, column) is not None
    }


def _check_names(name: str, columns: dict[str, Column[Any]]) -> None:
    for column_name in columns:
        if column_name in _RESERVED or column_name == "_row":
            raise ModelDefinitionException(
                f"column '{column_name}' conflicts with built-in attribute/method"
            )
    seen: dict[str, str] = {}
    for column_name, column in columns.items():
        other = seen.setdefault(column.db_field_name, column_name)
        if other != column_name:
            raise ModelException(
                f"{name} defines the column '{column.db_field_name}' more than once: as {other} "
                f"and {column_name}"
            )


def _check_keys(name: str, columns: dict[str, Column[Any]], abstract: bool) -> None:
    keys = [column for column in columns.values() if column.primary_key]
    if not keys:
        if abstract:
            return
        raise ModelDefinitionException(f"At least 1 primary key is required: {name} has none.")
    for column in keys:
        if column.is_counter:
            raise ModelDefinitionException(
                f"the counter '{column.column_name}' of {name} must not be part of the primary key"
            )
    if not any(column.partition_key for column in keys):
        keys[0].partition_key = True
    for column in columns.values():
        order = column.clustering_order
        if order is None:
            continue
        if not column.primary_key or column.partition_key:
            raise ModelException(
                "clustering_order may be specified only for clustering primary keys, not for "
                f"'{column.column_name}'"
            )
        if order.lower() not in ("asc", "desc"):
            raise ModelException(
                f"invalid clustering order '{order}' for column '{column.column_name}'"
            )


def _check_kinds(name: str, columns: dict[str, Column[Any]]) -> None:
    discriminators = [n for n, column in columns.items() if column.discriminator_column]
    if len(discriminators) > 1:
        raise ModelDefinitionException(
            f"only one discriminator_column can be defined in a model, {len(discriminators)} found"
        )
    for column_name in discriminators:
        column = columns[column_name]
        if column.is_counter or column.mutable:
            raise ModelDefinitionException(
                f"the discriminator column '{column_name}' must not be a counter or a collection"
            )
    data = [column for column in columns.values() if not column.primary_key]
    if any(column.is_counter for column in data) and not all(column.is_counter for column in data):
        raise ModelDefinitionException("counter models may not have data columns")


class ModelMetaClass(ABCMeta):
    """Makes models: collects the columns, checks them, and gives each model its `DoesNotExist`.

    An `ABCMeta`, so that models may have abstract base classes beside `Model`.
    """

    def __new__(
        mcs, name: str, bases: tuple[type, ...], attrs: dict[str, Any], **kwargs: Any
    ) -> ModelMetaClass:
        abstract = attrs.setdefault("__abstract__", False)
        attrs.update(columns_of_annotations(name, attrs, ModelDefinitionException))
        declares = any(isinstance(value, Column) for value in attrs.values())
        parents = [base for base in bases if isinstance(base, ModelMetaClass)]
        columns = _columns_of(bases, attrs)
        for column_name, column in columns.items():
            column.owner = name
            column.set_column_name(column_name)
        _check_names(name, columns)
        _check_keys(name, columns, abstract)
        _check_kinds(name, columns)
        mapping = attrs["__mapping__"] = Mapping(columns)
        for position, (column_name, column) in enumerate(columns.items()):
            attrs[column_name] = descriptor_of(column, position)
        attrs["__discriminator_value__"] = attrs.get("__discriminator_value__")
        for error in ("DoesNotExist", "MultipleObjectsReturned"):
            # Derived from the errors of the bases, so that catching theirs catches those of
            # subclasses.
            known = tuple(vars(p)[error] for p in parents if error in vars(p))
            attrs[error] = type(
                error,
                known or (getattr(query_errors, error),),
                {
                    "__module__": attrs.get("__module__"),
                    "__qualname__": f"{attrs.get('__qualname__', name)}.{error}",
                },
            )
        made: Any = super().__new__(mcs, name, bases, attrs, **kwargs)
        mapping.model = made
        ttl = (made.__options__ or {}).get("default_time_to_live")
        if ttl is not None:
            made.__default_ttl__ = ttl
        mapping.has_own_init = any(
            "__init__" in vars(cls) for cls in made.__mro__[:-1] if cls.__module__ != __name__
        )
        if not abstract and not declares:
            mapping.shares = _shared(columns, parents)
        _join_family(made, mapping, parents, abstract)
        return made  # type: ignore[no-any-return]

    def __init__(
        cls, name: str, bases: tuple[type, ...], attrs: dict[str, Any], **kwargs: Any
    ) -> None:
        super().__init__(name, bases, attrs)
        if "__mapping__" not in vars(cls):
            _adopt(cls)


def _shared(columns: dict[str, Column[Any]], parents: Sequence[Any]) -> Any:
    """The parent whose rows are those of a class that adds methods alone; None for others."""
    tables = [parent for parent in parents if not parent.__abstract__]
    if len(tables) != 1 or columns.keys() != tables[0].__mapping__.columns.keys():
        return None
    return tables[0]


def _adopt(model: type[Any]) -> None:
    """Make a model of a class whose metaclass has a `__new__` of its own, and descriptors of
    columns.
    """
    declared = {
        name: descriptor.column
        for name, descriptor in vars(model).items()
        if isinstance(descriptor, ColumnDescriptor) and name != "pk"  # the key column once more
    }
    columns = _columns_of(model.__bases__, declared)
    _check_keys(model.__name__, columns, model.__abstract__)
    mapping = model.__mapping__ = Mapping(columns)
    mapping.model = model
    for position, (column_name, column) in enumerate(columns.items()):
        column.set_column_name(column_name)
        setattr(model, column_name, descriptor_of(column, position))
    _join_family(model, mapping, model.__bases__, model.__abstract__)


def _join_family(
    model: type[Any], mapping: Mapping, parents: Sequence[Any], abstract: bool
) -> None:
    """Let the classes that share a table know each other by their discriminator values."""
    if mapping.discriminator is None:
        return
    for parent in parents:
        if parent.__mapping__.discriminator is not None and not parent.__abstract__:
            mapping.base = parent.__mapping__.base
    value = model.__discriminator_value__
    if value is None or abstract or "__context_of__" in vars(model):
        return
    other = mapping.base.classes.get(value)
    if other is not None and (other.__module__, other.__qualname__) != (
        model.__module__,
        model.__qualname__,
    ):
        raise ModelDefinitionException(
            f"{other.__qualname__} and {model.__qualname__} both have the discriminator value "
            f"{value!r}"
        )
    mapping.base.classes[value] = model
    # What bases select depends on the columns of their subclasses.
    for parent in model.__mro__:
        known = vars(parent).get("__mapping__")
        if known is not None:
            known.statement_plans.clear()


# -- models ---------------------------------------------------------------------------------------


class BaseModel(metaclass=ModelMetaClass):
    """The base of `Model`.

    :param values: values by column; for the others their defaults. The instance is inserted
        when it is saved.
    """

    __slots__ = ("_row",)

    __abstract__: ClassVar[bool] = True
    __mapping__: ClassVar[Mapping]
    __table_name__: ClassVar[str | None] = None
    __table_name_case_sensitive__: ClassVar[bool] = False
    __keyspace__: ClassVar[str | None] = None
    __connection__: ClassVar[str | None] = None
    __options__: ClassVar[dict[str, Any] | None] = None
    __default_ttl__: ClassVar[int | None] = None
    __discriminator_value__: ClassVar[Any] = None
    __compute_routing_key__: ClassVar[bool] = True
    __consistency__: ClassVar[int | None] = None
    __queryset__: ClassVar[Any] = ModelQuerySet

    DoesNotExist: ClassVar[type[query_errors.DoesNotExist]]
    MultipleObjectsReturned: ClassVar[type[query_errors.MultipleObjectsReturned]]

    objects = QuerySetDescriptor()
    ttl = TTLDescriptor()
    timestamp = TimestampDescriptor()
    consistency = ConsistencyDescriptor()
    iff = ConditionalDescriptor()
    if_not_exists = IfNotExistsDescriptor()
    if_exists = IfExistsDescriptor()
    using = UsingDescriptor()
    pk = PartitionKeyDescriptor()

    __dmlquery__: ClassVar[Any] = dml.DMLQuery
    """*Optional.* A subclass of `DMLQuery` whose methods write the instances."""

    _row: Any

    def __init__(self, **values: Any) -> None:
        self._row = self.__mapping__.new_row(values)

    # -- as mapping -----------------------------------------------------------------------------

    def keys(self) -> list[str]:
        """Return the names of the columns."""
        return list(self.__mapping__.names)

    def values(self) -> list[Any]:
        """Return the values of the columns."""
        return [getattr(self, name) for name in self.__mapping__.names]

    def items(self) -> list[tuple[str, Any]]:
        """Return names and values of the columns."""
        return [(name, getattr(self, name)) for name in self.__mapping__.names]

    def __iter__(self) -> Iterator[str]:
        return iter(self.__mapping__.names)

    def __len__(self) -> int:
        return len(self.__mapping__.names)

    def __getitem__(self, key: str) -> Any:
        if key not in self.__mapping__.columns:
            raise KeyError(key)
        return getattr(self, key)

    def __setitem__(self, key: str, val: object) -> None:
        if key not in self.__mapping__.columns:
            raise KeyError(key)
        setattr(self, key, val)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, BaseModel) or _origin(type(other)) is not _origin(type(self)):
            return False
        return self.values() == other.values()

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={value!r}" for name, value in self.items())
        return f"{type(self).__name__}({values})"

    def __str__(self) -> str:
        keys = ", ".join(f"{name}={getattr(self, name)}" for name in self.__mapping__.primary_keys)
        return f"{type(self).__name__} <{keys}>"

    def __reduce__(self) -> tuple[Any, ...]:
        row = self._row
        known = None
        if type(row) is not tuple:
            known = (row.was, row.explicit, row.exposed, row.unknown)
        state = (tuple(row), known)
        kind: Any = type(self)
        if "__context__" in vars(kind):  # no module has this class under its name
            kind = (kind.__context_of__, *kind.__context__)
        return _restored, (kind, *state, dict(getattr(self, "__dict__", {})))

    # -- what is known of the row ---------------------------------------------------------------

    def get_changed_columns(self) -> list[str]:
        """Return the names of the columns that were changed since the row was read or saved."""
        row = self._row
        if type(row) is tuple:
            return []
        mapping = self.__mapping__
        return [mapping.names[at] for at in changed_positions(row, mapping)]

    def validate(self) -> None:
        """Check the values, and convert them to the stored form. Subclasses may check more.

        :raises ValidationError: if a column cannot hold its value.
        """
        row = own(self)
        # Collections that were never handed out cannot have changed: checking them would copy each.
        untouched = 0 if row.was is None else ~(row.exposed | row.explicit)
        for at, check, takes_none, mutable in self.__mapping__.checks:
            value = row[at]
            if value is None and takes_none:
                continue
            if mutable and untouched >> at & 1:
                continue
            valid = check(value)
            if valid is not value:
                row[at] = valid

    # -- writing --------------------------------------------------------------------------------

    def _write(self, operation: Operation[Any]) -> Operation[Any]:
        """Run `operation`, then forget the options that are for one write, whether it went well or
        not.
        """
        try:
            return (yield from operation)
        finally:
            row = own(self)
            how = row.how
            if how is not DEFAULTS and (how.timestamp is not None or how.is_conditional):
                row.how = how.for_later()

    def save(self) -> Self:
        """Insert the row, or update columns that changed since it was read or saved; returns self.

        :raises ValidationError: if a column cannot hold its value, or the key is not complete.
        :raises LWTException: if it is conditional and was not applied.
        """
        if not dml.by_program(self, "save"):
            run(self._write(dml.save(self)))
        return self

    async def asave(self) -> Self:
        """`save` on a connection of `cassandra.aio`."""
        await arun(self._write(dml.save(self)))
        return self

    def update(self, **values: Any) -> Self:
        """Write `values` and other changes; returns self.

        If it fails, the instance is as before.

        :param values: values by the attributes' names.
        :raises ValidationError: for unknown columns, the primary key's, and values that columns
            cannot hold.
        :raises LWTException: if it is conditional and was not applied.
        """
        if self.__dmlquery__ is dml.DMLQuery:
            run(self._write(dml.update(self, values)))
            return self
        dml.assign(self, values)
        dml.by_program(self, "update")
        return self

    async def aupdate(self, **values: Any) -> Self:
        """`update` on a connection of `cassandra.aio`.

        :param values: values by the attributes' names.
        """
        await arun(self._write(dml.update(self, values)))
        return self

    def delete(self) -> None:
        """Delete the row."""
        if not dml.by_program(self, "delete"):
            run(self._write(dml.delete(self)))

    async def adelete(self) -> None:
        """`delete` on a connection of `cassandra.aio`."""
        await arun(self._write(dml.delete(self)))

    def timeout(self, timeout: float | None) -> Self:
        """Set the timeout of writes, in seconds; None for no limit. Returns self.

        :param timeout: the seconds.
        :raises AssertionError: in batch mode: the batch has a timeout of its own.
        """
        row = own(self)
        if row.how.batch is not None:
            raise AssertionError("Setting both timeout and batch is not supported")
        row.how = row.how.but(timeout=timeout)
        return self

    def _batch(self, batch: BatchQuery | None) -> Self:
        """Add the writes to `batch` until it is executed or its block is left; returns self."""
        row = own(self)
        if batch is not None and not isinstance(batch, BatchQuery):
            raise CQLEngineException("batch_obj must be a BatchQuery instance or None")
        if batch is not None and row.how.timeout is not connection.NOT_SET:
            raise AssertionError("Setting both timeout and batch is not supported")
        if batch is not None and row.how.connection is not None:
            raise CQLEngineException("Cannot specify a connection on model in batch mode.")
        row.how = row.how.but(batch=batch)
        if batch is not None:
            batch.hold(row)
        return self

    def _class_batch(cls, batch: BatchQuery | None) -> ModelQuerySet[Any]:
        """Return a queryset whose writes are added to `batch`."""
        return cls.objects.batch(batch)

    batch = hybrid_classmethod(_class_batch, _batch)

    # -- the table ------------------------------------------------------------------------------

    @classmethod
    def column_family_name(cls, include_keyspace: bool = True) -> str:
        """Return the table's name.

        :param include_keyspace: with the keyspace in front.
        :raises CQLEngineException: if there is no keyspace.
        """
        if include_keyspace:
            return cls.__mapping__.table_name(None)
        name = cls._table_name()
        return escape_name(name) if cls.__table_name_case_sensitive__ else protect_name(name)

    @classmethod
    def _table_name(cls) -> str:
        """The table's name as the server has it, without quotes."""
        name = cls.__table_name__
        if not name:
            base = cls.__mapping__.base.model
            while base.__mapping__.shares is not None:
                base = base.__mapping__.shares
            name = base.__table_name__ or snake_case(base.__name__)
        return name if cls.__table_name_case_sensitive__ else name.lower()

    # -- querysets ------------------------------------------------------------------------------

    @classmethod
    def all(cls) -> ModelQuerySet[Self]:
        """Return a queryset of all rows."""
        return cls.objects.all()

    @classmethod
    def filter(cls, *args: Any, **kwargs: Any) -> ModelQuerySet[Self]:
        """Return a queryset with these filters.

        :param args: conditions, such as ``Model.age > 5``.
        :param kwargs: values by name, with an operator if it is not equality: ``age__gt=5``.
        """
        return cls.objects.filter(*args, **kwargs)

    @classmethod
    def get(cls, *args: Any, **kwargs: Any) -> Self:
        """Return the only row for which the filters hold.

        :param args: conditions, such as ``Model.age > 5``.
        :param kwargs: values by name, with an operator if it is not equality: ``age__gt=5``.
        :raises DoesNotExist: if there is none.
        :raises MultipleObjectsReturned: if there are more.
        """
        found: Self = cls.objects.get(*args, **kwargs)
        return found

    @classmethod
    async def aget(cls, *args: Any, **kwargs: Any) -> Self:
        """`get` on a connection of `cassandra.aio`.

        :param args: conditions, such as ``Model.age > 5``.
        :param kwargs: values by name, with an operator if it is not equality: ``age__gt=5``.
        """
        found: Self = await cls.objects.aget(*args, **kwargs)
        return found

    @classmethod
    def create(cls, **kwargs: Any) -> Self:
        """Insert a row and return its instance.

        :param kwargs: values by the attributes' names.
        :raises ValidationError: for unknown columns, and for values that columns cannot hold.
        """
        if not cls.__mapping__.columns.keys() >= kwargs.keys():
            raise cls.__mapping__.unknown_columns(kwargs)
        # By the queryset, which may be the program's.
        made: Self = cls.objects.create(**kwargs)
        return made

    @classmethod
    async def acreate(cls, **kwargs: Any) -> Self:
        """`create` on a connection of `cassandra.aio`.

        :param kwargs: values by the attributes' names.
        """
        if not cls.__mapping__.columns.keys() >= kwargs.keys():
            raise cls.__mapping__.unknown_columns(kwargs)
        made: Self = await cls.objects.acreate(**kwargs)
        return made


def _origin(model: Any) -> Any:
    """The program's class, of one for another keyspace or connection."""
    return vars(model).get("__context_of__", model)


def _restored(
    model: Any, values: Sequence[Any], state: Any, attributes: dict[str, Any]
) -> BaseModel:
    """An instance from the state of `BaseModel.__reduce__`."""
    if isinstance(model, tuple):
        model = context_class(*model)
    instance: BaseModel = model.__new__(model)
    if state is None:
        instance._row = tuple(values)
    else:
        row = Values(values, state[0])
        row.explicit, row.exposed = state[1:3]
        row.unknown = state[3] if len(state) > 3 else 0  # of a version that did not have it
        instance._row = row
    instance.__dict__.update(attributes)
    return instance


# Names that columns cannot have. The awaitable forms are not among them: a column may hide those.
_RESERVED = frozenset(
    name
    for name in vars(BaseModel)
    if (not name.startswith("_") and not name.startswith("a")) or name == "all"
) - {"pk"}


class Model(BaseModel):
    """Base of a program's models: columns are class attributes.

    ``class Person(Model): id = columns.UUID(primary_key=True); name = columns.Text()``

    :param values: values by column; for the others their defaults.
    """

    __abstract__: ClassVar[bool] = True
    """*Optional.* True for models that are only bases of others: they have no table."""

    __table_name__: ClassVar[str | None] = None
    """*Optional.* The table's name; that of the class in snake case if it is not given."""

    __table_name_case_sensitive__: ClassVar[bool] = False
    """*Optional.* Keep upper and lower case of `__table_name__`."""

    __keyspace__: ClassVar[str | None] = None
    """The keyspace; the default one of the connection if it is not given."""

    __connection__: ClassVar[str | None] = None
    """The name of the connection."""

    __options__: ClassVar[dict[str, Any] | None] = None
    """*Optional.* Options of the table, for `sync_table`."""

    __default_ttl__: ClassVar[int | None] = None
    """The table's ``default_time_to_live`` option, for reading. It is set by `__options__`."""

    __discriminator_value__: ClassVar[Any] = None
    """*Optional.* What the discriminator column holds in rows of this class."""

    __compute_routing_key__: ClassVar[bool] = True
    """Kept for programs that set it: prepared statements know their routing keys."""


class _Module(ModuleType):
    """This module: `DEFAULT_KEYSPACE` of it is the connection module's, for reading and writing."""

    @property
    def DEFAULT_KEYSPACE(self) -> str | None:
        return connection.default_keyspace()

    @DEFAULT_KEYSPACE.setter
    def DEFAULT_KEYSPACE(self, keyspace: str | None) -> None:
        connection.set_default_keyspace(keyspace)


sys.modules[__name__].__class__ = _Module
