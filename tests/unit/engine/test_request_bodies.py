"""Request bodies use the current state of their prepared statements.

Another request may prepare a statement again between the call and the moment when the request is
sent. `MessageBody`, which listeners and user-defined protocol handlers get, has copies of the ids.
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
from cassandra.engine.request_bodies import (
    USE_ITSELF,
    BatchBody,
    ExecuteBody,
    MessageBody,
    PrepareBody,
    QueryBody,
    RequestBody,
    UseBody,
    values_of_rows,
)
from cassandra.errors import BindColumnsChanged
from cassandra.protocol.column_specs import ColumnMetadata
from cassandra.protocol.handler import ProtocolHandler
from cassandra.protocol.opcodes import BATCH, EXECUTE, MAX_BODY, PREPARE, QUERY
from cassandra.query import BatchStatement, PreparedStatement
from cassandra.testing.fake import FakeNode, Opcode
from cassandra.throttling import ConcurrencyLimitingThrottler
from tests.unit.engine.partners import fake_connection

WRITE = "INSERT INTO ks.t (k, v) VALUES (?, ?)"
ROUNDS = 3
SEVEN = (7).to_bytes(8, "big")
SEVEN_AS_DOUBLE = bytes.fromhex("401c000000000000")

Make = Callable[[Any, int], Any]


class OwnHandler(ProtocolHandler):
    """A protocol handler of an application that changes nothing: it encodes and decodes like the
    driver.
    """


@pytest.fixture(params=[4, 5], ids=["v4", "v5"])
def node(request: pytest.FixtureRequest) -> Iterator[FakeNode]:
    with FakeNode(max_version=request.param) as running:
        yield running
        assert running.malformed == []


def recreate_table(node: FakeNode, cql_type: str, query_id: bytes | None = None) -> None:
    """Make the node forget its statements, and describe the column `v` of `WRITE` with the type
    `cql_type` from then on.
    """
    node.forget_prepared()
    node.prime_prepare(WRITE, [("k", "int"), ("v", cql_type)], query_id=query_id)


def bound_statement(prepared: Any, key: int) -> Any:
    return prepared.bind((key, 7))


def batch_of_one_row(prepared: Any, key: int) -> Any:
    return BatchStatement().add(prepared, (key, 7)).add("INSERT INTO ks.t (k) VALUES (1)")


def batch_of_many(prepared: Any, key: int) -> Any:
    return BatchStatement().add_many(prepared, [(key, 7), (key, 7)])


STATEMENTS = pytest.mark.parametrize("make", [bound_statement, batch_of_one_row, batch_of_many])
CHANGERS = pytest.mark.parametrize("changer", ["none", "listener", "handler"])
APIS = pytest.mark.parametrize("is_blocking", [True, False], ids=["blocking", "asyncio"])


def install(session: Any, changer: str) -> None:
    if changer == "listener":
        session.add_request_init_listener(lambda future: None)
    elif changer == "handler":
        session.client_protocol_handler = OwnHandler


def run_waiting(
    node: FakeNode,
    is_blocking: bool,
    changer: str,
    make_statement: Make,
    change_server: Callable[[], None],
) -> list[Any]:
    """Start several executions of one prepared statement at once, after `change_server` was called.

    The throttler lets one request pass at a time. So the first request prepares the statement again
    while the others wait.

    :param is_blocking: use the blocking API, not the asyncio API.
    :param changer: see `install`.
    :param make_statement: called with the prepared statement and a key.
    :returns: the result or the error of each execution.
    """
    settings: Any = {"port": node.port, "request_throttler": ConcurrencyLimitingThrottler(1)}

    async def run_on_asyncio() -> list[Any]:
        async with aio.Cluster([node.address], **settings) as cluster:
            session = await cluster.connect()
            prepared = await session.prepare(WRITE)
            install(session, changer)
            change_server()
            calls = [session.execute(make_statement(prepared, key)) for key in range(ROUNDS)]
            return list(await asyncio.gather(*calls, return_exceptions=True))

    if not is_blocking:
        return asyncio.run(run_on_asyncio())
    with Cluster([node.address], **settings) as cluster:
        session = cluster.connect()
        prepared = session.prepare(WRITE)
        install(session, changer)
        change_server()
        futures = [session.execute_async(make_statement(prepared, key)) for key in range(ROUNDS)]
        return [result_or_error(future.result) for future in futures]


def result_or_error(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except Exception as error:
        return error


def last_values(node: FakeNode) -> dict[int, Any]:
    """Return a dict with the value that was last written for each key."""
    writes: list[Any] = [
        write
        for request in node.requests
        if request.opcode in (Opcode.EXECUTE, Opcode.BATCH)
        for write in (request.statements if request.opcode == Opcode.BATCH else [request])
    ]
    # The key is a small int, so its last byte identifies it.
    return {write.values[0][-1]: write.values[1] for write in writes if write.values}


@APIS
@CHANGERS
@STATEMENTS
def test_requests_that_wait_never_send_values_of_an_old_type(
    node: FakeNode, is_blocking: bool, changer: str, make: Make
) -> None:
    """If a column gets another type while requests wait, the requests send values of the new type.

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
    """Requests that wait send the statement's new id.

    An upgraded server may give the same CQL another id.
    """
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
    """All requests are sent with the old id before the first of them has prepared the statement
    again.
    """
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
    return PreparedStatement(
        columns,
        query_id,
        [0],
        "SELECT ?",
        "ks",
        protocol_version=5,
        result_metadata=None,
        result_metadata_id=None,
    )


