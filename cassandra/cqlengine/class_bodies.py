"""Warnings and advice for mistakes in the bodies of models and user-defined types.

Python accepts any attribute in a class, so without these warnings such mistakes would stay silent:
the table would have another name, or lack a column.
"""

from __future__ import annotations

import logging
import re
import uuid
import warnings
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

from cassandra._habits import stack_level
from cassandra._misspelt import ALIKE, nearest
from cassandra.cqlengine.columns.annotated import annotations_of
from cassandra.cqlengine.columns.base import Column
from cassandra.cqlengine.columns.containers import is_user_type

log = logging.getLogger("cassandra.cqlengine.models")


def _warn(message: str) -> None:
    """Issue a RuntimeWarning whose location is the application's class statement."""
    warnings.warn(message, RuntimeWarning, stacklevel=stack_level())


# -- keys ------------------------------------------------------------------------------------------


def missing_key_advice(attrs: Mapping[str, Any]) -> str:
    """Return advice for the error about a model without a primary key; "" if we have no advice.

    A frequent mistake is ``id = columns.Integer``: that is the class, not a column, because the
    parentheses are missing.

    :param attrs: the namespace of the class.
    """
    # `id = columns.Integer`: the parentheses that would create a column are missing.
    for name, value in attrs.items():
        if isinstance(value, type) and not name.startswith("_"):
            call = f"columns.{value.__name__}" if issubclass(value, Column) else "columns.Integer"
            return (
                f" {name} is the class {value.__name__}, not a column: "
                f"write {name} = {call}(primary_key=True)"
            )
    # There are columns, but no column has primary_key=True.
    columns = [name for name, value in attrs.items() if isinstance(value, Column)]
    if columns:
        return (
            f" Write primary_key=True in the columns of the key, for example {columns[0]} = "
            f"columns.{type(attrs[columns[0]]).__name__}(primary_key=True)"
        )
    # The class has only annotations (``id: int``), as a dataclass has.
    for name in annotations_of(attrs):
        if not name.startswith("_") and name not in attrs:
            return (
                f" {name} has only an annotation: write {name} = columns.Integer(primary_key=True)"
            )
    return ""


# -- settings --------------------------------------------------------------------------------------

# Settings of a model that users may misspell. If the name of an attribute is similar to a key of
# this dict, `warn_of_settings` suggests the attribute that is the key's value.
_SETTINGS = {
    "abstract": "__abstract__",
    "connection": "__connection__",
    "discriminator_value": "__discriminator_value__",
    "idempotent": "__idempotent__",
    "keyspace": "__keyspace__",
    "options": "__options__",
    "table_name": "__table_name__",
}
# The names with underscores that the mapper reads. They are correct, so do not warn about them.
_KNOWN_ATTRIBUTES = frozenset(
    (
        *_SETTINGS.values(),
        "__compute_routing_key__",
        "__consistency__",
        "__default_ttl__",
        "__table_name_case_sensitive__",
    )
)


def warn_of_settings(name: str, attrs: Mapping[str, Any]) -> None:
    """Warn about each class attribute that is probably a misspelt setting.

    A private attribute such as ``__keyspace`` may belong to the application, so the message about
    it is only logged.

    :param name: the name of the class.
    :param attrs: the namespace of the class.
    """
    # Python mangles the name `__keyspace` in a class body to `_Class__keyspace`.
    prefix = f"_{name.lstrip('_')}__"
    for attribute, value in attrs.items():
        if (
            not attribute.startswith(("__", prefix))
            or attribute in _KNOWN_ATTRIBUTES
            or callable(value)
        ):
            continue
        bare_name = attribute.removeprefix(prefix).strip("_")
        # Check for `__table__`, which SQLAlchemy uses, separately: `nearest` does not find it
        # similar enough to `__table_name__`.
        similar = (
            "table_name" if bare_name == "table" else nearest(bare_name, _SETTINGS, alike=ALIKE)
        )
        if similar is None:
            continue
        message = (
            f"{name}: {attribute.replace(prefix, '__', 1)} is not a setting and is not read: write "
            f"{_SETTINGS[similar]}"
        )
        if attribute.endswith("__"):
            _warn(message)
        else:
            log.warning(message)


# Advice that several attributes in `_META` share.
_TTL = '__options__ = {{"default_time_to_live": {}}} in the model'
_KEY = "primary_key=True in the columns of the key, the partition key first"
# What to write in a model instead of a setting in `class Meta`, which Django's models have. The
# setting's value replaces the braces.
_META = {
    "abstract": "__abstract__ = {} in the model",
    "connection": "__connection__ = {} in the model",
    "constraints": _KEY,
    "db_table": "__table_name__ = {} in the model",
    "default_time_to_live": _TTL,
    "default_ttl": _TTL,
    "indexes": "index=True in the columns",
    "keyspace": "__keyspace__ = {} in the model",
    "options": "__options__ = {} in the model",
    "ordering": "clustering_order='DESC' in a column that has primary_key=True",
    "primary_key": _KEY,
    "table": "__table_name__ = {} in the model",
    "table_name": "__table_name__ = {} in the model",
    "tablename": "__table_name__ = {} in the model",
    "ttl": _TTL,
    "unique_together": _KEY,
}


