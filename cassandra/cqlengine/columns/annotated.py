"""Columns that are declared by an annotation without a value: ``name: Mapped[str]``."""

from __future__ import annotations

import datetime
import decimal
import ipaddress
import re
import sys
import types
import typing
import uuid
from collections.abc import Mapping as AnyMapping
from operator import attrgetter
from typing import Any

from cassandra.cqlengine.columns import containers, scalars, temporal
from cassandra.cqlengine.columns.base import Column, counter
from cassandra.cqlengine.columns.mapped import Mapped

if sys.version_info >= (3, 14):
    import annotationlib

# The column classes for Python classes in annotations.
_SCALARS: dict[type, Any] = {
    str: scalars.Text,
    int: scalars.Integer,
    float: scalars.Double,
    bool: scalars.Boolean,
    bytes: scalars.Blob,
    uuid.UUID: scalars.UUID,
    datetime.datetime: temporal.DateTime,
    datetime.date: temporal.Date,
    datetime.time: temporal.Time,
    decimal.Decimal: scalars.Decimal,
    ipaddress.IPv4Address: scalars.Inet,
    ipaddress.IPv6Address: scalars.Inet,
}
_COLLECTIONS: dict[Any, Any] = {
    list: containers.List,
    set: containers.Set,
    dict: containers.Map,
    tuple: containers.Tuple,
}
# Finds the name `Mapped` in an annotation that is a string.
_MENTIONED = re.compile(r"\bMapped\b")
_NONE = type(None)


def columns_of_annotations(
    name: str, attrs: AnyMapping[str, Any], error: type[Exception]
) -> dict[str, Any]:
    """Return the columns for annotations ``name: Mapped[...]`` without a value, by attribute name.

    :param name: the name of the class, for errors.
    :param attrs: the namespace of the class.
    :param error: the class of the errors to raise.
    """
    columns = {}
    annotations = annotations_of(attrs)
    for attribute, annotation in annotations.items():
        if attribute in attrs:
            continue
        if isinstance(annotation, str):
            # Evaluate only strings that contain "Mapped": other annotations may use names that are
            # imported under TYPE_CHECKING only.
            if not _MENTIONED.search(annotation):
                continue
            annotation = _evaluate_annotation(annotation, f"{name}.{attribute}", attrs, error)
        if typing.get_origin(annotation) is not Mapped:
            continue
        (annotated_type,) = typing.get_args(annotation)
        columns[attribute] = _column_of(annotated_type, f"{name}.{attribute}", error)
    if columns:
        _number_columns(columns, attrs, annotations)
    return columns


def _number_columns(
    columns: AnyMapping[str, Column[Any]],
    attrs: AnyMapping[str, Any],
    annotations: AnyMapping[str, Any],
) -> None:
    """Put new columns between the columns that a class assigns, in the order of the class body.

    Python does not say where an annotation without a value stands among values without an
    annotation. So a new column comes directly before the next annotated column that is assigned, or
    at the end. The columns that the class assigns keep their order: key columns are among them, and
    a table with another order of its key is another table.

    :param columns: the new columns, by attribute name.
    :param attrs: the namespace of the class.
    :param annotations: the annotations of the class, in their order.
    """
    ordered = [column for column in attrs.values() if isinstance(column, Column)]
    ordered.sort(key=attrgetter("instance_counter"))
    index = len(ordered)  # where a new column is inserted
    for attribute in reversed(list(annotations)):
        if attribute in columns:
            ordered.insert(index, columns[attribute])
        elif isinstance(attrs.get(attribute), Column):
            index = ordered.index(attrs[attribute])
    for column in ordered:
        column.instance_counter = next(counter)


def annotations_of(attrs: AnyMapping[str, Any]) -> AnyMapping[str, Any]:
    """Return the annotations in the namespace of a class that is being created.

    :param attrs: the namespace.
    """
    annotations = attrs.get("__annotations__")
    if annotations is None and sys.version_info >= (3, 14):
        # From Python 3.14 on, the namespace has a function that returns the annotations.
        function = annotationlib.get_annotate_from_class_namespace(attrs)
        if function is not None:
            form = annotationlib.Format.FORWARDREF
            annotations = annotationlib.call_annotate_function(function, form)
    return annotations or {}


def _evaluate_annotation(
    annotation: str, label: str, attrs: AnyMapping[str, Any], error: type[Exception]
) -> object:
    """Return the object for an annotation that is a string.

    :param label: the class and the attribute, for the error.
    """
    module = sys.modules.get(attrs.get("__module__", ""))
    # A column may be called `uuid`, like the module that an annotation uses. So in this dict, the
    # module's names replace attributes with the same name.
    module_names = vars(module) if module is not None else {}
    namespace = {"Mapped": Mapped, **attrs, **module_names}
    try:
        # `eval` is safe here, because the annotation is code of the application.
        return eval(annotation, namespace)
    except Exception as failure:
        # The annotation is not evaluated if the class also assigns a column to the attribute, for
        # example with ``total: Mapped[Money] = columns.Decimal()``.
        raise error(
            f"the annotation {annotation!r} of {label} cannot be read here ({failure}): assign the "
            "column too"
        ) from failure


def _column_of(annotated_type: Any, label: str, error: type[Exception]) -> Column[Any]:
    """Return a column for an annotated type.

    The column is required, unless the type is optional (``str | None``) or a collection.
    """
    origin = typing.get_origin(annotated_type)
    if origin is typing.Union or origin is types.UnionType:
        other_types = [
            argument for argument in typing.get_args(annotated_type) if argument is not _NONE
        ]
        # If several types besides None remain, no column fits, and the last line raises an error.
        if len(other_types) == 1:
            return _build_column(other_types[0], label, error)
    return _build_column(annotated_type, label, error, required=True)


def _build_column(
    annotated_type: Any,
    label: str,
    error: type[Exception],
    required: bool = False,
) -> Column[Any]:
    """Return a column for a type that is not optional."""
    scalar_column = _SCALARS.get(annotated_type) if isinstance(annotated_type, type) else None
    if scalar_column is not None:
        column: Column[Any] = scalar_column(required=required)
        return column
    # For a collection such as list[int], build the columns of its elements first.
    origin = typing.get_origin(annotated_type)
    if origin in _COLLECTIONS:
        elements = [
            _build_column(argument, label, error) for argument in typing.get_args(annotated_type)
        ]
        collection: Column[Any] = _COLLECTIONS[origin](*elements)
        return collection
    if containers.is_user_type(annotated_type):
        return containers.UserDefinedType(annotated_type, required=required)
    supported = ", ".join(sorted(cls.__name__ for cls in (*_SCALARS, *_COLLECTIONS)))
    raise error(
        f"there is no column for the annotation {annotated_type!r} of {label}: assign one "
        f"(those of {supported} and user-defined types are known)"
    )
