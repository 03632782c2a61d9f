"""Request bodies, which always send the current state of their prepared statements.

Another request may prepare a statement again between the call and the moment when a request is
sent. `MessageBody`, which listeners and an application's protocol handlers get, has copies of the
ids.
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
from cassandra.marshal import int32_pack, int64_pack
from cassandra.protocol.column_specs import ColumnMetadata
from cassandra.protocol.handler import ProtocolHandler
from cassandra.protocol.opcodes import BATCH, EXECUTE, MAX_BODY, PREPARE, QUERY
from cassandra.query import BatchStatement, PreparedStatement
from cassandra.testing.fake import FakeNode, Opcode
from cassandra.throttling import ConcurrencyLimitingThrottler
from tests.unit.engine.partners import fake_connection

LOGGED = 0  # type of batch in the protocol
WRITE = "INSERT INTO ks.t (k, v) VALUES (?, ?)"
KEY_COUNT = 3
SEVEN_AS_BIGINT = (7).to_bytes(8, "big")
SEVEN_AS_DOUBLE = bytes.fromhex("401c000000000000")

# A function that returns a statement for a prepared statement and a key.
MakeStatement = Callable[[Any, int], Any]


class ApplicationHandler(ProtocolHandler):
    """An application's protocol handler that encodes and decodes like the driver."""


@pytest.fixture(params=[4, 5], ids=["v4", "v5"])
def node(request: pytest.FixtureRequest) -> Iterator[FakeNode]:
    with FakeNode(max_version=request.param) as running:
        yield running
        assert running.malformed == []


def recreate_table(node: FakeNode, cql_type: str, query_id: bytes | None = None) -> None:
    """Let the node forget its statements, and describe `WRITE` with another type of `v`.

    :param cql_type: the type of the column.
    :param query_id: the id of the statement; None means that the node computes it.
    """
    node.forget_prepared()
    node.prime_prepare(WRITE, [("k", "int"), ("v", cql_type)], query_id=query_id)


def bound_statement(prepared: Any, key: int) -> Any:
    """Return a bound statement that writes 7 for the key."""
    return prepared.bind((key, 7))


def batch_of_one_row(prepared: Any, key: int) -> Any:
    """Return a batch that writes 7 for the key, and also has a query string."""
    return BatchStatement().add(prepared, (key, 7)).add("INSERT INTO ks.t (k) VALUES (1)")


def batch_of_many(prepared: Any, key: int) -> Any:
    """Return a batch that writes 7 for the key twice, made by `add_many`."""
    return BatchStatement().add_many(prepared, [(key, 7), (key, 7)])


STATEMENTS = pytest.mark.parametrize(
    "make_statement", [bound_statement, batch_of_one_row, batch_of_many]
)
EXTENSIONS = pytest.mark.parametrize("extension", ["none", "listener", "handler"])
APIS = pytest.mark.parametrize("is_blocking", [True, False], ids=["blocking", "asyncio"])


def install_extension(session: Any, extension: str) -> None:
    """Let the application intercept requests.

    :param extension: "listener" for a request listener, "handler" for a protocol handler, or
        "none".
    """
    if extension == "listener":
        session.add_request_init_listener(lambda future: None)
    elif extension == "handler":
        session.client_protocol_handler = ApplicationHandler


def run_waiting(
    node: FakeNode,
    is_blocking: bool,
    extension: str,
    make_statement: MakeStatement,
    change_server: Callable[[], None],
) -> list[Any]:
    """Start several executions of one prepared statement after `change_server` was called.

    The throttler lets one request pass at a time. So the first request prepares the statement again
    while the others wait.

    :param node: the node.
    :param is_blocking: True for the blocking API, False for the asyncio API.
    :param extension: see `install_extension`.
    :param make_statement: called with the prepared statement and a key.
    :param change_server: called after the statement was prepared.
    :returns: the result or the error of each execution.
    """
    settings: Any = {"port": node.port, "request_throttler": ConcurrencyLimitingThrottler(1)}

    async def run_on_asyncio() -> list[Any]:
        """Execute the statement with each key concurrently, and return the results or errors."""
        async with aio.Cluster([node.address], **settings) as cluster:
            session = await cluster.connect()
            prepared = await session.prepare(WRITE)
            install_extension(session, extension)
            change_server()
            calls = [session.execute(make_statement(prepared, key)) for key in range(KEY_COUNT)]
            return list(await asyncio.gather(*calls, return_exceptions=True))

    if not is_blocking:
        return asyncio.run(run_on_asyncio())
    with Cluster([node.address], **settings) as cluster:
        session = cluster.connect()
        prepared = session.prepare(WRITE)
        install_extension(session, extension)
        change_server()
        futures = [session.execute_async(make_statement(prepared, key)) for key in range(KEY_COUNT)]
        return [result_or_error(future.result) for future in futures]


