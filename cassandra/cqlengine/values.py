"""The state of an instance: the values of its columns, by their position in the model.

The state of an instance that was read is the tuple of its row. `Values` replaces the tuple when the
application sets a value, or when it reads a collection, which it may then change in place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import is_
from typing import TYPE_CHECKING, Any, Protocol

from cassandra.cqlengine.copies import IMMUTABLE_CLASSES, are_different
from cassandra.cqlengine.options import DEFAULTS, Options

if TYPE_CHECKING:
    from cassandra.cqlengine.columns.base import Column

# What a write sends: its number, the positions that were explicit, the values, the values to store,
# and the positions whose values will be unknown and exposed.
Sent = tuple[int, int, list[Any], list[Any], int, int]


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
      It also happens after a write that has failed.
    """

    __slots__ = ("explicit", "exposed", "options", "stored", "unknown", "write_count")

    def __init__(self, values: Sequence[Any], stored: Sequence[Any] | None = None) -> None:
        super().__init__(values)
        self.stored = stored
        self.explicit = 0
        self.exposed = 0
        self.unknown = 0
        self.options: Options = DEFAULTS
        self.write_count = 0  # the number of writes that were begun: see `finish_write`


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
        if not touched_bits >> position & 1:
            continue
        old_value = stored[position]
        is_explicit = values.explicit >> position & 1
        if value is old_value and not is_explicit:
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


def begin_write(values: Values, mapping: ColumnsOfModel, is_insert: bool) -> Sent:
    """Return the values of an instance that a write sends, for `finish_write`.

    Call this before the request is sent: until the response arrives, other tasks and threads may
    change the instance. Their changes are not in the request, and so remain changes. (This is no
    class, because creating an object would take as long as the rest.)

    :param values: the values of the instance.
    :param mapping: the mapping of its model.
    :param is_insert: True if all values are written, False if only the changed values are.
    """
    values.write_count = number = values.write_count + 1
    explicit = values.explicit
    touched_bits = explicit | values.exposed
    is_new = is_insert or values.stored is None
    # The database will have the written values, so they are known.
    if is_insert:
        unknown = 0
    else:
        unknown = ~touched_bits if is_new else values.unknown & ~touched_bits
    exposed = 0
    in_doubt = touched_bits
    sent = stored = values.copy()
    # Copy the values that the application may change in place, so that the stored values do not
    # change with them. These are values that it has read or set.
    for position in mapping.mutable:
        # A null collection counts as unknown. If the application sets it next, it is then written
        # as a whole, and not added to elements that other clients may have written.
        if sent[position] is None and (is_insert or explicit >> position & 1):
            unknown |= 1 << position
        if touched_bits >> position & 1:
            in_doubt &= ~(1 << position)
            if stored is sent:
                stored = sent.copy()
            stored[position] = mapping.isolators[position](sent[position])
    for position, copier in mapping.copiers:
        # In a new instance, also copy default values: these may change in place too, but are
        # neither exposed nor explicit.
        is_exposed = is_new or touched_bits >> position & 1
        if is_exposed and type(sent[position]) not in IMMUTABLE_CLASSES:
            if stored is sent:
                stored = sent.copy()
            stored[position] = copier(sent[position])
            # The application may change its object again after this write.
            exposed |= 1 << position
    # Until the response arrives, and after an error, the database may have the old or the new
    # values. If the application sets the old one again, it must be written. (Of collections, the
    # difference is written: to assign the whole could overwrite elements of other clients.)
    values.unknown |= in_doubt
    return number, explicit, sent, stored, unknown, exposed


def finish_write(values: Values, write: Sent) -> None:
    """Make the values that a write has sent the stored values. Call this after it has succeeded.

    :param values: the values of the instance.
    :param write: the result of `begin_write`.
    """
    number, written_bits, sent, stored, unknown, exposed = write
    # A write that began later sends these changes again, with others: only its result counts.
    if number != values.write_count:
        return
    values.stored = stored
    values.unknown = unknown
    values.exposed |= exposed
    # The values that the application has set in the meantime were not written.
    if not all(map(is_, values, sent)):
        for position, value in enumerate(sent):
            if values[position] is not value:
                written_bits &= ~(1 << position)
    values.explicit &= ~written_bits


def commit(values: Values, mapping: ColumnsOfModel, *, is_insert: bool) -> None:
    """Make the current values the stored values, after a write.

    :param values: the values of an instance.
    :param mapping: the mapping of its model.
    :param is_insert: True if all values were written, False if only the changed values were.
    """
    finish_write(values, begin_write(values, mapping, is_insert))
