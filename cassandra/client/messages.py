"""Messages that say the same as a request body, for listeners and handlers of the program."""

from __future__ import annotations

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

__all__ = ["message_of"]


def message_of(request_body: AnyBody) -> Any:
    """Return the message that says the same as `request_body`."""
    params = request_body
    message: Any
    if isinstance(request_body, QueryBody):
        message = QueryMessage(
            request_body.query,
            params.consistency,
            params.serial_consistency,
            params.page_size,
            params.paging_state,
            params.timestamp,
            keyspace=params.keyspace,
        )
    elif isinstance(request_body, ExecuteBody):
        prepared = request_body.prepared
        metadata, metadata_id = prepared.result_metadata_and_id
        message = ExecuteMessage(
            prepared.query_id,
            params.values.values() if params.values is not None else [],
            params.consistency,
            params.serial_consistency,
            params.page_size,
            params.paging_state,
            params.timestamp,
            skip_meta=bool(metadata_id) and bool(metadata),
            result_metadata_id=metadata_id,
        )
    elif isinstance(request_body, BatchBody):
        message = BatchMessage(
            request_body.batch_type,
            _queries_of(request_body),
            params.consistency,
            params.serial_consistency,
            params.timestamp,
            params.keyspace,
        )
    elif isinstance(request_body, MessageBody):
        return request_body.message
    else:
        raise TypeError(f"there is no message for {request_body!r}")
    message.tracing = request_body.tracing
    message.custom_payload = (
        dict(request_body.custom_payload) if request_body.custom_payload else None
    )
    return message


def _queries_of(batch: BatchBody) -> list[tuple[bool, Any, Any]]:
    queries: list[tuple[bool, Any, Any]] = []
    for prepared, values in batch.statements:
        if prepared is None:
            queries.append((False, values, ()))
        else:
            queries += [
                (True, prepared.query_id, block.values()) for block in values_of_rows(values)
            ]
    return queries
