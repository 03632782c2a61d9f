"""Schema agreement: waiting until all live nodes report one schema version."""

from __future__ import annotations

import asyncio
import enum
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from cassandra.errors import DriverException

log = logging.getLogger("cassandra.cluster")

# Only the versions are asked for: whole rows of a large cluster are tens of kilobytes.
LOCAL_VERSION_QUERY = "SELECT schema_version FROM system.local WHERE key = 'local'"
PEER_VERSIONS_QUERY = "SELECT peer, host_id, schema_version FROM system.peers"

FIRST_INTERVAL = 0.01
LONGEST_INTERVAL = 0.4


class SchemaAgreementScope(str, enum.Enum):
    """The hosts that `Session.wait_for_schema_agreement` asks.

    They are the connected ones of the local rack, of the local data centre, or all. The load
    balancing policies say which are local; if they know no racks, the local rack is the local data
    centre.
    """

    RACK = "rack"
    DC = "dc"
    CLUSTER = "cluster"


async def wait_for_agreement(
    query: Callable[[str], Awaitable[list[dict[str, Any]]]],
    is_live: Callable[[Any], bool],
    is_over: Callable[[], bool],
    max_wait: float,
    clock: Callable[[], float],
) -> bool:
    """Ask until one version is left among live nodes; return False after `max_wait` seconds.

    A question that gets no answer is asked again, until the time is up: the change itself is made
    already.

    :param query: runs one statement, on the connection that the change was made on if that is still
        open.
    :param is_live: tells by host id if a peer counts.
    :param is_over: tells if the cluster is shut down, so that nobody will ever answer; the error is
        raised then.
    """

    async def versions() -> set[Any]:
        try:
            local, peers = await asyncio.gather(
                query(LOCAL_VERSION_QUERY), query(PEER_VERSIONS_QUERY)
            )
        except (DriverException, OSError) as error:
            if is_over():
                raise
            return {error, None}  # not one version
        found = {row["schema_version"] for row in local}
        return found | {
            row["schema_version"]
            for row in peers
            if row["schema_version"] and is_live(row["host_id"])
        }

    return await wait_for_one_version(versions, max_wait, clock)


async def wait_for_one_version(
    ask: Callable[[], Awaitable[set[Any]]], max_wait: float, clock: Callable[[], float]
) -> bool:
    """Ask for versions until there is but one; return False after `max_wait` seconds. The intervals
    grow from 10 ms to 400 ms.
    """
    deadline = clock() + max_wait
    interval = FIRST_INTERVAL
    while True:
        try:
            versions = await asyncio.wait_for(ask(), max(deadline - clock(), FIRST_INTERVAL))
        except asyncio.TimeoutError:
            log.warning(
                "nodes were asked for their schema versions, but did not answer within %s seconds",
                max_wait,
            )
            return False
        if len(versions) <= 1:
            return True
        if clock() + interval > deadline:
            log.warning(
                "nodes still disagree on the schema after %s seconds: %s", max_wait, versions
            )
            return False
        await asyncio.sleep(interval)
        interval = min(interval * 1.7, LONGEST_INTERVAL)


SchemaAgreementScope.__module__ = "cassandra.cluster"
