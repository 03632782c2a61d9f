"""The settings of an engine, which the blocking and the asyncio API pass to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cassandra.client.settings.table import ClusterSettings
    from cassandra.engine.control.client_routes import ClientRoutes
    from cassandra.engine.endpoint import EndPoint
    from cassandra.engine.tls import TlsClient
else:
    # Only type checkers need the class that lists the cluster's settings. At run time, the engine
    # must not import the client package, which contains that class.
    ClusterSettings = object


class Settings(ClusterSettings):
    """All settings of a cluster, as attributes; times are in seconds.

    They include all settings of `cassandra.client.settings.table`. Most settings are fixed when the
    engine is created. Settings that may change later are looked up in `live` each time. The
    engine's own settings are annotated below.

    :param values: the settings of the cluster that cannot change, by name.
    :param live: the settings that may change, by name. The cluster changes this mapping.
    :param engine_settings: the engine's own settings, by name.
    :raises TypeError: if `engine_settings` has an unknown name.
    """

    endpoints: Sequence[EndPoint]  # the contact points, with resolved names
    named_endpoints: Sequence[EndPoint]  # the same contact points, with unresolved names
    # Asks a discovery service for the nodes, and may block; None if there is no such service.
    find_endpoints: Callable[[], list[EndPoint]] | None
    only_version: int | None  # the protocol version that the application has chosen; else None
    startup_options: Mapping[str, str]
    # Returns further STARTUP options for ScyllaDB. Called with True for the control connection.
    scylla_options: Callable[[bool], Mapping[str, str]] | None
    tls: TlsClient | None  # stored in `live`, because it may change
    connections_to: Callable[[int], int]  # returns the pool size for the distance of a host
    client_routes: ClientRoutes | None  # set if clients reach nodes through a private network
    shard_aware: bool
    shard_aware_port: bool
    local_ports: tuple[int, int]

    max_simultaneous_opens: int = 32

    def __init__(
        self, values: Mapping[str, Any], live: Mapping[str, Any], **engine_settings: Any
    ) -> None:
        # The driver's own code passes these keyword arguments, and mypy does not check their names.
        unknown_names = sorted(engine_settings.keys() - Settings.__annotations__.keys())
        if unknown_names:
            raise TypeError(f"the engine has no setting {unknown_names[0]!r}")
        vars(self).update(values, **engine_settings)
        vars(self)["_live"] = live

    # Type checkers must not see this method: with it, they would accept any name of a setting.
    if not TYPE_CHECKING:

        def __getattr__(self, name):
            # Python calls this only for names that are not in the instance's dict. Live settings
            # are in `_live` instead.
            try:
                return vars(self)["_live"][name]
            except KeyError:
                raise AttributeError(f"the engine has no setting {name!r}") from None

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"the engine's {name!r} cannot be changed: set the cluster's")
