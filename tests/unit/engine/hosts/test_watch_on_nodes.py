"""Hosts in the engine: each one that can be reached comes back; one that left does not."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from cassandra import aio
from cassandra.cluster import ExecutionProfile
from cassandra.engine.endpoint import DefaultEndPoint
from cassandra.errors import ConnectionException
from cassandra.metadata.host import Host
from cassandra.observers import RequestObserver
from cassandra.policies import (
    AddressTranslator,
    ConstantReconnectionPolicy,
    ConvictionPolicy,
    DCAwareRoundRobinPolicy,
    FallthroughRetryPolicy,
    HostDistance,
)
from cassandra.testing.fake import ErrorCode, FakeCluster, FakeNode, Opcode, error, hold, message
from tests.unit.engine.faults import (
    READ,
    SAFE,
    HostEvents,
    Never,
    connected,
    fails,
    number,
    thread,
    two_centres,
)
from tests.waiting import until_on_loop


@pytest.fixture
def nodes() -> Iterator[FakeCluster]:
    with two_centres() as cluster:
        yield cluster


def pooled(session: Any) -> set[str]:
    """The addresses that the session has connections to."""
    return {host.address for host in session.get_pool_state()}


# -- hosts that policies do not use at the moment --------------------------------------------------


@pytest.mark.parametrize("tell", [True, False], ids=["with events", "without"])
async def test_a_used_host_of_another_data_centre_comes_back(
    nodes: FakeCluster, tell: bool
) -> None:
    policy = DCAwareRoundRobinPolicy("east", used_hosts_per_remote_dc=2)
    async with connected(nodes, {"load_balancing_policy": policy}) as (cluster, session):
        events = HostEvents()
        cluster.register_listener(events)
        for victim in nodes.nodes[1:]:
            await thread(nodes.stop_node, victim, tell)
            await events.expect("down", victim.address)
        for victim in nodes.nodes[1:]:
            await thread(nodes.start_node, victim, tell)
            await events.expect("up", victim.address)
        await until_on_loop(lambda: len(pooled(session)) == 3)


async def test_hosts_that_are_not_used_follow_events_without_a_connection(
    nodes: FakeCluster,
) -> None:
    policy = DCAwareRoundRobinPolicy("east")
    async with connected(nodes, {"load_balancing_policy": policy}) as (cluster, session):
        core = cluster._core
        assert core is not None
        events = HostEvents()
        cluster.register_listener(events)
        # The contact point that was asked first may be any of them.
        victim = next(
            node
            for node in nodes.nodes[1:]
            if node.address != cluster.get_control_connection_host().address
        )
        opened = victim.count(Opcode.STARTUP)
        await thread(nodes.tell, "STATUS_CHANGE", "DOWN", victim)
        await events.expect("down", victim.address)
        assert core.hosts._tries == {}
        await thread(nodes.tell, "STATUS_CHANGE", "UP", victim)
        await events.expect("up", victim.address)
        assert victim.count(Opcode.STARTUP) == opened
        assert pooled(session) == {nodes[0].address}


async def test_a_policy_that_comes_later_knows_which_hosts_are_down(nodes: FakeCluster) -> None:
    slowly = ConstantReconnectionPolicy(3600, None)
    async with connected(nodes, reconnection_policy=slowly) as (cluster, _):
        down, spare = (host for host in cluster.metadata.all_hosts() if host.datacenter == "west")
        await thread(nodes.stop_node, nodes.node_at(down.address))
        await until_on_loop(lambda: down.is_up is False)
        policy = DCAwareRoundRobinPolicy("east", used_hosts_per_remote_dc=1)
        cluster.add_execution_profile("later", ExecutionProfile(load_balancing_policy=policy))
        assert down not in list(policy.make_query_plan())
        assert policy.distance(spare) == HostDistance.REMOTE


# -- conviction ------------------------------------------------------------------------------------


class Patient(ConvictionPolicy):
    """The third failure in a row is one too many."""

    def __init__(self, host: Any) -> None:
        super().__init__(host)
        self.failures = 0

    def add_failure(self, connection_exc: BaseException) -> bool:
        self.failures += 1
        return self.failures >= 3

    def reset(self) -> None:
        self.failures = 0


async def test_a_host_that_is_not_convicted_is_connected_to_again() -> None:
    with FakeCluster(2) as nodes:
        nodes.prime(READ, number(1))
        async with connected(nodes, conviction_policy_factory=Patient) as (cluster, session):
            events = HostEvents()
            cluster.register_listener(events)
            victim = nodes[1]
            host, core = cluster.metadata.get_host(victim.address), cluster._core
            assert host is not None
            assert host.conviction_policy is not None
            assert core is not None
            # One failure: not convicted, but without connections for the moment.
            session._engine.remove_pool(host)
            core.hosts.on_connection_failure(host, OSError("broken"))
            await until_on_loop(lambda: victim.address in pooled(session))
            assert events.seen == []
            assert host.conviction_policy.failures == 0
            # Now it is away for longer.
            await thread(nodes.stop_node, victim, False)
            await events.expect("down", victim.address)
            await thread(nodes.start_node, victim, False)
            await events.expect("up", victim.address)
            assert host.conviction_policy.failures == 0


async def test_a_host_whose_pool_fails_when_it_answers_again_is_tried_further() -> None:
    """A node that has just started may not know the keyspace yet."""
    with FakeCluster(2) as nodes:
        nodes.prime(READ, number(1))
        async with connected(nodes) as (cluster, session):
            await session.set_keyspace("ks")
            events = HostEvents()
            cluster.register_listener(events)
            victim = nodes[1]
            await thread(nodes.stop_node, victim, False)
            await events.expect("down", victim.address)
            victim.prime('USE "ks"', error(ErrorCode.INVALID, "Keyspace 'ks' does not exist"), 1)
            await thread(nodes.start_node, victim, False)
            await events.expect("up", victim.address)
            assert victim.address in pooled(session)


async def test_a_session_that_loses_a_host_alone_gets_it_back() -> None:
    """Another session has connections to it, so it is up: a session without gets its own."""
    with FakeCluster(2) as nodes:
        nodes.prime(READ, number(1))
        async with connected(nodes) as (cluster, session):
            await session.set_keyspace("ks")
            other = await cluster.connect(wait_for_all_pools=True)
            events = HostEvents()
            cluster.register_listener(events)
            core, victim = cluster._core, nodes[1]
            assert core is not None
            await until_on_loop(
                lambda: core.sessions._following is None
            )  # what follows from the events of connecting is over
            victim.prime('USE "ks"', error(ErrorCode.INVALID, "Keyspace 'ks' does not exist"), 1)
            (pool,) = (
                pool
                for pool in session._engine.pools.values()
                if pool.host.address == victim.address
            )
            pool.connections[0].close(ConnectionException("broken"))
            await until_on_loop(lambda: pool.closed)
            await until_on_loop(lambda: victim.address in pooled(session))
            assert victim.address in pooled(other)
            assert events.seen == []


async def test_a_host_that_is_given_up_without_being_convicted_is_down(nodes: FakeCluster) -> None:
    class Merciful(Patient):
        def add_failure(self, connection_exc: BaseException) -> bool:
            return False

    async with connected(
        nodes, conviction_policy_factory=Merciful, reconnection_policy=Never()
    ) as (cluster, _):
        events = HostEvents()
        cluster.register_listener(events)
        at = cluster.get_control_connection_host()
        victim = next(node for node in nodes.nodes if node.address != at.address)
        host = cluster.metadata.get_host(victim.address)
        await thread(nodes.stop_node, victim, False)
        await events.expect("down", victim.address)
        assert host is not None
        assert host.state == "forced down"
        await thread(nodes.start_node, victim)
        await events.expect("up", victim.address)


# -- hosts that leave while they are connected to --------------------------------------------------


async def test_a_host_that_is_removed_while_its_pool_is_opened_does_not_come_back() -> None:
    with FakeCluster(2) as nodes:
        async with connected(nodes) as (cluster, session):
            core = cluster._core
            assert core is not None
            events = HostEvents()
            cluster.register_listener(events)
            held = hold(message(Opcode.SUPPORTED, b"\x00\x00"))
            nodes._primes.append((Opcode.OPTIONS, held))
            added = await thread(nodes.add_node)
            await events.expect("add", added.address)
            await thread(held.wait)
            host = cluster.metadata.get_host(added.address)
            assert host is not None
            opening = session._engine._opening[host]
            nodes.nodes.remove(added)
            nodes._introduce()
            await cluster.refresh_nodes()
            await events.expect("remove", added.address)
            await thread(held.open)
            await asyncio.wait({opening})
            await session.execute("anything")
            assert added.address not in pooled(session)
            assert events.seen == []
            await thread(added.stop)


# -- one address, another node; one node, another address ------------------------------------------


async def test_another_node_under_the_same_address_is_another_host() -> None:
    with FakeCluster(2) as nodes:
        async with connected(nodes) as (cluster, session):
            at = cluster.get_control_connection_host().address
            replaced = next(node for node in nodes.nodes if node.address != at)
            before = cluster.metadata.get_host(replaced.address)
            events = HostEvents()
            cluster.register_listener(events)
            replaced.host_id = uuid.UUID(int=99)
            await cluster.refresh_nodes()
            after = cluster.metadata.get_host(replaced.address)
            assert after is not None
            assert after is not before
            await events.expect("up", replaced.address)
            await until_on_loop(lambda: after.is_up is True)
            assert any(host is after for host in session.get_pool_state())
            assert before is not None
            assert before.is_up is False


async def test_listeners_hear_of_a_replaced_node_once_each_and_in_order() -> None:
    with FakeCluster(2) as nodes:
        async with connected(nodes) as (cluster, _):
            at = cluster.get_control_connection_host().address
            replaced = next(node for node in nodes.nodes if node.address != at)
            events = HostEvents()
            cluster.register_listener(events)
            replaced.host_id = uuid.UUID(int=99)
            await cluster.refresh_nodes()
            host = cluster.metadata.get_host(replaced.address)
            await until_on_loop(lambda: host is not None and host.is_up is True)
            assert events.seen == [(kind, replaced.address) for kind in ("remove", "add", "up")]


async def test_a_node_that_the_control_connection_finds_under_another_address_has_moved(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As in a Kubernetes cluster whose pods have all got new addresses: only the contact point
    still leads there.
    """
    with FakeCluster(2) as nodes:
        old, new = nodes.nodes
        old.peers = new.peers = []
        new.host_id = old.host_id
        new.prime(READ, number(7))
        async with connected(old) as (cluster, session):
            core = cluster._core
            assert core is not None
            events = HostEvents()
            cluster.register_listener(events)
            contacts = core.control._contacts
            contacts.named_endpoints = contacts.endpoints = [
                DefaultEndPoint(new.address, nodes.port)
            ]
            await thread(old.stop)
            await events.expect("add", new.address)
            await events.expect("up", new.address)
            assert [host.address for host in cluster.metadata.all_hosts()] == [new.address]
            assert (await session.execute(SAFE)).one().k == 7


