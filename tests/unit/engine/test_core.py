"""`Core`, the engine of one cluster, on fake nodes: how its parts work together, and what `close`
leaves behind.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from cassandra import aio
from cassandra.auth import PlainTextAuthProvider
from cassandra.engine.connection import wire_format_of
from cassandra.errors import (
    ConnectionShutdown,
    InvalidRequest,
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
from cassandra.throttling import ConcurrencyLimitingThrottler
from cassandra.timestamps import MonotonicTimestampGenerator
from tests.unit.engine.faults import READ, READ_OTHER, connected, exception_of, int_row
from tests.waiting import until_on_loop

pytestmark = pytest.mark.simulated

HEARTBEATS = 10.0  # seconds between heartbeats
NO_RECONNECTION = ConstantReconnectionPolicy(delay=3600, max_attempts=None)


@pytest.fixture
def node() -> Any:
    with FakeNode() as running:
        running.prime(READ, int_row(1))
        yield running
        assert running.malformed == []


def core_of(cluster: aio.Cluster) -> Any:
    assert cluster._core is not None
    return cluster._core


def refuse_system_tables(node: FakeNode) -> Any:
    return node.prime(
        lambda request: "system.local" in str(request.query),
        error(ErrorCode.SERVER_ERROR, "broken"),
    )


# -- heartbeats ------------------------------------------------------------------------------------


async def test_heartbeats_go_to_pools_and_to_the_control_connection(node: FakeNode) -> None:
    async with connected(node, idle_heartbeat_interval=HEARTBEATS):
        count_before = node.count(Opcode.OPTIONS)
        # Counts the OPTIONS on each of the two connections: the pool's and the control connection.
        counts = dict.fromkeys(node.connections, 0)
        assert len(counts) == 2
        # In this time, two heartbeats of each connection are due.
        await asyncio.sleep(2.5 * HEARTBEATS)
        for request in node.requests:
            if request.opcode == Opcode.OPTIONS:
                counts[request.connection] += 1
        assert node.count(Opcode.OPTIONS) >= count_before + len(counts)
        # A connection sends OPTIONS at most once in its handshake. Any more are heartbeats.
        assert all(count >= 2 for count in counts.values())


@pytest.mark.parametrize("interval", [0, None])
async def test_without_an_interval_there_are_no_heartbeats(node: FakeNode, interval: Any) -> None:
    async with connected(node, idle_heartbeat_interval=interval):
        seen = node.count(Opcode.OPTIONS)
        await asyncio.sleep(10 * HEARTBEATS)
        assert node.count(Opcode.OPTIONS) == seen


# -- opening and closing ---------------------------------------------------------------------------


async def test_a_failed_connect_closes_everything_and_raises(node: FakeNode) -> None:
    broken = refuse_system_tables(node)
    throttler = ConcurrencyLimitingThrottler(1, 1)
    cluster = aio.Cluster([node.address], port=node.port, request_throttler=throttler)
    assert isinstance(await exception_of(cluster.connect()), NoHostAvailable)
    await node.wait_until(lambda node: not node.connections)
    # The failed connect has released the throttler, so the next attempt can use it.
    broken.remove()
    async with cluster:
        session = await cluster.connect()
        assert await session.execute(READ_OTHER) is not None


async def test_close_closes_all_connections_and_may_be_called_twice(node: FakeNode) -> None:
    async with connected(node) as (cluster, _):
        core = core_of(cluster)
        assert not core.closed
        await core.close()
        assert core.closed
        assert list(core.sessions) == []
        assert core.control.connection is None
        await core.close()
        await node.wait_until(lambda node: not node.connections)


async def test_close_cancels_what_runs_in_the_background(node: FakeNode) -> None:
    async with connected(node) as (cluster, _):
        core = core_of(cluster)
        task = core.spawn(asyncio.sleep(10**6))
        await core.close()
        assert task.cancelled()


async def test_close_ends_reconnection_to_hosts_that_are_down(node: FakeNode) -> None:
    async with connected(node) as (cluster, _):
        core = core_of(cluster)
        node.refuse_connections()
        node.drop_connections()
        (host,) = cluster.metadata.all_hosts()
        await until_on_loop(lambda: host.is_up is False)
        await core.close()
        node.accept_connections()
        opened = node.opened
        await asyncio.sleep(60)
        assert node.opened == opened


async def test_a_closed_core_opens_neither_sessions_nor_connections(node: FakeNode) -> None:
    async with connected(node) as (cluster, session):
        core = core_of(cluster)
        (host,) = cluster.metadata.all_hosts()
        distance = session._engine.distance
        await core.close()
        opened = node.opened
        for attempt in (
            core.open_session(keyspace=None, distance=distance),
            core.open_connection(host.endpoint),
            core.open_connection_to(host),
        ):
            refusal = await exception_of(attempt)
            assert isinstance(refusal, ConnectionShutdown)
            assert "the cluster is shut down" in str(refusal)
        assert node.opened == opened


async def test_a_session_that_cannot_be_opened_is_not_kept(node: FakeNode) -> None:
    async with connected(node) as (cluster, session):
        core = core_of(cluster)
        node.prime('USE "missing"', error(ErrorCode.INVALID, "Keyspace 'missing' does not exist"))
        failure = await exception_of(core.open_session("missing", session._engine.distance))
        assert isinstance(failure, (InvalidRequest, NoHostAvailable))
        assert list(core.sessions) == [session._engine]
        opened = await core.open_session(keyspace=None, distance=session._engine.distance)
        assert list(core.sessions) == [session._engine, opened]


async def test_without_wait_for_all_a_session_does_not_wait_for_slow_hosts() -> None:
    with FakeCluster(2) as nodes:
        async with connected(nodes, connect_timeout=30.0) as (cluster, session):
            core, distance = core_of(cluster), session._engine.distance
            host = cluster.metadata.get_host(nodes[1].address, nodes[1].port)
            held = hold(message(Opcode.READY, b""))
            nodes[1].prime(Opcode.STARTUP, held)
            opened = await core.open_session(keyspace=None, distance=distance)
            assert host not in opened.pools
            waiting = asyncio.ensure_future(
                core.open_session(keyspace=None, distance=distance, wait_for_all=True)
            )
            await asyncio.sleep(10)
            assert not waiting.done()
            held.open()
            assert host in (await waiting).pools


# -- throttlers and observers ----------------------------------------------------------------------


async def test_the_throttler_is_attached_to_the_loop_until_the_core_is_closed(
    node: FakeNode,
) -> None:
    throttler = ConcurrencyLimitingThrottler(1, 0)
    held = hold()
    node.prime(READ, held)
    async with connected(node, request_throttler=throttler) as (cluster, session):
        core = core_of(cluster)
        attached = core.throttler
        assert attached is throttler
        running = asyncio.ensure_future(session.execute(READ))
        await until_on_loop(lambda: held.held)
        assert "Throttled" in type(await exception_of(session.execute(READ))).__name__
        await core.close()
        assert isinstance(await exception_of(running), ConnectionShutdown)
        assert core.throttler is None
    # A throttler serves one cluster at a time. The closed cluster has released it, so another one
    # can use it.
    node.prime(READ, int_row(1))
    async with connected(node, request_throttler=throttler) as (_, session):
        assert (await session.execute(READ)).one().k == 1


class AttachedThrottler(ConcurrencyLimitingThrottler):
    """A throttler that records the loops to which it was attached, and how often it was
    detached.
    """

    loops: list[Any]
    detached = 0

    def attach(self, loop: Any) -> None:
        self.loops = [*getattr(self, "loops", ()), loop]
        super().attach(loop)

    def detach(self) -> None:
        self.detached += 1
        super().detach()


async def test_a_throttler_knows_the_loop_of_its_cluster(node: FakeNode) -> None:
    throttler = AttachedThrottler(1, 1)
    async with connected(node, request_throttler=throttler):
        assert throttler.loops == [asyncio.get_running_loop()]
        assert throttler.detached == 0
    assert throttler.detached == 1


class BlockingLogin(PlainTextAuthProvider):
    """An application's subclass, whose methods may block. So the driver calls them in threads."""


