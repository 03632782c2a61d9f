"""Reads rows of an async iterable, such as an async generator, from the reader thread of a load.

The reader thread asks the event loop for a batch of rows, and waits for it. So an async source,
like any other iterable, is read only as fast as the load sends its rows.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections.abc import AsyncIterable, Iterator
from typing import Any

from cassandra.bulk import chunks
from cassandra.bulk.row_sizes import MEASURED, size_of_row
from cassandra.query.snapshots import snapshot

# The maximum number of rows that the event loop reads at a time. A higher number would keep the
# loop busy for longer if the source never suspends.
_ROWS = 500
# After this number of seconds, the loop hands over the rows that it has, so that rows of a slow
# source are not held back until there are 500.
_SECONDS = 1.0
_LARGE = 10_000  # bytes of a row after which the next row is measured, too
_CHECK_INTERVAL = 1.0  # seconds between two checks that the event loop still runs


class AsyncRows:
    """Iterates over the rows of an async iterable in a thread other than the event loop's.

    :param rows: the async iterable.
    :param loop: the running event loop of the load.
    """

    def __init__(self, rows: AsyncIterable[Any], loop: asyncio.AbstractEventLoop) -> None:
        self._rows = aiter(rows)
        self._loop = loop
        # The task that reads rows on the event loop; None before the first row is requested.
        self._task: asyncio.Task[Any] | None = None
        self._is_closed = False
        # An error that the source raised after it had yielded some rows of a batch. These rows are
        # returned first; the next call raises the error. None if there is no such error.
        self._error: Exception | None = None
        # True once the source has ended. Then we must not request rows again: a source such as a
        # consumer of a queue, which ends after a pause, could yield more rows, and the load would
        # never end.
        self._has_ended = False

    def __iter__(self) -> Iterator[Any]:
        """Yield the rows. Must not be called in the thread of the event loop."""
        while rows := self._wait_for_rows():
            yield from rows

    def _wait_for_rows(self) -> list[Any]:
        """Return the next rows, and wait for them; an empty list means the end of the source."""
        # The reader normally runs in a thread of its own, but the simulated event loop of
        # `cassandra.testing` makes its calls in the thread of the loop. Waiting for the loop there
        # would never end.
        if asyncio._get_running_loop() is self._loop:
            raise RuntimeError(
                "an event loop without threads cannot read an asynchronous source: pass a list"
            )
        next_rows = self._next_rows()
        try:
            future = asyncio.run_coroutine_threadsafe(next_rows, self._loop)
        except RuntimeError:  # the loop is closed, so nobody waits for this load
            next_rows.close()
            return []
        while True:
            try:
                return future.result(_CHECK_INTERVAL)
            except concurrent.futures.TimeoutError:
                # Since Python 3.11 this is the built-in TimeoutError, which the source may also
                # raise. If the future is done, the error is the source's: `result()` raises it
                # again.
                if future.done():
                    return future.result()
                if self._loop.is_closed():
                    return []

    async def _next_rows(self) -> list[Any]:
        """Return the next rows; an empty list means the end. Runs on the event loop."""
        rows: list[Any] = []
        if self._is_closed or self._has_ended:
            return rows
        if self._error is not None:
            raise self._error
        self._task = asyncio.current_task()
        deadline = self._loop.time() + _SECONDS
        # The estimated size of the rows, and the index of the next row to measure.
        size = next_measured = 0
        while len(rows) < _ROWS and (not rows or self._loop.time() < deadline):
            try:
                # Copy the row, because a generator may yield the same dict or array for each row.
                rows.append(snapshot(await anext(self._rows)))
            except StopAsyncIteration:
                self._has_ended = True
                break
            except Exception as error:
                if not rows:
                    raise
                self._error = error
                break
            if len(rows) > next_measured:
                # After a large row, measure the next row, too. After a small row, measure the row
                # MEASURED rows later, and assume that the rows in between have the same size.
                row_size = size_of_row(rows[-1])
                weight = 1 if row_size > _LARGE else MEASURED
                next_measured += weight
                size += row_size * weight
                if size >= chunks.CHUNK_BYTES:
                    break
        return rows

    async def aclose(self) -> None:
        """Stop reading, and close an async generator. Runs on the event loop, at the load's end."""
        self._is_closed = True
        task = self._task
        if task is not None and not task.done():
            # Cancel the task first: an async generator cannot be closed while it is running.
            task.cancel()
            await asyncio.wait([task])
        close = getattr(self._rows, "aclose", None)
        if close is not None:
            await close()