async def test_a_node_that_is_reached_by_another_of_its_names_stays_the_same_host() -> None:
    """Its own row still names the address that is known, so nothing has moved."""
    with FakeNode() as node:
        async with connected(node) as (cluster, _):
            core = cluster._core
            assert core is not None
            events = HostEvents()
            cluster.register_listener(events)
            (known,) = cluster.metadata.all_hosts()
            connection = core.control.connection
            assert connection is not None
            core.hosts.take_node_list(
                await core.control._node_lists.read(
                    connection, DefaultEndPoint("127.0.0.77", node.port)
                )
            )
            assert cluster.metadata.all_hosts() == [known]
            assert events.seen == []


# -- events before there is a control connection ---------------------------------------------------


# -- listeners -------------------------------------------------------------------------------------


async def test_listeners_may_be_registered_before_the_first_connect() -> None:
    with FakeCluster(2) as nodes:
        async with aio.Cluster(nodes.contact_points, port=nodes.port) as cluster:
            events, other = HostEvents(), HostEvents()
            cluster.register_listener(events)
            cluster.register_listener(events)  # it hears of everything once all the same
            cluster.register_listener(other)
            cluster.unregister_listener(other)
            await cluster.connect(wait_for_all_pools=True)
            assert sorted(events.seen) == [
                ("add", address) for address in sorted(nodes.contact_points)
            ]
            assert other.seen == []


