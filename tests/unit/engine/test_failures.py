"""If code of the application raises on the loop, only the request that called it fails."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from cassandra import aio
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile, NoHostAvailable
from cassandra.engine.failures import fault_among
from cassandra.errors import ConnectionException, DriverException
from cassandra.policies import RetryPolicy, RoundRobinPolicy
from cassandra.policies.balancing import HostStateListener
from cassandra.protocol.messages.results import VOID_BODY
from cassandra.query import SimpleStatement
from cassandra.testing.fake import ErrorCode, FakeNode, error, reset, silence
from tests.conftest import Implementation
from tests.unit.engine.test_happy_path import Message, RequestParts, response
from tests.unit.loops import Loops

EXCEPTIONS = [SystemExit, KeyboardInterrupt, GeneratorExit, StopIteration]


async def drop_reraised(exception_class: type[BaseException]) -> None:
    """Let the loop run on, without the exception that the driver raises for the loop.

    The driver raises SystemExit and KeyboardInterrupt again in the loop's next turn, which would
    end the test run.
    """
    loop = asyncio.get_running_loop()
    if exception_class in (SystemExit, KeyboardInterrupt):
        (handle,) = loop._ready  # type: ignore[attr-defined]
        handle.cancel()
    await asyncio.sleep(0)


@pytest.fixture
def parts(implementation: Implementation) -> RequestParts:
    return RequestParts(implementation)


@pytest.mark.parametrize("exception_class", EXCEPTIONS)
class TestExceptionsOfTheApplication:
    """Policies, handlers and observers of the application may raise any exception."""

    async def test_a_query_plan_that_raises_fails_its_request(
        self, parts: RequestParts, exception_class: type[BaseException]
    ) -> None:
        class Policy:
            def make_query_plan(self, keyspace: str | None, statement: Any) -> Any:
                raise exception_class("from a policy")

        request = parts.request()
        request.policy = Policy()
        request.start()
        await drop_reraised(exception_class)
        assert parts.done == [request]
        assert isinstance(request.error, RuntimeError)
        assert exception_class.__name__ in str(request.error)
        assert len(parts.session.timers) == 0

    async def test_a_message_that_raises_when_encoded_fails_its_request(
        self, parts: RequestParts, exception_class: type[BaseException]
    ) -> None:
        class Raising(Message):
            def render(self, connection: Any) -> tuple[int, int, bytes]:
                raise exception_class("from a handler")

        request = parts.request(request_body=Raising())
        request.start()
        await drop_reraised(exception_class)
        assert parts.done == [request]
        assert isinstance(request.error, RuntimeError)

    async def test_a_latency_observer_that_raises_fails_its_request(
        self, parts: RequestParts, exception_class: type[BaseException]
    ) -> None:
        def raise_once(host: Any, latency: float) -> None:
            # Raise only for the first of the two answers.
            parts.session.core.on_latency = None
            raise exception_class("from an observer")

        parts.session.core.on_latency = raise_once
        first, second = parts.request(), parts.request()
        first.start()
        second.start()
        connection = parts.connections[0]
        connection.streams.dispatch(
            connection, [response(0, body=VOID_BODY), response(1, body=VOID_BODY)]
        )
        await drop_reraised(exception_class)
        assert parts.done == [first, second]
        assert isinstance(first.error, RuntimeError)
        assert second.error is None

    async def test_a_deadline_that_raises_fails_its_item(
        self, implementation: Implementation, exception_class: type[BaseException]
    ) -> None:
        timer_calls: list[Any] = []
        wheel = implementation.happy_path.TimerWheel(
            SimpleNamespace(time=lambda: 0.0, call_at=lambda when, call: timer_calls.append(call))
        )

        class Item:
            def __init__(self, raises: bool) -> None:
                self.raises = raises
                self.ends: list[Any] = []

            def on_timeout(self) -> None:
                if self.raises:
                    raise exception_class("from an observer")
                self.ends.append(None)

            def fail(self, error: BaseException) -> None:
                self.ends.append(error)

        items = [Item(False), Item(True), Item(False)]
        for item in items:
            wheel.add(0.5, item)
        # Let the timer of the wheel fire.
        timer_calls[0]()
        await drop_reraised(exception_class)
        assert [len(item.ends) for item in items] == [1, 1, 1]
        assert isinstance(items[1].ends[0], RuntimeError)


class Raising(RoundRobinPolicy):
    """A policy that raises for statements whose query contains "raise"."""

    exception_class: type[BaseException]

    def make_query_plan(
        self, working_keyspace: str | None = None, query: Any = None
    ) -> Iterator[Any]:
        if "raise" in str(getattr(query, "query_string", "")):
            raise self.exception_class("from a policy")
        return super().make_query_plan(working_keyspace, query)


class RaisingRetries(RetryPolicy):
    def __init__(self, exception_class: type[BaseException]) -> None:
        self.exception_class = exception_class

    def on_request_error(self, *args: Any, **kwargs: Any) -> Any:
        raise self.exception_class("from a retry policy")


class RaisingListener(HostStateListener):
    def __init__(self, exception_class: type[BaseException]) -> None:
        self.exception_class = exception_class

    def on_up(self, host: Any) -> None:
        raise self.exception_class("from a listener")

    on_down = on_add = on_remove = on_up


@pytest.mark.parametrize("exception_class", EXCEPTIONS)
def test_other_requests_succeed_if_policies_and_listeners_raise(
    loops: Loops, exception_class: type[BaseException]
) -> None:
    policy = Raising()
    policy.exception_class = exception_class
    profile = ExecutionProfile(
        load_balancing_policy=policy,
        retry_policy=RaisingRetries(exception_class),
        request_timeout=10,
    )
    with FakeNode() as node:
        node.prime("refused", error(ErrorCode.OVERLOADED, "busy"))
        with Cluster(
            [node.address], port=node.port, execution_profiles={EXEC_PROFILE_DEFAULT: profile}
        ) as cluster:
            session = cluster.connect()
            cluster.register_listener(RaisingListener(exception_class))
            # The policy raises for "raise", and the retry policy for the error after "refused".
            texts = ["SELECT 1", "raise", "SELECT 2", "refused", "SELECT 3", "raise", "SELECT 4"]
            futures = [session.execute_async(SimpleStatement(text)) for text in texts * 20]
            for text, future in zip(texts * 20, futures, strict=True):
                if text.startswith("SELECT"):
                    assert future.result().all() == []
                else:
                    with pytest.raises(RuntimeError, match=exception_class.__name__):
                        future.result()


# -- errors for callers ----------------------------------------------------------------------------


def test_fault_among_finds_errors_of_the_driver() -> None:
    fault = ValueError("of a system table")
    assert fault_among([ConnectionException("gone"), fault, OSError("no route")]) is fault
    assert fault_among(["a text", ConnectionException("gone"), OSError("no route")]) is None
    assert fault_among([]) is None


def format_error(error: BaseException) -> str:
    return "".join(traceback.format_exception(type(error), error, error.__traceback__))


@pytest.mark.parametrize("cluster_class", [Cluster, aio.Cluster])
async def test_connecting_to_no_node_has_one_short_traceback(cluster_class: Any) -> None:
    async def connect() -> None:
        connecting = cluster_class(["127.0.0.1"], port=1).connect("ks")
        if cluster_class is aio.Cluster:
            await connecting

    with pytest.raises(NoHostAvailable) as caught:
        await connect()
    text = format_error(caught.value)
    assert text.count("Traceback (most recent call last)") == 1
    assert "handshake.py" not in text
    assert "Connection refused" in text
    # The error of each host has its cause.
    (host_error,) = caught.value.errors.values()
    assert isinstance(host_error.__cause__, OSError)
    assert "handshake.py" in format_error(host_error)


def test_errors_of_requests_show_only_the_callers_frames() -> None:
    with FakeNode() as node, Cluster([node.address], port=node.port) as cluster:
        session = cluster.connect()
        # A lost connection, an error of the server, and a timeout.
        for answer in (reset(), error(ErrorCode.INVALID, "no"), silence()):
            node.prime("Q", answer)
            future = session.execute_async("Q", timeout=0.2)
            for _ in range(3):  # each call raises the error again, but its traceback must not grow
                with pytest.raises(DriverException) as caught:
                    future.result()
            text = format_error(caught.value)
            assert text.count("Traceback (most recent call last)") == 1, text
            assert text.count("in result") == 1


def test_a_missing_keyspace_has_one_traceback() -> None:
    with FakeNode() as node, Cluster([node.address], port=node.port) as cluster:
        node.keyspaces = {"there"}
        with pytest.raises(NoHostAvailable) as caught:
            cluster.connect("missing")
        assert format_error(caught.value).count("Traceback (most recent call last)") == 1
