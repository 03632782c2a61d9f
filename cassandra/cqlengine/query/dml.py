"""Writes of rows: saving, updating and deleting instances.

Each write is an operation: a generator that yields its requests (`cassandra.cqlengine.running`).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from cassandra._habits import stack_level
from cassandra.cqlengine.clauses import AssignmentClause, ConditionalClause, WhereClause
from cassandra.cqlengine.copies import are_different
from cassandra.cqlengine.errors import ValidationError
from cassandra.cqlengine.mapping import Mapping, StatementPlan
from cassandra.cqlengine.operators import EqualsOperator
from cassandra.cqlengine.options import DEFAULTS, NOT_SET, Options
from cassandra.cqlengine.private_names import CompatDMLQuery
from cassandra.cqlengine.query.errors import check_applied, has_written_nothing
from cassandra.cqlengine.running import Operation, Request, run
from cassandra.cqlengine.statements import (
    BaseCQLStatement,
    DeleteStatement,
    InsertStatement,
    UpdateStatement,
    microseconds_of,
)
from cassandra.cqlengine.values import (
    SavedState,
    Values,
    Written,
    begin_write,
    changed_positions,
    counters_to_delete,
    doubtful_positions,
    end_write,
    failed_values,
    values_of,
    will_write,
)

if TYPE_CHECKING:
    from cassandra.cqlengine.models import BaseModel
    from cassandra.cqlengine.query.batch import BatchQuery
    from cassandra.cqlengine.statements import Timestamp

_EQUALS = EqualsOperator()


class Write(NamedTuple):
    """The CQL of a prepared statement that writes an instance, and its values.

    :param positions: the positions of the written columns: bit N is set for position N.
    :param is_repeatable: True if applying the statement twice leaves the same row as applying it
        once.
    """

    text: str
    values: list[Any]
    positions: int
    is_repeatable: bool = True


def warn_of_dropped_conditions(options: Options, verb: str) -> None:
    """Warn about conditions of the options that CQL does not have for the statement.

    These conditions have no effect. If a condition is in `options.reused`, an earlier write of the
    instance has used it or has warned about it, so there is no further warning.

    :param verb: "INSERT", "UPDATE" or "DELETE".
    """
    reused = options.reused
    # INSERT can only have IF NOT EXISTS. UPDATE and DELETE can have all conditions except this one.
    if verb == "INSERT":
        dropped = ["if_exists()"] if options.if_exists and "if_exists" not in reused else []
        if options.conditionals and "conditionals" not in reused:
            dropped.append("iff()")
        advice = "to change a row that exists, use update()"
    else:
        is_dropped = options.if_not_exists and "if_not_exists" not in reused
        dropped = ["if_not_exists()"] if is_dropped else []
        advice = "to write a row that does not exist, use create()"
    if dropped:
        warnings.warn(
            f"{' and '.join(dropped)} has no effect on {verb}, which is executed in any case: "
            f"{advice}",
            RuntimeWarning,
            stacklevel=stack_level(),
        )


def is_idempotent(model: Any, options: Options) -> bool:
    """Return True if the application allows the driver to send a statement again.

    :param model: the model or named table; its `__idempotent__` is the default.
    """
    if options.idempotent is None:
        return bool(model.__idempotent__)
    return options.idempotent


def timestamp_of(options: Options, counters: bool = False) -> int | None:
    """Return the timestamp of a statement in microseconds; None for no timestamp.

    If the options have no timestamp, return the timestamp of the batch in the options, if any.

    :param counters: True for a write of counters, to which the batch's timestamp does not apply.
    """
    if options.timestamp is not None:
        return microseconds_of(options.timestamp)
    if options.batch is not None and not counters:  # servers refuse timestamps for counters
        return options.batch.timestamp
    return None


def execute_write(
    model: type[BaseModel],
    options: Options,
    text: str,
    values: Sequence[Any],
    saved_state: SavedState | None = None,
    instance: BaseModel | None = None,
    is_repeatable: bool = True,
    is_insert: bool = False,
) -> Operation[None]:
    """Execute the CQL of a write, or add it to the batch.

    :param saved_state: the state of the instance before the write, which the batch restores if the
        batch fails.
    :param instance: the instance that is written; None for a write of a queryset.
    :param is_repeatable: True if applying the write twice leaves the same row as applying it once.
    :param is_insert: True if the write is an INSERT.
    :raises LWTException: if the write is conditional and was not applied.
    """
    # The class of the instance may have another `__connection__` than `model`.
    connection = options.connection or (model if instance is None else instance).__connection__
    # The driver must not send a conditional write again: if the first attempt was applied, its
    # condition may not hold any more.
    is_conditional = options is not DEFAULTS and options.is_conditional(is_insert)
    idempotent = is_repeatable and not is_conditional and is_idempotent(model, options)
    if options.batch is not None:
        options.batch.add_bound(text, values, is_conditional, connection, saved_state, idempotent)
        if saved_state is not None:
            saved_state.release_batch(timestamp_of(options, model.__mapping__.has_counter))
        return
    consistency = options.consistency if options.consistency is not None else model.__consistency__
    request = Request(text, values, connection, consistency=consistency, timeout=options.timeout)
    request.idempotent = idempotent
    result = yield request
    if is_conditional:
        check_applied(result)


# -- saving ---------------------------------------------------------------------------------------


def save(instance: BaseModel) -> Operation[BaseModel]:
    """Insert `instance`, or update its changes if its row was read or saved before."""
    mapping = instance.__mapping__
    values = values_of(instance)
    if mapping.discriminator is not None:
        mapping.set_discriminator(values)
    instance.validate()
    # CQL changes counters by UPDATE only, so an INSERT is not possible.
    is_insert = not mapping.has_counter and _is_new_row(mapping, values)
    written, write = begun_write(mapping, values, insertion if is_insert else _update, is_insert)
    if write is not None:
        yield from finish_write(instance, values, written, write)
    if mapping.has_counter:
        yield from _delete_counters(instance, values)
    return instance


def _is_new_row(mapping: Mapping, values: Values) -> bool:
    """Return True if the row was never saved or read.

    If the key has changed, the values belong to another row, too. The old row stays.
    """
    stored = values.stored
    if stored is None:
        return True
    for position in mapping.key_positions:
        key, stored_key = values[position], stored[position]
        if key is not stored_key and are_different(key, stored_key):
            return True
    return False


def begun_write(
    mapping: Mapping,
    values: Values,
    write_of: Callable[[Mapping, Values], Write | None],
    is_insert: bool,
) -> tuple[Written, Write | None]:
    """Begin a write of an instance; return the snapshot of its values, and a `Write` or None.

    The caller passes both to `finish_write`. If there is nothing to write, the second item is None:
    the write has ended already, so the caller must not call `finish_write`. The same applies if
    this function raises an error.

    :param values: the instance's values.
    :param write_of: returns the CQL for the snapshot, or None if there is nothing to write.
    :param is_insert: True if the write has all values, False if it has only the changed values.
    """
    written = begin_write(values, mapping, is_insert)
    has_begun = False
    try:
        write = write_of(mapping, written)
        if write is None:
            written.positions = 0  # the write sends no column
        else:
            will_write(values, mapping, written, write.positions)
            has_begun = True
    finally:
        if not has_begun:
            end_write(values, mapping, written, has_succeeded=False)
    return written, write


def finish_write(
    instance: BaseModel, values: Values, written: Written, write: Write
) -> Operation[None]:
    """Execute a write of `instance`, or add it to the batch, and mark its values as stored.

    :param values: the instance's values.
    :param written: the snapshot of the values, from `begun_write`.
    :param write: the `Write` from `begun_write`.
    """
    mapping = instance.__mapping__
    # A batch restores this state of the instance if it fails.
    in_batch = written.options.batch is not None
    saved_state = SavedState(values, mapping, written) if in_batch else None
    if saved_state is not None and not written.is_insert:
        saved_state.repeated = partial(_update_to_repeat, mapping, written)
    has_succeeded = False
    try:
        yield from execute_write(
            type(instance),
            written.options,
            write.text,
            write.values,
            saved_state,
            instance,
            write.is_repeatable,
            written.is_insert,
        )
        has_succeeded = True
    except BaseException as error:
        if has_written_nothing(error):
            written.doubtful = 0
        raise
    finally:
        end_write(values, mapping, written, has_succeeded)


def insertion(mapping: Mapping, values: Values) -> Write:
    """Return an INSERT with all values that are not null, and with nulls that must delete a value.

    A null that the application has set is written. Other nulls are not, because each null leaves a
    tombstone.
    """
    options = values.options
    if options.if_exists or options.conditionals:
        warn_of_dropped_conditions(options, "INSERT")
    explicit_bits = values.explicit
    if values.stored is not None:
        # The key of a saved instance has changed, so this INSERT writes another row, which may
        # exist already. If the application has set a value to null, or has emptied a collection,
        # write the null too: it deletes the value of the existing row.
        for position in changed_positions(values, mapping):
            explicit_bits |= 1 << position
    elif values.failed:
        # Servers may have executed an earlier INSERT of the row that seemed to fail. If it had a
        # value that is null now, write the null to delete that value.
        explicit_bits |= doubtful_positions(values, mapping)
    # Without values of the clustering columns, CQL can only write static columns. So leave out the
    # defaults of other columns. If the application has set a value in another column, `_check_keys`
    # raises an error.
    left_out = 0
    if mapping.has_static and values.stored is None and mapping.lacks_clustering_key(values):
        left_out = mapping.row_positions & ~explicit_bits
    written_bits = 0  # the positions of the written columns, as bits
    bound: list[Any] = []
    for value, (bit, is_null, to_bound, is_key) in zip(values, mapping.insertion, strict=True):
        if left_out & bit:
            continue
        if value is None or (is_null is not None and is_null(value)):
            # A null that the application has set deletes the value in the database.
            if is_key or not explicit_bits & bit:
                continue
            bound.append(None)
        else:
            bound.append(value if to_bound is None else to_bound(value))
        written_bits |= bit
    _check_keys(mapping, values, written_bits)
    table = mapping.table_name(options.keyspace)
    timestamp = timestamp_of(options)
    # The CQL depends only on the items of this tuple, so the tuple is its key in the cache.
    plan_key = (
        "insert",
        table,
        written_bits,
        options.ttl is None,
        timestamp is None,
        options.if_not_exists,
    )
    plan = mapping.statement_plans.get(plan_key)
    if plan is None:
        plan = mapping.statement_plan(
            plan_key, lambda: _insert_plan(mapping, table, written_bits, options, timestamp)
        )
    if options.ttl is not None:
        bound.append(options.ttl)
    if timestamp is not None:
        bound.append(timestamp)
    # If servers apply the INSERT of a list twice, the list has its elements twice. See
    # `ListUpdateClause.is_repeatable`.
    return Write(plan.text, bound, written_bits, not written_bits & mapping.list_positions)


def _insert_plan(
    mapping: Mapping, table: str, written_bits: int, options: Options, timestamp: int | None
) -> StatementPlan:
    """Build the plan of an INSERT of the columns in `written_bits`.

    :param written_bits: the written columns: bit N is set for the column at position N.
    """
    assignments = [
        AssignmentClause(column.db_field_name, value=None)
        for position, column in enumerate(mapping.order)
        if written_bits >> position & 1
    ]
    return StatementPlan(
        InsertStatement(
            table,
            assignments,
            ttl=options.ttl,
            timestamp=timestamp,
            if_not_exists=options.if_not_exists,
        ).prepared()
    )


def _check_keys(mapping: Mapping, values: Values, written_bits: int) -> None:
    """Raise ValidationError for a key column without a value.

    :param written_bits: the written columns: bit N is set for the column at position N.
    """
    for key_position, column in mapping.key_checks:
        if values[key_position] is not None:
            continue
        written_columns = [
            written_column
            for position, written_column in enumerate(mapping.order)
            if written_bits >> position & 1 and not written_column.primary_key
        ]
        if (
            not column.partition_key
            and written_columns
            and all(written_column.static for written_column in written_columns)
        ):
            continue  # all written columns are static: they need no clustering key
        raise ValidationError(f"{column.label} - None values are not allowed in the primary key")


def _update(mapping: Mapping, values: Values) -> Write | None:
    """Return the UPDATE of all changes; None if there are no changes.

    It leaves out counters that the application has set to null: see `_delete_counters`.
    """
    options = values.options
    # A new row of counters is written by an UPDATE of all counters, also of those that it does not
    # change. Otherwise the row would not exist.
    changed = changed_positions(values, mapping)
    if mapping.has_counter and _is_new_row(mapping, values):
        # Without a clustering key, CQL can only write static counters.
        only_static = mapping.has_static and mapping.lacks_clustering_key(values)
        changed = [
            position
            for position, column in enumerate(mapping.order)
            if column.is_counter and (column.static or not only_static or position in changed)
        ]
    if mapping.has_counter and (to_delete := counters_to_delete(values, mapping)):
        # The DELETE follows. If the key is not complete, refuse it before the UPDATE is sent.
        _check_keys(mapping, values, to_delete)
        changed = [position for position in changed if not to_delete >> position & 1]
    written_bits = 0
    for position in changed:
        written_bits |= 1 << position
    # Leave out changes of the key, because an UPDATE cannot change a key.
    if written_bits & ~mapping.value_positions:
        written_bits &= mapping.value_positions
        changed = [position for position in changed if written_bits >> position & 1]
    if not changed:
        return None
    if options.if_not_exists:
        warn_of_dropped_conditions(options, "UPDATE")
    _check_keys(mapping, values, written_bits)
    # In an UPDATE of static columns only, CQL does not accept clustering columns in WHERE.
    only_static = not written_bits & mapping.row_positions
    keys = mapping.partition_positions if only_static else mapping.key_positions
    timestamp = timestamp_of(options, mapping.has_counter)
    table = mapping.table_name(options.keyspace)
    # If all changes are plain assignments, cache the CQL. A collection that becomes null is also a
    # plain assignment.
    if not written_bits & mapping.difference_positions or all(
        mapping.order[position].update_clause is not None
        and mapping.order[position].is_null(values[position])
        for position in changed
        if mapping.difference_positions >> position & 1
    ):
        text, bound = _plain_update(mapping, values, options, table, changed, keys, timestamp)
        return Write(text, bound, written_bits)
    statement = UpdateStatement(
        table, ttl=options.ttl, timestamp=timestamp, if_exists=options.if_exists
    )
    for position in changed:
        _add_change(statement, mapping, values, position)
    _add_where_and_conditions(statement, mapping, values, keys, options)
    # An UPDATE that assigns a whole list is not repeatable, as in an INSERT: see
    # `ListUpdateClause.is_repeatable`.
    is_repeatable = statement.is_repeatable and not (
        written_bits & values.disputed & mapping.list_positions
    )
    return Write(statement.prepared(), statement.bound(), written_bits, is_repeatable)


def _delete_counters(instance: BaseModel, values: Values) -> Operation[None]:
    """Delete the counters that the application has set to null, because UPDATE cannot do that.

    Like cassandra-driver, do so after the UPDATE of other counters. The two statements are two
    writes of the instance: if the DELETE fails, the next `save` repeats only the DELETE.
    """
    mapping = instance.__mapping__
    if not counters_to_delete(values, mapping):
        return
    written, write = begun_write(mapping, values, _counter_deletion, is_insert=False)
    if write is not None:
        yield from finish_write(instance, values, written, write)


def _counter_deletion(mapping: Mapping, values: Values) -> Write | None:
    """Return the DELETE of the counters that the application has set to null; None for none."""
    to_delete = counters_to_delete(values, mapping)
    if not to_delete:
        return None
    # As in `_update`, CQL does not accept clustering columns in WHERE for static columns only.
    only_static = not to_delete & mapping.row_positions
    keys = mapping.partition_positions if only_static else mapping.key_positions
    # Servers refuse a timestamp for counters, so the statement has none, as in cassandra-driver.
    statement = DeleteStatement(
        mapping.table_name(values.options.keyspace),
        [
            column.db_field_name
            for position, column in enumerate(mapping.order)
            if to_delete >> position & 1
        ],
    )
    _add_where_and_conditions(statement, mapping, values, keys, values.options)
    return Write(statement.prepared(), statement.bound(), to_delete)


def _update_to_repeat(
    mapping: Mapping, written: Written, earlier: int
) -> tuple[str, list[Any]] | None:
    """Return the CQL and the values of an UPDATE in a batch that is executed again.

    It assigns whole lists. Servers may have executed the batch before, and would add the elements
    of the lists once more. The UPDATE remains as it is if the result is None.

    :param written: the snapshot of the instance's values when it was added to the batch.
    :param earlier: the positions that earlier statements of the batch have written. The UPDATE adds
        elements to what they have assigned. Bit N is set for position N.
    """
    lists = written.positions & mapping.list_positions & ~earlier
    if not lists:
        return None
    disputed = written.disputed
    written.disputed |= lists  # `_update` assigns disputed values as a whole
    try:
        write = _update(mapping, written)
    finally:
        written.disputed = disputed
    return None if write is None else (write.text, write.values)


def _to_bind(mapping: Mapping, position: int, value: object) -> object:
    """Return a value of the column at `position` in the form that is bound."""
    to_bound = mapping.wires[position]
    if value is None or to_bound is None:
        return value
    return to_bound(value)


def _plain_update(
    mapping: Mapping,
    values: Values,
    options: Options,
    table: str,
    changed: list[int],
    keys: tuple[int, ...],
    timestamp: int | None,
) -> tuple[str, list[Any]]:
    """Return the CQL and the values of an update whose changes are all plain assignments."""
    conditions = tuple((clause.field, type(clause.operator)) for clause in options.conditionals)
    # The CQL depends only on the items of this tuple, so the tuple is its key in the cache.
    plan_key = (
        "update", table, tuple(changed), keys, options.ttl is None, timestamp is None,
        options.if_exists, conditions,
    )  # fmt: skip
    plan = mapping.statement_plans.get(plan_key)
    if plan is None:
        statement = UpdateStatement(
            table, ttl=options.ttl, timestamp=timestamp, if_exists=options.if_exists
        )
        for position in changed:
            statement.add_assignment(
                AssignmentClause(mapping.order[position].db_field_name, value=None)
            )
        _add_where_and_conditions(statement, mapping, values, keys, options)
        text = statement.prepared()
        # `statement_plan` also limits the size of the cache.
        plan = mapping.statement_plan(plan_key, lambda: StatementPlan(text))
    # The values in the order of the markers: USING, SET, WHERE, IF.
    bound: list[Any] = [] if options.ttl is None else [options.ttl]
    if timestamp is not None:
        bound.append(timestamp)
    for position in changed:
        value, to_bound = values[position], mapping.wires[position]
        if mapping.order[position].is_null(value):
            bound.append(None)
        else:
            bound.append(value if to_bound is None else to_bound(value))
    bound += [_to_bind(mapping, position, values[position]) for position in keys]
    bound += [clause.value for clause in options.conditionals]
    return plan.text, bound


def _add_change(
    statement: UpdateStatement, mapping: Mapping, values: Values, position: int
) -> None:
    """Add the change of one column to an UPDATE, with the clause for its type."""
    column, value = mapping.order[position], values[position]
    old_value = None if values.stored is None else values.stored[position]
    if column.is_counter:
        statement.add_update(column, value or 0, previous=old_value or 0)
    elif column.is_null(value):
        statement.add_assignment(AssignmentClause(column.db_field_name, value=None))
    elif values.disputed >> position & 1:
        # Several writes have sent different values of the column, so the database may have any of
        # them. Assign the whole value.
        bound_value = _to_bind(mapping, position, value)
        statement.add_assignment(AssignmentClause(column.db_field_name, value=bound_value))
    else:
        # If the stored value of a collection is known, write only the difference from it. Treat a
        # stored null as an empty collection: the UPDATE then adds the new elements to elements that
        # other clients have written in the meantime, and does not replace these.
        writes_difference = values.stored is not None and column.update_clause is not None
        # If the application has set the collection without knowing the row's value, assign the
        # whole collection.
        is_explicit = values.explicit >> position & 1
        is_unknown = values.unknown >> position & 1
        if is_explicit and is_unknown:
            writes_difference = False
        previous = None
        if writes_difference:
            previous = _to_bind(mapping, position, column.to_python(old_value))
        bound_value = _to_bind(mapping, position, value)
        # Servers may have executed failed writes. So compute a difference that is also correct if
        # the column has the value of a failed write.
        others = failed_values(values, position) if values.failed else []
        if others and column.update_clause is not None:
            others = [_to_bind(mapping, position, column.to_python(other)) for other in others]
            previous = column.update_clause.previous_of(bound_value, previous, others)
        statement.add_update(column, bound_value, previous=previous)


def _add_where_and_conditions(
    statement: BaseCQLStatement,
    mapping: Mapping,
    values: Values,
    keys: tuple[int, ...],
    options: Options,
) -> None:
    """Add the key to WHERE, and the conditions of the options to IF.

    :param keys: the positions of the key columns.
    """
    for position in keys:
        name = mapping.order[position].db_field_name
        statement.add_where(
            WhereClause(name, _EQUALS, _to_bind(mapping, position, values[position]))
        )
    for clause in options.conditionals:
        statement.add_conditional_clause(
            ConditionalClause(clause.field, clause.value, clause.operator)
        )


def assign(instance: BaseModel, changes: dict[str, Any]) -> None:
    """Set attributes of an instance.

    :param changes: the values by name.
    :raises ValidationError: for names without a column, and for changes of the primary key.
    """
    positions_to_change(instance, changes)
    for name, value in changes.items():
        setattr(instance, name, value)


def positions_to_change(instance: BaseModel, changes: dict[str, Any]) -> list[int]:
    """Return the positions of the columns that have a value in `changes`.

    :raises ValidationError: for names without a column, and for changes of the primary key.
    """
    model = type(instance)
    mapping = model.__mapping__
    positions = []
    for name, value in changes.items():
        position = mapping.index.get(name)
        if position is None:
            raise ValidationError(
                f"{model.__module__}.{model.__name__} has no column named: {name} (the columns "
                f"are {', '.join(mapping.columns)})"
            )
        # A column of the key may be set to the value that it already has.
        is_key = mapping.order[position].primary_key
        if is_key and are_different(value, instance._row[position]):
            raise ValidationError(
                f"Cannot apply update to primary key '{name}' for "
                f"{model.__module__}.{model.__name__}"
            )
        positions.append(position)
    return positions


def update(instance: BaseModel, changes: dict[str, Any]) -> Operation[BaseModel]:
    """Set and write `changes`, together with other changes since the row was read.

    If `changes` are not valid, the instance keeps the values that it had before the call. If the
    request fails, `changes` stay on the instance, and the next `save` writes them.
    """
    mapping = instance.__mapping__
    values = values_of(instance)
    # Keep the state of these columns, so that an error before the request can restore it.
    positions = positions_to_change(instance, changes)
    previous_values = [values[position] for position in positions]
    explicit_bits, exposed_bits = values.explicit, values.exposed
    try:
        for name, value in changes.items():
            setattr(instance, name, value)
        if mapping.discriminator is not None:
            mapping.set_discriminator(values)
        instance.validate()
        written, write = begun_write(mapping, values, _update, is_insert=False)
    except BaseException:
        # Restore the values and their bits in `explicit` and `exposed`.
        for position, value in zip(positions, previous_values, strict=True):
            bit = 1 << position
            values[position] = value
            values.explicit = values.explicit & ~bit | explicit_bits & bit
            values.exposed = values.exposed & ~bit | exposed_bits & bit
        raise
    if write is not None:
        yield from finish_write(instance, values, written, write)
    if mapping.has_counter:
        yield from _delete_counters(instance, values)
    return instance


def delete(instance: BaseModel) -> Operation[None]:
    """Delete the row of `instance`."""
    model = type(instance)
    mapping = model.__mapping__
    values = values_of(instance)
    options = values.options
    warn_of_dropped_conditions(options, "DELETE")
    # 0 means that no column is written: the DELETE of a row needs a value for each key column.
    _check_keys(mapping, values, 0)
    timestamp = timestamp_of(options, mapping.has_counter)
    table = mapping.table_name(options.keyspace)
    conditions = tuple((clause.field, type(clause.operator)) for clause in options.conditionals)
    # The CQL depends only on the items of this tuple, so the tuple is its key in the cache.
    plan_key = ("delete", table, timestamp is None, options.if_exists, conditions)
    plan = mapping.statement_plans.get(plan_key)
    if plan is None:
        statement = DeleteStatement(table, timestamp=timestamp, if_exists=options.if_exists)
        _add_where_and_conditions(statement, mapping, values, mapping.key_positions, options)
        text = statement.prepared()
        # `statement_plan` also limits the size of the cache.
        plan = mapping.statement_plan(plan_key, lambda: StatementPlan(text))
    bound: list[Any] = [] if timestamp is None else [timestamp]
    bound += [_to_bind(mapping, position, values[position]) for position in mapping.key_positions]
    bound += [clause.value for clause in options.conditionals]
    yield from execute_write(model, options, plan.text, bound, instance=instance)
    # Of a delete and a write with the same timestamp, servers keep the delete.
    values.options = values.options.without_timestamp(options.timestamp)


def run_custom_dmlquery(instance: Any, step: str) -> bool:
    """If the application has set the model's `__dmlquery__`, let that class write an instance.

    :param instance: an instance of a model.
    :param step: "save", "update" or "delete".
    :returns: True if such a class has written the instance; False if nothing was written.
    """
    query_class = instance.__dmlquery__
    if query_class is DMLQuery:
        return False
    row = values_of(instance)
    options = row.options
    query = query_class(
        type(instance),
        instance,
        batch=options.batch,
        ttl=options.ttl,
        consistency=options.consistency,
        timestamp=options.timestamp,
        if_not_exists=options.if_not_exists,
        conditional=options.conditionals,
        timeout=options.timeout,
        if_exists=options.if_exists,
    )
    getattr(query, step)()
    if step == "delete":
        row.options = row.options.without_timestamp(options.timestamp)
    else:
        row.options = row.options.for_later(options.timestamp)
    return True


class DMLQuery(CompatDMLQuery):
    """Writes one instance with the given options.

    Applications usually call the methods of the instance. If they set a model's `__dmlquery__` to a
    subclass of this class, each write of an instance calls a method of that subclass.

    :param model: the model's class.
    :param instance: the instance to write; if it is None, writes raise ValidationError.
    :param batch: the batch to which the writes are added; None to execute them.
    :param ttl: seconds until the written values expire; None for the table's default.
    :param consistency: a `ConsistencyLevel`; None for the connection's level.
    :param timestamp: the timestamp of the writes: a datetime (a naive datetime is local time), a
        timedelta from now, or microseconds since 1970; None for none.
    :param if_not_exists: True to insert only if the row does not exist.
    :param conditional: conditions of IF; None for none.
    :param timeout: seconds for a request; None for no limit; by default the session's timeout.
    :param if_exists: True to update or delete only if the row exists.
    """

    def __init__(
        self,
        model: type[BaseModel],
        instance: BaseModel | None = None,
        batch: BatchQuery | None = None,
        ttl: int | None = None,
        consistency: int | None = None,
        timestamp: Timestamp = None,
        if_not_exists: bool = False,
        conditional: Sequence[ConditionalClause] | None = None,
        timeout: float | None = NOT_SET,
        if_exists: bool = False,
    ) -> None:
        self.model = model
        self.instance = instance
        # Programs pass the level of the class, but the instance may have a level of its own.
        if instance is not None and consistency == model.__consistency__:
            own_level = values_of(instance).options.consistency
            consistency = consistency if own_level is None else own_level
        self._options = Options().with_changes(
            batch=batch,
            ttl=ttl,
            consistency=consistency,
            timestamp=timestamp,
            if_not_exists=if_not_exists,
            conditionals=tuple(conditional or ()),
            if_exists=if_exists,
            timeout=timeout,
        )

    def batch(self, batch_obj: BatchQuery | None) -> DMLQuery:
        """Add the writes to `batch_obj`; returns self.

        :param batch_obj: a `BatchQuery`.
        """
        self._options = self._options.with_changes(batch=batch_obj)
        return self

    def _run(self, operation: Callable[[BaseModel], Operation[Any]]) -> None:
        """Run a write of the instance with the options of this object."""
        if self.instance is None:
            raise ValidationError(f"there is no instance of {self.model.__name__} to write")
        values = values_of(self.instance)
        previous_options = values.options
        # The constructor of this class has no parameters for the four options below, so take their
        # values from the instance.
        values.options = self._options.with_changes(
            keyspace=previous_options.keyspace,
            connection=previous_options.connection,
            idempotent=previous_options.idempotent,
            reused=previous_options.reused,
        )
        try:
            run(operation(self.instance))
        finally:
            values.options = previous_options

    def save(self) -> None:
        """Insert or update the instance."""
        self._run(save)

    def update(self) -> None:
        """Update the changed columns."""
        self._run(lambda instance: update(instance, {}))

    def delete(self) -> None:
        """Delete the row."""
        self._run(delete)


DMLQuery.__module__ = "cassandra.cqlengine.query"
