"""The state of an instance: the values of its columns, by their position in the model.

An instance that was read stores its values in the tuple of the row. A `Values` replaces the tuple
as soon as the application sets a value, or reads a collection, which it may then change in place.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import is_
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol
from weakref import ref

from cassandra._forks import renew_in_child
from cassandra.cqlengine.copies import IMMUTABLE_CLASSES, are_different
from cassandra.cqlengine.errors import ValidationError
from cassandra.cqlengine.options import DEFAULTS, Options

if TYPE_CHECKING:
    from cassandra.cqlengine.columns.base import Column


# The maximum number of failed writes whose values an instance keeps: see `Values.failed`.
MOST_FAILED = 8
# This lock is held while a write begins or ends, and while an instance gets its `Values` or a copy
# of a collection, because several threads may use one instance. It is reentrant: a garbage
# collection may run a finalizer of the application that writes, too.
_lock = threading.RLock()


@renew_in_child
def _renew_lock() -> None:
    """Replace the lock in a forked child, where the thread that held it does not exist."""
    global _lock
    _lock = threading.RLock()


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
    def has_counter(self) -> bool:
        """True if the model has counter columns."""

    @property
    def counter_positions(self) -> int:
        """The counter columns: bit N is set for position N."""

    @property
    def value_positions(self) -> int:
        """The columns outside of the primary key: bit N is set for position N."""

    @property
    def mutable(self) -> Sequence[int]:
        """The positions of the columns whose values may change in place."""

    @property
    def mutable_positions(self) -> int:
        """The positions in `mutable`: bit N is set for position N."""

    @property
    def changing_positions(self) -> int:
        """The positions of all values that may change in place: bit N is set for position N."""

    @property
    def isolators(self) -> Mapping[int, Callable[[Any], Any]]:
        """For each position in `mutable`, a function that returns a copy for the application."""

    @property
    def copiers(self) -> Iterable[tuple[int, Callable[[Any], Any]]]:
        """(position, function that copies a value) for columns that `mutable` does not contain.

        Some values of these columns may change in place, for example tuples of lists.
        """


class FailedWrite(NamedTuple):
    """The values of a write that has failed, although servers may have executed it.

    :param number: the number of the write.
    :param sent: the values of the write, by position.
    :param positions: the positions that the write has sent and no later write has written. It has
        only columns whose values may change in place. Bit N is set for position N.
    """

    number: int
    sent: Sequence[Any]
    positions: int


class Values(list[Any]):
    """The values of an instance, by position.

    The attribute `stored` has the values that the mapper assumes to be in the database. It is None
    if the row was never saved or read. Each of the following attributes is a set of positions, as
    an integer: bit N is 1 if position N is in the set.

    * `explicit`: the application has set the value since the last save.
    * `exposed`: the application has a reference to the value, and may change the value in place.
    * `unknown`: the value in the database is not known, although `stored` has a value. This happens
      after an UPDATE of an instance that was never read, because the UPDATE does not write the
      defaults of the instance. It also happens after a write that has failed.

    The attribute `in_flight` has the writes that have no response yet. `disputed` is the set of the
    positions to which concurrent writes send different values. The database may have any of these
    values, until a write that runs alone has written the positions.

    The attribute `failed` has a `FailedWrite` for each write that has failed, although servers may
    have executed it. For values that may change in place, the database may have the values of these
    writes instead of those in `stored`.
    """

    __slots__ = (
        "__weakref__", "disputed", "explicit", "exposed", "failed", "in_flight", "options",
        "stored", "stored_number", "unknown", "write_count",
    )  # fmt: skip

    def __init__(self, values: Sequence[Any], stored: Sequence[Any] | None = None) -> None:
        super().__init__(values)
        self.stored = stored
        self.explicit = 0
        self.exposed = 0
        self.unknown = 0
        self.options: Options = DEFAULTS
        self.write_count = 0  # the number of writes that were begun: see `end_write`
        self.stored_number = 0  # the number of the write whose values are `stored`; 0 for no write
        self.in_flight: tuple[Written, ...] = ()
        self.failed: tuple[FailedWrite, ...] = ()
        self.disputed = 0


class Written(Values):
    """A snapshot of an instance's values, taken when a write of the instance begins.

    The write's request is built from this snapshot, because other tasks and threads may change the
    instance at any time. The application cannot change the snapshot.

    * `number` is the number of this write among the writes of the instance, from 1.
    * `originals` is a list of the instance's own values, for which this snapshot may have copies.
      It is None if nothing was copied.
    * `positions` is the set of the positions that the write sends, without the primary key.
    * `in_doubt` is a subset of `positions`: if the write fails, the next write must send these
      positions if the application has set them, even to their old values.
    * `doubtful` is the subset of `positions` whose values may change in place. It is 0 until the
      write is sent.
    * `has_company` is True if other writes of the instance had no response when this write began.
    """

    __slots__ = (
        "doubtful", "has_company", "in_doubt", "is_insert", "number", "originals", "positions",
    )  # fmt: skip

    # Compare by identity, because two writes of the same values are different writes.
    __eq__ = object.__eq__

    def __init__(self, values: Values, mapping: ColumnsOfModel, is_insert: bool) -> None:
        # When a thread sets a value, it first stores the value and then sets its bit in `explicit`.
        # So copy the values before `explicit`. (For speed, do not call `__init__` of `Values`.)
        list.__init__(self, values)
        self.originals: list[Any] | None = None
        self.stored = values.stored
        self.explicit = values.explicit
        self.exposed = values.exposed
        self.unknown = values.unknown
        self.disputed = values.disputed
        self.failed = values.failed
        self.stored_number = values.stored_number
        self.options = values.options
        self.is_insert = is_insert
        self.has_company = False
        # Until `will_write` sets the exact positions, use all positions that the write may send.
        self.positions = (self.explicit | self.exposed) & mapping.value_positions
        self.in_doubt = self.doubtful = 0
        values.write_count = self.number = values.write_count + 1


class SavedState:
    """The state of an instance before its write was added to a batch.

    If the batch fails, it restores this state. If it is executed again, it redoes the write. If the
    application has dropped the instance, there is no state to restore.

    The instance's options refer to the batch, so the batch must not refer to the instance: they
    would form a cycle, which only the garbage collector frees.

    :param values: the values of the instance.
    :param mapping: the mapping of the instance's model.
    :param write: the result of `begin_write`.
    """

    __slots__ = (
        "_is_restored", "_mapping", "_other", "_write_count", "entry", "reference", "repeated",
        "write",
    )  # fmt: skip

    def __init__(self, values: Values, mapping: ColumnsOfModel, write: Written) -> None:
        # Two writes of one instance have one weak reference.
        self.reference = ref(values)
        self._mapping = mapping
        self.write = write
        self.entry: tuple[str, Sequence[Any]] | None = None  # the write's statement in the batch
        # For an UPDATE: see `cassandra.cqlengine.query.dml._update_to_repeat`.
        self.repeated: Callable[[int], tuple[str, list[Any]] | None] | None = None
        # The values that the next `_swap` gives to the attributes (stored, explicit, unknown,
        # failed, stored_number). Now they are the values from before the write; after `restore`,
        # those from after the write.
        self._other = (
            write.stored, write.explicit, write.unknown, write.failed, write.stored_number,
        )  # fmt: skip
        self._is_restored = False
        # The instance's `write_count` when the batch was last executed; None before that.
        self._write_count: int | None = None

    def release_batch(self, timestamp: int | None) -> None:
        """Drop the reference to the batch that now holds this state, which would be a cycle.

        :param timestamp: the timestamp of the write, which may be the batch's.
        """
        options = self.write.options
        self.write.options = options.with_changes(
            batch=None, timestamp=timestamp if options.timestamp is None else options.timestamp
        )

    def begin_execution(self) -> None:
        """Record that the instance's write is in flight. Call this before the batch is sent."""
        values = self.reference()
        if values is None:
            return
        self._write_count = values.write_count
        # If the row has counters, the stored values already include the change by the batch, so
        # later writes do not have to consider this write.
        if not self._mapping.has_counter:
            with _lock:
                values.in_flight = (*values.in_flight, self.write)

    def end_execution(self, has_failed: bool = False) -> None:
        """Record that the write has ended. If the batch has failed, call this after `restore`.

        :param has_failed: True if the batch has failed; servers may still have executed it.
        """
        values = self.reference()
        if values is None:
            return
        with _lock:
            if has_failed:
                values.unknown |= self.write.in_doubt
                _keep_failed(values, self._mapping, self.write)
            _remove(values, self.write)

    def restore(self) -> None:
        """Restore the state before the write, unless the instance has it already."""
        if not self._is_restored:
            self._swap()

    def redo(self) -> None:
        """Restore the state after the write, unless the instance has it already."""
        if self._is_restored:
            self._swap()

    def _swap(self) -> None:
        """Exchange the state before the write and the state after the write."""
        values, write = self.reference(), self.write
        if values is None:
            return
        other = self._other
        self._other = (
            values.stored, values.explicit, values.unknown, values.failed, values.stored_number,
        )  # fmt: skip
        self._is_restored = not self._is_restored
        is_alone = not write.has_company and self._write_count in (None, values.write_count)
        if self._mapping.has_counter and not (is_alone and other[0] is None):
            sign = -1 if self._is_restored else 1
            values.stored = _with_counts(write, values.stored, self._mapping, (write,), sign)
            if self._is_restored:
                values.explicit |= write.positions & counters_to_delete(write, self._mapping)
            else:
                _note_deleted_counters(values, self._mapping, write)
            return
        if not is_alone:
            # Other writes of the instance have begun or ended in the meantime. They may have sent
            # other values for the same positions, so the next write has to send these positions
            # again.
            values.disputed |= write.positions
            return
        explicit = values.explicit
        values.stored, values.explicit, values.unknown, values.failed, values.stored_number = other
        # When the write was added to the batch, the disputed positions in it counted as written.
        # The batch was not executed, so they are disputed again.
        values.disputed |= write.disputed
        # Keep the changes that the application has made since the write was added to the batch.
        if self._is_restored:
            values.explicit |= explicit
        else:
            for position, value in enumerate(write.originals or write):
                if values[position] is not value:
                    values.explicit |= explicit & 1 << position