def result_or_error(call: Callable[[], Any]) -> Any:
    """Return the result of the call, or the exception that it raises."""
    try:
        return call()
    except Exception as error:
        return error


def last_values(node: FakeNode) -> dict[int, Any]:
    """Return the encoded value that was last written for each key."""
    writes: list[Any] = []
    for request in node.requests:
        if request.opcode == Opcode.EXECUTE:
            writes.append(request)
        elif request.opcode == Opcode.BATCH:
            writes.extend(request.statements)
    # The key is a small int, so its last byte is the key.
    return {write.values[0][-1]: write.values[1] for write in writes if write.values}


@APIS
@EXTENSIONS
@STATEMENTS
def test_requests_that_wait_never_send_values_of_an_old_type(
    node: FakeNode, is_blocking: bool, extension: str, make_statement: MakeStatement
) -> None:
    """If a column's type changes while requests wait, they send values of the new type.

    The server gives the statement the same ID, and would accept bytes of the old type.
    """
    recreate_table(node, "bigint")
    outcomes = run_waiting(
        node,
        is_blocking,
        extension,
        make_statement,
        change_server=lambda: recreate_table(node, "double"),
    )
    assert not any(isinstance(outcome, Exception) for outcome in outcomes), outcomes
    assert last_values(node) == dict.fromkeys(range(KEY_COUNT), SEVEN_AS_DOUBLE)


@APIS
@EXTENSIONS
@STATEMENTS
def test_requests_that_wait_send_the_id_that_the_server_has_now(
    node: FakeNode, is_blocking: bool, extension: str, make_statement: MakeStatement
) -> None:
    """If a statement's id changes while requests wait, they send the new id.

    An upgraded server may have another id for the same CQL.
    """
    recreate_table(node, "bigint", query_id=b"A" * 16)
    outcomes = run_waiting(
        node,
        is_blocking,
        extension,
        make_statement,
        change_server=lambda: recreate_table(node, "bigint", query_id=b"B" * 16),
    )
    assert not any(isinstance(outcome, Exception) for outcome in outcomes), outcomes
    assert last_values(node) == dict.fromkeys(range(KEY_COUNT), SEVEN_AS_BIGINT)


@EXTENSIONS
@STATEMENTS
async def test_concurrent_requests_send_the_id_that_the_server_has_now(
    node: FakeNode, extension: str, make_statement: MakeStatement
) -> None:
    """If several requests were sent with an old id, each is sent again with the new id.

    All of them succeed.
    """
    recreate_table(node, "bigint", query_id=b"A" * 16)
    async with aio.Cluster([node.address], port=node.port) as cluster:
        session = await cluster.connect()
        prepared = await session.prepare(WRITE)
        install_extension(session, extension)
        recreate_table(node, "bigint", query_id=b"B" * 16)
        await asyncio.gather(*[session.execute(make_statement(prepared, key)) for key in range(5)])


# -- bodies without a server -----------------------------------------------------------------------


def prepared_statement(query_id: bytes = b"old", cql_type: Any = Int32Type) -> PreparedStatement:
    """Return a prepared SELECT with one bind marker, which is the partition key."""
    columns = [ColumnMetadata("ks", "t", "k", cql_type)]
    return PreparedStatement(
        columns,
        query_id,
        routing_key_indexes=[0],
        query="SELECT ?",
        keyspace="ks",
        protocol_version=5,
        result_metadata=None,
        result_metadata_id=None,
    )


def message_body_of(inner: Any) -> MessageBody:
    """Return the body as a message that the driver's protocol handler encodes.

    A listener may change this message.
    """
    return MessageBody(message_of(inner), ProtocolHandler, inner, decodes=False)


def execute_body(prepared: PreparedStatement) -> MessageBody:
    """Return the message of an EXECUTE with the value 5, in the form that listeners get."""
    inner = ExecuteBody(prepared, prepared.bind((5,)).block)
    return message_body_of(inner)


