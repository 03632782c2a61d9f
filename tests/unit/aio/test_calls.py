"""`Call` is the object that `connect`, `load` and `unload` return.

A call can be awaited, or used with `async with`.
"""

from __future__ import annotations

import asyncio
import gc
import inspect
import warnings
from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest

from cassandra import aio
from cassandra.aio.calls import Call
from tests.unit.aio.conftest import READ


async def test_connect_may_be_entered_as_a_context_manager(cluster: aio.Cluster) -> None:
    """`async with cluster.connect()` shuts down the session at the end of the block.

    It does not shut down the cluster. An error in the block does not change this.
    """
    async with cluster.connect("shop") as session:
        assert session.keyspace == "shop"
        assert (await session.execute(READ)).one().k == 1
    assert session.is_shutdown
    assert not cluster.is_shutdown
    with pytest.raises(KeyError):
        async with cluster.connect() as session_of_failed_block:
            raise KeyError("of the block")
    assert session_of_failed_block.is_shutdown


async def test_connect_may_run_in_a_task(cluster: aio.Cluster) -> None:
    """`connect` can be run as an asyncio task, which can be awaited and cancelled."""
    task = asyncio.create_task(cluster.connect())
    assert "Cluster.connect" in repr(task)
    session = await asyncio.wait_for(task, 30)
    assert (await session.execute(READ)).one().k == 1
    cancelled_task = asyncio.create_task(cluster.connect())
    # Let the task begin to connect before it is cancelled.
    await asyncio.sleep(0)
    cancelled_task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await cancelled_task


@pytest.mark.parametrize("attribute", ["execute", "prepare"])
async def test_using_a_connect_that_was_not_awaited_is_an_error(
    cluster: aio.Cluster, attribute: str
) -> None:
    """Using the object that `connect()` returns as a session raises an error: await it first."""
    connecting: Any = cluster.connect()
    with pytest.raises(AttributeError, match=r"connect\(\) has not been awaited, .*" + attribute):
        getattr(connecting, attribute)
    connecting.close()


async def test_using_a_load_that_was_not_awaited_is_an_error(cluster: aio.Cluster) -> None:
    """Reading `rows` of a `load()` that was not awaited raises an error that says to await it."""
    session = await cluster.connect()
    loading: Any = session.load("shop.t", [(1,)])
    with pytest.raises(AttributeError, match=r"load\(\) has not been awaited, .*'rows'"):
        loading.rows  # noqa: B018
    loading.close()


async def test_methods_that_return_a_call_count_as_coroutine_functions() -> None:
    """Methods that return a `Call` count as coroutine functions for `inspect` and `asyncio`."""
    calls = (aio.Cluster.connect, aio.Session.load, aio.Session.unload)
    for call in calls:
        assert inspect.iscoroutinefunction(call) or asyncio.iscoroutinefunction(call)
    # `mock` makes mocks that can be awaited only for coroutine functions.
    cluster = mock.create_autospec(aio.Cluster)
    cluster.connect.return_value = "session"
    assert await cluster.connect(cluster) == "session"


async def test_throw_raises_the_error_in_the_coroutine() -> None:
    """`Call.throw` raises the error in the coroutine that the call contains.

    An event loop may call `throw` to cancel a task that awaits the call.
    """

    async def return_2_after_key_error() -> int:
        try:
            await asyncio.sleep(0)
        except KeyError:
            return 2
        return 1

    call = Call(return_2_after_key_error(), "name for errors")
    # Run the coroutine until it awaits for the first time.
    call.send(None)
    with pytest.raises(StopIteration) as stopped:
        call.throw(KeyError())
    assert stopped.value.value == 2


@pytest.mark.parametrize(
    "use", [lambda call: call + 1, lambda call: call > 1, int, lambda call: call[0]]
)
async def test_calculating_with_a_call_that_was_not_awaited_is_an_error(
    cluster: aio.Cluster, use: Callable[[Any], object]
) -> None:
    """Using a call that was not awaited as a number or a list raises TypeError, which says `await`.

    Python must not also warn that the coroutine was never awaited.
    """
    session = await cluster.connect()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(TypeError, match=r"^count\(\) has not been awaited: write await count"):
            use(session.count("ks.t0"))
        gc.collect()


async def test_a_plain_with_block_names_async_with(cluster: aio.Cluster) -> None:
    """`with cluster.connect()` raises an error that says to write `async with`."""
    connecting: Any = cluster.connect()
    with pytest.raises(TypeError, match="write `async with cluster"), connecting:
        pass
    gc.collect()
    assert not cluster.is_shutdown