def values_of(instance: Instance) -> Values:
    """Return the `Values` of an instance, which replaces the tuple of its row if necessary."""
    row = instance._row
    if type(row) is Values:
        return row
    with _lock:
        # The tuple cannot change, so it becomes `stored` without a copy.
        values = Values(row, row)
        # Another thread, or a finalizer in this thread, may have replaced the tuple in the
        # meantime, and have set a value of its `Values`.
        if instance._row is row:
            instance._row = values
        return instance._row  # type: ignore[no-any-return]


def values_read(values: Values, position: int, isolated: Callable[[Any], Any]) -> Any:
    """Return a collection or similar value as an object that the application may change in place.

    :param isolated: makes the object from the stored value. The object and the stored value must
        share nothing that may change in place. Otherwise a change by the application would change
        the stored value, too, and `changed_positions` would find no difference between them.
    """
    # Bit N of `exposed` belongs to position N.
    bit = 1 << position
    # Create the object only at the first read. Later reads return the same object, with the
    # application's changes.
    if not values.exposed & bit:
        with _lock:
            value = isolated(values[position])
            # If several threads read the collection, all of them get the same object.
            if not values.exposed & bit:
                values[position] = value
                values.exposed |= bit
    return values[position]


def changed_positions(values: Values, mapping: ColumnsOfModel) -> list[int]:
    """Return the positions of the values that have to be written."""
    # Sets of positions are ints: bit n, counted from the lowest bit, stands for position n.
    stored = values.stored
    doubtful_bits = doubtful_positions(values, mapping) if values.failed else 0
    if stored is None:
        # The row was never saved or read. Only values that the application has set or changed in
        # place are changes; defaults are not, even if the application has read them. A null that
        # the application has set is a change too, because the row may exist in the database and
        # have a value.
        touched_bits = values.explicit | values.exposed
        return [
            position
            for position, column in enumerate(mapping.order)
            if doubtful_bits >> position & 1
            or (
                touched_bits >> position & 1
                and (values.explicit >> position & 1 or not _is_initial(column, values[position]))
                # A counter of 0 need not be written, because it adds nothing.
                and not (column.is_counter and values[position] == 0)
            )
        ]
    positions = []
    # Compare only values that the application has set or may have changed. Other values may differ
    # too, if the `validate` of an application's column class has converted them, but they are not
    # changes.
    touched_bits = values.explicit | values.exposed | doubtful_bits
    while touched_bits:
        bit = touched_bits & -touched_bits  # the lowest bit that is 1
        touched_bits ^= bit
        position = bit.bit_length() - 1
        if doubtful_bits & bit:
            positions.append(position)
            continue
        value, old_value = values[position], stored[position]
        is_explicit = values.explicit & bit
        if value is old_value and not is_explicit:
            continue
        column = mapping.order[position]
        if is_explicit and (
            column.is_null(value) or (values.unknown & bit and not column.is_counter)
        ):
            # The application has set null, or has set a column whose value in the database is not
            # known. Write the value even if it equals `stored`: another client may have written the
            # column, or the column was not read, or was never written.
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


