"""Columns that are declared by annotations alone: ``name: Mapped[str]``."""

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
from typing import Any

from cassandra.cqlengine.columns import containers, scalars, temporal
from cassandra.cqlengine.columns.base import Column, counter
from cassandra.cqlengine.columns.mapped import Mapped

if sys.version_info >= (3, 14):
    import annotationlib

__all__ = ["columns_of_annotations"]

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
_MENTIONED = re.compile(r"\bMapped\b")
_NONE = type(None)


def columns_of_annotations(
    name: str, attrs: AnyMapping[str, Any], error: type[Exception]
) -> dict[str, Any]:
    """Return the columns that the annotations of a class declare and no attribute assigns.

    :param name: the name of the class, for errors.
    :param attrs: the attributes of the class.
    :param error: the class of the errors to raise.
    """
    columns = {}
    annotations = _annotations(attrs)
    for attribute, annotation in annotations.items():
        if attribute in attrs:
            continue
        if isinstance(annotation, str):
            if not _MENTIONED.search(annotation):
                continue
            annotation = _evaluated(annotation, f"{name}.{attribute}", attrs, error)
        if typing.get_origin(annotation) is not Mapped:
            continue
        (annotated_type,) = typing.get_args(annotation)
        columns[attribute] = _column_of(annotated_type, f"{name}.{attribute}", error)
    if columns:
        # Number all columns in the order of the annotations: these columns were created after the
        # assigned columns.
        for attribute in annotations:
            column = columns.get(attribute, attrs.get(attribute))
            if isinstance(column, Column):
                column.instance_counter = next(counter)
    return columns


def _annotations(attrs: AnyMapping[str, Any]) -> AnyMapping[str, Any]:
    annotations = attrs.get("__annotations__")
    if annotations is None and sys.version_info >= (3, 14):
        # On Python 3.14 and later, the annotations of a class are a function.
        function = annotationlib.get_annotate_from_class_namespace(attrs)
        if function is not None:
            form = annotationlib.Format.FORWARDREF
            annotations = annotationlib.call_annotate_function(function, form)
    return annotations or {}


def _evaluated(
    annotation: str, label: str, attrs: AnyMapping[str, Any], error: type[Exception]
) -> Any:
    module = sys.modules.get(attrs.get("__module__", ""))
    # The module's names have precedence: a column may be called `uuid`.
    names = {"Mapped": Mapped, **attrs, **vars(module or types)}
    try:
        return eval(annotation, names)
    except Exception as fault:
        raise error(
            f"the annotation {annotation!r} of {label} cannot be read here ({fault}): assign the "
            "column too"
        ) from fault


def _column_of(annotated_type: Any, label: str, error: type[Exception]) -> Any:
    """Return the column of a type; it is required, unless the type is optional or a collection."""
    origin = typing.get_origin(annotated_type)
    if origin is typing.Union or origin is types.UnionType:
        others = [argument for argument in typing.get_args(annotated_type) if argument is not _NONE]
        if len(others) == 1:
            return _build_column(others[0], label, error)
    return _build_column(annotated_type, label, error, required=True)


def _build_column(
    annotated_type: Any,
    label: str,
    error: type[Exception],
    required: bool = False,
) -> Any:
    simple = _SCALARS.get(annotated_type) if isinstance(annotated_type, type) else None
    if simple is not None:
        return simple(required=required)
    origin = typing.get_origin(annotated_type)
    if origin in _COLLECTIONS:
        parts = [
            _build_column(argument, label, error) for argument in typing.get_args(annotated_type)
        ]
        return _COLLECTIONS[origin](*parts)
    if (
        isinstance(annotated_type, type)
        and hasattr(annotated_type, "type_name")
        and hasattr(annotated_type, "__fields__")
    ):
        return containers.UserDefinedType(annotated_type, required=required)
    supported = ", ".join(sorted(cls.__name__ for cls in (*_SCALARS, *_COLLECTIONS)))
    raise error(
        f"there is no column for the annotation {annotated_type!r} of {label}: assign one "
        f"(those of {supported} and user-defined types are known)"
    )
