"""`Mapping`: the columns of a model and its cached statements; built once, with the model's class.

Values of instances are addressed by *position*: the index of their column in the order of the
model's columns. A *statement plan* is the CQL of a prepared statement; it is cached by its *shape*,
the key of everything that the CQL depends on. A filter ``column = value`` *fixes* its column: a
select does not read this column, because the filter has its value.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterable, Mapping as AnyMapping, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeVar

from cassandra._forks import renew_in_child
from cassandra._misspelt import warn_of_misspelt
from cassandra.cqlengine.clauses import ListUpdateClause
from cassandra.cqlengine.columns.base import Column
from cassandra.cqlengine.columns.containers import List, Set
from cassandra.cqlengine.connection import default_keyspace
from cassandra.cqlengine.errors import CQLEngineException, ValidationError
from cassandra.cqlengine.values import Values, count_as_stored
from cassandra.util.cql_text import protect_name

if TYPE_CHECKING:
    from cassandra.cqlengine.models import BaseModel

_Model = TypeVar("_Model", bound="BaseModel")

# The type of the functions that `layout` returns. Such a function is called with (rows, tail), and
# returns the rows with their values in the order of the model's columns.
Arrange = Callable[[Sequence[Any], tuple[Any, ...]], Sequence[Any]]

# Maximum number of statement plans that one model caches. Without a limit there could be very many:
# each combination of written columns has another plan.
MOST_SHAPES = 512
# Defaults that are not set in new instances, because null is read as an empty collection anyway.
_EMPTY_DEFAULTS = (set, list, dict)


class ModelException(CQLEngineException):
    """Raised if a model is used or declared in a wrong way."""


class ModelDefinitionException(ModelException):
    """Raised if a model is declared in a wrong way."""


class PolymorphicModelException(ModelException):
    """The class of a row or an instance cannot be determined by its discriminator value.

    Either no subclass of the queried class has the discriminator value of a row, or an instance is
    saved whose class has no discriminator value.
    """


for _class in (ModelException, ModelDefinitionException, PolymorphicModelException):
    _class.__module__ = "cassandra.cqlengine.models"
del _class


class StatementPlan:
    """The CQL of a prepared statement, which a model caches by the statement's shape.

    :param text: the CQL to prepare.
    :param fixed: for a SELECT, a tuple (index of the filter, column) for each column that is not
        selected because a filter fixes it.
    """

    __slots__ = ("fixed", "fixed_names", "text")

    def __init__(self, text: str, fixed: Sequence[tuple[int, Column[Any]]] = ()) -> None:
        self.text = text
        self.fixed = tuple(fixed)
        self.fixed_names = tuple(column.db_field_name for _, column in fixed)

    def fixed_values(self, clauses: Sequence[Any]) -> list[Any]:
        """Return the values of the fixed columns, which the SELECT does not return.

        :param clauses: all filters of the SELECT.
        """
        return [
            column.to_python(clauses[index].value) if column.converts else clauses[index].value
            for index, column in self.fixed
        ]


class Mapping:
    """The columns of a model, by name and by position, and its statement plans."""

    def __init__(self, columns: dict[str, Column[Any]]) -> None:
        self.columns = columns
        self.model: Any = None  # the model's class, which is set after the class is created
        # Several classes may share a table by a discriminator column. `base` is then the mapping of
        # the first of these classes, and the attribute `classes` of that mapping has all of them by
        # their discriminator values.
        self.base: Mapping = self
        self.classes: dict[Any, Any] = {}
        # If the class declares no columns, the parent class whose table it uses; otherwise None.
        self.shares: Any = None
        self.names = tuple(columns)
        self.order = tuple(columns.values())
        self.index = {name: index for index, name in enumerate(columns)}
        self.db_index = {
            column.db_field_name: position for position, column in enumerate(self.order)
        }
        self.primary_keys = {n: c for n, c in columns.items() if c.primary_key}
        self.partition_keys = {n: c for n, c in columns.items() if c.partition_key}
        self.clustering_keys = {n: c for n, c in self.primary_keys.items() if not c.partition_key}
        self.key_positions = tuple(self.index[name] for name in self.primary_keys)
        self.partition_positions = tuple(self.index[name] for name in self.partition_keys)
        self.has_static = any(column.static for column in self.order)
        # The columns that are neither static nor part of the primary key: bit N is set for position
        # N.
        self.row_positions = sum(
            1 << position
            for position, column in enumerate(self.order)
            if not column.static and not column.primary_key
        )
        # The columns outside of the primary key: bit N is set for position N.
        self.value_positions = sum(
            1 << position for position, column in enumerate(self.order) if not column.primary_key
        )
        self.has_counter = any(column.is_counter for column in self.order)
        self.counter_positions = sum(
            1 << position for position, column in enumerate(self.order) if column.is_counter
        )
        # The positions of columns whose values may change in place.
        self.mutable = tuple(
            position for position, column in enumerate(self.order) if column.mutable
        )
        self.mutable_positions = sum(1 << position for position in self.mutable)
        # Counters and collections: an UPDATE may write only their difference to the old value. Bit
        # N is set for position N, here and in `list_positions`.
        self.difference_positions = sum(
            1 << position
            for position, column in enumerate(self.order)
            if column.is_counter or column.update_clause is not None
        )
        # The lists that are not frozen.
        self.list_positions = sum(
            1 << position
            for position, column in enumerate(self.order)
            if column.update_clause is ListUpdateClause
        )
        # For columns whose values may change in place (by position): a function that converts a
        # value as `to_python` does, and returns a new object, which the application may change.
        self.isolators = {position: self.order[position]._isolator() for position in self.mutable}
        # For each other column of which some values may change in place: (position, function that
        # copies a value). Examples are a tuple of lists, a bytearray, and any value of an
        # application's column class.
        self.copiers = tuple(
            (position, copier)
            for position, column in enumerate(self.order)
            if not column.mutable and (copier := column._copier()) is not None
        )
        changing = {*self.mutable, *(position for position, _ in self.copiers)}
        # The positions of the columns in `mutable` and `copiers`: bit N is set for position N.
        self.changing_positions = sum(1 << position for position in changing)
        self.discriminator = next(
            (name for name, column in columns.items() if column.discriminator_column), None
        )
        # By position: a function that converts a value to the form that is bound. None if values
        # are bound as they are.
        self.wires = tuple(column.wire for column in self.order)
        # For an INSERT, by position: (the position's bit, `is_null`, the function in `wires`, True
        # for a column of the key). `is_null` returns True for a value that is stored as null, such
        # as an empty collection; it is None if only the value None is stored as null.
        self.insertion = tuple(
            (
                1 << position,
                None if type(column).is_null is Column.is_null else column.is_null,
                column.wire,
                column.primary_key,
            )
            for position, column in enumerate(self.order)
        )
        # How to set a value of a new instance. Key: the column's name. Value: (position, the
        # position's bit, converter, True if values may change in place). The converter is None if
        # values are stored as they are. `new_row` uses the first dict, `row_to_insert` the second.
        self.init, self.init_to_insert = (
            {
                name: (
                    position,
                    1 << position,
                    _owned(column, converter_of(column)),
                    position in changing,
                )
                for position, (name, column) in enumerate(columns.items())
            }
            for converter_of in (_converter, _early_converter)
        )
        # True if the application's class defines the method. If it defines `__init__`, instances
        # are created by calling it. If it defines `save` or `asave`, `create` or `acreate` calls
        # this method for each new instance.
        self.has_own_init = False
        self.has_own_save = False
        self.has_own_asave = False
        # The methods that the application's class overrides without their awaitable versions, for
        # example `save` without `asave`.
        self.unpaired_methods: frozenset[str] = frozenset()
        # (position, column) of columns whose default is set in new instances. Columns whose default
        # is an empty collection are left out: see `_EMPTY_DEFAULTS`.
        self.defaults = tuple(
            (position, column)
            for position, column in enumerate(self.order)
            # Compare by identity, because `==` of an array returns an array.
            if column.has_default
            and not any(column.default is empty_default for empty_default in _EMPTY_DEFAULTS)
        )
        # For validation: (position, the column's `validate`, True if None need not be validated,
        # True if values may change in place).
        self.checks = tuple(
            (position, column.validate, _takes_none(column), column.mutable)
            for position, column in enumerate(self.order)
        )
        self.blank = (None,) * len(self.order)  # the values of an instance without any value
        # (position, column) of the primary key's columns.
        self.key_checks = tuple((position, self.order[position]) for position in self.key_positions)
        # Caches: statement plans by shape; the functions that `rows` returns; parsed keywords of
        # filters (`ModelQuerySet`); the table's full name by keyspace.
        self.statement_plans: dict[Any, StatementPlan] = {}
        self.layouts: dict[Any, Arrange] = {}
        self.terms: dict[str, Any] = {}
        self.tables: dict[str | None, str] = {}
        # The classes of the model for other keyspaces and connections (`context_class`).
        self.contexts: dict[Any, Any] = {}

    def lacks_clustering_key(self, values: Values) -> bool:
        """Return True if all clustering columns are None: only static columns can be written.

        :param values: the values of an instance.
        """
        return bool(self.clustering_keys) and all(
            values[self.index[name]] is None for name in self.clustering_keys
        )

    # -- values of new instances ----------------------------------------------------------------

    def new_row(self, arguments: dict[str, Any]) -> Values:
        """Return the values of a new instance.

        Names without a column are ignored, with a warning if the name is probably a misspelt
        column.
        """
        return self._row_of(arguments, self.init)

    def row_to_insert(self, arguments: dict[str, Any]) -> Values:
        """Return the values of a new instance that the caller validates afterwards.

        Unlike `new_row`, this does not convert the values of the package's own columns: `validate`
        of these columns converts them.
        """
        return self._row_of(arguments, self.init_to_insert)

    def _row_of(
        self,
        arguments: dict[str, Any],
        initializers: dict[str, tuple[int, int, Callable[[Any], Any] | None, bool]],
    ) -> Values:
        """Return the values of a new instance, with defaults for columns without an argument.

        :param arguments: values by column name.
        :param initializers: how to set each value: `init` or `init_to_insert`.
        """
        row = Values(self.blank)
        # A bit for each position that the application sets.
        explicit = 0
        for name, value in arguments.items():
            initializer = initializers.get(name)
            if initializer is None:
                warn_of_misspelt(self.model, (name,), self.columns, are_keywords=True)
                continue
            position, bit, to_python, mutable = initializer
            if value is None:
                # Like cassandra-driver, do not delete a counter that a new instance has as null.
                explicit |= bit & ~self.counter_positions
                continue
            explicit |= bit
            row[position] = value if to_python is None else to_python(value)
            # The application still refers to the object that it has passed, and may change it in
            # place. So mark the value as exposed: `save` looks for such changes.
            if mutable:
                row.exposed |= bit
        row.explicit = explicit
        return self._with_defaults(row)

    def _with_defaults(self, row: Values) -> Values:
        """Set the defaults of columns for which the application has passed no value."""
        for position, column in self.defaults:
            # If the application has passed None, do not replace it by the default.
            if not row.explicit >> position & 1:
                row[position] = column.to_python(column.get_default())
        return row

    def unknown_columns(self, arguments: dict[str, Any]) -> ValidationError:
        """Return the error for values of columns that do not exist."""
        unknown = ", ".join(sorted(arguments.keys() - self.columns.keys()))
        return ValidationError(
            f"Incorrect columns passed: {unknown}; "
            f"{self.model.__name__} has {', '.join(self.columns)}"
        )

    # -- one table for several classes -----------------------------------------------------------

    def set_discriminator(self, values: Values) -> None:
        """Set the discriminator value of the class in the values of an instance.

        :raises PolymorphicModelException: if the class has no discriminator value.
        """
        value = self.model.__discriminator_value__
        if value is None:
            raise PolymorphicModelException(
                f"cannot save polymorphic base model: {self.model.__name__} has no "
                "__discriminator_value__"
            )
        position = self.index[self.discriminator or ""]
        if values[position] != value:
            values[position] = value
            values.explicit |= 1 << position

    def class_of(self, value: object) -> type[BaseModel]:
        """Return the class of rows with the discriminator `value`.

        :raises PolymorphicModelException: if the value is unknown, or its class is not a subclass
            of this class.
        """
        model: type[BaseModel] = self.model
        name = model.__name__
        # If a row has null as discriminator, it becomes an instance of the queried class. That is
        # an error if the queried class has no discriminator value, because it may then stand for
        # several classes.
        if value is None:
            if model.__discriminator_value__ is None:
                raise PolymorphicModelException(
                    f"a row of {name} has null in its discriminator column {self.discriminator}"
                )
            return model
        cls: type[BaseModel] | None = self.base.classes.get(value)
        if cls is None:
            values = ", ".join(map(repr, self.base.classes)) or "none"
            raise PolymorphicModelException(
                f"unrecognized discriminator column {value!r} for class {name}, "
                f"which knows {values}"
            )
        if value == model.__discriminator_value__:
            return model
        # `model` may be a class that `context_class` has created for another keyspace or
        # connection. Its `__context_of__` is the application's model, with which `cls` has to be
        # compared.
        original_model = getattr(model, "__context_of__", model)
        if not issubclass(cls, original_model):
            raise PolymorphicModelException(f"{cls.__name__} is not a subclass of {name}")
        return cls

    def has_other_columns(self) -> bool:
        """Return True if a subclass on the same table has columns that this class lacks."""
        if self.discriminator is None:
            return False
        return any(
            # As in `class_of`, compare with the application's model.
            issubclass(model, getattr(self.model, "__context_of__", self.model))
            and not self.columns.keys() >= model.__mapping__.columns.keys()
            for model in self.base.classes.values()
        )

    # -- statement plans ------------------------------------------------------------------------

    def statement_plan(self, key: object, build: Callable[[], StatementPlan]) -> StatementPlan:
        """Return the statement plan for a shape; call `build` if no plan is cached.

        :param key: the shape: a hashable key of everything that the CQL depends on.
        """
        plan = self.statement_plans.get(key)
        if plan is None:
            plan = build()
            with _lock:
                # If there are too many plans, drop all of them, as `Connection.keep` does.
                if len(self.statement_plans) >= MOST_SHAPES:
                    self.statement_plans.clear()
                self.statement_plans[key] = plan
        return plan

    def table_name(self, keyspace: str | None) -> str:
        """Return the table's name in CQL, with the keyspace.

        :param keyspace: None for the model's keyspace, or the default keyspace.
        """
        keyspace = keyspace or self.model.__keyspace__ or default_keyspace()
        # `tables` is a cache. It never has the key None, for which the error below is raised.
        table = self.tables.get(keyspace)
        if table is None:
            name = self.model.column_family_name(include_keyspace=False)
            if keyspace is None:
                raise CQLEngineException(
                    "Model keyspace is not set and no default is available: set "
                    f"{self.model.__name__}.__keyspace__, "
                    "or call connection.setup(hosts, keyspace) first"
                )
            table = self.tables[keyspace] = f"{protect_name(keyspace)}.{name}"
        return table

    def column_of(self, name: str) -> Column[Any] | None:
        """Return the column named `name`, or None if the model has no such column.

        ``pk`` also names the partition key, if the partition key has one column.
        """
        column = self.columns.get(name)
        if column is None and name == "pk" and len(self.partition_keys) == 1:
            return next(iter(self.partition_keys.values()))
        return column

    def rows(self, names: Sequence[str], fixed_names: tuple[str, ...]) -> Arrange:
        """Return a function that brings the values of rows into the model's order (see `layout`).

        :param names: the columns of the rows.
        :param fixed_names: the fixed columns, which are not in the rows.
        """
        key = (tuple(names), fixed_names)
        arrange = self.layouts.get(key)
        if arrange is None:
            arrange = layout(self, *key)
            # If there are too many functions, drop all of them, as `Connection.keep` does.
            if len(self.layouts) >= MOST_SHAPES:
                self.layouts.clear()
            self.layouts[key] = arrange
        return arrange


def context_class(
    model: type[_Model], keyspace: str | None, connection: Hashable | None, is_private: bool = False
) -> type[_Model]:
    """Return a class like `model` for another keyspace or connection.

    The class is a subclass of `model` with the same name and table. Its instances are written to
    the keyspace and connection from which they were read. The class is not registered under its
    discriminator value, so that value still belongs to the application's class.

    :param is_private: True to create a new class that is not cached, so that only the caller uses
        it.
    """
    # If `model` is itself a class from this function, derive the new class from its original model.
    original_model = vars(model).get("__context_of__", model)
    # The keyspace and the connection of `model`; None for those of the original model.
    context = (None, None)
    if original_model is not model:
        context = vars(model)["__context__"]
    context_key = (keyspace or context[0], context[1] if connection is None else connection)
    if context_key == context and not is_private:
        return model
    contexts = original_model.__mapping__.contexts
    context_model = None if is_private else contexts.get(context_key)
    if context_model is None:
        context_model = _context_class(original_model, *context_key)
        if not is_private:
            if len(contexts) >= MOST_SHAPES:
                contexts.clear()
            # Another thread may have created the same class: use the one that was stored first.
            context_model = contexts.setdefault(context_key, context_model)
    return context_model


def _context_class(
    original_model: type[_Model], keyspace: str | None, connection: Hashable | None
) -> type[_Model]:
    """Create a subclass of the model for another keyspace or connection."""
    attributes: dict[str, Any] = {
        "__module__": original_model.__module__,
        "__qualname__": original_model.__qualname__,
        "__context_of__": original_model,
        "__context__": (keyspace, connection),
    }
    if keyspace is not None:
        attributes["__keyspace__"] = keyspace
    if connection is not None:
        attributes["__connection__"] = connection
    # By default, the table's name follows from the class's name. Set it explicitly, so that the new
    # class has the model's table. Also set the discriminator value, which is not inherited.
    attributes["__table_name__"] = original_model._table_name()
    attributes["__table_name_case_sensitive__"] = original_model.__table_name_case_sensitive__
    attributes["__discriminator_value__"] = original_model.__discriminator_value__
    metaclass: type[Any] = type(original_model)
    new_class: type[_Model] = metaclass(original_model.__name__, (original_model,), attributes)
    return new_class


# The lock for changes of `Mapping.statement_plans`.
_lock = threading.Lock()


@renew_in_child
def _renew_lock() -> None:
    """Replace the lock in a forked child.

    The thread that held the lock in the parent does not exist in the child, and would never
    release it.
    """
    global _lock
    _lock = threading.Lock()


def _converter(column: Column[Any]) -> Callable[[Any], Any] | None:
    """Return the function that converts a value to store in an instance; None if none is needed."""
    return None if type(column).to_python is Column.to_python else column.to_python


def _early_converter(column: Column[Any]) -> Callable[[Any], Any] | None:
    """Return the function that converts a value before it is validated; None if none is needed.

    Most of the package's own columns need none, because their `validate` converts the value.
    """
    if not _is_stock(column):
        return _converter(column)
    return _as_collection(column) if isinstance(column, (List, Set)) else None


def _owned(
    column: Column[Any], converter: Callable[[Any], Any] | None
) -> Callable[[Any], Any] | None:
    """Return a function that calls the converter, and copies what may change in place.

    Return the converter itself if no copy is needed.
    """
    own = column._owner()
    if own is None or converter is None:
        return own or converter
    return lambda value: own(converter(value))


def _as_collection(column: List[Any] | Set[Any]) -> Callable[[Any], Any]:
    """Return a function that converts an iterable to the column's collection class.

    The function returns strings, bytes, maps and values that are not iterable unchanged: `validate`
    raises an error for these later.
    """
    unconverted = (list if column.cql_name == "list" else set, str, bytes, AnyMapping)

    def convert(value: Any) -> object:
        if isinstance(value, unconverted) or not isinstance(value, Iterable):
            return value  # the validation copies or refuses it
        return column.to_python(value)

    return convert


def _is_stock(column: Column[Any]) -> bool:
    """Return True if the column's class is one of this package."""
    return type(column).__module__.startswith("cassandra.cqlengine.columns")