# -- names and addresses ---------------------------------------------------------------------------


class Resolver:
    """An event loop for which a name has some addresses, and one of them drops every packet."""

    def __init__(self, loop: Any, addresses: list[str]) -> None:
        self._loop = loop
        self._addresses = addresses

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loop, name)

    async def getaddrinfo(self, host: str, port: int, **hints: Any) -> list[Any]:
        return [(2, 1, 6, "", (address, port)) for address in self._addresses]

    async def create_connection(
        self, factory: Any, address: str, port: int, **settings: Any
    ) -> Any:
        if address == "192.0.2.1":
            await asyncio.Event().wait()
        return await self._loop.create_connection(factory, address, port, **settings)


@pytest.mark.slow
@pytest.mark.parametrize("unreachable", ["192.0.2.1", "127.0.0.99"], ids=["drops", "refuses"])
async def test_an_address_of_a_name_that_cannot_be_reached_does_not_hide_the_others(
    unreachable: str,
) -> None:
    with FakeNode() as node:
        async with connected(node) as (cluster, _):
            core = cluster._core
            assert core is not None
            vars(core.settings)["connect_timeout"] = 1.0
            core.connector._loop = Resolver(core.loop, [unreachable, node.address])  # type: ignore[assignment]
            connection = await core.open_connection(DefaultEndPoint("db.example", node.port))
            connection.close()


