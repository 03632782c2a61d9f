"""The state of an instance: the values of its columns, by their position in the model.

The state of an instance that was read is the tuple of its row. `Values` replaces the tuple when the
application sets a value, or when it reads a collection, which it may then change in place.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import is_
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from cassandra._forks import renew_in_child
from cassandra.cqlengine.copies import IMMUTABLE_CLASSES, are_different
from cassandra.cqlengine.errors import ValidationError
from cassandra.cqlengine.options import DEFAULTS, Options

if TYPE_CHECKING:
    from cassandra.cqlengine.columns.base import Column


# The maximum number of failed writes whose values an instance keeps: see `Values.failed`.
MOST_FAILED = 8
# This lock is held while a write begins or ends, because several threads may write one instance. It
# is reentrant: a garbage collection may run a finalizer of the application that writes, too.
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
        """True if columns are counters."""

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
        """For each position in `mutable`, a function that copies a value for the application."""

    @property
    def copiers(self) -> Iterable[tuple[int, Callable[[Any], Any]]]:
        """(position, function that copies a value) for columns that `mutable` does not contain.

        Some values of these columns may change in place, for example tuples of lists.
        """


class FailedWrite(NamedTuple):
    """The values of a write that has failed, although servers may have executed it.

    :param number: the number of the write.
    :param sent: the values of the write, by position.
    :param positions: the positions that the write has sent and no later write has written, of
        values that may change in place: bit N is set for position N.
    """

    number: int
    sent: Sequence[Any]
    positions: int


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

    The attribute `in_flight` has the writes that have no response yet. `disputed` is the set of the
    positions to which concurrent writes send different values. The database may have any of these
    values, until a write that runs alone has written the positions.

    The attribute `failed` has a `FailedWrite` for each write that has failed, although servers may
    have executed it. For values that may change in place, the database may have the values of these
    writes instead of those in `stored`.
    """

    __slots__ = (
        "disputed", "explicit", "exposed", "failed", "in_flight", "options", "stored",
        "stored_number", "unknown", "write_count",
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

    * `number` counts the writes of the instance.
    * `originals` are the instance's own objects, of which this list may have copies. None if it
      has no copies.
    * `positions` is the set of the positions that the write sends, without the primary key.
    * `in_doubt` is a subset of `positions`: if the write fails, these have to be written again,
      even if the application sets their old values.
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
        # Another thread may set a value at any time, and then marks it as explicit: copy the values
        # before the marks. (This does not call `__init__` of `Values`, for speed.)
        list.__init__(self, values)
        self.originals: list[Any] | None = None
        self.stored = values.stored
        self.explicit = values.explicit
        self.exposed = values.exposed
        self.unknown = values.unknown
        self.disputed = values.disputed
        self.failed = values.failed
        self.options = values.options
        self.is_insert = is_insert
        self.has_company = False
        # Until `will_write` sets the exact positions, use all positions that the write may send.
        self.positions = (self.explicit | self.exposed) & mapping.value_positions
        self.in_doubt = self.doubtful = 0
        values.write_count = self.number = values.write_count + 1


class SavedState:
    """The state of an instance before its write was added to a batch.

    If the batch fails, it restores this state.

    :param values: the values of the instance.
    :param mapping: the mapping of the instance's model.
    :param write: the result of `begin_write`.
    """

    __slots__ = ("_is_restored", "_mapping", "_other", "_values", "_write", "_write_count")

    def __init__(self, values: Values, mapping: ColumnsOfModel, write: Written) -> None:
        self._values = values
        self._mapping = mapping
        self._write = write
        # What the next `swap` restores: the values of the attributes (stored, explicit, unknown,
        # failed). They are now the values before the write. After the first `swap`, they are the
        # values after the write.
        self._other = (write.stored, write.explicit, write.unknown, write.failed)
        self._is_restored = False
        # The instance's `write_count` when the batch was last executed; None before that.
        self._write_count: int | None = None

    def begin_execution(self) -> None:
        """Call this before the batch is sent: the instance's write is then in flight."""
        values = self._values
        self._write_count = values.write_count
        # For counters, the stored values already include what the batch adds, so later writes need
        # not know of this write.
        if not self._mapping.has_counter:
            with _lock:
                values.in_flight = (*values.in_flight, self._write)

    def end_execution(self, has_failed: bool = False) -> None:
        """Call this after the batch has succeeded, or after its states were restored.

        :param has_failed: True if the batch has failed; servers may still have executed it.
        """
        with _lock:
            if has_failed:
                self._values.unknown |= self._write.in_doubt
                _keep_failed(self._values, self._mapping, self._write)
            _remove(self._values, self._write)

    def swap(self) -> None:
        """Restore the state before the write. A second call restores the state after the write."""
        values, write = self._values, self._write
        other = self._other
        self._other = (values.stored, values.explicit, values.unknown, values.failed)
        self._is_restored = not self._is_restored
        is_alone = not write.has_company and self._write_count in (None, values.write_count)
        if self._mapping.has_counter and not (is_alone and other[0] is None):
            sign = -1 if self._is_restored else 1
            values.stored = _with_counts(write, values.stored, self._mapping, (write,), sign)
            return
        if not is_alone:
            # Other writes of the instance have ended in the meantime. They may have sent other
            # values for the same positions, so the next write sends these positions once more.
            values.disputed |= write.positions
            return
        explicit = values.explicit
        values.stored, values.explicit, values.unknown, values.failed = other
        # Adding the write to the batch has settled the disputed positions, but it was not executed.
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
    # The tuple cannot change, so it becomes `stored` without a copy.
    values = instance._row = Values(row, row)
    return values


def values_read(values: Values, position: int, isolated: Callable[[Any], Any]) -> Any:
    """Return a collection or similar value as an object that the application may change in place.

    :param isolated: makes the object from the stored value. The object and the stored value must
        share nothing that may change in place. Otherwise a change by the application would change
        the stored value, too, and `changed_positions` would find no difference between them.
    """
    # `exposed` has a bit for each position.
    bit = 1 << position
    # Make the object only once: later reads return the same object, with the application's changes.
    if not values.exposed & bit:
        values[position] = isolated(values[position])
        values.exposed |= bit
    return values[position]


def changed_positions(values: Values, mapping: ColumnsOfModel) -> list[int]:
    """Return the positions of the values that differ from the database's."""
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
                # A counter of 0 needs no write: it would add nothing.
                and not (column.is_counter and not values[position])
            )
        ]
    positions = []
    # Only look at values that the application has set or may have changed. Other values may differ
    # too, but only because an application's column class has converted them in `validate`.
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
        is_unknown = is_explicit and (column.is_null(value) or values.unknown & bit)
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


