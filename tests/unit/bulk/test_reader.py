"""Test `Reader`, which reads a load's source one chunk ahead in a thread, and closes the source."""

from __future__ import annotations

import threading
from collections.abc import Generator
from concurrent.futures import Executor, Future
from typing import Any

import pytest

from cassandra.bulk.reader import Reader, new_worker
from cassandra.bulk.worker import Worker
from tests.waiting import WAIT, until


class Chunks:
    """Chunks of a source, and a fake binder that returns the chunks unchanged.

    The attribute `is_closed` is an event that is set when the source is closed. The second chunk
    can be read when the event `may_go_on` is set.
    """

    def __init__(self) -> None:
        self.is_closed = threading.Event()
        self.may_go_on = threading.Event()

    def read(self) -> Generator[Any, None, None]:
        """Yield two chunks: the second chunk after `may_go_on` is set."""
        try:
            yield 1
            assert self.may_go_on.wait(WAIT)
            yield 2
        finally:
            self.is_closed.set()

    def bind_next(self, chunks: Generator[Any, None, None]) -> Any:
        return next(chunks, None)


@pytest.fixture
def source() -> Chunks:
    return Chunks()


@pytest.fixture
def reader(source: Chunks) -> Reader:
    """Return a reader of `source`, which reads in a thread with the name "a-reader"."""
    new_reader = Reader(Worker("a-reader"))
    new_reader.open(source.read(), source)  # type: ignore[arg-type]
    return new_reader


def test_chunks_are_read_in_the_thread(reader: Reader, source: Chunks) -> None:
    """Calls are executed in the reader's thread.

    After the last chunk, `read_next` returns None.
    """
    source.may_go_on.set()
    thread_name = reader.submit(lambda: threading.current_thread().name)
    assert thread_name.future.result(WAIT) == "a-reader"
    assert [reader.read_next().future.result(WAIT) for _ in range(3)] == [1, 2, None]
    reader.close()
    assert source.is_closed.is_set()


def test_a_source_between_two_calls_is_closed_at_once(reader: Reader, source: Chunks) -> None:
    """If the thread reads no chunk at the moment, `close` closes the source at once."""
    assert reader.read_next().future.result(WAIT) == 1
    reader.close()
    assert source.is_closed.is_set()


def test_a_source_that_is_being_read_is_closed_by_the_thread(
    reader: Reader, source: Chunks
) -> None:
    """`close` does not wait for a read in progress, because the source may hang.

    The thread closes the source after it has read the chunk.
    """
    reader.read_next().future.result(WAIT)
    second_chunk = reader.read_next().future
    # Wait until the thread has started to read. Before that, the call could still be cancelled.
    until(second_chunk.running)
    reader.close()
    assert not source.is_closed.is_set()
    source.may_go_on.set()
    assert second_chunk.result(WAIT) == 2
    assert source.is_closed.wait(WAIT)


def test_a_reader_may_be_closed_before_it_has_read() -> None:
    """Closing an unused reader shuts its executor down, and submits no call to the executor."""

    class UnusedExecutor(Executor):
        """An executor that fails on each submitted call, and only allows `shutdown`."""

        is_shut_down = False

        def submit(self, *arguments: Any, **options: Any) -> Future[Any]:
            raise AssertionError

        def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
            self.is_shut_down = True

    executor = UnusedExecutor()
    Reader(executor).close()
    assert executor.is_shut_down


def test_the_thread_of_a_load_is_a_worker() -> None:
    """The thread of a load is a `Worker`, a daemon thread.

    So a source that hangs does not keep the process alive.
    """
    worker = new_worker("a-load")
    assert isinstance(worker, Worker)
    worker.shutdown()