def batch_body(*prepared: PreparedStatement) -> MessageBody:
    """Return the message of a batch, as listeners get it.

    The batch has a query string, an `add_many` without rows, and each prepared statement with the
    value 5.
    """
    no_rows = prepared[0].bind_plan.bind_many(rows=[], version=5)
    statements: list[Any] = [(None, "INSERT"), (prepared[0], no_rows)]
    statements += [(statement, statement.bind((5,)).block) for statement in prepared]
    inner = BatchBody(LOGGED, statements)
    return message_body_of(inner)


def encoded(body: RequestBody, version: int = 5) -> bytes:
    """Return the encoded body, for a protocol version without extensions."""
    return body.render(fake_connection(version=version, wire_format=version, features=None))[2]


def renewed_statement(prepared: PreparedStatement, cql_type: Any = LongType) -> Renewed:
    """Return the `Renewed` for a statement whose bind marker has got another type."""
    return Renewed(prepared, _PreparedAnswer(prepared_statement(b"old", cql_type)))


class _PreparedAnswer:
    """The response to a PREPARE, with the attributes that `Renewed` reads.

    :param prepared: has the columns and the id of the response.
    """

    result_metadata = result_metadata_id = None

    def __init__(self, prepared: PreparedStatement) -> None:
        self.bind_metadata = prepared.column_metadata
        self.query_id = prepared.query_id


def test_an_id_that_a_listener_has_set_is_sent() -> None:
    """If a listener has replaced the id in the message, this id is always sent.

    The driver does not replace it, even if it prepares the statement again.
    """
    prepared = prepared_statement()
    body = execute_body(prepared)
    body.message.query_id = b"set by listener"
    prepared.query_id = b"new"
    assert b"set by listener" in encoded(body)
    body.rebind(renewed_statement(prepared))
    assert b"set by listener" in encoded(body)
    # The values may belong to the listener's own statement, so they are not bound again.
    assert body.message.query_params == [int32_pack(5)]


def test_statements_that_a_listener_adds_to_a_batch_are_sent_unchanged() -> None:
    """If a statement of a batch is prepared again, statements that a listener added stay unchanged.

    Only the prepared statement gets a new id and new values. The queries of the message are tuples
    (is prepared, query or id, values).
    """
    prepared = prepared_statement()
    body = batch_body(prepared)
    body.message.queries.insert(0, (True, b"set by listener", [b"x"]))
    prepared.query_id = b"new"
    encoded(body)
    assert [query for _, query, _ in body.message.queries] == [b"set by listener", "INSERT", b"new"]
    body.rebind(renewed_statement(prepared))
    encoded(body)
    assert body.message.queries == [
        (True, b"set by listener", [b"x"]),
        (False, "INSERT", ()),
        (True, b"old", [int64_pack(5)]),
    ]


def test_values_that_a_listener_has_changed_are_bound_again() -> None:
    """If a listener has changed a value, the changed value is encoded for the new type."""
    prepared = prepared_statement()
    body = execute_body(prepared)
    body.message.query_params = [int32_pack(6)]
    body.rebind(renewed_statement(prepared))
    assert body.message.query_params == [int64_pack(6)]
    assert [list(values) for _, _, values in body.bound_rows()] == [body.message.query_params]
    # If the number of values does not fit the columns, binding again raises an error.
    body_without_values = execute_body(prepared)
    body_without_values.message.query_params = []
    with pytest.raises(BindColumnsChanged, match="0 values for 1 columns"):
        body_without_values.rebind(renewed_statement(prepared))


@pytest.mark.parametrize("has_message", [False, True], ids=["plain", "message"])
def test_a_batch_knows_the_ids_that_its_earlier_attempts_have_sent(has_message: bool) -> None:
    """`prepared_by` finds a batch's statement by every id that the batch has sent for it.

    The server may return UNPREPARED with an old id after a speculative attempt has sent newer ids.
    """
    unchanged, changing = prepared_statement(b"1"), prepared_statement(b"2")
    message_body = batch_body(unchanged, changing)
    body: Any = message_body if has_message else message_body.inner
    for query_id in (b"3", b"4"):
        encoded(body)
        changing.query_id = query_id
    # The last attempt uses another protocol version, so the body is encoded again.
    encoded(body, version=4)
    assert body.prepared_by(b"1") is unchanged
    for sent_id in (b"2", b"3", b"4"):
        assert body.prepared_by(sent_id) is changing
    assert body.prepared_by(b"5") is None


