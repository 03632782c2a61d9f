"""`Column`: the common base class of all columns, and the value managers of instances."""

from __future__ import annotations

import copy
import itertools
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, TypeVar, overload

from cassandra._habits import stack_level
from cassandra._imports import import_module
from cassandra._misspelt import ALIKE_COLUMNS, nearest
from cassandra.cqlengine.columns.mapped import Mapped
from cassandra.cqlengine.copies import are_different, snapshot
from cassandra.cqlengine.errors import ValidationError
from cassandra.util.cql_text import escape_name

if TYPE_CHECKING:
    from cassandra.cqlengine.query.expressions import ColumnQueryEvaluator

T = TypeVar("T")
_Function = TypeVar("_Function", bound=Callable[..., Any])

# Numbers all columns in the order in which they are created.
counter = itertools.count(1)


def plain(function: _Function) -> _Function:
    """Mark a `to_database` that the mapper need not call.

    The codec of the column's type accepts the same values without it.
    """
    # Set the attribute on the function and not on the class: a subclass that overrides
    # `to_database` then has a function without the attribute, which the mapper calls.
    function.plain = True  # type: ignore[attr-defined]
    return function


class BaseValueManager:
    """Holds the value of one column of an instance, and its previous value.

    The mapper itself does not use value managers. The class exists for applications that create
    value managers, as with cassandra-driver.

    :param instance: the instance that has the value.
    :param column: the column of the value.
    :param value: the first value.
    """

    value: Any

    def __init__(self, instance: object, column: Column[Any], value: object) -> None:
        self.instance = instance
        self.column = column
        self.value = value
        self.previous_value: Any = None
        self.explicit = False  # True if the application has assigned the value

    @property
    def changed(self) -> bool:
        """True if the value differs from the previous value."""
        return are_different(self.value, self.previous_value)

    @property
    def deleted(self) -> bool:
        """True if the value was deleted."""
        # If the application has set None, the value counts as deleted, even if the previous value
        # is null: the application may not have read the column, so the row may have a value.
        is_null = self.column.is_null(self.value)
        return is_null and (self.explicit or not self.column.is_null(self.previous_value))

    def reset_previous_value(self) -> None:
        """Make the current value the previous value, with which later values are compared."""
        # Copy the value, because a collection may change in place later.
        self.previous_value = copy.deepcopy(self.value)

    def getval(self) -> Any:
        """Return the value."""
        return self.value

    def setval(self, val: object) -> None:
        """Replace the value.

        :param val: the new value.
        """
        self.value = val
        self.explicit = True

    def delval(self) -> None:
        """Delete the value."""
        self.value = None

    def get_property(self) -> property:
        """Return a property that reads, writes and deletes the value."""
        return property(
            lambda instance: self.getval(),
            lambda instance, value: self.setval(value),
            lambda instance: self.delval(),
        )


# Advice for options of SQLAlchemy's or Django's columns that this class does not have.
_OTHER_OPTIONS = {
    **dict.fromkeys(("pk", "key", "is_primary_key"), "write primary_key=True"),
    **dict.fromkeys(
        ("null", "nullable", "blank"),
        "a column may be null unless it is a key: write required=True to refuse None",
    ),
    **dict.fromkeys(
        ("unique", "is_unique"),
        "Cassandra has no unique columns besides the key: write primary_key=True, and insert by "
        "Model.if_not_exists().create(...)",
    ),
    **dict.fromkeys(("name", "db_column", "column_name"), "write db_field="),
    **dict.fromkeys(
        ("auto_now", "auto_now_add", "server_default", "default_factory"),
        "write default=, with a function for a value of each row",
    ),
    **dict.fromkeys(
        ("autoincrement", "auto_increment"),
        "Cassandra has no generated keys: write columns.UUID(primary_key=True, default=uuid.uuid4)",
    ),
    **dict.fromkeys(("clustering_key", "cluster", "clustering"), "write primary_key=True"),
    **dict.fromkeys(("order", "ordering", "order_by"), "write clustering_order='ASC' or 'DESC'"),
    **dict.fromkeys(
        ("verbose_name", "help_text", "comment", "doc", "description", "choices", "validators"),
        "leave it out",
    ),
}