@pytest.mark.simulated(False)
async def test_threads_for_blocking_calls_end_with_the_core() -> None:
    """Threads for blocking calls end when the core closes; the tests' check for leftovers would
    find them otherwise.
    """
    with FakeNode(username="ann", password="secret") as node:
        async with connected(node, auth_provider=BlockingLogin("ann", "secret")):
            pass


class CountStarts(RequestObserver):
    def __init__(self) -> None:
        self.count = 0

    def on_start(self, request: Any) -> None:
        self.count += 1


async def test_an_observer_that_is_added_later_sees_requests_of_all_sessions(
    node: FakeNode,
) -> None:
    async with connected(node) as (cluster, session):
        other = await cluster.connect()
        observer = CountStarts()
        cluster.add_request_observer(observer)
        await session.execute(READ)
        await other.execute(READ)
        assert observer.count == 2
        cluster.remove_request_observer(observer)
        await session.execute(READ)
        assert observer.count == 2


# -- the control connection ------------------------------------------------------------------------


@pytest.mark.parametrize("version", [3, 4, 5])
async def test_the_agreed_protocol_version_is_that_of_the_control_connection(version: int) -> None:
    with FakeNode(max_version=version) as node:
        async with connected(node) as (cluster, _):
            core = core_of(cluster)
            assert core.protocol_version == version
            assert core.control.connection is not None
            assert core.wire_format == wire_format_of(version, core.control.connection.features)


