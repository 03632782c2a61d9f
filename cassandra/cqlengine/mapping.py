"""`Mapping`: a model's table by its class, looked at once when the class is made."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterable, Mapping as AnyMapping, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from cassandra._forks import renew_in_child
from cassandra.cqlengine.columns.base import Column
from cassandra.cqlengine.columns.containers import List, Set
from cassandra.cqlengine.connection import default_keyspace
from cassandra.cqlengine.errors import CQLEngineException, ValidationError
from cassandra.cqlengine.values import Values
from cassandra.util.cql_text import protect_name

if TYPE_CHECKING:
    from cassandra.cqlengine.models import BaseModel

__all__ = [
    "InstanceRows",
    "Mapping",
    "ModelDefinitionException",
    "ModelException",
    "PolymorphicModelException",
    "StatementPlan",
    "context_class",
]

Arrange = Callable[[Sequence[Any], tuple[Any, ...]], Sequence[Any]]

# A text for each set of columns that is written: without a bound, these could be very many.
MOST_SHAPES = 512  # shapes of statements that one model keeps
_EMPTY_DEFAULTS = (set, list, dict)  # of collections: null reads as these anyway


class ModelException(CQLEngineException):
    """A model that is used, or declared, wrongly."""


class ModelDefinitionException(ModelException):
    """A model that is declared wrongly."""


class PolymorphicModelException(ModelException):
    """A row whose class is not known, or an instance of a class that has no rows of its own."""


for _class in (ModelException, ModelDefinitionException, PolymorphicModelException):
    _class.__module__ = "cassandra.cqlengine.models"
del _class


class StatementPlan:
    """A statement of one shape.

    :param text: to prepare.
    :param fixed: of a select: which filters fix columns that are not selected, with these columns.
    """

    __slots__ = ("fixed", "fixed_names", "text")

    def __init__(self, text: str, fixed: Sequence[tuple[int, Column[Any]]] = ()) -> None:
        self.text = text
        self.fixed = tuple(fixed)
        self.fixed_names = tuple(column.db_field_name for _, column in fixed)

    def fixed_values(self, clauses: Sequence[Any]) -> list[Any]:
        """Return the values of the fixed columns by the filters `clauses`."""
        return [
            column.to_python(clauses[at].value) if column.converts else clauses[at].value
            for at, column in self.fixed
        ]


class Mapping:
    """The columns of a model, by name and by position, and its statement plans.

    They are found by the shape of a statement, so that a text is put together once for a
    shape, not once for a call.
    """

    def __init__(self, columns: dict[str, Column[Any]]) -> None:
        self.columns = columns
        self.model: Any = None  # set when the class is there
        self.base: Mapping = self  # of the classes that share a table: the mapping of the first one
        self.shares: Any = None  # the parent whose table it is, of a class that adds nothing to it
        self.classes: dict[Any, Any] = {}  # of the base: by discriminator value
        self.names = tuple(columns)
        self.order = tuple(columns.values())
        self.index = {name: at for at, name in enumerate(columns)}
        self.db_index = {column.db_field_name: at for at, column in enumerate(self.order)}
        self.primary_keys = {n: c for n, c in columns.items() if c.primary_key}
        self.partition_keys = {n: c for n, c in columns.items() if c.partition_key}
        self.clustering_keys = {n: c for n, c in self.primary_keys.items() if not c.partition_key}
        self.key_positions = tuple(self.index[name] for name in self.primary_keys)
        self.partition_positions = tuple(self.index[name] for name in self.partition_keys)
        self.has_counter = any(column.is_counter for column in self.order)
        self.mutable = tuple(at for at, column in enumerate(self.order) if column.mutable)
        self.discriminator = next(
            (name for name, column in columns.items() if column.discriminator_column), None
        )
        self.wires = tuple(column.wire for column in self.order)
        # (position, its bit, what converts given values, the same if they are validated next,
        # whether they change in place); None for a converter if values are taken as they are.
        self.init = {
            name: (at, 1 << at, _converter(column), _early_converter(column), column.mutable)
            for at, (name, column) in enumerate(columns.items())
        }
        self.has_own_init = False  # a program's class has an __init__ of its own
        self.defaults = tuple(
            (at, column)
            for at, column in enumerate(self.order)
            if column.has_default and column.default not in _EMPTY_DEFAULTS
        )
        # (position, validate, whether None needs no look, whether it may change in place)
        self.checks = tuple(
            (at, column.validate, _takes_none(column), column.mutable)
            for at, column in enumerate(self.order)
        )
        self.blank = (None,) * len(self.order)
        self.statement_plans: dict[Any, StatementPlan] = {}
        self.layouts: dict[Any, Arrange] = {}
        self.terms: dict[str, Any] = {}
        self.tables: dict[str | None, str] = {}
        self.key_checks = tuple((at, self.order[at]) for at in self.key_positions)
        self.contexts: dict[Any, Any] = {}  # of the model: by keyspace and connection

    # -- values of new instances ----------------------------------------------------------------

    def new_row(self, given: dict[str, Any]) -> Values:
        """Return the values of a new instance; names that no column has are not looked at."""
        row = Values(self.blank)
        explicit = 0
        for name, value in given.items():
            found = self.init.get(name)
            if found is None:
                continue
            position, bit, to_python, _, mutable = found
            explicit |= bit
            if value is None:
                continue
            row[position] = value if to_python is None else to_python(value)
            if mutable:
                row.exposed |= bit
        row.explicit = explicit
        return self._with_defaults(row)

    def row_to_insert(self, given: dict[str, Any]) -> Values:
        """`new_row` of values that are validated next, which converts those of stock columns."""
        row = Values(self.blank)
        explicit = 0
        for name, value in given.items():
            found = self.init.get(name)
            if found is None:
                continue
            position, bit, _, to_python, mutable = found
            explicit |= bit
            if value is None:
                continue
            row[position] = value if to_python is None else to_python(value)
            if mutable:
                row.exposed |= bit
        row.explicit = explicit
        return self._with_defaults(row)

    def _with_defaults(self, row: Values) -> Values:
        for position, column in self.defaults:
            # None that was given wins over the default.
            if not row.explicit >> position & 1:
                row[position] = column.to_python(column.get_default())
        return row

    def unknown_columns(self, given: dict[str, Any]) -> ValidationError:
        """Return the error for values of columns that are not there."""
        unknown = ", ".join(sorted(given.keys() - self.columns.keys()))
        return ValidationError(
            f"Incorrect columns passed: {unknown}; "
            f"{self.model.__name__} has {', '.join(self.columns)}"
        )

    # -- one table for several classes -----------------------------------------------------------

    def set_discriminator(self, values: list[Any]) -> None:
        """Write the class's discriminator value into the values of an instance.

        :raises PolymorphicModelException: if the class has none.
        """
        value = self.model.__discriminator_value__
        if value is None:
            raise PolymorphicModelException(
                f"cannot save polymorphic base model: {self.model.__name__} has no "
                "__discriminator_value__"
            )
        values[self.index[self.discriminator or ""]] = value

    def class_of(self, value: object) -> Any:
        """Return the class of rows with the discriminator `value`.

        :raises PolymorphicModelException: if there is none, or it is not a subclass of this one.
        """
        name = self.model.__name__
        if value is None:
            if self.model.__discriminator_value__ is None:
                raise PolymorphicModelException(
                    f"a row of {name} has null in its discriminator column {self.discriminator}"
                )
            return self.model
        found = self.base.classes.get(value)
        if found is None:
            known = ", ".join(map(repr, self.base.classes)) or "none"
            raise PolymorphicModelException(
                f"unrecognized discriminator column {value!r} for class {name}, which knows {known}"
            )
        if value == self.model.__discriminator_value__:
            return self.model
        origin = getattr(self.model, "__context_of__", self.model)
        if not issubclass(found, origin):
            raise PolymorphicModelException(f"{found.__name__} is not a subclass of {name}")
        return found

    def has_other_columns(self) -> bool:
        """Return True if subclasses on the same table have columns that this class has not."""
        if self.discriminator is None:
            return False
        return any(
            issubclass(model, getattr(self.model, "__context_of__", self.model))
            and not self.columns.keys() >= model.__mapping__.columns.keys()
            for model in self.base.classes.values()
        )

    # -- statement plans ------------------------------------------------------------------------

    def statement_plan(self, key: object, made: Callable[[], StatementPlan]) -> StatementPlan:
        """Return the statement plan of the shape `key`, made now if it is not known."""
        known = self.statement_plans.get(key)
        if known is None:
            known = made()
            with _lock:
                if len(self.statement_plans) >= MOST_SHAPES:
                    self.statement_plans.clear()
                self.statement_plans[key] = known
        return known

    def table_name(self, keyspace: str | None) -> str:
        """Return the table's name, in `keyspace` or the model's own."""
        keyspace = keyspace or self.model.__keyspace__ or default_keyspace()
        found = self.tables.get(keyspace)
        if found is None:
            name = self.model.column_family_name(include_keyspace=False)
            if keyspace is None:
                raise CQLEngineException(
                    "Model keyspace is not set and no default is available: set "
                    f"{self.model.__name__}.__keyspace__, "
                    "or call connection.setup(hosts, keyspace) first"
                )
            found = self.tables[keyspace] = f"{protect_name(keyspace)}.{name}"
        return found

    def column_of(self, name: str) -> Column[Any] | None:
        """Return the column named `name`, ``pk`` meaning a single key column.

        None if there is none.
        """
        found = self.columns.get(name)
        if found is None and name == "pk" and len(self.partition_keys) == 1:
            return next(iter(self.partition_keys.values()))
        return found

    def rows(self, names: Sequence[str], filled: tuple[str, ...]) -> Arrange:
        """Return a function that brings rows of the columns `names` into the model's order.

        :param filled: columns that the statement does not select, because its filters have their
            values.
        """
        key = (tuple(names), filled)
        found = self.layouts.get(key)
        if found is None:
            found = layout(self, *key)
            if len(self.layouts) >= MOST_SHAPES:
                self.layouts.clear()
            self.layouts[key] = found
        return found


def context_class(
    model: Any, keyspace: str | None, connection: Hashable | None, own: bool = False
) -> Any:
    """Return the class of rows of `model` in another keyspace, or on another connection.

    Instances write to where they were read. It is a subclass of the same name and table, unknown to
    the model's other subclasses.

    :param own: make a new class, which only the caller has.
    """
    origin, context = vars(model).get("__context_of__", model), (None, None)
    if origin is not model:
        context = vars(model)["__context__"]
    where = (keyspace or context[0], context[1] if connection is None else connection)
    if where == context and not own:
        return model
    known = origin.__mapping__.contexts
    found = None if own else known.get(where)
    if found is None:
        found = _context_class(origin, *where)
        if not own:
            if len(known) >= MOST_SHAPES:
                known.clear()
            found = known.setdefault(where, found)
    return found


def _context_class(origin: Any, keyspace: str | None, connection: Hashable | None) -> Any:
    names: dict[str, Any] = {
        "__module__": origin.__module__,
        "__qualname__": origin.__qualname__,
        "__context_of__": origin,
        "__context__": (keyspace, connection),
    }
    if keyspace is not None:
        names["__keyspace__"] = keyspace
    if connection is not None:
        names["__connection__"] = connection
    names["__table_name__"] = origin._table_name()
    names["__table_name_case_sensitive__"] = origin.__table_name_case_sensitive__
    names["__discriminator_value__"] = origin.__discriminator_value__
    return type(origin)(origin.__name__, (origin,), names)


_lock = threading.Lock()


@renew_in_child
def _renew_lock() -> None:
    global _lock
    _lock = threading.Lock()


def _converter(column: Column[Any]) -> Callable[[Any], Any] | None:
    """The function that makes a given value one of an instance; None if values stay as they are."""
    return None if type(column).to_python is Column.to_python else column.to_python


def _early_converter(column: Column[Any]) -> Callable[[Any], Any] | None:
    """`_converter` of values that are validated next: stock columns convert then."""
    if not _is_stock(column):
        return _converter(column)
    return _as_collection(column) if isinstance(column, (List, Set)) else None


def _as_collection(column: List[Any] | Set[Any]) -> Callable[[Any], Any]:
    """Any iterable but texts, bytes and maps as the constructor takes it."""
    as_they_are = (list if column.cql_name == "list" else set, str, bytes, AnyMapping)

    def converted(value: Any) -> Any:
        if isinstance(value, as_they_are) or not isinstance(value, Iterable):
            return value  # validation copies it, or refuses it
        return column.to_python(value)

    return converted


def _is_stock(column: Column[Any]) -> bool:
    return type(column).__module__.startswith("cassandra.cqlengine.columns")


def _takes_none(column: Column[Any]) -> bool:
    """Return True if None is a value of the column that needs no look.

    Not if a program's own class validates.
    """
    return _is_stock(column) and not column.required and not getattr(column, "min_length", None)


def layout(mapping: Mapping, names: tuple[str, ...], filled: tuple[str, ...]) -> Arrange:
    """Return the function for `Mapping.rows`, called with rows and a tail.

    The filled values, and a None.
    """
    given = (*names, *filled)
    sources = {
        mapping.db_index[name]: at for at, name in enumerate(given) if name in mapping.db_index
    }
    picks = [sources.get(position, len(given)) for position in range(len(mapping.order))]
    converts = [
        (position, column)
        for position, column in enumerate(mapping.order)
        if column.converts and not column.mutable and position in sources
    ]
    # All in C: this runs for each row.
    pick: Any = itemgetter(*picks) if len(picks) > 1 else _single(picks[0])
    as_they_are = picks == list(range(len(names))) and not filled

    def arranged(rows: Sequence[Any], tail: tuple[Any, ...]) -> Sequence[Any]:
        return rows if as_they_are else [pick(row + tail) for row in rows]

    def converted(rows: Sequence[Any], tail: tuple[Any, ...]) -> Sequence[Any]:
        made = []
        for row in arranged(rows, tail):
            values = list(row)
            for position, column in converts:
                values[position] = column.to_python(values[position])
            made.append(tuple(values))
        return made

    return converted if converts else arranged


def _single(at: int) -> Callable[[Sequence[Any]], tuple[Any]]:
    return lambda row: (row[at],)


class InstanceRows:
    """A row factory that makes instances of a model.

    :param filled: names of the columns that the statement fixes and does not select.
    :param values: their values.
    """

    __slots__ = ("_filled", "_model", "_tail")

    def __init__(
        self, model: type[BaseModel], filled: tuple[str, ...] = (), values: Sequence[Any] = ()
    ) -> None:
        self._model = model
        self._filled = filled
        self._tail = (*values, None)

    def __call__(self, names: Sequence[str], rows: Sequence[Any]) -> list[BaseModel]:
        model = self._model
        mapping = model.__mapping__
        found = mapping.rows(names, self._filled)(rows, self._tail)
        if mapping.discriminator is not None:
            field = mapping.columns[mapping.discriminator].db_field_name
            if field in names or field in self._filled:  # not with DISTINCT
                return self._polymorphic(names, rows, found)
        # Not by __init__, which would set defaults where the row has null.
        new = model.__new__
        made: list[BaseModel] = []
        append = made.append
        for row in found:
            instance = new(model)
            instance._row = row
            append(instance)
        return made

    def _polymorphic(
        self, names: Sequence[str], rows: Sequence[Any], found: Sequence[Any]
    ) -> list[BaseModel]:
        """Each row as an instance of the class that its discriminator names."""
        mapping = self._model.__mapping__
        at = mapping.index[mapping.discriminator or ""]
        context = getattr(self._model, "__context__", None)
        made = []
        for raw, row in zip(rows, found, strict=True):
            model = mapping.class_of(row[at])
            if model is not self._model:
                if context is not None:
                    model = context_class(model, *context)
                (row,) = model.__mapping__.rows(names, self._filled)((raw,), self._tail)
            instance = model.__new__(model)
            instance._row = row
            made.append(instance)
        return made
