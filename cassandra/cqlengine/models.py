"""Models: classes whose instances are rows of a table."""

from __future__ import annotations

import copy
import logging
import sys
import warnings
from abc import ABCMeta
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from cassandra._habits import MODEL, add_habits, frame_of_user_code, stack_level
from cassandra._lazy import lazy_names
from cassandra._misspelt import warn_of_misspelt
from cassandra.cqlengine import connection
from cassandra.cqlengine.class_bodies import (
    missing_key_advice,
    warn_of_constant_defaults,
    warn_of_meta,
    warn_of_missing_columns,
    warn_of_settings,
)
from cassandra.cqlengine.columns.annotated import columns_of_annotations
from cassandra.cqlengine.columns.base import Column
from cassandra.cqlengine.copies import are_different
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
from cassandra.cqlengine.private_names import CompatModel
from cassandra.cqlengine.query import dml, errors as query_errors
from cassandra.cqlengine.query.batch import BatchQuery
from cassandra.cqlengine.query.expressions import ColumnQueryEvaluator
from cassandra.cqlengine.query.model_queryset import ModelQuerySet
from cassandra.cqlengine.running import Operation, arun, run
from cassandra.cqlengine.unpaired import unpaired_methods, warn_of_unpaired
from cassandra.cqlengine.values import Values, changed_positions, values_of
from cassandra.cqlengine.wrong_calls import (
    advise_on_filters,
    advise_on_saving,
    advise_on_values,
    require_instance,
)
from cassandra.util.cql_text import escape_name, protect_name

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = [
    "DEFAULT_KEYSPACE", "BaseModel", "CQLEngineException", "ColumnDescriptor",
    "ColumnQueryEvaluator", "ConditionalDescriptor", "ConsistencyDescriptor", "IfExistsDescriptor",
    "IfNotExistsDescriptor", "Model", "ModelDefinitionException", "ModelException",
    "ModelMetaClass", "PolymorphicModelException", "QuerySetDescriptor", "TTLDescriptor",
    "TimestampDescriptor", "UndefinedKeyspaceWarning", "UsingDescriptor", "ValidationError",
    "hybrid_classmethod", "protect_name",
]  # fmt: skip

log = logging.getLogger(__name__)

# `_Module`, the class of this module, makes this name a property.
DEFAULT_KEYSPACE: str | None

# `Model` uses this name in annotations instead of `dict[...]`. `typing.get_type_hints` evaluates
# annotations in the namespace of the class, where `dict` is not the builtin: `add_habits` adds a
# method `dict` there, whose only purpose is an error message with advice.
_TableOptions = dict[str, Any]


class UndefinedKeyspaceWarning(Warning):
    """Warns that a model has no keyspace while no default keyspace is set."""


# -- creating classes -----------------------------------------------------------------------------


def _columns_of(bases: Sequence[type], attrs: dict[str, Any]) -> dict[str, Column[Any]]:
    """Return all columns of a class by name: first the columns of its bases, then its own columns.

    A column of the class may replace a column of a base, and ``name = None`` removes it.
    """
    columns: dict[str, Column[Any]] = {}
    # Later columns replace earlier columns with the same name. In reverse order, a column of the
    # first base replaces those of other bases, as in the method resolution order.
    for base in reversed(bases):
        for parent in reversed(base.__mro__):
            mapping = vars(parent).get("__mapping__")
            if mapping is not None:
                columns.update(mapping.columns)
            else:  # a mixin: a plain class with columns
                columns.update(
                    {
                        column_name: column
                        for column_name, column in vars(parent).items()
                        if isinstance(column, Column)
                    }
                )
    declared = {name: value for name, value in attrs.items() if isinstance(value, Column)}
    columns.update(sorted(declared.items(), key=lambda item: item[1].instance_counter))
    # Copy the columns, because `set_column_name` changes a column, and the bases must keep theirs
    # unchanged.
    return {
        name: copy.copy(column)
        for name, column in columns.items()
        if attrs.get(name, column) is not None
    }


