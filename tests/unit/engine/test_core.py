"""`Core`, the engine of one cluster: how its parts work together on fake nodes, and its end."""

from __future__ import annotations

import asyncio
from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest

from cassandra import aio
from cassandra.auth import PlainTextAuthProvider
from cassandra.engine.connection import wire_format_of
from cassandra.engine.workers import WorkerCore
from cassandra.errors import (
    ConnectionShutdown,
    NoHostAvailable,
    SessionShutdown,
    UserTypeDoesNotExist,
)
from cassandra.observers import RequestObserver
from cassandra.policies import ConstantReconnectionPolicy
from cassandra.testing.fake import (
    ErrorCode,
    FakeCluster,
    FakeNode,
    Opcode,
    Scylla,
    error,
    hold,
    message,
)
from cassandra.testing.fake.primitives import string
from cassandra.throttling import ConcurrencyLimitingThrottler
from cassandra.timestamps import MonotonicTimestampGenerator
from tests.unit.engine.faults import READ, READ_OTHER, connected, exception_of, int_row
from tests.waiting import until_on_loop

pytestmark = pytest.mark.simulated

HEARTBEAT_INTERVAL = 10.0  # seconds
# The first attempt to reconnect would be due in an hour (3600 s).
NO_RECONNECTION = ConstantReconnectionPolicy(delay=3600, max_attempts=None)


@pytest.fixture
def node() -> Any:
    """Yield a node that responds to READ, and check that its clients sent only valid messages."""
    with FakeNode() as running:
        running.prime(READ, int_row(1))
        yield running
        assert running.malformed == []


def core_of(cluster: aio.Cluster) -> Any:
    """Return the engine of a connected cluster."""
    assert cluster._core is not None
    return cluster._core


def refuse_system_tables(node: FakeNode) -> Any:
    """Let queries of system.local fail until `remove` of the returned rule is called."""
    return node.prime(
        lambda request: "system.local" in str(request.query),
        error(ErrorCode.SERVER_ERROR, "broken"),
    )


# -- heartbeats ------------------------------------------------------------------------------------


async def test_heartbeats_go_to_pools_and_to_the_control_connection(node: FakeNode) -> None:
    """An idle connection gets an OPTIONS message in each interval, whether it is in a pool or not.

    The control connection is not in a pool.
    """
    async with connected(node, idle_heartbeat_interval=HEARTBEAT_INTERVAL):
        count_before = node.count(Opcode.OPTIONS)
        # Two heartbeats on each connection are due in this time.
        await asyncio.sleep(2.5 * HEARTBEAT_INTERVAL)
        options = [request for request in node.requests if request.opcode == Opcode.OPTIONS]
        counts = Counter(request.connection for request in options)
        # One connection is in the pool, and the other is the control connection.
        assert len(counts) == 2
        assert len(options) >= count_before + len(counts)
        # The handshake of a connection has at most one OPTIONS, so further OPTIONS requests are
        # heartbeats.
        assert all(count >= 2 for count in counts.values())


@pytest.mark.parametrize("interval", [0, None])
async def test_without_an_interval_there_are_no_heartbeats(node: FakeNode, interval: Any) -> None:
    async with connected(node, idle_heartbeat_interval=interval):
        count_before = node.count(Opcode.OPTIONS)
        await asyncio.sleep(10 * HEARTBEAT_INTERVAL)
        assert node.count(Opcode.OPTIONS) == count_before


# -- opening and closing ---------------------------------------------------------------------------


async def test_a_failed_connect_closes_everything_and_raises(node: FakeNode) -> None:
    """If the system tables cannot be read, `connect` raises an error and closes all connections.

    Afterwards, the cluster may connect again.
    """
    broken_tables = refuse_system_tables(node)
    throttler = ConcurrencyLimitingThrottler(max_concurrent_requests=1, max_queue_size=1)
    cluster = aio.Cluster([node.address], port=node.port, request_throttler=throttler)
    assert isinstance(await exception_of(cluster.connect()), NoHostAvailable)
    await node.wait_until(lambda node: not node.connections)
    # The failed `connect` has released the throttler, so the next call can use it.
    broken_tables.remove()
    async with cluster:
        session = await cluster.connect()
        assert await session.execute(READ_OTHER) is not None


async def test_close_closes_all_connections_and_may_be_called_twice(node: FakeNode) -> None:
    """`Core.close` closes all sessions and the control connection, and may be called twice.

    Afterwards, the node has no connection. The second call does nothing.
    """
    async with connected(node) as (cluster, _):
        core = core_of(cluster)
        assert not core.closed
        await core.close()
        assert core.closed
        assert list(core.sessions) == []
        assert core.control.connection is None
        await core.close()
        await node.wait_until(lambda node: not node.connections)


