"""Schema agreement: waiting until all live nodes report one schema version."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

log = logging.getLogger("cassandra.cluster")

# Only the versions are asked for: whole rows of a large cluster are tens of kilobytes.
LOCAL_VERSION_QUERY = "SELECT schema_version FROM system.local WHERE key = 'local'"
PEER_VERSIONS_QUERY = "SELECT peer, host_id, schema_version FROM system.peers"

FIRST_INTERVAL = 0.01
LONGEST_INTERVAL = 0.4


async def wait_for_agreement(
    query: Callable[[str], Awaitable[list[dict[str, Any]]]],
    is_live: Callable[[Any], bool],
    max_wait: float,
    clock: Callable[[], float],
) -> bool:
    """Ask until one version is left among live nodes; false after `max_wait` seconds.

    `query` runs one statement on the connection that the change was made on; `is_live` says by host id whether a peer counts. The
    intervals grow from 10 ms to 400 ms.
    """
    deadline = clock() + max_wait
    interval = FIRST_INTERVAL
    while True:
        local, peers = await asyncio.gather(query(LOCAL_VERSION_QUERY), query(PEER_VERSIONS_QUERY))
        versions = {row["schema_version"] for row in local}
        versions |= {row["schema_version"] for row in peers if row["schema_version"] and is_live(row["host_id"])}
        if len(versions) <= 1:
            return True
        if clock() + interval > deadline:
            log.warning("nodes still disagree on the schema after %s seconds: %s", max_wait, versions)
            return False
        await asyncio.sleep(interval)
        interval = min(interval * 1.7, LONGEST_INTERVAL)