def _check_names(name: str, columns: dict[str, Column[Any]]) -> None:
    """Raise an error for a column that hides a method, or has the same field as another column."""
    for column_name in columns:
        # `_row` is reserved too: instances store their values in it.
        if column_name in _RESERVED or column_name == "_row":
            raise ModelDefinitionException(
                f"column '{column_name}' conflicts with built-in attribute/method"
            )
    first_use: dict[str, str] = {}
    for column_name, column in columns.items():
        other = first_use.setdefault(column.db_field_name, column_name)
        if other != column_name:
            raise ModelException(
                f"{name} defines the column '{column.db_field_name}' more than once: as {other} "
                f"and {column_name}"
            )


def _check_keys(
    name: str, columns: dict[str, Column[Any]], abstract: bool, attrs: dict[str, Any]
) -> None:
    """Check that the primary key and the clustering orders are valid.

    If no column is marked as partition key, make the first column of the primary key the partition
    key.
    """
    keys = [column for column in columns.values() if column.primary_key]
    if not keys:
        if abstract:
            return
        raise ModelDefinitionException(
            f"At least 1 primary key is required: {name} has none.{missing_key_advice(attrs)}"
        )
    for column in keys:
        if column.is_counter:
            raise ModelDefinitionException(
                f"the counter '{column.column_name}' of {name} must not be part of the primary key"
            )
    if not any(column.partition_key for column in keys):
        keys[0].partition_key = True
    # Only a clustering column may have a clustering order.
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


def _check_counters_and_discriminator(name: str, columns: dict[str, Column[Any]]) -> None:
    """Check the discriminator column, and that a table with counters has no other data columns."""
    discriminators = [
        column_name for column_name, column in columns.items() if column.discriminator_column
    ]
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
    # In a table with a counter, all columns outside the primary key must be counters.
    data_columns = [column for column in columns.values() if not column.primary_key]
    if any(column.is_counter for column in data_columns) and not all(
        column.is_counter for column in data_columns
    ):
        raise ModelDefinitionException("counter models may not have data columns")


# The modules that replace attributes on purpose, for tests. `__setattr__` does not warn if it is
# called by one of them.
_PATCHING = frozenset({"_pytest.monkeypatch", "unittest.mock"})


