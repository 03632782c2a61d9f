"""Reads the source of a load in a separate thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from concurrent.futures import Executor, Future
from typing import Any

from cassandra._later_warnings import LaterWarnings, collecting
from cassandra.bulk.binding import Binder
from cassandra.bulk.chunks import Chunk
from cassandra.bulk.load_steps import Work
from cassandra.bulk.opened import Pipes
from cassandra.bulk.worker import Worker


def new_worker(name: str) -> Worker | Executor:
    """Return a thread that makes the calls of a `Reader`, or a replacement for a thread.

    The simulated event loop of `cassandra.testing` allows no threads. Its method `new_executor`
    returns an object that makes the calls instead.

    :param name: the name of the thread.
    """
    loop = asyncio._get_running_loop()
    make_worker: Callable[[str], Worker | Executor] = getattr(loop, "new_executor", Worker)
    return make_worker(name)


class Reader:
    """Reads and binds the chunks of a source in a thread, one chunk ahead, and closes the source.

    The thread makes calls. For each call, the load gets a `Work` step, with which it waits for the
    result. The attribute `pipes` has the open files that can be read only once.

    :param worker: the thread, which the reader shuts down. One thread is enough, because a source
        can only be read in order.
    """

    def __init__(self, worker: Worker | Executor) -> None:
        self.pipes = Pipes()
        self._worker = worker
        # The iterator over the source, and the object that binds rows; None before they are set.
        self._chunks: Generator[Chunk, None, None] | None = None
        self._binder: Binder | None = None
        self._warnings = LaterWarnings()  # the warnings of the thread's calls
        self._work: Future[Any] | None = None  # the latest call of the thread

    def submit(self, call: Callable[..., Any], *arguments: Any) -> Work:
        """Let the thread make a call, and return a `Work` step that waits for the result.

        :param call: the function.
        :param arguments: the arguments of the function.
        """
        self._work = self._worker.submit(self._collect, call, *arguments)
        return Work(self._work)

    def _collect(self, call: Callable[..., Any], *arguments: Any) -> Any:
        """Make a call in the thread, and collect its warnings."""
        with collecting(self._warnings):
            return call(*arguments)

    def show_warnings(self) -> None:
        """Show the warnings of the thread's calls, in the thread of the caller."""
        self._warnings.show()

    def open(self, chunks: Generator[Chunk, None, None], binder: Binder) -> None:
        """Set the chunks that `read_next` reads.

        :param chunks: the chunks of the source, which the reader closes.
        :param binder: binds each chunk.
        """
        self._chunks, self._binder = chunks, binder

    def read_next(self) -> Work:
        """Let the thread read and bind the next chunk; return the step that waits for it.

        The result of the step is a `Bound`; it is None if the source has no more rows.
        """
        assert self._binder is not None
        return self.submit(self._binder.bind_next, self._chunks)

    def close(self) -> None:
        """Close the source and end the thread, without waiting for it."""
        # If the thread is still reading, we do not wait for it, because the source may hang.
        # Instead, the thread closes the files when its current call returns.
        if self._work is None or self._work.cancel() or self._work.done():
            self._close_source()
        else:
            self._worker.submit(self._close_source)
        self._worker.shutdown()

    def _close_source(self) -> None:
        if self._chunks is not None:
            self._chunks.close()
        self.pipes.close()
