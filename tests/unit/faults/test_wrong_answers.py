"""Well-formed messages that answer no request: the connection is closed, and its other requests
fail over.
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
    connected,
    fails,
    local_address,
    number,
    only_connection,
    thread,
)

INSERT = "INSERT INTO t (k) VALUES (1)"
WRONG = {
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
    with FakeNode() as running:
        running.prime_prepare("INSERT INTO t (k) VALUES (?)", [("k", "int")])
        yield running
        assert running.malformed == []


@pytest.fixture(params=list(WRONG))
def wrong(request: pytest.FixtureRequest) -> Answer:
    return WRONG[request.param]


@pytest.mark.parametrize("kind", ["text", "prepared", "batch", "traced"])
async def test_a_write(node: FakeNode, wrong: Answer, kind: str) -> None:
    async with connected(node) as (_, session):
        prepared = await session.prepare("INSERT INTO t (k) VALUES (?)")
        before = only_connection(session)
        batch = BatchStatement()
        batch.add(INSERT)
        statement: Any = {
            "text": INSERT,
            "prepared": prepared.bind((1,)),
            "batch": batch,
            "traced": INSERT,
        }[kind]
        node.prime(
            lambda request: request.opcode in (Opcode.QUERY, Opcode.EXECUTE, Opcode.BATCH),
            wrong,
            times=1,
        )
        failure = await fails(session.execute(statement, trace=kind == "traced"))
        assert isinstance(failure, ProtocolError)
        assert "does not allow" in str(failure)
        assert before.closed
        assert session.keyspace is None
        await session.execute(INSERT)


def test_a_write_of_the_blocking_face(node: FakeNode, wrong: Answer) -> None:
    with Cluster([node.address], port=node.port) as cluster:
        session = cluster.connect()
        node.prime(INSERT, wrong, times=1)
        with pytest.raises(ProtocolError, match="does not allow"):
            session.execute(INSERT)
        assert session.keyspace is None
        session.execute(INSERT)


async def test_a_select_does_not_change_the_keyspace() -> None:
    with FakeCluster(2) as nodes:
        async with connected(nodes) as (_, session):
            await session.set_keyspace("mine")
            nodes[0].prime(READ, set_keyspace("other"), times=1)
            assert isinstance(await fails(session.execute(READ)), ProtocolError)
            assert session.keyspace == "mine"


async def test_other_requests_of_the_connection_fail_over() -> None:
    """The other requests may have been executed, so only idempotent requests are sent again."""
    with FakeCluster(2) as nodes:
        held = hold()
        nodes[0].prime(READ, held)
        nodes[1].prime(READ, number(7))
        async with connected(nodes) as (_, session):
            repeatable = session.execute(SimpleStatement(READ, is_idempotent=True))
            await thread(held.wait, 1)
            nodes[0].prime(INSERT, WRONG["ready"], times=1)
            assert isinstance(await fails(session.execute(INSERT)), ProtocolError)
            assert (await repeatable).one().k == 7


@pytest.mark.parametrize("answer", [void(), *WRONG.values()], ids=["void", *WRONG])
async def test_use(node: FakeNode, answer: Answer) -> None:
    if answer is WRONG["keyspace"]:
        pytest.skip("that is what answers it")
    async with connected(node) as (_, session):
        node.prime("USE ks", answer, times=1)
        assert isinstance(await fails(session.execute("USE ks")), ProtocolError)
        assert session.keyspace is None
        node.prime('USE "ks"', answer, times=1)
        assert isinstance(await fails(session.set_keyspace("ks")), ProtocolError)
        assert session.keyspace is None
        await session.set_keyspace("ks")
        assert session.keyspace == "ks"


@pytest.mark.parametrize(
    "answer", [void(), number(1), *WRONG.values()], ids=["void", "rows", *WRONG]
)
async def test_prepare(node: FakeNode, answer: Answer) -> None:
    if answer is WRONG["prepared"]:
        pytest.skip("that is what answers it")
    async with connected(node) as (_, session):
        before = only_connection(session)
        node.prime(Opcode.PREPARE, answer, times=1)
        failure = await fails(session.prepare("INSERT INTO t (k) VALUES (?)"))
        assert isinstance(failure, ProtocolError)
        assert before.closed


@pytest.mark.parametrize("answer", [void(), *WRONG.values()], ids=["void", *WRONG])
async def test_preparing_again(node: FakeNode, answer: Answer) -> None:
    if answer is WRONG["prepared"]:
        pytest.skip("that is what answers it")
    async with connected(node) as (_, session):
        prepared = await session.prepare("INSERT INTO t (k) VALUES (?)")
        before = only_connection(session)
        node.forget_prepared()
        node.prime(Opcode.PREPARE, answer, times=1)
        assert isinstance(await fails(session.execute(prepared, (1,))), ProtocolError)
        assert before.closed
        await session.execute(prepared, (1,))


@pytest.mark.parametrize(
    "match", [Opcode.OPTIONS, Opcode.STARTUP, Opcode.REGISTER, "system.local"], ids=str
)
async def test_the_engine_s_own_requests(node: FakeNode, wrong: Answer, match: Any) -> None:
    right = {
        Opcode.OPTIONS: ["supported"],
        Opcode.STARTUP: ["ready", "authenticate"],
        Opcode.REGISTER: ["ready"],
    }
    if any(wrong is WRONG[name] for name in right.get(match, [])):
        pytest.skip("that is what answers it")
    node.prime(re.compile("system.local") if isinstance(match, str) else match, wrong)
    cluster = aio.Cluster([node.address], port=node.port, connect_timeout=2.0)
    failure = await fails(cluster.connect())
    assert isinstance(failure, NoHostAvailable)
    (cause,) = failure.errors.values()
    assert isinstance(cause, (ProtocolError, ConnectionException))
    assert not isinstance(cause, OperationTimedOut)
    await node.wait_until(lambda node: not node.connections)


def closing(connection: Any) -> asyncio.Event:
    """Return an event that is set when `connection` is closed."""
    closed = asyncio.Event()
    original = connection.on_closed

    def on_closed(*args: Any) -> None:
        closed.set()
        original(*args)

    connection.on_closed = on_closed
    return closed


async def test_a_heartbeat(node: FakeNode) -> None:
    async with connected(node, idle_heartbeat_interval=0.05) as (_, session):
        before = only_connection(session)
        beat = local_address(before)
        node.prime(
            lambda request: request.opcode == Opcode.OPTIONS and request.connection.peer == beat,
            WRONG["ready"],
        )
        closed = closing(before)
        await asyncio.wait_for(closed.wait(), 5)
        assert isinstance(before.close_error, ProtocolError)


async def test_an_event_that_is_none(node: FakeNode) -> None:
    async with connected(node) as (cluster, _):
        assert cluster._core is not None
        before: Any = cluster._core.control.connection
        server = next(connection for connection in node.connections if connection.event_types)
        closed = closing(before)
        node.post(server.send, -1, Opcode.READY, 0, b"")
        await asyncio.wait_for(closed.wait(), 5)
        assert isinstance(before.close_error, ProtocolError)


async def test_preparing_on_the_other_nodes() -> None:
    with FakeCluster(2) as nodes:
        async with connected(nodes) as (_, session):
            other = next(
                pool
                for host, pool in session._engine.pools.items()
                if host.address == nodes[1].address
            )
            (before,) = other.connections
            nodes[1].prime(Opcode.PREPARE, WRONG["ready"], times=1)
            await session.prepare("SELECT k FROM t WHERE k = ?")
            assert isinstance(before.close_error, ProtocolError)


async def test_agreement_and_what_ddl_reads(node: FakeNode) -> None:
    """A DDL statement succeeds, whatever happens to the reads after it."""
    node.prime("CREATE TABLE t", schema_change("CREATED", "TABLE", "ks", "t"))
    async with connected(node, max_schema_agreement_wait=0.5) as (_, session):
        before = only_connection(session)
        node.prime(re.compile("SELECT schema_version"), WRONG["ready"], times=1)
        result = await asyncio.wait_for(session.execute("CREATE TABLE t"), 5)
        assert result.is_schema_agreed  # read again from another host
        assert before.closed
