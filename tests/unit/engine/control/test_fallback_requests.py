"""Requests that no pool can send, and that are sent over the control connection instead.

The setting `allow_control_connection_query_fallback` permits this fallback.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from cassandra import InvalidRequest, aio
from cassandra.cluster import Cluster, ControlConnectionQueryFallback, NoHostAvailable
from cassandra.engine.control.query_fallback import fallback_of
from cassandra.errors import ConnectionException
from cassandra.policies import ConstantReconnectionPolicy, HostFilterPolicy, RoundRobinPolicy
from cassandra.testing.fake import FakeCluster, FakeNode, Scylla, error, rows, silence
from cassandra.testing.fake.refusals import ErrorCode
from tests.unit.engine.faults import call_in_thread, exception_of
from tests.waiting import until, until_on_loop

Mode = ControlConnectionQueryFallback


@pytest.fixture
def node() -> Iterator[FakeNode]:
    """Yield a node that responds to "SELECT 1" with the number 1."""
    with FakeNode() as running:
        running.prime("SELECT 1", rows([("v", "int")], [[1]]))
        yield running


class EmptyPlanPolicy(RoundRobinPolicy):
    """A policy whose query plans are empty, so that requests find no host with a pool."""

    def make_query_plan(self, working_keyspace: Any = None, query: Any = None) -> Any:
        return iter(())


def cluster_with_mode(node: FakeNode, mode: Any, **settings: Any) -> Cluster:
    """Return a cluster with this mode of the fallback.

    Unless `settings` has another load-balancing policy, all query plans are empty.
    """
    settings.setdefault("load_balancing_policy", EmptyPlanPolicy())
    return Cluster(
        [node.address],
        port=node.port,
        allow_control_connection_query_fallback=mode,
        **settings,
    )


@pytest.mark.parametrize("mode", Mode)
def test_the_setting_is_a_mode_and_disabled_by_default(mode: Mode) -> None:
    assert fallback_of(mode) is mode
    assert Cluster().allow_control_connection_query_fallback is Mode.Disabled
    cluster = Cluster(allow_control_connection_query_fallback=None)
    assert cluster.allow_control_connection_query_fallback is Mode.Disabled


@pytest.mark.parametrize("setting", [True, False, "yes", "Fallback", 1])
def test_other_settings_are_refused(setting: Any) -> None:
    with pytest.raises(TypeError, match=f"SkipPoolCreation, but is {setting!r}"):
        Cluster(allow_control_connection_query_fallback=setting)


def test_without_the_fallback_no_host_is_available(node: FakeNode) -> None:
    with cluster_with_mode(node, Mode.Disabled) as cluster, pytest.raises(NoHostAvailable):
        cluster.connect().execute("SELECT 1")


def test_fallback_sends_requests_without_a_pool_on_the_control_connection(node: FakeNode) -> None:
    """With `Mode.Fallback`, a request with an empty query plan uses the control connection."""
    with cluster_with_mode(node, Mode.Fallback) as cluster:
        session = cluster.connect()
        result = session.execute("SELECT 1")
        assert result.one() == (1,)
        prepared = session.prepare("SELECT 1 FROM t WHERE k = ?")
        session.execute(prepared, (1,))
        # Only the control connection is registered for events.
        assert all(request.connection.event_types for request in node.queries())


def test_fallback_uses_pools_if_there_are_any(node: FakeNode) -> None:
    """With `Mode.Fallback`, a request is sent over a connection of a pool if there is a pool."""
    with cluster_with_mode(
        node, Mode.Fallback, load_balancing_policy=RoundRobinPolicy()
    ) as cluster:
        cluster.connect().execute("SELECT 1")
        # This connection is not registered for events, so it belongs to a pool.
        assert not node.queries("SELECT 1")[0].connection.event_types


def test_with_skip_pool_creation_there_is_only_the_control_connection(node: FakeNode) -> None:
    """With `Mode.SkipPoolCreation`, a session opens no pools.

    The session sends all requests over the control connection, and sets its keyspace on it.
    """
    policy = RoundRobinPolicy()
    with cluster_with_mode(node, Mode.SkipPoolCreation, load_balancing_policy=policy) as cluster:
        session = cluster.connect("ks")
        for _ in range(3):
            assert session.execute("SELECT 1").one() == (1,)
        assert node.opened == 1
        # The keyspace of the session was set once.
        assert len(node.queries('USE "ks"')) == 1


def test_connect_succeeds_without_a_pool(node: FakeNode) -> None:
    """A session that cannot open a pool sends its requests over the control connection.

    Before the first request, the control connection is switched to the keyspace of the session.
    """
    with cluster_with_mode(
        node, Mode.Fallback, load_balancing_policy=RoundRobinPolicy()
    ) as cluster:
        cluster.connect().shutdown()
        # From now on, the node accepts no connections, so the control connection stays the only
        # connection.
        node.refuse_connections()
        session = cluster.connect("ks")
        assert not session._engine.pools
        assert session.execute("SELECT 1").one() == (1,)
        assert node.queries("SELECT 1")[-1].connection.keyspace == "ks"


def ignore_all_hosts() -> HostFilterPolicy:
    """Return a policy for which no host is used, so that a session wants no pool."""
    return HostFilterPolicy(RoundRobinPolicy(), lambda host: False)


@pytest.mark.parametrize("loops", [1, 2])
def test_connect_succeeds_if_the_policy_ignores_all_hosts(node: FakeNode, loops: int) -> None:
    """A session that wants no pool sends its requests over the control connection."""
    policy = ignore_all_hosts()
    with cluster_with_mode(
        node, Mode.Fallback, load_balancing_policy=policy, loops=loops
    ) as cluster:
        session = cluster.connect("ks", wait_for_all_pools=True)
        assert session.execute("SELECT 1").one() == (1,)
        statement = session.prepare("SELECT 1 FROM t WHERE k = ?")
        session.execute(statement, (1,))
        assert node.opened == 1
        assert node.queries("SELECT 1")[-1].connection.keyspace == "ks"


def test_each_connect_succeeds_if_all_hosts_are_down() -> None:
    """Sessions use the control connection as well if the hosts are known to be down already.

    The node with the control connection has no tokens, so that it is no host. When another host is
    up again, the sessions use it.
    """
    with FakeCluster(2, scylla=Scylla(1)) as nodes:
        voter, other = nodes.nodes
        voter.tokens = ()
        nodes.prime("SELECT 1", rows([("v", "int")], [[1]]))
        nodes.stop_node(other)
        with cluster_with_mode(
            voter,
            Mode.Fallback,
            load_balancing_policy=RoundRobinPolicy(),
            reconnection_policy=ConstantReconnectionPolicy(0.05, max_attempts=None),
        ) as cluster:
            sessions = [cluster.connect("ks") for _ in range(3)]
            assert [host.is_up for host in cluster.metadata.all_hosts()] == [False]
            for session in sessions:
                assert session.execute("SELECT 1").one() == (1,)
            nodes.start_node(other)
            until(lambda: all(session._engine.pools for session in sessions))
            for session in sessions:
                assert session.execute("SELECT 1").one() == (1,)
        queries = [request.connection.keyspace for request in other.queries("SELECT 1")]
        assert queries == ["ks"] * 3


async def test_asyncio_sessions_succeed_if_the_policy_ignores_all_hosts(node: FakeNode) -> None:
    cluster = aio.Cluster(
        [node.address],
        port=node.port,
        load_balancing_policy=ignore_all_hosts(),
        allow_control_connection_query_fallback=Mode.Fallback,
    )
    async with cluster:
        session = await cluster.connect("ks")
        assert (await session.execute("SELECT 1")).one() == (1,)
        assert node.opened == 1


async def test_asyncio_sessions_use_the_fallback(node: FakeNode) -> None:
    """With `Mode.SkipPoolCreation`, an asyncio session uses only the control connection."""
    cluster = aio.Cluster(
        [node.address],
        port=node.port,
        allow_control_connection_query_fallback=Mode.SkipPoolCreation,
    )
    async with cluster:
        session = await cluster.connect("ks")
        assert (await session.execute("SELECT 1")).one() == (1,)
        assert node.opened == 1


def test_sessions_on_the_control_connection_must_share_a_keyspace(node: FakeNode) -> None:
    """Sessions that share the control connection must have the same keyspace.

    The control connection can be in one keyspace only, so requests of sessions with another
    keyspace are refused. When all sessions of the first keyspace are closed, the connection may
    switch to another keyspace, but no longer to no keyspace.
    """
    with cluster_with_mode(node, Mode.SkipPoolCreation) as cluster:
        session = cluster.connect("ks")
        session_in_same_keyspace = cluster.connect("ks")
        session_elsewhere = cluster.connect("else")
        session.execute("SELECT 1")
        session_in_same_keyspace.execute("SELECT 1")
        with pytest.raises(InvalidRequest, match=r"'ks'.*'else'"):
            session_elsewhere.execute("SELECT 1")
        session.shutdown()
        session_in_same_keyspace.shutdown()
        session_elsewhere.execute("SELECT 1")
        assert node.queries("SELECT 1")[-1].connection.keyspace == "else"
        session_elsewhere.shutdown()
        # The connection is in a keyspace now, so a session without a keyspace cannot use it.
        with pytest.raises(InvalidRequest, match="no way back"):
            cluster.connect().execute("SELECT 1")


def test_use_is_refused_on_the_control_connection(node: FakeNode) -> None:
    """USE is refused on the control connection.

    It would change the keyspace of all sessions that share the connection.
    """
    with cluster_with_mode(node, Mode.SkipPoolCreation) as cluster:
        session = cluster.connect()
        with pytest.raises(InvalidRequest, match="USE"):
            session.execute("USE ks")
        with pytest.raises(InvalidRequest, match="USE"):
            session.set_keyspace("ks")


def test_a_request_for_a_given_host_does_not_use_the_fallback(node: FakeNode) -> None:
    """With `Mode.SkipPoolCreation`, a request with `host` fails.

    Such a request needs a pool to the host. A control connection to the same host does not suffice.
    """
    with cluster_with_mode(node, Mode.SkipPoolCreation) as cluster:
        session = cluster.connect()
        (host,) = cluster.metadata.all_hosts()
        with pytest.raises(NoHostAvailable):
            session.execute("SELECT 1", host=host)


def test_on_the_fallback_an_error_is_not_retried(node: FakeNode) -> None:
    """An OVERLOADED error on the control connection is raised without a retry.

    There is no other connection on which a retry could succeed.
    """
    node.prime("SELECT 2", error(ErrorCode.OVERLOADED))
    with cluster_with_mode(node, Mode.SkipPoolCreation) as cluster:
        session = cluster.connect()
        with pytest.raises(Exception, match=r"[Oo]verloaded"):
            session.execute("SELECT 2")
        assert len(node.queries("SELECT 2")) == 1


LARGE_READ = f"SELECT '{'x' * 100_000}'"


@pytest.mark.simulated
async def test_requests_wait_for_a_free_stream_of_the_control_connection(node: FakeNode) -> None:
    """While the control connection cannot take more requests, requests wait, and all succeed.

    The 40 requests of 100 kB each exceed the 1 MiB of unwritten bytes (WRITE_HIGH_WATER) up to
    which the connection takes requests.
    """
    node.prime(LARGE_READ, rows([("v", "int")], [[1]]))
    cluster = aio.Cluster(
        [node.address],
        port=node.port,
        allow_control_connection_query_fallback=Mode.SkipPoolCreation,
    )
    async with cluster:
        session = await cluster.connect()
        results = await asyncio.gather(*(session.execute(LARGE_READ) for _ in range(40)))
        assert [result.one().v for result in results] == [1] * 40


@pytest.mark.simulated
async def test_requests_that_waited_for_the_keyspace_wait_for_a_free_stream() -> None:
    """Requests that waited for the keyspace of the control connection then wait for a free stream.

    The first requests of a session all wait until the control connection is in the session's
    keyspace. Here, there are 40 such requests, but only eight streams. All requests must succeed.
    """
    with FakeNode(max_version=4) as node:
        node.keyspaces = {"ks"}
        node.prime("SELECT 1", rows([("v", "int")], [[1]]))
        cluster: Any = aio.Cluster(
            [node.address],
            port=node.port,
            allow_control_connection_query_fallback=Mode.SkipPoolCreation,
        )
        async with cluster:
            session = await cluster.connect("ks")
            cluster._core.control.connection.set_stream_limit(8)
            results = await asyncio.gather(*(session.execute("SELECT 1") for _ in range(40)))
            assert [result.one().v for result in results] == [1] * 40


@pytest.mark.simulated
@pytest.mark.parametrize("is_shut_down", [False, True])
async def test_requests_that_wait_for_the_control_connection_end_with_it(
    node: FakeNode, is_shut_down: bool
) -> None:
    """Waiting requests fail when the control connection or the cluster is closed.

    The requests have no timeout, so without the failure they would wait for ever.
    """
    node.prime(LARGE_READ, silence())
    cluster = aio.Cluster(
        [node.address],
        port=node.port,
        allow_control_connection_query_fallback=Mode.SkipPoolCreation,
    )
    async with cluster:
        session = await cluster.connect()
        # The connection does not take all of these large requests at once, so some requests wait.
        requests = [session.execute(LARGE_READ, timeout=None) for _ in range(40)]
        await until_on_loop(lambda: len(node.queries(LARGE_READ)) > 0)
        if is_shut_down:
            await cluster.shutdown()
        else:
            await call_in_thread(node.drop_connections)
        for request in requests:
            failure = await exception_of(request)
            assert isinstance(failure, (ConnectionException, NoHostAvailable))


def test_the_driver_can_always_ask_on_the_control_connection(node: FakeNode) -> None:
    """The application's requests never take all streams of the control connection.

    Some streams are left for the driver's own requests, for example for `refresh_nodes`.
    """
    node.prime("SELECT 2", silence())
    with cluster_with_mode(node, Mode.SkipPoolCreation) as cluster:
        session = cluster.connect()
        connection = session._engine.core.control.connection
        assert connection is not None
        connection.set_stream_limit(8)
        for _ in range(20):
            session.execute_async("SELECT 2")
        cluster.refresh_nodes()
        # Half of the eight streams are reserved for the driver, so only four requests were sent.
        assert len(node.queries("SELECT 2")) == 4


@pytest.mark.simulated
@pytest.mark.parametrize("node_count", [1, 2])
async def test_no_request_is_sent_to_a_host_that_will_stop_soon(node_count: int) -> None:
    """After a GRACEFUL_DISCONNECT event of its host, the control connection sends no more requests.

    New requests wait for the next control connection. They fail if no other host exists.
    """
    with FakeCluster(node_count, graceful_disconnect=True) as nodes:
        nodes.prime("SELECT 1", rows([("v", "int")], [[1]]))
        cluster = aio.Cluster(
            [nodes[0].address],
            port=nodes.port,
            allow_control_connection_query_fallback=Mode.SkipPoolCreation,
        )
        async with cluster:
            session = await cluster.connect()
            # The node refuses new connections, so that the control connection cannot move back to
            # it.
            nodes[0].refuse_connections()
            nodes[0].send_event("GRACEFUL_DISCONNECT")
            core: Any = cluster._core
            connection = core.control.connection
            await until_on_loop(lambda: connection.is_draining)
            request = session.execute("SELECT 1", timeout=None)
            if node_count == 1:
                assert isinstance(await exception_of(request), NoHostAvailable)
            else:
                assert (await request).one().v == 1
            assert not nodes[0].queries("SELECT 1")
