"""If an application's code raises an error on the loop, only the request that called it fails."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Iterator
from contextvars import ContextVar
from types import SimpleNamespace
from typing import Any

import pytest

from cassandra import aio
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile, NoHostAvailable
from cassandra.engine.failures import call_on_loop, fault_among
from cassandra.errors import ConnectionException, DriverException
from cassandra.policies import RetryPolicy, RoundRobinPolicy
from cassandra.policies.balancing import HostStateListener
from cassandra.protocol.messages.results import VOID_BODY
from cassandra.query import SimpleStatement
from cassandra.testing.fake import ErrorCode, FakeNode, error, reset, silence
from tests.conftest import Implementation
from tests.unit.engine.test_happy_path import EncodedBody, RequestHarness, response
from tests.unit.loops import Loops

EXCEPTIONS = [SystemExit, KeyboardInterrupt, GeneratorExit, StopIteration]


async def drop_reraised(exception_class: type[BaseException]) -> None:
    """Let the loop run, but drop the exception that the driver raises again for the loop.

    The driver raises SystemExit and KeyboardInterrupt again in the loop's next iteration. This
    would end the test run.
    """
    loop = asyncio.get_running_loop()
    if exception_class in (SystemExit, KeyboardInterrupt):
        (handle,) = loop._ready  # type: ignore[attr-defined]
        handle.cancel()
    await asyncio.sleep(0)


@pytest.fixture
def harness(implementation: Implementation) -> RequestHarness:
    return RequestHarness(implementation)


@pytest.mark.parametrize("exception_class", EXCEPTIONS)
class TestExceptionsOfTheApplication:
    """Tests of policies, handlers and observers of the application, which may raise any exception.

    The request that called them fails with a RuntimeError that names the exception. Other requests
    succeed.
    """

    async def test_a_query_plan_that_raises_fails_its_request(
        self, harness: RequestHarness, exception_class: type[BaseException]
    ) -> None:
        """If `make_query_plan` raises an exception, the request fails and leaves no timer."""

        class RaisingPolicy:
            def make_query_plan(self, keyspace: str | None, statement: Any) -> Any:
                raise exception_class("from a policy")

        request = harness.request()
        request.policy = RaisingPolicy()
        request.start()
        await drop_reraised(exception_class)
        assert harness.ended == [request]
        assert isinstance(request.error, RuntimeError)
        assert exception_class.__name__ in str(request.error)
        assert len(harness.session.timers) == 0

    async def test_a_message_that_raises_when_encoded_fails_its_request(
        self, harness: RequestHarness, exception_class: type[BaseException]
    ) -> None:
        """If encoding a message raises an exception, the request fails with RuntimeError."""

        class RaisingBody(EncodedBody):
            def render(self, connection: Any) -> tuple[int, int, bytes]:
                raise exception_class("from a handler")

        request = harness.request(request_body=RaisingBody())
        request.start()
        await drop_reraised(exception_class)
        assert harness.ended == [request]
        assert isinstance(request.error, RuntimeError)

    async def test_a_latency_observer_that_raises_fails_its_request(
        self, harness: RequestHarness, exception_class: type[BaseException]
    ) -> None:
        """If a latency observer raises an exception, only the request that it was called for fails.

        Two responses are received together. The observer raises for the first, and the second
        request must succeed.
        """

        def raise_once(host: Any, latency: float) -> None:
            # Raise only for the first of the two responses.
            harness.session.core.on_latency = None
            raise exception_class("from an observer")

        harness.session.core.on_latency = raise_once
        first, second = harness.request(), harness.request()
        first.start()
        second.start()
        connection = harness.connections[0]
        connection.streams.dispatch(
            connection, [response(0, body=VOID_BODY), response(1, body=VOID_BODY)]
        )
        await drop_reraised(exception_class)
        assert harness.ended == [first, second]
        assert isinstance(first.error, RuntimeError)
        assert second.error is None

    async def test_a_deadline_that_raises_fails_its_item(
        self, implementation: Implementation, exception_class: type[BaseException]
    ) -> None:
        """If `on_timeout` of one item raises an exception, this item fails.

        The other items that are due at the same time still time out.
        """
        timer_calls: list[Any] = []
        wheel = implementation.happy_path.TimerWheel(
            SimpleNamespace(time=lambda: 0.0, call_at=lambda when, call: timer_calls.append(call))
        )

        class TimedItem:
            def __init__(self, raises: bool) -> None:
                self.raises = raises
                self.ends: list[Any] = []

            def on_timeout(self) -> None:
                if self.raises:
                    raise exception_class("from an observer")
                self.ends.append("timed out")

            def fail(self, error: BaseException) -> None:
                self.ends.append(error)

        items = [TimedItem(raises=False), TimedItem(raises=True), TimedItem(raises=False)]
        for item in items:
            wheel.add(0.5, item)  # due in 0.5 seconds
        # Let the timer of the wheel fire.
        timer_calls[0]()
        await drop_reraised(exception_class)
        assert [len(item.ends) for item in items] == [1, 1, 1]
        assert isinstance(items[1].ends[0], RuntimeError)


class PolicyThatRaises(RoundRobinPolicy):
    """A policy that raises an exception for statements whose query contains "raise"."""

    exception_class: type[BaseException]

    def make_query_plan(
        self, working_keyspace: str | None = None, query: Any = None
    ) -> Iterator[Any]:
        """Return a round-robin plan, or raise an exception if the query contains "raise"."""
        if "raise" in str(getattr(query, "query_string", "")):
            raise self.exception_class("from a policy")
        return super().make_query_plan(working_keyspace, query)


class RaisingRetryPolicy(RetryPolicy):
    """A retry policy that raises an exception for every error."""

    def __init__(self, exception_class: type[BaseException]) -> None:
        self.exception_class = exception_class

    def on_request_error(self, *args: Any, **kwargs: Any) -> Any:
        raise self.exception_class("from a retry policy")


class RaisingListener(HostStateListener):
    """A listener that raises an exception for every host event."""

    def __init__(self, exception_class: type[BaseException]) -> None:
        self.exception_class = exception_class

    def on_up(self, host: Any) -> None:
        raise self.exception_class("from a listener")

    on_down = on_add = on_remove = on_up


@pytest.mark.parametrize("exception_class", EXCEPTIONS)
def test_other_requests_succeed_if_policies_and_listeners_raise(
    loops: Loops, exception_class: type[BaseException]
) -> None:
    """If policies or listeners raise exceptions, only the requests that called them fail."""
    policy = PolicyThatRaises()
    policy.exception_class = exception_class
    profile = ExecutionProfile(
        load_balancing_policy=policy,
        retry_policy=RaisingRetryPolicy(exception_class),
        request_timeout=10,
    )
    with FakeNode() as node:
        node.prime("refused", error(ErrorCode.OVERLOADED, "busy"))
        with Cluster(
            [node.address], port=node.port, execution_profiles={EXEC_PROFILE_DEFAULT: profile}
        ) as cluster:
            session = cluster.connect()
            cluster.register_listener(RaisingListener(exception_class))
            # The policy raises for "raise", and the retry policy raises after the error for
            # "refused".
            queries = ["SELECT 1", "raise", "SELECT 2", "refused", "SELECT 3"] * 20
            futures = [session.execute_async(SimpleStatement(query)) for query in queries]
            for query, future in zip(queries, futures, strict=True):
                if query.startswith("SELECT"):
                    assert future.result().all() == []
                else:
                    with pytest.raises(RuntimeError, match=exception_class.__name__):
                        future.result()


class PolicyWithOtherObjects(RoundRobinPolicy):
    """A policy whose plans start with two objects that are not hosts.

    :param has_hosts: whether the cluster's hosts follow.
    """

    def __init__(self, has_hosts: bool) -> None:
        super().__init__()
        self.has_hosts = has_hosts

    def make_query_plan(
        self, working_keyspace: str | None = None, query: Any = None
    ) -> Iterator[Any]:
        yield None
        yield "127.0.0.1"
        if self.has_hosts:
            yield from super().make_query_plan(working_keyspace, query)


@pytest.mark.parametrize("has_hosts", [True, False])
def test_objects_in_a_query_plan_that_are_not_hosts_are_left_out(
    loops: Loops, has_hosts: bool
) -> None:
    """Objects in a query plan that are not hosts are skipped, as in cassandra-driver.

    If the plan has no hosts, the error names the policy and the objects.
    """
    profile = ExecutionProfile(load_balancing_policy=PolicyWithOtherObjects(has_hosts))
    with (
        FakeNode() as node,
        Cluster(
            [node.address], port=node.port, execution_profiles={EXEC_PROFILE_DEFAULT: profile}
        ) as cluster,
    ):
        session = cluster.connect()
        if has_hosts:
            assert session.execute("SELECT 1").all() == []
        else:
            with pytest.raises(NoHostAvailable, match="PolicyWithOtherObjects") as caught:
                session.execute("SELECT 1")
            assert list(caught.value.errors) == ["None", "127.0.0.1"]
            assert "None, which is not a host" in str(caught.value.errors["None"])


# -- errors for callers ----------------------------------------------------------------------------


def test_fault_among_finds_errors_of_the_driver() -> None:
    """`fault_among` returns the last error that is a bug, or None.

    The bug may be in the driver or in the application.
    """
    fault = ValueError("mistake in the driver")
    assert fault_among([ConnectionException("gone"), fault, OSError("no route")]) is fault
    assert fault_among(["a text", ConnectionException("gone"), OSError("no route")]) is None
    assert fault_among([]) is None


def format_error(error: BaseException) -> str:
    """Return an error and its causes with tracebacks, in the format in which Python prints them."""
    return "".join(traceback.format_exception(type(error), error, error.__traceback__))


@pytest.mark.parametrize("cluster_class", [Cluster, aio.Cluster])
async def test_connecting_to_no_node_has_one_short_traceback(cluster_class: Any) -> None:
    """The traceback of NoHostAvailable is short: it contains no code of the handshake.

    The errors of the hosts are only in the `errors` of the exception.
    """

    async def connect() -> None:
        connecting = cluster_class(["127.0.0.1"], port=1).connect("ks")
        if cluster_class is aio.Cluster:
            await connecting

    with pytest.raises(NoHostAvailable) as caught:
        await connect()
    formatted_error = format_error(caught.value)
    assert formatted_error.count("Traceback (most recent call last)") == 1
    assert "handshake.py" not in formatted_error
    assert "Connection refused" in formatted_error
    # The error of each host still has its cause.
    (host_error,) = caught.value.errors.values()
    assert isinstance(host_error.__cause__, OSError)
    assert "handshake.py" in format_error(host_error)


def test_errors_of_requests_show_only_the_callers_frames() -> None:
    """The traceback of a failed request starts in the caller and ends in `result`.

    It does not grow when the error is raised again.
    """
    with FakeNode() as node, Cluster([node.address], port=node.port) as cluster:
        session = cluster.connect()
        # The errors are a lost connection, an error of the server, and a timeout.
        for answer in (reset(), error(ErrorCode.INVALID, "no"), silence()):
            node.prime("Q", answer)
            future = session.execute_async("Q", timeout=0.2)
            for _ in range(3):  # each call raises the same error, whose traceback must not grow
                with pytest.raises(DriverException) as caught:
                    future.result()
            formatted_error = format_error(caught.value)
            assert formatted_error.count("Traceback (most recent call last)") == 1, formatted_error
            assert formatted_error.count("in result") == 1


def test_a_missing_keyspace_has_one_traceback() -> None:
    """If a keyspace does not exist, NoHostAvailable has one traceback.

    The error of the USE must not be printed as its context.
    """
    with FakeNode() as node, Cluster([node.address], port=node.port) as cluster:
        node.keyspaces = {"there"}
        with pytest.raises(NoHostAvailable) as caught:
            cluster.connect("missing")
        assert format_error(caught.value).count("Traceback (most recent call last)") == 1


@pytest.mark.parametrize("error_class", [RuntimeError, KeyboardInterrupt])
def test_a_call_on_the_loop_survives_the_error_of_a_signal_handler(
    error_class: type[BaseException],
) -> None:
    """If a signal handler raises an error before a call is scheduled, the call is still scheduled.

    The handler runs in the calling thread, and its error is raised there.
    """
    calls: list[int] = []

    def call_soon(number: int) -> None:
        """Record the call, and raise the handler's error at the first call."""
        calls.append(number)
        if len(calls) == 1:
            raise error_class("from a handler")

    with pytest.raises(error_class, match="from a handler"):
        call_on_loop(call_soon, (7,))
    assert calls == [7, 7]


def test_a_call_on_a_closed_loop_is_reported() -> None:
    loop = asyncio.new_event_loop()
    loop.close()
    assert call_on_loop(loop.call_soon_threadsafe, (print,)) is False


async def test_a_call_on_the_loop_runs_in_an_empty_context() -> None:
    """A call on the loop does not run in the context of the thread that makes it."""
    variable: ContextVar[str] = ContextVar("variable", default="unset")
    variable.set("set")
    values: list[str] = []

    def call() -> None:
        values.append(variable.get())

    assert call_on_loop(asyncio.get_running_loop().call_soon_threadsafe, (call,))
    await asyncio.sleep(0)
    assert values == ["unset"]
