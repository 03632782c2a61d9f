"""Writes.

From instances, and from querysets without reading the row first. Each is an operation (see
`running`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from cassandra.cqlengine.clauses import (
    AssignmentClause,
    ConditionalClause,
    WhereClause,
)
from cassandra.cqlengine.errors import ValidationError
from cassandra.cqlengine.mapping import Mapping, StatementPlan
from cassandra.cqlengine.operators import EqualsOperator
from cassandra.cqlengine.options import NOT_SET, Options
from cassandra.cqlengine.query.errors import check_applied
from cassandra.cqlengine.running import Operation, Request, run
from cassandra.cqlengine.statements import (
    BaseCQLStatement,
    DeleteStatement,
    InsertStatement,
    UpdateStatement,
    microseconds_of,
)
from cassandra.cqlengine.values import Kept, Values, changed_positions, commit, own

if TYPE_CHECKING:
    from cassandra.cqlengine.models import BaseModel
    from cassandra.cqlengine.query.batch import BatchQuery
    from cassandra.cqlengine.statements import Timestamp

__all__ = [
    "DMLQuery",
    "Write",
    "delete",
    "execute_write",
    "insertion",
    "save",
    "timestamp_of",
    "update",
    "written",
]

_EQUALS = EqualsOperator()
Write = tuple[str, list[Any]]  # the text of a prepared statement, and its values


def timestamp_of(how: Options, counters: bool = False) -> int | None:
    """Return the timestamp of a statement in microseconds: its own, or that of its batch."""
    if how.timestamp is not None:
        return microseconds_of(how.timestamp)
    if how.batch is not None and not counters:  # the servers refuse timestamps for counters
        return how.batch.timestamp
    return None


def execute_write(
    model: type[BaseModel],
    how: Options,
    text: str,
    values: Sequence[Any],
    kept: Kept | None = None,
    instance: BaseModel | None = None,
) -> Operation[None]:
    """Execute a prepared write, or add it to the batch.

    :raises LWTException: if it is conditional and was not applied.
    """
    # An instance may have a connection of its own.
    connection = how.connection or (model if instance is None else instance).__connection__
    if how.batch is not None:
        how.batch.add_bound(text, values, how.is_conditional, connection, kept)
        return
    consistency = how.consistency if how.consistency is not None else model.__consistency__
    result = yield Request(text, values, connection, consistency=consistency, timeout=how.timeout)
    if how.is_conditional:
        check_applied(result)


# -- saving ---------------------------------------------------------------------------------------


def save(instance: BaseModel) -> Operation[BaseModel]:
    """Insert `instance`, or update its changes if its row was read or saved before."""
    mapping = instance.__mapping__
    values = own(instance)
    if mapping.discriminator is not None:
        mapping.set_discriminator(values)
    instance.validate()
    was = values.was
    # Another key is another row: the old one stays, and a whole row is inserted.
    is_new = was is None
    if was is not None:
        for at in mapping.key_positions:
            if values[at] != was[at]:
                is_new = True
    # CQL has no INSERT for counters: UPDATE alone changes them.
    is_insert = is_new and not mapping.has_counter
    write = insertion(mapping, values) if is_insert else _update(mapping, values)
    if write is not None:
        yield from written(instance, values, write, is_insert=is_insert)
    return instance


def written(
    instance: BaseModel, values: Values, write: Write, *, is_insert: bool = False
) -> Operation[None]:
    """Execute `write` of `instance`, and take note of it.

    :param values: the instance's values.
    :param is_insert: whether all values are written, not only those that have changed.
    """
    how = values.how
    kept = None if how.batch is None else Kept(values)
    yield from execute_write(type(instance), how, *write, kept, instance)
    commit(values, instance.__mapping__, is_insert=is_insert)


def insertion(mapping: Mapping, values: Values) -> Write:
    """Return the INSERT of all values."""
    how = values.how
    # Nulls are written only if the program gave them, because each leaves a tombstone.
    wires, explicit = mapping.wires, values.explicit if values.was is None else 0
    mask = 0
    bound: list[Any] = []
    for at, value in enumerate(values):
        # None that was given is written, as null: it takes away what the row has.
        if not (value is None or (not value and mapping.order[at].is_null(value))):
            wire = wires[at]
            bound.append(value if wire is None else wire(value))
            mask |= 1 << at
        elif explicit >> at & 1 and not mapping.order[at].primary_key:
            bound.append(None)
            mask |= 1 << at
    _check_keys(mapping, values, mask)
    table = mapping.table_name(how.keyspace)
    timestamp = timestamp_of(how)
    key = ("insert", table, mask, how.ttl is None, timestamp is None, how.if_not_exists)
    known = mapping.statement_plans.get(key)
    if known is None:
        known = mapping.statement_plan(
            key, lambda: _insert_plan(mapping, table, mask, how, timestamp)
        )
    if how.ttl is not None:
        bound.append(how.ttl)
    if timestamp is not None:
        bound.append(timestamp)
    return known.text, bound


def _insert_plan(
    mapping: Mapping, table: str, mask: int, how: Options, timestamp: int | None
) -> StatementPlan:
    assignments = [
        AssignmentClause(column.db_field_name, None)
        for at, column in enumerate(mapping.order)
        if mask >> at & 1
    ]
    return StatementPlan(
        InsertStatement(
            table,
            assignments,
            ttl=how.ttl,
            timestamp=timestamp,
            if_not_exists=how.if_not_exists,
        ).prepared()
    )


def _check_keys(mapping: Mapping, values: Values, mask: int) -> None:
    """ValidationError that names a key column without a value."""
    for key_at, column in mapping.key_checks:
        if values[key_at] is not None:
            continue
        others = [c for at, c in enumerate(mapping.order) if mask >> at & 1 and not c.primary_key]
        if not column.partition_key and others and all(c.static for c in others):
            continue  # a row of static columns alone has no clustering key
        raise ValidationError(f"{column.label} - None values are not allowed in the primary key")


def _update(mapping: Mapping, values: Values) -> Write | None:
    """The UPDATE of all changes; None if there are none."""
    how = values.how
    changed = [at for at in changed_positions(values, mapping) if not mapping.order[at].primary_key]
    if values.was is None and mapping.has_counter:
        changed = [at for at, column in enumerate(mapping.order) if column.is_counter]
    if not changed:
        return None
    _check_keys(mapping, values, sum(1 << at for at in changed))
    # CQL refuses a clustering key in an UPDATE of static columns alone.
    static = all(mapping.order[at].static for at in changed)
    keys = mapping.partition_positions if static else mapping.key_positions
    timestamp = timestamp_of(how, mapping.has_counter)
    table = mapping.table_name(how.keyspace)
    if all(_is_plain(mapping, values, at) for at in changed):
        text, bound = _plain_update(mapping, values, how, table, changed, keys, timestamp)
    else:
        statement = UpdateStatement(
            table, ttl=how.ttl, timestamp=timestamp, if_exists=how.if_exists
        )
        for at in changed:
            _add_change(statement, mapping, values, at)
        _add_rest(statement, mapping, values, keys, how)
        text, bound = statement.prepared(), statement.bound()
    return text, bound


def _is_plain(mapping: Mapping, values: Values, at: int) -> bool:
    column = mapping.order[at]
    if column.is_counter:
        return False
    return column.update_clause is None or column.is_null(values[at])


def _wired(mapping: Mapping, at: int, value: object) -> Any:
    wire = mapping.wires[at]
    if value is None or wire is None:
        return value
    return wire(value)


def _plain_update(
    mapping: Mapping,
    values: Values,
    how: Options,
    table: str,
    changed: list[int],
    keys: tuple[int, ...],
    timestamp: int | None,
) -> tuple[str, list[Any]]:
    """The text and values of an update that only assigns."""
    conditions = tuple((clause.field, type(clause.operator)) for clause in how.conditionals)
    key = (
        "update", table, tuple(changed), keys, how.ttl is None, timestamp is None,
        how.if_exists, conditions,
    )  # fmt: skip
    known = mapping.statement_plans.get(key)
    if known is None:
        statement = UpdateStatement(
            table, ttl=how.ttl, timestamp=timestamp, if_exists=how.if_exists
        )
        for at in changed:
            statement.add_assignment(AssignmentClause(mapping.order[at].db_field_name, None))
        _add_rest(statement, mapping, values, keys, how)
        text = statement.prepared()
        known = mapping.statement_plan(key, lambda: StatementPlan(text))
    bound: list[Any] = [] if how.ttl is None else [how.ttl]
    if timestamp is not None:
        bound.append(timestamp)
    for at in changed:
        null = mapping.order[at].is_null(values[at])
        bound.append(None if null else _wired(mapping, at, values[at]))
    bound += [_wired(mapping, at, values[at]) for at in keys]
    bound += [clause.value for clause in how.conditionals]
    return known.text, bound


def _add_change(statement: UpdateStatement, mapping: Mapping, values: Values, at: int) -> None:
    column, value = mapping.order[at], values[at]
    before = None if values.was is None else values.was[at]
    if column.is_counter:
        statement.add_update(column, value or 0, previous=before or 0)
    elif column.is_null(value):
        statement.add_assignment(AssignmentClause(column.db_field_name, None))
    else:
        # Null is an empty collection: what is added is added to what others have written since.
        known = values.was is not None and column.update_clause is not None
        if values.explicit >> at & 1 and values.unknown >> at & 1:
            known = False  # assigned, not added to, since nobody has looked what the row has
        previous = _wired(mapping, at, column.to_python(before)) if known else None
        statement.add_update(column, _wired(mapping, at, value), previous=previous)


def _add_rest(
    statement: BaseCQLStatement,
    mapping: Mapping,
    values: Values,
    keys: tuple[int, ...],
    how: Options,
) -> None:
    for at in keys:
        name = mapping.order[at].db_field_name
        statement.add_where(WhereClause(name, _EQUALS, _wired(mapping, at, values[at])))
    for clause in how.conditionals:
        statement.add_conditional_clause(
            ConditionalClause(clause.field, clause.value, clause.operator)
        )


def check_changes(instance: BaseModel, changes: dict[str, Any]) -> None:
    """Raise ValidationError for names that are not columns, and for another primary key."""
    model = type(instance)
    mapping, values = model.__mapping__, own(instance)
    for name in changes:
        column = mapping.columns.get(name)
        if column is None:
            raise ValidationError(
                f"{model.__module__}.{model.__name__} has no column named: {name}"
            )
        if column.primary_key:
            at = mapping.index[name]
            if changes[name] != values[at]:
                raise ValidationError(
                    f"Cannot apply update to primary key '{name}' for "
                    f"{model.__module__}.{model.__name__}"
                )


def assign(instance: BaseModel, changes: dict[str, Any], checked: bool = False) -> None:
    """Set the attributes that `changes` names."""
    if not checked:
        check_changes(instance, changes)
    for name, value in changes.items():
        setattr(instance, name, value)


def update(instance: BaseModel, changes: dict[str, Any]) -> Operation[BaseModel]:
    """Write `changes` and others since the row was read.

    If it fails, the instance is as it was before the call.
    """
    mapping = instance.__mapping__
    values = own(instance)
    check_changes(instance, changes)
    before, explicit, exposed = list(values), values.explicit, values.exposed
    try:
        assign(instance, changes, checked=True)
        if mapping.discriminator is not None:
            mapping.set_discriminator(values)
        instance.validate()
        write = _update(mapping, values)
        if write is not None:
            yield from written(instance, values, write)
    except BaseException:
        values[:] = before
        values.explicit, values.exposed = explicit, exposed
        raise
    return instance


def delete(instance: BaseModel) -> Operation[None]:
    """Delete the row of `instance`."""
    model = type(instance)
    mapping = model.__mapping__
    values = own(instance)
    how = values.how
    _check_keys(mapping, values, 0)
    timestamp = timestamp_of(how, mapping.has_counter)
    table = mapping.table_name(how.keyspace)
    conditions = tuple((clause.field, type(clause.operator)) for clause in how.conditionals)
    key = ("delete", table, timestamp is None, how.if_exists, conditions)
    known = mapping.statement_plans.get(key)
    if known is None:
        statement = DeleteStatement(table, timestamp=timestamp, if_exists=how.if_exists)
        _add_rest(statement, mapping, values, mapping.key_positions, how)
        text = statement.prepared()
        known = mapping.statement_plan(key, lambda: StatementPlan(text))
    bound: list[Any] = [] if timestamp is None else [timestamp]
    bound += [_wired(mapping, at, values[at]) for at in mapping.key_positions]
    bound += [clause.value for clause in how.conditionals]
    yield from execute_write(model, how, known.text, bound, instance=instance)


def by_program(instance: Any, step: str) -> bool:
    """Have the `__dmlquery__` of a model write `instance`, if that is a class of the program's.

    :param instance: an instance of a model.
    :param step: "save", "update" or "delete".
    :returns: False if the model has none of its own.
    """
    kind = instance.__dmlquery__
    if kind is DMLQuery:
        return False
    row = own(instance)
    how = row.how
    query = kind(
        type(instance),
        instance,
        batch=how.batch,
        ttl=how.ttl,
        consistency=how.consistency,
        timestamp=how.timestamp,
        if_not_exists=how.if_not_exists,
        conditional=how.conditionals,
        timeout=how.timeout,
        if_exists=how.if_exists,
    )
    try:
        getattr(query, step)()
    finally:
        # What is for one write alone is forgotten after it.
        if how.timestamp is not None or how.is_conditional:
            row.how = how.for_later()
    return True


class DMLQuery:
    """The writes of one instance, with the options given.

    Programs use the methods of the instance. A model whose `__dmlquery__` is a subclass has that
    one called for each write of an instance.

    :param model: the model's class.
    :param instance: the instance to write; without one, writes raise ValidationError.
    :param batch: takes the writes; None executes them.
    :param ttl: seconds until the written values expire; None for the table's default.
    :param consistency: a `ConsistencyLevel`; None for the connection's.
    :param timestamp: of the writes: a datetime (a naive one is local time), a timedelta from now,
        or microseconds.
    :param if_not_exists: insert only if there is no such row.
    :param conditional: conditions of IF; None for none.
    :param timeout: seconds for a request; None for no limit, by default the session's.
    :param if_exists: update or delete only if there is such a row.
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
        self._how = Options().but(
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
        self._how = self._how.but(batch=batch_obj)
        return self

    def _run(self, operation: Callable[[BaseModel], Operation[Any]]) -> None:
        if self.instance is None:
            raise ValidationError(f"there is no instance of {self.model.__name__} to write")
        values = own(self.instance)
        before = values.how
        # The instance belongs to a keyspace and a connection, whatever else is asked for.
        values.how = self._how.but(keyspace=before.keyspace, connection=before.connection)
        try:
            run(operation(self.instance))
        finally:
            values.how = before

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
