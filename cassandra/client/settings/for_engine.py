"""Converts the settings of a cluster to those of its engine."""

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

__all__ = ["settings_of"]


def settings_of(cluster: ClusterBase) -> Settings:
    """Return the settings of the engine for `cluster`."""
    values = {}
    for name, setting in cluster._table.items():
        if setting.is_live:
            # Read it again, since the application may have patched the class attribute.
            cluster._live[name] = getattr(cluster, name)
        # Secrets are not copied: TLS settings with a password are part of the live setting `tls`.
        elif not (setting.is_secret or isinstance(setting, ConstructorOnly)):
            values[name] = getattr(cluster, name)
    # The engine refers to the sizes, not to the cluster, so that an unused cluster can be
    # collected.
    sizes = cluster._core_connections
    # None means the defaults.
    options = cluster.shard_aware_options or ShardAwareOptions()
    return Settings(
        values,
        cluster._live,
        connections_to=lambda distance: sizes.get(distance, 1),
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
    options = {
        "DRIVER_NAME": DRIVER_NAME,
        "DRIVER_VERSION": f"{__version__} ({sys.implementation.name} {sys.version.split()[0]})",
    }
    if cluster.no_compact:
        options["NO_COMPACT"] = "true"
    cluster._application().add_startup_options(options)
    # Added last, because the application's own options take precedence.
    if cluster.application_info is not None:
        cluster.application_info.add_startup_options(options)
    return options
