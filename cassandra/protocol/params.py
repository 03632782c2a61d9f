"""What QUERY, EXECUTE and BATCH have in common besides their statement (native_protocol_v5.spec,
section 4.1.4).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class QueryParams:
    """The <query_parameters> of one request.

    consistency: level of the operation. values: a `ValuesBlock`, or a sequence of bytes, None
    (null) and UNSET_VALUE; None for no values at all. value_names: a name for each value, QUERY
    only. page_size: rows; None for no paging. paging_state: as the previous page gave it.
    timestamp: microseconds since the epoch. keyspace, now_in_seconds (seconds since the epoch):
    version 5.
    """

    __slots__ = (
        "consistency",
        "keyspace",
        "now_in_seconds",
        "page_size",
        "paging_state",
        "serial_consistency",
        "skip_metadata",
        "timestamp",
        "value_names",
        "values",
    )

    def __init__(
        self,
        consistency: int,
        values: Any = None,
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
        self.values = values
        self.value_names = value_names
        self.skip_metadata = skip_metadata
        self.page_size = page_size
        self.paging_state = paging_state
        self.serial_consistency = serial_consistency
        self.timestamp = timestamp
        self.keyspace = keyspace
        self.now_in_seconds = now_in_seconds
