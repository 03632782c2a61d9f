"""Test ScyllaDB nodes that do not report shards (``allow_shard_aware_drivers: false``)."""

from __future__ import annotations

from typing import Any

import pytest

from cassandra.protocol.features import ProtocolFeatures
from cassandra.testing.fake import FakeCluster, Scylla
from tests.unit.engine.faults import connected
from tests.waiting import until_on_loop


@pytest.mark.simulated
@pytest.mark.parametrize("shard_aware", [True, False])
async def test_schema_queries_are_for_scylladb_even_without_shards(shard_aware: bool) -> None:
    """A ScyllaDB node that reports no shards still gets the schema queries for ScyllaDB."""
    with FakeCluster(1, scylla=Scylla(2, shard_aware=shard_aware)) as nodes:
        nodes.scylla.keyspace("ks")
        nodes.scylla.table("ks", "t", {"k": "int"})
        async with connected(nodes, metadata_request_timeout=7) as (cluster, session):
            (host,) = cluster.metadata.all_hosts()
            assert (host.sharding_info is not None) is shard_aware
            assert "t" in cluster.metadata.keyspaces["ks"].tables
            queries = [request.query or "" for request in nodes.requests]
            schema_queries = [query for query in queries if "system_schema." in query]
            assert schema_queries
            assert all("USING TIMEOUT 7000ms" in query for query in schema_queries)
            assert not any("system_schema.indexes_" in query for query in queries)
            pool = session._engine.pools[host]
            # The pool has one connection for each of the two shards, or a single connection.
            await until_on_loop(lambda: len(pool.connections) == (2 if shard_aware else 1))
            (control,) = (
                connection for connection in nodes[0].connections if connection.event_types
            )
            # Only ScyllaDB gets the option DRIVER_CONFIG, so the driver has recognized ScyllaDB.
            assert "DRIVER_CONFIG" in control.options


@pytest.mark.parametrize(
    ("supported", "is_scylla"),
    [
        ({"CQL_VERSION": ["3.4.7"], "GRACEFUL_DISCONNECT": ["true"]}, False),
        ({"SCYLLA_LWT_ADD_METADATA_MARK": ["LWT_OPTIMIZATION_META_BIT_MASK=1"]}, True),
        ({"TABLETS_ROUTING_V1": [""]}, True),
        # The options that describe the sharding are missing, so the driver cannot compute shards.
        ({"SCYLLA_SHARD": ["0"]}, True),
    ],
)
def test_any_option_of_scylladb_shows_that_it_is_scylladb(supported: Any, is_scylla: bool) -> None:
    """Any single option of ScyllaDB in SUPPORTED is enough to recognize ScyllaDB."""
    assert ProtocolFeatures.parse_from_supported(supported).is_scylla is is_scylla
