"""If the application's code raises on the loop, only the work that called it fails."""

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
from cassandra.protocol.opcodes import RESULT
from cassandra.query import SimpleStatement
from cassandra.testing.fake import ErrorCode, FakeNode, error, reset, silence
from tests.conftest import Twins
from tests.unit.engine.test_happy_path import Life, Message
from tests.unit.loops import Loops

ENDINGS = [SystemExit, KeyboardInterrupt, GeneratorExit, StopIteration]


async def escapes(kind: type[BaseException]) -> None:
    """Raise `kind` in a turn of the loop; the next turn must still run."""
    loop = asyncio.get_running_loop()
    if kind in (SystemExit, KeyboardInterrupt):
        (handle,) = loop._ready  # type: ignore[attr-defined]
        handle.cancel()
    await asyncio.sleep(0)


@pytest.fixture
def life(twins: Twins) -> Life:
    return Life(twins)


@pytest.mark.parametrize("kind", ENDINGS)
class TestWhatProgramsRaise:
    """Policies, handlers and observers of the application may raise anything."""

    async def test_a_plan(self, life: Life, kind: type[BaseException]) -> None:
        class Policy:
            def make_query_plan(self, keyspace: str | None, statement: Any) -> Any:
                raise kind("from a policy")

        request = life.request()
        request.policy = Policy()
        request.start()
        await escapes(kind)
        assert life.done == [request]
        assert isinstance(request.error, RuntimeError)
        assert kind.__name__ in str(request.error)
        assert len(life.session.timers) == 0

    async def test_a_message_that_encodes_itself(
        self, life: Life, kind: type[BaseException]
    ) -> None:
        class Raising(Message):
            def render(self, connection: Any) -> tuple[int, int, bytes]:
                raise kind("from a handler")

        request = life.request(request_body=Raising())
        request.start()
        await escapes(kind)
        assert life.done == [request]
        assert isinstance(request.error, RuntimeError)

    async def test_an_observer_of_answers(self, life: Life, kind: type[BaseException]) -> None:
        def observe(host: Any, latency: float) -> None:
            life.session.core.on_latency = None
            raise kind("from an observer")

        life.session.core.on_latency = observe
        first, second = life.request(), life.request()
        first.start()
        second.start()
        connection = life.connections[0]
        connection.streams.dispatch(
            connection, [(0, RESULT, 0, VOID_BODY, 4), (1, RESULT, 0, VOID_BODY, 4)]
        )
        await escapes(kind)
        assert life.done == [first, second]
        assert isinstance(first.error, RuntimeError)
        assert second.error is None

    async def test_the_end_of_a_time_limit(self, twins: Twins, kind: type[BaseException]) -> None:
        due: list[Any] = []
        wheel = twins.happy_path.TimerWheel(
            SimpleNamespace(time=lambda: 0.0, call_at=lambda when, call: due.append(call))
        )

        class Item:
            def __init__(self, raises: bool) -> None:
                self.raises = raises
                self.ends: list[Any] = []

            def on_timeout(self) -> None:
                if self.raises:
                    raise kind("from an observer")
                self.ends.append(None)

            def fail(self, error: BaseException) -> None:
                self.ends.append(error)

        items = [Item(False), Item(True), Item(False)]
        for item in items:
            wheel.add(0.5, item)
        due[0]()
        await escapes(kind)
        assert [len(item.ends) for item in items] == [1, 1, 1]
        assert isinstance(items[1].ends[0], RuntimeError)


class Raising(RoundRobinPolicy):
    """A policy that raises for statements that say so."""

    kind: type[BaseException]

    def make_query_plan(
        self, working_keyspace: str | None = None, query: Any = None
    ) -> Iterator[Any]:
        if "raise" in str(getattr(query, "query_string", "")):
            raise self.kind("from a policy")
        return super().make_query_plan(working_keyspace, query)


class RaisingRetries(RetryPolicy):
    def __init__(self, kind: type[BaseException]) -> None:
        self.kind = kind

    def on_request_error(self, *args: Any, **kwargs: Any) -> Any:
        raise self.kind("from a retry policy")


class RaisingListener(HostStateListener):
    def __init__(self, kind: type[BaseException]) -> None:
        self.kind = kind

    def on_up(self, host: Any) -> None:
        raise self.kind("from a listener")

    on_down = on_add = on_remove = on_up


@pytest.mark.parametrize("kind", ENDINGS)
def test_a_session_goes_on(loops: Loops, kind: type[BaseException]) -> None:
    policy = Raising()
    policy.kind = kind
    profile = ExecutionProfile(
        load_balancing_policy=policy, retry_policy=RaisingRetries(kind), request_timeout=10
    )
    with FakeNode() as node:
        node.prime("refused", error(ErrorCode.OVERLOADED, "busy"))
        with Cluster(
            [node.address], port=node.port, execution_profiles={EXEC_PROFILE_DEFAULT: profile}
        ) as cluster:
            session = cluster.connect()
            cluster.register_listener(RaisingListener(kind))
            texts = ["SELECT 1", "raise", "SELECT 2", "refused", "SELECT 3", "raise", "SELECT 4"]
            futures = [session.execute_async(SimpleStatement(text)) for text in texts * 20]
            for text, future in zip(texts * 20, futures, strict=True):
                if text.startswith("SELECT"):
                    assert future.result().all() == []
                else:
                    with pytest.raises(RuntimeError, match=kind.__name__):
                        future.result()


# -- errors for callers ----------------------------------------------------------------------------


def test_a_fault_is_told_from_what_servers_and_networks_do() -> None:
    fault = ValueError("of a system table")
    assert fault_among([ConnectionException("gone"), fault, OSError("no route")]) is fault
    assert fault_among(["a text", ConnectionException("gone"), OSError("no route")]) is None
    assert fault_among([]) is None


def formatted(error: BaseException) -> str:
    return "".join(traceback.format_exception(type(error), error, error.__traceback__))


@pytest.mark.parametrize("face", [Cluster, aio.Cluster])
async def test_a_node_that_is_not_there_is_one_short_traceback(face: Any) -> None:
    async def connect() -> None:
        connecting = face(["127.0.0.1"], port=1).connect("ks")
        if face is aio.Cluster:
            await connecting

    with pytest.raises(NoHostAvailable) as caught:
        await connect()
    text = formatted(caught.value)
    assert text.count("Traceback (most recent call last)") == 1
    assert "handshake.py" not in text
    assert "Connection refused" in text
    # The exceptions of the hosts have their own cause.
    (of_host,) = caught.value.errors.values()
    assert isinstance(of_host.__cause__, OSError)
    assert "handshake.py" in formatted(of_host)


def test_errors_of_requests_have_the_frames_of_the_caller_alone() -> None:
    with FakeNode() as node, Cluster([node.address], port=node.port) as cluster:
        session = cluster.connect()
        for answer in (reset(), error(ErrorCode.INVALID, "no"), silence()):
            node.prime("Q", answer)
            future = session.execute_async("Q", timeout=0.2)
            for _ in range(3):  # each call raises it again, and frames must not pile up
                with pytest.raises(DriverException) as caught:
                    future.result()
            text = formatted(caught.value)
            assert text.count("Traceback (most recent call last)") == 1, text
            assert text.count("in result") == 1


def test_a_keyspace_that_does_not_exist_is_one_traceback() -> None:
    with FakeNode() as node, Cluster([node.address], port=node.port) as cluster:
        node.keyspaces = {"there"}
        with pytest.raises(NoHostAvailable) as caught:
            cluster.connect("missing")
        assert formatted(caught.value).count("Traceback (most recent call last)") == 1