class ModelMetaClass(ABCMeta):
    """The metaclass of models: collects and checks the columns, and adds the model's error classes.

    The metaclass derives from `ABCMeta`, so that models may have abstract base classes besides
    `Model`.
    """

    def __new__(
        mcs, name: str, bases: tuple[type, ...], attrs: dict[str, Any], **kwargs: Any
    ) -> ModelMetaClass:
        warn_of_settings(name, attrs)
        if mcs is ModelMetaClass:
            # Metaclasses of other packages, such as django-cassandra-engine, may read `Meta`.
            warn_of_meta(name, attrs, bases)
        # Collect the columns, and check them.
        abstract = attrs.setdefault("__abstract__", False)
        attrs.update(columns_of_annotations(name, attrs, ModelDefinitionException))
        declares_columns = any(isinstance(value, Column) for value in attrs.values())
        parents = [base for base in bases if isinstance(base, ModelMetaClass)]
        columns = _columns_of(bases, attrs)
        for column_name, column in columns.items():
            column.owner = name
            column.set_column_name(column_name)
        _check_names(name, columns)
        _check_keys(name, columns, abstract, attrs)
        _check_counters_and_discriminator(name, columns)
        warn_of_constant_defaults(name, columns, parents)
        warn_of_missing_columns(name, attrs, bases, columns)
        # Replace the columns by descriptors.
        mapping = attrs["__mapping__"] = Mapping(columns)
        for position, (column_name, column) in enumerate(columns.items()):
            attrs[column_name] = descriptor_of(column, position)
        # A subclass must not inherit the discriminator value of its base, so set it to None if the
        # class does not define one.
        attrs["__discriminator_value__"] = attrs.get("__discriminator_value__")
        # Give the class its own errors. They derive from the errors of the bases, so that a handler
        # for a base's error also catches the errors of subclasses.
        for error_name in ("DoesNotExist", "MultipleObjectsReturned"):
            base_errors = tuple(
                vars(parent)[error_name] for parent in parents if error_name in vars(parent)
            )
            attrs[error_name] = type(
                error_name,
                base_errors or (getattr(query_errors, error_name),),
                {
                    "__module__": attrs.get("__module__"),
                    "__qualname__": f"{attrs.get('__qualname__', name)}.{error_name}",
                },
            )
        # Create the class, then set the attributes that need the class.
        model: Any = super().__new__(mcs, name, bases, attrs, **kwargs)
        mapping.model = model
        ttl = (model.__options__ or {}).get("default_time_to_live")
        if ttl is not None:
            model.__default_ttl__ = ttl
        _note_own_methods(model, mapping)
        if not abstract and not declares_columns:
            mapping.shares = _parent_with_table(columns, parents)
        _join_family(model, mapping, parents, abstract)
        return model  # type: ignore[no-any-return]

    def __init__(
        cls, name: str, bases: tuple[type, ...], attrs: dict[str, Any], **kwargs: Any
    ) -> None:
        super().__init__(name, bases, attrs)
        # A metaclass that derives from this one may have created the class without calling
        # `__new__` above.
        if "__mapping__" not in vars(cls):
            _complete_mapping(cls)

    def __setattr__(cls, name: str, value: object) -> None:
        # If the application sets a column's attribute on the class, it probably means an instance,
        # so warn. But do not warn if the new value is a descriptor, or if a test replaces the
        # attribute.
        if (
            isinstance(vars(cls).get(name), ColumnDescriptor)
            and not (hasattr(type(value), "__get__") or isinstance(value, Column))
            and frame_of_user_code().f_globals.get("__name__") not in _PATCHING
        ):
            warnings.warn(
                f"{cls.__name__}.{name} is set on the class, which replaces the column: write "
                f"instance.{name} = ...",
                RuntimeWarning,
                stacklevel=stack_level(),
            )
        super().__setattr__(name, value)


def _note_own_methods(model: type[Any], mapping: Mapping) -> None:
    """Record in the mapping which of the mapper's methods the application's classes override."""
    # Skip the classes of this module, and `object`, which is last.
    own_names = {
        name for cls in model.__mro__[:-1] if cls.__module__ != __name__ for name in vars(cls)
    }
    mapping.has_own_init = "__init__" in own_names
    mapping.has_own_save = "save" in own_names
    mapping.has_own_asave = "asave" in own_names
    mapping.unpaired_methods = unpaired_methods(model, __name__)


def _parent_with_table(
    columns: dict[str, Column[Any]], parents: Sequence[Any]
) -> type[BaseModel] | None:
    """Return the parent whose table a class without columns uses; None if it needs its own table.

    A class without columns only adds methods to its parent.
    """
    tables = [parent for parent in parents if not parent.__abstract__]
    if len(tables) != 1 or columns.keys() != tables[0].__mapping__.columns.keys():
        return None
    parent: type[BaseModel] = tables[0]
    return parent


def _complete_mapping(model: type[Any]) -> None:
    """Add the mapping to a model whose metaclass does not call `ModelMetaClass.__new__`.

    Such a metaclass has already replaced the columns by descriptors.
    """
    declared = {
        name: descriptor.column
        for name, descriptor in vars(model).items()
        # `pk` may be another name of a key column.
        if isinstance(descriptor, ColumnDescriptor) and name != "pk"
    }
    columns = _columns_of(model.__bases__, declared)
    _check_keys(model.__name__, columns, model.__abstract__, attrs={})
    mapping = model.__mapping__ = Mapping(columns)
    mapping.model = model
    _note_own_methods(model, mapping)
    for position, (column_name, column) in enumerate(columns.items()):
        column.set_column_name(column_name)
        setattr(model, column_name, descriptor_of(column, position))
    _join_family(model, mapping, model.__bases__, model.__abstract__)