@pytest.mark.parametrize("kind", ["the first engine", "a worker"])
async def test_a_cancelled_close_continues_and_another_waits_for_it(
    node: FakeNode, kind: str
) -> None:
    """If a call of `close` is cancelled, closing continues, and a second call waits for its end.

    `Cluster.shutdown` may cancel a `connect` that is closing the engine after an error. Then
    `shutdown` closes the engine itself and ends the loop. The loop must not end before everything
    is closed.
    """
    async with connected(node) as (cluster, _):
        core = core_of(cluster)
        thread: Any = SimpleNamespace(loop=core.loop, wake_queue=core.wake_queue)
        engine = core if kind == "the first engine" else WorkerCore(core, thread)
        # Closing the engine waits until the test sets this event.
        may_settle = asyncio.Event()
        engine.connector.settle = may_settle.wait  # type: ignore[method-assign]
        first = asyncio.ensure_future(engine.close())
        await asyncio.sleep(1)
        first.cancel()
        await asyncio.wait({first})
        assert first.cancelled()
        # The second call must also wait until the engine is closed.
        second = asyncio.ensure_future(engine.close())
        await asyncio.sleep(1)
        assert not second.done()
        may_settle.set()
        await second


async def test_close_cancels_what_runs_in_the_background(node: FakeNode) -> None:
    """`Core.close` cancels the tasks that `spawn` has started."""
    async with connected(node) as (cluster, _):
        core = core_of(cluster)
        task = core.spawn(asyncio.Event().wait())
        await core.close()
        assert task.cancelled()


async def test_close_ends_reconnection_to_hosts_that_are_down(node: FakeNode) -> None:
    """After `Core.close`, the driver does not reconnect to a host that was down."""
    async with connected(node) as (cluster, _):
        core = core_of(cluster)
        node.refuse_connections()
        node.drop_connections()
        (host,) = cluster.metadata.all_hosts()
        await until_on_loop(lambda: host.is_up is False)
        await core.close()
        node.accept_connections()
        opened_before = node.opened
        await asyncio.sleep(60)
        assert node.opened == opened_before


async def test_a_closed_core_opens_neither_sessions_nor_connections(node: FakeNode) -> None:
    """After `Core.close`, opening a session or a connection raises ConnectionShutdown.

    The node gets no new connection.
    """
    async with connected(node) as (cluster, session):
        core = core_of(cluster)
        (host,) = cluster.metadata.all_hosts()
        distance = session._engine.distance
        await core.close()
        opened_before = node.opened
        for attempt in (
            core.open_session(keyspace=None, distance=distance),
            core.open_connection(host.endpoint),
            core.open_connection_to(host),
        ):
            refusal = await exception_of(attempt)
            assert isinstance(refusal, ConnectionShutdown)
            assert "the cluster is shut down" in str(refusal)
        assert node.opened == opened_before


async def test_a_session_that_cannot_be_opened_is_not_kept(node: FakeNode) -> None:
    """A session whose keyspace no connection can use is not added to the core."""
    async with connected(node) as (cluster, session):
        core = core_of(cluster)
        node.prime('USE "missing"', error(ErrorCode.SERVER_ERROR))
        failure = await exception_of(core.open_session("missing", session._engine.distance))
        assert isinstance(failure, NoHostAvailable)
        assert list(core.sessions) == [session._engine]
        new_session = await core.open_session(keyspace=None, distance=session._engine.distance)
        assert list(core.sessions) == [session._engine, new_session]


async def test_without_wait_for_all_a_session_does_not_wait_for_slow_hosts() -> None:
    """`open_session` returns when the first pool is open.

    With `wait_for_all`, it returns when all pools are open.
    """
    with FakeCluster(2) as nodes:
        async with connected(nodes, connect_timeout=30.0) as (cluster, session):
            core = core_of(cluster)
            distance = session._engine.distance
            host = cluster.metadata.get_host(nodes[1].address, nodes[1].port)
            # The second node holds its READY, so its connections do not open yet.
            held_ready = hold(message(Opcode.READY, b""))
            nodes[1].prime(Opcode.STARTUP, held_ready)
            session_with_one_pool = await core.open_session(keyspace=None, distance=distance)
            assert host not in session_with_one_pool.pools
            # With `wait_for_all`, the call waits until the second node sends READY.
            opening = asyncio.ensure_future(
                core.open_session(keyspace=None, distance=distance, wait_for_all=True)
            )
            await asyncio.sleep(10)
            assert not opening.done()
            held_ready.open()
            assert host in (await opening).pools


