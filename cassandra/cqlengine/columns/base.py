"""`Column`: the common part of all columns, and how values of a column are looked at by an
instance.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, overload

from cassandra.cqlengine.columns.mapped import Mapped
from cassandra.cqlengine.errors import ValidationError
from cassandra.util.cql_text import escape_name

if TYPE_CHECKING:
    from cassandra.cqlengine.query.expressions import ColumnQueryEvaluator

__all__ = ["BaseValueManager", "Column", "T", "plain"]

T = TypeVar("T")
_Function = TypeVar("_Function", bound=Callable[..., Any])

counter = itertools.count(1)


def plain(function: _Function) -> _Function:
    """Mark a `to_database` whose values the codec of the column's type takes as they are,
    unconverted.
    """
    # The mark is on the function, not on the class: a subclass with a `to_database` of its own
    # loses it by that, and is converted again.
    function.plain = True  # type: ignore[attr-defined]
    return function


class BaseValueManager:
    """The value of one column of an instance, and the one before.

    Instances keep no such objects; this is for programs that make their own.

    :param instance: the instance that has the value.
    :param column: its column.
    :param value: the value at the beginning.
    """

    value: Any

    def __init__(self, instance: object, column: Column[Any], value: object) -> None:
        self.instance = instance
        self.column = column
        self.value = value
        self.previous_value: Any = None
        self.explicit = False

    @property
    def changed(self) -> bool:
        """Return True if the value differs from the one before."""
        return bool(self.value != self.previous_value)

    @property
    def deleted(self) -> bool:
        """Return True if the value was taken away."""
        # None that was set explicitly deletes, even if no earlier value is known: the row may have
        # one.
        gone = self.column.is_null(self.value)
        return gone and (self.explicit or not self.column.is_null(self.previous_value))

    def reset_previous_value(self) -> None:
        """Take the value of now as the one to compare with."""
        # A collection may change in place later: the value to compare with must not change with it.
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
        """Take the value away."""
        self.value = None

    def get_property(self) -> property:
        """Return a property that reads, writes and deletes the value."""
        return property(
            lambda instance: self.getval(),
            lambda instance, value: self.setval(value),
            lambda instance: self.delval(),
        )


class Column(Mapped[T]):
    """A column of a table, or a field of a user-defined type.

    It is declared as an attribute of a model's class.

    :param primary_key: part of the primary key. The first such column of a model is the
        partition key, unless there are
        columns with `partition_key`; the others are clustering columns.
    :param partition_key: part of the partition key.
    :param index: create a secondary index.
    :param db_field: the column's name in the database, if it is not the attribute's.
    :param default: the value of new instances, or a function that makes one.
    :param required: None is refused. Primary keys always are required for saving.
    :param clustering_order: "ASC" or "DESC", of a clustering column.
    :param discriminator_column: holds the `__discriminator_value__` of the row's class.
    :param static: one value for the whole partition.
    :param custom_index: there is an index that the mapper does not manage; allows filters on
        the column.
    """

    db_type: ClassVar[str] = ""
    value_manager: ClassVar[type[BaseValueManager]] = BaseValueManager
    update_clause: ClassVar[Any] = None  # how UPDATE changes it, if not by assignment
    index_class: ClassVar[str | None] = None  # of a custom index; None for the usual kind
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
    """None: a column of a model has no value, its instances do"""
    default: object = None
    """the default value, or a callable (no arguments)"""
    required: bool = False
    """None is refused"""
    clustering_order: str | None = None
    """the order of a clustering column"""
    discriminator_column: bool = False
    """the column holds the class of the row"""
    static: bool = False
    """the column has one value for each partition"""

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
    ) -> None:
        self.partition_key = partition_key
        # CQL: columns of the partition key are part of the primary key, so one of the two is
        # enough.
        self.primary_key = partition_key or primary_key
        self.index = index
        self.custom_index = custom_index
        self.db_field = db_field
        self.default = default
        self.required = required
        self.clustering_order = clustering_order
        self.discriminator_column = discriminator_column
        self.static = static
        self.column_name: str | None = None
        self.owner: str = ""
        self.instance_counter = next(counter)

    if TYPE_CHECKING:

        @overload
        def __get__(self, instance: None, owner: type) -> ColumnQueryEvaluator: ...
        @overload
        def __get__(self, instance: object, owner: type) -> T: ...
        def __get__(self, instance: object | None, owner: type) -> Any: ...
        def __set__(self, instance: object, value: T | None) -> None: ...

    # -- values ---------------------------------------------------------------------------------

    def validate(self, value: object) -> Any:
        """Return the value to store.

        :param value: a value of the column, or None.
        :raises ValidationError: if the column cannot hold `value`.
        """
        if value is None and self.required:
            raise ValidationError(f"{self.label} - None values are not allowed")
        return value

    def to_python(self, value: object) -> Any:
        """Return `value`, from the database or a program, as instances have it.

        :param value: a value of the column, or None.
        """
        return value

    @plain
    def to_database(self, value: object) -> Any:
        """Return `value` as the database takes it.

        :param value: a value of the column, or None.
        """
        return value

    def to_filter(self, value: object) -> Any:
        """Return `value`, of a filter, as it is bound.

        :param value: a value of the column, or None.
        :raises ValidationError: if no value of the column is like it.
        """
        value = self.validate(value)
        wire = self.wire
        return value if wire is None or value is None else wire(value)

    def is_null(self, value: object) -> bool:
        """Return True if the database keeps `value` as null.

        :param value: a value of the column, or None.
        """
        return value is None

    @property
    def wire(self) -> Callable[[Any], Any] | None:
        """The function that makes a valid value one to bind. None if nothing has to be done."""
        # Inserts skip the call for each value of a column that has no wire.
        return None if getattr(type(self).to_database, "plain", False) else self.to_database

    @property
    def converts(self) -> bool:
        """True if values of rows go through `to_python`.

        Those of stock types have the right class already.
        """
        return not getattr(type(self).to_python, "reads_rows_as_they_are", False)

    @property
    def has_default(self) -> bool:
        """Return True if new instances get a value."""
        return self.default is not None

    def get_default(self) -> Any:
        """Return the value of a new instance."""
        if callable(self.default):
            return self.default()
        # A copy: instances must not share what may change in place.
        return copy.deepcopy(self.default) if self.mutable else self.default

    # -- names ----------------------------------------------------------------------------------

    @property
    def label(self) -> str:
        """The column as errors name it: ``Model.column``."""
        return f"{self.owner}.{self.column_name}" if self.owner else str(self.column_name)

    @property
    def position(self) -> int:
        """The place in the order of declaration, among all columns."""
        return self.instance_counter

    def set_column_name(self, name: str) -> None:
        """Take over the attribute's name.

        :param name: the attribute's name in the model.
        """
        self.column_name = name

    @property
    def db_field_name(self) -> str:
        """The name in the database."""
        return self.db_field or self.column_name or ""

    @property
    def db_index_name(self) -> str:
        """The name of the index."""
        return f"index_{self.db_field_name}"

    @property
    def has_index(self) -> bool:
        """Return True if an index is created."""
        return self.index

    def index_options(self) -> str:
        """Return the text behind the class of a custom index in CREATE INDEX."""
        return ""

    @property
    def is_primary_key(self) -> bool:
        """Return True if it is part of the primary key."""
        return self.primary_key

    @property
    def can_delete(self) -> bool:
        """Return True if the value can be taken away."""
        return not self.primary_key

    @property
    def cql(self) -> str:
        """The quoted name."""
        return self.get_cql()

    def get_cql(self) -> str:
        """Return the quoted name."""
        # Always quoted: attributes may have capitals, and servers fold unquoted names to lower
        # case.
        return escape_name(self.db_field_name)

    def get_column_def(self) -> str:
        """Return the definition in CREATE TABLE."""
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
        """The columns of the elements."""
        return []

    @property
    def element_type(self) -> str:
        """The type as element of another: collections and user-defined types are frozen there."""
        return self.db_type

    def __lt__(self, other: Column[Any]) -> bool:
        return self.position < other.position

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.label}>"


def reads_rows_as_they_are(function: _Function) -> _Function:
    """Mark a `to_python` that values of rows need not go through."""
    function.reads_rows_as_they_are = True  # type: ignore[attr-defined]
    return function


reads_rows_as_they_are(Column.to_python)
