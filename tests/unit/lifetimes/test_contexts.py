"""The engine runs in no context (see `contextvars`) of the application.

A cluster outlives the part of the application that has connected it, for example a web request. Log
records, policies and timers of later requests must not see the values of that context, and the
values must be freed when the application drops them.
"""

from __future__ import annotations

import asyncio
import gc
import importlib.util
import logging
import weakref
from collections.abc import Iterator
from contextvars import Context, ContextVar, copy_context
from typing import Any

import pytest

from cassandra import aio
from cassandra.auth import PlainTextAuthProvider
from cassandra.cluster import Cluster
from cassandra.observers import RequestObserver
from cassandra.policies import RetryPolicy
from cassandra.query import SimpleStatement
from cassandra.testing.fake import ErrorCode, FakeNode, error, rows, silence
from tests.unit.loops import start_at_once
from tests.waiting import WAIT, until, until_on_loop

BAD, SILENT, WARNED = "SELECT bad", "SELECT silent", "SELECT warned"
LOST = "the control connection is at"  # logged when the control connection was opened again


class Value:
    """A value of the application, which weak references can refer to."""

    def __init__(self, name: str) -> None:
        self.name = name


part: ContextVar[Value] = ContextVar("part")


def current_part() -> str:
    """Return the name of the application's part whose context this is; "none" without any."""
    value = part.get(None)
    return "none" if value is None else value.name


class Seen(logging.Handler, RetryPolicy, RequestObserver):
    """A handler, policy and observer that records the contexts in which it is called."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[str, str]] = []
        self.messages: list[str] = []

    def _note(self, name: str) -> None:
        self.calls.append((name, current_part()))

    def contexts(self, name: str) -> set[str]:
        """Return the contexts of the calls with this name."""
        return {context for call, context in self.calls if call == name}

    def emit(self, record: logging.LogRecord) -> None:
        self._note("log")
        self.messages.append(record.getMessage())

    def has_logged(self, text: str) -> bool:
        """Return True if a record contains this text."""
        return any(text in message for message in self.messages)

    def on_request_error(self, *arguments: Any, **settings: Any) -> Any:
        self._note("retry")
        return self.RETHROW, None

    def on_end(self, request: Any) -> None:
        self._note("end")

    def on_shutdown(self) -> None:
        self._note("shutdown")


class Login(PlainTextAuthProvider):
    """Credentials that record the contexts in which they are asked for."""

    def __init__(self, seen: Seen) -> None:
        super().__init__("u", "p")
        self._seen = seen

    def new_authenticator(self, host: str) -> Any:
        self._seen.calls.append(("login", current_part()))
        return super().new_authenticator(host)


@pytest.fixture
def node() -> Iterator[FakeNode]:
    """Yield a node that fails, warns, or stays silent, depending on the query."""
    with FakeNode(username="u", password="p") as running:
        running.prime(BAD, error(ErrorCode.OVERLOADED, "busy"))
        # The driver logs the same warning only once in a while.
        warning = f"beware of port {running.port}"
        running.prime(WARNED, rows([("k", "int")], [(1,)]).having(warnings=[warning]))
        running.prime(SILENT, silence())
        yield running


@pytest.fixture
def seen() -> Iterator[Seen]:
    """Yield a `Seen` that is a handler of the driver's logger."""
    handler, logger = Seen(), logging.getLogger("cassandra")
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    yield handler
    logger.setLevel(level)
    logger.removeHandler(handler)


def settings(node: FakeNode, seen: Seen) -> dict[str, Any]:
    """Return arguments of a cluster that uses `seen`."""
    return {
        "contact_points": [node.address],
        "port": node.port,
        "default_retry_policy": seen,
        "auth_provider": Login(seen),
        "request_observers": [seen],
    }


def check(seen: Seen) -> None:
    """Check the contexts of the calls during requests of the part "later"."""
    assert seen.has_logged("beware")
    assert seen.has_logged(LOST)
    assert seen.contexts("log") == {"none"}
    assert seen.contexts("retry") == {"none"}
    assert seen.contexts("end") == {"later"}


def enter(name: str) -> weakref.ref[Value]:
    """Set a new value in the current context, and return a weak reference to the value."""
    value = Value(name)
    part.set(value)
    return weakref.ref(value)


def is_freed(value: weakref.ref[Value]) -> bool:
    gc.collect()
    return value() is None


LOOPS = ["asyncio", "eager"] + ["uvloop"] * (importlib.util.find_spec("uvloop") is not None)


@pytest.mark.parametrize("loop_name", LOOPS)
def test_the_engine_on_asyncio_runs_in_no_context(
    node: FakeNode, seen: Seen, loop_name: str
) -> None:
    """With asyncio, the engine runs in no context of a task that has called the driver.

    Observers run in the context of the request's caller.
    """

    async def connect(cluster: aio.Cluster) -> tuple[aio.Session, weakref.ref[Value]]:
        value = enter("first")
        return await cluster.connect(), value

    async def use(session: aio.Session) -> weakref.ref[Value]:
        value = enter("later")
        await session.execute(WARNED)
        for query, timeout in ((BAD, 5.0), (SILENT, 0.05)):
            with pytest.raises(Exception, match=r"busy|timeout"):
                await session.execute(SimpleStatement(query, is_idempotent=True), timeout=timeout)
        return value

    async def run() -> None:
        if loop_name == "eager":
            asyncio.get_running_loop().set_task_factory(start_at_once)
        cluster = aio.Cluster(**settings(node, seen))
        session, first = await Context().run(asyncio.ensure_future, connect(cluster))
        later = await Context().run(asyncio.ensure_future, use(session))
        node.drop_connections()
        await until_on_loop(lambda: seen.has_logged(LOST))
        check(seen)
        assert seen.contexts("login") == {"none"}
        # The values are freed although the cluster is connected. A timer that served the requests
        # may still exist.
        await until_on_loop(lambda: is_freed(first) and is_freed(later))
        enter("end")
        await cluster.shutdown()
        assert seen.contexts("shutdown") == {"end"}

    loop = asyncio.new_event_loop()
    if loop_name == "uvloop":
        loop.close()
        import uvloop

        loop = uvloop.new_event_loop()
    try:
        loop.run_until_complete(asyncio.wait_for(run(), WAIT))
    finally:
        loop.close()


def test_the_engine_of_the_blocking_api_runs_in_no_context(node: FakeNode, seen: Seen) -> None:
    """With the blocking API, the engine runs in no context of a thread that has called it."""

    def connect() -> weakref.ref[Value]:
        value = enter("first")
        sessions.append(cluster.connect())
        return value

    def use() -> weakref.ref[Value]:
        value = enter("later")
        for _ in range(300):  # so many that threads may read the responses themselves
            session.execute("SELECT k FROM t")
        session.execute(WARNED)
        for query, timeout in ((BAD, 5.0), (SILENT, 0.05)):
            with pytest.raises(Exception, match=r"busy|timeout"):
                session.execute(SimpleStatement(query, is_idempotent=True), timeout=timeout)
        return value

    def shut_down() -> None:
        enter("end")
        cluster.shutdown()

    cluster = Cluster(**settings(node, seen))
    sessions: list[Any] = []
    try:
        first = Context().run(connect)
        session = sessions[0]
        later = Context().run(use)
        node.drop_connections()
        until(lambda: seen.has_logged(LOST))
        check(seen)
        assert seen.contexts("login") == {"none"}
        until(lambda: is_freed(first) and is_freed(later))
    finally:
        copy_context().run(shut_down)
    assert seen.contexts("shutdown") == {"end"}
