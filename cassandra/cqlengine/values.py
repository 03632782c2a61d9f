"""The state of an instance: the values of its columns, by their position in the model.

An instance that was read and never touched holds the row's tuple itself, and nothing else.
`Values` takes its place when
something is written, or a collection, which may change in place, is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cassandra.cqlengine.options import DEFAULTS, Options

if TYPE_CHECKING:
    from cassandra.cqlengine.columns.base import Column
    from cassandra.cqlengine.mapping import Mapping
    from cassandra.cqlengine.models import BaseModel

__all__ = ["Kept", "Values", "changed_positions", "commit", "own", "values_read"]


class Values(list[Any]):
    """The values of an instance, by position.

    `was` has the values that the database has, or is None for a row that was never saved or
    read. `explicit` and `exposed`
    are sets of positions, as bits: those that were written, and collections that were handed out.
    `unknown` has those of defaults that no write has taken along (an UPDATE of an instance that was
    never read writes what was set alone), and of collections that were neither read nor written.
    """

    __slots__ = ("explicit", "exposed", "how", "unknown", "was")

    def __init__(self, values: Sequence[Any], was: Sequence[Any] | None = None) -> None:
        super().__init__(values)
        self.was = was
        self.explicit = 0
        self.exposed = 0
        self.unknown = 0
        self.how: Options = DEFAULTS


class Kept:
    """The state of an instance before a write was added to a batch."""

    __slots__ = ("_other", "_values")

    def __init__(self, values: Values) -> None:
        self._values = values
        self._other = (values.was, values.explicit, values.unknown)

    def swap(self) -> None:
        """Restore the state before; a second call takes that back."""
        values = self._values
        other = self._other
        self._other = (values.was, values.explicit, values.unknown)
        values.was, values.explicit, values.unknown = other


def own(instance: BaseModel) -> Values:
    """Return the values of `instance`, ready to be changed."""
    row = instance._row
    if type(row) is Values:
        return row
    # The tuple of the row never changes, so it serves as what the database has without a copy.
    values = instance._row = Values(row, row)
    return values


def values_read(values: Values, position: int, column: Column[Any]) -> Any:
    """Return the value at `position`, a collection or the like, as the program may change it."""
    bit = 1 << position
    # Once only: later looks must give the same object, which the program may have changed.
    if not values.exposed & bit:
        values[position] = column.to_python(values[position])
        values.exposed |= bit
    return values[position]


def changed_positions(values: Values, mapping: Mapping) -> list[int]:
    """Return the positions of the values that differ from the database's."""
    was = values.was
    if was is None:
        # Defaults are not changes: they are written when the row is inserted. Null that was given
        # is one: the row may have a value.
        given = values.explicit | values.exposed
        return [
            at
            for at, column in enumerate(mapping.order)
            if given >> at & 1
            and (values.explicit >> at & 1 or not column.is_null(values[at]))
            and not (column.is_counter and not values[at])
        ]
    found = []
    for at, value in enumerate(values):
        before = was[at]
        explicit = values.explicit >> at & 1
        if value is before and not explicit:
            continue
        column = mapping.order[at]
        is_unknown = explicit and (column.is_null(value) or values.unknown >> at & 1)
        if is_unknown and not column.is_counter:
            # Null that was set is written even if none is known: others may have written since,
            # and a column that was not read is null here. So is what equals an unwritten default.
            found.append(at)
            continue
        if column.mutable:
            if _differs(column, value, before):
                found.append(at)
        elif value != before and not (column.is_counter and (value or 0) == (before or 0)):
            found.append(at)
    return found


def _differs(column: Column[Any], value: object, before: object) -> bool:
    if column.is_null(value) and column.is_null(before):
        return False
    return bool(column.to_python(value) != column.to_python(before))


def commit(values: Values, mapping: Mapping, *, is_insert: bool) -> None:
    """Take note that the database has the values of now.

    :param values: the values of an instance.
    :param mapping: that of its model.
    :param is_insert: whether all values were written, not only those that had changed.
    """
    if is_insert:
        values.unknown = 0
    elif values.was is None:
        values.unknown = ~(values.explicit | values.exposed)
    else:
        values.unknown &= ~(values.explicit | values.exposed)
    was = list(values)
    exposed = values.exposed | values.explicit
    for at in mapping.mutable:
        if values[at] is None and (is_insert or values.explicit >> at & 1):
            values.unknown |= 1 << at
        if exposed >> at & 1:  # a copy: what the program does with its own must not change this one
            was[at] = mapping.order[at].to_python(values[at])
    values.was = was
    values.explicit = 0
