"""A correct program that uses the blocking API, for test_type_checkers.py.

Type checkers must accept this file; nothing runs it.
"""

from __future__ import annotations

import datetime
import ssl
import uuid
from collections.abc import Generator, Iterator
from concurrent.futures import Future
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
from cassandra.concurrent import (
    ExecutionResult,
    execute_concurrent,
    execute_concurrent_async,
    execute_concurrent_with_args,
)
from cassandra.connection import UnixSocketEndPoint
from cassandra.metadata.host import Host
from cassandra.policies import (
    ConstantReconnectionPolicy,
    ConstantSpeculativeExecutionPolicy,
    DCAwareRoundRobinPolicy,
    HostDistance,
    RetryPolicy,
    TokenAwarePolicy,
)
from cassandra.query import BatchStatement, PreparedStatement, SimpleStatement, dict_factory
from cassandra.query.trace import QueryTrace

if TYPE_CHECKING:
    from typing_extensions import assert_type


@dataclass
class Order:
    """A data class for rows (`row_type`)."""

    id: int
    total: float


class Line(NamedTuple):
    """A named tuple for rows (`row_type`)."""

    order: int
    text: str


class Version:
    """An `application_info` class of the program."""

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
    later = session.execute_async(prepared, (1,), row_type=Order)
    assert_type(later, ResponseFuture[Order])
    assert_type(later.result(), ResultSet[Order])
    assert_type(session.execute_async(prepared, [1]).result(), ResultSet[Any])


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


def many(session: Session, prepared: PreparedStatement, as_they_are_read: bool) -> None:
    pairs = [(prepared, (1, 2.0)), ("SELECT 1", None)]
    outcomes = execute_concurrent(session, pairs)
    assert_type(outcomes, list[ExecutionResult])
    print(outcomes[0].result_or_exc, len(outcomes))
    print(execute_concurrent_with_args(session, prepared, [(1, 2.0)], concurrency=10)[0].success)
    assert_type(execute_concurrent(session, pairs, 50, False, False), list[ExecutionResult])
    generated = execute_concurrent(session, pairs, 50, False, True, "slow", Order)
    assert_type(generated, Generator[ExecutionResult, None, None])
    print(next(generated).success)
    generated.close()
    for success, result in execute_concurrent_with_args(
        session, "SELECT 1", ((n,) for n in range(3)), results_generator=True, row_type=Order
    ):
        assert_type(success, bool)
        print(result)
    either = execute_concurrent(session, pairs, results_generator=as_they_are_read)
    assert_type(either, list[ExecutionResult] | Generator[ExecutionResult, None, None])
    assert_type(list(either), list[ExecutionResult])
    later = execute_concurrent_async(session, pairs, execution_profile=ExecutionProfile())
    assert_type(later, Future[list[ExecutionResult]])


def many_of_the_session(session: Session, prepared: PreparedStatement) -> None:
    pairs = [(prepared, (1, 2.0)), ("SELECT 1", None)]
    assert_type(session.execute_concurrent(pairs, 10, False), list[ExecutionResult])
    generated = session.execute_concurrent(iter(pairs), results_generator=True)
    assert_type(generated, Generator[ExecutionResult, None, None])
    print(session.execute_concurrent_with_args(prepared, [(1, 2.0)], 10)[0].success)
    for outcome in session.execute_concurrent_with_args(prepared, [[1]], 10, True, True, "slow"):
        assert_type(outcome, ExecutionResult)
    later = session.execute_concurrent_async(pairs, raise_on_first_error=True, row_type=Order)
    assert_type(later.result(), list[ExecutionResult])


def traces(session: Session) -> None:
    future = session.execute_async("SELECT 1", trace=True)
    result = future.result()
    assert_type(result.get_query_trace(), QueryTrace | None)
    assert_type(result.get_all_query_traces(), list[QueryTrace])
    assert_type(future.get_query_trace(), QueryTrace | None)
    assert_type(future.get_all_query_traces(max_wait_per=2.0), list[QueryTrace])
    assert_type(future.get_query_trace_ids(), list[uuid.UUID])
    assert_type(future.attempted_hosts, list[Host])
    assert_type(future.coordinator_host, Host | None)


def main() -> None:
    with with_profiles() as cluster, cluster.connect("shop", wait_for_all_pools=True) as session:
        assert_type(session, Session)
        statements(session)
        session.default_timeout = None
        session.row_factory = dict_factory