async def test_events_of_the_node_reach_topology_status_and_schema() -> None:
    with FakeCluster(2) as nodes:
        async with connected(nodes, reconnection_policy=NO_RECONNECTION) as (cluster, _):
            handlers = core_of(cluster).control.handlers
            assert set(handlers) == {"TOPOLOGY_CHANGE", "STATUS_CHANGE", "SCHEMA_CHANGE"}
            nodes.add_node()
            await until_on_loop(lambda: len(cluster.metadata.all_hosts()) == 3)


@pytest.mark.parametrize("is_scylla", [False, True])
async def test_only_nodes_that_negotiate_it_mark_transactions(is_scylla: bool) -> None:
    with FakeCluster(1, scylla=Scylla(1) if is_scylla else None) as nodes:
        async with connected(nodes) as (cluster, _):
            core = core_of(cluster)
            assert core.marks_transactions is is_scylla
            await core.close()
            # Without a control connection the core does not know what the servers support.
            assert core.marks_transactions is False


async def test_the_fields_of_a_missing_user_type_are_an_error(node: FakeNode) -> None:
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
    held = hold()
    node.prime(READ, held)
    async with connected(node) as (cluster, session):
        core = core_of(cluster)
        (host,) = cluster.metadata.all_hosts()
        assert core.in_flight(host) == 0
        requests = [asyncio.ensure_future(session.execute(READ)) for _ in range(3)]
        await until_on_loop(lambda: len(held.held) == 3)
        assert core.in_flight(host) == 3
        held.open()
        await asyncio.gather(*requests)
        assert core.in_flight(host) == 0


# -- nodes that announce their end (CEP-59) --------------------------------------------------------


async def test_the_announcement_on_the_control_connection_moves_it_to_another_node() -> None:
    with FakeCluster(2, graceful_disconnect=True) as nodes:
        async with connected(nodes, reconnection_policy=NO_RECONNECTION) as (cluster, session):
            core = core_of(cluster)
            host = core.control.host
            assert host is not None
            (controlled,) = (node for node in nodes.nodes if node.address == host.address)
            for connection in controlled.connections:
                if len(connection.event_types) > 1:
                    body = len("GRACEFUL_DISCONNECT").to_bytes(2, "big") + b"GRACEFUL_DISCONNECT"
                    connection.send(-1, Opcode.EVENT, 0, body)
            await until_on_loop(lambda: core.control.host not in (host, None))
            assert host.state == "draining"
            assert host not in session._engine.pools


# -- the clock of a simulation ---------------------------------------------------------------------


async def test_the_drivers_timestamps_follow_the_simulated_clock(node: FakeNode) -> None:
    async with connected(node) as (cluster, _):
        generator = MonotonicTimestampGenerator()
        core_of(cluster).keep_time(generator)
        loop: Any = asyncio.get_running_loop()
        timestamp_before = generator()
        await asyncio.sleep(1000)
        assert 1000 <= (generator() - timestamp_before) / 10**6 < 1001
        loop.step_wall_clock(5000)
        assert (generator() - timestamp_before) / 10**6 >= 6000


async def test_an_applications_own_timestamp_generator_is_left_alone(node: FakeNode) -> None:
    async with connected(node) as (cluster, _):
        core_of(cluster).keep_time(lambda: 7)


async def test_requests_after_close_fail_with_session_shutdown(node: FakeNode) -> None:
    async with connected(node) as (cluster, session):
        await core_of(cluster).close()
        assert isinstance(await exception_of(session.execute(READ)), SessionShutdown)
