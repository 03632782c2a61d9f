"""Messages that say the same as request bodies, byte by byte."""

from __future__ import annotations

from typing import Any

import pytest

from cassandra.client.messages import message_of
from cassandra.cqltypes import Int32Type
from cassandra.engine.request_bodies import BatchBody, ExecuteBody, MessageBody, QueryBody
from cassandra.protocol.column_specs import ColumnMetadata
from cassandra.protocol.messages.requests import QueryMessage
from cassandra.query import PreparedStatement

PREPARED = PreparedStatement(
    [ColumnMetadata("ks", "t", "k", Int32Type)], b"id", [0], "SELECT ?", "ks", 5, None, None
)


def settled(body: Any) -> Any:
    """The same settings for every body."""
    body.consistency, body.serial_consistency = 4, 9
    body.page_size, body.paging_state, body.timestamp = 7, b"state", 123456789
    body.tracing, body.custom_payload = True, {"a": b"1"}
    return body


def made(kind: str) -> Any:
    if kind == "query":
        return settled(QueryBody("SELECT 1", "ks"))
    if kind == "execute":
        return settled(ExecuteBody(PREPARED, PREPARED.bind((5,)).block))
    statements = [(None, "SELECT 1"), (PREPARED, PREPARED.bind((5,)).block)]
    return settled(BatchBody(1, statements, "ks"))


@pytest.mark.parametrize("kind", ["query", "execute", "batch"])
def test_settings_are_taken_over(kind: str) -> None:
    body = made(kind)
    message = message_of(body)
    assert (message.consistency_level, message.serial_consistency_level) == (4, 9)
    assert (message.timestamp, message.tracing) == (123456789, True)
    assert message.custom_payload == {"a": b"1"}
    assert message.custom_payload is not body.custom_payload
    if kind != "batch":
        assert (message.fetch_size, message.paging_state) == (7, b"state")


def test_what_each_kind_says() -> None:
    assert message_of(made("query")).query == "SELECT 1"
    execute = message_of(made("execute"))
    assert (execute.query_id, execute.query_params) == (b"id", [b"\0\0\0\x05"])
    batch = message_of(made("batch"))
    assert batch.queries == [(False, "SELECT 1", ()), (True, b"id", [b"\0\0\0\x05"])]


def test_metadata_is_left_out_only_if_its_id_travels() -> None:
    body = made("execute")
    assert message_of(body).skip_meta is False
    for metadata, metadata_id, skipped in ((object(), b"x", True), (None, b"x", False)):
        body.prepared.result_metadata_and_id = (metadata, metadata_id)
        found = message_of(body)
        assert (found.skip_meta, found.result_metadata_id) == (skipped, metadata_id)
    body.prepared.result_metadata_and_id = (None, None)


def test_a_program_s_own_message_and_what_has_none() -> None:
    message = QueryMessage("SELECT 1", 1)
    assert message_of(MessageBody(message, None, made("query"), False)) is message
    with pytest.raises(TypeError, match="there is no message for 5"):
        message_of(5)  # type: ignore[arg-type]
