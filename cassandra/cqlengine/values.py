"""The state of an instance: the values of its columns, by their position in the model.

The state of an instance that was read is the tuple of its row. `Values` replaces the tuple when the
application sets a value, or when it reads a collection, which it may then change in place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from cassandra.cqlengine.copies import IMMUTABLE_CLASSES, are_different
from cassandra.cqlengine.options import DEFAULTS, Options

if TYPE_CHECKING:
    from cassandra.cqlengine.columns.base import Column


class Instance(Protocol):
    """An instance of a model: `cassandra.cqlengine.models.BaseModel`."""

    # The tuple of the row that was read, or the `Values` that has replaced it.
    _row: Any


class ColumnsOfModel(Protocol):
    """The columns of a model, by position: `cassandra.cqlengine.mapping.Mapping`."""

    @property
    def order(self) -> Sequence[Column[Any]]:
        """The columns in the order of their positions."""

    @property
    def mutable(self) -> Sequence[int]:
        """The positions of the columns whose values may change in place."""

    @property
    def isolators(self) -> Mapping[int, Callable[[Any], Any]]:
        """For each position in `mutable`, a function that copies a value for the application."""

    @property
    def copiers(self) -> Iterable[tuple[int, Callable[[Any], Any]]]:
        """For other columns that may have a value that changes in place: (position, function that
        copies a value).
        """


class Values(list[Any]):
    """The values of an instance, by position.

    The attribute `stored` has the database's values as far as they are known; it is None if the row
    was never saved or read. Each of the following attributes is a set of positions, as an integer:
    the bit of a position is 1 if the position is in the set.

    * `explicit`: the application has set the value since the last save.
    * `exposed`: the application has the value as an object that it may change in place.
    * `unknown`: the value in the database is not known, although `stored` has a value. This happens
      after an UPDATE of an instance that was never read: it does not write the instance's defaults.
    """

    __slots__ = (
        "explicit", "exposed", "last_commit", "options", "stored", "unknown", "write_count",
    )  # fmt: skip

    def __init__(self, values: Sequence[Any], stored: Sequence[Any] | None = None) -> None:
        super().__init__(values)
        self.stored = stored
        self.explicit = 0
        self.exposed = 0
        self.unknown = 0
        self.options: Options = DEFAULTS
        # The number of writes that were begun, and of the last one that has succeeded: see
        # `Commit`.
        self.write_count = 0
        self.last_commit = 0


class SavedState:
    """The state of an instance before its write was added to a batch, to restore it if the batch
    fails.
    """

    __slots__ = ("_other", "_values")

    def __init__(self, values: Values) -> None:
        self._values = values
        # (stored, explicit, unknown) from before the write; after a `swap`, from after the write.
        self._other = (values.stored, values.explicit, values.unknown)

    def swap(self) -> None:
        """Restore the state before the write. A second call restores the state after the write."""
        values = self._values
        other = self._other
        self._other = (values.stored, values.explicit, values.unknown)
        values.stored, values.explicit, values.unknown = other


def values_of(instance: Instance) -> Values:
    """Return the `Values` of an instance. If it still has the tuple of its row, replace the tuple
    first.
    """
    row = instance._row
    if type(row) is Values:
        return row
    # The tuple cannot change, so it becomes `stored` without a copy.
    values = instance._row = Values(row, row)
    return values


def values_read(values: Values, position: int, isolated: Callable[[Any], Any]) -> Any:
    """Return a collection or similar value as an object that the application may change in place.

    :param isolated: makes the object from the stored value. The two must share nothing that may
        change in place, because `changed_positions` compares them later.
    """
    # `exposed` has a bit for each position.
    bit = 1 << position
    # Make the object only once: later reads return the same one, with the application's changes.
    if not values.exposed & bit:
        values[position] = isolated(values[position])
        values.exposed |= bit
    return values[position]


def changed_positions(values: Values, mapping: ColumnsOfModel) -> list[int]:
    """Return the positions of the values that differ from the database's."""
    # In the sets of positions, position 0 is the lowest bit.
    stored = values.stored
    if stored is None:
        # The row was never saved or read. Only values that the application has set or changed in
        # place are changes; defaults are not. A null that the application has set is a change too,
        # because the row may exist in the database and have a value.
        touched_bits = values.explicit | values.exposed
        return [
            position
            for position, column in enumerate(mapping.order)
            if touched_bits >> position & 1
            # A null is only a change if the application has set it.
            and (values.explicit >> position & 1 or not column.is_null(values[position]))
            # A counter of 0 needs no write: it would add nothing.
            and not (column.is_counter and not values[position])
        ]
    positions = []
    # Validation may have converted other values, if the column class is the application's.
    touched_bits = values.explicit | values.exposed
    for position, value in enumerate(values):
        old_value = stored[position]
        is_explicit = values.explicit >> position & 1
        if not touched_bits >> position & 1 or (value is old_value and not is_explicit):
            continue
        column = mapping.order[position]
        is_unknown = is_explicit and (column.is_null(value) or values.unknown >> position & 1)
        if is_unknown and not column.is_counter:
            # The application has set a null, or a value whose old value is not known: write it even
            # if it equals `stored`. Another client may have written the column in the meantime, or
            # the column was not read, or never written.
            positions.append(position)
            continue
        if column.mutable:
            if _differs(column, value, old_value):
                positions.append(position)
        elif are_different(value, old_value) and not (
            column.is_counter and (value or 0) == (old_value or 0)
        ):
            positions.append(position)
    return positions