def _takes_none(column: Column[Any]) -> bool:
    """Return True if None is a valid value that need not be passed to `validate`.

    Return False for a column class of the application, whose `validate` may check None.
    """
    return _is_stock(column) and not column.required and not getattr(column, "min_length", None)


def layout(mapping: Mapping, names: tuple[str, ...], fixed_names: tuple[str, ...]) -> Arrange:
    """Return a function of (rows, tail) that returns the rows' values in the model's order.

    The function appends the tail to each row, and then picks the values by index. The tail has the
    values of the fixed columns, and then None for all columns that were not read.

    :param names: the columns of the rows.
    :param fixed_names: the fixed columns.
    """
    columns = (*names, *fixed_names)
    # Maps a column's position in the model to the index of its value in a row with the tail.
    sources = {
        mapping.db_index[name]: index
        for index, name in enumerate(columns)
        if name in mapping.db_index
    }
    # A column that was not read gets the last item of the tail, None.
    source_indexes = [sources.get(position, len(columns)) for position in range(len(mapping.order))]
    converted_columns = [
        (position, column)
        for position, column in enumerate(mapping.order)
        if column.converts and not column.mutable and position in sources
    ]
    # `itemgetter` runs in C, and is called for each row.
    pick_values: Any = (
        itemgetter(*source_indexes) if len(source_indexes) > 1 else _single(source_indexes[0])
    )
    is_in_order = source_indexes == list(range(len(names))) and not fixed_names

    def arrange(rows: Sequence[Any], tail: tuple[Any, ...]) -> Sequence[Any]:
        return rows if is_in_order else [pick_values(row + tail) for row in rows]

    def arrange_and_convert(rows: Sequence[Any], tail: tuple[Any, ...]) -> Sequence[Any]:
        converted_rows = []
        for row in arrange(rows, tail):
            values = list(row)
            for position, column in converted_columns:
                values[position] = column.to_python(values[position])
            converted_rows.append(tuple(values))
        return converted_rows

    return arrange_and_convert if converted_columns else arrange