def _join_family(
    model: type[Any], mapping: Mapping, parents: Sequence[Any], abstract: bool
) -> None:
    """Register a class under its discriminator value; do nothing if it has no discriminator column.

    Rows with this discriminator value then become instances of the class.

    :raises ModelDefinitionException: if another class has the same discriminator value.
    """
    if mapping.discriminator is None:
        return
    for parent in parents:
        if parent.__mapping__.discriminator is not None and not parent.__abstract__:
            # Several classes that share a table are a family. The mapping of the first class of the
            # family has the classes of all discriminator values.
            mapping.base = parent.__mapping__.base
    value = model.__discriminator_value__
    # Do not register a class without a discriminator value, or a class that `context_class` has
    # created for another keyspace or connection.
    if value is None or abstract or "__context_of__" in vars(model):
        return
    other = mapping.base.classes.get(value)
    # Ignore a class with the same module and name: its module was probably reloaded.
    if other is not None and (other.__module__, other.__qualname__) != (
        model.__module__,
        model.__qualname__,
    ):
        raise ModelDefinitionException(
            f"{other.__qualname__} and {model.__qualname__} both have the discriminator value "
            f"{value!r}"
        )
    mapping.base.classes[value] = model
    # A queryset of a base class also selects the columns of this class. So drop the statement plans
    # that the bases have cached without these columns.
    for parent in model.__mro__:
        parent_mapping = vars(parent).get("__mapping__")
        if parent_mapping is not None:
            parent_mapping.statement_plans.clear()


# -- models ---------------------------------------------------------------------------------------