def test_the_consistency_of_a_message_is_that_of_its_request() -> None:
    """If a listener changes the message's consistency level, the request has this level."""
    body = execute_body(prepared_statement())
    body.message.consistency_level = ConsistencyLevel.ALL
    encoded(body)
    assert body.consistency == ConsistencyLevel.ALL


# -- options of requests ---------------------------------------------------------------------------

TRACING, CUSTOM_PAYLOAD = 0x02, 0x04  # flags in a frame's header


def rendered(body: Any, version: int = 4) -> tuple[int, int, bytes]:
    """Return a body as (opcode, flags, encoded bytes), for a connection without extensions."""
    result: tuple[int, int, bytes] = body.render(
        fake_connection(version=version, wire_format=version, features=None)
    )
    return result


def all_bodies() -> dict[str, Any]:
    """Return a body of each class, by the name of its class."""
    prepared = prepared_statement()
    execute = ExecuteBody(prepared, prepared.bind((5,)).block)
    return {
        "query": QueryBody("SELECT 1"),
        "use": UseBody("USE ks"),
        "prepare": PrepareBody("SELECT ?", keyspace=None, custom_payload=None),
        "batch": BatchBody(LOGGED, [(None, "INSERT"), (prepared, prepared.bind((5,)).block)]),
        "execute": execute,
        "message": message_body_of(execute),
    }


BODY_NAMES = pytest.mark.parametrize("body_name", list(all_bodies()))


@pytest.mark.parametrize(
    ("body_name", "expected_opcode", "expected_description"),
    [
        ("query", QUERY, "SELECT 1"),
        ("use", QUERY, "USE ks"),
        ("prepare", PREPARE, "PREPARE of 'SELECT ?'"),
        ("batch", BATCH, "a batch of 2 that begins with 'INSERT'"),
        ("execute", EXECUTE, "SELECT ?"),
        ("message", EXECUTE, "SELECT ?"),
    ],
)
def test_each_body_has_the_opcode_and_the_description_of_its_request(
    body_name: str, expected_opcode: int, expected_description: str
) -> None:
    """Each body has the opcode, the size in bytes and the description of its request.

    Errors use the description.
    """
    body = all_bodies()[body_name]
    sent_opcode, flags, data = rendered(body)
    assert sent_opcode == expected_opcode
    assert body.opcode == expected_opcode
    assert flags == 0
    assert body.size == len(data)
    assert expected_description in body.describe()


@BODY_NAMES
def test_tracing_and_payloads_are_sent_with_each_body(body_name: str) -> None:
    """Tracing sets a flag; a custom payload sets a flag and precedes the body as a [bytes map]."""
    body = all_bodies()[body_name]
    # The handler encodes a message with the message's own tracing and payload.
    options = body.message if body_name == "message" else body
    plain_opcode, _flags, plain_data = rendered(body)
    options.tracing = True
    assert rendered(body) == (plain_opcode, TRACING, plain_data)
    options.custom_payload = {"mark": b"x"}
    opcode, flags, data = rendered(body)
    assert opcode == plain_opcode
    assert flags == TRACING | CUSTOM_PAYLOAD
    # The number of entries, then the key and the value, each after its length.
    payload = b"\0\1" + b"\0\4mark" + b"\0\0\0\1x"
    assert data == payload + plain_data


@pytest.mark.parametrize(
    ("body_name", "true_flags"),
    [
        ("query", {"is_plain", "depends"}),
        ("use", {"is_use", "decodes", "depends"}),
        ("prepare", {"decodes", "depends"}),
        ("batch", {"is_plain", "depends"}),
        ("execute", {"is_plain"}),
        ("message", set()),
    ],
)
def test_which_bodies_need_special_care(body_name: str, true_flags: set[str]) -> None:
    """Four flags of a body tell the engine how to send its request and how to handle the response.

    - `is_use`: the request may switch the keyspace of the connection.
    - `decodes`: the session must decode and check every response, without the short cut for rows.
    - `is_plain`: a thread of the application may send the request itself.
    - `depends`: table names may lack a keyspace, so the keyspace of the connection matters.
    """
    body = all_bodies()[body_name]
    for flag in ("is_use", "decodes", "is_plain", "depends"):
        assert getattr(body, flag) == (flag in true_flags), flag


