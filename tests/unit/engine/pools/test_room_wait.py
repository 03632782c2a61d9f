"""Requests that wait for a free stream, or for the connection that a pool opens again.

A request waits at the pools of at most MOST_AWAITED hosts. The pools call a free stream "room".
If a connection was silent for SILENCE seconds, it may have broken before without being noticed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from cassandra import aio
from cassandra.engine.heartbeats import SILENCE
from cassandra.engine.pools.room_wait import MOST_AWAITED
from cassandra.errors import ConnectionException, NoConnectionsAvailable, NoHostAvailable
from cassandra.policies.retry import ExponentialBackoffRetryPolicy, FallthroughRetryPolicy
from cassandra.query import SimpleStatement
from cassandra.testing.fake import FakeCluster, FakeNode, Hold, error, hold, reset, sequence
from tests.unit.engine.faults import IDEMPOTENT_READ, READ, connected, exception_of, int_row
from tests.waiting import until_on_loop

pytestmark = pytest.mark.simulated

OCCUPY = "SELECT occupy"


@pytest.fixture
def nodes() -> Iterator[FakeCluster]:
    """Yield MOST_AWAITED + 1 nodes, which respond to `READ` with their index.

    This is one node more than the number of hosts at which a request waits.
    """
    with FakeCluster(MOST_AWAITED + 1) as cluster:
        for index, node in enumerate(cluster.nodes):
            node.prime(READ, int_row(index))
        yield cluster


class FullPools:
    """The pools of a session, each of which has a single stream that a request occupies.

    The request of a pool occupies the stream until the test frees this pool.
    """

    def __init__(self, nodes: FakeCluster, session: aio.Session) -> None:
        by_address = {host.address: pool for host, pool in session._engine.pools.items()}
        self.pools = [by_address[node.address] for node in nodes.nodes]
        self._session = session
        self._nodes = nodes
        self._holds: list[Hold] = []
        self._occupants: list[asyncio.Future[Any]] = []

    async def fill(self) -> None:
        """Occupy the only stream of each pool with a request."""
        for node, pool in zip(self._nodes.nodes, self.pools, strict=True):
            pool.connections[0].set_stream_limit(1)
            self._holds.append(hold())
            node.prime(OCCUPY, self._holds[-1])
            execution = self._session.execute(OCCUPY, host=pool.host, timeout=None)
            self._occupants.append(asyncio.ensure_future(execution))
        await until_on_loop(lambda: all(pool.pick() is None for pool in self.pools))
        await until_on_loop(lambda: all(len(held.held) == 1 for held in self._holds))

    async def free(self, index: int) -> None:
        """Let the node with this index respond, so that its stream becomes free."""
        self._holds[index].release_all()
        await self._occupants[index]

    async def free_all(self) -> None:
        """Let all nodes respond to the requests that occupy the streams."""
        for index, occupant in enumerate(self._occupants):
            if not occupant.done():
                await self.free(index)

    @property
    def waiting(self) -> list[int]:
        """The number of requests that wait at each pool, in the order of the nodes."""
        return [pool.waiting for pool in self.pools]


@pytest.mark.parametrize("index", range(MOST_AWAITED))
async def test_the_first_of_the_busy_hosts_with_room_gets_the_request(
    nodes: FakeCluster, index: int
) -> None:
    """A request that finds all hosts busy waits at MOST_AWAITED pools for the first free stream.

    When one of these pools has a free stream, the request is sent there, and leaves all queues.
    """
    async with connected(nodes) as (_, session):
        full = FullPools(nodes, session)
        await full.fill()
        request = asyncio.ensure_future(session.execute(READ))
        await until_on_loop(lambda: any(full.waiting))
        assert full.waiting == [1] * MOST_AWAITED + [0]
        await full.free(index)
        assert (await request).one() == (index,)
        assert full.waiting == [0] * len(nodes)
        await full.free_all()


async def test_requests_are_served_in_the_order_in_which_they_came(nodes: FakeCluster) -> None:
    """Each stream that becomes free is used by the request that has waited longest."""
    async with connected(nodes) as (_, session):
        full = FullPools(nodes, session)
        await full.fill()
        requests = [asyncio.ensure_future(session.execute(READ)) for _ in range(3)]
        await until_on_loop(lambda: full.waiting[0] == len(requests))
        ends: list[Any] = []
        for request in requests:
            request.add_done_callback(ends.append)
        await full.free(1)
        await until_on_loop(lambda: len(ends) == len(requests))
        assert ends == requests
        assert full.waiting == [0] * len(nodes)
        await full.free_all()


async def test_a_full_queue_is_passed_over(nodes: FakeCluster) -> None:
    """A request does not wait at a pool whose queue is full; if all queues are full, it fails."""
    async with connected(nodes, max_waiting_requests=1) as (_, session):
        full = FullPools(nodes, session)
        await full.fill()
        # One request waits at the first pool. Each queue takes one request, so this queue is full.
        named = asyncio.ensure_future(session.execute(READ, host=full.pools[0].host))
        await until_on_loop(lambda: full.waiting[0] == 1)
        # This request waits at the other pools, so there is no queue left for a third request.
        request = asyncio.ensure_future(session.execute(READ))
        await until_on_loop(lambda: full.waiting[1] == 1)
        refused = await exception_of(session.execute(READ))
        assert isinstance(refused, NoHostAvailable)
        assert len(refused.errors) == MOST_AWAITED
        assert all(isinstance(error, NoConnectionsAvailable) for error in refused.errors.values())
        await full.free(2)
        assert (await request).one() == (2,)
        await full.free_all()
        assert (await named).one() == (0,)


async def test_a_pool_that_is_closed_leaves_the_request_to_the_others(nodes: FakeCluster) -> None:
    """If one of the pools is closed, a request continues to wait at the other pools."""
    async with connected(nodes) as (_, session):
        full = FullPools(nodes, session)
        await full.fill()
        request = asyncio.ensure_future(session.execute(READ))
        await until_on_loop(lambda: any(full.waiting))
        session._engine.remove_pool(full.pools[0].host)
        await exception_of(full._occupants[0])
        assert not request.done()
        await full.free(1)
        assert (await request).one() == (1,)
        await full.free_all()


async def test_the_end_of_the_session_ends_a_request_that_waits(nodes: FakeCluster) -> None:
    """If the session is shut down, a request that waits at several pools fails."""
    async with connected(nodes) as (_, session):
        full = FullPools(nodes, session)
        await full.fill()
        request = asyncio.ensure_future(exception_of(session.execute(READ)))
        await until_on_loop(lambda: any(full.waiting))
        await session.shutdown()
        assert "shut down" in str(await request)
        await asyncio.gather(*full._occupants, return_exceptions=True)


# -- connections that broke unnoticed --------------------------------------------------------------


@pytest.mark.parametrize("node_count", [1, 3])
@pytest.mark.parametrize("is_reset", [True, False], ids=["reset", "closed"])
@pytest.mark.parametrize("shards", [None, 4], ids=["no shards", "shards"])
@pytest.mark.parametrize("pool_size", [1, 2])
async def test_a_request_waits_for_the_connections_that_broke_unnoticed(
    node_count: int, is_reset: bool, shards: int | None, pool_size: int
) -> None:
    """Idempotent requests whose connections all broke unnoticed wait for new connections.

    This happens, for example, if the process was suspended and all its connections were cut during
    this time. The requests must not fail.
    """
    with FakeCluster(node_count, scylla=shards) as nodes:
        nodes.prime(READ, int_row(7))
        async with connected(nodes, connections_per_host=pool_size) as (_, session):
            pools = session._engine.pools.values()
            count = (shards or 1) * pool_size
            await until_on_loop(lambda: all(len(pool.connections) == count for pool in pools))
            # After this silence, a broken connection counts as one that broke unnoticed.
            await asyncio.sleep(2 * SILENCE)
            # The client notices the closed connections only after it has sent its requests.
            for node in nodes.nodes:
                node.drop_connections(reset=is_reset)
            requests = [session.execute(IDEMPOTENT_READ) for _ in range(10)]
            results = await asyncio.gather(*requests)
            assert [result.one() for result in results] == [(7,)] * len(requests)


async def test_a_request_waits_only_once() -> None:
    """If the replacement of a broken connection breaks, too, the request is not sent a third time.

    The request fails.
    """
    with FakeNode() as node:
        node.prime(READ, reset())
        async with connected(node) as (_, session):
            # After this silence, a broken connection counts as one that broke unnoticed.
            await asyncio.sleep(2 * SILENCE)
            failure = await exception_of(session.execute(IDEMPOTENT_READ))
            assert isinstance(failure, NoHostAvailable)
            assert len(node.queries(READ)) == 2


async def test_a_request_does_not_wait_for_a_host_that_is_gone() -> None:
    """If the host refuses the new connection, the request fails at once, not after its timeout."""
    with FakeNode() as node:
        async with connected(node) as (_, session):
            # After this silence, a broken connection counts as one that broke unnoticed.
            await asyncio.sleep(2 * SILENCE)
            node.refuse_connections()
            node.drop_connections()
            begin = asyncio.get_running_loop().time()
            failure = await exception_of(session.execute(IDEMPOTENT_READ, timeout=30))
            assert isinstance(failure, NoHostAvailable)
            assert asyncio.get_running_loop().time() - begin < SILENCE
            node.accept_connections()


@pytest.mark.parametrize(
    ("statement", "settings"),
    [
        (SimpleStatement(READ, is_idempotent=False), {}),
        (IDEMPOTENT_READ, {"retry_policy": FallthroughRetryPolicy()}),
    ],
    ids=["not idempotent", "retry policy"],
)
async def test_only_a_request_that_may_be_retried_waits(
    statement: SimpleStatement, settings: dict[str, Any]
) -> None:
    """A request that may not be retried is sent once only, although its connection broke unnoticed.

    It may not be retried if it is not idempotent, or if the retry policy refuses.
    """
    with FakeNode() as node:
        node.prime(READ, sequence(reset(), int_row(7)))
        async with connected(node, settings) as (_, session):
            # After this silence, a broken connection counts as one that broke unnoticed.
            await asyncio.sleep(2 * SILENCE)
            await exception_of(session.execute(statement))
            assert len(node.queries(READ)) == 1


async def test_a_connection_in_use_that_breaks_makes_no_request_wait() -> None:
    """If a connection that was just in use breaks, the request fails without waiting for another.

    The request itself may have broken the connection. The error is the same as in cassandra-driver.
    """
    with FakeNode() as node:
        node.prime("warm", int_row(1))
        node.prime(READ, reset())
        async with connected(node) as (_, session):
            # This request keeps the connection from being silent.
            await session.execute("warm")
            failure = await exception_of(session.execute(IDEMPOTENT_READ))
            assert isinstance(failure, NoHostAvailable)
            assert len(node.queries(READ)) == 1


# -- pools with a free stream before the wait begins -----------------------------------------------


async def test_a_busy_host_that_is_idle_again_gets_the_request(nodes: FakeCluster) -> None:
    """If a busy host becomes idle while another host is tried, it gets the request at once.

    The request must not start to wait at the idle host, because no event would end the wait.
    """
    async with connected(nodes, idle_heartbeat_interval=0) as (_, session):
        full = FullPools(nodes, session)
        await full.fill()
        # The second node gets the request and holds its response. Then the first node becomes
        # idle.
        await full.free(1)
        held = hold()
        nodes.nodes[1].prime(READ, held)
        request = asyncio.ensure_future(session.execute(IDEMPOTENT_READ, timeout=None))
        await until_on_loop(lambda: len(held.held) == 1)
        await full.free(0)
        # The connection to the second node breaks, so the request is tried on the next host.
        nodes.nodes[1].drop_connections(reset=True)
        await until_on_loop(lambda: request.done() or any(full.waiting))
        assert request.done()
        assert request.result().one() == (0,)
        await full.free_all()


async def test_a_connection_that_was_replaced_before_it_broke_needs_no_wait() -> None:
    """If a broken connection was already replaced, the request uses the new one at once."""
    with FakeNode() as node:
        held = hold()
        node.prime(READ, sequence(held, int_row(7)))
        async with connected(node, idle_heartbeat_interval=0) as (_, session):
            (pool,) = session._engine.pools.values()
            # After this time of silence, the driver may have missed that the connection is broken.
            await asyncio.sleep(2 * SILENCE)
            request = asyncio.ensure_future(session.execute(IDEMPOTENT_READ, timeout=None))
            await until_on_loop(lambda: len(held.held) == 1)
            # The pool replaces the connection while the request still waits for its response on it.
            (previous,) = pool.connections
            pool._replace(previous)
            await until_on_loop(lambda: bool(pool.connections) and not pool.is_opening)
            previous.close(ConnectionException("reset"))
            await until_on_loop(lambda: request.done() or pool.waiting > 0)
            assert request.done()
            assert request.result().one() == (7,)


class CountedWaiter:
    """A waiting request that counts how often it is compared with another object."""

    done = False
    comparisons = 0

    def __eq__(self, other: object) -> bool:
        CountedWaiter.comparisons += 1
        return self is other

    def __hash__(self) -> int:
        return id(self)


async def test_a_request_leaves_a_long_queue_without_a_search(nodes: FakeCluster) -> None:
    """Leaving a queue of 1000 requests takes no search, so it needs few comparisons.

    In practice, many requests wait for a host that hangs, and leave its queue when other pools
    serve them.
    """
    async with connected(nodes) as (_, session):
        (pool, *_) = session._engine.pools.values()
        waiters: list[Any] = [CountedWaiter() for _ in range(1000)]
        for waiter in waiters:
            pool.wait_for_room(waiter)
        CountedWaiter.comparisons = 0
        for waiter in reversed(waiters):
            pool.stop_waiting(waiter)
        assert pool.waiting == 0
        assert CountedWaiter.comparisons < len(waiters)


async def test_a_delayed_retry_waits_at_its_host_if_that_is_busy() -> None:
    """If a delayed retry finds no free stream at its host, it waits for a stream.

    During the delay, other requests may have taken all streams of the host.
    """
    with FakeNode() as node:
        timeout = error(0x1200, received=1, blockfor=1, data_present=0)
        node.prime(READ, sequence(timeout, int_row(7)))
        held = hold()
        node.prime(OCCUPY, held)
        policy = ExponentialBackoffRetryPolicy(1)
        async with connected(node, {"retry_policy": policy}) as (_, session):
            # The connection has only one stream. While the retry is delayed, another request takes
            # this stream.
            (pool,) = session._engine.pools.values()
            pool.connections[0].set_stream_limit(1)
            request = asyncio.ensure_future(session.execute(IDEMPOTENT_READ))
            await until_on_loop(lambda: bool(session._engine.delayed))
            occupant = asyncio.ensure_future(session.execute(OCCUPY))
            await until_on_loop(lambda: request.done() or pool.waiting == 1)
            # When the other request has ended, the retry gets the stream.
            held.release_all()
            await occupant
            assert (await request).one() == (7,)


async def test_requests_that_are_over_do_not_make_a_pool_busy(nodes: FakeCluster) -> None:
    """Requests that timed out do not make their pool busy, although they are still in its queue."""
    async with connected(nodes) as (_, session):
        full = FullPools(nodes, session)
        await full.fill()
        await exception_of(session.execute(READ, timeout=1))
        for occupant in full._occupants:
            occupant.cancel()
        await asyncio.gather(*full._occupants, return_exceptions=True)
        assert not any(pool.is_busy for pool in full.pools)