def counters_to_delete(values: Values, mapping: ColumnsOfModel) -> int:
    """Return the positions of the counters that the application has set to null, as bits.

    :param values: the values of an instance.
    :param mapping: the mapping of the instance's model.
    """
    counter_bits = values.explicit & mapping.counter_positions
    return sum(
        1 << position
        for position, value in enumerate(values)
        if counter_bits >> position & 1 and value is None
    )


def _note_deleted_counters(values: Values, mapping: ColumnsOfModel, write: Written) -> None:
    """Record that a write has deleted counters, so that the next `save` does not delete them."""
    deleted = write.positions & counters_to_delete(write, mapping)
    # A counter that the application has set to a number in the meantime remains a change.
    values.explicit &= ~(deleted & counters_to_delete(values, mapping))


def doubtful_positions(values: Values, mapping: ColumnsOfModel) -> int:
    """Return the positions for which a failed write has sent another value than the current one.

    These positions have to be written even if the current value is the stored one, because the
    database may have the value of the failed write.

    :param values: the values of the instance.
    :param mapping: the mapping of the instance's model.
    :returns: the positions as bits.
    """
    doubtful_bits = 0
    for write in values.failed:
        for position, column in enumerate(mapping.order):
            if write.positions & ~doubtful_bits & 1 << position and _differs(
                column, values[position], write.sent[position]
            ):
                doubtful_bits |= 1 << position
    return doubtful_bits


