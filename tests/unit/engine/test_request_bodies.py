"""Request bodies follow their prepared statements, which other requests may prepare again between
the call and the moment when the request is sent.

`MessageBody` has copies of the ids, for listeners and user-defined protocol handlers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from cassandra import ConsistencyLevel, aio
from cassandra.client.messages import message_of
from cassandra.cluster import Cluster
from cassandra.cqltypes import Int32Type, LongType
from cassandra.engine.prepare.rebind import Renewed
from cassandra.engine.request_bodies import BatchBody, ExecuteBody, MessageBody, RequestBody
from cassandra.errors import BindColumnsChanged
from cassandra.protocol.column_specs import ColumnMetadata
from cassandra.protocol.handler import ProtocolHandler
from cassandra.query import BatchStatement, PreparedStatement
from cassandra.testing.fake import FakeNode, Opcode
from cassandra.throttling import ConcurrencyLimitingThrottler
from tests.unit.engine.partners import connection

WRITE = "INSERT INTO ks.t (k, v) VALUES (?, ?)"
ROUNDS = 3
SEVEN = (7).to_bytes(8, "big")
SEVEN_AS_DOUBLE = bytes.fromhex("401c000000000000")

Make = Callable[[Any, int], Any]


class OwnHandler(ProtocolHandler):
    """A handler of the application, which encodes and decodes like the driver."""


@pytest.fixture(params=[4, 5], ids=["v4", "v5"])
def node(request: pytest.FixtureRequest) -> Iterator[FakeNode]:
    with FakeNode(max_version=request.param) as running:
        yield running
        assert running.malformed == []


def recreate_table(node: FakeNode, cql_type: str, query_id: bytes | None = None) -> None:
    """Make the node forget its statements, and prepare `WRITE` with this type of `v`."""
    node.forget_prepared()
    node.prime_prepare(WRITE, [("k", "int"), ("v", cql_type)], query_id=query_id)


def bound(prepared: Any, key: int) -> Any:
    return prepared.bind((key, 7))


def batch(prepared: Any, key: int) -> Any:
    return BatchStatement().add(prepared, (key, 7)).add("INSERT INTO ks.t (k) VALUES (1)")


def batch_of_many(prepared: Any, key: int) -> Any:
    return BatchStatement().add_many(prepared, [(key, 7), (key, 7)])


STATEMENTS = pytest.mark.parametrize("make", [bound, batch, batch_of_many])
CHANGERS = pytest.mark.parametrize("changer", ["none", "listener", "handler"])
APIS = pytest.mark.parametrize("is_blocking", [True, False], ids=["blocking", "asyncio"])


def install(session: Any, changer: str) -> None:
    if changer == "listener":
        session.add_request_init_listener(lambda future: None)
    elif changer == "handler":
        session.client_protocol_handler = OwnHandler


def run_waiting(
    node: FakeNode, is_blocking: bool, changer: str, make: Make, change: Callable[[], None]
) -> list[Any]:
    """Execute statements of one prepared statement together, after `change`. The throttler lets one
    after the other pass, so that the first is prepared again while the others wait.

    :returns: the result or the error of each execution.
    """
    settings: Any = {"port": node.port, "request_throttler": ConcurrencyLimitingThrottler(1)}

    async def on_asyncio() -> list[Any]:
        async with aio.Cluster([node.address], **settings) as cluster:
            session = await cluster.connect()
            prepared = await session.prepare(WRITE)
            install(session, changer)
            change()
            calls = [session.execute(make(prepared, key)) for key in range(ROUNDS)]
            return list(await asyncio.gather(*calls, return_exceptions=True))

    if not is_blocking:
        return asyncio.run(on_asyncio())
    with Cluster([node.address], **settings) as cluster:
        session = cluster.connect()
        prepared = session.prepare(WRITE)
        install(session, changer)
        change()
        futures = [session.execute_async(make(prepared, key)) for key in range(ROUNDS)]
        return [outcome(future.result) for future in futures]


def outcome(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except Exception as error:
        return error


def last_values(node: FakeNode) -> dict[int, Any]:
    """Return the value that was last written for each key."""
    parts: list[Any] = [
        part
        for request in node.requests
        if request.opcode in (Opcode.EXECUTE, Opcode.BATCH)
        for part in (request.statements if request.opcode == Opcode.BATCH else [request])
    ]
    return {part.values[0][-1]: part.values[1] for part in parts if part.values}


@APIS
@CHANGERS
@STATEMENTS
def test_requests_that_wait_never_send_values_of_an_old_type(
    node: FakeNode, is_blocking: bool, changer: str, make: Make
) -> None:
    """If the table gets another type while requests wait, they send values of the new type.

    The server gives the statement the same id, and would accept bytes of the old type.
    """
    recreate_table(node, "bigint")
    outcomes = run_waiting(node, is_blocking, changer, make, lambda: recreate_table(node, "double"))
    assert [type(error) for error in outcomes if isinstance(error, Exception)] == []
    assert last_values(node) == dict.fromkeys(range(ROUNDS), SEVEN_AS_DOUBLE)


@APIS
@CHANGERS
@STATEMENTS
def test_requests_that_wait_send_the_id_that_the_server_has_now(
    node: FakeNode, is_blocking: bool, changer: str, make: Make
) -> None:
    """An upgraded server may give the same CQL another id."""
    recreate_table(node, "bigint", b"A" * 16)
    outcomes = run_waiting(
        node, is_blocking, changer, make, lambda: recreate_table(node, "bigint", b"B" * 16)
    )
    assert [type(error) for error in outcomes if isinstance(error, Exception)] == []
    assert last_values(node) == dict.fromkeys(range(ROUNDS), SEVEN)


@CHANGERS
@STATEMENTS
async def test_concurrent_requests_send_the_id_that_the_server_has_now(
    node: FakeNode, changer: str, make: Make
) -> None:
    """All are sent with the old id before the first of them has prepared the statement again."""
    recreate_table(node, "bigint", b"A" * 16)
    async with aio.Cluster([node.address], port=node.port) as cluster:
        session = await cluster.connect()
        prepared = await session.prepare(WRITE)
        install(session, changer)
        recreate_table(node, "bigint", b"B" * 16)
        await asyncio.gather(*[session.execute(make(prepared, key)) for key in range(5)])


# -- bodies without a server -----------------------------------------------------------------------


def prepared_statement(query_id: bytes = b"old", cql_type: Any = Int32Type) -> PreparedStatement:
    columns = [ColumnMetadata("ks", "t", "k", cql_type)]
    return PreparedStatement(columns, query_id, [0], "SELECT ?", "ks", 5, None, None)


def execute_body(prepared: PreparedStatement) -> MessageBody:
    inner = ExecuteBody(prepared, prepared.bind((5,)).block)
    return MessageBody(message_of(inner), ProtocolHandler, inner, False)


def batch_body(*prepared: PreparedStatement) -> MessageBody:
    rows = prepared[0].bind_plan.bind_many([], 5)
    statements: list[Any] = [(None, "INSERT"), (prepared[0], rows)]
    statements += [(each, each.bind((5,)).block) for each in prepared]
    inner = BatchBody(0, statements)
    return MessageBody(message_of(inner), ProtocolHandler, inner, False)


def sent(body: RequestBody, version: int = 5) -> bytes:
    return body.render(connection(version=version, wire_format=version, features=None))[2]


def renewed_of(prepared: PreparedStatement, cql_type: Any = LongType) -> Renewed:
    return Renewed(prepared, _Answer(prepared_statement(b"old", cql_type)))


class _Answer:
    """The answer to a PREPARE, with the columns and the id of `prepared`."""

    result_metadata = result_metadata_id = None

    def __init__(self, prepared: PreparedStatement) -> None:
        self.bind_metadata, self.query_id = prepared.column_metadata, prepared.query_id


def test_an_id_that_a_listener_has_set_is_sent() -> None:
    prepared = prepared_statement()
    body = execute_body(prepared)
    body.message.query_id = b"own"
    prepared.query_id = b"new"
    assert b"own" in sent(body)
    body.rebind(renewed_of(prepared))
    assert b"own" in sent(body)
    assert body.message.query_params == [b"\0\0\0\x05"]


def test_statements_that_a_listener_adds_to_a_batch_are_sent_unchanged() -> None:
    prepared = prepared_statement()
    body = batch_body(prepared)
    body.message.queries.insert(0, (True, b"own", [b"x"]))
    prepared.query_id = b"new"
    sent(body)
    assert [query for _, query, _ in body.message.queries] == [b"own", "INSERT", b"new"]
    body.rebind(renewed_of(prepared))
    sent(body)
    assert body.message.queries == [
        (True, b"own", [b"x"]),
        (False, "INSERT", ()),
        (True, b"old", [b"\0\0\0\0\0\0\0\x05"]),
    ]


def test_values_that_a_listener_has_changed_are_bound_again() -> None:
    prepared = prepared_statement()
    body = execute_body(prepared)
    body.message.query_params = [b"\0\0\0\x06"]
    body.rebind(renewed_of(prepared))
    assert body.message.query_params == [b"\0\0\0\0\0\0\0\x06"]
    assert [list(values) for _, _, values in body.bound_rows()] == [body.message.query_params]
    other = execute_body(prepared)
    other.message.query_params = []
    with pytest.raises(BindColumnsChanged, match="0 values for 1 columns"):
        other.rebind(renewed_of(prepared))


@pytest.mark.parametrize("has_message", [False, True], ids=["plain", "message"])
def test_a_batch_knows_the_ids_that_its_earlier_attempts_have_sent(has_message: bool) -> None:
    """The server may answer an attempt after a speculative attempt has sent newer ids."""
    first, second = prepared_statement(b"1"), prepared_statement(b"2")
    message_body = batch_body(first, second)
    body: Any = message_body if has_message else message_body.inner
    for query_id in (b"3", b"4"):
        sent(body)
        second.query_id = query_id
    sent(body, 4)
    assert [body.prepared_by(query_id) for query_id in (b"1", b"2", b"3", b"4", b"5")] == [
        first,
        *[second] * 3,
        None,
    ]


def test_the_consistency_of_a_message_is_that_of_its_request() -> None:
    body = execute_body(prepared_statement())
    body.message.consistency_level = ConsistencyLevel.ALL
    sent(body)
    assert body.consistency == ConsistencyLevel.ALL
