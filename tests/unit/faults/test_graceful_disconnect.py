"""Nodes announce with the event GRACEFUL_DISCONNECT that they will stop (CEP-59 of Cassandra).

No request may fail. No statement is idempotent, so the driver may not send any request twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from cassandra import aio
from cassandra.engine.connection import Connection
from cassandra.engine.endpoint import DefaultEndPoint
from cassandra.errors import ConnectionException, NoHostAvailable
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
    nodes = FakeCluster(3, graceful_disconnect=True, **settings).start()
    for index, node in enumerate(nodes.nodes):
        node.prime(READ, int_row(index))
    return nodes


def connected_with_delay(nodes: FakeNode | FakeCluster, **settings: Any) -> Any:
    """Connect with a policy that tries a lost host again after a second, not at once; return the
    context of cluster and session.
    """
    return connected(nodes, reconnection_policy=ConstantReconnectionPolicy(1.0, None), **settings)


def host_of(cluster: aio.Cluster, node: FakeNode) -> Any:
    return cluster.metadata.get_host(node.address, node.port)


async def answering_node(session: aio.Session) -> int:
    """Return the index of the node that answers a request now."""
    row = (await session.execute(READ)).one()
    return int(row[0])


# -- negotiation -----------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [3, 4, 5])
async def test_each_connection_registers_for_the_event(version: int) -> None:
    with start_three_nodes(max_version=version) as nodes:
        async with connected(nodes, connections_per_host=2):
            for node in nodes.nodes:
                assert all(EVENT in connection.event_types for connection in node.connections)
            # Open are 2 connections to each of 3 nodes, and the control connection.
            assert sum(len(node.connections) for node in nodes.nodes) == 7


@pytest.mark.parametrize("offer", [None, ["false"], []])
async def test_without_the_nodes_support_no_connection_registers(offer: list[str] | None) -> None:
    with FakeNode() as node:
        if offer is not None:
            node.supported[EVENT] = offer
        async with connected(node):
            # only the control connection registers for events
            assert node.count(Opcode.REGISTER) == 1


async def test_graceful_disconnect_can_be_switched_off() -> None:
    with start_three_nodes() as nodes:
        async with connected(nodes, graceful_disconnect_enabled=False) as (_, session):
            # No connection has registered for the event: each node sends it 0 times.
            assert [node.send_event(EVENT) for node in nodes.nodes] == [0, 0, 0]
            # Now a node sends the event although no connection has registered for it; the driver
            # ignores it.
            for node in nodes.nodes:
                for connection in node.connections:
                    connection.event_types = (EVENT,)
                node.send_event(EVENT)
            # Allow time in which the driver could mark the hosts as draining.
            await asyncio.sleep(1.0)
            assert await answering_node(session) == 0


async def test_if_a_node_refuses_the_registration_it_is_used_without() -> None:
    with start_three_nodes() as nodes:
        for node in nodes.nodes:
            node.prime(
                lambda request: EVENT in request.event_types,
                error(ErrorCode.PROTOCOL_ERROR, f"Event {EVENT} not valid for protocol version 4"),
            )
        async with connected(nodes) as (_, session):
            assert await answering_node(session) == 0
            # No connection has registered for the event: each node sends it 0 times.
            assert [node.send_event(EVENT) for node in nodes.nodes] == [0, 0, 0]


# -- one node --------------------------------------------------------------------------------------


async def test_requests_in_flight_are_answered_and_others_go_to_other_nodes() -> None:
    with start_three_nodes() as nodes:
        first = nodes[0]
        answers = hold(void())
        first.prime(SLOW, answers)
        async with connected_with_delay(nodes) as (cluster, session):
            events = HostEvents()
            cluster.register_listener(events)
            running = asyncio.ensure_future(session.execute(SLOW, timeout=None))
            await until_on_loop(lambda: answers.held)
            assert first.drain() == len(first.connections)
            await events.expect("down", first.address)
            host = host_of(cluster, first)
            assert (host.state, host.is_up) == ("draining", False)
            assert [await answering_node(session) for _ in range(5)] == [1] * 5
            # By then, only the connection whose request is still running is open.
            await until_on_loop(lambda: len(first.connections) == 1)
            assert not running.done()
            answers.release()
            await running
            await until_on_loop(lambda: not first.connections)
            first.stop()
            nodes.start_node(first)
            await events.expect("up", first.address)
            assert host.state == "up"
            assert await answering_node(session) == 0


async def test_the_control_connection_moves_before_the_old_one_closes() -> None:
    with start_three_nodes() as nodes:
        async with connected_with_delay(nodes) as (cluster, _):
            old_connection = cluster._core.control.connection
            # The control connection is the one that is registered for more than this event.
            node = next(
                candidate
                for candidate in nodes.nodes
                if any(len(connection.event_types) > 1 for connection in candidate.connections)
            )
            node.drain()
            await until_on_loop(lambda: cluster._core.control.connection is not old_connection)
            assert old_connection.closed
            # There is a control connection now, and there was one at each moment.
            assert cluster._core.control.connection is not None
            assert not cluster._core.control.connection.is_draining
            assert cluster._core.control.host != host_of(cluster, node)


async def test_a_draining_host_is_tried_by_the_reconnection_policy() -> None:
    """A draining host (one that has announced its end) is tried again only when the reconnection
    policy says so.

    Until the node has stopped, it would soon close a new connection.
    """
    with start_three_nodes() as nodes:
        first = nodes[0]
        async with connected_with_delay(nodes) as (cluster, session):
            loop = asyncio.get_running_loop()
            begun, opened = loop.time(), first.opened
            first.send_event(EVENT)  # the node sends the event but does not stop
            await until_on_loop(lambda: first.opened > opened)
            assert loop.time() - begun >= 1.0
            host = host_of(cluster, first)
            await until_on_loop(lambda: host.is_up)
            assert await answering_node(session) == 0


async def test_the_event_may_arrive_twice() -> None:
    with start_three_nodes() as nodes:
        first = nodes[0]
        answers = hold(void())
        first.prime(SLOW, answers)
        async with connected_with_delay(nodes, metrics_enabled=True) as (cluster, session):
            running = asyncio.ensure_future(session.execute(SLOW, timeout=None))
            await until_on_loop(lambda: answers.held)
            first.send_event(EVENT)
            host = host_of(cluster, first)
            await until_on_loop(lambda: host.state == "draining")
            await until_on_loop(lambda: host.is_up)
            # The host is up again. Now the event comes once more, on a connection that was opened
            # before the first event.
            first.send_event(EVENT)
            await until_on_loop(lambda: host.state == "draining")
            old_connections = [
                connection for connection in first.connections if EVENT in connection.event_types
            ]
            await until_on_loop(lambda: host.is_up)
            assert cluster.metrics.graceful_disconnects == 2
            for connection in old_connections:
                if connection in first.connections:
                    connection.send(
                        -1, Opcode.EVENT, 0, len(EVENT).to_bytes(2, "big") + EVENT.encode()
                    )
            # These connections are draining already, so the driver ignores the event.
            await asyncio.sleep(0.5)
            assert host.is_up
            assert cluster.metrics.graceful_disconnects == 2
            answers.release()
            await running


async def test_a_node_that_closes_without_answering_fails_its_requests() -> None:
    """If the node closes the connection without answering, the requests in flight fail as after any
    lost connection.
    """
    with start_three_nodes() as nodes:
        first = nodes[0]
        answers = hold(void())
        first.prime(SLOW, answers)
        async with connected_with_delay(nodes) as (cluster, session):
            running = asyncio.ensure_future(session.execute(SLOW, timeout=None))
            await until_on_loop(lambda: answers.held)
            first.drain(grace=0.2)
            with pytest.raises(ConnectionException):
                await running
            assert await answering_node(session) == 1
            await until_on_loop(lambda: host_of(cluster, first).state == "down")


async def test_a_request_that_timed_out_does_not_keep_a_connection_open() -> None:
    with start_three_nodes() as nodes:
        first = nodes[0]
        answers = hold(void())
        first.prime(SLOW, answers)
        async with connected_with_delay(nodes) as (_, session):
            running = asyncio.ensure_future(session.execute(SLOW, timeout=0.5))
            await until_on_loop(lambda: answers.held)
            first.drain()
            assert isinstance((await asyncio.gather(running, return_exceptions=True))[0], Exception)
            await until_on_loop(lambda: not first.connections)


async def test_requests_that_wait_for_a_stream_go_to_other_nodes() -> None:
    """Requests that wait for a free stream of a draining node go to other hosts, even if their
    query plan has no host left.
    """
    with start_three_nodes() as nodes:
        for node in nodes.nodes:
            node.prime(SLOW, delay(0.3, void()))
        async with connected_with_delay(nodes) as (_, session):
            for pool in session._engine.pools.values():
                for connection in pool.connections:
                    connection.set_stream_limit(2)
            running = [asyncio.ensure_future(session.execute(SLOW)) for _ in range(12)]
            first = host_of(session.cluster, nodes[0])
            # There are 12 requests for 3 nodes with 2 streams each, so 6 have to wait.
            await until_on_loop(lambda: session._engine.pools[first].waiting == 6)
            nodes[0].drain()
            await asyncio.gather(*running)
            assert len(nodes.queries(SLOW)) == 12


async def test_a_single_node_that_drains_is_down() -> None:
    with FakeNode(graceful_disconnect=True) as node:
        async with connected_with_delay(node) as (cluster, session):
            await session.execute(SLOW)
            node.drain()
            host = host_of(cluster, node)
            await until_on_loop(lambda: host.is_up is False)
            with pytest.raises(NoHostAvailable, match="is empty; every host is down") as empty:
                await session.execute(SLOW)
            (reason,) = empty.value.errors.values()
            assert "will stop soon (GRACEFUL_DISCONNECT)" in str(reason)
            with pytest.raises(NoHostAvailable) as caught:
                await session.execute(SLOW, host=host)
            assert "will stop soon (GRACEFUL_DISCONNECT)" in str(caught.value)
            await until_on_loop(lambda: not node.connections)
            node.stop()
            node.start()
            await until_on_loop(lambda: host.is_up and cluster._core.control.connection)
            await session.execute(SLOW)


# -- at bad moments --------------------------------------------------------------------------------


async def test_the_event_during_the_opening_of_a_connection() -> None:
    """The event may arrive while the driver still opens the connection: here before the answer to
    REGISTER.
    """
    with start_three_nodes() as nodes:
        first = nodes[0]

        def send_event_first(request: Request) -> Answer:
            body = len(EVENT).to_bytes(2, "big") + EVENT.encode()
            request.connection.send(-1, Opcode.EVENT, 0, body)
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
    """If a connection begins to drain while the driver prepares a statement on it again, the driver
    sends the EXECUTE to another host.
    """
    with start_three_nodes() as nodes:
        first = nodes[0]
        answers = hold()
        async with connected_with_delay(nodes) as (_, session):
            prepared = await session.prepare(INSERT)
            first.forget_prepared()
            first.prime(Opcode.PREPARE, answers)
            running = asyncio.ensure_future(session.execute(prepared, (1,)))
            await until_on_loop(lambda: answers.held)
            first.drain()
            # Only the connection with the PREPARE in flight stays open.
            await until_on_loop(lambda: len(first.connections) == 1)
            answers.release(
                lambda request: message(
                    Opcode.RESULT, Prepared(INSERT, [("k", "int")]).body(request)
                )
            )
            await running
            assert [request.connection.node for request in nodes.queries(INSERT)][-1] is nodes[1]


async def test_the_event_before_an_unprepared_answer() -> None:
    """If a draining connection answers UNPREPARED, the driver sends the request to another host."""
    with start_three_nodes() as nodes:
        first = nodes[0]
        answers = hold()
        async with connected_with_delay(nodes) as (_, session):
            prepared = await session.prepare(INSERT)
            first.prime(Opcode.EXECUTE, answers)
            running = asyncio.ensure_future(session.execute(prepared, (1,)))
            await until_on_loop(lambda: answers.held)
            count = first.count(Opcode.PREPARE)
            first.drain()
            # Only the connection with the EXECUTE in flight stays open.
            await until_on_loop(lambda: len(first.connections) == 1)
            answers.release(error(ErrorCode.UNPREPARED, "not prepared", query_id=prepared.query_id))
            await running
            assert first.count(Opcode.PREPARE) == count


@pytest.mark.parametrize("version", [4, 5])
async def test_the_event_during_a_use(version: int) -> None:
    with start_three_nodes(max_version=version) as nodes:
        first = nodes[0]
        answers = hold()
        first.prime("USE other", answers, times=1)
        async with connected_with_delay(nodes) as (_, session):
            use = asyncio.ensure_future(session.execute("USE other"))
            await until_on_loop(lambda: answers.held)
            late = [asyncio.ensure_future(session.execute(SLOW)) for _ in range(5)]
            await asyncio.sleep(0.1)
            first.drain()
            await asyncio.sleep(0.1)
            answers.release(set_keyspace("other"))
            await use
            await asyncio.gather(*late)
            assert session.keyspace == "other"
            assert len(nodes.queries(SLOW)) == 5


# -- a rolling restart -----------------------------------------------------------------------------

WORKERS = 40


class Load:
    """Workers that insert rows until the test ends them."""

    def __init__(self, session: aio.Session) -> None:
        self.session = session
        self.done = 0
        self.errors: list[Exception] = []
        self.is_over = False

    async def run(self, restart: Callable[[], Awaitable[None]]) -> None:
        prepared = await self.session.prepare(INSERT)
        workers = [asyncio.ensure_future(self.work(prepared, number)) for number in range(WORKERS)]
        try:
            await restart()
        finally:
            self.is_over = True
            await asyncio.gather(*workers)

    async def work(self, prepared: Any, number: int) -> None:
        while not self.is_over:
            try:
                # Each fourth worker sends a simple statement that the node answers slowly. The
                # others execute a prepared one.
                await self.session.execute(*((prepared, (self.done,)) if number % 4 else (SLOW,)))
                self.done += 1
            except Exception as failure:
                self.errors.append(failure)


async def wait_until_up(host: Any) -> None:
    await until_on_loop(lambda: host.is_up)


async def restart_all(nodes: FakeCluster, cluster: aio.Cluster) -> None:
    for node in nodes.nodes:
        await asyncio.sleep(0.5)
        node.drain(grace=30.0)
        await node.wait_until(lambda node: not node.connections)
        nodes.stop_node(node)
        await asyncio.sleep(1.0)
        nodes.start_node(node)
        host = host_of(cluster, node)
        await wait_until_up(host)


@pytest.mark.parametrize("version", [4, 5])
@pytest.mark.parametrize("scylla", [None, 2], ids=["cassandra", "shards"])
async def test_a_rolling_restart_under_load_fails_no_request(
    version: int, scylla: int | None
) -> None:
    if scylla is not None and version == 5:
        pytest.skip("ScyllaDB speaks version 4")
    with start_three_nodes(max_version=version, scylla=scylla) as nodes:
        for node in nodes.nodes:
            node.prime(Opcode.EXECUTE, lambda request: delay(0.003, answer_execute(request)))
            node.prime(SLOW, delay(0.4, void()))
        policy = ExponentialReconnectionPolicy(0.5, 60.0)
        async with connected(nodes, reconnection_policy=policy) as (cluster, session):
            load = Load(session)
            await load.run(lambda: restart_all(nodes, cluster))
            assert load.errors == []
            # The workers were busy in the virtual seconds that the restart takes.
            assert load.done > 5000
            assert [node.malformed for node in nodes.nodes] == [[]] * 3
            # The nodes got as many requests as were answered, so no statement was executed twice.
            executed = [
                request
                for request in nodes.requests
                if SLOW in request.queries or (request.opcode == Opcode.EXECUTE and request.query)
            ]
            assert len(executed) == load.done


def answer_execute(request: Request) -> Any:
    if request.query is None:
        return error(ErrorCode.UNPREPARED, "not prepared", query_id=request.query_id or b"")
    return void()


def test_a_draining_connection_refuses_requests_with_the_reason() -> None:
    loop = asyncio.new_event_loop()
    try:
        connection = Connection(DefaultEndPoint("10.0.0.1"), 5, loop)
        connection.start_draining()
        assert not connection.is_open_to_requests
        assert "GRACEFUL_DISCONNECT" in str(connection.refusal())
    finally:
        loop.close()
