"""Tests of the event GRACEFUL_DISCONNECT, which announces that a node will stop.

No request may fail because of the event. No statement of these tests is idempotent, so the driver
may not send any request twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from cassandra import aio
from cassandra.engine.connection import Connection
from cassandra.engine.endpoint import DefaultEndPoint
from cassandra.errors import ConnectionException, NoHostAvailable, OperationTimedOut
from cassandra.policies import ConstantReconnectionPolicy, ExponentialReconnectionPolicy
from cassandra.testing.fake import (
    ErrorCode,
    FakeCluster,
    FakeNode,
    Opcode,
    Request,
    delay,
    error,
    hold,
    void,
)
from cassandra.testing.fake.answers import Answer, Prepared, message, set_keyspace
from tests.unit.engine.faults import READ, HostEvents, connected, int_row
from tests.waiting import until_on_loop

pytestmark = pytest.mark.simulated

EVENT = "GRACEFUL_DISCONNECT"
INSERT = "INSERT INTO t (k) VALUES (?)"
SLOW = "INSERT INTO slow (k) VALUES (1)"


def start_three_nodes(**settings: Any) -> FakeCluster:
    """Return three running nodes that support the event and return their index to READ."""
    nodes = FakeCluster(3, graceful_disconnect=True, **settings).start()
    for index, node in enumerate(nodes.nodes):
        node.prime(READ, int_row(index))
    return nodes


def connected_with_delay(nodes: FakeNode | FakeCluster, **settings: Any) -> Any:
    """Connect, and wait one second before each new connection to a lost host.

    Return the context manager of the cluster and the session.
    """
    policy = ConstantReconnectionPolicy(delay=1.0, max_attempts=None)
    return connected(nodes, reconnection_policy=policy, **settings)


def host_of(cluster: aio.Cluster, node: FakeNode) -> Any:
    """Return the driver's host object for a node."""
    return cluster.metadata.get_host(node.address, node.port)


def send_event(connection: Any) -> None:
    """Send the event on one connection of a node, with the stream -1, as for all events."""
    event_body = len(EVENT).to_bytes(2, "big") + EVENT.encode()
    flags = 0
    connection.send(-1, Opcode.EVENT, flags, event_body)


async def answering_node(session: aio.Session) -> int:
    """Execute READ, and return the index of the node that has executed this request."""
    row = (await session.execute(READ)).one()
    return int(row[0])


# -- negotiation -----------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [3, 4, 5])
async def test_each_connection_registers_for_the_event(version: int) -> None:
    """Every connection, not only the control connection, registers for GRACEFUL_DISCONNECT."""
    with start_three_nodes(max_version=version) as nodes:
        async with connected(nodes, connections_per_host=2):
            for node in nodes.nodes:
                assert all(EVENT in connection.event_types for connection in node.connections)
            # There are two connections to each of the three nodes, and the control connection.
            assert sum(len(node.connections) for node in nodes.nodes) == 7


@pytest.mark.parametrize("offer", [None, ["false"], []])
async def test_without_the_nodes_support_no_connection_registers(offer: list[str] | None) -> None:
    """Without "true" in SUPPORTED, no connection of a pool registers for the event."""
    with FakeNode() as node:
        if offer is not None:
            node.supported[EVENT] = offer
        async with connected(node):
            # Only the control connection registers for events.
            assert node.count(Opcode.REGISTER) == 1


async def test_graceful_disconnect_can_be_switched_off() -> None:
    """With `graceful_disconnect_enabled=False`, no connection registers for the event.

    If a node sends the event nevertheless, the driver ignores the event.
    """
    with start_three_nodes() as nodes:
        async with connected(nodes, graceful_disconnect_enabled=False) as (_, session):
            # Each node sends the event on 0 connections, because no connection has registered for
            # it.
            assert [node.send_event(EVENT) for node in nodes.nodes] == [0, 0, 0]
            # Now let each node send the event although no connection has registered for the event.
            # The driver ignores the event.
            for node in nodes.nodes:
                for connection in node.connections:
                    connection.event_types = (EVENT,)
                node.send_event(EVENT)
            # Allow time in which a wrong driver would mark the hosts as draining.
            await asyncio.sleep(1.0)
            assert await answering_node(session) == 0


