"""The settings of an engine, which either face passes to it."""

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
    """All settings of one cluster, as attributes; times are in seconds.

    They are those of `cassandra.client.settings.table`, frozen when the engine is made. The ones
    that may change later are looked up where the cluster keeps them. The following ones are the
    engine's own.

    :param values: the settings of the cluster, by name.
    :param live: those that may change, a mapping that the cluster writes to.
    :param own: the engine's own settings.
    :raises TypeError: if one of the last is unknown.
    """

    endpoints: Sequence[EndPoint]  # the contact points
    named_endpoints: Sequence[EndPoint]  # the same, before their names were resolved
    find_endpoints: Callable[[], list[EndPoint]] | None  # asks where the nodes are; blocks
    only_version: int | None  # of the protocol, if the program has named it
    startup_options: Mapping[str, str]
    # Those for ScyllaDB alone; asked with True for the control connection.
    scylla_options: Callable[[bool], Mapping[str, str]] | None
    tls: TlsClient | None  # one of the live ones
    connections_to: Callable[[int], int]  # a host at that distance
    client_routes: ClientRoutes | None  # if nodes are behind proxies of a private network
    shard_aware: bool
    shard_aware_port: bool
    local_ports: tuple[int, int]

    max_simultaneous_opens: int = 32

    def __init__(self, values: Mapping[str, Any], live: Mapping[str, Any], **own: Any) -> None:
        # A mistake of the driver's own code, which mypy does not see in keywords.
        unknown = sorted(own.keys() - Settings.__annotations__.keys())
        if unknown:
            raise TypeError(f"the engine has no setting {unknown[0]!r}")
        vars(self).update(values, **own)
        vars(self)["_live"] = live

    def __getattr__(self, name: str) -> Any:
        # Called for names that are not found otherwise: those of the live settings.
        try:
            return vars(self)["_live"][name]
        except KeyError:
            raise AttributeError(f"the engine has no setting {name!r}") from None

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"the engine's {name!r} cannot be changed: set the cluster's")
