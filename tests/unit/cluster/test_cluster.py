"""The blocking cluster connects, shuts down, and refuses calls that need a connection."""

from __future__ import annotations

from typing import Any

import pytest

from cassandra.cluster import Cluster, ExecutionProfile
from cassandra.errors import (
    ConnectionException,
    InvalidRequest,
    NoHostAvailable,
    UserTypeDoesNotExist,
)
from cassandra.policies import RoundRobinPolicy
from cassandra.testing.fake import ErrorCode, FakeNode, error, set_keyspace
from tests.unit.cluster.conftest import READ


def test_sessions_share_one_engine(shop: FakeNode, blocking_cluster: Cluster) -> None:
    first, second = blocking_cluster.connect(), blocking_cluster.connect()
    assert first is not second
    # One control connection, and a pool for each session.
    assert sum(request.opcode == 1 for request in shop.requests) == 3
    assert [session.execute(READ).one() for session in (first, second)] == [(1, "a")] * 2


def test_connecting_again_after_a_failure_succeeds(
    shop: FakeNode, blocking_cluster: Cluster
) -> None:
    shop.stop()
    with pytest.raises(NoHostAvailable):
        blocking_cluster.connect()
    shop.start()
    assert blocking_cluster.connect().execute(READ).one() == (1, "a")


def test_a_keyspace_that_does_not_exist(shop: FakeNode, blocking_cluster: Cluster) -> None:
    shop.prime('USE "shop"', set_keyspace("shop"))
    shop.prime('USE "none"', error(ErrorCode.INVALID, "no such keyspace"))
    with pytest.raises(InvalidRequest, match="no such keyspace"):
        blocking_cluster.connect("none")
    assert blocking_cluster.connect("shop").keyspace == "shop"


def test_calls_that_need_a_connection(shop: FakeNode, blocking_cluster: Cluster) -> None:
    assert blocking_cluster.get_control_connection_host() is None
    for call in (blocking_cluster.refresh_nodes, blocking_cluster.refresh_schema_metadata):
        with pytest.raises(ConnectionException, match="not connected"):
            call()
    blocking_cluster.connect()
    host = blocking_cluster.get_control_connection_host()
    assert (host.address, host.datacenter) == (shop.address, "datacenter1")
    blocking_cluster.refresh_schema_metadata(max_schema_agreement_wait=0)
    assert list(blocking_cluster.metadata.keyspaces["ks"].tables) == ["t0"]
    shop.datacenter = "elsewhere"
    blocking_cluster.refresh_nodes()
    assert [host.datacenter for host in blocking_cluster.metadata.all_hosts()] == ["elsewhere"]


def test_profiles_can_be_added_before_and_after_connect(blocking_cluster: Cluster) -> None:
    blocking_cluster.add_execution_profile("early", ExecutionProfile(RoundRobinPolicy()))
    session = blocking_cluster.connect()
    blocking_cluster.add_execution_profile("late", ExecutionProfile(RoundRobinPolicy()))
    for name in ("early", "late"):
        assert session.execute(READ, execution_profile=name).one() == (1, "a")
    with pytest.raises(ValueError, match="late"):
        blocking_cluster.add_execution_profile("late", ExecutionProfile())


def test_registering_a_missing_user_type_is_an_error(
    blocking_cluster: Cluster, shop: FakeNode
) -> None:
    with Cluster([shop.address], port=shop.port) as mistaken:
        mistaken.register_user_type("ks", "missing", dict)
        with pytest.raises(UserTypeDoesNotExist, match=r"ks\.missing"):
            mistaken.connect()
    blocking_cluster.connect()
    with pytest.raises(UserTypeDoesNotExist, match=r"ks\.none"):
        blocking_cluster.register_user_type("ks", "none", dict)


def test_after_shutdown_calls_are_refused(blocking_cluster: Cluster) -> None:
    session = blocking_cluster.connect()
    assert blocking_cluster.is_shutdown is False
    blocking_cluster.shutdown()
    blocking_cluster.shutdown()
    seen: Any = (blocking_cluster.is_shutdown, session.is_shutdown)
    assert seen == (True, True)
    for call in (blocking_cluster.connect, blocking_cluster.refresh_nodes):
        with pytest.raises(ConnectionException, match="shut down"):
            call()
