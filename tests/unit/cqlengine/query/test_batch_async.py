"""Tests of the object mapper's batches on a connection of `cassandra.aio`, with a fake node."""

from __future__ import annotations

import warnings
from collections.abc import AsyncIterator
from typing import Any

import pytest

from cassandra import aio
from cassandra.cqlengine import columns, connection
from cassandra.cqlengine.models import Model
from cassandra.cqlengine.query import BatchQuery
from cassandra.errors import InvalidRequest
from cassandra.testing.fake import ErrorCode, FakeNode, Opcode, error, sequence, void


class Reading(Model):
    __keyspace__ = "ks"
    __table_name__ = "reading"
    __connection__ = "aio"

    id = columns.Integer(primary_key=True)
    value = columns.Integer()


@pytest.fixture
async def node() -> AsyncIterator[FakeNode]:
    """Yield the fake node that the mapper's connection "aio" is connected to."""
    with FakeNode() as running:
        async with aio.Cluster([running.address], port=running.port) as cluster:
            session = await cluster.connect()
            connection.register_connection("aio", session=session)
            yield running
            connection.unregister_connection("aio")


def batches(node: FakeNode) -> list[list[str]]:
    """Return the first word of each statement in each batch that the node received."""
    return [
        [query.split()[0] for query in request.queries]
        for request in node.requests
        if request.opcode == Opcode.BATCH
    ]


def new_reading(batch: BatchQuery) -> Any:
    """Add a new instance to a batch, after which the instance counts as saved."""
    reading: Any = Reading(id=1, value=2)
    reading.batch(batch).save()
    assert reading.get_changed_columns() == []
    return reading


async def run_block(batch: BatchQuery, error: Exception | None = None) -> None:
    """Enter the batch with `async with`; if there is an `error`, raise it inside the block."""
    async with batch as entered:
        assert entered is batch
        if error is not None:
            raise error


async def test_a_block_executes_the_batch_at_its_end(node: FakeNode) -> None:
    """The end of an `async with` block executes the batch."""
    batch = BatchQuery()
    reading = new_reading(batch)
    reading.value = 5
    reading.batch(batch).save()
    assert batches(node) == []
    await run_block(batch)
    assert batches(node) == [["INSERT", "UPDATE"]]
    assert reading.get_changed_columns() == []


@pytest.mark.parametrize("executes", [False, True])
async def test_a_block_that_fails_executes_the_batch_only_if_asked_to(
    node: FakeNode, executes: bool
) -> None:
    """If the block raises, the batch is executed only with `execute_on_exception`.

    If the batch is not executed, its instances count as changed again.
    """
    batch = BatchQuery(execute_on_exception=executes)
    reading = new_reading(batch)
    with pytest.raises(ZeroDivisionError):
        await run_block(batch, ZeroDivisionError())
    assert batches(node) == ([["INSERT"]] if executes else [])
    assert reading.get_changed_columns() == ([] if executes else ["id", "value"])


async def test_instances_are_restored_once_by_each_failure(node: FakeNode) -> None:
    """Instances follow the outcome of the latest execution of their batch: changed or saved.

    Each failure restores their state only once.
    """
    node.prime(Opcode.BATCH, sequence(error(ErrorCode.INVALID), void(), error(ErrorCode.INVALID)))
    batch = BatchQuery()
    reading = new_reading(batch)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Each further execution of the batch warns.
        with pytest.raises(InvalidRequest):
            await batch.aexecute()
        assert reading.get_changed_columns() == ["id", "value"]
        # The end of a block must not restore the instances again.
        with pytest.raises(ZeroDivisionError):
            await run_block(batch, ZeroDivisionError())
        assert reading.get_changed_columns() == ["id", "value"]
        # The second execution succeeds.
        await batch.aexecute()
        assert reading.get_changed_columns() == []
        # The same batch gets another statement, but its block raises before the batch is executed.
        reading.value = 7
        reading.batch(batch).save()
        with pytest.raises(ZeroDivisionError):
            await run_block(batch, ZeroDivisionError())
        assert reading.get_changed_columns() == ["value"]


async def test_a_batch_after_a_failed_one_is_executed_at_its_end(node: FakeNode) -> None:
    """A batch whose execution failed may be entered again, and still has its statements."""
    node.prime(Opcode.BATCH, sequence(error(ErrorCode.INVALID), void()))
    batch = BatchQuery()
    batch.warn_multiple_exec = False
    reading = new_reading(batch)
    with pytest.raises(InvalidRequest):
        await run_block(batch)
    await run_block(batch)
    assert reading.get_changed_columns() == []
    assert batches(node) == [["INSERT"], ["INSERT"]]
