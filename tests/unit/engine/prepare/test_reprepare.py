"""If a host has forgotten a statement, the statement is prepared again. The tests use no socket."""

from __future__ import annotations

import uuid
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from cassandra.cqltypes import Int32Type
from cassandra.engine.prepare.reprepare import Reprepare
from cassandra.errors import BindColumnsChanged, ConnectionException, InvalidRequest, ProtocolError
from cassandra.protocol.column_specs import ColumnMetadata
from cassandra.protocol.opcodes import ERROR, PREPARE, READY, RESULT
from cassandra.query import BatchStatement, PreparedStatement
from cassandra.testing.fake import FakeNode
from tests.unit.engine.faults import connected
from tests.unit.engine.partners import fake_connection
from tests.unit.protocol.wire import int32, short, string

TEXT = "SELECT v FROM t WHERE k = ?"


def prepared() -> PreparedStatement:
    columns = [ColumnMetadata("ks", "t", "k", Int32Type)]
    return PreparedStatement(
        columns,
        b"old",
        [0],
        TEXT,
        "ks",
        protocol_version=4,
        result_metadata=None,
        result_metadata_id=None,
    )


def prepare_answer(column_name: str = "k", type_code: int = 9) -> bytes:
    """Return the answer to a PREPARE of a statement with one bind column.

    See native_protocol_v4.spec, section 4.2.5.4.
    """
    bind_metadata = int32(1) + int32(1) + int32(1) + short(0) + string("ks") + string("t")
    # These are the kind "prepared", the id, the metadata with one column, and no result columns.
    return (
        int32(4)
        + short(3)
        + b"new"
        + bind_metadata
        + string(column_name)
        + short(type_code)
        + int32(4)
        + int32(0)
    )


class RecordingRequest:
    """A fake request that records which of its methods were called."""

    done = False
    _retry_handle: Any = None
    session = SimpleNamespace(
        core=SimpleNamespace(
            random=Random(1), preparer=SimpleNamespace(all_with=lambda query_id: [])
        )
    )

    def __init__(self) -> None:
        self.calls: list[Any] = []
        self.request_body = SimpleNamespace()

    def resend(self, attempt: Any) -> None:
        self.calls.append(("resend", attempt))

    def fail(self, error: BaseException) -> None:
        self.calls.append(type(error))

    def on_reprepare_failed(self, attempt: Any, error: Exception) -> None:
        self.calls.append((attempt, error))


def reprepare_step(**attributes: Any) -> tuple[RecordingRequest, PreparedStatement, Reprepare, Any]:
    """Return a request, its statement, the step that prepares the statement again, and the
    connection.

    :param attributes: attributes of the fake connection.
    """
    request, statement = RecordingRequest(), prepared()
    sent: list[Any] = []
    connection = fake_connection(
        version=4, sent=sent, gate=None, **{"keyspace": "ks", **attributes}
    )
    step = Reprepare(request, "attempt", statement, connection)  # type: ignore[arg-type]
    if "send" not in attributes:
        connection.send = lambda *what: sent.append(what)
    return request, statement, step, connection


def test_after_the_prepare_the_request_is_sent_again() -> None:
    request, statement, step, contact = reprepare_step()
    step.start()
    assert contact.sent == [(step, PREPARE, 0, int32(len(TEXT)) + TEXT.encode())]
    step.on_response(contact, RESULT, 0, prepare_answer())
    assert statement.query_id == b"new"
    assert request.calls == [("resend", "attempt")]


def test_an_error_of_the_prepare_fails_the_request() -> None:
    request, statement, step, contact = reprepare_step()
    step.on_response(contact, ERROR, 0, int32(0x2200) + string("no such table"))
    assert (request.calls, statement.query_id) == ([InvalidRequest], b"old")


def test_an_unexpected_answer_closes_the_connection() -> None:
    request, _, step, contact = reprepare_step()
    step.on_response(contact, READY, 0, b"")
    assert request.calls == [ProtocolError]
    assert contact.closed


def test_if_the_connection_is_lost_the_next_host_is_tried() -> None:
    """The attempt fails with the error of the connection, both if the PREPARE cannot be sent, and
    if the connection is lost afterwards.
    """
    error = ConnectionException("lost")

    def send(*what: Any) -> None:
        raise error

    request, _, step, contact = reprepare_step(send=send)
    step.start()
    step.on_connection_lost(contact, error)
    assert request.calls == [("attempt", error)] * 2


def test_the_answer_is_ignored_if_the_request_has_ended() -> None:
    request, statement, step, contact = reprepare_step()
    request.done = True
    step.on_response(contact, RESULT, 0, prepare_answer())
    assert (request.calls, statement.query_id) == ([], b"old")


WRITE = "INSERT INTO t (k, v) VALUES (?, ?)"


def recreate_table(node: FakeNode, cql_type: str) -> None:
    """Make the node forget its statements, and prepare `WRITE` with another type of column `v`.

    It is as if the table had been dropped, and created again with another type.
    """
    node.prime_prepare(WRITE, [("k", "int"), ("v", cql_type)], pk_indexes=[0])
    node.forget_prepared()


@pytest.mark.simulated
@pytest.mark.parametrize("prepares_again", [False, True], ids=["executed", "prepared again"])
async def test_all_statements_with_the_same_id_are_bound_again(prepares_again: bool) -> None:
    """If the column types change, every statement with the id is bound again, or raises an error.

    The server gives the statements the same id, and would accept bytes of the old types.
    """
    with FakeNode() as node:
        recreate_table(node, "int")
        async with connected(node) as (_, session):
            statements = [await session.prepare(WRITE) for _ in range(3)]
            recreate_table(node, "bigint")
            renewed = await session.prepare(WRITE) if prepares_again else None
            for prepared in statements:
                for _ in range(2):
                    await session.execute(prepared, (1, 7))
                    values: Any = node.queries()[-1].values
                    # The encoded value shows its type: a bigint has 8 bytes, an int has 4.
                    assert len(values[1]) == 8
            recreate_table(node, "uuid")
            if renewed is not None:
                renewed = await session.prepare(WRITE)
                await session.execute(renewed, (1, uuid.uuid4()))
            for prepared in statements:
                with pytest.raises(BindColumnsChanged):
                    await session.execute(prepared, (1, 7))


@pytest.mark.simulated
async def test_a_batch_of_statements_with_the_same_id_is_bound_again() -> None:
    with FakeNode() as node:
        recreate_table(node, "int")
        async with connected(node) as (_, session):
            first, second = await session.prepare(WRITE), await session.prepare(WRITE)
            recreate_table(node, "bigint")
            batch = BatchStatement().add(first, (1, 7)).add(second, (2, 7)).add(first, (3, 7))
            for _ in range(2):
                await session.execute(batch)
                sent: list[Any] = [statement.values for statement in node.queries()[-1].statements]
                # The values are the keys, and a bigint of 8 bytes for each.
                assert [(key[-1], len(value)) for key, value in sent] == [(1, 8), (2, 8), (3, 8)]