def test_a_query_that_switches_the_keyspace_is_a_use() -> None:
    """A query that starts with USE, in upper or lower case, is a USE; a PREPARE of it is not."""
    assert QueryBody("use ks").is_use
    assert not QueryBody("SELECT used FROM t").is_use
    # USE_ITSELF is equal to no keyspace, so no connection is in the keyspace that a USE expects.
    assert UseBody("USE ks").expected is USE_ITSELF
    assert UseBody("USE ks").keyspace is None
    assert not PrepareBody("USE ks", keyspace=None, custom_payload=None).is_use


def test_a_batch_of_prepared_statements_does_not_depend_on_the_keyspace() -> None:
    """A batch depends on the connection's keyspace only if it has a query string.

    The server resolves the names of a prepared statement when it prepares the statement.
    """
    prepared = prepared_statement()
    values = prepared.bind((5,)).block
    assert not BatchBody(LOGGED, [(prepared, values)]).depends
    assert BatchBody(LOGGED, [(prepared, values), (None, "INSERT")]).depends
    assert not BatchBody(LOGGED, []).depends


def test_the_texts_of_a_body_are_those_without_a_prepared_statement() -> None:
    """`texts` returns the queries that the server parses.

    `statement_text` returns the request's query. If a listener has changed the message, both return
    the changed query.
    """
    bodies = all_bodies()
    assert {body_name: list(body.texts()) for body_name, body in bodies.items()} == {
        "query": ["SELECT 1"],
        "use": ["USE ks"],
        "prepare": ["SELECT ?"],
        "batch": ["INSERT"],
        "execute": [],
        "message": [],
    }
    message = message_body_of(bodies["query"])
    message.message.query = "SELECT 2"  # as a listener would do
    assert message.texts() == ("SELECT 2",)
    assert message.statement_text() == "SELECT 2"
    batch = message_body_of(bodies["batch"])
    assert list(batch.texts()) == ["INSERT"]
    assert bodies["execute"].statement_text() == "SELECT ?"
    assert bodies["message"].statement_text() == "SELECT ?"


# -- keyspaces -------------------------------------------------------------------------------------


@pytest.mark.parametrize("has_message", [False, True])
def test_a_request_carries_the_keyspace_that_it_expects(has_message: bool) -> None:
    """`carry_keyspace` puts the expected keyspace into a request that names no keyspace.

    A request names a keyspace if its encoded bytes have one. The expected keyspace is the keyspace
    in which the server must resolve table names. `carry_keyspace` returns True if the request names
    a keyspace afterwards.
    """

    def query_body(keyspace: str | None, expected: object) -> Any:
        inner = QueryBody("SELECT 1", keyspace, expected)
        if not has_message:
            return inner
        return message_body_of(inner)

    # If no expected keyspace is passed, the request expects the keyspace that it names.
    with_keyspace = query_body("ks", expected=None)
    assert with_keyspace.expected == "ks"
    assert with_keyspace.names_keyspace
    assert with_keyspace.carry_keyspace()
    # This request names no keyspace until `carry_keyspace` is called.
    expecting = query_body(keyspace=None, expected="ks")
    assert not expecting.names_keyspace
    assert b"ks" not in encoded(expecting, version=5)
    assert expecting.carry_keyspace()
    assert expecting.names_keyspace
    assert encoded(expecting, version=5).endswith(b"\0\2ks")
    # A USE has USE_ITSELF as its expected keyspace. This is an object, not the name of a keyspace,
    # so `carry_keyspace` has nothing to put into the request.
    without_keyspace = query_body(keyspace=None, expected=USE_ITSELF)
    assert not without_keyspace.carry_keyspace()
    assert not without_keyspace.names_keyspace


def test_an_execute_needs_no_keyspace() -> None:
    """An EXECUTE counts as a request that names its keyspace: that of the prepared statement."""
    body = all_bodies()["execute"]
    assert body.names_keyspace
    assert body.carry_keyspace()


# -- rendering again -------------------------------------------------------------------------------


