"""Custom payloads reach the server in the blocking and asyncio APIs.

The call itself refuses an invalid payload. Another test covers the flag for beta versions of the
protocol.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from cassandra.cluster import Cluster
from cassandra.query import BatchStatement, SimpleStatement
from cassandra.testing.fake import FakeNode, Opcode
from tests.unit.engine.faults import connected
from tests.unit.protocol.test_extras import WRONG

INSERT = "INSERT INTO t (k) VALUES (?)"
PAYLOAD = {"null": None, "some": b"bytes", "empty": b""}
USE_BETA = 0x10  # the flag for beta versions: native_protocol_v5.spec, section 2.2
# Kinds of statements: a query string, a bound statement, a batch, a query string with bind markers,
# and a statement that has its own payload.
KINDS = ["text", "bound", "batch", "markers", "own"]


@pytest.fixture
def node() -> Iterator[FakeNode]:
    """Yield a fake node that can prepare INSERT."""
    with FakeNode() as running:
        running.prime_prepare(INSERT, [("k", "int")])
        yield running
        assert running.malformed == []


def statement_with_payload(
    prepared: Any, kind: str, payload: Any
) -> tuple[Any, Any, dict[str, Any]]:
    """Return a statement, its parameters, and keyword arguments for `execute`.

    :param prepared: the prepared INSERT.
    :param kind: an entry of KINDS.
    :param payload: the custom payload, which is set on the statement or is a keyword argument.
    """
    batch = BatchStatement()
    batch.add("INSERT INTO t (k) VALUES (1)")
    simple = SimpleStatement("SELECT 1")
    simple.custom_payload = payload
    statement: Any = {
        "text": "SELECT 1",
        "bound": prepared.bind((1,)),
        "batch": batch,
        "markers": INSERT,
        "own": simple,
    }[kind]
    parameters = (1,) if kind == "markers" else None
    keywords = {} if kind == "own" else {"custom_payload": payload}
    return statement, parameters, keywords


@pytest.mark.parametrize("kind", KINDS)
async def test_asyncio_sends_payloads_and_refuses_wrong_ones(node: FakeNode, kind: str) -> None:
    """In asyncio, custom payloads are sent, and wrong payloads raise errors.

    This holds for `execute` and `prepare`.
    """
    async with connected(node) as (_, session):
        prepared = await session.prepare(INSERT, custom_payload=PAYLOAD)
        statement, parameters, keywords = statement_with_payload(prepared, kind, PAYLOAD)
        await session.execute(statement, parameters, **keywords)
        assert node.queries()[-1].custom_payload == PAYLOAD
        payload: Any
        for payload, error, text in WRONG:
            statement, parameters, keywords = statement_with_payload(prepared, kind, payload)
            with pytest.raises(error, match=text):
                # The call itself raises the error, so there is nothing to await.
                session.execute(statement, parameters, **keywords)
            with pytest.raises(error, match=text):
                await session.prepare("SELECT 2", custom_payload=payload)


@pytest.mark.parametrize("kind", KINDS)
def test_the_blocking_api_sends_payloads_and_refuses_wrong_ones(node: FakeNode, kind: str) -> None:
    """In the blocking API, custom payloads are sent, and wrong payloads raise errors.

    This holds for `execute_async` and `prepare`.
    """
    with Cluster([node.address], port=node.port) as cluster:
        session = cluster.connect()
        prepared = session.prepare(INSERT, custom_payload=PAYLOAD)
        statement, parameters, keywords = statement_with_payload(prepared, kind, PAYLOAD)
        session.execute(statement, parameters, **keywords)
        assert node.queries()[-1].custom_payload == PAYLOAD
        payload: Any
        for payload, error, text in WRONG:
            statement, parameters, keywords = statement_with_payload(prepared, kind, payload)
            with pytest.raises(error, match=text):
                session.execute_async(statement, parameters, **keywords)
            with pytest.raises(error, match=text):
                session.prepare("SELECT 2", custom_payload=payload)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_payload_changed_after_the_call_is_sent_unchanged(
    node: FakeNode, kind: str
) -> None:
    """If the application changes its payload after the call, the payload of the call is sent.

    The call copies the payload.
    """
    async with connected(node) as (_, session):
        prepared = await session.prepare(INSERT)
        payload = {"id": b"1"}
        statement, parameters, keywords = statement_with_payload(prepared, kind, payload)
        execution = session.execute(statement, parameters, **keywords)
        payload["id"] = b"2"
        await execution
        assert node.queries()[-1].custom_payload == {"id": b"1"}


@pytest.mark.parametrize("kind", ["own", "bound", "batch", "markers"])
async def test_the_payload_of_a_call_is_added_to_that_of_the_statement(
    node: FakeNode, kind: str
) -> None:
    """The payloads of the call and the statement are merged.

    If both have the same key, the value of the call is sent.
    """
    async with connected(node) as (_, session):
        prepared = await session.prepare(INSERT)
        prepared.custom_payload = {"proxy": b"user", "trace": b"1"}
        statement: Any = {"bound": prepared, "markers": prepared.bind((1,))}.get(kind)
        if statement is None:
            statement = BatchStatement() if kind == "batch" else SimpleStatement("SELECT 1")
            if kind == "batch":
                statement.add("INSERT INTO t (k) VALUES (1)")
            statement.custom_payload = {"proxy": b"user", "trace": b"1"}
        values = (1,) if kind == "bound" else None
        # The payload of the call must not change the payload of the statement.
        for _ in range(2):
            await session.execute(statement, values, custom_payload={"trace": b"7"})
            assert node.queries()[-1].custom_payload == {"proxy": b"user", "trace": b"7"}
        await session.execute(statement, values)
        assert node.queries()[-1].custom_payload == {"proxy": b"user", "trace": b"1"}


async def test_a_prepare_with_a_payload_answers_only_its_caller(node: FakeNode) -> None:
    """If concurrent calls prepare the same query, a call with a payload sends its own PREPARE.

    Calls without a payload share one PREPARE.
    """
    async with connected(node) as (_, session):
        payload = {"tenant": b"1"}
        with_payload = asyncio.ensure_future(session.prepare(INSERT, custom_payload=payload))
        # Let the call start. It must send the payload as it is now, without the later change.
        await asyncio.sleep(0)
        payload["tenant"] = b"2"
        without_payload = asyncio.ensure_future(session.prepare(INSERT))
        await asyncio.gather(with_payload, without_payload)
    payloads = [
        request.custom_payload for request in node.requests if request.opcode == Opcode.PREPARE
    ]
    assert sorted(payloads, key=bool) == [None, {"tenant": b"1"}]


async def test_a_listener_may_add_a_payload(node: FakeNode) -> None:
    async with connected(node) as (_, session):
        session.add_request_init_listener(
            lambda future: future.request.request_body.message.update_custom_payload(PAYLOAD)
        )
        await session.execute("SELECT 1")
        assert node.queries()[-1].custom_payload == PAYLOAD


async def test_with_a_beta_version_every_request_has_the_flag() -> None:
    """In a beta version of the protocol, every request has the flag USE_BETA.

    Without the flag, a server would refuse the request.
    """
    with FakeNode(max_version=6) as node:
        node.prime_prepare(INSERT, [("k", "int")])
        async with connected(node, protocol_version=6, allow_beta_protocol_version=True) as (
            _,
            session,
        ):
            await session.execute(await session.prepare(INSERT), (1,))
            await session.execute("SELECT 1", trace=True)
            await session.set_keyspace("ks")
        assert {request.opcode for request in node.requests} >= {
            Opcode.OPTIONS, Opcode.STARTUP, Opcode.REGISTER, Opcode.QUERY, Opcode.PREPARE, Opcode.EXECUTE,  # noqa: E501
        }  # fmt: skip
        assert [request for request in node.requests if not request.flags & USE_BETA] == []
