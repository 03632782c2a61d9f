"""From the settings of a cluster to those of its engine."""

from __future__ import annotations

import math
import sys
import weakref
from functools import partial
from typing import TYPE_CHECKING

from cassandra._version import DRIVER_NAME, __version__
from cassandra.client.identity import scylla_options
from cassandra.client.shard_awareness import ShardAwareOptions
from cassandra.engine.connection import Connection
from cassandra.engine.control.query_fallback import fallback_of
from cassandra.engine.settings import Settings

if TYPE_CHECKING:
    from cassandra.client.configuration import ClusterBase

__all__ = ["settings_of"]


def settings_of(cluster: ClusterBase) -> Settings:
    """Return the settings of the engine for `cluster`."""
    # The engine holds the sizes, not the cluster, which can be collected if nobody holds it.
    sizes = cluster._core_connections
    options = cluster.shard_aware_options or ShardAwareOptions()
    return Settings(
        connections_per_host=lambda distance: sizes.get(distance, 1),
        connection_class=cluster.connection_class or Connection,
        endpoints=cluster.endpoints_resolved,
        named_endpoints=cluster._named_endpoints,
        find_endpoints=cluster._cloud.ask if cluster._cloud is not None else None,
        endpoint_factory=cluster.endpoint_factory,
        reconnection_policy=cluster.reconnection_policy,
        conviction_policy_factory=cluster.conviction_policy_factory,
        protocol_version=cluster.protocol_version if cluster._has_named_version else None,
        first_protocol_version=cluster.protocol_version,
        allow_beta_protocol_version=cluster.allow_beta_protocol_version,
        auth_provider=cluster.auth_provider,
        compression=_compression(cluster.compression),
        cql_version=cluster.cql_version,
        startup_options=_startup_options(cluster),
        scylla_options=partial(scylla_options, weakref.proxy(cluster)),
        tls=cluster._tls,
        sockopts=cluster.sockopts or (),
        # None and 0 mean no limit to programs; the engine counts with a number.
        connect_timeout=cluster.connect_timeout if cluster.connect_timeout else 3600.0,
        control_connection_timeout=cluster.control_connection_timeout,
        max_schema_agreement_wait=cluster.max_schema_agreement_wait,
        # None and 0 switch heartbeats off.
        idle_heartbeat_interval=cluster.idle_heartbeat_interval or 0.0,
        idle_heartbeat_timeout=cluster.idle_heartbeat_timeout,
        schema_metadata_enabled=cluster.schema_metadata_enabled,
        token_metadata_enabled=cluster.token_metadata_enabled,
        schema_metadata_page_size=cluster.schema_metadata_page_size,
        request_throttler=cluster.request_throttler,
        max_waiting_requests=_limit(cluster.max_waiting_requests),
        schema_read_timeout=cluster.schema_read_timeout,
        schema_metadata_keyspaces=cluster.schema_metadata_keyspaces,
        column_encryption_policy=cluster.column_encryption_policy,
        metadata_request_timeout=cluster._metadata_timeout(),
        schema_event_refresh_window=cluster.schema_event_refresh_window,
        topology_event_refresh_window=cluster.topology_event_refresh_window,
        status_event_refresh_window=cluster.status_event_refresh_window,
        prepare_on_all_hosts=cluster.prepare_on_all_hosts,
        reprepare_on_up=cluster.reprepare_on_up,
        client_routes=cluster._client_routes,
        query_fallback=fallback_of(cluster.allow_control_connection_query_fallback),
        shard_aware=not options.disable,
        shard_aware_port=not options.disable_shardaware_port,
        local_ports=options.local_ports,
    )


def _startup_options(cluster: ClusterBase) -> dict[str, str]:
    options = {
        "DRIVER_NAME": DRIVER_NAME,
        "DRIVER_VERSION": f"{__version__} ({sys.implementation.name} {sys.version.split()[0]})",
    }
    if cluster.no_compact:
        options["NO_COMPACT"] = "true"
    cluster._application().add_startup_options(options)
    if cluster.application_info is not None:
        cluster.application_info.add_startup_options(options)
    return options


def _compression(wanted: bool | str | None) -> bool | str:
    return wanted if isinstance(wanted, str) else bool(wanted)


def _limit(most: int | None) -> float:
    return math.inf if most is None else most
