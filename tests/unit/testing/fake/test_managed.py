"""The driver works with fake nodes that behave like Amazon Keyspaces and Azure Cosmos DB."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from cassandra import (
    AuthenticationFailed,
    ConsistencyLevel,
    InvalidRequest,
    ReadTimeout,
    WriteTimeout,
    aio,
)
from cassandra.auth import Authenticator, AuthProvider
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile, Session
from cassandra.connection import ConnectionException
from cassandra.policies import FallthroughRetryPolicy, RateLimitRetryPolicy
from cassandra.protocol import OverloadedErrorMessage
from cassandra.query import BatchStatement, BatchType, SimpleStatement
from cassandra.testing.fake import (
    CosmosNode,
    ErrorCode,
    Hold,
    KeyspacesNode,
    Opcode,
    close,
    delay,
    error,
    hold,
    rows,
    sequence,
    void,
)

QUORUM = ConsistencyLevel.LOCAL_QUORUM


@pytest.fixture
def keyspaces() -> Iterator[KeyspacesNode]:
    """Yield a fake node that behaves like Amazon Keyspaces."""
    with KeyspacesNode() as node:
        yield node


@pytest.fixture
def session(keyspaces: KeyspacesNode) -> Iterator[Session]:
    """Yield a session whose consistency level is LOCAL_QUORUM, which the service supports."""
    profile = ExecutionProfile(consistency_level=QUORUM)
    profiles = {EXEC_PROFILE_DEFAULT: profile}
    with Cluster([keyspaces.address], port=keyspaces.port, execution_profiles=profiles) as cluster:
        yield cluster.connect()


def test_an_unknown_partitioner_is_logged_once(
    keyspaces: KeyspacesNode, caplog: pytest.LogCaptureFixture
) -> None:
    """Amazon Keyspaces has its own partitioner: the driver logs that it cannot route by token."""
    with (
        caplog.at_level(logging.INFO, "cassandra.cluster"),
        Cluster([keyspaces.address], port=keyspaces.port) as cluster,
    ):
        cluster.connect().execute("SELECT v FROM ks.t")
        # The driver reads the partitioner again, and must not log it again.
        cluster.refresh_nodes()
        # Without a token map, the driver knows no replicas.
        assert cluster.metadata.token_map is None
        assert cluster.metadata.get_replicas("ks", b"key") == []
    messages = [message for message in caplog.messages if "com.amazonaws.cassandra" in message]
    assert len(messages) == 1
    assert "not routed by token" in messages[0]


def test_the_partitioner_is_not_reported_if_tokens_are_disabled(
    keyspaces: KeyspacesNode, caplog: pytest.LogCaptureFixture
) -> None:
    """With `token_metadata_enabled=False`, nothing is logged about the unknown partitioner."""
    with (
        caplog.at_level(logging.INFO, "cassandra.cluster"),
        Cluster([keyspaces.address], port=keyspaces.port, token_metadata_enabled=False) as cluster,
    ):
        cluster.connect()
    assert "com.amazonaws" not in caplog.text


@pytest.mark.parametrize(
    ("query", "level", "supported_levels"),
    [
        ("INSERT INTO ks.t (id) VALUES (1)", ConsistencyLevel.ONE, "LOCAL_QUORUM"),
        ("SELECT * FROM ks.t", ConsistencyLevel.QUORUM, "ONE, LOCAL_QUORUM, LOCAL_ONE"),
    ],
)
def test_unsupported_consistency_levels_are_refused(
    session: Session, query: str, level: int, supported_levels: str
) -> None:
    """Amazon Keyspaces supports fewer consistency levels for writes than for reads."""
    with pytest.raises(InvalidRequest, match=f"levels are: {supported_levels}"):
        session.execute(SimpleStatement(query, consistency_level=level))
    session.execute(SimpleStatement(query, consistency_level=QUORUM))


@pytest.mark.parametrize(
    ("batch_type", "statement_count", "message"),
    [
        (BatchType.LOGGED, 1, "Logged batches are not supported"),
        (BatchType.UNLOGGED, 31, "30 statements at most, this one has 31"),
        (BatchType.UNLOGGED, 30, None),
    ],
)
def test_batches(
    session: Session, batch_type: BatchType, statement_count: int, message: str | None
) -> None:
    """Amazon Keyspaces refuses logged batches, and batches of more than 30 statements."""
    batch = BatchStatement(batch_type)
    for number in range(statement_count):
        batch.add("INSERT INTO ks.t (id) VALUES (%s)", (number,))
    if message is None:
        session.execute(batch)
        return
    with pytest.raises(InvalidRequest, match=message):
        session.execute(batch)


def test_primed_requests_are_refused_as_well(keyspaces: KeyspacesNode, session: Session) -> None:
    """A prime has the answer of the service to what the service executes."""
    read = "SELECT v FROM ks.t"
    prime = keyspaces.prime(read, rows([("v", "int")], [(1,)]), times=1)
    with pytest.raises(InvalidRequest, match="levels are: ONE"):
        session.execute(SimpleStatement(read, consistency_level=ConsistencyLevel.TWO))
    keyspaces.exceed_capacity(1)
    with pytest.raises(ReadTimeout):
        session.execute(read)
    assert prime.used == 0
    assert session.execute(read).one().v == 1
    keyspaces.prime(Opcode.BATCH, void())
    with pytest.raises(InvalidRequest, match="Logged batches"):
        session.execute(BatchStatement(BatchType.LOGGED).add("INSERT INTO ks.t (id) VALUES (1)"))
    # A prime that is an error or another fault answers in any case.
    keyspaces.exceed_capacity(1)
    for fault in (
        error(ErrorCode.INVALID, "primed"),
        sequence(error(ErrorCode.INVALID, "primed"), void()),
        delay(0, error(ErrorCode.INVALID, "primed")),
        hold(error(ErrorCode.INVALID, "primed")),
    ):
        keyspaces.prime(read, fault)
        if isinstance(fault, Hold):
            fault.open()
        with pytest.raises(InvalidRequest, match="primed"):
            session.execute(read)
    keyspaces.prime(read, close(), times=1)
    with pytest.raises(ConnectionException):
        session.execute(SimpleStatement(read, retry_policy=FallthroughRetryPolicy()))
    assert keyspaces._refusals == 1


def test_an_unknown_prepared_statement_is_prepared_before_it_is_refused(
    keyspaces: KeyspacesNode, session: Session
) -> None:
    prepared = session.prepare("SELECT v FROM ks.t")
    keyspaces.forget_prepared()
    keyspaces.exceed_capacity(1)
    with pytest.raises(ReadTimeout):
        session.execute(prepared)


def test_a_new_table_can_be_used_when_its_status_is_active(session: Session) -> None:
    """Amazon Keyspaces creates tables asynchronously, and reports their status in a table."""
    session.execute("CREATE TABLE ks.t (id int PRIMARY KEY)")
    # The service still reports the table as being created, so the driver has not read its schema.
    assert "ks" not in session.cluster.metadata.keyspaces
    select_status = "SELECT status FROM system_schema_mcs.tables WHERE keyspace_name = 'ks'"
    for expected in ("CREATING", "ACTIVE", "ACTIVE"):
        assert session.execute(select_status).one().status == expected
    session.cluster.refresh_schema_metadata()
    assert "t" in session.cluster.metadata.keyspaces["ks"].tables


def test_a_load_and_a_scan_need_no_ring(keyspaces: KeyspacesNode, session: Session) -> None:
    """Without a token map, a load does not group rows by replica, and a scan is one SELECT."""
    # Create the table ks.t.
    test_a_new_table_can_be_used_when_its_status_is_active(session)
    keyspaces.prime_prepare("INSERT INTO ks.t (id) VALUES (?)", [("id", "int")], pk_indexes=[0])
    # These 100 rows have seven different keys.
    report = session.load("ks.t", [(number % 7,) for number in range(100)])
    assert report.written == 100
    keyspaces.prime('SELECT "id" FROM "ks"."t"', rows([("id", "int")], [(1,), (2,)]))
    assert [row.id for row in session.scan("ks.t")] == [1, 2]


class Signer(Authenticator):
    """An authenticator that responds to challenges like AWS's SigV4 plugin.

    :param response: the response to each challenge, with a dummy signature.
    """

    def __init__(self, response: str) -> None:
        self._response = response

    def initial_response(self) -> bytes:
        return b"SigV4\0\0"

    def evaluate_challenge(self, challenge: bytes | None) -> bytes:
        assert challenge is not None
        assert challenge.startswith(b"nonce=")
        return self._response.encode()


class SignerProvider(AuthProvider):
    """Provides a `Signer` with the given response for each connection."""

    def __init__(self, response: str) -> None:
        self._response = response

    def new_authenticator(self, host: str) -> Signer:
        return Signer(self._response)


def test_a_login_by_signature() -> None:
    """The node accepts a signature of the right form, and refuses a malformed signature."""
    with KeyspacesNode(sigv4=True) as node:
        right_signer = SignerProvider("signature=00,access_key=K,amzdate=2026-01-01T00:00:00.000Z")
        with Cluster([node.address], port=node.port, auth_provider=right_signer) as cluster:
            cluster.connect().execute("SELECT v FROM ks.t")
        wrong_signer = SignerProvider("sign")
        with (
            Cluster([node.address], port=node.port, auth_provider=wrong_signer) as cluster,
            pytest.raises(AuthenticationFailed, match="signature is malformed"),
        ):
            cluster.connect()


@pytest.fixture
def cosmos() -> Iterator[CosmosNode]:
    """Yield a fake node that behaves like Azure Cosmos DB."""
    with CosmosNode() as node:
        node.prime("SELECT v FROM t", rows([("v", "int")], [(7,)]))
        yield node


@pytest.mark.parametrize("is_idempotent", [True, False])
def test_a_policy_repeats_requests_beyond_the_capacity_of_keyspaces(
    keyspaces: KeyspacesNode, is_idempotent: bool
) -> None:
    """Amazon Keyspaces responds to requests beyond its capacity with timeouts, which are retried.

    After a timeout, only idempotent writes may be retried. The policy retries up to three times.
    """
    profile = ExecutionProfile(
        consistency_level=QUORUM,
        retry_policy=RateLimitRetryPolicy(max_num_retries=3, min_interval=0.001),
    )
    with Cluster(
        [keyspaces.address], port=keyspaces.port, execution_profiles={EXEC_PROFILE_DEFAULT: profile}
    ) as cluster:
        session = cluster.connect()
        insert = session.prepare("INSERT INTO t (v) VALUES (?)")
        insert.is_idempotent = is_idempotent
        keyspaces.exceed_capacity(3)
        if is_idempotent:
            session.execute(insert, (1,))
            # three timeouts, and the last attempt
            assert len(keyspaces.queries()) == 4
        else:
            with pytest.raises(WriteTimeout, match="received only 0 responses"):
                session.execute(insert, (1,))
            assert len(keyspaces.queries()) == 1
        # Reads are always idempotent, so the policy retries them, at most three times. After three
        # timeouts, the third retry succeeds; after four timeouts, the error is raised.
        keyspaces.exceed_capacity(3)
        session.execute("SELECT v FROM t")
        keyspaces.exceed_capacity(4)
        with pytest.raises(ReadTimeout):
            session.execute("SELECT v FROM t")


def test_a_policy_waits_as_long_as_cosmos_asks(cosmos: CosmosNode) -> None:
    """Cosmos DB refuses requests beyond its throughput, and the policy retries after its delay."""
    profile = ExecutionProfile(retry_policy=RateLimitRetryPolicy(max_num_retries=3))
    with Cluster(
        [cosmos.address], port=cosmos.port, execution_profiles={EXEC_PROFILE_DEFAULT: profile}
    ) as cluster:
        session = cluster.connect()
        insert = session.prepare("INSERT INTO t (v) VALUES (?)")  # not idempotent
        cosmos.exceed_throughput(3, retry_after_ms=1)
        session.execute(insert, (1,))
        # three refusals, and the last attempt
        assert len(cosmos.queries()) == 4
        # Prime one refusal more than the policy has retries.
        cosmos.exceed_throughput(4, retry_after_ms=1)
        with pytest.raises(OverloadedErrorMessage, match="RetryAfterMs=1"):
            session.execute(insert, (1,))


async def test_a_policy_waits_as_long_as_cosmos_asks_with_asyncio(cosmos: CosmosNode) -> None:
    """The policy retries a refused batch after the time that the server's error names."""
    profile = ExecutionProfile(retry_policy=RateLimitRetryPolicy())
    async with aio.Cluster(
        [cosmos.address], port=cosmos.port, execution_profiles={EXEC_PROFILE_DEFAULT: profile}
    ) as cluster:
        session = await cluster.connect()
        batch = BatchStatement().add("INSERT INTO t (v) VALUES (1)")
        cosmos.exceed_throughput(2, retry_after_ms=1)
        await session.execute(batch)
    # two refusals, and the last attempt
    assert len(cosmos.queries()) == 3
