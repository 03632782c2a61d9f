"""Configures connections to ScyllaDB nodes through a private network, such as AWS PrivateLink.

Pass a `ClientRoutesConfig` as ``Cluster(client_routes_config=...)``.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence

from cassandra._lazy import lazy_names

__all__ = ["ClientRouteProxy", "ClientRoutesChangeType", "ClientRoutesConfig"]


class ClientRoutesChangeType(enum.Enum):
    """The types of the server's CLIENT_ROUTES_CHANGE events."""

    UPDATE_NODES = "UPDATE_NODES"
    """Routes were added, changed or removed."""


class ClientRouteProxy:
    """One private network connection, by which a cluster may be reached.

    :param connection_id: the id of the connection in the table ``system.client_routes``.
    :param connection_addr_override: the host name or IP address of the connection's proxy, to use
        instead of the addresses in the table. It is also used as a contact point if you pass no
        contact points.
    :raises TypeError: if an argument is not a string.
    :raises ValueError: if `connection_id` is missing.
    """

    def __init__(self, connection_id: str, connection_addr_override: str | None = None) -> None:
        if connection_id is None or connection_id == "":
            raise ValueError("connection_id is required, and must not be empty")
        if not isinstance(connection_id, str):
            raise TypeError(f"connection_id must be a text, but is {connection_id!r}")
        if connection_addr_override is not None and not isinstance(connection_addr_override, str):
            raise TypeError(
                "connection_addr_override must be a name or an address, "
                f"but is {connection_addr_override!r}"
            )
        self.connection_id = connection_id
        self.connection_addr_override = connection_addr_override

    def _key(self) -> tuple[str, str | None]:
        return self.connection_id, self.connection_addr_override

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ClientRouteProxy):
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return (
            f"ClientRouteProxy(connection_id={self.connection_id!r}, "
            f"connection_addr_override={self.connection_addr_override!r})"
        )


class ClientRoutesConfig:
    """The private network connections that a cluster may use.

    :param proxies: a list or tuple of `ClientRouteProxy`, at least one.
    :param advanced_shard_awareness: True if the client's local port selects the shard even through
        the proxies. The proxies must preserve that port, and lead to the nodes' shard-aware ports.
    :raises TypeError: if `proxies` is not a list or tuple of `ClientRouteProxy`.
    :raises ValueError: if `proxies` is empty.
    """

    def __init__(
        self, proxies: Sequence[ClientRouteProxy], advanced_shard_awareness: bool = False
    ) -> None:
        if not proxies:
            raise ValueError("proxies must have at least one ClientRouteProxy")
        if not isinstance(proxies, (list, tuple)):
            raise TypeError(f"proxies must be a list or tuple, but is {proxies!r}")
        for proxy in proxies:
            if not isinstance(proxy, ClientRouteProxy):
                raise TypeError(f"proxies must be ClientRouteProxy objects, but one is {proxy!r}")
        self.proxies = proxies
        self.advanced_shard_awareness = advanced_shard_awareness

    def __repr__(self) -> str:
        return (
            f"ClientRoutesConfig(proxies={self.proxies!r}, "
            f"advanced_shard_awareness={self.advanced_shard_awareness!r})"
        )


__getattr__ = lazy_names(__name__)
