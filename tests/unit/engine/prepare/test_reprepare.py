"""`Reprepare`, which prepares a statement again if a host has forgotten it.

The tests use no sockets.
"""

from __future__ import annotations

import pickle
import uuid
import weakref
from contextlib import AsyncExitStack
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

import cassandra.engine.prepare.statements as statements_module
import cassandra.query.prepared as prepared_module
from cassandra.cluster import EXEC_PROFILE_DEFAULT, ExecutionProfile
from cassandra.cqltypes import Int32Type
from cassandra.engine.prepare.changes import SchemaChanges
from cassandra.engine.prepare.reprepare import Reprepare
from cassandra.errors import (
    BindColumnsChanged,
    ConnectionException,
    InvalidRequest,
    NoHostAvailable,
    ProtocolError,
)
from cassandra.marshal import int64_pack
from cassandra.policies import FallthroughRetryPolicy, RoundRobinPolicy
from cassandra.protocol.column_specs import ColumnMetadata
from cassandra.protocol.opcodes import ERROR, PREPARE, READY, RESULT
from cassandra.query import BatchStatement, PreparedStatement
from cassandra.testing.fake import ErrorCode, FakeCluster, FakeNode, Opcode, close, error
from tests.unit.engine.faults import connected
from tests.unit.engine.partners import fake_connection
from tests.unit.observing import Recorder
from tests.unit.protocol.wire import int32, short, string

SELECT = "SELECT v FROM t WHERE k = ?"


def select_statement() -> PreparedStatement:
    """Return a prepared SELECT with one bind marker, an int, which is the partition key."""
    columns = [ColumnMetadata("ks", "t", "k", Int32Type)]
    return PreparedStatement(
        columns,
        b"old",
        routing_key_indexes=[0],
        query=SELECT,
        keyspace="ks",
        protocol_version=4,
        result_metadata=None,
        result_metadata_id=None,
    )


def prepare_answer(column_name: str = "k", type_code: int = 9) -> bytes:
    """Return the body of the response to a PREPARE of a statement with one bind marker.

    See native_protocol_v4.spec, section 4.2.5.4.

    :param column_name: the name of the bind marker.
    :param type_code: the code of its type, by default int.
    """
    global_table_spec, no_metadata = 0x1, 0x4  # flags of the metadata
    kind = int32(4)
    query_id = short(3) + b"new"
    column_count, key_count, key_index = int32(1), int32(1), short(0)
    table = string("ks") + string("t")
    bind_metadata = int32(global_table_spec) + column_count + key_count + key_index + table
    column = string(column_name) + short(type_code)
    result_metadata = int32(no_metadata) + int32(0)
    return kind + query_id + bind_metadata + column + result_metadata


class RecordingRequest:
    """A fake request that records the calls of its methods in `calls`.

    `fail` records only the class of the error. The other attributes are what `Reprepare` reads.
    """

    done = False
    _retry_handle: Any = None
    session = SimpleNamespace(
        core=SimpleNamespace(
            random=Random(1),
            preparer=SimpleNamespace(
                all_with=lambda query_id: [],
                revoke_strangers=lambda query_id: None,
                key_of=lambda response: response.pk_indexes,
                renew_like=lambda *arguments: None,
                changes=SchemaChanges(),
            ),
            user_types={},
        )
    )

    def __init__(self) -> None:
        self.calls: list[Any] = []
        self.request_body = SimpleNamespace(batched_statements=list)

    def resend(self, attempt: Any) -> None:
        self.calls.append(("resend", attempt))

    def fail(self, error: BaseException) -> None:
        self.calls.append(type(error))

    def on_reprepare_failed(self, attempt: Any, error: Exception) -> None:
        self.calls.append((attempt, error))