async def test_if_a_node_refuses_the_registration_it_is_used_without() -> None:
    """If a node refuses to register a connection, the driver still uses the connection.

    A node may respond to REGISTER with an error although it has announced support for the event.
    """
    with start_three_nodes() as nodes:
        for node in nodes.nodes:
            node.prime(
                lambda request: EVENT in request.event_types,
                error(ErrorCode.PROTOCOL_ERROR, f"Event {EVENT} not valid for protocol version 4"),
            )
        async with connected(nodes) as (_, session):
            assert await answering_node(session) == 0
            # Each node sends the event on 0 connections, because no connection has registered for
            # it.
            assert [node.send_event(EVENT) for node in nodes.nodes] == [0, 0, 0]


# -- one node --------------------------------------------------------------------------------------


async def test_requests_in_flight_are_answered_and_others_go_to_other_nodes() -> None:
    """If a node announces that it will stop, its requests in flight still succeed.

    New requests go to other nodes. The driver closes each connection to the node when the last
    request on it has ended. After its restart, the node is used again.
    """
    with start_three_nodes() as nodes:
        first = nodes[0]
        answers = hold(void())
        first.prime(SLOW, answers)
        async with connected_with_delay(nodes) as (cluster, session):
            events = HostEvents()
            cluster.register_listener(events)
            request = asyncio.ensure_future(session.execute(SLOW, timeout=None))
            await until_on_loop(lambda: answers.held)
            # `drain` returns the number of connections that have got the event.
            assert first.drain() == len(first.connections)
            await events.expect("down", first.address)
            host = host_of(cluster, first)
            assert host.state == "draining"
            assert not host.is_up
            assert [await answering_node(session) for _ in range(5)] == [1] * 5
            # Only the connection whose request is still running stays open.
            await until_on_loop(lambda: len(first.connections) == 1)
            assert not request.done()
            answers.release()
            await request
            await until_on_loop(lambda: not first.connections)
            first.stop()
            nodes.start_node(first)
            await events.expect("up", first.address)
            assert host.state == "up"
            assert await answering_node(session) == 0


def control_node(nodes: FakeCluster) -> FakeNode:
    """Return the node that has the control connection.

    Only the control connection is registered for more events than GRACEFUL_DISCONNECT.
    """
    (node,) = (
        node
        for node in nodes.nodes
        if any(len(connection.event_types) > 1 for connection in node.connections)
    )
    return node


async def test_the_control_connection_moves_before_the_old_one_closes() -> None:
    """If the control connection drains, a new one is opened before the old one is closed.

    The new control connection is on another node.
    """
    with start_three_nodes() as nodes:
        async with connected_with_delay(nodes) as (cluster, _):
            old_connection = cluster._core.control.connection
            node = control_node(nodes)
            node.drain()
            await until_on_loop(lambda: cluster._core.control.connection is not old_connection)
            assert old_connection.closed
            assert not cluster._core.control.connection.is_draining
            assert cluster._core.control.host != host_of(cluster, node)


async def test_a_draining_host_is_tried_by_the_reconnection_policy() -> None:
    """A draining host is tried again only after the delay of the reconnection policy.

    A draining host has announced that it will stop. Until the host has stopped, it would soon close
    a new connection.
    """
    with start_three_nodes() as nodes:
        first = nodes[0]
        async with connected_with_delay(nodes) as (cluster, session):
            loop = asyncio.get_running_loop()
            time_of_event = loop.time()
            opened_before = first.opened
            first.send_event(EVENT)  # the node sends the event but keeps running
            await until_on_loop(lambda: first.opened > opened_before)
            assert loop.time() - time_of_event >= 1.0
            host = host_of(cluster, first)
            await until_on_loop(lambda: host.is_up)
            assert await answering_node(session) == 0