def execute_body(prepared: PreparedStatement) -> MessageBody:
    inner = ExecuteBody(prepared, prepared.bind((5,)).block)
    return MessageBody(message_of(inner), ProtocolHandler, inner, decodes=False)


def batch_body(*prepared: PreparedStatement) -> MessageBody:
    rows = prepared[0].bind_plan.bind_many(rows=[], version=5)
    statements: list[Any] = [(None, "INSERT"), (prepared[0], rows)]
    statements += [(statement, statement.bind((5,)).block) for statement in prepared]
    inner = BatchBody(0, statements)
    return MessageBody(message_of(inner), ProtocolHandler, inner, decodes=False)


def encoded(body: RequestBody, version: int = 5) -> bytes:
    return body.render(fake_connection(version=version, wire_format=version, features=None))[2]


def renewed_statement(prepared: PreparedStatement, cql_type: Any = LongType) -> Renewed:
    return Renewed(prepared, _Answer(prepared_statement(b"old", cql_type)))


class _Answer:
    """The answer to a PREPARE, as far as `renew` reads it: the columns and the id of `prepared`."""

    result_metadata = result_metadata_id = None

    def __init__(self, prepared: PreparedStatement) -> None:
        self.bind_metadata, self.query_id = prepared.column_metadata, prepared.query_id


def test_an_id_that_a_listener_has_set_is_sent() -> None:
    prepared = prepared_statement()
    body = execute_body(prepared)
    body.message.query_id = b"own"
    prepared.query_id = b"new"
    assert b"own" in encoded(body)
    body.rebind(renewed_statement(prepared))
    assert b"own" in encoded(body)
    # The listener put its own statement and values into the message, so these values are not bound
    # again.
    assert body.message.query_params == [b"\0\0\0\x05"]


def test_statements_that_a_listener_adds_to_a_batch_are_sent_unchanged() -> None:
    prepared = prepared_statement()
    body = batch_body(prepared)
    body.message.queries.insert(0, (True, b"own", [b"x"]))
    prepared.query_id = b"new"
    encoded(body)
    assert [query for _, query, _ in body.message.queries] == [b"own", "INSERT", b"new"]
    body.rebind(renewed_statement(prepared))
    encoded(body)
    assert body.message.queries == [
        (True, b"own", [b"x"]),
        (False, "INSERT", ()),
        (True, b"old", [b"\0\0\0\0\0\0\0\x05"]),
    ]


