"""Checks the setting `client_routes_config`. Imported only if an application uses the setting."""

from __future__ import annotations

from cassandra.client_routes import ClientRoutesConfig
from cassandra.engine.control.client_routes import ClientRoutes
from cassandra.engine.tls import TlsClient


def routes_of(config: object, has_factory: bool) -> ClientRoutes:
    """Return the route table for the setting's value.

    :param has_factory: True if the setting `endpoint_factory` is also set.
    :raises TypeError: if `config` is not a `ClientRoutesConfig`.
    :raises ValueError: if `endpoint_factory` is also set.
    """
    if not isinstance(config, ClientRoutesConfig):
        raise TypeError(
            f"client_routes_config must be a ClientRoutesConfig instance, but is {config!r}"
        )
    # With client routes, the driver uses a special end point factory, so the application must not
    # set another factory.
    if has_factory:
        raise ValueError(
            "client_routes_config and endpoint_factory are mutually exclusive (cloud makes end "
            "points, too)"
        )
    return ClientRoutes(config)


def contact_points_of(config: ClientRoutesConfig) -> list[str]:
    """Return the addresses of proxies in the configuration, which serve as contact points."""
    named = [proxy.connection_addr_override for proxy in config.proxies]
    return list(dict.fromkeys(address for address in named if address))


def check_names(tls: TlsClient | None) -> None:
    """Raise ValueError if the TLS settings check host names.

    With routes, the certificate of a node would be compared with the address of a proxy, and never
    match.
    """
    if tls is not None and tls.compares_addresses:
        raise ValueError(
            "check_hostname=True is incompatible with client_routes_config: certificates of nodes "
            "do not have the addresses of proxies. Set ssl_context.check_hostname = False, or say "
            "which name they have by ssl_options={'server_hostname': ...}"
        )