async def test_when_no_address_of_a_name_answers_the_error_names_it() -> None:
    with FakeNode() as node:
        async with connected(node) as (cluster, _):
            core = cluster._core
            assert core is not None
            vars(core.settings)["connect_timeout"] = 0.1
            core.connector._loop = Resolver(core.loop, ["192.0.2.1", "192.0.2.1", "127.0.0.99"])  # type: ignore[assignment]
            failure = await fails(core.open_connection(DefaultEndPoint("db.example", node.port)))
            assert isinstance(failure, ConnectionException)
            assert f"db.example:{node.port}" in str(failure)


# -- translators -----------------------------------------------------------------------------------


class Translates(AddressTranslator):
    def __init__(self, answer: Any = None) -> None:
        self.answer = answer
        self.loops: list[Any] = []

    def translate(self, addr: str) -> Any:
        try:
            self.loops.append(asyncio.get_running_loop())
        except RuntimeError:
            self.loops.append(None)
        return self.answer if self.answer is not None else addr


async def test_a_translator_may_block_it_does_not_run_on_the_loop() -> None:
    translator = Translates()
    with FakeCluster(3) as nodes:
        async with connected(nodes, address_translator=translator) as (cluster, _):
            assert len(cluster.metadata.all_hosts()) == 3
    assert translator.loops
    assert set(translator.loops) == {None}


async def test_a_translator_that_gives_no_address_is_named() -> None:
    with FakeCluster(2) as nodes:
        cluster = aio.Cluster(
            [nodes[0].address], port=nodes.port, address_translator=Translates("")
        )
        failure = await fails(cluster.connect())
        await cluster.shutdown()
        assert isinstance(failure.__cause__, ValueError)
        assert "Translates.translate" in str(failure)
        assert repr(nodes[1].address) in str(failure)


