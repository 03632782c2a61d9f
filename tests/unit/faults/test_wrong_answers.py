"""The driver closes a connection on which a well-formed message does not fit the request.

Other requests on this connection are sent again, on another connection, if they are idempotent.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from typing import Any

import pytest

from cassandra import aio
from cassandra.cluster import Cluster
from cassandra.errors import ConnectionException, NoHostAvailable, OperationTimedOut, ProtocolError
from cassandra.query import BatchStatement, SimpleStatement
from cassandra.testing.fake import (
    Answer,
    FakeCluster,
    FakeNode,
    Message,
    Opcode,
    Prepared,
    hold,
    message,
    schema_change,
    set_keyspace,
    void,
)
from tests.unit.engine.faults import (
    READ,
    call_in_thread,
    connected,
    exception_of,
    int_row,
    local_address,
    only_connection,
)

INSERT = "INSERT INTO t (k) VALUES (1)"
# A message of each kind that no node may send in response to an INSERT. The driver must refuse the
# kind of the message, whatever its body. The bodies are valid: no options, an authenticator "A",
# null tokens, and an event that 127.0.0.1:9042 is up.
WRONG_ANSWERS = {
    "supported": message(Opcode.SUPPORTED, b"\0\0"),
    "ready": message(Opcode.READY, b""),
    "authenticate": message(Opcode.AUTHENTICATE, b"\0\1A"),
    "challenge": message(Opcode.AUTH_CHALLENGE, b"\xff\xff\xff\xff"),
    "success": message(Opcode.AUTH_SUCCESS, b"\xff\xff\xff\xff"),
    "event": message(Opcode.EVENT, b"\0\x0dSTATUS_CHANGE\0\2UP\x04\x7f\0\0\1\0\0\x23\x52"),
    "keyspace": set_keyspace("other"),
    "prepared": Message(Opcode.RESULT, lambda request: Prepared("SELECT 1", []).body(request)),
    "schema": schema_change("CREATED", "TABLE", "ks", "t"),
}


@pytest.fixture
def node() -> Iterator[FakeNode]:
    """Yield a fake node that can prepare one INSERT."""
    with FakeNode() as running:
        running.prime_prepare("INSERT INTO t (k) VALUES (?)", [("k", "int")])
        yield running
        assert running.malformed == []


@pytest.fixture(params=list(WRONG_ANSWERS))
def wrong_answer(request: pytest.FixtureRequest) -> Answer:
    """Return a message of `WRONG_ANSWERS`, so that a test runs once for each message."""
    return WRONG_ANSWERS[request.param]


@pytest.mark.parametrize("write", ["query string", "prepared", "batch", "traced"])
async def test_a_wrong_answer_to_a_write_is_a_protocol_error(
    node: FakeNode, wrong_answer: Answer, write: str
) -> None:
    """A wrong message in response to a write raises ProtocolError and closes the connection."""
    async with connected(node) as (_, session):
        prepared = await session.prepare("INSERT INTO t (k) VALUES (?)")
        connection = only_connection(session)
        batch = BatchStatement()
        batch.add(INSERT)
        statement: Any = {
            "query string": INSERT,
            "prepared": prepared.bind((1,)),
            "batch": batch,
            "traced": INSERT,
        }[write]
        node.prime(
            lambda request: request.opcode in (Opcode.QUERY, Opcode.EXECUTE, Opcode.BATCH),
            wrong_answer,
            times=1,
        )
        failure = await exception_of(session.execute(statement, trace=write == "traced"))
        assert isinstance(failure, ProtocolError)
        assert "does not allow" in str(failure)
        assert connection.closed
        # A result of kind SetKeyspace must not have changed the keyspace.
        assert session.keyspace is None
        # The driver has opened a new connection.
        await session.execute(INSERT)


def test_a_wrong_answer_to_a_blocking_write_is_a_protocol_error(
    node: FakeNode, wrong_answer: Answer
) -> None:
    """In the blocking API, too, a wrong message in response to a write raises ProtocolError."""
    with Cluster([node.address], port=node.port) as cluster:
        session = cluster.connect()
        node.prime(INSERT, wrong_answer, times=1)
        with pytest.raises(ProtocolError, match="does not allow"):
            session.execute(INSERT)
        # A result of kind SetKeyspace must not have changed the keyspace.
        assert session.keyspace is None
        session.execute(INSERT)


async def test_set_keyspace_as_the_answer_to_a_select_is_a_protocol_error() -> None:
    """A SetKeyspace result for a SELECT raises ProtocolError.

    The session keeps its keyspace.
    """
    with FakeCluster(2) as nodes:
        async with connected(nodes) as (_, session):
            await session.set_keyspace("mine")
            nodes[0].prime(READ, set_keyspace("other"), times=1)
            assert isinstance(await exception_of(session.execute(READ)), ProtocolError)
            assert session.keyspace == "mine"


async def test_other_idempotent_requests_are_sent_to_another_host() -> None:
    """When a wrong message closes a connection, its other requests are repeated if idempotent.

    The node may have executed these requests, so the driver repeats no other requests. Here, the
    repeated request succeeds on another host.
    """
    with FakeCluster(2) as nodes:
        held = hold()
        nodes[0].prime(READ, held)
        nodes[1].prime(READ, int_row(7))
        async with connected(nodes) as (_, session):
            idempotent_request = session.execute(SimpleStatement(READ, is_idempotent=True))
            await call_in_thread(held.wait, 1)
            nodes[0].prime(INSERT, WRONG_ANSWERS["ready"], times=1)
            assert isinstance(await exception_of(session.execute(INSERT)), ProtocolError)
            assert (await idempotent_request).one().k == 7


@pytest.mark.parametrize("answer", [void(), *WRONG_ANSWERS.values()], ids=["void", *WRONG_ANSWERS])
async def test_a_wrong_answer_to_use_is_a_protocol_error(node: FakeNode, answer: Answer) -> None:
    """A wrong message in response to USE raises ProtocolError, and the keyspace does not change."""
    if answer is WRONG_ANSWERS["keyspace"]:
        pytest.skip("this is the right answer")
    async with connected(node) as (_, session):
        node.prime("USE ks", answer, times=1)
        assert isinstance(await exception_of(session.execute("USE ks")), ProtocolError)
        assert session.keyspace is None
        node.prime('USE "ks"', answer, times=1)
        assert isinstance(await exception_of(session.set_keyspace("ks")), ProtocolError)
        assert session.keyspace is None
        await session.set_keyspace("ks")
        assert session.keyspace == "ks"


@pytest.mark.parametrize(
    "answer", [void(), int_row(1), *WRONG_ANSWERS.values()], ids=["void", "rows", *WRONG_ANSWERS]
)
async def test_a_wrong_answer_to_prepare_is_a_protocol_error(
    node: FakeNode, answer: Answer
) -> None:
    """A wrong message in response to PREPARE raises ProtocolError and closes the connection."""
    if answer is WRONG_ANSWERS["prepared"]:
        pytest.skip("this is the right answer")
    async with connected(node) as (_, session):
        connection = only_connection(session)
        node.prime(Opcode.PREPARE, answer, times=1)
        failure = await exception_of(session.prepare("INSERT INTO t (k) VALUES (?)"))
        assert isinstance(failure, ProtocolError)
        assert connection.closed


@pytest.mark.parametrize("answer", [void(), *WRONG_ANSWERS.values()], ids=["void", *WRONG_ANSWERS])
async def test_a_wrong_answer_to_preparing_again_is_a_protocol_error(
    node: FakeNode, answer: Answer
) -> None:
    """If a wrong message arrives when a statement is prepared again, the execution fails.

    The next execution succeeds on a new connection.
    """
    if answer is WRONG_ANSWERS["prepared"]:
        pytest.skip("this is the right answer")
    async with connected(node) as (_, session):
        prepared = await session.prepare("INSERT INTO t (k) VALUES (?)")
        connection = only_connection(session)
        node.forget_prepared()
        node.prime(Opcode.PREPARE, answer, times=1)
        assert isinstance(await exception_of(session.execute(prepared, (1,))), ProtocolError)
        assert connection.closed
        await session.execute(prepared, (1,))


@pytest.mark.parametrize(
    "answered", [Opcode.OPTIONS, Opcode.STARTUP, Opcode.REGISTER, "system.local"], ids=str
)
async def test_a_wrong_answer_during_connect_is_a_protocol_error(
    node: FakeNode, wrong_answer: Answer, answered: Any
) -> None:
    """A wrong message during `connect` raises an error at once, not a timeout."""
    right_answers = {
        Opcode.OPTIONS: ["supported"],
        Opcode.STARTUP: ["ready", "authenticate"],
        Opcode.REGISTER: ["ready"],
    }
    if any(wrong_answer is WRONG_ANSWERS[name] for name in right_answers.get(answered, [])):
        pytest.skip("this is the right answer")
    node.prime(re.compile(answered) if isinstance(answered, str) else answered, wrong_answer)
    cluster = aio.Cluster([node.address], port=node.port, connect_timeout=2.0)
    failure = await exception_of(cluster.connect())
    assert isinstance(failure, NoHostAvailable)
    (cause,) = failure.errors.values()
    assert isinstance(cause, (ProtocolError, ConnectionException))
    assert not isinstance(cause, OperationTimedOut)
    await node.wait_until(lambda node: not node.connections)


def event_of_close(connection: Any) -> asyncio.Event:
    """Return an event that is set when the connection is closed."""
    is_closed = asyncio.Event()
    original = connection.on_closed

    def on_closed(*args: Any) -> None:
        is_closed.set()
        original(*args)

    connection.on_closed = on_closed
    return is_closed


async def test_a_wrong_answer_to_a_heartbeat_closes_the_connection(node: FakeNode) -> None:
    """A wrong message in response to a heartbeat closes the connection with ProtocolError."""
    async with connected(node, idle_heartbeat_interval=0.05) as (_, session):
        pool_connection = only_connection(session)
        pool_peer = local_address(pool_connection)
        node.prime(
            lambda request: (
                request.opcode == Opcode.OPTIONS and request.connection.peer == pool_peer
            ),
            WRONG_ANSWERS["ready"],
        )
        closed = event_of_close(pool_connection)
        await asyncio.wait_for(closed.wait(), 5)
        assert isinstance(pool_connection.close_error, ProtocolError)


async def test_a_ready_on_the_event_stream_closes_the_connection(node: FakeNode) -> None:
    """A READY on the stream -1, which is for events, closes the connection with ProtocolError."""
    async with connected(node) as (cluster, _):
        assert cluster._core is not None
        control: Any = cluster._core.control.connection
        # Only the control connection is registered for events.
        (node_connection,) = (item for item in node.connections if item.event_types)
        closed = event_of_close(control)
        event_stream, flags = -1, 0
        node.post(node_connection.send, event_stream, Opcode.READY, flags, b"")
        await asyncio.wait_for(closed.wait(), 5)
        assert isinstance(control.close_error, ProtocolError)


async def test_a_wrong_answer_to_prepare_on_another_node_closes_its_connection() -> None:
    """If another node returns a wrong message to PREPARE, only its connection is closed.

    `prepare` succeeds on one node, and then prepares the statement on the other nodes. Errors of
    the other nodes do not fail `prepare`.
    """
    with FakeCluster(2) as nodes:
        async with connected(nodes) as (_, session):
            other = next(
                pool
                for host, pool in session._engine.pools.items()
                if host.address == nodes[1].address
            )
            (connection,) = other.connections
            nodes[1].prime(Opcode.PREPARE, WRONG_ANSWERS["ready"], times=1)
            await session.prepare("SELECT k FROM t WHERE k = ?")
            assert isinstance(connection.close_error, ProtocolError)


async def test_a_wrong_answer_to_a_query_after_ddl_does_not_fail_the_statement(
    node: FakeNode,
) -> None:
    """A DDL statement succeeds even if a query of the schema versions after it fails.

    The connection with the wrong message is closed.
    """
    node.prime("CREATE TABLE t", schema_change("CREATED", "TABLE", "ks", "t"))
    async with connected(node, max_schema_agreement_wait=0.5) as (_, session):
        connection = only_connection(session)
        node.prime(re.compile("SELECT schema_version"), WRONG_ANSWERS["ready"], times=1)
        result = await asyncio.wait_for(session.execute("CREATE TABLE t"), 5)
        # The driver has queried the versions again, on the control connection.
        assert result.is_schema_agreed
        assert connection.closed