def reprepare_step(**attributes: Any) -> tuple[RecordingRequest, PreparedStatement, Reprepare, Any]:
    """Return a request, its statement, the `Reprepare` step, and the connection.

    The connection lists in `sent` what the step sends.

    :param attributes: attributes of the fake connection.
    """
    request, statement = RecordingRequest(), select_statement()
    sent: list[Any] = []
    connection = fake_connection(
        version=4, sent=sent, gate=None, **{"keyspace": "ks", **attributes}
    )
    step = Reprepare(request, "attempt", statement, connection)  # type: ignore[arg-type]
    if "send" not in attributes:
        connection.send = lambda *what: sent.append(what)
    return request, statement, step, connection


def respond(connection: Any, opcode: int, body: bytes) -> None:
    """Let the connection's last request get a response."""
    connection.sent[-1][0].on_response(connection, opcode, 0, body)


def test_after_the_prepare_the_request_is_sent_again() -> None:
    """`Reprepare` sends a PREPARE, adopts the id from its response, and sends the request again."""
    request, statement, step, connection = reprepare_step()
    step.start()
    assert [sent[1:] for sent in connection.sent] == [
        (PREPARE, 0, int32(len(SELECT)) + SELECT.encode())
    ]
    respond(connection, RESULT, prepare_answer())
    assert statement.query_id == b"new"
    assert request.calls == [("resend", "attempt")]


def test_a_statement_is_found_by_its_new_id() -> None:
    """After the new version of a server has given it another id, a statement has both indexes.

    Otherwise it would not be compared with later answers to a PREPARE that have the new id.
    """
    _, statement, step, connection = reprepare_step()
    prepared_module.remember(statement)
    step.start()
    respond(connection, RESULT, prepare_answer())
    assert statement in prepared_module.statements_with(b"new")
    assert statement not in prepared_module.statements_with(b"old")
    assert statement in prepared_module.statements_made_with(b"old")


