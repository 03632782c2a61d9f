"""A batch that is deleted with unexecuted statements warns at the line that created it."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import gc
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from cassandra.cqlengine.query import BatchQuery
from tests.processes import run_python
from tests.unit.cqlengine.query.test_queryset import Car

pytestmark = pytest.mark.usefixtures("session")


def warnings_of(call: Callable[[], Any]) -> list[str]:
    """Call the function, delete all its objects, and return the messages of all warnings."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        # Some calls are left by a RuntimeError.
        with contextlib.suppress(RuntimeError):
            call()
        gc.collect()
    assert all(warning.filename == __file__ for warning in seen)
    return [str(warning.message) for warning in seen]


def takes_no_batch() -> contextlib.AbstractContextManager[None]:
    """Suppress the TypeError with which the fake session refuses a batch."""
    return contextlib.suppress(TypeError)


def add(batch: BatchQuery) -> None:
    Car.batch(batch).create(maker="a", line=1, year=2)


# -- calls that must cause a warning ---------------------------------------------------------------
#
# Each function leaves a batch that has statements but is never executed.


def create() -> None:
    batch = BatchQuery()
    Car.batch(batch).create(maker="a", line=1, year=2)


def save() -> Car:
    batch = BatchQuery()
    car = Car(maker="a", line=1, year=2)
    car.batch(batch).save()
    return car


def update() -> None:
    batch = BatchQuery()
    Car.objects(maker="a", line=1, year=2).batch(batch).update(price=5)


async def create_in_a_coroutine() -> None:
    batch = BatchQuery()
    await asyncio.sleep(0)
    Car.batch(batch).create(maker="a", line=1, year=2)


@pytest.mark.parametrize(
    "call", [create, save, update, lambda: asyncio.run(create_in_a_coroutine())]
)
def test_a_batch_without_execute_is_warned_of(call: Callable[[], Any]) -> None:
    """A batch with statements that is deleted without `execute` causes a warning."""
    (message,) = warnings_of(call)
    assert "were never executed: write batch.execute()" in message


# -- calls that must cause no warning --------------------------------------------------------------


def left_by_an_error() -> None:
    batch = BatchQuery()
    Car.batch(batch).create(maker="a", line=1, year=2)
    raise RuntimeError


def after_an_error_of_its_own() -> None:
    batch = BatchQuery()
    with contextlib.suppress(RuntimeError):
        Car.batch(batch).create(maker="a", line=1, year=2)
        # The condition is always true here, so the batch is never executed.
        if gc.isenabled():
            raise RuntimeError
        batch.execute()


def in_a_block() -> None:
    with BatchQuery() as batch:
        Car.batch(batch).create(maker="a", line=1, year=2)
        raise RuntimeError


def in_an_async_block() -> None:
    """Raise an error in an `async with` block of a batch, so that the batch is not executed."""

    async def write() -> None:
        async with BatchQuery() as batch:
            Car.batch(batch).create(maker="a", line=1, year=2)
            raise RuntimeError

    asyncio.run(write())


def without_statements() -> None:
    BatchQuery()


def filled_by_another_function() -> None:
    add(BatchQuery())


def looked_at() -> None:
    batch = BatchQuery()
    Car.batch(batch).create(maker="a", line=1, year=2)
    assert len(batch.queries) == 1


def copied() -> None:
    batch = copy.deepcopy(BatchQuery())
    Car.batch(batch).create(maker="a", line=1, year=2)


@pytest.mark.parametrize(
    "call",
    [
        left_by_an_error,
        after_an_error_of_its_own,
        in_a_block,
        in_an_async_block,
        without_statements,
        filled_by_another_function,
        looked_at,
        copied,
    ],
)
def test_other_batches_are_not(call: Callable[[], Any]) -> None:
    """Other batches cause no warning, for example if an error has left the function."""
    assert warnings_of(call) == []


# A program whose last line leaves a batch with a statement.
SCRIPT = """
from cassandra.cqlengine import columns
from cassandra.cqlengine.models import Model
from cassandra.cqlengine.query import BatchQuery

class Car(Model):
    __keyspace__ = "ks"
    maker = columns.Text(primary_key=True)

batch = BatchQuery()
Car.batch(batch).create(maker="a")
"""


def test_a_batch_without_statements_keeps_no_variables() -> None:
    """An empty batch does not keep the variables of its function alive."""

    class Variable:
        pass

    def make_batch() -> weakref.ref[Variable]:
        variable = Variable()
        batch = BatchQuery()
        assert batch is not None
        return weakref.ref(variable)

    gc.disable()
    try:
        assert make_batch()() is None
    finally:
        gc.enable()


def test_a_batch_of_a_script() -> None:
    """An unexecuted batch in a script causes the warning when the interpreter ends."""
    assert "BatchQuery were never executed" in run_python(SCRIPT).stderr
    assert "BatchQuery" not in run_python(SCRIPT + "batch.queries\n").stderr
