"""Creates the settings of an engine from the settings of its cluster."""

from __future__ import annotations

import sys
import weakref
from functools import partial
from typing import TYPE_CHECKING

from cassandra._version import DRIVER_NAME, __version__
from cassandra.client.identity import scylla_options
from cassandra.client.settings.setting import ConstructorOnly
from cassandra.client.settings.shard_options import ShardAwareOptions
from cassandra.engine.settings import Settings

if TYPE_CHECKING:
    from cassandra.client.configuration import ClusterBase


def settings_of(cluster: ClusterBase) -> Settings:
    """Return the settings of the engine for `cluster`."""
    values = {}
    for name, setting in cluster._table.items():
        if setting.is_live:
            # Read the setting again: the application may have replaced the class attribute since
            # the constructor stored the value.
            cluster._live[name] = getattr(cluster, name)
        # Do not copy secrets, because the engine does not need them. For example, the engine uses
        # the live setting `tls`, which was created from `ssl_options`.
        elif not (setting.is_secret or isinstance(setting, ConstructorOnly)):
            values[name] = getattr(cluster, name)
    # The engine must refer to this dict, not to the cluster. Otherwise a cluster that the
    # application has dropped could not be garbage collected.
    connection_counts = cluster._core_connections
    # None means the default options.
    options = cluster.shard_aware_options or ShardAwareOptions()
    return Settings(
        values,
        cluster._live,
        connections_to=lambda distance: connection_counts.get(distance, 1),
        endpoints=cluster.endpoints_resolved,
        named_endpoints=cluster._named_endpoints,
        find_endpoints=cluster._cloud.ask if cluster._cloud is not None else None,
        only_version=cluster.protocol_version if cluster._has_named_version else None,
        startup_options=_startup_options(cluster),
        scylla_options=partial(scylla_options, weakref.proxy(cluster)),
        client_routes=cluster._client_routes,
        shard_aware=not options.disable,
        shard_aware_port=not options.disable_shardaware_port,
        local_ports=options.local_ports,
    )


def _startup_options(cluster: ClusterBase) -> dict[str, str]:
    """Return the options of STARTUP that describe the driver and the application."""
    options = {
        "DRIVER_NAME": DRIVER_NAME,
        "DRIVER_VERSION": f"{__version__} ({sys.implementation.name} {sys.version.split()[0]})",
    }
    if cluster.no_compact:
        options["NO_COMPACT"] = "true"
    cluster._application().add_startup_options(options)
    # Let the application's own object add its options last, so that they take precedence.
    if cluster.application_info is not None:
        cluster.application_info.add_startup_options(options)
    return options