def test_a_change_of_the_table_meanwhile_repeats_the_prepare(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A response that may be older than a schema change is not used.

    Changes that do not affect the statement do not matter.
    """
    request, statement, step, connection = reprepare_step()
    step.start()
    preparer = request.session.core.preparer
    changes = SchemaChanges().with_change(lambda prepared: prepared is statement)
    monkeypatch.setattr(preparer, "changes", changes)
    respond(connection, RESULT, prepare_answer())
    assert (len(connection.sent), request.calls) == (2, [])
    monkeypatch.setattr(preparer, "changes", changes.with_change(lambda prepared: False))
    respond(connection, RESULT, prepare_answer())
    assert (len(connection.sent), request.calls) == (2, [("resend", "attempt")])


def test_an_error_of_the_prepare_fails_the_request() -> None:
    """If the server refuses the PREPARE, the request fails with the server's error.

    The statement keeps its old id.
    """
    request, statement, step, connection = reprepare_step()
    invalid = 0x2200  # the protocol's code of this error
    step.start()
    respond(connection, ERROR, int32(invalid) + string("no such table"))
    assert request.calls == [InvalidRequest]
    assert statement.query_id == b"old"


def test_an_unexpected_answer_closes_the_connection() -> None:
    request, _, step, connection = reprepare_step()
    step.start()
    respond(connection, READY, b"")
    assert request.calls == [ProtocolError]
    assert connection.closed


def test_if_the_connection_is_lost_the_next_host_is_tried() -> None:
    """If the PREPARE cannot be sent or its connection is lost, the next host is tried.

    The request is notified with the connection's error.
    """
    error = ConnectionException("lost")

    def send(*what: Any) -> None:
        raise error

    request, _, step, connection = reprepare_step(send=send)
    step.start()
    assert request.calls == [("attempt", error)]
    request, _, step, connection = reprepare_step()
    step.start()
    connection.sent[0][0].on_connection_lost(connection, error)
    assert [(attempt, str(lost)) for attempt, lost in request.calls] == [("attempt", "lost")]
    assert (request._retry_handle, connection.prepares) == (None, {})


@pytest.mark.parametrize(
    "answer",
    [
        error(ErrorCode.OVERLOADED),
        error(ErrorCode.IS_BOOTSTRAPPING),
        error(ErrorCode.SERVER_ERROR),
        close(),
    ],
)
async def test_another_host_is_used_if_one_cannot_prepare(answer: Any) -> None:
    """A host that has just started may have forgotten all, and may be overloaded.

    It has not executed the statement, so it does not matter that the statement is not idempotent.
    """
    with FakeCluster(2) as nodes:
        for node in nodes.nodes:
            node.prime_prepare(SELECT, [("k", "int")], pk_indexes=[0])
        profile = ExecutionProfile(RoundRobinPolicy(), FallthroughRetryPolicy())
        profiles, recorder = {EXEC_PROFILE_DEFAULT: profile}, Recorder()
        async with connected(nodes, execution_profiles=profiles, request_observers=[recorder]) as (
            _,
            session,
        ):
            select = await session.prepare(SELECT)
            for key in range(4):
                nodes.nodes[0].forget_prepared()
                nodes.nodes[0].prime(Opcode.PREPARE, answer)
                await session.execute(select, (key,))
            decisions = [event[2] for event in recorder.events if event[0] == "retry"]
            assert set(decisions) == {"prepare", "retry next host"}
            # Without another host, the error is that of the host.
            nodes.nodes[1].forget_prepared()
            nodes.nodes[1].prime(Opcode.PREPARE, answer)
            with pytest.raises(NoHostAvailable):
                await session.execute(select, (5,))


def test_the_answer_is_ignored_if_the_request_has_ended() -> None:
    """If the request ends during its PREPARE, the response is ignored.

    The request may time out, for example. It is not sent, and the statement keeps its old id.
    """
    request, statement, step, connection = reprepare_step()
    step.start()
    # `done` is True when the request has ended, here as if it had timed out.
    request.done = True
    respond(connection, RESULT, prepare_answer())
    assert request.calls == []
    assert statement.query_id == b"old"


def requests_of_one_statement(count: int) -> tuple[list[RecordingRequest], list[Reprepare], Any]:
    """Return requests with equal statements, their steps, and their connection."""
    first, _, step, connection = reprepare_step(abandoned=[])
    connection.abandon = lambda stream, responder: connection.abandoned.append(responder)
    connection.send = lambda *what: connection.sent.append(what) or len(connection.sent)
    requests, steps = [first], [step]
    for _ in range(count - 1):
        requests.append(RecordingRequest())
        steps.append(Reprepare(requests[-1], "attempt", select_statement(), connection))  # type: ignore[arg-type]
    for step in steps:
        step.start()
    return requests, steps, connection


def test_requests_share_the_prepare_of_a_statement() -> None:
    """One that gives up leaves the PREPARE to the others, in whose order they are sent again."""
    requests, steps, connection = requests_of_one_statement(3)
    requests[1].done = True
    steps[1].cancel()
    assert (len(connection.sent), connection.abandoned) == (1, [])
    respond(connection, RESULT, prepare_answer())
    resent = [("resend", "attempt")]
    assert [request.calls for request in requests] == [resent, [], resent]
    assert connection.prepares == {}


def test_a_lost_response_costs_one_request() -> None:
    """If the first request gives up, the others prepare again, and later ones do not join it."""
    requests, steps, connection = requests_of_one_statement(3)
    lost = connection.sent[0][0]
    requests[0].done = True
    steps[0].cancel()
    assert (len(connection.sent), connection.abandoned) == (2, [lost])
    later = RecordingRequest()
    Reprepare(later, "attempt", select_statement(), connection).start()  # type: ignore[arg-type]
    assert len(connection.sent) == 2
    # They try again only once.
    requests[1].done = True
    steps[1].cancel()
    assert (len(connection.sent), connection.abandoned) == (3, [lost])
    connection.sent[1][0].on_response(connection, RESULT, 0, prepare_answer())
    assert (requests[2].calls, later.calls) == ([("resend", "attempt")], [])
    respond(connection, RESULT, prepare_answer())
    assert later.calls == [("resend", "attempt")]


def test_an_error_of_a_shared_prepare_fails_one_request() -> None:
    """The error may be transient, so the others prepare the statement again, but only once."""
    requests, _, connection = requests_of_one_statement(3)
    body = int32(0x2200) + string("no")
    respond(connection, ERROR, body)
    assert len(connection.sent) == 2
    assert [request.calls for request in requests] == [[InvalidRequest], [], []]
    respond(connection, ERROR, body)
    assert len(connection.sent) == 2
    assert [request.calls for request in requests] == [[InvalidRequest]] * 3


def test_a_shared_prepare_is_abandoned_when_no_request_awaits_it() -> None:
    _, steps, connection = requests_of_one_statement(2)
    responder = connection.sent[0][0]
    for step in reversed(steps):
        assert connection.abandoned == []
        step.cancel()
    assert (connection.abandoned, connection.prepares) == ([responder], {})


def test_each_request_gets_its_own_error_of_a_shared_prepare() -> None:
    """A traceback, a context and notes belong to one caller."""
    requests, _, connection = requests_of_one_statement(2)
    connection.sent[0][0].on_connection_lost(connection, ConnectionException("lost"))
    (_, first), (_, second) = (call for request in requests for call in request.calls)
    assert first is not second


def test_no_request_joins_a_prepare_that_is_older_than_a_schema_change(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    requests, _, connection = requests_of_one_statement(1)
    changes = SchemaChanges().with_change(lambda prepared: True)
    monkeypatch.setattr(requests[0].session.core.preparer, "changes", changes)
    second = RecordingRequest()
    Reprepare(second, "attempt", select_statement(), connection).start()  # type: ignore[arg-type]
    assert len(connection.sent) == 2


WRITE = "INSERT INTO t (k, v) VALUES (?, ?)"


def recreate_table(node: FakeNode, cql_type: str, key: int = 0) -> None:
    """Let the node forget its statements, and then prepare WRITE with another type of column `v`.

    This is as if the table were dropped and created again with another type.

    :param key: the position of the partition key: 1 if it is `v`.
    """
    node.prime_prepare(WRITE, [("k", "int"), ("v", cql_type)], pk_indexes=[key])
    node.forget_prepared()


@pytest.mark.simulated
@pytest.mark.parametrize("prepares_again", [False, True], ids=["executed", "prepared again"])
async def test_all_statements_with_the_same_id_get_the_new_partition_key(
    prepares_again: bool,
) -> None:
    """If the partition key changes, every statement with the same id is routed by the new one.

    This includes statements that were bound before, and batches. A server that knows the id again
    does not report the other statements as unprepared.
    """
    with FakeNode() as node:
        recreate_table(node, "int")
        async with connected(node) as (_, session):
            statements = [await session.prepare(WRITE) for _ in range(2)]
            bound_statements = [prepared.bind((1, 7)) for prepared in statements]
            batches = [BatchStatement().add(bound) for bound in bound_statements]
            batches += [BatchStatement().add(prepared, (1, 7)) for prepared in statements]
            everything: list[Any] = [*bound_statements, *batches]
            assert {statement.routing_key for statement in everything} == {int32(1)}
            recreate_table(node, "int", key=1)
            if prepares_again:
                await session.prepare(WRITE)
            else:
                await session.execute(bound_statements[0])
            assert [prepared.routing_key_indexes for prepared in statements] == [[1], [1]]
            assert {statement.routing_key for statement in everything} == {int32(7)}
            # If the type of the key's column changes, too, no value of the statements is the key.
            recreate_table(node, "bigint", key=1)
            await session.execute(bound_statements[0])
            assert [prepared.routing_key_indexes for prepared in statements] == [None, None]
            assert {statement.routing_key for statement in everything} == {None}
            # The statements are used as before as soon as the table has its old columns.
            recreate_table(node, "int")
            for bound in bound_statements:
                await session.execute(bound)
            assert {statement.routing_key for statement in everything} == {int32(1)}


@pytest.mark.simulated
async def test_cached_query_strings_get_the_new_partition_key() -> None:
    """If the partition key changes, query strings with markers are routed by the new one."""
    with FakeNode() as node:
        recreate_table(node, "int")
        async with connected(node) as (_, session):
            await session.execute(WRITE, (1, 7))
            recreate_table(node, "int", key=1)
            await session.execute(WRITE, (1, 7))
            prepared: Any = session._prepared_texts.get((session.keyspace, WRITE))
            assert prepared.routing_key_indexes == [1]


@pytest.mark.simulated
@pytest.mark.parametrize("prepares_again", [False, True], ids=["executed", "prepared again"])
async def test_all_statements_with_the_same_id_are_bound_again(prepares_again: bool) -> None:
    """If column types change, every statement with the same id is bound again or raises an error.

    The server gives the statements the same ID, and would accept bytes of the old types.
    """
    with FakeNode() as node:
        recreate_table(node, "int")
        async with connected(node) as (_, session):
            statements = [await session.prepare(WRITE) for _ in range(3)]
            # The column's new type is bigint, so the values must be sent with 8 bytes.
            recreate_table(node, "bigint")
            renewed = await session.prepare(WRITE) if prepares_again else None
            for prepared in statements:
                for _ in range(2):
                    await session.execute(prepared, (1, 7))
                    values: Any = node.queries()[-1].values
                    assert values == [int32(1), int64_pack(7)]
            # An int does not fit the next type of the column, so each statement must raise an
            # error.
            recreate_table(node, "uuid")
            if renewed is not None:
                renewed = await session.prepare(WRITE)
                await session.execute(renewed, (1, uuid.uuid4()))
            for prepared in statements:
                with pytest.raises(BindColumnsChanged):
                    await session.execute(prepared, (1, 7))


@pytest.mark.simulated
async def test_a_batch_of_statements_with_the_same_id_is_bound_again() -> None:
    """If a statement of a batch is prepared again, its values are encoded for the new type.

    This includes all statements of the batch with the same id.
    """
    with FakeNode() as node:
        recreate_table(node, "int")
        async with connected(node) as (_, session):
            first, second = await session.prepare(WRITE), await session.prepare(WRITE)
            recreate_table(node, "bigint")
            batch = BatchStatement().add(first, (1, 7)).add(second, (2, 7)).add(first, (3, 7))
            for _ in range(2):
                await session.execute(batch)
                sent_values = [statement.values for statement in node.queries()[-1].statements]
                assert sent_values == [[int32(key), int64_pack(7)] for key in (1, 2, 3)]


@pytest.mark.parametrize("has_other_cluster", [False, True])
async def test_a_batch_of_unpickled_statements_is_prepared_once(
    has_other_cluster: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each statement was unpickled on its own, so none has an id that servers know.

    The same holds if a second cluster is open: the statements belong to the first that executes
    them.
    """
    # Leave out the clusters and statements of other tests that were not freed yet.
    monkeypatch.setattr(statements_module, "_preparers", weakref.WeakValueDictionary())
    monkeypatch.setattr(prepared_module, "_schema_readers", weakref.WeakValueDictionary())
    monkeypatch.setattr(prepared_module, "_references", {})
    monkeypatch.setattr(prepared_module, "_unpickled_lately", {})
    insert = "INSERT INTO ks.t (k) VALUES (?)"
    with FakeNode() as node:
        node.prime_prepare(insert, [("k", "int")], pk_indexes=[0])
        async with AsyncExitStack() as stack:
            clusters = [
                await stack.enter_async_context(connected(node))
                for _ in range(1 + has_other_cluster)
            ]
            session = clusters[0][1]
            prepared = await session.prepare(insert)
            pickled = [pickle.dumps(prepared.bind((number,))) for number in range(5)]
            # No statement with this id is known any more.
            prepared.query_id = b"other"
            batch = BatchStatement()
            for item in pickled:
                batch.add(pickle.loads(item))
            node.forget_requests()
            await session.execute(batch)
            opcodes = [request.opcode for request in node.requests]
            assert opcodes.count(Opcode.PREPARE) == 1
            assert opcodes.count(Opcode.BATCH) == 2
            values = [statement.values for statement in node.requests[-1].statements]
            assert values == [[int32(number)] for number in range(5)]
