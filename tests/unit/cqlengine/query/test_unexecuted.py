"""A batch that is deleted with unexecuted statements warns at the line that created it."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import gc
import warnings
import weakref
from collections.abc import Callable, Coroutine, Iterator
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


async def create_before_a_pause() -> None:
    await create_in_a_coroutine()
    batch = BatchQuery()
    Car.batch(batch).create(maker="a", line=1, year=2)
    await asyncio.sleep(0)


async def await_it() -> None:
    """Await a coroutine whose batch is not executed, and go on after it."""
    await create_before_a_pause()
    await asyncio.sleep(0)


@pytest.mark.parametrize(
    "call", [create, save, update, lambda: asyncio.run(create_in_a_coroutine())]
)
def test_a_batch_without_execute_is_warned_of(call: Callable[[], Any]) -> None:
    """A batch with statements that is deleted without `execute` causes a warning."""
    (message,) = warnings_of(call)
    assert "were never executed: write batch.execute()" in message


@pytest.mark.parametrize("call", [create_before_a_pause, await_it])
def test_a_coroutine_is_warned_of_after_a_pause(
    call: Callable[[], Coroutine[Any, Any, None]],
) -> None:
    """A coroutine that other tasks interrupt causes the warning, too."""
    # Both batches of `create_before_a_pause` are dropped.
    assert len(warnings_of(lambda: asyncio.run(call()))) == 2


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


def with_an_error_kept_for_later() -> None:
    errors = []
    for _ in range(2):
        try:
            left_by_an_error()
        except RuntimeError as error:
            errors.append(error)
    errors.pop()
    create_nothing()


def create_nothing() -> None:
    """Return from the frame from which the function of a batch has not returned."""


def in_failed_tasks() -> None:
    """Drop the errors of tasks, whose coroutines have batches, when another task ends."""

    async def fail() -> None:
        batch = BatchQuery()
        Car.batch(batch).create(maker="a", line=1, year=2)
        await asyncio.sleep(0)
        raise RuntimeError

    async def watch() -> None:
        task = asyncio.create_task(fail())
        await asyncio.wait([task])
        assert task.exception() is not None

    asyncio.run(watch())


def in_a_closed_generator() -> None:
    def rows() -> Iterator[int]:
        batch = BatchQuery()
        Car.batch(batch).create(maker="a", line=1, year=2)
        yield 1
        yield 2

    next(rows())


def queued() -> None:
    """Drop a batch that another function could have executed in the meantime."""
    queue = [returned()]
    create_nothing()
    queue.clear()


def returned() -> BatchQuery:
    batch = BatchQuery()
    Car.batch(batch).create(maker="a", line=1, year=2)
    return batch


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
        with_an_error_kept_for_later,
        in_failed_tasks,
        in_a_closed_generator,
        queued,
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


class Variable:
    """The value of a local variable."""


def empty_batch(variable: Variable) -> BatchQuery:
    return BatchQuery()


def filled_batch(variable: Variable) -> BatchQuery:
    batch = BatchQuery()
    Car.batch(batch).create(maker="a", line=1, year=2)
    return batch


@pytest.mark.parametrize("made", [empty_batch, filled_batch])
def test_a_batch_keeps_no_variables(made: Callable[[Variable], BatchQuery]) -> None:
    """A batch that waits for `execute` does not keep the variables of its function alive."""
    variable = Variable()
    reference = weakref.ref(variable)
    with without_collector():
        batch = made(variable)
        del variable
        assert reference() is None
    assert batch is not None


def batch_of_creations() -> BatchQuery:
    batch = BatchQuery(timestamp=5)
    Car.batch(batch).create(maker="a", line=1, year=2)
    Car.batch(batch).create_many([{"maker": "a", "line": 1, "year": 3}])
    return batch


def batch_of_updates() -> BatchQuery:
    batch = BatchQuery()
    car = Car(maker="a", line=1, year=2)
    car.batch(batch).save()
    car.price = 5
    car.batch(batch).save()
    car.batch(batch).delete()
    return batch


@pytest.mark.parametrize("made", [batch_of_creations, batch_of_updates])
def test_a_batch_goes_with_its_last_reference(made: Callable[[], BatchQuery]) -> None:
    """A batch that was never executed does not wait for the garbage collector."""
    with without_collector():
        reference = weakref.ref(made())
        assert reference() is None


@contextlib.contextmanager
def without_collector() -> Iterator[None]:
    """Let only the last reference free an object."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def test_a_batch_of_a_script() -> None:
    """An unexecuted batch in a script causes the warning when the interpreter ends."""
    assert "BatchQuery were never executed" in run_python(SCRIPT).stderr
    assert "BatchQuery" not in run_python(SCRIPT + "batch.queries\n").stderr
