"""The state of an instance: the values of its columns, by their position in the model.

An instance that was read and never touched has only the row's tuple. `Values` replaces the tuple
when the application writes a value, or reads a collection, which may change in place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from cassandra.cqlengine.copies import IMMUTABLE_CLASSES, are_different
from cassandra.cqlengine.options import DEFAULTS, Options

if TYPE_CHECKING:
    from cassandra.cqlengine.columns.base import Column
    from cassandra.cqlengine.mapping import Mapping
    from cassandra.cqlengine.models import BaseModel

__all__ = ["SavedState", "Values", "changed_positions", "commit", "values_of", "values_read"]


class Values(list[Any]):
    """The values of an instance, by position.

    `stored` has the database's values, or is None for a row that was never saved or read.
    `explicit` and `exposed` are sets of positions, as bits: values that were written, and
    collections that the application has read. `unknown` has the positions of defaults that no write
    has included (an UPDATE of an instance that was never read only writes values that were set),
    and of collections that were neither read nor written.
    """

    __slots__ = ("explicit", "exposed", "options", "stored", "unknown")

    def __init__(self, values: Sequence[Any], stored: Sequence[Any] | None = None) -> None:
        super().__init__(values)
        self.stored = stored
        self.explicit = 0
        self.exposed = 0
        self.unknown = 0
        self.options: Options = DEFAULTS


class SavedState:
    """The state of an instance before a write was added to a batch."""

    __slots__ = ("_other", "_values")

    def __init__(self, values: Values) -> None:
        self._values = values
        self._other = (values.stored, values.explicit, values.unknown)

    def swap(self) -> None:
        """Restore the state before the write; a second call undoes that."""
        values = self._values
        other = self._other
        self._other = (values.stored, values.explicit, values.unknown)
        values.stored, values.explicit, values.unknown = other


def values_of(instance: BaseModel) -> Values:
    """Return the values of `instance`, ready to be changed."""
    row = instance._row
    if type(row) is Values:
        return row
    # The row's tuple never changes, so it serves as the stored values without a copy.
    values = instance._row = Values(row, row)
    return values


def values_read(values: Values, position: int, isolated: Callable[[Any], Any]) -> Any:
    """Return the value at `position`, a collection or similar, in a form that the application may
    change.

    :param isolated: returns the value of an instance for a stored value. The two must share nothing
        that may change in place, because the stored value is compared with later.
    """
    bit = 1 << position
    # Converted once: later reads must return the same object, which the application may have
    # changed.
    if not values.exposed & bit:
        values[position] = isolated(values[position])
        values.exposed |= bit
    return values[position]


def changed_positions(values: Values, mapping: Mapping) -> list[int]:
    """Return the positions of the values that differ from the database's."""
    stored = values.stored
    if stored is None:
        # Defaults are not changes: they are written when the row is inserted. A null that was set
        # is a change: the row may have a value.
        touched = values.explicit | values.exposed
        return [
            position
            for position, column in enumerate(mapping.order)
            if touched >> position & 1
            and (values.explicit >> position & 1 or not column.is_null(values[position]))
            and not (column.is_counter and not values[position])
        ]
    positions = []
    for position, value in enumerate(values):
        before = stored[position]
        explicit = values.explicit >> position & 1
        if value is before and not explicit:
            continue
        column = mapping.order[position]
        is_unknown = explicit and (column.is_null(value) or values.unknown >> position & 1)
        if is_unknown and not column.is_counter:
            # A null that was set is written even if the known value is null: others may have
            # written since, and a column that was not read is null here. A value that equals an
            # unwritten default is written too.
            positions.append(position)
            continue
        if column.mutable:
            if _differs(column, value, before):
                positions.append(position)
        elif are_different(value, before) and not (
            column.is_counter and (value or 0) == (before or 0)
        ):
            positions.append(position)
    return positions


def _differs(column: Column[Any], value: object, before: object) -> bool:
    if column.is_null(value) and column.is_null(before):
        return False
    return are_different(column.to_python(value), column.to_python(before))


def commit(values: Values, mapping: Mapping, *, is_insert: bool) -> None:
    """Mark the present values as the database's values.

    :param values: the values of an instance.
    :param mapping: the mapping of its model.
    :param is_insert: whether all values were written, not only the changed values.
    """
    if is_insert:
        values.unknown = 0
    elif values.stored is None:
        values.unknown = ~(values.explicit | values.exposed)
    else:
        values.unknown &= ~(values.explicit | values.exposed)
    stored = list(values)
    exposed = values.exposed | values.explicit
    is_new = is_insert or values.stored is None
    for position in mapping.mutable:
        if values[position] is None and (is_insert or values.explicit >> position & 1):
            values.unknown |= 1 << position
        # a copy: the application's changes of its own object must not change this copy
        if exposed >> position & 1:
            stored[position] = mapping.isolators[position](values[position])
    for position, copied in mapping.copiers:
        # Values of a new instance may be defaults, which nobody has read or written.
        if (is_new or exposed >> position & 1) and type(values[position]) not in IMMUTABLE_CLASSES:
            stored[position] = copied(values[position])
            # The application has this object, and may change it after later writes too.
            values.exposed |= 1 << position
    values.stored = stored
    values.explicit = 0
