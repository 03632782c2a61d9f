"""Columns that annotations alone declare: ``name: Mapped[str]``."""

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
    """Return the columns that the annotations of a class say, beside those that it assigns.

    :param name: the name of the class, for errors.
    :param attrs: its attributes.
    :param error: the class of errors.
    """
    made = {}
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
        (kind,) = typing.get_args(annotation)
        made[attribute] = _column_of(kind, f"{name}.{attribute}", error)
    if made:
        # In the order of the annotations: these columns are made after those that are assigned.
        for attribute in annotations:
            column = made.get(attribute, attrs.get(attribute))
            if isinstance(column, Column):
                column.instance_counter = next(counter)
    return made


def _annotations(attrs: AnyMapping[str, Any]) -> AnyMapping[str, Any]:
    found = attrs.get("__annotations__")
    if found is None and sys.version_info >= (3, 14):
        # Annotations are a function of the class then.
        function = annotationlib.get_annotate_from_class_namespace(attrs)
        if function is not None:
            form = annotationlib.Format.FORWARDREF
            found = annotationlib.call_annotate_function(function, form)
    return found or {}


def _evaluated(
    annotation: str, label: str, attrs: AnyMapping[str, Any], error: type[Exception]
) -> Any:
    module = sys.modules.get(attrs.get("__module__", ""))
    # The module's names win: a column may be called `uuid`.
    names = {"Mapped": Mapped, **attrs, **vars(module or types)}
    try:
        return eval(annotation, names)
    except Exception as fault:
        raise error(
            f"the annotation {annotation!r} of {label} cannot be read here ({fault}): assign the "
            "column too"
        ) from fault


def _column_of(kind: Any, label: str, error: type[Exception]) -> Any:
    """The column of a type; required, unless it is optional or a collection."""
    origin = typing.get_origin(kind)
    if origin is typing.Union or origin is types.UnionType:
        others = [one for one in typing.get_args(kind) if one is not _NONE]
        if len(others) == 1:
            return _made(others[0], label, error)
    return _made(kind, label, error, required=True)


def _made(
    kind: Any,
    label: str,
    error: type[Exception],
    required: bool = False,
) -> Any:
    simple = _SCALARS.get(kind) if isinstance(kind, type) else None
    if simple is not None:
        return simple(required=required)
    origin = typing.get_origin(kind)
    if origin in _COLLECTIONS:
        parts = [_made(one, label, error) for one in typing.get_args(kind)]
        return _COLLECTIONS[origin](*parts)
    if isinstance(kind, type) and hasattr(kind, "type_name") and hasattr(kind, "__fields__"):
        return containers.UserDefinedType(kind, required=required)
    known = ", ".join(sorted(one.__name__ for one in (*_SCALARS, *_COLLECTIONS)))
    raise error(
        f"there is no column for the annotation {kind!r} of {label}: assign one "
        f"(those of {known} and user-defined types are known)"
    )
