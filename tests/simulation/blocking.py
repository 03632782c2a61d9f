"""The blocking API as coroutines: each call runs in its own simulated thread.

With these classes, the steps in `clients` use the blocking API like the asyncio API. If a step is
cancelled, the thread of its call continues until the call returns, as in an application.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any

from cassandra.cluster import Cluster

if TYPE_CHECKING:
    from tests.simulation.life import Simulation

_END = object()  # stands for the end of an iterator of rows


async def _call_in_thread(function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Call a blocking function in a new simulated thread, and return its result."""
    return await asyncio.to_thread(function, *arguments, **options)


class BlockingCluster:
    """Wraps a blocking `Cluster`. Its methods are coroutines that run the call in a thread."""

    def __init__(self, simulation: Simulation, settings: dict[str, Any]) -> None:
        self._cluster = Cluster(**settings)
        self._simulation = simulation

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cluster, name)

    async def connect(self, keyspace: str | None = None, wait_for_all: bool = False) -> Any:
        """Open a session, and return a wrapper whose methods are coroutines."""
        session = await _call_in_thread(self._cluster.connect, keyspace, wait_for_all)
        return _BlockingSession(self._simulation, session)

    async def shutdown(self) -> None:
        """Close the cluster and its sessions."""
        await _call_in_thread(self._cluster.shutdown)

    async def refresh_nodes(self) -> None:
        """Let the driver read the list of nodes."""
        await _call_in_thread(self._cluster.refresh_nodes)

    async def refresh_schema_metadata(self, **options: Any) -> None:
        """Let the driver read the schema."""
        await _call_in_thread(self._cluster.refresh_schema_metadata, **options)


class _BlockingSession:
    """Wraps a blocking `Session`. Its methods are coroutines that run the call in a thread."""

    def __init__(self, simulation: Simulation, session: Any) -> None:
        self._simulation = simulation
        self._session = session
        self._executions = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)

    async def execute(self, *arguments: Any, **options: Any) -> _BlockingResult:
        """Execute a request in one of three ways, and use the next way for the next request.

        The ways are `execute`, `execute_async` with `result`, and `execute_async` with callbacks.
        """
        self._executions += 1
        way = self._executions % 3
        if way == 0:  # `execute`
            return _BlockingResult(
                await _call_in_thread(self._session.execute, *arguments, **options)
            )
        future = await _call_in_thread(self._session.execute_async, *arguments, **options)
        if way == 1:  # `execute_async` and `result`
            return _BlockingResult(await _call_in_thread(future.result))
        await self._wait_for_callback(future)
        return _BlockingResult(await _call_in_thread(future.result))

    async def _wait_for_callback(self, future: Any) -> None:
        """Wait until the future calls one of its callbacks, which runs on the cluster's event loop.

        For a result of several pages, the callback is called once for each page. For any other
        result, the callback must be called exactly once.
        """
        loop = asyncio.get_running_loop()
        callback_ran: asyncio.Future[None] = loop.create_future()
        calls, is_paged = 0, False

        def set_callback_ran() -> None:
            if not callback_ran.done():
                callback_ran.set_result(None)

        def on_page_or_error(_: object) -> None:
            """Count this call.

            :param _: the rows of a page, or an error.
            """
            nonlocal calls, is_paged
            calls += 1
            if calls > 1 and not is_paged:
                self._simulation.report_violation("a callback was called twice")
            is_paged = is_paged or future.has_more_pages
            if not loop.is_closed():
                loop.call_soon_threadsafe(set_callback_ran)

        # The same function serves as callback and as errback.
        await _call_in_thread(future.add_callbacks, on_page_or_error, on_page_or_error)
        await callback_ran

    async def prepare(self, *arguments: Any) -> Any:
        """Prepare a statement."""
        return await _call_in_thread(self._session.prepare, *arguments)

    async def prepare_all(self, *arguments: Any) -> Any:
        """Prepare statements."""
        return await _call_in_thread(self._session.prepare_all, *arguments)

    async def set_keyspace(self, keyspace: str) -> None:
        """Switch the keyspace."""
        await _call_in_thread(self._session.set_keyspace, keyspace)

    async def wait_for_schema_agreement(self, *arguments: Any) -> Any:
        """Wait until the nodes agree on the schema."""
        return await _call_in_thread(self._session.wait_for_schema_agreement, *arguments)

    async def load(self, *arguments: Any, **options: Any) -> None:
        """Do nothing: a blocking load calls `time.sleep`, which would block virtual time."""

    async def execute_concurrent(self, pairs: Any, **options: Any) -> AsyncIterator[Any]:
        """Execute many statements in one thread, and yield their results."""
        pairs = list(pairs)
        for result in await _call_in_thread(
            lambda: list(self._session.execute_concurrent(pairs, **options))
        ):
            yield result

    async def shutdown(self) -> None:
        """Close the session."""
        await _call_in_thread(self._session.shutdown)


class _BlockingResult:
    """Wraps a `ResultSet`, so that reading further pages does not block the event loop."""

    def __init__(self, result: Any) -> None:
        self._result = result

    def __getattr__(self, name: str) -> Any:
        return getattr(self._result, name)

    async def get_query_trace(self, max_wait: float) -> Any:
        """Read the trace of the request."""
        return await _call_in_thread(self._result.get_query_trace, max_wait)

    async def __aiter__(self) -> AsyncIterator[Any]:
        rows = iter(self._result)
        while (row := await _call_in_thread(next, rows, _END)) is not _END:
            yield row
