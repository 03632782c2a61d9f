"""A program of the blocking face as users write them; type checkers read this file, nothing runs it."""

from __future__ import annotations

import datetime
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from cassandra import ConsistencyLevel
from cassandra.auth import PlainTextAuthProvider
from cassandra.cluster import (
    EXEC_PROFILE_DEFAULT,
    Cluster,
    ExecutionProfile,
    ResponseFuture,
    ResultSet,
    Session,
)
from cassandra.connection import UnixSocketEndPoint
from cassandra.policies import (
    ConstantReconnectionPolicy,
    ConstantSpeculativeExecutionPolicy,
    DCAwareRoundRobinPolicy,
    HostDistance,
    RetryPolicy,
    TokenAwarePolicy,
)
from cassandra.query import BatchStatement, PreparedStatement, SimpleStatement, dict_factory

if TYPE_CHECKING:
    from typing_extensions import assert_type


@dataclass
class Order:
    id: int
    total: float


class Line(NamedTuple):
    order: int
    text: str


class Version:
    """An `application_info` of the program's own."""

    def add_startup_options(self, options: dict[str, str]) -> None:
        options["APPLICATION_NAME"] = "shop"


def with_profiles() -> Cluster:
    profile = ExecutionProfile(
        load_balancing_policy=TokenAwarePolicy(DCAwareRoundRobinPolicy("dc1")),
        retry_policy=RetryPolicy(),
        consistency_level=ConsistencyLevel.LOCAL_QUORUM,
        request_timeout=None,
        row_factory=dict_factory,
        speculative_execution_policy=ConstantSpeculativeExecutionPolicy(0.1, 2),
    )
    named = {"slow": ExecutionProfile(request_timeout=60)}
    Cluster(execution_profiles=named)
    cluster = Cluster(
        ["10.0.0.1", ("10.0.0.2", 9043), UnixSocketEndPoint("/run/node")],
        9042,
        "lz4",
        auth_provider=PlainTextAuthProvider("ada", "secret"),
        ssl_context=ssl.create_default_context(),
        execution_profiles={EXEC_PROFILE_DEFAULT: profile, "slow": profile},
        connect_timeout=None,
        schema_metadata_keyspaces=["shop"],
        schema_read_timeout=30,
        metadata_request_timeout=datetime.timedelta(seconds=2),
        application_info=Version(),
        connections_per_host={HostDistance.LOCAL: 2},
    )
    cluster.add_execution_profile("other", profile)
    return cluster


def old_style() -> Cluster:
    return Cluster(
        ("10.0.0.1",),
        protocol_version=4,
        load_balancing_policy=DCAwareRoundRobinPolicy(),
        reconnection_policy=ConstantReconnectionPolicy(1.0),
        default_retry_policy=RetryPolicy(),
        sockopts=[(6, 1, 1)],
        shard_aware_options={"disable": True},
    )


def rows(session: Session, prepared: PreparedStatement) -> Iterator[Order]:
    orders = session.execute("SELECT id, total FROM orders WHERE id = %s", (1,), row_type=Order)
    assert_type(orders, ResultSet[Order])
    assert_type(orders.all(), list[Order])
    yield from orders
    for line in session.execute(prepared, {"order": 1}, timeout=None, row_type=Line):
        assert_type(line.text, str)
    assert_type(session.execute(prepared, [1]), ResultSet[Any])


def statements(session: Session) -> None:
    session.execute(SimpleStatement("SELECT 1", fetch_size=None), timeout=1.5, trace=True)
    prepared = session.prepare("INSERT INTO t (a) VALUES (?)")
    assert_type(prepared, PreparedStatement)
    batch = BatchStatement()
    batch.add(prepared, (1,))
    host = session.cluster.metadata.all_hosts()[0]
    session.execute(batch, execution_profile="slow", host=host)
    session.execute(prepared.bind((2,)), execution_profile=ExecutionProfile())
    future = session.execute_async("SELECT 1", custom_payload={"key": b"value"})
    assert_type(future, ResponseFuture)
    assert_type(future.result(), ResultSet[Any])


def main() -> None:
    with with_profiles() as cluster, cluster.connect("shop", wait_for_all_pools=True) as session:
        assert_type(session, Session)
        statements(session)
        session.default_timeout = None
        session.row_factory = dict_factory
