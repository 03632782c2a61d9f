"""Hosts on fake nodes: policies, removals, listeners, host names, translators, and latencies."""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress
from typing import Any

import pytest

from cassandra import aio
from cassandra.cluster import ExecutionProfile
from cassandra.engine.endpoint import DefaultEndPoint
from cassandra.errors import ConnectionException, NoHostAvailable
from cassandra.metadata.host import Host
from cassandra.observers import RequestObserver
from cassandra.policies import (
    AddressTranslator,
    ConstantReconnectionPolicy,
    DCAwareRoundRobinPolicy,
    FallthroughRetryPolicy,
    HostDistance,
)
from cassandra.testing.fake import ErrorCode, FakeCluster, FakeNode, Opcode, error, hold, message
from tests.unit.engine.faults import (
    READ,
    HostEvents,
    call_in_thread,
    connected,
    exception_of,
    int_row,
    pooled_addresses,
)
from tests.waiting import until_on_loop

pytestmark = pytest.mark.simulated


async def test_a_policy_that_is_added_later_knows_which_hosts_are_down(
    two_datacenters: FakeCluster,
) -> None:
    """A profile that is added after `connect` knows which hosts are up and which are down."""
    hourly = ConstantReconnectionPolicy(delay=3600, max_attempts=None)
    async with connected(two_datacenters, reconnection_policy=hourly) as (cluster, _):
        down, live = (host for host in cluster.metadata.all_hosts() if host.datacenter == "west")
        await call_in_thread(two_datacenters.stop_node, two_datacenters.node_at(down.address))
        await until_on_loop(lambda: down.is_up is False)
        policy = DCAwareRoundRobinPolicy("east", used_hosts_per_remote_dc=1)
        cluster.add_execution_profile("later", ExecutionProfile(load_balancing_policy=policy))
        assert down not in list(policy.make_query_plan())
        assert policy.distance(live) == HostDistance.REMOTE


async def test_a_policy_that_is_added_later_reaches_hosts_that_were_ignored(
    two_datacenters: FakeCluster,
) -> None:
    """When a new profile uses a host that was ignored and is marked as down, the driver tries it.

    The report that the ignored host is up may have been lost.
    """
    local = {"load_balancing_policy": DCAwareRoundRobinPolicy("east")}
    async with connected(two_datacenters, local) as (cluster, session):
        remote = next(host for host in cluster.metadata.all_hosts() if host.datacenter == "west")
        two_datacenters.tell("STATUS_CHANGE", "DOWN", two_datacenters.node_at(remote.address))
        await until_on_loop(lambda: remote.is_up is False)
        policy = DCAwareRoundRobinPolicy("west")
        cluster.add_execution_profile("west", ExecutionProfile(load_balancing_policy=policy))
        await until_on_loop(lambda: remote.is_up)
        await session.execute(READ, execution_profile="west", host=remote)


# -- hosts that leave during a connect -------------------------------------------------------------


@pytest.mark.simulated(False)
async def test_a_host_that_is_removed_while_its_pool_is_opened_does_not_come_back() -> None:
    """If a host is removed while its pool is opened, it gets neither a pool nor an "up" event."""
    with FakeCluster(2) as nodes:
        async with connected(nodes) as (cluster, session):
            core = cluster._core
            assert core is not None
            events = HostEvents()
            cluster.register_listener(events)
            no_options = b"\x00\x00"  # an empty [string multimap]
            held_supported = hold(message(Opcode.SUPPORTED, no_options))
            # Nodes that are added from now on do not respond to OPTIONS, so their pools stay half
            # open.
            nodes._primes.append((Opcode.OPTIONS, held_supported, []))
            added = await call_in_thread(nodes.add_node)
            await events.expect("add", added.address)
            await call_in_thread(held_supported.wait)
            host = cluster.metadata.get_host(added.address)
            assert host is not None
            opening = session._engine._opening[host]
            nodes.nodes.remove(added)
            # The node leaves the cluster: `_introduce` sets the peers of the remaining nodes.
            nodes._introduce()
            await cluster.refresh_nodes()
            await events.expect("remove", added.address)
            # The connection opens only after the host was removed.
            await call_in_thread(held_supported.open)
            await asyncio.wait({opening})
            await session.execute("anything")
            assert added.address not in pooled_addresses(session)
            assert events.seen == []
            await call_in_thread(added.stop)


