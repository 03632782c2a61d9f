"""Tests of unknown options of a call, whose errors say where the value belongs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from cassandra import aio, policies
from cassandra._unknown_options import unknown_option
from cassandra.bulk.copy import copy
from cassandra.cluster import Cluster, Session
from cassandra.concurrent import execute_concurrent, execute_concurrent_with_args
from cassandra.cqlengine import management
from cassandra.cqlengine.query import BatchQuery
from cassandra.observability.logger import RequestLogger
from cassandra.observability.prometheus import ClusterCollector
from cassandra.query import BatchStatement, SimpleStatement
from cassandra.testing.fake import FakeNode

QUERY = "SELECT key FROM system.local"


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    """Yield a connected session."""
    with (
        FakeNode() as node,
        Cluster([node.address], port=node.port) as cluster,
        cluster.connect() as session,
    ):
        yield session


# These are unknown options, and the advice for each.
OPTIONS = {
    "fetch_size": r"write SimpleStatement\(text, fetch_size=\.\.\.\), or prepared\.fetch_size",
    "page_size": r"write SimpleStatement\(text, fetch_size=",
    "consistency_level": r"or ExecutionProfile\(consistency_level=\.\.\.\) for many",
    "consistency": r"write SimpleStatement\(text, consistency_level=",
    "retry_policy": r"or ExecutionProfile\(retry_policy=",
    "is_idempotent": r"write SimpleStatement\(text, is_idempotent=",
    "keyspace": r"or session\.prepare\(text, keyspace=",
    "row_factory": r"write row_type=SomeClass, session\.row_factory = dict_factory",
    "params": "write parameters=",
    "profile": "write execution_profile=",
    "request_timeout": "write timeout=",
    "timout": "did you mean timeout",
    "fetchsize": r"did you mean fetch_size: write SimpleStatement\(text, fetch_size=",
    "ttl": "write USING TTL",
    "limit": "write LIMIT",
    "callback": "execute_async returns a future with add_callbacks",
    "k": r"values of markers are passed together: execute\w*\(query, {'k': \.\.\.}\)",
}


@pytest.mark.parametrize("name", OPTIONS)
def test_unknown_options_of_execute(session: Session, name: str) -> None:
    """The error for an unknown option of `execute` must say where the value belongs."""
    text = rf"(?i)Session\.execute\w*\(\) has no option '{name}'.*{OPTIONS[name]}"
    options: Any = {name: 1}
    with pytest.raises(TypeError, match=text):
        session.execute(QUERY, **options)
    with pytest.raises(TypeError, match=text):
        session.execute_async(QUERY, **options)


@pytest.mark.parametrize("name", OPTIONS)
async def test_execute_on_asyncio(name: str) -> None:
    """The asyncio API must give the same advice; `execute` does so before it is awaited."""
    options: Any = {name: 1}
    async with FakeNode() as node, aio.Cluster([node.address], port=node.port) as cluster:
        session = await cluster.connect()
        with pytest.raises(TypeError, match=f"(?i){OPTIONS[name]}"):
            session.execute(QUERY, **options)
        with pytest.raises(TypeError, match="it has custom_payload and keyspace"):
            await session.prepare(QUERY, colour=3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("timeout", "request_timeout of the default profile"),
        ("consistency_level", r"prepared\.consistency_level = "),
        ("trace", r"execute\(prepared, values, trace="),
        ("colour", "it has custom_payload and keyspace"),
    ],
)
def test_unknown_options_of_prepare(session: Session, name: str, message: str) -> None:
    """The error for an unknown option of `prepare` must say where the value belongs."""
    options: Any = {name: 1}
    with pytest.raises(TypeError, match=rf"Session\.prepare\(\) has no option '{name}'.*{message}"):
        session.prepare(QUERY, **options)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("workers", "write concurrency="),
        ("fetch_size", "setting of the statement"),
        ("timeout", r"ExecutionProfile\(request_timeout=seconds\)"),
        ("colour", "it has concurrency, "),
    ],
)
def test_unknown_options_of_concurrent_execution(session: Session, name: str, message: str) -> None:
    """The error for an unknown option of concurrent execution must say where the value belongs."""
    options: Any = {name: 1}
    with pytest.raises(
        TypeError, match=rf"execute_concurrent\(\) has no option '{name}'.*{message}"
    ):
        execute_concurrent(session, [(QUERY, None)], **options)
    with pytest.raises(TypeError, match=rf"_with_args\(\) has no option '{name}'.*{message}"):
        execute_concurrent_with_args(session, QUERY, [()], **options)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("timeout", r".*write session\.execute\(statement, timeout="),
        ("parameters", r".*write session\.execute\(statement, parameters="),
        ("consistencylevel", ".*did you mean consistency_level"),
        ("ttl", ".*USING TTL"),
        ("colour", "$"),
    ],
)
def test_statements(name: str, message: str) -> None:
    """The error for an unknown option of a statement must suggest another place or name."""
    options: Any = {name: 1}
    with pytest.raises(TypeError, match=rf"SimpleStatement\(\) has no option '{name}'{message}"):
        SimpleStatement(QUERY, **options)
    with pytest.raises(TypeError, match=rf"BatchStatement\(\) has no option '{name}'{message}"):
        BatchStatement(**options)


def test_unknown_options_of_bind() -> None:
    """The error for an option of `bind` must say how to pass values, or where a setting belongs."""
    assert "bound.fetch_size = " in str(unknown_option("PreparedStatement.bind", ["fetch_size"]))
    assert "bind({'name': value})" in str(unknown_option("PreparedStatement.bind", ["k"]))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: untyped.TokenAwarePolicy(),
            "TokenAwarePolicy() needs child_policy: write "
            "TokenAwarePolicy(DCAwareRoundRobinPolicy('dc1'))",
        ),
        (
            lambda: untyped.WhiteListRoundRobinPolicy(),
            "WhiteListRoundRobinPolicy() needs hosts: write "
            "WhiteListRoundRobinPolicy(['10.0.0.1'])",
        ),
        (
            lambda: untyped.ExponentialReconnectionPolicy(1),
            "ExponentialReconnectionPolicy() needs max_delay: write "
            "ExponentialReconnectionPolicy(base_delay=1.0, max_delay=60.0)",
        ),
        (
            lambda: untyped.ConstantReconnectionPolicy(),
            "ConstantReconnectionPolicy() needs delay: write ConstantReconnectionPolicy(delay=1.0)",
        ),
        (
            lambda: untyped.ExponentialBackoffRetryPolicy(),
            "ExponentialBackoffRetryPolicy() needs max_num_retries: write "
            "ExponentialBackoffRetryPolicy(max_num_retries=3)",
        ),
        (
            lambda: untyped.ConstantSpeculativeExecutionPolicy(),
            "ConstantSpeculativeExecutionPolicy() needs delay and max_attempts: write "
            "ConstantSpeculativeExecutionPolicy(delay=0.1, max_attempts=2)",
        ),
        (
            lambda: untyped.create_keyspace_simple("ks"),
            "create_keyspace_simple() needs replication_factor: write "
            "create_keyspace_simple('name', replication_factor=3)",
        ),
        (
            lambda: untyped.create_keyspace_network_topology("ks"),
            "create_keyspace_network_topology() needs dc_replication_map: write "
            "create_keyspace_network_topology('name', {'dc1': 3})",
        ),
        (
            lambda: untyped.copy("ks.t", "ks.u"),
            "copy() needs other and other_table: write "
            "copy(session, 'table', other_session, 'other_table')",
        ),
        (
            lambda: untyped.Cluster().register_user_type("type", object),
            "register_user_type() needs klass: write "
            "cluster.register_user_type('keyspace', 'type', SomeClass)",
        ),
    ],
)
def test_calls_that_lack_arguments(call: Callable[[], object], message: str) -> None:
    """The error for a call without needed arguments must have an example."""
    with pytest.raises(TypeError) as refused:
        call()
    assert str(refused.value) == message


# Type checkers refuse calls without needed arguments.
untyped: Any = SimpleNamespace(
    **vars(policies),
    Cluster=Cluster,
    copy=copy,
    create_keyspace_network_topology=management.create_keyspace_network_topology,
    create_keyspace_simple=management.create_keyspace_simple,
)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("unlogged", r"BatchQuery\(batch_type=BatchType\.Unlogged\)"),
        ("consistency_level", "write consistency="),
        ("ttl", r"Model\.ttl\(seconds\)"),
        ("keyspace", r"using\(keyspace="),
        ("colour", "it has batch_type, timestamp, consistency"),
    ],
)
def test_unknown_options_of_the_mapper_s_batches(name: str, message: str) -> None:
    options: Any = {name: 1}
    with pytest.raises(TypeError, match=rf"^BatchQuery\(\) has no option '{name}'.*{message}"):
        BatchQuery(**options)


@pytest.mark.parametrize(
    ("call", "name", "message"),
    [
        ("RequestLogger", "threshold", "write slow=seconds"),
        ("RequestLogger", "sample_rate", "write sample="),
        ("RequestLogger", "json", "write structured=True"),
        ("RequestLogger", "parameters", "write values=True"),
        ("RequestLogger", "level", r"getLogger\('cassandra\.requests'\)"),
        ("RequestLogger", "colour", "it has slow, failed"),
        ("ClusterCollector", "registry", r"write registry\.register\(ClusterCollector\(cluster"),
        ("ClusterCollector", "labels", "write name="),
        ("ClusterCollector", "namespace", "begin with cassandra_driver_"),
        ("ClusterCollector", "colour", "it has name and buckets"),
    ],
)
def test_unknown_options_of_observers(call: str, name: str, message: str) -> None:
    make: Any = RequestLogger if call == "RequestLogger" else partial(ClusterCollector, None)
    with pytest.raises(TypeError, match=rf"^{call}\(\) has no option '{name}'.*{message}"):
        make(**{name: 1})
