"""A batch that is dropped with statements causes a warning at the line that has made it."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import dis
import gc
import sys
import warnings
import weakref
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from cassandra.cqlengine.query import BatchQuery
from tests.processes import run_python
from tests.unit.cqlengine.query.test_queryset import Car

pytestmark = pytest.mark.usefixtures("session")


def warnings_of(call: Callable[[], Any]) -> list[str]:
    """Return the warnings of a call whose objects are all deleted."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        # A call that is left by an exception.
        with contextlib.suppress(RuntimeError):
            call()
        gc.collect()
    assert all(warning.filename == __file__ for warning in seen)
    return [str(warning.message) for warning in seen]


def add(batch: BatchQuery) -> None:
    Car.batch(batch).create(maker="a", line=1, year=2)


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
    (message,) = warnings_of(call)
    assert "were never executed: write batch.execute()" in message


def left_by_an_error() -> None:
    batch = BatchQuery()
    Car.batch(batch).create(maker="a", line=1, year=2)
    raise RuntimeError


def after_an_error_of_its_own() -> None:
    batch = BatchQuery()
    with contextlib.suppress(RuntimeError):
        Car.batch(batch).create(maker="a", line=1, year=2)
        if gc.isenabled():
            raise RuntimeError
        batch.execute()


def in_a_block() -> None:
    with BatchQuery() as batch:
        Car.batch(batch).create(maker="a", line=1, year=2)
        raise RuntimeError


def in_an_async_block() -> None:
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
    assert warnings_of(call) == []


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
    """The variables of the function that has made it are deleted when the function returns."""

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
    """Its variables live until the interpreter ends."""
    assert "BatchQuery were never executed" in run_python(SCRIPT).stderr
    assert "BatchQuery" not in run_python(SCRIPT + "batch.queries\n").stderr


def without_a_name() -> None:
    with BatchQuery():
        Car.create(maker="a", line=1, year=2)


def with_a_name_that_is_not_read() -> None:
    with BatchQuery() as batch:  # noqa: F841
        Car.create(maker="a", line=1, year=2)


def without_a_name_in_a_coroutine() -> None:
    async def write() -> None:
        async with BatchQuery():
            Car(maker="a", line=1, year=2)

    asyncio.run(write())


@pytest.mark.skipif(
    sys.implementation.name != "cpython" or not getattr(sys, "_is_gil_enabled", lambda: True)(),
    reason="references are not counted",
)
@pytest.mark.parametrize(
    "call", [without_a_name, with_a_name_that_is_not_read, without_a_name_in_a_coroutine]
)
def test_a_block_that_cannot_have_statements_is_warned_of(call: Callable[[], Any]) -> None:
    for _ in range(50):  # Python changes the code of functions that are called often
        [message] = warnings_of(call)
        assert "and nothing in it uses the batch: write `with BatchQuery() as batch:`" in message


def with_a_condition() -> None:
    with BatchQuery() as batch:
        if Car.__abstract__:
            add(batch)


def with_a_variable_of_the_function() -> None:
    batch = BatchQuery()
    with batch:
        pass


def with_an_attribute() -> None:
    holder: Any = SimpleNamespace(batch=BatchQuery())
    with holder.batch:
        pass


def with_a_nested_function() -> None:
    with BatchQuery() as batch:

        def add_to_batch() -> None:
            add(batch)


def with_locals() -> None:
    with BatchQuery() as batch:
        assert "batch" in locals()


def maybe_filled() -> BatchQuery:
    return BatchQuery()


def with_another_function_s_batch() -> None:
    with maybe_filled():
        pass


def on_a_stack() -> None:
    with contextlib.ExitStack() as stack:
        stack.enter_context(BatchQuery())


def executed_in_the_block() -> None:
    with BatchQuery() as batch:
        batch.execute()


def left_by_an_error_before_a_statement() -> None:
    with BatchQuery():
        raise RuntimeError


@pytest.mark.parametrize(
    "call",
    [
        with_a_condition,
        with_a_variable_of_the_function,
        with_an_attribute,
        with_a_nested_function,
        with_locals,
        with_another_function_s_batch,
        on_a_stack,
        executed_in_the_block,
        left_by_an_error_before_a_statement,
    ],
)
def test_a_block_that_may_have_statements_is_not(call: Callable[[], Any]) -> None:
    for _ in range(50):
        assert not any("nothing in it uses" in message for message in warnings_of(call))


def test_the_code_of_a_block_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty block in a loop must not read all instructions of a long function each time."""
    readings: list[object] = []
    get_instructions = dis.get_instructions

    def count(code: Any) -> Any:
        readings.append(code)
        return get_instructions(code)

    monkeypatch.setattr(dis, "get_instructions", count)
    for _ in range(3):
        with_a_condition()
    assert len(readings) <= 1
