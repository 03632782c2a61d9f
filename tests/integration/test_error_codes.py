"""Errors of real servers raise the right exception with all fields, in each protocol version.

The tests provoke each error that a cluster of two nodes can send.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cassandra import (
    ConsistencyLevel,
    DriverException,
    FunctionFailure,
    InvalidRequest,
    ReadFailure,
    ReadTimeout,
    Unavailable,
    WriteTimeout,
    WriteType,
)
from cassandra.cluster import (
    EXEC_PROFILE_DEFAULT,
    Cluster,
    ExecutionProfile,
    ResponseFuture,
    Session,
)
from cassandra.policies import FallthroughRetryPolicy, WhiteListRoundRobinPolicy
from cassandra.protocol import OverloadedErrorMessage, TruncateError
from cassandra.query import SimpleStatement
from cassandra.testing import LocalCluster

from .conftest import create_keyspace

pytestmark = pytest.mark.integration


@pytest.fixture(params=[3, 4, 5])
def session(impatient: LocalCluster, request: pytest.FixtureRequest) -> Iterator[Session]:
    """Yield a session that uses only the first node and never retries a request."""
    profile = ExecutionProfile(
        load_balancing_policy=WhiteListRoundRobinPolicy(impatient.contact_points[:1]),
        retry_policy=FallthroughRetryPolicy(),
        consistency_level=ConsistencyLevel.ALL,
    )
    with Cluster(
        impatient.contact_points[:1],
        port=impatient.port,
        protocol_version=request.param,
        execution_profiles={EXEC_PROFILE_DEFAULT: profile},
    ) as cluster:
        session = cluster.connect()
        create_keyspace(session, "errors", replicas=2)
        session.execute(
            "CREATE TABLE IF NOT EXISTS errors.t (k int, c int, v text, PRIMARY KEY (k, c))"
        )
        yield session


def protocol_version(session: Session) -> int:
    """Return the protocol version that the session uses."""
    version: int = session.cluster.protocol_version
    return version


@pytest.mark.long
def test_a_replica_that_hangs_makes_reads_and_writes_time_out(
    impatient: LocalCluster, session: Session
) -> None:
    """With one of two replicas paused, a request at ALL times out after one response."""
    impatient.pause(2)
    try:
        with pytest.raises(WriteTimeout) as write_timeout:
            session.execute("INSERT INTO errors.t (k, c, v) VALUES (1, 1, 'x')")
        assert write_timeout.value.required_responses == 2
        assert write_timeout.value.received_responses == 1
        assert write_timeout.value.write_type == WriteType.SIMPLE
        assert write_timeout.value.consistency == ConsistencyLevel.ALL
        with pytest.raises(ReadTimeout) as read_timeout:
            session.execute("SELECT * FROM errors.t WHERE k = 1")
        assert read_timeout.value.required_responses == 2
        assert read_timeout.value.received_responses == 1
        # `data_retrieved` depends on which replica the coordinator asked for the data.
        assert read_timeout.value.data_retrieved in (True, False)
        with pytest.raises(TruncateError):
            session.execute("TRUNCATE errors.t")
    finally:
        impatient.resume(2)
    impatient.wait_until_ready()


def test_too_many_tombstones_make_a_read_fail(session: Session) -> None:
    """A read that meets more than 10 tombstones, the limit of these nodes, raises ReadFailure."""
    for clustering_key in range(20):
        session.execute(f"DELETE v FROM errors.t WHERE k = 2 AND c = {clustering_key}")
    if protocol_version(session) == 3:
        # Version 3 has no error code for a read failure, so the server reports a timeout instead.
        with pytest.raises(ReadTimeout):
            session.execute("SELECT * FROM errors.t WHERE k = 2")
        return
    with pytest.raises(ReadFailure) as caught:
        session.execute("SELECT * FROM errors.t WHERE k = 2")
    # Both replicas fail, but the coordinator may respond after the first failure.
    assert caught.value.failures in (1, 2)
    assert caught.value.required_responses == 2
    if protocol_version(session) >= 5:
        # 1 is READ_TOO_MANY_TOMBSTONES of Cassandra's RequestFailureReason.
        assert set(caught.value.error_code_map.values()) == {1}  # type: ignore[union-attr]
    else:
        assert caught.value.error_code_map is None


def test_a_write_that_is_too_large_is_refused(session: Session) -> None:
    """A write of 5 MiB raises InvalidRequest, and the connection still works after the error."""
    five_mib = "x" * (5 << 20)
    with pytest.raises(InvalidRequest, match=r"oversized mutation|exceeds allowed maximum"):
        session.execute("INSERT INTO errors.t (k, c, v) VALUES (%s, %s, %s)", (3, 3, five_mib))
    assert session.execute("SELECT key FROM system.local", timeout=10).one().key == "local"


def test_a_function_that_raises_is_a_function_failure(session: Session) -> None:
    """A user-defined function that divides by zero raises FunctionFailure with its name."""
    session.execute(
        "CREATE FUNCTION IF NOT EXISTS errors.divide (a int) CALLED ON NULL INPUT RETURNS int "
        "LANGUAGE java "
        "AS 'return 1 / a;'"
    )
    session.execute("INSERT INTO errors.t (k, c) VALUES (4, 0)")
    if protocol_version(session) == 3:
        pytest.skip("version 3 has no error code for it: native_protocol_v3.spec, section 9")
    with pytest.raises(FunctionFailure) as caught:
        session.execute("SELECT errors.divide(c) FROM errors.t WHERE k = 4")
    assert (caught.value.keyspace, caught.value.function) == ("errors", "divide")
    assert list(caught.value.arg_types or ()) == ["int"]


def test_three_replicas_on_two_nodes_are_unavailable_at_all(session: Session) -> None:
    """At the consistency level ALL, three replicas are required, but only two nodes exist."""
    create_keyspace(session, "three", replicas=3)
    session.execute("CREATE TABLE IF NOT EXISTS three.t (k int PRIMARY KEY)")
    with pytest.raises(Unavailable) as caught:
        session.execute(
            SimpleStatement(
                "SELECT * FROM three.t WHERE k = 1", consistency_level=ConsistencyLevel.ALL
            )
        )
    assert (caught.value.required_replicas, caught.value.alive_replicas) == (3, 2)


class ThrowOnOverload:
    """Adds the startup option with which an overloaded server refuses requests.

    Without the option, an overloaded server would stop reading from the connection instead.
    """

    def add_startup_options(self, options: dict[str, str]) -> None:
        options["THROW_ON_OVERLOAD"] = "1"


def test_an_overloaded_node_raises_overloaded_errors(impatient: LocalCluster) -> None:
    """With the startup option THROW_ON_OVERLOAD, requests over the limit fail at once."""
    profile = ExecutionProfile(
        load_balancing_policy=WhiteListRoundRobinPolicy(impatient.contact_points[:1]),
        retry_policy=FallthroughRetryPolicy(),
    )
    with Cluster(
        impatient.contact_points[:1],
        port=impatient.port,
        application_info=ThrowOnOverload(),
        execution_profiles={EXEC_PROFILE_DEFAULT: profile},
    ) as cluster:
        session = cluster.connect()
        # The node accepts 200 requests per second, so it must refuse some of these 5000.
        futures = [session.execute_async("SELECT key FROM system.local") for _ in range(5000)]
        failures = [failure_of(future) for future in futures]
        errors = [failure for failure in failures if failure is not None]
        assert errors
        assert all(isinstance(error, OverloadedErrorMessage) for error in errors)


def failure_of(future: ResponseFuture) -> Exception | None:
    """Wait for a request, and return its error; None if it succeeded."""
    try:
        future.result()
    except DriverException as error:
        return error
    return None
