"""Tests of the settings of client routes."""

from __future__ import annotations

from typing import Any

import pytest

from cassandra.client_routes import ClientRouteProxy, ClientRoutesConfig

PROXY = ClientRouteProxy("a", "proxy.one")


def test_proxies_compare_by_their_fields() -> None:
    """Proxies must be equal if their fields are, have a hash, and show the fields in their repr."""
    assert ClientRouteProxy("a", "proxy.one") == PROXY
    assert hash(PROXY) == hash(ClientRouteProxy("a", "proxy.one"))
    assert ClientRouteProxy("a") != PROXY
    assert ClientRouteProxy("b", "proxy.one") != PROXY
    assert PROXY != ("a", "proxy.one")
    assert repr(PROXY) == (
        "ClientRouteProxy(connection_id='a', connection_addr_override='proxy.one')"
    )


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((None,), ValueError, "connection_id is required"),
        (("",), ValueError, "must not be empty"),
        ((5,), TypeError, "connection_id must be a text, but is 5"),
        (("a", 5), TypeError, "must be a name or an address, but is 5"),
    ],
)
def test_proxies_that_are_refused(arguments: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        ClientRouteProxy(*arguments)


@pytest.mark.parametrize(
    ("proxies", "error", "message"),
    [
        ([], ValueError, "at least one"),
        ({PROXY}, TypeError, "must be a list or tuple"),
        ([PROXY, "b"], TypeError, "but one is 'b'"),
    ],
)
def test_configs_that_are_refused(proxies: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        ClientRoutesConfig(proxies)


def test_configs_have_proxies_and_the_flag_for_shard_awareness() -> None:
    config = ClientRoutesConfig((PROXY,))
    assert config.proxies == (PROXY,)
    assert config.advanced_shard_awareness is False
    assert ClientRoutesConfig([PROXY], True).advanced_shard_awareness is True
    assert "advanced_shard_awareness=False" in repr(config)
