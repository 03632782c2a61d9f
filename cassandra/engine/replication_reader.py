"""Reading the replication of all keyspaces."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from cassandra.metadata.replication import ReplicationStrategy

__all__ = ["read_replication"]

REPLICATION_QUERY = "SELECT keyspace_name, replication FROM system_schema.keyspaces"


async def read_replication(
    query: Callable[[str], Awaitable[list[dict[str, Any]]]],
) -> Mapping[str, ReplicationStrategy | None]:
    """The replication strategy of each keyspace. `query` runs one statement on the control connection."""
    found = {}
    for row in await query(REPLICATION_QUERY):
        options = dict(row["replication"] or {})
        found[row["keyspace_name"]] = ReplicationStrategy.create(options.get("class", ""), options)
    return found
