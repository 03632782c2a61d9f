"""Reads rows and values that are objects, and finds fields of them that would be lost.

`Session.execute` only reads those attributes of an object that have the names of bind markers, as
cassandra-driver does. A load is stricter: it refuses an object with a field that would not be
written. Otherwise a column would silently become null if its field had a misspelt name. The fields
of an object are what its class declares (data classes, classes of attrs, pydantic, msgspec and
SQLAlchemy), or else its slots and the public attributes of its ``__dict__``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from types import MemberDescriptorType
from typing import Any, get_type_hints

from cassandra._misspelt import nearest
from cassandra.cqltypes.aliases import attributes_by_alias
from cassandra.cqltypes.containers import MapType
from cassandra.cqltypes.udt import UserType, mapped_classes
from cassandra.protocol.records import declared_fields, is_record
from cassandra.query.tables.types import bare

ABSENT = object()
"""What `attribute_of` returns for an object without the attribute."""


def fields_of(row: object) -> Sequence[str]:
    """Return the names of the attributes that have the values of an object.

    :param row: an object for which `is_record` is True.
    """
    cls: Any = type(row)
    names = fields_of_class(cls)
    if names is None:
        names = _fields_of_instance(cls, tuple(getattr(row, "__dict__", ())))
        slots = _slots_of(cls)
        # A slot without a value is no field of this object.
        return [name for name in names if name not in slots or _has_value(slots[name], row)]
    # A pydantic model with extra="allow" has further fields.
    extra = getattr(row, "__pydantic_extra__", None)
    return (*names, *extra) if extra else names


@lru_cache(maxsize=256)
def fields_of_class(cls: Any) -> tuple[str, ...] | None:
    """Return the names of the fields that a class declares; None if it declares none.

    These are the classes of data classes, attrs, pydantic, msgspec and SQLAlchemy. They are
    recognized by their attributes, so that the libraries need not be imported.
    """
    mapper: Any = getattr(cls, "__mapper__", None)
    if hasattr(mapper, "column_attrs"):
        # Leave relationships and SQL expressions out: only columns of tables are stored.
        return tuple(
            attribute.key
            for attribute in mapper.column_attrs
            if any(getattr(column, "table", None) is not None for column in attribute.columns)
        )
    fields = declared_fields(cls)
    if fields is not None:
        return fields
    pydantic_fields: Any = getattr(cls, "model_fields", None)
    if isinstance(pydantic_fields, Mapping) and hasattr(cls, "model_validate"):
        # A field with exclude=True is not for storage or transport.
        return tuple(
            name
            for name, field in pydantic_fields.items()
            if getattr(field, "exclude", None) is not True
        )
    struct_fields = getattr(cls, "__struct_fields__", None)
    return struct_fields if isinstance(struct_fields, tuple) else None


@lru_cache(maxsize=1024)
def _fields_of_instance(cls: type[Any], attributes: tuple[str, ...]) -> tuple[str, ...]:
    """Return the public names among the slots of a class and the attributes of an instance."""
    names: list[str] = []
    for each in cls.__mro__:
        slots: Any = vars(each).get("__slots__", ())
        names += (slots,) if isinstance(slots, str) else slots
    for name in attributes:
        # Leave out what a `functools.cached_property` has stored in the `__dict__`: it was
        # computed from the fields.
        static = _static_attribute(cls, name)
        if not hasattr(static, "__get__") or hasattr(static, "__set__"):
            names.append(name)
    return tuple(name for name in dict.fromkeys(names) if not name.startswith("_"))


def stored_values(row: object) -> list[Any]:
    """Return the values of an object's fields, without running code of its class.

    Values that need such code, for example values of properties, are left out.

    :param row: an object.
    """
    attributes = getattr(row, "__dict__", {})
    cls: Any = type(row)
    slots = _slots_of(cls)
    values: list[Any] = []
    for name in fields_of(row):
        if name in attributes:
            values.append(attributes[name])
        elif name in slots:
            with suppress(AttributeError):
                values.append(slots[name].__get__(row))
    return values


@lru_cache(maxsize=1024)
def _slots_of(cls: type[Any]) -> dict[str, MemberDescriptorType]:
    """Return the descriptors of the slots of a class by name."""
    return {
        name: value
        for each in reversed(cls.__mro__)
        for name, value in vars(each).items()
        if isinstance(value, MemberDescriptorType)
    }


def _has_value(slot: MemberDescriptorType, row: object) -> bool:
    """Return True if a slot of an object has a value, without running code of its class."""
    try:
        slot.__get__(row)
    except AttributeError:
        return False
    return True


def _static_attribute(cls: type[Any], name: str) -> Any:
    """Return an attribute of a class without calling properties; None if there is none."""
    return next((vars(each)[name] for each in cls.__mro__ if name in vars(each)), None)


def attribute_of(row: object, name: str) -> Any:
    """Return an attribute of an object; `ABSENT` if the object does not have it, or it is unset.

    :param row: the object.
    :param name: the name of the attribute.
    :raises ValueError: if a property of the class raises AttributeError: then the object has the
        attribute, so its value must not be missing silently.
    """
    try:
        value = getattr(row, name)
    except AttributeError as error:
        static = _static_attribute(type(row), name)
        # The descriptor of a slot also raises AttributeError if the slot has no value. That is an
        # absent attribute.
        if hasattr(static, "__get__") and not isinstance(static, MemberDescriptorType):
            raise ValueError(
                f"the attribute {name!r} of {type(row).__name__} raises AttributeError: {error}"
            ) from error
        return ABSENT
    return ABSENT if _is_unset(value) else value


def _is_unset(value: object) -> bool:
    """Return True for ``msgspec.UNSET``, the value of a field that its struct does not have.

    It is recognized by the name of its class, so that msgspec need not be imported.
    """
    cls = type(value)
    return cls.__name__ == "UnsetType" and cls.__module__.partition(".")[0] == "msgspec"


@lru_cache(maxsize=256)
def may_be_unset(cls: Any) -> bool:
    """Return True if fields of a class may be ``msgspec.UNSET``, as far as can be known."""
    if not hasattr(cls, "__struct_fields__"):
        return False
    try:
        hints = get_type_hints(cls)
    except Exception:  # a name in an annotation may not exist when the program runs
        return True
    return any("UnsetType" in str(hint) for hint in hints.values())


class Attributes:
    """The values that a load writes from the attributes of an object, and the object's field names.

    :param row: the object.
    :param fields: the names of the fields that are written, which may be aliases of attributes.
    :param ignored: names of fields to ignore.
    """

    __slots__ = ("names", "values")

    def __init__(self, row: object, fields: Collection[str], ignored: Collection[str] = ()) -> None:
        cls: Any = type(row)
        aliases = attributes_by_alias(cls)
        self.values: dict[str, Any] = {}
        """The values by field name, of the fields that the object has."""
        used: set[str] = set()
        for field in fields:
            attribute = aliases.get(field, field)
            value = attribute_of(row, attribute)
            if value is not ABSENT:
                self.values[field] = value
                used.add(attribute)
        if aliases:
            used.update(aliases[name] for name in ignored if name in aliases)
        self.names = [*self.values, *[name for name in fields_of(row) if name not in used]]
        """The names of these fields and of all other fields of the object."""


def values_to_show(
    row: object, fields: Sequence[str], is_kept: Callable[[str], bool]
) -> dict[str, Any]:
    """Return the values of an object's fields by name. Fields without a value are left out.

    :param row: an object for which `is_record` is True.
    :param fields: the names of the fields that are written, which may be aliases of attributes.
    :param is_kept: returns False for a field to leave out. We do not read the value of such a
        field: reading a deferred column of SQLAlchemy would send a query, or raise an error if the
        object is detached.
    :returns: the values of the written fields first. Empty for an iterator, whose attributes are
        not its values.
    """
    cls: Any = type(row)
    aliases = attributes_by_alias(cls)
    attributes = {name: aliases.get(name, name) for name in fields}
    used = {*attributes.values()}
    is_iterator = isinstance(row, Iterable) and fields_of_class(cls) is None
    if not is_iterator or any(hasattr(row, attribute) for attribute in used):
        used.update(attribute for alias, attribute in aliases.items() if not is_kept(alias))
        others = [name for name in fields_of(row) if name not in used]
        attributes.update({name: name for name in others if is_kept(name)})
    values: dict[str, Any] = {}
    for name, attribute in attributes.items():
        with suppress(AttributeError):
            value = getattr(row, attribute)
            if not _is_unset(value):
                values[name] = value
    return values


# -- values of user-defined types ------------------------------------------------------------------


@lru_cache(maxsize=1024)
def has_user_type(cql_type: Any) -> bool:
    """Return True if a type is a user-defined type, or contains one."""
    return issubclass(cql_type, UserType) or any(map(has_user_type, cql_type.subtypes or ()))


@lru_cache(maxsize=1024)
def _is_flat(cql_type: Any) -> bool:
    """Return True for a user-defined type none of whose fields has a user-defined type."""
    inner = bare(cql_type)
    return issubclass(inner, UserType) and not any(map(has_user_type, inner.subtypes))


@lru_cache(maxsize=1024)
def _user_fields(cql_type: Any) -> tuple[tuple[str, Any], ...]:
    """Return (name, type) of the fields that are, or contain, user-defined types themselves."""
    fields = zip(cql_type.fieldnames, cql_type.subtypes, strict=True)
    return tuple((name, subtype) for name, subtype in fields if has_user_type(subtype))


def check_value(cql_type: Any, value: object) -> None:
    """Raise ValueError if an object has a field that its user-defined type does not have.

    Objects of a class that the application has registered for a type are not checked.

    :param cql_type: the type, which may contain user-defined types.
    :param value: the value of the application. A value of a wrong type is accepted here, because
        binding it will raise an error.
    """
    if value is None or not has_user_type(cql_type):
        return
    # Return early in the usual case: the value is not an object, and contains no objects. This
    # function is called for each value of a load.
    if isinstance(value, (tuple, list, dict)) and _is_flat(cql_type):
        return
    cql_type = bare(cql_type)
    if issubclass(cql_type, UserType):
        _check_user_value(cql_type, value)
    elif issubclass(cql_type, MapType):
        if isinstance(value, Mapping):
            for subtype, items in zip(cql_type.subtypes, (value, value.values()), strict=True):
                for item in items:
                    check_value(subtype, item)
    elif (
        isinstance(value, Collection)  # a `SortedSet`, too, which is no `Set`
        and not isinstance(value, (str, bytes))
        and getattr(value, "ndim", None) != 0  # an array without dimensions has no elements
    ):
        subtypes = cql_type.subtypes
        if len(subtypes) == 1 and _is_flat(subtypes[0]):
            value = [item for item in value if not isinstance(item, (tuple, list, dict))]
        # Lists, sets and vectors have one type for all elements. Tuples have a type for each
        # element.
        if len(subtypes) == 1:
            subtypes = subtypes * len(value)
        for subtype, item in zip(subtypes, value, strict=False):
            check_value(subtype, item)


def _check_user_value(cql_type: Any, value: Any) -> None:
    """Check a value of a user-defined type, and the values of its fields."""
    names: tuple[str, ...] = cql_type.fieldnames
    if isinstance(value, Mapping):
        values = value
    elif isinstance(value, (tuple, list)):
        cls_names: Any = getattr(type(value), "_fields", None)
        is_by_name = cls_names is not None and {*cls_names} <= {*names}
        values = dict(zip(cls_names if is_by_name else names, value, strict=False))
    elif is_record(value):
        attributes = Attributes(value, names)
        values = attributes.values
        unknown = [name for name in attributes.names if name not in names]
        cls = type(value)
        if values and unknown and cls is not cql_type.mapped_class and cls not in mapped_classes:
            meant = nearest(unknown[0].lower(), [name for name in names if name not in values])
            raise ValueError(
                f"{cls.__name__} has the field {unknown[0]!r}, which is not a field of "
                f"{cql_type.typename} ({', '.join(names)})"
                f"{f'; did you mean {meant!r}?' if meant else ''}"
            )
    else:
        return
    for name, subtype in _user_fields(cql_type):
        check_value(subtype, values.get(name))