class BaseModel(CompatModel, metaclass=ModelMetaClass):
    """The base class of `Model`.

    :param values: values by column. Other columns get their defaults. `save` then inserts the row.
    """

    __slots__ = ("_row",)

    __abstract__: ClassVar[bool] = True
    __mapping__: ClassVar[Mapping]
    __table_name__: ClassVar[str | None] = None
    __table_name_case_sensitive__: ClassVar[bool] = False
    __keyspace__: ClassVar[str | None] = None
    __connection__: ClassVar[str | None] = None
    __options__: ClassVar[_TableOptions | None] = None
    __default_ttl__: ClassVar[int | None] = None
    __discriminator_value__: ClassVar[Any] = None
    __compute_routing_key__: ClassVar[bool] = True
    __consistency__: ClassVar[int | None] = None
    __idempotent__: ClassVar[bool] = False
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

    # The values by position. This is the tuple of a row that was read, or a `Values` if the
    # instance is new or was changed.
    _row: Any

    # The type NoReturn makes type checkers report values that are passed without their column.
    def __init__(self, *_unnamed: NoReturn, **values: Any) -> None:
        if _unnamed:
            names = self.__mapping__.names
            named = ", ".join(f"{name}=..." for name in names[: len(_unnamed)])
            raise TypeError(
                f"{type(self).__name__}() takes values by the names of columns: write "
                f"{type(self).__name__}({named})"
            )
        # `_initialized` sets the row of an instance that was read, and then calls the application's
        # `__init__`, which may call this method by super(). The row must stay as it is then.
        if not isinstance(getattr(self, "_row", None), tuple):
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
        return not are_different(self.values(), other.values())

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={value!r}" for name, value in self.items())
        return f"{type(self).__name__}({values})"

    def __str__(self) -> str:
        keys = ", ".join(f"{name}={getattr(self, name)}" for name in self.__mapping__.primary_keys)
        return f"{type(self).__name__} <{keys}>"

    def __copy__(self) -> Self:
        return self._duplicate(lambda value: value, {})

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self._duplicate(partial(copy.deepcopy, memo=memo), memo)

    def _duplicate(self, copied: Callable[[Any], Any], memo: dict[int, Any]) -> Self:
        """Return a copy of this instance.

        :param copied: returns the copy's values for those of this instance.
        :param memo: gets the copy, under the identity of this instance.
        """
        reduced: Any = self.__reduce_ex__(4)
        rebuild, arguments, *rest = reduced
        duplicate: Self = rebuild(*copied(arguments))
        memo[id(self)] = duplicate
        # An application's model may override `__reduce__`, and return a state too.
        if rest and rest[0] is not None:
            set_state: Any = getattr(duplicate, "__setstate__", None) or vars(duplicate).update
            set_state(copied(rest[0]))
        row = self._row
        if type(row) is Values and row.options is not DEFAULTS:
            # The copy also gets the conditions, the TTL, the batch and the other options of the
            # instance. A pickle has only the keyspace and the connection: the others belong to a
            # write that this process is about to make.
            values = values_of(duplicate)
            values.options = row.options
            if row.options.batch is not None:
                row.options.batch.hold(values)
        return duplicate

    def __reduce__(self) -> tuple[Any, ...]:
        row = self._row
        # `_row` of an instance that was only read is a tuple. It becomes a `Values` when the
        # instance is changed.
        saved_state = None
        if type(row) is not tuple:
            # `explicit`, `exposed`, `unknown` and `disputed` are integers that stand for sets of
            # positions; see `Values`. Concurrent writes have sent different values to the disputed
            # positions, and the database may have any of these values. Add the disputed positions
            # to `explicit` and `unknown`, so that the copy writes them again. The database may also
            # have the values of failed writes, so add their positions to all three sets.
            disputed = row.disputed
            for write in row.failed:
                disputed |= write.positions
            saved_state = (
                row.stored, row.explicit | disputed, row.exposed, row.unknown | disputed, disputed,
            )  # fmt: skip
        state = (tuple(row), saved_state)
        attributes = dict(getattr(self, "__dict__", {}))
        # Without the keyspace and the connection of `using`, the instance would be written to
        # another table.
        options = DEFAULTS if type(row) is tuple else row.options
        target = (options.keyspace, options.connection)
        model: Any = type(self)
        # A class for another keyspace or connection cannot be imported by its name.
        if "__context__" in vars(model):
            model = (model.__context_of__, *model.__context__)
        if target == (None, None):
            return _restored, (model, *state, attributes)
        return _restored, (model, *state, attributes, target)

    # -- what is known of the row ---------------------------------------------------------------

    def get_changed_columns(self) -> list[str]:
        """Return the names of the columns that have changed since the row was read or saved."""
        row = self._row
        if type(row) is tuple:
            return []
        mapping = self.__mapping__
        return [mapping.names[position] for position in changed_positions(row, mapping)]

    def validate(self) -> None:
        """Check the values, and convert them to the form that instances store.

        Subclasses may override this to add checks.

        :raises ValidationError: if a column cannot hold its value.
        """
        row = values_of(self)
        # If the application has neither read nor set a collection since it was stored, the
        # collection cannot have changed. Do not check it, because checking would copy it. The bits
        # of these columns are 1 in `untouched`.
        untouched = 0 if row.stored is None else ~(row.exposed | row.explicit)
        for position, check, accepts_none, mutable in self.__mapping__.checks:
            value = row[position]
            if value is None and accepts_none:
                continue
            # Skip collections whose bit in `untouched` is set.
            if mutable and untouched >> position & 1:
                continue
            converted = check(value)
            if converted is value:
                continue
            if not self._must_stay(position, value):
                row[position] = converted

    def _must_stay(self, position: int, value: object) -> bool:
        """Return True if `value` is the stored value of the row, which `validate` must not replace.

        If it were replaced by a converted value, `save` would overwrite the stored value or, for a
        key column, write another row. Only an application's own column class may convert values
        that were read, and only in a column outside the key.
        """
        row = values_of(self)
        if row.stored is None or row.stored[position] is not value or row.explicit >> position & 1:
            return False
        column = self.__mapping__.order[position]
        return column.primary_key or column._is_stock()

    # -- writing --------------------------------------------------------------------------------

    def _write(self, operation: Operation[Any]) -> Operation[Any]:
        """Run `operation`, which saves this instance, then drop the timestamp.

        If the operation fails, the timestamp stays, so that the application can save the instance
        again.
        """
        attributes = getattr(self, "__dict__", None)
        if attributes:  # attributes that are not columns
            warn_of_misspelt(type(self), attributes, self.__mapping__.columns)
        row = values_of(self)
        timestamp = row.options.timestamp
        result = yield from operation
        if row.options is not DEFAULTS:
            row.options = row.options.for_later(timestamp)
        return result

    def save(self) -> Self:
        """Insert the row, or update the columns that have changed since it was read or saved.

        :returns: self.
        :raises ValidationError: if a column cannot hold its value, or the key is not complete.
        :raises LWTException: if the write is conditional and was not applied.
        """
        # If the application has set `__dmlquery__`, that class writes the row.
        if not dml.run_custom_dmlquery(self, "save"):
            run(self._write(dml.save(self)))
        return self

    async def asave(self) -> Self:
        """Insert or update the row, as `save` does, on a connection of `cassandra.aio`."""
        warn_of_unpaired(type(self), "save", "asave")
        await arun(self._write(dml.save(self)))
        return self

    def update(self, **values: Any) -> Self:
        """Set `values`, and write them and all other changes; returns self.

        If the values are not valid, the instance keeps the values that it had before the call. If
        the request fails, the instance keeps the new values, and the next `save` writes them.

        :param values: values by the attributes' names.
        :raises ValidationError: for unknown columns, columns of the primary key, and values that
            columns cannot hold.
        :raises LWTException: if the update is conditional and was not applied.
        """
        # If the application has not set `__dmlquery__`, the mapper writes the row itself.
        if self.__dmlquery__ is dml.DMLQuery:
            run(self._write(dml.update(self, values)))
            return self
        dml.assign(self, values)
        dml.run_custom_dmlquery(self, "update")
        return self

    async def aupdate(self, **values: Any) -> Self:
        """Set and write `values`, as `update` does, on a connection of `cassandra.aio`.

        :param values: values by the attributes' names.
        """
        warn_of_unpaired(type(self), "update", "aupdate")
        await arun(self._write(dml.update(self, values)))
        return self

    def delete(self) -> None:
        """Delete the row."""
        if not dml.run_custom_dmlquery(self, "delete"):
            run(dml.delete(self))

    async def adelete(self) -> None:
        """Delete the row on a connection of `cassandra.aio`."""
        warn_of_unpaired(type(self), "delete", "adelete")
        await arun(dml.delete(self))

    def timeout(self, timeout: float | None) -> Self:
        """Set the timeout of the instance's writes; returns self.

        :param timeout: seconds; None for no limit.
        :raises AssertionError: if the instance is in a batch: set the batch's timeout instead.
        """
        row = values_of(self)
        if row.options.batch is not None:
            raise AssertionError("Setting both timeout and batch is not supported")
        row.options = row.options.with_changes(timeout=timeout)
        return self

    def _instance_batch(self, batch: BatchQuery | None) -> Self:
        """Add the writes to `batch` until the batch is executed or its block ends; returns self."""
        row = values_of(self)
        if batch is not None and not isinstance(batch, BatchQuery):
            raise CQLEngineException("batch_obj must be a BatchQuery instance or None")
        if batch is not None and row.options.timeout is not connection.NOT_SET:
            raise AssertionError("Setting both timeout and batch is not supported")
        if batch is not None and row.options.connection is not None:
            raise CQLEngineException("Cannot specify a connection on model in batch mode.")
        row.options = row.options.with_changes(batch=batch)
        if batch is not None:
            # `hold` makes the batch remember the row. When the batch is executed, it removes itself
            # from the options of this row.
            batch.hold(row)
        return self

    def _class_batch(cls, batch: BatchQuery | None) -> ModelQuerySet[Any]:
        """Return a queryset whose writes are added to `batch`."""
        return cls.objects.batch(batch)

    batch = hybrid_classmethod(_class_batch, _instance_batch)

    # -- the table ------------------------------------------------------------------------------

    @classmethod
    def column_family_name(cls, include_keyspace: bool = True) -> str:
        """Return the table's name.

        :param include_keyspace: True to put the keyspace in front.
        :raises CQLEngineException: if neither the model nor the connection has a keyspace.
        """
        if include_keyspace:
            return cls.__mapping__.table_name(keyspace=None)
        name = cls._table_name()
        return escape_name(name) if cls.__table_name_case_sensitive__ else protect_name(name)

    @classmethod
    def _table_name(cls) -> str:
        """Return the table's name as the server stores it, without quotes."""
        name = cls.__table_name__
        if not name:
            # Classes that share a table use the name of the class that introduced it.
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
        :param kwargs: values by column name; for an operator other than equality, write
            ``age__gt=5``.
        """
        return cls.objects.filter(*args, **kwargs)

    @classmethod
    def get(cls, *args: Any, **kwargs: Any) -> Self:
        """Return the only row that matches the filters.

        :param args: conditions, such as ``Model.age > 5``.
        :param kwargs: values by column name; for an operator other than equality, write
            ``age__gt=5``.
        :raises DoesNotExist: if no row matches.
        :raises MultipleObjectsReturned: if several rows match.
        """
        return cls.objects.get(*args, **kwargs)

    @classmethod
    async def aget(cls, *args: Any, **kwargs: Any) -> Self:
        """Return the only row that matches the filters, on a connection of `cassandra.aio`.

        :param args: conditions, such as ``Model.age > 5``.
        :param kwargs: values by column name; for an operator other than equality, write
            ``age__gt=5``.
        """
        warn_of_unpaired(cls, "get", "aget")
        return await cls.objects.aget(*args, **kwargs)

    @classmethod
    def create(cls, **kwargs: Any) -> Self:
        """Insert a row and return its instance.

        :param kwargs: values by the attributes' names.
        :raises ValidationError: for unknown columns, and for values that columns cannot hold.
        """
        if not cls.__mapping__.columns.keys() >= kwargs.keys():
            raise cls.__mapping__.unknown_columns(kwargs)
        # Let the queryset create the row, because the application may have set `__queryset__` to a
        # class with its own `create`.
        return cls.objects.create(**kwargs)

    @classmethod
    async def acreate(cls, **kwargs: Any) -> Self:
        """Insert a row on a connection of `cassandra.aio` and return its instance.

        :param kwargs: values by the attributes' names.
        """
        if not cls.__mapping__.columns.keys() >= kwargs.keys():
            raise cls.__mapping__.unknown_columns(kwargs)
        warn_of_unpaired(cls, "create", "acreate")
        return await cls.objects.acreate(**kwargs)


advise_on_values(BaseModel, "create", "acreate", "update", "aupdate")
advise_on_filters(BaseModel, "all", "delete", "adelete")
advise_on_saving(BaseModel, "save", "asave")
_HOW_TO_UPDATE = "write Model.objects(key=value).{0}(column=value), or instance.{0}(column=value)"
_HOW_TO_DELETE = "write Model.objects(key=value).{0}(), or instance.{0}()"
_HOW_TO_SAVE = "write Model.{}(column=value), or Model(column=value).{}()"
require_instance(
    BaseModel,
    {
        "update": _HOW_TO_UPDATE.format("update"),
        "aupdate": _HOW_TO_UPDATE.format("aupdate"),
        "delete": _HOW_TO_DELETE.format("delete"),
        "adelete": _HOW_TO_DELETE.format("adelete"),
        "save": _HOW_TO_SAVE.format("create", "save"),
        "asave": _HOW_TO_SAVE.format("acreate", "asave"),
        "validate": "write Model(column=value).validate()",
    },
)


def _origin(model: Any) -> type[BaseModel]:
    """Return the application's model for a class that `context_class` has created from it."""
    original_model: type[BaseModel] = vars(model).get("__context_of__", model)
    return original_model


