"""Reads rows of an async iterable, such as an async generator, from the reader thread of a load.

The thread asks the event loop for some rows at a time, and waits for them. So an async source is
read only as fast as rows are sent, like any other iterable.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections.abc import AsyncIterable, Iterator
from typing import Any

from cassandra.query.snapshots import snapshot

# How many rows the event loop reads for one request of the thread. More rows would keep the loop
# busy for longer if the source never suspends.
_ROWS = 500
# The seconds after which the loop hands over fewer rows, of a slow source.
_SECONDS = 1.0
_CHECK_INTERVAL = 1.0  # seconds between two looks at whether the event loop still runs


class AsyncRows:
    """The rows of an async iterable, for iteration in another thread than that of the event loop.

    :param rows: the async iterable.
    :param loop: the event loop of the load, which runs.
    """

    def __init__(self, rows: AsyncIterable[Any], loop: asyncio.AbstractEventLoop) -> None:
        self._rows = aiter(rows)
        self._loop = loop
        # The task that reads rows on the event loop; None if there was none yet.
        self._task: asyncio.Task[Any] | None = None
        self._is_closed = False

    def __iter__(self) -> Iterator[Any]:
        """Yield the rows. Must not be called in the thread of the event loop."""
        while rows := self._wait_for_rows():
            yield from rows

    def _wait_for_rows(self) -> list[Any]:
        """Wait for the next rows; an empty list is the end."""
        # The simulated event loop of `cassandra.testing` has no threads: waiting would never end.
        if asyncio._get_running_loop() is self._loop:
            raise RuntimeError(
                "an event loop without threads cannot read an asynchronous source: pass a list"
            )
        next_rows = self._next_rows()
        try:
            future = asyncio.run_coroutine_threadsafe(next_rows, self._loop)
        except RuntimeError:  # the loop is closed, so nobody waits for this load any more
            next_rows.close()
            return []
        while True:
            try:
                return future.result(_CHECK_INTERVAL)
            except concurrent.futures.TimeoutError:
                # A source may raise TimeoutError, too, which is the same class since Python 3.11.
                if future.done():
                    return future.result()
                if self._loop.is_closed():
                    return []

    async def _next_rows(self) -> list[Any]:
        """Return the next rows; an empty list at the end. Runs on the event loop."""
        rows: list[Any] = []
        if self._is_closed:
            return rows
        self._task = asyncio.current_task()
        deadline = self._loop.time() + _SECONDS
        while len(rows) < _ROWS and (not rows or self._loop.time() < deadline):
            try:
                # A generator may use the same dict or array again for its next row.
                rows.append(snapshot(await anext(self._rows)))
            except StopAsyncIteration:
                break
        return rows

    async def aclose(self) -> None:
        """Stop reading, and close an async generator. Runs on the event loop, at the load's end."""
        self._is_closed = True
        task = self._task
        if task is not None and not task.done():
            # A generator cannot be closed while the task waits for its next row.
            task.cancel()
            await asyncio.wait([task])
        close = getattr(self._rows, "aclose", None)
        if close is not None:
            await close()