async def test_the_event_may_arrive_twice() -> None:
    """A second event on a connection that is already draining is ignored.

    This holds even if the host has become up again between the two events.
    """
    with start_three_nodes() as nodes:
        first = nodes[0]
        answers = hold(void())
        first.prime(SLOW, answers)
        async with connected_with_delay(nodes, metrics_enabled=True) as (cluster, session):
            request = asyncio.ensure_future(session.execute(SLOW, timeout=None))
            await until_on_loop(lambda: answers.held)
            first.send_event(EVENT)
            host = host_of(cluster, first)
            await until_on_loop(lambda: host.state == "draining")
            await until_on_loop(lambda: host.is_up)
            # The host is up again, with new connections, which are registered for the event. A
            # second event on these connections counts as the first did. Then collect all registered
            # connections that are still open.
            first.send_event(EVENT)
            await until_on_loop(lambda: host.state == "draining")
            old_connections = [
                connection for connection in first.connections if EVENT in connection.event_types
            ]
            await until_on_loop(lambda: host.is_up)
            # Both events were counted.
            assert cluster.metrics.graceful_disconnects == 2
            for connection in old_connections:
                if connection in first.connections:
                    send_event(connection)
            # These connections are already draining, so the driver ignores the third event. Allow
            # time in which a wrong driver would mark the host as draining.
            await asyncio.sleep(0.5)
            assert host.is_up
            assert cluster.metrics.graceful_disconnects == 2
            answers.release()
            await request


async def test_a_node_that_closes_without_answering_fails_its_requests() -> None:
    """If a draining node closes a connection without a response, the connection's requests fail.

    They raise ConnectionException, as after the loss of any connection. New requests go to other
    nodes.
    """
    with start_three_nodes() as nodes:
        first = nodes[0]
        answers = hold(void())
        first.prime(SLOW, answers)
        async with connected_with_delay(nodes) as (cluster, session):
            request = asyncio.ensure_future(session.execute(SLOW, timeout=None))
            await until_on_loop(lambda: answers.held)
            first.drain(grace=0.2)
            with pytest.raises(ConnectionException):
                await request
            assert await answering_node(session) == 1
            await until_on_loop(lambda: host_of(cluster, first).state == "down")


async def test_a_request_that_timed_out_does_not_keep_a_connection_open() -> None:
    """A draining connection is closed without waiting for the response to a timed-out request."""
    with start_three_nodes() as nodes:
        first = nodes[0]
        answers = hold(void())
        first.prime(SLOW, answers)
        async with connected_with_delay(nodes) as (_, session):
            request = asyncio.ensure_future(session.execute(SLOW, timeout=0.5))
            await until_on_loop(lambda: answers.held)
            first.drain()
            with pytest.raises(OperationTimedOut):
                await request
            # The stream of the request is still reserved for a late response, but no caller waits
            # for this response. So the driver closes the connection.
            await until_on_loop(lambda: not first.connections)


async def test_requests_that_wait_for_a_stream_go_to_other_nodes() -> None:
    """Requests that wait for a free stream of a draining node are sent to other hosts.

    This also holds for requests whose query plan has no further host.
    """
    with start_three_nodes() as nodes:
        for node in nodes.nodes:
            node.prime(SLOW, delay(0.3, void()))
        async with connected_with_delay(nodes) as (_, session):
            for pool in session._engine.pools.values():
                for connection in pool.connections:
                    connection.set_stream_limit(2)
            requests = [asyncio.ensure_future(session.execute(SLOW)) for _ in range(12)]
            first_host = host_of(session.cluster, nodes[0])
            # Each of the 3 nodes has 2 streams, so 6 of the 12 requests have to wait.
            await until_on_loop(lambda: session._engine.pools[first_host].waiting == 6)
            nodes[0].drain()
            await asyncio.gather(*requests)
            assert len(nodes.queries(SLOW)) == 12


async def test_a_single_node_that_drains_is_down() -> None:
    """If the only node drains, requests fail with an error that names the event as the reason.

    When the node has been restarted, the driver uses the node again.
    """
    with FakeNode(graceful_disconnect=True) as node:
        async with connected_with_delay(node) as (cluster, session):
            await session.execute(SLOW)
            node.drain()
            host = host_of(cluster, node)
            await until_on_loop(lambda: host.is_up is False)
            # Both a request without a target and a request for this host name the event in their
            # error.
            with pytest.raises(NoHostAvailable, match="is empty; every host is down") as empty:
                await session.execute(SLOW)
            (reason,) = empty.value.errors.values()
            assert "will stop soon (GRACEFUL_DISCONNECT)" in str(reason)
            with pytest.raises(NoHostAvailable) as caught:
                await session.execute(SLOW, host=host)
            assert "will stop soon (GRACEFUL_DISCONNECT)" in str(caught.value)
            # Restart the node. Then the driver connects again.
            await until_on_loop(lambda: not node.connections)
            node.stop()
            node.start()
            await until_on_loop(lambda: host.is_up and cluster._core.control.connection)
            await session.execute(SLOW)


