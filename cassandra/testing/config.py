"""Writes the files that a node reads: cassandra.yaml, cassandra-rackdc.properties and logback.xml.

The values of cassandra.yaml are written as JSON, which is also valid YAML. So a setting may have
any value that JSON can represent.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from xml.sax.saxutils import escape

from cassandra.testing.topology import NodeLocation
from cassandra.testing.versions import CassandraVersion

# The default settings. Sizes are small and threads are few, because several nodes share one
# machine, and tests have little data.
_BASE: dict[str, Any] = {
    "cluster_name": "local",
    "partitioner": "org.apache.cassandra.dht.Murmur3Partitioner",
    "num_tokens": 4,
    "native_transport_port": 9042,
    "storage_port": 7000,
    "start_native_transport": True,
    # The snitch reads data centres and racks from cassandra-rackdc.properties.
    "endpoint_snitch": "GossipingPropertyFileSnitch",
    "commitlog_sync": "periodic",
    "commitlog_sync_period": "10000ms",
    # A segment is allocated as a whole, so a large segment would slow down each start.
    "commitlog_segment_size": "8MiB",
    "commitlog_total_space": "64MiB",
    "memtable_heap_space": "64MiB",
    "memtable_allocation_type": "heap_buffers",
    "memtable_flush_writers": 1,
    "key_cache_size": "4MiB",
    "counter_cache_size": "4MiB",
    "file_cache_size": "32MiB",
    "networking_cache_size": "16MiB",
    "concurrent_reads": 8,
    # At most one writer per processor: a vector index allows one more concurrent writer than there
    # are processors, and fails further writes.
    "concurrent_writes": min(8, os.cpu_count() or 2),
    "concurrent_counter_writes": 4,
    "concurrent_compactors": 1,
    "native_transport_max_threads": 16,
    "disk_optimization_strategy": "ssd",
    # Without this, Cassandra takes a snapshot of a dropped table, and its data stays on the disk.
    "auto_snapshot": False,
    "user_defined_functions_enabled": True,
    "materialized_views_enabled": True,
    "sasi_indexes_enabled": True,
    "transient_replication_enabled": True,
}
# Further default settings: this dict is for Cassandra 5.0 and later, the next one for 6.0 and
# later.
_FROM_5_0: dict[str, Any] = {
    "dynamic_data_masking_enabled": True,
    "storage_compatibility_mode": "NONE",
}
_FROM_6_0: dict[str, Any] = {
    # A node that starts searches this long for other nodes, even if it knows them already.
    "discovery_timeout": "2s",
}
# Cassandra 4.1 renamed options, and allowed units in values (CASSANDRA-15234). Maps a new name to
# the name and value that Cassandra 4.0 understands.
_NAMES_OF_4_0: dict[str, tuple[str, Any]] = {
    "commitlog_sync_period": ("commitlog_sync_period_in_ms", 10000),
    "commitlog_segment_size": ("commitlog_segment_size_in_mb", 8),
    "commitlog_total_space": ("commitlog_total_space_in_mb", 64),
    "memtable_heap_space": ("memtable_heap_space_in_mb", 64),
    "key_cache_size": ("key_cache_size_in_mb", 4),
    "counter_cache_size": ("counter_cache_size_in_mb", 4),
    "file_cache_size": ("file_cache_size_in_mb", 32),
    "networking_cache_size": ("networking_cache_size_in_mb", 16),
    "user_defined_functions_enabled": ("enable_user_defined_functions", True),
    "materialized_views_enabled": ("enable_materialized_views", True),
    "sasi_indexes_enabled": ("enable_sasi_indexes", True),
    "transient_replication_enabled": ("enable_transient_replication", True),
}
_AUTHENTICATION: dict[str, Any] = {
    "authenticator": "PasswordAuthenticator",
    "authorizer": "CassandraAuthorizer",
    "role_manager": "CassandraRoleManager",
}


def defaults(version: CassandraVersion) -> dict[str, Any]:
    """Return our default settings for a version of Cassandra, with the names of that version."""
    if version.line >= (6, 0):
        return {**_BASE, **_FROM_5_0, **_FROM_6_0}
    if version.line >= (5, 0):
        return {**_BASE, **_FROM_5_0}
    if version.line >= (4, 1):
        return dict(_BASE)
    return dict(_NAMES_OF_4_0.get(key, (key, value)) for key, value in _BASE.items())


class Network(NamedTuple):
    """The address of a node, and the seed nodes that it contacts.

    :param address: the address that the node listens on.
    :param port: the port of the native protocol.
    :param seeds: the addresses of the seed nodes.
    """

    address: str
    port: int
    seeds: Sequence[str]


def node_settings(
    version: CassandraVersion,
    network: Network,
    *,
    directory: str,
    tokens: Sequence[int] | None,
    authentication: bool,
    encryption: Mapping[str, Any] | None,
    overrides: Mapping[str, Any],
) -> dict[str, Any]:
    """Return all settings of one node.

    :param tokens: the tokens of the node. None lets it bootstrap: it joins the ring of the other
        nodes, chooses tokens, and fetches the data of these tokens.
    :param encryption: the setting client_encryption_options; None for no TLS.
    :param overrides: settings that replace all others. The value None removes a setting, so that
        Cassandra's own default applies.
    """
    # Add the addresses, the seed nodes and the directories of this node to the defaults.
    settings = defaults(version)
    settings |= {
        "listen_address": network.address,
        "rpc_address": network.address,
        "native_transport_port": network.port,
        "auto_bootstrap": tokens is None,
        "seed_provider": [
            {
                "class_name": "org.apache.cassandra.locator.SimpleSeedProvider",
                "parameters": [{"seeds": ",".join(network.seeds)}],
            }
        ],
        "data_file_directories": [f"{directory}/data/data"],
        "commitlog_directory": f"{directory}/data/commitlog",
        "saved_caches_directory": f"{directory}/data/saved_caches",
        "hints_directory": f"{directory}/data/hints",
        "cdc_raw_directory": f"{directory}/data/cdc_raw",
    }
    if tokens is not None:
        settings["initial_token"] = ",".join(map(str, tokens))
    if authentication:
        settings |= _AUTHENTICATION
    if encryption is not None:
        settings["client_encryption_options"] = dict(encryption)
    # Apply the user's settings last, so that they replace all others.
    settings |= overrides
    return settings


def render_yaml(settings: Mapping[str, Any]) -> str:
    """Return the content of cassandra.yaml.

    :raises TypeError: if JSON cannot represent a value. The message names the setting.
    """
    lines = []
    for key, value in settings.items():
        if value is None:
            continue
        try:
            # Write each value as JSON, which is valid YAML too.
            lines.append(f"{key}: {json.dumps(value)}\n")
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"config[{key!r}] cannot be written into cassandra.yaml: {error} (value: {value!r})"
            ) from error
    return "".join(lines)


def rackdc_properties(location: NodeLocation) -> str:
    """Return the content of cassandra-rackdc.properties."""
    return f"dc={location.datacenter}\nrack={location.rack}\n"


def logback_xml(path: str) -> str:
    """Return the content of logback.xml, which logs to the file `path` from level INFO on."""
    return f"""<configuration scan="false">
  <appender name="FILE" class="ch.qos.logback.core.FileAppender">
    <file>{escape(path)}</file>
    <encoder><pattern>%-5level [%thread] %date{{ISO8601}} %F:%L - %msg%n</pattern></encoder>
  </appender>
  <root level="INFO"><appender-ref ref="FILE"/></root>
</configuration>
"""
