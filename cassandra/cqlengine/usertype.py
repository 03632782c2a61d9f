"""`UserType`: user-defined types of CQL as classes."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Iterator, Mapping
from types import FrameType, MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from cassandra._habits import USER_TYPE, add_habits, is_of_driver_frame
from cassandra._lazy import lazy_names
from cassandra._misspelt import warn_of_misspelt
from cassandra.cqlengine import connection
from cassandra.cqlengine.class_bodies import warn_of_missing_columns
from cassandra.cqlengine.columns.annotated import columns_of_annotations
from cassandra.cqlengine.columns.base import Column
from cassandra.cqlengine.columns.containers import BaseCollectionColumn
from cassandra.cqlengine.copies import are_different, snapshot
from cassandra.cqlengine.errors import CQLEngineException
from cassandra.cqlengine.naming import snake_case
from cassandra.util import OrderedMap, SortedSet

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = [
    "BaseUserType", "CQLEngineException", "UserType", "UserTypeDefinitionException",
    "UserTypeException", "UserTypeMetaClass",
]  # fmt: skip


class UserTypeException(CQLEngineException):
    """A user-defined type is used or declared in a wrong way."""


class UserTypeDefinitionException(UserTypeException):
    """A user-defined type is declared in a wrong way."""


class _FieldDescriptor:
    """The descriptor of a field: the value on an instance, the column on the class."""

    __slots__ = ("column", "name")

    def __init__(self, name: str, column: Column[Any]) -> None:
        self.name = name
        self.column = column

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self.column
        values = instance._values
        value = values[self.name]
        if value is None and self.column.mutable:
            # Create an empty collection and store it: `instance.tags.append(x)` must change the
            # instance.
            value = self.column.to_python(None)
            if value is not None:
                values[self.name] = value
        return value

    def __set__(self, instance: Any, value: object) -> None:
        instance._values[self.name] = value

    def __delete__(self, instance: Any) -> None:
        # CQL cannot delete a field of a value. Setting the field to null has the same effect.
        instance._values[self.name] = None


class UserTypeMetaClass(type):
    """Creates the classes of user-defined types: collects their fields and checks them."""

    def __new__(
        mcs, name: str, bases: tuple[type, ...], attrs: dict[str, Any], **kwargs: Any
    ) -> UserTypeMetaClass:
        fields: dict[str, Column[Any]] = {}
        attrs.update(columns_of_annotations(name, attrs, UserTypeDefinitionException))
        # Collect the fields of the bases, then the class's own fields. Later fields replace earlier
        # fields with the same name. So iterate over the bases in reverse: the first base then has
        # precedence, as in Python's attribute lookup.
        for base in reversed(bases):
            fields.update(getattr(base, "__fields__", {}))
        declared = {
            attribute: value for attribute, value in attrs.items() if isinstance(value, Column)
        }
        # Sort the class's own fields in the order of their declaration. CREATE TYPE and tuples (see
        # `from_value`) use this order.
        fields.update(sorted(declared.items(), key=lambda item: item[1].instance_counter))
        # Copy the columns, because `set_column_name` changes a column, and the bases must keep
        # theirs unchanged.
        fields = {attribute: copy.copy(column) for attribute, column in fields.items()}
        database_names: set[str] = set()
        for field_name, column in fields.items():
            # A field called `values` or `fields` would hide the method of that name. But it may
            # replace a field of a base.
            hides_attribute = not field_name.startswith("_") and any(
                hasattr(base, field_name) for base in bases
            )
            is_inherited = any(field_name in getattr(base, "__fields__", {}) for base in bases)
            if hides_attribute and not is_inherited:
                raise UserTypeDefinitionException(
                    f"field '{field_name}' conflicts with built-in attribute/method"
                )
            # Only a column of a table can be part of a key, static, or a counter.
            if column.is_counter or column.primary_key or column.static:
                raise UserTypeDefinitionException(
                    f"field '{field_name}' of {name} must not be a key, a counter or static"
                )
            column.owner = name
            column.set_column_name(field_name)
            if isinstance(column, BaseCollectionColumn):
                column.is_inside = True
            if column.db_field_name in database_names:
                raise UserTypeDefinitionException(
                    f"{name} defines the field '{column.db_field_name}' more than once"
                )
            if column.db_field_name != field_name and column.db_field_name in fields:
                # Values of rows have the names in the database, so such a name would be ambiguous.
                raise UserTypeDefinitionException(
                    f"db_field '{column.db_field_name}' for field '{field_name}' of {name} "
                    "conflicts with another attribute name"
                )
            database_names.add(column.db_field_name)
            attrs[field_name] = _FieldDescriptor(field_name, column)
        # Make each field accessible under its name in the database too, unless the class has
        # another attribute with that name.
        for field_name, column in fields.items():
            database_name = column.db_field_name
            if database_name not in attrs and not any(
                hasattr(base, database_name) for base in bases
            ):
                attrs[database_name] = attrs[field_name]
        attrs["__fields__"] = fields
        warn_of_missing_columns(name, attrs, bases, fields)
        return super().__new__(mcs, name, bases, attrs, **kwargs)


def _to_bind(value: Any) -> Any:
    """Convert a value from a row to the form in which a statement can bind it again.

    Instances of user-defined types become dicts, whose keys are the fields' names in the database.
    """
    if isinstance(value, BaseUserType):
        return value.to_database()
    if isinstance(value, OrderedMap):
        return OrderedMap([(_to_bind(key), _to_bind(item)) for key, item in value.items()])
    if type(value) in (list, tuple, SortedSet):
        return [_to_bind(item) for item in value]
    return value


def _is_called_for(instance: object, frame: FrameType) -> bool:
    """Return True if `instance` is the first argument of the method that a frame runs."""
    names = frame.f_code.co_varnames
    return bool(names) and frame.f_locals.get(names[0]) is instance


# The number of attributes that each instance has: `_values` and `_previous_values`.
_OWN_ATTRIBUTES = 2


class BaseUserType(metaclass=UserTypeMetaClass):
    """The base class of `UserType`.

    :param values: the values of the fields. The keyword is the field's attribute, or its name in
        the database.
    """

    __fields__: ClassVar[dict[str, Column[Any]]]
    __type_name__: ClassVar[str | None] = None

    _values: dict[str, Any]
    _previous_values: dict[str, Any] | None
    # Fields of a value that was read which the class does not declare, by their names in the
    # database. For example, a newer version of the application has added them to the type. They are
    # written back, because a value is always written as a whole.
    _undeclared: Mapping[str, Any] = MappingProxyType({})

    # The type NoReturn makes type checkers report values that are passed without their field.
    def __init__(self, *_unnamed: NoReturn, **values: Any) -> None:
        if _unnamed:
            named = ", ".join(f"{name}=..." for name in list(self.__fields__)[: len(_unnamed)])
            advice = f"({named})"
            if isinstance(_unnamed[0], Mapping):
                advice = "(**values), with two asterisks before the mapping"
            raise TypeError(
                f"{type(self).__name__}() takes values by the names of fields: write "
                f"{type(self).__name__}{advice}"
            )
        row: dict[str, Any] = {}
        is_complete = True
        for name, column in self.__fields__.items():
            if name in values:
                value = values[name]
            elif column.db_field_name in values:
                value = values[column.db_field_name]
            else:
                is_complete = False
                value = column.get_default() if column.has_default else None
            row[name] = None if value is None else column.to_python(value)
        # Some fields are missing or unknown. If the application has made this call, warn about
        # misspelt names. If the driver has made it for a row, keep the unknown fields: the server's
        # type has them.
        if values and (not is_complete or len(values) > len(row)):
            frame: Any = sys._getframe(1)
            # Skip the `__init__` methods of subclasses that have called this method.
            while frame.f_code.co_name == "__init__" and _is_called_for(self, frame):
                frame = frame.f_back
            if not is_of_driver_frame(frame):
                if not is_complete:
                    self._warn_of_misspelt(values)
            elif undeclared := values.keys() - self._known_names():
                self._undeclared = {name: values[name] for name in undeclared}
        self._values = row
        # None means that all fields count as changed, because nothing was saved yet.
        self._previous_values = None

    @classmethod
    def _known_names(cls) -> set[str]:
        """Return all names that values may have: the attributes, and the names in the database."""
        columns = cls.__fields__
        return {*columns, *(column.db_field_name for column in columns.values())}

    @classmethod
    def _warn_of_misspelt(cls, values: Mapping[str, object]) -> None:
        """Warn about a name in `values` that is probably a misspelt field."""
        known_names = cls._known_names()
        unknown_names = [name for name in values if name not in known_names]
        missing_names = [name for name in cls.__fields__ if name not in values]
        warn_of_misspelt(cls, unknown_names, missing_names, are_keywords=True)

    @classmethod
    def fields(cls) -> dict[str, Column[Any]]:
        """Return the columns of the fields, by name."""
        return cls.__fields__

    @classmethod
    def type_name(cls) -> str:
        """Return the type's name, in lower case as servers store it."""
        return (cls.__type_name__ or snake_case(cls.__name__)).lower()

    @classmethod
    def from_value(cls, value: object) -> Self | None:
        """Return an instance with the fields of `value`; None if `value` does not have the fields.

        :param value: a mapping, a tuple, a named tuple, or an object with the fields as attributes.
        """
        name_by_field = {column.db_field_name: name for name, column in cls.__fields__.items()}
        # Check for a named tuple first: it is a tuple too, but its fields are read by name.
        as_dict = getattr(value, "_asdict", None)
        names = None
        if as_dict is not None:
            # A field such as "Zip Code" or "class" has another name in the driver's named tuples.
            # `__database_names__` has the names in the database.
            names = getattr(value, "__database_names__", None)
            items = as_dict()
            value = items if names is None else dict(zip(names, items.values(), strict=True))
        if isinstance(value, Mapping):
            fields = {
                name_by_field.get(str(key), str(key)): field_value
                for key, field_value in value.items()
            }
            if as_dict is None:  # a mapping of the application, and not a value that was read
                cls._warn_of_misspelt(fields)
            instance = cls(**fields)
            if names is None:
                # Drop fields that the class does not declare, as cassandra-driver does. (Only
                # values that were read may have undeclared fields.)
                vars(instance).pop("_undeclared", None)
            return instance
        if isinstance(value, tuple):
            # Do not use strict=True: a value that was written before ALTER TYPE added a field has
            # fewer fields.
            return cls(**dict(zip(cls.__fields__, value, strict=False)))
        # Accept an object of another class that has all fields as attributes. (A type without
        # fields would accept any object, so it accepts none.)
        if all(hasattr(value, name) for name in cls.__fields__) and cls.__fields__:
            return cls(**{name: getattr(value, name) for name in cls.__fields__})
        return None

    def to_database(self) -> dict[str, Any]:
        """Return the values in the form that is bound, by the fields' names in the database."""
        # If there are more attributes than the mapper sets, the application has set them. They may
        # be misspelt fields, so warn.
        if len(self.__dict__) > _OWN_ATTRIBUTES + bool(self._undeclared):
            warn_of_misspelt(type(self), self.__dict__, self.__fields__)
        fields = {}
        for name, column in self.__fields__.items():
            value = self._values[name]
            fields[column.db_field_name] = None if value is None else column.to_database(value)
        for name, value in self._undeclared.items():
            fields[name] = _to_bind(value)
        return fields

    def validate(self) -> None:
        """Check the fields, and convert them to the form that instances store.

        :raises ValidationError: if a field cannot hold its value.
        """
        for name, column in self.__fields__.items():
            self._values[name] = column.validate(self._values[name])

    @classmethod
    def register_for_keyspace(cls, keyspace: str) -> None:
        """Read values of the type in rows of `keyspace` as instances of this class.

        This registers the class with the cluster, so it also applies to rows that you read without
        the mapper.

        :param keyspace: the name of the keyspace.
        """
        connection.register_udt(keyspace, cls.type_name(), cls)

    def has_changed_fields(self) -> bool:
        """Return True if a field has changed since the last call of `reset_changed_fields`.

        If that method was never called, return True.
        """
        previous = self._previous_values
        if previous is None:
            return True
        return any(
            # Replacing None by an empty collection, or the reverse, is not a change: both are
            # stored as null.
            are_different(value, previous[name])
            and not (column.is_null(value) and column.is_null(previous[name]))
            for (name, column), value in zip(
                self.__fields__.items(), self._values.values(), strict=True
            )
        )

    def reset_changed_fields(self) -> None:
        """Make the current values those with which `has_changed_fields` compares later values."""
        # Copy the values, because applications change lists and maps of a field in place.
        self._previous_values = {name: snapshot(value) for name, value in self._values.items()}

    def _copy(self, copiers: Mapping[str, Callable[[Any], Any] | None]) -> Self:
        """Return a copy whose fields change independently of this instance.

        The application changes one of the two instances, and the mapper keeps the other one as the
        value in the database. Afterwards, `has_changed_fields` of each instance compares with the
        values that both have now.

        :param copiers: functions that copy the values of the fields, by name; None for fields whose
            values cannot change in place.
        """
        duplicate = copy.copy(self)
        duplicate._values = values = {}
        for name, value in self._values.items():
            # An instance of a subclass may have fields that are not in `copiers`.
            copier = copiers.get(name, snapshot)
            values[name] = value if value is None or copier is None else copier(value)
        duplicate._previous_values = self._values
        self._previous_values = values
        return duplicate

    # -- as mapping -----------------------------------------------------------------------------

    def keys(self) -> list[str]:
        """Return the names of the fields."""
        return list(self.__fields__)

    def values(self) -> list[Any]:
        """Return the values of the fields."""
        return [getattr(self, name) for name in self.__fields__]

    def items(self) -> list[tuple[str, Any]]:
        """Return names and values of the fields."""
        return [(name, getattr(self, name)) for name in self.__fields__]

    def __iter__(self) -> Iterator[str]:
        return iter(self.__fields__)

    def __len__(self) -> int:
        return len(self.__fields__)

    def __getitem__(self, key: str) -> Any:
        if key not in self.__fields__:
            raise KeyError(key)
        return getattr(self, key)

    def __setitem__(self, key: str, val: object) -> None:
        if key not in self.__fields__:
            raise KeyError(key)
        setattr(self, key, val)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and not are_different(self.values(), other.values())

    def __ne__(self, other: object) -> bool:
        return not self == other

    # Not hashable: instances with equal values are equal, and the values may change.
    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{n}={v!r}' for n, v in self.items())})"

    def __str__(self) -> str:
        return "{" + ", ".join(f"'{name}': {value}" for name, value in self.items()) + "}"


class UserType(BaseUserType):
    """Base class of an application's user-defined types; the fields are class attributes.

    An example is ``class address(UserType): street = Text(); zipcode = Integer()``. A column of
    this type is ``UserDefinedType(address)``.

    :param values: values by field.
    """

    __type_name__: ClassVar[str | None] = None
    """*Optional.* The type's CQL name; by default the class name in snake case."""


add_habits(UserType, USER_TYPE)

# Set `__getattr__` through globals(), so that type checkers still report unknown names.
globals()["__getattr__"] = lazy_names(__name__)