def failed_values(values: Values, position: int) -> list[Any]:
    """Return the values that failed writes have sent for `position`.

    :param values: the values of the instance.
    :param position: the position of a value that may change in place.
    """
    return [write.sent[position] for write in values.failed if write.positions >> position & 1]


def _is_initial(column: Column[Any], value: object) -> bool:
    """Return True if `value` is still the one that a new instance has by itself.

    This is the default of a collection or similar column, and null for other columns.
    """
    if column.mutable and column.has_default:
        return not _differs(column, value, column.get_default())
    return column.is_null(value)


def _differs(column: Column[Any], value: object, old_value: object) -> bool:
    """Return True if two values differ; for a collection, null equals an empty collection."""
    if not column.mutable:
        return are_different(value, old_value)
    if column.is_null(value) and column.is_null(old_value):
        return False
    try:
        return are_different(column.to_python(value), column.to_python(old_value))
    except ValidationError:
        return True  # the application has set an invalid value, which the write will refuse


def begin_write(values: Values, mapping: ColumnsOfModel, is_insert: bool) -> Written:
    """Begin a write, and return a snapshot of the values to build its request from.

    Call `end_write` in any case, unless this function raises an error.

    :param values: the values of the instance.
    :param mapping: the mapping of the instance's model.
    :param is_insert: True if all values are written, False if only the changed values are.
    """
    with _lock:
        write = Written(values, mapping, is_insert)
        in_flight = values.in_flight
        # Also send the changes of other writes that have no response yet.
        if in_flight:
            _add_changes_in_flight(write, mapping, in_flight)
        values.in_flight = (*in_flight, write)
    touched_bits = write.explicit | write.exposed
    if not (touched_bits & mapping.mutable_positions or mapping.copiers):
        return write
    try:
        _copy_values(write, mapping)
    except BaseException:
        end_write(values, mapping, write, has_succeeded=False)
        raise
    return write


