"""If no pool can send a request, it may be sent over the control connection."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from cassandra import InvalidRequest, aio
from cassandra.cluster import Cluster, ControlConnectionQueryFallback, NoHostAvailable
from cassandra.engine.control.query_fallback import fallback_of
from cassandra.policies import RoundRobinPolicy
from cassandra.testing.fake import FakeNode, error, rows
from cassandra.testing.fake.refusals import ErrorCode

Mode = ControlConnectionQueryFallback


@pytest.fixture
def node() -> Iterator[FakeNode]:
    with FakeNode() as running:
        running.prime("SELECT 1", rows([("v", "int")], [[1]]))
        yield running


class EmptyPlans(RoundRobinPolicy):
    """A policy whose query plans are empty, so that requests find no host, as if all pools were
    closed.
    """

    def make_query_plan(self, working_keyspace: Any = None, query: Any = None) -> Any:
        return iter(())


def cluster_with_mode(node: FakeNode, mode: Any, **settings: Any) -> Cluster:
    settings.setdefault("load_balancing_policy", EmptyPlans())
    return Cluster(
        [node.address],
        port=node.port,
        allow_control_connection_query_fallback=mode,
        **settings,
    )


@pytest.mark.parametrize("member", Mode)
def test_the_setting_is_a_mode_and_disabled_by_default(member: Mode) -> None:
    assert fallback_of(member) is member
    assert Cluster().allow_control_connection_query_fallback is Mode.Disabled
    cluster = Cluster(allow_control_connection_query_fallback=None)
    assert cluster.allow_control_connection_query_fallback is Mode.Disabled


@pytest.mark.parametrize("wrong", [True, False, "yes", "Fallback", 1])
def test_other_settings_are_refused(wrong: Any) -> None:
    with pytest.raises(TypeError, match=f"SkipPoolCreation, but is {wrong!r}"):
        Cluster(allow_control_connection_query_fallback=wrong)


def test_without_the_fallback_no_host_is_available(node: FakeNode) -> None:
    with cluster_with_mode(node, Mode.Disabled) as cluster, pytest.raises(NoHostAvailable):
        cluster.connect().execute("SELECT 1")


def test_fallback_serves_what_no_pool_can_take(node: FakeNode) -> None:
    with cluster_with_mode(node, Mode.Fallback) as cluster:
        session = cluster.connect()
        result = session.execute("SELECT 1")
        assert result.one() == (1,)
        prepared = session.prepare("SELECT 1 FROM t WHERE k = ?")
        session.execute(prepared, (1,))
        # Only the control connection is registered for events.
        assert all(request.connection.event_types for request in node.queries())


def test_fallback_prefers_pools(node: FakeNode) -> None:
    with cluster_with_mode(
        node, Mode.Fallback, load_balancing_policy=RoundRobinPolicy()
    ) as cluster:
        cluster.connect().execute("SELECT 1")
        # This connection is not registered for events, so it belongs to a pool.
        assert not node.queries("SELECT 1")[0].connection.event_types


def test_with_skip_pool_creation_one_connection_serves_all(node: FakeNode) -> None:
    policy = RoundRobinPolicy()
    with cluster_with_mode(node, Mode.SkipPoolCreation, load_balancing_policy=policy) as cluster:
        session = cluster.connect("ks")
        for _ in range(3):
            assert session.execute("SELECT 1").one() == (1,)
        # Only the control connection is open.
        assert node.opened == 1
        assert [request.query for request in node.queries()].count('USE "ks"') == 1


def test_connect_succeeds_without_a_pool(node: FakeNode) -> None:
    with cluster_with_mode(
        node, Mode.Fallback, load_balancing_policy=RoundRobinPolicy()
    ) as cluster:
        cluster.connect().shutdown()
        # The node keeps the control connection, but accepts no further connection, so there can be
        # no pool.
        node.refuse_connections()
        session = cluster.connect("ks")
        assert not session._engine.pools
        assert session.execute("SELECT 1").one() == (1,)
        assert node.queries("SELECT 1")[-1].connection.keyspace == "ks"


async def test_asyncio_sessions_use_the_fallback(node: FakeNode) -> None:
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
    with cluster_with_mode(node, Mode.SkipPoolCreation) as cluster:
        first, same, other = cluster.connect("ks"), cluster.connect("ks"), cluster.connect("else")
        first.execute("SELECT 1")
        same.execute("SELECT 1")
        with pytest.raises(InvalidRequest, match=r"'ks'.*'else'"):
            other.execute("SELECT 1")
        # There is no other session, so the control connection may switch to another keyspace.
        first.shutdown()
        same.shutdown()
        other.execute("SELECT 1")
        assert node.queries("SELECT 1")[-1].connection.keyspace == "else"
        other.shutdown()
        # The connection already has a keyspace, so a session without one cannot use it.
        with pytest.raises(InvalidRequest, match="no way back"):
            cluster.connect().execute("SELECT 1")


def test_use_is_refused(node: FakeNode) -> None:
    with cluster_with_mode(node, Mode.SkipPoolCreation) as cluster:
        session = cluster.connect()
        with pytest.raises(InvalidRequest, match="USE"):
            session.execute("USE ks")
        with pytest.raises(InvalidRequest, match="USE"):
            session.set_keyspace("ks")


def test_a_request_for_a_given_host_does_not_use_the_fallback(node: FakeNode) -> None:
    with cluster_with_mode(node, Mode.SkipPoolCreation) as cluster:
        session = cluster.connect()
        (host,) = cluster.metadata.all_hosts()
        with pytest.raises(NoHostAvailable):
            session.execute("SELECT 1", host=host)


def test_on_the_fallback_an_error_is_not_retried(node: FakeNode) -> None:
    node.prime("SELECT 2", error(ErrorCode.OVERLOADED))
    with cluster_with_mode(node, Mode.SkipPoolCreation) as cluster:
        session = cluster.connect()
        with pytest.raises(Exception, match=r"[Oo]verloaded"):
            session.execute("SELECT 2")
        assert len(node.queries("SELECT 2")) == 1
