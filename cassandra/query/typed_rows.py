"""Row factories that make instances of an application's classes (the argument `row_type`).

A class may be a dataclass, named tuple, typed dict, attrs class, msgspec struct or pydantic model.
For each list of result columns, we compare the columns' names and CQL types once with the fields
and annotations of the class. From these, we build a *row maker*, a function that makes instances
from an iterable of rows, and cache it. Each row then costs one call of the class. A *conversion* is
a function that converts a decoded value to the class of an annotation. A column has a conversion
only if the decoder returns another class (for dates, sets, maps and user-defined types).
"""

from __future__ import annotations

import collections.abc
import dataclasses
import datetime
import enum
import inspect
import ipaddress
import itertools
import operator
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeGuard, TypeVar

from cassandra._bounded import Bounded, text_size
from cassandra.cqltypes.scalars import SCALARS
from cassandra.protocol.converted import is_converted
from cassandra.protocol.encrypted import is_encrypted

if TYPE_CHECKING:
    from cassandra.protocol.column_specs import ResultMetadata
    from cassandra.query.tables.types import CqlType

Convert = Callable[[Any], object]
_T = TypeVar("_T")
_Args = tuple[Any, ...]  # the arguments of a generic annotation: (str, int) for dict[str, int]

_SHOWN_MEMBERS = 10  # maximum number of enum members in an error message
MOST_MAKERS = 64  # maximum number of row makers, one per column list, that are cached for a class
_MOST_MAKER_BYTES = 1 << 24  # maximum memory of a class's cached row makers in bytes
# The estimated memory of a row maker, in bytes: a fixed part, and a part for each column.
_MAKER_BYTES = 2000
_COLUMN_BYTES = 500

_FACTORY_ATTRIBUTE = (
    "__rows_of_cassandra__"  # the attribute that holds the factory of an application's class
)
# The factories of classes that do not allow setting `_FACTORY_ATTRIBUTE`.
_factories: dict[type[Any], TypedRows] = {}


class _ModelField(Protocol):
    """A field of a pydantic model."""

    @property
    def alias(self) -> str | None:
        """The name that validation expects if the field has no `validation_alias`.

        None means the field's own name.
        """


class Field(NamedTuple):
    """A field of a row class: its name, its annotation, and whether a row must have its value."""

    name: str
    annotation: Any
    required: bool


def typed_rows(row_type: type[Any]) -> TypedRows:
    """Return the row factory for `row_type`, which is created once for each class.

    :raises TypeError: if this kind of class cannot be used for rows.
    """
    # The factory is an attribute of the class, so that both are garbage collected together. Read
    # the attribute from the class's own ``__dict__``: an inherited factory would make instances of
    # the base class.
    factory: TypedRows | None = getattr(row_type, "__dict__", {}).get(_FACTORY_ATTRIBUTE)
    if factory is None:
        factory = _factories.get(row_type) if isinstance(row_type, type) else None
    if factory is None:
        factory = TypedRows(row_type)
        try:
            setattr(row_type, _FACTORY_ATTRIBUTE, factory)
        except (AttributeError, TypeError):
            # The attribute cannot be set, so store the factory in `_factories`. This dict keeps the
            # classes alive, and an application may create many classes at run time. So clear the
            # dict when it reaches a limit.
            if len(_factories) >= MOST_MAKERS:
                _factories.clear()
            _factories[row_type] = factory
    return factory


class _Misfit(ValueError):
    """The error for a value that does not fit the annotation of its field.

    `_row_converter` adds the column to the message, and `TypedRows.rows_of` adds the row.
    """


