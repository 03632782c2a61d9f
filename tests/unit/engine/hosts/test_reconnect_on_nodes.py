"""Fake nodes stop and start again, and the driver must notice and reconnect.

The tests also cover requests while hosts are down, and conviction policies, which decide whether a
failure means that a host is down.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from cassandra import aio
from cassandra.auth import PlainTextAuthProvider
from cassandra.errors import (
    AuthenticationFailed,
    ConnectionException,
    DriverException,
    LoginNotChecked,
    NoHostAvailable,
)
from cassandra.policies import ConstantReconnectionPolicy, ConvictionPolicy, DCAwareRoundRobinPolicy
from cassandra.testing.fake import ErrorCode, FakeCluster, FakeNode, Opcode, error, hold, message
from tests.unit.engine.faults import (
    IDEMPOTENT_READ,
    READ,
    WAIT,
    HostEvents,
    NeverReconnect,
    call_in_thread,
    connected,
    exception_of,
    int_row,
    pooled_addresses,
)
from tests.unit.security.certificates import Authority
from tests.waiting import until_on_loop

pytestmark = pytest.mark.simulated


@pytest.mark.parametrize("sends_events", [True, False], ids=["with events", "without"])
async def test_a_host_goes_down_and_comes_back(nodes: FakeCluster, sends_events: bool) -> None:
    """Each node in turn is stopped and started, and the listener is notified of both.

    While a node is stopped, requests go to the other nodes.

    :param sends_events: whether the other nodes send STATUS_CHANGE events about the stopped node.
    """
    async with connected(nodes) as (cluster, session):
        events = HostEvents()
        cluster.register_listener(events)
        for node in nodes.nodes:
            await call_in_thread(nodes.stop_node, node, sends_events)
            await events.expect("down", node.address)
            # The response is the index of the node that sent it, so it must not be the index of the
            # stopped node.
            assert (await session.execute(IDEMPOTENT_READ)).one().k != nodes.nodes.index(node)
            await call_in_thread(nodes.start_node, node, sends_events)
            await events.expect("up", node.address)
        # All nodes are up again, so the request goes to the first node.
        assert (await session.execute(IDEMPOTENT_READ)).one().k == 0


async def test_all_hosts_go_down_and_come_back(nodes: FakeCluster) -> None:
    """While all nodes are down, requests fail with NoHostAvailable.

    When the nodes are started again, requests succeed again without any other call.
    """
    async with connected(nodes) as (cluster, session):
        events = HostEvents()
        cluster.register_listener(events)
        for node in nodes.nodes:
            await call_in_thread(node.stop)
            await events.expect("down", node.address)
        failure = await exception_of(session.execute(IDEMPOTENT_READ))
        assert isinstance(failure, NoHostAvailable)
        for node in nodes.nodes:
            await call_in_thread(node.start)
        events.seen.clear()
        await call_in_thread(nodes[0].wait_for, lambda node: node.connections)
        await asyncio.wait_for(until_answered(session), WAIT)


async def until_answered(session: aio.Session) -> None:
    """Repeat a request until it succeeds."""
    while True:
        try:
            await session.execute(IDEMPOTENT_READ)
            return
        except DriverException:
            await asyncio.sleep(0.01)


async def test_requests_succeed_while_a_host_is_flapping(nodes: FakeCluster) -> None:
    """While the first host goes down and up repeatedly, requests go to a host that is up."""
    async with connected(nodes) as (cluster, session):
        events = HostEvents()
        cluster.register_listener(events)
        for _ in range(5):
            await call_in_thread(nodes[0].refuse_connections)
            resets_connections = True
            await call_in_thread(nodes[0].drop_connections, reset=resets_connections)
            await events.expect("down", nodes[0].address)
            assert (await session.execute(IDEMPOTENT_READ)).one().k == 1
            await call_in_thread(nodes[0].accept_connections)
            await events.expect("up", nodes[0].address)
            assert (await session.execute(IDEMPOTENT_READ)).one().k == 0


async def test_a_host_that_does_not_answer_heartbeats_goes_down(nodes: FakeCluster) -> None:
    """A node that hangs without closing its connections is marked as down by heartbeats.

    When the node responds again, it is marked as up.
    """
    settings: dict[str, Any] = {
        "idle_heartbeat_interval": 0.05,
        "idle_heartbeat_timeout": 0.05,
        "connect_timeout": 0.2,
    }
    async with connected(nodes, **settings) as (cluster, session):
        events = HostEvents()
        cluster.register_listener(events)
        await call_in_thread(nodes[0].pause)
        await events.expect("down", nodes[0].address)
        assert (await session.execute(IDEMPOTENT_READ)).one().k == 1
        await call_in_thread(nodes[0].resume)
        await events.expect("up", nodes[0].address)
        assert (await session.execute(IDEMPOTENT_READ)).one().k == 0


async def test_a_host_that_is_down_at_connect_is_used_when_it_comes_up(nodes: FakeCluster) -> None:
    """If a host is down at `connect`, an "up" event later makes the session open a pool to it.

    Query plans list the first node first. When it is stopped, requests go to the host that came up.
    """
    await call_in_thread(nodes[1].stop)
    async with connected(nodes) as (cluster, session):
        events = HostEvents()
        cluster.register_listener(events)
        assert (await session.execute(IDEMPOTENT_READ)).one().k == 0
        await call_in_thread(nodes.start_node, nodes[1])
        await events.expect("up", nodes[1].address)
        await call_in_thread(nodes[0].stop)
        await events.expect("down", nodes[0].address)
        assert (await session.execute(IDEMPOTENT_READ)).one().k == 1


async def test_statements_are_prepared_on_a_host_that_comes_back(nodes: FakeCluster) -> None:
    """When a stopped node comes back, the driver prepares the session's statements on it again.

    The node forgets its prepared statements when it stops.
    """
    query = "INSERT INTO t (k) VALUES (?)"
    async with connected(nodes) as (cluster, session):
        events = HostEvents()
        cluster.register_listener(events)
        statement = await session.prepare(query)
        assert [node.prepared for node in nodes.nodes] == [[query]] * 3
        await call_in_thread(nodes.stop_node, nodes[1])
        await events.expect("down", nodes[1].address)
        await call_in_thread(nodes.start_node, nodes[1])
        await call_in_thread(nodes[1].wait_for, lambda node: node.prepared == [query])
        assert statement.query_string == query


@pytest.mark.simulated(False)
async def test_shutdown_while_the_pool_of_a_host_that_came_back_is_opened(
    nodes: FakeCluster,
) -> None:
    """Shutting down closes a connection that a pool is just opening to a host that came back."""
    async with connected(nodes) as (cluster, _):
        events = HostEvents()
        cluster.register_listener(events)
        await call_in_thread(nodes[1].stop)
        await events.expect("down", nodes[1].address)
        nodes[1].forget_requests()
        # The node delays this response to STARTUP until `release` is called.
        held_ready = hold(message(Opcode.READY, b""))
        # The first STARTUP comes from the connection that checks the host. The second STARTUP comes
        # from the host's new pool.
        nodes[1].prime(
            lambda request: (
                request.opcode == Opcode.STARTUP and nodes[1].count(Opcode.STARTUP) == 2
            ),
            held_ready,
            times=1,
        )
        await call_in_thread(nodes[1].start)
        await call_in_thread(held_ready.wait)
        await cluster.shutdown()
        held_ready.release()
        await call_in_thread(nodes[1].wait_for, lambda node: not node.connections)


@pytest.mark.parametrize("sends_events", [True, False], ids=["with events", "without"])
async def test_a_used_host_of_another_data_centre_comes_back(
    two_datacenters: FakeCluster, sends_events: bool
) -> None:
    """Hosts of other data centres that are used come back like local hosts.

    With `used_hosts_per_remote_dc`, such hosts have pools. The session must open these pools again.
    """
    policy = DCAwareRoundRobinPolicy("east", used_hosts_per_remote_dc=2)
    async with connected(two_datacenters, {"load_balancing_policy": policy}) as (cluster, session):
        events = HostEvents()
        cluster.register_listener(events)
        for node in two_datacenters.nodes[1:]:
            await call_in_thread(two_datacenters.stop_node, node, sends_events)
            await events.expect("down", node.address)
        for node in two_datacenters.nodes[1:]:
            await call_in_thread(two_datacenters.start_node, node, sends_events)
            await events.expect("up", node.address)
        await until_on_loop(lambda: len(pooled_addresses(session)) == 3)


# -- conviction ------------------------------------------------------------------------------------


class ConvictsThirdFailure(ConvictionPolicy):
    """A policy that decides that a host is down after three failures in a row."""

    def __init__(self, host: Any) -> None:
        super().__init__(host)
        self.failures = 0

    def add_failure(self, connection_exc: BaseException) -> bool:
        self.failures += 1
        return self.failures >= 3

    def reset(self) -> None:
        self.failures = 0


async def test_a_host_that_is_not_convicted_is_connected_to_again() -> None:
    """If a failure does not convict a host, the host stays up, and the session opens a new pool.

    After a success, the policy counts failures from zero again.
    """
    with FakeCluster(2) as nodes:
        nodes.prime(READ, int_row(1))
        async with connected(nodes, conviction_policy_factory=ConvictsThirdFailure) as (
            cluster,
            session,
        ):
            events = HostEvents()
            cluster.register_listener(events)
            victim = nodes[1]
            host = cluster.metadata.get_host(victim.address)
            core = cluster._core
            assert host is not None
            assert host.conviction_policy is not None
            assert core is not None
            # One failure of a pool does not convict the host, so the session opens a new pool.
            session._engine.remove_pool(host)
            core.hosts.on_connection_failure(host, OSError("broken"))
            await until_on_loop(lambda: victim.address in pooled_addresses(session))
            assert events.seen == []
            assert host.conviction_policy.failures == 0
            # From now on, each attempt fails, so the host is convicted and goes down.
            await call_in_thread(nodes.stop_node, victim, tell=False)
            await events.expect("down", victim.address)
            await call_in_thread(nodes.start_node, victim, tell=False)
            await events.expect("up", victim.address)
            assert host.conviction_policy.failures == 0


async def test_a_host_whose_new_pool_fails_is_tried_again() -> None:
    """If opening the new pool of a host fails, the driver tries again.

    For example, the host may not know the session's keyspace yet.
    """
    with FakeCluster(2) as nodes:
        nodes.prime(READ, int_row(1))
        async with connected(nodes) as (cluster, session):
            # The session's new pools send USE for this keyspace.
            await session.set_keyspace("ks")
            events = HostEvents()
            cluster.register_listener(events)
            victim = nodes[1]
            await call_in_thread(nodes.stop_node, victim, tell=False)
            await events.expect("down", victim.address)
            missing_keyspace = error(ErrorCode.INVALID, "Keyspace 'ks' does not exist")
            # The first USE of the new pool fails, the second succeeds.
            victim.prime('USE "ks"', missing_keyspace, times=1)
            await call_in_thread(nodes.start_node, victim, tell=False)
            await events.expect("up", victim.address)
            assert victim.address in pooled_addresses(session)


async def test_a_session_that_alone_loses_a_pool_opens_it_again() -> None:
    """If only one of two sessions loses its pool to a host, the host stays up.

    The session opens a new pool.
    """
    with FakeCluster(2) as nodes:
        nodes.prime(READ, int_row(1))
        async with connected(nodes) as (cluster, session):
            await session.set_keyspace("ks")
            other_session = await cluster.connect(wait_for_all_pools=True)
            events = HostEvents()
            cluster.register_listener(events)
            victim = nodes[1]
            core = cluster._core
            assert core is not None
            # After connecting, sessions adapt their pools to the hosts' distances. Wait until this
            # has ended.
            await until_on_loop(lambda: core.sessions._following is None)
            missing_keyspace = error(ErrorCode.INVALID, "Keyspace 'ks' does not exist")
            # The first USE of the session's new pool fails. The other session has no keyspace, so
            # its pools send no USE.
            victim.prime('USE "ks"', missing_keyspace, times=1)
            (pool,) = (
                pool
                for pool in session._engine.pools.values()
                if pool.host.address == victim.address
            )
            pool.connections[0].close(ConnectionException("broken"))
            await until_on_loop(lambda: pool.closed)
            await until_on_loop(lambda: victim.address in pooled_addresses(session))
            assert victim.address in pooled_addresses(other_session)
            assert events.seen == []


async def test_a_host_without_further_attempts_is_forced_down(two_datacenters: FakeCluster) -> None:
    """When the reconnection policy gives up, a host goes down even if it was never convicted.

    A later "up" event from another node brings the host back.
    """

    class NeverConvicts(ConvictsThirdFailure):
        def add_failure(self, connection_exc: BaseException) -> bool:
            return False

    async with connected(
        two_datacenters,
        conviction_policy_factory=NeverConvicts,
        reconnection_policy=NeverReconnect(),
    ) as (
        cluster,
        _,
    ):
        events = HostEvents()
        cluster.register_listener(events)
        # Stop a node that does not have the control connection, so that the control connection
        # stays open.
        control_host = cluster.get_control_connection_host()
        victim = next(
            node for node in two_datacenters.nodes if node.address != control_host.address
        )
        host = cluster.metadata.get_host(victim.address)
        await call_in_thread(two_datacenters.stop_node, victim, tell=False)
        await events.expect("down", victim.address)
        assert host is not None
        assert host.state == "forced down"
        await call_in_thread(two_datacenters.start_node, victim)
        await events.expect("up", victim.address)


# -- other credentials -----------------------------------------------------------------------------


async def change_password(cluster: aio.Cluster, node: FakeNode) -> None:
    """Let a node require a new password, and wait until the node has refused the old password."""
    await call_in_thread(node.require_password, "user", "new")
    await call_in_thread(node.drop_connections)
    host = cluster.metadata.get_host(node.address)
    assert host is not None
    await until_on_loop(lambda: host.state == "forced down")


async def test_a_new_auth_provider_is_tried_on_hosts_that_refused_the_old_one() -> None:
    """When `auth_provider` is set, the driver tries nodes that refused the old password again."""
    with FakeCluster(2) as nodes:
        for node in nodes.nodes:
            node.require_password("user", "old")
        old_provider = PlainTextAuthProvider("user", "old")
        new_provider = PlainTextAuthProvider("user", "new")
        async with connected(nodes, auth_provider=old_provider) as (cluster, session):
            await change_password(cluster, nodes[1])
            (down,) = (host for host in cluster.metadata.all_hosts() if host.is_up is False)
            reason = session._engine.why_no_pool(down)
            assert isinstance(reason, AuthenticationFailed)
            cluster.auth_provider = new_provider
            await until_on_loop(lambda: nodes[1].address in pooled_addresses(session))


async def test_a_new_auth_provider_ends_an_outage() -> None:
    """If every node refuses the old password, a new auth provider causes attempts at once.

    The driver waits neither for an event nor for the next attempt, which is due in an hour.
    """
    with FakeCluster(2) as nodes:
        for node in nodes.nodes:
            node.require_password("user", "old")
        hourly = ConstantReconnectionPolicy(delay=3600, max_attempts=None)
        old_provider = PlainTextAuthProvider("user", "old")
        new_provider = PlainTextAuthProvider("user", "new")
        async with connected(nodes, auth_provider=old_provider) as (cluster, session):
            # Let every node require a new password, and wait until the driver has lost all
            # connections.
            await asyncio.gather(*(change_password(cluster, node) for node in nodes.nodes))
            await until_on_loop(lambda: cluster.get_control_connection_host() is None)
            failure = await exception_of(session.execute(IDEMPOTENT_READ))
            assert isinstance(failure, NoHostAvailable)
            assert "every host is down since 20" in str(failure)
            assert {type(error) for error in failure.errors.values()} == {AuthenticationFailed}
            # The new provider must cause an attempt at once, before the policy's delay of an hour
            # is over.
            cluster.reconnection_policy = hourly
            started = asyncio.get_running_loop().time()
            cluster.auth_provider = new_provider
            await until_on_loop(lambda: len(pooled_addresses(session)) == 2)
            await until_on_loop(lambda: cluster.get_control_connection_host() is not None)
            assert asyncio.get_running_loop().time() - started < 3600


async def test_a_node_that_could_not_check_the_login_is_not_given_up() -> None:
    """If a node could not check the login, the driver tries the node again without an event.

    A node that starts before the replicas of its table of passwords answers "bad credentials". The
    attempts follow `reconnection_policy`.
    """
    unchecked = error(
        ErrorCode.BAD_CREDENTIALS,
        "Unable to perform authentication: Cannot achieve consistency level LOCAL_QUORUM",
    )
    with FakeCluster(2) as nodes:
        for node in nodes.nodes:
            node.require_password("user", "password")
        provider = PlainTextAuthProvider("user", "password")
        often = ConstantReconnectionPolicy(0.01, max_attempts=None)
        async with connected(nodes, auth_provider=provider, reconnection_policy=often) as (
            cluster,
            session,
        ):
            host = cluster.metadata.get_host(nodes[1].address)
            assert host is not None
            # The second node refuses the login, because it cannot read its table of passwords. Then
            # its connections break.
            await call_in_thread(nodes[1].prime, Opcode.AUTH_RESPONSE, unchecked)
            await call_in_thread(nodes[1].drop_connections)
            await until_on_loop(lambda: isinstance(host.last_failure, LoginNotChecked))
            assert host.state == "down"
            # The node can check the login again, so the driver must open a new pool.
            await call_in_thread(nodes[1].clear_primes)
            await until_on_loop(lambda: nodes[1].address in pooled_addresses(session))


async def test_connect_tries_the_next_node_if_one_could_not_check_the_login() -> None:
    """If a contact point cannot check the password, `connect` tries the next contact point.

    The first node returns SERVER_ERROR, which does not say that the password is wrong. Only the
    second node gets a pool.
    """
    with FakeCluster(2) as nodes:
        for node in nodes.nodes:
            node.require_password("user", "password")
        nodes[0].prime(Opcode.AUTH_RESPONSE, error(ErrorCode.SERVER_ERROR, "no replica"))
        provider = PlainTextAuthProvider("user", "password")
        async with connected(nodes, auth_provider=provider) as (_cluster, session):
            assert pooled_addresses(session) == {nodes[1].address}


@pytest.mark.simulated(False)
async def test_a_new_ssl_context_is_tried_at_once(authority: Authority, tmp_path: Path) -> None:
    """When `ssl_context` is set, a host that was down because of the old context is tried at once.

    The next scheduled attempt would be due in an hour.
    """
    with FakeNode(ssl_context=authority.server("127.0.0.1")) as node:
        trusting_context = authority.client()
        distrusting_context = Authority(tmp_path, "other").client()
        hourly = ConstantReconnectionPolicy(delay=3600, max_attempts=None)
        async with connected(node, ssl_context=trusting_context, reconnection_policy=hourly) as (
            cluster,
            session,
        ):
            cluster.ssl_context = distrusting_context
            await call_in_thread(node.drop_connections)
            await until_on_loop(lambda: not session._engine.pools)
            await until_on_loop(lambda: cluster.get_control_connection_host() is None)
            cluster.ssl_context = trusting_context
            await until_on_loop(lambda: len(pooled_addresses(session)) == 1)
            await until_on_loop(lambda: cluster.get_control_connection_host() is not None)