def _restored(
    model: Any,
    values: Sequence[Any],
    state: Any,
    attributes: dict[str, Any],
    target: tuple[str | None, str | None] | None = None,
) -> BaseModel:
    """Return an unpickled instance, from the state that `BaseModel.__reduce__` returns.

    :param target: the keyspace and the connection of `using`; None if it was not called.
    """
    # `model` is a class, or a tuple (model, keyspace, connection) if the class was made for another
    # keyspace or connection.
    if isinstance(model, tuple):
        model = context_class(*model)
    instance: BaseModel = model.__new__(model)
    if state is None:
        instance._row = tuple(values)
    else:
        # For an instance that was changed, `state` is (stored, explicit, exposed, unknown,
        # disputed); see `Values`.
        row = Values(values, state[0])
        row.explicit, row.exposed = state[1:3]
        # A pickle of an older version of this package lacks these items.
        row.unknown = state[3] if len(state) > 3 else 0
        row.disputed = state[4] if len(state) > 4 else 0
        instance._row = row
        if target is not None:
            keyspace, name = target
            row.options = row.options.with_changes(keyspace=keyspace, connection=name)
    instance.__dict__.update(attributes)
    return instance


# Names that columns cannot have. The awaitable methods, such as `asave`, are not among them: a
# column may have such a name, and then hides the method. All methods that begin with "a", except
# `all`, are awaitable.
_RESERVED = frozenset(
    name
    for name in vars(BaseModel)
    if (not name.startswith("_") and not name.startswith("a")) or name == "all"
) - {"pk"}