# -- throttlers and observers ----------------------------------------------------------------------


async def test_the_throttler_is_attached_to_the_loop_until_the_core_is_closed(
    node: FakeNode,
) -> None:
    """A throttler serves one cluster at a time.

    After `close`, another cluster can use it.
    """
    throttler = ConcurrencyLimitingThrottler(max_concurrent_requests=1, max_queue_size=0)
    held_answer = hold()
    node.prime(READ, held_answer)
    async with connected(node, request_throttler=throttler) as (cluster, session):
        core = core_of(cluster)
        attached_throttler = core.throttler
        assert attached_throttler is throttler
        request_in_flight = asyncio.ensure_future(session.execute(READ))
        await until_on_loop(lambda: held_answer.held)
        # One request is in flight, and the queue has no space, so this request is refused.
        refusal = await exception_of(session.execute(READ))
        assert "Throttled" in type(refusal).__name__
        await core.close()
        assert isinstance(await exception_of(request_in_flight), ConnectionShutdown)
        assert core.throttler is None
    # The first cluster is closed, so a second cluster can use the same throttler.
    node.prime(READ, int_row(1))
    async with connected(node, request_throttler=throttler) as (_, session):
        assert (await session.execute(READ)).one().k == 1


class AttachedThrottler(ConcurrencyLimitingThrottler):
    """A throttler that records the loops it is attached to, and counts its detachments."""

    loops: list[Any]
    detached = 0

    def attach(self, loop: Any) -> None:
        self.loops = [*getattr(self, "loops", ()), loop]
        super().attach(loop)

    def detach(self) -> None:
        self.detached += 1
        super().detach()


async def test_a_throttler_knows_the_loop_of_its_cluster(node: FakeNode) -> None:
    """A cluster attaches its throttler to its event loop once, and detaches it at the shutdown."""
    throttler = AttachedThrottler(max_concurrent_requests=1, max_queue_size=1)
    async with connected(node, request_throttler=throttler):
        assert throttler.loops == [asyncio.get_running_loop()]
        assert throttler.detached == 0
    assert throttler.detached == 1


class BlockingLogin(PlainTextAuthProvider):
    """An application's subclass. Its methods may block, so the driver calls them in threads."""


@pytest.mark.simulated(False)
async def test_threads_for_blocking_calls_end_with_the_core() -> None:
    """Threads for blocking calls end when the core is closed.

    The test needs no assertion: a fixture checks after each test that no threads are left.
    """
    with FakeNode(username="ann", password="secret") as node:
        async with connected(node, auth_provider=BlockingLogin("ann", "secret")):
            pass


class CountStarts(RequestObserver):
    """An observer that counts requests when they start."""

    def __init__(self) -> None:
        self.count = 0

    def on_start(self, request: Any) -> None:
        self.count += 1


async def test_an_observer_that_is_added_later_sees_requests_of_all_sessions(
    node: FakeNode,
) -> None:
    """An observer that is added after `connect` sees the requests of existing sessions.

    This ends when the observer is removed.
    """
    async with connected(node) as (cluster, session):
        other_session = await cluster.connect()
        observer = CountStarts()
        cluster.add_request_observer(observer)
        await session.execute(READ)
        await other_session.execute(READ)
        assert observer.count == 2
        cluster.remove_request_observer(observer)
        await session.execute(READ)
        assert observer.count == 2


# -- the control connection ------------------------------------------------------------------------


@pytest.mark.parametrize("version", [3, 4, 5])
async def test_the_agreed_protocol_version_is_that_of_the_control_connection(version: int) -> None:
    """`Core` takes `protocol_version` and `wire_format` from the control connection.

    New requests are encoded with these values.
    """
    with FakeNode(max_version=version) as node:
        async with connected(node) as (cluster, _):
            core = core_of(cluster)
            assert core.protocol_version == version
            assert core.control.connection is not None
            assert core.wire_format == wire_format_of(version, core.control.connection.features)


async def test_events_of_the_node_reach_topology_status_and_schema() -> None:
    """The control connection has a handler for each type of event, and NEW_NODE adds a host."""
    with FakeCluster(2) as nodes:
        async with connected(nodes, reconnection_policy=NO_RECONNECTION) as (cluster, _):
            handlers = core_of(cluster).control.handlers
            assert set(handlers) == {"TOPOLOGY_CHANGE", "STATUS_CHANGE", "SCHEMA_CHANGE"}
            nodes.add_node()
            await until_on_loop(lambda: len(cluster.metadata.all_hosts()) == 3)