def _single(index: int) -> Callable[[Sequence[Any]], tuple[Any]]:
    """Return a function like `itemgetter(index)` that returns a tuple of one item.

    `itemgetter` with one index returns the item itself, but `layout` needs a tuple.
    """
    return lambda row: (row[index],)


class InstanceRows:
    """A row factory that creates instances of a model.

    :param model: the class of the instances.
    :param fixed_names: the names of the fixed columns, which the statement does not select.
    :param values: the values of the fixed columns.
    """

    __slots__ = ("_fixed_names", "_model", "_tail")

    def __init__(
        self, model: type[BaseModel], fixed_names: tuple[str, ...] = (), values: Sequence[Any] = ()
    ) -> None:
        self._model = model
        self._fixed_names = fixed_names
        self._tail = (*values, None)  # `layout` takes None for each column that was not read

    def __call__(self, names: Sequence[str], rows: Sequence[Any]) -> list[BaseModel]:
        model = self._model
        mapping = model.__mapping__
        # `rows` returns a (cached) function that brings the values into the model's order.
        arranged = mapping.rows(names, self._fixed_names)(rows, self._tail)
        if mapping.discriminator is not None:
            field = mapping.columns[mapping.discriminator].db_field_name
            # A select with DISTINCT does not read the discriminator.
            if field in names or field in self._fixed_names:
                return self._polymorphic(names, rows, arranged)
        if mapping.has_own_init:
            read_names = self._read_names(model, names)
            return [_initialized(model, row, read_names) for row in arranged]
        # This loop runs for each row, and Python reads local names faster.
        new = model.__new__
        instances: list[BaseModel] = []
        append = instances.append
        for row in arranged:
            # Do not call the mapper's own `__init__`: it does nothing for an instance that is read.
            instance = new(model)
            instance._row = row
            append(instance)
        return instances

    def _polymorphic(
        self, names: Sequence[str], rows: Sequence[Any], arranged: Sequence[Any]
    ) -> list[BaseModel]:
        """Return an instance for each row, of the class that belongs to its discriminator value.

        :param arranged: the rows in the order of this model's columns.
        """
        mapping = self._model.__mapping__
        position = mapping.index[mapping.discriminator or ""]
        context = getattr(self._model, "__context__", None)
        instances = []
        for raw, row in zip(rows, arranged, strict=True):
            model = mapping.class_of(row[position])
            if model is not self._model:
                if context is not None:
                    # `self._model` is a class for another keyspace or connection, so the instance
                    # must belong to the same keyspace and connection: create the corresponding
                    # class for the row's model.
                    model = context_class(model, *context)
                # The class of the row may have other columns, in another order, so arrange the row
                # for that class.
                (row,) = model.__mapping__.rows(names, self._fixed_names)((raw,), self._tail)
            if model.__mapping__.has_own_init:
                instance = _initialized(model, row, self._read_names(model, names))
            else:
                instance = model.__new__(model)
                instance._row = row
            instances.append(instance)
        return instances

    def _read_names(self, model: type[BaseModel], names: Sequence[str]) -> list[str]:
        """Return the names of the attributes of `model` whose columns were read or are fixed."""
        fields = {*names, *self._fixed_names}
        columns = model.__mapping__.columns
        return [name for name, column in columns.items() if column.db_field_name in fields]


def _initialized(model: type[BaseModel], row: Any, names: Sequence[str]) -> BaseModel:
    """Return an instance for a row, of a model whose `__init__` the application has defined.

    Like the mapper of cassandra-driver, call `__init__` with the values that were read. Values that
    `__init__` sets do not count as changes, so `save` does not write them.

    :param names: the attributes whose columns were read.
    """
    # Read the values from a second instance: access to a collection marks it as exposed (known to
    # the application) in the instance that is read.
    reader = model.__new__(model)
    instance = model.__new__(model)
    reader._row = instance._row = row
    model.__init__(instance, **{name: getattr(reader, name) for name in names})
    # Treat the values that `__init__` has set like values that were read, so that a later `save`
    # does not write them.
    if type(instance._row) is Values:
        count_as_stored(instance._row, model.__mapping__)
    return instance