def test_values_that_a_listener_has_changed_are_bound_again() -> None:
    prepared = prepared_statement()
    body = execute_body(prepared)
    body.message.query_params = [b"\0\0\0\x06"]
    body.rebind(renewed_statement(prepared))
    assert body.message.query_params == [b"\0\0\0\0\0\0\0\x06"]
    assert [list(values) for _, _, values in body.bound_rows()] == [body.message.query_params]
    # If the values do not fit the new columns, binding them again raises.
    other = execute_body(prepared)
    other.message.query_params = []
    with pytest.raises(BindColumnsChanged, match="0 values for 1 columns"):
        other.rebind(renewed_statement(prepared))


@pytest.mark.parametrize("has_message", [False, True], ids=["plain", "message"])
def test_a_batch_knows_the_ids_that_its_earlier_attempts_have_sent(has_message: bool) -> None:
    """A batch finds a statement by every id that it has sent for it, not only by the latest one.

    The server may answer UNPREPARED with an old id after a speculative attempt has sent newer ones.
    """
    first, second = prepared_statement(b"1"), prepared_statement(b"2")
    message_body = batch_body(first, second)
    body: Any = message_body if has_message else message_body.inner
    for query_id in (b"3", b"4"):
        encoded(body)
        second.query_id = query_id
    # The last attempt uses another protocol version, so the body is encoded anew.
    encoded(body, 4)
    assert [body.prepared_by(query_id) for query_id in (b"1", b"2", b"3", b"4", b"5")] == [
        first,
        *[second] * 3,
        None,
    ]


def test_the_consistency_of_a_message_is_that_of_its_request() -> None:
    body = execute_body(prepared_statement())
    body.message.consistency_level = ConsistencyLevel.ALL
    encoded(body)
    assert body.consistency == ConsistencyLevel.ALL


# -- what a request asks for -----------------------------------------------------------------------

TRACING, CUSTOM_PAYLOAD = 0x02, 0x04  # flags of a frame


def rendered(body: Any, version: int = 4) -> tuple[int, int, bytes]:
    result: tuple[int, int, bytes] = body.render(
        fake_connection(version=version, wire_format=version, features=None)
    )
    return result


def all_bodies() -> dict[str, Any]:
    prepared = prepared_statement()
    execute = ExecuteBody(prepared, prepared.bind((5,)).block)
    return {
        "query": QueryBody("SELECT 1"),
        "use": UseBody("USE ks"),
        "prepare": PrepareBody("SELECT ?", keyspace=None, custom_payload=None),
        "batch": BatchBody(0, [(None, "INSERT"), (prepared, prepared.bind((5,)).block)]),
        "execute": execute,
        "message": MessageBody(message_of(execute), ProtocolHandler, execute, decodes=False),
    }


KINDS = pytest.mark.parametrize("kind", list(all_bodies()))


@KINDS
def test_each_body_has_the_opcode_and_the_description_of_its_request(kind: str) -> None:
    body = all_bodies()[kind]
    opcode = {"prepare": PREPARE, "batch": BATCH, "execute": EXECUTE, "message": EXECUTE}
    expected = opcode.get(kind, QUERY)
    sent_opcode, flags, data = rendered(body)
    assert (sent_opcode, body.opcode, flags) == (expected, expected, 0)
    assert body.size == len(data)
    text = {
        "use": "USE ks",
        "query": "SELECT 1",
        "prepare": "PREPARE of 'SELECT ?'",
        "batch": "a batch of 2 that begins with 'INSERT'",
    }.get(kind, "SELECT ?")
    assert text in body.describe()


@KINDS
def test_tracing_and_payloads_are_sent_with_each_body(kind: str) -> None:
    if kind == "message":
        return  # a message is encoded by the handler, from its own attributes
    body = all_bodies()[kind]
    plain = rendered(body)
    body.tracing = True
    assert rendered(body) == (plain[0], TRACING, plain[2])
    body.custom_payload = {"mark": b"x"}
    opcode, flags, data = rendered(body)
    assert (opcode, flags) == (plain[0], TRACING | CUSTOM_PAYLOAD)
    assert data == b"\0\1" + b"\0\4mark" + b"\0\0\0\1x" + plain[2]


