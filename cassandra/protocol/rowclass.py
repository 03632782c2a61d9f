"""The class of rows as named tuples, made once for each list of column names."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Sequence
from keyword import iskeyword
from typing import Any

import cassandra._impl as implementations
from cassandra._bounded import Bounded, text_size
from cassandra._habits import ROW, Habit, names_of
from cassandra._patterns import pattern

# Making a class costs some 40 us, so classes are kept. At the bound all are dropped: a program may
# name ever new columns.
_CLASS_BYTES = 4000
_FIELD_BYTES = 400
_classes: Bounded[tuple[str, ...], type[Any]] = Bounded(1024, 1 << 25)

_ROW_HABITS = {name: Habit(name, advice) for name, advice in ROW.items()}

_LEADING = pattern(r"^[^a-zA-Z0-9]+")
_TRAILING = pattern(r"[^a-zA-Z0-9_]+$")
_INNER = pattern(r"[^a-zA-Z0-9_]")


def clean_column_name(name: str) -> str:
    """Return `name` as an attribute name: ``count(*)`` becomes ``count``.

    Letters beyond ASCII go the same way. "" if nothing is left.
    """
    # The usual name, at a tenth of the time: nothing of an ASCII identifier is cleaned but
    # underscores in front.
    if name.isidentifier() and name[0] != "_" and name.isascii():
        return name
    return _INNER.sub("_", _TRAILING.sub("", _LEADING.sub("", name)))


def field_names(names: Sequence[str]) -> list[str]:
    """Return the attribute name of each column: see `row_class`."""
    fields = []
    # How many underscores were added to a name last: names that come often are found at once.
    added: dict[str, int] = {}
    taken = set()
    for index, name in enumerate(names):
        base = clean_column_name(name)
        if not base.isidentifier() or iskeyword(base):
            base = f"field_{index}_"
        field = base + "_" * added.get(base, 0)
        while field in taken:
            added[base] = added.get(base, 0) + 1
            field = base + "_" * added[base]
        taken.add(field)
        fields.append(field)
    return fields


def row_of(names: tuple[str, ...], values: tuple[Any, ...]) -> Any:
    """Return a row of these columns and values; rows are pickled as calls of this."""
    return row_class(names)._make(values)


def row_class(names: Sequence[str]) -> type[Any]:
    """Return the named tuple class `Row` for columns of these names.

    A column's name becomes ``field_N_``, by its position from 0, if it is not an identifier even
    when cleaned, or if it is a keyword. Underscores are appended to a name that comes again.
    """
    key = tuple(names)
    cached = _classes.get(key)
    if cached is not None:
        return cached
    named = namedtuple("Row", field_names(key))  # type: ignore[misc]

    def reduce(row: Any) -> tuple[Any, ...]:
        # By what it is made of: pickle finds no class that was made at run time.
        return row_of, (key, tuple(row))

    def read_only(row: Any, name: str, value: object) -> None:
        raise AttributeError(
            f"a row is read-only: write row = row._replace({name}=...), or execute an UPDATE"
            if name in row._fields
            else f"'Row' object has no attribute {name!r}, and takes none"
        )

    members = {
        **_ROW_HABITS,
        **vars(named),
        "__dir__": names_of,
        # No field has this name: the cleaned names do not begin with an underscore.
        "_column_names": key,
        "__setattr__": read_only,
        "__module__": "cassandra.query",  # which errors and reprs show
        "__reduce__": reduce,
    }
    cls = type("Row", (implementations.rows.RowBase,), members)
    # Two threads may both make one; the first stays, so that all see the same class.
    return _classes.keep(key, cls, _CLASS_BYTES + _FIELD_BYTES * len(key) + 3 * text_size(key))