# -- how fast a host is ----------------------------------------------------------------------------


class Refusals(RequestObserver):
    """Notes whom it is told of, and whether it is told a time."""

    def __init__(self, told: list[tuple[str, bool]]) -> None:
        self._told = told

    def on_refusal(self, host: Host, seconds: float) -> None:
        self._told.append((host.address, seconds > 0))


@pytest.mark.parametrize(
    ("answer", "counts"),
    [
        pytest.param(error(ErrorCode.OVERLOADED), False, id="overloaded"),
        pytest.param(error(ErrorCode.UNAVAILABLE), False, id="unavailable"),
        pytest.param(error(ErrorCode.IS_BOOTSTRAPPING), False, id="bootstrapping"),
        pytest.param(error(ErrorCode.SYNTAX_ERROR), False, id="syntax"),
        pytest.param(error(ErrorCode.READ_TIMEOUT), True, id="read time-out"),
        pytest.param(error(ErrorCode.WRITE_FAILURE), True, id="write failure"),
        pytest.param(number(1), True, id="rows"),
    ],
)
async def test_what_policies_hear_of_latencies(answer: Any, counts: bool) -> None:
    """An overloaded host that refuses at once would look like the fastest one."""
    with FakeNode() as node:
        node.prime(READ, answer)
        async with connected(node, {"retry_policy": FallthroughRetryPolicy()}) as (
            cluster,
            session,
        ):
            core = cluster._core
            assert core is not None
            worked: list[Any] = []
            refused: list[Any] = []
            core.observe_latencies(lambda host, seconds: worked.append((host.address, seconds > 0)))
            core.observe_requests(Refusals(refused))
            await asyncio.wait({asyncio.ensure_future(session.execute(READ))})
            assert (worked, refused) == (
                [(node.address, True)][: int(counts)],
                [(node.address, True)][: int(not counts)],
            )


async def test_policies_place_a_node_anew_that_has_changed_its_rack_or_data_centre(
    nodes: FakeCluster,
) -> None:
    policy = DCAwareRoundRobinPolicy("east")
    async with connected(nodes, {"load_balancing_policy": policy}) as (cluster, session):
        events = HostEvents()
        cluster.register_listener(events)
        assert pooled(session) == {nodes.nodes[0].address}
        nodes.nodes[2].datacenter = "east"
        await cluster.refresh_nodes()
        host = cluster.metadata.get_host(nodes.nodes[2].address)
        assert host is not None
        assert (host.datacenter, policy.distance(host)) == ("east", HostDistance.LOCAL)
        assert host in set(policy.make_query_plan())
        await until_on_loop(lambda: len(pooled(session)) == 2)
        nodes.nodes[2].datacenter = "west"
        await cluster.refresh_nodes()
        assert host not in set(policy.make_query_plan())
        await until_on_loop(lambda: len(pooled(session)) == 1)
        # To the program nothing has come or gone: the host was there at connect.
        assert events.seen == []


async def test_a_node_that_moves_to_the_own_data_centre_while_it_is_down_is_tried(
    nodes: FakeCluster,
) -> None:
    async with connected(nodes, {"load_balancing_policy": DCAwareRoundRobinPolicy("east")}) as (
        cluster,
        session,
    ):
        events = HostEvents()
        cluster.register_listener(events)
        victim = next(
            node
            for node in nodes.nodes[1:]
            if node.address != cluster.get_control_connection_host().address
        )
        await thread(nodes.tell, "STATUS_CHANGE", "DOWN", victim)
        await events.expect("down", victim.address)
        victim.datacenter = "east"
        await cluster.refresh_nodes()
        await events.expect("up", victim.address)
        assert pooled(session) == {nodes[0].address, victim.address}