def warn_of_meta(name: str, attrs: Mapping[str, Any], bases: Sequence[type]) -> None:
    """Warn about settings in a ``class Meta``. Django's models use such a class; ours do not.

    Do nothing if a base class defines ``__init_subclass__`` or a `Meta`: code of the application
    may then read the `Meta` of this class.

    :param name: the name of the class.
    :param attrs: the namespace of the class.
    :param bases: the bases of the class.
    """
    meta = attrs.get("Meta")
    if not isinstance(meta, type):
        return
    # A base class that defines one of these may read `Meta` itself.
    for base in bases:
        if hasattr(base, "Meta") or any(
            "__init_subclass__" in vars(cls)
            for cls in base.__mro__
            if cls.__module__ not in ("builtins", "typing")
        ):
            return
    advice = [
        _META[attribute].format(repr(value))
        for attribute, value in vars(meta).items()
        if attribute in _META
    ]
    if advice:
        _warn(f"{name}: class Meta is not read: write {'; '.join(dict.fromkeys(advice))}")


# -- columns ---------------------------------------------------------------------------------------

# An attribute whose name matches, such as `row_type` or `Factory`, may hold a class on purpose.
# `warn_of_missing_columns` does not warn about such an attribute.
_FOR_CLASSES = re.compile(r"column|type|class|cls|field|factory|[A-Z]", re.ASCII)
# Matches a column class in an annotation that is a string, such as "columns.Text()", but not the
# annotation "columns.Mapped[...]".
_COLUMN_ANNOTATION = re.compile(
    r"(?:\w+\.)*(columns\.(?!Mapped)[A-Z]\w*)\s*(?:\(.*\))?\s*", re.DOTALL
)


def warn_of_missing_columns(
    name: str, attrs: Mapping[str, Any], bases: Sequence[type], columns: Mapping[str, Column[Any]]
) -> None:
    """Warn about attributes that are probably meant to be columns, but are not.

    Such an attribute is a column class (without parentheses), a user-defined type, a column with a
    comma behind it, or an annotation without a column.

    :param name: the name of the class.
    :param attrs: the namespace of the class.
    :param bases: the bases of the class.
    :param columns: the columns of the class and of its bases, by name.
    """
    for attribute, value in attrs.items():
        if attribute.startswith("_") or _FOR_CLASSES.search(attribute):
            continue
        label = f"{name}.{attribute}"
        if type(value) is tuple and len(value) == 1 and isinstance(value[0], Column):
            _warn(
                f"{label} is a tuple and not a column, because of a comma: write {attribute} = "
                f"columns.{type(value[0]).__name__}(...) without a comma behind it"
            )
        elif isinstance(value, type) and issubclass(value, Column):
            _warn(
                f"{label} is the class {value.__name__}, not a column: write {attribute} = "
                f"columns.{value.__name__}()"
            )
        elif is_user_type(user_type := value if isinstance(value, type) else type(value)):
            # An instance of the type with at least one value set is probably a constant of the
            # application, such as a default. Do not warn about it.
            if value is not user_type and any(
                field is not None for field in value._values.values()
            ):
                continue
            _warn(
                f"{label} is not a column: write {attribute} = "
                f"columns.UserDefinedType({user_type.__name__})"
            )
    # An abstract class may annotate the columns of its subclasses for type checkers, so do not
    # warn about its annotations.
    if attrs.get("__abstract__"):
        return
    for attribute, annotation in annotations_of(attrs).items():
        column_class = _annotated_class(annotation)
        if (
            column_class is not None
            and attribute not in attrs
            and attribute not in columns
            and not any(hasattr(base, attribute) for base in bases)
        ):
            _warn(
                f"{name}.{attribute} has only an annotation, and is not a column: write "
                f"{attribute} = {column_class}()"
            )


def _annotated_class(annotation: object) -> str | None:
    """Return the column class that an annotation names, such as "columns.Text"; otherwise None."""
    if isinstance(annotation, str):
        match = _COLUMN_ANNOTATION.fullmatch(annotation)
        return match[1] if match else None
    cls = annotation if isinstance(annotation, type) else type(annotation)
    return f"columns.{cls.__name__}" if issubclass(cls, Column) else None


def warn_of_constant_defaults(
    name: str, columns: Mapping[str, Column[Any]], parents: Sequence[Any]
) -> None:
    """Warn about each column whose default was probably meant to be a function.

    Such a default is a UUID in a key column, or a datetime that was the current time when the class
    was created. All new rows would get the same value.

    :param name: the name of the model.
    :param columns: the columns of the model by name.
    :param parents: the models among the bases of the class. Their columns were checked before.
    """
    inherited = {column for parent in parents for column in parent.__mapping__.columns}
    for column_name, column in columns.items():
        default = column.default
        if column_name in inherited:
            continue
        if column.primary_key and isinstance(default, uuid.UUID):
            cure = f"uuid.uuid{1 if default.version == 1 else 4}"
        elif isinstance(default, datetime) and _is_now(default):
            cure = "lambda: datetime.now(timezone.utc)"
        else:
            continue
        _warn(f"{name}.{column_name}: this default is one value for all rows: write default={cure}")


def _is_now(moment: datetime) -> bool:
    """Return True if `moment` is at most 10 seconds from now.

    A naive datetime is compared with the time in UTC and with the local time.
    """
    if moment != moment:  # pandas' NaT, which is a datetime
        return False
    utc = datetime.now(timezone.utc)
    if moment.utcoffset() is not None:
        candidates = [utc]
    else:
        candidates = [utc.replace(tzinfo=None), datetime.now()]
    return any(abs(now - moment) < _PRESENT for now in candidates)


# A default this close to the present was computed when the model was created. It was probably meant
# to be computed for each row.
_PRESENT = timedelta(seconds=10)