@pytest.mark.parametrize(
    ("kind", "is_use", "decodes", "is_plain", "depends"),
    [
        ("query", False, False, True, True),
        ("use", True, True, False, True),
        ("prepare", False, True, False, True),
        ("batch", False, False, True, True),
        ("execute", False, False, True, False),
        ("message", False, False, False, False),
    ],
)
def test_which_bodies_need_special_care(
    kind: str, is_use: bool, decodes: bool, is_plain: bool, depends: bool
) -> None:
    body = all_bodies()[kind]
    assert (body.is_use, body.decodes, body.is_plain, body.depends) == (
        is_use,
        decodes,
        is_plain,
        depends,
    )


def test_a_query_that_switches_the_keyspace_is_a_use() -> None:
    assert QueryBody("use ks").is_use
    assert not QueryBody("SELECT used FROM t").is_use
    assert UseBody("USE ks").expected is USE_ITSELF
    assert UseBody("USE ks").keyspace is None
    assert not PrepareBody("USE ks", keyspace=None, custom_payload=None).is_use


def test_a_batch_of_prepared_statements_does_not_depend_on_the_keyspace() -> None:
    prepared = prepared_statement()
    block = prepared.bind((5,)).block
    assert not BatchBody(0, [(prepared, block)]).depends
    assert BatchBody(0, [(prepared, block), (None, "INSERT")]).depends
    assert not BatchBody(0, []).depends


def test_the_texts_of_a_body_are_those_without_a_prepared_statement() -> None:
    bodies = all_bodies()
    assert {kind: list(body.texts()) for kind, body in bodies.items()} == {
        "query": ["SELECT 1"],
        "use": ["USE ks"],
        "prepare": ["SELECT ?"],
        "batch": ["INSERT"],
        "execute": [],
        "message": [],
    }
    message = MessageBody(
        message_of(bodies["query"]), ProtocolHandler, bodies["query"], decodes=False
    )
    message.message.query = "SELECT 2"  # as a listener would
    assert message.texts() == ("SELECT 2",)
    assert message.statement_text() == "SELECT 2"
    batch = MessageBody(
        message_of(bodies["batch"]), ProtocolHandler, bodies["batch"], decodes=False
    )
    assert list(batch.texts()) == ["INSERT"]
    assert bodies["execute"].statement_text() == "SELECT ?"
    assert bodies["message"].statement_text() == "SELECT ?"


# -- keyspaces -------------------------------------------------------------------------------------


@pytest.mark.parametrize("has_message", [False, True])
def test_a_request_carries_the_keyspace_that_it_expects(has_message: bool) -> None:
    def body(keyspace: str | None, expected: object) -> Any:
        inner = QueryBody("SELECT 1", keyspace, expected)
        if not has_message:
            return inner
        return MessageBody(message_of(inner), ProtocolHandler, inner, decodes=False)

    named = body("ks", expected=None)
    assert named.expected == "ks"
    assert named.names_keyspace
    assert named.carry_keyspace()
    expecting = body(keyspace=None, expected="ks")
    assert not expecting.names_keyspace
    assert b"ks" not in rendered(expecting, 5)[2]
    assert expecting.carry_keyspace()
    assert expecting.names_keyspace
    assert rendered(expecting, 5)[2].endswith(b"\0\2ks")
    # The protocol has no way to say "no keyspace".
    nowhere = body(keyspace=None, expected=USE_ITSELF)
    assert not nowhere.carry_keyspace()
    assert not nowhere.names_keyspace


def test_an_execute_needs_no_keyspace() -> None:
    body = all_bodies()["execute"]
    assert body.names_keyspace
    assert body.carry_keyspace()


