"""`message_of`, which turns a request body into a message for listeners and protocol handlers."""

from __future__ import annotations

from typing import Any

import pytest

from cassandra import ConsistencyLevel
from cassandra.client.messages import message_of
from cassandra.cqltypes import Int32Type
from cassandra.engine.request_bodies import BatchBody, ExecuteBody, MessageBody, QueryBody
from cassandra.protocol.column_specs import ColumnMetadata
from cassandra.protocol.handler import ProtocolHandler
from cassandra.protocol.messages.requests import QueryMessage
from cassandra.query import PreparedStatement
from cassandra.testing.fake import FakeNode, Opcode, rows
from tests.unit.engine.faults import connected

SELECT = "SELECT * FROM t WHERE k = ?"

PREPARED = PreparedStatement(
    [ColumnMetadata("ks", "t", "k", Int32Type)], b"id", [0], "SELECT ?", "ks", 5, None, None
)


def with_options(body: Any) -> Any:
    """Set the same options on a request body of any class, and return the body."""
    body.consistency = ConsistencyLevel.QUORUM
    body.serial_consistency = ConsistencyLevel.LOCAL_SERIAL
    body.page_size, body.paging_state, body.timestamp = 7, b"state", 123456789
    body.tracing, body.custom_payload = True, {"a": b"1"}
    return body


def body_of(kind: str) -> Any:
    """Return the body of a request, with options set.

    :param kind: "query", "execute" or "batch".
    """
    if kind == "query":
        return with_options(QueryBody("SELECT 1", "ks"))
    if kind == "execute":
        return with_options(ExecuteBody(PREPARED, PREPARED.bind((5,)).block))
    statements = [(None, "SELECT 1"), (PREPARED, PREPARED.bind((5,)).block)]
    return with_options(BatchBody(1, statements, "ks"))


@pytest.mark.parametrize("kind", ["query", "execute", "batch"])
def test_a_message_has_the_options_of_its_body(kind: str) -> None:
    """The message has the consistency levels, timestamp, payload and paging options of its body."""
    body = body_of(kind)
    message = message_of(body)
    assert message.consistency_level == ConsistencyLevel.QUORUM
    assert message.serial_consistency_level == ConsistencyLevel.LOCAL_SERIAL
    assert (message.timestamp, message.tracing) == (123456789, True)
    assert message.custom_payload == {"a": b"1"}
    # A listener may change the payload of the message, so the message must have a copy.
    assert message.custom_payload is not body.custom_payload
    if kind != "batch":
        assert (message.fetch_size, message.paging_state) == (7, b"state")


def test_each_kind_of_message_has_its_fields() -> None:
    assert message_of(body_of("query")).query == "SELECT 1"
    execute = message_of(body_of("execute"))
    assert (execute.query_id, execute.query_params) == (b"id", [b"\0\0\0\x05"])
    batch = message_of(body_of("batch"))
    assert batch.queries == [(False, "SELECT 1", ()), (True, b"id", [b"\0\0\0\x05"])]


def test_metadata_is_skipped_only_if_it_is_known() -> None:
    """`skip_meta` is True only if the driver knows the columns of the prepared statement.

    With `skip_meta`, the server leaves the columns out of its response.
    """
    assert message_of(body_of("execute")).skip_meta is False
    for metadata, metadata_id, skipped in ((object(), b"x", True), (None, b"x", False)):
        PREPARED.result_metadata_and_id = (metadata, metadata_id)
        body = body_of("execute")
        # If the columns change after the body was created, its message must not change.
        PREPARED.result_metadata_and_id = (object(), b"later")
        message = message_of(body)
        assert (message.skip_meta, message.result_metadata_id) == (skipped, metadata_id)
    PREPARED.result_metadata_and_id = (None, None)


class OwnHandler(ProtocolHandler):
    """An application's protocol handler that decodes responses like the driver."""


@pytest.mark.simulated
@pytest.mark.parametrize("own_handler", [False, True], ids=["listener", "handler"])
async def test_after_preparing_again_rows_have_the_changed_columns(
    own_handler: bool,
) -> None:
    """Rows are decoded with the columns whose id was sent to the server, even after a change.

    If a request has the id of the current columns, the server leaves the columns out of its
    response. After preparing again, these are no longer the columns of the first PREPARE.
    """
    old_columns, new_columns = [("k", "int"), ("name", "text")], [("k", "int"), ("email", "text")]

    def answer(request: Any) -> Any:
        """Return the first or the second page, with the table's current columns."""
        columns = old_columns if current_names == ["name"] else new_columns
        return rows(columns, [(1, "a")], paging_state=None if request.paging_state else b"2")

    with FakeNode() as node:
        # The name of the table's second column at present.
        current_names = ["name"]
        node.prime(
            lambda request: request.query == SELECT and request.opcode == Opcode.EXECUTE, answer
        )
        async with connected(node) as (_, session):
            if own_handler:
                session.client_protocol_handler = OwnHandler
            else:
                session.add_request_init_listener(lambda future: None)
            node.prime_prepare(SELECT, [("k", "int")], old_columns, [0])
            prepared = await session.prepare(SELECT)
            result = await session.execute(prepared, (1,))
            assert result.column_names == ["k", "name"]
            current_names[:] = ["email"]
            node.prime_prepare(SELECT, [("k", "int")], new_columns, [0])
            node.forget_prepared()
            fields = [row._fields async for row in result]
            # The first page was requested before the change, and the second page after it.
            assert fields == [("k", "name"), ("k", "email")]
            node.forget_prepared()
            for _ in range(2):
                assert (await session.execute(prepared, (1,))).column_names == ["k", "email"]


def test_a_message_of_the_application_is_returned_unchanged() -> None:
    """If an application sends its own message, `message_of` returns this message."""
    message = QueryMessage("SELECT 1", 1)
    assert message_of(MessageBody(message, None, body_of("query"), False)) is message
    with pytest.raises(TypeError, match="there is no message for 5"):
        message_of(5)  # type: ignore[arg-type]