class Column(Mapped[T]):
    """A column of a table, or a field of a user-defined type.

    Declare it as an attribute of a model's class.

    :param primary_key: True if the column is part of the primary key. If no column of the model has
        `partition_key`, the first column with `primary_key` is the partition key. The others are
        clustering columns.
    :param partition_key: True if the column is part of the partition key.
    :param index: True to create a secondary index (`sync_table`).
    :param db_field: the column's name in the database; None for the attribute's name.
    :param default: the value of new instances, or a function that returns it.
    :param required: True to raise an error for None. Columns of the primary key always need a value
        when an instance is saved.
    :param clustering_order: "ASC" or "DESC", for a clustering column.
    :param discriminator_column: True if the column holds the `__discriminator_value__` of the row's
        class.
    :param static: True if all rows of a partition share one value.
    :param custom_index: True if the column has an index that the mapper does not manage. This
        allows filters on the column.
    :param unknown: other options; each of them raises TypeError.
    :raises TypeError: if another option is passed. The message suggests the most similar option.
    """

    db_type: ClassVar[str] = ""
    value_manager: ClassVar[type[BaseValueManager]] = BaseValueManager
    # The class of the clause with which an UPDATE changes the column. None if an UPDATE always
    # assigns the whole value.
    update_clause: ClassVar[Any] = None
    # The class of the index, as named in CREATE CUSTOM INDEX; None for a plain secondary index.
    index_class: ClassVar[str | None] = None
    is_counter: ClassVar[bool] = False
    mutable: ClassVar[bool] = False  # values may change in place

    primary_key: bool = False
    """bool flag, indicates this column is a primary key"""
    partition_key: bool = False
    """bool flag, indicates this column is part of the partition key"""
    index: bool = False
    """bool flag, indicates an index should be created for this column"""
    custom_index: bool = False
    """bool flag, indicates an index is managed outside of the mapper"""
    db_field: str | None = None
    """the name in the database"""
    value: object = None
    """always None, because only instances of a model have values"""
    default: object = None
    """the default value, or a callable (no arguments)"""
    required: bool = False
    """bool flag, indicates that None is refused"""
    clustering_order: str | None = None
    """the order of a clustering column, "ASC" or "DESC\""""
    discriminator_column: bool = False
    """bool flag, indicates that the column holds the row's `__discriminator_value__`"""
    static: bool = False
    """bool flag, indicates that all rows of a partition share one value"""

    def __init__(
        self,
        primary_key: bool = False,
        partition_key: bool = False,
        index: bool = False,
        db_field: str | None = None,
        default: object = None,
        required: bool = False,
        clustering_order: str | None = None,
        discriminator_column: bool = False,
        static: bool = False,
        custom_index: bool = False,
        # The type NoReturn makes type checkers report a misspelt option.
        **unknown: NoReturn,
    ) -> None:
        if unknown:
            raise self._unknown_option(next(iter(unknown)))
        first_argument: object = primary_key
        if isinstance(first_argument, str):
            warnings.warn(
                f"primary_key={primary_key!r} makes this column a key: name a column by its "
                "attribute in the model, or by db_field=, and write primary_key=True for a key",
                RuntimeWarning,
                stacklevel=stack_level(),
            )
        self.partition_key = partition_key
        # The partition key is part of the primary key, so `partition_key` alone is enough.
        self.primary_key = partition_key or primary_key
        self.index = index
        self.custom_index = custom_index
        self.db_field = db_field
        self.default = default
        self.required = required
        self.clustering_order = clustering_order
        self.discriminator_column = discriminator_column
        self.static = static
        # `set_column_name` and the owner's metaclass set these two when the class is created: the
        # name of the attribute, and the name of the class.
        self.column_name: str | None = None
        self.owner: str = ""
        # Columns are numbered in the order of their creation, which is their order in the model.
        self.instance_counter = next(counter)

    def _unknown_option(self, name: str) -> TypeError:
        """Return the error for an option that the column does not have."""
        # Import `inspect` here, because importing it is slow, and only this error needs it.
        signature = import_module("inspect").signature
        # The options are the parameters of the constructors of this class and its bases. A dict
        # lists each option once.
        options = {
            option: None
            for cls in type(self).__mro__
            if "__init__" in vars(cls) and issubclass(cls, Column)
            for option, parameter in signature(vars(cls)["__init__"]).parameters.items()
            if option != "self" and parameter.kind is parameter.POSITIONAL_OR_KEYWORD
        }
        similar_name = nearest(name, options, alike=ALIKE_COLUMNS)
        if name in _OTHER_OPTIONS:
            hint = _OTHER_OPTIONS[name]
        elif similar_name is not None:
            hint = f"did you mean {similar_name!r}?"
        else:
            hint = f"it has {', '.join(options)}"
        return TypeError(f"{type(self).__name__} has no option {name!r}; {hint}")

    if TYPE_CHECKING:

        @overload
        def __get__(self, instance: None, owner: type) -> ColumnQueryEvaluator: ...
        @overload
        def __get__(self, instance: object, owner: type) -> T: ...
        def __get__(self, instance: object | None, owner: type) -> Any: ...
        def __set__(self, instance: object, value: T | None) -> None: ...

    # -- values ---------------------------------------------------------------------------------

    def validate(self, value: object) -> Any:
        """Return `value`, converted if necessary, as instances store it.

        :param value: a value of the column, or None.
        :raises ValidationError: if the column cannot hold `value`.
        """
        if value is None and self.required:
            raise ValidationError(f"{self.label} - None values are not allowed")
        return value

    def to_python(self, value: object) -> Any:
        """Return `value`, from the database or the application, as instances store it.

        :param value: a value of the column, or None.
        """
        return value

    @plain
    def to_database(self, value: object) -> object:
        """Return `value` in the form that is bound to a statement.

        :param value: a value of the column, or None.
        """
        return value

    def to_filter(self, value: object) -> object:
        """Return the value of a filter in the form that is bound.

        If the application has a column class of its own, this does not call the class's `validate`,
        as in cassandra-driver. That method is meant for values to store: it may convert a value,
        for example to a hash, or refuse a value that is valid in a filter, such as a pattern of
        LIKE.

        :param value: a value of the column, or None.
        :raises ValidationError: if the column cannot have `value`.
        """
        if not self._converts_as_stock:
            return self.to_database(value)
        value = self.validate(value)
        to_bound = self.wire
        return value if to_bound is None or value is None else to_bound(value)

    def is_null(self, value: object) -> bool:
        """Return True if the database stores `value` as null.

        :param value: a value of the column, or None.
        """
        return value is None

    def _val_is_null(self, val: object) -> bool:
        """The private name of `is_null` in cassandra-driver, for programs that use it."""
        return self.is_null(val)

    @property
    def wire(self) -> Callable[[Any], Any] | None:
        """The function that converts a valid value to the form that is bound, or None.

        None means that values are bound as they are, so an insert saves a function call per value.
        """
        return None if getattr(type(self).to_database, "plain", False) else self.to_database

    @property
    def converts(self) -> bool:
        """True if `to_python` is called for the values of rows.

        It is not called if the driver already returns values of the right class.
        """
        return not getattr(type(self).to_python, "reads_rows_as_they_are", False)

    @property
    def has_default(self) -> bool:
        """True if new instances get a default value."""
        return self.default is not None

    def get_default(self) -> Any:
        """Return the default value of a new instance."""
        if callable(self.default):
            return self.default()
        # Return a copy, because instances must not share a value that may change in place.
        return snapshot(self.default)

    # -- copies ---------------------------------------------------------------------------------

    # A cache for `_converts_as_stock`, which each filter reads.
    _has_stock_methods: bool | None = None

    @property
    def _converts_as_stock(self) -> bool:
        """True if the column and its elements have this package's `validate` and `to_database`."""
        if self._has_stock_methods is None:
            cls = type(self)
            self._has_stock_methods = _are_of_package(cls.validate, cls.to_database) and all(
                column._converts_as_stock for column in self.sub_types
            )
        return self._has_stock_methods

    def _is_stock(self) -> bool:
        """Return True if this package's own methods decide which class the values have.

        If an application has overridden `validate` or `to_python`, values may be of any class, so
        we cannot know whether they may change in place.
        """
        cls = type(self)
        # A column class that inherits `Column.validate` accepts any value, also a value that may
        # change in place.
        return cls.validate is not Column.validate and _are_of_package(cls.validate, cls.to_python)

    def _copier(self) -> Callable[[Any], Any] | None:
        """Return a function that copies a value of the column.

        None if values never change in place, so that no copy is needed.
        """
        return self._stock_copier() if self._is_stock() else snapshot

    def _stock_copier(self) -> Callable[[Any], Any] | None:
        """Return the result of `_copier` for a column for which `_is_stock` returns True.

        Column classes whose values may change in place, such as collections, override this method.
        """
        return None

    def _isolates(self) -> bool:
        """Return True if results of `to_python` share nothing mutable with its argument."""
        return self._copier() is None

    def _isolator(self) -> Callable[[Any], Any]:
        """Return a function that does what `to_python` does, and copies the result if necessary.

        The result then shares nothing mutable with the argument.
        """
        copy_value = self._copier()
        # No copy is needed: the values cannot change in place, or `to_python` creates new objects
        # anyway.
        if copy_value is None or self._isolates():
            return self.to_python
        to_python = self.to_python
        return lambda value: copy_value(to_python(value))

    def _owner(self) -> Callable[[Any], Any] | None:
        """Return a function that copies a value that the application passes to a new instance.

        The application may use the object again, for another instance or as a buffer. The copy must
        be independent, so this is not `_copier`: its copy of a user-defined type and the original
        know each other's values. None if
        `to_python` copies what may change in place, and for column classes of applications, whose
        objects may not be copied.
        """
        return None if self._isolates() or not self._is_stock() else snapshot

    # -- names ----------------------------------------------------------------------------------

    @property
    def label(self) -> str:
        """The name of the column in error messages: ``Model.column``."""
        return f"{self.owner}.{self.column_name}" if self.owner else str(self.column_name)

    @property
    def position(self) -> int:
        """A number that orders columns: a column that is created later has a greater number."""
        return self.instance_counter

    def set_column_name(self, name: str) -> None:
        """Set the name of the attribute.

        :param name: the attribute's name in the model.
        """
        self.column_name = name
        manager = self.value_manager
        if not manager.__module__.startswith("cassandra.cqlengine"):
            warnings.warn(
                f"the mapper does not use value managers, so {manager.__name__} of the column "
                f"{name} ({type(self).__name__}) has no effect",
                RuntimeWarning,
                stacklevel=stack_level(),
            )

    @property
    def db_field_name(self) -> str:
        """The column's name in the database."""
        return self.db_field or self.column_name or ""

    @property
    def db_index_name(self) -> str:
        """The name of the column's index."""
        return f"index_{self.db_field_name}"

    @property
    def has_index(self) -> bool:
        """True if `sync_table` creates an index for the column."""
        return self.index

    def index_options(self) -> str:
        """Return the CQL that follows the class of a custom index in CREATE INDEX."""
        return ""

    @property
    def is_primary_key(self) -> bool:
        """True if the column is part of the primary key."""
        return self.primary_key

    @property
    def can_delete(self) -> bool:
        """True if the value can be deleted: the column is not part of the primary key."""
        return not self.primary_key

    @property
    def cql(self) -> str:
        """The quoted column name."""
        return self.get_cql()

    def get_cql(self) -> str:
        """Return the quoted column name."""
        # Always quote the name, because attribute names may have capitals, and servers change
        # unquoted names to lower case.
        return escape_name(self.db_field_name)

    def get_column_def(self) -> str:
        """Return the column's definition for CREATE TABLE."""
        static = " static" if self.static else ""
        return f"{self.cql} {self.db_type}{static}"

    # -- types ----------------------------------------------------------------------------------

    @property
    def cql_type(self) -> str:
        """The type's CQL name."""
        return self.db_type

    def cql_parameterized_type(self) -> str:
        """Return the type's CQL name, with its parameters."""
        return self.db_type

    @property
    def sub_types(self) -> list[Column[Any]]:
        """The columns of the elements or fields; empty for other columns."""
        return []

    @property
    def element_type(self) -> str:
        """The CQL of the type as an element of another type, such as a list.

        Inside another type, a collection or a user-defined type has to be frozen.
        """
        return self.db_type

    def __lt__(self, other: Column[Any]) -> bool:
        return self.position < other.position

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.label}>"


def reads_rows_as_they_are(function: _Function) -> _Function:
    """Mark a `to_python` that need not be called: the driver returns values of the right class."""
    function.reads_rows_as_they_are = True  # type: ignore[attr-defined]
    return function


reads_rows_as_they_are(Column.to_python)


def _are_of_package(*methods: Callable[..., Any]) -> bool:
    """Return True if an application has overridden none of the methods."""
    return all(method.__module__.startswith("cassandra.cqlengine.columns") for method in methods)
