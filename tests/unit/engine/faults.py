"""Helpers for tests with faults.

They make sessions on fake nodes, query plans in a fixed order, and listeners of host events.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import pytest

from cassandra import aio
from cassandra.cluster import EXEC_PROFILE_DEFAULT, ExecutionProfile
from cassandra.policies.balancing import HostStateListener, RoundRobinPolicy
from cassandra.policies.reconnection import ConstantReconnectionPolicy
from cassandra.query import SimpleStatement
from cassandra.testing.fake import FakeCluster, FakeNode, Hold, Message, rows
from cassandra.testing.simulation import SimulatedLoop
from tests.waiting import WAIT as WAIT, until_on_loop  # tests import these names from here

READ = "SELECT k FROM t"
READ_OTHER = "SELECT k FROM other"
INSERT = "INSERT INTO t (k) VALUES (?)"
IDEMPOTENT_READ = SimpleStatement(READ, is_idempotent=True)


class AddressOrderPolicy(RoundRobinPolicy):
    """A policy whose query plans list the hosts that are up in the order of their addresses."""

    def make_query_plan(
        self, working_keyspace: str | None = None, query: Any = None
    ) -> Iterator[Any]:
        """Return the hosts of the round-robin plan, sorted by their addresses as strings."""
        hosts = super().make_query_plan(working_keyspace, query)
        return iter(sorted(hosts, key=lambda host: str(host.address)))


class HostEvents(HostStateListener):
    """A listener that records host events such as ("up", address), and can wait for an event."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str]] = []
        self._changed = asyncio.Event()

    def _record(self, event: str, host: Any) -> None:
        self.seen.append((event, host.address))
        self._changed.set()

    def on_up(self, host: Any) -> None:
        self._record("up", host)

    def on_down(self, host: Any) -> None:
        self._record("down", host)

    def on_add(self, host: Any) -> None:
        self._record("add", host)

    def on_remove(self, host: Any) -> None:
        self._record("remove", host)

    async def expect(self, event: str, address: str) -> None:
        """Wait for an event of a host. Then forget this event and all events before it.

        :param event: "up", "down", "add" or "remove".
        :param address: the address of the host.
        """

        async def wait_until_seen() -> None:
            while (event, address) not in self.seen:
                self._changed.clear()
                await self._changed.wait()

        await asyncio.wait_for(wait_until_seen(), WAIT)
        del self.seen[: self.seen.index((event, address)) + 1]


def profile(**settings: Any) -> dict[Any, ExecutionProfile]:
    """Return a default profile with these settings.

    Its query plans list hosts in the order of their addresses.
    """
    return {
        EXEC_PROFILE_DEFAULT: ExecutionProfile(
            **{"load_balancing_policy": AddressOrderPolicy(), **settings}
        )
    }


@contextmanager
def three_nodes() -> Iterator[FakeCluster]:
    """Yield three nodes, each of which responds to `READ` with its own index."""
    with FakeCluster(3) as cluster:
        for index, node in enumerate(cluster.nodes):
            node.prime(READ, int_row(index))
        yield cluster
        # The nodes must have been able to decode every message from the driver.
        assert [node.malformed for node in cluster.nodes] == [[]] * len(cluster)


@asynccontextmanager
async def connected(
    nodes: FakeNode | FakeCluster, profile_settings: dict[str, Any] | None = None, **settings: Any
) -> AsyncIterator[tuple[aio.Cluster, aio.Session]]:
    """Yield a cluster and a session that has a pool to each node.

    A host that is down is tried again every 10 ms, without end.

    :param profile_settings: settings of the default profile.
    :param settings: settings of the cluster.
    """
    contact_points = [nodes.address] if isinstance(nodes, FakeNode) else nodes.contact_points
    defaults = {
        "execution_profiles": profile(**(profile_settings or {})),
        "reconnection_policy": ConstantReconnectionPolicy(delay=0.01, max_attempts=None),
        "connect_timeout": 2.0,
    }
    async with aio.Cluster(contact_points, port=nodes.port, **{**defaults, **settings}) as cluster:
        session = await cluster.connect(wait_for_all_pools=True)
        yield cluster, session


def int_row(value: int) -> Message:
    """Return a result with one row that has one int."""
    return rows([("k", "int")], [(value,)])


@pytest.fixture(params=[3, 4, 5], ids=["v3", "v4", "v5"])
async def node(request: pytest.FixtureRequest) -> AsyncIterator[FakeNode]:
    """Yield a node for each protocol version.

    At the end, check that clients have sent only valid messages.
    """
    with FakeNode(max_version=request.param) as running:
        running.prime(READ_OTHER, int_row(1))
        yield running
        # The node must have been able to decode every message from the driver.
        assert running.malformed == []


def local_address(connection: Any) -> Any:
    """Return the address of the client's end of a connection.

    The node has the same address as the `peer` of its end.
    """
    return connection._transport.get_extra_info("sockname")


def only_connection(session: aio.Session) -> Any:
    """Return the only connection of a session, which has one pool with one connection."""
    (pool,) = session._engine.pools.values()
    (connection,) = pool.connections
    return connection


async def call_in_thread(function: Any, *args: Any, **settings: Any) -> Any:
    """Call a blocking function of a fake node in a thread, so that the event loop can continue."""
    # This is the object whose method `function` is.
    owner = getattr(function, "__self__", None)
    if isinstance(owner, FakeNode) and function.__name__ == "wait_for":
        # In virtual time, a thread cannot wait for the loop. `wait_until` waits on the loop
        # instead.
        return await owner.wait_until(*args, **settings)
    if isinstance(owner, Hold) and isinstance(asyncio.get_running_loop(), SimulatedLoop):
        # In virtual time, no thread can wait while the loop runs. So we first let the loop run
        # until enough requests (1 by default) are held. After that, the call in the thread returns
        # at once.
        await until_on_loop(lambda: len(owner.held) >= (args[0] if args else 1))
    return await asyncio.wait_for(asyncio.to_thread(function, *args, **settings), WAIT + 1)


async def exception_of(awaitable: Any) -> BaseException:
    """Return the exception that `awaitable` raises.

    Fail if no exception is raised within `WAIT` seconds.
    """
    try:
        result = await asyncio.wait_for(awaitable, WAIT)
    except asyncio.TimeoutError:
        raise AssertionError(f"no outcome within {WAIT} s") from None
    except Exception as error:
        return error
    raise AssertionError(f"no error, but {result!r}")


def control_node(nodes: FakeCluster) -> FakeNode | None:
    """Return the node of the control connection.

    Return None if no connection is registered for events.
    """
    for node in nodes.nodes:
        if any(connection.event_types for connection in node.connections):
            return node
    return None


class NeverReconnect:
    """A reconnection policy that allows no attempt."""

    def new_schedule(self) -> Any:
        """Return an iterator without delays, which makes the driver give the host up at once."""
        return iter(())


def pooled_addresses(session: Any) -> set[str]:
    """Return the addresses of the hosts to which the session has pools."""
    return {host.address for host in session.get_pool_state()}


def schema_queries(node: FakeNode | FakeCluster, table: str) -> list[str]:
    """Return the queries that read a table of `system_schema`."""
    return [
        str(request.query)
        for request in node.requests
        if f"FROM system_schema.{table}" in str(request.query)
    ]