def _copy_values(write: Written, mapping: ColumnsOfModel) -> None:
    """Replace the values of a write that the application may change in place by copies.

    Only values that the application has read or set are copied: it may change these during the
    write.
    """
    touched_bits = write.explicit | write.exposed
    write.originals = write.copy()
    for position in mapping.mutable:
        if touched_bits >> position & 1:
            write[position] = mapping.isolators[position](write[position])
    is_new = write.is_insert or write.stored is None
    for position, copier in mapping.copiers:
        # In a new instance, also copy default values: these may change in place too, but are
        # neither exposed nor explicit.
        is_exposed = is_new or touched_bits >> position & 1
        if is_exposed and type(write[position]) not in IMMUTABLE_CLASSES:
            write[position] = copier(write[position])
            # The application has the original object, and may change it again after this write.
            write.exposed |= 1 << position


def _add_changes_in_flight(
    write: Written, mapping: ColumnsOfModel, others: Sequence[Written]
) -> None:
    """Make `write` also send the changes of other writes of the instance that are in flight.

    It is not known what the database has until these writes end. So the write assigns collections
    as a whole instead of sending differences. Counters cannot be assigned, so the write adds only
    what the other writes do not add.
    """
    write.has_company = True
    if mapping.has_counter:
        write.stored = _with_counts(write, write.stored, mapping, others)
        return
    for other in others:
        write.explicit |= other.positions
        write.unknown |= other.positions
        write.disputed |= other.positions


def _with_counts(
    write: Written,
    stored: Sequence[Any] | None,
    mapping: ColumnsOfModel,
    additions: Iterable[Written],
    sign: int = 1,
) -> list[Any]:
    """Return the stored values of a row of counters, after adding the changes by some writes.

    :param write: a write with the row's key.
    :param stored: the stored values before; None if there are none.
    :param additions: the writes whose changes are added.
    :param sign: -1 to subtract these changes instead.
    """
    counts = list(write)
    for position, column in enumerate(mapping.order):
        if column.is_counter:
            # If no value is stored, the counter is 0.
            counts[position] = (stored[position] or 0) if stored else 0
            # Each write adds the difference between its value and the value that was stored before.
            # (A write that deletes the counter subtracts all of it.)
            for added in additions:
                if not added.positions >> position & 1:
                    continue
                before = (added.stored[position] or 0) if added.stored else 0
                counts[position] += sign * ((added[position] or 0) - before)
    return counts


def will_write(values: Values, mapping: ColumnsOfModel, write: Written, positions: int) -> None:
    """Record which positions a write sends. Call this before the request is sent.

    :param values: the values of the instance.
    :param mapping: the mapping of the instance's model.
    :param write: the result of `begin_write`.
    :param positions: the set of the positions that the write sends.
    """
    write.positions = positions = positions & mapping.value_positions
    # Until the response arrives, and after an error, the database may have the old or the new
    # value. So if the application sets the old value again, that value must be written.
    # (Collections are not included, because their differences are written. Assigning a whole
    # collection could overwrite elements that other clients have added. See `Values.failed`.)
    write.in_doubt = in_doubt = positions & ~mapping.mutable_positions
    if not mapping.has_counter:
        write.doubtful = positions & mapping.changing_positions
    values.unknown |= in_doubt
    if len(values.in_flight) == 1 or mapping.has_counter:
        return
    # Servers may execute concurrent writes in any order. So mark the positions to which they send
    # different values as disputed: `_remove` makes the next write send these positions again.
    disputed = 0
    for other in values.in_flight:
        if other is write:
            continue
        for position, column in enumerate(mapping.order):
            if other.positions >> position & 1 and (
                column.mutable or are_different(other[position], write[position])
            ):
                disputed |= 1 << position
    with _lock:
        values.disputed |= disputed


