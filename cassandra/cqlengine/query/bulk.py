"""`create_many`: validates many rows, then inserts them by concurrent requests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from cassandra.cqlengine.errors import CQLEngineException, ValidationError
from cassandra.cqlengine.options import DEFAULTS, NOT_SET, Options
from cassandra.cqlengine.query import dml
from cassandra.cqlengine.query.errors import check_applied, has_written_nothing
from cassandra.cqlengine.running import ManyRequests, Operation
from cassandra.cqlengine.values import SavedState, Written, end_write, values_of
from cassandra.errors import DriverException

if TYPE_CHECKING:
    from cassandra.cqlengine.models import BaseModel
    from cassandra.cqlengine.query.batch import BatchQuery

_Model = TypeVar("_Model", bound="BaseModel")
_Error = TypeVar("_Error", bound=BaseException)


class _Creation(NamedTuple):
    """A row of `create_many` whose write has begun.

    :param instance: the row's instance.
    :param written: the snapshot of the instance's values; see `begin_write`.
    :param write: the row's INSERT.
    """

    instance: Any
    written: Written
    write: dml.Write

    def end(self, has_succeeded: bool, held_by: BatchQuery | None = None) -> None:
        """Record the end of the write.

        :param has_succeeded: False if the write has failed.
        :param held_by: the batch that also takes the later writes of the instance.
        """
        values = values_of(self.instance)
        end_write(values, self.instance.__mapping__, self.written, has_succeeded)
        if has_succeeded:
            values.options = values.options.for_later(self.written.options.timestamp)
            if held_by is not None:
                held_by.hold(values)


def creations(
    model: Any, options: Options, rows: Iterable[Any], concurrency: int
) -> Operation[Any]:
    """Return the operation that inserts `rows`; it returns their instances.

    :param model: the class of the instances.
    :param options: the options of the queryset.
    :param rows: mappings of values by the attributes' names, or instances of the model.
    :param concurrency: the maximum number of requests in flight.
    """
    if isinstance(concurrency, bool) or not isinstance(concurrency, int) or concurrency < 1:
        raise ValueError(f"concurrency is a number from 1 on, not {concurrency!r}")
    if model.__mapping__.has_counter:
        raise CQLEngineException(f"{model.__name__} has counters, which cannot be inserted")
    if options.timeout is not NOT_SET:
        raise CQLEngineException("create_many takes the timeout of the session's profile")
    # The writes that have begun and not ended. The key is the row's number in `rows`.
    open_creations: dict[int, _Creation] = {}
    try:
        instances = []
        for number, row in enumerate(rows):
            try:
                open_creations[number] = creation = _begun(model, options, row)
            except (CQLEngineException, TypeError, ValueError) as error:
                raise _numbered(error, number) from error.__cause__
            instances.append(creation.instance)
        failed = yield from _write_all(open_creations, options, concurrency)
    finally:
        for creation in open_creations.values():
            creation.end(has_succeeded=False)
    # Raise the error of the first failed row; its `failed_rows` lists the errors of all rows.
    if failed:
        number, first_error = min(failed, key=itemgetter(0))
        numbered: Any = _numbered(first_error, number)
        numbered.failed_rows = sorted(failed, key=itemgetter(0))
        raise numbered
    return instances


def _begun(model: Any, options: Options, row: object) -> _Creation:
    """Validate a row, begin its write, and return both as a `_Creation`.

    :param options: the options of the queryset.
    """
    instance = _instance_of_row(model, row)
    values = values_of(instance)
    # Options that were set on the instance itself apply too, as they do in `save`.
    if options is not DEFAULTS:
        values.options = options.with_defaults(values.options)
    if values.options.timeout is not NOT_SET:
        raise CQLEngineException(
            "create_many takes the timeout of the session's profile, not an instance's"
        )
    # `instance` may belong to a subclass of `model`, or to a class for another keyspace, so use the
    # mapping of its own class.
    mapping = instance.__mapping__
    if mapping.discriminator is not None:
        mapping.set_discriminator(values)
    instance.validate()
    written, write = dml.begun_write(mapping, values, dml.insertion, is_insert=True)
    # An INSERT always has something to write.
    assert write is not None
    return _Creation(instance, written, write)


def _write_all(
    creations: dict[int, _Creation], options: Options, concurrency: int
) -> Operation[list[tuple[int, BaseException]]]:
    """Send the writes, or add them to their batches; return (number, error) of each failed write.

    :param creations: the writes by the numbers of their rows. A write that ends is removed from
        this dict.
    :param options: the options of the queryset.
    """
    # Group the rows by connection, consistency level and idempotence, because all writes of a
    # `ManyRequests` have the same. The writes of rows with a batch are added to the batch instead.
    groups: dict[tuple[str | None, int | None, bool], list[int]] = {}
    for number, (instance, written, write) in list(creations.items()):
        batch = written.options.batch
        if batch is not None:
            yield from dml.execute_write(
                type(instance),
                written.options,
                write.text,
                write.values,
                SavedState(values_of(instance), instance.__mapping__, written),
                instance,
                write.is_repeatable,
                is_insert=True,
            )
            creations.pop(number).end(True, None if options.batch is None else batch)
            continue
        level = written.options.consistency
        is_conditional = written.options.is_conditional(is_insert=True)
        group = (
            written.options.connection or instance.__connection__,
            instance.__consistency__ if level is None else level,
            write.is_repeatable
            and not is_conditional
            and dml.is_idempotent(instance, written.options),
        )
        groups.setdefault(group, []).append(number)
    # Send each group, and collect the failed rows.
    failed: list[tuple[int, BaseException]] = []
    for (connection, level, idempotent), numbers in groups.items():
        writes = [creations[number].write for number in numbers]
        request = ManyRequests(
            [(write.text, write.values) for write in writes], connection, level, concurrency
        )
        request.idempotent = idempotent
        outcomes = yield request
        for number, (succeeded, outcome) in zip(numbers, outcomes, strict=True):
            creation = creations.pop(number)
            error = None if succeeded else outcome
            # The request of a conditional write succeeds even if the condition does not hold. So
            # check whether the write was applied.
            if succeeded and creation.written.options.is_conditional(is_insert=True):
                try:
                    check_applied(outcome)
                except (CQLEngineException, DriverException) as refusal:
                    error = refusal
            if error is not None and has_written_nothing(error):
                creation.written.doubtful = 0
            creation.end(error is None)
            if error is not None:
                failed.append((number, error))
    return failed


def _instance_of_row(model: type[_Model], row: object) -> _Model:
    """Return the instance for a row, which is either an instance already or a mapping of values.

    :raises ValidationError: if the mapping has a name without a column.
    """
    original_model: type[_Model] = getattr(model, "__context_of__", model)
    if isinstance(row, original_model):
        return row
    if not isinstance(row, Mapping):
        raise TypeError(
            f"{row!r} ({type(row).__name__}) is neither a mapping of values nor an instance of "
            f"{model.__name__}"
        )
    mapping = model.__mapping__
    # Raise an error for unknown names: if a column's name is misspelt, its value would be lost in
    # every row.
    unknown = [name for name in row if name not in mapping.columns]
    if unknown:
        raise ValidationError(
            f"{model.__name__} has no column named: {', '.join(map(str, unknown))}"
        )
    if mapping.has_own_init:
        return model(**row)
    instance = model.__new__(model)
    instance._row = mapping.row_to_insert(dict(row))
    return instance


def _numbered(error: _Error, number: int) -> _Error:
    """Set `error.row_number`, the number of the failed row from 0, and return `error`."""
    numbered: Any = error
    numbered.row_number = number
    if error.args and isinstance(error.args[0], str):
        error.args = (f"row {number}: {error.args[0]}", *error.args[1:])
    return error