@pytest.mark.parametrize("body_name", ["query", "batch", "execute"])
def test_a_body_is_rendered_once_for_each_wire_format(
    monkeypatch: pytest.MonkeyPatch, body_name: str
) -> None:
    """A body is encoded once for each wire format (here, the protocol version).

    The next attempt uses the same bytes, until `invalidate` is called.
    """
    body = all_bodies()[body_name]
    data = encoded(body, version=4)
    assert encoded(body, version=4) is data
    assert encoded(body, version=5) != data
    assert encoded(body, version=4) == data
    body.invalidate()
    rendered_again = encoded(body, version=4)
    assert rendered_again == data
    assert rendered_again is not data


@pytest.mark.parametrize("body_name", ["query", "execute", "batch", "message"])
def test_another_consistency_is_sent_from_then_on(body_name: str) -> None:
    """After `set_consistency`, only the level in the encoded request differs.

    A retry may use another level.
    """
    body = all_bodies()[body_name]
    data_before = encoded(body)
    body.set_consistency(ConsistencyLevel.ALL)
    data_after = encoded(body)
    assert len(data_after) == len(data_before)
    assert data_after != data_before
    assert body.consistency == ConsistencyLevel.ALL
    body.set_consistency(ConsistencyLevel.ALL)
    assert encoded(body) == data_after


def test_the_same_consistency_does_not_render_the_body_again() -> None:
    body = all_bodies()["query"]
    data_before = encoded(body)
    body.set_consistency(body.consistency)
    assert encoded(body) is data_before


@pytest.mark.parametrize("body_name", ["query", "execute", "message"])
def test_the_paging_state_is_sent_from_then_on(body_name: str) -> None:
    body = all_bodies()[body_name]
    assert b"state" not in encoded(body)
    assert not body.is_later_page
    body.set_paging_state(b"state")
    assert b"\0\0\0\5state" in encoded(body)
    assert body.is_later_page


def test_a_body_that_is_not_rendered_has_no_size() -> None:
    assert all_bodies()["query"].size == 0


def test_a_later_change_of_a_payload_does_not_change_the_prepare() -> None:
    """`PrepareBody` copies the custom payload, and refuses payload values that are not bytes."""
    payload: dict[str, Any] = {"mark": b"x"}
    body = PrepareBody("SELECT ?", keyspace=None, custom_payload=payload)
    payload["mark"] = b"y"
    assert body.custom_payload == {"mark": b"x"}
    with pytest.raises(TypeError):
        PrepareBody("SELECT ?", keyspace=None, custom_payload={"mark": 5})  # type: ignore[dict-item]


# -- prepared statements of bodies -----------------------------------------------------------------


def test_only_an_execute_has_the_columns_of_its_answer() -> None:
    """Only an EXECUTE, or its message, has cached metadata that describes the result.

    Other requests have no prepared statement, or several.
    """
    bodies = all_bodies()
    for body_name in ("query", "use", "prepare", "batch"):
        assert bodies[body_name].prepared_statements() == ()
        assert bodies[body_name].cached_metadata() is None
    for body_name in ("query", "use", "prepare"):
        assert bodies[body_name].prepared_by(b"old") is None
        assert list(bodies[body_name].bound_rows()) == []
    (prepared,) = bodies["execute"].prepared_statements()
    assert bodies["execute"].prepared_by(b"any") is prepared
    (prepared,) = bodies["message"].prepared_statements()
    assert bodies["message"].prepared_by(b"old") is prepared


def test_bound_rows_of_a_batch_have_their_positions() -> None:
    """`bound_rows` yields each row of values with its position, which error messages use.

    Rows and query strings count as positions.
    """
    prepared = prepared_statement()
    rows = prepared.bind_plan.bind_many([[1], [2]], 5)
    row = prepared.bind((3,)).block
    body = BatchBody(
        LOGGED, [(None, "INSERT"), (prepared, rows), (None, "INSERT"), (prepared, row)]
    )
    bound_rows = [(position, values) for position, _, values in body.bound_rows()]
    # The batch has a query string, two rows, another query string, and one more row.
    assert bound_rows == [
        ("statement 1: ", [int32_pack(1)]),
        ("statement 2: ", [int32_pack(2)]),
        ("statement 4: ", [int32_pack(3)]),
    ]
    assert body.count == 5
    assert body.describe() == "a batch of 5 that begins with 'INSERT'"
    assert len(values_of_rows(rows)) == 2
    assert values_of_rows(row) == (row,)


def test_an_execute_without_values_has_no_bound_rows() -> None:
    """An EXECUTE has one bound row, which has no position, or none if there are no bind markers."""
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
    ((position, _, values),) = bound_body.bound_rows()
    assert position == ""
    assert values == [int32_pack(5)]


