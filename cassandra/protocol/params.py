"""The parameters of QUERY, EXECUTE and BATCH (native_protocol_v5.spec, section 4.1.4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from cassandra.errors import UnsupportedOperation

if TYPE_CHECKING:
    from cassandra.protocol.bind import ValuesBlock

Values: TypeAlias = "ValuesBlock | Sequence[object] | None"


class QueryParams:
    """The <query_parameters> of one request.

    :param consistency: the consistency level of the operation.
    :param values: a `ValuesBlock`, or a sequence whose items are bytes, None (null) or UNSET_VALUE.
        None if there are no values.
    :param value_names: a name for each value, for QUERY only.
    :param skip_metadata: True asks the server for rows without result metadata.
    :param page_size: the number of rows per page. None means no paging.
    :param paging_state: the paging state of the previous page, or None for the first page.
    :param serial_consistency: the consistency level of the first phase of a lightweight
        transaction. None uses the server's default.
    :param timestamp: microseconds since 1970. None uses the server's time.
    :param keyspace: the keyspace of tables without a keyspace in their name, from protocol version
        5 on. None uses the connection's keyspace.
    :param now_in_seconds: the time that the server uses as the current time, in seconds since 1970,
        from protocol version 5 on. None uses the server's clock.
    """

    __slots__ = (
        "consistency", "keyspace", "now_in_seconds", "page_size", "paging_state",
        "serial_consistency", "skip_metadata", "timestamp", "value_names", "values",
    )  # fmt: skip

    def __init__(
        self,
        consistency: int,
        values: Values = None,
        value_names: Sequence[str] | None = None,
        skip_metadata: bool = False,
        page_size: int | None = None,
        paging_state: bytes | None = None,
        serial_consistency: int | None = None,
        timestamp: int | None = None,
        keyspace: str | None = None,
        now_in_seconds: int | None = None,
    ) -> None:
        self.consistency = consistency
        # For a prepared statement, this is always a `ValuesBlock`.
        self.values: Any = values
        self.value_names = value_names
        self.skip_metadata = skip_metadata
        self.page_size = page_size
        self.paging_state = paging_state
        self.serial_consistency = serial_consistency
        self.timestamp = timestamp
        self.keyspace = keyspace
        self.now_in_seconds = now_in_seconds


def params_of(message: Any) -> QueryParams:
    """Return the parameters from the attributes of a `QueryMessage` or `ExecuteMessage`.

    :raises UnsupportedOperation: if the message asks for continuous paging.
    """
    if message.continuous_paging_options is not None:
        raise continuous_paging_refused()
    return QueryParams(
        message.consistency_level,
        message.query_params,
        None,  # value_names
        message.skip_meta,
        message.fetch_size,
        message.paging_state,
        message.serial_consistency_level,
        message.timestamp,
        message.keyspace,
        message.now_in_seconds,
    )


def continuous_paging_refused() -> UnsupportedOperation:
    """Return the error for a message that asks for continuous paging."""
    return UnsupportedOperation(
        "continuous paging belongs to the DSE protocol versions; this driver speaks 3, "
        "4 and 5 and pages by page"
    )
