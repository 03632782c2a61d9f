"""Each public name that neither cassandra-driver nor scylla-driver documents is listed here.

Listed names are meant for applications. Names that only the engine uses begin with an underscore.
"""

from __future__ import annotations

from typing import Any

import pytest

from cassandra import aio, cluster
from cassandra._habits import Habit
from cassandra.client.settings.table import ClusterSettings
from cassandra.metadata import Metadata
from tests.unit.drop_in.test_names import NAMES

# Names of the cluster classes of both APIs.
CLUSTERS = {
    "add_request_observer", "codecs", "is_shard_aware", "is_shutdown", "profile_manager",
    "refresh_materialized_view_metadata", "remove_request_observer", "report", "shard_aware_stats",
}  # fmt: skip
SESSIONS = {
    "add_request_observer", "batch_size_warn_threshold", "cluster", "codecs", "count",
    "default_vector_type", "execute_concurrent", "get_pool_state", "get_pools", "is_shutdown",
    "keyspace", "load", "max_trace_wait", "prepare_all", "remove_request_observer",
    "request_capacity", "scan", "unload",
}  # fmt: skip
RESULTS = {
    "all_tuples", "arrow_batches", "column_names", "column_types", "to_arrow", "to_numpy",
    "to_pandas", "to_polars",
}  # fmt: skip

# For each class, the public names that are listed here.
OURS: dict[Any, set[str]] = {
    # Some of these are undocumented names of cassandra-driver (see `cassandra._compat`).
    cluster.Cluster: CLUSTERS | {
        "connection_factory", "control_connection", "executor", "get_connection_holders", "on_add",
        "on_down", "on_remove", "on_up", "sessions",
    },
    aio.Cluster: CLUSTERS,
    cluster.Session: SESSIONS | {
        "execute_concurrent_async", "execute_concurrent_with_args", "hosts", "submit",
        "user_type_registered", "write_head_start",
    },
    aio.Session: SESSIONS,
    cluster.ResultSet: RESULTS | {"next", "response_future"},
    aio.ResultSet: RESULTS | {
        "attempts", "coordinator_host", "custom_payload", "fetch_all", "is_schema_agreed",
        "trace_id", "warnings",
    },
    cluster.ResponseFuture: {
        "attempted_hosts", "attempts", "clear_callbacks", "coordinator_host", "error",
        "get_query_trace_ids", "is_over", "message", "paging_state", "prepared_statement",
        "request_encoded_size", "row_factory", "session", "timeout",
    },
    Metadata: {
        "can_support_partitioner", "get_replica_shards", "placement_version", "rebuild_token_map",
        "replication", "replication_of", "routing", "table_replicas", "token_metadata_enabled",
    },
    cluster.ExecutionProfile: {"clone", "request_observers"},
}  # fmt: skip


def documented(cls: type) -> set[str]:
    """Return the members of a class that cassandra-driver or scylla-driver documents."""
    parts = (entry.name.partition(".") for entry in NAMES)
    return {member for owner, _, member in parts if owner == cls.__name__}


@pytest.mark.parametrize("cls", OURS)
def test_no_other_name_is_public(cls: Any) -> None:
    """Each public name is documented by another driver, is a setting, or is in `OURS`."""
    public = {
        name
        for base in cls.__mro__
        if base.__module__.startswith("cassandra")
        for name, value in vars(base).items()
        # Names that only raise an error with advice do not count as public.
        if not name.startswith("_") and not isinstance(value, Habit)
    }
    settings = set(ClusterSettings._table) if issubclass(cls, ClusterSettings) else set()
    assert public - documented(cls) - settings - OURS[cls] == set()
