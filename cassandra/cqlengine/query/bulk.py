"""Many rows at once: validated first, then inserted by concurrent requests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from cassandra.cqlengine.errors import CQLEngineException, ValidationError
from cassandra.cqlengine.options import DEFAULTS, NOT_SET, Options
from cassandra.cqlengine.query import dml
from cassandra.cqlengine.query.errors import check_applied
from cassandra.cqlengine.running import ManyRequests, Operation
from cassandra.cqlengine.values import commit, own

__all__ = ["creations"]


def creations(model: Any, how: Options, rows: Iterable[Any], concurrency: int) -> Operation[Any]:
    """Return the operation that inserts `rows`; it returns their instances.

    :param model: the class of the instances.
    :param how: the options of the queryset.
    :param rows: mappings of values by the attributes' names, or instances of the model.
    :param concurrency: how many requests are in flight at most.
    """
    if isinstance(concurrency, bool) or not isinstance(concurrency, int) or concurrency < 1:
        raise ValueError(f"concurrency is a number from 1 on, not {concurrency!r}")
    mapping = model.__mapping__
    if mapping.has_counter:
        raise CQLEngineException(f"{model.__name__} has counters, which cannot be inserted")
    if how.timeout is not NOT_SET:
        raise CQLEngineException("create_many takes the timeout of the session's profile")
    instances: list[Any] = []
    writes: list[dml.Write] = []
    for number, row in enumerate(rows):
        try:
            instance = _instance(model, row)
            values = own(instance)
            if how is not DEFAULTS:
                values.how = how
            if mapping.discriminator is not None:
                mapping.set_discriminator(values)
            instance.validate()
            writes.append(dml.insertion(mapping, values))
        except (CQLEngineException, TypeError, ValueError) as error:
            raise _numbered(error, number) from error.__cause__
        instances.append(instance)
    if how.batch is not None:
        for instance, write in zip(instances, writes, strict=True):
            yield from dml.written(instance, own(instance), write, is_insert=True)
        return instances
    level = how.consistency if how.consistency is not None else model.__consistency__
    connection = how.connection or model.__connection__
    yield from _send(instances, writes, how, ManyRequests(writes, connection, level, concurrency))
    return instances


def _instance(model: Any, row: object) -> Any:
    if isinstance(row, getattr(model, "__context_of__", model)):
        return row
    if not isinstance(row, Mapping):
        raise TypeError(
            f"{row!r} ({type(row).__name__}) is neither a mapping of values nor an instance of "
            f"{model.__name__}"
        )
    mapping = model.__mapping__
    # A misspelled name would be a value that is lost, in each of the rows.
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


def _send(
    instances: list[Any], writes: list[dml.Write], how: Options, request: ManyRequests
) -> Operation[None]:
    """Insert the rows, and raise the first error when all of them were tried."""
    failed: list[tuple[int, BaseException]] = []
    outcomes = (yield request) if writes else ()
    for number, (succeeded, outcome) in enumerate(outcomes):
        error = None if succeeded else outcome
        if succeeded and how.is_conditional:
            try:
                check_applied(outcome)
            except CQLEngineException as refused:
                error = refused
        if error is None:
            commit(own(instances[number]), instances[number].__mapping__, is_insert=True)
        else:
            failed.append((number, error))
        if how.is_conditional or how.timestamp is not None:
            own(instances[number]).how = how.for_later()
    if failed:
        number, error = failed[0]
        made: Any = _numbered(error, number)
        made.failed_rows = failed
        raise made


def _numbered(error: Any, number: int) -> Any:
    """Return `error`, which says the number of its row, from 0."""
    error.row_number = number
    if error.args and isinstance(error.args[0], str):
        error.args = (f"row {number}: {error.args[0]}", *error.args[1:])
    return error