def _differs(column: Column[Any], value: object, old_value: object) -> bool:
    """Return True if two values of a collection or similar column differ. Null and an empty
    collection are equal.
    """
    if column.is_null(value) and column.is_null(old_value):
        return False
    return are_different(column.to_python(value), column.to_python(old_value))


class Commit:
    """Makes the values of an instance, as they are now, its stored values after they were written.

    Create it before the request is sent: until the response arrives, other tasks and threads may
    change the instance. Their changes are not in the request, and so remain changes.

    :param values: the values of the instance.
    :param mapping: the mapping of its model.
    :param is_insert: True if all values are written, False if only the changed values are.
    """

    __slots__ = ("_explicit", "_exposed", "_number", "_sent", "_stored", "_unknown", "_values")

    def __init__(self, values: Values, mapping: ColumnsOfModel, *, is_insert: bool) -> None:
        self._values = values
        values.write_count += 1
        self._number = values.write_count
        self._explicit = values.explicit
        self._exposed = 0
        # The database will have the written values, so they are known.
        touched_bits = values.explicit | values.exposed
        if is_insert:
            self._unknown = 0
        elif values.stored is None:
            self._unknown = ~touched_bits
        else:
            self._unknown = values.unknown & ~touched_bits
        # Copy the values that the application may change in place, so that the stored values do not
        # change with them. These are values that it has read or set.
        self._sent = list(values)
        stored = self._stored = list(values)
        is_new = is_insert or values.stored is None
        for position in mapping.mutable:
            # A null collection counts as unknown. If the application sets it next, it is then
            # written as a whole, and not added to elements that other clients may have written.
            if values[position] is None and (is_insert or values.explicit >> position & 1):
                self._unknown |= 1 << position
            if touched_bits >> position & 1:
                stored[position] = mapping.isolators[position](values[position])
        for position, copier in mapping.copiers:
            # In a new instance, also copy default values: these may change in place too, but are
            # neither exposed nor explicit.
            is_exposed = is_new or touched_bits >> position & 1
            if is_exposed and type(values[position]) not in IMMUTABLE_CLASSES:
                stored[position] = copier(values[position])
                # The application may change its object again after this write.
                self._exposed |= 1 << position

    def apply(self) -> None:
        """Call this after the values were written."""
        values = self._values
        # A write that began later has succeeded already, and has written these changes again.
        if self._number < values.last_commit:
            return
        values.last_commit = self._number
        values.stored = self._stored
        values.unknown = self._unknown
        values.exposed |= self._exposed
        # The values that the application has set in the meantime were not written.
        set_meanwhile = ~self._explicit
        for position, value in enumerate(self._sent):
            if values[position] is not value:
                set_meanwhile |= 1 << position
        values.explicit &= set_meanwhile


def commit(values: Values, mapping: ColumnsOfModel, *, is_insert: bool) -> None:
    """Make the current values the stored values, after a write.

    :param values: the values of an instance.
    :param mapping: the mapping of its model.
    :param is_insert: True if all values were written, False if only the changed values were.
    """
    Commit(values, mapping, is_insert=is_insert).apply()