def test_an_empty_batch_can_be_described() -> None:
    assert BatchBody(LOGGED, []).describe().startswith("a batch of 0 that begins with")
    prepared = prepared_statement()
    body = BatchBody(LOGGED, [(prepared, prepared.bind((5,)).block)])
    assert body.describe() == "a batch of 1 that begins with 'SELECT ?'"


def test_a_batch_that_exceeds_a_frame_is_refused_with_advice() -> None:
    body = BatchBody(LOGGED, [(None, "x" * (MAX_BODY + 1))])
    with pytest.raises(ValueError, match="make several batches of it"):
        rendered(body)


def test_only_the_values_of_the_changed_statement_are_bound_again() -> None:
    """If one statement of a batch is prepared again, only its values are encoded again.

    Here, its ints become bigints.
    """
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
    data_before = encoded(body)
    renewed = renewed_statement(changed)
    body.rebind(renewed)
    statements = [prepared for prepared, _ in body.statements]
    assert statements == [renewed.statement, other, None, renewed.statement]
    bound_rows = [values for _, _, values in body.bound_rows()]
    assert bound_rows == [
        [int64_pack(1)], [int64_pack(2)], [int32_pack(3)], [int64_pack(4)],
    ]  # fmt: skip
    # Three values are four bytes longer now.
    assert len(encoded(body)) == len(data_before) + 3 * 4


def test_a_request_without_values_cannot_be_bound_again() -> None:
    with pytest.raises(BindColumnsChanged):
        all_bodies()["query"].rebind(renewed_statement(prepared_statement()))


# -- messages --------------------------------------------------------------------------------------


def test_a_request_that_continues_after_its_prepare_keeps_what_listeners_have_set() -> None:
    """If a query with values is prepared first, its EXECUTE keeps the options set by a listener."""
    prepared = prepared_statement()
    query = QueryBody("SELECT ?")
    body = MessageBody(message_of(query), ApplicationHandler, query, decodes=True)
    body.message.consistency_level = ConsistencyLevel.ALL
    body.message.query = "changed"
    inner = ExecuteBody(prepared, prepared.bind((5,)).block)
    message = message_of(inner)
    next_body = body.succeed(inner, message)
    assert next_body.message is message
    assert next_body.inner is inner
    assert next_body.handler is ApplicationHandler
    assert next_body.decodes
    assert message.consistency_level == ConsistencyLevel.ALL
    assert getattr(message, "query", None) != "changed"
    assert message.query_params == [int32_pack(5)]


def test_the_session_decodes_the_answer_to_a_prepare() -> None:
    """The response to a PREPARE is always decoded, because the request needs it to continue."""
    assert PrepareBody("SELECT ?", keyspace=None, custom_payload=None).decodes


def test_a_batch_that_continues_has_the_statements_that_listeners_have_added() -> None:
    """If the query strings of a batch are prepared first, the batch keeps a listener's additions.

    The listener has added a statement to the first message. The batch is then sent with prepared
    statements.
    """
    prepared = prepared_statement()
    empty = BatchBody(LOGGED, [], "ks")
    body = message_body_of(empty)
    body.message.queries = [(False, "by a listener", ())]
    inner = BatchBody(LOGGED, [(prepared, prepared.bind((5,)).block)])
    next_body = body.succeed(inner, message_of(inner))
    assert [query for _, query, _ in next_body.message.queries] == [b"old", "by a listener"]
    assert next_body.message.keyspace == "ks"


@pytest.mark.parametrize(
    ("handler_decodes", "inner_name", "expected"),
    [
        pytest.param(False, "query", False, id="neither"),
        pytest.param(True, "query", True, id="handler"),
        pytest.param(False, "use", True, id="body"),
    ],
)
def test_a_message_decodes_its_answers_if_its_handler_or_its_body_does(
    handler_decodes: bool, inner_name: str, expected: bool
) -> None:
    """`MessageBody.decodes` is True if every response must be fully decoded.

    This is so if the protocol handler decodes responses itself, or if the wrapped body requires it.
    """
    inner = all_bodies()[inner_name]
    message_body = MessageBody(
        message_of(inner), ApplicationHandler, inner, decodes=handler_decodes
    )
    assert message_body.decodes is expected