# -- rendering again -------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["query", "batch", "execute"])
def test_a_body_is_rendered_once_for_each_wire_format(
    monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    body = all_bodies()[kind]
    first = rendered(body, 4)[2]
    assert rendered(body, 4)[2] is first
    assert rendered(body, 5)[2] != first
    assert rendered(body, 4)[2] == first
    body.invalidate()
    again = rendered(body, 4)[2]
    assert again == first
    assert again is not first


@pytest.mark.parametrize("kind", ["query", "execute", "batch", "message"])
def test_another_consistency_is_sent_from_then_on(kind: str) -> None:
    body = all_bodies()[kind]
    data_before = rendered(body)[2]
    body.set_consistency(ConsistencyLevel.ALL)
    changed = rendered(body)[2]
    assert len(changed) == len(data_before)
    assert changed != data_before
    assert body.consistency == ConsistencyLevel.ALL
    body.set_consistency(ConsistencyLevel.ALL)
    assert rendered(body)[2] == changed


def test_the_same_consistency_does_not_render_the_body_again() -> None:
    body = all_bodies()["query"]
    data_before = rendered(body)[2]
    body.set_consistency(body.consistency)
    assert rendered(body)[2] is data_before


@pytest.mark.parametrize("kind", ["query", "execute", "message"])
def test_the_paging_state_is_sent_from_then_on(kind: str) -> None:
    body = all_bodies()[kind]
    assert b"state" not in rendered(body)[2]
    body.set_paging_state(b"state")
    assert b"\0\0\0\5state" in rendered(body)[2]


def test_a_body_that_is_not_rendered_has_no_size() -> None:
    assert all_bodies()["query"].size == 0


def test_a_later_change_of_a_payload_does_not_change_the_prepare() -> None:
    payload: dict[str, Any] = {"mark": b"x"}
    body = PrepareBody("SELECT ?", keyspace=None, custom_payload=payload)
    payload["mark"] = b"y"
    assert body.custom_payload == {"mark": b"x"}
    with pytest.raises(TypeError):
        PrepareBody("SELECT ?", keyspace=None, custom_payload={"mark": 5})  # type: ignore[dict-item]


# -- prepared statements of bodies -----------------------------------------------------------------


def test_only_an_execute_has_the_columns_of_its_answer() -> None:
    bodies = all_bodies()
    for kind in ("query", "use", "prepare", "batch"):
        assert bodies[kind].prepared_statements() == ()
        assert bodies[kind].cached_metadata() is None
    for kind in ("query", "use", "prepare"):
        assert bodies[kind].prepared_by(b"old") is None
        assert list(bodies[kind].bound_rows()) == []
    (prepared,) = bodies["execute"].prepared_statements()
    assert bodies["execute"].prepared_by(b"any") is prepared
    (prepared,) = bodies["message"].prepared_statements()
    assert bodies["message"].prepared_by(b"old") is prepared


def test_bound_rows_of_a_batch_have_their_positions() -> None:
    prepared = prepared_statement()
    rows = prepared.bind_plan.bind_many([[1], [2]], 5)
    one = prepared.bind((3,)).block
    body = BatchBody(0, [(None, "INSERT"), (prepared, rows), (None, "INSERT"), (prepared, one)])
    positions = [(where, values[0][-1]) for where, _, values in body.bound_rows()]
    assert positions == [("statement 1: ", 1), ("statement 2: ", 2), ("statement 4: ", 3)]
    assert body.count == 5
    assert body.describe() == "a batch of 5 that begins with 'INSERT'"
    assert len(values_of_rows(rows)) == 2
    assert values_of_rows(one) == (one,)


def test_an_execute_without_values_has_no_bound_rows() -> None:
    prepared = PreparedStatement(
        column_metadata=[],
        query_id=b"id",
        routing_key_indexes=[],
        query="SELECT 1",
        keyspace="ks",
        protocol_version=4,
        result_metadata=None,
        result_metadata_id=None,
    )
    body = ExecuteBody(prepared, prepared.bind(()).block)
    assert list(body.bound_rows()) == []
    bound_body = all_bodies()["execute"]
    ((where, _, values),) = bound_body.bound_rows()
    assert (where, values) == ("", [b"\0\0\0\5"])


def test_an_empty_batch_can_be_described() -> None:
    assert BatchBody(0, []).describe().startswith("a batch of 0 that begins with")
    prepared = prepared_statement()
    body = BatchBody(0, [(prepared, prepared.bind((5,)).block)])
    assert body.describe() == "a batch of 1 that begins with 'SELECT ?'"


def test_a_batch_that_exceeds_a_frame_is_refused_with_advice() -> None:
    body = BatchBody(0, [(None, "x" * (MAX_BODY + 1))])
    with pytest.raises(ValueError, match="make several batches of it"):
        rendered(body)


def test_only_the_values_of_the_changed_statement_are_bound_again() -> None:
    changed, other = prepared_statement(b"one"), prepared_statement(b"two")
    rows = changed.bind_plan.bind_many([[1], [2]], 5)
    unchanged = other.bind((3,)).block
    body = BatchBody(
        0,
        [
            (changed, rows),
            (other, unchanged),
            (None, "INSERT"),
            (changed, changed.bind((4,)).block),
        ],
    )
    data_before = rendered(body)[2]
    renewed = renewed_statement(changed)
    body.rebind(renewed)
    sizes = [
        [len(row.values()[0]) for row in values_of_rows(values)]
        for prepared, values in body.statements
        if prepared is not None
    ]
    assert sizes == [[8, 8], [4], [8]]
    statements = [prepared for prepared, _ in body.statements]
    assert statements == [renewed.statement, other, None, renewed.statement]
    assert len(rendered(body)[2]) == len(data_before) + 3 * 4


def test_a_request_without_values_cannot_be_bound_again() -> None:
    with pytest.raises(BindColumnsChanged):
        all_bodies()["query"].rebind(renewed_statement(prepared_statement()))


# -- messages --------------------------------------------------------------------------------------


def test_a_request_that_continues_after_its_prepare_keeps_what_listeners_have_set() -> None:
    prepared = prepared_statement()
    first = PrepareBody("SELECT ?", keyspace=None, custom_payload=None)
    query = QueryBody("SELECT ?")
    body = MessageBody(message_of(query), OwnHandler, query, decodes=True)
    body.message.consistency_level = ConsistencyLevel.ALL
    body.message.query = "changed"
    inner = ExecuteBody(prepared, prepared.bind((5,)).block)
    message = message_of(inner)
    following = body.succeed(inner, message)
    assert following.message is message
    assert following.inner is inner
    assert following.handler is OwnHandler
    assert following.decodes
    assert message.consistency_level == ConsistencyLevel.ALL
    assert getattr(message, "query", None) != "changed"
    assert message.query_params == [b"\0\0\0\5"]
    assert first.decodes


def test_a_batch_that_continues_has_the_statements_that_listeners_have_added() -> None:
    prepared = prepared_statement()
    empty = BatchBody(0, [], "ks")
    body = MessageBody(message_of(empty), ProtocolHandler, empty, decodes=False)
    body.message.queries = [(False, "by a listener", ())]
    inner = BatchBody(0, [(prepared, prepared.bind((5,)).block)])
    following = body.succeed(inner, message_of(inner))
    assert [query for _, query, _ in following.message.queries] == [b"old", "by a listener"]
    assert following.message.keyspace == "ks"


@pytest.mark.parametrize(
    ("own", "inner_kind", "expected"),
    [(False, "query", False), (True, "query", True), (False, "use", True)],
)
def test_answers_are_decoded_by_an_own_handler_or_checked_if_needed(
    own: bool, inner_kind: str, expected: bool
) -> None:
    inner = all_bodies()[inner_kind]
    assert MessageBody(message_of(inner), OwnHandler, inner, own).decodes is expected
