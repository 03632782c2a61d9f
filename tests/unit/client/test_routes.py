"""Tests of the setting `client_routes_config`, and of settings that exclude it."""

from __future__ import annotations

import ssl

import pytest

from cassandra.client.routes import check_names, contact_points_of, routes_of
from cassandra.client_routes import ClientRouteProxy, ClientRoutesConfig
from cassandra.engine.control.client_routes import ClientRoutes
from cassandra.engine.tls import TlsClient

CONFIG = ClientRoutesConfig([ClientRouteProxy("a", "proxy.one"), ClientRouteProxy("b")])


def test_routes_of_needs_a_config_and_no_endpoint_factory() -> None:
    assert isinstance(routes_of(CONFIG, has_factory=False), ClientRoutes)
    with pytest.raises(TypeError, match="must be a ClientRoutesConfig instance, but is 'a'"):
        routes_of("a", has_factory=False)
    with pytest.raises(ValueError, match="mutually exclusive"):
        routes_of(CONFIG, has_factory=True)


def test_each_proxy_address_is_a_contact_point_once() -> None:
    proxies = [
        *CONFIG.proxies,
        ClientRouteProxy("c", "proxy.two"),
        ClientRouteProxy("d", "proxy.one"),
    ]
    assert contact_points_of(ClientRoutesConfig(proxies)) == ["proxy.one", "proxy.two"]


def test_check_hostname_needs_a_server_hostname() -> None:
    """With `check_hostname`, client routes need a configured `server_hostname`.

    The certificates of nodes behind a proxy have other names than the proxy. Without TLS, there is
    nothing to check.
    """
    context = ssl.create_default_context()
    check_names(None)
    check_names(TlsClient(context, "nodes.example", None))
    with pytest.raises(ValueError, match="check_hostname=True is incompatible"):
        check_names(TlsClient(context, None, None))
    context.check_hostname = False
    check_names(TlsClient(context, None, None))