# -- events at inconvenient times ------------------------------------------------------------------


async def test_the_event_during_the_opening_of_a_connection() -> None:
    """If the event arrives while the driver opens a connection, other nodes are used.

    Here, the event arrives before the response to REGISTER. Later, the host becomes up and is used.
    """
    with start_three_nodes() as nodes:
        first = nodes[0]

        def send_event_first(request: Request) -> Answer:
            send_event(request.connection)
            return message(Opcode.READY, b"")

        prime = first.prime(Opcode.REGISTER, send_event_first)
        async with connected(nodes) as (cluster, session):
            assert await answering_node(session) == 1
            assert cluster._core is not None
            assert cluster._core.control.host != host_of(cluster, first)
            prime.remove()
            await until_on_loop(lambda: host_of(cluster, first).is_up)
            assert await answering_node(session) == 0


async def test_the_event_while_a_statement_is_prepared_again() -> None:
    """If a connection drains while a statement is prepared again, EXECUTE goes to another host."""
    with start_three_nodes() as nodes:
        first = nodes[0]
        answers = hold()
        async with connected_with_delay(nodes) as (_, session):
            prepared = await session.prepare(INSERT)
            first.forget_prepared()
            first.prime(Opcode.PREPARE, answers)
            request = asyncio.ensure_future(session.execute(prepared, (1,)))
            await until_on_loop(lambda: answers.held)
            first.drain()
            # Only the connection with the PREPARE in flight stays open.
            await until_on_loop(lambda: len(first.connections) == 1)
            prepared_insert = Prepared(INSERT, [("k", "int")])
            answers.release(lambda prepare: message(Opcode.RESULT, prepared_insert.body(prepare)))
            await request
            assert nodes.queries(INSERT)[-1].connection.node is nodes[1]


async def test_the_event_before_an_unprepared_answer() -> None:
    """If a draining connection returns the error UNPREPARED, the driver uses another host.

    The driver does not prepare the statement again on the draining connection.
    """
    with start_three_nodes() as nodes:
        first = nodes[0]
        answers = hold()
        async with connected_with_delay(nodes) as (_, session):
            prepared = await session.prepare(INSERT)
            first.prime(Opcode.EXECUTE, answers)
            request = asyncio.ensure_future(session.execute(prepared, (1,)))
            await until_on_loop(lambda: answers.held)
            count_before = first.count(Opcode.PREPARE)
            first.drain()
            # Only the connection with the EXECUTE in flight stays open.
            await until_on_loop(lambda: len(first.connections) == 1)
            answers.release(error(ErrorCode.UNPREPARED, "not prepared", query_id=prepared.query_id))
            await request
            assert first.count(Opcode.PREPARE) == count_before


@pytest.mark.parametrize("version", [4, 5])
async def test_the_event_during_a_use(version: int) -> None:
    """Requests that wait for a USE on a draining connection go to another node.

    After the USE has succeeded, the session has the new keyspace.
    """
    with start_three_nodes(max_version=version) as nodes:
        first = nodes[0]
        answers = hold()
        first.prime("USE other", answers, times=1)
        async with connected_with_delay(nodes) as (_, session):
            # The node holds the response to USE, so the later requests wait for the new keyspace.
            use = asyncio.ensure_future(session.execute("USE other"))
            await until_on_loop(lambda: answers.held)
            later_requests = [asyncio.ensure_future(session.execute(SLOW)) for _ in range(5)]
            await asyncio.sleep(0.1)
            first.drain()
            await asyncio.sleep(0.1)
            answers.release(set_keyspace("other"))
            await use
            await asyncio.gather(*later_requests)
            assert session.keyspace == "other"
            assert len(nodes.queries(SLOW)) == 5


