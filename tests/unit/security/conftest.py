"""Fixtures of the security tests: a CA, and a function that connects to a node.

The function connects with one API on one kind of event loop.
"""

from __future__ import annotations

import asyncio
import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from cassandra import aio
from cassandra.cluster import Cluster
from cassandra.query.settings import NOT_SET
from cassandra.testing.fake import FakeNode, rows

from .certificates import Authority

READ = "SELECT v FROM t"


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """Return a CA that issues the certificates of the tests."""
    return Authority(tmp_path_factory.mktemp("ca"))


@contextmanager
def fake(context: Any = None, **settings: Any) -> Iterator[FakeNode]:
    """Yield a fake node that responds to READ with the number 7."""
    with FakeNode(ssl_context=context, **settings) as node:
        node.prime(READ, rows([("v", "int")], [(7,)]))
        yield node


# A function that connects with the arguments of a cluster, and returns the number that READ reads.
Use = Callable[..., Any]


def _blocking(points: Any = NOT_SET, **settings: Any) -> int:
    """Connect with the blocking API, and return the value that READ reads."""
    with Cluster(points, **settings) as cluster, cluster.connect() as session:
        value: int = session.execute(READ).one().v
        return value


def _futures(points: Any = NOT_SET, **settings: Any) -> int:
    """Connect with the blocking API, and return the value that READ reads through a future."""
    with Cluster(points, **settings) as cluster, cluster.connect() as session:
        value: int = session.execute_async(READ).result().one().v
        return value


async def _awaited(points: Any = NOT_SET, **settings: Any) -> int:
    """Connect with the asyncio API, and return the value that READ reads."""
    async with aio.Cluster(points, **settings) as cluster:
        session = await cluster.connect()
        value: int = (await session.execute(READ)).one().v
        return value


@pytest.fixture(
    params=[
        pytest.param((connect_function, loop), id=f"{connect_function.__name__[1:]}-{loop}")
        for connect_function in (_blocking, _futures, _awaited)
        for loop in ("asyncio", "uvloop")
    ]
)
def connect_and_read(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Use:
    """Return a function that connects, executes READ once, and shuts down.

    A test runs once for each combination of an API (blocking calls, futures, asyncio) and an event
    loop (asyncio's, uvloop).
    """
    connect_function, loop = request.param
    uvloop = pytest.importorskip("uvloop") if loop == "uvloop" else None
    if uvloop is None:
        monkeypatch.setitem(sys.modules, "uvloop", None)
    if not inspect.iscoroutinefunction(connect_function):
        return connect_function  # type: ignore[no-any-return]

    def run(*args: Any, **kwargs: Any) -> Any:
        event_loop = uvloop.new_event_loop() if uvloop is not None else asyncio.SelectorEventLoop()
        try:
            return event_loop.run_until_complete(connect_function(*args, **kwargs))
        finally:
            event_loop.run_until_complete(event_loop.shutdown_default_executor())
            event_loop.close()

    return run