# -- listeners -------------------------------------------------------------------------------------


async def test_listeners_may_be_registered_before_the_first_connect() -> None:
    """A listener that is registered before `connect` gets an "add" event for each host."""
    with FakeCluster(2) as nodes:
        async with aio.Cluster(nodes.contact_points, port=nodes.port) as cluster:
            events = HostEvents()
            unregistered_events = HostEvents()
            cluster.register_listener(events)
            # A listener that is registered twice must still get each event once.
            cluster.register_listener(events)
            cluster.register_listener(unregistered_events)
            cluster.unregister_listener(unregistered_events)
            await cluster.connect(wait_for_all_pools=True)
            assert sorted(events.seen) == [
                ("add", address) for address in sorted(nodes.contact_points)
            ]
            assert unregistered_events.seen == []


# -- names and addresses ---------------------------------------------------------------------------


class LoopWithResolver:
    """An event loop whose `getaddrinfo` returns these addresses for every name.

    A connection to 192.0.2.1 never opens, as if the network dropped all packets to this address.
    """

    def __init__(self, loop: Any, addresses: list[str]) -> None:
        self._loop = loop
        self._addresses = addresses

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loop, name)

    async def getaddrinfo(self, host: str, port: int, **hints: Any) -> list[Any]:
        return [
            (socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (address, port))
            for address in self._addresses
        ]

    async def create_connection(
        self, factory: Any, address: str, port: int, **settings: Any
    ) -> Any:
        """Open a connection; for 192.0.2.1, wait for ever."""
        if address == "192.0.2.1":
            await asyncio.Event().wait()
        return await self._loop.create_connection(factory, address, port, **settings)


@pytest.mark.slow
@pytest.mark.parametrize("unreachable", ["192.0.2.1", "127.0.0.99"], ids=["drops", "refuses"])
@pytest.mark.simulated(False)
async def test_a_name_with_an_unreachable_address_is_reached_at_another_one(
    unreachable: str,
) -> None:
    """If one address of a host name is unreachable, the driver connects to the next address.

    The first address either drops all packets or refuses connections. The second address must be
    tried before `connect_timeout` (1 s) is over.
    """
    with FakeNode() as node:
        async with connected(node) as (cluster, _):
            core = cluster._core
            assert core is not None
            # This overrides the cluster's setting for the connections that are opened from now on.
            vars(core.settings)["connect_timeout"] = 1.0
            core.connector._environment.loop = LoopWithResolver(
                core.loop, [unreachable, node.address]
            )  # type: ignore[assignment]
            connection = await core.open_connection(DefaultEndPoint("db.example", node.port))
            connection.close()


async def test_if_no_address_of_a_name_answers_the_error_has_the_name() -> None:
    """If no address of a host name can be connected to, the error has the name.

    Users know the name that they have configured, but not its addresses.
    """
    with FakeNode() as node:
        async with connected(node) as (cluster, _):
            core = cluster._core
            assert core is not None
            vars(core.settings)["connect_timeout"] = 0.1
            core.connector._environment.loop = LoopWithResolver(
                core.loop, ["192.0.2.1", "192.0.2.1", "127.0.0.99"]
            )  # type: ignore[assignment]
            failure = await exception_of(
                core.open_connection(DefaultEndPoint("db.example", node.port))
            )
            assert isinstance(failure, ConnectionException)
            assert f"db.example:{node.port}" in str(failure)


# -- translators -----------------------------------------------------------------------------------


class RecordingTranslator(AddressTranslator):
    """A translator that records which event loop runs in the thread of each call.

    :param translation: the result for every address; None returns the address itself.
    """

    def __init__(self, translation: Any = None) -> None:
        self.translation = translation
        self.loops: list[Any] = []

    def translate(self, addr: str) -> Any:
        """Record the running event loop of this thread, and translate the address.

        The record is None if no loop is running.
        """
        try:
            self.loops.append(asyncio.get_running_loop())
        except RuntimeError:
            self.loops.append(None)
        return self.translation if self.translation is not None else addr


@pytest.mark.simulated(False)
async def test_a_translator_does_not_run_on_the_loop() -> None:
    """The driver calls translators in a thread without an event loop.

    A translator may block, for example to resolve a name.
    """
    translator = RecordingTranslator()
    with FakeCluster(3) as nodes:
        async with connected(nodes, address_translator=translator) as (cluster, _):
            assert len(cluster.metadata.all_hosts()) == 3
    assert translator.loops
    assert set(translator.loops) == {None}