class TypedRows:
    """A row factory that makes instances of one class, and converts the values of columns."""

    def __init__(self, row_type: type[Any]) -> None:
        self._kind = _class_kind(row_type)  # dataclass, named tuple, pydantic model, ...
        self.row_type = row_type
        self._fields = self._kind.fields(row_type)
        # The cached row makers, by `ResultMetadata.columns_key`.
        self._makers: Bounded[Any, Callable[[Iterable[Any]], list[Any]]] = Bounded(
            MOST_MAKERS, _MOST_MAKER_BYTES
        )

    def rows_of(self, metadata: ResultMetadata, rows: Iterable[tuple[Any, ...]]) -> list[Any]:
        """Return `rows` as instances of the class.

        :param metadata: the metadata of the result, with the columns' names and types.
        :param rows: tuples with a value for each column. `LazyProtocolHandler` passes an iterator.
        :raises TypeError: if a column and its field do not fit each other. The message names both.
        :raises ValueError: if a value does not fit the annotation. For example, no member of an
            enum has this value. The message names the row and the column.
        """
        key = metadata.columns_key
        make_rows = self._makers.get(key)
        if make_rows is None:
            make_rows = self._maker_of([(column.name, column.type) for column in metadata.columns])
            # The memory of the cache is limited, so pass an estimate of the row maker's memory. It
            # counts each name three times, because a row maker keeps about three copies of the
            # names.
            size = _MAKER_BYTES + _COLUMN_BYTES * len(metadata.columns) + 3 * text_size(key)
            make_rows = self._makers.keep(key, make_rows, size)
        # If a row fails, the iterator's position shows which row it was. Counting rows would slow
        # down every row, so only count those of an object without a length.
        is_sized = isinstance(rows, collections.abc.Sized)
        numbers = itertools.count()
        iterator = iter(rows) if is_sized else (row for row, _ in zip(rows, numbers, strict=False))
        try:
            return make_rows(iterator)
        except _Misfit as error:
            # Here `count` is the number of rows up to the one that failed.
            count = (
                len(rows) - operator.length_hint(iterator)
                if isinstance(rows, collections.abc.Sized)
                else next(numbers)
            )
            raise ValueError(f"row {count - 1}, {error}") from error.__cause__

    def __call__(self, names: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Make instances without converting values, because only the columns' names are known."""
        return self._maker_of([(name, None) for name in names])(rows)

    def _maker_of(self, columns: Sequence[tuple[str, Any]]) -> Callable[[Iterable[Any]], list[Any]]:
        return _make_row_maker(self.row_type, self._kind, self._fields, columns)

    def __repr__(self) -> str:
        return f"<TypedRows of {self.row_type.__qualname__}>"


def _make_row_maker(
    row_type: type[Any],
    kind: Kind,
    fields: Sequence[Field],
    columns: Sequence[tuple[str, Any]],
    noun: str = "column",
) -> Callable[[Iterable[Any]], list[Any]]:
    """Return a function that makes instances of `row_type` from rows.

    :param row_type: the class.
    :param kind: how to inspect the class and make its instances.
    :param fields: the fields of the class.
    :param columns: (name, CQL type) of each column, or of each field of a user-defined type. If the
        type is None, values are not converted.
    :param noun: the word for a column in error messages about values: "column" or "field".
    :raises TypeError: if the columns and the fields of the class do not fit each other.
    """
    class_name = row_type.__qualname__
    fields_by_name = {field.name: field for field in fields}
    names = [name for name, _ in columns]
    _check_names(names, fields, class_name)
    # Collect a conversion for each column whose values must be converted.
    conversions: list[tuple[int, Convert, str]] = []
    for index, (name, cql_type) in enumerate(columns):
        if cql_type is None:
            continue
        try:
            convert = _conversion_for(
                cql_type,
                fields_by_name[name].annotation,
                f'column "{name}"',
                f"field {name!r} of {class_name}",
            )
        except TypeError:
            if kind.maker is not _model_maker:
                raise
            continue  # the validators of a pydantic model convert or refuse the value
        if convert is not None:
            if is_encrypted(cql_type):
                convert = _without_values(convert, f"field {name!r} of {class_name}")
            conversions.append((index, convert, f'{noun} "{name}"'))
    make_rows = kind.maker(row_type, fields, names)
    if not conversions:
        return make_rows
    return lambda rows: make_rows(map(_row_converter(conversions), rows))


def _check_names(names: Sequence[str], fields: Sequence[Field], class_name: str) -> None:
    """Raise TypeError unless each column has one field and each required field has a column."""
    field_names = [field.name for field in fields]
    # Each column must have exactly one field.
    for name in names:
        if name not in field_names:
            advice = ""
            if name == "[applied]":
                advice = "; write no row_type for a conditional statement, and use was_applied"
            raise TypeError(
                f'column "{name}" has no field in {class_name}, whose fields are '
                f"{', '.join(field_names) or 'none'}{advice}"
            )
        if names.count(name) > 1:
            raise TypeError(f'two columns are named "{name}": {class_name} can take one')
    # Each required field must have a column.
    missing_names = [field.name for field in fields if field.required and field.name not in names]
    if missing_names:
        raise TypeError(
            f"the result has no column for {', '.join(map(repr, missing_names))} of {class_name}; "
            f"it has {', '.join(names)}"
        )


def _row_converter(
    conversions: Sequence[tuple[int, Convert, str]],
) -> Callable[[Sequence[Any]], list[Any]]:
    """Return a function that converts the values of one row.

    :param conversions: a tuple (position, conversion, description for error messages) for each
        column to convert.
    """

    def convert_row(row: Sequence[Any]) -> list[Any]:
        """Return the converted values of a row; an error names the column."""
        values = list(row)
        done_count = 0  # how many conversions succeeded
        try:
            for index, convert, _ in conversions:
                values[index] = convert(values[index])
                done_count += 1
        except _Misfit as error:
            raise _Misfit(f"{conversions[done_count][2]}: {error}") from error.__cause__
        return values

    return convert_row


# -- kinds of classes ------------------------------------------------------------------------------


class Kind(NamedTuple):
    """The functions for one kind of class (dataclass, named tuple, ...).

    `matches` returns True if a class is of this kind, and `fields` returns the fields of the class.
    `maker` returns a row maker for a class, its fields and the names of the columns.
    """

    matches: Callable[[Any], bool]
    fields: Callable[[Any], list[Field]]
    maker: Callable[[Any, Sequence[Field], Sequence[str]], Callable[[Iterable[Any]], list[Any]]]


def _annotations_of(cls: type[Any]) -> dict[str, Any]:
    """Return the annotations of a class by name, with strings resolved to types.

    :raises TypeError: if an annotation names a type that does not exist.
    """
    try:
        if dataclasses.is_dataclass(cls):
            return _annotations_of_fields(cls)
        return typing.get_type_hints(cls)
    except NameError as error:
        raise TypeError(
            f"an annotation of {cls.__qualname__} names what is not there: {error}"
        ) from error


def _annotations_of_fields(cls: type[Any]) -> dict[str, Any]:
    """Return the annotations of a dataclass's fields, without its `InitVar` parameters.

    We leave them out because on Python 3.10, `typing.get_type_hints` refuses an `InitVar` that is
    annotated as a string.
    """
    fields = {field.name for field in dataclasses.fields(cls)}
    hints: dict[str, Any] = {}
    # Go from the furthest base class to `cls` itself: if a class redefines a field of a base class,
    # the annotation of the class must win.
    for base in reversed(cls.__mro__):
        # Resolve the annotations through a temporary class that has only these annotations.
        # `get_type_hints` looks up names in the module of the temporary class, so its `__module__`
        # is that of `base`.
        annotations = {
            name: hint for name, hint in inspect.get_annotations(base).items() if name in fields
        }
        if annotations:
            hints |= typing.get_type_hints(
                type(
                    base.__name__,
                    (),
                    {"__annotations__": annotations, "__module__": base.__module__},
                )
            )
    return hints


def _maker_by_call(
    cls: type[Any], fields: Sequence[Field], names: Sequence[str]
) -> Callable[[Iterable[Any]], list[Any]]:
    """Return a row maker that calls the class with the values of each row.

    The row maker passes the values by position if the columns are the first parameters of the
    class, in any order. Otherwise, it passes the values by name.
    """
    leading_parameters = _positional_parameters(cls)[: len(names)]
    # If the columns also have the order of the parameters, use `starmap`: it calls the class from
    # C, without a Python frame for each row.
    if list(names) == leading_parameters:
        return lambda rows: list(itertools.starmap(cls, rows))
    if sorted(names) == sorted(leading_parameters):
        order = [names.index(name) for name in leading_parameters]
        return lambda rows: [cls(*[row[index] for index in order]) for row in rows]
    return lambda rows: [cls(**dict(zip(names, row, strict=True))) for row in rows]


def _positional_parameters(cls: type[Any]) -> list[str]:
    """Return the parameters of `cls` that may be passed by position, in order."""
    try:
        parameters = inspect.signature(cls).parameters.values()
    except (TypeError, ValueError):  # the class has no signature
        return []
    return [
        parameter.name
        for parameter in parameters
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    ]


def _dataclass_fields(cls: type[Any]) -> list[Field]:
    """Return the parameters of the dataclass's __init__ as fields, in order."""
    hints = _annotations_of(cls)
    no_default = dataclasses.MISSING
    # Do not use `dataclasses.fields`: it leaves out InitVar parameters, which are also parameters
    # of __init__.
    fields = [
        field
        for field in cls.__dataclass_fields__.values()
        if field.init and not _is_class_var(hints.get(field.name))
    ]
    return [
        Field(
            field.name,
            hints.get(field.name, Any),
            field.default is no_default and field.default_factory is no_default,
        )
        for field in fields
    ]


def _is_class_var(hint: object) -> bool:
    return hint is typing.ClassVar or typing.get_origin(hint) is typing.ClassVar


def _named_tuple_fields(cls: type[Any]) -> list[Field]:
    hints = _annotations_of(cls)
    return [
        Field(name, hints.get(name, Any), name not in cls._field_defaults) for name in cls._fields
    ]


def _typed_dict_fields(cls: type[Any]) -> list[Field]:
    return [
        Field(name, hint, name in cls.__required_keys__)
        for name, hint in _annotations_of(cls).items()
    ]


def _dict_maker(
    cls: type[Any], fields: Sequence[Field], names: Sequence[str]
) -> Callable[[Iterable[Any]], list[Any]]:
    return lambda rows: [dict(zip(names, row, strict=True)) for row in rows]


def _attrs_fields(cls: type[Any]) -> list[Field]:
    """Return the parameters of the attrs class's __init__ as fields, in order."""
    hints = _annotations_of(cls)
    return [
        Field(
            getattr(field, "alias", None) or field.name.lstrip("_"),
            hints.get(field.name, Any),
            # attrs marks a missing default by its object NOTHING. Recognise this object by its type
            # or its repr, so that we need not import attrs.
            type(field.default).__name__ == "_Nothing" or repr(field.default) == "NOTHING",
        )
        for field in cls.__attrs_attrs__
        if field.init
    ]


def _struct_fields(cls: type[Any]) -> list[Field]:
    import msgspec

    return [Field(field.name, field.type, field.required) for field in msgspec.structs.fields(cls)]


def _model_fields(cls: type[Any]) -> list[Field]:
    return [
        Field(_alias_of(name, field), field.annotation, field.is_required())
        for name, field in cls.model_fields.items()
    ]


def _alias_of(name: str, field: _ModelField) -> str:
    alias = getattr(field, "validation_alias", None) or field.alias
    return alias if isinstance(alias, str) else name


def _model_maker(
    cls: type[Any], fields: Sequence[Field], names: Sequence[str]
) -> Callable[[Iterable[Any]], list[Any]]:
    validate = cls.model_validate
    return lambda rows: [validate(dict(zip(names, row, strict=True))) for row in rows]


# The kinds of row classes: dataclasses, named tuples, TypedDicts, and the classes of attrs, msgspec
# and pydantic. The first kind that matches a class is used.
_KINDS = (
    Kind(dataclasses.is_dataclass, _dataclass_fields, _maker_by_call),
    Kind(
        lambda cls: issubclass(cls, tuple) and hasattr(cls, "_fields"),
        _named_tuple_fields,
        _maker_by_call,
    ),
    Kind(typing.is_typeddict, _typed_dict_fields, _dict_maker),
    Kind(lambda cls: hasattr(cls, "__attrs_attrs__"), _attrs_fields, _maker_by_call),
    Kind(lambda cls: hasattr(cls, "__struct_fields__"), _struct_fields, _maker_by_call),
    Kind(
        lambda cls: hasattr(cls, "model_validate") and hasattr(cls, "model_fields"),
        _model_fields,
        _model_maker,
    ),
)


def _class_kind(cls: object) -> Kind:
    """Return the kind of `cls`.

    :raises TypeError: if rows cannot be instances of `cls`.
    """
    if isinstance(cls, type) or typing.is_typeddict(cls):
        for kind in _KINDS:
            if kind.matches(cls):
                return kind
    elif _is_row_class(type(cls)):
        name = type(cls).__name__
        raise TypeError(f"row_type must be a class, but is {cls!r}: write row_type={name}")
    # The class is not supported: suggest what the user probably meant.
    advice = ""
    if cls in (dict, "dict"):
        advice = ": for dicts, write session.row_factory = dict_factory (of cassandra.query)"
    elif cls in (tuple, list, "tuple", "list"):
        advice = ": for tuples, write session.row_factory = tuple_factory (of cassandra.query)"
    elif typing.get_origin(cls) is list and typing.get_args(cls):
        row_class = typing.get_args(cls)[0]
        name = getattr(row_class, "__name__", row_class)
        advice = f": write the class of one row, row_type={name}"
    raise TypeError(
        "row_type must be a dataclass, NamedTuple, TypedDict, attrs class, msgspec struct or "
        f"pydantic model, but is {cls!r}{advice}"
    )


def _is_row_class(cls: object) -> TypeGuard[type[Any]]:
    return (isinstance(cls, type) or typing.is_typeddict(cls)) and any(
        kind.matches(cls) for kind in _KINDS
    )


# -- CQL types and annotations ---------------------------------------------------------------------

# Maps a CQL type to the classes of its decoded values. An annotation needs no conversion if it is
# one of these classes, or a base class of one of these classes. As for type checkers, an int also
# fits an annotation of float.
_SCALARS: dict[str, tuple[type[Any], ...]] = {
    cls.typename: cls._values for cls in SCALARS if cls._values is not None
}
# Maps (CQL type, annotation) to the function that converts a decoded value to the annotated class.
_CONVERSIONS: dict[tuple[str, Any], Convert] = {
    ("date", datetime.date): lambda value: value.date(),
    ("time", datetime.time): lambda value: value.time(),
    ("inet", ipaddress.IPv4Address): ipaddress.IPv4Address,
    ("inet", ipaddress.IPv6Address): ipaddress.IPv6Address,
}
# The annotations that fit a list, set or map.
_ABCS = collections.abc
_COLLECTIONS = (_ABCS.Collection, _ABCS.Iterable, _ABCS.Container, _ABCS.Sized)
_TUPLES = (_ABCS.Sequence, _ABCS.Reversible, *_COLLECTIONS)
_LISTS = (list, _ABCS.MutableSequence, *_TUPLES)
_SETS = (set, frozenset, _ABCS.Set, _ABCS.MutableSet, *_COLLECTIONS)
_MAPS = (dict, _ABCS.Mapping, _ABCS.MutableMapping, *_COLLECTIONS)
_UNIONS = (typing.Union, types.UnionType)  # the origins of ``Optional[X]`` and of ``X | None``


def _mismatch(cql_type: CqlType, annotation: object, column: str, field: str) -> TypeError:
    """Return the error for a column whose type does not fit the field's annotation."""
    class_name = (
        getattr(annotation, "__qualname__", None) if typing.get_origin(annotation) is None else None
    )
    return TypeError(
        f"{column} is of type {cql_type.cql_parameterized_type()}, "
        f"but {field} is annotated {class_name or annotation}"
    )


def _conversion_for(
    cql_type: CqlType, annotation: object, column: str, field: str
) -> Convert | None:
    """Return the conversion from `cql_type` to `annotation`; None if values need no conversion.

    :param column: the description of the column in error messages.
    :param field: the description of the class's field in error messages.
    :raises TypeError: if values of `cql_type` cannot be converted to `annotation`.
    """
    # Do not convert the values that a converter of the application returns.
    if is_converted(cql_type):
        return None
    annotation, allows_none = _unwrap_annotation(annotation)
    if annotation in (Any, object) or isinstance(annotation, typing.TypeVar):
        return None
    if typing.get_origin(annotation) in _UNIONS:
        convert = _conversion_for_union(cql_type, typing.get_args(annotation), column, field)
        # If the union does not contain None, the conversions of its members also get nulls: a
        # server stores an empty collection as null.
        if not allows_none:
            return convert
    else:
        convert = _conversion_for_one(cql_type, annotation, column, field)
    # The values need no conversion. The type is not a list, set or map, because these always have a
    # conversion.
    if convert is None:
        return None
    bare_type = _bare(cql_type)
    # Check for a user-defined type, because its name may be ``list``, ``set`` or ``map``.
    is_collection = not allows_none and not hasattr(bare_type, "mapped_class")
    make_empty = _EMPTY.get(bare_type.typename) if is_collection else None
    if make_empty is not None:
        # Servers store an empty collection as null. If the annotation does not allow None, convert
        # the null back to an empty collection.
        return lambda value: convert(value if value is not None else make_empty())
    return lambda value: None if value is None else convert(value)


# Maps the CQL type of a collection to the function that makes an empty collection.
_EMPTY: dict[str, Callable[[], Any]] = {"list": list, "set": set, "map": dict}


def _bare(cql_type: CqlType) -> CqlType:
    """Return the type without its wrappers ``frozen`` and ``reversed``."""
    while cql_type.typename in ("frozen", "reversed") and not hasattr(cql_type, "mapped_class"):
        cql_type = cql_type.subtypes[0]
    return cql_type


def _unwrap_annotation(annotation: Any) -> tuple[Any, bool]:
    """Return the annotation without its wrappers, and whether it allows None.

    For example, ``Annotated[int | None, ...]`` gives ``(int, True)``. The wrappers are Annotated,
    NewType, Final, Required, NotRequired, InitVar, type aliases, and a union with None.
    """
    allows_none = False
    while True:
        origin = typing.get_origin(annotation)
        if origin in _UNIONS:
            members = [
                argument for argument in typing.get_args(annotation) if argument is not type(None)
            ]
            allows_none = allows_none or len(members) < len(typing.get_args(annotation))
            if len(members) != 1:
                return typing.Union[tuple(members)], allows_none  # noqa: UP007
            annotation = members[0]
        elif origin in (typing.Annotated, typing.Final) or str(origin) in (
            "typing.Required",
            "typing.NotRequired",
            "typing_extensions.Required",
            "typing_extensions.NotRequired",
        ):
            annotation = typing.get_args(annotation)[0]
        elif annotation is typing.Final:  # type checkers take the type of the field's default
            annotation = Any
        elif str(annotation) in ("typing.LiteralString", "typing_extensions.LiteralString"):
            annotation = str
        elif isinstance(annotation, typing.NewType):
            annotation = annotation.__supertype__
        elif isinstance(annotation, dataclasses.InitVar):
            annotation = annotation.type
        elif type(annotation).__name__ == "TypeAliasType":
            annotation = annotation.__value__
        else:
            return annotation, allows_none


def _conversion_for_union(
    cql_type: CqlType, members: Sequence[Any], column: str, field: str
) -> Convert | None:
    """Return the function that converts a value to the first member of a union that it fits.

    Return None if values need no conversion.
    """
    conversions: list[Convert] = []
    last_error: TypeError | None = None
    for member in members:
        try:
            convert = _conversion_for(cql_type, member, column, field)
        except TypeError as error:
            last_error = error
            continue
        if convert is None:
            # Every value fits this member without conversion, so the members after it are never
            # tried. If no member before it needs a conversion, the union needs none either.
            conversions += [_unchanged] if conversions else ()
            break
        conversions.append(convert)
    else:  # no member fits every value without conversion
        if not conversions:
            union: object = typing.Union[tuple(members)]  # noqa: UP007
            raise _mismatch(cql_type, union, column, field) from last_error
    if len(conversions) > 1:
        return partial(_convert_to_first, conversions)
    return conversions[0] if conversions else None


def _convert_to_first(conversions: Sequence[Convert], value: object) -> object:
    """Convert a value to the first member of a union that accepts it.

    :raises _Misfit: if no member accepts the value.
    """
    errors: list[Exception] = []
    for convert in conversions:
        try:
            return convert(value)
        except (TypeError, ValueError) as error:
            errors.append(error)
    raise _Misfit("; ".join(map(str, errors))) from errors[-1]


def _conversion_for_one(
    cql_type: CqlType, annotation: object, column: str, field: str
) -> Convert | None:
    """Return the conversion to an annotation that is not a union; None if none is needed.

    The conversion is not called with None, because `_conversion_for` handles null.
    """
    if hasattr(cql_type, "mapped_class"):  # a user-defined type, which may have any name
        return _conversion_of_udt(cql_type, annotation, column, field)
    name = cql_type.typename
    if name in ("frozen", "reversed"):
        return _conversion_for_one(_bare(cql_type), annotation, column, field)
    origin = typing.get_origin(annotation) or annotation
    arguments = typing.get_args(annotation)
    if origin is typing.Literal:
        if not all(isinstance(argument, _SCALARS.get(name, ())) for argument in arguments):
            return _raise_mismatch(cql_type, annotation, column, field)
        return None
    conversion_of_container = _CONTAINER_CONVERSIONS.get(name)
    if conversion_of_container is not None:
        return conversion_of_container(cql_type, annotation, origin, arguments, column, field)
    if (name, annotation) in _CONVERSIONS:
        return partial(_convert_by, _CONVERSIONS[name, annotation])
    if isinstance(annotation, type) and issubclass(annotation, enum.Enum):
        return partial(_convert_to_member, annotation)
    classes = _SCALARS.get(name)
    if classes is None:
        return None  # a custom type: do not convert the values of its codec
    # `typing.Hashable` is no class, but its origin is one.
    cls = annotation if arguments else origin
    if not isinstance(cls, type) or not _has_subclass(cls, classes):
        return _raise_mismatch(cql_type, annotation, column, field)
    return None


def _has_subclass(cls: type[Any], classes: Iterable[type[Any]]) -> bool:
    """Return True if one of `classes` is a subclass of `cls`.

    Also return True if `cls` is a protocol that can only be checked by a type checker.
    """
    try:
        return any(issubclass(other, cls) for other in classes)
    except TypeError:
        if getattr(cls, "_is_protocol", False):
            return True
        raise


def _convert_by(convert: Convert, value: object) -> object:
    """Convert a value, and replace a ValueError of `convert` by a `_Misfit`."""
    try:
        return convert(value)
    except ValueError as error:
        raise _Misfit(str(error)) from error


def _without_values(convert: Convert, field: str) -> Convert:
    """Return a conversion of an encrypted column, whose errors do not show the values.

    :param field: describes the field, for errors.
    """

    def convert_secret(value: object) -> object:
        try:
            return convert(value)
        except _Misfit:
            raise _Misfit(
                f"this {type(value).__name__} does not fit the {field} (values of encrypted "
                "columns are not shown)"
            ) from None

    return convert_secret


def _convert_to_member(enum_class: type[enum.Enum], value: object) -> enum.Enum:
    """Return the member of an enum whose value is `value`.

    :raises _Misfit: if there is no such member.
    """
    # In the error, list the values of the first members.
    try:
        return enum_class(value)
    except ValueError as error:
        members = ", ".join(
            repr(member.value) for member in itertools.islice(enum_class, _SHOWN_MEMBERS)
        )
        more = ", ..." if len(enum_class) > _SHOWN_MEMBERS else ""
        raise _Misfit(
            f"{value!r} is the value of no member of {enum_class.__qualname__} ({members}{more})"
        ) from error


def _raise_mismatch(
    cql_type: CqlType, annotation: object, column: str, field: str
) -> Convert | None:
    """Raise the error for a column whose type does not fit an annotation.

    The function never returns. It has a return type only so that callers may write ``return
    _raise_mismatch(...)``.
    """
    raise _mismatch(cql_type, annotation, column, field)


def _conversion_of_list(
    cql_type: CqlType, annotation: object, origin: object, arguments: _Args, column: str, field: str
) -> Convert | None:
    """Return the function that converts a decoded list to a list or tuple of converted elements."""
    # A list becomes a tuple only if the annotation is a tuple of any length.
    make: type[Any]
    if origin is tuple and (not arguments or arguments[-1] is ...):
        make = tuple
    elif origin in _LISTS:
        make = list
    else:
        return _raise_mismatch(cql_type, annotation, column, field)
    convert_element = (
        _conversion_for(cql_type.subtypes[0], arguments[0], column, field) if arguments else None
    )
    return make if convert_element is None else partial(_convert_elements, make, convert_element)


def _conversion_of_set(
    cql_type: CqlType, annotation: object, origin: object, arguments: _Args, column: str, field: str
) -> Convert | None:
    """Return the function that converts a decoded set to a set or frozenset."""
    if origin not in _SETS:
        return _raise_mismatch(cql_type, annotation, column, field)
    make_set: Callable[[Any], Any] = frozenset if origin is frozenset else set
    convert_element = (
        _conversion_for(cql_type.subtypes[0], arguments[0], column, field) if arguments else None
    )
    if convert_element is not None:
        make_set = partial(_convert_elements, make_set, convert_element)
    elif origin not in (set, frozenset, _ABCS.MutableSet):
        return _unchanged
    return _refusing_unhashable(make_set, column, field)


def _conversion_of_map(
    cql_type: CqlType, annotation: object, origin: object, arguments: _Args, column: str, field: str
) -> Convert | None:
    """Return the function that converts a decoded map to a dict of converted keys and values."""
    if origin not in _MAPS:
        return _raise_mismatch(cql_type, annotation, column, field)
    convert_key = convert_value = None
    if len(arguments) == 2:
        convert_key = _conversion_for(cql_type.subtypes[0], arguments[0], column, field)
        convert_value = _conversion_for(cql_type.subtypes[1], arguments[1], column, field)
    if convert_key is None and convert_value is None:
        # If the keys are unhashable, the decoder returns another Mapping class instead of a dict.
        # So convert the map if the annotation is dict itself, and not if it is an abstract class.
        if origin not in (dict, _ABCS.MutableMapping):
            return _unchanged
        return _refusing_unhashable(lambda items: dict(items.items()), column, field)
    key_converter, value_converter = convert_key or _unchanged, convert_value or _unchanged
    return _refusing_unhashable(
        lambda items: {key_converter(k): value_converter(v) for k, v in items.items()},
        column,
        field,
    )


def _conversion_of_tuple(
    cql_type: CqlType, annotation: object, origin: object, arguments: _Args, column: str, field: str
) -> Convert | None:
    """Return the function that converts each element of a decoded tuple to its own annotation.

    Return None if no element needs a conversion.
    """
    # The decoder returns a tuple, which also fits the abstract classes in `_TUPLES`.
    if origin is not tuple and origin not in _TUPLES:
        return _raise_mismatch(cql_type, annotation, column, field)
    subtypes = cql_type.subtypes
    # ``tuple`` and ``tuple[int, ...]`` allow any length.
    if not arguments or arguments[-1] is ...:
        arguments = (arguments[0] if arguments else Any,) * len(subtypes)
    if len(arguments) != len(subtypes):
        return _raise_mismatch(cql_type, annotation, column, field)
    conversions = [
        _conversion_for(subtype, argument, column, field)
        for subtype, argument in zip(subtypes, arguments, strict=True)
    ]
    if not any(conversions):
        return None
    item_conversions = [convert or _unchanged for convert in conversions]
    return lambda value: tuple(
        convert(item) for convert, item in zip(item_conversions, value, strict=True)
    )


def _conversion_of_vector(
    cql_type: CqlType, annotation: object, origin: object, arguments: _Args, column: str, field: str
) -> Convert | None:
    """Return the function that converts a vector to a tuple, or the elements of a list.

    Return None if the decoder's values fit without conversion.
    """
    if origin is tuple:
        return _conversion_of_list(cql_type, annotation, origin, arguments, column, field)
    if origin in _LISTS:
        # The setting `vector_type` decides if vectors are lists or arrays. Do not convert arrays:
        # their elements have classes of NumPy, which the annotation may name.
        if not arguments or getattr(arguments[0], "__module__", "") == "numpy":
            return None
        convert_element = _conversion_for(cql_type.subtypes[0], arguments[0], column, field)
        return None if convert_element is None else partial(_convert_vector, convert_element)
    modules = {getattr(cls, "__module__", "") for cls in (annotation, origin)}
    if modules & {"numpy", "array"}:
        return None
    return _raise_mismatch(cql_type, annotation, column, field)


def _conversion_of_udt(
    cql_type: CqlType, annotation: object, column: str, field: str
) -> Convert | None:
    """Return the function that converts a user-defined type to a dict, a tuple or a class.

    Return None if the decoder's values fit without conversion.
    """
    names = list(cql_type.fieldnames)
    if (typing.get_origin(annotation) or annotation) in (dict, _ABCS.Mapping):
        return lambda value: (
            dict(zip(names, value, strict=True)) if isinstance(value, tuple) else dict(value)
        )
    if annotation is tuple:
        return None
    if not _is_row_class(annotation):
        # The decoder returns instances of the class that is registered for the type.
        registered_class = getattr(cql_type, "mapped_class", None)
        if (
            registered_class is not None
            and isinstance(annotation, type)
            and issubclass(registered_class, annotation)
        ):
            return None
        return _raise_mismatch(cql_type, annotation, column, field)
    kind = _class_kind(annotation)
    # Compare the type's fields with the class only once, and not for each value.
    make_rows = _make_row_maker(
        annotation,
        kind,
        kind.fields(annotation),
        list(zip(names, cql_type.subtypes, strict=True)),
        "field",
    )

    is_class = isinstance(annotation, type) and not typing.is_typeddict(annotation)

    def convert(value: object) -> object:
        # If the application registered the class for the type, the decoder has already made an
        # instance.
        if is_class and isinstance(value, annotation):
            return value
        if isinstance(value, Mapping):
            values: Any = [value.get(name) for name in names]
        else:
            values = value if isinstance(value, tuple) else [getattr(value, name) for name in names]
        return make_rows((values,))[0]

    return convert


def _refusing_unhashable(convert: Convert, column: str, field: str) -> Convert:
    """Return `convert` with a clear error for elements or keys that a set or dict cannot have.

    :param convert: makes a set or a dict.
    """

    def convert_or_refuse(value: object) -> object:
        try:
            return convert(value)
        except TypeError as error:
            if "unhashable type" not in str(error):
                raise
            raise TypeError(
                f"{column}: a set or a dict cannot have these elements or keys ({error}): for "
                f"{field}, annotate them as a tuple, a frozenset or a frozen class, or the value "
                "as collections.abc.Set or Mapping"
            ) from None

    return convert_or_refuse


def _convert_elements(
    collect: Callable[[Any], Any], element: Convert, values: Iterable[Any]
) -> object:
    return collect(map(element, values))


def _convert_vector(element: Convert, values: Any) -> object:
    """Convert the elements of a vector that is a list, and return an array as it is."""
    return list(map(element, values)) if isinstance(values, list) else values


def _unchanged(value: _T) -> _T:
    return value


# The function that returns the conversion of values to an annotation, by the name of the CQL type.
_CONTAINER_CONVERSIONS: dict[str, Callable[..., Convert | None]] = {
    "list": _conversion_of_list,
    "set": _conversion_of_set,
    "map": _conversion_of_map,
    "tuple": _conversion_of_tuple,
    "vector": _conversion_of_vector,
}
