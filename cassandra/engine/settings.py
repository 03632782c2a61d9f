"""The settings of an engine, from the blocking or the asyncio API."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cassandra.client.settings.table import ClusterSettings
    from cassandra.engine.control.client_routes import ClientRoutes
    from cassandra.engine.endpoint import EndPoint
    from cassandra.engine.tls import TlsClient
else:
    # The engine is below the table in the layers, and needs its types alone.
    ClusterSettings = object

__all__ = ["Settings"]


class Settings(ClusterSettings):
    """All settings of a cluster, as attributes; times are in seconds.

    They include all settings of `cassandra.client.settings.table`, fixed when the engine is
    created. Settings that may change later are looked up in `live`. The annotations below are the
    engine's own settings.

    :param values: the settings of the cluster, by name.
    :param live: settings that may change; a mapping that the cluster writes to.
    :param engine_settings: the engine's own settings.
    :raises TypeError: if `engine_settings` has an unknown name.
    """

    endpoints: Sequence[EndPoint]  # the contact points
    named_endpoints: Sequence[EndPoint]  # the same, with unresolved names
    find_endpoints: Callable[[], list[EndPoint]] | None  # asks a service for the nodes; blocks
    only_version: int | None  # the protocol version, if the application has chosen it
    startup_options: Mapping[str, str]
    # Options for ScyllaDB; called with True for the control connection.
    scylla_options: Callable[[bool], Mapping[str, str]] | None
    tls: TlsClient | None  # may change (in `live`)
    connections_to: Callable[[int], int]  # the pool size for a host at a distance
    client_routes: ClientRoutes | None  # set if nodes are behind proxies of a private network
    shard_aware: bool
    shard_aware_port: bool
    local_ports: tuple[int, int]

    max_simultaneous_opens: int = 32

    def __init__(
        self, values: Mapping[str, Any], live: Mapping[str, Any], **engine_settings: Any
    ) -> None:
        # A mistake in the driver's own code, which mypy cannot see in keyword arguments.
        unknown_names = sorted(engine_settings.keys() - Settings.__annotations__.keys())
        if unknown_names:
            raise TypeError(f"the engine has no setting {unknown_names[0]!r}")
        vars(self).update(values, **engine_settings)
        vars(self)["_live"] = live

    def __getattr__(self, name: str) -> Any:
        # Called only for names that are not found otherwise: the live settings.
        try:
            return vars(self)["_live"][name]
        except KeyError:
            raise AttributeError(f"the engine has no setting {name!r}") from None

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"the engine's {name!r} cannot be changed: set the cluster's")