async def test_if_a_translator_returns_no_address_the_error_names_it() -> None:
    """If a translator returns an empty string, `connect` fails.

    The error names the translator and the address that was passed to it.
    """
    with FakeCluster(2) as nodes:
        cluster = aio.Cluster(
            [nodes[0].address],
            port=nodes.port,
            address_translator=RecordingTranslator(translation=""),
        )
        failure = await exception_of(cluster.connect())
        await cluster.shutdown()
        assert isinstance(failure.__cause__, ValueError)
        assert "RecordingTranslator.translate" in str(failure)
        assert repr(nodes[1].address) in str(failure)


# -- latencies of hosts --------------------------------------------------------------------------


class RefusalRecorder(RequestObserver):
    """An observer that records (address, whether it took any time) for each refused request."""

    def __init__(self, refusals: list[tuple[str, bool]]) -> None:
        self._refusals = refusals

    def on_refusal(self, host: Host, seconds: float) -> None:
        self._refusals.append((host.address, seconds > 0))


@pytest.mark.parametrize(
    ("answer", "is_latency"),
    [
        pytest.param(error(ErrorCode.OVERLOADED), False, id="overloaded"),
        pytest.param(error(ErrorCode.UNAVAILABLE), False, id="unavailable"),
        pytest.param(error(ErrorCode.IS_BOOTSTRAPPING), False, id="bootstrapping"),
        pytest.param(error(ErrorCode.SYNTAX_ERROR), False, id="syntax"),
        pytest.param(error(ErrorCode.READ_TIMEOUT), True, id="read time-out"),
        pytest.param(error(ErrorCode.WRITE_FAILURE), True, id="write failure"),
        pytest.param(int_row(1), True, id="rows"),
    ],
)
@pytest.mark.simulated(False)
async def test_which_answers_count_as_latencies(answer: Any, is_latency: bool) -> None:
    """A response that refuses the request does not count as a latency of the host.

    Otherwise, an overloaded host that refuses requests at once would look fast.
    """
    with FakeNode() as node:
        node.prime(READ, answer)
        async with connected(node, {"retry_policy": FallthroughRetryPolicy()}) as (
            cluster,
            session,
        ):
            core = cluster._core
            assert core is not None
            latencies: list[Any] = []
            refusals: list[Any] = []
            core.observe_latencies(
                lambda host, seconds: latencies.append((host.address, seconds > 0))
            )
            core.observe_requests(RefusalRecorder(refusals))
            await asyncio.wait({asyncio.ensure_future(session.execute(READ))})
            # Each response is reported once: as a latency, or as a refusal.
            entry = (node.address, True)
            assert latencies == ([entry] if is_latency else [])
            assert refusals == ([] if is_latency else [entry])


@pytest.mark.parametrize("count", [1, 3])
async def test_a_node_of_another_cluster_at_a_known_address_gets_no_requests(
    nodes: FakeCluster, count: int
) -> None:
    """A node of another cluster that gets the address of a lost node is not used.

    The host stays down until its own node is back, and the reason is that another cluster answers.

    :param count: how many of the three nodes are lost.
    """
    intruders = [
        FakeNode(node.address, nodes.port, cluster_name="staging") for node in nodes.nodes[:count]
    ]
    async with connected(nodes) as (cluster, session):
        host = cluster.metadata.get_host(nodes.nodes[0].address, nodes.port)
        assert host is not None
        for node, intruder in zip(nodes.nodes, intruders, strict=False):
            await call_in_thread(nodes.stop_node, node)
            await call_in_thread(intruder.start)
        try:
            await until_on_loop(
                lambda: "leads to a node of the cluster 'staging' now" in str(host.last_failure)
            )
            for _ in range(20):
                with suppress(NoHostAvailable):
                    await session.execute(READ)
            assert host.is_up is False
            assert not any(intruder.queries(READ) for intruder in intruders)
        finally:
            for intruder in intruders:
                await call_in_thread(intruder.stop)
        for node in nodes.nodes[:count]:
            await call_in_thread(nodes.start_node, node)
        await until_on_loop(lambda: all(host.is_up for host in cluster.metadata.all_hosts()))
        assert cluster.metadata.cluster_name == nodes.nodes[0].cluster_name
        assert len(cluster.metadata.all_hosts()) == 3
        await session.execute(READ)
