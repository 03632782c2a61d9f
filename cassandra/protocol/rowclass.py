"""Makes the named tuple class for rows, once for each list of column names."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Sequence
from keyword import iskeyword
from typing import Any

import cassandra._impl as implementations
from cassandra._bounded import Bounded, text_size
from cassandra._habits import ROW, Habit, names_of
from cassandra._patterns import pattern

# Making a class takes about 40 us, so classes are cached. When the cache reaches its limit, it is
# emptied, because an application may use new column names again and again.
# `_CLASS_BYTES` and `_FIELD_BYTES` estimate the memory of a class and of each of its fields.
_CLASS_BYTES = 4000
_FIELD_BYTES = 400
_classes: Bounded[tuple[str, ...], type[Any]] = Bounded(1024, 1 << 25)
# Returns the cached class for a tuple of names, or None.
known_row_class = _classes.get

# For attribute names that rows of other libraries have, such as ``keys``: objects that raise an
# AttributeError with advice.
_ROW_HABITS = {name: Habit(name, advice) for name, advice in ROW.items()}

# The characters that `clean_column_name` removes at the beginning and end, or replaces in between.
_LEADING = pattern(r"^[^a-zA-Z0-9]+")
_TRAILING = pattern(r"[^a-zA-Z0-9_]+$")
_INNER = pattern(r"[^a-zA-Z0-9_]")


def clean_column_name(name: str) -> str:
    """Turn a column's name into an attribute name, for example ``count(*)`` into ``count``.

    At both ends, characters other than ASCII letters, digits and underscores are removed, and in
    between, they become underscores. Underscores at the beginning are also removed. The result may
    be "".
    """
    # A fast path for most names: an ASCII identifier without a leading underscore does not change.
    if name.isidentifier() and name[0] != "_" and name.isascii():
        return name
    return _INNER.sub("_", _TRAILING.sub("", _LEADING.sub("", name)))


def field_names(names: Sequence[str]) -> list[str]:
    """Return a unique attribute name for each column: see `row_class`."""
    fields = []
    # For each repeated name, the number of underscores that its last field needed. Without it, a
    # name that is repeated many times would take quadratic time.
    underscores: dict[str, int] = {}
    used_names = set()
    for index, name in enumerate(names):
        base = clean_column_name(name)
        if not base.isidentifier() or iskeyword(base):
            base = f"field_{index}_"
        field = base + "_" * underscores.get(base, 0)
        while field in used_names:
            underscores[base] = underscores.get(base, 0) + 1
            field = base + "_" * underscores[base]
        used_names.add(field)
        fields.append(field)
    return fields


def row_of(names: tuple[str, ...], values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a row with these columns and values. Unpickling a row calls this function."""
    row: tuple[Any, ...] = row_class(names)._make(values)
    return row


def _raise_missing(row: Any, name: str) -> None:
    """Raise the error for an attribute that a row lacks; the message has the row's columns.

    Return for a name in `_ROW_HABITS`, whose own error has advice.
    """
    if name not in _ROW_HABITS:
        letters = name.replace("_", "").lower()
        similar = [field for field in row._fields if field.replace("_", "").lower() == letters]
        # CREATE TABLE converts names without quotes to lower case, so suggest a column that only
        # differs in case or underscores.
        advice = f"; write row.{similar[0]}" if similar else ""
        columns = ", ".join(row._fields)
        # With the arguments `name` and `obj`, Python can suggest a similar name in tracebacks.
        raise AttributeError(
            f"'Row' object has no attribute {name!r}; its columns are {columns}{advice}",
            name=name,
            obj=row,
        )


def _raise_read_only(row: Any, name: str, value: object) -> None:
    """Raise the error for an assignment to an attribute of a row."""
    raise AttributeError(
        f"a row is read-only: write row = row._replace({name}=...), or execute an UPDATE"
        if name in row._fields
        else f"'Row' object has no attribute {name!r}, and takes none"
    )


def row_class(names: Sequence[str]) -> type[Any]:
    """Return the named tuple class `Row` for columns with these names.

    Each column's field has the name that `clean_column_name` returns. If that name is not an
    identifier, or is a keyword, the field is ``field_N_``, where N is the column's position from 0.
    If several columns have the same name, underscores are appended to make the fields unique.
    """
    key = tuple(names)
    cached = known_row_class(key)
    if cached is not None:
        return cached
    named_tuple = namedtuple("Row", field_names(key))  # type: ignore[misc]

    def reduce(row: Any) -> tuple[Any, ...]:
        # Pickle the names and values, because pickle cannot find a class that was made at run time.
        return row_of, (key, tuple(row))

    # The base class of rows must be `RowBase`, which has the error for ``row["name"]``. So copy the
    # members of the named tuple class, whose base class is `tuple`.
    members = {
        # Advice comes first, so that a column with the same name replaces it.
        **_ROW_HABITS,
        **vars(named_tuple),
        "__dir__": names_of,  # leaves out the names that only give advice
        # No field begins with an underscore, so this name cannot clash with a field.
        "_column_names": key,
        # The compiled `RowBase` calls this for an attribute that the row lacks.
        "_raise_missing": _raise_missing,
        "__setattr__": _raise_read_only,
        "__module__": "cassandra.query",  # shown in errors and reprs
        "__reduce__": reduce,
    }
    cls = type("Row", (implementations.rows.RowBase,), members)
    # An estimate of the class's memory in bytes. Count the names three times, because about three
    # copies of them are kept.
    size = _CLASS_BYTES + _FIELD_BYTES * len(key) + 3 * text_size(key)
    # Two threads may both make a class. `keep` returns the first class, so all rows have the same
    # class.
    return _classes.keep(key, cls, size)