# -- a rolling restart -----------------------------------------------------------------------------

WORKERS = 40


class Load:
    """Workers that execute statements until the restart has ended."""

    def __init__(self, session: aio.Session) -> None:
        self.session = session
        self.request_count = 0
        self.errors: list[Exception] = []
        self.is_over = False

    async def run(self, restart: Callable[[], Awaitable[None]]) -> None:
        """Run the workers while the awaitable that `restart` returns is running."""
        prepared = await self.session.prepare(INSERT)
        workers = [asyncio.ensure_future(self.work(prepared, number)) for number in range(WORKERS)]
        try:
            await restart()
        finally:
            self.is_over = True
            await asyncio.gather(*workers)

    async def work(self, prepared: Any, number: int) -> None:
        """Execute statements, one after the other, until the restart has ended.

        :param number: the number of this worker.
        """
        while not self.is_over:
            try:
                # Every fourth worker sends a query string, to which the node responds slowly. The
                # other workers execute the prepared statement.
                if number % 4 == 0:
                    await self.session.execute(SLOW)
                else:
                    await self.session.execute(prepared, (self.request_count,))
                self.request_count += 1
            except Exception as failure:
                self.errors.append(failure)


async def restart_all(nodes: FakeCluster, cluster: aio.Cluster) -> None:
    """Drain, stop and start each node, one after the other.

    Before the next node is drained, wait until the driver uses the restarted node again.
    """
    for node in nodes.nodes:
        await asyncio.sleep(0.5)
        node.drain(grace=30.0)
        await node.wait_until(lambda node: not node.connections)
        nodes.stop_node(node)
        await asyncio.sleep(1.0)
        nodes.start_node(node)
        host = host_of(cluster, node)
        await until_on_loop(lambda host=host: host.is_up)  # type: ignore[misc]


@pytest.mark.parametrize("version", [4, 5])
@pytest.mark.parametrize("shard_count", [None, 2], ids=["cassandra", "shards"])
async def test_a_rolling_restart_under_load_fails_no_request(
    version: int, shard_count: int | None
) -> None:
    """While three nodes are restarted one after the other under load, every request succeeds.

    No request is sent twice.
    """
    if shard_count is not None and version == 5:
        pytest.skip("ScyllaDB speaks version 4")
    with start_three_nodes(max_version=version, scylla=shard_count) as nodes:
        for node in nodes.nodes:
            node.prime(Opcode.EXECUTE, lambda request: delay(0.003, answer_execute(request)))
            node.prime(SLOW, delay(0.4, void()))
        policy = ExponentialReconnectionPolicy(base_delay=0.5, max_delay=60.0)
        async with connected(nodes, reconnection_policy=policy) as (cluster, session):
            load = Load(session)
            await load.run(lambda: restart_all(nodes, cluster))
            assert load.errors == []
            # The workers execute many statements in the virtual seconds that the restarts take.
            assert load.request_count > 5000
            assert [node.malformed for node in nodes.nodes] == [[]] * 3
            # The nodes have got as many requests as have succeeded, so no statement was sent twice.
            executed = [
                request
                for request in nodes.requests
                if SLOW in request.queries or (request.opcode == Opcode.EXECUTE and request.query)
            ]
            assert len(executed) == load.request_count


def answer_execute(request: Request) -> Any:
    """Return the response to an EXECUTE.

    It is the error UNPREPARED if the node has lost the statement by its restart, else a void
    result.
    """
    if request.query is None:
        return error(ErrorCode.UNPREPARED, "not prepared", query_id=request.query_id or b"")
    return void()


def test_a_draining_connection_refuses_requests_with_the_reason() -> None:
    """A draining connection is not open to requests, and its error names GRACEFUL_DISCONNECT."""
    loop = asyncio.new_event_loop()
    try:
        connection = Connection(DefaultEndPoint("10.0.0.1"), 5, loop)
        connection.start_draining()
        assert not connection.is_open_to_requests
        assert "GRACEFUL_DISCONNECT" in str(connection.refusal())
    finally:
        loop.close()
