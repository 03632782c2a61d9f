"""Test loads of async generators, whose rows are read as they are sent."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from cassandra import aio
from cassandra.bulk import LoadError, async_rows, chunks
from cassandra.bulk.async_rows import AsyncRows
from cassandra.testing.fake import ErrorCode, FakeNode, Opcode, error
from tests.unit.bulk.test_load import INSERT, blocking, node, without_pauses
from tests.unit.engine.faults import WAIT

__all__ = ["node", "without_pauses"]


async def test_async_generators_are_read_as_rows_are_sent(
    node: FakeNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A load reads an async generator only slightly ahead of the rows that it sends.

    The load closes the generator at the end, even if the generator raises or the load fails.
    """
    # A chunk has at most 100 rows, and the reader asks the generator for at most 30 rows at once.
    monkeypatch.setattr(chunks, "OBJECT_ROWS", 100)
    monkeypatch.setattr(async_rows, "_ROWS", 30)
    furthest = 0
    is_closed = False

    async def generate(count: int, fails_at: int | None = None) -> Any:
        """Yield `count` rows, or fail at row `fails_at`; record how far the load has read."""
        nonlocal furthest, is_closed
        try:
            for number in range(count):
                if number == fails_at:
                    raise OSError("the source is gone")
                furthest = number
                await asyncio.sleep(0)
                yield number, f"name {number}"
        finally:
            is_closed = True

    async with aio.Cluster([node.address], port=node.port) as cluster:
        session = await cluster.connect()
        prepared = await session.prepare(INSERT)
        assert (await session.load(prepared, generate(250))).written == 250
        assert is_closed
        with pytest.raises(
            LoadError, match=r"gone \(raised by the source in place of row 110\)$"
        ) as caught:
            await session.load(prepared, generate(250, fails_at=110))
        assert isinstance(caught.value.__cause__, OSError)
        # If the load ends early, it closes the generator, and does not read it to its end.
        is_closed = False
        node.prime(INSERT, error(ErrorCode.INVALID))
        with pytest.raises(LoadError):
            await session.load(prepared, generate(100_000))
        assert is_closed
        # With the small limits that are set above, the load has read only the first of the 100,000
        # rows.
        assert furthest < 1000


class _Consumer:
    """An asynchronous iterator of rows of a size, which yields rows again after its end.

    A consumer of a queue is such an iterator.
    """

    def __init__(self, size: int, count: int) -> None:
        self.size, self.count = size, count
        self.read = 0

    def __aiter__(self) -> Any:
        return self

    async def __anext__(self) -> Any:
        self.read += 1
        if self.read == self.count + 1:
            raise StopAsyncIteration
        return self.read, "x" * self.size


async def test_large_rows_are_handed_over_in_small_numbers() -> None:
    """The event loop reads about 12 MB of rows at a time (CHUNK_BYTES), and not 500 rows."""
    rows = AsyncRows(_Consumer(1_000_000, 30), asyncio.get_running_loop())
    counts = [len(await rows._next_rows()) for _ in range(4)]
    assert sum(counts) == 30
    assert max(counts) <= 19  # the first of these rows stands for seven
    small_rows = AsyncRows(_Consumer(10, 600), asyncio.get_running_loop())
    assert [len(await small_rows._next_rows()) for _ in range(3)] == [500, 100, 0]


async def test_a_source_that_goes_on_after_its_end_is_read_to_its_end() -> None:
    """A source ends when it raises StopAsyncIteration for the first time."""
    source = _Consumer(1, 30)
    rows = AsyncRows(source, asyncio.get_running_loop())
    assert len(await asyncio.to_thread(list, rows)) == 30
    assert source.read == 31
    assert await rows._next_rows() == []


async def test_async_generators_may_use_a_dict_again(node: FakeNode) -> None:
    """A generator may yield the same dict with new values: the load copies the values in time."""

    async def generate() -> Any:
        row: dict[str, Any] = {}
        for number in range(3):
            row.update(id=number, name=f"name {number}")
            yield row

    async with aio.Cluster([node.address], port=node.port) as cluster:
        session = await cluster.connect()
        assert (await session.load(await session.prepare(INSERT), generate())).written == 3
    names: list[Any] = [each.values[1] for each in node.requests if each.opcode == Opcode.EXECUTE]
    assert sorted(names) == [b"name 0", b"name 1", b"name 2"]


async def test_a_cancelled_load_of_an_async_generator_closes_it(node: FakeNode) -> None:
    """If a load is cancelled while its generator waits, the generator's `finally` runs."""
    is_waiting = asyncio.Event()
    is_closed = False

    async def generate() -> Any:
        """Yield one row, and then wait."""
        nonlocal is_closed
        try:
            yield 1, "a"
            is_waiting.set()
            # The source yields no further row until the task is cancelled.
            await asyncio.sleep(3600)
        finally:
            is_closed = True

    async with aio.Cluster([node.address], port=node.port) as cluster:
        session = await cluster.connect()
        task = asyncio.ensure_future(session.load(await session.prepare(INSERT), generate()))
        await asyncio.wait_for(is_waiting.wait(), WAIT)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(task, WAIT)
        assert is_closed


def test_blocking_loads_refuse_async_generators(node: FakeNode) -> None:
    """A blocking load of an async generator raises TypeError, which says to use `cassandra.aio`."""

    async def generate() -> Any:
        yield 1, "a"

    with pytest.raises(TypeError, match=r"async_generator: only a session of cassandra\.aio can"):
        blocking(node, generate())


async def test_rows_are_not_read_in_the_thread_of_the_event_loop() -> None:
    """AsyncRows raises if it is read in its event loop's thread, where it would wait for itself.

    A simulated event loop has no threads: it runs the reader thread's calls itself.
    """

    async def generate() -> Any:
        yield 1, "a"

    rows = AsyncRows(generate(), asyncio.get_running_loop())
    with pytest.raises(RuntimeError, match="without threads cannot read an asynchronous source"):
        list(rows)
    await rows.aclose()


async def test_concurrent_execution_refuses_async_iterables(node: FakeNode) -> None:
    """`execute_concurrent` refuses an async iterable, and the error says what to call instead."""

    async def generate() -> Any:
        yield INSERT, None

    async with aio.Cluster([node.address], port=node.port) as cluster:
        session = await cluster.connect()
        with pytest.raises(TypeError, match="async_generator, which is asynchronous: await sess"):
            session.execute_concurrent(generate())
