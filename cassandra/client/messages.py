"""Converts request bodies to message objects.

Request listeners and user-defined protocol handlers use these message objects.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cassandra.engine.request_bodies import (
    AnyBody,
    BatchBody,
    ExecuteBody,
    MessageBody,
    QueryBody,
    values_of_rows,
)
from cassandra.protocol.messages.requests import BatchMessage, ExecuteMessage, QueryMessage


def message_of(request_body: AnyBody) -> Any:
    """Return a message object with the same content as `request_body`."""
    if isinstance(request_body, MessageBody):
        return request_body.message
    for body_class, make_message in _MESSAGE_MAKERS:
        if isinstance(request_body, body_class):
            message = make_message(request_body)
            break
    else:
        raise TypeError(f"there is no message for {request_body!r}")
    message.tracing = request_body.tracing
    # Copy the payload, because listeners may add to it, and must not change the application's
    # mapping.
    payload = request_body.custom_payload
    message.custom_payload = dict(payload) if payload else None
    return message


def _make_query_message(body: QueryBody) -> QueryMessage:
    """Return a QUERY message with the content of `body`."""
    return QueryMessage(
        body.query,
        body.consistency,
        body.serial_consistency,
        body.page_size,
        body.paging_state,
        body.timestamp,
        keyspace=body.keyspace,
    )


def _make_execute_message(body: ExecuteBody) -> ExecuteMessage:
    """Return an EXECUTE message with the content of `body`."""
    # Use the metadata of the body, because it will decode the response. The prepared statement may
    # have newer metadata by now.
    metadata, metadata_id = body.result
    return ExecuteMessage(
        body.prepared.query_id,
        body.values.values() if body.values is not None else [],
        body.consistency,
        body.serial_consistency,
        body.page_size,
        body.paging_state,
        body.timestamp,
        # `skip_meta` allows the server to omit the columns from the response if `metadata_id` is
        # still current; otherwise the server sends the new columns. So set it only with an id.
        skip_meta=bool(metadata_id) and bool(metadata),
        result_metadata_id=metadata_id,
    )


def _make_batch_message(body: BatchBody) -> BatchMessage:
    """Return a BATCH message with the content of `body`."""
    queries: list[tuple[bool, Any, Any]] = []
    for statement, values in body.statements:
        if statement is None:  # `values` is a query string
            queries.append((False, values, ()))
        else:
            # Read the id only once, because it may change while the message is being created.
            query_id = statement.query_id
            queries += [(True, query_id, block.values()) for block in values_of_rows(values)]
    return BatchMessage(
        body.batch_type,
        queries,
        body.consistency,
        body.serial_consistency,
        body.timestamp,
        body.keyspace,
    )


# For each class of request bodies, the function that makes a message with the content of a body.
_MESSAGE_MAKERS: tuple[tuple[type, Callable[[Any], Any]], ...] = (
    (QueryBody, _make_query_message),
    (ExecuteBody, _make_execute_message),
    (BatchBody, _make_batch_message),
)
