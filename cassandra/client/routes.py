"""The setting `client_routes_config`. This module is only imported if the setting is used."""

from __future__ import annotations

from cassandra.client_routes import ClientRoutesConfig
from cassandra.engine.control.client_routes import ClientRoutes
from cassandra.engine.tls import TlsClient

__all__ = ["check_names", "contact_points_of", "routes_of"]


def routes_of(config: object, has_factory: bool) -> ClientRoutes:
    """Return the routes of a cluster with this setting.

    :param has_factory: True if the application also sets an end point factory.
    :raises TypeError: if `config` is not a `ClientRoutesConfig`.
    :raises ValueError: if it cannot be combined with another setting.
    """
    if not isinstance(config, ClientRoutesConfig):
        raise TypeError(
            f"client_routes_config must be a ClientRoutesConfig instance, but is {config!r}"
        )
    if has_factory:
        raise ValueError(
            "client_routes_config and endpoint_factory are mutually exclusive (cloud makes end "
            "points, too)"
        )
    return ClientRoutes(config)


def contact_points_of(config: ClientRoutesConfig) -> list[str]:
    """Return the addresses of proxies that the application has configured."""
    named = [proxy.connection_addr_override for proxy in config.proxies]
    return list(dict.fromkeys(address for address in named if address))


def check_names(tls: TlsClient | None) -> None:
    """Refuse TLS settings that would compare the certificates of nodes with addresses of proxies.

    :raises ValueError: for such settings.
    """
    if tls is not None and tls.compares_addresses:
        raise ValueError(
            "check_hostname=True is incompatible with client_routes_config: certificates of nodes "
            "do not have the addresses of proxies. Set ssl_context.check_hostname = False, or say "
            "which name they have by ssl_options={'server_hostname': ...}"
        )