@pytest.mark.parametrize("is_scylla", [False, True])
async def test_transactions_are_marked_only_if_the_nodes_have_the_extension(
    is_scylla: bool,
) -> None:
    """`marks_transactions` is True only if the ScyllaDB extension for this was negotiated.

    With the extension, nodes mark prepared lightweight transactions.
    """
    scylla = Scylla(shards=1) if is_scylla else None
    with FakeCluster(1, scylla=scylla) as nodes:
        async with connected(nodes) as (cluster, _):
            core = core_of(cluster)
            assert core.marks_transactions is is_scylla
            await core.close()
            # Without a control connection, the core does not know what the servers support.
            assert core.marks_transactions is False


async def test_the_fields_of_a_missing_user_type_are_an_error(node: FakeNode) -> None:
    """`user_type_fields` raises UserTypeDoesNotExist, but finds a type that is created later.

    It queries the system table each time.
    """
    async with connected(node) as (cluster, _):
        core = core_of(cluster)
        failure = await exception_of(core.user_type_fields("ks", "address"))
        assert isinstance(failure, UserTypeDoesNotExist)
        node.schema = {
            "system_schema.types": [
                {
                    "keyspace_name": "ks",
                    "type_name": "address",
                    "field_names": ["street", "number"],
                    "field_types": ["text", "int"],
                }
            ]
        }
        assert await core.user_type_fields("ks", "address") == ["street", "number"]


async def test_requests_in_flight_are_counted_by_host(node: FakeNode) -> None:
    """`Core.in_flight` returns how many requests to a host still wait for a response."""
    held_answers = hold()
    node.prime(READ, held_answers)
    async with connected(node) as (cluster, session):
        core = core_of(cluster)
        (host,) = cluster.metadata.all_hosts()
        assert core.in_flight(host) == 0
        requests = [asyncio.ensure_future(session.execute(READ)) for _ in range(3)]
        await until_on_loop(lambda: len(held_answers.held) == 3)
        assert core.in_flight(host) == 3
        held_answers.open()
        await asyncio.gather(*requests)
        assert core.in_flight(host) == 0


# -- nodes that announce their end (CEP-59) --------------------------------------------------------


async def test_the_announcement_on_the_control_connection_moves_it_to_another_node() -> None:
    """If the node of the control connection announces its end, the control connection moves.

    The pool of the node is closed.
    """
    with FakeCluster(2, graceful_disconnect=True) as nodes:
        async with connected(nodes, reconnection_policy=NO_RECONNECTION) as (cluster, session):
            core = core_of(cluster)
            host = core.control.host
            assert host is not None
            node = nodes.node_at(host.address)
            # Pool connections register for GRACEFUL_DISCONNECT only; the control connection
            # registers for more events.
            (control_connection,) = (
                connection for connection in node.connections if len(connection.event_types) > 1
            )
            body = string("GRACEFUL_DISCONNECT")
            control_connection.send(-1, Opcode.EVENT, 0, body)
            await until_on_loop(lambda: core.control.host not in (host, None))
            assert host.state == "draining"
            assert host not in session._engine.pools


# -- the clock of a simulation ---------------------------------------------------------------------


async def test_the_drivers_timestamps_follow_the_simulated_clock(node: FakeNode) -> None:
    """On a simulated loop, the driver's timestamps (in microseconds) follow the loop's clock."""
    async with connected(node) as (cluster, _):
        generator = MonotonicTimestampGenerator()
        core_of(cluster).keep_time(generator)
        loop: Any = asyncio.get_running_loop()
        timestamp_before = generator()

        def seconds_passed() -> float:
            return (generator() - timestamp_before) / 10**6

        await asyncio.sleep(1000)
        assert 1000 <= seconds_passed() < 1001
        # This is as if an operator set the clock 5000 seconds ahead.
        loop.step_wall_clock(5000)
        assert seconds_passed() >= 6000


async def test_an_applications_own_timestamp_generator_may_be_any_function(node: FakeNode) -> None:
    """`keep_time` changes only the driver's own generator, and accepts any function."""
    async with connected(node) as (cluster, _):
        core_of(cluster).keep_time(lambda: 7)


async def test_requests_after_close_fail_with_session_shutdown(node: FakeNode) -> None:
    async with connected(node) as (cluster, session):
        await core_of(cluster).close()
        assert isinstance(await exception_of(session.execute(READ)), SessionShutdown)
