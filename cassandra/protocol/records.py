"""Finds the values for a statement's bind markers in a mapping or object, by the markers' names.

Both implementations of `BindPlan` (Python and compiled) use this module.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence, Set
from functools import lru_cache
from typing import Any, NoReturn

from cassandra._bounded import Bounded, text_size
from cassandra._habits import is_table, refuse_table
from cassandra._imports import import_module
from cassandra._later_warnings import warn
from cassandra._logs import Log
from cassandra._misspelt import letters_of, nearest
from cassandra.cqltypes.aliases import attributes_by_alias
from cassandra.cqltypes.failures import EncodeTypeError, EncodeValueError, locate
from cassandra.errors import MissingParameter, UnsetUnsupported
from cassandra.sentinels import UNSET_VALUE

# The exact classes whose first argument is the message, which `locate_row` may change.
_CHANGEABLE_ERRORS = frozenset({TypeError, ValueError, MissingParameter, UnsetUnsupported})
# An instance of a class from these modules is a single value, never a row. So if an application
# passes, for example, a UUID instead of a row, an error is raised.
_SCALAR_MODULES = frozenset({"builtins", "datetime", "decimal", "uuid", "ipaddress"})
_ABSENT = object()  # stands for an attribute that a row lacks
# How grave it is that a mapping has keys that no marker has.
_HARMLESS = 1  # all markers have values
_MARKER_WITHOUT_VALUE = 2
_MISSPELT = 3  # a key has the same letters as a marker without a value
# The bind markers of a statement and the gravity of a case of which users were told. If there are
# too many, all are forgotten: a repeated warning is better than a dict that grows for ever.
_told: Bounded[tuple[tuple[str, ...], int], bool] = Bounded(1000, 1 << 20)
# The bind markers of a statement, and keys of a mapping that were compared with them.
_examined: Bounded[tuple[tuple[str, ...], tuple[Any, ...]], bool] = Bounded(1000, 1 << 20)
# The maximum length of a value, in characters, in the advice for a single value.
_MAX_SHOWN = 60

log = Log("cassandra.query")


@lru_cache(maxsize=256)
def declared_fields(cls: type[Any]) -> tuple[str, ...] | None:
    """Return the field names of a dataclass or an attrs class; None for other classes."""
    fields: Any = getattr(cls, "__dataclass_fields__", None)
    if fields is not None:
        # Unlike __dataclass_fields__, dataclasses.fields() leaves out pseudo-fields (ClassVar,
        # InitVar). Take the module from sys.modules: since there is a dataclass, it is already
        # imported, and applications without dataclasses never import it.
        return tuple(field.name for field in sys.modules["dataclasses"].fields(cls))
    fields = getattr(cls, "__attrs_attrs__", None)
    return None if fields is None else tuple(field.name for field in fields)


def is_record(values: object) -> bool:
    """Return True if `values` may be an object whose attributes are the values of a row.

    False means that `values` is a sequence or mapping of values, or a single value.
    """
    cls: Any = type(values)
    if declared_fields(cls) is not None:
        return True
    # Exclude sequences and mappings, which have a length. Exclude classes, which are only passed by
    # mistake.
    return (
        not hasattr(cls, "__len__")
        and cls.__module__ not in _SCALAR_MODULES
        and not isinstance(values, type)
    )


def is_lone_text(values: object, marker_count: int) -> bool:
    """Return True if `values` is a string of one character and the statement has one bind marker.

    cassandra-driver accepts such a string as a sequence of one value, so we do, too. A longer
    string is an error: each of its characters would be bound to a marker.
    """
    return marker_count == 1 and isinstance(values, str) and len(values) == 1


def _value_by_name(row: Mapping[str, Any], name: str) -> object:
    """Return the value of `name` in a mapping; UNSET_VALUE if the mapping lacks the name."""
    try:
        # Do not use get(): it would not call `__missing__`, with which a defaultdict makes values.
        return row[name]
    except KeyError:
        return UNSET_VALUE


def values_of(
    row: object,
    names: Sequence[str],
    version: int,
    key: Sequence[int] | None = None,
    strict: bool = False,
) -> tuple[Any, ...]:
    """Return the values of `row` for the bind markers, in the order of the markers.

    `row` may be:

    - a mapping: values are found by the names of the markers. Other keys are ignored unless
      `strict` is True.
    - an instance of a dataclass or attrs class: values are found by field name. A field without a
      marker is an error.
    - a sequence or other iterable: values are in the order of the markers.
    - another object: values are the attributes with the names of the markers.

    If a field of an attrs or pydantic class has an alias, the marker may have the alias as its
    name. A value that is missing becomes UNSET_VALUE.

    :param row: the row to bind.
    :param names: the names of the bind markers.
    :param version: the protocol version. Before version 4, no value may be missing.
    :param key: the positions of the partition key's markers, whose values must not be missing.
    :param strict: True refuses a mapping with a name that has no marker.
    :raises ValueError: for a name without a marker, or a key column without a value.
    :raises KeyError: if a value is missing before version 4.
    :raises TypeError: if `row` is something else, or a set with several items.
    """
    cls: Any = type(row)
    # A string is iterable, but it is no row: each character would be bound to a marker.
    if isinstance(row, (str, bytes, bytearray)):
        if is_lone_text(row, len(names)):
            return (row,)
        _refuse(row, names)
    fields = declared_fields(cls)
    if fields is not None:
        values = _values_of_fields(row, fields, names)
    elif isinstance(row, Mapping):
        if strict:
            check_names(row, names, "values for", "")
        values = [_value_by_name(row, name) for name in names]
        if not strict and len(row) != len(values):
            warn_of_unknown_names(row, names)
    elif is_table(row):
        refuse_table(row)
    elif is_record(row):
        aliases = attributes_by_alias(cls)
        attributes = [aliases.get(name, name) for name in names] if aliases else names
        values = [getattr(row, name, _ABSENT) for name in attributes]
        # If the object has none of the attributes, it may be an iterator of values. Otherwise it
        # was passed by mistake.
        if all(value is _ABSENT for value in values):
            if isinstance(row, Iterable):
                return _values_in_order(row, names)
            _refuse(row, names, f"; it has none of the attributes {', '.join(names)}")
        values = [UNSET_VALUE if value is _ABSENT else value for value in values]
    elif isinstance(row, Iterable):
        return _values_in_order(row, names)
    else:
        _refuse(row, names)
    # A missing value may be an error: see `refuse_missing`. A likely cause is a misspelt key of a
    # mapping, so log a warning first.
    for index, value in enumerate(values):
        if value is UNSET_VALUE:
            if isinstance(row, Mapping) and not strict:
                warn_of_unknown_names(row, names)
            supplied = row if isinstance(row, Mapping) else ()
            refuse_missing(names, index, key, version, supplied)
    return tuple(values)


def names_for(row: object, names: Sequence[str], usual_names: Sequence[str]) -> list[str]:
    """Return the names by which a row has the values of the bind markers, in their order.

    A program that was written for Cassandra 5 calls some markers otherwise than Cassandra 6.

    :param row: a mapping, or an object with attributes.
    :param names: the names that the server gives to the markers.
    :param usual_names: the names that Cassandra 5 gives to them, which the row may have instead.
    """

    def has(name: str) -> bool:
        return name in row if isinstance(row, Mapping) else hasattr(row, name)

    return [
        usual if name != usual and not has(name) and has(usual) else name
        for name, usual in zip(names, usual_names, strict=True)
    ]


def _values_in_order(row: Iterable[Any], names: Sequence[str]) -> tuple[Any, ...]:
    """Return the values of an iterable; raise TypeError for a set, because it has no order.

    Warn of a named tuple or a pandas Series whose names have another order than the markers.
    """
    if isinstance(row, Set) and len(row) > 1:
        raise TypeError(
            f"values are the {type(row).__name__} {row!r}, which has no order: write a tuple, or a "
            "mapping of values by name"
        )
    labels, conversion = _labels_of(row)
    # Only warn if each name belongs to a marker. Other names may be aliases, so we cannot tell what
    # the user means.
    if labels != tuple(names[: len(labels)]) and set(labels) <= set(names):
        warn(
            f"the values of a {type(row).__name__} are bound by position, and its names "
            f"{', '.join(labels)} are in another order than the bind markers {', '.join(names)}: "
            f"write {conversion} to bind them by name"
        )
    return tuple(row)


def _labels_of(row: Any) -> tuple[tuple[str, ...], str]:
    """Return the names of the values of a named tuple or pandas Series, and how to convert the row.

    :returns: (names, the expression that converts the row to a mapping); the names are () for other
        rows.
    """
    fields = getattr(type(row), "_fields", ())
    if isinstance(fields, tuple) and fields:
        return fields, "row._asdict()"
    # This is a pandas Series. NumPy arrays and polars columns lack at least one of the two
    # attributes.
    if hasattr(row, "iloc") and hasattr(row, "to_dict"):
        labels = tuple(row.index)
        if all(isinstance(label, str) for label in labels):
            return labels, "series.to_dict()"
    return (), ""


def warn_of_unknown_names(row: Mapping[Any, Any], names: Sequence[str]) -> None:
    """Warn if a key of `row` has the same letters as a marker without a value: see `_spelling`.

    Other keys without a marker are only logged. Each statement gets at most one warning and two
    messages in the log: one for keys beside values for all markers, which are usually harmless, and
    one if a marker has no value. As in cassandra-driver, the values of these keys are ignored.
    """
    markers = tuple(names)
    # The rows of a statement usually have the same keys, and this is called for each row.
    keys = (markers, tuple(row))
    if _examined.get(keys) or _told.get((markers, _MISSPELT)):
        return
    _examined.keep(keys, True, text_size(keys))
    unknown = [key for key in row if key not in markers]
    if not unknown:
        return
    without_value = [marker for marker in markers if marker not in row]
    gravity = _MARKER_WITHOUT_VALUE if without_value else _HARMLESS
    by_spelling = {_spelling(marker): marker for marker in without_value}
    misspelt = [
        (key, by_spelling[spelling])
        for key in unknown
        if (spelling := _spelling(str(key))) in by_spelling
    ]
    if misspelt:
        gravity = _MISSPELT
    # A harmless case must not silence a later one that loses a value.
    case = (markers, gravity)
    if _told.get(case):
        return
    _told.keep(case, True, text_size(markers))
    if not misspelt:
        # Suggest the name of a marker that is similar.
        near = import_module("difflib").get_close_matches(str(unknown[0]), markers, 1)
        misspelt = [(unknown[0], marker) for marker in near]
    message = (
        f"a mapping has values for {', '.join(map(repr, unknown[:5]))}"
        f"{', ...' if len(unknown) > 5 else ''}, but the bind markers of its statement are "
        f"{', '.join(markers) or 'none'}: they are not used"
    )
    if misspelt:
        message += ". Did you mean {1!r} by {0!r}?".format(*misspelt[0])
    # A misspelt name is probably a mistake, so raise a Python warning. Otherwise only log it.
    if gravity == _MISSPELT:
        warn(message)
    else:
        log.warning(message)


def _spelling(name: str) -> tuple[str, str]:
    """Return an object that is equal for names of which one was certainly meant to be the other.

    Such names have the same letters. The case and the order of the letters, and underscores, do not
    count: userId is a misspelt user_id. Names that are only similar may belong to another
    statement, such as created_at and created_to. So may names with different numbers, such as
    address1 and address2.
    """
    return "".join(filter(str.isdigit, name)), letters_of(name)


def _values_of_fields(row: object, fields: Sequence[str], names: Sequence[str]) -> list[Any]:
    """Return the values of a dataclass or attrs instance, in the order of the markers `names`."""
    cls: Any = type(row)
    aliases = attributes_by_alias(cls)
    # If a marker has the alias of a field as its name, the field is used. So do not require a
    # marker for the field's own name.
    if aliases:
        attribute_names = {aliases.get(name, name) for name in names}
        fields = tuple(name for name in fields if name not in attribute_names or name in names)
    check_names(fields, names, f"{cls.__name__} has the field", "s")
    attributes = [aliases.get(name, name) for name in names] if aliases else names
    return [getattr(row, name, UNSET_VALUE) for name in attributes]


def check_names(supplied: Iterable[str], names: Sequence[str], what: str, plural: str) -> None:
    """Raise ValueError if a name in `supplied` has no marker.

    :param supplied: the names of the values.
    :param names: the names of the markers.
    :param what: the beginning of the error message.
    :param plural: what to append to `what` if several names have no marker.
    """
    unknown = [name for name in supplied if name not in names]
    if unknown:
        refuse_unknown(unknown, names, what + plural * (len(unknown) > 1))


def refuse_unknown(
    unknown: Sequence[Any], names: Sequence[str], what: str = "values for"
) -> NoReturn:
    """Raise a ValueError that lists the names without a marker, and all markers."""
    raise ValueError(
        f"{what} {', '.join(map(repr, unknown))}, but the bind markers are "
        f"{', '.join(names) or 'none'}"
    )


def refuse_missing(
    names: Sequence[str],
    index: int,
    key: Sequence[int] | None,
    version: int,
    supplied: Iterable[Any] = (),
) -> None:
    """Raise MissingParameter if the marker at `index`, which has no value, requires a value.

    Markers of the partition key require a value. Before protocol version 4, all markers require a
    value.

    :param supplied: the names of the values that were passed, from which the error message
        suggests a similar name.
    """
    if key and index in key:
        raise MissingParameter(
            f"the partition key needs a value for {names[index]!r}"
            + _misspelt_note(names[index], supplied, names)
        )
    if version < 4:
        raise MissingParameter(
            f"no value for column {names[index]!r}, which protocol version {version} cannot leave "
            f"unset{_misspelt_note(names[index], supplied, names)}"
        )


def _misspelt_note(name: str, supplied: Iterable[Any], names: Sequence[str]) -> str:
    """Return a note for an error message about a marker without a value.

    The note lists the names in `supplied` that have no marker, or the name that probably is a
    misspelt `name`. "" if all names have a marker.
    """
    unknown = {key.lower(): key for key in supplied if isinstance(key, str) and key not in names}
    similar_name = nearest(name.lower(), unknown)
    if similar_name is not None:
        return f"; there is a value for {unknown[similar_name]!r}: did you mean {name!r}?"
    if unknown:
        return f"; there are values for {', '.join(map(repr, list(unknown.values())[:5]))}"
    return ""


def _refuse(row: object, names: Sequence[str], why: str = "") -> NoReturn:
    if hasattr(row, "prepared_statement"):
        why = ": a bound statement has its values already, write session.execute(bound)"
    elif not why and len(names) == 1:
        value = repr(row)
        why = f"; write ({value if len(value) <= _MAX_SHOWN else 'value'},)"
    # The class EncodeTypeError is also a ValueError, as cassandra-driver raises ValueError if a
    # string is passed in place of a sequence of values.
    raise EncodeTypeError(
        f"values are {row!r} ({type(row).__name__}); they have to be a sequence, "
        f"one for each bind marker, (value,) for a single one, a mapping or an object{why}"
    )


def locate_row(error: Exception, index: int) -> None:
    """Put the row's number before the message of `error`. The caller must raise `error` again."""
    # `locate` changes the message of encoding errors. It only adds a note to errors of other
    # classes, for example the application's, because their arguments may have any meaning.
    if (
        isinstance(error, (EncodeTypeError, EncodeValueError))
        or type(error) not in _CHANGEABLE_ERRORS
    ):
        locate(error, f"row {index}")
    else:
        error.args = (f"row {index}: {error.args[0] if error.args else ''}", *error.args[1:])