class Model(BaseModel):
    """Base class of an application's models: columns are class attributes.

    ``class Person(Model): id = columns.UUID(primary_key=True); name = columns.Text()``

    :param values: values by column; other columns get their defaults.
    """

    __abstract__: ClassVar[bool] = True
    """*Optional.* True for a class that is only a base class of models, and has no table."""

    __table_name__: ClassVar[str | None] = None
    """*Optional.* The table's name; by default the class name in snake case."""

    __table_name_case_sensitive__: ClassVar[bool] = False
    """*Optional.* True to use `__table_name__` as it is. By default it is changed to lower case."""

    __keyspace__: ClassVar[str | None] = None
    """The keyspace; by default the connection's default keyspace."""

    __connection__: ClassVar[str | None] = None
    """The name of the connection; by default the default connection."""

    __options__: ClassVar[_TableOptions | None] = None
    """*Optional.* Options of the table, for `sync_table`."""

    __default_ttl__: ClassVar[int | None] = None
    """The table's option ``default_time_to_live``. You can only read it here; set it by
    `__options__`.
    """

    __idempotent__: ClassVar[bool] = False
    """*Optional.* True if the driver may send reads and writes of the model again, or to several
    nodes (retries and speculative executions). Conditional writes, and changes of counters and of
    the elements of lists, are never sent again.
    """

    __discriminator_value__: ClassVar[Any] = None
    """*Optional.* The value of the discriminator column in rows of this class."""

    __compute_routing_key__: ClassVar[bool] = True
    """Has no effect, because prepared statements know their routing keys. Applications set it."""


# Call this after `_RESERVED` is computed: columns may have the names that `add_habits` adds.
add_habits(Model, MODEL)


class _Module(ModuleType):
    """The class of this module, which makes `DEFAULT_KEYSPACE` a property.

    The property reads and sets the default keyspace of `cassandra.cqlengine.connection`.
    """

    @property
    def DEFAULT_KEYSPACE(self) -> str | None:
        return connection.default_keyspace()

    @DEFAULT_KEYSPACE.setter
    def DEFAULT_KEYSPACE(self, keyspace: str | None) -> None:
        connection.set_default_keyspace(keyspace)


sys.modules[__name__].__class__ = _Module

# Set `__getattr__` through globals(), so that type checkers still report unknown names.
globals()["__getattr__"] = lazy_names(__name__)
