"""`create_many`: validates many rows, then inserts them by concurrent requests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeVar

from cassandra.cqlengine.errors import CQLEngineException, ValidationError
from cassandra.cqlengine.options import DEFAULTS, NOT_SET, Options
from cassandra.cqlengine.query import dml
from cassandra.cqlengine.query.errors import check_applied
from cassandra.cqlengine.running import ManyRequests, Operation
from cassandra.cqlengine.values import begin_write, finish_write, values_of
from cassandra.errors import DriverException

if TYPE_CHECKING:
    from cassandra.cqlengine.models import BaseModel

_Model = TypeVar("_Model", bound="BaseModel")
_Error = TypeVar("_Error", bound=BaseException)


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
    mapping = model.__mapping__
    if mapping.has_counter:
        raise CQLEngineException(f"{model.__name__} has counters, which cannot be inserted")
    if options.timeout is not NOT_SET:
        raise CQLEngineException("create_many takes the timeout of the session's profile")
    instances: list[Any] = []
    writes: list[dml.Write] = []
    for number, row in enumerate(rows):
        try:
            instance = _instance_of_row(model, row)
            values = values_of(instance)
            # Options that were set on the instance itself apply too, as they do in `save`.
            if options is not DEFAULTS:
                values.options = options.with_defaults(values.options)
            if values.options.timeout is not NOT_SET:
                raise CQLEngineException(
                    "create_many takes the timeout of the session's profile, not an instance's"
                )
            # The instance may be of a subclass of the model, or of a class for another keyspace.
            instance_mapping = instance.__mapping__
            if instance_mapping.discriminator is not None:
                instance_mapping.set_discriminator(values)
            instance.validate()
            writes.append(dml.insertion(instance_mapping, values))
        except (CQLEngineException, TypeError, ValueError) as error:
            raise _numbered(error, number) from error.__cause__
        instances.append(instance)
    # Group the numbers of the rows by connection, consistency level and idempotence, because these
    # are the same for all writes of a `ManyRequests`. A row of a batch is added to the batch
    # instead.
    groups: dict[tuple[str | None, int | None, bool], list[int]] = {}
    for number, instance in enumerate(instances):
        values = values_of(instance)
        batch = values.options.batch
        if batch is not None:
            yield from dml.execute_and_commit(instance, values, writes[number], is_insert=True)
            values.options = values.options.for_later()
            if options.batch is not None:
                batch.hold(values)
            continue
        level = values.options.consistency
        group = (
            values.options.connection or instance.__connection__,
            instance.__consistency__ if level is None else level,
            not values.options.is_conditional(True) and dml.is_idempotent(instance, values.options),
        )
        groups.setdefault(group, []).append(number)
    # Send each group, and collect the failed rows.
    failed: list[tuple[int, BaseException]] = []
    for (connection, level, idempotent), numbers in groups.items():
        request = ManyRequests(
            [(writes[number].text, writes[number].values) for number in numbers],
            connection,
            level,
            concurrency,
        )
        request.idempotent = idempotent
        failed += yield from _insert_rows(instances, numbers, request)
    if failed:
        number, first_error = min(failed, key=itemgetter(0))
        numbered: Any = _numbered(first_error, number)
        numbered.failed_rows = sorted(failed, key=itemgetter(0))
        raise numbered
    return instances


def _instance_of_row(model: type[_Model], row: object) -> _Model:
    """Return the instance for a row, which is an instance already or a mapping of values.

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
    # Refuse unknown names: a misspelt name would lose a value of every row.
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


def _insert_rows(
    instances: list[Any], numbers: list[int], request: ManyRequests
) -> Operation[list[tuple[int, BaseException]]]:
    """Insert the rows with these numbers; return (number, error) for each row that failed."""
    failed: list[tuple[int, BaseException]] = []
    sent = [
        begin_write(values_of(instances[number]), instances[number].__mapping__, is_insert=True)
        for number in numbers
    ]
    outcomes = yield request
    for number, write, (succeeded, outcome) in zip(numbers, sent, outcomes, strict=True):
        values = values_of(instances[number])
        error = None if succeeded else outcome
        # A conditional write may succeed, and not be applied.
        if succeeded and values.options.is_conditional(is_insert=True):
            try:
                check_applied(outcome)
            except (CQLEngineException, DriverException) as refusal:
                error = refusal
        if error is None:
            finish_write(values, write)
            values.options = values.options.for_later()
        else:
            failed.append((number, error))
    return failed


def _numbered(error: _Error, number: int) -> _Error:
    """Add the row's number, from 0, to `error` and return it."""
    numbered: Any = error
    numbered.row_number = number
    if error.args and isinstance(error.args[0], str):
        error.args = (f"row {number}: {error.args[0]}", *error.args[1:])
    return error