def doubtful_positions(values: Values, mapping: ColumnsOfModel) -> int:
    """Return the positions that a failed write has sent with another value than the current one.

    These positions have to be written even if the value is the stored one, because the database may
    have the value of the failed write.

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
    """Return True for the value of a new instance that the application has not set or changed.

    It is the default of a collection or similar column, and null for other columns.
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
        # Also send the changes of earlier writes that have no response yet.
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

    Only values that the application has read or set need a copy.
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
            # The application may change its object again after this write.
            write.exposed |= 1 << position


def _add_changes_in_flight(
    write: Written, mapping: ColumnsOfModel, others: Sequence[Written]
) -> None:
    """Make a write also send the changes of other writes of the instance that have no response yet.

    The write assigns collections as a whole: while the database's values are not known, it cannot
    send a difference to them. Counters cannot be assigned, so the write only adds what the other
    writes do not add.
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
    """Return the stored values of a row of counters, after some writes have been added.

    :param write: a write with the row's key.
    :param stored: the stored values before; None if there are none.
    :param additions: the writes to add.
    :param sign: -1 to subtract the writes instead.
    """
    counts = list(write)
    for position, column in enumerate(mapping.order):
        if column.is_counter:
            # A counter that is not stored yet counts as 0.
            counts[position] = (stored[position] or 0) if stored else 0
            # Each write adds the difference between its value and the value that was stored before.
            for added in additions:
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
    # values. So if the application sets an old value again, it must be written. (Collections are
    # left out, because their differences are written: assigning a whole collection could overwrite
    # elements of other clients. See `Values.failed`.)
    write.in_doubt = in_doubt = positions & ~mapping.mutable_positions
    if not mapping.has_counter:
        write.doubtful = positions & mapping.changing_positions
    values.unknown |= in_doubt
    if len(values.in_flight) == 1 or mapping.has_counter:
        return
    # Servers may execute concurrent writes in any order, so mark the positions in which they differ
    # as disputed. `_remove` then has them written again.
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
        # If another write has begun later, only the later write's result counts, because it also
        # sends the changes of this write.
        if has_succeeded and mapping.has_counter:
            values.stored = _with_counts(write, values.stored, mapping, (write,))
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
    """Keep a write that has failed, if the database may have its values."""
    # A write that has begun later, and has succeeded, has also sent the changes of this write.
    if not write.doubtful or write.number < values.stored_number:
        return
    # A later write of the same values replaces the earlier one: applications try again in a loop.
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
    # There are too many values to compare with: have the next write assign all of these positions.
    values.failed = ()
    values.disputed |= write.doubtful
    for other in others:
        values.disputed |= other.positions


def _remove(values: Values, write: Written) -> None:
    """Remove a write that has ended from the writes in flight."""
    # Writes are compared by identity.
    in_flight = values.in_flight
    values.in_flight = (
        () if in_flight == (write,) else tuple(other for other in in_flight if other is not write)
    )
    # The servers' order of the writes is not known, so have the next write send the disputed values
    # once more.
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
    # Count a null collection as unknown. If the application sets the collection next, it is then
    # written as a whole, and not added to elements that other clients may have written.
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
    # Mark values that the application has set since the write began as explicit again, because they
    # were not written. Do this last: another thread may set a value at any time, and marks the
    # value as explicit only afterwards.
    if not all(map(is_, values, originals)):
        for position, value in enumerate(originals):
            if values[position] is not value:
                values.explicit |= written_bits & 1 << position


def _without_written(
    failed_writes: Sequence[FailedWrite], write: Written
) -> tuple[FailedWrite, ...]:
    """Return the failed writes without the positions that a later write has written."""
    remaining = []
    for failed in failed_writes:
        positions = failed.positions
        # A failed write with a higher number was begun later, so servers may execute it later, too.
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