def end_write(values: Values, mapping: ColumnsOfModel, write: Written, has_succeeded: bool) -> None:
    """Record the end of a write: if it has succeeded, its values become the stored values.

    :param values: the values of the instance.
    :param mapping: the mapping of the instance's model.
    :param write: the result of `begin_write`.
    :param has_succeeded: False if the write has failed, or if there was nothing to write.
    """
    with _lock:
        # If a later write has begun, only the result of that write is stored, because it also sends
        # the changes of this write.
        if has_succeeded and mapping.has_counter:
            values.stored = _with_counts(write, values.stored, mapping, (write,))
            _note_deleted_counters(values, mapping, write)
        elif has_succeeded and write.number == values.write_count:
            _store(values, mapping, write)
        elif not has_succeeded and write.has_company:
            # This write would also have sent the changes of the other writes. Mark them as
            # disputed, so that the next write sends them.
            values.disputed |= write.positions
        elif not has_succeeded:
            _keep_failed(values, mapping, write)
        _remove(values, write)


def _keep_failed(values: Values, mapping: ColumnsOfModel, write: Written) -> None:
    """Add a write that has failed to `Values.failed`, if servers may have executed it."""
    # If a later write has succeeded, it has also sent the changes of this write.
    if not write.doubtful or write.number < values.stored_number:
        return
    # Applications repeat failed writes in a loop. If this write has sent the same values as an
    # earlier failed write, it replaces that write.
    others = tuple(
        other
        for other in values.failed
        if any(
            other.positions & ~write.doubtful & 1 << position
            or (
                other.positions >> position & 1
                and _differs(column, other.sent[position], write[position])
            )
            for position, column in enumerate(mapping.order)
        )
    )
    if len(others) < MOST_FAILED:
        values.failed = (*others, FailedWrite(write.number, list(write), write.doubtful))
        return
    # Too many failed writes are kept already. Drop them all, and mark their positions as disputed,
    # so that the next write assigns the whole values.
    values.failed = ()
    values.disputed |= write.doubtful
    for other in others:
        values.disputed |= other.positions


def _remove(values: Values, write: Written) -> None:
    """Remove a write that has ended from the writes in flight."""
    # Compare the writes by identity.
    in_flight = values.in_flight
    values.in_flight = (
        () if in_flight == (write,) else tuple(other for other in in_flight if other is not write)
    )
    # We do not know in which order the servers have executed the writes, so make the next write
    # send the disputed values again.
    if values.disputed and not values.in_flight:
        values.explicit |= values.disputed
        values.unknown |= values.disputed


def _store(values: Values, mapping: ColumnsOfModel, write: Written) -> None:
    """Make the values of a write the stored values."""
    written_bits = write.explicit
    originals = write.originals or write
    # The database has the written values, so they are known.
    if write.is_insert:
        unknown = 0
    elif write.stored is None:
        unknown = ~(written_bits | write.exposed)
    else:
        unknown = write.unknown & ~(written_bits | write.exposed)
    # Count a null collection as unknown: if the application sets the collection next, it is
    # assigned as a whole. Otherwise its elements would be added to elements that other clients may
    # have written.
    for position in mapping.mutable:
        if originals[position] is None and (write.is_insert or written_bits >> position & 1):
            unknown |= 1 << position
    if values.disputed and not write.has_company:
        values.disputed &= ~write.positions
    if values.failed:
        values.failed = _without_written(values.failed, write)
    values.stored_number = write.number
    values.stored = write.copy()
    values.unknown = unknown
    values.exposed |= write.exposed
    values.explicit &= ~written_bits
    # If the application has set values since the write began, these values were not written, so
    # mark them as explicit again. Do this last: another thread may set a value at any time, and
    # sets the bit in `explicit` only afterwards.
    if not all(map(is_, values, originals)):
        for position, value in enumerate(originals):
            if values[position] is not value:
                values.explicit |= written_bits & 1 << position


def _without_written(
    failed_writes: Sequence[FailedWrite], write: Written
) -> tuple[FailedWrite, ...]:
    """Return the failed writes without the positions that `write` has written later."""
    remaining = []
    for failed in failed_writes:
        positions = failed.positions
        # If the failed write began after `write`, servers may also execute it after `write`. So
        # keep all positions of such a write.
        if failed.number < write.number:
            positions &= ~write.positions
        if positions:
            remaining.append(failed._replace(positions=positions))
    return tuple(remaining)


def count_as_stored(values: Values, mapping: ColumnsOfModel) -> None:
    """Make the current values the stored values without a write.

    :param values: the values of an instance.
    :param mapping: the mapping of its model.
    """
    end_write(values, mapping, begin_write(values, mapping, is_insert=False), has_succeeded=True)
